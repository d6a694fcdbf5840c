"""The objectives as loops over pairs of rows in Python's floats, written from the papers' formulas alone: what both halves are tested against.

The function of an objective has its name, and below `@objective` the way in which a batch is evaluated by it: over anchors, over classes,
over rows of logits, or as the function itself does. Each way gives (value, losses of the anchors, NaN for one that leaves the mean).
"""

import functools
import math
from typing import NamedTuple

NAN = math.nan
OBJECTIVES = {}


class Call(NamedTuple):
    """z: [B][V] rows of unit norm, or [B] rows of logits. keyed: keys, ids, key_ids, key_labels, positives."""

    z: list
    labels: list = None
    bias: list = None
    weights: list = None
    keyed: tuple = None


def objective(evaluate):
    """Registers a function by its name; evaluate(function, o, call) evaluates a batch by it, where o are the resolved options."""
    def register(function):
        OBJECTIVES[function.__name__] = functools.partial(evaluate, function)
        return function
    return register


def as_it_is(function, o, call):
    return function(o, call)


def dot(a, b):
    return math.fsum(x * y for x, y in zip(a, b))


def mean(values):
    values = list(values)
    return math.fsum(values) / len(values) if values else 0.0


def log_sum(values):
    values = list(values)
    if not values:
        return -math.inf
    top = max(values)
    return top + math.log(math.fsum(math.exp(value - top) for value in values))


def softplus(x):
    return max(x, 0) + math.log1p(math.exp(-abs(x))) if x > -math.inf else 0.0


def log_add(x, epsilon):
    return x if math.isinf(epsilon) else log_sum([x, -epsilon])


def over_used(losses):
    return mean(loss for loss in losses if not math.isnan(loss)), losses


class Anchor:
    """s of one anchor with its positives, its negatives and itself; labels of the negatives (None: unknown)."""

    def __init__(self, t, positives, negatives, itself, label, labels):
        self.t, self.positives, self.negatives, self.itself = t, positives, negatives, itself
        self.n = len(negatives)
        self.labelled = label is not None and label >= 0
        false = [self.labelled and other == label for other in labels]
        self.true = [s for s, is_false in zip(negatives, false) if not is_false]


def anchors_of_views(z, t, labels, first, second, further=()):
    out = []
    for own, other in ((first, second), (second, first)):
        for i, sample in enumerate(z):
            a = sample[own]
            negatives = [(dot(a, z[j][v]) / t, labels[j] if labels else None) for v in (first, second) for j in range(len(z)) if j != i]
            positives = [dot(a, sample[v]) / t for v in (other, *further)]
            out.append(Anchor(t, positives, [s for s, _ in negatives], dot(a, a) / t, labels[i] if labels else None, [y for _, y in negatives]))
    return out


def anchors_of_keys(z, t, labels, keys, ids, key_ids, key_labels, positives):
    out = []
    for v in range(len(z[0])):
        for i, sample in enumerate(z):
            a = sample[v]
            own = [key_ids is not None and key_ids[j] >= 0 and key_ids[j] == ids[i] for j in range(len(keys))]
            negatives = [(dot(a, key) / t, key_labels[j] if key_labels else None) for j, key in enumerate(keys) if not own[j]]
            found = [dot(a, row) / t for row in positives[i]] if positives else [dot(a, key) / t for j, key in enumerate(keys) if own[j]]
            if not positives:
                found = [log_sum(found) - math.log(len(found))]
            out.append(Anchor(t, found, [s for s, _ in negatives], dot(a, a) / t, labels[i] if labels else None, [y for _, y in negatives]))
    return out


def scale_of(o):
    return 1 if o.get("base_temperature", "none") == "none" else o["temperature"] / o["base_temperature"]


