"""One row -> its scores, with explanations."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias, cast

import numpy as np
import numpy.typing as npt

from rag_eval.errors import InputError
from rag_eval.kernels import scoring as kernels
from rag_eval.kernels.columns import SampleBatch
from rag_eval.kernels.languages import LISTED
from rag_eval.kernels.scoring import metric_numbers
from rag_eval.kernels.settings import OverlapSettings, Settings
from rag_eval.kernels.verdicts import verdicts_of
from rag_eval.metrics.contract import Fields, Scored
from rag_eval.metrics.ids import METRIC_NUMBERS
from rag_eval.options.plan import Plan
from rag_eval.options.signature import Signature, signature_of
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
from rag_eval.samples import MetricId, NullReason

if TYPE_CHECKING:
    from rag_eval.results import words_grounded

    RowFacts: TypeAlias = words_overlap.RowFacts | words_grounded.RowFacts


_RowDetails: TypeAlias = "tuple[RowFacts, str | None, Refusal | None]"

_NO_COST: Final = CostTracker()
_REASONS: Final = {reason.value: reason for reason in NullReason}


class Computed(NamedTuple):
    """What kernels or a scorer gave a row for one metric, before any judge; NaN where null."""

    score: float
    null_reason: NullReason

    @classmethod
    def of(cls, found: Scored) -> Computed:
        """The score that a scorer found."""
        return cls(math.nan if found.score is None else found.score, found.null_reason)


def _native(details: kernels.Details, number: int) -> Computed:
    reason = _REASONS[details.reasons[number]]
    return Computed(math.nan if reason else details.scores[number], reason)


@dataclass(frozen=True, slots=True)
class ScoredRow:
    """A row with its scores and the data to explain them; made by :func:`scored_row`.

    Attributes
    ----------
    scores : float64, shape (M,)
        Columns as in ``plan.columns``; NaN where null.
    facts : RowFacts
        What kernels found, and what of the texts is quoted.
    found : mapping of Scored
        Per metric of a scorer what it found.
    judged : mapping of JudgedScore
        Per metric that a judge was asked about what it said.
    """

    sample: Any
    plan: Plan
    scores: npt.NDArray[np.float64]
    facts: RowFacts
    language: str | None
    refusal: Refusal | None = None
    found: Mapping[MetricId, Scored] = field(default_factory=dict)
    judged: JudgedRowScores = field(default_factory=dict)

    def same_as(self, number: int, scores: npt.NDArray[np.float64]) -> ScoredRow:
        """Return this row if row ``number`` had the same scores before; otherwise raise an error.

        Raises
        ------
        InputError
            When the sample has changed since.
        """
        # Bytes are compared in a tenth of the time.
        if self.scores.tobytes() != scores.tobytes() and not np.array_equal(
            self.scores, scores, equal_nan=True
        ):
            raise InputError(f"row {number} has other scores than before: its sample was changed")
        return self

    @property
    def details(self) -> kernels.Details:
        """What kernels found."""
        return self.facts.details

    def native_words(self, metrics: Iterable[MetricId]) -> dict[MetricId, Words]:
        """The explanations of scores that kernels computed."""
        names = tuple(metrics)
        return words_overlap.as_words(dict(zip(names, self.facts.said(names), strict=True)))

    def explained(self, evaluated_at: str) -> EvalResult:
        """The row's result, with an explanation and signals for each score."""
        return explained_rows([self], evaluated_at)[0]

    def computed(self, metric: MetricId) -> Computed | None:
        """What kernels or a scorer computed for a metric, whoever scores it in the end."""
        if metric in self.plan.native_columns:
            return _native(self.details, METRIC_NUMBERS[metric])
        found = self.found.get(metric)
        return None if found is None else Computed.of(found)

    def null_reasons(self) -> list[NullReason]:
        """Why scores are null, by column."""
        plan = self.plan
        if plan.native_columns == plan.columns:
            reasons = self.details.reasons
            return [_REASONS[reasons[METRIC_NUMBERS[metric]]] for metric in plan.columns]
        computed = map(self.computed, plan.columns)
        return [NullReason.MEASURED if one is None else one.null_reason for one in computed]

    def result(
        self,
        composite: float,
        passed: bool,
        metric_passed: Sequence[bool],
        evaluated_at: str,
        duration_ms: int,
        signature: Signature,
        *,
        lazily: bool,
    ) -> EvalResult:
        """The row's result with these verdicts."""
        metrics: ByMetric[MetricResult]
        cost = _NO_COST
        if lazily and not (self.found or self.judged or self.plan.calibrations):
            metrics = LazyMetrics.of(self, metric_passed)
        else:
            words, cost = self._words()
            metrics = ByMetric(self.metric_results(metric_passed, words))
        return EvalResult(
            sample=self.sample,
            metrics=metrics,
            cost=cost,
            composite_score=None if math.isnan(composite) else composite,
            passed=passed,
            evaluated_at=evaluated_at,
            duration_ms=duration_ms,
            signature=signature,
            language=self.language,
            refusal=self.refusal,
        )

    def _words(self) -> tuple[dict[MetricId, Words], CostTracker]:
        """The words for every column, and what judging the row took."""
        if not self.found and not self.judged:
            return self.native_words(self.plan.columns), _NO_COST
        from rag_eval.scoring.findings import cost_of_row, words_of_row

        return words_of_row(self), cost_of_row(self.judged)

    def metric_results(
        self, passed: Sequence[bool], words: Mapping[MetricId, Words]
    ) -> dict[MetricId, MetricResult]:
        """The result of each column that there are words for."""
        columns = zip(self.plan.columns, self.scores.tolist(), passed, strict=True)
        return {
            metric: self._result(metric, score, is_passed, words[metric])
            for metric, score, is_passed in columns
            if metric in words
        }

    def _result(self, metric: MetricId, score: float, passed: bool, words: Words) -> MetricResult:
        explanation, signals, more = words
        threshold = self.plan.thresholds[metric]
        is_null = math.isnan(score)
        computed = self.computed(metric)
        if computed is not None:
            if computed.null_reason and "null_reason" not in more:
                more["null_reason"] = computed.null_reason
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


