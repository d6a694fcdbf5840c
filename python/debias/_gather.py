"""The batch of all processes, for losses that compare its rows with each other.

Every process computes the whole loss of all rows, and the backward pass keeps the gradient of its own. Two errors are common here. Dropping
the gradient with respect to the rows of the others: theirs comes from their own copy of the loss, so that nothing is lost as long as every
process computes the same. And a factor of W: DistributedDataParallel divides the sum of the W processes' parameter gradients by W, while
each of them has the gradient of its own rows only, so that it is their sum that is wanted. The backward pass therefore multiplies by W.
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
    """How many rows each process has."""
    count = torch.tensor([len(tensor)], device=tensor.device)
    return [int(one) for one in torch.cat(_all(count, group)).tolist()]


def _gathered(rows, shares, group):
    """The rows of all, in the order of the ranks; collectives want equal sizes, so that the shorter ones are filled up."""
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
    """The rows of every process, one after the other by rank: [W B, ...] from [B, ...], where B may differ.

    Gradients come back times W, as DistributedDataParallel's mean over processes wants them for a loss that every process computes alike.
    In one process, the tensor itself. For what a queue is to take up, and for keys that each process has its own of.
    """
    if _world(group) == 1:
        return tensor
    return _of_all(tensor, _shares(tensor, group), group)


_OF_THE_BATCH = ("labels", "bias_labels", "weights", "ids", "positives")
_TYPES = (torch.float32, torch.float64, torch.bfloat16, torch.float16)


def _fingerprint(keys):
    """Of a queue: equal where the queues are; a look at three rows."""
    if keys is None:
        return [0, 0]
    rows = keys.detach()[[0, len(keys) // 2, -1]].double() if len(keys) else keys.new_zeros((1, 1)).double()
    return [len(keys), int((rows * torch.arange(1, rows.shape[1] + 1, device=rows.device)).sum().cpu().view(torch.int64))]


def _header(z, given):
    width = lambda tensor: 0 if tensor is None else 1 + (tensor.shape[-1] if tensor.dim() > 1 else 0)
    fields = {"samples": len(z), "dimensions": z.dim(), "width": z.shape[-1], "views": z.shape[1] if z.dim() == 3 else 1,
              "type": _TYPES.index(z.dtype)}
    fields.update({f"`{what}`": width(given[what]) for what in _OF_THE_BATCH})
    fields["positives of a sample"] = 0 if given["positives"] is None else given["positives"].shape[1]
    fields["number of keys"], fields["keys"] = _fingerprint(given["keys"])
    return fields


def _refuse_differences(name, fields, headers):
    for place, field in enumerate(fields):
        found = headers[:, place]
        if field == "samples" or bool((found == found[0]).all()):
            continue
        rank = int((found != found[0]).nonzero()[0])
        if field == "keys":
            raise ValueError(f"{name}: gather_distributed: the keys of rank {rank} are not those of rank 0; a queue has to be the same in every "
                             "process, so give it what debias.gather returns")
        what = "not the same" if field == "type" else f"{int(found[rank])} and {int(found[0])}"
        raise ValueError(f"{name}: gather_distributed: {field} of rank {rank} and of rank 0 differ ({what}); give all processes the same kinds "
                         "of input")


def batch_of_all(name, z, given):
    """z and the inputs that belong to its samples, of all processes. Keys are a queue that is the same everywhere."""
    if _world() == 1:
        return z, given
    fields = _header(z, given)
    headers = torch.stack(_all(torch.tensor(list(fields.values()), device=z.device), None)).cpu()
    _refuse_differences(name, fields, headers)
    shares = headers[:, 0].tolist()
    return _of_all(z, shares, None), {**given, **{what: _of_all(given[what], shares, None) for what in _OF_THE_BATCH}}
