from typing import Any, Callable, Literal, NamedTuple, Optional, Sequence, Tuple, TypeVar, Union

import numpy as np
import torch
from torch import Tensor

from . import metrics as metrics, prior as prior
from ._program import ProgramError as ProgramError, ProgramNotFound as ProgramNotFound
from .commands import audit as audit, embed as embed, evaluate as evaluate, fix as fix, report as report, train as train
from .feature_table import FeatureTable as FeatureTable
from .results import (Audit as Audit, Candidate as Candidate, Evaluation as Evaluation, Evaluations as Evaluations,
                      FixedFeatures as FixedFeatures, Report as Report)
from .run_folder import Run as Run

__version__: str

_Integers = Union[Tensor, "np.ndarray[Any, Any]", Sequence[int], range]
_Numbers = Union[Tensor, "np.ndarray[Any, Any]", Sequence[Sequence[float]]]
_Encoder = Union[torch.nn.Module, Callable[..., Tensor]]

def about() -> dict[str, Any]: ...
def class_name(objective: str) -> str: ...
def gather(tensor: Tensor, group: Any = ...) -> Tensor: ...
def objectives() -> list[dict[str, Any]]: ...

class Diagnostics(NamedTuple):
    anchors: int
    anchors_used: int
    clamped: int
    min_estimate: Optional[float]
    effective_sample_size: Optional[float]
    engine: str
    anchors_with_positives: Optional[int] = ...
    @property
    def fused(self) -> bool: ...

Evidence = Diagnostics

_Self = TypeVar("_Self", bound="Objective")

class Objective(torch.nn.Module):
    options: dict[str, Any]
    reduction: Literal["mean", "sum", "none"]
    gather_distributed: bool
    normalize: bool
    engine: Literal["auto", "fused", "blocked", "dense"]
    memory_budget: int
    def set(self: _Self, **options: Any) -> _Self: ...
    @property
    def diagnostics(self) -> Optional[Diagnostics]: ...
    @property
    def evidence(self) -> Optional[Diagnostics]: ...
    @property
    def per_anchor(self) -> Optional[Tensor]: ...
    @property
    def anchors(self) -> Optional[int]: ...
    @property
    def anchors_with_positives(self) -> Optional[int]: ...
    @property
    def anchors_used(self) -> Optional[int]: ...
    @property
    def clamped(self) -> Optional[int]: ...
    @property
    def min_estimate(self) -> Optional[float]: ...
    @property
    def effective_sample_size(self) -> Optional[float]: ...
    @property
    def fused(self) -> Optional[bool]: ...

class _LabelFree(Objective):
    def __call__(self, *views: Tensor, labels: Optional[_Integers] = ..., ids: Optional[_Integers] = ..., keys: Optional[Tensor] = ...,
                 key_labels: Optional[_Integers] = ..., key_ids: Optional[_Integers] = ...,
                 temperature: Union[float, Tensor, None] = ...) -> Tensor: ...

class _Supervised(Objective):
    def __call__(self, features: Union[Tensor, Sequence[Tensor]], labels: Optional[_Integers] = ..., bias_labels: Optional[_Integers] = ...,
                 weights: Optional[_Numbers] = ..., *, ids: Optional[_Integers] = ..., keys: Optional[Tensor] = ...,
                 key_labels: Optional[_Integers] = ..., key_ids: Optional[_Integers] = ...,
                 temperature: Union[float, Tensor, None] = ...) -> Tensor: ...

class _OnLogits(Objective):
    def __call__(self, logits: Tensor, labels: _Integers, bias_labels: Optional[_Integers] = ..., prior: Optional[_Numbers] = ...) -> Tensor: ...

class TwoTowerLoss(torch.nn.Module):
    objective: Literal["infonce", "debiased_negatives", "hard_negatives", "bayesian", "siglip"]
    tau_plus: Optional[float]
    beta: float
    alpha: float
    drop_above: Optional[float]
    logit_scale: Any
    def __init__(self, objective: Literal["infonce", "debiased_negatives", "hard_negatives", "bayesian", "siglip"] = ..., *,
                 tau_plus: Optional[float] = ..., beta: float = ..., alpha: float = ..., drop_above: Optional[float] = ...,
                 logit_scale: Union[float, Tensor] = ..., gather_distributed: bool = ..., engine: Literal["auto", "dense", "blocked"] = ...,
                 memory_budget: int = ...) -> None: ...
    def __call__(self, image: Tensor, text: Tensor, *, logit_scale: Union[float, Tensor, None] = ...,
                 logit_bias: Union[float, Tensor, None] = ..., ids: Optional[_Integers] = ..., labels: Optional[_Integers] = ...,
                 targets: Optional[_Numbers] = ..., guide: Optional[Tuple[Tensor, Tensor]] = ...,
                 negatives: Union[Tensor, Sequence[Tensor], None] = ...) -> Tensor: ...
    @property
    def diagnostics(self) -> Optional[Diagnostics]: ...
    @property
    def evidence(self) -> Optional[Diagnostics]: ...
    @property
    def per_anchor(self) -> Optional[Tensor]: ...

