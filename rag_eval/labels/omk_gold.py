"""Gold annotations and results of omk in; omk's rounded figures of agreement out.

omk rounds to four decimals, halves up. The figures are defined in
:mod:`rag_eval.stats.krippendorff` and :mod:`rag_eval.stats`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from rag_eval.errors import InputError, suggestion
from rag_eval.inputs.byte_files import file_bytes, source_name
from rag_eval.labels.comparing_labels import is_contaminated, label_pairs
from rag_eval.labels.score_columns import ScoreColumn
from rag_eval.plumbing import json_text
from rag_eval.plumbing.checked_values import is_number
from rag_eval.plumbing.javascript_numbers import fixed_number, round_half_up
from rag_eval.stats.agreement import pearson, weighted_kappa
from rag_eval.stats.index_sources import Resampling
from rag_eval.stats.krippendorff import alpha_with_interval, krippendorff_alpha
from rag_eval.stats.omk.bootstrap import mulberry32_indices

SEED: Final = 20260616
SCALE: Final = (1.0, 5.0)
_DIGITS: Final = 4


def omk_weighted_kappa(
    gold: Sequence[float], judge: Sequence[float], scale: tuple[float, float] = SCALE
) -> float | None:
    """Quadratic kappa; None also on a scale whose ends are the same, or in the wrong order."""
    # A scale cancels out of the quotient; there it only has to have a length.
    return weighted_kappa(gold, judge) if scale[1] > scale[0] else None


def omk_agreement(
    gold: Sequence[float],
    judge: Sequence[float],
    *,
    scale: tuple[float, float] = SCALE,
    samples: int = 1000,
    seed: int | None = None,
) -> dict[str, Any]:
    """Krippendorff's alpha with its interval, kappa and Pearson's correlation of pairs of scores.

    Parameters
    ----------
    gold, judge : sequence of float
    scale : tuple of float
    samples, seed
        Number of resamples and seed of the interval of alpha, which uses omk's own draws.

    Returns
    -------
    dict
        ``alpha``, ``alphaCI`` (``low``, ``high``, ``estimate``, ``samples``), ``weightedKappa``,
        ``pearson``, ``sampleCount``; None if a number is not defined. Resamples without variety
        have no alpha: unlike there they are left out, and above 5 % of them there are no bounds.
        The bounds of a single pair have no width; without a pair there are 0 ``samples``.
    """
    alpha = krippendorff_alpha(np.array([gold, judge], np.float64))
    low, high = _alpha_bounds(gold, judge, alpha, samples, SEED if seed is None else seed)
    return {
        "alpha": _rounded(alpha),
        "alphaCI": {
            "low": _rounded(low),
            "high": _rounded(high),
            "estimate": _rounded(alpha),
            "samples": samples if len(gold) else 0,
        },
        "weightedKappa": _rounded(omk_weighted_kappa(gold, judge, scale)),
        "pearson": _rounded(pearson(gold, judge)),
        "sampleCount": len(gold),
    }


def _alpha_bounds(
    gold: Sequence[float], judge: Sequence[float], alpha: float | None, samples: int, seed: int
) -> tuple[float | None, float | None]:
    # Every resample of a single pair is that pair.
    if len(gold) == 1:
        return alpha, alpha
    draws = mulberry32_indices((len(gold),), samples, seed)
    found = alpha_with_interval([list(gold), list(judge)], resampling=Resampling(indices=draws))
    return (None, None) if found is None else (found.low, found.high)


def gold_compare(
    results: Sequence[Mapping[str, Any]],
    annotations: Mapping[str, float],
    *,
    annotator: str,
    judges: Sequence[str],
    variants: Sequence[str],
    variant: str | None = None,
    scale: tuple[float, float] | None = None,
    samples: int = 1000,
    seed: int | None = None,
) -> dict[str, Any]:
    """Compare the judge's scores in a report with gold labels.

    Parameters
    ----------
    results : sequence of mapping
        As in a report of omk: ``sample_id``, and under ``variants`` the ``llmScore`` of each.
    annotations : mapping of float
        The gold score of each sample.
    annotator : str
    judges : sequence of str
        ``executor:model``.
    variants : sequence of str
    variant : str, optional
        Default: the first.

    Returns
    -------
    dict
        As :func:`omk_agreement`, and ``variant``, ``rows``, ``missing`` (samples that the report
        does not have), ``unscored`` (it has no judge's score of them, or one of 0, which failed)
        and ``contaminated`` (the annotator has the name of a judge or of its model).

    Raises
    ------
    InputError
        For an unknown variant.
    """
    if not variants:
        raise InputError("the report has no variants")
    chosen = variants[0] if variant is None else variant
    if chosen not in variants:
        hint = suggestion(chosen, variants)
        raise InputError(f"unknown variant {chosen!r}{hint} (variants: {', '.join(variants)})")
    scores = {row.get("sample_id", ""): variant_score(row, chosen) for row in results}
    pairs = label_pairs(annotations, scores)
    models = [judge.partition(":")[2] for judge in judges]
    rows = [
        {
            "sample_id": name,
            "goldScore": annotations[name],
            "judgeScore": score,
            "diff": fixed_number(score - annotations[name], _DIGITS),
        }
        for name, score in zip(pairs.ids, pairs.scores, strict=True)
    ]
    agreed = omk_agreement(
        [annotations[name] for name in pairs.ids],
        pairs.scores,
        scale=SCALE if scale is None else scale,
        samples=samples,
        seed=seed,
    )
    return {
        "variant": chosen,
        "rows": rows,
        "missing": list(pairs.missing),
        "unscored": list(pairs.unscored),
        "contaminated": is_contaminated(annotator, [*judges, *models]),
        **agreed,
    }


def variant_score(row: Mapping[str, Any], variant: str) -> float | None:
    """The judge's score in a row of a report; None if missing or failed."""
    variants = row.get("variants")
    found = variants.get(variant) if isinstance(variants, Mapping) else None
    score = found.get("llmScore") if isinstance(found, Mapping) else None
    # 0 is a judgement that failed.
    return float(score) if is_number(score) and score > 0 else None


def _rounded(value: float | None) -> float | None:
    return None if value is None else round_half_up(value, _DIGITS)


# ---------------------------------------------------------------------------------------- reports


def column_of_omk_report(path: str | Path, variant: str | None = None) -> ScoreColumn:
    """The judge's scores of one variant in a report of omk, on its scale of 1 to 5.

    Parameters
    ----------
    path : path
        A JSON report.
    variant : str, optional
        Default: the first, which is the control.

    Raises
    ------
    InputError
        For a file that is not such a report, and for an unknown variant.
    """
    source = source_name(path)
    data = file_bytes(path)
    try:
        report = json_text.loads(data)
    except (ValueError, RecursionError) as error:
        fault = json_text.syntax_fault(error)
        raise InputError(f"{source} is not valid JSON: {fault}") from None
    rows = report.get("results") if isinstance(report, Mapping) else None
    if not isinstance(rows, list) or not all(_is_row(row) for row in rows):
        raise InputError(
            f"{source} is not a report of omk: it needs results with sample_id and variants"
        )
    meta = report.get("meta")
    meta = meta if isinstance(meta, Mapping) else {}
    variants = _variants(meta, rows)
    if not variants:
        raise InputError(f"{source} has no variants")
    chosen = variants[0] if variant is None else variant
    if chosen not in variants:
        hint = suggestion(chosen, variants)
        raise InputError(f"{source}: no variant {chosen!r}{hint} (variants: {', '.join(variants)})")
    return ScoreColumn(
        name=f"{source}, variant {chosen}",
        metric="llmScore",
        scores={row["sample_id"]: variant_score(row, chosen) for row in rows},
        scale=None,
        judges=tuple(_judge_names(meta.get("judgeModels"))),
    )


def _is_row(row: object) -> bool:
    return (
        isinstance(row, Mapping)
        and isinstance(row.get("sample_id"), str)
        and isinstance(row.get("variants"), Mapping)
    )


def _variants(meta: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> list[str]:
    listed = meta.get("variants")
    if isinstance(listed, list) and listed and all(isinstance(name, str) for name in listed):
        return listed
    return list(dict.fromkeys(str(name) for row in rows for name in row["variants"]))


def _judge_names(models: object) -> list[str]:
    if not isinstance(models, list):
        return []
    return [
        f"{model.get('executor')}:{model.get('model')}"
        if isinstance(model, Mapping)
        else str(model)
        for model in models
    ]
