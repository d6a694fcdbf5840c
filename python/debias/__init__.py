"""Contrastive losses corrected for sampling bias and data bias, as modules of torch.

    loss = debias.DebiasedNegativesLoss(temperature=0.5, tau_plus=0.1)
    loss(z0, z1).backward()          # two views, each [B, D]
    loss.evidence.clamped            # how many anchors' estimates were held at their floor

Every objective of the C++ registry is one class, named in CamelCase + Loss; `debias.objectives()` lists them. docs/python.md is the manual.
"""

from . import metrics, prior
from ._dense import COMPOSED as _COMPOSED
from ._gather import gather
from ._library import objectives, warn_once as _warn_once
from ._losses import Evidence, Objective, make_classes

__version__ = "0.1.0"

_classes = make_classes(__name__)
globals().update(_classes)
__all__ = ["Evidence", "Objective", "gather", "metrics", "objectives", "prior", *_classes]
_warn_once(_COMPOSED)
