"""losses.py [--device cuda | cpu] [--seconds S]: every loss of the Python package on a device, within S seconds.

For each: value and gradient in float32 against float64 on the CPU, under autocast in bfloat16 and float16, and of torch.compile; waits of the host
during forward and backward. Then time and peak memory at 4,096, 16,384 and 65,536 rows beside the dense composition; TwoTowerLoss and CachedStep
beside CLIP's loss; and the kernels, copies and waits of a training step. Exit 1 if a value is wrong; what time does not allow is said.
"""

import argparse
import math
import pathlib
import sys
import sysconfig
import time
import warnings

import torch
import torch.nn.functional as F

import debias

APART = {torch.float32: 1e-4, torch.bfloat16: 5e-2, torch.float16: 1e-2}  # of the largest entry
given = argparse.ArgumentParser()
given.add_argument("--device", default="cuda")
given.add_argument("--seconds", type=float, default=90)
given = given.parse_args()
device, end, failed = torch.device(given.device), time.monotonic() + given.seconds, []
on_gpu = device.type == "cuda"


def synchronise():
    if on_gpu:
        torch.cuda.synchronize()


def apart(found, exact):
    return ((found.detach().cpu().double() - exact).abs().max() / exact.abs().max().clamp(min=1e-6)).item()


def waits(function):
    """How often the host waited for the device."""
    if not on_gpu:
        return None
    synchronise()
    torch.cuda.set_sync_debug_mode("warn")
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            function()
        return sum("synchroniz" in str(one.message) for one in caught)
    finally:
        torch.cuda.set_sync_debug_mode("default")


def rows(count, views=2, width=64, dtype=torch.float64):
    generator = torch.Generator().manual_seed(count)
    centre = torch.randn(count, 1, width, generator=generator, dtype=dtype)
    return F.normalize(centre + torch.randn(count, views, width, generator=generator, dtype=dtype), dim=-1)


def called(entry, loss, z):
    """The loss of z [B, V, D], or of its first view's entries as logits."""
    count = z.shape[0]
    labels, bias = (torch.arange(count, device=z.device) % 5), torch.arange(count, device=z.device) // 2 % 3
    if entry["kind"] == "logits":
        return loss(4 * z[:, 0, :5], labels, *([bias] if entry["needs_bias"] else []))
    if entry["min_views"] == 2:
        return loss(z, labels=labels) if entry["needs_labels"] else loss(z)
    more = {"weights": F.one_hot(bias, 3).to(z.dtype) + 0.05} if entry["takes_bias_features"] else {}
    return loss(z, labels, *([bias] if entry["needs_bias"] or more else []), **more)


def gradient(entry, loss, z):
    z = z.clone().requires_grad_()
    value = called(entry, loss, z)
    value.backward()
    return value.detach(), z.grad


def check(entry):
    name, line = entry["name"], []
    loss = getattr(debias, debias.class_name(name))()
    exact = gradient(entry, loss, rows(60))
    z = rows(60).to(device, torch.float32)
    for way in ("float32", "bfloat16", "float16", "compiled"):
        if way == "float16" and not on_gpu:
            continue
        dtype = getattr(torch, way, torch.float32)
        function = loss
        if way == "compiled":
            if not compiles or time.monotonic() > end - given.seconds / 3:
                line.append("compiled not tried")
                continue
            function = torch.compile(loss)
        try:
            with torch.autocast(device.type, dtype=dtype if dtype != torch.float32 else torch.bfloat16, enabled=dtype != torch.float32):
                found = gradient(entry, function, z.to(dtype))
            worst = max(apart(one, two) for one, two in zip(found, exact))
            line.append(f"{way} {worst:.1e}")
            if not worst < APART[dtype]:
                failed.append(f"{name} {way} {worst:.1e}")
        except Exception as error:  # one loss does not end the others
            failed.append(f"{name} {way}: {str(error).splitlines()[0][:100]}")
    found = waits(lambda: gradient(entry, loss, z))
    print(f"{name:<28}{', '.join(line)}, waits {found}", flush=True)


