"""evaluate, evaluate_batch, Evaluator: options -> plan -> kernels -> results."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any, TypeVar, Unpack

from rag_eval.calibration.applied import planned
from rag_eval.calibration.files import read_calibrations
from rag_eval.errors import InputError
from rag_eval.inputs.samples import FieldNeeds, RowBlock, SampleLike, pack_block, read_rows
from rag_eval.kernels import scoring as kernels
from rag_eval.kernels.columns import SampleBatch
from rag_eval.metrics.registry import to_metric_id
from rag_eval.metrics.seven import OVERLAP_METRICS
from rag_eval.options.plan import (
    BATCH_KEYS,
    CONFIG_KEYS,
    EVALUATE_KEYS,
    BatchEvaluateOptions,
    EvaluateOptions,
    EvaluatorConfig,
    HeuristicOptions,
    Plan,
    make_plan,
    metric_list,
    normalized,
    overlaid,
)
from rag_eval.plumbing.clock import Clock
from rag_eval.plumbing.interrupts import StopFlag, in_thread
from rag_eval.results.batch import BatchEvalResult
from rag_eval.results.judged import JudgedRowScores
from rag_eval.results.row import EvalResult, MetricResult
from rag_eval.samples import MetricId
from rag_eval.scoring.batch import BatchJob
from rag_eval.scoring.engine import scored_block
from rag_eval.scoring.explaining import explain_row

_T = TypeVar("_T")


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
    return _evaluate(sample, _plan(metrics, known))


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
    return BatchJob(samples, metrics, known).run()


async def aevaluate(
    sample: SampleLike,
    metrics: Iterable[str] | None = None,
    **options: Unpack[EvaluateOptions],
) -> EvalResult:
    """As :func:`evaluate`, with the judge asked in the event loop of the caller."""
    known = normalized(options, "aevaluate", EVALUATE_KEYS)
    return await _aevaluate(sample, _plan(metrics, known))


async def aevaluate_batch(
    samples: Iterable[SampleLike],
    metrics: Iterable[str] | None = None,
    **options: Unpack[BatchEvaluateOptions],
) -> BatchEvalResult:
    """As :func:`evaluate_batch`, with the judge asked in the event loop of the caller.

    Kernels run in a thread meanwhile, which is also where ``samples`` is read.
    """
    known = normalized(options, "aevaluate_batch", BATCH_KEYS)
    return await BatchJob(samples, metrics, known).arun()


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
        planned(known.get("metrics"), known)
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
        return _evaluate(sample, _plan(self._metrics(metrics), known))

    def evaluate_batch(
        self,
        samples: Iterable[SampleLike],
        metrics: Iterable[str] | None = None,
        **options: Unpack[BatchEvaluateOptions],
    ) -> BatchEvalResult:
        """As :func:`evaluate_batch`; metrics and options given here win over the configuration."""
        known = self._merged(normalized(options, "evaluate_batch", BATCH_KEYS))
        return BatchJob(samples, self._metrics(metrics), known).run()

    async def aevaluate(
        self,
        sample: SampleLike,
        metrics: Iterable[str] | None = None,
        **options: Unpack[EvaluateOptions],
    ) -> EvalResult:
        """As :func:`aevaluate`; metrics and options given here win over the configuration."""
        known = self._merged(normalized(options, "aevaluate", EVALUATE_KEYS))
        return await _aevaluate(sample, _plan(self._metrics(metrics), known))

    async def aevaluate_batch(
        self,
        samples: Iterable[SampleLike],
        metrics: Iterable[str] | None = None,
        **options: Unpack[BatchEvaluateOptions],
    ) -> BatchEvalResult:
        """As :func:`aevaluate_batch`; metrics and options given here win over the configuration."""
        known = self._merged(normalized(options, "aevaluate_batch", BATCH_KEYS))
        return await BatchJob(samples, self._metrics(metrics), known).arun()

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
    if isinstance(value, MappingProxyType):
        return {name: _thawed(item) for name, item in value.items()}
    return value


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


def _plan(metrics: Iterable[str] | None, options: Mapping[str, Any]) -> Plan:
    return planned(metrics, options)[0]


def _evaluate(sample: SampleLike, plan: Plan) -> EvalResult:
    clock = Clock()
    rows, batch = _packed(sample, plan)
    judged = None
    if plan.judging is not None:
        # Imported where a judge is asked: an event loop takes longer to import than to score.
        from rag_eval.scoring.judge_runs import judge_block

        judged = judge_block(scored_block(rows, batch, plan), plan).judged
    return _explained(sample, batch, judged, plan, clock)


async def _aevaluate(sample: SampleLike, plan: Plan) -> EvalResult:
    clock = Clock()
    rows, batch = _packed(sample, plan)
    judged = None
    if plan.judging is not None:
        from rag_eval.scoring.judge_runs import ajudge_block

        scored = await _apart(batch, scored_block, rows, batch, plan)
        judged = (await ajudge_block(scored, plan)).judged
    return await _apart(batch, _explained, sample, batch, judged, plan, clock)


async def _apart(batch: SampleBatch, function: Callable[..., _T], *arguments: Any) -> _T:
    """Call a function of a batch, in a thread where that may take long."""
    if not kernels.may_take_long(batch):
        return function(*arguments)
    return await in_thread(StopFlag(), function, *arguments)


def _packed(sample: SampleLike, plan: Plan) -> tuple[RowBlock, SampleBatch]:
    needs = FieldNeeds.of(plan.native_columns, plan.settings.profile)
    try:
        rows = read_rows([sample], 0, needs)
        return rows, pack_block(rows, needs)
    except InputError as error:
        # One sample needs no number.
        raise InputError(str(error).replace("sample 0", "sample", 1)) from None


def _explained(
    sample: SampleLike,
    batch: SampleBatch,
    judged: Sequence[JudgedRowScores] | None,
    plan: Plan,
    clock: Clock,
) -> EvalResult:
    row = None if judged is None else judged[0]
    result = explain_row(sample, batch, 0, plan, clock.now(), judged=row)
    return replace(result, duration_ms=clock.elapsed_ms)
