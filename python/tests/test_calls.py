"""How the losses may be called: reductions, temperatures that are learnt, kinds of labels and embeddings, refusals, compiled and exported."""

import math
import pathlib
import sysconfig
import warnings

import numpy
import pytest
import torch

import debias
from settings import FAKE_CUDA
from test_values import NAMES, arguments_of, called, compiled, loss_of

TABLE = {entry["name"]: entry for entry in debias.objectives()}
OVER_ANCHORS = [name for name in NAMES if TABLE[name]["kind"] != "regulariser"]
WITH_TEMPERATURE = [name for name in NAMES if TABLE[name]["options"] and TABLE[name]["options"][0]["name"] == "temperature"]


@pytest.mark.parametrize("name", OVER_ANCHORS)
def test_losses_of_anchors_sum_to_the_sum_and_average_to_the_mean(name):
    z, *rest = arguments_of(name)
    mean, total, none = (called(loss_of(name, reduction=reduction, engine="dense"), name, z, *rest) for reduction in ("mean", "sum", "none"))
    used = called_loss(name, z, rest).diagnostics.anchors_used
    assert none.shape == (used,) and total.item() == pytest.approx(mean.item() * used, rel=1e-12)
    assert none.sum().item() == pytest.approx(total.item(), rel=1e-12)
    expected, = torch.autograd.grad(total, z)
    found, = torch.autograd.grad(none.sum(), z)
    torch.testing.assert_close(found, expected, rtol=1e-10, atol=1e-12)


def called_loss(name, z, rest, **options):
    loss = loss_of(name, **options)
    called(loss, name, z, *rest)
    return loss


@pytest.mark.parametrize("engine", ["dense", "blocked", "auto"])
@pytest.mark.parametrize("name", OVER_ANCHORS)
def test_any_weights_of_the_losses_of_anchors_may_be_differentiated(name, engine):
    if engine == "blocked" and TABLE[name]["kind"] == "logits":
        engine = "auto"
    z, *rest = arguments_of(name)
    loss = loss_of(name, reduction="none", engine=engine, **({"detach_weights": False} if name == "bayesian" else {}))
    weights = torch.linspace(-1, 2, len(called(loss, name, z, *rest)), dtype=z.dtype)
    assert torch.autograd.gradcheck(lambda z: called(loss, name, z, *rest) @ weights, (z,))


@compiled
def test_losses_of_anchors_of_float32_come_from_the_tile_engine():
    z, *_ = arguments_of("infonce", torch.float32)
    loss = debias.InfoNCELoss(reduction="none")
    losses = loss(z)
    assert loss.fused and losses.requires_grad and not loss.per_anchor.requires_grad
    weights = torch.rand(len(losses))
    found, = torch.autograd.grad(losses @ weights, z)
    exact = z.detach().double().requires_grad_()
    expected, = torch.autograd.grad(loss(exact) @ weights.double(), exact)
    torch.testing.assert_close(found.double(), expected, rtol=1e-3, atol=1e-5)


def test_an_anchor_left_out_has_loss_0_and_no_gradient():
    z = torch.randn(4, 3, dtype=torch.float64, requires_grad=True)
    loss = debias.CrossEntropyLoss(reduction="none")
    losses = loss(z, torch.tensor([0, -1, 2, 1]))
    assert losses[1] == 0 and loss.anchors_used == 3
    losses.sum().backward()
    assert (z.grad[1] == 0).all() and (z.grad[0] != 0).all() and z.grad.isfinite().all()


def test_keys_have_losses_of_anchors_too_whatever_becomes_of_the_queue():
    q, k, queue = torch.randn(4, 6, dtype=torch.float64, requires_grad=True), torch.randn(4, 6).double(), torch.randn(9, 6).double()
    weights = torch.rand(4, dtype=torch.float64)
    expected, = torch.autograd.grad(sum(weight * debias.InfoNCELoss()(q[i:i + 1], k[i:i + 1], keys=queue)
                                        for i, weight in enumerate(weights)), q)
    losses = debias.InfoNCELoss(reduction="none")(q, k, keys=queue)
    queue.zero_()
    found, = torch.autograd.grad(losses @ weights, q)
    torch.testing.assert_close(found, expected)


