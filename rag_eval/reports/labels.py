"""Labels, and scores held against them, as tables for people."""

from __future__ import annotations

import math
from collections.abc import Mapping

from rich.console import Console
from rich.table import Table

from rag_eval.judge.agreement import reliability
from rag_eval.labels.comparisons import LabelComparison, VerdictAgreement
from rag_eval.labels.label_files import LabelCheck
from rag_eval.reports.plain_text import plain_text
from rag_eval.stats.intervals import Interval

_NONE = "–"
_SHOWN_IDS = 3
_NAMES: Mapping[str, str] = {
    "quadratic_kappa": "kappa, quadratic",
    "linear_kappa": "kappa, linear",
    "pearson": "Pearson",
    "spearman": "Spearman",
    "kendall": "Kendall tau-b",
}


def print_label_check(check: LabelCheck, console: Console) -> None:
    """Print what a file of labels holds, and what is wrong with it."""
    for issue in check.issues:
        place = "" if issue["index"] is None else f", annotations[{issue['index']}]"
        _line(console, f"FAIL {_place(issue['file'], check.name)}{place}: {issue['message']}")
    for warning in check.warnings:
        _line(console, f"note: {warning}")
    found = check.to_dict()
    n_people = len(found["annotators"])
    _line(
        console,
        f"{'PASS' if check.ok else 'FAIL'} {check.name}: {found['nLabels']:,} labels of "
        f"{found['nSamples']:,} samples by {n_people:,} {'person' if n_people == 1 else 'people'}, "
        f"{len(check.issues):,} issue{'' if len(check.issues) == 1 else 's'}",
    )


def _place(file: str, name: str) -> str:
    return name if file in (".", name) else f"{name}, {file}"


def print_label_comparison(found: LabelComparison, console: Console) -> None:
    """Print agreement of people first, then that of the scores with them."""
    _line(
        console,
        f"{found.metric}: {found.n_pairs:,} of {found.n_labels:,} labelled samples have a score"
        + _left_out("not in the scores", found.missing)
        + _left_out("without a score", found.unscored),
    )
    if found.people is not None:
        people = found.people
        _line(
            console,
            f"{len(found.annotators):,} annotators, {people.n_samples:,} samples labelled by two "
            f"or more: alpha {interval_cell(people.alpha)}{_meaning(people.alpha)}, of the order "
            f"{_number(people.alpha_ordinal)}",
        )
    console.print()
    console.print(_coefficients(found))
    if meaning := _meaning(found.alpha):
        _line(console, f"alpha{meaning.lstrip(',')}")
    if found.each:
        console.print()
        console.print(_each(found))
    if found.verdicts is not None:
        console.print()
        _print_verdicts(found.verdicts, console)


def print_gold_agreement(found: Mapping[str, LabelComparison], console: Console) -> None:
    """Print a line per metric of a run, after its own report."""
    if not found:
        return
    first = next(iter(found.values()))
    _line(console, f"agreement with the labels in {first.labels}:")
    for metric, one in found.items():
        agree = None if one.verdicts is None else one.verdicts.table.accuracy()
        # A line, not a row: intervals would be cut off on a narrow terminal.
        _line(
            console,
            f"{metric}: {one.n_pairs:,} of {one.n_labels:,} labels; alpha "
            f"{interval_cell(one.alpha)}; Spearman {interval_cell(one.coefficients['spearman'])}; "
            f"same verdict {interval_cell(agree)}",
        )


def interval_cell(found: Interval | None) -> str:
    """``0.71 (0.52 to 0.84)``; a dash where there is none."""
    if found is None or math.isnan(found.estimate):
        return _NONE
    if found.low is None or found.high is None:
        return f"{found.estimate:.2f} (no interval)"
    return f"{found.estimate:.2f} ({found.low:.2f} to {found.high:.2f})"


def _coefficients(found: LabelComparison) -> Table:
    level = next(
        (one.level for one in [found.alpha, *found.coefficients.values()] if one is not None), 0.95
    )
    table = _table("scores and labels", "value", f"{level * 100:g} % interval")
    rows = {f"alpha, {found.measurement}": found.alpha} | {
        _NAMES[name]: one for name, one in found.coefficients.items()
    }
    for name, one in rows.items():
        table.add_row(name, _NONE if one is None else f"{one.estimate:.2f}", _bounds(one))
    return table


def _meaning(found: Interval | None) -> str:
    """What alpha is worth at its low end: few rows can give a fine estimate."""
    if found is None or found.low is None:
        return ""
    return f", at its low end {reliability(found.low)}"


def _bounds(found: Interval | None) -> str:
    if found is None:
        return _NONE
    if found.low is not None and found.high is not None:
        return f"{found.low:.2f} to {found.high:.2f}"
    if found.n_undefined:
        return f"none: {found.n_undefined:,} resamples without variety"
    return "none"


def _each(found: LabelComparison) -> Table:
    table = _table("annotator", "pairs", "alpha", "kappa, quadratic", "Spearman")
    for one in found.each:
        table.add_row(
            plain_text(one.annotator, 30),
            f"{one.n_pairs:,}",
            _number(one.alpha),
            _number(one.quadratic_kappa),
            _number(one.spearman),
        )
    return table


def _print_verdicts(found: VerdictAgreement, console: Console) -> None:
    by = "verdicts of the run" if found.threshold is None else f"scores at {found.threshold:g}"
    _line(console, f"good and bad: {by}, labels at {found.label_threshold:g}")
    table = _table("people", "scored bad", "scored good")
    for label, row in zip(found.table.labels, found.table.counts, strict=True):
        table.add_row(label, *(f"{count:,}" for count in row))
    console.print(table)
    rates = {
        "agree": found.table.accuracy(),
        "precision": found.table.precision(),
        "recall": found.table.recall(),
        "specificity": found.table.specificity(),
        "Cohen's kappa": found.cohen_kappa,
    }
    _line(console, "; ".join(f"{name} {interval_cell(one)}" for name, one in rates.items()))


def _table(first: str, *columns: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column(first, no_wrap=True)
    for name in columns:
        table.add_column(name, justify="right", no_wrap=True)
    return table


def _left_out(what: str, names: tuple[str, ...]) -> str:
    if not names:
        return ""
    shown = ", ".join(plain_text(name, 40) for name in names[:_SHOWN_IDS])
    return f"; {len(names):,} {what} ({shown}{', …' if len(names) > _SHOWN_IDS else ''})"


def _number(value: float | None) -> str:
    return _NONE if value is None else f"{value:.2f}"


def _line(console: Console, text: str) -> None:
    console.print(plain_text(text), soft_wrap=True)
