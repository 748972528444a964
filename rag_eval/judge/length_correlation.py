"""Length bias of a judge: the partial rank correlation of scores and lengths."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rag_eval.errors import InputError
from rag_eval.judge.repeats import interval_text, measured, shown
from rag_eval.plumbing.spelling import camel_fields
from rag_eval.stats.arrays import Floats
from rag_eval.stats.bootstrap import group_intervals
from rag_eval.stats.correlations import (
    Weights,
    correlations,
    mid_ranks,
    one_each,
    partial_correlations,
)
from rag_eval.stats.index_sources import USUAL, Resampling
from rag_eval.stats.intervals import Interval


@dataclass(frozen=True, slots=True, kw_only=True)
class LengthCorrelation:
    """Correlation of a judge's scores with length; made by :func:`length_partial_correlation`.

    Attributes
    ----------
    correlation : Interval or None
        Rank correlation of the judge's score and length, given the native score if there is one;
        None if undefined.
    plain : float or None
        The same without controlling for the native score.
    given_native : bool
        Whether native scores were held constant.
    n_rows, n_left_out : int
        Rows with all the numbers, and rows that lack one.
    """

    correlation: Interval | None
    plain: float | None
    given_native: bool
    n_rows: int
    n_left_out: int

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        return camel_fields(self, self.__slots__)

    def text(self) -> str:
        """In a few lines."""
        given = " at equal native score" if self.given_native else ""
        left_out = f", {self.n_left_out:,} excluded" if self.n_left_out else ""
        about = f"judge's score and length{given} ({self.n_rows:,} rows{left_out})"
        if self.correlation is None:
            return f"{about}: the correlation is undefined"
        plain = f"; {shown(self.plain)} without controlling for it" if self.given_native else ""
        return (
            f"{about}: rank correlation {self.correlation.estimate:.2f} "
            f"({interval_text(self.correlation)}){plain}\n{self._meaning()}"
        )

    def _meaning(self) -> str:
        found = self.correlation
        if found is None or found.low is None or found.high is None or found.low <= 0 <= found.high:
            return "no sign of a length bias"
        side = "longer" if found.low > 0 else "shorter"
        known = "native scores do not measure" if self.given_native else "this does not measure"
        return f"{side} answers score higher: a bias of the judge, or quality that {known}"


def length_partial_correlation(
    judge_scores: Sequence[float | None],
    lengths: Sequence[float | None],
    native_scores: Sequence[float | None] | None = None,
    *,
    resampling: Resampling = USUAL,
) -> LengthCorrelation:
    """Spearman's correlation of a judge's score and length, given the native score.

    Long answers can be better, so scores that grow with length prove nothing by themselves. The
    correlation that remains when a score without a judge is held constant says more.

    Parameters
    ----------
    judge_scores, lengths, native_scores : sequence of float or None
        Per row; a row without one of them (None or NaN) is excluded. Without native scores the
        correlation is not partial.
    resampling : Resampling
        Resampling of the rows, for the interval. Ranks are recomputed in each resample.

    Returns
    -------
    LengthCorrelation
        Without a correlation if a column is constant, if the native score ranks the rows exactly
        as another column does, or if there are too few rows (three, or four with native scores,
        are needed).
    """
    columns = [judge_scores, lengths] + ([] if native_scores is None else [native_scores])
    if len({len(column) for column in columns}) > 1:
        raise InputError("judge_scores, lengths and native_scores must have an entry for each row")
    rows = [
        found
        for row in zip(*columns, strict=True)
        if None not in (found := tuple(map(measured, row)))
    ]
    values = np.array(rows, np.float64).reshape(len(rows), len(columns)).T
    return LengthCorrelation(
        correlation=_correlation(values, resampling),
        plain=_plain(values[:2]),
        given_native=native_scores is not None,
        n_rows=len(rows),
        n_left_out=len(judge_scores) - len(rows),
    )


def _correlation(values: Floats, resampling: Resampling) -> Interval | None:
    """That of the first two columns, given the third if there is one."""
    n_rows = values.shape[1]
    if n_rows <= len(values):
        return None
    (found,) = group_intervals(
        lambda weights: _of_ranks(values, weights)[:, np.newaxis], np.arange(n_rows), resampling
    )
    return None if math.isnan(found.estimate) else found


def _plain(values: Floats) -> float | None:
    if values.shape[1] <= len(values):
        return None
    (found,) = _of_ranks(values, one_each(values.shape[1])).tolist()
    return None if math.isnan(found) else found


def _of_ranks(values: Floats, weights: Weights) -> Floats:
    """The correlation under each weighting; NaN for so few rows that it would be 1 or -1."""
    left, right, *given = (mid_ranks(column, weights) for column in values)
    found = (
        partial_correlations(left, right, given[0], weights)
        if given
        else correlations(left, right, weights)
    )
    # Copies of a row are still one point.
    found[(weights > 0).sum(axis=1) <= len(values)] = np.nan
    return found
