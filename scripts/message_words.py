#!/usr/bin/env python3
"""scripts/message_words.py [ROOT]: terms that are out of the pages (page_words.py), in what the program and the package print.

It reads the string literals of the sources in apps, debias, python/debias and python/src that have a space: messages, log lines, help, comments of
written recipes, docstrings. Identifiers, file names and values of options have none. Each fault is one line; then exit 1.
"""

import io
import pathlib
import re
import sys
import tokenize

from page_words import TERMS

ROOT = pathlib.Path(__file__).resolve().parents[1]
EXEMPT = {"debias/report/pages/style_sheet.cpp"}  # names of classes
FOLDERS = {"apps": (".cpp", ".h"), "debias": (".cpp", ".h"), "python/debias": (".py",), "python/src": (".cpp", ".h")}
CPP = re.compile(r'//[^\n]*|/\*.*?\*/|R"\((?P<raw>.*?)\)"|"(?P<text>(?:[^"\\\n]|\\.)*)"|\'(?:[^\'\\]|\\.)\'', re.DOTALL)


def cpp_texts(source):
    """(line, text) of the string literals, without comments and #include."""
    for found in CPP.finditer(source):
        text = found.group("raw") if found.group("raw") is not None else found.group("text")
        if text is not None:
            yield source.count("\n", 0, found.start()) + 1, text


def python_texts(source):
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.STRING or tokenize.tok_name[token.type] == "FSTRING_MIDDLE":
            yield token.start[0], token.string


def faults(name, source):
    """(line, fault) of a source."""
    texts = python_texts(source) if name.endswith(".py") else cpp_texts(source)
    for line, text in texts:
        if " " not in text.strip():
            continue
        for pattern, instead in TERMS:
            if found := pattern.search(text):
                yield line + text.count("\n", 0, found.start()), f"'{found.group()}' is out; write '{instead}'"


def main(root):
    found, count = [], 0
    for folder, endings in FOLDERS.items():
        for path in sorted((root / folder).rglob("*")):
            name = str(path.relative_to(root))
            if path.suffix in endings and name not in EXEMPT:
                count += 1
                found += [f"{name}:{line}: {fault}" for line, fault in faults(name, path.read_text(encoding="utf-8"))]
    print("\n".join(found) if found else f"message_words: the messages of {count} sources have no term that is out")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ROOT).resolve()))
