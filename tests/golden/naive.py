#!/usr/bin/env python3
"""tests/golden/naive.py: the losses as their papers have them, a few lines each, and what they come to, in tests/golden/objectives.json.

Run with numpy in an environment of its own. The formulas are of double precision with raw exponentials, and share nothing with the library;
tests/losses/objectives_test.cpp and python/tests/test_objectives.py hold both halves to the file. Gradients are those of complex steps,
Im f(z + i h) / h, which are as exact as the values; central differences confirm each of them before it is written.

The function of a loss has its name, and below `@loss` the way in which a batch is evaluated by it: over anchors, over classes, over rows of
logits, or as the function itself does. `still` is what counts as a constant of the gradient.
"""

import itertools
import json
import math
import pathlib

import numpy as np

NAN, INF = math.nan, math.inf
LOSSES, DEFAULTS, VARIANTS = {}, {}, {}
TEMPERATURES = {"base_temperature": "none"}


class Constants:
    """What `still` made constant at one point, so that differences around it leave it as it was."""

    kept, replayed = None, None


def still(x):
    if Constants.replayed is not None:
        return next(Constants.replayed)
    x = np.real(x)
    if Constants.kept is not None:
        Constants.kept.append(x)
    return x


def loss(evaluate, variants=None, **defaults):
    """Registers a function by its name; evaluate(function, o, batch) evaluates a batch by it, where o are the resolved options."""
    def register(function):
        name = function.__name__
        LOSSES[name] = lambda o, batch: evaluate(function, o, batch)
        DEFAULTS[name], VARIANTS[name] = defaults, variants or {}
        return function
    return register


def as_it_is(function, o, batch):
    return function(o, batch)


def log_sum(*values):
    values = np.concatenate([np.atleast_1d(value) for value in values])
    if not len(values):
        return -INF
    top = values.real.max()
    return top + np.log(np.exp(values - top).sum())


def mean(values):
    return np.mean(values) if len(values) else 0.0


def softplus(x):
    return log_sum(0.0, x)


def log_add(x, epsilon):
    return x if math.isinf(epsilon) else log_sum(x, -epsilon)


def at_least(x, floor):
    return x if x.real > floor else floor


def over_used(losses):
    return mean([one for one in losses if not np.isnan(one)]), losses


def rows_of(z):
    """[V·B, D], view-major, and the sample of each row."""
    return z.transpose(1, 0, 2).reshape(-1, z.shape[2]), np.tile(np.arange(len(z)), z.shape[1])


# Label-free losses: an anchor has positives, the first of them in the numerator, and negatives.

class Anchor:
    """s of one anchor with its positives, its negatives and itself. estimate, acted, size: diagnostics that a loss leaves."""

    def __init__(self, t, positives, negatives, itself, label, labels):
        self.t, self.positives, self.negatives, self.itself, self.n = t, positives, negatives, itself, len(negatives)
        self.labelled = label is not None and label >= 0
        self.true = negatives[labels != label] if self.labelled else negatives
        self.estimate, self.acted, self.size = None, False, None


def anchors_of_views(batch, t, first, second, further=()):
    z, labels = batch["z"], batch.get("labels")
    for own, other in ((first, second), (second, first)):
        for i in range(len(z)):
            others = np.arange(len(z)) != i
            negatives = np.concatenate([z[others, view] @ z[i, own] for view in (first, second)]) / t
            positives = np.array([z[i, view] @ z[i, own] / t for view in (other, *further)])
            yield Anchor(t, positives, negatives, z[i, own] @ z[i, own] / t, *((labels[i], np.tile(labels[others], 2)) if labels is not None
                                                                              else (None, None)))


def anchors_of_keys(batch, t):
    z, keys, labels = batch["z"], batch["keys"], batch.get("labels")
    for view, i in itertools.product(range(z.shape[1]), range(len(z))):
        own, s = batch["key_ids"] == batch["ids"][i], keys @ z[i, view] / t
        positives = batch["positives"][i] @ z[i, view] / t if "positives" in batch else np.array([log_sum(s[own]) - math.log(own.sum())])
        yield Anchor(t, positives, s[~own], z[i, view] @ z[i, view] / t, *((labels[i], batch["key_labels"][~own]) if labels is not None
                                                                          else (None, None)))


