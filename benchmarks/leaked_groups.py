#!/usr/bin/env python3
"""benchmarks/leaked_groups.py [--seeds 1,2,3] [--groups 80] [--epochs 5] [--debias PROGRAM] [--work DIR]

The accuracy that folds and splits claim where they divide groups, beside that on new groups: bursts, patients, product views. A JSON line a
kind, command and seed.

Protocol, fixed before the first run:
  images   32 x 32, a texture for each group: bursts of 5 frames (shift, brightness, noise), patients of 4 images (crop and contrast), products
           of 6 views (mirrored, of another size, noise). Class (of two), bias label (that of the class for 90 %) and a column `site` are drawn
           for each group, so nothing in an image says them: the truth is 0.5, measured on as many new groups (split test).
  vectors  256 fixed random projections of the pixels.
  rows     every image is told to be a group of its own (--group own); groups: the column group; found: nothing is said, and copies are
           looked for.
  counted  fix: accuracy of the plain head in the folds.   eval: kNN accuracy, leaving one out.   hold_out: kNN accuracy of a trained resnet18
           of width 8 on the held-out images.   audit: p of the column `site`, which goes with no class.
Needs numpy and Pillow. The same arguments give the same images.
"""

import argparse
import json
import pathlib
import subprocess
import tempfile

import numpy as np
from PIL import Image

SIDE = 32
MEMBERS = {"bursts": 5, "patients": 4, "views": 6}
RECIPE = """name: leaked
data:
  train: {{name: image_folder, root: {root}, hold_out: {held}{labels}}}
  test: {{name: image_folder, root: {root}, hold_out: {held}{labels}, split: held_out}}
seed: {seed}
views: {{preset: sim32}}
encoder: {{name: resnet18, stem: cifar, width: 8}}
objective: {{name: infonce, temperature: 0.2}}
optimizer: {{name: adam, learning_rate: 2e-3}}
train: {{epochs: {epochs}, batch_size: 64, device: cpu, threads: 1, workers: 0}}
evaluate: {{every: {epochs}, protocols: [knn], knn: {{k: 5}}}}
output: {out}
"""


def texture(random):
    coarse = random.integers(0, 256, (12, 12, 3)).astype(np.uint8)
    return np.asarray(Image.fromarray(coarse).resize((48, 48), Image.BICUBIC)).astype(float)


def member(kind, base, random):
    y, x = random.integers(7, 10, 2)
    crop = base[y:y + SIDE, x:x + SIDE]
    if kind == "bursts":
        crop = crop * random.uniform(0.9, 1.1)
    elif kind == "patients":
        crop = (crop - crop.mean()) * random.uniform(0.8, 1.2) + crop.mean()
    else:
        side = int(random.integers(30, 35))
        crop = np.asarray(Image.fromarray(base[7:7 + side, 7:7 + side].astype(np.uint8)).resize((SIDE, SIDE), Image.BILINEAR)).astype(float)
        crop = crop[:, ::-1] if random.random() < 0.5 else crop
    return np.clip(crop + random.normal(0, 4, crop.shape), 0, 255).astype(np.uint8)


def make(folder, kind, groups, seed):
    """Writes train/CLASS/*.png, rows.csv for the folder, and the tables train.npy and all.npy."""
    random = np.random.default_rng([seed, list(MEMBERS).index(kind)])
    project = np.random.default_rng(0).normal(0, 1, (SIDE * SIDE * 3, 256)) / SIDE
    rows, vectors = [], []
    for group in range(2 * groups):
        split = "train" if group < groups else "test"
        label = int(random.integers(2))
        bias, site, base = label if random.random() < 0.9 else 1 - label, int(random.integers(4)), texture(random)
        for number in range(MEMBERS[kind]):
            image = member(kind, base, random)
            name = f"{'ab'[label]}/{kind}_{group:03}_{number}.png"
            if split == "train":
                path = folder / "train" / name
                path.parent.mkdir(parents=True, exist_ok=True)
                Image.fromarray(image).save(path)
            rows.append((name, "ab"[label], f"bias{bias}", split, f"site{site}", f"{group}", name))
            vectors.append((image.reshape(-1) / 255 - 0.5) @ project)
    for name, kept in (("train", [row[3] == "train" for row in rows]), ("all", [True] * len(rows))):
        np.save(folder / f"{name}.npy", np.asarray(vectors, np.float32)[kept])
        lines = ["path,label,bias,split,site,group,own"] + [",".join(row) for row, keep in zip(rows, kept) if keep]
        (folder / f"{name}.csv").write_text("\n".join(lines) + "\n")
    lines = ["path,group,own"] + [f"{row[0]},{row[5]},{row[6]}" for row in rows if row[3] == "train"]
    (folder / "rows.csv").write_text("\n".join(lines) + "\n")


