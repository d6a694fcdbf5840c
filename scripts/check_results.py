#!/usr/bin/env python3
"""scripts/check_results.py [ROOT]: holds the pages of results to the single runs in docs/results/*.jsonl.

Means with two-sided 95 % t-intervals, differences paired by seed, and single seeds are computed anew and compared with each cell as printed.
Outcomes of claims, their counts, and the stars that mark significant differences are compared with the tests of scripts/result_outcomes.py,
whose p-values are adjusted by Holm. README.md and all pages in docs are read for counts of outcomes that no entry of scripts/page_claims.py
gives. What differs is one line with the page, what is printed and what the runs give; then exit 1.
"""

import math
import pathlib
import re
import sys

from kept_runs import Runs
from page_claims import CLAIMS, SENTENCES, STARS, code
from result_outcomes import OUTCOMES, families

ROOT = pathlib.Path(__file__).resolve().parents[1]
# The 97.5 % quantile of Student's t, by degrees of freedom.
T = {1: 12.7062047, 2: 4.3026527, 3: 3.1824463, 4: 2.7764451, 5: 2.5705818, 6: 2.4469119, 7: 2.3646243, 8: 2.3060041, 9: 2.2621572}
CORRELATION, RATIO = "data.train.correlation", "data.train.ratio"
GROUPS = {"all": "test.acc1", "conflicting": "test.conflicting_acc", "aligned": "test.aligned_acc", "conflicting %": "test.conflicting_acc",
          "aligned %": "test.aligned_acc", "worst group": "test.worst_group_acc"}
TASKS = {"neighbours": "test.neighbour_acc", "MR": "mr_acc", "CR": "cr_acc", "SUBJ": "subj_acc", "MPQA": "mpqa_acc", "TREC": "trec_acc",
         "MSRP": "msrp_acc", "MSRP F1": "msrp_f1"}
SETTINGS = {"untrained": "untrained", "biased": "biased", "control": "control", "τ⁺ = 0.005": "debiased_0.005",
            "τ⁺ = 0.01": "debiased_0.01",
            "0.005": "debiased_0.005", "0.01": "debiased_0.01"}


def mean_half(values):
    mean = sum(values) / len(values)
    spread = math.sqrt(sum((value - mean) ** 2 for value in values) / (len(values) - 1))
    return mean, T[len(values) - 1] * spread / math.sqrt(len(values))


def percent(*shares):
    return [100 * share for share in shares]


def interval(values):
    return percent(*mean_half(list(values)))


def difference(left, right):
    return interval([left[seed] - right[seed] for seed in left if seed in right])


# Each of these gives the numbers of a cell, None where it holds nothing of the runs.
def by_setting(before, after):
    """Rows are methods; their runs are called BEFORE + method + AFTER."""
    def expected(runs, row, column):
        def of(method, metric):
            return runs.values(f"{before}{method}{after}", metric)

        if column in GROUPS:
            return interval(of(code(row[0]), GROUPS[column]).values())
        if found := re.match(r"(all|conflicting) − `", column):
            metric = GROUPS[found[1]]
            return difference(of(code(row[0]), metric), of(code(column), metric)) if row[column] else None
        return None
    return expected


def by_method(key, value):
    return by_setting("", f"/{key}={value}")


def by_point(key):
    """Columns are points of the grid, as 0.995, or differences at one, as 0.995 − `ce`."""
    def expected(runs, row, column):
        found = re.fullmatch(r"(0\.\d+)( − `ce`)?", column)
        if not found or not row[column]:
            return None
        of = by_method(key, found[1])
        return of(runs, row | {"all": row[column], "all − `ce`": row[column]}, "all − `ce`" if found[2] else "all")
    return expected


def by_share(runs, row, column):
    """Columns are differences at a share of conflicting images, as 5 % − `end`."""
    share, _, reference = column.partition(" − ")
    if not reference or not row[column]:
        return None
    left, right = (runs.values(f"{name}/{RATIO}={share.removesuffix(' %')}pct", "test.acc1") for name in (code(row[0]), code(reference)))
    return difference(left, right)


def gains_of_fairkl(runs, row, column):
    if not column.startswith("with `"):
        return None
    at = f"/{CORRELATION}={row[0]}"
    return difference(runs.values(f"{code(column)}_fairkl{at}", "test.acc1"), runs.values(f"{code(column)}{at}", "test.acc1"))


