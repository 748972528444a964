"""Sample files -> blocks of rows, each with its line.

In: a path to JSON lines or a JSON array, gzipped or not, or ``-`` for JSON lines on standard input.
Out: blocks cut by the bytes read, and beside them the lines that hold no sample, with the reason.
"""

from __future__ import annotations

import gzip
import json
import math
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Final

import msgspec

from rag_eval.errors import InputError
from rag_eval.sources import SHARED_BLOCK_BYTES, RowBlock, SampleLike

STANDARD_INPUT: Final = "-"
_BOM: Final = b"\xef\xbb\xbf"
_MAX_ROWS: Final = 1024
_SHOWN_ID: Final = 60

_decode = msgspec.json.Decoder().decode


@dataclass(frozen=True, slots=True)
class RowFault:
    """A row that cannot be scored, and the first thing wrong with it.

    Attributes
    ----------
    number : int
        Its line, from 1, or its place in a JSON array, from 0.
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

    ``numbers`` has one entry per row; ``faults`` are the rows that were left out.
    """

    source: str
    unit: str
    numbers: list[int] = field(default_factory=list)
    faults: list[RowFault] = field(default_factory=list)

    def place(self, number: int, sample: object) -> str:
        """``line 17 ("q-0042")``: how messages about the file call a row."""
        where = f"{self.unit} [{number}]" if self.unit == "element" else f"{self.unit} {number}"
        found = sample.get("id") if isinstance(sample, dict) else None
        if not isinstance(found, (str, int)):
            return where
        shown = str(found)
        return f'{where} ("{shown if len(shown) <= _SHOWN_ID else shown[:_SHOWN_ID] + "…"}")'

    def name(self, index: int, sample: SampleLike) -> str:
        """``data.jsonl, line 17 ("q-0042")``: how errors call the block's row at ``index``."""
        return f"{self.source}, {self.place(self.numbers[index], sample)}"

    def add_fault(self, number: int, sample: object, fault: str) -> None:
        """Note that a row holds no sample."""
        self.faults.append(RowFault(number, self.place(number, sample), fault))


def source_name(data: str | Path) -> str:
    """How messages call the data."""
    return "standard input" if str(data) == STANDARD_INPUT else str(data)


def file_blocks(data: str | Path) -> Iterator[RowBlock]:
    """The rows of a sample file, block by block; their fields are not looked at yet.

    Each block's ``origin`` is a :class:`FileOrigin`. Blank lines, a leading byte order mark and
    carriage returns at line ends are skipped. A ``.json`` array is held in memory as a whole.

    Raises
    ------
    InputError
        When the file cannot be read, or as a whole is not what its name says.
    """
    read = _format(data)
    with _opened(data) as file:
        yield from read(file, source_name(data))


def _format(data: str | Path) -> Callable[[IO[bytes], str], Iterator[RowBlock]]:
    if str(data) == STANDARD_INPUT:
        return _line_blocks
    name = Path(data).name.lower().removesuffix(".gz")
    if name.endswith((".jsonl", ".ndjson")):
        return _line_blocks
    if name.endswith(".json"):
        return _array_blocks
    raise InputError(
        f"{data}: cannot tell the format from the name; wanted .jsonl or .json, either also .gz, "
        "or - for JSON lines on standard input"
    )


@contextmanager
def _opened(data: str | Path) -> Iterator[IO[bytes]]:
    if str(data) == STANDARD_INPUT:
        yield sys.stdin.buffer
        return
    path = Path(data)
    try:
        file = path.open("rb")
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from None
    with file:
        if path.name.lower().endswith(".gz"):
            with gzip.GzipFile(fileobj=file) as unpacked:
                yield unpacked  # type: ignore[misc]  # an IO[bytes] in all but name
        else:
            yield file


def _chunks(file: IO[bytes], source: str) -> Iterator[bytes]:
    # read1 gives what there is: lines of a pipe as they come, and all that a truncated file holds.
    read: Callable[[int], bytes] = file.read1  # type: ignore[attr-defined]
    while True:
        try:
            chunk = read(SHARED_BLOCK_BYTES)
        except EOFError:
            raise InputError(
                f"{source}: the gzip data ends in the middle; the file is truncated"
            ) from None
        except (gzip.BadGzipFile, zlib.error) as error:
            raise InputError(f"{source} is not sound gzip data: {error}") from None
        except OSError as error:
            raise InputError(f"cannot read {source}: {error.strerror or error}") from None
        if not chunk:
            return
        yield chunk


# ---------------------------------------------------------------------------------- JSON lines


def _line_blocks(file: IO[bytes], source: str) -> Iterator[RowBlock]:
    for first, lines in _line_groups(_chunks(file, source)):
        if first == 1:
            lines[0] = lines[0].removeprefix(_BOM)
        for begin in range(0, len(lines), _MAX_ROWS):
            yield _read_lines(lines[begin : begin + _MAX_ROWS], first + begin, source)


def _line_groups(chunks: Iterator[bytes]) -> Iterator[tuple[int, list[bytes]]]:
    """Whole lines, a block and more of them at a time, with the number of the first."""
    first, n_bytes = 1, 0
    pending: list[bytes] = []
    for chunk in chunks:
        n_bytes += len(chunk)
        end = chunk.rfind(b"\n") if n_bytes >= SHARED_BLOCK_BYTES else -1
        if end < 0:
            pending.append(chunk)
            continue
        lines = b"".join([*pending, chunk[:end]]).split(b"\n")
        yield first, lines
        first += len(lines)
        pending = [chunk[end + 1 :]]
        n_bytes = len(pending[0])
    yield first, b"".join(pending).split(b"\n")


