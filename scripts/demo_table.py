#!/usr/bin/env python3
"""demo_table.py labels|no_labels|sentence FOLDER SEEDS: what `make demo` prints about the runs FOLDER/RECIPE-1 to FOLDER/RECIPE-SEEDS.

A table of a loss and its correction, or both gains in one sentence. Of one seed, the 95 % interval of a gain is over the test images, which
both networks saw: Newcombe's of paired proportions, as in debias/results/statistics.h. Of more, all intervals are Student's, over
the seeds, and gains are paired by seed. Other folders of an earlier demo are not read.
"""
import json
import math
import pathlib
import statistics
import sys

from student import half_width, wilson


class Recipe:
    def __init__(self, root, name, seeds):
        self.name = name
        self.runs = [root / f"{name}-{seed}" for seed in range(1, seeds + 1)]
        self.lines = [last_epoch_line(run) for run in self.runs]

    def percent(self, metric):
        return [100 * line[metric] for line in self.lines]

    def mean(self, metric):
        return statistics.mean(self.percent(metric))

    def cell(self, metric):
        values = self.percent(metric)
        return f"{values[0]:.1f}" if len(values) == 1 else f"{statistics.mean(values):.1f} ± {half_width(values):.1f}"

    def marks(self, protocol):
        """Of the one run: right or wrong by test image, as debias/results/predictions.h says."""
        return json.loads((self.runs[0] / f"evaluation/{protocol}.json").read_text(encoding="utf-8"))["marks"]["test"]

    def seconds(self):
        return f"{statistics.mean(training_seconds(run) for run in self.runs):.0f}"


class Gain:
    """Of a correction over the plain loss, in points, with the ends of its 95 % interval."""

    def __init__(self, plain, corrected, metric, protocol, sides):
        differences = [a - b for a, b in zip(corrected.percent(metric), plain.percent(metric))]
        self.mean = statistics.mean(differences)
        if len(differences) > 1:
            self.low, self.high = self.mean - half_width(differences), self.mean + half_width(differences)
            self.over = f"{len(differences)} seeds"
        else:
            pairs = [(a, b) for a, b in zip(corrected.marks(protocol), plain.marks(protocol)) if a.upper() in sides]
            self.low, self.high = (100 * end for end in paired_interval(pairs))
            self.over = f"{len(pairs):,} test images"

    def __str__(self):
        return f"{self.mean:+.1f} ({self.low:.1f} to {self.high:.1f})"


def last_epoch_line(run):
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text(encoding="utf-8").splitlines()]
    return [line for line in lines if "step" not in line][-1]


def training_seconds(run):
    return sum(json.loads(line)["seconds"] for line in (run / "times.jsonl").read_text(encoding="utf-8").splitlines())


def paired_interval(pairs):
    """Of the difference of two shares; a capital letter is right."""
    n, counts = len(pairs), dict.fromkeys([(True, True), (True, False), (False, True), (False, False)], 0)
    for first, second in pairs:
        counts[first.isupper(), second.isupper()] += 1
    both, one, other, neither = counts.values()
    p, q = (both + one) / n, (both + other) / n
    (p_low, p_high), (q_low, q_high) = wilson(p, n), wilson(q, n)
    margins, excess = (both + one) * (other + neither) * (both + other) * (one + neither), both * neither - one * other
    correlation = (max(excess - n / 2, 0) if excess > 0 else excess) / math.sqrt(margins) if margins else 0

    def added(a, b):
        return math.sqrt(max(a * a - 2 * correlation * a * b + b * b, 0))

    return p - q - added(p - p_low, q_high - q), p - q + added(p_high - p, q - q_low)


def print_table(headings, rows):
    widths = [max(len(row[i]) for row in [headings, *rows]) for i in range(len(headings))]
    for row in [headings, *rows]:
        print("  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip())


def with_labels(root, seeds):
    plain, corrected = (Recipe(root, name, seeds) for name in ("eps_supinfonce", "eps_supinfonce_fairkl"))
    return plain, corrected, Gain(plain, corrected, "test.conflicting_acc", "groups", "C")


def without_labels(root, seeds):
    plain, corrected = (Recipe(root, name, seeds) for name in ("infonce", "debiased_positives"))
    return plain, corrected, Gain(plain, corrected, "test.knn_acc1", "knn", "ACR")


def print_labels(root, seeds):
    *recipes, gain = with_labels(root, seeds)
    print_table(["objective", "aligned %", "conflicting %", "gain", "all %", "train s"],
                [[recipe.name, recipe.cell("test.aligned_acc"), recipe.cell("test.conflicting_acc"), text, recipe.cell("test.acc1"),
                  recipe.seconds()] for recipe, text in zip(recipes, ("", str(gain)))])
    print("  Conflicting: test images on the background of another class; aligned: on that of their own, as 992 of 1,000 training images are.\n"
          f"  Gain on conflicting images, in points, with its 95 % interval over {gain.over}.\n")


def print_no_labels(root, seeds):
    *recipes, gain = without_labels(root, seeds)
    print_table(["objective", "kNN %", "gain", "train s"],
                [[recipe.name, recipe.cell("test.knn_acc1"), text, recipe.seconds()] for recipe, text in zip(recipes, ("", str(gain)))])
    print(f"  Accuracy of nearest neighbours, of which 10 % is chance; the gain in points with its 95 % interval over {gain.over}.\n")


def print_sentence(root, seeds):
    def words(gain):
        return f"{gain.mean:+.1f} points, 95 % interval {gain.low:.1f} to {gain.high:.1f}"

    plain, corrected, gain = with_labels(root, seeds)
    metric = "test.conflicting_acc"
    first = (f"With FairKL, shapes on the background of another class are recognised in {corrected.mean(metric):.1f} % of cases instead of "
             f"{plain.mean(metric):.1f} % ({words(gain)})")
    plain, corrected, gain = without_labels(root, seeds)
    metric = "test.knn_acc1"
    print(f"{first}; without labels, corrected positives take kNN accuracy from {plain.mean(metric):.1f} to {corrected.mean(metric):.1f} % "
          f"({words(gain)}); intervals over {'test images' if seeds == 1 else gain.over}.")


if __name__ == "__main__":
    PARTS = {"labels": print_labels, "no_labels": print_no_labels, "sentence": print_sentence}
    PARTS[sys.argv[1]](pathlib.Path(sys.argv[2]), int(sys.argv[3]))
