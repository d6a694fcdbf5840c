#!/usr/bin/env python3
"""scripts/site_pages.py PAGES CONFIG: stages what the site shows in the folder PAGES, and mkdocs.yml, its nav resolved, as CONFIG.

README.md is the first page; docs/ keeps its layout; CHANGELOG.md, CONTRIBUTING.md, SECURITY.md and the examples get places of their own.
Links between pages follow them there. A link to any other file of the repository leads to a copy of it. Formulas in ```math blocks become display
formulas. The notebook becomes a page.
"""

import json
import os
import pathlib
import re
import shutil
import sys

import yaml

ROOT = pathlib.Path(__file__).resolve().parents[1]
MOVED = {"README.md": "index.md", "docs/index.md": "pages.md", "CHANGELOG.md": "project/changelog.md",
         "CONTRIBUTING.md": "project/contributing.md", "SECURITY.md": "project/security.md",
         "examples/new_objective/README.md": "examples/new_objective.md"}
LINK = re.compile(r"(\[[^\]]*\]\()([^)#\s]+)([^)]*\))")
FENCED = re.compile(r"(^\s*```.*?^\s*```$)", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"(`[^`\n]+`)")
COLUMNS = re.compile(r"\S {2,}\S")  # of a table in plain text


def wrapped(block):
    """A block of ```text without columns is prose, whose long lines are wrapped by a style."""
    return re.sub(r"```text$", "```{ .text .wrap }", block, count=1, flags=re.MULTILINE) if not COLUMNS.search(block) else block


def unbroken(text):
    """Prose whose numbers no line break parts from their ±, % or star. In a code span of a table, a bar needs no backslash here."""
    parts = CODE.split(text)
    parts[::2] = [re.sub(r"(?<=\d) (?=[±%]|\\?\*(?: ?\||$))|(?<=±) (?=\d)", "\N{NO-BREAK SPACE}", part, flags=re.MULTILINE) for part in parts[::2]]
    parts[1::2] = [part.replace("\\|", "|") for part in parts[1::2]]
    return "".join(parts)


def stacked(formula):
    """A long display formula of several parts, one below the other: side by side they are wider than a page."""
    parts = re.split(r"\s*(?:\\qquad\s*)+", formula.group(1))
    if len(parts) == 1 or len(formula.group(1)) < 110 or any(part.count("{") != part.count("}") for part in parts):
        return formula.group()
    return "$$\\begin{gathered} " + r" \\[0.8em] ".join(parts) + " \\end{gathered}$$"


