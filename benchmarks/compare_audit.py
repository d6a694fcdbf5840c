#!/usr/bin/env python3
"""benchmarks/compare_audit.py speed [--work DIR] [--debias PROGRAM] [--folders jpeg:10000,png:60000,png:10000] [--repetitions 3]
benchmarks/compare_audit.py detection ROOT [--debias PROGRAM] [--kinds square,blur] [--correlations 0.9,0.95,0.99]
                                      [--seeds 21,22,23,24,25] [--clean 24] [--images 1000]
benchmarks/compare_audit.py --tables FILE.jsonl

Compares `debias audit` with cleanvision (speed) and with the spurious-correlation check of cleanlab's Datalab (detection) on the same folders,
in the same run. One JSON object a line; --tables prints the tables from the lines of both.

Protocol, fixed before the runs:
  speed. Folders of two classes with 10,000 JPEG files of 500 x 375 pixels and 60,000 or 10,000 PNG files of 32 x 32. The pixels are smooth
  noise. --distinct of them are different (400); the others are hard links to these, in both classes alike. `debias audit DIR --json` and
  cleanvision's Imagelab(DIR).find_issues(n_jobs=2), with its default checks, take turns in a process each, start and imports included; the
  order alternates between repetitions. The page cache is warm. `debias audit` decodes at most 10,000 images of a folder, so lines give the
  number of images that each side examined. The two examine different properties: this is the time until a user has a report. Peak memory is
  that of the largest process, and the sum over a process and its children, sampled, with shared pages in parts.
  detection. ROOT has class folders. Odd seeds take two classes and even ones four, drawn by the seed, with --images
  images in all. `debias data plant KIND` plants each kind at each correlation. Of the clean folders half have equal classes; the others are
  90:10 or 80:20 (the first class has nine or four times the images of each other one). Each seed's folder without a plant is tried too.
    debias    A folder counts as reported if a candidate has the verdict `shortcut`, and as *of the kind* if the first candidate has that
              verdict and the planted kind. `audit` uses its defaults; for kind `column` it gets planted columns.csv by --labels.
    cleanlab  Datalab(image_key, label_name).find_issues() with its defaults. A folder counts as reported if a property's score is below the
              threshold (0.3), and as *new* if one is that is not in the folder of the same images without the plant: classes may differ in
              brightness without any plant. Names, EXIF and columns are not among what it examines.
  A clean folder that is reported is a false alarm. Intervals are Clopper-Pearson at 95 %. Seeds 1 to 3 set the thresholds of `debias audit`, and
  11 to 15 were used for its published figures: neither is a default here.

Needs numpy, scipy and Pillow, and cleanlab and cleanvision:

    pip install scipy pillow cleanlab==2.9.0 cleanvision==0.3.7 datasets
"""

import argparse
import contextlib
import importlib.metadata
import io
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import time
import warnings

from process_cost import DEBIAS, in_threads, machine, measure, median, print_rows, run_in_folder, say

KINDS = {"square": "mark", "square_anywhere": "detail", "text": "mark", "border": "edge", "scene": "edge", "blur": "description", "jpeg": "description",
         "noise": "description", "size": "file", "name": "file", "exif": "file", "column": "column"}  # planted: as `debias audit` calls it
SIZES = {"jpeg": (500, 375), "png": (32, 32)}
UNEVEN = {9: "90:10", 4: "80:20"}


def version_of_debias(options):
    return subprocess.run([options.debias, "--version"], capture_output=True, text=True, check=True).stdout.split()[-1]


def versions_of(*names):
    installed = {}
    for name in names:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            installed[name] = importlib.metadata.version(name)
    return installed


# Speed.


