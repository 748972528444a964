"""Records that are scanned give the rows, scores and faults of records that are decoded."""

from __future__ import annotations

import csv
import gzip
import io
import json
import random
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rag_eval._native import line_scans
from rag_eval.errors import InputError
from rag_eval.inputs import scanned_blocks
from rag_eval.inputs.csv_blocks import CsvBlock
from rag_eval.inputs.opened import Input, InputOptions, Position
from tests import strategies
from tests.scanned_rows import NEEDS, Read, buffers_of, check_same, read

HEADER: Final = ("id", "question", "answer", "contexts", "groundTruth")
CELLS: Final = (
    "r",
    "Who led the trial?",
    'Ellen "Nell" Marsh led it.\nIt began.',
    json.dumps(["Ellen Marsh led the trial.", 'It began "in May".\n']),
    "Ellen",
)
# What names of columns mean; where two mean the same, nothing is scanned.
SCHEMAS: Final[list[tuple[tuple[str, ...], InputOptions]]] = [
    (HEADER, InputOptions()),
    ((*HEADER[:4], "ground_truth", "language", "extra"), InputOptions()),
    (("id", "user_input", "response", "retrieved_contexts", "reference"), InputOptions()),
    (
        ("key", "query é", "result", "contexts", "answer", "id"),
        InputOptions(
            mapping={
                **{"question": "query é", "answer": "result", "ground_truth": "answer"},
                "id": "key",
            }
        ),
    ),
]

TEXTS: Final = st.one_of(
    strategies.texts(lone_surrogates=False, max_parts=3),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=20),
    st.sampled_from(["", "a", '"', '""', "\n", "\r\n", "\r", "a,b", "a;b", " ", "[1] a", "x" * 99]),
)
CONTEXTS: Final = st.one_of(
    st.lists(TEXTS, max_size=4).map(json.dumps),
    st.lists(TEXTS, max_size=3).map(lambda found: json.dumps(found, ensure_ascii=False, indent=1)),
    st.lists(TEXTS, max_size=4).map(repr),
    st.lists(TEXTS, max_size=3).map(lambda found: repr(found).replace("', ", "'\n ")),
    TEXTS,
    st.sampled_from(
        [
            *("[]", "[ ]", '["a"', '["a"] ', ' ["a"]', '["a"]b', "[1]", '[["a"]]', '{"text": "a"}'),
            *('[ "a" ,\t"b" ]', '["a",]', '["\\ud800"]', '["a" "b"]', "\u2003", "\u3000[]", "["),
        ]
    ),
)
CELL_KINDS: Final = {
    "contexts": CONTEXTS,
    "retrieved_contexts": CONTEXTS,
    "language": st.sampled_from(["", "", "en", "??"]),
    "groundTruth": st.one_of(TEXTS, st.just('["a", "b"]')),
}


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("tables") / "data.csv"


def quoted(cell: str, always: bool, mark: str) -> str:
    """A cell as any writer may write it."""
    if always or any(sign in cell for sign in (mark, '"', "\n", "\r")):
        return '"' + cell.replace('"', '""') + '"'
    return cell


def table_of(
    header: Sequence[str], rows: Sequence[Sequence[str]], seed: int, mark: str = ","
) -> bytes:
    """A file: quoted here and there, with blank lines between records."""
    chance = random.Random(seed)
    end = chance.choice(["\n", "\n", "\r\n"])
    share = chance.choice([0.0, 0.3, 1.0])
    lines = []
    for row in (header, *rows):
        lines += [""] * (chance.random() < 0.1 and bool(lines))
        lines.append(mark.join(quoted(cell, chance.random() < share, mark) for cell in row))
    text = end.join(lines) + chance.choice(["", end, end + end])
    return chance.choice(["", "\ufeff"]).encode() + text.encode()


def scanned_share(found: Read) -> float:
    return found.n_scanned / len(found.rows)


# ---------------------------------------------------------------------------------------- rows


@st.composite
def tables(draw: st.DrawFn, *, damaged: bool) -> tuple[bytes, InputOptions]:
    header, options = draw(st.sampled_from(SCHEMAS))
    kinds = [CELL_KINDS.get(name, TEXTS) for name in header]
    rows = draw(st.lists(st.tuples(*kinds), min_size=1, max_size=6))
    order = draw(st.permutations(range(len(header))))
    columns = [header[place] for place in order]
    cells = [[row[place] for place in order] for row in rows]
    if damaged:
        for row in cells:
            del row[draw(st.integers(0, 3)) + len(row) - 3 :]
            row += ["more"] * (draw(st.integers(0, 5)) == 5)
    mark = draw(st.sampled_from(",,;\t|"))
    data = table_of(columns, cells, draw(st.integers(0, 1 << 20)), mark)
    if damaged and draw(st.booleans()):
        at = draw(st.integers(0, len(data)))
        data = data[:at] + draw(st.sampled_from([b'"', b"\xff", b"\r", b"\n", b","])) + data[at:]
    return data, options


