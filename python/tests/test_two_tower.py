"""TwoTowerLoss against loops over pairs, and against open_clip's and sentence-transformers' losses."""

import math
import os
import subprocess
import sys

import pytest
import torch

import debias
from debias.plain import tower_walk

B, D = 7, 5
IDS, LABELS = [3, 1, 3, -1, 2, -1, 1], [0, 0, 1, 2, -1, -1, 1]
SETTINGS = [("infonce", {}), ("debiased_negatives", {"tau_plus": 0.05}), ("debiased_negatives", {"tau_plus": 0.4}),
            ("debiased_negatives", {"tau_plus": 0.0}), ("hard_negatives", {"tau_plus": 0.05, "beta": 0.3}),
            ("hard_negatives", {"tau_plus": 0.1, "beta": 0.0}), ("bayesian", {"tau_plus": 0.1}), ("bayesian", {"tau_plus": 0.2, "alpha": 0.9}),
            ("siglip", {})]


def dot(a, b):
    return math.fsum(x * y for x, y in zip(a, b))


def mean(values):
    values = list(values)
    return math.fsum(values) / len(values) if values else 0.0


def log_sum(values):
    values = list(values)
    if not values:
        return -math.inf
    top = max(values)
    return top + math.log(math.fsum(math.exp(value - top) for value in values))


def softplus(x):
    return max(x, 0) + math.log1p(math.exp(-abs(x))) if x > -math.inf else 0.0


