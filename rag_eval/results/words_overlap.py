"""The texts of the overlap profile: the parts of a row's scores -> explanations, signals.

Wording, severities and limits are those of rag-eval-node-ts 0.3.2, to the letter.

What is said has the same form in both profiles: words with places for values. Results fill them;
result files have them as JSON with the same places, made once, and fill that.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any, Final, TypeAlias

from rag_eval.kernels.columns import SampleBatch
from rag_eval.kernels.scoring import Evidence, RowDetails, Sentences, lacked_field
from rag_eval.kernels.settings import OverlapSettings
from rag_eval.metrics.ids import METRIC_NUMBERS
from rag_eval.plumbing.javascript_numbers import shortest, three_decimals
from rag_eval.plumbing.spelling import camel_case
from rag_eval.results.row import EvalSignal, Losses, SentenceEvidence, Severity, Words
from rag_eval.samples import MetricId


@dataclass(frozen=True, eq=False)
class SignalKind:
    """What signals of a kind have in common.

    Attributes
    ----------
    id : str
        That of a signal about a sentence ends with the number of the sentence.
    metric : MetricId
    severity : {"info", "warning", "critical"}
    message : str
        With ``%s`` for each value.
    quotes : bool
        Whether values hold text of the data.
    """

    id: str
    metric: MetricId
    severity: Severity
    message: str
    quotes: bool = False

    @classmethod
    def named(
        cls, metric: MetricId, name: str, severity: Severity, message: str, *, quotes: bool = False
    ) -> SignalKind:
        """The kind whose id is the metric with a name."""
        return cls(f"{metric.replace('_', '-')}-{name}", metric, severity, message, quotes)


SaidSignal: TypeAlias = tuple[SignalKind, tuple[object, ...], int | None, str | None, int | None]
"""The kind of a signal, values, number of the sentence, evidence, and index of the context."""


Parts: TypeAlias = tuple[Sequence[float] | None, Sentences | None, Sequence[float] | None]
"""What a score of the grounded profile is made of: scores of chunks, evidence and losses."""


Said: TypeAlias = tuple[str, tuple[object, ...], Sequence[SaidSignal], Parts | None]
"""An explanation with ``%s`` for each value, the values, signals, and parts.

