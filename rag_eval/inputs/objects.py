"""Samples in memory, in any container -> blocks of rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from itertools import chain, islice
from typing import Any, Final, NamedTuple, TypeAlias, TypeVar

from rag_eval.errors import InputError
from rag_eval.inputs.arrow.arrays import ArrowSource, is_arrow, open_arrow
from rag_eval.inputs.arrow.blocks import arrow_blocks, check_truths, first_rows
from rag_eval.inputs.blocks import SampleBlock
from rag_eval.inputs.row_blocks import sample_blocks
from rag_eval.inputs.samples import OUR_KEYS, FieldNeeds, has_our_names, how_to_convert
from rag_eval.inputs.schemas.contexts import context_texts
from rag_eval.inputs.schemas.fields import FieldMap, column_map, field_map, paths_of_rows
from rag_eval.inputs.schemas.maps import FirstRows

# Rows of a dataset of many files that are held at a time.
_DATASET_ROWS = 4096
# Rows that tell where fields are: one alone may lack some.
_LOOKED_AT_ROWS = 1024
# Rows that tell the shape of contexts; other shapes further on are read one by one.
_SHAPED_ROWS = 16


class FieldNames(NamedTuple):
    """The caller's options for names of fields; see :func:`field_map`."""

    schema: str | None = None
    mapping: Mapping[str, str] | None = None

    def map(self, paths: Iterable[str], first_rows: FirstRows) -> FieldMap:
        """Where our fields are in rows with these paths."""
        return field_map(
            list(paths), schema=self.schema, mapping=self.mapping, first_rows=first_rows
        )

    def is_needed_for(self, samples: Sequence[Any]) -> bool:
        """Whether some samples, which may be the first of many, have other names than ours.

        Contexts of another shape than a list of texts count as well.
        """
        if self.schema is not None or self.mapping:
            return True
        for row in samples[:_SHAPED_ROWS]:
            contexts = row.get("contexts") if isinstance(row, Mapping) else None
            if contexts is not None and context_texts(contexts) is not contexts:
                return True
        rows = (row for row in samples if type(row) is dict or isinstance(row, Mapping))
        if has_our_names(set().union(*rows)):
            return False
        try:
            return not self.map_of(samples).is_native
        except InputError:
            return True  # reading them says why

    def map_of(self, samples: Sequence[Any]) -> FieldMap:
        """Where our fields are in some samples."""
        rows = [dict(row) for row in samples if isinstance(row, Mapping)]
        return self.map(paths_of_rows(rows), lambda _: rows)


#: Where fields are -> those that rows may lack because no column is one.
AbsentIn: TypeAlias = Callable[[FieldMap], frozenset[str]]
_Block = TypeVar("_Block", bound=SampleBlock)


def _none_absent(_: FieldMap) -> frozenset[str]:
    return frozenset()


OUR_NAMES: Final = FieldNames()


