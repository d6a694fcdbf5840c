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


def _variance(counts, n):
    """Of the share of agreeing pairs of n independent labels, of which these are of each class."""
    every = n + _PSEUDO_LABELS
    squares = (sum(count**2 for count in counts) + _PSEUDO_LABELS) / every**2
    cubes = (sum(count**3 for count in counts) + _PSEUDO_LABELS) / every**3
    return (4 * (n - 2) * max(0.0, cubes - squares**2) + 2 * (squares - squares**2)) / (n * (n - 1))


def _numbered(groups, rows):
    """int64 [rows]: the groups, where rows of none (negative) have a number of their own."""
    own = torch.arange(rows, device="cpu")
    if groups is None:
        return own
    groups = groups.cpu()
    return torch.where(groups < 0, groups.max().clamp_min(-1) + 1 + own, groups)


def _of_groups(known, groups):
    """The share of agreeing pairs of different groups, its variance by the jackknife over groups, their number, and whether each is of one class."""
    units, of_unit = torch.unique(groups, return_inverse=True)
    classes, of_class = torch.unique(known, return_inverse=True)
    cells, counts = torch.unique(of_unit * len(classes) + of_class, return_counts=True)
    counts, rows = counts.double(), torch.bincount(of_unit).double()
    whole, n = torch.bincount(of_class).double(), float(len(known))
    agreeing, pairs = float(whole.square().sum() - counts.square().sum()), float(n * n - rows.square().sum())
    if len(units) < 2:
        raise ValueError(f"prior: all {len(known)} labelled images are of one group, and pairs of one group do not count; it needs two groups")
    own = torch.zeros(len(units), dtype=torch.float64).index_add_(0, cells // len(classes), counts * (whole[cells % len(classes)] - counts))
    left, pairs_left = agreeing - 2 * own, pairs - 2 * rows * (n - rows)
    ratios = (left / pairs_left)[pairs_left > 0]
    spread = float((ratios - ratios.mean()).square().sum()) * (1 - 1 / len(ratios)) if len(ratios) else 0.0
    return agreeing / pairs, spread, len(units), len(cells) == len(units)


def of_labels(labels, groups=None):
    if groups is not None and len(groups) != len(labels):
        raise ValueError(f"prior: {len(labels)} labels and {len(groups)} groups; give one for each label")
    known = labels[labels >= 0].cpu()
    n = len(known)
    if n < 2:
        raise ValueError(f"prior: {n} of {len(labels)} labels are known; it needs at least two")
    counts = torch.unique(known, return_counts=True)[1].tolist()
    variance, tau_plus, units = _variance(counts, n), sum(count * (count - 1) for count in counts) / (n * (n - 1)), n
    if groups is not None:
        tau_plus, spread, units, pure = _of_groups(known, _numbered(groups, len(labels))[labels.cpu() >= 0])
        if units < n:
            variance = max(variance, spread)
            variance = max(variance, _variance([count * units / n for count in counts], units)) if pure else variance
    half_width = _TWO_SIDED * math.sqrt(variance)
    return {"tau_plus": tau_plus, "low": max(0.0, tau_plus - half_width), "high": min(1.0, tau_plus + half_width), "method": "labels",
            "assumptions": _OF_LABELS, "images": n, "classes": len(counts), "groups": units if units < n else None}


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


def _shares_above(thresholds, first, groups):
    """The share of cosines of rows of different groups above each threshold."""
    n, above, pairs = len(first), torch.zeros(len(thresholds), dtype=torch.int64, device="cpu"), 0
    for begin in range(0, n, _BLOCK):
        cosines = first[begin:begin + _BLOCK] @ first.T
        mates = groups[begin:begin + _BLOCK, None] == groups
        pairs += mates.numel() - int(mates.sum())
        cosines.masked_fill_(mates, -2)
        above += torch.stack([(cosines > threshold).sum() for threshold in thresholds])
    return [int(count) / pairs for count in above]


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


def of_views(rows, groups=None):
    if groups is not None and len(groups) != len(rows):
        raise ValueError(f"prior: views of {len(rows)} images and {len(groups)} groups; give one for each image")
    unit, numbers = _unit_views(rows), _numbered(groups, len(rows))
    pilot = torch.arange(len(unit), device="cpu") % _PILOT == 0
    of_pilot, kept = (unit[pilot, 0] * unit[pilot, 1]).sum(1), unit[~pilot]
    if float(of_pilot.median()) > _SAME:
        raise ValueError("prior: the two views of an image have the same features; without labels it needs random views and an encoder that "
                         "has not collapsed")
    ordered = of_pilot.sort().values
    thresholds = [ordered[k * len(ordered) // (_THRESHOLDS + 1)] for k in range(1, _THRESHOLDS + 1)]
    of_views_, n = (kept[:, 0] * kept[:, 1]).sum(1), len(numbers[~pilot].unique())
    if n < 2:
        raise ValueError("prior: all images are of one group, and pairs of one group do not count; it needs two groups")
    budget = math.log(2 * _THRESHOLDS / _MISS)
    found = {"tau_plus": 1.0, "low": 0.0, "high": 1.0, "method": "views", "assumptions": _OF_VIEWS, "images": len(rows),
             "threshold": float(thresholds[0]), "groups": len(numbers.unique()) if n < len(kept) else None}
    for threshold, random in zip(thresholds, _shares_above(thresholds, kept[:, 0].contiguous(), numbers[~pilot])):
        views = float((of_views_ > threshold).double().mean())
        most, least = _chernoff_bound(random, n / 2, budget, 1.0), _chernoff_bound(views, n, budget, 0.0)
        if most < found["high"] * least:
            found.update(high=most / least, tau_plus=min(1.0, random / views), threshold=float(threshold))
    return found
