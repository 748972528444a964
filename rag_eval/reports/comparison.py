"""Comparisons of two runs, paired or independent: on a terminal, and as Markdown."""

from __future__ import annotations

from typing import Final

from rich.console import Console
from rich.table import Table
from rich.text import Text

from rag_eval.comparing.disagreements import disagreement_line
from rag_eval.comparing.independent_runs import IndependentChange, IndependentComparison
from rag_eval.comparing.row_changes import MovedRow
from rag_eval.comparing.run_comparison import RunComparison
from rag_eval.comparing.statuses import Status
from rag_eval.comparing.tested_changes import MetricChange, Slice
from rag_eval.plumbing.spelling import counted, decimal_text
from rag_eval.reports.console import metric_cell, number_table, print_line, print_notes
from rag_eval.reports.figures import (
    NONE,
    bounds_text,
    mean_text,
    number_text,
    p_value_text,
    shown_name,
)
from rag_eval.reports.markdown_text import markdown_table, markdown_text
from rag_eval.reports.plain_text import plain_text
from rag_eval.stats.intervals import Interval

_STYLES: Final = {
    Status.REGRESSED: "bold red",
    Status.MISSING_SCORES: "yellow",
    Status.IMPROVED: "green",
}
_ID_LIMIT: Final = 40
_NAME_LIMIT: Final = 60
LEAST_DETECTABLE: Final = 0.0005
"""A smaller detectable difference means that hardly any rows differ, and is not printed."""
_EFFECTS: Final = ("Hedges' g", "Cliff's delta")
_EFFECTS_NOTE: Final = (
    "Hedges' g is the difference in standard deviations. Cliff's delta is the probability that a "
    "new score is above an old one minus the probability of the reverse. Both only describe: a "
    "verdict needs rows that are in both runs."
)


def print_comparison(
    comparison: RunComparison, console: Console, *, top: int = 3, worst_case: bool = False
) -> None:
    """Print two runs side by side: a table, the results of the tests, and the rows behind them."""
    if not comparison.paired:
        _print_means(comparison, console)
        return
    for line in _rows_lines(comparison):
        print_line(console, line)
    console.print()
    console.print(_table(comparison, console))
    if comparison.n_tests:
        tests, level = counted(comparison.n_tests, "test"), f"{comparison.options.alpha:g}"
        print_line(console, f"p values are adjusted for {tests}; p <= {level} is significant")
    print_notes(_setting_lines(comparison), console)
    console.print()
    for line in findings(comparison):
        print_line(console, line)
    _print_moved(comparison, console, top)
    unknown = worst_case_lines(comparison) if worst_case else []
    for line in (*map(plain_text, comparison.null_lines), *unknown, *plan_lines(comparison)):
        print_line(console, line)


def _print_means(comparison: RunComparison, console: Console) -> None:
    table = number_table(console, "old mean", "new mean", "difference")
    for change in comparison.changes:
        better = change.better_by
        style = "green" if better > 0 else "red" if better < 0 else ""
        delta = Text(number_text(change.delta, 4, "+"), style)
        table.add_row(metric_cell(change.name), mean_text(change.old), mean_text(change.new), delta)
    console.print(table)
    print_notes(_setting_lines(comparison), console)


def _setting_lines(comparison: RunComparison) -> list[str]:
    return [f"settings differ: {text}" for text in comparison.differences]


# ---------------------------------------------------------------------------------------- tables


