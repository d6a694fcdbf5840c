"""Objectives as plain compositions of torch, which hold the matrix of all pairs.

They stand in where the package has no library for the torch that is installed, and where the temperature is a tensor that is learnt and
enters a formula beside the similarities. The C++ objectives are the definition, with the formulas and their sources in their headers;
python/tests/test_dense.py holds these to them. z is [B, V, D], rows are view-major, t is a number or a tensor.
"""

import math
from typing import NamedTuple, Optional

import torch
import torch.nn.functional as F

_NOTHING = -1e30  # log of an empty sum: no gradient passes it, and no infinity arises from it


class Losses(NamedTuple):
    loss: torch.Tensor  # [anchors], finite
    used: Optional[torch.Tensor] = None  # bool [anchors]; None: all are
    clamped: Optional[torch.Tensor] = None  # how many
    least: Optional[torch.Tensor] = None  # the smallest estimate
    sample_size: Optional[torch.Tensor] = None


def _log_sum(s, chosen):
    return s.masked_fill(~chosen, _NOTHING).logsumexp(1)


def _softplus(x):
    return torch.logaddexp(x, torch.zeros_like(x))


def _log_add(x, epsilon):
    """log(e^-epsilon + e^x)."""
    return x if math.isinf(epsilon) else torch.logaddexp(x, torch.full_like(x, -epsilon))


def _slack(s, t):
    return 8 * torch.finfo(s.dtype).eps * (1 + 1 / t)


class _TwoViews:
    """Rows of two views, each the other's only positive; `further` views may join the positives."""

    def __init__(self, z, first, second, t, labels=None, dropping=False, grouped=False):
        rows = torch.cat([z[:, first], z[:, second]])
        count, sample = len(z), torch.arange(len(z), device=z.device).repeat(2)
        self.t, self.negatives = t, 2 * count - 2
        self.s = rows @ rows.T / t
        self.is_negative = sample[:, None] != sample
        self.positive = (rows * rows.roll(count, 0)).sum(1) / t
        self.self = (rows * rows).sum(1) / t
        self.mean_positive = self.positive
        if grouped:
            further = [z[:, view].repeat(2, 1) for view in range(z.shape[1]) if view not in (first, second)]
            own = torch.stack([self.positive, *((rows * other).sum(1) / t for other in further)])
            self.mean_positive = own.logsumexp(0) - math.log(len(own))
        kept, self.labelled = self.is_negative, None
        if dropping:
            known = labels.repeat(2)
            self.labelled = known >= 0
            kept = kept & ~((known[:, None] == known) & (known >= 0)[:, None])
        self.log_negatives = _log_sum(self.s, self.is_negative)
        self.log_kept = _log_sum(self.s, kept)
        self.kept = kept.sum(1).to(z.dtype)


def _infonce(v, options):
    return Losses(_softplus(v.log_kept - v.positive))


def _unbiased(v, options):
    weight = v.log_kept
    if options["negatives"] == "rescale":
        weight = weight + (max(v.negatives, 1) / v.kept.clamp_min(1)).log()
    return Losses(_softplus(weight - v.positive), v.kept > 0)


def _estimated(v, log_sum, options, multiplier=1.0):
    """The sum over negatives less the share of the anchor's class: negatives_estimate.h."""
    t, count, tau_plus = v.t, v.negatives, options["tau_plus"]
    shift = torch.maximum(log_sum, v.mean_positive).detach()
    raw = ((log_sum - shift).exp() - tau_plus * count * (v.mean_positive - shift).exp()) / (1 - tau_plus)
    least = (raw.detach().double() * shift.double().exp() / count).min()
    if options["clamp"] == "none":
        total = raw + (v.positive - shift).exp()
        above, used = raw > 0, (raw > 0) | (total > 0)
        high = _softplus(raw.where(above, torch.ones_like(raw)).log() + shift - v.positive)
        low = total.where(used & ~above, torch.ones_like(total)).log() + shift - v.positive
        return Losses(high.where(above, low).where(used, torch.zeros_like(low)), used, None, least)
    floor = torch.zeros_like(shift) + (math.log(count) - 1 / t)
    if options["clamp"] == "positive":
        floor = shift + math.log(count) + math.log(1e-30)
    acts = (raw < (floor - shift).exp() * (1 - _slack(shift, t / multiplier))) | (raw <= 0)
    substitute = log_sum if options["clamp"] == "fallback" else floor
    log_ng = substitute.where(acts, raw.where(~acts, torch.ones_like(raw)).log() + shift)
    return Losses(_softplus(log_ng - v.positive), None, acts.sum(), least)


