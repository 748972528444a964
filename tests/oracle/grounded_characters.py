"""What a character is to the `grounded` profile, by Unicode 17.0, and how a word is folded."""

from __future__ import annotations

from functools import lru_cache

import unicodedata2  # type: ignore[import-not-found]

from tests.oracle.unicode17 import WHITESPACE, lower

LINE_ENDS = frozenset("\n\r\u2028\u2029")
APOSTROPHES = frozenset("'\u2018\u2019\u02bc\uff07")

Spans = tuple[tuple[int, int], ...]


def spans(text: str) -> Spans:
    """Pairs of hexadecimal ranges such as ``AD 200C-200F``, both ends included."""
    pairs = [part.split("-") for part in text.split()]
    return tuple((int(pair[0], 16), int(pair[-1], 16)) for pair in pairs)


def within(ch: str, ranges: Spans) -> bool:
    return any(first <= ord(ch) <= last for first, last in ranges)


# Invisible inside words and without a meaning there; the Arabic tatweel is one of them.
IGNORED = spans("AD 34F 61C 640 200C-200F 202A-202E 2060-2064 2066-2069 FE00-FE0F")
# Thai, Lao, Myanmar, Khmer, Hiragana, Katakana, Han: written without spaces between words.
GLUED = spans(
    "E00-EFF 1000-109F 1780-17FF 3005-3007 303B-303C 3041-30FF 31F0-31FF 3400-4DBF 4E00-9FFF "
    "A9E0-A9FF AA60-AA7F F900-FAFF FF66-FF9F 1B000-1B16F 20000-3FFFF"
)
# Latin, Greek, Cyrillic: an accent there is often left out by whoever types.
ACCENTS_DROPPED = spans(
    "0-52F 1C80-1C8F 1D00-1DBF 1E00-1FFF 2C60-2C7F A640-A69F A720-A7FF AB30-AB6F FF21-FF5A"
)
FULL_WIDTH = spans("FF21-FF5A")
SUBSCRIPT_DIGITS = spans("2080-2089")
IDEOGRAPHIC_ZERO = "\u3007"  # a numeral by category, written among Han letters
FOLDED_TO = {
    "\ufb00": "ff",
    "\ufb01": "fi",
    "\ufb02": "fl",
    "\ufb03": "ffi",
    "\ufb04": "ffl",
    "\ufb05": "st",
    "\ufb06": "st",
    "ı": "i",
    "ς": "σ",
}

# One letter says what a character is; these stand for themselves.
AS_THEY_ARE = frozenset(" ,.-_")
TOKEN_KINDS = frozenset("wgmdni")


def category(ch: str) -> str:
    name: str = unicodedata2.category(ch)
    return name


def normalize(form: str, text: str) -> str:
    normal: str = unicodedata2.normalize(form, text)
    return normal


class _Kinds(dict[int, str]):
    def __missing__(self, code: int) -> str:
        kind = self[code] = _kind(chr(code))
        return kind


def _kind(ch: str) -> str:
    if ch in AS_THEY_ARE:
        return ch
    if ch in LINE_ENDS:
        return "l"
    if ch in WHITESPACE:
        return "s"
    if ch in APOSTROPHES:
        return "'"
    if within(ch, IGNORED):
        return "i"
    return _word_kind(ch, category(ch))


def _word_kind(ch: str, name: str) -> str:
    if name[0] == "M":
        return "m"
    if name == "Nd" or within(ch, SUBSCRIPT_DIGITS):
        return "d"
    if ch == IDEOGRAPHIC_ZERO or (name[0] == "L" and within(ch, GLUED)):
        return "g"
    return {"L": "w", "N": "n"}.get(name[0], "o")


KINDS = _Kinds()


def kinds(text: str) -> str:
    """A letter for each character, at the same place.

    w letter of a spaced word, g letter of a glued script, m mark, d decimal digit, n other
    numeral, i ignored, ' apostrophe, l line end, s other space, o all else; and `AS_THEY_ARE`.
    """
    return text.translate(KINDS)


def is_token_character(ch: str) -> bool:
    """Marks and ignored characters too, though no token begins with one; nothing is none."""
    return ch != "" and KINDS[ord(ch)] in TOKEN_KINDS


@lru_cache(maxsize=1 << 16)
def fold(token: str) -> str:
    """Normal form: simple lower case, plain digits, no accents where `ACCENTS_DROPPED`."""
    folded: list[str] = []
    base = ""
    for ch in normalize("NFD", token):
        if ch in ", " or within(ch, IGNORED):
            continue  # thousands; a mark after it still belongs to the base before it
        if category(ch)[0] != "M":
            base = ch
            folded.append(_fold_base(ch))
        elif not (base and within(base, ACCENTS_DROPPED)):
            folded.append(ch)
    return normalize("NFC", "".join(folded))


def _fold_base(ch: str) -> str:
    if within(ch, FULL_WIDTH):
        ch = chr(ord(ch) - 0xFEE0)
    if within(ch, SUBSCRIPT_DIGITS):
        return chr(ord(ch) - 0x2080 + ord("0"))
    if category(ch) == "Nd":
        return str(unicodedata2.decimal(ch))
    small = lower(ch)
    if len(small) > 1:
        small = ch
    return FOLDED_TO.get(small, small)
