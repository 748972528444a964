"""Hugging Face datasets, which are not imported: columns in, columns of scores out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from rag_eval.errors import InputError
from rag_eval.integrations.scoring import evaluator
from rag_eval.integrations.tool_rows import RowReader


class RagColumns:
    """For ``dataset.map(RagColumns([...]), batched=True)``; can be sent to other processes.

    Parameters
    ----------
    metrics : str or iterable of str, optional
        The seven by default; each is a column, null where the score is.
    prefix : str, default ""
        In front of the names of columns: those of metrics, ``composite`` and ``passed``.
    schema, fields : str and mapping, optional
        As ``--schema`` and ``--map`` of the command line: recognised by default.
    **options
        Of :func:`rag_eval.create_evaluator`; ``profile`` is ``grounded`` by default.
    """

    def __init__(
        self,
        metrics: str | Iterable[str] | None = None,
        *,
        prefix: str = "",
        schema: str | None = None,
        fields: Mapping[str, str] | None = None,
        **options: Any,
    ) -> None:
        self._evaluator = evaluator(metrics, {"threads": 1, **options, "keep_texts": False})
        self._reader = RowReader(schema, fields)
        self._prefix = prefix

    def __call__(self, batch: Mapping[str, list[Any]]) -> dict[str, list[Any]]:
        """The new columns; a column that is there already is an InputError."""
        rows = zip(*batch.values(), strict=True)
        samples = self._reader.samples([dict(zip(batch, row, strict=True)) for row in rows])
        # One batch of a data set may lack what another has.
        found = self._evaluator.evaluate_batch(samples, allow_missing=True)
        columns: dict[str, list[Any]] = {
            metric: _listed(found.scores[:, place]) for place, metric in enumerate(found.metrics)
        }
        columns["composite"] = _listed(found.composite_scores)
        columns["passed"] = found.sample_passed.tolist()
        named = {f"{self._prefix}{name}": values for name, values in columns.items()}
        if taken := [name for name in named if name in batch]:
            raise InputError(f"column {taken[0]!r} is there already; give a prefix")
        return named


def _listed(scores: Any) -> list[float | None]:
    """NaN is a number to a table; a null is none."""
    return [None if score != score else score for score in scores.tolist()]
