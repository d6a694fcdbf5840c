"""One torch.nn.Module for each objective, made from the table of objectives."""

import difflib
import inspect
import math
import warnings

import torch

from . import _attributes, _diagnostics, _documentation, _inputs, plain
from ._gather import batch_of_all, refuse_gathered_keys
from ._modes import eager, eager_on_cpu, exporting
from ._options import VARIANTS, resolved
from ._table import table
from .plain import small
from .plain.call import without_autocast
from .plain.unit_rows import flat_unit_rows, unit_rows

_REDUCTIONS = ("mean", "sum", "none")
_COMMON = {
    "reduction": ("mean", "mean or sum over the anchors in use; none: the losses of all anchors, view-major, with 0 for an excluded one"),
    "gather_distributed": (False, "compute the loss over the batch of all processes of torch.distributed; works with DistributedDataParallel"),
    "normalize": (True, "L2-normalise the embeddings first; False: use them as given"),
    "engine": ("auto", "backend: auto, fused, blocked or dense; dense can be differentiated twice"),
    "memory_budget": (256 << 20, "maximum number of bytes that the fused backend holds between forward and backward pass"),
}


def _refuse_unknown(name, given, known):
    for word in given:
        if word not in known:
            near = difflib.get_close_matches(word, known, n=1)
            raise TypeError(f"{name}: unknown option '{word}'" + (f"; did you mean '{near[0]}'?" if near else f"; it has {', '.join(known)}"))


def _plain(value):
    value = value.item() if hasattr(value, "item") else value  # a number of numpy or torch
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def _choice(name, option, value, choices):
    if value not in choices:
        near = difflib.get_close_matches(str(value), choices, n=1)
        raise ValueError(f"{name}: {option}: unknown value '{value}'; " +
                         (f"did you mean '{near[0]}'?" if near else f"give {', '.join(choices[:-1])} or {choices[-1]}"))
    return value


def _is_learnt(value):
    return isinstance(value, torch.Tensor) and (value.requires_grad or isinstance(value, torch.nn.Parameter))


