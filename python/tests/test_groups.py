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
