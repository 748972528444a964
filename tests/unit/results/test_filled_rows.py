"""Rows of result files are put together as Python would format and encode them."""

from __future__ import annotations

import json
import math
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_eval._native.filled_rows import RowWriter
from rag_eval.calibration.applied import planned
from rag_eval.inputs.row_texts import read_rows
from rag_eval.inputs.samples import FieldNeeds
from rag_eval.kernels.scoring import Evidence, GroundedDetails, explained_batch, metric_numbers
from rag_eval.plumbing.javascript_numbers import three_decimals
from rag_eval.results.row_lines import RowLines
from rag_eval.results.words_overlap import SignalKind, filled
from rag_eval.scoring.explaining import native_facts

PLAIN = SignalKind("plain", "faithfulness", "info", "%s of %s")
QUOTING = SignalKind("quoting", "faithfulness", "info", "<%s>", quotes=True)


def never(*_: Any) -> Any:
    raise AssertionError("nothing is written")


UNUSED = RowWriter(three_decimals, never, never, b"")


def written(*said: tuple[str, tuple[object, ...], list[Any]]) -> str:
    """Explanations and signals without what stands between them in a file."""

    def form(_place: int, words: str, _reason: int) -> tuple[bytes, ...]:
        first, *rest = (piece.replace("%%", "%").encode() for piece in words.split("%s"))
        ends = (*rest[:-1], rest[-1] + b"[", b"]") if rest else (b"]",)
        return b"{", b"", first if rest else first + b"[", *ends

    def signal(kind: SignalKind, is_numbered: bool) -> tuple[tuple[bytes, ...], bool]:
        place = [f"{{{kind.id}-".encode(), b" "] if is_numbered else [f"{{{kind.id} ".encode()]
        first, *rest = (piece.encode() for piece in kind.message.split("%s"))
        return (*place[:-1], place[-1] + first, *rest), kind.quotes

    n = len(said)
    rows = [(*one, None) for one in said]
    writer = RowWriter(three_decimals, form, signal, b"\n")
    parts = [b""] * n
    for _ in range(2):  # the second time with the forms that are known
        writer.row((b"", b"", b""), b"", rows, parts, parts, [0] * n, [], [])
    first, second = writer.rows()
    assert first == second
    return first.decode()


def test_parts_stand_in_their_places() -> None:
    said = [
        ("no value", (), []),
        ("%s, %s %%: %s.", ("some", 12, 0.25), [(PLAIN, (1, "two"), None, None, None)]),
        ("%s", (-3,), [(PLAIN, ("a", 0.5), 10, "b", 3), (QUOTING, ('"',), None, None, 1234)]),
    ]
    assert written(*said) == (
        "{no value[]},"
        "{some, 12 %: 0.250.[{plain 1 of two}]},"
        '{-3[{plain-10 a of 0.500,"evidence":"b","contextChunkIndex":3},'
        '{quoting <\\">,"contextChunkIndex":1234}]}'
    )


def test_numbers_have_the_decimals_of_results() -> None:
    draws = random.Random(3)
    steps = [place / 16384 for place in range(0, 16385, 7)]
    near = [math.nextafter(place / 2000, end) for place in range(2001) for end in (0, 1)]
    numbers = [*steps, *near, *(draws.random() for _ in range(3000))]
    numbers += [0.0, -0.0, 1.0, 1e-9, 0.0005, 0.9995, 1.5, -0.25, 1000.0625, 1e21, 5e-324, math.nan]
    words = " ".join(["%s"] * len(numbers))
    assert written((words, tuple(numbers), [])) == "{" + filled(words, tuple(numbers)) + "[]}"


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_texts_of_the_data_are_escaped_as_json_does(text: str) -> None:
    signal = QUOTING, (text,), 0, text, None
    shown = json.dumps(text, ensure_ascii=False)
    wanted = f'{{[{{quoting-0 <{shown[1:-1]}>,"evidence":{shown}}}]}}'
    assert written(("", (), [signal])) == wanted


def test_every_character_is_escaped_as_json_does() -> None:
    for text in ("".join(map(chr, range(0x100))), *map(chr, range(0x100)), "\u2028" * 40 + '"'):
        shown = json.dumps(text, ensure_ascii=False)
        assert written(("", (), [(QUOTING, ("",), None, text, None)])) == (
            f'{{[{{quoting <>,"evidence":{shown}}}]}}'
        )


def test_a_lone_surrogate_is_refused() -> None:
    with pytest.raises(UnicodeEncodeError):
        written(("", (), [(QUOTING, ("",), None, "\ud800", None)]))


def test_values_without_a_place_are_refused() -> None:
    for said in (
        ("%s", (), []),
        ("none", (1,), []),
        ("", (), [(PLAIN, (1,), None, None, None)]),
        ("", (), [(PLAIN, (1, 2, 3), 4, None, None)]),
    ):
        with pytest.raises(ValueError, match="as many places"):
            written(said)
    with pytest.raises(ValueError, match="a part for each metric"):
        UNUSED.row((b"", b"", b""), b"", [("", (), [], None)], [], [], [], [], [])


def test_rows_are_kept_until_they_are_cleared() -> None:
    def form(_place: int, words: str, _reason: int) -> tuple[bytes, ...]:
        return b"{", b"", words.encode(), b""

    writer = RowWriter(three_decimals, form, never, b";\n")
    found: list[bytes] = []
    writer.write_to(found.append)
    assert (found, writer.rows()) == ([], [])
    for _ in range(2):
        writer.clear()
        writer.add(b"first")
        writer.row((b"<", b"|", b">"), b"S", [("w", (), [], None)], [b""], [b""], [0], [], [])
        with pytest.raises(UnicodeEncodeError):
            writer.row((b"", b"", b""), b"", [("\ud800", (), [], None)], [b""], [b""], [0], [], [])
        writer.add(b"")
        assert writer.rows() == [b"first", b"<S|{w}>", b""]
        writer.write_to(lambda rows: found.append(bytes(rows)))
    assert found == [b"first;\n<S|{w}>;\n"] * 2


def test_much_memory_is_given_back() -> None:
    writer = RowWriter(three_decimals, never, never, b"")
    for size in (1 << 25, 10):
        writer.clear()
        writer.add(b"x" * size)
        assert writer.rows() == [b"x" * size]


def test_names_of_the_data_are_escaped() -> None:
    """Words of today's kernels hold nothing to escape; files do not rely on it."""
    plan = planned(None, {"profile": "grounded"})[0]
    sample = {"question": "Who?", "answer": "Ana Berg swam.", "contexts": ["Rain."]}
    batch = read_rows([sample], 0, FieldNeeds.of(plan.native_columns, "grounded")).pack()
    numbers = metric_numbers(plan.native_columns)
    scores, (found,) = explained_batch(batch, plan.settings, numbers)
    assert isinstance(found, GroundedDetails)
    assert found.answer is not None
    names = Evidence._fields.index("missing_names")
    evidence = [(*one[:names], ('a"b\\\n',), *one[names + 1 :]) for one in found.answer]
    facts = native_facts([found._replace(answer=evidence)], batch, plan.settings)
    lines = RowLines(plan, "now", details=False, between=b"")
    lines.fill([b"{}"], facts, *scores, alone=never)
    (row,) = map(json.loads, lines.rows)
    (signal,) = row["metrics"]["faithfulness"]["signals"]
    assert 'names in no context: a"b\\\n' in signal["message"]
