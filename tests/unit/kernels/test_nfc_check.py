"""Whether a text is in NFC, as the kernels tell it: unicodedata2 has the last word."""

from __future__ import annotations

import ctypes
import random
from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate
from typing import TypeAlias

import numpy as np
import pytest
import unicodedata2  # type: ignore[import-not-found]

from tests.c_library import STRICT, compiled
from tests.tables import deep

WRAPPERS = """
#include "nfc_check.h"
void check(const uint8_t *bytes, const int64_t *offsets, int64_t n, uint8_t *found) {
    for (int64_t i = 0; i < n; i++)
        found[i] = (uint8_t)is_composed(bytes + offsets[i], offsets[i + 1] - offsets[i]);
}
"""
N_CODE_POINTS = 0x110000
HANGUL_SYLLABLES = range(0xAC00, 0xD7A4)

Check: TypeAlias = Callable[[Sequence[str]], list[bool]]


def nfc(text: str) -> str:
    return str(unicodedata2.normalize("NFC", text))


def nfd(text: str) -> str:
    return str(unicodedata2.normalize("NFD", text))


@pytest.fixture(scope="module")
def check(tmp_path_factory: pytest.TempPathFactory) -> Check:
    library = compiled(WRAPPERS, tmp_path_factory.mktemp("nfc_check"), *STRICT)
    function = ctypes.CDLL(str(library)).check

    def checked(texts: Sequence[str]) -> list[bool]:
        encoded = [text.encode("utf-8", "surrogatepass") for text in texts]
        offsets = np.array(list(accumulate(map(len, encoded), initial=0)), np.int64)
        found = np.full(len(texts), 7, np.uint8)
        arrays = (ctypes.c_void_p(array.ctypes.data) for array in (offsets, found))
        function(b"".join(encoded), next(arrays), ctypes.c_int64(len(texts)), next(arrays))
        return [bool(value) for value in found]

    return checked


def second_parts() -> set[str]:
    """What may compose with something before it, by itself or by its first part."""
    mapped = [unicodedata2.decomposition(chr(cp)).split() for cp in range(N_CODE_POINTS)]
    pairs = [parts for parts in mapped if len(parts) == 2 and not parts[0].startswith("<")]
    seconds = {
        chr(int(second, 16))
        for first, second in pairs
        if len(nfc(chr(int(first, 16)) + chr(int(second, 16)))) == 1
    }
    jamo = {*map(chr, range(0x1161, 0x1176)), *map(chr, range(0x11A8, 0x11C3))}
    begin_so = {ch for ch in map(chr, range(N_CODE_POINTS)) if nfd(ch)[0] in seconds}
    return seconds | jamo | begin_so


def is_hard(text: str, seconds: set[str]) -> bool:
    """A composite and its marks stand before a "maybe", or that has parts itself."""
    composite = False
    for ch in text:
        parts = nfd(ch) != ch and ord(ch) not in HANGUL_SYLLABLES
        if ch in seconds and (parts or composite):
            return True
        if not unicodedata2.combining(ch):
            composite = parts
    return False


def assert_told(check: Check, texts: Iterable[str], seconds: set[str]) -> int:
    """All told right; how many of them are in NFC."""
    texts = list(texts)
    right = [nfc(text) == text for text in texts]
    found = check(texts)
    told = list(zip(texts, found, right, strict=True))
    assert [text for text, is_found, is_nfc in told if is_found > is_nfc] == []
    missed = [text for text, is_found, is_nfc in told if is_found < is_nfc]
    assert [text for text in missed if not is_hard(text, seconds)] == []
    return sum(right)


@pytest.fixture(scope="module")
def seconds() -> set[str]:
    found = second_parts()
    assert 110 < len(found) < 150
    return found


def test_every_code_point(check: Check, seconds: set[str]) -> None:
    """Alone, and behind a letter, where marks that are in NFC alone may not be."""
    alone = list(map(chr, range(N_CODE_POINTS)))
    assert assert_told(check, alone, seconds) > N_CODE_POINTS - 1200
    assert_told(check, (f"e{ch}" for ch in alone), seconds)


STARTERS = (
    "aeAo\u00e9\u1e69\u01d5qあかは\u3046ق\u0627\u0622कनऩर\u0928ড\u09c7"
    "ெ\u0b92\u0cc6\u0d46\u0dd9\u1025"
)
HANGUL = "\u1100\u1112\u1161\u1175\u11a8\u11c2\u1176\u11c3\u115f\uac00\uac01\ud7a3\ud788"
MARKS = (
    "\u0301\u0323\u0307\u0327\u0328\u0338\u0345\u0342\u0300\u0308\u031b\u0653\u0654\u0655\u064b"
    "\u0651\u0670\u093c\u094d\u0951\u09be\u09d7\u0bbe\u0cd5\u0cd6\u0d3e\u0dca\u0dcf\u0ddf\u102e"
    "\u1039\u1b35\u3099\u309a\u302a\u0340\u0344\u0f71\u0f72\u0f74\u0f73\u20d0\u05bc\u05c1\ufb1e"
    "\U00011127\U000110ba\U0001133e\U000113c9\U00016d67\U00016d68\U00016d63"
)
OTHERS = " .x日本\u2026\u200d\ufb01\u1fef\u212b\uf900\U0001f600\U00011131\U00011347\U000113c2"


@pytest.mark.parametrize("n_texts", [30_000, *deep(1_500_000)])
def test_random_sequences(check: Check, seconds: set[str], n_texts: int) -> None:
    """Half of them normalised before one place in them is changed: most others are not in NFC."""
    rng = random.Random(f"nfc {n_texts}")
    alphabets = [STARTERS, MARKS, MARKS, HANGUL, OTHERS]
    texts = []
    for number in range(n_texts):
        text = "".join(rng.choice(rng.choice(alphabets)) for _ in range(rng.randrange(1, 9)))
        if number % 2:
            text = nfc(text)
            place = rng.randrange(len(text) + 1)
            text = text[:place] + rng.choice(MARKS if number % 3 else STARTERS) + text[place:]
        texts.append(text)
    n_composed = assert_told(check, texts, seconds)
    assert n_texts / 5 < n_composed < n_texts * 4 / 5
    found = check([nfc(text) for text in texts])
    # The hard ones are few.
    assert sum(found) > n_texts * 0.8


@pytest.mark.deep
def test_every_pair_that_matters(check: Check, seconds: set[str]) -> None:
    """What has parts, a class, or is part of a composite: each before and behind each mark."""
    parts = {ch for cp in range(N_CODE_POINTS) for ch in nfd(chr(cp)) if nfd(chr(cp)) != chr(cp)}
    chosen = sorted(
        parts
        | {
            ch
            for ch in map(chr, range(N_CODE_POINTS))
            if unicodedata2.combining(ch) or (nfd(ch) != ch and ord(ch) % 28 < 3)
        }
    )
    behind = sorted(seconds | {*MARKS})
    assert len(chosen) > 3000
    for mark in behind:
        assert_told(check, (text for ch in chosen for text in (ch + mark, mark + ch)), seconds)
