"""Each function of the vectors has a test that owns it, or a reason why there is none."""

from __future__ import annotations

import importlib
from pathlib import Path

from tests.conformance.other_tools import ASKED_FOR, functions
from tests.tables import every_row

FOLDER = Path(__file__).parent

OWNERS = {
    "test_regtrace_baselines": [
        "regtrace.detect_branch",
        "regtrace.find_baseline",
        "regtrace.sanitize_branch",
    ],
    "test_hazel_retrieval": [
        "hazeljs.answer_context_overlap",
        "hazeljs.answer_context_overlap_utf16",
        "hazeljs.evaluate_retrieval",
        "hazeljs.mrr",
        "hazeljs.ndcg_at_k",
        "hazeljs.ndcg_at_k_duplicates_quirk",
        "hazeljs.ndcg_at_k_edge",
        "hazeljs.precision_at_k",
        "hazeljs.precision_at_k_edge",
        "hazeljs.recall_at_k",
        "hazeljs.recall_at_k_edge",
    ],
    "test_hazel_golden": [
        "hazeljs.golden_run",
        "hazeljs.golden_run_code_quirk",
        "hazeljs.golden_run_doc_average",
    ],
    "test_hazel_trajectory": ["hazeljs.tool_call_accuracy", "hazeljs.trajectory_score"],
    "test_judge_replies": [
        "hazeljs.parse_judge_score",
        "regtrace.judge_cost_cents",
        "regtrace.judge_parse",
        "regtrace.strip_code_fences",
    ],
    "test_omk_agreement": [
        "omk.agreement.krippendorff_alpha",
        "omk.agreement.pearson",
        "omk.ensemble_aggregate",
        "omk.judge.agreement",
        "omk.judge.ensemble",
        "omk.judge.repeat",
        "omk.judge_independence",
        "omk.length_debias_validate",
        "omk.parse_judge_models",
        "ref.krippendorff_alpha_matrix",
    ],
    "test_omk_gold": [
        "omk.agreement.gold_compare",
        "omk.agreement.weighted_kappa",
        "omk.agreement.with_ci",
        "omk.agreement.with_ci_nan_resample_quirk",
        "omk.gold_dataset.load",
    ],
    "test_omk_judge": ["omk.judge.parse", "omk.judge.prompt_contract", "omk.rag.judge"],
    "test_omk_assertions": [
        "omk.assertion",
        "omk.assertions_score",
        "omk.bleu",
        "omk.grade",
        "omk.layer_gates",
        "omk.layer_of",
        "omk.layered_scores",
        "omk.levenshtein",
        "omk.normalize_capability",
        "omk.ratio_to_score",
        "omk.rouge_n",
    ],
    "test_omk_planning": [
        "omk.holdout_breakdown",
        "omk.holdout_split",
        "omk.power_warnings",
        "omk.sample_diagnostics",
    ],
    "test_regtrace_cascade": [
        "regtrace.detect_metrics",
        "regtrace.hash_content",
        "regtrace.quality_gates",
        "regtrace.suite",
    ],
    "test_regtrace_factuality": ["regtrace.factuality_json", "regtrace.factuality_shallow"],
    "../unit/scorers/test_regtrace_judged": ["regtrace.judge_fallback"],
    "test_regtrace_format": [
        "regtrace.format.combined",
        "regtrace.format.forbidden_content",
        "regtrace.format.json_schema",
        "regtrace.format.json_validity",
        "regtrace.format.length",
        "regtrace.format.length_utf16",
        "regtrace.format.markdown_structure",
        "regtrace.format.regex_match",
        "regtrace.format.regex_match_js_dialect",
        "regtrace.format.required_fields",
    ],
    "test_regtrace_tone": [
        "regtrace.tone.assertiveness",
        "regtrace.tone.assertiveness_quirk",
        "regtrace.tone.combined",
        "regtrace.tone.formality",
        "regtrace.tone.persona_consistency",
        "regtrace.tone.sentiment",
        "regtrace.tone.verbosity",
        "regtrace.tone.verbosity_utf16",
        "regtrace.tone.weights_ignored_quirk",
    ],
    "test_omk_statistics": [
        "omk.bootstrap_diff_ci",
        "omk.bootstrap_mean_ci",
        "omk.bootstrap_metric_ci",
        "omk.bootstrap_paired_diff_ci",
        "omk.ci_level_label",
        "omk.rng_indices",
        "omk.saturation",
        "omk.stability_cv",
        "omk.stats.effect_size",
        "omk.stats.mean",
        "omk.stats.p_value_bucket",
        "omk.stats.stddev",
        "omk.stats.t_interval",
        "omk.stats.welch_t_test",
        "omk.variance_data",
        "omk.variant_summary",
    ],
    "test_omk_verdict": ["omk.verdict"],
    "test_regtrace_regression": [
        "regtrace.regression.block",
        "regtrace.regression.block_exclude_quirk",
        "regtrace.regression.metric",
        "regtrace.regression.metric_quirk",
    ],
    "test_regtrace_golden_set": ["regtrace.validate_golden_set"],
}

CONFIG = "that tool's own configuration file; ours is rag-eval.toml"

NOT_PORTED = {
    "regtrace.validate_config": CONFIG,
}

OWNED = {function: owner for owner, owned in OWNERS.items() for function in owned}


def test_every_function_is_owned_or_has_a_reason() -> None:
    assert OWNED.keys() | NOT_PORTED.keys() == set(functions())
    assert not OWNED.keys() & NOT_PORTED.keys()
    assert sum(map(len, OWNERS.values())) == len(OWNED)


@every_row("function", sorted(OWNED))
def test_an_owner_loads_what_it_owns(function: str) -> None:
    package = (
        "tests.unit.scorers" if OWNED[function].startswith("../unit/") else "tests.conformance"
    )
    importlib.import_module(f"{package}.{Path(OWNED[function]).name}")
    assert function in ASKED_FOR
    source = (FOLDER / f"{OWNED[function]}.py").read_text("utf-8")
    # Those of one tool, or of one of its rooms, may go without its name there.
    names = {function, function.partition(".")[2], function.rpartition(".")[2]}
    names |= {name.removesuffix(end) for name in names for end in ("_edge", "_utf16")}
    assert any(f'"{name}"' in source for name in names), OWNED[function]
