"""Assertions of omk: what each type wants, what is refused, what samples score, hostile input."""

from __future__ import annotations

import json
import math
import tracemalloc
from functools import partial
from typing import Any

import numpy as np
import pytest

from rag_eval.errors import InputError
from rag_eval.metrics.contract import Metric
from rag_eval.samples import NullReason
from rag_eval.scorers.javascript import utf16_length
from rag_eval.scorers.omk.assertion_reading import JudgedAssertion
from rag_eval.scorers.omk.assertion_rules import word_count, word_counts
from rag_eval.scorers.omk.assertion_runs import AssertionCall, AssertionRun, run_of_fields
from rag_eval.scorers.omk.assertions import check_assertion, check_assertions, validate_assertions
from rag_eval.scorers.omk.specs import CODE_METRICS as METRICS
from rag_eval.scorers.omk.text_metrics import bleu, rouge_n, tokens_of
from tests.counted_work import operations
from tests.tables import every_row

BY_ID = {spec.id: spec for spec in METRICS}
CALLS = [
    "search",
    {"name": "read", "arguments": {"path": "a:b", "Lines": [1, 2]}, "result": {"text": "DATA"}},
    {"function": {"name": "write", "arguments": "raw TEXT"}, "output": "done"},
]


def holds(run: Any, **assertion: Any) -> bool | None:
    return check_assertion(assertion, run).passed


def spec(name: str) -> Metric:
    return BY_ID[f"omk.{name}"]


def contains(value: str, **more: Any) -> dict[str, Any]:
    return {"type": "contains", "value": value, **more}


# -------------------------------------------------------------------------------------------- types


@every_row(
    ("assertion", "output", "passes"),
    [
        ({"type": "contains", "value": "STRASSE"}, "straße", False),
        ({"type": "contains", "value": "éCOLE"}, "L'École", True),
        ({"type": "contains_all", "values": ["A", "b"]}, "xAxB", True),
        ({"type": "contains_all", "values": ["A", "c"]}, "xAxB", False),
        ({"type": "equals", "value": "x\ufeff"}, "\xa0x\n", True),
        ({"type": "equals", "value": "x"}, "X", False),
        ({"type": "not_equals", "value": "x"}, " x ", False),
        ({"type": "starts_with", "value": "a"}, " a", False),
        ({"type": "ends_with", "value": "A"}, "ba", True),
        ({"type": "ends_with", "value": "a"}, "ba ", False),
        ({"type": "min_length", "value": 2}, "😀", True),
        ({"type": "min_length", "value": 3}, "😀", False),
        ({"type": "max_length", "value": 0}, "", True),
        ({"type": "word_count_max", "value": 2}, "\ufeffone\u3000two\x85three", True),
        ({"type": "word_count_min", "value": 1}, " \n ", False),
        ({"type": "regex", "pattern": "^a.c$", "flags": ""}, "ABC", True),
        ({"type": "regex", "pattern": "^a.c$", "flags": "m"}, "ABC", False),
        ({"type": "regex", "pattern": "^a.c$"}, "ABC", True),
        ({"type": "regex", "pattern": ""}, "", True),
        ({"type": "regex", "pattern": r"^\d+$"}, "٣", False),
        ({"type": "regex", "pattern": "^b$", "flags": "m"}, "a\r\nb\r\nc", True),
        ({"type": "json_valid"}, "[1, NaN]", False),
        ({"type": "json_valid"}, ' {"a": 1} ', True),
        # JSON has numbers of any size.
        ({"type": "json_valid"}, "[1e400, -1e400, " + "9" * 5000 + "]", True),
        ({"type": "json_valid"}, "[1e400", False),
        # A bound of this library: how deep Python can read depends on its version.
        ({"type": "json_valid"}, "[" * 500 + "]" * 500, True),
        ({"type": "json_valid"}, "[" * 600 + "]" * 600, False),
        ({"type": "rouge_n_min", "reference": "a b c d", "n": 2, "threshold": 0.6}, "a b c", True),
        ({"type": "rouge_n_min", "reference": "a b c d", "n": 2, "threshold": 0.7}, "a b c", False),
        ({"type": "rouge_n_min", "reference": "a b c d"}, "a b", True),
        ({"type": "bleu_min", "reference": "a b c d e", "threshold": 1}, "a b c d e", True),
        ({"type": "levenshtein_max", "reference": "kitten", "value": 3}, "sitting", True),
        ({"type": "levenshtein_max", "reference": "kitten", "value": 2}, "sitting", False),
        ({"type": "levenshtein_max", "reference": "a", "value": 1}, "😀", False),
    ],
)
def test_a_type_reads_the_output(assertion: dict[str, Any], output: str, passes: bool) -> None:
    assert check_assertion(assertion, output).passed is passes
    assert check_assertion({**assertion, "not": True}, output).passed is not passes


