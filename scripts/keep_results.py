#!/usr/bin/env python3
"""scripts/keep_results.py SWEEP: the last epoch's metrics of each finished run of a sweep's output, a JSON object a line, on standard output.

What docs/results/*.jsonl are made of: small enough to keep, where checkpoints are not.
"""

import json
import pathlib
import sys


def last_epoch(run):
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text(encoding="utf-8").splitlines()]
    return [line for line in lines if "step" not in line][-1]


def main():
    if len(sys.argv) != 2 or not (pathlib.Path(sys.argv[1]) / "sweep.json").is_file():
        print("usage: scripts/keep_results.py SWEEP, the output folder of a debias sweep", file=sys.stderr)
        return 2
    sweep = pathlib.Path(sys.argv[1])
    for run in json.loads((sweep / "sweep.json").read_text(encoding="utf-8"))["runs"]:
        if run["state"] == "finished":
            print(json.dumps({"run": run["name"], **last_epoch(sweep / run["name"])}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
