"""Places that the kernels jump to: none that matters is passed over, by blocks or byte by byte."""

from __future__ import annotations

import ctypes
import random
from collections.abc import Callable

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


@pytest.mark.parametrize(("name", "wanted"), [("ends", ENDS), ("markup", MARKUP)])
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
