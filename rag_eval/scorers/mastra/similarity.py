"""Content similarity and textual difference: how similar input and output are.

The score of a textual difference is the ratio alone: the confidence beside it does not enter,
whatever documents say.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from rag_eval.metrics.contract import Fields, Scorer
from rag_eval.scorers.javascript import SPACES, trimmed
from rag_eval.scorers.mastra.options import NoOptions, check_flags, settings_of
from rag_eval.scorers.mastra.run_texts import (
    SOURCE,
    Found,
    input_text,
    output_text,
    sample_texts,
    scorer_of_texts,
    text_metric,
)
from rag_eval.scorers.mastra.runs import Run, RunError
from rag_eval.scorers.mastra.scorer import CodeScorer, Finding, Findings, Options

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

CONTENT: Final = "mastra.content_similarity"
DIFFERENCE: Final = "mastra.textual_difference"


# ------------------------------------------------------------------------------ content similarity


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
        check_flags(self, "ignore_case", "ignore_whitespace")


class ContentSimilarity(NamedTuple):
    """How alike two texts are, from 0 to 1, and the texts as they were compared."""

    similarity: float
    processed_input: str
    processed_output: str


def content_similarity(
    input: str, output: str, *, ignore_case: bool = True, ignore_whitespace: bool = True
) -> ContentSimilarity:
    """Sørensen-Dice coefficient of the bigrams of two texts; white space does not count.

    1 if the texts are equal, also both empty; else 0 if one has fewer than two UTF-16 units.
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


def _content_found(run: Run, settings: ContentSimilarityOptions) -> Finding:
    if run.source.get("output") is None:
        raise RunError("mastra.content_similarity needs an output")
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


def create_content_similarity_scorer(options: Options = None, **more: Any) -> CodeScorer:
    """Share of letter pairs in both input and output; 0 to 1, no judge, higher is better.

    If one option is given, the other keeps its default; in @mastra/evals it is off then.

    Parameters
    ----------
    options : mapping, optional
        Options in snake_case or camelCase.
    ignore_case : bool, default True
    ignore_whitespace : bool, default True
        The reported texts have it collapsed; the score ignores it.
    """
    return CodeScorer(
        CONTENT, settings_of(ContentSimilarityOptions, CONTENT, options, more), _content_found
    )


def _content_similarity(ignore_case: bool = True, ignore_whitespace: bool = True) -> Scorer:
    settings = ContentSimilarityOptions(
        ignore_case=ignore_case, ignore_whitespace=ignore_whitespace
    )

    def find(fields: Fields) -> Found:
        found = content_similarity(
            *sample_texts(fields), ignore_case=ignore_case, ignore_whitespace=ignore_whitespace
        )
        words = f"Question and answer share {found.similarity:.1%} of their pairs of letters."
        return found.similarity, words, {"similarity": found.similarity}

    def similarities(left: list[str], right: list[str]) -> npt.NDArray[np.float64]:
        from rag_eval.kernels.similarity import dice_similarities

        if settings.ignore_case:
            left, right = ([text.lower() for text in texts] for texts in (left, right))
        return dice_similarities(left, right)

    return scorer_of_texts(find, similarities)


# ------------------------------------------------------------------------------ textual difference


@dataclass(frozen=True, slots=True)
class TextualDifference(Findings):
    """How alike two texts are, letter by letter.

    Attributes
    ----------
    ratio : float
        ``2 * longest common subsequence / units of both``, 0 to 1; 1 for two empty texts.
    confidence : float
        ``1 - length_diff``.
    changes : int
        Words that would have to be changed, their order set aside; 1 if white space alone
        differs.
    length_diff : float
        Difference of the lengths over the longer one, 0 to 1.
    """

    ratio: float
    confidence: float
    changes: int
    length_diff: float


def textual_difference(input: str, output: str) -> TextualDifference:
    """How alike two texts are; case and white space count, and lengths are UTF-16 units.

    Raises
    ------
    InputError
        When the texts are too long to align: see :func:`rag_eval.kernels.similarity.lcs_ratios`.
    """
    from rag_eval.kernels.similarity import lcs_ratio, n_units

    ratio = lcs_ratio(input, output)
    lengths = n_units(input), n_units(output)
    longest = max(lengths)
    length_diff = abs(lengths[0] - lengths[1]) / longest if longest else 0.0
    return TextualDifference(ratio, 1 - length_diff, _changes(input, output), length_diff)


def _changes(left: str, right: str) -> int:
    if left == right:
        return 0
    texts = collapsed(left), collapsed(right)
    if texts[0] == texts[1]:
        return 1
    words = [Counter(text.split(" ") if text else ()) for text in texts]
    shared = (words[0] & words[1]).total()
    return max(each.total() for each in words) - shared


def _difference_found(run: Run, _: NoOptions) -> Finding:
    found = textual_difference(input_text(run), output_text(run))
    return Finding(found.ratio, analyze_result=found.to_dict())


def create_textual_difference_scorer(options: Options = None, **more: Any) -> CodeScorer:
    """Share of letters that match in order; 0 to 1, no judge, higher is better.

    It has no options.
    """
    return CodeScorer(
        DIFFERENCE, settings_of(NoOptions, DIFFERENCE, options, more), _difference_found
    )


def _textual_difference() -> Scorer:
    def find(fields: Fields) -> Found:
        found = textual_difference(*sample_texts(fields))
        words = f"Question and answer have {found.ratio:.1%} of their letters in common, in order"
        return found.ratio, f"{words}; {found.changes} words would change.", found.to_dict()

    def ratios(left: list[str], right: list[str]) -> npt.NDArray[np.float64]:
        from rag_eval.kernels.similarity import lcs_ratios

        return lcs_ratios(left, right)

    return scorer_of_texts(find, ratios)


METRICS: Final = (
    text_metric(
        CONTENT,
        _content_similarity,
        "Sørensen-Dice coefficient of the pairs of letters of question and answer",
        options={"ignore_case": True, "ignore_whitespace": True},
        source=f"{SOURCE}, with options that keep their defaults",
    ),
    text_metric(
        DIFFERENCE,
        _textual_difference,
        "Share of letters that question and answer have in common, in order; 1 means no difference",
    ),
)
