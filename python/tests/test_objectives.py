"""Every objective against tests/golden/objectives.json: what its formula comes to in NumPy, and its gradient (tests/golden/naive.py)."""

import json
import math
import pathlib

import pytest
import torch

from debias import plain
from settings import KEYED, NAMES, TABLE, given, keyed, loss_of

ENGINES = ("dense", "blocked")
INTEGERS = ("labels", "bias", "ids", "key_ids", "key_labels")
GOLDEN = json.loads((pathlib.Path(__file__).parents[2] / "tests" / "golden" / "objectives.json").read_text())


def plainly(name, options, z, labels=None, bias=None, weights=None, engine="dense", budget=1 << 12, **keys):
    """The plain half's result; the budget makes blocks of a few rows."""
    loss = loss_of(name, **options)
    call = plain.Call(z, labels, bias, weights, engine="dense" if TABLE[name]["kind"] == "logits" else engine, memory_budget=budget, **keys)
    return plain.evaluated(TABLE[name], loss.options, call)


def numbers(lists):
    """Nested lists of numbers; None is NaN."""
    if not isinstance(lists, list):
        return math.nan if lists is None else lists
    return [numbers(inner) for inner in lists]


def near(found, expected, what):
    torch.testing.assert_close(found, torch.tensor(numbers(expected), dtype=torch.float64), rtol=0, equal_nan=True,
                               atol=1e-10 * max([1.0, *(abs(one) for one in expected if one is not None)]), msg=lambda text: f"{what}: {text}")


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", NAMES)
def test_objectives_are_their_formulas(name, engine):
    cases = [case for case in GOLDEN["cases"] if case["objective"] == name]
    assert cases, "add it to tests/golden/naive.py"
    for case in cases:
        values = {what: torch.tensor(of, dtype=torch.int64 if what in INTEGERS else torch.float64)
                  for what, of in GOLDEN["batches"][case["batch"]].items()}
        z = values["z"].requires_grad_()
        options = {what: math.inf if value == "inf" else value for what, value in case["settings"].items()}
        result, what = plainly(name, options, **values, engine=engine), (case["batch"], options)
        assert result.value.item() == pytest.approx(case["value"], rel=1e-11, abs=1e-11), what
        near(result.per_anchor.detach(), case["per_anchor"], what)
        if TABLE[name]["kind"] == "pairs":
            _, used, clamped, least, size, *_ = result.measured.numbers()
            assert used == sum(one is not None for one in case["per_anchor"]), what
            assert clamped == case.get("clamped", 0), what
            for found, expected in ((least, "min_estimate"), (size, "effective_sample_size")):
                if expected in case:
                    assert found == pytest.approx(case[expected], rel=1e-10, abs=1e-10), what
        gradient = torch.autograd.grad(result.value, z)[0] if result.value.requires_grad else torch.zeros_like(z)
        near(gradient.flatten(), case["gradient"], (*what, "gradient"))


@pytest.mark.parametrize("mode", ["authors", "mean", "stats", "kl", "jeffreys", "lognormal"])
def test_one_hot_features_are_bias_labels(mode):
    values = given("fairkl", 2)
    values["bias"] = torch.tensor([0, 1, 2, 1, 0, 0, 2])
    by_label = plainly("fairkl", {"mode": mode}, **values)
    one_hot = plainly("fairkl", {"mode": mode}, values["z"], values["labels"], weights=torch.eye(3).double()[values["bias"]])
    assert one_hot.value.item() == pytest.approx(by_label.value.item(), rel=1e-12)


@pytest.mark.parametrize("name", [name for name in KEYED if TABLE[name]["min_views"] == 1])
def test_given_positives_are_keys_of_objectives_over_classes(name):
    values, keys = given(name, 1, 6), keyed(6, True)
    found = plainly(name, {}, values["z"], values["labels"], **keys)
    joined = {"keys": torch.cat([keys["positives"][:, 0], keys["keys"]]), "ids": keys["ids"],
              "key_ids": torch.cat([keys["ids"], keys["key_ids"]]), "key_labels": torch.cat([values["labels"], keys["key_labels"]])}
    expected = plainly(name, {}, values["z"], values["labels"], **joined)
    assert found.value.item() == expected.value.item()


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
