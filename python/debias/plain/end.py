"""EnD: regulariser that spreads embeddings of one bias label and gathers those of one class across bias labels (Tartaglione et al. 2021).

    value = α R⊥ + β R∥ over unordered pairs of rows, c = z_i · z_j
    R⊥ = (1 / M) Σ over bias labels of | Σ over its pairs of c |,     R∥ = 1 - mean over pairs of one label and two bias labels of (1 + c) / 2

Without full_pairs R∥ counts only the pairs whose later row has the smaller bias label, as the released code does. A term without pairs is 0.
"""

import math

import torch

from .call import require_distinct
from .log_space import wide
from .pairs import tiled
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


def end(name, options, call, scale, conditions):
    views = call.z.shape[1]
    require_distinct(name, call.ids, conditions)
    z, label, bias = call.rows(), tiled(call.labels, views), tiled(call.bias_labels, views)
    index = torch.arange(len(z), device=z.device)
    sums = over_rows(_block_sums(options["full_pairs"]), z * 1, z, (index, label, bias), (label, bias), engine=call.engine,
                     memory_budget=call.memory_budget)
    aligned, aligned_count, gathered, gathered_count = sums.unbind(1)
    place = torch.searchsorted(bias.sort().values, bias)  # one for each bias label
    by_bias = torch.zeros_like(aligned).index_add(0, place, aligned)
    spread, total = aligned_count.sum(), gathered_count.sum()
    perpendicular = by_bias.abs().sum() / spread.clamp_min(1)
    parallel = torch.where(total > 0, 0.5 - gathered.sum() / (2 * total.clamp_min(1)), 0)
    value = (options["alpha"] * perpendicular + options["beta"] * parallel).to(z.dtype)
    used = (bias >= 0) & ((spread > 0) | (total > 0))
    per_anchor = torch.where(used, value.detach(), math.nan)
    clamped = (spread == 0).to(torch.int64) + (total == 0)
    return Result(value, per_anchor, Measured(len(z), used.sum(), clamped, None, None, "blocked" if takes_blocks(call.engine, len(z), len(z)) else "dense"))
