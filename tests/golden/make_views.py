"""Writes tests/golden/views/: what Pillow makes of a few small images, for tests/image/pixel_operations_test.cpp.

    python3 -m venv venv && venv/bin/pip install pillow==11.3.0 numpy==2.4.6 && venv/bin/python tests/golden/make_views.py

pixels.npy holds all images one after the other; cases.json lists operation, arguments, and input and output as {offset, shape}. The
operations are those that torchvision's functional transforms perform on PIL images; adjust_hue is written out here as torchvision does it.
Blur is real arithmetic (double), rounded once. Pillow 11.3 resizes rows first always; Pillow 13 picks the cheaper order, which moves some
pixels by 1 when one side grows and the other shrinks.
"""
import json
import pathlib

import numpy as np
import PIL
from PIL import Image, ImageEnhance

OUT = pathlib.Path(__file__).parent / "views"
cases = []
pixels = []


def save(array):
    array = np.asarray(array)
    assert array.dtype == np.uint8
    offset = sum(len(piece) for piece in pixels)
    pixels.append(array.reshape(-1))
    return {"offset": offset, "shape": list(array.shape) if array.ndim == 3 else [*array.shape, 1]}


def make_inputs():
    rng = np.random.default_rng(7)
    y, x = np.mgrid[0:14, 0:18]
    gradient = np.stack([x * 255 // 17, y * 255 // 13, (x + y) * 255 // 30], -1).astype(np.uint8)
    return [
        rng.integers(0, 256, (17, 13, 3), dtype=np.uint8),
        rng.integers(0, 256, (16, 16, 3), dtype=np.uint8),
        gradient,
        rng.integers(0, 256, (12, 15), dtype=np.uint8),
    ]


def record(operation, source, arguments, result):
    cases.append({"operation": operation, "arguments": arguments, "input": source, "output": save(result)})


def adjust_hue(image, turns):
    h, s, v = image.convert("HSV").split()
    shifted = np.array(h, dtype=np.uint8)
    with np.errstate(over="ignore"):
        shifted = shifted + np.int32(turns * 255).astype(np.uint8)
    return Image.merge("HSV", (Image.fromarray(shifted.astype(np.uint8)), s, v)).convert("RGB")


def blur(array, kernel_size, sigma):
    radius = kernel_size // 2
    weights = np.exp(-0.5 * (np.arange(-radius, radius + 1) / sigma) ** 2)
    weights /= weights.sum()
    pixels = array.astype(np.float64)
    for axis in (0, 1):
        pad = [(radius, radius) if a == axis else (0, 0) for a in range(pixels.ndim)]
        padded = np.pad(pixels, pad, mode="reflect")
        pixels = sum(w * np.take(padded, range(k, k + array.shape[axis]), axis) for k, w in enumerate(weights))
    return np.floor(pixels + 0.5).astype(np.uint8)


def main():
    for array in make_inputs():
        source = save(array)
        image = Image.fromarray(array)
        height, width = array.shape[:2]
        crops = [(0, 0, height, width, 24, 24), (2, 3, height - 5, width - 4, 9, 21), (1, 0, 5, 4, 11, 10), (3, 2, 8, 7, 8, 4)]
        for top, left, h, w, out_h, out_w in crops:
            box = image.crop((left, top, left + w, top + h))
            record("resized_crop", source, [top, left, h, w, out_h, out_w], box.resize((out_w, out_h), Image.BILINEAR))
        for degrees in (-17.3, 20.0, 90.0, 180.0, 135.5):
            record("rotate", source, [degrees], image.rotate(degrees, Image.NEAREST))
        for factor in (0.0, 0.63, 1.37):
            record("brightness", source, [factor], ImageEnhance.Brightness(image).enhance(factor))
            record("contrast", source, [factor], ImageEnhance.Contrast(image).enhance(factor))
            record("saturation", source, [factor], ImageEnhance.Color(image).enhance(factor))
        for turns in (-0.5, -0.083, 0.0, 0.1, 0.47):
            record("hue", source, [turns], adjust_hue(image, turns) if image.mode == "RGB" else image)
        grey = image.convert("L")
        record("grayscale", source, [], grey if image.mode == "L" else grey.convert("RGB"))
        record("flip", source, [], image.transpose(Image.FLIP_LEFT_RIGHT))
        for kernel_size, sigma in ((3, 0.1), (3, 1.3), (9, 2.0)):
            record("gaussian_blur", source, [kernel_size, sigma], blur(array, kernel_size, sigma))
    OUT.mkdir(exist_ok=True)
    np.save(OUT / "pixels.npy", np.concatenate(pixels))
    made_with = {"pillow": PIL.__version__, "numpy": np.__version__}
    lines = ",\n".join(json.dumps(case) for case in cases)
    (OUT / "cases.json").write_text(f'{{"made_with": {json.dumps(made_with)},\n"cases": [\n{lines}\n]}}\n')


main()
