"""The outcomes of a comparison, which terminal, page, Markdown, JSON and pytest show alike."""

from __future__ import annotations

from enum import StrEnum


class Status(StrEnum):
    """What became of a metric, or of a whole run, against a baseline.

    Policies that mirror another tool have that tool's words.
    """

    REGRESSED = "REGRESSED"
    """It got worse by more than the margin, as a test shows."""
    IMPROVED = "IMPROVED"
    """It got better, as a test shows."""
    NO_CHANGE = "NO CHANGE"
    """Every pair has the same score twice."""
    INCONCLUSIVE = "INCONCLUSIVE"
    """Neither is shown."""
    TOO_FEW_ROWS = "TOO FEW ROWS"
    """So few rows differ that no test could show anything."""
    NOT_COMPARABLE = "NOT COMPARABLE"
    """No row has a score in both runs, or rows cannot be paired."""
    NO_SCORES = "NO SCORES"
    """The baseline has scores and the run has none."""
    NON_INFERIOR = "NON-INFERIOR"
    """It is shown to be worse by less than the margin, if at all."""
    NEW = "NEW"
    """There is no baseline yet."""
    GUARD = "GUARD"
    """A limit failed, and no baseline."""

    @property
    def is_found(self) -> bool:
        """A test shows a change."""
        return self in (Status.REGRESSED, Status.IMPROVED)
