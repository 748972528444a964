"""The generated header, compiled: every code point, and what kernels make of its flags."""

from __future__ import annotations

import ctypes
import hashlib
import random
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import unicodedata2  # type: ignore[import-not-found]

from tests.c_library import STRICT, compiled
from tests.oracle.grounded_characters import ACCENTS_DROPPED, APOSTROPHES, fold, kinds, within
from tests.oracle.grounded_words import LATIN
from tests.oracle.unicode17 import is_space

ROOT = Path(__file__).resolve().parents[3]
NATIVE = ROOT / "_native"
HEADER = NATIVE / "fold_tables.h"

N_CODE_POINTS = 0x110000
MAX_PARTS = 4
SURROGATES = range(0xD800, 0xE000)
HANGUL_SYLLABLES = range(0xAC00, 0xD7A4)
LIGATURES = range(0xFB00, 0xFB07)
DOTLESS_I, FINAL_SIGMA = 0x131, 0x3C2

WRAPPERS = """
#include "point_flags.h"
#include "unicode_tables.h"
/* Of code points that lie end to end: the flags of each from its bytes, and its width; of the last
   one also with nothing behind it. */
void look_up_bytes(const uint8_t *text, const int64_t *offsets, int64_t n, int is_last,
                   uint32_t *flags, int64_t *widths) {
    for (int64_t i = 0; i < n; i++)
        flags[i] = flags_at(text, offsets[is_last ? i + 1 : n], offsets[i], widths + i);
}
void look_up(uint32_t n, int max_parts, uint32_t *flags, uint32_t *bases, uint32_t *lowers,
             uint8_t *classes, int32_t *n_parts, uint32_t *parts) {
    for (uint32_t cp = 0; cp < n; cp++) {
        const uint32_t *found;
        flags[cp] = fold_flags(cp);
        bases[cp] = fold_base(cp);
        lowers[cp] = code_point_lower(fold_base(cp));
        classes[cp] = combining_class(cp);
        n_parts[cp] = canonical_decomposition(cp, &found);
        for (int part = 0; part < n_parts[cp] && part < max_parts; part++)
            parts[(uint64_t)cp * (uint32_t)max_parts + (uint32_t)part] = found[part];
    }
}
void compose(int n, const uint32_t *firsts, const uint32_t *seconds, uint32_t *composed) {
    for (int i = 0; i < n; i++)
        composed[i] = canonical_composition(firsts[i], seconds[i]);
}
const char *ligature(uint32_t cp) { return ligature_letters[cp - LIGATURE_FIRST]; }
int n_ligatures(void) { return LIGATURE_LAST - LIGATURE_FIRST + 1; }
"""

Pairs = list[tuple[int, int]]


@dataclass(frozen=True)
class Tables:
    bits: dict[str, int]
    flag_array: npt.NDArray[np.uint32]
    flags: list[int]  # the same; of every code point, as the lists that follow
    bases: list[int]
    lowers: list[int]  # of the base
    classes: list[int]
    decompositions: dict[int, tuple[int, ...]]
    compose: Callable[[Pairs], list[int]]
    ligature: Callable[[int], str]
    n_ligatures: int
    functions: ctypes.CDLL

    def flagged(self, name: str) -> set[int]:
        return set(np.flatnonzero(self.flag_array & self.bits[name]).tolist())

    def has(self, name: str, text: str) -> bool:
        bit = self.bits[name]
        return any(self.flags[ord(ch)] & bit for ch in text)

    def fold_one_by_one(self, token: str) -> str:
        """What the kernel does with a token in NFC that has nothing of FOLD_CONTEXT."""
        mark, bare = self.bits["MARK"], self.bits["BARE"]
        folded, drops_marks = [], False
        for cp in map(ord, token):
            if not self.flags[cp] & mark:
                drops_marks = self.flags[cp] & bare != 0
                folded.append(self.lowers[cp])
            elif not drops_marks:
                folded.append(cp)
        return "".join(map(chr, folded))


