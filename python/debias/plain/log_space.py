"""Sums of exponentials by their logs."""

import math

import torch

LOG_OF_NOTHING = -1e30  # log of an empty sum: no gradient passes it, and no infinity arises from it


def log_sum_exp(x):
    """log Σ_j e^{x_j} of each row of finite numbers."""
    if not torch.compiler.is_compiling():
        return x.logsumexp(1)
    # torch 2.15's compiler may write a later maximum over the logsumexp that its backward pass reads.
    largest = x.detach().amax(1, keepdim=True)
    return ((x - largest).exp().sum(1, keepdim=True).log() + largest).squeeze(1)


def log_sum(x, chosen):
    """log Σ_{j chosen} e^{x_j} of each row."""
    return log_sum_exp(x.masked_fill(~chosen, LOG_OF_NOTHING))


def log_add(x, epsilon):
    """log(e^-ε + e^x); x itself for an infinite ε."""
    return x if math.isinf(epsilon) else torch.logaddexp(x, torch.full_like(x, -epsilon))


def softplus(x):
    """log(1 + e^x), which is x from the threshold on, in float64 too."""
    return torch.nn.functional.softplus(x, threshold=40)


def wide(device):
    """The type of sums that cancel, and of diagnostics: float64 where the device has it."""
    return torch.float32 if device.type == "mps" else torch.float64
