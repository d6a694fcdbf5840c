"""Rows divided by their norms."""

import torch

from .._modes import backward_only
from .call import without_autocast

_LEAST = 1e-12  # that rows are divided by


def _norms(rows):
    return torch.linalg.vector_norm(rows, dim=-1, keepdim=True).clamp_min(_LEAST)


class _FlatUnit(torch.autograd.Function):
    """Written out: autograd takes twice as many steps, which a small batch notices. May be differentiated again."""

    @staticmethod
    def forward(ctx, z):
        rows = _flat(z)
        unit = rows / _norms(rows)
        ctx.save_for_backward(z, unit)
        return unit

    @staticmethod
    def backward(ctx, gradient):
        z, unit = ctx.saved_tensors
        with without_autocast(z.device.type):
            norms = _norms(_flat(z))
            along = torch.where(norms > _LEAST, torch.linalg.vecdot(gradient, unit)[:, None], 0)
            return (torch.addcmul(gradient, unit, along, value=-1) / norms).view(z.shape[1], z.shape[0], -1).transpose(0, 1)


def _flat(z):
    return z.transpose(0, 1).reshape(-1, z.shape[2])


def unit_rows(rows):
    """x / max(|x|, 1e-12) along the last dimension."""
    return rows / _norms(rows)


def flat_unit_rows(z):
    """The unit rows of z [B, V, D], as [V·B, D], view-major."""
    return _FlatUnit.apply(z) if backward_only() else unit_rows(_flat(z))