def by_weights(runs, row, column):
    if not row.get(column) or column not in ("1e-4", "1e-3", "1e-2", "0.1", "1"):
        return None
    at, weight = row[0].split(", ")
    setting = f"{CORRELATION}={at},objective.1.weight={weight},objective.0.weight={column}"
    return interval(runs.values(setting, "test.acc1").values())


def of_divergence(runs, row, column):
    setting = code(row[0].replace("*", "").split(" (")[0])
    if column in GROUPS:
        return interval(runs.values(setting, GROUPS[column]).values())
    if row[column] and column.endswith("− `none`"):
        return difference(runs.values(setting, "test.conflicting_acc"), runs.values("none", "test.conflicting_acc"))
    return None


def of_cifar10(runs, row, column):
    setting, final = code(row[0]), 8
    at_end = runs.values(setting, "test.knn_acc1", final)
    if column in ("2 epochs", "4", "6"):
        values = runs.values(setting, "test.knn_acc1", int(column.split()[0])).values()
        return percent(sum(values) / len(values))
    if column == "8":
        return interval(at_end.values())
    if column.startswith("seeds"):
        return percent(*(at_end[seed] for seed in ("1", "2", "3")))
    if column.startswith("8 −") and row[column]:
        return difference(at_end, runs.values("infonce", "test.knn_acc1", final))
    if column == "top-5":
        values = runs.values(setting, "test.knn_acc5", final).values()
        return percent(sum(values) / len(values))
    return None


def of_sentences(runs, row, column):
    metric = TASKS[row[0]]
    if column in SETTINGS:
        return interval(runs.values(SETTINGS[column], metric).values()) if runs.values(SETTINGS[column], metric) else None
    left, right = (runs.values(SETTINGS[name], metric) for name in column.split(" − "))
    return difference(left, right) if left and right else None


TABLES = [  # page, its n-th table whose head begins so, files, cells
    ("biased-mnist.md", "| method |", 0, ["biased_mnist.jsonl"], by_point(CORRELATION)),
    *(("biased-mnist-groups.md", "| method |", n, ["biased_mnist.jsonl"], by_method(CORRELATION, at))
      for n, at in enumerate(("0.99", "0.995", "0.997", "0.999"))),
    ("biased-mnist.md", "| correlation | with", 0, ["biased_mnist.jsonl"], gains_of_fairkl),
    ("fairkl-weights.md", "| correlation, λ |", 0, ["biased_mnist_alpha_lambda.jsonl"], by_weights),
    ("fairkl-divergence.md", "| setting |", 0, ["biased_mnist_divergence.jsonl"], of_divergence),
    *(("corrupted-cifar10.md", "| method |", n, ["corrupted_cifar10.jsonl"], by_method(RATIO, at))
      for n, at in enumerate(("1pct", "5pct"))),
    ("corrupted-cifar10.md", "| setting | 1 %", 0, ["corrupted_cifar10.jsonl"], by_share),
    *(("unknown-bias.md", "| method |", n, ["photos_comparison.jsonl"], by_setting(f"{photos}/", ""))
      for n, photos in enumerate(("square", "tint"))),
    ("rivals.md", "| method | bias labels |", 0, ["biased_mnist_rivals.jsonl"], by_point(CORRELATION)),
    *(("rivals-groups.md", "| method |", n, ["biased_mnist_rivals.jsonl"], by_method(CORRELATION, at)) for n, at in enumerate(("0.995", "0.99"))),
    ("rivals-corrupted-cifar10.md", "| method |", 0, ["corrupted_cifar10_rivals.jsonl"], by_setting("", "")),
    *(("cifar10.md", "| method |", n, ["cifar10.jsonl"], of_cifar10) for n in range(2)),
    *(("sentences.md", head, n, [f"{name}.jsonl", f"{name}_tasks.jsonl"], of_sentences)
      for n, name in enumerate(("novels", "novels_gru")) for head in ("| | untrained |", "| | biased − untrained |")),
]


def tables(text):
    rows = []
    for line in [*text.splitlines(), ""]:
        if line.startswith("|"):
            rows.append(line)
        elif rows:
            yield rows
            rows = []


