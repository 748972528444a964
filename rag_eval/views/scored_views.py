"""A run of any kind in; its view out, with texts where its source has them."""

from __future__ import annotations

import math
from pathlib import Path

from rag_eval.errors import InputError
from rag_eval.results.aggregates import aggregate_composite, aggregate_metric
from rag_eval.results.batch import BatchEvalResult, BatchSummary
from rag_eval.results.row import ByMetric, EvalResult, MetricResult, row_name
from rag_eval.runs.run_files import RunSource, read_run
from rag_eval.runs.scored_run import ScoredRun
from rag_eval.samples import NullReason
from rag_eval.views.distributions import histograms
from rag_eval.views.making import view_of_batch, view_of_file
from rag_eval.views.row_choice import MOST_ROWS, RowChoice
from rag_eval.views.run_view import RunView, ViewedRow

NO_TEXTS = "the file has scores but no texts, so rows show only their scores"


def view_of_source(source: RunSource, *, id_field: str = "id") -> RunView:
    """The view of a result file or a result with its texts, of any other run with its scores.

    Raises
    ------
    InputError
        If it cannot be read.
    """
    if isinstance(source, BatchEvalResult):
        return view_of_batch(source)
    if isinstance(source, (str, Path)):
        try:
            return view_of_file(source)
        except InputError:  # a table of scores, several files, or a file that is not there
            pass
    return view_of_run(read_run(source, id_field=id_field))


def view_of_run(run: ScoredRun) -> RunView:
    """The view of scores without texts."""
    passed = run.passed != 0
    aggregates = {
        metric: aggregate_metric(metric, run.scores[:, place], run.metric_passed[:, place] == 1)
        for place, metric in enumerate(run.metrics)
    }
    summary = BatchSummary(
        metrics=run.metrics,
        n_rows=len(run),
        n_passed=int(passed.sum()),
        aggregates=ByMetric(aggregates),
        composite_aggregate=aggregate_composite(run.composite, passed),
        passed=bool(passed.all()) and len(run) > 0,
        total_duration_ms=0,
        evaluated_at="",
        signature=run.signature,
    )
    choice: RowChoice[int] = RowChoice(MOST_ROWS)
    choice.add(0, run.composite, passed, int)
    return RunView(
        source=run.name,
        summary=summary,
        thresholds=dict.fromkeys(run.metrics),
        gates=(),
        passed=None,
        histograms=histograms(summary, [(run.scores, run.composite)]),
        rows=tuple(_row(run, number) for number in choice.chosen()),
        notes=(NO_TEXTS,),
    )


def _row(run: ScoredRun, number: int) -> ViewedRow:
    metrics = {}
    for place, metric in enumerate(run.metrics):
        score, verdict = float(run.scores[number, place]), int(run.metric_passed[number, place])
        metrics[metric] = MetricResult(
            metric_id=metric,
            score=None if math.isnan(score) else score,
            passed=bool(verdict) if verdict in (0, 1) else None,
            threshold=None,
            explanation="",
            signals=(),
            null_reason=NullReason(int(run.null_reasons[number, place])),
        )
    composite = float(run.composite[number])
    known = run.ids[number]
    result = EvalResult(
        sample={"id": known},
        metrics=ByMetric(metrics),
        composite_score=None if math.isnan(composite) else composite,
        passed=bool(run.passed[number] != 0),
        evaluated_at="",
        signature=run.signature,
    )
    return ViewedRow(number=number, name=row_name(number, known), id=known, result=result)
