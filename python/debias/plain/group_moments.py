"""Sums over pairs of rows by groups of rows, for sums of cosines and of their squares. No pair is formed.

A group g has one label and one bias label, m_g [D] is the sum of its rows z, and M_g [D, D] that of z zᵀ. With c = z_a · z_j

    over all ordered pairs of a row of g and a row of h:    Σ c = m_g · m_h,    Σ c² = <M_g, M_h>
    over the pairs of a row a and the rows of h:            Σ c = z_a · m_h,    Σ c² = z_aᵀ M_h z_a

The sums are exact, and cost n D² for M. They are double, because their differences cancel. The host reads the groups' sizes, so rows are on
the CPU.
"""

from typing import NamedTuple

import torch

from .. import _engine
from .._engine import groups as engine

_MATRICES = 2  # D x D of a group: its M and the gradient

# Sets of pairs from the levels of Groups and the pairs of a row with itself.
_SETS = torch.tensor([[1, 0, 0, 0, -1],  # positive aligned
                      [-1, 1, 0, 0, 0],  # positive conflicting
                      [-1, 0, 1, 0, 0],  # negative aligned
                      [1, -1, -1, 1, 0]], dtype=torch.float64, device="cpu")  # negative conflicting
_SETS_WITH_SELF_PAIRS = torch.cat([_SETS[:, :4], torch.zeros(4, 1, dtype=torch.float64, device="cpu")], 1)


class Groups(NamedTuple):
    """Rows by group, and four ways to merge groups, the levels: not at all, by label, by bias label, and into one.

    G groups, L labels, B bias labels and the one of all rows have K = G + L + B + 1 places, in this order.
    """

    order: torch.Tensor  # int64 [n]: rows with a group, in the order given within one
    sizes: torch.Tensor  # int64 [G], none 0
    group_of: torch.Tensor  # int64 [n]: group of each row of `order`
    places: torch.Tensor  # int64 [4, G]: place of each group at each level
    starts: tuple  # of the levels, and K

    def fit(self, dimensions, memory_budget):
        """Whether the groups' matrices fit."""
        return len(self.sizes) * _MATRICES * 8 * dimensions * dimensions <= memory_budget

    def places_of_rows(self):
        """int64 [4, n]"""
        return self.places.index_select(1, self.group_of)

    def split(self, levels):
        """[K, ...] by level."""
        return [levels[begin:end] for begin, end in zip(self.starts, self.starts[1:])]

    def merged(self, level, own, out):
        """out: the sums at a level of what each group has, own [G, ...]."""
        out.zero_().index_add_(0, self.places[level] - self.starts[level], own)

    def complete(self, levels):
        """Merges the groups' own part of levels [K, ...]."""
        own, by_label, by_bias, of_all = self.split(levels)
        self.merged(1, own, by_label)
        self.merged(2, own, by_bias)
        torch.sum(by_label, 0, keepdim=True, out=of_all)
        return levels

    def counts(self):
        """double [K]: how many rows are in each place."""
        return self.complete(torch.cat([self.sizes.double(), torch.empty(self.starts[4] - len(self.sizes), dtype=torch.float64, device="cpu")]))


