"""Numbers rounded to two decimals as Mastra's scorers round them."""

from __future__ import annotations

import sys

from rag_eval.plumbing.javascript_numbers import round_half_up


def round_to_two_decimals(value: float) -> float:
    """The nearest hundredth, after 2^-52 was added: 1.005 becomes 1.01.

    NaN and infinities stay what they are.
    """
    return round_half_up(value + sys.float_info.epsilon, 2)
