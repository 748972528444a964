"""A sample graded as omk does: assertions, rubrics and judges in, layers and their mean out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, TypeAlias

from rag_eval.errors import InputError
from rag_eval.scorers.omk.assertion_reading import (
    AssertionJudge,
    CustomCheck,
    Helpers,
    read_assertions,
)
from rag_eval.scorers.omk.assertion_runs import AssertionRun
from rag_eval.scorers.omk.assertions import AssertionScore, score_of
from rag_eval.scorers.omk.file_claims import fact_with_paths
from rag_eval.scorers.omk.layers import composite, layered_scores, mean_score

__all__ = ["Grade", "RubricJudge", "RubricQuestion", "grade"]

RUBRIC: Final = "rubric"


@dataclass(frozen=True, slots=True)
class RubricQuestion:
    """A question to a judge about a rubric.

    Attributes
    ----------
    dimension : str
        The name of the dimension; ``rubric`` where there is one rubric alone.
    rubric, output, prompt : str
    """

    dimension: str
    rubric: str
    output: str
    prompt: str


RubricJudge: TypeAlias = Callable[[RubricQuestion], "float | None"]
"""A question in, a score from 1 to 5 out; None and 0 are a judgement that failed."""


@dataclass(frozen=True, slots=True)
class Grade:
    """How a sample was graded.

    Attributes
    ----------
    composite : float or None
        Mean of the layers that there are; None where there are none. A sample without assertions,
        rubric and dimensions is not graded; of another, omk writes 0 here.
    fact, behavior, judge : float or None
        The layers, from 1 to 5.
    assertions : AssertionScore or None
        None where the sample has none.
    """

    composite: float | None
    fact: float | None
    behavior: float | None
    judge: float | None
    assertions: AssertionScore | None


def grade(
    sample: Mapping[str, Any],
    run: AssertionRun,
    *,
    assertion_judge: AssertionJudge | None = None,
    rubric_judges: tuple[RubricJudge, ...] = (),
    checks: Mapping[str, CustomCheck] | None = None,
    known_paths: tuple[str, ...] | None = None,
) -> Grade:
    """Grade one output; all of it is None for a sample without anything to grade by.

    Parameters
    ----------
    sample : mapping
        ``assertions``, ``rubric`` or ``dimensions`` (name to rubric), ``prompt`` and ``context``.
        With both, dimensions count.
    run : AssertionRun
        What came of it. Its question and contexts come before the sample's prompt and context.
    assertion_judge : callable, optional
        One call for each assertion that needs a judge, in order, before any about rubrics; without,
        these assertions are left out.
    rubric_judges : tuple of callable
        Each scores each dimension; that of a dimension is the mean of those that did not fail, and
        the layer's is the mean over dimensions.
    checks : mapping, optional
        As in :func:`~rag_eval.scorers.omk.assertions.check_assertion`.
    known_paths : tuple of str, optional
        Files that exist; with these, the paths that the output names count into the fact layer of a
        sample that has something to grade by.
    """
    run = _filled(run, sample)
    if not (sample.get("assertions") or _rubrics(sample)):
        return Grade(None, None, None, None, None)
    found = _assertions(sample, run, assertion_judge, checks)
    judged = _judge_score(sample, run.output or "", rubric_judges)
    layers = layered_scores(None if found is None else found.details, judged)
    fact = layers["fact"]
    if known_paths is not None:
        fact = fact_with_paths(fact, run.output or "", known_paths)
    return Grade(
        composite=composite(fact, layers["behavior"], layers["judge"]),
        fact=fact,
        behavior=layers["behavior"],
        judge=layers["judge"],
        assertions=found,
    )


def _filled(run: AssertionRun, sample: Mapping[str, Any]) -> AssertionRun:
    """The run with what judges compare with, where it has none of its own."""
    contexts = run.contexts or tuple(filter(None, (_text(sample, "context"),)))
    return replace(run, contexts=contexts, question=run.question or _text(sample, "prompt"))


def _assertions(
    sample: Mapping[str, Any],
    run: AssertionRun,
    judge: AssertionJudge | None,
    checks: Mapping[str, CustomCheck] | None,
) -> AssertionScore | None:
    assertions = sample.get("assertions")
    if not assertions:
        return None
    prepared = read_assertions(assertions)
    if judge is None:
        prepared = [each for each in prepared if not each.judged]
    return score_of(prepared, run, Helpers(judge, checks or {}))


def _judge_score(
    sample: Mapping[str, Any], output: str, judges: tuple[RubricJudge, ...]
) -> float | None:
    if not judges:
        return None
    prompt = _text(sample, "prompt")
    scores = []
    for dimension, rubric in _rubrics(sample).items():
        question = RubricQuestion(dimension, rubric, output, prompt)
        found = mean_score(_counted(judge(question) for judge in judges))
        if found is not None:
            scores.append(found)
    return mean_score(scores)


def _rubrics(sample: Mapping[str, Any]) -> Mapping[str, str]:
    dimensions = sample.get("dimensions")
    if dimensions:
        if not isinstance(dimensions, Mapping):
            raise InputError(f"dimensions must be a mapping, got {type(dimensions).__name__}")
        return dimensions
    rubric = _text(sample, "rubric")
    return {RUBRIC: rubric} if rubric else {}


def _text(sample: Mapping[str, Any], name: str) -> str:
    value = sample.get(name)
    if value is not None and not isinstance(value, str):
        raise InputError(f"{name} must be a text, got {type(value).__name__}")
    return value or ""


def _counted(scores: Iterable[float | None]) -> list[float]:
    """Those that did not fail; a judge's scores are from 1 to 5."""
    return [score for score in scores if score is not None and 1 <= score <= 5]
