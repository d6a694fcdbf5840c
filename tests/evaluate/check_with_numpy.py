#!/usr/bin/env python3
"""Evaluates exported embeddings with NumPy alone and compares each prediction with `debias eval`'s: weighted kNN, class means, and the two
probes on stored features (linear_features; linear_dcl with views=eval), their initialisation, order of batches and Adam included.

    tests/evaluate/check_with_numpy.py BINARY [RUN]      RUN: a run folder; without one a small run is trained first (a minute)

Exit 1 where fewer than 99.9 % of the predictions are the same. Not part of the tests: it needs `pip install numpy==2.4.6` (run with
Python 3.11)."""
import csv
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

RECIPE = """
seed: 3
data:
  train: {name: glyphs, size: 16, correlation: 0.1, train_count: 3000, test_count: 3000}
  test: {name: glyphs, size: 16, correlation: 0.1, train_count: 3000, test_count: 3000, split: test}
views: {preset: sim32, count: 2, random_resized_crop: {size: 16}}
encoder: {name: resnet18, width: 8}
head: {name: simclr, hidden_dim: 32, output_dim: 16}
objective: {name: supcon, temperature: 0.3}
train: {epochs: 3, batch_size: 128, device: cpu}
"""
KNN, LINEAR_FEATURES, LINEAR_DCL, MEANS = "knn", "linear_features", "linear_dcl", "mean_classifier"
DOMAIN_ORDER, DOMAIN_EVALUATE = 1, 5


# Philox4x32-10 (Salmon et al. 2011) and the streams of debias/core/philox.h.
def philox(counters, key):
    c = [column.astype(np.uint64) for column in counters.T]
    k0, k1, low = np.uint64(key[0]), np.uint64(key[1]), np.uint64(0xFFFFFFFF)
    for _ in range(10):
        p0, p1 = np.uint64(0xD2511F53) * c[0], np.uint64(0xCD9E8D57) * c[2]
        c = [(p1 >> np.uint64(32)) ^ c[1] ^ k0, p1 & low, (p0 >> np.uint64(32)) ^ c[3] ^ k1, p0 & low]
        k0, k1 = (k0 + np.uint64(0x9E3779B9)) & low, (k1 + np.uint64(0xBB67AE85)) & low
    return np.stack(c, axis=1)


