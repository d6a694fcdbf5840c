#!/usr/bin/env python3
"""Writes the losses of python/debias/__init__.pyi from the table of objectives; --check: says whether they are up to date."""

import json
import pathlib
import sys

PACKAGE = pathlib.Path(__file__).resolve().parents[1] / "python" / "debias"
ACRONYMS = {"infonce": "InfoNCE", "supinfonce": "SupInfoNCE", "supcon": "SupCon", "biascon": "BiasCon", "softcon": "SoftCon", "fairkl": "FairKL",
            "end": "EnD"}

MARK = "# The losses, as scripts/python_stubs.py writes them.\n"
COMMON = ['variant: Literal["stable", "paper", "authors", None] = ...', 'reduction: Literal["mean", "sum", "none"] = ...',
          "gather_distributed: bool = ...", "normalize: bool = ...", 'engine: Literal["auto", "fused", "blocked", "dense"] = ...',
          "memory_budget: int = ..."]


def class_name(objective):
    return "".join(ACRONYMS.get(word, word.capitalize()) for word in objective.split("_")) + "Loss"


def type_of(option):
    if option["type"] == "boolean":
        return "bool"
    if option["type"] == "word":
        return f"Literal[{', '.join(json.dumps(choice) for choice in option['choices'])}]"
    if option["name"] == "temperature":
        return "Union[float, Tensor]"
    if option["type"] == "integer":
        return "int"
    return 'Union[float, Literal["none"], None]' if option["type"].endswith("or none") else "float"


def filled(start, arguments, end):
    """`start`, the arguments and `end` in lines of at most 140 characters, broken between arguments."""
    lines = [start]
    for argument in arguments:
        text = argument + (end if argument is arguments[-1] else ", ")
        if len(lines[-1] + text.rstrip()) > 140:
            lines.append(" " * len(start))
        lines[-1] += text
    return "\n".join(line.rstrip() for line in lines)


def stub_of(entry):
    base = "_OnLogits" if entry["kind"] == "logits" else "_Supervised" if entry["min_views"] == 1 else "_LabelFree"
    options = entry["options"]
    first = [f"{option['name']}: {type_of(option)} = ..." for option in options if option["name"] == "temperature"]
    others = [f"{option['name']}: {type_of(option)} = ..." for option in options if option["name"] != "temperature"]
    attributes = "".join(f"    {option['name']}: {'Any' if option['name'] == 'temperature' else type_of(option)}\n" for option in options)
    made = filled("    def __init__(", ["self", *first, "*", *others, *COMMON], ") -> None: ...")
    return f"class {class_name(entry['name'])}({base}):\n{attributes}{made}\n"


def written(stub):
    """The stub with the losses of the table behind the mark."""
    table = json.loads((PACKAGE / "objectives.json").read_text())
    return stub[:stub.index(MARK)] + MARK + "\n" + "\n".join(map(stub_of, table))


if __name__ == "__main__":
    path = PACKAGE / "__init__.pyi"
    stub = path.read_text()
    if sys.argv[1:] == ["--check"]:
        sys.exit(0 if stub == written(stub) else f"{path.name} is not what scripts/python_stubs.py writes; run it")
    path.write_text(written(stub))
