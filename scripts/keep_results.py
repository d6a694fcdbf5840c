#!/usr/bin/env python3
"""scripts/keep_results.py [--curves] SWEEP: the last epoch's metrics of each finished run of a sweep's output, a JSON object a line, on
standard output; with --curves, those of each epoch that was evaluated. With them the minutes that the run had trained by then, and, where
geometry was evaluated, mean and standard deviation of the cosines of pairs.

What docs/results/*.jsonl are made of: small enough to keep, where checkpoints are not.
"""

import json
import pathlib
import sys


def kept_epochs(run, curves):
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text(encoding="utf-8").splitlines()]
    epochs = [line for line in lines if "step" not in line]
    return [line for line in epochs if any(name.startswith(("valid.", "test.")) for name in line)] if curves else epochs[-1:]


def minutes(run, epoch):
    times = [json.loads(line) for line in (run / "times.jsonl").read_text(encoding="utf-8").splitlines()]
    seconds = {time["epoch"]: time["seconds"] for time in times}
    return {"minutes": round(sum(taken for number, taken in seconds.items() if number <= epoch) / 60, 2)}


def similarities(run, epoch):
    path = run / "evaluation" / f"epoch-{epoch}" / "geometry.json"
    if not path.is_file():
        return {}
    of_splits = json.loads(path.read_text(encoding="utf-8"))["similarity"]
    return {
        f"{split}.similarity.{pairs}": [round(found["mean"], 4), round(found["std"], 4)]
        for split, kinds in of_splits.items() for pairs, found in kinds.items()
    }


def main():
    curves = sys.argv[1:2] == ["--curves"]
    words = sys.argv[2 if curves else 1:]
    if len(words) != 1 or not (pathlib.Path(words[0]) / "sweep.json").is_file():
        print("usage: scripts/keep_results.py [--curves] SWEEP, the output folder of a debias sweep", file=sys.stderr)
        return 2
    sweep = pathlib.Path(words[0])
    lines = []
    runs = json.loads((sweep / "sweep.json").read_text(encoding="utf-8"))["runs"]
    unfinished = sum(run["state"] != "finished" for run in runs)
    if unfinished > 0:
        print(f"{unfinished} of {len(runs)} runs, not finished by sweep.json, are left out; debias sweep goes on with them", file=sys.stderr)
    for run in runs:
        if run["state"] == "finished":
            epochs = kept_epochs(sweep / run["name"], curves)
            if not epochs:
                hint = "was evaluated; leave --curves out" if curves else "has metrics; train it again with --overwrite"
                print(f"{run['name']}: no epoch {hint}", file=sys.stderr)
                return 1
            folder = sweep / run["name"]
            lines += [
                json.dumps({"run": run["name"], **epoch, **minutes(folder, epoch["epoch"]), **similarities(folder, epoch["epoch"])})
                for epoch in epochs
            ]
    for line in lines:
        print(line)
    return 0


if __name__ == "__main__":
    sys.exit(main())