def pointer(array: npt.NDArray[Any]) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Tables:
    functions = ctypes.CDLL(
        str(compiled(WRAPPERS, tmp_path_factory.mktemp("fold_tables"), *STRICT))
    )
    functions.ligature.restype = ctypes.c_char_p
    flags, bases, lowers = (np.zeros(N_CODE_POINTS, np.uint32) for _ in range(3))
    classes, n_parts = np.zeros(N_CODE_POINTS, np.uint8), np.zeros(N_CODE_POINTS, np.int32)
    parts = np.zeros((N_CODE_POINTS, MAX_PARTS), np.uint32)
    arrays = (flags, bases, lowers, classes, n_parts, parts)
    functions.look_up(N_CODE_POINTS, MAX_PARTS, *map(pointer, arrays))
    assert n_parts.max() <= MAX_PARTS

    def compose(pairs: Pairs) -> list[int]:
        given = np.ascontiguousarray(np.array(pairs, np.uint32).T)
        composed = np.full(len(pairs), 7, np.uint32)
        functions.compose(len(pairs), pointer(given[0]), pointer(given[1]), pointer(composed))
        return list(map(int, composed))

    macros = re.findall(r"^#define FOLD_(\w+) \(1u << (\d+)\)$", HEADER.read_text(), re.M)
    return Tables(
        bits={name: 1 << int(place) for name, place in macros},
        flag_array=flags,
        flags=flags.tolist(),
        bases=bases.tolist(),
        lowers=lowers.tolist(),
        classes=classes.tolist(),
        decompositions={
            int(cp): tuple(map(int, parts[cp, : n_parts[cp]])) for cp in np.flatnonzero(n_parts)
        },
        compose=compose,
        ligature=lambda cp: str(functions.ligature(cp).decode()),
        n_ligatures=functions.n_ligatures(),
        functions=functions,
    )


@pytest.fixture(scope="module")
def categories() -> list[str]:
    return [unicodedata2.category(chr(cp)) for cp in range(N_CODE_POINTS)]


@pytest.fixture(scope="module")
def assigned(categories: list[str]) -> list[int]:
    """The oracle remembers each character it was asked about: not those that are nothing."""
    return [cp for cp, name in enumerate(categories) if name not in {"Cn", "Co", "Cs"}]


@pytest.fixture(scope="module")
def unstable() -> set[int]:
    """Code points that NFC changes."""
    return {cp for cp in range(N_CODE_POINTS) if nfc(chr(cp)) != chr(cp)}


@pytest.fixture(scope="module")
def mapped_pairs() -> dict[tuple[int, int], int]:
    """Canonical mappings of two parts, those that are excluded from composition among them."""
    pairs = {}
    for cp in range(N_CODE_POINTS):
        mapping = unicodedata2.decomposition(chr(cp)).split()
        if len(mapping) == 2 and not mapping[0].startswith("<"):
            pairs[int(mapping[0], 16), int(mapping[1], 16)] = cp
    return pairs


def nfc(text: str) -> str:
    return str(unicodedata2.normalize("NFC", text))


def nfd(text: str) -> str:
    return str(unicodedata2.normalize("NFD", text))


def is_jamo(cp: int) -> bool:
    """A leading consonant, vowel or final consonant that a syllable could be made of."""
    name = unicodedata2.name(chr(cp), "")
    return name.startswith(("HANGUL CHOSEONG", "HANGUL JUNGSEONG", "HANGUL JONGSEONG"))


# ------------------------------------------------------------------------------------- the header


def test_version_and_digest() -> None:
    text = HEADER.read_text(encoding="utf-8")
    comment, _, content = text.partition(" */\n")
    assert '#define FOLD_UNICODE_VERSION_STRING "17.0.0"\n' in content
    assert f" *   {hashlib.sha256(content.encode()).hexdigest()}\n" in comment
    assert max(map(len, text.splitlines())) <= 100


# -------------------------------------------------------------------------------------- the flags


def test_kinds_are_the_oracle_s(tables: Tables, assigned: list[int]) -> None:
    found = dict(zip(assigned, kinds("".join(map(chr, assigned))), strict=True))
    for name, kind in {
        "WORD": "w",
        "GLUED": "g",
        "MARK": "m",
        "DIGIT": "d",
        "NUMERAL": "n",
        "IGNORED": "i",
        "APOSTROPHE": "'",
    }.items():
        right = {cp for cp, letter in found.items() if letter == kind}
        assert tables.flagged(name) == right, name


