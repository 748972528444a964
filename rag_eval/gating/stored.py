"""A stored run in; its verdict against the store's baselines out, and saved in the store."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from rag_eval.errors import SignatureMismatchError
from rag_eval.gating.against import NamedBaseline, gate
from rag_eval.gating.verdicts import GateReport
from rag_eval.results.summaries import NOT_COMPARABLE
from rag_eval.runs.baselines import (
    FALLBACK_BRANCH,
    Scored,
    age_note,
    last_passing,
    setting_faults,
)
from rag_eval.runs.run_files import RunSource, read_run
from rag_eval.runs.run_records import RunRecord
from rag_eval.runs.scored_run import ScoredRun
from rag_eval.runs.store import RunStore
from rag_eval.runs.store_names import DEFAULT_PIN, LATEST


def gate_stored(
    store: RunStore,
    run_id: str = LATEST,
    *,
    branch: str | None = None,
    fallback_branch: str | None = FALLBACK_BRANCH,
    pin: str = DEFAULT_PIN,
    extra: Sequence[NamedBaseline] = (),
    **options: Any,
) -> GateReport:
    """Gate a stored run against the store's baselines and save whether it passed.

    Parameters
    ----------
    store : RunStore
    run_id : str
        An id, its first characters, or ``latest``.
    branch, fallback_branch, pin
        As for :func:`store_baselines`. Default branch: that of the run.
    extra : sequence of NamedBaseline
        Further baselines.
    **options
        As for :func:`rag_eval.gating.gate`.

    Returns
    -------
    GateReport
    """
    record = store.record(run_id)
    baselines, notes = store_baselines(
        store,
        record.dataset_hash,
        branch=record.branch if branch is None else branch,
        fallback_branch=fallback_branch,
        pin=pin,
        before=record.run_id,
        like=None if options.get("force") else record,
    )
    report = gate(_loaded(store, record), [*baselines, *extra], **options)
    store.set_status(record.run_id, "passed" if report.passed else "failed")
    return replace(report, notices=(*report.notices, *notes))


def gate_against_store(
    new: RunSource,
    store: RunStore,
    *,
    branch: str | None = None,
    fallback_branch: str | None = FALLBACK_BRANCH,
    pin: str = DEFAULT_PIN,
    extra: Sequence[NamedBaseline] = (),
    id_field: str = "id",
    **options: Any,
) -> GateReport:
    """Gate a run that is not in the store against the store's baselines; saves nothing there.

    Parameters are those of :func:`gate_stored`.
    """
    # The gate reads other fields of the rows.
    run = read_run(new, id_field=id_field)
    baselines, notes = store_baselines(
        store,
        run.dataset_hash,
        branch=branch,
        fallback_branch=fallback_branch,
        pin=pin,
        like=None if options.get("force") else run,
    )
    if run.dataset_hash is None:
        notes.append(
            f"{run.name} does not name its dataset, so only runs without one are considered as "
            "the last passing run"
        )
    report = gate(new, [*baselines, *extra], id_field=id_field, **options)
    return replace(report, notices=(*report.notices, *notes))


def store_baselines(
    store: RunStore,
    dataset_hash: str | None,
    *,
    branch: str | None = None,
    fallback_branch: str | None = FALLBACK_BRANCH,
    pin: str = DEFAULT_PIN,
    before: str | None = None,
    like: Scored | None = None,
) -> tuple[list[NamedBaseline], list[str]]:
    """The last passing run and the pinned run, with notes on them.

    Parameters
    ----------
    store : RunStore
    dataset_hash : str or None
        Dataset of the last passing run; None for runs that do not name their dataset.
    branch, fallback_branch : str, optional
        Branches to look for the last passing run on; any branch if neither has one.
    pin : str
        Name of the pinned run, which may have any status and any dataset.
    before : str, optional
        Id of the gated run, which cannot be its own baseline.
    like : RunRecord or ScoredRun, optional
        The gated run: runs with other settings are skipped as the last passing run, with a note.

    Raises
    ------
    SignatureMismatchError
        When the pinned run was scored with other settings than ``like``.
    """
    passing = [run for run in store.passing(before=before) if run.dataset_hash == dataset_hash]
    last, skipped = last_passing(passing, branch, fallback_branch, like=like)
    pinned = store.pinned(pin)
    notes = [skipped] if skipped else []
    if pinned is not None and pinned.run_id == before:
        notes.append(f"{pinned.run_id} is the pinned run and is not compared with itself")
        pinned = None
    if pinned is not None and like is not None:
        _check_pinned(pinned, like, pin)
    if last is not None and pinned is not None and last.run_id == pinned.run_id:
        chosen = [("last_passing and pinned", last)]
    else:
        chosen = [
            (kind, record)
            for kind, record in (("last_passing", last), ("pinned", pinned))
            if record is not None
        ]
    if last is not None and pinned is None:
        notes.append(
            "no run is pinned: against the last passing run only, small losses can add up; to "
            "set a fixed baseline: rag-eval baseline pin"
        )
    notes += [note for _, record in chosen if (note := age_note(record)) is not None]
    return [NamedBaseline(kind, _loaded(store, record)) for kind, record in chosen], notes


def _check_pinned(pinned: RunRecord, like: Scored, pin: str) -> None:
    if why := setting_faults(pinned, like):
        raise SignatureMismatchError(
            f"{NOT_COMPARABLE}the run pinned as {pin}, {pinned.run_id}, was scored with different "
            f"settings ({'; '.join(why)}). Pin a run with the settings of this one: rag-eval "
            "baseline pin RUN --name NAME, then add --pin NAME to the gate. To compare them "
            "anyway, add --force"
        )


def _loaded(store: RunStore, record: RunRecord) -> ScoredRun:
    return replace(store.load(record.run_id), name=record.run_id)
