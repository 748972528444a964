"""Our own policies.  In: a comparison with a baseline.  Out: which findings fail, and a verdict."""

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
"""A drop that is worth finding: rows too few for it are told."""

_MOST_NAMED: Final = 3


def no_regression(comparison: RunComparison, kind: str, *, care: float = CARE) -> BaselineVerdict:
    """Fails where a test, adjusted for all of them, finds a mean worse than its margin allows.

    What is not found passes. Where the rows are too few to find a drop of ``care``, a notice says
    so.
    """
    findings = [_tested(change) for change in _family(comparison)]
    verdict = _verdict(comparison, kind, findings, _regression_summary(findings, care), care)
    line = disagreement_line(comparison)
    return verdict if line is None else replace(verdict, notices=(*verdict.notices, line))


def non_inferior(comparison: RunComparison, kind: str, *, alpha: float) -> BaselineVerdict:
    """Passes where every mean is shown to be worse by less than its margin.

    Each at the level ``alpha`` by itself: since all have to pass, one that is worse by the margin
    passes with a chance of ``alpha`` at most, however many there are.
    """
    findings = [_bounded(change, comparison, alpha) for change in _family(comparison)]
    count = counted(len(findings), "mean")
    return _verdict(
        comparison,
        kind,
        findings,
        (
            Status.NON_INFERIOR,
            f"all of {count} shown to be worse by less than the margin, if at all",
        ),
    )


def _family(comparison: RunComparison) -> list[MetricChange]:
    if not comparison.paired:
        raise InputError(
            f"rows of {comparison.new} and {comparison.old} cannot be paired: a test needs rows "
            "with ids in both"
        )
    family = [change for change in comparison.changes if change.gating]
    if not family:
        raise InputError(f"{comparison.new} and {comparison.old} share no metric that gates")
    return family


def _verdict(
    comparison: RunComparison,
    kind: str,
    findings: Sequence[Finding],
    summary: tuple[str, str],
    care: float | None = None,
) -> BaselineVerdict:
    failed = [finding for finding in findings if not finding.held]
    # The one with the strongest evidence comes first.
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
        message += f", p {_p_text(test.adjusted_p_worse)} after Holm{_beyond(change)}: a regression"
    elif status is Status.IMPROVED:
        message += f", p {_p_text(test.adjusted_p_better)} after Holm: an improvement"
    elif status is Status.NO_CHANGE:
        message = f"{change.label} is the same in all of {counted(change.n_pairs, 'pair')}"
    elif status is Status.TOO_FEW_ROWS:
        message += ": too few rows differ for a test"
    else:
        message += f": no evidence of a drop{_beyond(change)}{_findable(change)}"
    held = status is not Status.REGRESSED
    return _finding(change, status, held, message, test.adjusted_p_worse)


def _without_pairs(change: MetricChange) -> Finding:
    if change.old.n and not change.new.n:
        message = f"{change.label} has no scores now; the baseline's mean is {change.old.mean:.3f}"
        return _finding(change, Status.NO_SCORES, False, message, None)
    message = f"{change.label} has no row with a score in both runs"
    return _finding(change, Status.NOT_COMPARABLE, True, message, None)


def _regression_summary(findings: Sequence[Finding], care: float) -> tuple[str, str]:
    """The status of findings of which none fails, and a sentence."""
    better = [finding for finding in findings if finding.status == Status.IMPROVED]
    if better:
        best = min(better, key=lambda finding: -abs(finding.change))
        return Status.IMPROVED, f"{best.message}; no evidence of a drop elsewhere"
    few = _weak(findings, care)
    open_ = {finding.status for finding in findings} - {Status.NO_CHANGE}
    means = counted(len(findings), "mean")
    pairs = counted(max((finding.n_pairs for finding in findings), default=0), "pair")
    if not open_:
        return Status.NO_CHANGE, f"every score of {means} is the same in all of {pairs}"
    blind = {Status.TOO_FEW_ROWS, Status.NOT_COMPARABLE}
    status = Status.TOO_FEW_ROWS if open_ <= blind else Status.INCONCLUSIVE
    if few:
        return (
            status,
            f"no evidence of a drop in {means} over {pairs}, too few to find one of {care:g} "
            f"in {len(few)} of them",
        )
    return status, f"no evidence of a drop in {means} over {pairs}"


def _weak(findings: Sequence[Finding], care: float) -> list[Finding]:
    """Those whose rows would not mostly show a drop of ``care``, were there one."""
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
        message += f": too few to show a loss below {margin:g}"
    else:
        worst = f"a loss of {-low:.3f}" if low < 0 else f"a gain of {low:.3f}"
        where = "within" if held else "beyond"
        message += (
            f", at worst {worst} ({100 * (1 - alpha):.4g}% bound), {where} the margin of {margin:g}"
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
    return f" beyond the margin of {change.margin:g}" if change.margin else ""


def _findable(change: MetricChange) -> str:
    if change.detectable is None:
        return ""
    return f"; {change.detectable:.3f} would be found 8 times in 10"


def _p_text(p_value: float) -> str:
    return f"{p_value:.3f}" if p_value >= 0.001 else f"{p_value:.1g}"


def _notices(
    comparison: RunComparison, findings: Sequence[Finding], care: float | None
) -> list[str]:
    found = []
    if care is not None and (few := [finding.name for finding in _weak(findings, care)]):
        found.append(
            f"too few rows to say much about {_listed(few)}: no evidence of a drop is no evidence "
            "that there is none"
        )
    for change in comparison.changes:
        nulls = change.nulls
        if change.gating and nulls is not None and nulls.flagged:
            found.append(
                f"{change.name}: rows without a score went from {nulls.n_old:,} to "
                f"{nulls.n_new:,} of {nulls.n_rows:,}; the mean is over other rows than before"
            )
    return found


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(names[:_MOST_NAMED])
    return shown if len(names) <= _MOST_NAMED else f"{shown} and {len(names) - _MOST_NAMED} more"
