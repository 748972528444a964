"""Rows that kernels alone scored -> their results as JSON, a block at a time.

The bytes are those of :func:`~rag_eval.results.files.row_json`, in a small part of its time: no
result is made of a row. What is written, and in which order, is what the ``to_dict`` of results
gives: results with places for what differs are made JSON once, and each row fills the places.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import msgspec
import numpy as np
import numpy.typing as npt

from rag_eval._native.filled_rows import RowWriter
from rag_eval.kernels.languages import LISTED
from rag_eval.kernels.scoring import GroundedDetails, Sentences
from rag_eval.options.plan import Plan
from rag_eval.options.signature import signature_of
from rag_eval.plumbing import json_text
from rag_eval.plumbing.javascript_numbers import three_decimals
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
from rag_eval.results.words_overlap import Said, SignalKind
from rag_eval.samples import NullReason

_encode = msgspec.json.Encoder().encode

_VERDICTS: Final = np.array([b"false", b"true", b"null"], object)
_NO_VERDICT: Final = 2
_LEAST_PLAIN: Final = 1e-4  # Python begins with exponents below it, other writers elsewhere
_MARK: Final[Any] = "\0"
_MARKED: Final = '"\\u0000"'


def _struct(name: str, known: Sequence[str]) -> Any:
    """A class with the fields of a JSON object."""
    return msgspec.defstruct(name, [(key, Any) for key in known], gc=False)


_LOSSES: Final = Losses(*range(8))
_Losses: Final = _struct("Losses", [*_LOSSES.to_dict()])
_SENTENCE: Final = SentenceEvidence(
    span=(0, 0),
    support=0,
    chunk=None,
    window=None,
    covered=0,
    missing_numbers=(),
    missing_names=(),
    losses=_LOSSES,
)
_Sentence: Final = _struct("Sentence", [*_SENTENCE.to_dict()])


class _Marked:
    """Stands for a part of a result that has JSON of its own."""

    def to_dict(self, details: bool = False) -> Any:
        return _MARK


def _pieces(form: str) -> tuple[bytes, ...]:
    """What stands around the places of JSON with ``%s`` for each."""
    return tuple(piece.replace("%%", "%").encode() for piece in form.split("%s"))


def _signal_form(kind: SignalKind, is_numbered: bool) -> tuple[tuple[bytes, ...], bool]:
    """The JSON of signals of a kind up to their evidence, around number and values."""
    signal = EvalSignal(
        id=f"{kind.id}-%s" if is_numbered else kind.id,
        metric_id=kind.metric,
        severity=kind.severity,
        message=kind.message,
    )
    return _pieces(json_text.readable(signal.to_dict())[:-1]), kind.quotes


class RowLines:
    """Writes the rows of a run, a block at a time.

    Parameters
    ----------
    plan : Plan
    evaluated_at : str
    details : bool
        As for :meth:`EvalResult.to_dict`.
    between : bytes
        Stands between rows.
    """

    def __init__(self, plan: Plan, evaluated_at: str, details: bool, between: bytes) -> None:
        self._plan = plan
        self._evaluated_at = evaluated_at
        self._details = details
        self._writer = RowWriter(three_decimals, self._metric_form, _signal_form, between)
        self._results = [self._template(n_more) for n_more in range(3)]

    @staticmethod
    def can_fill(plan: Plan) -> bool:
        """Whether the results of a plan have no more than what kernels tell."""
        return not (plan.scorers or plan.judging is not None or plan.calibrations)

    @property
    def rows(self) -> list[bytes]:
        """The rows of the block."""
        return self._writer.rows()

    def write_to(self, write: Callable[[memoryview], object]) -> None:
        """Pass the rows of the block on, with what stands between them."""
        self._writer.write_to(write)

    def clear(self) -> None:
        """Begin a block."""
        self._writer.clear()

    def add(self, row: bytes) -> None:
        """Add a row that was written otherwise."""
        self._writer.add(row)

    def fill(
        self,
        samples: Sequence[bytes | None],
        facts: Sequence[OverlapFacts | GroundedFacts],
        scores: npt.NDArray[np.float64],
        null_reasons: npt.NDArray[np.uint8],
        alone: Callable[[int], bytes],
    ) -> None:
        """Add rows; ``alone`` gives one that has to be written by itself.

        Those are rows without the JSON of their sample, with a lone surrogate, and with a number
        that Python writes in its own way.
        """
        plan = self._plan
        verdicts = judge_rows(scores, plan, null_reasons)
        undecided = np.array([plan.thresholds[metric] is None for metric in plan.columns])
        passed = np.where(np.isnan(scores) | undecided, _NO_VERDICT, verdicts.metric_passed)
        composites = verdicts.composite
        is_odd = (composites > 0) & (composites < _LEAST_PLAIN)
        rows = zip(
            samples,
            facts,
            _numbers_json(scores),
            _VERDICTS[passed].tolist(),
            null_reasons.tolist(),
            _encode(composites.tolist())[1:-1].split(b","),
            _VERDICTS[verdicts.passed.astype(np.intp)].tolist(),
            is_odd.tolist(),
            strict=True,
        )
        for place, row in enumerate(rows):
            if not self._add(*row):
                self._writer.add(alone(place))

    def _add(
        self,
        sample: bytes | None,
        facts: OverlapFacts | GroundedFacts,
        scores: Sequence[bytes],
        passed: Sequence[bytes],
        reasons: Sequence[int],
        composite: bytes,
        is_passed: bytes,
        is_odd: bool,
    ) -> bool:
        """Add a row; False if it has to be written by itself."""
        if sample is None or is_odd or facts.details.is_odd:
            return False
        said = facts.said(self._plan.columns)
        more = self._more(facts) if self._details else []
        form, others = self._results[len(more)], [composite, is_passed, *more]
        try:
            details = _details_json(said) if self._details else []
            self._writer.row(form, sample, said, scores, passed, reasons, details, others)
        except UnicodeEncodeError:
            return False
        return True

    def _metric_form(self, place: int, words: str, reason: int) -> tuple[bytes, ...]:
        """The JSON of a metric around score, verdict, values of its words, signals and details."""
        metric = self._plan.columns[place]
        result = MetricResult(
            metric_id=metric,
            score=_MARK,
            passed=_MARK,
            threshold=self._plan.thresholds[metric],
            explanation=words,
            signals=(),
            null_reason=NullReason(reason),
        )
        text = json_text.readable({camel_case(metric): result.to_dict()})[1:-2]
        return _pieces(text.replace(_MARKED, "%s").replace('"signals":[]', '"signals":[%s]'))

    def _more(self, facts: OverlapFacts | GroundedFacts) -> list[bytes]:
        """Language and refusal, where there are any."""
        details = facts.details
        if not isinstance(details, GroundedDetails):
            return []
        refusal = refusal_of(details)
        shown = [] if refusal is None else [json_text.dumps(refusal.to_dict())]
        return [_encode(LISTED[details.language]), *shown]

    def _template(self, n_more: int) -> tuple[bytes, ...]:
        """What results have in common, around the parts that they do not share."""
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
        text = json_text.readable(result).replace("%", "%%").replace(_MARKED, "%s")
        return _pieces(text.replace("{%s:0}", "%s", 1).replace("{%s:%s}", "{%s}", 1))


def _numbers_json(rows: npt.NDArray[np.float64]) -> list[list[bytes]]:
    """Each number of some rows as JSON; null for NaN."""
    return [row.split(b",") for row in _encode(rows.tolist())[2:-2].split(b"],[")]


def _details_json(said: Sequence[Said]) -> list[bytes]:
    """What each score is made of; two metrics may have the same sentences."""
    texts, sentences = [], dict[int, bytes]()
    for _, _, _, parts in said:
        text = b""
        if parts is not None:
            chunk_scores, evidence, losses = parts
            if chunk_scores is not None:
                text = b',"chunkScores":' + _encode(chunk_scores)
            if evidence is not None:
                key = id(evidence)
                if key not in sentences:
                    sentences[key] = _sentences_json(evidence)
                text += sentences[key]
            if losses is not None:
                text += b',"losses":' + _encode(_Losses(*losses))
        texts.append(text)
    return texts


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


def _sentences_json(evidence: Sentences) -> bytes:
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
    supports = _encode([found.support for found in shown])
    return b',"sentenceScores":%b,"evidence":%b' % (supports, _encode(shown))