def cells(line):
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def agrees(printed, wanted):
    """Each number is the wanted one, rounded to the digits that are printed."""
    numbers = re.findall(r"[+-]?\d+(?:\.\d+)?", printed.replace("−", "-"))
    return len(numbers) == len(wanted) and all(abs(float(number) - value) <= 0.5 * 10 ** -len(number.partition(".")[2]) + 1e-9
                                               for number, value in zip(numbers, wanted))


def cells_of_table(folder, page, head, number):
    """(row, column) of the n-th table whose head begins so; a row holds its first cell under 0. None where there is no such table."""
    found = [table for table in tables((folder / page).read_text(encoding="utf-8")) if table[0].startswith(head)]
    if len(found) <= number:
        return None
    columns, pairs = cells(found[number][0]), []
    for line in found[number][2:]:
        row = dict(zip(columns, cells(line)))
        row[0] = cells(line)[0]
        pairs += [(row, column) for column in columns[1:]]
    return pairs


def faults_of_cells(folder, page, head, number, fault_of):
    """`fault_of` gives what the runs give in place of a cell, "" where it is right, None where it is not of the runs."""
    pairs = cells_of_table(folder, page, head, number)
    if pairs is None:
        yield f"{page}: no table {number + 1} that begins with '{head}'"
        return
    checked = [(row, column, found) for row, column in pairs if (found := fault_of(row, column)) is not None]
    for row, column, found in checked:
        if found:
            yield f"{page}: {row[0]}, {column}: printed {row[column]}, the runs give {found}"
    if not checked:
        yield f"{page}: nothing of table {number + 1} that begins with '{head}' was compared"


def faults_of(folder, page, head, number, files, expected):
    runs = Runs(folder, *files)

    def fault_of(row, column):
        wanted = expected(runs, row, column)
        if wanted is None:
            return None
        return "" if agrees(row[column], wanted) else " and ".join(f"{value:.3f}" for value in wanted)
    return faults_of_cells(folder, page, head, number, fault_of)


def faults_of_stars(folder, found, page, head, number, family, compared):
    def fault_of(row, column):
        pair = compared(row, column)
        if pair is None:
            return None
        comparison = found[family].of(*pair)
        if row[column].endswith("*") == comparison.is_significant():
            return ""
        p = "no test" if comparison.p_holm is None else f"p {comparison.p_holm:.3f} after Holm"
        return f"{p}, so {'a' if comparison.is_significant() else 'no'} star"
    return faults_of_cells(folder, page, head, number, fault_of)


def faults_of_claim(root, found, page, start, expected):
    rows = [line for line in (root / page).read_text(encoding="utf-8").splitlines() if line.startswith(start)]
    wanted = expected(found)
    if not rows:
        yield f"{page}: no row that begins with '{start}'"
    elif not any(re.search(rf"\| {re.escape(wanted)}(?! at\b| in the paper)", row) for row in rows):
        yield f"{page}: the row '{start}' does not have '{wanted}', which the runs give"


COUNT = re.compile(rf"\b\d+ ({'|'.join(OUTCOMES[:4])})\b")


def faults_of_sentences(root, found):
    texts = [(pages, text(found)) for pages, text in SENTENCES]
    for page in [root / "README.md", *sorted((root / "docs").rglob("*.md"))]:
        name, written = str(page.relative_to(root)), page.read_text(encoding="utf-8")
        for text in [text for pages, text in texts if name in pages]:
            if text not in written:
                yield f"{name}: does not say '{text}', which the runs give"
            written = written.replace(text, "", 1)
        yield from (f"{name}: '{count.group()}' is counted nowhere; add it to scripts/page_claims.py" for count in COUNT.finditer(written))


def main(root):
    found = families(root)
    faults = [fault for table in TABLES for fault in faults_of(root / "docs/results", *table)]
    faults += [fault for table in STARS for fault in faults_of_stars(root / "docs/results", found, *table)]
    faults += [fault for claim in CLAIMS for fault in faults_of_claim(root, found, *claim)]
    faults += faults_of_sentences(root, found)
    compared = f"{len(TABLES)} tables, {len(CLAIMS)} claims and {len(SENTENCES)} sentences"
    print("\n".join(faults) if faults else f"check_results: {compared} agree with the single runs")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ROOT).resolve()))
