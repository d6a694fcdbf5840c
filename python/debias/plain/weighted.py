"""Objectives that weigh an anchor's negatives: by how hard they are, and by how likely they are true ones."""

import torch

from .debiased import negatives_estimate
from .label_free import require_one_positive
from .log_space import LOG_OF_NOTHING, softplus, wide
from .pair_sums import LogSum, RankedLogSum
from .rank_weights import RankWeights
from .result import Losses, late
from .two_views import compared, with_negatives


def _normalised(v, log_sum, log_weights, beta, detach_weights):
    """log of N Σ w e^s / Σ w with weights w that grow as e^{β s}. With detached weights the numerator's gradient is that of its e^s alone."""
    value = log_sum - log_weights + v.log_negatives()
    if not detach_weights:
        return value
    own = log_sum / (1 + beta)
    return value.detach() + (own - own.detach())


def _sample_size(v, log_weights, log_squares):
    """The mean over anchors of (Σ w)² / Σ w², each in [1, N]."""
    log_sizes, negatives, count = 2 * log_weights.detach() - log_squares.detach(), v.negatives, v.at_least_one()

    def mean():
        sizes = log_sizes.to(wide(log_sizes.device)).exp().clamp_min(1)
        sizes = sizes.clamp_max(count) if isinstance(count, float) else torch.minimum(sizes, count.to(sizes.dtype))
        return with_negatives(negatives, sizes).sum() / with_negatives(negatives, torch.ones_like(sizes)).sum().clamp_min(1)

    return late(mean)


def hard_negatives(name, options, call, scale, conditions):
    """Debiased negatives with weights e^{β s} (Robinson et al. 2021)."""
    beta, detached = options["beta"], options["detach_weights"]
    requests = [LogSum("unequal", 1 + beta), LogSum("unequal", beta, constant=detached), LogSum("unequal", 2 * beta, constant=True)]

    def losses(v):
        log_sum, log_weights, log_squares = v.sums(requests)
        weighted = _normalised(v, log_sum, log_weights, beta, detached)
        estimate = negatives_estimate(v, weighted, options["tau_plus"], options["clamp"], 1 + 2 * beta)
        return estimate._replace(sample_size=_sample_size(v, log_weights, log_squares))

    return compared(name, call, conditions).mean(scale, losses)


def bayesian(name, options, call, scale, conditions):
    """-log[ p / (p + Σ w e^s) ] with w by rank (rank_weights.py) and, but for form authors, hardness e^{β s} and a mean of 1."""
    require_one_positive(name, call)
    by_rank_alone = options["form"] == "authors"
    beta, detached = 0.0 if by_rank_alone else options["beta"], options["detach_weights"]
    weights = RankWeights(*(options[what] for what in ("form", "tau_plus", "alpha", "beta", "stabilize")))
    requests = [RankedLogSum(weights, 1, 1 + beta), RankedLogSum(weights, 1, beta, detached), RankedLogSum(weights, 2, 2 * beta, True)]
    tied = options["alpha"] == 1 and not by_rank_alone

    def losses(v):
        log_sum, log_weights, log_squares, *plain = v.sums([*requests, *([LogSum("unequal")] if tied else [])])
        log_negatives = log_sum if by_rank_alone else _normalised(v, log_sum, log_weights, beta, detached)
        if tied:  # all negatives at a rank of weight 0: equal weights are the limit of α -> 1
            log_negatives = torch.where(log_sum.detach() <= LOG_OF_NOTHING / 2, plain[0], log_negatives)
        loss = softplus(log_negatives - v.positive)
        return Losses(v.with_negatives(loss), sample_size=_sample_size(v, log_weights, log_squares))

    return compared(name, call, conditions).mean(scale, losses)