def test_losses_of_anchors_may_be_differentiated_twice_by_the_dense_engine():
    z, *_ = arguments_of("infonce")
    loss = debias.InfoNCELoss(reduction="none", engine="dense")
    assert torch.autograd.gradgradcheck(lambda z: loss(z), (z,))


@pytest.mark.parametrize("options, words", [({"reduction": "avg"}, "reduction.*avg"), ({"reduction": "menn"}, "did you mean 'mean'")])
def test_unknown_reductions_are_refused(options, words):
    with pytest.raises(ValueError, match=words):
        debias.InfoNCELoss(**options)


def test_regularisers_have_no_losses_of_anchors():
    with pytest.raises(ValueError, match="no losses of anchors"):
        debias.FairKLLoss(reduction="none")


def test_the_temperature_is_the_one_positional_option():
    assert debias.InfoNCELoss(0.07).options["temperature"] == 0.07
    assert debias.SupConLoss(0.2, form="in").options == debias.SupConLoss(temperature=0.2, form="in").options
    for mistaken in (lambda: debias.InfoNCELoss(0.1, 0.2), lambda: debias.InfoNCELoss(0.1, temperature=0.1), lambda: debias.FairKLLoss(0.1)):
        with pytest.raises(TypeError, match="by keyword"):
            mistaken()


CASES = [(name, options) for name in WITH_TEMPERATURE for options in ({}, {"base_temperature": 0.3})]
CASES += [("debiased_negatives", {"tau_plus": 0.6, "clamp": clamp}) for clamp in ("floor", "fallback", "positive", "none")]
CASES += [("hard_negatives", {"tau_plus": 0.6}), ("hard_negatives", {"clamp": "none", "beta": 0.5})]
CASES += [("debiased_positives", {"tau_plus": 0.6, "guard": guard}) for guard in ("floor", "fallback", "none")]
CASES += [("bayesian", {"form": "paper", "detach_weights": False}), ("supcon", {"form": "in"})]


@pytest.mark.parametrize("name, options", CASES)
def test_a_learnt_temperature_has_the_gradient_of_finite_differences(name, options):
    z, *rest = arguments_of(name)
    if name in ("bayesian", "hard_negatives"):
        options = {"detach_weights": False, **options}
    t = torch.tensor(0.4, dtype=torch.float64, requires_grad=True)
    plain = called(loss_of(name, temperature=0.4, engine="dense", **options), name, z, *rest)
    learnt = called(loss_of(name, temperature=t, **options), name, z, *rest)
    assert abs(plain.item() - learnt.item()) < 1e-11 * max(1, abs(plain.item()))
    for got, want in zip(torch.autograd.grad(learnt, z), torch.autograd.grad(plain, z)):
        torch.testing.assert_close(got, want, rtol=1e-9, atol=1e-11)
    assert torch.autograd.gradcheck(lambda t: called(loss_of(name, temperature=t, **options), name, z.detach(), *rest), (t,))


def test_a_temperature_that_is_a_parameter_is_the_modules():
    t = torch.nn.Parameter(torch.tensor(0.5))
    loss = debias.InfoNCELoss(t)
    assert [name for name, _ in loss.named_parameters()] == ["temperature"] and "temperature=learnt" in repr(loss)
    z0, z1 = torch.randn(6, 4), torch.randn(6, 4)
    before = loss(z0, z1).item()
    assert loss.diagnostics.anchors_used == 12
    with torch.no_grad():
        t.fill_(0.25)
    assert loss(z0, z1).item() == pytest.approx(debias.InfoNCELoss(0.25)(z0, z1).item(), rel=1e-5) != before
    with pytest.raises(ValueError, match="learnt"):
        loss.set(temperature=0.1)
    with pytest.raises(ValueError, match="one number"):
        debias.InfoNCELoss(torch.nn.Parameter(torch.ones(2)))


