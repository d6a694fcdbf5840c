"""The class prior tau_plus, the chance that two samples share a class, which the debiased losses ask for.

    tau_plus = debias.prior.from_labels(labels).tau_plus
    bound = debias.prior.from_views(z0, z1).high     # without labels: an upper bound
"""

import json
from typing import NamedTuple, Optional, Tuple

import torch

from . import _inputs
from ._library import require


class Prior(NamedTuple):
    tau_plus: float
    low: float  # of the interval, 95 %
    high: float
    method: str  # labels | views
    images: int
    classes: Optional[int]  # by labels: those seen
    threshold: Optional[float]  # by views: the cosine at which the bound was taken
    assumptions: Tuple[str, ...]


def _prior(text):
    found = json.loads(text)
    return Prior(found["tau_plus"], found["low"], found["high"], found["method"], found["images"], found.get("classes"),
                 found.get("threshold"), tuple(found["assumptions"]))


def from_labels(labels):
    """From labels [N] of a random sample; -1 is left out."""
    require("debias.prior")
    return _prior(torch.ops.debias.class_prior(_inputs.needed_integers("prior", labels, "labels", torch.empty(0))))


def from_views(*views):
    """From two views' embeddings [B, D] each, or [B, V, D], of at least 50 images: what the loss itself assumes (see `assumptions`)."""
    require("debias.prior")
    z = _inputs.views("prior", views)
    return _prior(torch.ops.debias.class_prior_of_views(z if z.dim() == 3 else z.unsqueeze(1)))
