#!/usr/bin/env python3
"""benchmarks/compare_fix_speed.py [--work DIR] [--debias PROGRAM] [--rows 100000] [--test 5000] [--dimensions 768] [--classes 10]
                                   [--decay 0] [--threads 2] [--repetitions 3] [--methods balanced,leace,erase_balanced,auto]
benchmarks/compare_fix_speed.py --tables FILE.jsonl

Compares the time and memory of `debias fix` with those of concept-erasure and scikit-learn on the same features. One JSON object a line;
--tables prints the tables from them.

Protocol, fixed before the runs:
  Features. Gaussian rows in float32 with a weak signal of the class and a strong one of a bias label that is the class's own in 95 % of the
  training rows, as in tests/fix/gaussian_table.h; as many bias labels as classes. In test rows every bias label is equally frequent. The noise
  has equal variance in all directions (--decay 0), which is the easiest case for a solver without a preconditioner, or variance 1 / k^decay
  in the k-th of D random directions: features of networks are more like --decay 1.
  Work. Both sides fit the plain head, which `debias fix` reports as `before`, and the corrected one. Penalties C are 0.1, 0.01, ..., 1e-5,
  each scored in five folds of at most 20,000 rows in all, drawn by the rule of debias/fix/cross_validation.h (all of rare groups, an equal number of
  the others, with weights in return). C is the one with the best worst-group accuracy; ties go to the better mean over groups, then to the
  smaller C. The final heads are fitted to all training rows. The draws of the two sides differ.
    balanced        LogisticRegression in which all groups of class and bias label weigh equally
    leace           LeaceFitter on all training rows, then LogisticRegression with the C of the plain head
    erase_balanced  LeaceFitter within classes (class means subtracted from features and bias labels; the package has no weights), then
                    balanced; the erasure is fitted again outside each fold
    auto            `debias fix` alone: it tries more, and no peer chooses among methods
  Solver. Both sides run L-BFGS in float32. LogisticRegression stops at a gradient of 1e-3 (folds) and 1e-4 (final) times the one at zero,
  which are the relative tolerances of `debias fix`; that one measures the gradient in its preconditioned space. --tolerance 1e-4 gives all
  fits of the peer that absolute tolerance, the default of scikit-learn, instead.
  Processes. Each run is a process of its own, its start, imports and reading included. Ours and the peer take turns, and the order
  alternates between repetitions. The page cache is warm. Peak memory is the peak resident memory of the process. `seconds_plain` of a peer is
  its part for the plain head that the method does not need itself; `seconds_start` and `start_mib` are those of its imports.
  Checks. The layer of `--method leace` is compared with LeaceFitter in double precision on the test rows, in units of each feature's standard
  deviation: at most 1e-5. A LogisticRegression with the same C is fitted behind it, and test rows that it predicts otherwise are counted.
  For each method, accuracies on test rows are compared with a 95 % interval of the paired difference; C may differ, since draws do.

Needs numpy, scikit-learn, and concept-erasure 0.2.4, which brings torch:

    pip install numpy scikit-learn concept-erasure==0.2.4
"""

import argparse
import csv
import json
import math
import pathlib
import resource
import shutil
import sys
import time

from process_cost import DEBIAS, in_threads, machine, measure, median, print_rows, run_in_folder, say

PENALTIES = (0.1, 0.01, 1e-3, 1e-4, 1e-5)
FOLDS, MOST_FOLD_ROWS, LEAST_GROUP = 5, 20000, 10
FOLD_TOLERANCE, FINAL_TOLERANCE, ITERATIONS = 1e-3, 1e-4, 1000
CORRELATION, CLASS_SIGNAL, BIAS_SIGNAL = 0.95, 2.0, 2.5
PEERS = ("balanced", "leace", "erase_balanced")
FIGURES = {"all": "acc", "aligned": "aligned_acc", "conflicting": "conflicting_acc", "worst": "worst_group_acc"}
LAYER_TOLERANCE = 1e-5


# Features, in a process of its own.


