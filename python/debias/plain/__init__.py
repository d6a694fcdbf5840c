"""All objectives in PyTorch itself: any device, any floating-point type, any torch from 2.4 on.

Sums over pairs of rows are formed for blocks of rows and formed again for the gradient (row_blocks.py), so that a loss of n rows holds
O(n · block) numbers and not n². Everything stays on the device of the rows: a call does not make the host wait for it.
"""

from .call import Call
from .objectives import OBJECTIVES, evaluated

__all__ = ["OBJECTIVES", "Call", "evaluated"]
