"""Words where the grounded kernels take another way: at edges, limits and all code points."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given

from rag_eval.kernels import scoring as kernels
from rag_eval.kernels.settings import GroundedSettings
from tests.differential.test_grounded_block import (
    Sample,
    assert_rows_equal_the_oracle,
    details_of,
    packed,
)
from tests.grounded_samples import (
    CONTRACTIONS,
    LONG_WORDS,
    MARKUP,
    NAMES,
    NUMBERS,
    grounded_samples,
)
from tests.oracle.grounded_characters import category, normalize
from tests.oracle.grounded_text import tokens
from tests.tables import deep, every_row


def in_ascii(row: Sample) -> Sample:
    def ascii_of(value: Any) -> Any:
        if isinstance(value, list):
            return [ascii_of(item) for item in value]
        return value.encode("ascii", "ignore").decode() if isinstance(value, str) else value

    return {name: ascii_of(value) for name, value in row.items()}


def with_euro(row: Sample) -> Sample:
    """A line of its own, which says nothing, is added to every text."""

    def longer(value: Any) -> Any:
        if isinstance(value, list):
            return [longer(item) for item in value]
        return None if value is None else value + "\n€"

    return {name: value if name == "language" else longer(value) for name, value in row.items()}


@given(grounded_samples().map(in_ascii))
def test_texts_in_ascii_are_read_as_others_are(row: Sample) -> None:
    """The two ways into words: 64 bytes at a time, and code point by code point."""
    other = with_euro(row)
    if not any(row.get("ground_truth") or []):
        other.pop("ground_truth", None)  # a line in it would make it one
    alone, beside = details_of(row), details_of(other)
    assert alone == beside
    words = kernels.grounded_words(packed([row]), GroundedSettings())
    assert kernels.grounded_words(packed([other]), GroundedSettings()) == words


ODDITIES = [
    *("don't", "1,234", "1 , 234", "3.14", "v2.0.1", "James's", "can't.", "A. B", "e.g. x"),
    *("**b**", "[1]", "(2).", "n't", "snake_case", "U.S.", "No. 5", "x" * 17, "é", "日本"),
    *("don’t", "1,2é", "½", "\n- x", "\n1. y\n2. z", "Ana", ". A", '." B', "a\u0301"),
    *("1\u0301,234", "\ufeff", "\u00ad"),
]


@pytest.mark.parametrize("edge", [16, 64, 128, 512])
@pytest.mark.parametrize("fill", ["ab ", "é ", *deep("Ab. ", "x", "1 ", "a1")])
def test_words_at_the_edges_of_blocks(fill: str, edge: int) -> None:
    """Pushed over the edge byte by byte."""
    for number, oddity in enumerate(ODDITIES):
        shift = 12 - number % 16
        begin = (fill * edge)[: edge - shift] if fill.isascii() else fill * (edge // 3)
        text = begin + oddity + " So Ana left, and 1,234 of 12 can't. " + "the end " * 9
        row = {
            "question": begin[-40:] + oddity,
            "answer": text,
            "contexts": [text[3:], oddity + " " + text[edge // 2 :], begin + oddity],
            "ground_truth": text[edge - 20 :],
        }
        assert_rows_equal_the_oracle([row])


@pytest.mark.parametrize("shift", [9, *deep(0, 3, 6, 12, 15, 18)])
@pytest.mark.parametrize("block", [64, 512])
def test_every_kind_of_word_crosses_an_edge(block: int, shift: int) -> None:
    pieces = [*NUMBERS, *CONTRACTIONS, *MARKUP, *LONG_WORDS[:6], *NAMES]
    for number in range(0, len(pieces), 3):
        text = ("ab c " * block)[: block - shift] + " ".join(pieces[number : number + 3]) + " end"
        row = {"answer": text, "contexts": [text[shift:]], "question": "How many?"}
        assert_rows_equal_the_oracle([row, {**row, "answer": text + " é"}])


def test_what_is_asked_for_ends_where_the_question_and_its_truth_end() -> None:
    """The word behind them is of another text: no question asks with it."""
    truths = ({}, {"ground_truth": ""}, {"ground_truth": "{} 1990"}, {"ground_truth": "In {}"})
    assert_rows_equal_the_oracle(
        {
            "question": f"{asked} of the red foxes left for the city in {asking}",
            "answer": f"{asked} 12 foxes left",
            "contexts": [f"{asked} 1990", "Ana left the city", "a fox and 12 more"],
            **{
                name: text.format(asked if "1990" in text else asking)
                for name, text in truth.items()
            },
        }
        for asking in ("how", "what", "which", "when", "who")
        for asked in ("many", "percent", "year", "city", "name")
        for truth in truths
    )


def counted(n: int, joint: str) -> str:
    return joint.join(str(number) for number in range(1, n + 1))


# Every number in a rule of markup, sentences or windows: as many as it takes, and one more.
LIMITS = {
    "numbers in square brackets": [f"Ana left [{counted(n, ', ')}]." for n in (30, 31, 32)],
    "digits in square brackets": ["Ana left [999].", "Ana left [1000].", "Ana [^12] [^1234] left."],
    "blanks before brackets": [f"Ana{' ' * n}[1]left." for n in (0, 1, 2, 3)],
    "numbers in round brackets": [f"Ana left ({counted(n, ', ')})." for n in (9, 10, 11)],
    "digits in round brackets": ["Ana left (99).", "Ana left (100).", "Ana left (09)."],
    "digits before round brackets": [f"Ana saw {n} (2)." for n in (9, 99, 999, 9999, 99999)],
    "letters before round brackets": [f"Ana saw {'x' * n}one (2)." for n in (0, 1, 8, 9, 10)],
    "length of a source": [f"Ana left【7†{'s' * n}】." for n in (59, 60, 61)],
    "digits of a source": ["Ana left【999】.", "Ana left【1000】."],
    "superscripts": [f"Ana left.{'¹' * n} Bob" for n in (7, 8, 9)],
    "quotation marks": ["> " * n + "Ana left." for n in (7, 8, 9)],
    "hashes": ["#" * n + " Ana left." for n in (5, 6, 7)],
    "numbered lines": [f"{n}. Ana\n{n + step}. Bob" for n in (0, 1, 2, 98) for step in (1, 2)],
    "line numbers of three digits": ["99. Ana\n100. Bob", "099. Ana\n098. Bob"],
    "tildes": [f"{'~' * n}Ana{'~' * n} left." for n in (1, 2, 3)],
    "letters of an abbreviation": [
        f"So {word}. Bob left." for word in ("approx", "x" * 7, "x" * 8)
    ],
    "words before a mark": [f"{'go ' * n}on. left it. Bob" for n in (0, 1, 2, 3)],
    "digits of a thousand": ["1,23 a", "1,234 a", "1,2345 a", "1 , 234 a", "1 ,234 a", "1,234,5"],
    "window of a sentence": [
        "red" + " x" * gap + " fox. Red fox" + " y" * more + "."
        for gap in (28, 29, 31, 32)
        for more in (0, 9)
    ],
    "window of a question": ["red" + " x" * gap + " fox" for gap in (17, 18, 19)],
}


@every_row("name", LIMITS)
def test_limits_of_rules(name: str) -> None:
    for text in LIMITS[name]:
        row = {
            "question": "Who saw the red fox?",
            "answer": text + " Red fox" + " y" * 9 + ".",
            "contexts": [text, "Ana one left 12 red fox 1 2 3 99."],
            "ground_truth": [text, "Red fox."],
            "language": "en",
        }
        # A chunk with a label keeps what would be a citation.
        assert_rows_equal_the_oracle([row, {**row, "contexts": ["[1] " + text]}])


def test_long_words_that_differ_in_one_letter() -> None:
    """Past sixteen bytes a word is known by a digest."""
    words = [
        letters[:at] + "q" + letters[at + 1 :]
        for letters in ("x" * 15, "x" * 16, "x" * 17, "x" * 40, "x" * 64, "é" * 20)
        for at in range(0, len(letters), 3)
    ]
    text = " ".join(words)
    row = {"question": words[0], "answer": text, "contexts": [" ".join(words[::2])]}
    row |= {"ground_truth": " ".join(words[1::3])}
    assert_rows_equal_the_oracle([row, {**row, "language": "en"}])


def assigned_points() -> list[int]:
    """All of the first planes' lower part, and some of all others."""
    low = range(0x3100)
    high = range(0x3100, 0x110000, 41)
    return [
        point
        for point in [*low, *high]
        if category(chr(point)) not in {"Cn", "Cs"} and not 0xE000 <= point < 0xF8FF
    ]


