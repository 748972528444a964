"""Records of earlier runs in; the baseline out, and which runs were not comparable."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final, Literal, Protocol, TypeAlias, TypeVar

from rag_eval.errors import InputError
from rag_eval.options.signature import Signature
from rag_eval.results.summaries import setting_differences
from rag_eval.runs.run_records import RunRecord
from rag_eval.samples import MetricId

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


class Scored(Protocol):
    """The settings of a run that is to be compared."""

    @property
    def metrics(self) -> tuple[MetricId, ...]: ...
    @property
    def signature(self) -> Signature | None: ...


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


def last_passing(
    records: Iterable[RunRecord],
    branch: str | None = None,
    fallback_branch: str | None = FALLBACK_BRANCH,
    *,
    like: Scored | None = None,
) -> tuple[RunRecord | None, str | None]:
    """The newest passing run whose scores can be compared with those of ``like``.

    Parameters
    ----------
    records : iterable of RunRecord
        Runs of one dataset.
    branch, fallback_branch : str, optional
        As for :func:`find_baseline`.
    like : RunRecord or ScoredRun, optional
        None accepts all settings.

    Returns
    -------
    run or None, note or None
        The note names the run that would have been taken, and the settings that it does not share.
    """
    known = list(records)
    first = find_baseline(known, "last_passing", branch, fallback_branch)
    if first is None or like is None or not (why := setting_faults(first, like)):
        return first, None
    same = [record for record in known if not setting_faults(record, like)]
    note = (
        f"skipped {first.run_id} as the last passing run: it was scored with other settings "
        f"({'; '.join(why)})"
    )
    return find_baseline(same, "last_passing", branch, fallback_branch), note


def setting_faults(baseline: Scored, run: Scored) -> list[str]:
    """Why scores of a run cannot be compared with those of a baseline; empty if they can."""
    shared = [metric for metric in run.metrics if metric in baseline.metrics]
    if not shared:
        return ["no metric in common"]
    if baseline.signature is None or run.signature is None:
        return []  # unknown: the comparison itself decides
    return setting_differences(run.signature, baseline.signature, shared)


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
