"""The words that tone goes by: short English lists of our own, and a caller's in their place."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from rag_eval.errors import InputError, glance, suggestion
from rag_eval.scorers.sentiment_lexicon import Lexicon, load_lexicon


def _listed(words: str) -> frozenset[str]:
    return frozenset(word.strip() for word in words.replace("\n", ",").split(",") if word.strip())


LISTS: Final[Mapping[str, frozenset[str]]] = {
    "formal": _listed(
        """
        accordingly, additionally, aforementioned, albeit, ascertain, as per, commence, concerning,
        consequently, constitute, demonstrate, endeavour, endeavor, facilitate, forthwith,
        furthermore, hence, henceforth, herein, hereby, in accordance with, in addition,
        in order to, inquire, likewise, moreover, nevertheless, nonetheless, notwithstanding,
        participate, pertaining to, please be advised, prior to, provided that,
        pursuant to, regarding, respectively, shall, sincerely,
        subsequently, sufficient, terminate, thereby, therefore, thus, upon, utilise, utilize,
        whereas, whereby, with respect to, with regard to, yours faithfully
        """
    ),
    "informal": _listed(
        """
        a bit, a bunch of, a couple of, a lot of, ain't, anyways, awesome, basically, btw, buddy,
        cool, cuz, dude, folks, fyi, gonna, gotta, great stuff, guys, haha, hey, hi,
        hiya, kind of, kinda, lol, lots of, mate, nah, nope, oh, ok, okay, omg, oops,
        pretty much, quick heads up, sorta, sort of, stuff, super, sure thing, thanks, thx,
        totally, tons of, u, wanna, wow, yay, yeah, yep, yup, you know
        """
    ),
    "hedge": _listed(
        """
        apparently, appears, approximately, arguably, as far as i know, assume, believe, can be,
        could, fairly, feel, generally, guess, i think, if i recall, in general, it depends,
        it seems, kind of, likely, mainly, may, maybe, might, mostly, not certain, not sure, often,
        partly, perhaps, possible, possibly, potentially, presumably, probably, quite possibly,
        rather, roughly, seem, seems, should be, somewhat, sometimes, sort of, suggest, suggests,
        suspect, tend to, tends to, to some extent, uncertain, unclear, unlikely, unsure, usually,
        would
        """
    ),
    "assertive": _listed(
        """
        absolutely, always, beyond doubt, certainly, clearly, confident, definitely,
        definitive, doubtless, entirely, every time, evidently, exactly, guarantee, guaranteed,
        in fact, indeed, indisputably, inevitably, invariably, must, never, no doubt, obviously,
        of course, plainly, precisely, proven, surely, undeniably, undoubtedly, unquestionably,
        will, without a doubt, without exception, without question
        """
    ),
}
"""Formal and informal words, and those of doubt and of certainty; phrases among them."""

NAMES: Final = (*LISTS, "positive", "negative")
"""What a caller can replace; by default sentiment has a lexicon of its own."""

_MOST_WORDS: Final = 20_000
# What values the words of a caller's lists have on the scale of the lexicon, -5 to 5.
_LISTED_VALUE: Final = 3.0
_WORD: Final = re.compile(r"[^\W_]+(?:'[^\W_]+)*")


def words_of(text: str) -> list[str]:
    """The words of a text in lower case; apostrophes are straight and stay inside."""
    return _WORD.findall(text.lower().replace("’", "'"))


class PhraseList:
    """Words and phrases that can be counted in a text."""

    def __init__(self, phrases: Iterable[str]) -> None:
        starts: dict[str, list[tuple[str, ...]]] = {}
        for phrase in sorted(phrases):
            words = tuple(words_of(phrase))
            starts.setdefault(words[0], []).append(words)
        for following in starts.values():
            following.sort(key=len, reverse=True)
        self._starts = starts

    def count(self, words: Sequence[str]) -> int:
        """How often a text has one of them; the longest where several begin at a word."""
        found, free = 0, 0
        places = [place for place, word in enumerate(words) if word in self._starts]
        for place in places:
            if place < free:
                continue
            for phrase in self._starts[words[place]]:
                if tuple(words[place : place + len(phrase)]) == phrase:
                    found, free = found + 1, place + len(phrase)
                    break
        return found


def lexicon_with(lists: Mapping[str, frozenset[str]]) -> Lexicon:
    """The lexicon of sentiment, a caller's positive or negative words in place of its own."""
    values = load_lexicon()
    if not lists.keys() & {"positive", "negative"}:
        return values
    kept = {
        word: value
        for word, value in values.items()
        if ("positive" if value > 0 else "negative") not in lists
    }
    kept.update(dict.fromkeys(lists.get("negative", ()), -_LISTED_VALUE))
    kept.update(dict.fromkeys(lists.get("positive", ()), _LISTED_VALUE))
    return kept


def heuristic_words(lists: Mapping[str, frozenset[str]]) -> dict[str, frozenset[str]]:
    """All six lists: a caller's, ours for the others."""
    lexicon = load_lexicon()
    own = {
        **LISTS,
        "positive": frozenset(word for word, value in lexicon.items() if value > 0),
        "negative": frozenset(word for word, value in lexicon.items() if value < 0),
    }
    return {**own, **lists}


def checked_lexicon(lexicon: object) -> dict[str, frozenset[str]]:
    """A caller's lists by their names, in lower case.

    Raises
    ------
    InputError
        For what is no mapping of known names to lists of texts.
    """
    if lexicon is None:
        return {}
    if not isinstance(lexicon, Mapping):
        raise InputError(f"lexicon must be a mapping, got {type(lexicon).__name__}")
    return {_known(name): _checked(name, words) for name, words in lexicon.items()}


def _known(name: object) -> str:
    if not isinstance(name, str) or name not in NAMES:
        hint = suggestion(name, NAMES)
        raise InputError(
            f"lexicon must have lists named {', '.join(NAMES)}, got {glance(name)}{hint}"
        )
    return str(name)


def _checked(name: object, words: Any) -> frozenset[str]:
    if isinstance(words, (str, bytes)) or not isinstance(words, (list, tuple, set, frozenset)):
        raise InputError(f"lexicon[{name!r}] must be a list of words, got {type(words).__name__}")
    if len(words) > _MOST_WORDS:
        raise InputError(f"lexicon[{name!r}] has {len(words)} words; at most {_MOST_WORDS} can be")
    for word in words:
        if not isinstance(word, str) or not words_of(word):
            raise InputError(f"lexicon[{name!r}] must hold words, got {glance(word)}")
        if name in ("positive", "negative") and len(word.split()) > 1:
            raise InputError(f"lexicon[{name!r}] must hold single words, got {glance(word)}")
    return frozenset(" ".join(word.lower().replace("’", "'").split()) for word in words)
