"""Reads safetensors files without the library of that name: a length, a JSON header, and tensors one after another."""

import json
import math
import pathlib
from typing import Any, Dict, Optional, Tuple

import torch

from ._inputs import require_name

_TYPES = {"F64": torch.float64, "F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16, "I64": torch.int64, "I32": torch.int32,
          "I16": torch.int16, "I8": torch.int8, "U8": torch.uint8, "BOOL": torch.bool}
_ARRAYS = {"F64": "<f8", "F32": "<f4", "F16": "<f2"}  # types of numpy
_MAX_HEADER = 100_000_000  # bytes, as the format has it


def _header(path: pathlib.Path, data: Any) -> Tuple[dict, int]:
    length = int.from_bytes(data[:8], "little")
    if len(data) < 8 or length > min(_MAX_HEADER, len(data) - 8):
        raise ValueError(f"{path}: expected a safetensors file, found {len(data)} bytes without a whole header; the file is cut or of another format")
    try:
        header = json.loads(bytes(data[8:8 + length]))
    except ValueError as error:
        raise ValueError(f"{path}: expected a JSON header of a safetensors file, found something else ({error})") from None
    if not isinstance(header, dict):
        raise ValueError(f"{path}: expected a JSON object as header, found {type(header).__name__}")
    return header, 8 + length


def _place(path: pathlib.Path, name: str, entry: dict, size: int) -> Tuple[torch.dtype, list, int, int]:
    """Type, shape, begin and end of a tensor within `size` bytes."""
    try:
        dtype, shape, (begin, end) = _TYPES[entry["dtype"]], [int(one) for one in entry["shape"]], entry["data_offsets"]
        fits = 0 <= begin <= end <= size and end - begin == math.prod(shape) * dtype.itemsize
    except (KeyError, TypeError, ValueError):
        raise ValueError(f"{path}: tensor '{name}': type, shape or place cannot be read: {str(entry)[:80]}") from None
    if not fits:
        raise ValueError(f"{path}: tensor '{name}': bytes {begin} to {end} of {size} do not hold {entry['dtype']} of shape {shape}; "
                         "the file is damaged")
    return dtype, shape, begin, end


def _tensor(path: pathlib.Path, name: str, entry: dict, body: memoryview) -> torch.Tensor:
    dtype, shape, begin, end = _place(path, name, entry, len(body))
    if begin == end:
        return torch.empty(shape, dtype=dtype)
    return torch.frombuffer(bytearray(body[begin:end]), dtype=dtype).reshape(shape)


def read(path: pathlib.Path, prefix: str = "") -> Dict[str, torch.Tensor]:
    """The tensors whose names begin with `prefix`, by their names without it. Raises ValueError if the file is damaged."""
    data = pathlib.Path(path).read_bytes()
    header, start = _header(path, data)
    body = memoryview(data)[start:]
    return {name[len(prefix):]: _tensor(path, name, entry, body)
            for name, entry in header.items() if name != "__metadata__" and name.startswith(prefix)}


def metadata(path: pathlib.Path) -> Dict[str, str]:
    """The texts that the header has beside the tensors."""
    header, _ = _header(path, pathlib.Path(path).read_bytes())
    return {str(name): str(text) for name, text in dict(header.get("__metadata__") or {}).items()}


def _one_name(path: pathlib.Path, header: dict, key: Optional[str]) -> str:
    names = [name for name in header if name != "__metadata__"]
    if key is None and len(names) != 1:
        raise ValueError(f"{path}: expected one tensor, or its name in key=, found {len(names)}" + (f": {', '.join(names[:5])}" if names else ""))
    if key is not None:
        require_name(f"{path}: key: no tensor", key, names)
    return names[0] if key is None else key


def mapped(path: pathlib.Path, key: Optional[str] = None) -> Any:
    """The only tensor of a file, or that of this name: a memory-mapped numpy array, or a tensor if numpy lacks the type."""
    import numpy
    data = numpy.memmap(path, "u1", "r") if pathlib.Path(path).stat().st_size else b""
    header, start = _header(path, data)
    name = _one_name(path, header, key)
    entry = header[name]
    _, shape, begin, end = _place(path, name, entry, len(data) - start)
    if entry["dtype"] not in _ARRAYS or begin == end:
        return _tensor(path, name, entry, memoryview(data)[start:])
    return data[start + begin:start + end].view(_ARRAYS[entry["dtype"]]).reshape(shape)
