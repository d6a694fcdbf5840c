"""Converts weights of published networks to safetensors, which the command `debias` reads.

    python -m debias.weights convert mobilenet_v2.pth mobilenet_v2.safetensors

A .pth file is a pickle, which can execute code; nothing of it is executed (_checkpoints.py). The keys must be those of a network that `debias`
supports, after any prefix: mobilenet_v2 (torchvision or timm), efficientnet_lite0 (timm, Google or efficientnet-pytorch), ViT-S/16 (timm,
torchvision or MMPretrain), resnet18, resnet34 or resnet50. Other files are rejected. Shapes and types are unchanged; keys lose their prefix, and
what does not belong to the network is left out. The result says what was taken.
"""

import argparse
import json
import os
import re
import sys
import tempfile
from dataclasses import dataclass, field

import torch

from . import _network_keys
from ._checkpoints import WeightError, tensors_of

__all__ = ["Converted", "WeightError", "convert", "section_of"]

_TYPES = {torch.float64: "F64", torch.float32: "F32", torch.float16: "F16", torch.bfloat16: "BF16", torch.int64: "I64",
          torch.int32: "I32", torch.int16: "I16", torch.int8: "I8", torch.uint8: "U8", torch.bool: "BOOL"}
_IMAGENET = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]
_CLIP = [0.48145466, 0.4578275, 0.40821073], [0.26862954, 0.26130258, 0.27577711]
_UNIT = [0.5, 0.5, 0.5], [0.5, 0.5, 0.5]
_SHOWN = 3  # names in a note


@dataclass(frozen=True)
class Converted:
    """Result of a conversion: the recipe's `encoder` section, the number of tensors, the prefix of the keys that were taken, and notes."""

    section: dict
    tensors: int
    prefix: str = field(default="", compare=False)
    notes: tuple = field(default=(), compare=False)


def section_of(shapes):
    """The recipe's `encoder` section, without `weights`, of the network whose state dict has these shapes; None if there is no such network."""
    return _network_keys.network_of(shapes).section


def _listed(names):
    return ", ".join(f"'{name}'" for name in names[:_SHOWN]) + (", ..." if len(names) > _SHOWN else "")


def _chosen(source, shapes, prefix):
    """What is taken of the file, and what else is recognised in it."""
    known, near = _network_keys.found_in(shapes)
    if not known:
        why = next((f"; after '{one.prefix}' {one.network.reason}" if one.prefix else f"; {one.network.reason}" for one in near), "")
        raise WeightError(f"{source}: its keys ('{next(iter(shapes), '')}', ...) match none of {_network_keys.NAMES}{why}; trace the model as "
                          "TorchScript (torch.jit.trace) for the encoder torchscript")
    if prefix is None:
        return known[0], known[1:]
    dotted = prefix.rstrip(".") + "." if prefix else ""
    fits = [one for one in known if one.prefix == dotted] or [one for one in known if dotted and one.prefix.endswith("." + dotted)]
    if not fits:
        raise WeightError(f"{source}: no network after the prefix '{prefix}'; give one of {_listed([one.prefix for one in known])}")
    return fits[0], [one for one in known if one is not fits[0]]


def _stored_constants(state):
    """(mean, std, why) if the file stores those that its model applies, for values in [0, 1] or in [0, 255]."""
    for key, mean in state.items():
        *path, last = key.split(".")
        partner = ".".join([*path, last.replace("mean", "std")])
        std = state.get(partner)
        if last not in ("mean", "new_mean", "pixel_mean", "image_mean", "norm_mean") or std is None:
            continue
        if mean.numel() == std.numel() == 3 and mean.is_floating_point():
            numbers = [[round(number, 8) for number in one.double().reshape(-1).tolist()] for one in (mean, std)]
            if max(map(abs, numbers[0])) > 1 or max(numbers[1]) > 1:
                numbers = [[round(number / 255, 8) for number in one] for one in numbers]
            if min(numbers[1]) > 0:
                return (*numbers, f"'{key}' and '{partner}' have them")
    return None


