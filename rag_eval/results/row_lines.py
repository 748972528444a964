"""Rows that kernels alone scored -> their results as JSON, a block at a time.

The bytes are those of :func:`~rag_eval.results.files.row_json`, in a small part of its time: no
result is made of a row. What is written, and in which order, is what the ``to_dict`` of results
gives: results with places for what differs are made JSON once, and each row fills the places.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import product
from typing import Any, Final

import msgspec
import numpy as np
import numpy.typing as npt

from rag_eval._native.filled_rows import RowWriter
from rag_eval.kernels.columns import KeptRows, SampleBatch
from rag_eval.kernels.languages import LISTED
from rag_eval.kernels.scoring import lacked_field, metric_numbers
from rag_eval.kernels.settings import SHIPPED_WEIGHTS, OverlapSettings
from rag_eval.kernels.verdicts import verdicts_of
from rag_eval.metrics.ids import ALL_METRIC_IDS
from rag_eval.options.plan import Plan
from rag_eval.options.signature import signature_of
from rag_eval.plumbing import json_text
from rag_eval.plumbing.spelling import camel_case
from rag_eval.results import words_grounded, words_overlap
from rag_eval.results.row import (
    ByMetric,
    EvalResult,
    EvalSignal,
    Losses,
    MetricResult,
    Refusal,
    SentenceEvidence,
    sample_dict,
)
from rag_eval.results.words_overlap import ABOUT_SENTENCE
from rag_eval.samples import NullReason

_encode = msgspec.json.Encoder().encode

_NO_VERDICT: Final = 2
# Outside of these Python writes exponents, and other writers have forms of their own.
_LEAST_PLAIN: Final = 1e-4
_MOST_PLAIN: Final = 1e16
# Of whole numbers, and of samples within samples, that all writers of JSON take.
_MOST_WHOLE: Final = 1 << 62
_MOST_DEPTH: Final = 20
_MARK: Final[Any] = "\0"
_MARKED: Final = '"\\u0000"'


class _Marked:
    """Stands for a part of a result that has JSON of its own."""

    def to_dict(self, details: bool = False) -> Any:
        return _MARK


def _pieces(form: str) -> tuple[bytes, ...]:
    """What stands around the places of JSON with ``%s`` for each."""
    return tuple(piece.replace("%%", "%").encode() for piece in form.split("%s"))


def _marked_pieces(value: Any) -> tuple[bytes, ...]:
    """What stands around the marks in a value."""
    text = json_text.readable(value).replace("%", "%%")
    return _pieces(text.replace(_MARKED, "%s"))


def _in_string(words: str) -> tuple[bytes, ...]:
    """What stands around the places of words within a string of JSON."""
    return _pieces(json_text.readable(words)[1:-1])


_LOSSES: Final = Losses(*[_MARK] * 8)
_SENTENCE: Final = SentenceEvidence(
    span=_MARK,
    support=_MARK,
    chunk=_MARK,
    window=_MARK,
    covered=_MARK,
    missing_numbers=_MARK,
    missing_names=_MARK,
    contradiction=_MARK,
    far_names=_MARK,
    no_claim=_MARK,
)


def _evidence_phrases() -> list[tuple[bytes, ...]]:
    """The JSON of what scores of the grounded profile are made of, around all values."""
    shown = MetricResult(
        metric_id="faithfulness",
        score=None,
        passed=None,
        threshold=None,
        explanation="",
        signals=(),
        chunk_scores=(),
        evidence=(),
        losses=_LOSSES,
    )
    plain, full = shown.to_dict(), shown.to_dict(details=True)
    keys = [key for key in full if key not in plain]
    sentence = dict.fromkeys(_SENTENCE.to_dict(), _MARK)
    return [
        tuple(f',"{key}":'.encode() for key in keys),
        _marked_pieces(sentence),
        _marked_pieces(_LOSSES.to_dict()),
    ]


def _signal_form(of: Callable[..., words_overlap.SignalKind], number: int) -> tuple[bytes, ...]:
    """The JSON of signals of a kind up to their evidence, around number and values."""
    about, metric = divmod(number, 16)
    kind = of(ALL_METRIC_IDS[metric], about)
    signal = EvalSignal(
        id=f"{kind.id}-%s" if about == ABOUT_SENTENCE else kind.id,
        metric_id=kind.metric,
        severity=kind.severity,
        message=kind.message,
    )
    return _pieces(json_text.readable(signal.to_dict())[:-1])


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
        self._between = between
        self._absent: frozenset[str] = frozenset()
        self._is_grounded = not isinstance(plan.settings, OverlapSettings)
        self._writer = self._made_writer()

    def _made_writer(self) -> RowWriter:
        settings = self._plan.settings
        if isinstance(settings, OverlapSettings):
            limits, kinds = words_overlap.signal_limits(settings), words_overlap.signal_kind
            phrases = [*map(_in_string, words_overlap.PHRASES)]
        else:
            limits, kinds = words_grounded.signal_limits(), words_grounded.signal_kind
            phrases = [*map(_in_string, words_grounded.PHRASES), *_evidence_phrases()]
        refusals = [Refusal(*flags) for flags in product((False, True), repeat=2)]
        return RowWriter(
            self._is_grounded,
            metric_numbers(self._plan.columns).tolist() if self.can_fill(self._plan) else [],
            limits,
            self._metric_form,
            partial(_signal_form, kinds),
            phrases,
            [self._template(n_more) for n_more in range(3)],
            [*map(_encode, LISTED)],
            [json_text.dumps(refusal.to_dict()) for refusal in refusals],
            self._details,
            self._between,
        )

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
        kept: KeptRows,
        batch: SampleBatch,
        scores: npt.NDArray[np.float64],
        null_reasons: npt.NDArray[np.uint8],
        alone: Callable[[int], bytes],
    ) -> None:
        """Add rows; ``alone`` gives one that has to be written by itself.

        Those are rows without the JSON of their sample, and with a number that Python writes in its
        own way.
        """
        plan = self._plan
        verdicts = verdicts_of(scores, plan.rule, null_reasons)
        undecided = np.array([plan.thresholds[metric] is None for metric in plan.columns])
        passed = np.where(np.isnan(scores) | undecided, _NO_VERDICT, verdicts.metric_passed)
        composites = verdicts.composite
        is_odd = _is_odd(composites)
        parts = np.frombuffer(kept.values, np.float64)
        odd_parts = np.flatnonzero(_is_odd(parts))
        is_odd[np.searchsorted(kept.places[:, 1], odd_parts, "right") - 1] = True
        for row, sample in enumerate(samples):
            if sample is None:
                is_odd[row] = True
        if batch.absent != self._absent:
            self._absent = batch.absent
            self._writer.forget_forms()
        truths = None if batch.grounded is None else batch.grounded.row_truths
        values = parts if self._details else parts[:0]
        self._writer.fill(
            list(samples),
            (
                *(kept.numbers, kept.values, kept.texts, np.ascontiguousarray(kept.places)),
                *map(_numbers_json, (scores.ravel(), composites, values)),
                *(passed.astype(np.uint8), np.ascontiguousarray(null_reasons)),
                *(verdicts.passed.astype(np.uint8), is_odd.astype(np.uint8), self._lacked(batch)),
                *(*batch.answer, *batch.ground_truth),
                *(batch.row_contexts if truths is None else truths, batch.row_contexts),
            ),
            alone,
        )

    def _lacked(self, batch: SampleBatch) -> bytes:
        """For each column 1 if no row has a field of its metric."""
        if self._is_grounded or not batch.absent:
            return bytes(len(self._plan.columns))
        return bytes(lacked_field(batch.absent, one) is not None for one in self._plan.columns)

    def _metric_form(self, column: int, variant: int, reason: int) -> tuple[bytes, ...]:
        """The JSON of a metric around score, verdict, values of its words, signals and details."""
        plan = self._plan
        metric, settings = plan.columns[column], plan.settings
        if isinstance(settings, OverlapSettings):
            words = words_overlap.metric_words(metric, variant, settings, self._absent)
        else:
            is_fitted = settings.weights != SHIPPED_WEIGHTS
            words = words_grounded.metric_words(metric, variant, reason, is_fitted)
        result = MetricResult(
            metric_id=metric,
            score=_MARK,
            passed=_MARK,
            threshold=plan.thresholds[metric],
            explanation=words,
            signals=(),
            null_reason=NullReason(reason),
        )
        text = json_text.readable({camel_case(metric): result.to_dict()})[1:-2]
        return _pieces(text.replace(_MARKED, "%s").replace('"signals":[]', '"signals":[%s]'))

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


def _is_odd(numbers: npt.NDArray[np.float64]) -> npt.NDArray[np.bool_]:
    """Which numbers Python writes in its own way; scores and what they are made of are from 0."""
    return ((numbers > 0) & (numbers < _LEAST_PLAIN)) | (numbers >= _MOST_PLAIN)


def _numbers_json(numbers: npt.NDArray[np.float64]) -> bytes:
    """Numbers as JSON with commas between them; null for NaN."""
    return _encode(numbers.tolist())[1:-1]


def sample_json(sample: Any) -> bytes | None:
    """A sample as it is echoed; None where it has to be written with its row.

    That is where it holds a lone surrogate, or what cannot be written.
    """
    echoed = sample_dict(sample)
    try:
        if _is_plain(echoed):
            return _encode(echoed)
        return json_text.readable(echoed).encode()
    except (ValueError, TypeError):
        return None


def _is_plain(value: Any, depth: int = 0) -> bool:
    """Texts, whole numbers, truth values and nothing, also in lists and under names.

    All writers of JSON agree on those.
    """
    kind = type(value)
    if kind is str or value is None or kind is bool:
        return True
    if kind is int:
        return bool(-_MOST_WHOLE < value < _MOST_WHOLE)
    if kind is dict:
        if set(map(type, value)) <= {str}:
            return _are_plain(value.values(), depth)
    elif kind is list:
        return set(map(type, value)) <= {str} or _are_plain(value, depth)
    return False


def _are_plain(values: Iterable[Any], depth: int) -> bool:
    return depth < _MOST_DEPTH and all(_is_plain(one, depth + 1) for one in values)
