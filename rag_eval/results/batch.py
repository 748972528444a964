"""The result of a batch: score matrix, aggregates, and rows that are explained when opened."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import numpy as np
import numpy.typing as npt

from rag_eval.errors import TextsNotKeptError
from rag_eval.options.cascade import without_means
from rag_eval.options.plan import Plan
from rag_eval.options.plan_signature import signature_of
from rag_eval.options.signature import Signature
from rag_eval.results.aggregates import (
    CompositeAggregate,
    MetricAggregate,
    aggregate_composite,
    aggregate_metric,
)
from rag_eval.results.judged import JudgedRowScores
from rag_eval.results.regressions import MetricRegression
from rag_eval.results.row import ByMetric, CostTracker, EvalResult
from rag_eval.results.verdicts import judge_rows
from rag_eval.samples import MetricId, camel_case
from rag_eval.scoring.explaining import explain_row

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from rag_eval.results.judge_report import JudgeReport
    from rag_eval.scoring.kept_texts import RowStore
    from rag_eval.stats.intervals import Interval
    from rag_eval.stats.moment_intervals import MeanMethod


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


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchSummary:
    """Statistics and verdict of a batch, without its rows.

    Attributes
    ----------
    metrics : tuple of MetricId
        In the order asked for.
    n_rows, n_passed : int
        Samples that were scored, and those of them that passed.
    aggregates : mapping of MetricAggregate
    composite_aggregate : CompositeAggregate
    passed : bool
        Every sample passed, and there was one.
    regressions : list of MetricRegression or None
        None unless a baseline was given.
    signature : Signature or None
        None for a result file without one.
    notes : list of str
        What a reader of the verdict should know.
    judging : JudgeReport or None
        What judging took and found; None where kernels alone scored.
    """

    metrics: tuple[MetricId, ...]
    n_rows: int
    n_passed: int
    aggregates: ByMetric[MetricAggregate] = field(repr=False)
    composite_aggregate: CompositeAggregate = field(repr=False)
    passed: bool
    total_cost: CostTracker = field(default=CostTracker(), repr=False)
    total_duration_ms: int = field(repr=False)
    regressions: list[MetricRegression] | None = field(default=None, repr=False)
    evaluated_at: str
    signature: Signature | None = field(repr=False)
    notes: list[str] = field(default_factory=list, repr=False)
    judging: JudgeReport | None = field(default=None, repr=False)

    def summary_dict(self) -> dict[str, Any]:
        """All but the rows, in the schema of result files."""
        result: dict[str, Any] = {
            "aggregates": {
                camel_case(name): aggregate.to_dict() for name, aggregate in self.aggregates.items()
            },
            "compositeAggregate": self.composite_aggregate.to_dict(),
            "passed": self.passed,
            "totalCost": self.total_cost.to_dict(),
            "totalDurationMs": self.total_duration_ms,
            "evaluatedAt": self.evaluated_at,
        }
        if self.signature is not None:
            result["signature"] = self.signature.to_dict()
        if self.regressions is not None:
            result["regressions"] = [row.to_dict() for row in self.regressions]
        if self.notes:
            result["notes"] = list(self.notes)
        if self.judging is not None:
            result["judging"] = self.judging.to_dict()
        return result

    def _repr_html_(self) -> str:
        from rag_eval.reports.notebook_batch import summary_html

        return summary_html(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchEvalResult(BatchSummary):
    """Scores, verdicts and statistics of a batch: a :class:`BatchSummary` and its rows.

    Attributes
    ----------
    scores : float64, shape (R, M)
        One row per sample in input order, one column per metric in ``metrics``; NaN where null.
    null_reasons : uint8, shape (R, M)
        A :class:`~rag_eval.samples.NullReason` per score, 0 where measured.
    composite_scores : float64, shape (R,)
        NaN where null.
    sample_passed : bool, shape (R,)
    results : sequence of EvalResult
        Explanations and signals are made when a row is opened.
    """

    scores: npt.NDArray[np.float64] = field(repr=False)
    null_reasons: npt.NDArray[np.uint8] = field(repr=False)
    composite_scores: npt.NDArray[np.float64] = field(repr=False)
    sample_passed: npt.NDArray[np.bool_] = field(repr=False)
    results: Sequence[EvalResult] = field(repr=False)

    def __len__(self) -> int:
        return self.n_rows

    def to_dict(self, details: bool = False) -> dict[str, Any]:
        """In the schema of result files; opens every row."""
        return {"results": [row.to_dict(details) for row in self.results], **self.summary_dict()}

    def to_json(self, path: str | Path | None = None, *, details: bool = False) -> str | None:
        """Write a result file, or give its text when no path is named.

        Strict JSON: null scores carry a ``nullReason``; lone surrogates are escaped. With
        ``details`` each metric has its scores of chunks and sentences and their evidence.
        """
        from rag_eval.results import files as result_files

        return result_files.write_or_return(result_files.batch_json_parts(self, details), path)

    def to_jsonl(self, path: str | Path | None = None, *, details: bool = False) -> str | None:
        """One line of JSON per row, as :meth:`EvalResult.to_dict` gives it."""
        from rag_eval.results import files as result_files

        return result_files.write_or_return(result_files.jsonl_parts(self.results, details), path)

    def to_html(
        self,
        path: str | Path | None = None,
        *,
        title: str | None = None,
        baseline: Any = None,
        slice_by: Sequence[str] = (),
    ) -> str | None:
        """Write a report for browsers, or give its text when no path is named.

        One file that loads nothing: verdict, distributions, and rows that open to their evidence.
        Of more than 5,000 rows the worst are listed, and others drawn at random. Needs jinja2
        (``pip install 'rag-eval-native[report]'``).

        Parameters
        ----------
        path : str or Path, optional
        title : str, optional
        baseline : path or BatchEvalResult, optional
            An earlier run to compare with, as for :func:`rag_eval.compare`.
        slice_by : sequence of str
            Fields of the samples or of their metadata, whose values are told apart.
        """
        from rag_eval.reports.page.page import page_html, write_page
        from rag_eval.views.making import view_of_batch

        view = view_of_batch(self, baseline=baseline, slice_by=slice_by)
        if path is None:
            return page_html(view, title=title)
        write_page(view, path, title=title)
        return None

    def mean_intervals(
        self,
        *,
        cluster_by: str | Sequence[object] | None = None,
        level: float = 0.95,
        method: MeanMethod | None = None,
    ) -> dict[MetricId, Interval]:
        """The mean of every metric and of ``"composite"`` with its interval.

        Aggregates have those of rows drawn one by one; where rows come in clusters, ``cluster_by``
        names a field of their metadata, or is a value for each row. See
        :func:`rag_eval.stats.mean_interval`.
        """
        from rag_eval.runs.metric_intervals import mean_intervals

        return mean_intervals(self, cluster_by=cluster_by, level=level, method=method)

    @staticmethod
    def from_json(source: str | bytes | Path) -> BatchEvalResult:
        """Read a result file (a path) or its text, of this library or of rag-eval-node-ts.

        Files whose names end in ``.gz`` or ``.zst`` are unpacked.
        """
        from rag_eval.results import files as result_files

        return result_files.read_batch(source)

    def plot(self, metrics: Iterable[str] | None = None, *, ax: Axes | None = None) -> Figure:
        """How the scores of each metric are spread, with its threshold and the mean's interval.

        Needs matplotlib (``pip install 'rag-eval-native[plot]'``).

        Parameters
        ----------
        metrics : iterable of str, optional
            Metrics, or ``"composite"``; default: all of the batch, and the composite score.
        ax : matplotlib.axes.Axes, optional
            Where to draw a single metric; default: a new figure with one place for each.
        """
        from rag_eval.reports.plot import scores_figure

        return scores_figure(self, metrics, ax=ax)

    def to_pandas(self) -> pd.DataFrame:
        """One row per sample: a column per metric, ``composite_score`` and ``passed``.

        Needs pandas (``pip install 'rag-eval-native[pandas]'``).
        """
        from rag_eval.results.frames import to_pandas

        return to_pandas(self)


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
