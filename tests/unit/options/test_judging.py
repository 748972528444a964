"""Options of judging: what is refused, and what of them a signature holds."""

from __future__ import annotations

import json
import pickle
from collections.abc import Iterator
from typing import Any

import pytest

import rag_eval
from rag_eval.adapters.openai import create_openai_judge
from rag_eval.calibration.applied import calibrated
from rag_eval.errors import InputError, SignatureMismatchError
from rag_eval.options.declared import normalized
from rag_eval.options.judging import Judging
from rag_eval.options.plan import make_plan
from rag_eval.options.scorers import json_value
from rag_eval.options.signature import Signature, signature_of
from rag_eval.options.types import EvaluateOptions
from tests.fluent_judge import FluentJudge
from tests.tables import every_row
from tests.unit.scoring.test_cascade import calibration

SAMPLE = {
    "question": "What is known about the church?",
    "answer": "The church was built in 1912.",
    "contexts": ["The church was built in 1912."],
}
NOISE = "mastra.noise_sensitivity"
NOISE_OPTIONS = {"baseline_response": "In 1912.", "noisy_query": "Er, when?"}


def signature(metrics: list[str] | None = None, **options: Any) -> Signature:
    given = normalized({"judge": FluentJudge(), **options}, "a call", EvaluateOptions)
    return signature_of(calibrated(make_plan(metrics, given), given)[0])


def judging(metrics: list[str], **options: Any) -> Judging:
    given = normalized({"judge": FluentJudge(), **options}, "a call", EvaluateOptions)
    found = make_plan(metrics, given).judging
    assert found is not None
    return found


def written(found: Signature) -> Signature:
    """A signature as it comes back from a file."""
    return Signature.from_dict(json.loads(json.dumps(found.to_dict(), allow_nan=False)))


# ---------------------------------------------------------------------------------- refused


def judges() -> Iterator[FluentJudge]:
    yield FluentJudge()


@every_row(
    ("metrics", "options", "message"),
    [
        (["faithfulness"], {"judges": judges()}, "judges must be a list of judges, got <gen"),
        (["faithfulness"], {"judges": FluentJudge()}, "judges must be a list of judges, got Flu"),
        (["faithfulness"], {"judges": "openai:x"}, "judges must be a list of judges, got 'open"),
        (["faithfulness"], {"judge_seed": 1.5}, "judge_seed must be a whole number, got 1.5"),
        (["faithfulness"], {"judge_seed": True}, "judge_seed must be a whole number, got True"),
        (["omk.faithfulness"], {"scorer_options": [1]}, "scorer_options must be a mapping of"),
        (
            ["omk.faithfulness"],
            {"scorer_options": {"omk.faithfulness": {"scale": 2}}},
            "scorer_options: omk.faithfulness takes no options",
        ),
        (
            [NOISE],
            {"scorer_options": {NOISE: NOISE_OPTIONS, "mastra.noiseSensitivity": NOISE_OPTIONS}},
            "scorer_options names mastra.noise_sensitivity twice",
        ),
        ([NOISE], {"scorer_options": {NOISE: 3}}, "must be a mapping of options"),
        (
            [NOISE],
            {"scorer_options": {NOISE: {**NOISE_OPTIONS, "with_reason": 1}}},
            "with_reason must be true or false, got 1",
        ),
        (
            ["mastra.bias"],
            {"composite_weights": {"mastra.bias": 1}},
            "only scores from 0 to 1 for which higher is better",
        ),
        (["omk.faithfulness"], {"metric_modes": {"faithfulness": "llm"}}, "not among the metrics"),
    ],
)
def test_what_cannot_be_is_refused_by_name(
    metrics: list[str], options: dict[str, Any], message: str
) -> None:
    given = {"mode": "llm", **({} if "judges" in options else {"judge": FluentJudge()}), **options}
    with pytest.raises(InputError, match=message):
        rag_eval.evaluate(SAMPLE, metrics, **given)


