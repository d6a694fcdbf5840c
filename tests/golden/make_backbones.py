#!/usr/bin/env python3
"""tests/golden/make_backbones.py: features of torchvision's and timm's own networks, for weights and images that are a formula.

Needs torch, torchvision and timm. Writes tests/golden/backbones.json: {name: {"section", "side", "keys": {key: shape}, "features": two rows,
of which every fourth number}}. Element i of the tensor of a key is a hash of i and of the key's bytes, in [-1, 1), scaled by its kind, so that
a test makes the same file of weights; image n has the hash of its own key.
"""

import json
import math
import pathlib

import numpy as np
import timm
import torch
import torchvision

OUT = pathlib.Path(__file__).parent / "backbones.json"
records = {}


def hashed(key, count):
    """float64 [count] in [-1, 1): a finaliser of MurmurHash3 over the place, begun at the FNV-1a hash of the key."""
    start = 2166136261
    for byte in key.encode():
        start = (start ^ byte) * 16777619 % 2**32
    h = (np.arange(count, dtype=np.uint64) * 2654435761 + start) % 2**32
    h ^= h >> 16
    h = h * 0x85EBCA6B % 2**32
    h ^= h >> 13
    h = h * 0xC2B2AE35 % 2**32
    h ^= h >> 16
    return h.astype(np.float64) / 2**31 - 1


def value(key, shape):
    count = int(np.prod(shape))
    u = hashed(key, count).reshape(shape)
    if key.endswith("num_batches_tracked"):
        return np.full(shape, 7, dtype=np.int64)
    if key.endswith("running_var"):
        u = 1 + 0.5 * u
    elif len(shape) == 1:
        u = (1 if key.endswith("weight") else 0) + 0.2 * u
    elif len(shape) == 2 or len(shape) == 4:
        u = u * math.sqrt(6 / np.prod(shape[1:]))
    else:
        u = 0.5 * u
    return u.astype(np.float32)


def write(name, section, model, features, side):
    shapes = {key: list(tensor.shape) for key, tensor in model.state_dict().items()}
    model.load_state_dict({key: torch.from_numpy(value(key, shape)) for key, shape in shapes.items()})
    model.eval()
    images = torch.from_numpy(hashed("images", 2 * 3 * side * side).reshape(2, 3, side, side).astype(np.float32))
    with torch.no_grad():
        rows = features(model, images).double()
    assert torch.isfinite(rows).all() and rows.std(0).max() > 1e-3, name
    features = [[round(v, 7) for v in row[::4].tolist()] for row in rows]
    records[name] = {"section": section, "side": side, "keys": shapes, "features": features}
    print(name, rows.shape, rows.abs().mean().item())


def pooled(model, images):
    return model.forward_head(model.forward_features(images), pre_logits=True)


def main():
    torch.manual_seed(0)
    vision, vit = torchvision.models, {"weights": None}
    convolved = lambda model, images: model.features(images).mean((2, 3))
    write("torchvision_mobilenet_v2", "{name: mobilenet_v2}", vision.mobilenet_v2(weights=None), convolved, 65)
    write("timm_mobilenet_v2", "{name: mobilenet_v2}", timm.create_model("mobilenetv2_100"), pooled, 64)
    write("timm_efficientnet_lite0", "{name: efficientnet_lite0}", timm.create_model("efficientnet_lite0"), pooled, 64)
    write("timm_tf_efficientnet_lite0", "{name: efficientnet_lite0, origin: tensorflow}", timm.create_model("tf_efficientnet_lite0"), pooled, 66)
    for depth in (18, 50):
        model = getattr(vision, f"resnet{depth}")(weights=None)
        headless = lambda m, images: torch.nn.Sequential(*list(m.children())[:-1])(images).flatten(1)
        write(f"torchvision_resnet{depth}", f"{{name: resnet{depth}, stem: imagenet}}", model, headless, 64)
    write("timm_resnet34", "{name: resnet34, stem: imagenet}", timm.create_model("resnet34"), pooled, 65)
    write("timm_vit_small", "{name: vit_small, size: 64}", timm.create_model("vit_small_patch16_224", img_size=64), pooled, 64)
    model = vision.VisionTransformer(image_size=48, patch_size=16, num_layers=12, num_heads=6, hidden_dim=384, mlp_dim=1536)

    def token(m, images):
        x = m._process_input(images)
        return m.encoder(torch.cat([m.class_token.expand(len(x), -1, -1), x], 1))[:, 0]

    write("torchvision_vit_small", "{name: vit_small, size: 48}", model, token, 48)
    texts = (f'"{name}": {json.dumps(records[name])}' for name in sorted(records))
    OUT.write_text("{" + ",\n".join(texts) + "}\n")


if __name__ == "__main__":
    main()
