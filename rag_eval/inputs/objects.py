"""Samples in memory, whatever holds them -> blocks of rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sized
from itertools import chain, islice
from typing import Any, Final, NamedTuple

from rag_eval.inputs.arrow.arrays import ArrowSource, is_arrow, open_arrow
from rag_eval.inputs.arrow.blocks import arrow_blocks, check_truths
from rag_eval.inputs.blocks import SampleBlock
from rag_eval.inputs.row_blocks import sample_blocks
from rag_eval.inputs.samples import FieldNeeds
from rag_eval.inputs.schemas.fields import FieldMap, column_map, field_map, paths_of_rows

# Rows of a data set of many files that are held at a time.
_DATASET_ROWS = 4096
# Rows that tell where fields are: one alone may lack some.
_LOOKED_AT_ROWS = 1024


class FieldNames(NamedTuple):
    """What the caller says about the names of fields; see :func:`field_map`."""

    schema: str | None = None
    mapping: Mapping[str, str] | None = None

    @property
    def are_given(self) -> bool:
        """Whether anything is said; then rows that are dicts may have another tool's names."""
        return self.schema is not None or bool(self.mapping)

    def map(self, paths: Iterable[str]) -> FieldMap:
        """Where our fields are in rows with these paths."""
        return field_map(list(paths), schema=self.schema, mapping=self.mapping)


OUR_NAMES: Final = FieldNames()


def is_table(samples: object) -> bool:
    """Whether samples are columns of an object and not objects of their own.

    Such are Arrow tables, batches and streams of any library, data frames, and data sets of
    Hugging Face.
    """
    if isinstance(samples, (list, tuple)):
        return False
    return is_arrow(samples) or _is_frame(samples) or _is_dataset(samples)


def _is_frame(samples: object) -> bool:
    # iloc first: a lazy frame of polars has none, and warns when it is asked for its columns.
    return hasattr(samples, "iloc") and hasattr(samples, "columns") and hasattr(samples, "to_dict")


def _is_dataset(samples: object) -> bool:
    return hasattr(samples, "with_format") and hasattr(samples, "features")


def object_blocks(
    samples: Any, needs: FieldNeeds, threads: int, names: FieldNames = OUR_NAMES
) -> Iterator[SampleBlock]:
    """The rows of a table, or of an iterable of samples.

    Columns may have the names of any of :data:`rag_eval.inputs.schemas.fields.SCHEMA_NAMES`, and so
    may the fields of dicts where ``names`` says so; samples have our names already.
    """
    if not is_table(samples):
        if names.are_given:
            yield from _renamed_blocks(iter(samples), needs, threads, names)
        else:
            yield from sample_blocks(samples, needs, threads)
    elif _is_dataset(samples):
        first_row = 0
        for table in samples.with_format("arrow").iter(_DATASET_ROWS):
            yield from _table_blocks(open_arrow(table), names, first_row)
            first_row += table.num_rows
    else:
        source = _opened(samples)
        if source is None:
            yield from sample_blocks(_frame_rows(samples, names), needs, threads)
        else:
            yield from _table_blocks(source, names)


def _renamed_blocks(
    samples: Iterator[Any], needs: FieldNeeds, threads: int, names: FieldNames
) -> Iterator[SampleBlock]:
    """Rows of another tool's names, under ours; the first of them tell where fields are."""
    first = list(islice(samples, _LOOKED_AT_ROWS))
    if not first:
        return
    fields = names.map(paths_of_rows(dict(row) for row in first if isinstance(row, Mapping)))
    rows = (
        fields.row(dict(row)) if isinstance(row, Mapping) else row for row in chain(first, samples)
    )
    for block in sample_blocks(rows, needs, threads):
        block.renamed = fields.renamed
        yield block


def _opened(table: Any) -> ArrowSource | None:
    """The columns of a table; None for a frame of pandas that cannot give them.

    It needs pyarrow for that, and one before 2.2 cannot at all.
    """
    if not is_arrow(table):
        return None
    try:
        return open_arrow(table)
    except ImportError:
        if _is_frame(table):
            return None
        raise


def _table_blocks(
    source: ArrowSource, names: FieldNames, first_row: int = 0
) -> Iterator[SampleBlock]:
    paths = source.paths()
    fields = column_map(paths, schema=names.schema, mapping=names.mapping).paths
    _check_truths(paths, names)
    return arrow_blocks(source, fields, first_row=first_row)


def _frame_rows(frame: Any, names: FieldNames) -> Iterator[dict[str, Any]]:
    """The rows of a frame of pandas; what counts as missing there is None."""
    paths = [str(name) for name in frame.columns]
    fields = names.map(paths)
    _check_truths(paths, names)
    columns = [frame.iloc[:, place].tolist() for place in range(len(paths))]
    for row in zip(*columns, strict=True):
        yield fields.row({path: _plain(value) for path, value in zip(paths, row, strict=True)})


def _check_truths(paths: Iterable[str], names: FieldNames) -> None:
    if not {"ground_truth", "groundTruth"} & set(names.mapping or ()):
        check_truths(list(paths), "the table")


def _plain(value: Any) -> Any:
    """A cell as a plain value: lists that came as arrays are lists again."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, (str, list, tuple, dict)):
        return value
    # What is missing is unequal to itself, or like pandas.NA does not say whether it is.
    return None if value is None or (value != value) is not False else value


def row_count(samples: object) -> int | None:
    """How many samples there are, where that can be said without computing them."""
    # The length of a relation of duckdb is a query: it would run twice, or read what can be read
    # once.
    if isinstance(samples, Sized) and (_is_frame(samples) or not is_table(samples)):
        return len(samples)
    for name in ("num_rows", "height"):
        found = getattr(samples, name, None)
        if isinstance(found, int):
            return found
    return None
