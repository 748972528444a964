"""``assert_rag``: assert that the scores of a sample meet their thresholds.

It works in any Python program. Under pytest, the plugin of this library adds the options of the
session and records the scores.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, Protocol, Unpack

from rag_eval.errors import InputError, RagEvalError, suggestion

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rag_eval.inputs.samples import SampleLike
    from rag_eval.options.types import EvaluateOptions, MetricThresholds
    from rag_eval.results.row import EvalResult

    class AssertOptions(EvaluateOptions, MetricThresholds, total=False):
        """Options of :func:`rag_eval.evaluate`, and thresholds by metric name."""

        composite: float


__all__ = ["assert_rag"]

# The thresholds that are given alone decide the verdict.
_REFUSED: Final = ("thresholds", "composite_threshold")


class Listener(Protocol):
    """Receives what is scored.

    Attributes
    ----------
    options : mapping
        Options of :func:`rag_eval.evaluate` that apply unless a call gives them.
    """

    @property
    def options(self) -> Mapping[str, Any]: ...

    def add(self, result: EvalResult, passed: bool) -> None:
        """Called with each result and whether it passed."""
        ...


# A list, because a test may run another test session; not a context variable, because samples may
# be scored in threads.
_listeners: Final[list[Listener]] = []


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Report everything scored in the block to ``listener``."""
    _listeners.append(listener)
    try:
        yield
    finally:
        _listeners.remove(listener)


def assert_rag(
    sample: SampleLike,
    bars: Mapping[str, float] | None = None,
    /,
    *,
    metrics: Iterable[str] | None = None,
    record: bool = True,
    **options: Unpack[AssertOptions],
) -> EvalResult:
    """Assert that the scores of a sample meet their thresholds.

    ::

        assert_rag(sample, faithfulness=0.7, hallucination_rate=0.8, profile="grounded")
        assert_rag(sample, {"regtrace.tone": 0.5}, profile="grounded", composite=0.6)

    Parameters
    ----------
    sample : dict, mapping or EvalSample
    bars : mapping of float, optional
        Thresholds by metric, for names with dots; otherwise the same as keywords. If lower is
        better for a metric, its threshold is the largest score that passes.
    metrics : iterable of str, optional
        Metrics to score besides those with a threshold; by default all seven if ``composite``
        has a threshold.
    record : bool, default True
        Whether the pytest plugin includes the scores in its summary, gate and files.
    **options
        Thresholds by metric name or ``composite``, and options of :func:`rag_eval.evaluate`.

    Returns
    -------
    EvalResult

    Raises
    ------
    AssertionError
        If a score fails its threshold or is null; a null because the answer only declines to
        answer (reason ``refusal``) passes. The message shows each score with its
        threshold, and the sentences and signals behind the failures.
    InputError
        For a sample that cannot be scored or an invalid threshold.
    TypeError
        For a keyword that is neither a metric nor an option.
    """
    __tracebackhide__ = True
    from rag_eval.gating.bars import check_bars

    given, settings = _parted(options)
    try:
        checked = _checked(bars, given)
        asked = _metrics(checked, metrics)
        result = _scored(sample, asked, {**settings, **_thresholds(checked)})
    except RagEvalError as error:
        # The call is at fault: no line below it says more.
        raise error.with_traceback(None) from error.__cause__
    outcomes = check_bars(result, checked)
    passed = all(outcome.held for outcome in outcomes)
    if record:
        tell(result, passed)
    if not passed:
        from rag_eval.reports.assertion_text import assertion_text

        raise AssertionError(assertion_text(result, outcomes, name_of(result)))
    return result


def scored(
    sample: SampleLike,
    metrics: Iterable[str] | None,
    options: Mapping[str, Any],
    *,
    record: bool = True,
) -> EvalResult:
    """Like :func:`rag_eval.evaluate`, with the options of the listeners, which get the result."""
    __tracebackhide__ = True
    result = _scored(sample, metrics, options)
    if record:
        tell(result, result.passed)
    return result


def tell(result: EvalResult, passed: bool) -> None:
    """Report a result to the listeners."""
    for listener in _listeners[-1:]:
        listener.add(result, passed)


def name_of(result: EvalResult) -> str:
    """The id of the sample; empty if it has none."""
    from rag_eval.inputs.samples import id_of

    found = id_of(result.sample)
    return "" if found is None or isinstance(found, bool) else str(found)


def _parted(options: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Split keywords into thresholds and options of an evaluation."""
    __tracebackhide__ = True
    from rag_eval.metrics.ids import COMPOSITE, METRIC_IDS
    from rag_eval.metrics.registry import to_metric_id
    from rag_eval.options.declared import declared
    from rag_eval.options.types import EvaluateOptions
    from rag_eval.plumbing.spelling import snake_case

    known = declared(EvaluateOptions)
    given: dict[str, Any] = {}
    settings: dict[str, Any] = {}
    for name, value in options.items():
        key = snake_case(name)
        if key in _REFUSED:
            raise TypeError(
                f"assert_rag has no option {name!r}: give a threshold per metric, such as "
                "faithfulness=0.7, or for the composite score, such as composite=0.6"
            )
        if key in known:
            settings[key] = value
            continue
        try:
            given[key if key == COMPOSITE else to_metric_id(name)] = value
        except InputError:
            hint = suggestion(key, [*METRIC_IDS, *known])
            raise TypeError(
                f"assert_rag has no metric or option {name!r}{hint} "
                "(give names with dots in a mapping: assert_rag(sample, {'tool.metric': 0.5}))"
            ) from None
    return given, settings


def _checked(bars: object, given: Mapping[str, Any]) -> dict[str, float]:
    from rag_eval.gating.bars import checked_bars

    if bars is not None and not isinstance(bars, Mapping):
        raise InputError(
            "assert_rag: thresholds must be a mapping such as {'faithfulness': 0.7}, "
            f"got {bars!r:.80}"
        )
    in_mapping = checked_bars(bars or {}, "assert_rag")
    checked = checked_bars(given, "assert_rag")
    if twice := in_mapping.keys() & checked.keys():
        raise InputError(f"assert_rag: the threshold of {min(twice)} is given twice")
    found = {**in_mapping, **checked}
    if not found:
        raise InputError("assert_rag needs at least one threshold, such as faithfulness=0.7")
    return found


def _metrics(bars: Mapping[str, float], more: Iterable[str] | None) -> list[str]:
    from rag_eval.metrics.ids import COMPOSITE
    from rag_eval.options.plan import metric_list

    asked = () if more is None and COMPOSITE not in bars else metric_list(more)
    return list(dict.fromkeys([*asked, *(name for name in bars if name != COMPOSITE)]))


def _thresholds(bars: Mapping[str, float]) -> dict[str, Any]:
    """The thresholds as options, so that the result has the same verdicts."""
    from rag_eval.metrics.ids import COMPOSITE

    by_metric = {name: bar for name, bar in bars.items() if name != COMPOSITE}
    return {"thresholds": by_metric, "composite_threshold": bars.get(COMPOSITE, 0.0)}


def _scored(
    sample: SampleLike, metrics: Iterable[str] | None, options: Mapping[str, Any]
) -> EvalResult:
    __tracebackhide__ = True
    from rag_eval.reports.plain_text import plain_text
    from rag_eval.scoring.evaluation import evaluate

    defaults = _listeners[-1].options if _listeners else {}
    try:
        return evaluate(sample, metrics, **{**defaults, **options})
    except InputError as error:
        # Its message has the id of the sample, and goes to a terminal.
        raise InputError(plain_text(str(error))) from None
