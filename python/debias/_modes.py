"""How a call runs: eagerly, or traced, transformed or exported by torch."""

import torch


def exporting():
    # torch.compiler.is_exporting() is true under torch.compile as well in torch 2.11.
    return getattr(torch.compiler, "_is_exporting_flag", False)


def eager():
    """Whether nothing traces the call, and torch.func does not transform it."""
    return not torch.compiler.is_compiling() and torch._C._functorch.peek_interpreter_stack() is None


def backward_only():
    """Whether the call is eager, and derivatives are not carried forward (torch.autograd.forward_ad): an autograd.Function may compute it."""
    return eager() and torch.autograd.forward_ad._current_level < 0


def eager_on_cpu(*tensors):
    """Whether the host may compute from the data of these tensors."""
    return backward_only() and all(tensor.device.type == "cpu" and type(tensor) in (torch.Tensor, torch.nn.Parameter) and not tensor.is_neg()
                                   for tensor in tensors)
