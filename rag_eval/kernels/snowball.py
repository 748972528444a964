"""Words of a batch -> their Snowball stems, each distinct word stemmed once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from rag_eval.kernels import scoring as kernels
from rag_eval.kernels.columns import SampleBatch, TextColumn
from rag_eval.kernels.grounded_settings import GroundedSettings
from rag_eval.kernels.languages import LISTED
from rag_eval.plumbing.extras import stemmer_package

if TYPE_CHECKING:
    from collections.abc import Iterable

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


def snowball_stems(batch: SampleBatch, settings: GroundedSettings) -> kernels.GivenStems | None:
    """Stems of a batch's distinct words; None where the light stemmer is asked for.

    Words are given to the stemmer in their normal form: in lower case, Latin, Greek and Cyrillic
    letters without accents.
    """
    if settings.stemmer == "light":
        return None
    package = stemmer_package()
    known = set(package.algorithms())
    words: list[bytes] = []
    stems: list[bytes] = []
    for number, found in sorted(kernels.grounded_words(batch, settings).items()):
        algorithm = _ALGORITHMS.get(LISTED[number])
        if algorithm is None or algorithm not in known:
            continue
        ordered = sorted(found)
        stemmer = package.Stemmer(algorithm)
        words += [bytes([number]) + word for word in ordered]
        stems += stemmer.stemWords(ordered)
    return kernels.GivenStems(_column(words), _column(stems))


def _column(texts: Iterable[bytes]) -> TextColumn:
    listed = list(texts)
    offsets = np.zeros(len(listed) + 1, np.int64)
    np.cumsum([len(text) for text in listed], out=offsets[1:])
    return TextColumn(np.frombuffer(b"".join(listed), np.uint8), offsets)
