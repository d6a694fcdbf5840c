#!/usr/bin/env python3
"""Prints scikit-learn's t-SNE divergences for the rows of tsne_test.cpp, as its cases; or, given a run folder, compares its map's.

    tests/evaluate/check_with_sklearn.py                    prints the cases
    tests/evaluate/check_with_sklearn.py BINARY RUN         exit 1 where test.tsne_kl of RUN is more than 2 % above scikit-learn's

A map's divergence depends on where it starts: the cases are means over eight rotations of the principal components. It is computed with the
normaliser over all pairs, as ours; kl_divergence_ has the tree's, and is up to 1 % lower.
Not part of the tests: it needs `pip install scikit-learn==1.9.1` (run with Python 3.11, NumPy 2.4.6)."""
import csv
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
from sklearn.decomposition import PCA
from sklearn.manifold import TSNE
from sklearn.manifold._t_sne import _joint_probabilities_nn
from sklearn.neighbors import NearestNeighbors

CASES = [(300, 8, 5, 1, 20), (500, 16, 10, 2, 30), (1000, 32, 10, 1, 30), (200, 8, 4, 4, 5)]
MASK = 2**64 - 1


def drawn_rows(count, dim, clusters, spread, state=1):
    def following():
        nonlocal state
        total = -1024
        for _ in range(2):
            state = (state * 6364136223846793005 + 1442695040888963407) & MASK
            total += (state >> 33) % 1024
        return total

    centres = np.array([spread * following() for _ in range(clusters * dim)]).reshape(clusters, dim)
    noise = np.array([2 * following() for _ in range(count * dim)]).reshape(count, dim)
    return (centres[np.arange(count) % clusters] + noise).astype(np.float32)


def unit_rows(rows):
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def divergence(unit, perplexity, angle=0.0):
    start = PCA(n_components=2).fit_transform(unit)
    turn = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
    start = (start / start[:, 0].std() * 1e-4 @ turn).astype(np.float32)
    points = TSNE(perplexity=perplexity, init=start, learning_rate="auto").fit_transform(unit).astype(np.float64)
    neighbours = min(len(unit) - 1, int(3 * perplexity + 1))
    distances = NearestNeighbors(n_neighbors=neighbours).fit(unit).kneighbors_graph(mode="distance")
    distances.data **= 2
    p = _joint_probabilities_nn(distances, perplexity, 0).tocoo()
    squared = lambda i, j: ((points[i] - points[j]) ** 2).sum(axis=-1)
    total = sum((1 / (1 + squared(i, slice(None)))).sum() - 1 for i in range(len(points)))
    used = p.data > 0
    return float((p.data[used] * np.log(p.data[used] * total * (1 + squared(p.row[used], p.col[used])))).sum())


def check_run(binary, run):
    map_file = pathlib.Path(run) / "evaluation" / "tsne.json"
    if not map_file.exists():
        subprocess.run([binary, "eval", "tsne", run], check=True, stdout=subprocess.DEVNULL)
    found = json.loads(map_file.read_text(encoding="utf-8"))["map"]["test"]
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([binary, "embed", run, "--out", f"{folder}/test"], check=True, stdout=subprocess.DEVNULL)
        rows = np.load(f"{folder}/test.npy")
        with open(f"{folder}/test.csv", encoding="utf-8") as table:
            labels = [int(line["labels"]) for line in csv.DictReader(table)]
    assert [labels[i] for i in found["ids"]] == found["labels"], "ids of this data set are not places in it"
    expected = divergence(unit_rows(rows[found["ids"]]), found["perplexity"])
    print(f"{len(found['ids'])} images: KL {found['kl']:.5f}, scikit-learn {expected:.5f} ({found['kl'] / expected - 1:+.2%})")
    return found["kl"] <= 1.02 * expected


if __name__ == "__main__":
    if len(sys.argv) == 3:
        sys.exit(0 if check_run(*sys.argv[1:]) else 1)
    for case in CASES:
        found = [divergence(unit_rows(drawn_rows(*case[:4])), case[4], 0.7 * i) for i in range(8)]
        print("SklearnCase{" + ", ".join(map(repr, [*case, round(float(np.mean(found)), 5)])) + "},")
