"""The result of a batch: score matrix, aggregates, and rows explained on access."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from rag_eval.options.signature import Signature
from rag_eval.options.verdict_settings import VerdictSettings
from rag_eval.plumbing.extras import package
from rag_eval.plumbing.spelling import camel_case
from rag_eval.results.aggregates import (
    CompositeAggregate,
    MetricAggregate,
    aggregate_composite,
)
from rag_eval.results.faces import face
from rag_eval.results.frames import frame_columns
from rag_eval.results.missing_texts import MissingTexts
from rag_eval.results.regressions import MetricRegression
from rag_eval.results.row import ByMetric, CostTracker, EvalResult
from rag_eval.samples import MetricId

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from rag_eval.results.judge_failures import FailedJudgements
    from rag_eval.results.judge_report import JudgeReport
    from rag_eval.stats.intervals import Interval
    from rag_eval.stats.moment_intervals import MeanMethod


def not_measured_text(metrics: Mapping[MetricId, str]) -> str:
    """``not measured: context_recall, answer_correctness (no ground truth)``; empty for none."""
    named: dict[str, list[MetricId]] = {}
    for metric, why in metrics.items():
        named.setdefault(why, []).append(metric)
    texts = [f"{', '.join(names)} ({why})" for why, names in named.items()]
    return f"not measured: {'; '.join(texts)}" if texts else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchSummary:
    """Statistics and verdict of a batch, without its rows.

    Attributes
    ----------
    metrics : tuple of MetricId
        In the requested order.
    n_rows, n_passed : int
        Scored samples, and those that passed.
    aggregates : mapping of MetricAggregate
    composite_aggregate : CompositeAggregate
    passed : bool
        Whether every sample passed, and there was at least one.
    regressions : list of MetricRegression or None
        None unless a baseline was given.
    signature : Signature or None
        None if the result file has none.
    notes : list of str
        Notes that a reader of the verdict should know.
    judging : JudgeReport or None
        Calls, failures and agreement of the judge; None without a judge.
    failed_judgements : tuple of FailedJudgements
        By reason, each with an example; also known for the rows of a result file.
    not_measured : mapping of MetricId to str
        Metrics that are null in every row because the data lacks a field, such as ``"no ground
        truth"``.
    left_out : tuple of MetricId
        Those of them that were not requested by name; tables and reports omit them.
    settings : VerdictSettings or None
        Thresholds and weights; None if the result file does not have them.
    missing_texts : MissingTexts
        How many rows lack a question, an answer or contexts.
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
    failed_judgements: tuple[FailedJudgements, ...] = field(default=(), repr=False)
    not_measured: Mapping[MetricId, str] = field(default_factory=dict, repr=False)
    left_out: tuple[MetricId, ...] = field(default=(), repr=False)
    settings: VerdictSettings | None = field(default=None, repr=False)
    missing_texts: MissingTexts = field(default_factory=MissingTexts, repr=False)

    @property
    def shown_aggregates(self) -> dict[MetricId, MetricAggregate]:
        """The aggregates that tables and reports show: all except those in ``left_out``."""
        found = self.aggregates.items()
        return {name: one for name, one in found if name not in self.left_out}

    @property
    def shown_notes(self) -> list[str]:
        """The notes of reports: metrics that could not be measured, failed judgements, others."""
        missing = filter(None, [not_measured_text(self.not_measured)])
        return [*missing, *map(str, self.failed_judgements), *self.notes]

    def summary_dict(self) -> dict[str, Any]:
        """Everything except the rows, in the schema of result files."""
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
        if self.settings is not None:
            result["settings"] = self.settings.to_dict()
        if self.regressions is not None:
            result["regressions"] = [row.to_dict() for row in self.regressions]
        if self.notes:
            result["notes"] = list(self.notes)
        if self.judging is not None:
            result["judging"] = self.judging.to_dict()
        return result

    def _repr_html_(self) -> str:
        return str(face("summary.notebook")(self))


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchEvalResult(BatchSummary):
    """Scores, verdicts and statistics of a batch: a :class:`BatchSummary` and its rows.

    Attributes
    ----------
    scores : float64, shape (R, M)
        One row per sample in input order, one column per metric in ``metrics``; NaN for null.
    null_reasons : uint8, shape (R, M)
        A :class:`~rag_eval.samples.NullReason` per score, 0 if measured.
    composite_scores : float64, shape (R,)
        NaN for null.
    sample_passed : bool, shape (R,)
    results : sequence of EvalResult
        Explanations and signals are made when a row is accessed.
    """

    scores: npt.NDArray[np.float64] = field(repr=False)
    null_reasons: npt.NDArray[np.uint8] = field(repr=False)
    composite_scores: npt.NDArray[np.float64] = field(repr=False)
    sample_passed: npt.NDArray[np.bool_] = field(repr=False)
    results: Sequence[EvalResult] = field(repr=False)

    def __post_init__(self) -> None:
        if self.composite_aggregate is None:
            object.__delattr__(self, "composite_aggregate")

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Compute ``composite_aggregate`` when it is looked at first, where None was given.

            Of a few rows it takes as long as their scores, and not everybody looks at it.
            """
            if name != "composite_aggregate":
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            found = aggregate_composite(self.composite_scores, self.sample_passed)
            object.__setattr__(self, name, found)
            return found

    def __len__(self) -> int:
        return self.n_rows

    def to_dict(self, details: bool = False) -> dict[str, Any]:
        """The batch in the schema of result files, with every row explained."""
        return {"results": [row.to_dict(details) for row in self.results], **self.summary_dict()}

    def to_json(self, path: str | Path | None = None, *, details: bool = False) -> str | None:
        """Write a result file, or return its text if no path is given.

        The JSON is strict: nulls have a ``nullReason``, and lone surrogates are escaped. With
        ``details``, each metric has the scores of chunks and sentences with their evidence.
        """
        from rag_eval.results.files import batch_json_parts, write_or_return

        return write_or_return(batch_json_parts(self, details), path)

    def to_jsonl(self, path: str | Path | None = None, *, details: bool = False) -> str | None:
        """One line of JSON per row, in the form of :meth:`EvalResult.to_dict`."""
        from rag_eval.results.files import jsonl_parts, write_or_return

        return write_or_return(jsonl_parts(self.results, details), path)

    def to_html(
        self,
        path: str | Path | None = None,
        *,
        title: str | None = None,
        baseline: Any = None,
        slice_by: Sequence[str] = (),
        cluster_by: str | None = None,
    ) -> str | None:
        """Write an HTML report, or return its text if no path is given.

        The report is one self-contained file with verdict, distributions, and rows that open to
        their evidence. Of more than 20,000 rows it lists the worst and a random sample. Needs
        jinja2 (``pip install 'rag-eval-native[report]'``).

        Parameters
        ----------
        path : str or Path, optional
        title : str, optional
        baseline : path or BatchEvalResult, optional
            An earlier run to compare with, as for :func:`rag_eval.compare`.
        slice_by : sequence of str
            Fields of the samples or of their metadata to slice by.
        cluster_by : str, optional
            As for :meth:`by_clusters`.
        """
        page: str | None = face("batch.page")(
            self, path, title=title, baseline=baseline, slice_by=slice_by, cluster_by=cluster_by
        )
        return page

    def mean_intervals(
        self,
        *,
        cluster_by: str | Sequence[object] | None = None,
        level: float = 0.95,
        method: MeanMethod | None = None,
    ) -> dict[MetricId, Interval]:
        """The mean of every metric and of ``"composite"`` with its interval.

        The intervals of aggregates assume independent rows. If rows come in clusters,
        ``cluster_by`` is a field of their metadata, or a value for each row. See
        :func:`rag_eval.stats.mean_interval`.
        """
        intervals: dict[MetricId, Interval] = face("batch.mean_intervals")(
            self, cluster_by=cluster_by, level=level, method=method
        )
        return intervals

    def by_clusters(self, name: str) -> BatchEvalResult:
        """The same result with the intervals of means and pass rates by clusters of rows.

        Parameters
        ----------
        name : str
            A field of the samples or of their metadata whose equal values mark rows that belong
            together. ``"document"`` stands for rows with the same contexts where there is no such
            field.

        Raises
        ------
        InputError
            For a row without the field.
        """
        batch: BatchEvalResult = face("batch.by_clusters")(self, name)
        return batch

    @staticmethod
    def from_json(source: str | bytes | Path) -> BatchEvalResult:
        """Read a result file (a path) or its text, from this library or rag-eval-node-ts.

        The file is ``.json`` with a summary or ``.jsonl`` with rows, from which statistics are
        computed; ``.gz`` or ``.zst`` may follow, and ``-`` is standard input.
        """
        from rag_eval.results.batch_reading import read_batch

        return read_batch(source)

    def plot(self, metrics: Iterable[str] | None = None, *, ax: Axes | None = None) -> Figure:
        """Plot the distribution of each metric with its threshold, mean and confidence interval.

        Needs matplotlib (``pip install 'rag-eval-native[plot]'``).

        Parameters
        ----------
        metrics : iterable of str, optional
            Metrics or ``"composite"``; by default all metrics of the batch and the composite.
        ax : matplotlib.axes.Axes, optional
            Axes for a single metric; by default a new figure with one axes per metric.
        """
        figure: Figure = face("batch.plot")(self, metrics, ax=ax)
        return figure

    def to_pandas(self, *, texts: bool = False) -> pd.DataFrame:
        """One row per sample: its ``id``, a column per metric, ``composite_score`` and ``passed``.

        Ids are None if samples have none or texts were not kept. Needs pandas
        (``pip install 'rag-eval-native[pandas]'``).

        Parameters
        ----------
        texts : bool
            Add ``question``, ``answer``, ``contexts`` and ``ground_truth`` after the id.
        """
        columns = frame_columns(self, texts=texts)
        frame: pd.DataFrame = package("pandas", "to_pandas", "pandas").DataFrame(columns)
        return frame

    def to_polars(self, *, texts: bool = False) -> pl.DataFrame:
        """The same as :meth:`to_pandas` for polars; missing scores are null.

        Ids are converted to texts. Needs polars (``pip install polars``).
        """
        polars = package("polars", "to_polars")
        columns = frame_columns(self, texts=texts)
        columns["id"] = [None if found is None else str(found) for found in columns["id"]]
        frame: pl.DataFrame = polars.DataFrame(columns, strict=False, nan_to_null=True)
        return frame
