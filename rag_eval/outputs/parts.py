"""A file of rows in the making: parts beside its place, and a journal of those that are whole.

    scores.jsonl.parts/journal        what is made from what, then one record per part
    scores.jsonl.parts/000000.rows    rows, in the form of the file
    scores.jsonl.parts/000000.scores  their scores again, as plain doubles, for the statistics

A part is written under another name, brought to disk and renamed; its record comes last. So the
journal never speaks of a part that is not there, and what it does not speak of is made again. Only
the last part is not brought to disk, unless the file cannot be made from it at once: what a power
cut leaves of it has another checksum, and it is made again. Who holds the journal's lock, which
ends with its process, alone reads and writes the folder.
"""

from __future__ import annotations

import errno
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

import msgspec
import numpy as np
import numpy.typing as npt

from rag_eval.errors import InputError, RagEvalError
from rag_eval.inputs.blocks import KEPT_FAULTS, RowFault
from rag_eval.inputs.opened import START, Position
from rag_eval.outputs.formats import RowFormat
from rag_eval.outputs.journal import Journal, JournalInUseError, Recorded, read_journal
from rag_eval.outputs.part_files import PartFile, bring_to_disk, holds
from rag_eval.outputs.setting_changes import setting_changes
from rag_eval.plumbing.durable_files import atomic_file
from rag_eval.plumbing.interrupts import deferred_interrupts
from rag_eval.plumbing.own_folder import OwnFile, OwnFolder
from rag_eval.results.score_spool import read_scores, with_reasons
from rag_eval.samples import MetricId, NullReason
from rag_eval.scoring.engine import ScoredBlock
from rag_eval.scoring.faulty_rows import origin_of

# A part is closed when it has so many bytes, or is so old: what a crash may cost.
PART_BYTES: Final = 64 << 20
PART_SECONDS: Final = 10.0
_MOST_TOLD: Final = 6
_JOURNAL: Final = "journal"
_MOST_TRIES: Final = 10
_NO_ROOM: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_OWN_NAME: Final = re.compile(r"journal|assembled|\d+\.(?:rows|scores)(?:\.tmp)?")


class OutputError(RagEvalError):
    """The output could not be written; the message says what is kept."""


class Part(msgspec.Struct, frozen=True, rename="camel"):
    """A part as the journal has it."""

    part: int
    rows: int
    skipped: int
    faults: list[RowFault]
    position: Position
    row_bytes: int
    row_digest: int
    score_bytes: int
    score_digest: int
    missing: list[int] = []  # the columns that are null in every row because a field is missing


