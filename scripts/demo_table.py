#!/usr/bin/env python3
"""demo_table.py first|second FOLDER: one table of the demo from its run folders: means over seeds with two-sided 95 % t-intervals."""
import json
import math
import pathlib
import statistics
import sys

T_975 = {1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571, 6: 2.447, 7: 2.365, 8: 2.306, 9: 2.262}  # by degrees of freedom


def last_epoch_line(run):
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    return [line for line in lines if "step" not in line][-1]


def training_seconds(run):
    return sum(json.loads(line)["seconds"] for line in (run / "times.jsonl").read_text().splitlines())


class Recipe:
    def __init__(self, root, name):
        self.name = name
        self.runs = sorted(root.glob(f"{name}-[0-9]*"))
        self.lines = [last_epoch_line(run) for run in self.runs]

    def percent(self, metric):
        return [100 * line[metric] for line in self.lines]

    def cell(self, metric):
        return interval(self.percent(metric))

    def gain(self, plain, metric):
        """By seed, which decides the data's order and the first weights of both."""
        if plain is self:
            return ""
        return interval([a - b for a, b in zip(self.percent(metric), plain.percent(metric))], sign="+")

    def seconds(self):
        return f"{statistics.mean(training_seconds(run) for run in self.runs):.0f}"


def interval(values, sign=""):
    mean = format(statistics.mean(values), sign + ".1f")
    if len(values) - 1 not in T_975:
        return mean
    return f"{mean} ± {T_975[len(values) - 1] * statistics.stdev(values) / math.sqrt(len(values)):.1f}"


def print_table(headings, rows):
    widths = [max(len(row[i]) for row in [headings, *rows]) for i in range(len(headings))]
    for row in [headings, *rows]:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip())


def first(root):
    recipes = [Recipe(root, name) for name in ["infonce", "debiased_negatives", "debiased_positives"]]
    print_table(
        ["objective", "kNN %", "gain over infonce", "worst to best seed", "clamped %", "train s"],
        [[recipe.name, recipe.cell("test.knn_acc1"), recipe.gain(recipes[0], "test.knn_acc1"),
          "{:.1f} to {:.1f}".format(min(recipe.percent("test.knn_acc1")), max(recipe.percent("test.knn_acc1"))),
          f"{statistics.mean(recipe.percent('clamped_share')):.0f}", recipe.seconds()] for recipe in recipes])
    print(f"Trained without labels on ten shapes, so 10 % is chance; {len(recipes[0].runs)} seeds, means and 95 % t-intervals. A gain whose interval "
          "holds 0 may be chance. Clamped: anchors whose estimate fell below its least possible value.\n")


def second(root):
    recipes = [Recipe(root, name) for name in ["eps_supinfonce", "eps_supinfonce_fairkl"]]
    print_table(
        ["objective", "aligned %", "conflicting %", "gain over the first", "all %", "train s"],
        [[recipe.name, recipe.cell("test.aligned_acc"), recipe.cell("test.conflicting_acc"),
          recipe.gain(recipes[0], "test.conflicting_acc"), recipe.cell("test.acc1"), recipe.seconds()] for recipe in recipes])
    print("Trained with labels on shapes whose background colour is that of the class in 992 of 1,000 images; aligned and conflicting: test images "
          f"where it is and where it is not. {len(recipes[0].runs)} seeds, means and 95 % t-intervals.\n")


if __name__ == "__main__":
    {"first": first, "second": second}[sys.argv[1]](pathlib.Path(sys.argv[2]))
