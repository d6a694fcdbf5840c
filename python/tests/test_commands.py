"""train, evaluate, embed, report, audit and fix with the program itself. Skipped where it is not built."""

import csv
import json
import os
import pathlib
import subprocess
import warnings

import numpy
import pytest
import torch

import debias
from debias import _program
from test_run_folder import write_safetensors

BINARY = os.environ.get("DEBIAS_BINARY", str(pathlib.Path(__file__).parents[2] / "build/release/bin/debias"))
pytestmark = pytest.mark.skipif(not os.access(BINARY, os.X_OK), reason="the program is not built")
RECIPE = {"seed": 3, "data": {"train": {"name": "glyphs", "size": 24, "train_count": 96}, "test": {"name": "glyphs", "size": 24, "test_count": 40, "split": "test"}},
          "views": {"preset": "none", "count": 1}, "encoder": {"name": "resnet18", "width": 8}, "objective": {"name": "supcon"},
          "evaluate": {"every": 1, "protocols": ["knn"]}, "train": {"epochs": 1, "batch_size": 32, "device": "cpu", "threads": 1}}


@pytest.fixture(autouse=True)
def program(monkeypatch):
    monkeypatch.setenv("DEBIAS_PROGRAM", BINARY)


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    os.environ["DEBIAS_PROGRAM"] = BINARY
    folder = tmp_path_factory.mktemp("commands")
    lines = []
    run = debias.train(RECIPE, output=folder / "run", train={"epochs": 2}, progress=lines.append)
    return run, lines


def table(samples=400, seed=0):
    """Class in coordinate 0, a bias that goes with it in 85 % in coordinate 1; a column of noise."""
    draw = numpy.random.default_rng(seed)
    label, noise = draw.integers(0, 2, samples), draw.integers(0, 3, samples)
    bias = numpy.where(draw.random(samples) < 0.85, label, 1 - label)
    z = draw.normal(size=(samples, 8)).astype(numpy.float32)
    z[:, 0] += 2 * label
    z[:, 1] += 4 * bias
    split = numpy.where(numpy.arange(samples) % 4 < 2, "train", numpy.where(numpy.arange(samples) % 4 == 2, "valid", "test"))
    return debias.FeatureTable(z, numpy.array(["cat", "dog"])[label], bias=[None if row == 7 else ["in", "out"][value] for row, value in enumerate(bias)],
                               split=split, columns={"noise": noise})


def test_training_reports_each_epoch_and_returns_the_run(trained):
    run, lines = trained
    assert sum(line.startswith("epoch ") for line in lines) == 2
    assert run.recipe["train"]["epochs"] == 2 and run.recipe["train"]["batch_size"] == 32 and run.recipe["data"]["test"]["test_count"] == 40
    assert [line["epoch"] for line in run.metrics] == [1, 2] and run.evaluations["knn"].metrics["test.knn_acc1"] == run.last["test.knn_acc1"]


def test_an_encoder_computes_what_the_program_embeds(trained, tmp_path):
    pytest.importorskip("torchvision")
    run, _ = trained
    embedded = debias.embed(run, tmp_path / "z.npy")
    subprocess.run([BINARY, "data", "export", "glyphs", "size=24", "test_count=40", "split=test", "--out", tmp_path / "x.npy"], check=True, capture_output=True)
    pixels = torch.from_numpy(numpy.load(tmp_path / "x.npy")).permute(0, 3, 1, 2) / 255
    with torch.no_grad():
        own = run.encoder()((pixels - 0.5) / 0.5)
    torch.testing.assert_close(own, torch.tensor(embedded.vectors), rtol=1e-4, atol=1e-5)
    assert embedded.classes and embedded.bias == ("bias",) and len(set(embedded.paths)) == 40


def test_evaluating_a_run_is_what_the_command_prints(trained):
    run, _ = trained
    found = debias.evaluate(run, ["knn", "geometry"], knn={"k": 7})
    said = subprocess.run([BINARY, "eval", "knn", str(run.path), "knn.k=7", "--json"], capture_output=True, text=True, check=True)
    assert found["knn"].metrics == json.loads(said.stdout)["protocols"]["knn"]["metrics"] and found["knn"].options["k"] == 7
    assert set(found) == {"knn", "geometry"}


