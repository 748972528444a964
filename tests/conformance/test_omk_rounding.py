"""Figures of omk 0.54.0 that hang on the order of additions or on how a tie is rounded.

Every one was taken from the tool under Node 20. They stand beside the vectors, none of which is
near a tie: Number(x.toFixed(4)) and Math.round(x * 1e4) / 1e4 agree on all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rag_eval.scorers.omk.grading import fact_with_paths
from rag_eval.scorers.omk.judges import judge_agreement, repeated_score
from rag_eval.stats.omk.bootstrap import (
    bootstrap_diff_ci,
    bootstrap_mean_ci,
    bootstrap_metric_ci,
    bootstrap_paired_diff_ci,
    ci_level_label,
)
from rag_eval.stats.omk.means import effect_size, mean, p_value_bucket, stddev, t_interval
from rag_eval.stats.omk.repeats import variance_data, variant_summary
from rag_eval.stats.omk.settling import saturation


def wrong(function: Callable[..., Any], rows: list[tuple[Any, Any]]) -> list[Any]:
    """What a function has otherwise than the tool."""
    return [(given, found) for given, there in rows if (found := function(given)) != there]


def bounds(*, significant: bool | None = None, **found: Any) -> dict[str, Any]:
    return found if significant is None else {**found, "significant": significant}


def test_the_bounds_of_a_t_interval_are_printed_and_not_multiplied() -> None:
    """``toFixed`` looks at the double itself, of which a product has lost what is beside a tie."""

    def found(values: list[float]) -> list[float]:
        return list(t_interval(values).to_dict().values())

    rows = [
        ([0.5, 0.25], [0.375, -1.2132, 1.9632, 0.1768]),
        ([5.0, 1.25], [3.125, -20.6988, 26.9488, 2.6517]),
        ([4.33, 3.48], [3.905, -1.495, 9.305, 0.601]),
        ([3.25, 2.0], [2.625, -5.3163, 10.5663, 0.8839]),
        ([2.88, 2.48, 4.94, 1.16, 3.13, 2.77, 1.51, 2.58], [2.6812, 1.7285, 3.634, 1.1394]),
        ([0.375, 0.21875, 0.3125, 0.8125, 0.8125], [0.5062, 0.1524, 0.8601, 0.285]),
    ]
    assert wrong(found, rows) == []


def test_means_and_deviations_are_the_same_to_the_last_digit() -> None:
    """The mean keeps what its additions lose, squares are summed without."""
    rows = [
        ([0.2, 0.7, 0.2], 0.3666666666666667),
        ([0.1, 0.2, 0.3], 0.19999999999999998),
        ([0.3, 0.7, 0.3], 0.4333333333333333),
    ]
    assert wrong(mean, rows) == []
    assert wrong(stddev, [([3.49, 1.8, 4.25], 1.25407336308527)]) == []


def test_an_effect_size_is_rounded_as_printed() -> None:
    found = effect_size([0.3, 0.3, 0.2, 0.7, 0.2, 0.1, 0.1, 0.3], [0.625, 0.5])
    assert (found.cohens_d, found.hedges_g, found.pooled_stddev) == (-1.5862, -1.4327, 0.1812)


def test_less_than_one_degree_of_freedom_counts_as_one() -> None:
    assert p_value_bucket(700.0, 0.5) == "<0.001"
    assert p_value_bucket(float("inf"), 3.0) == "≥0.05"


def test_bounds_of_a_mean_are_those_of_sums_in_the_order_of_the_draws() -> None:
    """Regression: a matrix product adds in another order, and one bound in 700 moved by 0.0001."""

    def found(given: tuple[list[float], float, int, int]) -> dict[str, Any]:
        scores, alpha, samples, seed = given
        return bootstrap_mean_ci(scores, alpha=alpha, samples=samples, seed=seed).to_dict()

    eight = [0.1, 0.7, 0.1, 0.3, 0.3, 0.1, 0.7, 0.3]
    rows = [
        (
            ([1.48, 4.39, 4.1, 1.26], 0.05, 2, 20260616),
            bounds(low=2.0477, high=2.9123, estimate=2.8075, samples=2),
        ),
        (
            ([1.25, 4.75, 3.75, 3.25, 5.0], 0.05, 50, 20260616),
            bounds(low=2.2838, high=4.5663, estimate=3.6, samples=50),
        ),
        ((eight, 0.1, 50, -5), bounds(low=0.2, high=0.4638, estimate=0.325, samples=50)),
        (
            ([0.1, 0.7, 0.7, 0.7], 1 / 60, 2, 20260616),
            bounds(low=0.4013, high=0.5488, estimate=0.55, samples=2),
        ),
        (
            ([0.96875, 0.875], 0.05, 2, 20260616),
            bounds(low=0.9687, high=0.9688, estimate=0.9219, samples=2),
        ),
        (
            ([3.36, 1.47, 4.81, 1.29, 1.99], 0.05, 50, -5),
            bounds(low=1.6362, high=3.7867, estimate=2.584, samples=50),
        ),
    ]
    assert wrong(found, rows) == []


def test_bounds_of_differences_are_those_of_sums_in_the_order_of_the_draws() -> None:
    unpaired = bootstrap_diff_ci(
        [0.9842], [0.364, 0.692, 0.12325], alpha=0.1, samples=100, seed=20260616
    )
    assert unpaired.to_dict() == bounds(
        low=-0.861, high=-0.4015, estimate=-0.5911, samples=100, significant=True
    )
    paired = bootstrap_paired_diff_ci(
        [(0.2, 2.5), (0.3, 4.75)], alpha=0.01, samples=2, seed=190714725
    )
    assert paired.to_dict() == bounds(
        low=2.3108, high=4.4393, estimate=3.375, samples=2, significant=True
    )


def test_a_metric_gets_its_scores_in_the_order_of_the_draws() -> None:
    def fading(scores: Any) -> float:
        total = 0.0
        for score in scores:
            total = total * 0.5 + score
        return total

    found = bootstrap_metric_ci([0.1, 0.7, 0.2], fading, alpha=0.1, samples=1, seed=-5)
    assert found.to_dict() == bounds(low=0.425, high=0.425, estimate=0.575, samples=1)


def test_the_label_of_a_level_is_printed_with_one_decimal() -> None:
    assert wrong(ci_level_label, [(0.05, "95%"), (1 / 60, "98.3%"), (0.0195, "98%")]) == []


def test_the_judges_of_a_sample_are_added_one_by_one() -> None:
    def differences(matrix: list[list[float]]) -> float:
        return float(judge_agreement(matrix)["meanAbsDiff"])

    rows = [
        ([[2.56], [0.125], [0.1], [0.5]], 1.293),
        ([[4.5, 1.75], [0.5625, 3.19], [0.7, 1.83]], 1.793),
        ([[2.06, 2.5, 3.0, 4.05], [0.7, 0.1, 0.1875, 0.3125]], 2.577),
    ]
    assert wrong(differences, rows) == []


def test_a_single_judgement_is_not_rounded() -> None:
    assert repeated_score([2.5997769473990853])["score"] == 2.5997769473990853
    assert repeated_score([2.5997769473990853] * 2)["score"] == 2.6


def test_the_extremes_of_a_summary_have_two_decimals() -> None:
    found = variant_summary([{"ok": True, "compositeScore": 2.443259664375973}])
    assert (found["minCompositeScore"], found["maxCompositeScore"]) == (2.44, 2.44)


def test_the_share_of_known_paths_is_rounded_before_it_is_a_score() -> None:
    # One path of three: 0.33 and so 2.32, where 1 + 4 / 3 would be 2.33.
    assert fact_with_paths(None, "a/x.py b/y.py c/z.py", ["a/x.py"]) == 2.32


def test_saturation_compares_what_it_reports() -> None:
    """The change is rounded to four decimals first, and no scores are no checkpoint."""
    pools = [[], [4.0], [4.0, 3.80002]]
    found = saturation(pools, method="slope", threshold=0.1, window_size=1)
    assert (found.saturated, found.at_n, found.trace) == (True, 2, ((2, 0.1),))
    assert saturation([[], []], method="slope", window_size=1).trace == ()


def test_a_variant_that_was_never_scored_is_not_compared() -> None:
    summary = {"a": {"avgCompositeScore": 3.0}, "b": {}}
    run = {"meta": {"variants": ["a", "b"]}, "summary": summary, "results": []}
    found = variance_data([run, run], bootstrap_samples=10)
    assert found is not None
    assert (list(found["perVariant"]), found["comparisons"]) == (["a"], [])
