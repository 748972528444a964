"""Patterns of users: JavaScript's syntax, in linear time."""

from __future__ import annotations

import re
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_eval.errors import InputError, MissingExtraError
from rag_eval.scorers.javascript_patterns import re2_source
from rag_eval.scorers.safe_patterns import UnsupportedPatternError, compiled
from tests.tables import every_row

FOUND = [
    (r"\d+", "", "a1"),
    ("^b$", "m", "a\nb\nc"),
    ("A", "i", "a"),
    ("a.b", "s", "a\nb"),
    ("[^]", "", "\n"),
    (r"[\b]", "", "\b"),
    (r"\u{1F600}", "u", "😀"),
    (r"\ud83d\ude00", "", "😀"),
    (r"[\s\d]", "", "\ufeff"),
    (r"\s", "", "\u3000"),
    ("a{,2}", "", "a{,2}"),
    ("a{2,3}b", "", "aab"),
    (r"\cA", "", "\x01"),
    (r"\c1", "", "\\c1"),
    (r"\p{L}", "", "p{L}"),
    (r"\p{L}", "u", "é"),
    (r"\p{Script=Greek}", "u", "α"),
    (r"\P{Letter}", "u", "1"),
    (r"[\w-.]", "", "-"),
    (r"\/", "", "/"),
    (r"(?<year>\d{4})", "", "2024"),
    ("(?i:A)b", "", "ab"),
    (r"\x41\u0042", "", "AB"),
    (r"\u41", "", "u41"),
    (r"\0", "", "\0"),
    ("a", "gd", "xa"),
    ("]", "", "]"),
    ("[[:alpha:]]", "", ":]"),
    ("", "", ""),
    ("a\ud800", "", "a\ud800"),
    (r"\ud800", "", "\ud800"),
    ("a|b", "y", "b"),
    (r"\v", "", "\v"),
    (r"\07\1[\8\12]", "", "\x07\x018"),
    (r"(a)\10\400", "", "a\b 0"),
    ("foo$", "m", "foo\r\nbar"),
    ("^b", "m", "a\rb"),
    ("(?m:^b$)", "", "a\u2028b\u2029c"),
    (r"^[^a]\W[^\S\r]\x0d{2}\P{L}$", "mu", "\r\n\n\r\r\n"),
    (r"a$[\0-\x20]^b", "ms", "a\rb"),
    ("a$.^b", "ms", "a\u2028b"),
]
NOT_FOUND = [
    (r"\d", "", "٣"),
    (r"^\w+$", "", "naïve"),
    ("a$", "", "a\n"),
    (".", "", "\u2028"),
    (".", "", "\r"),
    ("[]", "", "a"),
    (r"[^\S\n]", "", "\n"),
    (r"\S", "", "\ufeff \u00a0"),
    ("a", "y", "ba"),
    ("A", "", "a"),
    ("[[:alpha:]]", "", "a"),
    (r"\p{L}", "", "é"),
    ("(?i:A)b", "", "aB"),
    (r"\bb", "", "ab"),
    (r"^\s{2}$", "m", "a\r\nb"),
    (r"a$[^\r]^", "m", "a\rb"),
    ("^a.b$", "m", "\ra\rb"),
    ("^b", "my", "a\rb"),
    ("^b$", "", "a\rb"),
]
REFUSED = [
    ("(", "not closed"),
    (")", "a closing parenthesis without a group"),
    ("[a", "not closed"),
    ("*", "nothing to repeat"),
    ("a++", "nothing to repeat"),
    ("a{2}{3}", "nothing to repeat"),
    ("^*", "nothing to repeat"),
    ("|+", "nothing to repeat"),
    ("(?i)a", "no group of this kind"),
    ("(?P<n>a)", "no group of this kind"),
    ("(?ii:a)", "no group of this kind"),
    ("(?<1>a)", "not a name"),
    ("[z-a]", "out of order"),
    ("a{3,2}", "out of order"),
    ("\\", "ends in a backslash"),
]
UNSUPPORTED = [
    ("foo(?=bar)", "look-around"),
    ("(?<!a)b", "look-around"),
    (r"(a)\1", "back-references"),
    (r"(?<t>a)\k<t>", "back-references"),
    ("a{1001}", "1000"),
    ("(?:(?:a{1000}){1000})", "pattern"),
]


@every_row(("pattern", "flags", "text"), FOUND)
def test_what_javascript_finds_is_found(pattern: str, flags: str, text: str) -> None:
    assert compiled(pattern, flags).search(text)


@every_row(("pattern", "flags", "text"), NOT_FOUND)
def test_what_javascript_does_not_find_is_not_found(pattern: str, flags: str, text: str) -> None:
    assert not compiled(pattern, flags).search(text)


@every_row(("pattern", "reason"), REFUSED)
def test_what_is_no_pattern_is_refused(pattern: str, reason: str) -> None:
    with pytest.raises(InputError, match=reason) as caught:
        compiled(pattern)
    assert not isinstance(caught.value, UnsupportedPatternError)


