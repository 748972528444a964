"""A score file of columns, Parquet or Arrow, in; its scores into flat columns out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from rag_eval.errors import InputError, suggestion
from rag_eval.inputs.parquet_files import opened_batches
from rag_eval.options.signature import SIGNATURE_KEY
from rag_eval.plumbing import json_text
from rag_eval.runs.row_readers import (
    FlatColumns,
    MissingColumn,
    flat_columns,
    reason,
    shown_names,
    verdict,
)
from rag_eval.runs.run_rows import JUDGE_FAILURES, RunRows
from rag_eval.runs.scored_run import NOT_JUDGED
from rag_eval.samples import MetricId

_FAILED: Final = sorted(JUDGE_FAILURES)


def read_table(
    path: Path, into: RunRows, metrics: Sequence[MetricId] | None, missing: list[MissingColumn]
) -> None:
    """Read the rows of a Parquet or Arrow file; columns it does not have are added to ``missing``.

    Raises
    ------
    InputError
        When it is damaged, or a column is not there or holds something else.
    """
    with opened_batches(path) as batches:
        names: list[str] = batches.schema.names
        if into.id_field not in names:
            hint = suggestion(into.id_field, names)
            into.add_id(None, f"the first row (columns: {shown_names(names)}){hint}")
        found = flat_columns(names, metrics, into.source, into.columns)
        there = [name for name in into.columns if name in names]
        missing += [MissingColumn(name, names) for name in into.columns if name not in names]
        signature = (batches.schema.metadata or {}).get(SIGNATURE_KEY)
        if signature is not None:
            into.sign(_decoded(signature, into.source), "the signature")
        for metric in found.scores:
            into.add_metric(metric)
        beside = [*found.reasons.values(), *found.modes.values(), found.composite, found.passed]
        wanted = {into.id_field, *there, *found.scores.values(), *filter(None, beside)}
        columns = [name for name in names if name in wanted]
        for _, batch in batches.read(columns, 0):
            _add_batch(batch, found, there, into)
    if not len(into):
        raise InputError(f"{into.source} has no rows")


def _decoded(signature: bytes, source: str) -> Any:
    try:
        return json_text.loads(signature)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{source}, the signature: not JSON: {error}") from None


def _add_batch(batch: Any, found: FlatColumns, there: Sequence[str], into: RunRows) -> None:
    first, n_rows = len(into) + 1, batch.num_rows
    for offset, value in enumerate(batch.column(into.id_field).to_pylist()):
        into.add_id(value, f"row {first + offset:,}")
    for metric, name in found.scores.items():
        scores = _numbers(batch, name, into.source, first)
        reasons = _reasons(batch, found.reasons[metric], scores, into, first)
        into.scores[metric].frombytes(scores.tobytes())
        into.null_reasons[metric].extend(reasons.tobytes())
        into.metric_passed[metric].frombytes(np.full(n_rows, NOT_JUDGED, np.int8).tobytes())
        modes = np.array(_values(batch, found.modes[metric]), object)
        failed = np.isin(reasons, _FAILED) | (modes == "fallback")
        into.n_judgements += int((failed | (modes == "llm")).sum())
        into.n_failed_judgements += int(failed.sum())
    composite = np.full(n_rows, np.nan)
    if found.composite is not None:
        composite = _numbers(batch, found.composite, into.source, first)
    into.composite.frombytes(composite.tobytes())
    into.passed.extend(
        verdict(value, into, f"row {first + offset:,}", "passed")
        for offset, value in enumerate(_values(batch, found.passed))
    )
    for column in into.columns:
        values = _values(batch, column if column in there else None)
        for offset, value in enumerate(values):
            into.add_value(column, value, f"row {first + offset:,}")


def _reasons(
    batch: Any, name: str | None, scores: npt.NDArray[np.float64], into: RunRows, first: int
) -> npt.NDArray[np.uint8]:
    """Why scores are null; 0 where they are not."""
    found = np.zeros(len(scores), np.uint8)
    places = np.flatnonzero(np.isnan(scores)).tolist()
    named = _values(batch, name) if places else []
    for place in places:
        found[place] = reason(math.nan, named[place], into, f"row {first + place:,}")
    return found


def _numbers(batch: Any, name: str, source: str, first: int) -> npt.NDArray[np.float64]:
    column = batch.column(name)
    kind = str(column.type)
    if not kind.startswith(("float", "double", "halffloat", "int", "uint", "null")):
        raise InputError(f"{source}: column {name!r} must hold numbers, got {kind}")
    found = np.asarray(column.to_numpy(zero_copy_only=False), np.float64)
    if np.isinf(found).any():
        row = first + int(np.isinf(found).argmax())
        raise InputError(f"{source}, row {row:,}: {name} must be finite")
    return found


def _values(batch: Any, name: str | None) -> list[Any]:
    """The values of a column as Python has them; all None without one."""
    if name is None:
        return [None] * batch.num_rows
    found: list[Any] = batch.column(name).to_pylist()
    return found
