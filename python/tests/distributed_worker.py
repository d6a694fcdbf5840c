"""One process of test_distributed.py, `distributed_worker.py FOLDER RANK SHARES WHAT`.

`losses`: trains a step under DistributedDataParallel with gathered losses, and compares with one process. `gather`: what is gathered and
what is refused, without DistributedDataParallel, so that the process may end as Python does.
"""

import os
import pathlib
import sys

import torch
import torch.distributed as dist

import debias
from test_values import loss_of

TABLE = {entry["name"]: entry for entry in debias.objectives()}
CLASSES, WIDTH = 4, 5


def batch(shares, views):
    """Inputs of all processes, the same in each: [n, views, 6], with what belongs to the samples."""
    count = sum(shares)
    generator = torch.Generator().manual_seed(7)
    images = torch.randn(count, views, 6, generator=generator, dtype=torch.float64)
    labels, bias = torch.tensor([0, 1, 0, 2, 1, 0, -1, 2, 1, 0])[:count], torch.tensor([0, 1, 1, 0, 0, 0, 1, 1, 1, 0])[:count]
    return images, labels, bias, torch.randn(count, 3, generator=generator).double(), torch.randperm(50, generator=generator)[:count]


def encoder(outputs):
    torch.manual_seed(1)
    return torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.Tanh(), torch.nn.Linear(8, outputs)).double()


def arguments(name, z, labels, bias, weights, ids, rows, keys):
    """What the objective takes, of these rows."""
    entry, own = TABLE[name], lambda tensor: tensor[rows]
    if entry["kind"] == "logits":
        return (z[:, 0], own(labels), own(bias)), {}
    if entry["min_views"] == 1 and name != "eps_infonce":
        return (z, own(labels), own(bias), own(weights) if name == "softcon" else None), {}
    given = {"labels": own(labels)}
    if keys is not None:
        key_labels = torch.arange(len(keys)) % 3
        for label, sample in zip(labels, ids):  # a sample has one class
            if sample < len(keys):
                key_labels[sample] = label
        given.update(ids=own(ids), keys=keys, key_labels=key_labels, key_ids=torch.arange(len(keys)))
        return (z[:, 0], z[:, 1]), given
    return (z,), given


def gradients(model, loss):
    """Of the encoder and, where there is one, of the temperature."""
    return [parameter.grad.clone() for parameter in [*model.parameters(), *loss.parameters()]]


def step(name, options, shares, rank, views, with_keys, temperature=None):
    """(value, gradients, losses' diagnostics) of this process, and of one process with the whole batch."""
    images, labels, bias, weights, ids = batch(shares, views)
    keys = torch.randn(11, WIDTH, generator=torch.Generator().manual_seed(9)).double() if with_keys else None
    outputs = CLASSES if TABLE[name]["kind"] == "logits" else WIDTH
    first = sum(shares[:rank])
    results = []
    for gathered in (True, False):
        rows = torch.arange(first, first + shares[rank]) if gathered else torch.arange(len(images))
        if temperature is not None:
            options = {**options, "temperature": torch.nn.Parameter(torch.tensor(temperature, dtype=torch.float64))}
        loss, model = loss_of(name, gather_distributed=gathered, **options), encoder(outputs)
        wrapped = torch.nn.parallel.DistributedDataParallel(model) if gathered else model
        learnt = torch.nn.parallel.DistributedDataParallel(loss) if gathered and temperature is not None else loss
        z = wrapped(images[rows].flatten(0, 1)).view(len(rows), views, -1)
        positional, named = arguments(name, z, labels, bias, weights, ids, rows, keys)
        value = learnt(*positional, **named)
        if value.dim():
            value = value @ torch.linspace(-1, 1, len(value), dtype=value.dtype)
        value.backward()
        results.append((value.detach(), gradients(model, loss), loss.diagnostics))
    return results


def check(name, options, shares, rank, views=2, with_keys=False, temperature=None):
    (value, found, diagnostics), (wanted, expected, alone) = step(name, options, shares, rank, views, with_keys, temperature)
    what = f"{name} {options}, shares {shares}, views {views}, keys {with_keys}"
    assert abs(value - wanted) <= 1e-11 * max(1, abs(wanted)), (what, value, wanted)
    for ours, theirs in zip(diagnostics, alone):  # a small batch is added up in another order
        assert ours == theirs or abs(ours - theirs) <= 1e-11 * abs(theirs), (what, diagnostics, alone)
    size = max(float(gradient.abs().max()) for gradient in expected)
    for got, want in zip(found, expected):
        assert (got - want).abs().max() <= 1e-10 * max(1, size), (what, float((got - want).abs().max()), size)
    assert size > 1e-8, what


