"""Agreement of scores with labels, as numbers with their uncertainty and as JSON values."""

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
    """How far people agree among themselves: scores can hardly agree with them further.

    Attributes
    ----------
    n_samples : int
        With labels by two people or more.
    alpha : Interval or None
        Krippendorff's alpha; None without such samples, or where all labels are the same.
    alpha_ordinal : float or None
        The same of the order of labels alone.
    """

    n_samples: int
    alpha: Interval | None
    alpha_ordinal: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class AnnotatorAgreement(JsonRecord):
    """The scores against one of several people; None where a number is not defined."""

    annotator: str
    n_pairs: int
    alpha: float | None
    quadratic_kappa: float | None
    spearman: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class VerdictAgreement(JsonRecord):
    """Good or bad by people and by scores.

    Attributes
    ----------
    threshold : float or None
        From where a score is good; None where the run said it of each.
    label_threshold : float
        From where a label is, on the scale of the scores.
    table : ConfusionTable
        Rows by people, columns by scores; ``good`` is positive.
    cohen_kappa : Interval or None
    """

    threshold: float | None
    label_threshold: float
    table: ConfusionTable
    cohen_kappa: Interval | None


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelComparison:
    """Scores of one metric against labels; made by
    :func:`~rag_eval.labels.comparing_labels.compare_labels`.

    Attributes
    ----------
    metric, labels, scores : str
        What was compared, and the names of both sources.
    annotators : tuple of str
    n_labels, n_pairs : int
        Samples with a label, and those of them with a score.
    missing, unscored : tuple of str
        Labelled samples that the scores do not have, or have without a score.
    measurement : str
        Of alpha.
    people : PeopleAgreement or None
        None for a single annotator.
    alpha : Interval or None
        Krippendorff's alpha of scores and labels (means over annotators); None where it is not
        defined, or the two are on scales that cannot be compared.
    coefficients : mapping of Interval or None
        ``quadratic_kappa``, ``linear_kappa``, ``pearson``, ``spearman``, ``kendall``.
    each : tuple of AnnotatorAgreement
        Of several annotators one by one.
    verdicts : VerdictAgreement or None
        None without a threshold or verdicts.
    notes : tuple of str
        What casts doubt on it, or was left out.
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
