"""Mastra's quick checks: of runs, of samples, of columns."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_eval.errors import InputError
from rag_eval.metrics.contract import Metric
from rag_eval.samples import NullReason
from rag_eval.scorers import mastra as checks
from rag_eval.scorers.mastra import call_checks, text_checks
from tests.tables import every_row

METRICS = (*text_checks.METRICS, *call_checks.METRICS)
BY_ID: dict[str, Metric] = {str(spec.id): spec for spec in METRICS}


def made(name: str, /, **options: Any) -> Any:
    spec = BY_ID[f"mastra.check_{name}"]
    assert set(options) <= {*spec.options, *spec.required_options}
    assert set(spec.required_options) <= set(options)
    return spec.create(**{**spec.options, **options})


def said(*texts: str) -> list[dict[str, Any]]:
    return [{"role": "assistant", "text": text} for text in texts]


def called(*names: str) -> dict[str, Any]:
    return {"tool_calls": list(names)}


# --------------------------------------------------------------------------------------- texts


@every_row(
    ("name", "options", "answer", "score"),
    [
        ("includes", {"text": "Sunny"}, "it is sunny", 1),
        ("includes", {"text": "Sunny", "ignore_case": False}, "it is sunny", 0),
        ("includes", {"text": ""}, "x", 1),
        ("excludes", {"text": "rain"}, "it is sunny", 1),
        ("excludes", {"text": "SUNNY"}, "it is sunny", 0),
        ("excludes", {"text": ""}, "x", 0),
        ("equals", {"text": "Yes"}, "yes", 1),
        ("equals", {"text": "Yes"}, "yes ", 0),
        ("matches", {"pattern": r"\d+"}, "72F", 1),
        ("matches", {"pattern": r"\d+", "exact": True}, "72F", 0),
        ("matches", {"pattern": "a|b", "exact": True}, "xb", 0),
        ("matches", {"pattern": "a|b", "exact": True}, "b", 1),
        ("matches", {"pattern": "^b$", "flags": "m", "exact": True}, "a\nb", 0),
        ("matches", {"pattern": "a\\n^b", "flags": "m", "exact": True}, "a\nb", 1),
        ("matches", {"pattern": "A", "flags": "gi"}, "a", 1),
        ("similarity", {"text": "sealed"}, "healed", 0.8),
        ("similarity", {"text": "sealed", "threshold": 0.81}, "healed", 0),
        ("similarity", {"text": "sealed", "threshold": 0.8}, "healed", 1),
        ("similarity", {"text": "HEALED", "ignore_case": False}, "healed", 0),
    ],
)
def test_a_text_passes_or_not(
    name: str, options: dict[str, Any], answer: str, score: float
) -> None:
    scorer = made(name, **options)
    rows = [{"answer": answer}, {"messages": [{"role": "user", "text": "?"}, *said(answer)]}]
    assert [scorer.score(row).score for row in rows] == [score, score]
    assert scorer.column(rows)[0].tolist() == [score, score]


def test_a_pattern_with_the_flag_g_gives_the_same_again() -> None:
    check = checks.create_matches_check("a", "g")
    run = {"input": "go", "output": "xa"}
    assert [check.run(run).score for _ in range(3)] == [1.0, 1.0, 1.0]


def test_messages_are_joined_by_a_space_or_by_nothing() -> None:
    messages = {"messages": said("It is", "", "sunny")}
    # One without a text leaves its space.
    assert made("includes", text="is  sunny").score(messages).score == 1
    assert made("includes", text="is sunny").score(messages).score == 0
    assert made("equals", text="It issunny").score(messages).score == 1
    assert made("matches", pattern="issunny").score(messages).score == 1


def test_users_are_not_heard() -> None:
    messages = {"messages": [{"role": "user", "text": "secret"}, *said("none")]}
    assert made("excludes", text="secret").score(messages).score == 1


def test_without_a_text_the_ground_truth_is_compared() -> None:
    truths = {"answer": "healed", "ground_truth": ["nothing", "Healed"]}
    assert made("equals").score(truths).score == 1
    assert made("similarity").score(truths).score == 1
    assert made("equals").score({"answer": "a", "ground_truth": "b"}).score == 0
    assert made("equals", text="b").score({"answer": "a", "ground_truth": "a"}).score == 0


@every_row("name", ["equals", "similarity"])
def test_without_a_text_and_a_ground_truth_there_is_no_score(name: str) -> None:
    scorer = made(name)
    rows = [{"answer": "a"}, {"ground_truth": "a"}, {"answer": "a", "ground_truth": "a"}]
    found = [scorer.score(row) for row in rows]
    assert [each.score for each in found] == [None, None, 1.0]
    assert found[0].null_reason is NullReason.MISSING_FIELD
    scores, reasons = scorer.column(rows)
    assert [math.isnan(score) for score in scores] == [True, True, False]
    assert reasons.tolist() == [int(each.null_reason) for each in found]


def test_findings_show_what_was_looked_for_and_found() -> None:
    found = made("includes", text="x" * 100).score({"answer": "y" * 10_000})
    assert found.score == 0
    (detail,) = found.details
    assert detail["check"] == "check_includes"
    assert detail["passed"] is False
    assert len(detail["expected"]) == len(detail["actual"]) == 80
    assert detail["message"] == found.explanation == "The answer does not include the text."


@given(st.text(max_size=8), st.text(max_size=20))
def test_a_text_is_included_or_excluded(text: str, answer: str) -> None:
    row = {"answer": answer}
    included = made("includes", text=text).score(row).score
    assert included + made("excludes", text=text).score(row).score == 1
    assert included == float(text.lower() in answer.lower())


# --------------------------------------------------------------------------------------- calls


@every_row(
    ("name", "options", "calls", "score"),
    [
        ("called_tool", {"name": "a"}, ["a"], 1),
        ("called_tool", {"name": "a"}, ["A"], 0),
        ("called_tool", {"name": "a", "times": 2}, ["a", "b"], 0),
        ("called_tool", {"name": "a", "times": 2}, ["a", "b", "a"], 1),
        ("called_tool", {"name": "a", "times": 0}, [], 1),
        ("did_not_call", {"name": "a"}, ["b"], 1),
        ("did_not_call", {"name": "a"}, ["b", "a"], 0),
        ("tool_order", {"names": ["a", "b", "a"]}, ["a", "x", "b", "a"], 1),
        ("tool_order", {"names": ["a", "b"]}, ["b", "a"], 0),
        ("tool_order", {"names": ["a", "a"]}, ["a"], 0),
        ("tool_order", {"names": []}, [], 1),
        ("max_tool_calls", {"most": 1}, ["a"], 1),
        ("max_tool_calls", {"most": 1}, ["a", "b"], 0),
        ("used_no_tools", {}, [], 1),
        ("used_no_tools", {}, ["a"], 0),
        ("no_tool_errors", {}, ["a"], 1),
    ],
)
def test_calls_pass_or_not(
    name: str, options: dict[str, Any], calls: list[str], score: float
) -> None:
    scorer = made(name, **options)
    spoken = [{"role": "assistant", "text": "", "tool_calls": [{"name": each} for each in calls]}]
    rows = [called(*calls), {"messages": spoken}]
    assert [scorer.score(row).score for row in rows] == [score, score]
    assert scorer.column(rows)[0].tolist() == [score, score]


@every_row(
    ("call", "score"),
    [
        ({"name": "a", "state": "output-error"}, 0),
        ({"name": "a", "state": "call"}, 0),
        ({"name": "a", "state": "partial-call"}, 1),
        ({"name": "a", "isError": True}, 0),
        ({"name": "a", "result": {"error": "x"}}, 0),
        ({"name": "a", "result": {"error": {}}}, 0),  # true in JavaScript
        ({"name": "a", "result": {"error": ""}}, 1),
        ({"name": "a", "result": "error: x"}, 1),
    ],
)
def test_a_call_that_failed_is_an_error(call: dict[str, Any], score: float) -> None:
    scorer = made("no_tool_errors")
    assert scorer.score({"tool_calls": [call]}).score == score
    run = {"input": "go", "output": [{"role": "assistant", "text": "", "tool_calls": [call]}]}
    assert checks.create_no_tool_errors_check().run(run).score == score


def test_calls_that_the_server_did_not_answer_are_errors() -> None:
    call = {"id": "1", "type": "function", "function": {"name": "a", "arguments": "{}"}}
    asked = {"role": "assistant", "content": "", "tool_calls": [call]}
    answer = {"role": "tool", "tool_call_id": "1", "content": "ok"}
    scorer = made("no_tool_errors")
    assert scorer.score({"messages": [asked]}).score == 0
    assert scorer.score({"messages": [asked, answer]}).score == 1


def test_a_sample_that_does_not_tell_its_calls_has_no_score() -> None:
    for name, options in (
        ("used_no_tools", {}),
        ("no_tool_errors", {}),
        ("max_tool_calls", {"most": 3}),
        ("did_not_call", {"name": "a"}),
    ):
        found = made(name, **options).score({})
        assert found.score is None
        assert found.null_reason is NullReason.MISSING_FIELD


# ------------------------------------------------------------------------------------- options


@every_row(
    ("name", "options", "reason"),
    [
        ("includes", {"text": 5}, "text must be a text, got int"),
        ("includes", {"text": "a", "ignore_case": 1}, "ignore_case must be true or false"),
        ("equals", {"text": 0}, "text must be a text"),
        ("similarity", {"text": "a", "threshold": 2}, "threshold must be between 0 and 1"),
        ("matches", {"pattern": "("}, "not closed"),
        ("matches", {"pattern": "a)(b", "exact": True}, "a closing parenthesis without a group"),
        ("matches", {"pattern": "a(?=b)"}, "look-around"),
        ("matches", {"pattern": "a", "exact": None}, "exact must be true or false"),
        ("called_tool", {"name": None}, "name must be a text"),
        ("called_tool", {"name": "a", "times": -1}, "times must be a whole number"),
        ("did_not_call", {"name": 1}, "name must be a text"),
        ("tool_order", {"names": "ab"}, "names must be a list"),
        ("max_tool_calls", {"most": True}, "most must be a whole number"),
    ],
)
def test_a_bad_option_is_refused(name: str, options: dict[str, Any], reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        made(name, **options)


def test_there_are_eleven_and_all_but_one_pass_or_fail() -> None:
    assert len(BY_ID) == len(METRICS) == 11
    assert [str(spec.id) for spec in METRICS if spec.threshold != 1.0] == [
        "mastra.check_similarity"
    ]


@pytest.mark.timeout(60)
def test_long_and_broken_texts_are_read() -> None:
    long = "a" * 10_000_000
    assert made("includes", text="a" * 1000 + "b").score({"answer": long}).score == 0
    assert made("matches", pattern="(a+)+$").score({"answer": long[:1_000_000] + "!"}).score == 0
    assert made("includes", text="\ud800").score({"answer": "x\ud800"}).score == 1


@every_row("name", ["includes", "equals", "similarity"])
def test_messages_go_before_the_answer_in_a_column_too(name: str) -> None:
    scorer = made(name, text="spoken")
    rows = [{"answer": "other", "messages": said("spoken")}, {"answer": "spoken"}, {"answer": "?"}]
    assert scorer.column(rows)[0].tolist() == [1, 1, 0]
    assert [scorer.score(row).score for row in rows] == [1, 1, 0]


def test_the_nearest_of_several_ground_truths_counts_wherever_it_stands() -> None:
    for truths in (["healed", "nothing"], ["nothing", "healed"]):
        assert made("similarity").score({"answer": "healed", "ground_truth": truths}).score == 1
