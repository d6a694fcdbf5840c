"""Weighted k-nearest-neighbour classification (Wu et al. 2018, section 3.4)."""

import torch

_BLOCK = 1024  # queries whose cosines are held together


def _unit(rows, what):
    if rows.dim() != 2:
        raise ValueError(f"knn: {what}: expected floating-point rows [N, D], found shape {list(rows.shape)}")
    rows = rows.detach().float()
    norms = torch.linalg.vector_norm(rows, dim=1, keepdim=True)
    if not bool(norms.isfinite().all()):
        raise ValueError(f"knn: a row of the {what} is not finite; check the encoder's weights")
    return rows / norms.clamp_min(1e-12)


def predicted(gallery, labels, queries, k, temperature):
    """int64 [Q]: the class of the largest Σ over the k nearest labelled rows of exp(cos / t); of equal cosines the first row is nearer."""
    if not temperature > 0:
        raise ValueError(f"knn: temperature: expected a number above 0, found {temperature}")
    voters, rows = _unit(gallery, "gallery"), _unit(queries, "queries")
    if len(labels) != len(voters):
        raise ValueError(f"knn: {len(voters)} rows and {len(labels)} labels of the gallery; give one label per row")
    if voters.shape[1] != rows.shape[1]:
        raise ValueError(f"knn: queries of width {rows.shape[1]} and a gallery of width {voters.shape[1]}; use one encoder for both")
    known = labels >= 0
    voters, labels = voters[known], labels[known]
    if k > len(voters):
        raise ValueError(f"knn: k is {k}, the gallery has {len(voters)} labelled rows; give a k of at most that")
    found = [_votes(block @ voters.T, labels, k, temperature).argmax(1) for block in rows.split(_BLOCK)]
    return torch.cat(found) if found else labels[:0]


def _votes(cosines, labels, k, temperature):
    nearest = torch.sort(cosines, dim=1, descending=True, stable=True)
    cosines, place = nearest.values[:, :k].double(), nearest.indices[:, :k]
    weights = ((cosines - cosines[:, :1]) / temperature).exp()
    return torch.zeros(len(cosines), int(labels.max()) + 1, dtype=torch.float64, device=cosines.device).scatter_add_(1, labels[place], weights)
