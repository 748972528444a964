"""Scores or findings, row by row -> the columns that scorers give."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias

from rag_eval.metrics.contract import Column, Fields, Scored
from rag_eval.samples import NullReason

RowScore: TypeAlias = float | NullReason
"""The score of a row, or why it has none."""


def column_of(rows: Sequence[Fields], score: Callable[[Fields], RowScore]) -> Column:
    """A score or a null reason of every row."""
    import numpy as np

    found = [score(row) for row in rows]
    null = [isinstance(each, NullReason) for each in found]
    scores = np.array(
        [math.nan if is_null else each for each, is_null in zip(found, null, strict=True)],
        np.float64,
    )
    reasons = [int(each) if is_null else 0 for each, is_null in zip(found, null, strict=True)]
    return scores, np.array(reasons, np.uint8)


def column_of_findings(found: Iterable[Scored]) -> Column:
    """The scores and null reasons of what was found in every row."""
    import numpy as np

    pairs = [(one.score, one.null_reason) for one in found]
    scores = np.array([math.nan if score is None else score for score, _ in pairs], np.float64)
    reasons = [0 if score is not None else int(reason) for score, reason in pairs]
    return scores, np.array(reasons, np.uint8)


def column_of_verdicts(passed: Sequence[bool]) -> Column:
    """1 if a row passed, else 0; all rows have a score."""
    import numpy as np

    return np.array(passed, np.float64), np.zeros(len(passed), np.uint8)
