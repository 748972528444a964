"""Mastra's judged scorers against @mastra/evals: the same replies make the same scores.

A case of ``mastra_llm.jsonl`` holds options, a run, and what the judge says step by step
(``judge_steps``: an object, the text of a reason, or ``{"raw": "..."}``); a question asked again
gets the same answer. Expected are the score of version 1.1.1, or 1.10.2 for scorers that are newer,
rounded to two decimals, the number of calls, and errors where the factory or the run raises.
"""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rag_eval.errors import InputError
from rag_eval.judge.asking import Asked, Reply
from rag_eval.judge.failures import JudgeFailure
from rag_eval.judge.reading import read_reply
from rag_eval.judge.rendering import PromptStyle, render
from rag_eval.judge.replies import JudgeReply, Tally
from rag_eval.judge.steps import Fields, Step
from rag_eval.samples import NullReason
from rag_eval.scorers import mastra
from rag_eval.scorers.mastra import MastraResult, MastraScorer
from tests.tables import every_row

FILE = Path(__file__).parent / "mastra_llm.jsonl"
CASES = {case["id"]: case for case in map(json.loads, FILE.read_text("utf-8").splitlines())}

FACTORIES: dict[str, Callable[..., MastraScorer]] = {
    "answer-relevancy": mastra.create_answer_relevancy_scorer,
    "answer-similarity": mastra.create_answer_similarity_scorer,
    "bias": mastra.create_bias_scorer,
    "context-precision": mastra.create_context_precision_scorer,
    "context-recall": mastra.create_context_recall_scorer,
    "context-relevance": mastra.create_context_relevance_scorer_llm,
    "faithfulness": mastra.create_faithfulness_scorer,
    "hallucination": mastra.create_hallucination_scorer,
    "multi-turn-judge": mastra.create_multi_turn_judge_scorer,
    "noise-sensitivity": mastra.create_noise_sensitivity_scorer_llm,
    "prompt-alignment": mastra.create_prompt_alignment_scorer_llm,
    "rubric": mastra.create_rubric_scorer,
    "summarization": mastra.create_summarization_scorer,
    "tool-call-accuracy-llm": mastra.create_tool_call_accuracy_scorer_llm,
    "toxicity": mastra.create_toxicity_scorer,
    "trajectory-accuracy-llm": mastra.create_trajectory_accuracy_scorer_llm,
}

# ------------------------------------------------------------------- the closed list of departures

# Partial options replace all defaults there, and the score is NaN; here they are merged.
MERGED_OPTIONS = {"mastra-answer-relevancy-only-scale-with-unsure": 6.5}
# Verdicts are trimmed and lower-cased here in all scorers, there in some.
TRIMMED_VERDICTS = {
    "mastra-bias-spaces": 1.0,
    "mastra-hallucination-spaces": 0.5,
    "mastra-hallucination-upper": 1.0,
}
# A judge that left out verdicts, or gave some on nothing, is asked once more and then not believed:
# one verdict of five would decide alone.
INCOMPLETE_VERDICTS = (
    "mastra-answer-relevancy-no-statements-but-results",
    "mastra-bias-fewer-results",
    "mastra-bias-more-results",
    "mastra-faithfulness-fewer-verdicts",
    "mastra-hallucination-fewer-verdicts",
    "mastra-hallucination-more-verdicts",
    "mastra-tool-call-accuracy-llm-evals-without-calls",
    # Chunks are told apart by their index: each needs one verdict.
    "mastra-context-precision-dup-index",
    "mastra-context-precision-gap-index",
    # There is context and the judge says nothing about it.
    "mastra-context-relevance-empty-scale10",
    # A rubric is met when its own criteria are, and not those that the judge chose to repeat.
    "mastra-rubric-judge-adds-criterion",
    "mastra-rubric-judge-drops-criterion",
    "mastra-rubric-no-rubric-judge-unmet",
)
# An index is a whole number; 0.5 is a reply of another form.
UNREADABLE_VERDICTS = ("mastra-context-precision-float-index",)
# A scale has to be a number above 0, and a number of questions has to be whole.
REFUSED_OPTIONS = {
    "mastra-context-precision-scale-zero": "scale must be above 0",
    "mastra-context-recall-scale-zero": "scale must be above 0",
    "mastra-context-relevance-scale-zero": "scale must be above 0",
    "mastra-toxicity-scale-zero": "scale must be above 0",
    "mastra-faithfulness-scale-neg": "scale must be a finite number of at least 0",
    "mastra-summarization-max-fraction": "max_questions must be a whole number",
}
# Nothing to measure scores the worst or the best there, and nothing here.
NOTHING_TO_MEASURE = (
    "mastra-faithfulness-empty",
    "mastra-faithfulness-no-claims-but-verdicts",
    "mastra-toxicity-empty-scale10",
    "mastra-context-relevance-extractor-empty-scale",
)
# The reason of a rubric follows from the criteria there are; there it says "failed" below score 1.
OTHER_REASON = ("mastra-rubric-scale-zero",)

DEPARTING = {
    *MERGED_OPTIONS,
    *TRIMMED_VERDICTS,
    *INCOMPLETE_VERDICTS,
    *UNREADABLE_VERDICTS,
    *REFUSED_OPTIONS,
    *NOTHING_TO_MEASURE,
}
# What else is marked there is done the same way here: it is what the formula says.
MATCHING = [name for name in CASES if name not in DEPARTING]


# ----------------------------------------------------------------------------------------- helpers


