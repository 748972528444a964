"""Repeats of omk's evaluations: summaries and scores in the form of its reports in, spread out."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import combinations
from statistics import median
from typing import Any, Final

from rag_eval.plumbing.checked_values import is_number
from rag_eval.plumbing.javascript_numbers import fixed_number
from rag_eval.stats.omk.bootstrap import OMK_SEED
from rag_eval.stats.omk.means import effect_size, plain_mean, t_interval, welch_t_test
from rag_eval.stats.omk.settling import saturation, saturation_points

_RUNS_FOR_A_VERDICT: Final = 5
_VERDICT_KEYS: Final = ("saturated", "atN", "confidence", "method", "threshold")
_METRICS: Final = {"cost": "totalExecCostUSD", "efficiency": "avgDurationMs"}
_LAYERS: Final = {"fact": "avgFactScore", "behavior": "avgBehaviorScore", "judge": "avgJudgeScore"}
_LAYER_SCORES: Final = {"Fact": "factScore", "Behavior": "behaviorScore", "Judge": "judgeScore"}

Json = Mapping[str, Any]


def variance_data(
    runs: Sequence[Json], *, bootstrap_samples: int = 1000, seed: int = OMK_SEED
) -> dict[str, Any] | None:
    """Spread of variants over runs of the same evaluation, and their comparisons.

    Parameters
    ----------
    runs : sequence of mapping
        Each with ``meta.variants``, ``summary`` by variant and ``results`` by sample, as in omk's
        reports.
    bootstrap_samples, seed : int
        Seed of the intervals after each run, which treat repeated scores of the same samples as
        independent.

    Returns
    -------
    dict or None
        ``runs``, ``perVariant``, ``comparisons`` and ``saturation``, as in omk's reports; None
        below two runs. Variants without a composite score in any run are left out.
    """
    if len(runs) < 2:
        return None
    variants = list(runs[0]["meta"]["variants"])
    scored = [name for name in variants if _averages(runs, name, "avgCompositeScore")]
    return {
        "runs": len(runs),
        "perVariant": {name: _variant_spread(runs, name) for name in scored},
        "comparisons": [_comparison(runs, a, b) for a, b in combinations(scored, 2)],
        "saturation": _curves(runs, variants, bootstrap_samples, seed),
    }


def stability_cv(report: Json) -> dict[str, Any] | None:
    """The median over variants of the standard deviation divided by the mean.

    Parameters
    ----------
    report : mapping
        With ``variance``, as from :func:`variance_data`; if that has no ``runs``, they are
        ``meta.request.repeat``, and otherwise 1. Variants are left out that have no standard
        deviation or no mean above 0.

    Returns
    -------
    dict or None
        ``runs`` and ``cv``; None below two runs or without such a variant.
    """
    variance = report.get("variance") or {}
    request = (report.get("meta") or {}).get("request") or {}
    runs = next((n for n in (variance.get("runs"), request.get("repeat")) if n is not None), 1)
    if runs < 2:
        return None
    shares = [
        spread["stddev"] / spread["mean"]
        for spread in (variance.get("perVariant") or {}).values()
        if is_number(spread.get("stddev")) and is_number(spread.get("mean")) and spread["mean"] > 0
    ]
    return {"runs": runs, "cv": median(shares)} if shares else None


def variant_summary(entries: Sequence[Json]) -> dict[str, Any]:
    """Means and spread of one variant's samples.

    Parameters
    ----------
    entries : sequence of mapping
        Each with ``ok`` and perhaps ``compositeScore``, ``llmScore`` and ``layeredScores``. A
        composite score or judgement of 0 counts as missing, but that of a layer as 0. Layers are
        those of samples that are ``ok``; composite scores and judgements count in any case.

    Returns
    -------
    dict
        Numbers under omk's names, null if nothing was scored. The standard deviation is that of the
        population (n), and needs two scores.
    """
    composites = _above_zero(entries, "compositeScore")
    succeeded = [entry for entry in entries if entry.get("ok")]
    n_failed = len(entries) - len(succeeded)
    spread = cv = None
    if len(composites) > 1:
        center = plain_mean(composites)
        spread = math.sqrt(
            plain_mean([(score - center) * (score - center) for score in composites])
        )
        cv = fixed_number(spread / center, 3)
    found: dict[str, Any] = {
        "totalSamples": len(entries),
        "successCount": len(succeeded),
        "errorRate": fixed_number(n_failed / max(1, len(entries)) * 100, 1),
        "avgCompositeScore": _average(composites),
        "minCompositeScore": fixed_number(min(composites), 2) if composites else None,
        "maxCompositeScore": fixed_number(max(composites), 2) if composites else None,
        "scoreStddev": None if spread is None else fixed_number(spread, 2),
        "scoreCV": cv,
    }
    for name, key in _LAYER_SCORES.items():
        scores = [(entry.get("layeredScores") or {}).get(key) for entry in succeeded]
        found[f"avg{name}Score"] = _average([score for score in scores if score is not None])
    found["avgLlmScore"] = _average(_above_zero(entries, "llmScore"))
    return found


# ------------------------------------------------------------------------------- pieces of a report


def _variant_spread(runs: Sequence[Json], variant: str) -> dict[str, Any]:
    found = _spread(_averages(runs, variant, "avgCompositeScore"))
    for name, keys in (("byMetric", _METRICS), ("byLayer", _LAYERS)):
        parts = {part: _averages(runs, variant, key) for part, key in keys.items()}
        given = {part: _spread(scores) for part, scores in parts.items() if scores}
        if given:
            found[name] = given
    return found


def _spread(scores: list[float]) -> dict[str, Any]:
    return {"scores": scores, **t_interval(scores).to_dict()}


def _comparison(runs: Sequence[Json], a: str, b: str) -> dict[str, Any]:
    found: dict[str, Any] = {
        "a": a,
        "b": b,
        **_difference(*(_averages(runs, name, "avgCompositeScore") for name in (a, b))),
    }
    for name, keys in (("byMetric", _METRICS), ("byLayer", _LAYERS)):
        pairs = {
            part: (_averages(runs, a, key), _averages(runs, b, key)) for part, key in keys.items()
        }
        given = {part: _difference(*pair) for part, pair in pairs.items() if all(pair)}
        if given:
            found[name] = given
    return found


def _difference(a: list[float], b: list[float]) -> dict[str, Any]:
    return {
        "meanDiff": fixed_number(t_interval(a).mean - t_interval(b).mean, 4),
        **welch_t_test(a, b).to_dict(),
        "effectSize": effect_size(a, b).to_dict(),
    }


def _curves(
    runs: Sequence[Json], variants: Sequence[str], samples: int, seed: int
) -> dict[str, Any]:
    """The mean of each variant over the scores pooled up to each run."""
    pools = {name: _pools(runs, name) for name in variants}
    found: dict[str, Any] = {
        "checkpointSampleCounts": [len(pool) for pool in pools[variants[0]]] if variants else [],
        "perVariant": {
            name: [point.to_dict() for point in saturation_points(pool, samples, seed)]
            for name, pool in pools.items()
        },
    }
    if len(runs) >= _RUNS_FOR_A_VERDICT:
        verdicts = {
            name: saturation(pool, bootstrap_samples=samples, seed=seed).to_dict()
            for name, pool in pools.items()
        }
        found["verdicts"] = {
            name: {key: verdict[key] for key in _VERDICT_KEYS} for name, verdict in verdicts.items()
        }
    return found


def _pools(runs: Sequence[Json], variant: str) -> list[list[float]]:
    pools: list[list[float]] = []
    for run in runs:
        scores = [
            sample["variants"][variant].get("compositeScore")
            for sample in run["results"]
            if variant in sample["variants"]
        ]
        # A score of 0 stands for a missing one.
        pools.append([*(pools[-1] if pools else []), *(score for score in scores if score)])
    return pools


def _averages(runs: Sequence[Json], variant: str, key: str) -> list[float]:
    found = [run["summary"].get(variant, {}).get(key) for run in runs]
    return [value for value in found if value is not None]


def _above_zero(entries: Sequence[Json], key: str) -> list[float]:
    return [entry[key] for entry in entries if (entry.get(key) or 0) > 0]


def _average(scores: list[float]) -> float | None:
    return fixed_number(plain_mean(scores), 2) if scores else None
