#!/usr/bin/env python3
"""scripts/result_outcomes.py [FAMILY ...]: the comparisons behind the claims of the results' pages, their p-values adjusted by Holm.

Prints each family of comparisons, or those that are named: the mean difference with its two-sided 95 % t-interval, p and adjusted p of the
t-test paired by seed, and the outcome. Everything is computed from docs/results/*.jsonl. Published numbers and their spreads are those of the
sweep's `expected`.

A family is every comparison of one kind in one sweep: all published orderings, over all points of its grid, as `debias table` counts them;
or all differences to one setting; or what its entry below lists. With p adjusted over its family an outcome is
  confirmed, contradicted     the difference is significant at 5 % and has the published sign, or the other one
  inconclusive                it is not significant, or has no test: seeds without any spread
  inconclusive in the paper   the published difference is not significant by Welch's test on its means, spreads and runs
  significant                 the difference is significant, and nothing is published
scripts/result_pages.py holds the pages to these outcomes.
"""

import collections
import dataclasses
import itertools
import json
import pathlib
import re
import statistics
import sys

from student import gain, holm, welch

ROOT = pathlib.Path(__file__).resolve().parents[1]
LEVEL = 0.05
CONFIRMED, CONTRADICTED, INCONCLUSIVE, IN_PAPER, SIGNIFICANT = OUTCOMES = (
    "confirmed", "contradicted", "inconclusive", "inconclusive in the paper", "significant")
METRICS_OF_TASKS = {"neighbours": "test.neighbour_acc", "MR": "mr_acc", "CR": "cr_acc", "SUBJ": "subj_acc", "MPQA": "mpqa_acc", "TREC": "trec_acc",
                    "MSRP": "msrp_acc", "MSRP F1": "msrp_f1"}


class Runs:
    """The values of the runs of files, as scripts/keep_results.py writes them, by setting, epoch and seed."""

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


@dataclasses.dataclass(frozen=True)
class Comparison:
    """left - right, in points where the metric is a share. `published`: the sign of the published difference, None where there is none."""
    at: str
    left: str
    right: str
    mean: float
    half: float
    p: float | None  # None: no test
    published: int | None = None
    is_conclusive_in_paper: bool | None = None  # None: a spread or a number of runs is not published
    p_holm: float | None = None

    def is_significant(self, adjusted=True):
        p = self.p_holm if adjusted else self.p
        return p is not None and p < LEVEL

    def outcome(self, adjusted=True):
        if self.is_conclusive_in_paper is False:
            return IN_PAPER
        if not self.is_significant(adjusted):
            return INCONCLUSIVE
        if self.published is None:
            return SIGNIFICANT
        return CONFIRMED if (self.mean > 0) == (self.published > 0) else CONTRADICTED

    def turned(self):
        sign = None if self.published is None else -self.published
        return dataclasses.replace(self, left=self.right, right=self.left, mean=-self.mean, published=sign)


class Family:
    """Comparisons whose p-values are adjusted for each other."""

    def __init__(self, comparisons):
        self.comparisons = list(comparisons)
        tested = [i for i, found in enumerate(self.comparisons) if found.p is not None]
        for i, p_holm in zip(tested, holm([self.comparisons[i].p for i in tested])):
            self.comparisons[i] = dataclasses.replace(self.comparisons[i], p_holm=p_holm)

    def of(self, left, right, at=""):
        for found in self.comparisons:
            if found.at == at and {found.left, found.right} == {left, right}:
                return found if found.left == left else found.turned()
        raise KeyError(f"no comparison of {left} and {right} at '{at}'")

    def counts(self, at=None, adjusted=True):
        """Of outcomes; of published orderings alone where there are any."""
        published = [found for found in self.comparisons if found.published is not None]
        return collections.Counter(found.outcome(adjusted) for found in published or self.comparisons if at in (None, found.at))

    def significant(self, adjusted=True, below=False):
        """How many differences are significant, or significantly below 0."""
        return sum(found.is_significant(adjusted) and (found.mean < 0 or not below) for found in self.comparisons)


