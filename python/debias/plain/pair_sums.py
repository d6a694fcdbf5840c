"""The sums over an anchor's keys that objectives are made of, several of them in one walk over the pairs.

With s_aj = z_a · k_j / t, each request gives one number of each anchor:

    LogSum        log Σ_{j in set} e^{k s_aj}
    SetSum        Σ_{j in set} s_aj
    RankedLogSum  log Σ_{j unequal} w(rank of s_aj among them) e^{k s_aj}; ranks and weights carry no gradient, ties share the largest rank
    LogAddSum     Σ_{j in set} log(e^{-ε} + e^{c_a + sign s_aj})
    TripletSum    Σ_{i equal} Σ_{j unequal} log(e^{-ε} + e^{s_aj - s_ai})
"""

import functools
import math
from typing import NamedTuple

import torch

from .._engine.sums import SETS, Plan, sums as tile_sums
from . import closed_walk
from .log_space import log_add, log_sum
from .rank_weights import RankWeights
from .row_blocks import over_rows, step_of
from .triplets import triplet_sums

class Block:
    """Scores [b, m] of a block of anchors, and which keys are in which set."""

    def __init__(self, scores, index, groupings, square, row_values):
        self.scores, self._groupings, self._sets, self.row_values = scores, groupings, {}, row_values
        self._itself = index[:, None] == torch.arange(scores.shape[1], device=scores.device) if square else None

    def chosen(self, which, by_class=False):
        """bool [b, m]"""
        if (which, by_class) not in self._sets:
            self._sets[which, by_class] = self._made(which, by_class)
        return self._sets[which, by_class]

    def set_unequal(self, chosen):
        """Sets the unequal keys, in place of those by group."""
        self._sets["unequal", False] = chosen

    def ranked(self, log_weights):
        """The log weights [b, m] of the unequal keys by the rank of their scores, the smallest first."""
        if log_weights not in self._sets:
            chosen = self.chosen("unequal")
            values = self.scores.detach().masked_fill(~chosen, math.inf).contiguous()
            ranks = torch.searchsorted(values.sort(1).values, values, right=True).masked_fill(~chosen, 1)
            self._sets[log_weights] = log_weights.of(ranks, chosen.sum(1, keepdim=True)).to(self.scores.dtype)
        return self._sets[log_weights]

    def _made(self, which, by_class):
        if which == "others":
            return torch.ones_like(self.scores, dtype=torch.bool) if self._itself is None else ~self._itself
        rows, keys = self._groupings[1 if by_class else 0]
        if which == "unequal":
            return rows[:, None] != keys
        equal = rows[:, None] == keys
        return equal if self._itself is None else equal & ~self._itself


class LogSum(NamedTuple):
    chosen: str
    multiplier: float = 1.0
    by_class: bool = False
    constant: bool = False  # no gradient goes through it

    def of(self, block):
        scores = block.scores.detach() if self.constant else block.scores
        return log_sum(scores * self.multiplier if self.multiplier != 1 else scores, block.chosen(self.chosen, self.by_class))


class SetSum(NamedTuple):
    chosen: str
    by_class: bool = False

    def of(self, block):
        return torch.where(block.chosen(self.chosen, self.by_class), block.scores, 0).sum(1)


class RankedLogSum(NamedTuple):
    log_weights: RankWeights
    power: int = 1  # of the weights
    multiplier: float = 1.0
    constant: bool = False
    by_class: bool = False

    def of(self, block):
        log_weights = block.ranked(self.log_weights)
        scores = block.scores.detach() if self.constant else block.scores
        weightless = log_weights.isinf()
        x = scores * self.multiplier + self.power * log_weights.masked_fill(weightless, 0)
        return log_sum(x, block.chosen("unequal") & ~weightless)


class LogAddSum(NamedTuple):
    """c is the first of the row values."""

    chosen: str
    sign: int
    epsilon: float
    by_class: bool = False

    def of(self, block):
        terms = log_add(block.row_values[0][:, None] + self.sign * block.scores, self.epsilon)
        return torch.where(block.chosen(self.chosen, self.by_class), terms, 0).sum(1)


class TripletSum(NamedTuple):
    epsilon: float
    by_class: bool = True

    def of(self, block):
        return triplet_sums(block.scores, block.chosen("equal", self.by_class), block.chosen("unequal", self.by_class), self.epsilon)