def test_autocast_changes_nothing_where_a_temperature_is_learnt():
    z0, z1 = torch.randn(6, 4), torch.randn(6, 4)
    for loss in (debias.InfoNCELoss, debias.DebiasedNegativesLoss):
        learnt = loss(torch.nn.Parameter(torch.tensor(0.5)))
        with torch.autocast("cpu", dtype=torch.bfloat16):
            inside = learnt(z0, z1)
        assert inside.dtype == torch.float32 and inside.item() == learnt(z0, z1).item()


def test_a_temperature_may_have_one_dimension_of_one():
    z0, z1 = torch.randn(6, 4), torch.randn(6, 4)
    for loss in (debias.InfoNCELoss, debias.DebiasedNegativesLoss):
        value = loss(torch.nn.Parameter(torch.tensor([0.5])), base_temperature=0.2)(z0, z1)
        assert value.shape == () and value.item() == pytest.approx(loss(0.5, base_temperature=0.2)(z0, z1).item(), rel=1e-5)


def test_a_temperature_may_come_with_each_call_and_reaches_a_queue():
    q, k, queue = torch.randn(4, 6), torch.randn(4, 6), torch.randn(9, 6)
    log_t = torch.tensor(math.log(0.2), requires_grad=True)
    loss = debias.InfoNCELoss()
    value = loss(q, k, keys=queue, temperature=log_t.exp())
    assert value.item() == pytest.approx(debias.InfoNCELoss(0.2)(q, k, keys=queue).item(), rel=1e-5)
    value.backward()
    assert log_t.grad != 0
    with pytest.raises(TypeError, match="temperature"):
        debias.FairKLLoss()(torch.randn(4, 3), [0, 1, 0, 1], [0, 1, 1, 0], temperature=log_t)


def test_labels_may_be_of_any_integral_kind():
    z = torch.randn(6, 2, 4)
    labels = [0, 1, -1, 0, 1, 0]
    expected = debias.SupConLoss()(z, torch.tensor(labels)).item()
    kinds = [labels, tuple(labels), numpy.array(labels), numpy.array(labels, dtype=numpy.int16), torch.tensor(labels, dtype=torch.int32),
             torch.tensor(labels, dtype=torch.int8), torch.tensor([labels, labels]).T[:, 0]]
    assert [debias.SupConLoss()(z, kind).item() for kind in kinds] == [expected] * len(kinds)
    flags = torch.tensor([True, False, True, True, False, True])
    assert debias.SupConLoss()(z, flags).item() == debias.SupConLoss()(z, flags.long()).item()
    assert debias.InfoNCELoss()(z, ids=range(6)).item() == pytest.approx(debias.InfoNCELoss()(z).item(), rel=1e-6)


