"""Measures of strings: worked values, what is refused, texts that are meant to hurt."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from rag_eval.errors import InputError
from rag_eval.kernels import similarity as string_similarity
from rag_eval.kernels.similarity import (
    dice_similarities,
    dice_similarity,
    lcs_length,
    lcs_ratio,
    lcs_ratios,
    levenshtein,
    levenshteins,
    n_units,
)

BATCHES = [dice_similarities, lcs_ratios, levenshteins]


def test_dice_counts_pairs_of_letters_with_repeats() -> None:
    # ni ig gh ht and na ac ch ht.
    assert dice_similarity("night", "nacht") == 2 * 1 / 8
    # aa aa aa and aa: one is shared.
    assert dice_similarity("aaaa", "aa") == 2 * 1 / 4


def test_dice_leaves_all_white_space_of_javascript_out_and_no_other() -> None:
    assert dice_similarity("a\ufeffb\u3000c\n", "abc") == 1
    assert dice_similarity("a\x85b", "ab") == 0
    assert dice_similarity("a\x1cb", "ab") == 0


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [("", "", 1), (" ", "", 1), ("a", "a", 1), ("a", "b", 0), ("a", "ab", 0), ("", "ab", 0)],
)
def test_dice_of_texts_without_pairs(left: str, right: str, expected: float) -> None:
    assert dice_similarity(left, right) == expected


def test_lcs_need_not_be_in_one_piece() -> None:
    assert lcs_length("abcde", "xaxcxex") == 3
    assert lcs_ratio("abcde", "xaxcxex") == 2 * 3 / 12


def test_lcs_ratio_of_empty_texts() -> None:
    assert lcs_ratios(["", "", "a"], ["", "a", ""]).tolist() == [1, 0, 0]


def test_lengths_are_utf16_units() -> None:
    """Two emoji share their first half, as they do in JavaScript."""
    assert n_units("a\U0001f600\ud800") == 4
    assert lcs_ratio("\U0001f600", "\U0001f601") == 0.5
    assert levenshtein("\U0001f600", "\U0001f601") == 1
    assert levenshtein("\U0001f600", "") == 2


def test_a_pair_of_halves_is_the_character() -> None:
    assert lcs_ratio("\ud83d\ude00", "\U0001f600") == 1
    assert dice_similarity("\ud83d\ude00", "\U0001f600") == 1


def test_levenshtein_counts_each_kind_of_edit() -> None:
    assert levenshtein("kitten", "sitting") == 3
    assert levenshteins(["", "abc", "abc"], ["abc", "", "abc"]).tolist() == [3, 3, 0]


def test_types_of_what_is_given() -> None:
    assert dice_similarities([], []).dtype == np.float64
    assert lcs_ratios(["a"], ["a"]).dtype == np.float64
    assert levenshteins(["a"], ["a"]).dtype == np.int64
    assert type(levenshtein("a", "b")) is int
    assert type(lcs_length("a", "b")) is int
    assert type(dice_similarity("ab", "b")) is float


@pytest.mark.parametrize("batch", BATCHES)
def test_no_rows_are_no_numbers(batch: Callable[..., Any]) -> None:
    assert batch([], []).shape == (0,)


@pytest.mark.parametrize("batch", BATCHES)
def test_columns_of_unequal_lengths_are_refused(batch: Callable[..., Any]) -> None:
    with pytest.raises(InputError, match="left has 2 texts and right 1"):
        batch(["a", "b"], ["a"])


@pytest.mark.parametrize("batch", BATCHES)
def test_what_is_no_text_is_refused(batch: Callable[..., Any]) -> None:
    with pytest.raises(TypeError, match=r"right\[1\] must be a string, got int"):
        batch(["a", "b"], ["a", 1])
    with pytest.raises(TypeError, match="left must be a sequence of str, got str"):
        batch("ab", ["a", "b"])


# ---------------------------------------------------------------------------------- hostile texts


@pytest.mark.parametrize(
    "text",
    ["a" * 2**20, "ab " * 2**18, "漢" * 2**18, "\ud800" * 2**18, "\U0001f600" * 2**18, " " * 2**20],
)
def test_equal_texts_are_1_however_long(text: str) -> None:
    assert (dice_similarity(text, text), lcs_ratio(text, text), levenshtein(text, text)) == (
        1,
        1,
        0,
    )


def test_what_both_texts_begin_and_end_with_does_not_count_as_work() -> None:
    begin, end = "begin " * 300_000, " end" * 300_000
    assert levenshtein(begin + "x" + end, begin + "yy" + end) == 2
    assert lcs_length(begin + "x" + end, begin + "yy" + end) == len(begin + end)


def test_too_much_work_is_refused_by_name_of_the_pair() -> None:
    left, right = "a" * 10_000_000, "b" * 1_000_000
    said = "pair 1: texts of 10,000,000 and 1,000,000 UTF-16 units are too long to align"
    with pytest.raises(InputError, match=said):
        lcs_ratios(["a", left], ["b", right])
    with pytest.raises(InputError, match="at most"):
        levenshtein(left, right)


def test_the_limit_is_about_pairs_of_units(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(string_similarity, "MAX_LCS_CELLS", 12.0)
    assert lcs_length("aaaa", "bbb") == 0
    with pytest.raises(InputError, match="12 pairs of units"):
        lcs_length("aaaa", "bbbb")
    assert levenshtein("aaaa", "bbbb") == 4


def test_many_kinds_of_letters_take_no_more_memory_than_few() -> None:
    """Masks of all letters for all rows would be half a gigabyte here."""
    left = "".join(map(chr, range(0x100, 0xD800))) * 2
    assert lcs_length(left, left[::-1]) > 0
    assert math.isclose(dice_similarity(left, left[1:]), 1, abs_tol=1e-4)
