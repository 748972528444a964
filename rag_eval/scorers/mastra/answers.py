"""Answer relevancy, and similarity of an answer to the ground truth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

import msgspec

from rag_eval.errors import InputError, glance
from rag_eval.judge.metrics.imagining import sentences, text_of, texts_of
from rag_eval.judge.steps import Fields, Step
from rag_eval.scorers.javascript import trimmed
from rag_eval.scorers.mastra.judged import judged_spec
from rag_eval.scorers.mastra.options import check_numbers
from rag_eval.scorers.mastra.runs import (
    Run,
    RunError,
    assistant_text,
    ground_truth_text,
    user_text,
)
from rag_eval.scorers.mastra.scorer import (
    Interview,
    MastraScorer,
    Model,
    Options,
    reason_step,
)
from rag_eval.scorers.mastra.verdicts import (
    NOTE,
    Result,
    Results,
    noted,
    one_each,
    running_sum,
)

_MOST_FOR_EXTRAS: Final = 0.2


# -------------------------------------------------------------------------------- answer relevancy


class Statements(msgspec.Struct):
    """The statements of an answer."""

    statements: list[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerRelevancyOptions:
    """What an ``unsure`` counts, and the highest score."""

    uncertainty_weight: float = 0.3
    scale: float = 1.0

    def __post_init__(self) -> None:
        check_numbers(self, "uncertainty_weight", "scale")


def answer_relevancy_score(results: Sequence[Result], settings: AnswerRelevancyOptions) -> float:
    """Mean over results of yes 1, unsure ``uncertainty_weight``, else 0; 0 without results."""
    if not results:
        return 0.0
    worth = {"yes": 1.0, "unsure": settings.uncertainty_weight}
    total = running_sum(worth.get(trimmed(each.verdict).lower(), 0.0) for each in results)
    return total / len(results) * settings.scale


_STATEMENTS: Final = Step(
    "mastra/answer_relevancy_extract",
    Statements,
    lambda fields: Statements(sentences(text_of(fields, "answer"))),
    graded=False,
)
_RELEVANCY: Final = Step(
    "mastra/answer_relevancy_analyze",
    Results,
    lambda fields: Results([Result("yes", NOTE) for _ in texts_of(fields, "statements")]),
)
_RELEVANCY_REASON: Final = reason_step("answer_relevancy")


async def _relevancy(interview: Interview, run: Run, settings: AnswerRelevancyOptions) -> float:
    question, answer = user_text(run), assistant_text(run)
    statements = (await interview.preprocess(_STATEMENTS, {"answer": answer})).statements
    analyzed = await interview.analyze(
        _RELEVANCY,
        {"question": question, "statements": statements, "n_statements": len(statements)},
        one_each("results", len(statements)),
    )
    score = answer_relevancy_score(analyzed.results, settings)
    fields: Fields = {
        "question": question,
        "answer": answer,
        "findings": noted(analyzed.results),
        "scale": settings.scale,
    }
    return await interview.explained(_RELEVANCY_REASON, score, fields)


RELEVANCY: Final = judged_spec(
    "mastra.answer_relevancy",
    _relevancy,
    AnswerRelevancyOptions,
    (_STATEMENTS, _RELEVANCY_REASON, _RELEVANCY),
    summary="Share of the answer's statements that are relevant to the question",
    fields=("question", "answer"),
)


def create_answer_relevancy_scorer(
    model: Model, options: Options = None, **more: Any
) -> MastraScorer:
    """How relevant the answer is to the question; 3 calls, 0 to ``scale``, higher is better.

    Parameters
    ----------
    model : callable or str
        The judge, or its address.
    uncertainty_weight : float, default 0.3
        Weight of a statement that is only partly relevant.
    scale : float, default 1
    """
    return RELEVANCY.create(model, options, **more)


# ------------------------------------------------------------------------------- answer similarity


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
            found = glance(self.require_ground_truth)
            raise InputError(f"require_ground_truth must be true or false, got {found}")
        check_numbers(
            self,
            "semantic_threshold",
            "exact_match_bonus",
            "missing_penalty",
            "contradiction_penalty",
            "extra_info_penalty",
            "scale",
        )


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


def _imagined_comparison(fields: Fields) -> Comparison:
    units = texts_of(fields, "ground_truth_units")
    return Comparison([Match(unit, unit, "semantic", NOTE) for unit in units], [], [])


_UNITS: Final = Step("mastra/answer_similarity_extract", Units, _imagined_units, graded=False)
_SIMILARITY: Final = Step("mastra/answer_similarity_analyze", Comparison, _imagined_comparison)
_SIMILARITY_REASON: Final = reason_step("answer_similarity")


async def _similarity(interview: Interview, run: Run, settings: AnswerSimilarityOptions) -> float:
    truth, answer = ground_truth_text(run) or "", assistant_text(run)
    if not truth:
        if settings.require_ground_truth:
            raise RunError("mastra.answer_similarity needs a ground truth and the run has none")
        answer = ""  # nothing to compare: both texts are sent empty
    units = await interview.preprocess(_UNITS, {"answer": answer, "ground_truth": truth})
    wanted = units.ground_truth_units
    asked: Fields = {
        "answer_units": units.output_units,
        "ground_truth_units": wanted,
        "n_units": len(wanted),
    }
    analyzed = await interview.analyze(_SIMILARITY, asked, one_each("matches", len(wanted)))
    score = answer_similarity_score(analyzed, settings) if truth else 0.0
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
        "scale": settings.scale,
    }
    return await interview.explained(_SIMILARITY_REASON, score, fields)


SIMILARITY: Final = judged_spec(
    "mastra.answer_similarity",
    _similarity,
    AnswerSimilarityOptions,
    (_UNITS, _SIMILARITY_REASON, _SIMILARITY),
    summary="Agreement of answer and ground truth, reduced by contradictions",
    fields=("answer", "ground_truth"),
)


def create_answer_similarity_scorer(
    model: Model, options: Options = None, **more: Any
) -> MastraScorer:
    """How far answer and ground truth agree; 3 calls, 0 to ``scale``, higher is better.

    Parameters
    ----------
    model : callable or str
        The judge, or its address.
    require_ground_truth : bool, default True
        Whether a run without ground truth is an error; if not, it scores 0.
    semantic_threshold : float, default 0.8
        Weight of a match in other words, and half of it for a partial match.
    exact_match_bonus : float, default 0.2
    missing_penalty : float, default 0.15
    contradiction_penalty : float, default 1
    extra_info_penalty : float, default 0.05
        For each piece that is not in the ground truth, at most 0.2 in total.
    scale : float, default 1
    """
    return SIMILARITY.create(model, options, **more)
