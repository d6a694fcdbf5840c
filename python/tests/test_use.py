"""How PyTorch programs use the losses: on devices, compiled, transformed, without gradients. All objectives, and the losses of two towers."""

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

import debias
from settings import KEYED, NAMES, TABLE, given, keyed
from test_values import arguments_of, called, loss_of

PLAIN = debias.about()["backend"] == "plain"
plain_only = pytest.mark.skipif(not PLAIN, reason="the compiled half computes")
TOWERS = [("infonce", {}), ("debiased_negatives", {"tau_plus": 0.1}), ("hard_negatives", {"tau_plus": 0.1}), ("bayesian", {"tau_plus": 0.1}),
          ("siglip", {})]


def on(device, tensors):
    return [None if tensor is None else tensor.detach().to(device).requires_grad_(tensor.requires_grad) for tensor in tensors]


@pytest.mark.parametrize("engine", ["dense", "blocked"])
@pytest.mark.parametrize("name", NAMES)
def test_a_call_on_a_device_reads_nothing(name, engine):
    """Tensors without data: whatever reads a number, or has a shape that numbers decide, fails there."""
    if TABLE[name]["kind"] == "logits" and engine == "blocked":
        pytest.skip("logits have no pairs")
    z, *rest = on("meta", arguments_of(name))
    loss = loss_of(name, engine=engine, memory_budget=1 << 12)
    value = called(loss, name, z, *rest)
    value.backward()
    assert value.device.type == "meta" and z.grad.shape == z.shape and loss.per_anchor.device.type == "meta"


@pytest.mark.parametrize("name", KEYED)
def test_a_call_with_keys_on_a_device_reads_nothing(name):
    values, keys = given(name, 1, 6), keyed(6, False)
    z, labels, queue, ids, key_ids, key_labels = on("meta", (values["z"], values["labels"], keys["keys"], keys["ids"], keys["key_ids"],
                                                           keys["key_labels"]))
    value = loss_of(name)(z, labels=labels, keys=queue, ids=ids, key_ids=key_ids, key_labels=key_labels)
    assert value.device.type == "meta"


@pytest.mark.parametrize("objective, options", TOWERS)
def test_two_towers_on_a_device_read_nothing(objective, options):
    image, text, ids, scale = on("meta", (torch.randn(6, 4, requires_grad=True), torch.randn(6, 4), torch.arange(6), torch.tensor(3.0)))
    loss = debias.TwoTowerLoss(objective, drop_above=0.5, **options)
    loss(image, text, ids=ids, logit_scale=scale).backward()
    loss(image, text, targets=torch.rand(6, 6, device="meta")).backward()
    assert image.grad.device.type == "meta"