def test_a_report_is_kept_with_the_run_and_shown_by_a_notebook(trained, tmp_path):
    run, _ = trained
    report = debias.report(run)
    assert report.path == run.path / "report.html" and report.path.read_text() == report.html and report.findings
    assert report._repr_html_().startswith("<iframe") and run._repr_html_().startswith("<iframe")
    two = debias.report(run.path, out=tmp_path / "two.html")
    assert (tmp_path / "two.html").read_text() == two.html


def test_a_run_folder_is_not_trained_over(trained):
    with pytest.raises(debias.ProgramError, match="--overwrite") as caught:
        debias.train(RECIPE, output=trained[0].path, train={"epochs": 2}, progress=False)
    assert caught.value.exit_code == 2


def test_an_interrupted_run_goes_on_from_its_checkpoint(tmp_path):
    def interrupt(line):
        if line.startswith("epoch 1/"):
            raise KeyboardInterrupt

    recipe = {**RECIPE, "train": {**RECIPE["train"], "epochs": 8}}
    with pytest.raises(KeyboardInterrupt):
        debias.train(recipe, output=tmp_path / "run", progress=interrupt)
    stopped = len(debias.Run(tmp_path / "run").metrics)
    resumed = debias.train(tmp_path / "run", resume=True, progress=False)
    assert stopped < 8 and [line["epoch"] for line in resumed.metrics] == [1, 2, 3, 4, 5, 6, 7, 8]


@pytest.mark.parametrize("recipe, overrides, code, words", [
    ("demo/infonec", {}, 2, "recipe 'demo/infonec'"),
    ("demo/infonce", {"train": {"epoch": 1}}, 2, "unknown option 'epoch'; did you mean 'epochs'"),
    ({**RECIPE, "seed": "x"}, {}, 2, "seed: expected an integer, found x"),
    ({**RECIPE, "data": {"train": {"name": "cifar10", "root": "/nowhere"}}}, {}, 3, "/nowhere")])
def test_a_refused_recipe_is_an_error_with_the_programs_line(tmp_path, recipe, overrides, code, words):
    with pytest.raises(debias.ProgramError, match=words) as caught:
        debias.train(recipe, output=tmp_path / "run", progress=False, **overrides)
    assert caught.value.exit_code == code and not (tmp_path / "run").exists() and "debias-" not in str(caught.value)


def test_an_audit_finds_the_shortcut_of_a_table(tmp_path):
    found = debias.audit(table(), out=tmp_path / "audit.html", accept="bias", bias_out=tmp_path / "bias.csv")
    assert [one.name for one in found.shortcuts] == ["column bias"] and found.classes == ["cat", "dog"] and found.images == 200
    assert {one.name: one.verdict for one in found.candidates}["column noise"] == "none" and (tmp_path / "audit.html").read_text() == found.html
    with open(tmp_path / "bias.csv", newline="") as file:
        assert next(csv.reader(file))[:3] == ["path", "label", "bias"]
    assert [one.name for one in debias.audit(table(), columns=["noise"]).candidates if one.kind == "column"] == ["column noise"]


def test_an_audit_takes_a_file_of_vectors_and_any_column_as_label(tmp_path):
    own = table()
    whole = debias.audit(own)
    own.save(tmp_path / "z")
    write_safetensors(tmp_path / "z.safetensors", {"z": torch.from_numpy(own.vectors), "other": torch.zeros(2, 2)})
    for found in (debias.audit(tmp_path / "z.npy"), debias.audit(str(tmp_path / "z.safetensors"), tmp_path / "z.csv", key="z")):
        assert found.candidates == whole.candidates and found.classes == ["cat", "dog"]
    renamed = (tmp_path / "z.csv").read_text().replace("path,label,", "path,species,", 1)
    (tmp_path / "species.csv").write_text(renamed)
    assert debias.audit(tmp_path / "z.npy", tmp_path / "species.csv", label="species").candidates == whole.candidates
    assert debias.audit(debias.FeatureTable(own.vectors, columns={"species": own.labels, **own.columns}, split=own.split),
                        label="species").candidates == whole.candidates
    turned = debias.audit(own, label="noise")
    assert turned.classes == ["0", "1", "2"] and [one.name for one in turned.candidates if one.kind == "column"] == ["column bias"]
    assert own.labels[0] in ("cat", "dog") and list(own.columns) == ["bias", "noise"]


