"""Actual and expected steps -> how many of the expected ones were taken, in order.

The rules are those of @mastra/evals 1.10.2. Steps are looked up by name, type and values, so that
long trajectories take time in proportion to their length. A sample without expected steps
has no score; a run scores 0, as in the package.
"""

from __future__ import annotations

import itertools
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from rag_eval.metrics.contract import Fields, Metric, Scored, Scorer
from rag_eval.samples import NullReason
from rag_eval.scorers.mastra.options import settings_of, settings_of_values
from rag_eval.scorers.mastra.runs import Run
from rag_eval.scorers.mastra.scorer import (
    CodeScorer,
    Finding,
    Findings,
    Options,
    round_to_two_decimals,
)
from rag_eval.scorers.mastra.trajectory_expectations import (
    ExpectedStep,
    Ordering,
    TrajectoryExpectation,
    checked_flag,
    checked_ordering,
    expectation_of,
)
from rag_eval.scorers.mastra.trajectory_steps import (
    NO_EXPECTATION,
    NO_STEPS,
    TRAJECTORY_FIELDS,
    Trajectory,
    TrajectoryStep,
    part_of,
    trajectory_of,
    trajectory_of_run,
    trajectory_of_sample,
)

_SURPLUS_COST: Final = 0.5
_REPEAT_COST: Final = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonOptions:
    """How trajectories are compared; None leaves it to the expectation, then to the default.

    Attributes
    ----------
    ordering : {"relaxed", "strict", "unordered"} or None
        Default ``relaxed``: expected steps in their order, others between them cost nothing.
    allow_repeated_steps : bool or None
        Default True. Where False, every name that occurs more than once costs 0.1.
    """

    ordering: Ordering | None = None
    allow_repeated_steps: bool | None = None

    def __post_init__(self) -> None:
        checked_ordering(self.ordering)
        checked_flag(self.allow_repeated_steps, "allow_repeated_steps")


@dataclass(frozen=True, slots=True)
class TrajectoryComparison(Findings):
    """How far a trajectory is the one that was expected.

    Attributes
    ----------
    score : float
        From 0 to 1, with two decimals.
    matched_steps, total_expected_steps, total_actual_steps : int
    missing_steps : tuple of str
        Expected, and not matched.
    extra_steps : tuple of str
        Taken, and nowhere among the names that are expected.
    out_of_order_steps : tuple of str
        Strict: taken where another name was expected, though expected somewhere. Relaxed: expected
        and taken, though not in order. Unordered: none.
    repeated_steps : tuple of str
        Names that occur more than once, each once.
    """

    score: float
    matched_steps: int
    total_expected_steps: int
    total_actual_steps: int
    missing_steps: tuple[str, ...] = ()
    extra_steps: tuple[str, ...] = ()
    out_of_order_steps: tuple[str, ...] = ()
    repeated_steps: tuple[str, ...] = ()


def compare_trajectories(
    actual: object, expected: object, options: Mapping[str, Any] | None = None, **more: Any
) -> TrajectoryComparison:
    """Compare a trajectory with the expected one.

    Parameters
    ----------
    actual : list of mapping, or mapping
        The actual steps, or ``{"steps": [...]}``.
    expected : list of mapping, or mapping
        The expected steps. A step matches one with the same name; if it has a ``stepType``, the
        type and all its values must be equal as well.
    ordering : {"relaxed", "strict", "unordered"}, default "relaxed"
        Strict: step by step; an extra step costs half as much as a missing one. Relaxed: in order,
        with other steps in between. Unordered: in any order.
    allow_repeated_steps : bool, default True

    Returns
    -------
    TrajectoryComparison
        If nothing is expected, the score is 1 without any step, else 0.

    Raises
    ------
    InputError
        For steps that cannot be read; see :func:`trajectory_of` and :func:`expectation_of`.
    """
    settings = settings_of(ComparisonOptions, "compare_trajectories", options, more)
    taken = trajectory_of(actual, "actual trajectory").steps
    return compared(taken, chosen(expectation_of(expected, "expected trajectory"), settings))


