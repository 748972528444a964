"""Planning: what is said of too few rows, of rows that come and go, and of samples of no use."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_eval.errors import InputError
from rag_eval.planning import (
    DiagnosedSample,
    Outcome,
    SampleDiagnostics,
    flakiness,
    flakiness_of_run,
    holdout_breakdown,
    holdout_split,
    power_warnings,
    sample_diagnostics,
)
from rag_eval.runs.scored_run import ScoredRun
from tests.tables import every_row

# ------------------------------------------------------------------------------------ holdout


@given(st.integers(0, 300), st.floats(0, 1))
def test_a_split_takes_every_row_once_and_spreads_evenly(n_rows: int, ratio: float) -> None:
    split = holdout_split(n_rows, ratio)
    n_held = math.floor(n_rows * ratio + 0.5)
    if n_held < 3 or n_rows - n_held < 3:
        assert split is None
        return
    assert split is not None
    assert sorted(split.holdout + split.train) == list(range(n_rows))
    assert len(split.holdout) == n_held
    gaps = np.diff([*split.holdout, n_rows])
    assert gaps.max() - gaps.min() <= 1


def test_a_split_holds_out_the_rows_of_a_stride_in_floating_point() -> None:
    split = holdout_split(30, 0.73)
    assert split is not None
    assert {14, 15}.intersection(split.holdout) == {14}  # 11 times 30 / 22 is below 15


def test_rows_without_a_score_count_in_no_mean() -> None:
    found = holdout_breakdown({"a": [1.0, None, 0.5, math.nan, 0.0, 1.0]}, 0.5)
    assert found is not None
    # Held out are rows 0, 2 and 4.
    assert found["a"].to_dict() == {
        "trainMean": 1.0,
        "holdoutMean": 0.5,
        "nTrain": 3,
        "nHoldout": 3,
        "nTrainScored": 1,
        "nHoldoutScored": 3,
    }


@every_row(
    ("n_rows", "n_held", "place", "row"), [(30, 22, 11, 14), (30, 26, 13, 14), (45, 33, 11, 14)]
)
def test_the_stride_is_rounded_as_in_the_tool(
    n_rows: int, n_held: int, place: int, row: int
) -> None:
    """Its stride is a double: 11 times 30 / 22 is a little below 15."""
    split = holdout_split(n_rows, n_held / n_rows)
    assert split is not None
    assert (len(split.holdout), split.holdout[place]) == (n_held, row)


def test_a_side_without_scores_has_no_mean() -> None:
    found = holdout_breakdown({"a": [None, 1.0] * 3}, 0.5)
    assert found is not None
    assert (found["a"].train_mean, found["a"].holdout_mean) == (1.0, None)


def test_systems_with_different_rows_are_refused() -> None:
    with pytest.raises(
        InputError, match=r"every system must have the same number of scores, got {'a': 2, 'b': 1}"
    ):
        holdout_breakdown({"a": [1.0, 0.5], "b": [1.0]}, 0.5)


@every_row(("n_rows", "ratio"), [(-1, 0.5), (10, 1.5), (10, math.nan)])
def test_a_split_of_what_cannot_be_split_is_refused(n_rows: int, ratio: float) -> None:
    with pytest.raises(InputError, match=r"n_rows|ratio"):
        holdout_split(n_rows, ratio)


# ---------------------------------------------------------------------------------- warnings


def test_warnings_say_how_many_rows_there_are() -> None:
    tiny, single = power_warnings(4, 1)
    assert tiny.to_dict() == {
        "code": "tiny_n",
        "message": "4 rows: fewer than 5 can only show a complete failure",
    }
    assert single.code == "single_run"
    assert power_warnings(20, 2) == ()


# --------------------------------------------------------------------------------- flakiness


def test_rows_that_come_and_go_are_told_from_those_that_fail() -> None:
    ids = ["a", "b", "c", "a", "b", "c", "a", "b", "c"]
    scores = [0.9, 0.4, 0.1, 0.6, 0.5, 0.2, 0.7, 0.3, math.nan]
    found = flakiness(ids, scores, 0.5, fail_in=2)
    assert [row.n_passed for row in found.rows] == [3, 1, 0]
    assert [row.n_repeats for row in found.rows] == [3, 3, 2]
    assert found.straddling == ("b",)
    assert found.failing == ("b", "c")
    assert found.n_null == 1
    assert found.rows[0].std_dev == pytest.approx(np.std([0.9, 0.6, 0.7], ddof=1))
    variances = [np.var(row, ddof=1) for row in ([0.9, 0.6, 0.7], [0.4, 0.5, 0.3], [0.1, 0.2])]
    assert found.between_repeats == pytest.approx(math.sqrt(np.mean(variances)))
    assert flakiness(ids, scores, 0.5, fail_in=3).failing == ()


def test_lower_scores_pass_where_lower_is_better() -> None:
    found = flakiness(["a", "a"], [0.1, 0.6], 0.5, higher_is_better=False)
    assert (found.rows[0].n_passed, found.failing) == (1, ("a",))
    assert flakiness(["a"], [0.5], 0.5, higher_is_better=False).failing == ()


def test_a_single_repeat_has_no_spread() -> None:
    found = flakiness(["a", "b"], [0.1, math.nan], 0.5)
    assert found.rows[0].std_dev is None
    assert found.between_repeats is None
    assert [row["id"] for row in found.to_dict()["rows"]] == ["a"]


def run_of(ids: list[str], scores: list[float]) -> ScoredRun:
    column = np.array(scores)[:, np.newaxis]
    return ScoredRun(
        name="night.jsonl",
        ids=ids,
        metrics=("noise_sensitivity",),
        scores=column,
        null_reasons=np.zeros(column.shape, np.uint8),
        metric_passed=np.full(column.shape, -1, np.int8),
        composite=column[:, 0],
        passed=np.full(len(ids), -1, np.int8),
    )


def test_a_run_knows_which_way_its_metric_is_better() -> None:
    found = flakiness_of_run(run_of(["a", "b", "a"], [0.1, 0.2, 0.9]), "noise_sensitivity", 0.5)
    assert found.straddling == ("a",)
    assert found.failing == ("a",)


def test_a_run_without_repeats_is_refused() -> None:
    with pytest.raises(InputError, match=r"night.jsonl has no repeats: no two of its 2 rows"):
        flakiness_of_run(run_of(["a", "b"], [0.1, 0.2]), "noise_sensitivity", 0.5)


@every_row(
    ("scores", "threshold", "fail_in", "named"),
    [
        ([0.1], 0.5, 1, "scores"),
        ([0.1] * 2, math.nan, 1, "threshold"),
        ([0.1] * 2, 0, 0, "fail_in"),
    ],
)
def test_what_does_not_fit_is_named(
    scores: list[float], threshold: float, fail_in: int, named: str
) -> None:
    with pytest.raises(InputError, match=named):
        flakiness(["a", "b"], scores, threshold, fail_in=fail_in)


# ------------------------------------------------------------------------------- diagnostics


def codes(found: SampleDiagnostics, sample: str) -> list[str]:
    return [issue.code for issue in found.issues if issue.sample_id == sample]


def test_samples_that_tell_no_systems_apart() -> None:
    scores = {"all": [1.0, 1.0], "none": [0.0, 0.0], "flat": [0.5, 0.55], "fine": [0.2, 0.9]}
    found = sample_diagnostics(
        [
            DiagnosedSample(id=name, outcomes=[Outcome(score=score) for score in column])
            for name, column in scores.items()
        ]
    )
    assert [(one.sample_id, one.code) for one in found.issues] == [
        ("all", "all_pass"),
        ("none", "all_fail"),
        ("flat", "flat_scores"),
    ]
    assert found.health_score == 100 - 20 * (1 + 8 + 3) / 4


def test_one_system_tells_nothing_of_differences() -> None:
    found = sample_diagnostics([DiagnosedSample(id="a", outcomes=[Outcome(score=1.0)])])
    assert (found.issues, found.health_score) == ((), 100)


def test_a_text_is_a_duplicate_of_the_shorter_one_it_holds_not_of_the_longer() -> None:
    short, long = "ships every Tuesday", "the warehouse ships every Tuesday and on Fridays too"

    def compared(*texts: str) -> list[list[str]]:
        found = sample_diagnostics(
            [
                DiagnosedSample(id=str(place), outcomes=(), prompt=text)
                for place, text in enumerate(texts)
            ]
        )
        return [codes(found, str(place)) for place in range(len(texts))]

    assert compared(long, short) == [["near_duplicate"], []]
    assert compared(short, long) == [[], []]


def test_names_of_capabilities_may_be_spelled_in_any_way() -> None:
    spellings = ["api selection", "API-Selection", "apiSelection", *["fallback"] * 7]
    samples = [
        DiagnosedSample(id=str(place), outcomes=(), capabilities=[name])
        for place, name in enumerate(spellings)
    ]
    assert sample_diagnostics(samples).issues == ()
    thin = sample_diagnostics([*samples[1:], DiagnosedSample(id="x", outcomes=())])
    assert [(one.sample_id, one.code) for one in thin.issues] == [("1", "capability_thin")]


@every_row(
    ("rubric", "is_remarked"),
    [
        ("is it correct", True),
        ("nineteen characters", True),
        ("  nineteen characters  ", True),
        ("twenty characters are", False),
        # As JavaScript counts, in units of UTF-16.
        ("\U0001f600" * 10, False),
        ("   ", True),
        ("", False),
        (None, False),
        ("Good?", False),
        ("PASS or not", False),
        ("at least one", False),
        ("评分标准", False),
        ("必须包含来源", False),
        ("写得好", True),
    ],
)
def test_a_short_rubric_without_a_word_of_grading_is_remarked(
    rubric: str | None, is_remarked: bool
) -> None:
    found = sample_diagnostics([DiagnosedSample(id="a", outcomes=(), rubric=rubric)])
    assert codes(found, "a") == ["rubric_clarity_low"] * is_remarked


@every_row(
    ("n_samples", "n_testing", "is_thin"),
    [(9, 1, False), (10, 2, True), (10, 3, False), (14, 3, False), (15, 3, True), (20, 4, True)],
)
def test_a_capability_is_thin_below_a_fifth_of_the_samples(
    n_samples: int, n_testing: int, is_thin: bool
) -> None:
    samples = [
        DiagnosedSample(
            id=f"{place:02}", outcomes=(), capabilities=["a" if place < n_testing else "rest"]
        )
        for place in range(n_samples)
    ]
    assert codes(sample_diagnostics(samples), "00") == ["capability_thin"] * is_thin


@every_row(
    ("costs", "outliers"),
    [
        ([[0], [0], [0], [0], [1], [1], [10]], [6]),
        ([[1], [None], [None], [3]], []),
        ([[1], [1], [3]], [2]),
        ([[1], [1], [2.999]], []),
        # The sum over the systems, where what is not known is 0.
        ([[1, 1], [1, None], [3, 3]], [2]),
        ([[2, 2], [1, None], [1, None]], [0]),
        ([[None], [0]], []),
    ],
)
def test_outliers_cost_three_times_the_upper_median_of_those_that_cost_anything(
    costs: list[list[float | None]], outliers: list[int]
) -> None:
    for field, code in (("cost", "cost_outlier"), ("duration", "latency_outlier")):
        found = sample_diagnostics(
            [
                DiagnosedSample(
                    id=str(place),
                    outcomes=[Outcome(score=None, **{field: value}) for value in values],  # type: ignore[arg-type]
                )
                for place, values in enumerate(costs)
            ]
        )
        assert [(one.sample_id, one.code) for one in found.issues] == [
            (str(place), code) for place in outliers
        ]


@every_row(
    ("ok", "severity"),
    [
        ([True, True], None),
        ([True, False], "warning"),
        ([False, False], "error"),
        ([False], "error"),
    ],
)
def test_a_sample_that_failed_in_every_run_is_an_error(
    ok: list[bool], severity: str | None
) -> None:
    outcomes = [Outcome(score=None, ok=one) for one in ok]
    found = sample_diagnostics([DiagnosedSample(id="a", outcomes=outcomes)])
    assert [one.severity for one in found.issues] == ([] if severity is None else [severity])


def test_nothing_has_no_health() -> None:
    """omk gives it 100."""
    found = sample_diagnostics([])
    assert found.to_dict()["healthScore"] is None


def test_an_id_that_repeats_is_refused() -> None:
    twice = [DiagnosedSample(id="a", outcomes=())] * 2
    with pytest.raises(InputError, match="sample ids must be unique, got 'a' twice"):
        sample_diagnostics(twice)
