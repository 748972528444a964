"""A file of scored rows, several that repeat one another, or a result in memory, in; a run out."""

from __future__ import annotations

import glob
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any, Final, TypeAlias

import msgspec
import numpy as np

from rag_eval.errors import InputError
from rag_eval.inputs.byte_files import file_bytes, plain_name, source_name
from rag_eval.inputs.file_states import unchanged
from rag_eval.inputs.tables import table_rows
from rag_eval.metrics.registry import higher_is_better, metric_of_file
from rag_eval.plumbing import json_text
from rag_eval.plumbing.json_fields import Fields
from rag_eval.results.batch import BatchEvalResult
from rag_eval.results.row import sample_dict
from rag_eval.results.verdicts import judge_rows
from rag_eval.runs.baseline_files import is_baseline_file, read_baseline_file
from rag_eval.runs.repeated_runs import joined
from rag_eval.runs.result_lines import is_line_by_line, result_lines
from rag_eval.runs.row_readers import MissingColumn, NestedRows, PlacedRows, metadata_of, read_rows
from rag_eval.runs.run_rows import MissingIdsError, RunRows
from rag_eval.runs.scored_run import NOT_JUDGED, ScoredRun
from rag_eval.samples import MetricId
from rag_eval.scoring.batch import Results

RunSource: TypeAlias = "str | Path | ScoredRun | BatchEvalResult | Sequence[Any]"
"""A file, a pattern of names, a run, a result in memory, or a list of these: repeats of one run."""

_COLUMN_FILES: Final = (".parquet", ".arrow", ".feather")
_TEXT_FILES: Final = (".jsonl", ".ndjson", ".json", ".csv")


def read_run(
    source: RunSource,
    *,
    columns: Sequence[str] = (),
    optional_columns: Sequence[str] = (),
    id_field: str = "id",
    metrics: Sequence[str] | None = None,
    repeats: bool = False,
) -> ScoredRun:
    """Read the scores of a run, without the texts they are about.

    Parameters
    ----------
    source : path, ScoredRun, BatchEvalResult, or a list of these
        A result file (``.json``), rows of results (``.jsonl``), a score file (``.jsonl``, ``.csv``,
        ``.parquet``, ``.arrow``), a committed baseline, or any table with a column of ids and
        columns that are named like metrics; text also with ``.gz`` or ``.zst``. A pattern such as
        ``runs/*.jsonl`` stands for all such files. Several are repeats of one run, and their rows
        come one after the other.
    columns : sequence of str
        Metadata to keep, for clusters and slices: fields of a sample or of its ``metadata``,
        columns of a table. Values become texts.
    optional_columns : sequence of str
        The same, but no row needs to have them.
    id_field : str
        Under this name rows have their ids.
    metrics : sequence of str, optional
        Those to read, in this order; all that are there by default. A column of a table may have
        any name when it is asked for.
    repeats : bool
        Whether an id may come more than once in one file.

    Returns
    -------
    ScoredRun
        Rows in the order of the file.

    Raises
    ------
    InputError
        Naming file, row and field; for an id that comes twice, both rows.
    MissingIdsError
        When rows have no ids: such a run cannot be compared row by row.
    """
    wanted = None if metrics is None else tuple(dict.fromkeys(map(_metric, metrics)))
    kept = tuple(dict.fromkeys([*columns, *optional_columns]))
    found = [
        _one_run(one, _Wanted(kept, frozenset(optional_columns), id_field, wanted, repeats))
        for one in sources_of(source)
    ]
    return found[0] if len(found) == 1 else joined(found)


def _metric(name: str) -> MetricId:
    try:
        return metric_of_file(name)
    except InputError:
        return name  # a column of a table


def sources_of(source: RunSource) -> list[Any]:
    """One by one what a source stands for; patterns by the files that have such names.

    Raises
    ------
    InputError
        When it stands for none.
    """
    if isinstance(source, (ScoredRun, BatchEvalResult)):
        return [source]
    if isinstance(source, (str, Path)):
        text = str(source)
        if not glob.has_magic(text) or Path(text).exists():
            return [source]
        found = sorted(glob.glob(text, recursive=True))  # noqa: PTH207  # may be absolute
        if not found:
            raise InputError(f"{text}: no file has such a name")
        return list(found)
    if not isinstance(source, (list, tuple)):
        raise InputError(f"a run must be a file or a result, got {type(source).__name__}")
    if not source:
        raise InputError("no run was given")
    return [one for item in source for one in sources_of(item)]


class _Wanted(msgspec.Struct, frozen=True):
    """What is read of each source."""

    columns: tuple[str, ...]
    optional: frozenset[str]
    id_field: str
    metrics: tuple[MetricId, ...] | None
    repeats: bool

    def rows(self, source: str) -> RunRows:
        return RunRows(source, self.columns, id_field=self.id_field, repeats=self.repeats)

    def check(self, missing: Sequence[MissingColumn], source: str) -> None:
        for column in missing:
            if column.name not in self.optional:
                raise column.error(source)


