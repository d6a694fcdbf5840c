#!/usr/bin/env python3
"""scripts/share_files.py FOLDER [PROGRAM]: writes manual pages and completions of bash, zsh and fish below FOLDER, laid out as `share` is.

They come from `PROGRAM list ... --json` (build/release/bin/debias), so that they have the commands and options of the program that they are
installed with. `cmake --install` runs this.
"""

import pathlib
import re
import subprocess
import sys

from completion_files import bash_completion, fish_completion, zsh_completion
from manual_pages import manual_pages
from program_listing import PROGRAM, commands, listed

# Values of arguments that are names the program knows: of options and positional arguments of these names.
KINDS = {"recipe": "recipes", "protocols": "protocols", "--objective": "objectives", "--data": "datasets"}
ALTERNATIVES = re.compile(r"\w+(\|\w+)+")  # "stable|paper|authors" in the place of a value, or as the whole help
WORDS = {"--device": ["auto", "cpu", "cuda"]}


def with_values(every, program):
    """Sets `completions` of the arguments that have some; each word of the tables above has to be one of an argument."""
    names = {kind: [entry["name"] for entry in listed(kind, program)] for kind in sorted(set(KINDS.values()))}
    unused = set(KINDS) | set(WORDS)
    for command in every:
        for argument in command["arguments"]:
            name = argument["name"]
            if name in KINDS:
                argument["completions"] = names[KINDS[name]]
            elif name in WORDS:
                argument["completions"] = WORDS[name]
            elif ALTERNATIVES.fullmatch(argument.get("value", argument["help"])):
                argument["completions"] = argument.get("value", argument["help"]).split("|")
            else:
                argument["completions"] = argument.get("choices", [])
            unused.discard(name)
    if unused:
        sys.exit(f"share_files: no command has the argument {sorted(unused)[0]}; take it out of the table in scripts/share_files.py")
    return every


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__.splitlines()[0])
    folder, program = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2] if len(sys.argv) == 3 else PROGRAM)
    every = with_values(commands(program), program)
    version = subprocess.run([str(program), "--version"], capture_output=True, text=True, check=True).stdout.split()[1]
    files = {f"man/man1/{name}.1": text for name, text in manual_pages(every, version).items()}
    files["bash-completion/completions/debias"] = bash_completion(every)
    files["zsh/site-functions/_debias"] = zsh_completion(every)
    files["fish/vendor_completions.d/debias.fish"] = fish_completion(every)
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    print(f"share_files: {len(files)} files below {folder}")


if __name__ == "__main__":
    main()
