#!/usr/bin/env python3
"""benchmarks/compare_losses.py [--small] [--only CASE ...] [--rounds R] [--no-compile] [--markdown] [--batches N ...]: our losses against others, in one process.

Each case is timed forward and backward on unit rows, fp32, two threads, all implementations in turn in every round; the table has medians.
Cases in bf16 give ours the rows in bfloat16 and the others the same rounded values in fp32, or autocast where the name says so.
Rivals: `published`, the way the papers' code goes (the whole matrix, masks, masked_select), written plainly from the formulas; `expert`,
a dense composition without masks; `compiled`, torch.compile of it; and the losses of pytorch-metric-learning and lightly where they are
installed. Masks that do not depend on the features are made beforehand. A rival whose value or gradient differs is named and not timed.
With --batches, small ones of these numbers of rows: processor time beside the expert forms, reading the diagnostics included.
Peak memory beyond the input is that of one evaluation in a fresh process. Case `growth` prints what twice the rows cost us.
Needs the Python package: make test-python.
"""

import argparse
import itertools
import json
import math
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass, field
from typing import Callable

import torch
import torch.nn.functional as F

import debias
from plain_losses import (
    CLASSES, class_masks, expert_bayesian, expert_debiased, expert_eps_supinfonce, expert_fairkl, expert_hard, expert_infonce,
    expert_supcon, fairkl_masks, negative_mask, one_hot_groups, published_bayesian, published_debiased, published_eps_supinfonce,
    published_fairkl, published_hard, published_infonce, published_supcon,
)
from process_cost import begin_peak_anew, resident

THREADS, D = 2, 128


def unit_rows(views, samples, seed=0):
    """[V, B, D], views of a sample nearer to each other than to other samples."""
    generator = torch.Generator().manual_seed(seed)
    centre = torch.randn(samples, D, generator=generator)
    z = centre + torch.randn(views, samples, D, generator=generator)
    return F.normalize(z, dim=-1).requires_grad_()


def integers(samples, high, seed):
    return torch.randint(high, (samples,), generator=torch.Generator().manual_seed(seed))


@dataclass
class Case:
    samples: int
    views: int
    ours: Callable
    rivals: dict = field(default_factory=dict)  # name -> loss(z)
    targets: dict = field(default_factory=dict)  # name -> (at least, aim)
    rounds: int = 9
    half: bool = False  # ours in bfloat16

    def rows(self, name):
        z = unit_rows(self.views, self.samples)
        if not self.half:
            return z
        z = z.detach().bfloat16()
        return (z if name == "ours" else z.float()).requires_grad_()


def by_views(loss, *keys):
    return (lambda z: loss(z.transpose(0, 1), *keys)) if keys else (lambda z: loss(z.transpose(0, 1)))


def with_packages(case):
    """NT-Xent of the packages that are installed."""
    try:
        from pytorch_metric_learning.losses import NTXentLoss
        pairs = torch.arange(case.samples).repeat(2)
        metric = NTXentLoss(temperature=0.5)
        case.rivals["pytorch-metric-learning"] = lambda z: metric(z.reshape(-1, D), pairs)
    except ImportError as missing:
        print(f"left out: {missing}", file=sys.stderr)
    try:
        from lightly.loss import NTXentLoss as LightlyNTXent
        lightly = LightlyNTXent(temperature=0.5)
        case.rivals["lightly"] = lambda z: lightly(z[0], z[1])
    except ImportError as missing:
        print(f"left out: {missing}", file=sys.stderr)
    return case


def autocast(loss):
    def cast(z):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return loss(z)
    return cast


