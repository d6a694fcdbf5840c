#!/usr/bin/env python3
"""scripts/compare_losses.py [--small] [--only CASE ...] [--rounds R] [--no-compile] [--markdown]: our losses against others, in one process.

Each case is timed forward and backward on unit rows, fp32, two threads, all implementations in turn in every round; the table has medians.
Cases in bf16 give ours the rows in bfloat16 and the others the same rounded values in fp32, or autocast where the name says so.
Rivals: `published`, the way the papers' code goes (the whole matrix, masks, masked_select), written plainly from the formulas; `expert`,
a dense composition without masks; `compiled`, torch.compile of it; and the losses of pytorch-metric-learning and lightly where they are
installed. Masks that do not depend on the features are made beforehand. A rival whose value or gradient differs is named and not timed.
Peak memory beyond the input is that of one evaluation in a fresh process. Case `growth` prints what twice the rows cost us.
Needs the Python package: make test-python.
"""

import argparse
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

THREADS, D, CLASSES = 2, 128, 10


def unit_rows(views, samples, seed=0):
    """[V, B, D], views of a sample nearer to each other than to other samples."""
    generator = torch.Generator().manual_seed(seed)
    centre = torch.randn(samples, D, generator=generator)
    z = centre + torch.randn(views, samples, D, generator=generator)
    return F.normalize(z, dim=-1).requires_grad_()


def integers(samples, high, seed):
    return torch.randint(high, (samples,), generator=torch.Generator().manual_seed(seed))


# Published forms: out [n, D] view-major, t the temperature.


def negative_mask(samples):
    mask = torch.ones(2 * samples, 2 * samples, dtype=torch.bool)
    rows = torch.arange(2 * samples)
    mask[rows, rows] = False
    mask[rows, (rows + samples) % (2 * samples)] = False
    return mask


def published_parts(z, t, mask):
    out = z.reshape(-1, D)
    negatives = torch.exp(out @ out.t() / t).masked_select(mask).view(len(out), -1)
    positive = torch.exp((z[0] * z[1]).sum(-1) / t)
    return torch.cat([positive, positive]), negatives


def published_infonce(z, mask, t=0.5):
    positive, negatives = published_parts(z, t, mask)
    return -torch.log(positive / (positive + negatives.sum(-1))).mean()


def published_debiased(z, mask, t=0.5, tau_plus=0.1):
    positive, negatives = published_parts(z, t, mask)
    count = negatives.shape[1]
    estimate = (-tau_plus * count * positive + negatives.sum(-1)) / (1 - tau_plus)
    estimate = torch.clamp(estimate, min=count * math.exp(-1 / t))
    return -torch.log(positive / (positive + estimate)).mean()


def published_hard(z, mask, t=0.5, tau_plus=0.1, beta=1.0):
    positive, negatives = published_parts(z, t, mask)
    count = negatives.shape[1]
    importance = (beta * negatives.log()).exp()
    reweighted = (importance * negatives).sum(-1) / importance.mean(-1)
    estimate = (-tau_plus * count * positive + reweighted) / (1 - tau_plus)
    estimate = torch.clamp(estimate, min=count * math.exp(-1 / t))
    return -torch.log(positive / (positive + estimate)).mean()


def rank_weights(fraction, tau_plus, alpha, beta):
    """From the empirical distribution of the negatives' scores to their weights, with the constants of the released code."""
    tau_minus = 1 - tau_plus
    a = (1 - 2 * alpha) * (tau_minus - tau_plus) + 1e-3
    b = 2 * (alpha * tau_minus + (1 - alpha) * tau_plus)
    phi = (-b + torch.sqrt(b * b + 4 * a * fraction)) / (2 * a)
    low, high = 2 * (1 - phi), 2 * phi
    true = alpha * low + (1 - alpha) * high
    false = (1 - alpha) * low + alpha * high
    hard = (alpha * (1 - beta) * low + (1 - alpha) * beta * high) / (alpha * (1 - beta) + (1 - alpha) * beta + 1e-3)
    return hard / (tau_minus * true + tau_plus * false)


def published_bayesian(z, mask, t=0.5, tau_plus=0.1, alpha=0.7, beta=0.9):
    positive, negatives = published_parts(z, t, mask)
    with torch.no_grad():
        fraction = (negatives.unsqueeze(1) <= negatives.unsqueeze(2)).float().mean(-1)
        weights = rank_weights(fraction, tau_plus, alpha, beta)
    return -torch.log(positive / (positive + (weights * negatives).sum(-1))).mean()


