"""Content similarity: what came in and what went out -> how many pairs of letters they share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from rag_eval.errors import InputError
from rag_eval.scorers.javascript_strings import SPACES, trimmed
from rag_eval.scorers.mastra.code_scorer import CodeScorer, Finding
from rag_eval.scorers.mastra.options import settings_of
from rag_eval.scorers.mastra.run_texts import input_text, output_text
from rag_eval.scorers.mastra.runs import Run, RunError
from rag_eval.scorers.mastra.scorer import Options

ID: Final = "mastra.content_similarity"


@dataclass(frozen=True, slots=True, kw_only=True)
class ContentSimilarityOptions:
    """What does not count.

    Attributes
    ----------
    ignore_case : bool
    ignore_whitespace : bool
        Runs of white space are one space and none at the ends. That shows in the texts alone: the
        score never counts white space.
    """

    ignore_case: bool = True
    ignore_whitespace: bool = True

    def __post_init__(self) -> None:
        for name in ("ignore_case", "ignore_whitespace"):
            if not isinstance(getattr(self, name), bool):
                kind = type(getattr(self, name)).__name__
                raise InputError(f"{name} must be true or false, got {kind}")


class ContentSimilarity(NamedTuple):
    """How alike two texts are, from 0 to 1, and the texts as they were compared."""

    similarity: float
    processed_input: str
    processed_output: str


def content_similarity(
    input: str, output: str, *, ignore_case: bool = True, ignore_whitespace: bool = True
) -> ContentSimilarity:
    """Sørensen-Dice coefficient of the bigrams of two texts; white space does not count.

    1 where the texts are equal, also both empty; else 0 where one has fewer than two UTF-16 units.
    See :func:`rag_eval.kernels.similarity.dice_similarity`.
    """
    from rag_eval.kernels.similarity import dice_similarity

    texts = [input, output]
    if ignore_case:
        texts = [text.lower() for text in texts]
    if ignore_whitespace:
        texts = [collapsed(text) for text in texts]
    return ContentSimilarity(dice_similarity(*texts), *texts)


def collapsed(text: str) -> str:
    """A text with one space for each run of white space, as JavaScript has it, and none around."""
    return trimmed(SPACES.sub(" ", text))


def _found(run: Run, settings: ContentSimilarityOptions) -> Finding:
    if run.source.get("output") is None:
        raise RunError(f"{ID} needs an output")
    found = content_similarity(
        input_text(run),
        output_text(run),
        ignore_case=settings.ignore_case,
        ignore_whitespace=settings.ignore_whitespace,
    )
    processed = {
        "processedInput": found.processed_input,
        "processedOutput": found.processed_output,
    }
    return Finding(found.similarity, processed, analyze_result={"similarity": found.similarity})


def create_content_similarity_scorer(
    options: Options = None, **more: Any
) -> CodeScorer[ContentSimilarityOptions]:
    """How many pairs of letters input and output share; 0 to 1, no judge, higher is better.

    One option alone leaves the other at its default; with @mastra/evals it is off then.

    Parameters
    ----------
    options : mapping, optional
        The options under their names here or in camelCase.
    ignore_case : bool, default True
    ignore_whitespace : bool, default True
        The texts that are reported have it collapsed; the score never counts it.
    """
    return CodeScorer(ID, settings_of(ContentSimilarityOptions, ID, options, more), _found)
