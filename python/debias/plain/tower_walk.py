"""The rectangle of two towers walked with gradients in closed form: two matrices of a block at a time.

over_towers(pair, ...) gives `pair` the scores s_ij = scale · cos(image i, text j) of a block of images and all texts. It returns numbers of
the images [B, K] and of the texts [B, L], and the own scores s_ii [B]. The backward pass walks the blocks again. A pair may overwrite the
scores and `work`, a matrix of their shape.

sigmoid_loss(...) forms the loss and its gradients in one walk, for the derivative in a score depends on no sum. The backward pass
multiplies the gradients.

Products read the texts as they are. The norms of the texts divide the scores and the gradients of the scores. Memory above inputs and
gradients is therefore that of some blocks.

Used outside torch.compile and torch.func, where rectangle.py does the same by automatic differentiation. It cannot be differentiated twice.
"""

import torch

from .._modes import backward_only
from .call import can_read
from .log_space import LOG_OF_NOTHING

_TINY = 1e-12  # the least norm that rows are divided by
# Exponentials of both directions share one matrix, e^{k (s - scale)} >= e^{-2 k scale}, where that is above the smallest numbers of float32.
_MAX_SHARED = 35.0


def applies():
    """Whether nothing traces or transforms the call."""
    return backward_only()


class NegativeSums:
    """For each multiplier k: log Σ e^{k s} over the negatives of a row, and of a column. Unless `relations` are given, all pairs but (i, i)
    are negatives."""

    logs = True

    def __init__(self, multipliers, scale, relations=None):
        self.multipliers, self.relations = multipliers, relations
        number = scale.item() if isinstance(scale, torch.Tensor) and can_read(scale) else scale
        self._bound = number if isinstance(number, float) and 0 < max(multipliers, default=0) * number <= _MAX_SHARED else None

    def _shares(self):
        return self._bound is not None and (self.relations is None or self.relations.same_negatives)

    def _left_out(self, scores, begin):
        """Which pairs are no negatives of the rows, and of the columns; None where they are the pairs (i, i)."""
        return (None, None) if self.relations is None else [~negative for negative in self.relations.block(scores, begin)[1:3]]

    def _exponentials(self, scores, k, begin, left_out, out):
        """e^{k (s - bound)}, 0 where the pair is no negative."""
        out = torch.sub(scores, self._bound, out=out)
        return _filled((out if k == 1 else out.mul_(k)).exp_(), begin, left_out, 0)

    def values(self, scores, work, begin, rows, columns):
        sides, left_out = ([], []), self._left_out(scores, begin)
        for k in self.multipliers:
            if self._shares():
                e = self._exponentials(scores, k, begin, left_out[0], work)
                for dim, side in enumerate(sides):
                    total = e.sum(1 - dim)
                    side.append(torch.where(total > 0, total.log() + k * self._bound, LOG_OF_NOTHING))
            else:
                for dim, side in enumerate(sides):
                    x = _filled(torch.mul(scores, k, out=work), begin, left_out[dim], LOG_OF_NOTHING)
                    top = x.amax(1 - dim, keepdim=True)
                    side.append(x.sub_(top).exp_().sum(1 - dim).log_().add_(top.squeeze(1 - dim)).clamp_min_(LOG_OF_NOTHING))
        return tuple(torch.stack(side, 1) for side in sides)

    def gradient(self, scores, work, begin, rows, columns, outputs, gradients):
        total, left_out, last = None, self._left_out(scores, begin), len(self.multipliers) - 1
        for place, k in enumerate(self.multipliers):
            parts = []
            for output, gradient in zip(outputs, gradients):
                there = output[:, place] > LOG_OF_NOTHING / 2
                parts.append((torch.where(there, gradient[:, place] * k, 0), torch.where(there, output[:, place], 0)))
            own = scores if place == last else scores.clone()
            part = (self._of_shared if self._shares() else self._of_sides)(own, work, k, begin, left_out, *parts)
            total = part if total is None else part.add_(total)
        return total, None, None

    def _of_shared(self, scores, work, k, begin, left_out, of_rows, of_columns):
        """The gradient of one multiplier's sums, in the place of the scores."""
        weights = [gradient * (k * self._bound - logs).exp() for gradient, logs in (of_rows, of_columns)]
        return self._exponentials(scores, k, begin, left_out[0], scores).mul_(torch.add(weights[0][:, None], weights[1], out=work))

    @staticmethod
    def _of_sides(scores, work, k, begin, left_out, of_rows, of_columns):
        """The same where each side has its own exponentials."""
        (rows, row_logs), (columns, column_logs) = of_rows, of_columns
        _filled(torch.mul(scores, k, out=work), begin, left_out[0], LOG_OF_NOTHING).sub_(row_logs[:, None]).exp_().mul_(rows[:, None])
        return _filled(scores.mul_(k), begin, left_out[1], LOG_OF_NOTHING).sub_(column_logs).exp_().mul_(columns).add_(work)


