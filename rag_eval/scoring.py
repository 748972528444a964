"""evaluate, evaluate_batch, Evaluator: options -> plan -> kernels -> results."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Unpack

import numpy as np
import numpy.typing as npt

from rag_eval.batch_results import BatchEvalResult, assemble, stacked
from rag_eval.calibrating import calibrated
from rag_eval.calibration_files import read_calibrations
from rag_eval.clock import Clock
from rag_eval.engine import score_blocks, thread_count
from rag_eval.errors import InputError
from rag_eval.explaining import explain_row
from rag_eval.inputs.objects import is_table, object_blocks, row_count
from rag_eval.metrics.registry import OVERLAP_METRICS
from rag_eval.options import (
    BATCH_KEYS,
    CONFIG_KEYS,
    EVALUATE_KEYS,
    REGRESSION_THRESHOLD,
    BatchEvaluateOptions,
    EvaluateOptions,
    EvaluatorConfig,
    HeuristicOptions,
    Plan,
    make_plan,
    metric_list,
    normalized,
    number,
    overlaid,
    whole_from_one,
)
from rag_eval.progress import Progress
from rag_eval.regressions import Baseline, check_signatures, compare_means
from rag_eval.results import EvalResult, MetricResult
from rag_eval.rows import store_for
from rag_eval.samples import EvalSample, MetricId, to_metric_id
from rag_eval.signature import Signature
from rag_eval.sources import FieldNeeds, SampleLike, pack_block, read_rows


def evaluate(
    sample: SampleLike,
    metrics: Iterable[str] | None = None,
    **options: Unpack[EvaluateOptions],
) -> EvalResult:
    """Score one sample and explain its scores.

    Parameters
    ----------
    sample : dict, mapping or EvalSample
        Only the fields that the metrics read have to be there.
    metrics : iterable of str, optional
        Metric ids in snake_case or camelCase; the seven by default.
    **options : EvaluateOptions
        ``profile`` ("overlap" or "grounded"), ``thresholds``, ``composite_threshold`` (0.6; 0.5 in
        the grounded profile), ``composite_weights`` (1 each), ``heuristic``, ``language``,
        ``stemmer``, ``calibration``; see there.

    Returns
    -------
    EvalResult
        ``result.passed`` is true when no metric is below its threshold and the composite score,
        the weighted mean of the scores that are not null, reaches its own.

    Raises
    ------
    InputError
        Naming the field, what was found and what was wanted.
    TypeError
        For an option that does not exist.
    """
    known = normalized(options, "evaluate", EVALUATE_KEYS)
    return _evaluate(sample, calibrated(make_plan(metrics, known), known)[0])


def evaluate_batch(
    samples: Iterable[SampleLike],
    metrics: Iterable[str] | None = None,
    **options: Unpack[BatchEvaluateOptions],
) -> BatchEvalResult:
    """Score many samples natively, block by block, on several threads.

    Parameters
    ----------
    samples : iterable of dict, mapping or EvalSample, in any mix; or a table
        A list or tuple is kept by reference, and so are the columns of a table (an object with
        ``__arrow_c_stream__``, such as those of pyarrow, polars and duckdb; a frame of pandas; a
        data set of Hugging Face); of a generator the packed texts are kept; with
        ``keep_texts=False`` nothing is, and rows cannot be opened.
    metrics : iterable of str, optional
        Metric ids in snake_case or camelCase; all seven by default.
    **options : BatchEvaluateOptions
        As for :func:`evaluate`, and ``threads``, ``on_progress``, ``baseline_result``,
        ``regression_threshold`` (0.05), ``keep_texts``; see there.

    Returns
    -------
    BatchEvalResult
        The same bits at any number of threads and for any kind of input.

    Raises
    ------
    InputError
        At the first bad sample, naming it, the field, what was found and what was wanted.
    SignatureMismatchError
        When the baseline was scored under other settings.
    """
    known = normalized(options, "evaluate_batch", BATCH_KEYS)
    return _evaluate_batch(samples, metrics, known)


def compute_metric(
    metric_id: str, sample: SampleLike, **heuristic: Unpack[HeuristicOptions]
) -> MetricResult:
    """Score one metric of one sample at its default threshold, in the overlap profile.

    Parameters
    ----------
    metric_id : str
        In snake_case or camelCase; an unknown one is an InputError.
    sample : dict, mapping or EvalSample
    **heuristic : HeuristicOptions
    """
    metric = to_metric_id(metric_id)
    known = normalized({"heuristic": heuristic}, "compute_metric", EVALUATE_KEYS)
    return _evaluate(sample, make_plan([metric], known)).metrics[metric]


def _scorer(metric: MetricId) -> Callable[..., MetricResult]:
    def score(sample: SampleLike, **heuristic: Unpack[HeuristicOptions]) -> MetricResult:
        return compute_metric(metric, sample, **heuristic)

    spec = OVERLAP_METRICS[metric]
    score.__name__ = score.__qualname__ = f"score_{metric}"
    score.__doc__ = (
        f"Score {metric} of one sample.\n\n"
        f"{spec.summary}.\nReads {', '.join(spec.fields)}; passes from {spec.threshold} on; "
        "higher is better.\n"
    )
    return score


score_faithfulness = _scorer("faithfulness")
score_answer_relevance = _scorer("answer_relevance")
score_context_precision = _scorer("context_precision")
score_context_recall = _scorer("context_recall")
score_context_relevance = _scorer("context_relevance")
score_answer_correctness = _scorer("answer_correctness")
score_hallucination_rate = _scorer("hallucination_rate")


class Evaluator:
    """Evaluation with options fixed in advance; make one with :func:`create_evaluator`."""

    __slots__ = ("_config",)

    def __init__(self, config: Mapping[str, Any]) -> None:
        known = normalized(config, "create_evaluator", CONFIG_KEYS)
        if known.get("metrics") is not None:
            known["metrics"] = metric_list(known["metrics"])
        if known.get("calibration") is not None:
            # Read once: a file may have changed by the next call.
            known["calibration"] = read_calibrations(known["calibration"])
        calibrated(make_plan(known.get("metrics"), known), known)
        self._config = {name: _frozen(value) for name, value in known.items()}

    @property
    def config(self) -> Mapping[str, Any]:
        """The options this evaluator was made with, by their snake_case names; read-only."""
        return MappingProxyType(self._config)

    def evaluate(
        self,
        sample: SampleLike,
        metrics: Iterable[str] | None = None,
        **options: Unpack[EvaluateOptions],
    ) -> EvalResult:
        """As :func:`evaluate`; metrics and options given here win over the configuration."""
        known = self._merged(normalized(options, "evaluate", EVALUATE_KEYS))
        return _evaluate(sample, calibrated(make_plan(self._metrics(metrics), known), known)[0])

    def evaluate_batch(
        self,
        samples: Iterable[SampleLike],
        metrics: Iterable[str] | None = None,
        **options: Unpack[BatchEvaluateOptions],
    ) -> BatchEvalResult:
        """As :func:`evaluate_batch`; metrics and options given here win over the configuration."""
        known = self._merged(normalized(options, "evaluate_batch", BATCH_KEYS))
        return _evaluate_batch(samples, self._metrics(metrics), known)

    def _metrics(self, metrics: Iterable[str] | None) -> Iterable[str] | None:
        return self._config.get("metrics") if metrics is None else metrics

    def _merged(self, call: dict[str, Any]) -> dict[str, Any]:
        return overlaid(self._config, call)

    def __reduce__(self) -> tuple[Any, ...]:
        return Evaluator, ({name: _thawed(value) for name, value in self._config.items()},)

    def __repr__(self) -> str:
        return f"Evaluator({self._config!r})"


def _frozen(value: Any) -> Any:
    """An option that its caller's later changes do not reach."""
    if isinstance(value, list):
        return tuple(value)
    if type(value) is dict:
        return MappingProxyType({name: _frozen(item) for name, item in value.items()})
    return value


