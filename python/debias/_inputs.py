"""Converts inputs to what the operators need, and rejects others with a message of one line; an operator would print its schema."""

import difflib
import sys
import warnings
from typing import Any

import torch

from ._modes import eager_on_cpu

_SHOWN = 60
_LOW_BITS = (1 << 62) - 1  # the largest value of a label or id, from which sums over groups may still count on


_DOWNLOAD = "a download failed or asks for a login: download the file itself"


def refuse_stand_in(path, what, of_torch=False):
    """Raises ValueError where a file holds something else by its first bytes, as debias/core/stand_in.h has it."""
    try:
        with open(path, "rb") as file:
            start = file.read(256)
    except OSError:
        return
    text = start.removeprefix(b"\xef\xbb\xbf").lstrip(b" \t\r\n").lower()
    found = ("a zip archive or an Excel workbook", "unpack it, or save the table as CSV") if start.startswith(b"PK\x03\x04") and not of_torch else \
        ("a file compressed by gzip", "unpack it: gunzip FILE") if start.startswith(b"\x1f\x8b") else \
        ("a PDF document", "give the file itself") if start.startswith(b"%PDF") else \
        ("a pointer of Git LFS", "git lfs pull fetches the file") if text.startswith((b"version https://git-lfs", b"version https://hawser")) else \
        ("an HTML page", _DOWNLOAD) if text.startswith((b"<!doctype html", b"<html", b"<head")) else \
        ("an XML document", _DOWNLOAD) if text.startswith(b"<?xml") else ("a JSON text", _DOWNLOAD) if text.startswith(b'{"') else None
    if found:
        raise ValueError(f"{path}: is {found[0]}, not {what}; {found[1]}")


def require_name(message, name, names):
    """Raises KeyError with this message, the name and the nearest known name if `names` lacks it."""
    if name not in names:
        near = difflib.get_close_matches(str(name), [str(one) for one in names], n=1)
        raise KeyError(f"{message} '{name}'" + (f"; did you mean '{near[0]}'?" if near else ""))


def _described(value):
    if isinstance(value, torch.Tensor):
        return f"{str(value.dtype).removeprefix('torch.')} of shape {list(value.shape)}"
    text = " ".join(repr(value).split())
    return type(value).__name__ + (f" {text}" if len(text) <= _SHOWN else "")


def embeddings(name, value, what="embeddings"):
    """A floating-point tensor."""
    if not isinstance(value, torch.Tensor):
        raise TypeError(f"{name}: {what}: expected a torch.Tensor, found {_described(value)}; torch.as_tensor makes one")
    if not value.is_floating_point():
        raise ValueError(f"{name}: {what}: expected floating-point numbers, found {_described(value)}")
    return value


def told_apart(value):
    """-1 means unknown. Any other negative integer is a value, as of hash(), and is replaced by its 62 low bits: operators take it for unknown."""
    if eager_on_cpu(value) and not bool((value < -1).any()):
        return value
    return torch.where(value == -1, value, value & _LOW_BITS)


def _masked_of(value: Any) -> Any:
    """A masked array of numpy, also one of a list of them; None of anything else."""
    numpy = sys.modules.get("numpy")
    if numpy is None:
        return None
    if isinstance(value, (list, tuple)) and any(map(numpy.ma.isMaskedArray, value)):
        value = numpy.ma.stack(value)
    return value if numpy.ma.isMaskedArray(value) else None


def unmasked(what: str, value: Any) -> Any:
    """Vectors as they are; those of a masked array if nothing is masked."""
    array = _masked_of(value)
    if array is None:
        return value
    masked = list(zip(*array.mask.nonzero())) if array.mask.shape else []
    if masked:
        raise ValueError(f"{what}: expected numbers, found {len(masked)} masked, the first at {[int(place) for place in masked[0]]}; fill them or leave their rows out")
    return array.data


def with_minus_one(value: Any) -> Any:
    """Integers of which what is masked or pandas.NA is -1."""
    array = _masked_of(value)
    if array is not None:
        return [-1 if one is None else one for one in array.tolist()]
    if hasattr(value, "isna") and hasattr(value, "to_numpy") and getattr(value, "ndim", 1) == 1:  # torch would look rows up by their index
        whole = getattr(value.dtype, "kind", "") in ("i", "u") and value.isna().any()
        return value.fillna(-1).to_numpy(dtype="int64") if whole else value.to_numpy(copy=True)
    return value


