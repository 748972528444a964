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


def test_nothing_has_no_health() -> None:
    found = sample_diagnostics([])
    assert found.to_dict()["healthScore"] is None


def test_an_id_that_repeats_is_refused() -> None:
    twice = [DiagnosedSample(id="a", outcomes=())] * 2
    with pytest.raises(InputError, match="sample ids must be unique, got 'a' twice"):
        sample_diagnostics(twice)