@every_row(("pattern", "reason"), UNSUPPORTED)
def test_what_takes_more_than_linear_time_is_refused(pattern: str, reason: str) -> None:
    with pytest.raises(UnsupportedPatternError, match=reason):
        compiled(pattern)


@every_row("source", [r"\a", "{", "]", r"[\w-.]", r"\u{110000}", r"\p{", r"\p", r"\00", r"\1"])
def test_with_the_flag_u_what_is_no_syntax_is_refused(source: str) -> None:
    with pytest.raises(InputError):
        compiled(source, "u")


@every_row("flags", ["x", "ii", "I"])
def test_flags_that_there_are_not_are_refused(flags: str) -> None:
    with pytest.raises(InputError, match="flags"):
        compiled("a", flags)


def test_sets_of_the_flag_v_are_unsupported() -> None:
    with pytest.raises(UnsupportedPatternError, match="flag v"):
        compiled("[a--b]", "v")


def test_a_pattern_may_be_no_longer_than_allowed() -> None:
    assert compiled("a" * 500, longest=500).search("a" * 500)
    with pytest.raises(InputError, match="600 characters"):
        compiled("😀" * 300, longest=500)
    with pytest.raises(InputError, match="501 characters; at most 500"):
        compiled("a" * 501, longest=500)
    with pytest.raises(InputError, match="at most 10000 "):
        compiled("a" * 10_001)


@every_row("pattern", [5, None, b"a"])
def test_a_pattern_must_be_a_text(pattern: object) -> None:
    with pytest.raises(InputError, match="pattern must be a text"):
        compiled(pattern)  # type: ignore[arg-type]


@every_row("pattern", ["(a+)+$", "(x+x+)+y", "(a|aa)+$", "^(a*)*b", "(.*a){12}$"])
@pytest.mark.timeout(60)
def test_patterns_that_hang_elsewhere_end(pattern: str) -> None:
    assert not compiled(pattern).search("a" * 300_000 + "!")


@pytest.mark.timeout(60)
def test_a_pattern_too_complex_for_a_long_text_is_refused_and_not_run() -> None:
    pattern = compiled(r"(?:\w{1,50}\s?){1,20}z")
    assert pattern.search("abcz")
    with pytest.raises(UnsupportedPatternError, match="too complex for a text of 10000000 bytes"):
        pattern.search("a" * 10_000_000)


@every_row("pattern", ["(" * 5_000 + ")" * 5_000, "[" * 9_000, "a?" * 5_000, "(?:a|b|" * 1400])
@pytest.mark.timeout(60)
def test_huge_patterns_end_in_a_result_or_a_refusal(pattern: str) -> None:
    try:
        assert compiled(pattern).search("a") in (True, False)
    except InputError as error:
        assert len(str(error)) < 400  # noqa: PT017


def test_errors_are_raised_and_not_printed(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(UnsupportedPatternError):
        compiled(r"\p{Klingon}", "u")
    assert capfd.readouterr() == ("", "")


def test_without_the_package_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "re2", None)
    with pytest.raises(MissingExtraError, match=r"rag-eval-native\[safe-regex\]"):
        compiled("never compiled before 4711")


@given(st.text(), st.text(alphabet="ab-]^\\[.\n é😀", max_size=8))
def test_an_escaped_text_finds_itself(literal: str, around: str) -> None:
    literal = literal.encode("utf-8", "replace").decode()
    special = re.sub(r"([\\^$.*+?()\[\]{}|/])", r"\\\1", literal)
    assert compiled(special).search(around + literal + around)


@given(st.text(alphabet="ab(|)*+?{1,}[^-]\\dswk.$<=!:i", max_size=30), st.sampled_from(["", "u"]))
def test_any_pattern_is_run_or_refused(pattern: str, flags: str) -> None:
    try:
        assert compiled(pattern, flags).search("ab1 c") in (True, False)
    except InputError as error:
        assert "pattern" in str(error)  # noqa: PT017


# Syntax that Python and JavaScript share, on texts where they agree.
ATOMS = st.sampled_from(["a", "b", "[ab]", "[^a]", ".", r"\d", r"\w", "(?:a|b)", "^", "$", r"\b"])
REPEATS = st.sampled_from(["", "", "*", "+", "?", "{2}", "{1,2}", "*?"])


@given(st.lists(st.tuples(ATOMS, REPEATS), max_size=6), st.text(alphabet="ab1 ", max_size=12))
def test_shared_syntax_finds_what_python_finds(parts: list[tuple[str, str]], text: str) -> None:
    assertions = ("^", "$", r"\b")
    source = "".join(atom if atom in assertions else atom + repeat for atom, repeat in parts)
    assert compiled(source).search(text) == bool(re.search(source, text))


def test_a_pattern_is_translated_in_one_reading() -> None:
    assert re2_source("a.b") == r"a[^\x{a}\x{d}\x{2028}\x{2029}]b"
    assert re2_source("(?s:.)(?-s:.)", dot_all=False).startswith("(?s:(?s:.))(?-s:[^")
