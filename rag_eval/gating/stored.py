"""A stored run in; its verdict against the store's baselines out, and saved in the store."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from rag_eval.gating.against import NamedBaseline, gate
from rag_eval.gating.verdicts import GateReport
from rag_eval.runs.baselines import FALLBACK_BRANCH, age_note
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
        store, run.dataset_hash, branch=branch, fallback_branch=fallback_branch, pin=pin
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
    """
    last = store.last_passing(dataset_hash, branch, fallback_branch, before=before)
    pinned = store.pinned(pin)
    notes = []
    if pinned is not None and pinned.run_id == before:
        notes.append(f"{pinned.run_id} is the pinned run and is not compared with itself")
        pinned = None
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


def _loaded(store: RunStore, record: RunRecord) -> ScoredRun:
    return replace(store.load(record.run_id), name=record.run_id)
