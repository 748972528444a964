"""What labels say about the scores of one metric, under one signature."""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from rag_eval.calibration.inputs import Objective
from rag_eval.calibration.probabilities import Method, ProbabilityMap
from rag_eval.calibration.refitting import Refit
from rag_eval.errors import InputError, SignatureMismatchError
from rag_eval.kernels.settings import LOSSES
from rag_eval.metrics.registry import to_metric_id
from rag_eval.options.signature import Signature
from rag_eval.plumbing import json_text
from rag_eval.plumbing.spelling import camel_case
from rag_eval.samples import MetricId
from rag_eval.stats.intervals import Interval

FEW_LABELS: Final = 30
"""With fewer labels a calibration comes with a warning."""

FORMAT_VERSION: Final = 2
"""Of calibration files; goes up when an older reader would misread one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """Threshold and probabilities of one metric, fitted to labels by :func:`calibrate`.

    Attributes
    ----------
    metric : MetricId
    signature : Signature or None
        The settings of the scores that it applies to, including refitted weights; None if unknown.
    probability_map : IsotonicMap or LogisticMap
        Maps a score to the probability that a person would call the row good; never decreases.
    objective : {"balanced_accuracy", "precision"}
    precision : float or None
        The requested precision; None if the objective was balanced accuracy.
    threshold_interval : Interval
        Confidence interval of the threshold, which is chosen again on each resample.
    balanced_accuracy_interval : Interval
        Confidence interval of the balanced accuracy, on the rows that the threshold was chosen on.
    cross_validated_balanced_accuracy : float or None
        Measured on groups that were held out while the threshold was chosen; None if either class
        has rows in fewer than five groups, or if no threshold reaches the precision without the
        held-out rows.
    n_labels, n_groups : int
        Number of rows with a score and a label, and of their groups.
    n_null : int
        Number of rows left out because their score is null.
    share_good : float
        Share of good rows among those counted in ``n_labels``.
    refit : Refit or None
        Weights of faithfulness fitted to the labels, and their gain; None if none were fitted.
    """

    metric: MetricId
    signature: Signature | None
    probability_map: ProbabilityMap = field(repr=False)
    objective: Objective
    precision: float | None
    threshold_interval: Interval
    balanced_accuracy_interval: Interval
    cross_validated_balanced_accuracy: float | None
    n_labels: int
    n_groups: int
    n_null: int
    share_good: float
    refit: Refit | None = None

    @property
    def weights(self) -> dict[str, float] | None:
        """The fitted weight of each loss; None if the shipped weights are used."""
        if self.refit is None or not self.refit.used:
            return None
        return dict(zip(LOSSES, self.refit.weights, strict=True))

    @property
    def threshold(self) -> float:
        """The lowest score that passes; one of the labelled scores."""
        return self.threshold_interval.estimate

    @property
    def balanced_accuracy(self) -> float:
        """Mean of the shares of good rows that pass and of bad rows that do not.

        Computed on the rows that the threshold was chosen on, so it is a little too high.
        """
        return self.balanced_accuracy_interval.estimate

    @property
    def method(self) -> Method:
        """The kind of map: isotonic or logistic."""
        return self.probability_map.method

    @property
    def profile(self) -> str | None:
        """The profile of the scores; None if unknown."""
        return None if self.signature is None else self.signature.profile

    @property
    def digest(self) -> str:
        """Twelve hexadecimal digits that identify the threshold and the map."""
        text = json_text.dumps({"threshold": self.threshold, **self.probability_map.to_dict()})
        return hashlib.sha256(text).hexdigest()[:12]

    @property
    def remarks(self) -> list[str]:
        """Reasons not to rely on this calibration; empty if there are none."""
        found = []
        if self.n_labels < FEW_LABELS:
            found.append(
                f"only {self.n_labels} labels: threshold and probabilities are rough; use 100 to "
                "300"
            )
        if self.n_groups == 1:
            found.append(
                "all labels are in one group, so nothing is known about rows of other groups"
            )
        if self.probability_map.is_flat:
            found.append(f"{self.metric} does not separate good rows from bad ones")
        elif self.balanced_accuracy_interval.estimate <= 0.5:
            found.append(
                f"no threshold of {self.metric} finds good rows better than chance does: are good "
                "rows labelled 1 and bad ones 0?"
            )
        return found

    def probabilities(self, scores: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """The probability that a person would call each row good.

        Parameters
        ----------
        scores : array-like of float
            Of any shape; NaN and None stand for null.

        Returns
        -------
        float64, of the shape of ``scores``
            From 0 to 1; NaN where the score is NaN or None.
        """
        try:
            values = np.array(scores, np.float64, order="C")
        except (TypeError, ValueError):
            raise InputError(f"scores must be numbers, got {scores!r:.80}") from None
        return np.asarray(self.probability_map(values))

    def probability(self, score: float | None) -> float | None:
        """The probability for one score; None if the score is None or NaN."""
        found = float(self.probabilities(math.nan if score is None else score))
        return None if math.isnan(found) else found

    def check(self, metric: str, signature: Signature | None) -> str | None:
        """Check that this calibration applies to some scores.

        Returns
        -------
        str or None
            A note if one of the two has no signature, so that their settings cannot be compared.

        Raises
        ------
        InputError
            For another metric.
        SignatureMismatchError
            For scores of other settings; the message names each setting that differs.
        """
        if to_metric_id(metric) != self.metric:
            raise InputError(
                f"the calibration is for {self.metric}, not for {to_metric_id(metric)}"
            )
        if self.signature is None or signature is None:
            unsigned = "calibration" if self.signature is None else "result"
            return (
                f"the {unsigned} of {self.metric} has no signature: its settings are "
                "assumed to match, but were not checked"
            )
        differences = signature.differences(self.signature, [self.metric])
        if differences:
            raise SignatureMismatchError(
                f"the calibration of {self.metric} was made for scores of other settings "
                f"({'; '.join(differences)}); calibrate again with scores of these settings"
            )
        return None

    def to_dict(self) -> dict[str, Any]:
        """As JSON values, in the style of result files."""
        return {
            "formatVersion": FORMAT_VERSION,
            "metricId": camel_case(self.metric),
            "signature": None if self.signature is None else self.signature.to_dict(),
            "method": self.method,
            "map": self.probability_map.to_dict(),
            "objective": self.objective,
            "precision": self.precision,
            "threshold": self.threshold_interval.to_dict(),
            "balancedAccuracy": self.balanced_accuracy_interval.to_dict(),
            "crossValidatedBalancedAccuracy": self.cross_validated_balanced_accuracy,
            "nLabels": self.n_labels,
            "nGroups": self.n_groups,
            "nNull": self.n_null,
            "shareGood": self.share_good,
            "refit": None if self.refit is None else self.refit.to_dict(),
        }

    @staticmethod
    def from_dict(value: object) -> Calibration:
        """Read back what :meth:`to_dict` wrote; InputError for anything else."""
        from rag_eval.calibration.files import calibration_from_dict

        return calibration_from_dict(value)

    def save(self, path: str | Path) -> None:
        """Write a JSON file; an older file with that name is replaced when this one is complete."""
        from rag_eval.calibration.files import write_calibrations

        write_calibrations(self, path)

    @staticmethod
    def load(path: str | Path) -> Calibration:
        """Read the file of one calibration.

        Raises
        ------
        InputError
            If it cannot be read, was not written by :meth:`save`, or holds several calibrations
            (:func:`rag_eval.calibration.files.read_calibrations` reads those).
        """
        from rag_eval.calibration.files import read_one

        return read_one(path)
