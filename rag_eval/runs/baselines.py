"""What a run is held against.  In: records of earlier runs.  Out: the one that is the baseline."""

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
    """A run as far as the choice of a baseline looks at it."""

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
    """Runs by their times, the newest first; of one time, the one that came first stays first."""
    return sorted(records, key=lambda record: _time(record.created_at), reverse=True)


def find_baseline(
    records: Iterable[Run],
    strategy: Strategy = "last_passing",
    branch: str | None = None,
    fallback_branch: str | None = None,
    pinned_run_id: str | None = None,
) -> Run | None:
    """The run that a new one is held against, by Regtrace's rules.

    Parameters
    ----------
    records : iterable of runs
        Of one dataset: a run of another is no baseline.
    strategy : {"last_passing", "pinned"}
        ``pinned`` gives the run with the id ``pinned_run_id``, whatever its status; without an id
        it is ``last_passing``: the newest run that passed on ``branch``, else on
        ``fallback_branch``, else on any. Without a branch, the newest that passed.

    Returns
    -------
    run or None
        None where no run qualifies.
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
    """A remark about a baseline that is older than a week; None for a younger one."""
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
        raise InputError(f"not a time in ISO 8601: {text!r:.80}") from None
    return found if found.tzinfo else found.replace(tzinfo=UTC)
