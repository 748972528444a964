"""Tools that an agent called and those that were expected -> how far they agree (@hazeljs/eval)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from rag_eval.scorers.tool_calls import called_names


@dataclass(frozen=True, slots=True)
class AgentTrajectory:
    """The tools of a trajectory, in order.

    Attributes
    ----------
    tool_calls : sequence of str or mapping
        Names, or calls as agents and servers log them.
    """

    tool_calls: Sequence[str | Mapping[str, Any]]


Calls: TypeAlias = "AgentTrajectory | Sequence[str | Mapping[str, Any]]"


def trajectory_score(actual: Calls, expected: Calls) -> float:
    """Share of the expected calls that were made in their order.

    Parameters
    ----------
    actual, expected : AgentTrajectory, or sequence of str or mapping

    Returns
    -------
    float
        From 0 to 1. Other calls cost nothing. An expected call that is missing ends the count: the
        ones after it are not looked for. 1 where nothing is expected.

    Raises
    ------
    InputError
        For calls that have no names.
    """
    return ordered_share(_names(actual, "actual"), _names(expected, "expected"))


def tool_call_accuracy(actual: Calls, expected: Calls) -> float:
    """Share of the expected tools that were called at all, each tool counted once.

    Parameters
    ----------
    actual, expected : AgentTrajectory, or sequence of str or mapping

    Returns
    -------
    float
        From 0 to 1; 1 where nothing is expected. Other calls and their order do not matter.

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
