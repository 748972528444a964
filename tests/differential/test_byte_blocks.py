"""Texts cut into tokens 64 bytes at a time: both block cutters, and what crosses an edge."""

from __future__ import annotations

import ctypes
import random
from collections.abc import Callable, Iterable

import pytest

import rag_eval
from tests.c_library import compiled
from tests.differential.test_overlap_block import assert_same_bits, oracle_scores
from tests.tables import every_row

SEPARATORS = b" \t\n\x0b\x0c\r!\"#%&'()*,-./:;?@[\\]_{}"
WRAPPERS = """
#include "byte_blocks.h"
int portable(const uint8_t *bytes, int n_bytes, uint8_t *lowered, int64_t base, uint64_t *inside,
             int64_t *edges, int *n_cut) {
    return cut_block_portable(bytes, n_bytes, lowered, base, inside, edges, n_cut);
}
int best(const uint8_t *bytes, int n_bytes, uint8_t *lowered, int64_t base, uint64_t *inside,
         int64_t *edges, int *n_cut) {
    return best_block_cutter()(bytes, n_bytes, lowered, base, inside, edges, n_cut);
}
int room(void) { return BLOCK_EDGES; }
"""
Cut = tuple[bytes, bool, list[int]]  # the bytes cut, lowered; inside a token after them; edges
Cutter = Callable[[bytes, int, bool], Cut]
BASE = 5000


@pytest.fixture(scope="module")
def cutters(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Cutter]:
    """Both block cutters, compiled apart: the kernels use the best that the processor runs."""
    functions = ctypes.CDLL(str(compiled(WRAPPERS, tmp_path_factory.mktemp("byte_blocks"), "-O3")))
    room = functions.room()

    def cutter(name: str) -> Cutter:
        def cut(block: bytes, n_bytes: int, inside: bool) -> Cut:
            lowered, state = ctypes.create_string_buffer(64), ctypes.c_uint64(inside)
            edges, n_cut = (ctypes.c_int64 * (room + 1))(), ctypes.c_int(-1)
            edges[room] = -77
            n_edges = getattr(functions, name)(
                block,
                n_bytes,
                lowered,
                ctypes.c_int64(BASE),
                ctypes.byref(state),
                edges,
                ctypes.byref(n_cut),
            )
            assert edges[room] == -77, "written past its room"
            return lowered.raw[: n_cut.value], bool(state.value), edges[:n_edges]

        return cut

    return {name: cutter(name) for name in ("portable", "best")}


def expected_cut(block: bytes, n_bytes: int, inside: bool) -> Cut:
    edges, lowered = [], b""
    for place, byte in enumerate(block[:n_bytes], BASE):
        if byte >= 0x80:
            break
        if (byte not in SEPARATORS) != inside:
            edges.append(place)
            inside = not inside
        lowered += bytes([byte]).lower()
    return lowered, inside, edges


@pytest.mark.parametrize("name", ["portable", "best"])
@pytest.mark.parametrize("inside", [False, True])
def test_blocks_are_lowered_and_cut(name: str, inside: bool, cutters: dict[str, Cutter]) -> None:
    choose = random.Random(5)
    blocks = [bytes([byte]) * 64 for byte in range(256)]
    blocks += [bytes(range(begin, begin + 64)) for begin in range(65)]
    blocks += [b"a " * 32, b" a" * 32, b"a" * 63 + b" ", b" " * 63 + b"a"]
    blocks += [bytes(choose.choices(range(128), k=64)) for _ in range(2000)]
    blocks += [bytes(choose.choices(b"aZ .", k=64)) for _ in range(1000)]
    for block in blocks:
        for n_bytes in (64, choose.randint(1, 64)):
            assert cutters[name](block, n_bytes, inside) == expected_cut(block, n_bytes, inside)


@pytest.mark.parametrize("name", ["portable", "best"])
def test_blocks_end_before_the_first_byte_past_ascii(name: str, cutters: dict[str, Cutter]) -> None:
    for place in range(64):
        for byte in (0x80, 0xC3, 0xFF):
            block = b"Ab" * (place // 2) + b"." * (place % 2) + bytes([byte]) + b"a " * 40
            for n_bytes in {1, place or 1, min(place + 1, 64), 64}:
                for inside in (False, True):
                    found = cutters[name](block[:64], n_bytes, inside)
                    assert found == expected_cut(block, n_bytes, inside)


@every_row("character", ["é", "€", "😀", "Σ", "İ", "。", "\u3000"])
@every_row("places", [[61], [62], [63], [60, 124, 187, 250, 314], range(63, 1300, 64)])
def test_code_points_across_the_edges_of_blocks_and_chunks(
    character: str, places: Iterable[int]
) -> None:
    """The shortest tokens, as many as a chunk can hold, pushed over its end byte by byte."""
    choose = random.Random(11)
    for shift in range(4):
        text = ""
        for place in places:
            while len(text.encode()) + shift < place:
                text += choose.choice("aBcDeFgH") + choose.choice(" .,-")
            text = text[: place - shift] + character
        text += "".join(choose.choice("aBcDeFgH") + " " for _ in range(300))
        row = {
            "question": text,
            "answer": text[1:] + " A b c. D e f.",
            "contexts": [text, text[3:500], text[::-1]],
            "groundTruth": text[2:],
        }
        found = rag_eval.evaluate_batch([row], threads=1).scores
        assert_same_bits(found, oracle_scores([row]))
