"""Tools that an agent called and those that were expected -> how far they agree (@hazeljs/eval)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from rag_eval.metrics.contract import Fields, Metric, Scored, Scorer
from rag_eval.metrics.findings_column import RowScore, column_of
from rag_eval.samples import NullReason
from rag_eval.scorers.tool_calls import (
    CALL_FIELDS,
    EXPECTED,
    NO_CALLS,
    called_names,
    check,
    names_called,
    names_expected,
)


@dataclass(frozen=True, slots=True)
class AgentTrajectory:
    """The tools of a trajectory, in order.

    Attributes
    ----------
    tool_calls : sequence of str or mapping
        Names, or calls as agents and servers log them.
    """

    tool_calls: Sequence[str | Mapping[str, Any]]


Calls: TypeAlias = AgentTrajectory | Sequence[str | Mapping[str, Any]]


def trajectory_score(actual: Calls, expected: Calls) -> float:
    """Share of the expected calls that were made in their order.

    Parameters
    ----------
    actual, expected : AgentTrajectory, or sequence of str or mapping

    Returns
    -------
    float
        From 0 to 1. Other calls do not lower the score. A missing expected call ends the count:
        later ones are not searched for. 1 if nothing is expected.

    Raises
    ------
    InputError
        For calls that have no names.
    """
    return ordered_share(_names(actual, "actual"), _names(expected, "expected"))


def tool_call_accuracy(actual: Calls, expected: Calls) -> float:
    """Share of the expected tools that were called, each tool counted once.

    Parameters
    ----------
    actual, expected : AgentTrajectory, or sequence of str or mapping

    Returns
    -------
    float
        From 0 to 1; 1 if nothing is expected. Other calls and their order do not matter.

    Raises
    ------
    InputError
        For calls that have no names.
    """
    return called_share(_names(actual, "actual"), _names(expected, "expected"))


def ordered_share(actual: Sequence[str], expected: Sequence[str]) -> float:
    """:func:`trajectory_score` of names."""
    if not expected:
        return 1.0
    n_met, n_expected = 0, len(expected)
    for name in actual:
        if name == expected[n_met]:
            n_met += 1
            if n_met == n_expected:
                break
    return n_met / n_expected


def called_share(actual: Sequence[str], expected: Sequence[str]) -> float:
    """:func:`tool_call_accuracy` of names."""
    wanted = set(expected)
    return len(wanted.intersection(actual)) / len(wanted) if wanted else 1.0


def _names(calls: Calls, owner: str) -> list[str]:
    return called_names(calls.tool_calls if isinstance(calls, AgentTrajectory) else calls, owner)


# ---------------------------------------------------------------------------------------- contracts


_SOURCE: Final = "@hazeljs/eval"


def _scorer(name: str, share: Callable[[Sequence[str], Sequence[str]], float]) -> Scorer:
    def score(fields: Fields) -> Scored:
        actual, expected = names_called(fields), names_expected(fields)
        if actual is None:
            return NO_CALLS
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
        summary="Share of the expected tool calls that were made in order; 1 if none is expected",
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
        summary="Share of the expected tools that were called; 1 if none is expected",
        create=_tool_call_accuracy,
        fields=(EXPECTED,),
        optional=CALL_FIELDS,
        cost="python",
        source=_SOURCE,
        null_when="neither tool_calls nor messages given",
    ),
)
