"""Texts -> how positive their words are, by a list of words that the caller may replace.

Tokens, negation and the comparative value are those of the npm package ``sentiment`` 5.0.2, but
that the names which every JavaScript object has (``constructor``) do not negate.
"""

from __future__ import annotations

import functools
import hashlib
import re
from collections.abc import Iterable, Mapping
from importlib import resources
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, NamedTuple, TypeAlias

from rag_eval.errors import InputError, glance
from rag_eval.scorers.javascript import SPACE, trimmed

Lexicon: TypeAlias = Mapping[str, float]
"""Words in lower case, and how positive they are; the lists in use go from -5 to 5."""

NEGATORS: Final = frozenset(
    {
        *("cant", "can't", "dont", "don't", "doesnt", "doesn't"),
        *("not", "non", "wont", "won't", "isnt", "isn't"),
    }
)
"""A word right after one of these counts with the other sign."""

_OWN_LIST: Final = "sentiment_words.tsv"
_MAX_FILE_BYTES: Final = 64 * 2**20
# Squares of sums of these are still finite, however long a text is.
_LARGEST: Final = 1e100

_SPACED: Final = dict.fromkeys(map(ord, './,#!?$%^&*;:{}=_`"~()\n'), " ")
_SPACES: Final = re.compile(f"[{SPACE}]{{2,}}")


class Sentiment(NamedTuple):
    """How positive a text is.

    Attributes
    ----------
    score : float
        Sum over its words; those that the lexicon lacks count 0.
    comparative : float
        ``score / n_tokens``.
    n_tokens : int
        At least 1: the empty text is one empty token.
    """

    score: float
    comparative: float
    n_tokens: int


# ------------------------------------------------------------------------------------- lexicons


def load_lexicon(source: Mapping[str, float] | str | Path | None = None) -> Lexicon:
    """A list of words and how positive they are, checked.

    Parameters
    ----------
    source : mapping, path or None
        Words to finite numbers; or a UTF-8 file with a word, a tab and a number a line, as AFINN
        comes, where empty lines and those that begin with ``#`` and have no tab are left out. None
        is the built-in list: English, -5 to 5, from the lexicon of VADER.

    Returns
    -------
    mapping
        Words in lower case; a value beyond the range of the usual lists is taken as it is. Of words
        that differ in case alone, the one in lower case counts.

    Raises
    ------
    InputError
        For a value that is not a number, a word with two values, also as words that differ in case
        without one in lower case, no words at all, or a file that cannot be read; the message names
        the word or the line.
    """
    if source is None:
        return _own_lexicon()
    if isinstance(source, Mapping):
        return _checked(
            ((f"lexicon: {glance(word)}", word, value) for word, value in source.items())
        )
    if isinstance(source, (str, Path)):
        return _checked(_entries(str(source), _file_text(Path(source))))
    raise InputError(f"lexicon must be a mapping or a path, got {type(source).__name__}")


def lexicon_digest(lexicon: Lexicon) -> str:
    """Words and values in twelve hex digits: how a signature identifies a custom list."""
    words = "\n".join(f"{word}\t{lexicon[word]!r}" for word in sorted(lexicon))
    return hashlib.sha256(words.encode("utf-8", "surrogatepass")).hexdigest()[:12]


@functools.cache
def _own_lexicon() -> Lexicon:
    listed = resources.files("rag_eval.scorers") / _OWN_LIST
    return _checked(_entries(_OWN_LIST, listed.read_text(encoding="utf-8")))


def _file_text(path: Path) -> str:
    try:
        if path.stat().st_size > _MAX_FILE_BYTES:
            raise InputError(f"lexicon {path}: larger than {_MAX_FILE_BYTES >> 20} MiB")
        return path.read_text(encoding="utf-8-sig")
    except (OSError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"lexicon {path}: {error}") from None


def _entries(owner: str, text: str) -> Iterable[tuple[str, str, Any]]:
    for number, line in enumerate(text.split("\n"), 1):
        where = f"lexicon {owner}, line {number}"
        word, tab, value = line.rstrip("\r").rpartition("\t")
        if not tab:
            if value.strip() and not value.startswith("#"):
                raise InputError(
                    f"{where}: must be a word, a tab and a number, got {glance(value)}"
                )
            continue
        try:
            yield where, word, float(value)
        except ValueError:
            raise InputError(f"{where}: {glance(value)} is not a number") from None


def _checked(entries: Iterable[tuple[str, Any, Any]]) -> Lexicon:
    listed = [_checked_entry(*entry) for entry in entries]
    # Texts are lower-cased before they are looked up, so a word in lower case comes before others.
    lower = {word for _, word, _ in listed if word == word.lower()}
    found: dict[str, float] = {}
    for where, word, value in listed:
        key = word.lower()
        if word != key and key in lower:
            continue
        if found.setdefault(key, value) != value:
            raise InputError(f"{where}: {glance(key)} has two values")
    if not found:
        raise InputError("lexicon must have words")
    return MappingProxyType(found)


def _checked_entry(where: str, word: Any, value: Any) -> tuple[str, str, float]:
    if not isinstance(word, str) or not word.strip():
        raise InputError(f"{where}: a word must be a non-empty text, got {glance(word)}")
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise InputError(f"{where}: must be a number, got {type(value).__name__}")
    if not abs(value) <= _LARGEST:
        raise InputError(f"{where}: must be from {-_LARGEST:g} to {_LARGEST:g}, got {value}")
    return where, word, float(value)


# ---------------------------------------------------------------------------------------- texts


def sentiment_tokens(text: str) -> list[str]:
    """Tokens of a text: in lower case, cut at spaces and at most marks of ASCII.

    A tab alone does not cut; hyphens, apostrophes and marks of other scripts stay inside. The empty
    text is one empty token.
    """
    spaced = text.lower().translate(_SPACED)
    return trimmed(_SPACES.sub(" ", spaced)).split(" ")


def word_values(text: str, lexicon: Lexicon) -> list[float]:
    """The values of the words that the lexicon has, in order, the sign turned after a negator."""
    return _values(sentiment_tokens(text), lexicon)


def _values(tokens: list[str], lexicon: Lexicon) -> list[float]:
    values = []
    before = ""
    for token in tokens:
        value = lexicon.get(token)
        if value is not None:
            values.append(-value if before in NEGATORS else value)
        before = token
    return values


def sentiment(text: str, lexicon: Lexicon | None = None) -> Sentiment:
    """How positive a text is, in all and for each of its tokens.

    Parameters
    ----------
    lexicon : mapping, optional
        As from :func:`load_lexicon`; None for the built-in list.
    """
    tokens = sentiment_tokens(text)
    total = 0.0
    for value in _values(tokens, load_lexicon() if lexicon is None else lexicon):
        total += value
    return Sentiment(total, total / len(tokens), len(tokens))
