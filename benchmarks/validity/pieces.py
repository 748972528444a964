"""Pieces of the pages: tables, figures with intervals, means over sets."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final, TypeAlias

from benchmarks.validity.measures import Agreement, Estimate, mean_of
from benchmarks.validity.outcomes import Outcome
from benchmarks.validity.scorers import PROFILES
from benchmarks.validity.sets import STAND_INS

Pick: TypeAlias = Callable[[Agreement], Estimate | None]

METRIC_ORDER: Final = (
    "faithfulness",
    "hallucination_rate",
    "context_relevance",
    "answer_correctness",
    "answer_relevance",
    "context_recall",
    "context_precision",
)


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """A Markdown table with an empty line after it."""
    lines = [" | ".join(head), " | ".join("---" for _ in head), *map(" | ".join, rows)]
    return [*(f"| {line} |" for line in lines), ""]


def with_interval(estimate: Estimate | None) -> str:
    """The figure, and its interval in brackets."""
    if estimate is None:
        return "–"
    return f"{estimate.value:.3f} ({estimate.low:.3f}–{estimate.high:.3f})"


def signed(estimate: Estimate) -> str:
    """A difference with its interval."""
    return f"{estimate.value:+.3f} ({estimate.low:+.3f} to {estimate.high:+.3f})"


def shown(scorer: str) -> str:
    """Our own in bold."""
    return f"**{scorer}**" if scorer in PROFILES else scorer


def by_metric(outcomes: Sequence[Outcome]) -> dict[str, list[Outcome]]:
    """Outcomes of each metric, metrics in the order of the page."""
    grouped = {metric: [o for o in outcomes if o.metric == metric] for metric in METRIC_ORDER}
    return {metric: found for metric, found in grouped.items() if found}


def label(metric: str, outcomes: Sequence[Outcome]) -> str:
    """A metric, and of how many sets its mean is."""
    several = "s" if len(outcomes) > 1 else ""
    stands_in = " (stand-in)" * (metric in STAND_INS)
    return f"{metric}{stands_in}, {len(outcomes)} set{several}"


def macro(outcomes: Sequence[Outcome], scorer: str, pick: Pick) -> Estimate | None:
    """Mean over the sets of a metric; None where the scorer has no such figure."""
    found = [pick(outcome.by_scorer[scorer]) for outcome in outcomes]
    known = [estimate for estimate in found if estimate is not None]
    return mean_of(known) if known else None


def ranked_scorers(outcomes: Sequence[Outcome]) -> list[str]:
    """Profiles first, then peers by falling mean AUROC."""

    def total(scorer: str) -> float:
        return sum(outcome.by_scorer[scorer].auroc.value for outcome in outcomes)

    others = [scorer for scorer in outcomes[0].by_scorer if scorer not in PROFILES]
    return [*PROFILES, *sorted(others, key=total, reverse=True)]
