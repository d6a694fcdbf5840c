"""The class prior τ⁺: the chance that two images drawn at random share a class (debias/evaluate/class_prior.h has the derivations)."""

import math

import torch

_MISS = 0.05  # chance that an interval does not hold
_TWO_SIDED = 1.960  # standard deviations of that chance
_PSEUDO_LABELS = 2
_PILOT, _THRESHOLDS = 5, 9  # every fifth image chooses thresholds, the deciles of its views' cosines
_BLOCK = 256  # rows whose cosines are held together
_SAME = 1 - 1e-6  # cosine of two views without randomness
_LEAST_IMAGES = 50

_OF_LABELS = ("the labelled images are a random sample of the images that negatives are drawn from",)
_OF_VIEWS = ("the images are a random sample of the images that negatives are drawn from",
             "two views of an image are as similar as two images of its class, as the debiased objectives assume too. Usually views are more "
             "similar, and the bound is then too low: the true prior may lie above `high`",
             "there is no lower bound: `low` is 0")


def of_labels(labels):
    known = labels[labels >= 0].cpu()
    n = len(known)
    if n < 2:
        raise ValueError(f"prior: {n} of {len(labels)} labels are known; it needs at least two")
    counts = torch.unique(known, return_counts=True)[1].tolist()
    every = n + _PSEUDO_LABELS
    squares = (sum(count**2 for count in counts) + _PSEUDO_LABELS) / every**2
    cubes = (sum(count**3 for count in counts) + _PSEUDO_LABELS) / every**3
    variance = (4 * (n - 2) * max(0.0, cubes - squares**2) + 2 * (squares - squares**2)) / (n * (n - 1))
    tau_plus, half_width = sum(count * (count - 1) for count in counts) / (n * (n - 1)), _TWO_SIDED * math.sqrt(variance)
    return {"tau_plus": tau_plus, "low": max(0.0, tau_plus - half_width), "high": min(1.0, tau_plus + half_width), "method": "labels",
            "assumptions": _OF_LABELS, "images": n, "classes": len(counts)}


def _divergence(a, b):
    """Kullback-Leibler divergence of Bernoulli(a) from Bernoulli(b)."""
    part = lambda p, q: 0.0 if p == 0 else math.inf if q <= 0 else p * math.log(p / q)
    return part(a, b) + part(1 - a, 1 - b)


def _chernoff_bound(share, trials, budget, end):
    """The chance p furthest from `share` towards `end` with trials · KL(share, p) <= budget."""
    inside, outside = share, end
    for _ in range(60):
        middle = (inside + outside) / 2
        if trials * _divergence(share, middle) <= budget:
            inside = middle
        else:
            outside = middle
    return outside


def _shares_above(thresholds, first):
    """The share of cosines of different rows above each threshold."""
    n, above = len(first), torch.zeros(len(thresholds), dtype=torch.int64, device="cpu")
    for begin in range(0, n, _BLOCK):
        cosines = first[begin:begin + _BLOCK] @ first.T
        cosines.diagonal(begin).fill_(-2)
        above += torch.stack([(cosines > threshold).sum() for threshold in thresholds])
    return [int(count) / (n * (n - 1)) for count in above]


def _unit_views(rows):
    if rows.dim() != 3 or rows.shape[1] < 2:
        raise ValueError(f"prior: {rows.shape[1] if rows.dim() == 3 else 1} view of each image; without labels it needs at least two")
    if len(rows) < _LEAST_IMAGES:
        raise ValueError(f"prior: views of {len(rows)} images; without labels it needs at least {_LEAST_IMAGES}")
    pairs = rows.detach()[:, :2].cpu().float()
    norms = torch.linalg.vector_norm(pairs, dim=2, keepdim=True)
    if not bool(norms.isfinite().all()):
        raise ValueError("prior: a row is not finite; check the encoder's weights")
    return pairs / norms.clamp_min(1e-12)


def of_views(rows):
    unit = _unit_views(rows)
    pilot = torch.arange(len(unit), device="cpu") % _PILOT == 0
    of_pilot, kept = (unit[pilot, 0] * unit[pilot, 1]).sum(1), unit[~pilot]
    if float(of_pilot.median()) > _SAME:
        raise ValueError("prior: the two views of an image have the same features; without labels it needs random views and an encoder that "
                         "has not collapsed")
    ordered = of_pilot.sort().values
    thresholds = [ordered[k * len(ordered) // (_THRESHOLDS + 1)] for k in range(1, _THRESHOLDS + 1)]
    of_views_, n = (kept[:, 0] * kept[:, 1]).sum(1), len(kept)
    budget = math.log(2 * _THRESHOLDS / _MISS)
    found = {"tau_plus": 1.0, "low": 0.0, "high": 1.0, "method": "views", "assumptions": _OF_VIEWS, "images": len(rows),
             "threshold": float(thresholds[0])}
    for threshold, random in zip(thresholds, _shares_above(thresholds, kept[:, 0].contiguous())):
        views = float((of_views_ > threshold).double().mean())
        most, least = _chernoff_bound(random, n / 2, budget, 1.0), _chernoff_bound(views, n, budget, 0.0)
        if most < found["high"] * least:
            found.update(high=most / least, tau_plus=min(1.0, random / views), threshold=float(threshold))
    return found
