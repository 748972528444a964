"""Judges that are moved by wording, order or length, and judges that are not."""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Sequence
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from scipy import stats

from rag_eval.errors import InputError
from rag_eval.judge.bias_checks import (
    DebiasReport,
    Order,
    PositionReport,
    debias_check,
    paired_scores,
    position_check,
    sensitivity,
)
from rag_eval.judge.length_correlation import length_partial_correlation
from rag_eval.stats.index_sources import Resampling
from tests.tables import every_row

# ------------------------------------------------------------------------------- paired scores


def test_the_interval_is_that_of_pairs_drawn_one_by_one() -> None:
    generator = np.random.default_rng(2)
    usual, changed = generator.random(25), generator.random(25)
    names = [f"q{n}" for n in range(25)]
    found = paired_scores(
        names,
        usual.tolist(),
        changed.tolist(),
        resampling=Resampling(seed=7, n_resamples=300, level=0.9),
    )
    drawn = np.random.default_rng(7).integers(25, size=(300, 25))
    means = (changed - usual)[drawn].mean(axis=1)
    assert found.difference is not None
    assert found.difference.estimate == pytest.approx((changed - usual).mean(), rel=1e-12)
    bounds = [found.difference.low, found.difference.high]
    assert bounds == pytest.approx(np.quantile(means, [0.05, 0.95]), rel=1e-9)
    assert found.mean_usual == pytest.approx(usual.mean())
    assert found.mean_changed == pytest.approx(changed.mean())


def test_rows_that_lack_a_score_are_listed_and_not_counted() -> None:
    found = paired_scores(["a", "b", "c", "d"], [0.5, None, 0.5, 0.5], [0.75, 1.0, math.nan, 0.25])
    assert [tuple(pair) for pair in found.pairs] == [("a", 0.5, 0.75), ("d", 0.5, 0.25)]
    assert found.failed == ("b", "c")


def test_pairs_stay_together() -> None:
    """Scores that differ from row to row hide no difference that all rows share."""
    usual = [n / 20 for n in range(20)]
    found = paired_scores(list(map(str, range(20))), usual, [score + 0.05 for score in usual])
    assert found.difference is not None
    assert [found.difference.low, found.difference.high] == pytest.approx([0.05, 0.05])


def test_one_pair_has_no_interval_and_none_has_no_difference() -> None:
    one = paired_scores(["a"], [0.5], [0.75])
    assert one.difference is not None
    assert (one.difference.estimate, one.difference.low) == (0.25, None)
    assert "no interval" in one.text("before", "after")
    none = paired_scores(["a"], [0.5], [None])
    assert (none.difference, none.mean_usual, none.mean_changed) == (None, None, None)
    assert none.text("before", "after") == "no row was scored both before and after"


# ---------------------------------------------------------------------- the paragraph on length


@every_row(
    ("low", "high", "level"),
    [
        (0.125, 0.2, "strong"),
        (-0.2, -0.125, "strong"),
        (0.125 - 1e-12, 0.2, "strong"),  # half a point, summed from tenths
        (0.1249, 0.9, "medium"),
        (0.05, 0.9, "medium"),
        (0.0499, 0.9, "weak"),
        (-0.9, -0.001, "weak"),
        (0.0, 0.9, "none"),
        (-0.9, 0.0, "none"),
        (-0.5, 0.5, "none"),
        (1e-17, 0.3, "none"),
    ],
)
def test_levels(low: float, high: float, level: str) -> None:
    assert sensitivity(low, high) == level
    assert sensitivity(4 * low, 4 * high, (1, 5)) == level


