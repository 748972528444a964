"""Batch results as data frames."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rag_eval.errors import MissingExtraError
from rag_eval.results.batch import BatchEvalResult

if TYPE_CHECKING:
    import pandas as pd


def to_pandas(batch: BatchEvalResult) -> pd.DataFrame:
    """One row per sample: a column per metric (NaN where null), composite_score and passed."""
    try:
        import pandas as pd
    except ImportError:
        raise MissingExtraError(
            "to_pandas needs pandas: pip install 'rag-eval-native[pandas]'"
        ) from None
    frame = pd.DataFrame(batch.scores, columns=list(batch.metrics))
    frame["composite_score"] = batch.composite_scores
    frame["passed"] = batch.sample_passed
    return frame
