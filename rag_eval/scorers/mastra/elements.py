"""Elements of texts.  In: two texts, or their elements.  Out: elements, and how many are covered.

Elements are all words of a text, verbs by their infinitives and without their auxiliaries. The
forms of English verbs are told by the words and endings of ``verbs.toml``.
"""

from __future__ import annotations

import functools
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from typing import Any, Final, Literal, TypeAlias

from rag_eval.plumbing.extras import package
from rag_eval.scorers.texts import word_lists

_SHORT: Final = 3
# Longer elements are compared pair by pair: there are few of them in any text.
_LONG: Final = 256
_MARKS: Final = range(0x300, 0x370)
_TOKEN: Final = re.compile(r"[a-z0-9]+(?:'[a-z]+)?")
_APOSTROPHES: Final = str.maketrans("\u2019\u2018\u02bc", "'''")


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_MODALS: Final = _set("can could will would shall should may might must")
_BE: Final = _set("am is are was were be been being")
_HAVE: Final = _set("have has had having")
_DO: Final = _set("do does did")
_AUXILIARIES: Final = _MODALS | _BE | _HAVE | _DO
# Between an auxiliary and its verb.
_BETWEEN: Final = _set(
    "not also always already just never still only often ever soon then now been being be have"
)
_FARTHEST: Final = 6
# Cannot be the verb that an auxiliary belongs to.
_NO_HEADS: Final = _set(
    "i you he she it we they me him her us them this that these those the a an my your his its our"
    " their there here who what which when where why how to of in on at by for from with as and or"
    " but if so not no all any some each every both"
)
# What follows them in -ing is a noun.
_DETERMINERS: Final = _set("a an the this that my your his her its our their each")
_ENDINGS: Final = {
    "'ll": ("will",),
    "'ve": ("have",),
    "'re": ("are",),
    "'m": ("am",),
    "'d": ("would",),
}
_WHOLE: Final = {
    "can't": ("can", "not"),
    "cannot": ("can", "not"),
    "won't": ("will", "not"),
    "shan't": ("shall", "not"),
    "let's": ("let", "s"),
}
# Their 's is a form of be, everybody else's a possessive.
_IS_AFTER: Final = _set(
    "it he she that this there here what who where how when why everything nothing"
)


class _PlainLetters(dict[int, str]):
    """Of each character what is left of it without accents, in lower case."""

    def __missing__(self, code: int) -> str:
        plain = "".join(c for c in unicodedata.normalize("NFD", chr(code)) if ord(c) not in _MARKS)
        self[code] = plain.lower()
        return self[code]


def text_elements(text: str, lemmas: Lemmas = "own") -> list[str]:
    """The elements of a text, each once, in the order in which they are first seen.

    Parameters
    ----------
    text : str
        Of its characters only a-z and 0-9 count, once accents are gone.
    lemmas : {"own", "lemminflect"}, default "own"
        Who finds the infinitives of verbs.
    """
    # Characters one by one: to bring long runs of marks into order takes time squared.
    plain = text.lower() if text.isascii() else _plain(text)
    return list(dict.fromkeys(_elements(_words(plain), lemmas)))


def _plain(text: str) -> str:
    return text.translate(_APOSTROPHES).translate(_PlainLetters())


def _words(plain: str) -> list[str]:
    """Words with their contractions taken apart."""
    words: list[str] = []
    for token in _TOKEN.findall(plain):
        head, mark, tail = token.partition("'")
        if not mark:
            words.extend(_WHOLE.get(token, (token,)))
        elif token in _WHOLE:
            words.extend(_WHOLE[token])
        elif tail == "t" and head.endswith("n"):
            words.extend((head[:-1], "not"))
        elif tail == "s" and head in _IS_AFTER:
            words.extend((head, "is", "s"))
        else:
            words.extend((head, *_ENDINGS.get(mark + tail, (tail,))))
    return words


