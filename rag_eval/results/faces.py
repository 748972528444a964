"""How results show themselves: names of faces -> functions of the rooms above.

A result is data and knows none of its readers; its methods that open one, such as ``to_html``, find
it here, as texts that are looked up when they are used.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, Final

FACES: Final = {
    "batch.by_clusters": "rag_eval.runs.row_clusters:by_clusters",
    "batch.mean_intervals": "rag_eval.runs.metric_intervals:mean_intervals",
    "batch.page": "rag_eval.reports.page.page:page_of_batch",
    "batch.plot": "rag_eval.reports.plot:scores_figure",
    "comparison.notebook": "rag_eval.reports.notebook_batch:comparison_html",
    "comparison.plot": "rag_eval.reports.plot:changes_figure",
    "gate.notebook": "rag_eval.reports.notebook_batch:gate_html",
    "progress.bar": "rag_eval.reports.progress:live_progress",
    "row.notebook": "rag_eval.reports.notebook:result_html",
    "run.notebook": "rag_eval.reports.notebook_batch:run_html",
    "run.page": "rag_eval.reports.page.page:page_of_run",
    "summary.notebook": "rag_eval.reports.notebook_batch:summary_html",
}


def face(name: str) -> Callable[..., Any]:
    """The function behind a face; its module is imported now."""
    module, _, function = FACES[name].partition(":")
    found: Callable[..., Any] = getattr(import_module(module), function)
    return found
