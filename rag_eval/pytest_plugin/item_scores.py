"""The scores of one test, as texts that travel with its reports and as JUnit properties."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final, Unpack

from rag_eval.testing import assert_rag, name_of, scored, tell

if TYPE_CHECKING:
    import pytest

    from rag_eval.inputs.samples import SampleLike
    from rag_eval.options.types import EvaluateOptions
    from rag_eval.results.row import EvalResult

REPORTED: Final = "rag_eval_scores"
"""Attribute of a report: the records of its phase, as JSON in ASCII."""

_NAME_LIMIT: Final = 60


class ItemScores:
    """Collects the scores of one test.

    Parameters
    ----------
    item : pytest.Item
    options : mapping
        Options for the evaluations of the test.
    """

    def __init__(self, item: pytest.Item, options: Mapping[str, Any]) -> None:
        self.options = options
        self._item = item
        self._records: list[dict[str, Any]] = []
        self._n_added = 0

    def add(self, result: EvalResult, passed: bool) -> None:
        """Keep the scores of a sample and add them to the test's JUnit properties."""
        name = name_of(result)
        self._records.append(_record(result, passed, name))
        self._n_added += 1
        self._item.user_properties += _properties(result, passed, name, self._n_added)

    def taken(self) -> str:
        """The records since the last call; empty if there are none."""
        records, self._records = self._records, []
        # In ASCII, because lone surrogates cannot be sent to another process.
        return json.dumps(records) if records else ""


def _record(result: EvalResult, passed: bool, name: str) -> dict[str, Any]:
    from rag_eval.results.row import sample_dict
    from rag_eval.runs.dataset_hash import row_digests

    return {
        "id": name,
        "passed": passed,
        "composite": result.composite_score,
        "metrics": {
            metric: [found.score, int(found.null_reason), found.passed, _judged(found)]
            for metric, found in result.metrics.items()
        },
        "digests": row_digests(sample_dict(result.sample)),
        "signature": None if result.signature is None else result.signature.to_dict(),
    }


def _judged(metric: Any) -> int:
    """0 if no judge was needed, 1 if a judge scored, 2 if it failed."""
    if metric.judged is None or metric.judged.is_audit:
        return 0
    return 2 if metric.judged.failed else 1


def _properties(
    result: EvalResult, passed: bool, name: str, number: int
) -> list[tuple[str, object]]:
    """Names and texts, with the sample's number from the second sample of a test on."""
    from rag_eval.reports.plain_text import plain_text

    owner = "rag_eval" if number == 1 else f"rag_eval.{number}"
    found: list[tuple[str, object]] = []
    if name:
        found.append((f"{owner}.sample", plain_text(name, _NAME_LIMIT)))
    for metric, one in result.metrics.items():
        null = f"null ({one.null_reason.name.lower()})"
        found.append((f"{owner}.{metric}", null if one.score is None else f"{one.score:.6g}"))
    if result.composite_score is not None:
        found.append((f"{owner}.composite", f"{result.composite_score:.6g}"))
    return [*found, (f"{owner}.passed", "true" if passed else "false")]


class RagEval:
    """Scores samples with the session's options; the scores are in its summary and gate."""

    assert_rag = staticmethod(assert_rag)

    def __repr__(self) -> str:
        return "<rag_eval>"  # shown in every failure: without an address, logs are reproducible

    def evaluate(
        self,
        sample: SampleLike,
        metrics: Iterable[str] | None = None,
        *,
        record: bool = True,
        **options: Unpack[EvaluateOptions],
    ) -> EvalResult:
        """Like :func:`rag_eval.evaluate`; ``record=False`` keeps the scores out of the session."""
        __tracebackhide__ = True
        return scored(sample, metrics, options, record=record)

    def record(self, result: EvalResult) -> None:
        """Record a result that was made elsewhere, for example in an event loop."""
        tell(result, result.passed)