class Program:
    def __init__(self, program):
        self.program = program

    def __call__(self, *words):
        found = subprocess.run([self.program, *map(str, words), "--json"], capture_output=True, text=True)
        if found.returncode:
            raise SystemExit(f"debias {' '.join(map(str, words))}: {found.stderr}")
        return json.loads(found.stdout)


def table(folder, name, group):
    return ["--embeddings", folder / f"{name}.npy", "--csv", folder / f"{name}.csv", *(["--group", group] if group else [])]


def fixed(debias, folder, name, group):
    out = folder / f"fixed_{name}_{group}"
    before = debias("fix", *table(folder, name, group), "--method", "erm", "--out", out)["before"]
    return before["test" if "test" in before else "folds"]["acc"]


def neighbours(debias, folder, name, group):
    return debias("eval", "knn", *table(folder, name, group), "k=5")["protocols"]["knn"]["metrics"]["test.knn_acc1"]


def audited(debias, folder, group):
    found = debias("audit", *table(folder, "train", group), "--columns", "site", "--out", folder / f"audit_{group}.html")["candidates"]
    return next(one["p_adjusted"] for one in found if one["name"] == "column site")


def trained(debias, folder, labels, epochs, seed, tag):
    images = sum(1 for _ in folder.glob("train/*/*.png"))
    recipe, out = folder / f"{tag}.yaml", folder / tag
    recipe.write_text(RECIPE.format(root=folder / "train", held=images // 5, labels=labels, epochs=epochs, seed=seed, out=out))
    debias("train", recipe)
    return json.loads((out / "evaluation/knn.json").read_text())["metrics"]["test.knn_acc1"]


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--seeds", default="1,2,3")
    arguments.add_argument("--groups", type=int, default=80)
    arguments.add_argument("--epochs", type=int, default=5)
    arguments.add_argument("--debias", default="build/release/bin/debias")
    arguments.add_argument("--work", default=None)
    given = arguments.parse_args()
    debias, work = Program(given.debias), pathlib.Path(given.work or tempfile.mkdtemp())
    for kind in MEMBERS:
        for seed in map(int, given.seeds.split(",")):
            folder = work / f"{kind}_{seed}"
            make(folder, kind, given.groups, seed)
            columns = lambda group: f", labels: {{file: {folder}/rows.csv, group: {group}}}"
            results = {
                "fix": {"rows": fixed(debias, folder, "train", "own"), "groups": fixed(debias, folder, "train", "group"),
                        "truth": fixed(debias, folder, "all", "group")},
                "eval": {"rows": neighbours(debias, folder, "train", "own"), "groups": neighbours(debias, folder, "train", "group"),
                         "truth": neighbours(debias, folder, "all", "group")},
                "hold_out": {"rows": trained(debias, folder, columns("own"), given.epochs, seed, "rows"),
                             "groups": trained(debias, folder, columns("group"), given.epochs, seed, "groups"),
                             "found": trained(debias, folder, "", given.epochs, seed, "found"), "truth": 0.5},
                "audit": {"rows": audited(debias, folder, "own"), "groups": audited(debias, folder, "group")}}
            for command, numbers in results.items():
                print(json.dumps({"kind": kind, "seed": seed, "command": command, **{what: round(value, 4) for what, value in numbers.items()}}), flush=True)


if __name__ == "__main__":
    main()
