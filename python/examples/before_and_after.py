"""What the examples print: that the losses agree, and how the loss's processor time of a step compares."""

import time

import torch


def _seconds(loss, inputs):
    begin = time.process_time()
    loss(*inputs).backward()
    return time.process_time() - begin


def ratio(before, after, *inputs, pairs=15):
    """After's time over before's, forward and backward: the median over pairs of calls, one after the other."""
    inputs = [tensor.detach().requires_grad_(tensor.is_floating_point()) for tensor in inputs]
    for loss in (before, after):
        _seconds(loss, inputs)
    times = [(_seconds(before, inputs), _seconds(after, inputs)) for _ in range(pairs)]
    return torch.tensor([later / earlier for earlier, later in times]).median().item()


def report(name, before, after, quotient):
    print(f"{name}: loss {before:.6f} before, {after:.6f} after; time of the loss in a step {quotient:.2f} of before")