def _rows_lines(comparison: RunComparison) -> list[str]:
    table = comparison.table
    assert table is not None
    n_old, n_new = int(table.in_old.sum()), int(table.in_new.sum())
    names = [plain_text(comparison.old, _NAME_LIMIT), plain_text(comparison.new, _NAME_LIMIT)]
    width = max(map(len, names))
    both = comparison.n_pairs
    shared = f"{counted(both, 'row')} in both"
    if n_old > both or n_new > both:
        missing = f" ({Status.MISSING_ROWS})" if n_old > both else ""
        shared += f"; {n_old - both:,} removed{missing}, {n_new - both:,} new"
    n_dropped = 0
    if comparison.edited and comparison.options.edited == "drop":
        n_dropped = len(comparison.edited)
        shared += f"; {n_dropped:,} edited and left out"
    lines = [
        f"old  {names[0]:{width}}  {counted(n_old + n_dropped, 'row')}",
        f"new  {names[1]:{width}}  {counted(n_new + n_dropped, 'row')}",
        shared,
    ]
    if max(n_old, n_new) > both:
        lines.append("old and new are means of all rows, the difference is of the rows in both")
    return lines


def _table(comparison: RunComparison, console: Console) -> Table:
    # Keeps the level in one line of the header.
    level = f"[{comparison.options.level * 100:g}\N{NO-BREAK SPACE}%]"
    heads = ("old", "new", f"difference {level}", "adjusted p")
    table = number_table(console, *heads, last="status")
    within = None
    for change in comparison.changes:
        if change.slice != within:
            within = change.slice
            assert within is not None
            table.add_section()
            table.add_row(Text(_slice_text(within, " = "), "bold"))
        style = _STYLES.get(change.verdict, "")
        table.add_row(
            metric_cell(change.name),
            number_text(change.old.mean, 3),
            number_text(change.new.mean, 3),
            *_change_cells(change),
            Text(change.verdict, style if change.gating else ""),
        )
    return table


def _slice_text(part: Slice, between: str) -> str:
    # A value may be long, and it is repeated for every metric.
    return plain_text(f"{part.field}{between}{part.value}", _NAME_LIMIT)


def interval_text(found: Interval) -> str:
    """``-0.021 [-0.034, -0.008]``."""
    text = number_text(found.estimate, 3, "+")
    return text if text == NONE else f"{text} [{bounds_text(found, 3) or 'too few'}]"


def p_text(p: float) -> str:
    """Three decimals, or ``<0.001``."""
    return p_value_text(p).replace(" ", "")


def _change_cells(change: MetricChange) -> tuple[str, str]:
    if change.verdict is Status.NO_CHANGE:
        return "0.000", NONE
    return interval_text(change.difference), _p_shown(change)


def _p_shown(change: MetricChange) -> str:
    """The adjusted p value for the direction in which the mean moved."""
    if change.test is None:
        return NONE
    worse = change.verdict is Status.REGRESSED or (
        change.verdict is not Status.IMPROVED and change.better_by <= 0
    )
    return p_text(change.test.adjusted_p_worse if worse else change.test.adjusted_p_better)


# ------------------------------------------------------------------------------------- sentences


def findings(comparison: RunComparison) -> list[str]:
    """The results of the tests: a sentence for each gating metric that changed; never empty."""
    found = [c for c in comparison.changes if c.gating and comparison.shown_by_test(c)]
    lines = [sentence(change) for change in found]
    few = [c for c in comparison.changes if c.gating and c.verdict is Status.TOO_FEW_ROWS]
    lines += [_too_few_line(change) for change in few if change.slice is None]
    n_small = sum(change.slice is not None for change in few)
    if n_small:
        have = "has" if n_small == 1 else "have"
        lines.append(f"{counted(n_small, 'slice test')} {have} too few pairs to detect a change")
    gating = [change for change in comparison.changes if change.gating]
    if gating and all(change.verdict is Status.NO_CHANGE for change in gating):
        lines.append("all scores of all gating metrics are identical in both runs")
    elif not found and len(few) < len(gating):
        tests = counted(comparison.n_tests, "test")
        lines.insert(
            0,
            f"no change detected in {tests} at alpha {comparison.options.alpha:g}; "
            "this does not prove that nothing changed: see the intervals",
        )
    if disagreement := disagreement_line(comparison):
        lines.append(plain_text(disagreement))
    if not gating:
        lines.append("no metric gates: this comparison is exploratory")
    elif beside := [
        c.name for c in comparison.changes if not c.gating and comparison.shown_by_test(c)
    ]:
        names = list(dict.fromkeys(beside))
        are = "is" if len(names) == 1 else "are"
        lines.append(
            f"{', '.join(names)} {are} shown for information only (p adjusted by "
            "Benjamini-Hochberg)"
        )
    return lines


