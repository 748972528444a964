"""The words everything else speaks: samples, metric ids, null reasons, evaluation modes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import IntEnum
from functools import cache
from typing import Any, Final, Literal, TypeAlias

from rag_eval.errors import InputError, glance, suggestion

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
# takes longer to import than all the names are worth. First those that only a judge can score.
JUDGED_SCORER_IDS: Final[tuple[MetricId, ...]] = (
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
CODE_SCORER_IDS: Final[tuple[MetricId, ...]] = (
    "mastra.content_similarity",
    "mastra.textual_difference",
    "mastra.keyword_coverage",
    "mastra.tone_consistency",
    "mastra.completeness",
    "mastra.tool_call_accuracy",
    "mastra.trajectory_accuracy",
    "mastra.trajectory",
    "mastra.check_includes",
    "mastra.check_excludes",
    "mastra.check_equals",
    "mastra.check_matches",
    "mastra.check_similarity",
    "mastra.check_called_tool",
    "mastra.check_did_not_call",
    "mastra.check_tool_order",
    "mastra.check_max_tool_calls",
    "mastra.check_used_no_tools",
    "mastra.check_no_tool_errors",
    "hazel.precision_at_k",
    "hazel.recall_at_k",
    "hazel.mrr",
    "hazel.ndcg_at_k",
    "hazel.answer_context_overlap",
    "hazel.trajectory_score",
    "hazel.tool_call_accuracy",
    "regtrace.format",
    "regtrace.format_mean",
    "regtrace.length_ratio",
    "regtrace.value_similarity",
    "regtrace.markdown_features",
    "regtrace.term_coverage",
    "regtrace.phrase_penalty",
    "regtrace.regex_match",
    "regtrace.factuality",
    "regtrace.tone",
    "regtrace.ngram_factuality",
    "regtrace.json_structure",
    "regtrace.tone_heuristic",
    "regtrace.regression",
    "omk.assertions",
    "omk.composite",
    "omk.fact",
    "omk.behaviour",
    "omk.rouge_n",
    "omk.bleu",
    "omk.levenshtein",
    "omk.contains",
    "omk.not_contains",
    "omk.contains_all",
    "omk.contains_any",
    "omk.equals",
    "omk.not_equals",
    "omk.regex",
    "omk.json_valid",
    "omk.json_schema",
    "omk.tool_output_contains",
    "omk.tool_input_contains",
    "omk.tool_input_not_contains",
    "omk.starts_with",
    "omk.ends_with",
    "omk.min_length",
    "omk.max_length",
    "omk.word_count_min",
    "omk.word_count_max",
    "omk.cost_max",
    "omk.latency_max",
    "omk.turns_min",
    "omk.turns_max",
    "omk.tools_called",
    "omk.tools_not_called",
    "omk.tools_count_min",
    "omk.tools_count_max",
    "omk.mock_hit",
    "ir.P@1",
    "ir.P@3",
    "ir.P@5",
    "ir.P@10",
    "ir.recall@1",
    "ir.recall@3",
    "ir.recall@5",
    "ir.recall@10",
    "ir.success@1",
    "ir.success@3",
    "ir.success@5",
    "ir.success@10",
    "ir.ndcg@1",
    "ir.ndcg@3",
    "ir.ndcg@5",
    "ir.ndcg@10",
    "ir.recip_rank",
    "ir.map",
    "ir.ndcg",
    "ir.Rprec",
    "ir.bpref",
    "ir.rbp",
    "ir.recip_rank@10",
    "ir.map@10",
    "ir.err@10",
)

KNOWN_METRIC_IDS: Final[tuple[MetricId, ...]] = ALL_METRIC_IDS + JUDGED_SCORER_IDS + CODE_SCORER_IDS

# Metrics of the caller's own, which are known once they are registered.
_own_metrics: Final[dict[str, None]] = {}


def is_scorer_id(metric: MetricId) -> bool:
    """Whether a metric is a scorer, of another tool or the caller's own, which is no kernel's."""
    return metric not in _KERNEL_METRICS


def needs_judge(metric: MetricId) -> bool:
    """Whether only a judge can score a metric."""
    return metric in _ONLY_JUDGED


def are_of_kernels(metrics: Iterable[MetricId]) -> bool:
    """Whether kernels compute all of some metrics: the usual case, told at once."""
    return _KERNEL_METRICS.issuperset(metrics)


def can_be_judged(metric: MetricId) -> bool:
    """Whether a judge can score a metric, whoever else can."""
    return metric in METRIC_IDS or metric in _ONLY_JUDGED or metric in JUDGED_TOO


# Scorers that a judge does better, and that have a rule of their own where none is asked.
JUDGED_TOO: Final = frozenset({"regtrace.factuality", "regtrace.tone"})

_KERNEL_METRICS: Final = frozenset(ALL_METRIC_IDS)
_ONLY_JUDGED: Final = frozenset(JUDGED_SCORER_IDS)


@cache  # every row of a result file asks for dozens
def camel_case(name: str) -> str:
    """``answer_relevance`` -> ``answerRelevance``, the spelling of result files."""
    head, *rest = name.split("_")
    return head + "".join(part.capitalize() for part in rest)


def snake_case(name: str) -> str:
    """``answerRelevance`` -> ``answer_relevance``; snake_case stays as it is."""
    return re.sub(r"(?<=[a-z0-9])([A-Z])", lambda match: "_" + match[1].lower(), name)


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
    metric = _metric_named(name)
    if metric is None:
        known = known_metric_ids()
        hint = suggestion(name, known)
        own = isinstance(name, str) and not hint and _OWN_NAME.fullmatch(snake_case(name))
        raise InputError(
            f"unknown metric {glance(name)}{hint} (`rag-eval metrics` lists all {len(known)}; "
            f"the usual ones: {', '.join(METRIC_IDS)}"
            f"{'; one of your own is known once its module was imported' if own else ''})"
        )
    return metric


def _metric_named(name: object) -> MetricId | None:
    if not isinstance(name, str):
        return None
    return _METRIC_NAMES.get(name) or _open_metric(name) or _open_metric(snake_case(name))


def _open_metric(name: str) -> MetricId | None:
    """A metric of the caller's, or a measure of retrieval with any cutoff; None for neither."""
    from rag_eval.metrics.measure_names import canonical_name

    return name if name in _own_metrics else canonical_name(name)


