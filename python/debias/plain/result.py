"""Makes a value with its diagnostics from losses of anchors, all of them tensors until they are read."""

import math
from typing import NamedTuple, Optional

import torch

from .._modes import eager
from .log_space import wide


class Losses(NamedTuple):
    loss: torch.Tensor  # [anchors], finite
    used: Optional[torch.Tensor] = None  # bool [anchors]; None: all are
    clamped: Optional[torch.Tensor] = None  # how many
    least: object = None  # the smallest estimate before a clamp: a tensor, or what late() gives
    sample_size: object = None  # of importance weights, the mean over anchors


def late(function):
    """A diagnostic: the function that computes it when it is read. What traces or transforms a call is given the tensor at once."""
    return function if eager() else function()


class Measured(NamedTuple):
    """Diagnostics of a value: numbers, and tensors of one number on the device."""

    anchors: int
    used: object
    clamped: object = 0
    least: object = None  # as in Losses
    sample_size: object = None
    engine: str = "dense"
    with_positives: object = None  # anchors that have a positive

    def computed(self):
        """The same with tensors in place of late functions, which cannot be copied or pickled."""
        return self._replace(**{what: value() for what, value in self._asdict().items() if callable(value)})

    def numbers(self):
        """anchors, anchors in use, clamped, smallest estimate, sample size and anchors with positives (infinite: none), read with one wait."""
        parts = [part() if callable(part) else part
                 for part in (self.anchors, self.used, self.clamped, self.least, self.sample_size, self.with_positives)]
        late = [part for part in parts if isinstance(part, torch.Tensor)]
        read = iter(torch.stack([part.to(wide(part.device)) for part in late]).tolist() if late else ())
        return [next(read) if isinstance(part, torch.Tensor) else math.inf if part is None else part for part in parts]


class Result(NamedTuple):
    value: torch.Tensor
    per_anchor: torch.Tensor  # in the graph; NaN for an anchor dropped from the mean
    measured: Measured


def mean_over_anchors(losses, scale, engine="dense"):
    """The mean over the anchors in use, 0 where there is none, times `scale`."""
    loss, used = losses.loss, losses.used
    clamped = 0 if losses.clamped is None else losses.clamped.detach()
    measured = Measured(loss.shape[0], loss.shape[0] if used is None else used.sum(), clamped, losses.least, losses.sample_size, engine)
    if isinstance(scale, torch.Tensor) or scale != 1:
        loss = loss * scale
    if used is None:
        return Result(loss.mean(), loss, measured)
    total = torch.where(used, loss, 0).sum()
    return Result(total / measured.used.clamp_min(1).to(loss.dtype), torch.where(used, loss, math.nan), measured)


def _sum(parts):
    parts = [part for part in parts if isinstance(part, torch.Tensor) or part]
    return sum(parts) if parts else 0


def _joined(parts, function):
    """function of the diagnostics that are there, stacked."""
    parts = [part for part in parts if part is not None]
    return late(lambda: function(torch.stack([part() if callable(part) else part for part in parts]))) if parts else None


def mean_over_view_pairs(results, pairs, views, samples):
    """Joins two-view results: the mean over pairs of views with an anchor in use, and each anchor's mean over its pairs."""
    if len(results) == 1:
        return results[0]
    zero = torch.zeros_like(results[0].per_anchor[:samples])
    sums, counts = [zero] * views, [zero] * views
    for result, pair in zip(results, pairs):
        for view, own in zip(pair, result.per_anchor.view(2, samples)):
            there = ~own.isnan()
            sums[view], counts[view] = sums[view] + torch.where(there, own, 0), counts[view] + there
    total, count = torch.cat(sums), torch.cat(counts)
    used = [result.measured.used for result in results]
    pairs_used = sum(one > 0 for one in used)
    pairs_used = pairs_used.clamp_min(1) if isinstance(pairs_used, torch.Tensor) else max(pairs_used, 1)
    least, size = (_joined([getattr(result.measured, what) for result in results], function)
                   for what, function in (("least", torch.min), ("sample_size", torch.mean)))
    measured = Measured(total.shape[0], (count > 0).sum(), _sum([result.measured.clamped for result in results]), least, size,
                        results[0].measured.engine)
    value = sum(result.value for result in results) / pairs_used
    return Result(value, torch.where(count > 0, total / count.clamp_min(1), math.nan), measured)


def mixed(a, b, share):
    """share · a + (1 - share) · b, of the same anchors."""
    per_anchor = share * a.per_anchor + (1 - share) * b.per_anchor
    measured = Measured(per_anchor.shape[0], (~per_anchor.isnan()).sum(), _sum([a.measured.clamped, b.measured.clamped]),
                        _joined([a.measured.least, b.measured.least], torch.min), None, a.measured.engine)
    return Result(share * a.value + (1 - share) * b.value, per_anchor, measured)
