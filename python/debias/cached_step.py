"""GradCache: the loss of a large batch with the activations of a small one (Gao et al. 2021, https://arxiv.org/abs/2101.06983)."""

import contextlib

import torch
import torch.distributed as dist
from torch.utils.checkpoint import get_device_states, set_device_states

from ._losses import _Supervised


def _owner(encode):
    """The module whose parameters `encode` uses: itself, or that of a method."""
    owner = encode if isinstance(encode, torch.nn.Module) else getattr(encode, "__self__", None)
    if not isinstance(owner, torch.nn.Module):
        raise TypeError(f"CachedStep: encode: expected a torch.nn.Module or a method of one, got {type(encode).__name__}")
    return owner


def _bare(encode):
    """The module inside DistributedDataParallel, which waits for one forward pass per backward pass."""
    return encode.module if isinstance(encode, torch.nn.parallel.DistributedDataParallel) else encode


class _State:
    """State of the random generators and of autocast, to run a chunk again in the same way."""

    def __init__(self, chunk):
        self.host = torch.get_rng_state()
        self.devices, self.states = get_device_states(chunk)
        self.type = chunk.device.type
        self.autocast = torch.is_autocast_enabled(self.type) if torch.amp.is_autocast_available(self.type) else False
        self.dtype = torch.get_autocast_dtype(self.type) if self.autocast else None

    @contextlib.contextmanager
    def again(self):
        with torch.random.fork_rng(self.devices, device_type=self.type if self.devices else "cuda", enabled=True):
            torch.set_rng_state(self.host)
            if self.devices:
                set_device_states(self.devices, self.states, device_type=self.type)
            with torch.autocast(self.type, dtype=self.dtype) if self.autocast else contextlib.nullcontext():
                yield


@contextlib.contextmanager
def _buffers_kept(module):
    """Restores buffers at the end: the first pass has already updated the running statistics."""
    before = [(buffer, buffer.clone()) for buffer in module.buffers()]
    try:
        yield
    finally:
        with torch.no_grad():
            for buffer, value in before:
                buffer.copy_(value)


def _rows(encode, chunk):
    rows = encode(chunk)
    if not isinstance(rows, torch.Tensor) or rows.shape[:1] != chunk.shape[:1]:
        found = list(rows.shape) if isinstance(rows, torch.Tensor) else type(rows).__name__
        raise ValueError(f"CachedStep: encode: expected a tensor of {chunk.shape[0]} rows for {chunk.shape[0]} inputs, got {found}")
    return rows


def _averaged(gradients, encode):
    """The gradients averaged over processes, as at the end of DistributedDataParallel's backward pass."""
    if not isinstance(encode, torch.nn.parallel.DistributedDataParallel) or not encode.require_backward_grad_sync:
        return gradients
    world = dist.get_world_size(encode.process_group)
    for gradient in gradients:
        dist.all_reduce(gradient, group=encode.process_group)
        gradient /= world
    return gradients


def _sum(total, one):
    """Adds in place, to save memory. Autograd may give two parameters the same tensor."""
    if one is None:
        return total
    return one.clone() if total is None else total.add_(one)


class _Encoded(torch.autograd.Function):
    """The embeddings of all chunks; the backward pass encodes each chunk again and returns the gradients of the parameters."""

    @staticmethod
    def forward(ctx, encode, inputs, size, *parameters):
        ctx.encode, ctx.size, ctx.states, rows = encode, size, [], []
        for chunk in inputs.split(size):
            ctx.states.append(_State(chunk))
            rows.append(_rows(_bare(encode), chunk))
        ctx.save_for_backward(inputs, *parameters)
        return torch.cat(rows)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, gradient):
        inputs, *parameters = ctx.saved_tensors
        totals = [None] * len(parameters)
        with _buffers_kept(_owner(ctx.encode)):
            for chunk, own, state in zip(inputs.split(ctx.size), gradient.split(ctx.size), ctx.states):
                with torch.enable_grad(), state.again():
                    rows = _rows(_bare(ctx.encode), chunk)
                found = torch.autograd.grad(rows, parameters, own, allow_unused=True)
                totals = [_sum(total, one) for total, one in zip(totals, found)]
        totals = [torch.zeros_like(parameter) if total is None else total for total, parameter in zip(totals, parameters)]
        return None, None, None, *_averaged(totals, ctx.encode)


