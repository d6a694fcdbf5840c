"""Accuracy and fairness by group: a group is the samples of one label y and one bias label b (debias/evaluate/protocols/group_metrics.h).

A table holds numbers of samples by label and bias label. It is float64 [R, classes, groups], for R sets of samples at once.
"""

import math
import statistics
from typing import NamedTuple

import torch

from .philox import drawn_with_replacement

# Blocks of the generator that are drawn at once for one replicate, and for several. So many numbers fit a core's cache, and torch computes
# with them on one thread: meeting other threads after each step costs more than the steps.
_BLOCKS, _DRAWN = 1 << 12, 1 << 15
_NUMBERS = 1 << 15  # in a table of the replicates that are measured at once


class Counts(NamedTuple):
    count: torch.Tensor  # samples
    correct: torch.Tensor  # of them predicted right
    predicted: torch.Tensor  # samples of the bias label predicted as the class
    labelled: torch.Tensor  # [R]
    right: torch.Tensor  # [R]


def _check(values, below, lowest, what):
    wrong = (values < lowest) | (values >= below)
    if bool(wrong.any()):
        raise ValueError(f"groups: {what} {int(values[wrong][0])} of sample {int(wrong.nonzero()[0])} is not in [{lowest}, {below}); check "
                         "the labels")


def _numbered_units(groups):
    """int64 [N] from 0 on, in the order of the first; -1 is a unit of its own."""
    numbers, found = {}, []
    for row, group in enumerate(groups.tolist()):
        found.append(numbers.setdefault((group,) if group >= 0 else (-1, row), len(numbers)))
    return torch.tensor(found, dtype=torch.int64, device="cpu")


def _independent(samples, counted, whole):
    """How many independent samples each counted cell amounts to (debias/evaluate/protocols/group_metrics.h)."""
    right = samples.label == samples.prediction
    label, bias, hit = (values[samples.kind] for values in (samples.label, samples.bias, right))
    amounts = []
    for y, b in counted.nonzero().tolist():
        chosen = (label == y) & (bias == b)
        units, place = torch.unique(samples.unit[chosen], return_inverse=True)
        n, u, p = float(whole.count[0, y, b]), len(units), float(whole.correct[0, y, b] / whole.count[0, y, b])
        excess = torch.zeros(u, dtype=torch.float64).index_add_(0, place, hit[chosen].double() - p)
        variance = u / (u - 1) * float(excess.square().sum()) / n if u > 1 else 0.0
        spread = n * p * (1 - p)
        amounts.append(min(n, spread / variance) if variance > 0 and spread > 0 else float(u))
    return amounts


