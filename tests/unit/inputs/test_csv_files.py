"""CSV as samples: quoting, what cells mean, and how a row that cannot be read is called."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_eval.errors import InputError
from rag_eval.inputs.blocks import FileOrigin
from rag_eval.inputs.opened import Input, InputOptions, Position
from rag_eval.inputs.samples import FieldNeeds
from rag_eval.inputs.schemas.contexts import UNREADABLE, list_in
from rag_eval.inputs.tables import table_rows

HEADER = "id,question,answer,contexts\n"
ROW = 'a,q?,A b.,"[""A b c.""]"\n'
SAMPLE = {"id": "a", "question": "q?", "answer": "A b.", "contexts": ["A b c."]}

Found = tuple[list[Any], list[int], list[str]]


def read(path: Path, options: InputOptions | None = None) -> Found:
    rows: list[Any] = []
    numbers: list[int] = []
    faults: list[str] = []
    for block in Input(path, options).blocks():
        assert isinstance(block.origin, FileOrigin)
        rows += map(block.sample, range(len(block)))
        numbers += block.origin.numbers
        faults += map(str, block.origin.faults)
    return rows, numbers, faults


def written(folder: Path, data: str | bytes) -> Path:
    path = folder / "data.csv"
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return path


def one_row(folder: Path, header: str, cells: list[str], **options: Any) -> Any:
    text = io.StringIO(newline="")
    csv.writer(text).writerows([header.split(","), cells])
    rows, _, faults = read(written(folder, text.getvalue()), InputOptions(**options))
    return faults[0] if faults else rows[0]


def contexts_of(folder: Path, cell: str, **options: Any) -> Any:
    found = one_row(folder, "question,answer,contexts", ["q", "a", cell], **options)
    return found if isinstance(found, str) else found["contexts"]


# --------------------------------------------------------------------------------------- text


@pytest.mark.parametrize("start", ["", "\ufeff"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_line_ends_and_byte_order_marks(tmp_path: Path, start: str, end: str) -> None:
    data = (start + HEADER + ROW + ROW).replace("\n", end)
    assert read(written(tmp_path, data)) == ([SAMPLE] * 2, [2, 3], [])
    assert read(written(tmp_path, data.removesuffix(end))) == ([SAMPLE] * 2, [2, 3], [])


def test_quotes_separators_and_line_ends_in_cells(tmp_path: Path) -> None:
    question = 'a "b", c\r\nd\n\ne \u2028 f \x85 g \x1c'
    row = one_row(tmp_path, "question,answer,contexts", [question, "x", "y"])
    assert row == {"question": question, "answer": "x", "contexts": ["y"]}


def test_a_row_is_called_by_its_last_line(tmp_path: Path) -> None:
    data = HEADER + ROW + '"b","two\nlines","x","[]"\n\n\n' + 'c,"q\n\n",x\n' + ROW
    rows, numbers, faults = read(written(tmp_path, data))
    assert [row["id"] for row in rows] == ["a", "b", "a"]
    assert numbers == [2, 4, 10]
    assert faults == ["line 9: 3 cells, but the header names 4 columns"]


@pytest.mark.parametrize(
    ("row", "fault"),
    [
        ("a,q,x\n", "line 3: 3 cells, but the header names 4 columns"),
        ("a,q,x,[],\n", "line 3: 5 cells, but the header names 4 columns"),
        ('a,"q\n\n",x\n', "line 5: 3 cells, but the header names 4 columns"),
        ("a\n", "line 3: 1 cell, but the header names 4 columns"),
    ],
)
def test_rows_of_another_width(tmp_path: Path, row: str, fault: str) -> None:
    rows, _, faults = read(written(tmp_path, HEADER + ROW + row + ROW))
    assert (rows, faults) == ([SAMPLE] * 2, [fault])


@pytest.mark.parametrize(
    ("data", "fault"),
    [
        (HEADER + ROW + 'b,"q,x\n', "line 3: is not CSV: a quote in this row is not closed"),
        # The line of the quote, and not the last one of the file.
        (
            HEADER + ROW + 'b,"q,x\n' + "c,q,x,y\n" * 2,
            "line 3: is not CSV: a quote in this row is not",
        ),
        (
            HEADER + ROW + 'b,"q,x\nc,"q",x\n',
            "line 4: is not CSV: ',' expected after '\"'. The row begins on line 3: is a quote",
        ),
        (HEADER + ROW + 'b,"q"q,x,[]\n', "line 3: is not CSV: ',' expected after '\"'"),
        ("", "line 1 must name the columns"),
        ("\n" + ROW, "line 1 must name the columns"),
        (",,\n1,2,3\n", "line 1 must name the columns"),
        ("a,b,a\n1,2,3\n", "line 1 names the column 'a' twice"),
        (HEADER.encode() + b"a,q\xff,x,[]\n", "line 2 is not valid UTF-8 (byte 0xff)"),
        (HEADER.encode() + ROW.encode() * 9 + b"a,\xe4,x,[]\n" + ROW.encode(), "line 11 is not"),
        (HEADER.encode() + b'"a\n\n",\xc3', "line 4 is not valid UTF-8 (byte 0xc3)"),
        (b"\xff\xfe" + HEADER.encode("utf-16-le"), "is in UTF-16, not in UTF-8. Read it with"),
    ],
)
def test_a_file_that_is_no_csv(tmp_path: Path, data: str | bytes, fault: str) -> None:
    path = written(tmp_path, data)
    with pytest.raises(InputError) as caught:
        read(path)
    assert str(path) in str(caught.value)
    assert fault in str(caught.value)


def test_what_was_before_the_damage_is_given(tmp_path: Path) -> None:
    blocks = Input(written(tmp_path, (HEADER + ROW + ROW).encode() + b"\xff\n")).blocks()
    assert len(next(blocks)) == 2
    with pytest.raises(InputError, match="line 4 is not valid UTF-8"):
        next(blocks)


def test_bad_bytes_far_into_the_file(tmp_path: Path) -> None:
    """Lines are counted over chunks of a megabyte, and characters may lie across their bounds."""
    row = f"a,{'ü€😀' * 300},x,[]\n"
    n_rows = 3_000_000 // len(row.encode())
    path = written(tmp_path, (HEADER + row * n_rows).encode())
    assert len(read(path)[0]) == n_rows
    path.write_bytes(path.read_bytes() + b"b,\x80,x,[]\n")
    with pytest.raises(InputError, match=f"line {n_rows + 2} is not valid UTF-8 .byte 0x80"):
        read(path)


def test_cells_past_the_limit_of_python(tmp_path: Path) -> None:
    contexts = ["word " * 40_000, "x"]
    assert contexts_of(tmp_path, json.dumps(contexts)) == contexts


def test_a_header_and_no_rows(tmp_path: Path) -> None:
    assert read(written(tmp_path, HEADER)) == ([], [], [])


# -------------------------------------------------------------------------------------- cells


@pytest.mark.parametrize(
    ("cell", "contexts"),
    [
        ('["a", "b"]', ["a", "b"]),
        (' ["ä\\n\\"", ""] ', ['ä\n"', ""]),
        ("[]", []),
        ("", []),
        (" \n", []),
        ("['a', \"it's\", 'b\\n']", ["a", "it's", "b\n"]),
        ("['\\xe4\\u20ac\\U0001f600', '\\\\', '\\'']", ["ä€😀", "\\", "'"]),
        ("['a' , 'b'\n]", ["a", "b"]),
        ("['a',]", ["a"]),
        ("['a' 'b'\n 'c']", ["a", "b", "c"]),
        ("[['a'], ['b']]", ["a", "b"]),
        ('[{"text": "a", "score": 0.5}]', ["a"]),
        ("[{'page_content': 'a', 'metadata': {'page': 1}}, 'b']", ["a", "b"]),
        ("[Document(metadata={'page': 1}, page_content='a')]", ["a"]),
        ("[array(['a', 'b'], dtype=object)]", ["a", "b"]),
        ('{"text": "a"}', ["a"]),
        ('{"a": "b"}', ['{"a": "b"}']),
        ("[1] a note, and [2]", ["[1] a note, and [2]"]),
        ("one plain text, with a comma", ["one plain text, with a comma"]),
        ("[1, 2]", [1, 2]),
        ("[a, b]", None),
        ("['a'b']", None),
        ("['a", ["['a"]),
        ('["a", null]', ["a", None]),
        ("[see 4] and more", ["[see 4] and more"]),
        ("['a'] and more", ["['a'] and more"]),
    ],
)
def test_contexts(tmp_path: Path, cell: str, contexts: list[str] | None) -> None:
    found = contexts_of(tmp_path, cell)
    # What cannot be read stays as it is, and is a fault where contexts are read.
    assert found == (cell if contexts is None else contexts)


def test_a_list_that_cannot_be_read_is_a_fault_where_contexts_are_read(tmp_path: Path) -> None:
    [block] = Input(written(tmp_path, HEADER + 'a,q,x,"[a, b]"\n')).blocks()
    assert block.fault(0, FieldNeeds.of(("faithfulness",))) == UNREADABLE
    assert block.fault(0, FieldNeeds.of(("answer_relevance",))) is None


@pytest.mark.parametrize(
    ("cell", "contexts"),
    [
        ("a|b", ["a", "b"]),
        ("a", ["a"]),
        ("", []),
        ("[see 4]|b", ["[see 4]", "b"]),
        ("a||b", ["a", "", "b"]),
    ],
)
def test_contexts_with_a_separator(tmp_path: Path, cell: str, contexts: list[str]) -> None:
    assert contexts_of(tmp_path, cell, context_separator="|") == contexts


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"])), min_size=1))
def test_lists_as_python_prints_them(texts: list[str]) -> None:
    assert list_in(repr(texts)) == texts
    assert list_in(json.dumps(texts)) == texts


@given(st.text(alphabet="['\",]\\ axu0n\n"))
def test_no_text_hangs_or_fails(text: str) -> None:
    found = list_in("[" + text)
    assert found is None or isinstance(found, list)


def test_a_printed_list_of_a_megabyte() -> None:
    """No pattern may try every way to part it."""
    texts = ["it's \\ " * 20_000] * 8
    assert list_in(repr(texts)) == texts
    assert list_in(repr(texts)[:-2]) is None


@pytest.mark.parametrize(
    ("cell", "truth"),
    [("Paris", "Paris"), ('["Paris", "paris"]', ["Paris", "paris"]), ("", None), ("[x]", "[x]")],
)
@pytest.mark.parametrize("name", ["ground_truth", "groundTruth"])
def test_ground_truths(tmp_path: Path, name: str, cell: str, truth: Any) -> None:
    row = one_row(tmp_path, f"question,answer,contexts,{name}", ["q", "a", "[]", cell])
    assert row[name] == truth


def test_a_ground_truth_with_a_separator(tmp_path: Path) -> None:
    cells = ["q", "a", "[]", "Paris;paris"]
    header = "question,answer,contexts,ground_truth"
    row = one_row(tmp_path, header, cells, gold_separator=";")
    assert row["ground_truth"] == ["Paris", "paris"]


def test_empty_ids_and_languages_are_none(tmp_path: Path) -> None:
    row = one_row(
        tmp_path, "id,question,answer,contexts,language", ["", "q", "", "[]", ""]
    )  # fmt: skip
    assert row.get("id") is None
    assert row.get("language") is None
    assert row["answer"] == ""


# ------------------------------------------------------------------------------------- columns


def test_columns_of_other_tools(tmp_path: Path) -> None:
    header = "user_input,response,retrieved_contexts,reference,id"
    row = one_row(tmp_path, header, ["q", "a", "['b']", "r", "7"])
    assert row == {
        "question": "q",
        "answer": "a",
        "contexts": ["b"],
        "ground_truth": "r",
        "id": "7",
    }


@pytest.mark.parametrize("header", ["answer,output", "output,answer"])
def test_a_mapped_field_wins_over_a_column_of_its_name(tmp_path: Path, header: str) -> None:
    """The column that came last won."""
    cells = {"answer": "what it should be", "output": "what it is"}
    row = one_row(
        tmp_path,
        f"question,{header},contexts",
        ["q", *(cells[name] for name in header.split(",")), "[]"],
        mapping={"answer": "output"},
    )
    assert row == {"question": "q", "answer": "what it is", "contexts": []}


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("t.csv", 'question,answer,contexts,groundTruth\nq,a,"[""c""]",t\n'),
        ("t.csv", 'user_input,response,retrieved_contexts,groundTruth\nq,a,"[""c""]",t\n'),
        (
            "t.jsonl",
            '{"user_input":"q","response":"a","retrieved_contexts":["c"],"groundTruth":"t"}\n',
        ),
    ],
)
def test_a_ground_truth_is_a_column_of_its_name(tmp_path: Path, name: str, line: str) -> None:
    """Its other spelling is no other name."""
    path = tmp_path / name
    path.write_text(line)
    (block,) = Input(path).blocks()
    assert block.values("groundTruth") == ["t"]


def test_other_columns_stay(tmp_path: Path) -> None:
    row = one_row(tmp_path, "question,answer,contexts,model", ["q", "a", "[]", "m-1"])
    assert row["model"] == "m-1"


# ------------------------------------------------------------------------------------ position


def test_rows_from_any_row_on(tmp_path: Path) -> None:
    data = HEADER + "".join(f'{n},"q\n{n}",x\n' if n % 3 == 0 else ROW for n in range(9))
    path = written(tmp_path, data)
    [whole] = Input(path).blocks()
    assert whole.origin is not None
    places = [*whole.origin.numbers, *(fault.number for fault in whole.origin.faults)]
    for skipped in range(10):
        blocks = list(Input(path).blocks(Position(0, 0, skipped)))
        found = [
            place
            for block in blocks
            if block.origin is not None
            for place in (*block.origin.numbers, *(fault.number for fault in block.origin.faults))
        ]
        assert sorted(found) == sorted(places)[skipped:]
        assert [block.first_row for block in blocks] == [skipped][: 9 - skipped]


# ---------------------------------------------------------------------------------- separators


@pytest.mark.parametrize("separator", [";", "\t", "|"])
def test_spreadsheets_of_other_countries_write_other_separators(
    tmp_path: Path, separator: str
) -> None:
    text = separator.join(["id", '"a, ""b"""', "label"]) + "\r\n"
    text += separator.join(["q-1", '"x;y\tz"', "0,25"]) + "\r\n"
    path = written(tmp_path, b"\xef\xbb\xbf" + text.encode())
    (found,) = table_rows(path)
    assert found == ('line 2 ("q-1")', {"id": "q-1", 'a, "b"': "x;y\tz", "label": "0,25"})