def test_every_code_point_is_of_one_kind(tables: Tables) -> None:
    """That of most is none of the others'; one test of flags tells where a run ends."""
    names = ("WORD", "GLUED", "MARK", "DIGIT", "NUMERAL", "IGNORED", "OTHER")
    of_kinds = [tables.flag_array & tables.bits[name] != 0 for name in names]
    assert np.all(np.sum(of_kinds, axis=0) == 1)


@pytest.mark.parametrize("is_last", [False, True])
def test_flags_are_found_by_bytes(tables: Tables, is_last: bool) -> None:
    """Whatever follows, and at the end of a text."""
    points = np.arange(N_CODE_POINTS)
    encoded = [chr(cp).encode("utf-8", "surrogatepass") for cp in points]
    sizes = np.array(list(map(len, encoded)), np.int64)
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    flags, widths = np.zeros(N_CODE_POINTS, np.uint32), np.zeros(N_CODE_POINTS, np.int64)
    text = np.frombuffer(b"".join(encoded), np.uint8)
    arguments = (pointer(text), pointer(offsets), ctypes.c_int64(N_CODE_POINTS), int(is_last))
    tables.functions.look_up_bytes(*arguments, pointer(flags), pointer(widths))
    assert np.array_equal(flags, tables.flag_array)
    assert np.array_equal(widths, sizes)


@pytest.mark.parametrize(
    ("name", "prefix"),
    [
        ("UPPER", "Lu"),
        ("LOWER", "Ll"),
        ("TITLE", "Lt"),
        ("LETTER", "L"),
        ("NUMBER", "N"),
        ("DECIMAL", "Nd"),
    ],
)
def test_flags_of_categories(tables: Tables, categories: list[str], name: str, prefix: str) -> None:
    right = {cp for cp, category in enumerate(categories) if category.startswith(prefix)}
    assert tables.flagged(name) == right


def test_spaces(tables: Tables) -> None:
    assert tables.flagged("SPACE") == {cp for cp in range(N_CODE_POINTS) if is_space(chr(cp))}


def test_latin_letters(tables: Tables) -> None:
    letters = tables.flagged("LETTER")
    assert tables.flagged("LATIN") == {cp for cp in letters if within(chr(cp), LATIN)}


def test_bare_letters_begin_with_one(tables: Tables, categories: list[str]) -> None:
    firsts = {chr(cp) for begin, end in ACCENTS_DROPPED for cp in range(begin, end + 1)}
    right = {
        cp
        for cp, category in enumerate(categories)
        if category[0] != "M" and nfd(chr(cp))[0] in firsts
    }
    assert tables.flagged("BARE") == right
    assert not right & {*HANGUL_SYLLABLES, *SURROGATES}


def test_context(tables: Tables, unstable: set[int]) -> None:
    jamo = {cp for cp in range(N_CODE_POINTS) if is_jamo(cp)}
    assert len(jamo) > 300
    right = tables.flagged("IGNORED") | set(LIGATURES) | jamo | unstable
    assert tables.flagged("CONTEXT") == right


def test_what_folding_may_change(tables: Tables) -> None:
    """A letter without the flag, which is no ASCII, is in its normal form: it is not folded."""
    changed = {cp for cp, low in enumerate(tables.lowers) if low != cp}
    word = tables.flagged("WORD") | tables.flagged("GLUED") | tables.flagged("MARK")
    word |= tables.flagged("DIGIT") | tables.flagged("IGNORED")
    assert word & (changed | tables.flagged("CONTEXT")) <= tables.flagged("CHANGES")
    assert len(word - tables.flagged("CHANGES")) > 140_000


def test_what_may_compose_with_something_before_it(
    tables: Tables, mapped_pairs: dict[tuple[int, int], int], unstable: set[int]
) -> None:
    seconds = {chr(second) for (_, second), cp in mapped_pairs.items() if cp not in unstable}
    letters = {cp for cp in range(N_CODE_POINTS) if nfd(chr(cp))[0] in seconds}
    vowels = {cp for cp in range(0x1100, 0x1200) if len(nfc("\u1100" + chr(cp))) == 1}
    finals = {cp for cp in range(0x1100, 0x1200) if len(nfc("\uac00" + chr(cp))) == 1}
    assert (len(vowels), len(finals)) == (21, 27)
    assert tables.flagged("COMPOSES") == letters | vowels | finals
    # A text that is cut before everything but marks and jamo is cut before these, which is wrong.
    others = tables.flagged("COMPOSES") - tables.flagged("MARK") - vowels - finals
    assert others == {0x16D67, 0x16D68}


