"""The compiled engine: the kernels of debias/kernels behind a C interface (python/engine/engine.h), for every version of torch.

The library has no symbol of torch. It takes pointers to the data of contiguous tensors on the CPU, and computes with the threads and the BLAS
that torch has loaded. Where it is not available, everything is computed by PyTorch (plain/).
"""

import ctypes
import os
import pathlib

import torch

from .._modes import eager_on_cpu

_FOLDER = pathlib.Path(__file__).parents[1] / "lib"


def _open():
    """The library and None, or None and the reason why there is none."""
    wanted = os.environ.get("DEBIAS_ENGINE", "auto")
    if wanted not in ("auto", "none"):
        raise ValueError(f"DEBIAS_ENGINE: expected auto or none, got '{wanted}'; unset it")
    if wanted == "none":
        return None, "debias: DEBIAS_ENGINE is none"
    path = _FOLDER / "libdebias_engine.so"
    if not path.exists():
        return None, "debias: this copy has no compiled engine"
    try:
        library = ctypes.CDLL(str(path))
    except OSError as error:
        return None, f"debias: {path.name} cannot be loaded beside torch {torch.__version__} ({error})"
    library.debias_engine_error.restype = ctypes.c_char_p
    return library, None


_LIBRARY, MISSING = _open()
AVAILABLE = _LIBRARY is not None


def takes(*tensors):
    """Whether the engine can compute from these tensors here: with data on the CPU, and neither traced nor transformed by torch.func."""
    return AVAILABLE and eager_on_cpu(*tensors)


def refuse_batches(engine, gradient):
    """Raises a ValueError if a backward pass is given several gradients at once."""
    if torch._C._functorch.is_legacy_batchedtensor(gradient) or torch._C._functorch.is_batchedtensor(gradient):
        raise ValueError(f"{engine} backend: it takes one gradient at a time, not a batch of them (is_grads_batched, vectorize); give engine dense")


def call(name, *arguments):
    """Calls debias_NAME with tensors, whose data it takes, None, and numbers and references of ctypes."""
    function = getattr(_LIBRARY, "debias_" + name)
    if function(*[ctypes.c_void_p(one.data_ptr()) if isinstance(one, torch.Tensor) else ctypes.c_int64(one) if isinstance(one, int) else one
                  for one in arguments]):
        raise RuntimeError(_LIBRARY.debias_engine_error().decode())