def test_a_first_line_of_excel_tells_the_separator(tmp_path: Path) -> None:
    text = "sep=;\r\nid;question;answer;contexts\r\na;q?;A b.;A b c.\r\n"
    rows, _, faults = read(written(tmp_path, b"\xef\xbb\xbf" + text.encode()))
    assert (rows, faults) == ([SAMPLE], [])
    with pytest.raises(InputError, match="line 2 names the column 'id' twice"):
        list(table_rows(written(tmp_path, "sep=|\nid|id\n")))


def test_a_comma_between_names_is_the_separator(tmp_path: Path) -> None:
    (found,) = table_rows(written(tmp_path, "id,a;b\nq-1,c;d\n"))
    assert found[1] == {"id": "q-1", "a;b": "c;d"}


def test_samples_may_have_semicolons_between_them(tmp_path: Path) -> None:
    rows, _, faults = read(written(tmp_path, "id;question;answer;contexts\na;q?;A b.;A b c.\n"))
    assert (rows, faults) == ([SAMPLE], [])


def test_empty_rows_at_the_end_of_a_table_are_none(tmp_path: Path) -> None:
    found = list(table_rows(written(tmp_path, "id,label\nq-1,1\n,\n,\n")))
    assert [row for _, row in found] == [{"id": "q-1", "label": "1"}]


def test_utf_16_is_told(tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match=r"line 1 is not valid UTF-8 .byte 0xff.\. Save it in UTF-8"
    ):
        list(table_rows(written(tmp_path, "id,label\nq-1,1\n".encode("utf-16"))))
