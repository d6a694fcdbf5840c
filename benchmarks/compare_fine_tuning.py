#!/usr/bin/env python3
"""benchmarks/compare_fine_tuning.py PHOTOS WEIGHTS.safetensors [--minutes M] [--seeds N]: pretrained MobileNetV2 on images with a shortcut.

PHOTOS is a folder train/CLASS/*, test/CLASS/*. For each seed, 1,200 training and 800 test images of four classes get a coloured square in a corner,
`debias data plant square` with correlation 0.95; in the test images the square means nothing. Measured on the test images:

    frozen        `debias embed` and `debias fix` on the features: the plain head and the one that `fix` chooses
    fine-tuned    the recipe that `debias init --from WEIGHTS --minutes M` writes (bias_balanced), and the plain one beside it
    torchvision   its MobileNetV2 with the same weights, trained for the seconds of our training: images resized to the same side, padded crops and
                  flips, draws that balance the groups of class and bias label, AdamW with a cosine schedule; learning rates as in the recipe, 1e-3
                  for the classifier and a tenth of it for the pretrained layers

Prints a JSON line for each measurement: accuracy on all, bias-aligned and bias-conflicting images and in the worst group, and seconds; then means
with 95 % intervals over seeds (Student's t) and our differences to torchvision. Needs torch, torchvision, numpy, Pillow and safetensors:

    build/python-env/bin/python benchmarks/compare_fine_tuning.py data/cifar10 mobilenet_v2.safetensors
"""

import argparse
import csv
import json
import math
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import time

import torch
import torchvision
from safetensors.torch import load_file

from process_cost import DEBIAS

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "scripts"))
from student import interval  # noqa: E402

OF_CLASS = {"train": 300, "test": 200}


def debias(options, *words):
    start = time.perf_counter()
    done = subprocess.run([options.debias, *map(str, words)], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"debias {' '.join(map(str, words))}: {done.stderr.strip()}")
    return done.stdout, time.perf_counter() - start


def chosen_images(options, seed, folder):
    """Four classes, and of each as many images, drawn by the seed."""
    draw = random.Random(seed)
    classes = sorted(path.name for path in (options.photos / "train").iterdir() if path.is_dir())
    for name in draw.sample(classes, 4):
        for split, count in OF_CLASS.items():
            (folder / split / name).mkdir(parents=True)
            for path in draw.sample(sorted((options.photos / split / name).iterdir()), count):
                shutil.copy(path, folder / split / name / path.name)


def by_groups(rows):
    """Of (label, bias label, predicted label), the shortcut of a class being its own name."""
    share = lambda kept: sum(label == predicted for label, _, predicted in kept) / len(kept)
    groups = {}
    for row in rows:
        groups.setdefault(row[:2], []).append(row)
    return {"all": share(rows), "aligned": share([row for row in rows if row[0] == row[1]]),
            "conflicting": share([row for row in rows if row[0] != row[1]]), "worst": min(map(share, groups.values()))}


def planted_rows(planted, split):
    with open(planted / "planted.csv", encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["path"].startswith(f"{split}/")]
    column = next(name for name in rows[0] if name not in ("path", "label", "split"))
    return [(planted / row["path"], pathlib.Path(row["path"]).parts[1], row[column]) for row in rows]


def frozen(options, planted, work):
    _, seconds = debias(options, "embed", planted, "--encoder", options.weights, "--out", work / "z.npy", f"labels={planted / 'planted.csv'}")
    _, more = debias(options, "fix", "--embeddings", work / "z.npy", "--csv", work / "z.csv", "--out", work / "fixed")
    with open(work / "fixed/predictions.csv", encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["split"] == "test"]
    for method, column in (("frozen, plain head", "before"), ("frozen, fix", "after")):
        yield method, by_groups([(row["label"], row["bias"], row[column]) for row in rows]), seconds + more


def of_run(run):
    record = json.loads((run / "evaluation/groups.json").read_text(encoding="utf-8"))
    found = record["metrics"]
    pick = lambda name: found.get(f"test.{name}", found.get(f"valid.{name}"))
    return {"all": pick("acc1"), "aligned": pick("aligned_acc"), "conflicting": pick("conflicting_acc"), "worst": pick("worst_group_acc")}


def fine_tuned(options, planted, work, seed):
    recipe = work / "photos.yaml"
    debias(options, "init", planted, "--labels", planted / "planted.csv", "--from", options.weights, "--minutes", options.minutes, "--out", recipe)
    for method, file in (("fine-tuned, bias_balanced", recipe), ("fine-tuned, cross_entropy", work / "photos-plain.yaml")):
        run = work / f"run-{file.stem}"
        _, seconds = debias(options, "train", file, f"seed={seed}", f"output={run}")
        yield method, of_run(run), seconds