def cases(b, b_rank, b_fair, classes=CLASSES):
    """{name: function that makes the case} of so many samples; masks are made with it."""
    options = {"normalize": False}

    def two_views(loss, published, expert, targets, samples=b, **more):
        mask = negative_mask(samples)
        return Case(samples, 2, by_views(loss), {"published": lambda z: published(z, mask), "expert": expert}, targets, **more)

    def by_class(loss, published, expert, targets):
        labels = integers(b, classes, 1)
        masks = class_masks(labels)
        return Case(b, 2, by_views(loss, labels), {"published": lambda z: published(z, masks), "expert": lambda z: expert(z, labels)}, targets)

    def fair():
        labels, bias = integers(b_fair, classes, 1), integers(b_fair, classes, 2)
        masks, groups = fairkl_masks(labels, bias), one_hot_groups(labels, bias)
        rivals = {"published": lambda z: published_fairkl(z, masks), "expert": lambda z: expert_fairkl(z, groups)}
        return Case(b_fair, 1, by_views(debias.FairKLLoss(mode="authors", **options), labels, bias), rivals, {"published": (100, 300)}, 3)

    def half(loss, expert):
        rivals = {"expert": expert, "expert, autocast": autocast(expert)}
        return Case(b, 2, by_views(loss), rivals, {"expert": (5, 8)}, half=True)

    dense_targets = {"expert": (3, 4), "compiled": (2.5, 3)}
    return {
        "infonce": lambda: with_packages(two_views(debias.InfoNCELoss(**options), published_infonce, expert_infonce, dense_targets)),
        "debiased_negatives": lambda: two_views(debias.DebiasedNegativesLoss(**options), published_debiased, expert_debiased,
                                                {"published": (5.5, 8), **dense_targets}),
        "debiased_negatives, 8 MB": lambda: two_views(debias.DebiasedNegativesLoss(memory_budget=8 << 20, **options), published_debiased,
                                                      expert_debiased, {}),
        "infonce, bf16": lambda: half(debias.InfoNCELoss(**options), expert_infonce),
        "debiased_negatives, bf16": lambda: half(debias.DebiasedNegativesLoss(**options), expert_debiased),
        "hard_negatives": lambda: two_views(debias.HardNegativesLoss(**options), published_hard, expert_hard, {"published": (8, 12)}),
        "supcon": lambda: by_class(debias.SupConLoss(**options), published_supcon, expert_supcon, {"published": (6, 10)}),
        "eps_supinfonce": lambda: by_class(debias.EpsSupInfoNCELoss(**options), published_eps_supinfonce, expert_eps_supinfonce,
                                           {"published": (8, 12)}),
        "bayesian": lambda: two_views(debias.BayesianLoss(form="authors", beta=0.9, stabilize=False, **options), published_bayesian,
                                      expert_bayesian, {"published": (250, 400)}, b_rank, rounds=5),
        "fairkl": fair,
        "ntxent, B 128": lambda: with_packages(two_views(debias.InfoNCELoss(), published_infonce, expert_infonce,
                                                         {"pytorch-metric-learning": (300, 1000)}, 128, rounds=21)),
    }


def step(loss, z):
    value = loss(z)
    gradient, = torch.autograd.grad(value, z)
    return value.item(), gradient


def along_sphere(gradient, z):
    """Without the part along the row, which those lack that normalise rows themselves."""
    return gradient - (gradient * z).sum(-1, keepdim=True) * z


def disagreement(found, expected, z, half):
    """What differs by more than the arithmetic explains, in words; None."""
    value, reference = found[0], expected[0]
    gradient, reference_gradient = (along_sphere(each[1].float(), z.detach().float()) for each in (found, expected))
    if abs(value - reference) > (1e-2 if half else 2e-4) * max(1, abs(reference)):
        return f"value {value:.7g}, ours {reference:.7g}"
    size = reference_gradient.abs().max().item()
    if (worst := (gradient - reference_gradient).abs().max().item()) > (1e-2 if half else 2e-3) * size:
        return f"gradient off by {worst:.2g} of {size:.2g}"
    return None


def timed(losses, rounds):
    """{name: median ms} of (loss, z), all in turn in every round."""
    seconds = {name: [] for name in losses}
    for _ in range(rounds):
        for name, (loss, z) in losses.items():
            start = time.perf_counter()
            step(loss, z)
            seconds[name].append(time.perf_counter() - start)
    return {name: 1e3 * statistics.median(values) for name, values in seconds.items()}


def print_peak(case, name):
    """The child's part: bytes beyond the input that one evaluation takes at most."""
    loss = case.ours if name == "ours" else case.rivals[name]
    z = case.rows(name)
    small = unit_rows(2, 16)
    step(by_views(debias.InfoNCELoss()), small)  # threads and code
    begin_peak_anew()
    before = resident("VmRSS")
    step(loss, z)
    print(json.dumps(1024 * (resident("VmHWM") - before)))


def peak(case_name, name, small):
    command = [sys.executable, __file__, "--peak", name, "--only", case_name] + (["--small"] if small else [])
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return int(done.stdout.splitlines()[-1]) / 2**20 if done.returncode == 0 else math.nan


def compiled_of(expert, z):
    torch._dynamo.reset()
    compiled = torch.compile(expert)
    step(compiled, z)
    return compiled


def compare(case_name, case, arguments):
    z, given = case.rows("ours"), case.rows("rival")
    losses, expected = {"ours": (case.ours, z)}, step(case.ours, z)
    rivals = dict(case.rivals)
    if "compiled" in case.targets and not arguments.no_compile:
        try:
            rivals["compiled"] = compiled_of(case.rivals["expert"], given)
        except Exception as failure:  # no working compiler: said, not hidden
            print(f"{case_name}: torch.compile failed: {str(failure).splitlines()[0]}", file=sys.stderr)
    for name, loss in rivals.items():
        try:
            fault = disagreement(step(loss, given), expected, z, case.half)
        except RuntimeError as failure:  # out of memory
            print(f"{case_name}: {name} does not run: {str(failure).splitlines()[0]}", file=sys.stderr)
            continue
        if fault:
            print(f"{case_name}: {name} computes something else ({fault}); it is not timed", file=sys.stderr)
        else:
            losses[name] = (loss, given)
    medians = timed(losses, arguments.rounds or case.rounds)
    peaks = {} if arguments.no_memory else {name: peak(case_name, name, arguments.small) for name in losses if name != "compiled"}
    for name in losses:
        ratio = medians[name] / medians["ours"]
        least, aim = case.targets.get(name, (None, None))
        verdict = "" if least is None else "aim met" if ratio >= aim else "met" if ratio >= least else "missed"
        yield [case_name, f"{case.views * case.samples}", name, f"{medians[name]:.2f}", f"{ratio:.2f}", f"{peaks[name]:.0f}" if name in peaks else "",
               "" if least is None else f"{least:g}", "" if aim is None else f"{aim:g}", verdict]


