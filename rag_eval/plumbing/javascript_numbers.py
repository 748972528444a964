"""Numbers as JavaScript adds, prints and rounds them, digit for digit."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Final

# Wide enough for any double below 1e21 with ten decimals, whatever the caller's context is.
_EXACT: Final = Context(prec=40)


def fixed(value: float, digits: int) -> str:
    """``value.toFixed(digits)``: exact ties rounded away from zero; ``digits`` from 0 to 10.

    The decimal expansion of the double decides: 0.00005 is above the tie that it looks like and
    becomes 0.0001, 1.96325 is below and becomes 1.9632.
    """
    if value == 0:
        return f"{0:.{digits}f}"
    if not abs(value) < 1e21:
        return shortest(value)
    # A tie is an odd multiple of 1 / 2**(digits + 1). Everything else Python's format prints alike.
    if (value * 2 ** (digits + 1)) % 2 == 1:
        step = Decimal(1).scaleb(-digits, _EXACT)
        return str(Decimal.from_float(float(value)).quantize(step, ROUND_HALF_UP, _EXACT))
    return f"{value:.{digits}f}"


_THOUSANDTHS: Final = [f"{number / 1000:.3f}" for number in range(1001)]


def three_decimals(value: float) -> str:
    """``value.toFixed(3)``."""
    # Reports write dozens for each row, nearly all of them from 0 to 1 and far from a tie.
    if 0 <= value <= 1:
        scaled = value * 1000 + 0.5
        number = int(scaled)
        if 1e-6 < scaled - number < 1 - 1e-6:
            return _THOUSANDTHS[number]
    return fixed(value, 3)


def fixed_number(value: float, digits: int) -> float:
    """``Number(value.toFixed(digits))``: 1.125 with two digits is 1.13; never -0."""
    return float(fixed(value, digits)) + 0.0


def round_half_up(value: float, digits: int) -> float:
    """``Math.round(value * 10**digits) / 10**digits``: halves of the *product* go up.

    Below zero as well; never -0. The product is a double, too: 1.96325 times 10,000 is 19632.5, and
    so 1.96325 becomes 1.9633, where :func:`fixed_number` has 1.9632.
    """
    power: int = 10**digits
    scaled = value * power
    # From 2**52 on doubles are whole.
    if not abs(scaled) < 2**52:
        return scaled / power
    below = math.floor(scaled)
    return (below + (scaled - below >= 0.5)) / power


def plain_sum(values: Iterable[float]) -> float:
    """The sum, added one by one; ``sum()`` compensates from Python 3.12 on."""
    total: float = 0
    for value in values:
        total += value
    return total


@functools.lru_cache(maxsize=64)
def shortest(value: float) -> str:
    """The shortest text that reads back as ``value`` (Number.toString, ECMA-262 6.1.6.1.20)."""
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if value == 0:
        return "0"
    sign, digits, exponent = Decimal(repr(float(value))).normalize(_EXACT).as_tuple()
    assert isinstance(exponent, int)
    text = "".join(map(str, digits))
    point = len(text) + exponent  # digits before the decimal point
    if 0 < point <= 21:
        body = text[:point].ljust(point, "0") + ("." + text[point:] if len(text) > point else "")
    elif -6 < point <= 0:
        body = "0." + "0" * -point + text
    else:
        mantissa = text[0] + ("." + text[1:] if len(text) > 1 else "")
        body = f"{mantissa}e{'+' if point > 0 else '-'}{abs(point - 1)}"
    return "-" * sign + body
