"""Sample files: what is read, what is refused, and how a bad line is called."""

from __future__ import annotations

import gzip
import io
import json
import math
import sys
from pathlib import Path
from typing import Any

import pytest

from rag_eval.errors import InputError
from rag_eval.inputs.blocks import FileOrigin, SampleBlock
from rag_eval.inputs.opened import Input, InputOptions, Position
from rag_eval.inputs.row_blocks import BLOCK_BYTES

SAMPLE = {"id": "a", "question": "q?", "answer": "A b.", "contexts": ["A b c."]}
LINE = json.dumps(SAMPLE).encode()


def read(path: Path | str) -> tuple[list[Any], list[int], list[str]]:
    rows: list[Any] = []
    numbers: list[int] = []
    faults: list[str] = []
    for block in Input(path).blocks():
        assert isinstance(block.origin, FileOrigin)
        rows += map(block.sample, range(len(block)))
        numbers += block.origin.numbers
        faults += map(str, block.origin.faults)
    return rows, numbers, faults


def written(folder: Path, data: bytes, name: str = "data.jsonl") -> Path:
    path = folder / name
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return path


@pytest.mark.parametrize("name", ["d.jsonl", "d.jsonl.gz", "D.JSONL", "d.ndjson"])
@pytest.mark.parametrize("end", [b"", b"\n", b"\n\n  \n"])
def test_json_lines(tmp_path: Path, name: str, end: bytes) -> None:
    assert read(written(tmp_path, LINE + b"\n" + LINE + end, name)) == ([SAMPLE] * 2, [1, 2], [])


@pytest.mark.parametrize("name", ["d.json", "d.json.gz"])
@pytest.mark.parametrize("start", [b"", b"\xef\xbb\xbf", b"\r\n "])
def test_json_array(tmp_path: Path, name: str, start: bytes) -> None:
    data = start + b"[" + LINE + b",\r\n" + LINE + b"]\n"
    assert read(written(tmp_path, data, name)) == ([SAMPLE] * 2, [0, 1], [])


def test_byte_order_mark_carriage_returns_and_blank_lines(tmp_path: Path) -> None:
    data = b"\xef\xbb\xbf" + LINE + b"\r\n\r\n \t\r\n" + LINE + b"\r\n"
    assert read(written(tmp_path, data)) == ([SAMPLE] * 2, [1, 4], [])


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(LINE + b"\n[]\n")))
    assert read("-") == ([SAMPLE], [1], ["line 2: must be a JSON object, got an array"])


@pytest.mark.parametrize("data", [b"", b"\n", b"\xef\xbb\xbf", b"  \r\n\r\n"])
@pytest.mark.parametrize("name", ["d.jsonl", "d.json", "d.jsonl.gz"])
def test_nothing(tmp_path: Path, data: bytes, name: str) -> None:
    assert read(written(tmp_path, data, name)) == ([], [], [])


def test_line_numbers_across_blocks(tmp_path: Path) -> None:
    """Lines as long as a block, ten blocks, and many to a block come out whole and in order."""
    texts = ["x" * size for size in (1, BLOCK_BYTES, 10 * BLOCK_BYTES, 3, BLOCK_BYTES - 40, 5)]
    texts += ["y"] * 5000
    data = b"".join(json.dumps({"answer": text}).encode() + b"\n\n" for text in texts)
    rows, numbers, faults = read(written(tmp_path, data))
    assert [row["answer"] for row in rows] == texts
    assert numbers == [2 * index + 1 for index in range(len(texts))]
    assert not faults


def test_blocks_are_small(tmp_path: Path) -> None:
    sizes = [len(block) for block in Input(written(tmp_path, (LINE + b"\n") * 9000)).blocks()]
    assert sum(sizes) == 9000
    assert max(sizes) <= 1024


