"""calibrate: threshold, map, intervals, and what is refused."""

from __future__ import annotations

import math
import pickle
import sys
import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from sklearn.calibration import _SigmoidCalibration
from sklearn.isotonic import IsotonicRegression
from sklearn.metrics import balanced_accuracy_score

import rag_eval
from rag_eval.calibration.fitting import CalibrationWarning, calibrate
from rag_eval.calibration.probabilities import IsotonicMap, LogisticMap
from rag_eval.calibration.result import Calibration
from rag_eval.errors import InputError, MissingExtraError, SignatureMismatchError
from rag_eval.kernels.settings import OverlapSettings
from rag_eval.options.signature import Signature
from rag_eval.results.batch import BatchEvalResult
from tests.tables import every_row

Scores = npt.NDArray[np.float64]
SIGNATURE = Signature.of(("faithfulness",), OverlapSettings())
METHODS = ["isotonic", "logistic"]


def drawn(n: int = 200, seed: int = 0) -> tuple[Scores, npt.NDArray[np.bool_]]:
    """Scores of which the higher are more often good."""
    generator = np.random.default_rng(seed)
    scores = generator.random(n)
    return scores, generator.random(n) < scores


def made(scores: Any = None, labels: Any = None, **options: Any) -> Calibration:
    """A calibration of a few resamples, without the warning of few labels."""
    if scores is None:
        scores, labels = drawn()
    options = {"metric": "faithfulness", "n_resamples": 20, **options}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CalibrationWarning)
        return calibrate(scores, labels, **options)


# ---------------------------------------------------------------------------------- threshold


def test_what_a_calibration_holds() -> None:
    scores, good = drawn()
    found = made(scores, good, n_resamples=500, level=0.9, signature=SIGNATURE)
    assert found.metric == "faithfulness"
    assert found.signature == SIGNATURE
    assert found.profile == "overlap"
    assert (found.method, found.objective, found.precision) == (
        "isotonic",
        "balanced_accuracy",
        None,
    )
    assert found.threshold in scores
    accuracies = [balanced_accuracy_score(good, scores >= threshold) for threshold in scores]
    assert found.balanced_accuracy == pytest.approx(max(accuracies), rel=1e-15)
    assert found.balanced_accuracy == pytest.approx(
        balanced_accuracy_score(good, scores >= found.threshold), rel=1e-15
    )
    for interval in (found.threshold_interval, found.balanced_accuracy_interval):
        assert interval.low is not None
        assert interval.high is not None
        assert interval.low < interval.estimate < interval.high
        assert (interval.level, interval.n_resamples, interval.n_groups) == (0.9, 500, 200)
    assert found.cross_validated_balanced_accuracy is not None
    assert 0.5 < found.cross_validated_balanced_accuracy <= found.balanced_accuracy
    assert (found.n_labels, found.n_groups, found.n_null) == (200, 200, 0)
    assert found.share_good == good.mean()
    assert found.remarks == []


