"""Sums over an anchor's keys in blocks of anchors, with gradients in closed form: few matrices of a block at a time.

`closed_sums` gives the numbers [n] of pair_sums.py's requests. Its autograd function stores the sums alone: the backward pass forms the
scores of each block again. A second derivative is formed by automatic differentiation of the same sums.

Used in eager mode, outside torch.func, where row_blocks.py does the same through torch.func.vjp.
"""

import math

import torch

from .._engine import refuse_batches
from .._modes import backward_only
from .call import without_autocast
from .log_space import LOG_OF_NOTHING

# Exponentials e^{k (s - bound)} >= e^{-2 k bound} of a row are summed without looking for its largest, where that is a normal number of float32.
_MAX_SHARED = 35.0


class Scores:
    """Scores [b, m] of anchors begin..end, and the keys that a sum leaves out."""

    def __init__(self, walk, begin, scores):
        self.walk, self.begin, self.scores, self._masks, self._sorted = walk, begin, scores, {}, None

    def left_out(self, which, by_class=False):
        """bool [b, m], or None where all keys are taken."""
        if (which, by_class) not in self._masks:
            self._masks[which, by_class] = self._made(which, by_class)
        return self._masks[which, by_class]

    def _made(self, which, by_class):
        walk, rows = self.walk, slice(self.begin, self.begin + self.scores.shape[0])
        if which == "others" or (which == "unequal" and not walk.meets[by_class]):
            out = None
        else:
            grouping = walk.groupings[by_class]
            own, keys = grouping.rows[rows, None], grouping.keys
            out = own == keys if which == "unequal" else own != keys
        if walk.square and which != "unequal":
            out = torch.zeros_like(self.scores, dtype=torch.bool) if out is None else out
            out.diagonal(self.begin).fill_(True)
        return out

    def ranks(self):
        """The scores of unequal keys in ascending order, others behind as infinity, their places, and the ranks and numbers of unequal keys."""
        if self._sorted is None:
            out = self.left_out("unequal")
            values, places = (self.scores if out is None else self.scores.masked_fill(out, math.inf)).sort(1)
            count = torch.full_like(values[:, :1], values.shape[1]) if out is None else values.shape[1] - out.sum(1, keepdim=True)
            self._sorted = values, places, _ranks(values), count.to(torch.int64)
        return self._sorted


def _ranks(values):
    """int64 [1 or b, m]: of ties the largest."""
    if values.device.type == "cpu" and bool((values[:, 1:] > values[:, :-1]).all()):
        return torch.arange(1, values.shape[1] + 1, device=values.device)[None]
    return torch.searchsorted(values, values, right=True)


class LogSum:
    def __init__(self, request, walk):
        self._set, self._k = (request.chosen, request.by_class), request.multiplier
        bound = walk.bound()
        self._bound = bound if 0 < abs(self._k) * bound <= _MAX_SHARED else None

    def _exponentials(self, block):
        x = block.scores * self._k
        x.sub_(abs(self._k) * self._bound).exp_()
        out = block.left_out(*self._set)
        return x if out is None else x.masked_fill_(out, 0)

    def _masked(self, block):
        x, out = block.scores * self._k, block.left_out(*self._set)
        return x if out is None else x.masked_fill_(out, LOG_OF_NOTHING)

    def value(self, block, row_values):
        if self._bound is None:
            return self._masked(block).logsumexp(1).clamp_min_(LOG_OF_NOTHING)
        total = self._exponentials(block).sum(1)
        return torch.where(total > 0, total.log() + abs(self._k) * self._bound, LOG_OF_NOTHING)

    def add_gradient(self, block, value, gradient, total, row_values):
        there = value > LOG_OF_NOTHING / 2
        factor, value = torch.where(there, gradient * self._k, 0), torch.where(there, value, 0)
        if self._bound is None:
            total.addcmul_(self._masked(block).sub_(value[:, None]).exp_(), factor[:, None])
        else:
            total.addcmul_(self._exponentials(block), (factor * (abs(self._k) * self._bound - value).exp())[:, None])


class SetSum:
    def __init__(self, request, walk):
        self._set = (request.chosen, request.by_class)

    def value(self, block, row_values):
        out = block.left_out(*self._set)
        return block.scores.sum(1) if out is None else block.scores.masked_fill(out, 0).sum(1)

    def add_gradient(self, block, value, gradient, total, row_values):
        out = block.left_out(*self._set)
        total.add_(gradient[:, None] if out is None else gradient[:, None] * ~out)


class LogAddSum:
    def __init__(self, request, walk):
        self._set, self._sign, self._epsilon = (request.chosen, request.by_class), request.sign, request.epsilon

    def _shifted(self, block, row_values):
        return torch.add(row_values[0][:, None], block.scores, alpha=self._sign)

    def _taken(self, block, terms):
        out = block.left_out(*self._set)
        return terms if out is None else terms.masked_fill_(out, 0)

    def value(self, block, row_values):
        terms = self._shifted(block, row_values)
        if not math.isinf(self._epsilon):
            terms = torch.logaddexp(terms, torch.full_like(terms[:1, :1], -self._epsilon))
        return self._taken(block, terms).sum(1)

    def add_gradient(self, block, value, gradient, total, row_values):
        """The gradient of the row value."""
        slopes = torch.ones_like(block.scores) if math.isinf(self._epsilon) else self._shifted(block, row_values).add_(self._epsilon).sigmoid_()
        slopes = self._taken(block, slopes)
        total.addcmul_(slopes, gradient[:, None], value=self._sign)
        return slopes.sum(1).mul_(gradient)


