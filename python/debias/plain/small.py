"""Small batches: value and gradient at once and in closed form, from the whole matrix of scores.

A few rows cost what the calls cost, so these are few, and NumPy's where they are cheaper. With scores S = R Rᵀ / t of the rows R [n, D], an
objective gives the losses of its anchors and G [n, n], the gradient of their sum, whose row a is that of anchor a. The gradient of R is then
(G + Gᵀ) R / t, and the backward pass only multiplies it. Objectives in their usual forms (`form_of`) are computed so, eagerly on the CPU with
engine auto. Everything else goes the general way (objectives.py), a second derivative too.
"""

import functools
import math
from typing import Callable, NamedTuple, Optional

import numpy
import torch

from .._modes import backward_only
from .debiased import slack
from .fairkl import NO_DEVIATION
from .log_space import LOG_OF_NOTHING
from .pair_sums import rank_table
from .rank_weights import RankWeights
from .result import Measured, Result
from .unit_rows import flat, norms_of, pulled_to_rows

MOST_ROWS = 256  # more are computed sooner in tiles or blocks
_LARGEST_EXPONENT = 700  # of float64


class Batch(NamedTuple):
    """Rows [n, D], view after view, and what is known of the samples [n / views]."""

    rows: torch.Tensor
    views: int
    temperature: float
    labels: Optional[torch.Tensor]
    bias: Optional[torch.Tensor]


class Found(NamedTuple):
    """What an objective gives, as arrays."""

    losses: numpy.ndarray  # [n]
    slopes: numpy.ndarray  # G [n, n]
    clamped: object = 0
    least: object = None
    sample_size: object = None
    with_positives: object = None


class _Places(NamedTuple):
    itself: torch.Tensor  # [n, n]: -inf at an anchor itself, else 0
    positive: numpy.ndarray  # [n]: of two views, where the positive of each anchor is in a matrix [n · n]


