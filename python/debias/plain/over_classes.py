"""Objectives whose positives are the rows of the anchor's class, its own other views among them.

A sample of unknown label (-1) has its own other views as positives and every other sample as a negative. With keys these are the rows that
are meant, given positives among them. An anchor without positives has a loss of 0 and counts.
"""

import math
from typing import NamedTuple

import torch

from .log_space import log_add
from .pair_sums import LogAddSum, LogSum, SetSum, TripletSum, pair_sums
from .pairs import Pairs, keyed_pairs, square_pairs
from .result import Losses, mean_over_anchors


class Classes(NamedTuple):
    pairs: Pairs
    by_class: bool  # whether the rows have labels
    positives: torch.Tensor  # [n] how many
    negatives: torch.Tensor

    def sums(self, requests, row_values=()):
        return pair_sums(self.pairs, requests, row_values)

    def mean(self, loss, attracted, scale):
        return mean_over_anchors(Losses(torch.where(attracted, loss, 0)), scale, self.pairs.engine)


def _with_positives_as_keys(call):
    """The given positives as further keys, in front, with the ids and labels of their anchors."""
    if call.positives is None:
        return call.keys, call.key_ids, call.key_labels
    each, samples = call.positives.shape[1], call.samples()
    none = torch.full((len(call.keys),), -1, device=samples.device)
    key_ids = torch.cat([samples.repeat_interleave(each), none if call.key_ids is None else call.key_ids])
    key_labels = call.key_labels
    if call.labels is not None and key_labels is not None:
        key_labels = torch.cat([call.labels.repeat_interleave(each), key_labels])
    return torch.cat([call.positives.flatten(0, 1), call.keys]), key_ids, key_labels


def classes_of(name, call, conditions):
    views, samples = call.z.shape[1], call.samples()
    if call.keys is None:
        pairs = square_pairs(call.rows(), samples, call.labels, views, call)
    else:
        pairs = keyed_pairs(call.rows(), samples, call.labels, views, call, *_with_positives_as_keys(call))
    by_class = pairs.by_class is not None
    classes = Classes(pairs, by_class, pairs.size("equal", by_class), pairs.size("unequal", by_class))
    if call.keys is not None:
        conditions.require((classes.positives > 0).any(), lambda: f"{name}: keys: none is of the sample or the class of any anchor, so "
                           "nothing has a positive; give further views, or keys with ids= and key_ids=, or with key_labels=")
    return classes


def supcon(name, options, call, scale, conditions):
    """out: log Σ_{j≠a} e^s - mean over positives of s; in: -log[ mean over positives of e^s / Σ_{j≠a} e^s ] (Khosla et al. 2020)."""
    if call.labels is None and call.z.shape[1] < 2 and call.keys is None:
        raise ValueError(f"{name}: needs labels, or at least 2 views of each sample; found no labels and 1 view")
    c = classes_of(name, call, conditions)
    count = c.positives.clamp_min(1)
    if options["form"] == "in":
        others, positives = c.sums([LogSum("others"), LogSum("equal", by_class=c.by_class)])
        return c.mean(others - positives + count.log(), c.positives > 0, scale)
    others, positives = c.sums([LogSum("others"), SetSum("equal", c.by_class)])
    return c.mean(others - positives / count, c.positives > 0, scale)


def eps_supcon(name, options, call, scale, conditions):
    """ε + mean over positives of [ log(Σ_{t in P} e^{s_t - ε} + Σ_{j in N} e^{s_j}) - s_i ] (Barbano et al. 2023, eq. 5)."""
    c, epsilon = classes_of(name, call, conditions), options["epsilon"]
    positive_set = [] if math.isinf(epsilon) else [LogSum("equal", by_class=True)]
    negatives, total, *positives = c.sums([LogSum("unequal", by_class=True), SetSum("equal", True), *positive_set])
    mean, attracted = total / c.positives.clamp_min(1), c.positives > 0
    if math.isinf(epsilon):
        loss, attracted = negatives - mean, attracted & (c.negatives > 0)
    else:
        loss = torch.logaddexp(negatives, positives[0] - epsilon) - mean + (epsilon if options["add_epsilon"] else 0)
    return c.mean(loss * c.positives if options["over_positives"] == "sum" else loss, attracted, scale)


def _outer_terms(name, options, c):
    """The sum of an anchor's terms outside the log, and how many they are."""
    epsilon, form, one = options["epsilon"], options["form"], torch.ones_like(c.positives)
    negatives, positives, opposite = LogSum("unequal", by_class=True), LogSum("equal", by_class=True), LogSum("equal", -1.0, True)
    if form == "a":
        both = c.sums([negatives, opposite])
        return log_add(both[0] + both[1], epsilon), one
    if form == "b":
        return c.sums([LogAddSum("unequal", 1, epsilon, True)], c.sums([opposite]))[0], c.negatives
    if form == "d":
        if not c.pairs.square:
            raise ValueError(f"{name}: form d compares rows of a batch with each other and takes no keys; choose another form")
        return c.sums([TripletSum(epsilon)])[0], c.positives * c.negatives
    if form == "in":
        both = c.sums([negatives, positives])
        return torch.logaddexp(-c.positives.clamp_min(1).log() - epsilon, both[0] - both[1]), one
    constant = c.sums([negatives])[0]
    if options["log_eps"] > 0:
        constant = torch.logaddexp(constant, (c.pairs.anchors * c.pairs.scaled()).sum(1).detach() + math.log(options["log_eps"]))
    return c.sums([LogAddSum("equal", -1, epsilon, True)], (constant,))[0], c.positives


def eps_supinfonce(name, options, call, scale, conditions):
    """c: Σ over positives of log(e^-ε + Σ_{j in N} e^{s_j - s_i}) (Barbano et al. 2023, eq. 4); other forms: eq. 17 and the released code."""
    c = classes_of(name, call, conditions)
    total, count = _outer_terms(name, options, c)
    attracted = c.positives > 0
    if math.isinf(options["epsilon"]) and (options["form"] != "c" or options["log_eps"] == 0):
        attracted = attracted & (c.negatives > 0)
    return c.mean(total / count.clamp_min(1) if options["over_positives"] == "mean" else total, attracted, scale)
