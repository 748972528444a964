"""Rows of a file -> columns, and the rows that have faults named one by one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from rag_eval.errors import InputChangedError, InputError
from rag_eval.inputs.blocks import FileOrigin, RowFault, SampleBlock
from rag_eval.inputs.named_files import DataSource
from rag_eval.inputs.opened import Input, InputOptions
from rag_eval.inputs.samples import FieldNeeds, SampleError, no_samples
from rag_eval.inputs.schemas.maps import FoundFields
from rag_eval.kernels.columns import GIVEN, SampleBatch
from rag_eval.metrics.seven import needed_fields
from rag_eval.options.plan import Plan, make_plan
from rag_eval.plumbing.repeated_ids import RepeatedIds
from rag_eval.plumbing.spelling import camel_case
from rag_eval.samples import MetricId, NullReason, Profile
from rag_eval.scoring import scorer_columns
from rag_eval.scoring.engine import ScoredBlock, ScoreFn, scored_block
from rag_eval.scoring.measurable import FoundLines, Measurability
from rag_eval.scoring.scorer_columns import columns_of_scorers


@dataclass(frozen=True, slots=True)
class Validation:
    """What was found in a sample file.

    Attributes
    ----------
    n_rows, n_invalid : int
        All rows, and those that cannot be scored.
    repeated_ids : str
        A warning about ids that come more than once; empty when none does.
    changed_input : list of str
        What became of files since they were opened, a sentence each; empty if nothing did.
    remarks : list of str
        How rows were found in the files, where that is not their plain form.
    fields : list of FoundFields
        Which columns of each file are which field.
    lacking : dict of int
        How many of the sound rows lack each field, for the fields that some row lacks.
    metrics : tuple of MetricId
        Metrics that the fields allow.
    not_measured : mapping of MetricId to str
        The others, and what they lack.
    """

    n_rows: int
    n_invalid: int
    repeated_ids: str
    changed_input: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    fields: list[FoundFields] = field(default_factory=list)
    lacking: dict[str, int] = field(default_factory=dict)
    metrics: tuple[MetricId, ...] = ()
    not_measured: Mapping[MetricId, str] = field(default_factory=dict)


def validate_file(
    data: DataSource,
    metrics: Iterable[str] | None = None,
    *,
    profile: Profile = "overlap",
    scorer_options: Mapping[str, Mapping[str, Any]] | None = None,
    reading: InputOptions | None = None,
    on_fault: Callable[[RowFault], object] | None = None,
    allow_changed_input: bool = False,
    allow_missing: bool = False,
    on_found: Callable[[str], object] | None = None,
) -> Validation:
    """Check every row of a sample file as ``run`` would, without scoring.

    Parameters
    ----------
    data : str, Path or list of these
        As for :func:`rag_eval.jobs.file_run.run_file`.
    metrics : iterable of str, optional
        Only the fields that these read have to be there; all seven by default.
    profile : {"overlap", "grounded"}
        In the grounded profile a missing field makes scores null and is no fault of a row.
    scorer_options : mapping, optional
        Options of scorers among the metrics, by their ids.
    reading : InputOptions, optional
        How its columns become our fields.
    on_fault : callable, optional
        Gets each row that cannot be scored, in order, as a :class:`RowFault`.
    allow_changed_input : bool
        Take it for no error when a file changes while it is read.
    allow_missing : bool
        Take it for no error when no row has a field that a metric needs.
    on_found : callable, optional
        Gets each line that there is to say about the data, such as its fields, before its rows.

    Raises
    ------
    InputError
        When the file cannot be read to its end, holds no samples, or lacks a field that a metric
        needs.
    InputChangedError
        When it changed while it was read; ``report`` has what was found.
    NotMeasuredError
        When a field is there and no row has a value in it; ``report`` has what was found.
    """
    plan = make_plan(metrics, {"profile": profile, "scorer_options": scorer_options})
    needs = FieldNeeds.of(plan.native_columns, profile)
    asked = {"allow_missing": allow_missing}
    measured = Measurability(plan, metrics, asked)
    checked: set[str] = set()
    n_rows = n_invalid = n_sound = 0
    lacking: Counter[str] = Counter()
    ids = RepeatedIds()
    source = Input(data, reading, optional_columns=columns_of_scorers(plan))
    told = FoundLines(source, measured, on_found)
    try:
        for block in source.blocks():
            told.tell()
            block.absent = measured.absent(block, source.found)
            origin = origin_of(block)
            sound, batch = pack_file_block(block, needs, skip_invalid=True)
            faults = row_faults(block, needs, plan) if plan.scorers else origin_of(sound).faults
            here = _lacking(batch, needs)
            if origin.source not in checked:
                for found in source.found:
                    if found.source != origin.source:
                        continue
                    if len(sound):
                        checked.add(origin.source)
                        measured.check_first(_reasons(plan, here, len(sound), [found]), found)
                    elif len(block):
                        measured.check_fields(found)
            n_rows += len(block) + len(origin.faults)
            n_invalid += len(faults)
            n_sound += len(sound)
            lacking += here
            add_ids(ids, block)
            if on_fault is not None:
                for fault in faults:
                    on_fault(fault)
    except InputError as error:
        raise source.explained(error) from None
    if not n_rows:
        raise no_samples(source.name)
    if n_sound:
        measured.add(_reasons(plan, lacking, n_sound, source.found))
    fields = [one.fields for one in source.found]
    report = Validation(
        n_rows,
        n_invalid,
        ids.warning(),
        source.changes(),
        source.remarks,
        source.found,
        dict(lacking),
        tuple(metric for metric in plan.columns if metric not in measured.metrics)
        if n_sound
        else (),
        measured.not_measured(fields),
    )
    if report.changed_input and not allow_changed_input:
        raise InputChangedError(report.changed_input, report)
    measured.check_end(source.name, fields, report)
    return report


def _lacking(batch: SampleBatch, needs: FieldNeeds) -> Counter[str]:
    """How many rows lack each field, of those fields that a row may lack."""
    lacking: Counter[str] = Counter()
    if batch.grounded is not None:
        for name, bit in GIVEN.items():
            lacking[name] = int((batch.grounded.given & bit == 0).sum())
        lacking["ground_truth"] = int((np.diff(batch.grounded.row_truths) == 0).sum())
    elif needs.ground_truth:
        lacking["ground_truth"] = int((np.diff(batch.ground_truth.offsets) == 0).sum())
    lacking |= dict.fromkeys(batch.absent, batch.n_rows)
    return +lacking


def _reasons(
    plan: Plan, lacking: Mapping[str, int], n_rows: int, found: Iterable[FoundFields]
) -> npt.NDArray[np.uint8]:
    """The null reasons of one row that has every field that some row has."""
    there = {name for one in found for name in (*one.fields.paths, *one.fields.unused)}
    absent = {name for name, n in lacking.items() if n == n_rows}
    absent |= {
        name
        for metric in plan.scorers
        for name in plan.specs[metric].fields
        if name not in there and camel_case(name) not in there
    }
    missing = [not absent.isdisjoint(needed_fields(plan.specs[name])) for name in plan.columns]
    return np.array([missing], np.uint8) * np.uint8(NullReason.MISSING_FIELD)


def origin_of(block: SampleBlock) -> FileOrigin:
    """The origin of a block that was read from a file."""
    assert block.origin is not None
    return block.origin


def add_ids(ids: RepeatedIds, block: SampleBlock) -> None:
    """Look for ids of the block that earlier rows had."""
    origin = origin_of(block)
    ids.add(block.ids(), lambda index: origin.place(origin.numbers[index], block.sample(index)))


def pack_file_block(
    block: SampleBlock, needs: FieldNeeds, *, skip_invalid: bool
) -> tuple[SampleBlock, SampleBatch]:
    """Read and pack a block of a file.

    With ``skip_invalid`` the block comes back without its bad rows, which are then in the faults of
    its origin.

    Raises
    ------
    SampleError
        Naming file, row and field of the first bad row, unless they are to be skipped.
    """
    origin, needs = origin_of(block), needs.without(block.absent)
    if not origin.faults:
        try:
            return block, block.pack(needs)
        except SampleError:
            pass
    faults = row_faults(block, needs)
    if not skip_invalid:
        raise SampleError(f"{origin.source}, {faults[0].name}", faults[0].fault)
    bad = {fault.number for fault in faults}
    sound = block.taken([index for index, number in enumerate(origin.numbers) if number not in bad])
    origin_of(sound).faults = faults
    return sound, sound.pack(needs)


def row_faults(block: SampleBlock, needs: FieldNeeds, plan: Plan | None = None) -> list[RowFault]:
    """The block's bad rows in order, each with its first fault; those for scorers if asked for."""
    found: dict[int, str] = {}
    if plan is not None and plan.scorers:
        found = scorer_columns.row_faults(block, plan)
    needs = needs.without(block.absent)
    try:
        block.pack(needs)
    except SampleError:
        for index in range(len(block)):
            fault = block.fault(index, needs)
            if fault is not None:
                found[index] = fault
    return _with_faults(block, found)


