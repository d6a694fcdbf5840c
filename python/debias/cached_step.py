"""GradCache: the loss of a large batch with the activations of a small one (Gao et al. 2021, https://arxiv.org/abs/2101.06983)."""

import collections.abc
import contextlib
import copy
import gc
import weakref

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
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
    return encode.module if isinstance(encode, DistributedDataParallel) else encode


def _refuse_wrappers(encode):
    """Wrappers that would lose gradients: of shards, and of processes within a module whose own forward pass is called."""
    owner = _owner(encode)
    if owner is not encode and isinstance(owner, DistributedDataParallel):
        raise TypeError(f"CachedStep: encode: expected a method of the module itself, got DistributedDataParallel.{encode.__name__}; give "
                        f"ddp or a method of ddp.module")
    for name, module in _bare(owner).named_modules():
        kinds = {kind.__name__ for kind in type(module).__mro__}
        if kinds & {"FullyShardedDataParallel", "FSDPModule"}:
            raise TypeError(f"CachedStep: encode: expected whole parameters, got {type(module).__name__}{_at(name)}, which shards them; wrap the "
                            "encoder in DistributedDataParallel")
        if isinstance(module, DistributedDataParallel):
            raise TypeError(f"CachedStep: encode: expected DistributedDataParallel around the whole encoder, got it within{_at(name)}; give "
                            "DistributedDataParallel(torch.compile(module)), or encode=(the wrapped modules)")


def _at(name):
    return f" at '{name}'" if name else ""


_AROUND = weakref.WeakKeyDictionary()  # module -> reference to what _around found, or None


def _around(encode):
    """The DistributedDataParallel whose gradients are to be averaged here: `encode`, or that around the module of which a method or part encodes."""
    if isinstance(encode, DistributedDataParallel):
        return encode
    if not dist.is_available() or not dist.is_initialized() or dist.get_world_size() == 1:
        return None
    owner = _owner(encode)
    if owner not in _AROUND:
        own = {id(parameter) for parameter in owner.parameters()}
        found = next((one for one in gc.get_objects() if issubclass(type(one), DistributedDataParallel)
                      and any(id(parameter) in own for parameter in one.parameters())), None)
        _AROUND[owner] = None if found is None else weakref.ref(found)
    found = _AROUND[owner] and _AROUND[owner]()
    # Within its own forward pass it averages by itself what reaches its parameters.
    return None if found is getattr(DistributedDataParallel, "_active_ddp_module", None) else found


class _State:
    """State of the random generators and of autocast, to run a chunk again in the same way."""

    def __init__(self, *tensors):
        self.host = torch.get_rng_state()
        self.devices, self.states = get_device_states(*tensors)
        self.type = next((tensor.device.type for tensor in tensors if tensor.device.type != "cpu"), "cpu")
        self.autocast = None  # of a device that has none
        if torch.amp.is_autocast_available(self.type):
            self.autocast = {"enabled": torch.is_autocast_enabled(self.type), "dtype": torch.get_autocast_dtype(self.type)}

    @contextlib.contextmanager
    def again(self):
        with torch.random.fork_rng(self.devices, device_type=self.type if self.devices else "cuda", enabled=True):
            torch.set_rng_state(self.host)
            if self.devices:
                set_device_states(self.devices, self.states, device_type=self.type)
            with self.uncached():
                yield

    def uncached(self):
        """Autocast without its cache: weights that were cast where no graph is built have no gradient where one is, in torch before 2.15."""
        return contextlib.nullcontext() if self.autocast is None else torch.autocast(self.type, cache_enabled=False, **self.autocast)


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


def _tensors(inputs):
    """The tensors [B, ...] within dicts, lists and tuples, in order, with the keys that lead to them; and the lists of other things."""
    def walk(value, name):
        if isinstance(value, torch.Tensor):
            if value.dim() > 0 or not name:
                yield name, value
        elif isinstance(value, (collections.abc.Mapping, list, tuple)):
            pairs = list(value.items() if isinstance(value, collections.abc.Mapping) else enumerate(value))
            if pairs and _holds_no_tensors(value):
                yield name, value
            else:
                for key, one in pairs:
                    yield from walk(one, f"{name}[{key!r}]")
        elif _is_array(value):
            yield name, value

    return list(walk(inputs, ""))


def _is_array(value):
    return not isinstance(value, torch.Tensor) and len(getattr(value, "shape", ())) > 0 and hasattr(value, "__getitem__")


def _holds_no_tensors(value):
    """Whether it is a list of one thing for each sample, such as texts."""
    return isinstance(value, list) and not any(isinstance(one, (torch.Tensor, collections.abc.Mapping, list, tuple)) or _is_array(one)
                                               for one in value)


def _cut(value, begin, end):
    """The samples [begin, end) of inputs; numbers, words and tensors of one number stay."""
    if isinstance(value, torch.Tensor):
        return value[begin:end] if value.dim() > 0 else value
    if isinstance(value, collections.abc.Mapping):
        parts = {key: _cut(one, begin, end) for key, one in value.items()}
        try:
            same = copy.copy(value)
            for key, one in parts.items():
                same[key] = one
        except TypeError:  # a mapping that cannot be changed
            return parts
        return same
    if isinstance(value, (list, tuple)):
        if _holds_no_tensors(value):
            return value[begin:end]
        parts = [_cut(one, begin, end) for one in value]
        return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
    return value[begin:end] if _is_array(value) else value


