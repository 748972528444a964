"""Workbooks: the rows of a CSV of the same cells; what is damaged or hostile ends in a message."""

from __future__ import annotations

import io
import sys
import zipfile
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from rag_eval.errors import InputError, MissingExtraError
from rag_eval.inputs import csv_files
from rag_eval.inputs.opened import START, Input, InputOptions, Position
from tests.tables import every_row

openpyxl = pytest.importorskip("openpyxl", reason="the test extra installs openpyxl")

HEADER = ["id", "question", "answer", "contexts", "year"]
SAMPLE = {
    "id": "a",
    "question": "Q?",
    "answer": "A.",
    "contexts": ["C.", "D."],
    "year": "2024",
}
CELLS = ["a", "Q?", "A.", '["C.", "D."]', 2024]


def workbook(path: Path, *sheets: list[list[Any]]) -> Path:
    book = openpyxl.Workbook()
    book.remove(book.active)
    for number, rows in enumerate(sheets, 1):
        sheet = book.create_sheet(f"S{number}")
        for row in rows:
            sheet.append(row)
    book.save(path)
    return path


def rows_of(path: Path, start: Position = START, **options: Any) -> list[Any]:
    blocks = Input(path, InputOptions(**options)).blocks(start)
    return [block.sample(index) for block in blocks for index in range(len(block))]


def test_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csv_files, "_MAX_ROWS", 2)
    path = workbook(tmp_path / "d.XLSX", [HEADER, *[CELLS] * 5])
    assert rows_of(path) == [SAMPLE] * 5
    assert rows_of(path, Position(0, 0, 3)) == [SAMPLE] * 2
    assert rows_of(path, mapping={"ground_truth": "year"})[0]["ground_truth"] == "2024"


def test_values_are_texts(tmp_path: Path) -> None:
    values = [1.5, True, datetime(2024, 5, 6), None, "=1+1"]
    path = workbook(tmp_path / "d.xlsx", [HEADER, [1, *values[:4]], ["b", "Q?", "=1+1"]])
    first, second = rows_of(path)
    assert first["id"] == "1"
    assert (first["question"], first["answer"]) == ("1.5", "True")
    assert first["contexts"] == ["2024-05-06T00:00:00"]
    # A formula is not run: this file has no value of it.
    assert (second["answer"], second["contexts"]) == ("", [])


def test_the_first_sheet_that_holds_rows(tmp_path: Path) -> None:
    path = workbook(tmp_path / "d.xlsx", [], [[], HEADER, [], CELLS, [None, None]], [["x"]])
    source = Input(path)
    [block] = source.blocks()
    assert block.origin is not None
    assert ([block.sample(0)], block.origin.numbers) == ([SAMPLE], [3])
    assert source.remarks == ['rows: in the sheet "S2" (not read: S1, S3)']
    assert rows_of(workbook(tmp_path / "e.xlsx", [])) == []


def test_rows_of_another_width(tmp_path: Path) -> None:
    path = workbook(tmp_path / "d.xlsx", [[*HEADER, None], CELLS[:4], [*CELLS, None, "more"]])
    [block] = Input(path).blocks()
    assert block.origin is not None
    assert block.sample(0) == {**SAMPLE, "year": ""}
    assert list(map(str, block.origin.faults)) == ["row 3: 7 cells, but the header names 5 columns"]


def test_a_column_that_is_there_twice(tmp_path: Path) -> None:
    path = workbook(tmp_path / "d.xlsx", [[], ["a", "b", "a"]])
    with pytest.raises(InputError, match="row 2 names the column 'a' twice"):
        rows_of(path)


def test_without_openpyxl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = workbook(tmp_path / "d.xlsx", [HEADER])
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'rag-eval-native\[excel\]'"):
        rows_of(path)


# ------------------------------------------------------------------------------------- hostile


def rewritten(path: Path, change: Callable[[str, bytes], bytes]) -> Path:
    """The workbook with the parts of its archive changed."""
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, change(name, content))
    return path


def in_sheet(old: bytes, new: bytes) -> Callable[[str, bytes], bytes]:
    def change(name: str, content: bytes) -> bytes:
        return content.replace(old, new) if name.startswith("xl/worksheets/sheet") else content

    return change


SHARED = "application/vnd.openxmlformats-officedocument.spreadsheetml.sharedStrings+xml"


def with_shared_texts(path: Path, part: str, texts: bytes) -> Path:
    """The workbook with the question of its first row in a table of texts."""

    def change(name: str, content: bytes) -> bytes:
        named = f'<Override PartName="/{part}" ContentType="{SHARED}"/></Types>'
        content = content.replace(b"</Types>", named.encode())
        return in_sheet(
            b'<c r="B2" t="inlineStr"><is><t>Q?</t></is></c>', b'<c r="B2" t="s"><v>1</v></c>'
        )(name, content)

    rewritten(path, change)
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(part, b"<sst xmlns='%s'>%s</sst>" % (NAMESPACE, texts))
    return path


