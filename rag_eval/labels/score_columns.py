"""The scores that labels are held against.  In: a run, or a report of omk.  Out: one per sample."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np

from rag_eval.errors import InputError, suggestion
from rag_eval.inputs.byte_files import file_bytes, source_name
from rag_eval.judge.independence import independence_warnings
from rag_eval.judge.repeats import mean_of, measured
from rag_eval.judge.replies import JudgeIdentity
from rag_eval.labels.omk_gold import variant_score
from rag_eval.metrics.registry import higher_is_better
from rag_eval.plumbing import json_text
from rag_eval.runs.scored_run import NOT_JUDGED, ScoredRun
from rag_eval.samples import MetricId

UNIT: Final = (0.0, 1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreColumn:
    """One score per sample.

    Attributes
    ----------
    name : str
        Where they come from, for messages.
    metric : str
    scores : mapping of float or None
        By the ids of the samples; the mean of repeats, None where there is no score.
    passed : mapping of bool
        Verdicts, where they are known: of repeats that of the most, passed where they are even.
    scale : tuple of float or None
        Least and largest score there can be; None where that is not known.
    higher_is_better : bool
    judges : tuple of str
        Who gave them; empty where no judge did, or it is not known.
    notes : tuple of str
    """

    name: str
    metric: str
    scores: Mapping[str, float | None] = field(repr=False)
    passed: Mapping[str, bool] = field(default_factory=dict, repr=False)
    scale: tuple[float, float] | None = UNIT
    higher_is_better: bool = True
    judges: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def column_of_run(run: ScoredRun, metric: MetricId) -> ScoreColumn:
    """The scores of one metric of a run, repeats of a sample averaged.

    Raises
    ------
    InputError
        When the run does not have the metric.
    """
    values = run.column(metric)
    verdicts = run.metric_passed[:, run.metrics.index(metric)].tolist()
    scores: dict[str, list[float | None]] = defaultdict(list)
    passed: dict[str, list[bool]] = defaultdict(list)
    for name, value, verdict in zip(run.ids, values.tolist(), verdicts, strict=True):
        scores[name].append(measured(value))
        if verdict != NOT_JUDGED:
            passed[name].append(bool(verdict))
    known = values[~np.isnan(values)]
    judges = _judges(run, metric)
    return ScoreColumn(
        name=run.name,
        metric=metric,
        scores={name: mean_of(found) for name, found in scores.items()},
        passed={name: 2 * sum(found) >= len(found) for name, found in passed.items()},
        # A table may hold scores of another kind.
        scale=UNIT if not len(known) or (known.min() >= 0 and known.max() <= 1) else None,
        higher_is_better=higher_is_better(metric),
        judges=tuple(map(str, judges)),
        notes=independence_warnings(judges),
    )


def _judges(run: ScoredRun, metric: MetricId) -> list[JudgeIdentity]:
    """Those who gave the scores, by the run's signature."""
    options = {} if run.signature is None else run.signature.options
    if metric not in (options.get("judged") or ()):
        return []
    return [
        JudgeIdentity(str(one.get("provider")), str(one.get("model")), one.get("baseUrl"))
        for one in options.get("judges") or ()
        if isinstance(one, Mapping)
    ]


def column_of_omk_report(path: str | Path, variant: str | None = None) -> ScoreColumn:
    """The judge's scores of one variant in a report of omk, on its scale of 1 to 5.

    Parameters
    ----------
    path : path
        A JSON report.
    variant : str, optional
        The first by default, which is the control.

    Raises
    ------
    InputError
        For another file, and for an unknown variant.
    """
    source = source_name(path)
    data = file_bytes(path)
    try:
        report = json_text.loads(data)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{source} is not JSON: {error}") from None
    rows = report.get("results") if isinstance(report, Mapping) else None
    if not isinstance(rows, list) or not all(_is_row(row) for row in rows):
        raise InputError(f"{source} is no report of omk: results with sample_id and variants")
    meta = report.get("meta")
    meta = meta if isinstance(meta, Mapping) else {}
    variants = _variants(meta, rows)
    if not variants:
        raise InputError(f"{source} names no variants")
    chosen = variants[0] if variant is None else variant
    if chosen not in variants:
        hint = suggestion(chosen, variants)
        raise InputError(f"{source}: no variant {chosen!r}{hint} (variants: {', '.join(variants)})")
    return ScoreColumn(
        name=f"{source}, variant {chosen}",
        metric="llmScore",
        scores={row["sample_id"]: variant_score(row, chosen) for row in rows},
        scale=None,
        judges=tuple(_judge_names(meta.get("judgeModels"))),
    )


def _is_row(row: object) -> bool:
    return (
        isinstance(row, Mapping)
        and isinstance(row.get("sample_id"), str)
        and isinstance(row.get("variants"), Mapping)
    )


def _variants(meta: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> list[str]:
    listed = meta.get("variants")
    if isinstance(listed, list) and listed and all(isinstance(name, str) for name in listed):
        return listed
    return list(dict.fromkeys(str(name) for row in rows for name in row["variants"]))


def _judge_names(models: object) -> list[str]:
    if not isinstance(models, list):
        return []
    return [
        f"{model.get('executor')}:{model.get('model')}"
        if isinstance(model, Mapping)
        else str(model)
        for model in models
    ]
