"""Scores and human labels in; their agreement, with confidence intervals, out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np

from rag_eval.errors import InputError
from rag_eval.judge.repeats import passes
from rag_eval.labels.comparisons import (
    AnnotatorAgreement,
    LabelComparison,
    PeopleAgreement,
    VerdictAgreement,
)
from rag_eval.labels.label_sets import LabelSet, mean_labels
from rag_eval.labels.score_columns import UNIT, ScoreColumn
from rag_eval.plumbing.checked_values import number
from rag_eval.plumbing.spelling import counted
from rag_eval.stats.agreement import Coefficient, coefficient_intervals, spearman, weighted_kappa
from rag_eval.stats.arrays import Floats
from rag_eval.stats.confusion import confusion_table
from rag_eval.stats.index_sources import Resampling
from rag_eval.stats.krippendorff import Measurement, alpha_with_interval, krippendorff_alpha

FEW_PAIRS: Final = 20
"""With fewer pairs, agreement is only indicative."""

# These compare values; the others only compare how values vary together.
_OF_VALUES: Final[tuple[Coefficient, ...]] = ("quadratic_kappa", "linear_kappa")
_OF_ORDER: Final[tuple[Coefficient, ...]] = ("pearson", "spearman", "kendall")
_MIDDLE: Final = 0.5
_GOOD, _BAD = "good", "bad"


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
    level: float = 0.95,
) -> LabelComparison:
    """Compare scores with labels of the same samples.

    Parameters
    ----------
    labels : LabelSet
        With several annotators, the mean label of each sample is compared.
    column : ScoreColumn
    threshold : float, optional
        Lowest score that is good (highest, where lower is better). Default: the verdicts of the
        run.
    label_threshold : float, optional
        The same for labels, on the scale of the scores. Default: that of the scores, or 0.5 if the
        run has verdicts or the labels are 0 and 1.
    scale : tuple of float, optional
        Smallest and largest label, which become 0 and 1. Default: the scale in the files.
    measurement : {"interval", "ordinal", "nominal", "ratio"}
        Level of measurement for alpha.
    judges : sequence of str
        Names of further judges, besides those recorded with the scores.
    seed, level
        Seed and confidence level of the intervals, which resample the samples.
    """
    ratings, mapped = _on_score_scale(labels, column, scale)
    means = mean_labels(ratings)
    places = {one: place for place, one in enumerate(labels.ids) if not np.isnan(means[place])}
    pairs = label_pairs(places, column.scores)
    paired = [places[one] for one in pairs.ids]
    comparable = column.scale is None or mapped or _within(ratings, column.scale)
    resampling = Resampling(seed=seed, level=level)
    left, right = means[paired], np.array(pairs.scores, np.float64)
    names = (*_OF_VALUES, *_OF_ORDER)
    found = coefficient_intervals(left, right, names if comparable else _OF_ORDER, resampling)
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
        people=_people(ratings, measurement, resampling) if several else None,
        alpha=alpha_with_interval(
            np.stack([left, right]), measurement=measurement, resampling=resampling
        )
        if comparable
        else None,
        coefficients={name: found.get(name) for name in names},
        each=tuple(
            _each(name, ratings[row, paired], right, measurement, comparable=comparable)
            for row, name in enumerate(labels.annotators)
        )
        if several
        else (),
        verdicts=_verdicts(column, pairs, left, threshold, label_threshold, resampling),
        notes=(
            *labels.notes,
            *_notes(labels, column, len(left), comparable=comparable, mapped=mapped),
            *contamination_warnings(labels.annotators, [*column.judges, *judges]),
            *column.notes,
        ),
    )


# ------------------------------------------------------------------------------------- pairing


class LabelPairs(NamedTuple):
    """Labelled samples with a score, without a row in the scores, and with a null score."""

    ids: list[str]
    scores: list[float]
    missing: tuple[str, ...]
    unscored: tuple[str, ...]


def label_pairs(labels: Iterable[str], scores: Mapping[str, float | None]) -> LabelPairs:
    """The labelled samples with a score, in the order of the labels."""
    missing, unscored, found = [], [], {}
    for name in labels:
        if name not in scores:
            missing.append(name)
        elif (score := scores[name]) is None:
            unscored.append(name)
        else:
            found[name] = score
    return LabelPairs(list(found), list(found.values()), tuple(missing), tuple(unscored))


def _on_score_scale(
    labels: LabelSet, column: ScoreColumn, scale: tuple[float, float] | None
) -> tuple[Floats, bool]:
    """The ratings on the scale of the scores, and whether their scale is known."""
    known = labels.scale if scale is None else scale
    if known is None or column.scale is None:
        return labels.ratings, False
    low, high = known
    if not number(low, "scale") < number(high, "scale"):
        raise InputError(f"scale must have its lower end first, got {low:g} to {high:g}")
    # A folder notes labels outside its own scale itself.
    if scale is not None and not _within(labels.ratings, known):
        outside = labels.ratings[(labels.ratings < low) | (labels.ratings > high)]
        raise InputError(
            f"{labels.name}: the label {outside[0]:g} is outside the scale of {low:g} to {high:g}"
        )
    to_low, to_high = column.scale
    return to_low + (labels.ratings - low) / (high - low) * (to_high - to_low), True


def _within(ratings: Floats, scale: tuple[float, float]) -> bool:
    known = ratings[~np.isnan(ratings)]
    return bool((known >= scale[0]).all() and (known <= scale[1]).all())


# ----------------------------------------------------------------------------------- agreement


def _people(ratings: Floats, measurement: Measurement, resampling: Resampling) -> PeopleAgreement:
    return PeopleAgreement(
        n_samples=int(((~np.isnan(ratings)).sum(axis=0) > 1).sum()),
        alpha=alpha_with_interval(ratings, measurement=measurement, resampling=resampling),
        alpha_ordinal=krippendorff_alpha(ratings, measurement="ordinal"),
    )


def _each(
    annotator: str, ratings: Floats, scores: Floats, measurement: Measurement, *, comparable: bool
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
    pairs: LabelPairs,
    labels: Floats,
    threshold: float | None,
    label_threshold: float | None,
    resampling: Resampling,
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
    kappa = coefficient_intervals(people, found, ["cohen_kappa"], resampling)
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
        notes.append(
            f"only {counted(n_pairs, 'pair')} of label and score: the agreement is only indicative"
        )
    if not comparable:
        known = labels.ratings[~np.isnan(labels.ratings)]
        notes.append(
            f"labels from {known.min():g} to {known.max():g} cannot be compared with scores from "
            "0 to 1, except by their order; alpha and kappa need the scale of the labels"
        )
    if not column.higher_is_better:
        notes.append(
            f"lower is better for {column.metric}; its labels must use the same scale, where 0 is "
            "best"
        )
    if not mapped and labels.scale is not None and column.scale is None:
        low, high = labels.scale
        notes.append(
            f"labels are on a scale of {low:g} to {high:g}, but the scale of the scores is "
            "unknown: both are compared unchanged"
        )
    return notes


def is_contaminated(annotator: str, judges: Iterable[str]) -> bool:
    """Whether the name of an annotator contains that of a judge or the reverse, ignoring case.

    Labels by the judging model only show how far it agrees with itself.
    """
    name = annotator.strip().lower()
    others = [judge.strip().lower() for judge in judges]
    return bool(name) and any(other and (name in other or other in name) for other in others)


def contamination_warnings(annotators: Iterable[str], judges: Iterable[str]) -> list[str]:
    """A sentence for each annotator who seems to be one of the judges."""
    judges = list(judges)
    return [
        f"the annotator {annotator} has the name of a judge ({', '.join(judges)}): the agreement "
        "of a judge with its own labels means nothing"
        for annotator in annotators
        if is_contaminated(annotator, judges)
    ]
