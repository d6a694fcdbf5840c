"""Options as attributes, what help() lists, and calls whose mistakes would pass without a word."""

import copy
import inspect
import pickle

import pytest
import torch

import debias


def rows(*sizes):
    return [torch.randn(size, 5, dtype=torch.float64) for size in sizes]


def test_writing_an_option_puts_it_in_force():
    z0, z1 = rows(6, 6)
    loss = debias.DebiasedNegativesLoss()
    before = loss(z0, z1).item()
    loss.tau_plus = 0.02
    assert loss.tau_plus == loss.options["tau_plus"] == 0.02
    assert loss(z0, z1).item() == debias.DebiasedNegativesLoss(tau_plus=0.02)(z0, z1).item() != before
    with pytest.raises(ValueError, match=r"tau_plus.*\[0, 1\)"):
        loss.tau_plus = 1.5
    with pytest.raises(ValueError, match="did you mean 'floor'"):
        loss.clamp = "flor"
    assert loss.tau_plus == 0.02 and loss.clamp == "floor"


def test_writing_what_all_losses_have_is_checked():
    loss = debias.InfoNCELoss()
    for name, bad, words in (("reduction", "menn", "did you mean 'mean'"), ("engine", "dens", "did you mean 'dense'"), ("memory_budget", -1, "bytes")):
        with pytest.raises(ValueError, match=words):
            setattr(loss, name, bad)
    loss.reduction = "sum"
    z0, z1 = rows(4, 4)
    assert loss(z0, z1).item() == pytest.approx(8 * debias.InfoNCELoss()(z0, z1).item())


def test_the_temperature_reads_as_what_it_is():
    assert debias.InfoNCELoss(0.07).temperature == 0.07 and debias.InfoNCELoss().temperature == 0.5
    t = torch.nn.Parameter(torch.tensor(0.3, dtype=torch.float64))
    learnt, tensor = debias.InfoNCELoss(t), debias.InfoNCELoss(torch.tensor(0.3, requires_grad=True))
    assert learnt.temperature is t and list(learnt.state_dict()) == ["temperature"] and tensor.temperature.item() == pytest.approx(0.3)
    with pytest.raises(TypeError, match="parameter 'temperature'"):
        learnt.temperature = 0.2
    with pytest.raises(ValueError, match="learnt"):
        tensor.temperature = 0.2
    z0, z1 = rows(6, 6)
    learnt(z0, z1).backward()
    assert t.grad != 0
    for other in (copy.deepcopy(learnt), pickle.loads(pickle.dumps(learnt))):
        assert other.temperature == t and other(z0, z1).item() == learnt(z0, z1).item()
    learnt.load_state_dict({"temperature": torch.tensor(0.9, dtype=torch.float64)})
    assert learnt.temperature.item() == 0.9
    plain = debias.InfoNCELoss()
    plain.temperature = 0.2
    assert plain(z0, z1).item() == debias.InfoNCELoss(0.2)(z0, z1).item()


def test_keys_that_are_the_batchs_own_rows_need_ids():
    q, k, queue = rows(6, 6, 9)
    loss = debias.InfoNCELoss(engine="dense")
    for keys in (k, k.clone()):
        with pytest.raises(ValueError, match="ids= and key_ids=.*queue") as caught:
            loss(q, k, keys=keys)
        assert "\n" not in str(caught.value)
    ids = torch.arange(6)
    named = loss(q, k, keys=k, ids=ids, key_ids=ids).item()
    s = torch.nn.functional.normalize(q, dim=1) @ torch.nn.functional.normalize(k, dim=1).T / 0.5
    assert named == pytest.approx(torch.nn.functional.cross_entropy(s, ids).item())
    assert loss(q, k, keys=k, ids=ids, key_ids=torch.full((6,), -1)).item() > named  # a queue of six rows
    assert loss(q, k, keys=queue).isfinite()


def test_help_lists_only_what_the_class_takes():
    takes = {debias.InfoNCELoss: "views labels ids keys key_labels key_ids temperature", debias.HardNegativesLoss: "views ids keys key_labels key_ids temperature",
             debias.SupConLoss: "features labels ids keys key_labels key_ids temperature", debias.FairKLLoss: "features labels bias_labels weights ids",
             debias.BiasConLoss: "features labels bias_labels ids temperature", debias.SoftConLoss: "features labels bias_labels weights ids temperature",
             debias.CrossEntropyLoss: "logits labels", debias.BiasBalancedLoss: "logits labels bias_labels prior"}
    for loss, names in takes.items():
        assert list(inspect.signature(loss.forward).parameters)[1:] == names.split(), loss
        for name in ("keys", "weights", "prior"):
            assert (f"\n{name}: " in loss.__doc__) == (name in names.split()), (loss, name)


def test_what_a_class_would_not_read_is_refused():
    with pytest.raises(TypeError, match="SupConLoss: weights: it takes none"):
        debias.SupConLoss()(torch.randn(4, 3), [0, 1, 0, 1], weights=torch.ones(4, 2))
    with pytest.raises(TypeError, match="CrossEntropyLoss: prior: it takes none"):
        debias.CrossEntropyLoss()(torch.randn(4, 3), [0, 1, 0, 1], prior=torch.ones(3, 1))


@pytest.mark.parametrize("call, words", [
    (lambda: debias.HardNegativesLoss(betta=1), "did you mean 'beta'"),
    (lambda: debias.InfoNCELoss(temprature=0.1), "did you mean 'temperature'"),
    (lambda: debias.FairKLLoss(poling="batch"), "did you mean 'pooling'"),
    (lambda: debias.InfoNCELoss().set(temperatur=0.1), "did you mean 'temperature'"),
])
def test_a_misspelt_option_is_answered_with_the_nearest(call, words):
    with pytest.raises(TypeError, match=words):
        call()
