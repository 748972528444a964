"""The sentences of a result's answer, or ground truth, in; what carries each of them, out.

A result of the grounded profile has evidence. Where it was not kept, or is of other texts, and in
the overlap profile, it is found anew from the texts of the sample.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

from rag_eval.errors import RagEvalError
from rag_eval.results.row import EvalResult, SentenceEvidence
from rag_eval.results.words_grounded import SENTENCE_CUT
from rag_eval.samples import MetricId
from rag_eval.views.overlap_support import Rule, overlap_support
from rag_eval.views.texts import contexts_of, fields_of, text_of, truths_of

Level: TypeAlias = Literal["supported", "weak", "unsupported"]

# Below the cut of the grounded profile a sentence counts as not supported; below this hardly a word
# of it is in the contexts.
_HARDLY: Final = 0.30
# Those whose evidence is of the answer.
_OF_ANSWER: Final[tuple[MetricId, ...]] = ("faithfulness", "hallucination_rate")


@dataclass(frozen=True, slots=True, kw_only=True)
class SentenceView:
    """One sentence and how far the contexts carry it.

    Attributes
    ----------
    text : str
    span : (int, int)
        Its place in the answer, or the ground truth, in code points.
    support : float
        From 0 to 1, by the profile of the result.
    level : {"supported", "weak", "unsupported"}
        Grounded: supported from 0.60 on, unsupported below 0.30. Overlap: unsupported where
        hallucination_rate counts it (0.15 by default), weak where faithfulness warns of it (0.30).
    chunk : int or None
        The context that carries it best; None where none does.
    window : (int, int) or None
        The best passage of that context, in code points; None where the whole context counts.
    missing_numbers, missing_names : tuple of str
        Those that no context has.
    """

    text: str
    span: tuple[int, int]
    support: float
    level: Level
    chunk: int | None = None
    window: tuple[int, int] | None = None
    missing_numbers: tuple[str, ...] = ()
    missing_names: tuple[str, ...] = ()


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
    level: Level = "supported" if found.support >= SENTENCE_CUT else "weak"
    return SentenceView(
        text=text[slice(*found.span)],
        span=found.span,
        support=found.support,
        level="unsupported" if found.support < _HARDLY else level,
        chunk=found.chunk,
        window=found.window,
        missing_numbers=found.missing_numbers,
        missing_names=found.missing_names,
    )


def _by_overlap(
    result: EvalResult, text: str, contexts: Sequence[str], metrics: tuple[MetricId, ...]
) -> tuple[SentenceView, ...]:
    options = {} if result.signature is None else result.signature.options
    rule: Rule = "recall" if metrics == ("context_recall",) else "claims"
    try:
        sentences = overlap_support(text, contexts, rule, options)
    except RagEvalError:  # settings that are none, or texts that are none
        return ()
    return tuple(
        SentenceView(
            text=text[slice(*found.span)],
            span=found.span,
            support=found.support,
            level=found.level,
            chunk=found.chunk,
        )
        for found in sentences
    )


def _found_anew(result: EvalResult, text: str, metric: MetricId) -> Sequence[SentenceEvidence]:
    field = "answer" if metric in _OF_ANSWER else "groundTruth"
    return _evaluated(result, {field: text}, metric).evidence or ()


def _recall(result: EvalResult, truth: str) -> float:
    score = _evaluated(result, {"groundTruth": truth}, "context_recall").score
    return -1.0 if score is None else score


@dataclass(frozen=True, slots=True)
class _Nothing:
    score: float | None = None
    evidence: tuple[SentenceEvidence, ...] = ()


def _evaluated(result: EvalResult, texts: dict[str, str], metric: MetricId) -> Any:
    """One metric of the sample with some of its texts changed; nothing where it cannot be read."""
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
        return _Nothing()
