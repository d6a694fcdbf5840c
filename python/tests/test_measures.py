"""Metrics and priors: known answers, what the command prints, and the engine's neighbours against those of PyTorch."""

import json
import math
import os
import subprocess

import numpy
import pytest
import torch

import debias
from debias import _engine
from debias._engine import neighbours
from debias.plain import class_prior, group_metrics, knn
from debias.plain.philox import drawn_with_replacement, philox4x32
from test_command import BINARY

needs_engine = pytest.mark.skipif(not _engine.AVAILABLE, reason="this copy has no compiled engine")
SEARCHES = [pytest.param(neighbours.nearest, id="engine", marks=needs_engine), pytest.param(knn.nearest, id="plain")]


@pytest.fixture
def threads():
    before = torch.get_num_threads()
    yield torch.set_num_threads
    torch.set_num_threads(before)


@pytest.mark.parametrize("word, expected", [(0, (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
                                            (0xFFFFFFFF, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD))])
def test_philox_has_random123s_known_answers(word, expected):
    one = torch.tensor([word], dtype=torch.int64)
    assert tuple(int(part) for part in philox4x32((one,) * 4, (word, word))) == expected


def draws(count, replicate, seed):
    blocks = (count + 1) // 2
    return torch.cat(drawn_with_replacement(count, range(replicate, replicate + 1), range(blocks), seed), 1).flatten()


def test_draws_are_uniform_and_of_their_replicate():
    together = torch.cat(drawn_with_replacement(7, range(2000), range(4), 1), 1)
    assert together.shape == (2000, 7) and together.min() == 0 and together.max() == 6
    shares = torch.bincount(together.flatten()) / together.numel()
    assert (shares - 1 / 7).abs().max() < 0.01
    assert torch.equal(together[3], draws(7, 3, 1)) and not torch.equal(draws(7, 3, 1), draws(7, 3, 2))
    pieces = [drawn_with_replacement(101, range(5, 9), blocks, 4) for blocks in (range(20), range(20, 51))]
    for replicate in range(4):
        joined = torch.cat([each[replicate] for piece in pieces for each in piece])
        assert torch.equal(joined.sort().values, draws(101, 5 + replicate, 4).sort().values)


def signs(count, width):
    """Rows of 1 and -1: where the width is 16, norms and cosines are exact, and many are equal."""
    return torch.randint(0, 2, (count, width)).mul(2).sub(1).float()


@pytest.mark.parametrize("search", SEARCHES)
@pytest.mark.parametrize("count", [1, 15, 300, 33000])
def test_of_equal_cosines_the_lower_row_is_nearer(search, count):
    torch.manual_seed(count)
    gallery, queries = signs(count, 16), signs(70, 16)
    expected = torch.sort(queries @ gallery.T / 16, dim=1, descending=True, stable=True)
    for k in {1, min(7, count), count if count < 1000 else 3000}:
        cosines, rows = search(gallery * 3, queries, k)
        assert rows.dtype == torch.int64 and torch.equal(cosines, expected.values[:, :k]) and torch.equal(rows, expected.indices[:, :k])


@pytest.mark.parametrize("search", SEARCHES)
def test_a_zero_row_has_cosine_zero(search):
    torch.manual_seed(1)
    gallery, queries = signs(40, 16), signs(5, 16)
    gallery[::3], queries[2] = 0, 0
    expected = torch.sort(queries @ gallery.T / 16, dim=1, descending=True, stable=True)
    cosines, rows = search(gallery, queries, 40)
    assert torch.equal(cosines, expected.values) and torch.equal(rows, expected.indices)
    assert rows[2].tolist() == list(range(40))


@needs_engine
@pytest.mark.parametrize("k, norm", [(20, 1.0), (200, 1e-8), (1000, 1e15)])  # 8-bit screening finds some of these, and the exact search others
def test_the_engine_finds_the_neighbours_in_many_rows(k, norm, threads):
    torch.manual_seed(2)
    gallery, queries = torch.randn(12000, 40) + 0.5, torch.randn(300, 40)
    exact = torch.nn.functional.normalize(queries.double(), dim=1) @ torch.nn.functional.normalize(gallery.double(), dim=1).T
    cosines, rows = neighbours.nearest(gallery * norm, queries * norm, k)
    assert (cosines[:, 1:] <= cosines[:, :-1]).all() and all(len(set(row)) == k for row in rows.tolist())
    torch.testing.assert_close(exact.gather(1, rows).float(), cosines, atol=1e-6, rtol=0)
    least = exact.topk(k).values[:, -1:]
    assert ((exact.gather(1, rows) >= least - 1e-6).sum(1) == k).double().mean() > 0.97
    for number in (1, 2, 3):
        threads(number)
        again = neighbours.nearest(gallery * norm, queries * norm, k)
        assert torch.equal(again[0], cosines) and torch.equal(again[1], rows)


@needs_engine
def test_the_engine_refuses_more_neighbours_than_rows():
    with pytest.raises(RuntimeError, match="k is 4, the gallery has 3 rows"):
        neighbours.nearest(torch.eye(3), torch.eye(3), 4)


def test_the_engine_and_pytorch_vote_alike():
    torch.manual_seed(3)
    gallery, queries, labels = signs(500, 16), signs(90, 16), torch.randint(-1, 6, (500,))
    for k in (1, 30, int((labels >= 0).sum())):
        for temperature in (1e-3, 0.1, 100):
            found = debias.metrics.knn(gallery, labels, queries, k, temperature)
            assert torch.equal(found, knn.predicted(gallery, labels, queries, k, temperature))
    assert debias.metrics.knn(gallery, labels, queries[:0]).shape == (0,)


def test_knn_takes_embeddings_of_any_kind():
    torch.manual_seed(4)
    gallery, queries, labels = torch.randn(300, 12), torch.randn(80, 12), torch.randint(0, 5, (300,))
    expected = debias.metrics.knn(gallery, labels, queries, k=9)
    apart = lambda rows: torch.stack([rows, rows], 2).transpose(0, 1)[..., 0].T  # not contiguous
    assert not apart(gallery).is_contiguous()
    assert torch.equal(debias.metrics.knn(apart(gallery), labels, apart(queries), k=9), expected)
    assert torch.equal(debias.metrics.knn(gallery.double(), labels, queries.double().requires_grad_(), k=9), expected)
    halves = gallery.bfloat16(), queries.bfloat16()
    assert torch.equal(debias.metrics.knn(halves[0], labels, halves[1], k=9), debias.metrics.knn(halves[0].float(), labels, halves[1].float(), k=9))


def test_defaults_of_torch_change_no_measure():
    torch.manual_seed(6)
    rows, labels, bias = torch.randn(60, 2, 4), torch.randint(0, 3, (60,)), torch.arange(60) % 2

    def measured():
        found = debias.metrics.knn(rows[:, 0], labels, rows[:, 1], k=3)
        groups = debias.metrics.group_metrics(found, labels, bias, aligned="same", replicates=3)
        return found.tolist(), groups, debias.prior.from_labels(labels), debias.prior.from_views(rows)

    expected = measured()
    torch.set_default_dtype(torch.float64)
    torch.set_default_device("meta")
    try:
        assert measured() == expected
    finally:
        torch.set_default_dtype(torch.float32)
        torch.set_default_device(None)


def test_of_equal_votes_the_lowest_class_wins():
    gallery = torch.eye(4).repeat(2, 1)
    assert debias.metrics.knn(gallery, [7, 5, 10**12, 2, 3, 9, 4, 2], torch.ones(1, 4), k=8).tolist() == [2]
    assert debias.metrics.knn(gallery, [7, 5, 10**12, -1, 3, 9, 4, -1], torch.ones(1, 4)).tolist() == [3]
    assert debias.metrics.knn(gallery, [0, 1, 1, 1, 0, 1, 1, 1], torch.ones(1, 4), k=2, temperature=0.01).tolist() == [0]


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_knn_refuses_rows_that_are_not_finite(value):
    rows = torch.eye(4)
    broken = rows.clone()
    broken[2, 1] = value
    for given, name in (((broken, rows), "gallery"), ((rows, broken), "queries")):
        with pytest.raises(ValueError, match=f"a row of the {name} is not finite"):
            debias.metrics.knn(given[0], [0, 1, 0, 1], given[1])
    with pytest.raises(ValueError, match="the gallery has 0 labelled rows"):
        debias.metrics.knn(rows, [-1] * 4, rows)


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


SAMPLES = 41
LABELS, BIAS = [7 * i % 3 for i in range(SAMPLES)], [(5 * i + i // 7) % 2 if i % 11 else -1 for i in range(SAMPLES)]
PREDICTIONS = [label if i % 5 else i // 5 % 3 for i, label in enumerate(LABELS)]
MEASURED = {"acc1": 0.8536585365853658, "aligned_acc": 0.8333333333333334, "conflicting_acc": 0.9230769230769231,
            "demographic_parity_difference": 0.19940476190476192, "equal_opportunity_difference": 0.275, "equalized_odds_difference": 0.275,
            "unbiased_acc": 0.8291666666666666, "worst_group_acc": 0.6}
INTERVALS = {"acc1": (0.7560975609756098, 0.926829268292683), "aligned_acc": (0.6353146853146853, 1.0), "conflicting_acc": (0.75, 1.0),
             "demographic_parity_difference": (0.0949206349206349, 0.5238816738816738),
             "equal_opportunity_difference": (0.10370129870129872, 0.8), "equalized_odds_difference": (0.11412698412698415, 0.8),
             "unbiased_acc": (0.7063095238095236, 0.9206349206349206), "worst_group_acc": (0.18610502283191122, 0.9077486327352124)}


def test_the_groups_and_their_intervals_are_those_of_the_command():  # the numbers are those of debias/evaluate/protocols/group_metrics.cpp
    found = debias.metrics.group_metrics(PREDICTIONS, LABELS, BIAS, aligned={0: [0], 1: 1}, replicates=200, seed=2**40 + 5, level=0.9,
                                         empty="zero", min_count=2)
    intervals = found.pop("intervals")
    assert found == pytest.approx(MEASURED, abs=1e-12)
    assert intervals.keys() == INTERVALS.keys()
    for name, expected in INTERVALS.items():
        assert intervals[name] == pytest.approx(expected, abs=1e-10), name


def test_a_bootstrap_does_not_depend_on_how_its_replicates_are_drawn(threads, monkeypatch):
    torch.manual_seed(5)
    labels, bias = torch.randint(-1, 4, (701,)), torch.randint(-1, 3, (701,))
    predictions = torch.where(torch.rand(701) < 0.6, labels.clamp_min(0), torch.randint(0, 4, (701,)))
    whole = debias.metrics.group_metrics(predictions, labels, bias, replicates=60)
    rates = [(predictions == labels)[places][labels[places] >= 0].double().mean() for places in (draws(701, r, 1) for r in range(60))]
    low, high = torch.stack(rates).quantile(torch.tensor([0.025, 0.975], dtype=torch.float64)).tolist()
    assert whole["intervals"]["acc1"] == pytest.approx((low, high), abs=1e-12)
    monkeypatch.setattr(group_metrics, "_BLOCKS", 100)
    monkeypatch.setattr(group_metrics, "_DRAWN", 250)
    monkeypatch.setattr(group_metrics, "_NUMBERS", 500)
    for number in (1, 3):
        threads(number)
        assert debias.metrics.group_metrics(predictions, labels, bias, replicates=60) == whole


def test_groups_without_samples():
    assert all(numpy.isnan(value) for value in debias.metrics.group_metrics([], [], []).values())
    assert debias.metrics.group_metrics([], [], [], replicates=5)["intervals"] == {}
    unknown = debias.metrics.group_metrics([0, 1], [0, 0], [-1, -1], replicates=5)
    assert unknown["acc1"] == 0.5 and numpy.isnan(unknown["worst_group_acc"]) and unknown["intervals"].keys() == {"acc1"}
    assert numpy.isnan(debias.metrics.group_metrics([0, 1], [-1, -1], [0, 0], aligned=[[0]])["aligned_acc"])


def test_a_prior_of_views_refuses_rows_without_a_finite_norm():
    z = torch.randn(60, 2, 4)
    for value in (float("nan"), 1e30):
        z[5, 1, 2] = value
        with pytest.raises(ValueError, match="a row is not finite"):
            debias.prior.from_views(z)


def test_intervals_claim_no_certainty_where_all_is_wrong_or_of_one_unit():
    labels, bias = [0, 0, 0, 0, 1, 1], [1, 1, 1, 1, 1, 1]
    z2 = 1.959963984540054 ** 2
    wrong = debias.metrics.group_metrics([1] * 6, labels, bias, aligned="same", replicates=100)["intervals"]
    assert wrong["conflicting_acc"] == pytest.approx((0, z2 / (4 + z2)))
    assert wrong["aligned_acc"] == pytest.approx((2 / (2 + z2), 1))
    half = debias.metrics.group_metrics([0, 0, 1, 1, 1, 0], labels, bias, aligned="same", replicates=100, groups=[7, 7, 7, 8, 9, 9])["intervals"]
    middle, width = 0.5, math.sqrt(0.25 + z2 / 4) * math.sqrt(z2) / (1 + z2)
    assert half["aligned_acc"] == pytest.approx((middle - width, middle + width))
