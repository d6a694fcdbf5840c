#!/usr/bin/env python3
"""scripts/result_pages.py [--check] [ROOT]: writes what the single runs in docs/results/*.jsonl give into the tables of the pages.

A line <!-- runs: KIND(...) --> stands above such a table and calls one of the kinds below: of each row and column it gives the cell's text, or
None where the cell is not of the runs and stays. Means have two-sided 95 % t-intervals, differences are paired by seed, and a star marks one
that is significant with p adjusted by Holm over the family (scripts/result_outcomes.py). --check changes nothing and names the pages that would
change. Both look for the CLAIMS and SENTENCES of scripts/page_claims.py on README.md and the pages, and name those that are not there, and
counts of outcomes that none of them has. Exit 1 if anything is amiss.
"""

import collections
import functools
import pathlib
import re
import sys

from page_claims import CLAIMS, SENTENCES, code, signed
from result_outcomes import METRICS_OF_TASKS, OUTCOMES, Runs, compare, families
from student import gain

ROOT = pathlib.Path(__file__).resolve().parents[1]
MARKED = re.compile(r"^(<!-- runs: (.*) -->\n\n)((?:\|.*\n)+)", re.MULTILINE)
COUNT = re.compile(rf"\b\d+ ({'|'.join(OUTCOMES[:4])})\b")
GROUPS = {"all": "test.acc1", "conflicting": "test.conflicting_acc", "aligned": "test.aligned_acc", "conflicting %": "test.conflicting_acc",
          "aligned %": "test.aligned_acc", "worst group": "test.worst_group_acc"}
SETTINGS = {"τ⁺ = 0.005": "debiased_0.005", "τ⁺ = 0.01": "debiased_0.01", "0.005": "debiased_0.005", "0.01": "debiased_0.01"}


class Table:
    """Cells of the runs of a file, and stars of families."""

    def __init__(self, root, *files):
        self.runs, self.found = Runs(root / "docs/results", *(f"{file}.jsonl" for file in files)), functools.partial(families_of, root)

    def mean(self, setting, metric, epoch=None, digits=1):
        """62.5 ± 1.9; None where no such runs are kept"""
        values = [100 * value for value in self.runs.values(setting, metric, epoch).values()]
        return "{0:.{2}f} ± {1:.{2}f}".format(*gain(values)[:2], digits) if values else None

    def bare_mean(self, setting, metric, epoch):
        values = self.runs.values(setting, metric, epoch).values()
        return f"{100 * sum(values) / len(values):.1f}"

    def less(self, left, right, metric, star=None, epoch=None, digits=1):
        """+1.5 ± 0.3 *; "" of a setting less itself. `star`: family, left, right and point."""
        if left == right:
            return ""
        values = [self.runs.values(name, metric, epoch) for name in (left, right)]
        if not all(values):
            return None
        found = compare("", left, right, *values)
        is_significant = star is not None and self.found()[star[0]].of(*star[1:]).is_significant()
        return signed(found, digits) + (" *" if is_significant else "")


@functools.cache
def families_of(root):
    return families(root)


def groups(table, setting="{}", family=None, at=""):
    """A row a method, whose runs are called `setting`."""
    def cell(row, column):
        method = code(row)
        if column in GROUPS:
            return table.mean(setting.format(method), GROUPS[column])
        if found := re.fullmatch(r"(all|conflicting) − `(\w+)`", column):
            star = family and (family, method, found[2], at)
            return table.less(setting.format(method), setting.format(found[2]), GROUPS[found[1]], star)
        return None
    return cell


def points(table, key, family=None):
    """A column a point of the grid, as 0.995, or differences at one, as 0.995 − `ce`."""
    def cell(row, column):
        at, _, reference = column.partition(" − ")
        if not re.fullmatch(r"0\.\d+", at):
            return None
        one = groups(table, f"{{}}/{key}={at}", family, at)
        return one(row, f"all − {reference}" if reference else "all")
    return cell


def shares(table):
    """Columns are differences at a share of conflicting images, as 5 % − `end`."""
    def cell(row, column):
        share, reference = column.split(" % − ")
        return table.less(*(f"{code(name)}/data.train.ratio={share}pct" for name in (row, reference)), "test.acc1")
    return cell


def gains_of_fairkl(table, family):
    def cell(row, column):
        base, at = code(column), f"/data.train.correlation={row}"
        return table.less(f"{base}_fairkl{at}", f"{base}{at}", "test.acc1", (family, f"{base}_fairkl", base, row))
    return cell


def weights(table):
    def cell(row, column):
        at, weight = row.split(", ")
        return table.mean(f"data.train.correlation={at},objective.1.weight={weight},objective.0.weight={column}", "test.acc1")
    return cell


