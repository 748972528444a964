"""Text of samples on a terminal."""

from __future__ import annotations

import pytest

from rag_eval.reports.plain_text import plain_text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("two\nlines\tand\u2028more \u00a0", "two lines and more"),
        ("\x1b[31mred\x1b[0m", "[31mred[0m"),
        ("a\u202eb\u2066c\ufeffd\u200be", "abcde"),
        ("नमस्\u200dते, 漢字, é, 👍", "नमस्\u200dते, 漢字, é, 👍"),
        ("\ud800x", "\\ud800x"),
        ("", ""),
    ],
)
def test_plain_text(text: str, shown: str) -> None:
    assert plain_text(text) == shown


def test_limit() -> None:
    assert plain_text("x" * 10, 10) == "x" * 10
    assert plain_text("x" * 11, 10) == "x" * 9 + "…"
    assert plain_text("\x00" * 1_000_000 + "x", 10) == "…"
