"""Judged agents: their tool calls, and the steps that they took."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from rag_eval.errors import InputError, glance
from rag_eval.judge.metrics.imagining import texts_of
from rag_eval.judge.steps import Fields, Step
from rag_eval.scorers.mastra.judged import NEWER, judged_spec
from rag_eval.scorers.mastra.runs import (
    Run,
    RunError,
    assistant_text,
    json_text,
    tool_calls,
    user_text,
)
from rag_eval.scorers.mastra.scorer import Interview, MastraScorer, Model, Options, reason_step
from rag_eval.scorers.mastra.trajectory_steps import DEEPEST, steps_of, taken_steps
from rag_eval.scorers.mastra.verdicts import NOTE, REASON, share_of

# What identifies a step; the rest are times and counts.
_TOLD: Final = ("toolArgs", "toolResult", "args", "result", "output", "status", "success")


# ------------------------------------------------------------------------------ tool call accuracy


class CallVerdict(msgspec.Struct, rename="camel"):
    """Whether a call was right to make."""

    tool_called: str
    was_appropriate: bool
    reasoning: str


class CallVerdicts(msgspec.Struct, rename="camel"):
    """One verdict per call, and the tools that should have been called."""

    evaluations: list[CallVerdict]
    missing_tools: list[str] = []


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCallAccuracyOptions:
    """The available tools: mappings of ``id`` or ``name``, and ``description``."""

    available_tools: Sequence[Mapping[str, str]]

    def __post_init__(self) -> None:
        tools = self.available_tools
        if not isinstance(tools, (list, tuple)) or not all(_tool_name(tool) for tool in tools):
            raise InputError(
                f"available_tools must be a list of {{id, description}}, got {glance(tools)}"
            )


def _tool_name(tool: object) -> str | None:
    """The documentation of the scorer says ``name`` where its code reads ``id``."""
    name = (tool.get("id") or tool.get("name")) if isinstance(tool, Mapping) else None
    return name if isinstance(name, str) else None


def tool_call_accuracy_score(found: CallVerdicts) -> float:
    """Share of the calls that were right; without calls 0 if a tool is missing, else 1.

    Missing tools do not count where there was any call.
    """
    share = share_of(each.was_appropriate for each in found.evaluations)
    if share is None:
        return 0.0 if found.missing_tools else 1.0
    return share


def _verdicts_on_nothing(n_calls: int) -> Callable[[CallVerdicts], str | None]:
    def check(reply: CallVerdicts) -> str | None:
        if reply.evaluations and not n_calls:
            return '"evaluations" must be empty: no tool was called'
        return None

    return check


def _imagined_calls(fields: Fields) -> CallVerdicts:
    return CallVerdicts([CallVerdict(n, True, NOTE) for n in texts_of(fields, "calls")])


_CALLS: Final = Step("mastra/tool_call_accuracy_analyze", CallVerdicts, _imagined_calls)
_CALLS_REASON: Final = reason_step("tool_call_accuracy")


async def _calls_judged(interview: Interview, run: Run, settings: ToolCallAccuracyOptions) -> float:
    if not run.input or not run.output:
        raise RunError("mastra.tool_call_accuracy_llm needs messages in input and in output")
    question = user_text(run)
    calls = [call.name for call in tool_calls(run)]
    tools = [
        f"{_tool_name(tool)}: {tool.get('description', '')}" for tool in settings.available_tools
    ]
    analyzed = await interview.analyze(
        _CALLS,
        {"question": question, "answer": assistant_text(run), "calls": calls, "tools": tools},
        _verdicts_on_nothing(len(calls)),
    )
    score = tool_call_accuracy_score(analyzed)
    fields: Fields = {
        "question": question,
        "findings": [
            f"{each.tool_called}: {'right' if each.was_appropriate else 'wrong'} - {each.reasoning}"
            for each in analyzed.evaluations
        ],
        "missing_tools": analyzed.missing_tools,
    }
    return await interview.explained(_CALLS_REASON, score, fields)


TOOL_CALL_ACCURACY: Final = judged_spec(
    "mastra.tool_call_accuracy_llm",
    _calls_judged,
    ToolCallAccuracyOptions,
    (_CALLS_REASON, _CALLS),
    summary="Share of the tool calls that were appropriate",
    fields=("question", "answer"),
)


def create_tool_call_accuracy_scorer_llm(
    model: Model, options: Options = None, **more: Any
) -> MastraScorer:
    """Share of the tool calls that were appropriate; 2 calls, 0 to 1, higher is better.

    Parameters
    ----------
    model : callable or str
        The judge, or its address.
    available_tools : list of mapping
        The available tools: ``{"id": ..., "description": ...}``.
    """
    return TOOL_CALL_ACCURACY.create(model, options, **more)


# ----------------------------------------------------------------------------- trajectory accuracy


class StepVerdict(msgspec.Struct, rename="camel"):
    """Whether a step was needed and in order."""

    step_name: str
    was_necessary: bool
    was_in_order: bool
    reasoning: str


class TrajectoryVerdicts(msgspec.Struct, rename="camel"):
    """One verdict per step, and the steps that are missing or too many."""

    step_evaluations: list[StepVerdict]
    overall_assessment: str
    missing_steps: list[str] = []
    extra_steps: list[str] = []


@dataclass(frozen=True, slots=True, kw_only=True)
class TrajectoryAccuracyOptions:
    """The steps that are expected: a list, or ``{"steps": [...]}``."""

    expected_trajectory: Sequence[Mapping[str, Any]] | Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        steps_of(self.expected_trajectory, "expected_trajectory")


def trajectory_accuracy_score(found: TrajectoryVerdicts) -> float:
    """0.6 of the share of steps needed, 0.3 of that in order, less 0.1 of that missing.

    0.9 is the best where any step is judged. Without steps 0 where some are missing, 0.5 where
    some are too many, else 1.
    """
    n_steps, n_missing = len(found.step_evaluations), len(found.missing_steps)
    if not n_steps:
        return 0.0 if n_missing else 0.5 if found.extra_steps else 1.0
    needed = sum(each.was_necessary for each in found.step_evaluations)
    ordered = sum(each.was_in_order for each in found.step_evaluations)
    missing = n_missing / (n_steps + n_missing)
    score = needed / n_steps * 0.6 + ordered / n_steps * 0.3 - missing * 0.1
    return max(0.0, min(1.0, score))


def _told(steps: Sequence[Mapping[str, Any]], number: str = "") -> list[str]:
    """Steps in words, numbered; those within another one are indented below it."""
    if number.count(".") >= DEEPEST:
        raise InputError(f"steps are nested more than {DEEPEST} levels deep")
    lines = []
    for place, step in enumerate(steps, 1):
        own = f"{number}{place}."
        kind = step.get("stepType") or step.get("step_type")
        line = f"{'  ' * number.count('.')}{own} {step.get('name', 'unnamed')}"
        line += f" ({kind})" if kind else ""
        shown_fields = [f"{key}: {json_text(step[key])}" for key in _TOLD if key in step]
        lines.append("; ".join([line, *shown_fields]))
        lines += _told(steps_of(step.get("children"), "children of a step"), own)
    return lines


def _imagined_steps(fields: Fields) -> TrajectoryVerdicts:
    steps = texts_of(fields, "steps")
    return TrajectoryVerdicts([StepVerdict(step, True, True, NOTE) for step in steps], REASON)


_STEPS: Final = Step("mastra/trajectory_accuracy_analyze", TrajectoryVerdicts, _imagined_steps)
_STEPS_REASON: Final = reason_step("trajectory_accuracy")


async def _steps_judged(
    interview: Interview, run: Run, settings: TrajectoryAccuracyOptions
) -> float:
    question = user_text(run)
    expected = settings.expected_trajectory
    if expected is None:
        expected = run.expected_trajectory
    analyzed = await interview.analyze(
        _STEPS,
        {
            "question": question,
            "answer": assistant_text(run),
            "steps": _told(taken_steps(run)),
            "expected_steps": _told(steps_of(expected, "expected_trajectory")),
        },
    )
    score = trajectory_accuracy_score(analyzed)
    fields: Fields = {
        "question": question,
        "findings": [
            f"{each.step_name}: {'needed' if each.was_necessary else 'not needed'}, "
            f"{'in order' if each.was_in_order else 'out of order'} - {each.reasoning}"
            for each in analyzed.step_evaluations
        ],
        "missing_steps": analyzed.missing_steps,
        "extra_steps": analyzed.extra_steps,
    }
    return await interview.explained(_STEPS_REASON, score, fields)


TRAJECTORY_ACCURACY: Final = judged_spec(
    "mastra.trajectory_accuracy_llm",
    _steps_judged,
    TrajectoryAccuracyOptions,
    (_STEPS_REASON, _STEPS),
    summary="Whether an agent's steps were necessary and in order",
    fields=("question", "messages"),
    source=NEWER,
)


def create_trajectory_accuracy_scorer_llm(
    model: Model, options: Options = None, **more: Any
) -> MastraScorer:
    """Whether an agent's steps were necessary and in order; 2 calls, 0 to 0.9, higher is better.

    Parameters
    ----------
    model : callable or str
        The judge, or its address.
    expected_trajectory : list of mapping, optional
        The expected steps; None uses those of the run, if it has any.
    """
    return TRAJECTORY_ACCURACY.create(model, options, **more)
