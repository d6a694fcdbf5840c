"""The sums that label-free objectives are made of, in log space.

Views u and v of B samples give 2B rows, all of them anchors, each the other's positive: row a and row (a + B) mod 2B. The negatives of a
are all rows but these two, N = 2B - 2; samples with one id, such as images of one burst, are no negatives of each other. With keys, all V·B rows are anchors, their negatives the keys of other samples, and their positives
those given, or the keys of their own sample.
"""

import math
from typing import Callable, NamedTuple

import torch

from .call import may_repeat
from .log_space import log_sum_exp
from .pair_sums import LogSum, pair_sums
from .pairs import keyed_pairs, square_pairs, tiled
from .result import mean_over_anchors, mean_over_view_pairs


def with_negatives(negatives, values, otherwise=0):
    """The values of anchors that have negatives, which are one number or [n]. What computes a diagnostic later on holds nothing else."""
    if not isinstance(negatives, float):
        return torch.where(negatives > 0, values, otherwise)
    return values if negatives > 0 else torch.full_like(values, otherwise)


class TwoViews:
    """Numbers [n] of the anchors: `negatives` N (one number where all anchors have as many), `positive` s of the positive in the numerator,
    `mean_positive` log of the mean of e^s over the anchor's positives, and `labelled`, bool or None: whether the anchor has a label."""

    def __init__(self, pairs, negatives, labelled, further=(), positive=None, mean_positive=None):
        """further: rows [n, D] of further positives. positive: None where it is the one equal row of each anchor."""
        self.pairs, self.temperature, self.negatives, self.labelled = pairs, pairs.call.temperature, negatives, labelled
        self._further, self._positive, self._mean_positive = further, positive, mean_positive

    def sums(self, requests):
        """The numbers of the requests. The tiles of those over samples give the positive as well."""
        if self._positive is None and self.pairs.engine == "fused" and not any(request.by_class for request in requests):
            *found, self._positive = pair_sums(self.pairs, [*requests, LogSum("equal")])
            return found
        return pair_sums(self.pairs, requests)

    @property
    def positive(self):
        if self._positive is None:
            if self.pairs.call.bfloat16 and self.pairs.engine == "fused":  # rounded as the negatives are
                self._positive = pair_sums(self.pairs, [LogSum("equal")])[0]
            else:
                rows = self.pairs.anchors
                count = rows.shape[0] // 2
                self._positive = ((rows[:count] * rows[count:]).sum(1) / self.temperature).repeat(2)
        return self._positive

    @property
    def mean_positive(self):
        if self._mean_positive is None:
            others = [(self.pairs.anchors * rows).sum(1) / self.temperature for rows in self._further]
            self._mean_positive = _log_mean(torch.stack([self.positive, *others], 1)) if others else self.positive
        return self._mean_positive

    def at_least_one(self):
        """N, or 1 where that is 0."""
        return max(self.negatives, 1.0) if isinstance(self.negatives, float) else self.negatives.clamp_min(1)

    def log_negatives(self):
        return math.log(self.at_least_one()) if isinstance(self.negatives, float) else self.at_least_one().log()

    def with_negatives(self, values, otherwise=0):
        """The values of anchors that have negatives."""
        if isinstance(self.negatives, float) and self.negatives == 0:
            return (self.positive * 0 + otherwise).to(values.dtype)  # in the graph
        return with_negatives(self.negatives, values, otherwise)

    def itself(self):
        """s of an anchor with itself."""
        return (self.pairs.anchors * self.pairs.scaled()).sum(1)


def _square(call, first, second, grouped):
    z, count = call.z, call.z.shape[0]
    rows = call.rows() if z.shape[1] == 2 else torch.cat([z[:, first], z[:, second]])
    pairs = square_pairs(rows, call.samples(), call.labels, 2, call)
    further = [tiled_rows(z[:, view]) for view in range(z.shape[1]) if view not in (first, second)] if grouped else []
    if call.ids is not None and may_repeat(call.samples()):
        return _with_mates(pairs, count, call, further)
    # A number that may be read, unless the batch has any size for whoever traces the call.
    negatives = torch.zeros_like(rows[:, 0].detach()) + (2 * count - 2) if torch.compiler.is_compiling() else 2.0 * count - 2
    return TwoViews(pairs, negatives, None if call.labels is None else tiled(call.labels >= 0, 2), further)


def _with_mates(pairs, count, call, further):
    """Samples share ids: the equal rows of an anchor are not its positive alone, and anchors have different numbers of negatives."""
    positive = pairs.scaled()
    positive = ((positive[:count] * pairs.anchors[count:]).sum(1)).repeat(2)
    others = [(pairs.scaled() * rows).sum(1) for rows in further]
    labelled = None if call.labels is None else tiled(call.labels >= 0, 2)
    return TwoViews(pairs, pairs.size("unequal"), labelled, positive=positive, mean_positive=_log_mean(torch.stack([positive, *others], 1)))


def tiled_rows(rows):
    return rows.repeat(2, 1)


def _log_mean(s):
    return s[:, 0] if s.shape[1] == 1 else log_sum_exp(s) - math.log(s.shape[1])


def _keyed(name, call, conditions):
    views = call.z.shape[1]
    pairs = keyed_pairs(call.rows(), call.samples(), call.labels, views, call, call.keys, call.key_ids, call.key_labels)
    labelled = None if call.labels is None else tiled(call.labels >= 0, views)
    negatives = pairs.size("unequal")
    if call.positives is not None:
        s = (pairs.scaled()[:, None, :] * call.positives.repeat(views, 1, 1)).sum(2)
        return TwoViews(pairs, negatives, labelled, positive=s[:, 0], mean_positive=_log_mean(s))
    count = pairs.size("equal")
    conditions.require((count > 0).all(), lambda: _no_positive(name, call, count))
    mean = pair_sums(pairs, [LogSum("equal")])[0] - count.clamp_min(1).log()
    return TwoViews(pairs, negatives, labelled, positive=mean, mean_positive=mean)


def _no_positive(name, call, count):
    row, none = int((count == 0).nonzero()[0]), int((count == 0).sum())
    sample = row % len(call.z)
    return (f"{name}: keys: none is of the sample of anchor {row} (sample {int(call.samples()[sample])}), so it has no positive ({none} of "
            f"{len(count)} anchors have none); give a further view, or keys with ids= and key_ids=")


class Comparison(NamedTuple):
    """One or several TwoViews of a call, and how their results are joined."""

    parts: list
    views: list  # (first, second) of each part
    call: object

    def mean(self, scale, losses_of: Callable):
        """losses_of: TwoViews -> Losses."""
        results = [mean_over_anchors(losses_of(part), scale, part.pairs.engine) for part in self.parts]
        return mean_over_view_pairs(results, self.views, self.call.z.shape[1], self.call.z.shape[0])


def compared(name, call, conditions, aggregation="pairs"):
    """grouping: views 0 and 1 are compared, the further ones join their positives; pairs: every two views are."""
    if call.keys is not None:
        return Comparison([_keyed(name, call, conditions)], [(0, 0)], call)
    views = call.z.shape[1]
    grouped = aggregation == "grouping"
    pairs = [(0, 1)] if grouped else [(first, second) for first in range(views) for second in range(first + 1, views)]
    return Comparison([_square(call, first, second, grouped) for first, second in pairs], pairs, call)
