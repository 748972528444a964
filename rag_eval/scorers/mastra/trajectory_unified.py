"""A trajectory and its expectations -> one score, from steps, cost and forbidden tools.

The rules are those of @mastra/evals 1.10.2. A sample without expectations has no score.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from rag_eval.errors import InputError
from rag_eval.metrics.contract import Fields, Metric, Scored, Scorer
from rag_eval.plumbing.javascript_numbers import plain_sum, round_half_up
from rag_eval.samples import NullReason
from rag_eval.scorers.mastra.options import settings_of, settings_of_values
from rag_eval.scorers.mastra.runs import Run
from rag_eval.scorers.mastra.scorer import CodeScorer, Finding, Findings, Options
from rag_eval.scorers.mastra.trajectory_checks import (
    ToolFailureAnalysis,
    TrajectoryBlacklist,
    TrajectoryEfficiency,
    blacklist,
    efficiency,
    tool_failures,
)
from rag_eval.scorers.mastra.trajectory_comparison import (
    StepIndex,
    TrajectoryComparison,
    compared,
)
from rag_eval.scorers.mastra.trajectory_expectations import (
    ExpectedStep,
    TrajectoryExpectation,
    expectation_of,
)
from rag_eval.scorers.mastra.trajectory_steps import (
    NO_EXPECTATION,
    NO_STEPS,
    TRAJECTORY_FIELDS,
    Trajectory,
    part_of,
    trajectory_of_run,
    trajectory_of_sample,
)

ID: Final = "mastra.trajectory"
_OWN, _NESTED = 0.7, 0.3
_PARTS: Final = ("accuracy", "efficiency", "tool_failures", "blacklist")


@dataclass(frozen=True, slots=True, kw_only=True)
class TrajectoryWeights:
    """How much each part counts, among those that there are; below 0 counts as 0."""

    accuracy: float = 0.4
    efficiency: float = 0.3
    tool_failures: float = 0.2
    blacklist: float = 0.1

    def __post_init__(self) -> None:
        for name in _PARTS:
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, (int, float)):
                raise InputError(f"weight of {name} must be a number, got {type(value).__name__}")
            if not math.isfinite(value):
                raise InputError(f"weight of {name} must be finite, got {value}")


@dataclass(frozen=True, slots=True, kw_only=True)
class TrajectoryScorerOptions:
    """What is expected unless a run says otherwise, and how much each part counts."""

    defaults: Any = None
    weights: TrajectoryWeights = field(default_factory=TrajectoryWeights)

    def __post_init__(self) -> None:
        object.__setattr__(self, "defaults", expectation_of(self.defaults, "defaults"))


@dataclass(frozen=True, slots=True, kw_only=True)
class TrajectoryEvaluation(Findings):
    """What was found, part by part; None if nothing was expected of it.

    Attributes
    ----------
    accuracy : TrajectoryComparison or None
    efficiency : TrajectoryEfficiency or None
    blacklist : TrajectoryBlacklist or None
    tool_failures : ToolFailureAnalysis or None
        Counts where a tool failed and was called again at once.
    nested : tuple of NestedEvaluation or None
        For each expected step of whose children something is expected.
    """

    accuracy: TrajectoryComparison | None = None
    efficiency: TrajectoryEfficiency | None = None
    blacklist: TrajectoryBlacklist | None = None
    tool_failures: ToolFailureAnalysis | None = None
    nested: tuple[NestedEvaluation, ...] | None = None

    def parts(self) -> Iterator[tuple[str, float]]:
        """The parts that count, and their scores."""
        for name in _PARTS:
            part = getattr(self, name)
            if part is not None and (name != "tool_failures" or part.patterns):
                yield name, part.score

    @property
    def violated(self) -> bool:
        """Whether a forbidden tool or sequence was used, here or within a step."""
        own = self.blacklist is not None and self.blacklist.score == 0
        return own or any(each.evaluation.violated for each in self.nested or ())

    def score(self, weights: TrajectoryWeights) -> float:
        """From 0 to 1, with two decimals; 1 if no part counts."""
        if self.violated:
            return 0.0
        weighed = [(max(0.0, getattr(weights, name)), score) for name, score in self.parts()]
        total = plain_sum(weight for weight, _ in weighed)
        # Each weight is divided by their sum first: the last bit of the mean decides its rounding.
        level = plain_sum(weight / total * score for weight, score in weighed) if total else 1.0
        if self.nested:
            mean = plain_sum(each.score for each in self.nested) / len(self.nested)
            level = _OWN * level + _NESTED * mean
        return round_half_up(level, 2)


@dataclass(frozen=True, slots=True)
class NestedEvaluation(Findings):
    """What was found among the steps within an expected step; score 0 if it was not taken."""

    step_name: str
    score: float
    evaluation: TrajectoryEvaluation

    def to_dict(self) -> dict[str, Any]:
        """As JSON values under Mastra's field names."""
        found = {"stepName": self.step_name, "score": self.score, **self.evaluation.to_dict()}
        return {**found, "nested": found.get("nested", [])} if self.evaluation.violated else found


