"""Lines that are scanned give the rows, scores and faults of lines that are decoded."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rag_eval._native import line_scans
from rag_eval.inputs import json_blocks, scanned_blocks
from rag_eval.inputs.blocks import FileOrigin
from rag_eval.inputs.json_blocks import JsonBlock, LineScanner, count_objects
from rag_eval.inputs.opened import Input, InputOptions, Position
from rag_eval.inputs.samples import FieldNeeds, SampleError
from rag_eval.inputs.schemas.fields import FieldMap, field_map
from tests import strategies
from tests.scanned_rows import NEEDS, buffers_of, check_same, read
from tests.tables import deep, every_row

Row = dict[str, Any]

ROW = {
    **{"id": "r", "question": "Who led the trial?", "answer": "Ellen Marsh led it. It began."},
    **{"contexts": ["Ellen Marsh led the trial.", "It began in May."], "groundTruth": "Ellen"},
}
LINE = json.dumps(ROW).encode()
NATIVE = field_map(list(ROW))
SCANNER = LineScanner(NATIVE.keys or {})
RAGAS = ("user_input", "response", "retrieved_contexts", "reference")
FLAT: list[tuple[dict[str, str], InputOptions]] = [
    ({}, InputOptions()),
    ({"groundTruth": "ground_truth"}, InputOptions()),
    (
        dict(zip(("question", "answer", "contexts", "groundTruth"), RAGAS, strict=True)),
        InputOptions(),
    ),
    (
        {"answer": "result", "groundTruth": "answer", "id": "key", "question": "query é"},
        InputOptions(
            mapping={
                "answer": "result",
                "ground_truth": "answer",
                "question": "query é",
                "id": "key",
            }
        ),
    ),
    (
        {"question": "answer", "answer": "question"},
        InputOptions(mapping={"question": "answer", "answer": "question"}),
    ),
]


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("lines") / "data.jsonl"


# ---------------------------------------------------------------------------------------- rows

SHORT = {"\b": "b", "\f": "f", "\n": "n", "\r": "r", "\t": "t", '"': '"', "\\": "\\", "/": "/"}


def written_text(text: str, chance: random.Random) -> str:
    """A string of JSON with any of the forms that each character may have."""
    parts = []
    share = chance.choice([0.0, 0.02, 0.5, 1.0])
    for character in text:
        must = character < " " or character in '"\\'
        if not must and chance.random() >= share:
            parts.append(character)
        elif character in SHORT and chance.random() < 0.7:
            parts.append("\\" + SHORT[character])
        else:
            units = character.encode("utf-16-be")
            for at in range(0, len(units), 2):
                digits = units[at : at + 2].hex()
                parts.append("\\u" + chance.choice([digits, digits.upper()]))
    return '"' + "".join(parts) + '"'


def written(value: Any, chance: random.Random) -> str:
    """A value as JSON with white space anywhere that a line may have it."""

    def gap() -> str:
        return chance.choice(["", "", "", " ", "\t", "  ", "\r"])

    if isinstance(value, str):
        return written_text(value, chance)
    if isinstance(value, dict):
        pairs = [
            f"{gap()}{json.dumps(key, ensure_ascii=False)}{gap()}:{gap()}{written(item, chance)}"
            for key, item in value.items()
        ]
        return "{" + f"{gap()},".join(pairs) + gap() + "}"
    if isinstance(value, list):
        items = [f"{gap()}{written(item, chance)}{gap()}" for item in value]
        return "[" + ",".join(items) + (gap() if not items else "") + "]"
    return json.dumps(value)


TEXTS = st.one_of(
    strategies.texts(lone_surrogates=False, max_parts=4),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=40),
    st.sampled_from(["", "a", '"', "\\", "\x00", "é" * 20, "Ellen Marsh led it. " * 3, "🎨" * 9]),
    st.sampled_from(["x" * 15 + "\n", "x" * 16 + '"', "\\" * 17, "\n" * 33, "\x7f\u2028\uffff"]),
)
NUMBERS = st.one_of(
    st.integers(-(10**15) + 1, 10**15 - 1),
    st.sampled_from([0, -1, 0.5, -2.25, 1e300, 10**15, 10**18, -(10**17), 1 << 70, 1e-9]),
)
VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), NUMBERS, TEXTS),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=6,
)
SOUND = {
    "id": st.one_of(st.none(), TEXTS, st.integers(-(10**18) + 1, 10**18 - 1)),
    "question": st.one_of(TEXTS, TEXTS, TEXTS, st.none()),
    "answer": st.one_of(TEXTS, TEXTS, TEXTS, st.none()),
    "contexts": st.one_of(st.lists(TEXTS, max_size=4), st.lists(TEXTS, max_size=4), st.none()),
    "groundTruth": st.one_of(TEXTS, st.none()),
    "language": st.none(),
    "extra": VALUES,
    "meta.data": VALUES,
}
ODD = {
    **SOUND,
    "id": st.one_of(st.none(), NUMBERS, st.booleans(), TEXTS),
    "contexts": st.one_of(st.none(), TEXTS, st.lists(st.one_of(TEXTS, st.none(), NUMBERS))),
    "groundTruth": st.one_of(st.none(), st.lists(TEXTS, max_size=2), TEXTS, st.just(3)),
    "ground_truth": st.one_of(st.none(), TEXTS),
    "language": st.sampled_from([None, "en", "de-AT", "??", 7]),
    "answer": st.one_of(TEXTS, NUMBERS, st.lists(TEXTS, max_size=2)),
    "response": TEXTS,
}


@st.composite
def rows(draw: st.DrawFn, *, odd: bool) -> Row:
    fields = ODD if odd else SOUND
    keys = draw(st.permutations(sorted(fields)))
    usual = {"id", "question", "answer", "contexts"}
    kept = [key for key in keys if key in usual or draw(st.booleans())]
    if draw(st.integers(0, 7)) == 0:
        kept = kept[:-2]
    return {key: draw(fields[key]) for key in kept}


def lines_of(found: list[Row], seed: int, renamed: dict[str, str] | None = None) -> bytes:
    """A file that begins with a plain row, which tells the schema."""
    chance = random.Random(seed)
    keys = renamed or {}
    end = chance.choice([b"\n", b"\n", b"\r\n"])
    parts = [json.dumps({keys.get(key, key): value for key, value in ROW.items()}).encode()]
    for row in found:
        parts += [chance.choice([b"", b"", b" ", b" \t\r"])] * (chance.random() < 0.2)
        named = {keys.get(key, key): value for key, value in row.items()}
        parts.append(written(named, chance).encode())
    return end.join(parts) + chance.choice([b"", end, end + end])


@given(
    st.lists(rows(odd=False), min_size=1, max_size=6),
    st.integers(0, 1 << 32),
    st.sampled_from([64, 300, 1000]),
    st.sampled_from(FLAT),
)
def test_rows_of_texts(
    path: Path,
    found: list[Row],
    seed: int,
    n_bytes: int,
    schema: tuple[dict[str, str], InputOptions],
) -> None:
    renamed, options = schema
    data = lines_of(found, seed, renamed)
    check_same(path, data, n_bytes, options)


@given(
    st.lists(st.booleans().flatmap(lambda odd: rows(odd=odd)), min_size=1, max_size=5),
    st.integers(0, 1 << 32),
    st.sampled_from([64, 1000]),
    st.sampled_from(FLAT),
)
def test_rows_of_anything(
    path: Path,
    found: list[Row],
    seed: int,
    n_bytes: int,
    schema: tuple[dict[str, str], InputOptions],
) -> None:
    renamed, options = schema
    data = lines_of(found, seed, renamed)
    check_same(path, data, n_bytes, options)


@pytest.mark.parametrize(("renamed", "options"), FLAT)
def test_sound_rows_are_scanned(path: Path, renamed: dict[str, str], options: InputOptions) -> None:
    """Guards the tests above against holding one way to read against itself."""
    data = lines_of([ROW] * 30, 3, renamed)
    found = check_same(path, data, 700, options)
    assert len(found.rows) == 31
    assert found.n_scanned > 20


@pytest.mark.parametrize("separator", [None, "|"])
def test_split_ground_truths_are_decoded(path: Path, separator: str | None) -> None:
    path.write_bytes((json.dumps({**ROW, "groundTruth": "a|b"}) + "\n").encode() * 20)
    options = InputOptions(gold_separator=separator)
    grounded = [needs for needs in NEEDS if needs.profile == "grounded"]
    found = read(path, 500, scanned=True, options=options, needs=grounded)
    assert (found.n_scanned > 0) == (separator is None)
    assert ("['a', 'b']" in found.rows[-1]) == (separator is not None)


def test_nested_schemas_are_decoded(path: Path) -> None:
    row = {"inputs": {"question": "q"}, "outputs": {"answer": "a"}, "contexts": ["a"]}
    options = InputOptions(mapping={"question": "inputs.question", "answer": "outputs.answer"})
    found = check_same(path, (json.dumps(row) + "\n").encode() * 9, 100, options)
    assert not found.n_scanned
    assert len(found.rows) == 9


def test_a_row_without_a_field_names_it(path: Path) -> None:
    """Among rows that were scanned, a missing field is the fault it always is."""
    lines = [LINE] * 9
    lines[7] = b'{"id": 7, "question": "q", "contexts": []}'
    path.write_bytes(b"\n\n".join(lines))
    with buffers_of(2 * len(LINE), scanned=True):
        blocks = list(Input(path).blocks())
        (bad,) = [block for block in blocks if 15 in block.origin.numbers]  # type: ignore[union-attr]
        assert isinstance(bad, JsonBlock)
        with pytest.raises(SampleError) as error:
            bad.pack(NEEDS[0])
    assert str(error.value) == f'{path}, line 15 ("7"): answer is missing; it must be a string'
    check_same(path, path.read_bytes(), 2 * len(LINE))


def test_reading_goes_on_anywhere(path: Path) -> None:
    parts = [json.dumps({**ROW, "id": number}) for number in range(12)]
    parts[5:5] = ["", "  "]
    parts[9:9] = ["[]", '{"answer": 3, "id": "x"}']
    path.write_text("\n".join(parts), encoding="utf-8")
    n_rows = 14
    for n_bytes in (100, 700):
        every = read(path, n_bytes, scanned=True, needs=())
        n_scanned = 0
        for skipped in range(n_rows):
            start = Position(0, 0, skipped)
            rest = read(path, n_bytes, scanned=True, start=start, needs=())
            places = [place[:2] for place in every.places if place[1] >= skipped]
            assert [place[:2] for place in rest.places] == places
            assert rest.rows == every.rows[len(every.rows) - len(rest.rows) :]
            n_scanned += rest.n_scanned
        assert n_scanned


# --------------------------------------------------------------------------------------- cuts


def test_buffers_cut_at_every_place(path: Path) -> None:
    lines = lines_of([{**ROW, "id": 4, "answer": "é \U0001f3a8 \n" * 3}, {}, ROW], 11)
    whole = check_same(path, lines, len(lines) + 1)
    n_scanned = 0
    for n_bytes in range(1, len(lines) + 2):
        with buffers_of(n_bytes, scanned=True):
            found = read(path, n_bytes, scanned=True, needs=NEEDS[:1])
        assert found.rows == whole.rows
        assert [place[:2] for place in found.places] == [place[:2] for place in whole.places]
        assert found.scores[0] == whole.scores[0]
        n_scanned += found.n_scanned
    assert n_scanned > len(lines)


def test_long_texts_and_many_contexts(path: Path) -> None:
    """Lines longer than the buffer, and a row with more contexts than there was room for."""
    long = 'Ellen "Marsh" led\n it: é 東京. ' * 40_000
    some = [
        *(ROW, {**ROW, "answer": long}, {**ROW, "contexts": [long, "", long]}),
        {**ROW, "contexts": ["a", ""] * 20_000, "id": 3},
        {**ROW, "contexts": [], "id": "é"},
    ]
    data = b"".join(json.dumps(row, ensure_ascii=row["id"] == 3).encode() + b"\n" for row in some)
    needs = [NEEDS[1], FieldNeeds.of(("answer_relevance", "context_recall"))]
    path.write_bytes(data)
    found = read(path, 1 << 10, scanned=True, needs=needs)
    wanted = read(path, 1 << 10, scanned=False, needs=needs)
    assert found.n_scanned >= 4
    assert found._replace(n_scanned=0) == wanted


def test_blocks_have_no_more_rows_than_fit(path: Path) -> None:
    rows = [{**ROW, "id": number, "contexts": ["a b"]} for number in range(25_000)]
    lines = [msgspec.json.encode(row) for row in rows]
    lines[20_000:20_000] = [b""] * 10_000
    path.write_bytes(b"\n".join(lines))
    ids, numbers = [], []
    with buffers_of(1 << 12, scanned=True):
        blocks = Input(path).blocks()
        next(blocks)  # tells the fields
        for block in blocks:
            ids += block.ids()
            assert block.origin is not None
            numbers += block.origin.numbers
    assert ids == list(range(25_000))[-len(ids) :]
    assert numbers[-5000:] == list(range(30_001, 35_001))
    scanned = SCANNER.scanned(path.read_bytes(), 0)
    assert scanned is not None
    assert len(scanned.marks) == 8192


def test_contexts_that_do_not_fit_are_left_to_the_next_block(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(scanned_blocks, "_FIRST_ITEMS", 4)
    scanner = LineScanner(NATIVE.keys or {})
    counts = [3, 0, 2, 4, 1, 9, 20, 0]
    lines = b"".join(b'{"contexts":%s}\n' % json.dumps(["a"] * n).encode() for n in counts)
    found, sizes, at = [], [], 0
    while at < len(lines):
        scanned = scanner.scanned(lines, at)
        assert scanned is not None
        n_contexts = [
            len(row["contexts"]) for row in map(json.loads, lines[at : scanned.end].splitlines())
        ]
        assert scanned.places[2, 1].tolist() == n_contexts
        assert scanned.contexts.shape[1] == sum(n_contexts)
        found += n_contexts
        sizes.append(len(n_contexts))
        at = scanned.end
    assert found == counts
    assert sizes == [2, 1, 1, 1, 1, 2]


# ------------------------------------------------------------------------------ what is scanned


def scanned_rows(lines: bytes) -> list[Row] | None:
    """What the scan makes of lines: our fields of each row; None where it refuses."""
    scanned = SCANNER.scanned(lines, 0)
    if scanned is None:
        return None
    assert scanned.end == len(lines)
    block = JsonBlock(scanned, NATIVE, 0, FileOrigin("lines", "line"))
    batch = block.pack(NEEDS[5])
    assert batch.grounded is not None
    found = []
    for row, identity in enumerate(block.ids()):
        fields = {
            "id": identity,
            "question": batch.question.text(row) if batch.gives(row, 1) else None,
            "answer": batch.answer.text(row) if batch.gives(row, 2) else None,
            "contexts": batch.row_context_texts(row) if batch.gives(row, 4) else None,
            "ground_truth": "".join(batch.row_truth_texts(row)),
        }
        found.append(fields)
    return found


def decoded_rows(lines: bytes) -> list[Row]:
    """The same by two decoders of JSON, which must take every line."""
    found = []
    for line in lines.split(b"\n"):
        if not line.strip(b" \t\r"):
            continue
        row = msgspec.json.decode(line)
        # The later of two equal keys counts, for both.
        assert json.loads(line.decode()) == row
        fields = {name: row.get(name) for name in ("id", "question", "answer", "contexts")}
        truth = row.get("ground_truth") or row.get("groundTruth") or ""
        found.append({**fields, "ground_truth": truth})
    return found


def check_scan(lines: bytes) -> bool:
    """Whether lines are scanned, and if so that decoders read the same."""
    found = scanned_rows(lines)
    if found is not None:
        assert repr(found) == repr(decoded_rows(lines))
    return found is not None


TAKEN = [
    b"",
    b"\n\n \t\r\n",
    b"{}",
    b" { } \r\n",
    LINE,
    LINE + b"\r\n\n" + LINE + b"\n",
    rb'{"answer":"\"\\\/\b\f\n\r\t\u0041\u00e9\u00E9\u6771\uD83c\udfA8\u0000"}',
    '{"answer":"é東🎨\x7f","é":"é"}'.encode(),
    b'{"id":0}\n{"id":-1}\n{"id":123456789012345678}\n{"id":null}\n{"id":""}',
    b'{"question":null,"answer":null,"contexts":null,"groundTruth":null,"language":null}',
    b'{"contexts":[]}\n{"contexts":[ ]}\n{"contexts":["a" , "b"]}\n{"contexts":["",""]}',
    b'{"x":[1,-0,0.5,-12.25,123456789012345,true,false,null,"",[],{},[[]],{"a":{"b":[{}]}}]}',
    b'{"x":1,"x":2,"Answer":3,"answer ":4}',
    b'{"x":' + b"[" * 31 + b"]" * 31 + b"}",
    b'{"x":' + b'{"a":' * 30 + b"[]" + b"}" * 30 + b"}",
]
REFUSED = [
    *(b"[]", b"null", b'"a"', b"1", b"x", b"{", b"}", b"{}}", b"{}{}", b"{} 1", b"\x0c", b"\x00"),
    *(b"{,}", b'{"a"}', b'{"a":}', b'{"a":1,}', b'{"a" 1}', b'{"a":1 "b":2}', b"{a:1}", b"{1:1}"),
    *(b'{"x":[1,]}', b'{"x":[,1]}', b'{"x":[1 2]}', b'{"x":[}', b'{"x":{]}', b'{"x":[}]}'),
    *(b'{"x":01}', b'{"x":-}', b'{"x":+1}', b'{"x":1.}', b'{"x":.5}', b'{"x":--1}', b'{"x":0x1}'),
    *(b'{"x":NaN}', b'{"x":Infinity}', b'{"x":nul}', b'{"x":nulll}', b'{"x":True}', b'{"x":tru'),
    # Decoders have limits for these, and may round.
    *(b'{"x":1e5}', b'{"x":1E5}', b'{"x":1234567890123456}', b'{"x":0.1234567890123456}'),
    *(b'{"id":1.0}', b'{"id":1e2}', b'{"id":true}', b'{"id":[]}', b'{"id":{}}', b'{"id":-0}'),
    *(b'{"id":1234567890123456789}', b'{"id":01}', b'{"id":1E2}', b'{"id":-}'),
    *(
        b'{"answer":1}',
        b'{"answer":["a"]}',
        b'{"answer":{}}',
        b'{"answer":true}',
        b'{"question":0}',
    ),
    *(
        b'{"contexts":"a"}',
        b'{"contexts":["a",null]}',
        b'{"contexts":[1]}',
        b'{"contexts":[["a"]]}',
    ),
    *(b'{"contexts":{}}', b'{"contexts":["a",]}', b'{"contexts":["a"', b'{"groundTruth":["a"]}'),
    *(b'{"answer":"a","answer":"a"}', b'{"groundTruth":"a","ground_truth":"a"}'),
    *(b'{"id":null,"id":null}', b'{"groundTruth":null,"ground_truth":"a"}'),
    *(
        b'{"language":"en"}',
        b'{"language":1}',
        b'{"language":""}',
        b'{"language":null,"language":null}',
    ),
    *(rb'{"\u0061nswer":"a"}', rb'{"x\n":"a"}', b'{"x\n":1}', b'{"x":\n1}', b'{"x":"a\nb"}'),
    *(
        b'{"answer":"a\x1fb"}',
        b'{"answer":"a\tb"}',
        b'{"answer":"\x00"}',
        b'{"answer":"a',
        b'{"x":"a',
    ),
    *(rb'{"answer":"\ud800"}', rb'{"answer":"\udc00"}', rb'{"answer":"\ud800\ud800"}'),
    *(
        rb'{"answer":"\udc00\udc00"}',
        rb'{"answer":"\udc00\ud800"}',
        rb'{"answer":"\ud83ca"}',
        rb'{"x":"\ud83c\n"}',
    ),
    *(rb'{"answer":"\x"}', rb'{"answer":"\u12"}', rb'{"answer":"\u12g4"}', rb'{"x":"\U0041"}'),
    *(b'{"answer":"\\', b'{"answer":"\\"}', rb'{"x":"\u', rb'{"x":"\ud83c\u"}', rb'{"x":"\'"}'),
    *(b'{"answer":"\xff"}', b'{"answer":"\xc3"}', b'{"x":"\xed\xa0\x80"}', b'{"x":"\xc0\x80"}'),
    *(b'{"x":"\xed\xa0\xbc\xed\xbe\xa8"}', b'{"x":"\xf4\x90\x80\x80"}', b'{"\xe9":1}', b"{}\xa0"),
    b'{"x":' + b"[" * 32 + b"]" * 32 + b"}",
    b"\xef\xbb\xbf{}",
]


@every_row("lines", TAKEN)
def test_taken(lines: bytes) -> None:
    assert check_scan(lines)


@every_row("lines", REFUSED)
def test_refused(lines: bytes) -> None:
    assert scanned_rows(lines) is None
    # Also behind and before lines that are taken.
    assert scanned_rows(LINE + b"\n" + lines + b"\n") is None
    assert scanned_rows(lines + b"\n" + LINE) is None


@every_row("lines", [*TAKEN, *REFUSED])
def test_in_a_file(path: Path, lines: bytes) -> None:
    check_same(path, LINE + b"\n" + lines + b"\n" + LINE, len(LINE) + 1)


@pytest.mark.parametrize("lines", TAKEN[4:])
def test_cut_short(lines: bytes) -> None:
    for end in range(len(lines)):
        check_scan(lines[:end])


def test_every_byte_in_a_string_and_out_of_it() -> None:
    for byte in range(256):
        for before in range(18):
            single = b'{"answer":"' + b"x" * before + bytes([byte]) + b'zz"}'
            assert check_scan(single) == (0x20 <= byte < 0x80 and byte not in b'"\\')
            escaped = b'{"answer":"' + b"x" * before + b"\\" + bytes([byte]) + b'0041"}'
            assert check_scan(escaped) == (byte in b'"\\/bfnrtu')
        check_scan(b"{" + bytes([byte]) + b'"x":1}')
        check_scan(b'{"x"' + bytes([byte]) + b":1}")
        check_scan(b'{"x":' + bytes([byte]) + b"1}")
        check_scan(b'{"x":1' + bytes([byte]) + b"}")
        check_scan(b'{"x":1}' + bytes([byte]))


def test_every_code_point() -> None:
    """Raw and escaped, some at a time."""
    points = [point for point in range(0x110000) if not 0xD800 <= point < 0xE000]
    for begin in range(0, len(points), 5000):
        text = "".join(map(chr, points[begin : begin + 5000]))
        for ascii_only in (True, False):
            assert check_scan(json.dumps({"answer": text}, ensure_ascii=ascii_only).encode())


def test_every_sequence_of_two_bytes_and_many_of_three_and_four() -> None:
    chance = random.Random(5)
    sequences = [bytes([first, second]) for first in range(128, 256) for second in range(256)]
    edges = [0x00, 0x22, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xFF]
    leads = [0xE0, 0xE1, 0xEC, 0xED, 0xEE, 0xEF, 0xF0, 0xF1, 0xF3, 0xF4, 0xF5]
    for first in leads:
        for second in edges:
            for third in edges:
                sequences.append(bytes([first, second, third]))
                sequences += [bytes([first, second, third, fourth]) for fourth in edges]
    for sequence in sequences:
        padding = b"x" * chance.choice([0, 5, 8, 13])
        line = b'{"answer":"' + padding + sequence + padding + b'"}'
        try:
            line.decode()
            is_utf8 = True
        except UnicodeDecodeError:
            is_utf8 = False
        plain = not any(byte < 0x20 or byte in b'"\\' for byte in sequence)
        assert check_scan(line) == (is_utf8 and plain)


PIECES = [
    *(b"{", b"}", b"[", b"]", b":", b",", b'"', b"\\", b"u", b"/", b" ", b"\t", b"\r", b"\n"),
    *(b'"a"', b'"answer"', b'"id"', b'"contexts"', b'"language"', b'"groundTruth"', b'"x":'),
    *(b"0", b"1", b"-", b".", b"e", b"12", b"3.5", b"null", b"true", b"false", b"NaN", b"nul"),
    *(rb"\n", rb"\u0041", rb"\ud83c", rb"\udfa8", rb"\ud83c\udfa8", b"\x00", b"\x1f", b"\x7f"),
    *(b"\xc3\xa9", b"\xed\xa0\x80", b"\xe6\x9d", b"\xf0\x9f\x8e\xa8", b"\xff", b"\xef\xbb\xbf"),
    *(b'"question":"q"', b'"answer":"a"', b'"contexts":["a","b"]', b'"id":1', b"[]", b"{}"),
]


@given(
    st.lists(st.sampled_from(PIECES), max_size=12), st.sampled_from([b"", b'{"x":', b'{"answer":"'])
)
@example([b"}"], b'{"x":')
def test_soup(pieces: list[bytes], begin: bytes) -> None:
    check_scan(begin + b"".join(pieces))
    check_scan(begin + b"".join(pieces) + b"}")
    check_scan(begin + b"".join(pieces) + b'"}')


def mutated(data: bytes, chance: random.Random) -> bytes:
    changed = bytearray(data)
    for _ in range(chance.choice([1, 1, 1, 2, 4])):
        at = chance.randrange(len(changed))
        piece = chance.choice([*PIECES, bytes([chance.randrange(256)])])
        kind = chance.randrange(4)
        if kind == 0:
            changed[at : at + 1] = piece
        elif kind == 1:
            changed[at:at] = piece
        elif kind == 2:
            del changed[at : at + chance.choice([1, 1, 2, 9])]
        else:
            other = chance.randrange(len(changed))
            changed[at:at] = changed[other : other + chance.randrange(20)]
        if not changed:
            break
    return bytes(changed)


@pytest.mark.parametrize("n_lines", [1500, *deep(15_000)])
def test_mutated_lines_are_read_as_decoders_do(n_lines: int) -> None:
    chance = random.Random(17)
    n_taken = 0
    row = {**ROW, "extra": [1, {"a": None, "b": [True, 2.5, "é\n"]}], "answer": "é 🎨 \\ \n x"}
    for _ in range(n_lines):
        line = written(row, chance).encode()
        n_taken += check_scan(mutated(line + b"\n" + LINE, chance))
    assert n_lines / 8 < n_taken < n_lines * 7 / 8


@pytest.mark.parametrize("n_files", [30, *deep(250)])
def test_mutated_files_are_read_the_same(path: Path, n_files: int) -> None:
    chance = random.Random(23)
    n_scanned = n_rows = 0
    for number in range(n_files):
        data = mutated(
            lines_of([ROW, {**ROW, "answer": "é 🎨\n", "extra": {"a": [1]}}], number), chance
        )
        # The first line stays as it is, and the fields with it.
        found = check_same(path, LINE + b"\n" + data, chance.choice([len(LINE) + 1, 600]))
        n_scanned += found.n_scanned
        n_rows += len(found.rows)
    assert 0 < n_scanned < n_rows


# ------------------------------------------------------------------------------------- blocks


def block_of(lines: bytes) -> JsonBlock:
    scanned = SCANNER.scanned(lines, 0)
    assert scanned is not None
    n_rows = len(scanned.marks)
    origin = FileOrigin("d.jsonl", "line", range(1, 1 + n_rows), range(n_rows))
    return JsonBlock(scanned, NATIVE, 0, origin)


def test_nothing_is_decoded_for_scores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_blocks, "_decode", None)
    monkeypatch.setattr(line_scans, "echoed_objects", None)
    block = block_of((LINE + b"\n") * 3)
    for needs in NEEDS:
        assert block.pack(needs).n_rows == 3
    assert block.ids() == ["r"] * 3
    assert block.ids() is block.ids()
    assert block.name(1) == 'd.jsonl, line 2 ("r")'
    assert block.n_bytes == 3 * len(LINE) + 3


def test_one_sample_is_decoded_alone() -> None:
    block = block_of(b"\n".join([LINE, b' {"id": 2, "x": [1]} ', LINE]))
    assert block.sample(1) == {"id": 2, "x": [1]}
    rows = block.as_rows()
    assert rows.rows == [ROW, {"id": 2, "x": [1]}, ROW]
    assert block.sample(1) is rows.rows[1]
    assert block.as_rows().rows is rows.rows
    assert block.taken([2, 1]).rows == [ROW, {"id": 2, "x": [1]}]
    assert block.values("x") == [None, [1], None]
    assert block.fault(0, NEEDS[0]) is None
    assert block.fault(1, NEEDS[0]) == (
        "contexts is missing. The row has 'x'; to use another field: --map contexts=FIELD (in "
        "Python: mapping={'contexts': 'FIELD'})"
    )


# ------------------------------------------------------------------------------- keys of fields


@given(
    st.dictionaries(
        st.sampled_from(["question", "answer", "contexts", "ground_truth", "id", "language"]),
        st.sampled_from(
            ["a", "b", "question", "answer", "ground_truth", "groundTruth", "c.d", "e[]"]
        ),
    ),
    st.sets(st.sampled_from(["a", "b", "question", "answer", "ground_truth", "groundTruth", "id"])),
)
def test_keys_are_where_rows_have_their_fields(paths: dict[str, str], there: set[str]) -> None:
    fields = FieldMap("custom", paths)
    keys = fields.keys
    nested = any("." in path or "[]" in path for path in paths.values())
    if keys is None:
        assert nested or len(set(paths.values())) < len(paths)
        return
    assert not nested
    source = {key: [f"at {key}"] for key in sorted(there)}
    row = fields.row(source)
    for name in ("question", "answer", "contexts", "ground_truth", "id", "language"):
        spellings = ("ground_truth", "groundTruth") if name == "ground_truth" else (name,)
        wanted = [row[spelling] for spelling in spellings if spelling in row]
        assert sorted(source[key] for key in keys[name] if key in source) == sorted(wanted)


# ------------------------------------------------------------------------------- plain objects


@every_row(
    "lines, count",
    [
        (b"", -1),
        (b"\n", -1),
        (b"{", -1),
        (b"{\n", -1),
        (b"{}", 1),
        (b"{}\n", 1),
        (b"{}\n\n", -1),
        (b"\n{}", -1),
        (b"{}\n{}", 2),
        (b"{}\n{}\n", 2),
        (b"{}\n\n{}", -1),
        (b"{}\n1\n{}", -1),
        (b"{}\r\n{}", -1),
        (b"{}\n{} ", -1),
        (b" {}\n{}", -1),
        (b"{}\n{\n}\n{}", -1),
        (b"}\n{", -1),
    ],
)
def test_count_objects(lines: bytes, count: int) -> None:
    assert count_objects(memoryview(lines)) == count