class VectorAsker:
    """A judge that says what the vector's judge said, under the mark it was given."""

    def __init__(self, steps: list[Any]) -> None:
        self._steps = steps
        self.calls = 0
        self._asked = 0

    async def ask(
        self,
        step: Step[Reply],
        fields: Fields,
        tally: Tally,
        check: Callable[[Reply], str | None] | None = None,
    ) -> Asked[Reply]:
        said = self._steps[self._asked]
        self._asked += 1
        for attempt in (1, 2):
            prompt = render(step, fields, PromptStyle())
            self.calls += 1
            try:
                reply = JudgeReply(marked(said, prompt.mark))
                return Asked(read_reply(reply, prompt.mark, step.shape, check), prompt.text)
            except JudgeFailure:
                if attempt == 2:
                    raise
        raise AssertionError("unreachable")


def marked(said: Any, mark: str) -> str:
    if isinstance(said, str):
        said = {"reason": said}
    if "raw" in said:
        return str(said["raw"]).replace("{", f'{{"mark": "{mark}", ', 1)
    return json.dumps({"mark": mark, **said})


def scorer_of(case: dict[str, Any]) -> MastraScorer:
    options = json.loads(json.dumps(case["options"]).replace('"NaN"', "NaN"))
    if case.get("context") is not None:
        options["context"] = case["context"]
    if "dynamic_context" in case:
        hook = "getContext" if case["scorer"] == "hallucination" else "contextExtractor"
        options[hook] = lambda *_, **__: case["dynamic_context"]
    return FACTORIES[case["scorer"]](lambda prompt: "", **options)


def run_dict(case: dict[str, Any]) -> dict[str, Any]:
    names = {
        "trajectory": "trajectory",
        "ground_truth": "groundTruth",
        "expected_trajectory": "expectedTrajectory",
        "additional_context": "additionalContext",
    }
    run = {"input": case["input"], "output": case["output"]}
    return {**run, **{names[key]: case[key] for key in names if key in case}}


def judged(case: dict[str, Any]) -> tuple[MastraResult, int]:
    asker = VectorAsker(case["judge_steps"])
    result = asyncio.run(scorer_of(case).score(asker, run_dict(case)))
    return result, asker.calls


def round2(score: float) -> float:
    """Half up, as the package rounds."""
    return math.floor((score + 2**-52) * 100 + 0.5) / 100


# ------------------------------------------------------------------------------------------- tests


@every_row("name", MATCHING)
def test_the_replies_make_the_same_score(name: str) -> None:
    case = CASES[name]
    if case.get("expected_error") == "construct":
        with pytest.raises(InputError):
            scorer_of(case)
        return
    if case.get("expected_error") == "run":
        asker = VectorAsker(case["judge_steps"])
        with pytest.raises((InputError, JudgeFailure)):
            asyncio.run(scorer_of(case).score(asker, run_dict(case)))
        assert asker.calls == case["judge_calls"]
        return
    result, calls = judged(case)
    assert result.score is not None
    assert round2(result.score) == case["expected_score"]
    assert calls == case["judge_calls"]
    if "expected_reason" in case:
        assert result.reason == case["expected_reason"]


WITH_FACTS = [
    name for name in MATCHING if "expected_reason_facts" in CASES[name] and name not in OTHER_REASON
]


@every_row("name", WITH_FACTS)
def test_reasons_made_in_code_say_the_same(name: str) -> None:
    case = CASES[name]
    if "expected_error" in case:
        pytest.fail("a vector with facts has no reason")
    reason = judged(case)[0].reason
    assert reason is not None
    found = {
        "reason_says_satisfied": " is satisfied" in reason,
        "reason_is_no_rubric": "no rubric" in reason,
        "reason_includes_criterion": case["options"].get("criterion", "?") in reason,
        "reason_includes_judge_text": "because" in reason,
    }
    wanted = case["expected_reason_facts"]
    assert {key: found[key] for key in wanted} == wanted


@every_row("name", [*MERGED_OPTIONS, *TRIMMED_VERDICTS])
def test_a_departure_has_the_score_it_should(name: str) -> None:
    score = {**MERGED_OPTIONS, **TRIMMED_VERDICTS}[name]
    assert judged(CASES[name])[0].score == score
    assert CASES[name]["expected_score"] != score


@every_row("name", INCOMPLETE_VERDICTS)
def test_a_reply_that_leaves_out_verdicts_fails(name: str) -> None:
    with pytest.raises(JudgeFailure) as caught:
        judged(CASES[name])
    assert caught.value.kind == "incomplete"


@pytest.mark.parametrize("name", UNREADABLE_VERDICTS)
def test_a_reply_of_another_form_fails(name: str) -> None:
    with pytest.raises(JudgeFailure) as caught:
        judged(CASES[name])
    assert caught.value.kind == "unparsed"


@every_row("name", REFUSED_OPTIONS)
def test_options_are_refused_with_a_reason(name: str) -> None:
    with pytest.raises(InputError, match=REFUSED_OPTIONS[name]):
        scorer_of(CASES[name])


@every_row("name", NOTHING_TO_MEASURE)
def test_nothing_to_measure_has_no_score(name: str) -> None:
    result, _ = judged(CASES[name])
    assert result.score is None
    assert result.null_reason is NullReason.NOTHING_TO_MEASURE
    assert result.message


@pytest.mark.parametrize("name", OTHER_REASON)
def test_a_rubric_that_is_met_says_so_at_any_scale(name: str) -> None:
    reason = judged(CASES[name])[0].reason
    assert reason is not None
    assert " is satisfied" in reason
    assert not CASES[name]["expected_reason_facts"]["reason_says_satisfied"]


def test_all_cases_are_accounted_for() -> None:
    assert len(CASES) == 231
    assert CASES.keys() >= DEPARTING | set(OTHER_REASON)
    assert all("quirk" in CASES[name] for name in DEPARTING)


def test_rounding_is_half_up() -> None:
    assert [round2(x) for x in (0.125, 1.005, -1 / 3)] == [0.13, 1.01, -0.33]
