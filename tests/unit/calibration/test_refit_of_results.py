"""Weights refitted to results and files with their texts, and scores that are made with them."""

from __future__ import annotations

import csv
import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from sklearn.metrics import balanced_accuracy_score
from sklearn.model_selection import StratifiedGroupKFold

import rag_eval
from rag_eval.calibration.fitting import CalibrationWarning, calibrate, calibration_of
from rag_eval.calibration.inputs import labelled_rows, score_column
from rag_eval.calibration.labelled_files import calibrate_files
from rag_eval.calibration.losses import scores_and_losses
from rag_eval.calibration.refitting import fitted_line, weighted_scores
from rag_eval.calibration.result import Calibration
from rag_eval.comparing import compare
from rag_eval.distributed import BatchScorer
from rag_eval.errors import InputError, SignatureMismatchError
from rag_eval.kernels.settings import SHIPPED_WEIGHTS, GroundedSettings
from rag_eval.options.signature import Signature
from rag_eval.results.batch import BatchEvalResult
from rag_eval.stats.index_sources import Resampling
from tests.labelled_museums import GOOD, LABELS, SAMPLES, Sample
from tests.tables import every_row

METRICS = ["faithfulness", "hallucination_rate"]
SETTINGS = GroundedSettings()


def scored(samples: list[Sample] = SAMPLES, **options: Any) -> BatchEvalResult:
    return rag_eval.evaluate_batch(samples, METRICS, profile="grounded", **options)


@pytest.fixture(scope="module")
def shipped() -> BatchEvalResult:
    return scored()


@pytest.fixture(scope="module")
def fitted(shipped: BatchEvalResult) -> Calibration:
    return calibrate(shipped, LABELS, metric="faithfulness")


def unfitted(batch: BatchEvalResult) -> Calibration:
    """Under the shipped weights bad answers score higher."""
    with pytest.warns(CalibrationWarning, match="does not separate good rows from bad ones"):
        return calibrate(batch, LABELS, metric="faithfulness", refit=False)


def losses(samples: list[Sample] = SAMPLES) -> Any:
    return scores_and_losses(samples, SETTINGS)[1]


# ------------------------------------------------------------------------------------ the refit


def test_weights_learn_what_makes_answers_bad(
    shipped: BatchEvalResult, fitted: Calibration
) -> None:
    refit = fitted.refit
    assert refit is not None
    assert refit.used
    assert refit.refitted_auroc > 0.9 > 0.5 > refit.shipped_auroc
    assert refit.gain.low is not None
    assert refit.gain.low > 0
    assert fitted.weights is not None
    assert fitted.weights["number"] > 0.2
    assert fitted.method == "logistic"
    assert fitted.balanced_accuracy > 0.9
    assert fitted.cross_validated_balanced_accuracy is not None
    assert fitted.cross_validated_balanced_accuracy > 0.9
    scores = weighted_scores(losses(), refit.weights)
    assert fitted.threshold in scores
    assert fitted.signature is not None
    assert shipped.signature is not None
    assert fitted.signature.differences(shipped.signature, ["hallucination_rate"]) == []
    assert fitted.signature.differences(shipped.signature, ["faithfulness"]) == [
        f"faithfulness_weights: {fitted.signature.options['faithfulness_weights']}, not shipped"
    ]


def test_losses_and_shipped_weights_give_the_scores(shipped: BatchEvalResult) -> None:
    assert (weighted_scores(losses(), SHIPPED_WEIGHTS) == shipped.scores[:, 0]).all()


def test_a_result_read_from_a_file_has_its_texts_too(
    shipped: BatchEvalResult, fitted: Calibration
) -> None:
    again = BatchEvalResult.from_json(shipped.to_json() or "")
    assert calibrate(again, LABELS, metric="faithfulness") == fitted


def test_nulls_and_zeros_by_rule_have_no_losses(fitted: Calibration) -> None:
    """A row without contexts has no score; one with empty ones has 0 under any weights."""
    odd: list[Sample] = [{"answer": "It opened."}, {"answer": "It opened.", "contexts": [""]}]
    found = calibrate(scored([*odd, *SAMPLES]), [1, 0, *LABELS], metric="faithfulness")
    assert (found.n_labels, found.n_null) == (81, 1)
    assert found.refit is not None
    assert fitted.refit is not None
    assert found.refit.weights == fitted.refit.weights
    assert scored(odd, calibration=found).scores[1, 0] == 0


