"""The adapters, where the libraries are installed."""

import pytest
import torch

import debias


def pair(count=12):
    torch.manual_seed(2)
    return torch.randn(2, count, 6, dtype=torch.float64).requires_grad_().unbind(0)


def test_open_clips_loss_takes_what_its_loop_gives():
    open_clip = pytest.importorskip("open_clip")
    from debias.integrations.open_clip import TwoTowerClipLoss
    features = dict(zip(("image_features", "text_features"), (torch.nn.functional.normalize(one, dim=1) for one in pair())))
    given = {**features, "logit_scale": torch.tensor(9.0, dtype=torch.float64), "output_dict": True}
    theirs, ours = open_clip.ClipLoss()(**given), TwoTowerClipLoss()(**given)
    assert ours.keys() == theirs.keys()
    assert ours["contrastive_loss"].item() == pytest.approx(theirs["contrastive_loss"].item(), rel=1e-6)
    known = TwoTowerClipLoss()(**given, ids=torch.arange(12) // 2)["contrastive_loss"]
    assert known.item() == debias.TwoTowerLoss()(*features.values(), logit_scale=9.0, ids=torch.arange(12) // 2).item()
    bias = torch.tensor(-4.0, dtype=torch.float64)
    theirs = open_clip.loss.SigLipLoss()(*features.values(), given["logit_scale"], bias)
    assert TwoTowerClipLoss("siglip")(*features.values(), given["logit_scale"], bias).item() == pytest.approx(theirs.item(), rel=1e-6)


def test_sentence_transformers_loss_is_the_mean_of_both_directions():
    losses = pytest.importorskip("sentence_transformers.sentence_transformer.losses")
    from debias.integrations.sentence_transformers import TwoTowerRankingLoss
    a, b = pair()
    theirs = losses.MultipleNegativesRankingLoss(model=None, scale=20.0)
    expected = sum(theirs.compute_loss_from_embeddings(list(columns), None) for columns in ((a, b), (b, a))) / 2
    found = TwoTowerRankingLoss(None)
    value = found.compute_loss_from_embeddings([a, b])
    assert value.item() == pytest.approx(expected.item(), rel=1e-6)
    for got, want in zip(torch.autograd.grad(value, (a, b)), torch.autograd.grad(expected, (a, b))):
        torch.testing.assert_close(got, want, rtol=1e-6, atol=1e-9)
    named = TwoTowerRankingLoss(None, labels_are_ids=True)
    assert named.compute_loss_from_embeddings([a, b], torch.arange(12) // 3).item() == \
        debias.TwoTowerLoss(logit_scale=20.0)(a, b, ids=torch.arange(12) // 3).item()
    with pytest.raises(ValueError, match="columns: expected at least 2"):
        found.compute_loss_from_embeddings([a])
    with pytest.raises(ValueError, match="labels: expected a label column"):
        named.compute_loss_from_embeddings([a, b])


def test_further_columns_are_the_negatives_of_sentence_transformers():
    losses = pytest.importorskip("sentence_transformers.sentence_transformer.losses")
    from debias.integrations.sentence_transformers import TwoTowerRankingLoss
    a, b = pair()
    more = torch.randn(3, 12, 6, dtype=torch.float64).requires_grad_()
    theirs = losses.MultipleNegativesRankingLoss(model=None, scale=20.0)
    expected = (theirs.compute_loss_from_embeddings([a, b, *more], None) + theirs.compute_loss_from_embeddings([b, a], None)) / 2
    value = TwoTowerRankingLoss(None).compute_loss_from_embeddings([a, b, *more])
    assert value.item() == pytest.approx(expected.item(), rel=1e-6)
    for got, want in zip(torch.autograd.grad(value, (a, b, more)), torch.autograd.grad(expected, (a, b, more))):
        torch.testing.assert_close(got, want, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("bias", [None, -3.0, torch.tensor(-3.0, requires_grad=True)])
def test_open_clips_own_arguments_are_taken(bias):
    """Those of open_clip.create_loss for ClipLoss and SigLipLoss, and the bias that a model may give to either."""
    open_clip = pytest.importorskip("open_clip")
    from debias.integrations.open_clip import TwoTowerClipLoss
    own = {"local_loss": True, "gather_with_grad": True, "cache_labels": True, "rank": 0, "world_size": 1, "use_horovod": False}
    a, b = (torch.nn.functional.normalize(one, dim=1) for one in pair())
    theirs, ours = open_clip.ClipLoss(**own), TwoTowerClipLoss(**own)
    values = [loss(a, b, torch.tensor(9.0), logit_bias=bias) for loss in (theirs, ours)]
    assert values[1].item() == pytest.approx(values[0].item(), rel=1e-6)
    if isinstance(bias, torch.Tensor):
        assert torch.autograd.grad(values[1], bias)[0].abs() < 1e-6
    assert TwoTowerClipLoss("siglip", rank=0, world_size=1, dist_impl="gather").objective == "siglip"
    with pytest.raises(ValueError, match="world_size: expected the 1 processes of torch.distributed, got 4; call init_process_group"):
        TwoTowerClipLoss(**{**own, "world_size": 4})(a, b, 9.0)
    with pytest.raises(ValueError, match="use_horovod: expected False"):
        TwoTowerClipLoss(**{**own, "world_size": 4, "use_horovod": True})


def test_a_sentence_model_is_called_for_each_column():
    pytest.importorskip("sentence_transformers")
    from debias.integrations.sentence_transformers import TwoTowerRankingLoss
    encoder = torch.nn.Linear(6, 4).double()
    model = lambda features: {"sentence_embedding": encoder(features["x"])}
    a, b = pair()
    value = TwoTowerRankingLoss(model, "debiased_negatives", tau_plus=0.01)([{"x": a}, {"x": b}], None)
    value.backward()
    assert encoder.weight.grad.abs().sum() > 0