def _with_faults(block: SampleBlock, found: Mapping[int, str]) -> list[RowFault]:
    """The faults of the file among the block's rows, and those found now, in order."""
    origin = origin_of(block)
    faults = list(origin.faults)
    for index, fault in found.items():
        number = origin.numbers[index]
        faults.append(RowFault(number, origin.place(number, block.sample(index)), fault))
    return sorted(faults, key=lambda fault: fault.number)


def _without_scorer_faults(block: SampleBlock, plan: Plan) -> SampleBlock:
    """The block without the rows that scorers cannot read, which are then among its faults."""
    found = scorer_columns.row_faults(block, plan)
    sound = block.taken([index for index in range(len(block)) if index not in found])
    origin_of(sound).faults = _with_faults(block, found)
    return sound


def file_block_scorer(
    plan: Plan, needs: FieldNeeds, *, skip_invalid: bool, explains: Callable[[], bool]
) -> ScoreFn:
    """Packs blocks of files and scores them; bad rows are skipped if requested.

    Blocks have the details of their rows where ``explains``, which is asked for each, is true.
    """

    def score(block: SampleBlock) -> ScoredBlock:
        found, batch = pack_file_block(block, needs, skip_invalid=skip_invalid)
        try:
            return scored_block(found, batch, plan, explains=explains())
        except SampleError:
            if not skip_invalid:
                raise
        sound = _without_scorer_faults(found, plan)
        batch = sound.pack(needs.without(sound.absent))
        return scored_block(sound, batch, plan, explains=explains())

    return score
