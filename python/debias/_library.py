"""The shared library with the operators torch.ops.debias.*, and the table of objectives that it holds."""

import functools
import json
import pathlib

import torch

TORCH_VERSION = "2.11.0"


def _load():
    if torch.__version__.split("+")[0] != TORCH_VERSION:
        raise ImportError(f"debias is built for torch {TORCH_VERSION}, found torch {torch.__version__}; install that version")
    torch.ops.load_library(str(pathlib.Path(__file__).with_name("libdebias_torch.so")))


_load()


@functools.cache
def _table():
    return tuple(json.loads(torch.ops.debias.objective_table()))


def objectives():
    """The registry: one dict for each objective, with its name, aliases, summary and options (name, type, default, range, choices, help)."""
    return json.loads(json.dumps(_table()))


def resolved_options(name, options):
    """The options in force for `options`; ValueError, in the words of the library, where one is refused."""
    return json.loads(torch.ops.debias.resolved_options(name, options))
