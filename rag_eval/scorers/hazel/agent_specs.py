"""HazelJS's scorers of agents: their contracts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from rag_eval.metrics.contract import Fields, Metric, Scored, Scorer
from rag_eval.metrics.findings_column import RowScore, column_of
from rag_eval.samples import NullReason
from rag_eval.scorers.hazel.trajectory import called_share, ordered_share
from rag_eval.scorers.sample_calls import (
    CALL_FIELDS,
    EXPECTED,
    check,
    names_called,
    names_expected,
    no_calls_given,
)

_SOURCE: Final = "@hazeljs/eval"


def _scorer(name: str, share: Callable[[Sequence[str], Sequence[str]], float]) -> Scorer:
    def score(fields: Fields) -> Scored:
        actual, expected = names_called(fields), names_expected(fields)
        if actual is None:
            return no_calls_given()
        found = share(actual, expected)
        text = f"{found:.0%} of {len(expected)} expected calls were made."
        explanation = text if expected else "No call is expected."
        return Scored(
            found, NullReason.MEASURED, explanation, [check(name, found == 1, expected, actual)]
        )

    def row_score(fields: Fields) -> RowScore:
        actual = names_called(fields)
        expected = names_expected(fields)
        return NullReason.MISSING_FIELD if actual is None else share(actual, expected)

    return Scorer(score, lambda rows: column_of(rows, row_score))


def _trajectory_score() -> Scorer:
    return _scorer("calls_in_order", ordered_share)


def _tool_call_accuracy() -> Scorer:
    return _scorer("tools_called", called_share)


METRICS: Final[tuple[Metric, ...]] = (
    Metric(
        id="hazel.trajectory_score",
        summary="Share of the expected tool calls made in their order; 1 where none is expected",
        create=_trajectory_score,
        fields=(EXPECTED,),
        optional=CALL_FIELDS,
        cost="python",
        source=_SOURCE,
        null_when="neither tool_calls nor messages given",
        version=2,
    ),
    Metric(
        id="hazel.tool_call_accuracy",
        summary="Share of the expected tools that were called; 1 where none is expected",
        create=_tool_call_accuracy,
        fields=(EXPECTED,),
        optional=CALL_FIELDS,
        cost="python",
        source=_SOURCE,
        null_when="neither tool_calls nor messages given",
    ),
)
