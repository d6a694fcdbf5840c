"""What the losses are as modules: signatures, refusals, copies, use in a training loop, and the operators below."""

import copy
import inspect
import io
import pickle

import pytest
import torch

import debias
from test_values import NAMES, arguments_of, called, loss_of


def test_every_objective_is_a_class_with_its_options_as_keywords():
    for entry in debias.objectives():
        loss = loss_of(entry["name"])
        known = list(inspect.signature(type(loss)).parameters)
        assert known[: len(entry["options"])] == [option["name"] for option in entry["options"]]
        assert {"normalize", "engine", "memory_budget", "variant"} <= set(known)
        assert type(loss).__name__ in debias.__all__
        for option in entry["options"]:
            assert option["help"] in type(loss).__doc__


def test_an_unknown_keyword_is_a_type_error_with_the_nearest_name():
    with pytest.raises(TypeError, match="did you mean 'tau_plus'"):
        debias.DebiasedNegativesLoss(tau_pluss=0.1)
    with pytest.raises(TypeError, match="unknown option 'gamma'"):
        debias.InfoNCELoss().set(gamma=1)


@pytest.mark.parametrize("options, words", [
    ({"temperature": 0}, r"temperature.*\[0\.001, 100\]"),
    ({"temperature": float("nan")}, "temperature.*number"),
    ({"tau_plus": 1.0}, r"tau_plus.*\[0, 1\)"),
    ({"clamp": "flor"}, "did you mean 'floor'"),
    ({"variant": "mine"}, "variant.*mine"),
    ({"engine": "tile"}, "engine.*tile"),
])
def test_what_is_out_of_range_is_a_value_error_in_the_words_of_the_library(options, words):
    with pytest.raises(ValueError, match=words) as caught:
        debias.DebiasedNegativesLoss(**options)
    assert "\n" not in str(caught.value)


def test_a_queue_is_what_moco_has():
    q, k, queue = (torch.nn.functional.normalize(torch.randn(n, 6, dtype=torch.float64), dim=1) for n in (5, 5, 9))
    for tensor in (q, k, queue):
        tensor.requires_grad_(True)
    logits = torch.cat([(q * k).sum(1, keepdim=True), q @ queue.T], 1) / 0.2
    expected = torch.nn.functional.cross_entropy(logits, torch.zeros(5, dtype=torch.int64))
    wanted = torch.autograd.grad(expected, (q, k, queue))
    for engine in ("dense", "blocked"):
        loss = debias.InfoNCELoss(temperature=0.2, normalize=False, engine=engine)(q, k, keys=queue)
        assert abs(loss.item() - expected.item()) < 1e-12
        for got, want in zip(torch.autograd.grad(loss, (q, k, queue)), wanted):
            assert (got - want).abs().max() < 1e-12


def test_gradients_of_keys_pass_the_norms():
    q, k, queue = (torch.randn(n, 4, dtype=torch.float64, requires_grad=True) for n in (3, 3, 5))
    loss = debias.DebiasedNegativesLoss(tau_plus=0.05)
    assert torch.autograd.gradcheck(lambda *rows: loss(rows[0], rows[1], keys=rows[2]), (q, k, queue))


def test_keys_of_the_anchors_sample_are_no_negatives_and_labels_find_positives():
    q, queue = torch.randn(4, 6), torch.randn(8, 6)
    ids, key_ids = torch.arange(4), torch.tensor([0, 1, 2, 3, -1, -1, 9, 9])
    assert debias.InfoNCELoss()(q, ids=ids, keys=queue, key_ids=key_ids).isfinite()
    with pytest.raises(ValueError, match="has no positive"):
        debias.InfoNCELoss()(q, ids=ids + 50, keys=queue, key_ids=key_ids)
    labels, key_labels = torch.tensor([0, 1, 0, 1]), torch.tensor([0, 1] * 4)
    assert debias.SupConLoss()(q, labels, keys=queue, key_labels=key_labels).isfinite()
    with pytest.raises(ValueError, match="labels of the keys"):
        debias.SupConLoss()(q, labels, keys=queue)
    with pytest.raises(ValueError, match="takes no keys"):
        debias.BiasConLoss()(q, labels, labels, keys=queue)
    with pytest.raises(ValueError, match="as many dimensions"):
        debias.InfoNCELoss()(q, q, keys=queue[:, :3])


