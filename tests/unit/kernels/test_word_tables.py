"""The generated header, compiled: every listed word, and words that no list has."""

from __future__ import annotations

import ctypes
import hashlib
import random
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.c_library import STRICT, compiled
from tests.oracle.grounded_characters import fold, within
from tests.oracle.grounded_words import LATIN

ROOT = Path(__file__).resolve().parents[3]
NATIVE = ROOT / "_native"
HEADER = NATIVE / "word_tables.h"
LISTS = ROOT / "tools" / "word_lists"
MAX_WORD = 16


def read_list(name: str) -> dict[str, Any]:
    return tomllib.loads((LISTS / name).read_text(encoding="utf-8"))


STOP_WORDS: dict[str, list[str]] = {
    code: text.split() for code, text in read_list("stop_words.toml").items()
}
ENGLISH = read_list("english.toml")
KINDS: dict[str, list[str]] = {
    name.upper(): text.split() for name, text in ENGLISH["kinds"].items()
}
NUMBERS: dict[str, str] = ENGLISH["numbers"]
ROLES: dict[str, list[str]] = {
    name.upper(): text.split() for name, text in ENGLISH["roles"].items()
}
ORDINALS: dict[str, int] = ENGLISH["ordinals"]
POWERS: dict[str, int] = ENGLISH["multipliers"]
ABBREVIATIONS = frozenset(ENGLISH["phrases"]["abbreviations"].split())


WRAPPERS = """
#include "word_tables.h"
int n_languages(void) { return N_LANGUAGES; }
const char *code(int language) { return language_codes[language]; }
int is_latin(int language) { return language_is_latin[language]; }
int n_number_texts(void) { return N_NUMBER_TEXTS; }
int abbreviation(const char *letters, int size) { return is_abbreviation(letters, size); }
int und_and_en(void) { return LANGUAGE_UND * 1000 + LANGUAGE_EN; }
int facts(uint64_t head, uint64_t tail, uint64_t *languages, uint64_t *roles, int *kinds,
          const char **number, int *ordinal, int *power) {
    const word_facts_t *found = word_facts(head, tail);
    if (!found)
        return 0;
    *languages = found->stop_languages;
    *roles = found->roles;
    *kinds = found->kinds;
    *ordinal = found->ordinal;
    *power = found->power;
    *number = found->number ? number_texts[found->number - 1] : NULL;
    return found->size;
}
"""


class Facts(NamedTuple):
    languages: frozenset[str]
    kinds: frozenset[str] = frozenset()
    number: str | None = None
    roles: frozenset[str] = frozenset()
    ordinal: int = 0
    power: int = 0


def key_of(word: str) -> bytes:
    """As token_keys.h has it."""
    return word.encode().ljust(MAX_WORD, b"\xff")


class Library:
    def __init__(self, library: Path) -> None:
        functions = ctypes.CDLL(str(library))
        functions.code.restype = ctypes.c_char_p
        self.call: Any = functions
        self.codes = [functions.code(n).decode() for n in range(functions.n_languages())]
        macros = re.findall(r"^#define WORD_(\w+) (0x\w+) /\*", HEADER.read_text("utf-8"), re.M)
        self.kinds = {name: int(mask, 16) for name, mask in macros}
        shifts = re.findall(
            r"^#define ROLE_(\w+) \(UINT64_C\(1\) << (\d+)\) /\*", HEADER.read_text("utf-8"), re.M
        )
        self.roles = {name: 1 << int(bit) for name, bit in shifts}

    def look_up(self, key: bytes) -> Facts | None:
        languages, roles, number = ctypes.c_uint64(), ctypes.c_uint64(), ctypes.c_char_p()
        kinds, ordinal, power = ctypes.c_int(), ctypes.c_int(), ctypes.c_int()
        found = self.call.facts(
            *(ctypes.c_uint64(int.from_bytes(half, "little")) for half in (key[:8], key[8:])),
            *map(ctypes.byref, (languages, roles, kinds, number, ordinal, power)),
        )
        if not found:
            return None
        assert found == len(key.rstrip(b"\xff")), "a word of another size"
        return Facts(
            languages=frozenset(
                code for bit, code in enumerate(self.codes) if languages.value >> bit & 1
            ),
            kinds=frozenset(name for name, mask in self.kinds.items() if kinds.value & mask),
            number=number.value.decode() if number.value is not None else None,
            roles=frozenset(name for name, mask in self.roles.items() if roles.value & mask),
            ordinal=ordinal.value,
            power=power.value,
        )

    def facts(self, word: str) -> Facts | None:
        return self.look_up(key_of(word))

    def is_abbreviation(self, letters: str) -> bool:
        return bool(self.call.abbreviation(letters.encode(), len(letters)))


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Library:
    return Library(compiled(WRAPPERS, tmp_path_factory.mktemp("word_tables"), *STRICT))


@pytest.fixture(scope="module")
def known() -> dict[str, Facts]:
    """Every listed word with what the lists say of it."""
    words = {*NUMBERS, *ORDINALS, *POWERS}.union(
        *STOP_WORDS.values(), *KINDS.values(), *ROLES.values()
    )
    return {
        word: Facts(
            languages=frozenset(code for code, listed in STOP_WORDS.items() if word in listed),
            kinds=frozenset(name for name, listed in KINDS.items() if word in listed),
            number=NUMBERS.get(word),
            roles=frozenset(name for name, listed in ROLES.items() if word in listed),
            ordinal=ORDINALS.get(word, 0),
            power=POWERS.get(word, 0),
        )
        for word in words
    }


