"""A stored run in; the significance level of its gate, as one of many of a release line, out."""

from __future__ import annotations

from collections.abc import Iterator

from rag_eval.errors import InputError
from rag_eval.gating.verdicts import Spending
from rag_eval.plumbing.checked_values import level
from rag_eval.runs.baselines import setting_faults
from rag_eval.runs.gate_numbers import take_gate_number
from rag_eval.runs.run_records import RunRecord
from rag_eval.runs.store import RunStore
from rag_eval.runs.store_names import DEFAULT_PIN
from rag_eval.stats.multiplicity import spending_level


def spending_of(
    store: RunStore,
    record: RunRecord,
    *,
    alpha: float,
    n_baselines: int,
    pin: str = DEFAULT_PIN,
    any_dataset: bool = False,
) -> Spending:
    """The level at which a stored run is gated, so that the gates of its line share ``alpha``.

    The line begins after the pinned run, or without one after the first run that passed, of the
    same dataset and settings. Gate number k spends ``alpha / sqrt(k) - alpha / sqrt(k + 1)``,
    divided among its baselines, so all gates together spend at most ``alpha``.

    If nothing changed since the line began, the chance that any of its gates shows a regression is
    at most ``alpha``: as long as no gate failed, the last passing run is the run before, so each
    gate tests pairs of runs that do not depend on the scores, and their levels add up to at most
    ``alpha``, however the tests depend on each other. Guards, and limits without a test, are not
    part of it. Each pin of another run begins a new line.

    A run keeps its number in the store: to gate it again spends nothing more.

    References
    ----------
    Lan and DeMets, Discrete sequential boundaries for clinical trials (1983); Foster and Stine,
    Alpha-investing (2008); Tian and Ramdas, Online control of the familywise error rate (2021).
    """
    start = _start(store, record, pin)
    line = list(_line(store, record, start, any_dataset=any_dataset))
    gate_number = take_gate_number(store.path, record.run_id, line)
    return Spending(
        alpha=alpha,
        gate_number=gate_number,
        line_start=None if start is None else start.run_id,
        n_baselines=n_baselines,
        level=spending_level(alpha, gate_number) / n_baselines,
    )


def check_spending(policy: str, alpha: float) -> None:
    """Raise an error for a level, or a policy, that cannot be shared among gates."""
    if policy != "no-regression":
        raise InputError(f"policy {policy} takes no spend (--spend); use no-regression")
    level(alpha, "alpha")


def _start(store: RunStore, record: RunRecord, pin: str) -> RunRecord | None:
    pinned = store.pinned(pin)
    if pinned is not None and pinned.run_id != record.run_id:
        return pinned
    passing = [each for each in store.passing(before=record.run_id) if _is_of(each, record)]
    return passing[-1] if passing else None


def _line(
    store: RunStore, record: RunRecord, start: RunRecord | None, *, any_dataset: bool
) -> Iterator[str]:
    """The runs since a line began, without that of the gate."""
    for each in store.runs():
        if start is not None and each.run_id == start.run_id:
            return
        wanted = not setting_faults(each, record) if any_dataset else _is_of(each, record)
        if wanted and each.run_id != record.run_id:
            yield each.run_id


def _is_of(each: RunRecord, record: RunRecord) -> bool:
    return each.dataset_hash == record.dataset_hash and not setting_faults(each, record)
