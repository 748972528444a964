"""Mastra's completeness of samples: its contract."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from rag_eval.metrics.contract import Fields, Metric, Scored, Scorer
from rag_eval.metrics.findings_column import RowScore, column_of
from rag_eval.samples import NullReason
from rag_eval.scorers.mastra import completeness as rule
from rag_eval.scorers.mastra.elements import element_coverage, text_elements
from rag_eval.scorers.mastra.run_texts import NO_OUTPUT
from rag_eval.scorers.mastra.runs import run_of_messages
from rag_eval.scorers.mastra.verb_forms import Lemmas
from rag_eval.scorers.short_texts import cut

_SHOWN: Final = 20
_NO_INPUT: Final = Scored(None, NullReason.MISSING_FIELD, "Neither a question nor messages given.")


def _completeness(lemmas: str = "own") -> Scorer:
    chosen = rule.CompletenessOptions(lemmas=lemmas).chosen

    def row_score(fields: Fields) -> RowScore:
        given, output = _texts(fields)
        if given is None or output is None:
            return NullReason.MISSING_FIELD
        return element_coverage(text_elements(given, chosen), text_elements(output, chosen))

    def score(fields: Fields) -> Scored:
        return _scored(fields, chosen)

    return Scorer(score, lambda rows: column_of(rows, row_score))


def _texts(fields: Fields) -> tuple[str | None, str | None]:
    """What came in and what went out; None where the sample does not say."""
    if "messages" not in fields:
        return fields.get("question"), fields.get("answer")
    run = run_of_messages(fields["messages"])
    return rule.joined(run.input), rule.joined(run.output)


def _scored(fields: Fields, chosen: Lemmas) -> Scored:
    given, output = _texts(fields)
    if given is None or output is None:
        return _NO_INPUT if given is None else NO_OUTPUT
    found = rule.completeness(given, output, lemmas=chosen)
    total = found.element_counts.input
    words = f"{round(found.score * total)} of {total} elements of the question are in the answer."
    return Scored(found.score, NullReason.MEASURED, words, [_detail(found)])


def _detail(found: rule.Completeness) -> Mapping[str, Any]:
    missing = found.missing_elements
    return {
        "check": "completeness",
        "passed": found.score == 1,
        "missing": _shown(missing),
        "elementCounts": found.element_counts.to_dict(),
    }


def _shown(elements: Sequence[str]) -> list[str]:
    more = [f"and {len(elements) - _SHOWN} more"] if len(elements) > _SHOWN else []
    return [*(cut(element) for element in elements[:_SHOWN]), *more]


METRICS: Final[tuple[Metric, ...]] = (
    Metric(
        id=rule.ID,
        summary="Share of the words of the question, verbs by their infinitives, that are in the"
        " answer; 1 where neither has any",
        create=_completeness,
        fields=(),
        optional=("question", "answer", "messages"),
        options={"lemmas": "own"},
        cost="python",
        source="@mastra/evals 1.1.1",
        null_when="there is no question or no answer, nor messages",
    ),
)
