#!/usr/bin/env python3
"""Writes python/debias/__init__.pyi, the types of the package, from the table of objectives; --check: says whether it is up to date."""

import json
import pathlib
import sys

PACKAGE = pathlib.Path(__file__).resolve().parents[1] / "python" / "debias"
ACRONYMS = {"infonce": "InfoNCE", "supinfonce": "SupInfoNCE", "supcon": "SupCon", "biascon": "BiasCon", "softcon": "SoftCon", "fairkl": "FairKL",
            "end": "EnD"}

HEAD = '''# Written by scripts/python_stubs.py.
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
                 targets: Optional[_Numbers] = ..., guide: Optional[Tuple[Tensor, Tensor]] = ...) -> Tensor: ...
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
    def __call__(self, *inputs: Tensor, **keywords: Any) -> Tensor: ...
'''

COMMON = '''variant: Literal["stable", "paper", "authors", None] = ..., reduction: Literal["mean", "sum", "none"] = ...,
                 gather_distributed: bool = ..., normalize: bool = ..., engine: Literal["auto", "fused", "blocked", "dense"] = ...,
                 memory_budget: int = ...'''


def class_name(objective):
    return "".join(ACRONYMS.get(word, word.capitalize()) for word in objective.split("_")) + "Loss"


def type_of(option):
    if option["type"] == "boolean":
        return "bool"
    if option["type"] == "word":
        return f"Literal[{', '.join(json.dumps(choice) for choice in option['choices'])}]"
    if option["name"] == "temperature":
        return "Union[float, Tensor]"
    if option["type"] == "integer":
        return "int"
    return 'Union[float, Literal["none"], None]' if option["type"].endswith("or none") else "float"


def stub_of(entry):
    base = "_OnLogits" if entry["kind"] == "logits" else "_Supervised" if entry["min_views"] == 1 else "_LabelFree"
    options = entry["options"]
    first = [f"{option['name']}: {type_of(option)} = ..." for option in options if option["name"] == "temperature"]
    others = [f"{option['name']}: {type_of(option)} = ..." for option in options if option["name"] != "temperature"]
    arguments = ",\n                 ".join(["self", *first, "*", *others, COMMON])
    attributes = "".join(f"    {option['name']}: {'Any' if option['name'] == 'temperature' else type_of(option)}\n" for option in options)
    return f"class {class_name(entry['name'])}({base}):\n{attributes}    def __init__({arguments}) -> None: ...\n"


def written():
    table = json.loads((PACKAGE / "objectives.json").read_text())
    return HEAD + "\n" + "\n".join(map(stub_of, table))


if __name__ == "__main__":
    path = PACKAGE / "__init__.pyi"
    if sys.argv[1:] == ["--check"]:
        sys.exit(0 if path.read_text() == written() else f"{path.name} is not what scripts/python_stubs.py writes; run it")
    path.write_text(written())