class PositiveSums:
    """log Σ_j q_ij e^{s_ij} of rows and columns."""

    logs = True

    def __init__(self, relations):
        self.relations = relations

    def _terms(self, scores, begin):
        for q in self.relations.weights(scores, begin):
            yield torch.where(q > 0, q.log().add_(scores), LOG_OF_NOTHING)

    def values(self, scores, work, begin, rows, columns):
        of_rows, of_columns = self._terms(scores, begin)
        return of_rows.logsumexp(1)[:, None], of_columns.logsumexp(0)[:, None]

    def gradient(self, scores, work, begin, rows, columns, outputs, gradients):
        of_rows, of_columns = self._terms(scores, begin)
        total = of_rows.sub_(outputs[0]).exp_().mul_(gradients[0])
        return total.addcmul_(of_columns.sub_(outputs[1][:, 0]).exp_(), gradients[1][:, 0]), None, None


class PositiveLosses:
    """Σ_j q_ij log(1 + N_i e^{-s_ij}) of rows and columns from `rows` and `columns`, the logs of N."""

    logs = False

    def __init__(self, relations):
        self.relations = relations

    def values(self, scores, work, begin, rows, columns):
        of_rows, of_columns = self.relations.weights(scores, begin)
        rows = softplus_(torch.sub(rows[:, None], scores, out=work)).mul_(of_rows).sum(1)
        return rows[:, None], softplus_(torch.sub(columns, scores, out=work)).mul_(of_columns).sum(0)[:, None]

    def gradient(self, scores, work, begin, rows, columns, outputs, gradients):
        q = self.relations.weights(scores, begin)
        of_rows = torch.sub(rows[:, None], scores, out=work).sigmoid_().mul_(q[0]).mul_(gradients[0])
        of_columns = torch.sub(columns, scores, out=scores).sigmoid_().mul_(q[1]).mul_(gradients[1][:, 0])
        moved = of_rows.sum(1), of_columns.sum(0)
        return of_rows.add_(of_columns).neg_(), *moved


def _filled(matrix, begin, left_out, value):
    """The matrix with a value where pairs are left out: the pairs (i, i) where that is None."""
    if left_out is None:
        matrix.diagonal(begin).fill_(value)
        return matrix
    return matrix.masked_fill_(left_out, value)


def softplus_(x, out=None):
    """log(1 + e^x) in the place of x, or in `out`. It is x where x > 40: in double precision too, e^-40 is lost beside 40."""
    return torch.nn.functional.softplus(x, 1, 40, out=x if out is None else out)


def _joined(logs, so_far, more):
    if so_far is None:
        return more
    return torch.logaddexp(so_far, more, out=so_far) if logs else so_far.add_(more)


def norms_of(tower):
    return torch.linalg.vector_norm(tower, dim=1, keepdim=True).clamp_min(_TINY)


class _Rows:
    """The rows of both towers, and their scores block by block."""

    def __init__(self, step, image, text, scale):
        self.step, self.image, self.text, self.scale = step, image, text.contiguous(), scale
        self.norms, self._inverse = norms_of(image), norms_of(text).reciprocal_().T
        self._shape = min(step, image.shape[0]), text.shape[0]

    def blocks(self):
        """Of each block of images: its rows, their unit rows, their scores with all texts and a matrix to work in. Every block overwrites
        the matrices of the one before."""
        scores, work = self.image.new_empty(self._shape), self.image.new_empty(self._shape)
        for begin in range(0, self.image.shape[0], self.step):
            block = slice(begin, begin + self.step)
            unit = self.image[block] / self.norms[block]
            count = unit.shape[0]
            yield block, unit, torch.mm(unit * self.scale, self.text.T, out=scores[:count]).mul_(self._inverse), work[:count]

    def start(self):
        """Makes the gradients of images, texts and scale: a block adds to them."""
        self.of_image, self.of_text = self.image.new_empty(self.image.shape), self.text.new_zeros(self.text.shape)
        self.of_scale = torch.zeros_like(self.scale)

    def add(self, block, unit, gradient):
        """From the gradient of the block's scores, which is overwritten."""
        own = torch.mm(gradient.mul_(self._inverse), self.text, out=self.of_image[block])
        self.of_scale += (own * unit).sum()
        self.of_text.addmm_(gradient.T, unit * self.scale)
        _across(own.mul_(self.scale), unit).div_(self.norms[block])

    def gradients(self):
        for begin in range(0, self.text.shape[0], self.step):
            block = slice(begin, begin + self.step)
            _across(self.of_text[block], self.text[block] * self._inverse.T[block])
        return self.of_image, self.of_text, self.of_scale


def _across(gradient, unit):
    """Takes the part along the unit rows from the gradient, in its place."""
    return gradient.addcmul_(unit, (gradient * unit).sum(1, keepdim=True), value=-1)


def _once(backward):
    """once_differentiable, also for a gradient from above that has no graph: what follows from it must not pass for a constant."""
    inner = torch.autograd.function.once_differentiable(backward)

    def outer(ctx, *gradients):
        if torch.is_grad_enabled():
            gradients = [one if one is None else one.detach().requires_grad_() for one in gradients]
        return inner(ctx, *gradients)

    return outer