def chosen(
    expectation: TrajectoryExpectation, settings: ComparisonOptions
) -> TrajectoryExpectation:
    """An expectation with the options that are given in place of its own."""
    options = TrajectoryExpectation(
        ordering=settings.ordering, allow_repeated_steps=settings.allow_repeated_steps
    )
    return expectation.overridden(options)


def compared(
    actual: Sequence[TrajectoryStep], expectation: TrajectoryExpectation
) -> TrajectoryComparison:
    """Compare steps that are read already."""
    expected = expectation.steps or ()
    taken, wanted = [step.name for step in actual], [step.name for step in expected]
    matched = _MATCHERS[expectation.ordering or "relaxed"](actual, expected)
    # Where nothing is expected, nothing else is looked at.
    names = Counter(taken if expected else ())
    repeated = tuple(name for name, count in names.items() if count > 1)
    strict = expectation.ordering == "strict"
    score = _score(sum(matched), len(expected), len(actual), strict=strict)
    if expectation.allow_repeated_steps is False:
        score = max(0.0, score - len(repeated) * _REPEAT_COST)
    known = set(wanted)
    return TrajectoryComparison(
        score=round_to_two_decimals(max(0.0, min(1.0, score))),
        matched_steps=sum(matched),
        total_expected_steps=len(expected),
        total_actual_steps=len(actual),
        missing_steps=_unmatched(wanted, matched),
        extra_steps=tuple(name for name in taken if name not in known),
        out_of_order_steps=_out_of_order(taken, wanted, matched, expectation.ordering),
        repeated_steps=repeated,
    )


def _score(n_matched: int, n_expected: int, n_actual: int, *, strict: bool) -> float:
    if not n_expected:
        return 0.0 if n_actual else 1.0
    score = n_matched / n_expected
    if strict and n_actual > n_expected:
        score = max(0.0, score - _SURPLUS_COST * (n_actual - n_expected) / n_expected)
    return score


def _unmatched(names: Iterable[str], matched: Iterable[bool]) -> tuple[str, ...]:
    return tuple(name for name, hit in zip(names, matched, strict=True) if not hit)


def _out_of_order(
    taken: Sequence[str], wanted: Sequence[str], matched: list[bool], ordering: Ordering | None
) -> tuple[str, ...]:
    if ordering == "unordered":
        return ()
    if ordering == "strict":
        # A step of the right name and other values is missing, and not out of order.
        known = set(wanted)
        pairs = itertools.zip_longest(taken, wanted[: len(taken)])
        return tuple(name for name, other in pairs if name != other and name in known)
    done = set(taken)
    return tuple(name for name in _unmatched(wanted, matched) if name in done)


# ---------------------------------------------------------------------------------- the orderings