def sentence(change: MetricChange) -> str:
    """``faithfulness changed by -0.021 [-0.034, -0.008], p 0.002 (max-T): REGRESSED``."""
    test = change.test
    assert test is not None
    worse = change.better_by < 0
    difference = change.difference
    where = "" if change.slice is None else f" where {_slice_text(change.slice, ' is ')}"
    known = bounds_text(difference, 3)
    bounds = f"[{known}]" if known else "(too few rows for an interval)"
    shown = p_value_text(test.adjusted_p_worse if worse else test.adjusted_p_better)
    beyond = f", by more than the margin of {change.margin:g}" if worse and change.margin else ""
    if change.verdict is Status.WITHIN_TOLERANCE:
        beyond = f" of {change.tolerance:g}"
    size = decimal_text(change.delta, 3 if abs(change.delta) >= 0.0005 else 5, "+")
    verdict = f"{change.verdict}{beyond}"
    moved = f"{change.name}{where} changed by {size} {bounds}"
    return plain_text(f"{moved}, p {shown} ({test.adjusted_by}): {verdict}")


def _too_few_line(change: MetricChange) -> str:
    test = change.test
    assert test is not None
    n = test.n_informative
    clusters = "" if test.n_clusters is None else f" in {counted(test.n_clusters, 'cluster')}"
    return plain_text(
        f"{change.name}: {change.verdict}: {n:,} of {counted(change.n_pairs, 'row')}{clusters} "
        f"changed, so no p value below {test.smallest_p:.2g} is possible"
    )


def worst_case_lines(comparison: RunComparison) -> list[str]:
    """The bounds of each difference over all scores that the nulls could have had."""
    lines = []
    for change in comparison.changes:
        bounds = comparison.worst_case_of(change)
        if bounds is not None:
            lines.append(
                f"{change.name}: whatever the missing scores would have been, the difference is "
                f"between {decimal_text(bounds[0], 3)} and {decimal_text(bounds[1], 3)}"
            )
    return lines or ["no scores are missing, so there is no worst case to show"]


def plan_lines(comparison: RunComparison) -> list[str]:
    """The smallest drop that the next run could detect with as many rows."""
    found = sorted(
        (change.detectable, change.name)
        for change in comparison.changes
        if change.gating
        and change.slice is None
        and change.detectable is not None
        and change.detectable >= LEAST_DETECTABLE
    )
    if not found:
        return []
    span = f"{_small(found[0][0])} ({found[0][1]})"
    if len(found) > 1:
        span = f"between {span} and {_small(found[-1][0])} ({found[-1][1]})"
    margin = any(change.margin for change in comparison.changes if change.gating)
    beyond = " beyond the margin" if margin else ""
    return [
        f"with {counted(comparison.n_pairs, 'row')} like these, the smallest drop{beyond} found "
        f"with 80 % power is {span}"
    ]


def _small(value: float) -> str:
    return f"{value:.3f}" if value >= 0.01 else f"{value:.2g}"


def _moved(comparison: RunComparison, top: int) -> list[tuple[MetricChange, tuple[MovedRow, ...]]]:
    """The metrics that changed, and the rows with the largest effect on their means."""
    told = [
        c
        for c in comparison.changes
        if c.gating and c.slice is None and comparison.shown_by_test(c)
    ]
    moved = ((change, comparison.moved_rows(change.name, top)) for change in told)
    return [(change, rows) for change, rows in moved if rows]


