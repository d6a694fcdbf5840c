"""A function of a block of anchors and all keys, over all anchors, with memory for one block.

`over_rows` cuts the anchors [n, D] into blocks, gives each to the function together with the keys [m, D], and joins the results along the
rows. The autograd function stores its inputs alone: the backward pass calls the function again, block by block, through torch.func.vjp.
It therefore composes with torch.func.grad and may be differentiated twice (the second derivative holds all pairs).
"""

import torch

from .._modes import exporting

# Below this many pairs one block holds them all and is left to autograd: less work, and no more than a few MB.
MANY_PAIRS = 1 << 20
# Matrices of a block's size that a function and its gradient hold at one time, at most.
_MATRICES = 10
# A block's matrix of pairs is best small enough for a cache and large enough for a matrix product.
_BLOCK_BYTES = 8 << 20


def step_of(anchors, keys, memory_budget):
    """The rows of a block."""
    matrix = max(1, min(_BLOCK_BYTES, memory_budget // _MATRICES))
    return max(1, min(anchors.shape[0], matrix // max(1, keys.shape[0] * anchors.element_size())))


class _RowBlocks(torch.autograd.Function):
    """inputs: function, rows of a block, number of row tensors, anchors, keys, the row tensors [n, ...], tensors for every block."""

    @staticmethod
    def forward(function, step, row_tensors, anchors, keys, *tensors):
        return torch.cat([function(anchors[begin:begin + step], keys, *rows_of_block(tensors, row_tensors, begin, step))
                          for begin in range(0, len(anchors), step)])

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.function, ctx.step, ctx.row_tensors, *tensors = inputs
        ctx.save_for_backward(*tensors)

    @staticmethod
    def backward(ctx, gradient):
        anchors, keys, *tensors = ctx.saved_tensors
        keys_needed = ctx.needs_input_grad[4]
        moving = [place for place, tensor in enumerate(tensors[:ctx.row_tensors]) if tensor.is_floating_point()]
        of_keys = torch.zeros_like(keys) if keys_needed else None
        of_rows = []
        for begin in range(0, len(anchors), ctx.step):
            block = rows_of_block(tensors, ctx.row_tensors, begin, ctx.step)
            found = pulled_back(ctx.function, anchors[begin:begin + ctx.step], keys, block, moving,
                                lambda output: gradient[begin:begin + ctx.step], keys_needed)
            if keys_needed:
                of_keys = of_keys + found[-1]
            of_rows.append(found[:1 + len(moving)])
        joined = [torch.cat(parts) for parts in zip(*of_rows)]
        of_tensors = [None] * len(tensors)
        for place, own in zip(moving, joined[1:]):
            of_tensors[place] = own
        return None, None, None, joined[0], of_keys, *of_tensors


def rows_of_block(tensors, row_tensors, begin, step):
    return [tensor[begin:begin + step] if place < row_tensors else tensor for place, tensor in enumerate(tensors)]


def pulled_back(function, anchors, keys, block, moving, gradient_of, keys_needed=True):
    """The gradients of anchors, of the moving tensors of the block and, where needed, of keys. gradient_of: of the function's output."""
    def of(anchors, *others):
        all_of_them = list(block)
        for place, tensor in zip(moving, others):
            all_of_them[place] = tensor
        return function(anchors, others[-1] if keys_needed else keys, *all_of_them)

    given = [anchors, *(block[place] for place in moving), *([keys] if keys_needed else [])]
    output, pull = torch.func.vjp(of, *given)
    return pull(gradient_of(output))


def takes_blocks(engine, rows, keys):
    """Whether `over_rows` walks blocks: `engine` is auto, dense or blocked. An exported program has any number of rows, in one block."""
    if engine == "auto" and not exporting():
        return rows * keys >= MANY_PAIRS
    return engine == "blocked"


def over_rows(function, anchors, keys, row_tensors=(), tensors=(), *, engine, memory_budget):
    """function(anchors [b, D], keys [m, D], *row_tensors [b, ...], *tensors) -> [b, K], over blocks of all n anchors: [n, K].

    Gradients reach anchors, keys and floating-point row tensors; `tensors` are constants.
    """
    if not takes_blocks(engine, anchors.shape[0], keys.shape[0]):
        return function(anchors, keys, *row_tensors, *tensors)
    step = step_of(anchors, keys, memory_budget)
    return _RowBlocks.apply(function, step, len(row_tensors), anchors, keys, *row_tensors, *tensors)
