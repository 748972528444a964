"""Result files: batches as JSON and JSON lines, in the schema of rag-eval-node-ts.

Written part by part, so that no file has to be held in memory, and put in place only when complete.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from rag_eval.errors import InputError
from rag_eval.inputs.byte_files import file_bytes
from rag_eval.plumbing import json_text
from rag_eval.plumbing.durable_files import atomic_file
from rag_eval.plumbing.json_fields import Fields
from rag_eval.results.aggregates import CompositeAggregate, MetricAggregate
from rag_eval.results.batch import BatchEvalResult
from rag_eval.results.reading import (
    cost_of,
    metric_or_none,
    regressions_of,
    result_of,
    signature_of,
)
from rag_eval.results.row import ByMetric, EvalResult
from rag_eval.samples import MetricId, NullReason
from rag_eval.stats.intervals import Interval

if TYPE_CHECKING:
    from collections.abc import Callable


# ------------------------------------------------------------------------------------- writing


def row_json(result: EvalResult, row: int, details: bool = False) -> bytes:
    """One row's result as JSON; what cannot be written is named with its sample."""
    try:
        return json_text.dumps(result.to_dict(details))
    except (ValueError, TypeError) as error:
        sample = result.sample
        name = sample.get("id") if isinstance(sample, Mapping) else getattr(sample, "id", None)
        shown = f"sample {row}" if name is None else f'sample {row} ("{name}")'
        raise InputError(f"{shown} cannot be written as JSON: {error}") from None


def json_parts(rows: Iterable[bytes], summary: Callable[[], Mapping[str, Any]]) -> Iterator[bytes]:
    """The parts of a result file: its rows, then its summary, which may need all rows first."""
    yield b'{"results":['
    for index, row in enumerate(rows):
        yield b",\n" if index else b"\n"
        yield row
    yield b"\n]," + json_text.dumps(summary())[1:] + b"\n"


def batch_json_parts(batch: BatchEvalResult, details: bool = False) -> Iterator[bytes]:
    """The parts of a batch's result file; opens every row, one at a time."""
    rows = (row_json(result, row, details) for row, result in enumerate(batch.results))
    return json_parts(rows, batch.summary_dict)


def jsonl_parts(results: Iterable[EvalResult], details: bool = False) -> Iterator[bytes]:
    """One line of JSON per row."""
    for row, result in enumerate(results):
        yield row_json(result, row, details) + b"\n"


def write_or_return(parts: Iterable[bytes], path: str | Path | None) -> str | None:
    """Write the parts to a file, or give them as text when no path is named."""
    if path is None:
        return b"".join(parts).decode()
    with atomic_file(path) as file:
        for part in parts:
            file.write(part)
    return None


# ------------------------------------------------------------------------------------- reading


def read_batch(source: str | bytes | Path) -> BatchEvalResult:
    """Read a result file, or its text when ``source`` is bytes or begins with a brace.

    Files whose names end in ``.gz`` or ``.zst`` are unpacked.

    A file of rag-eval-node-ts has no signature: ``signature`` is None then.

    Raises
    ------
    InputError
        When it is no result file; the message names the row and the field.
    """
    name, text = _text_of(source)
    try:
        value = json_text.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{name} is not JSON: {error}") from None
    if not isinstance(value, Mapping) or not isinstance(value.get("aggregates"), Mapping):
        raise InputError(f"{name} is no batch result: it has no aggregates")
    try:
        file = Fields(value)
        signature = signature_of(file)
        return batch_of(file.each("results", lambda row: result_of(row, signature)), value)
    except InputError as error:
        raise InputError(f"{name} is no batch result: {error}") from None


def batch_of(rows: Iterable[EvalResult], summary: Mapping[str, Any]) -> BatchEvalResult:
    """Rows of a result file with what it says beside them.

    Raises
    ------
    InputError
        Where that is not what it has to be; the message names the field.
    """
    results, file = list(rows), Fields(summary)
    found = {
        metric: entry
        for name, entry in file.needed("aggregates").items()
        if (metric := metric_or_none(name)) is not None
    }
    metrics = tuple(found)
    scores, reasons = matrices(results, metrics)
    composite = composites(results)
    return BatchEvalResult(
        metrics=metrics,
        n_rows=len(results),
        n_passed=sum(row.passed for row in results),
        scores=scores,
        null_reasons=reasons,
        composite_scores=composite,
        sample_passed=np.array([row.passed for row in results], np.bool_),
        results=results,
        aggregates=ByMetric(
            {metric: _aggregate(metric, entry, len(results)) for metric, entry in found.items()}
        ),
        composite_aggregate=_composite(file.inner("compositeAggregate"), composite),
        passed=file.flag_or_none("passed") is True,
        total_cost=cost_of(file.inner("totalCost")),
        total_duration_ms=file.count("totalDurationMs"),
        regressions=regressions_of(file),
        evaluated_at=file.text("evaluatedAt"),
        signature=signature_of(file),
        notes=list(file.texts("notes")),
    )


