"""The object that tests get as ``rag_eval``: samples in, results that are recorded out."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Unpack

from rag_eval.testing import assert_rag, scored, tell

if TYPE_CHECKING:
    from rag_eval.inputs.samples import SampleLike
    from rag_eval.options.plan import EvaluateOptions
    from rag_eval.results.row import EvalResult


class RagEval:
    """Scores samples with the options of the session; its summary and its gate see the scores."""

    assert_rag = staticmethod(assert_rag)

    def __repr__(self) -> str:
        return "<rag_eval>"  # it stands in every failure: without an address logs are alike

    def evaluate(
        self,
        sample: SampleLike,
        metrics: Iterable[str] | None = None,
        *,
        record: bool = True,
        **options: Unpack[EvaluateOptions],
    ) -> EvalResult:
        """As :func:`rag_eval.evaluate`; ``record=False`` leaves the scores out of the session."""
        __tracebackhide__ = True
        return scored(sample, metrics, options, record=record)

    def record(self, result: EvalResult) -> None:
        """Take a result that was made elsewhere, in an event loop for one."""
        tell(result, result.passed)
