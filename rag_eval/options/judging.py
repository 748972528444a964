"""Options of judging: their types and defaults."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias, TypedDict, get_type_hints

from rag_eval.judge.replies import JudgeFn
from rag_eval.metrics.contract import JudgeStyle
from rag_eval.samples import EvaluationMode, MetricId

OnJudgeFailure: TypeAlias = Literal["null", "heuristic"]
PromptBodies: TypeAlias = str | Mapping[str, str]
"""The body of a metric's last prompt, or the bodies of some of its steps."""


Band: TypeAlias = tuple[float, float]

AUDIT_SHARE: Final = 0.02
# Rows of which a person would probably say neither yes nor no.
UNCERTAIN: Final[Band] = (0.2, 0.8)
# Where a judge sees most that words alone do not show.
HYBRID_JUDGED: Final[tuple[MetricId, ...]] = (
    "faithfulness",
    "answer_relevance",
    "hallucination_rate",
)


class PromptOverrides(TypedDict, total=False):
    """Bodies of prompts per metric: of its last step, or by the name of the step.

    A body has the ``$variables`` of the one it replaces; what frames it stays ours. Scorers of
    other tools go by their ids, such as ``mastra.bias``, in a plain mapping.
    """

    faithfulness: PromptBodies
    answer_relevance: PromptBodies
    context_precision: PromptBodies
    context_recall: PromptBodies
    context_relevance: PromptBodies
    answer_correctness: PromptBodies
    hallucination_rate: PromptBodies


class JudgeOptions(TypedDict, total=False):
    """Options of judging; None and missing mean the default.

    Attributes
    ----------
    mode : {"heuristic", "llm", "hybrid", "cascade"}
        Who scores: the kernels; a judge; a judge for some metrics (``metric_modes``, by default
        faithfulness, answer_relevance and hallucination_rate); or a judge for the rows that the
        kernels leave uncertain, which implies ``profile="grounded"``.
    judge : callable or str
        Takes a prompt and gives a reply, or an address: ``openai:MODEL``, ``anthropic:MODEL``, or
        ``http://127.0.0.1:11434/v1#MODEL``.
    judges : sequence of these
        Several, whose mean counts.
    metric_modes : mapping of {"heuristic", "llm"}
        Per metric, over ``mode``.
    prompt_overrides : mapping
        Bodies of prompts, per metric or per metric and step, with the same ``$variables``. Metrics
        share steps, such as the check of claims: a body holds for all metrics that ask the step.
    judge_style : {"claims", "rating"}
        Claim by claim, or one rating from 1 to 5 per metric.
    judge_repeat : int, default 1
        How often every judgement is made; the mean counts.
    length_debias : bool, default True
        Tell the judge that length is no merit.
    on_judge_failure : {"null", "heuristic"}
        What a failed judgement leaves: a null with its reason, or the native score, marked.
    cascade_band : (low, high) or mapping of these
        Native scores, per metric or for all, between which the judge is asked. By default those
        whose calibrated probability lies from 0.2 to 0.8.
    audit_share : float, default 0.02
        Cascade: share of the rows outside the band that the judge is asked about all the same.
    judge_seed : int, default 0
        Cascade: which rows those are.
    concurrency : int, default 4
        Calls in flight.
    call_timeout_s : float, default 60
    run_timeout_s : float
        No call begins after it.
    retries : int, default 5
        Tries after the first, where the server failed or limits the rate.
    requests_per_minute, tokens_per_minute : float
    max_calls : int
        No call begins after so many.
    budget_usd : float
        No call begins once so much is spent; needs ``prices``.
    max_parse_failures : int
        More replies that cannot be read end the run.
    prices : mapping or path
        USD per million tokens: ``{"gpt-5": {"input": 1.25, "output": 10}}``, or a file of that.
    judge_cache : path or JudgeCache
        SQLite file of replies, made when it is not there; none by default. A
        :class:`rag_eval.judge.cache.JudgeCache` has caps of size and age of its own.
    scorer_options : mapping of mappings
        Options of the scorers of other tools among the metrics, such as
        ``{"mastra.noise_sensitivity": {"baseline_response": "..."}}``.
    """

    mode: EvaluationMode | None
    judge: JudgeFn | str | None
    judges: Sequence[JudgeFn | str] | None
    metric_modes: Mapping[str, Literal["heuristic", "llm"]] | None
    prompt_overrides: PromptOverrides | Mapping[str, PromptBodies] | None
    judge_style: JudgeStyle | None
    judge_repeat: int | None
    length_debias: bool | None
    on_judge_failure: OnJudgeFailure | None
    cascade_band: Band | Mapping[str, Band] | None
    audit_share: float | None
    judge_seed: int | None
    concurrency: int | None
    call_timeout_s: float | None
    run_timeout_s: float | None
    retries: int | None
    requests_per_minute: float | None
    tokens_per_minute: float | None
    max_calls: int | None
    budget_usd: float | None
    max_parse_failures: int | None
    prices: Mapping[str, Mapping[str, float]] | str | Path | None
    judge_cache: Any
    scorer_options: Mapping[str, Mapping[str, Any]] | None


JUDGE_KEYS: Final = frozenset(get_type_hints(JudgeOptions))
# The judge of a signature, and what else of judging could change a number.
SIGNATURE_KEYS: Final = (
    "mode",
    "judged",
    "judges",
    "judgeStyle",
    "judgeRepeat",
    "judgePrompts",
    "onJudgeFailure",
    "cascadeBand",
    "auditShare",
    "judgeSeed",
    "scorerOptions",
    "calibrations",
)
# Those of them that have a value per metric.
PER_METRIC_KEYS: Final = frozenset({"judgePrompts", "cascadeBand", "scorerOptions", "calibrations"})
