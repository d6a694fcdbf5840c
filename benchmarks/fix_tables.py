"""The tables of docs/results/fix.md, from the lines of compare_fix.py."""

import collections
import json
import pathlib
import statistics
import sys

from process_cost import print_rows

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "scripts"))
from student import half_width  # noqa: E402

SHORTCUTS = ("square", "border")
PEERS = ("erm", "dfr", "erasure_dfr")
FIXES = {"fix_auto": "auto", "fix_balanced": "balanced", "fix_erase_balanced": "erase_balanced"}
BACKBONES = ("mobilenet_v2", "efficientnet_lite0", "open_nsfw")


def interval(values, sign=""):
    """Mean ± half width of the two-sided 95 % t-interval, in points."""
    mean = format(round(100 * statistics.mean(values), 1) + 0.0, sign + ".1f").replace("-", "−")
    if len(values) < 2:
        return mean
    return f"{mean} ± {100 * half_width(values):.1f}"


class Setting:
    """One backbone, shortcut and correlation, over the seeds."""

    def __init__(self, lines):
        self.lines = {(line["method"], line["seed"]): line for line in lines}
        self.seeds = sorted({line["seed"] for line in lines})
        self.methods = list(dict.fromkeys(line["method"] for line in lines))

    def values(self, method, figure):
        return [self.lines[method, seed][figure] for seed in self.seeds if (method, seed) in self.lines]

    def best_peer(self, figure):
        return max(PEERS, key=lambda peer: statistics.mean(self.values(peer, figure)))

    def differences(self, method, other, figure):
        """Paired by seed, of those that have both."""
        return [self.lines[method, seed][figure] - self.lines[other, seed][figure] for seed in self.seeds
                if (method, seed) in self.lines and (other, seed) in self.lines]


def settings_of(lines):
    by_name = collections.defaultdict(list)
    for line in lines:
        by_name[line["shortcut"], line["correlation"], line["backbone"]].append(line)
    return {name: Setting(by_name[name]) for name in sorted(by_name, key=lambda n: (SHORTCUTS.index(n[0]), n[1], BACKBONES.index(n[2])))}


def passes(differences, at_least):
    return "yes" if statistics.mean(differences) >= at_least - 1e-9 else "no"


def place_text(place):
    """square 0.95, mobilenet_v2"""
    shortcut, correlation, backbone = place
    return f"{shortcut} {correlation}, {backbone}"


def accuracy_rows(settings, figure):
    for place, setting in settings.items():
        yield [place_text(place), *(interval(values) if (values := setting.values(method, figure)) else "" for method in (*PEERS, *FIXES))]


def verdict_rows(settings, method):
    for place, setting in settings.items():
        if method not in setting.methods:
            continue
        row = [place_text(place)]
        for figure in ("worst", "conflicting"):
            differences = setting.differences(method, peer := setting.best_peer(figure), figure)
            row += [f"`{peer}`", f"{interval(differences, '+')}: {passes(differences, -0.01)}"]
        yield row


def choice_rows(settings):
    for place, setting in settings.items():
        lines = [setting.lines["fix_auto", seed] for seed in setting.seeds]
        chosen = collections.Counter(line["chosen"] for line in lines)
        yield [place_text(place), ", ".join(f"`{name}` {count}" for name, count in chosen.most_common()),
               str(sum(line["rejected_by_keep"] for line in lines)), str(sum(line["rejected_by_test"] for line in lines))]


def goal_rows(settings):
    """What is asked at 0.95 with square."""
    for place, setting in settings.items():
        if place[:2] != ("square", 0.95):
            continue
        for method in ("fix_auto", "fix_balanced"):
            worst, aligned = setting.values(method, "worst"), setting.values(method, "aligned")
            gain = setting.differences(method, "erm", "conflicting")
            yield [place[2], f"`{method}`", f"{interval(worst)}: {passes(worst, 0.6)}", f"{interval(gain, '+')}: {passes(gain, 0.1)}",
                   f"{interval(aligned)}: {passes(aligned, 0.85)}"]


