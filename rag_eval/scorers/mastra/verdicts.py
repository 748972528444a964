"""What scorers that ask a judge read from its replies: verdicts -> counts, shares and notes.

Dry runs count with the replies that are imagined here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

import msgspec

from rag_eval.scorers.javascript import trimmed

NOTE: Final = "The text says so in these words, and nothing else that is shown speaks against it."
"""What a judge typically writes beside a verdict."""

REASON: Final = (
    "The score is what it is because most of what was said holds against the material shown, while "
    "one part of it goes beyond what is there and another one is left open. The parts that hold "
    "are named first, and those that do not are named with what they lack."
)
"""What a judge typically writes about a score."""


class Verdict(msgspec.Struct):
    """A verdict on one item."""

    verdict: str
    reason: str


class Verdicts(msgspec.Struct):
    """Verdicts on a list of items."""

    verdicts: list[Verdict]


class Result(msgspec.Struct, rename={"verdict": "result"}):
    """A verdict on one item, under another name."""

    verdict: str
    reason: str


class Results(msgspec.Struct):
    """One result per item."""

    results: list[Result]


def says_yes(label: str) -> bool:
    """Whether a label is a yes, however it is spaced and spelled."""
    return trimmed(label).lower() == "yes"


def share_of(labels: Iterable[bool]) -> float | None:
    """Share of those that are true; None if there are none at all."""
    listed = list(labels)
    return listed.count(True) / len(listed) if listed else None


def share_of_yes(verdicts: Iterable[Any], scale: float) -> float | None:
    """Share of the verdicts that are yes, times the scale; None if there are none at all."""
    share = share_of(says_yes(each.verdict) for each in verdicts)
    return None if share is None else share * scale


def running_sum(values: Iterable[float]) -> float:
    """Left to right in plain doubles; ``sum`` compensates from Python 3.12 on."""
    total = 0.0
    for value in values:
        total += value
    return total


def one_each(key: str, *n_items: int) -> Callable[[Any], str | None]:
    """A check that a reply has, under a key, a verdict for each of this many items."""

    def check(reply: Any) -> str | None:
        listed: Sequence[Any] = getattr(reply, key)
        if len(listed) in n_items:
            return None
        wanted = " or ".join(map(str, n_items))
        return f'"{key}" must have {wanted} entries, one for each item, and has {len(listed)}'

    return check


def noted(verdicts: Iterable[Any]) -> list[str]:
    """Verdicts and their reasons as lines for the step that puts a score into words."""
    return [f"{trimmed(each.verdict)}: {each.reason}" for each in verdicts]


def shown(score: float) -> float:
    """A score as a prompt shows it."""
    return round(score, 2)