class Objective(torch.nn.Module):
    """Base class of all losses. A call returns one value and stores its diagnostics. It has no buffers, and no parameters except a learnt
    temperature."""

    _entry = None  # of the table; set in the classes that are made from it
    _small = None  # the form for small batches, if the options have one

    def __init__(self, *temperature, **options):
        super().__init__()
        name = type(self).__name__
        own = [option["name"] for option in self._entry["options"]]
        if temperature:
            if "temperature" not in own or "temperature" in options or len(temperature) > 1:
                raise TypeError(f"{name}: options go by keyword" + (", but for one temperature" if "temperature" in own else ""))
            options["temperature"] = temperature[0]
        _refuse_unknown(name, options, [*own, "variant", *_COMMON])
        self.reduction = options.pop("reduction", "mean")
        self.gather_distributed = bool(options.pop("gather_distributed", False))
        self.normalize = bool(options.pop("normalize", True))
        self.engine = options.pop("engine", "auto")
        self.memory_budget = options.pop("memory_budget", 256 << 20)
        if options.get("variant") is None:
            options.pop("variant", None)
        self._temperature = None
        if _is_learnt(options.get("temperature")):
            self._learn(options["temperature"])
        self._accept(options)
        self._diagnostics = self._per_anchor = None

    def _learn(self, temperature):
        if isinstance(temperature, torch.nn.Parameter):
            self._parameters["temperature"] = temperature  # the name is that of a property as well
        else:
            self._temperature = temperature

    def __getstate__(self):
        measured = self._diagnostics
        return {**self.__dict__, "_diagnostics": measured if measured is None else measured.computed()}

    def learnt_temperature(self):
        """The tensor that was given as temperature, or None if it is a number."""
        return self._parameters.get("temperature", self._temperature)

    def _accept(self, given):
        if _is_learnt(given.get("temperature")):
            _inputs.temperature(type(self).__name__, given["temperature"])
        self.options = resolved(self._entry, {key: _plain(value) for key, value in given.items()})
        self._given, self._small = given, small.form_of(self._entry["name"], self.options)

    def set(self, **options):
        """Changes options, for example by a schedule between epochs."""
        _refuse_unknown(type(self).__name__, options, list(self.options))
        if self.learnt_temperature() is not None and "temperature" in options:
            raise ValueError(f"{type(self).__name__}: temperature: it is learnt; change the tensor itself")
        self._accept({**self._given, **options})
        return self

    @property
    def diagnostics(self):
        """Diagnostics of the last call; None before it."""
        if self._diagnostics is None:
            return None
        return _diagnostics.of(self._diagnostics)

    evidence = diagnostics  # an earlier name

    @property
    def per_anchor(self):
        """Losses of the last call's anchors, view-major, detached; NaN for an anchor dropped from the mean (0 with reduction="none")."""
        return self._per_anchor

    def extra_repr(self):
        options = {**self.options, "temperature": "learnt"} if self.learnt_temperature() is not None else self.options
        changed = {key: getattr(self, key) for key in ("reduction", "gather_distributed") if getattr(self, key) != _COMMON[key][0]}
        return ", ".join(f"{key}={value}" for key, value in {**options, **changed}.items())

    def _evaluate(self, views, labels=None, bias_labels=None, weights=None, prior=None, ids=None, keys=None, key_labels=None, key_ids=None,
                  temperature=None):
        name = type(self).__name__
        if self._small is not None and self.engine == "auto" and self.reduction != "none" and not self.gather_distributed and \
                weights is prior is ids is keys is key_labels is key_ids is temperature is self.learnt_temperature() is None:
            value = self._at_once(views, labels, bias_labels)
            if value is not None:
                return value

        def inputs():
            z, positives = self._rows(views, keys)
            integers = lambda value, what: _inputs.integers(name, value, what, z)
            return z, {"labels": integers(labels, "labels"), "bias_labels": integers(bias_labels, "bias_labels"),
                       "weights": _inputs.numbers(name, weights, "weights", z), "prior": _inputs.numbers(name, prior, "prior", z),
                       "ids": integers(ids, "ids"), "keys": keys if keys is None else _inputs.embeddings(name, keys, "keys"),
                       "key_labels": integers(key_labels, "key_labels"), "key_ids": integers(key_ids, "key_ids"), "positives": positives}

        if not self.gather_distributed and not torch.compiler.is_compiling():
            refuse_gathered_keys(name, keys)
        z, given = batch_of_all(name, views, inputs) if self.gather_distributed else inputs()
        if isinstance(self, _LabelFree):  # of the whole batch: what one process alone refused, the others would wait for
            _attributes.refuse_positives_among_keys(self, (z,), given["keys"], given["ids"], given["key_ids"])
        temperature = self.learnt_temperature() if temperature is None else temperature
        temperature = temperature if temperature is None else _inputs.temperature(name, temperature)
        value, per_anchor, diagnostics = self._computed(z, given, temperature)
        if torch.compiler.is_compiling():
            if not exporting():
                self._per_anchor, self._diagnostics = per_anchor.detach(), diagnostics
        else:  # past Module.__setattr__, which looks for parameters
            self.__dict__.update(_per_anchor=per_anchor.detach(), _diagnostics=diagnostics)
        return value

    def _unit(self, rows):
        if rows is None:
            return None
        return unit_rows(_precise(rows)) if self.normalize else _precise(rows)

    def _computed(self, z, given, temperature):
        value, per_anchor, measured = self._result(z, given, temperature, self.engine)
        if measured.with_positives is not None:
            self._say_if_none(value, measured)
        if self.reduction == "none":
            losses = torch.where(per_anchor.isnan() & value.isfinite(), 0, per_anchor)
            return losses, losses, measured
        return (value * measured.used if self.reduction == "sum" else value), per_anchor, measured

    def _at_once(self, views, labels, bias_labels):
        """The value of a small batch, or None where the general way computes it."""
        if len(views) == 1 and isinstance(views[0], (tuple, list)):
            views = tuple(views[0])
        labels, bias = (value if value is None else
                        _inputs.told_apart(value) if isinstance(value, torch.Tensor) and value.dtype == torch.int64 else
                        _inputs.integers(type(self).__name__, value, what, torch.empty(0, device="cpu"))
                        for value, what in ((labels, "labels"), (bias_labels, "bias_labels")))
        if not small.takes(self._small, views, labels, bias):
            return None

        def again(views):
            given = dict.fromkeys(("weights", "prior", "ids", "keys", "key_labels", "key_ids", "positives"))
            return self._result(_inputs.views("", views), {**given, "labels": labels, "bias_labels": bias}, None, "dense").value

        with without_autocast("cpu"):
            value, per_anchor, measured = small.result_of(self._small, views, labels, bias, self.normalize, again)
        if measured.with_positives is not None:
            self._say_if_none(value, measured)
        self.__dict__.update(_per_anchor=per_anchor, _diagnostics=measured)
        return value * measured.used if self.reduction == "sum" else value

    def _result(self, z, given, temperature, engine):
        logits = self._entry["kind"] == "logits"
        rows = z.unsqueeze(1) if z.dim() == 2 and not logits else z
        rows, flat = _precise(rows), None
        if self.normalize and not logits and rows.dim() == 3:
            flat = flat_unit_rows(rows)
            rows = flat.view(rows.shape[1], rows.shape[0], rows.shape[2]).transpose(0, 1)
        call = plain.Call(**{**given, "z": rows, "keys": self._unit(given["keys"]), "positives": self._unit(given["positives"])},
                          temperature=temperature, engine=engine, memory_budget=self.memory_budget, bfloat16=z.dtype == torch.bfloat16,
                          flat_rows=flat)
        with without_autocast(z.device.type):
            found = plain.evaluated(self._entry, self.options, call)
        if isinstance(self, _Supervised) and self._entry["kind"] == "pairs" and eager():
            found = found._replace(measured=found.measured._replace(with_positives=lambda: _with_positives(call)))
        return found


