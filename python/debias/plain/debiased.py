"""Objectives that take the share of an anchor's own class out of the negatives, or put it into the positive."""

import math

import torch

from .log_space import softplus, wide
from .pair_sums import LogSum
from .result import Losses, late, mixed
from .two_views import compared, with_negatives

_LEAST_POSITIVE = math.log(1e-30)  # of clamp positive


def slack(s, t):
    """The relative rounding error of e^s, with room: an estimate this close to its floor has not fallen below it."""
    return (8 * torch.finfo(s.dtype).eps * (1 + 1 / t)).clamp_max(0.5) if isinstance(t, torch.Tensor) else \
        min(0.5, 8 * torch.finfo(s.dtype).eps * (1 + 1 / t))


def _smallest(v, estimate, shift):
    """min over anchors with negatives of estimate · e^shift."""
    estimate, negatives = estimate.detach(), v.negatives

    def least():
        largest = torch.finfo(wide(shift.device)).max
        scaled = estimate.to(wide(shift.device)) * shift.to(wide(shift.device)).exp().clamp_max(largest)
        return with_negatives(negatives, scaled, math.inf).min().clamp_min(-largest)

    return late(least)


def _without_clamp(v, raw, shift):
    total = raw + (v.positive - shift).exp()
    above = raw > 0
    used = above | (total > 0)
    high = softplus(torch.where(above, raw, 1).log() + shift - v.positive)
    low = torch.where(used & ~above, total, 1).log() + shift - v.positive
    return torch.where(used, torch.where(above, high, low), 0), used


def _clamped(v, raw, shift, log_sum, clamp, multiplier):
    t, log_n = v.temperature, v.log_negatives()
    floor = shift + log_n + _LEAST_POSITIVE if clamp == "positive" else log_n - 1 / t
    acts = (raw < (floor - shift).exp() * (1 - slack(shift, t / multiplier))) | (raw <= 0)
    substitute = log_sum if clamp == "fallback" else floor
    log_ng = torch.where(acts, substitute, torch.where(acts, 1, raw).log() + shift)
    return softplus(log_ng - v.positive), acts


def negatives_estimate(v, log_sum, tau_plus, clamp, multiplier=1.0):
    """L = -log[ p / (p + N g) ] with g = (S / N - τ⁺ P) / (1 - τ⁺), S by its log, P the mean of e^s over the positives.

    Where g is below its floor e^{-1/t}: floor, it takes that value; fallback, N g is S; positive, N g is held above 1e-30 N of the larger of S
    and P; none, an anchor with 1 + N g / p <= 0 leaves the mean. multiplier: of s in the terms of S. Chuang et al. 2020, eq. 8.
    """
    shift = torch.maximum(log_sum, v.mean_positive).detach()
    raw = ((log_sum - shift).exp() - tau_plus * v.negatives * (v.mean_positive - shift).exp()) / (1 - tau_plus)
    least = _smallest(v, raw / v.at_least_one(), shift)
    if clamp == "none":
        loss, used = _without_clamp(v, raw, shift)
        return Losses(v.with_negatives(loss), v.with_negatives(used, True), None, least)
    loss, acts = _clamped(v, raw, shift, log_sum, clamp, multiplier)
    return Losses(v.with_negatives(loss), None, v.with_negatives(acts, False).sum(), least)


def _negatives_losses(v, options, log_kept):
    return negatives_estimate(v, log_kept, options["tau_plus"], options["clamp"])


def debiased_negatives(name, options, call, scale, conditions):
    request = LogSum("unequal", by_class=options["drop_false_negatives"])
    return compared(name, call, conditions, options["aggregation"]).mean(scale, lambda v: _negatives_losses(v, options, v.sums([request])[0]))


def _numerator(v, options, log_negatives, log_kept, kept, shift):
    """num in units of e^shift, and the log of N P-; kept: how many negatives are."""
    n, log_n, tau_minus, means = v.at_least_one(), v.log_negatives(), 1 - options["tau_plus"], options["form"] != "sum"
    share = 1 / (v.negatives + 2) if means else 1.0
    positive, itself = (v.mean_positive - shift).exp(), (v.itself() - shift).exp()
    everything, own = (log_negatives - shift).exp(), positive + itself
    if not options["drop_false_negatives"]:
        weight = share - tau_minus / n if means else options["tau_plus"]
        return everything * weight + own * share, log_negatives if means else log_negatives + log_n
    true = (log_kept - shift).exp()
    if options["form"] == "final":
        of_class = torch.where(v.labelled, 0, itself)
        return (true + positive + of_class) * share - tau_minus * true / n, log_kept
    if not means:
        return everything + own - tau_minus * true, log_kept + log_n
    kept = max(kept, 1.0) if isinstance(kept, float) else kept.clamp_min(1)
    return (everything + own) * share - tau_minus * true / kept, log_kept + (math.log(n / kept) if isinstance(kept, float) else (n / kept).log())


def _positives_losses(v, options, log_negatives, log_kept, kept):
    """L = -log[ num / (num + N τ⁺ P-) ], "Mitigating Distributional Biases in Contrastive Learning", eq. 12: num = P - (1 - τ⁺) P-.

    Where num is below τ⁺ e^{-1/t}: floor, it takes that value; fallback, the anchor's InfoNCE loss; none, an anchor with num <= 0 leaves
    the mean.
    """
    t, tau_plus, guard = v.temperature, options["tau_plus"], options["guard"]
    shift = torch.maximum(torch.maximum(log_negatives, v.mean_positive), v.itself()).detach()
    raw, log_n_mean = _numerator(v, options, log_negatives, log_kept, kept, shift)
    least = _smallest(v, raw, shift)
    acts, clamped, used = raw <= 0, None, None
    if guard == "none":
        used = v.with_negatives(~acts, True)
    else:
        acts = acts | (raw < tau_plus * (-1 / t - shift).exp() * (1 - slack(shift, t)))
        clamped = v.with_negatives(acts, False).sum()
    log_tau = math.log(tau_plus) if tau_plus > 0 else -math.inf
    log_ratio = log_n_mean + log_tau - (torch.where(acts, 1, raw).log() + shift)
    substitute = log_kept - v.positive if guard == "fallback" else log_n_mean + 1 / t
    loss = softplus(torch.where(acts, substitute, log_ratio))
    return Losses(v.with_negatives(loss), used, clamped, least)


class _Sums:
    """log of the sums over all negatives and over those that are kept, formed once for both parts of a mixture."""

    def __init__(self, drops):
        self._drops, self._of = drops, {}

    def __call__(self, v):
        if id(v) not in self._of:
            both = v.sums([LogSum("unequal"), *([LogSum("unequal", by_class=True)] if self._drops else [])])
            kept = v.pairs.size("unequal", by_class=True) if self._drops else v.negatives
            self._of[id(v)] = (both[0], both[-1], kept)
        return self._of[id(v)]


def debiased_positives(name, options, call, scale, conditions):
    sums = _Sums(options["drop_false_negatives"])
    return compared(name, call, conditions, options["aggregation"]).mean(scale, lambda v: _positives_losses(v, options, *sums(v)))


def combined_debiased(name, options, call, scale, conditions):
    comparison, sums, mix = compared(name, call, conditions, options["aggregation"]), _Sums(options["drop_false_negatives"]), options["mix"]

    def negatives():
        return comparison.mean(scale, lambda v: _negatives_losses(v, options, sums(v)[1]))

    def positives():
        return comparison.mean(scale, lambda v: _positives_losses(v, options, *sums(v)))

    if mix in (0, 1):
        return negatives() if mix == 1 else positives()
    return mixed(negatives(), positives(), mix)
