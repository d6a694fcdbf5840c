"""Sums by groups of rows against sums over all pairs, with the compiled engine and with PyTorch in its place; and which are taken."""

import contextlib

import pytest
import torch

from debias import _engine, plain
from settings import FAKE_CUDA, TABLE, loss_of

FAIRKL = [{"mode": mode, "empty": empty} for mode in ("authors", "mean", "stats", "kl", "jeffreys") for empty in ("auto", "skip", "zero")]
FAIRKL += [{**one, "pooling": "anchor"} for one in FAIRKL if one["mode"] != "authors"]
FAIRKL += [{"variant": "paper"}, {"kld": 0}]
END = [{"full_pairs": True, "alpha": 2}, {"beta": 0.5}]
WITHOUT_ENGINE = pytest.mark.skipif(not _engine.AVAILABLE, reason="no compiled engine")


@pytest.fixture(params=[pytest.param(True, id="engine", marks=WITHOUT_ENGINE), pytest.param(False, id="torch")])
def engine(request, monkeypatch):
    """Whether there is a compiled engine."""
    monkeypatch.setattr(_engine, "AVAILABLE", request.param)
    return request.param


def rows(samples, views, width, dtype=torch.float64):
    generator = torch.Generator().manual_seed(samples + views)
    z = torch.randn(samples, views, width, generator=generator, dtype=torch.float64) + 0.3
    return torch.nn.functional.normalize(z, dim=-1).to(dtype)


def keys(samples, kind):
    """Labels and bias labels."""
    generator = torch.Generator().manual_seed(samples)
    drawn = lambda values: torch.randint(values, (samples,), generator=generator)
    return {"few": lambda: (drawn(3), drawn(2)),
            "unknown": lambda: (drawn(4) - 1, drawn(4) - 1),
            "large": lambda: (drawn(3) << 61, drawn(3) << 60),
            "one group": lambda: (drawn(1), drawn(1)),
            "groups of a row": lambda: (torch.arange(samples), torch.arange(samples).flip(0)),
            "no label": lambda: (drawn(1) - 1, drawn(3))}[kind]()


def evaluated(name, options, z, labels, bias, **how):
    """The result, and the gradient of its value."""
    z = z.clone().requires_grad_()
    result = plain.evaluated(TABLE[name], loss_of(name, **options).options, plain.Call(z, labels, bias, temperature=0.1, **how))
    return result, torch.autograd.grad(result.value, z)[0] if result.value.requires_grad else torch.zeros_like(z)


def assert_same(found, expected, case):
    for got, want in ((found[0].value, expected[0].value), (found[0].per_anchor, expected[0].per_anchor), (found[1], expected[1])):
        scale = want.detach().nan_to_num().abs().max().item()
        torch.testing.assert_close(got.detach(), want.detach(), rtol=1e-9, atol=1e-9 * scale + 1e-13, equal_nan=True,
                                   msg=lambda text: f"{case}: {text}")
    assert found[0].measured.numbers() == expected[0].measured.numbers(), case


@pytest.mark.parametrize("kind", ["few", "unknown", "large", "one group", "groups of a row", "no label"])
@pytest.mark.parametrize("samples, views, width", [(4, 1, 3), (7, 2, 3), (60, 1, 16), (150, 2, 33)])
def test_sums_by_groups_are_those_over_all_pairs(engine, kind, samples, views, width):
    z, (labels, bias) = rows(samples, views, width), keys(samples, kind)
    for name, options in [("fairkl", one) for one in FAIRKL] + [("end", one) for one in END]:
        if name == "end" and not engine and not options.get("full_pairs"):
            continue  # half of the pairs go by groups in the engine alone
        found, expected = (evaluated(name, options, z, labels, bias, engine=way) for way in ("fused", "dense"))
        assert found[0].measured.engine == "fused" and expected[0].measured.engine != "fused"
        assert_same(found, expected, (name, options))


