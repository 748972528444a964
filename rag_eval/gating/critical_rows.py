"""A run and its critical rows in; whether one of them failed out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from rag_eval.errors import InputError, glance
from rag_eval.gating.limits import GateOutcome
from rag_eval.plumbing.spelling import counted
from rag_eval.results.verdicts import NO_VERDICT
from rag_eval.runs.scored_run import ScoredRun

_SHOWN: Final = 5
_PASSED: Final = 1


def critical_rows_outcome(
    run: ScoredRun,
    ids: Sequence[str] = (),
    tagged: Mapping[str, Sequence[str]] | None = None,
    n_fails: int = 1,
) -> GateOutcome:
    """The outcome of the guard: no critical row may fail in ``n_fails`` or more of its repeats.

    A named row that is not in the run fails, because it is not known whether it would pass. So
    does a row without a verdict in any repeat.

    Parameters
    ----------
    run : ScoredRun
        Repeats of a row share its id.
    ids : sequence of str
    tagged : mapping of str to sequence of str
        For each column, the values that make a row critical.
    n_fails : int, default 1
        Number of repeats in which a row has to fail.

    Raises
    ------
    InputError
        When the run has no verdicts, no such column, or fewer repeats than ``n_fails``.
    """
    check_verdicts(run, "critical rows")
    wanted = dict.fromkeys([*ids, *_tagged_ids(run, tagged or {})])
    verdicts: dict[str, list[int]] = {row: [] for row in wanted}
    for row, passed in zip(run.ids, run.passed.tolist(), strict=True):
        if row in verdicts:
            verdicts[row].append(passed)
    _check_repeats(run, verdicts, n_fails)
    failed = [row for row, found in verdicts.items() if _fails(found, n_fails)]
    return GateOutcome(
        gate="critical_rows",
        held=not failed,
        found=float(len(failed)),
        wanted=0.0,
        message=_message(failed, verdicts, n_fails),
    )


def check_verdicts(run: ScoredRun, guard: str) -> None:
    """Raise an InputError that names the guard if a run has no verdicts."""
    if not (run.passed != NO_VERDICT).any():
        raise InputError(f"{guard}: {run.name} has no row verdicts; score it with thresholds")


def _fails(verdicts: list[int], n_fails: int) -> bool:
    known = [passed for passed in verdicts if passed != NO_VERDICT]
    return not known or sum(passed != _PASSED for passed in known) >= n_fails


def _check_repeats(run: ScoredRun, verdicts: Mapping[str, list[int]], n_fails: int) -> None:
    most = max((len(found) for found in verdicts.values()), default=0)
    if 0 < most < n_fails:
        times = "once" if most == 1 else f"{most} times"
        raise InputError(
            f"critical_fails is {n_fails}, but no critical row of {run.name} occurs more than "
            f"{times}, so none can fail"
        )


def _tagged_ids(run: ScoredRun, tagged: Mapping[str, Sequence[str]]) -> Iterable[str]:
    found: list[str] = []
    for column, values in tagged.items():
        if column not in run.columns:
            raise InputError(
                f"critical rows: the rows of {run.name} have no field {glance(column)}"
            )
        rows = [
            row
            for row, value in zip(run.ids, run.columns[column], strict=True)
            if value is not None and value in values
        ]
        if not rows:
            shown = ", ".join(map(glance, values))
            raise InputError(f"critical rows: no row of {run.name} has {column} = {shown}")
        found += rows
    return found


def _message(failed: list[str], verdicts: Mapping[str, list[int]], n_fails: int) -> str:
    count = counted(len(verdicts), "critical row")
    if not failed:
        rule = "" if n_fails == 1 else f" {n_fails} times or more"
        return f"none of {count} failed{rule}"
    shown = ", ".join(f"{row} ({_how(verdicts[row])})" for row in failed[:_SHOWN])
    more = "" if len(failed) <= _SHOWN else f" and {len(failed) - _SHOWN:,} more"
    return f"{len(failed):,} of {count} failed: {shown}{more}"


def _how(verdicts: list[int]) -> str:
    if not verdicts:
        return "not in the run"
    known = [passed for passed in verdicts if passed != NO_VERDICT]
    if not known:
        return "no verdict"
    return f"failed {sum(passed != _PASSED for passed in known)} of {len(known)}"