def towers(count=B, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(2, count, D, generator=generator, dtype=torch.float64).requires_grad_().unbind(0)


def unit(rows):
    return [[x / math.sqrt(dot(row, row)) for x in row] for row in rows.tolist()]


def positives_of(ids, labels, targets, count):
    if targets is not None:
        return targets.tolist()
    alike = lambda values, i, j: values is not None and values[i] >= 0 and values[i] == values[j]
    return [[float(i == j or alike(ids, i, j) or alike(labels, i, j)) for j in range(count)] for i in range(count)]


def one_direction(objective, s, q, dropped, scale, o):
    """The losses of the rows of s; q [B][B] weights of positives, dropped [B][B]."""
    losses = []
    for i, row in enumerate(s):
        weights = [w / sum(q[i]) for w in q[i]]
        negatives = [row[j] for j in range(len(row)) if q[i][j] == 0 and not dropped[i][j]]
        n = len(negatives)
        if objective == "infonce":
            log_ng = log_sum(negatives)
        elif objective == "bayesian":
            beta, alpha, tau_plus, w = o.get("beta", 1.0), o.get("alpha", 0.7), o["tau_plus"], []
            for one in negatives:
                share = sum(other <= one for other in negatives) / n
                A, b = (1 - 2 * alpha) * (1 - 2 * tau_plus), 2 * (alpha * (1 - tau_plus) + (1 - alpha) * tau_plus)
                phi = 2 * share / (b + math.sqrt(b * b + 4 * A * share))
                true, false = alpha * (1 - phi) + (1 - alpha) * phi, (1 - alpha) * (1 - phi) + alpha * phi
                w.append((1 - tau_plus) * true / ((1 - tau_plus) * true + tau_plus * false) * math.exp(beta * one))
            log_ng = log_sum([one + math.log(x * n / sum(w)) for one, x in zip(negatives, w)]) if n else -math.inf
        else:
            beta = o.get("beta", 1.0) if objective == "hard_negatives" else 0.0
            total = sum(math.exp(beta * one) for one in negatives)
            S = n * sum(math.exp((1 + beta) * one) for one in negatives) / total if n else 0.0
            taken = o["tau_plus"] * n * sum(w * math.exp(one) for w, one in zip(weights, row) if w)
            ng = max((S - taken) / (1 - o["tau_plus"]), n * math.exp(-scale))
            log_ng = math.log(ng) if n else -math.inf
        losses.append(sum(w * softplus(log_ng - one) for w, one in zip(weights, row) if w))
    return losses


def looped(objective, image, text, scale, o, ids=None, labels=None, targets=None, guide=None, drop_above=None, logit_bias=0.0):
    a, b, count = unit(image), unit(text), len(image)
    s = [[scale * dot(x, y) for y in b] for x in a]
    q = positives_of(ids, labels, targets, count)
    alike = [[dot(x, y) for y in unit(guide[1])] for x in unit(guide[0])] if guide else None
    transposed = lambda matrix: [list(column) for column in zip(*matrix)]

    def dropped(s, alike):
        if drop_above is None:
            return [[False] * count] * count
        if alike:
            return [[one > drop_above for one in row] for row in alike]
        return [[one > row[i] + drop_above for one in row] for i, row in enumerate(s)]

    if objective == "siglip":
        out = dropped(s, alike)
        return sum(softplus(-(s[i][j] + logit_bias) if q[i][j] else s[i][j] + logit_bias) for i in range(count) for j in range(count)
                   if q[i][j] or not out[i][j]) / count
    forth = one_direction(objective, s, q, dropped(s, alike), scale, o)
    s, q, alike = transposed(s), transposed(q), transposed(alike) if alike else None
    back = one_direction(objective, s, q, dropped(s, alike), scale, o)
    return (mean(forth) + mean(back)) / 2


def choices():
    generator = torch.Generator().manual_seed(5)
    guide = tuple(torch.randn(2, B, 4, generator=generator, dtype=torch.float64))
    targets = torch.rand(B, B, generator=generator, dtype=torch.float64) * (torch.rand(B, B, generator=generator) < 0.3) + torch.eye(B)
    return [({}, {}), ({}, {"ids": IDS}), ({}, {"labels": LABELS}), ({}, {"ids": IDS, "labels": LABELS}), ({}, {"targets": targets}),
            ({"drop_above": 0.3}, {}), ({"drop_above": -0.5}, {"ids": IDS}), ({"drop_above": 0.2}, {"guide": guide}),
            ({"drop_above": 0.2}, {"guide": guide, "targets": targets})]


def made(objective, engine="auto", **options):
    return debias.TwoTowerLoss(objective, engine=engine, memory_budget=1 << 12, **options)


@pytest.mark.parametrize("engine", ["dense", "blocked"])
@pytest.mark.parametrize("objective, options", SETTINGS)
def test_the_value_is_that_of_loops(objective, options, engine):
    image, text = towers()
    for scale in (1.0, 6.0):
        for constructed, given in choices():
            loss = made(objective, engine, **options, **constructed)
            expected = looped(objective, image, text, scale, options, **given, **constructed)
            found = loss(image, text, logit_scale=scale, **given).item()
            assert found == pytest.approx(expected, rel=1e-10, abs=1e-10), (constructed, list(given), scale)
            assert loss.diagnostics.engine == engine and loss.per_anchor.mean().item() == \
                pytest.approx(found, rel=1e-12)


@pytest.mark.parametrize("engine", ["dense", "blocked"])
@pytest.mark.parametrize("objective, options", [one for one in SETTINGS if one[0] != "bayesian"])
def test_gradients_are_those_of_finite_differences(objective, options, engine):
    image, text = (tower.detach().requires_grad_() for tower in towers())
    scale = torch.tensor(3.0, dtype=torch.float64, requires_grad=True)
    for constructed, given in choices():
        loss = made(objective, engine, **options, **constructed)
        call = lambda image, text, scale: loss(image, text, logit_scale=scale, **given)
        assert torch.autograd.gradcheck(call, (image, text, scale), fast_mode=True), (constructed, list(given))


@pytest.mark.parametrize("given", [{}, {"ids": IDS}])
def test_engines_agree_on_the_gradients_of_bayesian(given):
    gradients = []
    for engine in ("dense", "blocked"):
        image, text = (tower.detach().requires_grad_() for tower in towers())
        gradients.append(torch.autograd.grad(made("bayesian", engine, tau_plus=0.1)(image, text, logit_scale=4.0, **given), (image, text)))
    for one, other in zip(*gradients):
        torch.testing.assert_close(one, other, rtol=1e-10, atol=1e-12)


def test_one_tower_pair_is_the_square_case_of_the_debiased_losses():
    """Keys of the other tower: MoCo's form of the same loss, in each direction."""
    image, text = towers(9)
    for objective, square, options in (("infonce", debias.InfoNCELoss, {}),
                                       ("debiased_negatives", debias.DebiasedNegativesLoss, {"tau_plus": 0.1}),
                                       ("hard_negatives", debias.HardNegativesLoss, {"tau_plus": 0.1, "beta": 0.5}),
                                       ("bayesian", debias.BayesianLoss, {"tau_plus": 0.1})):
        loss, ids = square(0.25, **options), torch.arange(9)
        expected = sum(loss(a, b, keys=b, ids=ids, key_ids=ids) for a, b in ((image, text), (text, image))) / 2
        found = debias.TwoTowerLoss(objective, **options)(image, text, logit_scale=4.0)
        assert found.item() == pytest.approx(expected.item(), rel=1e-10)
        for got, want in zip(torch.autograd.grad(found, (image, text), retain_graph=True), torch.autograd.grad(expected, (image, text))):
            torch.testing.assert_close(got, want, rtol=1e-9, atol=1e-11)


def same_gradients(ours, theirs, leaves):
    for got, want in zip(torch.autograd.grad(ours, leaves), torch.autograd.grad(theirs, leaves)):
        torch.testing.assert_close(got, want, rtol=1e-6, atol=1e-9)
    assert ours.item() == pytest.approx(theirs.item(), rel=1e-6)


def normalized(image, text):
    return (torch.nn.functional.normalize(one, dim=1) for one in (image, text))


def test_infonce_is_open_clips():
    open_clip = pytest.importorskip("open_clip.loss")
    image, text = towers(16)
    scale = torch.tensor(12.0, dtype=torch.float64, requires_grad=True)
    theirs = open_clip.ClipLoss()(*normalized(image, text), scale)
    same_gradients(made("infonce")(image, text, logit_scale=scale, ids=torch.arange(16)), theirs, (image, text, scale))


def test_siglip_is_open_clips():
    open_clip = pytest.importorskip("open_clip.loss")
    image, text = towers(16)
    scale, bias = (torch.tensor(value, dtype=torch.float64, requires_grad=True) for value in (10.0, -3.0))
    theirs = open_clip.SigLipLoss()(*normalized(image, text), scale, bias)
    for engine in ("dense", "blocked"):
        same_gradients(made("siglip", engine)(image, text, logit_scale=scale, logit_bias=bias), theirs, (image, text, scale, bias))
        theirs = open_clip.SigLipLoss()(*normalized(image, text), scale, bias)


def test_infonce_is_sentence_transformers_symmetric_loss():
    module = pytest.importorskip("sentence_transformers.losses")
    image, text = towers(16)
    theirs = module.MultipleNegativesSymmetricRankingLoss(model=None, scale=15.0) if hasattr(module, "MultipleNegativesSymmetricRankingLoss") \
        else pytest.skip("no such loss")
    if not hasattr(theirs, "compute_loss_from_embeddings"):
        pytest.skip("it takes no embeddings")
    same_gradients(made("infonce")(image, text, logit_scale=15.0), theirs.compute_loss_from_embeddings([image, text], None), (image, text))


@pytest.mark.parametrize("objective, options", [one for one in SETTINGS if one[1].get("tau_plus", 0.05) == 0.05])
def test_a_large_batch_is_walked_in_blocks(objective, options):
    torch.manual_seed(0)
    image, text = torch.randn(2, 1100, 8).unbind(0)
    values = []
    for dtype, engine in ((torch.float32, "auto"), (torch.float64, "dense")):
        loss = debias.TwoTowerLoss(objective, engine=engine, **options)
        a, b = (one.to(dtype).requires_grad_() for one in (image, text))
        value = loss(a, b, ids=torch.arange(1100) // 2)
        values.append((value.item(), *torch.autograd.grad(value, (a, b))))
    assert values[0][0] == pytest.approx(values[1][0], rel=1e-5)
    for got, want in zip(values[0][1:], values[1][1:]):
        torch.testing.assert_close(got.double(), want, rtol=1e-3, atol=1e-5 * want.abs().max().item())


def test_the_scale_may_be_learnt_and_the_floor_follows_it():
    image, text = (tower.detach() for tower in towers())
    loss = debias.TwoTowerLoss("debiased_negatives", tau_plus=0.5, logit_scale=torch.nn.Parameter(torch.tensor(2.0)))
    loss(image, text).backward()
    assert loss.logit_scale.grad.abs() > 0 and loss.diagnostics.clamped > 0 and loss.diagnostics.anchors == 2 * B


@pytest.mark.parametrize("make, words", [
    (lambda: debias.TwoTowerLoss("infonc"), "did you mean 'infonce'"),
    (lambda: debias.TwoTowerLoss("bayesian"), r"tau_plus: expected .* got None; debias.prior"),
    (lambda: debias.TwoTowerLoss("debiased_negatives", tau_plus=1.0), r"tau_plus: expected a number in \[0, 1\), got 1.0"),
    (lambda: debias.TwoTowerLoss("infonce", tau_plus=0.1), "tau_plus: infonce has none"),
    (lambda: debias.TwoTowerLoss(beta=-1), "beta: expected"),
    (lambda: debias.TwoTowerLoss(logit_scale=0), "logit_scale: expected a finite number above 0, got 0"),
    (lambda: debias.TwoTowerLoss()(torch.ones(3, 2), torch.ones(4, 2)), r"text: expected the shape \[3, 2\] of image, got \[4, 2\]"),
    (lambda: debias.TwoTowerLoss()(torch.ones(0, 2), torch.ones(0, 2)), r"image: expected non-empty rows"),
    (lambda: debias.TwoTowerLoss()(torch.ones(3, 2), torch.ones(3, 2), ids=[1, 2]), r"ids: expected \[3\]"),
    (lambda: debias.TwoTowerLoss()(torch.ones(3, 2), torch.ones(3, 2), targets=torch.ones(2, 2)), r"targets: expected shape \[3, 3\], got"),
    (lambda: debias.TwoTowerLoss()(torch.ones(3, 2), torch.ones(3, 2), targets=-torch.eye(3)), "targets: expected weights of at least 0, got -1"),
    (lambda: debias.TwoTowerLoss()(torch.ones(3, 2), torch.ones(3, 2), targets=torch.zeros(3, 3)), "a positive in every row"),
    (lambda: debias.TwoTowerLoss()(torch.ones(3, 2), torch.ones(3, 2), targets=torch.eye(3), ids=[0, 1, 2]), "got both"),
    (lambda: debias.TwoTowerLoss()(torch.ones(3, 2), torch.ones(3, 2), guide=(torch.ones(3, 2),) * 2), "guide: expected None without drop_above"),
    (lambda: debias.TwoTowerLoss()(torch.ones(3, 2), torch.ones(3, 2), logit_bias=1.0), "only siglip"),
    (lambda: debias.TwoTowerLoss()(torch.ones(3, 2), torch.ones(3, 2), negatives=torch.ones(2, 2)), r"negatives: expected the shape \[3, 2\]"),
])
def test_refusals_name_argument_expected_and_got(make, words):
    with pytest.raises(ValueError, match=words) as caught:
        make()
    assert "\n" not in str(caught.value) and str(caught.value).startswith("TwoTowerLoss: ")


FLOATS = [torch.float16, torch.bfloat16, torch.float32, torch.float64]


@pytest.mark.parametrize("one", FLOATS)
@pytest.mark.parametrize("other", FLOATS)
def test_mixed_types_are_computed_in_float32(one, other):
    image, text = (tower.detach() for tower in towers())
    for objective, options in SETTINGS:
        image, text = image.to(one).requires_grad_(), text.to(other).requires_grad_()
        loss = debias.TwoTowerLoss(objective, **options)
        value = loss(image, text, negatives=text.detach().float().flip(1))
        expected = loss(image.float(), text.float(), negatives=text.detach().float().flip(1))
        assert value.dtype == torch.float32 and value.item() == expected.item()
        value.backward()
        assert image.grad.dtype == one and text.grad.dtype == other and image.grad.isfinite().all() and text.grad.isfinite().all()
    both = debias.TwoTowerLoss()(image.detach(), text.detach())
    assert both.dtype == (torch.float64 if one == other == torch.float64 else torch.float32)


@pytest.mark.parametrize("engine", ["dense", "blocked"])
@pytest.mark.parametrize("objective, options", SETTINGS)
def test_further_negatives_are_those_of_every_image(objective, options, engine):
    """Against one tower with more keys, and for siglip against all pairs."""
    image, text = towers()
    more = torch.randn(2, B, D, generator=torch.Generator().manual_seed(8), dtype=torch.float64).requires_grad_()
    leaves = (image, text, more)
    found = made(objective, engine, **options)(image, text, logit_scale=4.0, negatives=list(more))
    ids = torch.arange(B)
    if objective == "siglip":
        a, b = (torch.nn.functional.normalize(one, dim=1) for one in (image, torch.cat([text, *more])))
        expected = torch.nn.functional.softplus(-4 * (a @ b.T) * (2 * torch.eye(B, 3 * B) - 1)).sum() / B
    else:
        square = {"infonce": debias.InfoNCELoss, "debiased_negatives": debias.DebiasedNegativesLoss, "hard_negatives": debias.HardNegativesLoss,
                  "bayesian": debias.BayesianLoss}[objective](0.25, **options)
        keys, key_ids = torch.cat([text, *more]), torch.cat([ids, -torch.ones(2 * B, dtype=torch.int64)])
        expected = (square(image, keys=keys, ids=ids, key_ids=key_ids) + square(text, keys=image, ids=ids, key_ids=ids)) / 2
    assert found.item() == pytest.approx(expected.item(), rel=1e-9)
    for got, want in zip(torch.autograd.grad(found, leaves), torch.autograd.grad(expected, leaves)):
        torch.testing.assert_close(got, want, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("engine", ["dense", "blocked"])
@pytest.mark.parametrize("objective, options", SETTINGS)
def test_further_negatives_above_the_threshold_are_left_out(objective, options, engine):
    image, text = towers()
    loss = made(objective, engine, **options, drop_above=-1e3)
    all_out = loss(image, text, logit_scale=4.0, negatives=image.detach())
    assert all_out.item() == pytest.approx(loss(image, text, logit_scale=4.0).item(), rel=1e-12)


@pytest.mark.parametrize("scale", [3.0, 60.0, 100.0])
@pytest.mark.parametrize("objective, options", [one for one in SETTINGS if one[0] != "bayesian"])
def test_the_walk_in_closed_form_is_automatic_differentiation(objective, options, scale):
    """Below and above the scale up to which both directions share their exponentials; a row of zeros, and learnt scale and bias."""
    for constructed, given in choices():
        results = []
        for engine in ("dense", "blocked"):
            rows = torch.stack([tower.detach() for tower in towers()])
            rows[0, 2] = rows[1, 4] = 0
            leaves = [rows[0].clone().requires_grad_(), rows[1].clone().requires_grad_(), torch.tensor(scale, dtype=torch.float64, requires_grad=True)]
            bias = {"logit_bias": torch.tensor(-2.0, dtype=torch.float64, requires_grad=True)} if objective == "siglip" else {}
            value = made(objective, engine, **options, **constructed)(*leaves[:2], logit_scale=leaves[2], **bias, **given)
            results.append([value, *torch.autograd.grad(value, [*leaves, *bias.values()])])
        for own, expected in zip(results[1], results[0]):
            torch.testing.assert_close(own, expected, rtol=1e-9, atol=1e-11, msg=lambda text: f"{constructed}, {list(given)}: {text}")


def leaves_of(objective, scale=3.0):
    """Rows, scale and, for siglip, bias; and a call of a loss with them."""
    leaves = [*(tower.detach().requires_grad_() for tower in towers()), torch.tensor(scale, dtype=torch.float64, requires_grad=True)]
    if objective == "siglip":
        leaves.append(torch.tensor(-2.0, dtype=torch.float64, requires_grad=True))
    bias = {"logit_bias": leaves[3]} if objective == "siglip" else {}
    return leaves, lambda loss, **given: loss(*leaves[:2], logit_scale=leaves[2], **bias, **given)


def close(found, expected):
    for own, other in zip(found, expected, strict=True):
        torch.testing.assert_close(own, other, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("objective", ["infonce", "siglip"])
def test_a_kept_graph_gives_its_gradients_again(objective):
    """What the caller does to one pass's gradients leaves those of the next alone."""
    leaves, call = leaves_of(objective)
    expected = torch.autograd.grad(call(made(objective, "dense")), leaves)
    value = call(made(objective, "blocked"))
    for factor in (1.0, -3.0):
        found = torch.autograd.grad(factor * value, leaves, retain_graph=True)
        close(found, [factor * one for one in expected])
        for one in found:
            one.zero_()
    for _ in range(2):
        value.backward(retain_graph=True)
    close([leaf.grad for leaf in leaves], [2 * one for one in expected])
    close(torch.autograd.grad(0.5 * value, leaves), [0.5 * one for one in expected])
    with pytest.raises(RuntimeError, match="second time"):
        value.backward()


@pytest.mark.parametrize("objective", ["infonce", "siglip"])
@pytest.mark.parametrize("given", [{}, {"ids": IDS}])
def test_blocks_are_differentiated_once(objective, given):
    leaves, call = leaves_of(objective)
    gradients = torch.autograd.grad(call(made(objective, "blocked"), **given), leaves, create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        sum(one.sum() for one in gradients).backward()


def test_own_scores_have_gradients():
    """Of random weights, with the sums of rows and columns and without."""
    leaves, _ = leaves_of("infonce")
    weights = torch.randn(3, B, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    for shares in (1.0, 0.0):
        rows, columns, own = tower_walk.over_towers(tower_walk.NegativeSums((1.0,), 3.0), 3, *leaves)
        image, text = (leaf / leaf.norm(dim=1, keepdim=True) for leaf in leaves[:2])
        scores = leaves[2] * image @ text.T
        others = scores.masked_fill(torch.eye(B, dtype=torch.bool), -torch.inf)
        found = weights[0] @ own + shares * (weights[1] @ rows[:, 0] + weights[2] @ columns[:, 0])
        expected = weights[0] @ scores.diagonal() + shares * (weights[1] @ others.logsumexp(1) + weights[2] @ others.logsumexp(0))
        close([found], [expected])
        close(torch.autograd.grad(found, leaves), torch.autograd.grad(expected, leaves))
    with torch.no_grad():
        close([tower_walk.own_scores(3, *leaves)], [own])


def test_siglip_without_masks_is_siglip_with_masks():
    leaves, call = leaves_of("siglip")
    loss = made("siglip", "blocked")
    values = [call(loss), call(loss, ids=torch.arange(B)), call(made("siglip", "blocked", drop_above=1e6))]
    gradients = [torch.autograd.grad(value, leaves) for value in values]
    for value, own in zip(values[1:], gradients[1:]):
        close([values[0], *gradients[0]], [value, *own])


@pytest.mark.parametrize("frozen", [(0,), (1,), (0, 1), (2, 3), (0, 1, 2, 3)])
def test_siglip_of_inputs_that_ask_for_no_gradient(frozen):
    leaves, call = leaves_of("siglip")
    expected = torch.autograd.grad(call(made("siglip", "dense")), leaves)
    for place in frozen:
        leaves[place].requires_grad_(False)
    value = call(made("siglip", "blocked"))
    moving = [place for place in range(4) if place not in frozen]
    assert value.requires_grad == bool(moving)
    if moving:
        close(torch.autograd.grad(value, [leaves[place] for place in moving]), [expected[place] for place in moving])
    with torch.no_grad():
        close([call(made("siglip", "blocked"))], [value.detach()])


def test_softplus_has_no_cut():
    x = torch.linspace(-800, 800, 6401, dtype=torch.float64)
    expected = torch.logaddexp(x, torch.zeros_like(x))
    torch.testing.assert_close(tower_walk.softplus_(x.clone()), expected, rtol=1e-15, atol=0)
    torch.testing.assert_close(tower_walk.softplus_(x.float()).double(), expected, rtol=3e-7, atol=1e-38)


def test_similarities_of_any_size_lose_no_exponential_in_single_precision():
    """At scale 100 the exponentials of a row differ by e^200."""
    image, text = (tower.detach().float() for tower in towers(64))
    for scale in (5.0, 34.0, 100.0):
        single, double = (made("infonce", "blocked")(image.to(dtype), text.to(dtype), logit_scale=scale).item() for dtype in (torch.float32, torch.float64))
        assert single == pytest.approx(double, rel=1e-5)


def peak_above_inputs(objective, count, width):
    """MiB of resident memory at its highest in a step, above the process with its inputs."""
    program = f"""
import torch, warnings
warnings.simplefilter("ignore")
import debias
torch.set_num_threads(1)
status = lambda what: int(next(line for line in open("/proc/self/status") if line.startswith(what)).split()[1]) / 1024
loss = debias.TwoTowerLoss({objective!r})
def step(count):
    image, text = (torch.randn(count, {width}, requires_grad=True) for _ in range(2))
    before = status("VmRSS")
    open("/proc/self/clear_refs", "w").write("5")
    loss(image, text).backward()
    return status("VmHWM") - before
step(1100)
print(step({count}))
"""
    return float(subprocess.run([sys.executable, "-B", "-c", program], capture_output=True, text=True, check=True).stdout)


@pytest.mark.skipif(not os.access("/proc/self/clear_refs", os.W_OK), reason="this system does not say how much memory was resident")
@pytest.mark.parametrize("objective", ["infonce", "siglip"])
def test_a_large_step_holds_gradients_and_blocks(objective):
    """Two gradients of 16 MiB and two matrices of 8 MiB; the matrix of all pairs alone takes 256 MiB. What the system keeps resident beside
    them varies from process to process and only adds."""
    assert any(peak_above_inputs(objective, 8192, 512) <= 80 for _ in range(3))