def check_classic_errors(shares, rank):
    """That the two errors would be seen: each moves the gradient by far more than the tolerance."""
    images, *_ = batch(shares, 2)
    first, loss = sum(shares[:rank]), debias.InfoNCELoss()

    def of(gather):
        model = encoder(WIDTH)
        wrapped = torch.nn.parallel.DistributedDataParallel(model)
        rows = images[first:first + shares[rank]]
        gather(lambda z: loss(z), wrapped(rows.flatten(0, 1)).view(len(rows), 2, -1)).backward()
        return gradients(model, loss)

    def dropped(loss, z):  # the gradient of the rows of the others: each process has only its own rows' loss
        parts = list(debias.gather(z.detach()).split(shares))
        parts[rank] = z
        return loss(torch.cat(parts))

    def factor(loss, z):  # W times too much, where processes are averaged and each row's gradient is summed over them too
        return loss(debias.gather(z)) * len(shares)

    def right(loss, z):
        return loss(debias.gather(z))

    wanted = of(right)
    for wrong, ratio in ((dropped, 1 / len(shares)), (factor, len(shares))):
        for got, want in zip(of(wrong), wanted):
            assert (got - ratio * want).abs().max() < 1e-10, wrong.__name__
            assert (got - want).abs().max() > 1e-4, wrong.__name__


def check_refusals(shares, rank):
    z = torch.randn(shares[rank], 2, 4)
    loss = debias.InfoNCELoss(gather_distributed=True)

    def refused(words, *positional, loss=loss, **named):
        try:
            loss(*positional, **named)
        except ValueError as error:
            assert words in str(error) and "\n" not in str(error), (words, str(error))
        else:
            raise AssertionError(f"not refused: {words}")

    refused("width of rank 1 and of rank 0 differ", z if rank == 0 else torch.randn(3, 2, 5))
    refused("`labels` of rank 1", z, labels=None if rank == 0 else [0] * shares[rank])
    refused("type of rank 1", z if rank == 0 else z.double())
    refused("the keys of rank 1 are not those of rank 0", z[:, 0], z[:, 1], keys=torch.randn(6, 4) + rank)
    refused("number of keys", z[:, 0], z[:, 1], keys=torch.ones(6 + rank, 4))
    check_refused_lengths(refused, z, shares, rank)
    queue = {"keys": torch.ones(4, 4), "ids": range(shares[rank])}
    ids = [[1, 0, 0, 1], [0, 1, 1, 0]][min(rank, 1)]  # of one plain checksum
    refused("the key_ids of rank 1 are not those of rank 0", z[:, 0], z[:, 1], **queue, key_ids=ids)
    refused("the key_labels of rank 1 are not those", z[:, 0], z[:, 1], **queue, labels=[0] * shares[rank], key_labels=ids)
    refused("number of key_ids of rank 1", z[:, 0], z[:, 1], **queue, key_ids=ids[rank:])
    # What one refuses by itself is refused by all.
    refused("expected integers" if rank == 1 else "rank 1 rejected its inputs", z, labels=[0.5 if rank == 1 else 1] * shares[rank])
    refused("views of one shape" if rank == 1 else "rank 1 rejected", z[:, 0], z[1:, 1] if rank == 1 else z[:, 1])
    refused("keys: expected 2 dimensions" if rank == 1 else "rank 1 rejected", z[:, 0], z[:, 1],
            keys=torch.ones(4) if rank == 1 else torch.ones(4, 4))
    loss(z.requires_grad_()).backward()  # all processes still step alike
    assert z.grad.isfinite().all()


def check_refused_lengths(refused, z, shares, rank):
    """Too few and too many on one rank, and on all."""
    for more in (-1, 1):
        of_one, of_all = shares[rank] + (more if rank == 1 else 0), shares[rank] + more
        for what in ("labels", "ids"):
            found = f"{what} of rank 1: expected {shares[1]}, one for each of its samples, found {shares[1] + more}"
            refused(found, z, **{what: [0] * of_one})
            refused(f"{what} of rank 0: expected {shares[0]}", z, **{what: [0] * of_all})
        of_features = {"loss": debias.SoftConLoss(gather_distributed=True), "labels": [0] * shares[rank]}
        refused("weights of rank 1: expected", z, **of_features, weights=torch.ones(of_one, 3))
        refused("bias_labels of rank 1: expected", z, **of_features, bias_labels=[0] * of_one)


def check_gather(shares, rank):
    first = sum(shares[:rank])
    whole = torch.arange(sum(shares) * 2.0).view(-1, 2)
    own = whole[first:first + shares[rank]].clone().requires_grad_()
    found = debias.gather(own)
    assert torch.equal(found, whole)
    (found * whole).sum().backward()
    assert torch.equal(own.grad, len(shares) * whole[first:first + shares[rank]])
    assert debias.gather(torch.full((shares[rank],), rank)).tolist() == [r for r, count in enumerate(shares) for _ in range(count)]
    keys, ids, key_ids = debias.gather(own), torch.arange(first, first + shares[rank]), torch.arange(len(whole))
    try:
        debias.InfoNCELoss()(own, ids=ids, keys=keys, key_ids=key_ids)
        raise AssertionError("gathered keys with a gradient were taken")
    except ValueError as error:
        assert "give keys.detach()" in str(error), error
    assert debias.InfoNCELoss()(own, ids=ids, keys=keys.detach(), key_ids=key_ids).isfinite()
    assert debias.InfoNCELoss(gather_distributed=True)(own, ids=ids, keys=keys, key_ids=key_ids).isfinite()  # of all anchors, in every process


