"""Philox4x32-10 (Salmon et al. 2011), and the draws of a bootstrap that the command makes from it."""

import functools

import torch

_WORD = (1 << 32) - 1
_MULTIPLIERS, _WEYL, _ROUNDS = (0xD2511F53, 0xCD9E8D57), (0x9E3779B9, 0xBB67AE85), 10
_EVALUATION, _BOOTSTRAP = 5, 7  # domain and step of the streams


def philox4x32(counter, key, room=None):
    """Four int64 tensors of 32-bit words from four of a counter, which are broadcast, and two numbers of a key.

    They are views of `room`, int64 [5, ...], where all is computed: fresh memory for each step would cost more than the steps.
    """
    if room is None:
        room = torch.empty(5, *torch.broadcast_shapes(*(word.shape for word in counter)), dtype=torch.int64, device="cpu")
    for word, place in zip(counter, room):
        place.copy_(word)
    c0, c1, c2, c3, spare = room
    k0, k1 = key
    for _ in range(_ROUNDS):
        c0, c2 = c0.mul_(_MULTIPLIERS[0]), c2.mul_(_MULTIPLIERS[1])  # these wrap around at 64 bits, which both halves survive
        for word, product, of_key in ((c1, c2, k0), (c3, c0, k1)):
            torch.bitwise_right_shift(product, 32, out=spare)  # keeps the sign, so that the result needs the mask
            word.bitwise_xor_(spare).bitwise_xor_(of_key).bitwise_and_(_WORD)
        c0, c1, c2, c3 = c1, c2, c3, c0
        k0, k1 = (k0 + _WEYL[0]) & _WORD, (k1 + _WEYL[1]) & _WORD
    return c0, c1.bitwise_and_(_WORD), c2, c3.bitwise_and_(_WORD)


@functools.lru_cache(maxsize=8)
def _key(seed):
    nothing = torch.zeros(1, dtype=torch.int64, device="cpu")
    words = philox4x32((nothing, nothing, nothing + _EVALUATION, nothing), (seed & _WORD, seed >> 32))
    return int(words[0]), int(words[1])


def drawn_with_replacement(count, replicates, blocks, seed, room=None):
    """Places 0..count-1 that the command's bootstrap draws in these replicates by these blocks, in no order: two int64 [replicates, draws].

    replicates and blocks are ranges. A replicate has (count + 1) // 2 blocks, of two draws each; of an odd count, the last has one. count
    is below 2^31. The rejection of Lemire's method is left out: it changes one draw in 2^64 / count. `room` is as in philox4x32.
    """
    block, replicate = (torch.arange(some.start, some.stop, device="cpu") for some in (blocks, replicates))
    nothing = torch.zeros(1, 1, dtype=torch.int64, device="cpu")
    words = philox4x32((block.unsqueeze(0), replicate.unsqueeze(1), nothing, nothing + _BOOTSTRAP), _key(seed), room)
    first, second = (low.mul_(count).bitwise_right_shift_(32).add_(high, alpha=count).bitwise_right_shift_(32)
                     for high, low in (words[:2], words[2:]))
    return first, second[:, :count // 2 - blocks.start]