def test_held_out_thresholds_come_with_held_out_weights() -> None:
    """Weights fitted with the rows that they are judged on look better than they are."""
    random = np.random.default_rng(0)
    table = random.random((80, 8))
    good = table[:, 3] + table[:, 6] + random.normal(0, 0.4, 80) < 1
    shipped = weighted_scores(table, SHIPPED_WEIGHTS)
    column = score_column(shipped, "faithfulness", Signature.of(("faithfulness",), SETTINGS))
    rows = labelled_rows(column, good, None)
    found = calibration_of(column, rows, table, None, None, Resampling(n_resamples=2))
    assert found.weights is not None
    passes = np.zeros(80, np.bool_)
    folds = StratifiedGroupKFold(5, shuffle=True, random_state=0)
    for kept, held_out in folds.split(table, good, np.arange(80)):
        line = fitted_line(table[kept], good[kept])
        assert line is not None
        scores = weighted_scores(table, line.weights)
        chosen = calibrate(scores[kept], good[kept], metric="faithfulness", n_resamples=2)
        passes[held_out] = scores[held_out] >= chosen.threshold
    held_out_accuracy = balanced_accuracy_score(good, passes)
    assert found.cross_validated_balanced_accuracy == pytest.approx(held_out_accuracy)
    assert found.balanced_accuracy > held_out_accuracy


@every_row(
    ("options", "method"),
    [({}, "logistic"), ({"method": "logistic"}, "logistic"), ({"method": "isotonic"}, "isotonic")],
)
def test_the_map_of_a_refit(shipped: BatchEvalResult, options: Any, method: str) -> None:
    found = calibrate(shipped, LABELS, metric="faithfulness", n_resamples=2, **options)
    assert found.method == method
    assert found.weights is not None


def test_precision_is_of_the_fitted_scores(shipped: BatchEvalResult) -> None:
    found = calibrate(shipped, LABELS, metric="faithfulness", precision=0.95)
    assert found.refit is not None
    passes = weighted_scores(losses(), found.refit.weights) >= found.threshold
    assert np.array(GOOD)[passes].mean() >= 0.95


# --------------------------------------------------------------------------- where it is not made


def test_when_weights_are_left_as_they_are(shipped: BatchEvalResult) -> None:
    without = unfitted(shipped)
    assert (without.refit, without.weights, without.method) == (None, None, "isotonic")
    assert without.signature == shipped.signature
    signed: Any = {"signature": shipped.signature}
    cases: list[tuple[Any, list[int], Any]] = [
        (scored(SAMPLES[:29]), LABELS[:29], {}),
        (shipped, [0] * 7 + [1] * 73, {}),
        (scored(keep_texts=False), LABELS, {}),
        (shipped, LABELS, {"metric": "hallucination_rate"}),
        (rag_eval.evaluate_batch(SAMPLES, METRICS), LABELS, {}),
        (shipped.scores[:, 0], LABELS, signed),
    ]
    for batch, labels, options in cases:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = calibrate(batch, labels, **{"metric": "faithfulness", **options})
        assert (found.refit, found.method) == (None, "isotonic")


def test_scores_of_fitted_weights_are_not_fitted_again(fitted: Calibration) -> None:
    again = scored(calibration=fitted)
    with pytest.raises(InputError, match="were made with the weights of another calibration"):
        calibrate(again, LABELS, metric="faithfulness")
    # Another metric's scores are what they were.
    with pytest.warns(CalibrationWarning, match="does not separate good rows from bad ones"):
        assert calibrate(again, LABELS, metric="hallucination_rate").refit is None


# ------------------------------------------------------------------------------------ in scoring


def test_fitted_weights_are_those_of_faithfulness_alone(
    shipped: BatchEvalResult, fitted: Calibration
) -> None:
    batch = scored(calibration=fitted)
    assert fitted.refit is not None
    assert (batch.scores[:, 0] == weighted_scores(losses(), fitted.refit.weights)).all()
    assert (batch.scores[:, 1] == shipped.scores[:, 1]).all()
    assert batch.signature == fitted.signature
    row, before = batch.results[0], shipped.results[0]
    assert row.metrics.faithfulness.score == batch.scores[0, 0]
    assert row.metrics.faithfulness.threshold == fitted.threshold
    assert row.metrics.faithfulness.probability == fitted.probability(batch.scores[0, 0])
    assert row.metrics.faithfulness.evidence == before.metrics.faithfulness.evidence
    assert row.metrics.faithfulness.losses == before.metrics.faithfulness.losses
    assert ", with weights fitted to labels: " in row.metrics.faithfulness.explanation
    assert "weights" not in before.metrics.faithfulness.explanation
    assert row.signature == fitted.signature
    assert ((batch.scores[:, 0] >= fitted.threshold) == np.array(GOOD)).mean() > 0.9


def test_every_way_in_gives_the_same_bits(tmp_path: Path, fitted: Calibration) -> None:
    wanted = scored(calibration=fitted).scores[:, 0]
    file, data, target = (tmp_path / name for name in ("c.json", "s.jsonl", "o.csv"))
    fitted.save(file)
    data.write_text("".join(json.dumps(sample) + "\n" for sample in SAMPLES))
    options: Any = {"profile": "grounded", "calibration": file}
    rag_eval.score_file(data, target, ["faithfulness"], **options)
    with target.open(newline="") as rows:
        assert [float(row["faithfulness"]) for row in csv.DictReader(rows)] == wanted.tolist()
    scorer = BatchScorer(["faithfulness"], **options)
    arrow = scorer(pa.RecordBatch.from_pylist(SAMPLES))
    assert arrow.column("faithfulness").to_pylist() == wanted.tolist()
    assert b"faithfulness_weights" in (arrow.schema.metadata or {})[b"rag_eval.signature"]
    evaluator = rag_eval.create_evaluator(**options)
    assert evaluator.evaluate(SAMPLES[3]).metrics.faithfulness.score == wanted[3]
    for threads in (1, 2):
        assert (scored(calibration=file, threads=threads).scores[:, 0] == wanted).all()


