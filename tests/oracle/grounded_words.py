"""Languages in the `grounded` profile: which one a sample is in, stop words, numbers, stems."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache

from tests.oracle.grounded_characters import category, spans, within
from tests.oracle.grounded_lists import NUMBER_WORDS, STOP_WORDS
from tests.oracle.grounded_numbers import Numbers
from tests.oracle.grounded_text import Text, read

UNDETERMINED = "und"

LATIN = spans("41-24F 250-2AF 1E00-1EFF 2C60-2C7F A720-A7FF AB30-AB6F FB00-FB06 FF21-FF5A")

ENGLISH = STOP_WORDS["en"]


class Reading:
    """A text in a language: ``words`` and ``stems`` of its tokens, which of them are content.

    ``named`` are the capitalised words that could be a name, sentence openers among them.
    """

    def __init__(self, text: Text, language: str) -> None:
        stop_words = STOP_WORDS.get(language, frozenset())
        english = language == "en"
        self.text = text
        self.language = language
        self.norms = text.norms
        self.words = (
            [NUMBER_WORDS.get(norm, norm) for norm in text.norms] if english else self.norms
        )
        self.stems = [stem(word) for word in self.words] if english else self.words
        self.is_content = [word not in stop_words for word in self.words]
        self.numbers = Numbers(self.words, english)
        self.named = [
            capital > 0 and len(word) > 1 and content
            for capital, word, content in zip(
                text.capitals, self.words, self.is_content, strict=True
            )
        ]

    def meaning(self, first: int, last: int) -> list[str]:
        """Stems of the content words of a run of tokens."""
        return [self.stems[i] for i in range(first, last) if self.is_content[i]]

    def content_stems(self, first: int = 0, last: int | None = None) -> list[str]:
        """Stems of the content words of a run of tokens; of all its words when it has none."""
        end = len(self.stems) if last is None else last
        return self.meaning(first, end) or self.stems[first:end]


# --------------------------------------------------------------------------------------- detection


def _is_latin(words: frozenset[str]) -> bool:
    return all(within(word[0], LATIN) for word in words)


# English is what the others are measured against.
LATIN_LISTS = [code for code, words in STOP_WORDS.items() if code != "en" and _is_latin(words)]
OTHER_LISTS = [code for code, words in STOP_WORDS.items() if not _is_latin(words)]


def detect_language(strings: Iterable[str], keep_square: bool = False) -> str:
    return detect([read(string, keep_square) for string in strings])


def detect(texts: Sequence[Text]) -> str:
    """One language for all texts of a sample: of the list whose words they use most.

    Counted are the words that are in the list and no English stop words; against them stand the
    English stop words that are not in the list. Latin letters decide which lists come in question.
    """
    plain, accented, others = _letters(texts)
    latin = plain + accented >= others
    counts: Counter[str] = Counter()
    for text in texts:
        counts.update(text.norms)
    best, own, english = UNDETERMINED, 0, 0
    for code in LATIN_LISTS if latin else OTHER_LISTS:
        hits = _occurrences(STOP_WORDS[code] - ENGLISH, counts)
        if hits > own:  # the first list among equals
            best, own = code, hits
            english = _occurrences(ENGLISH - STOP_WORDS[code], counts)
    if not latin or (own >= 2 and 2 * own > 3 * english):
        return best
    return UNDETERMINED if 3 * accented > plain else "en"


def _letters(texts: Sequence[Text]) -> tuple[int, int, int]:
    """Letters of the cleaned texts: ASCII, other Latin, all others."""
    plain = accented = others = 0
    for text in texts:
        for ch, times in Counter(text.text).items():
            if category(ch)[0] != "L":
                continue
            if ch.isascii():
                plain += times
            elif within(ch, LATIN):
                accented += times
            else:
                others += times
    return plain, accented, others


def _occurrences(words: Iterable[str], counts: Counter[str]) -> int:
    return sum(counts[word] for word in words)


# -------------------------------------------------------------------------------------- stemming


@lru_cache(maxsize=1 << 16)
def stem(word: str) -> str:
    """An English word without its endings, one of each kind, in this order."""
    if len(word) <= 3 or not word.isascii() or word[-1].isdigit():
        return word
    for strip in (_without_plural, _without_ending, _without_doubling, _without_e, _with_y):
        word = strip(word)
    return word


def _without_plural(word: str) -> str:
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith("sses"):
        return word[:-2]
    if word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word


def _without_ending(word: str) -> str:
    for ending, longer_than in (("ing", 5), ("ed", 4), ("ly", 5)):
        if word.endswith(ending) and len(word) > longer_than:
            return word.removesuffix(ending)
    return word


def _without_doubling(word: str) -> str:
    doubled = len(word) > 4 and word[-1] == word[-2] and word[-1] not in "lsz"
    return word[:-1] if doubled else word


def _without_e(word: str) -> str:
    return word[:-1] if len(word) > 4 and word.endswith("e") else word


def _with_y(word: str) -> str:
    return word[:-1] + "y" if len(word) > 3 and word.endswith("i") else word
