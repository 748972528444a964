"""Numbers rounded as omk rounds: exact ties away from zero."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Final

# Wide enough for any score with all its binary digits.
_EXACT: Final = Context(prec=400)


def rounded(value: float, digits: int) -> float:
    """The nearest number of so many decimals; 1.125 becomes 1.13."""
    step = Decimal(1).scaleb(-digits)
    return float(Decimal(value).quantize(step, ROUND_HALF_UP, _EXACT))
