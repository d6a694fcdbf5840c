#!/usr/bin/env python3
"""scripts/reference.py [--check]: writes the pages of docs/reference from what the program and the Python package say of themselves.

The pages hold every command and option, the sections of a recipe, and the entries of each registry with defaults and values. --check
changes nothing and names the pages that differ (exit 1). It also asks docs/exit-codes.md for every code that `debias --help` lists. A
program that was built without agents lists no `rl` commands; those and the page of agents stay as they are.
"""

import re
import sys

from program_listing import ROOT, commands, listed, meaning, spelt, typed, usage
from python_reference import python_page
from python_stubs import class_name

FOLDER = ROOT / "docs/reference"
NOTE = "<!-- Written by scripts/reference.py. -->\n\n"
VARIANTS = ("stable", "paper", "authors")


def shown(value):
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return f"`[{', '.join(map(str, value))}]`"
    return f"`{value}`" if isinstance(value, str) and value not in ("", "none") else str(value)


def allowed(option):
    choices = option.get("choices", ["true", "false"] if option["type"] == "boolean" else [])
    return (", ".join(f"`{choice}`" for choice in choices) or option.get("range", "")).replace(">=", "≥")


def anchor(name):
    return re.sub(r"[^\w]+", "-", name).strip("-")


def cell(text):
    return str(text).replace("|", "\\|").replace("\n", " ").replace("<", "&lt;").replace("{", "&#123;")


def sentence(text):
    """With a capital, and a full stop."""
    return text and cell(text[0].upper() + text[1:]) + ("" if text.endswith(".") else ".")


def code(text):
    return f"`{text}`".replace("|", "\\|")


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join(lines) + "\n\n"


def argument_rows(command):
    for argument in command["arguments"]:
        notes = [word for word in ("required", "repeated") if argument[word]]
        yield [code(spelt(argument)), cell(meaning(argument)) + (f" ({', '.join(notes)})" if notes else "")]


def command_section(command):
    summary = sentence(command["summary"].removeprefix("debias: "))
    text = f"## {typed(command)}\n\n{summary}\n\n```text\n{usage(command)}\n```\n\n"
    if command["parts"]:
        parts = [f"[`{part}`](#{anchor('debias ' + part)})" for part in command["parts"]]
        text += f"Commands: {', '.join(parts)}.\n\n"
    text += table(["argument", "meaning"], argument_rows(command))
    return text + (f"```text\n{command['footer']}\n```\n\n" if command["footer"] else "")


def cli_page(every):
    text = "# Commands\n\n" + NOTE + "All commands and options of `debias`. `debias help COMMAND` prints the same on the terminal, "
    text += "and [exit codes](../exit-codes.md) lists what each command returns.\n\n"
    return text + "".join(command_section(command) for command in every)


def option_rows(options, with_variants):
    for option in options:
        variants = option.get("variants", {})
        defaults = [shown(variants.get(name, option["default"])) for name in VARIANTS] if with_variants else [shown(option["default"])]
        shown_defaults = [cell(value) or "–" for value in defaults]
        yield [code(option["name"]), cell(option["type"]), *shown_defaults, allowed(option), cell(option["help"])]


def option_table(options):
    if not options:
        return ""
    with_variants = any(option.get("variants") for option in options)
    defaults = list(VARIANTS) if with_variants else ["default"]
    return table(["option", "type", *defaults, "values", "meaning"], option_rows(options, with_variants))


def entry_section(entry, level, link=""):
    also = f" Also: {', '.join(code(alias) for alias in entry['aliases'])}." if entry["aliases"] else ""
    keys = "; takes keys" if entry.get("takes_keys") else ""
    summary = f"{sentence(entry['summary'] + keys)}{also}{link}".strip()
    return f"{'#' * level} {entry['name']}\n\n{summary}\n\n" + option_table(entry["options"])


def registry_page(title, introduction, kinds):
    text = f"# {title}\n\n{NOTE}{introduction}\n\n"
    for heading, kind in kinds:
        level = 3 if len(kinds) > 1 else 2
        text += f"## {heading}\n\n" if len(kinds) > 1 else ""
        for entry in listed(kind):
            page = ROOT / "docs/objectives" / f"{entry['name']}.md"
            link = f" In Python: `debias.{class_name(entry['name'])}`." if kind == "objectives" else ""
            link += f" [Formula and advice](../objectives/{page.name})." if link and page.exists() else ""
            text += entry_section(entry, level, link)
    return text


def recipe_page():
    text = f"# Recipe keys\n\n{NOTE}The sections of a recipe of `debias train`. [Recipes](../recipes.md) explains how to write one. "
    text += "Where a section chooses an entry by `name`, the options of that entry are written next to the keys listed here.\n\n"
    chosen = {"data": "datasets.md", "views": "views.md", "encoder": "encoders.md", "head": "encoders.md#heads",
              "objective": "objectives.md", "method": "methods.md", "sampler": "methods.md#samplers", "optimizer": "methods.md#optimizers",
              "schedule": "methods.md#schedules", "evaluate": "protocols.md"}
    for section in listed("sections"):
        link = f" [Entries and their options]({chosen[section['name']]})." if section["name"] in chosen else ""
        text += entry_section(section, 2, link)
    return text


