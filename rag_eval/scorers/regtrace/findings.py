"""What a scorer found, check by check -> the details of its result, as JSON values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, TypeAlias

from rag_eval.scorers.regtrace.details import detail

Finding: TypeAlias = dict[str, Any]

MOST_FINDINGS: Final = 1000
"""Details of a result; a last one counts the rest, of which a text can have millions."""


def finding(
    check: str,
    passed: bool,
    *,
    expected: str | None = None,
    actual: str | None = None,
    message: str = "",
) -> Finding:
    """One check and how it went; empty values are left out."""
    return detail(
        check, passed, expected=expected or None, actual=actual or None, message=message or None
    ).document()


def limited(check: str, found: Sequence[Finding], n_all: int) -> list[Finding]:
    """The first findings, and one that says how many more there are."""
    shown = list(found[:MOST_FINDINGS])
    if n_all > len(shown):
        shown.append(finding(check, False, message=f"+ {n_all - len(shown)} more"))
    return shown


def judged_by(evaluation_type: str, confidence: float) -> Finding:
    """Who scored and how sure of it: ``llm_judged`` or ``deterministic``, and 0 to 1."""
    return {"evaluationType": evaluation_type, "confidence": confidence}
