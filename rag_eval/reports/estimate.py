"""Estimates from labels, and draws of rows to be labelled, as lines for people."""

from __future__ import annotations

from typing import Final

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from rag_eval.labels.draws import LabelDraw
from rag_eval.labels.estimating import LabelEstimate
from rag_eval.reports.plain_text import plain_text
from rag_eval.stats.intervals import Interval
from rag_eval.stats.ppi_results import PpiEstimate

_NONE: Final = "–"
_TEXT_LIMIT: Final = 80
_OF: Final = {
    "rows": "the mean of these {n:,} rows",
    "population": "the mean of the population that these {n:,} rows came from",
}


def print_estimate(found: LabelEstimate, console: Console) -> None:
    """Print what was estimated, with and without the scores, and what has to be true."""
    result = found.result
    _print(console, f"{_shown(found.estimand)}: {_sentence(found)}")
    _print(console, f"target: {_OF[result.target].format(n=result.n_rows)}")
    console.print()
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    table.add_column("from", no_wrap=True)
    table.add_column("estimate", justify="right", no_wrap=True)
    table.add_column(f"{result.interval.level * 100:g} % interval", justify="right", no_wrap=True)
    table.add_column("width", justify="right", no_wrap=True)
    table.add_row("labels and scores", *_cells(result.interval))
    table.add_row("labels alone", *_cells(result.labels_alone))
    console.print(table)
    console.print()
    _print(console, bought_text(result, found.metric))
    for assumption in found.assumptions:
        _print(console, f"assumed: {_shown(assumption)}")


def _sentence(found: LabelEstimate) -> str:
    result = found.result
    sign = "+" if found.against_name is not None else ""
    text = f"{result.estimate:{sign}.3f} {interval_text(result.interval)}"
    scores = _shown(found.scores_name)
    if found.against_name is not None:
        scores += f" less {_shown(found.against_name)}"
    return f"{text}, {scores}; {result.n_labels:,} labels, {found.draw.design} draw"


def bought_text(result: PpiEstimate, metric: str) -> str:
    """What the scores were worth, in a sentence."""
    if result.weight == 0:
        return f"{metric} bought nothing: its scores were left out"
    rho = _NONE if result.correlation is None else f"{result.correlation:.2f}"
    text = f"{metric} goes with the labels (correlation {rho}) and counts {result.weight:.2f}"
    if result.equivalent_labels is None:
        return text
    if result.equivalent_labels <= result.n_labels:
        return f"{text}: it bought nothing, labels alone say as much"
    return f"{text}: as many as {result.equivalent_labels:,.0f} labels alone would"


def interval_text(interval: Interval) -> str:
    """``[0.81, 0.92]``; says so where there is too little to tell."""
    if interval.low is None or interval.high is None:
        return "(too few to say)"
    text = f"[{interval.low:.3f}, {interval.high:.3f}]"
    return f"{text} (a hint: too few to say)" if interval.too_few else text


def _cells(interval: Interval) -> tuple[str, str, str]:
    if interval.low is None or interval.high is None:
        return f"{interval.estimate:.3f}", "too few to say", _NONE
    bounds = f"{interval.low:.3f} to {interval.high:.3f}"
    return f"{interval.estimate:.3f}", bounds, f"{interval.high - interval.low:.3f}"


def draw_text(draw: LabelDraw, output: str) -> str:
    """What was drawn, in a line."""
    by = "" if draw.drawn_by is None else f" by {_shown(draw.drawn_by)}"
    text = f"{_shown(output)}: {draw.n_drawn:,} of {draw.n_rows:,} rows"
    text += f", {draw.design} draw{by}, seed {draw.seed}"
    if draw.strata is None:
        return text
    counts: dict[str, int] = {}
    for stratum in draw.strata.values():
        counts[stratum] = counts.get(stratum, 0) + 1
    return f"{text}; of each stratum " + ", ".join(str(counts[name]) for name in sorted(counts))


def _shown(text: str) -> str:
    return plain_text(text, 4 * _TEXT_LIMIT)


def _print(console: Console, text: str) -> None:
    # Long lines are left to the terminal to wrap, so that they can be searched for in a log.
    console.print(Text(text), soft_wrap=True)
