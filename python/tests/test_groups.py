"""Rows of one group, such as images of one patient: no negatives of each other, and one unit of a bootstrap."""

import math

import pytest
import torch

import debias

IDS = [4, 4, 4, 9, 9, 2, 7, 3]


def views(samples=8, count=2):
    generator = torch.Generator().manual_seed(1)
    return [torch.nn.functional.normalize(torch.randn(samples, 6, generator=generator, dtype=torch.float64)) for _ in range(count)]


def naive_infonce(first, second, ids, t):
    rows, ids = torch.cat([first, second]), ids * 2
    losses = []
    for a in range(len(rows)):
        s = [float(rows[a] @ row) / t for row in rows]
        positive = s[(a + len(first)) % len(rows)]
        losses.append(math.log1p(sum(math.exp(s[j] - positive) for j in range(len(rows)) if ids[j] != ids[a])))
    return sum(losses) / len(losses)


def test_samples_of_one_id_are_no_negatives():
    first, second = views()
    loss = debias.InfoNCELoss(temperature=0.2)
    assert loss(first, second, ids=IDS).item() == pytest.approx(naive_infonce(first, second, IDS, 0.2), abs=1e-12)
    assert loss(first, second).item() == pytest.approx(naive_infonce(first, second, list(range(8)), 0.2), abs=1e-12)
    assert loss(first, second, ids=[1] * 8).item() == 0


@pytest.mark.parametrize("loss", [debias.InfoNCELoss(), debias.DebiasedNegativesLoss(), debias.DebiasedPositivesLoss(), debias.CombinedDebiasedLoss(),
                                  debias.HardNegativesLoss(), debias.BayesianLoss(), debias.EpsInfoNCELoss()], ids=lambda loss: type(loss).__name__)
@pytest.mark.parametrize("engine", ["dense", "blocked"])
def test_every_loss_without_labels_leaves_them_out(loss, engine):
    loss.engine = engine
    first, second = (view.requires_grad_() for view in views())
    keys, key_ids = torch.cat([first, second]).detach(), IDS * 2  # all rows as keys of a queue: those of the anchor's id are no negatives
    both = [loss(*pair, ids=IDS, keys=keys, key_ids=key_ids) for pair in ((first, second), (second, first))]
    found = loss(first, second, ids=IDS)
    assert found.item() == pytest.approx(sum(both).item() / 2, abs=1e-9)
    found.backward()
    assert first.grad.isfinite().all()
    assert loss(first, second, ids=range(8)).item() == pytest.approx(loss(first, second).item(), abs=1e-12)


LABELS = [0, 0, 0, 1, 1, 0, 1, 0]


@pytest.mark.parametrize("loss", [debias.SupConLoss(), debias.EpsSupConLoss(), debias.EpsSupInfoNCELoss(), debias.InfoNCELoss(drop_false_negatives=True),
                                  debias.UnbiasedLoss(negatives="drop")], ids=lambda loss: type(loss).__name__)
def test_losses_over_classes_take_ids_of_one_class(loss):
    first, second = views()
    two = [[first, second]] if isinstance(loss, (debias.SupConLoss, debias.EpsSupConLoss, debias.EpsSupInfoNCELoss)) else [first, second]
    assert loss(*two, labels=LABELS, ids=IDS).item() == pytest.approx(loss(*two, labels=LABELS).item(), abs=1e-12)
    mixed = [1, *LABELS[1:5], -1, *LABELS[6:]]  # id 4 has two classes; the unknown sample is alone
    with pytest.raises(ValueError, match=r"ids: the samples of 1 ids are of different classes or partly unknown \(the first: 4\).*compares classes") as caught:
        loss(*two, labels=mixed, ids=IDS)
    assert "\n" not in str(caught.value)
    keys = {"keys": first, "key_labels": [0, 0, 0, 1, 1, 0, 1, 1], "ids": IDS, "key_ids": IDS}  # id 3 is of class 0 in the batch, 1 in the queue
    with pytest.raises(ValueError, match=r"1 ids are of different classes.*\(the first: 3\)"):
        loss(*two[:1], labels=LABELS, **keys) if len(two) == 1 else loss(first, labels=LABELS, **keys)