def test_text_without_the_check_flag_is_nfc(tables: Tables, unstable: set[int]) -> None:
    ordered = {cp for cp, number in enumerate(tables.classes) if number}
    assert tables.flagged("NFC_CHECK") == ordered | unstable | tables.flagged("COMPOSES")
    unchecked = sorted(set(range(N_CODE_POINTS)) - tables.flagged("NFC_CHECK"))
    everything = "".join(map(chr, unchecked))
    assert nfc(everything) == everything
    assert nfc(everything[::-1]) == everything[::-1]
    # And of pairs that those two orders do not have: any that a composition begins with.
    chosen = random.Random(17).choices(unchecked, k=300_000)
    shuffled = "".join(map(chr, chosen))
    assert nfc(shuffled) == shuffled


# ------------------------------------------------------------------------------------ normal forms


def test_combining_classes(tables: Tables) -> None:
    assert tables.classes == [unicodedata2.combining(chr(cp)) for cp in range(N_CODE_POINTS)]


def test_decompositions(tables: Tables) -> None:
    right = {
        cp: tuple(map(ord, nfd(chr(cp))))
        for cp in range(N_CODE_POINTS)
        if cp not in HANGUL_SYLLABLES and nfd(chr(cp)) != chr(cp)
    }
    assert tables.decompositions == right


def test_compositions(
    tables: Tables, mapped_pairs: dict[tuple[int, int], int], unstable: set[int]
) -> None:
    """Every first part with every second, one more and one less, and the other way round."""
    firsts = {first + shift for first, _ in mapped_pairs for shift in (-1, 0, 1)}
    seconds = {second + shift for _, second in mapped_pairs for shift in (-1, 0, 1)}
    pairs = [(first, second) for first in sorted(firsts) for second in sorted(seconds)]
    pairs += [(second, first) for first, second in mapped_pairs]
    pairs += [(0, 0), (N_CODE_POINTS - 1, N_CODE_POINTS - 1)]
    right = [
        composed if (composed := mapped_pairs.get(pair, 0)) not in unstable else 0 for pair in pairs
    ]
    assert tables.compose(pairs) == right
    composites = {cp: pair for pair, cp in zip(pairs, right, strict=True) if cp}
    assert len(composites) == len(set(mapped_pairs.values()) - unstable)
    assert all(
        nfc(chr(first) + chr(second)) == chr(cp) for cp, (first, second) in composites.items()
    )


# ----------------------------------------------------------------------------------------- folding


def test_bases(tables: Tables, categories: list[str]) -> None:
    """Folding of one code point, before lower-casing."""
    bare = tables.flagged("BARE")
    for cp, base in enumerate(tables.bases):
        first = ord(nfd(chr(cp))[0]) if cp in bare else cp
        if 0xFF21 <= first <= 0xFF5A:
            right = first - 0xFEE0
        elif categories[first] == "Nd":
            right = ord(str(unicodedata2.decimal(chr(first))))
        elif 0x2080 <= first <= 0x2089:
            right = ord(str(unicodedata2.digit(chr(first))))
        else:
            right = {DOTLESS_I: ord("i"), FINAL_SIGMA: ord("σ")}.get(first, first)
        assert base == right, hex(cp)


def test_bases_of_a_few_letters(tables: Tables) -> None:
    letters = "ÉøΆςıİｚＡ३₂７ёĳ"
    bases = "".join(chr(tables.bases[ord(ch)]) for ch in letters)
    assert bases == "EøΑσiIzA327еĳ"
    lowered = "".join(chr(tables.lowers[ord(ch)]) for ch in letters)
    assert lowered == "eøασiiza327еĳ"


def test_ligatures(tables: Tables) -> None:
    assert tables.n_ligatures == len(LIGATURES)
    assert [tables.ligature(cp) for cp in LIGATURES] == [fold(chr(cp)) for cp in LIGATURES]


