"""One torch.nn.Module for each objective, made from the table of objectives."""

import difflib
import inspect
import json
import math
from typing import NamedTuple, Optional

import torch

from ._library import _table, resolved_options

_VARIANTS = ("stable", "paper", "authors")
_COMMON = {
    "normalize": (True, "divide rows by their L2 norms first; False: they are taken as given"),
    "engine": ("auto", "auto | fused | blocked | dense; dense may be differentiated twice"),
    "memory_budget": (256 << 20, "bytes that the fused engine may hold between forward and backward pass"),
}


class Evidence(NamedTuple):
    """What a value rests on."""

    anchors: int
    anchors_used: int  # of which the value is the mean
    clamped: int  # anchors whose clamp, floor or fall-back acted
    min_estimate: Optional[float]  # the smallest estimate before it acted
    effective_sample_size: Optional[float]  # of importance weights over an anchor's negatives
    fused: bool  # computed by the tile engine


def _evidence(numbers):
    anchors, used, clamped, least, effective, fused = numbers.tolist()
    some = lambda number: None if math.isinf(number) else number
    return Evidence(int(anchors), int(used), int(clamped), some(least), some(effective), bool(fused))


def _refuse_unknown(name, given, known):
    for word in given:
        if word not in known:
            near = difflib.get_close_matches(word, known, n=1)
            raise TypeError(f"{name}: unknown option '{word}'" + (f"; did you mean '{near[0]}'?" if near else f"; it has {', '.join(known)}"))


def _plain(value):
    value = value.item() if hasattr(value, "item") else value  # a number of numpy or torch
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def _as_json(options):
    """JSON has no infinity; the library reads the word."""
    return json.dumps({key: _plain(value) for key, value in options.items()})


class Objective(torch.nn.Module):
    """What the losses share: options checked by the library, one value, its evidence. No parameters and no buffers."""

    _entry = None  # of the table; set in the classes that are made from it

    def __init__(self, **options):
        super().__init__()
        name = type(self).__name__
        own = [option["name"] for option in self._entry["options"]]
        _refuse_unknown(name, options, [*own, "variant", *_COMMON])
        self.normalize = bool(options.pop("normalize", True))
        self.engine = options.pop("engine", "auto")
        self.memory_budget = int(options.pop("memory_budget", 256 << 20))
        if self.engine not in ("auto", "fused", "blocked", "dense"):
            raise ValueError(f"{name}: engine: unknown value '{self.engine}'; give auto, fused, blocked or dense")
        if options.get("variant") is None:
            options.pop("variant", None)
        self._options = ""
        self._accept(options)
        self._evidence = self._per_anchor = None

    def _accept(self, given):
        self.options = resolved_options(self._entry["name"], _as_json(given))
        self._options = _as_json(self.options)

    def set(self, **options):
        """Options in force from now on: what a schedule calls between epochs."""
        _refuse_unknown(type(self).__name__, options, list(self.options))
        self._accept({**self.options, **options})
        return self

    @property
    def evidence(self):
        """Of the last call; None before it."""
        return None if self._evidence is None else _evidence(self._evidence)

    @property
    def per_anchor(self):
        """Losses of the last call's anchors, view-major, detached; NaN for an anchor dropped from the mean."""
        return self._per_anchor

    def extra_repr(self):
        return ", ".join(f"{key}={value}" for key, value in self.options.items())

    def _evaluate(self, z, labels=None, bias_labels=None, weights=None, prior=None, ids=None, keys=None, key_labels=None, key_ids=None,
                  positives=None):
        value, self._per_anchor, self._evidence = torch.ops.debias.objective(
            z, self._entry["name"], self._options, labels, bias_labels, weights, prior, ids, keys, key_labels, key_ids, positives, self.engine,
            self.memory_budget, self.normalize)
        return value


def _of_last_call(field):
    return property(lambda self: None if self._evidence is None else getattr(self.evidence, field), doc=f"`evidence.{field}`")


for _field in Evidence._fields:
    setattr(Objective, _field, _of_last_call(_field))


def _views(views, name):
    """[B, D] each, or one [B, V, D], as [B, V, D] whose views lie one after the other in memory."""
    if len(views) == 1 and isinstance(views[0], (tuple, list)):
        views = tuple(views[0])
    if len(views) == 1:
        return views[0]
    if not views:
        raise TypeError(f"{name}: expected views of shape [B, D], or one tensor [B, V, D]; none were given")
    shapes = [tuple(view.shape) for view in views]
    if len(set(shapes)) != 1 or len(shapes[0]) != 2:
        raise ValueError(f"{name}: expected views of one shape [B, D], found {', '.join(map(str, shapes))}; labels go by keyword")
    return torch.stack(views).transpose(0, 1)


