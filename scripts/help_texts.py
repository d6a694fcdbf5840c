#!/usr/bin/env python3
"""scripts/help_texts.py [--update]: help texts that do not stand alone, of commands, arguments and options (as the program lists them).

A help text is a sentence without its subject ("prints the version"), or a noun ("batch size"): one that begins with "of", "with" or the like
lacks what it speaks of. Terms that are out of the pages (page_words.py) are out of help texts as well. scripts/unconverted_help.txt lists the
texts that do not meet this yet; a text that does, or is gone, has to leave the list (--update takes it off).
"""

import re
import sys

from page_words import TERMS
from program_listing import ROOT, commands, listed

UNCONVERTED = ROOT / "scripts/unconverted_help.txt"
KINDS = ("objectives", "encoders", "heads", "datasets", "steps", "optimizers", "schedules", "protocols", "methods", "samplers", "sections",
         "agent_sections", "tasks")
INCOMPLETE = re.compile(r"(so many|such as|at most|at least|of|with|without|for|by|in|at|on|from|to)\b", re.IGNORECASE)


def texts():
    """(name, help) of everything that has a help text."""
    for command in commands():
        name = command["name"] or "debias"
        yield name, command["summary"]
        yield from ((f"{name} {argument['name']}", argument["help"]) for argument in command["arguments"])
    for kind in KINDS:
        for entry in listed(kind):
            yield f"{kind}/{entry['name']}", entry["summary"]
            yield from ((f"{kind}/{entry['name']}.{option['name']}", option["help"]) for option in entry["options"])


def fault_of(text):
    if not text:
        return "there is no help text"
    if found := INCOMPLETE.match(text):
        return f"'{text}' begins with '{found.group(1)}', so that it does not stand alone; begin with a noun or a verb"
    for pattern, instead in TERMS:
        if found := pattern.search(text):
            return f"'{text}': '{found.group()}' is out; write '{instead}'"
    return ""


def main():
    faults = {name: fault for name, text in texts() if (fault := fault_of(text))}
    known = UNCONVERTED.read_text(encoding="utf-8").splitlines() if UNCONVERTED.is_file() else []
    # A build without MuJoCo has no agents' commands.
    absent = () if any(command["name"] == "rl train" for command in commands()) else ("rl ", "agent_sections/", "tasks/")
    if "--update" in sys.argv[1:]:
        known = [name for name in known if name in faults or name.startswith(absent)]
        UNCONVERTED.write_text("".join(f"{name}\n" for name in known), encoding="utf-8")
    lines = [f"help_texts: {name}: {fault}" for name, fault in faults.items() if name not in known]
    lines += [f"help_texts: {name} meets the rules or is gone; scripts/help_texts.py --update takes it off the list"
              for name in known if name not in faults and not name.startswith(absent)]
    print("\n".join(lines) if lines else f"help_texts: {len(known)} texts are still to be written anew, all others stand alone")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