def _constants(section, state, found):
    """(mean, std, why) of the images that the weights were trained with, or None if those of the encoder's default hold or no key shows them."""
    if stored := _stored_constants(state):
        return stored
    words = {word for key in state for word in key.split(".")}
    if "logit_scale" in words or "visual" in found.prefix.split("."):
        return (*_UNIT, "'logit_bias' is SigLIP's") if "logit_bias" in words else (*_CLIP, "the keys are CLIP's")
    if section["name"] != "vit_small":
        return None
    others = [key for key in state if key not in found.keys or not re.match(found.network.parts, found.keys[key])]
    if words & {"teacher", "student", "last_layer", "dino_head", "ibot_head", "dino_loss"}:
        return *_IMAGENET, "the keys are DINO's"
    if "conv_proj.weight" in found.keys.values():
        return *_IMAGENET, "the keys are torchvision's"
    if words & {"base_encoder", "momentum_encoder", "projector", "predictor", "encoder_q", "encoder_k", "decoder_blocks", "mask_token"}:
        return *_IMAGENET, f"'{others[0] if others else next(iter(found.keys))}' is of a self-supervised method"
    if found.prefix == "model." and all(key.startswith("model.") for key in state):
        return *_IMAGENET, "a file of 'model' alone is as DeiT publishes"
    if not any(re.match(r"heads?\.", key) for key in found.keys.values()):
        return *_IMAGENET, "there is no classifier, as in what DINO and MoCo v3 publish"
    return None


def _with_constants(section, state, found):
    """The section with mean and std where the keys show them, and a note of what they are taken from."""
    constants = _constants(section, state, found)
    if constants is None:
        if section["name"] != "vit_small":
            return section, ()
        return section, (f"no key shows the normalisation: mean and std {_UNIT[0]} of timm's AugReg weights are used; for weights trained with "
                         f"ImageNet's (DeiT) add mean: {_IMAGENET[0]}, std: {_IMAGENET[1]}",)
    mean, std, why = constants
    unsure = " (timm's AugReg weights without their classifier take 0.5 for all)" if why.startswith("there is no classifier") else ""
    return section | {"mean": mean, "std": std}, (f"mean {mean} and std {std}: {why}{unsure}",)


def _require_plain(source, state):
    for key, value in state.items():
        if value.layout != torch.strided or value.is_quantized or value.dtype not in _TYPES:
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


def convert(source, target, *, prefix=None):
    """Writes the network in `source` (torch.save or safetensors) to the new file `target` (.safetensors), with keys as torchvision or timm has them.

    If several prefixes lead to a network, such as those of MoCo's two encoders, the first that is not a momentum or averaged copy is taken, and
    the notes name the others; `prefix` chooses one. Raises WeightError, with a message of one line.
    """
    source, target = os.fspath(source), os.fspath(target)
    if not target.endswith(".safetensors"):
        raise WeightError(f"{target}: the output is a safetensors file; give it a name that ends in .safetensors")
    if os.path.exists(target):
        raise WeightError(f"{target}: it exists, and nothing is overwritten; give another name")
    state = tensors_of(source)
    found, others = _chosen(source, {key: tuple(value.shape) for key, value in state.items()}, prefix)
    taken = {name: state[key] for key, name in found.keys.items() if re.match(found.network.parts, name)}
    _require_plain(source, taken)
    section, notes = _with_constants(found.network.section, state, found)
    _write(target, taken)
    if others:
        notes += (f"{len(others)} more {'networks are' if len(others) > 1 else 'network is'} in the file, after "
                  f"{_listed([one.prefix for one in others])}: choose with --prefix",)
    elsewhere = {key for one in others for key in one.keys}
    left = [key for key in state if key not in elsewhere and not re.match(found.network.parts, found.keys.get(key, "."))]
    if left:
        notes += (f"{len(left)} {'tensors' if len(left) > 1 else 'tensor'} of other parts left out, the first '{left[0]}'",)
    return Converted(section, len(taken), found.prefix, notes)


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="python -m debias.weights", description="Weights of published networks as safetensors.")
    commands = parser.add_subparsers(dest="command", required=True)
    verb = commands.add_parser("convert", help="convert a file of torch.save to safetensors")
    verb.add_argument("source", help="X.pth, X.pt, X.bin or X.ckpt, written by torch.save, or X.safetensors")
    verb.add_argument("target", help="new file F.safetensors to write")
    verb.add_argument("--prefix", help="take the keys after this prefix, if the file has several networks")
    asked = parser.parse_args(arguments)
    try:
        done = convert(asked.source, asked.target, prefix=asked.prefix)
    except WeightError as error:
        print(f"debias.weights: {error}", file=sys.stderr)
        return 3
    except OSError as error:
        print(f"debias.weights: {asked.target}: cannot be written: {error.strerror}", file=sys.stderr)
        return 5
    section = ", ".join(f"{key}: {value}" for key, value in (done.section | {"weights": asked.target}).items())
    print(f"{asked.target}: {done.tensors} tensors" + (f", the keys after '{done.prefix}'" if done.prefix else ""))
    for note in done.notes:
        print(f"note: {note}")
    print(f"encoder: {{{section}}}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
