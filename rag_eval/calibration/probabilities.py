"""Maps from a score to the probability that a person would call the row good.

scikit-learn fits them; applying one takes numpy alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from typing import Any, ClassVar, Final, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from rag_eval.errors import MissingExtraError

Method: TypeAlias = Literal["isotonic", "logistic"]

# Scores closer together than this, in relation to their size, are one score: a slope fitted to
# rounding errors means nothing.
_LEAST_SPREAD: Final = 1e-12
# No penalty, in a spelling that every scikit-learn from 1.6 on takes without a warning.
_NO_PENALTY: Final = 1e12


@dataclass(frozen=True)  # without slots, which a cached property needs
class IsotonicMap:
    """Straight lines between knots that never fall; level outside them.

    Attributes
    ----------
    scores : tuple of float
        Ascending, no two equal.
    probabilities : tuple of float
        One per score, never falling.
    """

    method: ClassVar[Method] = "isotonic"

    scores: tuple[float, ...]
    probabilities: tuple[float, ...]

    def __call__(self, scores: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """The probability at each score; NaN stays NaN."""
        known, probabilities = self._knots
        return np.clip(np.interp(scores, known, probabilities), probabilities[0], probabilities[-1])

    @cached_property
    def _knots(self) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        # Of a thousand knots they take eight times as long to make as one score to map.
        return np.array(self.scores), np.array(self.probabilities)

    @property
    def is_flat(self) -> bool:
        """The probability is the same at every score."""
        return self.probabilities[0] == self.probabilities[-1]

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        return {"scores": list(self.scores), "probabilities": list(self.probabilities)}


@dataclass(frozen=True, slots=True)
class LogisticMap:
    """``1 / (1 + exp(-(coefficient * score + intercept)))``; the coefficient is not negative."""

    method: ClassVar[Method] = "logistic"

    coefficient: float
    intercept: float

    def __call__(self, scores: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """The probability at each score; NaN stays NaN."""
        logits = self.coefficient * scores + self.intercept
        # exp of a negative number cannot overflow.
        small = np.exp(-np.abs(logits))
        return np.where(logits < 0, small, 1.0) / (1.0 + small)

    @property
    def is_flat(self) -> bool:
        """The probability is the same at every score."""
        return self.coefficient == 0

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        return {"coefficient": self.coefficient, "intercept": self.intercept}


ProbabilityMap: TypeAlias = IsotonicMap | LogisticMap


def fit_isotonic(scores: npt.NDArray[np.float64], good: npt.NDArray[np.bool_]) -> IsotonicMap:
    """The never falling map of least squared error.

    References
    ----------
    Zadrozny and Elkan, Transforming classifier scores into accurate multiclass probability
    estimates (2002).
    """
    isotonic = scikit_learn("isotonic")
    fitted = isotonic.IsotonicRegression(y_min=0.0, y_max=1.0, out_of_bounds="clip")
    fitted.fit(scores, good.astype(np.float64))
    return IsotonicMap(tuple(fitted.X_thresholds_.tolist()), tuple(fitted.y_thresholds_.tolist()))


def fit_logistic(scores: npt.NDArray[np.float64], good: npt.NDArray[np.bool_]) -> LogisticMap:
    """The logistic map of greatest likelihood among those that never fall.

    Labels count as Platt's targets, a little short of 0 and 1, so that a score that separates the
    classes without error does not make the slope infinite.

    References
    ----------
    Platt, Probabilistic outputs for support vector machines (1999), section 2.2.
    """
    linear_model = scikit_learn("linear_model")
    n_good = int(good.sum())
    n_bad = len(good) - n_good
    targets = np.where(good, (n_good + 1) / (n_good + 2), 1 / (n_bad + 2))
    level = LogisticMap(0.0, _logit(float(targets.mean())))
    center, spread = float(scores.mean()), float(scores.std())
    if spread <= _LEAST_SPREAD * max(1.0, abs(center)):
        return level
    # A row with target t is one good row of weight t and one bad row of weight 1 - t. Standardised,
    # so that the solver's tolerance means the same for every metric.
    standardised = np.tile((scores - center) / spread, 2)[:, np.newaxis]
    fitted = linear_model.LogisticRegression(C=_NO_PENALTY, solver="newton-cholesky", tol=1e-8)
    fitted.fit(
        standardised,
        np.repeat([1, 0], len(scores)),
        sample_weight=np.concatenate([targets, 1 - targets]),
    )
    slope = float(fitted.coef_[0, 0]) / spread
    if slope <= 0:
        # The likelihood is concave: with the slope held at 0 or above, its greatest is at 0.
        return level
    return LogisticMap(slope, float(fitted.intercept_[0]) - slope * center)


FITS: Final[
    dict[str, Callable[[npt.NDArray[np.float64], npt.NDArray[np.bool_]], ProbabilityMap]]
] = {"isotonic": fit_isotonic, "logistic": fit_logistic}


def _logit(probability: float) -> float:
    return math.log(probability / (1 - probability))


def scikit_learn(module: str) -> Any:
    """A module of scikit-learn, which takes a second to import and may not be there."""
    try:
        return import_module(f"sklearn.{module}")
    except ImportError:
        raise MissingExtraError(
            "calibrate needs scikit-learn: pip install 'rag-eval-native[calibrate]'"
        ) from None
