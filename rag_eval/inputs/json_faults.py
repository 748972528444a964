"""Decodes JSON that the fast decoder rejects, and describes what is wrong with it."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable
from typing import Any, Final

from rag_eval.inputs.blocks import FileOrigin
from rag_eval.inputs.byte_files import CUT_OFF, source_name
from rag_eval.inputs.row_blocks import RowBlock
from rag_eval.plumbing import json_text

_JSON_TYPES: Final = {
    dict: "an object",
    list: "an array",
    str: "a string",
    bool: "a boolean",
    type(None): "null",
}


def json_type(value: object) -> str:
    """``an object``: how messages call the type of a JSON value."""
    return _JSON_TYPES.get(type(value), "a number")


FAULTY: Final = object()


def decode_leniently(
    line: bytes, number: int, origin: FileOrigin, hint: Callable[[bytes], str]
) -> Any:
    """A line that msgspec refuses: lone surrogate escapes are fine, all else is a fault.

    ``FAULTY`` when a fault was noted.
    """
    # Bytes that are not UTF-8 become surrogates U+DC80..DCFF, which no UTF-8 text holds unescaped.
    text = line.decode("utf-8", "surrogateescape")
    bad_byte = first_bad_byte(line, hint)
    value = None
    try:
        value = loads(text)
    except RecursionError:
        fault = "is nested too deeply"
    except ValueError as error:
        told = _line_fault(text, error, origin.source)
        fault = bad_byte.removeprefix("is ") or f"not valid JSON: {told}"
    else:
        fault = ""
        if bad_byte:
            path = _path_of(value, lambda found: isinstance(found, str) and _has_bad_byte(found))
            fault = f"{path} {bad_byte}" if path else bad_byte.removeprefix("is ")
    if fault:
        origin.add_fault(number, value, fault)
        return FAULTY
    return value


def loads(text: str | bytes) -> Any:
    """A JSON value in which NaN is null, as in pandas; infinite numbers stay."""
    return json.loads(text, parse_constant=lambda name: None if name == "NaN" else float(name))


def first_bad_byte(data: bytes, hint: Callable[[bytes], str]) -> str:
    """``is not valid UTF-8 (…)``, or nothing when it is."""
    try:
        data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        column = error.start - data.rfind(b"\n", 0, error.start)
        where = f"byte {column}" if line == 1 else f"line {line}, byte {column}"
        return f"is not valid UTF-8 (0x{data[error.start]:02x} at {where}){hint(data)}"
    return ""


def _has_bad_byte(text: str) -> bool:
    return any("\udc80" <= character <= "\udcff" for character in text)


def _line_fault(line: str, error: ValueError, source: str) -> str:
    """The fault of a line that is not JSON, and the remedy."""
    line = line.strip()
    if line in ("[", "{", "[{"):
        return (
            "every line must be a whole JSON object. If the file is one JSON document over "
            "several lines, rename it to end in .json"
        )
    if line.startswith(("{'", "[{'")):
        return "this looks like a printed Python dict. Write each row with json.dumps(row)"
    if line.endswith("},"):
        return "a comma follows the object. In a file of lines there is none between objects"
    if line[:1] not in ("{", "[") and source == source_name("-"):
        return "standard input is read as JSON Lines, one object a line"
    return json_text.syntax_fault(error) + cut_hint(error)


def cut_hint(error: ValueError) -> str:
    """The remedy for a text that ends in the middle of a value; otherwise empty."""
    if isinstance(error, json.JSONDecodeError) and (
        error.pos >= len(error.doc.rstrip()) or error.msg.startswith("Unterminated")
    ):
        return CUT_OFF
    return ""


def non_finite_fault(value: object) -> str:
    """The fault if a number in ``value`` is NaN or infinite; otherwise empty."""
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
    return f"{path or 'it'} is {name}; it must be a finite number or null"


def finite_rows(block: RowBlock, read: Iterable[str]) -> RowBlock:
    """The rows without infinite numbers: a fault in a field that is read, null in any other."""
    origin = block.origin
    assert origin is not None
    sound = []
    for index, row in enumerate(block.rows):
        assert isinstance(row, dict)
        fault = non_finite_fault({name: row[name] for name in read if name in row})
        if fault:
            origin.add_fault(origin.numbers[index], row, fault)
        else:
            _drop_infinite(row)
            sound.append(index)
    return block if len(sound) == len(block) else block.taken(sound)


def _drop_infinite(value: object) -> None:
    stack = [value]
    while stack:
        held = stack.pop()
        members = held.items() if isinstance(held, dict) else enumerate(held)  # type: ignore[arg-type]
        for key, item in list(members):
            if isinstance(item, (dict, list)):
                stack.append(item)
            elif isinstance(item, float) and not math.isfinite(item):
                held[key] = None  # type: ignore[index]


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