def _with_positives(call):
    """How many anchors have a positive: another view, or a row or key of their label or sample."""
    samples, views = call.z.shape[:2]
    if call.keys is None and views > 1:
        return torch.tensor(samples * views)
    there = torch.zeros(samples, dtype=torch.bool, device=call.z.device)
    if call.keys is None and call.labels is not None:
        _, place, counts = call.labels.unique(return_inverse=True, return_counts=True)
        there = (counts[place] > 1) & (call.labels >= 0)
    for own, keys in () if call.keys is None else ((call.labels, call.key_labels), (call.ids, call.key_ids)):
        if own is not None and keys is not None:
            there = there | (torch.isin(own, keys) & (own >= 0))
    return there.sum() * views


def _precise(rows):
    return rows if rows.dtype == torch.float64 else rows.float()


def _checked_reduction(loss, value):
    _choice(type(loss).__name__, "reduction", value, _REDUCTIONS)
    if value != "mean" and loss._entry["kind"] == "regulariser":
        raise ValueError(f"{type(loss).__name__}: reduction: one number of the whole batch has no losses of anchors; give mean, found {value}")
    return value


def _checked_budget(loss, value):
    if not isinstance(value, int) or value < 0:
        raise ValueError(f"{type(loss).__name__}: memory_budget: expected bytes, at least 0, found {value!r}")
    return value


Objective.reduction = _attributes.common("reduction", _checked_reduction)
Objective.engine = _attributes.common("engine", lambda loss, value: _choice(type(loss).__name__, "engine", value, _diagnostics.ENGINES))
Objective.memory_budget = _attributes.common("memory_budget", _checked_budget)


def _of_last_call(field):
    return property(lambda self: None if self._diagnostics is None else getattr(self.diagnostics, field), doc=f"`diagnostics.{field}`")


for _field in ("anchors", "anchors_used", "clamped", "min_estimate", "effective_sample_size", "fused", "anchors_with_positives"):
    setattr(Objective, _field, _of_last_call(_field))


class _LabelFree(Objective):
    def forward(self, *views, labels=None, ids=None, keys=None, key_labels=None, key_ids=None, temperature=None):
        """Views [B, D], or one tensor [B, V, D]; labels [B] only if an option needs them.

        keys [K, D], such as a queue, are compared with the first view; further views are its positives, as in `loss(q, k, keys=queue)`. ids
        [B] and key_ids [K] (negative: no sample) identify the samples: give images of one patient or burst one id, and they are not
        negatives of each other. Keys of an anchor's own sample are not negatives; without further views they are its positives. key_labels
        [K] belong to labels. temperature is a tensor that replaces the option and may require a gradient.
        """
        return self._evaluate(views, labels, ids=ids, keys=keys, key_labels=key_labels, key_ids=key_ids, temperature=temperature)

    def _rows(self, views, keys):
        z = _inputs.views(type(self).__name__, views)
        return (z, None) if keys is None or len(views) < 2 else (views[0], torch.stack(views[1:]).transpose(0, 1))