class RankedLogSum:
    def __init__(self, request, walk):
        self._request = request

    def _terms(self, block):
        """k s + log w in the order of the ranks, with the log of nothing where there is no weight."""
        values, places, ranks, count = block.ranks()
        request = self._request
        log_w = request.log_weights.of(ranks, count).to(values.dtype) * request.power
        there = ~log_w.isinf() & (torch.arange(1, values.shape[1] + 1, device=values.device) <= count)
        return torch.where(there, values.clamp_max(torch.finfo(values.dtype).max) * request.multiplier + log_w.nan_to_num(neginf=0.0), LOG_OF_NOTHING)

    def value(self, block, row_values):
        return self._terms(block).logsumexp(1).clamp_min_(LOG_OF_NOTHING)

    def add_gradient(self, block, value, gradient, total, row_values):
        if self._request.multiplier == 0:
            return
        there = value > LOG_OF_NOTHING / 2
        share = self._terms(block).sub_(torch.where(there, value, 0)[:, None]).exp_()
        share.mul_(torch.where(there, gradient * self._request.multiplier, 0)[:, None])
        total.scatter_add_(1, block.ranks()[1], share)


class _Sums:
    """What is constant in a walk. kinds: the class of each request, in their order."""

    def __init__(self, pairs, requests, kinds, step):
        self.square, self.step = pairs.square, step
        self.groupings = {False: pairs.by_sample, True: pairs.by_class}
        self.meets = {by_class: one is not None and self._meets(one) for by_class, one in self.groupings.items()}
        self._pairs, self._bound = pairs, None
        self.requests = [kind(request, self) for kind, request in zip(kinds, requests)]
        self.constant = [getattr(request, "constant", False) for request in requests]

    def _meets(self, grouping):
        """Whether any key may be equal to any anchor."""
        if self.square or grouping.rows.device.type != "cpu":
            return True
        return not bool(grouping.rows.max() < grouping.keys.min())

    def bound(self):
        """At least |s| of any pair; infinite where that would wait for a device."""
        if self._bound is None:
            pairs, self._bound = self._pairs, math.inf
            if pairs.anchors.device.type == "cpu":
                largest = lambda rows: torch.linalg.vector_norm(rows.detach(), dim=1).max()
                self._bound = 1.001 * float(largest(pairs.anchors) * largest(pairs.keys) / pairs.call.temperature)
                self._bound = self._bound if math.isfinite(self._bound) else math.inf
        return self._bound


class _Walk(torch.autograd.Function):
    @staticmethod
    def forward(ctx, sums, again, scaled, keys, *row_values):
        found = []
        for begin in range(0, scaled.shape[0], sums.step):
            rows = slice(begin, begin + sums.step)
            block = Scores(sums, begin, scaled[rows] @ keys.T)
            found.append(torch.stack([request.value(block, [one[rows] for one in row_values]) for request in sums.requests]))
        out = torch.cat(found, 1)
        ctx.sums, ctx.again = sums, again
        ctx.save_for_backward(out, scaled, keys, *row_values)
        return out

    @staticmethod
    def backward(ctx, gradient):
        out, scaled, keys, *row_values = ctx.saved_tensors
        refuse_batches("blocked", gradient)
        if torch.is_grad_enabled():  # for a second derivative; views, since one of these may depend on another
            given = [one.view_as(one) for one in (scaled, keys, *row_values)]
            wanted = [one for one, needed in zip(given, ctx.needs_input_grad[2:]) if needed]
            found = iter(torch.autograd.grad(ctx.again(*given), wanted, gradient, create_graph=True))
            return None, None, *(next(found) if needed else None for needed in ctx.needs_input_grad[2:])
        with without_autocast(scaled.device.type):
            return None, None, *_Walk._gradients(ctx, gradient, out, scaled, keys, row_values)

    @staticmethod
    def _gradients(ctx, gradient, out, scaled, keys, row_values):
        sums, (_, _, of_scaled, of_keys, *_) = ctx.sums, ctx.needs_input_grad
        used = [place for place, constant in enumerate(sums.constant) if not constant and bool(gradient[place].any())] \
            if gradient.device.type == "cpu" else [place for place, constant in enumerate(sums.constant) if not constant]
        d_scaled, d_keys = torch.zeros_like(scaled), torch.zeros_like(keys) if of_keys else None
        d_rows = [torch.zeros_like(one) for one in row_values]
        for begin in range(0, scaled.shape[0] if used else 0, sums.step):
            rows = slice(begin, begin + sums.step)
            block = Scores(sums, begin, scaled[rows] @ keys.T)
            total, own = torch.zeros_like(block.scores), [one[rows] for one in row_values]
            for place in used:
                moved = sums.requests[place].add_gradient(block, out[place, rows], gradient[place, rows], total, own)
                if moved is not None:
                    d_rows[0][rows] += moved
            if of_scaled:
                torch.mm(total, keys, out=d_scaled[rows])
            if of_keys:
                d_keys.addmm_(total.T, scaled[rows])
        return d_scaled, d_keys, *d_rows


def takes_closed(rows):
    return backward_only() and rows.device.type != "meta"


def closed_sums(pairs, requests, kinds, row_values, step, again):
    """again: computes the same by automatic differentiation, [requests, n] from the scaled anchors, keys and row values."""
    return _Walk.apply(_Sums(pairs, requests, kinds, step), again, pairs.scaled(), pairs.keys, *row_values).unbind(0)

