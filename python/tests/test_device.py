"""Losses of float32 rows on each device of this machine, against float64 on the CPU. GPUs are skipped where there is none."""

import math

import pytest
import torch

import debias
from settings import KEYED, NAMES, TABLE, given, keyed, loss_of
from test_values import called

CUDA = pytest.param("cuda", marks=pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU"))
APART = 1e-4  # of the largest entry: some hundred roundings of float32
SAMPLES = 60


@pytest.fixture(params=["cpu", CUDA])
def device(request):
    return request.param


def apart(found, expected):
    return ((found.cpu().double() - expected).abs().max() / expected.abs().max().clamp(min=1e-6)).item()


def rows(samples=SAMPLES, views=2, width=24):
    generator = torch.Generator().manual_seed(samples)
    centre = torch.randn(samples, 1, width, generator=generator, dtype=torch.float64)
    return torch.nn.functional.normalize(centre + torch.randn(samples, views, width, generator=generator, dtype=torch.float64), dim=-1)


def inputs_of(name):
    values = given(name, 2)
    classes = torch.arange(SAMPLES) % 5, torch.arange(SAMPLES) // 2 % 3
    z = rows()[:, 0, :5] * 4 if values["z"].dim() == 2 else rows()
    weights = values["weights"].repeat(SAMPLES, 1)[:SAMPLES] if "weights" in values else None
    return z, *classes, weights


def on(device, dtype, tensors):
    return [None if one is None else one.to(device, dtype if one.is_floating_point() else one.dtype) for one in tensors]


# Blocks are of pairs, which neither logits nor the sums of regularisers by groups have.
@pytest.mark.parametrize("name, engine", [(name, engine) for name in NAMES for engine in ("auto", "dense", "blocked")
                                          if engine != "blocked" or TABLE[name]["kind"] == "pairs"])
def test_values_and_gradients_are_those_of_float64(device, name, engine):
    results = []
    for where, dtype, way in ((device, torch.float32, engine), ("cpu", torch.float64, "dense")):
        z, *rest = on(where, dtype, inputs_of(name))
        z.requires_grad_()
        value = called(loss_of(name, engine=way), name, z, *rest)
        value.backward()
        assert value.device.type == where and z.grad.device.type == where
        results.append((value.detach(), z.grad))
    (value, gradient), (exact, exact_gradient) = results
    assert apart(value, exact) < APART and apart(gradient, exact_gradient) < APART


@pytest.mark.parametrize("name", KEYED)
def test_keys_of_a_queue(device, name):
    results = []
    for where, dtype in ((device, torch.float32), ("cpu", torch.float64)):
        values, queue = given(name, 1, 6), keyed(6, False)
        z, labels, keys, ids, key_ids, key_labels = on(where, dtype, [values["z"], values["labels"], *(queue[one] for one in (
            "keys", "ids", "key_ids", "key_labels"))])
        results.append(loss_of(name)(z, labels=labels, keys=keys, ids=ids, key_ids=key_ids, key_labels=key_labels))
    assert apart(*results) < APART


@pytest.mark.parametrize("objective, options", [("infonce", {}), ("siglip", {}), ("debiased_negatives", {"tau_plus": 0.1}),
                                                ("hard_negatives", {"tau_plus": 0.1}), ("bayesian", {"tau_plus": 0.1})])
def test_two_towers(device, objective, options):
    results = []
    for where, dtype in ((device, torch.float32), ("cpu", torch.float64)):
        towers = rows().to(where, dtype).requires_grad_()
        log_scale = torch.tensor(math.log(5), device=where, dtype=dtype, requires_grad=True)
        ids = (torch.arange(SAMPLES) // 2).to(where)
        value = debias.TwoTowerLoss(objective, **options)(towers[:, 0], towers[:, 1], ids=ids, logit_scale=log_scale.exp())
        results.append([value.detach(), *torch.autograd.grad(value, [towers, log_scale])])
    for found, exact in zip(*results):
        assert apart(found, exact) < APART


def test_cached_steps(device):
    results = []
    for where, dtype, chunk in ((device, torch.float32, 32), ("cpu", torch.float64, SAMPLES)):
        torch.manual_seed(0)
        encoder = torch.nn.Sequential(torch.nn.Linear(24, 48), torch.nn.Tanh(), torch.nn.Linear(48, 16)).double().to(where, dtype)
        views = rows().to(where, dtype).unbind(1)
        value = debias.CachedStep(encode=encoder, loss=debias.DebiasedNegativesLoss(), chunk=chunk)(*views)
        value.backward()
        results.append([value.detach(), *(one.grad for one in encoder.parameters())])
    for found, exact in zip(*results):
        assert apart(found, exact) < APART


def test_bfloat16_under_autocast(device):
    z = rows().to(device, torch.float32).requires_grad_()
    with torch.autocast(torch.device(device).type, dtype=torch.bfloat16):
        value = debias.InfoNCELoss()(z)
    value.backward()
    exact = debias.InfoNCELoss()(rows()).item()
    assert value.item() == pytest.approx(exact, rel=0.02) and z.grad.isfinite().all()


def test_metrics_and_priors(device):
    z, labels = rows().to(device, torch.float32), (torch.arange(SAMPLES) % 5)
    found = debias.metrics.knn(z[:, 0], labels.to(device), z[:, 1], k=5, temperature=0.1)
    expected = debias.metrics.knn(rows()[:, 0], labels, rows()[:, 1], k=5, temperature=0.1)
    assert (torch.as_tensor(found).cpu() == torch.as_tensor(expected)).float().mean() > 0.97
    assert debias.prior.from_views(z[:, 0], z[:, 1]).high == pytest.approx(debias.prior.from_views(*rows().unbind(1)).high, rel=1e-3)
