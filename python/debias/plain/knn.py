"""Weighted k-nearest-neighbour classification (Wu et al. 2018, section 3.4)."""

import torch

_BLOCK = 1024  # queries whose cosines are held together
_VOTES = 1 << 22  # votes of queries, or their sums by class, that are held together


def _rows(rows, what):
    if rows.dim() != 2:
        raise ValueError(f"knn: {what}: expected floating-point rows [N, D], found shape {list(rows.shape)}")
    rows = rows.detach().float()
    if not bool(_norms(rows).isfinite().all()):
        raise ValueError(f"knn: a row of the {what} is not finite; check the encoder's weights")
    return rows


def _norms(rows):
    return torch.linalg.vector_norm(rows, dim=1, keepdim=True)


def _unit(rows):
    return rows / _norms(rows).clamp_min(1e-12)


def nearest(gallery, queries, k):
    """As nearest() of _engine/neighbours.py."""
    rows = _unit(gallery)
    cosines, places = [], []
    for block in _unit(queries).split(_BLOCK):
        found = torch.sort(block @ rows.T, dim=1, descending=True, stable=True)
        cosines.append(found.values[:, :k].clone())  # a view would hold all cosines of the block
        places.append(found.indices[:, :k].clone())
    return torch.cat(cosines), torch.cat(places)


def predicted(gallery, labels, queries, k, temperature, search=nearest):
    """int64 [Q]: the class of the largest Σ over the k nearest labelled rows of exp(cos / t); of equal cosines the first row is nearer.

    Of equal sums the lowest class wins. search(gallery, queries, k) finds the nearest rows.
    """
    if not temperature > 0:
        raise ValueError(f"knn: temperature: expected a number above 0, found {temperature}")
    voters, rows = _rows(gallery, "gallery"), _rows(queries, "queries")
    if len(labels) != len(voters):
        raise ValueError(f"knn: {len(voters)} rows and {len(labels)} labels of the gallery; give one label per row")
    if voters.shape[1] != rows.shape[1]:
        raise ValueError(f"knn: queries of width {rows.shape[1]} and a gallery of width {voters.shape[1]}; use one encoder for both")
    known = labels >= 0
    if not bool(known.all()):
        voters, labels = voters[known], labels[known]
    if not 1 <= k <= len(voters):
        raise ValueError(f"knn: k is {k}, the gallery has {len(voters)} labelled rows; give a k of 1 to that")
    classes, own = torch.unique(labels, return_inverse=True)
    at_once = max(1, _VOTES // max(k, len(classes)))
    cosines, places = search(voters, rows, k)
    return torch.cat([classes[_votes(*block, own, len(classes), temperature).argmax(1)]
                      for block in zip(cosines.split(at_once), places.split(at_once))])


def _votes(cosines, places, own, classes, temperature):
    cosines = cosines.double()
    weights = ((cosines - cosines[:, :1]) / temperature).exp()
    return torch.zeros(len(cosines), classes, dtype=torch.float64, device=cosines.device).scatter_add_(1, own[places], weights)
