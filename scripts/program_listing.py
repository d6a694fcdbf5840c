"""What the program says of itself (`debias list KIND --json`), for the scripts that write pages, manual pages and completions from it."""

import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
PROGRAM = ROOT / "build/release/bin/debias"


def listed(kind, program=PROGRAM):
    done = subprocess.run([str(program), "list", kind, "--json"], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{pathlib.Path(sys.argv[0]).name}: debias list {kind} failed: {done.stderr.strip()}")
    return json.loads(done.stdout)[kind]


def commands(program=PROGRAM):
    """All of them, the program itself first, each with its parts' names."""
    found = listed("commands", program)
    for command in found:
        above = command["name"] + " " if command["name"] else ""
        command["parts"] = [other["name"] for other in found
                            if other["name"] and other["name"].startswith(above) and " " not in other["name"][len(above):]]
    return found


def typed(command):
    return f"debias {command['name']}".strip()


def usage(command):
    """The synopsis in words: `debias data make NAME [key=value...] --out FILE [options]`."""
    words = [typed(command)]
    if command["has_parts"]:
        words.append("COMMAND")
    for argument in command["arguments"]:
        if argument["positional"]:
            word = argument["name"] + ("..." if argument["repeated"] else "")
            words.append(word if argument["required"] else f"[{word}]")
        elif argument["required"]:
            words.append(f"{argument['name']} {argument.get('value', '')}".strip())
    return " ".join([*words, "[options]"])


def spelt(argument):
    """`--out FILE`, `-q, --quiet`; of a positional argument its word."""
    names = ", ".join([*argument["also"], argument["name"]])
    return f"{names} {argument['value']}" if argument.get("value") else names


def meaning(argument):
    """The help, with the values to choose from where it does not name them itself."""
    missing = [choice for choice in argument.get("choices", []) if choice not in argument["help"]]
    return f"{argument['help']} ({', '.join(argument['choices'])})" if missing else argument["help"]