def test_lone_surrogate_escapes_are_accepted(tmp_path: Path) -> None:
    line = rb'{"id": "s", "answer": "a \ud800 b \udc80", "big": 123456789012345678901234567890}'
    for name, data in (("d.jsonl", line), ("d.json", b"[" + line + b"]")):
        rows, _, faults = read(written(tmp_path, data, name))
        assert rows[0]["answer"] == "a \ud800 b \udc80"
        assert rows[0]["big"] == 123456789012345678901234567890
        assert not faults


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        (b"null", "line 2: must be a JSON object, got null"),
        (b"true", "line 2: must be a JSON object, got a boolean"),
        (b"17", "line 2: must be a JSON object, got a number"),
        (b'"x"', "line 2: must be a JSON object, got a string"),
        (
            b'{"id": "q", "answer": "x"',
            "line 2: not valid JSON: Expecting ',' delimiter at column 26",
        ),
        (b"{'id': 1}", "line 2: not valid JSON: this looks like a printed Python dict. Write each"),
        (b'{"a": "x\ty"}', "line 2: not valid JSON: Invalid control character at column 9"),
        (b'{"a": 1} {"a": 2}', "line 2: not valid JSON: Extra data at column 10"),
        (b'{"a": 1}, ', "line 2: not valid JSON: a comma follows the object. In a file of lines"),
        (b'{"answer": Infinity}', "line 2: answer is Infinity; it must be a finite number or null"),
        (
            b'{"contexts": ["x", -1e999]}',
            "line 2: contexts[1] is -Infinity; it must be a finite number or null",
        ),
        (
            b'{"id": "q", "contexts": ["ok", "caf\xe9"]}',
            'line 2 ("q"): contexts[1] is not valid UTF-8 (0xe9 at byte 36)',
        ),
        (b'{"id": "q", "answer": "\xed\xa0\x80"}', 'line 2 ("q"): answer is not valid UTF-8 (0xed'),
        (b'\xff{"id": "q"}', "line 2: not valid UTF-8 (0xff at byte 1)"),
        (b"[" * 100_000, "line 2: is nested too deeply"),
    ],
)
def test_a_line_that_is_no_sample(tmp_path: Path, line: bytes, fault: str) -> None:
    rows, numbers, faults = read(written(tmp_path, LINE + b"\n" + line + b"\n" + LINE + b"\n"))
    assert (rows, numbers) == ([SAMPLE] * 2, [1, 3])
    assert len(faults) == 1
    assert faults[0].startswith(fault)


def test_an_element_that_is_no_sample(tmp_path: Path) -> None:
    data = b"[" + LINE + b', 3, {"id": 7, "answer": Infinity}, ' + LINE + b"]"
    rows, numbers, faults = read(written(tmp_path, data, "d.json"))
    assert (rows, numbers) == ([SAMPLE] * 2, [0, 3])
    assert faults == [
        "row 2: must be a JSON object, got a number",
        'row 3 ("7"): answer is Infinity; it must be a finite number or null',
    ]


@pytest.mark.parametrize("name", ["d.jsonl", "d.json"])
def test_numbers_that_json_does_not_have(tmp_path: Path, name: str) -> None:
    """What ``json.dump`` of Python writes: NaN is null everywhere, as in pandas."""
    row = {**SAMPLE, "answer": math.nan, "metadata": {"p": [0, math.nan, math.inf]}, "x": -math.inf}
    wanted = {**SAMPLE, "answer": None, "metadata": {"p": [0, None, None]}, "x": None}
    rows = json.dumps([row, row])
    data = rows if name == "d.json" else "\n".join(map(json.dumps, [row, row]))
    first = 0 if name == "d.json" else 1
    assert read(written(tmp_path, data.encode(), name)) == ([wanted] * 2, [first, first + 1], [])


def test_an_infinite_number_in_a_field_by_another_name(tmp_path: Path) -> None:
    path = written(tmp_path, b'{"q": "q?", "a": Infinity}\n{"q": "q?", "a": "A", "x": Infinity}')
    options = InputOptions(mapping={"question": "q", "answer": "a"})
    [block] = Input(path, options).blocks()
    assert block.origin is not None
    assert [block.sample(0)] == [{"question": "q?", "answer": "A", "x": None}]
    assert list(map(str, block.origin.faults)) == [
        "line 1: answer is Infinity; it must be a finite number or null"
    ]
    assert (block.origin.ordinals, Position.after(block).row) == ([1], 2)


