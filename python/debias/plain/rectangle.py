"""A rectangle of pairs walked once, with sums along its rows and along its columns.

The function gets a block of anchors [b, D], all keys [m, D], the block's part of row tensors [n, ...], and tensors for every block; it
returns numbers of the block's rows [b, K] and what the block adds to those of the columns [m, L]. Blocks add up, or, with `logs`, their
exponentials do. Memory is that of one block: the backward pass walks the rectangle again, as row_blocks.py does.
"""

import torch

from .row_blocks import pulled_back, rows_of_block, step_of, takes_blocks


def _joined(logs, so_far, more):
    if so_far is None:
        return more
    return torch.logaddexp(so_far, more) if logs else so_far + more


class _Rectangle(torch.autograd.Function):
    @staticmethod
    def forward(function, step, row_tensors, logs, anchors, keys, *tensors):
        rows, columns = [], None
        for begin in range(0, anchors.shape[0], step):
            of_rows, of_columns = function(anchors[begin:begin + step], keys, *rows_of_block(tensors, row_tensors, begin, step))
            rows.append(of_rows)
            columns = _joined(logs, columns, of_columns)
        return torch.cat(rows), columns

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.function, ctx.step, ctx.row_tensors, ctx.logs, *tensors = inputs
        ctx.save_for_backward(*tensors, output[1])

    @staticmethod
    def backward(ctx, row_gradient, column_gradient):
        anchors, keys, *tensors, columns = ctx.saved_tensors
        moving = [place for place, tensor in enumerate(tensors) if ctx.needs_input_grad[6 + place]]
        of_anchors, of_keys, of_tensors = [], torch.zeros_like(keys), {place: [] for place in moving}

        def part(of_columns):
            """The gradient of the block's part of the columns' sums."""
            return column_gradient * (of_columns - columns).exp() if ctx.logs else column_gradient

        for begin in range(0, anchors.shape[0], ctx.step):
            block = rows_of_block(tensors, ctx.row_tensors, begin, ctx.step)
            found = pulled_back(ctx.function, anchors[begin:begin + ctx.step], keys, block, moving,
                                lambda output: (row_gradient[begin:begin + ctx.step], part(output[1].detach())))
            of_anchors.append(found[0])
            of_keys = of_keys + found[-1]
            for place, own in zip(moving, found[1:]):
                of_tensors[place].append(own)
        gradients = [None] * len(tensors)
        for place, parts in of_tensors.items():
            gradients[place] = torch.cat(parts) if place < ctx.row_tensors else sum(parts)
        return None, None, None, None, torch.cat(of_anchors), of_keys, *gradients


def over_rectangle(function, anchors, keys, row_tensors=(), tensors=(), *, logs, engine, memory_budget):
    """function's numbers of all rows [n, K] and of all columns [m, L]; gradients reach anchors, keys and tensors that ask for them."""
    if not takes_blocks(engine, anchors.shape[0], keys.shape[0]):
        return function(anchors, keys, *row_tensors, *tensors)
    step = step_of(anchors, keys, memory_budget)
    return _Rectangle.apply(function, step, len(row_tensors), logs, anchors, keys, *row_tensors, *tensors)
