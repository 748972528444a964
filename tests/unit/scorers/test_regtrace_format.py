"""Format as Regtrace documents it: which sub-checks apply, which pass, and what is said."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rag_eval.errors import InputError
from rag_eval.samples import NullReason
from rag_eval.scorers.regtrace.details import AssertionDetail, cut, detail, documents, shown
from rag_eval.scorers.regtrace.format import FormatOptions, format_score
from rag_eval.scorers.regtrace.format_checks import FORBIDDEN, folded, has_words, unfenced
from rag_eval.scorers.regtrace.format_formulas import (
    format_mean,
    length_ratio,
    markdown_features,
    phrase_penalty,
    regex_match,
    term_coverage,
)
from rag_eval.scorers.regtrace.specs import FORMAT_METRICS as METRICS
from rag_eval.scorers.safe_patterns import UnsupportedPatternError
from tests.tables import every_row

BY_ID = {spec.id: spec for spec in METRICS}
PROSE = "The tower is 324 metres tall and was finished in 1889."
JSON = '{"city": "Paris", "height": 324}'
TABLE = "| a | b |\n|---|---|\n| 1 | 2 |\n"


def verdicts(answer: str, expected: str | None = None, **options: Any) -> dict[str, bool]:
    found = format_score(answer, expected, **options)
    return {one.check.removeprefix("format."): one.passed for one in found.details}


def only(check: str, answer: str, expected: str | None = None, **options: Any) -> AssertionDetail:
    return format_score(answer, expected, sub_checks=[check], **options).details[0]


# Which sub-checks apply.


def test_prose_is_not_asked_to_be_json() -> None:
    assert verdicts(PROSE, PROSE) == {
        "length": True,
        "markdown_structure": True,
        "required_fields": True,
        "forbidden_content": True,
    }
    assert format_score(PROSE, PROSE).score == 1


def test_json_is_asked_to_be_json_and_not_to_be_markdown() -> None:
    assert verdicts(JSON, JSON) == {
        "length": True,
        "json_validity": True,
        "json_schema": True,
        "required_fields": True,
        "forbidden_content": True,
    }
    assert verdicts("{}", schema={"type": "object"}).keys() == {
        "json_validity",
        "json_schema",
        "forbidden_content",
    }


def test_a_bare_number_that_is_expected_is_no_json() -> None:
    assert "json_validity" not in verdicts("42", "42")


def test_an_answer_alone_is_checked_for_what_must_not_be_there() -> None:
    assert verdicts(PROSE).keys() == {"markdown_structure", "forbidden_content"}


def test_a_named_check_applies_to_any_answer() -> None:
    assert verdicts(PROSE, PROSE, sub_checks=["json_validity"]) == {"json_validity": False}
    assert verdicts(JSON, JSON, sub_checks=["markdown_structure"]) == {"markdown_structure": True}
    both = verdicts(PROSE, PROSE, sub_checks={"json_validity": True, "length": False})
    assert both == {
        "json_validity": False,
        "markdown_structure": True,
        "required_fields": True,
        "forbidden_content": True,
    }


def test_a_named_check_that_has_nothing_to_go_by_is_left_out_and_told() -> None:
    found = format_score(PROSE, sub_checks=["length", "json_schema", "forbidden_content"])
    assert found.score == 1
    assert found.not_applied == (
        "length: no expected output",
        "json_schema: the expected output is not a JSON object or array, and no schema is given",
    )
    assert format_score(PROSE, sub_checks=["length"]).score is None
    assert format_score(PROSE, sub_checks=[]).score is None


def test_the_score_is_passed_by_applied() -> None:
    found = format_score("I'm sorry.", PROSE)
    assert [one.passed for one in found.details] == [False, True, False, False]
    assert found.score == 0.25


# What each sub-check finds.


@every_row(
    ("n_answer", "tolerance", "passed"),
    [
        (8, 0.2, True),
        (12, 0.2, True),
        (7, 0.2, False),
        (13, 0.2, False),
        (13, 0.3, True),
        (10, 0, True),
        (11, 0, False),
        (0, 1, True),
        (21, 1, False),
    ],
)
def test_a_length_is_right_up_to_its_tolerance(
    n_answer: int, tolerance: float, passed: bool
) -> None:
    found = only("length", "x" * n_answer, "y" * 10, length_tolerance=tolerance)
    assert found.passed is passed


@given(st.integers(1, 2000), st.integers(0, 100))
@example(100, 29)
def test_a_length_at_the_very_bound_is_right(n_expected: int, percent: int) -> None:
    # Products of floats miss whole numbers: 0.29 of 100 is 28.999999999999996.
    most = n_expected + n_expected * percent // 100
    assert only("length", "x" * most, "y" * n_expected, length_tolerance=percent / 100).passed


def test_nothing_is_expected_and_nothing_else_has_that_length() -> None:
    assert only("length", "", "").passed
    assert not only("length", "x", "").passed


def test_fences_do_not_count_to_the_length() -> None:
    assert only("length", "```json\n1234567890\n```", "1234567890", length_tolerance=0).passed


@every_row(
    ("answer", "passed"),
    [
        ("{}", True),
        (" \n[1]\n", True),
        ("```json\n{}\n```", True),
        ("\n```c++\n{}\n```\n", True),
        ("NaN", False),
        ("{'a': 1}", False),
        ("[1e400]", False),
        ("{} and more", False),
        ("```\n{}\n``` done", False),
        ("", False),
    ],
)
def test_an_answer_is_json_or_not(answer: str, passed: bool) -> None:
    assert only("json_validity", answer).passed is passed


def test_keys_given_twice_are_told() -> None:
    found = only("json_validity", '{"a": 1, "a": 2}')
    assert found.passed
    assert found.message == "repeated keys (only the last one counts): 'a'"


def test_a_schema_is_derived_from_the_expected_output() -> None:
    assert only("json_schema", '{"height": 1.5, "city": "Oslo", "more": []}', JSON).passed
    found = format_score('{"height": "tall"}', JSON, sub_checks=["json_schema"])
    assert found.score == 0
    assert [(one.check, one.message) for one in found.details] == [
        ("format.json_schema", '$: "city" is a required property and 1 more'),
        ("format.json_schema.$", '"city" is a required property'),
        ("format.json_schema.$.height", 'value is not of type "number"'),
    ]


def test_a_schema_that_is_given_goes_first() -> None:
    schema = {"required": ["other"]}
    assert only("json_schema", '{"other": 1}', JSON, schema=schema).passed
    assert not only("json_schema", JSON, JSON, schema=schema).passed
    assert not only("json_schema", "no JSON", schema=schema).passed


def test_kinds_of_blocks_that_are_expected_are_wanted() -> None:
    expected = f"# Title\n\n- item\n\n{TABLE}"
    assert only("markdown_structure", f"# Other\n\n1. item\n\n{TABLE}\n\nmore", expected).passed
    found = only("markdown_structure", "# Other\n\ntext", expected)
    assert not found.passed
    assert found.message == "missing, but in the expected output: lists, tables"
    assert found.expected == "headings, lists, tables"
    assert found.actual == "headings"


def test_broken_structure_fails_whatever_is_expected() -> None:
    for expected in (None, PROSE, "```\nx\n```"):
        assert not only("markdown_structure", "```\nx", expected).passed


def test_terms_that_are_given_are_all_wanted_in_either_case() -> None:
    assert only("required_fields", "The Eiffel\nTOWER", required_fields=["eiffel tower"]).passed
    found = only("required_fields", PROSE, PROSE, required_fields=["324", "Paris", "1890"])
    assert not found.passed
    assert found.message == "missing: paris, 1890"


def test_of_words_of_the_expected_output_most_are_wanted() -> None:
    expected = "one alpha beta gamma delta epsilon zeta theta iota kappa lambda"
    words = expected.split()[1:]
    assert only("required_fields", " ".join(words[:7]), expected).passed
    assert not only("required_fields", " ".join(words[:6]), expected).passed
    # Words with a hyphen or an apostrophe are found in the same text.
    assert only("required_fields", "A well-known fact isn't.", "A well-known fact isn't.").passed


def test_keys_of_the_expected_json_are_all_wanted() -> None:
    assert only("required_fields", "The City has this HEIGHT.", JSON).passed
    assert not only("required_fields", "The city.", JSON).passed
    assert not only("required_fields", "a", '[{"aa": 1}, {"bb": 2}, 3]').passed


@every_row("answer", ["I’m sorry, no.", "AS AN\nAI model", "(I don't know)"])
def test_refusals_are_found(answer: str) -> None:
    assert not only("forbidden_content", answer).passed


def test_forbidden_terms_are_whole_words() -> None:
    assert only("forbidden_content", "A classic.", forbidden_content=["ass", "class"]).passed
    found = only("forbidden_content", "No ass, no!", forbidden_content=["ass", "no!"])
    assert found.message == "found: ass, no!"
    # No space separates words there.
    assert not only("forbidden_content", "これは秘密です", forbidden_content=["秘密"]).passed


def test_each_phrase_that_ships_is_found() -> None:
    for phrase in FORBIDDEN:
        assert folded(phrase) == phrase
        assert not only("forbidden_content", f"Well, {phrase.upper()}: no.").passed


def test_a_pattern_is_searched_for() -> None:
    assert only("regex_match", PROSE, pattern=r"\d{4}\.$").passed
    assert not only("regex_match", PROSE, pattern="^tower").passed
    assert only("regex_match", PROSE, pattern="TOWER", pattern_flags="i").passed


# What is said.


def test_long_values_are_cut_to_eighty_characters() -> None:
    for one in format_score("x " * 500, "y " * 500, pattern="z" * 400).details:
        assert max(len(one.expected or ""), len(one.actual or "")) <= 80
    assert cut("x" * 80) == "x" * 80
    assert cut("x" * 81) == "x" * 79 + "…"


def test_json_has_all_details_and_people_see_ten() -> None:
    details = [detail(f"c{n}", False, actual=n) for n in range(12)] + [detail("ok", True)]
    assert len(documents(details)) == 13
    lines = shown(details)
    assert lines[0] == "c0: expected nothing, got 0"
    assert lines[10:] == ["+ 2 more"]
    assert len(shown(details[:10])) == 10
    assert documents([detail("a", True)]) == [{"check": "a", "passed": True}]


@every_row(
    ("text", "bare"),
    [
        ("```\na\n```", "a"),
        ("  ```json\na\n```  ", "a"),
        ("a ```b``` c", "a ```b``` c"),
        ("```a```", "```a```"),
        ("```\na\n```\ntext\n```\nb\n```", "```\na\n```\ntext\n```\nb\n```"),
        ("```", "```"),
        ("``````", "``````"),
    ],
)
def test_a_fence_around_all_is_taken_off(text: str, bare: str) -> None:
    assert unfenced(text) == bare


def test_words_are_bounded_by_what_is_no_letter() -> None:
    assert has_words("a cat.", "cat")
    assert has_words("concat cat", "cat")
    assert not has_words("concat cats", "cat")
    assert has_words("c++!", "c++")


# Options.


@every_row(
    ("options", "message"),
    [
        ({"sub_checks": ["lenght"]}, "did you mean 'length'"),
        ({"sub_checks": "length"}, "list or a mapping"),
        ({"sub_checks": ["length", "length"]}, "each check once"),
        ({"sub_checks": {"length": 1}}, "true or false"),
        ({"sub_checks": ["regex_match"]}, "needs a pattern"),
        ({"length_tolerance": -0.1}, "length_tolerance"),
        ({"length_tolerance": "0.2"}, "length_tolerance"),
        ({"schema": {"type": "text"}}, "schema is invalid"),
        ({"schema": "object"}, "schema must be"),
        ({"required_fields": "city"}, "required_fields must be a list"),
        ({"required_fields": [1]}, "required_fields must be a list"),
        ({"required_fields": [" "]}, "no empty term"),
        ({"forbidden_content": ["x"] * 1001}, "at most 1000"),
        ({"pattern": "a" * 501}, "at most 500"),
        ({"pattern": "("}, "pattern"),
        ({"shema": {}}, "did you mean 'schema'"),
    ],
)
def test_a_wrong_option_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        format_score(PROSE, PROSE, **options)


def test_look_around_is_refused() -> None:
    with pytest.raises(UnsupportedPatternError):
        format_score(PROSE, pattern="(?=a)a")


# Contracts.


def test_options_of_the_contract_are_those_of_the_scorer() -> None:
    assert BY_ID["regtrace.format"].options == {
        name: getattr(FormatOptions(), name) for name in FormatOptions.__dataclass_fields__
    }
    for spec in METRICS:
        spec.create(**spec.options)


def test_the_expected_output_that_suits_best_counts() -> None:
    scorer = BY_ID["regtrace.format"].create()
    found = scorer.score({"answer": PROSE, "ground_truth": ["No.", PROSE]})
    assert found.score == 1
    assert found.explanation == "4 sub-checks passed"
    assert len(found.details) == 4
    assert json.loads(json.dumps(list(found.details))) == list(found.details)


def test_an_explanation_says_what_failed() -> None:
    found = BY_ID["regtrace.format"].create().score({"answer": "I'm sorry."})
    assert found.explanation == "format.forbidden_content: found: i'm sorry"


def test_without_a_sub_check_that_applies_there_is_no_score() -> None:
    found = BY_ID["regtrace.format"].create(sub_checks=["length"]).score({"answer": PROSE})
    assert found.score is None
    assert found.null_reason is NullReason.NOTHING_TO_MEASURE
    assert "no expected output" in found.explanation


def test_formulas_take_the_best_of_many_expected_outputs() -> None:
    fields = {"answer": PROSE, "ground_truth": ["", PROSE, "x"]}
    for name in ("format_mean", "length_ratio", "term_coverage", "regex_match"):
        spec = BY_ID[f"regtrace.{name}"]
        one = spec.create(**spec.options).score({"answer": PROSE, "ground_truth": PROSE})
        assert spec.create(**spec.options).score(fields).score == one.score
        assert spec.create(**spec.options).score(fields | {"ground_truth": []}).score is None


@given(st.lists(st.tuples(st.text("ab 1`#\n|-é😀", max_size=12), st.text("ab 1é", max_size=8))))
def test_columns_are_scores_one_by_one(pairs: list[tuple[str, str]]) -> None:
    rows: list[dict[str, Any]] = [{"answer": one, "ground_truth": other} for one, other in pairs]
    rows.append({"answer": "a", "ground_truth": []})
    for spec in METRICS:
        scorer = spec.create(**spec.options)
        if scorer.column is None:
            continue
        scores, reasons = scorer.column(rows)
        assert scores.dtype == np.float64
        assert reasons.dtype == np.uint8
        single = [scorer.score(row) for row in rows]
        assert [None if np.isnan(x) else x for x in scores] == [one.score for one in single]
        assert list(reasons) == [one.null_reason for one in single]


@every_row(
    ("actual", "pattern", "score"),
    [
        ("foo\r\nbar", "foo$", 1.0),
        ("a\rb", "^b", 1.0),
        ("a\x07", r"a\07", 1.0),
        ("8", r"\8", 1.0),
        ("😀" * 250, "😀" * 250, 1.0),
        ("😀" * 251, "😀" * 251, 0.0),
    ],
)
def test_patterns_are_read_as_javascript_reads_them(
    actual: str, pattern: str, score: float
) -> None:
    assert regex_match(actual, pattern) == score


def test_patterns_that_linear_time_has_not_are_no_score() -> None:
    fields = {"answer": "foobar", "ground_truth": "foo(?=bar)"}
    for name in ("regex_match", "format_mean"):
        spec = BY_ID[f"regtrace.{name}"]
        found = spec.create(**spec.options).score(fields)
        assert found.score is None
        assert "look-around" in found.explanation


@every_row(
    ("name", "options", "message"),
    [
        ("length_ratio", {"length_tolerance": 2}, "between 0 and 1"),
        ("format_mean", {"sub_checks": ["length"], "length_tolerance": 0.2}, "mapping"),
        ("format_mean", {"sub_checks": {"x": True}, "length_tolerance": 0.2}, "must map names"),
        ("format_mean", {"sub_checks": {"length": 1}, "length_tolerance": 0.2}, "got 'length': 1"),
        ("phrase_penalty", {"phrases": "x"}, "list of texts"),
        ("phrase_penalty", {"phrases": [""]}, "list of texts"),
        ("phrase_penalty", {"phrases": ["x"] * 1001}, "at most"),
    ],
)
def test_wrong_options_of_formulas_are_refused(
    name: str, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        BY_ID[f"regtrace.{name}"].create(**options)


# The tool's own formulas, where its vectors do not go.


def test_lengths_are_in_utf16_units() -> None:
    assert length_ratio("😀", "ab", 0) == 1
    assert length_ratio("é", "ab", 0) == 0.5
    assert length_ratio("\ud83d", "a", 0) == 1


def test_a_table_is_a_delimiter_row_at_the_very_start() -> None:
    """White space may be before it, and between two bars there is something, if only a bar."""
    tables = ("|-|", "| |", "|||", "|::|", "  |---|\n", "\n\n\ufeff\u2028|-|", "| :- | x |")
    assert [text for text in tables if markdown_features(text) < 0.2] == []
    others = (
        "-|-|",
        "|-",
        "||",
        "||x|",
        "|\t|",
        "|-x|-|",
        "|-\n-|",
        "x\n|-|",
        "\x85|-|",
        "\x1c|-|",
    )
    assert [text for text in others if markdown_features(text) > 0] == []


def test_what_indents_an_item_is_white_space_of_javascript() -> None:
    for space in ("", " ", "\t", "\u00a0", "\ufeff", "\u2028 "):
        assert markdown_features(f"x\n{space}- a") == 0.2
    for other in ("\x1c", "\x1f", "\x85", "\u200b"):
        assert markdown_features(f"x\n{other}- a") == 0


def test_line_ends_of_javascript_begin_lines() -> None:
    for end in "\n\r\u2028\u2029":
        assert markdown_features(f"text{end}# Title") == 0.2


def test_phrases_in_either_case_are_whole_words() -> None:
    assert phrase_penalty("X", ["x", "x", "y"]) == 0.8
    assert phrase_penalty("xx", ["x"]) == 1
    assert phrase_penalty("a b", ["a b."]) == 1


def test_all_sub_checks_are_on_by_default() -> None:
    assert len(format_mean("x", "x").details) == 7


def test_many_words_are_looked_for_within_words_too() -> None:
    words = [f"word{n:04}" for n in range(1500)]
    assert term_coverage(" ".join(words[:750]), " ".join(words)) == 0.5
    assert term_coverage("x".join(words[:750]), " ".join(words)) == 0.5
