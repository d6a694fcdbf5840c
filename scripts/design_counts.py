#!/usr/bin/env python3
"""scripts/design_counts.py [FOLDER]: counts by which the design is evaluated, of the working tree or of another checkout in FOLDER.

Option text below the door: calls that read a recipe's text (.text(), to_yaml, parse_yaml, find("...")) outside debias/core, which has the
types of that text, and outside the door: what reads recipes, sweeps and a run's own files, and in each library what reads its section,
a file read_*.cpp. Texts and tables have a text() and a find() of their own. They are told apart: option text needs the type Config, which
the file names; a key of options is a plain word; and a container's find is compared with its end(). Fewer is better everywhere.
"""

import pathlib
import re
import sys

DOOR = re.compile(r"debias/(core/|sweep/|runs/|train/recipe/|train/state/(run_folder|resume_check)|agent/agent_recipe"
                  r"|train/state/training_state"  # a checkpoint has the recipe's text
                  r"|train/state/rank_resume"     # as has another rank
                  r"|results/|report/(run_record|recipe_facts)|fix/fixed_folder|data/builders/data_make"
                  r"|data/data_roots"             # sections of data from the command line, and of any run
                  r"|(\w+/)+read_\w+\.cpp)")
OPTION_TEXT = re.compile(r'(?:\.|->)text\(\)|to_yaml|parse_yaml|(\w+)(?:\.|->)find\("\w+"')


def sources(root, *folders):
    for folder in folders:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in (".cpp", ".h"):
                yield path


def lines_of(paths):
    return sum(path.read_text(encoding="utf-8").count("\n") for path in paths)


def matches(paths, pattern):
    return sum(len(re.findall(pattern, path.read_text(encoding="utf-8"))) for path in paths)


def option_texts(root):
    total = 0
    for path in sources(root, "debias"):
        text = path.read_text(encoding="utf-8")
        if DOOR.match(path.relative_to(root).as_posix()) or not re.search(r"\bConfig\b", text):
            continue
        total += sum(match[1] is None or f"{match[1]}.end()" not in text for match in OPTION_TEXT.finditer(text))
    return total


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent).resolve()
    product = list(sources(root, "debias", "apps", "python"))
    counts = {
        "lines of product (debias, apps, python; C++)": lines_of(product),
        "lines of tests (C++)": lines_of(sources(root, "tests")),
        "lines of apps/debias": lines_of(sources(root, "apps/debias")) + (root / "apps/debias/CMakeLists.txt").read_text().count("\n"),
        "option text below the door": option_texts(root),
        "dynamic_cast": matches(product, r"dynamic_(?:pointer_)?cast"),
        "dynamic_cast to a data set": matches(product, r"dynamic_(?:pointer_)?cast<[^>]*(?:Dataset|SampleTable)"),
        '"sentences" in report/': matches(sources(root, "debias/report"), '"sentences"'),
    }
    for name, count in counts.items():
        print(f"{count:8d}  {name}")


if __name__ == "__main__":
    main()
