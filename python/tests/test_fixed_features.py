"""FixedFeatures: a folder of `debias fix`, written by hand, as modules of torch."""

import copy
import io
import json
import warnings

import numpy
import pytest
import torch

import debias
from test_run_folder import write_safetensors

Z = torch.tensor([[1.0, 2, 3], [0, -1, 4], [2, 2, -2], [5, 0, 1]])
MEAN, LEFT, RIGHT = torch.tensor([1.0, 0, -1]), torch.tensor([[1.0], [0], [2]]), torch.tensor([[0.5, 1, 0]])
WEIGHT, BIAS = torch.tensor([[1.0, 0, 1], [0, 2, 0]]), torch.tensor([0.5, -0.5])
CORRECTED = torch.stack([z - LEFT[:, 0] * (RIGHT[0] @ (z - MEAN)) for z in Z])


@pytest.fixture
def fixed(tmp_path):
    accuracy = {"test": {"acc": 0.5, "worst_group_acc": 0.25}}
    (tmp_path / "fix.json").write_text(json.dumps({"method": "erase", "changed": True, "before": accuracy, "after": accuracy, "rank": 1}))
    (tmp_path / "classes.json").write_text('{"classes": ["cat", "dog"], "biases": []}')
    write_safetensors(tmp_path / "layer.safetensors", {"mean": MEAN, "left": LEFT, "right": RIGHT})
    write_safetensors(tmp_path / "head.safetensors", {"weight": WEIGHT, "bias": BIAS})
    return debias.FixedFeatures(tmp_path)


@pytest.mark.parametrize("kind", ["tensor", "array", "read-only array", "list", "frame"])
def test_features_of_any_kind_are_transformed(fixed, kind):
    given = {"tensor": Z.double(), "array": Z.numpy(), "read-only array": Z.half().numpy(), "list": Z.tolist(), "frame": None}[kind]
    if kind == "frame":
        given = pytest.importorskip("pandas").DataFrame(Z.numpy())
    if kind == "read-only array":
        given.flags.writeable = False
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        torch.testing.assert_close(fixed.transform(given), CORRECTED)
        assert torch.equal(fixed.correct(given), fixed.transform(given))
        scores = CORRECTED @ WEIGHT.T + BIAS
        assert fixed.predict(given) == [["cat", "dog"][row] for row in scores.argmax(1)]


def test_the_module_is_the_layer_and_then_the_head(fixed):
    module = fixed.module()
    scores = CORRECTED @ WEIGHT.T + BIAS
    assert isinstance(module, torch.nn.Module)
    torch.testing.assert_close(module(Z), scores)
    torch.testing.assert_close(module(Z.reshape(2, 2, 3)), scores.reshape(2, 2, 2))
    assert {name: value.dtype for name, value in module.state_dict().items()} == dict.fromkeys(
        ["layer.mean", "layer.left", "layer.right", "head.weight", "head.bias"], torch.float32)
    rows = Z.clone().requires_grad_()
    module(rows).sum().backward()
    slope = torch.ones(2) @ WEIGHT @ (torch.eye(3) - LEFT @ RIGHT)
    torch.testing.assert_close(rows.grad, slope.expand(4, 3))
    assert module.head.weight.grad is not None and [name for name, _ in module.named_parameters()] == ["head.weight", "head.bias"]


def test_a_module_is_copied_stored_and_changed_on_its_own(fixed):
    module = fixed.module()
    stored = io.BytesIO()
    torch.save(module.state_dict(), stored)
    stored.seek(0)
    other = copy.deepcopy(module)
    torch.nn.init.zeros_(other.head.weight)
    assert torch.equal(module.head.weight, WEIGHT) and torch.equal(fixed.head.weight, WEIGHT)
    other.load_state_dict(torch.load(stored, weights_only=True))
    assert torch.equal(other(Z), module(Z))
    with torch.inference_mode():
        assert torch.equal(module(Z), other(Z)) and torch.equal(copy.deepcopy(module)(Z), other(Z))


def test_a_module_that_is_made_in_inference_mode_can_be_trained(fixed):
    with torch.inference_mode():
        module = debias.FixedFeatures(fixed.path).module()
    rows = Z.clone().requires_grad_()
    module(rows).sum().backward()
    assert rows.grad is not None and module.head.bias.grad.tolist() == [4, 4]


@pytest.mark.parametrize("call, error, words", [
    (lambda fixed: fixed.transform(numpy.zeros((2, 4))), ValueError, r"FixedFeatures: features: expected shape \[n, 3\], found \[2, 4\]"),
    (lambda fixed: fixed.transform(numpy.zeros(3)), ValueError, r"features: expected shape \[n, 3\], found \[3\]"),
    (lambda fixed: fixed.transform([[0, 0, 0], [0, float("nan"), 0], [0, 0, float("inf")]]), ValueError,
     r"FixedFeatures: features: expected finite numbers, found others in 2 rows, first in row 1"),
    (lambda fixed: fixed.predict(["a", "b"]), TypeError, r"FixedFeatures: features: expected numbers \[n, 3\], found list"),
    (lambda fixed: fixed.module()(torch.zeros(2, 4)), ValueError, r"features: expected shape \[..., 3\], found \[2, 4\]"),
])
def test_features_that_do_not_fit_are_rejected(fixed, call, error, words):
    with pytest.raises(error, match=words):
        call(fixed)


def test_vectors_of_another_size_are_warned_of_once_for_norms_and_once_for_means(fixed):
    text = {"norm_quantiles": "3 4 6", "mean_quantiles": "0 1 2.5"}
    write_safetensors(fixed.path / "layer.safetensors", {"mean": MEAN, "left": LEFT, "right": RIGHT}, text)
    other = debias.FixedFeatures(fixed.path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        other.transform(Z)
        fixed.transform(Z * 100)  # a folder without quantiles
    with pytest.warns(UserWarning) as caught:
        torch.testing.assert_close(other.transform(Z * 10), fixed.transform(Z * 10))
    assert [str(one.message).split(":")[1].split(" (")[0] for one in caught] == [
        f" {count} of 4 vectors have a {what} outside of that of the training rows" for what, count in (("norm", 4), ("mean", 4))]
    assert "the first 37.4 in row 0" in str(caught[0].message) and caught[0].filename == __file__