def differing(tables: Tables, tokens: Iterable[str]) -> tuple[int, list[str]]:
    """How many of the tokens the kernel would fold one by one; those it would fold wrongly."""
    fitting = [
        token for token in tokens if nfc(token) == token and not tables.has("CONTEXT", token)
    ]
    return len(fitting), [
        token for token in fitting if tables.fold_one_by_one(token) != fold(token)
    ]


def test_single_code_points_fold_one_by_one(tables: Tables) -> None:
    """All that have flags, but one Han letter in 64; and one in 64 of the rest."""
    han = tables.bits["LETTER"] | tables.bits["GLUED"]
    chosen = [
        chr(cp)
        for cp, flags in enumerate(tables.flags)
        if cp % 64 == 0 or flags not in {0, han} or tables.lowers[cp] != cp
    ]
    # Between the digits of a number, the fold of a token leaves these out.
    chosen.remove(",")
    chosen.remove(" ")
    n_folded, wrong = differing(tables, chosen)
    assert wrong == []
    assert n_folded > 15_000


def test_letters_with_marks_fold_one_by_one(
    tables: Tables, mapped_pairs: dict[tuple[int, int], int]
) -> None:
    """What may be composed, after folding or before, with each mark that something composes with.

    Of marks that nothing composes with, one of each class. Before letters that lose their marks, or
    that nothing is composed of, three of all these.
    """
    bare = tables.flagged("BARE")
    changed = {cp for cp, low in enumerate(tables.lowers) if low != cp}
    parts = {part for pair, cp in mapped_pairs.items() for part in (*pair, cp)}
    composes = {cp for cp in changed | parts if tables.lowers[cp] in parts or cp in parts} - bare
    one_of_each_class = {number: cp for cp, number in enumerate(tables.classes)}.values()
    seconds = sorted(tables.flagged("COMPOSES") | set(one_of_each_class))
    few = seconds[:: len(seconds) // 3]
    tokens = (
        chr(first) + chr(second)
        for first in sorted(changed | parts)
        for second in (seconds if first in composes else few)
    )
    n_folded, wrong = differing(tables, tokens)
    assert wrong == []
    assert n_folded > 20_000


SCRIPTS = (
    "aeiouyzAEIOUÅéÇşøđıİßǅ",
    "αωΣςΆϔѐйЙґҐ",
    "דשׁאי",
    "عآيهۀی",
    "कखनऩरळढौोै",
    "কোৌয",
    "தொௌௗ",
    "かがはぱハパワヷ",
    "กำแเ",
    "한글가각",
    "ԱևაႠᲐꭰᏰ𐐀𞤀",
    "\U00016d63\U00016d67\U00016d68\U00016d69\U00016d6a\U000105d2\U00011382\U00011384",
    "0９३₂²Ⅳ①",
    "".join(map(chr, [*range(0x300, 0x315), 0x323, 0x327, 0x328, 0x331, 0x338, 0x342, 0x345])),
    "\u05b4\u05bc\u05c1\u0653\u0654\u093c\u094d\u09be\u09d7\u0bbe\u0bd7\u3099\u309a\u20d0\u0307",
    "\u0c56\u0cd5\u0dcf\u1039\u102e\u1b35\U000110ba\U00011127\U0001133e\U000113c2\U000113c9",
)


def test_mixed_strings_fold_one_by_one(tables: Tables) -> None:
    """Within a script more often than across."""
    rng = random.Random(20)
    marks = "".join(SCRIPTS[-3:])
    everything = "".join(SCRIPTS)
    tokens = set()
    for _ in range(40_000):
        letters = rng.choice(SCRIPTS) + rng.choice(("", marks, marks, everything))
        tokens.add(nfc("".join(rng.choices(letters, k=rng.randint(2, 6)))))
    n_folded, wrong = differing(tables, tokens)
    assert wrong == []
    assert n_folded > 20_000


def test_context_is_needed(tables: Tables) -> None:
    """The flag is not there for nothing: one by one, these come out wrong."""
    for token in ("ﬁ", "か\u00ad\u3099", "가\u200d\u11a8", "a\u00adb"):
        assert tables.has("CONTEXT", token)
        assert tables.fold_one_by_one(token) != fold(token)


def test_apostrophes_are_no_letters(tables: Tables) -> None:
    for ch in APOSTROPHES:
        assert not tables.has("WORD", ch)
    assert tables.has("LETTER", "\u02bc")
