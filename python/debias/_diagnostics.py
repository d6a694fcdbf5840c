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

    @property
    def fused(self):
        return self.engine == "fused"


def read(numbers, engine):
    """Diagnostics from the numbers of anchors, used and clamped ones, the smallest estimate and the sample size; infinity means none."""
    anchors, used, clamped, least, size = numbers
    some = lambda number: None if math.isinf(number) else number
    return Diagnostics(int(anchors), int(used), int(clamped), some(least), some(size), engine)


def of(measured):
    return read(measured.numbers(), measured.engine)
