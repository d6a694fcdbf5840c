#!/usr/bin/env python3
"""demo_table.py first|second FOLDER: one table of the demo from its run folders, mean and each seed."""
import json
import pathlib
import re
import sys

def last_epoch_line(run):
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    return [line for line in lines if "step" not in line][-1]


def training_seconds(run):
    return sum(float(s) for s in re.findall(r"epoch \d+: ([\d.]+) s", (run / "train.log").read_text()))


def cell(values):
    return f"{100 * sum(values) / len(values):5.1f}  ({', '.join(f'{100 * v:.1f}' for v in values)})"


def mean_percent(lines, name):
    return 100 * sum(line[name] for line in lines) / len(lines)


def runs_of(root, objective):
    runs = sorted(root.glob(f"{objective}-[0-9]*"))
    return [last_epoch_line(run) for run in runs], sum(training_seconds(run) for run in runs) / len(runs)


def first(root):
    print(f"{'objective':<22} {'kNN %, mean (seeds)':<22} {'linear %, mean (seeds)':<24} {'aligned %':>10} {'conflicting %':>14} "
          f"{'train s':>8} {'clamped %':>10}")
    for objective in ["infonce", "debiased_negatives", "debiased_positives"]:
        lines, seconds = runs_of(root, objective)
        print(f"{objective:<22} {cell([line['test.knn_acc1'] for line in lines]):<22} "
              f"{cell([line['test.linear_acc1'] for line in lines]):<24} {mean_percent(lines, 'test.aligned_acc'):>10.1f} "
              f"{mean_percent(lines, 'test.conflicting_acc'):>14.1f} {seconds:>8.1f} {mean_percent(lines, 'clamped_share'):>10.1f}")
    print("Trained without labels, with background colours that go with the class every other time, tested where they do not (1 in 10); "
          "aligned and conflicting: kNN accuracy where the colour fits the class and where it does not.\n")


def second(root):
    print(f"{'objective':<22} {'aligned %, mean (seeds)':<26} {'conflicting %, mean (seeds)':<28} {'all %':>6} {'train s':>8}")
    for objective in ["eps_supinfonce", "eps_supinfonce_fairkl"]:
        lines, seconds = runs_of(root, objective)
        print(f"{objective:<22} {cell([line['test.aligned_acc'] for line in lines]):<26} "
              f"{cell([line['test.conflicting_acc'] for line in lines]):<28} {mean_percent(lines, 'test.acc1'):>6.1f} {seconds:>8.1f}")
    print("Trained with labels and colours, the colour that of the class 8 times in 10, tested where it is 1 time in 10; accuracy of a "
          "linear classifier trained beside the encoder.\n")


if __name__ == "__main__":
    {"first": first, "second": second}[sys.argv[1]](pathlib.Path(sys.argv[2]))