@every_row(
    ("options", "difference"),
    [
        ({}, "profile: overlap, not grounded"),
        ({"profile": "grounded", "language": "de"}, "language: de, not detected"),
    ],
)
def test_settings_that_the_weights_are_not_for(
    fitted: Calibration, options: Any, difference: str
) -> None:
    with pytest.raises(SignatureMismatchError) as caught:
        rag_eval.evaluate(SAMPLES[0], calibration=fitted, **options)
    assert difference in str(caught.value)
    assert "calibrate again" in str(caught.value)


def test_another_version_is_refused(fitted: Calibration) -> None:
    older = fitted.to_dict()
    older["signature"]["version"] -= 1
    with pytest.raises(SignatureMismatchError, match=r"\(version: \d+, not \d+\); calibrate again"):
        rag_eval.evaluate(SAMPLES[0], profile="grounded", calibration=older)


def test_runs_of_other_weights_are_not_comparable(
    shipped: BatchEvalResult, fitted: Calibration
) -> None:
    batch = scored(calibration=fitted)
    with pytest.raises(SignatureMismatchError, match=r"faithfulness_weights: \w{12}, not shipped"):
        scored(calibration=fitted, baseline_result=shipped)
    with pytest.raises(SignatureMismatchError, match=r"faithfulness_weights: \w{12}, not shipped"):
        compare(shipped, batch)
    (found,) = compare(shipped, batch, metrics=["hallucination_rate"]).changes
    assert (found.name, found.verdict) == ("hallucination_rate", "NO CHANGE")


# ----------------------------------------------------------------------------------------- files


@pytest.fixture
def labels(tmp_path: Path) -> Path:
    path = tmp_path / "labels.jsonl"
    rows = [{"id": f"m{n}", "label": label} for n, label in enumerate(LABELS)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.mark.parametrize("name", ["run.json", "run.jsonl", "run.json.gz"])
def test_files_of_results_have_texts(
    tmp_path: Path, labels: Path, shipped: BatchEvalResult, fitted: Calibration, name: str
) -> None:
    path = tmp_path / name
    (shipped.to_jsonl if ".jsonl" in name else shipped.to_json)(path)
    found = calibrate_files(path, labels, metric="faithfulness")
    assert (found.calibration, found.notes) == (fitted, [])
    left = calibrate_files(path, labels, metric="faithfulness", refit=False)
    assert (left.calibration, left.notes) == (unfitted(shipped), [])


def edited(text: str, change: Any) -> str:
    value = json.loads(text)
    for row in value["results"]:
        change(row)
    change(value)
    return json.dumps(value)


def _change_texts(row: Any) -> None:
    if "sample" in row:
        row["sample"]["contexts"] = ["Nothing."]


def _drop_texts(row: Any) -> None:
    if "sample" in row:
        row["sample"] = {"id": row["sample"]["id"]}


def _older_version(row: Any) -> None:
    row["signature"]["version"] -= 1


def _broken_sample(row: Any) -> None:
    if "sample" in row:
        row["sample"]["contexts"] = [5]


@every_row(
    ("change", "note"),
    [
        (_change_texts, "80 of 80 rows have scores that differ from those of their texts (first: "),
        (_drop_texts, "run.json has no texts of its rows; to write a result file: rag-eval run "),
        (_older_version, "made with settings that differ from this version's (version: "),
        (_broken_sample, 'sample 0 ("m0"): contexts'),
    ],
)
def test_files_whose_weights_are_not_refitted(
    tmp_path: Path, labels: Path, shipped: BatchEvalResult, change: Any, note: str
) -> None:
    path = tmp_path / "run.json"
    path.write_text(edited(shipped.to_json() or "", change))
    found = calibrate_files(path, labels, metric="faithfulness")
    assert found.calibration.refit is None
    (said,) = found.notes
    assert said.startswith("the weights of faithfulness were not refitted: ")
    assert note in said


def test_metadata_named_like_a_text_is_none(tmp_path: Path, labels: Path) -> None:
    """A sample's own fields are read, whatever its metadata calls by their names."""
    metadata = {"contexts": ["x"], "language": "English", "answer": 5}
    path = tmp_path / "run.json"
    scored([{**sample, "metadata": metadata} for sample in SAMPLES]).to_json(path)
    assert calibrate_files(path, labels, metric="faithfulness").calibration.weights is not None
