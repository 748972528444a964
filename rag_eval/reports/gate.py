"""Gate verdicts as tables and sentences: on a terminal, and as Markdown."""

from __future__ import annotations

from typing import Final

from rich.console import Console
from rich.table import Table
from rich.text import Text

from rag_eval.comparing.statuses import Status
from rag_eval.gating.tools.policies import TOOL_POLICIES
from rag_eval.gating.verdicts import BaselineVerdict, Finding, GateReport
from rag_eval.reports.comparison import LEAST_DETECTABLE, p_text
from rag_eval.reports.console import metric_cell, number_table, print_line
from rag_eval.reports.figures import NONE, number_text, shown_name
from rag_eval.reports.markdown_text import markdown_table, markdown_text
from rag_eval.reports.plain_text import plain_text
from rag_eval.reports.run import print_gates

_NAME_LIMIT: Final = 60
_NUMBERS: Final = ("change", "p", "pairs", "detectable")
# Ours, and the words of omk and Regtrace.
_GOOD: Final = (Status.IMPROVED, Status.NON_INFERIOR, "PROGRESS", "clean")


def print_gate(report: GateReport, console: Console) -> None:
    """Print the verdict on one line, then each baseline with its findings, and each guard."""
    head = Text("PASS", "bold green") if report.passed else Text("FAIL", "bold red")
    head.append(f"  {report.status}", "bold").append(f"  {plain_text(report.reason)}", "default")
    print_line(console, head)
    for verdict in report.baselines:
        console.print()
        print_line(console, _baseline_line(verdict))
        console.print(_table(verdict, console))
    # A single guard without a baseline is what the first line says already.
    if report.baselines or len(report.guards) > 1:
        if report.guards:
            console.print()
        print_gates(report.guards, console)
    print_policy(report, console)


def print_policy(report: GateReport, console: Console) -> None:
    """Print the error rates of the policy."""
    for text in policy_lines(report):
        console.print()
        print_line(console, text)


def policy_lines(report: GateReport) -> list[str]:
    """The error rates that the policy guarantees; of another tool, words and a simulated rate."""
    if not report.baselines:
        return []
    alpha = f"{100 * report.alpha:.4g} %"
    if report.policy == "no-regression":
        return [
            f"policy no-regression: {_rate(report)}. A pass does not prove that nothing regressed. "
            f"Drops of up to {_tolerance(report)} are allowed (--tolerance)"
        ]
    if report.policy == "non-inferior":
        return [
            f"policy non-inferior: a run that is worse by the margin passes about {alpha} of "
            "the time; with too few rows the gate fails"
        ]
    words = TOOL_POLICIES[report.policy].words
    used = {each.status for verdict in report.baselines for each in verdict.findings}
    legend = ", ".join(f"{word} ({meaning})" for word, meaning in words.items() if word in used)
    lines = [f"statuses of {report.policy}: {legend}"] if legend else []
    found = report.false_alarms
    if found is None:
        return lines
    return [
        *lines,
        f"policy {report.policy}: if nothing changed, {_share(found.rate)} of "
        f"{found.n_replicates:,} simulated builds failed ({found.n_rows:,} rows, "
        f"{100 * found.tied:.0f} % of them with identical scores in both runs)",
    ]


def _rate(report: GateReport) -> str:
    found = report.spending
    if found is None:
        alpha = f"{100 * report.alpha:.4g} %"
        return f"at most {alpha} of unchanged builds fail against each baseline"
    since = "" if found.line_start is None else f" since {found.line_start}"
    against = "its baseline" if found.n_baselines == 1 else f"each of {found.n_baselines} baselines"
    return (
        f"if nothing changed, all gates{since} together fail at most {100 * found.alpha:.4g} % of "
        "the time (--spend); "
        f"this is gate {found.gate_number}, with {100 * found.level:.2g} % against {against}"
    )


def _tolerance(report: GateReport) -> str:
    """One tolerance, or the smallest and the largest."""
    found = [each.tolerance for verdict in report.baselines for each in verdict.findings]
    return " to ".join(f"{value:g}" for value in sorted({min(found), max(found)}))


def _share(rate: float) -> str:
    return "less than 0.1 %" if rate < 0.001 else f"{100 * rate:.1f} %"


def _baseline_line(verdict: BaselineVerdict) -> str:
    state = "passed" if verdict.passed else "failed"
    name = plain_text(verdict.name, _NAME_LIMIT)
    role = "" if verdict.kind == "file" else f"the {verdict.kind.replace('_', ' ')} run "
    return f"against {role}{name}: {verdict.status} ({state})"


def _table(verdict: BaselineVerdict, console: Console) -> Table:
    table = number_table(console, *_NUMBERS, last="status")
    for finding in verdict.findings:
        good = "green" if finding.status in _GOOD else ""
        status = Text(finding.status, good if finding.held else good or "bold red")
        table.add_row(metric_cell(finding.metric) + _part(finding), *_cells(finding), status)
    return table


def _part(finding: Finding) -> str:
    return "" if finding.slice is None else f" [{plain_text(finding.slice, _NAME_LIMIT)}]"


def _cells(finding: Finding) -> tuple[str, str, str, str]:
    pairs = f"{finding.n_pairs:,}"
    if finding.status == Status.NO_CHANGE:
        return "0.000", NONE, pairs, NONE
    change = number_text(finding.change, 3, "+")
    if finding.low is not None and finding.high is not None:
        change += f" [{finding.low:.3f}, {finding.high:.3f}]"
    # The test is of a loss; a rise is tested for the status, not for the verdict.
    is_tested = finding.p_value is not None and finding.status != Status.IMPROVED
    p_value = p_text(finding.p_value) if is_tested and finding.p_value is not None else NONE
    return change, p_value, pairs, _detectable_text(finding.detectable)


def _detectable_text(value: float | None) -> str:
    """The smallest detectable drop; none for one so small that hardly any rows differ."""
    return NONE if value is None or value < LEAST_DETECTABLE else f"{value:.3f}"


def gate_markdown(report: GateReport) -> str:
    """The same for a pull request."""
    state = "passed" if report.passed else "failed"
    lines = [f"**Gate {state}: {report.status}.** {markdown_text(report.reason)}", ""]
    for verdict in report.baselines:
        rows = (
            (
                markdown_text(shown_name(finding.metric) + _part(finding)),
                *_cells(finding),
                markdown_text(finding.status),
            )
            for finding in verdict.findings
        )
        table = markdown_table(("metric", *_NUMBERS, "status"), rows, {0, 5})
        lines += [markdown_text(_baseline_line(verdict)), "", *table, ""]
    for guard in sorted(report.guards, key=lambda guard: guard.held):
        lines.append(
            f"- {'passed' if guard.held else '**failed**'}: {markdown_text(guard.message)}"
        )
    lines += [f"- {markdown_text(text)}" for text in policy_lines(report)]
    lines += [f"- note: {markdown_text(text)}" for text in report.notices]
    return "\n".join(lines) + "\n"
