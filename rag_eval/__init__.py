"""Scores RAG outputs at native speed.

``evaluate`` scores one sample and explains its scores, ``evaluate_batch`` many on all cores,
``score_file`` files of any size, ``run_file`` a file as a whole with statistics and gates, and
``create_evaluator`` fixes options in advance. The other names are text primitives and the types of
inputs and results.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from rag_eval._version import __version__ as __version__

try:
    # A broken build fails here, at once, and not in the middle of a run.
    from rag_eval._native import overlap_block as _overlap_block  # noqa: F401
except ImportError as _error:  # pragma: no cover
    raise ImportError(
        "the compiled kernels of rag_eval are missing or broken; install a wheel "
        "(pip install rag-eval-native) or build in place (pip install -e .) with a C compiler"
    ) from _error

if TYPE_CHECKING:
    from rag_eval.calibration.fitting import calibrate
    from rag_eval.comparing.many_runs import compare_runs
    from rag_eval.comparing.two_runs import compare
    from rag_eval.jobs.file_run import run_file
    from rag_eval.jobs.file_scoring import score_file
    from rag_eval.judge.replies import JudgeFn
    from rag_eval.options.judge_types import PromptOverrides
    from rag_eval.options.types import (
        BatchEvaluateOptions,
        EvaluateOptions,
        EvaluatorConfig,
        HeuristicOptions,
        MetricThresholds,
    )
    from rag_eval.results.aggregates import MetricAggregate
    from rag_eval.results.batch import BatchEvalResult
    from rag_eval.results.regressions import MetricRegression
    from rag_eval.results.row import CostTracker, EvalResult, EvalSignal, MetricResult
    from rag_eval.samples import EvalSample, EvaluationMode, MetricId
    from rag_eval.scoring.evaluation import (
        aevaluate,
        compute_metric,
        evaluate,
        score_answer_correctness,
        score_answer_relevance,
        score_context_precision,
        score_context_recall,
        score_context_relevance,
        score_faithfulness,
        score_hallucination_rate,
    )
    from rag_eval.scoring.evaluator import (
        Evaluator,
        aevaluate_batch,
        create_evaluator,
        evaluate_batch,
    )
    from rag_eval.text import (
        build_tfidf_vectors,
        cosine_similarity,
        filter_factual_sentences,
        get_ngrams,
        ngram_overlap,
        split_sentences,
        tfidf_similarity,
        token_f1,
        tokenize,
        weighted_ngram_overlap,
    )

# Each public name and the module that holds it, imported when the name is first used: the import of
# numpy alone would take longer than that of everything here.
_HOMES = {
    "results.aggregates": ("MetricAggregate",),
    "results.batch": ("BatchEvalResult",),
    "calibration.fitting": ("calibrate",),
    "comparing.many_runs": ("compare_runs",),
    "comparing.two_runs": ("compare",),
    "judge.replies": ("JudgeFn",),
    "options.judge_types": ("PromptOverrides",),
    "options.types": (
        "BatchEvaluateOptions",
        "EvaluateOptions",
        "EvaluatorConfig",
        "HeuristicOptions",
        "MetricThresholds",
    ),
    "results.regressions": ("MetricRegression",),
    "results.row": ("CostTracker", "EvalResult", "EvalSignal", "MetricResult"),
    "samples": ("EvalSample", "EvaluationMode", "MetricId"),
    "jobs.file_run": ("run_file",),
    "jobs.file_scoring": ("score_file",),
    "scoring.evaluation": (
        "aevaluate",
        "compute_metric",
        "evaluate",
        "score_answer_correctness",
        "score_answer_relevance",
        "score_context_precision",
        "score_context_recall",
        "score_context_relevance",
        "score_faithfulness",
        "score_hallucination_rate",
    ),
    "scoring.evaluator": ("Evaluator", "aevaluate_batch", "create_evaluator", "evaluate_batch"),
    "text": (
        "build_tfidf_vectors",
        "cosine_similarity",
        "filter_factual_sentences",
        "get_ngrams",
        "ngram_overlap",
        "split_sentences",
        "tfidf_similarity",
        "token_f1",
        "tokenize",
        "weighted_ngram_overlap",
    ),
}
# Public modules, each imported when it is first used, so that `rag_eval.text` needs no import.
_MODULES = (
    *("adapters", "calibration", "comparing", "distributed", "errors", "estimators", "gating"),
    *("golden", "integrations", "judge", "labels", "metrics", "own_metrics", "planning"),
    *("reports", "results", "retrieval", "run", "runs", "samples", "scorers", "stats", "testing"),
    *("text", "trajectory"),
)
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}

__all__ = [
    "BatchEvalResult",
    "BatchEvaluateOptions",
    "CostTracker",
    "EvalResult",
    "EvalSample",
    "EvalSignal",
    "EvaluateOptions",
    "EvaluationMode",
    "Evaluator",
    "EvaluatorConfig",
    "HeuristicOptions",
    "JudgeFn",
    "MetricAggregate",
    "MetricId",
    "MetricRegression",
    "MetricResult",
    "MetricThresholds",
    "PromptOverrides",
    "aevaluate",
    "aevaluate_batch",
    "build_tfidf_vectors",
    "calibrate",
    "compare",
    "compare_runs",
    "compute_metric",
    "cosine_similarity",
    "create_evaluator",
    "evaluate",
    "evaluate_batch",
    "filter_factual_sentences",
    "get_ngrams",
    "ngram_overlap",
    "run_file",
    "score_answer_correctness",
    "score_answer_relevance",
    "score_context_precision",
    "score_context_recall",
    "score_context_relevance",
    "score_faithfulness",
    "score_file",
    "score_hallucination_rate",
    "split_sentences",
    "tfidf_similarity",
    "token_f1",
    "tokenize",
    "weighted_ngram_overlap",
]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"rag_eval.{name}")
    module = _HOME_OF.get(name)
    if module is None:
        raise AttributeError(f"module 'rag_eval' has no attribute {name!r}")
    value = getattr(import_module(f"rag_eval.{module}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME_OF, *_MODULES})
