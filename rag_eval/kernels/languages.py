"""Language tags as callers write them -> the language codes of the grounded profile."""

from __future__ import annotations

import re

from rag_eval.errors import InputError, near_name

#: The language is unknown: no stop words and no stems.
UNDETERMINED = "und"


def _codes(text: str) -> tuple[str, ...]:
    return tuple(text.split())


#: The codes that have a word list, in the order of ``language_codes`` in
#: ``_native/word_tables.h``; before them the code of no list.
LISTED: tuple[str, ...] = _codes(
    """
    und en de fr es it pt nl sv da no fi pl cs sk ro hu tr id ms vi ca hr sl et lv lt sw tl eu
    ru uk bg el ar fa ur he hi mr bn hy
    """
)

_TWO_LETTERS = frozenset(
    _codes(
        """
        aa ab ae af ak am an ar as av ay az ba be bg bi bm bn bo br bs ca ce ch co cr cs cu cv
        cy da de dv dz ee el en eo es et eu fa ff fi fj fo fr fy ga gd gl gn gu gv ha he hi ho
        hr ht hu hy hz ia id ie ig ii ik io is it iu ja jv ka kg ki kj kk kl km kn ko kr ks ku
        kv kw ky la lb lg li ln lo lt lu lv mg mh mi mk ml mn mr ms mt my na nb nd ne ng nl nn
        no nr nv ny oc oj om or os pa pi pl ps pt qu rm rn ro ru rw sa sc sd se sg sh si sk sl
        sm sn so sq sr ss st su sv sw ta te tg th ti tk tl tn to tr ts tt tw ty ug uk ur uz ve
        vi vo wa wo xh yi yo za zh zu
        """
    )
)
# Common languages that have no code of two letters.
_THREE_LETTERS = frozenset(_codes("ast ceb ckb fur gsw haw hmn hsb kab nds sco yue"))

# What ISO 639-2 and -3, BCP 47's older tags and Unicode's locales call a language of the above.
_ALIASES = {
    alias: code
    for code, aliases in {
        "und": "mis mul zxx",
        "en": "eng",
        "de": "deu ger",
        "fr": "fra fre",
        "es": "spa",
        "it": "ita",
        "pt": "por",
        "nl": "nld dut",
        "sv": "swe",
        "da": "dan",
        "no": "nb nn nor nob nno",
        "fi": "fin",
        "pl": "pol",
        "cs": "ces cze",
        "sk": "slk slo",
        "ro": "mo ron rum",
        "hu": "hun",
        "tr": "tur",
        "id": "in ind",
        "ms": "msa may zsm",
        "vi": "vie",
        "ca": "cat",
        "hr": "hrv",
        "sl": "slv",
        "et": "est ekk",
        "lv": "lav lvs",
        "lt": "lit",
        "sw": "swa swh",
        "tl": "fil tgl",
        "eu": "eus baq",
        "ru": "rus",
        "uk": "ukr",
        "bg": "bul",
        "el": "ell gre",
        "ar": "ara arb",
        "fa": "fas per pes",
        "ur": "urd",
        "he": "iw heb",
        "hi": "hin",
        "mr": "mar",
        "bn": "ben",
        "hy": "hye arm",
        "zh": "zho chi cmn",
        "ja": "jpn",
        "jv": "jw jav",
        "ko": "kor",
        "th": "tha",
        "yi": "ji yid",
    }.items()
    for alias in _codes(aliases)
}

#: Every primary subtag that :func:`language_code` takes.
KNOWN: frozenset[str] = _TWO_LETTERS | _THREE_LETTERS | _ALIASES.keys() | {UNDETERMINED}

# Also what follows in the names of POSIX locales, as in "de_AT.UTF-8@euro".
_PRIMARY_SUBTAG_END = re.compile(r"[-_.@]")


def language_code(tag: str) -> str:
    """The code of a language tag: ``"en"`` of ``"en-US"``, ``"no"`` of ``"nb"``.

    Region, script and the rest of the tag are not looked at. A language without a word list keeps
    its code: it is scored, without stop words.

    Raises:
        InputError: For a tag that begins with no known language.
    """
    primary = _PRIMARY_SUBTAG_END.split(tag.strip().lower(), maxsplit=1)[0]
    if primary not in KNOWN:
        raise InputError(
            f"unknown language {tag!r}{_suggestion(primary)} "
            "(an ISO 639-1 code such as 'en', or 'und')"
        )
    return _ALIASES.get(primary, primary)


def _suggestion(name: str) -> str:
    """The code that the name of a language, such as ``english``, begins like."""
    near = near_name(name, sorted(code for code in KNOWN if code[:2] == name[:2]))
    return "" if near is None else f"; did you mean {_ALIASES.get(near, near)!r}?"