class PartedFile:
    """A file of rows that is written in parts: a sink for scored blocks.

    Parameters
    ----------
    target : Path
        Where the file goes when all rows are there.
    form : RowFormat
    made_of : mapping
        What the rows depend on; a run goes on only where all of it is the same.
    metrics : tuple of MetricId
        A score of each per row.
    checkpoint_rows : int, optional
        Rows after which a part is closed, large and old enough or not.

    Attributes
    ----------
    input_changes : sequence of str
        What became of the input since it was opened; noted where the kind of file has a place.
    parts : list of Part
        Those that are whole and in the journal.
    is_complete : bool
        The file is in its place, and the parts are gone.
    """

    def __init__(
        self,
        target: Path,
        form: RowFormat,
        made_of: Mapping[str, Any],
        metrics: tuple[MetricId, ...],
        checkpoint_rows: int | None = None,
    ) -> None:
        self.target = target
        self.folder = _folder_of(target)
        self._form = form
        self._made_of = dict(made_of)
        self._metrics = metrics
        self._checkpoint_rows = checkpoint_rows
        self.input_changes: Sequence[str] = ()
        self.parts: list[Part] = []
        self.is_complete = False
        self._own_folder: OwnFolder | None = None
        self._journal: Journal | None = None
        self._is_begun = False  # the parts of an earlier run are known
        self._rows: PartFile | None = None
        self._scores: PartFile | None = None
        self._opened_at = 0.0
        self._n_rows = self._n_skipped = 0
        self._faults: list[RowFault] = []
        self._missing = np.ones(len(metrics), np.bool_)
        self._position = START
        self._encoded = b""
        self._last_waits = False  # the last part is closed, and not on disk

    # ------------------------------------------------------------------------------- begin

    def begin(self, *, resume: bool, restart: bool) -> None:
        """Continue what is there, or start over.

        Raises
        ------
        InputError
            When another process is at it; when parts of another run are there and neither is asked
            for, or when those to go on from were made from something else; when something that is
            not ours has the name of the folder, or is in it.
        """
        with self._writing():
            self._hold()
            recorded = read_journal(self._file(_JOURNAL))
            if not recorded.records or restart:
                self._begin_anew()
                return
            if not resume:
                raise InputError(
                    f"{self.folder} holds an unfinished run ({_rows_text(recorded.records)}); "
                    "continue it with --resume, or discard it with --restart"
                )
            self._check_same(recorded.records[0])
            self._take_up(recorded)

    def _hold(self) -> None:
        """Lock the folder; repeat if another run removed it meanwhile."""
        for _ in range(_MOST_TRIES):
            if self._is_held():
                return
            self.release()
        raise self._in_use()

    def _is_held(self) -> bool:
        self._own_folder = OwnFolder(self.folder)
        self._own_folder.take(_OWN_NAME)
        try:
            self._journal = Journal(self._file(_JOURNAL))
        except JournalInUseError:
            raise self._in_use() from None
        except FileNotFoundError:
            if self._own_folder.is_in_place:
                raise
            return False
        return self._journal.is_in_place and self._own_folder.is_in_place

    def _in_use(self) -> InputError:
        return InputError(
            f"{self.folder} is in use by another process, which is writing {self.target.name}: "
            "wait until it has ended, or choose another DST"
        )

    def _begin_anew(self) -> None:
        assert self._journal is not None
        self._is_begun = True
        self._journal.cut(0)
        self._remove_parts()
        # It comes to disk with the first part that does.
        self._journal.append(self._made_of, is_durable=False)

    @property
    def _folder(self) -> OwnFolder:
        assert self._own_folder is not None
        return self._own_folder

    def _file(self, name: str) -> OwnFile:
        return self._folder.file(name)

    def _check_same(self, recorded: Mapping[str, Any]) -> None:
        differences = list(setting_changes(recorded, self._made_of))
        if differences:
            told = "; ".join(differences[:_MOST_TOLD])
            more = len(differences) - _MOST_TOLD
            raise InputError(
                f"{self.folder} was started from other data or settings: {told}"
                f"{f'; and {more} more' if more > 0 else ''}. To continue, use the earlier ones; "
                "to start over: --restart"
            )

    def _take_up(self, recorded: Recorded) -> None:
        assert self._journal is not None
        for record in recorded.records[1:]:
            part = msgspec.convert(record, Part)
            if part.part != len(self.parts) or not self._is_whole(part):
                break
            self.parts.append(part)
        # A damaged part and all parts after it are written again.
        self._journal.cut(recorded.ends[len(self.parts)])
        self._is_begun = True
        if self.parts:
            self._position = Position(*self.parts[-1].position)

    def _is_whole(self, part: Part) -> bool:
        files = [
            (self._rows_file(part.part), part.row_bytes, part.row_digest),
            (self._scores_file(part.part), part.score_bytes, part.score_digest),
        ]
        return all(holds(file, n_bytes, digest) for file, n_bytes, digest in files)

    def _remove_parts(self) -> None:
        for name in self._folder.names():
            if name != _JOURNAL:
                self._file(name).unlink()

    # ------------------------------------------------------------------------------ writing

    @property
    def position(self) -> Position:
        """Up to where the input has been read and written."""
        return self._position

    @property
    def n_kept(self) -> int:
        """Rows in parts that are whole."""
        return sum(part.rows for part in self.parts)

    def prepare(self, scored: ScoredBlock, first_row: int) -> None:
        """Encode the rows of a block, for as long as other blocks are scored."""
        self._encoded = self._form.encode(scored)

    def add(self, scored: ScoredBlock, first_row: int) -> None:
        """Append the rows of the block that was encoded last; the part is closed when it is due."""
        with self._writing():
            if self._rows is None or self._scores is None:
                number = len(self.parts)
                self._rows = PartFile(self._folder, _rows_name(number))
                self._scores = PartFile(self._folder, _scores_name(number))
                self._opened_at = time.monotonic()
            self._rows.write(self._encoded)
            scores = np.ascontiguousarray(scored.scores)
            lacked = scored.lacked_texts(self._metrics)
            self._scores.write(with_reasons(scores, scored.null_reasons, lacked).tobytes())
        faults = origin_of(scored.rows).faults
        self._n_rows += len(scored.scores)
        self._missing &= (scored.null_reasons == NullReason.MISSING_FIELD).all(axis=0)
        self._n_skipped += len(faults)
        self._faults += faults[: KEPT_FAULTS - len(self._faults)]
        self._position = Position.after(scored.rows)
        due = self._checkpoint_rows
        if (
            self._rows.n_bytes >= PART_BYTES
            or time.monotonic() - self._opened_at >= PART_SECONDS
            or (due is not None and self._n_rows >= due)
        ):
            self.close_part()

    def close_part(self, *, is_last: bool = False) -> None:
        """Make all rows so far survive a crash; a power cut may still lose the last part."""
        if self._rows is None or self._scores is None:
            return
        assert self._journal is not None
        with self._writing():
            row_bytes, score_bytes = self._rows.n_bytes, self._scores.n_bytes
            part = Part(
                part=len(self.parts),
                rows=self._n_rows,
                skipped=self._n_skipped,
                faults=self._faults,
                position=self._position,
                row_bytes=row_bytes,
                row_digest=self._rows.close(is_durable=not is_last),
                score_bytes=score_bytes,
                score_digest=self._scores.close(is_durable=not is_last),
                missing=np.flatnonzero(self._missing).tolist(),
            )
            if not is_last:
                self._folder.sync()
            self._journal.append(msgspec.to_builtins(part), is_durable=not is_last)
        self._last_waits = is_last
        self.parts.append(part)
        self._rows = self._scores = None
        self._n_rows = self._n_skipped = 0
        self._faults = []
        self._missing[:] = True

    # ---------------------------------------------------------------------------------- end

    def score_blocks(self) -> Iterator[npt.NDArray[np.float64]]:
        """The scores of all parts again."""
        for part in self.parts:
            with self._scores_file(part.part).open("rb") as file:
                yield from read_scores(file, len(self._metrics))

    def complete(self) -> None:
        """Join the parts into the file and remove them.

        A run that ends before all of that is done puts the same file together again.
        """
        assert self._journal is not None
        with self._writing():
            with atomic_file(self.target, temporary=self._file("assembled")) as file:
                parts = [self._rows_file(part.part) for part in self.parts]
                self._form.assemble(parts, file, self.input_changes)
            with deferred_interrupts():
                self.clean_up()
                self.is_complete = True

    def clean_up(self) -> None:
        """Empty the journal first, which makes the parts invalid, then remove all files."""
        assert self._journal is not None
        self._last_waits = False
        self._journal.cut(0)
        self._remove_parts()
        # Last: from now on another run may have the folder.
        self._file(_JOURNAL).unlink()
        self._folder.remove()
        self.release()

    def give_up(self) -> None:
        """Discard the part that is being written, and all files if no part is kept."""
        for file in (self._rows, self._scores):
            if file is not None:
                file.drop()
        self._rows = self._scores = None
        if self._is_begun and not self.parts:
            with suppress(OSError):
                self.clean_up()

    def release(self) -> None:
        """Release the journal and the folder, all parts on disk."""
        if self._last_waits:
            self._sync_last_part()
        if self._journal is not None:
            self._journal.close()
            self._journal = None
        if self._own_folder is not None:
            self._own_folder.close()
            self._own_folder = None

    def _sync_last_part(self) -> None:
        """Bring the last part to disk, since no file was made from it."""
        assert self._journal is not None
        number = len(self.parts) - 1
        with suppress(OSError):
            for part_file in (self._rows_file(number), self._scores_file(number)):
                bring_to_disk(part_file)
            self._folder.sync()
            self._journal.sync()
        self._last_waits = False

    def _rows_file(self, number: int) -> OwnFile:
        return self._file(_rows_name(number))

    def _scores_file(self, number: int) -> OwnFile:
        return self._file(_scores_name(number))

    @contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            what = f"cannot write {error.filename or self.folder}: {error.strerror or error}"
            if not self.parts:
                raise OutputError(what) from None
            advice = "free some space and continue" if error.errno in _NO_ROOM else "continue"
            raise OutputError(
                f"{what}; the first {self.n_kept:,} rows are kept in {self.folder}: {advice} with "
                "--resume"
            ) from None


def kept_text(target: Path) -> str:
    """Where the rows of an unfinished run are and how to continue; empty without rows."""
    folder = _folder_of(target)
    if not (folder / _JOURNAL).exists():
        return ""
    return f"what was scored is kept in {folder}: continue with --resume"


def _folder_of(target: Path) -> Path:
    return target.with_name(f"{target.name}.parts")


def _rows_name(number: int) -> str:
    return f"{number:06}.rows"


def _scores_name(number: int) -> str:
    return f"{number:06}.scores"


def _rows_text(records: list[dict[str, Any]]) -> str:
    n_rows = sum(record.get("rows", 0) for record in records[1:])
    return f"{n_rows:,} rows"
