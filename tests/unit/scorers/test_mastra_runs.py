"""Runs of Mastra's scorers: how messages are read, what is read from them, options."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from rag_eval.errors import InputError
from rag_eval.samples import EvalSample, NullReason
from rag_eval.scorers.mastra import (
    create_answer_similarity_scorer,
    create_bias_scorer,
    create_summarization_scorer,
    create_tool_call_accuracy_scorer_code,
    extract_input_messages,
    get_reasoning_from_run_output,
)
from rag_eval.scorers.mastra.chunks import ContextRelevanceOptions
from rag_eval.scorers.mastra.options import context_or_tools, extracted, settings_of
from rag_eval.scorers.mastra.runs import (
    RunError,
    assistant_text,
    assistant_texts,
    ground_truth_text,
    run_of,
    run_of_sample,
    system_prompt,
    tool_calls,
    tool_results,
    user_text,
)
from tests.tables import every_row


def part(**invocation: Any) -> dict[str, Any]:
    return {"type": "tool-invocation", "toolInvocation": invocation}


# ------------------------------------------------------------------------------------------- texts


@every_row(
    "given",
    [
        "When?",
        {"prompt": "When?"},
        {"text": "When?"},
        {"content": "When?"},
        {"messages": [{"role": "user", "content": "When?"}]},
        {"inputMessages": [{"role": "user", "content": "When?"}]},
        {"input_messages": [{"role": "user", "text": "When?"}]},
        [{"role": "user", "content": [{"type": "text", "text": "When?"}]}],
        [{"role": "user", "parts": ["Well", "When?"]}],
        [{"role": "user", "content": {"format": 2, "content": "When?", "parts": ["x"]}}],
        [{"role": "assistant", "text": "Hello"}, {"role": "user", "text": "When?"}],
    ],
)
def test_the_question_is_read_from_any_shape(given: object) -> None:
    assert user_text(run_of({"input": given})) == "When?"


def test_the_first_user_message_and_the_last_assistant_message_that_says_something_count() -> None:
    run = run_of(
        {
            "input": [{"role": "user", "text": "one"}, {"role": "user", "text": "two"}],
            "output": [
                {"role": "assistant", "text": "let me check"},
                {"role": "assistant", "text": "at seven"},
                {"role": "assistant", "text": "  "},
                {"role": "tool", "text": "raw"},
            ],
        }
    )
    assert user_text(run) == "one"
    assert extract_input_messages(run.source["input"]) == ["one", "two"]
    assert assistant_text(run) == "at seven"
    assert assistant_texts(run) == ["let me check", "at seven"]


def test_system_prompts_are_no_input_messages() -> None:
    given = {
        "inputMessages": [{"role": "system", "text": "c"}, {"role": "user", "text": "q"}],
        "systemMessages": [{"role": "system", "content": "a"}],
        "taggedSystemMessages": {"memory": [{"role": "system", "content": "b"}]},
    }
    run = run_of({"input": given})
    assert system_prompt(run) == "a\n\nb\n\nc"
    assert extract_input_messages(run.source["input"]) == ["q"]


def test_reasoning_is_read_from_the_message_or_from_its_parts() -> None:
    parts = [{"type": "reasoning", "text": "first"}, {"type": "reasoning", "reasoning": "then"}]
    run = run_of(
        {
            "output": [
                {"role": "assistant", "text": "a", "reasoning": "own"},
                {"role": "assistant", "content": {"parts": parts}},
            ]
        }
    )
    assert get_reasoning_from_run_output(run.source["output"]) == "own\nfirst\nthen"


def test_a_missing_text_is_empty() -> None:
    run = run_of({"input": None, "output": []})
    assert (user_text(run), assistant_text(run), system_prompt(run)) == ("", "", "")


@every_row(
    ("run", "message"),
    [
        ("text", "a run must be a mapping, got str"),
        ({"input": 3}, "input must be a list of messages, got int"),
        ({"output": ["x"]}, r"output\[0\] must be a mapping, got str"),
        ({"output": [{"text": "x"}]}, "must have a role"),
        ({"output": [{"role": "assistant", "tool_calls": [{"id": "1"}]}]}, "has no name"),
        (
            {"output": [{"role": "a", "tool_calls": [{"tool": "t", "state": "x"}]}]},
            "the state of a tool call",
        ),
        ({"output": [{"role": "a", "parts": 3}]}, r"output\[0\]: parts must be a list, got int"),
        (
            {"output": [{"role": "a", "tool_calls": {"x": 1}}]},
            "tool_calls must be a list, got dict",
        ),
        ({"trajectory": [1]}, "trajectory must be a mapping, got list"),
        (
            {"input": {"inputMessages": [], "taggedSystemMessages": [1]}},
            "must be a mapping, got list",
        ),
        ({"contexts": "one"}, "contexts of a run must be a list of strings"),
    ],
)
def test_a_run_of_another_shape_is_refused(run: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        run_of(run)


# ------------------------------------------------------------------------------------------- tools


def test_calls_are_merged_from_the_list_and_the_parts_of_a_message() -> None:
    stored = {
        "role": "assistant",
        "content": {
            "parts": [part(toolName="b", toolCallId="2", args={}, state="result", result="part")],
            "toolInvocations": [
                {"toolName": "a", "toolCallId": "1", "state": "call"},
                {"toolName": "b", "toolCallId": "2", "state": "result", "result": "listed"},
                {"toolName": "c", "toolCallId": "3", "state": "partial-call"},
            ],
        },
    }
    run = run_of({"output": [stored]})
    assert [(call.name, call.result) for call in tool_calls(run)] == [("a", None), ("b", "part")]
    assert [call.name for call in tool_results(run)] == ["b"]


@every_row(
    ("listed", "in_parts", "called"),
    [
        (["search"], ["c"], "c search"),
        (["a", "b"], ["c", "d"], "c d a b"),
        (["a", "s", "b"], ["c", "s", "d"], "c a s d b"),
        (["a", "s", "b", "t"], ["s", "c", "t"], "a s c b t"),
        # In another order than the parts: what is shared holds back nothing more.
        (["s", "a", "t"], ["t", "c", "s"], "a t c s"),
        (["t", "a", "s", "b"], ["s", "t"], "a s t b"),
        (["a", "s", "b", "s"], ["s"], "a b s"),
        ([None, "s", None], ["c", "s"], "c None s None"),
        (["s"], ["s", "s"], "s s"),
        (["a"], [None], "None a"),
        ([], ["c"], "c"),
        (["a", "b"], [], "a b"),
    ],
)
def test_calls_that_are_only_listed_come_before_the_next_that_is_shared_or_last(
    listed: list[str | None], in_parts: list[str | None], called: str
) -> None:
    """Regression: those of the list came first, which decides ``expectedToolOrder``."""

    def invocation(name: str | None) -> dict[str, Any]:
        return {"toolName": str(name), "toolCallId": name, "state": "result", "result": 1}

    parts = [part(**invocation(name)) for name in in_parts]
    content = {"parts": parts, "toolInvocations": list(map(invocation, listed))}
    run = {"input": "q", "output": [{"role": "assistant", "content": content}]}
    assert " ".join(call.name for call in tool_calls(run_of(run))) == called
    in_order = create_tool_call_accuracy_scorer_code(
        expected_tool_order=called.split(" "), strict_mode=True
    )
    assert in_order.run(run).score == 1


def test_the_answer_of_a_tool_finishes_the_call_that_a_server_logged() -> None:
    logged = {"id": "7", "type": "function"}
    function = {"name": "price", "arguments": '{"of": "ferry"}'}
    run = run_of(
        {
            "output": [
                {
                    "role": "assistant",
                    "content": None,
                    "tool_calls": [{**logged, "function": function}],
                },
                {"role": "tool", "tool_call_id": "7", "content": "4 EUR"},
            ]
        }
    )
    (call,) = tool_results(run)
    assert (call.name, call.args, call.result) == ("price", {"of": "ferry"}, "4 EUR")


def test_a_call_that_no_tool_answered_has_no_result() -> None:
    call = {"id": "7", "type": "function", "function": {"name": "price", "arguments": "{}"}}
    run = run_of({"output": [{"role": "assistant", "tool_calls": [call]}]})
    assert [found.state for found in tool_calls(run)] == ["call"]
    assert tool_results(run) == []


def test_results_of_tools_are_the_context_where_nothing_else_is() -> None:
    calls = [{"tool": "price", "result": {"eur": 4}}, {"tool": "wait", "state": "call"}]
    output = [{"role": "assistant", "text": "4", "tool_calls": calls}]
    assert context_or_tools(None, run_of({"output": output})) == ['{"eur": 4}']
    assert context_or_tools(None, run_of({"output": output, "contexts": ["c"]})) == ["c"]
    assert context_or_tools([], run_of({"output": output, "contexts": ["c"]})) == []


def test_an_extractor_may_have_to_be_waited_for() -> None:
    async def later(given: Any, output: Any) -> list[str]:
        return [given, output]

    run = run_of({"input": "q", "output": "a"})
    assert asyncio.run(extracted(["static"], later, run)) == ["q", "a"]
    assert asyncio.run(extracted(["static"], lambda *_: ["now"], run)) == ["now"]


def test_a_run_without_contexts_cannot_give_them() -> None:
    with pytest.raises(RunError, match="no contexts") as caught:
        asyncio.run(extracted("run", None, run_of({"input": "q"})))
    assert caught.value.null_reason is NullReason.MISSING_FIELD


# ----------------------------------------------------------------------------------------- samples


def test_a_sample_becomes_a_run() -> None:
    sample = EvalSample(question="q", answer="a", contexts=["c"], ground_truth="t", id="7")
    assert run_of_sample(sample) == {
        "input": "q",
        "output": "a",
        "contexts": ["c"],
        "groundTruth": "t",
        "runId": "7",
    }
    assert run_of_sample({"question": "q", "groundTruth": ["t"]}) == {
        "input": "q",
        "groundTruth": "t",
    }


def test_an_empty_ground_truth_is_none() -> None:
    assert run_of_sample(EvalSample(answer="a", ground_truth="")) == {"output": "a"}


def test_several_ground_truths_are_refused() -> None:
    with pytest.raises(InputError, match="one ground_truth, got 2"):
        run_of_sample(EvalSample(answer="a", ground_truth=["s", "t"]))


def test_messages_and_tool_calls_of_a_sample_are_read() -> None:
    messages = [
        {"role": "system", "content": "be brief"},
        {"role": "user", "content": "When?"},
        {"role": "assistant", "content": "At seven."},
        {"role": "user", "content": "Sure?"},
        {"role": "assistant", "content": "Yes."},
    ]
    run = run_of(run_of_sample({"messages": messages}))
    assert system_prompt(run) == "be brief"
    assert user_text(run) == "When?"
    assert assistant_texts(run) == ["At seven.", "Yes."]
    called = run_of(run_of_sample({"question": "q", "answer": "a", "toolCalls": [{"tool": "t"}]}))
    assert [call.name for call in tool_calls(called)] == ["t"]
    assert assistant_text(called) == "a"


def test_a_ground_truth_that_is_no_text_is_read_as_json() -> None:
    assert ground_truth_text(run_of({"groundTruth": {"a": [1, "ä"]}})) == '{"a": [1, "ä"]}'
    assert ground_truth_text(run_of({})) is None


# ----------------------------------------------------------------------------------------- options


def silent(prompt: str) -> str:
    return prompt


def test_options_are_merged_over_the_defaults_in_either_spelling() -> None:
    given = {"exactMatchBonus": 0.5, "missing_penalty": 0.2}
    settings = create_answer_similarity_scorer(silent, given, scale=10).settings
    assert (settings.exact_match_bonus, settings.missing_penalty) == (0.5, 0.2)
    assert (settings.scale, settings.semantic_threshold) == (10, 0.8)


def test_nested_options_are_merged_too() -> None:
    penalties = {"unusedHighRelevanceContext": 0}
    given = {"context": ["c"], "penalties": penalties}
    settings = settings_of(ContextRelevanceOptions, "scorer", given)
    assert settings.penalties.unused_high_relevance_context == 0
    assert settings.penalties.missing_context_per_item == 0.15


def test_an_option_that_does_not_exist_is_an_error() -> None:
    with pytest.raises(TypeError, match="no option 'scael'; did you mean 'scale'"):
        create_bias_scorer(silent, scael=1)
    with pytest.raises(TypeError, match=r"penalties has no option 'unused'"):
        settings_of(ContextRelevanceOptions, "s", {"context": ["c"], "penalties": {"unused": 1}})


@every_row(
    ("scale", "message"),
    [
        (-1, "of at least 0"),
        (float("nan"), "finite"),
        (float("inf"), "finite"),
        (True, "must be a number, got bool"),
        ("1", "must be a number, got str"),
    ],
)
def test_a_scale_that_cannot_be_is_refused(scale: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        create_bias_scorer(silent, scale=scale)
    with pytest.raises(InputError, match=message):
        create_summarization_scorer(silent, scale=scale)


def test_a_scale_of_0_is_refused_where_the_package_takes_it_for_1() -> None:
    for create in (create_answer_similarity_scorer, create_summarization_scorer):
        assert create(silent, scale=0).settings.scale == 0
    with pytest.raises(InputError, match="scale must be above 0"):
        create_bias_scorer(silent, scale=0)


def test_an_option_given_twice_is_refused() -> None:
    with pytest.raises(InputError, match="'exact_match_bonus' is given twice"):
        create_answer_similarity_scorer(silent, {"exactMatchBonus": 1}, exact_match_bonus=2)