class WordingJudge:
    """Rates an answer by a number in it, and its length when nobody forbids that."""

    def __init__(self, weight: float, fails_on: str = "") -> None:
        self.weight, self.fails_on = weight, fails_on
        self.calls: list[tuple[list[str], bool]] = []

    async def __call__(self, rows: Sequence[str], with_paragraph: bool) -> list[float | None]:
        self.calls.append((list(rows), with_paragraph))
        await asyncio.sleep(0)
        return [self.score(row, with_paragraph) for row in rows]

    def score(self, row: str, with_paragraph: bool) -> float | None:
        if self.fails_on and self.fails_on in row and not with_paragraph:
            return None
        return int(row[0]) / 10 + (0 if with_paragraph else self.weight * len(row))


ANSWERS = {f"q{n}": f"{n % 5} " + "word " * n for n in range(30)}


def check(judge: Any, rows: Any = None, **options: Any) -> DebiasReport:
    return asyncio.run(debias_check(ANSWERS if rows is None else rows, judge, **options))


def test_a_judge_that_the_paragraph_moves_is_found() -> None:
    judge = WordingJudge(0.002)
    report = check(judge)
    assert judge.calls == [(list(ANSWERS.values()), True), (list(ANSWERS.values()), False)]
    assert report.level == "medium"
    found = report.scores.difference
    assert found is not None
    expected = [0.002 * len(row) for row in ANSWERS.values()]
    assert found.estimate == pytest.approx(sum(expected) / 30)
    assert (found.n_groups, found.n_resamples) == (30, 1000)


def test_a_judge_that_the_paragraph_does_not_move_is_left_in_peace() -> None:
    assert check(WordingJudge(0)).level == "none"


def test_the_difference_is_the_scores_without_less_those_with() -> None:
    report = check(WordingJudge(-0.01))
    assert report.scores.difference is not None
    assert report.scores.difference.estimate < 0
    assert report.level == "strong"


def test_stored_scores_are_not_judged_again() -> None:
    stored: dict[str, float | None] = {name: int(row[0]) / 10 for name, row in ANSWERS.items()}
    anew = check(WordingJudge(0.002))
    judge = WordingJudge(0.002)
    report = check(judge, stored=stored)
    assert [with_paragraph for _, with_paragraph in judge.calls] == [False]
    assert report.scores == anew.scores


def test_scores_stored_without_the_paragraph_are_the_changed_ones() -> None:
    judge = WordingJudge(0)
    report = check(
        judge, stored={"q1": 1.0}, stored_with_paragraph=False, rows={"q1": ANSWERS["q1"]}
    )
    assert [with_paragraph for _, with_paragraph in judge.calls] == [True]
    assert [tuple(pair) for pair in report.scores.pairs] == [("q1", 0.1, 1.0)]


def test_rows_that_cannot_be_compared_are_listed_by_what_they_lack() -> None:
    rows = {**ANSWERS, "gone": None}
    stored = {name: 0.5 for name in rows if name not in ("q3", "q4")}
    judge = WordingJudge(0.002, fails_on="4 ")
    report = check(judge, rows, stored={**stored, "q4": None, "q5": math.nan})
    assert report.missing == ("gone",)
    assert report.unscored == ("q3", "q4", "q5")
    assert report.scores.failed == ("q9", "q14", "q19", "q24", "q29")
    assert [pair.row for pair in report.scores.pairs] == [
        name for name in ANSWERS if name not in {*report.unscored, *report.scores.failed}
    ]
    (asked, _) = judge.calls[0]
    assert ANSWERS["q3"] not in asked
    text = report.text()
    assert "1 rows without texts: 'gone'" in text
    assert "3 rows without a stored score: 'q3', 'q4', 'q5'" in text
    assert "5 rows could not be judged: 'q9', 'q14', 'q19', 'q24', 'q29'" in text


def test_long_lists_of_rows_are_cut() -> None:
    report = check(WordingJudge(0), dict.fromkeys(ANSWERS))
    assert "30 rows without texts: 'q0', 'q1', 'q2', 'q3', 'q4' and 25 more" in report.text()


def test_names_of_rows_cannot_move_the_cursor() -> None:
    assert "\x1b" not in check(WordingJudge(0), {"\x1b[2J": None}).text()


