"""The sentences of a result's answer, or ground truth, in; what supports each of them, out.

A result has it from the kernels. Where it was not kept, or is of other texts, it is recomputed from
the texts of the sample.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from rag_eval.errors import RagEvalError
from rag_eval.inputs.row_texts import read_rows
from rag_eval.inputs.samples import FieldNeeds, SampleLike
from rag_eval.kernels import scoring as kernels
from rag_eval.kernels.scoring import Evidence, GroundedDetails, RowDetails, metric_numbers
from rag_eval.kernels.settings import OverlapSettings
from rag_eval.metrics.ids import OF_ANSWER
from rag_eval.results.row import EvalResult, SentenceEvidence
from rag_eval.results.words_grounded import SENTENCE_CUT, evidence_of, missing_words
from rag_eval.results.words_overlap import LOW_SUPPORT, RowFacts
from rag_eval.samples import MetricId
from rag_eval.scoring.explaining import LazyMetrics
from rag_eval.views.texts import contexts_of, fields_of, text_of, truths_of

Level: TypeAlias = Literal["supported", "weak", "unsupported"]
LEVELS: Final[dict[Level, int]] = {"supported": 0, "weak": 1, "unsupported": 2}
"""The best first."""

# Below the cut of the grounded profile a sentence counts as not supported; below this hardly a word
# of it is in the contexts.
_HARDLY: Final = 0.30
_METRICS: Final[tuple[MetricId, ...]] = ("faithfulness", "hallucination_rate", "context_recall")
_SETTINGS: Final = frozenset(OverlapSettings.__slots__)
# Bytes of UTF-8 that do not begin a code point.
_CONTINUING: Final = bytes(range(0x80, 0xC0))


class SentenceView(NamedTuple):
    """One sentence and how far the contexts support it.

    Attributes
    ----------
    text : str
    span : (int, int)
        Its place in the answer, or the ground truth, in code points.
    support : float
        From 0 to 1, by the profile of the result.
    level : {"supported", "weak", "unsupported"}
        Grounded: supported from 0.60 on, and where nothing is claimed; unsupported below 0.30.
        Overlap: unsupported where
        hallucination_rate counts it (0.15 by default), weak where faithfulness warns of it (0.30).
    chunk : int or None
        The context that supports it best; None if none does.
    window : (int, int) or None
        The best passage of that context, in code points; None if the whole context counts.
    missing_numbers, missing_names : tuple of str
        Those that no context has.
    contradiction : (str, str) or None
        The sentence's number, and the other one that stands in its place in the context.
    far_names : tuple of (str, str)
        Names that the contexts have, but not near each other.
    """

    text: str
    span: tuple[int, int]
    support: float
    level: Level
    chunk: int | None = None
    window: tuple[int, int] | None = None
    missing_numbers: tuple[str, ...] = ()
    missing_names: tuple[str, ...] = ()
    contradiction: tuple[str, str] | None = None
    far_names: tuple[tuple[str, str], ...] = ()

    @property
    def missing(self) -> tuple[str, ...]:
        """Numbers and names that no context has."""
        return self.missing_numbers + self.missing_names

    @property
    def remarks(self) -> tuple[str, ...]:
        """What the contexts contradict or lack: ``the sentence says 50, the context 40``."""
        return tuple(missing_words(self))


class RowSentences(NamedTuple):
    """Sentences of an answer, and of :func:`shown_truth`, in order; none where a text is not there.

    Contexts have to be there, too, and a metric that looks at the sentences.
    """

    answer: tuple[SentenceView, ...]
    truth: tuple[SentenceView, ...]


_NO_SENTENCES: Final = RowSentences((), ())


def sentences_of_rows(
    rows: Iterable[tuple[EvalResult, str, str, Sequence[str]]],
) -> Iterator[RowSentences]:
    """The sentences of several rows, given with answer, shown ground truth and contexts.

    What kernels did not keep is computed again, for all of them at once.
    """
    asked = [_asked(*row) for row in rows]
    by_overlap = _by_overlap([one for one in asked if isinstance(one, _Asked)])
    for one in asked:
        yield next(by_overlap) if isinstance(one, _Asked) else one


def answer_sentences(result: EvalResult) -> tuple[SentenceView, ...]:
    """Sentences of the answer, in order; empty without an answer or contexts."""
    return _sentences(result, text_of(result, "answer"), "").answer


def truth_sentences(result: EvalResult) -> tuple[SentenceView, ...]:
    """Sentences of :func:`shown_truth`, and how far the contexts cover them."""
    return _sentences(result, "", shown_truth(result)).truth


def shown_truth(result: EvalResult) -> str:
    """The ground truth; of several the one that the contexts cover best, as context_recall does."""
    truths = truths_of(result)
    if len(truths) < 2 or _profile(result) != "grounded":
        return truths[0] if truths else ""
    best = _best_truth(result)
    if best is None:
        best = _best_truth(_evaluated(result, "context_recall"))
    return truths[best or 0]


def _best_truth(result: EvalResult | None) -> int | None:
    """The ground truth that context_recall took, where kernels have scored it."""
    metrics = None if result is None else result.metrics
    if isinstance(metrics, LazyMetrics) and isinstance(metrics.details, GroundedDetails):
        return metrics.details.best_truth
    return None


def _profile(result: EvalResult) -> str:
    """Files of rag-eval-node-ts have no signature; they are of the overlap profile."""
    return "overlap" if result.signature is None else result.signature.profile


def _sentences(result: EvalResult, answer: str, truth: str) -> RowSentences:
    found = _asked(result, answer, truth, contexts_of(result))
    return next(_by_overlap([found])) if isinstance(found, _Asked) else found


def _asked(
    result: EvalResult, answer: str, truth: str, contexts: Sequence[str]
) -> _Asked | RowSentences:
    """The sentences by their evidence, or what has to be asked for in the overlap profile."""
    metrics = set(result.metrics)
    if not contexts or metrics.isdisjoint(OF_ANSWER):
        answer = ""
    if not contexts or "context_recall" not in metrics:
        truth = ""
    if not answer and not truth:
        return _NO_SENTENCES
    if _profile(result) != "grounded":
        kept = _kept_overlap(result, answer, truth)
        if kept is not None:
            return kept
        options = {} if result.signature is None else result.signature.options
        return _Asked(answer, truth, contexts, options)
    return RowSentences(
        _by_evidence(result, answer, contexts, OF_ANSWER),
        _by_evidence(result, truth, contexts, ("context_recall",)),
    )


def _by_evidence(
    result: EvalResult, text: str, contexts: Sequence[str], metrics: tuple[MetricId, ...]
) -> tuple[SentenceView, ...]:
    if not text:
        return ()
    lazy = result.metrics
    if isinstance(lazy, LazyMetrics) and isinstance(lazy.details, GroundedDetails):
        found = evidence_of(lazy.details, [metric for metric in metrics if metric in lazy.columns])
        return tuple(_grounded_view(text, one) for one in found)
    kept = [result.metrics[metric].evidence for metric in metrics if metric in result.metrics]
    fitting = (found for found in kept if found and _fits(found, text, contexts))
    evidence = next(fitting, None) or _found_anew(result, metrics[0])
    return tuple(_grounded_view(text, found) for found in evidence)


def _fits(evidence: Sequence[SentenceEvidence], text: str, contexts: Sequence[str]) -> bool:
    """Whether the evidence is of these texts, which may have been changed in a file, or cut."""
    end = 0
    for found in evidence:
        begin, stop = found.span
        if not end <= begin < stop <= len(text):
            return False
        end = stop
        if found.chunk is None:
            if found.window is not None:
                return False
        elif found.chunk >= len(contexts) or (
            found.window is not None and found.window[1] > len(contexts[found.chunk])
        ):
            return False
    return True


def _grounded_view(text: str, found: SentenceEvidence | Evidence) -> SentenceView:
    span, support = found.span, found.support
    level: Level = "weak" if support >= _HARDLY else "unsupported"
    if support >= SENTENCE_CUT or found.no_claim:
        level = "supported"
    # By position: rows have dozens, and names take a third of the time.
    return SentenceView(
        text[span[0] : span[1]],
        span,
        support,
        level,
        found.chunk,
        found.window,
        tuple(found.missing_numbers),
        tuple(found.missing_names),
        found.contradiction,
        tuple(found.far_names),
    )


def _found_anew(result: EvalResult, metric: MetricId) -> Sequence[SentenceEvidence]:
    found = _evaluated(result, metric)
    return () if found is None else found.metrics[metric].evidence or ()


def _evaluated(result: EvalResult, metric: MetricId) -> EvalResult | None:
    """The sample, scored again by one metric; None if it cannot be read."""
    from rag_eval.scoring.evaluation import evaluate

    # All of its texts: they tell the language.
    sample = {
        "question": text_of(result, "question"),
        "answer": text_of(result, "answer"),
        "contexts": list(contexts_of(result)),
        "groundTruth": list(truths_of(result)) or None,
        "language": fields_of(result).get("language"),
    }
    signed = {} if result.signature is None else result.signature.options
    options: dict[str, Any] = {"profile": "grounded"}
    # A file without details does not say what was detected, but what was asked for.
    asked = (signed.get("language"), result.language)
    options["language"] = next((tag for tag in asked if tag not in (None, "detected")), None)
    if str(signed.get("stemmer", "")).startswith("snowball"):
        options["stemmer"] = "snowball"
    try:
        return evaluate(sample, [metric], **options)
    except RagEvalError:  # a missing extra, or invalid texts
        return None


# ---------------------------------------------------------------------------------------- overlap


class _Asked(NamedTuple):
    """Texts whose sentences are looked for in the contexts; an empty one is not asked for."""

    answer: str
    truth: str
    contexts: Sequence[str]
    options: Mapping[str, Any]


def _by_overlap(asked: Sequence[_Asked]) -> Iterator[RowSentences]:
    """What the overlap profile sees in each sentence, by its rules for claims and for recall."""
    for options, rows in groupby(asked, lambda one: one.options):
        known = {name: value for name, value in options.items() if name in _SETTINGS}
        yield from _overlap_rows(list(rows), known)


def _overlap_rows(asked: list[_Asked], known: dict[str, Any]) -> Iterator[RowSentences]:
    rows: list[SampleLike] = []
    for one in asked:
        texts = {"question": "", "answer": one.answer, "groundTruth": one.truth}
        rows.append({**texts, "contexts": list(one.contexts)})
        # The sentences are those of the text that is shown, which may be read as a list of texts.
        rows.append({**texts, "answer": one.truth, "groundTruth": "", "contexts": []})
    try:
        settings = OverlapSettings.from_options(known)
        batch = read_rows(rows, 0, FieldNeeds.of(_METRICS)).pack()
        details = kernels.explained_overlap(batch, settings, metric_numbers(_METRICS))[1]
    except RagEvalError:  # invalid settings or texts
        for one in asked:
            if len(asked) > 1:
                yield from _overlap_rows([one], known)
            elif one.answer and one.truth:
                (answer,) = _overlap_rows([one._replace(truth="")], known)
                (truth,) = _overlap_rows([one._replace(answer="")], known)
                yield RowSentences(answer.answer, truth.truth)
            else:
                yield _NO_SENTENCES
        return
    found = iter(details)
    for one in asked:
        scored, spans = next(found), next(found).answer_spans
        yield RowSentences(
            _claims(one.answer, scored, settings),
            _recalled(one.truth, spans, scored, settings),
        )


def _kept_overlap(result: EvalResult, answer: str, truth: str) -> RowSentences | None:
    """The sentences as kernels kept them; None where they scored other texts, or less of them."""
    metrics = result.metrics
    if not isinstance(metrics, LazyMetrics) or not isinstance(metrics.facts, RowFacts):
        return None
    if answer and "faithfulness" not in metrics.columns:
        return None
    # A text in the form of a list, and contexts that are not texts, are read as something else.
    contexts = fields_of(result).get("contexts")
    if truth[:1] == "[" or not isinstance(contexts, list) or set(map(type, contexts)) != {str}:
        return None
    details, settings = metrics.facts.details, metrics.facts.settings
    return RowSentences(
        _claims(answer, details, settings) if answer else (),
        _recalled(truth, details.truth_spans, details, settings) if truth else (),
    )


def _claims(text: str, details: RowDetails, settings: OverlapSettings) -> tuple[SentenceView, ...]:
    spans = _code_points(text, details.answer_spans)
    claims = zip(spans, details.support, details.overlap, details.support_chunks, strict=True)
    return tuple(
        SentenceView(
            text[slice(*span)], span, support, _claim_level(support, overlap, settings), chunk
        )
        for span, support, overlap, chunk in claims
    )


def _recalled(
    text: str, spans: Sequence[tuple[int, int]], details: RowDetails, settings: OverlapSettings
) -> tuple[SentenceView, ...]:
    least = settings.sentence_coverage_threshold
    if len(details.coverage) != len(spans):  # read as a list of texts
        return ()
    found = zip(_code_points(text, spans), details.coverage, details.coverage_chunks, strict=True)
    return tuple(
        SentenceView(
            text[slice(*span)], span, value, "supported" if value >= least else "unsupported", chunk
        )
        for span, value, chunk in found
    )


def _claim_level(support: float, overlap: float, settings: OverlapSettings) -> Level:
    if overlap < settings.claim_support_threshold:
        return "unsupported"
    return "weak" if support < LOW_SUPPORT else "supported"


def _code_points(text: str, spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Spans of bytes, in ascending order, as spans of code points."""
    if text.isascii():
        return list(spans)
    data = text.encode("utf-8", "surrogatepass")
    found, place, at = [], 0, 0
    for begin, end in spans:
        first = at + len(data[place:begin].translate(None, _CONTINUING))
        at = first + len(data[begin:end].translate(None, _CONTINUING))
        place = end
        found.append((first, at))
    return found
