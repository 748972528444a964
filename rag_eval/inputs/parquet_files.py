"""Files of columns, Parquet and Arrow -> blocks of rows whose texts stay where they are."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

from rag_eval.errors import InputError
from rag_eval.inputs.arrow.arrays import open_arrow
from rag_eval.inputs.arrow.blocks import ArrowBlock, arrow_blocks, check_truths
from rag_eval.inputs.byte_files import MAX_ROW_BYTES, ROW_OPTION
from rag_eval.inputs.sample_fields import split_gold
from rag_eval.inputs.schemas.maps import FieldMap, FirstRows
from rag_eval.inputs.wanted_columns import check_columns
from rag_eval.plumbing.extras import pyarrow
from rag_eval.plumbing.interrupts import result_of, uninterrupted
from rag_eval.plumbing.unreadable import unreadable

if TYPE_CHECKING:
    import pyarrow as pa

# Rows of a record batch, at most: what is done once for each takes as long as scoring hundreds of
# short rows. Of long rows fewer, so that a batch has some megabytes; but their size counts columns
# that are not read, too, so never few.
_BATCH_ROWS: Final = 2048
_FEWEST_ROWS: Final = 256
_BATCH_BYTES: Final = 1 << 22
_LOOKED_AT_ROWS: Final = 64
_LIST_OF_TEXTS: Final = re.compile(r"(?:large_)?list<\w+: (?:large_)?string(?: not null)?>")
_ARROW_MAGIC: Final = b"ARROW1"
_END: Final = object()

_Item = TypeVar("_Item")


class ColumnFile:
    """A file of columns that is open; ``position`` is how far it has been read, in bytes."""

    def __init__(self, path: Path, batches: _ParquetBatches | _ArrowBatches) -> None:
        self._path = path
        self._batches = batches
        self._rows_read = 0

    @property
    def position(self) -> int:
        """By the share of its rows."""
        n_rows = self._batches.n_rows
        return self._path.stat().st_size * self._rows_read // n_rows if n_rows else 0

    def blocks(
        self,
        fields_of: Callable[[Sequence[str], FirstRows], FieldMap],
        skip_rows: int = 0,
        extra_columns: Sequence[str] = (),
        optional_columns: Sequence[str] = (),
        *,
        is_mapped: bool = False,
        gold_separator: str | None = None,
    ) -> Iterator[ArrowBlock]:
        """The rows from row ``skip_rows`` on; ``fields_of`` maps the columns.

        Only the columns of our fields are read, ``extra_columns``, and those of
        ``optional_columns`` that are there. ``is_mapped`` says that the caller has named the column
        of the ground truth, whose texts ``gold_separator`` splits.
        """
        names = self._batches.schema.names
        paths = open_arrow(self._batches.schema.empty_table()).paths()
        fields = fields_of(paths, self._first_rows).paths
        if not is_mapped:
            check_truths(paths, str(self._path))
        check_columns(extra_columns, names, self._path)
        wanted = {*extra_columns, *optional_columns}
        wanted.update(_column_of(path, names) for path in fields.values())
        columns = [name for name in names if name in wanted]
        unread = [name for name in names if name not in wanted]
        # Closed with the file: a run may end in the middle.
        with closing(read_ahead(self._batches.read(columns, skip_rows))) as batches:
            for first_row, batch in batches:
                read = batch
                if gold_separator is not None and "ground_truth" in fields:
                    read = _with_golds(batch, fields["ground_truth"], gold_separator)
                for block in arrow_blocks(
                    open_arrow(read), fields, origin_name=str(self._path), first_row=first_row
                ):
                    block.held, block.unread = batch, unread
                    # Before others give it a number among the rows of all files.
                    end = block.first_row + len(block)
                    yield block
                    self._rows_read = end

    def _first_rows(self, paths: Sequence[str]) -> list[dict[str, Any]]:
        """Some rows with the columns of some paths; none where their types say what they hold."""
        schema = self._batches.schema
        columns = list(dict.fromkeys(_column_of(path, schema.names) for path in paths))
        if not columns or all(_is_list_of_texts(schema.field(name).type) for name in columns):
            return []
        for _, batch in self._batches.read(columns, 0):
            rows: list[dict[str, Any]] = batch.slice(0, _LOOKED_AT_ROWS).to_pylist()
            return rows
        return []


def _is_list_of_texts(kind: pa.DataType) -> bool:
    return _LIST_OF_TEXTS.fullmatch(str(kind)) is not None


def _with_golds(batch: pa.RecordBatch, name: str, separator: str) -> pa.RecordBatch:
    """The batch with each ground truth as a list of acceptable answers; lists stay what they are.

    Raises
    ------
    InputError
        When the ground truth is a member of another column, which cannot be replaced.
    """
    pa = pyarrow("splitting ground truths")
    place = batch.schema.get_field_index(name)
    if place < 0:
        raise InputError(f"ground truths in {name!r} cannot be split: it is not a top-level column")
    column = batch.column(place)
    if not pa.types.is_nested(column.type):
        texts = column.to_pylist()
        golds = [split_gold(text, separator) if isinstance(text, str) else text for text in texts]
        lists = [[gold] if isinstance(gold, str) else gold or None for gold in golds]
        if any(isinstance(text, str) for text in texts):
            column = pa.array(lists, pa.list_(pa.string()))
    return batch.set_column(place, name, column)


def _column_of(path: str, names: Sequence[str]) -> str:
    """The column that a path begins in; a column may have dots in its own name."""
    found = [name for name in names if path == name or path.startswith((f"{name}.", f"{name}["))]
    return max(found, key=len, default=path)


class _ParquetBatches:
    """Record batches of a Parquet file."""

    def __init__(self, path: Path, max_row_bytes: int | None) -> None:
        from pyarrow import parquet

        self._path = path
        self._max_row_bytes = MAX_ROW_BYTES if max_row_bytes is None else max_row_bytes
        self._advice = f"; to read longer rows, raise {ROW_OPTION}" if max_row_bytes else ""
        self._file = parquet.ParquetFile(path, pre_buffer=True)
        self.schema: pa.Schema = self._file.schema_arrow
        self.n_rows: int = self._file.metadata.num_rows

    def read(self, columns: Sequence[str], skip_rows: int) -> Iterator[tuple[int, pa.RecordBatch]]:
        """Each batch with the number of its first row."""
        first_row = 0
        for group in range(self._file.num_row_groups):
            found = self._file.metadata.row_group(group)
            if first_row + found.num_rows <= skip_rows:
                first_row += found.num_rows
                continue
            self._check_size(group, first_row, frozenset(columns))
            fitting = _BATCH_BYTES * found.num_rows // max(1, found.total_byte_size)
            for batch in self._file.iter_batches(
                min(max(fitting, _FEWEST_ROWS), _BATCH_ROWS),
                row_groups=[group],
                columns=columns,
                use_threads=False,
            ):
                yield from _from_row(first_row, batch, skip_rows)
                first_row += batch.num_rows

    def _check_size(self, group: int, first_row: int, columns: frozenset[str]) -> None:
        """Refuse rows if at least one of them is too long, before any is unpacked.

        The footer tells no more than how much all of them are, packed as dictionaries and runs.
        """
        found = self._file.metadata.row_group(group)
        most = self._max_row_bytes * max(1, found.num_rows)
        # All columns first: in pyarrow a look at one whose statistics are damaged ends the process.
        if found.total_byte_size <= most:
            return
        parts = map(found.column, range(found.num_columns))
        n_bytes = sum(
            part.total_uncompressed_size
            for part in parts
            if _column_of(part.path_in_schema, self.schema.names) in columns
        )
        if n_bytes > most:
            raise InputError(
                f"{self._path}, row {first_row + 1}: the row group that begins here unpacks to "
                f"{n_bytes:,} bytes, which is more than {self._max_row_bytes:,} bytes per row "
                f"(rows: {found.num_rows:,}){self._advice}"
            )


class _ArrowBatches:
    """Record batches of an Arrow file, or of a stream in a file."""

    n_rows = 0  # not known before they are read

    def __init__(self, path: Path, max_row_bytes: int | None) -> None:
        from pyarrow import OSFile, ipc

        file = OSFile(str(path))
        # Some tools keep streams under the same suffix. A damaged file is not read as a stream: its
        # first letters would be a length, for which 1.3 GB are asked for.
        is_file = file.read(len(_ARROW_MAGIC)) == _ARROW_MAGIC
        file.seek(0)
        self._file = ipc.open_file(file) if is_file else ipc.open_stream(file)
        self.schema: pa.Schema = self._file.schema

    def read(self, columns: Sequence[str], skip_rows: int) -> Iterator[tuple[int, pa.RecordBatch]]:
        """Each batch with the number of its first row."""
        first_row = 0
        for batch in self._batches():
            selected = batch.select(columns)
            # Lengths, offsets and places in dictionaries are what the file says, and pyarrow goes
            # to them unchecked when it converts or writes what it was given.
            selected.validate(full=True)
            yield from _from_row(first_row, selected, skip_rows)
            first_row += batch.num_rows

    def _batches(self) -> Iterator[pa.RecordBatch]:
        if not hasattr(self._file, "num_record_batches"):
            yield from self._file
            return
        for number in range(self._file.num_record_batches):
            yield self._file.get_batch(number)


def _from_row(
    first_row: int, batch: pa.RecordBatch, skip_rows: int
) -> Iterator[tuple[int, pa.RecordBatch]]:
    begin = max(0, skip_rows - first_row)
    if begin < batch.num_rows:
        yield first_row + begin, batch.slice(begin)


@contextmanager
def opened_batches(
    path: Path, max_row_bytes: int | None = None
) -> Iterator[_ParquetBatches | _ArrowBatches]:
    """Open a Parquet or Arrow file, to read batches of some of its columns.

    ``max_row_bytes`` is for callers that have an option for it, and for Parquet alone: an Arrow
    file tells no sizes before it is unpacked.

    Raises
    ------
    InputError
        When it cannot be read, or is damaged.
    MissingExtraError
        Without pyarrow.
    """
    pa = pyarrow(f"reading {path}")
    opened = _ParquetBatches if path.suffix.lower() == ".parquet" else _ArrowBatches
    try:
        yield opened(path, max_row_bytes)
    except OSError as error:
        raise unreadable(path, error) from None
    except (pa.ArrowException, UnicodeDecodeError) as error:
        raise InputError(f"{path} is not valid {path.suffix[1:].capitalize()}: {error}") from None


@contextmanager
def opened_columns(path: Path, max_row_bytes: int) -> Iterator[ColumnFile]:
    """Open a Parquet or Arrow file of samples.

    Raises
    ------
    InputError, MissingExtraError
        As for :func:`opened_batches`.
    """
    with opened_batches(path, max_row_bytes) as batches:
        yield ColumnFile(path, batches)


def read_ahead(items: Iterator[_Item]) -> Generator[_Item, None, None]:
    """The items, each taken from the iterator by another thread while its predecessor is used.

    Pays where taking one leaves the interpreter to others, as decoding of columns does.
    """
    with ThreadPoolExecutor(1, thread_name_prefix="rag_eval_reader") as reader:

        def submitted() -> Future[_Item | object]:
            return reader.submit(next, items, _END)

        coming = uninterrupted(submitted)
        while (item := result_of(coming)) is not _END:
            coming = uninterrupted(submitted)
            yield item  # type: ignore[misc]  # not the end
