"""Sums in blocks with gradients in closed form, against the matrix of all pairs by automatic differentiation."""

import pytest
import torch

import debias
from debias import plain
from debias.plain.pair_sums import LogAddSum, LogSum, RankedLogSum, SetSum, pair_sums
from debias.plain.pairs import keyed_pairs, square_pairs
from debias.plain.rank_weights import RankWeights
from settings import loss_of

WEIGHTS = RankWeights("corrected", 0.1, 0.7, 1.0, True)
REQUESTS = [LogSum("unequal"), LogSum("others", 2.0, True), LogSum("equal", -1.5), LogSum("equal", by_class=True), SetSum("equal", True),
            SetSum("unequal"), LogAddSum("equal", -1, 0.3, True), LogAddSum("unequal", 1, float("inf")), RankedLogSum(WEIGHTS, 1, 1.2),
            RankedLogSum(WEIGHTS, 2, 0.5, True)]


def pairs_of(engine, keyed, temperature, ties, scale=1.0):
    torch.manual_seed(0)
    rows = torch.nn.functional.normalize(torch.randn(14, 5, dtype=torch.float64), dim=1) * scale
    keys = torch.nn.functional.normalize(torch.randn(9, 5, dtype=torch.float64), dim=1)
    if ties:
        keys[4], keys[7] = keys[1], keys[1]
        rows[3], rows[9] = rows[5], rows[5]
    rows.requires_grad_()
    labels, samples = torch.tensor([0, 1, -1, 2, 0, 1, 1]), torch.arange(7)
    call = plain.Call(rows.view(2, 7, 5).transpose(0, 1), labels, temperature=temperature, engine=engine, memory_budget=2000)
    if not keyed:
        return square_pairs(rows, samples, labels, 2, call), [rows]
    keys.requires_grad_()
    ids = torch.tensor([3, -1, 3, 0, -1, 99, 5, -1, -1])
    return keyed_pairs(rows, samples, labels, 2, call, keys, ids, torch.tensor([0, 1, 2, -1, 0, 0, 1, 7, 2])), [rows, keys]


@pytest.mark.parametrize("scale", [1.0, 40.0])  # with one shift for all rows, and with the largest of each
@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("keyed", [False, True])
def test_values_and_gradients_are_those_of_the_matrix(keyed, ties, scale):
    found = []
    for engine in ("blocked", "dense"):
        pairs, moving = pairs_of(engine, keyed, 0.4, ties, scale)
        c = torch.linspace(-1, 1, 14, dtype=torch.float64).requires_grad_()
        sums = torch.stack(pair_sums(pairs, REQUESTS, (c,)))
        assert pairs.engine == engine
        weights = torch.linspace(0.3, 2, sums.numel(), dtype=torch.float64).view_as(sums)
        kept = torch.where(sums > -1e29, sums * weights, 0).sum()
        found.append([sums.detach(), *torch.autograd.grad(kept, [*moving, c])])
    for one, other in zip(*found):
        torch.testing.assert_close(one, other, rtol=1e-10, atol=1e-10)


def test_keys_of_other_samples_need_no_mask():
    """A queue without ids: no key is equal to an anchor."""
    torch.manual_seed(1)
    rows, keys = (torch.nn.functional.normalize(torch.randn(count, 4, dtype=torch.float64), dim=1) for count in (6, 30))
    results = []
    for engine in ("blocked", "dense"):
        own = rows.clone().requires_grad_()
        pairs = keyed_pairs(own, torch.arange(6), None, 1, plain.Call(own[:, None], temperature=0.2, engine=engine), keys, None, None)
        value = torch.stack(pair_sums(pairs, [LogSum("unequal"), RankedLogSum(WEIGHTS)]))
        results.append((value.detach(), torch.autograd.grad(value.sum(), own)[0]))
    for one, other in zip(*results):
        torch.testing.assert_close(one, other, rtol=1e-11, atol=1e-11)


def test_they_may_be_differentiated_twice():
    def function(rows):
        pairs = square_pairs(rows, torch.arange(4), None, 2, plain.Call(rows[:, None], temperature=0.7, engine="blocked"))
        return torch.stack(pair_sums(pairs, [LogSum("unequal"), LogSum("equal")]))

    torch.manual_seed(2)
    rows = torch.randn(8, 3, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(function, rows) and torch.autograd.gradgradcheck(function, rows)


@pytest.mark.parametrize("name, more", [("infonce", ()), ("supcon", (torch.arange(12) % 3,)), ("hard_negatives", ()), ("bayesian", ())])
def test_a_graph_of_the_gradient_changes_no_gradient(name, more):
    """Square batches: scaled anchors depend on the keys, which are the anchors."""
    torch.manual_seed(3)
    z = torch.randn(12, 2, 5, dtype=torch.float64, requires_grad=True)
    found = []
    for engine, graph in (("dense", True), ("blocked", False), ("blocked", True)):
        first, = torch.autograd.grad(loss_of(name, engine=engine)(z, *more), z, create_graph=graph)
        second = torch.autograd.grad(first.square().sum(), z)[0] if graph else None
        found.append((first.detach(), second))
    for first, second in found[1:]:
        torch.testing.assert_close(first, found[0][0], rtol=1e-9, atol=1e-12)
        assert second is None or torch.allclose(second, found[0][1], rtol=1e-8, atol=1e-12)


def test_a_backward_pass_within_autocast_is_exact():
    z = torch.randn(12, 2, 5, requires_grad=True)
    expected, = torch.autograd.grad(loss_of("infonce", engine="blocked")(z), z)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found, = torch.autograd.grad(loss_of("infonce", engine="blocked")(z), z)
    assert torch.equal(found, expected)


@pytest.mark.parametrize("engine", ["fused", "blocked"])
def test_batches_of_gradients_are_refused(engine):
    if engine == "fused" and debias.about()["backend"] != "compiled":
        pytest.skip("there is no fused backend")
    jacobian = lambda engine: torch.autograd.functional.jacobian(lambda z: loss_of("infonce", engine=engine)(z), torch.randn(6, 2, 4), vectorize=True)
    assert jacobian("dense").shape == (6, 2, 4)
    with pytest.raises(ValueError, match=f"{engine} backend: it takes one gradient at a time.*dense"):
        jacobian(engine)


def test_derivatives_may_be_carried_forward():
    from torch.autograd import forward_ad
    z, t = torch.randn(6, 2, 4), torch.randn(6, 2, 4)
    gradient, = torch.autograd.grad(loss_of("infonce")(own := z.clone().requires_grad_()), own)
    with forward_ad.dual_level():
        value = loss_of("infonce")(forward_ad.make_dual(z, t))
        carried = forward_ad.unpack_dual(value).tangent
    torch.testing.assert_close(carried, (gradient * t).sum())
