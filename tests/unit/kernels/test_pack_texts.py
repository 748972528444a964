"""Python strings as UTF-8: of every width, with what is not ASCII at every place."""

from __future__ import annotations

from itertools import pairwise

import pytest

from rag_eval.kernels import pack_texts
from tests.tables import every_row

# Strings of one, two and four bytes a unit; the lowest and highest code point of each UTF-8 width.
ODD = [
    "\x80",
    "ÿ",
    "Ā",
    "\u07ff",
    "\u0800",
    "\ud800",
    "\udfff",
    "\uffff",
    "\U00010000",
    "\U0010ffff",
]


def packed(texts: list[str]) -> list[bytes]:
    data, offsets = pack_texts(texts)
    assert len(data) == offsets[-1]
    ends = offsets.tolist()
    return [data[begin:end].tobytes() for begin, end in pairwise(ends)]


@every_row("odd", ODD)
def test_runs_of_ascii_around_others(odd: str) -> None:
    """16 units are copied at a time: none of them is lost, and none of what they hide is."""
    texts = [
        "".join(chr(97 + place % 26) for place in range(before)) + odd + "z" * after
        for before in range(36)
        for after in (0, 1, 15, 16, 17, 33)
    ]
    assert packed(texts) == [text.encode("utf-8", "surrogatepass") for text in texts]


def test_surrogate_pairs_are_one_code_point() -> None:
    assert packed(["a\ud83d\ude00b", "\ude00\ud83d", "\ud83d"]) == [
        "a😀b".encode(),
        *(text.encode("utf-8", "surrogatepass") for text in ("\ude00\ud83d", "\ud83d")),
    ]


@every_row("odd", ODD)
def test_texts_that_take_more_room_than_most(odd: str) -> None:
    """The room that was taken for texts of about a byte a unit grows."""
    texts = ["", *(odd * n for n in (1, 3000, 1, 7000, 0, 50)), "tail", ""]
    if odd == "\ud800":
        texts.append(odd + "x")
    assert packed(texts) == [text.encode("utf-8", "surrogatepass") for text in texts]


def test_no_texts() -> None:
    assert packed([]) == []
    assert packed(["", ""]) == [b"", b""]


@every_row("index", [0, 3])
def test_what_is_no_string_is_named_by_its_place(index: int) -> None:
    texts: list[object] = ["a", "b", "ç", "d"]
    texts[index] = None
    with pytest.raises(TypeError) as raised:
        pack_texts(texts)  # type: ignore[arg-type]
    assert raised.value.args == (index,)


def test_many_megabytes_are_copied_to_the_same_bytes() -> None:
    texts = ["é" * 3_000_000, "plain " * 400_000, "\ud800", "字" * 900_000, ""]
    assert packed(texts) == [text.encode("utf-8", "surrogatepass") for text in texts]
