"""The outcomes of a comparison, the same words in terminal, page, Markdown, JSON and pytest."""

from __future__ import annotations

from enum import StrEnum


class Status(StrEnum):
    """Outcome of a metric, or of a whole run, against a baseline.

    Policies that mirror another tool use that tool's words.
    """

    REGRESSED = "REGRESSED"
    """A test shows a drop larger than the margin."""
    IMPROVED = "IMPROVED"
    """A test shows a rise."""
    NO_CHANGE = "NO CHANGE"
    """Every pair has the same score in both runs."""
    INCONCLUSIVE = "INCONCLUSIVE"
    """A test shows neither a drop nor a rise."""
    TOO_FEW_ROWS = "TOO FEW ROWS"
    """Too few rows differ for any test to show a change."""
    NOT_COMPARABLE = "NOT COMPARABLE"
    """No row has a score in both runs, or rows cannot be paired."""
    NO_SCORES = "NO SCORES"
    """The metric has scores in the baseline and none in the run."""
    NON_INFERIOR = "NON-INFERIOR"
    """Any drop is shown to be smaller than the margin."""
    NEW = "NEW"
    """There is no baseline yet."""
    GUARD = "GUARD"
    """A guard failed, and no comparison with a baseline did."""

    @property
    def is_found(self) -> bool:
        """Whether a test shows a change."""
        return self in (Status.REGRESSED, Status.IMPROVED)