def test_the_report_says_what_it_measures() -> None:
    report = check(WordingJudge(0.002), level=0.9)
    text = report.text()
    assert "30 rows scored both ways: 0.20 with the paragraph" in text
    assert "90 % interval" in text
    assert "sensitivity to the wording: medium" in text
    assert "not whether the judge favours long answers" in text
    assert "hint" not in text
    value = json.loads(json.dumps(report.to_dict(), allow_nan=False))
    assert value["level"] == "medium"
    assert value["pairs"][1].keys() == {"row", "withParagraph", "without"}
    assert value["difference"]["level"] == 0.9
    for n_rows in (19, 20):
        few = check(WordingJudge(0.002), dict(list(ANSWERS.items())[:n_rows])).text()
        assert ("few rows, so only indicative" in few) is (n_rows < 20)


def test_a_level_needs_two_pairs() -> None:
    for rows in ({}, {"q7": ANSWERS["q7"]}):
        report = check(WordingJudge(0.002), rows)
        assert report.level is None
        assert "sensitivity to the wording: unknown" in report.text()


def test_the_same_seed_gives_the_same_report() -> None:
    first = check(WordingJudge(0.002), seed=3, n_resamples=50)
    assert check(WordingJudge(0.002), seed=3, n_resamples=50) == first
    assert check(WordingJudge(0.002), seed=4, n_resamples=50) != first


def test_a_judge_that_loses_rows_is_an_error() -> None:
    async def forgetful(rows: Sequence[str], _: bool) -> list[float | None]:
        return [0.5] * (len(rows) - 1)

    with pytest.raises(InputError, match="judge_rows returned 29 scores for 30 rows"):
        check(forgetful)


@every_row("scale", [(1, 1), (5, 1), (0, math.nan)])
def test_a_scale_goes_up(scale: tuple[float, float]) -> None:
    with pytest.raises(InputError, match="scale must be \\(lowest, highest\\), got"):
        check(WordingJudge(0), scale=scale)


# ------------------------------------------------------------------------------ order of chunks


class OrderJudge:
    """Scores by the chunks' numbers, each weighted by its place."""

    def __init__(self, weights: Sequence[float], fails_at: int | None = None) -> None:
        self.weights, self.fails_at = weights, fails_at
        self.orders: list[list[Order]] = []

    async def __call__(
        self, rows: Sequence[list[float]], orders: Sequence[Order]
    ) -> list[float | None]:
        failing = self.fails_at == len(self.orders)
        self.orders.append(list(orders))
        await asyncio.sleep(0)
        return [
            None
            if failing and number == 0
            else sum(weight * row[chunk] for weight, chunk in zip(self.weights, order, strict=True))
            for number, (row, order) in enumerate(zip(rows, orders, strict=True))
        ]


CHUNKS = {f"q{n}": [0.9, 0.5, 0.1] for n in range(24)}
FIRST_ONLY, FAIR = (1.0, 0.0, 0.0), (0.25, 0.25, 0.25)


def shuffle(judge: Any, rows: Any = None, **options: Any) -> PositionReport:
    rows = CHUNKS if rows is None else rows
    return asyncio.run(position_check(rows, judge, n_chunks=len, **options))


def test_a_judge_that_reads_only_the_first_chunk_is_found() -> None:
    judge = OrderJudge(FIRST_ONLY)
    report = shuffle(judge, threshold=0.7)
    assert judge.orders[0] == [(0, 1, 2)] * 24
    after = [CHUNKS["q0"][order[0]] for order in judge.orders[1]]
    found = report.scores.difference
    assert found is not None
    assert found.estimate == pytest.approx(sum(after) / 24 - 0.9)
    assert found.high is not None
    assert found.high < 0
    assert report.mean_abs_change == pytest.approx(-found.estimate)
    expected = [name for name, score in zip(CHUNKS, after, strict=True) if score < 0.7]
    assert report.flipped == tuple(expected)
    assert f"{len(expected)} of 24 verdicts flip" in report.text()


