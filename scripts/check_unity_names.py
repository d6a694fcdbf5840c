#!/usr/bin/env python3
"""scripts/check_unity_names.py [ROOT]: names that two sources may not share, since they are compiled as one.

The sources of a library, and those of a test program, are compiled several at a time as one translation unit (DEBIAS_UNITY), in which all
unnamed namespaces are one. (A test keeps its names in a namespace of its own, debias::<file>, and so out of the way of others.)
A type, constant or function there that another source of the folder defines too breaks the build, or does so once a new file shifts the
batches. Functions that differ in their parameters are overloads, and aliases of the same text are the same: both may stand. Left out are
sources with SKIP_UNITY_BUILD_INCLUSION in their folder's CMakeLists.txt. Each clash is one line, NAME: FILE:LINE, ...; then exit 1.
"""

import collections
import pathlib
import re
import sys

FOLDERS = ("debias/core", "debias/runtime", "debias/sweep", "debias/results", "debias/text", "debias/losses", "debias/pairs", "debias/encoders", "debias/optim",
           "debias/data", "debias/loader", "debias/augment", "debias/train", "debias/evaluate", "debias/study", "debias/report", "apps/debias")
SKIPPED = re.compile(r"set_source_files_properties\(([^)]*?)PROPERTIES\s[^)]*SKIP_UNITY_BUILD_INCLUSION\s+ON")
NOT_CODE = re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|(?<![0-9a-zA-Z_])\'(?:\\.|[^\'\\\n])+\''
                      r"|^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.DOTALL | re.MULTILINE)
NAMESPACE = re.compile(r"(?:inline\s+)?namespace\s*([\w:]*)\s*$")
TYPE = re.compile(r"(?:struct|class|union|enum(?:\s+class)?)\s+(\w+)\s*(?:final\s*)?(?::[^:].*)?$", re.DOTALL)
ALIAS = re.compile(r"using\s+(\w+)\s*=(.*)$", re.DOTALL)
FUNCTION = re.compile(r"(?:^|[\s&*>])(\w+|operator\S+?)\s*\(")
VARIABLE = re.compile(r"[\w>\]&*]\s*[\s&*]\s*(\w+)\s*(?:\[[^\]]*\]\s*)*$")


def blanked(match):
    """Spaces in the place of a comment, literal or directive, so that lines stay."""
    keep = '""' if match.group().startswith(('"', "R")) else ""
    return keep + "\n" * match.group().count("\n")


def closing(text, start, pair):
    """The place behind the bracket that closes the one at `start`."""
    depth = 0
    for place in range(start, len(text)):
        depth += (text[place] == pair[0]) - (text[place] == pair[1])
        if depth == 0:
            return place + 1
    return len(text)


def statements(text, start, end):
    """(place, head, the place of the body's brace or None) of each declaration between two places."""
    first = place = start
    while place < end:
        char = text[place]
        if char == "(":
            place = closing(text, place, "()")
            continue
        if char == "{":
            yield first, text[first:place], place
            place = first = closing(text, place, "{}")
            continue
        if char == ";":
            yield first, text[first:place], None
            first = place + 1
        place += 1


def parameter_type(text):
    text = re.sub(r"\s+", " ", text.split("=")[0]).strip()
    named = re.match(r"(.*[\s&*>])[A-Za-z_]\w*$", text)
    if named and named.group(1).strip() not in ("const", "unsigned", "struct"):
        text = named.group(1).strip()
    return text if text.endswith(("&", "*")) else re.sub(r"^const ", "", text)


def split_parameters(text):
    depth, parts = 0, [""]
    for char in text:
        depth += (char in "(<[{") - (char in ")>]}")
        if char == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += char
    return [parameter_type(part) for part in parts if part.strip()]


def declared(head):
    """(name, what it is): two of the same name and `what` are a clash, of functions; None where nothing is declared."""
    head = re.sub(r"\[\[.*?\]\]|alignas\([^)]*\)", "", head).strip()
    while head.startswith("template"):
        head = head[closing(head, head.index("<"), "<>"):].strip()
    if not head or head.startswith(("friend ", "static_assert", "extern ", "public:", "namespace")):
        return None
    if alias := ALIAS.match(head):
        return alias.group(1), "alias " + re.sub(r"\s+", "", alias.group(2))
    if head.startswith(("using ", "typedef ")):
        return None
    if found := TYPE.match(head):
        return found.group(1), "type"
    before_value = re.split(r"(?<![=!<>])=(?!=)", head)[0].rstrip()
    function = FUNCTION.search(before_value)
    if function:
        opened = function.end() - 1
        return function.group(1), "function " + ", ".join(split_parameters(before_value[opened + 1:closing(before_value, opened, "()") - 1]))
    variable = VARIABLE.search(before_value)
    return (variable.group(1), "variable") if variable else None


def names_of(text, start=0, end=None, path="", unnamed=False):
    """(namespace, name, what, place) of the declarations in unnamed namespaces."""
    for place, head, body in statements(text, start, len(text) if end is None else end):
        opened = NAMESPACE.search(head.strip()) if body is not None else None
        if opened and not re.search(r"[=(]", head):
            own = opened.group(1)
            yield from names_of(text, body + 1, closing(text, body, "{}") - 1, f"{path}::{own}" if own else path, unnamed or not own)
        elif unnamed:
            found = declared(head)
            if found:
                yield path, *found, place + len(head) - len(head.lstrip())


def clash(places):
    by_file = collections.defaultdict(set)
    for file, _, what in places:
        by_file[file].add(what)
    if len(by_file) < 2:
        return False
    kinds = {what for _, _, what in places}
    if all(what.startswith("alias ") for what in kinds):
        return len(kinds) > 1
    if all(what.startswith("function ") for what in kinds):
        return sum(len(whats) for whats in by_file.values()) > len(kinds)
    return True


def united(folder):
    """The sources of the folder that share translation units."""
    skipped = set()
    for lists in folder.rglob("CMakeLists.txt"):
        for found in SKIPPED.finditer(lists.read_text(encoding="utf-8")):
            skipped |= {lists.parent / name for name in found.group(1).split()}
    return [path for path in sorted(folder.rglob("*.cpp")) if path not in skipped]


def clashes(root):
    found = []
    tests = sorted(path.relative_to(root) for path in (root / "tests").glob("*/"))
    for folder in (*FOLDERS, *tests):
        places = collections.defaultdict(list)
        for path in united(root / folder):
            text = NOT_CODE.sub(blanked, path.read_text(encoding="utf-8"))
            for space, name, what, place in names_of(text):
                places[space, name].append((path.relative_to(root), text.count("\n", 0, place) + 1, what))
        for (_, name), where in places.items():
            if clash(where):
                found.append(f"{name}: " + ", ".join(f"{file}:{line}" for file, line, _ in where))
    return found


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent)
    found = clashes(root)
    for line in found:
        print(line)
    print(f"check_unity_names: {len(found)} names in more than one source of a unit; rename one" if found
          else "check_unity_names: no source shares a name of its own with another")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
