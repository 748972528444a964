"""Where the texts of scored rows are kept, so that a row can be opened later."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

from rag_eval.inputs.blocks import SampleBlock
from rag_eval.inputs.row_texts import read_rows
from rag_eval.inputs.sample_fields import block_fields, fields_of
from rag_eval.inputs.samples import TEXT_FIELDS, FieldNeeds, SampleLike
from rag_eval.kernels.columns import GIVEN_ANSWER, GIVEN_CONTEXTS, GIVEN_QUESTION, SampleBatch
from rag_eval.metrics.contract import Fields
from rag_eval.samples import EvalSample
from rag_eval.scoring.engine import ScoredBlock


class RowStore(Protocol):
    """Gives back a row: as it came in, and packed for the kernels."""

    def add(self, scored: ScoredBlock, first_row: int) -> None:
        """Take a block that was scored, in order."""
        ...

    def sample(self, row: int) -> SampleLike:
        """The sample as it is echoed."""
        ...

    def packed(self, row: int) -> tuple[SampleBatch, int]:
        """A batch that holds the row, and the row's place in it."""
        ...

    def fields(self, row: int, names: Sequence[str]) -> Fields:
        """The fields of the row that scorers read."""
        ...


class ListedRows:
    """Rows of the caller list: nothing is copied."""

    __slots__ = ("_needs", "_samples")

    def __init__(self, samples: Sequence[SampleLike], needs: FieldNeeds) -> None:
        self._samples = samples
        self._needs = needs

    def add(self, scored: ScoredBlock, first_row: int) -> None:
        """Note the fields that no row has; the caller has the rows."""
        self._needs = self._needs.without(scored.rows.absent)

    def sample(self, row: int) -> SampleLike:
        """The caller's object."""
        return self._samples[row]

    def packed(self, row: int) -> tuple[SampleBatch, int]:
        """The row alone, packed again."""
        return read_rows([self._samples[row]], row, self._needs).pack(), 0

    def fields(self, row: int, names: Sequence[str]) -> Fields:
        """Those of the caller's object."""
        return fields_of(self._samples[row], names)


class RenamedRows(ListedRows):
    """Rows of a list of dicts that have other names for our fields: their texts are not copied."""

    __slots__ = ()
    _samples: list[SampleLike]

    def add(self, scored: ScoredBlock, first_row: int) -> None:
        """Keep the rows of a block under our names."""
        ListedRows.add(self, scored, first_row)
        self._samples += map(scored.rows.sample, range(len(scored.rows)))


class PackedRows:
    """Rows of a generator: their columns, and what the columns do not hold."""

    __slots__ = ("_batches", "_extras", "_first_rows", "_needs")

    def __init__(self, needs: FieldNeeds) -> None:
        self._needs = needs
        self._batches: list[SampleBatch] = []
        self._first_rows: list[int] = []
        self._extras: dict[int, dict[str, Any]] = {}

    def add(self, scored: ScoredBlock, first_row: int) -> None:
        """Keep a block that was scored, in order."""
        self._first_rows.append(first_row)
        self._batches.append(scored.batch)
        for index in range(len(scored.rows)):
            extra = self._unpacked(scored.rows.sample(index))
            if extra:
                self._extras[first_row + index] = extra

    def _unpacked(self, sample: SampleLike) -> dict[str, Any]:
        """The fields of a sample that its columns do not give back."""
        if isinstance(sample, EvalSample):
            fields: Mapping[str, Any] = sample.to_dict()
        else:
            fields = sample
        packed = {name for name in TEXT_FIELDS if getattr(self._needs, name)}
        if "ground_truth" in packed:
            packed.add("groundTruth")
        extra = {
            name: value
            for name, value in fields.items()
            if name not in packed or not _comes_back(name, value)
        }
        if extra.get("ground_truth") is not None:
            extra["groundTruth"] = extra.pop("ground_truth")
        return extra

    def sample(self, row: int) -> dict[str, Any]:
        """The sample, reassembled in the spelling of result files."""
        batch, place = self.packed(row)
        extra = self._extras.get(row, {})
        sample: dict[str, Any] = {}
        if self._needs.question and batch.gives(place, GIVEN_QUESTION):
            sample["question"] = batch.question.text(place)
        if self._needs.answer and batch.gives(place, GIVEN_ANSWER):
            sample["answer"] = batch.answer.text(place)
        if self._needs.contexts and batch.gives(place, GIVEN_CONTEXTS):
            sample["contexts"] = batch.row_context_texts(place)
        if self._needs.ground_truth and (truths := batch.row_truth_texts(place)):
            sample["groundTruth"] = truths if len(truths) > 1 else truths[0]
        return {**sample, **extra}

    def packed(self, row: int) -> tuple[SampleBatch, int]:
        """The batch that the row was scored in."""
        index = bisect_right(self._first_rows, row) - 1
        return self._batches[index], row - self._first_rows[index]

    def fields(self, row: int, names: Sequence[str]) -> Fields:
        """Those of the sample put together again."""
        return fields_of(self.sample(row), names)


def _comes_back(name: str, value: object) -> bool:
    """Whether columns give a text field back as it was.

    They hold an empty text for a null, and one ground truth as if it had come without a list.
    """
    if not isinstance(value, (list, tuple)):
        return isinstance(value, str) and value != ""
    return len(value) > (name != "contexts") and all(value)


class TableRows:
    """Rows of a table: its columns stay where they are."""

    __slots__ = ("_blocks", "_first_rows")

    def __init__(self) -> None:
        self._blocks: list[tuple[SampleBlock, SampleBatch]] = []
        self._first_rows: list[int] = []

    def add(self, scored: ScoredBlock, first_row: int) -> None:
        """Keep a block that was scored, in order."""
        self._first_rows.append(first_row)
        self._blocks.append((scored.rows, scored.batch))

    def sample(self, row: int) -> SampleLike:
        """The row as a dict."""
        block, _, place = self._found(row)
        return block.sample(place)

    def packed(self, row: int) -> tuple[SampleBatch, int]:
        """The batch that the row was scored in."""
        _, batch, place = self._found(row)
        return batch, place

    def fields(self, row: int, names: Sequence[str]) -> Fields:
        """From the columns of the table."""
        block, _, place = self._found(row)
        return block_fields(block.taken([place]), names)[0]

    def _found(self, row: int) -> tuple[SampleBlock, SampleBatch, int]:
        index = bisect_right(self._first_rows, row) - 1
        return *self._blocks[index], row - self._first_rows[index]


def store_for(
    samples: Iterable[SampleLike],
    needs: FieldNeeds,
    *,
    is_table: bool = False,
    are_renamed: bool = False,
) -> ListedRows | PackedRows | TableRows:
    """A reference to a list, tuple or table, or room for the columns of anything else.

    Rows of a list whose fields are renamed are kept as blocks have them.
    """
    if is_table:
        return TableRows()
    if isinstance(samples, (list, tuple)):
        return RenamedRows([], needs) if are_renamed else ListedRows(samples, needs)
    return PackedRows(needs)
