"""Anchors, the keys that they are compared with, and what each pair of them is.

An integer of each row, its group, says what a pair is: keys of the anchor's group are `equal`, the others `unequal`, and where anchors are
compared with each other (`square`) an anchor's own row is neither. Groups of one sample make the unequal keys the negatives of a label-free
objective; groups of one class make the equal keys the positives of a supervised one. Row v·B + i is view v of sample i.
"""

from typing import NamedTuple, Optional

import torch

from .._modes import eager_on_cpu
from .call import Call
from .engines import engine_of


class Grouping(NamedTuple):
    rows: torch.Tensor  # int64 [n]
    keys: torch.Tensor  # int64 [m]


class Pairs(NamedTuple):
    anchors: torch.Tensor  # [n, D]
    keys: torch.Tensor  # [m, D]; the anchors themselves where `square`
    square: bool
    by_sample: Grouping
    by_class: Optional[Grouping]
    call: Call
    engine: str  # which computes sums over these pairs: fused, blocked or dense

    def scaled(self):
        """The anchors [n, D] divided by the temperature."""
        return self.anchors / self.call.temperature

    def size(self, chosen, by_class=False):
        """How many keys of each anchor are in the set `equal`, `unequal` or `others`: [n], in the anchors' type."""
        itself = 1 if self.square else 0
        if chosen == "others":
            return torch.zeros_like(self.anchors[:, 0].detach()) + (self.keys.shape[0] - itself)
        grouping = self.by_class if by_class else self.by_sample
        equal = (members(grouping.rows, grouping.keys) - itself).to(self.anchors.dtype)
        return equal if chosen == "equal" else self.keys.shape[0] - itself - equal


def members(groups, of):
    """How many of `of` are in each of `groups`."""
    ordered = of.sort().values
    return torch.searchsorted(ordered, groups, right=True) - torch.searchsorted(ordered, groups)


def numbered(groups):
    """A number for each group, int64 [n], and what they are below: how many there are where the host may count them, else n."""
    if eager_on_cpu(groups):
        distinct, numbers = torch.unique(groups, return_inverse=True)
        return numbers, len(distinct)
    return torch.searchsorted(groups.sort().values, groups), len(groups)


def sums_by(numbers, count, rows):
    """[count, ...]: the sum of the rows [n, ...] of each number."""
    return rows.new_zeros(count, *rows.shape[1:]).index_add(0, numbers, rows)


def group_sums(groups, rows):
    """For each row, the sum of the rows [n, D] of its group."""
    numbers, count = numbered(groups)
    return sums_by(numbers, count, rows).index_select(0, numbers)


def class_groups(labels, samples):
    """Rows of one known label, or of one sample where the label is unknown (-1), have one group."""
    return torch.where(labels >= 0, labels, -1 - numbered(samples)[0])


def tiled(values, views):
    return values if values is None else values.repeat(views)


def square_pairs(rows, samples, labels, views, call):
    """The rows [V·B, D] compared with each other; samples and labels [B]."""
    by_sample = tiled(samples, views)
    by_class = None if labels is None else class_groups(tiled(labels, views), by_sample)
    return Pairs(rows, rows, True, Grouping(by_sample, by_sample), None if by_class is None else Grouping(by_class, by_class), call,
                 engine_of(call, rows, rows, True))


def _samples_of_keys(key_ids, count, samples):
    """Numbers of the keys' samples; a key without one gets its own."""
    own = torch.arange(count, device=samples.device) + samples.max() + 1
    return own if key_ids is None else torch.where(key_ids >= 0, key_ids, own + key_ids.max().clamp_min(0) + 1)


def keyed_pairs(rows, samples, labels, views, call, keys, key_ids, key_labels):
    """The rows [V·B, D] compared with keys [m, D]; samples and labels [B], key_ids and key_labels [m]."""
    own = tiled(samples, views)
    both = torch.cat([own, _samples_of_keys(key_ids, len(keys), samples)])
    by_class = None
    if labels is not None and key_labels is not None:
        groups = class_groups(torch.cat([tiled(labels, views), key_labels]), both)
        by_class = Grouping(groups[:len(own)], groups[len(own):])
    return Pairs(rows, keys, False, Grouping(own, both[len(own):]), by_class, call, engine_of(call, rows, keys, False))
