"""EnD: regulariser that spreads embeddings of one bias label and gathers those of one class across bias labels (Tartaglione et al. 2021).

    value = α R⊥ + β R∥ over unordered pairs of rows, c = z_i · z_j
    R⊥ = (1 / M) Σ over bias labels of | Σ over its pairs of c |,     R∥ = 1 - mean over pairs of one label and two bias labels of (1 + c) / 2

Without full_pairs R∥ counts only the pairs whose later row has the smaller bias label, as the released code does. A term without pairs is 0.
"""

import math

import torch

from .. import _engine
from .call import NO_FUSED, refuse
from .group_moments import half_pair_sum
from .log_space import wide
from .pairs import numbered, sums_by, tiled
from .result import Measured, Result
from .row_blocks import over_rows, takes_blocks


def _block_sums(full_pairs):
    """Σ c and how many, over the earlier rows of the anchor's bias label, and over those of R∥: [b, 4]."""
    def function(z, keys, index, label, bias, key_label, key_bias):
        cosines = (z @ keys.T).to(wide(z.device))
        pairs = (index[:, None] > torch.arange(len(keys), device=keys.device)) & (bias >= 0)[:, None] & (key_bias >= 0)
        aligned = pairs & (bias[:, None] == key_bias)
        across = bias[:, None] != key_bias if full_pairs else bias[:, None] < key_bias
        gathered = pairs & (label[:, None] == key_label) & (label >= 0)[:, None] & across
        sums = []
        for chosen in (aligned, gathered):
            sums += [torch.where(chosen, cosines, 0).sum(1), chosen.sum(1).to(cosines.dtype)]
        return torch.stack(sums, 1)

    return function


def _from_pairs(z, label, bias, full_pairs, call):
    """Σ c over the pairs of each bias label, how many pairs, Σ c over those of R∥, and how many."""
    index, (number, count) = torch.arange(len(z), device=z.device), numbered(bias)
    sums = over_rows(_block_sums(full_pairs), z * 1, z, (index, label, bias), (label, bias), engine=call.engine,
                     memory_budget=call.memory_budget)
    aligned, aligned_count, gathered, gathered_count = sums.unbind(1)
    return sums_by(number, count, aligned), aligned_count.sum(), gathered.sum(), gathered_count.sum()


def _sums(groups, chosen, *rows):
    """The sums of the chosen ones of `rows`, each [n, ...], over each group: each [count, ...]."""
    number, count = numbered(groups)
    number = torch.where(chosen, number, count)
    return [sums_by(number, count + 1, of)[:count] for of in rows]


def _from_groups(z, label, bias, full_pairs):
    """As _from_pairs, in time linear in the number of rows: over the ordered pairs of a group, self pairs with them, Σ c = |Σ z|²."""
    wide_z, known = z.to(wide(z.device)), bias >= 0
    ones = torch.ones_like(wide_z[:, 0].detach())
    sums, squares, rows = _sums(bias, known, wide_z, wide_z.square().sum(1), ones)
    aligned, aligned_count = (sums.square().sum(1) - squares) / 2, (rows.square().sum() - rows.sum()) / 2
    if not full_pairs:
        return aligned, aligned_count, *half_pair_sum(z, label, bias)
    number, count = numbered(bias)
    of_label, of_both = ([of.square().sum() for of in _sums(groups, known & (label >= 0), wide_z, ones)]
                         for groups in (label, numbered(label)[0] * count + number))
    return aligned, aligned_count, *((label_sum - both_sum) / 2 for label_sum, both_sum in zip(of_label, of_both))


def end(name, options, call, scale, conditions):
    views, full_pairs = call.z.shape[1], options["full_pairs"]
    z, label, bias = call.rows(), tiled(call.labels, views), tiled(call.bias_labels, views)
    fused = call.engine in ("auto", "fused") and (full_pairs or _engine.takes(z, label, bias))
    if call.engine == "fused" and not fused:
        refuse(name, NO_FUSED)
    found = _from_groups(z, label, bias, full_pairs) if fused else _from_pairs(z, label, bias, full_pairs, call)
    by_bias, spread, gathered, total = found
    perpendicular = by_bias.abs().sum() / spread.clamp_min(1)
    parallel = torch.where(total > 0, 0.5 - gathered / (2 * total.clamp_min(1)), 0)
    value = (options["alpha"] * perpendicular + options["beta"] * parallel).to(z.dtype)
    used = (bias >= 0) & ((spread > 0) | (total > 0))
    per_anchor = torch.where(used, value.detach(), math.nan)
    clamped = (spread == 0).to(torch.int64) + (total == 0)
    engine = "fused" if fused else "blocked" if takes_blocks(call.engine, len(z), len(z)) else "dense"
    return Result(value, per_anchor, Measured(len(z), used.sum(), clamped, None, None, engine))