@every_row(
    ("band", "message"),
    [
        ({"context_recall": (0, 1)}, "cascade_band names context_recall, which is not judged"),
        (
            {"answer_relevance": (0, 1), "answerRelevance": (0, 1)},
            "cascade_band names answer_relevance twice",
        ),
        ({"answerRelevance": (0, 1, 2)}, r"cascade_band\['answerRelevance'\] must be two numbers"),
        ((0, 1.5), "cascade_band must be between 0 and 1, got 1.5"),
        ("01", "cascade_band must be two numbers"),
    ],
)
def test_a_band_is_two_shares_per_judged_metric(band: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        judging(["answer_relevance"], mode="cascade", cascade_band=band)


def test_a_mode_that_judges_nothing_asked_for_is_refused() -> None:
    with pytest.raises(InputError, match="mode='hybrid' judges none of the requested metrics"):
        make_plan(["context_recall"], {"mode": "hybrid", "judge": FluentJudge()})
    with pytest.raises(InputError, match="judges none"):
        make_plan([], {"mode": "llm", "judge": FluentJudge()})


def test_a_calibration_of_native_scores_says_nothing_of_a_judges() -> None:
    with pytest.raises(InputError, match="native scores of faithfulness, but a judge scores"):
        signature(["faithfulness"], mode="llm", profile="grounded", calibration=calibration())


def test_a_text_for_a_scorer_is_the_prompt_of_its_verdict() -> None:
    found = judging(
        ["mastra.bias"], prompt_overrides={"mastra.bias": "$answer $opinions $n_opinions"}
    )
    assert list(found.prompts.overrides) == ["mastra/bias_analyze"]


# -------------------------------------------------------------------------------- signatures


@every_row(
    "options",
    [
        {"concurrency": 9},
        {"call_timeout_s": 3},
        {"run_timeout_s": 3},
        {"retries": 0},
        {"requests_per_minute": 60},
        {"tokens_per_minute": 60},
        {"max_calls": 5},
        {"max_parse_failures": 5},
        {"budget_usd": 1, "prices": {"fluent": {"input": 1, "output": 1}}},
        {"judge_cache": "replies.sqlite"},
        {"thresholds": {"faithfulness": 0.1}},
        {"audit_share": 0.5},
        {"judge_seed": 5},
        {"scorer_options": {"mastra.bias": {"with_reason": False, "scale": 1.0}}},
    ],
)
def test_what_cannot_change_a_score_is_not_signed(options: dict[str, Any]) -> None:
    metrics = ["faithfulness", "mastra.bias"]
    assert signature(metrics, mode="llm", **options) == signature(metrics, mode="llm")


def cascade(**options: Any) -> Signature:
    given = {"mode": "cascade", "calibration": calibration(), **options}
    return signature(["faithfulness"], **given)


@every_row(
    ("options", "name"),
    [
        ({"audit_share": 0.5}, "auditShare"),
        ({"judge_seed": 5}, "judgeSeed"),
        ({"cascade_band": (0.2, 0.8)}, "cascadeBand"),
        ({"calibration": calibration(threshold=0.4)}, "calibrations"),
        ({"calibration": None, "cascade_band": (0.2, 0.8)}, "calibrations"),
        ({"judge_style": "rating"}, "judgeStyle"),
        ({"judge_repeat": 2}, "judgeRepeat"),
        ({"length_debias": False}, "judgePrompts"),
        ({"on_judge_failure": "heuristic"}, "onJudgeFailure"),
        ({"judge": FluentJudge(judge_name="another")}, "judges"),
        ({"judge": None, "judges": [FluentJudge(), FluentJudge()]}, "judges"),
        ({"language": "de"}, "language"),
    ],
)
def test_what_can_change_a_score_of_a_cascade_is_signed(options: dict[str, Any], name: str) -> None:
    usual, other = cascade(), cascade(**options)
    assert usual.options[name] != other.options[name]
    assert f"{name}: " in "; ".join(usual.differences(other, ["faithfulness"]))
    assert str(usual) != str(other)
    assert written(other) == other


def test_parameters_of_a_served_judge_are_signed_and_its_key_is_nowhere() -> None:
    parameters: list[dict[str, Any]] = [{}, {"temperature": 0.5}]
    found = [
        create_openai_judge("m", base_url="http://127.0.0.1:9/v1", api_key="sk-SECRET", **more)
        for more in parameters
    ]
    cool, warm = (signature(["faithfulness"], mode="llm", judge=judge) for judge in found)
    assert cool.differences(warm, ["faithfulness"])
    assert written(warm) == warm
    evaluator = rag_eval.create_evaluator(mode="llm", judge=found[0])
    plan = make_plan(["faithfulness"], {"mode": "llm", "judge": found[0]})
    for shown in (str(cool), repr(cool), repr(evaluator), repr(plan)):
        assert "SECRET" not in shown


def test_options_of_scorers_are_signed_however_they_are_spelled() -> None:
    def noise(**more: Any) -> Signature:
        return signature([NOISE], scorer_options={NOISE: more})

    snake = noise(**NOISE_OPTIONS)
    camel = noise(baselineResponse="In 1912.", noisyQuery="Er, when?", withReason=False)
    assert snake == camel
    assert snake.options["scorerOptions"] == {NOISE: NOISE_OPTIONS}
    other = noise(**{**NOISE_OPTIONS, "noisy_query": "When?"})
    assert snake.differences(other, [NOISE])
    evaluator = rag_eval.create_evaluator(
        metrics=["mastra.context_precision"],
        judge=FluentJudge(),
        scorer_options={"mastra.contextPrecision": {"context": ["It was built in 1912."]}},
    )
    kept = evaluator.evaluate(SAMPLE).signature
    assert kept is not None
    assert written(kept) == kept


def chunks_of_a_run(given: Any, output: Any) -> list[str]:
    return ["It was built in 1912."]


def test_functions_are_signed_by_their_names() -> None:
    found = signature(
        ["mastra.context_precision"],
        scorer_options={"mastra.context_precision": {"context_extractor": chunks_of_a_run}},
    )
    options = found.options["scorerOptions"]["mastra.context_precision"]
    assert options["context_extractor"] == "chunks_of_a_run"
    assert written(found) == found
    assert json_value({1: (2.5, None, True)}) == {"1": [2.5, None, True]}


def test_only_what_the_metrics_compared_depend_on_is_different() -> None:
    both = signature(["faithfulness", "answer_relevance"], mode="llm")
    alone = signature(["faithfulness"], mode="llm")
    assert both != alone
    assert both.differences(alone, ["faithfulness"]) == []
    worded = signature(
        ["faithfulness", "answer_relevance"],
        mode="llm",
        prompt_overrides={"answer_relevance": "So? $question $answer"},
    )
    assert both.differences(worded, ["faithfulness"]) == []
    assert len(both.differences(worded, ["faithfulness", "answer_relevance"])) == 1


def test_who_else_is_judged_makes_no_difference() -> None:
    mixed, judged = signature(mode="hybrid"), signature(mode="llm")
    native = signature()
    assert mixed.differences(judged, ["faithfulness"]) == []
    assert mixed.differences(native, ["context_recall"]) == []
    assert any("mode: " in found for found in mixed.differences(judged, ["context_recall"]))
    assert any("mode: " in found for found in mixed.differences(native, ["faithfulness"]))
    assert cascade().differences(judged, ["faithfulness"])


def test_a_file_with_odd_options_has_no_signature() -> None:
    value = {"profile": "overlap", "version": 1, "unicode": "17.0.0", "options": [1]}
    with pytest.raises(InputError, match=r"not a signature: its options are \[1\]"):
        Signature.from_dict(value)


def test_judged_runs_are_compared_under_one_signature_alone() -> None:
    options: dict[str, Any] = {"mode": "llm", "judge": FluentJudge()}
    first = rag_eval.evaluate_batch([SAMPLE], ["faithfulness"], **options)
    again = rag_eval.evaluate_batch(
        [SAMPLE],
        ["faithfulness"],
        baseline_result=json.loads(first.to_json() or ""),
        concurrency=1,
        **options,
    )
    assert again.regressions is not None
    assert [row.delta for row in again.regressions] == [0.0]
    with pytest.raises(SignatureMismatchError, match="judgeRepeat: 2, not 1"):
        rag_eval.evaluate_batch(
            [SAMPLE], ["faithfulness"], baseline_result=first, judge_repeat=2, **options
        )


# -------------------------------------------------------------------------------- evaluators


def test_an_evaluator_with_a_judge_can_be_sent_elsewhere() -> None:
    evaluator = rag_eval.create_evaluator(
        mode="llm",
        judge="http://127.0.0.1:9/v1#small",
        metrics=["faithfulness", "mastra.contextPrecision"],
        prompt_overrides={"faithfulness": {"verify_claims": "So? $claim $chunk"}},
        scorer_options={"mastra.contextPrecision": {"context": ["It was built in 1912."]}},
        prices={"small": {"input": 1, "output": 2}},
    )
    there = pickle.loads(pickle.dumps(evaluator))
    assert there.config == evaluator.config
    assert repr(there) == repr(evaluator)