def _elements(words: Sequence[str], lemmas: Lemmas) -> Iterator[str]:
    place = 0
    while place < len(words):
        word = words[place]
        if word not in _AUXILIARIES:
            is_noun = word.endswith("ing") and place and words[place - 1] in _DETERMINERS
            yield word if is_noun else infinitive(word, lemmas)
            place += 1
            continue
        head = place + 1
        last = min(len(words), head + _FARTHEST)
        while head < last and (words[head] in _BETWEEN or words[head].endswith("ly")):
            head += 1
        between = words[place + 1 : head]
        if not _is_head_of(word, words[head] if head < len(words) else "", between, lemmas):
            yield word if word in _MODALS else infinitive(word, lemmas)
            # Mastra's parser reads "is not" as "does not be".
            if word in _BE and between[:1] == ["not"]:
                yield "does"
            place += 1
            continue
        # A negated phrase keeps its no as "do not"; all other auxiliaries go.
        if "not" in between:
            yield from ("do", "not")
        yield from (other for other in between if other not in _AUXILIARIES and other != "not")
        yield infinitive(words[head], lemmas)
        place = head + 1


def _is_head_of(auxiliary: str, head: str, between: Sequence[str], lemmas: Lemmas) -> bool:
    """Whether a word is the verb of the auxiliary before it."""
    if not head or head in _NO_HEADS or head in _AUXILIARIES:
        return False
    if auxiliary in _MODALS or auxiliary in _DO:
        return not head[0].isdigit()
    return infinitive(head, lemmas) != head and not head.endswith("s")


# ------------------------------------------------------------------------------------ coverage


def element_coverage(input_elements: Sequence[str], output_elements: Sequence[str]) -> float:
    """Share of the elements of the input that the output covers, from 0 to 1.

    An element of at most 3 characters is covered by an equal one alone. A longer one is covered
    where one of the two holds the other, and the shorter has more than 0.6 of the length of the
    longer. Without elements of the input it is 1 if the output has none either, and 0 where it
    has.
    """
    if not input_elements:
        return 0.0 if output_elements else 1.0
    covered = _covered(input_elements, output_elements)
    return sum(element in covered for element in input_elements) / len(input_elements)


def _covered(wanted: Sequence[str], given: Sequence[str]) -> Set[str]:
    found = set(given)
    covered = found.intersection(wanted)
    left = {element for element in wanted if len(element) > _SHORT} - covered
    # Not what is covered: pairs that it is in are not asked for any more.
    for element in _holders(left, found):
        covered.add(element)
    for element in _held(left - covered, found):
        covered.add(element)
    return covered


def _holders(elements: Set[str], parts: Set[str]) -> Iterator[str]:
    """The elements that hold one of the parts."""
    sizes = Counter(map(len, parts))
    by_size = _by_size(parts)
    for element in elements:
        near = _sizes_within(element, sizes)
        if len(element) <= _LONG:
            if any(part in parts for size in near for part in _parts(element, size)):
                yield element
        elif any(part in element for size in near for part in by_size[size]):
            yield element


def _held(elements: Set[str], holders: Set[str]) -> Iterator[str]:
    """The elements that one of the holders holds."""
    sizes = Counter(map(len, elements))
    by_size = _by_size(elements)
    for holder in holders:
        for size in _sizes_within(holder, sizes):
            if len(holder) <= _LONG:
                yield from (part for part in _parts(holder, size) if part in elements)
            else:
                yield from (element for element in by_size[size] if element in holder)


def _by_size(elements: Set[str]) -> dict[int, list[str]]:
    found: dict[int, list[str]] = {}
    for element in elements:
        found.setdefault(len(element), []).append(element)
    return found


def _sizes_within(holder: str, sizes: Counter[int]) -> list[int]:
    """The sizes that are over 0.6 of the holder's, and under it."""
    lowest = len(holder) * 3 // 5 + 1
    if len(holder) - lowest < len(sizes):
        return [size for size in range(lowest, len(holder)) if size in sizes]
    return [size for size in sizes if lowest <= size < len(holder)]


def _parts(holder: str, size: int) -> Iterator[str]:
    return (holder[begin : begin + size] for begin in range(len(holder) - size + 1))


# ----------------------------------------------------------------------------------- forms of verbs


Lemmas: TypeAlias = Literal["own", "lemminflect"]


