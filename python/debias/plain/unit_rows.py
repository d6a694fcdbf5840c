"""Rows divided by their norms."""

import torch

from .._modes import backward_only
from .call import without_autocast

_LEAST = 1e-12  # that rows are divided by


def norms_of(rows):
    return torch.linalg.vector_norm(rows, dim=-1, keepdim=True).clamp_min(_LEAST)


def pulled_to_rows(gradient, unit, norms):
    """The gradient of rows from that of their unit rows [n, D]."""
    along = torch.where(norms > _LEAST, torch.linalg.vecdot(gradient, unit)[:, None], 0)
    return torch.addcmul(gradient, unit, along, value=-1) / norms


class _FlatUnit(torch.autograd.Function):
    """Written out: autograd takes twice as many steps, which a small batch notices. May be differentiated again."""

    @staticmethod
    def forward(ctx, z):
        rows = flat(z)
        unit = rows / norms_of(rows)
        ctx.save_for_backward(z, unit)
        return unit

    @staticmethod
    def backward(ctx, gradient):
        z, unit = ctx.saved_tensors
        with without_autocast(z.device.type):
            return pulled_to_rows(gradient, unit, norms_of(flat(z))).view(z.shape[1], z.shape[0], -1).transpose(0, 1)


def flat(z):
    return z.transpose(0, 1).reshape(-1, z.shape[2])


def unit_rows(rows):
    """x / max(|x|, 1e-12) along the last dimension."""
    return rows / norms_of(rows)


def flat_unit_rows(z):
    """The unit rows of z [B, V, D], as [V·B, D], view-major."""
    return _FlatUnit.apply(z) if backward_only() else unit_rows(flat(z))
