"""An MLflow scorer that returns a Feedback per metric."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from rag_eval.integrations.scoring import MetricScore, SampleScorer
from rag_eval.integrations.tool_rows import RowReader, missing_package


def rag_scorer(
    metrics: str | Iterable[str] | None = None,
    *,
    fields: Mapping[str, str] | None = None,
    **options: Any,
) -> Any:
    """A scorer for ``mlflow.genai.evaluate(..., scorers=[...])``.

    Contexts are read from ``outputs`` and ``inputs``, otherwise from the retriever spans of the
    trace; the ground truth is ``expectations.expected_response``. ``fields`` maps our fields to
    other paths (``{"contexts": "outputs.docs"}``); ``**options`` are those of
    :func:`rag_eval.create_evaluator`, and ``profile`` is ``grounded`` by default. A null is a
    Feedback with an error, which MLflow excludes from means.
    """
    try:
        from mlflow.genai.scorers import scorer
    except ImportError:
        raise missing_package("mlflow", "mlflow>=3.1") from None
    samples, reader = SampleScorer(metrics, options), RowReader("mlflow", fields)

    @scorer(name="rag_eval")  # type: ignore[untyped-decorator]
    def rag_eval(
        inputs: Any = None, outputs: Any = None, expectations: Any = None, trace: Any = None
    ) -> list[Any]:
        row = {"inputs": inputs, "outputs": outputs, "expectations": expectations}
        sample = reader.sample(row)
        spans = trace.search_spans(span_type="RETRIEVER") if trace is not None else []
        if "contexts" not in sample and spans:  # without a retriever there are no contexts
            row["retrieved"] = [document for span in spans for document in span.outputs or ()]
            sample = RowReader("mlflow", {**(fields or {}), "contexts": "retrieved"}).sample(row)
        return [_feedback(found) for found in samples.score(sample)]

    return rag_eval


def _feedback(found: MetricScore) -> Any:
    from mlflow.entities import AssessmentError, Feedback

    facts = {name: str(value).lower() for name, value in found.facts.items()}
    if found.score is None:
        error = AssessmentError(found.null_reason.upper(), found.reason)
        return Feedback(name=found.metric, error=error, metadata=facts)
    return Feedback(name=found.metric, value=found.score, rationale=found.reason, metadata=facts)
