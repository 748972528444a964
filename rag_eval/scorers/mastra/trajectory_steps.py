"""Trajectories: the steps of an agent as they are logged -> checked steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final

from rag_eval.errors import InputError, glance
from rag_eval.metrics.contract import Fields, Scored
from rag_eval.plumbing.spelling import camel_case
from rag_eval.samples import NullReason
from rag_eval.scorers.javascript import written
from rag_eval.scorers.mastra.options import checked_number
from rag_eval.scorers.mastra.runs import Run, run_of, tool_calls
from rag_eval.scorers.tool_calls import CALL_FIELDS, ToolCall, calls_made

DEEPEST: Final = 64
"""How many levels of steps a trajectory or an expectation may have."""

MOST_STEPS: Final = 1_000_000
"""How many steps a trajectory or an expectation may have, those within others included."""

DEEPEST_VALUE: Final = 200
"""How many lists and mappings a value of a step may be nested."""

MOST_ITEMS: Final = 1_000_000
"""How many items the lists and mappings of a value may have in all."""

_NO_VALUES: Final[Mapping[str, Any]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class TrajectoryStep:
    """One step that was taken.

    Attributes
    ----------
    name : str
        That of the tool, the agent, the step of a workflow.
    step_type : str or None
        ``tool_call``, ``model_generation`` and the like.
    values : mapping
        All that the log has on it.
    children : tuple of TrajectoryStep
        Steps within this one.
    """

    name: str
    step_type: str | None = None
    values: Mapping[str, Any] = field(default_factory=lambda: _NO_VALUES)
    children: tuple[TrajectoryStep, ...] = ()

    def has(self, name: str) -> bool:
        """Whether the log has a value of this camelCase name, in either spelling."""
        return name in self.values or _snake_case(name) in self.values

    def value(self, name: str) -> Any:
        """The value of this camelCase name, in either spelling; None if there is none."""
        return self.values[name] if name in self.values else self.values.get(_snake_case(name))

    def text(self, name: str) -> str | None:
        """The value as JSON text; None if there is none."""
        if not self.has(name):
            return None
        try:
            return value_text(self.value(name))
        except InputError as error:
            raise InputError(f"{name} of step {glance(self.name)}: {error}") from None

    def amount(self, name: str) -> float | None:
        """The value, which has to be a finite number of at least 0; None if there is none."""
        value = self.value(name)
        if value is None:
            return None
        try:
            checked_number(value, name)
        except InputError as error:
            raise InputError(f"step {glance(self.name)}: {error}") from None
        return value  # type: ignore[no-any-return]


@dataclass(frozen=True, slots=True)
class Trajectory:
    """Steps in the order they were taken.

    Attributes
    ----------
    steps : tuple of TrajectoryStep
    total_duration_ms : float or None
        Where the log has a total of its own.
    """

    steps: tuple[TrajectoryStep, ...]
    total_duration_ms: float | None = None

    @property
    def names(self) -> list[str]:
        """Names of the steps, without those within others."""
        return [step.name for step in self.steps]


def trajectory_of(source: object, owner: str = "trajectory") -> Trajectory:
    """A trajectory from a list of steps, or a mapping with ``steps`` and ``totalDurationMs``.

    Raises
    ------
    InputError
        For steps that are not mappings or have no name, and for more than ``MOST_STEPS`` or
        ``DEEPEST`` levels of them; a structure that holds itself is too deep.
    """
    if isinstance(source, Trajectory):
        return source
    total = _either(source, "totalDurationMs") if isinstance(source, Mapping) else None
    if total is not None:
        checked_number(total, f"totalDurationMs of {owner}")
    return Trajectory(_Reader().steps(steps_of(source, owner), owner, DEEPEST), total)


def steps_of(trajectory: object, owner: str) -> list[Mapping[str, Any]]:
    """The steps of a trajectory, which may be a list of them."""
    steps = trajectory.get("steps") if isinstance(trajectory, Mapping) else trajectory
    if steps is None:
        return []
    if not isinstance(steps, (list, tuple)):
        raise InputError(f"{owner} must be a list of steps, got {type(steps).__name__}")
    for place, step in enumerate(steps):
        if not isinstance(step, Mapping):
            kind = type(step).__name__
            wanted = 'a mapping such as {"name": "search"}'
            raise InputError(f"{owner}: step {place} must be {wanted}, got {kind}")
    return list(steps)


def step_name(step: Mapping[str, Any], owner: str, place: int) -> str:
    """The name of a step, which it must have."""
    name = step.get("name")
    if not isinstance(name, str):
        raise InputError(f"{owner}: step {place} must have a name, got {type(name).__name__}")
    return name


def step_type(step: Mapping[str, Any], owner: str, place: int) -> str | None:
    """The type of a step; None if it says none."""
    kind = _either(step, "stepType")
    if kind is not None and not isinstance(kind, str):
        raise InputError(f"{owner}: stepType of step {place} must be a text")
    return kind


class StepCount:
    """How many more steps may come."""

    __slots__ = ("_left",)

    def __init__(self) -> None:
        self._left = MOST_STEPS

    def take(self, n_steps: int, owner: str, deepest: int) -> None:
        """Count steps of one level, or raise an InputError."""
        self._left -= n_steps
        if self._left < 0:
            raise InputError(f"{owner}: there are more than {MOST_STEPS:,} steps")
        if n_steps and not deepest:
            raise InputError(f"{owner}: steps are nested more than {DEEPEST} levels deep")


class _Reader:
    __slots__ = ("_count",)

    def __init__(self) -> None:
        self._count = StepCount()

    def steps(
        self, sources: Sequence[Mapping[str, Any]], owner: str, deepest: int
    ) -> tuple[TrajectoryStep, ...]:
        self._count.take(len(sources), owner, deepest)
        found = []
        for place, source in enumerate(sources):
            children: tuple[TrajectoryStep, ...] = ()
            if source.get("children"):
                inner = steps_of(source["children"], f"children in {owner}")
                children = self.steps(inner, owner, deepest - 1)
            name, kind = step_name(source, owner, place), step_type(source, owner, place)
            found.append(TrajectoryStep(name, kind, source, children))
        return tuple(found)


def _either(source: Mapping[str, Any], name: str) -> Any:
    value = source.get(name)
    return source.get(_snake_case(name)) if value is None else value


_SNAKE_CASE: Final = {
    camel_case(name): name
    for name in (
        *("step_type", "tool_args", "tool_result", "mcp_server", "model_id", "prompt_tokens"),
        *("completion_tokens", "finish_reason", "agent_id", "step_id", "workflow_id"),
        *("condition_count", "selected_steps", "branch_count", "parallel_steps", "loop_type"),
        *("total_iterations", "sleep_duration_ms", "sleep_type", "event_name", "event_received"),
        *("processor_id", "duration_ms", "total_duration_ms"),
    )
}


def _snake_case(name: str) -> str:
    return _SNAKE_CASE.get(name, name)


# ------------------------------------------------------------------------- from messages and runs


def extract_trajectory(output: object) -> dict[str, Any]:
    """The tool calls in the output of an agent, as a trajectory.

    Parameters
    ----------
    output : list of mapping
        Messages, as in the ``output`` of a run.

    Returns
    -------
    dict
        ``steps``, each a ``tool_call`` with ``name`` and, where known, ``toolArgs``, ``toolResult``
        and ``success``, which only finished calls have; and ``rawOutput``, the messages.
    """
    steps = steps_of_calls(tool_calls(run_of({"output": output})))
    return {"steps": steps, "rawOutput": output}


def steps_of_calls(calls: Sequence[ToolCall]) -> list[dict[str, Any]]:
    """Calls of tools as steps."""
    return [_step_of(call) for call in calls]


def _step_of(call: ToolCall) -> dict[str, Any]:
    step: dict[str, Any] = {"stepType": "tool_call", "name": call.name}
    if call.args is not None:
        step["toolArgs"] = call.args
    if call.result is not None:
        step["toolResult"] = call.result
    if call.state != "call":
        step["success"] = call.state == "result" and not call.is_error
    return step


def taken_steps(run: Run) -> list[Mapping[str, Any]]:
    """The steps of a run; where it has messages alone, the calls of tools in them."""
    if run.trajectory is not None:
        return steps_of(run.trajectory, "trajectory")
    return [*steps_of_calls(tool_calls(run))]


def trajectory_of_run(run: Run) -> Trajectory:
    """What was done in a run."""
    source = taken_steps(run) if run.trajectory is None else run.trajectory
    return trajectory_of(source)


# ----------------------------------------------------------------------------------------- samples


TRAJECTORY_FIELDS: Final = ("trajectory", *CALL_FIELDS, "expected_trajectory")
"""What a sample may hold of trajectories."""

NO_STEPS: Final = Scored(
    None, NullReason.MISSING_FIELD, "Neither a trajectory nor tool calls nor messages given."
)
"""The finding in a sample that does not say what was done."""

NO_EXPECTATION: Final = "No trajectory is expected: give expected_trajectory, in the sample or as"


def trajectory_of_sample(fields: Fields) -> Trajectory | None:
    """What was done; None if the sample does not say."""
    if "trajectory" in fields:
        return trajectory_of(fields["trajectory"])
    calls = calls_made(fields)
    return None if calls is None else trajectory_of(steps_of_calls(calls))


def part_of(name: str, found: Any) -> dict[str, Any]:
    """A part of a finding as a detail of a score."""
    return {"check": f"trajectory.{name}", "passed": found.score == 1, **found.to_dict()}


# ----------------------------------------------------------------------------------------- values


def value_text(value: object) -> str:
    """A JSON value as JavaScript's text.

    The order of keys counts, but for integers as keys, which come first and by size; 1 and 1.0 are
    one number, and numbers that are not finite are null.

    Raises
    ------
    InputError
        When it is nested deeper than ``DEEPEST_VALUE``, has more than ``MOST_ITEMS`` items, or
        holds what JSON has no form for.
    """
    try:
        _check_json(value, DEEPEST_VALUE, [MOST_ITEMS])
    except (TypeError, OverflowError) as error:
        raise InputError(f"not a JSON value: {error}") from None
    return written(value)


def _check_json(value: object, deepest: int, left: list[int]) -> None:
    if value is None or isinstance(value, (str, float)):
        return
    if isinstance(value, int):
        float(value)  # or it is too large for a number of JavaScript
        return
    if not isinstance(value, (Mapping, list, tuple)):
        raise TypeError(f"{type(value).__name__} has no form in JSON")
    # Counted and not remembered: lists that share their parts grow without end as text.
    left[0] -= len(value)
    if not deepest or left[0] < 0:
        limits = f"{DEEPEST_VALUE} levels or {MOST_ITEMS:,} items"
        raise TypeError(f"it has more than {limits}")
    if isinstance(value, Mapping):
        for key in value:
            if key is not None and not isinstance(key, (str, int, float)):
                raise TypeError(f"a key of type {type(key).__name__} has no form in JSON")
        value = tuple(value.values())
    for item in value:
        _check_json(item, deepest - 1, left)
