"""A result in; findings about its metrics and sentences, one line each, out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, Protocol, TypeAlias, TypeVar

from rag_eval.metrics.ids import OF_ANSWER
from rag_eval.results.row import EvalResult, EvalSignal, MetricResult, Severity
from rag_eval.samples import MetricId
from rag_eval.views.sentences import SentenceView, answer_sentences, truth_sentences

_Sentences: TypeAlias = Callable[[EvalResult], tuple[SentenceView, ...]]

_SEVERITIES: Final = {"critical": 0, "warning": 1, "info": 2}
# So many per heading; the last line says how many more there are.
_MOST_LINES: Final = 10


def row_findings(result: EvalResult) -> dict[str, list[str]]:
    """Lines under the metric they are about, or under ``answer`` and ``ground truth``.

    Signals with their evidence, and checks that failed; and of a metric that did not pass the
    sentences that contexts do not support, unless signals quote them.
    """
    found = {name: list(_of_metric(metric)) for name, metric in result.metrics.items()}
    found["answer"] = _sentence_lines(result, OF_ANSWER, answer_sentences)
    found["ground truth"] = _sentence_lines(result, ("context_recall",), truth_sentences)
    return {name: _cut(lines) for name, lines in found.items() if lines}


def _of_metric(metric: MetricResult) -> Iterator[str]:
    yield from (_signal_line(signal) for signal in metric.signals)
    for finding in metric.details or ():
        if finding.get("passed") is False:
            yield check_line(finding)


class _Graded(Protocol):
    @property
    def severity(self) -> Severity: ...


_Signal = TypeVar("_Signal", bound=_Graded)


def gravest_first(signals: Iterable[_Signal]) -> list[_Signal]:
    """Critical ones, then warnings, then the rest, each in their order."""
    return sorted(signals, key=lambda signal: _SEVERITIES.get(signal.severity, 0))


def _signal_line(signal: EvalSignal) -> str:
    line = f"{signal.severity}: {signal.message}"
    return f"{line} “{signal.evidence}”" if signal.evidence else line


def check_line(finding: Mapping[str, Any]) -> str:
    """A failed check: the expected value, the actual value, and its message."""
    parts = [f"{finding.get('check', 'check')} failed"]
    parts += [
        f"{name} {finding[name]}"
        for name in ("expected", "actual")
        if finding.get(name) is not None
    ]
    said = finding.get("message")
    return ", ".join(parts) + (f": {said}" if said else "")


def _sentence_lines(
    result: EvalResult, names: Iterable[MetricId], sentences_of: _Sentences
) -> list[str]:
    # Sentences may have to be searched again, which takes longer than everything else.
    metrics = [result.metrics[name] for name in names if name in result.metrics]
    signals = [signal for metric in metrics for signal in metric.signals]
    if all(metric.passed for metric in metrics) or any(signal.evidence for signal in signals):
        return []
    sentences = sentences_of(result)
    return [_sentence_line(found) for found in sentences if found.level != "supported"]


def _sentence_line(sentence: SentenceView) -> str:
    head = "not supported" if sentence.level == "unsupported" else "weakly supported"
    return "; ".join([f"{head} ({sentence.support:.2f}): “{sentence.text}”", *sentence.remarks])


def _cut(lines: list[str]) -> list[str]:
    if len(lines) <= _MOST_LINES:
        return lines
    kept = lines[: _MOST_LINES - 1]
    return [*kept, f"+ {len(lines) - len(kept):,} more"]
