"""Lines of CSV: files give the rows that the standard library gives, scanned to the last byte."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any, Final

import numpy as np

from rag_eval._native import line_scans
from rag_eval.inputs.opened import InputOptions
from rag_eval.inputs.scanned_blocks import Scratch
from tests.fuzz import hostile_texts
from tests.fuzz.running import Target
from tests.grounded_samples import Choices
from tests.unit.inputs.test_csv_blocks import check, quoted

_COLUMNS: Final = ("id", "question", "answer", "contexts", "groundTruth", "extra")
_FIELDS: Final = np.array([4, 0, 1, 2, 3, 255], np.uint8)
_TEXT_FIELDS: Final = (0, 1, 3, 4)  # question, answer, ground truth and id
_PIECES: Final = (b'"', b'""', b",", b"\n", b"\r\n", b"\r", b"[", b'""]', b"\\", b"\xff", b" ")
_ODD: Final = ("", " ", "[]", "[", "['a']", '["a"', '["a"]b', "[1]", '{"text": "a"}', "\u3000[]")


def table_of(choices: Choices) -> bytes:
    """A header and some records, quoted here and there, with bytes changed or not."""

    def text() -> str:
        return hostile_texts.text(choices, surrogates=False)

    def contexts() -> str:
        if choices.one_in(4):
            return choices.of((*_ODD, text()))
        items = [text() for _ in range(choices.of((0, 1, 2, 3, 40)))]
        if choices.one_in(3):
            return repr(items)
        return json.dumps(items, ensure_ascii=bool(choices.below(2)))

    records = []
    for _ in range(choices.between(1, 5)):
        cells = [text(), text(), text(), contexts(), choices.of(("", text())), text()]
        if choices.one_in(8):
            cells = cells[: choices.below(7)] + [text()] * choices.below(2)
        records.append(",".join(quoted(cell, bool(choices.below(2)), ",") for cell in cells))
        records += [""] * choices.one_in(6)
    end = choices.of(("\n", "\n", "\r\n"))
    lines = (end.join(records) + choices.of(("", end, end + end))).encode()
    return hostile_texts.mutated(choices, lines, _PIECES) if choices.one_in(3) else lines


def csv_scan(choices: Choices) -> None:
    """Whole files, and files that are cut anywhere."""
    lines = table_of(choices)
    header = ",".join(_COLUMNS).encode()
    for end in (len(lines), *(choices.below(len(lines) + 1) for _ in range(6))):
        scan_to_the_last_byte(lines[:end])
    n_bytes = choices.of((1, 64, 300, 1000))
    with tempfile.TemporaryDirectory() as folder:
        check(Path(folder) / "data.csv", header + b"\n" + lines, InputOptions(), n_bytes)


def scan_to_the_last_byte(lines: bytes) -> None:
    """As blocks are scanned, over memory that ends where the lines do; bytes have a NUL more."""
    memory = np.frombuffer(lines, np.uint8).copy()
    texts = np.empty(max(1, len(lines)), np.uint8)
    found: list[Any] = []
    for content in (memory, lines):
        scratch = Scratch()
        arguments = (content, 0, len(lines), ord(","), _FIELDS, 1 << 30, *scratch.arrays())
        end = line_scans.scan_records(*arguments, texts, scratch.counts)  # type: ignore[arg-type]
        rows = scratch.taken(lines, 0, max(0, end), texts)
        laid = [rows.laid(rows.of_field(field)).data.tobytes() for field in _TEXT_FIELDS]
        found.append((end, scratch.counts.tolist(), laid if end > 0 else []))
    assert found[0] == found[1]


TARGETS: Final[dict[str, Target]] = {"csv_scan": csv_scan}
