#!/usr/bin/env python3
"""scripts/check_includes.py [ROOT]: holds the sources to the order of the folders.

A folder of debias/ may include itself, core, and the folders named below; torch only where the folder is a torch one. A room, which is
a folder within one of them, may include what its folder may, the folder's own files, and the folders and rooms named below; of those files
only sources may include a room (a registry its entries), never a header. What a build may be without (control, agent) is included where it is
built alone: the program takes it through apps/debias/agent_runs.h. No header includes all of torch, and no file has a name that says nothing. Each violation is one
line, FILE:LINE: what; then exit 1.
"""

import pathlib
import re
import sys

EDGES = {
    "core": set(),
    "process": {"kernels"},
    "runtime": set(),
    "ranks": set(),
    "nccl": {"ranks"},
    "sweep": set(),
    "image": set(),
    "text": set(),
    "data": {"image", "text"},
    "features": {"data"},
    "augment": {"image"},
    "loader": {"image", "text", "data", "augment"},
    "results": set(),
    "kernels": set(),
    "pairs": {"kernels"},
    "losses": {"runtime", "kernels", "pairs"},
    "encoders": {"runtime", "kernels"},
    "optim": set(),
    "train": {"runtime", "loader", "image", "text", "data", "augment", "encoders", "losses", "pairs", "optim", "ranks", "results"},
    "train/recipe": {"evaluate"},  # a recipe chooses protocols
    "evaluate": {"runtime", "features", "loader", "image", "text", "data", "augment", "results", "encoders", "losses", "pairs", "optim", "kernels"},
    "fix": {"runtime", "kernels", "data", "features", "evaluate", "results", "encoders", "losses", "optim"},
    "control": set(),
    "agent": {"process", "runtime", "control", "encoders", "losses", "pairs", "optim", "train", "results", "image", "data"},
    "study": {"losses", "pairs", "results"},
    "report": {"sweep", "results", "data"},
    "audit": {"image", "data", "features", "report"},
    "mining": {"runtime", "image", "data", "evaluate", "report"},
    "runs": {"process", "runtime", "ranks", "sweep", "image", "text", "data", "features", "augment", "loader", "results", "losses", "pairs", "encoders", "optim", "train",
             "evaluate", "fix", "mining", "report"},
}
ROOMS = {
    "data/readers": set(),
    "data/builders": {"data/readers", "data/builders/corruptions"},
    "data/builders/corruptions": set(),
    "control/tasks": set(),
    "evaluate/neighbours": set(),
    "evaluate/maps": {"evaluate/neighbours"},
    "evaluate/protocols": {"evaluate/neighbours", "evaluate/maps"},
    "train/recipe": {"train/methods"},  # it names them; they read it
    "train/methods": {"train/recipe"},
    "train/state": {"train/recipe", "train/methods"},
    "train/loop": {"train/recipe", "train/methods", "train/state"},
    "report/charts": set(),
    "report/pages": {"report/charts"},
    "report/tables": {"report/charts"},
    "report/sections": {"report/charts", "report/pages", "report/tables"},
}
WITHOUT_TORCH = {"core", "process", "sweep", "image", "text", "data", "features", "augment", "results", "kernels", "report", "audit", "control"}
OPTIONAL = ("debias/control/", "debias/agent/")
WITH_OPTIONAL = OPTIONAL + ("apps/debias/control/", "tests/control/", "tests/agent/", "benchmarks/agent_timer.cpp")
TORCH = ("torch/", "ATen/", "c10/", "caffe2/")
ALL_OF_TORCH = {"torch/torch.h", "torch/all.h", "torch/extension.h"}
EMPTY_NAMES = {"util", "utils", "helper", "helpers", "misc", "manager", "managers"}  # as a word of a name; `common` alone

FOREIGN_NAMES = ("cmake", "gloo")  # headers that stand in for gloo's

ROOTS = ("debias", "apps", "tests", "benchmarks", "examples", "cmake", "python", "fuzz")
HEADERS = {".h", ".hpp", ".cuh"}
SOURCES = HEADERS | {".cpp", ".cc", ".cu"}
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def room_of(parts):
    """The innermost room that holds the file debias/... of these parts, or its folder."""
    for depth in range(len(parts) - 2, 1, -1):
        if "/".join(parts[1:1 + depth]) in ROOMS:
            return "/".join(parts[1:1 + depth])
    return parts[1]


def may_include(path, room, other):
    """Whether the file `path` of `room` may include a file of `other`."""
    folder = room.split("/")[0]
    if other.split("/")[0] != folder:
        return other.split("/")[0] in EDGES[folder] | EDGES.get(room, set()) | {"core"}
    if room == folder:
        return other == folder or path.suffix not in HEADERS
    return other in ROOMS[room] | {folder, room}


def fault(path, quote, target):
    """What is wrong with `#include target` in `path` (relative to the root), or None."""
    if target in ALL_OF_TORCH and path.suffix in HEADERS:
        return f"a header includes all of torch ({target}); name the narrow header"
    if target.startswith(OPTIONAL) and not path.as_posix().startswith(WITH_OPTIONAL):
        return f"{target} is not there in a build without MuJoCo; take it through apps/debias/agent_runs.h"
    if path.parts[0] != "debias" or len(path.parts) < 3:
        return None
    folder = path.parts[1]
    if folder not in EDGES:
        return f"debias/{folder} is not a folder of the architecture; add it to scripts/check_includes.py with its edges"
    if target.startswith(TORCH):
        return f"debias/{folder} does without torch, and includes {target}" if folder in WITHOUT_TORCH else None
    if target.startswith("debias/"):
        room, other = room_of(path.parts), room_of(target.split("/"))
        if may_include(path, room, other):
            return None
        allowed = EDGES[folder] | EDGES.get(room, set()) | {"core", folder} | ROOMS.get(room, set())
        what = "a header of " if other.startswith(room + "/") else ""
        return f"{what}debias/{room} may not include debias/{other} (allowed: {', '.join(sorted(allowed))})"
    if quote == '"':
        return f'"{target}" is not a path from the root; write debias/<folder>/<file>'
    return None


def violations(root):
    found = []
    for top in ROOTS:
        for path in sorted((root / top).rglob("*")):
            relative = path.relative_to(root)
            if "__pycache__" in relative.parts:
                continue
            if relative.parts[:2] == FOREIGN_NAMES:
                continue
            if path.stem == "common" or EMPTY_NAMES & set(re.split(r"[_\-.]", path.name.lower())):
                found.append(f"{relative}:1: the name says nothing; name the file after the concept in it")
            if path.suffix not in SOURCES or not path.is_file():
                continue
            for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
                match = INCLUDE.match(line)
                what = match and fault(relative, *match.groups())
                if what:
                    found.append(f"{relative}:{number}: {what}")
    return found


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent)
    found = violations(root)
    for line in found:
        print(line)
    print(f"check_includes: {len(found)} violations" if found else "check_includes: every include follows the order of the folders")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
