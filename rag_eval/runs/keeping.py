"""Scored blocks and a summary in; the run saved in a store, and its id, out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rag_eval.options.plan import Plan
from rag_eval.results.batch import BatchSummary
from rag_eval.runs.git_state import git_state
from rag_eval.runs.kept_rows import KeptRows
from rag_eval.runs.run_records import Status
from rag_eval.runs.store import RunStore
from rag_eval.scoring.engine import ScoredBlock


class RunKeeper:
    """Gathers the rows of one run and saves it in a store when it is complete.

    The store is opened at once, so that an unusable one is reported before any work.
    """

    def __init__(
        self,
        store: str | Path,
        plan: Plan,
        columns: Sequence[str],
        config: Mapping[str, Any],
    ) -> None:
        self._store = RunStore(store)
        self._rows = KeptRows(plan, columns)
        self._config = config

    def add(self, scored: ScoredBlock, first_row: int) -> None:
        """Add the rows of a block."""
        self._rows.add(scored)

    @property
    def dataset_hash(self) -> str:
        """Hash of the rows so far."""
        return self._rows.dataset_hash

    def notes(self, *, interrupted: bool) -> list[str]:
        """Notes for the reader of the run."""
        if interrupted:
            return ["the run was interrupted, so it was not saved in the store"]
        return self._rows.notes()

    def keep(
        self, name: str, result: BatchSummary, *, passed: bool | None, gated: bool = False
    ) -> str:
        """Save the run in the store, with its verdict if it has one; return its id.

        Only a run that was compared with a baseline is ``gated``.
        """
        judging = result.judging
        run = self._rows.run(
            name,
            signature=result.signature,
            n_judgements=0 if judging is None else judging.n_wanted,
            n_failed_judgements=0 if judging is None else judging.n_failed,
            repeats={} if judging is None else judging.repeats,
        )
        return self._store.add(
            run,
            status=_status(passed, gated),
            aggregates=result.aggregates,
            git=git_state(),
            config=self._config,
        )


def _status(passed: bool | None, gated: bool) -> Status | None:
    if passed is None:
        return None
    if not passed:
        return "failed"
    return "passed" if gated else "guards held"
