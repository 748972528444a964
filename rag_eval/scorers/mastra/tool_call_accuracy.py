"""Tool call accuracy: question, tools and calls -> share of the calls that were right to make."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from rag_eval.errors import InputError, glance
from rag_eval.judge.metrics.imagining import texts_of
from rag_eval.judge.steps import Fields, Step
from rag_eval.scorers.mastra.imagined import NOTE
from rag_eval.scorers.mastra.options import settings_of
from rag_eval.scorers.mastra.runs import Run, RunError, assistant_text, tool_calls, user_text
from rag_eval.scorers.mastra.scorer import Interview, MastraScorer, Model, Options, reason_step
from rag_eval.scorers.mastra.verdicts import share_of, shown

ID: Final = "mastra.tool_call_accuracy_llm"


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
    """The tools that there were: mappings of ``id`` or ``name``, and ``description``."""

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
    """Share of the calls that were right; without calls 0 where a tool is missing, else 1.

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


def _imagined(fields: Fields) -> CallVerdicts:
    return CallVerdicts([CallVerdict(n, True, NOTE) for n in texts_of(fields, "calls")])


_ANALYZE: Final = Step("mastra/tool_call_accuracy_analyze", CallVerdicts, _imagined)
_REASON: Final = reason_step("tool_call_accuracy")
STEPS: Final = (_REASON, _ANALYZE)


async def _judged(interview: Interview, run: Run, settings: ToolCallAccuracyOptions) -> float:
    if not run.input or not run.output:
        raise RunError("mastra.tool_call_accuracy_llm needs messages in input and in output")
    question = user_text(run)
    calls = [call.name for call in tool_calls(run)]
    tools = [
        f"{_tool_name(tool)}: {tool.get('description', '')}" for tool in settings.available_tools
    ]
    analyzed = await interview.analyze(
        _ANALYZE,
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
        "score": shown(score),
    }
    await interview.explain(_REASON, fields)
    return score


def create_tool_call_accuracy_scorer_llm(
    model: Model, options: Options = None, **more: Any
) -> MastraScorer[ToolCallAccuracyOptions]:
    """Share of the tool calls that were right to make; 2 calls, 0 to 1, higher is better.

    Parameters
    ----------
    model : callable or str
        The judge, or its address.
    available_tools : list of mapping
        The tools there were: ``{"id": ..., "description": ...}``.
    """
    settings = settings_of(ToolCallAccuracyOptions, ID, options, more)
    return MastraScorer(ID, model, settings, _judged)
