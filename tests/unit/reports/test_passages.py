"""Chunks with the passages that matter in them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rag_eval.reports.show import Passage, passage_text
from tests.tables import every_row

MARKS = ("«", "»")


def shown(chunk: str, *spans: tuple[int, int], limit: int | None = None) -> str:
    passages = [Passage(begin, end, "underline") for begin, end in spans]
    return passage_text(chunk, passages, marks=MARKS, limit=limit).plain


@every_row(
    ("chunk", "spans", "text"),
    [
        ("one two three", [(4, 7)], "one «two» three"),
        ("one two three", [], "one two three"),
        ("one two three", [(0, 13)], "«one two three»"),
        ("one\n\ntwo\tthree", [(5, 8)], "one «two» three"),
        ("one two three", [(0, 7), (4, 13)], "«one two three»"),
        ("one two three", [(0, 7), (2, 3)], "«one two» three"),
        ("one two three", [(8, 13), (0, 3)], "«one» two «three»"),
        ("abc", [(1, 2)], "a«b»c"),
        ("abc", [(-5, 1), (2, 99), (50, 60), (2, 2)], "«a»b«c»"),
        ("a \x1b[2J b", [(2, 6)], "a «\\x1b[2J» b"),
        ("one two", [(0, 3), (3, 7)], "«one» «two»"),
    ],
)
def test_passages_are_marked_where_they_are(
    chunk: str, spans: list[tuple[int, int]], text: str
) -> None:
    assert shown(chunk, *spans) == text


def test_a_long_chunk_is_cut_to_what_is_around_its_passages() -> None:
    chunk = "a " * 3000 + "HERE " + "b " * 3000 + "THERE " + "c " * 3000
    begin, other = chunk.index("HERE"), chunk.index("THERE")
    text = shown(chunk, (begin, begin + 4), (other, other + 5), limit=1000)
    assert "a «HERE» b" in text
    assert "b «THERE» c" in text
    assert len(text) < 1000
    assert text.startswith("…")
    assert text.endswith("…")
    assert shown(chunk, (begin, begin + 4)).replace("«", "").replace("»", "") == chunk.strip()
    assert len(shown(chunk, limit=1000)) == 1000


def test_what_stands_near_a_passage_of_a_long_chunk_is_shown_on_both_sides() -> None:
    far, near = "far " * 200, "".join(f"{n:03} " for n in range(74))
    assert len(near) == 296
    chunk = f"{far}{near}HERE {near}THERE {far}{near}"
    places = [(chunk.index(word), chunk.index(word) + len(word)) for word in ("HERE", "THERE")]
    text = shown(chunk, *places, limit=1000)
    # Between two passages all of what is not longer than what is left of a longer one.
    assert f"«HERE» {near}«THERE» far" in text
    assert text.startswith("…")
    assert text.partition(" «HERE»")[0].endswith(near[-140:].strip())
    after = text.partition("«THERE» ")[2]
    assert after == f"{'far ' * 37}f…"


@given(
    st.text(st.sampled_from("ab \n\u00a0\x1b")),
    st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12)), max_size=4),
)
def test_no_letter_is_lost_or_moved(chunk: str, spans: list[tuple[int, int]]) -> None:
    bare = shown(chunk, *spans).replace("«", "").replace("»", "")
    assert bare.replace(" ", "") == shown(chunk).replace(" ", "")