class _Walk(torch.autograd.Function):
    @staticmethod
    def forward(pair, step, image, text, scale, rows, columns):
        of_rows, of_columns, own = [], None, []
        for block, _, scores, work in _Rows(step, image, text, scale).blocks():
            own.append(scores.diagonal(block.start).clone())
            found = pair.values(scores, work, block.start, None if rows is None else rows[block], columns)
            of_rows.append(found[0])
            of_columns = _joined(pair.logs, of_columns, found[1])
        return torch.cat(of_rows), of_columns, torch.cat(own)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.pair, ctx.step, *tensors = inputs
        ctx.save_for_backward(*tensors, *output[:2])

    @staticmethod
    @_once
    def backward(ctx, row_gradient, column_gradient, own_gradient):
        image, text, scale, rows, columns, row_outputs, column_outputs = ctx.saved_tensors
        towers, of_rows, of_columns = _Rows(ctx.step, image, text, scale), [], None if columns is None else torch.zeros_like(columns)
        towers.start()
        for block, unit, scores, work in towers.blocks():
            gradient, moved_rows, moved_columns = ctx.pair.gradient(
                scores, work, block.start, None if rows is None else rows[block], columns, (row_outputs[block], column_outputs),
                (row_gradient[block], column_gradient))
            gradient.diagonal(block.start).add_(own_gradient[block])
            towers.add(block, unit, gradient)
            if moved_rows is not None:
                of_rows.append(moved_rows)
            if moved_columns is not None:
                of_columns += moved_columns
        return None, None, *towers.gradients(), torch.cat(of_rows) if of_rows else None, of_columns


def over_towers(pair, step, image, text, scale, rows=None, columns=None):
    """The pair's numbers of all images and of all texts, and the own scores. scale: a tensor of one number; rows, columns: what the pair
    takes."""
    return _Walk.apply(pair, step, image, text, scale, rows, columns)


@torch.no_grad()
def own_scores(step, image, text, scale):
    """scale · cos(image i, text i) of each pair, without gradient."""
    products = [(image[begin:begin + step] * text[begin:begin + step]).sum(1) for begin in range(0, image.shape[0], step)]
    return torch.cat(products) / (norms_of(image) * norms_of(text))[:, 0] * scale


@torch.no_grad()
def over_scores(function, step, image, text, scale):
    """function(scores of a block, where it begins) for every block, without gradient."""
    return [function(scores, block.start) for block, _, scores, _ in _Rows(step, image, text, scale).blocks()]


def _sigmoid_terms(scores, work, begin, bias, relations, sloped):
    """Σ_j log(1 + e^{-t_ij (s_ij + b)}) of rows. Where `sloped`, its derivative takes the place of the scores."""
    sign = left_out = None
    if relations is not None:
        positive, negative, *_ = relations.block(scores, begin)
        sign, left_out = torch.where(positive, -1.0, 1.0).to(scores.dtype), ~(positive | negative)

    def turned(matrix):
        """The numbers of positives are negated."""
        if sign is not None:
            return matrix.mul_(sign)
        matrix.diagonal(begin).neg_()
        return matrix

    def kept(matrix):
        return matrix if left_out is None else matrix.masked_fill_(left_out, 0)

    losses = kept(softplus_(turned(scores.add_(bias)), work)).sum(1)
    if sloped:
        kept(turned(scores.sigmoid_()))
    return losses


def _graph_is_kept():
    """Whether another backward pass may follow the one that runs."""
    ask = getattr(torch._C._autograd, "_get_current_graph_task_keep_graph", None)
    return ask is None or torch.compiler.is_compiling() or ask()


class _Sigmoid(torch.autograd.Function):
    """Outputs: the sum over all pairs, the losses of the images and, where `sloped`, the sum's gradients in the four tensors."""

    @staticmethod
    def forward(relations, step, sloped, image, text, scale, bias):
        towers, losses, of_bias = _Rows(step, image, text, scale), [], torch.zeros_like(bias)
        if sloped:
            towers.start()
        for block, unit, scores, work in towers.blocks():
            losses.append(_sigmoid_terms(scores, work, block.start, bias, relations, sloped))
            if sloped:
                of_bias += scores.sum()
                towers.add(block, unit, scores)
        losses = torch.cat(losses)
        return losses.sum(), losses, *((*towers.gradients(), of_bias) if sloped else ())

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.mark_non_differentiable(*output[1:])
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(*output[2:])

    @staticmethod
    @_once
    def backward(ctx, gradient, *_):
        if gradient is None:
            return (None,) * 7
        multiplied = torch.mul if _graph_is_kept() else torch.Tensor.mul_
        return None, None, None, *(multiplied(one, gradient) for one in ctx.saved_tensors)


def sigmoid_loss(relations, step, image, text, scale, bias):
    """Σ_ij log(1 + e^{-t_ij (s_ij + b)}), and the part of each image without gradient. scale, bias: tensors of one number. Unless
    `relations` are given, the pairs (i, i) are the positives and all others the negatives."""
    sloped = torch.is_grad_enabled() and any(one.requires_grad for one in (image, text, scale, bias))
    return _Sigmoid.apply(relations, step, sloped, image, text, scale, bias)[:2]