class MetricScore(NamedTuple):
    """A :class:`MetricResult` without what is said of its score."""

    metric_id: MetricId
    score: float | None
    passed: bool | None
    threshold: float | None
    null_reason: NullReason


class LazyMetrics(ByMetric[MetricResult]):
    """The metrics of a row that kernels alone scored; each is explained when it is looked at.

    Made of values, it is a :class:`ByMetric` as any other.
    """

    __slots__ = ("_one_by_one", "_passed", "_row")
    _row: ScoredRow | None
    _passed: Sequence[bool]
    _one_by_one: dict[str, MetricResult]

    def __init__(self, values: Mapping[MetricId, MetricResult]) -> None:
        super().__init__(values)
        object.__setattr__(self, "_row", None)
        object.__setattr__(self, "_one_by_one", self._values)

    @classmethod
    def of(cls, row: ScoredRow, passed: Sequence[bool]) -> LazyMetrics:
        """Those of a scored row."""
        metrics = cls.__new__(cls)
        object.__setattr__(metrics, "_row", row)
        object.__setattr__(metrics, "_passed", passed)
        object.__setattr__(metrics, "_one_by_one", {})
        return metrics

    def __getattr__(self, name: str) -> Any:
        if name != "_values":
            return super().__getattr__(name)
        row = self._row
        assert row is not None
        values = row.metric_results(self._passed, row.native_words(row.plan.columns))
        values |= self._one_by_one
        object.__setattr__(self, "_one_by_one", values)
        object.__setattr__(self, "_values", values)
        return values

    def __getitem__(self, name: str) -> MetricResult:
        found = self._one_by_one.get(name)
        return self._find(name) if found is None else found

    def _find(self, name: str) -> MetricResult:
        row, made = self._row, self._one_by_one
        if row is not None and name not in made and name in row.plan.columns:
            made |= row.metric_results(self._passed, row.native_words((name,)))
        found = made.get(name)
        return super()._find(name) if found is None else found

    def scored(self) -> Sequence[MetricResult | MetricScore]:
        """All metrics without what is said of them."""
        row = self._row
        if row is None:
            return tuple(self._values.values())
        thresholds, metrics = row.plan.thresholds, row.plan.columns
        found, scores = [], row.scores.tolist()
        # Most rows have no null, and looking up the reasons takes as long as all the rest.
        has_null = any(map(math.isnan, scores))
        reasons = row.null_reasons() if has_null else [NullReason.MEASURED] * len(scores)
        columns = zip(metrics, scores, self._passed, reasons, strict=True)
        for metric, score, passed, reason in columns:
            threshold = thresholds[metric]
            if math.isnan(score):
                found.append(MetricScore(metric, None, None, threshold, reason))
            else:
                verdict = None if threshold is None else passed
                found.append(MetricScore(metric, score, verdict, threshold, reason))
        return found

    def said(self) -> Sequence[words_overlap.Said] | None:
        """What is said of each metric, sentences apart, in a sixth of the time of explanations.

        None for metrics that were made of values.
        """
        return None if self._row is None else self._row.facts.unquoted().said(self.columns)

    @property
    def facts(self) -> RowFacts | None:
        """What explanations are made of, if it is known."""
        return None if self._row is None else self._row.facts

    @property
    def details(self) -> kernels.Details | None:
        """What kernels found in the row, if it is known."""
        return None if self.facts is None else self.facts.details

    @property
    def columns(self) -> tuple[MetricId, ...]:
        """Those that the row has."""
        return tuple(self._values) if self._row is None else self._row.plan.columns

    def __iter__(self) -> Iterator[MetricId]:
        return iter(self.columns)


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
    own = batch if batch.n_rows == 1 else batch.row(place)
    return scored_rows([sample], own, plan, [judged or {}], [fields])[0]