@every_row(
    ("assertion", "passes"),
    [
        ({"type": "tools_called", "values": ["write", "search"]}, True),
        # Names of tools are compared without case: a guard against "RM" is one against "rm".
        ({"type": "tools_called", "values": ["Search", "WRITE"]}, True),
        ({"type": "tools_called", "values": ["Search", "delete"]}, False),
        ({"type": "tools_not_called", "values": ["delete", "write"]}, False),
        ({"type": "tools_not_called", "values": ["DELETE", "Write"]}, False),
        ({"type": "tools_not_called", "values": ["DELETE"]}, True),
        ({"type": "tools_count_max", "value": 3}, True),
        ({"type": "tools_count_max", "value": 2}, False),
        ({"type": "tools_count_min", "value": 3}, True),
        ({"type": "tool_input_contains", "value": 'read:"path":"A:B"'}, True),
        ({"type": "tool_input_contains", "value": 'read:lines":[1,2]'}, True),
        ({"type": "tool_input_contains", "value": "search:"}, True),
        ({"type": "tool_input_contains", "value": "write:raw text"}, True),
        ({"type": "tool_input_contains", "value": "READ:path"}, True),
        ({"type": "tool_input_contains", "value": "write:path"}, False),
        ({"type": "tool_input_not_contains", "value": "WRITE:raw"}, False),
        ({"type": "tool_input_not_contains", "value": "READ:PATH"}, False),
        ({"type": "tool_output_contains", "value": "WRITE:done"}, True),
        ({"type": "tool_input_not_contains", "value": "delete:x"}, True),
        ({"type": "tool_input_not_contains", "value": "write:RAW"}, False),
        ({"type": "tool_output_contains", "value": "read:data"}, True),
        ({"type": "tool_output_contains", "value": "write:DONE"}, True),
        ({"type": "tool_output_contains", "value": "search:data"}, False),
    ],
)
def test_a_type_reads_calls_of_tools(assertion: dict[str, Any], passes: bool) -> None:
    assert check_assertion(assertion, {"tool_calls": CALLS}).passed is passes


def test_a_tool_text_without_a_colon_is_about_no_call() -> None:
    """As in omk: nothing contains it, so that the negative guard passes. It is refused up front."""
    for value in ("read", "no such tool", ":path", ":"):
        run = {"tool_calls": CALLS}
        assert holds(run, type="tool_output_contains", value=value) is False
        assert holds(run, type="tool_input_contains", value=value) is False
        assert holds(run, type="tool_input_not_contains", value=value) is True
    for name in ("tool_output_contains", "tool_input_contains", "tool_input_not_contains"):
        for value in ("--force", ":path", "read:"):
            with pytest.raises(InputError, match=r"a tool, a colon and a text, as in 'Bash:rm'"):
                validate_assertions([{"type": name, "value": value}])


@every_row(
    ("given", "part"),
    [
        (
            {"input": {"n": 1.0, "small": 1e-7, "list": [1e21, -0.0, True, None]}},
            '{"n":1,"small":1e-7,"list":[1e+21,0,true,null]}',
        ),
        ({"input": {"n": 1, "10": 0, "9": "\ud800"}}, r'{"9":"\ud800","10":0,"n":1}'),
        # A text is written as JSON, too: in quotes, with escapes.
        ({"input": 'say "hi"\nbye'}, r'"say \"hi\"\nbye"'),
        ({"input": 0}, '""'),
        ({"input": False}, '""'),
        ({}, '""'),
        ({"input": []}, "[]"),
        # Other formats have arguments as a text that is JSON.
        ({"arguments": '{"path": "a", "n": 1.0}'}, '{"path":"a","n":1}'),
        ({"function": {"name": "seek", "arguments": '{"path": "a"}'}}, '{"path":"a"}'),
        ({"arguments": '["a"]'}, r'"[\"a\"]"'),
        ({"arguments": '{"path"'}, r'"{\"path\""'),
        ({"input": '{"path": "a"}'}, r'"{\"path\": \"a\"}"'),
    ],
)
def test_what_a_tool_was_given_is_json_as_javascript_writes_it(
    given: dict[str, Any], part: str
) -> None:
    run = {"tool_calls": [{"tool": "seek", **given}]}
    assert holds(run, type="tool_input_contains", value=f"seek:{part}") is True
    longer = f"seek:{part}{part[-1]}"
    assert holds(run, type="tool_input_contains", value=longer) is False


def test_what_a_tool_gave_is_text_and_json_if_it_is_an_object() -> None:
    for output, part in (('say "hi"', 'say "hi"'), ({"a": ["b"]}, '{"a":["b"]}'), (0, "0")):
        run = {"tool_calls": [{"tool": "seek", "output": output}]}
        assert holds(run, type="tool_output_contains", value=f"seek:{part}") is True


@every_row(
    ("name", "field"),
    [("cost_max", "cost_usd"), ("latency_max", "latency_ms"), ("turns_max", "n_turns")],
)
def test_a_limit_holds_up_to_itself(name: str, field: str) -> None:
    assert holds({field: 2.5}, type=name, value=2.5) is True
    assert holds({field: 2.5}, type=name, value=2.4999) is False


