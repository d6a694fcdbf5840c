"""Converts weights of published networks to safetensors, which the command `debias` reads.

    python -m debias.weights convert mobilenet_v2.pth mobilenet_v2.safetensors

A .pth file is a pickle, which can execute code. It is therefore read with torch.load(weights_only=True), which accepts only tensors and
plain containers. The keys must be those of a network that `debias` supports: mobilenet_v2 (torchvision or timm), efficientnet_lite0 (timm,
Google or efficientnet-pytorch), ViT-S/16 (timm or torchvision), resnet18, resnet34 or resnet50. Other files are rejected. Keys, shapes and
types are unchanged.
"""

import argparse
import json
import os
import pickle
import re
import sys
import tempfile
from dataclasses import dataclass

import torch

__all__ = ["Converted", "WeightError", "convert", "section_of"]

_WRAPPERS = ("state_dict", "model_state_dict", "model", "state_dict_ema", "model_ema", "teacher")
_PREFIXES = ("module.", "backbone.", "model.")
_TYPES = {torch.float64: "F64", torch.float32: "F32", torch.float16: "F16", torch.bfloat16: "BF16", torch.int64: "I64",
          torch.int32: "I32", torch.int16: "I16", torch.int8: "I8", torch.uint8: "U8", torch.bool: "BOOL"}
_NETWORKS = "mobilenet_v2, efficientnet_lite0, vit_small, resnet18, resnet34, resnet50"


class WeightError(ValueError):
    """A file cannot be converted; the message is one line."""


@dataclass(frozen=True)
class Converted:
    """Result of a conversion: the recipe's `encoder` section, and the number of tensors."""

    section: dict
    tensors: int


def _blocks(keys, pattern):
    """Number of blocks of each stage. The groups of the pattern are stage and block; with one group there is a single stage."""
    counts = {}
    for key in keys:
        if found := re.fullmatch(pattern, key):
            *stage, block = map(int, found.groups())
            counts[tuple(stage)] = max(counts.get(tuple(stage), 0), block + 1)
    return [counts[stage] for stage in sorted(counts)]


def _mobile(keys):
    if "conv_stem.weight" in keys and not any(".se." in key for key in keys):
        counts = _blocks(keys, r"blocks\.(\d+)\.(\d+)\.conv_dw\.weight")
        return {(1, 2, 3, 4, 3, 3, 1): {"name": "mobilenet_v2"}, (1, 2, 2, 3, 3, 4, 1): {"name": "efficientnet_lite0"}}.get(tuple(counts))
    if "_conv_stem.weight" in keys and not any("_se_" in key for key in keys):
        if _blocks(keys, r"_blocks\.(\d+)\._depthwise_conv\.weight") == [16]:
            return {"name": "efficientnet_lite0", "origin": "tensorflow"}
    if "features.1.conv.0.0.weight" in keys and _blocks(keys, r"features\.(\d+)\..*\.weight") == [19]:
        return {"name": "mobilenet_v2"}
    return None


def _transformer(keys, shapes):
    depth = _blocks(keys, r"(?:blocks\.|encoder\.layers\.encoder_layer_)(\d+)\..*\.weight")
    table = shapes.get("pos_embed") or shapes.get("encoder.pos_embedding")
    if depth != [12] or not table or len(table) != 3 or table[2] != 384 or "blocks.0.ls1.gamma" in keys:
        return None
    side = round((table[1] - 1) ** 0.5)
    if side * side + 1 != table[1]:
        return None
    return {"name": "vit_small"} | ({} if side == 14 else {"size": 16 * side})


def _resnet(keys, shapes):
    stem, first = shapes.get("conv1.weight"), shapes.get("layer1.0.conv1.weight")
    depth = {(False, 2): 18, (False, 6): 34, (True, 6): 50}.get(
        ("layer1.0.conv3.weight" in keys, (_blocks(keys, r"layer3\.(\d+)\.conv1\.weight") or [0])[0]))
    if not stem or not first or len(stem) != 4 or depth is None:
        return None
    section = {"name": f"resnet{depth}", "stem": "imagenet" if stem[3] == 7 else "cifar"}
    return section | ({} if first[0] == 64 else {"width": first[0]}) | ({} if stem[0] == first[0] else {"stem_width": stem[0]})


def section_of(shapes):
    """The recipe's `encoder` section, without `weights`, of the network whose state dict has these shapes; None if there is no such network."""
    return _mobile(shapes) or _transformer(shapes, shapes) or _resnet(shapes, shapes)