def scored_rows(
    samples: Sequence[Any],
    batch: SampleBatch,
    plan: Plan,
    judged: Sequence[JudgedRowScores],
    fields: Sequence[Fields | None],
    details: Sequence[kernels.Details] | None = None,
) -> list[ScoredRow]:
    """As :func:`scored_row`, for all rows of a batch; rows with details are not scored again."""
    rows = zip(samples, _details(batch, plan, details), judged, fields, strict=True)
    return [_scored_row(*row, plan) for row in rows]


def explained_rows(
    rows: Sequence[ScoredRow], evaluated_at: str, duration_ms: int = 0, *, lazily: bool = False
) -> list[EvalResult]:
    """The results of rows of one plan, with an explanation and signals for each score.

    ``lazily`` puts them into words where they are looked at.
    """
    if not rows:
        return []
    plan = rows[0].plan
    reasons = np.array([row.null_reasons() for row in rows], np.uint8)
    verdicts = verdicts_of(np.array([row.scores for row in rows]), plan.rule, reasons)
    composites, passed = verdicts.composite.tolist(), verdicts.passed.tolist()
    metric_passed, signature = verdicts.metric_passed.tolist(), signature_of(plan)
    return [
        row.result(
            composite, is_passed, metrics, evaluated_at, duration_ms, signature, lazily=lazily
        )
        for row, composite, is_passed, metrics in zip(
            rows, composites, passed, metric_passed, strict=True
        )
    ]


def _scored_row(
    sample: Any,
    details: _RowDetails,
    judged: JudgedRowScores,
    fields: Fields | None,
    plan: Plan,
) -> ScoredRow:
    facts, language, refusal = details
    native, reasons = facts.details.scores, facts.details.reasons
    scores = {
        metric: math.nan if reasons[number := METRIC_NUMBERS[metric]] else native[number]
        for metric in plan.native_columns
    }
    found: dict[MetricId, Scored] = {}
    if plan.scorers:
        from rag_eval.scoring.findings import found_in

        found = found_in(sample, plan, fields)
        scores |= {metric: Computed.of(one).score for metric, one in found.items()}
    if plan.judging is not None:
        from rag_eval.scoring.findings import judged_scores

        scores = judged_scores(plan, scores, judged)
    return ScoredRow(
        sample,
        plan,
        np.array([scores[metric] for metric in plan.columns]),
        facts,
        language,
        refusal,
        found,
        judged,
    )


def _details(
    batch: SampleBatch, plan: Plan, found: Sequence[kernels.Details] | None
) -> Iterator[_RowDetails]:
    """The details of each row by kernels, in words; its language; whether it is a refusal."""
    if found is None:
        numbers = metric_numbers(plan.native_columns)
        found = kernels.explained_batch(batch, plan.settings, numbers)[1]
    every = native_facts(found, batch, plan.settings)
    if isinstance(plan.settings, OverlapSettings):
        yield from ((facts, None, None) for facts in every)
        return
    from rag_eval.results.words_grounded import refusal_of

    for facts in every:
        details = facts.details
        assert isinstance(details, kernels.GroundedDetails)
        yield facts, LISTED[details.language], refusal_of(details)


def native_facts(
    found: Sequence[kernels.Details], batch: SampleBatch, settings: Settings
) -> Sequence[RowFacts]:
    """The facts that explanations of the rows of a batch use."""
    if isinstance(settings, OverlapSettings):
        return words_overlap.facts_of_rows(cast("list[kernels.RowDetails]", found), batch, settings)
    from rag_eval.results import words_grounded

    details = cast("list[kernels.GroundedDetails]", found)
    return words_grounded.facts_of_rows(details, batch, settings)
