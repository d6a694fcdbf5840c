"""FairKL keeps pairs of rows as near to each other across bias labels as within one (Barbano et al. 2023, eqs. 10 and 11, B.2.4).

    R = D(positive aligned, positive conflicting) + D(negative aligned, negative conflicting)

over ordered pairs of rows: positive of one label, negative of two; aligned of one bias label, conflicting of two. debias/losses/fairkl.h has
the modes and the rules for empty sets. With bias features pair (a, j) is aligned with weight b, the cosine of the features clipped to
[0, 1], and conflicting with 1 - b.
"""

import math
from typing import NamedTuple

import torch

from .bias_features import unit_bias_features
from .call import require_distinct
from .log_space import wide
from .pairs import tiled
from .result import Measured, Result
from .row_blocks import over_rows, takes_blocks

_LEAST_VARIANCE = 1e-12  # of squared distances, under any variance_floor
_NO_DEVIATION = 1e-14  # a variance of cosines up to this is the rounding of none; its root has no gradient
_DISTANCE_SQUARED = 4  # d = 2 - 2c: variances and squares of means are four times those of c
_DISTANCE_OFFSET = 1e-6  # of lognormal
_LEAST_WEIGHT = 1e-6  # of a weighted set that is not empty
_WITH_FLOOR = ("kl", "jeffreys", "lognormal")


class Moments(NamedTuple):
    """Moments of a set, for all anchors together [1] or for each [n]."""

    weight: torch.Tensor
    mean: torch.Tensor
    variance: torch.Tensor
    zero_filled: torch.Tensor  # the variance over all entries of the matrix of pairs, zeros outside the set


class _Rows(NamedTuple):
    z: torch.Tensor  # [n, D]
    label: torch.Tensor
    known: torch.Tensor  # bool: rows that are in pairs at all
    bias: torch.Tensor  # int64 [n], or features [n, F]


def _block_sums(weighted, self_pairs, log_distances):
    """Σ w, Σ w x, Σ w x², Σ (w x)² of each anchor's four sets: [b, 16]."""
    def function(z, keys, index, label, known, bias, key_label, key_known, key_bias):
        cosines = (z @ keys.T).to(wide(z.device))
        x = (2 - 2 * cosines).clamp_min(0).add(_DISTANCE_OFFSET).log() if log_distances else cosines
        aligned = (bias.detach() @ key_bias.T).clamp(0, 1) if weighted else bias[:, None] == key_bias
        aligned = aligned.to(x.dtype)
        pairs = known[:, None] & key_known
        same = label[:, None] == key_label
        positive = pairs & same
        if not self_pairs:
            positive = positive & (index[:, None] != torch.arange(len(keys), device=keys.device))
        sums = []
        for chosen in (positive, pairs & ~same):
            for weights in (torch.where(chosen, aligned, 0), torch.where(chosen, 1 - aligned, 0)):
                wx = weights * x
                sums += [weights.sum(1), wx.sum(1), (wx * x).sum(1), wx.square().sum(1)]
        return torch.stack(sums, 1)

    return function


def _moments(sums, rows, by_anchor, divide_by_rows, least):
    """Moments from the sums [n, 4] of a set; rows: their number."""
    weight, first, second, squares = (sums if by_anchor else sums.sum(0, keepdim=True)).unbind(1)
    divisor = weight.clamp_min(least)
    if divide_by_rows:
        divisor = torch.zeros_like(weight) + (rows if by_anchor else rows * rows)
    mean = first / divisor.clamp_min(torch.finfo(divisor.dtype).tiny)
    # Around the mean: Σ w (x - mean)² / divisor.
    variance = ((second - 2 * mean * first + mean.square() * weight) / divisor.clamp_min(torch.finfo(divisor.dtype).tiny)).clamp_min(0)
    entries = (rows * rows).clamp_min(1)
    zero_filled = (squares - first.square() / entries).clamp_min(0) / (entries - 1).clamp_min(1)
    return Moments(weight, mean, variance, zero_filled)


def _divergence(a, c):
    return ((a.variance + (a.mean - c.mean).square()) / c.variance - (a.variance / c.variance).log() - 1) / 2


def _deviation(variance):
    some = variance > _NO_DEVIATION
    return torch.where(some, torch.where(some, variance, 1).sqrt(), 0)


