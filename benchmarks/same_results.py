#!/usr/bin/env python3
"""Train small recipes of every method with two builds of the program and compare their results byte for byte.

    benchmarks/same_results.py OLD NEW [RECIPE ...]

Compared are the tensors of the last checkpoint and metrics.jsonl. A recipe named `..._resumed` is stopped by SIGTERM in the middle and
resumed, each time by the program under comparison. Exit 0: all are equal; 1: some differ; 2: a program failed. Needs numpy alone.
"""
import argparse
import json
import os
import pathlib
import random
import signal
import struct
import subprocess
import sys
import tempfile
import time

SET = {"name": "glyphs", "size": 16, "train_count": 96, "test_count": 60}
GLYPHS = {"train": {**SET, "correlation": 0.9}, "test": {**SET, "split": "test"}}
VIEWS = {"preset": "sim32", "count": 2, "random_resized_crop": {"size": 16}}


def images(objective, **sections):
    recipe = {
        "seed": 3,
        "data": GLYPHS,
        "views": VIEWS,
        "encoder": {"name": "resnet18", "width": 8},
        "head": {"name": "simclr", "hidden_dim": 8, "output_dim": 4},
        "objective": objective,
        "optimizer": {"name": "adam", "learning_rate": 1e-3},
        "train": {"epochs": 3, "batch_size": 16, "device": "cpu", "threads": 1, "workers": 1},
        "evaluate": {"every": 1, "protocols": ["knn", "groups"]},
    }
    for name, section in sections.items():
        recipe[name] = {**recipe.get(name, {}), **section} if isinstance(section, dict) and name == "train" else section
    return recipe


def sentences(folder, objective, encoder):
    return {
        "seed": 3,
        "data": {"train": {"name": "sentences", "root": f"{folder}/books", "vocabulary": f"{folder}/words.txt", "format": "lines"}},
        "method": {"name": "quick_thoughts"},
        "encoder": encoder,
        "objective": objective,
        "optimizer": {"name": "adam", "learning_rate": 1e-3},
        "train": {"epochs": 2, "batch_size": 16, "device": "cpu", "threads": 1},
    }


def agent(objective):
    return {
        "seed": 1,
        "environment": {"task": "cartpole_swingup", "pixels": 42, "look": "plain"},
        "agent": {"crop": 36, "filters": 4, "hidden": 16, "batch_size": 8, "random_steps": 20},
        "objective": objective,
        "train": {"epochs": 2, "control_steps": 400, "threads": 1},
        "evaluate": {"every": 2, "episodes": 1},
    }


def recipes(folder):
    """Name -> (command, recipe)."""
    debiased = {"name": "debiased_negatives", "temperature": 0.5, "tau_plus": 0.1}
    one_view = {**VIEWS, "count": 1}
    trainings = {
        "contrastive": images({"name": "infonce", "temperature": 0.5}),
        "scheduled": images({**debiased, "tau_plus": {"schedule": "linear", "from": 0.02, "to": 0.2}}),
        "estimated": images({**debiased, "tau_plus": {"from": "prior", "every": 1}}),
        "bayesian": images({"name": "bayesian", "temperature": 0.5, "tau_plus": 0.1, "alpha": 0.7}),
        "supervised_regularised": images([{"name": "eps_supinfonce", "temperature": 0.1, "epsilon": 0.25},
                                          {"name": "fairkl", "weight": 0.5}], views=one_view,
                                         classifier={"name": "linear", "learning_rate": 1e-3, "gradient": "stop"}),
        "logits": images([{"name": "cross_entropy", "on": "logits"}, {"name": "end", "weight": 0.1}], views=one_view,
                         classifier={"name": "linear", "gradient": "flow"}),
        "bias_balanced": images([{"name": "bias_balanced", "on": "logits"}], views=one_view, classifier={"name": "linear", "gradient": "flow"}),
        "moco": images({"name": "infonce", "temperature": 0.2}, method={"name": "moco", "queue": 64, "shuffle_bn": 4}),
        "moco_v3": images({"name": "infonce", "temperature": 0.2}, method={"name": "moco", "version": "v3", "predictor": 16}),
        "cmc": images(debiased | {"clamp": "fallback", "tau_plus": 0.01},
                      method={"name": "cmc", "negatives": 16}, views={"preset": "cmc_lab", "count": 1, "random_resized_crop": {"size": 16}},
                      head={"name": "linear", "output_dim": 16}),
        "cmc_nce": images({"name": "infonce", "temperature": 0.1}, method={"name": "cmc", "negatives": 16, "loss": "nce"},
                          views={"preset": "cmc_lab", "count": 1, "random_resized_crop": {"size": 16}},
                          head={"name": "linear", "output_dim": 16}),
        "text": sentences(folder, debiased | {"temperature": 1, "tau_plus": 0.01, "clamp": "positive"},
                          {"name": "bag_of_words", "features": 16}),
        "text_gru": sentences(folder, {"name": "infonce", "temperature": 1}, {"name": "gru", "embedding": 8, "features": 16}),
    }
    trainings["moco_resumed"] = trainings["moco"]
    trainings["cmc_resumed"] = trainings["cmc"]
    named = {name: (["train"], recipe) for name, recipe in trainings.items()}
    named["ranks_2"] = (["train", "--ranks", "2"], trainings["contrastive"])
    named["agent"] = (["rl", "train"], agent(debiased))
    named["agent_resumed"] = named["agent"]
    named["agent_infonce"] = (["rl", "train"], agent({"name": "infonce"}))
    return named


