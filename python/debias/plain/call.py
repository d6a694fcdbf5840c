"""The inputs of an objective, and which are rejected."""

import contextlib
from typing import NamedTuple, Optional, Union

import torch

NO_FUSED = ("there is no fused backend here: it takes float32 on the CPU, outside torch.func, with the compiled engine; give engine auto, "
            "blocked or dense")


class Call(NamedTuple):
    """Tensors on one device; integers are int64. z and what is compared with it have been normalised."""

    z: torch.Tensor  # [B, V, D]; logits [B, C]
    labels: Optional[torch.Tensor] = None
    bias_labels: Optional[torch.Tensor] = None
    weights: Optional[torch.Tensor] = None  # bias features [B, F]
    prior: Optional[torch.Tensor] = None  # [C, G]
    ids: Optional[torch.Tensor] = None
    keys: Optional[torch.Tensor] = None  # [m, D]
    key_labels: Optional[torch.Tensor] = None
    key_ids: Optional[torch.Tensor] = None
    positives: Optional[torch.Tensor] = None  # [B, P, D], with keys
    temperature: Union[float, torch.Tensor, None] = None
    engine: str = "auto"
    memory_budget: int = 256 << 20
    bfloat16: bool = False  # rows were bfloat16: the fused engine may multiply them as such
    flat_rows: Optional[torch.Tensor] = None  # z as [V·B, D], where the caller has it

    def rows(self):
        """z as [V·B, D], view-major."""
        return self.z.transpose(0, 1).reshape(-1, self.z.shape[2]) if self.flat_rows is None else self.flat_rows

    def samples(self):
        """int64 [B]: the ids, or 0, 1, ...; a sample without one (negative) stands alone."""
        own = torch.arange(self.z.shape[0], device=self.z.device)
        if self.ids is None:
            return own
        largest = self.ids.max() if self.key_ids is None else torch.maximum(self.ids.max(), self.key_ids.max())
        return torch.where(self.ids >= 0, self.ids, own + largest.clamp_min(-1) + 1)


def without_autocast(device_type):
    """Losses are computed in their own precision. Tensors without data have no autocast."""
    if device_type == "meta" or not (torch.compiler.is_compiling() or torch.is_autocast_enabled(device_type)):
        return contextlib.nullcontext()
    return torch.autocast(device_type, enabled=False)


def can_read(tensor):
    """Whether values may be looked at without a wait for a device and without breaking what is traced."""
    return tensor.device.type == "cpu" and not torch.compiler.is_compiling()


class Conditions:
    """Conditions on the values of a call. A violation is a ValueError if the values can be read, else it makes the value NaN."""

    def __init__(self):
        self._broken = None

    def require(self, holds, message):
        """holds: bool, one number; message: a function that says what is wrong."""
        if not can_read(holds):
            self._broken = ~holds if self._broken is None else self._broken | ~holds
        elif not bool(holds):
            raise ValueError(message())

    def applied(self, result):
        if self._broken is None:
            return result
        return result._replace(value=self.poisoned(result.value), per_anchor=self.poisoned(result.per_anchor))

    def poisoned(self, values):
        return values if self._broken is None else values + torch.where(self._broken, torch.nan, 0.0).to(values.dtype)


def refuse(name, what):
    raise ValueError(f"{name}: {what}")


def shape_of(tensor):
    return f"{str(tensor.dtype).removeprefix('torch.')} of shape {list(tensor.shape)}"


def check_shapes(name, entry, call, options):
    """Raises a ValueError of one line unless the call has the objective's inputs, in shapes that fit."""
    z, logits = call.z, entry["kind"] == "logits"
    if z.dim() != (2 if logits else 3) or z.numel() == 0:
        what = "logits [samples, classes]" if logits else "embeddings [samples, views, dimensions]"
        refuse(name, f"expected non-empty floating-point {what}, found {shape_of(z)}")
    if not logits and z.shape[1] < entry["min_views"] and call.keys is None:
        refuse(name, f"needs at least {entry['min_views']} views of each sample, or keys to compare them with; found {z.shape[1]} view "
                     "and no keys")
    if call.keys is not None and not entry["takes_keys"]:
        refuse(name, "compares rows of a batch with each other and takes no keys")
    _check_needs(name, entry, call, options)
    for what in ("labels", "bias_labels", "ids"):
        _check_length(name, what, getattr(call, what), z.shape[0], "sample")
    _check_keys(name, entry, call)


