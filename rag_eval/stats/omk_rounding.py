"""Numbers rounded as omk rounds them, in the two ways it does."""

from __future__ import annotations

import math
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Final

# Wide enough for any score with all its binary digits.
_EXACT: Final = Context(prec=400)


def rounded(value: float, digits: int) -> float:
    """The nearest number of so many decimals, exact ties away from zero; 1.125 becomes 1.13."""
    step = Decimal(1).scaleb(-digits)
    return float(Decimal(value).quantize(step, ROUND_HALF_UP, _EXACT))


def round_half_up(value: float, digits: int) -> float:
    """``Math.round(value * 10**digits) / 10**digits``: halves of the product go up.

    Below zero as well, and what is not finite stays what it is.
    """
    power: int = 10**digits
    scaled = value * power
    # From 2**52 on doubles are whole.
    if not abs(scaled) < 2**52:
        return value
    below = math.floor(scaled)
    return (below + (scaled - below >= 0.5)) / power
