"""Scored rows of files in; under which other name a text may go on out."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import Final

from rag_eval.inputs.opened import Input
from rag_eval.inputs.samples import OUR_KEYS
from rag_eval.inputs.schemas.maps import FieldMap
from rag_eval.inputs.schemas.synonyms import meaning_of
from rag_eval.options.plan import Plan
from rag_eval.results.missing_texts import TEXTS, lacked_texts
from rag_eval.scoring.engine import ScoredBlock

_MOST_NAMED: Final = 3
_LONGEST_NAMED: Final = 40


class LostTexts:
    """A sink: the first row that lacks a text and has another field that may hold it.

    In JSON later rows may have other fields, and nothing stops an answer from being called
    ``response`` from some line on. In the grounded profile such rows are no error.
    """

    def __init__(self, plan: Plan, source: Input) -> None:
        self._plan = plan
        self._source = source
        self._notes: dict[str, str] = {}

    def add(self, scored: ScoredBlock, first_row: int) -> None:
        """Look at the first row of a block that lacks a text, for each text."""
        lacked = lacked_texts(self._plan.columns, scored.null_reasons)
        if not len(lacked) or scored.rows.origin is None:
            return
        source = scored.rows.origin.source
        found = next((one for one in reversed(self._source.found) if one.source == source), None)
        if found is None:
            return
        for bit, text in enumerate(TEXTS):
            rows = (lacked >> bit & 1).nonzero()[0].tolist()
            if not rows or text in self._notes or text not in found.fields.paths:
                continue
            names = ", ".join(map(repr, _candidates(scored, rows[0], text, found.fields)))
            if names:
                place, path = scored.rows.name(rows[0]), found.fields.paths[text]
                self._notes[text] = (
                    f"{place}: {text} is missing, but the row has {names}. If the {text} is there, "
                    f"rename the field to {path!r}"
                )

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
        if isinstance(name, str) and name not in ours and isinstance(value, (str, list))
        if name not in known.unused or _may_be(name, text)
    )
    return [name[:_LONGEST_NAMED] for name in islice(names, _MOST_NAMED)]


def _may_be(name: str, text: str) -> bool:
    meaning = meaning_of(name)
    return meaning is not None and meaning.field == text
