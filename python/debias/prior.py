"""The class prior tau_plus: the probability that two samples share a class. The debiased losses need it.

    tau_plus = debias.prior.from_labels(labels).tau_plus
    bound = debias.prior.from_views(z0, z1).high     # without labels: an upper bound
"""

from typing import Any, Dict, NamedTuple, Optional, Sequence, Tuple, Union

import torch

from . import _inputs, _rows
from .feature_table import FeatureTable
from .plain import class_prior as _plain


class Prior(NamedTuple):
    tau_plus: float
    low: float  # of the interval, 95 %
    high: float
    method: str  # labels | views
    images: int
    classes: Optional[int]  # by labels: those seen
    threshold: Optional[float]  # by views: the cosine at which the bound was taken
    assumptions: Tuple[str, ...]
    groups: Optional[int] = None  # of these images, where some belong together


def _prior(found: Dict[str, Any]) -> Prior:
    return Prior(found["tau_plus"], found["low"], found["high"], found["method"], found["images"], found.get("classes"),
                 found.get("threshold"), tuple(found["assumptions"]), found.get("groups"))


def from_labels(labels: Union[torch.Tensor, Sequence[int], FeatureTable], groups: Union[torch.Tensor, Sequence[int], None] = None) -> Prior:
    """Estimates the prior from the labels [N] of a random sample, or of a table; -1 is ignored.

    groups [N] are integers of what belongs together, such as patients (-1: a sample alone), by default those of the table: pairs of one
    group do not count.
    """
    if isinstance(labels, FeatureTable):
        labels, groups = labels.label_numbers(), labels.group_numbers() if groups is None else groups
    order = _rows.RowOrder("prior")
    labels, groups = order.placed("labels", labels), order.placed("groups", groups)
    labels = _inputs.needed_integers("prior", labels, "labels", torch.empty(0, device="cpu"))
    return _prior(_plain.of_labels(labels, _inputs.integers("prior", groups, "groups", torch.empty(0, device="cpu"))))


def from_views(*views: torch.Tensor, groups: Union[torch.Tensor, Sequence[int], None] = None) -> Prior:
    """Upper bound of the prior from the embeddings of two views, [B, D] each or [B, V, D], of at least 50 images.

    It assumes what the debiased losses assume (see `assumptions`). groups [B] as for `from_labels`: rows of one group are not compared.
    """
    z = _inputs.views("prior", views)
    z = z if z.dim() == 3 else z.unsqueeze(1)
    return _prior(_plain.of_views(z, _inputs.integers("prior", groups, "groups", torch.empty(0, device="cpu"))))