_HUSHING: Final = ("sses", "shes", "ches", "xes", "zzes", "oes")
_LONGEST_END: Final = 4
# One syllable with a short vowel would have doubled its consonant: hop, hopping; hope, hoping.
_HAS_LOST_E: Final = re.compile(r"(?:[^aeiouy]|qu)*[aeiouy][^aeiouwxy]")
_HAS_VOWEL: Final = re.compile(r"[aeiouy]")
# A longer word is no verb, and reading it would take long.
_LONGEST_WORD: Final = 40


def infinitive(word: str, lemmas: Lemmas = "own") -> str:
    """The infinitive of a form of a verb; any other word as it is.

    Parameters
    ----------
    word : str
        In lower case.
    lemmas : {"own", "lemminflect"}, default "own"
        Irregular forms and endings that are known here, or the dictionary of lemminflect.

    Notes
    -----
    No context is read: a word that can be a form of a verb is taken for one, but for plurals of
    nouns.

    Raises
    ------
    MissingExtraError
        lemminflect was asked for and is not installed.
    """
    if len(word) > _LONGEST_WORD:
        return word
    return _looked_up(word) if lemmas == "lemminflect" else _reckoned(word)


@functools.cache
def _verb_words(name: str) -> frozenset[str]:
    return frozenset(word_lists("mastra", "verbs")[name].split())


@functools.cache
def _irregular() -> Mapping[str, str]:
    found = {}
    for entry in word_lists("mastra", "verbs")["irregular"].replace("\n", ";").split(";"):
        verb, _, forms = entry.partition(":")
        found.update(dict.fromkeys(forms.split(), verb.strip()))
    return found


@functools.cache
def _verbs_in_s() -> Mapping[str, str]:
    return {_with_s(verb): verb for verb in _verb_words("usual_verbs")}


def _with_s(verb: str) -> str:
    if verb.endswith("y") and verb[-2] not in "aeiou":
        return verb[:-1] + "ies"
    return verb + ("es" if (verb + "es").endswith(_HUSHING) else "s")


@functools.lru_cache(maxsize=1 << 16)
def _reckoned(word: str) -> str:
    found = _irregular().get(word)
    if found is not None:
        return found
    if word in _verb_words("no_verbs") or len(word) < 4:
        return word
    if word.endswith("s"):
        return _verbs_in_s().get(word, word)
    if word.endswith("ied"):
        return word[:-1] if len(word) == 4 else word[:-3] + "y"
    if word.endswith("ing"):
        return _whole_verb(word[:-3], word)
    if word.endswith("ed") and not word.endswith("eed"):
        return _whole_verb(word[:-2], word)
    return word


def _whole_verb(stem: str, word: str) -> str:
    """The infinitive of a form that lost its ending."""
    if len(stem) < 2 or not _HAS_VOWEL.search(stem):
        return word
    if stem[-1] == stem[-2] and stem[-1] not in "aeiou":
        return stem if stem[-1] in "lsfz" else stem[:-1]
    if stem in _verb_words("e_never"):
        return stem
    if stem in _verb_words("e_lost") or _HAS_LOST_E.fullmatch(stem):
        return stem + "e"
    for size in range(_LONGEST_END, 0, -1):
        end = stem[-size:]
        if end in _verb_words("with_e"):
            return stem + "e"
        if end in _verb_words("without_e"):
            return stem
    return stem


@functools.lru_cache(maxsize=1 << 16)
def _looked_up(word: str) -> str:
    # These are plurals of nouns as well, seldom: leaves, costs, does.
    usual = _verbs_in_s().get(word) or _irregular().get(word)
    if usual is not None:
        return usual
    found: Mapping[str, tuple[str, ...]] = lemminflect_package().getAllLemmas(word)
    is_plural = word.endswith("s") and word not in found.get("NOUN", (word,))
    verbs = found.get("VERB") or found.get("AUX")
    return word if is_plural or not verbs else verbs[0]


def lemminflect_package() -> Any:
    """The package, or a MissingExtraError that names the extra which brings it."""
    return package("lemminflect", "lemmas='lemminflect'", "lemmas")