def evaluate_trajectory(
    trajectory: Trajectory, expectation: TrajectoryExpectation, weights: TrajectoryWeights
) -> TrajectoryEvaluation:
    """All that is found in a trajectory.

    Raises
    ------
    InputError
        For a budget that is not a finite number of at least 0, or without measurements for it.
    """
    expectation.check_limits()
    limits = (
        expectation.max_steps,
        expectation.max_total_tokens,
        expectation.max_total_duration_ms,
        expectation.no_redundant_calls,
    )
    forbids = expectation.blacklisted_tools or expectation.blacklisted_sequences
    return TrajectoryEvaluation(
        accuracy=None if expectation.steps is None else compared(trajectory.steps, expectation),
        efficiency=None
        if all(limit is None for limit in limits)
        else efficiency(trajectory, expectation),
        blacklist=blacklist(trajectory, expectation) if forbids else None,
        tool_failures=tool_failures(trajectory, expectation),
        nested=tuple(_nested(trajectory, expectation.steps or (), weights)) or None,
    )


def _nested(
    trajectory: Trajectory, expected: Sequence[ExpectedStep], weights: TrajectoryWeights
) -> Iterator[NestedEvaluation]:
    index = StepIndex(trajectory.steps)
    for wanted in expected:
        if wanted.children is None:
            continue
        step = index.take_named(wanted)
        if step is None:
            evaluation = TrajectoryEvaluation(accuracy=_not_taken(wanted.children))
            yield NestedEvaluation(wanted.name, 0.0, evaluation)
            continue
        inner = Trajectory(step.children, step.amount("durationMs"))
        evaluation = evaluate_trajectory(inner, wanted.children, weights)
        yield NestedEvaluation(wanted.name, evaluation.score(weights), evaluation)


def _not_taken(expectation: TrajectoryExpectation) -> TrajectoryComparison | None:
    if not expectation.steps:
        return None
    names = tuple(step.name for step in expectation.steps)
    return TrajectoryComparison(0.0, 0, len(names), 0, missing_steps=names)


def reason_of(evaluation: TrajectoryEvaluation, score: float) -> str:
    """The score in words, with a line for each part that counts."""
    lines = [f"Score {score:.2f}."]
    if evaluation.violated:
        lines[0] = f"Score {score:.2f}: something forbidden was used."
    lines += [_LINES[name](getattr(evaluation, name)) for name, _ in evaluation.parts()]
    lines += [f"- within {each.step_name}: {each.score:.2f}" for each in evaluation.nested or ()]
    return "\n".join(lines)


def _accuracy_line(found: TrajectoryComparison) -> str:
    text = f"- accuracy {found.score:.2f}: {found.matched_steps} of {found.total_expected_steps}"
    text += " expected steps were taken"
    return text + (f"; missing: {_listed(found.missing_steps)}" if found.missing_steps else "")