def audit_rows(settings):
    for place, setting in settings.items():
        if lines := [line for (method, _), line in setting.lines.items() if method == "audit_auto"]:
            row = [place_text(place), f"{len(lines)} of {len(setting.seeds)}"]
            row += [f"{100 * statistics.mean(line['labelled'] for line in lines):.1f}", f"{100 * statistics.mean(line['right'] for line in lines):.2f}",
                    str(sum(line["same_labels"] for line in lines))]
            row += [interval(setting.differences(audited, with_true, "worst"), "+")
                    for audited, with_true in (("audit_auto", "fix_auto"), ("audit_balanced", "fix_balanced"))]
            yield row


def folder_rows(folders, methods, differences):
    """Of biased folders: figures, and differences to dfr paired by folder, over folders. Of fewer than four, means alone."""
    kinds = collections.defaultdict(list)
    for (kind, variant, _), lines in folders.items():
        if not variant.startswith("clean"):
            kinds[f"{kind}, {variant}"].append(lines)
            kinds["all of these"].append(lines)
    kinds["all of these"] = kinds.pop("all of these")
    for name, own in kinds.items():
        chosen = collections.Counter(lines["fix_auto"]["chosen"] for lines in own)

        def text(values, sign="", few=len(own) < 4):
            return interval([statistics.mean(values)] if few else values, sign)

        for figure in ("worst", "conflicting", "all"):
            yield [name, figure, *(text([lines[method][figure] for lines in own]) for method in methods),
                   *(text([lines[method][figure] - lines["dfr"][figure] for lines in own], "+") for method in differences),
                   ", ".join(f"`{method}` {count}" for method, count in chosen.most_common())]


def clean_rows(folders):
    kinds = collections.defaultdict(list)
    for (kind, variant, _), lines in folders.items():
        if variant.startswith("clean"):
            kinds[f"{kind}, {variant}"].append(lines)
    for name, own in kinds.items():
        yield [name, f"{sum(lines['fix_auto']['chosen'] != 'erm' for lines in own)} of {len(own)}",
               *(interval([statistics.mean(lines[method]["all"] for lines in own)]) for method in ("erm", "dfr", "fix_auto"))]


def print_folders(lines):
    folders = collections.defaultdict(dict)
    for line in lines:
        folders[line["kind"], line["variant"], line["seed"]][line["method"]] = line
    methods, differences = ("erm", "dfr", "fix_auto", "fix_balanced"), ("fix_auto", "fix_balanced")
    print_rows("Biased", ["folders", "figure", *(f"`{method}`" for method in methods), *(f"`{method}` − `dfr`" for method in differences), "chosen"],
               folder_rows(folders, methods, differences))
    print_rows("Clean", ["folders", "`auto` changed", "all: `erm`", "`dfr`", "`fix_auto`"], clean_rows(folders))


def print_tables(path):
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    if "kind" in lines[0]:
        return print_folders(lines)
    settings = settings_of(lines)
    place = "shortcut, backbone"
    for title, figure in (("Worst group", "worst"), ("Bias-conflicting", "conflicting"), ("Bias-aligned", "aligned"), ("All", "all")):
        print_rows(title, [place, *(f"`{method}`" for method in (*PEERS, *FIXES))], accuracy_rows(settings, figure))
    for method in FIXES:
        print_rows(f"{method} less the best peer", [place, "worst group: best peer", "difference: passes", "bias-conflicting: best peer",
                                                    "difference: passes"], verdict_rows(settings, method))
    print_rows("What auto chose", [place, "chosen (seeds)", "rejected by `--keep`", "rejected by the test"], choice_rows(settings))
    print_rows("0.95 with square", ["backbone", "method", "worst group: ≥ 60", "bias-conflicting − `erm`: ≥ 10", "bias-aligned: ≥ 85"],
               goal_rows(settings))
    print_rows("audit, then fix", [place, "found", "labelled %", "right %", "labels all right (seeds)", "`audit_auto` − `fix_auto`",
                                   "`audit_balanced` − `fix_balanced`"], audit_rows(settings))