def views(paths, side, training, generator):
    images = []
    for path in paths:
        image = torchvision.io.decode_image(str(path), torchvision.io.ImageReadMode.RGB)
        image = torchvision.transforms.functional.resize(image, [side, side], antialias=True).float() / 255
        if training:
            pad = side // 8
            image = torch.nn.functional.pad(image, (pad, pad, pad, pad))
            top, left = (int(torch.randint(0, 2 * pad + 1, (), generator=generator)) for _ in range(2))
            image = image[:, top:top + side, left:left + side]
            image = image.flip(2) if torch.rand((), generator=generator) < 0.5 else image
        images.append(image)
    batch = torchvision.transforms.functional.normalize(torch.stack(images), [0.485, 0.456, 0.406], [0.229, 0.224, 0.225])
    return batch.contiguous(memory_format=torch.channels_last)


def side_of(recipe):
    return int(recipe.read_text(encoding="utf-8").split("- resize: {size: [")[1].split(",")[0])


def of_torchvision(options, planted, work, seed, seconds):
    torch.manual_seed(seed)
    generator = torch.Generator().manual_seed(seed)
    side = side_of(work / "photos.yaml")
    train, test = planted_rows(planted, "train"), planted_rows(planted, "test")
    classes = sorted({label for _, label, _ in train})
    counts = {}
    for _, label, bias in train:
        counts[label, bias] = counts.get((label, bias), 0) + 1
    weights = torch.tensor([1 / counts[label, bias] for _, label, bias in train])
    model = torchvision.models.mobilenet_v2()
    model.load_state_dict(load_file(options.weights), strict=False)
    model.classifier = torch.nn.Linear(1280, len(classes))
    model = model.to(memory_format=torch.channels_last)
    optimizer = torch.optim.AdamW([{"params": model.features.parameters(), "lr": 1e-4}, {"params": model.classifier.parameters(), "lr": 1e-3}],
                                  weight_decay=1e-2)
    rates = [group["lr"] for group in optimizer.param_groups]
    start, step = time.perf_counter(), 0
    while (spent := (time.perf_counter() - start) / seconds) < 1:  # the schedule follows the time, which is what is equal
        for group, rate in zip(optimizer.param_groups, rates):
            group["lr"] = rate * 0.5 * (1 + math.cos(math.pi * spent))
        batch = torch.multinomial(weights, 64, replacement=True, generator=generator).tolist()
        logits = model(views([train[i][0] for i in batch], side, True, generator))
        value = torch.nn.functional.cross_entropy(logits, torch.tensor([classes.index(train[i][1]) for i in batch]))
        optimizer.zero_grad()
        value.backward()
        optimizer.step()
        step += 1
    model.eval()
    predicted = []
    with torch.no_grad():
        for begin in range(0, len(test), 100):
            predicted += model(views([row[0] for row in test[begin:begin + 100]], side, False, generator)).argmax(1).tolist()
    found = by_groups([(label, bias, classes[guess]) for (_, label, bias), guess in zip(test, predicted)])
    return found, seconds, round(step * 64 / len(train), 1)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("photos", type=pathlib.Path)
    parser.add_argument("weights", type=pathlib.Path)
    parser.add_argument("--minutes", type=float, default=10, help="of debias init: for two trainings and the report")
    parser.add_argument("--seeds", type=int, default=3, choices=range(1, 6))
    parser.add_argument("--debias", default=DEBIAS)
    options = parser.parse_args()
    found = {}

    def report(method, seed, metrics, seconds, **more):
        found.setdefault(method, []).append(metrics)
        print(json.dumps({"method": method, "seed": seed, **{name: round(value, 4) for name, value in metrics.items()},
                          "seconds": round(seconds, 1), **more}), flush=True)

    for seed in range(1, options.seeds + 1):
        with tempfile.TemporaryDirectory() as folder:
            work = pathlib.Path(folder)
            chosen_images(options, seed, work / "photos")
            debias(options, "data", "plant", "square", work / "photos", "--out", work / "planted", "correlation=0.95", f"seed={seed}")
            for method, metrics, seconds in frozen(options, work / "planted", work):
                report(method, seed, metrics, seconds)
            longest = 0
            for method, metrics, seconds in fine_tuned(options, work / "planted", work, seed):
                report(method, seed, metrics, seconds)
                longest = max(longest, seconds)
            metrics, seconds, epochs = of_torchvision(options, work / "planted", work, seed, longest)
            report("torchvision, balanced sampler", seed, metrics, seconds, epochs=epochs)
    for method, runs in found.items():
        line = {"method": method, **{name: interval([run[name] for run in runs], 1) for name in runs[0]}}
        peer = found["torchvision, balanced sampler"]
        line["conflicting over torchvision"] = interval([a["conflicting"] - b["conflicting"] for a, b in zip(runs, peer)], 1)
        print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
