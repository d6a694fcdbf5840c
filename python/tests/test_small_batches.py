"""Small batches, whose value and gradient are computed at once: equal to the general way, in every form that is taken, and taken where it says."""

import copy
import pickle

import pytest
import torch

import debias
from debias.plain import small
from settings import SETTINGS, loss_of
from test_values import arguments_of

SUPERVISED = ("supcon", "eps_supinfonce", "fairkl")
TAKEN = [(name, options) for name in ("infonce", "debiased_negatives", "hard_negatives", "bayesian", *SUPERVISED)
         for options in [{}, *(options for options in SETTINGS[name] if options)] if loss_of(name, **options)._small is not None]
SHAPES = [(2, 2), (7, 2), (64, 2), (9, 1), (5, 3), (1, 2)]


def batch(name, samples, views, dtype=torch.float64, known=False):
    generator = torch.Generator().manual_seed(10 * samples + views)
    z = torch.randn(samples, views, 6, generator=generator, dtype=dtype)
    labels, bias = (torch.randint(0 if known or name == "fairkl" else -1, 3, (samples,), generator=generator) for _ in range(2))
    return z, (labels, bias)[:2 if name == "fairkl" else 1] if name in SUPERVISED else ()


def found(loss, z, *more):
    own = z.clone().requires_grad_()
    value = loss(own, *more)
    gradient, = torch.autograd.grad(3 * value, own)
    return value.detach(), gradient, loss.per_anchor, loss.diagnostics


@pytest.fixture
def taken(monkeypatch):
    """How many calls were computed at once."""
    calls, of = [], small.result_of
    monkeypatch.setattr(small, "result_of", lambda *arguments: calls.append(1) or of(*arguments))
    return calls


def test_every_objective_with_usual_options_has_a_form():
    assert {name for name, options in TAKEN if not options} == {"infonce", "debiased_negatives", "hard_negatives", "bayesian", *SUPERVISED}
    assert len(TAKEN) >= 35


@pytest.mark.filterwarnings("ignore:.*has a positive")
@pytest.mark.parametrize("normalize", [True, False])
@pytest.mark.parametrize("name, options", TAKEN)
def test_values_and_gradients_are_those_of_the_whole_matrix(name, options, normalize, taken):
    for samples, views in SHAPES:
        if name not in SUPERVISED and (views != 2 or samples < 2):
            continue
        z, more = batch(name, samples, views)
        z = z if normalize else 0.4 * z
        before, (value, gradient, per_anchor, diagnostics) = len(taken), found(loss_of(name, normalize=normalize, **options), z, *more)
        assert len(taken) == before + 1
        expected = found(loss_of(name, engine="dense", normalize=normalize, **options), z, *more)
        torch.testing.assert_close(value, expected[0], rtol=1e-11, atol=1e-12)
        torch.testing.assert_close(gradient, expected[1], rtol=1e-9, atol=1e-11)
        torch.testing.assert_close(per_anchor, expected[2], rtol=1e-10, atol=1e-12)
        for own, other in zip(diagnostics, expected[3]):
            assert own == (other if other is None or isinstance(other, str) else pytest.approx(other, rel=1e-10, abs=1e-12))


@pytest.mark.parametrize("name, options", TAKEN)
def test_float32_is_as_near_to_float64_as_the_general_way(name, options):
    z, more = batch(name, 32, 2, known=True)
    exact, at_once, general = (found(loss_of(name, engine=engine, **options), rows, *more)
                               for engine, rows in (("dense", z), ("auto", z.float()), ("dense", z.float())))
    for place in range(2):
        scale = exact[place].abs().max().clamp_min(1e-3)
        error, usual = (((one[place] - exact[place]).abs().max() / scale).item() for one in (at_once, general))
        assert error <= max(4 * usual, 2e-6)


def test_equal_scores_share_the_largest_rank():
    row = torch.eye(6, dtype=torch.float64)
    z = torch.stack([row, row.roll(1, 0)], 1)  # cosines of 0 and 1 alone
    for own, other in zip(found(debias.BayesianLoss(), z), found(debias.BayesianLoss(engine="dense"), z)):
        assert own == other if isinstance(own, tuple) else torch.allclose(own, other, rtol=1e-10, atol=1e-12)


