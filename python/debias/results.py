"""Results of the program's commands: evaluations, audits, corrections and reports, as values and as notebook output."""

import collections
import dataclasses
import html
import json
import math
import pathlib
from typing import Any, Dict, Iterator, List, Mapping, Optional, Tuple

import torch

from . import _safetensors
from ._frames import frame_of
from ._inputs import unmasked, warn


def _read_json(path: pathlib.Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path}: expected JSON, found something else ({error})") from None


def _numbers(found: Mapping[str, Any]) -> Dict[str, float]:
    return {name: math.nan if value is None else value for name, value in found.items()}


def _intervals(found: Mapping[str, Any]) -> Dict[str, Tuple[float, float]]:
    return {name: (math.nan if low is None else low, math.nan if high is None else high) for name, (low, high) in found.items()}


def table_page(header: List[str], rows: List[List[Any]]) -> str:
    """A table in HTML."""
    def line(tag: str, cells: List[Any]) -> str:
        spoken = (f"{cell:.4f}" if isinstance(cell, float) else str(cell) for cell in cells)
        return "<tr>" + "".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in spoken) + "</tr>"

    return "<table>" + line("th", header) + "".join(line("td", row) for row in rows) + "</table>"


def framed(page: str) -> str:
    """A whole page within a notebook's cell. It runs no script."""
    return f'<iframe sandbox="" style="width:100%;height:640px;border:0" srcdoc="{html.escape(page, quote=True)}"></iframe>'


@dataclasses.dataclass(frozen=True)
class Evaluation:
    """Result of one protocol: `metrics` by name (NaN if undefined), their `intervals` if there are any, and the `options` in use. `details` is
    the whole result file."""

    protocol: str
    metrics: Dict[str, float]
    intervals: Dict[str, Tuple[float, float]]
    options: Dict[str, Any]
    details: Dict[str, Any] = dataclasses.field(repr=False)

    @classmethod
    def of(cls, name: str, found: Mapping[str, Any]) -> "Evaluation":
        return cls(found.get("protocol", name), _numbers(found.get("metrics", {})), _intervals(found.get("intervals", {})),
                   dict(found.get("options", {})), dict(found))


class Evaluations(Dict[str, Evaluation]):
    """Evaluations by protocol."""

    @property
    def metrics(self) -> Dict[str, Dict[str, float]]:
        return {name: one.metrics for name, one in self.items()}

    def _rows(self) -> List[List[Any]]:
        nothing = (math.nan, math.nan)
        return [[name, metric, value, *one.intervals.get(metric, nothing)] for name, one in self.items() for metric, value in one.metrics.items()]

    def frame(self) -> Any:
        """A pandas DataFrame: protocol, metric, value, low, high."""
        return frame_of([dict(zip(("protocol", "metric", "value", "low", "high"), row)) for row in self._rows()])

    def _repr_html_(self) -> str:
        shown = [[name, metric, value, "" if math.isnan(low) else f"{low:.4f} to {high:.4f}"] for name, metric, value, low, high in self._rows()]
        return table_page(["protocol", "metric", "value", "interval"], shown)


@dataclasses.dataclass(frozen=True)
class Report:
    """A report: `verdict`, `runs` and `details` as the program writes them, the page as `html`, and its `path` (or None)."""

    details: Dict[str, Any] = dataclasses.field(repr=False)
    html: str = dataclasses.field(repr=False)
    path: Optional[pathlib.Path] = None

    @property
    def verdict(self) -> Dict[str, Any]:
        return dict(self.details["verdict"])

    @property
    def findings(self) -> List[str]:
        """The verdict's sentences, one for each run or group of runs."""
        return [one["words"] for one in self.verdict.get("shortcut", [])]

    def _repr_html_(self) -> str:
        return framed(self.html)


