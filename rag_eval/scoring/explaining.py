"""One row -> its scores, and these put into words."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from rag_eval.errors import InputError
from rag_eval.kernels import scoring as kernels
from rag_eval.kernels.columns import SampleBatch
from rag_eval.kernels.languages import LISTED
from rag_eval.kernels.scoring import metric_numbers
from rag_eval.kernels.settings import OverlapSettings
from rag_eval.metrics.contract import Fields, Scored
from rag_eval.options.plan import Plan
from rag_eval.options.signature import signature_of
from rag_eval.plumbing.spelling import camel_case
from rag_eval.results import words_overlap
from rag_eval.results.judged import JudgedRowScores
from rag_eval.results.row import (
    ByMetric,
    CostTracker,
    EvalResult,
    MetricResult,
    Refusal,
    Words,
)
from rag_eval.results.verdicts import judge_rows
from rag_eval.samples import MetricId, NullReason

NativeWords: TypeAlias = Callable[[Iterable[MetricId]], dict[MetricId, Words]]
"""Gives the words for the scores of some metrics that kernels computed."""

_NO_COST: Final = CostTracker()


class Computed(NamedTuple):
    """What kernels or a scorer gave a row for one metric, before any judge; NaN where null."""

    score: float
    null_reason: NullReason

    @classmethod
    def of(cls, found: Scored) -> Computed:
        """The score that a scorer found."""
        return cls(math.nan if found.score is None else found.score, found.null_reason)


@dataclass(frozen=True, slots=True)
class ScoredRow:
    """A row with its scores, and what it takes to explain them; made by :func:`scored_row`.

    Attributes
    ----------
    scores : float64, shape (M,)
        Columns as in ``plan.columns``; NaN where null.
    computed : dict of Computed
        Per metric that kernels or scorers computed, whoever scores it in the end.
    found : mapping of Scored
        Per metric of a scorer what it found.
    judged : mapping of JudgedScore
        Per metric that a judge was asked about what it said.
    """

    sample: Any
    plan: Plan
    scores: npt.NDArray[np.float64]
    computed: dict[MetricId, Computed]
    native_words: NativeWords
    language: str | None
    refusal: Refusal | None = None
    found: Mapping[MetricId, Scored] = field(default_factory=dict)
    judged: JudgedRowScores = field(default_factory=dict)

    def same_as(self, number: int, scores: npt.NDArray[np.float64]) -> ScoredRow:
        """Itself, if row ``number`` had these scores before.

        Raises
        ------
        InputError
            When the sample has changed since.
        """
        if not np.array_equal(self.scores, scores, equal_nan=True):
            raise InputError(f"row {number} has other scores than before: its sample was changed")
        return self

    def explained(self, evaluated_at: str) -> EvalResult:
        """The row's result, with an explanation and signals for each score."""
        plan = self.plan
        verdicts = judge_rows(self.scores.reshape(1, -1), plan, self._null_reasons())
        composite = float(verdicts.composite[0])
        words, cost = self._words()
        columns = zip(
            plan.columns, self.scores.tolist(), verdicts.metric_passed[0].tolist(), strict=True
        )
        return EvalResult(
            sample=self.sample,
            metrics=ByMetric(
                {
                    metric: self._result(metric, score, passed, words[metric])
                    for metric, score, passed in columns
                }
            ),
            cost=cost,
            composite_score=None if math.isnan(composite) else composite,
            passed=bool(verdicts.passed[0]),
            evaluated_at=evaluated_at,
            signature=signature_of(plan),
            language=self.language,
            refusal=self.refusal,
        )

    def _null_reasons(self) -> npt.NDArray[np.uint8]:
        """Why scores are null; shape (1, M)."""
        reasons = [self.computed.get(metric) for metric in self.plan.columns]
        return np.array([[0 if one is None else one.null_reason for one in reasons]], np.uint8)

    def _words(self) -> tuple[dict[MetricId, Words], CostTracker]:
        """The words for every column, and what judging the row took."""
        if not self.found and not self.judged:
            return self.native_words(self.plan.columns), _NO_COST
        from rag_eval.scoring.findings import cost_of_row, words_of_row

        return words_of_row(self), cost_of_row(self.judged)

    def _result(self, metric: MetricId, score: float, passed: bool, words: Words) -> MetricResult:
        explanation, signals, more = words
        threshold = self.plan.thresholds[metric]
        is_null = math.isnan(score)
        computed = self.computed.get(metric)
        if computed is not None:
            more = {"null_reason": computed.null_reason, **more}
            calibration = self.plan.calibrations.get(metric)
            if calibration is not None:
                native = None if computed.null_reason else computed.score
                more["probability"] = calibration.probability(native)
        return MetricResult(
            metric_id=metric,
            score=None if is_null else score,
            passed=None if is_null or threshold is None else passed,
            threshold=threshold,
            explanation=explanation,
            signals=signals,
            **more,
        )


