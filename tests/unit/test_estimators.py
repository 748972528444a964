"""RagScorer in scikit-learn's company: its checks, clones, pickles, pipelines, searches."""

from __future__ import annotations

import doctest
import json
import math
import pickle
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, clone
from sklearn.compose import make_column_transformer
from sklearn.exceptions import SkipTestWarning
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import estimator_checks, get_tags

import rag_eval
from rag_eval import EvalSample, estimators
from rag_eval.errors import InputError
from rag_eval.estimators import RagScorer
from tests.tables import every_row

ROOT = Path(__file__).parents[2]
GOOD = {"question": "red fox", "answer": "red fox.", "contexts": ["red fox."]}
BAD = {"question": "red fox", "answer": "blue whale sings.", "contexts": ["red fox."]}
SAMPLES: list[Any] = [GOOD, BAD, EvalSample(**GOOD, ground_truth="red fox"), {**BAD, "id": "x"}]
METRICS = ["faithfulness", "context_recall"]
SCORES = [[1.0, math.nan], [0.0, math.nan], [1.0, 1.0], [0.0, math.nan]]


def same(found: Any, wanted: Any = SCORES) -> None:
    np.testing.assert_array_equal(np.asarray(found), wanted)


# ------------------------------------------------------------------------ scikit-learn's checks

with warnings.catch_warnings():
    # It generates numbers, and has none of its checks of data for what takes no table of them:
    # like its own vectorizers of texts and dicts, this one says so in its tags.
    warnings.simplefilter("ignore", SkipTestWarning)
    _mark = estimator_checks.parametrize_with_checks(
        [RagScorer(), RagScorer(metrics=METRICS), RagScorer(profile="grounded")],
        expected_failed_checks=lambda estimator: {},
    )
    _names, _checks = _mark.args
    # scikit-learn 1.6 gives a generator, which would warn later.
    with_checks = pytest.mark.parametrize(_names, list(_checks), **_mark.kwargs)


@with_checks
def test_scikit_learn_checks(estimator: Any, check: Callable[[Any], None]) -> None:
    check(estimator)


# Those of its checks that look at the class and its parameters, and feed nothing to transform.
DATA_FREE = [
    "check_do_not_raise_errors_in_init_or_set_params",
    "check_estimator_cloneable",
    "check_estimator_repr",
    "check_estimator_tags_renamed",
    "check_estimators_fit_returns_self",
    "check_estimators_overwrite_params",
    "check_fit_check_is_fitted",
    "check_get_params_invariance",
    "check_mixin_order",
    "check_n_features_in_after_fitting",
    "check_no_attributes_set_in_init",
    "check_parameters_default_constructible",
    "check_readonly_memmap_input",
    "check_set_output_transform",
    "check_set_params",
    "check_transformer_get_feature_names_out",
    "check_transformer_n_iter",
    "check_valid_tag_types",
]


@every_row("name", DATA_FREE)
def test_checks_of_the_class(name: str) -> None:
    getattr(estimator_checks, name)("RagScorer", RagScorer(metrics=METRICS))


def test_tags() -> None:
    tags = get_tags(RagScorer())
    assert not tags.requires_fit
    assert tags.input_tags.one_d_array
    assert tags.input_tags.dict
    assert tags.input_tags.string
    assert not tags.input_tags.two_d_array


# ------------------------------------------------------------------------------------- scores


@every_row("kind", [list, tuple, iter, lambda rows: np.array(rows, np.object_), pd.Series])
def test_samples_of_any_kind(kind: Callable[[Any], Any]) -> None:
    found = RagScorer(metrics=METRICS).fit_transform(kind(SAMPLES))
    assert found.dtype == np.float64
    assert isinstance(found, np.ndarray)
    same(found)


@every_row("kind", [list, iter, np.array, lambda texts: np.array(texts, np.object_), pd.Series])
def test_samples_as_json(kind: Callable[[Any], Any]) -> None:
    texts = [
        json.dumps(sample.to_dict() if isinstance(sample, EvalSample) else sample)
        for sample in SAMPLES
    ]
    same(RagScorer(metrics=METRICS).fit_transform(kind(texts)))
    same(RagScorer(metrics=METRICS).transform([*texts[:2], *SAMPLES[2:]]))


def test_scores_are_those_of_a_batch() -> None:
    batch = rag_eval.evaluate_batch(SAMPLES, heuristic={"ngram_sizes": [1]})
    scorer = RagScorer(heuristic={"ngram_sizes": [1]}, threads=2)
    same(scorer.transform(SAMPLES), batch.scores)
    assert scorer.get_feature_names_out().tolist() == list(batch.metrics)


def test_it_is_stateless() -> None:
    scorer = RagScorer(metrics=METRICS)
    before = dict(vars(scorer))
    assert scorer.fit(SAMPLES) is scorer
    assert scorer.fit(None) is scorer
    assert vars(scorer) == before
    same(scorer.transform(SAMPLES))
    same(RagScorer(metrics=METRICS).transform(SAMPLES))