Thousands are made at a time: plain tuples take a tenth of the time of named ones.
"""


def filled(words: str, values: tuple[object, ...]) -> str:
    """Words with values in their places; a float has three decimals."""
    texts = [three_decimals(one) if type(one) is float else one for one in values]
    return words % tuple(texts)


def as_words(said: Mapping[MetricId, Said]) -> dict[MetricId, Words]:
    """As explanations, signals and fields of results; two metrics may share their evidence."""
    made: dict[int, tuple[SentenceEvidence, ...]] = {}
    return {
        metric: (
            filled(words, values),
            tuple(map(as_signal, signals)),
            {} if parts is None else _fields(parts, made),
        )
        for metric, (words, values, signals, parts) in said.items()
    }


def _fields(parts: Parts, made: dict[int, tuple[SentenceEvidence, ...]]) -> dict[str, Any]:
    more: dict[str, Any] = {}
    chunk_scores, evidence, losses = parts
    if evidence is not None:
        key = id(evidence)
        if key not in made:
            made[key] = tuple(map(_sentence, evidence))
        more["evidence"] = made[key]
    if chunk_scores is not None:
        more["chunk_scores"] = tuple(chunk_scores)
    if losses is not None:
        more["losses"] = Losses.of(losses)
    return more


def as_signal(said: SaidSignal) -> EvalSignal:
    """A signal with its values in their places."""
    kind, values, place, evidence, chunk = said
    return EvalSignal(
        id=kind.id if place is None else f"{kind.id}-{place}",
        metric_id=kind.metric,
        severity=kind.severity,
        message=filled(kind.message, values),
        evidence=evidence,
        context_chunk_index=chunk,
    )


def _sentence(fields: tuple[Any, ...]) -> SentenceEvidence:
    found = Evidence._make(fields)
    return SentenceEvidence(
        span=found.span,
        support=found.support,
        chunk=found.chunk,
        window=found.window,
        covered=found.covered,
        missing_numbers=found.missing_numbers,
        missing_names=found.missing_names,
        contradiction=found.contradiction,
        far_names=found.far_names,
        no_claim=found.no_claim,
        losses=Losses.of(found.losses),
    )


ABOUT_SENTENCE, ABOUT_SCORE, ABOUT_CONTEXTS, ABOUT_CONTEXT, ABOUT_CAUSE = range(5)
"""What kernels say signals are about; with the last of them and more, causes."""
PHRASES: Final = (", ",)
"""Between the parts of a list."""
# Signals have limits of their own; thresholds do not move them.
LOW_SUPPORT: Final = 0.3
"""Below it faithfulness warns of a sentence."""
_LOW_RELEVANCE: Final = 0.3
_LOW_SCORE: Final = 0.5

SENTENCE_SIGNALS: Final[dict[MetricId, tuple[str, Severity]]] = {
    "faithfulness": ("faithfulness-low-support", "warning"),
    "hallucination_rate": ("hallucination-unsupported", "critical"),
    "context_recall": ("context-recall-missing", "warning"),
}
"""The signal of a sentence that contexts do not support, by the metric that it counts for."""


def sentence_kind(metric: MetricId, message: str, *, quotes: bool = False) -> SignalKind:
    """The kind of the signals of sentences of a metric."""
    name, severity = SENTENCE_SIGNALS[metric]
    return SignalKind(name, metric, severity, message, quotes)


_LOW_SUPPORT_SIGNAL: Final = sentence_kind(
    "faithfulness", "Answer sentence has low context support (overlap=%s)."
)
_UNSUPPORTED_SIGNAL: Final = sentence_kind(
    "hallucination_rate", "Answer sentence appears unsupported by any context (max overlap=%s)."
)
_LOW_RELEVANCE_SIGNAL: Final = SignalKind.named(
    *("context_precision", "low-relevance-chunks", "info"),
    "Context chunk(s) with low relevance (< 0.3): indices [%s].",
)
LOW_SCORES: Final[dict[MetricId, SignalKind]] = {
    metric: SignalKind.named(metric, "low", "warning", f"{words} (score=%s).")
    for metric, words in {
        "answer_relevance": "Answer may not be relevant to the question",
        "context_precision": "Relevant chunks come late, or none is relevant",
        "answer_correctness": "Answer correctness is low",
    }.items()
}


@dataclass(slots=True)
class RowFacts:
    """One scored row: its score details and what of its texts is quoted.

    ``words`` are those of scores that were counted. Without ``quotes`` there are no signals about
    sentences, which take the most time.
    """

    details: RowDetails
    settings: OverlapSettings
    answer: bytes
    n_contexts: int
    has_ground_truth: bool
    absent: frozenset[str]
    words: Mapping[MetricId, str]
    quotes: bool = True
    claims: Sequence[str] = ()

    def claim(self, index: int) -> str:
        """Sentence ``index`` of the answer."""
        if not self.claims:
            spans, answer = self.details.answer_spans, self.answer
            if answer.isascii():
                text = answer.decode()
                self.claims = [text[begin:end] for begin, end in spans]
            else:
                self.claims = [
                    answer[begin:end].decode("utf-8", "surrogatepass") for begin, end in spans
                ]
        return self.claims[index]

    def unquoted(self) -> RowFacts:
        """The same without quotes."""
        facts = self.details, self.settings, self.answer, self.n_contexts
        return RowFacts(*facts, self.has_ground_truth, self.absent, self.words, quotes=False)

    def said(self, metrics: tuple[MetricId, ...]) -> list[Said]:
        """What is said of the scores of some metrics of a row."""
        scores = self.details.scores
        return [say(self, scores[number]) for say, number in _sayers(metrics, self.absent)]


_Say: TypeAlias = Callable[[RowFacts, float], Said]


@lru_cache(64)
def _sayers(metrics: tuple[MetricId, ...], absent: frozenset[str]) -> list[tuple[_Say, int]]:
    """What tells of the score of each metric, and the kernels' number of the metric."""
    return [(_lacking(absent, one) or _EXPLAINED[one], METRIC_NUMBERS[one]) for one in metrics]


def _lacking(absent: frozenset[str], metric: MetricId) -> _Say | None:
    """What is said of a score that is null because no row has a field that it needs."""
    name = lacked_field(absent, metric)
    if name is None:
        return None
    return lambda facts, _score: _only(metric, _LACKED_BY_ALL, facts)