WITH_EXPERT = ("infonce", "debiased_negatives", "hard_negatives", "bayesian", "supcon", "eps_supinfonce", "fairkl")


def batches(arguments):
    """Rows of the table of small batches. A round is some calls of each implementation in turn."""
    for rows in arguments.batches:
        known = cases(rows // 2, rows // 2, rows, min(CLASSES, max(2, rows // 8)))
        for name in arguments.only or WITH_EXPERT:
            case = known[name]()
            module = next(cell.cell_contents for cell in case.ours.__closure__ if isinstance(cell.cell_contents, torch.nn.Module))
            losses = {"ours": case.ours, "expert": case.rivals["expert"]}
            z, seconds = case.rows("ours"), {which: [] for which in losses}
            fault = disagreement(step(losses["expert"], z), step(case.ours, z), z, False)
            calls = max(1, 512 // rows)
            for _ in range(arguments.rounds or 200):
                for which, loss in losses.items():
                    start = time.process_time()
                    for _ in range(calls):
                        step(loss, z)
                        if which == "ours":
                            module.diagnostics  # read
                    seconds[which].append((time.process_time() - start) / calls)
            ours, expert = (1e6 * statistics.median(seconds[which]) for which in losses)
            yield [name, f"{rows}", f"{ours:.0f}", f"{expert:.0f}", fault or f"{expert / ours:.2f}"]


def growth(arguments):
    """What n -> 2n rows cost: by pairs at most 4.3 times as much, by moments of groups 2.2 times."""
    sizes = (256, 512, 1024) if arguments.small else (2048, 4096, 8192)
    cases_by_size = {
        "debiased_negatives": lambda n: Case(n // 2, 2, by_views(debias.DebiasedNegativesLoss(normalize=False))),
        "fairkl": lambda n: Case(n, 1, by_views(debias.FairKLLoss(mode="authors", normalize=False),
                                                integers(n, CLASSES, 1), integers(n, CLASSES, 2))),
    }
    for name, most in (("debiased_negatives", 4.3), ("fairkl", 2.2)):
        made = {n: cases_by_size[name](n) for n in sizes}
        losses = {n: (case.ours, case.rows("ours")) for n, case in made.items()}
        timed(losses, 1)
        medians = timed(losses, arguments.rounds or 9)
        ratios = [medians[2 * n] / medians[n] for n in sizes[:-1]]
        rows, times, costs = (", ".join(cells) for cells in (map(str, sizes), (f"{medians[n]:.2f}" for n in sizes), (f"{r:.2f}" for r in ratios)))
        verdict = "met" if max(ratios) <= most else "missed"
        yield f"{name}: n = {rows} rows take {times} ms; n -> 2n costs {costs} times (at most {most}): {verdict}"


HEADER = ["loss", "rows", "implementation", "ms", "times ours", "peak MiB", "at least", "aim", "verdict"]


def print_row(row, markdown):
    if markdown:
        print("| " + " | ".join(row) + " |", flush=True)
    else:
        print(f"{row[0]:25} {row[1]:>6} {row[2]:24}" + "".join(f"{cell:>11}" for cell in row[3:]), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--small", action="store_true", help="small batches: does it run, not how fast is it")
    parser.add_argument("--only", nargs="+", metavar="CASE")
    parser.add_argument("--rounds", type=int, help="of each case (default: its own number)")
    parser.add_argument("--no-compile", action="store_true")
    parser.add_argument("--no-memory", action="store_true")
    parser.add_argument("--markdown", action="store_true")
    parser.add_argument("--batches", nargs="+", type=int, metavar="N", help="small batches of N rows alone")
    parser.add_argument("--threads", type=int, default=THREADS)
    parser.add_argument("--peak", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    if arguments.batches:
        for row in itertools.chain((["loss", "rows", "ours, µs", "expert, µs", "times ours"], ["---"] * 5), batches(arguments)):
            print_row(row, True)
        return 0
    known = cases(*((256, 64, 512) if arguments.small else (2048, 512, 8192)))
    chosen = arguments.only or [*known, "growth"]
    if unknown := [name for name in chosen if name not in known and name != "growth"]:
        parser.error(f"unknown case {unknown[0]!r}; there are {', '.join(map(repr, [*known, 'growth']))}")
    if arguments.peak:
        return print_peak(known[chosen[0]](), arguments.peak)
    tabled = [name for name in chosen if name != "growth"]
    if tabled:
        print_row(HEADER, arguments.markdown)
    if tabled and arguments.markdown:
        print("|" + "---|" * len(HEADER))
    for name in tabled:
        for row in compare(name, known[name](), arguments):
            print_row(row, arguments.markdown)
    if "growth" in chosen:
        print()
        for line in growth(arguments):
            print(line, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
