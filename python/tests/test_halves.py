"""The compiled engine and PyTorch, each the other's oracle: value, losses of anchors and gradient of every objective in every form."""

import pytest
import torch

from debias import _engine, plain
from settings import NAMES, SETTINGS, TABLE, cases, given, loss_of
from test_values import compiled

pytestmark = compiled
OF_PAIRS = [name for name in NAMES if TABLE[name]["kind"] == "pairs"]


def found(name, loss, values, dtype, engine):
    own = {what: value.to(dtype) if value is not None and value.is_floating_point() else value for what, value in values.items()}
    z = own["z"].clone().requires_grad_()
    result = plain.evaluated(TABLE[name], loss.options, plain.Call(z, own["labels"], own["bias"], own.get("weights"), engine=engine))
    gradient = torch.autograd.grad(result.value, z)[0] if result.value.requires_grad else torch.zeros_like(z)
    return result.measured.engine, result.value.detach().double(), result.per_anchor.detach().double(), gradient.double()


@pytest.mark.parametrize("name", OF_PAIRS)
def test_tiles_of_float32_are_the_matrix_of_float64(name):
    for views in cases(name):
        for options in SETTINGS[name]:
            loss, values = loss_of(name, normalize=False, **options), given(name, views)
            engine, *got = found(name, loss, values, torch.float32, "fused")
            dense, *want = found(name, loss, values, torch.float64, "dense")
            assert (engine, dense) == ("fused", "dense")
            for one, other in zip(got, want):
                scale = max(1.0, other[other.isfinite()].abs().max().item()) if other.isfinite().any() else 1.0
                torch.testing.assert_close(one, other, rtol=1e-4, atol=2e-5 * scale, equal_nan=True, msg=lambda text: f"{options}: {text}")


def sums_of(requests):
    """The operator's arguments for 9 rows in 4 groups."""
    torch.manual_seed(0)
    rows, group = torch.nn.functional.normalize(torch.randn(9, 5), dim=1), torch.tensor([2, 0, 0, 5, 2, 0, 1, 5, 2])
    plan = _engine.sums.Plan(0.3, False, 64 << 20, **requests)
    log_weights = torch.log(torch.arange(1.0, 9.0, dtype=torch.float64))[None] if plan.ranked else None
    c = torch.randn(9) if plan.log_adds else None
    return rows, group, log_weights, c, plan


KINDS = [{"log_sums": ((1, 1.0), (0, 2.0), (2, -1.0))}, {"ranked": ((1.5, False),)}, {"equal_sums": 1}, {"log_adds": ((2, -1.0, 0.5), (1, 1.0, 0.1))},
         {"log_sums": ((1, 1.0),), "equal_sums": 1, "log_adds": ((2, -1.0, 0.5),)}]


@pytest.mark.parametrize("requests", KINDS)
def test_the_operators_pass_opcheck(requests):
    rows, group, log_weights, c, plan = sums_of(requests)
    arguments = (group, log_weights, c, *_engine.sums._lists(plan))
    torch.library.opcheck(torch.ops.debias.pair_sums.default, (rows, *arguments))
    out, *state = torch.ops.debias.pair_sums(rows, *arguments)
    torch.library.opcheck(torch.ops.debias.pair_sums_gradient.default, (state, torch.ones_like(out), *arguments[1:]))


@pytest.mark.parametrize("requests", KINDS)
def test_compiled_sums_are_the_eager_ones(requests):
    rows, group, log_weights, c, plan = sums_of(requests)
    moving = [tensor.requires_grad_() for tensor in (rows, c) if tensor is not None]

    def weighted():
        out = _engine.sums.sums(rows, group, plan, log_weights, c)
        return (out * torch.arange(1.0, 1 + out.numel()).view_as(out)).sum()

    eager = torch.autograd.grad(weighted(), moving)
    traced = torch.autograd.grad(torch.compile(weighted, backend="aot_eager", fullgraph=True)(), moving)
    torch.testing.assert_close(traced, eager)


def test_a_row_that_is_not_finite_makes_its_sums_nan():
    rows, group, _, _, plan = sums_of({"log_sums": ((1, 1.0),)})
    rows[3, 2] = torch.nan
    assert _engine.sums.sums(rows, group, plan).isnan().all()


def test_inference_before_training_leaves_nothing_behind():
    from debias import BayesianLoss
    z = torch.randn(7, 2, 5)
    with torch.inference_mode():
        expected = BayesianLoss()(z).item()
    value = BayesianLoss()(z.requires_grad_())
    value.backward()
    assert value.item() == expected and z.grad.isfinite().all()


def test_the_number_of_threads_changes_no_byte():
    torch.manual_seed(1)
    z, threads, results = torch.nn.functional.normalize(torch.randn(700, 2, 24), dim=-1), torch.get_num_threads(), []
    from debias import BayesianLoss, EpsSupInfoNCELoss
    try:
        for count in (1, 2, 3):
            torch.set_num_threads(count)
            for loss, more in ((BayesianLoss(), ()), (EpsSupInfoNCELoss(), (torch.arange(700) % 7,))):
                own = z.clone().requires_grad_()
                value = loss(own, *more)
                value.backward()
                results.append((value.item(), own.grad))
    finally:
        torch.set_num_threads(threads)
    for place in range(2):
        for value, gradient in results[2 + place::2]:
            assert value == results[place][0] and torch.equal(gradient, results[place][1])


@pytest.mark.parametrize("change", [lambda: torch.set_default_dtype(torch.float64), lambda: torch.set_default_dtype(torch.bfloat16),
                                    lambda: torch.set_default_device("meta")])
def test_the_programs_defaults_change_nothing(change):
    labels, bias = torch.arange(8) % 2, torch.arange(8) % 3
    z, given_of = torch.randn(8, 2, 5), {"infonce": (), "hard_negatives": (), "bayesian": (), "supcon": (labels,), "eps_supinfonce": (labels,),
                                         "biascon": (labels, bias), "fairkl": (labels, bias), "end": (labels, bias)}

    def results():
        for name, more in given_of.items():
            own = z.clone().requires_grad_()
            value = loss_of(name)(own, *more)
            yield name, value.item(), torch.autograd.grad(value, own)[0]

    expected = list(results())
    try:
        change()
        found = list(results())
    finally:
        torch.set_default_dtype(torch.float32)
        torch.set_default_device(None)
    for (name, value, gradient), (_, own, own_gradient) in zip(expected, found):
        assert value == own and torch.equal(gradient, own_gradient), name


@pytest.mark.parametrize("name", ["debiased_negatives", "debiased_positives", "hard_negatives", "bayesian"])
def test_diagnostics_hold_nothing_of_the_graph(name):
    import gc
    import weakref

    class Kept:
        pass

    class Node(torch.autograd.Function):
        @staticmethod
        def forward(ctx, rows, kept):
            ctx.kept = kept
            return rows * 2

        @staticmethod
        def backward(ctx, gradient):
            return 2 * gradient, None

    loss, kept = loss_of(name), Kept()
    graph = weakref.ref(kept)
    loss(Node.apply(torch.randn(8, 2, 4, requires_grad=True), kept))
    del kept
    gc.collect()
    assert graph() is None and loss.diagnostics.anchors == 16
