"""A stored run in; its verdict against the store's baselines out, and saved in the store."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from rag_eval.errors import SignatureMismatchError
from rag_eval.gating.against import NamedBaseline, gate
from rag_eval.gating.spending import check_spending, spending_of
from rag_eval.gating.verdicts import GateReport
from rag_eval.plumbing.spelling import counted
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
from rag_eval.runs.shared_rows import nearest_dataset, without_missing
from rag_eval.runs.store import RunStore
from rag_eval.runs.store_names import DEFAULT_PIN, LATEST

_HASH_DIGITS: Final = 12
_NO_BASELINE: Final = "no baseline was found"


def gate_stored(
    store: RunStore,
    run_id: str = LATEST,
    *,
    branch: str | None = None,
    fallback_branch: str | None = FALLBACK_BRANCH,
    pin: str = DEFAULT_PIN,
    shared_rows: bool = False,
    spend: bool = False,
    extra: Sequence[NamedBaseline] = (),
    **options: Any,
) -> GateReport:
    """Gate a stored run against the store's baselines and save whether it passed.

    Parameters
    ----------
    store : RunStore
    run_id : str
        An id, its first characters, or ``latest``.
    branch, fallback_branch, pin, shared_rows
        As for :func:`store_baselines`. Default branch: that of the run.
    spend : bool
        Share ``alpha`` among all gates of the release line: see
        :func:`rag_eval.gating.spending.spending_of`.
    extra : sequence of NamedBaseline
        Further baselines.
    **options
        As for :func:`rag_eval.gating.gate`.

    Returns
    -------
    GateReport
    """
    alpha = options.get("alpha", 0.05)
    if spend:
        check_spending(options.get("policy", "no-regression"), alpha)
    record = store.record(run_id)
    run = _loaded(store, record)
    baselines, notes = store_baselines(
        store,
        record.dataset_hash,
        branch=record.branch if branch is None else branch,
        fallback_branch=fallback_branch,
        pin=pin,
        before=record.run_id,
        run=run,
        shared_rows=shared_rows,
        force=bool(options.get("force")),
    )
    spending = None
    # Without a baseline there is no test, and the line has not begun.
    if spend and (n_baselines := len(baselines) + len(extra)):
        spending = spending_of(
            store,
            record,
            alpha=alpha,
            n_baselines=n_baselines,
            pin=pin,
            any_dataset=shared_rows,
        )
        options["alpha"] = spending.level
    report = gate(run, [*baselines, *extra], **options)
    if not report.baselines:
        if report.passed:
            then = ". This run becomes the baseline for later gates: check it by hand"
        else:
            then = ", so only the guards decide"
        notes.append(_NO_BASELINE + then)
    store.set_status(record.run_id, "passed" if report.passed else "failed")
    return replace(report, notices=(*report.notices, *notes), spending=spending)


def gate_against_store(
    new: RunSource,
    store: RunStore,
    *,
    branch: str | None = None,
    fallback_branch: str | None = FALLBACK_BRANCH,
    pin: str = DEFAULT_PIN,
    shared_rows: bool = False,
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
        run=run,
        shared_rows=shared_rows,
        force=bool(options.get("force")),
    )
    if run.dataset_hash is None:
        notes.append(
            f"{run.name} does not name its dataset, so only runs without one are considered as "
            "the last passing run"
        )
    report = gate(new, [*baselines, *extra], id_field=id_field, **options)
    if not report.baselines:
        notes.append(f"{_NO_BASELINE}, so only the guards decide")
    return replace(report, notices=(*report.notices, *notes))


def store_baselines(
    store: RunStore,
    dataset_hash: str | None,
    *,
    branch: str | None = None,
    fallback_branch: str | None = FALLBACK_BRANCH,
    pin: str = DEFAULT_PIN,
    before: str | None = None,
    run: ScoredRun | None = None,
    shared_rows: bool = False,
    force: bool = False,
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
    run : ScoredRun, optional
        The gated run: runs with other settings are skipped as the last passing run, with a note.
        If no run of its dataset has passed, a note names the nearest dataset in the store.
    shared_rows : bool
        Take the last passing run of the nearest dataset in that case. Rows that the gated run lacks
        are then not missing, neither in it nor in a pinned run of another dataset.
    force : bool
        Accept runs with other settings.

    Raises
    ------
    SignatureMismatchError
        When the pinned run was scored with other settings than ``run``.
    """
    passing = store.passing(before=before)
    like = None if force else run
    own = [record for record in passing if record.dataset_hash == dataset_hash]
    last, note = last_passing(own, branch, fallback_branch, like=like)
    notes = [note] if note else []
    if last is None and run is not None:
        others = [
            record
            for record in passing
            if record.dataset_hash != dataset_hash and (force or not setting_faults(record, run))
        ]
        if (nearest := nearest_dataset(store, run, others)) is not None:
            near, _ = last_passing(nearest.records, branch, fallback_branch)
            assert near is not None
            notes.append(_nearest_note(near, nearest.n_shared, len(run), taken=shared_rows))
            last = near if shared_rows else None
    pinned = store.pinned(pin)
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
    baselines = []
    for kind, record in chosen:
        found = _loaded(store, record)
        if shared_rows and run is not None and record.dataset_hash != dataset_hash:
            # Edited rows stay: pairing leaves them out of both runs.
            found = without_missing(found, run)
        baselines.append(NamedBaseline(kind, found))
    return baselines, notes


def _nearest_note(found: RunRecord, n_shared: int, n_rows: int, *, taken: bool) -> str:
    name = "without a hash" if found.dataset_hash is None else found.dataset_hash[:_HASH_DIGITS]
    note = (
        f"no run of this dataset has passed a gate; the nearest dataset in the store ({name}, "
        f"{found.run_id}) shares {n_shared:,} of {counted(n_rows, 'row')}"
    )
    return f"{note}, which are compared" if taken else f"{note}: to compare those: --shared-rows"


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
