"""The batch of all processes, for losses that compare its embeddings with each other.

Every process computes the whole loss of all embeddings, and its backward pass returns the gradient of its own ones. The others get their
gradient in their own process, which computes the same loss. DistributedDataParallel divides the sum of the W processes' parameter gradients
by W. Each process has only the gradient of its own embeddings, so the sum is needed, not the mean. The backward pass therefore multiplies by W.
"""

import torch
import torch.distributed as dist


def _world(group=None):
    return dist.get_world_size(group) if dist.is_available() and dist.is_initialized() else 1


def _all(tensor, group):
    out = [torch.empty_like(tensor) for _ in range(dist.get_world_size(group))]
    dist.all_gather(out, tensor, group=group)
    return out


def _shares(tensor, group):
    """The number of rows of each process."""
    count = torch.tensor([len(tensor)], device=tensor.device)
    return [int(one) for one in torch.cat(_all(count, group)).tolist()]


def _gathered(rows, shares, group):
    """The rows of all processes, in the order of the ranks. Collectives need equal sizes, so shorter tensors are padded."""
    padded = rows.new_zeros((max(shares), *rows.shape[1:]))
    padded[: len(rows)] = rows
    return torch.cat([one[:count] for one, count in zip(_all(padded, group), shares)])


class _GatherRows(torch.autograd.Function):
    @staticmethod
    def forward(ctx, rows, shares, group):
        rank = dist.get_rank(group)
        ctx.first, ctx.count, ctx.world = sum(shares[:rank]), shares[rank], len(shares)
        return _gathered(rows.detach(), shares, group)

    @staticmethod
    def backward(ctx, gradient):
        return gradient[ctx.first:ctx.first + ctx.count] * ctx.world, None, None


def _of_all(tensor, shares, group):
    if tensor is None:
        return None
    return _GatherRows.apply(tensor, shares, group) if tensor.is_floating_point() else _gathered(tensor, shares, group)


def gather(tensor, group=None):
    """Concatenates the embeddings of all processes in the order of their ranks: [W B, ...] from [B, ...], where B may differ.

    Use it to fill a queue. Gradients are multiplied by W, because DistributedDataParallel averages them and every process computes the whole
    loss. In one process, the tensor itself is returned. Pass the result as keys of a loss without a gradient (detach()), because the keys have
    other anchors in other processes.
    """
    if _world(group) == 1:
        return tensor
    return _of_all(tensor, _shares(tensor, group), group)


def refuse_gathered_keys(name, keys):
    """Rejects keys of gather() that require a gradient if only this process has anchors: the gradient of other anchors would be missing."""
    if isinstance(keys, torch.Tensor) and type(keys.grad_fn).__name__ == "_GatherRowsBackward":
        raise ValueError(f"{name}: keys: rows of debias.gather get the gradient of this process's anchors alone; give keys.detach(), or all rows "
                         "as views with gather_distributed=True")


_OF_THE_BATCH = ("labels", "bias_labels", "weights", "ids", "positives")
_TYPES = (torch.float32, torch.float64, torch.bfloat16, torch.float16)
_GOLDEN = 0x9E3779B97F4A7C15 - (1 << 64)  # of Fibonacci hashing
_ROWS = "rows of "


def _rows_of(what):
    return _ROWS + what


# What each process tells the others of its inputs, a number for each.
_FIELDS = ("refused", "samples", "dimensions", "width", "views", "type", *map(_rows_of, _OF_THE_BATCH),
           *(f"`{what}`" for what in _OF_THE_BATCH), "type of weights", "positives of a sample", "number of keys", "keys",
           "number of key_labels", "key_labels", "number of key_ids", "key_ids")