def scored_row(
    sample: Any,
    batch: SampleBatch,
    place: int,
    plan: Plan,
    judged: JudgedRowScores | None = None,
    fields: Fields | None = None,
) -> ScoredRow:
    """Score the row at ``place`` of a batch, and keep what its scores are made of.

    Parameters
    ----------
    judged : mapping of JudgedScore, optional
        What a judge said about the row when it was asked.
    fields : mapping, optional
        Those that scorers read, where the sample does not have them all.
    """
    metrics = metric_numbers(plan.native_columns)
    details, native_words, language, refusal = _details(batch, place, plan, metrics)
    computed: dict[MetricId, Computed] = {}
    for metric, number in zip(plan.native_columns, metrics.tolist(), strict=True):
        reason = NullReason(details.reasons[number])
        computed[metric] = Computed(math.nan if reason else details.scores[number], reason)
    found: dict[MetricId, Scored] = {}
    if plan.scorers:
        from rag_eval.scoring.findings import found_in

        found = found_in(sample, plan, fields)
        computed |= {metric: Computed.of(one) for metric, one in found.items()}
    scores = {metric: one.score for metric, one in computed.items()}
    if plan.judging is not None:
        from rag_eval.scoring.findings import judged_scores

        scores = judged_scores(plan, scores, judged or {})
    return ScoredRow(
        sample,
        plan,
        np.array([scores[metric] for metric in plan.columns]),
        computed,
        native_words,
        language,
        refusal,
        found,
        judged or {},
    )


def _details(
    batch: SampleBatch, place: int, plan: Plan, metrics: npt.NDArray[np.int64]
) -> tuple[kernels.RowDetails | kernels.GroundedDetails, NativeWords, str | None, Refusal | None]:
    """What kernels find in a row, the words for it, its language, and whether it declines."""
    settings = plan.settings
    if isinstance(settings, OverlapSettings):
        found = kernels.overlap_details(batch, place, settings, metrics)
        words = partial(words_overlap.words_of_row, found, batch, place, settings)
        return found, _absent_said(words, batch) if batch.absent else words, None, None
    from rag_eval.results import words_grounded

    # Of the row alone: the stems of a whole batch would be computed again for every row.
    batch = batch.row(place)
    details = kernels.grounded_details(batch, 0, settings, metrics)
    words = partial(words_grounded.words_of_row, details, batch, settings)
    return details, words, LISTED[details.language], words_grounded.refusal_of(details)


def _absent_said(words: NativeWords, batch: SampleBatch) -> NativeWords:
    """The words for scores, where some are null because no row has a field that they need."""

    def said(metrics: Iterable[MetricId]) -> dict[MetricId, Words]:
        every = [*metrics]
        lacked = {metric: kernels.lacked_field(batch, metric) for metric in every}
        found = words([metric for metric in every if lacked[metric] is None])
        for metric, name in lacked.items():
            if name is not None:
                text = f"{name} is required for {camel_case(metric)} but was not provided."
                found[metric] = text, (), {}
        return found

    return said
