"""The words everything else speaks: samples, metric ids, null reasons, evaluation modes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from functools import cache
from typing import Any, Final, Literal, TypeAlias

from rag_eval.errors import InputError, suggestion

MetricId: TypeAlias = str
"""One of the seven metrics, a diagnostic of the grounded profile, or a scorer of another tool.

The last have a dot in their names: ``mastra.bias``. Wherever a metric id comes in, camelCase is
accepted as well.
"""

Profile: TypeAlias = Literal["overlap", "grounded"]
"""How metrics are computed: as rag-eval-node-ts does, or so that scores agree with people."""

PROFILES: Final[tuple[Profile, ...]] = ("overlap", "grounded")

EvaluationMode: TypeAlias = Literal["heuristic", "llm", "hybrid", "cascade"]
"""Who scores: the kernels, a judge, each some metrics, or a judge where kernels are uncertain."""

# The order of these and then of the diagnostics is that of the kernels' metric numbers.
METRIC_IDS: Final[tuple[MetricId, ...]] = (
    "faithfulness",
    "answer_relevance",
    "context_precision",
    "context_recall",
    "context_relevance",
    "answer_correctness",
    "hallucination_rate",
)
DIAGNOSTIC_IDS: Final[tuple[MetricId, ...]] = (
    "context_utilization",
    "noise_sensitivity",
    "claim_recall",
    "self_knowledge",
    "unsupported_numbers",
    "unsupported_names",
)
ALL_METRIC_IDS: Final = METRIC_IDS + DIAGNOSTIC_IDS

# Scorers of other tools that can be asked for as metrics; their rooms are in ``scorers``, which
# takes longer to import than all the names are worth.
SCORER_IDS: Final[tuple[MetricId, ...]] = (
    "mastra.answer_relevancy",
    "mastra.answer_similarity",
    "mastra.faithfulness",
    "mastra.hallucination",
    "mastra.bias",
    "mastra.toxicity",
    "mastra.context_precision",
    "mastra.context_relevance",
    "mastra.noise_sensitivity",
    "mastra.prompt_alignment",
    "mastra.tool_call_accuracy_llm",
    "mastra.context_recall",
    "mastra.rubric",
    "mastra.summarization",
    "mastra.multi_turn_judge",
    "mastra.trajectory_accuracy_llm",
    "omk.faithfulness",
    "omk.answer_relevancy",
    "omk.context_recall",
    "omk.semantic_similarity",
)

KNOWN_METRIC_IDS: Final = ALL_METRIC_IDS + SCORER_IDS


def is_scorer_id(metric: MetricId) -> bool:
    """Whether a metric is a scorer of another tool, which no kernel computes."""
    return "." in metric


@cache  # every row of a result file asks for dozens
def camel_case(name: str) -> str:
    """``answer_relevance`` -> ``answerRelevance``, the spelling of result files."""
    head, *rest = name.split("_")
    return head + "".join(part.capitalize() for part in rest)


_METRIC_NAMES: Final[dict[str, MetricId]] = {
    name: metric for metric in KNOWN_METRIC_IDS for name in (metric, camel_case(metric))
}


def to_metric_id(name: object) -> MetricId:
    """The metric of that name, in snake_case or camelCase.

    Raises
    ------
    InputError
        When there is none; the message suggests the nearest.
    """
    metric = _METRIC_NAMES.get(name) if isinstance(name, str) else None
    if metric is None:
        known = ", ".join(KNOWN_METRIC_IDS)
        hint = suggestion(name, KNOWN_METRIC_IDS)
        raise InputError(f"unknown metric {name!r}{hint} (known metrics: {known})")
    return metric


class NullReason(IntEnum):
    """Why a score is null; 0 where it is not."""

    MEASURED = 0
    MISSING_FIELD = 1
    NOTHING_TO_MEASURE = 2
    JUDGE_FAILED = 3
    SKIPPED = 4
    JUDGE_UNPARSED = 5
    JUDGE_INCOMPLETE = 6
    JUDGE_REFUSED = 7
    JUDGE_TRUNCATED = 8
    JUDGE_TIMED_OUT = 9
    JUDGE_UNREACHABLE = 10
    JUDGE_BUDGET = 11
    JUDGE_INTERRUPTED = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class EvalSample:
    """One question with the answer given, the chunks retrieved and, where known, the truth.

    Attributes
    ----------
    question, answer : str, optional
        Needed by the metrics that read them; see the metric table.
    contexts : sequence of str, optional
        Retrieved chunks in rank order. An empty list is legal.
    ground_truth : str or sequence of str, optional
        The reference answer; the grounded profile takes several acceptable ones, and the best
        counts. None and the empty string mean that there is none.
    id : str, optional
        Named in errors and echoed in results.
    metadata : mapping, optional
        Echoed in results, never read.
    language : str, optional
        Tag of the language the texts are read in, such as ``de`` or ``pt-BR``; detected where
        None. Only the grounded profile reads it.
    """

    question: str | None = None
    answer: str | None = None
    contexts: list[str] | tuple[str, ...] | None = None
    ground_truth: str | list[str] | tuple[str, ...] | None = None
    id: str | None = None
    metadata: Mapping[str, Any] | None = None
    language: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """The sample in the schema of result files (camelCase), without fields that are None."""
        fields = {
            "question": self.question,
            "answer": self.answer,
            "contexts": None if self.contexts is None else list(self.contexts),
            "groundTruth": list(self.ground_truth)
            if isinstance(self.ground_truth, tuple)
            else self.ground_truth,
            "id": self.id,
            "metadata": None if self.metadata is None else dict(self.metadata),
            "language": self.language,
        }
        return {name: value for name, value in fields.items() if value is not None}