def epochs(table, family):
    """Of CIFAR-10: accuracy after epochs."""
    def cell(row, column):
        setting, last = code(row), 8
        if column == "8":
            return table.mean(setting, "test.knn_acc1", last, digits=2)
        if column.startswith("seeds"):
            values = table.runs.values(setting, "test.knn_acc1", last)
            return ", ".join(f"{100 * values[seed]:.1f}" for seed in "123")
        if column == "8 − `infonce`":
            return table.less(setting, "infonce", "test.knn_acc1", setting != "infonce" and (family, setting, "infonce", "") or None, last, 2)
        if column == "top-5":
            return table.bare_mean(setting, "test.knn_acc5", last)
        return table.bare_mean(setting, "test.knn_acc1", int(column.split()[0])) if column[0].isdigit() else None
    return cell


def over_sizes(table, family):
    """Differences of which the family has numbers and stars."""
    def cell(row, column):
        found = table.found()[family].of(code(row), "infonce")
        return signed(found) + (" *" if found.is_significant() else "")
    return cell


def counts(table, family):
    """A row a point of the grid, a column an outcome."""
    return lambda row, column: str(table.found()[family].counts(None if row == "all" else row)[column])


def sentences(table, name):
    def cell(row, column):
        metric = METRICS_OF_TASKS[row]
        left, _, right = column.partition(" − ")
        left = SETTINGS.get(left, left)
        if not right:
            return table.mean(left, metric)
        return table.less(left, right, metric, (f"{name} less {right}", left, right, metric), digits=2)
    return cell


KINDS = {kind.__name__: kind for kind in (groups, points, shares, gains_of_fairkl, weights, epochs, over_sizes, counts, sentences)}


def cells(line):
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def written(root, marked):
    """The table below a marker, with its cells as the runs give them."""
    before, call, table = marked.groups()
    kind = eval(call, {name: lambda files, *words, kind=kind, **more: kind(Table(root, *files.split()), *words, **more)
                       for name, kind in KINDS.items()})
    head, dashes, *rows = table.splitlines()
    columns = cells(head)
    for i, line in enumerate(rows):
        name, *old = cells(line)
        new = [found if (found := kind(name, column)) is not None else cell for column, cell in zip(columns[1:], old, strict=True)]
        rows[i] = "|" + "|".join(f" {cell} " if cell else " " for cell in (name, *new)) + "|"
    return before + "\n".join([head, dashes, *rows]) + "\n"


def pages_of(root):
    return [root / "README.md", *sorted((root / "docs").rglob("*.md"))]


def faults_of_words(root):
    found, texts = families(root), {page.relative_to(root): page.read_text(encoding="utf-8") for page in pages_of(root)}
    lines = [line for text in texts.values() for line in text.splitlines()]
    for start, text, times in CLAIMS:
        wanted, rows = re.escape(text(found)), [line for line in lines if line.startswith(f"| {start}")]
        right = [row for row in rows if re.search(rf"\| {wanted}(?! at\b| in the paper)", row)]
        if len(right) < times:
            yield f"{len(right)} of {times} rows that begin with '{start}' have '{text(found)}', which the runs give"
    wanted = collections.Counter()
    for text, times in SENTENCES:
        wanted[text(found)] += times
    for text, times in wanted.items():
        if (said := sum(page.count(text) for page in texts.values())) < times:
            yield f"'{text}', which the runs give, is said {said} times, not {times}"
        texts = {name: page.replace(text, "") for name, page in texts.items()}
    yield from (f"{name}: '{count.group()}' is counted nowhere; add it to scripts/page_claims.py"
                for name, page in texts.items() for count in COUNT.finditer(page))


def main(words):
    check, root = words[:1] == ["--check"], pathlib.Path([*words, ROOT][words[:1] == ["--check"]]).resolve()
    faults, tables = [], 0
    for page in pages_of(root):
        old = page.read_text(encoding="utf-8")
        new, count = MARKED.subn(functools.partial(written, root), old)
        tables += count
        if old.count("<!-- runs: ") != count:
            faults.append(f"{page.relative_to(root)}: a marker has no table below it, after an empty line")
        if new != old and check:
            faults += [f"{page.relative_to(root)}: {a}\n  the runs give: {b}" for a, b in zip(old.splitlines(), new.splitlines()) if a != b]
        elif new != old:
            page.write_text(new, encoding="utf-8")
    faults += faults_of_words(root)
    print("\n".join(faults) if faults else
          f"result_pages: {tables} tables, {len(CLAIMS)} claims and {len(SENTENCES)} sentences are what the single runs give")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
