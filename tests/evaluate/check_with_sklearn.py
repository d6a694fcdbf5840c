#!/usr/bin/env python3
"""Prints scikit-learn's t-SNE divergences for the rows of tsne_test.cpp, as its cases; or, given a run folder, compares its map's.

    tests/evaluate/check_with_sklearn.py                    prints the cases
    tests/evaluate/check_with_sklearn.py BINARY RUN         exit 1 where test.tsne_kl of RUN is more than 2 % above scikit-learn's

Not part of the tests: it needs `pip install scikit-learn==VERSION`. The maps start from the principal components, as ours do."""
import csv
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
from sklearn.manifold import TSNE

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


def divergence(rows, perplexity):
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return float(TSNE(perplexity=perplexity, init="pca", learning_rate="auto", random_state=0).fit(unit).kl_divergence_)


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
    expected = divergence(rows[found["ids"]], found["perplexity"])
    print(f"{len(found['ids'])} images: KL {found['kl']:.5f}, scikit-learn {expected:.5f} ({found['kl'] / expected - 1:+.2%})")
    return found["kl"] <= 1.02 * expected


if __name__ == "__main__":
    if len(sys.argv) == 3:
        sys.exit(0 if check_run(*sys.argv[1:]) else 1)
    for case in CASES:
        print("SklearnCase{" + ", ".join(map(repr, [*case, round(divergence(drawn_rows(*case[:4]), case[4]), 5)])) + "},")