def _thawed(value: Any) -> Any:
    return dict(value) if isinstance(value, MappingProxyType) else value


def create_evaluator(**config: Unpack[EvaluatorConfig]) -> Evaluator:
    """An evaluator whose options are fixed in advance.

    Parameters
    ----------
    **config : EvaluatorConfig
        Options of :func:`evaluate_batch`, and ``metrics``. A call's own options win: thresholds,
        composite weights and heuristic options are merged key by key, others are replaced, None
        with the library's default.
    """
    return Evaluator(config)


# ---------------------------------------------------------------------------- what they share


def _evaluate(sample: SampleLike, plan: Plan) -> EvalResult:
    clock = Clock()
    needs = FieldNeeds.of(plan.columns, plan.settings.profile)
    try:
        batch = pack_block(read_rows([sample], 0, needs), needs)
    except InputError as error:
        # One sample needs no number.
        raise InputError(str(error).replace("sample 0", "sample", 1)) from None
    result = explain_row(sample, batch, 0, plan, clock.now())
    return replace(result, duration_ms=clock.elapsed_ms)


def _evaluate_batch(
    samples: Iterable[SampleLike], metrics: Iterable[str] | None, options: Mapping[str, Any]
) -> BatchEvalResult:
    clock = Clock()
    plan, notes = calibrated(make_plan(metrics, options), options)
    if not is_table(samples) and (
        isinstance(samples, (str, bytes, Mapping, EvalSample)) or not isinstance(samples, Iterable)
    ):
        raise InputError(f"samples must be a list of samples, got {type(samples).__name__}")
    if options.get("concurrency") is not None:
        whole_from_one(options["concurrency"], "concurrency")
    threads = thread_count(options.get("threads"))
    threshold = options.get("regression_threshold")
    limit = REGRESSION_THRESHOLD if threshold is None else number(threshold, "regression_threshold")
    baseline, note = _baseline(plan, options)
    keep = options.get("keep_texts") is not False
    needs = FieldNeeds.of(plan.columns, plan.settings.profile)
    store = store_for(samples, needs, is_table=is_table(samples)) if keep else None
    scores: list[npt.NDArray[np.float64]] = []
    reasons: list[npt.NDArray[np.uint8]] = []
    with Progress(options.get("on_progress"), row_count(samples)) as progress:
        for block in score_blocks(object_blocks(samples, needs, threads), plan, needs, threads):
            if store is not None:
                store.add(block.rows, block.batch)
            scores.append(block.scores)
            reasons.append(block.null_reasons)
            progress.advance(len(block.scores))
    result = assemble(
        plan,
        stacked(scores, len(plan.columns), np.float64),
        stacked(reasons, len(plan.columns), np.uint8),
        store,
        evaluated_at=clock.now(),
        duration_ms=clock.elapsed_ms,
    )
    if note:
        notes.append(note)
    return _compared(replace(result, notes=notes), plan, baseline, limit)


def _baseline(plan: Plan, options: Mapping[str, Any]) -> tuple[Baseline | None, str | None]:
    """The baseline, if any, refused before any work when it cannot be compared with."""
    given = options.get("baseline_result")
    if given is None:
        return None, None
    baseline = Baseline.of(given)
    if options.get("allow_signature_mismatch"):
        return baseline, "settings of the baseline were not checked"
    signature = Signature.of(plan.columns, plan.settings)
    return baseline, check_signatures(signature, baseline, plan.columns)


def _compared(
    result: BatchEvalResult,
    plan: Plan,
    baseline: Baseline | None,
    limit: float,
) -> BatchEvalResult:
    if baseline is None:
        return result
    regressions = compare_means(result.aggregates, baseline, plan.metrics, limit)
    return replace(result, regressions=regressions)
