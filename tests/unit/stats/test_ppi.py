"""Prediction-powered means, by hand, by law and by a small simulation."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

from rag_eval.errors import InputError
from rag_eval.stats import PpiEstimate, ppi_difference, ppi_mean
from rag_eval.stats.sampling_designs import (
    assumed_spreads,
    proportional_draw,
    score_strata,
    stratified_draw,
    uniform_draw,
)
from tests.tables import every_row

N = 1_000


def rows(seed: int = 0, n_rows: int = N, share: float = 0.7) -> tuple[Any, Any]:
    """Labels of 0 and 1, and scores that go with them."""
    generator = np.random.default_rng(seed)
    truth, noise = generator.standard_normal((2, n_rows))
    labels = (truth > np.quantile(truth, 1 - share)).astype(float)
    return labels, np.clip(0.5 + 0.3 * truth + 0.2 * noise, 0, 1)


def estimate(n: int = 100, seed: int = 0, **options: Any) -> PpiEstimate:
    labels, scores = rows(seed)
    drawn = uniform_draw(N, n, seed=seed).rows
    return ppi_mean(scores, labels[drawn], drawn, **options)


# ------------------------------------------------------------------------------------- by hand


def test_scores_at_face_value_are_corrected_by_the_labelled_rows() -> None:
    # Mean score 0.5. On the labelled rows labels less scores are 0.1 and 0.3: 0.2 is added.
    found = ppi_mean([0.2, 0.4, 0.6, 0.8], [0.5, 0.9], [1, 2], weight=1)
    assert found.estimate == pytest.approx(0.7)
    # Half of the rows are known; s² of (0.1, 0.3) is 0.02.
    assert found.standard_error == pytest.approx(math.sqrt(0.5 * 0.02 / 2))
    assert found.labels_alone.estimate == pytest.approx(0.7)
    assert (found.n_labels, found.n_rows, found.weight) == (2, 4, 1)


def test_the_weight_is_the_slope_of_least_squares() -> None:
    labels, scores = rows()
    drawn = uniform_draw(N, 60, seed=1).rows
    found = ppi_mean(scores, labels[drawn], drawn)
    slope, level = np.polyfit(scores[drawn], labels[drawn], 1)
    assert found.weight == pytest.approx(slope)
    assert found.estimate == pytest.approx(level + slope * scores.mean())
    assert found.correlation == pytest.approx(np.corrcoef(scores[drawn], labels[drawn])[0, 1])


def test_the_variance_is_that_of_residuals_by_leverage() -> None:
    labels, scores = rows()
    drawn = uniform_draw(N, 60, seed=1).rows
    found = ppi_mean(scores, labels[drawn], drawn)
    design = np.stack([np.ones(60), scores[drawn]], axis=1)
    hat = design @ np.linalg.inv(design.T @ design) @ design.T
    residuals = labels[drawn] - hat @ labels[drawn]
    variance = (1 - 60 / N) * (residuals**2 / (1 - np.diag(hat))).sum() / 60**2
    assert found.standard_error == pytest.approx(math.sqrt(variance))
    population = ppi_mean(scores, labels[drawn], drawn, target="population")
    total = variance + labels[drawn].var(ddof=1) / N
    assert population.standard_error == pytest.approx(math.sqrt(total))
    assert population.estimate == found.estimate


def test_labels_alone_are_the_mean_with_its_finite_population_correction() -> None:
    labels, scores = rows()
    drawn = uniform_draw(N, 60, seed=1).rows
    found = ppi_mean(scores, labels[drawn], drawn, weight=0)
    assert found.interval == found.labels_alone
    assert found.estimate == pytest.approx(labels[drawn].mean())
    expected = math.sqrt((1 - 60 / N) * labels[drawn].var(ddof=1) / 60)
    assert found.standard_error == pytest.approx(expected)
    assert found.equivalent_labels == pytest.approx(60)


def test_bounds_of_shares_are_wilsons_for_the_rows_that_give_the_variance() -> None:
    labels, scores = rows()
    drawn = uniform_draw(N, 60, seed=1).rows
    found = ppi_mean(scores, labels[drawn], drawn, weight=0, target="population").interval
    mean = labels[drawn].mean()
    n_effective = (
        mean
        * (1 - mean)
        / (mean * (1 - mean) / 59 * (1 - 60 / N) + mean * (1 - mean) * 60 / 59 / N)
    )
    quantile = stats.t.ppf(0.975, 59)
    for bound in (found.low, found.high):
        # The bounds are where the estimate lies that many standard errors off.
        assert bound is not None
        assert abs(mean - bound) == pytest.approx(
            quantile * math.sqrt(bound * (1 - bound) / n_effective)
        )


def test_labels_without_bounds_have_the_interval_of_t() -> None:
    labels, scores = rows()
    drawn = uniform_draw(N, 60, seed=1).rows
    found = ppi_mean(scores, 5 * labels[drawn], drawn)
    reach = stats.t.ppf(0.975, 58) * found.standard_error
    assert found.interval.method == "t"
    assert found.interval.low == pytest.approx(found.estimate - reach)
    assert found.interval.high == pytest.approx(found.estimate + reach)


def test_strata_are_weighted_by_their_rows() -> None:
    """Against the formula of the textbook: W² (1 - n/N) s² / n over the strata."""
    labels, scores = rows()
    strata = score_strata(scores, 4)
    drawn = stratified_draw(strata, [0.3, 0.5, 0.5, 0.3], 80, seed=2)
    found = ppi_mean(
        scores,
        labels[drawn.rows],
        drawn.rows,
        probabilities=drawn.probabilities,
        strata=drawn.strata,
        weight=0,
    )
    assert drawn.strata is not None
    mean, variance = 0.0, 0.0
    for stratum in range(4):
        inside = labels[drawn.rows][drawn.strata == stratum]
        n_rows, n = np.count_nonzero(strata == stratum), len(inside)
        mean += n_rows / N * inside.mean()
        variance += (n_rows / N) ** 2 * (1 - n / n_rows) * inside.var(ddof=1) / n
    assert found.estimate == pytest.approx(mean)
    assert found.standard_error == pytest.approx(math.sqrt(variance))


def test_unequal_probabilities_weigh_labels_inversely() -> None:
    scores, labels = [0.1, 0.5, 0.9, 0.3], [1.0, 0.0]
    found = ppi_mean(scores, labels, [0, 2], probabilities=[0.25, 1.0], weight=0)
    assert found.estimate == pytest.approx(4 / 5)
    # Mean score 0.45: labels less scores around it are 1.35 and -0.45, for four rows and for one.
    unbounded = ppi_mean(
        scores, labels, [0, 2], probabilities=[0.25, 1.0], weight=1, bounds=(-1, 2)
    )
    assert unbounded.estimate == pytest.approx((4 * 1.35 - 0.45) / 5)


def test_the_weight_of_unequal_probabilities_is_the_one_of_least_variance() -> None:
    """Squares count (1 - p) / p² of each row: those rarely drawn stand for most."""
    labels, scores = rows()
    drawn = proportional_draw(0.05 + scores, 100, seed=3)
    p, f, y = drawn.probabilities, scores[drawn.rows], labels[drawn.rows]
    x, z = f - np.average(f, weights=1 / p), y - np.average(y, weights=1 / p)
    found = ppi_mean(scores, y, drawn.rows, probabilities=p)
    q = (1 - p) / p**2
    assert found.weight == pytest.approx((q * x * z).sum() / (q * x**2).sum())


def test_probabilities_of_all_rows_do_as_well() -> None:
    labels, scores = rows()
    sizes = assumed_spreads(scores)
    drawn = proportional_draw(sizes, 100, seed=3)
    every = sizes * 100 / sizes.sum()
    ours = ppi_mean(scores, labels[drawn.rows], drawn.rows, probabilities=drawn.probabilities)
    theirs = ppi_mean(scores, labels[drawn.rows], drawn.rows, probabilities=every)
    assert ours.estimate == pytest.approx(theirs.estimate, rel=1e-12)
    assert ours.standard_error == pytest.approx(theirs.standard_error, rel=1e-12)


def test_a_cross_fitted_weight_is_that_of_the_other_folds() -> None:
    labels, scores = rows()
    drawn = uniform_draw(N, 50, seed=1).rows
    y, f = labels[drawn], scores[drawn]
    folds = np.random.default_rng(0).permutation(50) % 5
    # Around the means of all labelled rows: those know no slope.
    x, z = f - f.mean(), y - y.mean()
    slopes = [(x * z)[folds != k].sum() / (x**2)[folds != k].sum() for k in range(5)]
    expected = np.mean(y - np.array(slopes)[folds] * (f - scores.mean()))
    found = ppi_mean(scores, y, drawn, cross_fit=True)
    assert found.estimate == pytest.approx(expected)
    assert found.weight == pytest.approx(np.mean(np.array(slopes)[folds]))
    assert found.weight != ppi_mean(scores, y, drawn).weight
    assert ppi_mean(scores, y, drawn, cross_fit=True, seed=1).estimate != found.estimate


# ---------------------------------------------------------------------------------------- laws


def test_the_scale_of_the_scores_does_not_matter() -> None:
    labels, scores = rows()
    drawn = uniform_draw(N, 60, seed=1).rows
    found = ppi_mean(scores, labels[drawn], drawn)
    other = ppi_mean(7 - 3 * scores, labels[drawn], drawn)
    assert other.estimate == pytest.approx(found.estimate)
    assert other.standard_error == pytest.approx(found.standard_error)
    assert other.weight == pytest.approx(-found.weight / 3)


def test_the_order_of_labels_does_not_matter() -> None:
    labels, scores = rows()
    drawn = uniform_draw(N, 60, seed=1).rows
    turned = drawn[::-1]
    found, other = (ppi_mean(scores, labels[which], which) for which in (drawn, turned))
    assert other.estimate == pytest.approx(found.estimate)
    assert other.interval.low == pytest.approx(found.interval.low)


def test_more_labels_would_do_what_the_scores_did() -> None:
    """As many labels as the result says have its standard error, of the same spread."""
    labels, scores = rows()
    drawn = uniform_draw(N, 60, seed=1).rows
    for target in ("rows", "population"):
        found = ppi_mean(scores, labels[drawn], drawn, target=target)
        n = found.equivalent_labels
        assert n is not None
        assert n > 60
        share = n / N if target == "rows" else 0
        assert found.standard_error == pytest.approx(
            math.sqrt((1 - share) * labels[drawn].var(ddof=1) / n)
        )


def test_the_width_follows_theory() -> None:
    """sqrt(1 - rho² (1 - n/N)) times that of labels alone, when scores are a line and noise."""
    generator = np.random.default_rng(5)
    scores, noise = generator.standard_normal((2, 20_000))
    labels = 10 + 0.8 * scores + 0.6 * noise
    drawn = uniform_draw(20_000, 4_000, seed=1).rows
    found = ppi_mean(scores, labels[drawn], drawn, target="population")
    assert found.width_ratio == pytest.approx(math.sqrt(1 - 0.64 * 0.8), rel=0.02)


def test_every_row_its_own_cluster_is_no_clusters() -> None:
    plain = estimate(target="population")
    clustered = estimate(target="population", clusters=np.arange(N))
    assert clustered.estimate == plain.estimate
    assert clustered.standard_error == pytest.approx(plain.standard_error, rel=0.02)
    assert clustered.n_clusters == 100


def test_clusters_whose_rows_are_alike_widen_the_interval_of_the_population() -> None:
    generator = np.random.default_rng(2)
    clusters = np.arange(N) % 25
    truth = generator.standard_normal(25)[clusters] + 0.5 * generator.standard_normal(N)
    labels, scores = (truth > 0).astype(float), truth + generator.standard_normal(N)
    drawn = uniform_draw(N, 200, seed=1).rows
    options: dict[str, Any] = {"clusters": clusters, "target": "population"}
    named = ppi_mean(scores, labels[drawn], drawn, **options)
    blind = ppi_mean(scores, labels[drawn], drawn, target="population")
    assert named.n_clusters == 25
    assert named.standard_error > 1.8 * blind.standard_error
    # These rows are what they are, clusters or not.
    options["target"] = "rows"
    assert ppi_mean(scores, labels[drawn], drawn, **options) == ppi_mean(
        scores, labels[drawn], drawn
    )


def test_cluster_sums_by_hand() -> None:
    """Two labels in each of five clusters of two rows; nothing is predicted."""
    labels = np.array([0, 2, 1, 3, 5, 7, 2, 2, 0, 8.0])
    clusters = np.repeat(np.arange(5), 2)
    found = ppi_mean(
        np.zeros(10), labels, np.arange(10), clusters=clusters, target="population", weight=0
    )
    means = labels.reshape(5, 2).mean(axis=1)
    assert found.standard_error == pytest.approx(means.std(ddof=1) / math.sqrt(5))
    reach = stats.t.ppf(0.975, 4) * found.standard_error
    assert found.interval.high == pytest.approx(labels.mean() + reach)


def test_below_five_clusters_there_is_no_interval() -> None:
    found = estimate(target="population", clusters=np.arange(N) % 4)
    assert (found.interval.low, found.interval.high, found.interval.too_few) == (None, None, True)
    assert found.width_ratio is None
    assert any("only 4 clusters" in remark for remark in found.remarks)


def test_a_difference_is_the_mean_of_differences() -> None:
    labels, scores = rows()
    other_labels, other_scores = rows(share=0.6)
    drawn = uniform_draw(N, 80, seed=1).rows
    found = ppi_difference(scores, other_scores, labels[drawn], other_labels[drawn], drawn)
    expected = ppi_mean(
        scores - other_scores, labels[drawn] - other_labels[drawn], drawn, bounds=(-9, 9)
    )
    assert found.estimate == pytest.approx(expected.estimate)
    assert found.standard_error == pytest.approx(expected.standard_error)
    assert found.interval.method == "t"
    back = ppi_difference(other_scores, scores, other_labels[drawn], labels[drawn], drawn)
    assert back.estimate == pytest.approx(-found.estimate)
    assert back.interval.high == pytest.approx(-(found.interval.low or 0))


# --------------------------------------------------------------------------------------- edges


def test_when_all_rows_are_labelled_the_mean_is_known() -> None:
    labels, scores = rows()
    found = ppi_mean(scores, labels, np.arange(N))
    assert found.interval.low == found.interval.high == pytest.approx(labels.mean())
    assert not found.interval.too_few
    # Their population is not.
    population = ppi_mean(scores, labels, np.arange(N), target="population")
    assert population.standard_error == pytest.approx(labels.std(ddof=1) / math.sqrt(N))


def test_labels_that_are_all_good_leave_room_for_some_that_are_not() -> None:
    _, scores = rows()
    drawn = uniform_draw(N, 100, seed=1).rows
    found = ppi_mean(scores, np.ones(100), drawn, target="population")
    quantile = stats.t.ppf(0.975, 99 - 1)
    assert (found.estimate, found.interval.high, found.interval.too_few) == (1, 1, True)
    assert found.interval.low == pytest.approx(100 / (100 + quantile**2))
    of_rows = ppi_mean(scores, np.ones(100), drawn)
    assert of_rows.interval.low == pytest.approx(1 / (1 + quantile**2 * 0.9 / 100))


def test_constant_labels_inside_the_range_have_no_interval() -> None:
    _, scores = rows()
    drawn = uniform_draw(N, 100, seed=1).rows
    found = ppi_mean(scores, np.full(100, 0.5), drawn)
    assert (found.estimate, found.interval.low, found.interval.too_few) == (0.5, None, True)
    assert found.remarks


def test_scores_that_are_right_on_all_labelled_rows_are_not_taken_for_sure() -> None:
    labels, _ = rows()
    drawn = uniform_draw(N, 100, seed=1).rows
    found = ppi_mean(0.1 + 0.3 * labels, labels[drawn], drawn)
    assert found.estimate == pytest.approx(labels.mean())
    assert (found.interval.low, found.interval.too_few) == (None, True)
    assert found.labels_alone.low is not None
    assert any("too few labelled rows differ" in remark for remark in found.remarks)


def test_an_estimate_stays_within_the_bounds_of_labels() -> None:
    scores = np.append(np.full(900, 1.0), np.full(100, 0.0))
    drawn = np.append(np.arange(40), np.arange(900, 960))
    labels = np.append(np.ones(40), np.tile([1.0, 0.0], 30))
    found = ppi_mean(scores, labels, drawn, weight=3)
    assert found.estimate == found.interval.high == 1


@every_row("scores", [np.full(N, 0.5), np.append(np.zeros(N - 1), 1.0)])
def test_scores_that_tell_nothing_are_left_out(scores: Any) -> None:
    labels, _ = rows()
    drawn = np.append(uniform_draw(N - 1, 99, seed=1).rows, N - 1)
    found = ppi_mean(scores, labels[drawn], drawn)
    assert found.weight == 0
    assert found.interval == found.labels_alone
    assert found.remarks


def test_null_scores_are_the_mean_of_the_others() -> None:
    labels, scores = rows()
    scores[:50] = np.nan
    drawn = uniform_draw(N, 100, seed=1).rows
    found = ppi_mean(scores, labels[drawn], drawn)
    filled = np.where(np.isnan(scores), np.nanmean(scores), scores)
    assert found.interval == ppi_mean(filled, labels[drawn], drawn).interval
    assert found.n_null_scores == 50
    assert "50 null scores were replaced by the mean of the others" in found.remarks


def test_few_labels_are_warned_of() -> None:
    assert any("only 49 labels" in remark for remark in estimate(49).remarks)
    assert estimate(50).remarks == ()


def test_as_json() -> None:
    found = estimate()
    value = found.to_dict()
    assert value["estimate"] == value["interval"]["estimate"] == found.estimate
    assert value["widthRatio"] == found.width_ratio == pytest.approx(0.7, abs=0.2)
    assert value["labelsAlone"]["low"] == found.labels_alone.low
    assert (value["target"], value["nLabels"], value["remarks"]) == ("rows", 100, [])


@every_row(
    ("change", "message"),
    [
        ({"labels": [1, 0, math.nan]}, r"labels\[2\] must be finite, got nan"),
        ({"labels": ["good", 1, 0]}, "labels must be numbers"),
        ({"labels": []}, "labels must be a column of numbers"),
        ({"scores": [math.nan] * 6}, "all scores are null"),
        ({"scores": [0, 1, math.inf, 0, 0, 0]}, r"scores\[2\] must be finite"),
        ({"labelled_rows": [0, 1, 6]}, "labelled_rows must be from 0 to 5, got 6"),
        ({"labelled_rows": [0, 1, -1]}, "labelled_rows must be from 0 to 5, got -1"),
        ({"labelled_rows": [0, 1, 1]}, "row 1 is labelled twice"),
        ({"labelled_rows": [0, 1]}, "labelled_rows must be 3 integers"),
        ({"labelled_rows": [0, 1, 2.5]}, "labelled_rows must be 3 integers"),
        ({"probabilities": [0.5, 0.5]}, "probabilities must have one value for each of 3"),
        ({"probabilities": [0.5, 0, 0.5]}, "probabilities must be above 0 and at most 1, got 0"),
        ({"probabilities": [1.0, 1, 1]}, "the probabilities imply 3 rows, but there are 6"),
        ({"strata": [0, 0, 1]}, "strata need probabilities"),
        (
            {"strata": [0, 0, 1], "probabilities": [0.5] * 3},
            "each stratum needs at least two labels",
        ),
        (
            {"strata": [0, 0], "probabilities": [0.5] * 3},
            "strata must have one value for each of 3",
        ),
        ({"target": "all"}, "target must be 'rows' or 'population'"),
        ({"weight": math.nan}, "weight must be finite"),
        ({"weight": 1, "cross_fit": True}, "cross_fit chooses the weight"),
        ({"level": 1}, "level must be between 0 and 1"),
        ({"bounds": (0, 0.5)}, "labels from 0 to 1 are outside the bounds"),
        ({"bounds": (1, 0)}, "bounds must be two increasing numbers"),
        (
            {"clusters": [1, 2], "target": "population"},
            "clusters must have one value for each of 6 rows, got 2",
        ),
        ({"seed": -1}, "seed must be a whole number of at least 0"),
    ],
)
def test_what_cannot_be_is_refused(change: dict[str, Any], message: str) -> None:
    given: dict[str, Any] = {
        "scores": [0, 0.2, 0.4, 0.6, 0.8, 1],
        "labels": [0, 1, 1],
        "labelled_rows": [0, 2, 4],
    }
    with pytest.raises(InputError, match=message):
        ppi_mean(**(given | change))


def test_systems_with_other_numbers_of_rows_are_refused() -> None:
    with pytest.raises(
        InputError, match="scores_a and scores_b must have the same rows, got 4 and 5"
    ):
        ppi_difference([0, 1, 0, 1], [0, 1, 0, 1, 1], [1, 0], [1, 1], [0, 1])


# ---------------------------------------------------------------------------------- simulation


@every_row("design", ["uniform", "proportional", "strata"])
def test_intervals_cover(design: str) -> None:
    """The grids of benchmarks/statistics in small: 300 draws, about 3 errors below 0.95."""
    labels, scores = rows(seed=9, share=0.85)
    strata, covered, errors = score_strata(scores, 4), 0, []
    for seed in range(300):
        if design == "uniform":
            drawn = uniform_draw(N, 60, seed=seed)
        elif design == "proportional":
            drawn = proportional_draw(assumed_spreads(scores), 60, seed=seed)
        else:
            drawn = stratified_draw(strata, [0.5, 0.4, 0.3, 0.25], 60, seed=seed)
        found = ppi_mean(
            scores,
            labels[drawn.rows],
            drawn.rows,
            probabilities=drawn.probabilities,
            strata=drawn.strata,
        ).interval
        assert found.low is not None
        assert found.high is not None
        covered += found.low <= labels.mean() <= found.high
        errors.append(found.estimate - labels.mean())
    assert covered >= 0.91 * 300
    assert abs(np.mean(errors)) < 4 * np.std(errors) / math.sqrt(300)
