"""Numbers rounded to two decimals as JavaScript rounds: half goes up, below zero as well."""

from __future__ import annotations

import math
import sys


def round_to_two_decimals(value: float) -> float:
    """The nearest hundredth, after 2^-52 was added: 1.005 becomes 1.01.

    NaN and infinities stay what they are.
    """
    return half_up(value + sys.float_info.epsilon)


def half_up(value: float) -> float:
    """The nearest hundredth of the double as it is; 0.125 becomes 0.13, -0.125 becomes -0.12."""
    if not math.isfinite(value):
        return value
    hundredths = value * 100
    if abs(hundredths) >= 2**52:
        return value
    below = math.floor(hundredths)
    return (below + (hundredths - below >= 0.5)) / 100
