"""A run and a baseline in; the verdict by the rules of another tool out.

None of these rules states how often it fails when nothing changed; :func:`false_alarm_rate` has
simulated rates.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np

from rag_eval.comparing.pairing import RowTable
from rag_eval.comparing.run_comparison import RunComparison
from rag_eval.comparing.statuses import Status
from rag_eval.comparing.tested_changes import MetricChange
from rag_eval.comparing.two_runs import ALL_METRICS
from rag_eval.errors import InputError
from rag_eval.gating.limits import regression_outcome
from rag_eval.gating.tools.false_alarm_rates import N_REPLICATES, RATES, TIES
from rag_eval.gating.tools.omk_verdict import ENOUGH_SAMPLES, TRIVIAL, OmkVerdict, omk_verdict
from rag_eval.gating.verdicts import (
    NO_BASELINE,
    BaselineVerdict,
    FalseAlarmRate,
    Finding,
)
from rag_eval.metrics.ids import COMPOSITE
from rag_eval.metrics.registry import higher_is_better
from rag_eval.plumbing.javascript_numbers import fixed_number
from rag_eval.plumbing.spelling import counted
from rag_eval.results.regressions import mean_regression
from rag_eval.runs.scored_run import ScoredRun
from rag_eval.samples import MetricId
from rag_eval.scorers.omk.layers import GATE
from rag_eval.scorers.regtrace.regression import (
    CRITICAL,
    TOLERANCE,
    RegressionBlock,
    regression_block,
    regression_status,
)
from rag_eval.stats.arrays import Floats
from rag_eval.stats.omk.bootstrap import OmkInterval, bootstrap_paired_diff_ci
from rag_eval.stats.omk.means import plain_mean

Margins: TypeAlias = float | Mapping[str, float] | None
"""Accepted loss: for every metric, by metric (``*`` for all others), or None for the default."""

NODE_THRESHOLD: Final = 0.05

_NEW: Final = "new"
_CONTROL: Final = "baseline"
_FEWEST_PAIRS: Final = 2


# ------------------------------------------------------------------------------------------- node


def node_verdict(comparison: RunComparison, kind: str, margin: Margins) -> BaselineVerdict:
    """As rag-eval-node-ts: no mean may drop by more than 0.05; rows are not paired."""
    findings = []
    for change in _gating(comparison):
        limit = NODE_THRESHOLD if margin is None else margin_of(margin, change.name, NODE_THRESHOLD)
        row = mean_regression(
            change.name, change.old.mean, change.new.mean, limit, unscored=not change.old.n
        )
        if not change.higher_is_better and higher_is_better(change.name):
            row = replace(row, regressed=row.delta > limit)  # only the file says so
        findings.append(
            Finding(
                metric=change.name,
                status=Status.REGRESSED if row.failed else "HELD",
                held=not row.failed,
                message=regression_outcome(row, limit).message,
                n_pairs=change.n_pairs,
                change=row.delta,
                low=change.difference.low,
                high=change.difference.high,
                margin=limit,
            )
        )
    means = counted(len(findings), "mean")
    return summed_up(
        comparison,
        kind,
        findings,
        good="HELD",
        summary=f"none of {means} got worse by more than its threshold",
    )


def margin_of(margin: float | Mapping[str, float], metric: str, default: float) -> float:
    """The margin of one metric."""
    if not isinstance(margin, Mapping):
        return margin
    return margin.get(metric, margin.get(ALL_METRICS, default))


def _gating(comparison: RunComparison) -> list[MetricChange]:
    """The metrics that decide; the tools compare those that both runs have."""
    found = [
        change
        for change in comparison.changes
        if change.gating and change.slice is None and change.name not in comparison.lost_metrics
    ]
    if not found:
        raise InputError(f"{comparison.new} and {comparison.old} have no gating metric in common")
    return found


def summed_up(
    comparison: RunComparison, kind: str, findings: Sequence[Finding], *, good: str, summary: str
) -> BaselineVerdict:
    """The verdict of findings that all have to pass."""
    failed = [finding for finding in findings if not finding.held]
    return BaselineVerdict(
        name=comparison.old,
        kind=kind,
        status=failed[0].status if failed else good,
        passed=not failed,
        reason=failed[0].message if failed else summary,
        findings=tuple(findings),
        notices=comparison.notes,
    )


# --------------------------------------------------------------------------------------- regtrace


def regtrace_verdict(comparison: RunComparison, kind: str, margin: Margins) -> BaselineVerdict:
    """As Regtrace documents it, on the rows that both runs have.

    The relative change of the mean composite score decides, or with tolerances by metric the worst
    metric. Both warning and critical fail.
    """
    table, changes = _table(comparison), _gating(comparison)
    metrics = [change.name for change in changes]
    before, after = (_means(table, metrics, scores) for scores in (table.old, table.new))
    if COMPOSITE not in before or COMPOSITE not in after:
        raise InputError(
            f"the composite scores of {comparison.new} and {comparison.old} cannot be compared: "
            "one run has none in the rows that both have"
        )
    n_excluded = int((table.in_new & ~table.in_old).sum())
    tolerance, tolerances = TOLERANCE, None
    if isinstance(margin, Mapping):
        tolerance = margin.get(ALL_METRICS, TOLERANCE)
        tolerances = {
            metric: value for metric, value in margin.items() if metric != ALL_METRICS
        } or None
    elif margin is not None:
        tolerance = margin
    block = regression_block(
        after.pop(COMPOSITE),
        {metric: after[metric] for metric in metrics if metric in after},
        {
            "run_id": comparison.old,
            "suite_score": before.pop(COMPOSITE),
            "metric_summary": {metric: {"score": mean} for metric, mean in before.items()},
        },
        tolerance=tolerance,
        metric_tolerances=tolerances,
        lower_is_better=[change.name for change in changes if not change.higher_is_better],
    )
    lost = [metric for metric in before if metric not in after]
    verdict = summed_up(
        comparison,
        kind,
        [*_regtrace_findings(block, table, tolerance), *map(_lost_finding, lost)],
        good=block.status,
        summary=f"relative change of the mean composite score: {block.suite_delta:+.1%} (clean)"
        if tolerances is None
        else f"none of {len(after)} means fell by more than its tolerance (clean)",
    )
    notice = f"rows left out because {comparison.old} lacks them: {n_excluded:,}"
    return replace(verdict, notices=(*verdict.notices, notice)) if n_excluded else verdict


def _table(comparison: RunComparison) -> RowTable:
    table = comparison.table
    if table is None or COMPOSITE not in table.names:
        raise InputError(
            f"the composite scores of {comparison.new} and {comparison.old} cannot be compared: "
            "both runs need composite scores, ids, and the same metrics and weights (--force "
            "accepts other weights)"
        )
    return table


def _means(table: RowTable, metrics: Sequence[str], scores: Floats) -> dict[str, float]:
    """The mean of each column over the rows of both runs, if it has any score there."""
    found = {}
    for name in (COMPOSITE, *metrics):
        column = scores[table.in_both, table.names.index(name)]
        column = column[~np.isnan(column)]
        if len(column):
            found[name] = math.fsum(column) / len(column)
    return found


def _regtrace_findings(block: RegressionBlock, table: RowTable, tolerance: float) -> list[Finding]:
    applied = block.metric_tolerances_applied
    found = []
    for name, delta in ((COMPOSITE, block.suite_delta), *block.metric_deltas.items()):
        decides = (name == COMPOSITE) == (applied is None)
        limit = tolerance if applied is None else applied.get(name, tolerance)
        status = regression_status(delta, limit)
        old, new = (scores[table.in_both] for scores in table.column(name))
        found.append(
            Finding(
                metric=name,
                status=status,
                held=not decides or status == "clean",
                message=f"relative change of {_whose(name)}: {delta:+.1%} ({status})",
                n_pairs=int((~np.isnan(old) & ~np.isnan(new)).sum()),
                change=delta,
                margin=limit,
            )
        )
    return found


def _whose(name: str) -> str:
    return "the mean composite score" if name == COMPOSITE else f"the mean of {name}"


def _lost_finding(metric: MetricId) -> Finding:
    message = f"{metric} has no scores, but the baseline has some"
    return Finding(metric=metric, status="critical", held=False, message=message)


# -------------------------------------------------------------------------------------------- omk


def omk_run_verdict(comparison: RunComparison, kind: str) -> BaselineVerdict:
    """As omk 0.54, on composite scores from 1 to 5; the composite stands for its layers.

    The interval is omk's: 1,000 resamples of the pairs with its random generator and seed.
    """
    table = _table(comparison)
    before, after = (1 + 4 * scores for scores in table.column(COMPOSITE))
    paired = ~np.isnan(before) & ~np.isnan(after)
    pairs = [
        (fixed_number(old, 2), fixed_number(new, 2))
        for old, new in zip(before[paired].tolist(), after[paired].tolist(), strict=True)
    ]
    summary = {name: _omk_summary(scores) for name, scores in ((_CONTROL, before), (_NEW, after))}
    meta: dict[str, Any] = {"variants": [_CONTROL, _NEW], "sampleCount": int(table.in_new.sum())}
    interval = None
    if len(pairs) >= _FEWEST_PAIRS:
        interval = bootstrap_paired_diff_ci(pairs)
        meta["pairComparisons"] = [
            {"control": _CONTROL, "treatment": _NEW, "diffBootstrapCI": interval.to_dict()}
        ]
    verdict = omk_verdict({"meta": meta, "summary": summary})
    finding = _omk_finding(verdict, interval, len(pairs))
    return BaselineVerdict(
        name=comparison.old,
        kind=kind,
        status=verdict.level,
        passed=verdict.ships,
        reason=finding.message,
        findings=(finding,),
        notices=comparison.notes,
    )


def _omk_alone(new: ScoredRun) -> tuple[str, bool, str]:
    """SOLO, and whether the layers of a run without a baseline reach 3.5."""
    scores = 1 + 4 * new.composite
    verdict = omk_verdict(
        {
            "meta": {"variants": [_NEW], "sampleCount": len(new)},
            "summary": {_NEW: _omk_summary(scores)},
        }
    )
    verb = "reaches" if verdict.ships else "does not reach"
    reason = f"no baseline: the mean composite score {verb} {GATE:g} of 5"
    return verdict.level, verdict.ships, reason


def _omk_summary(scores: Floats) -> dict[str, float]:
    scores = scores[~np.isnan(scores)]
    if not len(scores):
        return {}
    mean = fixed_number(plain_mean(scores.tolist()), 2)
    return {"avgFactScore": mean, "avgCompositeScore": mean}


def _omk_finding(verdict: OmkVerdict, interval: OmkInterval | None, n_pairs: int) -> Finding:
    message = "composite scores (1 to 5)"
    if interval is None:
        message += f" have {counted(n_pairs, 'pair')}: too few for an interval"
    else:
        message += (
            f" changed by {interval.estimate:+.3f} [{interval.low:+.3f}, {interval.high:+.3f}] "
            f"over {counted(n_pairs, 'pair')}"
        )
    if verdict.level == "CAUTIOUS" and interval is not None:
        trivial = interval.estimate < TRIVIAL
        message += f", a gain below {TRIVIAL:g}" if trivial else f"; their mean is below {GATE:g}"
    return Finding(
        metric=COMPOSITE,
        status=verdict.level,
        held=verdict.ships,
        message=message,
        n_pairs=n_pairs,
        change=math.nan if interval is None else interval.estimate,
        low=None if interval is None else interval.low,
        high=None if interval is None else interval.high,
    )


# ------------------------------------------------------------------------- how often they err


def false_alarm_rate(policy: str, n_rows: int, tied: float) -> FalseAlarmRate | None:
    """The simulated rate for the nearest size and share of ties; None if not simulated.

    Parameters
    ----------
    policy : str
    n_rows : int
        Number of pairs; the nearest size is that with the ratio nearest to 1.
    tied : float
        Share of pairs with the same scores in both runs.
    """
    if policy not in RATES or n_rows < 1:
        return None
    size = min(RATES[policy], key=lambda known: abs(math.log(known / n_rows)))
    place = min(range(len(TIES)), key=lambda column: abs(TIES[column] - tied))
    return FalseAlarmRate(
        rate=RATES[policy][size][place],
        n_rows=size,
        tied=TIES[place],
        n_replicates=N_REPLICATES,
    )


def share_tied(comparison: RunComparison) -> float:
    """Share of paired scores of gating metrics that are the same in both runs."""
    table = comparison.table
    names = [each.name for each in comparison.changes if each.gating and each.slice is None]
    if table is None or not names:
        return 0.0
    old, new = (np.concatenate(side) for side in zip(*map(table.column, names), strict=True))
    paired = ~np.isnan(old) & ~np.isnan(new)
    return float((old == new)[paired].mean()) if paired.any() else 0.0


# ------------------------------------------------------------------------------- what a gate asks


class ToolPolicy(NamedTuple):
    """The policy of a tool.

    Attributes
    ----------
    verdict : callable
        Takes a comparison, the kind of its baseline and the margin.
    alone : callable
        Status, whether it passes, and why, for a run without a baseline.
    words : mapping of str
        What each of its statuses means.
    takes_margin : bool
    """

    verdict: Callable[[RunComparison, str, Margins], BaselineVerdict]
    alone: Callable[[ScoredRun], tuple[str, bool, str]]
    words: Mapping[str, str]
    takes_margin: bool = True


TOOL_POLICIES: Final[dict[str, ToolPolicy]] = {
    "omk": ToolPolicy(
        lambda comparison, kind, _: omk_run_verdict(comparison, kind),
        _omk_alone,
        {
            "PROGRESS": "a gain is shown",
            "NOISE": "no difference is shown",
            "UNDERPOWERED": f"no difference is shown, with fewer than {ENOUGH_SAMPLES} samples",
            "CAUTIOUS": "a gain that is small, or a mean that is low",
            "REGRESS": "a loss is shown",
            "SOLO": "there is no baseline",
        },
        takes_margin=False,
    ),
    "regtrace": ToolPolicy(
        regtrace_verdict,
        lambda _: ("new", True, NO_BASELINE),
        {
            "clean": "the mean fell by no more than the tolerance, relative to the baseline's",
            "warning": "it fell by more than the tolerance",
            "critical": f"it fell by more than {CRITICAL:.0%}, or has no scores".replace("%", " %"),
            "new": "there is no baseline",
        },
    ),
    "node": ToolPolicy(
        node_verdict,
        lambda _: (Status.NEW, True, NO_BASELINE),
        {
            "HELD": "the mean got worse by no more than the threshold",
            Status.REGRESSED: "it got worse by more than the threshold",
        },
    ),
}