class Pages:
    def __init__(self, folder):
        self.folder = folder
        self.places = {name: place for name, place in MOVED.items() if (ROOT / name).exists()}
        for path in sorted((ROOT / "docs").rglob("*")):
            name = str(path.relative_to(ROOT))
            if path.is_file() and name not in self.places:
                self.places[name] = str(path.relative_to(ROOT / "docs"))
        self.copied = set()

    def stage(self):
        shutil.rmtree(self.folder, ignore_errors=True)
        for name, place in list(self.places.items()):
            target = self.folder / place
            target.parent.mkdir(parents=True, exist_ok=True)
            if name.endswith(".md"):
                target.write_text(self.page((ROOT / name).read_text(encoding="utf-8"), name, place), encoding="utf-8")
            else:
                shutil.copyfile(ROOT / name, target)

    def page(self, text, name, place):
        text = re.sub(r"^([ \t]*)```math\n(.*?)^[ \t]*```$", r"\1$$\n\2\1$$", text, flags=re.MULTILINE | re.DOTALL)
        text = re.sub(r"^```sh run$", "```sh", text, flags=re.MULTILINE)
        text = re.sub(r"^\$\$(.+)\$\$$", stacked, text, flags=re.MULTILINE)
        parts = FENCED.split(text)
        text = "".join(wrapped(part) if number % 2 else unbroken(part) for number, part in enumerate(parts))
        return LINK.sub(lambda found: found.group(1) + self.target(found.group(2), name, place) + found.group(3), text)

    def target(self, link, name, place):
        if "://" in link or link.startswith("mailto:"):
            return link
        path = os.path.normpath(os.path.join(os.path.dirname(name), link))
        if path not in self.places and (ROOT / path).is_file():
            self.places[path] = f"files/{path}.txt"  # shown by a browser, not saved
            copy = self.folder / self.places[path]
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / path, copy)
        if path not in self.places:
            return link  # mkdocs reports it
        return os.path.relpath(self.places[path], os.path.dirname(place) or ".")

    def add_section(self, title, place):
        """A section of docs/index.md as the first page of a tab."""
        text = (ROOT / "docs/index.md").read_text(encoding="utf-8")
        section = re.search(rf"^## {title}\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL).group(1)
        self.add(place, "---\nsearch: {exclude: true}\n---\n" + self.page(f"# {title}\n{section}", "docs/index.md", place))

    def add(self, place, text):
        target = self.folder / place
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")


MAY_LACK = ("example-report.md", "reference/cpp.md")  # made where the demo has run, and where Doxygen is installed


def notebook_page(path):
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    parts = []
    for cell in cells:
        source = "".join(cell["source"])
        parts.append(source if cell["cell_type"] == "markdown" else f"```python\n{source}\n```")
    note = f"The test suite of the Python package executes this notebook (`{path.relative_to(ROOT)}`)."
    return "\n\n".join([parts[0], note, *parts[1:]]) + "\n"


def example_report(pages):
    """The report of the demo, or another one that EXAMPLE_REPORT names, as it was written."""
    report = pathlib.Path(os.environ.get("EXAMPLE_REPORT", ROOT / "runs/demo/report.html"))
    if not report.is_file():
        print(f"site_pages: {report} is not there; the site has no example report (make demo writes one)")
        return
    pages.add("assets/example-report.html", report.read_text(encoding="utf-8"))
    pages.add("example-report.md", "# Example report\n\n`debias report` wrote this page about runs of `make demo`. "
              '<a href="assets/example-report.html">Open it alone.</a>\n\n'
              '<iframe src="assets/example-report.html" title="Report of the demo" class="report"></iframe>\n')


def resolved(entry, left):
    """A nav entry with patterns replaced by pages; None where a page of MAY_LACK is not there. `left`: pages that no entry has named yet."""
    if isinstance(entry, dict):
        (title, value), = entry.items()
        if isinstance(value, str):
            found = resolved(value, left)
            return {title: found[0]} if found else None
        items = []
        for item in value:
            found = resolved(item, left)
            items += found if isinstance(found, list) else [found] if found else []
        return {title: items} if items else None
    found = [page for page in sorted(left) if pathlib.PurePath(page).match(entry) and page.count("/") == entry.count("/")]
    if not found and entry not in MAY_LACK and "*" not in entry:
        sys.exit(f"site_pages: mkdocs.yml names '{entry}', and there is no such page; correct the name or take it out")
    left.difference_update(found)
    return found


def with_nav(config, folder):
    left = {str(page.relative_to(folder)) for page in folder.rglob("*.md")}
    nav = [entry for entry in (resolved(entry, left) for entry in config["nav"]) if entry]
    if left:
        sys.exit(f"site_pages: mkdocs.yml does not name {', '.join(sorted(left))}; add each to a part of nav")
    return {**config, "nav": nav, "docs_dir": str(folder), "site_dir": str(ROOT / config["site_dir"])}


def main():
    folder, config_file = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2])
    pages = Pages(folder)
    pages.stage()
    pages.add("notebooks/runs.md", notebook_page(ROOT / "python/examples/runs.ipynb"))
    example_report(pages)
    pages.add_section("How-to guides", "how-to/index.md")
    pages.add_section("Losses", "objectives/index.md")
    if (ROOT / "build/doxygen/html/index.html").is_file():
        pages.add("reference/cpp.md", '# C++ API\n\n[Install a build](../install.md#install-a-build-and-use-the-library) says how to use the library from CMake.\n\n'
                  '<a href="../cpp/index.html">Classes and functions of the public headers</a>, made by Doxygen.\n')
    for asset in [*(ROOT / "scripts/site").glob("*.css"), *(ROOT / "scripts/site").glob("*.js")]:
        pages.add(f"assets/{asset.name}", asset.read_text(encoding="utf-8"))
    shutil.copytree(os.environ["KATEX"], folder / "assets/katex")
    config = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))
    config_file.write_text(yaml.safe_dump(with_nav(config, folder), sort_keys=False), encoding="utf-8")


if __name__ == "__main__":
    main()
