"""Samples in; a file with a row of scores for each out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import IO, Any, Final, Literal, Unpack

from rag_eval._version import __version__
from rag_eval.errors import CustomMetricError, InputError
from rag_eval.inputs.named_files import DataSource
from rag_eval.inputs.samples import SampleError
from rag_eval.jobs.file_reports import ScoreFileReport
from rag_eval.jobs.options import batched, check_folder, check_target
from rag_eval.jobs.stream import RowStream
from rag_eval.options.declared import declared, normalized
from rag_eval.options.file_types import ScoreFileOptions, StreamOptions
from rag_eval.options.signature import signature_of
from rag_eval.outputs.columns import ScoreColumns
from rag_eval.outputs.formats import format_of
from rag_eval.outputs.parts import PartedFile, kept_text
from rag_eval.outputs.text_rows import CsvFormat, JsonLinesFormat
from rag_eval.plumbing.descriptors import STANDARD_STREAM
from rag_eval.plumbing.interrupts import deferred_interrupts
from rag_eval.plumbing.spelling import counted
from rag_eval.scoring.engine import ScoredBlock

_OPTIONS: Final = declared(ScoreFileOptions)


def score_file(
    source: DataSource,
    target: str | Path,
    metrics: Iterable[str] | None = None,
    **options: Unpack[ScoreFileOptions],
) -> ScoreFileReport:
    """Score files of any size and write a row of scores for each sample.

    Memory levels off, however many rows there are: below 200 MB for text files of rows of 1 KB, and
    below 450 MB for Parquet. Rows are written to parts beside the target until
    the run is complete, so that an interrupted run can be resumed; the target is then identical
    byte for byte to that of an uninterrupted run.

    Parameters
    ----------
    source : str, Path or list of these
        JSON lines, a JSON array, CSV, Parquet or Arrow, by suffix; text files may end in ``.gz`` or
        ``.zst``. A pattern such as ``runs/*.jsonl`` stands for all matching files, sorted by name,
        and ``-`` for JSON lines from standard input.
    target : str or Path
        ``.jsonl``, ``.csv``, ``.parquet`` or ``.arrow``; text files may end in ``.gz`` or ``.zst``.
        Each row has the id (or its number, from 0), ``columns``, for each metric the score and the
        reason of a null, the composite score, and whether the row passed.
    metrics : iterable of str, optional
        Metric ids. Default: all seven.
    **options : ScoreFileOptions
        See there.

    Returns
    -------
    ScoreFileReport
        After Ctrl-C the report of the rows scored so far, which are kept.

    Raises
    ------
    InputError
        For bad input, with file, row, field and the value found; for parts of another run beside
        the target; for parts to resume that come from other data, options or versions, with the
        difference.
    InputChangedError
        When a file changed between its opening and the end of the run. The target is complete and
        written; Parquet and Arrow have ``rag_eval.input_changed`` in the metadata of the schema.
        ``report`` has the report; with ``allow_changed_input`` it is returned instead.
    OutputError
        When the disk is full or cannot be written; the kept rows can be resumed.
    JudgePendingError
        With ``judge_batch``, until all replies of the judge are there.
    KeyboardInterrupt
        On Ctrl-C before the first row was kept, or on a second Ctrl-C.
    """
    given = normalized(options, "score_file", ScoreFileOptions)
    path = Path(target)

    def run_of(options: Mapping[str, Any]) -> tuple[RowStream, _FileRun]:
        stream, columns = _opened(source, metrics, options)
        check_target(path, stream.source.paths)
        check_folder(path)
        return stream, _FileRun(stream, columns, path, options)

    with batched(source, metrics, given, lambda: run_of(given)) as known:
        stream, run = run_of(known)
        return stream.checked(run.run())


def _opened(
    source: DataSource,
    metrics: Iterable[str] | None,
    options: Mapping[str, Any],
    *,
    spools: bool = False,
) -> tuple[RowStream, ScoreColumns]:
    """The stream of rows and the columns of their scores."""
    extra = options.get("columns") or ()
    stream = RowStream(source, metrics, options, columns=extra, spools=spools)
    prefix = options.get("prefix") or ""
    if not options.get("digests"):
        return stream, ScoreColumns.of(stream.plan, extra, prefix)
    # Imported only if wanted: it imports the hash of datasets.
    from rag_eval.runs.dataset_hash import block_digests

    return stream, ScoreColumns.of(stream.plan, extra, prefix, block_digests)


class _FileRun:
    """The state of one job: rows on their way into the parts of a file."""

    def __init__(
        self, stream: RowStream, columns: ScoreColumns, target: Path, options: Mapping[str, Any]
    ) -> None:
        self._stream = stream
        self._columns = columns
        self._target = target
        self._options = options
        signature = signature_of(stream.plan)
        form = format_of(target, columns, signature)
        made_of = {"version": __version__, "signature": signature.to_dict(), **self._made_of()}
        self._parts = PartedFile(
            target,
            form,
            made_of,
            stream.plan.columns,
            _OPTIONS["checkpoint_rows"].of(options),
        )
        self._n_resumed = 0

    def _made_of(self) -> dict[str, Any]:
        """Everything that determines the output, besides version and signature."""
        source, plan = self._stream.source, self._stream.plan
        return {
            "input": source.identity() if source.can_be_read_again else "a pipe",
            "output": self._target.name,
            "options": {
                "metrics": list(plan.metrics),
                "thresholds": dict(plan.thresholds),
                "weights": dict(plan.weights),
                "compositeThreshold": plan.composite_threshold,
                "calibrations": {
                    name: found.to_dict() for name, found in plan.calibrations.items()
                },
                "columns": list(self._columns.extra),
                **({} if self._columns.digests is None else {"digests": True}),
                "prefix": self._columns.prefix,
                **self._stream.reading.to_dict(),
            },
        }

    def run(self) -> ScoreFileReport:
        """Score to the end or until Ctrl-C."""
        resume, restart = (bool(self._options.get(name)) for name in ("resume", "restart"))
        if resume and not self._stream.source.can_be_read_again:
            raise InputError(f"{self._stream.source.name} cannot be read again: resume needs files")
        if resume and restart:
            raise InputError("resume and restart exclude each other")
        parts = self._parts
        try:
            parts.begin(resume=resume, restart=restart)
            self._take_up()
            return self._score_all()
        except BaseException as error:
            with deferred_interrupts():
                parts.give_up()
                # Here, because a second interrupt replaces the first and gets its message.
                if isinstance(error, KeyboardInterrupt) and (kept := kept_text(self._target)):
                    raise KeyboardInterrupt(kept) from None
            raise
        finally:
            parts.release()

    def _take_up(self) -> None:
        """Count the rows of a resumed run."""
        stream = self._stream
        for part in self._parts.parts:
            stream.skip(part.faults, part.skipped)
            stream.take_up_missing(part.missing)
        if stream.n_skipped and not self._options.get("skip_invalid"):
            raise InputError(
                f"{counted(stream.n_skipped, 'invalid row')} skipped so far; resume with "
                "--skip-invalid"
            )
        for scores in self._parts.score_blocks():
            stream.take_up(scores)
        self._n_resumed = stream.n_rows

    def _score_all(self) -> ScoreFileReport:
        stream, parts, report = self._stream, self._parts, None
        try:
            self._score_or_tell_what_is_kept()
            if stream.stopped is None:
                stream.check_begun()
                with deferred_interrupts():
                    parts.close_part(is_last=True)
                report = self._report()
                parts.input_changes = report.changed_input
                parts.complete()
                return report
        except KeyboardInterrupt as error:
            if report is not None and parts.is_complete:
                return report
            stream.stopped = error
        with deferred_interrupts():
            parts.close_part()
        if not parts.parts and stream.stopped is not None:
            raise stream.stopped
        return self._report()

    def _score_or_tell_what_is_kept(self) -> None:
        parts = self._parts
        try:
            self._stream.score(parts, prepare=parts.prepare, start=parts.position)
        except (InputError, CustomMetricError) as error:
            if not parts.parts:
                raise
            # Only faults of rows can be skipped.
            flags = "--resume --skip-invalid" if isinstance(error, SampleError) else "--resume"
            kind = CustomMetricError if isinstance(error, CustomMetricError) else InputError
            raise kind(
                f"{error}; the first {parts.n_kept:,} rows are kept in {parts.folder}: continue "
                f"with {flags}, or start over with --restart"
            ) from error.__cause__

    def _report(self) -> ScoreFileReport:
        # Rows of the earlier run may have had fields that those of this one lack.
        notes = self._columns.notes()
        if self._n_resumed:
            notes = [
                f"{counted(self._n_resumed, 'row')} scored in an earlier run; ids of later "
                "rows were not checked against them"
            ]
        fields = self._stream.report_fields()
        return ScoreFileReport(
            **fields,
            target=self._target,
            result=self._stream.summary(notes, self._parts.score_blocks),
            n_resumed=self._n_resumed,
            kept=self._parts.folder if fields["interrupted"] else None,
        )


def score_to_stream(
    source: DataSource,
    file: IO[bytes],
    metrics: Iterable[str] | None = None,
    *,
    form: Literal["jsonl", "csv"] = "jsonl",
    **options: Unpack[ScoreFileOptions],
) -> ScoreFileReport:
    """As :func:`score_file`, but write rows to an open file such as a pipe at once.

    An interrupted run cannot be resumed. Scores are kept for the medians, in memory and, beyond
    some hundred thousand rows, in an unnamed temporary file.
    """
    given = normalized(options, "score_to_stream", StreamOptions)
    with batched(source, metrics, given, lambda: _opened(source, metrics, given)) as known:
        return _score_to_stream(*_opened(source, metrics, known, spools=True), file, form)


def _score_to_stream(
    stream: RowStream, columns: ScoreColumns, file: IO[bytes], form: str
) -> ScoreFileReport:
    written = _OpenFile(file, CsvFormat(columns) if form == "csv" else JsonLinesFormat(columns))
    stream.score(written, prepare=written.encode)
    stream.check_begun()
    result = stream.summary(columns.notes())
    stream.close()
    report = ScoreFileReport(**stream.report_fields(), target=Path(STANDARD_STREAM), result=result)
    return stream.checked(report)


class _OpenFile:
    """A sink that writes rows into an open file."""

    def __init__(self, file: IO[bytes], form: CsvFormat | JsonLinesFormat) -> None:
        self._file = file
        self._form = form
        self._rows = b""
        # Written with the first rows, because an error may come instead.
        self._head = form.header if isinstance(form, CsvFormat) else b""

    def encode(self, scored: ScoredBlock, first_row: int) -> None:
        """Prepare the lines of a block."""
        self._rows = self._form.encode(scored)

    def add(self, scored: ScoredBlock, first_row: int) -> None:
        """Write the prepared lines."""
        self._file.write(self._head + self._rows)
        self._head = b""
