"""Mastra's scorers of texts that need no judge: their contracts.

What lacks a text is null here; the package's own functions take it for an empty one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from rag_eval.metrics.contract import Column, Fields, Metric, Scored, Scorer
from rag_eval.scorers.mastra import (
    content_similarity,
    keyword_coverage,
    textual_difference,
    tone_consistency,
)
from rag_eval.scorers.mastra.run_texts import (
    TEXT_FIELDS,
    column_of_pairs,
    sample_output,
    sample_texts,
    scored,
)
from rag_eval.scorers.mastra.tone_consistency import ToneConsistencyOptions, ToneMatch, tone_of
from rag_eval.scorers.sentiment_lexicon import lexicon_digest
from rag_eval.scorers.short_texts import cut

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

_SOURCE: Final = "@mastra/evals 1.1.1"
_NO_TEXTS: Final = "no message of the user, or none of the agent"
_SHOWN: Final = 20


# ------------------------------------------------------------------------------ content similarity


def _content_similarity(ignore_case: bool = True, ignore_whitespace: bool = True) -> Scorer:
    settings = content_similarity.ContentSimilarityOptions(
        ignore_case=ignore_case, ignore_whitespace=ignore_whitespace
    )

    def find(fields: Fields) -> tuple[float, str, Mapping[str, Any]]:
        found = content_similarity.content_similarity(
            *sample_texts(fields), ignore_case=ignore_case, ignore_whitespace=ignore_whitespace
        )
        words = f"Question and answer share {found.similarity:.1%} of their pairs of letters."
        return found.similarity, words, {"similarity": found.similarity}

    def similarities(left: list[str], right: list[str]) -> npt.NDArray[np.float64]:
        from rag_eval.kernels.similarity import dice_similarities

        if settings.ignore_case:
            left, right = ([text.lower() for text in texts] for texts in (left, right))
        return dice_similarities(left, right)

    return _pair_scorer(find, similarities)


# ------------------------------------------------------------------------------ textual difference


def _textual_difference() -> Scorer:
    def find(fields: Fields) -> tuple[float, str, Mapping[str, Any]]:
        found = textual_difference.textual_difference(*sample_texts(fields))
        words = f"Of question and answer {found.ratio:.1%} are the same letters in order"
        return (
            found.ratio,
            f"{words}; {found.changes} words would change.",
            textual_difference.as_result(found),
        )

    def ratios(left: list[str], right: list[str]) -> npt.NDArray[np.float64]:
        from rag_eval.kernels.similarity import lcs_ratios

        return lcs_ratios(left, right)

    return _pair_scorer(find, ratios)


# -------------------------------------------------------------------------------- keyword coverage


def _keyword_coverage() -> Scorer:
    def find(fields: Fields) -> tuple[float, str, Mapping[str, Any]]:
        found = keyword_coverage.keyword_coverage(*sample_texts(fields))
        held = frozenset(found.matched_keywords)
        missing = [word for word in found.reference_keywords if word not in held]
        if not found.reference_keywords:
            words = "The question has no keywords, so that none is missing."
        else:
            words = (
                f"{len(found.matched_keywords)} of {len(found.reference_keywords)} keywords of the "
                "question are in the answer."
            )
        details = {
            **keyword_coverage.counts(found),
            "missingKeywords": [cut(word) for word in missing[:_SHOWN]],
        }
        return found.coverage, words, details

    def coverages(left: list[str], right: list[str]) -> npt.NDArray[np.float64]:
        import numpy as np

        pairs = zip(left, right, strict=True)
        return np.array([keyword_coverage.keyword_coverage(*pair).coverage for pair in pairs])

    return _pair_scorer(find, coverages)


def _pair_scorer(find: Any, scores_of: Any) -> Scorer:
    def score(fields: Fields) -> Scored:
        return scored(lambda: find(fields))

    def column(rows: Sequence[Fields]) -> Column:
        return column_of_pairs(rows, scores_of)

    return Scorer(score, column)


# -------------------------------------------------------------------------------- tone consistency


def _tone_consistency(
    reference_tone: str | None = None,
    lexicon: Mapping[str, float] | str | Path | None = None,
) -> Scorer:
    settings = ToneConsistencyOptions(reference_tone=reference_tone, lexicon=lexicon)
    # What a file holds, and not its name, is what could change a score.
    signed = {} if lexicon is None else {"lexicon": lexicon_digest(settings.words)}

    def find(fields: Fields) -> tuple[float, str, Mapping[str, Any]]:
        found = tone_of(sample_output(fields), settings)
        if isinstance(found, ToneMatch):
            words = f"The tone of the answer is {found.difference:.2f} from that of the reference."
        else:
            words = f"From sentence to sentence the tone varies by {found.sentiment_variance:.2f}."
        return found.score, words, found.to_dict()

    def score(fields: Fields) -> Scored:
        return scored(lambda: find(fields))

    return Scorer(score, signed=signed)


METRICS: Final[tuple[Metric, ...]] = (
    Metric(
        id=content_similarity.ID,
        summary="Sørensen-Dice coefficient of the pairs of letters of question and answer",
        create=_content_similarity,
        fields=(),
        optional=TEXT_FIELDS,
        options={"ignore_case": True, "ignore_whitespace": True},
        source=f"{_SOURCE}, with options that keep their defaults",
        null_when=_NO_TEXTS,
    ),
    Metric(
        id=textual_difference.ID,
        summary="Letters that question and answer have in common, in order: 1 is no difference",
        create=_textual_difference,
        fields=(),
        optional=TEXT_FIELDS,
        source=_SOURCE,
        null_when=_NO_TEXTS,
    ),
    Metric(
        id=keyword_coverage.ID,
        summary="Share of the question's keywords that the answer has; 1 where there are none",
        create=_keyword_coverage,
        fields=(),
        optional=TEXT_FIELDS,
        cost="python",
        source=_SOURCE,
        null_when=_NO_TEXTS,
    ),
    Metric(
        id=tone_consistency.ID,
        summary="How steady the tone of the answer is, or how near to that of a reference text",
        create=_tone_consistency,
        fields=(),
        optional=TEXT_FIELDS,
        options={"reference_tone": None, "lexicon": None},
        cost="python",
        source=f"{_SOURCE}, with another lexicon",
        null_when="no message of the agent",
    ),
)