class _Comparer:
    """Computes D of one sign."""

    def __init__(self, options, weighted):
        self.mode, self.kld = options["mode"], options["kld"]
        self.zero = options["empty"] == "zero" or (options["empty"] == "auto" and self.mode == "authors")
        two = options["pooling"] == "anchor" and self.mode != "mean" and not self.zero
        self.least = _LEAST_WEIGHT if weighted else 2 if two else 1
        self.floor = max(options["variance_floor"], _LEAST_VARIANCE) / (1 if self.mode == "lognormal" else _DISTANCE_SQUARED)
        self.empty_mean = math.log(2 + _DISTANCE_OFFSET) if self.mode == "lognormal" else 0.0

    def __call__(self, aligned, conflicting, positive):
        """Values, whether they are used, and how many sets were empty or floored."""
        small = [moments.weight < self.least for moments in (aligned, conflicting)]
        used = torch.ones_like(small[0]) if self.zero else ~(small[0] | small[1])
        (a, a_acts), (c, c_acts) = (self._prepared(*one, used) for one in zip((aligned, conflicting), small))
        return self._value(a, c, positive), used, a_acts + c_acts

    def _prepared(self, moments, small, used):
        mean, acts = torch.where(small, self.empty_mean, moments.mean), small
        variance, zero_filled = (torch.where(small, 0, one) for one in (moments.variance, moments.zero_filled))
        if self.mode in _WITH_FLOOR:
            acts = acts | ((variance < self.floor) & used)
            variance = variance.clamp_min(self.floor)
        return Moments(moments.weight, mean, variance, zero_filled), acts.sum()

    def _value(self, a, c, positive):
        means = (a.mean - c.mean).square()
        if self.mode in ("kl", "lognormal"):
            return _divergence(a, c)
        if self.mode == "jeffreys":
            return _divergence(a, c) + _divergence(c, a)
        if self.mode == "mean":
            return _DISTANCE_SQUARED * means
        if self.mode == "stats":
            return _DISTANCE_SQUARED * (means + self.kld * (_deviation(a.variance) - _deviation(c.variance)).square())
        deviations = _deviation(a.zero_filled) - _deviation(c.zero_filled)
        return means + self.kld * deviations.square() + (-c.mean if positive else a.mean)


def _rows(name, call, weighted, conditions):
    views = call.z.shape[1]
    if not weighted and call.bias_labels is None:
        raise ValueError(f"{name}: needs bias labels or weights; none were given, add bias_labels= or weights=")
    known = call.labels >= 0 if weighted else (call.labels >= 0) & (call.bias_labels >= 0)
    bias = unit_bias_features(name, call.weights, conditions).repeat(views, 1) if weighted else tiled(call.bias_labels, views)
    return _Rows(call.rows(), tiled(call.labels, views), tiled(known, views), bias)


def fairkl(name, options, call, scale, conditions):
    weighted, by_anchor = call.weights is not None, options["pooling"] == "anchor"
    require_distinct(name, call.ids, conditions)
    rows = _rows(name, call, weighted, conditions)
    function = _block_sums(weighted, options["mode"] == "authors", options["mode"] == "lognormal")
    index = torch.arange(len(rows.z), device=rows.z.device)
    sums = over_rows(function, rows.z * 1, rows.z, (index, rows.label, rows.known, rows.bias), (rows.label, rows.known, rows.bias),
                     engine=call.engine, memory_budget=call.memory_budget // 2)
    compare, count = _Comparer(options, weighted), rows.known.sum().to(sums.dtype)
    least = _LEAST_WEIGHT if weighted else 1
    sets = [_moments(sums[:, 4 * place:4 * place + 4], count, by_anchor, weighted and options["normaliser"] == "batch", least)
            for place in range(4)]
    if by_anchor:  # rows in no pair have no value
        sets = [moments._replace(weight=torch.where(rows.known, moments.weight, 0)) for moments in sets]
    return _together([compare(sets[0], sets[1], True), compare(sets[2], sets[3], False)], rows, by_anchor, call)


def _together(signs, rows, by_anchor, call):
    """The sum over both signs of the mean over anchors in use; what an anchor adds is scaled so that its mean is the value."""
    there = rows.known if by_anchor else rows.known.any()[None]
    used_by = [used & there for _, used, _ in signs]
    used = used_by[0] | used_by[1]
    value = own = 0
    for (values, _, _), one in zip(signs, used_by):
        kept, count = torch.where(one, values, 0), one.sum().clamp_min(1)
        value, own = value + kept.sum() / count, own + kept.detach() * (used.sum().to(kept.dtype) / count)
    per_anchor = torch.where(rows.known & used, own, math.nan).to(rows.z.dtype)
    clamped = signs[0][2] + signs[1][2]
    measured = Measured(len(rows.z), (~per_anchor.isnan()).sum(), clamped, None, None,
                        "blocked" if takes_blocks(call.engine, len(rows.z), len(rows.z)) else "dense")
    return Result(value.to(rows.z.dtype), per_anchor, measured)
