"""The outcomes of a comparison, the same words in terminal, page, Markdown, JSON and pytest."""

from __future__ import annotations

from enum import StrEnum


class Status(StrEnum):
    """Outcome of a metric, or of a whole run, against a baseline.

    Policies that mirror another tool use that tool's words.
    """

    REGRESSED = "REGRESSED"
    """A test shows a drop larger than the margin and the tolerance."""
    IMPROVED = "IMPROVED"
    """A test shows a rise."""
    NO_CHANGE = "NO CHANGE"
    """Every pair has the same score in both runs, and the same rows have none."""
    WITHIN_TOLERANCE = "WITHIN TOLERANCE"
    """A test shows a drop that is no larger than the tolerance."""
    INCONCLUSIVE = "INCONCLUSIVE"
    """A test shows neither a drop nor a rise."""
    TOO_FEW_ROWS = "TOO FEW ROWS"
    """Too few rows differ for any test to show a change."""
    NOT_COMPARABLE = "NOT COMPARABLE"
    """No row has a score in both runs, or rows cannot be paired."""
    MISSING_SCORES = "MISSING SCORES"
    """Rows that have a score in the baseline have none in the run."""
    MISSING_ROWS = "MISSING ROWS"
    """More rows of the baseline are missing in the run than allowed; of a run, not of a metric."""
    NON_INFERIOR = "NON-INFERIOR"
    """Any drop is shown to be smaller than the margin."""
    NEW = "NEW"
    """There is no baseline yet."""
    GUARD = "GUARD"
    """A guard failed, and no comparison with a baseline did."""

    @property
    def is_found(self) -> bool:
        """Whether it is worth naming: a test shows a change, or something is missing."""
        return self in (
            Status.REGRESSED,
            Status.MISSING_SCORES,
            Status.WITHIN_TOLERANCE,
            Status.IMPROVED,
        )
