#!/usr/bin/env python3
"""scripts/check_docs.py [ROOT]: reads the pages at the root and in docs, examples, python and .github, and runs their blocks ```sh run.

A link is good when the file it names exists. No line of prose holds a placeholder: TODO, FIXME, TBD, XXX, lorem ipsum, or capitals that
repeat as keys held down do (ASASAS). A table has a head, a row of dashes under it and as many cells in every row; a blank line inside parts
it. The blocks of one page run in order, in one empty folder, with build/release/bin on PATH; REPOSITORY holds the root. The first failing
command of a block fails it. A page with <!-- run if: COMMAND --> is run where COMMAND succeeds in that folder. The files that name the version name the same one. Each fault is one line; then exit 1.
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
PAGES = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "python/README.md", "python/cli/README.md")
FOLDERS = (".github", "docs", "examples")
LINK = re.compile(r"\[[^\]]*\]\(([^)#\s]+)[^)]*\)")
BLOCK = re.compile(r"^```sh run\n(.*?)^```", re.MULTILINE | re.DOTALL)
CONDITION = re.compile(r"^<!-- run if: (.*) -->$", re.MULTILINE)
PLACEHOLDER = re.compile(r"\b(TODO|FIXME|TBD|XXX+|(?i:lorem ipsum)|([A-Z])\2{3,}|([A-Z]{2,4})\3{2,})\b")
DASHES = re.compile(r"^\|?(\s*:?-+:?\s*\|)*\s*:?-+:?\s*\|?$")
VERSIONS = {"CMakeLists.txt": r"^project\(debias VERSION ([0-9.]+)", "python/pyproject.toml": r'^version = "([0-9.]+)"',
            "CITATION.cff": r"^version: ([0-9.]+)", "CHANGELOG.md": r"^## ([0-9.]+)"}  # the first match of each
CELL_END = re.compile(r"(?<!\\)\|")


def prose_lines(text):
    """The numbered lines, those of fenced blocks empty."""
    fenced = False
    for number, line in enumerate(text.splitlines(), 1):
        fence = line.lstrip().startswith("```")
        fenced ^= fence
        yield number, "" if fenced or fence else line.strip()


def placeholders(text):
    for number, line in prose_lines(text):
        if found := PLACEHOLDER.search(line):
            yield number, f"'{found.group()}' stands where a sentence should"


def cells(row):
    return len(CELL_END.findall(row)) - 1


def faults_of_table(rows):
    number, head = rows[0]
    if len(rows) < 2 or not DASHES.match(rows[1][1]):
        yield number, "a table row without a head and dashes above it; is there a blank line inside the table?"
        return
    for row_number, row in rows[1:]:
        if cells(row) != cells(head):
            yield row_number, f"{cells(row)} cells in a row of a table that has {cells(head)} (a bar at both ends; \\| inside a cell)"


def broken_tables(text):
    rows = []
    for number, line in [*prose_lines(text), (0, "")]:
        if line.startswith("|"):
            rows.append((number, line))
        elif rows:
            yield from faults_of_table(rows)
            rows = []


def broken_links(page, text):
    targets = [target for target in LINK.findall(text) if "://" not in target]
    return [f"the link {target} leads nowhere" for target in targets if not (page.parent / target).exists()]


def run_blocks(root, text):
    """How many blocks ran, and the faults of those that failed."""
    environment = dict(os.environ, REPOSITORY=str(root), PATH=f"{root / 'build/release/bin'}:{os.environ['PATH']}")
    with tempfile.TemporaryDirectory() as folder:
        def run(command):
            return subprocess.run(["bash", "-euo", "pipefail", "-c", command], cwd=folder, env=environment, capture_output=True, text=True, check=False)

        condition = CONDITION.search(text)
        if condition and run(condition.group(1)).returncode != 0:
            return 0, []
        blocks = [run(block) for block in BLOCK.findall(text)]
    return len(blocks), [f"block {number} ends with {done.returncode}: {(done.stderr or done.stdout).strip()[-400:]}"
                         for number, done in enumerate(blocks, 1) if done.returncode != 0]


def different_versions(root):
    found = {}
    for name, pattern in VERSIONS.items():
        path = root / name
        match = re.search(pattern, path.read_text(encoding="utf-8"), re.MULTILINE) if path.is_file() else None
        if match:
            found[name] = match.group(1)
    return [", ".join(f"{name} has version {version}" for name, version in found.items())] if len(set(found.values())) > 1 else []


def main(root):
    named = [root / name for name in PAGES]
    pages = [page for page in [*named, *(page for folder in FOLDERS for page in sorted((root / folder).rglob("*.md")))] if page.exists()]
    faults, blocks = [], 0
    for page in pages:
        text, name = page.read_text(encoding="utf-8"), page.relative_to(root)
        ran, failed = run_blocks(root, text)
        blocks += ran
        faults += [f"{name}:{number}: {fault}" for number, fault in sorted([*placeholders(text), *broken_tables(text)])]
        faults += [f"{name}: {fault}" for fault in [*broken_links(page, text), *failed]]
    faults += different_versions(root)
    print("\n".join(faults) if faults else f"check_docs: {len(pages)} pages are whole, their links lead somewhere, {blocks} blocks ran")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ROOT).resolve()))
