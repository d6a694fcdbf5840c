"""The programs of python/examples: other libraries' loops with one line changed train as before. Skipped where those are not installed."""

import ast
import json
import os
import pathlib
import re
import subprocess
import sys

import pytest

BINARY = os.environ.get("DEBIAS_BINARY", str(pathlib.Path(__file__).parents[2] / "build/release/bin/debias"))
with_program = pytest.mark.skipif(not os.access(BINARY, os.X_OK), reason="the program is not built")
EXAMPLES = pathlib.Path(__file__).parents[1] / "examples"


def output_of(name):
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "DEBIAS_PROGRAM": BINARY, "PYTHONPATH": os.pathsep.join([str(EXAMPLES), os.environ.get("PYTHONPATH", "")])}
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


def test_a_clip_like_loop_with_ids():
    plain, debiased, with_ids = map(float, re.search(r"concept: (\S+) by pairs, (\S+) debiased, (\S+) with ids", output_of("clip_loop.py")).groups())
    assert with_ids > plain and with_ids > 0.5


def test_cached_steps_train_as_whole_batches_do():
    whole, cached, moved, difference = map(float, re.search(r"loss (\S+) of the whole batch, (\S+) in chunks.*by (\S+), difference (\S+)",
                                                            output_of("gradcache_supcon.py")).groups())
    assert cached == pytest.approx(whole, rel=1e-4) and moved > 0.01 and difference < 1e-3 * moved


@with_program
def test_frozen_features_are_audited_and_fixed():
    output = output_of("audit_and_fix.py")
    before, after, accuracy, own = map(float, re.search(r"split: (\S+) before, (\S+) after; accuracy \S+ before, (\S+) after, (\S+) by", output).groups())
    assert "shortcuts column background\n" in output and after > before + 0.1 and own == accuracy


@with_program
def test_a_backbone_of_torch_is_audited_and_fixed():
    output = output_of("torch_backbone.py")
    printed = re.search(r"split: (\S+) before, (\S+) after; accuracy \S+ before, (\S+) after, (\S+) of", output)
    before, after, accuracy, own = map(float, printed.groups())
    assert "shortcuts column colour\n" in output and after > before + 0.3 and own == pytest.approx(accuracy, abs=0.05)


def executed(path):
    """Runs a notebook's cells in order, in one namespace, and returns what each shows: the value of its last expression, and its page."""
    namespace, shown = {}, []
    for cell in json.loads(path.read_text())["cells"]:
        if cell["cell_type"] != "code":
            continue
        assert cell["outputs"] == [] and cell["execution_count"] is None, "notebooks are kept without outputs"
        tree = ast.parse("".join(cell["source"]))
        last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, f"{path.name}, {cell['id']}", "exec"), namespace)
        value = last and eval(compile(ast.Expression(last.value), f"{path.name}, {cell['id']}", "eval"), namespace)
        shown.append((value, value._repr_html_() if hasattr(value, "_repr_html_") else None))
    return shown


@with_program
def test_the_notebook_runs(monkeypatch):
    monkeypatch.setenv("DEBIAS_PROGRAM", BINARY)
    shown = executed(EXAMPLES / "runs.ipynb")
    pages = [page for _, page in shown if page is not None]
    assert len(pages) == 4 and ["<iframe" in page for page in pages] == [False, False, True, False] and "worst_group_acc" in pages[-1]
    assert 0.2 < shown[-1][0] <= 1


def test_the_notebook_is_of_the_format():
    nbformat = pytest.importorskip("nbformat")
    nbformat.validate(nbformat.read(EXAMPLES / "runs.ipynb", as_version=4))
