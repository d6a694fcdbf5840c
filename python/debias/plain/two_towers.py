"""Losses of a rectangle of similarities between two towers, both directions from one walk over it.

With s_ij = scale · cos(image i, text j), q_ij the weights of the positives P(i) (of sum 1), D(i) the pairs that are left out and N the number
of other keys:

    L_i = Σ_j q_ij [ -s_ij + log(e^{s_ij} + N_i) ]
    infonce             N_i = Σ over keys neither in P(i) nor in D(i) of e^{s_ij} = S_i
    debiased_negatives  N_i = max( (S_i - τ⁺ N Σ_j q_ij e^{s_ij}) / (1 - τ⁺), N e^{-scale} )          Chuang et al. 2020, eq. 8
    hard_negatives      the same with S_i = N Σ w e^s / Σ w, w = e^{β s}                               Robinson et al. 2021
    bayesian            N_i = N Σ w e^s / Σ w, w by rank and hardness, constants (rank_weights.py)     Liu and Wang 2023
    siglip              Σ_ij log(1 + e^{-t_ij (s_ij + b)}) / B, t_ij = 1 in P and -1 elsewhere         Zhai et al. 2023

The value is the mean over images and texts; text to image reads the transpose. Further texts (`others`) are negatives of every image, and have
no image of their own: they add to the sums of the rows alone.
"""

import math
from typing import NamedTuple, Optional

import torch

from . import tower_walk
from .debiased import slack
from .log_space import LOG_OF_NOTHING, log_sum, softplus
from .pair_sums import Block
from .rank_weights import RankWeights
from .rectangle import over_rectangle
from .result import Measured
from .row_blocks import over_rows, rows_of_block, step_of, takes_blocks


class Towers(NamedTuple):
    """Rows of any norm, and the inputs that define which pairs are positives and which are left out."""

    image: torch.Tensor  # [B, D]
    text: torch.Tensor  # [B, D]
    scale: object  # number or tensor
    bias: object = 0.0  # of siglip
    ids: Optional[torch.Tensor] = None
    labels: Optional[torch.Tensor] = None
    targets: Optional[torch.Tensor] = None  # [B, B], q >= 0
    guide: Optional[tuple] = None  # unit rows of images [B, G] and of texts
    drop_above: Optional[float] = None
    engine: str = "auto"
    memory_budget: int = 256 << 20
    others: Optional[torch.Tensor] = None  # [M, D], further texts

    def unit(self):
        """The same with rows of unit norm."""
        others = None if self.others is None else self.others / tower_walk.norms_of(self.others)
        return self._replace(image=self.image / tower_walk.norms_of(self.image), text=self.text / tower_walk.norms_of(self.text), others=others)

    def kept(self, scores, own):
        """Which of the other texts are negatives of a block's rows; the guide knows none of them."""
        if self.drop_above is None or self.guide is not None:
            return torch.ones_like(scores, dtype=torch.bool)
        return scores <= own[:, None] + self.drop_above

    @property
    def single(self):
        """Whether an anchor's only positive is the other row of its pair."""
        return self.ids is None and self.labels is None and self.targets is None


