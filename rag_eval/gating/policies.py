"""A comparison with a baseline in; its findings and a verdict by our own policies out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from rag_eval.comparing.disagreements import disagreement_line
from rag_eval.comparing.run_comparison import RunComparison
from rag_eval.comparing.statuses import Status
from rag_eval.comparing.tested_changes import MetricChange
from rag_eval.errors import InputError
from rag_eval.gating.verdicts import BaselineVerdict, Finding
from rag_eval.plumbing.checked_values import positive
from rag_eval.plumbing.spelling import counted
from rag_eval.stats.differences import difference_lower_bound

CARE: Final = 0.05
"""Smallest drop that matters by default; too few rows to detect it are reported."""

_MOST_NAMED: Final = 3


def no_regression(comparison: RunComparison, kind: str, *, care: float = CARE) -> BaselineVerdict:
    """Fails if an adjusted test shows a mean to be worse by more than its margin.

    Otherwise it passes; a notice says where the rows are too few to detect a drop of ``care``.
    """
    findings = [_tested(change) for change in _family(comparison)]
    verdict = _verdict(comparison, kind, findings, _regression_summary(findings, care), care)
    line = disagreement_line(comparison)
    return verdict if line is None else replace(verdict, notices=(*verdict.notices, line))


def non_inferior(comparison: RunComparison, kind: str, *, alpha: float) -> BaselineVerdict:
    """Passes if any loss of every mean is shown to be smaller than its margin.

    Each mean is tested at the level ``alpha`` without adjustment: since all have to pass, a run
    with a mean that is worse by the margin passes with a probability of at most ``alpha``.
    """
    findings = [_bounded(change, comparison, alpha) for change in _family(comparison)]
    count = counted(len(findings), "mean")
    return _verdict(
        comparison,
        kind,
        findings,
        (
            Status.NON_INFERIOR,
            f"{count}: any loss is shown to be smaller than the margin",
        ),
    )


def _family(comparison: RunComparison) -> list[MetricChange]:
    if not comparison.paired:
        raise InputError(
            f"rows of {comparison.new} and {comparison.old} cannot be paired: the test needs ids "
            "in both runs"
        )
    family = [change for change in comparison.changes if change.gating]
    if not family:
        raise InputError(f"{comparison.new} and {comparison.old} have no gating metric in common")
    return family


def _verdict(
    comparison: RunComparison,
    kind: str,
    findings: Sequence[Finding],
    summary: tuple[str, str],
    care: float | None = None,
) -> BaselineVerdict:
    failed = [finding for finding in findings if not finding.held]
    # Strongest evidence first.
    failed.sort(key=lambda finding: 0.0 if finding.p_value is None else finding.p_value)
    status, reason = summary
    if failed:
        status, reason = failed[0].status, failed[0].message
        if len(failed) > 1:
            others = ", ".join(finding.name for finding in failed[1 : _MOST_NAMED + 1])
            more = ", …" if len(failed) > _MOST_NAMED + 1 else ""
            reason += f"; also {others}{more}"
    return BaselineVerdict(
        name=comparison.old,
        kind=kind,
        status=status,
        passed=not failed,
        reason=reason,
        findings=tuple(findings),
        notices=(*comparison.notes, *_notices(comparison, findings, care)),
    )


# ---------------------------------------------------------------------------------- no-regression


def _tested(change: MetricChange) -> Finding:
    test, status = change.test, change.verdict
    if test is None:
        return _without_pairs(change)
    message = f"{_moved(change)} over {counted(change.n_pairs, 'pair')}"
    if status is Status.REGRESSED:
        message += f"{_beyond(change)}, p {_p_text(test.adjusted_p_worse)} (Holm)"
    elif status is Status.IMPROVED:
        message += f", p {_p_text(test.adjusted_p_better)} (Holm)"
    elif status is Status.NO_CHANGE:
        pairs = counted(change.n_pairs, "pair")
        message = f"{change.label}: all scores are identical in {pairs}"
    elif status is Status.TOO_FEW_ROWS:
        message += ": too few rows differ to test this"
    else:
        beyond = f" of more than the margin of {change.margin:g}" if change.margin else ""
        message += f": no evidence of a drop{beyond}{_findable(change)}"
    held = status is not Status.REGRESSED
    return _finding(change, status, held, message, test.adjusted_p_worse)


def _without_pairs(change: MetricChange) -> Finding:
    if change.old.n and not change.new.n:
        message = f"{change.label} has no scores; the baseline's mean is {change.old.mean:.3f}"
        return _finding(change, Status.NO_SCORES, False, message, None)
    message = f"{change.label} has no row with a score in both runs"
    return _finding(change, Status.NOT_COMPARABLE, True, message, None)


def _regression_summary(findings: Sequence[Finding], care: float) -> tuple[str, str]:
    """Status and sentence for findings that all pass."""
    better = [finding for finding in findings if finding.status == Status.IMPROVED]
    if better:
        best = min(better, key=lambda finding: -abs(finding.change))
        return Status.IMPROVED, f"{best.message}; no evidence of a drop in other metrics"
    few = _weak(findings, care)
    open_ = {finding.status for finding in findings} - {Status.NO_CHANGE}
    means = counted(len(findings), "mean")
    pairs = counted(max((finding.n_pairs for finding in findings), default=0), "pair")
    if not open_:
        return Status.NO_CHANGE, f"all scores are identical in {pairs}"
    blind = {Status.TOO_FEW_ROWS, Status.NOT_COMPARABLE}
    status = Status.TOO_FEW_ROWS if open_ <= blind else Status.INCONCLUSIVE
    if few:
        return (
            status,
            f"no evidence of a drop in {means} over {pairs}; too few rows to detect a drop of "
            f"{care:g} in {len(few)} of them",
        )
    return status, f"no evidence of a drop in {means} over {pairs}"


def _weak(findings: Sequence[Finding], care: float) -> list[Finding]:
    """Findings whose rows are too few to detect a drop of ``care`` with a power of 80 %."""
    return [
        finding
        for finding in findings
        if finding.status in (Status.TOO_FEW_ROWS, Status.NOT_COMPARABLE)
        or (
            finding.status == Status.INCONCLUSIVE
            and (finding.detectable is None or finding.detectable > care)
        )
    ]


# ----------------------------------------------------------------------------------- non-inferior


def _bounded(change: MetricChange, comparison: RunComparison, alpha: float) -> Finding:
    margin = positive(change.margin, f"policy non-inferior: the margin of {change.name}")
    if change.test is None:
        nothing = _without_pairs(change)
        return _finding(change, nothing.status, False, nothing.message, None)
    table = comparison.table
    assert table is not None
    low = difference_lower_bound(
        comparison.improvements(change.name, change.slice),
        clusters=comparison.clusters(change.slice),
        alpha=alpha,
        largest=1.0 if table.holds_shares(change.name) else None,
    )
    held = low is not None and low > -margin
    message = f"{_moved(change)} over {counted(change.n_pairs, 'pair')}"
    if low is None:
        message += f": too few pairs to show that the loss is below {margin:g}"
    else:
        worst = f"a loss of {-low:.3f}" if low < 0 else f"a gain of {low:.3f}"
        where = "within" if held else "beyond"
        message += (
            f"; {100 * (1 - alpha):.4g}% confidence bound: {worst}, {where} the margin of "
            f"{margin:g}"
        )
    missed = Status.TOO_FEW_ROWS if low is None else Status.INCONCLUSIVE
    return _finding(change, Status.NON_INFERIOR if held else missed, held, message, None)


# ------------------------------------------------------------------------------------------ words


def _finding(
    change: MetricChange, status: str, held: bool, message: str, p_value: float | None
) -> Finding:
    return Finding(
        metric=change.name,
        slice=None if change.slice is None else str(change.slice),
        status=status,
        held=held,
        message=message,
        n_pairs=change.n_pairs,
        change=change.delta,
        low=change.difference.low,
        high=change.difference.high,
        p_value=p_value,
        margin=change.margin,
        detectable=change.detectable,
    )


def _moved(change: MetricChange) -> str:
    """``faithfulness fell by 0.021 [-0.034, -0.008]``."""
    low, high = change.difference.low, change.difference.high
    bounds = "" if low is None or high is None else f" [{low:+.3f}, {high:+.3f}]"
    if change.delta == 0:
        return f"{change.label} did not change{bounds}"
    way = "fell" if change.delta < 0 else "rose"
    return f"{change.label} {way} by {abs(change.delta):.3f}{bounds}"


def _beyond(change: MetricChange) -> str:
    return f", more than the margin of {change.margin:g}" if change.margin else ""


def _findable(change: MetricChange) -> str:
    if change.detectable is None:
        return ""
    return f"; smallest detectable difference {change.detectable:.3f}"


def _p_text(p_value: float) -> str:
    return f"{p_value:.3f}" if p_value >= 0.001 else f"{p_value:.1g}"


def _notices(
    comparison: RunComparison, findings: Sequence[Finding], care: float | None
) -> list[str]:
    found = []
    if care is not None and (few := [finding.name for finding in _weak(findings, care)]):
        found.append(
            f"too few rows to detect a drop of {care:g} in {_listed(few)}; such a drop may have "
            "gone unnoticed"
        )
    for change in comparison.changes:
        nulls = change.nulls
        if change.gating and nulls is not None and nulls.flagged:
            found.append(
                f"{change.name}: null scores went from {nulls.n_old:,} to {nulls.n_new:,} of "
                f"{counted(nulls.n_rows, 'row')}; the two means cover different rows"
            )
    return found


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(names[:_MOST_NAMED])
    return shown if len(names) <= _MOST_NAMED else f"{shown} and {len(names) - _MOST_NAMED} more"
