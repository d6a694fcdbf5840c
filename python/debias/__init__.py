"""Contrastive losses corrected for sampling bias and data bias, as modules of torch.

    loss = debias.DebiasedNegativesLoss(temperature=0.5, tau_plus=0.1)
    loss(z0, z1).backward()          # two views, each [B, D]
    loss.diagnostics.clamped            # number of anchors whose estimate was clamped to its floor

`debias.Run(path)` opens a run folder of the program; `debias.train`, `evaluate`, `embed`, `report`, `audit` and `fix` run the program.

Every objective of the C++ registry is a class with a name in CamelCase + Loss; `debias.objectives()` lists them. docs/python.md is the manual.
"""

from . import metrics, prior
from ._gather import gather
from ._table import VERSION as __version__, about, objectives, warn_once as _warn_once
from ._diagnostics import Diagnostics
from ._losses import Objective, class_name, make_classes
from ._program import ProgramError, ProgramNotFound
from .cached_step import CachedStep
from .commands import audit, embed, evaluate, fix, report, train
from .feature_table import FeatureTable
from .results import Audit, Candidate, Evaluation, Evaluations, FixedFeatures, Report
from .run_folder import Run
from .two_tower import TwoTowerLoss

Evidence = Diagnostics  # an earlier name
_classes = make_classes(__name__)
globals().update(_classes)
__all__ = ["Audit", "CachedStep", "Candidate", "Diagnostics", "Evaluation", "Evaluations", "FeatureTable", "FixedFeatures", "Objective",
           "ProgramError", "ProgramNotFound", "Report", "Run", "TwoTowerLoss", "about", "audit", "class_name", "embed", "evaluate", "fix",
           "gather", "metrics", "objectives", "prior", "report", "train", *_classes]
_warn_once()
