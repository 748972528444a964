"""Scored rows of files in; under which other name a text may go on out."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import Final

import numpy as np
import numpy.typing as npt

from rag_eval.inputs.opened import Input
from rag_eval.inputs.samples import OUR_KEYS
from rag_eval.inputs.schemas.maps import FieldMap
from rag_eval.inputs.schemas.synonyms import meaning_of
from rag_eval.results.missing_texts import TEXTS
from rag_eval.scoring.engine import ScoredBlock

# Rows of a block; each has to be decoded.
_LOOKED_AT: Final = 100
_MOST_NAMED: Final = 3
_LONGEST_NAMED: Final = 40


class LostTexts:
    """The first row that lacks a text and has another field that may hold it, for each text.

    In JSON later rows may have other fields, and nothing stops an answer from being called
    ``response`` from some line on. In the grounded profile such rows are no error.
    """

    def __init__(self, source: Input) -> None:
        self._source = source
        self._notes: dict[str, str] = {}

    def add(self, scored: ScoredBlock, lacked: npt.NDArray[np.uint8]) -> None:
        """Look at the rows of a block; ``lacked`` has the bits of the texts that each lacks."""
        if not lacked.any() or scored.rows.origin is None:
            return
        source = scored.rows.origin.source
        found = next((one for one in reversed(self._source.found) if one.source == source), None)
        if found is None:
            return
        for bit, text in enumerate(TEXTS):
            if text in self._notes or text not in found.fields.paths:
                continue
            for row in (lacked >> bit & 1).nonzero()[0][:_LOOKED_AT].tolist():
                if names := _candidates(scored, row, text, found.fields):
                    self._notes[text] = (
                        f"{scored.rows.name(row)}: {text} is missing, but the row has "
                        f"{', '.join(map(repr, names))}. To use it, rename the field to "
                        f"{found.fields.paths[text]!r}"
                    )
                    break

    @property
    def notes(self) -> list[str]:
        """What to tell, one sentence for each text."""
        return list(self._notes.values())


def _candidates(scored: ScoredBlock, row: int, text: str, known: FieldMap) -> list[str]:
    """Fields of a row that the first rows did not have, or whose names mean the text."""
    sample = scored.rows.sample(row)
    if not isinstance(sample, Mapping):
        return []
    ours = {*OUR_KEYS, *known.paths, *known.paths.values()}
    names = (
        name
        for name, value in sample.items()
        if isinstance(name, str) and name not in ours and isinstance(value, (str, list, Mapping))
        if name not in known.unused or _may_be(name, text)
    )
    return [name[:_LONGEST_NAMED] for name in islice(names, _MOST_NAMED)]


def _may_be(name: str, text: str) -> bool:
    meaning = meaning_of(name)
    return meaning is not None and meaning.field == text
