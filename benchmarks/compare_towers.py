#!/usr/bin/env python3
"""benchmarks/compare_towers.py [--rows B] [--dimensions D] [--largest B] [--repeats R]: losses of two towers and cached steps from Python.

towers   TwoTowerLoss ("infonce" and "siglip") beside open_clip's ClipLoss and SigLipLoss: B rows of each side, float32, forward and backward. Value
         and gradient are compared first. Times in turns, medians; peak memory above that of the process with its inputs, gradients included,
         each in a process of its own.
largest  the same of TwoTowerLoss alone at the largest B.
cached   CachedStep beside one backward pass of the whole batch, for InfoNCE, SupCon and FairKL: two networks, chunks of 64 of 512.
small    a call of DebiasedNegativesLoss at 8 and 256 rows beside the same formula composed in PyTorch, forward and backward.

Prints a JSON line each. Needs open_clip_torch beside torch and this package (make test-python):

    build/python-env/bin/python benchmarks/compare_towers.py
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time

import torch

import debias
from process_cost import begin_peak_anew, resident


def sides(rows, dimensions):
    torch.manual_seed(0)
    return [torch.nn.functional.normalize(torch.randn(rows, dimensions), dim=1).requires_grad_() for _ in range(2)]


def unit(rows):
    """TwoTowerLoss normalises its rows; with open_clip the model does."""
    return torch.nn.functional.normalize(rows, dim=1)


def tower_losses(name):
    import open_clip.loss
    scale = torch.tensor(1 / 0.07)
    if name == "infonce":
        ours, theirs = debias.TwoTowerLoss("infonce"), open_clip.loss.ClipLoss()
        return lambda i, t: ours(i, t, logit_scale=scale), lambda i, t: theirs(unit(i), unit(t), scale)
    ours, theirs, bias = debias.TwoTowerLoss("siglip"), open_clip.loss.SigLipLoss(), torch.tensor(-10.0)
    return lambda i, t: ours(i, t, logit_scale=scale, logit_bias=bias), lambda i, t: theirs(unit(i), unit(t), scale, bias)


def seconds(call, inputs):
    for tensor in inputs:
        tensor.grad = None
    start = time.perf_counter()
    call(*inputs).backward()
    return time.perf_counter() - start


def in_turns(calls, inputs, repeats):
    taken = [[] for _ in calls]
    for _ in range(repeats + 1):
        for call, times in zip(calls, taken):
            times.append(seconds(call, inputs))
    return [statistics.median(times[1:]) for times in taken]


def peak_mib(name, mine, rows, dimensions):
    """Above the process with its inputs, in a process of its own."""
    words = [sys.executable, __file__, "--peak", name, str(int(mine)), "--rows", str(rows), "--dimensions", str(dimensions)]
    return json.loads(subprocess.run(words, check=True, capture_output=True, text=True).stdout)


def print_peak(name, mine, rows, dimensions):
    call = tower_losses(name)[0 if mine else 1]
    seconds(call, sides(64, dimensions))
    inputs = sides(rows, dimensions)
    begin_peak_anew()
    before = resident("VmRSS")
    taken = seconds(call, inputs)
    print(json.dumps([(resident("VmHWM") - before) / 1024, taken]))


def towers(options):
    for name in ("infonce", "siglip"):
        calls = tower_losses(name)
        image, text = (side.detach().double().requires_grad_() for side in sides(96, 48))
        gradients = [torch.autograd.grad(call(image, text), (image, text)) for call in calls]
        apart = max(float((a - b).abs().max()) for a, b in zip(*gradients))
        assert apart < 1e-6 and abs(float(calls[0](image, text) - calls[1](image, text))) < 1e-6, (name, apart)
        ours, theirs = in_turns(calls, sides(options.rows, options.dimensions), options.repeats)
        memory = [peak_mib(name, mine, options.rows, options.dimensions)[0] for mine in (True, False)]
        print(json.dumps({"towers": name, "rows": options.rows, "dimensions": options.dimensions, "debias_s": round(ours, 3),
                          "open_clip_s": round(theirs, 3), "ratio": round(theirs / ours, 2), "debias_mib": round(memory[0]),
                          "open_clip_mib": round(memory[1])}), flush=True)


def largest(options):
    if options.largest:
        memory, taken = peak_mib("infonce", True, options.largest, options.dimensions)
        print(json.dumps({"largest": options.largest, "debias_s": round(taken, 1), "debias_mib": round(memory)}), flush=True)


def networks():
    """Without batch normalisation, which sees chunks: convolutions, whose weights serve many positions of an image, and dense layers, whose
    weights serve a sample once, so that each chunk pays for reading them and for summing their gradients."""
    from torch.nn import Conv2d, Flatten, GroupNorm, Linear, ReLU, Sequential
    stages = [(3, 32, 1), (32, 64, 2), (64, 128, 2), (128, 128, 1)]
    layers = [layer for a, b, stride in stages for layer in (Conv2d(a, b, 3, stride, 1), GroupNorm(8, b), ReLU())]
    yield "convolutions", Sequential(*layers, torch.nn.AdaptiveAvgPool2d(1), Flatten(), Linear(128, 128)), (3, 32, 32)
    yield "dense", Sequential(Linear(512, 2048), ReLU(), Linear(2048, 2048), ReLU(), Linear(2048, 128)), (512,)


def cached(options):
    torch.manual_seed(0)
    rows = 512
    labels, bias = torch.arange(rows) % 10, torch.arange(rows) // 10 % 3
    settings = {"infonce": (debias.InfoNCELoss(), {}), "supcon": (debias.SupConLoss(), {"labels": labels}),
                "fairkl": (debias.FairKLLoss(), {"labels": labels, "bias_labels": bias})}
    for encoder, network, shape in networks():
        for name, (loss, given) in settings.items():
            first, second = (torch.randn(rows, *shape) for _ in range(2))
            step = debias.CachedStep(encode=network, loss=loss, chunk=64)
            apart = gradients_apart(network, step, loss, first, second, given)
            assert apart < 1e-6, (name, apart)
            calls = [lambda: step(first, second, **given), lambda: loss((network(first), network(second)), **given)]
            ours, theirs = in_turns(calls, [], options.repeats)
            print(json.dumps({"cached": name, "encoder": encoder, "rows": rows, "chunk": 64, "cached_s": round(ours, 4),
                              "whole_s": round(theirs, 4), "ratio": round(ours / theirs, 2), "gradient_apart": apart}), flush=True)


def gradients_apart(network, step, loss, first, second, given):
    """Of the cached step and of the whole batch, in double and relative to its length."""
    network.double()
    first, second, gradients = first.double(), second.double(), []
    for call in (lambda: loss((network(first), network(second)), **given), lambda: step(first, second, **given)):
        network.zero_grad()
        call().backward()
        gradients.append(torch.cat([p.grad.flatten() for p in network.parameters()]))
    network.float().zero_grad()
    return float((gradients[0] - gradients[1]).norm() / gradients[0].norm())


def composed(z0, z1, tau_plus=0.1, t=0.5):
    """The debiased loss, as its authors' code has it."""
    z = torch.cat([z0, z1])
    n = len(z0)
    scores = torch.exp(z @ z.t() / t)
    mask = ~torch.eye(2 * n, dtype=torch.bool)
    mask.view(2, n, 2, n).diagonal(dim1=1, dim2=3).fill_(False)
    negatives = scores.masked_select(mask).view(2 * n, -1)
    positive = torch.exp((z0 * z1).sum(1) / t).repeat(2)
    count = 2 * n - 2
    Ng = ((-tau_plus * count * positive + negatives.sum(1)) / (1 - tau_plus)).clamp(min=count * torch.e ** (-1 / t))
    return -(positive / (positive + Ng)).log().mean()


def small(options):
    loss = debias.DebiasedNegativesLoss(0.5, tau_plus=0.1)
    for rows in (8, 256):
        inputs = sides(rows // 2, 128)
        calls = [lambda a, b: loss(a, b), lambda a, b: composed(unit(a), unit(b))]
        assert abs(float(calls[0](*inputs) - calls[1](*inputs))) < 1e-4
        ours, theirs = in_turns(calls, inputs, 200)
        print(json.dumps({"small": rows, "debias_ms": round(1e3 * ours, 3), "composed_ms": round(1e3 * theirs, 3),
                          "ratio": round(theirs / ours, 2)}), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=8192)
    parser.add_argument("--dimensions", type=int, default=512)
    parser.add_argument("--largest", type=int, default=65536, help="0 leaves it out")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--peak", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    torch.set_num_threads(len(os.sched_getaffinity(0)))
    if options.peak:
        print_peak(options.peak[0], options.peak[1] == "1", options.rows, options.dimensions)
        return
    print(json.dumps({**debias.about(), "instructions": torch.backends.cpu.get_cpu_capability()}))
    for part in (towers, largest, cached, small):
        part(options)


if __name__ == "__main__":
    main()
