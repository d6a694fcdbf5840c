"""Every objective, in every form, against loops over pairs of rows."""

import math

import pytest
import torch

import naive
from debias import plain
from settings import KEYED, NAMES, SETTINGS, TABLE, given, keyed, loss_of

ENGINES = ("dense", "blocked")


def plainly(name, options, z, labels=None, bias=None, weights=None, engine="dense", budget=1 << 12, **keys):
    """The plain half's result; the budget makes blocks of a few rows."""
    loss = loss_of(name, **options)
    call = plain.Call(z, labels, bias, weights, engine="dense" if TABLE[name]["kind"] == "logits" else engine, memory_budget=budget, **keys)
    return plain.evaluated(TABLE[name], loss.options, call)


def as_lists(values):
    return {what: tensor.tolist() for what, tensor in values.items() if tensor is not None}


def looped(name, options, values, keys=None):
    lists = as_lists(values)
    of_keys = keys and tuple(keys[what].tolist() if keys[what] is not None else None
                             for what in ("keys", "ids", "key_ids", "key_labels", "positives"))
    return naive.evaluated(TABLE[name], loss_of(name, **options).options, lists["z"], lists["labels"], lists["bias"], lists.get("weights"),
                           of_keys)


def agree(result, expected, what):
    value, losses = expected
    assert abs(result.value.item() - value) <= 1e-10 * max(1, abs(value)), (what, result.value.item(), value)
    if losses is not None:
        torch.testing.assert_close(result.per_anchor, torch.tensor(losses, dtype=torch.float64), rtol=1e-10, atol=1e-10, equal_nan=True,
                                   msg=lambda text: f"{what}: {text}")


def cases(name):
    least = TABLE[name]["min_views"]
    return [1] if TABLE[name]["kind"] == "logits" else [views for views in (1, 2, 3) if views >= least]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name, views", [(name, views) for name in NAMES for views in cases(name)])
def test_values_and_losses_of_anchors_are_those_of_loops(name, views, engine):
    for options in SETTINGS[name]:
        for samples in (7, 2):
            values = given(name, views, samples)
            agree(plainly(name, options, **values, engine=engine), looped(name, options, values), (options, samples))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("views", [1, 2])
def test_fairkl_with_bias_features(views, engine):
    for options in SETTINGS["fairkl"] + [{"mode": mode, "normaliser": "batch"} for mode in ("authors", "mean", "stats", "kl")]:
        values = given("fairkl", views, weighted=True)
        agree(plainly("fairkl", options, **values, engine=engine), looped("fairkl", options, values), options)


@pytest.mark.parametrize("mode", ["authors", "mean", "stats", "kl", "jeffreys", "lognormal"])
def test_one_hot_features_are_bias_labels(mode):
    values = given("fairkl", 2)
    values["bias"] = torch.tensor([0, 1, 2, 1, 0, 0, 2])
    by_label = plainly("fairkl", {"mode": mode}, **values)
    one_hot = plainly("fairkl", {"mode": mode}, values["z"], values["labels"], weights=torch.eye(3).double()[values["bias"]])
    assert one_hot.value.item() == pytest.approx(by_label.value.item(), rel=1e-12)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("positives", [False, True])
@pytest.mark.parametrize("name", KEYED)
def test_keys_with_ids_and_labels(name, positives, engine):
    for options in SETTINGS[name]:
        if options.get("form") == "d" or (positives and TABLE[name]["min_views"] == 1 and name != "eps_infonce"):
            continue  # form d takes no keys; given positives join the keys of objectives over classes
        for views in (1, 2):
            values, keys = given(name, views, 6), keyed(6, positives)
            result = plainly(name, options, values["z"], values["labels"], engine=engine, **keys)
            agree(result, looped(name, options, values, keys), (options, views))


@pytest.mark.parametrize("name", [name for name in KEYED if TABLE[name]["min_views"] == 1])
def test_given_positives_are_keys_of_objectives_over_classes(name):
    values, keys = given(name, 1, 6), keyed(6, True)
    found = plainly(name, {}, values["z"], values["labels"], **keys)
    joined = {"keys": torch.cat([keys["positives"][:, 0], keys["keys"]]), "ids": keys["ids"],
              "key_ids": torch.cat([keys["ids"], keys["key_ids"]]), "key_labels": torch.cat([values["labels"], keys["key_labels"]])}
    expected = plainly(name, {}, values["z"], values["labels"], **joined)
    assert found.value.item() == expected.value.item()


