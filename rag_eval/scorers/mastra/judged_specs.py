"""Mastra's scorers that ask a judge, all of them."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from rag_eval.metrics.contract import JUDGE_STYLES, JudgedRule
from rag_eval.samples import MetricId
from rag_eval.scorers.mastra import answers, chunks, claims, criteria, harms, judged_agents
from rag_eval.scorers.mastra.judged import MastraSpec
from rag_eval.scorers.mastra.noise_sensitivity import NOISE_SENSITIVITY
from rag_eval.scorers.mastra.prompt_alignment import PROMPT_ALIGNMENT
from rag_eval.scorers.mastra.summarization import SUMMARIZATION

_SPECS: Final = (
    answers.RELEVANCY,
    answers.SIMILARITY,
    claims.FAITHFULNESS,
    claims.HALLUCINATION,
    harms.BIAS,
    harms.TOXICITY,
    chunks.PRECISION,
    chunks.RELEVANCE,
    NOISE_SENSITIVITY,
    PROMPT_ALIGNMENT,
    judged_agents.TOOL_CALL_ACCURACY,
    claims.RECALL,
    criteria.RUBRIC,
    SUMMARIZATION,
    criteria.MULTI_TURN,
    judged_agents.TRAJECTORY_ACCURACY,
)

MASTRA_SCORERS: Final[Mapping[str, MastraSpec]] = MappingProxyType(
    {spec.metric.id: spec for spec in _SPECS}
)

METRICS: Final = tuple(spec.metric for spec in _SPECS)


def rule_of(metric: MetricId) -> JudgedRule:
    """How a judge scores one of them; the same in either style."""
    spec = MASTRA_SCORERS[metric]
    return JudgedRule(
        metric=dict.fromkeys(JUDGE_STYLES, spec.metric),
        steps=dict.fromkeys(JUDGE_STYLES, spec.steps),
        create=spec.judged_scorer,
    )
