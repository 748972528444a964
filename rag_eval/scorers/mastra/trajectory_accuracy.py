"""Trajectory accuracy: the steps an agent took -> whether they were needed and in order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from rag_eval.errors import InputError
from rag_eval.judge.metrics.imagining import texts_of
from rag_eval.judge.steps import Fields, Step
from rag_eval.scorers.mastra.imagined import NOTE, REASON
from rag_eval.scorers.mastra.options import settings_of
from rag_eval.scorers.mastra.runs import Run, assistant_text, json_text, user_text
from rag_eval.scorers.mastra.scorer import Interview, MastraScorer, Model, Options, reason_step
from rag_eval.scorers.mastra.trajectory_steps import DEEPEST, steps_of, taken_steps
from rag_eval.scorers.mastra.verdicts import shown

ID: Final = "mastra.trajectory_accuracy_llm"
# What a step is told by; the rest of it are times and counts.
_TOLD: Final = ("toolArgs", "toolResult", "args", "result", "output", "status", "success")


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


def _imagined(fields: Fields) -> TrajectoryVerdicts:
    steps = texts_of(fields, "steps")
    return TrajectoryVerdicts([StepVerdict(step, True, True, NOTE) for step in steps], REASON)


_ANALYZE: Final = Step("mastra/trajectory_accuracy_analyze", TrajectoryVerdicts, _imagined)
_REASON: Final = reason_step("trajectory_accuracy")
STEPS: Final = (_REASON, _ANALYZE)


async def _judged(interview: Interview, run: Run, settings: TrajectoryAccuracyOptions) -> float:
    question = user_text(run)
    expected = settings.expected_trajectory
    if expected is None:
        expected = run.expected_trajectory
    analyzed = await interview.analyze(
        _ANALYZE,
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
        "score": shown(score),
    }
    await interview.explain(_REASON, fields)
    return score


def create_trajectory_accuracy_scorer_llm(
    model: Model, options: Options = None, **more: Any
) -> MastraScorer[TrajectoryAccuracyOptions]:
    """Whether the steps of an agent were needed and in order; 2 calls, 0 to 0.9, higher is better.

    Parameters
    ----------
    model : callable or str
        The judge, or its address.
    expected_trajectory : list of mapping, optional
        The steps that are expected; None takes those of the run, if it has any.
    """
    settings = settings_of(TrajectoryAccuracyOptions, ID, options, more)
    return MastraScorer(ID, model, settings, _judged)