def _read_lines(lines: list[bytes], first: int, source: str) -> RowBlock:
    origin = FileOrigin(source, "line")
    rows: list[SampleLike] = []
    for number, line in enumerate(lines, first):
        if not line or line.isspace():
            continue
        try:
            row = _decode(line)
        except (ValueError, RecursionError):
            row = _decode_leniently(line, number, origin)
            if row is _FAULTY:
                continue
        _add_row(row, number, rows, origin)
    return RowBlock(0, rows, origin)


def _add_row(row: object, number: int, rows: list[SampleLike], origin: FileOrigin) -> None:
    if isinstance(row, dict):
        rows.append(row)
        origin.numbers.append(number)
    else:
        origin.add_fault(number, row, f"must be a JSON object, got {_json_type(row)}")


_JSON_TYPES: Final = {
    dict: "an object",
    list: "an array",
    str: "a string",
    bool: "a boolean",
    type(None): "null",
}


def _json_type(value: object) -> str:
    return _JSON_TYPES.get(type(value), "a number")


# ------------------------------------------------------- what the fast decoder does not take

_FAULTY: Final = object()


def _decode_leniently(line: bytes, number: int, origin: FileOrigin) -> Any:
    """A line that msgspec refuses: lone surrogate escapes are fine, all else is a fault.

    ``_FAULTY`` when a fault was noted.
    """
    # Bytes that are not UTF-8 become surrogates U+DC80..DCFF, which no UTF-8 text holds unescaped.
    text = line.decode("utf-8", "surrogateescape")
    bad_byte = _first_bad_byte(line)
    value = None
    try:
        value = json.loads(text)
    except RecursionError:
        fault = "is nested too deeply"
    except ValueError as error:
        fault = bad_byte or _syntax_fault(error)
    else:
        fault = non_finite_fault(value)
        if bad_byte:
            path = _path_of(value, lambda found: isinstance(found, str) and _has_bad_byte(found))
            fault = f"{path} {bad_byte}".lstrip()
    if fault:
        origin.add_fault(number, value, fault)
        return _FAULTY
    return value


def _first_bad_byte(data: bytes) -> str:
    """``is not UTF-8: …``, or nothing when it is."""
    try:
        data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        column = error.start - data.rfind(b"\n", 0, error.start)
        where = f"byte {column}" if line == 1 else f"line {line}, byte {column}"
        return f"is not UTF-8: 0x{data[error.start]:02x} at {where}"
    return ""


def _has_bad_byte(text: str) -> bool:
    return any("\udc80" <= character <= "\udcff" for character in text)


def _syntax_fault(error: ValueError) -> str:
    if not isinstance(error, json.JSONDecodeError):
        return f"is not JSON: {error}"
    where = f"column {error.colno}"
    return f"is not JSON: {error.msg.removesuffix(' at')} at " + (
        where if error.lineno == 1 else f"line {error.lineno}, {where}"
    )


def non_finite_fault(value: object) -> str:
    """What is wrong when a number in ``value`` is NaN or infinite, else an empty string."""
    found: list[float] = []

    def is_non_finite(item: object) -> bool:
        if isinstance(item, float) and not math.isfinite(item):
            found.append(item)
            return True
        return False

    path = _path_of(value, is_non_finite)
    if not found:
        return ""
    name = {math.inf: "Infinity", -math.inf: "-Infinity"}.get(found[0], "NaN")
    return f"{path or 'it'} is {name}; wanted a finite number or null"


def _path_of(value: object, test: Callable[[object], bool]) -> str:
    """``metadata.tags[2]``: the first place in a JSON value that passes the test."""
    # With a stack, not recursion: the value may be as deep as the decoder takes.
    stack: list[tuple[str, object]] = [("", value)]
    while stack:
        path, item = stack.pop()
        if test(item):
            return path
        if isinstance(item, dict):
            stack += [
                (f"{path}.{key}" if path else str(key), child)
                for key, child in reversed(item.items())
            ]
        elif isinstance(item, list):
            stack += [(f"{path}[{i}]", item[i]) for i in reversed(range(len(item)))]
    return ""


# --------------------------------------------------------------------------------- JSON arrays


def _array_blocks(file: IO[bytes], source: str) -> Iterator[RowBlock]:
    data = b"".join(_chunks(file, source)).removeprefix(_BOM)
    if not data or data.isspace():
        return
    try:
        elements, strict = _decode(data), True
    except (ValueError, RecursionError):
        elements, strict = _array_leniently(data, source), False
    if not isinstance(elements, list):
        raise InputError(
            f"{source} must hold a JSON array of samples, got {_json_type(elements)}"
            "; one sample per line belongs in a .jsonl file"
        )
    n_bytes = len(data)
    del data
    n_rows = max(1, min(_MAX_ROWS, len(elements) * SHARED_BLOCK_BYTES // n_bytes))
    for begin in range(0, len(elements), n_rows):
        origin = FileOrigin(source, "element")
        rows: list[SampleLike] = []
        for number, row in enumerate(elements[begin : begin + n_rows], begin):
            fault = "" if strict else non_finite_fault(row)
            if fault:
                origin.add_fault(number, row, fault)
            else:
                _add_row(row, number, rows, origin)
        yield RowBlock(0, rows, origin)


def _array_leniently(data: bytes, source: str) -> Any:
    bad_byte = _first_bad_byte(data)
    if bad_byte:
        raise InputError(f"{source} {bad_byte}")
    try:
        return json.loads(data)
    except RecursionError:
        raise InputError(f"{source} is nested too deeply") from None
    except ValueError as error:
        hint = ""
        if isinstance(error, json.JSONDecodeError) and error.msg == "Extra data":
            hint = "; one sample per line belongs in a .jsonl file"
        raise InputError(f"{source} {_syntax_fault(error)}{hint}") from None
