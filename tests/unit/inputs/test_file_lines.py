"""Lines of a file: the same one by one, in a row, and many at a time where they lie."""

from __future__ import annotations

import io
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rag_eval.errors import InputError
from rag_eval.inputs.byte_files import ByteFile
from rag_eval.inputs.file_lines import FileLines

CONTENTS = st.lists(st.sampled_from([b"a", b"\n", b"\r\n", b"bc" * 9, b"\xef\xbb\xbf"])).map(
    b"".join
)


def split(content: bytes) -> list[bytes]:
    lines = content.split(b"\n")
    if not lines[-1]:
        lines.pop()
    return [line.removeprefix(b"\xef\xbb\xbf") for line in lines[:1]] + lines[1:]


@given(CONTENTS, st.integers(1, 30), st.lists(st.sampled_from("nas"), min_size=1))
@example(b"\xef\xbb\xbfa", 1, ["n"])
@example(b"a\n\nb", 2, ["n", "a"])
def test_every_way_gives_the_same_lines(content: bytes, n_bytes: int, ways: list[str]) -> None:
    """One by one, all that is ahead, or what is held: in any order."""
    lines = FileLines(ByteFile.of(content, "x"), n_bytes)
    found = [line for line in [lines.next()] if line is not None]
    for way in ways * (len(content) + 1):
        if way == "n":
            found += [line for line in [lines.next()] if line is not None]
            continue
        held, begin, end = lines.ahead() if way == "a" else lines.held()
        whole = held[begin:end].split(b"\n")
        whole = whole if whole[-1] else whole[:-1]
        lines.skip(end, len(whole))
        found += whole
    found += lines
    assert found == split(content)
    assert lines.n_read == len(found)
    assert lines.next() is None


def test_what_is_ahead_is_bounded_and_has_whole_lines() -> None:
    content = b"".join(b"%d\n" % number for number in range(10_000))
    lines = FileLines(ByteFile.of(content, "x"), 1000)
    sizes = []
    while (held := lines.ahead()).begin < held.end:
        assert held.content[held.end - 1] == ord("\n")
        sizes.append(held.end - held.begin)
        lines.skip(held.end, 0)
    assert sum(sizes) == len(content)
    assert 990 <= min(sizes[:-1]) <= max(sizes) <= 1010


class Piped(io.BytesIO):
    """Lines that another writes one by one; who asks for more waits."""

    def seekable(self) -> bool:
        return False

    def read1(self, size: int | None = -1, /) -> bytes:
        return self.readline()


def test_lines_of_a_pipe_are_given_as_they_come() -> None:
    raw = Piped(b"a\nbb\nccc\n" * 100)
    lines = FileLines(ByteFile(raw, raw, "x"))
    assert lines.next() == b"a"
    assert raw.tell() == 2
    assert lines.ahead() == (b"bb\n", 0, 3)
    lines.skip(3, 1)
    assert lines.next() == b"ccc"
    assert raw.tell() == 9


class Damaged(io.BytesIO):
    """Content that cannot be read to its end."""

    def read1(self, size: int | None = -1, /) -> bytes:
        found = super().read1(size)
        if not found:
            raise OSError(5, "Input/output error")
        return found


def test_what_is_before_damage_is_given() -> None:
    """The last line may lack its end, so it is no line."""
    raw: Any = Damaged(b"a\nb\nc")
    lines = FileLines(ByteFile(raw, raw, "x"))
    assert lines.next() == b"a"
    assert lines.ahead() == (b"b\n", 0, 2)
    assert lines.next() == b"b"
    with pytest.raises(InputError, match="cannot read x: Input/output error"):
        lines.next()


def test_long_lines_are_refused_where_they_begin() -> None:
    for content, n_bytes in ((b"a\n" + b"b" * 9 + b"\n", 100), (b"a\n" + b"b" * 900, 2)):
        raw = io.BytesIO(content)
        lines = FileLines(ByteFile(raw, raw, "x", 8), n_bytes)
        assert lines.next() == b"a"
        lines.ahead()
        with pytest.raises(InputError, match=r"x, line 2: the row is longer than 8 bytes"):
            lines.next()
        assert len(lines.held().content) <= 11
