"""Totals of scores in blocks are the aggregates of all of them at once, to the last bit."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Iterator
from dataclasses import fields
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rag_eval.kernels.verdicts import verdicts_of
from rag_eval.options.plan import make_plan
from rag_eval.results import totals as score_totals
from rag_eval.results.aggregates import (
    Aggregate,
    CompositeAggregate,
    MetricAggregate,
    aggregate_composite,
    aggregate_metric,
)
from rag_eval.results.totals import ColumnTotals, ScoreTotals

Scores = npt.NDArray[np.float64]
Aggregates = tuple[dict[Any, MetricAggregate], CompositeAggregate]

PLAN = make_plan(
    ["faithfulness", "hallucination_rate", "context_recall"],
    {"composite_weights": {"faithfulness": 2}},
)
WIDTH = len(PLAN.columns)
TINIEST = 5e-324
NUMBERS = st.one_of(
    st.floats(0, 1),
    st.floats(-1e100, 1e100),
    st.floats(-1e-300, 1e-300),
    st.sampled_from([0.0, -0.0, 1.0, 1 / 3, TINIEST, -TINIEST, 2.2250738585072014e-308]),
)
ROWS = st.lists(
    st.lists(NUMBERS | st.just(math.nan), min_size=WIDTH, max_size=WIDTH), min_size=1, max_size=30
)
CUTS = st.lists(st.integers(0, 30), max_size=6)


def matrix(rows: list[list[float]]) -> Scores:
    return np.array(rows, np.float64).reshape(-1, WIDTH)


def parts_of(scores: Scores, cuts: list[int]) -> list[Scores]:
    bounds = sorted({0, len(scores), *(cut for cut in cuts if cut < len(scores))})
    return [scores[begin:end] for begin, end in pairwise(bounds)]


def totals_of(parts: list[Scores]) -> ScoreTotals:
    totals = ScoreTotals(PLAN)
    for part in parts:
        totals.add(part)
    return totals


def found(totals: ScoreTotals, parts: list[Scores]) -> Aggregates:
    metrics, composite = totals.aggregates(lambda: iter(parts))
    return dict(metrics), composite


def wanted(scores: Scores) -> Aggregates:
    """As of a batch in memory."""
    verdicts = verdicts_of(scores, PLAN.rule)
    return (
        {
            metric: aggregate_metric(metric, scores[:, column], verdicts.metric_passed[:, column])
            for column, metric in enumerate(PLAN.columns)
        },
        aggregate_composite(verdicts.composite, verdicts.passed),
    )


def values(aggregates: Aggregates) -> list[Any]:
    """All numbers, NaN among them as a text, so that they compare."""
    metrics, composite = aggregates
    return [
        [
            str(value) if value != value else value
            for value in (getattr(each, one.name) for one in fields(each))
        ]
        for each in (*metrics.values(), composite)
    ]


def assert_same(left: Aggregates, right: Aggregates) -> None:
    assert values(left) == values(right)


# ---------------------------------------------------------------------------------- exactness


@given(ROWS, CUTS)
@example([[math.nan] * WIDTH], [])
@example([[-0.0, 0.0, TINIEST]], [])
@example([[-0.0] * WIDTH, [0.0] * WIDTH], [1])
@example([[0.1] * WIDTH] * 10, [3])
@example([[-1.0, -2.0, -3.0], [-1.5, math.nan, TINIEST]], [1])
def test_any_split_gives_the_aggregates_of_the_whole(
    rows: list[list[float]], cuts: list[int]
) -> None:
    scores = matrix(rows)
    parts = parts_of(scores, cuts)
    assert_same(found(totals_of(parts), parts), wanted(scores))


@given(ROWS, CUTS, st.randoms(use_true_random=False))
def test_merging_is_free_of_order(
    rows: list[list[float]], cuts: list[int], choose: random.Random
) -> None:
    scores = matrix(rows)
    parts = parts_of(scores, cuts)
    pieces = [totals_of([part]) for part in parts]
    choose.shuffle(pieces)
    while len(pieces) > 1:
        one = pieces.pop(choose.randrange(len(pieces)))
        pieces[choose.randrange(len(pieces))].merge(one)
    choose.shuffle(parts)
    assert_same(found(pieces[0], parts), wanted(scores))
    assert pieces[0].n_passed == int(verdicts_of(scores, PLAN.rule).passed.sum())


@pytest.mark.parametrize("split_bits", [1, 3, 16])
@given(st.sampled_from([0, 1, 5]), ROWS, CUTS)
def test_medians_that_take_several_passes(
    split_bits: int, most_collected: int, rows: list[list[float]], cuts: list[int]
) -> None:
    scores = matrix(rows)
    parts = parts_of(scores, cuts)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(score_totals, "_MOST_COLLECTED", most_collected)
        patch.setattr(score_totals, "_SPLIT_BITS", split_bits)
        assert_same(found(totals_of(parts), parts), wanted(scores))


def test_a_search_reads_as_often_as_it_must(monkeypatch: pytest.MonkeyPatch) -> None:
    """Values that agree in all but their last bits, one bit a pass; then a pass that collects."""
    column = [1.0]
    for _ in range(99):
        column.append(math.nextafter(column[-1], 2))
    scores = matrix([[value] * WIDTH for value in column])
    monkeypatch.setattr(score_totals, "_MOST_COLLECTED", 1)
    n_passes = []

    def blocks() -> Iterator[Scores]:
        n_passes[-1] += 1
        yield scores

    for bits, most in ((1, 43), (8, 7), (16, 4)):
        monkeypatch.setattr(score_totals, "_SPLIT_BITS", bits)
        n_passes.append(0)
        metrics, composite = totals_of([scores]).aggregates(blocks)
        assert_same((dict(metrics), composite), wanted(scores))
        assert 1 < n_passes[-1] <= most


def test_many_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    scores = rng.choice(np.array([0, 1 / 3, 0.5, 1, math.nan]), (50_000, WIDTH))
    scores[::2] = rng.random((25_000, WIDTH))
    parts = parts_of(scores, [1, 17, 1000, 1024, 20_000, 40_000])
    assert_same(found(totals_of(parts), parts), wanted(scores))


def test_no_rows() -> None:
    metrics, composite = found(ScoreTotals(PLAN), [])
    assert [each.n for each in metrics.values()] == [0] * WIDTH
    assert math.isnan(composite.mean)
    assert composite.pass_rate == 0


# ------------------------------------------------------------------------------------- sketch


@given(st.lists(st.floats(0, 1) | st.floats(1e-300, 1e300), min_size=1, max_size=60))
@example([TINIEST])
@example([0.0])
@example([1.0] * 5)
@example([1 / 3, 2 / 3])
def test_a_sketch_is_near(column: list[float]) -> None:
    totals = ColumnTotals()
    scores = np.array(column, np.float64)
    totals.add(scores, np.ones(len(scores), np.bool_))
    for rank, value in enumerate(sorted(column)):
        about = totals.about(rank)
        # Below the least normal number a bin is as wide as one of those just above it.
        assert abs(about - value) <= max(value / 4096, 2.0**-1022 / 2048)
    with pytest.raises(IndexError):
        totals.bin_of(len(column))


@given(st.lists(st.floats(-1, 1), min_size=1, max_size=60))
def test_a_sketch_of_either_sign(column: list[float]) -> None:
    totals = ColumnTotals()
    totals.add(np.array(column, np.float64), np.ones(len(column), np.bool_))
    for rank, value in enumerate(sorted(column)):
        assert abs(totals.about(rank) - value) <= max(abs(value) / 4096, 2.0**-1022 / 2048)


@given(ROWS, CUTS)
def test_without_blocks_only_the_median_is_less_than_exact(
    rows: list[list[float]], cuts: list[int]
) -> None:
    scores = matrix(rows)
    metrics, composite = totals_of(parts_of(scores, cuts)).aggregates(None)
    for ours, exact in zip(values((dict(metrics), composite)), values(wanted(scores)), strict=True):
        place = [one.name for one in fields(Aggregate)].index("median")
        assert ours[:place] + ours[place + 1 :] == exact[:place] + exact[place + 1 :]


# ------------------------------------------------------------------------------------- travel


@given(ROWS, ROWS)
def test_totals_travel_as_json(here: list[list[float]], there: list[list[float]]) -> None:
    scores = matrix(here + there)
    text = json.dumps(totals_of([matrix(there)]).to_dict(), allow_nan=False)
    arrived = ScoreTotals.from_dict(PLAN, json.loads(text))
    assert json.dumps(arrived.to_dict()) == text
    assert_same(found(arrived, [matrix(there)]), wanted(matrix(there)))
    whole = totals_of([matrix(here)])
    whole.merge(arrived)
    assert_same(found(whole, [scores]), wanted(scores))


def test_nothing_travels_as_json() -> None:
    text = json.dumps(ScoreTotals(PLAN).to_dict(), allow_nan=False)
    arrived = ScoreTotals.from_dict(PLAN, json.loads(text))
    arrived.merge(ScoreTotals.from_dict(PLAN, json.loads(text)))
    assert json.dumps(arrived.to_dict()) == text
