"""Mastra's quick checks of calls of tools in samples: their contracts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias

from rag_eval.metrics.contract import Fields, Metric, Scored, Scorer
from rag_eval.metrics.findings_column import RowScore, column_of
from rag_eval.samples import MetricId, NullReason
from rag_eval.scorers.mastra import checks
from rag_eval.scorers.mastra.check_rules import (
    CallOptions,
    MostCallsOptions,
    NoCallOptions,
    OrderOptions,
    failed_calls,
    in_order,
)
from rag_eval.scorers.sample_calls import (
    CALL_FIELDS,
    calls_made,
    names_called,
    no_calls_given,
)
from rag_eval.scorers.short_texts import cut

# Of the names called what passes, what was expected and what was found.
Judged: TypeAlias = tuple[bool, str, str]


def _calls_scorer(name: str, judged: Callable[[list[str]], Judged]) -> Scorer:
    """A check of the names of the tools that were called."""

    def row_score(fields: Fields) -> RowScore:
        names = names_called(fields)
        return NullReason.MISSING_FIELD if names is None else float(judged(names)[0])

    def score(fields: Fields) -> Scored:
        names = names_called(fields)
        return no_calls_given() if names is None else _calls_scored(name, *judged(names))

    return Scorer(score, lambda rows: column_of(rows, row_score))


def _calls_scored(name: str, passed: bool, expected: str, actual: str) -> Scored:
    detail = {"check": name, "passed": passed, "expected": expected, "actual": actual}
    message = f"Expected: {expected}. Found: {actual}."
    return Scored(float(passed), NullReason.MEASURED, message, [{**detail, "message": message}])


def _called_tool(name: str, times: int = 1) -> Scorer:
    options = CallOptions(name=name, times=times)
    expected = f"{cut(name)} called {times} times or more"

    def judged(names: list[str]) -> Judged:
        count = names.count(options.name)
        return count >= options.times, expected, f"{count} calls"

    return _calls_scorer("check_called_tool", judged)


def _did_not_call(name: str) -> Scorer:
    options = NoCallOptions(name=name)
    expected = f"no call of {cut(name)}"

    def judged(names: list[str]) -> Judged:
        count = names.count(options.name)
        return not count, expected, f"{count} calls"

    return _calls_scorer("check_did_not_call", judged)


def _tool_order(names: Sequence[str]) -> Scorer:
    wanted = tuple(OrderOptions(names=names).names)
    expected = cut(", ".join(wanted[:20]) or "any order")

    def judged(called: list[str]) -> Judged:
        return in_order(wanted, called), expected, cut(", ".join(called[:20]) or "no calls")

    return _calls_scorer("check_tool_order", judged)


def _max_tool_calls(most: int) -> Scorer:
    options = MostCallsOptions(most=most)

    def judged(names: list[str]) -> Judged:
        return len(names) <= options.most, f"at most {most} calls", f"{len(names)} calls"

    return _calls_scorer("check_max_tool_calls", judged)


def _used_no_tools() -> Scorer:
    return _calls_scorer(
        "check_used_no_tools", lambda names: (not names, "no calls", f"{len(names)} calls")
    )


def _no_tool_errors() -> Scorer:
    name = "check_no_tool_errors"

    def row_score(fields: Fields) -> RowScore:
        calls = calls_made(fields)
        return NullReason.MISSING_FIELD if calls is None else float(not failed_calls(calls))

    def score(fields: Fields) -> Scored:
        calls = calls_made(fields)
        if calls is None:
            return no_calls_given()
        failed = failed_calls(calls)
        actual = f"{len(failed)} of {len(calls)} failed"
        names = f": {cut(', '.join(failed[:20]))}" if failed else ""
        return _calls_scored(name, not failed, "no call that failed", actual + names)

    return Scorer(score, lambda rows: column_of(rows, row_score))


def _calls_spec(
    metric: MetricId,
    create: Callable[..., Scorer],
    summary: str,
    required: tuple[str, ...] = (),
    *,
    version: int = 1,
    **options: Any,
) -> Metric:
    return Metric(
        id=metric,
        summary=summary,
        create=create,
        fields=(),
        optional=CALL_FIELDS,
        required_options=required,
        options=options,
        threshold=1.0,
        cost="python",
        source=checks.SOURCE,
        null_when="there are neither tool calls nor messages",
        version=version,
    )


CALL_SPECS: Final[tuple[Metric, ...]] = (
    _calls_spec(
        checks.CALLED_TOOL,
        _called_tool,
        "1 where the tool was called so many times or more, else 0",
        ("name",),
        times=1,
    ),
    _calls_spec(
        checks.DID_NOT_CALL, _did_not_call, "1 where the tool was not called, else 0", ("name",)
    ),
    _calls_spec(
        checks.TOOL_ORDER,
        _tool_order,
        "1 where the tools were called in this order, whatever is between, else 0",
        ("names",),
        version=2,
    ),
    _calls_spec(
        checks.MAX_TOOL_CALLS,
        _max_tool_calls,
        "1 where there are at most so many calls, else 0",
        ("most",),
    ),
    _calls_spec(checks.USED_NO_TOOLS, _used_no_tools, "1 where no tool was called, else 0"),
    _calls_spec(
        checks.NO_TOOL_ERRORS,
        _no_tool_errors,
        "1 where every call was answered, and by no error, else 0",
    ),
)