def test_the_order_of_rows_and_their_company_do_not_matter() -> None:
    scorer = RagScorer()
    together = scorer.transform(SAMPLES)
    same(scorer.transform(SAMPLES[::-1]), together[::-1])
    same(np.concatenate([scorer.transform([sample]) for sample in SAMPLES]), together)


def test_no_samples() -> None:
    assert RagScorer(metrics=METRICS).transform([]).shape == (0, 2)


def test_a_number_may_stand_for_null() -> None:
    same(
        RagScorer(metrics=METRICS, fill_value=-1).transform(SAMPLES),
        [[1, -1], [0, -1], [1, 1], [0, -1]],
    )


def test_metric_names_in_either_spelling() -> None:
    scorer = RagScorer(metrics=("contextRecall", "faithfulness", "context_recall"))
    assert scorer.get_feature_names_out().tolist() == ["context_recall", "faithfulness"]
    assert scorer.get_feature_names_out(["ignored"]).dtype == np.object_
    assert scorer.transform(SAMPLES).shape == (4, 2)


@every_row(
    ("samples", "message"),
    [
        ([GOOD, "a text"], "sample 1 is a str that is not valid JSON (Expecting value at column 1"),
        (
            np.array(["{}", "x"]),
            "sample 1 is a str that is not valid JSON (Expecting value at column 1",
        ),
        (['{"answer": NaN}'], "sample 0 is a str that is not valid JSON (NaN is not valid JSON"),
        (["{" * 100_000], "sample 0 is a str that is not valid JSON"),
        (["[" * 100_000], "sample 0 is a str that is not valid JSON"),
        (pd.Series(["[]"]), "sample 0 is a str that holds JSON of a list; expected a JSON object"),
        (["null"], "sample 0 is a str that holds JSON of a NoneType; expected a JSON object"),
        (["{}"], "sample 0: contexts is missing; it must be a list of strings"),
        (["", GOOD], "sample 0 is a str that is not valid JSON"),
        ([b"{}"], "sample 0 must be a dict or an EvalSample, got bytes"),
        (np.zeros(3), "sample 0 must be a dict or an EvalSample, got float64"),
        (
            [GOOD, {**GOOD, "id": "x", "answer": 5}],
            'sample 1 ("x"): answer must be a string, got int',
        ),
        ("a text", "X is a str; expected a list, one-dimensional array or series of samples"),
        (GOOD, "X is a dict; expected a list"),
        (None, "X is a NoneType; expected a list"),
        (np.zeros((2, 3)), "X has 2 dimensions; expected a list, one-dimensional array or series"),
        (np.array(GOOD, np.object_), "X has 0 dimensions; expected a list"),
        (pd.DataFrame(SAMPLES[:2]), "of a data frame, df.to_dict('records')"),
    ],
)
def test_what_no_samples_are(samples: object, message: str) -> None:
    with pytest.raises(InputError) as caught:
        RagScorer().transform(samples)  # type: ignore[arg-type]
    assert message in str(caught.value)


@every_row(
    ("parameters", "error", "message"),
    [
        ({"metrics": ["faith"]}, InputError, "unknown metric 'faith'"),
        ({"metrics": "faithfulness"}, InputError, "metrics must be a list of metric ids"),
        ({"heuristic": {"x": 1}}, TypeError, "heuristic has no option 'x'"),
        ({"profile": "grund"}, InputError, "profile must be 'overlap' or 'grounded', got 'grund'"),
        ({"language": "de"}, InputError, "option language works only with --profile grounded"),
        ({"stemmer": "light"}, InputError, "option stemmer works only with --profile grounded"),
        (
            {"profile": "grounded", "stemmer": "snowbal"},
            InputError,
            "got 'snowbal'; did you mean 'snowball'",
        ),
        (
            {"profile": "grounded", "heuristic": {"ngram_sizes": [1]}},
            InputError,
            "ngram_sizes belongs to profile='overlap'",
        ),
        ({"fill_value": "x"}, InputError, "fill_value must be a number, got str"),
        ({"fill_value": math.inf}, InputError, "fill_value must be finite"),
    ],
)
def test_bad_parameters_come_out_in_fit(
    parameters: dict[str, Any], error: type[Exception], message: str
) -> None:
    scorer = RagScorer(**parameters)  # as scikit-learn wants it: not yet
    with pytest.raises(error, match=message):
        scorer.fit(SAMPLES)
    with pytest.raises(error, match=message):
        scorer.transform(SAMPLES)


GERMAN = {
    "question": "Wo stehen die Häuser?",
    "answer": "Die Häuser stehen am Hafen.",
    "contexts": ["Das Haus steht am Hafen."],
}


def test_profile_language_and_stemmer() -> None:
    options: dict[str, Any] = {"profile": "grounded", "language": "de", "stemmer": "snowball"}
    scorer = RagScorer(**options)
    assert scorer.get_params()["stemmer"] == "snowball"
    found = scorer.fit_transform([GERMAN, {}])
    same(found, rag_eval.evaluate_batch([GERMAN, {}], **options).scores)
    assert np.isnan(found[1]).all()
    light = RagScorer(**{**options, "stemmer": None}).transform([GERMAN])
    assert light[0, 0] < found[0, 0]
    assert RagScorer().transform([GERMAN])[0, 0] != light[0, 0]


