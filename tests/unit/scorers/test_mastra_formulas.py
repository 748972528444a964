"""The formulas of Mastra's judged scorers, as functions of the judge's replies."""

from __future__ import annotations

import pytest

from rag_eval.errors import InputError
from rag_eval.scorers.mastra.answers import (
    AnswerSimilarityOptions,
    Comparison,
    Match,
    answer_similarity_score,
)
from rag_eval.scorers.mastra.chunks import (
    ChunkRating,
    ChunkRatings,
    ChunkVerdict,
    RelevancePenalties,
    context_precision_score,
    context_relevance_score,
)
from rag_eval.scorers.mastra.criteria import criteria_of
from rag_eval.scorers.mastra.judged_agents import (
    CallVerdicts,
    StepVerdict,
    TrajectoryVerdicts,
    tool_call_accuracy_score,
    trajectory_accuracy_score,
)
from rag_eval.scorers.mastra.noise_sensitivity import (
    Dimension,
    NoiseScoring,
    Robustness,
    noise_sensitivity_score,
)
from rag_eval.scorers.mastra.prompt_alignment import (
    Alignment,
    Appropriateness,
    CompletenessRating,
    IntentAlignment,
    RequirementsFulfillment,
    prompt_alignment_score,
)
from rag_eval.scorers.mastra.summarization import QuestionVerdict, coverage_score
from rag_eval.scorers.mastra.verdicts import share_of_yes


def ratings(*given: tuple[str, bool]) -> ChunkRatings:
    rated = [
        ChunkRating(n, "chunk", level, used, "r")  # type: ignore[arg-type]
        for n, (level, used) in enumerate(given)
    ]
    return ChunkRatings(rated, "o")


def test_the_documented_examples_of_context_relevance() -> None:
    mixed = ratings(
        ("high", True), ("high", True), ("none", False), ("medium", False), ("high", False)
    )
    assert context_relevance_score(mixed, RelevancePenalties()) == pytest.approx(0.64)
    lenient = RelevancePenalties(
        unused_high_relevance_context=0.05,
        missing_context_per_item=0.1,
        max_missing_context_penalty=0.3,
    )
    assert context_relevance_score(mixed, lenient) == pytest.approx(0.69)
    poor = ratings(
        ("none", False), ("none", False), ("none", False), ("low", False), ("high", True)
    )
    assert context_relevance_score(poor, RelevancePenalties()) == pytest.approx(0.26)


def test_a_score_is_not_rounded() -> None:
    verdicts = [
        ChunkVerdict(0, "yes", "r"),
        ChunkVerdict(1, "no", "r"),
        ChunkVerdict(2, "yes", "r"),
    ]
    assert context_precision_score(verdicts) == (1 + 2 / 3) / 2
    assert context_precision_score(verdicts, scale=10) == (1 + 2 / 3) / 2 * 10


def test_without_verdicts_there_is_no_toxicity() -> None:
    assert share_of_yes([], 1.0) is None


def test_steps_that_are_missing_are_charged_and_extra_ones_are_not() -> None:
    taken = [StepVerdict("s", True, True, "r")] * 2
    assert trajectory_accuracy_score(TrajectoryVerdicts(taken, "o", [], ["x"])) == pytest.approx(
        0.9
    )
    assert trajectory_accuracy_score(TrajectoryVerdicts(taken, "o", ["m", "n"])) == pytest.approx(
        0.85
    )
    without = [([], []), ([], ["x"]), (["m"], ["x"])]
    scores = [trajectory_accuracy_score(TrajectoryVerdicts([], "o", *each)) for each in without]
    assert scores == [1, 0.5, 0]


def test_the_weights_of_an_alignment_are_those_of_whose_prompt_counts() -> None:
    found = Alignment(
        IntentAlignment(0.9, "i", True, "r"),
        RequirementsFulfillment([], 0.7),
        CompletenessRating(0.5, [], "r"),
        Appropriateness(0.2, True, True, "r"),
        "a",
    )
    user = 0.4 * 0.9 + 0.3 * 0.7 + 0.2 * 0.5 + 0.1 * 0.2
    system = 0.35 * 0.9 + 0.35 * 0.7 + 0.15 * 0.5 + 0.15 * 0.2
    for mode, expected in (("user", user), ("both", user), ("system", system)):
        score = prompt_alignment_score(found, evaluation_mode=mode, scale=10)
        assert score == pytest.approx(10 * expected), mode


def test_criteria_are_read_line_by_line() -> None:
    text = "- has a title\n2) has a date\n\n * 3 authors\n• 1. one"
    assert [each.description for each in criteria_of(text)] == [
        "has a title",
        "has a date",
        "3 authors",
        "1. one",
    ]
    with pytest.raises(InputError, match="a criterion must be"):
        criteria_of([{"required": True}])


def test_what_an_answer_has_beyond_the_truth_takes_off_a_fifth_at_most() -> None:
    exact = [Match("g", "o", "exact", "e")]
    scores = [
        answer_similarity_score(Comparison(exact, ["x"] * n, []), AnswerSimilarityOptions())
        for n in (0, 1, 4, 9)
    ]
    assert scores == pytest.approx([1, 0.95, 0.8, 0.8])


def test_a_judge_that_finds_more_noise_than_its_dimensions_say_is_believed() -> None:
    held = [Dimension("relevance", "none", "s", "n")]
    assert noise_sensitivity_score(Robustness(held, "o", 0.4), NoiseScoring()) == 0.4
    lost = [Dimension("relevance", "severe", "s", "n")]
    assert noise_sensitivity_score(Robustness(lost, "o", 0.4), NoiseScoring()) == 0.1


def test_without_calls_and_without_need_for_any_tools_were_used_well() -> None:
    assert tool_call_accuracy_score(CallVerdicts([])) == 1
    assert tool_call_accuracy_score(CallVerdicts([], ["search"])) == 0


def test_answers_to_questions_that_were_not_asked_do_not_count() -> None:
    answered = [QuestionVerdict("q", each, "r") for each in (False, False, True, True)]
    assert coverage_score(answered, 2) == 0
    assert coverage_score(answered, 4) == 0.5
    assert coverage_score(answered, 0) == 0
