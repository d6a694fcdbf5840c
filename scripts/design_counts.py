#!/usr/bin/env python3
"""scripts/design_counts.py [FOLDER]: counts by which the design is evaluated, of the working tree or of another checkout in FOLDER.

Option text below the door: calls that read a recipe's text (.text(), to_yaml, parse_yaml, find("...")) outside debias/core, which has the
types of that text, and outside the readers of recipes, sweeps and the run's own files, which are the door. Fewer is better everywhere.
"""

import pathlib
import re
import sys

DOOR = re.compile(r"debias/(core/|sweep/|runs/|train/recipe/|train/state/run_folder|train/state/resume_check|agent/agent_recipe"
                  r"|results/|report/run_record|fix/fixed_folder|data/builders/data_make)")
OPTION_TEXT = re.compile(r'\.text\(\)|to_yaml|parse_yaml|find\("')


def sources(root, *folders):
    for folder in folders:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in (".cpp", ".h"):
                yield path


def lines_of(paths):
    return sum(path.read_text(encoding="utf-8").count("\n") for path in paths)


def matches(root, paths, pattern, beyond=None):
    total = 0
    for path in paths:
        if beyond and beyond.match(path.relative_to(root).as_posix()):
            continue
        total += len(re.findall(pattern, path.read_text(encoding="utf-8")))
    return total


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent).resolve()
    product = list(sources(root, "debias", "apps", "python"))
    counts = {
        "lines of product (debias, apps, python; C++)": lines_of(product),
        "lines of tests (C++)": lines_of(sources(root, "tests")),
        "lines of apps/debias": lines_of(sources(root, "apps/debias")) + (root / "apps/debias/CMakeLists.txt").read_text().count("\n"),
        "option text below the door": matches(root, sources(root, "debias"), OPTION_TEXT, DOOR),
        "dynamic_cast": matches(root, product, r"dynamic_(?:pointer_)?cast"),
        "dynamic_cast to a data set": matches(root, product, r"dynamic_(?:pointer_)?cast<[^>]*(?:Dataset|SampleTable)"),
        '"sentences" in report/': matches(root, sources(root, "debias/report"), '"sentences"'),
    }
    for name, count in counts.items():
        print(f"{count:8d}  {name}")


if __name__ == "__main__":
    main()