def words(count, domain, seed, epoch=0):
    """The first `count` 32-bit words of the stream of (domain, seed, epoch), sample 0."""
    key = philox(np.array([[epoch & 0xFFFFFFFF, epoch >> 32, domain, 0]], dtype=np.uint64), (seed & 0xFFFFFFFF, seed >> 32))[0, :2]
    counters = np.zeros((-(-count // 4), 4), dtype=np.uint64)
    counters[:, 0] = np.arange(len(counters))
    return philox(counters, key).reshape(-1)[:count]


def permutation(n, seed, epoch):
    """Fisher-Yates with Lemire's unbiased choice below i."""
    stream = iter(words(2 * n + 64, DOMAIN_ORDER, seed, epoch).tolist())
    order = list(range(n))
    for i in range(n - 1, 0, -1):
        while True:
            product = (next(stream) << 32 | next(stream)) * (i + 1)
            if product % 2**64 >= 2**64 % (i + 1):
                break
        j = product >> 64
        order[i], order[j] = order[j], order[i]
    return np.array(order)


def initial_weights(dim, classes, seed):
    drawn = words(2 * classes * (dim + 1), DOMAIN_EVALUATE, seed)
    unit = ((drawn[0::2] >> np.uint64(5)) << np.uint64(26) | drawn[1::2] >> np.uint64(6)).astype(np.float64) * 2.0**-53
    bound = 1 / np.sqrt(dim)
    values = (-bound + 2 * bound * unit).astype(np.float32)
    return values[: classes * dim].reshape(classes, dim), values[classes * dim :]


# The protocols.
def unit_rows(rows):
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)


def knn(train, labels, test, classes, options):
    cosines = unit_rows(test.astype(np.float64)) @ unit_rows(train.astype(np.float64)).T
    nearest = np.argsort(-cosines, axis=1, kind="stable")[:, : options["k"]]
    votes = np.exp(np.take_along_axis(cosines, nearest, axis=1) / options["temperature"])
    scores = np.stack([np.where(labels[nearest] == c, votes, 0).sum(axis=1) for c in range(classes)], axis=1)
    return scores.argmax(axis=1)


def class_means(train, labels, test, classes, _):
    unit = unit_rows(train.astype(np.float64))
    means = np.stack([unit[labels == c].mean(axis=0) if (labels == c).any() else np.zeros(train.shape[1]) for c in range(classes)])
    return (unit_rows(test.astype(np.float64)) @ means.T).argmax(axis=1)


def probe(train, labels, test, classes, options):
    """Softmax regression by Adam (Kingma & Ba 2015), weight decay added to the gradient, in double."""
    stops = "patience" in options  # linear_features: drops a partial batch, and stops when the loss does not fall
    if options.get("normalize"):
        train, test = unit_rows(train), unit_rows(test)
    x, seed, size = train.astype(np.float64), options["seed"], options["batch_size"]
    parameters = [values.astype(np.float64) for values in initial_weights(x.shape[1], classes, seed)]
    first, second = [np.zeros_like(p) for p in parameters], [np.zeros_like(p) for p in parameters]
    lowest, since_lowest, step = np.inf, 0, 0
    for epoch in range(options["epochs"]):
        order, total, seen = permutation(len(x), seed, epoch), 0.0, 0
        for begin in range(0, len(x), size):
            batch = order[begin : begin + size]
            if stops and len(batch) < size < len(x):
                break
            logits = x[batch] @ parameters[0].T + parameters[1]
            logits -= logits.max(axis=1, keepdims=True)
            p = np.exp(logits)
            p /= p.sum(axis=1, keepdims=True)
            own = np.arange(len(batch)), labels[batch]
            total -= np.log(p[own]).sum()
            seen += len(batch)
            p[own] -= 1
            p /= len(batch)
            step += 1
            for i, gradient in enumerate((p.T @ x[batch], p.sum(axis=0))):
                gradient = gradient + options["weight_decay"] * parameters[i]
                first[i] = 0.9 * first[i] + 0.1 * gradient
                second[i] = 0.999 * second[i] + 0.001 * gradient**2
                root = np.sqrt(second[i] / (1 - 0.999**step)) + 1e-8
                parameters[i] = parameters[i] - options["learning_rate"] * first[i] / (1 - 0.9**step) / root
        since_lowest = 0 if total / seen < lowest else since_lowest + 1
        lowest = min(lowest, total / seen)
        if stops and 0 < options["patience"] <= since_lowest:
            break
    return (test.astype(np.float64) @ parameters[0].T + parameters[1]).argmax(axis=1)


PROTOCOLS = {KNN: knn, MEANS: class_means, LINEAR_FEATURES: probe, LINEAR_DCL: probe}


def debias(binary, *words):
    return subprocess.run([binary, *map(str, words)], check=True, stdout=subprocess.PIPE, text=True).stdout


def column(path, name, split=None):
    with open(path, encoding="utf-8", newline="") as table:
        return np.array([int(line[name]) for line in csv.DictReader(table) if split is None or line["split"] == split])


def embedded(binary, run, section, out):
    """Features and labels of the data set that a section of the recipe describes."""
    keys = [f"{key}={json.dumps(value) if isinstance(value, (list, dict, bool)) else value}" for key, value in section.items()
            if key not in ("name", "root") and value is not None]
    root = ["--root", section["root"]] if section.get("root") else []
    debias(binary, "embed", run, "--data", section["name"], *root, *keys, "--out", out)
    return np.load(f"{out}.npy"), column(f"{out}.csv", "labels")


def check(binary, run, folder):
    results = json.loads(debias(binary, "eval", ",".join(PROTOCOLS), run, "linear_dcl.views=eval", "--predictions", "--json"))["protocols"]
    data = results[KNN]["data"]
    train, labels = embedded(binary, run, data["train"], f"{folder}/train")
    test, truth = embedded(binary, run, data["test"], f"{folder}/test")
    known = labels >= 0
    good = True
    for name, evaluate in PROTOCOLS.items():
        expected = evaluate(train[known], labels[known], test, results[name]["classes"], results[name]["options"])
        table = pathlib.Path(run) / "evaluation" / f"{name}.csv"
        assert (column(table, "labels", "test") == truth).all()
        found = column(table, "predictions", "test")
        same = (found == expected).mean()
        good = good and same >= 0.999
        accuracy = (expected == truth)[truth >= 0].mean()
        print(f"{name:16} {len(found)} images, {same:.4%} of the predictions the same, accuracy {accuracy:.4f}")
    return good


def main():
    with tempfile.TemporaryDirectory() as folder:
        binary, run = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else f"{folder}/run"
        if len(sys.argv) == 2:
            pathlib.Path(folder, "recipe.yaml").write_text(RECIPE, encoding="utf-8")
            debias(binary, "train", f"{folder}/recipe.yaml", f"output={run}")
        return 0 if check(binary, run, folder) else 1


if __name__ == "__main__":
    sys.exit(main())
