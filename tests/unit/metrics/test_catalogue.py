"""The catalogue: every metric there, with a contract that its scorer keeps."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest

import rag_eval
from rag_eval.errors import InputError
from rag_eval.metrics.catalogue import catalogue, entry_of
from rag_eval.metrics.contract import Metric
from rag_eval.metrics.registry import (
    all_metrics,
    higher_is_better,
    known_metric_ids,
    metric_of,
    to_metric_id,
)
from rag_eval.metrics.seven import GROUNDED_METRICS, OVERLAP_METRICS
from rag_eval.plumbing.spelling import camel_case
from rag_eval.samples import NullReason
from tests.tables import every_row

SPECS = {spec.id: spec for spec in all_metrics() if spec.create is not None}
# What the scorers that cannot do without an option are given here.
OPTIONS: dict[str, dict[str, Any]] = {
    "mastra.check_includes": {"text": "14"},
    "mastra.check_excludes": {"text": "14"},
    "mastra.check_matches": {"pattern": "[0-9]+"},
    "mastra.check_called_tool": {"name": "search"},
    "mastra.check_did_not_call": {"name": "search"},
    "mastra.check_tool_order": {"names": ["search", "answer"]},
    "mastra.check_max_tool_calls": {"most": 1},
    "omk.contains_all": {"values": ["14", "days"]},
    "omk.contains_any": {"values": ["14", "hours"]},
    "omk.regex": {"pattern": "[0-9]+"},
    "omk.json_schema": {"schema": {"type": "object"}},
    "omk.tools_called": {"values": ["search"]},
    "omk.tools_not_called": {"values": ["search"]},
    **{
        f"omk.{name}": {"value": "14"}
        for name in ("contains", "not_contains", "equals", "not_equals", "starts_with", "ends_with")
    },
    **{
        f"omk.tool_{name}": {"value": "x"}
        for name in ("output_contains", "input_contains", "input_not_contains")
    },
    "omk.mock_hit": {"value": "search:1"},
    **{
        f"omk.{name}": {"value": 3}
        for name in ("min_length", "max_length", "word_count_min", "word_count_max")
    },
    **{
        f"omk.{name}": {"value": 2}
        for name in ("cost_max", "latency_max", "turns_min", "turns_max")
    },
    **{f"omk.tools_count_{end}": {"value": 1} for end in ("min", "max")},
}
SAMPLES: list[dict[str, Any]] = [
    {},
    {"question": "", "answer": "", "contexts": [], "ground_truth": ""},
    {
        "question": "How long do refunds take?",
        "answer": "Refunds take 14 days. They never take 3.",
        "contexts": ["Refunds are paid within 14 days.", "We ship on weekdays."],
        "ground_truth": "Refunds take 14 days.",
        "retrieved_ids": ["a", "b", "c"],
        "relevant_ids": {"a": 2, "c": 1, "z": 1},
        "tool_calls": ["search", {"name": "answer", "arguments": {"x": 1}}],
        "expected_tool_calls": ["search", "answer"],
        "cost_usd": 0.02,
        "latency_ms": 800,
        "n_turns": 2,
        "assertions": [{"type": "contains", "value": "14"}, {"type": "max_length", "value": 3}],
    },
    {
        "question": "日本の首都はどこですか。",
        "answer": "東京です。🎉",
        "contexts": ["東京は日本の首都である。"],
        "ground_truth": ["東京", "とうきょう"],
        "retrieved_ids": [3, 1],
        "relevant_ids": [1],
        "tool_calls": [],
        "expected_tool_calls": [],
    },
    {
        "question": "q",
        "answer": '{"amount": 4.5, "tags": ["b", "a"]}',
        "ground_truth": '{"amount": 4.51, "tags": ["a", "b"]}',
        "retrieved_ids": [],
        "relevant_ids": [],
    },
    {
        "answer": "# Title\n\n- one\n- two\n\n```\ncode\n```\n",
        "ground_truth": "# Other\n\n* x\n",
        "contexts": ["# Other"],
        "messages": [
            {"role": "user", "content": "hello"},
            {"role": "assistant", "content": "Hi there", "tool_calls": [{"tool": "search"}]},
        ],
        "trajectory": {"steps": [{"name": "search", "stepType": "tool_call"}]},
        "expected_trajectory": {"steps": [{"name": "search"}]},
    },
    {"answer": "\ud800 \x00 " + "long " * 500, "question": "x" * 300, "ground_truth": "y"},
]


def planned(spec: Metric) -> dict[str, Any]:
    return {spec.id: OPTIONS.get(spec.id, {})}


def test_every_name_is_there_once() -> None:
    known = known_metric_ids()
    assert len(set(known)) == len(known) >= 132
    assert [entry.id for entry in catalogue()] == list(known)


@every_row("metric", known_metric_ids())
def test_a_name_comes_back_from_either_spelling(metric: str) -> None:
    assert to_metric_id(metric) == metric
    assert to_metric_id(camel_case(metric)) == metric
    assert entry_of(metric).higher_is_better == higher_is_better(metric)
    json.dumps(entry_of(metric).to_dict(), allow_nan=False)


@every_row("metric", sorted(SPECS))
def test_a_contract_is_complete(metric: str) -> None:
    spec = SPECS[metric]
    assert spec.summary
    assert not spec.summary.endswith(".")
    assert spec.source
    low, high = spec.range
    assert low < high
    assert not set(spec.options) & set(spec.required_options)
    assert not set(spec.fields) & set(spec.optional)
    assert set(OPTIONS.get(metric, {})) >= set(spec.required_options)
    if spec.threshold is not None:
        assert low <= spec.threshold <= high
    if spec.required_options:
        with pytest.raises(InputError, match=f"needs the option {spec.required_options[0]!r}"):
            rag_eval.evaluate_batch([], metrics=[metric])


@every_row("metric", sorted(SPECS))
def test_every_scorer_keeps_its_contract_on_all_kinds_of_samples(metric: str) -> None:
    """Scores are in range, nulls have reasons, explanations are there, and columns agree."""
    spec = SPECS[metric]
    given = {"scorer_options": planned(spec)}
    batch = rag_eval.evaluate_batch(
        SAMPLES, metrics=[metric], threads=1, **given, allow_missing=True
    )  # type: ignore[arg-type]
    assert batch.scores.shape == (len(SAMPLES), 1)
    for row, sample in enumerate(SAMPLES):
        alone = rag_eval.evaluate(sample, metrics=[metric], **given).metrics[metric]  # type: ignore[arg-type]
        found = batch.scores[row, 0]
        assert (alone.score is None) == math.isnan(found)
        if alone.score is None:
            assert batch.null_reasons[row, 0] == alone.null_reason != NullReason.MEASURED
        else:
            assert alone.score == found
            assert spec.range[0] <= alone.score <= spec.range[1]
        assert alone.explanation
        json.dumps(alone.to_dict(), allow_nan=False)
    if spec.fields:
        assert batch.null_reasons[0, 0] == NullReason.MISSING_FIELD
    threads = rag_eval.evaluate_batch(
        SAMPLES * 40, metrics=[metric], threads=2, **given, allow_missing=True
    )  # type: ignore[arg-type]
    np.testing.assert_array_equal(threads.scores[: len(SAMPLES)], batch.scores)
    np.testing.assert_array_equal(threads.scores[-len(SAMPLES) :], batch.scores)


@every_row("metric", sorted(SPECS))
def test_an_unknown_option_is_refused(metric: str) -> None:
    options = {**OPTIONS.get(metric, {}), "no_such_option": 1}
    with pytest.raises(InputError, match="has no option 'no_such_option'"):
        rag_eval.evaluate_batch([], metrics=[metric], scorer_options={metric: options})


def test_no_scorer_imports_numpy_to_say_what_it_is() -> None:
    import subprocess
    import sys

    code = (
        "import sys\n"
        "from rag_eval.metrics.catalogue import catalogue\n"
        "assert len(catalogue()) > 60\n"
        "heavy = {'numpy', 'scipy', 'pyarrow', 're2', 'yaml', 'jsonschema_rs', 'lemminflect'}\n"
        "sys.exit(str(sorted(heavy & set(sys.modules)) or ''))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stderr.strip() == ""


def test_a_measure_of_retrieval_has_any_cutoff() -> None:
    assert to_metric_id("ndcg_cut_7") == "ir.ndcg@7"
    assert metric_of("ir.ndcg@7") is not None
    assert entry_of("ir.ndcg@7").family == "ir"
    with pytest.raises(InputError, match="unknown metric"):
        to_metric_id("ir.ndcg@0")


def test_a_metric_of_both_profiles_is_told_by_the_rule_of_each() -> None:
    overlap, grounded = entry_of("faithfulness"), entry_of("faithfulness", "grounded")
    assert overlap.summary == OVERLAP_METRICS["faithfulness"].summary
    assert grounded.summary == GROUNDED_METRICS["faithfulness"].summary
    assert overlap.summary != grounded.summary
    assert grounded.source == "this library"
    assert grounded in catalogue("grounded")
    assert entry_of("claim_recall") == entry_of("claim_recall", "grounded")


def test_scores_that_changed_have_a_raised_version() -> None:
    """A version that goes back would let scores of before be compared with those of now."""
    raised = {spec.id: spec.version for spec in all_metrics() if spec.version > 1}
    twice = [
        *(f"hazel.{name}" for name in ("precision_at_k", "recall_at_k", "mrr", "ndcg_at_k")),
        "hazel.trajectory_score",
        *(f"mastra.check_{name}" for name in ("includes", "excludes", "similarity")),
        *(f"mastra.check_{name}" for name in ("matches", "tool_order")),
        "mastra.tool_call_accuracy",
        *(f"omk.{name}" for name in ("bleu", "json_valid", "rouge_n")),
        *(f"omk.{name}" for name in ("tools_called", "tools_not_called")),
        *(f"regtrace.{name}" for name in ("factuality", "format", "regex_match")),
        "regtrace.markdown_features",
    ]
    thrice = [
        "mastra.trajectory_accuracy",
        *(f"omk.{name}" for name in ("assertions", "composite", "fact", "behaviour", "regex")),
        *(f"omk.tool_{name}_contains" for name in ("output", "input")),
        "omk.tool_input_not_contains",
        "regtrace.format_mean",
    ]
    assert raised == {
        **dict.fromkeys(twice, 2),
        **dict.fromkeys(thrice, 3),
        "mastra.trajectory": 4,
    }
