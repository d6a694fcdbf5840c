"""The rectangle of two towers walked with gradients in closed form: one product of rows and few matrices of a block at a time.

over_towers(pair, ...) gives `pair` the scores s_ij = scale · cos(image i, text j) of a block of images and all texts. It returns numbers of the
images [B, K] and of the texts [B, L]; the backward pass walks the blocks again. Rows are divided by their norms within the walk.
Memory above inputs and gradients is therefore one tower and some blocks.

Used outside torch.compile and torch.func, where rectangle.py does the same by automatic differentiation. It cannot be differentiated twice.
"""

import torch

from .call import can_read
from .log_space import LOG_OF_NOTHING, softplus

_TINY = 1e-12  # the least norm that rows are divided by
# Exponentials of both directions share one matrix, e^{k (s - scale)} >= e^{-2 k scale}, where that is above the smallest numbers of float32.
_MAX_SHARED = 35.0


def applies():
    """Whether nothing traces or transforms the call."""
    return not torch.compiler.is_compiling() and torch._C._functorch.peek_interpreter_stack() is None


class NegativeSums:
    """For each multiplier k: log Σ e^{k s} over the negatives of a row, and of a column. Unless `relations` are given, all pairs but (i, i)
    are negatives."""

    logs = True

    def __init__(self, multipliers, scale, relations=None):
        self.multipliers, self.relations = multipliers, relations
        number = scale.item() if isinstance(scale, torch.Tensor) and can_read(scale) else scale
        self._bound = number if isinstance(number, float) and 0 < max(multipliers, default=0) * number <= _MAX_SHARED else None

    def _exponentials(self, scores, k, begin):
        """e^{k (s - bound)}, 0 where the pair is no negative."""
        out = (scores - self._bound).mul_(k).exp_()
        if self.relations is None:
            out.diagonal(begin).zero_()
        else:
            out.masked_fill_(~self.relations.block(scores, begin)[1], 0)
        return out

    def _masked(self, scores, k, begin, side):
        """k s, with the log of nothing where the pair is no negative of the row (side 1) or column (side 2)."""
        out = scores * k
        if self.relations is None:
            out.diagonal(begin).fill_(LOG_OF_NOTHING)
        else:
            out.masked_fill_(~self.relations.block(scores, begin)[side], LOG_OF_NOTHING)
        return out

    def values(self, scores, begin, rows, columns):
        sides = [], []
        for k in self.multipliers:
            if self._shares():
                e = self._exponentials(scores, k, begin)
                for dim, side in enumerate(sides):
                    total = e.sum(1 - dim)
                    side.append(torch.where(total > 0, total.log() + k * self._bound, LOG_OF_NOTHING))
            else:
                for dim, side in enumerate(sides):
                    x = self._masked(scores, k, begin, 1 + dim)
                    top = x.amax(1 - dim, keepdim=True)
                    side.append(x.sub_(top).exp_().sum(1 - dim).log_().add_(top.squeeze(1 - dim)).clamp_min_(LOG_OF_NOTHING))
        return tuple(torch.stack(side, 1) for side in sides)

    def _shares(self):
        return self._bound is not None and (self.relations is None or self.relations.same_negatives)

    def gradient(self, scores, begin, rows, columns, outputs, gradients):
        total = torch.zeros_like(scores)
        for place, k in enumerate(self.multipliers):
            parts = []
            for output, gradient in zip(outputs, gradients):
                there = output[:, place] > LOG_OF_NOTHING / 2
                parts.append((torch.where(there, gradient[:, place] * k, 0), torch.where(there, output[:, place], 0)))
            (of_rows, row_logs), (of_columns, column_logs) = parts
            if self._shares():
                e = self._exponentials(scores, k, begin)
                total.addcmul_(e, (of_rows * (k * self._bound - row_logs).exp())[:, None])
                total.addcmul_(e, of_columns * (k * self._bound - column_logs).exp())
            else:
                total.addcmul_(self._masked(scores, k, begin, 1).sub_(row_logs[:, None]).exp_(), of_rows[:, None])
                total.addcmul_(self._masked(scores, k, begin, 2).sub_(column_logs).exp_(), of_columns)
        return total, None, None


class PositiveSums:
    """log Σ_j q_ij e^{s_ij} of rows and columns."""

    logs = True

    def __init__(self, relations):
        self.relations = relations

    def _terms(self, scores, begin):
        for q in self.relations.weights(scores, begin):
            yield torch.where(q > 0, q.log().add_(scores), LOG_OF_NOTHING)

    def values(self, scores, begin, rows, columns):
        of_rows, of_columns = self._terms(scores, begin)
        return of_rows.logsumexp(1)[:, None], of_columns.logsumexp(0)[:, None]

    def gradient(self, scores, begin, rows, columns, outputs, gradients):
        of_rows, of_columns = self._terms(scores, begin)
        total = of_rows.sub_(outputs[0]).exp_().mul_(gradients[0])
        return total.addcmul_(of_columns.sub_(outputs[1][:, 0]).exp_(), gradients[1][:, 0]), None, None