NAMESPACE = b"http://schemas.openxmlformats.org/spreadsheetml/2006/main"
TEXTS = b"<si><t>x</t></si><si><t>Q?</t></si>"


def test_texts_that_sheets_share(tmp_path: Path) -> None:
    path = workbook(tmp_path / "d.xlsx", [HEADER, CELLS])
    assert rows_of(with_shared_texts(path, "xl/sharedStrings.xml", TEXTS)) == [SAMPLE]
    # Among the sheets, which are read as a stream, they would not be counted.
    with pytest.raises(InputError, match="a part has too many elements"):
        rows_of(with_shared_texts(path, "xl/worksheets/sheet9.xml", TEXTS))


DOCTYPE = b'<!DOCTYPE x [<!ENTITY a "aaaaaaaa"><!ENTITY b "&a;&a;&a;&a;">]><worksheet'


@every_row(
    ("change", "message"),
    [
        (in_sheet(b"<worksheet", DOCTYPE), "it declares a document type"),
        (in_sheet(b"</sheetData>", b""), "is not a valid workbook: mismatched tag"),
        (
            in_sheet(b"<sheetData>", b'<sheetData><row r="1">' + b" " * 70_000 + b"</row>"),
            "row 1: the row is longer than 65,536 bytes; to read longer rows, raise --max-row-byt",
        ),
        (
            in_sheet(b"<sheetData>", b"<sheetData>" + b"<c/>" * 11_000),
            "a part has too many elements",
        ),
        (
            lambda name, content: content + b" " * 300_000 if "theme" in name else content,
            "is longer than 262,144 bytes, the limit for a file that is read into memory",
        ),
        (lambda name, content: b"" if "workbook" in name else content, "is not a valid workbook"),
        (in_sheet(b'r="A2"', b'r="x"'), "is not a valid workbook"),
    ],
)
def test_hostile_workbooks(
    tmp_path: Path, change: Callable[[str, bytes], bytes], message: str
) -> None:
    from rag_eval.inputs import excel_files

    path = rewritten(workbook(tmp_path / "d.xlsx", [HEADER, CELLS]), change)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(excel_files, "_MOST_ELEMENTS", 10_000)
        with pytest.raises(InputError) as caught:
            rows_of(path, max_row_bytes=1 << 16)
    assert message in str(caught.value)
    assert str(path) in str(caught.value)


def test_rows_that_say_they_are_far_away(tmp_path: Path) -> None:
    """Rows between are empty; openpyxl would make them all, without an end."""
    change = in_sheet(b'<row r="2"', b'<row r="99999999999"')
    path = rewritten(workbook(tmp_path / "d.xlsx", [HEADER, CELLS]), change)
    assert rows_of(path) == []


def test_a_bomb_is_refused_before_it_is_unpacked(tmp_path: Path) -> None:
    path = workbook(tmp_path / "d.xlsx", [HEADER, CELLS])
    zeros = b"<a/>" + b" " * (65 << 20)
    rewritten(path, lambda name, content: zeros if "theme" in name else content)
    assert path.stat().st_size < 1 << 17
    with pytest.raises(InputError, match="unpacks to more than 64 MB, which is more than 100 tim"):
        rows_of(path)


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04", b"id,question\n", b"\xd0\xcf\x11\xe0"])
def test_what_is_no_archive(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "d.xlsx"
    path.write_bytes(content)
    with pytest.raises(InputError, match="is not a valid workbook: File is not a zip file"):
        rows_of(path)


def test_a_workbook_that_is_cut_off(tmp_path: Path) -> None:
    content = workbook(tmp_path / "d.xlsx", [HEADER, CELLS]).read_bytes()
    for length in range(0, len(content), 97):
        path = tmp_path / "e.xlsx"
        path.write_bytes(content[:length])
        with pytest.raises(InputError, match="is not a valid workbook"):
            rows_of(path)


def test_bytes_that_were_turned(tmp_path: Path) -> None:
    """Any damage is a message or a workbook, never another error."""
    content = workbook(tmp_path / "d.xlsx", [HEADER, CELLS]).read_bytes()
    path = tmp_path / "e.xlsx"
    for place in range(0, len(content), 53):
        damaged = bytearray(content)
        damaged[place] ^= 0x55
        path.write_bytes(damaged)
        try:
            rows_of(path)
        except InputError as error:
            assert str(path) in str(error)  # noqa: PT017


def test_a_workbook_in_memory(tmp_path: Path) -> None:
    """Packed once more, it is held in memory: an archive is read from its end."""
    import gzip

    content = io.BytesIO(workbook(tmp_path / "d.xlsx", [HEADER, CELLS]).read_bytes())
    path = tmp_path / "d.xlsx.gz"
    path.write_bytes(gzip.compress(content.getvalue()))
    assert rows_of(path) == [SAMPLE]