@pytest.mark.parametrize("kind", ["few", "unknown", "large", "one group", "groups of a row"])
@pytest.mark.parametrize("samples, views", [(4, 1), (7, 2), (150, 2)])
def test_positives_of_biascon_are_those_of_all_pairs(engine, kind, samples, views):
    z, (labels, bias) = rows(samples, views, 8), keys(samples, kind)
    result, gradient = evaluated("biascon", {}, z, labels, bias)
    own = z.clone().requires_grad_()
    s = (flat := own.transpose(0, 1).flatten(0, 1)) @ flat.T / 0.1
    y, b, sample = labels.repeat(views), bias.repeat(views), torch.arange(samples).repeat(views)
    alike = (b[:, None] == b) & (b >= 0) | (sample[:, None] == sample)
    positive = (y[:, None] == y) & (y >= 0)[:, None] & ~alike
    others = s.masked_fill(torch.eye(len(s), dtype=torch.bool), -torch.inf).logsumexp(1)
    losses = torch.where(positive.any(1), others - (s * positive).sum(1) / positive.sum(1).clamp_min(1), 0)
    torch.testing.assert_close(result.per_anchor, losses, rtol=1e-9, atol=1e-11)
    torch.testing.assert_close(gradient, torch.autograd.grad(losses.mean(), own)[0], rtol=1e-9, atol=1e-12)


def test_float32_rows_have_double_sums(engine):
    """One conflicting row among hundreds of aligned ones: in single precision the differences of sums would be lost."""
    labels, bias = torch.arange(600) % 2, torch.arange(600) % 2
    bias[:2] = 1 - bias[:2]
    near = torch.nn.functional.normalize(0.1 * rows(600, 1, 4) + 1, dim=-1).float()
    for name, options, z, tolerance in [("fairkl", {"mode": "stats"}, rows(600, 1, 4, torch.float32), 1e-7),
                                        ("fairkl", {"mode": "mean", "pooling": "anchor"}, rows(600, 1, 4, torch.float32), 1e-7),
                                        ("end", {"full_pairs": True}, rows(600, 1, 4, torch.float32), 1e-7),
                                        ("biascon", {}, near, 3e-6)]:  # the sum over all keys is of single precision
        (found, gradient), (expected, exact) = (evaluated(name, options, one, labels, bias) for one in (z, z.double()))
        assert found.value.dtype == torch.float32 and gradient.dtype == torch.float32
        for got, want in ((found.value, expected.value), (found.per_anchor, expected.per_anchor), (gradient, exact)):
            assert (got.double() - want).abs().max() <= tolerance * want.abs().max(), (name, options)


def test_unknown_rows_are_in_no_set(engine):
    z, (labels, bias) = rows(60, 1, 3), keys(60, "unknown")
    known = (labels >= 0) & (bias >= 0)
    for options in ({"mode": "kl"}, {"mode": "kl", "pooling": "anchor"}):
        for way in ("fused", "dense"):
            every, some = (evaluated("fairkl", options, *given, engine=way)[0]
                           for given in ((z, labels, bias), (z[known], labels[known], bias[known])))
            torch.testing.assert_close(every.value, some.value)
            torch.testing.assert_close(every.per_anchor[known], some.per_anchor)
            assert every.per_anchor[~known].isnan().all()
            assert every.measured.numbers()[1:] == some.measured.numbers()[1:]


def taken(name, options, z, labels, bias, **how):
    measured = evaluated(name, options, z, labels, bias, **how)[0].measured
    return measured.engine


def test_groups_are_taken_where_they_cost_less_than_pairs(engine):
    labels, bias = keys(300, "few")
    wide, narrow = rows(300, 1, 310), rows(300, 1, 300)
    assert taken("fairkl", {}, wide, labels, bias) == "dense"
    assert taken("fairkl", {}, narrow, labels, bias) == "fused"
    budget = 6 * 2 * 8 * 300 * 300  # of six groups
    assert taken("fairkl", {}, narrow, labels, bias, memory_budget=budget) == "fused"
    assert taken("fairkl", {}, narrow, labels, bias, memory_budget=budget - 1) == "dense"
    labels[0] = -1  # one row less than dimensions
    assert taken("fairkl", {}, narrow, labels, bias) == "dense"
    for name in ("fairkl", "end"):
        assert taken(name, {}, narrow, labels, bias, engine="dense") == "dense"
        assert taken(name, {}, narrow, labels, bias, engine="blocked") == "blocked"
    assert taken("fairkl", {"mode": "lognormal"}, narrow, labels, bias) == "dense"
    assert taken("end", {"full_pairs": True}, wide, labels, bias) == "fused"
    assert taken("end", {}, wide, labels, bias) == ("fused" if engine else "dense")