def compare(at, left, right, values_left, values_right, scale=100, margin=0.0, **published):
    """Paired by seed. With a margin, the test is of a difference of -margin, and `mean` is the difference plus it."""
    seeds = [seed for seed in values_left if seed in values_right]
    differences = [scale * (values_left[seed] - values_right[seed]) + margin for seed in seeds]
    if len(differences) < 3:
        raise ValueError(f"{left} and {right} at '{at}' have {len(differences)} seeds in common")
    largest = max(map(abs, differences))
    if statistics.stdev(differences) < 1e-12 * max(largest, 1e-3):
        return Comparison(at, left, right, statistics.mean(differences), 0.0, None, **published)
    mean, half, p = gain(differences)
    return Comparison(at, left, right, mean, half, p, **published)


@dataclasses.dataclass(frozen=True)
class Published:
    value: float
    spread: float | None
    runs: int | None


def numbers_of(line, key):
    found = re.search(rf"\b{key}s: \[(.*?)\]", line) or re.search(rf"\b{key}: ([\d.e+-]+)", line)
    return [None if text.strip() == "null" else float(text) for text in found[1].split(",")] if found else None


def published_of(recipe):
    """{(value of the grid's key, variant): Published} of the `expected` of a sweep with at most one key in its grid."""
    text = recipe.read_text(encoding="utf-8")
    grid = re.search(r"^grid: \{[\w.]+: \[(.*?)\]\}", text, re.MULTILINE)
    points = [point.strip() for point in grid[1].split(",")] if grid else [""]
    found = {}
    for line in text[text.index("\nexpected:"):].splitlines():
        if not (variant := re.search(r"- \{variant: ([\w.-]+)", line)):
            continue
        runs = numbers_of(line, "runs")
        spreads = numbers_of(line, "spread") or [None] * len(points)
        for point, value, spread in zip(points, numbers_of(line, "value"), spreads, strict=True):
            found[point, variant[1]] = Published(value, spread, int(runs[0]) if runs else None)
    return found


def published_comparison(a, b):
    tested = None not in (a.spread, a.runs, b.spread, b.runs)
    is_conclusive = welch(a.value, a.spread, a.runs, b.value, b.spread, b.runs) < LEVEL if tested else None
    return {"published": 1 if a.value > b.value else -1, "is_conclusive_in_paper": is_conclusive}


def orderings(root, file, recipe, key, metric, scale=100):
    """Every two settings with different published numbers at a point of the grid, the better one first."""
    runs, published = Runs(root / "docs/results", file), published_of(root / "recipes" / recipe)
    for (at, a), (other, b) in itertools.combinations(published, 2):
        if at != other or published[at, a].value == published[at, b].value:
            continue
        left, right = (a, b) if published[at, a].value > published[at, b].value else (b, a)
        values = [runs.values(f"{name}/{key}={at}" if key else name, metric) for name in (left, right)]
        yield compare(at, left, right, *values, scale, **published_comparison(published[at, left], published[at, right]))


def settings_of(runs):
    return list(dict.fromkeys(setting for setting, _ in runs.found))


def differences(root, files, reference, metric, points=("",), before="", epoch=None):
    """Every setting less the reference; settings are called BEFORE + method, or method + / + point of the grid."""
    runs = Runs(root / "docs/results", *files)
    for at in points:
        after = f"/{at}" if at else ""
        methods = [name.removeprefix(before).removesuffix(after) for name in settings_of(runs) if name.startswith(before) and name.endswith(after)]
        for method in methods:
            values = [runs.values(f"{before}{name}{after}", metric, epoch) for name in (method, reference)]
            if method != reference and all(values):
                yield compare(at.partition("=")[2], method, reference, *values)


def listed(root, file, metric, pairs, epoch=None):
    """Pairs (left, right, published sign or None)."""
    runs = Runs(root / "docs/results", file)
    for left, right, sign in pairs:
        yield compare("", left, right, *(runs.values(name, metric, epoch) for name in (left, right)), published=sign)


def over_batch_sizes(root):
    """Differences at the five batch sizes, one seed each, as five pairs. The published sign is that of the mean over the sizes."""
    runs, published = Runs(root / "docs/results", "cifar10_batch.jsonl"), published_of(root / "recipes/small/cifar10_batch.yaml")
    sizes = list(dict.fromkeys(size for size, _ in published))
    losses = list(dict.fromkeys(loss for _, loss in published))
    accuracies = {loss: {size: runs.values(f"{loss}/train.batch_size={size}", "test.knn_acc1")["1"] for size in sizes} for loss in losses}
    for right, left in itertools.combinations(losses, 2):
        sign = sum(published[size, left].value - published[size, right].value for size in sizes)
        yield compare("", left, right, accuracies[left], accuracies[right], published=1 if sign > 0 else -1)


