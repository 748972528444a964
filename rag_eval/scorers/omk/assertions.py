"""Assertions on a run.  In: assertions as data and what is known of a run.  Out: which hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from rag_eval.errors import InputError, glance
from rag_eval.scorers.omk.assertion_reading import (
    AssertionJudge,
    CustomCheck,
    Finding,
    Helpers,
    Prepared,
    read_assertion,
    read_assertions,
    verdict_of,
)
from rag_eval.scorers.omk.assertion_runs import AssertionRun, run_of_fields
from rag_eval.scorers.omk.assertion_types import Layer
from rag_eval.scorers.omk.layers import ratio_to_score, share_passed
from rag_eval.scorers.texts import cut

RunLike: TypeAlias = AssertionRun | Mapping[str, Any] | str
"""A run, the fields of a sample by their snake_case names, or an output alone."""

_MOST_SHOWN: Final = 10
_NOT_CHECKED: Final = "not checked: it needs a judge; request the metric omk.{} with a judge"


@dataclass(frozen=True, slots=True)
class AssertionResult:
    """The result of one assertion.

    Attributes
    ----------
    type : str
    passed : bool or None
        None if it was not checked for lack of a judge; it does not count then.
    weight : float
    message : str
        Why it did not pass; empty if it did.
    layer : {"fact", "behavior"} or None
        None for sets with leaves of both layers.
    expected : str
        The expectation in words.
    actual : JSON value
        The actual value; long texts and lists are cut.
    """

    type: str
    passed: bool | None
    weight: float
    message: str = ""
    layer: Layer | None = None
    expected: str = ""
    actual: Any = None

    @property
    def score(self) -> float | None:
        """From 1 to 5 as in omk: 5 if it passed."""
        return None if self.passed is None else ratio_to_score(float(self.passed))

    def to_dict(self) -> dict[str, Any]:
        """The detail of a score, as JSON values."""
        return {
            "check": self.type,
            "passed": self.passed,
            "expected": self.expected,
            "actual": self.actual,
            "message": self.message,
            "weight": self.weight,
            "layer": self.layer,
        }


@dataclass(frozen=True, slots=True)
class AssertionScore:
    """The result of several assertions.

    Attributes
    ----------
    ratio : float or None
        Weighted share of the passed assertions, from 0 to 1; None if none was checked.
    results : tuple of AssertionResult
        One by one, in order.
    """

    ratio: float | None
    results: tuple[AssertionResult, ...]

    @property
    def score(self) -> float | None:
        """The ratio on a scale from 1 to 5."""
        return None if self.ratio is None else ratio_to_score(self.ratio)

    @property
    def n_passed(self) -> int:
        """Number of passed assertions."""
        return sum(result.passed is True for result in self.results)

    @property
    def n_checked(self) -> int:
        """Number of checked assertions."""
        return sum(result.passed is not None for result in self.results)

    @property
    def details(self) -> list[dict[str, Any]]:
        """The results as :func:`~rag_eval.scorers.omk.layers.layered_scores` takes them."""
        return [
            {"type": r.type, "weight": r.weight, "passed": r.passed, "layer": r.layer}
            for r in self.results
        ]


def check_assertion(
    assertion: Mapping[str, Any],
    run: RunLike,
    *,
    checks: Mapping[str, CustomCheck] | None = None,
    judge: AssertionJudge | None = None,
) -> AssertionResult:
    """Whether one assertion holds.

    Unknown numbers count as in omk: a cost or duration as infinite, turns as too many for a limit
    and none for a minimum, mocks as not hit; ``not`` negates that, too. An assertion about a
    missing answer fails, with or without ``not``. Missing tool calls count as no calls.

    Parameters
    ----------
    assertion : mapping
        ``type`` and its parameters; ``weight``, a number above 0 (default 1); ``not``, which
        negates it.
    run : AssertionRun, mapping or str
        A mapping has the fields of a sample; a text is an output.
    checks : mapping, optional
        The checks that assertions of type ``custom`` name under ``fn``.
    judge : callable, optional
        Called by the types that need one.

    Raises
    ------
    InputError
        For an invalid assertion, and for one that needs a judge if there is none.
    """
    helpers = Helpers(judge, {} if checks is None else checks)
    return _result(read_assertion(assertion), _run(run), helpers)


def check_assertions(
    assertions: Sequence[Mapping[str, Any]],
    run: RunLike,
    *,
    checks: Mapping[str, CustomCheck] | None = None,
    judge: AssertionJudge | None = None,
) -> AssertionScore:
    """Which assertions hold, with their weights.

    Like :func:`check_assertion`, but without a judge the assertions that need one are skipped, and
    their results say so.
    """
    helpers = Helpers(judge, {} if checks is None else checks)
    return score_of(read_assertions(assertions), _run(run), helpers)


def validate_assertions(assertions: Sequence[Mapping[str, Any]]) -> None:
    """Check assertions before there is any run.

    Raises
    ------
    InputError
        For the first invalid assertion, with its place, the value found and the value expected.
    """
    read_assertions(assertions, strict=True)


def score_of(prepared: Sequence[Prepared], run: AssertionRun, helpers: Helpers) -> AssertionScore:
    """The same for assertions that were read."""
    results = tuple(
        _unchecked(each) if each.judged and helpers.judge is None else _result(each, run, helpers)
        for each in prepared
    )
    counted = [(r.weight, r.passed) for r in results if r.passed is not None]
    return AssertionScore(share_passed(counted), results)


def _run(run: RunLike) -> AssertionRun:
    if isinstance(run, AssertionRun):
        return run
    return AssertionRun(output=run) if isinstance(run, str) else run_of_fields(run)


def _unchecked(prepared: Prepared) -> AssertionResult:
    return _of(prepared, None, _NOT_CHECKED.format(prepared.type))


def _result(prepared: Prepared, run: AssertionRun, helpers: Helpers) -> AssertionResult:
    try:
        finding = prepared.find(run, helpers)
    except InputError as error:
        raise InputError(f"{prepared.place} ({prepared.type}): {error}") from None
    passed = verdict_of(prepared, finding) is True
    actual = shown(finding.actual)
    return _of(prepared, passed, "" if passed else _message(prepared, finding, actual), actual)


def _of(
    prepared: Prepared, passed: bool | None, message: str, actual: Any = None
) -> AssertionResult:
    weight, layer, expected = prepared.weight, prepared.layer, prepared.expected
    return AssertionResult(prepared.type, passed, weight, message, layer, expected, actual)


def _message(prepared: Prepared, finding: Finding, actual: Any) -> str:
    if finding.message:
        return finding.message
    return f"expected: {prepared.expected}; got: {glance(actual, 120)}"


def shown(actual: Any) -> Any:
    """A value as results hold it: texts of at most 80 characters, lists of at most ten."""
    if isinstance(actual, str):
        # Half a character cannot be written to a file of results.
        return cut(actual).encode(errors="replace").decode()
    if isinstance(actual, (list, tuple)):
        return [shown(item) for item in actual[:_MOST_SHOWN]]
    return actual