def _loaded(source):
    if not os.path.isfile(source):
        raise WeightError(f"{source}: no such file")
    try:
        return torch.load(source, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError as error:
        if "TorchScript" in str(error):
            raise WeightError(f"{source}: it is a TorchScript file; give it to the encoder torchscript as it is") from None
        raise WeightError(f"{source}: it contains objects other than tensors, which are not opened; save model.state_dict()") from None
    except (RuntimeError, EOFError, OSError, ValueError, KeyError) as error:
        if "TorchScript" in str(error):
            raise WeightError(f"{source}: it is a TorchScript file; give it to the encoder torchscript as it is") from None
        raise WeightError(f"{source}: not a readable file of torch.save ({str(error).splitlines()[0]})") from None


def _state(source, loaded):
    """The tensors by key, without the containers that training programs wrap them in."""
    while isinstance(loaded, dict) and not any(isinstance(value, torch.Tensor) for value in loaded.values()):
        inner = next((loaded[name] for name in _WRAPPERS if isinstance(loaded.get(name), dict)), None)
        if inner is None:
            break
        loaded = inner
    if not isinstance(loaded, dict) or not loaded or not any(isinstance(value, torch.Tensor) for value in loaded.values()):
        raise WeightError(f"{source}: it has no tensors by name; save model.state_dict()")
    state = {str(key): value for key, value in loaded.items() if isinstance(value, torch.Tensor)}
    while section_of({key: tuple(value.shape) for key, value in state.items()}) is None:
        prefix = next((prefix for prefix in _PREFIXES if any(key.startswith(prefix) for key in state)), None)
        if prefix is None:
            break
        state = {key[len(prefix):]: value for key, value in state.items() if key.startswith(prefix)}
    return state


def _require_plain(source, state):
    for key, value in state.items():
        if value.is_sparse or value.is_quantized or value.dtype not in _TYPES:
            raise WeightError(f"{source}: key '{key}' is of type {value.dtype}, in which weights are not stored; save the model in float32")
        if value.is_floating_point() and not torch.isfinite(value).all():
            raise WeightError(f"{source}: key '{key}' has values that are not finite; take another copy of the file")


def _write(path, state):
    header, offset = {"__metadata__": {"format": "pt"}}, 0
    for key, value in state.items():
        size = value.numel() * value.element_size()
        header[key] = {"dtype": _TYPES[value.dtype], "shape": list(value.shape), "data_offsets": [offset, offset + size]}
        offset += size
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    folder = os.path.dirname(os.path.abspath(path))
    descriptor, temporary = tempfile.mkstemp(prefix=".weights-", dir=folder)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(len(text).to_bytes(8, "little") + text)
            for value in state.values():
                file.write(value.detach().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes())
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(temporary, 0o666 & ~mask)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def convert(source, target):
    """Writes the weights in `source` (torch.save) to the new file `target` (.safetensors). Raises WeightError, with a message of one line."""
    source, target = os.fspath(source), os.fspath(target)
    if not target.endswith(".safetensors"):
        raise WeightError(f"{target}: the output is a safetensors file; give it a name that ends in .safetensors")
    if os.path.exists(target):
        raise WeightError(f"{target}: it exists, and nothing is overwritten; give another name")
    state = _state(source, _loaded(source))
    section = section_of({key: tuple(value.shape) for key, value in state.items()})
    if section is None:
        raise WeightError(f"{source}: its keys ('{next(iter(state), '')}', ...) match none of {_NETWORKS}; trace the model as TorchScript "
                          "(torch.jit.trace) for the encoder torchscript")
    _require_plain(source, state)
    _write(target, state)
    return Converted(section, len(state))


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="python -m debias.weights", description="Weights of published networks as safetensors.")
    commands = parser.add_subparsers(dest="command", required=True)
    verb = commands.add_parser("convert", help="convert a file of torch.save to safetensors")
    verb.add_argument("source", help="X.pth, X.pt or X.bin, written by torch.save")
    verb.add_argument("target", help="new file F.safetensors to write")
    asked = parser.parse_args(arguments)
    try:
        done = convert(asked.source, asked.target)
    except WeightError as error:
        print(f"debias.weights: {error}", file=sys.stderr)
        return 3
    except OSError as error:
        print(f"debias.weights: {asked.target}: cannot be written: {error.strerror}", file=sys.stderr)
        return 5
    section = ", ".join(f"{key}: {value}" for key, value in (done.section | {"weights": asked.target}).items())
    print(f"{asked.target}: {done.tensors} tensors\nencoder: {{{section}}}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
