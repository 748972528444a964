"""Completeness: two texts or a run in, the share of the input's elements in the output out.

The rules are those of @mastra/evals 1.1.1 once elements are found. Which words are verbs is told
there by a tagger of English and here by their forms, so that scores of prose differ a little.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from rag_eval.errors import MissingExtraError
from rag_eval.metrics.contract import Fields, Scored, Scorer
from rag_eval.metrics.findings_column import RowScore, column_of
from rag_eval.plumbing.checked_values import one_of
from rag_eval.samples import NullReason
from rag_eval.scorers.mastra.elements import (
    Lemmas,
    element_coverage,
    lemminflect_package,
    text_elements,
)
from rag_eval.scorers.mastra.messages import Message
from rag_eval.scorers.mastra.run_texts import NO_OUTPUT, SOURCE
from rag_eval.scorers.mastra.runs import Run, RunError, run_of_messages
from rag_eval.scorers.mastra.scorer import CodeScorer, Finding, Findings, code_metric
from rag_eval.scorers.texts import cut

ID: Final = "mastra.completeness"

_CHOICES: Final = ("own", "lemminflect", "auto")
_BETWEEN: Final = ", "
_SHOWN: Final = 20
_NO_INPUT: Final = Scored(None, NullReason.MISSING_FIELD, "Neither a question nor messages given.")


@dataclass(frozen=True, slots=True)
class ElementCounts(Findings):
    """How many elements the two texts have."""

    input: int
    output: int


@dataclass(frozen=True, slots=True)
class Completeness(Findings):
    """What of the input is in the output.

    Attributes
    ----------
    score : float
        Share of the input's elements that are covered, from 0 to 1; not rounded.
    input_elements, output_elements : tuple of str
        Each once, in the order in which they are first seen.
    missing_elements : tuple of str
        Of the input, those that the output does not have as they are; one that is covered by a
        longer or shorter element is among them, as in Mastra.
    element_counts : ElementCounts
    """

    score: float
    input_elements: tuple[str, ...]
    output_elements: tuple[str, ...]
    missing_elements: tuple[str, ...]
    element_counts: ElementCounts


@dataclass(frozen=True, slots=True, kw_only=True)
class CompletenessOptions:
    """How elements are found.

    Attributes
    ----------
    lemmas : {"own", "lemminflect", "auto"}
        Who finds the infinitives of verbs: tables here, or lemminflect's dictionary, which changes
        scores a little. With "auto" it is lemminflect where that is installed, so that the score
        depends on the installation.
    """

    lemmas: str = "own"

    def __post_init__(self) -> None:
        one_of(self.lemmas, "lemmas", _CHOICES)

    @property
    def chosen(self) -> Lemmas:
        """Who finds them.

        Raises
        ------
        MissingExtraError
            lemminflect was asked for and is not installed.
        """
        if self.lemmas == "own":
            return "own"
        try:
            lemminflect_package()
        except MissingExtraError:
            if self.lemmas == "auto":
                return "own"
            raise
        return "lemminflect"


def completeness(input: str, output: str, *, lemmas: str = "own") -> Completeness:
    """How much of a text is in another one.

    Parameters
    ----------
    input, output : str
    lemmas : {"own", "lemminflect", "auto"}, default "own"
        See :class:`CompletenessOptions`.

    Notes
    -----
    Elements are all words, without accents and in lower case, verbs by their infinitives; what is
    not a-z or 0-9 does not count. ``element_coverage`` says which are covered.
    """
    chosen = CompletenessOptions(lemmas=lemmas).chosen
    return _completeness(text_elements(input, chosen), text_elements(output, chosen))


def _completeness(wanted: Sequence[str], given: Sequence[str]) -> Completeness:
    known = set(given)
    return Completeness(
        score=element_coverage(wanted, given),
        input_elements=tuple(wanted),
        output_elements=tuple(given),
        missing_elements=tuple(element for element in wanted if element not in known),
        element_counts=ElementCounts(len(wanted), len(given)),
    )


def create_completeness_scorer(*, lemmas: str = "own") -> CodeScorer:
    """The scorer for runs; all messages of each side are joined by ``", "``."""
    return CodeScorer(ID, CompletenessOptions(lemmas=lemmas), _found)


def _found(run: Run, options: CompletenessOptions) -> Finding:
    for name in ("input", "output"):
        if run.source.get(name) is None:
            raise RunError(f"{ID} needs an {name}, and the run has none")
    found = completeness(joined(run.input), joined(run.output), lemmas=options.lemmas)
    details = found.to_dict()
    return Finding(details.pop("score"), details)


def joined(messages: Sequence[Message]) -> str:
    """The texts of messages, whoever speaks."""
    return _BETWEEN.join(message.text for message in messages)


# --------------------------------------------------------------------------------------- samples


def _of_samples(lemmas: str = "own") -> Scorer:
    chosen = CompletenessOptions(lemmas=lemmas).chosen

    def row_score(fields: Fields) -> RowScore:
        given, output = _texts(fields)
        if given is None or output is None:
            return NullReason.MISSING_FIELD
        return element_coverage(text_elements(given, chosen), text_elements(output, chosen))

    def score(fields: Fields) -> Scored:
        return _scored(fields, chosen)

    return Scorer(score, lambda rows: column_of(rows, row_score))


def _texts(fields: Fields) -> tuple[str | None, str | None]:
    """What came in and what went out; None if the sample does not say."""
    if "messages" not in fields:
        return fields.get("question"), fields.get("answer")
    run = run_of_messages(fields["messages"])
    return joined(run.input), joined(run.output)


def _scored(fields: Fields, chosen: Lemmas) -> Scored:
    given, output = _texts(fields)
    if given is None or output is None:
        return _NO_INPUT if given is None else NO_OUTPUT
    found = completeness(given, output, lemmas=chosen)
    total = found.element_counts.input
    words = f"{round(found.score * total)} of {total} elements of the question are in the answer."
    return Scored(found.score, NullReason.MEASURED, words, [_detail(found)])


def _detail(found: Completeness) -> Mapping[str, Any]:
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


METRICS: Final = (
    code_metric(
        ID,
        _of_samples,
        "Share of the question's words, with verbs as infinitives, that are in the answer; 1 "
        "if neither has any",
        optional=("question", "answer", "messages"),
        options={"lemmas": "own"},
        source=SOURCE,
        null_when="there is no question or no answer, nor messages",
    ),
)