def test_resampled_thresholds_are_those_of_resampled_rows() -> None:
    """The interval against calibrations of rows that were really drawn."""
    scores, good = drawn(60)
    rows = [
        np.concatenate([np.flatnonzero(np.arange(60) // 3 == group) for group in groups])
        for groups in np.random.default_rng(4).integers(20, size=(40, 20))
    ]
    thresholds = [made(scores[row], good[row], n_resamples=1).threshold for row in rows]
    chosen = made(scores, good, seed=4, n_resamples=40, groups=np.arange(60) // 3)
    interval = chosen.threshold_interval
    assert (interval.low, interval.high) == tuple(np.quantile(thresholds, [0.025, 0.975]))
    accuracies = [
        balanced_accuracy_score(good[row], scores[row] >= chosen.threshold) for row in rows
    ]
    accuracy = chosen.balanced_accuracy_interval
    assert [accuracy.low, accuracy.high] == pytest.approx(
        np.quantile(accuracies, [0.025, 0.975]), rel=1e-12
    )


def test_the_lowest_threshold_that_reaches_a_precision() -> None:
    scores, good = drawn()
    found = made(scores, good, precision=0.8)
    assert (found.objective, found.precision) == ("precision", 0.8)
    reached = [float(t) for t in scores if good[scores >= t].mean() >= 0.8]
    assert found.threshold == min(reached)
    assert made(scores, good, objective="precision", precision=0.8) == found


def test_a_precision_out_of_reach() -> None:
    scores = [0.1, 0.2, 0.3, 0.4]
    message = "no threshold reaches precision 0.9: the highest is 0.5, at threshold 0.1"
    with pytest.raises(InputError, match=message):
        made(scores, [1, 1, 0, 0], precision=0.9)


def test_separable_scores() -> None:
    found = made([0.1, 0.2, 0.8, 0.9] * 10, [0, 0, 1, 1] * 10)
    assert (found.threshold, found.balanced_accuracy) == (0.8, 1)
    assert found.cross_validated_balanced_accuracy == 1
    assert found.threshold_interval.low == 0.8
    assert found.probability(0.8) == 1
    assert found.probability(0.5) == pytest.approx(0.5)  # halfway between the knots
    assert found.probability(0.2) == 0


def test_rows_held_out_show_what_was_luck() -> None:
    """Labels that have nothing to do with the scores: the chosen threshold looks better than it."""
    generator = np.random.default_rng(8)
    inside, outside = [], []
    for seed in range(20):
        scores = generator.random(40)
        found = made(scores, generator.random(40) < 0.5, seed=seed)
        inside.append(found.balanced_accuracy)
        outside.append(found.cross_validated_balanced_accuracy or math.nan)
    assert np.mean(inside) > 0.58
    assert 0.4 < np.mean(outside) < 0.55


def test_folds_keep_groups_together() -> None:
    """Both rows of a group have one score and one label: apart, they would give it away."""
    generator = np.random.default_rng(5)
    scores = np.repeat(generator.random(60), 2)
    good = np.repeat(generator.random(60) < 0.5, 2)
    grouped = made(scores, good, groups=np.repeat(np.arange(60), 2))
    assert grouped.n_groups == 60
    assert grouped.cross_validated_balanced_accuracy is not None
    assert grouped.cross_validated_balanced_accuracy < made(scores, good).balanced_accuracy
    low, high = grouped.threshold_interval.low, grouped.threshold_interval.high
    assert low is not None
    assert high is not None
    assert low < high


def test_no_cross_validation_with_a_class_in_fewer_than_five_groups() -> None:
    scores, good = np.arange(40) / 40, np.arange(40) >= 20
    groups = np.where(good, 100 + np.arange(40) % 4, np.arange(40))
    assert made(scores, good, groups=groups).cross_validated_balanced_accuracy is None
    groups = np.where(good, 100 + np.arange(40) % 5, np.arange(40))
    assert made(scores, good, groups=groups).cross_validated_balanced_accuracy is not None


def test_no_cross_validation_where_a_fold_cannot_reach_the_precision() -> None:
    """One row alone has the precision wanted, and it is once held out."""
    scores = np.arange(20) / 20
    good = np.arange(20) % 2 == 1
    found = made(scores, good, precision=1)
    assert found.threshold == 0.95
    assert found.cross_validated_balanced_accuracy is None
    assert made(scores, good, precision=0.5).cross_validated_balanced_accuracy is not None


def test_the_same_call_gives_the_same_calibration() -> None:
    assert made() == made()
    assert made(seed=1) != made()
    assert pickle.loads(pickle.dumps(made())) == made()


# --------------------------------------------------------------------------------------- maps


@given(st.integers(0, 2**32 - 1), st.integers(2, 80), st.integers(1, 17))
def test_maps_are_those_of_scikit_learn(seed: int, n: int, digits: int) -> None:
    generator = np.random.default_rng(seed)
    scores = generator.random(n).round(digits)
    good = generator.random(n) < scores
    assume(0 < good.sum() < n)
    asked = np.concatenate([np.linspace(-0.5, 1.5, 41), scores])
    isotonic = IsotonicRegression(y_min=0, y_max=1, out_of_bounds="clip").fit(scores, good)
    found = made(scores, good, n_resamples=1).probabilities(asked)
    np.testing.assert_allclose(found, isotonic.predict(asked), rtol=0, atol=1e-12)
    platt = made(scores, good, n_resamples=1, method="logistic")
    assert isinstance(platt.probability_map, LogisticMap)
    if not platt.probability_map.is_flat:
        # scikit-learn's own form of Platt's scaling; its tolerance is coarser than ours.
        theirs = _SigmoidCalibration().fit(scores, good.astype(np.float64)).predict(asked)
        np.testing.assert_allclose(platt.probabilities(asked), theirs, rtol=0, atol=2e-4)


ROWS = st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=2, max_size=30)


@given(ROWS, st.sampled_from(METHODS), st.lists(st.floats(-2, 3), min_size=1, max_size=20))
def test_laws(rows: list[tuple[float, bool]], method: Any, asked: list[float]) -> None:
    scores, good = [score for score, _ in rows], [label for _, label in rows]
    assume(any(good) and not all(good))
    found = made(scores, good, method=method, n_resamples=1)
    assert found.threshold in scores
    assert 0.5 <= found.balanced_accuracy <= 1
    probabilities = found.probabilities(sorted([*asked, *scores]))
    assert ((probabilities >= 0) & (probabilities <= 1)).all()
    assert (np.diff(probabilities) >= -1e-15).all()  # an exponential is rounded
    # Neither order nor kind of the rows matters.
    assert made(scores[::-1], good[::-1], method=method, n_resamples=1).threshold == found.threshold
    assert Calibration.from_dict(found.to_dict()) == found


@every_row("method", METHODS)
def test_probabilities(method: Any) -> None:
    found = made(method=method)
    column = found.probabilities([0.2, None, math.nan, 0.8])
    assert column.dtype == np.float64
    assert np.isnan(column).tolist() == [False, True, True, False]
    assert found.probabilities(np.full((2, 3), 0.2)).tolist() == [[column[0]] * 3] * 2
    assert found.probabilities([]).shape == (0,)
    assert found.probabilities(pd.Series([0.2, 0.8])).tolist() == [column[0], column[3]]
    assert found.probability(0.2) == column[0]
    assert isinstance(found.probability(0.2), float)
    assert found.probability(None) is None
    assert found.probability(math.nan) is None
    with pytest.raises(InputError, match=r"scores must be numbers, got \['x'\]"):
        found.probabilities(["x"])


def test_extreme_scores_have_probabilities() -> None:
    found = LogisticMap(1e3, -500.0)(np.array([-1e300, -10.0, 0.5, 10.0, 1e300, math.inf]))
    assert found.tolist() == [0, 0, 0.5, 1, 1, 1]
    assert IsotonicMap((0.5,), (0.25,))(np.array([-1.0, 0.5, math.nan])).tolist()[:2] == [0.25] * 2


@every_row("method", METHODS)
@every_row("scores", [np.full(40, 0.3), 0.3 + np.arange(40) % 2 * 1e-17])
def test_equal_scores_tell_nothing(method: Any, scores: Scores) -> None:
    with pytest.warns(
        CalibrationWarning, match="faithfulness does not separate good rows from bad"
    ):
        found = calibrate(
            scores, np.arange(40) < 10, metric="faithfulness", method=method, n_resamples=5
        )
    assert found.probability(0.3) == pytest.approx(0.25, abs=0.02)  # Platt's targets
    assert found.probability(0.9) == found.probability(0.3)
    assert (found.threshold, found.balanced_accuracy) == (0.3, 0.5)


def test_a_threshold_that_finds_nothing_is_told() -> None:
    found = made(np.arange(40) / 40, np.arange(40) >= 20)
    chance = replace(found.balanced_accuracy_interval, estimate=0.5)
    (remark,) = replace(found, balanced_accuracy_interval=chance).remarks
    assert remark.endswith("better than chance does: are good rows labelled 1 and bad ones 0?")


@every_row("method", METHODS)
def test_a_map_never_falls(method: Any) -> None:
    """Good rows have the lower scores: the best map of a score that should be high is level."""
    found = made(np.arange(40) / 40, np.arange(40) < 20, method=method)
    assert found.probability_map.is_flat
    assert found.probability(0) == pytest.approx(0.5)
    assert found.remarks == ["faithfulness does not separate good rows from bad ones"]


# ------------------------------------------------------------------------------------- inputs


@pytest.fixture(scope="module")
def batch() -> BatchEvalResult:
    samples = [
        {
            "question": "red fox",
            "answer": "red fox." if row % 3 else "blue whale sings.",
            "contexts": ["red fox."],
            **({"ground_truth": "red fox"} if row % 5 else {}),
        }
        for row in range(60)
    ]
    return rag_eval.evaluate_batch(samples, ["faithfulness", "answer_correctness"])


def test_a_batch_result_brings_scores_and_signature(batch: BatchEvalResult) -> None:
    labels = [row % 3 > 0 for row in range(60)]
    found = calibrate(batch, labels, metric="answerCorrectness", n_resamples=20)
    assert found.metric == "answer_correctness"
    assert found.signature == batch.signature
    assert (found.n_labels, found.n_null) == (48, 12)
    assert (found.threshold, found.balanced_accuracy) == (1, 1)
    single = rag_eval.evaluate_batch([{"answer": "a", "contexts": []}] * 40, ["faithfulness"])
    with pytest.warns(CalibrationWarning, match="does not separate"):
        assert calibrate(single, [0, 1] * 20, n_resamples=2).metric == "faithfulness"


def test_which_metric_must_be_known(batch: BatchEvalResult) -> None:
    labels = [True] * 60
    with pytest.raises(
        InputError, match="metric must be named: the result has faithfulness, answer_correctness"
    ):
        calibrate(batch, labels)
    with pytest.raises(InputError, match="no scores of context_recall; it has faithfulness, ans"):
        calibrate(batch, labels, metric="context_recall")
    with pytest.raises(InputError, match=r"unknown metric 'faith'.*the usual ones: faithfulness"):
        calibrate([0.5], [1], metric="faith")
    with pytest.raises(InputError, match="metric must be named unless scores is a batch result"):
        calibrate([0.5], [1])
    with pytest.raises(InputError, match="the result has its own signature; leave out signature"):
        calibrate(batch, labels, metric="faithfulness", signature=SIGNATURE)
    with pytest.raises(InputError, match="signature must be a Signature, got dict"):
        calibrate([0.5], [1], metric="faithfulness", signature={})  # type: ignore[arg-type]


def test_null_scores_are_left_out_and_counted() -> None:
    scores = [0.1, None, 0.9, math.nan, 0.8] * 10
    found = made(scores, [0, 0, 1, 1, 1] * 10, groups=["a", "b", "c", "d", "e"] * 10)
    assert (found.n_labels, found.n_null, found.n_groups) == (30, 20, 3)
    assert found.share_good == pytest.approx(2 / 3)
    assert found.threshold == 0.8


@every_row(
    "kind",
    [
        list,
        tuple,
        iter,
        np.array,
        pd.Series,
        lambda values: np.array(values, np.float32),
        lambda values: [np.float64(value) for value in values],
    ],
)
def test_columns_of_any_kind(kind: Callable[[Any], Any]) -> None:
    scores, labels = [0.25, 0.5, 0.75] * 20, [0, 1, 1] * 20
    found = made(kind(scores), kind(labels), groups=kind(list(range(60))))
    assert found == made(scores, labels)
    assert made(scores, np.array(labels, np.bool_)) == found
    assert made(scores, [np.bool_(label) for label in labels]) == found


@every_row(
    ("scores", "labels", "options", "message"),
    [
        (
            [0.1, 0.2],
            [1],
            {},
            "labels has 1 row and scores has 2; there must be one for each score",
        ),
        (
            [0.1, 0.2],
            [0, 1],
            {"groups": [1]},
            "groups has 1 row and scores has 2; there must be one for each score",
        ),
        ([], [], {}, "no row of 0 has a score of faithfulness; both good and bad rows are needed"),
        ([None, math.nan], [0, 1], {}, "no row of 2 has a score of faithfulness"),
        ([0.1, 0.2, None], [1, 1, 0], {}, "of all 2 rows with a score are 1; both 0 and 1 are"),
        ([0.1, 0.2], [False, False], {}, "of all 2 rows with a score are 0; both 0 and 1 are"),
        ([0.1, 0.2], [0, None], {}, "label of row 1 is missing; it must be 0 or 1"),
        ([0.1, 0.2], [math.nan, 1], {}, "label of row 0 is missing; it must be 0 or 1"),
        ([0.1, 0.2], np.array([0, math.nan]), {}, "label of row 1 is missing; it must be 0 or 1"),
        ([0.1, 0.2], [0.5, 1], {}, "label of row 0 must be 0 or 1, got 0.5"),
        ([0.1, 0.2], [0, 2], {}, "label of row 1 must be 0 or 1, got 2"),
        ([0.1, 0.2], ["1", 0], {}, "label of row 0 must be 0 or 1, got '1'"),
        ([0.1, 0.2], [pd.NA, 0], {}, "label of row 0 must be 0 or 1, got <NA>"),
        ([0.1, "x"], [0, 1], {}, "score of row 1 must be a number, got str"),
        ([0.1, True], [0, 1], {}, "score of row 1 must be a number, got bool"),
        ([[0.1], [0.2]], [0, 1], {}, "score of row 0 must be a number, got list"),
        ([0.1, math.inf], [0, 1], {}, "score of row 1 must be finite, got inf"),
        ([0.1, 10**400], [0, 1], {}, "score of row 1 must be finite, got 10000"),
        ("ab", [0, 1], {}, "scores must be a list or an array, got str"),
        ({"a": 1}, [0, 1], {}, "scores must be a list or an array, got dict"),
        ([0.1, 0.2], 1, {}, "labels must be a list or an array, got int"),
        ([0.1, 0.2], np.array(1), {}, "labels must be a list or an array, got a single value"),
        (
            [0.1, 0.2],
            [0, 1],
            {"groups": ["a", None]},
            "group of row 1 is missing; it must be a name or a number",
        ),
        ([0.1, 0.2], [0, 1], {"method": "isotone"}, "'isotone'; did you mean 'isotonic'"),
        ([0.1, 0.2], [0, 1], {"method": ["x"]}, "method must be 'isotonic' or 'logistic', got"),
        ([0.1, 0.2], [0, 1], {"objective": "f1"}, "objective must be 'balanced_accuracy' or"),
        ([0.1, 0.2], [0, 1], {"objective": "precision"}, "objective 'precision' needs precision="),
        ([0.1, 0.2], [0, 1], {"precision": 0}, "precision must be above 0 and at most 1, got 0"),
        ([0.1, 0.2], [0, 1], {"precision": 1.5}, "must be above 0 and at most 1, got 1.5"),
        ([0.1, 0.2], [0, 1], {"precision": "x"}, "precision must be a number, got str"),
        ([0.1, 0.2], [0, 1], {"level": 2}, "level must be between 0 and 1, got 2"),
    ],
)
def test_mistakes(scores: Any, labels: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as caught:
        made(scores, labels, **options)
    assert message in str(caught.value)


# ----------------------------------------------------------------------------------- warnings


def test_under_thirty_labels_there_is_a_warning() -> None:
    scores, good = drawn(31)
    scores[0] = math.nan
    assert calibrate(scores, good, metric="faithfulness", n_resamples=2).n_labels == 30
    scores[1] = math.nan
    with pytest.warns(CalibrationWarning, match="only 29 labels: threshold and") as caught:
        calibrate(scores, good, metric="faithfulness", n_resamples=2)
    assert caught[0].filename == __file__
    assert issubclass(CalibrationWarning, UserWarning)


def test_one_group_says_nothing_about_others() -> None:
    scores, good = drawn(40)
    with pytest.warns(CalibrationWarning, match="all labels are in one group"):
        found = calibrate(scores, good, metric="faithfulness", groups=["a"] * 40)
    assert found.threshold_interval.low is None
    assert Calibration.from_dict(found.to_dict()) == found


# ---------------------------------------------------------------------------- where it applies


def test_it_applies_to_its_own_metric_and_settings() -> None:
    found = made(signature=SIGNATURE)
    # Options of other metrics do not matter, only its own.
    wider = Signature.of(("faithfulness", "hallucination_rate"), OverlapSettings())
    assert found.check("faithfulness", SIGNATURE) is None
    assert found.check("faithfulness", wider) is None
    with pytest.raises(
        InputError, match="the calibration is for faithfulness, not for context_rec"
    ):
        found.check("contextRecall", SIGNATURE)
    other = Signature.of(("faithfulness",), OverlapSettings.from_options({"ngram_sizes": [1]}))
    with pytest.raises(SignatureMismatchError, match=r"\(ngram_sizes: \[1\], not \[1, 2\];"):
        found.check("faithfulness", other)
    profile = Signature("grounded", 1, SIGNATURE.unicode, {})
    with pytest.raises(SignatureMismatchError, match="profile: grounded, not overlap"):
        found.check("faithfulness", profile)


def test_without_a_signature_nothing_is_known() -> None:
    note = made().check("faithfulness", SIGNATURE)
    assert note == (
        "the calibration of faithfulness has no signature: its settings are assumed "
        "to match, but were not checked"
    )
    note = made(signature=SIGNATURE).check("faithfulness", None)
    assert note == (
        "the result of faithfulness has no signature: its settings are assumed to "
        "match, but were not checked"
    )
    assert made().profile is None


# -------------------------------------------------------------------------------- dependencies


def test_without_scikit_learn(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.split(".")[0] == "sklearn"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "sklearn", None)
    for method in METHODS:
        with pytest.raises(MissingExtraError, match=r"pip install 'rag-eval-native\[calibrate\]'"):
            made(method=method)
