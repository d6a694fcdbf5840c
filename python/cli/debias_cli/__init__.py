"""Starts the program `debias` of this wheel with the torch of the environment."""

import importlib.metadata
import importlib.util
import os
import pathlib
import sys
from typing import Dict

_HERE = pathlib.Path(__file__).resolve().parent
PROGRAM = str(_HERE / "bin" / "debias")


class NoTorch(RuntimeError):
    """The environment has no torch, or one that the program was not built for."""


def _torch_folder() -> pathlib.Path:
    built = (_HERE / "built_for").read_text().strip()  # MAJOR.MINOR
    found = importlib.util.find_spec("torch")
    if found is None or found.origin is None:
        raise NoTorch(f"the program is built for torch {built}, found no torch; pip install 'torch=={built}.*'")
    version = importlib.metadata.version("torch")
    if version.split("+")[0].split(".")[:2] != built.split("."):
        raise NoTorch(f"the program is built for torch {built}, found torch {version}; pip install 'torch=={built}.*'")
    return pathlib.Path(found.origin).parent


def environment() -> Dict[str, str]:
    """The variables that the program starts with. NoTorch, in one line, where it cannot start."""
    folder, out = _torch_folder(), dict(os.environ)
    if folder.parent != _HERE.parent:  # else its own run path leads there
        out["LD_LIBRARY_PATH"] = os.pathsep.join(filter(None, [str(folder / "lib"), out.get("LD_LIBRARY_PATH", "")]))
    return out


def main() -> None:
    try:
        own = environment()
    except NoTorch as error:
        print(f"debias: {error}", file=sys.stderr)
        sys.exit(1)
    os.execve(PROGRAM, ["debias", *sys.argv[1:]], own)
