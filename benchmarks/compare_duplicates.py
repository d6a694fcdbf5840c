#!/usr/bin/env python3
"""benchmarks/compare_duplicates.py IMAGES WEIGHTS [--debias PATH] [--originals N] [--planted N]: planted duplicates found by `debias pairs` on
frozen features, by the cosine of the same features alone, and by the hashes of imagededup.

IMAGES is a folder of class folders, WEIGHTS a backbone's safetensors (debias embed --encoder). Of N originals, drawn evenly over the classes,
some are copied: as JPEG of quality 40, as a crop of 90 % of each side scaled back, mirrored, and at three quarters of the size. Found pairs
are compared with the planted ones: recall, precision (also pairs that were alike before count as wrong), and recall by kind. The thresholds of
the cosine and of the hashes are the ones that imagededup has by default, and the best for F1 in hindsight. Seconds are the whole command's for
debias, reading included.

Needs numpy and pillow, and imagededup 0.3.3, which brings torch, for its hashes:

    pip install imagededup==0.3.3
"""

import argparse
import csv
import json
import pathlib
import random
import subprocess
import sys
import tempfile
import time
import types

import numpy
from PIL import Image

from process_cost import DEBIAS

KINDS = {
    "jpeg40": lambda image, draw: image,
    "crop90": lambda image, draw: crop(image, draw),
    "flip": lambda image, draw: image.transpose(Image.FLIP_LEFT_RIGHT),
    "resize75": lambda image, draw: image.resize([max(1, round(0.75 * side)) for side in image.size], Image.BICUBIC),
}


def crop(image, draw):
    width, height = image.size
    w, h = round(0.9 * width), round(0.9 * height)
    x, y = draw.randint(0, width - w), draw.randint(0, height - h)
    return image.crop((x, y, x + w, y + h)).resize((width, height), Image.BICUBIC)


def planted(options, folder):
    """Copies the originals into folder/CLASS and plants their duplicates; the pairs of names, with their kinds."""
    draw = random.Random(1)
    classes = sorted(path for path in options.images.iterdir() if path.is_dir())
    chosen = []
    for each in classes:
        files = sorted(path for path in each.iterdir() if path.is_file())
        chosen += draw.sample(files, min(len(files), options.originals // len(classes)))
    truth = {}
    doubled = set(draw.sample(range(len(chosen)), options.planted))
    for i, source in enumerate(chosen):
        place = folder / source.parent.name
        place.mkdir(parents=True, exist_ok=True)
        image = Image.open(source).convert("RGB")
        image.save(place / f"{i:05d}.png")
        if i in doubled:
            kind = list(KINDS)[len(truth) % len(KINDS)]
            copy = place / f"{i:05d}-{kind}.{'jpg' if kind == 'jpeg40' else 'png'}"
            KINDS[kind](image, draw).save(copy, **({"quality": 40} if kind == "jpeg40" else {}))
            truth[frozenset((f"{place.name}/{i:05d}.png", f"{place.name}/{copy.name}"))] = kind
    return truth


def evaluated(found, truth):
    right = found & set(truth)
    recall = {kind: sum(truth[pair] == kind for pair in right) / sum(each == kind for each in truth.values()) for kind in KINDS}
    return {"recall": round(len(right) / len(truth), 4), "precision": round(len(right) / max(1, len(found)), 4), "pairs": len(found),
            **{f"recall_{kind}": round(value, 3) for kind, value in recall.items()}}


def f1(row):
    return 2 * row["recall"] * row["precision"] / max(1e-9, row["recall"] + row["precision"])


def of_debias(options, folder, work, truth):
    start = time.perf_counter()
    command = [options.debias, "embed", str(folder), "--encoder", str(options.weights), "--out", str(work / "z"), "--quiet"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    embedded = time.perf_counter()
    command = [options.debias, "pairs", "--embeddings", str(work / "z.npy"), "--root", str(folder), "--top", "1", "--out", str(work / "pairs.csv"),
               "--quiet"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    end = time.perf_counter()
    rows = list(csv.DictReader(open(work / "pairs.csv", encoding="utf-8")))
    found = {frozenset((row["a"], row["b"])) for row in rows if row["kind"] == "duplicate"}
    print(json.dumps({"method": "debias pairs", **evaluated(found, truth), "embed_s": round(embedded - start, 1), "pairs_s": round(end - embedded, 1)}),
          flush=True)


def of_cosine(work, truth):
    z = numpy.load(work / "z.npy")
    z /= numpy.linalg.norm(z, axis=1, keepdims=True)
    names = [row["path"] for row in csv.DictReader(open(work / "z.csv", encoding="utf-8"))]
    scores = z @ z.T
    rows = []
    for threshold in (0.9, *numpy.arange(0.8, 0.999, 0.01)):
        above = zip(*numpy.nonzero(numpy.triu(scores > threshold, 1)))
        rows.append({"method": "cosine", "threshold": round(float(threshold), 3), **evaluated({frozenset((names[a], names[b])) for a, b in above}, truth)})
    print(json.dumps(rows[0]), flush=True)
    print(json.dumps({**max(rows, key=f1), "chosen": "in hindsight"}), flush=True)


def of_hashes(folder, truth):
    sys.modules["imagededup.methods.cnn"] = types.SimpleNamespace(CNN=None)  # which fetches weights from the network when it is imported
    from imagededup import methods
    for name in ("PHash", "DHash", "WHash", "AHash"):
        hasher = getattr(methods, name)(verbose=False)
        start = time.perf_counter()
        encodings = {}
        for place in sorted(folder.iterdir()):
            encodings.update({f"{place.name}/{file}": value for file, value in hasher.encode_images(image_dir=str(place)).items()})
        rows = []
        for distance in (10, 0, 2, 4, 6, 8, 12, 14):
            duplicates = hasher.find_duplicates(encoding_map=encodings, max_distance_threshold=distance)
            if distance == 10:
                taken = time.perf_counter() - start
            found = {frozenset((a, b)) for a, others in duplicates.items() for b in others}
            rows.append({"method": f"imagededup {name}", "threshold": distance, **evaluated(found, truth)})
        print(json.dumps({**rows[0], "seconds": round(taken, 1)}), flush=True)
        print(json.dumps({**max(rows, key=f1), "chosen": "in hindsight"}), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("images", type=pathlib.Path)
    parser.add_argument("weights", type=pathlib.Path)
    parser.add_argument("--debias", default=DEBIAS)
    parser.add_argument("--originals", type=int, default=5000)
    parser.add_argument("--planted", type=int, default=500)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        work = pathlib.Path(temporary)
        folder = work / "images"
        truth = planted(options, folder)
        of_debias(options, folder, work, truth)
        of_cosine(work, truth)
        of_hashes(folder, truth)


if __name__ == "__main__":
    main()
