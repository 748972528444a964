"""Trajectory accuracy without a judge: steps taken and steps expected -> how far they agree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from rag_eval.scorers.mastra.code_scorer import CodeScorer, Finding
from rag_eval.scorers.mastra.options import settings_of
from rag_eval.scorers.mastra.runs import Run
from rag_eval.scorers.mastra.scorer import Options
from rag_eval.scorers.mastra.trajectory_comparison import (
    ComparisonOptions,
    TrajectoryComparison,
    chosen,
    compared,
)
from rag_eval.scorers.mastra.trajectory_expectations import (
    TrajectoryExpectation,
    expectation_of,
)
from rag_eval.scorers.mastra.trajectory_steps import Trajectory, trajectory_of_run

ID: Final = "mastra.trajectory_accuracy"


@dataclass(frozen=True, slots=True, kw_only=True)
class TrajectoryAccuracyCodeOptions:
    """What is expected, and how trajectories are compared.

    Attributes
    ----------
    expected_trajectory : TrajectoryExpectation, list or mapping, or None
        None leaves it to the run.
    comparison_options : ComparisonOptions or mapping
    """

    expected_trajectory: Any = None
    comparison_options: Any = None

    def __post_init__(self) -> None:
        options = self.comparison_options
        if not isinstance(options, ComparisonOptions):
            options = settings_of(ComparisonOptions, f"{ID}: comparison_options", options)
        object.__setattr__(self, "comparison_options", options)
        if self.expected_trajectory is not None:
            read = chosen(expectation_of(self.expected_trajectory), options)
            object.__setattr__(self, "expected_trajectory", read)

    def expectation(self, of_the_run: object) -> TrajectoryExpectation:
        """What is expected of a run that says this of itself; its steps may be None.

        Steps that are given here go before those of the run; its order and repeats go first.
        """
        own = expectation_of(of_the_run)
        static: TrajectoryExpectation | None = self.expected_trajectory
        if static is None:
            return chosen(TrajectoryExpectation(), self.comparison_options).overridden(own)
        said = TrajectoryExpectation(
            ordering=own.ordering, allow_repeated_steps=own.allow_repeated_steps
        )
        return static.overridden(said)


def accuracy_of(
    trajectory: Trajectory, options: TrajectoryAccuracyCodeOptions, of_the_run: object
) -> tuple[TrajectoryComparison | None, TrajectoryExpectation]:
    """The comparison, None where no steps are expected; and what it was made with."""
    expectation = options.expectation(of_the_run)
    if expectation.steps is None:
        return None, expectation
    return compared(trajectory.steps, expectation), expectation


def _found(run: Run, options: TrajectoryAccuracyCodeOptions) -> Finding:
    trajectory = trajectory_of_run(run)
    comparison, expectation = accuracy_of(trajectory, options, run.expected_trajectory)
    result: dict[str, Any] = {} if comparison is None else {"comparison": comparison.to_dict()}
    result["actualStepNames"] = trajectory.names
    result["expectedStepNames"] = [step.name for step in expectation.steps or ()]
    return Finding(0.0 if comparison is None else comparison.score, result)


def create_trajectory_accuracy_scorer_code(
    options: Options = None, **more: Any
) -> CodeScorer[TrajectoryAccuracyCodeOptions]:
    """How far the steps of an agent are those that were expected; 0 to 1, no judge.

    Parameters
    ----------
    options : mapping, optional
        The options under their names here or in camelCase.
    expected_trajectory : list of mapping, or mapping, optional
        The steps that are expected; None takes those of the run, and a run without scores 0.
    comparison_options : mapping, optional
        ``ordering`` and ``allow_repeated_steps``, see :func:`compare_trajectories`. A run that
        says these itself goes first.
    """
    return CodeScorer(ID, settings_of(TrajectoryAccuracyCodeOptions, ID, options, more), _found)
