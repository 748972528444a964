"""Lists of words and how positive they are: read, refused, counted in texts."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from rag_eval.errors import InputError
from rag_eval.scorers.sentiment_lexicon import (
    Sentiment,
    load_lexicon,
    sentiment,
    sentiment_tokens,
    word_values,
)
from tests.tables import every_row

WORDS = {"good": 3.0, "bad": -3.0, "fine": 2.0, "can't stand": -3.0}


def test_the_list_that_comes_along_is_english_from_minus_5_to_5() -> None:
    words = load_lexicon()
    assert len(words) > 7000
    assert all(-5 <= value <= 5 and value for value in words.values())
    assert all(sentiment_tokens(word) == [word] for word in words)
    assert words["excellent"] > 2 > -2 > words["terrible"]


def test_a_neutral_text_is_0_and_opposite_ones_have_opposite_signs() -> None:
    assert sentiment("The ferry leaves at seven.") == Sentiment(0, 0, 5)
    assert sentiment("A wonderful answer!").score > 0 > sentiment("A horrible answer!").score


def test_the_sum_is_shared_among_all_tokens() -> None:
    assert sentiment("good, but bad and bad", WORDS) == Sentiment(-3, -3 / 5, 5)


def test_the_word_right_after_a_negation_turns_its_sign() -> None:
    assert word_values("not good, isn't bad, not so fine", WORDS) == [-3, 3, 2]
    assert word_values("isn’t bad constructor good", WORDS) == [-3, 3]


def test_the_empty_text_is_one_token() -> None:
    assert sentiment("", WORDS) == sentiment(" \n?! ", WORDS) == Sentiment(0, 0, 1)


def test_tokens_are_cut_as_javascript_cuts_them() -> None:
    assert sentiment_tokens("A.b\nc\td \t e-f \ufeff") == ["a", "b", "c\td", "e-f"]
    assert sentiment_tokens("a\x85\x85b") == ["a\x85\x85b"]


def test_a_file_is_read_as_afinn_comes(tmp_path: Path) -> None:
    path = tmp_path / "words.txt"
    path.write_bytes(b"\xef\xbb\xbf# a comment\r\n\r\nGood\t3\r\ncan't stand\t-3\n#tag\t1.5\n")
    assert (
        load_lexicon(path)
        == load_lexicon(str(path))
        == {
            "good": 3,
            "can't stand": -3,
            "#tag": 1.5,
        }
    )


@every_row(
    ("source", "found"),
    [
        ({"GOOD": 3, "meh": 0}, {"good": 3, "meh": 0}),
        ({"Good": 3, "GOOD": 3}, {"good": 3}),
        ({"Ⓔ": 3, "ⓔ": 2}, {"ⓔ": 2}),
        ({"good": 2, "Good": 3, "GOOD": 4}, {"good": 2}),
    ],
)
def test_a_mapping_is_taken_as_it_is_in_lower_case(source: Any, found: dict[str, float]) -> None:
    assert load_lexicon(source) == found


@every_row(
    ("source", "said"),
    [
        ({"good": "3"}, "'good': must be a number, got str"),
        ({"good": True}, "must be a number, got bool"),
        ({"good": math.nan}, "got nan"),
        ({"good": math.inf}, "got inf"),
        ({"good": 10**400}, "must be from -1e.100 to 1e.100"),
        ({1: 3}, "a word must be a non-empty text"),
        ({" ": 3}, "a word must be a non-empty text"),
        ({"Good": 3, "GOOD": 2}, "'good' has two values"),
        ({}, "must have words"),
        (3, "a mapping or a path, got int"),
        ("no/such/file.txt", "No such file"),
    ],
)
def test_what_is_no_lexicon_is_refused_with_the_place(source: Any, said: str) -> None:
    with pytest.raises(InputError, match=said):
        load_lexicon(source)


@every_row(
    ("content", "said"),
    [
        (b"good\t3\nbad -3\n", "line 2: must be a word, a tab and a number, got 'bad -3'"),
        (b"good\tvery\n", "line 1: 'very' is not a number"),
        (b"good\t1e400\n", "line 1: must be from"),
        (b"# nothing\n", "must have words"),
        (b"g\xfft\t1\n", "words.txt: .*utf-8"),
    ],
)
def test_a_bad_line_is_named(content: bytes, said: str, tmp_path: Path) -> None:
    path = tmp_path / "words.txt"
    path.write_bytes(content)
    with pytest.raises(InputError, match=said):
        load_lexicon(path)


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="lexicon"):
        load_lexicon(tmp_path)
