"""Labels, their agreement with scores, and estimates from both, as tables."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from typing import Final

from rich.console import Console

from rag_eval.judge.agreement import reliability
from rag_eval.labels.comparisons import AnnotatorAgreement, LabelComparison, VerdictAgreement
from rag_eval.labels.draws import LabelDraw
from rag_eval.labels.estimating import LabelEstimate
from rag_eval.labels.label_files import LabelCheck
from rag_eval.plumbing.spelling import counted
from rag_eval.reports.console import number_table, print_line, print_plain, print_plain_table
from rag_eval.reports.figures import NONE, bounds_text, number_text
from rag_eval.reports.plain_text import plain_text
from rag_eval.stats.intervals import Interval
from rag_eval.stats.ppi_results import PpiEstimate

_TEXT_LIMIT: Final = 80
_OF: Final = {
    "rows": "mean over these {n:,} rows",
    "population": "mean over the population from which these {n:,} rows were drawn",
}
_SHOWN_IDS = 3
_NAMES: Mapping[str, str] = {
    "quadratic_kappa": "kappa, quadratic",
    "linear_kappa": "kappa, linear",
    "pearson": "Pearson",
    "spearman": "Spearman",
    "kendall": "Kendall tau-b",
}


def print_label_check(check: LabelCheck, console: Console) -> None:
    """Print the contents and the issues of a label file."""
    for issue in check.issues:
        place = "" if issue["index"] is None else f", annotations[{issue['index']}]"
        file = "" if issue["file"] in (".", check.name) else f", {issue['file']}"
        print_plain(console, f"FAIL {check.name}{file}{place}: {issue['message']}")
    for warning in check.warnings:
        print_plain(console, f"note: {warning}")
    found = check.to_dict()
    n_people = len(found["annotators"])
    print_plain(
        console,
        f"{'PASS' if check.ok else 'FAIL'} {check.name}: {found['nLabels']:,} labels of "
        f"{found['nSamples']:,} samples by {n_people:,} {'person' if n_people == 1 else 'people'}, "
        f"{counted(len(check.issues), 'issue')}",
    )


def print_label_comparison(found: LabelComparison, console: Console) -> None:
    """Print the agreement between annotators, then between scores and labels."""
    print_plain(
        console,
        f"{found.metric}: {found.n_pairs:,} of {found.n_labels:,} labelled samples have a score"
        + _left_out("not in the score file", found.missing)
        + _left_out("without a score", found.unscored),
    )
    if found.people is not None:
        people = found.people
        print_plain(
            console,
            f"{len(found.annotators):,} annotators, {people.n_samples:,} samples labelled by two "
            f"or more: alpha {interval_cell(people.alpha)}{_meaning(people.alpha)}; ordinal alpha "
            f"{number_text(people.alpha_ordinal)}",
        )
    console.print()
    _print_coefficients(found, console)
    if meaning := _meaning(found.alpha):
        print_plain(console, f"alpha{meaning.lstrip(',')}")
    if found.each:
        console.print()
        heads = ("annotator", "pairs", "alpha", "kappa, quadratic", "Spearman")
        print_plain_table(console, heads, map(_annotator_cells, found.each))
    if found.verdicts is not None:
        console.print()
        _print_verdicts(found.verdicts, console)


def print_gold_agreement(found: Mapping[str, LabelComparison], console: Console) -> None:
    """Print one line per metric, after the report of a run."""
    if not found:
        return
    first = next(iter(found.values()))
    print_plain(console, f"agreement with the labels in {first.labels}:")
    for metric, one in found.items():
        agree = None if one.verdicts is None else one.verdicts.table.accuracy()
        # A line, not a row: intervals would be cut off on a narrow terminal.
        print_plain(
            console,
            f"{metric}: {one.n_pairs:,} of {one.n_labels:,} labels; alpha "
            f"{interval_cell(one.alpha)}; Spearman {interval_cell(one.coefficients['spearman'])}; "
            f"verdict accuracy {interval_cell(agree)}",
        )


def interval_cell(found: Interval | None) -> str:
    """``0.71 (0.52 to 0.84)``; a dash for None."""
    if found is None or math.isnan(found.estimate):
        return NONE
    return f"{found.estimate:.2f} ({bounds_text(found, between=' to ') or 'no interval'})"


def _print_coefficients(found: LabelComparison, console: Console) -> None:
    known = {f"alpha, {found.measurement}": found.alpha} | {
        _NAMES[name]: one for name, one in found.coefficients.items()
    }
    level = next((one.level for one in known.values() if one is not None), 0.95)
    rows = (
        (name, number_text(None if one is None else one.estimate), _bounds(one))
        for name, one in known.items()
    )
    heads = ("scores and labels", "value", f"{level * 100:g}\N{NO-BREAK SPACE}% interval")
    print_plain_table(console, heads, rows)


def _meaning(found: Interval | None) -> str:
    """What the lower bound of alpha means: with few rows the estimate alone can look good."""
    if found is None or found.low is None:
        return ""
    return f", lower bound: {reliability(found.low)}"


def _bounds(found: Interval | None) -> str:
    if found is None:
        return NONE
    undefined = f": {found.n_undefined:,} resamples without variation" if found.n_undefined else ""
    return bounds_text(found, between=" to ") or f"none{undefined}"


def _annotator_cells(one: AnnotatorAgreement) -> list[str]:
    coefficients = (one.alpha, one.quadratic_kappa, one.spearman)
    return [plain_text(one.annotator, 30), f"{one.n_pairs:,}", *map(number_text, coefficients)]


def _print_verdicts(found: VerdictAgreement, console: Console) -> None:
    by = "verdicts of the run" if found.threshold is None else f"scores >= {found.threshold:g}"
    print_plain(console, f"good: {by}, labels >= {found.label_threshold:g}")
    table = found.table
    counts = ([f"{count:,}" for count in row] for row in table.counts)
    rows = ((label, *cells) for label, cells in zip(table.labels, counts, strict=True))
    print_plain_table(console, ("labelled", "scored bad", "scored good"), rows)
    rates = {
        "accuracy": table.accuracy(),
        "precision": table.precision(),
        "recall": table.recall(),
        "specificity": table.specificity(),
        "Cohen's kappa": found.cohen_kappa,
    }
    print_plain(console, "; ".join(f"{name} {interval_cell(one)}" for name, one in rates.items()))


def _left_out(what: str, names: tuple[str, ...]) -> str:
    if not names:
        return ""
    shown = ", ".join(plain_text(name, 40) for name in names[:_SHOWN_IDS])
    return f"; {len(names):,} {what} ({shown}{', …' if len(names) > _SHOWN_IDS else ''})"


# ---------------------------------------------------------------------------- estimates and draws


def print_estimate(found: LabelEstimate, console: Console) -> None:
    """Print the estimate with and without the scores, and its assumptions."""
    result = found.result
    print_line(console, _sentence(found))
    print_line(console, f"target: {_OF[result.target].format(n=result.n_rows)}")
    console.print()
    level = f"{result.interval.level * 100:g}\N{NO-BREAK SPACE}% interval"
    table = number_table(console, "estimate", level, "width", first="from")
    table.add_row("labels and scores", *_cells(result.interval))
    table.add_row("labels alone", *_cells(result.labels_alone))
    console.print(table)
    console.print()
    print_line(console, bought_text(result, found.metric))
    if found.repeats is not None:
        print_line(console, f"{found.metric}: {found.repeats}")
    for assumption in found.assumptions:
        print_line(console, f"assumption: {_shown(assumption)}")


def _sentence(found: LabelEstimate) -> str:
    result = found.result
    sign = "+" if found.against_name is not None else ""
    text = f"{result.estimate:{sign}.3f} {interval_text(result.interval)}"
    scores = f" of {_shown(found.scores_name)}"
    if found.against_name is not None:
        scores = f", {_shown(found.scores_name)} minus {_shown(found.against_name)}"
    labels = f"{result.n_labels:,} labels, {found.draw.design} draw"
    return f"{_shown(found.estimand)}{scores}: {text}; {labels}"


def bought_text(result: PpiEstimate, metric: str) -> str:
    """How much the scores added to the labels, in a sentence."""
    if result.weight == 0:
        return f"{metric} did not help, so its scores were not used"
    rho = number_text(result.correlation)
    text = f"{metric}: correlation with the labels {rho}"
    if result.equivalent_labels is None:
        return text
    if result.equivalent_labels <= result.n_labels:
        return f"{text}; it did not help: labels alone are as precise"
    return f"{text}; as precise as {result.equivalent_labels:,.0f} labels alone"


def interval_text(interval: Interval) -> str:
    """``[0.81, 0.92]``, marked if there are too few labels."""
    if not (bounds := bounds_text(interval, 3)):
        return "(too few labels)"
    return f"[{bounds}]{' (too few labels: indicative only)' if interval.too_few else ''}"


def _cells(interval: Interval) -> tuple[str, str, str]:
    if interval.low is None or interval.high is None:
        return f"{interval.estimate:.3f}", "too few labels", NONE
    width = f"{interval.high - interval.low:.3f}"
    return f"{interval.estimate:.3f}", bounds_text(interval, 3, " to "), width


def draw_text(draw: LabelDraw, output: str) -> str:
    """The draw, on one line."""
    by = "" if draw.drawn_by is None else f" by {_shown(draw.drawn_by)}"
    text = f"{_shown(output)}: {draw.n_drawn:,} of {draw.n_rows:,} rows"
    text += f", {draw.design} draw{by}, seed {draw.seed}"
    if draw.strata is None:
        return text
    counts = Counter(draw.strata.values())
    return f"{text}; per stratum: " + ", ".join(str(counts[name]) for name in sorted(counts))


def _shown(text: str) -> str:
    return plain_text(text, 4 * _TEXT_LIMIT)
