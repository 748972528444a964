"""Which rows of two runs have a score in; which scores went missing, and why, out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from rag_eval.comparing.pairing import RowTable
from rag_eval.plumbing.json_records import record_json
from rag_eval.plumbing.spelling import counted, p_text
from rag_eval.samples import NullReason
from rag_eval.stats.arrays import Flags, Floats, Whole

# Shares of rows that are equal in exact arithmetic differ by less.
_ROUNDING: Final = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class NullChange:
    """How many rows of both runs have no score.

    Attributes
    ----------
    n_rows : int
        Rows in both runs.
    n_old, n_new : int
        Of these, rows without a score in the old and in the new run, in at least one repeat.
    n_lost, n_gained : int
        Rows with a score before and none now, and the reverse. Repeated rows count where the
        share of their repeats without a score rose, or fell.
    rate_old, rate_new : float
        Share of scores that are null.
    reasons : mapping of str to int
        Why the lost scores are null, the most frequent reason first.
    p_worse : float
        One-sided p value of "as many scores were gained as were lost", by McNemar's exact test;
        with clusters or repeats by sign flips.
    adjusted_p_worse : float
        Adjusted within the family of the metric's test. 1 where so few rows changed that the test
        could not reject.
    """

    n_rows: int
    n_old: int
    n_new: int
    n_lost: int
    n_gained: int
    rate_old: float
    rate_new: float
    reasons: Mapping[str, int]
    p_worse: float = 1.0
    adjusted_p_worse: float = 1.0

    @property
    def rise(self) -> float:
        """Rise of the share of null scores; below 0 if it fell."""
        return self.rate_new - self.rate_old

    def rose_by_more_than(self, share: float) -> bool:
        """Whether the share of null scores rose by more than this, apart from rounding."""
        return self.rise > share + _ROUNDING

    def __str__(self) -> str:
        """``63 of 400 rows lost their score (refusal 63); null rate 0.000 → 0.158, …``."""
        told = ", ".join(f"{reason.replace('_', ' ')}: {n:,}" for reason, n in self.reasons.items())
        whose = "its" if self.n_lost == 1 else "their"
        return (
            f"{self.n_lost:,} of {counted(self.n_rows, 'row')} lost {whose} score"
            + (f" ({told})" if told else "")
            + (f", {self.n_gained:,} gained one" if self.n_gained else "")
            + f"; null rate {self.rate_old:.3f} → {self.rate_new:.3f}, "
            f"adjusted {p_text(self.adjusted_p_worse)}"
        )

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        return {**record_json(self), "rise": self.rise}


def lost_scores(table: RowTable, name: str, rows: Flags | Whole) -> Floats:
    """-1 for each of these rows that lost the score of a metric, 1 if it gained one, else 0.

    For repeated rows the change of the share of repeats with a score.
    """
    old, new = table.nulls(name)
    return old[rows] - new[rows]


def null_change(table: RowTable, name: str, rows: Flags) -> NullChange:
    """The nulls of one metric in some rows of both runs, not tested yet."""
    both = rows & table.in_both
    old, new = (shares[both] for shares in table.nulls(name))
    lost = new > old
    reasons = table.reasons[both, table.names.index(name)][lost]
    counts = np.bincount(reasons, minlength=len(NullReason))
    told = sorted((-n, reason) for reason, n in enumerate(counts.tolist()) if n and reason)
    return NullChange(
        n_rows=len(old),
        n_old=int((old > 0).sum()),
        n_new=int((new > 0).sum()),
        n_lost=int(lost.sum()),
        n_gained=int((new < old).sum()),
        rate_old=float(old.mean()) if len(old) else 0.0,
        rate_new=float(new.mean()) if len(new) else 0.0,
        reasons={NullReason(reason).name.lower(): -n for n, reason in told},
    )


def worst_case_difference(
    table: RowTable, name: str, low: float, high: float
) -> tuple[float, float]:
    """Smallest and largest possible mean difference of the rows in both runs.

    Every null takes the lower or the upper bound of the metric, whichever moves the mean further.
    This assumes nothing about why scores are missing. Without nulls both are the mean difference.

    References
    ----------
    Manski, Partial Identification of Probability Distributions (2003), chapter 1.
    """
    both = table.in_both
    old, new = (scores[both] for scores in table.column(name))
    if not len(old):
        return float("nan"), float("nan")
    least = _filled(new, low) - _filled(old, high)
    largest = _filled(new, high) - _filled(old, low)
    return float(least.mean()), float(largest.mean())


def _filled(scores: Floats, value: float) -> Floats:
    return np.where(np.isnan(scores), value, scores)
