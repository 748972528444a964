"""Completeness: two texts or a run in, the share of the input's elements in the output out.

The rules are those of @mastra/evals 1.1.1 once elements are found. Which words are verbs is told
there by a tagger of English and here by their forms, so that scores of prose differ a little.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from rag_eval.errors import MissingExtraError
from rag_eval.plumbing.checked_values import one_of
from rag_eval.scorers.mastra.code_scorer import CodeScorer, Finding
from rag_eval.scorers.mastra.elements import element_coverage, text_elements
from rag_eval.scorers.mastra.findings import Findings
from rag_eval.scorers.mastra.messages import Message
from rag_eval.scorers.mastra.runs import Run, RunError
from rag_eval.scorers.mastra.verb_forms import Lemmas, lemminflect_package

ID: Final = "mastra.completeness"

_CHOICES: Final = ("own", "lemminflect", "auto")
_BETWEEN: Final = ", "


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


def create_completeness_scorer(*, lemmas: str = "own") -> CodeScorer[CompletenessOptions]:
    """The scorer of runs; all messages of either side are read, with ``", "`` between them."""
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
