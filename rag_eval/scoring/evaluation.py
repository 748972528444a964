"""evaluate: one sample, by the options of a call -> its scores, explained."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, Unpack

from rag_eval.calibration.applied import planned
from rag_eval.errors import InputError
from rag_eval.inputs.row_texts import read_rows
from rag_eval.inputs.samples import FieldNeeds, SampleLike, has_our_names, how_to_convert
from rag_eval.kernels import scoring as kernels
from rag_eval.kernels.columns import SampleBatch
from rag_eval.metrics.registry import to_metric_id
from rag_eval.metrics.seven import OVERLAP_METRICS
from rag_eval.options.declared import declared, normalized
from rag_eval.options.plan import Plan
from rag_eval.options.types import EvaluateOptions, HeuristicOptions
from rag_eval.plumbing.clock import Clock
from rag_eval.plumbing.interrupts import StopFlag, in_thread
from rag_eval.plumbing.spelling import snake_case
from rag_eval.results.judged import JudgedRowScores
from rag_eval.results.row import EvalResult, MetricResult
from rag_eval.samples import MetricId
from rag_eval.scoring.explaining import explained_rows, scored_row

if TYPE_CHECKING:
    from rag_eval.scoring.engine import ScoredBlock

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
        Only the fields that the metrics read are required. The field names of other tools are
        recognised, as in :func:`~rag_eval.evaluate_batch`.
    metrics : iterable of str, optional
        Metric ids in snake_case or camelCase; the seven by default.
    **options : EvaluateOptions
        ``profile`` ("overlap" or "grounded"), ``thresholds``, ``composite_threshold`` (0.6; none in
        the grounded profile), ``composite_weights`` (1 each), ``heuristic``, ``language``,
        ``stemmer``, ``calibration`` and others.

    Returns
    -------
    EvalResult
        ``result.passed`` is true if no metric is below its threshold, and the composite score (the
        weighted mean of the scores that are not null) is not below its threshold, if it has one.

    Raises
    ------
    InputError
        If a field is missing or invalid; the message names it.
    TypeError
        For an option that does not exist.
    """
    known = normalized(options, "evaluate", EvaluateOptions)
    return evaluated(sample, metrics, known)


async def aevaluate(
    sample: SampleLike,
    metrics: Iterable[str] | None = None,
    **options: Unpack[EvaluateOptions],
) -> EvalResult:
    """Like :func:`evaluate`, but awaits the judge in the caller's event loop."""
    known = normalized(options, "aevaluate", EvaluateOptions)
    return await aevaluated(sample, metrics, known)


def compute_metric(
    metric_id: str, sample: SampleLike, **heuristic: Unpack[HeuristicOptions]
) -> MetricResult:
    """Score one metric of one sample at its default threshold, in the overlap profile.

    Parameters
    ----------
    metric_id : str
        In snake_case or camelCase; an unknown id is an InputError.
    sample : dict, mapping or EvalSample
    **heuristic : HeuristicOptions
    """
    if isinstance(sample, str) and not isinstance(metric_id, str):
        raise InputError(
            "the metric comes before the sample: compute_metric('faithfulness', sample)"
        )
    return _computed(to_metric_id(metric_id), sample, heuristic, "compute_metric")


def _computed(
    metric: MetricId, sample: SampleLike, heuristic: HeuristicOptions, owner: str
) -> MetricResult:
    if heuristic:
        _refuse_other_options(metric, heuristic, owner)
    known = normalized(heuristic, owner, HeuristicOptions)
    return evaluated(sample, [metric], {"heuristic": known}).metrics[metric]


def _refuse_other_options(metric: MetricId, options: Iterable[str], owner: str) -> None:
    """Raise a TypeError for options of evaluate, such as the profile."""
    ours, others = declared(HeuristicOptions), declared(EvaluateOptions)
    for name in map(snake_case, options):
        if name not in ours and name in others:
            raise TypeError(
                f"{owner} has no option {name!r}; use evaluate(sample, [{metric!r}], {name}=...)"
            )


