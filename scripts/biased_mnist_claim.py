#!/usr/bin/env python3
"""scripts/biased_mnist_claim.py --data MNIST_DIR [--out runs/mini] [...]: does debiasing help on Biased-MNIST, on this machine?

Four stages, each of which skips what is there already, so that the script may be stopped and started again:
  tune    every method gets the same number of trials; each is judged on 5,000 training images that were held out before the others were
          coloured, coloured themselves at correlation 0.1, by the last epoch's accuracy on images whose colour goes against the digit
  choose  the best trial of each method and correlation goes to OUT/choices.json; from then on nothing changes
  train   five seeds of each choice; still no test image has been read
  test    `debias eval groups` judges each last checkpoint on the test set, once; OUT/results.json and a table on standard output

The comparison is paired by seed: a difference counts when the lower end of its two-sided 95 % t-interval is above 0.
"""

import argparse
import concurrent.futures
import json
import pathlib
import statistics
import subprocess
import sys

TRIALS = {  # words of the command line; the first is the recipe as it stands
    "cross_entropy": [[], ["optimizer.learning_rate=3e-3"]],
    "eps_supinfonce": [[], ["optimizer.learning_rate=3e-3"]],
    "fairkl_authors": [[], ["objective.1.weight=2.0"]],
    "fairkl_kl": [[], ["objective.1.weight=1.0"]],
    "end": [[], ["objective.0.weight=10"]],
    "biascon": [[], ["objective.1.weight=1.0"]],
}
MAIN, PLAIN, WITHOUT = "fairkl_authors", "cross_entropy", "eps_supinfonce"
TUNING_SEED = 100
METRICS = ("conflicting_acc", "aligned_acc", "unbiased_acc", "acc1")
T_975 = {1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571, 6: 2.447, 7: 2.365, 8: 2.306, 9: 2.262}  # by degrees of freedom
HELD_OUT = ["data.test.split=held_out", "data.test.hold_out=5000"]


def interval(values):
    """Mean and half the width of its two-sided 95 % t-interval."""
    if len(values) < 2:
        return values[0], float("nan")
    return statistics.mean(values), T_975[len(values) - 1] * statistics.stdev(values) / len(values) ** 0.5


