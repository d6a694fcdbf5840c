"""The compositions in Python against the library, which defines the objectives."""

import itertools
import math

import pytest
import torch

import debias
from debias import _dense
from test_values import loss_of

TABLE = {entry["name"]: entry for entry in debias.objectives()}
SETTINGS = {
    "infonce": [{}, {"temperature": 0.07}, {"drop_false_negatives": True}, {"base_temperature": 0.07}],
    "unbiased": [{}, {"negatives": "drop"}],
    "debiased_negatives": [{"clamp": clamp, "tau_plus": tau_plus, "aggregation": aggregation}
                           for clamp, tau_plus, aggregation in itertools.product(("floor", "fallback", "positive", "none"), (0.1, 0.4),
                                                                                 ("grouping", "pairs"))] + [{"drop_false_negatives": True}],
    "hard_negatives": [{"clamp": clamp, "beta": beta, "detach_weights": detach}
                       for clamp, beta, detach in itertools.product(("floor", "none"), (0, 0.7), (False, True))] + [{"tau_plus": 0.5}],
    "debiased_positives": [{"form": form, "guard": guard, "drop_false_negatives": drop, "tau_plus": tau_plus}
                           for form, guard, drop, tau_plus in itertools.product(("eq12", "sum", "final"), ("floor", "fallback", "none"),
                                                                                (False, True), (0.1, 0.6))],
    "combined_debiased": [{"mix": mix, "guard": guard} for mix in (0, 0.3, 1) for guard in ("floor", "none")],
    "eps_infonce": [{}, {"epsilon": 0}, {"epsilon": math.inf}],
    "supcon": [{}, {"form": "in"}, {"variant": "authors"}],
    "biascon": [{}],
    "eps_supcon": [{}, {"add_epsilon": False, "over_positives": "sum"}, {"epsilon": math.inf, "add_epsilon": False}],
    "eps_supinfonce": [{"form": form, "epsilon": epsilon, "over_positives": over}
                       for form, epsilon, over in itertools.product("abcd", (0, 0.25, math.inf), ("mean", "sum"))]
                      + [{"form": "in"}, {"log_eps": 1e-3}, {"variant": "authors"}],
    "cross_entropy": [{}],
    "generalized_cross_entropy": [{}, {"form": "lff"}, {"q": 1}],
    "bias_balanced": [{}],
}


def test_every_composition_is_tried():
    assert set(SETTINGS) == set(_dense.COMPOSED)


def given(name, views, samples=7):
    generator = torch.Generator().manual_seed(samples + views)
    labels, bias = torch.tensor([0, 1, -1, 0, 1, 2, 0])[:samples], torch.tensor([0, 0, 1, 1, -1, 0, 0])[:samples]
    shape = (samples, 4) if TABLE[name]["kind"] == "logits" else (samples, views, 3)
    z = torch.randn(shape, generator=generator, dtype=torch.float64)
    return (z if TABLE[name]["kind"] == "logits" else torch.nn.functional.normalize(z, dim=-1)).requires_grad_(), labels, bias


def both(name, options, views, samples=7):
    z, labels, bias = given(name, views, samples)
    loss = loss_of(name, engine="dense", normalize=False, **options)
    value, losses, evidence = torch.ops.debias.objective(z, name, loss._options, labels, bias, engine="dense", normalize=False)
    return z, (value, losses, evidence), _dense.evaluated(name, loss.options, z, labels, bias)


@pytest.mark.parametrize("name, views", [(name, views) for name in SETTINGS for views in (1, 2, 3)
                                         if views >= TABLE[name]["min_views"] and (TABLE[name]["kind"] != "logits" or views == 1)])
def test_value_losses_gradient_and_evidence_are_the_librarys(name, views):
    for options in SETTINGS[name]:
        for samples in (7, 2):
            z, (value, losses, evidence), found = both(name, options, views, samples)
            assert abs(found.value.item() - value.item()) <= 1e-11 * max(1, abs(value.item())), options
            torch.testing.assert_close(found.per_anchor.detach(), losses, rtol=1e-11, atol=1e-11, equal_nan=True, msg=str(options))
            assert found.evidence[:3].tolist() == evidence[:3].tolist(), options
            torch.testing.assert_close(found.evidence[3:5], evidence[3:5], rtol=1e-9, atol=1e-300, msg=str(options))
            if value.requires_grad:
                expected, = torch.autograd.grad(value, z)
                gradient, = torch.autograd.grad(found.value, z)
                assert gradient.isfinite().all(), options
                torch.testing.assert_close(gradient, expected, rtol=1e-9, atol=1e-10, msg=str(options))


@pytest.mark.parametrize("name", [name for name in SETTINGS if TABLE[name]["min_views"] == 2])
def test_one_sample_has_no_negatives(name):
    for options in SETTINGS[name]:
        z, (value, losses, _), found = both(name, options, 2, 1)
        assert found.value.item() == pytest.approx(value.item(), abs=1e-12), options
        torch.testing.assert_close(found.per_anchor.detach(), losses, equal_nan=True)
        assert torch.autograd.grad(found.value, z, allow_unused=True)[0].isfinite().all()