@pytest.mark.parametrize("given, error, words", [
    (lambda own, folder: {"source": own, "key": "z"}, TypeError, "audit: key: expected None with a FeatureTable, found 'z'; it belongs to FeatureTable.load"),
    (lambda own, folder: {"source": own, "csv": "c.csv"}, TypeError, "audit: csv: expected None with a FeatureTable, found 'c.csv'"),
    (lambda own, folder: {"source": own, "label": "nois"}, KeyError, "label: the table has no column 'nois'; did you mean 'noise'"),
    (lambda own, folder: {"source": own, "labels": "c.csv"}, TypeError, "audit: labels: expected None with a FeatureTable"),
    (lambda own, folder: {"source": folder, "label": "species"}, TypeError, "audit: label: expected None with a folder of images, found 'species'"),
    (lambda own, folder: {"source": folder / "no.safetensors"}, FileNotFoundError, "no.safetensors"),
    (lambda own, folder: {"source": 3}, TypeError, "audit: source: expected a path, found int"),
])
def test_what_an_audit_cannot_take_is_rejected(tmp_path, given, error, words):
    with pytest.raises(error, match=words):
        debias.audit(**given(table(40), tmp_path))


@pytest.mark.parametrize("method", ["balanced", "erase"])
def test_fixed_features_are_those_of_the_command(tmp_path, method):
    own = table()
    fixed = debias.fix(own, tmp_path / "fixed", method=method)
    assert fixed.method == method and fixed.classes == ["cat", "dog"] and fixed.rank == (1 if method == "erase" else 0)
    with open(tmp_path / "fixed" / "predictions.csv", newline="") as file:
        assert fixed.predict(own.vectors) == [row["after"] for row in csv.DictReader(file)]
    numpy.save(tmp_path / "other.npy", table(30, 1).vectors)
    subprocess.run([BINARY, "fix", "--apply", tmp_path / "fixed", "--embeddings", tmp_path / "other.npy", "--out", tmp_path / "corrected.npy"], check=True, capture_output=True)
    torch.testing.assert_close(fixed.transform(table(30, 1).vectors), torch.from_numpy(numpy.load(tmp_path / "corrected.npy")), rtol=1e-5, atol=1e-5)
    assert debias.Run(tmp_path / "fixed").evaluations["groups"].metrics["test.acc1"] == fixed.after["test"]["acc"]
    assert "worst_group_acc" in fixed._repr_html_()
    with pytest.raises(ValueError, match=r"features: expected shape \[n, 8\], found \[2, 3\]"):
        fixed.transform(torch.zeros(2, 3))
    with pytest.raises(debias.ProgramError, match="exists already") as caught:
        debias.fix(own, tmp_path / "fixed")
    assert caught.value.exit_code == 2


def test_numeric_and_several_bias_columns_are_passed_on(tmp_path):
    own = table()
    ages = numpy.random.default_rng(1).normal(40, 10, len(own))
    both = debias.FeatureTable(own.vectors, own.labels, bias={"place": own.columns["bias"], "age": ages}, split=own.split)
    debias.fix(both, tmp_path / "fixed", method="balanced")
    recipe = debias.Run(tmp_path / "fixed").recipe["fix"]
    assert recipe["bias"] == ["place", "age"] and recipe["numeric"] == ["age"]


def test_bias_columns_are_named_in_the_call(tmp_path):
    own = table()
    ages = numpy.random.default_rng(1).integers(20, 60, len(own))
    several = debias.FeatureTable(own.vectors, own.labels, split=own.split, columns={"place": own.columns["bias"], "age": ages})
    both = debias.fix(several, tmp_path / "both", method="balanced", bias=["place", "age"], numeric="age", threads=1)
    recipe = debias.Run(tmp_path / "both").recipe["fix"]
    assert recipe["bias"] == ["place", "age"] and recipe["numeric"] == ["age"]
    debias.fix(several, tmp_path / "one", method="balanced", bias="place", numeric=[], threads=2)
    recipe = debias.Run(tmp_path / "one").recipe["fix"]
    assert recipe["bias"] == ["place"] and not recipe.get("numeric")
    again = debias.fix(several, tmp_path / "again", method="balanced", bias=["place", "age"], numeric=["age"], threads=2)
    assert torch.equal(again.head.weight, both.head.weight)


