"""The generated header, read as text: no compiler needed."""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
import unicodedata2  # type: ignore[import-not-found]

from tests.oracle import unicode17

ROOT = Path(__file__).resolve().parents[3]
HEADER = ROOT / "_native" / "unicode_tables.h"
CHARCLASS = ROOT / "tests" / "conformance" / "rag_eval_node" / "charclass.json"

N_CODE_POINTS = 0x110000
SURROGATES = range(0xD800, 0xE000)


@dataclass(frozen=True)
class Header:
    text: str
    macros: dict[str, int]
    flags: list[int]  # of every code point
    lower: list[int]

    def flagged(self, name: str) -> set[int]:
        mask = self.macros[f"CODE_POINT_{name}"]
        return {cp for cp, flags in enumerate(self.flags) if flags & mask}


def array(text: str, name: str) -> list[int]:
    found = re.search(rf"{name}\[[^\]]*\] = \{{([^}}]*)\}}", text)
    assert found, name
    return [int(number) for number in found[1].split(",")]


@pytest.fixture(scope="module")
def header() -> Header:
    text = HEADER.read_text(encoding="utf-8")
    pages, class_rows = array(text, "unicode_page"), array(text, "unicode_class")
    flags, deltas = array(text, "unicode_flags"), array(text, "unicode_lower_delta")
    classes = [number for page in pages for number in class_rows[page * 256 : page * 256 + 256]]
    return Header(
        text=text,
        macros={name: int(n, 0) for name, n in re.findall(r"#define (\w+) (\w+)$", text, re.M)},
        flags=[flags[number] for number in classes],
        lower=[cp + deltas[number] for cp, number in enumerate(classes)],
    )


@pytest.fixture(scope="module")
def charclass() -> dict[str, list[int]]:
    measured = json.loads(CHARCLASS.read_text(encoding="utf-8"))
    ranges = measured["punctuation_ranges"]
    return {
        "whitespace": measured["whitespace"],
        "punctuation": [cp for first, last in ranges for cp in range(first, last + 1)],
    }


def test_version_is_17(header: Header) -> None:
    assert '#define UNICODE_VERSION_STRING "17.0.0"\n' in header.text
    assert "Unicode version: 17.0.0\n" in header.text


def test_digest_is_of_the_content(header: Header) -> None:
    comment, _, content = header.text.partition(" */\n")
    digest = hashlib.sha256(content.encode()).hexdigest()
    assert f" *   {digest}\n" in comment


def test_tables_have_the_declared_sizes(header: Header) -> None:
    n_pages, n_classes = header.macros["UNICODE_PAGES"], header.macros["UNICODE_CLASSES"]
    pages = array(header.text, "unicode_page")
    assert len(header.flags) == len(header.lower) == N_CODE_POINTS
    assert sorted(set(pages)) == list(range(n_pages))
    assert len(array(header.text, "unicode_class")) == n_pages * 256
    assert len(array(header.text, "unicode_flags")) == n_classes <= 256
    assert len(array(header.text, "unicode_lower_delta")) == n_classes


def test_separators_are_those_measured(header: Header, charclass: dict[str, list[int]]) -> None:
    assert len(charclass["whitespace"]) == 25
    assert len(charclass["punctuation"]) == 856
    assert header.flagged("SPACE") == set(charclass["whitespace"])
    assert header.flagged("SEPARATOR") == {*charclass["whitespace"], *charclass["punctuation"]}


def test_lower_agrees_with_python(header: Header) -> None:
    """Where this Python's Unicode is older or newer than 17, the characters that both know."""
    both_know = [
        cp
        for cp in range(N_CODE_POINTS)
        if "Cn" not in {unicodedata.category(chr(cp)), unicodedata2.category(chr(cp))}
    ]
    grows = [cp for cp in both_know if len(chr(cp).lower()) != 1]
    differing = [cp for cp in both_know if chr(cp).lower() != chr(header.lower[cp])]
    assert grows == differing == [0x130]
    assert header.lower[0x130] == ord("i")


def test_lowers_marks_every_mapping(header: Header) -> None:
    mapped = {cp for cp, low in enumerate(header.lower) if low != cp}
    assert header.flagged("LOWERS") == mapped
    assert len(mapped) == 1488


def test_surrogates_have_no_flags(header: Header) -> None:
    assert not any(header.flags[cp] for cp in SURROGATES)
    assert all(header.lower[cp] == cp for cp in SURROGATES)


@pytest.mark.parametrize(
    ("name", "definition"),
    [
        ("SPACE", unicode17.is_space),
        ("SEPARATOR", unicode17.is_separator),
        ("CASED", unicode17.is_cased),
        ("CASE_IGNORABLE", unicode17.is_case_ignorable),
    ],
)
def test_flags_follow_the_definitions(
    header: Header, name: str, definition: Callable[[str], bool]
) -> None:
    assert header.flagged(name) == {cp for cp in range(N_CODE_POINTS) if definition(chr(cp))}


def test_lower_agrees_with_the_oracle(header: Header) -> None:
    beyond_case = 0x20000  # a third of the time of all code points
    assert max(header.flagged("LOWERS")) < beyond_case
    oracle = {cp: unicode17.lower(chr(cp)) for cp in range(beyond_case)}
    differing = {cp: text for cp, text in oracle.items() if text != chr(header.lower[cp])}
    assert differing == {0x130: "i\u0307"}
