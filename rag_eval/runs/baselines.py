"""Records of earlier runs in; the baseline out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final, Literal, Protocol, TypeAlias, TypeVar

from rag_eval.errors import InputError

Strategy: TypeAlias = Literal["last_passing", "pinned"]

FALLBACK_BRANCH: Final = "main"
PASSED: Final = "passed"
OLD_AFTER: Final = timedelta(days=7)


class Candidate(Protocol):
    """The fields of a run that the choice of a baseline needs."""

    @property
    def run_id(self) -> str: ...
    @property
    def created_at(self) -> str: ...
    @property
    def status(self) -> str | None: ...
    @property
    def branch(self) -> str | None: ...


Run = TypeVar("Run", bound=Candidate)


def newest_first(records: Iterable[Run]) -> list[Run]:
    """Runs by time, newest first; runs of the same time keep their order."""
    return sorted(records, key=lambda record: _time(record.created_at), reverse=True)


def find_baseline(
    records: Iterable[Run],
    strategy: Strategy = "last_passing",
    branch: str | None = None,
    fallback_branch: str | None = None,
    pinned_run_id: str | None = None,
) -> Run | None:
    """The baseline of a new run, by Regtrace's rules.

    Parameters
    ----------
    records : iterable of runs
        Runs of one dataset; a run of another dataset is not a baseline.
    strategy : {"last_passing", "pinned"}
        ``pinned`` gives the run with the id ``pinned_run_id``, whatever its status; without an id
        it means ``last_passing``: the newest passing run on ``branch``, otherwise on
        ``fallback_branch``, otherwise on any branch. Without a branch, the newest passing run.

    Returns
    -------
    run or None
        None if no run qualifies.
    """
    if strategy not in ("last_passing", "pinned"):
        raise InputError(f"strategy must be 'last_passing' or 'pinned', got {strategy!r}")
    if strategy == "pinned" and pinned_run_id:
        return next((record for record in records if record.run_id == pinned_run_id), None)
    passed = newest_first(record for record in records if record.status == PASSED)
    for wanted in (branch, fallback_branch) if branch else ():
        on_branch = _first_on(passed, wanted)
        if on_branch is not None:
            return on_branch
    return passed[0] if passed else None


def age_note(record: Candidate, now: datetime | None = None) -> str | None:
    """A note about a baseline that is older than a week; None for a newer one."""
    age = (datetime.now(UTC) if now is None else now) - _time(record.created_at)
    if age <= OLD_AFTER:
        return None
    return f"the baseline {record.run_id} is {age.days} days old"


def _first_on(passed: Sequence[Run], branch: str | None) -> Run | None:
    return next((record for record in passed if branch and record.branch == branch), None)


def _time(text: str) -> datetime:
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise InputError(f"the time must be in ISO 8601, got {text!r:.80}") from None
    return found if found.tzinfo else found.replace(tzinfo=UTC)