@pytest.mark.parametrize("part", [0, *deep(*range(1, 8))])
def test_code_points_in_all_places(part: int) -> None:
    """In a word, beside a number, after an apostrophe, at the begin and end of a sentence."""
    points = list(map(chr, assigned_points()[part::8]))
    for begin in range(0, len(points), 60):
        text = "\n".join(
            f"An{c}'t {c} 1{c}234 1,234{c} ({c}) {c}n'{c} Zed{c}. b{c}{c} x_{c} [1{c}] n{c}t {c}s."
            for c in points[begin : begin + 60]
        )
        row = {"answer": text, "contexts": ["".join(points[begin : begin + 60]), text[9:300]]}
        assert_rows_equal_the_oracle([row])


def test_texts_that_only_the_first_letter_of_a_word_keeps_from_normal_form() -> None:
    """The sign of Kelvin, for one, is a K in normal form, which a full stop may abbreviate."""
    for letter in "\u212a\u212b\u2126\u1f71\u0374\u0958\u09df\ufb1d\uf900\U0002f800\U0001d15e":
        for name in (f"{letter}. Rowling", f"{letter}owling", f"3 {letter}", letter):
            answer = f"He met {name} there. Ana saw {name}."
            contexts = [f"The letter of {name} came late.", normalize("NFC", answer)]
            assert_rows_equal_the_oracle([{"answer": answer, "contexts": contexts}])


