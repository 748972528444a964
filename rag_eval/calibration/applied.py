"""Calibrations -> a plan with their weights and thresholds, whose scores have probabilities."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from rag_eval.errors import InputError
from rag_eval.kernels.settings import GroundedSettings
from rag_eval.options.plan import Plan, make_plan
from rag_eval.options.signature import Signature
from rag_eval.samples import MetricId


def planned(metrics: Iterable[str] | None, options: Mapping[str, Any]) -> tuple[Plan, list[str]]:
    """The plan of a call from its normalized options, calibrations in it, and notes on them.

    Raises
    ------
    InputError
        For an option whose value is wrong; as for :func:`calibrated`, too.
    """
    plan = make_plan(metrics, options)
    if plan.judging is None and options.get("calibration") is None:
        return plan, []
    return calibrated(plan, options)


def calibrated(plan: Plan, options: Mapping[str, Any]) -> tuple[Plan, list[str]]:
    """The plan with the calibrations of its metrics, and what a reader should know of them.

    A calibrated threshold takes the place of the default one, not of one the caller gave.

    Raises
    ------
    InputError
        When no calibration is of a metric of the plan, or one was made from scores of another
        profile or signature.
    """
    # Most calls are neither calibrated nor judged, and do without what this takes.
    from rag_eval.calibration.files import read_calibrations
    from rag_eval.options.cascade import cascade_plan

    chosen = options.get("thresholds") or {}
    given = options.get("calibration")
    if given is None:
        return cascade_plan(plan, chosen), []
    found = read_calibrations(given)
    of_plan = {
        metric: found[metric]
        for metric in plan.columns
        if metric in found and _is_native(plan, metric)
    }
    if not of_plan:
        judged = [metric for metric in plan.columns if metric in found]
        if judged:
            raise InputError(
                f"the calibration is for native scores of {judged[0]}, but a judge scores this "
                "metric here; mode='cascade' uses both"
            )
        raise InputError(
            f"the calibration is for {', '.join(found) or 'no metric'}; this call has "
            f"{', '.join(plan.columns) or 'none'}"
        )
    settings = plan.settings
    fitted = of_plan.get("faithfulness")
    # Of another profile, whose scores have no weights, the check tells.
    if fitted is not None and fitted.weights and isinstance(settings, GroundedSettings):
        settings = replace(settings, weights=tuple(fitted.weights.values()))
    notes = [
        calibration.check(metric, Signature.of((metric,), settings))
        for metric, calibration in of_plan.items()
    ]
    thresholds = {
        metric: calibration.threshold
        for metric, calibration in of_plan.items()
        if chosen.get(metric) is None
    }
    calibrated_plan = replace(
        plan,
        calibrations=of_plan,
        settings=settings,
        thresholds={**plan.thresholds, **thresholds},
    )
    return cascade_plan(calibrated_plan, chosen), [note for note in notes if note]


def _is_native(plan: Plan, metric: MetricId) -> bool:
    """Whether rows can have a native score of the metric, which a calibration is about."""
    judging = plan.judging
    return judging is None or judging.is_cascade or metric not in judging.judged
