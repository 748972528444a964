"""evaluate_batch, Evaluator: many samples, and options that are fixed in advance."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any, Unpack

from rag_eval.calibration.applied import planned
from rag_eval.calibration.files import read_calibrations
from rag_eval.inputs.samples import SampleLike
from rag_eval.options.declared import normalized, overlaid
from rag_eval.options.plan import metric_list
from rag_eval.options.types import (
    BatchEvaluateOptions,
    EvaluateOptions,
    EvaluatorConfig,
)
from rag_eval.results.batch import BatchEvalResult
from rag_eval.results.row import EvalResult
from rag_eval.scoring.batch import BatchJob
from rag_eval.scoring.evaluation import aevaluated, evaluated


def evaluate_batch(
    samples: Iterable[SampleLike],
    metrics: Iterable[str] | None = None,
    **options: Unpack[BatchEvaluateOptions],
) -> BatchEvalResult:
    """Score many samples natively, block by block, on several threads.

    Parameters
    ----------
    samples : iterable of dict, mapping or EvalSample, in any mix; or a table
        A table is an object with ``__arrow_c_stream__`` (pyarrow, polars, duckdb), a pandas data
        frame or a Hugging Face dataset. Lists, tuples and columns of tables are kept by reference,
        and the texts of a generator are kept packed. With ``keep_texts=False`` nothing is kept, and
        rows cannot be opened.
    metrics : iterable of str, optional
        Metric ids in snake_case or camelCase; all seven by default.
    **options : BatchEvaluateOptions
        As for :func:`evaluate`, and ``threads``, ``on_progress``, ``baseline_result``,
        ``regression_threshold`` (0.05), ``keep_texts``, and ``schema`` and ``mapping`` for samples
        with other field names.

    Returns
    -------
    BatchEvalResult
        The same bits for any number of threads and any kind of input.

    Raises
    ------
    InputError
        At the first invalid sample; the message names the sample and the field.
    SignatureMismatchError
        When the baseline was scored under other settings.
    """
    known = normalized(options, "evaluate_batch", BatchEvaluateOptions)
    return BatchJob(samples, metrics, known).run()


async def aevaluate_batch(
    samples: Iterable[SampleLike],
    metrics: Iterable[str] | None = None,
    **options: Unpack[BatchEvaluateOptions],
) -> BatchEvalResult:
    """Like :func:`evaluate_batch`, but awaits the judge in the caller's event loop.

    Kernels run in a thread meanwhile, which is also where ``samples`` is read.
    """
    known = normalized(options, "aevaluate_batch", BatchEvaluateOptions)
    return await BatchJob(samples, metrics, known).arun()


class Evaluator:
    """Evaluator with fixed options; create one with :func:`create_evaluator`."""

    __slots__ = ("_config",)

    def __init__(self, config: Mapping[str, Any]) -> None:
        known = normalized(config, "create_evaluator", EvaluatorConfig)
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
        known = self._merged(normalized(options, "evaluate", EvaluateOptions))
        return evaluated(sample, self._metrics(metrics), known)

    def evaluate_batch(
        self,
        samples: Iterable[SampleLike],
        metrics: Iterable[str] | None = None,
        **options: Unpack[BatchEvaluateOptions],
    ) -> BatchEvalResult:
        """As :func:`evaluate_batch`; metrics and options given here win over the configuration."""
        known = self._merged(normalized(options, "evaluate_batch", BatchEvaluateOptions))
        return BatchJob(samples, self._metrics(metrics), known).run()

    async def aevaluate(
        self,
        sample: SampleLike,
        metrics: Iterable[str] | None = None,
        **options: Unpack[EvaluateOptions],
    ) -> EvalResult:
        """As :func:`aevaluate`; metrics and options given here win over the configuration."""
        known = self._merged(normalized(options, "aevaluate", EvaluateOptions))
        return await aevaluated(sample, self._metrics(metrics), known)

    async def aevaluate_batch(
        self,
        samples: Iterable[SampleLike],
        metrics: Iterable[str] | None = None,
        **options: Unpack[BatchEvaluateOptions],
    ) -> BatchEvalResult:
        """As :func:`aevaluate_batch`; metrics and options given here win over the configuration."""
        known = self._merged(normalized(options, "aevaluate_batch", BatchEvaluateOptions))
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
    """A copy of an option, which later changes by the caller do not affect."""
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
    """Create an evaluator with fixed options.

    Parameters
    ----------
    **config : EvaluatorConfig
        Options of :func:`evaluate_batch`, and ``metrics``. Options of a call take precedence:
        thresholds, composite weights and heuristic options are merged by key, others are replaced.
        None selects the library's default.
    """
    return Evaluator(config)