class _LabelFree(Objective):
    def forward(self, *views, labels=None, ids=None, keys=None, key_labels=None, key_ids=None):
        """Views [B, D], or one tensor [B, V, D]; labels [B] only where an option asks for them.

        keys [K, D], such as a queue: the first view is compared with them, and the further views are its positives, as in `loss(q, k,
        keys=queue)`. ids [B] and key_ids [K] (negative: of no sample) name the samples: keys of an anchor's own are no negatives, and are
        its positives where there is no further view. key_labels [K] go with labels.
        """
        if keys is None or len(views) < 2:
            return self._evaluate(_views(views, type(self).__name__), labels, ids=ids, keys=keys, key_labels=key_labels, key_ids=key_ids)
        return self._evaluate(views[0], labels, ids=ids, keys=keys, key_labels=key_labels, key_ids=key_ids,
                              positives=torch.stack(views[1:]).transpose(0, 1))


class _Supervised(Objective):
    def forward(self, features, labels=None, bias_labels=None, weights=None, *, ids=None, keys=None, key_labels=None, key_ids=None):
        """features [B, D], [B, V, D] or a list of views [B, D]; labels and bias_labels [B], -1 = unknown; weights: bias features [B, F].

        keys [K, D] with key_labels [K], such as a queue: what the features are compared with, in place of each other. ids [B] and key_ids
        [K] (negative: of no sample) name the samples.
        """
        return self._evaluate(_views((features,), type(self).__name__), labels, bias_labels, weights, ids=ids, keys=keys,
                              key_labels=key_labels, key_ids=key_ids)


class _OnLogits(Objective):
    def forward(self, logits, labels, bias_labels=None, prior=None):
        """logits [B, C]; labels and bias_labels [B]; prior [C, G], P(label | bias), is counted from the batch where it is left out."""
        return self._evaluate(logits, labels, bias_labels, prior=prior)


def _base_of(entry):
    if entry["kind"] == "logits":
        return _OnLogits
    return _Supervised if entry["min_views"] == 1 else _LabelFree


_ACRONYMS = {"infonce": "InfoNCE", "supinfonce": "SupInfoNCE", "supcon": "SupCon", "biascon": "BiasCon", "softcon": "SoftCon",
             "fairkl": "FairKL", "end": "EnD"}


def class_name(objective):
    """`eps_supinfonce` -> `EpsSupInfoNCELoss`."""
    return "".join(_ACRONYMS.get(word, word.capitalize()) for word in objective.split("_")) + "Loss"


def _signature(entry):
    keyword = lambda name, default: inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default)
    parameters = [inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)]
    parameters += [keyword(option["name"], None if option["default"] == "none" else option["default"]) for option in entry["options"]]
    parameters += [keyword("variant", None)] + [keyword(name, default) for name, (default, _) in _COMMON.items()]
    return inspect.Signature(parameters)


def _docstring(entry, base):
    lines = [entry["summary"][0].upper() + entry["summary"][1:] + ".", "", base.forward.__doc__, "", "Options:"]
    for option in entry["options"]:
        what = option.get("range") or " | ".join(option.get("choices", []))
        lines.append(f"    {option['name']} = {option['default']} ({option['type']}{' ' + what if what else ''}): {option['help']}")
    lines.append(f"    variant ({' | '.join(_VARIANTS)}): whose defaults the options have")
    lines += [f"    {name} = {default}: {meaning}" for name, (default, meaning) in _COMMON.items()]
    return "\n".join(lines)


def _class(entry, module):
    base, name = _base_of(entry), class_name(entry["name"])

    def __init__(self, **options):
        Objective.__init__(self, **options)

    __init__.__signature__ = _signature(entry)
    __init__.__qualname__ = f"{name}.__init__"
    members = {"_entry": entry, "__init__": __init__, "__doc__": _docstring(entry, base), "__module__": module}
    return type(name, (base,), members)


def make_classes(module):
    """{class name: class} of every objective; `module` is where they will be found again, by pickle among others."""
    return {class_name(entry["name"]): _class(entry, module) for entry in _table()}
