"""Repeats of a judgement: one judge's scores of one row in, their mean, spread and verdicts out."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class RepeatSummary:
    """The repeats of one judgement of one row by one judge; made by :func:`repeat_summary`.

    Attributes
    ----------
    mean : float or None
        Over the repeats that gave a score; None where none did.
    spread : float or None
        Their standard deviation (n - 1); None for fewer than two.
    n_measured, n_failed : int
        Repeats with and without a score.
    flaky : bool
        Some repeats pass the threshold and others do not.
    """

    mean: float | None
    spread: float | None
    n_measured: int
    n_failed: int
    flaky: bool

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        return {
            "mean": self.mean,
            "spread": self.spread,
            "nMeasured": self.n_measured,
            "nFailed": self.n_failed,
            "flaky": self.flaky,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class RepeatReport:
    """Repeats over rows; made by :func:`repeat_report`.

    Attributes
    ----------
    n_rows : int
    n_repeated : int
        Rows with two scores or more.
    n_flaky : int
        Rows whose verdict changed from one repeat to another.
    mean_spread, largest_spread : float or None
        Of the repeated rows; None where there are none.
    n_failed : int
        Repeats without a score, over all rows.
    """

    n_rows: int
    n_repeated: int
    n_flaky: int
    mean_spread: float | None
    largest_spread: float | None
    n_failed: int

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        return {
            "nRows": self.n_rows,
            "nRepeated": self.n_repeated,
            "nFlaky": self.n_flaky,
            "meanSpread": self.mean_spread,
            "largestSpread": self.largest_spread,
            "nFailed": self.n_failed,
        }

    def text(self) -> str:
        """In a sentence or two."""
        if self.mean_spread is None:
            return f"{self.n_rows:,} rows, none with two scores: repeats say nothing"
        found = (
            f"{self.n_repeated:,} of {self.n_rows:,} rows repeated: spread {self.mean_spread:.3f} "
            f"on average, {self.largest_spread:.3f} at most; "
            f"{self.n_flaky:,} flaky (verdicts on both sides of the threshold)"
        )
        return f"{found}; {self.n_failed:,} repeats failed" if self.n_failed else found


def measured(score: float | None) -> float | None:
    """A score, or None for one that is missing or NaN."""
    return None if score is None or math.isnan(score) else score


def mean_of(scores: Iterable[float | None]) -> float | None:
    """Mean of the scores that there are, within their range; None where there are none."""
    found = [score for score in scores if score is not None]
    if not found:
        return None
    # The quotient is rounded, too, and would give equal scores a mean beside them.
    return min(max(math.fsum(found) / len(found), min(found)), max(found))


def passes(score: float, threshold: float, *, higher_is_better: bool = True) -> bool:
    """Whether a score is on the good side of a threshold, or on it."""
    return score >= threshold if higher_is_better else score <= threshold


def repeat_summary(
    scores: Sequence[float | None],
    *,
    threshold: float | None = None,
    higher_is_better: bool = True,
) -> RepeatSummary:
    """The mean and spread of a judge's repeats on one row.

    Parameters
    ----------
    scores : sequence of float or None
        None or NaN for a repeat that failed.
    threshold : float, optional
        Without one no row is flaky.
    """
    found = [score for score in map(measured, scores) if score is not None]
    mean, spread = mean_of(found), None
    if mean is not None and len(found) > 1:
        spread = math.sqrt(math.fsum((score - mean) ** 2 for score in found) / (len(found) - 1))
    verdicts = {
        passes(score, threshold, higher_is_better=higher_is_better)
        for score in found
        if threshold is not None
    }
    return RepeatSummary(
        mean=mean,
        spread=spread,
        n_measured=len(found),
        n_failed=len(scores) - len(found),
        flaky=len(verdicts) == 2,
    )


def repeat_report(rows: Iterable[RepeatSummary]) -> RepeatReport:
    """How steady a judge was over some rows."""
    rows = list(rows)
    spreads = [row.spread for row in rows if row.spread is not None]
    return RepeatReport(
        n_rows=len(rows),
        n_repeated=len(spreads),
        n_flaky=sum(row.flaky for row in rows),
        mean_spread=mean_of(spreads),
        largest_spread=max(spreads, default=None),
        n_failed=sum(row.n_failed for row in rows),
    )