def _fingerprint(keys):
    """Length and checksum of a queue, from three of its entries; they are equal for equal queues."""
    if keys is None:
        return [0, 0]
    rows = keys.detach()[[0, len(keys) // 2, -1]].double() if len(keys) else keys.new_zeros((1, 1)).double()
    return [len(keys), int((rows * torch.arange(1, rows.shape[1] + 1, device=rows.device)).sum().cpu().view(torch.int64))]


def _fingerprint_of_integers(values):
    """Length and checksum of a queue's labels or ids, from all of them; each place has its own factor."""
    if values is None:
        return [0, 0]
    factors = torch.arange(1, len(values) + 1, device=values.device) * _GOLDEN
    return [len(values), int((values * ((factors ^ (factors >> 32)) * _GOLDEN)).sum())]


def _type(name, what, tensor):
    if tensor.dtype not in _TYPES:
        raise ValueError(f"{name}: {what}: expected one of {', '.join(str(one).removeprefix('torch.') for one in _TYPES)}, found "
                         f"{str(tensor.dtype).removeprefix('torch.')}")
    return _TYPES.index(tensor.dtype)


def _require_rows(name, z, given):
    if z.dim() not in (2, 3):
        raise ValueError(f"{name}: expected rows [samples, ...] of 2 or 3 dimensions, found shape {list(z.shape)}")
    for what, most in (("weights", (1, 2)), ("keys", (2,))):
        if given[what] is not None and given[what].dim() not in most:
            raise ValueError(f"{name}: {what}: expected {max(most)} dimensions, found shape {list(given[what].shape)}")


def _header(name, z, given):
    _require_rows(name, z, given)
    rows = lambda tensor: -1 if tensor is None else len(tensor)
    width = lambda tensor: 0 if tensor is None else 1 + (tensor.shape[-1] if tensor.dim() > 1 else 0)
    fields = {"refused": 0, "samples": len(z), "dimensions": z.dim(), "width": z.shape[-1], "views": z.shape[1] if z.dim() == 3 else 1,
              "type": _type(name, "embeddings", z)}
    fields.update({_rows_of(what): rows(given[what]) for what in _OF_THE_BATCH})
    fields.update({f"`{what}`": width(given[what]) for what in _OF_THE_BATCH})
    fields["type of weights"] = 0 if given["weights"] is None else _type(name, "weights", given["weights"])
    fields["positives of a sample"] = 0 if given["positives"] is None else given["positives"].shape[1]
    fields["number of keys"], fields["keys"] = _fingerprint(given["keys"])
    for what in ("key_labels", "key_ids"):
        fields[f"number of {what}"], fields[what] = _fingerprint_of_integers(given[what])
    return [fields[field] for field in _FIELDS]


def _refuse_lengths(name, headers):
    """Checks the lengths of all processes, on each of them, so all reject. Values padded to another length would be of class 0."""
    for what in _OF_THE_BATCH:
        samples, found = headers[:, _FIELDS.index("samples")], headers[:, _FIELDS.index(_rows_of(what))]
        wrong = ((found >= 0) & (found != samples)).nonzero()
        if len(wrong):
            rank = int(wrong[0])
            raise ValueError(f"{name}: gather_distributed: {what} of rank {rank}: expected {int(samples[rank])}, one for each of its samples, "
                             f"found {int(found[rank])}")


def _refuse_differences(name, headers):
    for place, field in enumerate(_FIELDS):
        found = headers[:, place]
        if field == "samples" or field.startswith(_ROWS) or bool((found == found[0]).all()):
            continue
        rank = int((found != found[0]).nonzero()[0])
        if field in ("keys", "key_labels", "key_ids"):
            raise ValueError(f"{name}: gather_distributed: the {field} of rank {rank} are not those of rank 0; a queue has to be the same in "
                             "every process, so give it what debias.gather returns")
        what = "not the same" if field.startswith("type") else f"{int(found[rank])} and {int(found[0])}"
        raise ValueError(f"{name}: gather_distributed: {field} of rank {rank} and of rank 0 differ ({what}); give all processes the same kinds "
                         "of input")


def _device(views):
    given = views[0] if len(views) == 1 and isinstance(views[0], (tuple, list)) else views
    return next((view.device for view in given if isinstance(view, torch.Tensor)), torch.device("cpu"))


def batch_of_all(name, views, inputs):
    """z and its samples' inputs of all processes; `inputs` returns those of this process. Keys are a queue that all processes share.

    An error in the inputs of one process is sent to all, which then reject theirs. Otherwise they would wait forever.
    """
    if _world() == 1:
        return inputs()
    refusal = None
    try:
        z, given = inputs()
        own = _header(name, z, given)
    except Exception as error:
        refusal, own = error, [1] + [0] * (len(_FIELDS) - 1)
    headers = torch.stack(_all(torch.tensor(own, device=_device(views)), None)).cpu()
    if refusal is not None:
        raise refusal
    if bool(headers[:, 0].any()):
        rank = int(headers[:, 0].nonzero()[0])
        raise ValueError(f"{name}: gather_distributed: rank {rank} rejected its inputs; its own error gives the reason")
    _refuse_lengths(name, headers)
    _refuse_differences(name, headers)
    shares = headers[:, _FIELDS.index("samples")].tolist()
    return _of_all(z, shares, None), {**given, **{what: _of_all(given[what], shares, None) for what in _OF_THE_BATCH}}
