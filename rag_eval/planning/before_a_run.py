"""Warnings before a run: numbers of rows and repeats in, what to expect of them out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from rag_eval.plumbing.checked_values import whole_from_zero
from rag_eval.plumbing.json_records import JsonRecord
from rag_eval.plumbing.spelling import counted

TINY: Final = 5
SMALL: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class PowerWarning(JsonRecord):
    """A reason why a planned run may show little.

    The limits are fixed rules of thumb, not a power calculation: the difference that a number of
    rows can show depends on how much it varies between rows.
    :func:`rag_eval.stats.power.minimum_detectable_effect` and
    :func:`rag_eval.stats.power.rows_needed` calculate with that.

    Attributes
    ----------
    code : str
        ``tiny_n``, ``small_n`` or ``single_run``.
    message : str
    """

    code: str
    message: str


def power_warnings(n_rows: int, n_repeats: int = 1) -> tuple[PowerWarning, ...]:
    """Warnings about too few rows or repeats.

    Parameters
    ----------
    n_rows, n_repeats : int
        Rows and repeats of the planned run.

    References
    ----------
    omk 0.54, its pre-flight check.
    """
    whole_from_zero(n_rows, "n_rows")
    whole_from_zero(n_repeats, "n_repeats")
    found = []
    if n_rows < TINY:
        message = f"{counted(n_rows, 'row')}: fewer than {TINY} can only show a complete failure"
        found.append(PowerWarning(code="tiny_n", message=message))
    elif n_rows < SMALL:
        message = f"{counted(n_rows, 'row')}: fewer than {SMALL} can only show large differences"
        found.append(PowerWarning(code="small_n", message=message))
    if n_repeats < 2:
        message = "single run: the variation of scores between runs is unknown"
        found.append(PowerWarning(code="single_run", message=message))
    return tuple(found)