def _print_moved(comparison: RunComparison, console: Console, top: int) -> None:
    moved = _moved(comparison, top)
    for change, rows in moved:
        counts = change.rows
        console.print()
        print_line(
            console,
            f"{change.name}: {counts['improved']:,} rows improved, {counts['regressed']:,} "
            f"regressed, {counts['unchanged']:,} unchanged; largest effects on the mean:",
        )
        for row in rows:
            line = Text(f"  {plain_text(row.id, _ID_LIMIT)}  {row.old:.3f} → {row.new:.3f}")
            print_line(console, line.append(f"  {decimal_text(row.contribution, 5, '+')}"))
    if moved:
        console.print()


# -------------------------------------------------------------------------------------- Markdown


def comparison_markdown(
    comparison: RunComparison, *, top: int = 3, worst_case: bool = False
) -> str:
    """The same for a pull request: a table, then sentences."""
    level = f"{comparison.options.level * 100:g} %"
    lines = []
    if comparison.paired:
        lines += [f"{markdown_text(line)}  " for line in _rows_lines(comparison)] + [""]
    heads = ("metric", "old", "new", f"difference [{level}]", "adjusted p", "status")
    rows = (
        (
            markdown_text(_name(change)),
            mean_text(change.old),
            mean_text(change.new),
            interval_text(change.difference),
            _p_shown(change),
            change.verdict,
        )
        for change in comparison.changes
    )
    lines += [*markdown_table(heads, rows, {0, 5}), ""]
    if comparison.paired:
        sentences = [*findings(comparison), *comparison.null_lines]
        sentences += worst_case_lines(comparison) if worst_case else []
        sentences += plan_lines(comparison)
        lines += [f"- {markdown_text(text)}" for text in sentences]
        lines += _moved_markdown(comparison, top)
    lines += [f"- note: {markdown_text(text)}" for text in _setting_lines(comparison)]
    return "\n".join(lines) + "\n"


def _name(change: MetricChange) -> str:
    if change.slice is None:
        return shown_name(change.name)
    return f"{shown_name(change.name)} ({_slice_text(change.slice, ' = ')})"


def _moved_markdown(comparison: RunComparison, top: int) -> list[str]:
    lines = []
    for change, rows in _moved(comparison, top):
        shown = (
            f"{markdown_text(row.id, limit=_ID_LIMIT)} ({row.old:.3f} → {row.new:.3f})"
            for row in rows
        )
        lines.append(f"- {markdown_text(change.name)}, largest effects: {', '.join(shown)}")
    return lines


# ------------------------------------------------------------------------------- independent runs


def print_independent(comparison: IndependentComparison, console: Console) -> None:
    """Print two runs side by side, without a verdict."""
    for kind, name, n in _runs(comparison):
        print_line(console, f"{kind}  {plain_text(name, _NAME_LIMIT)}  {counted(n, 'row')}")
    console.print()
    table = number_table(console, "old mean", "new mean", "difference", *_EFFECTS)
    for change in comparison.changes:
        table.add_row(Text(metric_cell(change.name)), *_cells(change))
    console.print(table)
    console.print()
    print_line(console, _EFFECTS_NOTE)


def independent_markdown(comparison: IndependentComparison) -> str:
    """The same for a pull request."""
    lines = [
        f"{kind} {markdown_text(name, limit=_NAME_LIMIT)}, {counted(n, 'row')}  "
        for kind, name, n in _runs(comparison)
    ]
    difference = f"difference [{comparison.level * 100:g} %]"
    heads = ("metric", "old", "new", difference, *_EFFECTS)
    rows = (
        (markdown_text(shown_name(change.name)), *_cells(change)) for change in comparison.changes
    )
    lines += ["", *markdown_table(heads, rows)]
    return "\n".join([*lines, "", _EFFECTS_NOTE]) + "\n"


def _runs(comparison: IndependentComparison) -> list[tuple[str, str, int]]:
    return [
        ("old", comparison.old, comparison.n_old),
        ("new", comparison.new, comparison.n_new),
    ]


def _cells(change: IndependentChange) -> list[str]:
    return [
        mean_text(change.old),
        mean_text(change.new),
        interval_text(change.difference),
        number_text(change.hedges_g, 2, "+"),
        number_text(change.cliffs_delta, 2, "+"),
    ]
