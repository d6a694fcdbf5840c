"""The package beside a torch that it has no library for, or with the engine hidden: said once, and computed by PyTorch."""

import json
import os
import pathlib
import shutil
import subprocess
import sys

import pytest
import torch

import debias
from test_values import arguments_of, called, compiled, loss_of

PACKAGE = pathlib.Path(debias.__file__).parent
NAMES = [entry["name"] for entry in debias.objectives()]
PROGRAM = """
import json, sys, warnings
import torch
torch.__version__ = VERSION
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    import debias
    sys.path.insert(0, TESTS)
    from test_values import NAMES, arguments_of, called, loss_of
    values = {}
    for name in NAMES:
        z, *rest = arguments_of(name)
        loss = loss_of(name)
        value = called(loss, name, z, *rest)
        gradient, = torch.autograd.grad(value, z)
        values[name] = [value.item(), gradient.norm().item()]
    rows, labels = torch.eye(6), list(range(6))
    measures = [debias.metrics.knn_accuracy(rows, labels, rows, labels, k=1), debias.prior.from_labels([0, 0, 1]).tau_plus]
    try: debias.InfoNCELoss(engine="fused")(rows, rows)
    except ValueError as error: refusal = str(error)
ours = [str(one.message) for one in caught if str(one.message).startswith("debias")]
print(json.dumps({"values": values, "warnings": ours, "measures": measures, "refusal": refusal, "about": debias.about()}))
"""


def found(folder, version=torch.__version__, **environment):
    program = PROGRAM.replace("VERSION", repr(str(version))).replace("TESTS", repr(str(pathlib.Path(__file__).parent)))
    done = subprocess.run([sys.executable, "-B", "-c", program], capture_output=True, text=True, cwd=folder,
                          env={**os.environ, "PYTHONPATH": str(folder), **environment})
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def newer(tmp_path_factory):
    folder = tmp_path_factory.mktemp("newer")
    shutil.copytree(PACKAGE, folder / "debias")
    return found(folder, "2.99.0+cpu")


def test_one_warning_says_what_is_lost(newer):
    message, = newer["warnings"]
    assert "torch 2.99.0+cpu" in message and "computed by PyTorch" in message and "\n" not in message
    assert newer["about"]["backend"] == "plain" and newer["about"]["torch"] == "2.99.0+cpu" and newer["about"]["threads"] >= 1


def test_all_losses_and_measures_are_those_of_this_half(newer):
    assert list(newer["values"]) == NAMES and len(NAMES) == 19
    for name, (value, norm) in newer["values"].items():
        z, *rest = arguments_of(name)
        expected = called(loss_of(name), name, z, *rest)
        gradient, = torch.autograd.grad(expected, z)
        assert value == pytest.approx(expected.item(), rel=1e-10) and norm == pytest.approx(gradient.norm().item(), rel=1e-9), name
    assert newer["measures"] == [1, pytest.approx(1 / 3)]


def test_the_tile_engine_is_refused_with_its_reason(newer):
    assert "there is no fused backend here" in newer["refusal"]


def test_the_engine_can_be_hidden():
    hidden = found(PACKAGE.parent, DEBIAS_ENGINE="none")
    assert hidden["about"]["backend"] == "plain" and len(hidden["values"]) == 19
    message, = hidden["warnings"]
    assert message.startswith("debias: DEBIAS_ENGINE is none")
    done = subprocess.run([sys.executable, "-c", "import debias"], capture_output=True, text=True, cwd=PACKAGE.parent,
                          env={**os.environ, "DEBIAS_ENGINE": "nothing"})
    assert done.returncode == 1 and "DEBIAS_ENGINE: expected auto or none, got 'nothing'" in done.stderr


@compiled
def test_a_library_that_cannot_be_loaded_is_no_end(tmp_path):
    shutil.copytree(PACKAGE, tmp_path / "debias")
    for library in (tmp_path / "debias/lib").glob("libdebias_torch-*.so"):
        library.write_bytes(b"no library")
    message, = found(tmp_path)["warnings"]
    assert "cannot be loaded" in message


@compiled
def test_the_table_beside_the_modules_is_the_librarys():
    table = json.loads((PACKAGE / "objectives.json").read_text())
    assert table == json.loads(torch.ops.debias.objective_table()), "write it anew: python -m debias._library"


@compiled
@pytest.mark.parametrize("name", NAMES)
def test_options_are_resolved_as_by_the_library(name):
    from debias import _options
    entry = next(entry for entry in debias.objectives() if entry["name"] == name)
    for variant in ("stable", "paper", "authors"):
        given = {"variant": variant}
        expected = debias._library.resolved_options(entry, json.dumps(given))
        assert _options.resolved(entry, given) == expected
    mistaken = {"number": ["x", -7, 1e9, "nan"], "integer": ["x", -7, 0, 2.5, 1e9], "boolean": ["yes"], "word": ["flor"],
                "number or none": [-1]}
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
