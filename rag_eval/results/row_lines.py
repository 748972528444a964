"""Rows that kernels alone scored -> their results as JSON, a block at a time.

The bytes are those of :func:`~rag_eval.results.files.row_json`, in a tenth of its time: no result
is made of a row. What is written, and in which order, is what the ``to_dict`` of results gives.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec
import numpy as np
import numpy.typing as npt

from rag_eval.kernels.languages import LISTED
from rag_eval.kernels.scoring import GroundedDetails, Sentences
from rag_eval.options.plan import Plan
from rag_eval.options.signature import signature_of
from rag_eval.plumbing import json_text
from rag_eval.plumbing.spelling import camel_case
from rag_eval.results.row import (
    ByMetric,
    EvalResult,
    EvalSignal,
    Losses,
    MetricResult,
    SentenceEvidence,
    sample_dict,
)
from rag_eval.results.verdicts import judge_rows
from rag_eval.results.words_grounded import RowFacts as GroundedFacts
from rag_eval.results.words_grounded import refusal_of
from rag_eval.results.words_overlap import RowFacts as OverlapFacts
from rag_eval.results.words_overlap import Said
from rag_eval.samples import NullReason

_encode = msgspec.json.Encoder().encode

_TRUTHS: Final = (b"false", b"true")
_VERDICTS: Final = (False, True, None)
_NO_VERDICT: Final = 2
_REASONS: Final = {reason.value: reason.name.lower() for reason in NullReason}
_LEAST_PLAIN: Final = 1e-4  # Python begins with exponents below it, other writers elsewhere
_MARK: Final[Any] = "\0"
_MARKED: Final = b'"\\u0000"'


def _struct(name: str, known: Mapping[str, Any], optional: Sequence[str] = ()) -> Any:
    """A class with the fields of a JSON object; optional ones that are None are left out."""
    fields: list[Any] = [(key, Any) for key in known if key not in optional]
    fields += [(key, Any, None) for key in known if key in optional]
    return msgspec.defstruct(name, fields, gc=False, omit_defaults=True)


_OF_METRIC: Final = MetricResult(
    metric_id="faithfulness",
    score=None,
    passed=None,
    threshold=None,
    explanation="",
    signals=(),
    null_reason=NullReason.REFUSAL,
    chunk_scores=(),
    evidence=(),
    losses=Losses(*range(8)),
).to_dict(details=True)
_MODE: Final = _OF_METRIC["mode"]
_Metric: Final = _struct(
    "Metric", _OF_METRIC, ("nullReason", "chunkScores", "sentenceScores", "evidence", "losses")
)
_LOSSES: Final = Losses(*range(8))
_Losses: Final = _struct("Losses", _LOSSES.to_dict())
_Sentence: Final = _struct(
    "Sentence",
    SentenceEvidence(
        span=(0, 0),
        support=0,
        chunk=None,
        window=None,
        covered=0,
        missing_numbers=(),
        missing_names=(),
        losses=_LOSSES,
    ).to_dict(),
)


_Signal: Final = _struct(
    "Signal",
    EvalSignal(
        id="",
        metric_id="faithfulness",
        severity="info",
        message="",
        evidence="",
        context_chunk_index=0,
    ).to_dict(),
    ("evidence", "contextChunkIndex"),
)


class _Marked:
    """Stands for a part of a result that has JSON of its own."""

    def to_dict(self, details: bool = False) -> Any:
        return _MARK


class RowLines:
    """Writes the rows of a run whose plan has neither scorers nor a judge nor calibrations.

    Parameters
    ----------
    plan : Plan
    evaluated_at : str
    details : bool
        As for :meth:`EvalResult.to_dict`.
    """

    def __init__(self, plan: Plan, evaluated_at: str, details: bool) -> None:
        self._plan = plan
        self._evaluated_at = evaluated_at
        self._details = details
        names = [camel_case(metric) for metric in plan.columns]
        self._shared = [
            (name, plan.thresholds[metric])
            for name, metric in zip(names, plan.columns, strict=True)
        ]
        self._metrics = msgspec.defstruct("Metrics", names, gc=False)
        self._results = [self._template(n_more) for n_more in range(3)]

    @staticmethod
    def can_write(plan: Plan) -> bool:
        """Whether the results of a plan have no more than what kernels tell."""
        return not (plan.scorers or plan.judging is not None or plan.calibrations)

    def lines(
        self,
        samples: Sequence[bytes | None],
        facts: Sequence[OverlapFacts | GroundedFacts],
        scores: npt.NDArray[np.float64],
        null_reasons: npt.NDArray[np.uint8],
    ) -> list[bytes | None]:
        """The results of rows; None for one that has to be written by itself.

        Those are rows without the JSON of their sample, with a lone surrogate, and with a number
        that Python writes in its own way.
        """
        plan = self._plan
        verdicts = judge_rows(scores, plan, null_reasons)
        undecided = np.array([plan.thresholds[metric] is None for metric in plan.columns])
        passed = np.where(np.isnan(scores) | undecided, _NO_VERDICT, verdicts.metric_passed)
        composites = verdicts.composite
        rows = zip(
            samples,
            facts,
            scores.tolist(),
            passed.tolist(),
            null_reasons.tolist(),
            composites.tolist(),
            verdicts.passed.tolist(),
            (composites > 0) & (composites < _LEAST_PLAIN),
            strict=True,
        )
        return [self._line(*row) for row in rows]

    def _line(
        self,
        sample: bytes | None,
        facts: OverlapFacts | GroundedFacts,
        scores: Sequence[float],
        passed: Sequence[int],
        reasons: Sequence[int],
        composite: float,
        is_passed: bool,
        is_odd: bool,
    ) -> bytes | None:
        if sample is None or is_odd or facts.details.is_odd:
            return None
        metrics = []
        said = facts.said(self._plan.columns).values()
        sentences: dict[int, tuple[Any, Any]] = {}
        for (name, threshold), one, score, verdict, reason in zip(
            self._shared, said, scores, passed, reasons, strict=True
        ):
            words, signals = one.explanation, [_Signal(*signal) for signal in one.signals]
            found = _Metric(name, score, _MODE, _VERDICTS[verdict], threshold, words, signals, 0, 0)
            if reason:
                found.nullReason = _REASONS[reason]
            if self._details:
                _add_details(found, one, sentences)
            metrics.append(found)
        try:
            texts = _encode(self._metrics(*metrics))
        except UnicodeEncodeError:
            return None
        more = self._more(facts)
        template = self._results[len(more)]
        return template % (sample, texts, _encode(composite), _TRUTHS[is_passed], *more)

    def _more(self, facts: OverlapFacts | GroundedFacts) -> list[bytes]:
        """Language and refusal, where they are written."""
        details = facts.details
        if not self._details or not isinstance(details, GroundedDetails):
            return []
        refusal = refusal_of(details)
        shown = [] if refusal is None else [json_text.dumps(refusal.to_dict())]
        return [_encode(LISTED[details.language]), *shown]

    def _template(self, n_more: int) -> bytes:
        """What results have in common, with a place for each part that they do not share."""
        mark: Any = _Marked()
        result = EvalResult(
            sample={_MARK: 0},
            metrics=ByMetric({_MARK: mark}),
            composite_score=_MARK,
            passed=_MARK,
            evaluated_at=self._evaluated_at,
            signature=signature_of(self._plan),
            language=_MARK if n_more > 0 else None,
            refusal=mark if n_more > 1 else None,
        ).to_dict(self._details)
        text = json_text.dumps(result).replace(b"%", b"%%").replace(_MARKED, b"%b")
        return text.replace(b"{%b:0}", b"%b", 1).replace(b"{%b:%b}", b"%b", 1)


def _add_details(metric: Any, said: Said, sentences: dict[int, tuple[Any, Any]]) -> None:
    """What a score is made of; two metrics may have the same sentences."""
    if said.chunk_scores is not None:
        metric.chunkScores = said.chunk_scores
    if said.evidence is not None:
        key = id(said.evidence)
        if key not in sentences:
            sentences[key] = _sentences(said.evidence)
        metric.sentenceScores, metric.evidence = sentences[key]
    if said.losses is not None:
        metric.losses = _Losses(*said.losses)


def sample_json(sample: Any) -> bytes | None:
    """A sample as it is echoed; None where it has to be written with its row.

    That is where it holds a lone surrogate, or what cannot be written.
    """
    echoed = sample_dict(sample)
    try:
        if all(map(_is_plain, echoed.values())) and set(map(type, echoed)) <= {str}:
            return _encode(echoed)
        return json_text.readable(echoed).encode()
    except (ValueError, TypeError):
        return None


def _is_plain(value: object) -> bool:
    """A text, a list of texts, a truth value or nothing: all writers of JSON agree on those."""
    kind = type(value)
    if kind is list:
        return set(map(type, value)) <= {str}  # type: ignore[call-overload]
    return kind is str or value is None or kind is bool


def _sentences(evidence: Sentences) -> tuple[list[float], list[Any]]:
    """The support of sentences, and all there is to tell of them."""
    shown = [
        _Sentence(
            *(span, support, chunk, window, covered, numbers, names, against, far, no_claim),
            _Losses(*losses),
        )
        for (
            span,
            support,
            chunk,
            window,
            covered,
            numbers,
            against,
            names,
            far,
            no_claim,
            losses,
        ) in evidence
    ]
    return [found.support for found in shown], shown
