"""Language tags to codes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from rag_eval.errors import InputError
from rag_eval.kernels.languages import KNOWN, LISTED, language_code
from tests.tables import every_row

HEADER = Path(__file__).resolve().parents[3] / "_native" / "word_tables.h"


def test_listed_are_the_codes_of_the_header() -> None:
    """At the same places: a code's place is its number in the kernels."""
    text = HEADER.read_text(encoding="utf-8")
    codes = re.search(r"language_codes\[N_LANGUAGES\] = \{([^}]*)\}", text)
    assert codes
    assert tuple(re.findall(r'"(\w+)"', codes[1])) == LISTED
    assert LISTED[:2] == ("und", "en")


def test_known_has_all_two_letter_codes() -> None:
    two_letters = {tag for tag in KNOWN if len(tag) == 2}
    withdrawn = {"in", "iw", "ji", "jw", "mo"}
    assert withdrawn <= two_letters
    assert len(two_letters - withdrawn) == 184  # ISO 639-1 and "sh", long withdrawn but in use
    assert {"und", "fil", "nob", "eng", "deu", "ger"} <= KNOWN
    assert KNOWN.issuperset(LISTED)
    assert all(re.fullmatch("[a-z]{2,3}", tag) for tag in KNOWN)


def test_every_code_is_kept_or_leads_to_one_that_is() -> None:
    for tag in KNOWN:
        code = language_code(tag)
        assert language_code(code) == code, tag
        assert code == tag or len(code) == 2 or code == "und", tag
    for code in LISTED:
        assert language_code(code) == code


@every_row(
    "tag, code",
    [
        ("en", "en"),
        ("EN", "en"),
        (" en ", "en"),
        ("en-US", "en"),
        ("pt_BR", "pt"),
        ("zh-Hans", "zh"),
        ("zh-Hant-TW", "zh"),
        ("sr-Latn-RS", "sr"),
        ("de_AT.UTF-8@euro", "de"),
        ("ja", "ja"),
        ("und", "und"),
        ("und-Cyrl", "und"),
        ("mul", "und"),
        ("nb", "no"),
        ("nn-NO", "no"),
        ("iw", "he"),
        ("in", "id"),
        ("ji", "yi"),
        ("jw", "jv"),
        ("mo", "ro"),
        ("fil", "tl"),
        ("eng", "en"),
        ("GER", "de"),
        ("cmn-Hans-CN", "zh"),
        ("ceb", "ceb"),
    ],
)
def test_tags(tag: str, code: str) -> None:
    assert language_code(tag) == code


@pytest.mark.parametrize("tag", ["", " ", "-", "en US", "xq", "english", "x-klingon", "e", "ен"])
def test_what_nobody_knows_is_named(tag: str) -> None:
    with pytest.raises(InputError, match=re.escape(f"unknown language {tag!r}")):
        language_code(tag)


def test_the_nearest_known_is_named() -> None:
    with pytest.raises(InputError, match="did you mean 'en'"):
        language_code("enx-US")
    # As it is accepted and told, and not a language that has only some letters in common.
    for name, code in (("English", "en"), ("german", "de"), ("Deutsch", "de"), ("French", "fr")):
        with pytest.raises(InputError, match=f"did you mean '{code}'"):
            language_code(name)