def over_anchors(function, o, batch):
    """function(a, o): of an Anchor."""
    scale = scale_of(o)
    if "keys" in batch:
        parts = [list(anchors_of_keys(batch, o["temperature"]))]
    else:
        views = batch["z"].shape[1]
        grouping = o.get("aggregation") == "grouping"
        pairs = [(0, 1)] if grouping else itertools.combinations(range(views), 2)
        parts = [list(anchors_of_views(batch, o["temperature"], *pair, range(2, views) if grouping else ())) for pair in pairs]
    losses = [[scale * function(a, o) for a in part] for part in parts]
    anchors = [a for part in parts for a in part]
    batch["diagnostics"] = diagnostics_of(anchors)
    if len(parts) == 1:
        return over_used(losses[0])
    own, samples = {}, len(batch["z"])
    for pair, part in zip(itertools.combinations(range(batch["z"].shape[1]), 2), losses):
        for place, one in enumerate(part):
            if not np.isnan(one):
                own.setdefault((pair[place // samples], place % samples), []).append(one)
    values = [over_used(part)[0] for part in losses if not all(map(np.isnan, part))]
    return mean(values), [mean(own[row]) if row in own else NAN for row in itertools.product(range(batch["z"].shape[1]), range(samples))]


def diagnostics_of(anchors):
    estimates, sizes = [a.estimate for a in anchors if a.estimate is not None], [a.size for a in anchors if a.size is not None]
    found = {"clamped": sum(a.acted for a in anchors), "min_estimate": min(estimates)} if estimates else {}
    return found | ({"effective_sample_size": mean(sizes)} if sizes else {})


def scale_of(o):
    return 1 if o["base_temperature"] == "none" else o["temperature"] / o["base_temperature"]


@loss(over_anchors, temperature=0.5, drop_false_negatives=False, **TEMPERATURES)
def infonce(a, o):
    return softplus(log_sum(a.true if o["drop_false_negatives"] else a.negatives) - a.positives[0])


@loss(over_anchors, {"authors": {"negatives": "drop"}}, temperature=0.5, negatives="rescale", **TEMPERATURES)
def unbiased(a, o):
    if not len(a.true):
        return NAN
    return softplus(log_sum(a.true) + math.log(a.n / len(a.true) if o["negatives"] == "rescale" else 1) - a.positives[0])


@loss(over_anchors, {"authors": {"base_temperature": 0.07}}, temperature=0.1, epsilon=0.25, **TEMPERATURES)
def eps_infonce(a, o):
    return 0.0 if math.isinf(o["epsilon"]) and not a.n else log_add(log_sum(a.negatives) - a.positives[0], o["epsilon"])


def estimated(a, total, o):
    """total: the sum over negatives of e^s, or what stands for it."""
    if not a.n:
        return 0.0
    p, mean_p, floor = np.exp(a.positives[0]), np.exp(a.positives).mean(), math.exp(-1 / a.t)
    g = (total / a.n - o["tau_plus"] * mean_p) / (1 - o["tau_plus"])
    least = 1e-30 * max(total.real, mean_p.real) if o["clamp"] == "positive" else floor
    a.estimate, a.acted = g.real, o["clamp"] != "none" and g.real < least
    if a.acted:
        g = total / a.n if o["clamp"] == "fallback" else still(least)
    return np.log((p + a.n * g) / p) if (p + a.n * g).real > 0 else NAN


@loss(over_anchors, temperature=0.5, tau_plus=0.1, clamp="floor", aggregation="grouping", drop_false_negatives=False, **TEMPERATURES)
def debiased_negatives(a, o):
    return estimated(a, np.exp(a.true if o["drop_false_negatives"] else a.negatives).sum(), o)


@loss(over_anchors, {"paper": {"guard": "none"}, "authors": {"form": "sum", "guard": "none"}}, temperature=0.5, tau_plus=0.1, form="eq12",
      guard="floor", aggregation="grouping", drop_false_negatives=False, **TEMPERATURES)
def debiased_positives(a, o):
    if not a.n:
        return 0.0
    n, tau_plus, drop, form = a.n, o["tau_plus"], o["drop_false_negatives"], o["form"]
    p, itself, everything, true = np.exp(a.positives).mean(), np.exp(a.itself), np.exp(a.negatives).sum(), np.exp(a.true).sum()
    of_all, kept, count = everything + p + itself, true if drop else everything, len(a.true) if drop else n
    if form == "final" and drop:
        of_all, count = true + p + (0 if a.labelled else itself), n
    if form != "sum":
        of_all, kept = of_all / (n + 2), kept / max(count, 1)
    num, floor = of_all - (1 - tau_plus) * kept, tau_plus * math.exp(-1 / a.t)
    a.estimate, a.acted = num.real, o["guard"] != "none" and num.real < floor
    if a.acted and o["guard"] == "fallback":
        return softplus(log_sum(a.true if drop else a.negatives) - a.positives[0])
    num = floor if a.acted else num
    return np.log((num + n * tau_plus * kept) / num) if num.real > 0 else NAN


def mixed(o, batch):
    parts = [(over_anchors(part, o, batch), batch.pop("diagnostics")) for part in (debiased_negatives, debiased_positives)]
    (a, of_a), (b, of_b) = (result for result, _ in parts)
    mix = o["mix"]
    batch["diagnostics"] = parts[1 - int(mix)][1] if mix in (0, 1) else {
        "clamped": sum(of["clamped"] for _, of in parts), "min_estimate": min(of["min_estimate"] for _, of in parts)} if parts[0][1] else {}
    if mix in (0, 1):
        return (a, of_a) if mix == 1 else (b, of_b)
    return mix * a + (1 - mix) * b, [mix * x + (1 - mix) * y for x, y in zip(of_a, of_b)]


@loss(as_it_is, {"paper": {"guard": "none"}, "authors": {"form": "sum", "guard": "none"}}, temperature=0.5, mix=0.5, tau_plus=0.1,
      clamp="floor", form="eq12", guard="floor", aggregation="grouping", drop_false_negatives=False, **TEMPERATURES)
def combined_debiased(o, batch):
    return mixed(o, batch)


def weigh(a, weights, detached):
    a.size = weights.real.sum()**2 / (weights.real**2).sum() if weights.real.any() else 1.0
    return still(weights) if detached else weights


@loss(over_anchors, temperature=0.5, tau_plus=0.1, beta=1.0, clamp="floor", detach_weights=False, **TEMPERATURES)
def hard_negatives(a, o):
    w = weigh(a, np.exp(o["beta"] * a.negatives), o["detach_weights"]) if a.n else None
    return estimated(a, a.n * (w * np.exp(a.negatives)).sum() / w.sum(), o) if a.n else 0.0


@loss(over_anchors, {"paper": {"form": "paper"}, "authors": {"form": "authors", "stabilize": False}}, temperature=0.5, form="corrected",
      tau_plus=0.1, alpha=0.7, beta=1.0, stabilize=True, detach_weights=True, **TEMPERATURES)
def bayesian(a, o):
    if not a.n:
        return 0.0
    alpha, plus, beta, authors, s = o["alpha"], o["tau_plus"], o["beta"], o["form"] == "authors", a.negatives
    minus, phi, own = 1 - plus, still((s.real[None] <= s.real[:, None]).mean(1)), 0 if o["stabilize"] or not authors else 1e-3
    if o["form"] != "paper":  # the root of A x^2 + b x = phi
        A, b = (1 - 2 * alpha) * (minus - plus) + own, 2 * (alpha * minus + (1 - alpha) * plus)
        phi = 2 * phi / (b + np.sqrt(np.maximum(0, b * b + 4 * A * phi)))
    true, false = alpha * (1 - phi) + (1 - alpha) * phi, (1 - alpha) * (1 - phi) + alpha * phi
    nearer, farther, mixture = alpha * (1 - beta), (1 - alpha) * beta, minus * true + plus * false
    if authors:
        weights = weigh(a, (nearer * (1 - phi) + farther * phi) / (nearer + farther + own) / mixture, True)
    else:
        v = minus * true / mixture * np.exp(beta * s)
        weights = weigh(a, a.n * v / v.sum() if v.real.max() > 1e-12 else np.ones(a.n), o["detach_weights"])
    there = weights.real > 1e-15
    return softplus(log_sum(s[there] + np.log(weights[there])) - a.positives[0])


# Losses over classes: positives are the rows, or keys, of the anchor's class, negatives all others.

def over_classes(function, o, batch):
    """function(o, positives, negatives, itself): of an anchor's s with its positives, its negatives and itself."""
    z, labels, t = batch["z"], batch.get("labels"), o["temperature"]
    rows, samples = rows_of(z)
    known = labels is not None
    if "keys" not in batch:
        keys, key_samples, key_labels = rows, samples, labels[samples] if known else None
    else:
        keys, key_samples, key_labels = batch["keys"], batch["key_ids"], batch.get("key_labels")
        samples = batch["ids"][samples]
        if "positives" in batch:
            each = batch["positives"].shape[1]
            keys, key_samples = np.concatenate([batch["positives"].reshape(-1, z.shape[2]), keys]), np.concatenate([np.repeat(batch["ids"], each), key_samples])
            key_labels = np.concatenate([np.repeat(labels, each), key_labels]) if known else None
    losses = []
    for a, row in enumerate(rows):
        own_label = labels[a % len(z)] if known else -1
        alike = key_labels == own_label if own_label >= 0 else (key_samples == samples[a]) & (key_labels < 0 if known else True)
        others = np.arange(len(keys)) != a if "keys" not in batch else np.ones(len(keys), bool)
        s = keys @ row / t
        losses.append(scale_of(o) * function(o, s[alike & others], s[~alike & others], row @ row / t))
    return over_used(losses)


@loss(over_classes, {"authors": {"base_temperature": 0.07}}, temperature=0.1, form="out", **TEMPERATURES)
def supcon(o, positives, negatives, itself):
    if not len(positives):
        return 0.0
    return log_sum(positives, negatives) - (log_sum(positives) - math.log(len(positives)) if o["form"] == "in" else positives.mean())


@loss(over_classes, {"authors": {"base_temperature": 0.07, "add_epsilon": False}}, temperature=0.1, epsilon=0.25, add_epsilon=True,
      over_positives="mean", **TEMPERATURES)
def eps_supcon(o, positives, negatives, itself):
    epsilon = o["epsilon"]
    if not len(positives) or (math.isinf(epsilon) and not len(negatives)):
        return 0.0
    denominator = log_sum(negatives) if math.isinf(epsilon) else log_sum(negatives, positives - epsilon)
    terms = denominator - positives + (epsilon if o["add_epsilon"] else 0)
    return terms.mean() if o["over_positives"] == "mean" else terms.sum()


@loss(over_classes, {"paper": {"over_positives": "sum"}, "authors": {"base_temperature": 0.07, "log_eps": 1e-6}}, temperature=0.1,
      epsilon=0.25, form="c", over_positives="mean", log_eps=0, **TEMPERATURES)
def eps_supinfonce(o, positives, negatives, itself):
    epsilon, form, log_eps = o["epsilon"], o["form"], o["log_eps"]
    if not len(positives) or (math.isinf(epsilon) and not len(negatives) and not (form == "c" and log_eps)):
        return 0.0
    if form == "in":
        return log_add(log_sum(negatives) - log_sum(positives), epsilon + math.log(len(positives)))
    opposite, constant = log_sum(-positives), log_sum(negatives, still(itself) + math.log(log_eps)) if log_eps else log_sum(negatives)
    terms = {"a": lambda: [log_add(log_sum(negatives) + opposite, epsilon)],
             "b": lambda: [log_add(s + opposite, epsilon) for s in negatives],
             "c": lambda: [log_add(constant - s, epsilon) for s in positives],
             "d": lambda: [log_add(s - p, epsilon) for p in positives for s in negatives]}[form]()
    return mean(terms) if o["over_positives"] == "mean" else np.sum(terms)


def over_weighted_positives(o, batch, weigh_pair, least):
    """The mean over rows of log of the sum over the others of e^s, less the weighted mean of s over positives."""
    rows, samples = rows_of(batch["z"])
    s, losses = rows @ rows.T / o["temperature"], []
    for a, i in enumerate(samples):
        w = np.array([weigh_pair(i, j) if batch["labels"][i] == batch["labels"][j] >= 0 and i != j else 0.0 for j in samples])
        others = log_sum(np.delete(s[a], a)) - (w * s[a]).sum() / w.sum() if w.sum() > least else 0.0
        losses.append(scale_of(o) * others)
    return over_used(losses)


@loss(as_it_is, temperature=0.07, **TEMPERATURES)
def biascon(o, batch):
    b = batch["bias"]
    return over_weighted_positives(o, batch, lambda i, j: float(b[i] != b[j] or b[i] < 0), 0)


@loss(as_it_is, temperature=0.07, **TEMPERATURES)
def softcon(o, batch):
    unit = batch["weights"] / np.linalg.norm(batch["weights"], axis=1, keepdims=True)
    return over_weighted_positives(o, batch, lambda i, j: 1 - unit[i] @ unit[j], 1e-9)


# Regularisers.

@loss(as_it_is, {"paper": {"mode": "kl", "pooling": "anchor", "normaliser": "batch"}, "authors": {"mode": "authors"}}, mode=None, kld=1,
      pooling="batch", empty="auto", variance_floor=1e-4, normaliser="weights")
def fairkl(o, batch):
    rows, samples = rows_of(batch["z"])
    labels, features = batch["labels"][samples], batch.get("weights")
    bias = batch["bias"][samples] if features is None else np.zeros(len(rows), int)
    known = (labels >= 0) & (bias >= 0)
    rows, labels, bias, samples = rows[known], labels[known], bias[known], samples[known]
    by_anchor = o["pooling"] == "anchor"
    mode = o["mode"] or ("mean" if by_anchor else "authors")
    zero = o["empty"] == "zero" or (o["empty"] == "auto" and mode == "authors")
    n, c = len(rows), rows @ rows.T
    if features is None:
        aligned = (bias[:, None] == bias).astype(float)
    else:
        unit = features[samples] / np.linalg.norm(features[samples], axis=1, keepdims=True)
        aligned = np.clip(unit @ unit.T, 0, 1)
    whole = features is not None and o["normaliser"] == "batch"  # its moments depend on the origin: that of cosines
    logs = np.log(np.where(c.real < 1, 2 - 2 * c, 0) + 1e-6)
    x = {"authors": c, "lognormal": logs}.get(mode, -2 * c if whole else 2 - 2 * c)

    def moments(w, x):
        """weight, mean and variance of the set with weights w."""
        w, x = np.atleast_2d(w), np.atleast_2d(x)
        total, least = w.sum(), 1e-6 if features is not None else 2 if by_anchor and mode != "mean" and not zero else 1
        if total < least:
            return None, {"authors": 0.0, "lognormal": math.log(2 + 1e-6)}.get(mode, 0.0 if whole else 2.0), 0.0
        divisor = w.size if whole else total
        centre = (w * x).sum() / divisor
        if mode != "authors":
            return total, centre, (w * (x - centre)**2).sum() / divisor
        return total, centre, ((w * x - (w * x).mean())**2).sum() / max(w.size - 1, 1)

    def root(v):
        return np.sqrt(v) if np.real(v) > 1e-13 else 0.0

    def compared(chosen, positive):
        same = (labels[chosen][:, None] == labels) == positive
        if mode != "authors" and positive:
            same = same & (np.arange(n)[chosen][:, None] != np.arange(n))
        (wa, ma, va), (wc, mc, vc) = (moments(same * side, x[chosen]) for side in (aligned[chosen], 1 - aligned[chosen]))
        if not zero and (wa is None or wc is None):
            return NAN
        means, floor = (ma - mc)**2, max(o["variance_floor"], 1e-12)
        if mode in ("kl", "jeffreys", "lognormal"):
            va, vc = at_least(va, floor), at_least(vc, floor)
            kl = lambda p, q: ((p + means) / q - np.log(p / q) - 1) / 2
            return kl(va, vc) + (kl(vc, va) if mode == "jeffreys" else 0)
        spread = 0 if mode == "mean" else o["kld"] * (root(va) - root(vc))**2
        return means + spread + (0 if mode != "authors" else -mc if positive else ma)

    sets = [np.array([a]) for a in range(n)] if by_anchor else [np.arange(n)]
    signs = np.array([[compared(chosen, positive) for chosen in sets] for positive in (True, False)])
    used = ~np.isnan(signs)
    per_set = sum(np.where(own, of, 0) * used.any(0).sum() / max(own.sum(), 1) for own, of in zip(used, signs))
    losses = np.full(len(known), NAN, complex)
    losses[known] = np.where(used.any(0), per_set, NAN)
    return sum(over_used(of)[0] for of in signs), losses


@loss(as_it_is, {"paper": {"full_pairs": True}}, alpha=0.1, beta=0.1, full_pairs=False)
def end(o, batch):
    rows, samples = rows_of(batch["z"])
    y, b, c = batch["labels"][samples], batch["bias"][samples], rows @ rows.T
    later = np.tri(len(rows), k=-1, dtype=bool) & (b >= 0)[:, None] & (b >= 0)
    alike, across = later & (b[:, None] == b), later & (b[:, None] != b) & (y[:, None] == y) & (y >= 0)
    if not o["full_pairs"]:
        across = across & (b[:, None] < b)
    sums = [(c * (alike & (b == group))).sum() for group in set(b[b >= 0])]
    perpendicular = sum(s if s.real >= 0 else -s for s in sums) / max(alike.sum(), 1)
    parallel = 1 - ((1 + c) / 2)[across].mean() if across.any() else 0.0
    value = o["alpha"] * perpendicular + o["beta"] * parallel
    return value, np.where((b >= 0) & (alike.any() or across.any()), value, NAN)


# Losses on logits.

def over_logits(function, o, batch):
    """function(o, row, label): of a sample's logits."""
    return over_used([function(o, row, label) if label >= 0 else NAN for row, label in zip(batch["z"], batch["labels"])])


@loss(over_logits)
def cross_entropy(o, row, label):
    return log_sum(row) - row[label]


@loss(over_logits, {"authors": {"form": "lff"}}, q=0.7, form="standard")
def generalized_cross_entropy(o, row, label):
    log_p, q = row[label] - log_sum(row), o["q"]
    return (1 - np.exp(q * log_p)) / q if o["form"] == "standard" else -still(q * np.exp(q * log_p)) * log_p


@loss(over_logits, {"paper": {"margin": 4}, "authors": {"margin": 4}}, margin=2, blend=0, scale=16)
def large_margin_softmax(o, row, label):
    theta, m = np.arccos(row[label] / o["scale"]), o["margin"]
    k = math.floor(theta.real * m / math.pi)
    lowered = np.array(row)
    lowered[label] = (o["blend"] * row[label] + o["scale"] * ((-1)**k * np.cos(m * theta) - 2 * k)) / (1 + o["blend"])
    return cross_entropy(o, lowered, label)


@loss(as_it_is)
def bias_balanced(o, batch):
    y, b, losses = batch["labels"], batch["bias"], []
    for row, label, group in zip(batch["z"], y, b):
        alike = y[(b == group) & (y >= 0)]
        prior = batch["prior"][:, group] if "prior" in batch else np.bincount(alike, minlength=len(row)) / max(len(alike), 1)
        losses.append(cross_entropy(o, row + np.log(prior + 1e-9), label) if label >= 0 and group >= 0 else NAN)
    return over_used(losses)


# What they come to.

def every(**choices):
    return [dict(zip(choices, values)) for values in itertools.product(*choices.values())]


SETTINGS = {
    "infonce": [{}, {"temperature": 0.07}, {"drop_false_negatives": True}, {"base_temperature": 0.07}],
    "unbiased": [{}, {"negatives": "drop"}, {"temperature": 0.1}],
    "debiased_negatives": every(clamp=("floor", "fallback", "positive", "none"), tau_plus=(0.1, 0.4), aggregation=("grouping", "pairs"))
    + every(drop_false_negatives=(True,), clamp=("floor", "none"))
    + [{"tau_plus": 0}, {"base_temperature": 0.2}, {"tau_plus": 0.9}, {"temperature": 0.07}, {"temperature": 0.07, "clamp": "fallback"},
       {"temperature": 2, "tau_plus": 0.02}],
    "debiased_positives": every(form=("eq12", "sum", "final"), guard=("floor", "fallback", "none"), drop_false_negatives=(False, True),
                                tau_plus=(0.1, 0.6)) + [{"aggregation": "pairs"}, {"temperature": 0.1}, {"tau_plus": 0.9}, {"variant": "authors"}],
    "combined_debiased": every(mix=(0, 0.3, 1), guard=("floor", "none")) + [{}, {"drop_false_negatives": True}, {"aggregation": "pairs"}],
    "hard_negatives": every(clamp=("floor", "none"), beta=(0, 0.7), detach_weights=(False, True)) + [{}, {"tau_plus": 0.5}, {"clamp": "fallback"}]
    + every(clamp=("positive", "fallback"), tau_plus=(0.6,)) + [{"temperature": 2}, {"temperature": 0.1, "beta": 4, "tau_plus": 0}],
    "bayesian": every(form=("corrected", "paper"), alpha=(0.5, 0.9), beta=(0, 1))
    + every(form=("authors",), alpha=(0.5, 0.9), beta=(0.5, 0.9), stabilize=(True, False))
    + [{}, {"detach_weights": False}, {"alpha": 1}, {"tau_plus": 0}, {"variant": "authors"}, {"form": "paper", "detach_weights": False},
       {"form": "paper", "tau_plus": 0.5}, {"tau_plus": 0.8, "temperature": 0.2}, {"form": "authors", "tau_plus": 0.8, "alpha": 0.95, "beta": 1}],
    "supcon": every(form=("out", "in"), temperature=(0.1, 0.5)) + [{"variant": "authors"}],
    "eps_infonce": [{}, {"epsilon": 0}, {"epsilon": INF}, {"variant": "authors"}],
    "eps_supinfonce": every(form="abcd", epsilon=(0, 0.25, INF), over_positives=("mean", "sum"))
    + [{}, {"form": "in"}, {"form": "in", "epsilon": INF}, {"temperature": 0.5}, {"log_eps": 1e-3}, {"variant": "authors"}, {"variant": "paper"}],
    "eps_supcon": [{}, {"add_epsilon": False, "over_positives": "sum"}, {"epsilon": INF, "add_epsilon": False}, {"variant": "authors"}],
    "biascon": [{}, {"temperature": 0.5}, {"base_temperature": 0.2}],
    "softcon": [{}, {"temperature": 0.5}, {"base_temperature": 0.2}],
    "fairkl": every(mode=("authors", "mean", "stats", "kl", "jeffreys", "lognormal"), empty=("auto", "skip", "zero"))
    + every(mode=("mean", "stats", "kl", "jeffreys", "lognormal"), pooling=("anchor",), empty=("skip", "zero"))
    + [{}, {"pooling": "anchor"}, {"mode": "stats", "kld": 0.3}, {"kld": 0}, {"mode": "kl", "variance_floor": 0.3}, {"variant": "paper"}],
    "end": [{}, {"full_pairs": True}, {"alpha": 2, "beta": 0.5}, {"variant": "paper"}],
    "cross_entropy": [{}],
    "bias_balanced": [{}],
    "generalized_cross_entropy": [{}, {"form": "lff"}, {"q": 1}],
    "large_margin_softmax": [{}, {"margin": 1}, {"margin": 4, "scale": 6}, {"margin": 3, "blend": 0.5}, {"variant": "paper"}],
}
WEIGHTED = every(mode=("authors", "mean", "stats", "kl", "jeffreys", "lognormal"), normaliser=("weights", "batch")) + [{"variant": "paper"}]
LABEL_FREE = ("infonce", "unbiased", "debiased_negatives", "debiased_positives", "combined_debiased", "hard_negatives", "bayesian", "eps_infonce")
SEVERAL_POSITIVES = ("debiased_negatives", "debiased_positives", "combined_debiased", "hard_negatives", "supcon", "eps_supinfonce", "eps_supcon")
ON_LOGITS = ("cross_entropy", "bias_balanced", "generalized_cross_entropy", "large_margin_softmax")


def batches():
    """By name: known angles, sizes and views with unknown labels, and keys with and without positives."""
    random = np.random.default_rng(20260728)
    labels = np.array([0, 1, -1, 0, 1, 2, 0, 2, -1, 1, 0, 9000000000, 9000000000])
    bias = np.array([0, 0, 1, 1, -1, 0, 0, 1, 0, 1, 5000000000, 0, 1])
    rows = lambda *shape: (lambda z: z / np.linalg.norm(z, axis=-1, keepdims=True))(random.standard_normal(shape))
    angles = np.radians([[0, 12], [41, 66], [133, 118], [205, 240]])
    made = {"angles": {"z": np.stack([np.cos(angles), np.sin(angles)], -1), "labels": np.array([0, 0, 1, 1]), "bias": np.array([0, 1, 0, 1])}}
    for name, samples, views, dimensions in (("one", 1, 2, 2), ("two", 2, 2, 2), ("one view", 5, 1, 3), ("two views", 5, 2, 2),
                                             ("three views", 4, 3, 2), ("many", 13, 2, 4)):
        made[name] = {"z": rows(samples, views, dimensions), "labels": labels[:samples], "bias": bias[:samples]}
    axes = np.concatenate([np.eye(3), -np.eye(3)])  # cosines are 0, 1 and -1, most of them tied
    made["ties"] = {"z": axes[[0, 1, 1, 3, 2, 0, 4, 4, 1, 0]].reshape(5, 2, 3), "labels": labels[:5], "bias": bias[:5]}
    made["features"] = made["two views"] | {"weights": np.round(random.uniform(0.05, 1, (5, 3)), 3)}
    made["features of one view"] = made["one view"] | {"weights": made["features"]["weights"]}
    ids = np.arange(4) + 20
    keys = {"z": rows(4, 2, 2), "labels": labels[:4], "bias": bias[:4], "keys": rows(7, 2), "ids": ids,
            "key_ids": np.array([*ids, 20, -1, -1]), "key_labels": np.array([*labels[:4], 0, -1, 1])}
    made["keys"] = keys
    made["keys without labels"] = {what: of for what, of in keys.items() if "label" not in what}
    made["positives"] = keys | {"positives": rows(4, 1, 2)}
    made["two positives"] = keys | {"positives": rows(4, 2, 2)}
    made["logits"] = {"z": np.round(2 * random.standard_normal((5, 4)), 3), "labels": labels[:5], "bias": bias[:5]}
    made["prior"] = made["logits"] | {"prior": np.array([[0.7, 0.1], [0.2, 0.3], [0.1, 0.35], [0, 0.25]])}
    return made


def batches_of(name, place, options):
    """The batches that a setting is tried on; each label-free one on a single sample, and the first of each loss on other sizes as well."""
    if name in ON_LOGITS:
        return ["logits"] + (["prior"] if name == "bias_balanced" else [])
    if name == "softcon":
        return ["features", "features of one view"]
    if name in ("biascon", "fairkl", "end"):
        return [("angles", "one view")[place % 2], "two views"] + (["one view", "many", "two", "three views"] if place == 0 else [])
    chosen = [("angles", "three views" if name in LABEL_FREE else "one view")[place % 2], "two views"]
    chosen += ["one"] if name in LABEL_FREE or place == 0 else []
    chosen += ["two", "three views", "many"] if place == 0 else []
    if name == "bayesian" and options.get("alpha") == 0.9 and options.get("beta") in (0.9, 1):
        chosen.append("ties")
    if options.get("form") != "d" and place % 2 == 0:
        chosen.append(("keys", "positives")[place // 2 % 2])
    if place == 0 and name in SEVERAL_POSITIVES:
        chosen.append("two positives")
    if place == 0 and name not in ("unbiased", "eps_supcon", "eps_supinfonce"):
        chosen.append("keys without labels")
    return chosen


def resolved(name, options):
    variant = VARIANTS[name].get(options.get("variant"), {})
    return DEFAULTS[name] | variant | {what: value for what, value in options.items() if what != "variant"}


def value_of(name, o, batch, z):
    return LOSSES[name](o, batch | {"z": z})


def gradient_of(name, o, batch):
    """By complex steps, each confirmed by a central difference; zero where the value does not depend on z."""
    z, gradient, step, width = batch["z"], np.zeros(batch["z"].shape), 1e-40, 1e-6
    Constants.kept = []
    value_of(name, o, batch, z)
    kept, Constants.kept = Constants.kept, None

    def moved(place, by):
        other = z.copy()
        other[place] += by
        Constants.replayed = iter(kept)
        value = value_of(name, o, batch, other)[0]
        Constants.replayed = None
        return value

    for place in np.ndindex(*z.shape):
        turned = z.astype(complex)
        turned[place] += 1j * step
        gradient[place] = np.imag(value_of(name, o, batch, turned)[0]) / step
        difference = (moved(place, width) - moved(place, -width)) / (2 * width)
        assert abs(difference - gradient[place]) <= 1e-6 * max(1, abs(gradient[place])), (name, o, place, difference, gradient[place])
    return gradient


def number(x, digits):
    x = float(np.real(x))
    return None if math.isnan(x) else float(f"{x:.{digits}g}")


def case(name, options, key, batch):
    o, own = resolved(name, options), dict(batch)
    value, losses = LOSSES[name](o, own)
    gradient = gradient_of(name, o, batch)
    written = {what: "inf" if value == INF else value for what, value in options.items()}
    found = {"objective": name, "batch": key, "settings": written, "value": number(value, 16)}
    found |= {what: number(x, 16) for what, x in own.get("diagnostics", {}).items()}
    return found | {"per_anchor": [number(x, 12) for x in losses], "gradient": [number(x, 12) for x in gradient.flatten()]}


def main():
    made = batches()
    cases = []
    for name, settings in SETTINGS.items():
        cases += [case(name, options, key, made[key]) for place, options in enumerate(settings) for key in batches_of(name, place, options)]
    for options in WEIGHTED:
        cases += [case("fairkl", options, key, made[key]) for key in ("features", "features of one view")]
    lines = ",\n".join(json.dumps(one, separators=(",", ":")) for one in cases)
    of_batches = ",\n".join(f"{json.dumps(key)}:{json.dumps({what: of.tolist() for what, of in batch.items()}, separators=(',', ':'))}"
                            for key, batch in made.items())
    out = pathlib.Path(__file__).parent / "objectives.json"
    out.write_text(f'{{"batches":{{\n{of_batches}}},\n"cases":[\n{lines}]}}\n')
    print(f"{len(cases)} cases, {out.stat().st_size} bytes")


if __name__ == "__main__":
    main()