@dataclasses.dataclass(frozen=True)
class Candidate:
    """A property and how it goes with a class. `value` is on a share `in_class` of the groups of the class `label`, and on `elsewhere` of the
    others'. `effect` is what goes beyond permuted labels (0: chance, 1: the class alone, whole), `p_adjusted` is adjusted for all properties.
    `verdict` is shortcut, look or none; `with_it` names properties that add nothing to this one; `expected` ones were declared legitimate."""

    name: str
    kind: str
    verdict: str
    label: str
    value: str
    in_class: float
    elsewhere: float
    effect: float
    p_adjusted: float
    exact: bool
    assignable: bool
    place: Any
    with_it: List[str]
    expected: bool

    @classmethod
    def of(cls, found: Mapping[str, Any]) -> "Candidate":
        return cls(**{field.name: found["class" if field.name == "label" else field.name] for field in dataclasses.fields(cls)})


@dataclasses.dataclass(frozen=True)
class Audit:
    """Result of an audit: `shortcuts` and what is worth a `look`, strongest first, all `candidates`, and what is `not_detectable`.

    `groups` of rows that belong together were found in `groups_from`; columns in `identifiers` name such groups. A mark on a smaller share of
    a class than `smallest_effect_seen` would have been missed.
    """

    images: int
    groups: int
    groups_from: str
    identifiers: List[str]
    classes: List[str]
    shortcuts: List[Candidate]
    look: List[Candidate]
    candidates: List[Candidate]
    smallest_effect_seen: float
    searched: List[str]
    not_detectable: List[str]
    notes: List[str]
    html: str = dataclasses.field(repr=False)

    @classmethod
    def of(cls, found: Mapping[str, Any], page: str) -> "Audit":
        lists = {name: [Candidate.of(one) for one in found[name]] for name in ("shortcuts", "look", "candidates")}
        own = {field.name: found[field.name] for field in dataclasses.fields(cls) if field.name not in lists and field.name != "html"}
        return cls(**own, **lists, html=page)

    def frame(self) -> Any:
        """The candidates as a pandas DataFrame."""
        return frame_of([dataclasses.asdict(one) for one in self.candidates])

    def _repr_html_(self) -> str:
        return framed(self.html)


class Correction(torch.nn.Module):
    """The correction of features by `debias fix`: r(x) = x - left right (x - mean) for rows x ``[..., D]``."""

    def __init__(self, mean: torch.Tensor, left: torch.Tensor, right: torch.Tensor) -> None:
        super().__init__()
        for name, tensor in (("mean", mean), ("left", left), ("right", right)):
            self.register_buffer(name, tensor)

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        if features.shape[-1:] != self.mean.shape:
            raise ValueError(f"Correction: features: expected shape [..., {self.mean.shape[0]}], found {list(features.shape)}")
        return features - (features - self.mean) @ self.right.T @ self.left.T


