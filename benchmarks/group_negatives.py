#!/usr/bin/env python3
"""benchmarks/group_negatives.py [--seeds 1,2,3] [--bursts 120] [--frames 8] [--epochs 8] [--debias PROGRAM] [--work DIR]

Trains on bursts with `data.groups: exclude` and `ignore`, all else equal, and prints kNN accuracy on bursts of their own, a JSON line a run.

Protocol, fixed before the first run:
  images   32 x 32. Four classes of drawn shapes; the frames of a burst share scene, colour and place of the shape, and differ by a shift of up
           to two pixels, brightness and noise. As many bursts of each class; a quarter of as many bursts to test on, drawn with another seed.
  network  resnet18 of width 8, InfoNCE at temperature 0.2, batches of 128 of all training images in random order, one thread.
  counted  kNN (k 20) accuracy on the test bursts, none of which has frames among the training images.
Needs numpy and Pillow. The same arguments give the same images.
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import tempfile

import numpy as np
from PIL import Image, ImageDraw

SHAPES = ("disc", "square", "cross", "ring")
RECIPE = """name: bursts
data:
  train: {{name: image_folder, root: {root}, labels: {root}/rows.csv}}
  test: {{name: image_folder, root: {root}, split: test, labels: {root}/rows.csv}}
  groups: {groups}
seed: {seed}
views:
  steps: [random_resized_crop: {{size: 32, scale: [0.4, 1]}}, random_horizontal_flip: {{}}, color_jitter: {{brightness: 0.4, contrast: 0.4, saturation: 0.4, hue: 0.1, p: 0.8}}]
  count: 2
encoder: {{name: resnet18, stem: cifar, width: 8}}
head: {{name: simclr, hidden_dim: 64, output_dim: 32}}
objective: {{name: infonce, temperature: 0.2}}
optimizer: {{name: adam, learning_rate: 2e-3, weight_decay: 1e-6}}
schedule: {{name: cosine}}
train: {{epochs: {epochs}, batch_size: 128, device: cpu, threads: 1, workers: 0}}
evaluate: {{every: {epochs}, protocols: [knn], knn: {{k: 20}}}}
output: {out}
"""


def frame(scene, shape, colour, place, random):
    image = Image.fromarray(scene)
    draw = ImageDraw.Draw(image)
    dx, dy = random.integers(-2, 3, 2)
    x, y, r = place[0] + dx, place[1] + dy, place[2]
    box, ink = [x - r, y - r, x + r, y + r], tuple(int(c) for c in colour)
    if shape == "disc":
        draw.ellipse(box, fill=ink)
    elif shape == "square":
        draw.rectangle(box, fill=ink)
    elif shape == "ring":
        draw.ellipse(box, outline=ink, width=2)
    else:
        draw.line([x - r, y, x + r, y], fill=ink, width=3)
        draw.line([x, y - r, x, y + r], fill=ink, width=3)
    pixels = np.asarray(image).astype(float) * random.uniform(0.9, 1.1) + random.normal(0, 4, (32, 32, 3))
    return Image.fromarray(pixels.clip(0, 255).astype(np.uint8))


def draw_bursts(root, split, bursts, frames, seed, rows):
    random = np.random.default_rng(seed)
    for burst in range(bursts):
        shape = SHAPES[burst % len(SHAPES)]
        folder = root / split / shape
        folder.mkdir(parents=True, exist_ok=True)
        low = random.integers(0, 256, (4, 4, 3)).astype(np.uint8)
        scene = np.asarray(Image.fromarray(low).resize((32, 32), Image.BICUBIC))
        colour, place = random.integers(0, 256, 3), (*random.integers(10, 22, 2), int(random.integers(5, 9)))
        for number in range(frames):
            name = f"{split}/{shape}/{burst}_{number}.png"
            frame(scene, shape, colour, place, random).save(root / name)
            rows.append(f"{name},{split}-{burst}")


def accuracy(program, work, root, groups, seed, epochs):
    out = work / f"{groups}-{seed}"
    recipe = work / f"{groups}-{seed}.yaml"
    recipe.write_text(RECIPE.format(root=root, groups=groups, seed=seed, epochs=epochs, out=out))
    done = subprocess.run([program, "train", recipe, "--overwrite", "--json", "-q"], check=True, capture_output=True, text=True)
    found = json.loads(done.stdout)
    return {"groups": groups, "seed": seed, "knn_acc1": found["metrics"]["test.knn_acc1"], "seconds": round(found["seconds"], 1),
            "notes": found["notes"]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", default="1,2,3")
    parser.add_argument("--bursts", type=int, default=120)
    parser.add_argument("--frames", type=int, default=8)
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--debias", default=str(pathlib.Path(__file__).resolve().parent.parent / "build/release/bin/debias"))
    parser.add_argument("--work")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        work = pathlib.Path(arguments.work or temporary)
        root, rows = work / "bursts", ["path,group"]
        draw_bursts(root, "train", arguments.bursts, arguments.frames, 1, rows)
        draw_bursts(root, "test", arguments.bursts // 4, arguments.frames, 2, rows)
        (root / "rows.csv").write_text("\n".join(rows) + "\n")
        found = {"exclude": [], "ignore": []}
        for seed in map(int, arguments.seeds.split(",")):
            for groups, values in found.items():
                run = accuracy(arguments.debias, work, root, groups, seed, arguments.epochs)
                values.append(run["knn_acc1"])
                print(json.dumps(run), flush=True)
        gains = [a - b for a, b in zip(found["exclude"], found["ignore"])]
        print(json.dumps({"bursts": arguments.bursts, "frames": arguments.frames, "exclude": statistics.mean(found["exclude"]),
                          "ignore": statistics.mean(found["ignore"]), "gain": statistics.mean(gains), "gains": gains}))


if __name__ == "__main__":
    main()