def test_digests() -> None:
    comment, _, content = HEADER.read_text(encoding="utf-8").partition(" */\n")
    digests = re.findall(r"^ \*   ([0-9a-f]{64})$", comment, re.M)
    files = [(LISTS / name).read_bytes() for name in ("stop_words.toml", "english.toml")]
    assert digests[:2] == [hashlib.sha256(data).hexdigest() for data in files]
    assert digests[-1] == hashlib.sha256(content.encode()).hexdigest()
    assert len(digests) == 4  # the third is of the package on PyPI


def test_the_licence_is_in_the_header() -> None:
    comment, _, _ = HEADER.read_text(encoding="utf-8").partition(" */\n")
    licence = (LISTS / "LICENSE").read_text(encoding="utf-8")
    assert "Copyright (c) 2016 Gene Diaz" in licence
    assert "\n".join(f" * {line}".rstrip() for line in licence.splitlines()) in comment


def test_languages(library: Library) -> None:
    assert library.codes == ["und", *STOP_WORDS]
    assert library.codes[1] == "en"
    assert library.call.und_and_en() == 1
    latin = [code for n, code in enumerate(library.codes) if library.call.is_latin(n)]
    assert latin == [code for code, words in STOP_WORDS.items() if within(words[0][0], LATIN)]
    assert latin[-2:] == ["tl", "eu"]


def test_kinds_have_a_bit_each(library: Library) -> None:
    assert library.kinds.keys() == KINDS.keys()
    assert sorted(library.kinds.values()) == [1 << bit for bit in range(8)]
    assert library.roles.keys() == ROLES.keys()
    assert sorted(library.roles.values()) == [1 << bit for bit in range(len(ROLES))]
    assert len(ROLES) <= 64


def test_every_word_is_found(library: Library, known: dict[str, Facts]) -> None:
    assert {word: library.facts(word) for word in known} == known
    n_words = re.search(r"#define N_WORDS (\d+)", HEADER.read_text(encoding="utf-8"))
    assert n_words
    assert int(n_words[1]) == len(known)


def test_a_few_words(library: Library) -> None:
    assert library.facts("two") == Facts(frozenset(), frozenset({"COUNTING", "COUNT"}), "2")
    assert library.facts("year") == Facts(
        frozenset(), frozenset({"WHAT_NUMBER", "WHICH_DATE"}), None
    )
    in_three = library.facts("des")
    assert in_three
    assert in_three.languages == {"de", "fr", "ca"}
    assert library.facts("therefore") == Facts(frozenset({"en"}))
    assert library.facts("tenth") == Facts(frozenset(), ordinal=10)
    assert library.facts("unable") == Facts(frozenset(), roles=frozenset({"UNABLE"}))


def test_words_are_in_normal_form_and_fit(known: dict[str, Facts]) -> None:
    assert [word for word in known if fold(word) != word] == []
    assert max(len(word.encode()) for word in known) <= MAX_WORD


def near(word: str) -> Iterator[str]:
    """Words with one letter more, less or changed, and two neighbours in each other's place."""
    for place in range(len(word)):
        before, rest = word[:place], word[place:]
        yield before + rest[1:]
        yield before + rest[1:2] + rest[:1] + rest[2:]
        for letter in "aens\u0001я":
            yield before + letter + rest
            yield before + letter + rest[1:]
    yield word + "s"
    yield word * 2


def test_other_words_are_not_found(library: Library, known: dict[str, Facts]) -> None:
    others = {other for word in known for other in near(word)} - known.keys()
    rng = random.Random(16)
    letters = "abcdefghijklmnopqrstuvwxyz0123456789àяが"
    others |= {"".join(rng.choices(letters, k=rng.randint(1, 9))) for _ in range(20_000)}
    others = {word for word in others if 1 <= len(word.encode()) <= MAX_WORD} - known.keys()
    assert len(others) > 30_000
    assert [word for word in sorted(others) if library.facts(word)] == []


def test_all_bits_of_a_key_are_compared(library: Library, known: dict[str, Facts]) -> None:
    keys = set(map(key_of, known))
    for key in keys:
        bits = int.from_bytes(key, "little")
        for bit in (0, 7, 33, 63, 64, 71, 97, 127):
            other = (bits ^ 1 << bit).to_bytes(MAX_WORD, "little")
            assert other in keys or library.look_up(other) is None


def test_empty_places_lead_nowhere(library: Library) -> None:
    """Entry 0 has the key of no word."""
    assert library.look_up(bytes(MAX_WORD)) is library.look_up(key_of("")) is None


def test_number_texts_are_used(library: Library) -> None:
    assert library.call.n_number_texts() == len(set(NUMBERS.values()))


def test_abbreviations(library: Library) -> None:
    others = {other for word in ABBREVIATIONS for other in near(word) if other.isascii()}
    others |= {letter * 2 for letter in "abcdefghijklmnopqrstuvwxyz"} | set(STOP_WORDS["en"])
    for word in ABBREVIATIONS | {"", "approximately", *others}:
        assert library.is_abbreviation(word) == (word in ABBREVIATIONS), word
    # Only as many letters are read as the size says.
    assert library.call.abbreviation(b"etcetera", 3)
    assert not library.call.abbreviation(b"etc", 2)
