"""Repeats and ensembles of judges as omk reports them: its 1 to 5 scores in, its figures out.

There a score of 0 is a judgement that failed, scores are added one by one, and figures are rounded
at every stage, ties away from zero. What the figures mean is said in :mod:`rag_eval.judge`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any, Final

from rag_eval.errors import InputError, glance
from rag_eval.plumbing.javascript_numbers import fixed_number, plain_sum
from rag_eval.scorers.javascript import trimmed
from rag_eval.stats.agreement import pearson
from rag_eval.stats.omk.means import plain_mean

_VENDORS: Final = {
    "claude": "anthropic",
    "claude-sdk": "anthropic",
    "anthropic-api": "anthropic",
    "codex": "openai",
    "codex-sdk": "openai",
    "openai-api": "openai",
}
_UNKNOWN: Final = "unknown"


def repeat_count(repeat: float) -> int:
    """Number of judge calls: the number rounded down, at least 1."""
    return max(1, math.floor(repeat)) if math.isfinite(repeat) else 1


def repeated_score(scores: Sequence[float]) -> dict[str, Any]:
    """The repeated scores of a judge for one sample.

    Returns
    -------
    dict
        ``score``, the mean of those that did not fail, or 0 (a single score is not rounded);
        ``samples``, as given; ``stddev``, 0 for fewer than two; ``failures``.
    """
    valid = _valid(scores)
    mean, spread = _mean(valid), 0.0
    if len(valid) > 1:
        deviations = [(score - mean) * (score - mean) for score in valid]
        spread = math.sqrt(plain_sum(deviations) / (len(valid) - 1))
    return {
        "score": scores[0] if len(scores) == 1 else fixed_number(mean, 2),
        "samples": list(scores),
        "stddev": fixed_number(spread, 3),
        "failures": len(scores) - len(valid),
    }


def ensemble_score(scores_per_judge: Sequence[Sequence[float]]) -> dict[str, Any]:
    """Scores of several judges for one sample, each with repeats.

    Returns
    -------
    dict
        ``score``, the mean of the judges' scores; for two or more judges also ``per_judge``,
        ``mean_abs_diff`` and ``pair_count`` over pairs of judges that did not fail, and
        ``pearson``, which is undefined for one sample.
    """
    per_judge = [repeated_score(scores) for scores in scores_per_judge]
    scores = [found["score"] for found in per_judge]
    valid = _valid(scores)
    score = fixed_number(_mean(valid), 2)
    if len(scores) < 2:
        return {"score": score}
    for found in per_judge:
        del found["samples"]
    agreed = judge_agreement([[score] for score in valid])
    return {
        "score": score,
        "per_judge": per_judge,
        "mean_abs_diff": agreed["meanAbsDiff"],
        "pair_count": agreed["pairCount"],
        "pearson": None,
    }


def judge_agreement(matrix: Sequence[Sequence[float]]) -> dict[str, Any]:
    """Agreement of judges on samples, with one row per judge.

    Returns
    -------
    dict
        ``meanAbsDiff``, ``pairCount`` and ``pearson`` (None if no pair has one); 0, 0 and None for
        a single judge.
    """
    pairs = list(combinations(matrix, 2))
    differences = [
        _mean([abs(a - b) for a, b in zip(left, right, strict=True)]) for left, right in pairs
    ]
    correlations = [r for left, right in pairs if (r := pearson(left, right)) is not None]
    return {
        "meanAbsDiff": fixed_number(_mean(differences), 3),
        "pairCount": len(pairs),
        "pearson": fixed_number(_mean(correlations), 3) if correlations else None,
    }


def ensemble_agreement(
    ensembles: Sequence[Mapping[str, float] | Sequence[float]],
) -> dict[str, Any]:
    """Agreement of judges over a report.

    Parameters
    ----------
    ensembles : sequence of mapping or sequence
        The scores of each sample by the name of the judge, or in the order of the judges; samples
        with fewer than two do not count. Leave out samples whose run failed.

    Returns
    -------
    dict
        ``judge_count``, the judges with at least one score above 0, or 0 for fewer than two of
        them; ``sampleCount``, the samples scored by all of these; ``pearson`` and ``meanAbsDiff``
        as in :func:`judge_agreement` over these samples; None for fewer than two.
    """
    by_judge: list[dict[object, float]] = [
        {judge: score for judge, score in _named(scores) if score > 0}
        for scores in ensembles
        if len(scores) > 1
    ]
    judges = list(dict.fromkeys(judge for scores in by_judge for judge in scores))
    complete = [
        [scores[judge] for judge in judges] for scores in by_judge if len(scores) == len(judges)
    ]
    n_judges = len(judges) if len(judges) > 1 else 0
    if not n_judges or len(complete) < 2:
        none = dict.fromkeys(("pearson", "meanAbsDiff", "sampleCount"))
        return {"judge_count": n_judges, **none}
    agreed = judge_agreement(list(zip(*complete, strict=True)))
    return {
        "judge_count": n_judges,
        "pearson": agreed["pearson"],
        "meanAbsDiff": agreed["meanAbsDiff"],
        "sampleCount": len(complete),
    }


def _named(scores: Mapping[str, float] | Sequence[float]) -> Iterable[tuple[object, float]]:
    return scores.items() if isinstance(scores, Mapping) else enumerate(scores)


def judge_independence(
    judges: Sequence[tuple[str, str]],
    output_executor: str,
    *,
    gold: bool = False,
    no_judge: bool = False,
) -> dict[str, Any]:
    """Whether judges, as (executor, model), come from another vendor than the judged model.

    The vendor of an executor that omk does not know is "unknown"; with such a vendor, nothing can
    be concluded.

    Parameters
    ----------
    judges : sequence of (str, str)
        Executor and model of each judge.
    output_executor : str
        Executor of the judged model.
    gold : bool
        Whether the judges were calibrated with gold labels.
    no_judge : bool
        Whether the run asked no judge, although it names some: nothing is said of these.
    """
    vendors = [_VENDORS.get(executor, _UNKNOWN) for executor, _ in judges]
    outputs = [_VENDORS.get(output_executor, _UNKNOWN)] if output_executor else []
    told = bool(vendors and outputs) and not no_judge and _UNKNOWN not in (*vendors, *outputs)
    outside = told and any(vendor not in outputs for vendor in vendors)
    return {
        "judgeVendors": vendors,
        "outputVendors": outputs,
        "goldCalibrated": gold,
        "crossVendorJudgePresent": outside,
        "sameVendorJudge": told and not outside,
        "singleVendorEnsemble": told and len(vendors) > 1 and len(set(vendors)) == 1,
    }


def parse_judge_models(text: str) -> tuple[tuple[str, str], ...]:
    """``"claude:opus,openai-api:gpt-4o"`` as (executor, model) pairs.

    Space around a pair is removed. As in omk, space around its colon belongs to the names.

    Raises
    ------
    InputError
        For a part without an executor or a model, a judge named twice, or none at all.
    """
    found: list[tuple[str, str]] = []
    for part in filter(None, map(trimmed, text.split(","))):
        executor, _, model = part.partition(":")
        if not executor or not model:
            raise InputError(f"a judge is written executor:model, got {glance(part)}")
        if (executor, model) in found:
            raise InputError(f"the judge {part} is named twice")
        found.append((executor, model))
    if not found:
        raise InputError("no judge is named; write executor:model, separated by commas")
    return tuple(found)


def _valid(scores: Sequence[float]) -> list[float]:
    """Those of judgements that did not fail."""
    return [score for score in scores if score > 0]


def _mean(scores: Sequence[float]) -> float:
    return plain_mean(scores) if scores else 0.0