def class_masks(labels, views=2):
    same = (labels[:, None] == labels[None, :]).float().repeat(views, views)
    others = 1 - torch.eye(len(same))
    return same * others, others, 1 - same


def published_supcon(z, masks, t=0.1):
    positives, others, _ = masks
    out = z.reshape(-1, D)
    logits = out @ out.t() / t
    logits = logits - logits.max(dim=1, keepdim=True).values.detach()
    log_prob = logits - torch.log((torch.exp(logits) * others).sum(1, keepdim=True))
    return -((positives * log_prob).sum(1) / positives.sum(1)).mean()


def published_eps_supinfonce(z, masks, t=0.1, epsilon=0.25):
    positives, _, negatives = masks
    out = z.reshape(-1, D)
    logits = out @ out.t() / t
    logits = logits - logits.max(dim=1, keepdim=True).values.detach()
    exponentials = torch.exp(logits)
    log_prob = logits - torch.log(torch.exp(logits - epsilon) + (exponentials * negatives).sum(1, keepdim=True))
    return -((positives * log_prob).sum(1) / positives.sum(1)).mean()


def published_fairkl(z, masks, kld=1.0):
    out = z.reshape(-1, D)
    gram = out @ out.t()
    parts = [gram * mask for mask in masks]
    means = [part.sum() / mask.sum().clamp(min=1) for part, mask in zip(parts, masks)]
    deviations = [part.std() for part in parts]
    return fairkl_of(means, deviations, kld)


def fairkl_of(means, deviations, kld):
    (pa, pc, na, nc), (spa, spc, sna, snc) = means, deviations
    return (pc - pa) ** 2 + (na - nc) ** 2 + kld * ((spa - spc) ** 2 + (sna - snc) ** 2) - pc + na


def fairkl_masks(labels, bias):
    same, aligned = labels[:, None] == labels[None, :], bias[:, None] == bias[None, :]
    return [same & aligned, same & ~aligned, ~same & aligned, ~same & ~aligned]


# Expert forms: no mask and no select. Rows have norm 1, so that 1/t is the greatest exponent and no maximum need be searched.


def expert_parts(z, t):
    out = z.reshape(-1, D)
    exponentials = torch.addmm(torch.tensor(-1 / t), out / t, out.t()).exp_()
    log_positive = ((z[0] * z[1]).sum(-1) / t - 1 / t).repeat(2)
    return exponentials, log_positive, log_positive.exp()


def expert_infonce(z, t=0.5):
    exponentials, log_positive, _ = expert_parts(z, t)
    return (torch.log(exponentials.sum(1) - exponentials.diagonal()) - log_positive).mean()


def expert_debiased(z, t=0.5, tau_plus=0.1):
    exponentials, log_positive, positive = expert_parts(z, t)
    count = len(exponentials) - 2
    negatives = exponentials.sum(1) - exponentials.diagonal() - positive
    estimate = ((negatives - tau_plus * count * positive) / (1 - tau_plus)).clamp(min=count * math.exp(-2 / t))
    return (torch.log(positive + estimate) - log_positive).mean()


def expert_hard(z, t=0.5, tau_plus=0.1):  # beta = 1: the weights are the exponentials themselves
    exponentials, log_positive, positive = expert_parts(z, t)
    count, own = len(exponentials) - 2, exponentials.diagonal()
    weights = exponentials.sum(1) - own - positive
    weighted = exponentials.square().sum(1) - own.square() - positive.square()
    estimate = ((count * weighted / weights - tau_plus * count * positive) / (1 - tau_plus)).clamp(min=count * math.exp(-2 / t))
    return (torch.log(positive + estimate) - log_positive).mean()


def expert_bayesian(z, t=0.5, tau_plus=0.1, alpha=0.7, beta=0.9):
    exponentials, log_positive, positive = expert_parts(z, t)
    n, samples = len(exponentials), z.shape[1]
    with torch.no_grad():  # by rank, with the row itself and its partner put last and left without weight
        rows = torch.arange(n)
        keys = exponentials.clone()
        keys[rows, rows] = keys[rows, (rows + samples) % n] = math.inf
        by_rank = rank_weights(torch.arange(1, n - 1) / (n - 2), tau_plus, alpha, beta)
        weights = torch.empty_like(keys).scatter_(1, keys.argsort(1), F.pad(by_rank, (0, 2)).expand(n, n))
    return (torch.log(positive + (weights * exponentials).sum(1)) - log_positive).mean()