@pytest.mark.parametrize("given, error, words", [
    ({"bias": "palce"}, KeyError, "fix: bias: the table has no column 'palce'; did you mean 'place'"),
    ({"bias": []}, TypeError, "fix: bias: expected the name of a column, or a list of names, found none"),
    ({"bias": 3}, TypeError, "fix: bias: expected the name of a column, or a list of names, found int 3"),
    ({"bias": "place", "numeric": "age"}, KeyError, "fix: numeric: the bias has no column 'age'"),
    ({"bias": "place", "threads": 0}, debias.ProgramError, "--threads"),
])
def test_bias_columns_that_are_not_there_are_rejected(tmp_path, given, error, words):
    own = table(40)
    several = debias.FeatureTable(own.vectors, own.labels, columns={"place": own.columns["bias"], "age": [1] * 20 + [2] * 20})
    with pytest.raises(error, match=words):
        debias.fix(several, tmp_path / "fixed", **given)
    with pytest.raises(TypeError, match="fix: bias: expected None with a run, which has bias labels of its own, found 'place'"):
        debias.fix(tmp_path, tmp_path / "fixed", bias="place")


def test_a_table_is_evaluated_and_its_prior_is_the_commands(tmp_path):
    own = table()
    found = debias.evaluate(own, "knn,groups")
    vectors, rows = own.save(tmp_path / "t")
    said = subprocess.run([BINARY, "eval", "knn,groups", "--embeddings", vectors, "--csv", rows, "--json"], capture_output=True, text=True, check=True)
    assert found.metrics == {name: one["metrics"] for name, one in json.loads(said.stdout)["protocols"].items()}
    said = subprocess.run([BINARY, "prior", "--embeddings", vectors, "--csv", rows, "--json"], capture_output=True, text=True, check=True)
    assert debias.prior.from_labels(own).tau_plus == pytest.approx(json.loads(said.stdout)["tau_plus"], rel=1e-12)


def test_a_table_that_does_not_do_is_refused(tmp_path):
    with pytest.raises(ValueError, match="fix: the table has no labels"):
        debias.fix(debias.FeatureTable(torch.eye(3)), tmp_path / "fixed")
    with pytest.raises(debias.ProgramError, match="^table.csv: line 2") as caught:
        debias.fix(debias.FeatureTable(torch.eye(3), [None, 0, 1], bias=[0, 1, 0]), tmp_path / "fixed")
    assert caught.value.exit_code == 3 and not (tmp_path / "fixed").exists()
    with pytest.raises(TypeError, match="audit: source: expected a path, found int"):
        debias.audit(3)


def test_fix_holds_out_whole_groups(tmp_path):
    own = table(400)
    by_row = debias.fix(own, tmp_path / "rows", method="balanced")
    assert by_row.details["groups"] == 400 and by_row.details["groups_from"] == "none"
    grouped = debias.FeatureTable(own.vectors, own.labels, bias=own.columns["bias"], split=own.split, group={"patient": [row // 8 for row in range(400)]})
    by_patient = debias.fix(grouped, tmp_path / "patients", method="balanced")
    assert by_patient.details["groups"] == 50 and by_patient.details["groups_from"] == "column patient"
    assert any("in both train and test" in note for note in by_patient.notes)
    named = debias.fix(debias.FeatureTable(own.vectors, own.labels, bias=own.columns["bias"], split=own.split, columns={"p": [row // 8 for row in range(400)]}),
                       tmp_path / "named", method="balanced", group="p")
    assert named.details["groups_from"] == "column p" and named.after == by_patient.after
    with pytest.raises(KeyError, match="no column 'q'"):
        debias.fix(grouped, tmp_path / "none", group="q")


def test_vectors_of_another_kind_are_warned_of_as_by_the_command(tmp_path):
    own = table(400)
    fixed = debias.fix(own, tmp_path / "fixed", method="balanced")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fixed.transform(own.vectors)
    other = own.vectors / numpy.linalg.norm(own.vectors, axis=1, keepdims=True)
    numpy.save(tmp_path / "unit.npy", other)
    said = subprocess.run([BINARY, "fix", "--apply", tmp_path / "fixed", "--embeddings", tmp_path / "unit.npy", "--out", tmp_path / "out.npy", "--json"],
                          check=True, capture_output=True, text=True)
    notes = json.loads(said.stdout)["notes"]
    assert "400 of 400 vectors have a norm outside of that of the training rows" in notes[0] and "norm outside" in said.stderr
    with pytest.warns(UserWarning, match="of 400 vectors have a norm outside"):
        fixed.transform(other)