class FixedFeatures:
    """A folder of `debias fix`, opened without the program.

    `method`, `changed` and `rank` describe the correction. `before` and `after` have accuracies by split, with intervals. `layer` corrects
    features, and `head` is the linear classifier of corrected features; both are torch modules. `classes` are the names of the logits.
    `correct` is another name of `transform`.
    """

    def __init__(self, path: Any) -> None:
        self.path = pathlib.Path(path)
        file = self.path / "fix.json"
        if not file.is_file():
            raise FileNotFoundError(f"{self.path}: expected a folder of debias fix, found no fix.json in it")
        self.details: Dict[str, Any] = _read_json(file)
        self.method: str = self.details["method"]
        self.changed: bool = self.details["changed"]
        self.before: Dict[str, Any] = self.details["before"]
        self.after: Dict[str, Any] = self.details["after"]
        self.rank: int = self.details["rank"]
        self.notes: List[str] = list(self.details.get("notes", []))
        self.classes: List[str] = list(_read_json(self.path / "classes.json")["classes"])
        layer, head = (_safetensors.read(self.path / name) for name in ("layer.safetensors", "head.safetensors"))
        self._trained = {what: [float(one) for one in text.split()] for what, text in _safetensors.metadata(self.path / "layer.safetensors").items()
                         if what in ("norm_quantiles", "mean_quantiles")}
        self.layer = Correction(layer["mean"], layer["left"], layer["right"])
        self.head = torch.nn.Linear(head["weight"].shape[1], head["weight"].shape[0])
        self.head.load_state_dict(head)
        self.layer.requires_grad_(False), self.head.requires_grad_(False)

    def _rows(self, features: Any) -> torch.Tensor:
        """Features ``[n, D]`` as a tensor of the layer's type."""
        dtype, width = self.layer.mean.dtype, self.layer.mean.shape[0]
        given = unmasked("FixedFeatures: features", features)
        given = given.to_numpy() if hasattr(given, "to_numpy") else given
        try:
            if not isinstance(given, torch.Tensor):  # without the warning of torch about an array that is only readable
                given = torch.tensor(given, dtype=dtype) if hasattr(given, "flags") and not given.flags.writeable else torch.as_tensor(given)
        except (TypeError, ValueError, RuntimeError):
            raise TypeError(f"FixedFeatures: features: expected numbers [n, {width}], found {type(features).__name__}") from None
        if given.dim() != 2 or given.shape[1] != width:
            raise ValueError(f"FixedFeatures: features: expected shape [n, {width}], found {list(given.shape)}")
        bad = given.isfinite().all(1).logical_not().nonzero().flatten().tolist()
        if bad:
            raise ValueError(f"FixedFeatures: features: expected finite numbers, found others in {len(bad)} rows, first in row {bad[0]}")
        rows = given.to(dtype)
        for note in self._notes_on(rows):
            warn(note)
        return rows

    def _notes_on(self, rows: torch.Tensor) -> Iterator[str]:
        """As `debias fix --apply` compares new vectors with the training rows."""
        for what, measured in (("norm", rows.norm(dim=1)), ("mean", rows.mean(1))):
            if f"{what}_quantiles" not in self._trained or not len(rows):
                continue
            low, median, high = self._trained[f"{what}_quantiles"]
            slack = max(0.1 * (high - low), 1e-3 * max(abs(low), abs(high)))
            outside = ((measured < low - slack) | (measured > high + slack)).nonzero().flatten().tolist()
            if len(outside) > 0.1 * len(rows):
                yield (f"FixedFeatures: {len(outside)} of {len(rows)} vectors have a {what} outside of that of the training rows ({low:.3g} to "
                       f"{high:.3g}), the first {float(measured[outside[0]]):.3g} in row {outside[0]}, the median {float(measured.median()):.3g} "
                       f"instead of {median:.3g}: use the same encoder, layer, preprocessing and normalisation")

    def transform(self, features: Any) -> torch.Tensor:
        """Corrects features ``[n, D]`` of the same encoder: an array, a tensor on any device, or a pandas DataFrame."""
        rows = self._rows(features)
        return self.layer.to(rows.device)(rows)

    correct = transform

    def predict(self, features: Any) -> List[str]:
        """The predicted class of each sample."""
        corrected = self.transform(features)
        return [self.classes[place] for place in self.head.to(corrected.device)(corrected).argmax(1).tolist()]

    def module(self) -> torch.nn.Module:
        """A new module in float32 that maps features ``[..., D]`` to logits ``[..., C]``: `layer`, then `head`. The head can be trained; the
        layer has no parameters, and gradients flow through it."""
        with torch.inference_mode(False):
            layer = Correction(*(tensor.detach().float().cpu().clone() for tensor in (self.layer.mean, self.layer.left, self.layer.right)))
            head = torch.nn.Linear(self.head.in_features, self.head.out_features)
            head.load_state_dict({name: tensor.detach().clone() for name, tensor in self.head.state_dict().items()})
            return torch.nn.Sequential(collections.OrderedDict(layer=layer, head=head))

    def _accuracies(self) -> List[List[Any]]:
        shown = ("acc", "aligned_acc", "conflicting_acc", "worst_group_acc")
        return [[split, name, self.before[split].get(name), value] for split, found in self.after.items()
                for name, value in found.items() if name in shown and value is not None]

    def frame(self) -> Any:
        """A pandas DataFrame: split, metric, before, after."""
        return frame_of([dict(zip(("split", "metric", "before", "after"), row)) for row in self._accuracies()])

    def __repr__(self) -> str:
        return f"FixedFeatures({str(self.path)!r}, method={self.method!r}, changed={self.changed}, rank={self.rank})"

    def _repr_html_(self) -> str:
        return table_page(["split", "metric", "before", "after"], self._accuracies())
