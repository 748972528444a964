"""Gates and rows in; what a test report says of each, out: passed, failed, error or skipped."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, TypeAlias

Status: TypeAlias = Literal["passed", "failed", "error", "skipped"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """One thing that was checked.

    Texts are as they are in the data: who writes them to a file or a screen makes them safe.

    Attributes
    ----------
    group : str
        Of what it is a part: ``gates``, or the file of samples.
    name : str
        ``min_mean faithfulness``, or of a row its place and id.
    status : {"passed", "failed", "error", "skipped"}
        A row fails by its scores; it is an error where it could not be scored, by its own fault or
        that of the judge; it is skipped where there was nothing to score.
    message : str
        One sentence that says why; empty for what passed.
    details : tuple of str
        Findings behind it, a line each.
    path, line : str or None, int or None
        Where it stands in a file of samples, lines from 1; None where that is not known.
    """

    group: str
    name: str
    status: Status
    message: str = ""
    details: tuple[str, ...] = ()
    path: str | None = None
    line: int | None = None


def worst_first(outcomes: Iterable[Outcome]) -> list[Outcome]:
    """Failures, then errors, then the rest, each in their order."""
    ranks = {"failed": 0, "error": 1, "skipped": 2, "passed": 3}
    return sorted(outcomes, key=lambda outcome: ranks[outcome.status])
