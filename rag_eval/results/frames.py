"""A batch -> the columns of a data frame."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from rag_eval.inputs.samples import field_of, ground_truth_of, id_of
from rag_eval.samples import EvalSample

if TYPE_CHECKING:
    from rag_eval.results.batch import BatchEvalResult

_TEXTS: Final = ("question", "answer", "contexts")


def frame_columns(batch: BatchEvalResult, *, texts: bool = False) -> dict[str, Any]:
    """The ids, with ``texts`` the fields of the samples, the scores, and whether rows passed.

    Raises
    ------
    TextsNotKeptError
        When texts are asked for that the batch did not keep.
    """
    rows = batch.results
    columns: dict[str, Any] = {"id": [None] * batch.n_rows}
    if texts or getattr(rows, "keeps_texts", True):
        # Rows that are scored already are not opened for it.
        sample_of = getattr(rows, "sample", None) or (lambda row: rows[row].sample)
        samples = [_read(sample_of(row)) for row in range(batch.n_rows)]
        columns["id"] = [id_of(sample) for sample in samples]
        if texts:
            columns |= {name: [field_of(one, name) for one in samples] for name in _TEXTS}
            columns["ground_truth"] = list(map(ground_truth_of, samples))
    columns |= {metric: batch.scores[:, place] for place, metric in enumerate(batch.metrics)}
    return columns | {"composite_score": batch.composite_scores, "passed": batch.sample_passed}


def _read(sample: Any) -> Mapping[str, Any] | EvalSample:
    return sample if isinstance(sample, (Mapping, EvalSample)) else {}
