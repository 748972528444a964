"""Mastra's scorers of agents that need no judge: their contracts.

What cannot be scored is null here: the package's own functions give 0 where nothing is expected.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, TypeVar

from rag_eval.errors import InputError
from rag_eval.metrics.contract import Fields, Metric, Scored, Scorer
from rag_eval.metrics.findings_column import RowScore, column_of
from rag_eval.samples import NullReason
from rag_eval.scorers.mastra import (
    tool_call_accuracy_code,
    trajectory_accuracy_code,
    trajectory_unified,
)
from rag_eval.scorers.mastra.options import settings_of
from rag_eval.scorers.mastra.tool_call_accuracy_code import (
    ToolCallExpectation,
    order_kept,
    tool_call_accuracy_score,
)
from rag_eval.scorers.mastra.trajectory_accuracy_code import (
    TrajectoryAccuracyCodeOptions,
    accuracy_of,
)
from rag_eval.scorers.mastra.trajectory_comparison import TrajectoryComparison
from rag_eval.scorers.mastra.trajectory_expectations import expectation_of
from rag_eval.scorers.mastra.trajectory_steps import (
    Trajectory,
    steps_of_calls,
    trajectory_of,
)
from rag_eval.scorers.mastra.trajectory_unified import (
    TrajectoryScorerOptions,
    evaluate_trajectory,
    reason_of,
)
from rag_eval.scorers.sample_calls import (
    CALL_FIELDS,
    EXPECTED,
    calls_made,
    check,
    names_called,
    names_expected,
    no_calls_given,
)

Settings = TypeVar("Settings")

_TRAJECTORY_FIELDS: Final = ("trajectory", *CALL_FIELDS, "expected_trajectory")
_NO_STEPS: Final = "Neither a trajectory nor tool calls nor messages given."
_NOTHING_EXPECTED: Final = (
    "No trajectory is expected: give expected_trajectory, in the sample or as"
)
_NO_CALLS_EXPECTED: Final = "No call is expected and others are allowed; with strict_mode none is."


# ------------------------------------------------------------------------------ tool call accuracy


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
        return no_calls_given()
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


# ------------------------------------------------------------------------------------ trajectories


def _trajectory(fields: Fields) -> Trajectory | None:
    """What was done; None where the sample does not say."""
    if "trajectory" in fields:
        return trajectory_of(fields["trajectory"])
    calls = calls_made(fields)
    return None if calls is None else trajectory_of(steps_of_calls(calls))


def _no_steps() -> Scored:
    return Scored(None, NullReason.MISSING_FIELD, _NO_STEPS)


def _trajectory_accuracy(expected_trajectory: Any = None, comparison_options: Any = None) -> Scorer:
    options = _settings(
        TrajectoryAccuracyCodeOptions,
        trajectory_accuracy_code.ID,
        {"expected_trajectory": expected_trajectory, "comparison_options": comparison_options},
    )

    def score(fields: Fields) -> Scored:
        trajectory = _trajectory(fields)
        if trajectory is None:
            return _no_steps()
        found, _ = accuracy_of(trajectory, options, fields.get("expected_trajectory"))
        if found is None:
            reason = NullReason.MISSING_FIELD
            return Scored(None, reason, f"{_NOTHING_EXPECTED} an option.")
        return Scored(found.score, NullReason.MEASURED, _words(found), [_part("accuracy", found)])

    return Scorer(score)


def _words(found: TrajectoryComparison) -> str:
    text = f"{found.matched_steps} of {found.total_expected_steps} expected steps were taken"
    return f"{text}, {found.total_actual_steps} steps in all."


def _trajectory_whole(defaults: Any = None, weights: Any = None) -> Scorer:
    given = {"defaults": defaults} | ({} if weights is None else {"weights": weights})
    options = _settings(TrajectoryScorerOptions, trajectory_unified.ID, given)
    options.defaults.check_limits()

    def score(fields: Fields) -> Scored:
        trajectory = _trajectory(fields)
        if trajectory is None:
            return _no_steps()
        own = expectation_of(fields.get("expected_trajectory"))
        evaluation = evaluate_trajectory(
            trajectory, options.defaults.overridden(own), options.weights
        )
        if not any(evaluation.parts()):
            return Scored.nothing(f"{_NOTHING_EXPECTED} the option defaults.")
        found = evaluation.score(options.weights)
        details = [_part(name, getattr(evaluation, name)) for name, _ in evaluation.parts()]
        details += [_part("nested", each) for each in evaluation.nested or ()]
        return Scored(found, NullReason.MEASURED, reason_of(evaluation, found), details)

    return Scorer(score)


def _settings(kind: type[Settings], owner: str, given: dict[str, Any]) -> Settings:
    """Settings from the values of options; a name that is unknown within one makes it a bad one."""
    try:
        return settings_of(kind, owner, given)
    except TypeError as error:
        raise InputError(str(error)) from None


def _part(name: str, found: Any) -> dict[str, Any]:
    return {"check": f"trajectory.{name}", "passed": found.score == 1, **found.to_dict()}


METRICS: Final[tuple[Metric, ...]] = (
    Metric(
        id=tool_call_accuracy_code.ID,
        summary="1 where the expected tool, or tools in their order, were called, else 0",
        create=_tool_call_accuracy,
        fields=(),
        optional=(*CALL_FIELDS, EXPECTED),
        options={"expected_tool": None, "expected_tool_order": None, "strict_mode": False},
        cost="python",
        source="@mastra/evals 1.1.1, with a true order test",
        null_when="no calls given, or none expected",
        version=2,
    ),
    Metric(
        id=trajectory_accuracy_code.ID,
        summary="Share of the expected steps that were taken, in order unless told otherwise",
        create=_trajectory_accuracy,
        fields=(),
        optional=_TRAJECTORY_FIELDS,
        options={"expected_trajectory": None, "comparison_options": None},
        cost="python",
        source="@mastra/evals 1.10.2",
        null_when="no steps given, or none expected",
        version=2,
    ),
    Metric(
        id=trajectory_unified.ID,
        summary="Steps, budgets, repeated failures and forbidden tools of a trajectory in one",
        create=_trajectory_whole,
        fields=(),
        optional=_TRAJECTORY_FIELDS,
        options={"defaults": None, "weights": None},
        cost="python",
        source="@mastra/evals 1.10.2",
        null_when="no steps given, or nothing expected",
        version=2,
    ),
)
