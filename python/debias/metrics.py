"""Measures of embeddings and predictions, computed by the C++ library as `debias eval` computes them.

    predicted = debias.metrics.knn(train_embeddings, train_labels, test_embeddings)
    found = debias.metrics.group_metrics(predicted, test_labels, test_bias, aligned="same")
    found["worst_group_acc"], found["equalized_odds_difference"]
"""

import json
import math

import torch

from . import _inputs
from ._library import require


def _whole(what, value, least):
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise ValueError(f"{what}: expected an integer of at least {least}, found {value!r}")
    return value


def _known(labels):
    return int((labels >= 0).sum())


def knn(gallery, gallery_labels, queries, k=None, temperature=0.1):
    """Classes of the queries by a vote of their k nearest rows of the gallery, weighted by exp(cos / temperature): int64 [Q].

    gallery [N, D] with gallery_labels [N] (-1: does not vote), queries [Q, D]; rows need no norm. k: 200, or all of a smaller gallery.
    """
    require("debias.metrics.knn")
    gallery, queries = _inputs.embeddings("knn", gallery, "gallery"), _inputs.embeddings("knn", queries, "queries")
    labels = _inputs.needed_integers("knn", gallery_labels, "gallery_labels", torch.empty(0))
    k = min(200, _known(labels)) if k is None else _whole("knn: k", k, 1)
    return torch.ops.debias.knn(gallery, labels, queries, k, float(temperature)).to(queries.device)


def knn_accuracy(gallery, gallery_labels, queries, labels, k=None, temperature=0.1):
    """The share of the labelled queries that knn() puts into their class."""
    predicted = knn(gallery, gallery_labels, queries, k, temperature)
    labels = _inputs.needed_integers("knn_accuracy", labels, "labels", predicted)
    if labels.shape != predicted.shape:
        raise ValueError(f"knn_accuracy: {len(predicted)} queries and {len(labels)} labels; give one label for each")
    known = labels >= 0
    return (predicted == labels)[known].double().mean().item() if known.any() else math.nan


def _alignment(aligned, labels):
    if aligned is None:
        return None
    if isinstance(aligned, str):
        if aligned != "same":
            raise ValueError(f"group_metrics: aligned: unknown value '{aligned}'; give 'same', or for each class its bias values")
        return [[label] for label in range(int(labels.max()) + 1)] if len(labels) else []
    if isinstance(aligned, dict):
        aligned = [aligned.get(label, []) for label in range(max(aligned, default=-1) + 1)]
    return [[int(value) for value in (values if isinstance(values, (list, tuple)) else [values])] for values in aligned]


def _numbers(found):
    return {name: math.nan if value is None else value for name, value in found.items()}


def group_metrics(predictions, labels, bias, *, aligned=None, min_count=1, empty="skip", replicates=0, level=0.95, seed=1):
    """Accuracy and fairness by group, a group being the samples of one label and one bias value: a dict of numbers, NaN where undefined.

    acc1, worst_group_acc, unbiased_acc, demographic_parity_difference, equal_opportunity_difference and equalized_odds_difference (the
    differences as fairlearn has them), with `aligned` also aligned_acc and conflicting_acc. aligned: "same" where class c goes with bias
    value c, or for each class its bias values (a list, or a dict by class). min_count: samples that a group needs to count; empty: skip | zero, a rate without samples.
    With replicates > 0, "intervals" holds for each metric the bootstrap interval of that level.
    """
    require("debias.metrics.group_metrics")
    like = torch.empty(0)
    labels = _inputs.needed_integers("group_metrics", labels, "labels", like)
    predictions, bias = (_inputs.needed_integers("group_metrics", value, what, like) for value, what in ((predictions, "predictions"), (bias, "bias")))
    options = {"aligned": _alignment(aligned, labels), "min_count": _whole("group_metrics: min_count", min_count, 1), "empty": empty,
               "replicates": _whole("group_metrics: replicates", replicates, 0), "level": float(level),
               "seed": _whole("group_metrics: seed", seed, 0)}
    found = json.loads(torch.ops.debias.group_metrics(predictions, labels, bias, json.dumps(options)))
    out = _numbers(found["metrics"])
    if replicates:
        out["intervals"] = {name: tuple(interval) for name, interval in found["intervals"].items()}
    return out