class _Relations:
    """Row tensors and tensors for every block, and from them the sets of a block [b, m]."""

    def __init__(self, towers, own):
        index = torch.arange(towers.image.shape[0], device=towers.image.device)
        self._named, self.row_tensors, self.tensors = [], [index], [index]
        self._drop_above, self._guided = towers.drop_above, towers.guide is not None
        for name in ("ids", "labels"):
            if getattr(towers, name) is not None:
                self._add(name, getattr(towers, name), getattr(towers, name))
        if towers.targets is not None:
            totals = towers.targets.sum(1, keepdim=True), towers.targets.sum(0)
            self._add("targets", torch.cat([towers.targets, totals[0]], 1), totals[1])
        if self._guided:
            self._add("guide", *towers.guide)
        elif towers.drop_above is not None:
            self._add("own", own.detach(), own.detach())

    def _add(self, name, of_rows, of_columns):
        self._named.append(name)
        self.row_tensors.append(of_rows)
        self.tensors.append(of_columns)

    def positives(self, begin, step):
        """bool [b, B]: of ids and labels."""
        count = len(self.row_tensors)
        rows = dict(zip(["index", *self._named], rows_of_block(self.row_tensors, count, begin, step)))
        return self._alike(rows, dict(zip(["index", *self._named], self.tensors)))

    @staticmethod
    def _alike(rows, columns):
        positive = rows["index"][:, None] == columns["index"]
        for name in ("ids", "labels"):
            if name in rows:
                positive = positive | ((rows[name][:, None] == columns[name]) & (rows[name] >= 0)[:, None])
        return positive

    def sets(self, scores, given):
        """Positives, negatives of the rows, negatives of the columns (bool), weights of the rows' positives and of the columns'."""
        count = len(self.row_tensors)
        rows, columns = dict(zip(["index", *self._named], given[:count])), dict(zip(["index", *self._named], given[count:]))
        positive, weights = self._alike(rows, columns), None
        if "targets" in rows:
            targets, totals = rows["targets"][:, :-1], rows["targets"][:, -1:]
            positive, weights = targets > 0, (targets / totals, targets / columns["targets"])
        return (positive, *self._negatives(scores.detach(), positive, rows, columns), weights)

    def _negatives(self, scores, positive, rows, columns):
        if self._guided:
            kept = ~positive & (rows["guide"] @ columns["guide"].T <= self._drop_above)
            return kept, kept
        if self._drop_above is None:
            return ~positive, ~positive
        return (~positive & (scores <= rows["own"][:, None] + self._drop_above), ~positive & (scores <= columns["own"] + self._drop_above))


def _log_sums_both_ways(x, rows, columns):
    return log_sum(x, rows), log_sum(x.T, columns.T)


