"""Scores as features: a scikit-learn transformer from samples to a score matrix.

Imported by name only (``from rag_eval.estimators import RagScorer``); needs scikit-learn.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from rag_eval.errors import InputError, MissingExtraError
from rag_eval.options import number
from rag_eval.scoring import Evaluator, create_evaluator

try:
    from sklearn.base import BaseEstimator, TransformerMixin
except ImportError:
    raise MissingExtraError(
        "rag_eval.estimators needs scikit-learn: pip install 'rag-eval-native[calibrate]'"
    ) from None


class RagScorer(TransformerMixin, BaseEstimator):  # type: ignore[misc]  # sklearn has no types
    """Scores of samples as a matrix, one column per metric.

    Stateless: ``fit`` only checks the parameters, and ``transform`` works without it.

    Parameters
    ----------
    metrics : sequence of str, optional
        Metric ids in snake_case or camelCase; all of the profile by default.
    profile : str, default "overlap"
    language : str, optional
        Language of the texts, for profiles that ask for one.
    heuristic : mapping, optional
        Options of the metrics; see :class:`rag_eval.HeuristicOptions`.
    threads : int, optional
        Threads of native work; all cores by default. Scores do not depend on it.
    fill_value : float, optional
        Stands for null scores; by default they are NaN.

    Examples
    --------
    >>> from rag_eval.estimators import RagScorer
    >>> scorer = RagScorer(metrics=["faithfulness", "context_recall"])
    >>> scorer.transform([{"answer": "Red foxes.", "contexts": ["Red foxes."]}])
    array([[ 1., nan]])
    >>> scorer.get_feature_names_out()
    array(['faithfulness', 'context_recall'], dtype=object)
    """

    def __init__(
        self,
        *,
        metrics: Sequence[str] | None = None,
        profile: str = "overlap",
        language: str | None = None,
        heuristic: Mapping[str, Any] | None = None,
        threads: int | None = None,
        fill_value: float | None = None,
    ) -> None:
        self.metrics = metrics
        self.profile = profile
        self.language = language
        self.heuristic = heuristic
        self.threads = threads
        self.fill_value = fill_value

    def fit(self, X: object, y: object = None) -> RagScorer:
        """Check the parameters; nothing is learnt.

        Parameters
        ----------
        X, y : ignored
            There for pipelines.
        """
        self._fill_value()
        self._evaluator()
        return self

    def transform(self, X: Iterable[Any]) -> npt.NDArray[np.float64]:
        """Score samples.

        Parameters
        ----------
        X : list, one-dimensional array or series of dict, mapping or EvalSample
            Only the fields that the metrics read have to be there.

        Returns
        -------
        float64, shape (n_samples, n_metrics)
            NaN, or ``fill_value``, where a score is null.
        """
        fill_value = self._fill_value()
        scores = self._evaluator().evaluate_batch(_samples(X)).scores
        return np.where(np.isnan(scores), fill_value, scores)

    def get_feature_names_out(self, input_features: object = None) -> npt.NDArray[np.object_]:
        """The metrics, in the order of the columns; ``input_features`` is ignored."""
        return np.array(self._evaluator().evaluate_batch([]).metrics, np.object_)

    def _evaluator(self) -> Evaluator:
        options: dict[str, Any] = {
            "metrics": self.metrics,
            "language": self.language,
            "heuristic": self.heuristic,
            "threads": self.threads,
            "keep_texts": False,
        }
        if self.profile != "overlap":
            options["profile"] = self.profile
        # An option that is not given is one that this version need not know.
        return create_evaluator(**{name: it for name, it in options.items() if it is not None})

    def _fill_value(self) -> float:
        return math.nan if self.fill_value is None else number(self.fill_value, "fill_value")

    def __sklearn_tags__(self) -> Any:
        """What scikit-learn may feed: samples, one per row, and no columns of numbers."""
        tags = super().__sklearn_tags__()
        tags.input_tags.one_d_array = True
        tags.input_tags.two_d_array = False
        tags.input_tags.dict = True
        tags.transformer_tags.preserves_dtype = []  # samples have none
        tags.requires_fit = False
        return tags


def _samples(X: object) -> list[Any]:
    """The samples of a list, a one-dimensional array, a series or a generator."""
    if isinstance(X, (list, tuple)):
        return list(X)
    wanted = "wanted a list, one-dimensional array or series of samples (dict or EvalSample)"
    n_dimensions = getattr(X, "ndim", 1)
    if n_dimensions != 1:
        hint = "; of a data frame, df.to_dict('records')" if hasattr(X, "columns") else ""
        raise InputError(f"X has {n_dimensions} dimensions; {wanted}{hint}")
    if isinstance(X, (str, bytes, Mapping)) or not isinstance(X, Iterable):
        raise InputError(f"X is a {type(X).__name__}; {wanted}")
    return list(X)
