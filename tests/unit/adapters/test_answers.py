"""Bodies of answers, read line by line."""

from __future__ import annotations

import asyncio
import gzip
import zlib
from collections.abc import AsyncIterator

import pytest

from rag_eval.adapters import answers
from rag_eval.adapters.answers import bounded_lines
from rag_eval.judge.failures import JudgeCallError
from tests.tables import every_row


async def _chunks(body: bytes, size: int) -> AsyncIterator[bytes]:
    for begin in range(0, len(body), size):
        yield body[begin : begin + size]


def lines_of(body: bytes, packing: str = "", size: int = 7) -> list[tuple[bytes, bool]]:
    async def found() -> list[tuple[bytes, bool]]:
        return [line async for line in bounded_lines(_chunks(body, size), packing)]

    return asyncio.run(found())


@every_row(
    ("body", "expected"),
    [
        (b"", []),
        (b"\n \n", []),
        (b"one\ntwo", [b"one", b"two"]),
        (b"one\n\r\ntwo\n", [b"one", b"two"]),
        ("ü\u2028ü\n".encode(), ["ü\u2028ü".encode()]),
    ],
)
def test_lines_are_the_same_however_they_come(body: bytes, expected: list[bytes]) -> None:
    for size in (1, 3, 1000):
        assert lines_of(body, size=size) == [(line, True) for line in expected]
        assert lines_of(gzip.compress(body), "gzip", size) == [(line, True) for line in expected]


def test_of_a_line_that_is_too_long_the_beginning_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answers, "MAX_REPLY_BYTES", 100)
    monkeypatch.setattr(answers, "_PIECE", 50)
    monkeypatch.setattr(answers, "_HEAD_OF_LINE", 4)
    body = b"a" * 100 + b"\nbegin" + b"b" * 5000 + b"\nlast\n"
    for packed, packing in ((body, "identity"), (gzip.compress(body), "x-gzip")):
        whole, cut, last = lines_of(packed, packing, 64)
        assert (whole, last) == ((b"a" * 100, True), (b"last", True))
        assert (cut[0][:4], cut[1]) == (b"begi", False)
        assert len(cut[0]) <= 100


def test_what_is_packed_otherwise_or_broken_is_an_error() -> None:
    with pytest.raises(JudgeCallError, match="compressed its reply as 'br'"):
        lines_of(b"x", "br")
    with pytest.raises(JudgeCallError, match="not compressed as its header says"):
        lines_of(zlib.compress(b"x"), "gzip")