def make_folder(folder, kind, count, distinct):
    """In a process of its own."""
    import numpy as np
    from PIL import Image
    draw = np.random.default_rng(1)
    width, height = SIZES[kind]
    for name in ("first", "second"):
        (folder / name).mkdir(parents=True)
    for i in range(count):
        target = folder / ("first", "second")[i % 2] / f"{i:06d}.{'jpg' if kind == 'jpeg' else 'png'}"
        original = i // 2 % distinct
        if i // 2 >= distinct or i % 2 == 1:
            os.link(folder / "first" / f"{2 * original:06d}{target.suffix}", target)
            continue
        pixels = Image.fromarray(draw.integers(256, size=(max(4, height // 16), max(4, width // 16), 3), dtype=np.uint8))
        pixels = np.asarray(pixels.resize((width, height), Image.BICUBIC), np.float32) + draw.normal(0, 4, (height, width, 3))
        Image.fromarray(pixels.clip(0, 255).astype(np.uint8)).save(target, **({"quality": 90} if kind == "jpeg" else {}))


def run_cleanvision(folder, jobs):
    """In a process of its own."""
    start = time.perf_counter()
    from cleanvision import Imagelab
    imported = time.perf_counter()
    with contextlib.redirect_stdout(io.StringIO()):
        lab = Imagelab(data_path=str(folder))
        lab.find_issues(n_jobs=jobs, verbose=False)
    print(json.dumps({"images": len(lab.issues), "issue_types": sorted(lab.issue_summary["issue_type"]),
                      "seconds_start": round(imported - start, 3)}))


def our_run(options, folder):
    cost, text = measure([options.debias, "audit", folder, "--json", "--quiet"], in_threads(options.jobs), tree=True)
    found = json.loads(text)
    return {**cost, "images": found["images"], "shortcuts": sum(each["verdict"] == "shortcut" for each in found["candidates"])}


def peer_run(options, folder):
    cost, text = measure([sys.executable, pathlib.Path(__file__).resolve(), "cleanvision", folder, "--jobs", options.jobs], tree=True)
    return {**cost, **json.loads(text)}


def speed(options):
    say(what="speed-run", **machine(), jobs=options.jobs, distinct=options.distinct, debias=version_of_debias(options),
        **versions_of("cleanvision", "pillow"))
    for name in options.folders:
        kind, count = name.split(":")
        folder = options.work / f"{kind}-{count}-{options.distinct}"
        if not folder.exists():
            building = folder.with_name(folder.name + ".building")
            shutil.rmtree(building, ignore_errors=True)
            measure([sys.executable, pathlib.Path(__file__).resolve(), "make", building, "--folders", name, "--distinct", options.distinct])
            building.rename(folder)
        for path in folder.rglob("*.*"):
            path.read_bytes()  # the page cache is warm for both sides
        for repetition in range(options.repetitions):
            sides = [("debias", our_run), ("cleanvision", peer_run)]
            for side, run_side in sides if repetition % 2 == 0 else sides[::-1]:
                say(what="speed", folder=kind, files=int(count), side=side, repetition=repetition, **run_side(options, folder))


# Detection.


def draw_folder(root, out, sizes, seed):
    """As many classes as sizes, drawn by the seed, with that many images each."""
    draw = random.Random(seed)
    classes = draw.sample(sorted(path.name for path in root.iterdir() if path.is_dir()), len(sizes))
    for name, size in zip(classes, sizes):
        files = sorted(path for path in (root / name).iterdir() if path.is_file())
        (out / name).mkdir(parents=True)
        for path in draw.sample(files, size):
            shutil.copy(path, out / name / path.name)


def by_debias(options, folder, labels=None):
    start = time.perf_counter()
    command = [options.debias, "audit", str(folder), "--json", "--quiet", *(["--labels", str(labels)] if labels else [])]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"compare_audit: {' '.join(command)}: {done.stderr.strip()}")
    found = json.loads(done.stdout)
    first = found["candidates"][0]
    return {"shortcuts": [[each["kind"], each["name"]] for each in found["shortcuts"]], "look": [[each["kind"], each["name"]] for each in found["look"]],
            "first": first["name"], "first_kind": first["kind"], "first_verdict": first["verdict"], "place": first["place"],
            "effect": round(first["effect"], 4), "p": round(first["p_adjusted"], 4), "groups": found["groups"],
            "seconds": round(time.perf_counter() - start, 2)}


def by_cleanlab(folder):
    try:
        import datasets
        from cleanlab import Datalab
    except ImportError:  # the audit alone is counted
        return {"reported": [], "missing": True}
    classes = sorted(path.name for path in folder.iterdir() if path.is_dir())
    files = [(str(path), number) for number, name in enumerate(classes) for path in sorted((folder / name).rglob("*")) if path.is_file()]
    start = time.perf_counter()
    images = datasets.Dataset.from_dict({"image": [path for path, _ in files], "label": [number for _, number in files]})
    lab = Datalab(data=images.cast_column("image", datasets.Image()), label_name="label", image_key="image", verbosity=0)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        lab.find_issues()
    if "Error in checking" in printed.getvalue():
        sys.exit(f"compare_audit: {folder}: {printed.getvalue().strip()}")
    found = lab.get_info("spurious_correlations")
    scores = {row["property"].removesuffix("_score"): round(float(row["score"]), 4) for _, row in found["correlations_df"].iterrows()}
    return {"threshold": found["threshold"], "reported": [name for name, score in scores.items() if score < found["threshold"]],
            "scores": scores, "seconds": round(time.perf_counter() - start, 2)}


def equal_sizes(images, seed):
    classes = 4 if seed % 2 == 0 else 2
    return [images // classes] * classes


def clean_folders(options):
    """(seed, sizes, ratio of each); half of them are not balanced."""
    for c in range(options.clean):
        seed = 100 * options.seeds[0] + c
        sizes = equal_sizes(options.images, c + 1)
        share = 1 if c % 4 < 2 else 4 if c % 8 >= 4 else 9
        yield seed, [sizes[0], *(max(20, size // share) for size in sizes[1:])], UNEVEN.get(share, "equal")


def trial(options, folder, labels=None, without_plant=None, **name):
    cleanlab = by_cleanlab(folder)
    if without_plant is not None:
        cleanlab["new"] = [each for each in cleanlab["reported"] if each not in without_plant]
    counts = [sum(1 for _ in path.iterdir()) for path in sorted(folder.iterdir()) if path.is_dir()]
    say(what="trial", **name, sizes=counts, debias=by_debias(options, folder, labels), cleanlab=cleanlab)
    return cleanlab["reported"]


def detection(options):
    say(what="detection-run", **machine(), debias=version_of_debias(options), **versions_of("cleanlab", "cleanvision"), images=options.images)
    with contextlib.suppress(ImportError):
        import datasets
        datasets.disable_progress_bars()
    for seed in options.seeds:
        clean = options.work / f"seed{seed}"
        draw_folder(options.root, clean, equal_sizes(options.images, seed), seed)
        reported = trial(options, clean, kind="without plant", seed=seed)
        for kind in options.kinds:
            for correlation in options.correlations:
                planted = options.work / "planted"
                subprocess.run([options.debias, "data", "plant", kind, str(clean), "--out", str(planted), f"correlation={correlation}",
                                f"seed={seed}", "--quiet"], check=True, stdout=subprocess.DEVNULL)
                trial(options, planted, planted / "columns.csv" if kind == "column" else None, reported, kind=kind, correlation=correlation,
                      seed=seed)
                shutil.rmtree(planted)
        shutil.rmtree(clean)
    for seed, sizes, ratio in clean_folders(options):
        folder = options.work / "clean"
        draw_folder(options.root, folder, sizes, seed)
        trial(options, folder, kind="clean", ratio=ratio, seed=seed)
        shutil.rmtree(folder)


# Tables.


def interval(count, all_of):
    """Clopper-Pearson, 95 %."""
    from scipy.stats import beta
    low = 0.0 if count == 0 else beta.ppf(0.025, count, all_of - count + 1)
    high = 1.0 if count == all_of else beta.ppf(0.975, count + 1, all_of - count)
    return f"{count} of {all_of} ({100 * low:.0f}–{100 * high:.0f} %)"


def has_kind(line):
    first = line["debias"]
    return first["first_verdict"] == "shortcut" and first["first_kind"] == KINDS.get(line["kind"], "description")


def counted(lines):
    """Of planted folders: reported and of the kind by debias, reported and new by cleanlab."""
    return [interval(sum(map(bool, values)), len(lines)) for values in (
        [line["debias"]["shortcuts"] for line in lines], [has_kind(line) for line in lines],
        [line["cleanlab"]["reported"] for line in lines], [line["cleanlab"]["new"] for line in lines])]


def print_detection(trials):
    planted = [line for line in trials if "correlation" in line]
    correlations = sorted({line["correlation"] for line in planted})
    heads = ["debias: a shortcut", "of the kind, first", "cleanlab: a property", "new with the plant"]
    rows = [[f"`{kind}`", correlation, *counted(lines)] for kind in dict.fromkeys(line["kind"] for line in planted) for correlation in correlations
            if (lines := [line for line in planted if (line["kind"], line["correlation"]) == (kind, correlation)])]
    rows += [["all", correlation, *counted([line for line in planted if line["correlation"] == correlation])] for correlation in correlations]
    if rows:
        print_rows("Planted shortcuts: folders reported (95 % CI)", ["planted", "correlation", *heads], rows)
    rows = []
    clean = [line for line in trials if line["kind"] == "clean"]
    for name, lines in [(f"clean, {ratio}", [line for line in clean if line["ratio"] == ratio]) for ratio in ("equal", "80:20", "90:10")] + [
            ("clean, all", clean), ("seeds without a plant", [line for line in trials if line["kind"] == "without plant"])]:
        if lines:
            rows.append([name, *(interval(sum(map(bool, values)), len(lines)) for values in (
                [line["debias"]["shortcuts"] for line in lines], [line["cleanlab"]["reported"] for line in lines]))])
    if rows:
        print_rows("Folders without a shortcut: false alarms (95 % CI)", ["folders", "debias", "cleanlab"], rows)


def print_speed(times):
    rows = []
    for place in dict.fromkeys((line["folder"], line["files"]) for line in times):
        ours, peer = ([line for line in times if (line["folder"], line["files"], line["side"]) == (*place, side)]
                      for side in ("debias", "cleanvision"))
        per_image = lambda lines: 1000 * median(lines, "seconds") / lines[0]["images"]
        rows.append([f"{place[1]:,} {place[0].upper()}", f"{ours[0]['images']:,}", f"{median(ours, 'seconds'):.1f}", f"{median(peer, 'seconds'):.1f}",
                     f"{median(peer, 'seconds') / median(ours, 'seconds'):.2f}", f"{per_image(ours):.2f}", f"{per_image(peer):.2f}",
                     *(f"{median(lines, name):.0f}" for lines in (ours, peer) for name in ("peak_mib", "tree_mib"))])
    if rows:
        print_rows("Time and memory, medians", ["folder", "images that debias decodes", "debias, s", "cleanvision, s", "times as fast",
                                                "debias, ms an image", "cleanvision, ms an image", "debias, MiB", "with children",
                                                "cleanvision, MiB", "with children"], rows)


def print_tables(path):
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    print_speed([line for line in lines if line["what"] == "speed"])
    print_detection([line for line in lines if line["what"] == "trial"])


def main():
    names = lambda of_one: lambda text: [of_one(word) for word in text.split(",") if word]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, usage=argparse.SUPPRESS)
    parser.add_argument("command", nargs="?", choices=("speed", "detection", "make", "cleanvision"))
    parser.add_argument("root", nargs="?", type=pathlib.Path, help="folder of class folders, for detection")
    parser.add_argument("--tables", type=pathlib.Path, metavar="FILE", help="print the tables of these lines and run nothing")
    parser.add_argument("--debias", default=DEBIAS)
    parser.add_argument("--work", type=pathlib.Path, help="folder for the images; default: a temporary one. Folders of speed stay in it")
    parser.add_argument("--folders", type=names(str), default=["jpeg:10000", "png:60000", "png:10000"], help="kinds and numbers of files")
    parser.add_argument("--distinct", type=int, default=400)
    parser.add_argument("--jobs", type=int, default=2, help="processes of cleanvision, and threads of debias")
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--kinds", type=names(str), default=list(KINDS))
    parser.add_argument("--correlations", type=names(float), default=[0.9, 0.95, 0.99])
    parser.add_argument("--seeds", type=names(int), default=[21, 22, 23, 24, 25])
    parser.add_argument("--clean", type=int, default=24, help="number of clean folders")
    parser.add_argument("--images", type=int, default=1000, help="images of a folder; of an uneven one if it were even")
    options = parser.parse_args()
    if options.tables:
        return print_tables(options.tables)
    if options.command == "make":
        kind, count = options.folders[0].split(":")
        return make_folder(options.root, kind, int(count), options.distinct)
    if options.command == "cleanvision":
        return run_cleanvision(options.root, options.jobs)
    if options.command is None or (options.command == "detection") != (options.root is not None):
        parser.error("give speed, or detection ROOT")
    run = speed if options.command == "speed" else detection
    warnings.filterwarnings("ignore")
    return run_in_folder(parser, options, run)


if __name__ == "__main__":
    sys.exit(main())
