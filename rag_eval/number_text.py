"""Numbers as explanations print them: the way JavaScript does, digit for digit."""

from __future__ import annotations

import functools
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Final

# Wide enough for any double below 1e21 with three decimals, whatever the caller's own context is.
_EXACT: Final = Context(prec=40)


def three_decimals(value: float) -> str:
    """``value`` with three decimals, exact ties rounded away from zero (Number.toFixed).

    Only odd multiples of 1/16 are ties; everything else agrees with Python's format.
    """
    if value == 0:
        return "0.000"
    if abs(value) >= 1e21:
        return shortest(value)
    if (value * 16) % 2 == 1:
        return str(Decimal.from_float(value).quantize(Decimal("0.001"), ROUND_HALF_UP, _EXACT))
    return f"{value:.3f}"


@functools.lru_cache(maxsize=64)
def shortest(value: float) -> str:
    """The shortest text that reads back as ``value`` (Number.toString, ECMA-262 6.1.6.1.20)."""
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
