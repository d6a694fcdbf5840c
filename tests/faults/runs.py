"""Recipes that train in a second, made pictures, and what the folder of a run holds."""

import hashlib
import json
import os
import pathlib
import shutil
import struct
import zlib

from .command import Failed, require

SMALL = """
name: small
seed: 3
data:
  train: {name: glyphs, size: 16, train_count: 96}
views: {preset: sim32, count: 2, random_resized_crop: {size: 16}}
encoder: {name: resnet18, width: 8}
head: {name: simclr, hidden_dim: 8, output_dim: 4}
objective: {name: debiased_negatives, tau_plus: 0.1}
optimizer: {name: adam, learning_rate: 1e-2, weight_decay: 1e-6}
schedule: {name: cosine}
train: {epochs: 3, batch_size: 16, device: cpu, threads: 1, log_every: 2, workers: 1}
"""
EVALUATED = ("data.test={name: glyphs, size: 16, test_count: 90, split: test}",
             "evaluate={protocols: [knn, tsne], knn: {k: 7}, tsne: {iterations: 250, samples: 60}}")
VARIANTS = {
    "plain": (),
    "evaluated": EVALUATED,
    "queue": (*EVALUATED, "method={name: moco, queue: 64}", "optimizer={name: sgd, learning_rate: 0.05}", "train.workers=2"),
    "labelled": (*EVALUATED, "objective=[{name: eps_supinfonce, epsilon: 0.5}, {name: fairkl, weight: 0.5, on: encoder}]",
                 "classifier={name: linear}", "optimizer={name: lars}", "train.workers=0"),
}


def png(path, random, size=16, colour=None):
    """A picture of noise about a colour."""
    base = colour or [random.randrange(200) for _ in range(3)]
    rows = b"".join(b"\0" + bytes(min(255, base[i % 3] + random.randrange(50)) for i in range(3 * size)) for _ in range(size))
    chunk = lambda kind, body: struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
    header = struct.pack(">IIBBBBB", size, size, 8, 2, 0, 0, 0)
    pathlib.Path(path).write_bytes(
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def pictures(root, random, groups=("cat", "dog"), each=6):
    for group in groups:
        os.makedirs(os.path.join(root, group))
        for i in range(each):
            png(os.path.join(root, group, f"{i}.png"), random)
    return root


class Safetensors:
    def __init__(self, path):
        self.path = path
        self.bytes = pathlib.Path(path).read_bytes()
        try:
            length = struct.unpack("<Q", self.bytes[:8])[0]
            self.header = json.loads(self.bytes[8:8 + length])
            self.data = self.bytes[8 + length:]
            self.metadata = self.header.pop("__metadata__")
        except (struct.error, ValueError, KeyError) as error:
            raise Failed(f"{path} is no checkpoint: {error}") from None

    def tensors(self):
        def content(entry):
            begin, end = entry["data_offsets"]
            return entry["dtype"], tuple(entry["shape"]), self.data[begin:end]
        return {name: content(entry) for name, entry in self.header.items()}

    def is_whole(self):
        """The checksum is over the file with its own characters as zeros."""
        given = self.metadata.get("debias.sha256", "").encode()
        return len(given) == 64 and hashlib.sha256(self.bytes.replace(given, b"0" * 64, 1)).hexdigest().encode() == given

    def state(self):
        return json.loads(self.metadata["debias.state"])

    def write_with_state(self, state_text):
        """The same file with another training state, and a checksum that is right."""
        metadata = {**self.metadata, "debias.state": state_text, "debias.sha256": "0" * 64}
        text = json.dumps({"__metadata__": metadata, **self.header}).encode()
        whole = struct.pack("<Q", len(text)) + text + self.data
        found = hashlib.sha256(whole).hexdigest().encode()
        mark = b'"debias.sha256": "'
        pathlib.Path(self.path).write_bytes(whole.replace(mark + b"0" * 64, mark + found, 1))


def checkpoint(run, name="last"):
    return os.path.join(run, "checkpoints", name + ".safetensors")


def read(*parts):
    return pathlib.Path(*map(str, parts)).read_bytes()


def write(content, *parts):
    path = pathlib.Path(*map(str, parts))
    path.write_bytes(content if isinstance(content, bytes) else content.encode())


def snapshot(folder, without=()):
    """Every file's bytes, to see that nothing was touched."""
    root = pathlib.Path(folder)
    return {str(p.relative_to(root)): p.read_bytes() for p in root.rglob("*") if p.is_file() and p.name not in without}


def require_untouched(before, folder, without=()):
    after = snapshot(folder, without)
    changed = sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name))
    require(not changed, f"{folder}: {', '.join(changed[:3])} changed")


