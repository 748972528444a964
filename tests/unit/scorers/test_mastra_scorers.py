"""Mastra's judged scorers: dry runs, what each call sees, results, the registry."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from importlib import resources
from typing import Any

import msgspec
import pytest

from rag_eval.errors import InputError
from rag_eval.judge.asking import Asked, DryAsker, Reply
from rag_eval.judge.failures import JudgeFailure
from rag_eval.judge.rendering import PromptStyle
from rag_eval.judge.replies import Tally
from rag_eval.judge.steps import Fields, Step
from rag_eval.metrics.registry import known_metric_ids
from rag_eval.samples import EvalSample
from rag_eval.scorers import mastra
from rag_eval.scorers.mastra import (
    MASTRA_SCORERS,
    MastraResult,
    MastraSpec,
    RunError,
    run_of_sample,
)
from tests.judging import ScriptedAsker, reply_with
from tests.tables import every_row

# A run with all that any scorer reads, each text a word that occurs nowhere else.
RUN: dict[str, Any] = {
    "input": [
        {"role": "system", "text": "SYSTEM"},
        {"role": "user", "text": "QUESTION"},
    ],
    "output": [
        {
            "role": "assistant",
            "text": "ANSWER",
            "tool_calls": [{"tool": "TOOL", "args": {"a": "ARGS"}, "result": "RESULT"}],
        }
    ],
    "contexts": ["CHUNK"],
    "groundTruth": "TRUTH",
    "expectedTrajectory": {"steps": [{"name": "EXPECTED"}]},
}
GIVEN: dict[str, dict[str, Any]] = {
    "mastra.noise_sensitivity": {"baseline_response": "BASELINE", "noisy_query": "NOISY"},
    "mastra.tool_call_accuracy_llm": {"available_tools": [{"id": "MAIL", "description": "d"}]},
    "mastra.multi_turn_judge": {"criterion": "CRITERION"},
    "mastra.rubric": {"criteria": "CRITERION"},
    "mastra.prompt_alignment": {"evaluation_mode": "both"},
}
WORDS = (
    "SYSTEM",
    "QUESTION",
    "ANSWER",
    "TOOL",
    "ARGS",
    "RESULT",
    "CHUNK",
    "TRUTH",
    "EXPECTED",
    "BASELINE",
    "NOISY",
    "MAIL",
    "CRITERION",
)


def silent(prompt: str) -> str:
    raise AssertionError(f"nobody is to be asked: {prompt}")


def scorer_of(name: str) -> Any:
    return MASTRA_SCORERS[name].factory(silent, GIVEN.get(name))


class ImaginingAsker(DryAsker):
    """Replies as imagined, which have to pass the checks and the way through JSON."""

    def __init__(self) -> None:
        super().__init__(PromptStyle())
        self.prompts: list[str] = []
        self.steps: list[Step[Any]] = []

    async def ask(
        self,
        step: Step[Reply],
        fields: Fields,
        tally: Tally,
        check: Callable[[Reply], str | None] | None = None,
    ) -> Asked[Reply]:
        asked = await super().ask(step, fields, tally)
        assert asked.prompt is not None
        self.prompts.append(asked.prompt)
        self.steps.append(step)
        value = msgspec.json.decode(msgspec.json.encode(asked.value), type=step.shape)
        assert check is None or check(value) is None
        return Asked(value, asked.prompt)


def scored(name: str, **options: Any) -> tuple[MastraResult, ImaginingAsker, Tally]:
    asker, tally = ImaginingAsker(), Tally()
    result = asyncio.run(scorer_of(name).score(asker, RUN, tally, **options))
    return result, asker, tally


# ---------------------------------------------------------------------------------------- dry runs


@every_row("name", MASTRA_SCORERS)
def test_imagined_replies_can_be_scored(name: str) -> None:
    result, asker, tally = scored(name)
    spec = MASTRA_SCORERS[name]
    assert result.score is not None
    assert 0 <= result.score <= 1
    assert tally.llm_calls == spec.n_calls
    assert {step.name for step in asker.steps} <= {step.name for step in spec.steps}
    assert result.reason


@every_row("name", MASTRA_SCORERS)
def test_a_score_without_a_reason_is_the_same_for_fewer_calls(name: str) -> None:
    spec = MASTRA_SCORERS[name]
    result, _, tally = scored(name, with_reason=False)
    assert result.score == scored(name)[0].score
    assert tally.llm_calls == spec.n_calls - spec.n_reason_calls
    assert result.generate_reason_prompt is None


@every_row("name", MASTRA_SCORERS)
def test_the_form_of_a_reply_is_what_is_read(name: str) -> None:
    for step in MASTRA_SCORERS[name].steps:
        msgspec.convert(json.loads(step.template.reply_form), step.shape)
        assert step.schema["required"][0] == "mark"


def test_every_prompt_belongs_to_a_step() -> None:
    folder = resources.files("rag_eval.judge") / "prompts" / "mastra"
    files = {f"mastra/{path.name.removesuffix('.md')}" for path in folder.iterdir()}
    assert files == {step.name for spec in MASTRA_SCORERS.values() for step in spec.steps}


# --------------------------------------------------------------------------- what each call can see

SEEN = {
    "mastra.answer_relevancy": ["ANSWER", "QUESTION ANSWER", "QUESTION ANSWER"],
    # The lists are imagined from the texts; the comparison sees no text as a whole.
    "mastra.answer_similarity": ["ANSWER TRUTH", "ANSWER TRUTH", "ANSWER TRUTH"],
    "mastra.faithfulness": ["ANSWER", "ANSWER CHUNK", "QUESTION ANSWER CHUNK"],
    "mastra.hallucination": ["ANSWER", "ANSWER CHUNK", "QUESTION ANSWER CHUNK"],
    "mastra.bias": ["ANSWER", "ANSWER", ""],
    "mastra.toxicity": ["QUESTION ANSWER", ""],
    "mastra.context_precision": ["QUESTION ANSWER CHUNK", "QUESTION ANSWER CHUNK"],
    "mastra.context_relevance": ["QUESTION ANSWER CHUNK", "QUESTION"],
    "mastra.noise_sensitivity": ["QUESTION ANSWER BASELINE NOISY", "QUESTION"],
    # The requirements are imagined from the prompts.
    "mastra.prompt_alignment": ["SYSTEM QUESTION ANSWER", "SYSTEM QUESTION"],
    "mastra.tool_call_accuracy_llm": ["QUESTION ANSWER TOOL MAIL", "QUESTION TOOL"],
    "mastra.context_recall": ["TRUTH", "CHUNK TRUTH", "CHUNK TRUTH"],
    "mastra.rubric": ["QUESTION ANSWER CRITERION"],
    "mastra.summarization": ["QUESTION ANSWER", "QUESTION ANSWER", "QUESTION ANSWER"],
    "mastra.multi_turn_judge": ["ANSWER CRITERION"],
    "mastra.trajectory_accuracy_llm": [
        "QUESTION ANSWER TOOL ARGS RESULT EXPECTED",
        "QUESTION TOOL ARGS RESULT",
    ],
}


@every_row("name", MASTRA_SCORERS)
def test_a_call_sees_what_it_is_to_judge_and_no_more(name: str) -> None:
    _, asker, _ = scored(name)
    found = [" ".join(word for word in WORDS if word in prompt) for prompt in asker.prompts]
    assert found == SEEN[name]


def test_the_coverage_of_a_summary_is_judged_without_its_source() -> None:
    found = {"alignment": [{"claim": "c", "supported": True, "reason": "r"}], "questions": ["q?"]}
    covered = {"coverage": [{"question": "q?", "answered": True, "reason": "r"}]}
    asker = ScriptedAsker([found, covered, {"reason": "r"}])
    asyncio.run(scorer_of("mastra.summarization").score(asker, RUN))
    assert ["QUESTION" in prompt for prompt in asker.prompts] == [True, False, True]


def test_all_turns_of_an_assistant_are_judged() -> None:
    output = [{"role": "assistant", "text": text} for text in ("FIRST", "", "SECOND")]
    asker = ScriptedAsker([{"satisfied": True, "reasoning": ""}])
    asyncio.run(scorer_of("mastra.multi_turn_judge").score(asker, {"output": output}))
    assert "FIRST" in asker.prompts[0]
    assert "SECOND" in asker.prompts[0]


# ----------------------------------------------------------------------------------------- results


def test_a_result_has_the_names_of_mastra() -> None:
    run = {**RUN, "runId": "run-1"}
    asker = ScriptedAsker(
        [
            {"claims": ["c"]},
            {"verdicts": [{"verdict": "Yes ", "reason": "r"}]},
            {"reason": "all of it holds"},
        ]
    )
    result = asyncio.run(scorer_of("mastra.faithfulness").score(asker, run))
    found = result.to_dict()
    assert found.pop("preprocessPrompt") == asker.prompts[0]
    assert found.pop("analyzePrompt") == asker.prompts[1]
    assert found.pop("generateReasonPrompt") == asker.prompts[2]
    assert found == {
        "input": RUN["input"],
        "output": RUN["output"],
        "groundTruth": "TRUTH",
        "expectedTrajectory": RUN["expectedTrajectory"],
        "runId": "run-1",
        "score": 1.0,
        "reason": "all of it holds",
        "preprocessStepResult": {"claims": ["c"]},
        "analyzeStepResult": {"verdicts": [{"verdict": "Yes ", "reason": "r"}]},
    }


def test_a_run_without_an_id_gets_one_of_its_own() -> None:
    first, second = scored("mastra.bias")[0].run_id, scored("mastra.bias")[0].run_id
    assert first != second
    assert len(first) == 36


def test_a_null_score_says_why() -> None:
    asker = ScriptedAsker([{"claims": []}])
    found = asyncio.run(scorer_of("mastra.faithfulness").score(asker, RUN)).to_dict()
    assert found["score"] is None
    assert found["nullReason"] == "nothing_to_measure"
    assert found["message"] == "the answer makes no claims"
    assert "reason" not in found


def test_a_score_stands_without_its_reason() -> None:
    verdicts = {"verdicts": [{"verdict": "no", "reason": "r"}]}
    asker = ScriptedAsker([verdicts, "no JSON", "still none"])
    result = asyncio.run(scorer_of("mastra.toxicity").score(asker, RUN))
    assert result.score == 0
    assert result.reason is None
    assert result.message.startswith("no reason: ")


def test_verdicts_on_chunks_are_given_in_rank_order() -> None:
    verdicts = [
        {"context_index": index, "verdict": "yes", "reason": f"r{index}"} for index in (1, 0)
    ]
    asker = ScriptedAsker([{"verdicts": verdicts}, {"reason": "r"}])
    result = asyncio.run(
        scorer_of("mastra.context_precision").score(asker, {**RUN, "contexts": ["a", "b"]})
    )
    assert result.analyze_result == {"verdicts": verdicts[::-1]}


def test_a_failed_judgement_is_no_score() -> None:
    refused = JudgeFailure("refused", "the judge refused")
    with pytest.raises(JudgeFailure, match="refused"):
        asyncio.run(scorer_of("mastra.toxicity").score(ScriptedAsker([refused]), RUN))


def test_verdicts_that_are_missing_are_asked_for_once_more() -> None:
    one = {"verdict": "yes", "reason": "r"}
    asker = ScriptedAsker(
        [{"claims": ["a", "b"]}, {"verdicts": [one]}, {"verdicts": [one, one]}, {"reason": "r"}]
    )
    tally = Tally()
    result = asyncio.run(scorer_of("mastra.faithfulness").score(asker, RUN, tally))
    assert result.score == 1
    assert tally.parse_failures == 1
    assert '"verdicts" must have 2 entries, one for each item, and has 1' in asker.prompts[2]


@every_row(
    ("name", "run", "missing"),
    [
        ("mastra.noise_sensitivity", {"input": "q", "output": ""}, "that say something"),
        ("mastra.prompt_alignment", {"input": "q", "output": "a"}, "needs a system prompt"),
        ("mastra.tool_call_accuracy_llm", {"input": "q"}, "messages in input and in output"),
        ("mastra.context_precision", {"input": "q", "output": "a"}, "no contexts"),
        ("mastra.answer_similarity", {"input": "q", "output": "a"}, "needs a ground truth"),
    ],
)
def test_a_run_that_lacks_what_is_read_is_an_error(
    name: str, run: dict[str, Any], missing: str
) -> None:
    with pytest.raises(RunError, match=missing):
        asyncio.run(scorer_of(name).score(ImaginingAsker(), run))


UNITS = {"outputUnits": ["o"], "groundTruthUnits": ["g"]}
EXACT = {"groundTruthUnit": "g", "outputUnit": "o", "matchType": "exact", "explanation": "e"}


@every_row(
    ("name", "options", "replies"),
    [
        (
            "answer_similarity",
            {"require_ground_truth": False},
            [UNITS, {"matches": [EXACT], "extraInOutput": [], "contradictions": []}],
        ),
        (
            "context_recall",
            {"context": ["c"]},
            [{"claims": ["c"]}, {"verdicts": [{"verdict": "yes", "reason": "r"}]}],
        ),
    ],
)
def test_a_run_without_ground_truth_scores_0_whatever_the_judge_says(
    name: str, options: dict[str, Any], replies: list[Any]
) -> None:
    """As in the package, which asks all the same."""
    scorer = MASTRA_SCORERS[f"mastra.{name}"].create(silent, options)
    asker = ScriptedAsker([*replies, {"reason": "r"}])
    result = asyncio.run(scorer.score(asker, {"input": "q", "output": "a"}))
    assert result.score == 0
    assert len(asker.prompts) == 3


def test_the_context_of_hallucination_can_be_got_for_each_step() -> None:
    steps: list[tuple[str, float | None, bool]] = []

    async def get_context(*, run: Any, results: Any, step: str, score: float | None) -> list[str]:
        steps.append((step, score, "analyzeStepResult" in results))
        assert run is RUN
        return ["DYNAMIC"]

    scorer = mastra.create_hallucination_scorer(silent, context=["STATIC"], get_context=get_context)
    verdict = {"statement": "c", "verdict": "yes", "reason": "r"}
    asker = ScriptedAsker([{"claims": ["c"]}, {"verdicts": [verdict]}, {"reason": "r"}])
    assert asyncio.run(scorer.score(asker, RUN)).score == 1
    assert steps == [("analyze", None, False), ("generateReason", 1.0, True)]
    assert all("DYNAMIC" in prompt and "STATIC" not in prompt for prompt in asker.prompts[1:])


def rubric_reply(*satisfied: bool) -> dict[str, Any]:
    met = [
        {"criterion": "k", "satisfied": each, "required": False, "reasoning": "r"}
        for each in satisfied
    ]
    return {"criteria": met, "overallAssessment": "o"}


def test_the_rubric_and_not_the_judge_says_what_is_required() -> None:
    rubric = [{"description": "a"}, {"description": "b", "required": False}]
    scorer = mastra.create_rubric_scorer(silent, criteria=rubric)
    unmet = asyncio.run(scorer.score(ScriptedAsker([rubric_reply(False, True)]), RUN))
    assert unmet.score == 0
    assert unmet.reason is not None
    assert "unmet (required): a" in unmet.reason
    assert "that are unmet: 1." in unmet.reason
    met = asyncio.run(scorer.score(ScriptedAsker([rubric_reply(True, False)]), RUN))
    assert met.score == 1


def test_prose_may_be_cut_otherwise_than_by_lines() -> None:
    scorer = mastra.create_rubric_scorer(silent, criteria="has a title\nand a date,\nand a name")
    asker = ScriptedAsker([rubric_reply(True, True)])
    met = asyncio.run(scorer.score(asker, RUN))
    assert met.score == 1.0
    unmet = asyncio.run(scorer.score(ScriptedAsker([rubric_reply(True, False)]), RUN))
    assert unmet.score == 0.0
    assert "Required criteria that are unmet: 1." in (unmet.reason or "")
    with pytest.raises(JudgeFailure):
        asyncio.run(scorer.score(ScriptedAsker([rubric_reply(), rubric_reply()]), RUN))


def test_every_entry_of_a_list_of_criteria_is_graded() -> None:
    rubric = [{"description": "a"}, {"description": "b"}, {"description": "c"}]
    scorer = mastra.create_rubric_scorer(silent, criteria=rubric)
    with pytest.raises(JudgeFailure) as caught:
        asyncio.run(scorer.score(ScriptedAsker([rubric_reply(True, True)] * 2), RUN))
    assert caught.value.kind == "incomplete"


# ---------------------------------------------------------------------------------------- registry


def test_the_registry_knows_what_is_given() -> None:
    given = {name for name, spec in MASTRA_SCORERS.items() if spec.metric.required_options}
    assert given == GIVEN.keys() - {"mastra.rubric", "mastra.prompt_alignment"}
    lower = {name for name, spec in MASTRA_SCORERS.items() if not spec.metric.higher_is_better}
    assert lower == {"mastra.hallucination", "mastra.bias", "mastra.toxicity"}
    assert MASTRA_SCORERS["mastra.faithfulness"].metric.options == {"context": "run", "scale": 1.0}
    assert set(MASTRA_SCORERS) <= set(known_metric_ids())


def is_made_of_plain_samples(spec: MastraSpec) -> bool:
    return not spec.metric.required_options and "messages" not in spec.metric.fields


@every_row(
    "name", [name for name, spec in MASTRA_SCORERS.items() if is_made_of_plain_samples(spec)]
)
def test_a_plain_sample_is_all_that_is_needed(name: str) -> None:
    sample = EvalSample(question="q?", answer="An answer.", contexts=["c"], ground_truth="Truth.")
    fields = MASTRA_SCORERS[name].metric.fields
    plain = {field: value for field, value in sample.to_dict().items() if field in fields}
    if "ground_truth" in fields:
        plain["ground_truth"] = sample.ground_truth
    scorer = MASTRA_SCORERS[name].factory(silent)
    result = asyncio.run(scorer.score(ImaginingAsker(), run_of_sample(plain)))
    assert result.score is not None


# ------------------------------------------------------------------------------------- real judges


def judge(prompt: str) -> str:
    """Says yes to the one claim there is."""
    if '"claims": ["..."' in prompt:
        return reply_with(prompt, claims=["c"])
    if '"verdicts"' in prompt:
        return reply_with(prompt, verdicts=[{"verdict": "yes", "reason": "r"}])
    return reply_with(prompt, reason="as it is")


def test_a_scorer_asks_its_own_judge() -> None:
    scorer = mastra.create_faithfulness_scorer(judge, context=["c"], scale=5)
    result = scorer.run(RUN)
    assert (result.score, result.reason) == (5.0, "as it is")


def test_a_scorer_can_be_run_inside_of_a_running_loop() -> None:
    async def inside() -> tuple[float | None, float | None]:
        scorer = mastra.create_faithfulness_scorer(judge, context=["c"])
        return scorer.run(RUN).score, (await scorer.arun(RUN)).score

    assert asyncio.run(inside()) == (1.0, 1.0)


def test_a_model_that_is_no_address_is_refused() -> None:
    with pytest.raises(InputError, match="judge"):
        mastra.create_faithfulness_scorer("no such judge").run(RUN)
