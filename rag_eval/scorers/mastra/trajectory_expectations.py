"""Expectations of a trajectory: steps, their order, budgets, forbidden tools."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Final, Literal, TypeAlias

from rag_eval.errors import InputError, glance, suggestion
from rag_eval.plumbing.checked_values import flag
from rag_eval.plumbing.spelling import camel_case
from rag_eval.scorers.mastra.options import checked_number
from rag_eval.scorers.mastra.trajectory_steps import (
    DEEPEST,
    StepCount,
    TrajectoryStep,
    step_name,
    step_type,
    steps_of,
)

Ordering: TypeAlias = Literal["relaxed", "strict", "unordered"]
ORDERINGS: Final = ("relaxed", "strict", "unordered")

_CALL: Final = ("toolArgs", "toolResult", "success")
# What makes steps of a type alike, where the expected one has it (@mastra/evals 1.10.2).
_COMPARED: Final[Mapping[str, tuple[str, ...]]] = {
    "tool_call": _CALL,
    "mcp_tool_call": (*_CALL, "mcpServer"),
    "model_generation": ("modelId", "promptTokens", "completionTokens", "finishReason"),
    "agent_run": ("agentId",),
    "workflow_step": ("stepId", "status", "output"),
    "workflow_run": ("workflowId", "status"),
    "workflow_conditional": ("conditionCount", "selectedSteps"),
    "workflow_parallel": ("branchCount", "parallelSteps"),
    "workflow_loop": ("loopType", "totalIterations"),
    "workflow_sleep": ("sleepDurationMs", "sleepType"),
    "workflow_wait_event": ("eventName", "eventReceived"),
    "processor_run": ("processorId",),
}
# What a whole trajectory has beside its steps, which is nothing to expect.
_UNREAD: Final = frozenset({"totalDurationMs", "rawOutput", "metadata", "id", "description"})
_BUDGETS: Final = ("max_steps", "max_total_tokens", "max_total_duration_ms")


@dataclass(frozen=True, slots=True)
class ExpectedStep:
    """A step that is expected.

    Attributes
    ----------
    name : str
    step_type : str or None
        None for any.
    compared : tuple of (str, str)
        Fields that have to be equal, and their JSON texts; none where no type is given.
    children : TrajectoryExpectation or None
        What is expected of the steps within it.
    """

    name: str
    step_type: str | None = None
    compared: tuple[tuple[str, str], ...] = ()
    children: TrajectoryExpectation | None = None

    def matches(self, step: TrajectoryStep) -> bool:
        """Whether a step is this one."""
        if step.name != self.name:
            return False
        if self.step_type is None:
            return True
        return step.step_type == self.step_type and all(
            step.text(name) == text for name, text in self.compared
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class TrajectoryExpectation:
    """What is expected; None if nothing is said.

    Attributes
    ----------
    steps : tuple of ExpectedStep or None
    ordering : {"relaxed", "strict", "unordered"} or None
    allow_repeated_steps, no_redundant_calls : bool or None
    max_steps, max_total_tokens, max_total_duration_ms, max_retries_per_tool : float or None
    blacklisted_tools : tuple of str or None
    blacklisted_sequences : tuple of tuple of str or None
    """

    steps: tuple[ExpectedStep, ...] | None = None
    ordering: Ordering | None = None
    allow_repeated_steps: bool | None = None
    max_steps: float | None = None
    max_total_tokens: float | None = None
    max_total_duration_ms: float | None = None
    no_redundant_calls: bool | None = None
    max_retries_per_tool: float | None = None
    blacklisted_tools: tuple[str, ...] | None = None
    blacklisted_sequences: tuple[tuple[str, ...], ...] | None = None

    def check_limits(self) -> None:
        """Check that budgets are finite numbers of at least 0, those of nested steps included."""
        for name in (*_BUDGETS, "max_retries_per_tool"):
            value = getattr(self, name)
            if value is not None:
                checked_number(value, name)
        for step in self.steps or ():
            if step.children is not None:
                step.children.check_limits()

    def overridden(self, other: TrajectoryExpectation) -> TrajectoryExpectation:
        """This one, with all that the other says in its place."""
        said = {each.name: getattr(other, each.name) for each in fields(other)}
        return replace(self, **{name: value for name, value in said.items() if value is not None})


NOTHING_EXPECTED: Final = TrajectoryExpectation()


def expectation_of(source: object, owner: str = "expected_trajectory") -> TrajectoryExpectation:
    """An expectation from a list of steps, or a mapping in camelCase or snake_case.

    Steps are mappings of ``name``, ``stepType`` and fields to compare; their ``children`` are an
    expectation themselves. Budgets are checked by :meth:`TrajectoryExpectation.check_limits`.

    Raises
    ------
    InputError
        For a value of another form, a name that means nothing, and too many steps or levels.
    """
    if isinstance(source, TrajectoryExpectation):
        return source
    return _Reader().expectation(source, owner, DEEPEST)


def checked_ordering(value: object, owner: str = "ordering") -> object:
    """An ordering, or None."""
    if value is not None and value not in ORDERINGS:
        found = repr(value)[:80] if isinstance(value, str) else type(value).__name__
        raise InputError(f"{owner} must be one of {', '.join(ORDERINGS)}, got {found}")
    return value


def checked_flag(value: object, owner: str) -> object:
    """A setting that is True, False or None."""
    return None if value is None else flag(value, owner)


class _Reader:
    __slots__ = ("_count",)

    def __init__(self) -> None:
        self._count = StepCount()

    def expectation(self, source: object, owner: str, deepest: int) -> TrajectoryExpectation:
        if source is None:
            return NOTHING_EXPECTED
        if not isinstance(source, Mapping):
            return TrajectoryExpectation(steps=self._steps(source, owner, deepest))
        found: dict[str, Any] = {}
        for given, value in source.items():
            name = _known(given, owner)
            if name is not None and value is not None:
                if name in found:
                    raise InputError(f"{owner}: {given!r} is given in two spellings")
                found[name] = value
        if "steps" in found:
            found["steps"] = self._steps(found["steps"], owner, deepest)
        for name, check in _CHECKS.items():
            if name in found:
                found[name] = check(found[name], f"{owner}: {camel_case(name)}")
        return TrajectoryExpectation(**found)

    def _steps(self, source: object, owner: str, deepest: int) -> tuple[ExpectedStep, ...]:
        steps = steps_of(source, owner)
        self._count.take(len(steps), owner, deepest)
        return tuple(self._step(step, owner, n, deepest) for n, step in enumerate(steps))

    def _step(
        self, source: Mapping[str, Any], owner: str, place: int, deepest: int
    ) -> ExpectedStep:
        if "data" in source:
            # The documents of the package promise to compare it; version 1.10.2 does not read it.
            wanted = "toolArgs, toolResult, output and the like"
            raise InputError(
                f"{owner}: step {place} has data, which is not compared; give {wanted}"
            )
        children = source.get("children")
        kind = step_type(source, owner, place)
        inner = f"children in {owner}"
        step = TrajectoryStep(step_name(source, owner, place), kind, source)
        compared = _COMPARED.get(kind, ()) if kind is not None else ()
        return ExpectedStep(
            name=step.name,
            step_type=kind,
            compared=tuple(
                (name, text) for name in compared if (text := step.text(name)) is not None
            ),
            children=None if children is None else self.expectation(children, inner, deepest - 1),
        )


def _known(given: object, owner: str) -> str | None:
    """The field of that name; None for what a trajectory has and an expectation does not."""
    name = _SPELLINGS.get(given) if isinstance(given, str) else None
    if name is None and camel_case(str(given)) not in _UNREAD:
        raise InputError(f"{owner} has no field {glance(given)}{suggestion(given, _SPELLINGS)}")
    return name


_SPELLINGS: Final = {
    spelling: each.name
    for each in fields(TrajectoryExpectation)
    for spelling in (each.name, camel_case(each.name))
}


def _names(value: object, owner: str) -> tuple[str, ...]:
    listed = isinstance(value, Sequence) and not isinstance(value, (str, bytes))
    if not listed or not all(isinstance(name, str) for name in value):  # type: ignore[attr-defined]
        raise InputError(f"{owner} must be a list of names of tools")
    return tuple(value)  # type: ignore[arg-type]


def _sequences(value: object, owner: str) -> tuple[tuple[str, ...], ...]:
    if not isinstance(value, Sequence) or isinstance(value, (str, bytes)):
        raise InputError(f"{owner} must be a list of lists of names of tools")
    return tuple(_names(names, f"{owner}[{place}]") for place, names in enumerate(value))


_CHECKS: Final = {
    "ordering": checked_ordering,
    "allow_repeated_steps": checked_flag,
    "no_redundant_calls": checked_flag,
    "blacklisted_tools": _names,
    "blacklisted_sequences": _sequences,
}
