"""The first rows of a run in; whether their questions or contexts repeat out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from rag_eval.results.row import sample_dict
from rag_eval.scoring.engine import ScoredBlock

DOCUMENT: Final = "document"
"""Where rows have no such field, those with the same contexts are of one document."""

# Rows of one document are mostly neighbours, and of a million not all have to be looked at.
_LOOKED_AT: Final = 2_000
_FEWEST: Final = 20
# With fewer rows of its own kind beside a row, on average, intervals are hardly too short.
_LEAST_BESIDE: Final = 0.5


class RepeatedTexts:
    """Looks at the first rows of a run for questions and contexts that repeat."""

    def __init__(self) -> None:
        self._n_rows = 0
        self._seen: dict[str, dict[object, int]] = {"question": {}, DOCUMENT: {}}

    def add(self, scored: ScoredBlock, first_row: int) -> None:
        """Look at the rows of a block."""
        block = scored.rows
        for row in range(min(len(block), _LOOKED_AT - self._n_rows)):
            sample = sample_dict(block.sample(row))
            self._n_rows += 1
            for name, value in (
                ("question", sample.get("question")),
                (DOCUMENT, contexts_key(sample)),
            ):
                if isinstance(value, (str, int)) and value:
                    self._seen[name][value] = self._seen[name].get(value, 0) + 1

    def note(self) -> str:
        """The message for the user; empty if hardly any row repeats another."""
        first = "the first " if self._n_rows == _LOOKED_AT else ""
        for name, what in ((DOCUMENT, "contexts"), ("question", "a question")):
            sizes = self._seen[name].values()
            beside = sum(n * (n - 1) for n in sizes)
            if self._n_rows >= _FEWEST and beside >= _LEAST_BESIDE * self._n_rows:
                shared = sum(n for n in sizes if n > 1)
                return (
                    f"{shared:,} of {first}{self._n_rows:,} rows share {what} with other rows, so "
                    f"the confidence intervals are too narrow; add --cluster-by {name} to correct "
                    "them"
                )
        return ""


def contexts_key(sample: Mapping[str, Any]) -> int | None:
    """The same for rows with the same contexts; None without any."""
    contexts = sample.get("contexts")
    if isinstance(contexts, str):
        return hash(contexts)
    if not isinstance(contexts, Sequence) or not contexts:
        return None
    return hash(frozenset(map(str, contexts)))
