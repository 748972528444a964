"""Tone consistency: what went out -> how steady its tone is, or how near to that of a reference.

Which words are positive says a lexicon: the list that comes along is not the one of Mastra, whose
licence does not permit that, so scores differ unless that one is given.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NamedTuple, cast

from rag_eval.errors import InputError
from rag_eval.scorers.mastra.code_scorer import CodeScorer, Finding
from rag_eval.scorers.mastra.options import settings_of
from rag_eval.scorers.mastra.run_texts import output_text
from rag_eval.scorers.mastra.runs import Run
from rag_eval.scorers.mastra.scorer import Options
from rag_eval.scorers.sentiment_lexicon import Lexicon, load_lexicon, sentiment

ID: Final = "mastra.tone_consistency"
_ENDS: Final = re.compile("[.!?]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class ToneConsistencyOptions:
    """What the tone is held against, and by which words.

    Attributes
    ----------
    reference_tone : str or None
        A text; None or an empty one asks for a steady tone instead.
    lexicon : mapping, path or None
        As for :func:`rag_eval.scorers.sentiment_lexicon.load_lexicon`.
    """

    reference_tone: str | None = None
    lexicon: Mapping[str, float] | str | Path | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        tone = self.reference_tone
        if tone is not None and not isinstance(tone, str):
            raise InputError(f"reference_tone must be a text, got {type(tone).__name__}")
        # Once, and not for each run.
        object.__setattr__(self, "lexicon", load_lexicon(self.lexicon))

    @property
    def words(self) -> Lexicon:
        """The lexicon, read."""
        return cast(Lexicon, self.lexicon)


class ToneMatch(NamedTuple):
    """How near a tone is to that of a reference: sentiment by token, and their difference."""

    score: float
    response_sentiment: float
    reference_sentiment: float
    difference: float

    def to_dict(self) -> dict[str, float]:
        """The findings under Mastra's names."""
        return {
            "score": self.score,
            "responseSentiment": self.response_sentiment,
            "referenceSentiment": self.reference_sentiment,
            "difference": self.difference,
        }


class ToneStability(NamedTuple):
    """How steady a tone is: mean and variance of the sentences' sentiments by token."""

    score: float
    avg_sentiment: float
    sentiment_variance: float

    def to_dict(self) -> dict[str, float]:
        """The findings under Mastra's names."""
        return {
            "score": self.score,
            "avgSentiment": self.avg_sentiment,
            "sentimentVariance": self.sentiment_variance,
        }


def tone_consistency(
    output: str,
    reference_tone: str | None = None,
    *,
    lexicon: Mapping[str, float] | str | Path | None = None,
) -> ToneMatch | ToneStability:
    """How near the tone of a text is to that of another, or how steady it is, from 0 to 1.

    With a reference ``max(0, 1 - |difference|)`` of their sentiments by token; without one
    ``max(0, 1 - variance)`` of those of the sentences, and 1 for a text without any.
    """
    return tone_of(output, ToneConsistencyOptions(reference_tone=reference_tone, lexicon=lexicon))


def tone_of(output: str, settings: ToneConsistencyOptions) -> ToneMatch | ToneStability:
    """`tone_consistency` with settings whose lexicon is read already."""
    if settings.reference_tone:
        return tone_match(output, settings.reference_tone, settings.words)
    return tone_stability(output, settings.words)


def tone_match(output: str, reference: str, lexicon: Lexicon) -> ToneMatch:
    """How near the tone of a text is to that of another."""
    response, wanted = (sentiment(text, lexicon).comparative for text in (output, reference))
    difference = abs(response - wanted)
    return ToneMatch(max(0.0, 1 - difference), response, wanted, difference)


def tone_stability(output: str, lexicon: Lexicon) -> ToneStability:
    """How steady the tone of a text is, from sentence to sentence."""
    values = [sentiment(each, lexicon).comparative for each in _sentences(output)]
    mean = _mean(values)
    variance = _mean([(value - mean) ** 2 for value in values])
    return ToneStability(max(0.0, 1 - variance), mean, variance)


def _sentences(text: str) -> list[str]:
    """What ends with marks; text after the last of them is left out, unless there are none."""
    found = []
    begin = 0
    for mark in _ENDS.finditer(text):
        if mark.start() > begin:
            found.append(text[begin : mark.end()])
        begin = mark.end()
    return found or [text]


def _mean(values: Sequence[float]) -> float:
    # Left to right in plain doubles: sum compensates from Python 3.12 on.
    total = 0.0
    for value in values:
        total += value
    return total / len(values)


def _found(run: Run, settings: ToneConsistencyOptions) -> Finding:
    found = tone_of(output_text(run), settings)
    return Finding(found.score, analyze_result=found.to_dict())


def create_tone_consistency_scorer(
    options: Options = None, **more: Any
) -> CodeScorer[ToneConsistencyOptions]:
    """How steady the tone of the output is, or how near to a reference; 0 to 1, no judge.

    Parameters
    ----------
    options : mapping, optional
        The options under their names here or in camelCase.
    reference_tone : str, optional
        A text whose tone is wanted.
    lexicon : mapping or path, optional
        Words and how positive they are; None is the list that comes along.
    """
    return CodeScorer(ID, settings_of(ToneConsistencyOptions, ID, options, more), _found)