LETTERS_AND_MARKS = (
    "ae\u00e9\u1e69qИйאبآحकनऩরেொなはガ日กำ한\u1112\u1161\u11ab\U00016d63\U000113c2",
    "\u0301\u0323\u0327\u0338\u0345\u05bc\u05b4\u0653\u0654\u064b\u0651\u0670\u093c\u094d\u093f",
    "\u09be\u0bbe\u0bd7\u0cd5\u1039\u3099\u309a\u0344\u0f73\u20d0\u0306\U00016d67\U000113c9",
    "\u200d\u0640\ufe0f'1,. \ufb01\u212b\u00bd\u2167３७",
)


@pytest.mark.parametrize("n_texts", [1_000, *deep(100_000)])
def test_words_of_letters_and_marks_in_any_order(n_texts: int) -> None:
    """In normal form or not, the words are those of the text's normal form.

    Marks with a tatweel between them were left in the order in which they stood.
    """
    rng = random.Random(f"marks {n_texts}")
    for _ in range(0, n_texts, 50):
        text = " | ".join(
            "".join(rng.choice(rng.choice(LETTERS_AND_MARKS)) for _ in range(rng.randrange(1, 12)))
            for _ in range(50)
        )
        if rng.random() < 0.5:
            text = normalize("NFC", text)
        words = kernels.grounded_words(packed([{"answer": text}]), GroundedSettings("und"))
        assert words == {0: {word.encode() for word, _, _ in tokens(text)}}


def test_names_in_words_that_are_joined() -> None:
    """Capitals before, behind and within words that marks join, or seem to."""
    rng = random.Random(3)
    pieces = [*"AbSst9É日—", "Ana", "luc", "S-", "-", "'", "’", "_", ".", " ", " ", " ", ", ", ": "]
    for _ in range(60):
        answer = " ".join("".join(rng.choices(pieces, k=rng.randrange(1, 9))) for _ in range(12))
        row = {
            "question": "Who was it?",
            "answer": f"So {answer} left. Then {answer[::-1]}",
            "contexts": [answer[:40], f"Bob and {answer[20:]}", answer.lower()],
        }
        assert_rows_equal_the_oracle([row])


@pytest.mark.parametrize("times", [1, 7, 8, 9])
def test_a_number_among_words_of_its_stem(times: int) -> None:
    """Two words of one stem, of many the last one is meant; too long to be told by their values."""
    bare, plural = "1234567890123456", "1234567890123456s"
    for first, last in ((plural, plural), (plural, bare), (bare, plural)):
        contexts = [f"{first} foxes " + f"and {plural} more " * (times - 2) + f"{last} hens"]
        for number in (bare, plural):
            row = {"question": "How many?", "answer": f"So {number} foxes.", "contexts": contexts}
            assert_rows_equal_the_oracle([row])
