"""A sample graded as omk does: assertions, rubrics and judges in, layers and their mean out.

No file that a text names is looked at: what exists is what the caller says.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, TypeAlias

from rag_eval.errors import InputError
from rag_eval.plumbing.javascript_numbers import fixed_number
from rag_eval.scorers.omk.assertion_reading import (
    AssertionJudge,
    CustomCheck,
    Helpers,
    read_assertions,
)
from rag_eval.scorers.omk.assertion_runs import AssertionRun
from rag_eval.scorers.omk.assertions import AssertionScore, score_of
from rag_eval.scorers.omk.layers import composite, layered_scores, mean_score, ratio_to_score
from rag_eval.scorers.omk.ratings import HIGHEST

RUBRIC: Final = "rubric"


@dataclass(frozen=True, slots=True)
class RubricQuestion:
    """A question to a judge about a rubric.

    Attributes
    ----------
    dimension : str
        The name of the dimension; ``rubric`` if there is a single rubric.
    rubric, output, prompt : str
    """

    dimension: str
    rubric: str
    output: str
    prompt: str


RubricJudge: TypeAlias = Callable[[RubricQuestion], float | None]
"""A question in, a score from 1 to 5 out; None, 0 and less are a judgement that failed."""


@dataclass(frozen=True, slots=True)
class Grade:
    """The grade of a sample.

    Attributes
    ----------
    composite : float or None
        Mean of the available layers; None if there is none. A sample without assertions, rubric and
        dimensions is not graded; for others, omk writes 0 here.
    fact, behavior, judge : float or None
        The layers, from 1 to 5.
    assertions : AssertionScore or None
        None if the sample has none, or if all need a judge and there is none.
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
    """Grade one output; all fields are None for a sample without criteria.

    Parameters
    ----------
    sample : mapping
        ``assertions``, ``rubric`` or ``dimensions`` (name to rubric), ``prompt`` and ``context``.
        With both, dimensions count.
    run : AssertionRun
        The run to grade. Its question and contexts take precedence over the sample's prompt and
        context.
    assertion_judge : callable, optional
        Called once for each assertion that needs a judge, in order and before the rubrics; without
        it, these assertions are skipped.
    rubric_judges : tuple of callable
        Each judge scores each dimension. The score of a dimension is the mean over judges that did
        not fail, and the score of the layer the mean over dimensions, each with two decimals. The
        score of a single judge for a rubric is not rounded.
    checks : mapping, optional
        As in :func:`~rag_eval.scorers.omk.assertions.check_assertion`.
    known_paths : tuple of str, optional
        Existing files; if given, the paths in the output count in the fact layer of a sample with
        criteria.
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
    return score_of(prepared, run, Helpers(judge, checks or {})) if prepared else None


def _judge_score(
    sample: Mapping[str, Any], output: str, judges: tuple[RubricJudge, ...]
) -> float | None:
    if not judges:
        return None
    prompt = _text(sample, "prompt")
    scores = []
    for dimension, rubric in _rubrics(sample).items():
        question = RubricQuestion(dimension, rubric, output, prompt)
        counted = _counted(judge(question) for judge in judges)
        found = mean_score(counted) if len(judges) > 1 else next(iter(counted), None)
        if found is not None:
            scores.append(found)
    return mean_score(scores) if sample.get("dimensions") else next(iter(scores), None)


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
    """Those that did not fail."""
    return [score for score in scores if score is not None and 0 < score <= HIGHEST]


# ----------------------------------------------------------------------------------- paths of files


# Runs are cut first and read after, so that no start is tried twice.
_RUN: Final = re.compile(r"[\w./\\@~+-]+", re.ASCII)
_ENDING: Final = re.compile(r"\.[A-Za-z0-9]{1,8}\Z")


def path_claims(text: str) -> list[str]:
    """The distinct file paths in a text, in order.

    A path has a slash and a name with a suffix: ``src/app.py``, ``./notes/a.md``. URLs are not
    paths.
    """
    found = []
    for run in _RUN.finditer(text):
        path = run.group().rstrip(".").replace("\\", "/")
        is_address = path.startswith("//") and text[: run.start()].endswith(":")
        if "/" in path and not is_address and _ENDING.search(path.rpartition("/")[2]):
            found.append(path.removeprefix("./"))
    return list(dict.fromkeys(found))


def verified_rate(text: str, known_paths: Collection[str]) -> float | None:
    """Share of the paths in a text that are known; None if it has none.

    A path is known by itself or as the end of a known one: ``app.py`` in ``lib`` as ``lib/app.py``
    of ``src/lib/app.py``.
    """
    if isinstance(known_paths, str):
        raise InputError("known_paths must be a collection of paths, got a str")
    claims = path_claims(text)
    if not claims:
        return None
    wanted = [tuple(claim.strip("/").split("/")) for claim in claims]
    lengths = {len(parts) for parts in wanted}
    ends: set[tuple[str, ...]] = set()
    for path in known_paths:
        parts = tuple(path.replace("\\", "/").removeprefix("./").strip("/").split("/"))
        ends.update(parts[-length:] for length in lengths if length <= len(parts))
    return sum(parts in ends for parts in wanted) / len(wanted)


def fact_with_paths(fact: float | None, text: str, known_paths: Collection[str]) -> float | None:
    """The score of the fact layer, including the file paths in a text.

    Parameters
    ----------
    fact : float or None
        Score of the layer without the paths.
    text : str
    known_paths : collection of str

    Returns
    -------
    float or None
        Mean of the layer's score and the score of the share of known paths; the layer's score if
        the text has no paths.
    """
    rate = verified_rate(text, known_paths)
    if rate is None:
        return fact
    # The share has two decimals there before it becomes a score.
    of_paths = ratio_to_score(fixed_number(rate, 2))
    scores = [score for score in (fact, of_paths) if score is not None]
    return mean_score(scores)
