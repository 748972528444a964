"""Keys of tokens, compiled: the bytes of short tokens, and what they tell of these."""

from __future__ import annotations

import ctypes
import random
import re

import pytest

from tests.c_library import compiled

WRAPPERS = """
#include "token_keys.h"
void key(const uint8_t *token, int64_t size, uint64_t *out) {
    token_key_t made = key_of_token(token, size, 5);
    out[0] = made.head;
    out[1] = made.tail;
}
int digits(uint64_t head, uint64_t tail) {
    token_key_t key = {head, tail};
    return key_digits(key);
}
uint64_t head(const char *letters, int size) { return head_of(letters, size); }
"""
Key = tuple[ctypes.c_uint64, ctypes.c_uint64]


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    found = ctypes.CDLL(str(compiled(WRAPPERS, tmp_path_factory.mktemp("keys"), "-O3")))
    found.head.restype = ctypes.c_uint64
    return found


def key_of(library: ctypes.CDLL, token: bytes) -> Key:
    """The key of a token that others follow."""
    made = (ctypes.c_uint64 * 2)()
    library.key(token + b" 77 others and more", ctypes.c_int64(len(token)), made)
    return ctypes.c_uint64(made[0]), ctypes.c_uint64(made[1])


def tokens(n: int) -> list[bytes]:
    rng = random.Random(7)
    letters = "0189/:azé日\0"
    made = ("".join(rng.choices(letters, k=rng.randrange(1, 24))).encode() for _ in range(n))
    placed = (b"a" * at + b"17" + b"a" * (14 - at) for at in range(15))
    return list(dict.fromkeys([*made, *placed, *(b"x" * size for size in range(1, 40))]))


def test_a_key_is_its_token_up_to_sixteen_bytes(library: ctypes.CDLL) -> None:
    """Longer ones may share a digest, but no key with a short one: their bytes are compared."""
    for token in tokens(3000):
        head, tail = key_of(library, token)
        found = head.value.to_bytes(8, "little") + tail.value.to_bytes(8, "little")
        if len(token) <= 16:
            assert found == token.ljust(16, b"\xff"), token
        else:
            assert found.startswith(token[:8] + b"\xff\xfe"), token


def test_what_a_key_tells_of_its_token(library: ctypes.CDLL) -> None:
    for token in tokens(3000):
        if len(token) > 16:
            continue
        key = key_of(library, token)
        longest = max(map(len, re.findall(rb"[0-9]+", token)), default=0)
        assert library.digits(*key) == min(longest, 2), token


def test_the_first_half_tells_up_to_seven_letters(library: ctypes.CDLL) -> None:
    for word in (b"who", b"what", b"where", b"seven77"):
        assert library.head(word, len(word)) == key_of(library, word)[0].value
        for other in (word[:-1], word + b"s", word + b"'s and more"):
            assert library.head(word, len(word)) != key_of(library, other)[0].value