def test_json_lines_under_the_name_of_an_array_are_read_as_lines(tmp_path: Path) -> None:
    source = Input(written(tmp_path, LINE + b"\r\n\n" + LINE + b"\n", "d.json"))
    assert [len(block) for block in source.blocks()] == [2]
    assert source.remarks == ["rows: 2 lines of JSON"]


def test_an_array_under_the_name_of_lines_says_where_it_belongs(tmp_path: Path) -> None:
    [block] = Input(written(tmp_path, b"[" + LINE + b"]\n", "d.jsonl")).blocks()
    assert block.origin is not None
    [fault] = block.origin.faults
    assert fault.fault == (
        "must be a JSON object, got an array. An array of samples belongs in a .json file: rename "
        f"it to {tmp_path / 'd.json'}"
    )


@pytest.mark.parametrize(
    ("data", "fault"),
    [
        (b'{"a": "b"}', "must hold a JSON array of samples, got an object"),
        (
            LINE + b"\n" + LINE + b"\n[]",
            "If the file has one sample per line, rename it to end in .jsonl",
        ),
        (b"[\n" + LINE + b"\n" + LINE + b"]", "Expecting ',' delimiter at line 3, column 1"),
        (b'["a\n"]', "is not valid JSON: Invalid control character"),
        (b'[{"a":\n"\xff"}]', "is not valid UTF-8 (0xff at line 2, byte 2)"),
    ],
)
def test_a_file_that_is_no_array(tmp_path: Path, data: bytes, fault: str) -> None:
    path = written(tmp_path, data, "d.json")
    with pytest.raises(InputError) as caught:
        read(path)
    assert str(caught.value).startswith(str(path))
    assert fault in str(caught.value)
    assert ("one sample per line" in str(caught.value)) == data.startswith((LINE, b'{"a": "b"}'))


def test_truncated_gzip_gives_what_there_is_and_then_an_error(tmp_path: Path) -> None:
    lines = [json.dumps({**SAMPLE, "id": str(number)}).encode() for number in range(60_000)]
    path = tmp_path / "d.jsonl.gz"
    packed = gzip.compress(b"\n".join(lines))
    path.write_bytes(packed[: len(packed) // 2])
    blocks: list[SampleBlock] = []
    with pytest.raises(InputError, match=r"d\.jsonl\.gz: the gzip data ends too early"):
        blocks.extend(Input(path).blocks())
    assert sum(map(len, blocks)) > 1000


@pytest.mark.parametrize("damage", [b"plain text", None])
def test_no_gzip_data(tmp_path: Path, damage: bytes | None) -> None:
    path = tmp_path / "d.jsonl.gz"
    packed = bytearray(gzip.compress(LINE * 100, 9))
    packed[20:30] = bytes(10)
    path.write_bytes(bytes(packed) if damage is None else damage)
    with pytest.raises(InputError, match=r"is not valid gzip data|truncated"):
        read(path)


@pytest.mark.parametrize("name", ["d.txt", "d", "d.gz", "d.jsonl.zip"])
def test_unknown_suffix(tmp_path: Path, name: str) -> None:
    wanted = (
        r"must end in \.jsonl, .* or \.feather \(text formats may be compressed: \.gz or \.zst\)"
    )
    with pytest.raises(InputError, match=wanted):
        read(tmp_path / name)


def test_files_that_cannot_be_opened(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"cannot read .*none\.jsonl: No such file"):
        read(tmp_path / "none.jsonl")
    (tmp_path / "folder.jsonl").mkdir()
    with pytest.raises(InputError, match=r"the folder .* contains no sample files"):
        read(tmp_path / "folder.jsonl")


def test_long_ids_are_cut_in_names() -> None:
    origin = FileOrigin("data.jsonl", "line", [4])
    assert origin.name(0, {"id": "x" * 1000}) == f'data.jsonl, line 4 ("{"x" * 60}…")'
    assert origin.name(0, {"id": ["x"]}) == "data.jsonl, line 4"
