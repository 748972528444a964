"""Tone consistency: an output -> how consistent its tone is, or how close to that of a reference.

Which words are positive says a lexicon: the list that comes along is not the one of Mastra, whose
licence does not permit that, so scores differ unless that one is given.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, cast

from rag_eval.metrics.contract import Fields, Scorer
from rag_eval.scorers.mastra.options import check_text, settings_of
from rag_eval.scorers.mastra.run_texts import (
    SOURCE,
    Found,
    output_text,
    sample_output,
    scorer_of_texts,
    text_metric,
)
from rag_eval.scorers.mastra.runs import Run
from rag_eval.scorers.mastra.scorer import CodeScorer, Finding, Findings, Options
from rag_eval.scorers.mastra.verdicts import running_sum
from rag_eval.scorers.sentiment_lexicon import Lexicon, lexicon_digest, load_lexicon, sentiment

ID: Final = "mastra.tone_consistency"
_ENDS: Final = re.compile("[.!?]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class ToneConsistencyOptions:
    """What the tone is compared with, and by which words.

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
        if self.reference_tone is not None:
            check_text(self.reference_tone, "reference_tone")
        # Once, and not for each run.
        object.__setattr__(self, "lexicon", load_lexicon(self.lexicon))

    @property
    def words(self) -> Lexicon:
        """The lexicon, read."""
        return cast(Lexicon, self.lexicon)


@dataclass(frozen=True, slots=True)
class ToneMatch(Findings):
    """How near a tone is to that of a reference: sentiment by token, and their difference."""

    score: float
    response_sentiment: float
    reference_sentiment: float
    difference: float


@dataclass(frozen=True, slots=True)
class ToneStability(Findings):
    """How steady a tone is: mean and variance of the sentences' sentiments by token."""

    score: float
    avg_sentiment: float
    sentiment_variance: float


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
    mean = running_sum(values) / len(values)
    variance = running_sum((value - mean) ** 2 for value in values) / len(values)
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


def _found(run: Run, settings: ToneConsistencyOptions) -> Finding:
    found = tone_of(output_text(run), settings)
    return Finding(found.score, analyze_result=found.to_dict())


def create_tone_consistency_scorer(options: Options = None, **more: Any) -> CodeScorer:
    """How consistent the tone of the output is, or how close to a reference; 0 to 1, no judge.

    Parameters
    ----------
    options : mapping, optional
        Options in snake_case or camelCase.
    reference_tone : str, optional
        A reference text for the tone.
    lexicon : mapping or path, optional
        Words with their sentiment; None for the built-in list.
    """
    return CodeScorer(ID, settings_of(ToneConsistencyOptions, ID, options, more), _found)


def _tone_consistency(
    reference_tone: str | None = None,
    lexicon: Mapping[str, float] | str | Path | None = None,
) -> Scorer:
    settings = ToneConsistencyOptions(reference_tone=reference_tone, lexicon=lexicon)
    # What a file holds, and not its name, is what could change a score.
    signed = {} if lexicon is None else {"lexicon": lexicon_digest(settings.words)}

    def find(fields: Fields) -> Found:
        found = tone_of(sample_output(fields), settings)
        if isinstance(found, ToneMatch):
            words = (
                f"The tone of the answer differs by {found.difference:.2f} from that of "
                "the reference."
            )
        else:
            words = f"The tone varies between sentences by {found.sentiment_variance:.2f}."
        return found.score, words, found.to_dict()

    return scorer_of_texts(find, signed=signed)


METRICS: Final = (
    text_metric(
        ID,
        _tone_consistency,
        "How consistent the tone of the answer is, or how close it is to that of a reference text",
        options={"reference_tone": None, "lexicon": None},
        cost="python",
        source=f"{SOURCE}, with another lexicon",
        null_when="no message of the agent",
    ),
)