def test_refusals_of_a_call():
    z = torch.randn(4, 3)
    with pytest.raises(ValueError, match="infonce.*2 views"):
        debias.InfoNCELoss()(z)
    with pytest.raises(ValueError, match="one shape"):
        debias.InfoNCELoss()(z, torch.zeros(4))
    with pytest.raises(TypeError, match="none were given"):
        debias.InfoNCELoss()()
    with pytest.raises(ValueError, match="labels"):
        debias.SupConLoss()(z, torch.zeros(5, dtype=torch.int64))
    with pytest.raises(ValueError, match="expected integers"):
        debias.SupConLoss()(z, torch.zeros(4))
    with pytest.raises(ValueError, match="bias"):
        debias.BiasConLoss()(z, torch.zeros(4, dtype=torch.int64))
    with pytest.raises(ValueError, match="needs labels"):
        debias.InfoNCELoss(drop_false_negatives=True)(z, z)
    with pytest.raises(ValueError, match="no fused backend"):
        debias.CrossEntropyLoss(engine="fused")(z, torch.zeros(4, dtype=torch.int64))
    with pytest.raises(ValueError, match="floating-point"):
        debias.InfoNCELoss()(torch.ones(4, 2, 3, dtype=torch.int64))


def test_variants_and_schedules():
    assert debias.FairKLLoss(variant="authors").options["mode"] == "authors"
    assert debias.FairKLLoss().options["mode"] == "authors" and debias.FairKLLoss(variant="paper").options["mode"] == "kl"
    assert debias.FairKLLoss(variant="original_code").options == debias.FairKLLoss(variant="authors").options
    assert debias.FairKLLoss(variant="default").options == debias.FairKLLoss().options
    assert debias.BayesianLoss(variant="original_code").options == debias.BayesianLoss(variant="authors").options
    assert debias.FairKLLoss(pooling="anchor").mode == debias.FairKLLoss().set(pooling="anchor").mode == "mean"
    loss = debias.HardNegativesLoss(beta=2)
    z, *_ = arguments_of("hard_negatives")
    before = loss(z).item()
    assert loss.set(beta=0).options["beta"] == 0
    assert loss(z).item() == pytest.approx(debias.DebiasedNegativesLoss()(z).item(), abs=1e-12) != before
    with pytest.raises(ValueError, match="beta"):
        loss.set(beta=-1)


@pytest.mark.parametrize("name", NAMES)
def test_copies_and_pickles_compute_the_same(name):
    z, *rest = arguments_of(name)
    loss = loss_of(name)
    value = called(loss, name, z, *rest).item()
    stored = io.BytesIO()
    torch.save(loss, stored)
    stored.seek(0)
    for other in (copy.deepcopy(loss), pickle.loads(pickle.dumps(loss)), torch.load(stored, weights_only=False)):
        assert called(other, name, z, *rest).item() == value and repr(other) == repr(loss)
    assert not loss.state_dict() and not list(loss.parameters())


def test_a_training_loop_in_which_the_loss_falls():
    torch.manual_seed(0)
    images = torch.randn(64, 20)
    encoder = torch.nn.Sequential(torch.nn.Linear(20, 32), torch.nn.ReLU(), torch.nn.Linear(32, 16))
    criterion = debias.DebiasedNegativesLoss(temperature=0.5, tau_plus=0.1)
    optimizer = torch.optim.Adam(encoder.parameters(), lr=1e-2)
    history = []
    for _ in range(30):
        z0, z1 = (encoder(images + 0.3 * torch.randn_like(images)) for _ in range(2))
        loss = criterion(z0, z1)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        history.append(loss.item())
    assert history[-1] < history[0] - 0.5


def test_nothing_is_recorded_without_grad():
    z, *_ = arguments_of("infonce")
    with torch.no_grad():
        assert not debias.InfoNCELoss()(z).requires_grad
    with torch.inference_mode():
        value = debias.InfoNCELoss()(torch.randn(4, 2, 3))
    assert not value.requires_grad


@pytest.mark.parametrize("mode", ["authors", "mean", "stats", "kl", "jeffreys", "lognormal"])
def test_fairkl_works_in_inference_mode_on_two_threads(mode):
    threads = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        z, labels, bias = torch.randn(40, 6), torch.arange(40) % 3, torch.arange(40) % 4
        expected = debias.FairKLLoss(mode=mode)(z, labels, bias).item()
        with torch.inference_mode():
            assert debias.FairKLLoss(mode=mode)(z.clone(), labels, bias).item() == pytest.approx(expected, rel=1e-6)
    finally:
        torch.set_num_threads(threads)


def test_a_compiled_step_is_the_eager_one():
    z, *_ = arguments_of("debiased_negatives", torch.float32)
    loss = debias.DebiasedNegativesLoss()
    step = torch.compile(lambda z: 2 * loss(z), backend="aot_eager", fullgraph=True)
    expected, = torch.autograd.grad(2 * loss(z), z)
    found, = torch.autograd.grad(step(z), z)
    torch.testing.assert_close(found, expected)