def _debiased_negatives(v, options):
    return _estimated(v, v.log_kept, options)


def _hard_negatives(v, options):
    beta = options["beta"]
    weighted, weights = _log_sum((1 + beta) * v.s, v.is_negative), _log_sum(beta * v.s, v.is_negative)
    log_sum = weighted - weights + math.log(v.negatives)
    if options["detach_weights"]:
        own = weighted / (1 + beta)
        log_sum = log_sum.detach() + own - own.detach()
    sizes = (2 * weights - _log_sum(2 * beta * v.s, v.is_negative)).detach().double().exp().clamp(1, v.negatives)
    return _estimated(v, log_sum, options, 1 + 2 * beta)._replace(sample_size=sizes.mean())


def _debiased_positives(v, options):
    t, count, tau_plus, means = v.t, v.negatives, options["tau_plus"], options["form"] != "sum"
    shift = torch.maximum(torch.maximum(v.log_negatives, v.mean_positive), v.self).detach()
    own, everything = (v.mean_positive - shift).exp() + (v.self - shift).exp(), (v.log_negatives - shift).exp()
    share, kept = 1 / (count + 2) if means else 1.0, v.kept.clamp_min(1)
    if not options["drop_false_negatives"]:
        raw = everything * (share - (1 - tau_plus) / count if means else tau_plus) + own * share
        log_n_mean = v.log_negatives if means else v.log_negatives + math.log(count)
    elif options["form"] == "final":
        true, itself = (v.log_kept - shift).exp(), (v.self - shift).exp().masked_fill(v.labelled, 0)
        raw = (true + (v.mean_positive - shift).exp() + itself) * share - (1 - tau_plus) * true / count
        log_n_mean = v.log_kept
    else:
        true = (v.log_kept - shift).exp()
        raw = (everything + own) * share - (1 - tau_plus) * (true / kept if means else true)
        log_n_mean = v.log_kept + ((count / kept).log() if means else math.log(count))
    least = (raw.detach().double() * shift.double().exp()).min()
    acts, clamped = raw <= 0, None
    if options["guard"] != "none":
        floor = tau_plus * (-1 / t - shift).exp()
        acts = acts | (raw < floor * (1 - _slack(shift, t)))
        clamped = acts.sum()
    log_tau = math.log(tau_plus) if tau_plus > 0 else -math.inf
    log_ratio = log_n_mean + log_tau - (raw.where(~acts, torch.ones_like(raw)).log() + shift)
    substitute = v.log_kept - v.positive if options["guard"] == "fallback" else log_n_mean + 1 / t
    return Losses(_softplus(substitute.where(acts, log_ratio)), None if clamped is not None else ~acts, clamped, least)


def _combined(v, options):
    mix, parts = options["mix"], (_debiased_negatives(v, options), _debiased_positives(v, options))
    if mix in (0, 1):
        return parts[0] if mix == 1 else parts[1]
    used = [part.used for part in parts if part.used is not None]
    clamped = [part.clamped for part in parts if part.clamped is not None]
    return Losses(mix * parts[0].loss + (1 - mix) * parts[1].loss, torch.stack(used).all(0) if used else None,
                  sum(clamped) if clamped else None, torch.minimum(parts[0].least, parts[1].least))


def _eps_infonce(v, options):
    epsilon = options["epsilon"]
    return Losses(_log_add(v.log_negatives - v.positive, epsilon))


_TWO_VIEWS = {"infonce": _infonce, "unbiased": _unbiased, "debiased_negatives": _debiased_negatives, "hard_negatives": _hard_negatives,
              "debiased_positives": _debiased_positives, "combined_debiased": _combined, "eps_infonce": _eps_infonce}


class _Classes:
    """All rows, with their classes: a row of no known class is alone with its other views."""

    def __init__(self, z, t, labels):
        count, views, _ = z.shape
        rows = z.transpose(0, 1).flatten(0, 1)
        sample = torch.arange(count, device=z.device).repeat(views)
        self.labels = torch.full_like(sample, -1) if labels is None else labels.repeat(views)
        self.sample, self.s = sample[:, None] == sample, rows @ rows.T / t
        same = self.sample | ((self.labels[:, None] == self.labels) & (self.labels >= 0)[:, None])
        itself = torch.eye(len(rows), dtype=torch.bool, device=z.device)
        self.is_other, self.is_positive, self.is_negative = ~itself, same & ~itself, ~same
        self.positives, self.negatives = self.is_positive.sum(1).to(z.dtype), self.is_negative.sum(1).to(z.dtype)
        self.largest = (rows * rows).sum(1).detach() / t

    def mean(self, chosen):
        return (self.s * chosen).sum(1) / chosen.sum(1).clamp_min(1)