def _samples(inputs, place):
    """B; refuses inputs that cannot be split into samples."""
    what = f"CachedStep: input {place}"
    tensors = _tensors(inputs)
    if not any(isinstance(one, torch.Tensor) for _, one in tensors):
        raise TypeError(f"{what}: expected a non-empty tensor [B, ...], got {type(inputs).__name__}; or a dict of such tensors")
    for name, one in tensors:
        if isinstance(one, torch.Tensor) and (one.dim() == 0 or one.shape[0] == 0):
            raise TypeError(f"{what}{name}: expected a non-empty tensor [B, ...], got {list(one.shape)}")
        if isinstance(one, torch.Tensor) and one.requires_grad:
            raise ValueError(f"{what}{name}: expected one that asks for no gradient, got requires_grad=True; detach it")
    first, count = next((name, len(one)) for name, one in tensors if isinstance(one, torch.Tensor))
    for name, one in tensors:
        if len(one) != count:
            raise ValueError(f"{what}{name}: expected {count} samples as in {first}, got {len(one)}; give what "
                             "belongs to no sample as a number or a tuple")
    return count


def _chunks(inputs, size, count):
    return [_cut(inputs, begin, min(begin + size, count)) for begin in range(0, count, size)]


def _rows(encode, chunk, count):
    rows = encode(chunk)
    if not isinstance(rows, torch.Tensor) or rows.shape[:1] != (count,):
        found = list(rows.shape) if isinstance(rows, torch.Tensor) else type(rows).__name__
        raise ValueError(f"CachedStep: encode: expected a tensor of {count} rows for {count} inputs, got {found}; give a module that returns "
                         "the embeddings")
    return rows


def _averaged(gradients, wrapping):
    """The gradients averaged over processes, as at the end of DistributedDataParallel's backward pass."""
    if wrapping is None or not wrapping.require_backward_grad_sync:
        return gradients
    world = dist.get_world_size(wrapping.process_group)
    for gradient in gradients:
        dist.all_reduce(gradient, group=wrapping.process_group)
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
    def forward(ctx, encode, wrapping, inputs, size, count, *parameters):
        ctx.encode, ctx.wrapping, ctx.inputs, ctx.size, ctx.count, ctx.states, rows = encode, wrapping, inputs, size, count, [], []
        for chunk in _chunks(inputs, size, count):
            ctx.states.append(_State(*_only_tensors(chunk)))
            with ctx.states[-1].uncached():
                rows.append(_rows(_bare(encode), chunk, min(size, count - size * len(rows))))
        ctx.save_for_backward(*_only_tensors(inputs), *parameters)
        ctx.parameters = len(parameters)
        return torch.cat(rows)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, gradient):
        saved = ctx.saved_tensors  # which finds inputs that were changed in place
        parameters = saved[len(saved) - ctx.parameters:]
        totals = [None] * len(parameters)
        with _buffers_kept(_owner(ctx.encode)):
            for chunk, own, state in zip(_chunks(ctx.inputs, ctx.size, ctx.count), gradient.split(ctx.size), ctx.states):
                with torch.enable_grad(), state.again():
                    rows = _rows(_bare(ctx.encode), chunk, len(own))
                found = torch.autograd.grad(rows, parameters, own, allow_unused=True)
                totals = [_sum(total, one) for total, one in zip(totals, found)]
        totals = [torch.zeros_like(parameter) if total is None else total for total, parameter in zip(totals, parameters)]
        return None, None, None, None, None, *_averaged(totals, ctx.wrapping)


def _only_tensors(inputs):
    return [one for _, one in _tensors(inputs) if isinstance(one, torch.Tensor)]


class CachedStep:
    """A training step with the loss of a whole batch and the activation memory of one chunk (GradCache).

    Every input is encoded in chunks without an autograd graph, and the loss uses the embeddings of the whole batch. The backward pass encodes
    each chunk again, with the same random numbers (dropout), and propagates the gradients to the parameters. Gradients are those of the whole
    batch, also for parameters of the loss. The exception is batch normalisation, whose statistics are those of a chunk.

    Args:
        encode: one module for all inputs, or one for each. Methods of a module also work, such as ``(model.encode_image,
            model.encode_text)``. A module may be wrapped in ``DistributedDataParallel``, and methods and parts of the wrapped module may
            encode (``ddp.module.encode_image``): gradients are averaged over processes. The loss then needs ``gather_distributed=True``.
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
            _refuse_wrappers(one)
        if not callable(loss):
            raise TypeError(f"CachedStep: loss: expected a module or a function, got {type(loss).__name__}")
        if isinstance(chunk, bool) or not isinstance(chunk, int) or chunk < 1:
            raise ValueError(f"CachedStep: chunk: expected a number of samples, at least 1, got {chunk!r}")
        self.loss, self.chunk = loss, chunk

    def __call__(self, *inputs, **keywords):
        """The loss of `inputs`, each a tensor [B, ...] or a dict, list or tuple of such, which are split key by key. Keywords (labels, ids, keys,
        ...) are those of the whole batch and go to the loss."""
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
        count, wrapping = _samples(inputs, place), _around(encode)
        if count <= self.chunk and wrapping is None:
            return _rows(encode, inputs, count)  # whose activations one chunk may hold anyway
        parameters = [parameter for parameter in _owner(encode).parameters() if parameter.requires_grad]
        return _Encoded.apply(encode, wrapping, inputs, self.chunk, count, *parameters)