def _only(metric: MetricId, variant: int, facts: RowFacts) -> Said:
    """An explanation without numbers."""
    return metric_words(metric, variant, facts.settings, facts.absent), (), (), None


def _claim_signals(
    kind: SignalKind, facts: RowFacts, overlaps: Sequence[float], below: float
) -> Sequence[SaidSignal]:
    """One signal per sentence of the answer whose overlap is below a limit."""
    if not facts.quotes:
        return ()
    return [
        (kind, (overlap,), index, facts.claim(index), None)
        for index, overlap in enumerate(overlaps)
        if overlap < below
    ]


_PLAIN, _NOTHING, _LACKED, _LACKED_BY_ALL = range(4)
_NO_CHUNKS: Final = "No context chunks provided."
_WORDS: Final[dict[MetricId, tuple[str, ...]]] = {
    "faithfulness": (
        "Average max-context overlap across %s answer sentence(s): %s.",
        "No answer sentences or context chunks to evaluate.",
    ),
    "answer_relevance": ("TF-IDF similarity: %s, unigram overlap: %s, average: %s.",),
    "context_precision": (
        "Average TF-IDF relevance of %s context chunk(s) to the question: %s.",
        _NO_CHUNKS,
    ),
    "context_recall": (
        "%s/%s ground truth sentence(s) covered by contexts (overlap >= {threshold}): score=%s.",
        "No ground truth sentences or context chunks to evaluate.",
        "groundTruth is required for contextRecall but was not provided.",
    ),
    "context_relevance": (
        "%s/%s context chunk(s) meet relevance threshold (>= {threshold}): score=%s.",
        _NO_CHUNKS,
    ),
    "answer_correctness": (
        "Token F1: %s, unigram overlap: %s, blended score (70%%F1 + 30%%ngram): %s.",
        "",
        "groundTruth is required for answerCorrectness but was not provided.",
    ),
    "hallucination_rate": (
        "%s/%s answer sentence(s) appear unsupported (hallucination rate=%s, score=%s).",
        "Answer produced no sentences to evaluate.",
        "No context chunks provided to evaluate against.",
    ),
}
"""The words of each metric: usually, where there is nothing to count, and without a field."""


@lru_cache(256)
def metric_words(
    metric: MetricId, variant: int, settings: OverlapSettings, absent: frozenset[str]
) -> str:
    """Those words of a metric that kernels name by a number, with ``%s`` for each value."""
    if variant == _LACKED_BY_ALL:
        name = lacked_field(absent, metric)
        return f"{name} is required for {camel_case(metric)} but was not provided."
    words = _WORDS[metric][variant]
    if metric == "context_recall":
        return words.replace("{threshold}", shortest(settings.sentence_coverage_threshold))
    return words.replace("{threshold}", shortest(settings.chunk_relevance_threshold))


@lru_cache(64)
def _plain_words(settings: OverlapSettings, absent: frozenset[str]) -> dict[MetricId, str]:
    """Those of scores that were counted, known for all rows: settings are slow to look up by."""
    return {metric: metric_words(metric, _PLAIN, settings, absent) for metric in _WORDS}


def signal_kind(metric: MetricId, about: int) -> SignalKind:
    """Signals that kernels name by the number of what they are about."""
    if about == ABOUT_SENTENCE:
        return _LOW_SUPPORT_SIGNAL if metric == "faithfulness" else _UNSUPPORTED_SIGNAL
    return LOW_SCORES[metric] if about == ABOUT_SCORE else _LOW_RELEVANCE_SIGNAL


def signal_limits(settings: OverlapSettings) -> tuple[float, ...]:
    """The limits by which kernels find signals and count."""
    return (
        LOW_SUPPORT,
        _LOW_RELEVANCE,
        _LOW_SCORE,
        settings.chunk_relevance_threshold,
        settings.claim_support_threshold,
        settings.sentence_coverage_threshold,
    )


def _faithfulness(facts: RowFacts, score: float) -> Said:
    support = facts.details.support
    if not support:
        return _only("faithfulness", _NOTHING, facts)
    return (
        facts.words["faithfulness"],
        (len(support), score),
        _claim_signals(_LOW_SUPPORT_SIGNAL, facts, support, LOW_SUPPORT),
        None,
    )


