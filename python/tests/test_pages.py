"""The Python blocks of the quick start, the first part of docs/python.md, run in order, in one namespace and an empty folder."""

import os
import pathlib
import re

import pytest

import debias

ROOT = pathlib.Path(__file__).parents[2]
BINARY = os.environ.get("DEBIAS_BINARY", str(ROOT / "build/release/bin/debias"))
HAS_PROGRAM = os.access(BINARY, os.X_OK)
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
PAGE = (ROOT / "docs/python.md").read_text(encoding="utf-8")
QUICK_START = PAGE.partition("\n## Two implementations\n")[0]
WITH_PROGRAM = re.compile(r"debias\.(train|audit|fix|evaluate|embed|report)\(")


def test_the_quick_start_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DEBIAS_PROGRAM", BINARY)
    blocks = BLOCK.findall(QUICK_START)
    namespace, ran = {}, 0
    for number, block in enumerate(blocks, 1):
        if WITH_PROGRAM.search(block) and not HAS_PROGRAM:
            continue
        exec(compile(block, f"python.md, block {number}", "exec"), namespace)
        ran += 1
    assert ran >= len(blocks) - 1 and len(blocks) == 5
    assert namespace["loss"].isfinite() and 0.2 < namespace["found"]["conflicting_acc"] < 0.9
    if HAS_PROGRAM:
        before, after = (found["folds"]["conflicting_acc"] for found in (namespace["fixed"].before, namespace["fixed"].after))
        assert namespace["run"].last["train_loss"] > 0 and after > before + 0.05 and namespace["logits"].shape == (2048, 6)
        assert "['column camera']" in capsys.readouterr().out
    else:
        pytest.skip(f"the program is not built: {ran} of {len(blocks)} blocks ran")


def test_the_page_names_only_what_there_is():
    for name in set(re.findall(r"debias\.([A-Za-z_]+)\b", PAGE)):
        assert hasattr(debias, name), name
