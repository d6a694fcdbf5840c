"""Sums over pairs of a positive and a negative of each anchor, without a matrix of them."""

import torch

from .log_space import log_add

_TERMS = 1 << 21  # that are held at one time, at most


class _TripletSums(torch.autograd.Function):
    @staticmethod
    def forward(positive_scores, is_positive, scores, is_negative, epsilon, step):
        total = torch.zeros_like(scores[:, 0])
        for begin in range(0, positive_scores.shape[1], step):
            x = scores[:, None, :] - positive_scores[:, begin:begin + step, None]
            chosen = is_positive[:, begin:begin + step, None] & is_negative[:, None, :]
            total = total + torch.where(chosen, log_add(x, epsilon), 0).sum((1, 2))
        return total

    @staticmethod
    def setup_context(ctx, inputs, output):
        *tensors, ctx.epsilon, ctx.step = inputs
        ctx.save_for_backward(*tensors)

    @staticmethod
    def backward(ctx, gradient):
        positive_scores, is_positive, scores, is_negative = ctx.saved_tensors
        of_scores, of_positives = torch.zeros_like(scores), []
        for begin in range(0, positive_scores.shape[1], ctx.step):
            x = scores[:, None, :] - positive_scores[:, begin:begin + ctx.step, None]
            chosen = is_positive[:, begin:begin + ctx.step, None] & is_negative[:, None, :]
            pull = torch.where(chosen, torch.sigmoid(x + ctx.epsilon), 0) * gradient[:, None, None]
            of_scores = of_scores + pull.sum(1)
            of_positives.append(-pull.sum(2))
        return torch.cat(of_positives, 1), None, of_scores, None, None, None


def triplet_sums(scores, is_positive, is_negative, epsilon):
    """[b]: Σ over positives i and negatives j of log(e^-ε + e^{s_j - s_i}), of scores and sets [b, m]."""
    rows, keys = scores.shape
    # Each row's positives first. How many columns hold them can only be read where nothing waits for a device.
    first = torch.argsort(is_positive.to(torch.int8), dim=1, descending=True, stable=True)
    if is_positive.device.type == "cpu" and not torch.compiler.is_compiling():
        first = first[:, :max(1, int(is_positive.sum(1).max()))]
    step = max(1, _TERMS // max(1, rows * keys))
    return _TripletSums.apply(scores.gather(1, first), is_positive.gather(1, first), scores, is_negative, epsilon, step)
