"""The package without its engine, or with it hidden: said once, and computed by PyTorch. The engine beside other versions of torch."""

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
    refusal = None
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
def without(tmp_path_factory):
    """The package as its wheel for every platform has it."""
    folder = tmp_path_factory.mktemp("without")
    shutil.copytree(PACKAGE, folder / "debias", ignore=shutil.ignore_patterns("*.so*"))
    return found(folder)


def test_one_warning_says_what_is_lost(without):
    message, = without["warnings"]
    assert "no compiled engine" in message and "computed by PyTorch" in message and "\n" not in message
    assert without["about"]["backend"] == "plain" and without["about"]["threads"] >= 1


def test_all_losses_and_measures_are_those_of_this_half(without):
    assert list(without["values"]) == NAMES
    for name, (value, norm) in without["values"].items():
        z, *rest = arguments_of(name)
        expected = called(loss_of(name), name, z, *rest)
        gradient, = torch.autograd.grad(expected, z)
        assert value == pytest.approx(expected.item(), rel=1e-10) and norm == pytest.approx(gradient.norm().item(), rel=1e-9), name
    assert without["measures"] == [1, pytest.approx(1 / 3)]


def test_the_tile_engine_is_refused_with_its_reason(without):
    assert "there is no fused backend here" in without["refusal"]


def test_the_engine_can_be_hidden():
    hidden = found(PACKAGE.parent, DEBIAS_ENGINE="none")
    assert hidden["about"]["backend"] == "plain" and list(hidden["values"]) == NAMES
    message, = hidden["warnings"]
    assert message.startswith("debias: DEBIAS_ENGINE is none")
    done = subprocess.run([sys.executable, "-c", "import debias"], capture_output=True, text=True, cwd=PACKAGE.parent,
                          env={**os.environ, "DEBIAS_ENGINE": "nothing"})
    assert done.returncode == 1 and "DEBIAS_ENGINE: expected auto or none, got 'nothing'" in done.stderr


@compiled
def test_an_engine_that_cannot_be_loaded_is_no_end(tmp_path):
    shutil.copytree(PACKAGE, tmp_path / "debias")
    (tmp_path / "debias/lib/libdebias_engine.so").write_bytes(b"no library")
    message, = found(tmp_path)["warnings"]
    assert "cannot be loaded" in message


@compiled
def test_the_engine_serves_a_torch_of_any_version():
    newer = found(PACKAGE.parent, "2.99.0+cpu")
    assert newer["about"]["backend"] == "compiled" and newer["about"]["torch"] == "2.99.0+cpu" and not newer["warnings"]


@compiled
def test_the_engine_has_no_symbol_of_torch():
    """Of libtorch_cpu it takes the BLAS, and through it the OpenMP runtime."""
    shown = subprocess.run(["nm", "-D", "--undefined-only", "-C", PACKAGE / "lib/libdebias_engine.so"], capture_output=True, text=True, check=True)
    assert "sgemm_" in shown.stdout and not any(name in shown.stdout for name in ("at::", "c10::", "torch::", "aoti_"))
    size = sum(file.stat().st_size for file in (PACKAGE / "lib").iterdir())
    assert size <= 6_000_000