@pytest.mark.parametrize("call, error, words", [
    (lambda z: debias.SupConLoss()(z, torch.zeros(4)), ValueError, "labels: expected integers, found float32 of shape"),
    (lambda z: debias.SupConLoss()(z, ["a", "b", "c", "d"]), TypeError, "labels: expected integers"),
    (lambda z: debias.SupConLoss()(z, 3), ValueError, "one integer for each sample"),
    (lambda z: debias.SupConLoss()(z, torch.zeros(4, 1, dtype=torch.int64)), ValueError, "one integer for each sample"),
    (lambda z: debias.SupConLoss()(z, [0, 1, 0]), ValueError, r"labels: expected int64 of shape \[4\]"),
    (lambda z: debias.SupConLoss()(z.numpy(), [0, 1, 0, 1]), TypeError, "expected a torch.Tensor, found ndarray"),
    (lambda z: debias.InfoNCELoss()(z, "labels"), TypeError, "views: expected a torch.Tensor, found str"),
    (lambda z: debias.InfoNCELoss()(z, [0, 1, 0, 1]), TypeError, "views: expected a torch.Tensor, found list"),
    (lambda z: debias.InfoNCELoss()(z, z.double()), ValueError, "different types: float32, float64"),
    (lambda z: debias.InfoNCELoss()(z[0]), ValueError, r"expected views of shape \[B, D\]"),
    (lambda z: debias.InfoNCELoss()(z[:0], z[:0]), ValueError, "non-empty"),
    (lambda z: debias.InfoNCELoss()(z, z, keys=[[1, 2, 3]]), TypeError, "keys: expected a torch.Tensor"),
    (lambda z: debias.InfoNCELoss()(z, z, keys=torch.ones(3, 3, dtype=torch.int32)), ValueError, "keys: expected floating-point"),
    (lambda z: debias.SoftConLoss()(z, [0, 1, 0, 1], weights="b"), TypeError, "weights: expected numbers"),
    (lambda z: debias.InfoNCELoss()(None, z), TypeError, "found NoneType"),
    (lambda z: debias.SupConLoss()(z[:0], []), ValueError, "non-empty"),
    (lambda z: debias.InfoNCELoss()(z, z, temperature=-0.1), ValueError, "temperature: expected a number above 0"),
    (lambda z: debias.InfoNCELoss()(z, z, temperature=torch.ones(3)), ValueError, "temperature: expected one number"),
    (lambda z: debias.InfoNCELoss(memory_budget="1GB"), ValueError, "memory_budget: expected bytes"),
    (lambda z: debias.metrics.group_metrics(None, [0], [0]), TypeError, "predictions: none were given"),
    (lambda z: debias.metrics.knn(z, [], z), ValueError, "4 rows and 0 labels"),
])
def test_what_is_wrong_is_said_in_one_line(call, error, words):
    with pytest.raises(error, match=words) as caught:
        call(torch.randn(4, 3))
    assert "\n" not in str(caught.value) and "schema" not in str(caught.value)


def test_embeddings_of_any_kind():
    z = torch.randn(6, 4, 5).transpose(1, 2)[:, :, ::2]  # [6, 5, 2], not contiguous
    assert debias.InfoNCELoss()(z).item() == pytest.approx(debias.InfoNCELoss()(z.contiguous()).item(), rel=1e-6)
    assert not debias.InfoNCELoss()(z).requires_grad
    assert debias.InfoNCELoss()(torch.randn(1, 4), torch.randn(1, 4)).item() == 0
    assert debias.SupConLoss()(torch.randn(1, 4), [3]).item() == 0
    assert debias.InfoNCELoss()(z.double()).dtype == torch.float64


@pytest.mark.skipif(not FAKE_CUDA, reason="torch 2.9 looks for a device where scripts/torch_stand_ins.py has none")
def test_rows_and_labels_of_a_device_stay_there():
    """No device is here: tensors without data, which say where they would be."""
    from torch._subclasses.fake_tensor import FakeTensorMode
    with FakeTensorMode():
        z, labels = torch.empty(6, 2, 4, device="cuda"), torch.zeros(6, dtype=torch.int32)
        for reduction in ("mean", "none"):
            assert debias.SupConLoss(reduction=reduction)(z, labels).device.type == "cuda"
        loss = debias.InfoNCELoss()
        z0, z1 = torch.empty(2, 6, 4, device="cuda").unbind()
        assert loss(z0, z1).shape == () and loss.per_anchor.device.type == "cuda" and loss.per_anchor.shape == (12,)
        with pytest.raises(ValueError, match="different devices"):
            loss(z0, torch.empty(6, 4))
        with pytest.raises(ValueError, match="weights: on cpu"):
            debias.SoftConLoss()(z, labels, weights=torch.ones(6, 2))


