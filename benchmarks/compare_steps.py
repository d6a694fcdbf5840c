#!/usr/bin/env python3
"""benchmarks/compare_steps.py [--widths W ...] [--batches B ...] [--precisions P ...] [--rounds R] [--threads T] [--no-compile]
[--same-malloc] [--markdown] [--profile]:
whole training steps of ours against PyTorch's, in turn.

A step is two views of B images of 32 x 32 pixels, which lie as either side wants them, one after the other through ResNet-18 (CIFAR stem, channels last) and the SimCLR head,
InfoNCE, backward, Adam. Ours is build/release/bin/step_bench, a process of its own that runs what `debias train` runs for a batch; PyTorch's
runs here: eager, and torch.compile of the network, with Adam's fused form; bf16 is autocast. Both start from the same weights and see the
same images; the losses of the first three steps are compared before anything is timed. Times are medians of R rounds, by the clock and of
the processor (all threads of the process). The malloc of PyTorch's side is what the environment says: with `--same-malloc` it keeps large
blocks in large pages, as ours does by itself.
`--profile` prints where the processor's time of our step goes instead. Needs numpy and torch 2.11 (make test-python).
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SIDE, TEMPERATURE = 32, 0.5


def arguments_given():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--widths", type=int, nargs="+", default=[16, 64])
    parser.add_argument("--batches", type=int, nargs="+", default=[256], help="width 64 also with 64, whatever is given here")
    parser.add_argument("--precisions", nargs="+", choices=["fp32", "bf16"], default=["fp32", "bf16"])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--bench", type=Path, default=ROOT / "build/release/bin/step_bench")
    parser.add_argument("--no-compile", action="store_true")
    parser.add_argument("--profile", action="store_true")
    parser.add_argument("--same-malloc", action="store_true", help="large blocks in large pages for PyTorch, too (GLIBC_TUNABLES)")
    parser.add_argument("--markdown", action="store_true")
    return parser.parse_args()


ARGUMENTS = arguments_given()
os.environ["OMP_NUM_THREADS"] = str(ARGUMENTS.threads)  # before torch is loaded
if ARGUMENTS.same_malloc and "GLIBC_TUNABLES" not in os.environ:
    os.environ["GLIBC_TUNABLES"] = ":".join(f"glibc.malloc.{setting}" for setting in (
        "hugetlb=1", "mmap_threshold=1073741824", "trim_threshold=2147483647"))
    os.execv(sys.executable, [sys.executable, *sys.argv])

import numpy as np  # noqa: E402
import torch  # noqa: E402
import torch.nn.functional as F  # noqa: E402
from torch import nn  # noqa: E402

from plain_losses import expert_infonce  # noqa: E402


class Block(nn.Module):
    def __init__(self, into, out, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(into, out, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(out)
        self.conv2 = nn.Conv2d(out, out, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(out)
        self.downsample = None
        if stride != 1 or into != out:
            self.downsample = nn.Sequential(nn.Conv2d(into, out, 1, stride, bias=False), nn.BatchNorm2d(out))

    def forward(self, x):
        y = F.relu(self.bn1(self.conv1(x)), inplace=True)
        y = self.bn2(self.conv2(y))
        y += x if self.downsample is None else self.downsample(x)
        return F.relu(y, inplace=True)


class ResNet18(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.conv1 = nn.Conv2d(3, width, 3, 1, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        into = width
        for stage in range(4):
            out = width << stage
            setattr(self, f"layer{stage + 1}", nn.Sequential(Block(into, out, 2 if stage else 1), Block(out, out, 1)))
            into = out

    def forward(self, x):
        x = F.relu(self.bn1(self.conv1(x)), inplace=True)
        for stage in (self.layer1, self.layer2, self.layer3, self.layer4):
            x = stage(x)
        return x.mean((2, 3))


class Head(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.fc1 = nn.Linear(features, 512, bias=False)
        self.bn1 = nn.BatchNorm1d(512)
        self.fc2 = nn.Linear(512, 128)

    def forward(self, x):
        return self.fc2(F.relu(self.bn1(self.fc1(x)), inplace=True))


class Network(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.encoder, self.head = ResNet18(width), Head(8 * width)

    def forward(self, x):
        return self.head(self.encoder(x))


def read_weights(path):
    """Of a safetensors file: a length, a JSON header, the values."""
    data = path.read_bytes()
    length = int.from_bytes(data[:8], "little")
    header, kinds = json.loads(data[8:8 + length]), {"F32": np.float32, "I64": np.int64}
    weights = {}
    for name, entry in header.items():
        if name != "__metadata__":
            begin, end = (8 + length + offset for offset in entry["data_offsets"])
            weights[name] = torch.from_numpy(np.frombuffer(data[begin:end], kinds[entry["dtype"]]).reshape(entry["shape"]).copy())
    return weights


class Theirs:
    """A training step in PyTorch; calling it takes one and gives the loss and its seconds."""

    def __init__(self, width, precision, images, weights, compiled=False):
        self.network = Network(width)
        self.network.load_state_dict(weights)
        self.network.to(memory_format=torch.channels_last)
        self.forward = torch.compile(self.network) if compiled else self.network
        self.half, self.images = precision == "bf16", [view.contiguous(memory_format=torch.channels_last) for view in images]
        self.optimizer = torch.optim.Adam(self.network.parameters(), 1e-3, fused=True)

    def __call__(self):
        wall, processor = time.perf_counter(), time.process_time()
        self.optimizer.zero_grad()
        rows = []
        for view in self.images:
            with torch.autocast("cpu", dtype=torch.bfloat16, enabled=self.half):
                rows.append(self.forward(view))
        loss = expert_infonce(F.normalize(torch.stack(rows).float(), dim=-1), TEMPERATURE)
        loss.backward()
        self.optimizer.step()
        return loss.item(), time.perf_counter() - wall, time.process_time() - processor


class Ours:
    def __init__(self, folder, images, width, precision):
        np.save(folder / "images.npy", images)
        self.weights = folder / "weights.safetensors"
        environment = {name: value for name, value in os.environ.items() if name != "GLIBC_TUNABLES"}
        command = [ARGUMENTS.bench, self.weights, folder / "images.npy", str(width), precision, str(ARGUMENTS.threads)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)
        if self.process.stdout.readline() != "ready\n":
            sys.exit(f"{ARGUMENTS.bench} does not start; build it: cmake --build --preset release --target step_bench")

    def asked(self, word):
        print(word, file=self.process.stdin, flush=True)
        return self.process.stdout.readline().rstrip("\n")

    def __call__(self):
        return tuple(float(value) for value in self.asked("step").split())

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def compared(ours, theirs, precision):
    """What differs in the first three steps by more than rounding, in words; None."""
    tolerance = 2e-2 if precision == "bf16" else 1e-3
    pairs = [(ours()[0], theirs()[0]) for _ in range(3)]
    worst = max(abs(a - b) / abs(b) for a, b in pairs)
    if abs(pairs[0][0] - pairs[0][1]) > (5e-3 if precision == "bf16" else 1e-5) * pairs[0][1] or worst > tolerance:
        return ", ".join(f"{a:.6f} against {b:.6f}" for a, b in pairs)
    return None


def in_turn(steps, rounds):
    """{name: (median seconds by the clock, of the processor)}"""
    seconds = {name: [] for name in steps}
    for _ in range(rounds):
        for name, step in steps.items():
            seconds[name].append(step()[1:])
    return {name: tuple(statistics.median(values) for values in zip(*taken)) for name, taken in seconds.items()}


def print_row(cells):
    if ARGUMENTS.markdown:
        print("| " + " | ".join(cells) + " |", flush=True)
    else:
        print(f"{cells[0]:>5} {cells[1]:>5} {cells[2]:>9}  {cells[3]:20}" + "".join(f"{cell:>12}" for cell in cells[4:]), flush=True)


def print_profile(ours, case):
    for _ in range(3):
        ours()
    cells = ours.asked("profile").split("\t")
    parts = {name: float(value) for name, value in zip(cells[::2], cells[1::2])}
    whole = parts.pop("whole")
    print(f"width {case[0]}, batch {case[1]}, {case[2]}: {whole:.3f} s of the processor")
    for name, value in sorted(parts.items(), key=lambda part: -part[1]):
        print(f"  {100 * value / whole:5.1f} %  {name}")


def compare(width, batch, precision):
    images = np.random.default_rng(1).standard_normal((2, batch, 3, SIDE, SIDE), dtype=np.float32)
    with tempfile.TemporaryDirectory() as folder:
        ours = Ours(Path(folder), images, width, precision)
        try:
            if ARGUMENTS.profile:
                return print_profile(ours, (width, batch, precision))
            weights = read_weights(ours.weights)
            make = lambda compiled: Theirs(width, precision, torch.from_numpy(images), weights, compiled)
            steps = {"ours": ours, "eager": make(False)}
            if fault := compared(ours, steps["eager"], precision):
                sys.exit(f"width {width}, batch {batch}, {precision}: the losses are not the same: {fault}")
            if not ARGUMENTS.no_compile:
                try:
                    torch._dynamo.reset()
                    compiled = make(True)
                    compiled()
                    steps["compiled"] = compiled
                except Exception as failure:  # no working compiler: said, not hidden
                    print(f"torch.compile failed: {str(failure).splitlines()[0]}", file=sys.stderr)
            in_turn(steps, 1)
            medians = in_turn(steps, ARGUMENTS.rounds)
        finally:
            ours.close()
    for name, (wall, processor) in medians.items():
        print_row([str(width), str(batch), precision, name, f"{wall:.3f}", f"{wall / medians['ours'][0]:.2f}", f"{processor:.3f}",
                   f"{processor / medians['ours'][1]:.2f}"])
    return None


def main():
    torch.set_num_threads(ARGUMENTS.threads)
    if not ARGUMENTS.profile:
        print_row(["width", "batch", "precision", "step", "s", "times ours", "processor s", "times ours"])
        if ARGUMENTS.markdown:
            print("|" + "---|" * 8)
    for width in ARGUMENTS.widths:
        for batch in sorted({*ARGUMENTS.batches, *([64] if width >= 64 else [])}):
            for precision in ARGUMENTS.precisions:
                compare(width, batch, precision)
    return 0


if __name__ == "__main__":
    sys.exit(main())
