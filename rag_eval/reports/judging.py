"""Calls, failures and agreement of the LLM judge, as a table."""

from __future__ import annotations

from typing import Final

from rich.console import Console

from rag_eval.plumbing.spelling import counted
from rag_eval.reports.console import print_line, print_plain, print_plain_table
from rag_eval.reports.figures import NONE, share_text
from rag_eval.reports.plain_text import plain_text
from rag_eval.results.judge_report import JudgeReport, MetricJudging

_ALWAYS: Final = ("judged", "failed", "calls", "tokens")


def print_judging(report: JudgeReport | None, console: Console) -> None:
    """Print calls, failures, agreement and savings per metric, if any metric was judged."""
    if report is None:
        return
    print_line(console, f"judged by {_judges(report)}")
    counts = ("judged", "verified", "failed", "calls", "cached", "saved", "tokens")
    heads = (*counts, "agree", "audit errors")
    cells = [_cells(found) for found in report.metrics.values()]
    # Columns without anything in them would push the others off the screen.
    shown = [
        place
        for place, head in enumerate(heads)
        if head in _ALWAYS or any(row[place] not in ("0", NONE) for row in cells)
    ]
    rows = (
        (metric, *(row[place] for place in shown))
        for metric, row in zip(report.metrics, cells, strict=True)
    )
    print_plain_table(console, ("metric", *(heads[place] for place in shown)), rows)
    for line in _lines(report):
        print_plain(console, line)


def print_estimate(report: JudgeReport, console: Console) -> None:
    """Print the estimated calls and cost of a run."""
    heads = ("metric", "rows", "to judge", "calls", "tokens in", "tokens out")
    rows = []
    for metric, found in report.metrics.items():
        taken = (found.tally.llm_calls, found.tally.input_tokens, found.tally.output_tokens)
        rows.append((metric, *(f"{n:,}" for n in (found.n_rows, found.n_judged, *taken))))
    print_plain_table(console, heads, rows)
    without = [
        metric
        for metric, found in report.metrics.items()
        if report.judges and found.n_judged and not found.tally.llm_calls
    ]
    if without:
        names = ", ".join(without)
        share = "shares" if len(without) == 1 else "share"
        print_line(console, f"{names} {share} the calls of other metrics")
    total = report.cost
    total_claims = sum(found.tally.verified_claims for found in report.metrics.values())
    claims = f", {counted(total_claims, 'claim')} to verify" if report.verifier else ""
    cost = f", about {report.cost_usd:.2f} USD" if _has_cost(report) else ""
    print_line(
        console,
        f"estimate: {counted(total.llm_calls, 'call')}, {total.estimated_input_tokens:,} input "
        f"tokens, {total.estimated_output_tokens:,} output tokens{claims}{cost}; no calls were "
        "made",
    )
    if report.verifier and report.judges:
        print_line(console, "the judge is called only for rows that the verifier leaves uncertain")


def _has_cost(report: JudgeReport) -> bool:
    """Whether there is a cost to print: a custom verifier may declare none."""
    return report.cost_usd is not None and bool(report.judges or report.cost_usd)


def _judges(report: JudgeReport) -> str:
    """Who judged, and how."""
    names = ", ".join(map(plain_text, report.judges))
    if not report.verifier:
        return f"{names}, mode {report.mode}, style {report.style}"
    verifier = plain_text(report.verifier)
    if not names:
        return f"{verifier}, mode {report.mode}"
    return f"{verifier}, then {names}, mode {report.mode}, style {report.style}"


def _cells(found: MetricJudging) -> list[str]:
    tally = found.tally
    agree = share_text(found.n_agree / found.n_both) if found.n_both else NONE
    return [
        f"{found.n_judged:,}/{found.n_rows:,}",
        f"{found.n_verified:,}",
        f"{found.n_failed:,}",
        f"{tally.llm_calls:,}",
        f"{tally.cached_calls:,}",
        f"{found.calls_saved:,}",
        f"{tally.input_tokens + tally.output_tokens:,}",
        agree,
        _error_rate(found),
    ]


def _error_rate(found: MetricJudging) -> str:
    rate = found.error_rate
    if rate is None or rate.low is None or rate.high is None:
        return NONE
    return f"{100 * rate.estimate:.0f} % ({100 * rate.low:.0f} to {100 * rate.high:.0f} %)"


def _lines(report: JudgeReport) -> list[str]:
    lines = []
    for metric, found in report.metrics.items():
        # One kind of failure has its own line below.
        if found.failures and len(report.failed) != 1:
            reasons = ", ".join(f"{name} {count}" for name, count in found.failures.items())
            lines.append(f"{metric}: {counted(found.n_failed, 'judgement')} failed: {reasons}")
        if found.n_unverified:
            lines.append(
                f"{metric}: the verifier failed in {counted(found.n_unverified, 'row')}, which "
                f"went to the judge; the first failure: {found.unverified}"
            )
        if found.tally.verified_claims or found.tally.cached_claims:
            lines.append(
                f"{metric}: {counted(found.tally.verified_claims, 'claim')} verified, "
                f"{found.tally.cached_claims:,} from the cache"
            )
        if found.n_partial:
            lines.append(f"{metric}: {counted(found.n_partial, 'row')} with incomplete judgements")
        if found.n_flaky:
            lines.append(
                f"{metric}: {counted(found.n_flaky, 'flaky row')}: repeats disagree on pass or fail"
            )
        if found.repeats.noise is not None:
            lines.append(f"{metric}: {found.repeats.noise}")
    lines += map(str, report.failed)
    for metric, agreement in report.agreement.items():
        lines += [f"{metric}: {line}" for line in agreement.text().splitlines()]
    if _has_cost(report):
        prices = " at the given prices" if report.judges else ""
        lines.append(f"cost {report.cost_usd:.4f} USD{prices}")
    if report.late_replies:
        lines.append(
            f"replies that arrived after their deadline and were discarded: {report.late_replies:,}"
        )
    return [*lines, *report.notes]
