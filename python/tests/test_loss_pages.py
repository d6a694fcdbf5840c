"""Each loss has a page that names its class, links its source and begins with an example that runs."""

import pathlib
import re

import pytest
import torch

import debias

PAGES = pathlib.Path(__file__).resolve().parents[2] / "docs" / "objectives"
NAMES = [entry["name"] for entry in debias.objectives()]
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


def page(name):
    return (PAGES / f"{name}.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", NAMES)
def test_the_example_of_a_page_runs_and_gives_a_gradient(name):
    names = {}
    exec(compile(BLOCK.search(page(name)).group(1), f"{name}.md", "exec"), names)  # pylint: disable=exec-used
    assert type(names["loss"]).__name__ == debias.class_name(name)
    rows = [value for value in names.values() if isinstance(value, torch.Tensor) and value.requires_grad]
    assert rows and all(value.grad.abs().sum() > 0 for value in rows)


@pytest.mark.parametrize("name", NAMES)
def test_a_page_names_class_recipe_and_command_and_links_its_source(name):
    text = page(name)
    assert f"**Python:** `debias.{debias.class_name(name)}`" in text
    assert f"`debias loss --objective {name}`" in text
    assert re.search(r"^\*\*Source:\*\* .*\(https://", text, re.MULTILINE)
