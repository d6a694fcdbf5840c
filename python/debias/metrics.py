"""Measures of embeddings and predictions, the same as those of `debias eval`.

    predicted = debias.metrics.knn(train_embeddings, train_labels, test_embeddings)
    found = debias.metrics.group_metrics(predicted, test_labels, test_bias, aligned="same")
    found["worst_group_acc"], found["equalized_odds_difference"]
"""

import math
from typing import Any, Dict, Optional, Sequence, Union

import torch

from . import _engine, _inputs, _rows
from ._engine import neighbours as _neighbours
from .plain import group_metrics as _plain_groups, knn as _plain_knn

_Integers = Union[torch.Tensor, Sequence[int], Any]


def _whole(what, value, least):
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise ValueError(f"{what}: expected an integer of at least {least}, found {value!r}")
    return value


def _known(labels):
    return int((labels >= 0).sum())


def _warn_of_offset(rows):
    """As the program notes it of a table."""
    some = rows[:: max(1, len(rows) // 4096)].detach().double()
    mean = some.mean(0) if some.dim() == 2 and len(some) else some
    spread = (some - mean).square().sum(-1).mean().sqrt()
    if some.dim() == 2 and len(some) and 0 < 100 * spread < mean.norm():
        _inputs.warn(f"knn: the gallery lies {mean.norm():.2g} from 0 and {spread:.2g} from its mean: cosines keep few digits of float32; subtract "
                     "its mean from gallery and queries, in float64")


def knn(gallery: torch.Tensor, gallery_labels: _Integers, queries: torch.Tensor, k: Optional[int] = None,
        temperature: float = 0.1) -> torch.Tensor:
    """Classes int64 [Q] of the queries, by a vote of their k nearest neighbours in the gallery, weighted by exp(cos / temperature).

    gallery is [N, D] with gallery_labels [N] (-1: does not vote), queries is [Q, D]. Norms do not matter. By default, k is 200, or all of a
    smaller gallery.
    """
    gallery, queries = _inputs.embeddings("knn", gallery, "gallery"), _inputs.embeddings("knn", queries, "queries")
    labels = _inputs.needed_integers("knn", gallery_labels, "gallery_labels", torch.empty(0, device="cpu"), numbered=True)
    _warn_of_offset(gallery)
    k = min(200, _known(labels)) if k is None else _whole("knn: k", k, 1)
    search = _neighbours.nearest if _engine.takes(gallery, queries) else _plain_knn.nearest
    found = _plain_knn.predicted(gallery, labels.to(gallery.device), queries.to(gallery.device), k, float(temperature), search)
    return found.to(queries.device)


def knn_accuracy(gallery: torch.Tensor, gallery_labels: _Integers, queries: torch.Tensor, labels: _Integers, k: Optional[int] = None,
                 temperature: float = 0.1) -> float:
    """Share of the labelled queries that knn() classifies correctly."""
    predicted = knn(gallery, gallery_labels, queries, k, temperature)
    labels = _inputs.needed_integers("knn_accuracy", labels, "labels", predicted, numbered=True)
    if labels.shape != predicted.shape:
        raise ValueError(f"knn_accuracy: {len(predicted)} queries and {len(labels)} labels; give one label for each")
    known = labels >= 0
    return (predicted == labels)[known].double().mean().item() if known.any() else math.nan


def _alignment(aligned, labels):
    if aligned is None:
        return None
    if isinstance(aligned, str):
        if aligned != "same":
            raise ValueError(f"group_metrics: aligned: unknown value '{aligned}'; give 'same', or for each class its bias labels")
        return [[label] for label in range(int(labels.max()) + 1)] if len(labels) else []
    if isinstance(aligned, dict):
        aligned = [aligned.get(label, []) for label in range(max(aligned, default=-1) + 1)]
    return [[int(value) for value in (values if isinstance(values, (list, tuple)) else [values])] for values in aligned]


def group_metrics(predictions: _Integers, labels: _Integers, bias: _Integers, *, aligned: Any = None, min_count: int = 1, empty: str = "skip",
                  replicates: int = 0, level: float = 0.95, seed: int = 1, groups: Optional[_Integers] = None) -> Dict[str, Any]:
    """Accuracy and fairness by group, as a dict of numbers, NaN if undefined. A group is the samples of one label and one bias label.

    The keys are acc1, worst_group_acc, unbiased_acc, demographic_parity_difference, equal_opportunity_difference and
    equalized_odds_difference. The differences are those of fairlearn. With `aligned`, there are also aligned_acc and conflicting_acc. With
    `replicates` > 0, "intervals" has a bootstrap interval of each metric; that of worst_group_acc is from simultaneous Wilson intervals of the groups,
    and that of an accuracy of 0 or 1 is Wilson's.

    Args:
        aligned: "same" if bias label c is aligned with class c; else the bias labels of each class (a list, or a dict by class).
        min_count: minimum number of samples of a group.
        empty: skip or zero, for a rate without samples.
        replicates: number of bootstrap replicates.
        level: confidence level of the intervals.
        seed: seed of the bootstrap.
        groups: [N] integers of what belongs together, such as patients (-1: a sample alone); the bootstrap then draws these, and the
            intervals of a single one are left out.
    """
    like, order = torch.empty(0, device="cpu"), _rows.RowOrder("group_metrics")
    predictions, labels, bias, groups = (order.placed(what, given) for what, given in (
        ("predictions", predictions), ("labels", labels), ("bias", bias), ("groups", groups)))
    labels = _inputs.needed_integers("group_metrics", labels, "labels", like, numbered=True)
    predictions, bias = (_inputs.needed_integers("group_metrics", value, what, like, numbered=True) for value, what in ((predictions, "predictions"), (bias, "bias")))
    options = {"aligned": _alignment(aligned, labels), "min_count": _whole("group_metrics: min_count", min_count, 1), "empty": empty,
               "replicates": _whole("group_metrics: replicates", replicates, 0), "level": float(level),
               "seed": _whole("group_metrics: seed", seed, 0),
               "groups": _inputs.integers("group_metrics", groups, "groups", like)}
    found = _plain_groups.measured(predictions, labels, bias, options)
    out = dict(found["metrics"])
    if replicates:
        out["intervals"] = {name: tuple(interval) for name, interval in found["intervals"].items()}
    return out
