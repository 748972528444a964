"""Verdicts of a judge -> counts and shares, and whether there are as many as were asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

import msgspec

Reply = TypeVar("Reply", bound=msgspec.Struct)


class Verdict(msgspec.Struct):
    """A verdict on one item."""

    verdict: str
    reason: str


class Verdicts(msgspec.Struct):
    """Verdicts on a list of items."""

    verdicts: list[Verdict]


class Claims(msgspec.Struct):
    """Claims that a text makes."""

    claims: list[str]


def says_yes(label: str) -> bool:
    """Whether a label is a yes, however it is spaced and spelled."""
    return label.strip().lower() == "yes"


def share_of(labels: Iterable[bool]) -> float | None:
    """Share of those that are true; None where there are none at all."""
    listed = list(labels)
    return listed.count(True) / len(listed) if listed else None


def running_sum(values: Iterable[float]) -> float:
    """Left to right in plain doubles; ``sum`` compensates from Python 3.12 on."""
    total = 0.0
    for value in values:
        total += value
    return total


def one_each(
    listed: Callable[[Any], Sequence[Any]], key: str, *n_items: int
) -> Callable[[Any], str | None]:
    """A check that a reply has a verdict for each item.

    Parameters
    ----------
    listed : callable
        From the reply to its verdicts.
    key : str
        Their key in the reply.
    n_items : int
        How many there may be.
    """

    def check(reply: Any) -> str | None:
        found = len(listed(reply))
        if found in n_items:
            return None
        wanted = " or ".join(map(str, n_items))
        return f'"{key}" must have {wanted} entries, one for each item, and has {found}'

    return check


def noted(verdicts: Iterable[tuple[str, str]]) -> list[str]:
    """Labels and reasons as lines for the step that puts a score into words."""
    return [f"{label.strip()}: {reason}" for label, reason in verdicts]


def shown(score: float) -> float:
    """A score as a prompt shows it."""
    return round(score, 2)
