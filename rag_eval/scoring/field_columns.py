"""Some rows of an input -> the fields that scorers read, column by column."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from types import NoneType
from typing import Any

from rag_eval.inputs.blocks import SampleBlock
from rag_eval.scoring.scorer_fields import block_fields, plain_columns


@dataclass(frozen=True, slots=True)
class FieldColumns:
    """Values by field, None where a row lacks it.

    Attributes
    ----------
    columns : dict
        Only fields that some row has.
    gaps : frozenset of str
        The fields among them that some row lacks.
    """

    n_rows: int
    columns: dict[str, list[Any]]
    gaps: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        kinds = {name: set(map(type, values)) for name, values in self.columns.items()}
        for name in [name for name, found in kinds.items() if found <= {NoneType}]:
            del self.columns[name]
        gaps = frozenset(name for name in self.columns if NoneType in kinds[name])
        object.__setattr__(self, "gaps", gaps)

    def places(self, needed: Sequence[str]) -> list[int]:
        """The rows that have all of some fields."""
        if not all(name in self.columns for name in needed):
            return []
        left = list(range(self.n_rows))
        for name in self.gaps.intersection(needed):
            values = self.columns[name]
            left = [place for place in left if values[place] is not None]
        return left

    def rows(self, names: Sequence[str], places: Sequence[int]) -> list[dict[str, Any]]:
        """Some fields of some rows, each without those that it lacks."""
        read = {name: self.columns[name] for name in names if name in self.columns}
        if len(places) < self.n_rows:
            read = {name: [values[place] for place in places] for name, values in read.items()}
        if not read:
            return [{} for _ in places]
        given = list(read)
        if len(given) == 1 and self.gaps.isdisjoint(given):
            name = given[0]
            return [{name: value} for value in read[name]]  # a fifth of the time of zip
        rows = zip(*read.values(), strict=True)
        if self.gaps.isdisjoint(given):
            return [dict(zip(given, row)) for row in rows]  # noqa: B905  # each is as long
        return [
            {name: value for name, value in zip(given, row, strict=True) if value is not None}
            for row in rows
        ]


def field_columns(block: SampleBlock, names: Sequence[str]) -> FieldColumns:
    """The fields of every row of a block, as ``scorer_fields.block_fields`` has them.

    Raises
    ------
    SampleError
        For the first row that has a field that is none.
    """
    columns = plain_columns(block, names)
    if columns is None:
        rows = block_fields(block, names)
        columns = {name: [row.get(name) for row in rows] for name in names}
    return FieldColumns(len(block), columns)
