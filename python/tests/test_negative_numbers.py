"""-1 means unknown; every other integer is a value, whatever its sign."""

import pytest
import torch

import debias


def _rows(seed, count=12):
    return torch.nn.functional.normalize(torch.randn(count, 8, generator=torch.Generator().manual_seed(seed)), dim=1)


@pytest.mark.parametrize("shift", [-5, -5000, -(1 << 62), 1 << 61])
def test_other_numbers_of_the_same_groups_give_the_same_losses(shift):
    a, b, labels, bias = _rows(1), _rows(2), torch.arange(12) % 3, torch.arange(12) % 2
    z, moved = torch.stack([a, b], 1), labels * 7 + shift
    pairs = [(debias.SupConLoss(temperature=0.2)(z, labels=labels), debias.SupConLoss(temperature=0.2)(z, labels=moved)),
             (debias.FairKLLoss()(z, labels=labels, bias_labels=bias), debias.FairKLLoss()(z, labels=moved, bias_labels=bias * 3 + shift)),
             (debias.TwoTowerLoss()(a, b, ids=labels), debias.TwoTowerLoss()(a, b, ids=moved))]
    for expected, found in pairs:
        torch.testing.assert_close(found, expected)
    assert debias.prior.from_labels(moved).tau_plus == debias.prior.from_labels(labels).tau_plus


def test_minus_one_stays_unknown_beside_them():
    a, b, ids = _rows(1), _rows(2), torch.tensor([-1, -7, -7, -1, 3, 3, -2, 5, 6, 7, 8, 9])
    numbered = torch.tensor([-1, 0, 0, -1, 3, 3, 2, 5, 6, 7, 8, 9])
    torch.testing.assert_close(debias.TwoTowerLoss()(a, b, ids=ids), debias.TwoTowerLoss()(a, b, ids=numbered))


def test_metrics_refuse_them():
    labels = torch.tensor([0, 1, -2, 1])
    with pytest.raises(ValueError, match="bias: 1 integers are below -1, the first -2; -1 alone means unknown"):
        debias.metrics.group_metrics(labels.abs() % 2, labels.abs() % 2, labels)
