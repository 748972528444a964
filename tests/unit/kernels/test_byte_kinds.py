"""Places that the kernels jump to: none that matters is passed over, by blocks or byte by byte."""

from __future__ import annotations

import ctypes
import random
from collections.abc import Callable
from itertools import pairwise

import pytest

from tests.c_library import compiled

WRAPPERS = """
#include "byte_kinds.h"
int64_t ends(const uint8_t *bytes, int64_t size, int64_t at) {
    return next_end_byte(bytes, size, at);
}
int64_t markup(const uint8_t *bytes, int64_t size, int64_t at) {
    return next_markup(bytes, size, at);
}
int64_t lines(const uint8_t *bytes, int64_t size, int64_t at) {
    return next_line_byte(bytes, size, at);
}
int64_t high(const uint8_t *bytes, int64_t size, int64_t at) {
    return next_high_byte(bytes, size, at);
}
int64_t letters(const uint8_t *bytes, int64_t size) { return count_ascii_letters(bytes, size); }
int three_words(const uint8_t *bytes, int64_t size) { return has_three_words(bytes, size); }
"""
ENDS = ".!?\u2026\u3002\uff01\uff1f\uff61\u0964\u0965\u061f\u06d4\u0589\u104b\u1362\u17d4"
MARKUP = "*`~[(_\u3010\u00b9\u00b2\u00b3\u2070\u2074\u2079"
# Of the same leading bytes, or of the same bytes behind them.
OTHERS = "ab é×й֊أڔकीခካស“—⁁€、がガ㐀日行한，ﾞ\U0001f600"

Finder = Callable[[bytes], set[int]]


@pytest.fixture(scope="module", params=["best", "plain"])
def library(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> ctypes.CDLL:
    flags = ("-DRAG_EVAL_PLAIN_C",) if request.param == "plain" else ()
    return ctypes.CDLL(str(compiled(WRAPPERS, tmp_path_factory.mktemp("kinds"), "-O2", *flags)))


@pytest.mark.parametrize(
    ("name", "wanted"), [("ends", ENDS), ("markup", MARKUP), ("lines", "\n\r\u2028\u2029")]
)
def test_no_place_is_passed_over(library: ctypes.CDLL, name: str, wanted: str) -> None:
    function = getattr(library, name)
    function.restype = ctypes.c_int64
    rng = random.Random(name)
    n_found = n_bytes = 0
    for number in range(600):
        share = 0.3 if number % 2 else 0.02
        text = "".join(
            rng.choice(wanted if rng.random() < share else OTHERS) for _ in range(number // 4)
        )
        data = text.encode()
        places, at = set(), 0
        while (at := function(data, ctypes.c_int64(len(data)), ctypes.c_int64(at))) < len(data):
            places.add(at)
            at += 1
        right = {len(text[:i].encode()) for i, ch in enumerate(text) if ch in wanted}
        assert right <= places
        n_found += len(places - right)
        n_bytes += len(data)
    # Other places are looked at in vain.
    assert n_found < n_bytes / 4


def texts_of(pieces: str) -> list[bytes]:
    """Texts of any length around the blocks, of few pieces each or of many."""
    rng = random.Random(pieces)
    return [
        "".join(rng.choices(some, k=length)).encode()
        for length in range(140)
        for some in (pieces, pieces[:2])
    ]


def test_the_next_byte_that_is_no_ascii(library: ctypes.CDLL) -> None:
    library.high.restype = ctypes.c_int64
    for text in texts_of("ab\x7f" * 9 + "é"):
        right = [at for at, byte in enumerate(text) if byte >= 0x80]
        for at in range(len(text) + 1):
            found = library.high(text, ctypes.c_int64(len(text)), ctypes.c_int64(at))
            assert found == next((place for place in right if place >= at), len(text))


def test_letters_are_counted(library: ctypes.CDLL) -> None:
    library.letters.restype = ctypes.c_int64
    for text in texts_of("aZ@[`{z é\u0131"):
        right = sum(byte in range(65, 91) or byte in range(97, 123) for byte in text)
        assert library.letters(text, ctypes.c_int64(len(text))) == right


def test_three_words_at_sight_are_three_words(library: ctypes.CDLL) -> None:
    """Of those that do not show it, the words are counted. Blanks may be of any kind."""
    blanks = " \t\n\x0b\x0c\r\xa0\u3000\ufeff"
    for text in texts_of("a" * 100 + "é" * 9 + blanks * 2 + "\x08\x0e"):
        if library.three_words(text, ctypes.c_int64(len(text))):
            known = [letter in blanks for letter in text.decode()]
            assert sum(before and not here for before, here in pairwise(known)) >= 2
