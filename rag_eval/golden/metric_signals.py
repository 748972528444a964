"""Metrics that a case names -> signals, by the contracts of scorers and by the kernels."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, TypeAlias

from rag_eval.errors import InputError, suggestion
from rag_eval.golden.datasets import GoldenCase
from rag_eval.golden.outputs import CaseOutput
from rag_eval.golden.results import CaseSignal
from rag_eval.metrics.contract import Metric
from rag_eval.metrics.ids import is_scorer_id
from rag_eval.metrics.registry import metric_of, to_metric_id

ScorerOptions: TypeAlias = Mapping[str, Mapping[str, Any]]
"""Options of scorers, by their ids."""

NO_EARLIER_RUN: Final = "there is no earlier run to compare with"
"""Signals that a case may lack without being an error."""


def metric_signals(
    case: GoldenCase, output: CaseOutput, options: ScorerOptions
) -> Iterator[CaseSignal]:
    """One for each metric of a case.

    Scores from 0 to 1 for which higher is better count as they are; on other scales it counts
    whether the threshold is met.

    Raises
    ------
    InputError
        For a metric that is not known, needs a judge, or has another scale and no threshold.
    """
    if not case.metrics:
        return
    sample = sample_of(case, output)
    for metric in case.metrics:
        yield _signal(*metric_and_spec(metric), case, sample, options)


def _signal(
    metric: str,
    spec: Metric | None,
    case: GoldenCase,
    sample: dict[str, Any],
    options: ScorerOptions,
) -> CaseSignal:
    if not is_scorer_id(metric):
        return _kernel_signal(metric, case, sample)
    if spec is None:
        raise InputError(f"{metric} needs a judge; golden datasets are scored without one")
    if spec.compares_runs:
        return CaseSignal(metric, None, None, NO_EARLIER_RUN)
    if not all(name in sample for name in spec.fields):
        missing = ", ".join(name for name in spec.fields if name not in sample)
        return CaseSignal(metric, None, None, f"missing: {missing}")
    found = spec.scorer(**options.get(metric, {})).score(spec.read(sample))
    least = case.thresholds.get(metric, spec.threshold)
    return _with_threshold(spec, found.score, least, found.explanation)


def metric_and_spec(name: object) -> tuple[str, Metric | None]:
    """The metric of a name, and its contract where it is a scorer that needs no judge.

    Raises
    ------
    InputError
        For an unknown metric.
    """
    metric = to_metric_id(name)
    spec = metric_of(metric)
    return metric, None if spec is None or spec.create is None else spec


def _with_threshold(
    spec: Metric, score: float | None, threshold: float | None, explanation: str
) -> CaseSignal:
    if score is None:
        return CaseSignal(spec.id, None, None, explanation)
    passed = None
    if threshold is not None:
        passed = score >= threshold if spec.higher_is_better else score <= threshold
    if spec.range == (0.0, 1.0) and spec.higher_is_better:
        return CaseSignal(spec.id, score, passed, explanation)
    if passed is None:
        raise InputError(f"{spec.id} is not a score from 0 to 1; give it a threshold in the case")
    text = f"{score:g}. {explanation}".strip()
    return CaseSignal(spec.id, float(passed), passed, text)


def _kernel_signal(metric: str, case: GoldenCase, sample: dict[str, Any]) -> CaseSignal:
    from rag_eval.scoring.evaluation import evaluate

    known = ("question", "answer", "contexts", "ground_truth", "id")
    fields = {name: sample[name] for name in known if name in sample}
    found = evaluate(fields, metrics=[metric]).metrics[metric].score
    least = case.thresholds.get(metric)
    if found is None:
        return CaseSignal(metric, None, None, "null")
    passed = None if least is None else found >= least
    if metric == "hallucination_rate":
        passed = None if least is None else found <= least
        return CaseSignal(metric, 1.0 - found, passed, "1 minus the rate")
    return CaseSignal(metric, found, passed)


def sample_of(case: GoldenCase, output: CaseOutput) -> dict[str, Any]:
    """A case and its output as a sample, under the field names that scorers read."""
    found = {
        "id": case.id,
        "question": case.input,
        "answer": output.output,
        "ground_truth": case.expected_output or None,
        "contexts": None if case.contexts is None else list(case.contexts),
        "tool_calls": list(output.tool_calls),
        "expected_tool_calls": case.expected_tool_calls and list(case.expected_tool_calls),
        "retrieved_ids": list(output.retrieved_ids),
        "relevant_ids": case.expected_retrieved_ids and list(case.expected_retrieved_ids),
        "metadata": dict(case.metadata) or None,
    }
    found |= output.fields
    return {name: value for name, value in found.items() if value is not None}


def checked_options(options: object) -> ScorerOptions:
    """Options of scorers by their full ids, names checked; their values are the scorers' to check.

    Raises
    ------
    InputError
        For an unknown scorer or option.
    """
    if options is None:
        return {}
    if not isinstance(options, Mapping):
        raise InputError(f"scorer_options must be a mapping, got {type(options).__name__}")
    found: dict[str, Mapping[str, Any]] = {}
    for name, given in options.items():
        metric, spec = metric_and_spec(name)
        if spec is None or not isinstance(given, Mapping):
            raise InputError(f"scorer_options[{name!r}] must map a scorer to a mapping")
        known = (*spec.options, *spec.required_options)
        for option in given:
            if option not in known:
                hint = suggestion(option, known)
                raise InputError(f"scorer_options[{name!r}]: unknown option {option!r}{hint}")
        found[metric] = given
    return found
