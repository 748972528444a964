"""The scorers of omk: assertions, their layers, and its ratings by a judge."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rag_eval.plumbing.late_names import late_names

if TYPE_CHECKING:
    from rag_eval.kernels.similarity import levenshtein
    from rag_eval.scorers.omk.assertion_reading import JudgedAssertion
    from rag_eval.scorers.omk.assertion_runs import AssertionCall, AssertionRun
    from rag_eval.scorers.omk.assertion_types import layer_of
    from rag_eval.scorers.omk.assertions import (
        AssertionResult,
        AssertionScore,
        check_assertion,
        check_assertions,
        validate_assertions,
    )
    from rag_eval.scorers.omk.file_claims import fact_with_paths, path_claims, verified_rate
    from rag_eval.scorers.omk.grading import Grade, RubricQuestion, grade
    from rag_eval.scorers.omk.judges import (
        ensemble_agreement,
        ensemble_score,
        judge_agreement,
        judge_independence,
        parse_judge_models,
        repeat_count,
        repeated_score,
    )
    from rag_eval.scorers.omk.layers import (
        composite,
        layer_gates,
        layered_scores,
        normalize_capability,
        ratio_to_score,
    )
    from rag_eval.scorers.omk.ratings import (
        OmkReply,
        omk_passes,
        parse_omk_assertion_reply,
        parse_omk_reply,
    )
    from rag_eval.scorers.omk.text_metrics import bleu, rouge_n

_HOMES: Final = {
    "assertion_reading": ("JudgedAssertion",),
    "assertion_runs": (
        "AssertionCall",
        "AssertionRun",
    ),
    "assertion_types": ("layer_of",),
    "assertions": (
        "AssertionResult",
        "AssertionScore",
        "check_assertion",
        "check_assertions",
        "validate_assertions",
    ),
    "file_claims": (
        "fact_with_paths",
        "path_claims",
        "verified_rate",
    ),
    "grading": (
        "Grade",
        "RubricQuestion",
        "grade",
    ),
    "judges": (
        "ensemble_agreement",
        "ensemble_score",
        "judge_agreement",
        "judge_independence",
        "parse_judge_models",
        "repeat_count",
        "repeated_score",
    ),
    "layers": (
        "composite",
        "layer_gates",
        "layered_scores",
        "normalize_capability",
        "ratio_to_score",
    ),
    "ratings": (
        "OmkReply",
        "omk_passes",
        "parse_omk_assertion_reply",
        "parse_omk_reply",
    ),
    "text_metrics": (
        "bleu",
        "rouge_n",
    ),
    "rag_eval.kernels.similarity": ("levenshtein",),
}

__all__ = [
    "AssertionCall",
    "AssertionResult",
    "AssertionRun",
    "AssertionScore",
    "Grade",
    "JudgedAssertion",
    "OmkReply",
    "RubricQuestion",
    "bleu",
    "check_assertion",
    "check_assertions",
    "composite",
    "ensemble_agreement",
    "ensemble_score",
    "fact_with_paths",
    "grade",
    "judge_agreement",
    "judge_independence",
    "layer_gates",
    "layer_of",
    "layered_scores",
    "levenshtein",
    "normalize_capability",
    "omk_passes",
    "parse_judge_models",
    "parse_omk_assertion_reply",
    "parse_omk_reply",
    "path_claims",
    "ratio_to_score",
    "repeat_count",
    "repeated_score",
    "rouge_n",
    "validate_assertions",
    "verified_rate",
]

__getattr__ = late_names(__name__, _HOMES)