def test_the_diagnostics_names_the_engine():
    z0, z1 = torch.randn(6, 4), torch.randn(6, 4)
    for engine in ("fused", "blocked", "dense")[debias.about()["backend"] == "plain":]:
        loss = debias.InfoNCELoss(engine=engine)
        loss(z0, z1)
        assert loss.diagnostics.engine == engine and loss.fused == (engine == "fused")
    floor = debias.DebiasedNegativesLoss(torch.nn.Parameter(torch.tensor(0.5)))
    floor(z0, z1)
    assert floor.diagnostics.engine == ("fused" if debias.about()["backend"] == "compiled" else "dense")


class Step(torch.nn.Module):
    def __init__(self, loss):
        super().__init__()
        self.encoder, self.loss = torch.nn.Linear(5, 4), loss

    def forward(self, x0, x1):
        return self.loss(self.encoder(x0), self.encoder(x1))


@pytest.mark.parametrize("loss", [debias.DebiasedNegativesLoss(), debias.InfoNCELoss(torch.nn.Parameter(torch.tensor(0.3))),
                                  debias.InfoNCELoss(reduction="sum"), debias.HardNegativesLoss(reduction="none")])
def test_a_module_compiles_without_a_break(loss):
    torch.manual_seed(0)
    step, x = Step(loss), torch.randn(2, 6, 5)
    compiled = torch.compile(step, backend="aot_eager", fullgraph=True)
    expected = torch.autograd.grad(step(*x).sum(), list(step.parameters()))
    found = torch.autograd.grad(compiled(*x).sum(), list(step.parameters()))
    for got, want in zip(found, expected):
        torch.testing.assert_close(got, want)
    assert loss.diagnostics.anchors == 12


@pytest.mark.skipif(not pathlib.Path(sysconfig.get_path("include"), "Python.h").exists(), reason="torch's compiler needs Python.h")
@pytest.mark.parametrize("loss, views", [(debias.DebiasedNegativesLoss(clamp="none"), 2), (debias.DebiasedNegativesLoss(), 3),
                                         (debias.DebiasedPositivesLoss(), 2), (debias.HardNegativesLoss(), 2)])