def test_diagnostics() -> None:
    scorer = RagScorer(metrics=["faithfulness", "unsupportedNames"], profile="grounded")
    assert scorer.get_feature_names_out().tolist() == ["faithfulness", "unsupported_names"]
    with pytest.raises(InputError, match="metric 'unsupported_names' needs --profile grounded"):
        scorer.set_params(profile="overlap").fit(SAMPLES)


# ------------------------------------------------------------------------- with scikit-learn


def test_clone_and_pickle() -> None:
    scorer = RagScorer(metrics=METRICS, heuristic={"ngram_sizes": [1]}, fill_value=0.5)
    for copy in (clone(scorer), pickle.loads(pickle.dumps(scorer))):
        assert copy.get_params() == scorer.get_params()
        same(copy.transform(SAMPLES), scorer.transform(SAMPLES))
    shown = repr(scorer)
    assert shown.startswith("RagScorer(fill_value=0.5, heuristic={'ngram_sizes': [1]},")
    assert issubclass(RagScorer, BaseEstimator)


def test_set_output() -> None:
    rows = pd.Series(SAMPLES, index=["a", "b", "c", "d"])
    frame = RagScorer(metrics=METRICS).set_output(transform="pandas").fit_transform(rows)
    assert list(frame.columns) == METRICS
    same(frame)
    frame = RagScorer(metrics=METRICS).set_output(transform="pandas").transform(SAMPLES)
    same(frame)


@pytest.fixture
def labelled() -> tuple[list[dict[str, Any]], list[int]]:
    rows = [GOOD, BAD, {**GOOD, "answer": "a red fox ran."}, {**BAD, "answer": "whales."}] * 10
    return rows, [1, 0, 1, 0] * 10


def test_pipeline(labelled: tuple[list[dict[str, Any]], list[int]]) -> None:
    rows, labels = labelled
    pipeline = make_pipeline(
        RagScorer(metrics=METRICS),
        SimpleImputer(keep_empty_features=True),
        LogisticRegression(solver="liblinear"),
    )
    assert pipeline.fit(rows, labels).score(rows, labels) == 1
    assert pipeline[:-1].get_feature_names_out().tolist() == METRICS
    assert cross_val_score(pipeline, rows, labels).mean() == 1
    same(pickle.loads(pickle.dumps(pipeline)).predict(rows), labels)


def test_grid_search(labelled: tuple[list[dict[str, Any]], list[int]]) -> None:
    rows, labels = labelled
    search = GridSearchCV(
        make_pipeline(RagScorer(fill_value=0), LogisticRegression(solver="liblinear")),
        {
            "ragscorer__metrics": [["context_recall"], ["faithfulness"]],
            "ragscorer__heuristic": [None, {"ngram_sizes": [1]}],
        },
    )
    for samples in (rows, np.array(rows, np.object_), pd.Series(rows)):
        search.fit(samples, labels)
        assert search.best_params_["ragscorer__metrics"] == ["faithfulness"]
        assert search.best_score_ == 1
        same(search.predict(samples), labels)


def test_grid_search_over_profiles() -> None:
    """Only the grounded profile reads "12,000" as the number that the contexts have."""
    contexts = ["In 2021 the plant made 12000 tons of steel."]
    good = {"answer": "In 2021 the plant made 12,000 tons.", "contexts": contexts}
    bad = {"answer": "In 2021 the plant made 90,000 tons.", "contexts": contexts}
    texts = [json.dumps(sample) for sample in [good, bad] * 20]
    search = GridSearchCV(
        make_pipeline(RagScorer(metrics=["faithfulness"]), DecisionTreeClassifier()),
        {"ragscorer__profile": ["overlap", "grounded"]},
    )
    search.fit(np.array(texts), [1, 0] * 20)
    assert search.best_params_ == {"ragscorer__profile": "grounded"}
    assert search.cv_results_["mean_test_score"].tolist() == [0.5, 1.0]
    same(search.predict(texts[:2]), [1, 0])


def test_a_column_of_samples() -> None:
    frame = pd.DataFrame({"sample": SAMPLES, "length": [1, 2, 3, 4]})
    columns = make_column_transformer(
        (RagScorer(metrics=METRICS), "sample"), ("passthrough", ["length"])
    )
    found = columns.fit_transform(frame)
    same(found[:, :2])
    assert columns.get_feature_names_out().tolist() == [
        *(f"ragscorer__{name}" for name in METRICS),
        "passthrough__length",
    ]


# ------------------------------------------------------------------------------- the module


def test_examples_run() -> None:
    assert doctest.testmod(estimators).failed == 0


def test_a_missing_package_names_its_extra() -> None:
    program = "import sys; sys.modules['sklearn'] = None; import rag_eval.estimators"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, cwd=ROOT
    )
    last = done.stderr.splitlines()[-1]
    assert last.startswith("rag_eval.errors.MissingExtraError: rag_eval.estimators needs scikit-l")
    assert last.endswith("pip install 'rag-eval-native[calibrate]'")
