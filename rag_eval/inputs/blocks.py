"""Blocks of consecutive rows, into which every input is cut; not packed for the kernels yet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, Protocol

if TYPE_CHECKING:
    from rag_eval.inputs.samples import FieldNeeds, SampleLike
    from rag_eval.kernels.columns import SampleBatch

KEPT_FAULTS: Final = 10
"""Rows that cannot be scored that a report names; the others are counted."""

_SHOWN_ID: Final = 60


@dataclass(frozen=True, slots=True)
class RowFault:
    """A row that cannot be scored, and the first thing wrong with it.

    Attributes
    ----------
    number : int
        Its line, from 1, or its place in an array or a table, from 0.
    name : str
        ``line 17 ("q-0042")``.
    """

    number: int
    name: str
    fault: str

    def __str__(self) -> str:
        return f"{self.name}: {self.fault}"


@dataclass(slots=True)
class FileOrigin:
    """Where in a file the rows of a block were read.

    Attributes
    ----------
    source : str
        The file, as messages call it.
    unit : {"line", "row"}
        What ``numbers`` count.
    numbers : sequence of int
        One per row; lines from 1, rows from 0.
    ordinals : sequence of int
        Per row its place among all rows of the input, from 0, those with faults counted.
    faults : list of RowFault
        The rows that were left out.
    file, file_first_row : int
        Number of the file among those of the input, and how many rows come before it.
    """

    source: str
    unit: str
    numbers: Sequence[int] = field(default_factory=list)
    ordinals: Sequence[int] = field(default_factory=list)
    faults: list[RowFault] = field(default_factory=list)
    file: int = 0
    file_first_row: int = 0

    def place(self, number: int, sample: object) -> str:
        """``line 17 ("q-0042")``: how messages about the file call a row."""
        count = number + 1 if self.unit == "row" else number  # people count rows from 1
        where = f"{self.unit} {count}"
        found = sample.get("id") if isinstance(sample, dict) else None
        if not isinstance(found, (str, int)):
            return where
        shown = str(found)
        return f'{where} ("{shown if len(shown) <= _SHOWN_ID else shown[:_SHOWN_ID] + "…"}")'

    def name(self, index: int, sample: object) -> str:
        """``data.jsonl, line 17 ("q-0042")``: how errors call the block's row at ``index``."""
        return f"{self.source}, {self.place(self.numbers[index], sample)}"

    def add_fault(self, number: int, sample: object, fault: str) -> None:
        """Note that a row is not a sample."""
        self.faults.append(RowFault(number, self.place(number, sample), fault))

    def taken(self, indices: Sequence[int]) -> FileOrigin:
        """The origin of some of the rows."""
        return replace(
            self,
            numbers=[self.numbers[index] for index in indices],
            ordinals=[self.ordinals[index] for index in indices],
        )


class SampleBlock(Protocol):
    """Some consecutive rows of an input.

    Attributes
    ----------
    first_row : int
        Number of its first row in the input, from 0.
    origin : FileOrigin or None
        Where its rows come from, when that is not the caller's object.
    n_bytes : int
        Approximate length of its texts.
    absent : frozenset of str
        Fields that no row of the source has and that the overlap profile is to do without.
    """

    first_row: int
    origin: FileOrigin | None
    absent: frozenset[str]

    @property
    def n_bytes(self) -> int: ...

    def __len__(self) -> int: ...

    def name(self, index: int) -> str:
        """How errors call the row at ``index``."""
        ...

    def sample(self, index: int) -> SampleLike:
        """One row, under the names of our fields."""
        ...

    def ids(self) -> list[Any]:
        """The id of each row, None if it has none."""
        ...

    def values(self, name: str) -> list[Any]:
        """A column of the input under its own name; None if a row lacks it."""
        ...

    def plain_rows(self, names: Sequence[str]) -> list[dict[str, Any]] | None:
        """All rows, if they are dicts that hold columns of these names as the input has them."""
        ...

    def pack(self, needs: FieldNeeds) -> SampleBatch:
        """The texts as kernels read them.

        Raises
        ------
        SampleError
            For a row that cannot be scored.
        """
        ...

    def fault(self, index: int, needs: FieldNeeds) -> str | None:
        """The fault of one row; None if it can be scored."""
        ...

    def taken(self, indices: Sequence[int]) -> SampleBlock:
        """A block of some of its rows."""
        ...


def values_or_metadata(block: SampleBlock, name: str) -> list[Any]:
    """A column of the input; where a row has none, what its metadata has under that name."""
    values = block.values(name)
    if None not in values:
        return values
    metadata = block.values("metadata")
    return [
        found.get(name) if own is None and isinstance(found, Mapping) else own
        for own, found in zip(values, metadata, strict=True)
    ]
