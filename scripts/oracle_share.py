#!/usr/bin/env python3
"""scripts/oracle_share.py choose STAGE1.jsonl | share STAGE2.jsonl [--base infonce] [--oracle unbiased] [--metric test.knn_acc1]

Which share of the oracle's gain does a corrected loss recover? Both files are what scripts/keep_results.py prints of the sweeps
small/oracle_share_stage1 and small/oracle_share_stage2.

choose  of each loss the setting with the highest metric, the first of equal ones, as the lines that stage 2 is given.
share   with x the gain of a loss over the base and y that of the oracle, paired by seed over n seeds, the share is R = mean(x) / mean(y).
        Its 95 % interval is Fieller's: every R for which |mean(x) - R mean(y)| <= t sqrt((s_xx - 2 R s_xy + R^2 s_yy) / n), t the 0.975
        quantile of Student's distribution with n - 1 degrees of freedom. Where the oracle's own gain is not distinguishable from 0, that
        set is unbounded, and no interval is printed. Beside it the gain with its t-interval, the p-value of the paired t-test, and that
        value adjusted by Holm over all losses in the table.
"""

import argparse
import json
import math
import pathlib
import re
import statistics
import sys

from student import fieller, gain, holm


class Refusal(Exception):
    pass


def read_runs(path, metric):
    """The metric of each run's last line: {(variant, grid): {seed: value}}, in the order of the file."""
    runs = {}
    try:
        text = pathlib.Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise Refusal(f"{path}: cannot be read ({error}); give the output of scripts/keep_results.py") from error
    for number, line in enumerate(text.splitlines(), 1):
        try:
            run = json.loads(line)
            parts = run["run"].split("/")
        except (ValueError, TypeError, KeyError) as error:
            raise Refusal(f"{path}:{number}: is no line of scripts/keep_results.py") from error
        value = run.get(metric)
        if not isinstance(value, (int, float)) or not math.isfinite(value):
            known = ", ".join(sorted(name for name in run if name.startswith("test.")))
            raise Refusal(f"{path}:{number}: run '{run['run']}' has no {metric}; it has: {known or 'no test metric'}")
        grid = parts[1] if len(parts) == 3 else ""
        seeds = runs.setdefault((parts[0], grid), {})
        seeds[parts[-1]] = value
    if not runs:
        raise Refusal(f"{path}: holds no run; keep those of a finished sweep")
    return runs


# The trials of a loss: variants that differ in their tau_plus alone, which is behind the last underscore.
def loss_of(variant):
    return re.sub(r"_[0-9.]+$", "", variant)


def setting_of(variant, grid):
    """Keys of the recipe, as an override sets them."""
    keys = [key.replace("=", ": ") for key in grid.split(",") if key]
    if variant != loss_of(variant):
        keys.append(f"objective.tau_plus: {variant[len(loss_of(variant)) + 1:]}")
    return ", ".join(keys)


def chosen(runs):
    best = {}
    for (variant, grid), seeds in runs.items():
        value = statistics.mean(seeds.values())
        if loss_of(variant) not in best or value > best[loss_of(variant)][0]:
            best[loss_of(variant)] = value, variant, grid
    return best


def choose(options):
    for loss, (value, variant, grid) in chosen(read_runs(options.file, options.metric)).items():
        print(f"  - {{variant: {loss}, set: {{{setting_of(variant, grid)}}}}}   # {variant}: {100 * value:.2f} %")


def shares(runs, base, oracle):
    """Of each loss: its gain, half width, p and Holm's p, share and interval (None for the oracle itself)."""
    by_variant = {variant: seeds for (variant, _), seeds in runs.items()}
    for name in (base, oracle):
        if name not in by_variant:
            raise Refusal(f"no run of '{name}'; there are: {', '.join(by_variant)}")
    seeds = sorted(by_variant[base])
    if len(seeds) < 2:
        raise Refusal(f"'{base}' has {len(seeds)} seed; a paired interval needs 2")
    for variant, values in by_variant.items():
        if sorted(values) != seeds:
            raise Refusal(f"'{variant}' has {', '.join(sorted(values))} and '{base}' {', '.join(seeds)}; finish the sweep first")
    gains = {v: [values[s] - by_variant[base][s] for s in seeds] for v, values in by_variant.items() if v != base}
    adjusted = holm([gain(values)[2] for values in gains.values()])
    rows = []
    for (variant, values), p_holm in zip(gains.items(), adjusted):
        mean, half, p = gain(values)
        oracle_mean = statistics.mean(gains[oracle])
        share = None if variant == oracle or oracle_mean == 0 else mean / oracle_mean
        ends = None if share is None else fieller(values, gains[oracle])
        rows.append((variant, mean, half, p, p_holm, share, ends))
    return rows


def share_text(share, ends):
    if share is None:
        return ""
    if ends is None:
        return f"{100 * share:.0f} %, no interval: the oracle's gain is inconclusive"
    return f"{100 * share:.0f} % ({100 * ends[0]:.0f} to {100 * ends[1]:.0f})"


def share(options):
    print("| loss | gain | p | p, Holm | share of the oracle's gain |\n|---|---|---|---|---|")
    for variant, mean, half, p, p_holm, found, ends in shares(read_runs(options.file, options.metric), options.base, options.oracle):
        print(f"| `{variant}` | {100 * mean:+.2f} ± {100 * half:.2f} | {p:.2g} | {p_holm:.2g} | {share_text(found, ends)} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    for function in (choose, share):
        command = commands.add_parser(function.__name__)
        command.add_argument("file")
        command.add_argument("--metric", default="test.knn_acc1")
        command.set_defaults(function=function)
    commands.choices["share"].add_argument("--base", default="infonce")
    commands.choices["share"].add_argument("--oracle", default="unbiased")
    options = parser.parse_args()
    try:
        options.function(options)
    except Refusal as refusal:
        print(f"oracle_share: {refusal}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