class CachedStep:
    """A training step with the loss of a whole batch and the activation memory of one chunk (GradCache).

    Every input is encoded in chunks without an autograd graph, and the loss uses the embeddings of the whole batch. The backward pass encodes
    each chunk again, with the same random numbers (dropout), and propagates the gradients to the parameters. Gradients are those of the whole
    batch, also for parameters of the loss. The exception is batch normalisation, whose statistics are those of a chunk.

    Args:
        encode: one module for all inputs, or one for each. Methods of a module also work, such as ``(model.encode_image,
            model.encode_text)``. A module may be wrapped in ``DistributedDataParallel``: its gradients are averaged over processes. The loss
            then needs ``gather_distributed=True``.
        loss: any loss of :mod:`debias`, or a function of the embeddings and the keywords of the call.
        chunk: number of samples that are encoded together.

    Example::

        >>> encoder = torch.nn.Linear(12, 4)
        >>> step = debias.CachedStep(encode=encoder, loss=debias.SupConLoss(), chunk=8)
        >>> step(torch.randn(32, 12), labels=torch.arange(32) % 3).backward()
    """

    def __init__(self, encode, loss, chunk=64):
        self.encode = tuple(encode) if isinstance(encode, (tuple, list)) else encode
        for one in self.encode if isinstance(self.encode, tuple) else (self.encode,):
            _owner(one)
        if not callable(loss):
            raise TypeError(f"CachedStep: loss: expected a module or a function, got {type(loss).__name__}")
        if isinstance(chunk, bool) or not isinstance(chunk, int) or chunk < 1:
            raise ValueError(f"CachedStep: chunk: expected a number of samples, at least 1, got {chunk!r}")
        self.loss, self.chunk = loss, chunk

    def __call__(self, *inputs, **keywords):
        """The loss of `inputs`, each a tensor [B, ...]. Keywords (labels, ids, keys, ...) are those of the whole batch and go to the loss."""
        encoders = self.encode if isinstance(self.encode, tuple) else (self.encode,) * len(inputs)
        if not inputs or len(encoders) != len(inputs):
            raise TypeError(f"CachedStep: expected {len(encoders) if isinstance(self.encode, tuple) else 'at least 1'} inputs, got {len(inputs)}")
        rows = [self._encoded(encode, one, place) for place, (encode, one) in enumerate(zip(encoders, inputs))]
        if isinstance(self._loss(), _Supervised) and len(rows) > 1:
            return self.loss(rows, **keywords)
        return self.loss(*rows, **keywords)

    def _loss(self):
        return _bare(self.loss)

    def _encoded(self, encode, inputs, place):
        if not isinstance(inputs, torch.Tensor) or inputs.dim() == 0 or inputs.shape[0] == 0:
            found = list(inputs.shape) if isinstance(inputs, torch.Tensor) else type(inputs).__name__
            raise TypeError(f"CachedStep: input {place}: expected a non-empty tensor [B, ...], got {found}")
        if inputs.requires_grad:
            raise ValueError(f"CachedStep: input {place}: expected one that asks for no gradient, got requires_grad=True; detach it")
        if inputs.shape[0] <= self.chunk and _bare(encode) is encode:
            return _rows(encode, inputs)  # whose activations one chunk may hold anyway
        parameters = [parameter for parameter in _owner(encode).parameters() if parameter.requires_grad]
        return _Encoded.apply(encode, inputs, self.chunk, *parameters)
