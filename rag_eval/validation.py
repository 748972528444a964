"""Rows of a file -> columns, and the rows that have faults named one by one."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from rag_eval.columns import SampleBatch
from rag_eval.errors import InputError
from rag_eval.options import make_plan
from rag_eval.repeated_ids import RepeatedIds
from rag_eval.sample_files import FileOrigin, RowFault, file_blocks, source_name
from rag_eval.samples import Profile
from rag_eval.sources import FieldNeeds, RowBlock, SampleError, pack_block, read_rows


@dataclass(frozen=True, slots=True)
class Validation:
    """What was found in a sample file.

    Attributes
    ----------
    n_rows, n_invalid : int
        All rows, and those that cannot be scored.
    repeated_ids : str
        A warning about ids that come more than once; empty when none does.
    """

    n_rows: int
    n_invalid: int
    repeated_ids: str


def validate_file(
    data: str | Path,
    metrics: Iterable[str] | None = None,
    *,
    profile: Profile = "overlap",
    on_fault: Callable[[RowFault], object] | None = None,
) -> Validation:
    """Look at every row of a sample file as ``run`` would, without scoring.

    Parameters
    ----------
    data : str or Path
        As for :func:`rag_eval.run.run_file`.
    metrics : iterable of str, optional
        Only the fields that these read have to be there; all seven by default.
    profile : {"overlap", "grounded"}
        In the grounded profile a missing field makes scores null and is no fault.
    on_fault : callable, optional
        Gets each row that cannot be scored, in order, as a :class:`RowFault`.

    Raises
    ------
    InputError
        When the file cannot be read to its end, or holds no samples.
    """
    needs = FieldNeeds.of(make_plan(metrics, {"profile": profile}).columns, profile)
    n_rows = n_invalid = 0
    ids = RepeatedIds()
    for block in file_blocks(data):
        origin = origin_of(block)
        faults = row_faults(block, needs)
        n_rows += len(block.rows) + len(origin.faults)
        n_invalid += len(faults)
        add_ids(ids, block)
        if on_fault is not None:
            for fault in faults:
                on_fault(fault)
    if not n_rows:
        raise InputError(f"{source_name(data)} holds no samples")
    return Validation(n_rows, n_invalid, ids.warning())


def origin_of(block: RowBlock) -> FileOrigin:
    """The origin of a block that was read from a file."""
    assert isinstance(block.origin, FileOrigin)
    return block.origin


def add_ids(ids: RepeatedIds, block: RowBlock) -> None:
    """Look for ids of the block that were there before."""
    origin = origin_of(block)
    ids.add(
        [row.get("id") if isinstance(row, dict) else None for row in block.rows],
        lambda index: origin.place(origin.numbers[index], block.rows[index]),
    )


def pack_file_block(
    block: RowBlock, needs: FieldNeeds, *, skip_invalid: bool
) -> tuple[RowBlock, SampleBatch]:
    """Read and pack a block of a file.

    With ``skip_invalid`` the block comes back without its bad rows, which are then in the faults of
    its origin.

    Raises
    ------
    InputError
        Naming file, row and field of the first bad row, unless they are to be skipped.
    """
    origin = origin_of(block)
    if not origin.faults:
        try:
            return _packed(block, needs)
        except SampleError:
            pass
    faults = row_faults(block, needs)
    if not skip_invalid:
        raise InputError(f"{origin.source}, {faults[0]}")
    bad = {fault.number for fault in faults}
    kept = [index for index, number in enumerate(origin.numbers) if number not in bad]
    sound = replace(origin, numbers=[origin.numbers[index] for index in kept], faults=faults)
    return _packed(RowBlock(0, [block.rows[index] for index in kept], sound), needs)


def _packed(block: RowBlock, needs: FieldNeeds) -> tuple[RowBlock, SampleBatch]:
    read = read_rows(block.rows, 0, needs, block.origin)
    return read, pack_block(read, needs)


def row_faults(block: RowBlock, needs: FieldNeeds) -> list[RowFault]:
    """The block's bad rows in order, each with its first fault."""
    origin = origin_of(block)
    faults = list(origin.faults)
    try:
        _packed(block, needs)
    except SampleError:
        for number, row in zip(origin.numbers, block.rows, strict=True):
            try:
                pack_block(read_rows([row], 0, needs), needs)
            except SampleError as error:
                faults.append(RowFault(number, origin.place(number, row), error.fault))
    return sorted(faults, key=lambda fault: fault.number)