@every_row(
    ("assertion", "passes"),
    [
        ({"type": "cost_max", "value": 1}, False),
        ({"type": "latency_max", "value": 1}, False),
        ({"type": "turns_max", "value": 1}, False),
        ({"type": "turns_min", "value": 1}, False),
        # No turns are enough where none are wanted.
        ({"type": "turns_min", "value": 0}, True),
        ({"type": "mock_hit", "value": "m:1"}, False),
        ({"type": "mock_hit", "value": "m:1", "threshold": 0}, False),
    ],
)
def test_a_number_that_is_not_known_is_out_of_bounds_and_not_turns_that_round(
    assertion: dict[str, Any], passes: bool
) -> None:
    """As in omk, where an unknown cost is infinite and unknown turns are none."""
    negated = {**assertion, "not": True}
    for mode in ("all", "any"):
        for child, wanted in ((assertion, passes), (negated, not passes)):
            one = {"type": "assert-set", "mode": mode, "children": [child]}
            found = [check_assertion(each, "text") for each in (child, one, {**one, "not": True})]
            assert [each.passed for each in found] == [wanted, wanted, not wanted]
    if not passes:
        assert "is not known" in check_assertion(assertion, "text").message


@every_row("assertion", [contains("x"), {"type": "min_length", "value": 0}])
def test_an_answer_that_is_missing_is_not_met_either_way_round(assertion: dict[str, Any]) -> None:
    inverted_set = {"type": "assert-set", "children": [assertion], "not": True}
    for each in (assertion, {**assertion, "not": True}, inverted_set):
        assert check_assertion(each, AssertionRun()).passed is False
    assert "is not known" in check_assertion(assertion, AssertionRun()).message


def test_a_schema_that_is_none_fails_and_is_refused_beforehand() -> None:
    assertion = {"type": "json_schema", "schema": {"type": "bogus"}}
    found = check_assertion(assertion, "{}")
    assert found.passed is False
    assert "schema is invalid" in found.message
    assert check_assertion({**assertion, "not": True}, "{}").passed is False
    with pytest.raises(InputError, match=r"assertions\[0\] \(json_schema\): schema is invalid"):
        validate_assertions([assertion])


def test_a_result_says_what_was_wanted_and_what_was_there() -> None:
    found = check_assertion(
        {"type": "min_length", "value": 9, "weight": 2, "comment": "not too short"}, "short"
    )
    assert found.to_dict() == {
        "check": "min_length",
        "passed": False,
        "expected": "at least 9 characters",
        "actual": 5,
        "message": "expected: at least 9 characters; got: 5",
        "weight": 2.0,
        "layer": "behavior",
    }
    assert check_assertion({"type": "contains", "value": "s"}, "short").message == ""


# --------------------------------------------------------------------------------------------- sets


def nested(depth: int) -> dict[str, Any]:
    assertion = contains("a")
    for _ in range(depth):
        assertion = {"type": "assert-set", "children": [assertion]}
    return assertion


@every_row(
    ("mode", "children", "passes"),
    [
        ("all", [contains("a"), contains("b")], True),
        ("all", [contains("a"), contains("z")], False),
        ("any", [contains("z"), contains("b")], True),
        ("any", [contains("y"), contains("z")], False),
        ("any", [contains("y"), contains("z", **{"not": True})], True),
        # A cost that is not known is above any limit.
        ("any", [{"type": "cost_max", "value": 1}, contains("a")], True),
        ("all", [{"type": "cost_max", "value": 1}, contains("z")], False),
        ("all", [{"type": "cost_max", "value": 1}, contains("a")], False),
    ],
)
def test_a_set_is_met_by_all_or_by_any(
    mode: str, children: list[dict[str, Any]], passes: bool
) -> None:
    found = check_assertion({"type": "assert-set", "mode": mode, "children": children}, "ab")
    assert found.passed is passes
    assert found.actual.endswith(" of 2")


def test_a_set_counts_in_the_layer_of_all_its_leaves_or_in_none() -> None:
    mixed = {"type": "assert-set", "children": [contains("a"), {"type": "min_length", "value": 1}]}
    outer = {"type": "assert-set", "children": [contains("a"), mixed]}
    assert check_assertion(nested(3), "a").layer == "fact"
    assert check_assertion(mixed, "a").layer is None
    assert check_assertion(outer, "a").layer is None


def test_assertions_have_16_levels_and_no_more() -> None:
    """The assertion within all sets is a level of its own."""
    assert check_assertion(nested(15), "a").passed is True
    for depth in (16, 17, 10_000):
        with pytest.raises(InputError, match="nested more than 16 deep"):
            check_assertion(nested(depth), "a")


def test_sets_that_share_children_do_not_multiply_beyond_bounds() -> None:
    """YAML's aliases make 10 children of 10 children of ... out of a few lines."""
    assertion: dict[str, Any] = contains("a")
    for _ in range(14):
        assertion = {"type": "assert-set", "children": [assertion] * 10}
    with pytest.raises(InputError, match="at most 20000 assertions"):
        validate_assertions([assertion])


# ---------------------------------------------------------------------------------- what is refused


