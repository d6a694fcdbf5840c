"""The table of objectives, and what this copy of the package is."""

import functools
import json
import pathlib
import warnings

import torch

from ._engine import AVAILABLE, MISSING

VERSION = "0.1.0"


@functools.cache
def table():
    """One dict for each objective; `debias list objectives --json` prints them."""
    return tuple(json.loads((pathlib.Path(__file__).parent / "objectives.json").read_text(encoding="utf-8")))


def objectives():
    """The registry of objectives: one dict each, with name, aliases, summary and options (name, type, default, range, choices, help)."""
    return json.loads(json.dumps(table()))


def warn_once():
    """Called once, when the package is imported."""
    if not AVAILABLE:
        warnings.warn(f"{MISSING}. All losses, metrics and priors are computed by PyTorch instead. Values are the same, but float32 on the "
                      "CPU needs more time and memory", stacklevel=3)


def about():
    """The backend and versions in use, as a dict: `backend` (compiled or plain), `torch` and `debias` (their versions), and `threads`.

    >>> debias.about()["backend"] in ("compiled", "plain")
    True
    """
    return {"backend": "compiled" if AVAILABLE else "plain", "torch": torch.__version__, "threads": torch.get_num_threads(),
            "debias": VERSION}
