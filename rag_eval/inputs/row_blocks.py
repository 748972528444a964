"""Rows that came as objects, cut into blocks; their texts are read and packed when scored."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from operator import length_hint
from typing import Any, Final, TypeAlias

from rag_eval.errors import InputError
from rag_eval.inputs.blocks import FileOrigin
from rag_eval.inputs.row_texts import RowTexts, raise_first_fault, read_rows, row_name
from rag_eval.inputs.samples import FieldNeeds, SampleError, SampleLike, id_of
from rag_eval.kernels.columns import SampleBatch

RowBlocks: TypeAlias = "Generator[RowBlock, None, None]"

# Texts of one block: so many that what a call costs does not show, that of kernels that begin
# without memory; so few that they lie in a cache from packing to scoring, and that Ctrl-C gets its
# turn.
BLOCK_BYTES: Final = 1 << 20
# Blocks are this many times as long on several threads: the interpreter's lock changes hands a few
# times for each, at some 50 microseconds.
_SHARED_BLOCK: Final = 2
# The last ones become shorter, down to this part of the others, so that no thread is busy with a
# whole block when the others are done.
_LAST_BLOCKS: Final = 8
_FIRST_BLOCK_ROWS: Final = 16
_MAX_BLOCK_ROWS: Final = 1024
# About this many rows of a block are counted to estimate its length.
_COUNTED_ROWS: Final = 16


@dataclass(slots=True)
class RowBlock:
    """Some consecutive rows as they came, and their texts where they were read already.

    See :class:`~rag_eval.inputs.blocks.SampleBlock`. ``text_bytes`` is 0 until somebody counted;
    ``renamed`` gives our name of a column of the file; ``may_be_infinite`` says that numbers of
    the rows were not looked at.
    """

    first_row: int
    rows: list[SampleLike]
    origin: FileOrigin | None = None
    text_bytes: int = 0
    renamed: Mapping[str, str] = field(default_factory=dict)
    texts: RowTexts | None = None
    id_values: list[Any] | None = None
    may_be_infinite: bool = False
    absent: frozenset[str] = frozenset()

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def n_bytes(self) -> int:
        """How long the block's texts are, about: one context in eight stands for all."""
        if self.text_bytes:
            return self.text_bytes
        if self.texts is None:
            return 1
        sampled = [text for text in self.texts.contexts[::8] if isinstance(text, str)]
        texts = sampled or [text for text in self.texts.answer if isinstance(text, str)]
        return 1 + sum(map(len, texts)) * (8 if sampled else 1)

    def name(self, index: int) -> str:
        """How errors call the row at ``index``."""
        return row_name(self.rows[index], index, self.first_row, self.origin)

    def sample(self, index: int) -> SampleLike:
        """The row at ``index``, as it came."""
        return self.rows[index]

    def ids(self) -> list[Any]:
        """The id of each row, None if it has none."""
        if self.id_values is None:
            self.id_values = [id_of(row) for row in self.rows]
        return self.id_values

    def values(self, name: str) -> list[Any]:
        """A column of the input under its own name; None if a row lacks it."""
        key = self.renamed.get(name, name)
        return [row.get(key) if isinstance(row, Mapping) else None for row in self.rows]

    def plain_rows(self, names: Sequence[str]) -> list[dict[str, Any]] | None:
        """All rows, if they are dicts that hold columns of these names as the input has them."""
        if not self.renamed.keys().isdisjoint(names) or set(map(type, self.rows)) != {dict}:
            return None
        return self.rows  # type: ignore[return-value]  # the line before has checked

    def pack(self, needs: FieldNeeds) -> SampleBatch:
        """The texts as kernels read them, read from the rows first where that was not done."""
        return (self.texts or self.read(needs)).pack()

    def read(self, needs: FieldNeeds) -> RowTexts:
        """The texts of the rows.

        Raises
        ------
        InputError
            For the first row that cannot be scored.
        """
        try:
            return read_rows(self.rows, self.first_row, needs, self.origin)
        except InputError:
            if self.origin is None:
                raise_first_fault(self.rows, self.first_row, needs)
            raise

    def fault(self, index: int, needs: FieldNeeds) -> str | None:
        """What is wrong with one row; None when it can be scored."""
        try:
            read_rows([self.rows[index]], 0, needs).pack()
        except SampleError as error:
            return error.fault
        return None

    def taken(self, indices: Sequence[int]) -> RowBlock:
        """Some of the rows, to be read again."""
        return RowBlock(
            self.first_row,
            [self.rows[index] for index in indices],
            None if self.origin is None else self.origin.taken(indices),
            self.text_bytes,
            self.renamed,
            absent=self.absent,
        )


def _plain_bytes(rows: list[Any], needs: FieldNeeds) -> int:
    """Approximate length of the texts of plain rows; 0 for other rows.

    Plain rows are dicts whose contexts, if these are needed, are lists of strings.
    """
    if set(map(type, rows)) != {dict}:
        return 0
    # Odd, so that a length that recurs every 64 rows is not the only one that is counted.
    step = max(1, len(rows) // _COUNTED_ROWS) | 1
    n_bytes = 0
    for row in rows[::step]:
        texts = row.get("contexts") if needs.contexts else [row.get("answer")]
        if type(texts) is not list or set(map(type, texts)) != {str}:
            return 0
        n_bytes += sum(map(len, texts))
    return 1 + step * n_bytes


def are_one_block(n_rows: int | None) -> bool:
    """Whether this many samples come as one block; None for an unknown number."""
    return n_rows is not None and n_rows <= _FIRST_BLOCK_ROWS


def sample_blocks(
    samples: Iterable[SampleLike], needs: FieldNeeds, threads: int = 1
) -> Iterator[RowBlock]:
    """Cut samples into blocks; how many rows one has follows from the block before."""
    rows = iter(samples)
    block_bytes = BLOCK_BYTES if threads == 1 else _SHARED_BLOCK * BLOCK_BYTES
    first_row, n_rows = 0, _FIRST_BLOCK_ROWS
    while block_rows := list(islice(rows, n_rows)):
        block = RowBlock(first_row, block_rows)
        # Threads read plain rows themselves. Read here are the first rows, so that their faults are
        # reported at once, and objects that may have to be read in the caller's thread.
        if threads > 1 and first_row:
            block.text_bytes = _plain_bytes(block_rows, needs)
        if not block.text_bytes:
            block.texts = block.read(needs)
            block.text_bytes = block.n_bytes  # who scores it asks again
        yield block
        first_row += len(block_rows)
        most = n_rows * block_bytes // block.n_bytes
        if threads > 1 and (left := length_hint(rows)):
            most = min(most, max(most // _LAST_BLOCKS, left // (2 * threads)))
        n_rows = max(1, min(_MAX_BLOCK_ROWS, most))
