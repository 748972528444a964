"""The judged metrics: a row's texts and an asker to judgements."""

from rag_eval.judge.metrics.catalogue import (
    DEFAULT_THRESHOLDS,
    JUDGED_METRICS,
    STEPS_OF,
    JudgedSpec,
    steps_of,
)
from rag_eval.judge.metrics.judgements import JudgedRow, Judgement, Verdict
from rag_eval.judge.metrics.row import judge_row

__all__ = [
    "DEFAULT_THRESHOLDS",
    "JUDGED_METRICS",
    "STEPS_OF",
    "JudgedRow",
    "JudgedSpec",
    "Judgement",
    "Verdict",
    "judge_row",
    "steps_of",
]
