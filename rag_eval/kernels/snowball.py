"""Words of a batch -> their Snowball stems, each distinct word stemmed once (extra ``lang``)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

import numpy as np

from rag_eval.kernels.columns import TextColumn
from rag_eval.kernels.languages import LISTED
from rag_eval.plumbing.extras import package

# The stemmer of each language that has a list of words and a Snowball algorithm.
_ALGORITHMS: Final = {
    "en": "english",
    "de": "german",
    "fr": "french",
    "es": "spanish",
    "it": "italian",
    "pt": "portuguese",
    "nl": "dutch",
    "sv": "swedish",
    "da": "danish",
    "no": "norwegian",
    "fi": "finnish",
    "ro": "romanian",
    "hu": "hungarian",
    "tr": "turkish",
    "id": "indonesian",
    "ca": "catalan",
    "et": "estonian",
    "lt": "lithuanian",
    "eu": "basque",
    "ru": "russian",
    "el": "greek",
    "ar": "arabic",
    "hi": "hindi",
    "hy": "armenian",
}


def stemmer_package() -> Any:
    """The Snowball stemmers of PyStemmer."""
    return package("Stemmer", "stemmer='snowball'", "lang", "PyStemmer")


def stemmer_version() -> str:
    """The version of the package, which belongs to the signature: another may stem otherwise."""
    return str(stemmer_package().version())


def snowball_stems(distinct: Mapping[int, Iterable[bytes]]) -> tuple[TextColumn, TextColumn]:
    """Words, each after a byte with the number of its language, and their stems.

    Parameters
    ----------
    distinct : mapping of iterable of bytes
        Words by the number of their language, in their normal form: in lower case, Latin, Greek and
        Cyrillic letters without accents.
    """
    snowball = stemmer_package()
    known = set(snowball.algorithms())
    words: list[bytes] = []
    stems: list[bytes] = []
    for number, found in sorted(distinct.items()):
        algorithm = _ALGORITHMS.get(LISTED[number])
        if algorithm is None or algorithm not in known:
            continue
        ordered = sorted(found)
        stemmer = snowball.Stemmer(algorithm)
        words += [bytes([number]) + word for word in ordered]
        stems += stemmer.stemWords(ordered)
    return _column(words), _column(stems)


def _column(texts: Iterable[bytes]) -> TextColumn:
    listed = list(texts)
    offsets = np.zeros(len(listed) + 1, np.int64)
    np.cumsum([len(text) for text in listed], out=offsets[1:])
    return TextColumn(np.frombuffer(b"".join(listed), np.uint8), offsets)
