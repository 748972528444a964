"""Endings of words, stripped four at a time and one by one: both give the stems of the oracle."""

from __future__ import annotations

import ctypes
import random
from itertools import accumulate, pairwise

import pytest

from tests.c_library import compiled
from tests.oracle.grounded_words import stem
from tests.unit.kernels.test_form_sieve import ENDINGS, key_of

WRAPPERS = """
#include "word_endings.h"
int64_t cuts(const token_key_t *keys, const int64_t *places, const int32_t *raws,
             const uint8_t *bytes, const int32_t *ids, int64_t n, int one_by_one, cut_t *out) {
    worded_t words = {keys, places, raws, bytes};
    int64_t n_cuts = 0;
    if (!one_by_one) return list_cuts(&words, ids, n, out);
    for (int64_t i = 0; i < n; i++) n_cuts = add_cut(&words, ids[i], out, n_cuts);
    return n_cuts;
}
"""


class Cut(ctypes.Structure):
    _fields_ = (("size", ctypes.c_int64), ("id", ctypes.c_int32), ("last", ctypes.c_int32))


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    found = ctypes.CDLL(str(compiled(WRAPPERS, tmp_path_factory.mktemp("endings"), "-O3")))
    found.cuts.restype = ctypes.c_int64
    return found


def stems(
    library: ctypes.CDLL, words: list[str], one_by_one: bool, spelt: frozenset[int] = frozenset()
) -> dict[int, str]:
    """Stems of the words that have an ending, by number; those ``spelt`` stand for digits."""
    encoded = [word.encode() for word in words]
    ends = pairwise(accumulate(map(len, encoded), initial=0))
    places = (ctypes.c_int64 * (2 * len(words)))(*(end for pair in ends for end in pair))
    raws = (ctypes.c_int32 * len(words))(*(-1 if i in spelt else i for i in range(len(words))))
    ids = (ctypes.c_int32 * len(words))(*range(len(words)))
    out = (Cut * (len(words) + 1))()
    n = library.cuts(
        b"".join(map(key_of, words)), places, raws, b"".join(encoded) + bytes(16), ids,
        ctypes.c_int64(len(words)), one_by_one, out,
    )  # fmt: skip
    cuts = out[:n]
    assert [cut.id for cut in cuts] == sorted(cut.id for cut in cuts)
    return {cut.id: (encoded[cut.id][: cut.size - 1] + bytes([cut.last])).decode() for cut in cuts}


def words_of(rng: random.Random, n: int, longest: int) -> list[str]:
    """Distinct words of more than three letters; few letters, so that many stand twice."""
    made = (
        "".join(rng.choices("abdeilnsuyz", k=rng.randrange(1, longest)))
        + "".join(rng.choices(ENDINGS, k=2))
        for _ in range(n)
    )
    return [word for word in dict.fromkeys(made) if len(word) > 3]


@pytest.mark.parametrize("one_by_one", [False, True])
def test_stems_are_those_of_the_oracle(library: ctypes.CDLL, one_by_one: bool) -> None:
    """Words of up to sixteen bytes, and with longer ones and others than ASCII among them."""
    rng = random.Random(3)
    for longest in (9, 20):
        words = words_of(rng, 20_000, longest)
        wanted = {i: stem(word) for i, word in enumerate(words) if stem(word) != word}
        assert len(wanted) > len(words) / 3
        assert stems(library, words, one_by_one) == wanted
        for n in range(9):
            few = {i: made for i, made in wanted.items() if i < n}
            assert stems(library, words[:n], one_by_one) == few


def test_long_words_of_other_letters_have_no_ending(library: ctypes.CDLL) -> None:
    """Wherever the letter is; beside short words, and words of ASCII that are as long."""
    words = ["boxes"]
    for size in range(15, 60):
        words += ["a" * at + "é" + "a" * (size - at) + "ings" for at in range(size)]
        words += ["b" * size + "ings", "c" * (size % 9) + "ings"]
    wanted = {i: stem(word) for i, word in enumerate(words) if word.isascii()}
    assert stems(library, words, one_by_one=False) == wanted


@pytest.mark.parametrize("one_by_one", [False, True])
def test_words_that_stand_for_digits_have_no_ending(library: ctypes.CDLL, one_by_one: bool) -> None:
    words = ["sixes", "boxes", "tables", "sevens", "running"]
    wanted = {i: stem(words[i]) for i in (1, 2, 4)}
    assert stems(library, words, one_by_one, frozenset({0, 3})) == wanted
