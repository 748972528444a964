"""The results of a golden dataset: of each case, and as a whole."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rag_eval.golden.outputs import CaseOutput


@dataclass(frozen=True, slots=True)
class CaseSignal:
    """The score of one expectation of a case.

    Attributes
    ----------
    name : str
        ``expected_output``, ``expected_tool_calls``, ``expected_retrieved_ids``, ``assertions``, or
        a metric.
    score : float or None
        From 0 to 1; None if there was nothing to score, which is excluded from the average.
    passed : bool or None
        Threshold of this signal, if it has its own.
    explanation : str
    """

    name: str
    score: float | None
    passed: bool | None = None
    explanation: str = ""

    def to_dict(self) -> dict[str, Any]:
        """The signal as JSON (camelCase), without fields that are None."""
        found: dict[str, Any] = {"name": self.name, "score": self.score}
        if self.passed is not None:
            found["passed"] = self.passed
        return found | ({"explanation": self.explanation} if self.explanation else {})


@dataclass(frozen=True, slots=True)
class CaseResult:
    """The result of a case.

    Attributes
    ----------
    id : str
    score : float
        The mean of its signals, in [0, 1]; 1 if nothing was expected, 0 with an error.
    passed : bool
    error : str or None
        Why there is no output, or why the output could not be scored.
    signals : tuple of CaseSignal
    output : CaseOutput or None
    weight : float
    """

    id: str
    score: float
    passed: bool
    error: str | None = None
    signals: tuple[CaseSignal, ...] = ()
    output: CaseOutput | None = None
    weight: float = 1.0

    def to_dict(self) -> dict[str, Any]:
        """The result as JSON (camelCase), without fields that are None."""
        found: dict[str, Any] = {"id": self.id, "score": self.score, "passed": self.passed}
        if self.error is not None:
            found["error"] = self.error
        if self.weight != 1:
            found["weight"] = self.weight
        if self.signals:
            found["signals"] = [signal.to_dict() for signal in self.signals]
        return found | ({} if self.output is None else self.output.to_dict())


@dataclass(frozen=True, slots=True)
class EvalRunResult:
    """The result of a golden dataset.

    Attributes
    ----------
    dataset, version : str
    case_results : tuple of CaseResult
        In the order of the cases.
    average : float
        Mean of the scores, weighted by the cases' weights; 0 without cases.
    min_average_score : float
        Threshold for every case and for the average.
    passed : bool
        Whether there was a case, no case had an error, and every case and the average reached the
        threshold.
    """

    dataset: str
    version: str
    case_results: tuple[CaseResult, ...]
    average: float
    min_average_score: float
    passed: bool

    @property
    def failed(self) -> tuple[CaseResult, ...]:
        """The cases that did not pass."""
        return tuple(result for result in self.case_results if not result.passed)

    @property
    def n_errors(self) -> int:
        """How many cases have an error."""
        return sum(result.error is not None for result in self.case_results)

    def to_dict(self) -> dict[str, Any]:
        """The result as JSON (camelCase)."""
        return {
            "dataset": self.dataset,
            "version": self.version,
            "passed": self.passed,
            "average": self.average,
            "minAverageScore": self.min_average_score,
            "totalCases": len(self.case_results),
            "passedCases": len(self.case_results) - len(self.failed),
            "erroredCases": self.n_errors,
            "caseResults": [result.to_dict() for result in self.case_results],
        }


def run_result(
    dataset: str, version: str, results: Sequence[CaseResult], min_average_score: float
) -> EvalRunResult:
    """The results of all cases, put together."""
    average = weighted_mean([(result.score, result.weight) for result in results])
    passed = bool(results) and average >= min_average_score
    passed = passed and all(result.passed and result.error is None for result in results)
    return EvalRunResult(dataset, version, tuple(results), average, min_average_score, passed)


def weighted_mean(pairs: Sequence[tuple[float, float]]) -> float:
    """Mean of values by weights; never outside of their range. 0 if the weights add up to 0."""
    total = math.fsum(weight for _, weight in pairs)
    if not total:
        return 0.0
    mean = math.fsum(value * weight for value, weight in pairs) / total
    # Three times 0.7 over three is below 0.7 in doubles, which would fail a threshold of 0.7.
    values = [value for value, weight in pairs if weight]
    return min(max(mean, min(values)), max(values))
