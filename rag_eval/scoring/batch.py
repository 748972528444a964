"""Samples in memory -> a batch result, by kernels and, if requested, a judge."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias, overload

import numpy as np
import numpy.typing as npt

from rag_eval.calibration.applied import planned
from rag_eval.errors import InputError, TextsNotKeptError
from rag_eval.inputs.objects import (
    FieldNames,
    FirstKept,
    is_table,
    looked_at,
    named_fields,
    object_blocks,
    row_count,
)
from rag_eval.inputs.row_blocks import are_one_block
from rag_eval.inputs.samples import FieldNeeds, SampleLike
from rag_eval.inputs.schemas.maps import FieldMap
from rag_eval.options.declared import declared
from rag_eval.options.plan import Plan
from rag_eval.options.types import RegressionOptions
from rag_eval.plumbing.checked_values import thread_count
from rag_eval.plumbing.clock import Clock
from rag_eval.plumbing.interrupts import StopFlag, in_thread
from rag_eval.results.batch import BatchEvalResult
from rag_eval.results.judged import JudgedRowScores
from rag_eval.results.row import EvalResult
from rag_eval.results.summaries import checked_baseline
from rag_eval.results.summary import batch_of, compared
from rag_eval.samples import EvalSample, MetricId
from rag_eval.scoring.engine import ScoredBlock, block_scorer, score_blocks
from rag_eval.scoring.explaining import scored_row
from rag_eval.scoring.kept_texts import RowStore, store_for
from rag_eval.scoring.loop import ScoringLoop, Sink
from rag_eval.scoring.measurable import Measurability
from rag_eval.scoring.progress import progress_of

_Scores: TypeAlias = npt.NDArray[np.float64]
_Reasons: TypeAlias = npt.NDArray[np.uint8]


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Results(Sequence[EvalResult]):
    """The rows of a batch; each is explained only when it is opened.

    Attributes
    ----------
    plan : Plan
        What was computed, by which thresholds.
    """

    plan: Plan
    _rows: RowStore | None
    _scores: _Scores
    _evaluated_at: str
    _judged: Sequence[JudgedRowScores] | None = None

    def __len__(self) -> int:
        return len(self._scores)

    @overload
    def __getitem__(self, index: int) -> EvalResult: ...
    @overload
    def __getitem__(self, index: slice) -> list[EvalResult]: ...
    def __getitem__(self, index: int | slice) -> EvalResult | list[EvalResult]:
        if isinstance(index, slice):
            return [self._opened(row) for row in range(*index.indices(len(self)))]
        row = range(len(self))[index]  # negative indices, and IndexError
        return self._opened(row)

    def sample(self, row: int) -> Any:
        """The sample of a row, without explaining the row."""
        return self._kept(row).sample(row)

    @property
    def keeps_texts(self) -> bool:
        """Whether rows can be opened."""
        return self._rows is not None

    def _kept(self, row: int) -> RowStore:
        if self._rows is None:
            raise TextsNotKeptError(
                f"row {row} cannot be opened: its texts were not kept (keep_texts=False); "
                "its scores are in .scores"
            )
        return self._rows

    def _opened(self, row: int) -> EvalResult:
        rows, plan = self._kept(row), self.plan
        batch, place = rows.packed(row)
        judged = None if self._judged is None else self._judged[row]
        fields = rows.fields(row, plan.scorer_fields) if plan.scorers else None
        found = scored_row(rows.sample(row), batch, place, plan, judged, fields)
        return found.same_as(row, self._scores[row]).explained(self._evaluated_at)

    def __repr__(self) -> str:
        return f"<{len(self)} results>"


class ScoreMatrix:
    """A sink: the scores and null reasons of all rows, and their judgements."""

    def __init__(self, metrics: tuple[MetricId, ...]) -> None:
        self._metrics = metrics
        self._blocks: list[tuple[_Scores, _Reasons, _Reasons, Sequence[JudgedRowScores]]] = []

    def add(self, scored: ScoredBlock, first_row: int) -> None:
        """Keep the scores of a block, all in one, as Ctrl-C may come in here."""
        lacked = scored.lacked_texts(self._metrics)
        self._blocks.append((scored.scores, scored.null_reasons, lacked, scored.judged or ()))

    def stacked(self) -> tuple[_Scores, _Reasons]:
        """Scores and null reasons, both of shape (rows, M)."""
        if not self._blocks:
            empty = (0, len(self._metrics))
            return np.empty(empty, np.float64), np.empty(empty, np.uint8)
        scores, reasons, _, _ = zip(*self._blocks, strict=True)
        return np.concatenate(scores), np.concatenate(reasons)

    def lacked_texts(self) -> _Reasons:
        """The bits of the texts that each row lacks, shape (rows,)."""
        blocks = [lacked for _, _, lacked, _ in self._blocks]
        return blocks[0] if len(blocks) == 1 else np.concatenate([np.empty(0, np.uint8), *blocks])

    @property
    def judged(self) -> list[JudgedRowScores]:
        """The judgements of each row; empty without a judge."""
        return [row for _, _, _, rows in self._blocks for row in rows]


def _remedy(samples: object) -> str:
    """Advice for an argument that is not a list of samples, by its type."""
    if isinstance(samples, (str, Path)):
        return f". To score a file: run_file({str(samples)!r:.80})"
    if isinstance(samples, EvalSample):
        return ". To score one sample: evaluate(sample)"
    if hasattr(samples, "collect_schema"):
        return (
            ". To score its rows: evaluate_batch(samples.collect()), or rag_scores of "
            "rag_eval.integrations.polars"
        )
    if isinstance(samples, Mapping):
        if any(isinstance(samples.get(name), list) for name in ("question", "answer")) or (
            samples and all(isinstance(value, list) for value in samples.values())
        ):
            return (
                " of columns. To score its rows, pass pandas.DataFrame(samples), "
                "pyarrow.table(samples) or a list of dicts: "
                "[{'question': ..., 'answer': ...}, ...]"
            )
        return ". To score one sample: evaluate(sample), or a list of one, [sample]"
    return ""


class BatchJob:
    """A batch from its samples to its result; all options are checked when it is created.

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
        as_table = is_table(samples)
        if not as_table and (
            isinstance(samples, (str, bytes, Mapping, EvalSample))
            or not isinstance(samples, Iterable)
        ):
            raise InputError(
                f"samples must be a list of samples, got {type(samples).__name__}{_remedy(samples)}"
            )
        threads = thread_count(options.get("threads"))
        n_rows = row_count(samples)
        if not as_table and are_one_block(n_rows):
            threads = 1  # starting another thread takes longer than scoring a row
        self._limit = declared(RegressionOptions)["regression_threshold"].of(options)
        self._baseline, notes = checked_baseline(
            self._plan,
            options.get("baseline_result"),
            allow_mismatch=bool(options.get("allow_signature_mismatch")),
        )
        self._notes += notes
        names = FieldNames(options.get("schema"), options.get("mapping"))
        needs = FieldNeeds.of(self._plan.native_columns, self._plan.settings.profile)
        self._matrix = ScoreMatrix(self._plan.columns)
        self._measured = Measurability(self._plan, metrics, options, in_memory=True)
        self._names = names
        self._fields: list[FieldMap] = []
        is_read_once = not as_table and not isinstance(samples, (list, tuple))
        self._samples = FirstKept(samples) if is_read_once else samples
        self._store = None
        self._sinks: list[Sink] = []
        if options.get("keep_texts") is not False:
            self._store = store_for(
                samples,
                needs,
                is_table=as_table,
                are_renamed=isinstance(samples, (list, tuple))
                and names.is_needed_for(looked_at(samples)[0]),
            )
            self._sinks.append(self._store)
        # Last: a row whose scores are there can be opened.
        self._sinks.append(self._matrix)
        self._stop = StopFlag()
        self._loop = ScoringLoop(
            self._plan,
            score_blocks(
                object_blocks(self._samples, needs, threads, names, self._absent_in),
                block_scorer(self._plan, needs),
                threads,
                # An iterator may have to be waited for.
                reads_apart=is_read_once and threads > 1,
                has_scorers=bool(self._plan.scorers),
                stop=self._stop,
            ),
            progress_of(options.get("on_progress"), n_rows),
            stop=self._stop,
        )

    def _absent_in(self, fields: FieldMap) -> frozenset[str]:
        if fields not in self._fields:
            self._fields.append(fields)
        return self._measured.absent_fields(fields)

    def run(self) -> BatchEvalResult:
        """Score, and ask the judge in an event loop of its own."""
        self._loop.score(*self._sinks)
        return self._ended()

    async def arun(self) -> BatchEvalResult:
        """Score in a thread, and ask the judge in the event loop of the caller."""
        if self._plan.judging is None:
            return await in_thread(self._stop, self.run)
        await self._loop.ascore(*self._sinks)
        return self._ended()

    def _ended(self) -> BatchEvalResult:
        """The result, or what ended the loop early, with the result where a judge was paid for."""
        if self._plan.judging is None:
            self._loop.raise_stopped()
        scores, null_reasons = self._matrix.stacked()
        evaluated_at = self._clock.now()
        self._measured.add(null_reasons)
        fields = self._fields
        if self._measured.metrics and isinstance(self._samples, (list, tuple, FirstKept)):
            fields = named_fields(self._samples, self._names)
        judging = self._loop.judge_report()
        judged = None if judging is None else self._matrix.judged
        result = batch_of(
            self._plan,
            scores,
            null_reasons,
            Results(self._plan, self._store, scores, evaluated_at, judged),
            self._matrix.lacked_texts(),
            evaluated_at=evaluated_at,
            duration_ms=self._clock.elapsed_ms,
            notes=self._notes,
            judging=judging,
            not_measured=self._measured.not_measured(fields),
            left_out=self._measured.left_out(fields),
        )
        result = compared(result, self._baseline, self._plan.metrics, self._limit)
        self._loop.raise_stopped(result)
        self._measured.check_end("", fields, result)
        return result
