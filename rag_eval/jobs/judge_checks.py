"""Rows of a file in; the effects of wording, length and order on a judge out."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Unpack

from rag_eval.errors import InputError
from rag_eval.inputs.named_files import DataSource
from rag_eval.inputs.opened import Input
from rag_eval.inputs.samples import TEXT_FIELDS, field_of, id_of, no_samples
from rag_eval.jobs.options import input_options
from rag_eval.judge import loop_thread
from rag_eval.judge.bias_checks import (
    DebiasReport,
    Order,
    PositionReport,
    debias_check,
    position_check,
)
from rag_eval.judge.length_correlation import LengthCorrelation, length_partial_correlation
from rag_eval.metrics.registry import to_metric_id
from rag_eval.options.declared import declared, normalized
from rag_eval.options.file_types import JudgeCheckOptions
from rag_eval.options.types import EvaluateOptions
from rag_eval.plumbing.checked_values import seed_number, whole_from_one
from rag_eval.results.batch import BatchEvalResult
from rag_eval.samples import MetricId
from rag_eval.scoring.evaluator import aevaluate_batch
from rag_eval.stats.index_sources import Resampling

N_ROWS: Final = 100
# These metrics measure the order of contexts.
_ABOUT_ORDER: Final = frozenset({"context_precision", "mastra.context_precision"})


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeChecks:
    """Biases of a judge's scores of one metric; made by :func:`check_judge`.

    Attributes
    ----------
    metric : MetricId
    n_rows : int
        Number of judged rows.
    debias : DebiasReport
        Scores with and without the paragraph that says that length is no merit.
    length : LengthCorrelation
        Correlation of score and answer length, given the native score.
    position : PositionReport or None
        Scores with shuffled contexts; None if not requested.
    llm_calls : int
    """

    metric: MetricId
    n_rows: int
    debias: DebiasReport
    length: LengthCorrelation
    position: PositionReport | None
    llm_calls: int

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        return {
            "metricId": self.metric,
            "nRows": self.n_rows,
            "debias": self.debias.to_dict(),
            "length": self.length.to_dict(),
            "position": None if self.position is None else self.position.to_dict(),
            "llmCalls": self.llm_calls,
        }

    def text(self) -> str:
        """As a few lines of text."""
        parts = [self.debias.text(), self.length.text()]
        if self.position is not None:
            parts.append(self.position.text())
        return "\n\n".join(parts)


def check_judge(
    data: DataSource,
    metric: str = "faithfulness",
    *,
    n_rows: int = N_ROWS,
    n_shuffles: int = 0,
    seed: int = 0,
    **options: Unpack[JudgeCheckOptions],
) -> JudgeChecks:
    """Judge rows of a file repeatedly, with one change at a time.

    Parameters
    ----------
    data : str, Path or list of these
        As for :func:`rag_eval.jobs.file_run.run_file`.
    metric : str
        A metric that a judge can score.
    n_rows : int, default 100
        Number of rows to draw.
    n_shuffles : int, default 0
        How often to judge each row with its contexts in another order; 0 skips this check.
    seed : int
        Seed of the draw, the shuffles and the intervals.
    **options
        Options of judging and of reading files; see
        :class:`rag_eval.options.file_types.RunOptions`.

    Returns
    -------
    JudgeChecks
        From two judgements per row, and one more for each shuffle.
    """
    asked = to_metric_id(metric)
    if n_shuffles and asked in _ABOUT_ORDER:
        raise InputError(f"{asked} depends on the order of contexts; use n_shuffles 0 for it")
    known = normalized(options, "check_judge", JudgeCheckOptions)
    rows = _drawn(data, whole_from_one(n_rows, "n_rows"), seed_number(seed), known)
    asked_of_judge = declared(EvaluateOptions)
    evaluation = {name: value for name, value in known.items() if name in asked_of_judge}
    check = _Check(asked, {**evaluation, "mode": "llm"}, rows, n_shuffles, seed)
    return loop_thread.run(check.run())


class _Check:
    """The judgements of one metric on some rows."""

    def __init__(
        self,
        metric: MetricId,
        options: Mapping[str, Any],
        rows: Mapping[str, Mapping[str, Any]],
        n_shuffles: int,
        seed: int,
    ) -> None:
        self._metric = metric
        self._options = options
        self._rows = rows
        self._n_shuffles = n_shuffles
        self._seed = seed
        self._n_calls = 0
        self._usual: BatchEvalResult | None = None
        self._known: dict[int, float | None] = {}

    async def run(self) -> JudgeChecks:
        """Run all checks."""
        debias = await debias_check(dict(self._rows), self._worded, seed=self._seed)
        assert self._usual is not None
        found = [row.metrics[self._metric] for row in self._usual.results]
        length = length_partial_correlation(
            [each.score for each in found],
            [len(row.get("answer") or "") for row in self._rows.values()],
            self._native(found),
            resampling=Resampling(seed=self._seed),
        )
        position = None
        if self._n_shuffles:
            position = await position_check(
                self._rows,
                self._ordered,
                n_chunks=lambda row: len(row.get("contexts") or ()),
                n_shuffles=self._n_shuffles,
                threshold=found[0].threshold,
                seed=self._seed,
            )
        return JudgeChecks(
            metric=self._metric,
            n_rows=len(self._rows),
            debias=debias,
            length=length,
            position=position,
            llm_calls=self._n_calls,
        )

    def _native(self, found: Sequence[Any]) -> list[float | None] | None:
        """The native scores, if there are any."""
        scores = [None if each.judged is None else each.judged.native_score for each in found]
        return scores if any(score is not None for score in scores) else None

    async def _worded(
        self, rows: Sequence[Mapping[str, Any]], with_paragraph: bool
    ) -> list[float | None]:
        result = await self._judged(rows, with_paragraph)
        scores = self._scores(result)
        if with_paragraph:
            self._usual = result
            self._known = {id(row): score for row, score in zip(rows, scores, strict=True)}
        return scores

    async def _ordered(
        self, rows: Sequence[Mapping[str, Any]], orders: Sequence[Order]
    ) -> list[float | None]:
        if all(order == tuple(range(len(order))) for order in orders):
            # In the usual order: judged already in the first check.
            return [self._known[id(row)] for row in rows]
        shuffled = [
            {**row, "contexts": [row["contexts"][place] for place in order]}
            for row, order in zip(rows, orders, strict=True)
        ]
        return self._scores(await self._judged(shuffled, True))

    async def _judged(
        self, rows: Sequence[Mapping[str, Any]], with_paragraph: bool
    ) -> BatchEvalResult:
        options: dict[str, Any] = {**self._options, "length_debias": with_paragraph}
        result = await aevaluate_batch(list(rows), [self._metric], **options)
        self._n_calls += result.total_cost.llm_calls
        return result

    def _scores(self, result: BatchEvalResult) -> list[float | None]:
        return [row.metrics[self._metric].score for row in result.results]


def _drawn(
    data: DataSource, n_rows: int, seed: int, options: Mapping[str, Any]
) -> dict[str, Mapping[str, Any]]:
    """A uniform random sample of rows, by id, or by number without ids.

    References
    ----------
    Vitter, Random sampling with a reservoir (1985), algorithm R.
    """
    generator = random.Random(seed)
    kept: list[tuple[int, Any]] = []
    for number, row in enumerate(_rows(data, options)):
        if number < n_rows:
            kept.append((number, row))
        elif (place := generator.randrange(number + 1)) < n_rows:
            kept[place] = (number, row)
    if not kept:
        raise no_samples(Input(data).name)
    named: dict[str, Mapping[str, Any]] = {}
    for number, row in sorted(kept, key=lambda pair: pair[0]):
        found = id_of(row)
        name = str(number if found is None else found)
        named[name if name not in named else f"{name} (row {number})"] = _fields(row)
    return named


def _rows(data: DataSource, options: Mapping[str, Any]) -> Iterator[Any]:
    source = Input(data, input_options(options))
    for block in source.blocks():
        yield from map(block.sample, range(len(block)))
    source.check_unchanged(allowed=bool(options.get("allow_changed_input")))


def _fields(row: Any) -> Mapping[str, Any]:
    if isinstance(row, Mapping):
        return row
    return {name: field_of(row, name) for name in TEXT_FIELDS}
