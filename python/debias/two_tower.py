"""Losses of two towers, such as one of images and one of texts."""

import math
import numbers

import torch

from . import _diagnostics, _inputs
from ._gather import batch_of_all
from .plain.call import Conditions, without_autocast
from .plain.two_towers import Towers, evaluated

OBJECTIVES = ("infonce", "debiased_negatives", "hard_negatives", "bayesian", "siglip")
_DEBIASED = OBJECTIVES[1:4]
_NAME = "TwoTowerLoss"


def _number(what, value, inside, expected):
    if isinstance(value, bool) or not isinstance(value, numbers.Real) or not inside(value):
        raise ValueError(f"{_NAME}: {what}: expected {expected}, got {value!r}")
    return float(value)


def _scale(what, value):
    """One number above 0, or a tensor of one."""
    if isinstance(value, torch.Tensor):
        if value.numel() != 1 or not value.is_floating_point():
            raise ValueError(f"{_NAME}: {what}: expected one floating-point number, got shape {list(value.shape)} of {value.dtype}")
        return value
    return _number(what, value, lambda number: 0 < number < math.inf, "a finite number above 0")


class TwoTowerLoss(torch.nn.Module):
    r"""Contrastive loss of pairs (image, text) that corrects for false negatives: the mean over both directions.

    .. math:: L_i = \sum_j q_{ij} [ -s_{ij} + \log(e^{s_{ij}} + N_i) ], \quad s_{ij} = \text{logit\_scale} \cos(z_i, w_j)

    q weighs the positives of image i: its own text and, with `ids` or `labels`, the texts of the same id or label. N_i is the sum of e^s over
    the other texts, corrected as the objective says.

    Args:
        objective: ``infonce`` (CLIP, https://arxiv.org/abs/2103.00020), ``debiased_negatives`` (https://arxiv.org/abs/2007.00224),
            ``hard_negatives`` (https://arxiv.org/abs/2010.04592), ``bayesian`` (https://arxiv.org/abs/2301.11673) or ``siglip``
            (https://arxiv.org/abs/2303.15343), whose value is the sum over all pairs divided by B.
        tau_plus: probability in [0, 1) that a negative is a false negative. Required by ``debiased_negatives``, ``hard_negatives`` and
            ``bayesian``; :mod:`debias.prior` estimates it.
        beta: hardness of the negatives' weights e^(beta s), at least 0 (``hard_negatives``, ``bayesian``).
        alpha: probability in [0.5, 1] that a positive is nearer than a true negative (``bayesian``).
        drop_above: threshold that excludes likely false negatives. With `guide` in the call, it excludes pairs with a larger guide cosine.
            Without, it excludes pairs with s_ij > s_ii + drop_above.
        logit_scale: factor of the cosines if the call gives none: a number, or an ``nn.Parameter`` to learn.
        gather_distributed: compute the loss over the pairs of all processes of ``torch.distributed``.
        engine: backend, ``auto``, ``dense`` or ``blocked``.
        memory_budget: maximum size of a block's matrices in bytes.

    Shape: image and text ``[B, D]``, of any norm; the value is one number.

    Example::

        >>> loss = debias.TwoTowerLoss("debiased_negatives", tau_plus=0.01)
        >>> image, text = torch.randn(8, 16, requires_grad=True), torch.randn(8, 16)
        >>> loss(image, text, logit_scale=20.0, ids=[0, 1, 2, 3, 4, 5, 6, 0]).backward()
    """

    def __init__(self, objective="infonce", *, tau_plus=None, beta=1.0, alpha=0.7, drop_above=None, logit_scale=1 / 0.07,
                 gather_distributed=False, engine="auto", memory_budget=256 << 20):
        super().__init__()
        from ._losses import _choice
        self.objective = _choice(_NAME, "objective", objective, OBJECTIVES)
        self.engine = _choice(_NAME, "engine", engine, ("auto", "dense", "blocked"))
        self.tau_plus = self._checked_prior(tau_plus)
        self.beta = _number("beta", beta, lambda number: 0 <= number < math.inf, "a number of at least 0")
        self.alpha = _number("alpha", alpha, lambda number: 0.5 <= number <= 1, "a number in [0.5, 1]")
        self.drop_above = drop_above if drop_above is None else _number("drop_above", drop_above, math.isfinite, "a finite number")
        self.logit_scale = _scale("logit_scale", logit_scale)
        self.gather_distributed, self.memory_budget = bool(gather_distributed), int(_number("memory_budget", memory_budget,
                                                                                            lambda number: number >= 1, "bytes, at least 1"))
        self._diagnostics = self._per_anchor = None

    def _checked_prior(self, tau_plus):
        if self.objective not in _DEBIASED:
            if tau_plus is not None:
                raise ValueError(f"{_NAME}: tau_plus: {self.objective} has none, got {tau_plus!r}; choose {', '.join(_DEBIASED)}, or leave it out")
            return None
        if tau_plus is None:
            raise ValueError(f"{_NAME}: tau_plus: expected the chance in [0, 1) that a negative is a false one, got None; debias.prior "
                             "estimates it")
        return _number("tau_plus", tau_plus, lambda number: 0 <= number < 1, "a number in [0, 1)")

    def forward(self, image, text, *, logit_scale=None, logit_bias=None, ids=None, labels=None, targets=None, guide=None, negatives=None):
        """The loss of pairs (image i, text i).

        Args:
            image, text: ``[B, D]``. If their floating-point types differ, as under autocast, the loss is computed in float32.
            logit_scale: replaces the module's; a number or a tensor of one number, already exponentiated.
            logit_bias: added to s by ``siglip``.
            ids, labels: ``[B]`` integers; pairs with the same id or label are positives too, -1 matches only its own pair.
            targets: ``[B, B]`` weights q >= 0 of the pairs, 0 for a negative, instead of ids and labels; each direction is normalised.
            guide: ``(image [B, G], text [B, G])``, embeddings of another model, with ``drop_above``.
            negatives: further texts that are negatives of every image, ``[B, D]`` or a list of such; they have no image of their own.
        """
        self._require_agreement(logit_bias, ids, labels, targets, guide)
        scale = self.logit_scale if logit_scale is None else _scale("logit_scale", logit_scale)

        further = () if negatives is None else tuple(negatives) if isinstance(negatives, (tuple, list)) else (negatives,)

        def inputs():
            towers = self._rows(image, text, *further)
            rows = towers[0] if not self.gather_distributed else torch.stack(towers, 1)
            integers = lambda value, what: _inputs.integers(_NAME, value, what, rows)
            guided = None if guide is None else torch.cat(self._guide(guide, rows), 1)
            own = {"labels": integers(labels, "labels"), "ids": integers(ids, "ids"), "weights": guided}
            for what in ("labels", "ids"):
                if own[what] is not None and not self.gather_distributed:
                    self._require_length(what, own[what], rows)
            return rows, {**own, **dict.fromkeys(("bias_labels", "prior", "keys", "key_labels", "key_ids", "positives"))}

        rows, given = batch_of_all(_NAME, (image,), inputs) if self.gather_distributed else inputs()
        towers = rows.unbind(1) if self.gather_distributed else self._rows(image, text, *further)
        return self._evaluate(towers, given, scale, logit_bias, targets)

    def _require_agreement(self, logit_bias, ids, labels, targets, guide):
        refuse = lambda what: ValueError(f"{_NAME}: {what}")
        if targets is not None and (ids is not None or labels is not None):
            raise refuse("targets: expected either targets or ids and labels, got both")
        if targets is not None and self.gather_distributed:
            raise refuse("targets: expected None with gather_distributed=True, got a matrix of one process; give ids= or labels=")
        if guide is not None and self.drop_above is None:
            raise refuse("guide: expected None without drop_above, got one; set drop_above to the largest cosine of a negative")
        if logit_bias is not None and self.objective != "siglip":
            raise refuse(f"logit_bias: expected None for {self.objective}, got one; only siglip adds it")

    def _rows(self, image, text, *further):
        """The towers in one type, float32 if theirs differ."""
        named = [("image", image), ("text", text), *((f"negatives {place}" if len(further) > 1 else "negatives", one)
                                                     for place, one in enumerate(further))]
        for what, rows in named:
            _inputs.embeddings(_NAME, rows, what)
            if rows.dim() != 2 or rows.numel() == 0:
                raise ValueError(f"{_NAME}: {what}: expected non-empty rows [B, D], got shape {list(rows.shape)}")
        for what, rows in named[1:]:
            if image.shape != rows.shape:
                raise ValueError(f"{_NAME}: {what}: expected the shape {list(image.shape)} of image, got {list(rows.shape)}")
            if image.device != rows.device:
                raise ValueError(f"{_NAME}: {what}: expected it on {image.device} with image, got {rows.device}")
        rows = [rows for _, rows in named]
        return rows if len({one.dtype for one in rows}) == 1 else [one.to(torch.float32) for one in rows]

    def _require_length(self, what, values, rows):
        if values.shape[0] != rows.shape[0]:
            raise ValueError(f"{_NAME}: {what}: expected [{rows.shape[0]}], one for each pair, got shape {list(values.shape)}")

    def _guide(self, guide, rows):
        if not isinstance(guide, (tuple, list)) or len(guide) != 2:
            raise TypeError(f"{_NAME}: guide: expected (image, text), got {type(guide).__name__}")
        unit = []
        for what, one in zip(("guide of images", "guide of texts"), guide):
            _inputs.embeddings(_NAME, one, what)
            if one.dim() != 2 or one.shape != guide[0].shape or one.shape[0] != rows.shape[0]:
                raise ValueError(f"{_NAME}: {what}: expected shape [{rows.shape[0]}, G], the same for both, got {list(one.shape)}")
            if one.device != rows.device:
                raise ValueError(f"{_NAME}: {what}: expected it on {rows.device}, got {one.device}")
            unit.append(_unit(one.detach()))
        return unit

    def _targets(self, targets, rows, conditions):
        if targets is None:
            return None
        targets = torch.as_tensor(targets, device=rows.device)
        count = rows.shape[0]
        if targets.shape != (count, count):
            raise ValueError(f"{_NAME}: targets: expected shape [{count}, {count}], got {list(targets.shape)}")
        targets = targets.to(rows.dtype).detach()
        conditions.require(((targets >= 0) & targets.isfinite()).all(), lambda: f"{_NAME}: targets: expected weights of at least 0, got "
                           f"{targets.min().item():g}")
        conditions.require(((targets.sum(0) > 0) & (targets.sum(1) > 0)).all(), lambda: f"{_NAME}: targets: expected a positive in every row "
                           "and column, got one without")
        return targets

    def _evaluate(self, towers, given, scale, logit_bias, targets):
        device, precise = towers[0].device, torch.float64 if towers[0].dtype == torch.float64 else torch.float32
        conditions = Conditions()
        guide = given["weights"] if given["weights"] is None else given["weights"].to(precise).chunk(2, 1)
        with without_autocast(device.type):
            image, text, *further = (tower.to(precise) for tower in towers)
            scale = scale.reshape(()).to(device=device, dtype=precise) if isinstance(scale, torch.Tensor) else scale
            towers = Towers(image, text, scale, 0.0 if logit_bias is None else logit_bias, given["ids"], given["labels"],
                            self._targets(targets, image, conditions), guide, self.drop_above, self.engine, self.memory_budget,
                            torch.cat(further) if further else None)
            value, losses, measured = evaluated(self.objective, towers, self.tau_plus, self.beta, self.alpha)
            value = conditions.poisoned(value)
        self._per_anchor, self._diagnostics = losses.detach(), measured
        return value

    @property
    def diagnostics(self):
        """Diagnostics of the last value. Anchors are images and texts; `clamped` counts those whose estimate was clamped to its floor."""
        return None if self._diagnostics is None else _diagnostics.of(self._diagnostics)

    evidence = diagnostics  # an earlier name

    @property
    def per_anchor(self):
        """Losses of the last call's images, then of its texts; siglip: of its images."""
        return self._per_anchor

    def extra_repr(self):
        shown = {"tau_plus": self.tau_plus, "drop_above": self.drop_above}
        return ", ".join([self.objective, *(f"{key}={value}" for key, value in shown.items() if value is not None)])


def _unit(rows):
    rows = rows if rows.dtype == torch.float64 else rows.float()
    return rows / torch.linalg.vector_norm(rows, dim=-1, keepdim=True).clamp_min(1e-12)
