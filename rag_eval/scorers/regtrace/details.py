"""Findings of a check.  In: what was found.  Out: JSON values, and lines for people."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple

MOST_CHARACTERS: Final = 80
MOST_SHOWN: Final = 10


class AssertionDetail(NamedTuple):
    """One assertion and whether it holds.

    Attributes
    ----------
    check : str
        Its name in steps: ``format.length``, ``json_path.$.amount``.
    passed : bool
    expected, actual : str or None
        At most 80 characters, see `detail`.
    message : str or None
        For people.
    """

    check: str
    passed: bool
    expected: str | None = None
    actual: str | None = None
    message: str | None = None

    def document(self) -> dict[str, Any]:
        """The detail as a JSON value, without what it does not have."""
        return {name: value for name, value in self._asdict().items() if value is not None}


def detail(
    check: str,
    passed: bool,
    *,
    expected: object = None,
    actual: object = None,
    message: str | None = None,
) -> AssertionDetail:
    """A detail whose expected and actual values are cut to 80 characters."""
    return AssertionDetail(
        check,
        passed,
        None if expected is None else cut(str(expected)),
        None if actual is None else cut(str(actual)),
        message,
    )


def cut(text: str, most: int = MOST_CHARACTERS) -> str:
    """A text of at most so many characters; an ellipsis ends one that was longer."""
    return text if len(text) <= most else text[: most - 1] + "…"


def documents(details: Iterable[AssertionDetail]) -> list[dict[str, Any]]:
    """All details as JSON values."""
    return [one.document() for one in details]


def shown(details: Sequence[AssertionDetail], most: int = MOST_SHOWN) -> list[str]:
    """Lines about what failed, the first ten, then ``+ N more``."""
    failed = [one for one in details if not one.passed]
    lines = [f"{one.check}: {_sentence(one)}" for one in failed[:most]]
    if len(failed) > most:
        lines.append(f"+ {len(failed) - most} more")
    return lines


def _sentence(one: AssertionDetail) -> str:
    if one.message:
        return one.message
    if one.expected is None and one.actual is None:
        return "failed"
    return f"expected {one.expected or 'nothing'}, got {one.actual or 'nothing'}"