def write_books(folder):
    draw = random.Random(5)
    words = ["".join(draw.choice("abdegiklmnoprstu") for _ in range(draw.randint(2, 7))) for _ in range(80)]
    os.makedirs(folder / "books")
    for book in range(3):
        lines = [" ".join(draw.choice(words) for _ in range(draw.randint(3, 9))) + "." for _ in range(60)]
        (folder / "books" / f"book{book}.txt").write_text("\n".join(lines) + "\n")


def run(command, **options):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)


def resumed(command, output):
    """Stopped as soon as there is a checkpoint of a step, then gone on with."""
    process = subprocess.Popen(command + ["train.checkpoint_every=0.001"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wanted = pathlib.Path(output) / "checkpoints/previous.safetensors"
    while process.poll() is None and not wanted.exists():
        time.sleep(0.005)
    process.send_signal(signal.SIGTERM)
    process.wait()
    return run(command + ["train.checkpoint_every=0.001", "--resume"])


def tensors(path):
    data = path.read_bytes()
    size, = struct.unpack("<Q", data[:8])
    header = json.loads(data[8:8 + size])
    header.pop("__metadata__", None)
    body = data[8 + size:]
    return {name: body[slice(*entry["data_offsets"])] for name, entry in header.items()}


def differences(old, new):
    found = []
    a, b = (tensors(run_folder / "checkpoints/last.safetensors") for run_folder in (old, new))
    if a.keys() != b.keys():
        found.append(f"tensors {sorted(a.keys() ^ b.keys())[:4]} are in one of them alone")
    changed = [name for name in a.keys() & b.keys() if a[name] != b[name]]
    if changed:
        found.append(f"{len(changed)} of {len(a)} tensors differ, such as {sorted(changed)[0]}")
    if (old / "metrics.jsonl").read_bytes() != (new / "metrics.jsonl").read_bytes():
        found.append("metrics.jsonl differs")
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("names", nargs="*")
    parser.add_argument("--keep", help="folder in which the runs are left")
    arguments = parser.parse_args()
    status = 0
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(arguments.keep or scratch)
        folder.mkdir(parents=True, exist_ok=True)
        write_books(folder)
        made = run([arguments.old, "text", "vocabulary", f"{folder}/books", "--format", "lines", "--out", f"{folder}/words.txt"])
        assert made.returncode == 0, made.stdout
        for name, (verb, recipe) in recipes(folder).items():
            if arguments.names and name not in arguments.names:
                continue
            path = folder / f"{name}.yaml"
            path.write_text(json.dumps(recipe))
            outputs, failure = [], None
            for which, program in (("old", arguments.old), ("new", arguments.new)):
                output = folder / f"{name}-{which}"
                command = [program, *verb[:1], *(verb[1:] if verb[0] == "rl" else []), str(path), f"output={output}",
                           *(verb[1:] if verb[0] != "rl" else [])]
                result = resumed(command, output) if name.endswith("_resumed") else run(command)
                outputs.append(output)
                if result.returncode != 0:
                    failure = f"{which} program failed: {result.stdout.strip().splitlines()[-1:]}"
                    break
            if failure:
                status = 2
                print(f"{name}: {failure}")
                continue
            found = differences(*outputs)
            status = max(status, 1 if found else 0)
            print(f"{name}: {'; '.join(found) or 'equal'}")
    return status


if __name__ == "__main__":
    sys.exit(main())