class _Supervised(Objective):
    def forward(self, features, labels=None, bias_labels=None, weights=None, *, ids=None, keys=None, key_labels=None, key_ids=None,
                temperature=None):
        """features [B, D], [B, V, D] or a list of views [B, D]; labels and bias_labels [B], -1 = unknown; weights: bias features [B, F].

        keys [K, D] with key_labels [K], such as a queue, are compared with the features, which are then not compared with each other. ids [B]
        and key_ids [K] (negative: no sample) identify the samples; samples of one id must be of one class, whose rows are positives;
        losses over bias labels take no repeated ids. temperature is a tensor that replaces the option and may require a gradient.
        """
        if temperature is not None and "temperature" not in self.options:
            raise TypeError(f"{type(self).__name__}: temperature: it has none")
        _attributes.refuse(self, "weights", weights)
        return self._evaluate((features,), labels, bias_labels, weights, ids=ids, keys=keys, key_labels=key_labels, key_ids=key_ids,
                              temperature=temperature)

    def _rows(self, views, keys):
        return _inputs.views(type(self).__name__, views), None

    def _say_if_none(self, value, measured):
        """Warns once of a batch without positives, where its values can be read without a wait for a device."""
        if not self.__dict__.get("_said") and eager_on_cpu(value) and not abs(value.item()) > 0 and int(measured.with_positives()) == 0:
            self.__dict__["_said"] = True
            warnings.warn(f"{type(self).__name__}: none of {measured.anchors} anchors has a positive (anchors_with_positives: 0), so the loss is 0; "
                          "give labels that repeat within a batch, or two views of each sample", stacklevel=2)


class _OnLogits(Objective):
    def forward(self, logits, labels, bias_labels=None, prior=None):
        """logits [B, C]; labels and bias_labels [B]; prior [C, G] is P(label | bias), by default counted from the batch."""
        _attributes.refuse(self, "prior", prior)
        return self._evaluate((logits,), labels, bias_labels, prior=prior)

    def _rows(self, views, keys):
        return _inputs.embeddings(type(self).__name__, views[0], "logits"), None


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
    positional, keyword = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY
    parameters = [inspect.Parameter("self", positional)]
    parameters += [inspect.Parameter(option["name"], positional if option["name"] == "temperature" else keyword,
                                     default=None if option["default"] == "none" else option["default"]) for option in entry["options"]]
    parameters += [inspect.Parameter(name, keyword, default=default) for name, (default, _) in {"variant": (None, ""), **_COMMON}.items()]
    return inspect.Signature(parameters)


def _docstring(entry, base):
    called = _attributes.forward_of(entry, base)
    taken = ", ".join(list(inspect.signature(called).parameters)[1:])
    lines = [entry["summary"][0].upper() + entry["summary"][1:] + ".", "",
             *_documentation.lines_of(entry, class_name(entry["name"])), f"Called with ({taken}):", called.__doc__, "", "Options:"]
    for option in entry["options"]:
        what = option.get("range") or " | ".join(option.get("choices", []))
        lines.append(f"    {option['name']} = {option['default']} ({option['type']}{' ' + what if what else ''}): {option['help']}")
    lines.append(f"    variant ({' | '.join(VARIANTS)}): the set of defaults; aliases: default for stable, original_code for authors")
    lines += [f"    {name} = {default}: {meaning}" for name, (default, meaning) in _COMMON.items()]
    return "\n".join(lines)


def _class(entry, module):
    base, name = _base_of(entry), class_name(entry["name"])

    def __init__(self, *temperature, **options):
        Objective.__init__(self, *temperature, **options)

    __init__.__signature__ = _signature(entry)
    __init__.__qualname__ = f"{name}.__init__"
    members = {"_entry": entry, "__init__": __init__, "__doc__": _docstring(entry, base), "__module__": module,
               "forward": _attributes.forward_of(entry, base), **_attributes.options_of(entry)}
    return type(name, (base,), members)


def make_classes(module):
    """{class name: class} of every objective; pickle and others find the classes in `module`."""
    return {class_name(entry["name"]): _class(entry, module) for entry in table()}
