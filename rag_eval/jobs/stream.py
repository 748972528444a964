"""Passes the scored rows of files of any size to sinks, and counts them."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import closing
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, TypeVar

import numpy as np
import numpy.typing as npt

from rag_eval.calibration.applied import planned
from rag_eval.errors import InputChangedError, InputError
from rag_eval.inputs.blocks import KEPT_FAULTS, RowFault, SampleBlock
from rag_eval.inputs.byte_files import plain_name, source_name
from rag_eval.inputs.named_files import COLUMNS, DataSource
from rag_eval.inputs.opened import START, Input, Position
from rag_eval.inputs.samples import FieldNeeds, SampleError, no_samples
from rag_eval.inputs.schemas.maps import FieldMap
from rag_eval.jobs.file_reports import FileReport
from rag_eval.jobs.options import input_options
from rag_eval.options.declared import declared
from rag_eval.options.file_types import ReadOptions
from rag_eval.plumbing.checked_values import thread_count
from rag_eval.plumbing.clock import Clock
from rag_eval.plumbing.repeated_ids import RepeatedIds
from rag_eval.results.batch import BatchSummary, not_measured_text
from rag_eval.results.score_spool import ScoreSpool, lacked_texts_in, reasons_in
from rag_eval.results.summary import summary_of
from rag_eval.results.totals import ScoreBlocks, ScoreTotals
from rag_eval.samples import MetricId
from rag_eval.scoring.engine import ScoredBlock, score_blocks
from rag_eval.scoring.faulty_rows import add_ids, file_block_scorer, origin_of
from rag_eval.scoring.loop import OpenJudge, ScoringLoop, Sink
from rag_eval.scoring.lost_texts import LostTexts
from rag_eval.scoring.measurable import FoundLines, Measurability
from rag_eval.scoring.progress import progress_of
from rag_eval.scoring.scorer_columns import columns_of_scorers

if TYPE_CHECKING:
    from rag_eval.judge.failures import JudgeUnavailableError
    from rag_eval.results.judge_report import JudgeReport

_Report = TypeVar("_Report", bound=FileReport)

_LEAVE_OUT: Final = "add --skip-invalid to skip such rows (in Python: skip_invalid=True)"
_MAPPING: Final = "contexts must be a list of strings, got dict"
_NUMBER: Final = re.compile(r"must be a string, got (int|float)$")

# Faults that most rows have, so that skipping them is no way out.
_WHOLE_FILE: Final = ("not valid JSON", "must be a JSON object, got an array")


class RowStream:
    """The rows of files on their way into sinks; all options are checked when it is made.

    It is the last of the sinks itself, and counts what went into all of them.

    Parameters
    ----------
    data : str, Path or list of these
    metrics : iterable of str, optional
    options : mapping
        Normalized options of reading and of scoring.
    columns : sequence of str
        Columns of the data that are wanted beside our fields.
    optional_columns : sequence of str
        Columns that are read where they are there.
    spools : bool
        Keep the scores, so that they can be read again.

    Attributes
    ----------
    notes : list of str
        What a reader of the results should know; callers add theirs.
    n_skipped : int
        Rows that were left out.
    faults : list of RowFault
        The first ten of them.
    totals : ScoreTotals
        Statistics of the rows that are in the sinks.
    spool : ScoreSpool or None
        Their scores, to be read again.
    stopped : KeyboardInterrupt, JudgeUnavailableError or None
        What ended the run before the data came to its end.
    """

    def __init__(
        self,
        data: DataSource,
        metrics: Iterable[str] | None,
        options: Mapping[str, Any],
        *,
        columns: Sequence[str] = (),
        optional_columns: Sequence[str] = (),
        spools: bool = False,
    ) -> None:
        self._clock = Clock()
        self.evaluated_at = self._clock.now()
        self.plan, self.notes = planned(metrics, options)
        if not self.plan.metrics:
            raise InputError("metrics must name at least one metric")
        self._threads = thread_count(options.get("threads"))
        self._skips_invalid = bool(options.get("skip_invalid"))
        self._allows_changes = bool(options.get("allow_changed_input"))
        self._is_exact = declared(ReadOptions)["quantiles"].of(options) == "exact"
        self._progress = progress_of(options.get("on_progress"))
        self.reading = input_options(options)
        optional = [*columns_of_scorers(self.plan), *optional_columns]
        self.source = Input(data, self.reading, columns, optional)
        self.needs = FieldNeeds.of(self.plan.native_columns, self.plan.settings.profile)
        self._n_read = 0
        self._is_read = False
        self._ids = RepeatedIds()
        self.n_skipped = 0
        self.faults: list[RowFault] = []
        self.totals = ScoreTotals(self.plan)
        self._measured = Measurability(self.plan, metrics, options)
        self._found = FoundLines(self.source, self._measured, options.get("on_found"))
        self._lost_texts = LostTexts(self.source)
        self.spool = ScoreSpool(len(self.plan.columns)) if spools else None
        self.stopped: KeyboardInterrupt | JudgeUnavailableError | None = None
        self._judging: Callable[[], JudgeReport | None] = lambda: None

    # ------------------------------------------------------------------------------- the way

    def score(
        self,
        *sinks: Sink,
        prepare: Callable[[ScoredBlock, int], object] | None = None,
        start: Position = START,
        open_judge: OpenJudge | None = None,
        explains: Callable[[], bool] = lambda: False,
    ) -> None:
        """Score from a position on, to the end or until the run is stopped.

        Blocks have the details of their rows where ``explains``, asked for each, is true.
        A row is in all sinks or in none; see :class:`~rag_eval.scoring.loop.ScoringLoop`.

        Raises
        ------
        InputError
            With the changes of files that may be the reason.
        """
        loop = ScoringLoop(
            self.plan,
            self._native(start, explains),
            self._progress,
            share_done=self._share_done,
            n_rows=self.n_rows,
            is_whole=True,
        )
        self._judging = loop.judge_report
        try:
            loop.score(*sinks, self, prepare=prepare, open_judge=open_judge)
        except InputError as error:
            raise self.source.explained(error) from None
        self.stopped = loop.stopped

    def _native(
        self, start: Position, explains: Callable[[], bool]
    ) -> Generator[ScoredBlock, None, None]:
        blocks = self._read(start)
        score = file_block_scorer(
            self.plan, self.needs, skip_invalid=self._skips_invalid, explains=explains
        )
        # Without a core of its own, a thread that only reads and writes would slow the others down.
        has_core_left = self._threads == 1 or self._threads < thread_count(None)
        scored = score_blocks(
            blocks,
            score,
            self._threads,
            reads_apart=has_core_left,
            has_scorers=bool(self.plan.scorers),
        )
        # An earlier run has looked at the first rows of the file that it ended in.
        checked = set() if start == START else {source_name(self.source.paths[start.file])}
        with closing(blocks), closing(scored):
            try:
                for block in scored:
                    source = origin_of(block.rows).source
                    if source not in checked:
                        self._check_first(block, source)
                        if len(block.scores):
                            checked.add(source)
                    self._found.tell()
                    yield block
            except SampleError as error:
                for found in self.source.found:
                    if found.source not in checked and error.where.startswith(f"{found.source}, "):
                        self._measured.check_fields(found)
                raise SampleError(error.where, error.fault + _advice(error)) from None

    def _check_first(self, block: ScoredBlock, source: str) -> None:
        """Raise an InputError where the first rows of a file show that a field is not there."""
        for found in self.source.found:
            if found.source == source:
                if not len(block.scores) and origin_of(block.rows).faults:
                    self._measured.check_fields(found)
                self._measured.check_first(block.null_reasons, found)

    @property
    def _fields(self) -> list[FieldMap]:
        return [found.fields for found in self.source.found]

    def _read(self, start: Position) -> Generator[SampleBlock, None, None]:
        with closing(self.source.blocks(start)) as blocks:
            for block in blocks:
                self._n_read = Position.after(block).row
                block.absent = self._measured.absent(block, self.source.found)
                yield block
        self._is_read = True

    def _share_done(self, n_rows: int) -> float | None:
        """How much of the input this many scored rows are; None if unknown.

        Files are read ahead of what is scored and judged, small ones to their end before anything
        is: what share was read says how many rows there are, and not how many are done.
        """
        share = self.source.share_read
        # At the end of the last bytes there may be rows that were not cut out of them yet.
        if not share or not self._n_read or (share >= 1 and not self._is_read):
            return None
        return min(1.0, share * (n_rows + self.n_skipped) / self._n_read)

    # ----------------------------------------------------------------------------- the counts

    @property
    def n_rows(self) -> int:
        """Rows that are in all sinks."""
        return self.totals.n_rows

    @property
    def has_ids(self) -> bool:
        """Whether any row had an id."""
        return self._ids.has_any

    def add(self, scored: ScoredBlock, first_row: int) -> None:
        """Count a block that all sinks have received."""
        faults = origin_of(scored.rows).faults
        self.skip(faults, len(faults))
        add_ids(self._ids, scored.rows)
        lacked = scored.lacked_texts(self.plan.columns)
        self.totals.add(scored.scores, scored.null_reasons, lacked)
        self._measured.add(scored.null_reasons)
        self._lost_texts.add(scored, lacked)
        if self.spool is not None:
            self.spool.add(scored.scores)

    def take_up(self, scores: npt.NDArray[np.float64]) -> None:
        """Count rows that an earlier run has left in the sinks."""
        self.totals.add(scores, reasons_in(scores), lacked_texts_in(scores))

    def take_up_missing(self, columns: Sequence[int]) -> None:
        """Note the columns of a part of them that are null because all its rows lack a field."""
        self._measured.add_part(columns)

    def skip(self, faults: Sequence[RowFault], n_rows: int) -> None:
        """Count rows that are left out; ``faults`` may be only the first ones."""
        self.n_skipped += n_rows
        self.faults += faults[: KEPT_FAULTS - len(self.faults)]

    def close(self) -> None:
        """Release the stored scores."""
        if self.spool is not None:
            self.spool.close()

    def check_begun(self) -> None:
        """Raise what stopped the run before its first row, or that no row could be scored."""
        if self.n_rows:
            return
        if self.stopped is not None:
            raise self.stopped
        if not self.n_skipped:
            raise no_samples(self.source.name)
        raise InputError(
            f"{self.source.name} holds no valid samples: {self.n_skipped} invalid, the first in "
            f"{self.faults[0]}"
        )

    # -------------------------------------------------------------------------------- the end

    @cached_property
    def changes(self) -> list[str]:
        """What became of files since they were opened; looked at once, after the last row."""
        return self.source.changes()

    @property
    def is_sound(self) -> bool:
        """Whether the data did not change, or may change."""
        return self._allows_changes or not self.changes

    def judge_report(self) -> JudgeReport | None:
        """The report on judging; None without a judge."""
        return self._judging()

    def summary(self, notes: Iterable[str] = (), blocks: ScoreBlocks | None = None) -> BatchSummary:
        """Statistics of all rows; ``blocks`` gives their scores again, where there is no spool."""
        repeated, lost = self._ids.warning(), self._lost_texts.notes
        if blocks is None and self.spool is not None:
            blocks = self.spool.blocks
        return summary_of(
            self.plan,
            self.totals,
            blocks if self._is_exact else None,
            not_measured=self._not_measured(),
            left_out=self._measured.left_out(self._fields),
            evaluated_at=self.evaluated_at,
            duration_ms=self._clock.elapsed_ms,
            notes=[*self.notes, *self.changes, *filter(None, [repeated]), *lost, *notes],
            judging=self.judge_report(),
        )

    def _not_measured(self) -> dict[MetricId, str]:
        return self._measured.not_measured(self._fields)

    def report_fields(self) -> dict[str, Any]:
        """The fields of a :class:`FileReport`, without the result."""
        not_measured = not_measured_text(self._not_measured())
        is_lost = self.stopped is not None and not isinstance(self.stopped, KeyboardInterrupt)
        return {
            "source": self.source.name,
            "n_skipped": self.n_skipped,
            "faults": self.faults,
            "interrupted": self.stopped is not None,
            "unavailable": str(self.stopped) if is_lost else "",
            "changed_input": self.changes,
            "thresholds": self.plan.thresholds,
            "remarks": [*filter(None, [not_measured]), *self.source.remarks],
            "fields": self.source.found,
            "unmeasured": [] if self.stopped is not None else self._measured.wrong(self._fields),
        }

    def checked(self, report: _Report) -> _Report:
        """The report, or an InputChangedError or NotMeasuredError that has it."""
        if report.interrupted:
            return report
        if not self.is_sound:
            raise InputChangedError(report.changed_input, report)
        self._measured.check_end(self.source.name, self._fields, report)
        return report


def _advice(error: SampleError) -> str:
    """What to do about a row that cannot be scored; empty where its fault says so."""
    if error.fault.startswith(_WHOLE_FILE) and ". " in error.fault:
        return ""
    if error.fault == _MAPPING:
        return f'. Write its texts as a list, such as ["text 1", "text 2"], or {_LEAVE_OUT}'
    if not _NUMBER.search(error.fault):
        return f". {_LEAVE_OUT[0].upper()}{_LEAVE_OUT[1:]}"
    if plain_name(error.where.rpartition(", ")[0]).endswith(COLUMNS):
        return ". Convert the column to strings"  # it is a number in each row
    return f'. Put numbers in quotes, such as "42", or {_LEAVE_OUT}'