def over_anchors(loss, o, call):
    """loss(a, o): of an Anchor."""
    z, labels, t, views, scale = call.z, call.labels, o.get("temperature", 1), len(call.z[0]), scale_of(o)
    if call.keyed:
        return over_used([scale * loss(a, o) for a in anchors_of_keys(z, t, labels, *call.keyed)])
    if o.get("aggregation") == "grouping" or views == 2:
        return over_used([scale * loss(a, o) for a in anchors_of_views(z, t, labels, 0, 1, range(2, views))])
    values, own = [], {}
    for first in range(views):
        for second in range(first + 1, views):
            losses = [scale * loss(a, o) for a in anchors_of_views(z, t, labels, first, second)]
            if not all(map(math.isnan, losses)):
                values.append(over_used(losses)[0])
            for place, one in enumerate(losses):
                own.setdefault(((first, second)[place // len(z)], place % len(z)), []).append(one)
    per_anchor = []
    for v in range(views):
        for i in range(len(z)):
            there = [one for one in own[v, i] if not math.isnan(one)]
            per_anchor.append(mean(there) if there else NAN)
    return mean(values), per_anchor


@objective(over_anchors)
def infonce(a, o):
    return softplus(log_sum(a.true if o["drop_false_negatives"] else a.negatives) - a.positives[0])


@objective(over_anchors)
def unbiased(a, o):
    if not a.true:
        return NAN
    factor = a.n / len(a.true) if o["negatives"] == "rescale" else 1
    return softplus(log_sum(a.true) + math.log(factor) - a.positives[0])


@objective(over_anchors)
def eps_infonce(a, o):
    if math.isinf(o["epsilon"]) and not a.n:
        return 0.0
    return log_add(log_sum(a.negatives) - a.positives[0], o["epsilon"])


def estimated(a, s_sum, o):
    """s_sum: Σ over negatives of e^s, or what stands for it."""
    if not a.n:
        return 0.0
    p, mean_p = math.exp(a.positives[0]), mean(map(math.exp, a.positives))
    g = (s_sum / a.n - o["tau_plus"] * mean_p) / (1 - o["tau_plus"])
    floor = math.exp(-1 / a.t)
    if o["clamp"] == "floor":
        g = max(g, floor)
    elif o["clamp"] == "fallback":
        g = s_sum / a.n if g < floor else g
    elif o["clamp"] == "positive":
        g = max(g, 1e-30 * max(s_sum, mean_p))
    elif p + a.n * g <= 0:
        return NAN
    return math.log((p + a.n * g) / p)


@objective(over_anchors)
def debiased_negatives(a, o):
    return estimated(a, sum(map(math.exp, a.true if o["drop_false_negatives"] else a.negatives)), o)


@objective(over_anchors)
def debiased_positives(a, o):
    if not a.n:
        return 0.0
    n, tau_plus, tau_minus = a.n, o["tau_plus"], 1 - o["tau_plus"]
    p, itself, everything, true = mean(map(math.exp, a.positives)), math.exp(a.itself), sum(map(math.exp, a.negatives)), sum(map(math.exp, a.true))
    drop, form = o["drop_false_negatives"], o["form"]
    if form == "sum":
        of_all, of_negatives = everything + p + itself, true if drop else everything
    elif form == "final" and drop:
        of_all, of_negatives = (true + p + (0 if a.labelled else itself)) / (n + 2), true / n
    else:
        of_all = (everything + p + itself) / (n + 2)
        of_negatives = (true / max(len(a.true), 1)) if drop else everything / n
    num, floor = of_all - tau_minus * of_negatives, tau_plus * math.exp(-1 / a.t)
    if o["guard"] == "none" and num <= 0:
        return NAN
    if o["guard"] == "fallback" and num < floor:
        return softplus(log_sum(a.true if drop else a.negatives) - a.positives[0])
    num = max(num, floor) if o["guard"] == "floor" else num
    return math.log((num + n * tau_plus * of_negatives) / num)


@objective(over_anchors)
def hard_negatives(a, o):
    if not a.n:
        return 0.0
    weights = [math.exp(o["beta"] * s) for s in a.negatives]
    return estimated(a, a.n * sum(w * math.exp(s) for w, s in zip(weights, a.negatives)) / sum(weights), o)


@objective(over_anchors)
def bayesian(a, o):
    if not a.n:
        return 0.0
    alpha, tau_plus, beta, n = o["alpha"], o["tau_plus"], o["beta"], a.n
    tau_minus = 1 - tau_plus
    weights = []
    for s in a.negatives:
        phi = sum(other <= s for other in a.negatives) / n
        if o["form"] != "paper":
            A, b = (1 - 2 * alpha) * (tau_minus - tau_plus), 2 * (alpha * tau_minus + (1 - alpha) * tau_plus)
            A += 0 if o["form"] == "corrected" or o["stabilize"] else 1e-3
            phi = 2 * phi / (b + math.sqrt(max(0, b * b + 4 * A * phi)))
        true, false = alpha * (1 - phi) + (1 - alpha) * phi, (1 - alpha) * (1 - phi) + alpha * phi
        mixture = tau_minus * true + tau_plus * false
        if o["form"] == "authors":
            nearer, farther = alpha * (1 - beta), (1 - alpha) * beta
            hard = (nearer * (1 - phi) + farther * phi) / (nearer + farther + (0 if o["stabilize"] else 1e-3))
            weights.append(hard / mixture)
        else:
            weights.append(tau_minus * true / mixture * math.exp(beta * s))
    if o["form"] != "authors":
        weights = [w * n / sum(weights) for w in weights]
    return softplus(log_sum(s + math.log(w) for s, w in zip(a.negatives, weights) if w > 0) - a.positives[0])


@objective(as_it_is)
def combined_debiased(o, call):
    mix = o["mix"]
    if mix in (0, 1):
        return over_anchors(debiased_negatives if mix == 1 else debiased_positives, o, call)
    (a, of_a), (b, of_b) = (over_anchors(part, o, call) for part in (debiased_negatives, debiased_positives))
    return mix * a + (1 - mix) * b, [mix * x + (1 - mix) * y for x, y in zip(of_a, of_b)]


def rows_of(z):
    return [(i, sample[v]) for v in range(len(z[0])) for i, sample in enumerate(z)]


def same(values, i, j):
    return values is not None and values[i] >= 0 and values[i] == values[j]


def over_classes(loss, o, call):
    """loss(o, positives, negatives, itself): of an anchor's s with its positives, its negatives and itself."""
    z, labels, t, scale, out = call.z, call.labels, o.get("temperature", 1), scale_of(o), []
    rows = rows_of(z)
    for a, (i, own) in enumerate(rows):
        known = labels is not None and labels[i] >= 0
        positives, negatives = [], []
        if call.keyed:
            keys, ids, key_ids, key_labels, _ = call.keyed
            for j, key in enumerate(keys):
                of_sample = key_ids is not None and key_ids[j] >= 0 and key_ids[j] == ids[i]
                key_known = labels is not None and key_labels[j] >= 0
                alike = key_labels[j] == labels[i] if known and key_known else of_sample and not known and not key_known
                (positives if alike else negatives).append(dot(own, key) / t)
        else:
            for b, (j, other) in enumerate(rows):
                if b != a:
                    (positives if i == j or same(labels, i, j) else negatives).append(dot(own, other) / t)
        out.append(scale * loss(o, positives, negatives, dot(own, own) / t))
    return over_used(out)


@objective(over_classes)
def supcon(o, positives, negatives, itself):
    if not positives:
        return 0.0
    of_positives = log_sum(positives) - math.log(len(positives)) if o["form"] == "in" else mean(positives)
    return log_sum(positives + negatives) - of_positives


@objective(over_classes)
def eps_supcon(o, positives, negatives, itself):
    epsilon = o["epsilon"]
    if not positives or (math.isinf(epsilon) and not negatives):
        return 0.0
    all_of_them = negatives if math.isinf(epsilon) else negatives + [s - epsilon for s in positives]
    total = math.fsum(log_sum(all_of_them) - s + (epsilon if o["add_epsilon"] else 0) for s in positives)
    return total / len(positives) if o["over_positives"] == "mean" else total


@objective(over_classes)
def eps_supinfonce(o, positives, negatives, itself):
    epsilon, form = o["epsilon"], o["form"]
    if not positives or (math.isinf(epsilon) and not negatives and not (form == "c" and o["log_eps"] > 0)):
        return 0.0
    constant = log_sum(negatives + ([itself + math.log(o["log_eps"])] if o["log_eps"] else []))
    if form == "in":
        return log_sum([-math.log(len(positives)) - epsilon, log_sum(negatives) - log_sum(positives)])
    terms = {"a": lambda: [log_add(log_sum(negatives) + log_sum(-s for s in positives), epsilon)],
             "b": lambda: [log_add(s + log_sum(-p for p in positives), epsilon) for s in negatives],
             "c": lambda: [log_add(constant - s, epsilon) for s in positives],
             "d": lambda: [log_add(s - p, epsilon) for p in positives for s in negatives]}[form]()
    return mean(terms) if o["over_positives"] == "mean" else math.fsum(terms)


@objective(as_it_is)
def biascon(o, call):
    t, labels, bias, rows, out = o["temperature"], call.labels, call.bias, rows_of(call.z), []
    for a, (i, own) in enumerate(rows):
        others = [dot(own, other) / t for b, (_, other) in enumerate(rows) if b != a]
        positives = [dot(own, other) / t for j, other in rows if i != j and same(labels, i, j) and not same(bias, i, j)]
        out.append(log_sum(others) - mean(positives) if positives else 0.0)
    return over_used(out)


@objective(as_it_is)
def softcon(o, call):
    unit = [[x / math.sqrt(dot(g, g)) for x in g] for g in call.weights]
    t, labels, rows, out = o["temperature"], call.labels, rows_of(call.z), []
    for a, (i, own) in enumerate(rows):
        others = [dot(own, other) / t for b, (_, other) in enumerate(rows) if b != a]
        weighted = [(1 - dot(unit[i], unit[j]), dot(own, other) / t) for j, other in rows if i != j and same(labels, i, j)]
        total = math.fsum(w for w, _ in weighted)
        out.append(log_sum(others) - math.fsum(w * s for w, s in weighted) / total if total > 1e-9 else 0.0)
    return over_used(out)


@objective(as_it_is)
def fairkl(o, call):
    labels, bias, features = call.labels, call.bias, call.weights
    rows = [(i, row) for i, row in rows_of(call.z) if labels[i] >= 0 and (features is not None or bias[i] >= 0)]
    unit = features and [[x / math.sqrt(dot(g, g)) for x in g] for g in features]
    n, mode, by_anchor = len(rows), o["mode"], o["pooling"] == "anchor"
    zero = o["empty"] == "zero" or (o["empty"] == "auto" and mode == "authors")

    def pairs(anchors, positive, aligned):
        for a in anchors:
            for b in range(n):
                (i, first), (j, second) = rows[a], rows[b]
                if (a == b and mode != "authors") or (labels[i] == labels[j]) != positive:
                    continue
                w = min(max(dot(unit[i], unit[j]), 0), 1) if features else float(bias[i] == bias[j])
                yield (w if aligned else 1 - w), dot(first, second)

    def moments(anchors, positive, aligned):
        found = list(pairs(anchors, positive, aligned))
        distance = lambda c: 2 - 2 * c
        if features and o["normaliser"] == "batch":  # moments that are not means depend on the origin: that of cosines
            distance = lambda c: -2 * c
        x = {"lognormal": lambda c: math.log(max(2 - 2 * c, 0) + 1e-6), "authors": lambda c: c}.get(mode, distance)
        weight = math.fsum(w for w, _ in found)
        least = 1e-6 if features else 2 if by_anchor and mode != "mean" and not zero else 1
        if weight < least:
            return None, {"lognormal": math.log(2 + 1e-6), "authors": 0.0}.get(mode, 2.0), 0.0
        divisor = (n if by_anchor else n * n) if features and o["normaliser"] == "batch" else weight
        centre = math.fsum(w * x(c) for w, c in found) / divisor
        if mode != "authors":
            return weight, centre, math.fsum(w * (x(c) - centre) ** 2 for w, c in found) / divisor
        entries = [w * c for w, c in found] + [0.0] * (n * n - len(found))
        return weight, centre, math.fsum((e - mean(entries)) ** 2 for e in entries) / max(n * n - 1, 1)

    def compared(anchors, positive):
        (wa, ma, va), (wc, mc, vc) = (moments(anchors, positive, aligned) for aligned in (True, False))
        if not zero and (wa is None or wc is None):
            return NAN
        means = (ma - mc) ** 2
        if mode in ("kl", "jeffreys", "lognormal"):
            va, vc = max(va, o["variance_floor"], 1e-12), max(vc, o["variance_floor"], 1e-12)
            kl = lambda p, q: ((p + means) / q - math.log(p / q) - 1) / 2
            return kl(va, vc) + (kl(vc, va) if mode == "jeffreys" else 0)
        if mode == "mean":
            return means
        spread = means + o["kld"] * (math.sqrt(va) - math.sqrt(vc)) ** 2
        return spread + ((-mc if positive else ma) if mode == "authors" else 0)

    total = 0.0
    for positive in (True, False):
        found = [compared([a], positive) for a in range(n)] if by_anchor else [compared(range(n), positive)] if n else []
        total += over_used(found)[0]
    return total, None


@objective(as_it_is)
def end(o, call):
    labels, bias, rows = call.labels, call.bias, rows_of(call.z)
    of_bias, across = {}, []
    count = 0
    for b, (j, later) in enumerate(rows):
        for i, earlier in rows[:b]:
            if bias[i] < 0 or bias[j] < 0:
                continue
            if bias[i] == bias[j]:
                of_bias[bias[i]] = of_bias.get(bias[i], 0.0) + dot(earlier, later)
                count += 1
            elif same(labels, i, j) and (o["full_pairs"] or bias[j] < bias[i]):
                across.append(dot(earlier, later))
    perpendicular = math.fsum(map(abs, of_bias.values())) / count if count else 0.0
    parallel = 1 - mean((1 + c) / 2 for c in across) if across else 0.0
    return o["alpha"] * perpendicular + o["beta"] * parallel, None


def over_logits(loss, o, call):
    """loss(o, row, label): of a sample's logits."""
    return over_used([loss(o, row, label) if label >= 0 else NAN for row, label in zip(call.z, call.labels)])


@objective(over_logits)
def cross_entropy(o, row, label):
    return log_sum(row) - row[label]


@objective(over_logits)
def generalized_cross_entropy(o, row, label):
    log_p, q = row[label] - log_sum(row), o["q"]
    p = math.exp(log_p)
    return (1 - p**q) / q if o["form"] == "standard" else -q * p**q * log_p


@objective(over_logits)
def large_margin_softmax(o, row, label):
    plain, m = row[label], o["margin"]
    theta = math.acos(plain / o["scale"])
    k = math.floor(theta * m / math.pi)
    lowered = (o["blend"] * plain + o["scale"] * ((-1)**k * math.cos(m * theta) - 2 * k)) / (1 + o["blend"])
    return cross_entropy(o, [lowered if c == label else x for c, x in enumerate(row)], label)


@objective(as_it_is)
def bias_balanced(o, call):
    out = []
    for row, label, bias in zip(call.z, call.labels, call.bias):
        alike = [y for y, b in zip(call.labels, call.bias) if b == bias and y >= 0]
        known = label >= 0 and bias >= 0
        out.append(cross_entropy(o, [x + math.log(alike.count(c) / len(alike) + 1e-9) for c, x in enumerate(row)], label) if known else NAN)
    return over_used(out)


def evaluated(entry, o, z, labels=None, bias=None, weights=None, keyed=None):
    """Of lists. The entry is the objective's of the table, o its resolved options."""
    return OBJECTIVES[entry["name"]](o, Call(z, labels, bias, weights, keyed))
