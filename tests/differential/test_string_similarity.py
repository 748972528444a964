"""Measures of strings against their definitions in tests/oracle, and against rapidfuzz."""

from __future__ import annotations

import random

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from rapidfuzz.distance import LCSseq, Levenshtein

from rag_eval.kernels import similarity as string_similarity
from tests import strategies
from tests.oracle import string_similarity as oracle

TEXTS = st.one_of(
    st.text("ab", max_size=20),
    st.text("ab \n\ufeff\u0085\U0001f600\U0001f601\ud83d\ude00", max_size=30),
    strategies.texts(max_parts=2).map(lambda text: text[:60]),
)
PAIRS = st.one_of(
    st.tuples(TEXTS, TEXTS),
    TEXTS.map(lambda text: (text, text)),
    st.tuples(TEXTS, TEXTS, TEXTS).map(lambda three: (three[0] + three[1], three[0] + three[2])),
)
COLUMNS = st.lists(PAIRS, max_size=4)

# Rows of words and of strips, and one more or less.
SIZES = [0, 1, 2, 62, 63, 64, 65, 126, 127, 128, 129, 447, 503, 504, 505, 511, 512, 513, 1023, 1600]
ALPHABETS = {
    "two letters": "ab",
    "ascii": "".join(map(chr, range(128))),
    "latin": "aeéß \xa0\xff\x80",
    "chinese": "".join(map(chr, range(0x4E00, 0x5300))),
    "emoji": "a\U0001f600\U0001f601\U0001f3fd",
    "halves of pairs": "\ud83d\ude00\udfffa",
}


@given(PAIRS)
@example(("\ufeffa\u2003b\u0085", "ab\x85"))
@example(("\x1ca", "a"))
@example(("\ud83d\ude00", "\U0001f600"))
def test_dice_similarity(pair: tuple[str, str]) -> None:
    assert string_similarity.dice_similarity(*pair) == oracle.dice_similarity(*pair)


@given(PAIRS)
def test_longest_common_subsequence(pair: tuple[str, str]) -> None:
    assert string_similarity.lcs_length(*pair) == oracle.lcs_length(*pair)
    assert string_similarity.lcs_ratio(*pair) == oracle.lcs_ratio(*pair)


@given(PAIRS)
def test_levenshtein(pair: tuple[str, str]) -> None:
    assert string_similarity.levenshtein(*pair) == oracle.levenshtein(*pair)


@given(COLUMNS)
def test_columns_are_their_rows(rows: list[tuple[str, str]]) -> None:
    left, right = [row[0] for row in rows], [row[1] for row in rows]
    dice = string_similarity.dice_similarities(left, right)
    assert dice.tolist() == [oracle.dice_similarity(*row) for row in rows]
    ratios = string_similarity.lcs_ratios(left, right)
    assert ratios.tolist() == [oracle.lcs_ratio(*row) for row in rows]
    distances = string_similarity.levenshteins(left, right)
    assert distances.tolist() == [oracle.levenshtein(*row) for row in rows]


@pytest.mark.parametrize("alphabet", ALPHABETS)
def test_long_texts_are_those_of_rapidfuzz(alphabet: str) -> None:
    """Matrices of several words and strips, which the definition would take too long for."""
    draw = random.Random(alphabet)
    letters = ALPHABETS[alphabet]
    pairs = [
        tuple("".join(draw.choices(letters, k=size)) for size in (n_left, draw.choice(SIZES)))
        for n_left in SIZES
        for _ in range(8)
    ]
    left, right = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    units = [(oracle.units(a), oracle.units(b)) for a, b in zip(left, right, strict=True)]
    totals = [len(a) + len(b) for a, b in units]
    ratios = string_similarity.lcs_ratios(left, right)
    assert ratios.tolist() == [
        2 * LCSseq.similarity(*pair) / total if total else 1.0
        for pair, total in zip(units, totals, strict=True)
    ]
    distances = string_similarity.levenshteins(left, right)
    assert distances.tolist() == [Levenshtein.distance(*pair) for pair in units]
    dice = string_similarity.dice_similarities(left, right)
    assert dice.tolist() == [oracle.dice_similarity(a, b) for a, b in pairs]


@pytest.mark.parametrize("block_units", [1, 40, 1000])
def test_the_cut_into_blocks_changes_nothing(
    block_units: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    draw = random.Random(7)
    letters = "ab cdé漢\U0001f600"
    left, right = (
        ["".join(draw.choices(letters, k=draw.choice([0, 0, 1, 30, 200]))) for _ in range(300)]
        for _ in range(2)
    )
    whole = (
        string_similarity.dice_similarities(left, right).tolist(),
        string_similarity.lcs_ratios(left, right).tolist(),
        string_similarity.levenshteins(left, right).tolist(),
    )
    monkeypatch.setattr(string_similarity, "_BLOCK_UNITS", block_units)
    assert whole == (
        string_similarity.dice_similarities(left, right).tolist(),
        string_similarity.lcs_ratios(left, right).tolist(),
        string_similarity.levenshteins(left, right).tolist(),
    )


@given(PAIRS, TEXTS)
def test_laws(pair: tuple[str, str], third: str) -> None:
    left, right = pair
    for measure in (string_similarity.dice_similarity, string_similarity.lcs_ratio):
        assert 0 <= measure(left, right) == measure(right, left) <= 1
        assert measure(left, left) == 1
    distance = string_similarity.levenshtein
    assert distance(left, right) == distance(right, left)
    assert distance(left, right) <= distance(left, third) + distance(third, right)
    common = string_similarity.lcs_length(left, right)
    longest = max(string_similarity.n_units(left), string_similarity.n_units(right))
    assert longest - common <= distance(left, right)
