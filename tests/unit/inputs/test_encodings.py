"""Text files that are not in UTF-8: read where the encoding is named, else with the remedy told."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from rag_eval.errors import InputError
from rag_eval.inputs import encodings
from rag_eval.inputs.encodings import encoding_hint
from rag_eval.inputs.opened import START, Input, InputOptions, Position
from tests.tables import every_row

ROWS = [
    {"id": f"q-{n}", "question": "Où ?", "answer": f"Été {n}", "contexts": ["À côté"]}
    for n in range(40)
]
TEXTS = {
    "d.jsonl": "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in ROWS),
    "d.json": json.dumps(ROWS, ensure_ascii=False),
    "d.csv": "id,question,answer,contexts\n"
    + "".join(f"{row['id']},{row['question']},{row['answer']},À côté\n" for row in ROWS),
}
TEXTS["d.tsv"] = TEXTS["d.csv"].replace(",", "\t")


def rows_of(path: Path, start: Position = START, **options: Any) -> list[Any]:
    blocks = Input(path, InputOptions(**options)).blocks(start)
    return [block.sample(index) for block in blocks for index in range(len(block))]


@every_row(
    ("name", "encoding"),
    [
        (name, encoding)
        for name in TEXTS
        for encoding in ("latin-1", "cp1252", "utf-16", "utf-16-le", "utf-8", "utf-8-sig")
    ],
)
def test_an_encoding_that_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, encoding: str
) -> None:
    monkeypatch.setattr(encodings, "_CHUNK_BYTES", 7)  # characters are cut in the middle
    path = tmp_path / name
    path.write_bytes(TEXTS[name].encode(encoding))
    assert rows_of(path, encoding=encoding) == ROWS
    assert rows_of(path, Position(0, 0, 33), encoding=encoding) == ROWS[33:]
    packed = tmp_path / f"{name}.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert rows_of(packed, encoding=encoding) == ROWS


@every_row(
    ("name", "encoding", "message"),
    [
        *(
            (name, "utf-16", "is in UTF-16, not in UTF-8. Read it with --encoding utf-16")
            for name in TEXTS
        ),
        ("d.jsonl", "utf-16-le", "is in UTF-16, not in UTF-8. Read it with --encoding utf-16-le"),
        ("d.jsonl", "utf-16-be", "is in UTF-16, not in UTF-8. Read it with --encoding utf-16-be"),
        (
            "d.csv",
            "latin-1",
            "line 2 is not valid UTF-8 (byte 0xf9). If the file is in Latin-1, read it with",
        ),
        (
            "d.json",
            "latin-1",
            "is not valid UTF-8 (0xf9 at byte 30). If the file is in Latin-1, read it",
        ),
    ],
)
def test_the_remedy_is_told(tmp_path: Path, name: str, encoding: str, message: str) -> None:
    path = tmp_path / name
    path.write_bytes(TEXTS[name].encode(encoding))
    with pytest.raises(InputError) as caught:
        rows_of(path)
    assert message in str(caught.value)
    assert str(caught.value).endswith('")')


@every_row(("begin", "suffix"), [(b"\x1f\x8b\x08", ".gz"), (b"\x28\xb5\x2f\xfd", ".zst")])
def test_a_compressed_file_of_another_name_is_known(begin: bytes, suffix: str) -> None:
    hint = f". It is compressed: give it as a file whose name ends in {suffix}"
    assert encoding_hint(begin, has_option=True) == hint


def test_the_remedy_is_told_of_each_line(tmp_path: Path) -> None:
    path = tmp_path / "d.jsonl"
    path.write_bytes(TEXTS["d.jsonl"].encode("latin-1"))
    block = next(Input(path).blocks())
    assert block.origin is not None
    assert str(block.origin.faults[0]) == (
        'line 1 ("q-0"): question is not valid UTF-8 (0xf9 at byte 29). If the file is in Latin-1, '
        'read it with --encoding latin-1 (in Python: encoding="latin-1")'
    )


def test_another_encoding_than_the_one_that_is_named(tmp_path: Path) -> None:
    path = tmp_path / "d.jsonl"
    path.write_bytes(TEXTS["d.jsonl"].encode()[:-2] + b"\xff}\n")
    with pytest.raises(InputError) as caught:
        rows_of(path, encoding="ascii")
    assert str(caught.value) == f"{path}, line 1: is not valid ascii; give another encoding"
    path.write_bytes(TEXTS["d.jsonl"].encode("utf-16")[:-1])
    with pytest.raises(InputError, match="line 40: is not valid utf-16; give another encoding"):
        rows_of(path, encoding="utf-16")


@every_row("name", ["no-such", "rot13", "base64", "", 3, "utf-16\0"])
def test_what_is_no_text_encoding(name: Any) -> None:
    with pytest.raises(InputError, match="encoding"):
        encodings.checked_encoding(name, "encoding")
