"""Which engine computes the sums over pairs of a call.

    dense    the matrix of all pairs, by PyTorch
    blocked  blocks of anchors with all keys, by PyTorch: any device and type, memory of one block
    fused    tiles, by the compiled engine: float32 on the CPU, rows compared with each other
    auto     fused where it can be; else blocked from 2^20 pairs on and on devices; else dense
"""

import torch

from .. import _engine
from .._modes import eager_on_cpu, exporting
from .call import NO_FUSED
from .row_blocks import takes_blocks


def takes_fused(rows):
    """Whether the compiled engine can compute here: it can be neither exported nor transformed by torch.func."""
    return _engine.AVAILABLE and rows.device.type == "cpu" and rows.dtype == torch.float32 and not exporting() and \
        (torch.compiler.is_compiling() or eager_on_cpu(rows))


def engine_of(call, rows, keys, square):
    if call.engine in ("auto", "fused") and square and takes_fused(rows):
        return "fused"
    if call.engine == "fused":
        raise ValueError(_no_fused(rows, square))
    return "blocked" if takes_blocks(call.engine, rows.shape[0], keys.shape[0]) else "dense"


def _no_fused(rows, square):
    if not square:
        return "fused backend: it compares embeddings with each other, and keys were given; give engine auto, blocked or dense"
    if rows.dtype != torch.float32 or rows.device.type != "cpu":
        return (f"fused backend: it takes float32 embeddings on the CPU, found {str(rows.dtype).removeprefix('torch.')} on {rows.device}; "
                "give engine auto, blocked or dense")
    return NO_FUSED
