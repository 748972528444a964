"""Words sifted four at a time, and one by one: both say the same, and pass over no word."""

from __future__ import annotations

import ctypes
import random
import tomllib
from pathlib import Path

import pytest

from tests.c_library import compiled
from tests.oracle.grounded_words import stem

LISTS = Path(__file__).resolve().parents[3] / "tools" / "word_lists" / "stop_words.toml"
WRAPPERS = """
#include <stdlib.h>
#include "form_sieve.h"
void sift(const token_key_t *keys, const int64_t *places, int64_t n, int one_by_one, uint8_t *forms,
          int32_t *raws, int32_t *listed, int32_t *ending, int64_t *counts) {
    const word_facts_t **facts = malloc(sizeof(*facts) * (size_t)(n + 1));
    form_sieve_t sieve = {keys, places, (form_t *)forms, raws, facts, listed, ending, 0, 0};
    if (one_by_one) sift_one_by_one(&sieve, 0, n);
    else sift_forms(&sieve, n);
    counts[0] = sieve.n_listed;
    counts[1] = sieve.n_ending;
    for (int64_t i = 0; i < n; i++) counts[2] += facts[i] == NULL;
    free(facts);
}
"""
ENDINGS = ["", "s", "ies", "sses", "us", "ing", "ed", "ly", "e", "i", "tt", "ll", "9", "é", "ss"]
Sifted = tuple[bytes, list[int], set[str], set[str]]


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    return ctypes.CDLL(str(compiled(WRAPPERS, tmp_path_factory.mktemp("sieve"), "-O3")))


def key_of(word: str) -> bytes:
    """As token_keys.h has it; past sixteen bytes a mark and what may be a digest."""
    data = word.encode()
    return data.ljust(16, b"\xff") if len(data) <= 16 else data[:8] + b"\xff\xfedigest"


def sift(library: ctypes.CDLL, words: list[str], one_by_one: bool) -> Sifted:
    """Forms, raw forms, words that a list may have, and words that may have an ending."""
    n = len(words)
    keys = b"".join(map(key_of, words))
    places = (ctypes.c_int64 * (2 * n))(
        *(end for word in words for end in (7, 7 + len(word.encode())))
    )
    forms, raws = ctypes.create_string_buffer(8 * n), (ctypes.c_int32 * n)()
    listed, ending, counts = (ctypes.c_int32 * n)(), (ctypes.c_int32 * n)(), (ctypes.c_int64 * 3)()
    library.sift(keys, places, ctypes.c_int64(n), one_by_one, forms, raws, listed, ending, counts)
    assert counts[2] == n, "facts of some words were left as they were"
    return (
        forms.raw,
        list(raws),
        {words[i] for i in listed[: counts[0]]},
        {words[i] for i in ending[: counts[1]]},
    )


def words_of(rng: random.Random, n: int) -> list[str]:
    letters = "abdegilnstuyzé9я日𠀀½"
    found = dict.fromkeys(
        # A full stop, but not as the first.
        rng.choice(letters)
        + "".join(rng.choices(f"{letters}.", k=rng.randrange(11)))
        + rng.choice(ENDINGS)
        for _ in range(n)
    )
    return list(found)


def test_words_sifted_by_fours_are_those_sifted_one_by_one(library: ctypes.CDLL) -> None:
    rng = random.Random(5)
    for n in [*range(1, 14), 3000]:
        words = words_of(rng, n)
        assert sift(library, words, False) == sift(library, words, True)


@pytest.mark.parametrize("one_by_one", [False, True])
def test_no_word_of_a_list_is_passed_over(library: ctypes.CDLL, one_by_one: bool) -> None:
    stop_words = tomllib.loads(LISTS.read_text(encoding="utf-8")).values()
    words = sorted({word for text in stop_words for word in text.split()})
    listed = {word for word in words if len(word.encode()) <= 16}
    others = [f"{word}q" for word in words if f"{word}q" not in listed]
    found = sift(library, [*words, *others], one_by_one)[2]
    assert listed <= found
    assert len(found) < len(listed) + len(others) / 4


@pytest.mark.parametrize("one_by_one", [False, True])
def test_no_word_with_an_ending_is_passed_over(library: ctypes.CDLL, one_by_one: bool) -> None:
    words = [word for word in words_of(random.Random(9), 4000) if word.isascii()]
    found = sift(library, words, one_by_one)[3]
    assert {word for word in words if stem(word) != word} <= found
    assert not {word for word in found if len(word) < 4}
