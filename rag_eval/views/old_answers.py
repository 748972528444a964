"""A view and a baseline in; the view out, whose rows know the answers that the baseline gave."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from rag_eval.errors import InputError
from rag_eval.results.reading import ResultFile
from rag_eval.runs.run_files import RunSource
from rag_eval.views.run_view import RunView
from rag_eval.views.texts import fields_of


def with_old_answers(view: RunView, old: RunSource | None, *, id_field: str = "id") -> RunView:
    """The view, whose rows know the answers of a baseline, if this has texts."""
    answers = answers_of(old, id_field)
    if not answers:
        return view
    rows = []
    for row in view.rows:
        before = answers.get(row.id or "")
        is_other = before is not None and before != fields_of(row.result).get("answer")
        rows.append(replace(row, old_answer=before) if is_other else row)
    return replace(view, rows=tuple(rows))


def answers_of(source: RunSource | None, id_field: str = "id") -> dict[str, str]:
    """The answers of a result file by row id; empty for any other run, and for a pipe."""
    if not isinstance(source, (str, Path)) or source == "-":
        return {}
    answers: dict[str, str] = {}
    try:
        for _, row in ResultFile(source).result_rows():
            sample = row.get("sample")
            if isinstance(sample, Mapping) and isinstance(sample.get("answer"), str):
                answers.setdefault(str(sample.get(id_field)), sample["answer"])
    except InputError:  # scores alone, or several files
        return {}
    return answers
