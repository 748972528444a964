"""Scored runs in; a SQLite file of runs, their ids, and baselines out."""

from __future__ import annotations

import os
import re
import secrets
import sqlite3
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

from rag_eval.errors import InputError, glance
from rag_eval.plumbing.sqlite_files import number, transaction
from rag_eval.results.aggregates import MetricAggregate
from rag_eval.runs.baselines import FALLBACK_BRANCH, Scored, last_passing
from rag_eval.runs.git_state import GitState
from rag_eval.runs.run_parts import parts_of, run_of_parts
from rag_eval.runs.run_records import (
    RunRecord,
    Status,
    record_columns,
    status_columns,
    storable,
    stored_record,
)
from rag_eval.runs.scored_run import ScoredRun
from rag_eval.runs.store_names import DEFAULT_PIN, DEFAULT_STORE, LATEST
from rag_eval.runs.store_schema import opened_store, snapshot
from rag_eval.samples import MetricId

_MOST_TRIES: Final = 8
_PIN_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}", re.ASCII)
_COLUMNS: Final = (
    "seq, run_id, created_at, status, gated, dataset_hash, git_commit, branch, dirty, "
    "library_version, n_rows, metrics, lower_is_better, signature, settings, aggregates, config, "
    "n_judgements, n_failed_judgements, gate_number"
)


