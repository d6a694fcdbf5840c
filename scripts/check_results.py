#!/usr/bin/env python3
"""scripts/check_results.py [ROOT]: holds the tables of docs/results to the single runs in docs/results/*.jsonl.

Means with two-sided 95 % t-intervals, differences paired by seed, and single seeds are computed anew and compared with each cell as printed.
A cell that differs is one line with page, row, column, what is printed and what the runs give; then exit 1.
"""

import json
import math
import pathlib
import re
import sys

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


class Runs:
    """The values of the runs of files, by setting, epoch and seed."""

    def __init__(self, folder, *files):
        self.found = {}
        for file in files:
            for line in (folder / file).read_text(encoding="utf-8").splitlines():
                run = json.loads(line)
                setting, seed = run["run"].rsplit("/seed-", 1)
                self.found.setdefault((setting, run.get("epoch")), {})[seed] = run

    def values(self, setting, metric, epoch=None):
        """By seed; without an epoch, those of any that have the metric."""
        return {seed: run[metric] for (name, number), seeds in self.found.items() if name == setting and epoch in (None, number)
                for seed, run in seeds.items() if metric in run}


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


def code(cell):
    """`ce` + `fairkl` -> ce_fairkl"""
    return "_".join(re.findall(r"`([^`]+)`", cell))


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


def gains_of_fairkl(runs, row, column):
    if not column.startswith("with `"):
        return None
    at = f"/{CORRELATION}={row[0]}"
    return difference(runs.values(f"{code(column)}_fairkl{at}", "test.acc1"), runs.values(f"{code(column)}{at}", "test.acc1"))


def by_weights(runs, row, column):
    if not row.get(column) or column not in ("1e-4", "1e-3", "1e-2", "0.1", "1"):
        return None
    setting = f"{CORRELATION}={row[0]},objective.1.weight={row['λ']},objective.0.weight={column}"
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
    *(("biased-mnist.md", "| method |", n, ["biased_mnist.jsonl"], by_method(CORRELATION, at))
      for n, at in enumerate(("0.995", "0.99", "0.997", "0.999"))),
    ("biased-mnist.md", "| correlation | with", 0, ["biased_mnist.jsonl"], gains_of_fairkl),
    ("fairkl-weights.md", "| correlation |", 0, ["biased_mnist_alpha_lambda.jsonl"], by_weights),
    ("fairkl-divergence.md", "| setting |", 0, ["biased_mnist_divergence.jsonl"], of_divergence),
    *(("corrupted-cifar10.md", "| method |", n, ["corrupted_cifar10.jsonl"], by_method(RATIO, at))
      for n, at in enumerate(("1pct", "5pct"))),
    *(("unknown-bias.md", "| method |", n, ["photos_comparison.jsonl"], by_setting(f"{photos}/", ""))
      for n, photos in enumerate(("square", "tint"))),
    *(("rivals.md", "| method |", n, ["biased_mnist_rivals.jsonl"], by_method(CORRELATION, at)) for n, at in enumerate(("0.995", "0.99"))),
    ("rivals.md", "| method |", 2, ["corrupted_cifar10_rivals.jsonl"], by_setting("", "")),
    ("cifar10.md", "| method |", 0, ["cifar10.jsonl"], of_cifar10),
    ("sentences.md", "| | untrained |", 0, ["novels.jsonl", "novels_tasks.jsonl"], of_sentences),
    ("sentences.md", "| | untrained |", 1, ["novels_gru.jsonl", "novels_gru_tasks.jsonl"], of_sentences),
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


def faults_of(folder, page, head, number, files, expected):
    found = [table for table in tables((folder / page).read_text(encoding="utf-8")) if table[0].startswith(head)]
    if len(found) <= number:
        yield f"{page}: no table {number + 1} that begins with '{head}'"
        return
    runs, columns, checked = Runs(folder, *files), cells(found[number][0]), 0
    for line in found[number][2:]:
        row = dict(zip(columns, cells(line)))
        row[0] = cells(line)[0]
        for column in columns[1:]:
            wanted = expected(runs, row, column)
            if wanted is None:
                continue
            checked += 1
            if not agrees(row[column], wanted):
                yield f"{page}: {row[0]}, {column}: printed {row[column]}, the runs give {' and '.join(f'{value:.3f}' for value in wanted)}"
    if checked == 0:
        yield f"{page}: nothing of table {number + 1} that begins with '{head}' was compared"


def main(root):
    faults = [fault for table in TABLES for fault in faults_of(root / "docs/results", *table)]
    print("\n".join(faults) if faults else f"check_results: {len(TABLES)} tables agree with the single runs")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ROOT).resolve()))