class CachedStep:
    encode: Any
    loss: Callable[..., Any]
    chunk: int
    def __init__(self, encode: Union[_Encoder, Sequence[_Encoder]], loss: Callable[..., Any], chunk: int = ...) -> None: ...
    def __call__(self, *inputs: Any, **keywords: Any) -> Tensor: ...

# The losses, as scripts/python_stubs.py writes them.

class InfoNCELoss(_LabelFree):
    temperature: Any
    base_temperature: Union[float, Literal["none"], None]
    drop_false_negatives: bool
    def __init__(self, temperature: Union[float, Tensor] = ..., *, base_temperature: Union[float, Literal["none"], None] = ...,
                 drop_false_negatives: bool = ..., variant: Literal["stable", "paper", "authors", None] = ...,
                 reduction: Literal["mean", "sum", "none"] = ..., gather_distributed: bool = ..., normalize: bool = ...,
                 engine: Literal["auto", "fused", "blocked", "dense"] = ..., memory_budget: int = ...) -> None: ...

class UnbiasedLoss(_LabelFree):
    temperature: Any
    base_temperature: Union[float, Literal["none"], None]
    negatives: Literal["rescale", "drop"]
    def __init__(self, temperature: Union[float, Tensor] = ..., *, base_temperature: Union[float, Literal["none"], None] = ...,
                 negatives: Literal["rescale", "drop"] = ..., variant: Literal["stable", "paper", "authors", None] = ...,
                 reduction: Literal["mean", "sum", "none"] = ..., gather_distributed: bool = ..., normalize: bool = ...,
                 engine: Literal["auto", "fused", "blocked", "dense"] = ..., memory_budget: int = ...) -> None: ...

class DebiasedNegativesLoss(_LabelFree):
    temperature: Any
    base_temperature: Union[float, Literal["none"], None]
    tau_plus: float
    clamp: Literal["floor", "fallback", "positive", "none"]
    aggregation: Literal["grouping", "pairs"]
    drop_false_negatives: bool
    def __init__(self, temperature: Union[float, Tensor] = ..., *, base_temperature: Union[float, Literal["none"], None] = ...,
                 tau_plus: float = ..., clamp: Literal["floor", "fallback", "positive", "none"] = ...,
                 aggregation: Literal["grouping", "pairs"] = ..., drop_false_negatives: bool = ...,
                 variant: Literal["stable", "paper", "authors", None] = ..., reduction: Literal["mean", "sum", "none"] = ...,
                 gather_distributed: bool = ..., normalize: bool = ..., engine: Literal["auto", "fused", "blocked", "dense"] = ...,
                 memory_budget: int = ...) -> None: ...

class DebiasedPositivesLoss(_LabelFree):
    temperature: Any
    base_temperature: Union[float, Literal["none"], None]
    tau_plus: float
    form: Literal["eq12", "sum", "final"]
    guard: Literal["floor", "fallback", "none"]
    aggregation: Literal["grouping", "pairs"]
    drop_false_negatives: bool
    def __init__(self, temperature: Union[float, Tensor] = ..., *, base_temperature: Union[float, Literal["none"], None] = ...,
                 tau_plus: float = ..., form: Literal["eq12", "sum", "final"] = ..., guard: Literal["floor", "fallback", "none"] = ...,
                 aggregation: Literal["grouping", "pairs"] = ..., drop_false_negatives: bool = ...,
                 variant: Literal["stable", "paper", "authors", None] = ..., reduction: Literal["mean", "sum", "none"] = ...,
                 gather_distributed: bool = ..., normalize: bool = ..., engine: Literal["auto", "fused", "blocked", "dense"] = ...,
                 memory_budget: int = ...) -> None: ...

class CombinedDebiasedLoss(_LabelFree):
    temperature: Any
    base_temperature: Union[float, Literal["none"], None]
    mix: float
    tau_plus: float
    clamp: Literal["floor", "fallback", "positive", "none"]
    form: Literal["eq12", "sum", "final"]
    guard: Literal["floor", "fallback", "none"]
    aggregation: Literal["grouping", "pairs"]
    drop_false_negatives: bool
    def __init__(self, temperature: Union[float, Tensor] = ..., *, base_temperature: Union[float, Literal["none"], None] = ...,
                 mix: float = ..., tau_plus: float = ..., clamp: Literal["floor", "fallback", "positive", "none"] = ...,
                 form: Literal["eq12", "sum", "final"] = ..., guard: Literal["floor", "fallback", "none"] = ...,
                 aggregation: Literal["grouping", "pairs"] = ..., drop_false_negatives: bool = ...,
                 variant: Literal["stable", "paper", "authors", None] = ..., reduction: Literal["mean", "sum", "none"] = ...,
                 gather_distributed: bool = ..., normalize: bool = ..., engine: Literal["auto", "fused", "blocked", "dense"] = ...,
                 memory_budget: int = ...) -> None: ...

