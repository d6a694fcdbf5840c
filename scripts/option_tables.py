#!/usr/bin/env python3
"""scripts/option_tables.py [--check]: the tables of options on each page of docs/objectives.

Defaults (of an objective's three variants) and allowed values come from `debias list objectives --json`; a meaning that stands on the page is
kept, a missing one is the option's line of help. A page without a table gets none. --check changes nothing and names the pages that differ (exit 1).
"""

import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
TABLE = re.compile(r"^\| option \|.*\n(?:\|.*\n)+", re.MULTILINE)
ROW = re.compile(r"^\| `(\w+)` \|.*?\| ((?:[^|\\]|\\.)*) \|$", re.MULTILINE)
HEAD = "| option | stable | paper | authors | values | meaning |\n|---|---|---|---|---|---|\n"


def shown(value):
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return f"`[{', '.join(map(str, value))}]`"
    return f"`{value}`" if isinstance(value, str) and value not in ("", "none") else str(value)


def row(option, meaning):
    variants = option.get("variants", {})
    defaults = [shown(variants.get(name, option["default"])) for name in ("stable", "paper", "authors")]
    return line(option, defaults, allowed(option), meaning)


def allowed(option):
    choices = option.get("choices", ["true", "false"] if option["type"] == "boolean" else [])
    return (", ".join(f"`{choice}`" for choice in choices) or option.get("range", "")).replace(">=", "≥")


def line(option, defaults, values, meaning):
    return f"| `{option['name']}` | {' | '.join(defaults)} | {values} | {meaning or option['help']} |\n"


def with_table(text, options):
    old = TABLE.search(text)
    if old is None:
        return text
    meanings = dict(ROW.findall(old.group(0)))
    return text[:old.start()] + HEAD + "".join(row(option, meanings.get(option["name"])) for option in options) + text[old.end():]


def listed(kind):
    command = [str(ROOT / "build/release/bin/debias"), "list", kind, "--json"]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)[kind]


def main():
    objectives = listed("objectives")
    differing = []
    for objective in objectives:
        page = ROOT / "docs/objectives" / f"{objective['name']}.md"
        text = page.read_text(encoding="utf-8")
        if objective["options"] and TABLE.search(text) is None:
            sys.exit(f"option_tables: {page.relative_to(ROOT)}: no table of options; add a line `| option |` and one of dashes where it shall stand")
        new = with_table(text, objective["options"])
        if new == text:
            continue
        differing.append(str(page.relative_to(ROOT)))
        if "--check" not in sys.argv[1:]:
            page.write_text(new, encoding="utf-8")
    if "--check" in sys.argv[1:] and differing:
        print(f"option_tables: out of date: {', '.join(differing)}; run scripts/option_tables.py")
        return 1
    print(f"option_tables: {len(objectives)} pages, {len(differing)} written")
    return 0


if __name__ == "__main__":
    sys.exit(main())