def test_a_judge_that_does_not_mind_the_order_is_left_in_peace() -> None:
    report = shuffle(OrderJudge(FAIR), threshold=0.3, n_shuffles=2)
    assert report.scores.difference is not None
    assert report.scores.difference.estimate == pytest.approx(0, abs=1e-15)
    assert report.mean_abs_change == pytest.approx(0, abs=1e-15)
    assert report.flipped == ()


def test_changes_that_cancel_are_changes() -> None:
    rows = {"up": [0.0, 1.0], "down": [1.0, 0.0]}
    report = shuffle(OrderJudge((1.0, 0.0)), rows, threshold=0.5)
    assert report.scores.difference is not None
    assert report.scores.difference.estimate == 0
    assert report.mean_abs_change == 1
    assert report.flipped == ("up", "down")


def test_a_threshold_where_lower_is_better() -> None:
    rows = {"row": [0.5, 0.6]}
    judge = OrderJudge((1.0, 0.0))
    assert shuffle(judge, rows, threshold=0.5).flipped == ()
    assert shuffle(judge, rows, threshold=0.5, higher_is_better=False).flipped == ("row",)
    report = shuffle(judge, rows)
    assert report.flipped is None
    assert "flip" not in report.text()


def test_orders_are_all_but_the_one_that_was_there() -> None:
    judge = OrderJudge(FIRST_ONLY)
    shuffle(judge, {f"q{n}": [0.0] * 3 for n in range(200)}, n_shuffles=2)
    others = set(permutations(range(3))) - {(0, 1, 2)}
    assert set(judge.orders[1]) == set(judge.orders[2]) == others
    assert judge.orders[1] != judge.orders[2]
    least = min(judge.orders[1].count(order) for order in others)
    assert least > 15  # of 40 expected


def test_a_rows_order_depends_on_its_name_and_the_seed_alone() -> None:
    few, many, other = (OrderJudge(FIRST_ONLY) for _ in range(3))
    rows = {f"q{n}": [0.0] * 3 for n in range(20)}
    shuffle(many, rows)
    shuffle(few, dict(list(rows.items())[::-1][:10]))
    shuffle(other, rows, seed=1)
    assert few.orders[1] == many.orders[1][::-1][:10]
    assert other.orders[1] != many.orders[1]


def test_the_interval_of_shuffles_is_that_of_their_pairs() -> None:
    rows = {f"q{n}": [0.9, 0.5 - n / 100, n / 77] for n in range(24)}
    report = shuffle(OrderJudge(FIRST_ONLY), rows, seed=5, n_resamples=70, level=0.8)
    names, usual, changed = zip(*report.scores.pairs, strict=True)
    assert report.scores == paired_scores(
        names, usual, changed, resampling=Resampling(seed=5, n_resamples=70, level=0.8)
    )


def test_rows_with_one_order_are_left_out() -> None:
    rows = {"none": [], "one": [0.5], "two": [0.5, 0.7]}
    judge = OrderJudge((1.0, 0.0))
    report = shuffle(judge, rows)
    assert judge.orders == [[(0, 1)], [(1, 0)]]
    assert report.too_few_chunks == ("none", "one")
    assert "2 rows with fewer than two contexts: 'none', 'one'" in report.text()
    value = json.loads(json.dumps(report.to_dict(), allow_nan=False))
    assert value["tooFewChunks"] == ["none", "one"]
    assert value["pairs"] == [{"row": "two", "asTheyCome": 0.5, "shuffled": 0.7}]


