"""The blocks of scores of a run in; the agreement of each metric with labels out."""

from __future__ import annotations

from pathlib import Path

from rag_eval.kernels.verdicts import verdicts_of
from rag_eval.labels.comparing_labels import compare_labels
from rag_eval.labels.comparisons import LabelComparison
from rag_eval.labels.label_sets import read_labels
from rag_eval.labels.score_columns import GatheredScores, ScoreColumn
from rag_eval.options.plan import Plan
from rag_eval.samples import MetricId
from rag_eval.scoring.engine import ScoredBlock


class GoldScores:
    """Keeps the scores of the labelled samples of a run only.

    A repeated sample gets the mean of its scores and passes if at least half of its rows pass.

    Raises
    ------
    InputError
        On creation, for labels that cannot be read.
    """

    def __init__(self, source: str | Path, plan: Plan) -> None:
        self._labels = read_labels(source)
        self._wanted = frozenset(self._labels.ids)
        self._plan = plan
        self._gathered = {metric: GatheredScores() for metric in plan.columns}

    def add(self, scored: ScoredBlock, first_row: int) -> None:
        """Add the scores of a block."""
        ids = [None if found is None else str(found) for found in scored.rows.ids()]
        places = [place for place, name in enumerate(ids) if name in self._wanted]
        if not places:
            return
        scores = scored.scores[places]
        passed = verdicts_of(scores, self._plan.rule).metric_passed
        for column, metric in enumerate(self._plan.columns):
            for row, place in enumerate(places):
                score = float(scores[row, column])
                judged = score == score and self._plan.thresholds[metric] is not None
                verdict = bool(passed[row, column]) if judged else None
                self._gathered[metric].add(str(ids[place]), score, verdict)

    def comparisons(self, name: str) -> dict[MetricId, LabelComparison]:
        """The agreement of each metric with the labels; ``name`` is the name of the run."""
        return {
            metric: compare_labels(self._labels, self._column(metric, name))
            for metric in self._plan.columns
        }

    def _column(self, metric: MetricId, name: str) -> ScoreColumn:
        judging = self._plan.judging
        judged = judging is not None and metric in judging.judged
        return self._gathered[metric].column(
            name,
            metric,
            higher_is_better=self._plan.specs[metric].higher_is_better,
            judges=tuple(map(str, judging.identities)) if judging is not None and judged else (),
        )
