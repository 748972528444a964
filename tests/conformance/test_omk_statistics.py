"""The bootstrap, the statistics of repeats and saturation against omk."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from statistics import median
from typing import Any

import numpy as np
import pytest
import scipy.stats

from rag_eval.errors import InputError
from rag_eval.stats import bootstrap_intervals
from rag_eval.stats.distributions import t_quantile
from rag_eval.stats.omk import means, repeats
from rag_eval.stats.omk.bootstrap import (
    OMK_SEED,
    bootstrap_diff_ci,
    bootstrap_mean_ci,
    bootstrap_metric_ci,
    bootstrap_paired_diff_ci,
    ci_level_label,
    mulberry32_indices,
)
from rag_eval.stats.omk.settling import THRESHOLDS, Saturation, saturation
from tests.conformance.other_tools import cases, same
from tests.tables import every_row

OWNED = (
    "omk.rng_indices",
    "omk.bootstrap_mean_ci",
    "omk.bootstrap_diff_ci",
    "omk.bootstrap_paired_diff_ci",
    "omk.bootstrap_metric_ci",
    "omk.ci_level_label",
    "omk.stats.mean",
    "omk.stats.stddev",
    "omk.stats.t_interval",
    "omk.stats.welch_t_test",
    "omk.stats.effect_size",
    "omk.stats.p_value_bucket",
    "omk.saturation",
    "omk.stability_cv",
    "omk.variance_data",
    "omk.variant_summary",
)
CASES = {case["id"]: case for function in OWNED for case in cases(function)}

METRICS: dict[str, Callable[[Sequence[float]], float]] = {
    "median": median,
    "max": max,
    "share_ge_4": lambda scores: sum(score >= 4 for score in scores) / len(scores),
}


def ids_of(function: str) -> list[str]:
    found = [name for name, case in CASES.items() if case["fn"] == function]
    assert found
    return found


def check(name: str, found: object) -> None:
    assert same(found, CASES[name]["expected"]), (found, CASES[name]["expected"])


def options(args: dict[str, Any]) -> dict[str, Any]:
    return {
        "alpha": args["alpha"],
        "samples": args["samples"],
        "seed": OMK_SEED if args["seed"] is None else args["seed"],
    }


def test_no_case_is_left_out() -> None:
    assert len(CASES) == 311


@every_row("name", ids_of("rng_indices"))
def test_drawn_places(name: str) -> None:
    args = CASES[name]["args"]
    n, seed = args["length"], OMK_SEED if args["seed"] is None else args["seed"]
    found: list[int] = []
    for block in mulberry32_indices((n,), -(-args["count"] // n), seed):
        found += block.ravel().tolist()
    check(name, found[: args["count"]])


@every_row("name", ids_of("bootstrap_mean_ci"))
def test_interval_of_a_mean(name: str) -> None:
    args = CASES[name]["args"]
    check(name, bootstrap_mean_ci(args["scores"], **options(args)).to_dict())


@every_row("name", ids_of("bootstrap_diff_ci"))
def test_interval_of_a_difference(name: str) -> None:
    args = CASES[name]["args"]
    found = bootstrap_diff_ci(args["control"], args["treatment"], **options(args))
    check(name, found.to_dict())


@every_row("name", ids_of("bootstrap_paired_diff_ci"))
def test_interval_of_the_difference_of_pairs(name: str) -> None:
    args = CASES[name]["args"]
    check(name, bootstrap_paired_diff_ci(args["pairs"], **options(args)).to_dict())


@every_row("name", ids_of("bootstrap_metric_ci"))
def test_interval_of_any_number(name: str) -> None:
    args = CASES[name]["args"]
    found = bootstrap_metric_ci(args["scores"], METRICS[args["metric"]], **options(args))
    check(name, found.to_dict())


@every_row("name", ids_of("ci_level_label"))
def test_label_of_a_level(name: str) -> None:
    check(name, ci_level_label(CASES[name]["args"]["alpha"]))


@every_row("name", [*ids_of("stats.mean"), *ids_of("stats.stddev")])
def test_mean_and_standard_deviation(name: str) -> None:
    function = getattr(means, CASES[name]["fn"].removeprefix("stats."))
    check(name, function(CASES[name]["args"]["values"]))


@every_row("name", ids_of("stats.t_interval"))
def test_t_interval(name: str) -> None:
    check(name, means.t_interval(CASES[name]["args"]["values"]).to_dict())


@every_row("name", [*ids_of("stats.welch_t_test"), *ids_of("stats.effect_size")])
def test_two_samples(name: str) -> None:
    args = CASES[name]["args"]
    function = getattr(means, CASES[name]["fn"].removeprefix("stats."))
    check(name, function(args["a"], args["b"]).to_dict())


@every_row("name", ids_of("stats.p_value_bucket"))
def test_class_of_a_p_value(name: str) -> None:
    args = CASES[name]["args"]
    check(name, means.p_value_bucket(float(args["t"]), float(args["df"])))


def saturation_of(args: dict[str, Any]) -> Saturation:
    return saturation(
        args["cumulative_scores"],
        method=args["method"],
        threshold=args["threshold"],
        window_size=args["window_size"] or 3,
        bootstrap_samples=args["bootstrap_samples"],
        seed=OMK_SEED if args["seed"] is None else args["seed"],
    )


@every_row("name", ids_of("saturation"))
def test_saturation(name: str) -> None:
    found = saturation_of(CASES[name]["args"])
    check(
        name,
        {
            "saturated": found.saturated,
            "at_n": found.at_n,
            "confidence": found.confidence,
            "threshold": found.threshold,
            "trace": [{"n": n, "metric": value} for n, value in found.trace],
        },
    )
    assert "the same samples" in found.assumes


@every_row("name", ids_of("variance_data"))
def test_spread_over_runs(name: str) -> None:
    args = CASES[name]["args"]
    found = repeats.variance_data(
        args["runs"], bootstrap_samples=args["bootstrap_samples"], seed=args["seed"]
    )
    check(name, found)


@every_row("name", ids_of("stability_cv"))
def test_stability(name: str) -> None:
    check(name, repeats.stability_cv(CASES[name]["args"]["report"]))


@every_row("name", ids_of("variant_summary"))
def test_summary_of_a_variant(name: str) -> None:
    check(name, repeats.variant_summary(CASES[name]["args"]["entries"]))


# ------------------------------------------------------------------------------ beside the vectors


@every_row("method", list(THRESHOLDS))
def test_constant_scores_saturate_whatever_the_method(method: Any) -> None:
    """Said in the result: no method can tell a settled mean from samples that are all alike."""
    pools: Sequence[list[float]] = [[3.0] * (5 * k) for k in range(1, 8)]
    found = saturation(pools, method=method)
    assert found.saturated
    assert found.to_dict()["assumes"]


def test_resamples_without_the_number_are_left_out() -> None:
    """There a NaN is sorted anywhere, and bounds are NaN or wrong."""

    def spread(scores: Sequence[float]) -> float:
        return max(scores) - min(scores) or math.nan

    found = bootstrap_metric_ci([1.0, 3.0], spread, samples=200)
    assert (found.low, found.high, found.estimate, found.samples) == (2, 2, 2, 200)
    nothing = bootstrap_metric_ci([1.0, 1.0], spread, samples=200)
    assert nothing.to_dict() == {"low": None, "high": None, "estimate": None, "samples": 200}


def test_a_bound_of_zero_is_not_significant() -> None:
    """0 is inside the closed interval, and bounds are rounded before they are looked at."""
    assert bootstrap_paired_diff_ci([(1, 1), (1, 1), (1, 2)]).significant is False
    assert bootstrap_paired_diff_ci([(0, 0.00004), (0, 0.00003)]).significant is False
    assert bootstrap_paired_diff_ci([(0, -0.0001), (0, -0.0002)]).significant is True


def test_the_intervals_of_omk_and_our_own_come_from_one_loop() -> None:
    scores = [3.0, 4.5, 2.0, 5.0, 3.5, 1.0, 4.0]
    theirs = bootstrap_mean_ci(scores, samples=400, seed=9)
    (ours,) = bootstrap_intervals(scores, indices=mulberry32_indices((7,), 400, 9))
    assert ours.low is not None
    assert ours.high is not None
    assert [theirs.low, theirs.high] == pytest.approx([ours.low, ours.high], abs=5.1e-5)


@every_row(
    ("call", "message"),
    [
        (lambda: bootstrap_mean_ci([1, math.nan]), "scores 1 must be finite, got nan"),
        (lambda: bootstrap_mean_ci([1, None]), "scores 1 must be a number, got NoneType"),  # type: ignore[list-item]
        (lambda: bootstrap_mean_ci([1, 2], alpha=1), "alpha must be between 0 and 1, got 1"),
        (lambda: bootstrap_mean_ci([], samples=0), "samples must be a whole number of at least 1"),
        (lambda: bootstrap_diff_ci([1], [math.inf]), "treatment 0 must be finite, got inf"),
        (lambda: bootstrap_paired_diff_ci([(1, 2), (1,)]), "pair 1 must be two scores, got 1"),
        (
            lambda: saturation([[1.0], []]),
            "cumulative_scores must include the scores of all earlier repeats",
        ),
        (lambda: saturation([], window_size=0), "window_size must be a whole number of at least 1"),
        (lambda: saturation([], threshold=-1), "threshold must be at least 0, got -1"),
        (lambda: saturation([], method="slopes"), "method must be 'bootstrap-ci-width', 'slope'"),  # type: ignore[arg-type]
    ],
)
def test_what_is_refused(call: Callable[[], object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        call()


def test_a_repeat_that_scored_nothing_does_not_settle_a_mean() -> None:
    """There its slope is 0, as that of a mean that has settled."""
    pools = [[3.0, 4.0]] * 6
    assert not saturation(pools, method="slope").saturated
    assert saturation(pools, method="slope").to_dict()["trace"][0]["metric"] is None


@every_row(("n", "confidence"), [(19, "low"), (20, "medium"), (49, "medium"), (50, "high")])
def test_confidence_is_by_the_last_pool(n: int, confidence: str) -> None:
    assert saturation([[3.0] * n]).confidence == confidence


@every_row(("n", "primary"), [(9, "g"), (10, "d")])
def test_twenty_values_are_no_longer_few(n: int, primary: str) -> None:
    assert means.effect_size([1.0, 2.0] * 5, [3.0] * n).primary == primary


@every_row("df", range(1, 31))
def test_tables_are_those_of_the_distribution(df: int) -> None:
    for share, name in ((0.001, "<0.001"), (0.01, "<0.01"), (0.05, "<0.05")):
        exact = t_quantile(1 - share / 2, df)
        assert means.p_value_bucket(exact + 0.0006, df) == name
        assert means.p_value_bucket(exact - 0.0006, df) != name


def test_welch_and_effect_sizes_are_those_of_scipy() -> None:
    generator = np.random.default_rng(0)
    for n, m in ((2, 3), (10, 4), (40, 60)):
        a, b = generator.normal(size=n).tolist(), generator.normal(0.5, 2, m).tolist()
        oracle = scipy.stats.ttest_ind(a, b, equal_var=False)
        found = means.welch_t_test(a, b)
        assert found.t_statistic == pytest.approx(oracle.statistic, abs=5.1e-5)
        assert found.df == max(1, math.floor(oracle.df))
        pooled = scipy.stats.ttest_ind(a, b).statistic * math.sqrt(1 / n + 1 / m)
        assert means.effect_size(a, b).cohens_d == pytest.approx(pooled, abs=5.1e-5)