class Claim:
    def __init__(self, options):
        self.options = options
        self.out = pathlib.Path(options.out)
        self.recipes = pathlib.Path(__file__).resolve().parent.parent / "recipes" / "mini"

    def run(self, *words):
        command = [self.options.binary, *map(str, words)]
        result = subprocess.run(command, capture_output=True, text=True)
        if result.returncode != 0:
            raise SystemExit(f"{' '.join(command)}\nended with {result.returncode}: {result.stderr.strip().splitlines()[-1]}")
        return result.stdout

    def train(self, folder, method, rho, seed, words):
        """One run; the only images judged during it are the held-out ones."""
        data = [f"data.{split}.root={self.options.data}" for split in ("train", "test")]
        threads = ["train.threads=1", "train.workers=0"]
        self.run("train", self.recipes / f"{method}.yaml", f"seed={seed}", f"data.train.correlation={rho}", *data, *HELD_OUT, *threads,
                 *words, *self.options.word, f"output={folder}", *(["--resume"] if folder.exists() else []))
        print(f"{folder}: done", file=sys.stderr, flush=True)

    def in_parallel(self, jobs):
        with concurrent.futures.ThreadPoolExecutor(self.options.jobs) as pool:
            for job in concurrent.futures.as_completed([pool.submit(self.train, *arguments) for arguments in jobs]):
                job.result()

    def trial_folder(self, method, rho, trial):
        return self.out / "tuning" / f"{method}-{rho}-{trial}"

    def final_folder(self, method, rho, seed):
        return self.out / "runs" / f"{method}-{rho}-{seed}"

    def pairs(self):
        return [(rho, method) for rho in self.options.correlations for method in self.options.methods]

    def tune(self):
        self.in_parallel([(self.trial_folder(method, rho, trial), method, rho, TUNING_SEED, words)
                          for rho, method in self.pairs() for trial, words in enumerate(TRIALS[method])])

    def choose(self):
        path = self.out / "choices.json"
        choices = json.loads(path.read_text()) if path.exists() else {}
        for rho, method in self.pairs():
            if f"{method}-{rho}" in choices:
                continue
            scores = [self.last_epoch(self.trial_folder(method, rho, trial))["test.conflicting_acc"] for trial in range(len(TRIALS[method]))]
            best = max(range(len(scores)), key=lambda trial: scores[trial])  # the first of equal ones
            choices[f"{method}-{rho}"] = {"words": TRIALS[method][best], "held_out_conflicting_acc": scores, "trials": TRIALS[method]}
        path.write_text(json.dumps(choices, indent=2) + "\n")
        return choices

    @staticmethod
    def last_epoch(folder):
        lines = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
        return [line for line in lines if "step" not in line][-1]

    def test(self):
        results = {}
        for rho, method in self.pairs():
            for seed in range(1, self.options.seeds + 1):
                folder = self.final_folder(method, rho, seed)
                judged = folder / "evaluation" / "groups.json"
                if not judged.exists():
                    self.run("eval", "groups", folder, "data.test.split=test", "predictions=classifier")
                metrics = json.loads(judged.read_text())["metrics"]
                results.setdefault(f"{method}-{rho}", []).append({name: metrics[f"test.{name}"] for name in METRICS})
        (self.out / "results.json").write_text(json.dumps(results, indent=2) + "\n")
        return results

    def table(self, results):
        print("| correlation | method | conflicting % | aligned % | all images % | mean over groups % |\n|---|---|---|---|---|---|")
        for rho, method in self.pairs():
            cells = []
            for name in ("conflicting_acc", "aligned_acc", "acc1", "unbiased_acc"):
                mean, half = interval([run[name] for run in results[f"{method}-{rho}"]])
                cells.append(f"{100 * mean:.2f} ± {100 * half:.2f}")
            print(f"| {rho} | `{method}` | " + " | ".join(cells) + " |")
        print("\n| correlation | paired difference in conflicting accuracy | points | 95 % interval |\n|---|---|---|---|")
        for rho in self.options.correlations:
            for other in (WITHOUT, PLAIN):
                if MAIN not in self.options.methods or other not in self.options.methods:
                    continue
                runs = zip(results[f"{MAIN}-{rho}"], results[f"{other}-{rho}"])
                mean, half = interval([a["conflicting_acc"] - b["conflicting_acc"] for a, b in runs])
                print(f"| {rho} | `{MAIN}` - `{other}` | {100 * mean:.2f} | {100 * (mean - half):.2f} to {100 * (mean + half):.2f} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", required=True, help="folder of MNIST's four IDX files")
    parser.add_argument("--out", default="runs/mini")
    parser.add_argument("--binary", default="build/release/bin/debias")
    parser.add_argument("--correlations", nargs="+", default=["0.99", "0.997"])
    parser.add_argument("--methods", nargs="+", default=list(TRIALS), choices=list(TRIALS))
    parser.add_argument("--seeds", type=int, default=5, choices=range(1, 11), metavar="1..10")
    parser.add_argument("--jobs", type=int, default=2, help="runs at a time, one thread each")
    parser.add_argument("--stages", nargs="+", default=["tune", "choose", "train", "test"], choices=["tune", "choose", "train", "test"])
    parser.add_argument("--word", action="append", default=[], help="key=value for every run, to try the script out (train.epochs=1)")
    options = parser.parse_args()
    claim = Claim(options)
    if "tune" in options.stages:
        claim.tune()
    if "choose" in options.stages:
        claim.choose()
    if "train" in options.stages:
        choices = json.loads((claim.out / "choices.json").read_text())
        claim.in_parallel([(claim.final_folder(method, rho, seed), method, rho, seed, choices[f"{method}-{rho}"]["words"])
                           for seed in range(1, options.seeds + 1) for rho, method in claim.pairs()])
    if "test" in options.stages:
        claim.table(claim.test())


if __name__ == "__main__":
    main()