def _efficiency_line(found: TrajectoryEfficiency) -> str:
    faults = [
        f"{name} over the budget"
        for name, over in (
            (f"{found.total_steps} steps", found.over_step_budget),
            (f"{found.total_tokens} tokens", found.over_token_budget),
            (f"{found.total_duration_ms} ms", found.over_duration_budget),
        )
        if over
    ]
    if found.redundant_calls:
        n_redundant = len(found.redundant_calls)
        repeated = "call repeats" if n_redundant == 1 else "calls repeat"
        faults.append(f"{n_redundant} {repeated} the previous one")
    return f"- efficiency {found.score:.2f}: {', '.join(faults) or 'no budget was exceeded'}"


def _failures_line(found: ToolFailureAnalysis) -> str:
    tools = _listed(tuple(pattern.tool_name for pattern in found.patterns))
    return f"- tool failures {found.score:.2f}: {found.total_retries} retries of {tools}"


def _blacklist_line(found: TrajectoryBlacklist) -> str:
    used = [*found.violated_tools, *(" > ".join(names) for names in found.violated_sequences)]
    what = f"used: {_listed(used)}" if used else "nothing forbidden was used"
    return f"- blacklist {found.score:.2f}: {what}"


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(name[:80] for name in names[:10])
    return shown if len(names) <= 10 else f"{shown} and {len(names) - 10} more"


_LINES: Final[Mapping[str, Callable[[Any], str]]] = {
    "accuracy": _accuracy_line,
    "efficiency": _efficiency_line,
    "tool_failures": _failures_line,
    "blacklist": _blacklist_line,
}


def _found(run: Run, options: TrajectoryScorerOptions) -> Finding:
    own = expectation_of(run.expected_trajectory)
    expectation = options.defaults.overridden(own)
    evaluation = evaluate_trajectory(trajectory_of_run(run), expectation, options.weights)
    score = evaluation.score(options.weights)
    return Finding(score, evaluation.to_dict(), reason_of(evaluation, score))


def create_trajectory_scorer_code(options: Options = None, **more: Any) -> CodeScorer:
    """One score for all aspects of a trajectory; 0 to 1, no judge, higher is better.

    Parameters
    ----------
    options : mapping, optional
        Options in snake_case or camelCase.
    defaults : mapping, optional
        The expectations; see :func:`expectation_of`. The ``expectedTrajectory`` of a run replaces
        them field by field.
    weights : mapping, optional
        Weights of ``accuracy`` (0.4), ``efficiency`` (0.3), ``tool_failures`` (0.2) and
        ``blacklist`` (0.1). A part without expectations does not count, and tool failures count
        only if a tool was retried.

    Notes
    -----
    A forbidden step at any level scores 0. If there are expectations for nested steps, their mean
    counts 0.3 and the level itself 0.7.
    """
    return CodeScorer(ID, settings_of(TrajectoryScorerOptions, ID, options, more), _found)


def _trajectory_whole(defaults: Any = None, weights: Any = None) -> Scorer:
    given = {"defaults": defaults} | ({} if weights is None else {"weights": weights})
    options = settings_of_values(TrajectoryScorerOptions, ID, given)
    options.defaults.check_limits()

    def score(fields: Fields) -> Scored:
        trajectory = trajectory_of_sample(fields)
        if trajectory is None:
            return NO_STEPS
        own = expectation_of(fields.get("expected_trajectory"))
        evaluation = evaluate_trajectory(
            trajectory, options.defaults.overridden(own), options.weights
        )
        if not any(evaluation.parts()):
            return Scored.nothing(f"{NO_EXPECTATION} the option defaults.")
        found = evaluation.score(options.weights)
        details = [part_of(name, getattr(evaluation, name)) for name, _ in evaluation.parts()]
        details += [part_of("nested", each) for each in evaluation.nested or ()]
        return Scored(found, NullReason.MEASURED, reason_of(evaluation, found), details)

    return Scorer(score)


METRICS: Final = (
    Metric(
        id=ID,
        summary="One score for the steps, budgets, repeated failures and forbidden tools of a "
        "trajectory",
        create=_trajectory_whole,
        fields=(),
        optional=TRAJECTORY_FIELDS,
        options={"defaults": None, "weights": None},
        cost="python",
        source="@mastra/evals 1.10.2",
        null_when="no steps given, or nothing expected",
        version=4,
    ),
)