class Reads(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.count = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        self.count += function in (torch.ops.aten._local_scalar_dense.default, torch.ops.aten.nonzero.default)
        return function(*args, **(kwargs or {}))


@plain_only
def test_diagnostics_is_read_when_it_is_asked_for():
    z, *_ = arguments_of("debiased_negatives")
    loss = debias.DebiasedNegativesLoss()
    with Reads() as reads:
        loss(z).backward()
        assert reads.count == 0
        assert loss.diagnostics.anchors == 12
    assert loss.diagnostics.clamped == loss.clamped


@plain_only
def test_what_cannot_be_read_is_nan_and_not_a_number():
    """A queue without the anchors' samples: refused where values may be looked at, else NaN."""
    from unittest import mock
    q, queue, ids = torch.randn(4, 6), torch.randn(8, 6), torch.arange(4)
    loss = debias.InfoNCELoss()
    call = lambda: loss(q, ids=ids, keys=queue, key_ids=torch.arange(8) + 50)
    with pytest.raises(ValueError, match="has no positive"):
        call()
    with mock.patch("debias.plain.call.can_read", lambda tensor: False):
        assert call().isnan()
        assert debias.CrossEntropyLoss()(torch.randn(3, 2), [0, 1, 5]).isnan()


@pytest.mark.parametrize("name", NAMES)
def test_inference_mode_with_two_threads(name):
    z, *rest = arguments_of(name)
    expected = called(loss_of(name), name, z, *rest).item()
    threads = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        with torch.inference_mode():
            assert called(loss_of(name), name, z.detach().clone(), *rest).item() == pytest.approx(expected, rel=1e-12)
    finally:
        torch.set_num_threads(threads)


@pytest.mark.parametrize("engine", ["dense", "blocked"])
@pytest.mark.parametrize("name", NAMES)
def test_torch_func_grad_is_autograds_gradient(name, engine):
    z, *rest = arguments_of(name)
    kind = TABLE[name]["kind"]
    engine = "dense" if kind == "logits" or (kind == "regulariser" and not PLAIN) else engine
    loss = loss_of(name, engine=engine, memory_budget=1 << 12)
    expected, = torch.autograd.grad(called(loss, name, z, *rest), z)
    found = torch.func.grad(lambda z: called(loss, name, z, *rest))(z.detach())
    torch.testing.assert_close(found, expected)


@pytest.mark.parametrize("name", NAMES)
def test_a_compiled_call_is_the_eager_one(name):
    z, *rest = arguments_of(name)
    loss, other = loss_of(name), loss_of(name)
    expected, = torch.autograd.grad(called(loss, name, z, *rest), z)
    torch._dynamo.reset()
    compiled = torch.compile(lambda z, *rest: called(other, name, z, *rest), backend="aot_eager", fullgraph=True)
    found, = torch.autograd.grad(compiled(z, *rest), z)
    torch.testing.assert_close(found, expected)
    assert other.diagnostics[:3] == loss.diagnostics[:3]


@pytest.mark.parametrize("name", KEYED)
def test_a_compiled_call_with_keys_is_the_eager_one(name):
    values, keys = given(name, 1, 6), keyed(6, False)
    call = lambda loss: loss(values["z"], labels=values["labels"], **{what: keys[what] for what in ("keys", "ids", "key_ids", "key_labels")})
    loss = loss_of(name)
    expected = call(loss).item()
    torch._dynamo.reset()
    assert torch.compile(lambda: call(loss), backend="aot_eager", fullgraph=True)().item() == pytest.approx(expected, rel=1e-6)


def test_diagnostics_after_a_compiled_call_is_that_calls():
    loss, (z, *_) = debias.DebiasedNegativesLoss(), arguments_of("debiased_negatives")
    loss(z[:3])
    torch._dynamo.reset()
    torch.compile(lambda z: loss(z), backend="aot_eager")(z)
    assert loss.diagnostics.anchors == 12 and loss.per_anchor.shape == (12,)


@plain_only
def test_blocks_are_compiled():
    z, *_ = arguments_of("infonce")
    loss = debias.InfoNCELoss(engine="blocked", memory_budget=1 << 12)
    expected, = torch.autograd.grad(loss(z), z)
    torch._dynamo.reset()
    found, = torch.autograd.grad(torch.compile(lambda z: loss(z), backend="aot_eager")(z), z)
    torch.testing.assert_close(found, expected)


@pytest.mark.parametrize("objective, options", TOWERS)
def test_two_towers_compiled_transformed_and_under_autocast(objective, options):
    image, text = torch.randn(2, 6, 4, dtype=torch.float64).unbind(0)
    loss, ids = debias.TwoTowerLoss(objective, **options), torch.tensor([0, 1, 2, 0, 3, 4])
    call = lambda image: loss(image, text, ids=ids)
    leaf = image.clone().requires_grad_()
    expected, = torch.autograd.grad(call(leaf), leaf)
    torch.testing.assert_close(torch.func.grad(call)(image), expected)
    torch._dynamo.reset()
    found, = torch.autograd.grad(torch.compile(call, backend="aot_eager")(leaf), leaf)
    torch.testing.assert_close(found, expected)
    with torch.autocast("cpu", dtype=torch.bfloat16), torch.inference_mode():
        assert call(image).item() == pytest.approx(call(leaf).item(), rel=1e-12)