class PositiveLosses:
    """Σ_j q_ij log(1 + N_i e^{-s_ij}) of rows and columns from `rows` and `columns`, the logs of N."""

    logs = False

    def __init__(self, relations):
        self.relations = relations

    def values(self, scores, begin, rows, columns):
        q = self.relations.weights(scores, begin)
        return ((q[0] * softplus(rows[:, None] - scores)).sum(1)[:, None], (q[1] * softplus(columns - scores)).sum(0)[:, None])

    def gradient(self, scores, begin, rows, columns, outputs, gradients):
        q = self.relations.weights(scores, begin)
        of_rows = (rows[:, None] - scores).sigmoid_().mul_(q[0]).mul_(gradients[0])
        of_columns = (columns - scores).sigmoid_().mul_(q[1]).mul_(gradients[1][:, 0])
        moved = of_rows.sum(1), of_columns.sum(0)
        return of_rows.add_(of_columns).neg_(), *moved


class SigmoidTerms:
    """Σ_j log(1 + e^{-t_ij (s_ij + b)}) of rows, b being the one number in `columns`; of columns nothing."""

    logs = False

    def __init__(self, relations):
        self.relations = relations

    def values(self, scores, begin, rows, columns):
        positive, negative = self.relations.block(scores, begin)[:2]
        logits = scores + columns
        terms = softplus(torch.where(positive, -logits, logits)).masked_fill_(~(positive | negative), 0)
        return terms.sum(1)[:, None], torch.zeros_like(scores[0])[:, None]

    def gradient(self, scores, begin, rows, columns, outputs, gradients):
        positive, negative = self.relations.block(scores, begin)[:2]
        total = (scores + columns).sigmoid_()
        total = total.sub_(positive.to(total.dtype)).masked_fill_(~(positive | negative), 0).mul_(gradients[0])
        return total, None, total.sum().reshape(1)


def _joined(logs, so_far, more):
    if so_far is None:
        return more
    return torch.logaddexp(so_far, more, out=so_far) if logs else so_far.add_(more)


def norms_of(tower):
    return torch.linalg.vector_norm(tower, dim=1, keepdim=True).clamp_min(_TINY)


def _through_norm(gradient, unit, norm):
    """The gradient of rows from that of unit rows, in its place."""
    return gradient.addcmul_(unit, (gradient * unit).sum(1, keepdim=True), value=-1).div_(norm)


class _Walk(torch.autograd.Function):
    @staticmethod
    def forward(pair, step, image, text, scale, rows, columns):
        unit = text / norms_of(text)
        norms, of_rows, of_columns = norms_of(image), [], None
        for begin in range(0, image.shape[0], step):
            block = slice(begin, begin + step)
            scores = (image[block] / norms[block]).mul_(scale) @ unit.T
            found = pair.values(scores, begin, None if rows is None else rows[block], columns)
            of_rows.append(found[0])
            of_columns = _joined(pair.logs, of_columns, found[1])
        return torch.cat(of_rows), of_columns

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.pair, ctx.step, *tensors = inputs
        ctx.save_for_backward(*tensors, *output)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, row_gradient, column_gradient):
        image, text, scale, rows, columns, row_outputs, column_outputs = ctx.saved_tensors
        image_norms, text_norms, width = norms_of(image), norms_of(text), max(1, ctx.step)
        unit = text / text_norms
        of_image, of_text, of_scale = torch.empty_like(image), torch.zeros_like(text), torch.zeros_like(scale)
        of_rows, of_columns = [], None if columns is None else torch.zeros_like(columns)
        for begin in range(0, image.shape[0], width):
            block = slice(begin, begin + width)
            own = image[block] / image_norms[block]
            scores = (own * scale) @ unit.T
            gradient, moved_rows, moved_columns = ctx.pair.gradient(scores, begin, None if rows is None else rows[block], columns,
                                                                    (row_outputs[block], column_outputs), (row_gradient[block], column_gradient))
            torch.mm(gradient, unit, out=of_image[block])
            of_scale += (of_image[block] * own).sum()
            of_text.addmm_(gradient.T, own)
            _through_norm(of_image[block].mul_(scale), own, image_norms[block])
            if moved_rows is not None:
                of_rows.append(moved_rows)
            if moved_columns is not None:
                of_columns += moved_columns
        of_text.mul_(scale)
        for begin in range(0, text.shape[0], width):
            block = slice(begin, begin + width)
            _through_norm(of_text[block], unit[block], text_norms[block])
        return None, None, of_image, of_text, of_scale, torch.cat(of_rows) if of_rows else None, of_columns


class _OwnScores(torch.autograd.Function):
    """scale · cos(image i, text i) of each pair."""

    @staticmethod
    def forward(step, image, text, scale):
        cosines = [(image[begin:begin + step] * text[begin:begin + step]).sum(1) for begin in range(0, image.shape[0], step)]
        return torch.cat(cosines) / (norms_of(image) * norms_of(text))[:, 0] * scale

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.step, *tensors = inputs
        ctx.save_for_backward(*tensors, output)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, gradient):
        image, text, scale, output = ctx.saved_tensors
        norms, found = (norms_of(image), norms_of(text)), (torch.empty_like(image), torch.empty_like(text))
        for begin in range(0, image.shape[0], ctx.step):
            block = slice(begin, begin + ctx.step)
            own, other = image[block] / norms[0][block], text[block] / norms[1][block]
            weight = (gradient[block] * scale)[:, None]
            found[0][block] = _through_norm(other * weight, own, norms[0][block])
            found[1][block] = _through_norm(own * weight, other, norms[1][block])
        return None, *found, (gradient * output).sum() / scale


def over_towers(pair, step, image, text, scale, rows=None, columns=None):
    """The pair's numbers of all images and all texts. scale: a tensor of one number; rows, columns: what the pair takes."""
    return _Walk.apply(pair, step, image, text, scale, rows, columns)


def own_scores(step, image, text, scale):
    return _OwnScores.apply(step, image, text, scale)