def _check_needs(name, entry, call, options):
    if entry["needs_labels"] or options.get("drop_false_negatives"):
        if call.labels is None:
            refuse(name, "needs labels; none were given")
        if call.keys is not None and call.key_labels is None:
            refuse(name, "needs labels of the keys too; none were given, add key_labels=")
    if entry["needs_bias"] and call.bias_labels is None:
        refuse(name, "needs bias labels, one for each sample; none were given, add bias_labels=")
    if call.weights is not None:
        weights = call.weights
        if weights.dim() != 2 or len(weights) != len(call.z):
            refuse(name, f"weights: expected bias features of shape [{len(call.z)}, F], one row per sample, found {shape_of(weights)}")


def _check_length(name, what, values, count, each):
    if values is not None and values.shape != (count,):
        refuse(name, f"{what}: expected int64 of shape [{count}], one per {each}, found {shape_of(values)}")


def _check_keys(name, entry, call):
    if call.keys is None:
        for what in ("key_labels", "key_ids", "positives"):
            if getattr(call, what) is not None:
                refuse(name, f"{what} belong to keys, and no keys were given; add keys=")
        return
    keys, width = call.keys, call.z.shape[2]
    if keys.dim() != 2 or keys.shape[1] != width or len(keys) == 0:
        refuse(name, f"keys: expected floating-point rows of shape [keys, {width}], as many dimensions as the anchors have, found "
                     f"{shape_of(keys)}")
    if keys.device != call.z.device:
        refuse(name, f"keys: they are on {keys.device}, the anchors on {call.z.device}; bring both to one")
    _check_length(name, "key_ids", call.key_ids, len(keys), "key")
    _check_length(name, "key_labels", call.key_labels, len(keys), "key")
    if call.key_ids is not None and call.ids is None:
        refuse(name, "key_ids are compared with the samples' own ids, and none are given; add ids=")
    if call.labels is not None and call.key_labels is None and entry["min_views"] == 1:
        refuse(name, "keys: the anchors have labels, the keys none; give labels of the keys too (-1 = unknown)")


def may_repeat(ids):
    """Whether two samples have one id, as far as the values can be read."""
    return not can_read(ids) or len(ids.unique()) < len(ids)


def require_usable_ids(name, entry, options, call, conditions):
    """Rejects ids that repeat where a loss cannot keep the samples of one id from being negatives of each other: it compares classes."""
    if call.ids is None or not (entry["min_views"] == 1 or entry["needs_labels"] or options.get("drop_false_negatives")):
        return
    if entry["needs_bias"] or entry["takes_bias_features"] or call.labels is None:
        ordered = call.samples().sort().values
        repeated = ordered[1:] == ordered[:-1]
        what, end = ("classes and bias labels", "") if call.labels is not None else ("all rows without labels", "give labels, ")
        conditions.require(~repeated.any(), lambda: f"{name}: ids: {int(repeated.sum())} of {len(ordered)} samples repeat an id (the first: "
                           f"{int(ordered[1:][repeated][0])}); it compares {what} and cannot leave out samples of one id: leave ids out, {end}or use "
                           "a loss without labels, such as InfoNCELoss")
        return
    ids, labels = call.samples(), call.labels
    if call.key_ids is not None:
        ids = torch.cat([ids, call.key_ids])
        labels = torch.cat([labels, torch.full_like(call.key_ids, -1) if call.key_labels is None else call.key_labels])
    order = labels.argsort(stable=True)
    order = order[ids[order].argsort(stable=True)]
    ids, labels = ids[order], labels[order]
    mixed = (ids[1:] == ids[:-1]) & (labels[1:] != labels[:-1]) & (ids[1:] >= 0)
    conditions.require(~mixed.any(), lambda: f"{name}: ids: the samples of {len(ids[1:][mixed].unique())} ids are of different classes or partly unknown "
                       f"(the first: {int(ids[1:][mixed][0])}) and would be negatives of each other, since it compares classes: leave ids out, "
                       "or use a loss without labels, such as InfoNCELoss")
