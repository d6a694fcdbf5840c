"""FairKL keeps pairs of rows as near to each other across bias labels as within one (Barbano et al. 2023, eqs. 10 and 11, B.2.4).

    R = D(positive aligned, positive conflicting) + D(negative aligned, negative conflicting)

over ordered pairs of rows: positive of one label, negative of two; aligned of one bias label, conflicting of two. debias/losses/fairkl.h has
the modes and the rules for empty sets. With bias features pair (a, j) is aligned with weight b, the cosine of the features clipped to
[0, 1], and conflicting with 1 - b. With bias labels the moments of cosines come from sums by groups of rows (group_moments.py) where these
cost less than pairs.
"""

import math
from typing import NamedTuple, Optional

import torch

from .. import _engine
from .._modes import eager_on_cpu
from .bias_features import unit_bias_features
from .call import NO_FUSED, refuse
from .group_moments import grouped, set_sums
from .log_space import wide
from .pairs import tiled
from .result import Measured, Result
from .row_blocks import over_rows, takes_blocks

_LEAST_VARIANCE = 1e-12  # of squared distances, under any variance_floor
NO_DEVIATION = 1e-14  # a variance of cosines up to this is the rounding of none; its root has no gradient
_DISTANCE_SQUARED = 4  # d = 2 - 2c: variances and squares of means are four times those of c
_DISTANCE_OFFSET = 1e-6  # of lognormal
_LEAST_WEIGHT = 1e-6  # of a weighted set that is not empty
_WITH_FLOOR = ("kl", "jeffreys", "lognormal")
_PAIRS_OF_A_GROUP = 2000  # that cost as much as PyTorch's calls for one group, measured on two cores


class Moments(NamedTuple):
    """Moments of the sets [positive, negative] x [aligned, conflicting], for all anchors together [2, 2, 1] or for each [2, 2, n]."""

    weight: torch.Tensor
    mean: torch.Tensor
    variance: Optional[torch.Tensor]  # in mode authors over all entries of the matrix of pairs, zeros outside the set; in mode mean None


class _Rows(NamedTuple):
    z: torch.Tensor  # [n, D]
    label: torch.Tensor
    known: torch.Tensor  # bool: rows that are in pairs at all
    bias: torch.Tensor  # int64 [n], or features [n, F]


def _block_sums(weighted, mode):
    """Σ w, Σ w x and Σ w x² of each anchor's four sets: [b, 12]. Mode authors has Σ (w x)² in place of Σ w x², mode mean neither: [b, 8]."""
    def function(z, keys, index, label, known, bias, key_label, key_known, key_bias):
        cosines = (z @ keys.T).to(wide(z.device))
        x = (2 - 2 * cosines).clamp_min(0).add(_DISTANCE_OFFSET).log() if mode == "lognormal" else cosines
        aligned = (bias.detach() @ key_bias.T).clamp(0, 1) if weighted else bias[:, None] == key_bias
        aligned = aligned.to(x.dtype)
        pairs = known[:, None] & key_known
        same = label[:, None] == key_label
        positive = pairs & same
        if mode != "authors":
            positive = positive & (index[:, None] != torch.arange(len(keys), device=keys.device))
        sums = []
        for chosen in (positive, pairs & ~same):
            for weights in (torch.where(chosen, aligned, 0), torch.where(chosen, 1 - aligned, 0)):
                wx = weights * x
                sums += [weights.sum(1), wx.sum(1)]
                if mode != "mean":
                    sums.append((wx * (wx if mode == "authors" else x)).sum(1))
        return torch.stack(sums, 1)

    return function


