"""Values and gradients of the modules: how they are called, against finite differences and each other."""

import math

import pytest
import torch

import debias

# Of what only the compiled engine has.
compiled = pytest.mark.skipif(debias.about()["backend"] != "compiled", reason="the plain half computes")


def unit(*degrees):
    radians = torch.tensor(degrees, dtype=torch.float64) * math.pi / 180
    return torch.stack([radians.cos(), radians.sin()], dim=1)


Z0, Z1, Z2 = unit(0, 41, 133, 205), unit(12, 66, 118, 240), unit(23, 52, 146, 214)
LABELS, BIAS = torch.tensor([0, 0, 1, 1]), torch.tensor([0, 1, 0, 1])


@pytest.mark.parametrize("views", [(Z0, Z1), (Z0, Z1, Z2)])
def test_views_may_be_stacked_or_apart_and_of_any_length(views):
    loss = debias.DebiasedNegativesLoss(tau_plus=0.1)
    expected = loss(*views).item()
    assert loss(torch.stack(views, dim=1)).item() == expected
    assert abs(loss(*(3 * view for view in views)).item() - expected) < 1e-12  # rows are normalised


def test_supervised_views_may_be_stacked_or_apart():
    loss = debias.BiasConLoss(temperature=0.1)
    assert loss([Z0, Z1], LABELS, BIAS).item() == loss(torch.stack([Z0, Z1], dim=1), LABELS, BIAS).item()


def test_a_module_computes_its_formula():
    assert abs(debias.InfoNCELoss(temperature=0.5)(Z0, Z1).item() - 0.756893864) < 6e-10


def test_bias_balanced_takes_a_prior():
    logits = torch.tensor([[1, -0.5, 0.25]] * 3, dtype=torch.float64)
    prior = torch.tensor([[0.7], [0.2], [0.1]], dtype=torch.float64)
    value = debias.BiasBalancedLoss()(logits, torch.arange(3), torch.zeros(3, dtype=torch.int64), prior=prior)
    assert abs(value.item() - (0.123307668 + 2.876070633 + 2.819217808) / 3) < 6e-10


def test_rows_are_taken_as_given_without_normalize():
    z0, z1 = 2 * Z0, 2 * Z1
    scaled = debias.InfoNCELoss(normalize=False)(z0, z1)
    assert abs(scaled.item() - debias.InfoNCELoss(temperature=0.125)(Z0, Z1).item()) < 1e-12


def test_diagnostics_of_the_last_call():
    loss = debias.DebiasedNegativesLoss(tau_plus=0.1)
    assert loss.diagnostics is None and loss.clamped is None
    loss(Z0, Z1)
    assert loss.evidence == loss.diagnostics and debias.Evidence is debias.Diagnostics
    assert (loss.diagnostics.anchors, loss.anchors_used, loss.clamped, loss.fused) == (8, 8, 2, False)
    assert loss.min_estimate < math.exp(-2) and loss.effective_sample_size is None
    assert loss.per_anchor.shape == (8,) and not loss.per_anchor.requires_grad
    loss(Z0.float(), Z1.float())
    assert loss.diagnostics.engine == "dense"  # a small batch
    loss(*(view.float().repeat(40, 1) for view in (Z0, Z1)))
    assert loss.fused == (debias.about()["backend"] == "compiled")
    hard = debias.HardNegativesLoss()
    hard(Z0, Z1)
    assert 1 <= hard.effective_sample_size <= 6


def arguments_of(name, dtype=torch.float64):
    """A module's input, first of it what is differentiated."""
    generator = torch.Generator().manual_seed(3)
    labels, bias = torch.tensor([0, 1, 2, 0, 1, 0]), torch.tensor([0, 0, 1, 1, 0, 1])
    entry = next(entry for entry in debias.objectives() if entry["name"] == name)
    shape = (6, 4) if entry["kind"] == "logits" else (6, 2, 5)
    z = torch.randn(shape, generator=generator, dtype=dtype, requires_grad=True)
    weights = torch.randn(6, 3, generator=generator, dtype=dtype) if name == "softcon" else None
    return z, labels, bias, weights


def called(loss, name, z, labels, bias, weights):
    kind = type(loss).__mro__[1].__name__
    if kind == "_LabelFree":
        return loss(z, labels=labels)
    return loss(z, labels, bias) if weights is None else loss(z, labels, bias, weights)


def loss_of(name, **options):
    from debias._losses import class_name
    return getattr(debias, class_name(name))(**options)


NAMES = [entry["name"] for entry in debias.objectives()]


@pytest.mark.parametrize("name", NAMES)
def test_gradients_agree_with_finite_differences(name):
    z, *rest = arguments_of(name)
    options = {"detach_weights": False} if name == "bayesian" else {}
    loss = loss_of(name, engine="dense", **options)
    assert torch.autograd.gradcheck(lambda z: called(loss, name, z, *rest), (z,))


@pytest.mark.parametrize("name", ["infonce", "debiased_negatives", "hard_negatives", "supcon", "cross_entropy"])
def test_the_dense_engine_may_be_differentiated_twice(name):
    z, *rest = arguments_of(name)
    loss = loss_of(name, engine="dense")
    assert torch.autograd.gradgradcheck(lambda z: called(loss, name, z, *rest), (z,))


@compiled
def test_the_fused_engine_refuses_to_be_differentiated_twice():
    z, *_ = arguments_of("infonce", torch.float32)
    with pytest.raises(ValueError, match="second derivative.*dense"):
        gradient, = torch.autograd.grad(debias.InfoNCELoss(engine="fused")(z), z, create_graph=True)
        gradient.square().sum().backward()


@compiled
@pytest.mark.parametrize("name", [entry["name"] for entry in debias.objectives() if entry["fused"]])
def test_fused_and_dense_agree(name):
    z, *rest = arguments_of(name, torch.float32)
    values, gradients = [], []
    for engine in ("fused", "dense"):
        value = called(loss_of(name, engine=engine), name, z, *rest)
        values.append(value.item())
        gradients.append(torch.autograd.grad(3 * value, z)[0])
    assert values[0] == pytest.approx(values[1], rel=1e-5, abs=1e-6)
    torch.testing.assert_close(*gradients, rtol=1e-3, atol=1e-5 * gradients[1].abs().max().item() + 1e-7)


def test_half_precision_is_computed_in_single():
    z, *_ = arguments_of("infonce", torch.float32)
    loss = debias.InfoNCELoss()
    for dtype in (torch.bfloat16, torch.float16):
        half = z.detach().to(dtype).requires_grad_()
        value = loss(half)
        value.backward()
        assert value.dtype == torch.float32 and half.grad.dtype == dtype
        exact = loss(half.detach().float()).item()
        if dtype == torch.float16:
            assert value.item() == exact
        else:  # where the processor multiplies bfloat16, the unit rows are rounded to it
            rounded = torch.nn.functional.normalize(half.detach().float(), dim=-1).bfloat16().float()
            of_rounded = debias.InfoNCELoss(normalize=False)(rounded).item()
            assert value.item() == pytest.approx(exact, rel=1e-6) or value.item() == pytest.approx(of_rounded, rel=1e-6)


def test_autocast_changes_nothing():
    z, *_ = arguments_of("infonce", torch.float32)
    loss = debias.InfoNCELoss(engine="dense")
    with torch.autocast("cpu", dtype=torch.bfloat16):
        inside = loss(z)
    assert inside.dtype == torch.float32 and inside.item() == loss(z).item()
