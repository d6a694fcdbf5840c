"""The shared library with the operators torch.ops.debias.*, one for each minor version of torch, and the table of objectives.

If none fits the installed torch, or the environment variable DEBIAS_ENGINE is `none`, `AVAILABLE` is false and the plain backend computes
everything (plain/).
"""

import functools
import json
import math
import os
import pathlib
import warnings

import torch

_FOLDER = pathlib.Path(__file__).parent
VERSION = "0.1.0"


def _minor(version):
    """'2.11.0+cpu' -> (2, 11)."""
    major, minor = version.split("+")[0].split(".")[:2]
    return int(major), int("".join(character for character in minor if character.isdigit()))


def built_for():
    """The minor versions of torch that the package has a library for, as (2, 11)."""
    names = (path.stem.split("-")[1] for path in (_FOLDER / "lib").glob("libdebias_torch-*.so"))
    return sorted(_minor(name) for name in names)


def _spoken(versions):
    return " and ".join(", ".join(".".join(map(str, version)) for version in versions).rsplit(", ", 1))


def _why_not(version, built):
    if not built:
        return f"debias: this copy has no compiled library, found torch {version}"
    distance = lambda other: (abs(other[0] - _minor(version)[0]), abs(other[1] - _minor(version)[1]))
    nearest = ".".join(map(str, min(built, key=distance)))
    return f"debias has libraries for torch {_spoken(built)}, found torch {version}; the nearest is pip install 'torch=={nearest}.*'"


def _load():
    """The reason why no library was loaded, or None."""
    wanted = os.environ.get("DEBIAS_ENGINE", "auto")
    if wanted not in ("auto", "none"):
        raise ValueError(f"DEBIAS_ENGINE: expected auto or none, got '{wanted}'; unset it")
    if wanted == "none":
        return "debias: DEBIAS_ENGINE is none"
    built = built_for()
    if _minor(torch.__version__) not in built:
        return _why_not(torch.__version__, built)
    path = _FOLDER / "lib" / "libdebias_torch-{}.{}.so".format(*_minor(torch.__version__))
    try:
        torch.ops.load_library(str(path))
    except OSError as error:
        return f"debias: {path.name} cannot be loaded ({error})"
    return None


MISSING = _load()
AVAILABLE = MISSING is None


@functools.cache
def _table():
    return tuple(json.loads(torch.ops.debias.objective_table() if AVAILABLE else (_FOLDER / "objectives.json").read_text()))


def objectives():
    """The registry of objectives: one dict each, with name, aliases, summary and options (name, type, default, range, choices, help)."""
    return json.loads(json.dumps(_table()))


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


def resolved_options(entry, options):
    """The resolved options for `options`. Raises ValueError with the library's message if one is rejected."""
    if AVAILABLE:
        found = json.loads(torch.ops.debias.resolved_options(entry["name"], options))
        return {name: math.inf if value == ".inf" else value for name, value in found.items()}
    from ._options import resolved
    return resolved(entry, json.loads(options))


if __name__ == "__main__":  # after the options of an objective have changed
    (_FOLDER / "objectives.json").write_text(json.dumps(json.loads(torch.ops.debias.objective_table()), indent=1) + "\n")
