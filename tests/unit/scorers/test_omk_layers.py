"""Layers of omk: shares as scores, composites, gates, whole grades, and paths that a text names."""

from __future__ import annotations

import math
from typing import Any

import pytest

from rag_eval.errors import InputError
from rag_eval.scorers.omk.assertion_runs import AssertionRun
from rag_eval.scorers.omk.assertion_types import ALL_TYPES, CUSTOM, SET, layer_of
from rag_eval.scorers.omk.grading import (
    Grade,
    RubricQuestion,
    fact_with_paths,
    grade,
    path_claims,
    verified_rate,
)
from rag_eval.scorers.omk.layers import (
    composite,
    layer_gates,
    layered_scores,
    normalize_capability,
    ratio_to_score,
)
from tests.tables import every_row


def contains(value: str, **more: Any) -> dict[str, Any]:
    return {"type": "contains", "value": value, **more}


# ------------------------------------------------------------------------------------------- scores


@every_row(
    ("ratio", "score"),
    [(0, 1.0), (1, 5.0), (1 / 32, 1.13), (3 / 32, 1.38), (1 / 3, 2.33), (2 / 3, 3.67)],
)
def test_exact_ties_go_up(ratio: float, score: float) -> None:
    """1 + 4/32 is 1.125 to the last digit, which Python's round makes 1.12."""
    assert ratio_to_score(ratio) == score


@every_row("ratio", [-0.1, 1.1, math.nan, math.inf, True, "1", None])
def test_a_ratio_is_a_number_from_0_to_1(ratio: Any) -> None:
    with pytest.raises(InputError, match="a ratio must be a number from 0 to 1"):
        ratio_to_score(ratio)


def test_a_composite_is_the_mean_of_the_layers_that_there_are() -> None:
    assert composite(5, None, 2) == 3.5
    assert composite(3.86, 4.64) == 4.25
    assert composite(1, 2, 2) == 1.67
    assert composite() is None


def test_every_type_but_sets_has_a_layer() -> None:
    assert {name for name in ALL_TYPES if layer_of(name) is None} == {SET}
    assert layer_of(CUSTOM) == "behavior"
    assert layer_of("no type") is None


def test_details_that_were_not_checked_or_have_no_layer_do_not_count() -> None:
    details = [
        {"type": "contains", "passed": True},
        {"type": "faithfulness", "passed": None},
        {"type": "assert-set", "passed": False},
        {"type": "unheard-of", "passed": False},
    ]
    assert layered_scores(details) == {
        "composite": 5.0,
        "fact": 5.0,
        "behavior": None,
        "judge": None,
    }


@every_row("llm_score", [9, math.nan, "4", True])
def test_a_judge_gives_up_to_5(llm_score: Any) -> None:
    """A score of 9 would make a composite that no report can hold."""
    with pytest.raises(InputError, match="llm_score must be a number of at most 5"):
        layered_scores([], llm_score)


@every_row(("llm_score", "judge"), [(0.5, 0.5), (5, 5), (0, None), (-1, None), (None, None)])
def test_a_judge_that_gives_0_or_less_failed(llm_score: float | None, judge: float | None) -> None:
    assert layered_scores(None, llm_score)["judge"] == judge


@every_row("weight", [0, -1, math.nan, math.inf, "1", None])
def test_a_weight_of_a_detail_is_above_0(weight: Any) -> None:
    with pytest.raises(InputError, match=r"details\[0\]: weight must be above 0"):
        layered_scores([{"type": "contains", "passed": True, "weight": weight}])


def test_weights_that_no_sum_can_hold_are_refused() -> None:
    details = [{"type": "contains", "passed": True, "weight": 1e308}] * 2
    with pytest.raises(InputError, match="too large to be summed"):
        layered_scores(details)


# -------------------------------------------------------------------------------------------- gates


def test_a_gate_wants_every_layer_there_is_and_at_least_one() -> None:
    summary: dict[str, dict[str, Any]] = {
        "good": {"avgFactScore": 3.5, "avgJudgeScore": 4.0, "avgCompositeScore": 1.0},
        "low": {"avgFactScore": 5.0, "avgBehaviorScore": 3.49},
        "none": {"avgFactScore": None},
    }
    found = layer_gates(summary)
    assert found == {
        "all_pass": False,
        "per_variant": {"good": True, "low": False, "none": False},
    }
    assert layer_gates({"good": summary["good"]})["all_pass"] is True


def test_a_gate_takes_numbers() -> None:
    with pytest.raises(InputError, match="the average of 'a' must be a number, got nan"):
        layer_gates({"a": {"avgFactScore": math.nan}})
    with pytest.raises(InputError, match="threshold must be a number"):
        layer_gates({}, "3.5")  # type: ignore[arg-type]


def test_capabilities_are_compared_without_case_and_signs_between_words() -> None:
    names = (
        "API selection",
        "api-selection",
        "api_Selection",
        "apiSelection",
        " api\tselection\ufeff",
    )
    assert {normalize_capability(name) for name in names} == {"apiselection"}


@every_row(
    ("name", "expected"),
    [
        ("\ufeffapi\ufeff Use", "apiuse"),
        ("api\u3000use", "apiuse"),
        ("api\x1fuse\x85", "api\x1fuse\x85"),
    ],
)
def test_white_space_is_what_it_is_in_javascript(name: str, expected: str) -> None:
    assert normalize_capability(name) == expected


# ------------------------------------------------------------------------------------------- grades