def integers(name, value, what, like, numbered=False):
    """int64 on the device of `like` from a tensor, an array or a list; None stays None. numbered: integers below -1 are an error."""
    if value is None:
        return None
    if not isinstance(value, torch.Tensor):
        try:
            value = torch.as_tensor(with_minus_one(value))
            value = value if value.numel() else value.to(torch.int64)  # torch takes an empty list for numbers
        except (TypeError, ValueError, RuntimeError):
            raise TypeError(f"{name}: {what}: expected integers, one for each sample, found {_described(value)}") from None
    if value.is_floating_point() or value.is_complex():
        raise ValueError(f"{name}: {what}: expected integers, found {_described(value)}; give class indices")
    if value.dim() != 1:
        raise ValueError(f"{name}: {what}: expected one integer for each sample, found {_described(value)}")
    value = value.to(device=like.device, dtype=torch.int64)
    if numbered and bool((value < -1).any()):
        raise ValueError(f"{name}: {what}: {int((value < -1).sum())} integers are below -1, the first {int(value[value < -1][0])}; -1 alone means "
                         f"unknown, number what is known from 0")
    return value if numbered else told_apart(value)


def needed_integers(name, value, what, like, numbered=False):
    if value is None:
        raise TypeError(f"{name}: {what}: none were given")
    return integers(name, value, what, like, numbered)


def temperature(name, value):
    """One number, or a tensor of one number, whose range the caller must ensure."""
    if isinstance(value, torch.Tensor):
        if value.numel() != 1 or not value.is_floating_point():
            raise ValueError(f"{name}: temperature: expected one number, found {_described(value)}")
        return value.reshape(())
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not value > 0:
        raise ValueError(f"{name}: temperature: expected a number above 0, found {_described(value)}")
    return value


def numbers(name, value, what, like):
    """A floating-point tensor on the device of `like` from a tensor, an array or a list; None stays None."""
    if value is None:
        return None
    if not isinstance(value, torch.Tensor):
        try:
            value = torch.as_tensor(value, dtype=torch.float32)
        except (TypeError, ValueError, RuntimeError):
            raise TypeError(f"{name}: {what}: expected numbers, found {_described(value)}") from None
    if value.device != like.device:
        raise ValueError(f"{name}: {what}: on {value.device}, the embeddings on {like.device}; move one of them")
    return value if value.is_floating_point() else value.to(torch.float32)


def views(name, given):
    """[B, D] each, or one [B, V, D], as [B, V, D] whose views lie one after the other in memory."""
    if len(given) == 1 and isinstance(given[0], (tuple, list)):
        given = tuple(given[0])
    if not given:
        raise TypeError(f"{name}: expected views of shape [B, D], or one tensor [B, V, D]; none were given")
    for view in given:
        embeddings(name, view, "views" if len(given) > 1 else "embeddings")
    if len(given) == 1:
        if given[0].dim() not in (2, 3):
            raise ValueError(f"{name}: expected views of shape [B, D], or one tensor [B, V, D], found {_described(given[0])}")
        return given[0]
    shapes = [tuple(view.shape) for view in given]
    if len(shapes[0]) != 2 or any(shape != shapes[0] for shape in shapes[1:]):
        raise ValueError(f"{name}: expected views of one shape [B, D], found {', '.join(map(str, shapes))}; labels go by keyword")
    if any(view.device != given[0].device for view in given[1:]):
        raise ValueError(f"{name}: views on different devices: {', '.join(str(view.device) for view in given)}")
    if any(view.dtype != given[0].dtype for view in given[1:]):
        raise ValueError(f"{name}: views of different types: {', '.join(str(view.dtype).removeprefix('torch.') for view in given)}")
    return torch.stack(given).transpose(0, 1)


def warn(note: str) -> None:
    """At the line that called the package."""
    depth, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_globals.get("__name__", "").split(".")[0] == __name__.split(".")[0]:
        depth, frame = depth + 1, frame.f_back
    warnings.warn(note, stacklevel=depth)
