"""The scorers of Regtrace: factuality, format and tone, and its own formulas under their names.

The function for ``regtrace.factuality`` is in the module of that name, which keeps it out of here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rag_eval.plumbing.late_names import late_names

if TYPE_CHECKING:
    from rag_eval.scorers.regtrace.cascade import (
        CaseResult,
        MetricOutcome,
        MetricSummary,
        SuiteCase,
        SuiteResult,
        case_score,
        detect_metrics,
        hash_content,
        metric_summaries,
        score_suite,
        severity,
        suite_score,
        threshold_of,
        weighted_average,
    )
    from rag_eval.scorers.regtrace.factuality import FactualitySettings, json_structural
    from rag_eval.scorers.regtrace.factuality_formulas import ShallowFactuality, ngram_factuality
    from rag_eval.scorers.regtrace.format import FormatOptions, FormatResult, format_score
    from rag_eval.scorers.regtrace.format_formulas import (
        FormatMean,
        format_mean,
        length_ratio,
        markdown_features,
        phrase_penalty,
        regex_match,
        term_coverage,
    )
    from rag_eval.scorers.regtrace.json_comparison import json_validity, value_similarity
    from rag_eval.scorers.regtrace.json_structure import Comparison, Mismatch, compare_json
    from rag_eval.scorers.regtrace.judge import (
        RegtraceJudgement,
        judge_cost_cents,
        parse_regtrace_judgement,
    )
    from rag_eval.scorers.regtrace.judged import JudgedOrNative, judged_or_native
    from rag_eval.scorers.regtrace.quality_gates import (
        GateOutcome,
        NfrGates,
        QualityGates,
        check_quality_gates,
    )
    from rag_eval.scorers.regtrace.tone import ToneScorer, ToneSettings
    from rag_eval.scorers.regtrace.tone_formulas import HeuristicTone, tone_heuristic

_HOMES: Final = {
    "cascade": (
        "CaseResult",
        "MetricOutcome",
        "MetricSummary",
        "SuiteCase",
        "SuiteResult",
        "case_score",
        "detect_metrics",
        "hash_content",
        "metric_summaries",
        "score_suite",
        "severity",
        "suite_score",
        "threshold_of",
        "weighted_average",
    ),
    "factuality": (
        "FactualitySettings",
        "json_structural",
    ),
    "factuality_formulas": (
        "ShallowFactuality",
        "ngram_factuality",
    ),
    "format": (
        "FormatOptions",
        "FormatResult",
        "format_score",
    ),
    "format_formulas": (
        "FormatMean",
        "format_mean",
        "length_ratio",
        "markdown_features",
        "phrase_penalty",
        "regex_match",
        "term_coverage",
    ),
    "json_comparison": (
        "json_validity",
        "value_similarity",
    ),
    "json_structure": (
        "Comparison",
        "Mismatch",
        "compare_json",
    ),
    "judge": (
        "RegtraceJudgement",
        "judge_cost_cents",
        "parse_regtrace_judgement",
    ),
    "judged": (
        "JudgedOrNative",
        "judged_or_native",
    ),
    "quality_gates": (
        "GateOutcome",
        "NfrGates",
        "QualityGates",
        "check_quality_gates",
    ),
    "tone": (
        "ToneScorer",
        "ToneSettings",
    ),
    "tone_formulas": (
        "HeuristicTone",
        "tone_heuristic",
    ),
}

__all__ = [
    "CaseResult",
    "Comparison",
    "FactualitySettings",
    "FormatMean",
    "FormatOptions",
    "FormatResult",
    "GateOutcome",
    "HeuristicTone",
    "JudgedOrNative",
    "MetricOutcome",
    "MetricSummary",
    "Mismatch",
    "NfrGates",
    "QualityGates",
    "RegtraceJudgement",
    "ShallowFactuality",
    "SuiteCase",
    "SuiteResult",
    "ToneScorer",
    "ToneSettings",
    "case_score",
    "check_quality_gates",
    "compare_json",
    "detect_metrics",
    "format_mean",
    "format_score",
    "hash_content",
    "json_structural",
    "json_validity",
    "judge_cost_cents",
    "judged_or_native",
    "length_ratio",
    "markdown_features",
    "metric_summaries",
    "ngram_factuality",
    "parse_regtrace_judgement",
    "phrase_penalty",
    "regex_match",
    "score_suite",
    "severity",
    "suite_score",
    "term_coverage",
    "threshold_of",
    "tone_heuristic",
    "value_similarity",
    "weighted_average",
]

__getattr__ = late_names(__name__, _HOMES)
