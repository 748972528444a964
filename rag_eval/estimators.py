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
from rag_eval.kernels.settings import Stemmer
from rag_eval.plumbing import json_text
from rag_eval.plumbing.checked_values import number
from rag_eval.samples import Profile
from rag_eval.scoring.evaluator import Evaluator, create_evaluator

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
        Metric ids in snake_case or camelCase; the seven by default.
    profile : {"overlap", "grounded"}, default "overlap"
    language : str, optional
        Language of the texts, for the grounded profile; detected by default.
    stemmer : {"light", "snowball"}, optional
        For the grounded profile; light by default.
    scorer_options : mapping, optional
        Options of scorers among the metrics, by their ids.
    heuristic : mapping, optional
        Options of the overlap profile; see :class:`rag_eval.HeuristicOptions`.
    threads : int, optional
        Threads of native work; all cores by default. Scores do not depend on it.
    fill_value : float, optional
        Value in place of null scores; NaN by default.

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
        profile: Profile = "overlap",
        language: str | None = None,
        stemmer: Stemmer | None = None,
        scorer_options: Mapping[str, Mapping[str, Any]] | None = None,
        heuristic: Mapping[str, Any] | None = None,
        threads: int | None = None,
        fill_value: float | None = None,
    ) -> None:
        self.metrics = metrics
        self.profile = profile
        self.language = language
        self.stemmer = stemmer
        self.scorer_options = scorer_options
        self.heuristic = heuristic
        self.threads = threads
        self.fill_value = fill_value

    def fit(self, X: object, y: object = None) -> RagScorer:
        """Check the parameters; nothing is learnt.

        Parameters
        ----------
        X, y : ignored
            Accepted for pipelines.
        """
        self._fill_value()
        self._evaluator()
        return self

    def transform(self, X: Iterable[Any]) -> npt.NDArray[np.float64]:
        """Score samples.

        Parameters
        ----------
        X : list, one-dimensional array or series of dict, mapping, EvalSample or str
            Only the fields that the metrics read are required. A str holds a sample as a JSON
            object, for arrays and columns of text.

        Returns
        -------
        float64, shape (n_samples, n_metrics)
            NaN, or ``fill_value``, where a score is null.
        """
        fill_value = self._fill_value()
        # A part of the data may lack what another part has.
        scores = self._evaluator().evaluate_batch(_samples(X), allow_missing=True).scores
        return np.where(np.isnan(scores), fill_value, scores)

    def get_feature_names_out(self, input_features: object = None) -> npt.NDArray[np.object_]:
        """The metrics, in the order of the columns; ``input_features`` is ignored."""
        return np.array(self._evaluator().evaluate_batch([]).metrics, np.object_)

    def _evaluator(self) -> Evaluator:
        options: dict[str, Any] = {
            "metrics": self.metrics,
            "profile": self.profile,
            "language": self.language,
            "stemmer": self.stemmer,
            "scorer_options": self.scorer_options,
            "heuristic": self.heuristic,
            "threads": self.threads,
            "keep_texts": False,
        }
        return create_evaluator(**options)

    def _fill_value(self) -> float:
        return math.nan if self.fill_value is None else number(self.fill_value, "fill_value")

    def __sklearn_tags__(self) -> Any:
        """What scikit-learn may feed: samples, one per row, and no columns of numbers."""
        tags = super().__sklearn_tags__()
        tags.input_tags.one_d_array = True
        tags.input_tags.two_d_array = False
        tags.input_tags.dict = True
        tags.input_tags.string = True
        tags.transformer_tags.preserves_dtype = []  # samples have none
        tags.requires_fit = False
        return tags


def _samples(X: object) -> list[Any]:
    """The samples of a list, a one-dimensional array, a series or a generator."""
    if isinstance(X, (list, tuple)):
        return _parsed(X)
    wanted = (
        "expected a list, one-dimensional array or series of samples (dict, EvalSample or JSON)"
    )
    n_dimensions = getattr(X, "ndim", 1)
    if n_dimensions != 1:
        hint = "; of a data frame, df.to_dict('records')" if hasattr(X, "columns") else ""
        raise InputError(f"X has {n_dimensions} dimensions; {wanted}{hint}")
    if isinstance(X, (str, bytes, Mapping)) or not isinstance(X, Iterable):
        raise InputError(f"X is a {type(X).__name__}; {wanted}")
    return _parsed(X)


def _parsed(samples: Iterable[Any]) -> list[Any]:
    return [
        _object(index, sample) if isinstance(sample, str) else sample
        for index, sample in enumerate(samples)
    ]


def _object(index: int, text: str) -> dict[str, Any]:
    """The sample that a text holds as a JSON object."""
    try:
        value = json_text.loads(text)
    except (ValueError, RecursionError) as error:
        fault = json_text.syntax_fault(error)
        raise InputError(
            f"sample {index} is a str that is not valid JSON ({fault}); expected a JSON object"
        ) from None
    if not isinstance(value, dict):
        raise InputError(
            f"sample {index} is a str that holds JSON of a {type(value).__name__}; expected a "
            "JSON object"
        )
    return value
