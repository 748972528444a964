"""The rows of a run on their way into a store.  In: scored blocks and a summary.  Out: its id."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rag_eval.options.plan import Plan
from rag_eval.results.batch import BatchSummary
from rag_eval.runs.git_state import git_state
from rag_eval.runs.kept_rows import KeptRows
from rag_eval.runs.store import RunStore
from rag_eval.scoring.engine import ScoredBlock


class RunKeeper:
    """Gathers the rows of one run and puts it into a store when it has come to its end.

    The store is opened at once: one that cannot be used is told before any work.
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
        """Take in the rows of a block."""
        self._rows.add(scored)

    @property
    def dataset_hash(self) -> str:
        """Of the rows so far."""
        return self._rows.dataset_hash

    def notes(self, *, interrupted: bool) -> list[str]:
        """What a reader of the run should know."""
        if interrupted:
            return ["the run was interrupted, and is not in the store"]
        return self._rows.notes()

    def keep(self, name: str, result: BatchSummary, *, passed: bool | None) -> str:
        """Put the run into the store, with its verdict if it has one; gives its id there."""
        judging = result.judging
        run = self._rows.run(
            name,
            signature=result.signature,
            n_judgements=0 if judging is None else judging.n_wanted,
            n_failed_judgements=0 if judging is None else judging.n_failed,
        )
        return self._store.add(
            run,
            status=None if passed is None else "passed" if passed else "failed",
            aggregates=result.aggregates,
            git=git_state(),
            config=self._config,
        )