def _pair_moments(rows, call, options, weighted):
    """From every pair, a block of anchors at a time."""
    by_anchor, known, mode = options["pooling"] == "anchor", rows.known, options["mode"]
    index = torch.arange(len(rows.z), device=rows.z.device)
    sums = over_rows(_block_sums(weighted, mode), rows.z * 1, rows.z, (index, rows.label, known, rows.bias), (rows.label, known, rows.bias),
                     engine=call.engine, memory_budget=call.memory_budget // 2)
    sums, count = sums if by_anchor else sums.sum(0, keepdim=True), known.sum().to(sums.dtype)
    weight, first, *second = sums.unflatten(1, (2, 2, -1)).permute(3, 1, 2, 0).unbind(0)
    divisor, variance = weight.clamp_min(_LEAST_WEIGHT if weighted else 1), None
    if weighted and options["normaliser"] == "batch":
        divisor = torch.zeros_like(weight) + (count if by_anchor else count * count)
    divisor = divisor.clamp_min(torch.finfo(divisor.dtype).tiny)
    mean = first / divisor
    if mode == "authors":
        entries = (count * count).clamp_min(1)
        variance = (second[0] - first.square() / entries).clamp_min(0) / (entries - 1).clamp_min(1)
    elif mode != "mean":  # around the mean: Σ w (x - mean)² / divisor
        variance = ((second[0] - 2 * mean * first + mean.square() * weight) / divisor).clamp_min(0)
    if by_anchor:  # rows in no pair have no value
        weight = torch.where(known, weight, 0)
    return Moments(weight, mean, variance)


def _group_moments(rows, groups, options):
    """From sums by groups of rows."""
    mode = options["mode"]
    count, first, second = set_sums(rows.z, groups, options["pooling"] == "anchor", self_pairs=mode == "authors", squares=mode != "mean")
    divisor = count.clamp_min(1)
    mean = first / divisor
    if mode == "mean":
        return Moments(count, mean, None)
    square = mean.square()
    variance = second / divisor - square
    if mode == "authors":
        entries = len(groups.order) ** 2
        variance = count * (variance + square * (1 - count / max(entries, 1))) / max(entries - 1, 1)
    return Moments(count, mean, variance)


def _divergence(squares, variance, other):
    """Of two normal distributions, from the square of the difference of their means and their variances."""
    return ((variance + squares) / other - (variance / other).log() - 1) / 2


def _deviation(variance):
    some = variance > NO_DEVIATION
    return torch.where(some, torch.where(some, variance, 1).sqrt(), 0)


class _Comparer:
    """Computes D of both signs."""

    def __init__(self, options, weighted):
        self.mode, self.kld = options["mode"], options["kld"]
        self.zero = options["empty"] == "zero" or (options["empty"] == "auto" and self.mode == "authors")
        two = options["pooling"] == "anchor" and self.mode != "mean" and not self.zero
        self.least = _LEAST_WEIGHT if weighted else 2 if two else 1
        self.floor = max(options["variance_floor"], _LEAST_VARIANCE) / (1 if self.mode == "lognormal" else _DISTANCE_SQUARED)
        self.empty_mean = math.log(2 + _DISTANCE_OFFSET) if self.mode == "lognormal" else 0.0

    def __call__(self, moments, anchors):
        """Values [2, k], whether they are used, and how many sets were empty or floored. anchors: which there are, bool [k]; None: all."""
        small = acts = moments.weight < self.least
        used = torch.ones_like(small[:, 0]) if self.zero else ~small.any(1)
        means, variances = torch.where(small, self.empty_mean, moments.mean).unbind(1), ()
        if moments.variance is not None:
            variance = torch.where(small, 0, moments.variance)
            if self.mode in _WITH_FLOOR:
                acts = small | ((variance < self.floor) & used[:, None])
                variance = variance.clamp_min(self.floor)
            variances = variance.unbind(1)
        return self._value(means, variances), used, (acts if anchors is None else acts & anchors).sum()

    def _value(self, means, variances):
        """Of the aligned and the conflicting sets."""
        (aligned, conflicting), squares = means, (means[0] - means[1]).square()
        if self.mode == "mean":
            return _DISTANCE_SQUARED * squares
        if self.mode in ("kl", "lognormal"):
            return _divergence(squares, *variances)
        if self.mode == "jeffreys":
            return _divergence(squares, *variances) + _divergence(squares, *reversed(variances))
        deviations = self.kld * (_deviation(variances[0]) - _deviation(variances[1])).square()
        if self.mode == "stats":
            return _DISTANCE_SQUARED * (squares + deviations)
        return squares + deviations + torch.stack([-conflicting[0], aligned[1]])


def _rows(name, call, weighted, conditions):
    views = call.z.shape[1]
    if not weighted and call.bias_labels is None:
        raise ValueError(f"{name}: needs bias labels or weights; none were given, add bias_labels= or weights=")
    known = call.labels >= 0 if weighted else (call.labels >= 0) & (call.bias_labels >= 0)
    bias = unit_bias_features(name, call.weights, conditions).repeat(views, 1) if weighted else tiled(call.bias_labels, views)
    return _Rows(call.rows(), tiled(call.labels, views), tiled(known, views), bias)


def _groups(name, rows, call, options, weighted):
    """Groups of the rows if sums go by them: groups cost n D² and two D x D matrices each, pairs cost n² D."""
    every_pair = weighted or options["mode"] == "lognormal"
    if call.engine == "fused" and every_pair:
        what = "a continuous bias" if weighted else "mode lognormal"
        refuse(name, f"{what} needs every pair, but the fused backend sums over groups; give engine dense or auto")
    readable = eager_on_cpu(rows.z, rows.label, rows.bias)
    if call.engine == "fused" and not readable:
        refuse(name, NO_FUSED)
    if every_pair or not readable or call.engine not in ("auto", "fused"):
        return None
    dimensions = rows.z.shape[1]
    if call.engine == "auto" and len(rows.z) < dimensions:
        return None
    groups = grouped(rows.label, rows.bias)
    count = len(groups.order)
    fit = count >= dimensions and groups.fit(dimensions, call.memory_budget)
    cheap = _engine.takes(rows.z) or count * count >= _PAIRS_OF_A_GROUP * len(groups.sizes)
    return groups if call.engine == "fused" or (fit and cheap) else None


def fairkl(name, options, call, scale, conditions):
    weighted, by_anchor = call.weights is not None, options["pooling"] == "anchor"
    rows = _rows(name, call, weighted, conditions)
    groups = _groups(name, rows, call, options, weighted)
    moments = _pair_moments(rows, call, options, weighted) if groups is None else _group_moments(rows, groups, options)
    anchors = rows.known if by_anchor else None
    return _together(*_Comparer(options, weighted)(moments, anchors), rows, anchors, call, groups is not None)


def _together(values, used, clamped, rows, anchors, call, fused):
    """The sum over both signs of the mean over anchors in use; what an anchor adds is scaled so that its mean is the value."""
    used = used & (rows.known.any() if anchors is None else anchors)
    either, kept, count = used.any(0), torch.where(used, values, 0), used.sum(1).clamp_min(1)
    value = (kept.sum(1) / count).sum()
    own = (kept.detach() * (either.sum().to(kept.dtype) / count)[:, None]).sum(0)
    per_anchor = torch.where(rows.known & either, own, math.nan).to(rows.z.dtype)
    engine = "fused" if fused else "blocked" if takes_blocks(call.engine, len(rows.z), len(rows.z)) else "dense"
    measured = Measured(len(rows.z), (~per_anchor.isnan()).sum(), clamped, None, None, engine)
    return Result(value.to(rows.z.dtype), per_anchor, measured)