@pytest.mark.parametrize("loss", [debias.BiasConLoss(), debias.SoftConLoss(), debias.FairKLLoss(), debias.EnDLoss()], ids=lambda loss: type(loss).__name__)
def test_losses_over_bias_labels_refuse_ids_that_repeat(loss):
    first, second = views()
    given = {"labels": LABELS, "bias_labels": [0, 1] * 4, **({"weights": second} if isinstance(loss, debias.SoftConLoss) else {})}
    with pytest.raises(ValueError, match=r"3 of 8 samples repeat an id \(the first: 4\); it compares classes and bias labels"):
        loss([first, second], ids=IDS, **given)
    assert loss([first, second], ids=[-1, -1, 3, 4, 5, 6, 7, -1], **given).item() == pytest.approx(loss([first, second], **given).item(), rel=1e-12)


def test_supcon_without_labels_does_not_attract_samples_of_one_id():
    with pytest.raises(ValueError, match="leave ids out, give labels, or use a loss without labels"):
        debias.SupConLoss()(list(views()), ids=IDS)


def test_samples_without_an_id_are_alone():
    first, second = views()
    alone, named = [4, 4, -1, -1, -1, 2, 7, -1], [4, 4, 8, 9, 10, 2, 7, 11]
    for given in ({}, {"keys": first, "key_ids": [4, 2, 8, -1, -1, 9, 10, -1]}):
        for loss in (debias.InfoNCELoss(), debias.DebiasedNegativesLoss()):
            wanted = {**given, "key_ids": [4, 2, 20, -1, -1, 21, 22, -1]} if given else {}
            assert loss(first, second, ids=alone, **given).item() == pytest.approx(loss(first, second, ids=named, **wanted).item(), abs=1e-12)


def test_the_prior_of_a_table_takes_its_groups():
    labels, patients, bursts = ["a", "a", "b", "b", "a"], ["x", "x", "y", "y", None], [1, 1, 1, 2, 1]
    table = lambda **group: debias.FeatureTable(torch.zeros(5, 2), labels, **group)
    found = debias.prior.from_labels(table(group=patients))
    assert found.tau_plus == pytest.approx(2 / 8) and found.groups == 3  # the pairs a-a of two patients, of all but two pairs
    both = debias.prior.from_labels(table(group={"patient": patients, "burst": bursts}))
    assert both.tau_plus == pytest.approx(3 / 9) and both.groups == 4
    assert debias.prior.from_labels(table()).tau_plus == pytest.approx(4 / 10)
    assert debias.prior.from_labels(table(group=patients), groups=[-1] * 5).tau_plus == pytest.approx(4 / 10)


def test_the_prior_from_views_compares_rows_of_different_groups():
    generator = torch.Generator().manual_seed(3)
    base = torch.randn(100, 5, generator=generator).repeat_interleave(3, 0)  # bursts of three images
    z = [base + 0.3 * torch.randn(300, 5, generator=generator) for _ in range(2)]
    groups = torch.arange(300) // 3
    found, alone = debias.prior.from_views(*z, groups=groups), debias.prior.from_views(*z)
    assert found.groups == 100 and alone.groups is None and found.high > alone.high
    kept = [row for row in range(300) if row % 5]
    unit = [torch.nn.functional.normalize(view) for view in z]
    pairs = [(a, b) for a in kept for b in kept if groups[a] != groups[b]]
    cosines = unit[0] @ unit[0].T
    random = sum(float(cosines[a, b]) > found.threshold for a, b in pairs) / len(pairs)
    same = sum(float(unit[0][a] @ unit[1][a]) > found.threshold for a in kept) / len(kept)
    assert found.tau_plus == pytest.approx(random / same, rel=1e-3)
    with pytest.raises(ValueError, match="300 images and 2 groups"):
        debias.prior.from_views(*z, groups=[0, 1])


