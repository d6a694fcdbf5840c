"""Tests of the compiled engine need it: without this check they would pass with the plain half in its place."""

import os

import pytest

import debias


def pytest_configure():
    if os.environ.get("DEBIAS_ENGINE", "auto") == "auto" and debias.about()["backend"] != "compiled":
        raise pytest.UsageError(f"{debias._engine.MISSING}; set DEBIAS_ENGINE=none to test the plain half")