def published_weights(root, applied):
    """{(correlation and weight of FairKL, weight of the base loss): Published}. The released code applies alpha `applied` times."""
    weights = {1: ("1e-2", "0.1", "1"), 2: ("1e-4", "1e-2", "1")}[applied]
    text, found = (root / "recipes/small/biased_mnist_alpha_lambda.yaml").read_text(encoding="utf-8"), {}
    for correlation, weight, line in re.findall(r"- \{at: \{data.train.correlation: ([\d.]+), objective.1.weight: ([\d.]+)\},(.*)", text):
        values, spreads = ([number for number in numbers_of(line, key) if number is not None] for key in ("value", "spread"))
        for base, value, spread in zip(weights, values, spreads, strict=True):
            found[f"{correlation}, {weight}", base] = Published(value, spread, int(numbers_of(line, "runs")[0]))
    return found


def weights_within_rows(root, applied):
    """Every two weights of the base loss at one correlation and one weight of FairKL."""
    runs, published = Runs(root / "docs/results", "biased_mnist_alpha_lambda.jsonl"), published_weights(root, applied)
    points = collections.defaultdict(list)
    for setting in settings_of(runs):
        point, _, weight = setting.rpartition(",objective.0.weight=")
        points[point].append(weight)
    for point, weights in points.items():
        at = ", ".join(part.partition("=")[2] for part in point.split(","))
        for right, left in itertools.combinations(sorted(weights, key=float), 2):
            values = [runs.values(f"{point},objective.0.weight={weight}", "test.acc1") for weight in (left, right)]
            pair = [published.get((at, weight)) for weight in (left, right)]
            yield compare(at, left, right, *values, **(published_comparison(*pair) if all(pair) else {}))


def gap_of_similarities(root):
    """What epsilon-SupInfoNCE has over epsilon-SupCon at 0.999, less the same at 0.99. The paper sees the first alone."""
    runs, gaps = Runs(root / "docs/results", "biased_mnist.jsonl"), {}
    for at in ("0.999", "0.99"):
        left, right = (runs.values(f"{loss}/data.train.correlation={at}", "test.acc1") for loss in ("eps_supinfonce", "eps_supcon"))
        gaps[at] = {seed: left[seed] - right[seed] for seed in left}
    yield compare("", "gap at 0.999", "gap at 0.99", gaps["0.999"], gaps["0.99"], published=1)


def tasks(root, name, pairs):
    """Of the sentence tasks, each pair of settings in each of the metrics that both have."""
    runs = Runs(root / "docs/results", f"{name}.jsonl", f"{name}_tasks.jsonl")
    for metric in METRICS_OF_TASKS.values():
        for left, right in pairs:
            values = [runs.values(setting, metric) for setting in (left, right)]
            if all(values):
                yield compare(metric, left, right, *values)


DEBIASED = ("debiased_0.005", "debiased_0.01")
PEERS = ("erm", "dfr", "erasure_dfr")
MARGIN = 1  # point, by which a method of `debias fix` may be below the best peer


def beside_best_peer(root, method):
    """Of each setting and figure, the method less the peer with the highest mean, plus the margin."""
    found = collections.defaultdict(dict)
    for line in (root / "docs/results/fix.jsonl").read_text(encoding="utf-8").splitlines():
        run = json.loads(line)
        found[run["shortcut"], run["correlation"], run["backbone"], run["method"]][run["seed"]] = run
    for *setting, name in [key for key in found if key[3] == method]:
        for figure in ("worst", "conflicting"):
            def shares(each, setting=tuple(setting), figure=figure):
                return {seed: run[figure] for seed, run in found[*setting, each].items()}

            peer = max(PEERS, key=lambda each: statistics.mean(shares(each).values()))
            yield compare(f"{' '.join(map(str, setting))}, {figure}", name, peer, shares(name), shares(peer), margin=MARGIN)


CIFAR10 = [  # all that the page compares; the sign where a paper orders the two (Mitigating Distributional Biases, Fig. 1; BCL, Table 1 at N = 510)
    ("unbiased", "infonce", None), ("debiased_negatives_0.05", "infonce", None), ("debiased_negatives_0.1", "infonce", 1),
    ("debiased_positives", "infonce", 1), ("hard_negatives", "infonce", 1), ("bayesian", "infonce", 1),
    ("debiased_positives", "debiased_negatives_0.1", 1), ("hard_negatives", "debiased_negatives_0.1", -1),
    ("bayesian", "debiased_negatives_0.1", 1), ("bayesian", "hard_negatives", 1)]
