"""Products of runs of rows with D x D matrices, and sums over half of the pairs of rows (python/engine/group_products.cpp).

Rows are double [n, D], contiguous, and lie run by run; sizes, int64 [G], counts the rows of each run.
"""

import torch

from . import call


def products(rows, sizes, out, weights=None):
    """out [G, D, D]: Σ w z zᵀ over the rows of each run; weights [n]. Returns [G], the sum of squares of each."""
    squares = rows.new_empty(len(sizes))
    call("group_products", rows.shape[1], len(sizes), sizes, rows, weights, out, squares)
    return squares


def times(rows, sizes, places, weights, matrices):
    """[n, D]: the rows of run g times Σ_t weights[t] · matrices[places[t, g]]; places int64 [T, G], T numbers, matrices [K, D, D]."""
    out = torch.empty_like(rows)
    _times(rows, sizes, places, weights, matrices, None, None, None, out)
    return out


def gradient(rows, sizes, places, weights, matrices, vectors, factors, order, out):
    """out[order[i]] = row i as in `times`, plus the vector of its run [G, D], plus the row times its factor [n] (None: 0)."""
    _times(rows, sizes, places, weights, matrices, vectors, factors, order, out)


def _times(rows, sizes, places, weights, matrices, vectors, factors, order, out):
    weights = torch.tensor(weights, dtype=torch.float64, device="cpu")
    call("group_times", rows.shape[1], len(sizes), sizes, rows, len(weights), places, weights, matrices, vectors, factors, order,
         out.dtype == torch.float32, out)


def half_pair_sums(rows, sizes, bias, biases):
    """[n, D]: for each row the sum of the rows that it forms a pair with; and how many pairs there are in each run, int64 [G].

    Two rows of one run are a pair if the later one has the smaller bias label. bias, int64 [n], is below `biases`.
    """
    sums, pairs = torch.empty_like(rows), torch.empty_like(sizes)
    call("half_pair_sums", rows.shape[1], len(sizes), sizes, biases, bias, rows, sums, pairs)
    return sums, pairs