def test_three_views_of_grouped_samples():
    first, second, third = views(count=3)
    loss = debias.InfoNCELoss()
    pairs = [(first, second), (first, third), (second, third)]
    assert loss(first, second, third, ids=IDS).item() == pytest.approx(sum(loss(*pair, ids=IDS).item() for pair in pairs) / 3, abs=1e-12)


def test_the_bootstrap_draws_groups():
    labels, predictions, bias = [0, 1, 0, 1] * 10, ([0, 1, 0, 0] * 10), [0] * 40
    single = debias.metrics.group_metrics(predictions, labels, bias, replicates=300)
    groups = [row for row in range(40) for _ in range(4)]
    copies = [[values[row] for row in groups] for values in (predictions, labels, bias)]
    grouped = debias.metrics.group_metrics(*copies, replicates=300, groups=groups)
    alone = debias.metrics.group_metrics(*copies, replicates=300)
    assert grouped["intervals"]["acc1"] == single["intervals"]["acc1"]
    width = lambda found: found["intervals"]["acc1"][1] - found["intervals"]["acc1"][0]
    assert width(alone) < 0.7 * width(grouped)
    # Three rows of one group are right, one of another is wrong: accuracies 0, 3/4 and 1 with chances 1/4, 1/2 and 1/4.
    by_hand = lambda level: debias.metrics.group_metrics([0, 0, 0, 1], [0] * 4, [0] * 4, replicates=4000, level=level, groups=[4, 4, 4, 9])["intervals"]["acc1"]
    assert by_hand(0.4) == (0.75, 0.75) and by_hand(0.6) == (0, 1)
    assert debias.metrics.group_metrics([0, 1], [0, 0], [0, 0], replicates=9, groups=[3, 3])["intervals"] == {}
    with pytest.raises(ValueError, match="2 labels and 1 groups"):
        debias.metrics.group_metrics([0, 1], [0, 0], [0, 0], replicates=9, groups=[3])


def test_the_prior_counts_pairs_of_different_groups():
    found = debias.prior.from_labels([0, 0, 1, 1], groups=[7, 7, -1, 8])
    assert found.tau_plus == pytest.approx(1 / 5) and found.groups == 3  # of five pairs, rows 2 and 3
    labels = [row % 7 < 4 for row in range(60)]
    single = debias.prior.from_labels([int(label) for label in labels])
    copied = debias.prior.from_labels([int(label) for label in labels for _ in range(4)], groups=[row for row in range(60) for _ in range(4)])
    assert copied.tau_plus == pytest.approx(single.tau_plus, abs=1e-12)
    assert copied.high - copied.low == pytest.approx(single.high - single.low, abs=1e-9)  # as of 60 labels
    # Groups of two classes: the jackknife, written out.
    labels = [int(group % 5 == 0) ^ int(row == 7) for group in range(30) for row in range(8)]
    groups = [row // 8 for row in range(240)]
    shares = []
    for left in range(30):
        kept = [row for row in range(240) if groups[row] != left]
        pairs = [(a, b) for a in kept for b in kept if groups[a] != groups[b]]
        shares.append(sum(labels[a] == labels[b] for a, b in pairs) / len(pairs))
    mean = sum(shares) / 30
    half = 1.96 * math.sqrt(29 / 30 * sum((share - mean)**2 for share in shares))
    mixed = debias.prior.from_labels(labels, groups=groups)
    assert mixed.high - mixed.tau_plus == pytest.approx(half, abs=1e-9)
    with pytest.raises(ValueError, match="one group"):
        debias.prior.from_labels([0, 1, 1], groups=[2, 2, 2])
