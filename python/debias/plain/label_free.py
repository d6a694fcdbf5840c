"""Objectives on views alone whose negatives are taken as they are."""

import math

from .log_space import log_add, softplus
from .pair_sums import LogSum
from .result import Losses
from .two_views import compared


def require_one_positive(name, call):
    if call.positives is not None and call.positives.shape[1] > 1:
        raise ValueError(f"{name}: takes one positive of each sample beside keys, found {call.positives.shape[1]}; give one, or the keys "
                         "with ids= and key_ids=")


def infonce(name, options, call, scale, conditions):
    """-log[ p / (p + Σ over negatives of e^s) ], p = e^s of the positive."""
    require_one_positive(name, call)
    request = LogSum("unequal", by_class=options["drop_false_negatives"])
    return compared(name, call, conditions).mean(scale, lambda v: Losses(softplus(v.sums([request])[0] - v.positive)))


def unbiased(name, options, call, scale, conditions):
    """InfoNCE over the negatives of other classes: their sum, or N times their mean."""
    require_one_positive(name, call)

    def losses(v):
        weight, kept = v.sums([LogSum("unequal", by_class=True)])[0], v.pairs.size("unequal", by_class=True)
        if options["negatives"] == "rescale":
            weight = weight + (v.at_least_one() / kept.clamp_min(1)).log()
        return Losses(softplus(weight - v.positive), kept > 0)

    return compared(name, call, conditions).mean(scale, losses)


def eps_infonce(name, options, call, scale, conditions):
    """log(e^-ε + Σ over negatives of e^{s - s_p})"""
    require_one_positive(name, call)
    epsilon = options["epsilon"]

    def losses(v):
        x = v.sums([LogSum("unequal")])[0] - v.positive
        return Losses(v.with_negatives(x) if math.isinf(epsilon) else log_add(x, epsilon))

    return compared(name, call, conditions).mean(scale, losses)