@pytest.mark.parametrize("name", [name for name in NAMES if TABLE[name]["min_views"] == 2])
def test_one_sample_has_no_negatives(name):
    for options in SETTINGS[name]:
        values = given(name, 2, 1)
        agree(plainly(name, options, **values), looped(name, options, values), options)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", NAMES)
def test_gradients_are_those_of_finite_differences(name, engine):
    for options in SETTINGS[name]:
        if options.get("form") == "lff" or "log_eps" in options or options.get("detach_weights") or (name == "bayesian" and "detach_weights" not in options) or (
                name == "eps_supinfonce" and "variant" in options):
            continue  # constants in the formula, which finite differences would move; tested below
        values = given(name, cases(name)[-1])
        z = values.pop("z").requires_grad_()
        loss = lambda z: plainly(name, options, z, **values, engine=engine).value
        if z.requires_grad and loss(z).requires_grad:
            assert torch.autograd.gradcheck(loss, (z,), fast_mode=True), options


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name, options", [("bayesian", {"form": form, "detach_weights": True, "beta": beta})
                                           for form in ("corrected", "paper", "authors") for beta in (0.5, 0.9)]
                         + [("hard_negatives", {"detach_weights": True, "beta": 0.7})])
def test_weights_that_are_constants_pass_no_gradient(name, options, engine):
    values = given(name, 2)
    z = values["z"].clone().requires_grad_()
    found, = torch.autograd.grad(plainly(name, options, z, engine=engine).value, z)
    frozen = _weights_of(name, loss_of(name, **options).options, values["z"])
    expected, = torch.autograd.grad(_with_weights(name, loss_of(name, **options).options, z, frozen), z)
    torch.testing.assert_close(found, expected, rtol=1e-9, atol=1e-12)


def _scores(z, t):
    rows = z.transpose(0, 1).flatten(0, 1)
    sample = torch.arange(len(z)).repeat(2)
    return rows @ rows.T / t, sample[:, None] != sample, rows.roll(len(z), 0)


def _weights_of(name, o, z):
    """Each anchor's weights over its negatives, of mean 1 but for form authors."""
    s, negative, _ = _scores(z, o["temperature"])
    n, weights = 2 * len(z) - 2, torch.zeros_like(s)
    for a in range(len(s)):
        own = s[a][negative[a]]
        if name == "hard_negatives":
            w = (o["beta"] * own).exp()
        else:
            ranks = (own[None] <= own[:, None]).sum(1)
            w = plain.weighted.RankWeights(*(o[what] for what in ("form", "tau_plus", "alpha", "beta", "stabilize"))).of(ranks, torch.tensor(n)).exp()
            w = w if o["form"] == "authors" else w * (o["beta"] * own).exp()
        weights[a][negative[a]] = w if o.get("form") == "authors" else w * n / w.sum()
    return weights.detach()


def _with_weights(name, o, z, weights):
    s, _, partners = _scores(z, o["temperature"])
    rows = z.transpose(0, 1).flatten(0, 1)
    p, total, n = ((rows * partners).sum(1) / o["temperature"]).exp(), (weights * s.exp()).sum(1), 2 * len(z) - 2
    if name == "bayesian":
        return (1 + total / p).log().mean()
    g = (total / n - o["tau_plus"] * p) / (1 - o["tau_plus"])
    return (1 + n * g.clamp_min(math.exp(-1 / o["temperature"])) / p).log().mean()


def test_a_large_batch_is_walked_in_blocks_of_single_precision():
    torch.manual_seed(0)
    z = torch.nn.functional.normalize(torch.randn(700, 2, 16), dim=-1)
    for name in ("infonce", "bayesian", "supcon", "fairkl"):
        labels, bias = torch.randint(5, (700,)), torch.randint(3, (700,))
        values, gradients = [], []
        for engine, dtype in (("blocked", torch.float32), ("dense", torch.float64)):
            rows = z.to(dtype).requires_grad_()
            result = plainly(name, {}, rows, labels, bias, engine=engine, budget=1 << 28)
            assert result.measured.engine == engine
            values.append(result.value.item())
            gradients.append(torch.autograd.grad(result.value, rows)[0].double())
        assert values[0] == pytest.approx(values[1], rel=1e-5)
        torch.testing.assert_close(*gradients, rtol=1e-3, atol=1e-5 * gradients[1].abs().max().item())
