"""Samples in memory -> a batch result, by kernels and, where it is asked for, a judge."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, overload

import numpy as np
import numpy.typing as npt

from rag_eval.calibration.applied import planned
from rag_eval.errors import InputError, Interrupted, TextsNotKeptError
from rag_eval.inputs.objects import is_table, object_blocks, row_count
from rag_eval.inputs.samples import FieldNeeds, SampleLike
from rag_eval.judge.failures import JudgeUnavailableError
from rag_eval.options.plan import REGRESSION_THRESHOLD, Plan
from rag_eval.options.signature import signature_of
from rag_eval.plumbing.checked_values import number, thread_count
from rag_eval.plumbing.clock import Clock
from rag_eval.plumbing.interrupts import StopFlag, in_thread
from rag_eval.results.aggregates import aggregate_composite, aggregate_metric, without_means
from rag_eval.results.batch import BatchEvalResult
from rag_eval.results.judged import JudgedRowScores
from rag_eval.results.regressions import Baseline, compare_means
from rag_eval.results.row import ByMetric, CostTracker, EvalResult
from rag_eval.results.summaries import checked_baseline
from rag_eval.results.verdicts import judge_rows
from rag_eval.samples import EvalSample
from rag_eval.scoring.engine import ScoredBlock, score_blocks
from rag_eval.scoring.explaining import explain_row
from rag_eval.scoring.kept_texts import RowStore, store_for
from rag_eval.scoring.progress import Progress

if TYPE_CHECKING:
    from rag_eval.results.judge_report import JudgeReport
    from rag_eval.scoring.judge_runs import JudgeRun


class Results(Sequence[EvalResult]):
    """The rows of a batch, each explained when it is opened and not before."""

    __slots__ = ("_opener",)

    def __init__(self, opener: RowOpener) -> None:
        self._opener = opener

    def __len__(self) -> int:
        return len(self._opener.scores)

    @overload
    def __getitem__(self, index: int) -> EvalResult: ...
    @overload
    def __getitem__(self, index: slice) -> list[EvalResult]: ...
    def __getitem__(self, index: int | slice) -> EvalResult | list[EvalResult]:
        if isinstance(index, slice):
            return [self._opener.open(row) for row in range(*index.indices(len(self)))]
        row = range(len(self))[index]  # negative indices, and IndexError
        return self._opener.open(row)

    @property
    def plan(self) -> Plan:
        """What was computed, by which thresholds."""
        return self._opener.plan

    def sample(self, row: int) -> Any:
        """The sample of a row, which is not explained for that."""
        return self._opener.sample(row)

    @property
    def keeps_texts(self) -> bool:
        """Whether rows can be opened."""
        return self._opener.rows is not None

    def __repr__(self) -> str:
        return f"<{len(self)} results>"


@dataclass(frozen=True, slots=True)
class RowOpener:
    """What it takes to explain a row: its texts, its scores, its verdict."""

    plan: Plan
    rows: RowStore | None
    scores: npt.NDArray[np.float64]
    evaluated_at: str
    judged: Sequence[JudgedRowScores] | None = None

    def sample(self, row: int) -> Any:
        """The sample of one row, as it is echoed."""
        return self._kept(row).sample(row)

    def _kept(self, row: int) -> RowStore:
        if self.rows is None:
            raise TextsNotKeptError(
                f"row {row} cannot be opened: its texts were not kept (keep_texts=False); "
                "its scores are in .scores"
            )
        return self.rows

    def open(self, row: int) -> EvalResult:
        """The explained result of one row."""
        rows = self._kept(row)
        batch, place = rows.packed(row)
        return explain_row(
            rows.sample(row),
            batch,
            place,
            self.plan,
            self.evaluated_at,
            scored=(row, self.scores[row]),
            judged=None if self.judged is None else self.judged[row],
            fields=rows.fields(row, self.plan.scorer_fields) if self.plan.scorers else None,
        )


class BatchJob:
    """The way of a batch from its samples to its result; all options are checked when it is made.

    Parameters
    ----------
    samples : iterable of dict, mapping or EvalSample; or a table
    metrics : iterable of str, optional
    options : mapping
        Normalized options of :func:`rag_eval.evaluate_batch`.
    """

    def __init__(
        self,
        samples: Iterable[SampleLike],
        metrics: Iterable[str] | None,
        options: Mapping[str, Any],
    ) -> None:
        self._clock = Clock()
        self._plan, self._notes = planned(metrics, options)
        if not is_table(samples) and (
            isinstance(samples, (str, bytes, Mapping, EvalSample))
            or not isinstance(samples, Iterable)
        ):
            raise InputError(f"samples must be a list of samples, got {type(samples).__name__}")
        self._samples = samples
        self._on_progress = options.get("on_progress")
        self._threads = thread_count(options.get("threads"))
        threshold = options.get("regression_threshold")
        self._limit = (
            REGRESSION_THRESHOLD if threshold is None else number(threshold, "regression_threshold")
        )
        self._baseline, notes = checked_baseline(
            self._plan,
            options.get("baseline_result"),
            allow_mismatch=bool(options.get("allow_signature_mismatch")),
        )
        self._notes += notes
        keep = options.get("keep_texts") is not False
        self._needs = FieldNeeds.of(self._plan.native_columns, self._plan.settings.profile)
        self._store = store_for(samples, self._needs, is_table=is_table(samples)) if keep else None
        self._scores: list[npt.NDArray[np.float64]] = []
        self._reasons: list[npt.NDArray[np.uint8]] = []
        self._judged: list[JudgedRowScores] = []
        self._n_rows = 0
        self._stop = StopFlag()

    def run(self) -> BatchEvalResult:
        """Score, and ask the judge in an event loop of its own."""
        with self._progress() as progress:
            if self._plan.judging is None:
                for block in self._native():
                    self._add(block)
                    progress.reached(self._n_rows)
                return self._result()
            # Imported where a judge is asked: an event loop takes longer to import than to score.
            from rag_eval.scoring.judge_runs import opened_judge

            with opened_judge(self._plan) as judge:
                self._take(judge, progress)
                return self._result(judge)

    async def arun(self) -> BatchEvalResult:
        """Score in a thread, and ask the judge in the event loop of the caller."""
        from rag_eval.scoring.judge_runs import opened_judge

        if self._plan.judging is None:
            return await in_thread(self._stop, self.run)
        with self._progress() as progress:
            native: list[ScoredBlock] = await in_thread(self._stop, list, self._native())
            with opened_judge(self._plan, progress.reached) as judge:
                try:
                    async for block in judge.ablocks(native):
                        self._add(block)
                        progress.reached(self._n_rows)
                except JudgeUnavailableError as error:
                    error.partial = self._result(judge)
                    raise
                return self._result(judge)

    def _take(self, judge: JudgeRun, progress: Progress) -> None:
        """Judge block after block; what ends it early carries what is there."""
        try:
            with closing(judge.blocks(self._native(), progress.reached)) as blocks:
                for block in blocks:
                    self._add(block)
                    progress.reached(self._n_rows)
        except KeyboardInterrupt:
            raise Interrupted(
                f"interrupted after {self._n_rows:,} samples", self._result(judge)
            ) from None
        except JudgeUnavailableError as error:
            error.partial = self._result(judge)
            raise

    def _progress(self) -> Progress:
        return Progress(self._on_progress, row_count(self._samples))

    def _native(self) -> Generator[ScoredBlock, None, None]:
        blocks = object_blocks(self._samples, self._needs, self._threads)
        return score_blocks(blocks, self._plan, self._needs, self._threads, stop=self._stop)

    def _add(self, block: ScoredBlock) -> None:
        if self._store is not None:
            self._store.add(block.rows, block.batch)
        self._scores.append(block.scores)
        self._reasons.append(block.null_reasons)
        self._judged += block.judged or ()
        self._n_rows += len(block.scores)

    def _result(self, judge: JudgeRun | None = None) -> BatchEvalResult:
        width = len(self._plan.columns)
        result = assemble(
            self._plan,
            stacked(self._scores, width, np.float64),
            stacked(self._reasons, width, np.uint8),
            self._store,
            evaluated_at=self._clock.now(),
            duration_ms=self._clock.elapsed_ms,
            judged=self._judged if judge is not None else None,
            judging=None if judge is None else judge.report(),
        )
        return _compared(
            replace(result, notes=self._notes), self._plan, self._baseline, self._limit
        )


def _compared(
    result: BatchEvalResult, plan: Plan, baseline: Baseline | None, limit: float
) -> BatchEvalResult:
    if baseline is None:
        return result
    regressions = compare_means(result.aggregates, baseline, plan.metrics, limit)
    return replace(result, regressions=regressions)


def assemble(
    plan: Plan,
    scores: npt.NDArray[np.float64],
    null_reasons: npt.NDArray[np.uint8],
    rows: RowStore | None,
    *,
    evaluated_at: str,
    duration_ms: int,
    results: Sequence[EvalResult] | None = None,
    judged: Sequence[JudgedRowScores] | None = None,
    judging: JudgeReport | None = None,
) -> BatchEvalResult:
    """A batch result from its score matrix; regressions are added by whoever has a baseline."""
    verdicts = judge_rows(scores, plan)
    aggregates = {
        metric: aggregate_metric(metric, scores[:, column], verdicts.metric_passed[:, column])
        for column, metric in enumerate(plan.columns)
    }
    if results is None:
        results = Results(RowOpener(plan, rows, scores, evaluated_at, judged))
    return BatchEvalResult(
        metrics=plan.columns,
        n_rows=len(scores),
        n_passed=int(verdicts.passed.sum()),
        scores=scores,
        null_reasons=null_reasons,
        composite_scores=verdicts.composite,
        sample_passed=verdicts.passed,
        results=results,
        aggregates=without_means(plan, ByMetric(aggregates)),
        composite_aggregate=aggregate_composite(verdicts.composite, verdicts.passed),
        passed=len(scores) > 0 and bool(verdicts.passed.all()),
        total_duration_ms=duration_ms,
        evaluated_at=evaluated_at,
        signature=signature_of(plan),
        total_cost=CostTracker() if judging is None else judging.cost,
        judging=judging,
    )


def stacked(blocks: Iterable[npt.NDArray[Any]], width: int, kind: Any) -> npt.NDArray[Any]:
    """Matrices of some rows each, stacked; no rows at all give shape (0, width)."""
    matrices = list(blocks)
    return np.concatenate(matrices) if matrices else np.empty((0, width), kind)