def test_dimensions_come_before_a_rubric_and_each_judge_is_asked_for_each() -> None:
    asked: list[RubricQuestion] = []

    def judge(question: RubricQuestion) -> float:
        asked.append(question)
        return {"a": 2.0, "b": 5.0}[question.dimension]

    sample = {"prompt": "P", "rubric": "R", "dimensions": {"a": "A", "b": "B"}}
    found = grade(sample, AssertionRun(output="out"), rubric_judges=(judge, judge))
    assert (found.judge, found.composite, found.assertions) == (3.5, 3.5, None)
    assert asked[0] == RubricQuestion("a", "A", "out", "P")
    assert [question.dimension for question in asked] == ["a", "a", "b", "b"]


@every_row(
    ("criteria", "scores", "judge"),
    [
        # One judge's score is rounded only in a mean over dimensions.
        ({"rubric": "R"}, [[4.555]], 4.555),
        ({"dimensions": {"a": "A", "b": "B"}}, [[4.555, 3.0]], 3.78),
        ({"dimensions": {"a": "A"}}, [[4.555]], 4.55),
        # The mean of several judges is rounded for each rubric.
        ({"rubric": "R"}, [[4.555], [3.0]], 3.78),
        ({"dimensions": {"a": "A", "b": "B"}}, [[4.555, 3.0], [4.555, 3.0]], 3.77),
        ({"rubric": "R"}, [[0.5]], 0.5),
        ({"rubric": "R"}, [[0.5], [4.0]], 2.25),
    ],
)
def test_scores_of_judges_are_rounded_where_they_are_averaged(
    criteria: dict[str, Any], scores: list[list[float]], judge: float
) -> None:
    answers = [iter(own) for own in scores]
    judges = tuple(lambda _, own=own: next(own) for own in answers)
    assert grade(criteria, AssertionRun(output="o"), rubric_judges=judges).judge == judge


def test_assertions_that_all_need_a_judge_are_none_without_one() -> None:
    sample = {"assertions": [{"type": "faithfulness"}], "context": "c", "prompt": "p"}
    assert grade(sample, AssertionRun(output="o")).assertions is None


@every_row("failure", [None, 0, 9])
def test_a_judgement_that_failed_is_missing_and_no_low_score(failure: float | None) -> None:
    scores = iter([failure, 4.0])
    found = grade(
        {"rubric": "R"}, AssertionRun(output="o"), rubric_judges=(lambda _: next(scores),) * 2
    )
    assert found.judge == 4.0
    found = grade({"rubric": "R"}, AssertionRun(output="o"), rubric_judges=(lambda _: failure,))
    assert (found.judge, found.composite) == (None, None)


def test_assertions_with_a_judge_are_turned_round_by_not() -> None:
    sample = {"assertions": [{"type": "faithfulness", "not": True}], "context": "c", "prompt": "p"}
    for score, fact in ((5.0, 1.0), (1.0, 5.0)):
        found = grade(sample, AssertionRun(output="o"), assertion_judge=lambda _, s=score: s)
        assert found.fact == fact


def test_paths_that_a_text_names_count_into_the_fact_layer() -> None:
    sample = {"assertions": [contains("z")]}
    run = AssertionRun(output="See src/app.py and src/gone.py.")
    assert grade(sample, run).fact == 1.0
    found = grade(sample, run, known_paths=("src/app.py",))
    assert (found.fact, found.composite) == (2.0, 2.0)
    rubric = {"rubric": "R"}
    assert grade(rubric, run, known_paths=("src/app.py",)).fact == 3.0
    assert grade(rubric, AssertionRun(output="no paths"), known_paths=()).composite is None


@every_row(
    "sample",
    [{}, {"prompt": "P", "context": "C"}, {"assertions": [], "rubric": "", "dimensions": {}}],
)
def test_a_sample_without_anything_to_grade_by_is_not_graded(sample: dict[str, Any]) -> None:
    """Not by the paths that its output names either."""
    run = AssertionRun(output="See src/app.py.")
    nothing = Grade(composite=None, fact=None, behavior=None, judge=None, assertions=None)
    assert grade(sample, run) == nothing
    assert grade(sample, run, known_paths=("src/app.py",)) == nothing


@every_row("sample", [{"context": 1}, {"prompt": []}, {"rubric": 3}])
def test_texts_of_a_sample_are_texts(sample: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="must be a text"):
        grade(sample, AssertionRun(output="o"), rubric_judges=(lambda _: 5.0,))


# -------------------------------------------------------------------------------------------- paths


def test_a_path_has_a_slash_and_an_ending() -> None:
    text = "In `./src/a.py` (not a.py, src/ or src/b), docs\\b.md, see https://x.org/c.html. a/d.go"
    assert path_claims(text) == ["src/a.py", "docs/b.md", "a/d.go"]


def test_a_path_is_known_by_its_end_at_a_slash() -> None:
    known = ["repo/src/lib/app.py", "./notes/x.md"]
    assert verified_rate("lib/app.py", known) == 1.0
    assert verified_rate("ib/app.py", known) == 0.0
    assert verified_rate("notes/x.md and notes/y.md", known) == 0.5
    assert verified_rate("nothing here", known) is None
    assert verified_rate("a/b.py", []) == 0.0


def test_known_paths_are_a_collection() -> None:
    with pytest.raises(InputError, match="known_paths must be a collection of paths"):
        verified_rate("a/b.py", "a/b.py")


def test_a_layer_without_paths_is_itself() -> None:
    assert fact_with_paths(2.5, "no paths", ["a/b.py"]) == 2.5
    assert fact_with_paths(None, "a/b.py", ["a/b.py"]) == 5.0
    assert fact_with_paths(1.0, "a/b.py", ["a/b.py"]) == 3.0


def test_a_text_that_is_one_long_path_takes_linear_time() -> None:
    """Each start tried by itself would take hours."""
    assert path_claims("a" * 5_000_000) == []
    assert len(path_claims("a/" * 2_000_000 + "b.py")) == 1
    assert verified_rate("a/" * 1_000_000 + "b.py", ["a/b.py"]) == 0.0
