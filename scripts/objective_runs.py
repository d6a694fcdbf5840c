#!/usr/bin/env python3
"""scripts/objective_runs.py --data CIFAR10_DIR [--out runs/objectives] [--binary FILE] [--only NAME ...]: 200 steps with each objective.

6,400 images, batches of 64, two epochs, `resnet18` of width 16. Objectives that read a bias attribute train on corrupted CIFAR-10, which is
made from the same images first (half of a class in its own corruption); softcon's bias features come from a network of 1x1 convolutions
that is trained first. The table has the mean loss of the first and the last twenty steps and the evidence of the second epoch; the script fails where a loss does not
fall. It shows that each objective trains, not how well.
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys

RECIPES = pathlib.Path(__file__).resolve().parent.parent / "recipes"
CLASSIFIER = "classifier={name: linear, gradient: flow}"
PLAIN = {name: [f"objective={{name: {name}}}"] for name in (
    "infonce", "unbiased", "debiased_negatives", "debiased_positives", "combined_debiased", "hard_negatives", "bayesian", "supcon",
    "eps_infonce", "eps_supinfonce", "eps_supcon")}
PLAIN["cross_entropy"] = ["objective={name: cross_entropy, on: logits}", CLASSIFIER]
PLAIN["generalized_cross_entropy"] = ["objective={name: generalized_cross_entropy, on: logits}", CLASSIFIER]
BIASED = {
    "bias_model": ["objective={name: cross_entropy, on: logits}", CLASSIFIER, "encoder={name: simple_convnet, kernel: 1}"],
    "biascon": ["objective={name: biascon}"],
    "softcon": ["objective={name: softcon, bias_features: FEATURES}"],
    "fairkl": ["objective=[{name: supcon}, {name: fairkl}]"],
    "end": ["objective={name: end, on: encoder}", CLASSIFIER],
    "bias_balanced": ["objective={name: bias_balanced, on: logits}", CLASSIFIER],
}


class Runs:
    def __init__(self, options):
        self.options = options
        self.out = pathlib.Path(options.out)

    def run(self, *words):
        done = subprocess.run([self.options.binary, *map(str, words)], capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"objective_runs: {' '.join(map(str, words))}: {done.stderr.strip().splitlines()[-1]}")

    def corrupted(self):
        folder = self.out / "corrupted_cifar10"
        if not folder.exists():
            self.run("data", "make", "corrupted_cifar10", "--root", self.options.data, "--out", folder, "correlation=0.5", "valid_fraction=0")
        return folder

    def bias_features(self):
        """Of a model that sees no shape."""
        self.train("bias_model")
        written = self.out / "bias_features.npy"
        self.run("embed", self.out / "bias_model", "--bias-features", "--out", written)
        return written

    def train(self, name):
        folder = self.out / name
        words = ["train.batch_size=64", "train.epochs=2", "train.log_every=1", "evaluate={protocols: []}", f"output={folder}", "--overwrite",
                 f"data.test.root={self.options.data}"]
        if name in PLAIN:
            words += PLAIN[name] + [f"data.train={{name: cifar10, root: {self.options.data}, hold_out: 43600}}"]
        else:
            words += BIASED[name] + [f"data.train={{name: corrupted_cifar10, root: {self.corrupted()}, hold_out: 43600}}"]
        if name == "softcon":
            features = str(self.bias_features())
            words = [word.replace("FEATURES", features) for word in words]
        self.run("train", RECIPES / "cifar10" / "infonce.yaml", *words)
        return [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]


def evidence(lines, name):
    found = [line[key] for line in lines for key in line if key.split(".")[-1] == name]
    return f"{statistics.mean(found):.3g}" if found else ""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", required=True)
    parser.add_argument("--out", default="runs/objectives")
    parser.add_argument("--binary", default="build/release/bin/debias")
    parser.add_argument("--only", nargs="*", default=[*PLAIN, *list(BIASED)[1:]])
    options = parser.parse_args()
    runs, rising = Runs(options), []
    runs.out.mkdir(parents=True, exist_ok=True)
    print("| objective | loss, steps 1 to 20 | loss, steps 181 to 200 | clamp share | effective sample size |\n|---|---|---|---|---|")
    for name in options.only:
        steps = [line for line in runs.train(name) if "step" in line]
        first, last = (statistics.mean(line["loss"] for line in part) for part in (steps[:20], steps[-20:]))
        rising += [name] if last >= first else []
        second = steps[len(steps) // 2:]
        cells = [f"`{name}`", f"{first:.4g}", f"{last:.4g}", evidence(second, "clamped_share"), evidence(second, "effective_sample_size")]
        print("| " + " | ".join(cells) + " |", flush=True)
    if rising:
        sys.exit(f"objective_runs: the loss of {', '.join(rising)} did not fall")


if __name__ == "__main__":
    main()
