"""The sentences of a result's answer, or ground truth, in; what supports each of them, out.

A result of the grounded profile has evidence. Where it was not kept, or is of other texts, and in
the overlap profile, it is recomputed from the texts of the sample.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

import numpy as np

from rag_eval.errors import RagEvalError
from rag_eval.inputs.row_texts import read_rows
from rag_eval.inputs.samples import FieldNeeds, SampleLike
from rag_eval.kernels import scoring as kernels
from rag_eval.kernels.scoring import metric_numbers
from rag_eval.kernels.settings import OverlapSettings
from rag_eval.results.row import EvalResult, MetricResult, SentenceEvidence
from rag_eval.results.words_grounded import SENTENCE_CUT, missing_words
from rag_eval.results.words_overlap import LOW_SUPPORT
from rag_eval.samples import MetricId
from rag_eval.views.texts import contexts_of, fields_of, text_of, truths_of

Level: TypeAlias = Literal["supported", "weak", "unsupported"]

# Below the cut of the grounded profile a sentence counts as not supported; below this hardly a word
# of it is in the contexts.
_HARDLY: Final = 0.30
_METRICS: Final[tuple[MetricId, ...]] = ("faithfulness", "hallucination_rate", "context_recall")
_SETTINGS: Final = frozenset(OverlapSettings.__slots__)
# Those whose evidence is of the answer.
_OF_ANSWER: Final[tuple[MetricId, ...]] = ("faithfulness", "hallucination_rate")


@dataclass(frozen=True, slots=True, kw_only=True)
class SentenceView:
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
        The best passage of that context, in code points; None where the whole context counts.
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
        """What the contexts have otherwise, or not at all: ``50 here, 40 in the context``."""
        return tuple(missing_words(self, "context"))


def answer_sentences(result: EvalResult) -> tuple[SentenceView, ...]:
    """Sentences of the answer, in order; none where it or the contexts are not there."""
    answer = text_of(result, "answer")
    return _sentences(result, answer, _OF_ANSWER)


def truth_sentences(result: EvalResult) -> tuple[SentenceView, ...]:
    """Sentences of :func:`shown_truth`, and how far the contexts cover them."""
    return _sentences(result, shown_truth(result), ("context_recall",))


def shown_truth(result: EvalResult) -> str:
    """The ground truth; of several the one that the contexts cover best, as context_recall does."""
    truths = truths_of(result)
    if len(truths) < 2 or _profile(result) != "grounded":
        return truths[0] if truths else ""
    scores = [_recall(result, truth) for truth in truths]
    return truths[scores.index(max(scores))]


def _profile(result: EvalResult) -> str:
    """Files of rag-eval-node-ts have no signature; they are of the overlap profile."""
    return "overlap" if result.signature is None else result.signature.profile


def _sentences(
    result: EvalResult, text: str, metrics: tuple[MetricId, ...]
) -> tuple[SentenceView, ...]:
    contexts = contexts_of(result)
    if not text or not contexts or not any(metric in result.metrics for metric in metrics):
        return ()
    if _profile(result) != "grounded":
        return _by_overlap(result, text, contexts, metrics)
    kept = [result.metrics[metric].evidence for metric in metrics if metric in result.metrics]
    fitting = (found for found in kept if found and _fits(found, text, contexts))
    evidence = next(fitting, None) or _found_anew(result, text, metrics[0])
    return tuple(_grounded_view(text, found) for found in evidence)


def _fits(evidence: Sequence[SentenceEvidence], text: str, contexts: Sequence[str]) -> bool:
    """Whether it is of these texts, which may have been changed in a file, or cut."""
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


def _grounded_view(text: str, found: SentenceEvidence) -> SentenceView:
    carried = found.support >= SENTENCE_CUT or found.no_claim
    level: Level = "supported" if carried else "weak"
    return SentenceView(
        text=text[slice(*found.span)],
        span=found.span,
        support=found.support,
        level="unsupported" if found.support < _HARDLY and not carried else level,
        chunk=found.chunk,
        window=found.window,
        missing_numbers=found.missing_numbers,
        missing_names=found.missing_names,
        contradiction=found.contradiction,
        far_names=found.far_names,
    )


def _found_anew(result: EvalResult, text: str, metric: MetricId) -> Sequence[SentenceEvidence]:
    field = "answer" if metric in _OF_ANSWER else "groundTruth"
    found = _evaluated(result, {field: text}, metric)
    return () if found is None else found.evidence or ()


def _recall(result: EvalResult, truth: str) -> float:
    found = _evaluated(result, {"groundTruth": truth}, "context_recall")
    return -1.0 if found is None or found.score is None else found.score


def _evaluated(result: EvalResult, texts: dict[str, str], metric: MetricId) -> MetricResult | None:
    """One metric of the sample with some of its texts changed; None where it cannot be read."""
    from rag_eval.scoring.evaluation import evaluate

    sample = {
        "question": text_of(result, "question"),
        "answer": text_of(result, "answer"),
        "contexts": list(contexts_of(result)),
        **texts,
    }
    signed = {} if result.signature is None else result.signature.options
    options: dict[str, Any] = {"profile": "grounded"}
    # A file without details does not say what was detected, but what was asked for.
    asked = (signed.get("language"), result.language, fields_of(result).get("language"))
    options["language"] = next((tag for tag in asked if tag not in (None, "detected")), None)
    if str(signed.get("stemmer", "")).startswith("snowball"):
        options["stemmer"] = "snowball"
    try:
        return evaluate(sample, [metric], **options).metrics[metric]
    except RagEvalError:  # an extra that is not there, or texts that are none
        return None


# ---------------------------------------------------------------------------------------- overlap


def _by_overlap(
    result: EvalResult, text: str, contexts: Sequence[str], metrics: tuple[MetricId, ...]
) -> tuple[SentenceView, ...]:
    """What the overlap profile sees in each sentence, by its rules for claims or for recall.

    The profile keeps the best overlap of a sentence and not where it was found, so that each
    context is asked by itself.
    """
    options = {} if result.signature is None else result.signature.options
    known = {name: value for name, value in options.items() if name in _SETTINGS}
    needs = FieldNeeds.of(_METRICS)
    texts = {"question": "", "answer": text, "groundTruth": text}
    rows: list[SampleLike] = [{**texts, "contexts": [context]} for context in contexts]
    numbers = metric_numbers(_METRICS)
    try:
        settings = OverlapSettings.from_options(known)
        batch = read_rows(rows, 0, needs).pack()
        details = [
            kernels.overlap_details(batch, row, settings, numbers) for row in range(len(rows))
        ]
    except RagEvalError:  # settings that are none, or texts that are none
        return ()
    is_recall = metrics == ("context_recall",)
    views = []
    for place, span in enumerate(_code_points(text, details[0].answer_spans)):
        supports = [(one.coverage if is_recall else one.support)[place] for one in details]
        best = max(supports)
        overlap = best if is_recall else max(one.overlap[place] for one in details)
        views.append(
            SentenceView(
                text=text[slice(*span)],
                span=span,
                support=best,
                level=_level(is_recall, best, overlap, settings),
                chunk=supports.index(best) if best else None,
            )
        )
    return tuple(views)


def _level(is_recall: bool, support: float, overlap: float, settings: OverlapSettings) -> Level:
    if is_recall:
        return "supported" if support >= settings.sentence_coverage_threshold else "unsupported"
    if overlap < settings.claim_support_threshold:
        return "unsupported"
    return "weak" if support < LOW_SUPPORT else "supported"


def _code_points(text: str, spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Spans of bytes as spans of code points."""
    data = text.encode("utf-8", "surrogatepass")
    if len(data) == len(text):
        return list(spans)
    starts = np.cumsum((np.frombuffer(data, np.uint8) & 0xC0) != 0x80)
    ends = np.concatenate(([0], starts))
    return [(int(ends[begin]), int(ends[end])) for begin, end in spans]
