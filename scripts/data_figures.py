#!/usr/bin/env python3
"""scripts/data_figures.py --mnist DIR --frost DIR: draws docs/images/corruptions.png and docs/images/biased_mnist.png.

    python3 -m venv venv && venv/bin/pip install pillow==11.3.0 numpy==2.4.6
    venv/bin/python scripts/data_figures.py --mnist data/mnist --frost data/frost

The pixels come from build/release/bin/debias (or --debias): a CIFAR-10 folder in which every class is the one picture (--image, 32x32) is
corrupted with correlation=1, ten corruptions at a time; Biased-MNIST is exported.
"""

import argparse
import pathlib
import subprocess
import tempfile

import numpy as np
from PIL import Image, ImageDraw

ROOT = pathlib.Path(__file__).resolve().parents[1]
CLASSES = ["airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"]
CORRUPTIONS = [
    ["gaussian_noise", "shot_noise", "impulse_noise", "speckle_noise", "gaussian_blur",
     "glass_blur", "defocus_blur", "motion_blur", "zoom_blur", "original"],
    ["snow", "frost", "fog", "brightness", "contrast", "spatter", "saturate", "jpeg", "pixelate", "elastic"],
]
SEVERITIES = [1, 2, 3, 4, 5]
GAP = 3


def debias(program, *words):
    subprocess.run([program, *map(str, words)], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def corrupted(program, picture, frost, folder):
    """{name: one image a severity}"""
    tiles = {name: [] for block in CORRUPTIONS for name in block}
    source = folder / "cifar"
    for split in ("train", "test"):
        for name in CLASSES:
            (source / split / name).mkdir(parents=True)
            Image.open(picture).convert("RGB").save(source / split / name / "1.png")
    for severity in SEVERITIES:
        for number, block in enumerate(CORRUPTIONS):
            out = folder / f"made-{severity}-{number}"
            debias(program, "data", "make", "corrupted_cifar10", "--root", source, "--out", out, "correlation=1", "valid_fraction=0",
                   f"severity={severity}", f"corruptions=[{','.join(block)}]", f"frost={frost}")
            for place, name in enumerate(block):
                (made,) = (out / "align" / str(place)).glob("*.png")
                tiles[name].append(Image.open(made))
    return tiles


def draw_corruptions(tiles, path, scale=2, side=32, label=92):
    cell = side * scale + GAP
    sheet = Image.new("RGB", (2 * (label + cell * len(SEVERITIES)) + 4 * GAP, 10 * cell + 16), "white")
    draw = ImageDraw.Draw(sheet)
    for number, block in enumerate(CORRUPTIONS):
        left = number * (label + cell * len(SEVERITIES) + 4 * GAP)
        for column, severity in enumerate(SEVERITIES):
            draw.text((left + label + column * cell + cell // 2, 2), str(severity), fill="black", anchor="mt")
        for row, name in enumerate(block):
            draw.text((left + label - 5, 16 + row * cell + cell // 2), name.replace("_", " "), fill="black", anchor="rm")
            for column, tile in enumerate(tiles[name][:1] if name == "original" else tiles[name]):
                enlarged = tile.resize((side * scale, side * scale), Image.NEAREST)
                sheet.paste(enlarged, (left + label + column * cell, 16 + row * cell))
    sheet.save(path, optimize=True)


def exported(program, mnist, folder, *words):
    names = [folder / name for name in ("x.npy", "y.npy", "b.npy")]
    debias(program, "data", "export", "biased_mnist", "--root", mnist, *words, "--limit", 1000,
           "--out", names[0], "--labels", names[1], "--bias", names[2])
    return [np.load(name) for name in names]


def draw_biased_mnist(parts, path, columns=12, side=28):
    cell = side + GAP
    width = columns * cell + 30
    sheet = Image.new("RGB", (len(parts) * width, 10 * cell + 18), "white")
    draw = ImageDraw.Draw(sheet)
    for number, (title, (images, labels, _)) in enumerate(parts):
        left = number * width
        draw.text((left + columns * cell // 2 + 14, 2), title, fill="black", anchor="mt")
        for digit in range(10):
            draw.text((left + 10, 18 + digit * cell + cell // 2), str(digit), fill="black", anchor="rm")
            for column, index in enumerate(np.flatnonzero(labels == digit)[:columns]):
                sheet.paste(Image.fromarray(images[index]), (left + 14 + column * cell, 18 + digit * cell))
    sheet.save(path, optimize=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mnist", required=True, type=pathlib.Path)
    parser.add_argument("--frost", required=True, type=pathlib.Path)
    parser.add_argument("--image", default=ROOT / "tests/golden/corruptions/input.png", type=pathlib.Path)
    parser.add_argument("--debias", default=ROOT / "build/release/bin/debias", type=pathlib.Path)
    parser.add_argument("--out", default=ROOT / "docs/images", type=pathlib.Path)
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        draw_corruptions(corrupted(given.debias, given.image, given.frost, folder), given.out / "corruptions.png")
        parts = [(f"train, correlation={share}", exported(given.debias, given.mnist, folder, "split=train", f"correlation={share}"))
                 for share in (0.997, 0.9)]
        parts.append(("test, correlation=0.1", exported(given.debias, given.mnist, folder, "split=test", "correlation=0.1")))
        draw_biased_mnist(parts, given.out / "biased_mnist.png")


if __name__ == "__main__":
    main()
