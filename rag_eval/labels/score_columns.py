"""A run in; one score per sample, to compare with labels, out."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from rag_eval.judge.repeats import mean_of, measured
from rag_eval.judge.replies import JudgeIdentity
from rag_eval.judge.server_urls import independence_warnings
from rag_eval.metrics.registry import higher_is_better
from rag_eval.results.verdicts import NO_VERDICT
from rag_eval.runs.scored_run import ScoredRun
from rag_eval.samples import MetricId

UNIT: Final = (0.0, 1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreColumn:
    """One score per sample.

    Attributes
    ----------
    name : str
        Source of the scores, for messages.
    metric : str
    scores : mapping of float or None
        By sample id; the mean of repeats, None without a score.
    passed : mapping of bool
        Verdicts, where known: the majority of repeats, passed on a tie.
    scale : tuple of float or None
        Smallest and largest possible score; None if unknown.
    higher_is_better : bool
    judges : tuple of str
        Judges that gave the scores; empty if there are none or they are unknown.
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


class GatheredScores:
    """Collects scores and verdicts by sample id, one repeat at a time."""

    def __init__(self) -> None:
        self._scores: dict[str, list[float | None]] = defaultdict(list)
        self._passed: dict[str, list[bool]] = defaultdict(list)

    def add(self, name: str, score: float, passed: bool | None) -> None:
        """Add a row; its score may be NaN."""
        self._scores[name].append(measured(score))
        if passed is not None:
            self._passed[name].append(passed)

    def column(self, name: str, metric: str, **rest: Any) -> ScoreColumn:
        """The mean score of each sample; it passes if at least half of its verdicts pass."""
        return ScoreColumn(
            name=name,
            metric=metric,
            scores={one: mean_of(found) for one, found in self._scores.items()},
            passed={one: 2 * sum(found) >= len(found) for one, found in self._passed.items()},
            **rest,
        )


def column_of_run(run: ScoredRun, metric: MetricId) -> ScoreColumn:
    """The scores of one metric of a run, averaged over repeats of a sample.

    Raises
    ------
    InputError
        When the run does not have the metric.
    """
    values = run.column(metric)
    verdicts = run.metric_passed[:, run.metrics.index(metric)].tolist()
    gathered = GatheredScores()
    for name, value, verdict in zip(run.ids, values.tolist(), verdicts, strict=True):
        gathered.add(name, value, None if verdict == NO_VERDICT else bool(verdict))
    known = values[~np.isnan(values)]
    judges = _judges(run, metric)
    return gathered.column(
        run.name,
        metric,
        # A table may hold scores on another scale.
        scale=UNIT if not len(known) or (known.min() >= 0 and known.max() <= 1) else None,
        higher_is_better=higher_is_better(metric),
        judges=tuple(map(str, judges)),
        notes=independence_warnings(judges),
    )


def _judges(run: ScoredRun, metric: MetricId) -> list[JudgeIdentity]:
    """The judges, from the run's signature."""
    options = {} if run.signature is None else run.signature.options
    if metric not in (options.get("judged") or ()):
        return []
    return [
        JudgeIdentity(str(one.get("provider")), str(one.get("model")), one.get("baseUrl"))
        for one in options.get("judges") or ()
        if isinstance(one, Mapping)
    ]
