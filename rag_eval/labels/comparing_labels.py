"""Scores held against people's labels: both in, how far they agree out, with its uncertainty."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from rag_eval.errors import InputError
from rag_eval.judge.repeats import passes
from rag_eval.labels.comparisons import (
    AnnotatorAgreement,
    LabelComparison,
    PeopleAgreement,
    VerdictAgreement,
)
from rag_eval.labels.contamination import contamination_warnings
from rag_eval.labels.label_sets import LabelSet
from rag_eval.labels.score_columns import UNIT, ScoreColumn
from rag_eval.plumbing.checked_values import number
from rag_eval.stats.agreement import Coefficient, agreement_intervals, spearman, weighted_kappa
from rag_eval.stats.confusion import confusion_table
from rag_eval.stats.krippendorff import Measurement, alpha_with_interval, krippendorff_alpha

FEW_PAIRS: Final = 20
"""Below so many pairs an agreement is only a hint."""

# These compare values; the others only how values go together.
_OF_VALUES: Final[tuple[Coefficient, ...]] = ("quadratic_kappa", "linear_kappa")
_OF_ORDER: Final[tuple[Coefficient, ...]] = ("pearson", "spearman", "kendall")
_MIDDLE: Final = 0.5
_GOOD, _BAD = "good", "bad"

_Floats = npt.NDArray[np.float64]


def compare_labels(
    labels: LabelSet,
    column: ScoreColumn,
    *,
    threshold: float | None = None,
    label_threshold: float | None = None,
    scale: tuple[float, float] | None = None,
    measurement: Measurement = "interval",
    judges: Sequence[str] = (),
    seed: int = 0,
    n_resamples: int = 1000,
    level: float = 0.95,
) -> LabelComparison:
    """Hold scores against labels of the same samples.

    Parameters
    ----------
    labels : LabelSet
        Of several annotators the mean label of a sample is compared.
    column : ScoreColumn
    threshold : float, optional
        From where a score is good (up to where, where lower is better); the run's own verdicts by
        default.
    label_threshold : float, optional
        The same for labels, on the scale of the scores. By default that of the scores, or 0.5
        where the run gave verdicts, or labels are 0 and 1.
    scale : tuple of float, optional
        Least and largest label, which become 0 and 1; what the files say by default.
    measurement : {"interval", "ordinal", "nominal", "ratio"}
        Of alpha.
    judges : sequence of str
        Names of the judges, besides those that the scores know.
    seed, n_resamples, level
        Of the intervals, by resampling samples.
    """
    ratings, mapped = _on_score_scale(labels, column, scale)
    means = _means(ratings)
    pairs = _pairs(labels, column, means)
    comparable = column.scale is None or mapped or _within(ratings, column.scale)
    options: dict[str, Any] = {"seed": seed, "n_resamples": n_resamples, "level": level}
    left, right = means[pairs.places], pairs.scores
    names = (*_OF_VALUES, *_OF_ORDER)
    found = agreement_intervals(left, right, names if comparable else _OF_ORDER, **options)
    several = len(labels.annotators) > 1
    return LabelComparison(
        metric=column.metric,
        labels=labels.name,
        scores=column.name,
        annotators=labels.annotators,
        n_labels=int((~np.isnan(means)).sum()),
        n_pairs=len(left),
        missing=pairs.missing,
        unscored=pairs.unscored,
        measurement=measurement,
        people=_people(ratings, measurement, options) if several else None,
        alpha=alpha_with_interval(np.stack([left, right]), measurement=measurement, **options)
        if comparable
        else None,
        coefficients={name: found.get(name) for name in names},
        each=tuple(
            _each(name, ratings[row, pairs.places], right, measurement, comparable=comparable)
            for row, name in enumerate(labels.annotators)
        )
        if several
        else (),
        verdicts=_verdicts(column, pairs, left, threshold, label_threshold, options),
        notes=(
            *labels.notes,
            *_notes(labels, column, len(left), comparable=comparable, mapped=mapped),
            *contamination_warnings(labels.annotators, [*column.judges, *judges]),
            *column.notes,
        ),
    )


# ------------------------------------------------------------------------------------- pairing


@dataclass(frozen=True, slots=True)
class _Pairs:
    places: npt.NDArray[np.intp]
    ids: list[str]
    scores: _Floats
    missing: tuple[str, ...]
    unscored: tuple[str, ...]


def _pairs(labels: LabelSet, column: ScoreColumn, means: _Floats) -> _Pairs:
    """The labelled samples that have a score, in the order of the labels."""
    places, scores = [], []
    missing, unscored = [], []
    for place, (name, label) in enumerate(zip(labels.ids, means.tolist(), strict=True)):
        if math.isnan(label):
            continue
        if name not in column.scores:
            missing.append(name)
        elif (score := column.scores[name]) is None:
            unscored.append(name)
        else:
            places.append(place)
            scores.append(score)
    return _Pairs(
        np.array(places, np.intp),
        [labels.ids[place] for place in places],
        np.array(scores, np.float64),
        tuple(missing),
        tuple(unscored),
    )


def _on_score_scale(
    labels: LabelSet, column: ScoreColumn, scale: tuple[float, float] | None
) -> tuple[_Floats, bool]:
    """The ratings as the scores would say them, and whether their scale is known."""
    known = labels.scale if scale is None else scale
    if known is None or column.scale is None:
        return labels.ratings, False
    low, high = known
    if not number(low, "scale") < number(high, "scale"):
        raise InputError(f"scale must go up, got {low:g} to {high:g}")
    # What a folder says of itself is a note there.
    if scale is not None and not _within(labels.ratings, known):
        outside = labels.ratings[(labels.ratings < low) | (labels.ratings > high)]
        raise InputError(
            f"{labels.name}: a label is {outside[0]:g}, outside the scale of {low:g} to {high:g}"
        )
    to_low, to_high = column.scale
    return to_low + (labels.ratings - low) / (high - low) * (to_high - to_low), True


def _means(ratings: _Floats) -> _Floats:
    """Mean label of each sample, NaN where nobody gave one."""
    given = ~np.isnan(ratings)
    n = given.sum(axis=0)
    sums = np.where(given, ratings, 0.0).sum(axis=0)
    return np.asarray(np.where(n > 0, sums / np.maximum(n, 1), np.nan), np.float64)


def _within(ratings: _Floats, scale: tuple[float, float]) -> bool:
    known = ratings[~np.isnan(ratings)]
    return bool((known >= scale[0]).all() and (known <= scale[1]).all())


# ----------------------------------------------------------------------------------- agreement


def _people(
    ratings: _Floats, measurement: Measurement, options: Mapping[str, Any]
) -> PeopleAgreement:
    return PeopleAgreement(
        n_samples=int(((~np.isnan(ratings)).sum(axis=0) > 1).sum()),
        alpha=alpha_with_interval(ratings, measurement=measurement, **options),
        alpha_ordinal=krippendorff_alpha(ratings, measurement="ordinal"),
    )


def _each(
    annotator: str,
    ratings: _Floats,
    scores: _Floats,
    measurement: Measurement,
    *,
    comparable: bool,
) -> AnnotatorAgreement:
    columns = np.stack([ratings, scores])
    return AnnotatorAgreement(
        annotator=annotator,
        n_pairs=int((~np.isnan(ratings)).sum()),
        alpha=krippendorff_alpha(columns, measurement=measurement) if comparable else None,
        quadratic_kappa=weighted_kappa(ratings, scores) if comparable else None,
        spearman=spearman(ratings, scores),
    )


def _verdicts(
    column: ScoreColumn,
    pairs: _Pairs,
    labels: _Floats,
    threshold: float | None,
    label_threshold: float | None,
    options: Mapping[str, Any],
) -> VerdictAgreement | None:
    found: list[bool | None]
    better = column.higher_is_better
    if threshold is None:
        found = [column.passed.get(name) for name in pairs.ids]
        if all(one is None for one in found):
            return None
    else:
        number(threshold, "threshold")
        found = [passes(score, threshold, higher_is_better=better) for score in pairs.scores]
    if label_threshold is None:
        binary = bool(np.isin(labels, UNIT).all())
        label_threshold = _MIDDLE if threshold is None or binary else threshold
    number(label_threshold, "label_threshold")
    people = [passes(label, label_threshold, higher_is_better=better) for label in labels]
    kappa = agreement_intervals(people, found, ["cohen_kappa"], **options)
    names = {True: _GOOD, False: _BAD, None: None}
    return VerdictAgreement(
        threshold=threshold,
        label_threshold=label_threshold,
        table=confusion_table(
            [names[one] for one in people],
            [names[one] for one in found],
            labels=[_BAD, _GOOD],
            positive=_GOOD,
        ),
        cohen_kappa=kappa["cohen_kappa"],
    )


def _notes(
    labels: LabelSet, column: ScoreColumn, n_pairs: int, *, comparable: bool, mapped: bool
) -> list[str]:
    notes = []
    if n_pairs < FEW_PAIRS:
        notes.append(f"only {n_pairs:,} samples have a label and a score: take it as a hint")
    if not comparable:
        known = labels.ratings[~np.isnan(labels.ratings)]
        notes.append(
            f"labels from {known.min():g} to {known.max():g} cannot be compared with scores from "
            "0 to 1, only their order; say the scale of the labels for alpha and kappa"
        )
    if not column.higher_is_better:
        notes.append(
            f"of {column.metric} lower is better: labels are taken to be on its own scale, "
            "where 0 is best"
        )
    if not mapped and labels.scale is not None and column.scale is None:
        low, high = labels.scale
        notes.append(
            f"labels are on a scale of {low:g} to {high:g}, that of the scores is not known: both "
            "are compared as they are"
        )
    return notes
