"""A result in; what was found about its metrics and sentences, in words, a line each, out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from rag_eval.results import EvalResult, EvalSignal, MetricResult
from rag_eval.views.sentences import SentenceView, answer_sentences, truth_sentences

# So many per heading; the last line says how many more there are.
_MOST_LINES: Final = 10


def row_findings(result: EvalResult) -> dict[str, list[str]]:
    """Lines under the metric they are about, or under ``answer`` and ``ground truth``.

    Signals with their evidence, checks that failed, what a judge said of its failure, and sentences
    that the contexts do not carry; those that a signal quotes are not told twice.
    """
    found = {name: list(_of_metric(metric)) for name, metric in result.metrics.items()}
    quoted = {signal.evidence for metric in result.metrics.values() for signal in metric.signals}
    for name, sentences in (
        ("answer", answer_sentences(result)),
        ("ground truth", truth_sentences(result)),
    ):
        found[name] = [
            _sentence_line(sentence)
            for sentence in sentences
            if sentence.level != "supported" and sentence.text not in quoted
        ]
    return {name: _cut(lines) for name, lines in found.items() if lines}


def _of_metric(metric: MetricResult) -> Iterator[str]:
    yield from (_signal_line(signal) for signal in metric.signals)
    for finding in metric.details or ():
        if finding.get("passed") is False:
            yield _check_line(finding)
    if metric.judged is not None and metric.judged.message:
        yield f"the judge failed: {metric.judged.message}"


def _signal_line(signal: EvalSignal) -> str:
    line = f"{signal.severity}: {signal.message}"
    return f"{line} “{signal.evidence}”" if signal.evidence else line


def _check_line(finding: Mapping[str, Any]) -> str:
    parts = [f"{finding.get('check', 'check')} failed"]
    parts += [f"{name} {finding[name]}" for name in ("expected", "actual") if name in finding]
    said = finding.get("message")
    return ", ".join(parts) + (f": {said}" if said else "")


def _sentence_line(sentence: SentenceView) -> str:
    head = "not supported" if sentence.level == "unsupported" else "weakly supported"
    line = f"{head} ({sentence.support:.2f}): “{sentence.text}”"
    for kind, missing in (
        ("numbers", sentence.missing_numbers),
        ("names", sentence.missing_names),
    ):
        if missing:
            line += f"; {kind} in no context: {', '.join(missing)}"
    return line


def _cut(lines: list[str]) -> list[str]:
    if len(lines) <= _MOST_LINES:
        return lines
    kept = lines[: _MOST_LINES - 1]
    return [*kept, f"+ {len(lines) - len(kept):,} more"]