def _tiled(request):
    """Whether the tile engine has the sum."""
    return isinstance(request, (LogSum, RankedLogSum)) or (isinstance(request, SetSum) and request.chosen == "equal") or \
        (isinstance(request, LogAddSum) and not math.isinf(request.epsilon))


@functools.lru_cache(maxsize=8)
def rank_table(weights, negatives):
    """float64 [weights, N]: `power` times the log weights of ranks 1..N, for each (log_weights, power)."""
    with torch.inference_mode(False):  # a later call with gradients may take the same table
        ranks, count = torch.arange(1, negatives + 1, device="cpu"), torch.tensor([negatives], device="cpu")
        return torch.stack([log_weights.of(ranks, count) * power for log_weights, power in weights])


def _by_tiles(pairs, requests, row_values):
    """The numbers of requests that have one grouping, in their order."""
    rows, temperature = pairs.anchors, pairs.call.temperature
    if isinstance(temperature, torch.Tensor):
        rows, temperature = rows / temperature.sqrt(), 1.0
    group = (pairs.by_class if requests[0].by_class else pairs.by_sample).rows
    places = [[place for place, request in enumerate(requests) if isinstance(request, kind)] for kind in (LogSum, RankedLogSum, SetSum, LogAddSum)]
    logs, ranked, equal, adds = ([requests[place] for place in of_kind] for of_kind in places)
    plan = Plan(float(temperature), pairs.call.bfloat16, pairs.call.memory_budget,
                tuple((SETS.index(request.chosen), float(request.multiplier)) for request in logs),
                tuple((float(request.multiplier), request.constant) for request in ranked), int(bool(equal)),
                tuple((SETS.index(request.chosen), float(request.sign), float(request.epsilon)) for request in adds))
    weights = tuple((request.log_weights, request.power) for request in ranked)
    table = rank_table(weights, rows.shape[0] - 2) if ranked else None
    found = tile_sums(rows, group, plan, table, row_values[0] if adds else None)
    numbers, rows_of = found.unbind(0), [*places[0], *places[1], *places[2][:1], *places[3]]
    out = [None] * len(requests)
    for place, own in zip(rows_of, numbers):
        out[place] = own.detach() if getattr(requests[place], "constant", False) else own
    for place in places[2][1:]:
        out[place] = out[places[2][0]]
    return out


def pair_sums(pairs, requests, row_values=()):
    """The numbers [n] of each request. row_values: tensors [n] that requests read; gradients reach them."""
    if pairs.engine != "fused" or not all(map(_tiled, requests)):
        return _walked(pairs, requests, row_values)
    numbers = [None] * len(requests)
    for by_class in (False, True):
        places = [place for place, request in enumerate(requests) if request.by_class == by_class]
        if places:
            for place, own in zip(places, _by_tiles(pairs, [requests[place] for place in places], row_values)):
                numbers[place] = own
    return numbers


_CLOSED = {LogSum: closed_walk.LogSum, SetSum: closed_walk.SetSum, LogAddSum: closed_walk.LogAddSum, RankedLogSum: closed_walk.RankedLogSum}


def _walked(pairs, requests, row_values):
    """By PyTorch, all of them in one walk over blocks of anchors."""
    groupings = [pairs.by_sample] if pairs.by_class is None else [pairs.by_sample, pairs.by_class]
    count, values, square = len(groupings), len(row_values), pairs.square
    index = torch.arange(pairs.anchors.shape[0], device=pairs.anchors.device)

    def function(scaled, keys, *tensors):
        index, own, of_keys = tensors[values], tensors[values + 1:values + 1 + count], tensors[values + 1 + count:]
        block = Block(scaled @ keys.T, index, list(zip(own, of_keys)), square, tensors[:values])
        return torch.stack([request.of(block) for request in requests], 1)

    def automatic(scaled, keys, *row_values):
        return over_rows(function, scaled, keys, (*row_values, index, *(one.rows for one in groupings)), tuple(one.keys for one in groupings),
                         engine=pairs.call.engine if pairs.engine != "fused" else "auto", memory_budget=pairs.call.memory_budget).T

    if pairs.engine == "blocked" and closed_walk.takes_closed(pairs.anchors) and all(type(request) in _CLOSED for request in requests):
        step = step_of(pairs.anchors, pairs.keys, pairs.call.memory_budget)
        return closed_walk.closed_sums(pairs, requests, [_CLOSED[type(request)] for request in requests], row_values, step, automatic)
    return automatic(pairs.scaled(), pairs.keys, *row_values).unbind(0)