def _answer_relevance(facts: RowFacts, score: float) -> Said:
    tfidf, overlap = facts.details.parts[:2]
    return (
        facts.words["answer_relevance"],
        (tfidf, overlap, score),
        low_score("answer_relevance", score, _LOW_SCORE),
        None,
    )


def _context_precision(facts: RowFacts, score: float) -> Said:
    chunks = facts.details.chunk_tfidf
    if not chunks:
        return _only("context_precision", _NOTHING, facts)
    return (
        facts.words["context_precision"],
        (len(chunks), score),
        listed(_LOW_RELEVANCE_SIGNAL, places_below(chunks, _LOW_RELEVANCE)),
        None,
    )


def _context_recall(facts: RowFacts, score: float) -> Said:
    if not facts.has_ground_truth:
        return _only("context_recall", _LACKED, facts)
    coverage = facts.details.coverage
    if not coverage:
        return _only("context_recall", _NOTHING, facts)
    threshold = facts.settings.sentence_coverage_threshold
    covered = len([1 for value in coverage if value >= threshold])
    return (
        facts.words["context_recall"],
        (covered, len(coverage), score),
        (),
        None,
    )


def _context_relevance(facts: RowFacts, score: float) -> Said:
    chunks = facts.details.chunk_overlap
    if not chunks:
        return _only("context_relevance", _NOTHING, facts)
    threshold = facts.settings.chunk_relevance_threshold
    relevant = len([1 for value in chunks if value >= threshold])
    return (
        facts.words["context_relevance"],
        (relevant, len(chunks), score),
        (),
        None,
    )


def _answer_correctness(facts: RowFacts, score: float) -> Said:
    if not facts.has_ground_truth:
        return _only("answer_correctness", _LACKED, facts)
    f1, overlap = facts.details.parts[2:]
    return (
        facts.words["answer_correctness"],
        (f1, overlap, score),
        low_score("answer_correctness", score, _LOW_SCORE),
        None,
    )


def _hallucination_rate(facts: RowFacts, score: float) -> Said:
    if not facts.n_contexts:
        return _only("hallucination_rate", _LACKED, facts)
    overlaps = facts.details.overlap
    if not overlaps:
        return _only("hallucination_rate", _NOTHING, facts)
    threshold, n_sentences = facts.settings.claim_support_threshold, len(overlaps)
    n_unsupported = len([1 for overlap in overlaps if overlap < threshold])
    rate = n_unsupported / n_sentences
    return (
        facts.words["hallucination_rate"],
        (n_unsupported, n_sentences, rate, score),
        _claim_signals(_UNSUPPORTED_SIGNAL, facts, overlaps, threshold),
        None,
    )


def places_below(values: Sequence[float], limit: float) -> list[str]:
    """The places of values below a limit, from 0."""
    return [str(place) for place, value in enumerate(values) if value < limit]


def listed(kind: SignalKind, low: Sequence[str]) -> Sequence[SaidSignal]:
    """One signal that lists contexts; none where there are none."""
    return ((kind, (", ".join(low),), None, None, None),) if low else ()


def low_score(metric: MetricId, score: float, below: float) -> Sequence[SaidSignal]:
    """A signal where the score is below a limit, which thresholds of the caller do not move."""
    if score >= below:
        return ()
    return ((LOW_SCORES[metric], (score,), None, None, None),)


_EXPLAINED: Final[dict[MetricId, Callable[[RowFacts, float], Said]]] = {
    "faithfulness": _faithfulness,
    "answer_relevance": _answer_relevance,
    "context_precision": _context_precision,
    "context_recall": _context_recall,
    "context_relevance": _context_relevance,
    "answer_correctness": _answer_correctness,
    "hallucination_rate": _hallucination_rate,
}


def facts_of_rows(
    rows: Sequence[RowDetails], batch: SampleBatch, settings: OverlapSettings
) -> list[RowFacts]:
    """What there is to say of the rows of a batch."""
    columns = (
        rows,
        batch.answer.all_bytes(),
        pairwise(batch.row_contexts.tolist()),
        pairwise(batch.ground_truth.offsets.tolist()),
    )
    absent = batch.absent
    words = _plain_words(settings, absent)
    return [
        RowFacts(details, settings, answer, end - begin, truth_begin < truth_end, absent, words)
        for details, answer, (begin, end), (truth_begin, truth_end) in zip(*columns, strict=True)
    ]
