"""The paired rows of two runs in; scores that no run of this library gives, as notes, out."""

from __future__ import annotations

from typing import Final

import numpy as np

from rag_eval.comparing.pairing import RowTable
from rag_eval.errors import glance
from rag_eval.metrics.ids import METRIC_IDS

# Sums of shares end a rounding error beside 0 and 1.
_SLACK: Final = 1e-6


def odd_score_notes(table: RowTable) -> list[str]:
    """A line for each usual metric with scores outside 0 to 1, such as shares in percent."""
    notes = []
    for metric in METRIC_IDS:
        if metric not in table.names:
            continue
        scores = np.stack(table.column(metric))
        odd = (scores < -_SLACK) | (scores > 1 + _SLACK)
        if not odd.any():
            continue
        run, row = np.unravel_index(int(odd.argmax()), odd.shape)
        notes.append(
            f"{metric}: scores outside 0 to 1, such as {scores[run, row]:g} in the row of "
            f"{glance(table.ids[row])}: are they of another scale?"
        )
    return notes
