"""Reads the tensors of a checkpoint by name, whatever containers they lie in, without running code of the file.

A file of torch.save is a pickle, which can execute code. It is read with torch.load(weights_only=True). Where that meets other objects (options
of a training, a whole pickled module), the file is read again with every class and function replaced by an empty one, except for those that
rebuild tensors: nothing of the file runs, and the tensors within those objects are found as well.
"""

import collections
import os
import pathlib
import pickle
import types
import warnings
import zipfile

import torch

from . import _safetensors
from ._inputs import refuse_stand_in

_DEPTH = 32  # of containers within each other
_REBUILT = ("_rebuild_tensor", "_rebuild_tensor_v2", "_rebuild_parameter", "_rebuild_parameter_with_state")
_STORAGES = ("UntypedStorage", "TypedStorage")


class WeightError(ValueError):
    """A file cannot be converted; the message is one line."""


class _Inert(dict):
    """In place of an object of any class: keeps what the pickle gives it, and does nothing."""

    dump_patches = False
    __hash__ = object.__hash__

    def __new__(cls, *_, **__):
        return dict.__new__(cls)

    def __init__(self, *_, **__):
        super().__init__()

    def __setstate__(self, state):
        for part in state if isinstance(state, tuple) else (state,):
            if isinstance(part, dict):
                self.update(part)

    def append(self, *_):
        pass

    extend = add = append


class _Unpickler(pickle.Unpickler):
    """Knows what rebuilds tensors, and nothing else."""

    def find_class(self, module, name):
        if (module, name) == ("collections", "OrderedDict"):
            return collections.OrderedDict
        if module == "torch._utils" and name in _REBUILT:
            return getattr(torch._utils, name)
        if module == "torch.storage" and name in _STORAGES:
            return getattr(torch.storage, name)
        if module == "torch" and isinstance(getattr(torch, name, None), torch.dtype):
            return getattr(torch, name)
        if (module, name) == ("torch", "Size"):
            return torch.Size
        return type(name, (_Inert,), {"__module__": module})


_INERT_PICKLE = types.SimpleNamespace(__name__="pickle", Unpickler=_Unpickler, load=lambda file, **options: _Unpickler(file, **options).load())


def _with_objects(source):
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return torch.load(source, map_location="cpu", weights_only=False, pickle_module=_INERT_PICKLE)
    except Exception as error:  # whatever a damaged pickle makes of its empty objects
        raise WeightError(f"{source}: it contains objects other than tensors, which are not opened ({type(error).__name__}); save "
                          "model.state_dict()") from None


def _loaded(source):
    try:
        return torch.load(source, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError as error:
        if "TorchScript" in str(error):
            raise WeightError(f"{source}: it is a TorchScript file; give it to the encoder torchscript as it is") from None
        return _with_objects(source)
    except (RuntimeError, EOFError, OSError, ValueError, KeyError, AttributeError) as error:
        if "TorchScript" in str(error):
            raise WeightError(f"{source}: it is a TorchScript file; give it to the encoder torchscript as it is") from None
        raise WeightError(f"{source}: not a readable file of torch.save ({(str(error) or type(error).__name__).splitlines()[0]})") from None


def _is_safetensors(source):
    with open(source, "rb") as file:
        start = file.read(9)
    return source.endswith(".safetensors") or (len(start) == 9 and start[8:] == b"{" and int.from_bytes(start[:8], "little") < 1 << 27)


# What a module keeps its parts in: not words of their names.
_PARTS = ("_parameters", "_buffers", "_modules")


def _walk(value, name, found, seen):
    """Adds the tensors below `value` by their dotted names; returns how many objects of other classes it met."""
    if isinstance(value, torch.Tensor):
        if not value.is_meta or value.numel() == 0:
            found.setdefault(name[:-1], value)
        return 0
    if not isinstance(value, (dict, list, tuple)) or id(value) in seen or name.count(".") > _DEPTH:
        return 0
    seen.add(id(value))
    objects = int(isinstance(value, _Inert))
    for key, one in value.items() if isinstance(value, dict) else enumerate(value):
        objects += _walk(one, name if key in _PARTS and objects else f"{name}{key}.", found, seen)
    return objects


def tensors_of(source):
    """{dotted name: tensor} of a file of torch.save or of safetensors. Raises WeightError, with a message of one line."""
    if not os.path.isfile(source):
        raise WeightError(f"{source}: no such file")
    try:
        refuse_stand_in(source, "a file of weights", of_torch=True)
    except ValueError as error:
        raise WeightError(str(error)) from None
    if zipfile.is_zipfile(source) and not any(name.endswith(("data.pkl", "constants.pkl")) for name in zipfile.ZipFile(source).namelist()):
        names = zipfile.ZipFile(source).namelist()
        raise WeightError(f"{source}: it is a zip archive of other files ({names[0] if names else 'none'}{', ...' if len(names) > 1 else ''}), not one of "
                          "torch.save; unpack it, and give the file of weights in it")
    if _is_safetensors(source):
        try:
            return _safetensors.read(pathlib.Path(source))
        except ValueError as error:
            raise WeightError(str(error)) from None
    found = {}
    objects = _walk(_loaded(source), "", found, set())
    if not found:
        raise WeightError(f"{source}: it contains objects other than tensors, which are not opened; save model.state_dict()" if objects else
                          f"{source}: it has no tensors by name; save model.state_dict()")
    return found
