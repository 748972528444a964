"""Lines of JSON: what the scan takes is what two decoders read, and files give the same rows."""

from __future__ import annotations

import json
import random
import tempfile
from pathlib import Path
from typing import Any, Final

import numpy as np

from rag_eval._native import line_scans
from rag_eval.inputs.opened import InputOptions
from tests.fuzz import hostile_texts
from tests.fuzz.running import Target
from tests.grounded_samples import Choices
from tests.scanned_rows import check_same
from tests.unit.inputs.test_json_blocks import (
    LINE,
    PIECES,
    SCANNER,
    check_scan,
    written,
)

_PIECES: Final = tuple(PIECES)
_TEXT_FIELDS: Final = (0, 1, 3)  # question, answer and ground truth, as the scan numbers them
_NUMBERS: Final = (0, -1, 7, 0.5, -2.25, 1e300, 10**15, 10**18, -(10**17), 1 << 70, 1e-9, True)


def lines_of(choices: Choices) -> bytes:
    """Some rows as JSON, white space and escapes anywhere, with bytes changed or not."""
    parts = []
    for _ in range(choices.between(1, 4)):
        if choices.one_in(3):
            content = choices.of(hostile_texts.corpus("json/*.jsonl"))
            parts.append(choices.of(content.split(b"\n")))
        else:
            chance = random.Random(choices.below(1 << 16))
            parts.append(written(row_of(choices), chance).encode("utf-8", "replace"))
        if choices.one_in(6):
            parts.append(choices.of((b"", b" \t", b"\r")))
    lines = choices.of((b"\n", b"\n", b"\r\n")).join(parts) + choices.of((b"", b"\n", b"\n\n"))
    return hostile_texts.mutated(choices, lines, _PIECES) if choices.below(3) else lines


def row_of(choices: Choices) -> dict[str, Any]:
    """Fields in any order, some of them missing, null or of a type they must not have."""

    def text() -> str:
        if choices.one_in(2):
            return choices.of(("", "a", "x" * 15 + "\n", "x" * 16 + '"', "\\" * 17, "\n" * 33, "é"))
        return hostile_texts.text(choices, surrogates=False)

    def contexts() -> Any:
        return [text() for _ in range(choices.of((0, 1, 2, 3, 40)))]

    makers: dict[str, Any] = {
        "id": lambda: choices.of((text(), choices.below(100), None, -5)),
        "question": text,
        "answer": text,
        "contexts": contexts,
        "groundTruth": text,
        "language": lambda: choices.of((None, None, "en", "??", 7)),
        "extra": lambda: value_of(choices, 3),
        "a.b": lambda: value_of(choices, 1),
    }
    names = sorted(makers)
    order = [names.pop(choices.below(len(names))) for _ in range(choices.between(4, len(names)))]
    row = {name: makers[name]() for name in order}
    if choices.one_in(4):
        row[choices.of(order)] = choices.of((None, value_of(choices, 1)))
    return row


def value_of(choices: Choices, depth: int) -> Any:
    """Any value of JSON, at times nested as deep as the scan goes, or deeper."""
    kind = choices.below(7)
    if kind < 3 or not depth:
        return choices.of((None, False, *_NUMBERS, "", "é\n", "\x7f\u2028"))
    if kind < 5:
        return [value_of(choices, depth - 1) for _ in range(choices.below(4))]
    if kind == 5:
        return {f"k{n}": value_of(choices, depth - 1) for n in range(choices.below(4))}
    nested: Any = choices.below(3)
    for _ in range(choices.of((1, 5, 29, 30, 31, 32, 33))):
        nested = [nested] if choices.below(2) else {"a": nested}
    return nested


def json_scan(choices: Choices) -> None:
    """Whole lines, and lines that are cut anywhere."""
    lines = lines_of(choices)
    ends = [len(lines), *(choices.below(len(lines) + 1) for _ in range(6))]
    # Behind what closes a text or a list is where the most is expected to follow.
    places = [at for at, byte in enumerate(lines, 1) if byte in b'"]},:']
    ends += choices.some(places, 0, 6) if places else []
    for end in ends:
        check_scan(lines[:end])
        scan_to_the_last_byte(lines[:end])


def scan_to_the_last_byte(lines: bytes) -> None:
    """As `LineScanner` scans, over memory that ends where the lines do; bytes have a NUL more."""
    memory = np.frombuffer(lines, np.uint8).copy()
    scanned = SCANNER.scanned(memory, 0)  # type: ignore[arg-type]
    again = SCANNER.scanned(lines, 0)
    assert (scanned is None) == (again is None)
    if scanned is None or again is None:
        return
    assert np.array_equal(scanned.places, again.places)
    assert np.array_equal(scanned.contexts, again.contexts)
    for field in _TEXT_FIELDS:
        assert np.array_equal(*(each.laid(each.of_field(field)).data for each in (scanned, again)))


def escapes(choices: Choices) -> None:
    """Texts with escapes at every distance from the end of a block of bytes."""
    plain = (b"x" * 7, b"x" * 15, b"x" * 16, b"\xc3\xa9")
    pieces = (*plain, rb"\n", rb"\"", rb"\u00e9", rb"\ud83c\udfa8")
    odd = (rb"\u", rb"\ud83c", rb"\udc00", b"\\", b"\x1f", b"\xff", b"\xed\xa0\x80")
    parts = choices.some(pieces, 0, 30)
    if choices.one_in(3):
        parts.insert(choices.below(len(parts) + 1), choices.of(odd))
    text = b"".join(parts)
    for line in (b'{"answer":"' + text + b'"}', b'{"contexts":["' + text + b'","' + text + b'"]}'):
        check_scan(line)
        scan_to_the_last_byte(line)
    data = np.frombuffer(b'"' + text + b'"', np.uint8).copy()
    try:
        wanted = json.loads(bytes(data)).encode()
    except ValueError:
        return
    out = np.empty(len(wanted), np.uint8)
    numbers = ([1], [len(text)], [0, len(out)])
    begins, lengths, offsets = (np.array(each, np.int64) for each in numbers)
    line_scans.lay_texts(data, begins, lengths, offsets, out)
    assert out.tobytes() == wanted


def json_files(choices: Choices) -> None:
    """Rows, faults, places and scores of a file are those of its decoded lines."""
    lines = lines_of(choices)
    options = None
    if choices.one_in(4):
        options = InputOptions(mapping={"answer": "groundTruth", "ground_truth": "answer"})
    n_bytes = choices.of((64, 300, 1000, len(LINE) + 1))
    with tempfile.TemporaryDirectory() as folder:
        check_same(Path(folder) / "data.jsonl", LINE + b"\n" + lines, n_bytes, options)


TARGETS: Final[dict[str, Target]] = {
    "json_scan": json_scan,
    "escapes": escapes,
    "json_files": json_files,
}