def make_features(options):
    import numpy as np
    draw = np.random.default_rng(options.seed)
    n, total, D, C = options.rows, options.rows + options.test, options.dimensions, options.classes
    y = np.arange(total) % C
    train = np.arange(total) < n
    aligned = train & (draw.random(total) < CORRELATION)
    b = np.where(aligned, y, np.where(train, (y + 1 + draw.integers(C - 1, size=total)) % C, draw.integers(C, size=total)))
    z = np.lib.format.open_memmap(options.work / "Z.npy", mode="w+", dtype=np.float32, shape=(total, D))
    feature = np.arange(D, dtype=np.float32)
    scale = np.arange(1, D + 1) ** (-options.decay / 2)
    mix = (np.linalg.qr(draw.standard_normal((D, D)))[0] * (scale / np.sqrt(np.mean(scale**2)))).T.astype(np.float32)
    for begin in range(0, total, 8192):
        rows = slice(begin, min(begin + 8192, total))
        x = draw.standard_normal((rows.stop - begin, D), dtype=np.float32)
        if options.decay > 0:
            x = x @ mix
        i = np.arange(len(x))
        x[i, y[rows]] += CLASS_SIGNAL
        x[i, C + b[rows]] += BIAS_SIGNAL
        x[i, (y + b)[rows] % C] += 0.2 * BIAS_SIGNAL
        z[rows] = x * (1 + feature % 5) + feature
    z.flush()
    with (options.work / "C.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["path", "label", "bias", "split"])
        writer.writerows([f"r{i}", f"c{y[i]}", f"b{b[i]}", "train" if train[i] else "test"] for i in range(total))


# The peer, in a process of its own.


class Table:
    """Training rows come first."""

    def __init__(self, work):
        import numpy as np
        self.z = np.load(work / "Z.npy", mmap_mode="c")  # as torch asks for arrays that can be written
        with (work / "C.csv").open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        self.y, self.b = (np.array([int(row[title][1:]) for row in rows]) for title in ("label", "bias"))
        self.n = sum(row["split"] == "train" for row in rows)
        self.classes, self.biases = int(self.y.max()) + 1, int(self.b.max()) + 1
        self.groups = self.y * self.biases + self.b


def drawn_folds(groups, seed):
    """(rows, fold of each, importance of each) by the rule of debias/fix/cross_validation.h."""
    import numpy as np
    draw = np.random.default_rng(seed)
    members = [np.flatnonzero(groups == g) for g in np.unique(groups)]
    left, share = MOST_FOLD_ROWS, max(map(len, members))
    for i, size in enumerate(sorted(map(len, members))):
        if size > left // (len(members) - i):
            share = max(1, left // (len(members) - i))
            break
        left -= size
    taken = [draw.permutation(own)[:share] for own in members]
    rows = np.concatenate(taken)
    importance = np.concatenate([np.full(len(drawn), len(own) / len(drawn)) for drawn, own in zip(taken, members)])
    return rows, np.arange(len(rows)) % FOLDS, importance


def fold_score(y, groups, predictions):
    """(worst group, mean over groups); groups below LEAST_GROUP rows are scored together."""
    import numpy as np
    counts = np.bincount(groups)
    pooled = np.where(counts[groups] < LEAST_GROUP, len(counts), groups)
    shares, weights = [], []
    for g in np.unique(pooled):
        shares.append((predictions == y)[pooled == g].mean())
        weights.append(len(np.unique(groups[pooled == g])))
    return min(shares), np.average(shares, weights=weights)


class Peer:
    def __init__(self, options):
        import numpy as np
        from sklearn.preprocessing import StandardScaler
        self.options, self.table = options, Table(options.work)
        n = self.table.n
        self.y, self.b, self.groups = self.table.y[:n], self.table.b[:n], self.table.groups[:n]
        self.scaler = StandardScaler()
        self.x = self.scaler.fit_transform(self.table.z[:n])
        self.rows, self.fold, self.importance = drawn_folds(self.groups, options.seed)
        self.plain = np.ones(n)
        self.balanced = 1 / np.bincount(self.groups)[self.groups]

    def head(self, x, y, weights, C, relative):
        """In each fold C belongs to all training rows, as weights sum to their number."""
        import numpy as np
        from sklearn.linear_model import LogisticRegression
        weights = weights * (self.table.n / weights.sum())
        tolerance = self.options.tolerance
        if tolerance is None:
            residual = (np.eye(self.table.classes)[y] - 1 / self.table.classes) * (weights / weights.sum())[:, None]
            tolerance = relative * float(np.abs(x.T @ residual.astype(np.float32)).max())
        return LogisticRegression(C=C, tol=tolerance, max_iter=ITERATIONS).fit(x, y, sample_weight=weights)

    def chosen(self, all_weights, erased):
        """The penalty with the best score; without erasure `erased` is None, else it returns an erasure of these rows."""
        import numpy as np
        x, y = self.x[self.rows], self.y[self.rows]
        weights = all_weights[self.rows] * self.importance
        predictions = {C: np.empty_like(y) for C in PENALTIES}
        for fold in range(FOLDS):
            rest, own = self.fold != fold, self.fold == fold
            erase = erased(x[rest], y[rest], self.b[self.rows][rest]) if erased else lambda rows: rows
            of_rest, of_own = erase(x[rest]), erase(x[own])
            for C in PENALTIES:
                predictions[C][own] = self.head(of_rest, y[rest], weights[rest], C, FOLD_TOLERANCE).predict(of_own)
        return max(PENALTIES, key=lambda C: (*fold_score(y, self.groups[self.rows], predictions[C]), -C))

    def class_conditional(self, x, y, b):
        import numpy as np
        import torch
        from concept_erasure import LeaceFitter
        z = np.eye(self.table.biases, dtype=np.float32)[b]
        mean = [np.stack([rows[y == k].mean(axis=0) for k in range(self.table.classes)]) for rows in (x, z)]
        eraser = LeaceFitter.fit(torch.from_numpy(x - mean[0][y]), torch.from_numpy(z - mean[1][y])).eraser
        left, right = eraser.proj_left.numpy(), eraser.proj_right.numpy()
        return lambda rows: rows - (rows @ right.T) @ left.T

    def leace_eraser(self):
        import numpy as np
        import torch
        from concept_erasure import LeaceFitter
        z = torch.from_numpy(np.eye(self.table.biases, dtype=np.float32)[self.b])
        eraser = LeaceFitter.fit(torch.from_numpy(self.table.z[: self.table.n]), z).eraser
        return lambda rows: eraser(torch.from_numpy(rows)).numpy()

    def correct(self, method, plain_C):
        """(head, C, function of raw rows that the head reads)."""
        standard = self.scaler.transform
        if method == "leace":
            erase = self.leace_eraser()
            read = lambda rows: standard(erase(rows))
            return self.head(read(self.table.z[: self.table.n]), self.y, self.plain, plain_C, FINAL_TOLERANCE), plain_C, read
        if method == "balanced":
            C = self.chosen(self.balanced, None)
            return self.head(self.x, self.y, self.balanced, C, FINAL_TOLERANCE), C, standard
        C = self.chosen(self.balanced, self.class_conditional)
        erase = self.class_conditional(self.x, self.y, self.b)
        return self.head(erase(self.x), self.y, self.balanced, C, FINAL_TOLERANCE), C, lambda rows: erase(standard(rows))

    def figures(self, predictions):
        import numpy as np
        n = self.table.n
        right = predictions == self.table.y[n:]
        aligned = self.table.y[n:] == self.table.b[n:]
        groups = self.table.groups[n:]
        means = {"all": right, "aligned": right[aligned], "conflicting": right[~aligned]}
        worst = min(right[groups == g].mean() for g in np.unique(groups))
        return {**{name: round(float(np.mean(rows)), 4) for name, rows in means.items()}, "worst": round(float(worst), 4)}


def run_peer(options):
    start = time.perf_counter()
    import numpy as np
    import sklearn.linear_model  # noqa: F401
    if options.peer != "balanced":
        import torch
        import concept_erasure  # noqa: F401
        torch.set_num_threads(options.threads)
    imported, start_mib = time.perf_counter(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    peer = Peer(options)
    n = peer.table.n
    began = time.perf_counter()
    plain_C = peer.chosen(peer.plain, None)
    plain_chosen = time.perf_counter()
    plain = peer.head(peer.x, peer.y, peer.plain, plain_C, FINAL_TOLERANCE)
    before = peer.figures(plain.predict(peer.scaler.transform(peer.table.z[n:])))
    plain_done = time.perf_counter()
    head, C, read = peer.correct(options.peer, plain_C)
    predictions = head.predict(read(peer.table.z[n:]))
    needed = plain_chosen if options.peer == "leace" else began  # LEACE takes the plain head's penalty
    (options.work / f"peer-{options.peer}.json").write_text(json.dumps(predictions.tolist()), encoding="utf-8")
    print(json.dumps({"C": C, "plain_C": plain_C, "before": before, "after": peer.figures(predictions), "iterations": int(head.n_iter_[0]),
                      "start_mib": round(start_mib, 1), "seconds_start": round(imported - start, 3), "seconds_plain": round(plain_done - needed, 3)}))


# Checks.


def read_safetensors(path):
    import numpy as np
    data = path.read_bytes()
    size = int.from_bytes(data[:8], "little")
    header = json.loads(data[8:8 + size])
    return {name: np.frombuffer(data[8 + size:], np.float32, math.prod(entry["shape"]), entry["data_offsets"][0]).reshape(entry["shape"])
            for name, entry in header.items() if name != "__metadata__"}


def check_layer(options):
    """The layer of `debias fix --method leace` on the test rows, compared with LeaceFitter's; in a process of its own."""
    import numpy as np
    import torch
    from concept_erasure import LeaceFitter
    torch.set_num_threads(options.threads)
    peer = Peer(options)
    table = peer.table
    x = np.array(table.z[: table.n], np.float64)
    z = np.eye(table.biases)[table.b[: table.n]]
    eraser = LeaceFitter.fit(torch.from_numpy(x), torch.from_numpy(z)).eraser
    layer = {name: values.astype(np.float64) for name, values in read_safetensors(options.work / "fixed-leace" / "layer.safetensors").items()}
    test = np.array(table.z[table.n:], np.float64)
    ours = test - (test - layer["mean"]) @ layer["right"].T @ layer["left"].T
    difference = float((np.abs(ours - eraser(torch.from_numpy(test)).numpy()) / x.std(axis=0)).max())
    change = float((np.abs(ours - test) / x.std(axis=0)).max())
    erased = peer.scaler.transform(eraser(torch.from_numpy(x)).numpy().astype(np.float32))
    C = json.loads((options.work / "fixed-leace" / "fix.json").read_text(encoding="utf-8"))["chosen"]["C"]
    head = peer.head(erased, peer.y, peer.plain, C, FINAL_TOLERANCE)
    theirs = head.predict(peer.scaler.transform(eraser(torch.from_numpy(test)).numpy().astype(np.float32)))
    different = np.mean([prediction != own for (_, _, own), prediction in zip(test_rows(options.work / "fixed-leace" / "predictions.csv"), theirs)])
    print(json.dumps({"difference": difference, "largest_change": round(change, 4), "rank": layer["right"].shape[0],
                      "equal": difference <= LAYER_TOLERANCE, "same_C": C, "different": round(float(different), 4)}))


def test_rows(path):
    """(label, bias, prediction) as numbers of the test rows."""
    with path.open(encoding="utf-8", newline="") as file:
        return [tuple(int(row[title][1:]) for title in ("label", "bias", "after")) for row in csv.DictReader(file) if row["split"] == "test"]


def agreement(work, method):
    """Accuracies of both sides, compared by row, with the 95 % interval of a paired difference: over all rows, and the conflicting ones."""
    peer = json.loads((work / f"peer-{method}.json").read_text(encoding="utf-8"))
    rows = [(label != bias, ours == label, theirs == label, ours != theirs)
            for (label, bias, ours), theirs in zip(test_rows(work / f"fixed-{method}" / "predictions.csv"), peer)]
    line = {"different": round(sum(row[3] for row in rows) / len(rows), 4)}
    for name, of_name in (("all", rows), ("conflicting", [row for row in rows if row[0]])):
        n = len(of_name)
        won, lost = sum(ours and not theirs for _, ours, theirs, _ in of_name), sum(theirs and not ours for _, ours, theirs, _ in of_name)
        line[name] = round((won - lost) / n, 4)
        line[f"{name}_half"] = round(1.96 * math.sqrt(won + lost - (won - lost) ** 2 / n) / n, 4)
    return line


# The benchmark.


def itself(options, *words):
    sizes = [word for name in ("rows", "test", "dimensions", "classes", "decay", "threads", "seed") for word in (f"--{name}", getattr(options, name))]
    tolerance = [] if options.tolerance is None else ["--tolerance", options.tolerance]
    return [sys.executable, pathlib.Path(__file__).resolve(), "--work", options.work, *sizes, *tolerance, *words]


def our_run(options, method):
    out = options.work / f"fixed-{method}"
    shutil.rmtree(out, ignore_errors=True)
    cost, text = measure([options.debias, "fix", "--embeddings", options.work / "Z.npy", "--csv", options.work / "C.csv", "--out", out,
                          "--method", method, "--threads", options.threads, "--json", "--quiet"])
    result = json.loads(text)
    figures = {when: {name: round(result[when]["test"][key], 4) for name, key in FIGURES.items()} for when in ("before", "after")}
    return {**cost, **figures, "C": result["chosen"]["C"], "chosen": result["method"], "rank": result["rank"], "notes": result["notes"]}


def peer_run(options, method):
    cost, text = measure(itself(options, "--peer", method), in_threads(options.threads))
    return {**cost, **json.loads(text)}


def versions():
    code = ("import json,importlib.metadata as m,numpy,sklearn,threadpoolctl as t;"
            "print(json.dumps({n:m.version(n) for n in ('numpy','scikit-learn','concept-erasure','torch')}|"
            "{'kernels':sorted({i.get('architecture') or '' for i in t.threadpool_info() if i['user_api']=='blas'})}))")
    return json.loads(measure([sys.executable, "-c", code])[1])


def run(options):
    sizes = {name: getattr(options, name) for name in ("rows", "test", "dimensions", "classes", "decay", "threads", "tolerance", "seed")}
    say(what="run", **sizes, **machine(), debias=measure([options.debias, "--version"])[1].split()[1], **versions())
    measure(itself(options, "--make"))
    if "leace" in options.methods:
        our_run(options, "leace")
        say(what="layer", **json.loads(measure(itself(options, "--check-layer"), in_threads(options.threads))[1]))
    for repetition in range(options.repetitions):
        for method in options.methods:
            sides = [("debias", our_run)] + [("peer", peer_run)] * (method in PEERS)
            for side, run_side in sides if repetition % 2 == 0 else sides[::-1]:
                say(what="time", method=method, side=side, repetition=repetition, **run_side(options, method))
    for method in options.methods:
        if method in PEERS:
            say(what="agreement", method=method, **agreement(options.work, method))


def points(share, sign=""):
    return format(100 * share + 0.0, sign + ".1f").replace("-", "−")


def print_tables(path):
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    times = [line for line in lines if line["what"] == "time"]
    methods = list(dict.fromkeys(line["method"] for line in times))
    side = lambda method, name: [line for line in times if (line["method"], line["side"]) == (method, name)]
    rows, accuracies = [], []
    for method in methods:
        ours, peer = side(method, "debias"), side(method, "peer")
        seconds = median(ours, "seconds")
        row = [f"`{method}`", f"{seconds:.1f}"]
        if peer:
            needed = [{"seconds": line["seconds"] - line["seconds_plain"]} for line in peer]
            row += [f"{median(peer, 'seconds'):.1f}", f"{median(peer, 'seconds') / seconds:.2f}", f"{median(needed, 'seconds') / seconds:.2f}"]
        else:
            row += [""] * 3
        memory = [f"{median(peer, name):.0f}" for name in ("peak_mib", "start_mib")] if peer else [""] * 2
        rows.append([*row, f"{median(ours, 'peak_mib'):.0f}", *memory])
        for name, found in (("debias", ours), ("peer", peer)):
            if found:
                last = found[-1]
                accuracies.append([f"`{method}`", name, f"{last['C']:g}", *(points(last["before"][figure]) for figure in FIGURES),
                                   *(points(last["after"][figure]) for figure in FIGURES)])
    print_rows("Time and memory, medians", ["method", "debias, s", "peer, s", "times as fast", "without the plain head", "debias, MiB", "peer, MiB",
                                           "after its imports"],
               rows)
    print_rows("Accuracy on test rows, %", ["method", "side", "C", *(f"before: {name}" for name in FIGURES), *(f"after: {name}" for name in FIGURES)],
               accuracies)
    print_rows("debias − peer, points (95 % CI)", ["method", "all", "bias-conflicting", "rows predicted otherwise, %"],
               [[f"`{line['method']}`", *(f"{points(line[name], '+')} ± {points(line[name + '_half'])}" for name in ("all", "conflicting")),
                 points(line["different"])] for line in lines if line["what"] == "agreement"])
    for line in lines:
        if line["what"] == "layer":
            print(f"\nLEACE: the layers differ by at most {line['difference']:.1e} standard deviations "
                  f"({'equal' if line['equal'] else 'not equal'}; target {LAYER_TOLERANCE:g}). With the same C "
                  f"{points(line['different'])} % of test rows are predicted otherwise.")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, usage=argparse.SUPPRESS)
    parser.add_argument("--work", type=pathlib.Path, help="folder for features and results; default: a temporary one")
    parser.add_argument("--debias", default=DEBIAS)
    for name, value in (("rows", 100_000), ("test", 5_000), ("dimensions", 768), ("classes", 10), ("threads", 2), ("repetitions", 3), ("seed", 1)):
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--decay", type=float, default=0.0, help="the k-th direction of the noise has variance 1 / k^decay")
    parser.add_argument("--methods", default=[*PEERS, "auto"], type=lambda text: text.split(","))
    parser.add_argument("--tolerance", type=float, help="absolute tolerance of every fit of the peer")
    parser.add_argument("--tables", type=pathlib.Path, metavar="FILE", help="print the tables of these lines and run nothing")
    parser.add_argument("--make", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--peer", help=argparse.SUPPRESS)
    parser.add_argument("--check-layer", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.tables:
        return print_tables(options.tables)
    if options.dimensions < 2 * options.classes:
        parser.error("--dimensions: at least two for each class")
    for own, work in ((options.make, make_features), (options.peer, run_peer), (options.check_layer, check_layer)):
        if own:
            return work(options)
    return run_in_folder(parser, options, run)


if __name__ == "__main__":
    sys.exit(main())
