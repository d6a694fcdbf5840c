"""The programs of python/examples: other libraries' loops with one line changed train as before. Skipped where those are not installed."""

import os
import pathlib
import re
import subprocess
import sys

import pytest

EXAMPLES = pathlib.Path(__file__).parents[1] / "examples"


def output_of(name):
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join([str(EXAMPLES), os.environ.get("PYTHONPATH", "")])}
    done = subprocess.run([sys.executable, "-B", str(EXAMPLES / name)], capture_output=True, text=True, timeout=600, env=environment)
    assert done.returncode == 0, done.stderr[-3000:]
    print(done.stdout)
    return done.stdout


def check_report(output):
    before, after, ratio = map(float, re.search(r"loss (\S+) before, (\S+) after; time of the loss in a step (\S+) of", output).groups())
    assert after == pytest.approx(before, rel=1e-3) and ratio > 0


def test_a_lightly_loop():
    pytest.importorskip("lightly")
    check_report(output_of("lightly_loop.py"))


def test_a_pytorch_metric_learning_loop():
    pytest.importorskip("pytorch_metric_learning")
    check_report(output_of("metric_learning_loop.py"))


def test_a_lightning_module_in_two_processes():
    pytest.importorskip("pytorch_lightning")
    pytest.importorskip("lightly")
    output = output_of("lightning_ddp.py")
    moved, difference = map(float, re.search(r"moved by (\S+) before.*difference (\S+)", output).groups())
    assert moved > 0.01 and difference < 1e-4 * moved
    check_report(output)