@given(tables(damaged=False), st.sampled_from([64, 300, 1000]))
def test_rows_of_texts(path: Path, table: tuple[bytes, InputOptions], n_bytes: int) -> None:
    check(path, *table, n_bytes)


@given(tables(damaged=True), st.sampled_from([64, 1000]))
def test_rows_of_anything(path: Path, table: tuple[bytes, InputOptions], n_bytes: int) -> None:
    check(path, *table, n_bytes)


def check(path: Path, data: bytes, options: InputOptions, n_bytes: int) -> None:
    """Both ways give the same, or end with the same message after the same rows."""
    path.write_bytes(data)
    messages = []
    for scanned in (True, False):
        try:
            read(path, n_bytes, scanned=scanned, options=options, needs=())
        except InputError as error:
            messages.append(str(error))
    if messages:
        assert len(messages) == 2
        assert messages[0] == messages[1]
        assert rows_before_fault(path, options, n_bytes, scanned=True) == rows_before_fault(
            path, options, n_bytes, scanned=False
        )
    else:
        check_same(path, data, n_bytes, options)


def rows_before_fault(
    path: Path, options: InputOptions, n_bytes: int, *, scanned: bool
) -> list[Any]:
    found = []
    with buffers_of(n_bytes, scanned=scanned):
        try:
            for block in Input(path, options).blocks():
                found += [(block.name(at), block.sample(at)) for at in range(len(block))]
                assert block.origin is not None
                found += map(str, block.origin.faults)
        except InputError:
            pass
    return found


@pytest.mark.parametrize(("header", "options"), SCHEMAS)
def test_sound_rows_are_scanned(path: Path, header: tuple[str, ...], options: InputOptions) -> None:
    """Guards the tests above against holding one way to read against itself."""
    cells = dict(zip(("answer", "contexts"), CELLS[2:4], strict=True))
    row = [cells.get(name, "" if name in ("language", "extra") else "x, y") for name in header]
    if "retrieved_contexts" in header:
        row[3] = CELLS[3]
    found = check_same(path, table_of(header, [row] * 300, 3), 700, options)
    assert len(found.rows) == 300
    assert found.n_scanned > 280
    assert found.rows[0] == found.rows[-1]


@pytest.mark.parametrize(
    "cell",
    [
        *("", "a", "a [1]", "é", "「a」", "\u2019tis", "\u00bfa", "\u1e00a", "]", '"a"', "a\nb"),
        *(
            "[]",
            '["a"]',
            '[ "a", "\\u00e9\\n\\"" ]',
            "['a']",
            "['a' 'b'\n \"c\"]",
            "[ '' , \"it's\" ]",
            "[\"a\", 'b']",
        ),
        repr(["\n\r\t\\'\"", "\x00\xa0é\u200b東🎨\U000e0001", "x" * 200 + "\\" * 9]),
    ],
)
def test_simple_contexts_are_scanned(path: Path, cell: str) -> None:
    rows = [[*CELLS[:3], cell, "t"]] * 200
    assert scanned_share(check_same(path, table_of(HEADER, rows, 1), 1 << 12)) > 0.5


@pytest.mark.parametrize(
    "cell",
    [
        *(
            "['a',]",
            "['a'] ",
            "[ ]'",
            "['a''b']",
            "['a",
            "[u'a']",
            "['a', None]",
            r"['\q']",
            r"['\xE9']",
        ),
        *(r"['\ud800']", r"['\U00110000']", "[['a']]", "['a', 1]", "[]]", r"['\']", "['a'\t'b']"),
        *(" ", "[1]", '["a"', '["a"] ', ' ["a"]', "{}", '{"text": "a"}', '[["a"]]'),
        *('["a\nb"]', '["\\ud800"]', "[1] a", "\u3000a", "\u2029a", "\xa0a", "\x85a", "\x1fa"),
    ],
)
def test_other_contexts_are_decoded(path: Path, cell: str) -> None:
    rows = [[*CELLS[:3], cell, "t"]] * 99
    assert not check_same(path, table_of(HEADER, rows, 1), 1 << 12).n_scanned


