"""Philox4x32-10 (Salmon et al. 2011), and the draws of a bootstrap that the command makes from it."""

import torch

_WORD = (1 << 32) - 1
_MULTIPLIERS, _WEYL, _ROUNDS = (0xD2511F53, 0xCD9E8D57), (0x9E3779B9, 0xBB67AE85), 10
_EVALUATION, _BOOTSTRAP = 5, 7  # domain and step of the streams


def _halves(a, b):
    product = a * b  # wraps around at 64 bits, which both halves survive
    return (product >> 32) & _WORD, product & _WORD


def philox4x32(counter, key):
    """Four int64 tensors of 32-bit words from four of a counter and two numbers of a key."""
    c0, c1, c2, c3 = counter
    k0, k1 = key
    for _ in range(_ROUNDS):
        high0, low0 = _halves(c0, _MULTIPLIERS[0])
        high1, low1 = _halves(c2, _MULTIPLIERS[1])
        c0, c1, c2, c3 = high1 ^ c1 ^ k0, low1, high0 ^ c3 ^ k1, low0
        k0, k1 = (k0 + _WEYL[0]) & _WORD, (k1 + _WEYL[1]) & _WORD
    return c0, c1, c2, c3


def drawn_with_replacement(count, replicate, seed):
    """int64 [count]: places 0..count-1, those of the command's bootstrap. count below 2^31.

    The rejection of Lemire's method is left out: it changes one draw in 2^64 / count.
    """
    nothing = torch.zeros(1, dtype=torch.int64)
    derived = philox4x32((nothing, nothing, nothing + _EVALUATION, nothing), (seed & _WORD, seed >> 32))
    index = torch.arange((count + 1) // 2)
    words = philox4x32((index, nothing + replicate, nothing, nothing + _BOOTSTRAP), (int(derived[0]), int(derived[1])))
    high = torch.stack([words[0], words[2]], 1).flatten()[:count]
    low = torch.stack([words[1], words[3]], 1).flatten()[:count]
    return (high * count + ((low * count) >> 32)) >> 32