@dataclass(slots=True)
class StepIndex:
    """Steps that were taken, found by what an expected one asks for."""

    steps: Sequence[TrajectoryStep]
    _by_name: dict[str, list[int]] = field(default_factory=dict)
    _by_values: dict[Any, dict[tuple[str | None, ...], list[int]]] = field(default_factory=dict)
    _used: bytearray = field(default_factory=bytearray)
    _heads: dict[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._used = bytearray(len(self.steps))
        for place, step in enumerate(self.steps):
            self._by_name.setdefault(step.name, []).append(place)

    def places(self, wanted: ExpectedStep) -> Sequence[int]:
        """Where the steps are that match, in ascending order."""
        named = self._by_name.get(wanted.name)
        if named is None or wanted.step_type is None:
            return named or ()
        names = tuple(name for name, _ in wanted.compared)
        key = (wanted.name, wanted.step_type, names)
        if key not in self._by_values:
            self._by_values[key] = self._indexed(named, wanted.step_type, names)
        return self._by_values[key].get(tuple(text for _, text in wanted.compared), ())

    def _indexed(
        self, places: Iterable[int], step_type: str, names: tuple[str, ...]
    ) -> dict[tuple[str | None, ...], list[int]]:
        found: dict[tuple[str | None, ...], list[int]] = {}
        for place in places:
            step = self.steps[place]
            if step.step_type == step_type:
                texts = tuple(step.text(name) for name in names)
                found.setdefault(texts, []).append(place)
        return found

    def take_first(self, wanted: ExpectedStep) -> TrajectoryStep | None:
        """The first step that matches and was not taken before; None if there is none."""
        places = self.places(wanted)
        # Lists of places live as long as this index does, so that ids stay theirs.
        head = self._heads.get(id(places), 0)
        while head < len(places) and self._used[places[head]]:
            head += 1
        self._heads[id(places)] = head
        if head == len(places):
            return None
        self._used[places[head]] = 1
        return self.steps[places[head]]

    def take_named(self, wanted: ExpectedStep) -> TrajectoryStep | None:
        """The same by name and type alone, whatever the values."""
        return self.take_first(replace(wanted, compared=()))


def _strict(actual: Sequence[TrajectoryStep], expected: Sequence[ExpectedStep]) -> list[bool]:
    hits = [wanted.matches(step) for wanted, step in zip(expected, actual, strict=False)]
    return hits + [False] * (len(expected) - len(hits))


def _relaxed(actual: Sequence[TrajectoryStep], expected: Sequence[ExpectedStep]) -> list[bool]:
    """Each takes the first after the last that was taken; a miss takes none."""
    index = StepIndex(actual)
    last, hits = -1, []
    for wanted in expected:
        places = index.places(wanted)
        after = bisect_right(places, last)
        hits.append(after < len(places))
        if hits[-1]:
            last = places[after]
    return hits


def _unordered(actual: Sequence[TrajectoryStep], expected: Sequence[ExpectedStep]) -> list[bool]:
    index = StepIndex(actual)
    return [index.take_first(wanted) is not None for wanted in expected]


_MATCHERS: Final = {"strict": _strict, "relaxed": _relaxed, "unordered": _unordered}


# ------------------------------------------------------------------------------ trajectory accuracy


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
    """The comparison, None if no steps are expected; and what it was made with."""
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


def create_trajectory_accuracy_scorer_code(options: Options = None, **more: Any) -> CodeScorer:
    """How far the steps of an agent match the expected ones; 0 to 1, no judge.

    Parameters
    ----------
    options : mapping, optional
        Options in snake_case or camelCase.
    expected_trajectory : list of mapping, or mapping, optional
        The expected steps; None uses those of the run, and a run without them scores 0.
    comparison_options : mapping, optional
        ``ordering`` and ``allow_repeated_steps``, see :func:`compare_trajectories`. Those of a run
        take precedence.
    """
    return CodeScorer(ID, settings_of(TrajectoryAccuracyCodeOptions, ID, options, more), _found)


def _trajectory_accuracy(expected_trajectory: Any = None, comparison_options: Any = None) -> Scorer:
    options = settings_of_values(
        TrajectoryAccuracyCodeOptions,
        ID,
        {"expected_trajectory": expected_trajectory, "comparison_options": comparison_options},
    )

    def score(fields: Fields) -> Scored:
        trajectory = trajectory_of_sample(fields)
        if trajectory is None:
            return NO_STEPS
        found, _ = accuracy_of(trajectory, options, fields.get("expected_trajectory"))
        if found is None:
            reason = NullReason.MISSING_FIELD
            return Scored(None, reason, f"{NO_EXPECTATION} an option.")
        return Scored(found.score, NullReason.MEASURED, _words(found), [part_of("accuracy", found)])

    return Scorer(score)


def _words(found: TrajectoryComparison) -> str:
    text = f"{found.matched_steps} of {found.total_expected_steps} expected steps were taken"
    return f"{text}, {found.total_actual_steps} steps in all."


METRICS: Final = (
    Metric(
        id=ID,
        summary="Share of the expected steps that were taken, by default in order",
        create=_trajectory_accuracy,
        fields=(),
        optional=TRAJECTORY_FIELDS,
        options={"expected_trajectory": None, "comparison_options": None},
        cost="python",
        source="@mastra/evals 1.10.2",
        null_when="no steps given, or none expected",
        version=3,
    ),
)