TOWERS = [("infonce", {}), ("debiased_negatives", {"tau_plus": 0.1}), ("bayesian", {"tau_plus": 0.1}), ("siglip", {})]


def towers_step(objective, options, shares, rank, gathered, cached):
    """Value and gradients of a loss of two towers, whose encoder they share."""
    images, labels, *_ = batch(shares, 2)
    first = sum(shares[:rank])
    rows = torch.arange(first, first + shares[rank]) if gathered else torch.arange(len(images))
    model = encoder(WIDTH)
    loss = debias.TwoTowerLoss(objective, gather_distributed=gathered, **options)
    wrapped = torch.nn.parallel.DistributedDataParallel(model) if gathered else model
    image, text = images[rows].unbind(1)
    if cached:
        bare = wrapped.module if gathered else model
        encode = {"module": wrapped, "method": bare.forward, "parts": bare}[cached]
        step = debias.CachedStep(encode=encode, loss=loss, chunk=2 if cached != "parts" else 64)
        value = step(image, text, ids=labels[rows])
    else:
        value = loss(*wrapped(torch.cat([image, text])).chunk(2), ids=labels[rows])
    value.backward()
    return value.detach(), [parameter.grad for parameter in model.parameters()]


class Inside(torch.nn.Module):
    """A step within the forward pass of DistributedDataParallel, as Lightning runs it: that averages by itself."""

    def __init__(self, chunk):
        super().__init__()
        self.inner, self.chunk = encoder(WIDTH), chunk

    def forward(self, image, text, ids):
        loss = debias.TwoTowerLoss(gather_distributed=dist.is_initialized())
        return debias.CachedStep(self.inner, loss, chunk=self.chunk)(image, text, ids=ids) if self.chunk else loss(
            *self.inner(torch.cat([image, text])).chunk(2), ids=ids)


def check_a_step_inside(shares, rank):
    images, labels, *_ = batch(shares, 2)
    first = sum(shares[:rank])
    found = []
    for chunk in (None, 2):
        model = Inside(chunk)
        rows = torch.arange(first, first + shares[rank])
        torch.nn.parallel.DistributedDataParallel(model)(*images[rows].unbind(1), labels[rows]).backward()
        found.append([parameter.grad for parameter in model.parameters()])
    for got, want in zip(*found):
        torch.testing.assert_close(got, want, rtol=1e-6, atol=1e-10)


def check_towers(shares, rank):
    check_a_step_inside(shares, rank)
    for objective, options in TOWERS:
        wanted, expected = towers_step(objective, options, shares, rank, False, None)
        for cached in (None, "module", "method", "parts"):
            value, found = towers_step(objective, options, shares, rank, True, cached)
            torch.testing.assert_close(value, wanted, rtol=1e-9, atol=1e-12)
            for got, want in zip(found, expected):
                torch.testing.assert_close(got, want, rtol=1e-6, atol=1e-10, msg=lambda text: f"{objective}, cached {cached}: {text}")
    gathered = debias.TwoTowerLoss(gather_distributed=True)
    try:
        gathered(torch.randn(4, WIDTH), torch.randn(4, WIDTH), ids=[0] * (3 if rank == 1 else 4))
    except ValueError as error:  # of one rank, and all refuse
        assert "ids of rank 1" in str(error), error
    else:
        raise AssertionError("ids of another length were not refused")


def check_losses(shares, rank):
    check_towers(shares, rank)
    for name, entry in TABLE.items():
        check(name, {}, shares, rank)
        if entry["kind"] != "logits":
            check(name, {}, shares, rank, views=3)
        if entry["takes_keys"] and entry["min_views"] == 2:
            check(name, {}, shares, rank, with_keys=True)
    check("infonce", {"reduction": "none"}, shares, rank)
    check("debiased_negatives", {"reduction": "sum", "drop_false_negatives": True}, shares, rank)
    check("infonce", {}, shares, rank, temperature=0.3)
    check("debiased_negatives", {"tau_plus": 0.6}, shares, rank, temperature=0.3)
    check_classic_errors(shares, rank)


if __name__ == "__main__":
    folder, rank, shares = pathlib.Path(sys.argv[1]), int(sys.argv[2]), [int(count) for count in sys.argv[3].split(",")]
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{folder / 'store'}", rank=rank, world_size=len(shares))
    under_ddp = sys.argv[4] == "losses"
    if under_ddp:
        check_losses(shares, rank)
    else:
        check_gather(shares, rank)
        check_refusals(shares, rank)
    dist.destroy_process_group()
    print("all as in one process", flush=True)
    if under_ddp:
        os._exit(0)  # DDP keeps the group's threads, which may abort the process while Python ends (pytorch/pytorch#179291)
