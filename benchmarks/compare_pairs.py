#!/usr/bin/env python3
"""benchmarks/compare_pairs.py Z.npy Z.csv [--top N] [--debias PATH] [-- OPTIONS of debias pairs]: how many of the first N pairs that
`debias pairs` calls false negatives are of one class, beside the N pairs of largest cosine of the same features.

Z.npy and Z.csv are what `debias embed` writes, the column `label` included; the ranking never reads it. Prints a JSON line each: the share of
pairs of one class (precision) with Wilson's 95 % interval, how many images and anchors the pairs have, and the command's seconds. Pairs of the
largest cosine are found block by block. Needs numpy.

    debias embed photos --encoder mobilenet_v2.safetensors --out z
    benchmarks/compare_pairs.py z.npy z.csv
"""

import argparse
import csv
import json
import pathlib
import subprocess
import sys
import tempfile
import time

import numpy

from process_cost import DEBIAS

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "scripts"))
from student import wilson  # noqa: E402

BLOCK = 1000


def described(method, pairs, same, **more):
    print(json.dumps({"method": method, "pairs": len(pairs), "precision": round(sum(same) / len(same), 4), "interval": [round(end, 4) for end in wilson(sum(same) / len(same), len(same))],
                      "images": len({image for pair in pairs for image in pair}), **more}), flush=True)


def of_debias(options, labels):
    with tempfile.TemporaryDirectory() as work:
        out = pathlib.Path(work) / "pairs.csv"
        command = [options.debias, "pairs", "--embeddings", options.features, "--csv", options.table, "--top", str(options.top), "--out", str(out),
                   "--quiet", *options.more]
        start = time.perf_counter()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        taken = time.perf_counter() - start
        rows = [row for row in csv.DictReader(open(out, encoding="utf-8")) if row["kind"] == "false_negative"][:options.top]
    pairs = [(row["a"], row["b"]) for row in rows]
    described("debias pairs", pairs, [labels[a] == labels[b] for a, b in pairs], seconds=round(taken, 1))


def of_cosine(options, names, labels):
    start = time.perf_counter()
    z = numpy.load(options.features).astype(numpy.float32)
    z /= numpy.linalg.norm(z, axis=1, keepdims=True)
    best = (numpy.empty(0, numpy.float32), numpy.empty((0, 2), numpy.int64))
    for begin in range(0, len(z), BLOCK):
        scores = z[begin:begin + BLOCK] @ z[begin:].T
        scores[numpy.tril_indices(len(scores), 0, scores.shape[1])] = -2  # each pair once
        count = min(options.top, scores.size)
        flat = numpy.argpartition(scores.ravel(), -count)[-count:]
        found = numpy.stack(numpy.unravel_index(flat, scores.shape), 1) + begin
        values, places = numpy.concatenate([best[0], scores.ravel()[flat]]), numpy.concatenate([best[1], found])
        kept = numpy.argsort(-values)[:options.top]
        best = values[kept], places[kept]
    taken = time.perf_counter() - start
    pairs = [(names[a], names[b]) for a, b in best[1]]
    described("cosine", pairs, [labels[a] == labels[b] for a, b in pairs], seconds=round(taken, 1), least=round(float(best[0][-1]), 4))


def main():
    words = sys.argv[1:]
    more = words[words.index("--") + 1:] if "--" in words else []
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("features")
    parser.add_argument("table")
    parser.add_argument("--top", type=int, default=1000)
    parser.add_argument("--debias", default=DEBIAS)
    options = parser.parse_args(words[:words.index("--")] if "--" in words else words)
    options.more = more
    rows = list(csv.DictReader(open(options.table, encoding="utf-8")))
    names = [row["path"] for row in rows]
    labels = {row["path"]: row["label"] for row in rows}
    of_debias(options, labels)
    of_cosine(options, names, labels)


if __name__ == "__main__":
    main()