class _ClosedWalks:
    """Computes the same as _Walks, by the walk in closed form (tower_walk.py)."""

    def __init__(self, towers, multipliers):
        self.towers, self.multipliers = towers, multipliers
        image = towers.image
        self._step = step_of(image, towers.text, towers.memory_budget // 2)
        self._rows = self._step, image, towers.text, torch.as_tensor(towers.scale, dtype=image.dtype, device=image.device)
        own = None if towers.drop_above is None or towers.guide is not None else tower_walk.own_scores(*self._rows)
        plain = towers.single and towers.drop_above is None
        self._relations = None if plain else _BlockRelations(towers, own, self._step)

    def _over(self, pair, rows=None, columns=None):
        return tower_walk.over_towers(pair, *self._rows, rows, columns)

    def _counts(self):
        """Logs of the numbers of negatives of rows and of columns."""
        image = self.towers.image
        if self._relations is None:
            return [image.new_full(image.shape[:1], math.log(len(image) - 1) if len(image) > 1 else LOG_OF_NOTHING)] * 2
        rows, columns = zip(*self._over_blocks(self._numbers))
        return [torch.where(side > 0, side.to(image.dtype).log(), LOG_OF_NOTHING) for side in (torch.cat(rows), sum(columns))]

    def _numbers(self, scores, begin):
        """How many negatives the rows of a block have, and the columns within it."""
        _, of_rows, of_columns, _ = self._relations.block(scores, begin)
        return of_rows.sum(1), of_columns.sum(0)

    def _over_blocks(self, function):
        if not self._relations.same_negatives:
            return tower_walk.over_scores(function, *self._rows)
        image = self.towers.image.detach()  # in the place of scores that nothing reads
        return [function(image[begin:begin + self._step], begin) for begin in range(0, len(image), self._step)]

    def log_sums(self, estimated):
        *sides, self.own = self._over(tower_walk.NegativeSums(self.multipliers, self.towers.scale, self._relations))
        if not estimated:
            return [side.unbind(1) for side in sides]
        positives = [self.own] * 2
        if not self.towers.single:
            positives = [side[:, 0] for side in self._over(tower_walk.PositiveSums(self._relations))[:2]]
        return [[*side.unbind(1), count, positive] for side, count, positive in zip(sides, self._counts(), positives)]

    def losses(self, log_ng):
        if self.towers.single:
            return [softplus(one - self.own) for one in log_ng]
        return [side[:, 0] for side in self._over(tower_walk.PositiveLosses(self._relations), *log_ng)[:2]]

    def sigmoid_loss(self, bias):
        return tower_walk.sigmoid_loss(self._relations, *self._rows, bias)


class _Walks:
    """The two walks over a rectangle: log sums first, then the losses of several positives."""

    def __init__(self, towers, multipliers):
        self.towers, self.multipliers = towers, multipliers
        self.scaled = towers.image * towers.scale
        self.own = (self.scaled * towers.text).sum(1)
        self.relations = _Relations(towers, self.own)
        self._uniform = None if towers.single or towers.targets is not None else self._positives()

    def _over(self, function, logs, more_rows=(), more=()):
        """more_rows and more follow the relations' tensors."""
        relations, count, added = self.relations, len(self.relations.row_tensors), len(more_rows)

        def of_block(scaled, text, *given):
            own, own_more = given[:count], given[count:count + added]
            columns, columns_more = given[count + added:2 * count + added], given[2 * count + added:]
            scores = scaled @ text.T
            return function(scores, relations.sets(scores, (*own, *columns)), own_more, columns_more)

        return over_rectangle(of_block, self.scaled, self.towers.text, (*relations.row_tensors, *more_rows), (*relations.tensors, *more),
                              logs=logs, engine=self.towers.engine, memory_budget=self.towers.memory_budget)

    def _positives(self):
        """How many positives rows and columns have."""
        count = lambda scores, sets, *_: (sets[0].sum(1, keepdim=True).to(scores.dtype), sets[0].sum(0)[:, None].to(scores.dtype))
        with torch.no_grad():
            return self._over(count, False)

    def _weighted(self, positive, weights, own, columns):
        """q of the rows and of the columns."""
        if weights is not None:
            return weights
        return positive / own[0], positive / columns[0][:, 0]

    def log_sums(self, estimated):
        """For rows and for columns: logs of Σ e^{k s} over negatives for each k and, where N_i is estimated, of how many they are and of
        Σ q e^s."""
        single, multipliers = self.towers.single, self.multipliers
        counts = [()] * 2 if self._uniform is None else [(one,) for one in self._uniform]

        def function(scores, sets, own, columns):
            positive, of_rows, of_columns, weights = sets
            pairs = [_log_sums_both_ways(scores * k, of_rows, of_columns) for k in multipliers]
            if estimated:
                pairs.append(_log_sums_both_ways(torch.zeros_like(scores), of_rows, of_columns))
            if estimated and not single:
                q = self._weighted(positive, weights, own, columns)
                logs = [torch.where(positive, one, 1).log() for one in q]
                pairs.append((log_sum(scores + logs[0], positive), log_sum((scores + logs[1]).T, positive.T)))
            return tuple(torch.stack(side, 1) for side in zip(*pairs))

        sides = [side.unbind(1) for side in self._over(function, True, *counts)]
        if self.towers.others is not None:
            more = self._over_others(lambda scores, kept: torch.stack(
                [log_sum(k * scores, kept) for k in (*multipliers, *((0.0,) if estimated else ()))], 1)).unbind(1)
            sides[0] = (*map(torch.logaddexp, sides[0], more), *sides[0][len(more):])
        return [[*side, *([self.own] if estimated and single else [])] for side in sides]

    def _over_others(self, function, *row_tensors):
        """function(scores [b, M], which are negatives, *row_tensors) of all rows."""
        def of_block(scaled, others, own, *given):
            scores = scaled @ others.T
            return function(scores, self.towers.kept(scores.detach(), own), *given)

        return over_rows(of_block, self.scaled, self.towers.others, (self.own.detach(), *row_tensors), engine=self.towers.engine,
                         memory_budget=self.towers.memory_budget)

    def losses(self, log_ng):
        """Σ_j q_ij log(1 + N_i e^{-s_ij}) of rows and of columns, from the logs of N_i."""
        if self.towers.single:
            return [softplus(one - self.own) for one in log_ng]
        counts = [()] * 2 if self._uniform is None else [(one,) for one in self._uniform]

        def function(scores, sets, own, columns):
            q = self._weighted(sets[0], sets[3], own[1:], columns[1:])
            rows = (q[0] * softplus(own[0][:, None] - scores)).sum(1)
            return rows[:, None], (q[1] * softplus(columns[0] - scores)).sum(0)[:, None]

        rows, columns = self._over(function, False, (log_ng[0], *counts[0]), (log_ng[1], *counts[1]))
        return rows[:, 0], columns[:, 0]

    def sigmoid_loss(self, bias):
        """Σ_ij log(1 + e^{-t_ij (s_ij + b)}), and the part of each image."""
        def function(scores, sets, own, columns):
            positive, negative, *_ = sets
            logits = scores + columns[0]
            terms = torch.where(positive, softplus(-logits), torch.where(negative, softplus(logits), 0))
            return terms.sum(1, keepdim=True), torch.zeros_like(scores[0])[:, None]

        losses = self._over(function, False, (), (bias,))[0][:, 0]
        if self.towers.others is not None:
            losses = losses + self._over_others(lambda scores, kept, bias: torch.where(kept, softplus(scores + bias[:, None]), 0).sum(1, keepdim=True),
                                                bias.expand(len(losses)))[:, 0]
        return losses.sum(), losses


class _BlockRelations:
    """The relations of a block by where it begins, for the walk in closed form."""

    def __init__(self, towers, own, step):
        self._relations, self._step = _Relations(towers, own), step
        self.same_negatives = towers.drop_above is None or towers.guide is not None
        self._counts = None
        if not towers.single and towers.targets is None:
            self._counts = self._counted(towers)

    def _counted(self, towers):
        rows, columns = [], 0
        for begin in range(0, towers.image.shape[0], self._step):
            positive = self._relations.positives(begin, self._step)
            rows.append(positive.sum(1))
            columns = columns + positive.sum(0)
        return torch.cat(rows).to(towers.image.dtype), columns.to(towers.image.dtype)

    def block(self, scores, begin):
        """As _Relations.sets."""
        relations = self._relations
        rows = rows_of_block(relations.row_tensors, len(relations.row_tensors), begin, self._step)
        return relations.sets(scores, (*rows, *relations.tensors))

    def weights(self, scores, begin):
        positive, *_, weights = self.block(scores, begin)
        if weights is not None:
            return weights
        rows, columns = self._counts
        return positive / rows[begin:begin + self._step, None], positive / columns


def _estimate(log_s, log_count, log_positive, tau_plus, scale, multiplier):
    """log of N_i, and where its floor acts; an anchor without negatives has none."""
    some = log_count > LOG_OF_NOTHING / 2
    log_count = torch.where(some, log_count, 0)
    shift = torch.maximum(log_s, log_positive).detach()
    raw = ((log_s - shift).exp() - tau_plus * (log_count + log_positive - shift).exp()) / (1 - tau_plus)
    floor = log_count - scale
    acts = (raw < (floor - shift).exp() * (1 - slack(shift, 1 / (scale * multiplier)))) | (raw <= 0)
    log_ng = torch.where(acts, floor, torch.where(acts, 1, raw).log() + shift)
    least = torch.where(some, (raw.detach().log() + shift - log_count.detach()).exp().nan_to_num(nan=-1.0), torch.inf).min()
    return torch.where(some, log_ng, LOG_OF_NOTHING), (acts & some).sum(), least


def _by_rank(towers, walks, weights, beta):
    """log of N Σ w e^s / Σ w over negatives, whose ranks need whole rows: each direction is walked by itself."""
    sides = [(walks.scaled, towers.text, False), (towers.text * towers.scale, towers.image, True)]
    found = []
    for scaled, keys, turned in sides:
        own = towers._replace(guide=towers.guide if towers.guide is None or not turned else towers.guide[::-1],
                              targets=towers.targets if towers.targets is None or not turned else towers.targets.T)
        relations = _Relations(own, walks.own)
        count = len(relations.row_tensors)

        others = None if turned else towers.others

        def function(scaled, keys, *given, relations=relations, count=count, others=others):
            scores = scaled @ keys.T
            of_pairs = scores if others is None else scores[:, :len(towers.text)]
            chosen = relations.sets(of_pairs, (*given[:count], *given[count + 1:]))[1]
            if others is not None:
                chosen = torch.cat([chosen, towers.kept(scores[:, len(towers.text):].detach(), given[count])], 1)
            block = Block(scores, given[0], [], False, ())
            block.set_unequal(chosen)
            log_w = block.ranked(weights)
            there, log_w = chosen & ~log_w.isinf(), log_w.masked_fill(log_w.isinf(), 0)
            constant = scores.detach()
            return torch.stack([log_sum((1 + beta) * scores + log_w, there), log_sum(beta * constant + log_w, there),
                                log_sum(torch.zeros_like(scores), chosen)], 1)

        log_sum_, log_weights, log_count = over_rows(function, scaled, keys if others is None else torch.cat([keys, others]),
                                                     (*relations.row_tensors, walks.own.detach()), tuple(relations.tensors),
                                                     engine=towers.engine, memory_budget=towers.memory_budget).unbind(1)
        value = (log_sum_ - log_weights + log_count).detach()
        part = log_sum_ / (1 + beta)
        found.append(torch.where(log_count > LOG_OF_NOTHING / 2, value + (part - part.detach()), LOG_OF_NOTHING))
    return found


def _siglip(towers, walks):
    bias = towers.bias if isinstance(towers.bias, torch.Tensor) else torch.as_tensor(float(towers.bias), device=towers.image.device)
    total, losses = walks.sigmoid_loss(bias.to(towers.image.dtype).reshape(1))
    return total / losses.shape[0], losses


def evaluated(objective, towers, tau_plus, beta, alpha):
    """Value, losses of images then of texts (siglip: of images), Measured."""
    blocked = takes_blocks(towers.engine, towers.image.shape[0], towers.text.shape[0])
    count = towers.image.shape[0]
    hard = objective == "hard_negatives"
    multipliers = (1 + beta, beta) if hard else () if objective in ("bayesian", "siglip") else (1.0,)
    closed = blocked and objective != "bayesian" and towers.others is None and tower_walk.applies()
    towers = towers if closed else towers.unit()
    walks = (_ClosedWalks if closed else _Walks)(towers, multipliers)
    if objective == "siglip":
        value, losses = _siglip(towers, walks)
        return value, losses, Measured(count, count, engine="blocked" if blocked else "dense")
    clamped, least = 0, None
    if objective == "bayesian":
        log_ng = _by_rank(towers, walks, RankWeights("corrected", tau_plus, alpha, beta, True), beta)
    else:
        log_ng = []
        for side in walks.log_sums(objective != "infonce"):
            if objective == "infonce":
                log_ng.append(side[0])
                continue
            *sums, log_count, log_positive = side
            log_s = sums[0] - sums[1] + log_count if hard else sums[0]
            one, acts, smallest = _estimate(log_s, log_count, log_positive, tau_plus, towers.scale, 1 + 2 * beta if hard else 1.0)
            log_ng.append(one)
            clamped, least = clamped + acts, smallest if least is None else torch.minimum(least, smallest)
    losses = torch.cat(list(walks.losses(log_ng)))
    return losses.mean(), losses, Measured(2 * count, 2 * count, clamped, least, engine="blocked" if blocked else "dense")
