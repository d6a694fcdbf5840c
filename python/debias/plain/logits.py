"""Objectives on logits [B, C] of classifiers; a sample of unknown label (-1) leaves the mean."""

import math

import torch
import torch.nn.functional as F

from .log_space import wide
from .result import Losses, mean_over_anchors

_LEAST_PROBABILITY = 1e-9  # added to P(label | bias), as in the authors' code
_SUM_TOLERANCE = 1e-3
_ROUNDING_OF_NORMS = 1e-3  # by which a logit may pass its bound


def _refuse_outside(name, what, values, count, of, conditions):
    wrong = (values < -1) | (values >= count)
    conditions.require(~wrong.any(), lambda: f"{name}: {what} {int(values[wrong][0])} of sample {int(wrong.nonzero()[0])} is outside "
                       f"0..{count - 1}, the {of} given ({int(wrong.sum())} of {len(values)} are; -1 = unknown); correct them")


def _checked_labels(name, call, conditions):
    if call.engine in ("fused", "blocked"):
        raise ValueError(f"{name}: works on logits, so there are no pairs to compute in blocks, and no fused backend; give engine dense or auto")
    _refuse_outside(name, "label", call.labels, call.z.shape[1], "logits", conditions)
    # Where it cannot be read that a label lies outside, the value is NaN; what is gathered must lie inside all the same.
    return call.labels.clamp(0, call.z.shape[1] - 1)


def _log_probability(logits, labels):
    return F.log_softmax(logits, 1).gather(1, labels[:, None])[:, 0]


def cross_entropy(name, options, call, scale, conditions):
    """-log p of the label."""
    loss = -_log_probability(call.z, _checked_labels(name, call, conditions))
    return mean_over_anchors(Losses(loss, call.labels >= 0), scale)


def generalized_cross_entropy(name, options, call, scale, conditions):
    """standard: (1 - p^q) / q; lff: cross-entropy with the constant weight q p^q (Zhang and Sabuncu 2018)."""
    q, log_p = options["q"], _log_probability(call.z, _checked_labels(name, call, conditions))
    loss = -(q * log_p).expm1() / q if options["form"] == "standard" else -q * (q * log_p).exp().detach() * log_p
    return mean_over_anchors(Losses(loss, call.labels >= 0), scale)


def _psi(cosine, margin):
    """(-1)^k cos(m theta) - 2k for theta in [k pi / m, (k + 1) pi / m], as a polynomial of cos theta."""
    before, current = torch.ones_like(cosine), cosine
    for _ in range(margin - 1):
        before, current = current, 2 * cosine * current - before
    piece = sum(((cosine.detach() < math.cos(j * math.pi / margin)).to(cosine.dtype) for j in range(1, margin)), torch.zeros_like(cosine))
    return (1 - 2 * piece.remainder(2)) * current - 2 * piece


def large_margin_softmax(name, options, call, scale, conditions):
    """Cross-entropy with the label's logit lowered to scale psi(theta), theta the angle to its weight (Liu et al. 2016)."""
    labels, bound, blend = _checked_labels(name, call, conditions), options["scale"], options["blend"]
    logit = call.z.gather(1, labels[:, None])[:, 0]
    wrong = (logit.abs() > bound * (1 + _ROUNDING_OF_NORMS)) & (call.labels >= 0)
    conditions.require(~wrong.any(), lambda: f"{name}: the logit {float(logit[wrong][0]):.6g} of sample {int(wrong.nonzero()[0])} is larger "
                       f"than its bound {bound:.6g}, option scale ({int(wrong.sum())} of {len(wrong)} are); raise scale to the factor of "
                       "the unit rows")
    lowered = (blend * logit + bound * _psi((logit / bound).clamp(-1, 1), options["margin"])) / (1 + blend)
    loss = -_log_probability(call.z.scatter(1, labels[:, None], lowered[:, None]), labels)
    return mean_over_anchors(Losses(loss, call.labels >= 0), scale)


def _counted(call, labels, used):
    """P(label | bias) of each row's bias label, counted from the batch: [B, C]."""
    place = torch.searchsorted(call.bias_labels.sort().values, call.bias_labels)  # one for each bias label
    count, classes = call.z.shape
    table = torch.zeros(count * classes, dtype=wide(call.z.device), device=call.z.device)
    table = table.index_add(0, place * classes + labels, used.to(table.dtype)).view(count, classes)
    return (table / table.sum(1, keepdim=True).clamp_min(1))[place]


def _given(name, call, used, conditions):
    prior, bias, classes = call.prior, call.bias_labels, call.z.shape[1]
    if prior.dim() != 2 or prior.shape[0] != classes or prior.shape[1] == 0:
        raise ValueError(f"{name}: prior: expected floating-point P(y | b) of shape [{classes}, bias labels], found shape {list(prior.shape)}")
    _refuse_outside(name, "bias label", bias, prior.shape[1], "columns of the prior", conditions)
    table = prior.detach().to(device=call.z.device, dtype=wide(call.z.device))
    conditions.require(((table >= 0) & (table <= 1 + _SUM_TOLERANCE)).all(), lambda: f"{name}: prior: P(y | b) must be in [0, 1]; the table "
                       "[labels, bias labels] has other entries")
    column = bias.clamp(0, prior.shape[1] - 1)
    sums = table.sum(0)[column]
    wrong = ((sums - 1).abs() > _SUM_TOLERANCE) & used
    conditions.require(~wrong.any(), lambda: f"{name}: prior: column {int(column[wrong][0])} sums to {float(sums[wrong][0]):.6g}, P(y | b) "
                       "over labels sums to 1; give it as [labels, bias labels]")
    return table.T[column]


def bias_balanced(name, options, call, scale, conditions):
    """Cross-entropy on logits + ln(P(label | bias) + 1e-9), so that the bias need not be learnt (Hong and Yang 2021)."""
    labels = _checked_labels(name, call, conditions)
    used = (call.labels >= 0) & (call.bias_labels >= 0)
    prior = _counted(call, labels, used) if call.prior is None else _given(name, call, used, conditions)
    loss = -_log_probability(call.z + (prior + _LEAST_PROBABILITY).log().to(call.z.dtype), labels)
    return mean_over_anchors(Losses(loss, used), scale)
