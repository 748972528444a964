"""Which characters separate and how text is lower-cased, by Unicode 17.0 under any Python.

Written from definitions, not from ``_native/unicode_tables.h``, so that the two can disagree:
general categories are unicodedata2's; lower-casing is ``str.lower`` of one character at a time,
plus the 55 letters newer than Unicode 14 (Python 3.11); Cased and Case_Ignorable follow their
definitions in the Unicode Standard, chapter 3.13, with the listed points of PropList.txt and
WordBreakProperty.txt. A lone surrogate is a character like any other without case.
"""

from __future__ import annotations

import unicodedata2  # type: ignore[import-not-found]

assert unicodedata2.unidata_version == "17.0.0"

WHITESPACE = frozenset(
    "\t\n\v\f\r \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000\ufeff"
)


def _characters(ranges: str) -> frozenset[str]:
    """Characters of hexadecimal ranges such as ``00AA 02B0-02B8``, both ends included."""
    characters: set[str] = set()
    for part in ranges.split():
        first, _, last = part.partition("-")
        characters.update(map(chr, range(int(first, 16), int(last or first, 16) + 1)))
    return frozenset(characters)


OTHER_LOWERCASE = _characters(
    "00AA 00BA 02B0-02B8 02C0-02C1 02E0-02E4 0345 037A 10FC 1D2C-1D6A 1D78 1D9B-1DBF 2071 207F "
    "2090-209C 2170-217F 24D0-24E9 2C7C-2C7D A69C-A69D A770 A7F1-A7F4 A7F8-A7F9 AB5C-AB5F AB69 "
    "10780 10783-10785 10787-107B0 107B2-107BA 1E030-1E06D"
)
OTHER_UPPERCASE = _characters("2160-216F 24B6-24CF 1F130-1F149 1F150-1F169 1F170-1F189")

# Word_Break = MidLetter, MidNumLet, Single_Quote.
MID_LETTER = _characters("003A 00B7 0387 055F 05F4 2027 FE13 FE55 FF1A")
MID_NUM_LET = _characters("002E 2018-2019 2024 FE52 FF07 FF0E")
SINGLE_QUOTE = frozenset("'")

LOWER_SINCE_UNICODE_15 = {
    "\u1c89": "\u1c8a",
    "\ua7cb": "\u0264",
    "\ua7cc": "\ua7cd",
    "\ua7ce": "\ua7cf",
    "\ua7d2": "\ua7d3",
    "\ua7d4": "\ua7d5",
    "\ua7da": "\ua7db",
    "\ua7dc": "\u019b",
    # Garay and Beria Erfe: whole alphabets.
    **{chr(cp): chr(cp + 32) for cp in range(0x10D50, 0x10D66)},
    **{chr(cp): chr(cp + 27) for cp in range(0x16EA0, 0x16EB9)},
}


def is_space(ch: str) -> bool:
    return ch in WHITESPACE


def is_separator(ch: str) -> bool:
    return is_space(ch) or unicodedata2.category(ch).startswith("P")


def is_cased(ch: str) -> bool:
    letter = unicodedata2.category(ch) in {"Lu", "Ll", "Lt"}
    return letter or ch in OTHER_LOWERCASE or ch in OTHER_UPPERCASE


def is_case_ignorable(ch: str) -> bool:
    mark = unicodedata2.category(ch) in {"Mn", "Me", "Cf", "Lm", "Sk"}
    return mark or ch in MID_LETTER or ch in MID_NUM_LET or ch in SINGLE_QUOTE


def lower(text: str) -> str:
    """Full lower-casing without a locale: U+0130 grows by U+0307, a final sigma is U+03C2."""
    return "".join(
        "\u03c2" if ch == "\u03a3" and _ends_word(text, i) else _lower_alone(ch)
        for i, ch in enumerate(text)
    )


def _lower_alone(ch: str) -> str:
    if unicodedata2.category(ch) == "Cn":
        return ch  # a letter of a later Unicode, which a later Python may know
    return LOWER_SINCE_UNICODE_15.get(ch) or ch.lower()


def _ends_word(text: str, i: int) -> bool:
    """Final_Sigma: a cased letter before, none after, not counting case-ignorable characters.

    Those that are both, such as U+02B0, are passed over on either side.
    """
    before, after = i - 1, i + 1
    while before >= 0 and is_case_ignorable(text[before]):
        before -= 1
    while after < len(text) and is_case_ignorable(text[after]):
        after += 1
    cased_before = before >= 0 and is_cased(text[before])
    cased_after = after < len(text) and is_cased(text[after])
    return cased_before and not cased_after