@functools.lru_cache(maxsize=8)
def _places(n, dtype):
    with torch.inference_mode(False):
        row = numpy.arange(n)
        return _Places(torch.zeros(n, n, dtype=dtype, device="cpu").fill_diagonal_(-math.inf), row * n + (row + n // 2) % n)


def _scores(batch):
    """S, with -inf at an anchor itself, and places."""
    places = _places(len(batch.rows), batch.rows.dtype)
    return torch.addmm(places.itself, batch.rows, batch.rows.T, alpha=1 / batch.temperature), places.positive


def _sums(matrix):
    return numpy.add.reduce(matrix, 1)


def _exponentials(scores):
    """e^{s - largest} in place of the scores, and the largest of each row [n]."""
    largest = numpy.maximum(numpy.maximum.reduce(scores, 1), LOG_OF_NOTHING, dtype=scores.dtype)
    scores -= largest[:, None]
    return numpy.exp(scores, out=scores), largest


def _shares(batch):
    """The shares e^s / Σ e^s of the negatives, 0 elsewhere, [n, n] and as [n · n], their sums, and log share and score of the positive [n]."""
    scores, positive = _scores(batch)
    log_shares = scores.log_softmax(1)
    log_own, score = log_shares.numpy().take(positive), scores.numpy().take(positive)
    shares = log_shares.exp_().numpy()
    every = shares.reshape(-1)
    every[positive] = 0
    return shares, every, _sums(shares), log_own, score, positive


def _infonce(batch):
    shares, every, sums, log_own, _, positive = _shares(batch)
    every[positive] = -sums
    return Found(-log_own, shares)


def _estimated(n, t, sums, own, shift, score, tau_plus, eps_of):
    """negatives_estimate of debiased.py with clamp floor, for N = n negatives: sums S and the positive's e^s, both in units of e^shift, and its
    score. The losses, their slopes by S and by the positive's score, and diagnostics."""
    raw, log_floor = (sums - tau_plus * n * own) / (1 - tau_plus), math.log(n) - 1 / t
    floor = numpy.exp(log_floor - shift)
    acts = raw < floor * (1 - eps_of)
    held = numpy.where(acts, floor, raw)
    whole = held + own
    factor = ~acts / (whole * (1 - tau_plus))

    def least():
        return float((raw * numpy.exp(numpy.minimum(shift.astype(numpy.float64) - math.log(n), _LARGEST_EXPONENT))).min())

    slope = -(held / whole) - tau_plus * n * own * factor
    return numpy.log(whole) + shift - score, factor, slope, {"clamped": lambda: int(acts.sum()), "least": least}


def _debiased_negatives(batch, tau_plus):
    shares, every, sums, log_own, score, positive = _shares(batch)
    t, n = batch.temperature, len(shares) - 2
    losses, factor, slope, more = _estimated(n, t, sums, numpy.exp(log_own), score - log_own, score, tau_plus, slack(batch.rows, t))
    shares *= factor[:, None]
    every[positive] = slope
    return Found(losses, shares, **more)


class _Negatives:
    """Negatives alone: e^{s - largest} [n, n], 0 elsewhere, the largest score and that of the positive [n]."""

    def __init__(self, batch, weights_of=None):
        scores, self._positive = _scores(batch)
        scores = scores.numpy()
        self.n, self.score = len(scores) - 2, scores.take(self._positive)
        scores.reshape(-1)[self._positive] = -math.inf
        self.weights = None if weights_of is None else weights_of(scores)
        self.e, self.largest = _exponentials(scores)

    def sums(self, weights, normalised, detached):
        """Σ w e^s in units of e^largest, or that times N / Σ w for weights that grow as e^s; what makes G from factors; the mean sample size."""
        weighted, of_weights, squares = weights * self.e, _sums(weights), numpy.einsum("ij,ij->i", weights, weights)
        total, n = _sums(weighted), self.n

        def slopes(factor, of_positive):
            found, own = weighted, weights
            if normalised:
                factor = factor * n / of_weights
                if not detached:
                    found, own = 2 * weighted, weights * (total / of_weights)[:, None]
                    found -= own
            found *= factor[:, None]
            found.reshape(-1)[self._positive] = of_positive
            return found

        def size():
            return float((of_weights.astype(numpy.float64)**2 / squares).clip(1, n).mean())

        return total * n / of_weights if normalised else total, slopes, size


def _hard_negatives(batch, tau_plus, detached):
    v, t = _Negatives(batch), batch.temperature
    sums, slopes, size = v.sums(v.e, True, detached)
    shift = numpy.maximum(v.largest, v.score)
    down = numpy.exp(v.largest - shift)
    losses, factor, slope, more = _estimated(v.n, t, sums * down, numpy.exp(v.score - shift), shift, v.score, tau_plus, slack(batch.rows, t / 3))
    return Found(losses, slopes(factor * down, slope), sample_size=size, **more)


def _by_rank(log_weights, scores):
    """The weights [n, n] of the negatives by the rank of their scores, of ties the largest. Two scores of a row are -inf."""
    of_ranks = rank_table(((log_weights, 1),), len(scores) - 2)[0].exp().numpy().astype(scores.dtype)
    places = numpy.argsort(scores, 1)[:, 2:]
    values = numpy.take_along_axis(scores, places, 1)
    weights = numpy.zeros_like(scores)
    if not (values[:, 1:] > values[:, :-1]).all():
        values = torch.from_numpy(values)
        of_ranks = of_ranks[(torch.searchsorted(values, values, right=True) - 1).clamp_(0, len(of_ranks) - 1).numpy()]
    numpy.put_along_axis(weights, places, of_ranks if of_ranks.ndim == 2 else of_ranks[None], 1)
    return weights


def _bayesian(batch, log_weights, normalised, detached):
    v = _Negatives(batch, functools.partial(_by_rank, log_weights))
    total, slopes, size = v.sums(v.weights * v.e if normalised else v.weights, normalised, detached)
    total = numpy.maximum(total, numpy.finfo(total.dtype).tiny)
    x = numpy.log(total) + v.largest - v.score
    losses = numpy.logaddexp(0, x)
    pull = numpy.exp(x - losses)
    return Found(losses, slopes(pull / total, -pull), sample_size=size)


def _positives(batch):
    """Which keys are positives of each anchor [n, n], and how many they are [n]."""
    sample = numpy.arange(len(batch.rows) // batch.views)
    groups = sample if batch.labels is None else batch.labels.numpy()
    if batch.labels is not None and groups.min() < 0:
        groups = numpy.where(groups < 0, -1 - sample, groups)
    groups = numpy.concatenate([groups] * batch.views)
    equal = groups[:, None] == groups
    equal.reshape(-1)[::len(groups) + 1] = False
    return equal, numpy.add.reduce(equal, 1, dtype=numpy.int64)


def _share(count, rows):
    """1 / max(1, how many)."""
    return (1 / numpy.maximum(count, 1)).astype(rows.numpy().dtype)


def _supcon(batch):
    (scores, _), (equal, count) = _scores(batch), _positives(batch)
    log_shares = scores.log_softmax(1)
    shares, mean, log_shares = log_shares.exp().numpy(), equal * _share(count, batch.rows)[:, None], log_shares.numpy()
    log_shares.reshape(-1)[::len(shares) + 1] = 0
    if batch.views == 1:  # some anchors may have no positive
        shares *= (count > 0)[:, None]
    shares -= mean
    return Found(-numpy.einsum("ij,ij->i", mean, log_shares), shares, with_positives=lambda: int((count > 0).sum()))


def _eps_supinfonce(batch, epsilon, mean):
    (scores, _), (equal, count) = _scores(batch), _positives(batch)
    scores = scores.numpy()
    e, largest = _exponentials(numpy.where(equal, -math.inf, scores))
    total = numpy.maximum(_sums(e), numpy.finfo(e.dtype).tiny)
    x = (numpy.log(total) + largest + epsilon)[:, None] - scores
    x.reshape(-1)[::len(x) + 1] = 0
    weights = equal * (_share(count, batch.rows)[:, None] if mean else scores.dtype.type(1))
    terms = torch.nn.functional.softplus(torch.from_numpy(x), threshold=40).sub_(epsilon).numpy()
    slopes = torch.from_numpy(x).sigmoid_().numpy()
    slopes *= weights
    e *= (_sums(slopes) / total)[:, None]
    e -= slopes
    return Found(numpy.einsum("ij,ij->i", weights, terms), e, with_positives=lambda: int((count > 0).sum()))


def _fairkl(batch, kld):
    """Mode authors over the batch: the moments of the sets positive and negative, aligned and conflicting, and their slopes."""
    cosines, n = torch.mm(batch.rows, batch.rows.T).numpy(), len(batch.rows)
    label, bias = (numpy.concatenate([groups.numpy()] * batch.views) for groups in (batch.labels, batch.bias))
    chosen = ((label[:, None] != label) * numpy.intp(2) + (bias[:, None] != bias)).reshape(-1)
    flat_ = cosines.reshape(-1)
    counts, firsts, seconds = (numpy.bincount(chosen, weights, 4).tolist() for weights in (None, flat_, numpy.square(flat_, dtype=numpy.float64)))
    pairs, divisor, means, deviations, of_constant, of_cosine, value = n * n, max(n * n - 1, 1), [], [], [], [], 0.0
    for count, first, second in zip(counts, firsts, seconds):
        variance = (second - first * first / pairs) / divisor
        means.append(first / count if count else 0.0)
        deviations.append(math.sqrt(variance) if count and variance > NO_DEVIATION else 0.0)
    for place in range(4):
        difference, of_deviations = means[place] - means[place ^ 1], deviations[place] - deviations[place ^ 1]
        attracted = (0, -1, 1, 0)[place]  # positive conflicting pairs are, negative aligned ones are repelled
        value += (difference * difference + kld * of_deviations * of_deviations) / 2 + attracted * means[place]
        of_cosine.append(2 * kld * of_deviations / (deviations[place] * divisor) if deviations[place] else 0.0)
        of_constant.append((2 * difference + attracted) / counts[place] - of_cosine[-1] * firsts[place] / pairs if counts[place] else 0.0)
    constant, factor = (numpy.array([n * number for number in numbers], cosines.dtype).take(chosen) for numbers in (of_constant, of_cosine))
    factor *= flat_
    constant += factor
    return Found(numpy.full(n, value, cosines.dtype), constant.reshape(n, n), counts.count(0))


class Form(NamedTuple):
    """An objective whose options `form_of` has looked at."""

    objective: Callable  # Batch -> Found
    temperature: float
    scale: float
    two_views: bool
    labelled: float  # number of views below which it needs labels
    bias: bool  # whether it needs bias labels


def _objective_of(name, options):
    bound, detached, authors = functools.partial, options.get("detach_weights"), options.get("form") == "authors"
    usual = not options.get("drop_false_negatives") and options.get("clamp", "floor") == "floor"
    if name == "infonce" and usual:
        return _infonce
    if name == "debiased_negatives" and usual:
        return bound(_debiased_negatives, tau_plus=options["tau_plus"])
    if name == "hard_negatives" and usual and options["beta"] == 1:
        return bound(_hard_negatives, tau_plus=options["tau_plus"], detached=detached)
    if name == "bayesian" and options["alpha"] < 1 and (authors or options["beta"] == 1):
        weights = RankWeights(*(options[what] for what in ("form", "tau_plus", "alpha", "beta", "stabilize")))
        return bound(_bayesian, log_weights=weights, normalised=not authors, detached=detached)
    if name == "supcon" and options["form"] == "out":
        return _supcon
    if name == "eps_supinfonce" and options["form"] == "c" and options["log_eps"] == 0 and math.isfinite(options["epsilon"]):
        return bound(_eps_supinfonce, epsilon=options["epsilon"], mean=options["over_positives"] == "mean")
    if name == "fairkl" and options["mode"] == "authors" and options["empty"] != "skip":
        return bound(_fairkl, kld=options["kld"])
    return None


def form_of(name, options):
    """The Form of an objective with resolved options, or None."""
    objective = _objective_of(name, options)
    if objective is None:
        return None
    t, base = options.get("temperature", 1.0), options.get("base_temperature", "none")
    labelled = {"supcon": 2, "eps_supinfonce": math.inf, "fairkl": math.inf}.get(name, 0)
    return Form(objective, t, 1.0 if base == "none" else t / base, labelled == 0, labelled, name == "fairkl")


def _usual(tensor):
    return type(tensor) in (torch.Tensor, torch.nn.Parameter) and tensor.is_cpu and not tensor.is_neg()


def takes(form, views, labels, bias):
    """Whether the form computes from views, [B, D] each or one [B, V, D], and labels [B]: a small batch of usual inputs."""
    if not views or not backward_only() or not _usual(views[0]):
        return False
    shape, count = views[0].shape, len(views)
    if count == 1 and len(shape) == 3:
        count = shape[1]
    elif len(shape) != 2 or not all(_usual(view) and view.shape == shape and view.dtype == views[0].dtype for view in views[1:]):
        return False
    if not 2 <= shape[0] * count <= MOST_ROWS or not shape[-1] or not views[0].is_floating_point():
        return False
    if form.two_views and (count != 2 or shape[0] < 2) or labels is None and count < form.labelled or bias is None and form.bias:
        return False
    if any(one is not None and not (_usual(one) and one.shape == shape[:1]) for one in (labels, bias)):
        return False
    return not form.bias or int(torch.minimum(labels, bias).min()) >= 0


class _AtOnce(torch.autograd.Function):
    """The value, and what of(whether a gradient is needed, views) gives beside it and the gradients."""

    @staticmethod
    def forward(ctx, of, again, *views):
        value, gradients, more = of(any(ctx.needs_input_grad), views)
        if gradients is not None:
            ctx.again = again
            ctx.save_for_backward(*views, *gradients)
        return value, more

    @staticmethod
    def backward(ctx, factor, _):
        count = len(ctx.saved_tensors) // 2
        views, gradients = ctx.saved_tensors[:count], ctx.saved_tensors[count:]
        if not torch.is_grad_enabled():
            return None, None, *((gradient * factor).to(view.dtype) for view, gradient in zip(views, gradients))
        own = [view.view_as(view) for view in views]  # for a second derivative
        wanted = [one for one, needed in zip(own, ctx.needs_input_grad[2:]) if needed]
        found = iter(torch.autograd.grad(ctx.again(own), wanted, factor, create_graph=True))
        return None, None, *(next(found) if needed else None for needed in ctx.needs_input_grad[2:])


def _value_and_gradients(form, labels, bias, normalize, needed, views):
    first = views[0]
    rows = torch.cat(views) if len(views) > 1 else first if first.dim() == 2 else flat(first)
    rows = rows.detach() if rows.dtype == torch.float64 else rows.detach().float()
    norms = norms_of(rows) if normalize else None
    rows = rows / norms if normalize else rows
    with numpy.errstate(all="ignore"):
        found = form.objective(Batch(rows, len(rows) // len(first), form.temperature, labels, bias))
    losses, gradients = torch.from_numpy(found.losses), None
    losses = losses if form.scale == 1 else losses * form.scale
    if needed:
        slopes = torch.from_numpy(found.slopes)
        of_rows = torch.addmm(rows, slopes + slopes.T, rows, beta=0, alpha=form.scale / (form.temperature * len(rows)))
        of_rows = pulled_to_rows(of_rows, rows, norms) if normalize else of_rows
        gradients = of_rows.split(len(first)) if len(views) > 1 or first.dim() == 2 else (of_rows.view(-1, len(first), rows.shape[1]).transpose(0, 1),)
    return losses.mean(), gradients, (losses, Measured(len(rows), len(rows), *found[2:5], with_positives=found.with_positives))


def result_of(form, views, labels, bias, normalize, again):
    """The Result. again: computes the value from the views the general way."""
    value, (losses, measured) = _AtOnce.apply(functools.partial(_value_and_gradients, form, labels, bias, normalize), again, *views)
    return Result(value, losses, measured)
