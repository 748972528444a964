"""Findings of a check.  In: what was found.  Out: JSON values, and lines for people."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

from rag_eval.scorers.texts import cut

MOST_SHOWN: Final = 10
Finding: TypeAlias = dict[str, Any]

MOST_FINDINGS: Final = 1000
"""Details of a result; a last one counts the rest, because a text can have millions."""


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


def finding(check: str, passed: bool, **values: str | None) -> Finding:
    """One check and how it went; what is empty is left out.

    Parameters
    ----------
    values : str
        ``expected``, ``actual`` and ``message``.
    """
    given = {name: value or None for name, value in values.items()}
    return detail(check, passed, **given).document()


def limited(check: str, found: Sequence[Finding], n_all: int) -> list[Finding]:
    """The first findings, and one that says how many more there are."""
    shown = list(found[:MOST_FINDINGS])
    if n_all > len(shown):
        shown.append(finding(check, False, message=f"+ {n_all - len(shown)} more"))
    return shown


def judged_by(evaluation_type: str, confidence: float) -> Finding:
    """Who scored and how sure of it: ``llm_judged`` or ``deterministic``, and 0 to 1."""
    return {"evaluationType": evaluation_type, "confidence": confidence}
