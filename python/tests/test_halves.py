"""The compiled half and the plain one, each the other's oracle: value, losses of anchors and gradient of every objective in every form."""

import pytest
import torch

from debias import plain
from settings import KEYED, NAMES, SETTINGS, TABLE, given, keyed, loss_of
from test_naive import cases
from test_values import compiled

pytestmark = compiled


def agree(name, options, values, keys=None):
    loss, keys = loss_of(name, normalize=False, **options), keys or {}
    results = []
    for half in ("compiled", "plain"):
        z = values["z"].clone().requires_grad_()
        if half == "compiled":
            value, losses, _ = torch.ops.debias.objective(z, name, loss._options, values["labels"], values["bias"], values.get("weights"),
                                                          normalize=False, **keys)
        else:
            call = plain.Call(z, values["labels"], values["bias"], values.get("weights"), **keys)
            value, losses, _ = plain.evaluated(TABLE[name], loss.options, call)
        gradient = torch.autograd.grad(value, z)[0] if value.requires_grad else torch.zeros_like(z)
        results.append((value.detach(), losses.detach(), gradient))
    for got, want in zip(*results):
        torch.testing.assert_close(got, want, rtol=1e-9, atol=1e-10, equal_nan=True, msg=lambda text: f"{options}: {text}")


@pytest.mark.parametrize("name", NAMES)
def test_both_halves_compute_the_same(name):
    for views in cases(name):
        for options in SETTINGS[name]:
            agree(name, options, given(name, views))


@pytest.mark.parametrize("name", KEYED)
def test_both_halves_compute_the_same_with_keys(name):
    for options in SETTINGS[name]:
        if options.get("form") != "d":
            agree(name, options, given(name, 1, 6), {key: value for key, value in keyed(6, False).items() if value is not None})
