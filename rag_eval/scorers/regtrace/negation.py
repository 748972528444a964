"""Words of a clause -> whether it denies what it speaks of, in the languages that have a list.

The lists are short on purpose: a word that also means something else (French *plus*, Swedish
*utan*) would take statements for their opposites.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final


def _listed(words: str) -> frozenset[str]:
    return frozenset(words.split())


_WORDS: Final[dict[str, frozenset[str]]] = {
    "en": _listed(
        "not no never none nobody nothing nowhere neither nor cannot without cant dont doesnt "
        "didnt isnt arent wasnt werent wont wouldnt shouldnt couldnt hasnt havent hadnt"
    ),
    "de": _listed(
        "nicht nie niemals kein keine keinen keinem keiner keines niemand nichts ohne nirgends "
        "weder"
    ),
    "fr": _listed("ne pas jamais aucun aucune rien sans ni"),
    "es": _listed("no nunca jamás ningún ninguno ninguna nada nadie sin ni tampoco"),
    "it": _listed("non mai nessun nessuno nessuna niente nulla senza né"),
    "pt": _listed("não nunca jamais nenhum nenhuma nada ninguém sem nem"),
    "nl": _listed("niet nooit geen niemand niets zonder noch nergens"),
    "sv": _listed("inte aldrig ingen inget inga ej"),
    "da": _listed("ikke aldrig ingen intet uden"),
    "no": _listed("ikke aldri ingen intet uten"),
    "fi": _listed("ei en et emme ette eivät eikä älä ilman"),
    "pl": _listed("nie nigdy nikt nic żaden żadna żadne bez"),
    "cs": _listed("ne není nejsou nebyl nebyla nebylo nikdy nikdo nic žádný žádná žádné bez"),
    "sk": _listed("nie nikdy nikto nič žiadny žiadna žiadne bez"),
    "ro": _listed("nu niciodată nimeni nimic fără"),
    "hu": _listed("nem ne soha senki semmi nincs nincsenek nélkül"),
    "tr": _listed("değil yok asla"),
    "id": _listed("tidak bukan tanpa belum jangan"),
    "ms": _listed("tidak bukan tanpa belum jangan"),
    "vi": _listed("không chưa chẳng"),
    "ca": _listed("no mai cap sense res"),
    "hr": _listed("ne nije nisu nikad nikada nitko ništa bez"),
    "ru": _listed("не нет ни никогда никто ничего без нельзя"),
    "uk": _listed("не ні немає ніколи ніхто нічого без"),
    "bg": _listed("не няма никога никой нищо без"),
    "el": _listed("δεν δε μη μην ποτέ κανείς χωρίς όχι"),
    "ar": _listed("لا لم لن ليس ليست بدون"),
    "fa": _listed("نه نیست نبود هیچ بدون"),
    "ur": _listed("نہیں مت بغیر"),
    "he": _listed("לא אין אינו אינה בלי"),
    "hi": _listed("नहीं न मत बिना"),
    "mr": _listed("नाही नाहीत नको"),
    "bn": _listed("না নয় নেই"),
}

# Two of them make a statement; elsewhere they go together and still deny.
_CANCELLING: Final = frozenset(("en", "de", "nl", "sv", "da", "no"))

# What follows makes these no denial: "not only", "no doubt", "no more than".
_EXCEPTIONS: Final[dict[str, dict[str, frozenset[str]]]] = {
    "en": {
        "not": _listed("only just merely simply solely necessarily"),
        "no": _listed("doubt more less fewer later earlier matter"),
    },
    "de": {"nicht": _listed("nur")},
    "es": {"no": _listed("solo sólo")},
    "fr": {"pas": _listed("seulement")},
}

# Scripts that write no space between words, with what denies in them.
_UNSPACED: Final = re.compile(r"[不没沒无無未非]|ない|ません|なかった|않|없|아니|못|ไม่")
_CYRILLIC: Final = re.compile(r"[\u0400-\u04ff]")


def is_negated(words: Sequence[str], text: str, language: str) -> bool:
    """Whether a clause denies something.

    Parameters
    ----------
    words : sequence of str
        Its words in lower case, apostrophes straight.
    text : str
        The clause itself, for scripts without spaces.
    language : str
        Code of its language; "und" where it is not known.
    """
    if language == "und":
        if _CYRILLIC.search(text):
            language = "ru"
        else:
            return len(_UNSPACED.findall(text)) % 2 == 1
    listed = _WORDS.get(language)
    if listed is None:
        return len(_UNSPACED.findall(text)) % 2 == 1
    n_negations = _count(words, listed, language)
    return n_negations % 2 == 1 if language in _CANCELLING else n_negations > 0


def _count(words: Sequence[str], listed: frozenset[str], language: str) -> int:
    exceptions = _EXCEPTIONS.get(language, {})
    count = 0
    for place, word in enumerate(words):
        following = words[place + 1] if place + 1 < len(words) else ""
        if word == "nor" and "neither" in words[:place]:
            continue
        if word in listed:
            # "No. 5" is a number, not a denial.
            is_label = word == "no" and language == "en" and following[:1].isdigit()
            count += not is_label and following not in exceptions.get(word, ())
        else:
            count += (language == "en" and word.endswith("n't")) or (
                language == "fr" and word.startswith("n'")
            )
    return count
