"""A trajectory -> its efficiency, its forbidden tools, and retried tools.

The rules are those of @mastra/evals 1.10.2.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from rag_eval.errors import InputError, glance
from rag_eval.plumbing.javascript_numbers import plain_sum
from rag_eval.scorers.mastra.scorer import Findings, round_to_two_decimals
from rag_eval.scorers.mastra.trajectory_expectations import TrajectoryExpectation, expectation_of
from rag_eval.scorers.mastra.trajectory_steps import Trajectory, TrajectoryStep, trajectory_of

_CALLS: Final = ("tool_call", "mcp_tool_call")
_COST: Final = 0.2
_MOST_RETRIES: Final = 2


@dataclass(frozen=True, slots=True)
class RedundantCall(Findings):
    """A call that repeats the one before it; ``index`` is its place among the steps."""

    name: str
    index: int


@dataclass(frozen=True, slots=True)
class TrajectoryEfficiency(Findings):
    """What a trajectory took, and whether that was too much.

    Attributes
    ----------
    score : float
        Mean over what was asked for, with two decimals: 1 for a budget that was kept, else 1 less
        the share that is over it; and 1 less 0.2 for every redundant call.
    total_steps : int
        Steps within others do not count.
    total_tokens, total_duration_ms : float
        As far as the log has them.
    """

    score: float
    total_steps: int
    over_step_budget: bool
    total_tokens: float
    over_token_budget: bool
    total_duration_ms: float
    over_duration_budget: bool
    redundant_calls: tuple[RedundantCall, ...] = ()


@dataclass(frozen=True, slots=True)
class TrajectoryBlacklist(Findings):
    """Forbidden tools and sequences of tools that were used; the score is 0 if any was."""

    score: float
    violated_tools: tuple[str, ...] = ()
    violated_sequences: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class ToolFailurePattern(Findings):
    """A tool that failed and was called again at once.

    Attributes
    ----------
    tool_name : str
    retry_count : int
        Calls that followed a failed one.
    fell_back_to_alternative : bool
        The last of them failed as well, and another tool was called next.
    eventually_succeeded : bool
    alternative_tool : str or None
    """

    tool_name: str
    retry_count: int
    fell_back_to_alternative: bool
    eventually_succeeded: bool
    alternative_tool: str | None = None


@dataclass(frozen=True, slots=True)
class ToolFailureAnalysis(Findings):
    """Tools that were tried again; each retry past the limit costs 0.2."""

    score: float
    patterns: tuple[ToolFailurePattern, ...] = ()
    total_retries: int = 0
    excessive_retry_tools: tuple[str, ...] = ()


# -------------------------------------------------------------------------------------- efficiency


def check_trajectory_efficiency(
    trajectory: object,
    *,
    max_steps: float | None = None,
    max_total_tokens: float | None = None,
    max_total_duration_ms: float | None = None,
    no_redundant_calls: bool = True,
) -> TrajectoryEfficiency:
    """Whether a trajectory kept within its budgets and repeated no call.

    Parameters
    ----------
    trajectory : list of mapping, or mapping
        Steps, or ``{"steps": [...]}``.
    max_steps, max_total_tokens, max_total_duration_ms : float, optional
        Budgets. Tokens are summed over all ``model_generation`` steps; the duration is that of the
        trajectory, or else the sum over its steps.
    no_redundant_calls : bool, default True
        A tool call is redundant directly after one with the same name, type and arguments.

    Raises
    ------
    InputError
        For a budget that is not a finite number of at least 0, or without measurements for it.
    """
    expectation = TrajectoryExpectation(
        max_steps=max_steps,
        max_total_tokens=max_total_tokens,
        max_total_duration_ms=max_total_duration_ms,
        no_redundant_calls=no_redundant_calls,
    )
    return efficiency(trajectory_of(trajectory), expectation)


def efficiency(trajectory: Trajectory, expectation: TrajectoryExpectation) -> TrajectoryEfficiency:
    """The same, of what is read already."""
    expectation.check_limits()
    wanted = expectation
    tokens = _total_tokens(trajectory.steps, needed=wanted.max_total_tokens is not None)
    duration = _total_duration(trajectory, needed=wanted.max_total_duration_ms is not None)
    redundant: tuple[RedundantCall, ...] = ()
    parts = [
        max(0.0, 1 - _excess(used, limit))
        for used, limit in (
            (len(trajectory.steps), wanted.max_steps),
            (tokens, wanted.max_total_tokens),
            (duration, wanted.max_total_duration_ms),
        )
        if limit is not None
    ]
    if wanted.no_redundant_calls is not False:
        redundant = tuple(_redundant(trajectory.steps))
        parts.append(max(0.0, 1 - _COST * len(redundant)))
    return TrajectoryEfficiency(
        score=round_to_two_decimals(plain_sum(parts) / len(parts)) if parts else 1.0,
        total_steps=len(trajectory.steps),
        over_step_budget=_excess(len(trajectory.steps), wanted.max_steps) > 0,
        total_tokens=tokens,
        over_token_budget=_excess(tokens, wanted.max_total_tokens) > 0,
        total_duration_ms=duration,
        over_duration_budget=_excess(duration, wanted.max_total_duration_ms) > 0,
        redundant_calls=redundant,
    )


def _excess(used: float, limit: float | None) -> float:
    """What is over a budget as a share of it; all of it where the budget is 0."""
    if limit is None or used <= limit:
        return 0.0
    return (used - limit) / limit if limit else 1.0


def _total_tokens(steps: Sequence[TrajectoryStep], *, needed: bool) -> float:
    generations = [step for step in _all_steps(steps) if step.step_type == "model_generation"]
    if needed and not generations:
        raise InputError("max_total_tokens needs a model_generation step, but there is none")
    total: float = 0
    for step in generations:
        for name in ("promptTokens", "completionTokens"):
            total += _measured(step, name, "max_total_tokens" if needed else None)
    return total


def _total_duration(trajectory: Trajectory, *, needed: bool) -> float:
    if trajectory.total_duration_ms is not None:
        return trajectory.total_duration_ms
    budget = "max_total_duration_ms" if needed else None
    if needed and not trajectory.steps:
        raise InputError("max_total_duration_ms needs a duration, but there is no step with one")
    return plain_sum(_measured(step, "durationMs", budget) for step in trajectory.steps)


def _measured(step: TrajectoryStep, name: str, budget: str | None) -> float:
    value = step.amount(name)
    if value is None and budget is not None:
        raise InputError(f"{budget} needs {name} of every step, {glance(step.name)} has none")
    return value or 0


def _all_steps(steps: Iterable[TrajectoryStep]) -> Iterator[TrajectoryStep]:
    for step in steps:
        yield step
        yield from _all_steps(step.children)


def _redundant(steps: Sequence[TrajectoryStep]) -> Iterator[RedundantCall]:
    for place, (before, step) in enumerate(itertools.pairwise(steps), 1):
        if (
            step.step_type in _CALLS
            and (step.name, step.step_type) == (before.name, before.step_type)
            and step.text("toolArgs") == before.text("toolArgs")
        ):
            yield RedundantCall(step.name, place)


# --------------------------------------------------------------------------------------- blacklist


def check_trajectory_blacklist(
    trajectory: object,
    *,
    blacklisted_tools: Sequence[str] = (),
    blacklisted_sequences: Sequence[Sequence[str]] = (),
) -> TrajectoryBlacklist:
    """Whether a trajectory has steps with forbidden names, or forbidden sequences of names.

    Parameters
    ----------
    trajectory : list of mapping, or mapping
        Steps, or ``{"steps": [...]}``; nested steps are ignored.
    blacklisted_tools : sequence of str
    blacklisted_sequences : sequence of sequence of str
        An empty one forbids nothing.
    """
    source = {"blacklistedTools": blacklisted_tools, "blacklistedSequences": blacklisted_sequences}
    return blacklist(trajectory_of(trajectory), expectation_of(source, "blacklist"))


def blacklist(trajectory: Trajectory, expectation: TrajectoryExpectation) -> TrajectoryBlacklist:
    """The same, of what is read already."""
    names = trajectory.names
    done = set(names)
    tools = tuple(name for name in expectation.blacklisted_tools or () if name in done)
    holds = _sequence_finder(names)
    sequences = tuple(names for names in expectation.blacklisted_sequences or () if holds(names))
    return TrajectoryBlacklist(0.0 if tools or sequences else 1.0, tools, sequences)


def _sequence_finder(names: Sequence[str]) -> Callable[[Sequence[str]], bool]:
    """Tells whether names occur in a row; one letter for each name makes it a search in a text."""
    letters: dict[str, str] = {}
    for name in names:
        letters.setdefault(name, chr(len(letters)))
    text = "".join(map(letters.__getitem__, names))

    def holds(sequence: Sequence[str]) -> bool:
        if not sequence or not all(name in letters for name in sequence):
            return False
        return "".join(map(letters.__getitem__, sequence)) in text

    return holds


# -------------------------------------------------------------------------------- failures of tools


def analyze_tool_failures(
    trajectory: object, *, max_retries_per_tool: float = _MOST_RETRIES
) -> ToolFailureAnalysis:
    """The tools that failed and were retried at once, and whether too often.

    Parameters
    ----------
    trajectory : list of mapping, or mapping
        Steps, or ``{"steps": [...]}``; only tool calls are read.
    max_retries_per_tool : float, default 2
        Number of consecutive retries that do not lower the score.

    Notes
    -----
    A tool that failed and was not retried at once does not count.
    """
    expectation = TrajectoryExpectation(max_retries_per_tool=max_retries_per_tool)
    return tool_failures(trajectory_of(trajectory), expectation)


def tool_failures(
    trajectory: Trajectory, expectation: TrajectoryExpectation
) -> ToolFailureAnalysis:
    """The same, of what is read already."""
    expectation.check_limits()
    limit = expectation.max_retries_per_tool
    limit = _MOST_RETRIES if limit is None else limit
    calls = [step for step in trajectory.steps if step.step_type in _CALLS]
    runs = [list(run) for _, run in itertools.groupby(calls, key=lambda step: step.name)]
    patterns = tuple(_patterns(runs))
    excess = sum(max(0, pattern.retry_count - limit) for pattern in patterns)
    return ToolFailureAnalysis(
        score=round_to_two_decimals(max(0.0, 1 - _COST * excess)),
        patterns=patterns,
        total_retries=sum(pattern.retry_count for pattern in patterns),
        excessive_retry_tools=tuple(p.tool_name for p in patterns if p.retry_count > limit),
    )


def _patterns(runs: Sequence[Sequence[TrajectoryStep]]) -> Iterator[ToolFailurePattern]:
    for run, after in itertools.zip_longest(runs, runs[1:]):
        retries = sum(_failed(call) for call in run[:-1])
        if not retries:
            continue
        given_up = _failed(run[-1])
        other = after[0].name if given_up and after else None
        yield ToolFailurePattern(run[0].name, retries, other is not None, not given_up, other)


def _failed(step: TrajectoryStep) -> bool:
    return step.value("success") is False
