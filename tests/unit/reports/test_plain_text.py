"""Text of samples on a terminal and in the log of a build."""

from __future__ import annotations

import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_eval.reports.plain_text import plain_lines, plain_text, without_python
from tests.tables import every_row


@every_row(
    ("text", "shown"),
    [
        ("plain", "plain"),
        (" two\n\n lines\tand\r\fmore \u00a0\u3000", "two lines and more"),
        ("\x1b[31mred\x1b[0m", "\\x1b[31mred\\x1b[0m"),
        ("\x1b]8;;http://x\x07link\x9b2J", "\\x1b]8;;http://x\\x07link\\x9b2J"),
        ("a\x00b\x7fc\x1cd\x85e", "a\\x00b\\x7fc\\x1cd\\x85e"),
        ("a\u2028b\u2029c", "a\\u2028b\\u2029c"),
        ("a\u202eb\u2066c\u061cd\u200fe", "a\\u202eb\\u2066c\\u061cd\\u200fe"),
        ("a\ufeffb\u200bc\u00add\u2060e", "a\\ufeffb\\u200bc\\xadd\\u2060e"),
        ("a\U000e0041\U000e007fb", "a\\U000e0041\\U000e007fb"),
        ("\u3164x\u2800", "\\u3164x\\u2800"),
        ("नमस्\u200dते, 漢字, é, 👍", "नमस्\u200dते, 漢字, é, 👍"),
        ("\ud800x", "\\ud800x"),
        ("", ""),
    ],
)
def test_plain_text(text: str, shown: str) -> None:
    assert plain_text(text) == shown


@every_row(
    ("text", "shown"),
    [
        ("::add-mask::x", "\\x3a:add-mask::x"),
        (" \t ::set-output name=a::b", "\\x3a:set-output name=a::b"),
        # A table may wrap between words.
        ("word ::stop-commands::x", "word \\x3a:stop-commands::x"),
        (":::debug::x", "\\x3a\\x3a:debug::x"),
        ("std::vector, a: b", "std::vector, a: b"),
        ("done ##[group]x", "done #\\x23[group]x"),
        ("x##vso[task.setvariable]", "x#\\x23vso[task.setvariable]"),
        ("###teamcity[x]", "##\\x23teamcity[x]"),
        ("# a ## b [c]", "# a ## b [c]"),
    ],
)
def test_no_text_gives_orders_to_a_build(text: str, shown: str) -> None:
    assert plain_text(text) == shown


HIDDEN = {"Cc", "Cf", "Cs", "Zl", "Zp"}


def test_no_character_moves_a_cursor_hides_or_vanishes() -> None:
    for code in range(sys.maxunicode + 1):
        hides = unicodedata.category(chr(code)) in HIDDEN
        if code > 0x400 and code % 97 and not hides:
            continue
        character = chr(code)
        shown = plain_text(f"a{character}b")
        assert shown.isprintable() or character in "\u200c\u200d", hex(code)
        assert len(shown) > 2, hex(code)
        if hides:
            plain = " " if character in "\t\n\v\f\r" else character
            usual = plain in {" ", "\u200c", "\u200d"}
            assert shown == f"a{plain}b" if usual else "\\" in shown, hex(code)


@given(st.text(st.sampled_from("a :#[v\n\t\x1b\u202e\u00a0")), st.integers(2, 20))
def test_what_is_shown_is_one_line_of_the_length_and_stays_as_it_is(text: str, limit: int) -> None:
    shown = plain_text(text)
    assert plain_text(shown) == shown == shown.strip()
    assert "  " not in shown
    assert not any(mark in shown for mark in ("##[", "##v["))
    assert not any(word.startswith("::") for word in shown.split())
    assert len(plain_text(text, limit)) <= limit


def test_lines_stay_lines() -> None:
    assert plain_lines("a:\n    b  c\x1b[2J\n::error::x\r\n\n") == (
        "a:\n    b c\\x1b[2J\n\\x3a:error::x"
    )


def test_limit() -> None:
    assert plain_text("x" * 10, 10) == "x" * 10
    assert plain_text("x" * 11, 10) == "x" * 9 + "…"
    assert plain_text("\x00" * 1_000_000 + "x", 10) == "\\x00\\x00\\…"


@pytest.mark.timeout(200)
@every_row("mark", ["a:", "::", "##", " :"])
def test_long_texts_of_marks_end(mark: str) -> None:
    """Looking behind each to the start of the line takes minutes."""
    assert mark[-1] in plain_text(mark * 200_000)


@every_row(
    ("text", "shown"),
    [
        ("add --x (in Python: x=True) to go on", "add --x to go on"),
        (
            "give --band LOW:HIGH (in Python: band=(low, high)). Or not",
            "give --band LOW:HIGH. Or not",
        ),
        ("a file (in Python)", "a file (in Python)"),
    ],
)
def test_the_command_line_does_not_tell_what_python_takes(text: str, shown: str) -> None:
    assert without_python(text) == shown
