"""Diagnostics of a loss value, stored as tensors on their device until they are read."""

import math
from typing import NamedTuple, Optional

ENGINES = ("auto", "fused", "blocked", "dense")


class Diagnostics(NamedTuple):
    """Diagnostics of a loss value."""

    anchors: int
    anchors_used: int  # the anchors that the value averages
    clamped: int  # anchors whose estimate was clamped
    min_estimate: Optional[float]  # the minimum estimate before clamping
    effective_sample_size: Optional[float]  # of importance weights over an anchor's negatives
    engine: str  # fused (tiles), blocked (blocks of rows) or dense (the whole matrix)
    anchors_with_positives: Optional[int] = None  # of losses of pairs with labels; 0: the value is 0 and nothing is learnt

    @property
    def fused(self):
        return self.engine == "fused"


def read(numbers, engine):
    """Diagnostics from the numbers of anchors, used and clamped ones, the smallest estimate, the sample size and the anchors with positives;
    infinity means none."""
    anchors, used, clamped, least, size, with_positives = numbers
    some = lambda number: None if math.isinf(number) else number
    return Diagnostics(int(anchors), int(used), int(clamped), some(least), some(size), engine,
                       None if math.isinf(with_positives) else int(with_positives))


def of(measured):
    return read(measured.numbers(), measured.engine)
