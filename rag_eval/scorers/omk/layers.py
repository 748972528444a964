"""Layers of omk: what assertions and a judge found -> scores from 1 to 5, and their gate."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from rag_eval.errors import InputError, glance
from rag_eval.plumbing.checked_values import is_number
from rag_eval.plumbing.javascript_numbers import fixed_number
from rag_eval.scorers.javascript import SPACE
from rag_eval.scorers.omk.assertion_types import layer_of
from rag_eval.scorers.omk.ratings import HIGHEST
from rag_eval.stats.omk.means import plain_mean

GATE: Final = 3.5
"""What the average of every layer has to reach."""

_AVERAGES: Final = ("avgFactScore", "avgBehaviorScore", "avgJudgeScore")
_BETWEEN_WORDS: Final = re.compile(f"[{SPACE}_-]+")


def ratio_to_score(ratio: float) -> float:
    """A share as a score: 1 + 4 times the share, with two decimals.

    Parameters
    ----------
    ratio : float
        From 0 to 1.

    Returns
    -------
    float
        From 1 to 5; exact ties go up, 1.125 to 1.13.
    """
    if not is_number(ratio) or not 0 <= ratio <= 1:
        raise InputError(f"a ratio must be a number from 0 to 1, got {glance(ratio)}")
    return fixed_number(1 + 4 * ratio, 2)


def mean_score(scores: Iterable[float]) -> float | None:
    """Mean of scores, with two decimals; None if there are none."""
    found = list(scores)
    return fixed_number(plain_mean(found), 2) if found else None


def composite(
    fact: float | None = None, behavior: float | None = None, judge: float | None = None
) -> float | None:
    """Mean of the available layers with two decimals; None if there is none.

    Parameters
    ----------
    fact, behavior, judge : float, optional
        Scores of the layers, from 1 to 5.
    """
    return mean_score(score for score in (fact, behavior, judge) if score is not None)


def share_passed(details: Iterable[tuple[float, bool]]) -> float | None:
    """Weight of the assertions that passed, of all weight; None if there are none.

    Parameters
    ----------
    details : iterable of (float, bool)
        Weights, and whether it passed.
    """
    passed = total = 0.0
    for weight, has_passed in details:
        total += weight
        passed += weight if has_passed else 0.0
    if total == float("inf"):
        raise InputError("the weights of the assertions are too large to be summed")
    return passed / total if total else None


def layered_scores(
    details: Sequence[Mapping[str, Any]] | None, llm_score: float | None = None
) -> dict[str, float | None]:
    """Scores of the layers, and their mean.

    Parameters
    ----------
    details : sequence of mapping
        ``type``, ``weight`` (default 1) and ``passed``; for sets also ``layer``. Assertions without
        a layer, and those whose ``passed`` is None, do not count.
    llm_score : float, optional
        The score of a judge; None, 0 and less mean that there is none.

    Returns
    -------
    dict
        ``fact``, ``behavior`` and ``judge``, None if missing; ``composite``, 0 if all are missing.
    """
    if llm_score is not None and not (is_number(llm_score) and llm_score <= HIGHEST):
        raise InputError(f"llm_score must be a number of at most 5, got {glance(llm_score)}")
    layers: dict[str, list[tuple[float, bool]]] = {"fact": [], "behavior": []}
    for place, detail in enumerate(details or ()):
        layer = detail.get("layer") or layer_of(detail.get("type", ""))
        if layer in layers and detail.get("passed") is not None:
            layers[layer].append((_weight(detail, place), bool(detail["passed"])))
    shares = {layer: share_passed(found) for layer, found in layers.items()}
    fact, behavior = (None if share is None else ratio_to_score(share) for share in shares.values())
    judge = llm_score if llm_score is not None and llm_score > 0 else None
    return {
        "composite": composite(fact, behavior, judge) or 0.0,
        "fact": fact,
        "behavior": behavior,
        "judge": judge,
    }


def layer_gates(
    summary: Mapping[str, Mapping[str, Any]], threshold: float = GATE
) -> dict[str, Any]:
    """Whether every layer of each variant reaches a threshold.

    Parameters
    ----------
    summary : mapping
        The available ones of ``avgFactScore``, ``avgBehaviorScore`` and ``avgJudgeScore``, by
        variant. A variant without any does not pass.
    threshold : float, default 3.5

    Returns
    -------
    dict
        ``all_pass``, and ``per_variant`` by name.
    """
    if not is_number(threshold):
        raise InputError(f"threshold must be a number, got {glance(threshold)}")
    passed = {}
    for variant, averages in summary.items():
        there = [averages[name] for name in _AVERAGES if averages.get(name) is not None]
        for average in there:
            if not is_number(average):
                raise InputError(
                    f"the average of {glance(variant)} must be a number, got {glance(average)}"
                )
        passed[variant] = bool(there) and all(average >= threshold for average in there)
    return {"all_pass": all(passed.values()), "per_variant": passed}


def normalize_capability(raw: str) -> str:
    """The name of a capability in lower case, without spaces, hyphens and underscores."""
    return _BETWEEN_WORDS.sub("", raw.lower())


def _weight(detail: Mapping[str, Any], place: int) -> float:
    weight = detail.get("weight", 1)
    if not is_number(weight) or weight <= 0:
        raise InputError(f"details[{place}]: weight must be above 0, got {glance(weight)}")
    return float(weight)
