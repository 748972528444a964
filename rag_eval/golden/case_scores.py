"""A case and its output -> scores: one for each thing that was expected, and their mean."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from rag_eval.errors import CustomMetricError, InputError
from rag_eval.golden.datasets import GoldenCase
from rag_eval.golden.metric_signals import NO_EARLIER_RUN, ScorerOptions, metric_signals, sample_of
from rag_eval.golden.outputs import CaseOutput
from rag_eval.golden.results import CaseResult, CaseSignal, weighted_mean
from rag_eval.scorers.javascript import trimmed
from rag_eval.scorers.tool_calls import called_names

PRECISION_CUTOFF: Final = 5
"""Retrieved ids that count, as HazelJS has it."""

_SHOWN_CHECKS: Final = 5


def scored_case(
    case: GoldenCase, output: CaseOutput, min_score: float, options: ScorerOptions
) -> CaseResult:
    """The result of a case: the plain mean of its signals.

    A case that expects nothing scores 1. It passes when the mean reaches ``min_score`` and every
    signal with a threshold of its own reaches that.
    """
    try:
        signals = tuple(case_signals(case, output, options))
    except (CustomMetricError, InputError) as error:
        return failed_case(case, f"not scored: {error}", output)
    scores = [(signal.score, 1.0) for signal in signals if signal.score is not None]
    unscored = [s for s in signals if s.score is None and s.explanation != NO_EARLIER_RUN]
    if unscored and not scores:
        why = "; ".join(f"{signal.name}: {signal.explanation}" for signal in unscored)
        return failed_case(case, f"no metric could be scored ({why})", output, signals)
    score = weighted_mean(scores) if scores else 1.0
    passed = score >= min_score and all(signal.passed is not False for signal in signals)
    return CaseResult(case.id, score, passed, None, signals, output, case.weight)


def failed_case(
    case: GoldenCase,
    error: str,
    output: CaseOutput | None = None,
    signals: tuple[CaseSignal, ...] = (),
) -> CaseResult:
    """The result of a case that has no score."""
    return CaseResult(case.id, 0.0, False, error, signals, output, case.weight)


def case_signals(
    case: GoldenCase, output: CaseOutput, options: ScorerOptions
) -> Iterator[CaseSignal]:
    """One for each thing that a case expects; empty lists expect nothing.

    Where a case names metrics, its expected output is their ground truth and no signal by itself.
    """
    if case.expected_output is not None and not case.metrics:
        score = output_match(output.output, case.expected_output)
        yield CaseSignal("expected_output", score)
    if case.expected_tool_calls:
        from rag_eval.scorers.hazel.trajectory import trajectory_score

        wanted = called_names(case.expected_tool_calls, "expected_tool_calls")
        yield CaseSignal("expected_tool_calls", trajectory_score(output.tool_names, wanted))
    if case.expected_retrieved_ids:
        yield CaseSignal("expected_retrieved_ids", _precision(case, output))
    if case.assertions:
        yield _assertions(case, output)
    yield from metric_signals(case, output, options)


def output_match(output: str, expected: str) -> float:
    """1 if the output contains the text, or equals it apart from case and surrounding space."""
    if expected in output or trimmed(output).lower() == trimmed(expected).lower():
        return 1.0
    return 0.0


def _precision(case: GoldenCase, output: CaseOutput) -> float:
    from rag_eval.retrieval import precision_at_k

    relevant = list(case.expected_retrieved_ids or ())
    return float(precision_at_k(list(output.retrieved_ids), relevant, PRECISION_CUTOFF))


def _assertions(case: GoldenCase, output: CaseOutput) -> CaseSignal:
    """The share of assertions that hold, by their weights."""
    from rag_eval.metrics.registry import metric_of

    spec = metric_of("omk.assertions")
    assert spec is not None
    fields: dict[str, Any] = {**sample_of(case, output), "assertions": list(case.assertions)}
    found = spec.scorer().score(spec.read(fields))
    failed = [str(check["check"]) for check in found.details if check.get("passed") is False]
    named = f"; failed: {', '.join(failed[:_SHOWN_CHECKS])}" if failed else ""
    return CaseSignal("assertions", found.score, None, found.explanation + named)
