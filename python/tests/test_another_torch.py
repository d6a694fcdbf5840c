"""The package beside a torch that it has no library for: said once, and computed in Python where that can be."""

import json
import pathlib
import shutil
import subprocess
import sys

import pytest
import torch

import debias
from debias import _dense, _options
from test_values import NAMES

PACKAGE = pathlib.Path(debias.__file__).parent
PROGRAM = """
import json, sys, warnings
import torch
torch.__version__ = VERSION
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    import debias
    torch.manual_seed(0)
    z0, z1, labels = torch.randn(6, 4, dtype=torch.float64, requires_grad=True), torch.randn(6, 4).double(), [0, 1, 0, 2, 1, 0]
    values = {}
    for entry in debias.objectives():
        name = "".join({"infonce": "InfoNCE", "supinfonce": "SupInfoNCE", "supcon": "SupCon", "biascon": "BiasCon", "softcon": "SoftCon",
                        "fairkl": "FairKL", "end": "EnD"}.get(word, word.capitalize()) for word in entry["name"].split("_")) + "Loss"
        try:
            loss = getattr(debias, name)()
        except RuntimeError as error:
            values[entry["name"]] = str(error)
            continue
        bias = [0, 1, 1, 0, 1, 0]
        value = loss(z0, z1, labels=labels) if entry["min_views"] == 2 else loss(z0, labels, bias)
        if entry["min_views"] == 1 and entry["kind"] == "pairs":
            value = loss([z0, z1], labels, bias)
        gradient, = torch.autograd.grad(value, z0)
        values[entry["name"]] = [value.item(), gradient.norm().item(), loss.evidence.engine]
    def refusal(call):
        try: call()
        except (RuntimeError, ValueError) as error: return str(error)
    refusals = [refusal(call) for call in (lambda: debias.metrics.knn(z0, labels, z1), lambda: debias.prior.from_labels(labels),
                lambda: debias.InfoNCELoss(engine="fused")(z0, z1), lambda: debias.InfoNCELoss()(z0, z1, keys=z1),
                lambda: debias.InfoNCELoss()(z0), lambda: debias.UnbiasedLoss()(z0, z1), lambda: debias.SupConLoss()(z0, labels[1:]),
                lambda: debias.InfoNCELoss()(z0[:0], z1[:0]))]
print(json.dumps({"values": values, "warnings": [str(one.message) for one in caught if "debias" in str(one.message)], "refusals": refusals}))
"""


def found(folder, version):
    done = subprocess.run([sys.executable, "-B", "-c", PROGRAM.replace("VERSION", repr(version))], capture_output=True, text=True, cwd=folder)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def newer(tmp_path_factory):
    folder = tmp_path_factory.mktemp("newer")
    shutil.copytree(PACKAGE, folder / "debias")
    return found(folder, "2.99.0+cpu")


def test_one_warning_names_what_fits_and_the_nearest(newer):
    message, = newer["warnings"]
    assert "found torch 2.99.0+cpu" in message and "the nearest is pip install 'torch==2.11.*'" in message
    assert f"{len(_dense.COMPOSED)} of {len(NAMES)} losses" in message and "\n" not in message


def test_composed_losses_are_those_of_the_library(newer):
    torch.manual_seed(0)
    z0, z1 = torch.randn(6, 4, dtype=torch.float64, requires_grad=True), torch.randn(6, 4).double()
    labels, bias = [0, 1, 0, 2, 1, 0], [0, 1, 1, 0, 1, 0]
    from test_values import loss_of
    for entry in debias.objectives():
        name, loss = entry["name"], loss_of(entry["name"], engine="dense")
        if name not in _dense.COMPOSED:
            assert "needs the library" in newer["values"][name]
            continue
        value = loss(z0, z1, labels=labels) if entry["min_views"] == 2 else \
            loss([z0, z1], labels, bias) if entry["kind"] == "pairs" else loss(z0, labels, bias)
        gradient, = torch.autograd.grad(value, z0)
        assert newer["values"][name] == [pytest.approx(value.item(), rel=1e-11), pytest.approx(gradient.norm().item(), rel=1e-9), "python"]


def test_what_needs_the_library_says_so_and_mistakes_are_refused_as_ever(newer):
    words = ["debias.metrics.knn needs the library", "debias.prior needs the library", "engine fused cannot be had", "keys and ids need",
             "at least 2 views", "needs labels", r"labels: expected [6], one per sample, found [5]", "non-empty"]
    for refusal, expected in zip(newer["refusals"], words, strict=True):
        assert refusal and expected in refusal, (refusal, expected)


def test_a_copy_without_libraries_says_what_to_do(tmp_path):
    shutil.copytree(PACKAGE, tmp_path / "debias", ignore=shutil.ignore_patterns("lib"))
    message, = found(tmp_path, torch.__version__)["warnings"]
    assert "has no library" in message


def test_a_library_that_cannot_be_loaded_is_no_end(tmp_path):
    shutil.copytree(PACKAGE, tmp_path / "debias")
    for library in (tmp_path / "debias/lib").glob("libdebias_torch-*.so"):
        library.write_bytes(b"no library")
    message, = found(tmp_path, torch.__version__)["warnings"]
    assert "cannot be loaded" in message


def test_the_table_beside_the_modules_is_the_librarys():
    table = json.loads((PACKAGE / "objectives.json").read_text())
    assert table == json.loads(torch.ops.debias.objective_table()), "write it anew: python -m debias._library"


@pytest.mark.parametrize("name", _dense.COMPOSED)
def test_options_are_resolved_as_by_the_library(name):
    entry = next(entry for entry in debias.objectives() if entry["name"] == name)
    for variant in ("stable", "paper", "authors"):
        given = {"variant": variant}
        expected = debias._library.resolved_options(entry, json.dumps(given))
        assert _options.resolved(entry, given) == expected
    mistaken = {"number": ["x", -7, 1e9, "nan"], "boolean": ["yes"], "word": ["flor"], "number or none": [-1]}
    for option in entry["options"]:
        for value in mistaken[option["type"]]:
            both = []
            for resolve in (_options.resolved, lambda entry, given: debias._library.resolved_options(entry, json.dumps(given))):
                try:
                    both.append(resolve(entry, {option["name"]: value}).get(option["name"]))
                except ValueError as error:
                    both.append("refused")
                    assert option["name"] in str(error) and "\n" not in str(error)
            assert both[0] == both[1], (option, value, both)
