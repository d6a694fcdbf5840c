"""The nearest rows by cosine (python/engine/neighbours.cpp)."""

import torch

from . import call


def nearest(gallery, queries, k):
    """The cosines, float32 [Q, k], and rows, int64 [Q, k], of the k rows of the gallery nearest to each query, the nearest first.

    gallery [N, D] and queries [Q, D] are float32, finite and of any norm; 1 <= k <= N. Of equal cosines the lower row is nearer.
    """
    gallery, queries = gallery.contiguous(), queries.contiguous()
    cosines, rows = (torch.empty(len(queries), k, dtype=dtype, device="cpu") for dtype in (torch.float32, torch.int64))
    call("nearest_rows", gallery, len(gallery), queries, len(queries), gallery.shape[1], k, cosines, rows)
    return cosines, rows
