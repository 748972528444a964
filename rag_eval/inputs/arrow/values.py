"""Cells of Arrow columns -> Python values: for names, echoes and faults."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from decimal import Decimal
from itertools import pairwise
from typing import Any, Final

import numpy as np

from rag_eval.errors import InputError
from rag_eval.inputs.arrow.arrays import ArrowPath, item_cells
from rag_eval.inputs.arrow.cells import Cells, is_list, is_map, is_struct, type_name
from rag_eval.inputs.arrow.texts import Rows, Texts, as_places, texts_of

Reader = Callable[[int], Any]

_NUMBERS: Final = {
    **{"c": np.int8, "s": np.int16, "i": np.int32, "l": np.int64},
    **{"C": np.uint8, "S": np.uint16, "I": np.uint32, "L": np.uint64},
    **{"e": np.float16, "f": np.float32, "g": np.float64},
}
_TICKS: Final = {"s": 1, "m": 10**3, "u": 10**6, "n": 10**9}  # per second
_EPOCH: Final = datetime.datetime(1970, 1, 1)


class TextReader:
    """A function from a row to its text; None if there is none."""

    __slots__ = ("_texts",)

    def __init__(self, texts: Texts) -> None:
        self._texts = texts

    def __call__(self, row: int) -> str | None:
        return self.many(range(row, row + 1))[0]

    def many(self, rows: Rows) -> list[str | None]:
        """The texts of some rows; a fifth of the time that one by one takes."""
        data, offsets = self._texts.taken(rows)
        begin = int(offsets[0])
        together = data[begin : int(offsets[-1])].tobytes()
        ends = (offsets - begin).tolist()
        found: list[str | None]
        if together.isascii():
            text = together.decode("ascii")
            found = [text[at:end] for at, end in pairwise(ends)]
        else:
            found = [as_str(together[at:end]) for at, end in pairwise(ends)]
        if self._texts.valid is not None:
            for index in np.flatnonzero(~self._texts.valid[as_places(rows)]):
                found[index] = None
        return found


def values_at(reader: Reader, rows: Rows) -> list[Any]:
    """The values of some rows."""
    if isinstance(reader, TextReader):
        return reader.many(rows)
    return [reader(row) for row in as_places(rows).tolist()]


def value_reader(cells: Cells, path: ArrowPath | None = None) -> Reader:
    """A function from a row to its value; None if that is null.

    Raises
    ------
    InputError
        For a type that has no plain Python value, naming the column.
    """
    texts = texts_of(cells)
    if texts is not None:
        return TextReader(texts)
    items = None
    if is_list(cells.schema):
        items = cells.items() if path is None else item_cells(cells, path)
    read = _reader(cells, items)
    valid = cells.valid
    return read if valid is None else lambda row: read(row) if valid[row] else None


def _reader(cells: Cells, items: Cells | None) -> Reader:
    schema = cells.schema
    if schema.dictionary is not None:
        values = value_reader(cells.dictionary())
        codes = cells.codes(cells.dictionary().length)
        return lambda row: values(int(codes[row]))
    if items is not None:
        starts, lengths = cells.spans()
        item = value_reader(items)
        return lambda row: [item(int(starts[row]) + at) for at in range(int(lengths[row]))]
    if is_map(schema):
        return _map_reader(cells)
    if is_struct(schema):
        members = [
            (child.name, value_reader(cells.member(index)))
            for index, child in enumerate(schema.children)
        ]
        return lambda row: {name: read(row) for name, read in members}
    read = _scalar_reader(cells)
    if read is None:
        raise InputError(
            f"column {cells.name!r} is of type {type_name(schema)}, which is not supported"
        )
    return read


def _map_reader(cells: Cells) -> Reader:
    starts, lengths = cells.spans()
    entries = cells.items()
    key, value = (value_reader(entries.member(index)) for index in range(2))

    def read(row: int) -> dict[Any, Any]:
        begin = int(starts[row])
        places = range(begin, begin + int(lengths[row]))
        try:
            found = {key(at): value(at) for at in places}
        except TypeError:
            raise InputError(f"column {cells.name!r} is a map with lists for keys") from None
        if len(found) < len(places):
            raise InputError(f"column {cells.name!r} has a key twice in one map")
        return found

    return read


def as_str(text: bytes) -> str:
    """UTF-8 to a string; invalid bytes become U+FFFD."""
    try:
        return text.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return text.decode("utf-8", "replace")


def _scalar_reader(cells: Cells) -> Reader | None:
    format_, begin, end = cells.schema.format, cells.first, cells.first + cells.length
    if format_ in _NUMBERS:
        numbers = cells.buffer(1, _NUMBERS[format_], begin, end)
        return lambda row: numbers[row].item()
    if format_ == "b":
        bits = cells.buffer(1, np.uint8, 0, (end + 7) // 8)
        return lambda row: bool(bits[(begin + row) >> 3] >> ((begin + row) & 7) & 1)
    if format_ in ("z", "Z"):
        offsets = cells.offsets(np.int32 if format_ == "z" else np.int64)
        data = cells.buffer(2, np.uint8, 0, int(offsets[-1]))
        return lambda row: data[offsets[row] : offsets[row + 1]].tobytes()
    if format_.startswith(("d:", "w:")):
        return _wide_reader(cells, format_)
    if format_.startswith("t"):
        return _time_reader(cells, format_)
    return None


def _wide_reader(cells: Cells, format_: str) -> Reader | None:
    """Decimals (``d:precision,scale,bits``) and binary values of one size (``w:bytes``)."""
    kind, _, numbers = format_.partition(":")
    try:
        sizes = [int(number) for number in numbers.split(",")]
    except ValueError:
        return None
    width = sizes[0] if kind == "w" else (sizes[2] // 8 if len(sizes) > 2 else 16)
    if width < 0 or (kind == "d" and len(sizes) < 2):
        return None
    begin = cells.first * width
    data = cells.buffer(1, np.uint8, begin, begin + cells.length * width)

    def read_bytes(row: int) -> bytes:
        return data[row * width : (row + 1) * width].tobytes()

    if kind == "w":
        return read_bytes
    return lambda row: Decimal(int.from_bytes(read_bytes(row), "little", signed=True)).scaleb(
        -sizes[1]
    )


def _time_reader(cells: Cells, format_: str) -> Reader | None:
    """Dates, times of day, points in time and spans of it; parts of microseconds are dropped.

    A point in time of any zone is given in UTC.
    """
    kind, unit, zone = format_[:2], format_[2:3], format_[4:]
    per_second = _TICKS.get(unit)
    if kind == "td":
        per_second = 1000
    elif kind == "ti" or per_second is None:
        return None
    short = format_ in ("tdD", "tts", "ttm")
    begin, end = cells.first, cells.first + cells.length
    ticks = cells.buffer(1, np.int32 if short else np.int64, begin, end)
    factor = 86_400_000 if format_ == "tdD" else 1
    epoch = _EPOCH.replace(tzinfo=datetime.UTC) if zone else _EPOCH

    def read(row: int) -> Any:
        try:
            span = datetime.timedelta(microseconds=int(ticks[row]) * factor * 10**6 // per_second)
            if kind == "tD":
                return span
            moment = epoch + span
        except OverflowError:
            raise cells.broken(f"row {row} is not a time that Python can represent") from None
        return moment.date() if kind == "td" else moment.time() if kind == "tt" else moment

    return read