def test_views_apart_half_precision_and_one_that_needs_no_gradient(taken):
    z, _ = batch("infonce", 5, 2)
    first, second = z.unbind(1)
    loss = debias.InfoNCELoss()
    expected, gradient, *_ = found(loss, z)
    moving = first.clone().requires_grad_()
    value = loss(moving, second)
    value.backward()
    assert value.item() == pytest.approx(expected.item(), rel=1e-12)
    torch.testing.assert_close(3 * moving.grad, gradient[:, 0])
    half = z.half().requires_grad_()
    loss(half).backward()
    assert half.grad.dtype == torch.float16 and len(taken) == 3


def test_views_as_a_list_and_labels_as_a_list(taken):
    z, (labels,) = batch("supcon", 6, 2)
    value = debias.SupConLoss()([*z.unbind(1)], labels.tolist())
    assert value.item() == pytest.approx(debias.SupConLoss(engine="dense")(z, labels).item(), rel=1e-12) and len(taken) == 1


@pytest.mark.parametrize("name", ["infonce", "hard_negatives", "supcon"])
def test_it_may_be_differentiated_twice(name, taken):
    z, more = batch(name, 3, 2)
    loss = loss_of(name)
    assert torch.autograd.gradgradcheck(lambda z: loss(z, *more), (z.requires_grad_(),)) and taken


def test_several_gradients_at_once():
    z, _ = batch("infonce", 4, 2)
    leaf = z.requires_grad_()
    value = debias.InfoNCELoss()(leaf)
    found, = torch.autograd.grad(value, leaf, torch.tensor([1.0, 2.0], dtype=torch.float64), is_grads_batched=True, retain_graph=True)
    torch.testing.assert_close(found[1], 2 * torch.autograd.grad(value, leaf)[0])


@pytest.mark.parametrize("options, call", [
    ({"reduction": "none"}, {}), ({"engine": "dense"}, {}), ({"engine": "blocked"}, {}), ({}, {"ids": torch.arange(6)}),
    ({}, {"temperature": torch.tensor(0.3)}), ({"drop_false_negatives": True}, {"labels": torch.arange(6) % 2})])
def test_what_it_does_not_take(options, call, taken):
    z, _ = batch("infonce", 6, 2)
    debias.InfoNCELoss(**options)(z, **call)
    debias.InfoNCELoss()(torch.cat([z] * 50))
    assert not taken


def test_options_that_change_and_copies(taken):
    z, _ = batch("infonce", 6, 2)
    loss = debias.DebiasedNegativesLoss()
    loss.tau_plus = 0.3
    expected = debias.DebiasedNegativesLoss(tau_plus=0.3, engine="dense")(z).item()
    for one in (loss, copy.deepcopy(loss), pickle.loads(pickle.dumps(loss))):
        assert one(z).item() == pytest.approx(expected, rel=1e-12)
    assert len(taken) == 3
    loss.clamp = "none"
    loss(z)
    assert len(taken) == 3
    assert pickle.loads(pickle.dumps(one)).diagnostics == one.diagnostics


def test_the_sum_of_losses():
    z, _ = batch("infonce", 6, 2)
    assert debias.InfoNCELoss(reduction="sum")(z).item() == pytest.approx(12 * debias.InfoNCELoss()(z).item(), rel=1e-12)


@pytest.mark.parametrize("labels, words", [([0, 1, 2], "labels: expected int64 of shape"), ([0.5] * 6, "expected integers")])
def test_what_is_wrong_is_said_as_before(labels, words):
    z, _ = batch("supcon", 6, 2)
    with pytest.raises(ValueError, match=words):
        debias.SupConLoss()(z, labels)


def test_numbers_that_are_not_finite_make_the_value_nan():
    for name in ("infonce", "debiased_negatives", "hard_negatives", "bayesian", *SUPERVISED):
        z, more = batch(name, 6, 2, known=True)
        z[2, 1, 0] = torch.nan
        assert loss_of(name)(z, *more).isnan(), name


def test_autocast_and_inference_change_nothing():
    z, *_ = arguments_of("infonce", torch.float32)
    loss = debias.InfoNCELoss()
    expected = loss(z).item()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        inside = loss(z)
        inside.backward()
    assert inside.dtype == torch.float32 and inside.item() == expected and z.grad.isfinite().all()
    with torch.inference_mode():
        assert loss(z.detach().clone()).item() == expected
