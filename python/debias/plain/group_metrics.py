"""Accuracy and fairness by group: a group is the samples of one label y and one bias label b (debias/evaluate/protocols/group_metrics.h)."""

import math
import statistics
from typing import NamedTuple

import torch

from .philox import drawn_with_replacement


class Counts(NamedTuple):
    count: list  # [classes][groups] samples
    correct: list  # of them predicted right
    predicted: list  # samples of the bias label predicted as the class
    labelled: int
    right: int


def _ratio(part, whole):
    return part / whole if whole else math.nan


def _spread(values):
    known = [value for value in values if not math.isnan(value)]
    return max(known) - min(known) if len(known) > 1 else math.nan


def _larger(a, b):
    return b if math.isnan(a) else a if math.isnan(b) else max(a, b)


def _check(values, below, lowest, what):
    wrong = (values < lowest) | (values >= below)
    if bool(wrong.any()):
        raise ValueError(f"groups: {what} {int(values[wrong][0])} of sample {int(wrong.nonzero()[0])} is not in [{lowest}, {below}); check "
                         "the labels")


class Samples:
    """Labels, bias labels and predictions [N], -1: unknown."""

    def __init__(self, predictions, labels, bias):
        count = len(labels)
        if not len(bias) == len(predictions) == count:
            raise ValueError(f"groups: {count} labels, {len(bias)} bias labels and {len(predictions)} predictions; give one of each per sample")
        self.labels, self.bias, self.predictions = (values.cpu().clamp_min(-1) for values in (labels, bias, predictions))
        largest = lambda values: int(values.max()) + 1 if count else 0
        self.classes, self.groups = max(largest(self.labels), largest(self.predictions)), largest(self.bias)
        _check(self.predictions, self.classes, 0, "prediction")

    def counts(self, places=None):
        pick = lambda values: values if places is None else values[places]
        label, bias, prediction = pick(self.labels), pick(self.bias), pick(self.predictions)
        labelled, right = label >= 0, (label == prediction) & (label >= 0)
        known = labelled & (bias >= 0)

        def table(cells, chosen):
            flat = torch.bincount((cells * self.groups + bias)[chosen], minlength=self.classes * self.groups)
            return flat.view(self.classes, max(self.groups, 0)).tolist()

        return Counts(table(label, known), table(label, known & right), table(prediction, known), int(labelled.sum()), int(right.sum()))


def _differences_of_class(counts, c, members, empty):
    without = 0.0 if empty == "zero" else math.nan
    selection, true_positive, false_positive = [], [], []
    for b, every in enumerate(members):
        if not every:
            continue
        positives, negatives = counts.count[c][b], every - counts.count[c][b]
        selection.append(_ratio(counts.predicted[c][b], every))
        true_positive.append(_ratio(counts.correct[c][b], positives) if positives else without)
        false_positive.append(_ratio(counts.predicted[c][b] - counts.correct[c][b], negatives) if negatives else without)
    opportunity, false = _spread(true_positive), _spread(false_positive)
    return _spread(selection), opportunity, math.nan if math.isnan(opportunity) or math.isnan(false) else max(opportunity, false)


def _differences(counts, empty):
    members = [sum(row[b] for row in counts.count) for b in range(len(counts.count[0]))] if counts.count else []
    largest = (math.nan,) * 3
    for c in range(1 if len(counts.count) == 2 else 0, len(counts.count)):
        largest = tuple(map(_larger, largest, _differences_of_class(counts, c, members, empty)))
    return dict(zip(("demographic_parity_difference", "equal_opportunity_difference", "equalized_odds_difference"), largest))


def _sides(counts, aligned):
    """Accuracy over samples whose bias label is one of their class's, and over those where it is another."""
    sums = {True: [0, 0], False: [0, 0]}
    for y, row in enumerate(counts.count):
        own = aligned[y] if y < len(aligned) else []
        for b, count in enumerate(row if own else ()):
            sums[b in own][0] += counts.correct[y][b]
            sums[b in own][1] += count
    return {"aligned_acc": _ratio(*sums[True]), "conflicting_acc": _ratio(*sums[False])}


def _metrics(counts, aligned, empty, cells):
    """cells: those that count for the worst and the mean."""
    accuracies = [counts.correct[y][b] / counts.count[y][b] for y, b in cells if counts.count[y][b]]
    out = {"acc1": _ratio(counts.right, counts.labelled), **(_sides(counts, aligned) if aligned else {})}
    out["worst_group_acc"] = min(accuracies, default=math.nan)
    out["unbiased_acc"] = sum(accuracies) / len(accuracies) if accuracies else math.nan
    return {**out, **_differences(counts, empty)}


def _quantile(values, q):
    place = q * (len(values) - 1)
    below = int(place)
    return values[below] + (place - below) * (values[min(below + 1, len(values) - 1)] - values[below])


def _tails(level):
    return (1 - level) / 2, (1 + level) / 2


def _smallest(shares, level):
    """The interval of the smallest share: Wilson's of all (right, count), at once at `level` (debias/results/proportion_interval.h)."""
    z = statistics.NormalDist().inv_cdf((1 + level ** (1 / len(shares))) / 2)
    ends = []
    for right, n in shares:
        p, squared = right / n, z * z
        middle, half = (p + squared / (2 * n)) / (1 + squared / n), z / (1 + squared / n) * math.sqrt(p * (1 - p) / n + squared / (4 * n * n))
        ends.append((max(0.0, middle - half), min(1.0, middle + half)))
    return [min(low for low, _ in ends), min(high for _, high in ends)]


def measured(predictions, labels, bias, options):
    """{"metrics": ..., "intervals": ...} as the command has them; options: aligned, min_count, empty, replicates, level, seed."""
    if options["empty"] not in ("skip", "zero"):
        near = {"s": "; did you mean 'skip'?", "z": "; did you mean 'zero'?"}.get(str(options["empty"])[:1], "; give skip or zero")
        raise ValueError(f"group_metrics: empty: unknown value '{options['empty']}'{near}")
    if not 0 < options["level"] < 1:
        raise ValueError(f"group_metrics: level: expected a number in (0, 1), found {options['level']}")
    samples, aligned, empty = Samples(predictions, labels, bias), options["aligned"] or [], options["empty"]
    whole = samples.counts()
    cells = [(y, b) for y, row in enumerate(whole.count) for b, count in enumerate(row) if count >= options["min_count"]]
    drawn = {}
    for replicate in range(options["replicates"] if len(samples.labels) else 0):
        counts = samples.counts(drawn_with_replacement(len(samples.labels), replicate, options["seed"]))
        for name, value in _metrics(counts, aligned, empty, cells).items():
            if not math.isnan(value):
                drawn.setdefault(name, []).append(value)
    intervals = {name: [_quantile(sorted(values), q) for q in _tails(options["level"])] for name, values in sorted(drawn.items())}
    if "worst_group_acc" in intervals:
        intervals["worst_group_acc"] = _smallest([(whole.correct[y][b], whole.count[y][b]) for y, b in cells if whole.count[y][b]], options["level"])
    return {"metrics": _metrics(whole, aligned, empty, cells), "intervals": intervals}
