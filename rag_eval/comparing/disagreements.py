"""A comparison in; the metrics on which confidence interval and test disagree, out."""

from __future__ import annotations

from typing import Final

from rag_eval.comparing.run_comparison import RunComparison
from rag_eval.comparing.statuses import Status
from rag_eval.comparing.tested_changes import MetricChange

_MOST_NAMED: Final = 3


def disagreements(comparison: RunComparison) -> list[MetricChange]:
    """Gating changes that the interval shows and the test does not, or the reverse."""
    return [
        change
        for change in comparison.changes
        if change.gating
        and change.test is not None
        and change.difference.low is not None
        and comparison.shown_by_test(change) != _by_interval(change)
    ]


def disagreement_line(comparison: RunComparison) -> str | None:
    """Why they disagree, for a reader who sees both; None if they agree."""
    found = disagreements(comparison)
    if not found:
        return None
    names = [change.label for change in found]
    shown = ", ".join(names[:_MOST_NAMED])
    more = f" and {len(names) - _MOST_NAMED:,} more" if len(names) > _MOST_NAMED else ""
    n_tests = comparison.n_tests
    family = "" if n_tests == 1 else f" and adjusted for {n_tests:,} tests"
    return (
        f"the confidence interval and the test disagree on {shown}{more}: the interval is "
        f"two-sided and for one mean, the test is one-sided{family}. The test decides"
    )


def _by_interval(change: MetricChange) -> Status | None:
    low, high = change.difference.low, change.difference.high
    assert low is not None
    assert high is not None
    if not change.higher_is_better:
        low, high = -high, -low
    if high < -change.margin:
        return Status.REGRESSED
    return Status.IMPROVED if low > 0 else None