def test_white_space_of_any_kind_may_be_before_a_list(path: Path) -> None:
    """And nothing else may: each character that Python takes for one, and those beside it."""
    spaces = [point for point in range(sys.maxunicode) if chr(point).isspace()]
    points = {point + step for point in spaces for step in (-1, 0, 1)} | set(range(0x21, 0x3000, 7))
    rows = [[*CELLS[:3], f'{chr(point)}["a"]', "t"] for point in sorted(points)]
    for row in rows:
        data = table_of(HEADER, [row] * 70, 1)
        path.write_bytes(data)
        first, *_, last = Input(path).blocks()
        found = [block.pack(NEEDS[0]).row_context_texts(0) for block in (first, last)]
        assert found[0] == found[1]
        # Of control characters some are white space.
        assert isinstance(last, CsvBlock) == (row[3] > " " and not row[3][0].isspace())


def test_one_row_that_is_not_simple_leaves_the_others(path: Path) -> None:
    """Those before it and, from some rows after it on, those behind."""
    rows = [[*CELLS[:4], f"t{number}"] for number in range(6000)]
    rows[2000] = rows[2000][:3]
    rows[4000][3] = "['a']"
    found = check_same(path, table_of(HEADER, rows, 2), 1 << 20)
    assert 3000 < found.n_scanned < 5000
    assert len(found.rows) == 5999
    assert [len(faults) for faults in found.faults] == [1] * len(NEEDS)


def test_rows_that_name_their_language_are_decoded(path: Path) -> None:
    header = (*HEADER, "language")
    rows = [[*CELLS, "de" if number % 2 else ""] for number in range(200)]
    found = check_same(path, table_of(header, rows, 1), 1 << 12)
    assert "'language': 'de'" in found.rows[-1]
    assert 0 < found.n_scanned < 100


@pytest.mark.parametrize("name", ["groundTruth", "contexts"])
def test_two_columns_of_one_field_are_decoded(path: Path, name: str) -> None:
    options = InputOptions(mapping={"contexts": "docs"} if name == "contexts" else {})
    other = {"groundTruth": "ground_truth", "contexts": "docs"}[name]
    data = table_of((*HEADER, other), [[*CELLS, CELLS[3]]] * 99, 1)
    found = check_same(path, data, 1 << 12, options)
    # A column of a field's name that is mapped elsewhere means nothing.
    assert bool(found.n_scanned) == (name == "contexts")


def test_options_that_split_cells_need_rows(path: Path) -> None:
    rows = [[*CELLS[:3], "a|b", "c|d"]] * 99
    path.write_bytes(table_of(HEADER, rows, 1))
    for options in (InputOptions(context_separator="|"), InputOptions(gold_separator="|")):
        grounded = [needs for needs in NEEDS if needs.profile == "grounded"]
        found = read(path, 1 << 12, scanned=True, options=options, needs=grounded)
        assert not found.n_scanned
        assert ("['a', 'b']" in found.rows[-1]) == (options.context_separator == "|")
        assert ("['c', 'd']" in found.rows[-1]) == (options.gold_separator == "|")


# --------------------------------------------------------------------------------------- places


def test_rows_from_any_row_on(path: Path) -> None:
    path.write_bytes(table_of(HEADER, [[f"r{n}", *CELLS[1:]] for n in range(200)], 5))
    every = read(path, 2000, scanned=True, needs=())
    assert every.n_scanned > 100
    for skipped in (0, 1, 63, 64, 65, 100, 101, 150, 199, 200, 201):
        rest = read(path, 2000, scanned=True, start=Position(0, 0, skipped), needs=())
        for field in ("rows", "ids", "names", "places"):
            assert getattr(rest, field) == getattr(every, field)[skipped:]


def test_lines_are_counted_over_records_blanks_and_blocks(path: Path) -> None:
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(HEADER)
    numbers = []
    line = 1
    for number in range(400):
        if number % 7 == 3:
            text.write("\n\r\n")
            line += 2
        answer = "one\ntwo\r\n\nfour" if number % 5 == 2 else "one"
        writer.writerow(["r", "q", answer, "[]", "t"])
        line += 1 + answer.count("\n")
        numbers.append(line)
    found = check_same(path, text.getvalue().encode(), 300)
    assert [place[0] for place in found.places] == numbers
    assert found.n_scanned > 300


def test_blank_lines_alone_are_no_block(path: Path) -> None:
    path.write_bytes(table_of(HEADER, [CELLS] * 70, 1) + b"\n\r\n" * 5000)
    with buffers_of(500, scanned=True):
        for skipped in (0, 64, 69, 70):
            sizes = [len(block) for block in Input(path).blocks(Position(0, 0, skipped))]
            assert sum(sizes) == 70 - skipped
            assert 0 not in sizes


