"""Docstrings: the equation, the paper, the shapes, and an example that runs."""

import doctest

import pytest
import torch

import debias
from test_values import NAMES

CLASSES = [debias.class_name(name) for name in NAMES] + ["TwoTowerLoss", "CachedStep"]


@pytest.mark.parametrize("name", CLASSES)
def test_the_example_of_a_docstring_runs(name):
    finder, runner = doctest.DocTestFinder(recurse=False), doctest.DocTestRunner()
    examples = finder.find(getattr(debias, name), name, globs={"debias": debias, "torch": torch})
    assert sum(len(one.examples) for one in examples) >= 2
    for one in examples:
        assert runner.run(one).failed == 0


@pytest.mark.parametrize("name", CLASSES[:-1])
def test_a_docstring_has_equation_source_and_shape(name):
    text = getattr(debias, name).__doc__
    assert ".. math::" in text and "https://" in text and "Shape" in text