CORRELATIONS = ("data.train.correlation=0.995", "data.train.correlation=0.99")
RATIOS = ("data.train.ratio=1pct", "data.train.ratio=5pct")
FAMILIES = {
    "biased-mnist": lambda root: orderings(root, "biased_mnist.jsonl", "small/biased_mnist.yaml", "data.train.correlation", "test.acc1"),
    "corrupted-cifar10": lambda root: orderings(root, "corrupted_cifar10.jsonl", "small/corrupted_cifar10.yaml", "data.train.ratio", "test.acc1"),
    "corrupted-cifar10 less eps_supinfonce": lambda root: differences(root, ["corrupted_cifar10.jsonl"], "eps_supinfonce", "test.acc1", RATIOS),
    "rivals on biased-mnist": lambda root: differences(root, ["biased_mnist_rivals.jsonl"], "ce", "test.acc1", CORRELATIONS),
    "rivals on biased-mnist less bias_balanced": lambda root: differences(
        root, ["biased_mnist_rivals.jsonl"], "bias_balanced", "test.acc1", CORRELATIONS),
    "rivals on biased-mnist less bias_balanced (worst group)": lambda root: differences(
        root, ["biased_mnist_rivals.jsonl"], "bias_balanced", "test.worst_group_acc", CORRELATIONS),
    "rivals on corrupted-cifar10": lambda root: differences(root, ["corrupted_cifar10_rivals.jsonl"], "ce", "test.acc1"),
    "square": lambda root: differences(root, ["photos_comparison.jsonl"], "ce", "test.conflicting_acc", before="square/"),
    "tint": lambda root: differences(root, ["photos_comparison.jsonl"], "ce", "test.conflicting_acc", before="tint/"),
    "cifar10": lambda root: listed(root, "cifar10.jsonl", "test.knn_acc1", CIFAR10, epoch=8),
    "cifar10-batch-size": over_batch_sizes,
    "fairkl-weights (alpha once)": lambda root: weights_within_rows(root, 1),
    "fairkl-weights (alpha twice)": lambda root: weights_within_rows(root, 2),
    "similarities": gap_of_similarities,
    "fairkl-divergence": lambda root: differences(root, ["biased_mnist_divergence.jsonl"], "none", "test.conflicting_acc"),
    **{f"{name} less {reference}": lambda root, name=name, reference=reference: tasks(root, name, [(each, reference) for each in DEBIASED])
       for name in ("novels", "novels_gru") for reference in ("biased", "control")},
    **{f"{name} less untrained": lambda root, name=name: tasks(root, name, [("biased", "untrained")]) for name in ("novels", "novels_gru")},
    "control": lambda root: orderings(root, "rl_control.jsonl", "rl/small/control.yaml", "environment.task", "test.return_mean", scale=1),
    **{f"fix {method}": lambda root, method=method: beside_best_peer(root, f"fix_{method}") for method in ("auto", "balanced", "erase_balanced")},
}


def families(root, names=tuple(FAMILIES)):
    return {name: Family(FAMILIES[name](root)) for name in names}


def p_text(p):
    return "none" if p is None else f"{p:.2g}"


def main():
    names = sys.argv[1:] or list(FAMILIES)
    if unknown := [name for name in names if name not in FAMILIES]:
        print(f"result_outcomes: no family '{unknown[0]}'; there are: {', '.join(FAMILIES)}", file=sys.stderr)
        return 2
    for name, family in families(ROOT, names).items():
        counts, raw = family.counts(), family.counts(adjusted=False)
        print(f"## {name}: {len(family.comparisons)} comparisons")
        print(", ".join(f"{counts[outcome]} {outcome} ({raw[outcome]} unadjusted)" for outcome in OUTCOMES if counts[outcome] or raw[outcome]))
        print("\n| at | comparison | difference | p | p, Holm | outcome |\n|---|---|---|---|---|---|")
        for each in family.comparisons:
            print(f"| {each.at} | `{each.left}` − `{each.right}` | {each.mean:+.2f} ± {each.half:.2f} "
                  f"| {p_text(each.p)} | {p_text(each.p_holm)} | {each.outcome()} |")
        print()
    return 0


if __name__ == "__main__":
    sys.exit(main())