def require_nothing_half_written(run, killed=False):
    """Whatever lies there is whole; of a process that was killed, temporaries may lie beside it."""
    for path in sorted(pathlib.Path(run).rglob("*")):
        if ".tmp-" in path.name:
            require(killed, f"{path} was left behind")
        elif path.suffix == ".safetensors":
            require(Safetensors(path).is_whole(), f"the checksum of {path} is wrong")
        elif path.suffix == ".json":
            try:
                json.loads(path.read_bytes())
            except ValueError:
                raise Failed(f"{path} is half written") from None
    config = pathlib.Path(run, "config.yaml")
    require(not config.exists() or b"\noutput: " in config.read_bytes(), f"{config} is half written")


def require_same_run(run, whole, results=True):
    """Metrics, tensors and (`results`) evaluations byte for byte, and nothing half written."""
    for name in ("metrics.jsonl", "metrics.csv", "classes.json"):
        require(read(run, name) == read(whole, name), f"{run}/{name} differs from the undisturbed run's")
    ours, theirs = Safetensors(checkpoint(run)).tensors(), Safetensors(checkpoint(whole)).tensors()
    differs = sorted(name for name in ours.keys() | theirs.keys() if ours.get(name) != theirs.get(name))
    require(not differs, f"{len(differs)} tensors of {run} differ from the undisturbed run's, such as {differs[:1]}")
    for path in sorted(pathlib.Path(whole, "evaluation").glob("*.json")) if results else ():
        name, content = path.name, path.read_bytes()
        require(os.path.exists(os.path.join(run, "evaluation", name)), f"{run}/evaluation/{name} is missing")
        require(read(run, "evaluation", name) == content, f"{run}/evaluation/{name} differs from the undisturbed run's")
    require_nothing_half_written(run)


class Place:
    """Where a case works: a folder of its own, and runs that several cases begin from."""

    def __init__(self, command, shared, folder):
        self.command, self.shared, self.folder = command, shared, folder
        os.makedirs(folder)
        os.makedirs(shared, exist_ok=True)
        self.recipe = os.path.join(shared, "small.yaml")
        write(SMALL, self.recipe)

    def __truediv__(self, name):
        return os.path.join(self.folder, name)

    def run(self, *words, **how):
        return self.command.run(*words, **how)

    def training(self, output, *more, variant="plain"):
        return ["train", self.recipe, *VARIANTS[variant], f"output={output}", *more]

    def once(self, name, make):
        """The shared folder `name`, made the first time that it is asked for."""
        path = os.path.join(self.shared, name)
        if not os.path.exists(path + ".made"):
            shutil.rmtree(path, ignore_errors=True)
            make(path)
            write("", path + ".made")
        return path

    def whole(self, variant="plain", *more, name=None):
        """A run that nothing disturbed."""
        return self.once(name or f"whole-{variant}", lambda path: self.run(*self.training(path, *more, variant=variant)).expect(0))

    def cut(self, variant="plain"):
        """A copy of that run as if it had been killed in its last epoch."""
        path = self / "run"
        shutil.copytree(self.whole(variant), path)
        os.replace(checkpoint(path, "previous"), checkpoint(path))
        config = read(path, "config.yaml").decode()
        write(config.replace("output: " + self.whole(variant), "output: " + path), path, "config.yaml")
        return path

    def require_finishes(self, run, variant="plain", whole=None, more=()):
        self.run(*self.training(run, "--resume", *more, variant=variant)).expect(0)
        require_same_run(run, whole or self.whole(variant))
