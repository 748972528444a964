"""Answer similarity: answer and ground truth -> how far they say the same."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Literal

import msgspec

from rag_eval.errors import InputError, glance
from rag_eval.judge.metrics.imagining import sentences, text_of, texts_of
from rag_eval.judge.steps import Fields, Step
from rag_eval.samples import NullReason
from rag_eval.scorers.mastra.imagined import NOTE
from rag_eval.scorers.mastra.options import check_numbers, checked_scale, settings_of
from rag_eval.scorers.mastra.runs import Run, RunError, assistant_text, ground_truth_text
from rag_eval.scorers.mastra.scorer import (
    Interview,
    MastraScorer,
    Model,
    NothingToScoreError,
    Options,
    reason_step,
)
from rag_eval.scorers.mastra.verdicts import one_each, running_sum, shown

ID: Final = "mastra.answer_similarity"
_MOST_FOR_EXTRAS: Final = 0.2


class Units(msgspec.Struct, rename="camel"):
    """What either text says, piece by piece."""

    output_units: list[str]
    ground_truth_units: list[str]


class Match(msgspec.Struct, rename="camel"):
    """What a piece of the ground truth was matched with."""

    ground_truth_unit: str
    output_unit: str | None
    match_type: Literal["exact", "semantic", "partial", "missing"]
    explanation: str


class Contradiction(msgspec.Struct, rename="camel"):
    """A piece of the answer that the ground truth contradicts."""

    output_unit: str
    ground_truth_unit: str
    explanation: str


class Comparison(msgspec.Struct, rename="camel"):
    """One match per piece of the ground truth, and what is over."""

    matches: list[Match]
    extra_in_output: list[str]
    contradictions: list[Contradiction]


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerSimilarityOptions:
    """What matches are worth, and what is taken off."""

    require_ground_truth: bool = True
    semantic_threshold: float = 0.8
    exact_match_bonus: float = 0.2
    missing_penalty: float = 0.15
    contradiction_penalty: float = 1.0
    extra_info_penalty: float = 0.05
    scale: float = 1.0

    def __post_init__(self) -> None:
        if not isinstance(self.require_ground_truth, bool):
            raise InputError(
                "require_ground_truth must be true or false, "
                f"got {glance(self.require_ground_truth)}"
            )
        check_numbers(
            self,
            "semantic_threshold",
            "exact_match_bonus",
            "missing_penalty",
            "contradiction_penalty",
            "extra_info_penalty",
        )
        checked_scale(self.scale)


def answer_similarity_score(comparison: Comparison, settings: AnswerSimilarityOptions) -> float:
    """Worth of the matches by that of exact ones, less what contradicts and what is over.

    Exact matches are worth 1 + ``exact_match_bonus``, semantic ones ``semantic_threshold``,
    partial ones half of it, missing ones minus ``missing_penalty``. Extras take off 0.2 at most.
    Only exact matches throughout reach ``scale``. 0 without matches.
    """
    matches = comparison.matches
    if not matches:
        return 0.0
    best = 1 + settings.exact_match_bonus
    worth = {
        "exact": best,
        "semantic": settings.semantic_threshold,
        "partial": 0.5 * settings.semantic_threshold,
        "missing": -settings.missing_penalty,
    }
    points = running_sum(worth[match.match_type] for match in matches)
    against = len(comparison.contradictions) * settings.contradiction_penalty
    extras = len(comparison.extra_in_output) * settings.extra_info_penalty
    score = points / (len(matches) * best) - against - min(extras, _MOST_FOR_EXTRAS)
    return max(0.0, min(1.0, score)) * settings.scale


def _imagined_units(fields: Fields) -> Units:
    return Units(sentences(text_of(fields, "answer")), sentences(text_of(fields, "ground_truth")))


def _imagined(fields: Fields) -> Comparison:
    units = texts_of(fields, "ground_truth_units")
    matches = [Match(unit, unit, "semantic", NOTE) for unit in units]
    return Comparison(matches, [], [])


_EXTRACT: Final = Step("mastra/answer_similarity_extract", Units, _imagined_units, graded=False)
_ANALYZE: Final = Step("mastra/answer_similarity_analyze", Comparison, _imagined)
_REASON: Final = reason_step("answer_similarity")
STEPS: Final = (_EXTRACT, _REASON, _ANALYZE)


async def _judged(interview: Interview, run: Run, settings: AnswerSimilarityOptions) -> float:
    truth, answer = ground_truth_text(run), assistant_text(run)
    if not truth:
        if settings.require_ground_truth:
            raise RunError("mastra.answer_similarity needs a ground truth and the run has none")
        raise NothingToScoreError(NullReason.MISSING_FIELD, "the run has no ground truth")
    units = await interview.preprocess(_EXTRACT, {"answer": answer, "ground_truth": truth})
    analyzed = await interview.analyze(
        _ANALYZE,
        {
            "answer_units": units.output_units,
            "ground_truth_units": units.ground_truth_units,
            "n_units": len(units.ground_truth_units),
        },
        one_each(lambda reply: reply.matches, "matches", len(units.ground_truth_units)),
    )
    score = answer_similarity_score(analyzed, settings)
    fields: Fields = {
        "answer": answer,
        "ground_truth": truth,
        "matches": [
            f"{match.match_type}: {match.ground_truth_unit} - {match.explanation}"
            for match in analyzed.matches
        ],
        "extras": analyzed.extra_in_output,
        "contradictions": [
            f"{each.output_unit} - {each.explanation}" for each in analyzed.contradictions
        ],
        "score": shown(score),
        "scale": settings.scale,
    }
    await interview.explain(_REASON, fields)
    return score


def create_answer_similarity_scorer(
    model: Model, options: Options = None, **more: Any
) -> MastraScorer[AnswerSimilarityOptions]:
    """How far answer and ground truth say the same; 3 calls, 0 to ``scale``, higher is better.

    Parameters
    ----------
    model : callable or str
        The judge, or its address.
    require_ground_truth : bool, default True
        A run without ground truth is an error; where false, its score is null.
    semantic_threshold : float, default 0.8
        What a match in other words is worth; half of it, where only a part matches.
    exact_match_bonus : float, default 0.2
    missing_penalty : float, default 0.15
    contradiction_penalty : float, default 1
    extra_info_penalty : float, default 0.05
        For each piece that the ground truth does not have; 0.2 at most.
    scale : float, default 1
    """
    settings = settings_of(AnswerSimilarityOptions, ID, options, more)
    return MastraScorer(ID, model, settings, _judged)
