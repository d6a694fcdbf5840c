"""Reads safetensors files without the library of that name: a length, a JSON header, and tensors one after another."""

import json
import math
import pathlib
from typing import Dict, Tuple

import torch

_TYPES = {"F64": torch.float64, "F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16, "I64": torch.int64, "I32": torch.int32,
          "I16": torch.int16, "I8": torch.int8, "U8": torch.uint8, "BOOL": torch.bool}
_MAX_HEADER = 100_000_000  # bytes, as the format has it


def _header(path: pathlib.Path, data: bytes) -> Tuple[dict, int]:
    length = int.from_bytes(data[:8], "little")
    if len(data) < 8 or length > min(_MAX_HEADER, len(data) - 8):
        raise ValueError(f"{path}: expected a safetensors file, found {len(data)} bytes without a whole header; the file is cut or of another format")
    try:
        header = json.loads(data[8:8 + length])
    except ValueError as error:
        raise ValueError(f"{path}: expected a JSON header of a safetensors file, found something else ({error})") from None
    if not isinstance(header, dict):
        raise ValueError(f"{path}: expected a JSON object as header, found {type(header).__name__}")
    return header, 8 + length


def _tensor(path: pathlib.Path, name: str, entry: dict, body: memoryview) -> torch.Tensor:
    try:
        dtype, shape, (begin, end) = _TYPES[entry["dtype"]], [int(size) for size in entry["shape"]], entry["data_offsets"]
        fits = 0 <= begin <= end <= len(body) and end - begin == math.prod(shape) * dtype.itemsize
    except (KeyError, TypeError, ValueError):
        raise ValueError(f"{path}: tensor '{name}': type, shape or place cannot be read: {str(entry)[:80]}") from None
    if not fits:
        raise ValueError(f"{path}: tensor '{name}': bytes {begin} to {end} of {len(body)} do not hold {entry['dtype']} of shape {shape}; "
                         "the file is damaged")
    if begin == end:
        return torch.empty(shape, dtype=dtype)
    return torch.frombuffer(bytearray(body[begin:end]), dtype=dtype).reshape(shape)


def read(path: pathlib.Path, prefix: str = "") -> Dict[str, torch.Tensor]:
    """The tensors whose names begin with `prefix`, under their names without it. ValueError where the file is damaged."""
    data = pathlib.Path(path).read_bytes()
    header, start = _header(path, data)
    body = memoryview(data)[start:]
    return {name[len(prefix):]: _tensor(path, name, entry, body)
            for name, entry in header.items() if name != "__metadata__" and name.startswith(prefix)}