def _one_run(source: Any, wanted: _Wanted) -> ScoredRun:
    if isinstance(source, ScoredRun):
        return _of_run(source, wanted)
    if isinstance(source, BatchEvalResult):
        return run_of_result(
            source,
            columns=[name for name in wanted.columns if name not in wanted.optional],
            optional_columns=[name for name in wanted.columns if name in wanted.optional],
            id_field=wanted.id_field,
            metrics=wanted.metrics,
            repeats=wanted.repeats,
        )
    # Its first bytes are looked at before it is read.
    with unchanged(source):
        return _read_file(source, wanted)


def _of_run(run: ScoredRun, wanted: _Wanted) -> ScoredRun:
    """A run that is there already, with no more than was asked for."""
    for name in wanted.columns:
        if name not in run.columns and name not in wanted.optional:
            raise MissingColumn(name, list(run.columns)).error(run.name)
    if wanted.metrics is None or wanted.metrics == run.metrics:
        return run
    for metric in wanted.metrics:
        run.column(metric)  # or an error
    places = [run.metrics.index(metric) for metric in wanted.metrics]
    return replace(
        run,
        metrics=wanted.metrics,
        scores=run.scores[:, places],
        null_reasons=run.null_reasons[:, places],
        metric_passed=run.metric_passed[:, places],
    )


# ----------------------------------------------------------------------------------------- files


def _read_file(path: str | Path, wanted: _Wanted) -> ScoredRun:
    name, source = plain_name(path), source_name(path)
    missing: list[MissingColumn] = []
    into = wanted.rows(source)
    if name.endswith(_COLUMN_FILES):
        from rag_eval.runs.run_tables import read_table

        read_table(Path(path), into, wanted.metrics, missing)
    elif name.endswith(".json"):
        if is_baseline_file(path):
            return _of_run(read_baseline_file(path), wanted)
        read = _read_result_lines if is_line_by_line(path) else _read_json
        read(path, into, wanted, missing)
    elif name.endswith(_TEXT_FILES):
        read_rows(table_rows(path), into, wanted.metrics, missing)
    else:
        raise InputError(
            f"{path}: cannot tell the format from the name; wanted "
            f"{', '.join(_TEXT_FILES)} (also with .gz or .zst), .parquet or .arrow"
        )
    wanted.check(missing, source)
    return into.run(wanted.metrics)


class _File(msgspec.Struct, rename="camel"):
    """A result file whose rows are not decoded yet: one is, at a time."""

    results: list[msgspec.Raw] | None = None
    aggregates: dict[str, Any] | None = None
    signature: dict[str, Any] | None = None
    judging: dict[str, Any] | None = None
    dataset_hash: str | None = None


def _read_json(
    path: str | Path, into: RunRows, wanted: _Wanted, missing: list[MissingColumn]
) -> None:
    """Read a result file, or an array of rows."""
    data = file_bytes(path)
    start = data[:64].lstrip()[:1]
    if start == b"[":
        del data
        read_rows(table_rows(path), into, wanted.metrics, missing)
        return
    found, rows = _decoded(data, into.source)
    del data
    if found.results is None and found.aggregates is None:
        raise InputError(f"{into.source} is no result file: it has neither results nor aggregates")
    if not found.results:
        raise _no_rows(into.source)
    read_rows(rows, into, wanted.metrics, missing, NestedRows)
    _add_summary(found, into)


def _read_result_lines(
    path: str | Path, into: RunRows, wanted: _Wanted, missing: list[MissingColumn]
) -> None:
    """Read a result file of this library, whose rows are lines."""
    summary: list[dict[str, Any]] = []
    rows = result_lines(path, summary.append)
    first = next(rows, None)
    if first is None:
        raise _no_rows(into.source)
    read_rows(chain([first], rows), into, wanted.metrics, missing, NestedRows)
    try:
        found = msgspec.convert(summary[0], _File)
    except ValueError as error:  # half a character in a key is no ValidationError
        raise InputError(f"{into.source} is no result file: {error}") from None
    _add_summary(found, into)


def _no_rows(source: str) -> MissingIdsError:
    return MissingIdsError(
        f"{source} has a summary and no rows; rag-eval run writes them with --output or "
        "--format jsonl"
    )