def is_table(samples: object) -> bool:
    """Whether samples are columns of an object and not objects of their own.

    Such are Arrow tables, batches and streams of any library, data frames, and datasets of
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
    samples: Any,
    needs: FieldNeeds,
    threads: int,
    names: FieldNames = OUR_NAMES,
    absent_in: AbsentIn = _none_absent,
) -> Iterator[SampleBlock]:
    """The rows of a table, or of an iterable of samples.

    Columns may have the names of any of :data:`rag_eval.inputs.schemas.fields.SCHEMA_NAMES`, and so
    may the fields of dicts where ``names`` says so; samples have our names already. ``absent_in``
    tells which fields rows of such columns may lack; it is asked of every table.
    """
    if not is_table(samples):
        first, rest = looked_at(samples)
        if first and (how := how_to_convert(first[0])):
            raise InputError(
                f"sample 0 must be a dict or an EvalSample, got {type(first[0]).__name__}. To "
                f"convert each: {how}"
            )
        if names.is_needed_for(first):
            yield from _renamed_blocks(first, rest, needs, threads, names, absent_in)
        else:
            absent = _absent_in_samples(first, needs, names, absent_in)
            given = samples if isinstance(samples, (list, tuple)) else chain(first, rest)
            blocks = sample_blocks(given, needs.without(absent), threads)
            yield from _lacking(blocks, absent)
    elif _is_dataset(samples):
        first_row = 0
        for table in samples.with_format("arrow").iter(_DATASET_ROWS):
            yield from _table_blocks(open_arrow(table), names, absent_in, first_row)
            first_row += table.num_rows
    else:
        source = _opened(samples)
        if source is None:
            fields, rows = _frame_rows(samples, names)
            absent = absent_in(fields)
            yield from _lacking(sample_blocks(rows, needs.without(absent), threads), absent)
        else:
            yield from _table_blocks(source, names, absent_in)


def _absent_in_samples(
    first: Sequence[Any], needs: FieldNeeds, names: FieldNames, absent_in: AbsentIn
) -> frozenset[str]:
    """The fields that samples of our names may lack, by the first of them."""
    wanted = [name for name in ("question", "answer", "contexts") if getattr(needs, name)]
    for row in first:
        if not isinstance(row, Mapping) or all(name in row for name in wanted):
            return frozenset()
    return absent_in(names.map_of(first)) if first else frozenset()


def _lacking(blocks: Iterable[_Block], absent: frozenset[str]) -> Iterator[_Block]:
    for block in blocks:
        block.absent = absent
        yield block


def looked_at(samples: Iterable[Any]) -> tuple[Sequence[Any], Iterator[Any]]:
    """The first samples, which tell where fields are, and the others."""
    if isinstance(samples, (list, tuple)):
        return samples[:_LOOKED_AT_ROWS], iter(samples[_LOOKED_AT_ROWS:])
    rest = iter(samples)
    first = list(islice(rest, 1))
    # Of rows that come one by one, no more are waited for than is needed.
    if first and not (isinstance(first[0], Mapping) and first[0].keys() <= OUR_KEYS):
        is_sample = not isinstance(first[0], Mapping)
        first += [] if is_sample else islice(rest, _LOOKED_AT_ROWS - 1)
    return first, rest


class FirstKept:
    """Samples that come one by one; the first are kept, because they tell where fields are."""

    def __init__(self, samples: Iterable[Any]) -> None:
        self._samples = samples
        self.first: list[Any] = []

    def __iter__(self) -> Iterator[Any]:
        rest = iter(self._samples)
        for sample in islice(rest, _LOOKED_AT_ROWS):
            self.first.append(sample)
            yield sample
        yield from rest


def _renamed_blocks(
    first: Sequence[Any],
    rest: Iterator[Any],
    needs: FieldNeeds,
    threads: int,
    names: FieldNames,
    absent_in: AbsentIn,
) -> Iterator[SampleBlock]:
    """Rows of another tool's names, under ours; the first of them tell where fields are."""
    if not first:
        return
    fields = names.map_of(first)
    rows = (
        fields.row(dict(row)) if isinstance(row, Mapping) else row for row in chain(first, rest)
    )
    absent = absent_in(fields) if all(isinstance(row, Mapping) for row in first) else frozenset()
    for block in _lacking(sample_blocks(rows, needs.without(absent), threads), absent):
        block.renamed = fields.renamed
        yield block


def _opened(table: Any) -> ArrowSource | None:
    """The columns of a table; None for a frame of pandas that cannot give them.

    It needs pyarrow for that, one before 2.2 cannot at all, and none can where a column, be it one
    that nobody reads, has values of several types.
    """
    if not is_arrow(table):
        return None
    try:
        return open_arrow(table)
    except (ImportError, InputError):
        if _is_frame(table):
            return None
        raise


def _table_blocks(
    source: ArrowSource, names: FieldNames, absent_in: AbsentIn, first_row: int = 0
) -> Iterator[SampleBlock]:
    paths = source.paths()
    fields = column_map(
        paths,
        schema=names.schema,
        mapping=names.mapping,
        first_rows=lambda wanted: first_rows(source, wanted),
    )
    _check_truths(paths, names)
    return _lacking(arrow_blocks(source, fields.paths, first_row=first_row), absent_in(fields))


def _frame_rows(frame: Any, names: FieldNames) -> tuple[FieldMap, Iterator[dict[str, Any]]]:
    """The fields and rows of a frame of pandas; what counts as missing there is None."""
    paths = [str(name) for name in frame.columns]
    columns = [frame.iloc[:, place].tolist() for place in range(len(paths))]
    rows = (
        {path: _plain(value) for path, value in zip(paths, row, strict=True)}
        for row in zip(*columns, strict=True)
    )
    first = list(islice(rows, _LOOKED_AT_ROWS))
    fields = names.map([*paths, *_nested_paths(first)], lambda _: first)
    _check_truths(paths, names)
    return fields, map(fields.row, chain(first, rows))


def _nested_paths(rows: list[dict[str, Any]]) -> list[str]:
    """The paths below the columns of some rows."""
    return [path for path in paths_of_rows(rows) if path not in rows[0]]


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


def named_fields(samples: Sequence[Any] | FirstKept, names: FieldNames) -> list[FieldMap]:
    """Where our fields are in samples that were read; empty where their names cannot be told."""
    if isinstance(samples, FirstKept):
        samples = samples.first
    try:
        return [names.map_of(samples[:_LOOKED_AT_ROWS])]
    except InputError:
        return []


def row_count(samples: object) -> int | None:
    """Number of samples, if it is known without computing them."""
    # The length of a relation of duckdb is a query: it would run twice, or read what can be read
    # once.
    if isinstance(samples, Sized) and (_is_frame(samples) or not is_table(samples)):
        return len(samples)
    for name in ("num_rows", "height"):
        found = getattr(samples, name, None)
        if isinstance(found, int):
            return found
    return None
