"""Scored blocks -> judged blocks: the scores that need a judge, row by row."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final, Protocol

import numpy as np
import numpy.typing as npt

from rag_eval.errors import InputError
from rag_eval.inputs.sample_fields import sample_with
from rag_eval.inputs.samples import SampleError, SampleLike
from rag_eval.judge.asking import Asker, DryAsker
from rag_eval.judge.failures import JudgeFailure, JudgeUnavailableError
from rag_eval.judge.loop_thread import Job, run_jobs, with_end
from rag_eval.judge.metrics.catalogue import judge_row
from rag_eval.judge.metrics.judgements import judged_row, null, together
from rag_eval.judge.metrics.verified import Verification
from rag_eval.judge.replies import Tally
from rag_eval.judge.verifiers import VERIFIED_METRICS
from rag_eval.judge.verifying import DryVerifying, SupportAsker
from rag_eval.metrics.contract import JudgedScorer, MissingFieldError
from rag_eval.metrics.registry import higher_is_better, judged_rule
from rag_eval.options.cascade import (
    audited,
    cut_at,
    judge_threshold,
    uncertain,
    unjudged_scores,
    verifier_threshold,
)
from rag_eval.options.plan import Plan
from rag_eval.results.judged import JudgedRowScores, JudgedScore
from rag_eval.samples import MetricId, NullReason
from rag_eval.scoring.engine import ScoredBlock
from rag_eval.scoring.judgements import OneJudgement, combined
from rag_eval.scoring.scorer_columns import judged_fields
from rag_eval.scoring.verified_rows import row_verifier, rows_at_once

if TYPE_CHECKING:
    from rag_eval.options.judging import Judging


# Why a judge is asked about a metric of a row.
_WANTED: Final = 1
_AUDIT: Final = 2


class Askers(Protocol):
    """Provides an asker per judge and repeat: a session, or a simulation."""

    @property
    def verifying(self) -> SupportAsker | None:
        """Asks the verifier, if there is one."""
        ...

    def asker(self, judge: int = 0, repeat: int = 0) -> Asker: ...

    def stop(self) -> None:
        """Begin no further call: what is still asked fails as interrupted."""
        ...


class DryAskers:
    """Askers that make no calls; their tallies hold the estimated cost."""

    def __init__(self, judging: Judging) -> None:
        self._prompts = judging.prompts
        self.verifying = None
        if judging.verifier is not None:
            self.verifying = DryVerifying(judging.verifier.threshold)

    def asker(self, judge: int = 0, repeat: int = 0) -> Asker:
        """The same for every judge and repeat."""
        return DryAsker(self._prompts)

    def stop(self) -> None:
        """No calls are in flight."""


class BlockJudge:
    """Judges the rows of scored blocks.

    ``on_rows`` gets their number whenever one is finished, in the event loop.

    Attributes
    ----------
    n_done : int
        Rows that are finished, those that needed no judge among them.
    n_failed : int
        Judgements that failed, of finished rows.
    has_judged : bool
        Some judgement gave a score.
    unavailable : JudgeUnavailableError or None
        Why no judge could be asked any more.
    """

    def __init__(
        self, plan: Plan, askers: Askers, on_rows: Callable[[int], object] | None = None
    ) -> None:
        assert plan.judging is not None
        self._on_rows = on_rows
        self._plan = plan
        self._judging = plan.judging
        self._askers = askers
        self._scorers = _scorers(plan)
        self._verifier = row_verifier(plan, askers.verifying)
        self._beside = judged_fields(plan)
        self.n_done = 0
        self.n_failed = 0
        self.has_judged = False
        self.unavailable: JudgeUnavailableError | None = None

    def stop(self) -> None:
        """Begin no further call."""
        self._askers.stop()

    async def judged(
        self, block: ScoredBlock, on_drained: Callable[[], object] | None = None
    ) -> ScoredBlock:
        """The block with the scores of all columns, and what the judge said about each row.

        ``on_drained`` is called when the last of its rows has begun.
        """
        reasons = self._reasons(block)
        rows: list[JudgedRowScores] = [{} for _ in range(len(block.scores))]
        self.n_done += int((~reasons.any(axis=1)).sum())
        jobs = with_end(self._jobs(block, reasons, rows), on_drained)
        # One more than there are rows notices that the last has begun.
        await run_jobs(jobs, min(rows_at_once(self._judging), len(rows) + 1))
        return self._assembled(block, rows)

    def _reasons(self, block: ScoredBlock) -> npt.NDArray[np.uint8]:
        """Per row and judged metric why the judge is asked: _WANTED, _AUDIT, or 0 for not."""
        judging = self._judging
        reasons = np.full((len(block.scores), len(judging.judged)), _WANTED, np.uint8)
        if not judging.is_cascade:
            return reasons
        for place, metric in enumerate(judging.judged):
            native = block.scores[:, self._plan.computed_columns.index(metric)]
            drawn = ~np.isnan(native) & audited(self._plan, metric, _ordinals(block))
            inside = uncertain(self._plan, metric, native)
            reasons[:, place] = np.where(inside, _WANTED, np.where(drawn, _AUDIT, 0))
        return reasons

    def _jobs(
        self, block: ScoredBlock, reasons: npt.NDArray[np.uint8], rows: list[JudgedRowScores]
    ) -> Iterator[Job]:
        for index in np.flatnonzero(reasons.any(axis=1)).tolist():
            yield self._job(block, index, reasons[index].tolist(), rows)

    def _job(
        self, block: ScoredBlock, index: int, reasons: list[int], rows: list[JudgedRowScores]
    ) -> Job:
        async def judge() -> None:
            asked = {
                metric: reason == _AUDIT
                for metric, reason in zip(self._judging.judged, reasons, strict=True)
                if reason
            }
            native = dict(
                zip(self._plan.computed_columns, map(_or_none, block.scores[index]), strict=True)
            )
            try:
                sample = sample_with(block.rows, index, self._beside)
                rows[index] = await self._row(sample, asked, native)
            except SampleError:
                raise
            except InputError as error:
                raise InputError(f"{block.rows.name(index)}: {error}") from None
            self.n_done += 1
            self.n_failed += sum(found.failed for found in rows[index].values())
            if self._on_rows is not None:
                self._on_rows(self.n_done)

        return judge

    async def _row(
        self,
        sample: SampleLike,
        asked: Mapping[MetricId, bool],
        native: Mapping[MetricId, float | None],
    ) -> dict[MetricId, JudgedScore]:
        """Every judge and repeat on one row; ``asked`` says which metrics are audited."""
        tallies = {metric: Tally() for metric in asked}
        verified = await self._verified(sample, asked, tallies)
        decided = {
            metric: self._by_verifier(metric, found, native.get(metric), tallies[metric])
            for metric, found in verified.items()
            if found.is_sure or not self._judging.judges
        }
        left = {metric: asked[metric] for metric in asked if metric not in decided}
        judged = await self._by_judges(sample, left, native, tallies) if left else {}
        for metric in judged.keys() & verified.keys():
            found = verified[metric].judgement
            judged[metric] = replace(
                judged[metric], verifier_score=found.score, verifier_message=found.message
            )
        return {**decided, **judged}

    async def _verified(
        self, sample: SampleLike, asked: Mapping[MetricId, bool], tallies: dict[MetricId, Tally]
    ) -> dict[MetricId, Verification]:
        """What the verifier says of the metrics that it is for.

        An audit holds native verdicts against those of the judge, if there is one.
        """
        if self._verifier is None:
            return {}
        metrics = [
            metric
            for metric, is_audit in asked.items()
            if metric in VERIFIED_METRICS and not (is_audit and self._judging.judges)
        ]
        try:
            return await self._verifier.verified(judged_row(sample), metrics, tallies)
        except JudgeUnavailableError as error:
            self._end(error)
            lost = null(NullReason.JUDGE_INTERRUPTED, str(error))
            return dict.fromkeys(metrics, Verification(lost, is_sure=False))

    def _by_verifier(
        self, metric: MetricId, found: Verification, native: float | None, tally: Tally
    ) -> JudgedScore:
        threshold = verifier_threshold(self._plan, metric)
        score = combined(
            [OneJudgement.of(found.judgement)],
            repeat=1,
            threshold=threshold,
            mode="verifier",
            higher_is_better=True,
            native_score=native,
            is_audit=False,
            share=1.0,
            tally=tally,
        )
        self.has_judged |= score.score is not None
        return self._on_scale(metric, replace(score, verifier_score=score.score), threshold)

    def _end(self, error: JudgeUnavailableError) -> None:
        self.unavailable = self.unavailable or error
        self._askers.stop()

    async def _by_judges(
        self,
        sample: SampleLike,
        asked: Mapping[MetricId, bool],
        native: Mapping[MetricId, float | None],
        tallies: dict[MetricId, Tally],
    ) -> dict[MetricId, JudgedScore]:
        combinations = [
            (judge, repeat)
            for judge in range(len(self._judging.judges))
            for repeat in range(self._judging.repeat)
        ]
        judgements = await together(
            [self._once(sample, tuple(asked), tallies, *place) for place in combinations]
        )
        return {
            metric: self._score(
                metric,
                [found[metric] for found in judgements],
                native.get(metric),
                is_audit,
                tallies[metric],
            )
            for metric, is_audit in asked.items()
        }

    async def _once(
        self,
        sample: SampleLike,
        metrics: tuple[MetricId, ...],
        tallies: dict[MetricId, Tally],
        judge: int,
        repeat: int,
    ) -> dict[MetricId, OneJudgement]:
        asker = self._askers.asker(judge, repeat)
        others = [metric for metric in metrics if metric in self._scorers]
        ours = [metric for metric in metrics if metric not in self._scorers]
        try:
            found, rest = await together(
                [
                    self._ours(ours, asker, sample, tallies),
                    self._others(others, asker, sample, tallies),
                ]
            )
        except JudgeUnavailableError as error:
            self._end(error)
            lost = OneJudgement(None, NullReason.JUDGE_INTERRUPTED, str(error))
            return dict.fromkeys(metrics, lost)
        return {**found, **rest}

    async def _ours(
        self,
        metrics: Sequence[MetricId],
        asker: Asker,
        sample: SampleLike,
        tallies: dict[MetricId, Tally],
    ) -> dict[MetricId, OneJudgement]:
        """Judge the seven metrics, by claims or ratings."""
        row = judged_row(sample)
        found = await judge_row(asker, row, metrics, self._judging.style, tallies)
        return {metric: OneJudgement.of(judgement) for metric, judgement in found.items()}

    async def _others(
        self,
        metrics: Sequence[MetricId],
        asker: Asker,
        sample: SampleLike,
        tallies: Mapping[MetricId, Tally],
    ) -> dict[MetricId, OneJudgement]:
        """Judge the scorers that share no steps with others."""
        found = await together(
            [self._alone(metric, asker, sample, tallies[metric]) for metric in metrics]
        )
        return dict(zip(metrics, found, strict=True))

    async def _alone(
        self, metric: MetricId, asker: Asker, sample: SampleLike, tally: Tally
    ) -> OneJudgement:
        """Judge by one scorer; a failure becomes a null."""
        try:
            found = await self._scorers[metric].score(asker, sample, tally)
        except MissingFieldError as error:
            return OneJudgement(None, NullReason.MISSING_FIELD, str(error))
        except JudgeFailure as failure:
            return OneJudgement(None, failure.null_reason, str(failure))
        reason = NullReason.MEASURED
        if found.score is None:
            reason = found.null_reason or NullReason.NOTHING_TO_MEASURE
        return OneJudgement(
            found.score,
            reason,
            "" if found.score is not None else found.explanation,
            explanation=found.explanation,
            details=tuple(found.details),
        )

    def _score(
        self,
        metric: MetricId,
        judgements: Sequence[OneJudgement],
        native: float | None,
        is_audit: bool,
        tally: Tally,
    ) -> JudgedScore:
        found = combined(
            judgements,
            repeat=self._judging.repeat,
            threshold=judge_threshold(self._plan, metric),
            higher_is_better=higher_is_better(metric),
            native_score=native,
            is_audit=is_audit,
            share=self._judging.audit_share if is_audit else 1.0,
            tally=tally,
        )
        self.has_judged |= any(one.score is not None for one in judgements)
        return self._on_scale(metric, found, judge_threshold(self._plan, metric))

    def _on_scale(
        self, metric: MetricId, found: JudgedScore, threshold: float | None
    ) -> JudgedScore:
        """The score on the scale of its column; failures are handled as the caller chose."""
        if found.score is None:
            # An audit judges a row whose native score is conclusive.
            keeps_native = (
                self._judging.on_failure == "heuristic"
                or found.is_audit
                or metric in self._plan.scorers  # which documents a fallback
            )
            if not (found.failed and keeps_native) or found.native_score is None:
                return found
            native = found.native_score
            if self._judging.is_cascade:
                native = float(unjudged_scores(self._plan, metric, np.array([native]))[0])
            return replace(found, score=native, null_reason=NullReason.MEASURED, mode="heuristic")
        if not self._judging.is_cascade:
            return found
        assert threshold is not None  # a cascade judges the seven alone
        return replace(found, score=float(cut_at(np.array([found.score]), threshold)[0]))

    def _assembled(self, block: ScoredBlock, rows: list[JudgedRowScores]) -> ScoredBlock:
        plan = self._plan
        scores = np.full((len(rows), len(plan.columns)), math.nan)
        reasons = np.zeros(scores.shape, np.uint8)
        for column, metric in enumerate(plan.columns):
            if metric in plan.computed_columns:
                place = plan.computed_columns.index(metric)
                native = block.scores[:, place]
                if self._judging.is_cascade and metric in self._judging.judged:
                    native = unjudged_scores(plan, metric, native)
                scores[:, column] = native
                reasons[:, column] = block.null_reasons[:, place]
            for index, judged in enumerate(rows):
                if metric in judged:
                    score = judged[metric].score
                    scores[index, column] = math.nan if score is None else score
                    reasons[index, column] = judged[metric].null_reason
        return replace(block, scores=scores, null_reasons=reasons, judged=rows)


def _scorers(plan: Plan) -> dict[MetricId, JudgedScorer]:
    """The judged metrics that share no steps with others: each is asked for by itself."""
    judging = plan.judging
    assert judging is not None
    found = dict(judging.scorers)
    for metric in judging.judged:
        if metric in plan.scorers:
            create = judged_rule(metric).create
            assert create is not None
            found[metric] = create(judging.judges[0], plan.scorers[metric].options)
    return found


def _or_none(score: float) -> float | None:
    return None if math.isnan(score) else float(score)


def _ordinals(block: ScoredBlock) -> Sequence[int]:
    """The number of each row in the input."""
    if block.rows.origin is not None:
        return block.rows.origin.ordinals
    return range(block.rows.first_row, block.rows.first_row + len(block.rows))
