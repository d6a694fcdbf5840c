"""A run folder, opened without the program."""

import difflib
import functools
import json
import os
import pathlib
from typing import Any, Dict, List, Optional, Union

import torch

from . import _networks, _safetensors, _yaml
from ._frames import frame_of
from .feature_table import FeatureTable
from .results import Evaluation, Evaluations, _read_json, framed, table_page

_Path = Union[str, "os.PathLike[str]"]


def _lines(path: pathlib.Path) -> List[Dict[str, Any]]:
    """The objects of a .jsonl file. A last line without its end is being written and does not count."""
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    whole = text[:text.rfind("\n") + 1].split("\n")[:-1]
    out = []
    for number, line in enumerate(whole, 1):
        try:
            out.append(json.loads(line))
        except ValueError:
            raise ValueError(f"{path}: line {number}: expected a JSON object, found {line[:60]!r}") from None
    return out


def _require_run(path: pathlib.Path) -> None:
    if (path / "config.yaml").is_file():
        return
    if not path.exists():
        beside = [one.name for one in path.parent.iterdir()] if path.parent.is_dir() else []
        near = difflib.get_close_matches(path.name, beside, n=1)
        raise FileNotFoundError(f"{path}: no such run folder" + (f"; did you mean '{path.parent / near[0]}'?" if near else ""))
    within = sorted(str(file.parent) for depth in ("*", "*/*", "*/*/*") for file in path.glob(f"{depth}/config.yaml"))
    raise ValueError(f"{path}: expected a run folder, found no config.yaml in it" +
                     (f"; it contains {len(within)} runs, such as '{within[0]}'" if within else "; debias train writes run folders"))


class Run:
    """A run folder of `debias train`: recipe, metrics, evaluations, weights, embeddings. It is read-only and does not need the program.

    Example::

        run = debias.Run("runs/first")
        run.recipe["train"]["epochs"]
        run.last["test.knn_acc1"]                # run.metrics has every epoch, run.frame() is a DataFrame
        run.evaluations["knn"].metrics
        encoder = run.encoder()                  # torchvision's ResNet with the run's weights
    """

    def __init__(self, path: _Path) -> None:
        self.path = pathlib.Path(path)
        _require_run(self.path)

    def __fspath__(self) -> str:
        return str(self.path)

    def __repr__(self) -> str:
        return f"Run({str(self.path)!r})"

    @functools.cached_property
    def recipe(self) -> Dict[str, Any]:
        """The recipe with all options, as a dict."""
        found = _yaml.read(self.path / "config.yaml")
        if not isinstance(found, dict):
            raise ValueError(f"{self.path / 'config.yaml'}: expected options by name, found {type(found).__name__}")
        return found

    @property
    def name(self) -> str:
        return str(self.recipe.get("name") or self.path.name)

    def _names(self, what: str) -> List[str]:
        file = self.path / "classes.json"
        return [str(name) for name in _read_json(file).get(what, [])] if file.exists() else []

    @property
    def classes(self) -> List[str]:
        """Names of the classes in the order of their numbers; empty if the run has none."""
        return self._names("classes")

    @property
    def biases(self) -> List[str]:
        return self._names("biases")

    @property
    def environment(self) -> Dict[str, Any]:
        file = self.path / "environment.json"
        return dict(_read_json(file)) if file.exists() else {}

    @property
    def metrics(self) -> List[Dict[str, Any]]:
        """One dict for each finished epoch."""
        return [line for line in _lines(self.path / "metrics.jsonl") if "step" not in line]

    @property
    def steps(self) -> List[Dict[str, Any]]:
        """One dict for each logged step: loss, gradient norm, diagnostics of the objective."""
        return [line for line in _lines(self.path / "metrics.jsonl") if "step" in line]

    @property
    def last(self) -> Dict[str, Any]:
        """The newest value of every metric."""
        newest: Dict[str, Any] = {}
        for line in self.metrics:
            newest.update(line)
        return newest

    def frame(self, steps: bool = False) -> Any:
        """The metrics as a pandas DataFrame, with a row for each epoch or each logged step."""
        return frame_of(self.steps if steps else self.metrics)

    @property
    def evaluations(self) -> Evaluations:
        """The newest results by protocol, from `debias eval` or from training."""
        return self._evaluations(self.path / "evaluation")

    def evaluations_at(self, epoch: int) -> Evaluations:
        """Results of an epoch during training."""
        folder = self.path / "evaluation" / f"epoch-{epoch}"
        if not folder.is_dir():
            kept = sorted(int(one.name[6:]) for one in folder.parent.glob("epoch-*") if one.name[6:].isdigit())
            raise KeyError(f"{self.path}: no evaluation of epoch {epoch}; kept are {', '.join(map(str, kept)) or 'none'}")
        return self._evaluations(folder)

    @staticmethod
    def _evaluations(folder: pathlib.Path) -> Evaluations:
        return Evaluations({file.stem: Evaluation.of(file.stem, _read_json(file)) for file in sorted(folder.glob("*.json"))})

    @property
    def checkpoints(self) -> Dict[str, pathlib.Path]:
        """Files by name: last, previous and, if the recipe selects one, best."""
        return {file.stem: file for file in sorted((self.path / "checkpoints").glob("*.safetensors"))}

    def _checkpoint(self, name: str) -> pathlib.Path:
        there = self.checkpoints
        if name not in there:
            raise KeyError(f"{self.path}: no checkpoint '{name}'; there is {', '.join(there) or 'none'}")
        return there[name]

    def state_dict(self, checkpoint: str = "last", part: str = "encoder") -> Dict[str, torch.Tensor]:
        """The weights of a part of the network by name, without the part's prefix. ResNets have torchvision's names."""
        file = self._checkpoint(checkpoint)
        found = _safetensors.read(file, part + ".")
        if not found:
            parts = sorted({name.split(".")[0] for name in _safetensors.read(file)})
            raise KeyError(f"{file}: no part '{part}'; there are {', '.join(parts)}")
        return found

    def encoder(self, checkpoint: str = "last") -> torch.nn.Module:
        """The encoder in evaluation mode, as torchvision's ResNet of the recipe's depth, stem and width. Its classifier is an identity, so it
        returns features ``[n, D]``. Prepare images as `preprocess` says. Raises ValueError for encoders that torchvision does not have; use
        `state_dict()` for those."""
        return _networks.encoder(self.recipe, self.state_dict(checkpoint), str(self.path))

    @property
    def preprocess(self) -> Optional[Dict[str, Any]]:
        """Preparation of an image for `encoder`: resize, size, mean, std; None until `debias export RUN` has written it."""
        file = self.path / "exported" / "preprocess.json"
        return dict(_read_json(file)) if file.exists() else None

    def embeddings(self, file: Optional[_Path] = None) -> FeatureTable:
        """The vectors that `debias embed RUN --out RUN/F.npy` or `debias.embed` wrote. `file` is a path within the folder, by
        default its only .npy file."""
        if file is None:
            there = sorted(one.name for one in self.path.glob("*.npy"))
            if len(there) != 1:
                found = f"found {len(there)}: {', '.join(there)}; name one of them" if there else f"found none; debias.embed({str(self.path)!r}) writes one"
                raise FileNotFoundError(f"{self.path}: expected one .npy file of embeddings, {found}")
            file = there[0]
        return FeatureTable.load(self.path / file)

    def _repr_html_(self) -> str:
        page = self.path / "report.html"
        if page.exists():
            return framed(page.read_text(encoding="utf-8"))
        return table_page([str(self.path), "value"], [[name, value] for name, value in self.last.items()])
