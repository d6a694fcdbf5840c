"""The plain half's metrics and priors: known answers, and what the command prints."""

import json
import os
import subprocess

import numpy
import pytest
import torch

import debias
from debias.plain import class_prior
from debias.plain.philox import drawn_with_replacement, philox4x32
from test_command import BINARY


@pytest.mark.parametrize("word, expected", [(0, (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
                                            (0xFFFFFFFF, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD))])
def test_philox_has_random123s_known_answers(word, expected):
    one = torch.tensor([word], dtype=torch.int64)
    assert tuple(int(part) for part in philox4x32((one,) * 4, (word, word))) == expected


def test_draws_are_uniform_and_of_their_replicate():
    draws = torch.stack([drawn_with_replacement(7, replicate, 1) for replicate in range(2000)])
    assert draws.min() == 0 and draws.max() == 6
    shares = torch.bincount(draws.flatten()) / draws.numel()
    assert (shares - 1 / 7).abs().max() < 0.01
    assert torch.equal(draws[3], drawn_with_replacement(7, 3, 1)) and not torch.equal(draws[3], drawn_with_replacement(7, 3, 2))


@pytest.mark.skipif(not os.access(BINARY, os.X_OK), reason="the command is not built")
@pytest.mark.parametrize("with_labels", [True, False])
def test_the_prior_is_the_commands(with_labels, tmp_path):
    torch.manual_seed(0)
    z = torch.randn(300, 2, 6)
    z[:, 1] = z[:, 0] + 0.4 * torch.randn(300, 6)
    labels = torch.randint(5, (300,)) - 1
    numpy.save(tmp_path / "z.npy", z.numpy())
    numpy.save(tmp_path / "y.npy", labels.numpy())
    words = ["--labels", tmp_path / "y.npy"] if with_labels else []
    done = subprocess.run([BINARY, "prior", "--embeddings", str(tmp_path / "z.npy"), *map(str, words), "--json"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    expected = json.loads(done.stdout)
    found = class_prior.of_labels(labels) if with_labels else class_prior.of_views(z)
    for what in ("tau_plus", "low", "high"):
        assert found[what] == pytest.approx(expected[what], rel=1e-6, abs=1e-9)
    assert found["method"] == expected["method"]


def test_a_group_without_samples_counts_as_the_caller_says():
    skipped = debias.metrics.group_metrics([0, 1, 1], [0, 1, 0], [0, 0, 1])
    counted = debias.metrics.group_metrics([0, 1, 1], [0, 1, 0], [0, 0, 1], empty="zero")
    assert skipped["equal_opportunity_difference"] != skipped["equal_opportunity_difference"]  # NaN: one bias label has no sample of class 1
    assert counted["equal_opportunity_difference"] == 1
