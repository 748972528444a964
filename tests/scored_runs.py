"""Runs made by hand: columns of scores in, a ScoredRun out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rag_eval.results.verdicts import NO_VERDICT
from rag_eval.runs.scored_run import ScoredRun


def scored_run(
    name: str,
    scores_of: Mapping[str, Any],
    *,
    ids: Sequence[str] | None = None,
    passed: Sequence[int] | None = None,
    composite: Sequence[float] | None = None,
    **more: Any,
) -> ScoredRun:
    """A run with these scores, a list or array by metric, None where null; rows are q0, q1, ..."""
    scores = np.array(
        [[np.nan if value is None else value for value in column] for column in scores_of.values()],
        np.float64,
    ).T
    n_rows = len(scores)
    means = scores.mean(axis=1) if composite is None else np.asarray(composite, np.float64)
    verdicts = [NO_VERDICT] * n_rows if passed is None else passed
    return ScoredRun(
        name=name,
        ids=[f"q{row}" for row in range(n_rows)] if ids is None else list(ids),
        metrics=tuple(scores_of),
        scores=scores,
        null_reasons=np.isnan(scores).astype(np.uint8),
        metric_passed=np.full(scores.shape, NO_VERDICT, np.int8),
        composite=means,
        passed=np.asarray(verdicts, np.int8),
        **more,
    )
