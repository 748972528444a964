"""Rows of a block -> columns of scores, and one row -> its findings, by the scorers of a plan."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from rag_eval.errors import CustomMetricError, InputError
from rag_eval.inputs.blocks import SampleBlock
from rag_eval.inputs.sample_fields import FieldColumns, block_fields, columns_named, field_columns
from rag_eval.inputs.samples import SampleError
from rag_eval.metrics.contract import Column, Fields, Scored
from rag_eval.options.plan import Plan
from rag_eval.options.scorers import ChosenScorer
from rag_eval.plumbing.interrupts import check_stopped
from rag_eval.samples import MetricId, NullReason

_MISSING: Final = int(NullReason.MISSING_FIELD)


def scorer_columns(rows: SampleBlock, plan: Plan) -> dict[MetricId, Column]:
    """Scores and null reasons of every row, by scorer.

    Raises
    ------
    SampleError
        For the first row with a value that a scorer cannot read.
    CustomMetricError
        For the first row for which a custom metric failed.
    """
    fields = field_columns(rows, plan.scorer_fields)
    return {metric: _column(chosen, fields, rows) for metric, chosen in plan.scorers.items()}


def find(chosen: ChosenScorer, fields: Fields) -> Scored:
    """What a scorer finds in one row.

    Raises
    ------
    InputError
        For a value that the scorer cannot read.
    """
    lacking = next((name for name in chosen.spec.fields if name not in fields), None)
    if lacking is not None:
        return Scored(None, NullReason.MISSING_FIELD, f"No {lacking.replace('_', ' ')} given.")
    # Those that the contract names: a score depends on no others.
    read = {name: fields[name] for name in _names(chosen) if name in fields}
    return _checked(chosen, read)


def _checked(chosen: ChosenScorer, fields: Fields) -> Scored:
    found = chosen.scorer.score(fields)
    if found.score is not None and not math.isfinite(found.score):
        raise InputError(f"{chosen.spec.id} returned {found.score}, which is not a score")
    if found.score is None and not found.null_reason:
        return replace(found, null_reason=NullReason.NOTHING_TO_MEASURE)
    return found


def row_faults(rows: SampleBlock, plan: Plan) -> dict[int, str]:
    """The faults of rows for the scorers of a plan, by their places in the block."""
    found = {}
    for index in range(len(rows)):
        try:
            scorer_columns(rows.taken([index]), plan)
        except SampleError as error:
            found[index] = error.fault
    return found


def _names(chosen: ChosenScorer) -> tuple[str, ...]:
    return (*chosen.spec.fields, *chosen.spec.optional)


def _column(chosen: ChosenScorer, fields: FieldColumns, block: SampleBlock) -> Column:
    places = fields.places(chosen.spec.fields)
    read = fields.rows(_names(chosen), places)
    failed: CustomMetricError | None = None
    found = None
    if chosen.scorer.column is not None and read:
        try:
            found = chosen.scorer.column(read)
        except InputError:
            pass  # row by row, its row will be known
        except CustomMetricError as error:
            failed = error
    if found is None:
        found = _one_by_one(chosen, read, places, block)
    if failed is not None:  # and yet it can score each row alone
        first, last = (block.name(places[end]) for end in (0, -1))
        raise _placed(failed, f"{first} to {last}") from failed.__cause__
    if len(places) == fields.n_rows:
        return found
    scores = np.full(fields.n_rows, math.nan)
    reasons = np.full(fields.n_rows, _MISSING, np.uint8)
    scores[places], reasons[places] = found
    return scores, reasons


def _one_by_one(
    chosen: ChosenScorer, rows: Sequence[Fields], places: Sequence[int], block: SampleBlock
) -> Column:
    scores = np.full(len(rows), math.nan)
    reasons = np.zeros(len(rows), np.uint8)
    for index, row in enumerate(rows):
        check_stopped()
        try:
            found = _checked(chosen, row)
        except InputError as error:
            raise SampleError(block.name(places[index]), str(error)) from None
        except CustomMetricError as error:
            raise _placed(error, block.name(places[index])) from error.__cause__
        except Exception as error:
            # A defect of the scorer: where it showed is said.
            error.add_note(f"while {chosen.spec.id} scored {block.name(places[index])}")
            raise
        if found.score is None:
            reasons[index] = found.null_reason
        else:
            scores[index] = found.score
    return scores, reasons


def _placed(error: CustomMetricError, where: str) -> CustomMetricError:
    return CustomMetricError(f"{where}: {error}")


def assembled(
    plan: Plan,
    native: tuple[npt.NDArray[np.float64], npt.NDArray[np.uint8]],
    found: Mapping[MetricId, Column],
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.uint8]]:
    """The columns of kernels and those of scorers, in the order of the plan."""
    columns = plan.computed_columns
    places = {metric: place for place, metric in enumerate(plan.native_columns)}
    shape = (len(native[0]), len(columns))
    scores, reasons = np.empty(shape), np.empty(shape, np.uint8)
    for column, metric in enumerate(columns):
        if metric in found:
            scores[:, column], reasons[:, column] = found[metric]
        else:
            scores[:, column] = native[0][:, places[metric]]
            reasons[:, column] = native[1][:, places[metric]]
    return scores, reasons


def row_fields(block: SampleBlock, index: int, plan: Plan) -> dict[str, Any] | None:
    """The fields of one row that the scorers of a plan read; None if it has no scorers."""
    if not plan.scorers:
        return None
    return block_fields(block.taken([index]), plan.scorer_fields)[0]


def columns_of_scorers(plan: Plan) -> list[str]:
    """The columns of a table that scorers of a plan read, in either spelling."""
    return columns_named((*plan.scorer_fields, *judged_fields(plan)))


def judged_fields(plan: Plan) -> tuple[str, ...]:
    """The fields that scorers read that only a judge can score."""
    judging = plan.judging
    if judging is None:
        return ()
    read = (plan.specs[metric].reads for metric in judging.scorers)
    return tuple(dict.fromkeys(name for names in read for name in names))
