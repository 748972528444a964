"""The file of a run whose judge is asked in batches: its questions, batches and their outcomes.

A question is known by its key in the cache of replies. Its outcome is kept as the server gave it,
so that each pass over the data reads it as it would read the reply to a call.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, Self

import msgspec

from rag_eval.errors import InputError
from rag_eval.judge.batches import MOST_BYTES, MOST_REQUESTS, Collected, Outcome
from rag_eval.judge.failures import JudgeCallError
from rag_eval.judge.replies import JudgeIdentity, JudgeReply, Usage
from rag_eval.plumbing.sqlite_files import (
    check_tables,
    connected,
    make_file,
    transaction,
    version_of,
)

_VERSION: Final = 1
_APPLICATION_ID: Final = 0x52654A62  # "ReJb"
_PURPOSE: Final = b"rag_eval.batch.1"
_ROWS_AT_ONCE: Final = 256

_SCHEMA: Final = (
    "CREATE TABLE run (command TEXT NOT NULL)",
    "CREATE TABLE judges (judge INTEGER PRIMARY KEY, identity TEXT NOT NULL, refused TEXT)",
    """CREATE TABLE batches (
        name TEXT PRIMARY KEY,
        judge INTEGER NOT NULL,
        n_requests INTEGER NOT NULL,
        begun REAL NOT NULL,
        id TEXT,
        is_ended INTEGER NOT NULL DEFAULT 0
    )""",
    """CREATE TABLE questions (
        name BLOB PRIMARY KEY,
        judge INTEGER NOT NULL,
        mark TEXT NOT NULL,
        body BLOB,
        input_tokens INTEGER NOT NULL,
        output_tokens INTEGER NOT NULL,
        n_sent INTEGER NOT NULL DEFAULT 0,
        batch TEXT,
        place INTEGER,
        outcome BLOB
    )""",
    "CREATE INDEX questions_by_batch ON questions (batch, place)",
    f"PRAGMA application_id = {_APPLICATION_ID}",
    f"PRAGMA user_version = {_VERSION}",
)

_WANT: Final = (
    "INSERT INTO questions (name, judge, mark, body, input_tokens, output_tokens) "
    "VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (name) DO UPDATE SET mark = excluded.mark, "
    "body = excluded.body, batch = NULL, place = NULL, outcome = NULL WHERE outcome IS NOT NULL"
)


class _Error(msgspec.Struct):
    message: str
    retryable: bool = False
    fatal: bool = False
    timed_out: bool = False
    rate_limited: bool = False


class _Stored(msgspec.Struct, omit_defaults=True):
    reply: JudgeReply | None = None
    error: _Error | None = None


class Waiting(NamedTuple):
    """Questions of one judge that are to be sent, and the tokens that they probably take."""

    judge: int
    n_requests: int
    usage: Usage


@dataclass(frozen=True, slots=True)
class Batch:
    """A batch of the run; without an id it is not known whether the server has it."""

    name: str
    judge: int
    n_requests: int
    begun: float
    id: str | None


class BatchLedger:
    """An open ledger, which no other process can open meanwhile.

    Parameters
    ----------
    path : path
        Created, readable only by the owner, if it does not exist.

    Raises
    ------
    InputError
        If the file is something else, damaged, of a later version, or in use.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path).absolute()
        self._wanted: dict[bytes, tuple[Any, ...]] = {}
        self._given: set[bytes] = set()
        try:
            make_file(self.path)
            self._file = connected(self.path)
        except (OSError, sqlite3.Error) as error:
            raise InputError(f"the batch file {self.path} cannot be opened: {error}") from None
        try:
            self._begin()
        except BaseException as error:
            self._file.close()
            if not isinstance(error, sqlite3.Error):
                raise
            is_locked = "locked" in str(error)
            why = "another process has it open; wait until that has ended" if is_locked else error
            raise InputError(f"the batch file {self.path} cannot be used: {why}") from None

    def _begin(self) -> None:
        file = self._file
        file.execute("PRAGMA busy_timeout = 0")
        # Held until the file is closed: two processes would submit the same questions.
        file.execute("PRAGMA locking_mode = EXCLUSIVE")
        file.execute("PRAGMA synchronous = FULL")
        with transaction(file):
            if version_of(file, self.path, _APPLICATION_ID, _VERSION, "a batch file"):
                check_tables(file, _SCHEMA)
            else:
                for statement in _SCHEMA:
                    file.execute(statement)
            # Never sent; the next pass over the data asks them again.
            file.execute("DELETE FROM questions WHERE batch IS NULL AND outcome IS NULL")

    def close(self) -> None:
        """Release the file."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    # ------------------------------------------------------------------------------- the run

    @property
    def command(self) -> dict[str, Any] | None:
        """What started the run, as :meth:`keep_command` was given it."""
        found = self._file.execute("SELECT command FROM run ORDER BY rowid").fetchone()
        return None if found is None else dict(msgspec.json.decode(found[0]))

    def keep_command(self, command: dict[str, Any]) -> None:
        """Keep what starts the run; it replaces the one before once its judges are checked."""
        text = msgspec.json.encode(command).decode()
        with transaction(self._file):
            self._file.execute("DELETE FROM run WHERE rowid > (SELECT MIN(rowid) FROM run)")
            self._file.execute("INSERT INTO run (command) VALUES (?)", (text,))

    def check_judges(self, identities: Sequence[JudgeIdentity]) -> None:
        """Raise an InputError if other judges were asked; then the command before stays."""
        ours = [msgspec.json.encode(one.to_dict()).decode() for one in identities]
        found = self._file.execute("SELECT identity FROM judges ORDER BY judge").fetchall()
        with transaction(self._file):
            if [row[0] for row in found] != ours:
                if self._file.execute("SELECT 1 FROM questions").fetchone():
                    raise InputError(
                        f"{self.path} has the batches of another judge, or of other judge "
                        "options; name another file"
                    )
                rows = enumerate(ours)
                self._file.execute("DELETE FROM judges")
                self._file.executemany("INSERT INTO judges (judge, identity) VALUES (?, ?)", rows)
            self._file.execute("DELETE FROM run WHERE rowid < (SELECT MAX(rowid) FROM run)")

    def refused(self, judge: int) -> frozenset[str] | None:
        """Parameters that the judge's server does not take; None if it was not tried yet."""
        row = self._file.execute("SELECT refused FROM judges WHERE judge = ?", (judge,)).fetchone()
        return None if row is None or row[0] is None else frozenset(msgspec.json.decode(row[0]))

    # --------------------------------------------------------------------- questions of a pass

    @staticmethod
    def name(key: bytes, form: str) -> bytes:
        """The name of a question, which is asked a second time in another form."""
        return hashlib.blake2b(key + form.encode(), digest_size=32, person=_PURPOSE).digest()

    def found(self, name: bytes, retries: int) -> Collected | Literal["sent"] | None:
        """What has come of a question; None if it is to be asked, for the first time or again."""
        row = self._file.execute(
            "SELECT mark, outcome, batch, n_sent FROM questions WHERE name = ?", (name,)
        ).fetchone()
        if row is None or (row[1] is None and row[2] is None):
            return None
        mark, stored, batch, n_sent = row
        if stored is None:
            return "sent"
        outcome = _read(stored)
        if isinstance(outcome, JudgeCallError) and outcome.retryable and n_sent <= retries:
            return None
        is_first = name not in self._given
        self._given.add(name)
        return Collected(mark, outcome, batch is not None, is_first)

    def knows(self, name: bytes) -> bool:
        """Whether the question was asked by this run."""
        row = self._file.execute("SELECT 1 FROM questions WHERE name = ?", (name,)).fetchone()
        return row is not None or name in self._wanted

    def want(self, name: bytes, judge: int, mark: str, body: bytes, expected: Usage) -> None:
        """Ask a question with the next batch."""
        tokens = (expected.input_tokens, expected.output_tokens)
        self._wanted.setdefault(name, (name, judge, mark, body, *tokens))
        if len(self._wanted) >= _ROWS_AT_ONCE:
            self.flush()

    def flush(self) -> None:
        """Write the questions that are wanted."""
        if self._wanted:
            with transaction(self._file):
                self._file.executemany(_WANT, self._wanted.values())
            self._wanted = {}

    def keep_trial(
        self, name: bytes, judge: int, mark: str, reply: JudgeReply, refused: Iterable[str]
    ) -> None:
        """Keep the reply to the one question that was asked at once, and what it has shown."""
        self.flush()
        outcome = _written(reply)
        self._given.add(name)
        with transaction(self._file):
            self._file.execute(
                "INSERT OR REPLACE INTO questions (name, judge, mark, input_tokens, output_tokens, "
                "outcome) VALUES (?, ?, ?, 0, 0, ?)",
                (name, judge, mark, outcome),
            )
            text = msgspec.json.encode(sorted(refused)).decode()
            self._file.execute("UPDATE judges SET refused = ? WHERE judge = ?", (text, judge))

    def begin_pass(self) -> None:
        """Give every outcome as for the first time."""
        self._given = set()

    # --------------------------------------------------------------------------------- batches

    def waiting(self) -> list[Waiting]:
        """What is to be sent, by judge."""
        self.flush()
        rows = self._file.execute(
            "SELECT judge, count(*), sum(input_tokens), sum(output_tokens) FROM questions "
            "WHERE batch IS NULL AND outcome IS NULL GROUP BY judge ORDER BY judge"
        ).fetchall()
        return [Waiting(judge, n, Usage(ins, outs, True)) for judge, n, ins, outs in rows]

    def begin_batch(self, judge: int, name: str, now: float) -> list[tuple[str, bytes]]:
        """Note that questions are about to be sent under a name; their ids and bodies."""
        rows = self._file.execute(
            "SELECT name, body FROM questions WHERE batch IS NULL AND outcome IS NULL "
            "AND judge = ? ORDER BY rowid LIMIT ?",
            (judge, MOST_REQUESTS),
        )
        chosen: list[tuple[bytes, bytes]] = []
        n_bytes = 0
        for question, body in rows:
            n_bytes += len(body)
            if chosen and n_bytes > MOST_BYTES:
                break
            chosen.append((question, body))
        rows.close()
        with transaction(self._file):
            self._file.execute(
                "INSERT INTO batches (name, judge, n_requests, begun) VALUES (?, ?, ?, ?)",
                (name, judge, len(chosen), now),
            )
            self._file.executemany(
                "UPDATE questions SET batch = ?, place = ?, n_sent = n_sent + 1 WHERE name = ?",
                [(name, place, question) for place, (question, _) in enumerate(chosen)],
            )
        return [(f"{name}-{place}", body) for place, (_, body) in enumerate(chosen)]

    def open_batches(self) -> list[Batch]:
        """Those that were begun and whose outcomes are not all here."""
        rows = self._file.execute(
            "SELECT name, judge, n_requests, begun, id FROM batches WHERE NOT is_ended "
            "ORDER BY rowid"
        ).fetchall()
        return [Batch(*row) for row in rows]

    def batch_ids(self) -> set[str]:
        """The ids of all batches of the run."""
        rows = self._file.execute("SELECT id FROM batches WHERE id IS NOT NULL").fetchall()
        return {row[0] for row in rows}

    def sent(self, batch: str, batch_id: str) -> None:
        """Note that the server has a batch, and under which id."""
        with transaction(self._file):
            self._file.execute("UPDATE batches SET id = ? WHERE name = ?", (batch_id, batch))
            self._file.execute("UPDATE questions SET body = NULL WHERE batch = ?", (batch,))

    def not_sent(self, batch: str) -> None:
        """Note that the server does not have a batch: the next pass asks its questions again."""
        with transaction(self._file):
            self._file.execute("DELETE FROM batches WHERE name = ?", (batch,))
            self._file.execute("DELETE FROM questions WHERE batch = ?", (batch,))

    def keep_outcomes(self, batch: str, outcomes: Sequence[tuple[str, Outcome]]) -> None:
        """Keep outcomes by the ids of their requests; ids of other batches are ignored."""
        rows = []
        for request, outcome in outcomes:
            name, _, place = request.rpartition("-")
            if name == batch and place.isdecimal() and place.isascii() and len(place) < 10:
                rows.append((_written(outcome), batch, int(place)))
        with transaction(self._file):
            self._file.executemany(
                "UPDATE questions SET outcome = ? WHERE batch = ? AND place = ?", rows
            )

    def end_batch(self, batch: str, without_outcome: JudgeCallError) -> None:
        """Note that all outcomes of a batch are here, and what of questions without one."""
        with transaction(self._file):
            self._file.execute(
                "UPDATE questions SET outcome = ? WHERE batch = ? AND outcome IS NULL",
                (_written(without_outcome), batch),
            )
            self._file.execute("UPDATE batches SET is_ended = 1 WHERE name = ?", (batch,))


def _written(outcome: Outcome) -> bytes:
    if isinstance(outcome, JudgeReply):
        return msgspec.json.encode(_Stored(reply=outcome))
    error = _Error(
        str(outcome), outcome.retryable, outcome.fatal, outcome.timed_out, outcome.rate_limited
    )
    return msgspec.json.encode(_Stored(error=error))


def _read(stored: bytes) -> Outcome:
    try:
        found = msgspec.json.decode(stored, type=_Stored)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise InputError(f"a batch file holds a reply that cannot be read: {error}") from None
    if found.reply is not None:
        return found.reply
    fault = found.error or _Error("no outcome")
    return JudgeCallError(
        fault.message,
        retryable=fault.retryable,
        fatal=fault.fatal,
        timed_out=fault.timed_out,
        rate_limited=fault.rate_limited,
    )