class RunStore:
    """Scored runs of one project, in a file to which several processes can write.

    The file, and a folder created for it, are accessible to their owner only. The file holds ids,
    scores, verdicts, requested metadata and digests of 4 bytes of questions and answers, but no
    texts of samples and no API keys. A run is saved completely or not at all, even if its writer is
    killed.

    Parameters
    ----------
    path : path, optional
        Default: ``.rag_eval/runs.db``. Created if it does not exist.
    create : bool, default True
        Whether the file may be created; otherwise a missing store is an error.
    now : callable
        Returns the current time with its time zone.

    Raises
    ------
    InputError
        In every method: if the file is not a run store, damaged, from a later version of this
        library, locked for too long, or not writable. The file is left unchanged.
    """

    def __init__(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        create: bool = True,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self.path = Path(DEFAULT_STORE if path is None else path)
        self._now = now
        with opened_store(self.path, create=create):
            pass

    # ------------------------------------------------------------------------------- writing

    def add(
        self,
        run: ScoredRun,
        *,
        status: Status | None = None,
        dataset_hash: str | None = None,
        aggregates: Mapping[MetricId, MetricAggregate] | None = None,
        git: GitState | None = None,
        config: Mapping[str, Any] | None = None,
    ) -> str:
        """Save a run.

        Parameters
        ----------
        run : ScoredRun
        status : {"guards held", "passed", "failed"}, optional
            Whether a gate passed, or only guards were checked and held.
        dataset_hash : str, optional
            The value of :func:`~rag_eval.runs.dataset_hash.dataset_hash` for its samples, if the
            run does not have it.
        aggregates : mapping of MetricAggregate, optional
            Its statistics. Default: computed from the scores.
        git : GitState, optional
            The value of :func:`~rag_eval.runs.git_state.git_state`.
        config : mapping, optional
            Options as JSON values; possible secrets are left out.

        Returns
        -------
        str
            The id of the run in this store.
        """
        columns = status_columns(status)
        if dataset_hash is not None:
            run = replace(run, dataset_hash=dataset_hash)
        parts = parts_of(run)
        created_at = self._now().astimezone(UTC)
        values = {**record_columns(run, aggregates, git, config), **columns}
        values["created_at"] = created_at.isoformat(timespec="milliseconds")[:-6] + "Z"
        with opened_store(self.path, create=True) as connection, transaction(connection):
            run_id = _free_id(connection, created_at)
            seq = _insert(connection, {**values, "run_id": run_id})
            connection.executemany(
                "INSERT INTO run_parts (seq, part, data) VALUES (?, ?, ?)",
                ((seq, part, data) for part, data in parts.items()),
            )
        return run_id

    def set_status(self, run_id: str, status: Status | None) -> None:
        """Save whether a run passed its gate."""
        columns = status_columns(status)
        with opened_store(self.path, create=False) as connection, transaction(connection):
            seq = self._seq(connection, run_id)
            connection.execute(
                "UPDATE runs SET status = :status, gated = :gated WHERE seq = :seq",
                {**columns, "seq": seq},
            )

    def pin(self, run_id: str, name: str = DEFAULT_PIN) -> None:
        """Pin a run as a baseline under a name; it replaces the run pinned under that name."""
        if not _PIN_NAME.fullmatch(name):
            raise InputError(
                "the name of a pin must be 1 to 64 ASCII letters, digits, '.', '_' and '-', "
                f"got {name!r:.80}"
            )
        with opened_store(self.path, create=False) as connection, transaction(connection):
            seq = self._seq(connection, run_id)
            connection.execute("INSERT OR REPLACE INTO pins (name, seq) VALUES (?, ?)", (name, seq))

    def unpin(self, name: str = DEFAULT_PIN) -> bool:
        """Remove a pin but not its run; return whether it existed."""
        with opened_store(self.path, create=False) as connection, transaction(connection):
            return (
                connection.execute("DELETE FROM pins WHERE name = ?", (storable(name),)).rowcount
                > 0
            )

    def delete(self, run_id: str) -> None:
        """Delete a run; a pinned run has to be unpinned first."""
        with opened_store(self.path, create=False) as connection, transaction(connection):
            seq = self._seq(connection, run_id)
            pins = _pins(connection).get(seq)
            if pins:
                raise InputError(f"{run_id} is pinned as {', '.join(pins)}; unpin it first")
            connection.execute("DELETE FROM run_parts WHERE seq = ?", (seq,))
            connection.execute("DELETE FROM runs WHERE seq = ?", (seq,))

    def prune(
        self,
        *,
        keep: int | None = None,
        older_than: timedelta | None = None,
        dry_run: bool = False,
    ) -> list[str]:
        """Delete old runs and make the file smaller.

        Pinned runs stay. So do, of each dataset and settings, the newest run that passed and the
        one with the highest gate number, by which the gates of a release line are counted.

        Parameters
        ----------
        keep : int, optional
            This many of the newest runs stay.
        older_than : timedelta, optional
            Younger runs stay.
        dry_run : bool
            Delete nothing.

        Returns
        -------
        list of str
            The ids of the deleted runs, oldest first.
        """
        if keep is None and older_than is None:
            raise InputError("prune needs keep, older_than, or both")
        records = self.runs()
        newest = {record.run_id for record in records[: keep or 0]}
        passing = {
            (record.dataset_hash, str(record.signature)): record.run_id
            for record in reversed(records)
            if record.status == "passed"
        }
        numbered = {
            (record.dataset_hash, str(record.signature)): record.run_id
            for record in sorted(records, key=lambda record: record.gate_number or 0)
            if record.gate_number is not None
        }
        held = newest | {*passing.values(), *numbered.values()}
        latest = None if older_than is None else self._now().astimezone(UTC) - older_than
        gone = [
            record.run_id
            for record in reversed(records)
            if record.run_id not in held
            and not record.pins
            and (latest is None or datetime.fromisoformat(record.created_at) < latest)
        ]
        if dry_run or not gone:
            return gone
        with opened_store(self.path, create=False) as connection:
            with transaction(connection):
                pinned = _pins(connection)
                seqs = [self._seq(connection, run_id) for run_id in gone]
                # One may have been pinned meanwhile.
                free = [(seq,) for seq in seqs if seq not in pinned]
                connection.executemany("DELETE FROM run_parts WHERE seq = ?", free)
                connection.executemany("DELETE FROM runs WHERE seq = ?", free)
            connection.execute("VACUUM")
        return [run_id for run_id, seq in zip(gone, seqs, strict=True) if seq not in pinned]

    # ------------------------------------------------------------------------------- reading

    def count(self) -> int:
        """Number of runs."""
        with opened_store(self.path, create=False) as connection:
            return number(connection, "SELECT count(*) FROM runs")

    def load(self, run_id: str) -> ScoredRun:
        """Load a run, bit for bit as it was added."""
        with opened_store(self.path, create=False) as connection, snapshot(connection):
            seq = self._seq(connection, run_id)
            row = connection.execute(f"SELECT {_COLUMNS} FROM runs WHERE seq = ?", (seq,))
            record = self._record(row.fetchone(), {})
            parts = dict(
                connection.execute("SELECT part, data FROM run_parts WHERE seq = ?", (seq,))
            )
        try:
            return run_of_parts(
                parts,
                metrics=record.metrics,
                n_rows=record.n_rows,
                signature=record.signature,
                settings=record.settings,
                dataset_hash=record.dataset_hash,
                lower_is_better=record.lower_is_better,
                n_judgements=record.n_judgements,
                n_failed_judgements=record.n_failed_judgements,
            )
        except InputError as error:
            raise InputError(f"{self.path}, {run_id}: {error}") from None

    def runs(
        self,
        *,
        dataset_hash: str | None = None,
        branch: str | None = None,
        limit: int | None = None,
    ) -> list[RunRecord]:
        """The runs, newest first.

        Parameters
        ----------
        dataset_hash : str, optional
            Only runs of this dataset; its first digits are enough.
        branch : str, optional
        limit : int, optional
            Maximum number of runs.
        """
        return self._records(dataset_hash, branch, limit=limit)

    def record(self, run_id: str) -> RunRecord:
        """The record of a run, by its id, the first characters of the id, or ``latest``."""
        with opened_store(self.path, create=False) as connection, snapshot(connection):
            seq = self._seq(connection, run_id)
            row = connection.execute(f"SELECT {_COLUMNS} FROM runs WHERE seq = ?", (seq,))
            return self._record(row.fetchone(), _pins(connection))

    def pinned(self, name: str = DEFAULT_PIN) -> RunRecord | None:
        """The run that is pinned under a name, whatever its status; None if there is none."""
        return next((record for record in self._records() if name in record.pins), None)

    def last_passing(
        self,
        dataset_hash: str | None,
        branch: str | None = None,
        fallback_branch: str | None = FALLBACK_BRANCH,
        *,
        before: str | None = None,
        like: Scored | None = None,
    ) -> RunRecord | None:
        """The newest run of a dataset that passed a gate.

        Parameters
        ----------
        dataset_hash : str or None
            Only runs of this dataset are considered; None stands for runs without a hash.
        branch, fallback_branch : str, optional
            Searched in this order, then any branch.
        before : str, optional
            The id of a run: only runs added before it are considered.
        like : RunRecord or ScoredRun, optional
            Only runs whose settings allow a comparison with this run are considered.
        """
        records = (run for run in self.passing(before=before) if run.dataset_hash == dataset_hash)
        return last_passing(records, branch, fallback_branch, like=like)[0]

    def passing(self, *, before: str | None = None) -> list[RunRecord]:
        """The runs that passed a gate, newest first; with ``before`` those added before a run."""
        return self._records(passing=True, before=before)

    def _records(
        self,
        dataset_hash: str | None = None,
        branch: str | None = None,
        *,
        passing: bool = False,
        before: str | None = None,
        limit: int | None = None,
    ) -> list[RunRecord]:
        wheres: list[str] = ["status = 'passed' AND gated"] if passing else []
        values: list[Any] = []
        if dataset_hash is not None:
            wheres.append("substr(dataset_hash, 1, ?) = ?")
            values += [len(dataset_hash), storable(dataset_hash)]
        if branch is not None:
            wheres.append("branch = ?")
            values.append(storable(branch))
        with opened_store(self.path, create=False) as connection, snapshot(connection):
            if before is not None:
                wheres.append("seq < ?")
                values.append(self._seq(connection, before))
            where = f" WHERE {' AND '.join(wheres)}" if wheres else ""
            rows = connection.execute(
                f"SELECT {_COLUMNS} FROM runs{where} ORDER BY seq DESC LIMIT ?",
                [*values, -1 if limit is None else max(0, limit)],
            ).fetchall()
            pins = _pins(connection)
        return [self._record(row, pins) for row in rows]

    def _record(self, row: tuple[Any, ...], pins: Mapping[int, list[str]]) -> RunRecord:
        found = dict(zip(_COLUMNS.split(", "), row, strict=True))
        seq = found.pop("seq")
        try:
            return stored_record(found, pins.get(seq, ()))
        except (ValueError, TypeError, RecursionError) as error:
            raise InputError(
                f"{self.path}: the stored run {glance(found['run_id'])} is damaged: {error}"
            ) from None

    def _seq(self, connection: sqlite3.Connection, run_id: str) -> int:
        """The sequence number of the run with an id, its first characters, or ``latest``."""
        if run_id == LATEST:
            rows = connection.execute("SELECT seq FROM runs ORDER BY seq DESC LIMIT 1").fetchall()
            if not rows:
                raise InputError(f"{self.path} has no runs")
            return int(rows[0][0])
        # An id is ASCII; SQLite takes no lone surrogates.
        wanted = storable(run_id)
        rows = connection.execute(
            "SELECT seq, run_id = ? FROM runs WHERE substr(run_id, 1, ?) = ? "
            "ORDER BY run_id = ? DESC",
            (wanted, len(wanted), wanted, wanted),
        ).fetchall()
        if not rows or not run_id:
            raise InputError(
                f"{self.path} has no run {run_id!r:.80}; rag-eval history lists all runs"
            )
        if len(rows) > 1 and not rows[0][1]:
            raise InputError(f"{self.path} has {len(rows)} runs whose id begins with {run_id!r}")
        return int(rows[0][0])


def _pins(connection: sqlite3.Connection) -> dict[int, list[str]]:
    found: dict[int, list[str]] = {}
    for name, seq in connection.execute("SELECT name, seq FROM pins ORDER BY name"):
        if not isinstance(name, str):
            raise sqlite3.DatabaseError(f"the name of a pin is {glance(name)}")
        found.setdefault(seq, []).append(name)
    return found


def _free_id(connection: sqlite3.Connection, created_at: datetime) -> str:
    for _ in range(_MOST_TRIES):
        run_id = f"run-{created_at:%Y%m%d-%H%M%S}-{secrets.token_hex(3)}"
        if not connection.execute("SELECT 1 FROM runs WHERE run_id = ?", (run_id,)).fetchall():
            return run_id
    raise InputError("no free run id was found; check the system clock")


def _insert(connection: sqlite3.Connection, values: Mapping[str, Any]) -> int:
    names = ", ".join(values)
    marks = ", ".join("?" * len(values))
    done = connection.execute(f"INSERT INTO runs ({names}) VALUES ({marks})", [*values.values()])
    assert done.lastrowid is not None
    return done.lastrowid