class HardNegativesLoss(_LabelFree):
    temperature: Any
    base_temperature: Union[float, Literal["none"], None]
    tau_plus: float
    beta: float
    clamp: Literal["floor", "fallback", "positive", "none"]
    detach_weights: bool
    def __init__(self, temperature: Union[float, Tensor] = ..., *, base_temperature: Union[float, Literal["none"], None] = ...,
                 tau_plus: float = ..., beta: float = ..., clamp: Literal["floor", "fallback", "positive", "none"] = ...,
                 detach_weights: bool = ..., variant: Literal["stable", "paper", "authors", None] = ...,
                 reduction: Literal["mean", "sum", "none"] = ..., gather_distributed: bool = ..., normalize: bool = ...,
                 engine: Literal["auto", "fused", "blocked", "dense"] = ..., memory_budget: int = ...) -> None: ...

class BayesianLoss(_LabelFree):
    temperature: Any
    base_temperature: Union[float, Literal["none"], None]
    form: Literal["corrected", "paper", "authors"]
    tau_plus: float
    alpha: float
    beta: float
    stabilize: bool
    detach_weights: bool
    def __init__(self, temperature: Union[float, Tensor] = ..., *, base_temperature: Union[float, Literal["none"], None] = ...,
                 form: Literal["corrected", "paper", "authors"] = ..., tau_plus: float = ..., alpha: float = ..., beta: float = ...,
                 stabilize: bool = ..., detach_weights: bool = ..., variant: Literal["stable", "paper", "authors", None] = ...,
                 reduction: Literal["mean", "sum", "none"] = ..., gather_distributed: bool = ..., normalize: bool = ...,
                 engine: Literal["auto", "fused", "blocked", "dense"] = ..., memory_budget: int = ...) -> None: ...

class SupConLoss(_Supervised):
    temperature: Any
    base_temperature: Union[float, Literal["none"], None]
    form: Literal["out", "in"]
    def __init__(self, temperature: Union[float, Tensor] = ..., *, base_temperature: Union[float, Literal["none"], None] = ...,
                 form: Literal["out", "in"] = ..., variant: Literal["stable", "paper", "authors", None] = ...,
                 reduction: Literal["mean", "sum", "none"] = ..., gather_distributed: bool = ..., normalize: bool = ...,
                 engine: Literal["auto", "fused", "blocked", "dense"] = ..., memory_budget: int = ...) -> None: ...

class EpsInfoNCELoss(_LabelFree):
    temperature: Any
    base_temperature: Union[float, Literal["none"], None]
    epsilon: float
    def __init__(self, temperature: Union[float, Tensor] = ..., *, base_temperature: Union[float, Literal["none"], None] = ...,
                 epsilon: float = ..., variant: Literal["stable", "paper", "authors", None] = ...,
                 reduction: Literal["mean", "sum", "none"] = ..., gather_distributed: bool = ..., normalize: bool = ...,
                 engine: Literal["auto", "fused", "blocked", "dense"] = ..., memory_budget: int = ...) -> None: ...

class EpsSupInfoNCELoss(_Supervised):
    temperature: Any
    base_temperature: Union[float, Literal["none"], None]
    epsilon: float
    form: Literal["c", "a", "b", "d", "in"]
    over_positives: Literal["mean", "sum"]
    log_eps: float
    def __init__(self, temperature: Union[float, Tensor] = ..., *, base_temperature: Union[float, Literal["none"], None] = ...,
                 epsilon: float = ..., form: Literal["c", "a", "b", "d", "in"] = ..., over_positives: Literal["mean", "sum"] = ...,
                 log_eps: float = ..., variant: Literal["stable", "paper", "authors", None] = ...,
                 reduction: Literal["mean", "sum", "none"] = ..., gather_distributed: bool = ..., normalize: bool = ...,
                 engine: Literal["auto", "fused", "blocked", "dense"] = ..., memory_budget: int = ...) -> None: ...

class EpsSupConLoss(_Supervised):
    temperature: Any
    base_temperature: Union[float, Literal["none"], None]
    epsilon: float
    add_epsilon: bool
    over_positives: Literal["mean", "sum"]
    def __init__(self, temperature: Union[float, Tensor] = ..., *, base_temperature: Union[float, Literal["none"], None] = ...,
                 epsilon: float = ..., add_epsilon: bool = ..., over_positives: Literal["mean", "sum"] = ...,
                 variant: Literal["stable", "paper", "authors", None] = ..., reduction: Literal["mean", "sum", "none"] = ...,
                 gather_distributed: bool = ..., normalize: bool = ..., engine: Literal["auto", "fused", "blocked", "dense"] = ...,
                 memory_budget: int = ...) -> None: ...