def test_limits_of_rows_hold_at_the_same_byte(path: Path) -> None:
    """A row of two lines, with both line ends; the file ends without its last one."""
    record = f'r,q,"{"a" * 40}\nb",[],t'
    path.write_bytes((",".join(HEADER) + f"\n{record}" * 200).encode())
    assert len(check_same(path, path.read_bytes(), 700).rows) == 200
    for most, n_rows in ((len(record), 200), (len(record) - 1, 0)):
        for scanned in (True, False):
            options = InputOptions(max_row_bytes=most)
            assert len(rows_before_fault(path, options, 700, scanned=scanned)) == n_rows
    fault = rf"line 2: the row is longer than {most} bytes \(is a quote in"
    with pytest.raises(InputError, match=fault):
        list(Input(path, options).blocks())
    for n_more in (0, 1):  # far from the rows that are looked at first, and read one by one
        later = b"\nr,q," + b"a" * (len(record) - len("r,q,,[],t") + n_more) + b",[],t\n"
        path.write_bytes((",".join(HEADER) + f"\n{record}" * 200).encode() + later)
        blocks = Input(path, InputOptions(max_row_bytes=len(record))).blocks()
        if n_more:
            fault = f"line 402: the row is longer than {len(record)} bytes; to read"
            with pytest.raises(InputError, match=fault):
                list(blocks)
        else:
            assert sum(map(len, blocks)) == 201


def test_records_longer_than_what_is_read_at_a_time(path: Path) -> None:
    rows = [[*CELLS[:2], "a\n" * n, *CELLS[3:]] for n in (*[1] * 70, 900, 1, 5000, *[1] * 70, 300)]
    found = check_same(path, table_of(HEADER, rows, 2), 1000)
    assert len(found.rows) == len(rows)
    assert 0 < found.n_scanned < len(rows)


def test_contexts_that_do_not_fit_are_left_to_the_next_block(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scanned_blocks, "_FIRST_ITEMS", 4)
    counts = [*[1] * 64, 3, 0, 2, 4, 1, 9, 20, 0]
    rows = [[*CELLS[:3], json.dumps(["a"] * n), "t"] for n in counts]
    path.write_bytes(table_of(HEADER, rows, 2))
    blocks = list(Input(path).blocks())
    assert [len(block) for block in blocks] == [64, 2, 1, 1, 1, 1, 2]
    found = [
        len(block.pack(NEEDS[0]).row_context_texts(row))
        for block in blocks
        for row in range(len(block))
    ]
    assert found == counts


def test_a_file_that_is_cut_off_gives_the_rows_before(tmp_path: Path) -> None:
    packed = gzip.compress(table_of(HEADER, [CELLS] * 5000, 1))
    path = tmp_path / "data.csv.gz"
    path.write_bytes(packed[:-30])
    given = {
        scanned: rows_before_fault(path, InputOptions(), 1 << 14, scanned=scanned)
        for scanned in (True, False)
    }
    assert given[True] == given[False]
    assert len(given[True]) > 1000
    with pytest.raises(InputError, match="the gzip data ends too early"):
        list(Input(path).blocks())


# --------------------------------------------------------------------------------------- blocks


def last_block(path: Path) -> CsvBlock:
    *_, last = Input(path).blocks()
    assert isinstance(last, CsvBlock)
    return last


def test_nothing_is_decoded_for_scores(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path.write_bytes(table_of(HEADER, [CELLS] * 70, 1))
    block = last_block(path)
    with monkeypatch.context() as patch:
        patch.setattr(line_scans, "cut_record", None)
        for needs in NEEDS:
            assert block.pack(needs).n_rows == 6
        assert block.ids() == ["r"] * 6
        assert block.name(1).endswith('("r")')
    assert block.sample(1) == block.as_rows().rows[1]
    assert block.taken([2, 1]).rows == [block.sample(2), block.sample(1)]
    assert block.values("groundTruth") == ["Ellen"] * 6
    assert block.fault(0, NEEDS[0]) is None


@example([0x20, 0x22, 0x0A])
@given(st.lists(st.integers(0, 255), max_size=12))
def test_no_bytes_are_read_past_the_end(points: list[int]) -> None:
    """The cut stops where it is told, whatever follows."""
    content = bytes(points)
    alone = cut(content, len(content))
    for behind in (b'"', b",", b"\r", b"\n", b"a"):
        assert cut(content + behind, len(content)) == alone


def cut(content: bytes, end: int) -> Any:
    if not end:
        return None
    try:
        return line_scans.cut_record(content, 0, end, ord(","))
    except UnicodeDecodeError as error:
        return error.reason
