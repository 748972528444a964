"""Samples in memory, whatever holds them -> blocks of rows."""

from __future__ import annotations

from collections.abc import Iterator, Sized
from typing import Any

from rag_eval.inputs.arrow.arrays import ArrowSource, is_arrow, open_arrow
from rag_eval.inputs.arrow.blocks import arrow_blocks, check_truths
from rag_eval.inputs.blocks import SampleBlock
from rag_eval.inputs.samples import FieldNeeds, sample_blocks
from rag_eval.inputs.schemas.fields import column_map, field_map

# Rows of a data set of many files that are held at a time.
_DATASET_ROWS = 4096


def is_table(samples: object) -> bool:
    """Whether samples are columns of an object and not objects of their own.

    Such are Arrow tables, batches and streams of any library, data frames, and data sets of
    Hugging Face.
    """
    return is_arrow(samples) or _is_frame(samples) or _is_dataset(samples)


def _is_frame(samples: object) -> bool:
    # iloc first: a lazy frame of polars has none, and warns when it is asked for its columns.
    return hasattr(samples, "iloc") and hasattr(samples, "columns") and hasattr(samples, "to_dict")


def _is_dataset(samples: object) -> bool:
    return hasattr(samples, "with_format") and hasattr(samples, "features")


def object_blocks(samples: Any, needs: FieldNeeds, threads: int) -> Iterator[SampleBlock]:
    """The rows of a table, or of an iterable of samples.

    Columns may have the names of any of :data:`rag_eval.inputs.schemas.fields.SCHEMA_NAMES`.
    """
    if not is_table(samples):
        yield from sample_blocks(samples, needs, threads)
    elif _is_dataset(samples):
        first_row = 0
        for table in samples.with_format("arrow").iter(_DATASET_ROWS):
            yield from _table_blocks(open_arrow(table), first_row)
            first_row += table.num_rows
    else:
        source = _opened(samples)
        if source is None:
            yield from sample_blocks(_frame_rows(samples), needs, threads)
        else:
            yield from _table_blocks(source)


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


def _table_blocks(source: ArrowSource, first_row: int = 0) -> Iterator[SampleBlock]:
    paths = source.paths()
    fields = column_map(paths).paths
    check_truths(paths, "the table")
    return arrow_blocks(source, fields, first_row=first_row)


def _frame_rows(frame: Any) -> Iterator[dict[str, Any]]:
    """The rows of a frame of pandas; what counts as missing there is None."""
    names = [str(name) for name in frame.columns]
    fields = field_map(names)
    check_truths(names, "the table")
    columns = [frame.iloc[:, place].tolist() for place in range(len(names))]
    for row in zip(*columns, strict=True):
        sample = {name: _plain(value) for name, value in zip(names, row, strict=True)}
        yield sample if fields.is_native else fields.row(sample)


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