def _scorer(metric: MetricId) -> Callable[..., MetricResult]:
    def score(sample: SampleLike, **heuristic: Unpack[HeuristicOptions]) -> MetricResult:
        return _computed(metric, sample, heuristic, f"score_{metric}")

    spec = OVERLAP_METRICS[metric]
    score.__name__ = score.__qualname__ = f"score_{metric}"
    score.__doc__ = (
        f"Score {metric} of one sample.\n\n"
        f"{spec.summary}.\nReads {', '.join(spec.fields)}; passes at {spec.threshold} or above; "
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


# ---------------------------------------------------------------------------- what they share


def evaluated(
    sample: SampleLike, metrics: Iterable[str] | None, options: Mapping[str, Any]
) -> EvalResult:
    """The result of one sample, by normalized options."""
    clock = Clock()
    plan = planned(metrics, options)[0]
    sample = _under_our_names(sample)
    batch = _packed(sample, plan)
    judged = None
    if plan.judging is not None:
        # Imported only with a judge: importing an event loop takes longer than scoring a row.
        from rag_eval.scoring.judge_runs import judge_block

        judged = judge_block(_scored_block(sample, batch, plan), plan).judged
    return _explained(sample, batch, judged, plan, clock)


async def aevaluated(
    sample: SampleLike, metrics: Iterable[str] | None, options: Mapping[str, Any]
) -> EvalResult:
    """As :func:`evaluated`, with the judge asked in the event loop of the caller."""
    clock = Clock()
    plan = planned(metrics, options)[0]
    sample = _under_our_names(sample)
    batch = _packed(sample, plan)
    judged = None
    if plan.judging is not None:
        from rag_eval.scoring.judge_runs import ajudge_block

        scored = await _apart(batch, _scored_block, sample, batch, plan)
        judged = (await ajudge_block(scored, plan)).judged
    return await _apart(batch, _explained, sample, batch, judged, plan, clock)


async def _apart(batch: SampleBatch, function: Callable[..., _T], *arguments: Any) -> _T:
    """Call a function of a batch, in a thread if it may take long."""
    if not kernels.may_take_long(batch):
        return function(*arguments)
    return await in_thread(StopFlag(), function, *arguments)


def _under_our_names(sample: SampleLike) -> SampleLike:
    """A mapping with the names of another tool under ours, as in a batch of it alone."""
    if not isinstance(sample, Mapping) or has_our_names(sample.keys()):
        return sample
    from rag_eval.inputs.objects import OUR_NAMES

    try:
        fields = OUR_NAMES.map_of((sample,))
    except InputError:
        # Of several tools at once: there is no option here to choose one.
        return sample
    return fields.row(dict(sample))


def _packed(sample: SampleLike, plan: Plan) -> SampleBatch:
    needs = FieldNeeds.of(plan.native_columns, plan.settings.profile)
    try:
        return read_rows([sample], 0, needs).pack()
    except InputError as error:
        from rag_eval.inputs.field_faults import without_mapping

        # One sample needs no number, and has no option that maps fields.
        text = without_mapping(str(error)).replace("sample 0", "sample", 1)
        if how := how_to_convert(sample):
            text = f"{text.partition(';')[0]}. To convert it: {how}"
        elif isinstance(sample, (list, tuple)):
            text = f"{text.partition(';')[0]}. To score a list of samples: evaluate_batch(samples)"
        raise InputError(text) from None


def _scored_block(sample: SampleLike, batch: SampleBatch, plan: Plan) -> ScoredBlock:
    """What a judge is given: the sample as a block of one row, with the scores that need none."""
    from rag_eval.inputs.row_blocks import RowBlock
    from rag_eval.scoring.engine import scored_block

    return scored_block(RowBlock(0, [sample]), batch, plan)


def _explained(
    sample: SampleLike,
    batch: SampleBatch,
    judged: Sequence[JudgedRowScores] | None,
    plan: Plan,
    clock: Clock,
) -> EvalResult:
    row = None if judged is None else judged[0]
    scored = scored_row(sample, batch, 0, plan, row)
    return explained_rows([scored], clock.now(), clock.elapsed_ms, lazily=True)[0]
