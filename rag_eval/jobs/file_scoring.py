"""score_file: samples of any number in, a file with a row of scores for each out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Final, Literal, Unpack, get_type_hints

from rag_eval._version import __version__
from rag_eval.calibration.applied import planned
from rag_eval.errors import InputChangedError, InputError
from rag_eval.inputs.blocks import RowFault, SampleError
from rag_eval.inputs.opened import DataSource, Input, Position
from rag_eval.jobs.options import (
    JudgedScoringOptions,
    ReadOptions,
    check_target,
    checked_quantiles,
    input_options,
)
from rag_eval.jobs.stream import KEPT_FAULTS, RowStream
from rag_eval.judge.failures import JudgeUnavailableError
from rag_eval.options.plan import Plan, normalized
from rag_eval.options.signature import signature_of
from rag_eval.outputs.columns import ScoreColumns
from rag_eval.outputs.formats import RowFormat, format_of
from rag_eval.outputs.parts import PartedFile, kept_text
from rag_eval.outputs.text_rows import CsvFormat, JsonLinesFormat
from rag_eval.plumbing.checked_values import thread_count, whole_from_one
from rag_eval.plumbing.clock import Clock
from rag_eval.plumbing.descriptors import STANDARD_STREAM
from rag_eval.plumbing.interrupts import deferred_interrupts
from rag_eval.results.batch import BatchSummary
from rag_eval.results.summary import summary_of
from rag_eval.results.totals import ScoreBlocks, ScoreSpool
from rag_eval.samples import MetricId
from rag_eval.scoring.engine import ScoredBlock
from rag_eval.scoring.faulty_rows import origin_of
from rag_eval.scoring.progress import Progress
from rag_eval.scoring.scorer_columns import columns_of_scorers


class ScoreFileOptions(ReadOptions, JudgedScoringOptions, total=False):
    """Options of :func:`score_file`, besides those of reading and of scoring.

    Attributes
    ----------
    columns : sequence of str
        Columns of the input, or of its rows' metadata, to copy into the output.
    prefix : str
        Comes before the names of the columns of scores.
    resume : bool
        Go on with what an interrupted run has kept; begin where there is nothing.
    restart : bool
        Leave behind what an interrupted run has kept.
    checkpoint_rows : int
        Make sure after so many rows that they survive a crash; besides every 10 s and 64 MiB.
    """

    columns: Sequence[str] | None
    prefix: str | None
    resume: bool | None
    restart: bool | None
    checkpoint_rows: int | None


SCORE_KEYS: Final = frozenset(get_type_hints(ScoreFileOptions))
# Of runs that can be gone on with, which takes a file.
_KEPT_KEYS: Final = frozenset({"resume", "restart", "checkpoint_rows"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreFileReport:
    """What became of a file.

    Attributes
    ----------
    source : str
        The data, as messages call it.
    target : Path
        The file of scores.
    result : BatchSummary
        Statistics of all rows, those of an earlier run that was taken up among them.
    n_resumed : int
        Rows that were there from an earlier run.
    n_skipped : int
        Rows left out as invalid; no denominator counts them.
    faults : list of RowFault
        The first ten of them.
    interrupted : bool
        Ctrl-C came, or the judge could not be asked any more; what was scored is kept in ``kept``
        and can be gone on with.
    unavailable : str
        Why the judge could not be asked any more; empty where it could.
    changed_input : list of str
        What became of files since they were opened, a sentence each; empty where nothing did.
    kept : Path or None
    thresholds : mapping of float or None
        Per metric; None for those that neither pass nor fail.
    """

    source: str
    target: Path
    result: BatchSummary
    n_resumed: int
    n_skipped: int
    faults: list[RowFault]
    interrupted: bool = False
    unavailable: str = ""
    changed_input: list[str] = field(default_factory=list)
    kept: Path | None = None
    thresholds: Mapping[MetricId, float | None] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """As JSON values, in the schema of result files; it can serve as a baseline."""
        value = {
            "source": self.source,
            "nRows": self.result.n_rows,
            "nSkipped": self.n_skipped,
            **self.result.summary_dict(),
        }
        if self.interrupted:
            value["interrupted"] = True
        if self.changed_input:
            value["inputChanged"] = True
        return value


def score_file(
    source: DataSource,
    target: str | Path,
    metrics: Iterable[str] | None = None,
    **options: Unpack[ScoreFileOptions],
) -> ScoreFileReport:
    """Score files of any size and write a row of scores for each sample.

    Memory does not grow with the number of rows. What is written lies in parts beside the target
    until all of it is there, so that a run that was cut short can be gone on with; the bytes of the
    target are then those of a run that was not.

    Parameters
    ----------
    source : str, Path or list of these
        JSON lines, a JSON array, CSV, Parquet or Arrow, by the suffix; text also with ``.gz`` or
        ``.zst``. A pattern such as ``runs/*.jsonl`` stands for all such files, sorted by name, and
        ``-`` for JSON lines from standard input.
    target : str or Path
        ``.jsonl``, ``.csv``, ``.parquet`` or ``.arrow``; text also with ``.gz`` or ``.zst``. Per
        row its id (or its number, from 0), ``columns``, per metric the score and why it is null,
        the composite score, and whether the row passed.
    metrics : iterable of str, optional
        Metric ids; all seven by default.
    **options : ScoreFileOptions
        See there.

    Returns
    -------
    ScoreFileReport
        After Ctrl-C one of the rows scored so far, which are kept.

    Raises
    ------
    InputError
        For bad input, naming file, row, field, what was found and what was wanted; for parts of
        another run beside the target; for parts to go on with that were made from other data, by
        other options or by another version, naming the difference.
    InputChangedError
        When a file changed between its opening and the end of the run. The target is complete and
        written then, as Parquet and Arrow with ``rag_eval.input_changed`` in the metadata of its
        schema; ``report`` has what would have been returned, and would be with
        ``allow_changed_input``.
    OutputError
        When the disk is full or cannot be written; what is kept can be gone on with.
    KeyboardInterrupt
        When Ctrl-C came before the first row was kept, or once more after it came.
    """
    job = _Job(source, metrics, normalized(options, "score_file", SCORE_KEYS))
    path = Path(target)
    check_target(path, job.source.paths)
    form = format_of(path, job.columns, job.signature)
    return job.checked(_FileRun(job, path, form).run())


class _Job:
    """What is to be scored and how."""

    def __init__(
        self, source: DataSource, metrics: Iterable[str] | None, options: Mapping[str, Any]
    ) -> None:
        self.clock = Clock()
        self.evaluated_at = self.clock.now()
        self.options = options
        self.plan: Plan
        self.plan, self.notes = planned(metrics, options)
        if not self.plan.metrics:
            raise InputError("metrics must name at least one metric")
        self.threads = thread_count(options.get("threads"))
        columns = options.get("columns") or ()
        if isinstance(columns, str):
            raise InputError(f"columns must be a list of names, got {columns!r}")
        extra = tuple(columns)
        self.reading = input_options(options)
        self.source = Input(source, self.reading, extra, columns_of_scorers(self.plan))
        self.columns = ScoreColumns.of(self.plan, extra, options.get("prefix") or "")
        self.quantiles = checked_quantiles(options)
        self.signature = signature_of(self.plan)

    def stream(self) -> RowStream:
        """The rows."""
        return RowStream(
            self.source,
            self.plan,
            threads=self.threads,
            skip_invalid=bool(self.options.get("skip_invalid")),
        )

    def made_of(self, target: Path) -> dict[str, Any]:
        """All that the bytes of the output depend on."""
        readable = self.source.can_be_read_again
        plan = self.plan
        return {
            "version": __version__,
            "signature": self.signature.to_dict(),
            "input": self.source.identity() if readable else "a pipe",
            "output": target.name,
            "options": {
                "metrics": list(plan.metrics),
                "thresholds": dict(plan.thresholds),
                "weights": dict(plan.weights),
                "compositeThreshold": plan.composite_threshold,
                "calibrations": {
                    name: found.to_dict() for name, found in plan.calibrations.items()
                },
                "columns": list(self.columns.extra),
                "prefix": self.columns.prefix,
                **self.reading.to_dict(),
            },
        }

    def checked(self, report: ScoreFileReport) -> ScoreFileReport:
        """The report, or an InputChangedError that has it."""
        allowed = report.interrupted or self.options.get("allow_changed_input")
        if report.changed_input and not allowed:
            raise InputChangedError(report.changed_input, report)
        return report

    def summary(
        self, stream: RowStream, blocks: ScoreBlocks, notes: Sequence[str] = ()
    ) -> BatchSummary:
        """Statistics of all rows."""
        return summary_of(
            self.plan,
            stream.totals,
            None if self.quantiles == "sketch" else blocks,
            evaluated_at=self.evaluated_at,
            duration_ms=self.clock.elapsed_ms,
            notes=[*self.notes, *notes, *stream.notes()],
            judging=stream.judge_report(),
        )


class _FileRun:
    """The way of a job into a file."""

    def __init__(self, job: _Job, target: Path, form: RowFormat) -> None:
        self._job = job
        self._target = target
        self._form = form
        self._stream = job.stream()
        made_of = job.made_of(target)
        self._parts = PartedFile(target, form, made_of, len(job.plan.columns))
        rows = job.options.get("checkpoint_rows")
        self._checkpoint_rows = None if rows is None else whole_from_one(rows, "checkpoint_rows")
        self._n_resumed = 0

    def run(self) -> ScoreFileReport:
        """Score to the end, or until Ctrl-C."""
        options = self._job.options
        if options.get("resume") and not self._job.source.can_be_read_again:
            name = self._job.source.name
            raise InputError(f"{name} cannot be read again: resume needs files")
        if options.get("resume") and options.get("restart"):
            raise InputError("resume and restart exclude each other")
        parts = self._parts
        try:
            parts.begin(resume=bool(options.get("resume")), restart=bool(options.get("restart")))
            self._take_up()
            return self._score_all()
        except BaseException as error:
            with deferred_interrupts():
                parts.give_up()
                # In here: another interrupt takes this one's place, and leads to its message.
                if isinstance(error, KeyboardInterrupt) and (kept := kept_text(self._target)):
                    raise KeyboardInterrupt(kept) from None
            raise
        finally:
            parts.release()

    def _score_all(self) -> ScoreFileReport:
        report = None
        try:
            self._score_or_tell_what_is_kept()
            self._stream.check_not_empty()
            with deferred_interrupts():
                self._parts.close_part()
            report = self._report()
            self._form.input_changes = report.changed_input
            self._parts.complete()
        except KeyboardInterrupt:
            if report is not None and self._parts.is_complete:
                return report
            with deferred_interrupts():
                self._parts.close_part()
            if not self._parts.parts:
                raise
            return self._report(interrupted=True)
        except JudgeUnavailableError as error:
            with deferred_interrupts():
                self._parts.close_part()
            if not self._parts.parts:
                raise
            return self._report(interrupted=True, unavailable=str(error))
        return report

    def _score_or_tell_what_is_kept(self) -> None:
        try:
            self._score()
        except InputError as error:
            if not self._parts.parts:
                raise
            # What is wrong with a file as a whole is not passed over.
            flags = "--resume --skip-invalid" if isinstance(error, SampleError) else "--resume"
            raise InputError(
                f"{error}; the first {self._parts.n_kept:,} rows are kept in "
                f"{self._parts.folder}: go on with {flags}, or begin anew with --restart"
            ) from None

    def _take_up(self) -> None:
        """Count what is there already."""
        stream = self._stream
        for part in self._parts.parts:
            stream.n_skipped += part.skipped
            room = KEPT_FAULTS - len(stream.faults)
            stream.faults += [RowFault(*fault) for fault in part.faults[:room]]
        if stream.n_skipped and not self._job.options.get("skip_invalid"):
            raise InputError(
                f"{stream.n_skipped:,} invalid rows were skipped so far: go on with --skip-invalid"
            )
        for scores in self._parts.score_blocks():
            stream.totals.add(scores)
            stream.n_rows += len(scores)
        self._n_resumed = stream.n_rows

    def _score(self) -> None:
        progress = Progress(self._job.options.get("on_progress"), None)
        blocks = self._stream.scored_blocks(self._parts.position, progress.reached)
        progress.reached(self._n_resumed)
        with closing(blocks), progress:
            for scored in blocks:
                # Here, while other blocks are scored: what encodes holds the interpreter anyway.
                rows = self._form.encode(scored)
                with deferred_interrupts():
                    self._add(scored, rows)
                done = self._stream.n_rows
                progress.reached(done, self._stream.share_done(done))

    def _add(self, scored: ScoredBlock, rows: bytes) -> None:
        faults = [
            [fault.number, fault.name, fault.fault] for fault in origin_of(scored.rows).faults
        ]
        position = Position.after(scored.rows)
        self._parts.add(rows, scored.scores, position, faults)
        self._stream.count(scored)
        due = self._checkpoint_rows
        if self._parts.part_is_due or (due is not None and self._parts.n_waiting >= due):
            self._parts.close_part()

    def _report(self, *, interrupted: bool = False, unavailable: str = "") -> ScoreFileReport:
        changes = self._job.source.changes()
        # Rows of an earlier run may have had what those of this one lack.
        notes = [*changes, *([] if self._n_resumed else self._job.columns.notes())]
        if self._n_resumed:
            notes.append(
                f"{self._n_resumed:,} rows were there from an earlier run; their ids were not "
                "compared with those of later rows"
            )
        return ScoreFileReport(
            source=self._job.source.name,
            target=self._target,
            result=self._job.summary(self._stream, self._parts.score_blocks, notes),
            n_resumed=self._n_resumed,
            n_skipped=self._stream.n_skipped,
            faults=self._stream.faults,
            interrupted=interrupted,
            unavailable=unavailable,
            changed_input=changes,
            kept=self._parts.folder if interrupted else None,
            thresholds=self._job.plan.thresholds,
        )


def score_to_stream(
    source: DataSource,
    file: IO[bytes],
    metrics: Iterable[str] | None = None,
    *,
    form: Literal["jsonl", "csv"] = "jsonl",
    **options: Unpack[ScoreFileOptions],
) -> ScoreFileReport:
    """As :func:`score_file`, with the rows going to an open file as they come, such as a pipe.

    Nothing is kept of a run that is cut short. Medians need scores again: they wait in memory, and
    past some hundred thousand rows in an unnamed temporary file.
    """
    known = SCORE_KEYS - _KEPT_KEYS
    job = _Job(source, metrics, normalized(options, "score_to_stream", known))
    rows = CsvFormat(job.columns) if form == "csv" else JsonLinesFormat(job.columns)
    stream = job.stream()
    spool = ScoreSpool(len(job.plan.columns))
    interrupted, unavailable = False, ""
    try:
        with (
            Progress(options.get("on_progress"), None) as progress,
            closing(stream.scored_blocks(on_rows=progress.reached)) as blocks,
        ):
            if isinstance(rows, CsvFormat):
                file.write(rows.header)
            for scored in blocks:
                encoded = rows.encode(scored)
                with deferred_interrupts():
                    file.write(encoded)
                    spool.add(scored.scores)
                    stream.count(scored)
                progress.reached(stream.n_rows, stream.share_done(stream.n_rows))
    except KeyboardInterrupt:
        if not stream.n_rows:
            raise
        interrupted = True
    except JudgeUnavailableError as error:
        if not stream.n_rows:
            raise
        interrupted, unavailable = True, str(error)
    stream.check_not_empty()
    changes = job.source.changes()
    result = job.summary(stream, spool.blocks, [*changes, *job.columns.notes()])
    spool.close()
    report = ScoreFileReport(
        source=job.source.name,
        target=Path(STANDARD_STREAM),
        result=result,
        n_resumed=0,
        n_skipped=stream.n_skipped,
        faults=stream.faults,
        interrupted=interrupted,
        unavailable=unavailable,
        changed_input=changes,
        thresholds=job.plan.thresholds,
    )
    return job.checked(report)