def grouped(label, bias):
    """Groups of the rows whose label and bias label, int64 [N], are both known."""
    known = ((label >= 0) & (bias >= 0)).nonzero().squeeze(1)
    labels, label_of = torch.unique(label.index_select(0, known), return_inverse=True)
    biases, bias_of = torch.unique(bias.index_select(0, known), return_inverse=True)
    width = max(len(biases), 1)
    keys, index, sizes = torch.unique(label_of * width + bias_of, return_inverse=True, return_counts=True)
    order = index.argsort(stable=True)
    starts = (0, len(keys), len(keys) + len(labels), len(keys) + len(labels) + len(biases), len(keys) + len(labels) + len(biases) + 1)
    places = torch.stack([torch.arange(len(keys), device=keys.device), keys // width + starts[1], keys % width + starts[2], torch.full_like(keys, starts[3])])
    return Groups(known.index_select(0, order), sizes, index.index_select(0, order), places, starts)


def set_sums(z, groups, by_anchor, self_pairs, squares):
    """How many pairs, Σ c and Σ c² of the sets [positive, negative] x [aligned, conflicting]: each [2, 2, 1], or by anchor [2, 2, N].

    z [N, D]. A row without a group is in no pair. self_pairs: each row is in a positive aligned pair with itself. Unless squares, Σ c² is 0.
    """
    counts = groups.counts()
    if by_anchor:
        counts = counts[groups.places_of_rows()]
        counts = _in_order(torch.cat([counts, torch.ones_like(counts[:1])]), groups, len(z))
    else:
        counts = torch.stack([*(part.dot(part) for part in groups.split(counts)), counts[-1]])[:, None]
    sums = (_AnchorSums if by_anchor else _BatchSums).apply(z, groups, self_pairs, squares)[0]
    sets = (_SETS_WITH_SELF_PAIRS if self_pairs else _SETS) @ torch.cat([counts[None], sums])  # [4, 5] x [3, 5, 1 or N]
    return sets.unflatten(1, (2, 2)).unbind()


def _in_order(values, groups, count):
    """[..., n] of rows by group -> [..., N] in the order given, 0 for a row without a group."""
    return values.new_zeros(*values.shape[:-1], count).index_copy_(-1, groups.order, values)


def _rows_of(z, groups):
    """double [n, D], by group"""
    return z.index_select(0, groups.order).double()


def _returned(rows, groups, count, dtype):
    """The gradient of z [N, D] from that of its rows by group."""
    return _gradient_for(rows, count, dtype).index_copy_(0, groups.order, rows.to(dtype))


def _gradient_for(rows, count, dtype):
    """[N, D], in which rows without a group are 0."""
    of = rows.new_empty if len(rows) == count else rows.new_zeros
    return of(count, rows.shape[1], dtype=dtype)


def _row_sums(rows, groups):
    """m of each place: [K, D]."""
    levels = rows.new_zeros(groups.starts[-1], rows.shape[1])
    return groups.complete(levels.index_add_(0, groups.group_of, rows))


def _group_products(rows, groups, out, weights=None):
    """out [G, D, D]: Σ w z zᵀ over the rows of each group. Returns [G], the sum of squares of each."""
    if _engine.takes(rows):
        return engine.products(rows, groups.sizes, out, weights)
    weighted, sizes = rows if weights is None else rows * weights[:, None], groups.sizes.tolist()
    for own, run, other in zip(out, rows.split(sizes), weighted.split(sizes)):
        torch.mm(run.T, other, out=own)
    return out.square().sum((1, 2))


def _row_products(rows, groups):
    """M of each place, [K, D, D], and Σ <M, M> over the places of each level."""
    levels = rows.new_empty(groups.starts[-1], rows.shape[1], rows.shape[1])
    squares = _group_products(rows, groups, levels[:len(groups.sizes)]).sum()
    return groups.complete(levels), [squares, *_squares(groups.split(levels)[1:])]


def _squares(tensors):
    """The sum of squares of each."""
    return [of.dot(of) for of in (tensor.flatten() for tensor in tensors)]


def _times(rows, groups, places, weights, matrices):
    """[n, D]: the rows of group g times Σ_t weights[t] · matrices[places[t, g]]."""
    if _engine.takes(rows):
        return engine.times(rows, groups.sizes, places, weights, matrices)
    runs = [run @ sum(weight * matrices[place] for weight, place in zip(weights, own))
            for run, own in zip(rows.split(groups.sizes.tolist()), places.T.tolist())]
    return torch.cat(runs) if runs else torch.empty_like(rows)


def _dots(a, b):
    return (a * b).sum(1)


def _refuse_second_derivatives(gradient):
    _engine.refuse_batches("fused", gradient)
    if torch.is_grad_enabled():
        raise ValueError("the fused backend of this regulariser has no second derivative; compute it with engine dense")


def _squared_norms(rows):
    return torch.linalg.vector_norm(rows, dim=1).square()


class _OverGroups(torch.autograd.Function):
    """Sums of z [N, D], and what their backward pass reads."""

    @staticmethod
    def setup_context(ctx, inputs, output):
        z, ctx.groups, ctx.self_pairs, ctx.squares = inputs
        ctx.like = len(z), z.dtype
        ctx.set_materialize_grads(False)
        ctx.mark_non_differentiable(*output[1:])
        ctx.save_for_backward(*output[1:])


class _BatchSums(_OverGroups):
    """Σ |m|² and Σ <M, M> over the places of each level and, last, Σ |z|² and Σ |z|⁴ over rows: double [2, 5, 1]. What is not read is 0.

    Backward, the products of a group's rows with the matrices of four levels are one product with their weighted sum.
    """

    @staticmethod
    def forward(z, groups, self_pairs, squares):
        rows = _rows_of(z, groups)
        nothing, zero = rows.new_empty(0), rows.new_zeros(())
        sums, norms = _row_sums(rows, groups), nothing if self_pairs else _squared_norms(rows)
        products, second = _row_products(rows, groups) if squares else (nothing, [zero] * 4)
        of_self = [zero, zero] if self_pairs else [norms.sum(), norms.dot(norms)]
        found = torch.stack([*_squares(groups.split(sums)), of_self[0], *second, of_self[1]])
        return found.view(2, 5, 1), rows, sums, products, norms

    @staticmethod
    def backward(ctx, gradient, *_):
        _refuse_second_derivatives(gradient)
        rows, sums, products, norms = ctx.saved_tensors
        groups, (of_first, of_second) = ctx.groups, gradient.squeeze(2)
        vectors = (2 * of_first[:4] @ _at_groups(sums, groups).flatten(1)).view(-1, rows.shape[1])
        factors, weights = None if ctx.self_pairs else 2 * of_first[4] + 4 * of_second[4] * norms, (4 * of_second[:4]).tolist()
        if ctx.squares and _engine.takes(rows):
            out = _gradient_for(rows, *ctx.like)
            engine.gradient(rows, groups.sizes, groups.places, weights, products, vectors, factors, groups.order, out)
            return out, None, None, None
        out = vectors.index_select(0, groups.group_of)
        if ctx.squares:
            out += _times(rows, groups, groups.places, weights, products)
        if factors is not None:
            out.addcmul_(factors[:, None], rows)
        return _returned(out, groups, *ctx.like), None, None, None


class _AnchorSums(_OverGroups):
    """z · m and zᵀ M z of each row with the m and M of its place at each level and, last, |z|² and |z|⁴: double [2, 5, N].

    What is not read is 0.
    """

    @staticmethod
    def forward(z, groups, self_pairs, squares):
        rows = _rows_of(z, groups)
        sums, found = _row_sums(rows, groups), rows.new_zeros(2, 5, len(rows))
        products, norms, halves = _row_products(rows, groups)[0] if squares else None, rows.new_empty(0), []
        for level, (places, of_rows) in enumerate(zip(groups.places, groups.places_of_rows())):
            found[0, level] = _dots(rows, sums.index_select(0, of_rows))
            if squares:
                halves.append(_times(rows, groups, places[None], [1.0], products))  # zᵀ M
                found[1, level] = _dots(rows, halves[-1])
        if not self_pairs:
            norms = _squared_norms(rows)
            found[0, 4], found[1, 4] = norms, norms.square()
        return _in_order(found, groups, len(z)), rows, sums, norms, *halves

    @staticmethod
    def backward(ctx, gradient, *_):
        _refuse_second_derivatives(gradient)
        rows, sums, norms, *halves = ctx.saved_tensors
        groups, (of_firsts, of_seconds) = ctx.groups, gradient.index_select(2, ctx.groups.order)
        out, of_sums = torch.zeros_like(rows), torch.zeros_like(sums)
        for of_first, of_rows in zip(of_firsts, groups.places_of_rows()):
            out.addcmul_(of_first[:, None], sums.index_select(0, of_rows))
            of_sums.index_add_(0, of_rows, of_first[:, None] * rows)
        out += _at_groups(of_sums, groups).sum(0).index_select(0, groups.group_of)
        if ctx.squares:
            out += _gradient_of_forms(rows, groups, halves, of_seconds[:4])
        if not ctx.self_pairs:
            out.addcmul_((2 * of_firsts[4] + 4 * of_seconds[4] * norms)[:, None], rows)
        return _returned(out, groups, *ctx.like), None, None, None


def _at_groups(levels, groups):
    """levels [K, ...] at the places of each group: [4, G, ...]."""
    return levels.index_select(0, groups.places.flatten()).unflatten(0, groups.places.shape)


def _gradient_of_forms(rows, groups, halves, gradient):
    """Of z by zᵀ M z, with z itself and with M: halves [n, D] are zᵀ M, gradient [4, n]."""
    products = rows.new_empty(groups.starts[-1], rows.shape[1], rows.shape[1])
    own = torch.empty_like(products[:len(groups.sizes)])
    for level, (of_level, out) in enumerate(zip(gradient, groups.split(products))):
        _group_products(rows, groups, own, of_level)
        groups.merged(level, own, out)
    total = _times(rows, groups, groups.places, [2.0] * 4, products)
    for half, of_level in zip(halves, gradient):
        total.addcmul_(of_level[:, None], half, value=2)
    return total


def half_pair_sum(z, label, bias):
    """Σ c, double, and how many, over pairs of rows of one known label whose later row has the smaller known bias label. z [N, D]."""
    known = ((label >= 0) & (bias >= 0)).nonzero().squeeze(1)
    order = known.index_select(0, label.index_select(0, known).argsort(stable=True))
    _, sizes = torch.unique_consecutive(label.index_select(0, order), return_counts=True)
    biases, places = torch.unique(bias.index_select(0, order), return_inverse=True)
    rows = z.index_select(0, order).double()
    partners, pairs = _PartnerSums.apply(rows, sizes, places, len(biases))
    return (rows * partners).sum() / 2, pairs.sum()


class _PartnerSums(torch.autograd.Function):
    """For each row of z, double [n, D], the sum of the rows that it forms a pair with. Linear and symmetric, so its gradient is itself."""

    @staticmethod
    def forward(z, sizes, places, biases):
        return engine.half_pair_sums(z, sizes, places, biases)

    @staticmethod
    def setup_context(ctx, inputs, output):
        _, sizes, places, ctx.biases = inputs
        ctx.mark_non_differentiable(output[1])
        ctx.save_for_backward(sizes, places)

    @staticmethod
    def backward(ctx, gradient, _):
        return _PartnerSums.apply(gradient.contiguous(), *ctx.saved_tensors, ctx.biases)[0], None, None, None
