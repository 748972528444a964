"""Tool call accuracy without a judge: names of the tools called -> 1 if they are right, else 0.

The rules are those of @mastra/evals, with one difference: the lenient order is kept where the
expected names occur among the calls in their order, whatever is between. There only the first call
of each tool counts, so that a tool that is expected twice is never found; its newer check
``toolOrder`` counts as it is done here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from rag_eval.errors import InputError
from rag_eval.metrics.contract import Fields, Metric, Scored, Scorer
from rag_eval.metrics.findings_column import RowScore, column_of
from rag_eval.samples import NullReason
from rag_eval.scorers.mastra.options import check_flags, settings_of
from rag_eval.scorers.mastra.runs import Run, RunError
from rag_eval.scorers.mastra.scorer import CodeScorer, Finding, Findings, Options
from rag_eval.scorers.tool_calls import (
    CALL_FIELDS,
    EXPECTED,
    NO_CALLS,
    UNWRITTEN,
    check,
    names_called,
    names_expected,
)

ID: Final = "mastra.tool_call_accuracy"

_NO_CALLS_EXPECTED: Final = "No call is expected, but calls are allowed unless strict_mode is set."


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCallExpectation:
    """The tool, or the tools in their order, that should have been called.

    Attributes
    ----------
    expected_tool : str or None
    expected_tool_order : sequence of str or None
        Goes before ``expected_tool``, unless it is empty.
    strict_mode : bool
        No other calls are allowed.
    """

    expected_tool: str | None = None
    expected_tool_order: Sequence[str] | None = None
    strict_mode: bool = False

    def __post_init__(self) -> None:
        tool, order = self.expected_tool, self.expected_tool_order
        if tool is not None and not isinstance(tool, str):
            raise InputError(f"expected_tool must be a name, got {type(tool).__name__}")
        listed = order is None or isinstance(order, (list, tuple))
        if not listed or not all(isinstance(name, str) for name in order or ()):
            raise InputError("expected_tool_order must be a list of names")
        check_flags(self, "strict_mode")

    @property
    def says_nothing(self) -> bool:
        """Whether neither a tool nor an order is given."""
        return not self.expected_tool and self.expected_tool_order is None


@dataclass(frozen=True, slots=True)
class ToolCallInfo(Findings):
    """One call: its tool and id, its message, and its place among the calls of that message.

    A call without an id gets its two places as id: ``"0-1"``.
    """

    tool_name: str
    tool_call_id: str
    message_index: int
    invocation_index: int


def tool_call_infos(run: Run) -> list[ToolCallInfo]:
    """The calls of a run in order, but those that were never completed."""
    return [
        ToolCallInfo(
            call.name,
            call.id or f"{message_index}-{invocation_index}",
            message_index,
            invocation_index,
        )
        for message_index, message in enumerate(run.output)
        for invocation_index, call in enumerate(message.tool_calls)
        if call.state != UNWRITTEN
    ]


def tool_called(names: Sequence[str], wanted: ToolCallExpectation) -> bool:
    """Whether the tool was called, and in strict mode nothing else."""
    if not wanted.expected_tool:
        return False
    if wanted.strict_mode:
        return len(names) == 1 and names[0] == wanted.expected_tool
    return wanted.expected_tool in names


def order_kept(names: Sequence[str], order: Iterable[str], *, strict: bool) -> bool:
    """Whether the calls are these; or, where not strict, hold these in their order."""
    if strict:
        return list(names) == list(order)
    rest = iter(names)
    return all(name in rest for name in order)


def tool_call_accuracy_score(names: Sequence[str], wanted: ToolCallExpectation) -> float:
    """1 or 0; no calls score 0, and so does an expectation that says nothing."""
    if not names:
        return 0.0
    if wanted.expected_tool_order:
        kept = order_kept(names, wanted.expected_tool_order, strict=wanted.strict_mode)
        return float(kept)
    return float(tool_called(names, wanted))


def _found(run: Run, wanted: ToolCallExpectation) -> Finding:
    if not run.input or not run.output:
        raise RunError(f"{ID} needs messages in input and in output")
    infos = tool_call_infos(run)
    names = [info.tool_name for info in infos]
    order = wanted.expected_tool_order
    result = {
        "expectedTool": wanted.expected_tool,
        "expectedToolOrder": None if order is None else list(order),
        "strictMode": wanted.strict_mode,
        "actualTools": names,
        "hasToolCalls": bool(names),
        "correctToolCalled": tool_called(names, wanted),
        "correctOrderCalled": None
        if order is None
        else order_kept(names, order, strict=wanted.strict_mode),
        "toolCallInfos": [info.to_dict() for info in infos],
    }
    return Finding(tool_call_accuracy_score(names, wanted), result)


def create_tool_call_accuracy_scorer_code(options: Options = None, **more: Any) -> CodeScorer:
    """Whether the right tools were called; 0 or 1, no judge, higher is better.

    Parameters
    ----------
    options : mapping, optional
        Options in snake_case or camelCase.
    expected_tool : str, optional
        The expected tool.
    expected_tool_order : list of str, optional
        The expected tools in order; takes precedence. An empty list scores 0, because no tool is
        expected.
    strict_mode : bool, default False
        If true, no other calls are allowed.

    Raises
    ------
    InputError
        If neither a tool nor an order is given.
    """
    wanted = settings_of(ToolCallExpectation, ID, options, more)
    if wanted.says_nothing:
        raise InputError(f"{ID} needs expected_tool or expected_tool_order")
    return CodeScorer(ID, wanted, _found)


# ----------------------------------------------------------------------------------------- samples


def _tool_call_accuracy(
    expected_tool: str | None = None,
    expected_tool_order: Sequence[str] | None = None,
    strict_mode: bool = False,
) -> Scorer:
    wanted = ToolCallExpectation(
        expected_tool=expected_tool,
        expected_tool_order=expected_tool_order,
        strict_mode=strict_mode,
    )

    def row_score(fields: Fields) -> RowScore:
        names = names_called(fields)
        if wanted.says_nothing and EXPECTED not in fields:
            return NullReason.MISSING_FIELD
        order = names_expected(fields) if wanted.says_nothing else expected_tool_order
        if names is None:
            return NullReason.MISSING_FIELD
        return _calls_score(names, order, wanted)

    def score(fields: Fields) -> Scored:
        return _calls_scored(fields, wanted, row_score(fields))

    return Scorer(score, lambda rows: column_of(rows, row_score))


def _calls_score(
    names: Sequence[str], order: Sequence[str] | None, wanted: ToolCallExpectation
) -> RowScore:
    if not order:
        if wanted.expected_tool:
            return tool_call_accuracy_score(names, wanted)
        # A list without names says that no tool is to be called, and only strictly is that a rule.
        return float(not names) if wanted.strict_mode else NullReason.NOTHING_TO_MEASURE
    return float(order_kept(names, order, strict=wanted.strict_mode))


def _calls_scored(fields: Fields, wanted: ToolCallExpectation, found: RowScore) -> Scored:
    names = names_called(fields)
    if names is None:
        return NO_CALLS
    if found is NullReason.MISSING_FIELD:
        return Scored(None, found, "No expected tool calls given.")
    if isinstance(found, NullReason):
        return Scored(None, found, _NO_CALLS_EXPECTED)
    order = names_expected(fields) if wanted.says_nothing else wanted.expected_tool_order
    expected = list(order or ([wanted.expected_tool] if wanted.expected_tool else []))
    only = " and no other" if wanted.strict_mode else ""
    kept = "were called" if found else "were not called"
    explanation = f"The expected tools{only}, in their order, {kept}."
    details = [check("tool_calls", bool(found), expected, names)]
    return Scored(found, NullReason.MEASURED, explanation, details)


METRICS: Final = (
    Metric(
        id=ID,
        summary="1 if the expected tool, or the expected tools in order, were called, else 0",
        create=_tool_call_accuracy,
        fields=(),
        optional=(*CALL_FIELDS, EXPECTED),
        options={"expected_tool": None, "expected_tool_order": None, "strict_mode": False},
        cost="python",
        source="@mastra/evals 1.1.1, with a true order test",
        null_when="no calls given, or none expected",
        version=2,
    ),
)
