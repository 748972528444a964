"""Plots: what is drawn of a batch and of a comparison, where, and what they leave alone."""

from __future__ import annotations

import io
import json
import pickle
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from rag_eval import BatchEvalResult, compare, evaluate_batch
from rag_eval.errors import InputError, MissingExtraError

HANDBOOK = Path(__file__).parents[3] / "examples" / "handbook.jsonl"
ROWS: list[dict[str, Any]] = [
    json.loads(line) for line in HANDBOOK.read_text(encoding="utf-8").splitlines()
]


@pytest.fixture(scope="module")
def batch() -> BatchEvalResult:
    return evaluate_batch(ROWS, profile="grounded")


def lines(ax: Axes) -> list[tuple[list[float], str]]:
    return [(list(map(float, line.get_xdata())), line.get_linestyle()) for line in ax.lines]


def test_each_metric_has_its_distribution_threshold_mean_and_interval(
    batch: BatchEvalResult,
) -> None:
    figure = batch.plot()
    names = [*batch.metrics, "composite"]
    assert len(figure.axes) == len(names)
    for name, ax in zip(names, figure.axes, strict=True):
        assert ax.get_title(loc="left").startswith(f"{name}: ")
        aggregate = batch.composite_aggregate if name == "composite" else batch.aggregates[name]
        assert sum(bar.get_height() for bar in ax.patches) == aggregate.n
        interval = aggregate.interval
        assert interval is not None
        drawn = lines(ax)
        assert ([interval.low, interval.high], "-") in drawn
        assert [aggregate.mean] in [places for places, _ in drawn]
        dashed = [places for places, style in drawn if style == "--"]
        bar = None if name == "composite" else batch.results[0].metrics[name].threshold
        assert dashed == ([] if bar is None else [[bar, bar]])


def test_bars_stand_where_the_scores_are() -> None:
    rows = [{"question": "q", "answer": "a", "contexts": ["a"]}] * 3
    rows.append({"question": "q", "answer": "b", "contexts": ["a"]})
    batch = evaluate_batch(rows, ["faithfulness"])
    assert batch.scores[:, 0].tolist() == [1, 1, 1, 0.3]
    (ax,) = batch.plot(["faithfulness"]).axes
    tall = {round(bar.get_center()[0], 3): bar.get_height() for bar in ax.patches}
    assert {place: height for place, height in tall.items() if height} == {0.325: 1, 0.975: 3}
    assert ax.get_xlim() == (0, 1)


def test_one_metric_can_be_drawn_into_a_place_of_the_callers(batch: BatchEvalResult) -> None:
    figure = Figure()
    left, right = figure.subplots(1, 2)
    assert batch.plot("faithfulness", ax=right) is figure
    assert batch.plot(["composite"], ax=figure.subfigures(1, 1).add_subplot()) is figure
    assert not left.patches
    assert right.get_title(loc="left").startswith("faithfulness: ")


def test_a_choice_that_cannot_be_drawn_is_refused(batch: BatchEvalResult) -> None:
    with pytest.raises(InputError, match="ax is a place for one metric, got 8"):
        batch.plot(ax=Figure().add_subplot())
    with pytest.raises(InputError, match="'noise_sensitivity' is not in the batch; it has faith"):
        batch.plot(["noise_sensitivity"])
    with pytest.raises(InputError, match="at least one metric"):
        batch.plot([])
    with pytest.raises(InputError, match="faithfulnes"):
        batch.plot(["faithfulnes"])


def test_without_scores_there_is_a_place_that_says_so() -> None:
    batch = evaluate_batch(
        [{"question": "q", "answer": "a", "contexts": ["a"]}],
        ["context_recall"],
        allow_missing=True,
    )
    figure = batch.plot()
    assert [text.get_text() for ax in figure.axes for text in ax.texts] == ["no scores"] * 2
    assert len(evaluate_batch([], ["faithfulness"]).plot().axes) == 2


def test_a_comparison_is_drawn_as_differences_with_their_intervals(batch: BatchEvalResult) -> None:
    worse = [{**row, "answer": "I do not know that."} for row in ROWS]
    comparison = compare(batch, evaluate_batch(worse, profile="grounded"))
    (ax,) = comparison.plot().axes
    names = [label.get_text() for label in ax.get_yticklabels()]
    assert names == [change.name for change in reversed(comparison.changes)]
    for height, change in enumerate(reversed(comparison.changes)):
        found = [line for line in ax.lines if height in line.get_ydata()]
        drawn = [list(line.get_xdata()) for line in found]
        assert [change.difference.low, change.difference.high] in drawn
        assert [change.delta] in drawn
        red = any(line.get_color() == "#b3261e" for line in found)
        assert red == (change.verdict == "REGRESSED")
    figure = Figure()
    assert comparison.plot(ax=figure.add_subplot()) is figure


def test_names_are_drawn_as_texts_and_not_as_formulas() -> None:
    rows = [{**row, "part": "$x^{$ and"} for row in ROWS]
    batch = evaluate_batch(rows, ["faithfulness"])
    comparison = compare(batch, batch, slices=["part"])
    comparison = replace(comparison, old="$x^{$", new="a\x1b\u202e$y$")
    figure = comparison.plot()
    figure.savefig(io.BytesIO(), format="png")
    (ax,) = figure.axes
    assert ax.get_xlabel() == "a\\x1b\\u202e$y$ less $x^{$"
    assert "faithfulness [part=$x^{$ and]" in [found.get_text() for found in ax.get_yticklabels()]


def test_a_figure_knows_its_picture_and_pyplot_is_left_alone(batch: BatchEvalResult) -> None:
    figure: Any = batch.plot(["faithfulness"])
    written, size = figure._repr_png_()
    assert written.startswith(b"\x89PNG")
    assert size["width"] == 461
    again = pickle.loads(pickle.dumps(figure))
    assert again._repr_png_()[1] == size
    assert "matplotlib.pyplot" not in sys.modules


def test_without_matplotlib_the_extra_is_named(
    batch: BatchEvalResult, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "rag_eval.reports.plot", raising=False)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'rag-eval-native\[plot\]'"):
        batch.plot()
