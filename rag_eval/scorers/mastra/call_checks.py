"""Mastra's quick checks of calls of tools, on runs and on samples."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from rag_eval.errors import InputError, glance
from rag_eval.metrics.contract import Fields, Metric, Scored, Scorer
from rag_eval.metrics.findings_column import RowScore, column_of
from rag_eval.plumbing.checked_values import whole_from_zero
from rag_eval.samples import NullReason
from rag_eval.scorers.mastra.options import NoOptions, check_text
from rag_eval.scorers.mastra.runs import Run, tool_calls
from rag_eval.scorers.mastra.scorer import CodeScorer, Finding, code_metric
from rag_eval.scorers.mastra.text_checks import SOURCE, of_samples
from rag_eval.scorers.texts import cut
from rag_eval.scorers.tool_calls import (
    CALL_FIELDS,
    NO_CALLS,
    ToolCall,
    calls_made,
    names_called,
)

CALLED_TOOL: Final = "mastra.check_called_tool"
DID_NOT_CALL: Final = "mastra.check_did_not_call"
TOOL_ORDER: Final = "mastra.check_tool_order"
MAX_TOOL_CALLS: Final = "mastra.check_max_tool_calls"
USED_NO_TOOLS: Final = "mastra.check_used_no_tools"
NO_TOOL_ERRORS: Final = "mastra.check_no_tool_errors"

_FAILED_STATES: Final = ("call", "output-error")


# ----------------------------------------------------------------------------------------- options


@dataclass(frozen=True, slots=True, kw_only=True)
class NoCallOptions:
    """A tool that is not to be called.

    Attributes
    ----------
    name : str
    """

    name: str

    def __post_init__(self) -> None:
        check_text(self.name, "name")


@dataclass(frozen=True, slots=True, kw_only=True)
class CallOptions:
    """A tool that is to be called.

    Attributes
    ----------
    name : str
    times : int
        At least so often.
    """

    name: str
    times: int = 1

    def __post_init__(self) -> None:
        check_text(self.name, "name")
        whole_from_zero(self.times, "times")


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderOptions:
    """Tools that are to be called in this order.

    Attributes
    ----------
    names : sequence of str
    """

    names: Sequence[str]

    def __post_init__(self) -> None:
        listed = isinstance(self.names, (list, tuple))
        if not listed or not all(isinstance(name, str) for name in self.names):
            raise InputError(f"names must be a list of names of tools, got {glance(self.names)}")


@dataclass(frozen=True, slots=True, kw_only=True)
class MostCallsOptions:
    """How many calls there may be.

    Attributes
    ----------
    most : int
    """

    most: int

    def __post_init__(self) -> None:
        whole_from_zero(self.most, "most")


# ------------------------------------------------------------------------------------------ checks


@dataclass(frozen=True, slots=True)
class _Check:
    """A check of the calls that were made.

    Attributes
    ----------
    metric : str
    expected : str
        What is, for people.
    passes, found : callable
        From the names of the tools that were called: whether they pass, and what they are, for
        people and under Mastra's names.
    reads_calls : bool
        They take the calls themselves instead.
    """

    metric: str
    settings: Any
    expected: str
    passes: Callable[[Any], bool]
    found: Callable[[Any], tuple[str, dict[str, Any]]]
    reads_calls: bool = False

    def of_runs(self) -> CodeScorer:
        def found(run: Run, _: Any) -> Finding:
            calls: Any = [call.name for call in tool_calls(run)]
            if self.reads_calls:
                calls = [call for message in run.output for call in message.tool_calls]
            passed = self.passes(calls)
            return Finding(float(passed), {**self.found(calls)[1], "passed": passed})

        return CodeScorer(self.metric, self.settings, found)

    def of_samples(self) -> Scorer:
        return Scorer(self._score, lambda rows: column_of(rows, self._row_score))

    def _read(self, fields: Fields) -> Any:
        return calls_made(fields) if self.reads_calls else names_called(fields)

    def _row_score(self, fields: Fields) -> RowScore:
        calls = self._read(fields)
        return NullReason.MISSING_FIELD if calls is None else float(self.passes(calls))

    def _score(self, fields: Fields) -> Scored:
        calls = self._read(fields)
        if calls is None:
            return NO_CALLS
        passed, actual = self.passes(calls), self.found(calls)[0]
        message = f"Expected: {self.expected}. Found: {actual}."
        detail = {
            "check": self.metric.partition(".")[2],
            "passed": passed,
            "expected": self.expected,
            "actual": actual,
            "message": message,
        }
        return Scored(float(passed), NullReason.MEASURED, message, [detail])


def _counted(names: list[str]) -> tuple[str, dict[str, Any]]:
    return f"{len(names)} calls", {"count": len(names)}


def _called_tool(name: str, times: int = 1) -> _Check:
    options = CallOptions(name=name, times=times)

    def found(names: list[str]) -> tuple[str, dict[str, Any]]:
        count = names.count(name)
        return f"{count} calls", {"actualCount": count}

    expected = f"{cut(name)} called {times} times or more"
    return _Check(CALLED_TOOL, options, expected, lambda names: names.count(name) >= times, found)


def _did_not_call(name: str) -> _Check:
    options = NoCallOptions(name=name)

    def found(names: list[str]) -> tuple[str, dict[str, Any]]:
        return _counted([called for called in names if called == name])

    return _Check(
        DID_NOT_CALL, options, f"no call of {cut(name)}", lambda names: name not in names, found
    )


def _tool_order(names: Sequence[str]) -> _Check:
    options = OrderOptions(names=names)
    wanted = tuple(options.names)

    def passes(called: list[str]) -> bool:
        left = iter(called)
        return all(name in left for name in wanted)

    def found(called: list[str]) -> tuple[str, dict[str, Any]]:
        return cut(", ".join(called[:20]) or "no calls"), {"actualTools": called}

    expected = cut(", ".join(wanted[:20]) or "any order")
    return _Check(TOOL_ORDER, options, expected, passes, found)


def _max_tool_calls(most: int) -> _Check:
    options = MostCallsOptions(most=most)
    expected = f"at most {most} calls"
    return _Check(MAX_TOOL_CALLS, options, expected, lambda names: len(names) <= most, _counted)


def _used_no_tools() -> _Check:
    return _Check(USED_NO_TOOLS, NoOptions(), "no calls", lambda names: not names, _counted)


def _no_tool_errors() -> _Check:
    def found(calls: list[ToolCall]) -> tuple[str, dict[str, Any]]:
        failed = [call.name for call in calls if _failed(call)]
        names = f": {cut(', '.join(failed[:20]))}" if failed else ""
        findings = {"errorCount": len(failed), "totalCalls": len(calls)}
        return f"{len(failed)} of {len(calls)} failed{names}", findings

    def passes(calls: list[ToolCall]) -> bool:
        return not any(map(_failed, calls))

    expected = "no call that failed"
    return _Check(NO_TOOL_ERRORS, NoOptions(), expected, passes, found, reads_calls=True)


def _failed(call: ToolCall) -> bool:
    """Whether a call failed, is marked as an error, or was never answered."""
    if call.state in _FAILED_STATES or call.is_error:
        return True
    return isinstance(call.result, dict) and _is_true(call.result.get("error"))


def _is_true(value: Any) -> bool:
    """Whether JavaScript takes a JSON value for true: empty lists and mappings are."""
    return bool(value) or isinstance(value, (list, dict))


# ----------------------------------------------------------------------------------------- of runs


def create_called_tool_check(name: str, *, times: int = 1) -> CodeScorer:
    """Passes if the tool was called at least this often; failed calls count."""
    return _called_tool(name, times).of_runs()


def create_did_not_call_check(name: str) -> CodeScorer:
    """Passes if the tool was not called."""
    return _did_not_call(name).of_runs()


def create_tool_order_check(names: Sequence[str]) -> CodeScorer:
    """Passes if the tools were called in this order, with any calls in between."""
    return _tool_order(names).of_runs()


def create_max_tool_calls_check(most: int) -> CodeScorer:
    """Passes if there were at most this many calls."""
    return _max_tool_calls(most).of_runs()


def create_used_no_tools_check() -> CodeScorer:
    """Passes if no tool was called."""
    return _used_no_tools().of_runs()


def create_no_tool_errors_check() -> CodeScorer:
    """Passes if every call has a result and none is an error."""
    return _no_tool_errors().of_runs()


# --------------------------------------------------------------------------------------- contracts


_OF_CALLS: Final[dict[str, Any]] = {
    "optional": CALL_FIELDS,
    "threshold": 1.0,
    "source": SOURCE,
    "null_when": "there are neither tool calls nor messages",
}

METRICS: Final[tuple[Metric, ...]] = (
    code_metric(
        CALLED_TOOL,
        of_samples(_called_tool),
        "1 if the tool was called at least the given number of times, else 0",
        required_options=("name",),
        options={"times": 1},
        **_OF_CALLS,
    ),
    code_metric(
        DID_NOT_CALL,
        of_samples(_did_not_call),
        "1 if the tool was not called, else 0",
        required_options=("name",),
        **_OF_CALLS,
    ),
    code_metric(
        TOOL_ORDER,
        of_samples(_tool_order),
        "1 if the tools were called in this order, with any calls in between, else 0",
        required_options=("names",),
        version=2,
        **_OF_CALLS,
    ),
    code_metric(
        MAX_TOOL_CALLS,
        of_samples(_max_tool_calls),
        "1 if there are at most the given number of calls, else 0",
        required_options=("most",),
        **_OF_CALLS,
    ),
    code_metric(
        USED_NO_TOOLS, of_samples(_used_no_tools), "1 if no tool was called, else 0", **_OF_CALLS
    ),
    code_metric(
        NO_TOOL_ERRORS,
        of_samples(_no_tool_errors),
        "1 if every call has a result and no result is an error, else 0",
        **_OF_CALLS,
    ),
)