def protocols_page():
    text = f"# Protocols and metrics\n\n{NOTE}The protocols of `debias eval`, and the metrics that `debias train` and evaluation write. "
    text += "[Agents](agents.md#metrics) have metrics of their own. "
    text += "[Evaluation](../evaluation.md) explains when to use which.\n\n## Protocols\n\n"
    text += "".join(entry_section(entry, 3) for entry in listed("protocols"))
    return text + "## Metrics\n\n" + table(["metric", "title", "unit", "better", "written by"], metric_rows("metrics"))


def metric_rows(kind):
    return [[code(metric["name"]), cell(metric["title"]), metric["unit"], metric["better"],
             ", ".join(code(name) for name in metric["protocols"]) or "training"] for metric in listed(kind)]


def agents_page():
    text = f"# Agents\n\n{NOTE}The recipe keys, tasks and metrics of `debias rl train`. [Pixels and rewards](../rewards.md) explains how to "
    text += "train an agent, and [objectives](objectives.md) has the options of `objective`.\n\n## Recipe keys\n\n"
    text += "".join(entry_section(section, 3) for section in listed("agent_sections"))
    text += "## Tasks\n\n" + table(["task", "goal"], [[code(task["name"]), sentence(task["summary"])] for task in listed("tasks")])
    return text + "## Metrics\n\n" + table(["metric", "title", "unit", "better"], [row[:4] for row in metric_rows("agent_metrics")])


def recipes_page():
    rows = [[code(recipe["name"]), *[cell(recipe[key]) or "–" for key in ("summary", "data", "time")]] for recipe in listed("recipes")]
    text = f"# Recipes by name\n\n{NOTE}The recipes that are installed with the program: `debias train NAME`.\n\n"
    return text + table(["recipe", "purpose", "data", "time"], rows)


def pages(every):
    registries = {
        "objectives.md": ("Objectives", "The training objectives. An option that differs between variants has three defaults.",
                          [("Objectives", "objectives")]),
        "encoders.md": ("Encoders and heads", "The networks of `encoder:` and `head:`.", [("Encoders", "encoders"), ("Heads", "heads")]),
        "datasets.md": ("Data sets", "The data sets of `data:`. [Data](../data.md) has sources and layouts.", [("Data sets", "datasets")]),
        "views.md": ("Views", "The presets and steps of `views:`.", [("Presets", "views"), ("Steps", "steps")]),
        "methods.md": ("Methods, samplers, optimizers and schedules", "[Training methods](../methods.md) explains the methods.",
                       [("Methods", "methods"), ("Samplers", "samplers"), ("Optimizers", "optimizers"), ("Schedules", "schedules")])}
    made = {name: registry_page(*what) for name, what in registries.items()}
    made.update({"cli.md": cli_page(every), "recipe.md": recipe_page(), "protocols.md": protocols_page(), "recipes.md": recipes_page(),
                 "python.md": python_page(NOTE)})
    if any(command["name"] == "rl train" for command in every):
        made["agents.md"] = agents_page()
    return {name: text.rstrip("\n") + "\n" for name, text in made.items()}


def with_agents_of(old, new):
    """`new`, with the sections of `rl` commands that `old` has: a program without agents does not list them."""
    def sections(text):
        return re.split(r"^(?=## )", text, flags=re.MULTILINE)

    def is_rl(section):
        return section.startswith("## debias rl")
    kept, result, placed = [section for section in sections(old) if is_rl(section)], [], False
    for section in sections(new):
        if not is_rl(section):
            result.append(section)
        elif not placed:
            result += kept
            placed = True
    return "".join(result)


def undocumented_codes(every):
    """Codes of the line "Exit codes: 0 success, ..." in the program's help that docs/exit-codes.md has no row of."""
    footer = every[0]["footer"].partition("Exit codes:")[2].partition("Example:")[0]
    documented = re.findall(r"^\| (\d+) \|", (ROOT / "docs/exit-codes.md").read_text(encoding="utf-8"), re.MULTILINE)
    return sorted(set(re.findall(r"\b\d+\b", footer)) - set(documented), key=int)


def main():
    every, differing = commands(), []
    if missing := undocumented_codes(every):
        sys.exit(f"reference: docs/exit-codes.md has no row of exit code {missing[0]}, which debias --help lists; add one")
    FOLDER.mkdir(exist_ok=True)
    made = pages(every)
    for name, new in made.items():
        page = FOLDER / name
        old = page.read_text(encoding="utf-8") if page.exists() else ""
        if name == "cli.md" and old and not any(command["name"] == "rl train" for command in every):
            new = with_agents_of(old, new)
        if new != old:
            differing.append(f"docs/reference/{name}")
            if "--check" not in sys.argv[1:]:
                page.write_text(new, encoding="utf-8")
    stray = [page for page in sorted(FOLDER.glob("*.md")) if page.name not in made and page.name != "agents.md"]
    if stray:
        sys.exit(f"reference: {stray[0].relative_to(ROOT)} is not written by this script; move it out of docs/reference")
    if "--check" in sys.argv[1:] and differing:
        print(f"reference: out of date: {', '.join(differing)}; run scripts/reference.py")
        return 1
    print(f"reference: {len(made)} pages, {len(differing)} written")
    return 0


if __name__ == "__main__":
    sys.exit(main())