def expert_supcon(z, labels, t=0.1):
    out, y = z.reshape(-1, D), labels.repeat(2)
    exponentials = torch.addmm(torch.tensor(-1 / t), out / t, out.t()).exp_()
    sums = torch.zeros(CLASSES, D).index_add(0, y, out)
    counts = torch.bincount(y, minlength=CLASSES)[y] - 1
    positives = ((out * sums[y]).sum(1) - (out * out).sum(1)) / (t * counts)
    return (torch.log(exponentials.sum(1) - exponentials.diagonal()) + 1 / t - positives).mean()


def expert_eps_supinfonce(z, labels, t=0.1, epsilon=0.25):
    out, y = z.reshape(-1, D), labels.repeat(2)
    out = out[y.argsort()]
    total, first = 0, 0
    for rows in out.split(torch.bincount(y).tolist()):  # class by class: the positives of a class are a block
        size = len(rows)
        scores = torch.addmm(torch.tensor(-1 / t), rows / t, out.t())
        exponentials, own_scores = scores.exp(), scores.narrow(1, first, size)
        own = exponentials.narrow(1, first, size)
        negatives = (exponentials.sum(1) - own.sum(1)).unsqueeze(1)
        terms = torch.log(own * math.exp(-epsilon) + negatives) - own_scores
        total = total + (terms.sum() - terms.diagonal().sum()) / (size - 1)
        first += size
    return total / len(out)


def expert_fairkl(z, groups, kld=1.0):
    """groups: one-hot [n, L*G] of (label, bias), and the four sets of pairs of groups."""
    member, sets = groups
    out = z.reshape(-1, D)
    gram = out @ out.t()
    sums, squares = member.t() @ gram @ member, member.t() @ gram.square() @ member
    sizes, entries, means, deviations = member.sum(0), len(out) ** 2, [], []
    for chosen in sets:
        total, count = sums[chosen].sum(), torch.outer(sizes, sizes)[chosen].sum()
        means.append(total / count)
        deviations.append(((squares[chosen].sum() - total * total / entries) / (entries - 1)).sqrt())
    return fairkl_of(means, deviations, kld)


def one_hot_groups(labels, bias):
    member = F.one_hot(labels * CLASSES + bias, CLASSES * CLASSES).float()
    label, value = torch.arange(CLASSES**2) // CLASSES, torch.arange(CLASSES**2) % CLASSES
    return member, fairkl_masks(label, value)


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


def cases(small):
    """{name: function that makes the case}; masks are made with it."""
    b, b_rank, b_fair = (256, 64, 512) if small else (2048, 512, 8192)
    options = {"normalize": False}

    def two_views(loss, published, expert, targets, samples=b, **more):
        mask = negative_mask(samples)
        return Case(samples, 2, by_views(loss), {"published": lambda z: published(z, mask), "expert": expert}, targets, **more)

    def by_class(loss, published, expert, targets):
        labels = integers(b, CLASSES, 1)
        masks = class_masks(labels)
        return Case(b, 2, by_views(loss, labels), {"published": lambda z: published(z, masks), "expert": lambda z: expert(z, labels)}, targets)

    def fair():
        labels, bias = integers(b_fair, CLASSES, 1), integers(b_fair, CLASSES, 2)
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


def resident(field_name):
    with open("/proc/self/status", encoding="ascii") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith(field_name))


def print_peak(case, name):
    """The child's part: bytes beyond the input that one evaluation takes at most."""
    loss = case.ours if name == "ours" else case.rivals[name]
    z = case.rows(name)
    small = unit_rows(2, 16)
    step(by_views(debias.InfoNCELoss()), small)  # threads and code
    with open("/proc/self/clear_refs", "w", encoding="ascii") as clear:
        clear.write("5")
    before = resident("VmRSS")
    step(loss, z)
    print(json.dumps(resident("VmHWM") - before))


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
    parser.add_argument("--peak", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    torch.set_num_threads(THREADS)
    known = cases(arguments.small)
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