def _where(loss, attracted):
    return Losses(loss.where(attracted, torch.zeros_like(loss)))


def _supcon(c, options, bias):
    loss = _log_sum(c.s, c.is_other) - c.mean(c.is_positive)
    if options["form"] == "in":
        loss = _log_sum(c.s, c.is_other) - _log_sum(c.s, c.is_positive) + c.positives.clamp_min(1).log()
    return _where(loss, c.positives > 0)


def _biascon(c, options, bias):
    values = bias.repeat(len(c.labels) // len(bias))
    known = (c.labels >= 0) & (values >= 0)
    aligned = c.sample | ((c.labels[:, None] == c.labels) & (values[:, None] == values) & known[:, None])
    conflicting = c.is_positive & ~aligned
    return _where(_log_sum(c.s, c.is_other) - c.mean(conflicting), conflicting.any(1))


def _eps_supcon(c, options, bias):
    epsilon, attracted = options["epsilon"], c.positives > 0
    log_negatives = _log_sum(c.s, c.is_negative)
    if math.isinf(epsilon):
        loss, attracted = log_negatives - c.mean(c.is_positive), attracted & (c.negatives > 0)
    else:
        loss = torch.logaddexp(log_negatives, _log_sum(c.s, c.is_positive) - epsilon) - c.mean(c.is_positive)
        loss = loss + epsilon if options["add_epsilon"] else loss
    return _where(loss * c.positives if options["over_positives"] == "sum" else loss, attracted)


def _eps_supinfonce(c, options, bias):
    epsilon, form, log_eps = options["epsilon"], options["form"], options["log_eps"]
    log_negatives = _log_sum(c.s, c.is_negative)
    one = torch.ones_like(c.positives)
    if form == "a":
        total, count = _log_add(log_negatives + _log_sum(-c.s, c.is_positive), epsilon), one
    elif form == "b":
        terms = _log_add(_log_sum(-c.s, c.is_positive)[:, None] + c.s, epsilon)
        total, count = terms.where(c.is_negative, torch.zeros_like(terms)).sum(1), c.negatives
    elif form == "d":
        terms = _log_add(c.s[:, None, :] - c.s[:, :, None], epsilon)  # [anchor, positive, negative]
        chosen = c.is_positive[:, :, None] & c.is_negative[:, None, :]
        total, count = terms.where(chosen, torch.zeros_like(terms)).sum((1, 2)), c.positives * c.negatives
    elif form == "in":
        total = torch.logaddexp(-c.positives.clamp_min(1).log() - epsilon, log_negatives - _log_sum(c.s, c.is_positive))
        count = one
    else:
        constant = torch.logaddexp(log_negatives, c.largest + math.log(log_eps)) if log_eps else log_negatives
        terms = _log_add(constant[:, None] - c.s, epsilon)
        total, count = terms.where(c.is_positive, torch.zeros_like(terms)).sum(1), c.positives
    attracted = c.positives > 0
    if math.isinf(epsilon) and (form != "c" or log_eps == 0):
        attracted = attracted & (c.negatives > 0)
    return _where(total / count.clamp_min(1) if options["over_positives"] == "mean" else total, attracted)


_CLASSES = {"supcon": _supcon, "biascon": _biascon, "eps_supcon": _eps_supcon, "eps_supinfonce": _eps_supinfonce}


def _log_probability(logits, labels):
    return F.log_softmax(logits, 1).gather(1, labels.clamp_min(0)[:, None])[:, 0]


def _cross_entropy(logits, labels, bias, prior, options):
    return Losses(-_log_probability(logits, labels), labels >= 0)


def _generalized_cross_entropy(logits, labels, bias, prior, options):
    q, log_p = options["q"], _log_probability(logits, labels)
    loss = -(q * log_p).expm1() / q if options["form"] == "standard" else -q * (q * log_p).exp().detach() * log_p
    return Losses(loss, labels >= 0)


def _bias_balanced(logits, labels, bias, prior, options):
    used, column = (labels >= 0) & (bias >= 0), bias.clamp_min(0)
    if prior is None:
        values, column = bias.unique(return_inverse=True)
        counts = torch.zeros(logits.shape[1] * len(values), dtype=torch.float64, device=logits.device)
        counts = counts.index_add(0, labels.clamp_min(0) * len(values) + column, used.double()).view(-1, len(values))
        prior = counts / counts.sum(0).clamp_min(1)
    offsets = (prior.detach().double() + 1e-9).log().T[column].to(logits.dtype)
    return Losses(-_log_probability(logits + offsets, labels), used)


_LOGITS = {"cross_entropy": _cross_entropy, "generalized_cross_entropy": _generalized_cross_entropy, "bias_balanced": _bias_balanced}

COMPOSED = (*_TWO_VIEWS, *_CLASSES, *_LOGITS)


class Result(NamedTuple):
    value: torch.Tensor
    per_anchor: torch.Tensor  # in the graph; NaN for an anchor dropped from the mean
    evidence: torch.Tensor  # as the library has it


def _number(tensor, otherwise):
    return torch.as_tensor(otherwise if tensor is None else tensor.detach(), dtype=torch.float64)


def _result(losses, scale, like):
    used = torch.ones_like(losses.loss, dtype=torch.bool) if losses.used is None else losses.used
    kept = losses.loss.where(used, torch.zeros_like(losses.loss))
    count = used.sum()
    evidence = torch.stack([_number(number, otherwise).to(like.device) for number, otherwise in (
        (None, len(used)), (count, 0), (losses.clamped, 0), (losses.least, math.inf), (losses.sample_size, math.inf), (None, 4))])
    return Result(kept.sum() * scale / count.clamp_min(1), (losses.loss * scale).where(used, torch.full_like(losses.loss, math.nan)), evidence)


def _over_pairs(results, pairs, views):
    """The mean over pairs of views, and over its pairs of each anchor."""
    count = len(results[0].per_anchor) // 2
    sums = [torch.zeros_like(results[0].per_anchor[:count]) for _ in range(views)]
    numbers = [torch.zeros_like(total) for total in sums]
    for result, pair in zip(results, pairs):
        for view, own in zip(pair, result.per_anchor.view(2, count)):
            there = ~own.isnan()
            sums[view], numbers[view] = sums[view] + own.where(there, torch.zeros_like(own)), numbers[view] + there
    total, number = torch.cat(sums), torch.cat(numbers)
    evidence = torch.stack([result.evidence for result in results])
    least, sizes = evidence[:, 3].min(), evidence[:, 4].mean()
    whole = torch.stack([torch.as_tensor(float(len(total)), dtype=torch.float64, device=total.device), (number > 0).sum().double(),
                         evidence[:, 2].sum(), least, sizes, evidence[0, 5]])
    pairs_used = (evidence[:, 1] > 0).sum().clamp_min(1)
    value = sum(result.value for result in results) / pairs_used
    return Result(value, (total / number.clamp_min(1)).where(number > 0, torch.full_like(total, math.nan)), whole)


def evaluated(name, options, z, labels=None, bias=None, prior=None, temperature=None):
    """Value, losses of anchors and evidence of objective `name` on z [B, V, D] (logits [B, C]); z has been checked and normalised."""
    if name in _LOGITS:
        return _result(_LOGITS[name](z, labels, bias, prior, options), 1.0, z)
    t = options["temperature"] if temperature is None else temperature
    base = options["base_temperature"]
    scale = 1.0 if base == "none" else t / base
    if name in _CLASSES:
        return _result(_CLASSES[name](_Classes(z, t, labels), options, bias), scale, z)
    views, dropping = z.shape[1], options.get("drop_false_negatives", name == "unbiased")
    grouped = options.get("aggregation") == "grouping"
    pairs = [(0, 1)] if grouped else [(first, second) for second in range(views) for first in range(second)]
    results = []
    for first, second in sorted(pairs):
        v = _TwoViews(z, first, second, t, labels, dropping, grouped and views > 2)
        none = v.negatives == 0 and not (name == "unbiased" or (name == "eps_infonce" and not math.isinf(options["epsilon"])))
        results.append(_result(Losses(v.positive * 0) if none else _TWO_VIEWS[name](v, options), scale, z))
    return results[0] if len(results) == 1 else _over_pairs(results, sorted(pairs), views)