def test_one_failed_shuffle_of_several_is_done_without() -> None:
    rows = {"first": [0.2, 0.8], "second": [0.4, 0.6]}
    report = shuffle(OrderJudge((1.0, 0.0), fails_at=1), rows, n_shuffles=2, threshold=0.5)
    assert [tuple(pair) for pair in report.scores.pairs] == [
        ("first", 0.2, 0.8),
        ("second", 0.4, 0.6),
    ]
    assert report.flipped == ("first", "second")
    assert report.mean_abs_change == pytest.approx(0.4)


@every_row("fails_at", [0, 1])
def test_a_row_that_failed_one_of_the_ways_is_listed(fails_at: int) -> None:
    rows = {"first": [0.2, 0.8], "second": [0.4, 0.6]}
    report = shuffle(OrderJudge((1.0, 0.0), fails_at=fails_at), rows, threshold=0.5)
    assert report.scores.failed == ("first",)
    assert report.flipped == ("second",)
    assert report.mean_abs_change == pytest.approx(0.2)


def test_no_rows_no_report_of_changes() -> None:
    report = shuffle(OrderJudge(FAIR), {})
    assert (report.mean_abs_change, report.scores.pairs) == (None, ())
    assert report.text() == "order of contexts: no row was scored both as given and shuffled"


def test_there_is_at_least_one_shuffle() -> None:
    with pytest.raises(InputError, match="n_shuffles must be a whole number of at least 1, got 0"):
        shuffle(OrderJudge(FAIR), n_shuffles=0)


# ---------------------------------------------------------------------------------- length


def made(n_rows: int, bias: float, seed: int = 0) -> tuple[list[float], list[float], list[float]]:
    """Judge, lengths, native: better answers are longer, and the judge may like length itself."""
    generator = np.random.default_rng(seed)
    native = generator.normal(size=n_rows)
    lengths = native + generator.normal(size=n_rows)
    judge = native + bias * lengths + generator.normal(size=n_rows)
    return judge.tolist(), np.exp(lengths).tolist(), native.tolist()


def test_a_judge_that_likes_length_is_found() -> None:
    report = length_partial_correlation(*made(300, bias=1.0))
    assert report.correlation is not None
    assert report.correlation.low is not None
    assert report.correlation.low > 0.3
    assert "longer answers score higher" in report.text()


def test_merit_that_comes_with_length_is_not_held_against_the_judge() -> None:
    report = length_partial_correlation(*made(300, bias=0.0))
    assert report.correlation is not None
    assert report.correlation.low is not None
    assert report.correlation.high is not None
    assert report.correlation.low < 0 < report.correlation.high
    assert report.plain is not None
    assert report.plain > 0.3
    assert "no sign of a length bias" in report.text()
    judge, lengths, _ = made(300, bias=0.0)
    plain = length_partial_correlation(judge, lengths)
    assert plain.correlation is not None
    assert plain.correlation.estimate == plain.plain == report.plain
    assert not plain.given_native
    assert "at equal native score" not in plain.text()


def test_a_judge_that_likes_brevity_is_found() -> None:
    report = length_partial_correlation(*made(300, bias=-1.0))
    assert "shorter answers score higher" in report.text()


def test_it_is_spearmans_partial_correlation() -> None:
    judge, lengths, native = (np.round(column, 1) for column in map(np.array, made(40, 0.5)))
    report = length_partial_correlation(judge.tolist(), lengths.tolist(), native.tolist())
    r = stats.spearmanr(np.stack([judge, lengths, native], axis=1)).statistic
    expected = (r[0, 1] - r[0, 2] * r[1, 2]) / math.sqrt((1 - r[0, 2] ** 2) * (1 - r[1, 2] ** 2))
    assert report.correlation is not None
    assert report.correlation.estimate == pytest.approx(expected, rel=1e-9)
    assert report.plain == pytest.approx(r[0, 1], rel=1e-9)


def test_the_interval_holds_the_truth_about_as_often_as_it_says() -> None:
    held = 0
    for seed in range(150):
        report = length_partial_correlation(
            *made(60, bias=0.0, seed=seed),
            resampling=Resampling(seed=seed, n_resamples=200, level=0.9),
        )
        assert report.correlation is not None
        assert report.correlation.low is not None
        assert report.correlation.high is not None
        held += report.correlation.low <= 0 <= report.correlation.high
    assert 0.8 <= held / 150 <= 0.97