class BiasConLoss(_Supervised):
    temperature: Any
    base_temperature: Union[float, Literal["none"], None]
    def __init__(self, temperature: Union[float, Tensor] = ..., *, base_temperature: Union[float, Literal["none"], None] = ...,
                 variant: Literal["stable", "paper", "authors", None] = ..., reduction: Literal["mean", "sum", "none"] = ...,
                 gather_distributed: bool = ..., normalize: bool = ..., engine: Literal["auto", "fused", "blocked", "dense"] = ...,
                 memory_budget: int = ...) -> None: ...

class SoftConLoss(_Supervised):
    temperature: Any
    base_temperature: Union[float, Literal["none"], None]
    def __init__(self, temperature: Union[float, Tensor] = ..., *, base_temperature: Union[float, Literal["none"], None] = ...,
                 variant: Literal["stable", "paper", "authors", None] = ..., reduction: Literal["mean", "sum", "none"] = ...,
                 gather_distributed: bool = ..., normalize: bool = ..., engine: Literal["auto", "fused", "blocked", "dense"] = ...,
                 memory_budget: int = ...) -> None: ...

class FairKLLoss(_Supervised):
    mode: Literal["authors", "mean", "stats", "kl", "jeffreys", "lognormal"]
    kld: float
    pooling: Literal["batch", "anchor"]
    empty: Literal["auto", "skip", "zero"]
    variance_floor: float
    normaliser: Literal["weights", "batch"]
    def __init__(self, *, mode: Literal["authors", "mean", "stats", "kl", "jeffreys", "lognormal"] = ..., kld: float = ...,
                 pooling: Literal["batch", "anchor"] = ..., empty: Literal["auto", "skip", "zero"] = ..., variance_floor: float = ...,
                 normaliser: Literal["weights", "batch"] = ..., variant: Literal["stable", "paper", "authors", None] = ...,
                 reduction: Literal["mean", "sum", "none"] = ..., gather_distributed: bool = ..., normalize: bool = ...,
                 engine: Literal["auto", "fused", "blocked", "dense"] = ..., memory_budget: int = ...) -> None: ...

class EnDLoss(_Supervised):
    alpha: float
    beta: float
    full_pairs: bool
    def __init__(self, *, alpha: float = ..., beta: float = ..., full_pairs: bool = ...,
                 variant: Literal["stable", "paper", "authors", None] = ..., reduction: Literal["mean", "sum", "none"] = ...,
                 gather_distributed: bool = ..., normalize: bool = ..., engine: Literal["auto", "fused", "blocked", "dense"] = ...,
                 memory_budget: int = ...) -> None: ...

class CrossEntropyLoss(_OnLogits):
    def __init__(self, *, variant: Literal["stable", "paper", "authors", None] = ..., reduction: Literal["mean", "sum", "none"] = ...,
                 gather_distributed: bool = ..., normalize: bool = ..., engine: Literal["auto", "fused", "blocked", "dense"] = ...,
                 memory_budget: int = ...) -> None: ...

class BiasBalancedLoss(_OnLogits):
    def __init__(self, *, variant: Literal["stable", "paper", "authors", None] = ..., reduction: Literal["mean", "sum", "none"] = ...,
                 gather_distributed: bool = ..., normalize: bool = ..., engine: Literal["auto", "fused", "blocked", "dense"] = ...,
                 memory_budget: int = ...) -> None: ...

class GeneralizedCrossEntropyLoss(_OnLogits):
    q: float
    form: Literal["standard", "lff"]
    def __init__(self, *, q: float = ..., form: Literal["standard", "lff"] = ...,
                 variant: Literal["stable", "paper", "authors", None] = ..., reduction: Literal["mean", "sum", "none"] = ...,
                 gather_distributed: bool = ..., normalize: bool = ..., engine: Literal["auto", "fused", "blocked", "dense"] = ...,
                 memory_budget: int = ...) -> None: ...

class LargeMarginSoftmaxLoss(_OnLogits):
    margin: int
    blend: float
    scale: float
    def __init__(self, *, margin: int = ..., blend: float = ..., scale: float = ...,
                 variant: Literal["stable", "paper", "authors", None] = ..., reduction: Literal["mean", "sum", "none"] = ...,
                 gather_distributed: bool = ..., normalize: bool = ..., engine: Literal["auto", "fused", "blocked", "dense"] = ...,
                 memory_budget: int = ...) -> None: ...