def metric_of_file(name: str) -> MetricId:
    """The metric of that name in a result file, where it may be another caller's own.

    Raises
    ------
    InputError
        When it can be the name of none.
    """
    metric = _metric_named(name)
    # Before an error is worded, which takes a millisecond: a file may have a million names.
    if metric is None and _OWN_NAME.fullmatch(own := snake_case(name)):
        return own
    return to_metric_id(name) if metric is None else metric


def metric_or_column(name: str) -> str:
    """A metric under its own name in any spelling, or the column of a table as it is."""
    try:
        return metric_of_file(name)
    except InputError:
        return name


def known_metric_ids() -> tuple[MetricId, ...]:
    """All metrics by their ids, those of the caller's own among them.

    Measures of retrieval have any cutoff; those at the usual ones stand for all.
    """
    return (*KNOWN_METRIC_IDS, *_own_metrics)


def add_metric_id(name: str) -> MetricId:
    """Make a name of the caller's known as a metric id.

    Raises
    ------
    InputError
        When it is no name, or is taken.
    """
    if not isinstance(name, str) or not _OWN_NAME.fullmatch(name):
        raise InputError(
            f"a metric id must be words of small letters, digits and underscores, joined by dots, "
            f"got {name!r:.80}"
        )
    if name in _METRIC_NAMES or name in _own_metrics or _open_metric(name) is not None:
        raise InputError(f"metric id {name!r} is taken")
    if name.partition(".")[0] in _TOOLS:
        raise InputError(
            f"metric id {name!r}: names that begin with {name.partition('.')[0]}. are those of "
            "that tool's scorers"
        )
    _own_metrics[name] = None
    return name


def drop_metric_id(name: str) -> None:
    """Forget a name of the caller's."""
    _own_metrics.pop(name, None)


_OWN_NAME: Final = re.compile(r"[a-z][a-z0-9_]{0,63}(\.[a-z0-9_]{1,64}){0,3}", re.ASCII)
_TOOLS: Final = frozenset({"mastra", "omk", "hazel", "regtrace", "ir"})


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
