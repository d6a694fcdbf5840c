"""Options as attributes of a loss, and the help() of its call, for each class from its entry in the table of objectives."""

import inspect
import types

import torch

_KEYS = ("keys", "key_labels", "key_ids")
_MEANINGS = {
    "views": "[B, D] each, or one tensor [B, V, D]",
    "features": "[B, D], [B, V, D], or a list of views [B, D]",
    "logits": "[B, C]",
    "labels": "[B] integers, -1 = unknown",
    "bias_labels": "[B] integers, -1 = unknown",
    "weights": "[B, F] features of a frozen bias model",
    "prior": "[C, G] P(label | bias); by default counted from the batch",
    "ids": "[B] integers that identify the samples, -1 = none; embeddings with the same id, such as images of one patient or burst, are not "
           "negatives of each other, and a loss that cannot leave them out raises ValueError",
    "keys": "[K, D] embeddings, such as a queue, that the first view (the features) is compared with; further views are positives",
    "key_labels": "[K] integers, -1 = unknown",
    "key_ids": "[K] integers, negative = no sample; keys of an anchor's own sample are not negatives, and are its positives without further views",
    "temperature": "a number or tensor that replaces the option; a tensor may require a gradient",
}


def _taken(entry, name):
    """Whether a class takes the argument `name` of forward."""
    options = {option["name"] for option in entry["options"]}
    if name == "labels":
        return entry["min_views"] == 1 or entry["needs_labels"] or "drop_false_negatives" in options
    if name == "bias_labels":
        return entry["needs_bias"] or entry["takes_bias_features"]
    fields = {"weights": "takes_bias_features", "prior": "takes_prior", **dict.fromkeys(_KEYS, "takes_keys")}
    return entry[fields[name]] if name in fields else name != "temperature" or "temperature" in options


def refuse(loss, name, value):
    """Raises TypeError if a call passes an argument that the class would ignore."""
    if value is not None and not _taken(loss._entry, name):
        raise TypeError(f"{type(loss).__name__}: {name}: it takes none; leave it out, or choose a loss that does: help({type(loss).__name__})")


def refuse_positives_among_keys(loss, views, keys, ids, key_ids):
    """Raises ValueError if keys have the shape of the batch's own embeddings without ids of their samples: positives would be negatives."""
    if keys is None or key_ids is not None or not isinstance(keys, torch.Tensor) or not views:
        return
    batch = views[0].shape[0] if isinstance(views[0], torch.Tensor) and views[0].dim() > 1 else len(views[0])
    if keys.dim() == 2 and keys.shape[0] == batch > 1:
        name = type(loss).__name__
        raise ValueError(f"{name}: keys: {batch} keys for {batch} samples; a sample's own key would count as its negative: name the samples with "
                         f"ids= and key_ids= (both torch.arange({batch}) where key i is of sample i), or give key_ids=torch.full(({batch},), -1) for "
                         "a queue")


def forward_of(entry, base):
    """`base.forward`, with the signature and the description of what this class takes."""
    plain = base.forward
    parameters = [parameter for name, parameter in inspect.signature(plain).parameters.items() if name == "self" or _taken(entry, name)]
    own = types.FunctionType(plain.__code__, plain.__globals__, "forward", plain.__defaults__, plain.__closure__)
    own.__kwdefaults__ = plain.__kwdefaults__
    own.__signature__ = inspect.Signature(parameters)
    own.__doc__ = "\n".join(f"{parameter.name}: {_MEANINGS[parameter.name]}" for parameter in parameters[1:])
    return own


def _option(name, text):
    def read(loss):
        learnt = loss.learnt_temperature() if name == "temperature" else None
        return loss.options[name] if learnt is None else learnt

    def write(loss, value):
        loss.set(**{name: value})

    return property(read, write, doc=text)


def options_of(entry):
    """{option: property}: reading gives the current value, writing calls set()."""
    return {option["name"]: _option(option["name"], option["help"]) for option in entry["options"]}


def common(name, checked):
    """A property of the loss itself; `checked(loss, value)` returns the value to store, or raises."""
    slot = "_" + name

    def write(loss, value):
        loss.__dict__[slot] = checked(loss, value)

    return property(lambda loss: loss.__dict__[slot], write)
