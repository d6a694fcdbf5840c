"""The package's types: written from the table, known to a type checker, and of what is there."""

import ast
import importlib.util
import os
import pathlib
import subprocess
import sys

import pytest

import debias

HERE, PACKAGE = pathlib.Path(__file__).parent, pathlib.Path(debias.__file__).parent
SCRIPT = HERE.parents[1] / "scripts" / "python_stubs.py"


def run(*words):
    paths = {} if PACKAGE.parent.name == "site-packages" else {"PYTHONPATH": str(PACKAGE.parent), "MYPYPATH": str(PACKAGE.parent)}
    return subprocess.run([sys.executable, "-B", *map(str, words)], capture_output=True, text=True, env={**os.environ, **paths})


def test_the_stub_is_what_the_table_says():
    assert (PACKAGE / "py.typed").exists()
    done = run(SCRIPT, "--check")
    assert done.returncode == 0, done.stderr


def test_the_stub_names_everything_that_the_package_has():
    body = ast.parse((PACKAGE / "__init__.pyi").read_text()).body
    names = {node.name for node in body if isinstance(node, (ast.ClassDef, ast.FunctionDef))}
    passed_on = {alias.asname for node in body if isinstance(node, ast.ImportFrom) for alias in node.names}
    assert set(debias.__all__) <= names | passed_on


def test_a_program_passes_mypy_strict(tmp_path):
    if importlib.util.find_spec("mypy") is None:
        pytest.skip("mypy is not installed")
    done = run("-m", "mypy", "--strict", "--follow-imports=silent", "--cache-dir", tmp_path, HERE / "typed_use.py")
    assert done.returncode == 0, done.stdout
    mistaken = tmp_path / "mistaken.py"
    mistaken.write_text('import debias\ndebias.DebiasedNegativesLoss(tau_pluss=0.1)\ndebias.SupConLoss(form="inn")\n')
    done = run("-m", "mypy", "--strict", "--follow-imports=silent", "--cache-dir", tmp_path, mistaken)
    assert done.returncode == 1 and "tau_pluss" in done.stdout and "inn" in done.stdout
    assert run(HERE / "typed_use.py").returncode == 0