class Samples:
    """Labels, bias labels and predictions [N], -1: unknown. Samples of which all three agree are of one kind. units [N] or None: samples of
    one number belong together, -1: a sample alone."""

    def __init__(self, predictions, labels, bias, units=None):
        count = len(labels)
        if not len(bias) == len(predictions) == count:
            raise ValueError(f"groups: {count} labels, {len(bias)} bias labels and {len(predictions)} predictions; give one of each per "
                             "sample")
        labels, bias, predictions = (values.cpu().clamp_min(-1) for values in (labels, bias, predictions))
        largest = lambda values: int(values.max()) + 1 if count else 0
        classes, groups = max(largest(labels), largest(predictions)), largest(bias)
        _check(predictions, classes, 0, "prediction")
        self.classes, self.groups = max(classes, 1), max(groups, 1)  # one without samples changes no metric
        codes = ((labels + 1) * (self.groups + 1) + bias + 1) * self.classes + predictions
        kinds, self.kind = torch.unique(codes, return_inverse=True)
        cells, self.prediction = kinds // self.classes, kinds % self.classes  # these three of each kind
        self.unit = None if units is None else _numbered_units(units.cpu())
        self.label, self.bias = cells // (self.groups + 1) - 1, cells % (self.groups + 1) - 1

    def counts(self, histograms):
        """histograms: how many samples of each kind, int64 [R, kinds]."""
        right = (self.label == self.prediction) & (self.label >= 0)
        known = (self.label >= 0) & (self.bias >= 0)

        def table(rows, chosen):
            cells, numbers = (rows * self.groups + self.bias)[chosen], histograms[:, chosen]
            flat = numbers.new_zeros(len(numbers), self.classes * self.groups).scatter_add_(1, cells.expand_as(numbers), numbers)
            return flat.double().view(-1, self.classes, self.groups)

        return Counts(table(self.label, known), table(self.label, known & right), table(self.prediction, known),
                      histograms[:, self.label >= 0].sum(1), histograms[:, right].sum(1))

    def all_counts(self):
        return self.counts(torch.bincount(self.kind, minlength=len(self.label)).unsqueeze(0))

    def units_of(self, side):
        """How many samples, or units, have a known label and, with side [classes, groups], a cell of it."""
        label, bias = self.label[self.kind], self.bias[self.kind]
        chosen = label >= 0 if side is None else (label >= 0) & (bias >= 0) & side[label.clamp_min(0), bias.clamp_min(0)]
        return int(chosen.sum()) if self.unit is None else len(torch.unique(self.unit[chosen]))

    def drawn_histograms(self, replicates, seed):
        """Of a range of the bootstrap's replicates: samples are drawn, or where some belong together what they belong to."""
        if self.unit is None:
            return self._drawn(self.kind, len(self.label), replicates, seed)
        units = int(self.unit.max()) + 1
        times = self._drawn(torch.arange(units), units, replicates, seed)[:, self.unit]
        return times.new_zeros(len(replicates), len(self.label)).scatter_add_(1, self.kind.expand_as(times), times)

    @staticmethod
    def _drawn(kind, kinds, replicates, seed):
        """How often each kind is drawn, int64 [R, kinds], in as many draws as there are elements of `kind`."""
        blocks = (len(kind) + 1) // 2
        width = -(-blocks // -(-blocks // _BLOCKS))  # pieces of one size
        rows = min(len(replicates), _DRAWN // width)
        room = torch.empty(5, rows, width, dtype=torch.int64, device="cpu")
        one = torch.ones(1, dtype=torch.int64, device="cpu")
        histograms = torch.zeros(len(replicates), kinds, dtype=torch.int64, device="cpu")
        for top in range(0, len(replicates), rows):
            some, of_some = replicates[top:top + rows], histograms[top:top + rows]
            for begin in range(0, blocks, width):
                own = range(begin, min(begin + width, blocks))
                for places in drawn_with_replacement(len(kind), some, own, seed, room[:, :len(some), :len(own)]):
                    drawn = kind.index_select(0, places.flatten()).view_as(places)
                    of_some.scatter_add_(1, drawn, one.expand_as(drawn))
        return histograms

    def drawn_counts(self, replicates, seed):
        """Yields the counts of the bootstrap's replicates in their order, of some at a time. Without samples there are none."""
        some = max(1, _NUMBERS // max(len(self.label), self.classes * self.groups, 0 if self.unit is None else len(self.unit)))
        for first in range(0, replicates if len(self.kind) else 0, some):
            yield self.counts(self.drawn_histograms(range(first, min(first + some, replicates)), seed))


def _largest(values):
    """The largest of the last dimension; NaN are left out."""
    found = torch.where(~values.isnan(), values, -math.inf).amax(-1)
    return torch.where(found > -math.inf, found, math.nan)


def _spread(values):
    """The largest less the smallest of the last dimension; NaN are left out, and of fewer than two others it is NaN."""
    return torch.where((~values.isnan()).sum(-1) > 1, _largest(values) + _largest(-values), math.nan)


def _differences(counts, empty):
    members = counts.count.sum(1, keepdim=True)
    positives, negatives = counts.count, members - counts.count
    true_positive, false_positive = counts.correct / positives, (counts.predicted - counts.correct) / negatives
    if empty == "zero":
        true_positive, false_positive = torch.where(positives > 0, true_positive, 0), torch.where(negatives > 0, false_positive, 0)
    selection, opportunity, false = (_spread(torch.where(members > 0, rates, math.nan))
                                     for rates in (counts.predicted / members, true_positive, false_positive))
    first = 1 if counts.count.shape[1] == 2 else 0
    of_classes = {"demographic_parity_difference": selection, "equal_opportunity_difference": opportunity,
                  "equalized_odds_difference": torch.maximum(opportunity, false)}  # NaN if one is
    return {name: _largest(values[:, first:]) for name, values in of_classes.items()}


def _sides(aligned, classes, groups):
    """Cells whose bias label is one of their class's, and those where it is another, by the name of their accuracy."""
    own, other = torch.zeros(2, classes, groups, dtype=torch.bool, device="cpu")
    for y, values in enumerate(aligned[:classes]):
        own[y, [b for b in values if 0 <= b < groups]] = True
        other[y] = ~own[y] if values else False
    return {"aligned_acc": own, "conflicting_acc": other} if aligned else {}


def _metrics(counts, empty, counted, sides):
    """Float64 [R] each. counted [classes, groups]: the cells that count for the worst and the mean."""
    counted = counted & (counts.count > 0)
    accuracy = counts.correct / counts.count
    return {"acc1": counts.right / counts.labelled.double(),
            **{name: counts.correct[:, side].sum(1) / counts.count[:, side].sum(1) for name, side in sides.items()},
            "worst_group_acc": -_largest(torch.where(counted, -accuracy, math.nan).flatten(1)),
            "unbiased_acc": torch.where(counted, accuracy, 0).sum((1, 2)) / counted.sum((1, 2)), **_differences(counts, empty)}


def _quantile(values, q):
    place = q * (len(values) - 1)
    below = int(place)
    return values[below] + (place - below) * (values[min(below + 1, len(values) - 1)] - values[below])


def _tails(level):
    return (1 - level) / 2, (1 + level) / 2


def _smallest(shares, level):
    """The interval of the smallest share: Wilson's of all (right, count), at once at `level` (debias/results/statistics.h)."""
    z = statistics.NormalDist().inv_cdf((1 + level ** (1 / len(shares))) / 2)
    ends = []
    for right, n in shares:
        p, squared = right / n, z * z
        middle = (p + squared / (2 * n)) / (1 + squared / n)
        half = z / (1 + squared / n) * math.sqrt(p * (1 - p) / n + squared / (4 * n * n))
        ends.append((max(0.0, middle - half), min(1.0, middle + half)))
    return [min(low for low, _ in ends), min(high for _, high in ends)]


def measured(predictions, labels, bias, options):
    """{"metrics": ..., "intervals": ...} as the command has them; options: aligned, min_count, empty, replicates, level, seed."""
    if options["empty"] not in ("skip", "zero"):
        near = {"s": "; did you mean 'skip'?", "z": "; did you mean 'zero'?"}.get(str(options["empty"])[:1], "; give skip or zero")
        raise ValueError(f"group_metrics: empty: unknown value '{options['empty']}'{near}")
    if not 0 < options["level"] < 1:
        raise ValueError(f"group_metrics: level: expected a number in (0, 1), found {options['level']}")
    groups = options.get("groups")
    if groups is not None and len(groups) != len(labels):
        raise ValueError(f"groups: {len(labels)} labels and {len(groups)} groups; give one for each sample")
    samples = Samples(predictions, labels, bias, groups)
    if samples.unit is not None and len(labels) and int(samples.unit.max()) == len(labels) - 1:  # none belongs to another
        samples.unit = None
    if samples.unit is not None and len(labels) and int(samples.unit.max()) == 0:
        options = {**options, "replicates": 0}
    whole, sides = samples.all_counts(), _sides(options["aligned"] or [], samples.classes, samples.groups)
    counted = whole.count[0] >= options["min_count"]
    measure = lambda counts: _metrics(counts, options["empty"], counted, sides)
    drawn = [measure(counts) for counts in samples.drawn_counts(options["replicates"], options["seed"])]
    intervals = {}
    for name in sorted(drawn[0]) if drawn else ():
        values = torch.cat([each[name] for each in drawn])
        values = values[~values.isnan()].sort().values.tolist()
        if values:
            intervals[name] = [_quantile(values, q) for q in _tails(options["level"])]
        if name in intervals and name in ("acc1", *sides) and intervals[name][0] == intervals[name][1]:
            share, units = intervals[name][0], samples.units_of(sides.get(name))
            if units == 1 or share in (0, 1):  # of one unit, or all right, or wrong: Wilson's of units
                intervals[name] = _smallest([(share * units, units)], options["level"])
    if "worst_group_acc" in intervals:
        chosen = counted & (whole.count[0] > 0)
        count = whole.count[0][chosen]
        amounts = count.tolist() if samples.unit is None else _independent(samples, chosen, whole)
        shares = [(share * n, n) for share, n in zip((whole.correct[0][chosen] / count).tolist(), amounts)]
        intervals["worst_group_acc"] = _smallest(shares, options["level"])
    return {"metrics": {name: values.item() for name, values in measure(whole).items()}, "intervals": intervals}