@every_row(
    ("assertion", "message"),
    [
        ("contains", "must be a mapping, got str"),
        ({}, "unknown assertion type None"),
        ({"type": ["contains"]}, "unknown assertion type"),
        ({"type": "contain", "value": "x"}, "did you mean 'contains'"),
        ({"type": "contains"}, "value is missing"),
        (contains(""), "value must be a non-blank text, got ''"),
        (contains(" \n\u3000"), "value must be a non-blank text"),
        ({"type": "equals", "value": ""}, "value must be a non-blank text"),
        (
            {"type": "tools_not_called", "values": ["rm", " "]},
            "a list of non-blank texts",
        ),
        ({"type": "rouge_n_min", "reference": " "}, "reference must be a non-blank text"),
        ({"type": "mock_hit", "value": "Bash"}, "as in 'Bash:1', got 'Bash'"),
        ({"type": "mock_hit", "value": "Bash:0"}, "as in 'Bash:1', got 'Bash:0'"),
        ({"type": "mock_hit", "value": "Bash:1\n"}, "as in 'Bash:1'"),
        ({"type": "mock_hit", "value": "a:b:1"}, "as in 'Bash:1'"),
        ({"type": "contains", "value": 3}, "value must be a non-blank text"),
        ({"type": "contains_any", "values": "abc"}, "values must be a list of non-blank texts"),
        ({"type": "contains_any", "values": ["a", ""]}, "values must be a list of non-blank texts"),
        ({"type": "tools_called", "values": []}, "values must be a list of non-blank texts"),
        ({"type": "min_length", "value": True}, "value must be a number"),
        ({"type": "min_length", "value": "3"}, "value must be a number"),
        ({"type": "min_length", "value": -1}, "value must be a number from 0"),
        ({"type": "cost_max", "value": math.nan}, "value must be a number"),
        ({"type": "cost_max", "value": 10**400}, "value must be a number"),
        ({"type": "cost_max", "value": 2**53}, "value must be a number from 0 to 2**53 - 1"),
        (
            {"type": "mock_hit", "value": "m:1", "threshold": 1e16},
            "threshold must be a number from 0 to 2**53 - 1",
        ),
        (contains("x", weight=2**53), "weight must be a number above 0 and up to 2**53 - 1"),
        ({"type": "bleu_min", "reference": "x", "threshold": 1.5}, "threshold must be a number"),
        (
            {"type": "rouge_n_min", "reference": "x", "n": 0},
            "n must be a whole number of at least 1",
        ),
        ({"type": "rouge_n_min", "reference": "x", "n": 1.5}, "n must be a whole number"),
        ({"type": "levenshtein_max", "reference": "x"}, "value is missing"),
        ({"type": "regex", "pattern": "("}, "regex"),
        ({"type": "regex", "pattern": ""}, "pattern is empty, which every text matches"),
        ({"type": "regex", "pattern": "(?=x)"}, "regex"),
        ({"type": "regex", "pattern": "x", "flags": "q"}, "flags"),
        ({"type": "json_schema", "schema": "{}"}, "schema must be a JSON schema"),
        ({"type": "faithfulness", "threshold": 6}, "threshold must be a number from 1 to 5"),
        ({"type": "semantic_similarity"}, "reference is missing"),
        ({"type": "custom"}, "fn is missing"),
        (contains("x", weight=0), "weight must be a number above 0 and up to 2**53 - 1, got 0"),
        (contains("x", weight=-1), "weight must be"),
        (contains("x", weight=math.nan), "weight must be"),
        (contains("x", weight=math.inf), "weight must be"),
        (contains("x", weight=True), "weight must be"),
        (contains("x", **{"not": "yes"}), "not must be true or false, got 'yes'"),
        (contains("x", wieght=2), "'wieght' is not read; did you mean 'weight'"),
        ({"type": "assert-set", "children": []}, "children must be a non-empty list"),
        ({"type": "assert-set", "children": [contains("x")], "mode": "none"}, "mode must be"),
        ({"type": "assert-set", "children": [{"type": "faithfulness"}]}, "cannot be within"),
        ({"type": "assert-set", "children": [{"type": "custom", "fn": "f"}]}, "cannot be within"),
    ],
)
def test_an_assertion_that_is_none_is_refused_by_its_place(assertion: Any, message: str) -> None:
    with pytest.raises(InputError) as caught:
        validate_assertions([contains("x"), assertion])
    assert str(caught.value).startswith("assertions[1]")
    assert message in str(caught.value)


def test_an_empty_pattern_is_no_option_of_a_scorer() -> None:
    with pytest.raises(InputError, match="pattern is empty"):
        spec("regex").create(pattern="")


def test_the_place_of_a_child_is_named() -> None:
    inner = {"type": "assert-set", "children": [contains("a"), contains("")]}
    with pytest.raises(InputError, match=r"^assertions\[0\]\.children\[1\] \(contains\): value"):
        validate_assertions([inner])


@every_row("assertions", ["contains", {"type": "contains"}, 3, None])
def test_assertions_are_a_list(assertions: Any) -> None:
    with pytest.raises(InputError, match="assertions must be a list"):
        validate_assertions(assertions)


