"""The text of a failed assertion about one result, safe to print on any terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from rag_eval.gating.bars import BarOutcome
from rag_eval.metrics.ids import COMPOSITE, OF_ANSWER
from rag_eval.plumbing.spelling import counted
from rag_eval.reports.plain_text import plain_text
from rag_eval.results.row import EvalResult
from rag_eval.views.findings import gravest_first
from rag_eval.views.sentences import SentenceView, answer_sentences, truth_sentences
from rag_eval.views.texts import contexts_of

_NAME_LIMIT: Final = 60
_SENTENCE_LIMIT: Final = 300
_WINDOW_LIMIT: Final = 200
_EXPLANATION_LIMIT: Final = 300
_MOST_SENTENCES: Final = 5
_MOST_SIGNALS: Final = 8
# Metrics whose low scores are explained by sentences of the answer.
_OF_ANSWER: Final = frozenset({*OF_ANSWER, COMPOSITE})
_OF_TRUTH: Final = frozenset({"context_recall", COMPOSITE})


def assertion_text(result: EvalResult, outcomes: Sequence[BarOutcome], name: str) -> str:
    """Each score with its threshold, then the sentences and signals behind the failures.

    Parameters
    ----------
    result : EvalResult
    outcomes : sequence of BarOutcome
    name : str
        Name of the sample, or empty.
    """
    missed = [outcome for outcome in outcomes if not outcome.held]
    profile = "" if result.signature is None else f" (profile {result.signature.profile})"
    called = f' "{plain_text(name, _NAME_LIMIT)}"' if name else ""
    thresholds = counted(len(outcomes), "threshold")
    lines = [f"sample{called}: {len(missed)} of {thresholds} not met{profile}"]
    lines += _bar_lines(outcomes)
    names = {outcome.metric for outcome in missed}
    if names & _OF_ANSWER:
        lines += _sentence_lines(result, answer_sentences(result), "answer")
    if names & _OF_TRUTH:
        lines += _sentence_lines(result, truth_sentences(result), "ground truth")
    lines += _signal_lines(result, names)
    return "\n".join(lines)


def _bar_lines(outcomes: Sequence[BarOutcome]) -> Iterator[str]:
    """Failures first, each with its reason."""
    rows = [(outcome, *outcome.texts) for outcome in sorted(outcomes, key=lambda each: each.held)]
    width = max(len(outcome.metric) for outcome, _, _ in rows)
    room = max(len(found) for _, found, _ in rows)
    for outcome, found, wanted in rows:
        line = f"  {outcome.metric:<{width}}  {found:>{room}}  threshold {wanted}"
        line += "" if outcome.rises else " (maximum)"
        yield line + (", passed" if outcome.held else "")
        if outcome.held:
            continue
        why = ": ".join(filter(None, (outcome.null_reason, outcome.explanation)))
        if why:
            yield f"    {plain_text(why, _EXPLANATION_LIMIT)}"


def _sentence_lines(
    result: EvalResult, sentences: Sequence[SentenceView], owner: str
) -> Iterator[str]:
    """The sentences that are not supported, lowest support first, with their best matches."""
    short = sorted(
        (sentence for sentence in sentences if sentence.level != "supported"),
        key=lambda sentence: sentence.support,
    )
    if not short:
        return
    n = counted(len(sentences), "sentence")
    yield f"  {owner}: {len(short)} of {n} not fully supported by the contexts"
    contexts = contexts_of(result)
    for sentence in short[:_MOST_SENTENCES]:
        text = plain_text(sentence.text, _SENTENCE_LIMIT)
        yield f"    {sentence.support:.2f} {sentence.level}: “{text}”"
        if sentence.chunk is not None and sentence.chunk < len(contexts):
            yield f"      best match in contexts[{sentence.chunk}]: “{_window(sentence, contexts)}”"
        else:
            yield "      no matching context"
        for remark in sentence.remarks:
            yield f"      {plain_text(remark, _SENTENCE_LIMIT)}"
    if len(short) > _MOST_SENTENCES:
        yield f"    and {len(short) - _MOST_SENTENCES} more"


def _window(sentence: SentenceView, contexts: Sequence[str]) -> str:
    assert sentence.chunk is not None
    text = contexts[sentence.chunk]
    begin, end = (0, len(text)) if sentence.window is None else sentence.window
    shown = plain_text(text[begin:end], _WINDOW_LIMIT)
    return ("…" if begin else "") + shown + ("…" if end < len(text) else "")


def _signal_lines(result: EvalResult, names: set[str]) -> Iterator[str]:
    """The signals of the metrics that failed."""
    signals = gravest_first(
        signal
        for name, metric in result.metrics.items()
        if name in names or COMPOSITE in names
        for signal in metric.signals
    )
    if signals:
        yield "  signals:"
    for signal in signals[:_MOST_SIGNALS]:
        message = plain_text(signal.message, _EXPLANATION_LIMIT)
        evidence = plain_text(signal.evidence or "", _NAME_LIMIT)
        quoted = f" “{evidence}”" if evidence else ""
        yield f"    {signal.severity} {signal.metric_id}: {message}{quoted}"
    if len(signals) > _MOST_SIGNALS:
        yield f"    and {len(signals) - _MOST_SIGNALS} more"
