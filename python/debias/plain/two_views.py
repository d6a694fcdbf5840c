"""The sums that label-free objectives are made of, in log space.

Views u and v of B samples give 2B rows, all of them anchors, each the other's positive: row a and row (a + B) mod 2B. The negatives of a
are all rows but these two, N = 2B - 2. With keys, all V·B rows are anchors, their negatives the keys of other samples, and their positives
those given, or the keys of their own sample.
"""

import math
from typing import Callable, NamedTuple, Optional

import torch

from .call import require_distinct
from .pair_sums import LogSum, pair_sums
from .pairs import Pairs, flat, keyed_pairs, square_pairs, tiled
from .result import mean_over_anchors, mean_over_view_pairs


class TwoViews(NamedTuple):
    """Numbers [n] of the anchors."""

    pairs: Pairs
    temperature: object
    negatives: torch.Tensor  # N
    positive: torch.Tensor  # s of the positive in the numerator
    mean_positive: torch.Tensor  # log of the mean of e^s over the anchor's positives
    labelled: Optional[torch.Tensor]  # bool: whether the anchor has a label

    def sums(self, requests):
        return pair_sums(self.pairs, requests)

    def itself(self):
        """s of an anchor with itself."""
        return (self.pairs.anchors * self.pairs.scaled).sum(1)


def _square(call, first, second, grouped):
    z, count = call.z, call.z.shape[0]
    rows = flat(z if z.shape[1] == 2 else torch.stack([z[:, first], z[:, second]], 1))
    pairs = square_pairs(rows, call.samples(), call.labels, 2, call)
    if call.bfloat16 and pairs.engine == "fused":  # rounded as the negatives are
        positive = pair_sums(pairs, [LogSum("equal")])[0]
    else:
        positive = ((rows[:count] * rows[count:]).sum(1) / call.temperature).repeat(2)
    mean = positive
    if grouped and z.shape[1] > 2:
        further = [tiled_rows(z[:, view]) for view in range(z.shape[1]) if view not in (first, second)]
        mean = _log_mean(torch.stack([positive, *((rows * other).sum(1) / call.temperature for other in further)], 1))
    negatives = torch.zeros_like(positive.detach()) + (2 * count - 2)
    labelled = None if call.labels is None else tiled(call.labels >= 0, 2)
    return TwoViews(pairs, call.temperature, negatives, positive, mean, labelled)


def tiled_rows(rows):
    return rows.repeat(2, 1)


def _log_mean(s):
    return s[:, 0] if s.shape[1] == 1 else s.logsumexp(1) - math.log(s.shape[1])


def _keyed(name, call, conditions):
    views = call.z.shape[1]
    pairs = keyed_pairs(flat(call.z), call.samples(), call.labels, views, call, call.keys, call.key_ids, call.key_labels)
    labelled = None if call.labels is None else tiled(call.labels >= 0, views)
    negatives = pairs.size("unequal")
    if call.positives is not None:
        s = (pairs.scaled[:, None, :] * call.positives.repeat(views, 1, 1)).sum(2)
        return TwoViews(pairs, call.temperature, negatives, s[:, 0], _log_mean(s), labelled)
    count = pairs.size("equal")
    conditions.require((count > 0).all(), lambda: _no_positive(name, call, count))
    mean = pair_sums(pairs, [LogSum("equal")])[0] - count.clamp_min(1).log()
    return TwoViews(pairs, call.temperature, negatives, mean, mean, labelled)


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
    require_distinct(name, call.ids, conditions)
    views = call.z.shape[1]
    grouped = aggregation == "grouping"
    pairs = [(0, 1)] if grouped else [(first, second) for first in range(views) for second in range(first + 1, views)]
    return Comparison([_square(call, first, second, grouped) for first, second in pairs], pairs, call)
