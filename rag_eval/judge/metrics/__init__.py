"""The judged metrics: a row's texts and an asker to judgements."""

from rag_eval.judge.metrics.catalogue import JUDGED_METRICS, steps_of
from rag_eval.judge.metrics.judgements import JudgedRow, Judgement, Verdict
from rag_eval.judge.metrics.row import judge_row

__all__ = [
    "JUDGED_METRICS",
    "JudgedRow",
    "Judgement",
    "Verdict",
    "judge_row",
    "steps_of",
]