def composites(results: Sequence[EvalResult]) -> npt.NDArray[np.float64]:
    """The composite score of each row; NaN where null."""
    scores = (row.composite_score for row in results)
    return np.array([math.nan if score is None else score for score in scores], np.float64)


def matrices(
    results: Sequence[EvalResult], metrics: Sequence[MetricId]
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.uint8]]:
    """Scores of rows, NaN where null, and why they are, a column for each metric."""
    scores = np.full((len(results), len(metrics)), np.nan)
    reasons = np.full(scores.shape, NullReason.SKIPPED, np.uint8)
    for row, result in enumerate(results):
        for column, metric in enumerate(metrics):
            if metric in result.metrics:
                found = result.metrics[metric]
                reasons[row, column] = found.null_reason
                if found.score is not None:
                    scores[row, column] = found.score
    return scores, reasons


def read_row(row: Mapping[str, Any]) -> EvalResult:
    """One row of a result file, with the signature that it has itself.

    Raises
    ------
    InputError
        When it is none; the message names the field.
    """
    fields = Fields(row)
    try:
        return result_of(fields, signature_of(fields))
    except InputError as error:
        raise InputError(f"is no row of a result: {error}") from None


def _text_of(source: str | bytes | Path) -> tuple[str, str | bytes]:
    if isinstance(source, bytes) or (isinstance(source, str) and source.lstrip()[:1] == "{"):
        return "the text given", source
    return str(source), file_bytes(source)


_STATISTICS = {"mean": "mean", "median": "median", "min": "min", "max": "max", "std_dev": "stdDev"}


def _numbers(entry: Fields, n: int) -> dict[str, Any]:
    # Columns of verdicts have null for them.
    found = {name: entry.number_or_none(key) for name, key in _STATISTICS.items()}
    return {
        name: math.nan if not n or value is None else float(value) for name, value in found.items()
    }


def _aggregate(metric: MetricId, entry: Fields, n_rows: int) -> MetricAggregate:
    null_rate = _share(entry, "nullRate")
    # A summary may come without its rows: then only "some" and "none" can be told apart.
    n = round((1 - null_rate) * n_rows) if n_rows else int(null_rate < 1)
    return MetricAggregate(
        metric_id=metric,
        n=n,
        n_rows=n_rows,
        pass_rate=_share(entry, "passRate"),
        null_rate=null_rate,
        interval=_interval(entry, n if n_rows else 0),
        **_numbers(entry, n),
    )


def _composite(entry: Fields, scores: npt.NDArray[np.float64]) -> CompositeAggregate:
    n = int(np.count_nonzero(~np.isnan(scores)))
    return CompositeAggregate(
        n=n,
        n_rows=len(scores),
        pass_rate=_share(entry, "passRate"),
        interval=_interval(entry, n),
        **_numbers(entry, n),
    )


def _share(entry: Fields, name: str) -> float:
    found = entry.number_or_none(name)
    if found is not None and not 0 <= found <= 1:
        entry.refuse(name, "a number from 0 to 1")
    return float(found or 0)


def _interval(entry: Fields, n: int) -> Interval | None:
    """That of the mean, which files of other tools and of earlier versions do not have."""
    if not n or entry.get("meanInterval") is None:
        return None
    found = entry.inner("meanInterval")
    low, high = found.number_or_none("low"), found.number_or_none("high")
    return Interval(
        estimate=_numbers(entry, n)["mean"],
        low=None if low is None else float(low),
        high=None if high is None else float(high),
        level=float(found.number("level")),
        n_resamples=0,
        n_groups=n,
        method=found.text_or_none("method"),
        too_few=found.flag_or_none("tooFew") is True,
    )