def test_gradients_of_compiled_code(loss, views):
    """With the compiler that torch.compile takes by itself, whose plan of memory had broken the gradients of the first three."""
    torch.manual_seed(0)
    z = torch.nn.functional.normalize(1 + torch.randn(60, 1, 16) + torch.randn(60, views, 16), dim=-1)
    found = []
    for function in (loss, torch.compile(loss)):
        rows = z.clone().requires_grad_()
        function(rows).backward()
        found.append(rows.grad)
    torch.testing.assert_close(*found, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("loss", [debias.InfoNCELoss(), debias.InfoNCELoss(reduction="none")])
def test_a_module_is_exported_for_any_batch(loss):
    batch = torch.export.Dim("batch", min=2, max=512)
    shapes = {"x0": {0: batch}, "x1": {0: batch}}
    step, x = Step(loss), torch.randn(2, 6, 5)
    program = torch.export.export(step, tuple(x), dynamic_shapes=shapes)
    more = torch.randn(2, 9, 5)
    torch.testing.assert_close(program.module()(*more), step(*more))


def test_knn_is_the_vote_of_the_nearest():
    rows = torch.nn.functional.normalize(torch.randn(40, 5), dim=1)
    labels, queries = torch.randint(0, 3, (40,)), torch.randn(7, 5)
    cosines = torch.nn.functional.normalize(queries, dim=1) @ rows.T
    nearest = cosines.topk(9)
    votes = torch.zeros(7, 3).scatter_add_(1, labels[nearest.indices], (nearest.values / 0.2).exp())
    found = debias.metrics.knn(rows, labels.tolist(), queries, k=9, temperature=0.2)
    assert found.tolist() == votes.argmax(1).tolist()
    assert debias.metrics.knn_accuracy(rows, labels, rows, labels, k=1) == 1
    with pytest.raises(ValueError, match="k is 50"):
        debias.metrics.knn(rows, labels, queries, k=50)
    with pytest.raises(ValueError, match="width"):
        debias.metrics.knn(rows, labels, queries[:, :3])
    with pytest.raises(ValueError, match="at least 1"):
        debias.metrics.knn(rows, labels, queries, k=0)


def test_group_metrics_by_hand():
    predictions, labels, bias = [0, 0, 1, 1, 0, 1], [0, 0, 0, 1, 1, 1], [0, 1, 1, 1, 0, 1]
    found = debias.metrics.group_metrics(predictions, labels, bias, aligned="same", replicates=50)
    assert found["acc1"] == pytest.approx(4 / 6) and found["worst_group_acc"] == 0
    assert found["aligned_acc"] == 1 and found["conflicting_acc"] == pytest.approx(1 / 3)
    assert found["unbiased_acc"] == pytest.approx((1 + 1 / 2 + 0 + 1) / 4)
    assert found["demographic_parity_difference"] == pytest.approx(3 / 4)
    low, high = found["intervals"]["acc1"]
    assert 0 <= low <= 4 / 6 <= high <= 1
    assert debias.metrics.group_metrics(predictions, labels, bias, aligned={0: [0], 1: 1})["aligned_acc"] == found["aligned_acc"]
    assert "aligned_acc" not in debias.metrics.group_metrics(predictions, labels, bias)
    for mistaken, words in (({"empty": "skp"}, "did you mean 'skip'"), ({"aligned": "other"}, "aligned"), ({"min_count": 0}, "at least 1")):
        with pytest.raises(ValueError, match=words):
            debias.metrics.group_metrics(predictions, labels, bias, **mistaken)
    with pytest.raises(ValueError, match="3 predictions; give one of each"):
        debias.metrics.group_metrics(predictions[:3], labels, bias)


def test_the_class_prior():
    found = debias.prior.from_labels([0, 0, 1, 1, -1])
    assert found.tau_plus == pytest.approx(4 / 12) and (found.images, found.classes, found.method) == (4, 2, "labels")
    z = torch.randn(200, 8)
    bound = debias.prior.from_views(z, z + 0.3 * torch.randn(200, 8))
    assert bound.method == "views" and 0 <= bound.tau_plus <= bound.high < 1 and bound.low == 0 and bound.assumptions
    with pytest.raises(ValueError, match="at least 50"):
        debias.prior.from_views(z[:10], z[:10])
    with pytest.raises(ValueError):
        debias.prior.from_labels([1])


@pytest.mark.parametrize("name", ["SupConLoss", "EpsSupInfoNCELoss", "EpsSupConLoss", "BiasConLoss"])
@pytest.mark.parametrize("labels, count", [(range(6), 0), ([-1] * 6, 0), ([0, 0, 1, 2, 3, 4], 2), ([0, 0, 0, 1, 1, -1], 5)])
def test_a_batch_without_positives_says_so(name, labels, count):
    loss, bias = getattr(debias, name)(), torch.arange(6) % 2
    rows = torch.randn(6, 4, generator=torch.Generator().manual_seed(0))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        values = [loss(rows, list(labels), bias) for _ in range(2)]
    assert loss.diagnostics.anchors_with_positives == loss.anchors_with_positives == count
    said = [str(one.message) for one in caught if "has a positive" in str(one.message)]
    assert len(said) == (count == 0) and all("none of 6 anchors has a positive (anchors_with_positives: 0), so the loss is 0" in one for one in said)
    assert values[0].item() == values[1].item() and (count > 0 or values[0].item() == 0)


def test_views_and_keys_are_positives():
    rows = torch.randn(6, 4, generator=torch.Generator().manual_seed(0))
    loss = debias.SupConLoss()
    loss([rows, rows + 1], range(6))
    assert loss.anchors_with_positives == 12
    loss(rows, range(6), keys=torch.eye(4), key_labels=[0, 0, 5, 9])
    assert loss.anchors_with_positives == 2
