"""A comparison with a baseline in; its findings and a verdict by our own policies out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from rag_eval.comparing.disagreements import disagreement_line
from rag_eval.comparing.run_comparison import RunComparison
from rag_eval.comparing.statuses import Status
from rag_eval.comparing.tested_changes import MetricChange
from rag_eval.errors import InputError
from rag_eval.gating.verdicts import BaselineVerdict, Finding
from rag_eval.plumbing.checked_values import positive
from rag_eval.plumbing.spelling import counted, decimal_text, p_text
from rag_eval.stats.arrays import Floats
from rag_eval.stats.differences import difference_lower_bound
from rag_eval.stats.power import rows_needed

CARE: Final = 0.05
"""Smallest drop that matters by default; too few rows to detect it are reported."""

_MOST_NAMED: Final = 3
_MOST_ROWS: Final = 1_000_000
# The status of a run that passes: the first whose statuses are all that its metrics have.
_PASSING: Final[tuple[tuple[Status, set[str]], ...]] = (
    (Status.MISSING_SCORES, {Status.MISSING_SCORES}),
    (Status.TOO_FEW_ROWS, {Status.MISSING_SCORES, Status.TOO_FEW_ROWS, Status.NOT_COMPARABLE}),
    (Status.INCONCLUSIVE, {*Status}),
)


@dataclass(frozen=True, slots=True)
class Missing:
    """What may be missing in a run that passes.

    Attributes
    ----------
    null_rise : float
        Rise of a metric's share of null scores. A larger one fails if a test shows a rise.
    rows : float
        Share of the baseline's rows.
    """

    null_rise: float = 0.02
    rows: float = 0.01


def no_regression(
    comparison: RunComparison, kind: str, *, care: float = CARE, missing: Missing
) -> BaselineVerdict:
    """Fails if an adjusted test shows a mean to be worse by more than its margin and tolerance.

    It also fails if too many scores or rows are missing. Otherwise it passes; a notice says where
    the rows are too few to detect a drop of ``care``.
    """
    findings = [_tested(change, comparison, missing) for change in _family(comparison)]
    summary = _regression_summary(findings, comparison.options.alpha, care)
    verdict = _verdict(comparison, kind, findings, summary, missing, care)
    line = disagreement_line(comparison)
    return verdict if line is None else replace(verdict, notices=(*verdict.notices, line))


def non_inferior(
    comparison: RunComparison, kind: str, *, alpha: float, missing: Missing
) -> BaselineVerdict:
    """Passes if any loss of every mean is shown to be smaller than its margin.

    Each mean is tested at the level ``alpha`` without adjustment: since all have to pass, a run
    with a mean that is worse by the margin passes with a probability of at most ``alpha``. It also
    fails if too many scores or rows are missing.
    """
    findings = [_bounded(change, comparison, alpha, missing) for change in _family(comparison)]
    count = counted(len(findings), "mean")
    return _verdict(
        comparison,
        kind,
        findings,
        (
            Status.NON_INFERIOR,
            f"{count}: any loss is shown to be smaller than the margin",
        ),
        missing,
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
    missing: Missing,
    care: float | None = None,
) -> BaselineVerdict:
    failed = [finding for finding in findings if not finding.held]
    failed.sort(key=_evidence)
    status, reason = summary
    if failed:
        status, reason = failed[0].status, failed[0].message
        if len(failed) > 1:
            others = ", ".join(finding.name for finding in failed[1 : _MOST_NAMED + 1])
            more = ", …" if len(failed) > _MOST_NAMED + 1 else ""
            reason += f"; also {others}{more}"
    n_gone, n_rows = comparison.missing_rows
    too_few, notices = n_gone / max(1, n_rows) > missing.rows, _notices(findings, care)
    allowed = f"the allowed {100 * missing.rows:.4g} %"
    if too_few:
        gone = f"{comparison.missing_rows_text}, more than {allowed}"
        status, reason = (status, f"{reason}; {gone}") if failed else (Status.MISSING_ROWS, gone)
    elif n_gone:
        within = f", within {allowed}" if missing.rows < 1 else " and not compared"
        notices.append(comparison.missing_rows_text + within)
    return BaselineVerdict(
        name=comparison.old,
        kind=kind,
        status=status,
        passed=not failed and not too_few,
        reason=reason,
        findings=tuple(findings),
        notices=(*comparison.notes, *notices),
    )


def _evidence(finding: Finding) -> float:
    """The p value by which a finding failed; the strongest evidence comes first."""
    if finding.status == Status.MISSING_SCORES and finding.nulls is not None:
        return finding.nulls.adjusted_p_worse
    return 0.0 if finding.p_value is None else finding.p_value


# ---------------------------------------------------------------------------------- no-regression


def _tested(change: MetricChange, comparison: RunComparison, missing: Missing) -> Finding:
    test, status, nulls = change.test, change.verdict, change.nulls
    assert nulls is not None
    held, told = _held_nulls(change, comparison, comparison.options.alpha, missing)
    if test is None:
        return _finding(change, status, held, told, None)
    shown = comparison.shown_by_test(change)
    message = f"{_moved(change)} over {counted(change.n_pairs, 'pair')}"
    if shown is Status.REGRESSED:
        message += f"{_beyond(change)}, {p_text(test.adjusted_p_worse)} ({test.adjusted_by})"
        if status is not Status.REGRESSED:
            message += f", within the tolerance of {change.tolerance:g}"
    elif shown is Status.IMPROVED:
        message += f", {p_text(test.adjusted_p_better)} ({test.adjusted_by})"
    elif not test.n_informative:
        pairs = counted(change.n_pairs, "pair")
        message = f"{change.label}: all scores are identical in {pairs}"
        if nulls.n_gained and not nulls.n_lost:
            message += f"; {counted(nulls.n_gained, 'row')} gained a score"
    elif test.smallest_p > comparison.options.alpha:
        message += ": too few rows differ to test this"
    elif status is not Status.MISSING_SCORES:
        beyond = f" of more than the margin of {change.margin:g}" if change.margin else ""
        message += f": no evidence of a drop{beyond}{_findable(change)}"
    if nulls.n_lost:
        first, then = (told, message) if status is Status.MISSING_SCORES else (message, told)
        message = f"{first}; {then.removeprefix(f'{change.label}: ')}"
    held = held and status is not Status.REGRESSED
    return _finding(change, status, held, message, test.adjusted_p_worse)


def _held_nulls(
    change: MetricChange, comparison: RunComparison, alpha: float, missing: Missing
) -> tuple[bool, str]:
    """Whether the nulls of a metric are accepted, and what they are."""
    nulls = change.nulls
    assert nulls is not None
    if change.old.n and not change.new.n:
        message = f"{change.label} has no scores; the baseline's mean is {change.old.mean:.3f}"
        if change.name in comparison.lost_metrics:
            message = (
                f"{change.label} is missing in this run; the baseline's mean is "
                f"{change.old.mean:.3f}. To gate without it, make a new baseline, or name the "
                "metrics that decide (--gating)"
            )
        # All scores of a few rows may be null by chance.
        shown = change.slice is None or nulls.adjusted_p_worse <= alpha
        return not shown, message
    if not nulls.n_lost:
        return True, f"{change.label} has no row with a score in both runs"
    message = f"{change.label}: {nulls}"
    if not nulls.rose_by_more_than(missing.null_rise) or nulls.adjusted_p_worse > alpha:
        return True, message
    return False, f"{message}, more than the allowed rise of {missing.null_rise:g}"


def _regression_summary(findings: Sequence[Finding], alpha: float, care: float) -> tuple[str, str]:
    """Status and sentence for findings that all pass."""
    shown = [each for each in findings if each.p_value is not None and each.p_value <= alpha]
    if shown:
        also = f"; also {_listed([finding.name for finding in shown[1:]])}" if shown[1:] else ""
        return Status.WITHIN_TOLERANCE, f"{shown[0].message}{also}"
    better = [finding for finding in findings if finding.status == Status.IMPROVED]
    if better:
        best = min(better, key=lambda finding: -abs(finding.change))
        return Status.IMPROVED, f"{best.message}; no evidence of a drop in other metrics"
    found = {finding.status for finding in findings}
    pairs = counted(max((finding.n_pairs for finding in findings), default=0), "pair")
    if found <= {Status.NO_CHANGE}:
        return Status.NO_CHANGE, f"all scores are identical in {pairs}"
    status = next(kind for kind, others in _PASSING if found - {Status.NO_CHANGE} <= others)
    reason = f"no evidence of a drop in {counted(len(findings), 'mean')} over {pairs}"
    if few := _weak(findings, care):
        reason += f"; too few rows to detect a drop of {care:g} in {len(few)} of them"
    return status, reason


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
        or (finding.status == Status.MISSING_SCORES and (finding.detectable or 0.0) > care)
    ]


# ----------------------------------------------------------------------------------- non-inferior


def _bounded(
    change: MetricChange, comparison: RunComparison, alpha: float, missing: Missing
) -> Finding:
    margin = positive(change.margin, f"policy non-inferior: the margin of {change.name}")
    accepted, told = _held_nulls(change, comparison, alpha, missing)
    if change.test is None or not accepted:
        status = change.verdict if change.test is None else Status.MISSING_SCORES
        return _finding(change, status, False, told, None)
    table = comparison.table
    assert table is not None
    improvements, clusters = (
        comparison.improvements(change.name, change.slice),
        comparison.clusters(change.slice),
    )
    low = difference_lower_bound(
        improvements,
        clusters=clusters,
        alpha=alpha,
        largest=1.0 if table.holds_shares(change.name) else None,
    )
    held = low is not None and low > -margin
    message = f"{_moved(change)} over {counted(change.n_pairs, 'pair')}"
    if low is None:
        message += f": too few pairs to show that the loss is below {margin:g}"
    else:
        worst = f"a loss of {-low:.3f}" if low < 0 else f"a gain of {low:.3f}"
        where = "within" if held else "not shown to be within"
        message += (
            f"; {100 * (1 - alpha):.4g} % confidence bound: {worst}, {where} the margin of "
            f"{margin:g}"
        )
        if not held and clusters is None and table.holds_shares(change.name):
            message += _rows_for(improvements, margin, alpha)
    missed = Status.TOO_FEW_ROWS if low is None else Status.INCONCLUSIVE
    return _finding(change, Status.NON_INFERIOR if held else missed, held, message, None)


def _rows_for(better: Floats, margin: float, alpha: float) -> str:
    """How many rows would show that the loss is within the margin, in words."""
    better = better[~np.isnan(better)]
    if better.mean() <= -margin:
        return "; the measured loss exceeds the margin, so more rows like these would not help"
    spread = float(better.std(ddof=1))
    if spread:
        n_rows = rows_needed(margin, spread, alpha=alpha)
        return f"; if nothing got worse, about {n_rows:,} rows would show it with 80 % power"
    few, enough = len(better), 2 * len(better)
    while enough < _MOST_ROWS and not _shows(better[0], enough, margin, alpha):
        few, enough = enough, 2 * enough
    while enough - few > 1:
        middle = (few + enough) // 2
        shown = _shows(better[0], middle, margin, alpha)
        few, enough = (few, middle) if shown else (middle, enough)
    return f"; {enough:,} rows like these would show it"


def _shows(difference: float, n_rows: int, margin: float, alpha: float) -> bool:
    """Whether that many rows with the same difference show that the loss is within the margin."""
    low = difference_lower_bound(np.full(n_rows, difference), alpha=alpha)
    return low is not None and low > -margin


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
        tolerance=change.tolerance,
        nulls=change.nulls,
        detectable=change.detectable,
    )


def _moved(change: MetricChange) -> str:
    """``faithfulness changed by -0.021 [-0.034, -0.008]``."""
    low, high = change.difference.low, change.difference.high
    bounds = ""
    if low is not None and high is not None:
        bounds = f" [{decimal_text(low, 3)}, {decimal_text(high, 3)}]"
    if change.delta == 0:
        return f"{change.label} did not change on average{bounds}"
    return f"{change.label} changed by {decimal_text(change.delta, 3, '+')}{bounds}"


def _beyond(change: MetricChange) -> str:
    return f", more than the margin of {change.margin:g}" if change.margin else ""


def _findable(change: MetricChange) -> str:
    if change.detectable is None:
        return ""
    return f"; smallest detectable difference {change.detectable:.3f}"


def _notices(findings: Sequence[Finding], care: float | None) -> list[str]:
    found = []
    if care is not None and (few := [finding.name for finding in _weak(findings, care)]):
        found.append(
            f"too few rows to detect a drop of {care:g} in {_listed(few)}; such a drop may have "
            "gone unnoticed"
        )
    found += [
        f"{Status.MISSING_SCORES}: {finding.name}: {finding.nulls}"
        for finding in findings
        if finding.held and finding.slice is None and finding.nulls and finding.nulls.n_lost
    ]
    return found


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(names[:_MOST_NAMED])
    return shown if len(names) <= _MOST_NAMED else f"{shown} and {len(names) - _MOST_NAMED} more"