def timed(function, rounds=5):
    """Median seconds and the bytes beyond what was there."""
    function()
    synchronise()
    before = torch.cuda.memory_allocated() if on_gpu else 0
    if on_gpu:
        torch.cuda.reset_peak_memory_stats()
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        function()
        synchronise()
        times.append(time.perf_counter() - start)
    return sorted(times)[rounds // 2], (torch.cuda.max_memory_allocated() - before if on_gpu else math.nan)


def dense_infonce(z0, z1):
    z = torch.cat([F.normalize(z0, dim=-1), F.normalize(z1, dim=-1)])
    similarity = (z @ z.T / 0.5).fill_diagonal_(-math.inf)
    count = len(z0)
    return F.cross_entropy(similarity, torch.cat([torch.arange(count), torch.arange(count)]).to(z.device) + torch.cat(
        [torch.full((count,), count), torch.zeros(count, dtype=torch.int64)]).to(z.device))


def clip(z, w, scale):
    similarity, own = scale * F.normalize(z, dim=-1) @ F.normalize(w, dim=-1).T, torch.arange(len(z), device=z.device)
    return (F.cross_entropy(similarity, own) + F.cross_entropy(similarity.T, own)) / 2


def sizes():
    options = {"debiased_negatives": {"tau_plus": 0.1}, "hard_negatives": {"tau_plus": 0.1}}
    for count in (4096, 16384, 65536) if on_gpu else (512,):
        z = rows(count, 2, 128, torch.float32).to(device)
        a, b = z[:, 0].contiguous().requires_grad_(), z[:, 1].contiguous().requires_grad_()
        ways = {"dense infonce": dense_infonce, **{name: getattr(debias, debias.class_name(name))(temperature=0.5, **options.get(name, {}))
                                                  for name in ("infonce", "debiased_negatives", "hard_negatives")}}
        ways["CLIP"], tower = (lambda x, y: clip(x, y, 10.0)), debias.TwoTowerLoss("infonce")
        ways["TwoTowerLoss"] = lambda x, y: tower(x, y, logit_scale=torch.tensor(10.0, device=device))
        for name, loss in ways.items():
            if time.monotonic() > end:
                print(f"{count} rows, {name}: not tried, no time left")
                continue
            try:
                seconds, memory = timed(lambda: torch.autograd.grad(loss(a, b), (a, b)))
                print(f"{count:>6} rows, {name:<20}{1e3 * seconds:>9.2f} ms{memory / 2**20:>10.1f} MiB", flush=True)
            except RuntimeError as error:
                print(f"{count:>6} rows, {name:<20}{str(error).splitlines()[0][:90]}")
                if on_gpu:
                    torch.cuda.empty_cache()


def step_profile():
    encoder = torch.nn.Sequential(torch.nn.Linear(256, 512), torch.nn.ReLU(), torch.nn.Linear(512, 128)).to(device)
    optimizer, loss = torch.optim.Adam(encoder.parameters(), fused=on_gpu), debias.HardNegativesLoss(temperature=0.5, tau_plus=0.1)
    x = torch.randn(2, 1024, 256, device=device)

    def step():
        optimizer.zero_grad()
        loss(encoder(x[0]), encoder(x[1])).backward()
        optimizer.step()

    def cached():
        optimizer.zero_grad()
        debias.CachedStep(encoder, loss, chunk=256)(x[0], x[1]).backward()
        optimizer.step()

    for name, one in (("step", step), ("CachedStep, chunks of 256", cached)):
        try:
            seconds, memory = timed(one)
        except Exception as error:
            failed.append(f"{name}: {str(error).splitlines()[0][:100]}")
            continue
        print(f"{name}: {1e3 * seconds:.2f} ms, {memory / 2**20:.1f} MiB, waits {waits(one)}")
    if on_gpu:
        with torch.profiler.profile(activities=list(torch.profiler.supported_activities())) as profile:
            step()
            synchronise()
        kinds = [event.name for event in profile.events() if event.device_type == torch.autograd.DeviceType.CUDA]
        copies = sum("Memcpy" in name for name in kinds)
        print(f"step: {len(kinds) - copies} kernels, {copies} copies")
        print(profile.key_averages().table(sort_by="self_device_time_total", row_limit=12))


compiles = pathlib.Path(sysconfig.get_path("include"), "Python.h").exists()
if not compiles:
    print("torch.compile is not tried: what it writes is built with Python.h, which is missing here (package python3-dev)")
print(f"torch {torch.__version__}, {torch.cuda.get_device_name() if on_gpu else 'cpu'}")
for entry in debias.objectives():
    try:
        check(entry)
    except Exception as error:
        failed.append(f"{entry['name']}: {type(error).__name__}: {str(error).splitlines()[0][:120]}")
step_profile()
sizes()
print(f"failed: {len(failed)}", *failed, sep="\n  ")
sys.exit(bool(failed))