@every_row(
    ("fields", "message"),
    [
        ({"answer": 3}, "answer must be a text, got int"),
        ({"cost_usd": True}, "cost_usd must be a number, got bool"),
        ({"cost_usd": math.nan}, "cost_usd must be a finite number"),
        ({"latency_ms": -1}, "latency_ms must be a finite number of at least 0"),
        ({"n_turns": "3"}, "n_turns must be a number, got str"),
        ({"tool_calls": "search"}, "tool_calls must be a list, got str"),
        ({"tool_calls": [{"args": 1}]}, r"tool_calls\[0\] must name its tool"),
        ({"tool_calls": ["a", 3]}, r"tool_calls\[1\] must be a name or a mapping"),
        ({"tool_calls": [""]}, r"tool_calls\[0\] must be a name or a mapping"),
        ({"mock_hits": [1]}, "mock_hits must map names to counts"),
        ({"mock_hits": {"m": "1"}}, "mock_hits"),
        ({"contexts": "text"}, "contexts must be a list of texts"),
    ],
)
def test_a_run_that_is_none_is_refused(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        run_of_fields(fields)


# ---------------------------------------------------------------------------------- runs of samples


def test_calls_and_the_answer_are_taken_from_messages_where_there_are_no_others() -> None:
    messages = [
        {"role": "user", "content": "Where?"},
        {"role": "assistant", "content": "", "tool_calls": [{"name": "find", "args": {"q": "x"}}]},
        {"role": "assistant", "content": "Let me look."},
        {"role": "assistant", "content": "Here."},
    ]
    run = run_of_fields({"messages": messages})
    assert run.output == "Here."
    assert run.tool_calls == (AssertionCall("find", {"q": "x"}),)
    assert run_of_fields({"messages": messages, "tool_calls": [], "answer": ""}) == AssertionRun(
        output=""
    )


def test_what_a_call_has_under_one_name_is_not_hidden_by_null_under_another() -> None:
    call = {"tool": None, "name": "t", "input": None, "args": {"q": 1}, "output": None, "result": 0}
    assert run_of_fields({"tool_calls": [call]}).tool_calls == (AssertionCall("t", {"q": 1}, 0),)


# ------------------------------------------------------------------------------- checks and judges


def test_a_custom_check_is_a_function_of_the_caller() -> None:
    seen = []

    def has_digit(run: AssertionRun, assertion: Any) -> tuple[bool, str]:
        seen.append(assertion["least"])
        return any(c.isdigit() for c in run.output or ""), "no digit"

    assertion = {"type": "custom", "fn": "has_digit", "least": 1}
    checks = {"has_digit": has_digit}
    assert check_assertion(assertion, "a1", checks=checks).passed is True
    failed = check_assertion(assertion, "a", checks=checks)
    assert (failed.passed, failed.message, failed.layer) == (False, "no digit", "behavior")
    assert check_assertion({**assertion, "not": True}, "a", checks=checks).passed is True
    assert seen == [1, 1, 1]


def test_a_custom_check_that_breaks_fails_either_way_round() -> None:
    def broken(run: AssertionRun, assertion: Any) -> bool:
        raise KeyError("x")

    for negated in (False, True):
        assertion = {"type": "custom", "fn": "broken", "not": negated}
        found = check_assertion(assertion, "a", checks={"broken": broken})
        assert found.passed is False
        assert found.message == "the check raised KeyError: 'x'"


def test_a_custom_check_returns_true_or_false() -> None:
    with pytest.raises(InputError, match=r"assertion \(custom\): the check 'f' must return True"):
        check_assertion({"type": "custom", "fn": "f"}, "a", checks={"f": lambda run, _: 1})


def test_a_name_of_a_check_is_no_path_to_code() -> None:
    with pytest.raises(InputError, match=r"unknown check 'os\.system' \(known: 'f'\)"):
        check_assertion({"type": "custom", "fn": "os.system"}, "a", checks={"f": lambda *_: True})


def test_what_needs_a_judge_is_not_checked_without_one() -> None:
    score = check_assertions([contains("z"), {"type": "faithfulness"}], "ab")
    assert [result.passed for result in score.results] == [False, None]
    assert "request the metric omk.faithfulness" in score.results[1].message
    assert (score.ratio, score.n_passed, score.n_checked) == (0.0, 0, 1)
    with pytest.raises(InputError, match="needs a judge"):
        check_assertion({"type": "faithfulness"}, "ab")


def test_a_judge_is_asked_and_not_turns_it_round() -> None:
    asked: list[JudgedAssertion] = []

    def judge(question: JudgedAssertion) -> float:
        asked.append(question)
        return 3.0

    run = AssertionRun(output="out", question="why?", contexts=("one", "two"))
    assertion = {"type": "faithfulness"}
    assert check_assertion(assertion, run, judge=judge).passed is True
    assert check_assertion({**assertion, "threshold": 3.5}, run, judge=judge).passed is False
    assert check_assertion({**assertion, "not": True}, run, judge=judge).passed is False
    own = {"type": "context_recall", "reference": "facts"}
    check_assertion(own, run, judge=judge)
    check_assertion({"type": "answer_relevancy", "reference": "no"}, run, judge=judge)
    assert asked[0] == JudgedAssertion("faithfulness", "out", "one\ntwo", "why?")
    assert asked[3].reference == "facts"
    assert asked[4].reference == ""


@every_row("score", [None, 0, 9, -1])
@every_row("negated", [False, True])
def test_a_judgement_that_failed_fails_either_way_round(score: float | None, negated: bool) -> None:
    run = AssertionRun(output="out", contexts=("c",))
    found = check_assertion(
        {"type": "faithfulness", "not": negated}, run, judge=lambda question: score
    )
    assert (found.passed, found.message) == (False, "the judgement failed")


def test_a_judge_is_not_asked_without_anything_to_compare_with() -> None:
    with pytest.raises(InputError, match=r"assertions\[0\].*needs a reference, or a context"):
        check_assertions([{"type": "faithfulness"}], "out", judge=lambda question: 5.0)


# ----------------------------------------------------------------------------------------- scorers


def test_each_contract_has_its_own_id_and_holds_what_it_says() -> None:
    assert len(BY_ID) == len(METRICS)
    for each in METRICS:
        assert each.id.startswith("omk.")
        assert not set(each.options) & set(each.required_options)
        assert each.range[0] < each.range[1]
        assert each.summary
        assert "{" not in each.summary


def test_the_score_of_assertions_is_the_share_of_weight_that_passed() -> None:
    assertions = [contains("a", weight=3), contains("z"), {"type": "faithfulness", "weight": 9}]
    found = spec("assertions").create().score({"answer": "a", "assertions": assertions})
    assert found.score == 0.75
    assert found.explanation == "1 of 2 assertions passed; not checked because they need a judge: 1"
    assert [detail["passed"] for detail in found.details] == [True, False, None]
    json.dumps(found.details, allow_nan=False)


def test_errors_are_of_the_public_class_and_name_the_place_once() -> None:
    inner = {"type": "contains", "weight": 2}
    nested = {"type": "assert-set", "mode": "all", "children": [inner]}
    for assertion, place in ((inner, "[0]"), (nested, "[0].children[0]")):
        with pytest.raises(InputError) as caught:
            validate_assertions([assertion])
        assert type(caught.value) is InputError
        wanted = f"assertions{place} (contains): value is missing: it must be a non-blank text"
        assert str(caught.value).startswith(wanted)


def test_a_layer_counts_its_own_assertions() -> None:
    assertions = [contains("a"), contains("z"), {"type": "min_length", "value": 1}]
    fields = {"answer": "a", "assertions": assertions}
    counts = {name: spec(name).create().score(fields).explanation for name in ("fact", "behaviour")}
    assert counts == {
        "fact": "1 of 2 assertions passed",
        "behaviour": "1 of 1 assertions passed",
    }


@every_row("assertions", [[], [{"type": "faithfulness"}]])
def test_no_assertion_that_counts_is_nothing_to_score(assertions: list[Any]) -> None:
    for name in ("assertions", "composite", "fact", "behaviour"):
        found = spec(name).create().score({"answer": "a", "assertions": assertions})
        assert (found.score, found.null_reason) == (None, NullReason.NOTHING_TO_MEASURE)


def test_checks_of_the_caller_are_an_option() -> None:
    scorer = spec("assertions").create(checks={"yes": lambda run, assertion: True})
    fields = {"answer": "a", "assertions": [{"type": "custom", "fn": "yes"}]}
    assert scorer.score(fields).score == 1.0
    for wrong in (["yes"], {"yes": 1}):
        with pytest.raises(InputError, match="checks must map names to functions"):
            spec("assertions").create(checks=wrong)


def test_layers_and_their_mean_are_scores_by_themselves() -> None:
    fields = {
        "answer": "ab",
        "assertions": [
            contains("a"),
            contains("z"),
            {"type": "max_length", "value": 2},
            {"type": "cost_max", "value": 1, "weight": 3},
        ],
        "cost_usd": 5,
        "judge_score": 4,
    }
    scores = {
        name: spec(name).create().score(fields).score for name in ("fact", "behaviour", "composite")
    }
    assert scores == {"fact": 3.0, "behaviour": 2.0, "composite": 3.0}


def test_a_composite_may_be_of_a_judge_alone_and_not_of_nothing() -> None:
    score = spec("composite").create().score
    assert score({"judge_score": 2.5}).score == 2.5
    assert score({"answer": "a"}).null_reason == NullReason.MISSING_FIELD
    for wrong in (0, 5.1, "4", True, math.nan):
        with pytest.raises(InputError, match="judge_score must be a number from 1 to 5"):
            score({"judge_score": wrong})


TYPES = [
    ("contains", {"value": "A"}, {"answer": "xa"}, {"answer": "b"}),
    ("not_contains", {"value": "A"}, {"answer": "b"}, {"answer": "xa"}),
    ("contains_all", {"values": ["a", "b"]}, {"answer": "ab"}, {"answer": "a"}),
    ("contains_any", {"values": ["a", "b"]}, {"answer": "b"}, {"answer": "c"}),
    ("equals", {"value": "a"}, {"answer": " a"}, {"answer": "A"}),
    ("not_equals", {"value": "a"}, {"answer": "A"}, {"answer": " a"}),
    ("regex", {"pattern": r"^\d+$"}, {"answer": "12"}, {"answer": "x"}),
    ("json_valid", {}, {"answer": "{}"}, {"answer": "{"}),
    ("json_schema", {"schema": {"type": "array"}}, {"answer": "[]"}, {"answer": "{}"}),
    ("starts_with", {"value": "a"}, {"answer": "Ab"}, {"answer": "ba"}),
    ("ends_with", {"value": "a"}, {"answer": "bA"}, {"answer": "ab"}),
    ("min_length", {"value": 2}, {"answer": "😀"}, {"answer": "a"}),
    ("max_length", {"value": 1}, {"answer": "a"}, {"answer": "😀"}),
    ("word_count_min", {"value": 2}, {"answer": "é b"}, {"answer": "a"}),
    ("word_count_max", {"value": 1}, {"answer": " a\n"}, {"answer": "a b"}),
    ("cost_max", {"value": 1}, {"cost_usd": 1}, {"cost_usd": 1.1}),
    ("latency_max", {"value": 1}, {"latency_ms": 1}, {"latency_ms": 2}),
    ("turns_min", {"value": 2}, {"n_turns": 2}, {"n_turns": 1}),
    ("turns_max", {"value": 2}, {"n_turns": 2}, {"n_turns": 3}),
    ("tools_called", {"values": ["a"]}, {"tool_calls": ["a", "b"]}, {"tool_calls": []}),
    ("tools_not_called", {"values": ["a"]}, {"tool_calls": []}, {"tool_calls": ["a"]}),
    ("tools_count_min", {"value": 1}, {"tool_calls": ["a"]}, {"tool_calls": []}),
    ("tools_count_max", {"value": 0}, {"tool_calls": []}, {"tool_calls": ["a"]}),
    ("tool_input_contains", {"value": "a:X"}, {"tool_calls": [{"tool": "a", "input": "x"}]}, None),
    ("tool_input_not_contains", {"value": "a:x"}, {"tool_calls": ["a"]}, None),
    (
        "tool_output_contains",
        {"value": "a:x"},
        {"tool_calls": [{"tool": "a", "output": "X"}]},
        None,
    ),
    (
        "mock_hit",
        {"value": "m:1", "threshold": 2},
        {"mock_hits": {"m:1": 2}},
        {"mock_hits": {"m:1": 1}},
    ),
]


def test_every_type_that_a_run_decides_is_a_metric() -> None:
    others = {"assertions", "composite", "fact", "behaviour", "rouge_n", "bleu", "levenshtein"}
    assert {f"omk.{name}" for name in (*(row[0] for row in TYPES), *others)} == BY_ID.keys()


@every_row(("name", "options", "passing", "failing"), TYPES)
def test_a_type_is_a_metric(
    name: str, options: dict[str, Any], passing: dict[str, Any], failing: dict[str, Any] | None
) -> None:
    scorer = spec(name).create(**options)
    assert set(spec(name).fields) == passing.keys()
    rows = [passing] if failing is None else [passing, failing, passing]
    wanted = [1.0, 0.0, 1.0][: len(rows)]
    found = [scorer.score(row) for row in rows]
    assert [one.score for one in found] == wanted
    assert [one.details[0]["passed"] for one in found] == [bool(score) for score in wanted]
    negated = spec(name).create(**options, **{"not": True})
    assert [negated.score(row).score for row in rows] == [1 - score for score in wanted]
    if scorer.column is not None:
        scores, reasons = scorer.column(rows)
        assert scores.tolist() == wanted
        assert reasons.tolist() == [0] * len(rows)
        assert negated.column is not None
        assert negated.column(rows)[0].tolist() == [1 - score for score in wanted]


@every_row(
    ("name", "options"),
    [
        ("contains", {}),
        ("contains", {"value": None}),
        ("contains", {"value": ""}),
        ("contains", {"value": "x", "not": 1}),
        ("max_length", {"value": True}),
        ("regex", {"pattern": "("}),
        ("json_schema", {"schema": {"type": "bogus"}}),
        ("rouge_n", {"n": 0}),
        ("rouge_n", {"n": True}),
    ],
)
def test_an_option_that_cannot_be_is_refused(name: str, options: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        spec(name).create(**options)


def test_text_metrics_take_the_best_of_several_truths() -> None:
    fields = {"answer": "a b c d", "ground_truth": ["x y", "a b c d", "a"]}
    assert spec("rouge_n").create().score(fields).score == 1.0
    assert spec("bleu").create().score(fields).score == 1.0
    assert spec("levenshtein").create().score(fields).score == 0.0


def test_edit_distances_of_a_column_are_those_one_by_one() -> None:
    scorer = spec("levenshtein").create()
    rows = [
        {"answer": "kitten", "ground_truth": "sitting"},
        {"answer": "", "ground_truth": ["abc", "ab"]},
        {"answer": "😀a", "ground_truth": ["a😀", "", "😀b"]},
    ]
    assert scorer.column is not None
    scores, reasons = scorer.column(rows)
    assert scores.tolist() == [scorer.score(row).score for row in rows] == [3, 2, 1]
    assert reasons.dtype == np.uint8
    assert scorer.column([])[0].tolist() == []


@every_row(
    ("name", "options", "truth"),
    [("rouge_n", {}, "!?"), ("rouge_n", {"n": 3}, "one two"), ("bleu", {}, "é")],
)
def test_a_truth_without_n_grams_is_nothing_to_compare_with(
    name: str, options: dict[str, Any], truth: str
) -> None:
    found = spec(name).create(**options).score({"answer": "x", "ground_truth": truth})
    assert (found.score, found.null_reason) == (None, NullReason.NOTHING_TO_MEASURE)


# ------------------------------------------------------------------------------------ text metrics


def test_tokens_are_ascii_words_and_chinese_characters() -> None:
    assert tokens_of("Größe_3.14 今天x2") == ["gr", "e", "3", "14", "今", "天", "x2"]
    assert tokens_of("\u4dff\u4e00\u9fa5\u9fa6") == ["\u4e00", "\u9fa5"]


@every_row("n", [1, 2, 3, 5, 6, 7, 8])
def test_rouge_of_wide_n_grams_is_that_of_tuples(n: int) -> None:
    found, wanted = list("abababcabab"), list("babcababa")
    grams = [[tuple(row[at : at + n]) for at in range(len(row) - n + 1)] for row in (found, wanted)]
    shared = sum(min(grams[0].count(gram), grams[1].count(gram)) for gram in set(grams[1]))
    assert rouge_n(" ".join(found), " ".join(wanted), n) == shared / len(grams[1])


def test_bleu_is_worked_by_hand() -> None:
    """Precisions for n of 1 to 4, then a short candidate that loses by its length alone."""
    assert bleu("the cat sat on a mat", "the cat sat on the mat") == pytest.approx(
        (5 / 6 * 3 / 5 * 2 / 4 * 1 / 3) ** 0.25
    )
    assert bleu("a b c d", "a b c d e f") == pytest.approx(math.exp(1 - 6 / 4))
    assert bleu("a b c d e f", "a b c d") == pytest.approx((4 / 6 * 3 / 5 * 2 / 4 * 1 / 3) ** 0.25)


@every_row("text", ["", " a ", "a\x1cb c", "a\x85b", "é b\ufeffc", "\ud800 a"])
def test_words_are_counted_alike_one_by_one_and_all_at_once(text: str) -> None:
    texts = [text, "x y", "", text, " z"]
    assert word_counts(texts) == [word_count(one) for one in texts]


def test_long_texts_are_counted_in_pieces() -> None:
    texts = ["a b " * 100_000, "x", "c\td " * 200_000, "", "y z"]
    assert word_counts(texts) == [200_000, 1, 400_000, 0, 2]
    assert word_counts([]) == []


def test_lengths_are_in_units_of_utf_16() -> None:
    assert [utf16_length(text) for text in ("", "a😀", "é", "\ud800")] == [0, 3, 1, 1]


# ------------------------------------------------------------------------------------------ hostile


def test_an_output_of_ten_megabytes_is_checked_and_not_copied_into_results() -> None:
    output = "word " * 2_000_000
    assertions = [
        contains("zebra"),
        {"type": "equals", "value": output + "x"},
        {"type": "max_length", "value": 5},
        {"type": "word_count_max", "value": 5},
        {"type": "regex", "pattern": "(a+)+$"},
        {"type": "json_valid"},
        {"type": "levenshtein_max", "reference": "short", "value": 100},
    ]
    score = check_assertions(assertions, output)
    assert score.ratio == 0.0
    assert len(json.dumps([result.to_dict() for result in score.results])) < 5000


def test_metrics_of_long_texts_take_work_in_proportion() -> None:
    names = ["alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta"]

    def run(n_words: int) -> None:
        text = " ".join(names[i * i % 7] + str(i % 1000) for i in range(n_words))
        for n in (1, 2, n_words // 2):
            rouge_n(text, text[::-1], n)
        bleu(text, text)

    assert operations(partial(run, 1_600)) < 5 * operations(partial(run, 400))
    # Long n-grams, each copied, would take ten times as much.
    tracemalloc.start()
    try:
        run(1_600)
        assert tracemalloc.get_traced_memory()[1] < 1_500_000
    finally:
        tracemalloc.stop()


def test_ten_thousand_assertions_are_checked() -> None:
    assertions = [contains(str(number)) for number in range(10_000)]
    score = check_assertions(assertions, "0123456789")
    assert score.n_checked == 10_000
    # 0 to 9, 12 to 89, 123 to 789, 1234 to 6789.
    assert score.n_passed == 10 + 8 + 7 + 6


def test_a_schema_reaches_nothing_outside() -> None:
    for reference in ("http://example.invalid/s.json", "file:///etc/passwd", "other.json"):
        with pytest.raises(InputError, match="schema"):
            validate_assertions([{"type": "json_schema", "schema": {"$ref": reference}}])


def test_what_a_tool_was_given_may_be_nested_deeply() -> None:
    value: Any = "x"
    for _ in range(100_000):
        value = [value]
    with pytest.raises(InputError, match="nested too deeply"):
        holds(
            {"tool_calls": [{"tool": "t", "input": value}]}, type="tool_input_contains", value="t:x"
        )


def test_half_a_character_is_text_and_can_be_written() -> None:
    found = check_assertion(contains("x"), "\ud800")
    assert found.passed is False
    json.dumps(found.to_dict(), ensure_ascii=False).encode()
