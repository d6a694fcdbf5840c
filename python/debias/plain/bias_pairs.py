"""Objectives whose positives are the rows of the anchor's class that differ in their bias."""

import torch

from .bias_features import unit_bias_features
from .log_space import log_sum, wide
from .over_classes import classes_of
from .pair_sums import LogSum
from .pairs import class_groups, group_sums, members, numbered, tiled
from .row_blocks import over_rows

_ROUNDING = 1e-10  # of a weight: far above float64's, far below a difference that features in single precision show


def _others_and_mean(c, pair_weights, row_tensors, tensors):
    """log Σ_{j≠a} e^s, Σ w s and Σ w over pairs of one class with weights w = pair_weights(block's row tensors, tensors)."""
    groups = c.pairs.by_class

    def function(scaled, keys, index, rows, *given):
        scores = scaled @ keys.T
        others = index[:, None] != torch.arange(scores.shape[1], device=scores.device)
        same_class = (rows[:, None] == given[len(row_tensors)]) & others
        weights = pair_weights(*given[:len(row_tensors)], *given[len(row_tensors) + 1:])
        weights = torch.where(same_class, weights, 0).to(scores.dtype)
        return torch.stack([log_sum(scores, others), (weights * scores).sum(1), weights.sum(1)], 1)

    index = torch.arange(len(groups.rows), device=groups.rows.device)
    return over_rows(function, c.pairs.scaled(), c.pairs.keys, (index, groups.rows, *row_tensors), (groups.keys, *tensors),
                     engine=c.pairs.call.engine, memory_budget=c.pairs.call.memory_budget).unbind(1)


def biascon(name, options, call, scale, conditions):
    """SupCon whose positives are the rows of the anchor's class with another bias label (Hong and Yang 2021).

    The sum over them is that over the class less that over its rows of the anchor's own bias label: z_a · (m - m') with the groups' sums of
    rows m, in double, since a few rows may be what is left of many.
    """
    c, views = classes_of(name, call, conditions), call.z.shape[1]
    same_class, label, bias = c.pairs.by_class.rows, tiled(call.labels, views), tiled(call.bias_labels, views)
    number, biases = numbered(bias)
    both = torch.where((label >= 0) & (bias >= 0), numbered(label)[0] * biases + number, -1)
    aligned = class_groups(both, c.pairs.by_sample.rows)  # unknown: the sample's rows alone
    rows = c.pairs.keys.to(wide(call.z.device))
    difference = group_sums(same_class, rows) - group_sums(aligned, rows)
    count = c.positives - (members(aligned, aligned) - 1)
    mean = (c.pairs.scaled().to(rows.dtype) * difference).sum(1) / count.clamp_min(1)
    others, = c.sums([LogSum("others")])
    return c.mean(others - mean.to(others.dtype), count > 0, scale)


def softcon(name, options, call, scale, conditions):
    """SupCon with each positive weighted by 1 - cos of the bias features (Hong and Yang 2021)."""
    if call.weights is None:
        raise ValueError(f"{name}: needs pair weights: features [B, F] of a model of the bias; none were given, add weights=")
    c, views = classes_of(name, call, conditions), call.z.shape[1]
    features, sample = unit_bias_features(name, call.weights, conditions).repeat(views, 1), c.pairs.by_sample.rows
    known = tiled(call.labels >= 0, views)

    def unlikeness(own, own_sample, own_known, features, sample):
        weights = 1 - own.detach() @ features.T
        return torch.where((own_sample[:, None] == sample) | ~own_known[:, None], 0, weights)

    others, total, weight = _others_and_mean(c, unlikeness, (features, sample, known), (features, sample))
    used = weight.detach() > _ROUNDING * len(weight)
    return c.mean(others - total / torch.where(used, weight, 1), used, scale)
