#!/usr/bin/env python3
"""scripts/check_docs.py: follows the links of README.md, CHANGELOG.md, CONTRIBUTING.md and the pages in docs and examples, and runs their blocks ```sh run.

A link is good when the file it names exists. The blocks of one page run in order, in one empty folder, with build/release/bin on
PATH; REPOSITORY holds the root. The first failing command of a block fails it.
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
LINK = re.compile(r"\[[^\]]*\]\(([^)#\s]+)[^)]*\)")
BLOCK = re.compile(r"^```sh run\n(.*?)^```", re.MULTILINE | re.DOTALL)


def broken_links(page, text):
    targets = [target for target in LINK.findall(text) if "://" not in target]
    return [f"{page.relative_to(ROOT)}: the link {target} leads nowhere" for target in targets if not (page.parent / target).exists()]


def failed_blocks(page, text):
    environment = dict(os.environ, REPOSITORY=str(ROOT), PATH=f"{ROOT / 'build/release/bin'}:{os.environ['PATH']}")
    with tempfile.TemporaryDirectory() as folder:
        for number, block in enumerate(BLOCK.findall(text), 1):
            done = subprocess.run(["bash", "-euo", "pipefail", "-c", block], cwd=folder, env=environment, capture_output=True, text=True, check=False)
            if done.returncode != 0:
                yield f"{page.relative_to(ROOT)}: block {number} ends with {done.returncode}: {(done.stderr or done.stdout).strip()[-400:]}"


def main():
    pages = [ROOT / "README.md", ROOT / "CHANGELOG.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md")),
             *sorted((ROOT / "examples").rglob("*.md"))]
    faults, blocks = [], 0
    for page in pages:
        text = page.read_text(encoding="utf-8")
        blocks += len(BLOCK.findall(text))
        faults += broken_links(page, text) + list(failed_blocks(page, text))
    print("\n".join(faults) if faults else f"check_docs: the links of {len(pages)} pages lead somewhere, {blocks} blocks ran")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
