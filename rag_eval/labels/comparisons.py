"""Agreement of scores with labels, with confidence intervals and as JSON values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from rag_eval.plumbing.json_records import JsonRecord
from rag_eval.plumbing.spelling import camel_case
from rag_eval.stats.agreement import Coefficient
from rag_eval.stats.confusion import ConfusionTable
from rag_eval.stats.intervals import Interval
from rag_eval.stats.krippendorff import Measurement


@dataclass(frozen=True, slots=True, kw_only=True)
class PeopleAgreement(JsonRecord):
    """Agreement of the annotators with each other, a practical limit for that of scores.

    Attributes
    ----------
    n_samples : int
        Samples with labels by two or more people.
    alpha : Interval or None
        Krippendorff's alpha; None without such samples or if all labels are the same.
    alpha_ordinal : float or None
        The same for ordinal labels.
    """

    n_samples: int
    alpha: Interval | None
    alpha_ordinal: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class AnnotatorAgreement(JsonRecord):
    """Agreement of the scores with one of several annotators; undefined numbers are None."""

    annotator: str
    n_pairs: int
    alpha: float | None
    quadratic_kappa: float | None
    spearman: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class VerdictAgreement(JsonRecord):
    """Good and bad samples by labels and by scores.

    Attributes
    ----------
    threshold : float or None
        Lowest good score; None if the run has verdicts.
    label_threshold : float
        Lowest good label, on the scale of the scores.
    table : ConfusionTable
        Rows are labels, columns are scores; ``good`` is positive.
    cohen_kappa : Interval or None
    """

    threshold: float | None
    label_threshold: float
    table: ConfusionTable
    cohen_kappa: Interval | None


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelComparison:
    """Scores of one metric compared with labels; made by
    :func:`~rag_eval.labels.comparing_labels.compare_labels`.

    Attributes
    ----------
    metric, labels, scores : str
        What was compared, and the names of both sources.
    annotators : tuple of str
    n_labels, n_pairs : int
        Samples with a label, and samples with both a label and a score.
    missing, unscored : tuple of str
        Labelled samples that are not in the scores, and those with a null score.
    measurement : str
        Level of measurement for alpha.
    people : PeopleAgreement or None
        None for a single annotator.
    alpha : Interval or None
        Krippendorff's alpha of scores and labels (means over annotators); None if undefined or if
        the scales cannot be compared.
    coefficients : mapping of Interval or None
        ``quadratic_kappa``, ``linear_kappa``, ``pearson``, ``spearman``, ``kendall``.
    each : tuple of AnnotatorAgreement
        One per annotator, if there are several.
    verdicts : VerdictAgreement or None
        None if there is neither a threshold nor verdicts.
    notes : tuple of str
        Reasons for doubt, and what was left out.
    """

    metric: str
    labels: str
    scores: str
    annotators: tuple[str, ...]
    n_labels: int
    n_pairs: int
    missing: tuple[str, ...] = field(repr=False)
    unscored: tuple[str, ...] = field(repr=False)
    measurement: Measurement
    people: PeopleAgreement | None
    alpha: Interval | None
    coefficients: Mapping[Coefficient, Interval | None]
    each: tuple[AnnotatorAgreement, ...]
    verdicts: VerdictAgreement | None
    notes: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        return {
            "metric": camel_case(self.metric),
            "labels": self.labels,
            "scores": self.scores,
            "annotators": list(self.annotators),
            "nLabels": self.n_labels,
            "nPairs": self.n_pairs,
            "missing": list(self.missing),
            "unscored": list(self.unscored),
            "measurement": self.measurement,
            "people": None if self.people is None else self.people.to_dict(),
            "alpha": _json(self.alpha),
            **{camel_case(name): _json(one) for name, one in self.coefficients.items()},
            "each": [one.to_dict() for one in self.each],
            "verdicts": None if self.verdicts is None else self.verdicts.to_dict(),
            "notes": list(self.notes),
        }


def _json(found: Interval | None) -> dict[str, Any] | None:
    return None if found is None else found.to_dict()