def _add_summary(found: _File, into: RunRows) -> None:
    """What a result file says besides its rows."""
    if found.signature is not None:
        into.sign(found.signature, "the signature")
    into.lower_is_better = frozenset(
        _metric(name)
        for name, aggregate in (found.aggregates or {}).items()
        if isinstance(aggregate, Mapping) and aggregate.get("higherIsBetter") is False
    )
    judged = (found.judging or {}).get("metrics")
    if isinstance(judged, Mapping):
        # As the run counted them itself.
        entries = [entry for entry in judged.values() if isinstance(entry, Mapping)]
        try:
            into.n_judgements = sum(Fields(entry).count("nJudged") for entry in entries)
            into.n_failed_judgements = sum(Fields(entry).count("nFailed") for entry in entries)
        except InputError as error:
            raise InputError(f"{into.source}, judging: {error}") from None


def _decoded(data: bytes, source: str) -> tuple[_File, PlacedRows]:
    decode: Callable[[Any], Any] = msgspec.json.Decoder().decode
    try:
        try:
            found = msgspec.json.decode(data, type=_File)
        except msgspec.ValidationError:
            raise
        except msgspec.DecodeError:
            # Escapes of lone surrogates, which msgspec does not take, anywhere in the file.
            value = json_text.loads(data)
            rows = value.pop("results", None) if isinstance(value, dict) else None
            found = msgspec.convert(value, _File)
            found.results = rows
            return found, _placed(rows or (), lambda row: row)
    except msgspec.ValidationError as error:
        raise InputError(f"{source} is no result file: {error}") from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"{source} is not JSON: {error}") from None
    return found, _placed(found.results or (), decode)


def _placed(rows: Sequence[Any], decode: Callable[[Any], Any]) -> Iterator[tuple[str, Any]]:
    for number, raw in enumerate(rows):
        row = decode(raw)
        # What has no sample is refused by the reader.
        yield f"results[{number}]", row if isinstance(row, dict) else {}


# --------------------------------------------------------------------------------------- results


def run_of_result(
    result: BatchEvalResult,
    *,
    name: str = "the result",
    columns: Sequence[str] = (),
    optional_columns: Sequence[str] = (),
    id_field: str = "id",
    metrics: Sequence[MetricId] | None = None,
    repeats: bool = False,
) -> ScoredRun:
    """The scores of a result in memory, under the ids of its samples.

    Parameters
    ----------
    result : BatchEvalResult
    name : str
        What messages call the run.
    columns, optional_columns, id_field, metrics, repeats
        As for :func:`read_run`.

    Raises
    ------
    InputError
        When a metric or a column is not there, or an id comes twice.
    MissingIdsError
        When a sample has no id.
    TextsNotKeptError
        When the samples were not kept, their ids among them.
    """
    into = RunRows(
        name,
        tuple(dict.fromkeys([*columns, *optional_columns])),
        id_field=id_field,
        repeats=repeats,
    )
    seen: set[str] = set()
    fields: set[str] = set()
    for row in range(len(result)):
        sample = sample_of(result, row)
        place = f"sample {row}"
        into.add_id(sample.get(id_field), place)
        for column in into.columns:
            value = metadata_of(sample, column)
            if value is not None:
                seen.add(column)
            into.add_value(column, value, place)
        if not row:
            fields.update(sample)
    for column in columns:
        if column not in seen:
            raise MissingColumn(column, sorted(fields)).error(name)
    run = ScoredRun(
        name=name,
        ids=into.ids,
        metrics=tuple(result.metrics),
        scores=np.asarray(result.scores, np.float64),
        null_reasons=np.asarray(result.null_reasons, np.uint8),
        metric_passed=_verdicts(result),
        composite=np.asarray(result.composite_scores, np.float64),
        passed=np.asarray(result.sample_passed, np.int8),
        columns=into.columns,
        signature=result.signature,
        lower_is_better=frozenset(m for m in result.metrics if not higher_is_better(m)),
        n_judgements=0 if result.judging is None else result.judging.n_wanted,
        n_failed_judgements=0 if result.judging is None else result.judging.n_failed,
    )
    wanted = None if metrics is None else tuple(metrics)
    return _of_run(run, _Wanted((), frozenset(), id_field, wanted, repeats))


def sample_of(result: BatchEvalResult, row: int) -> Mapping[str, Any]:
    """A sample as it is echoed; its row is not explained."""
    rows = result.results
    sample = rows.sample(row) if isinstance(rows, Results) else rows[row].sample
    return sample_dict(sample)


def _verdicts(result: BatchEvalResult) -> Any:
    """Per row and metric, as far as it is known."""
    found = np.full(result.scores.shape, NOT_JUDGED, np.int8)
    rows = result.results
    if isinstance(rows, Results):
        plan = rows.plan
        measured = ~np.isnan(result.scores)
        for column, metric in enumerate(plan.columns):
            measured[:, column] &= plan.thresholds[metric] is not None
        found[measured] = judge_rows(result.scores, plan).metric_passed[measured]
        return found
    for row, one in enumerate(rows):
        for column, metric in enumerate(result.metrics):
            passed = one.metrics[metric].passed if metric in one.metrics else None
            if passed is not None:
                found[row, column] = passed
    return found