def test_many_small_groups_are_left_to_pairs_without_an_engine(engine):
    labels, bias = torch.arange(64) % 8, torch.arange(64) // 8
    assert taken("fairkl", {}, rows(64, 1, 4), labels, bias) == ("fused" if engine else "dense")
    assert taken("fairkl", {}, rows(64, 1, 4), labels // 8, bias // 8) == "fused"


def test_what_the_fused_backend_cannot_do_is_said(engine):
    z, (labels, bias) = rows(40, 1, 4), keys(40, "few")
    weights = torch.rand(40, 3) + 0.1
    for options, given, what in (({"mode": "lognormal"}, {}, "mode lognormal"), ({}, {"weights": weights}, "a continuous bias")):
        message = f"fairkl: {what} needs every pair, but the fused backend sums over groups; give engine dense or auto"
        with pytest.raises(ValueError, match=message):
            evaluated("fairkl", options, z, labels, bias, engine="fused", **given)
    if not engine:
        with pytest.raises(ValueError, match="end: there is no fused backend here"):
            evaluated("end", {}, z, labels, bias, engine="fused")
    loss = loss_of("fairkl", engine="fused")
    with pytest.raises(ValueError, match="fairkl: there is no fused backend here"):
        torch.func.grad(lambda rows: loss(rows, labels, bias))(z)


TRANSFORMED = [("fairkl", {}), ("fairkl", {"mode": "kl", "pooling": "anchor"}), ("end", {}), ("end", {"full_pairs": True}), ("biascon", {})]


@pytest.mark.parametrize("name, options", TRANSFORMED)
def test_transforms_and_graphs_have_the_same_values(engine, name, options):
    z, (labels, bias) = rows(30, 1, 4), keys(30, "unknown")
    result, gradient = evaluated(name, options, z, labels, bias)
    loss = loss_of(name, **options)

    def value(z):
        result = plain.evaluated(TABLE[name], loss.options, plain.Call(z, labels, bias, temperature=0.1))
        assert result.measured.engine != "fused" or options == {"full_pairs": True}
        return result.value

    torch.testing.assert_close(torch.func.grad(value)(z), gradient, rtol=1e-9, atol=1e-13)
    torch.testing.assert_close(torch.compile(value, backend="eager", fullgraph=True)(z), result.value.detach(), rtol=1e-9, atol=1e-13)


@pytest.mark.parametrize("name, options", TRANSFORMED)
def test_nothing_is_read_on_a_device(name, options):
    """No device is here: tensors without data, which say where they would be."""
    from torch._subclasses.fake_tensor import FakeTensorMode
    for device, mode in (*((("cuda", FakeTensorMode()),) if FAKE_CUDA else ()), ("cpu", FakeTensorMode()), ("meta", contextlib.nullcontext())):
        with mode:
            labels = torch.zeros(30, dtype=torch.int64, device=device)
            assert loss_of(name, **options)(torch.empty(30, 4, device=device), labels, labels).device.type == device


def test_second_derivatives(engine):
    z, (labels, bias) = rows(12, 1, 3)[:, 0], keys(12, "few")
    for options in ({}, {"mode": "kl"}, {"pooling": "anchor"}):
        loss = loss_of("fairkl", engine="fused", **options)
        message = "the fused backend of this regulariser has no second derivative; compute it with engine dense"
        with pytest.raises(ValueError, match=message):
            torch.autograd.grad(loss(z.requires_grad_(), labels, bias), z, create_graph=True)
        loss.engine = "dense"
        assert torch.autograd.grad(loss(z, labels, bias), z, create_graph=True)[0].requires_grad
    for name, options in (("end", {}), ("end", {"full_pairs": True}), ("biascon", {})):
        loss = loss_of(name, **options)
        assert torch.autograd.gradgradcheck(lambda rows: loss(rows, labels, bias), z)


@WITHOUT_ENGINE
def test_threads_share_groups():
    z, (labels, bias) = rows(150, 2, 33), keys(150, "unknown")
    threads = torch.get_num_threads()
    try:
        for name, options in (("fairkl", {"mode": "kl"}), ("fairkl", {"mode": "kl", "pooling": "anchor"}), ("end", {})):
            results = []
            for count in (1, 3):
                torch.set_num_threads(count)
                results.append(evaluated(name, options, z, labels, bias, engine="fused"))
            assert_same(*results, (name, options))
    finally:
        torch.set_num_threads(threads)