def test_rows_that_lack_a_number_are_left_out() -> None:
    judge, lengths, native = made(40, bias=0.5)
    whole = length_partial_correlation(judge, lengths, native)
    report = length_partial_correlation(
        [*judge, None, 0.5, 0.5], [*lengths, 3, None, 5], [*native, 0.1, 0.2, math.nan]
    )
    assert report.correlation == whole.correlation
    assert (report.n_rows, report.n_left_out) == (40, 3)
    assert "(40 rows, 3 excluded)" in report.text()


@every_row(
    ("judge", "lengths", "native"),
    [
        ([], [], []),
        ([1, 2, 3], [3, 1, 2], [1, 3, 2]),  # whatever they are, they leave 1 or -1
        ([1, 2], [2, 1], None),
        ([1, 1, 1, 1, 1], [3, 1, 2, 5, 4], [1, 3, 2, 5, 4]),
        ([1, 2, 3, 4, 5], [2, 2, 2, 2, 2], [1, 3, 2, 5, 4]),
        ([1, 2, 3, 4, 5], [3, 1, 2, 5, 4], [7, 7, 7, 7, 7]),
        ([1, 2, 3, 4, 5], [3, 1, 2, 5, 4], [10, 20, 30, 40, 50]),
        ([1, 2, 3, 4, 5], [2, 2, 2, 2, 2], None),
    ],
    ids=[
        "no rows",
        "three rows",
        "two rows",
        "constant judge",
        "constant lengths",
        "constant native",
        "native ranks as the judge does",
        "constant lengths, no native",
    ],
)
def test_without_a_correlation_there_is_none(
    judge: list[float], lengths: list[float], native: list[float] | None
) -> None:
    report = length_partial_correlation(judge, lengths, native)
    assert report.correlation is None
    assert (report.plain is None) is (len(judge) < 3 or 1 in (len(set(judge)), len(set(lengths))))
    assert "the correlation is undefined" in report.text()
    assert json.loads(json.dumps(report.to_dict(), allow_nan=False))["correlation"] is None


def test_resamples_of_too_few_different_rows_are_not_counted() -> None:
    """Three different rows always leave 1 or -1, which would widen the interval to all of it."""
    report = length_partial_correlation(
        [1, 2, 3, 4], [2, 1, 4, 3], [1, 4, 2, 3], resampling=Resampling(n_resamples=500)
    )
    assert report.correlation is not None
    assert report.correlation.n_resamples < 100  # 4!/4**4 of them draw all four


def test_the_seed_and_the_level_make_the_interval() -> None:
    columns = made(30, bias=0.5)
    first = length_partial_correlation(
        *columns, resampling=Resampling(seed=1, n_resamples=60, level=0.8)
    )
    assert (
        length_partial_correlation(
            *columns, resampling=Resampling(seed=1, n_resamples=60, level=0.8)
        )
        == first
    )
    assert (
        length_partial_correlation(
            *columns, resampling=Resampling(seed=2, n_resamples=60, level=0.8)
        )
        != first
    )
    assert first.correlation is not None
    assert (first.correlation.level, first.correlation.n_resamples) == (0.8, 60)


def test_columns_are_of_one_length() -> None:
    with pytest.raises(InputError, match="must have an entry for each row"):
        length_partial_correlation([1, 2], [1, 2, 3])


def test_the_correlation_as_json() -> None:
    report = length_partial_correlation(*made(30, bias=0.5))
    value = json.loads(json.dumps(report.to_dict(), allow_nan=False))
    assert (value["nRows"], value["nLeftOut"], value["givenNative"]) == (30, 0, True)
    assert value["correlation"]["nGroups"] == 30
