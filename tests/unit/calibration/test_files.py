"""Calibrations to files and back; what a broken or hostile file is told."""

from __future__ import annotations

import copy
import json
import pickle
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_eval.calibration.files import read_calibrations, write_calibrations
from rag_eval.calibration.fitting import calibrate
from rag_eval.calibration.refitting import refit_weights
from rag_eval.calibration.result import Calibration
from rag_eval.errors import InputError
from rag_eval.kernels.settings import LOSSES, GroundedSettings, OverlapSettings
from rag_eval.options.signature import Signature
from rag_eval.stats.index_sources import Resampling
from tests.tables import every_row

SIGNATURE = Signature.of(("faithfulness",), OverlapSettings())


def made(metric: str = "faithfulness", **options: Any) -> Calibration:
    generator = np.random.default_rng(0)
    scores = generator.random(60)
    good = generator.random(60) < scores
    return calibrate(scores, good, metric=metric, n_resamples=10, **options)


FAITHFULNESS = made(signature=SIGNATURE)
LOGISTIC = made(method="logistic", precision=0.6)
RECALL = made("context_recall")


def refitted(seed: int) -> Calibration:
    """A calibration with weights that labels of these losses were fitted to."""
    generator = np.random.default_rng(seed)
    losses = generator.random((60, 8))
    good = losses[:, 3] + generator.normal(0, 0.2, 60) < 0.5
    found = refit_weights(losses, good, np.arange(60), Resampling(n_resamples=10))
    settings = GroundedSettings(weights=found.weights)
    return replace(
        FAITHFULNESS,
        signature=Signature.of(("faithfulness",), settings),
        probability_map=found.probability_map,
        refit=found,
    )


REFITTED = refitted(0)


def written(folder: Path, value: object) -> Path:
    path = folder / "c.json"
    path.write_text(value if isinstance(value, str) else json.dumps(value))
    return path


# --------------------------------------------------------------------------------- round trip


@every_row("calibration", [FAITHFULNESS, LOGISTIC, REFITTED])
@every_row("name", ["c.json", "c.json.gz"])
def test_round_trip(tmp_path: Path, calibration: Calibration, name: str) -> None:
    path = tmp_path / name
    calibration.save(path)
    found = Calibration.load(path)
    assert found == calibration
    scores = np.linspace(-1, 2, 301)
    assert (found.probabilities(scores) == calibration.probabilities(scores)).all()
    assert list(tmp_path.iterdir()) == [path]
    assert pickle.loads(pickle.dumps(found)) == found


def test_what_a_file_looks_like() -> None:
    value = FAITHFULNESS.to_dict()
    assert list(value) == [
        "formatVersion",
        "metricId",
        "signature",
        "method",
        "map",
        "objective",
        "precision",
        "threshold",
        "balancedAccuracy",
        "crossValidatedBalancedAccuracy",
        "nLabels",
        "nGroups",
        "nNull",
        "shareGood",
        "refit",
    ]
    assert value["metricId"] == "faithfulness"
    assert value["signature"] == SIGNATURE.to_dict()
    assert value["threshold"]["estimate"] == FAITHFULNESS.threshold
    assert list(value["map"]) == ["scores", "probabilities"]
    assert list(LOGISTIC.to_dict()["map"]) == ["coefficient", "intercept"]
    assert json.loads(json.dumps(value)) == value


def test_what_a_file_says_of_weights() -> None:
    assert FAITHFULNESS.to_dict()["refit"] is None
    assert FAITHFULNESS.weights is None
    refit, found = REFITTED.to_dict()["refit"], REFITTED.refit
    assert found is not None
    assert refit == {
        "used": True,
        "weights": dict(zip([*LOSSES[:-1], "newName"], found.weights, strict=True)),
        "slope": found.slope,
        "intercept": found.intercept,
        "shippedAuroc": found.shipped_auroc,
        "refittedAuroc": found.refitted_auroc,
        "gain": found.gain.to_dict(),
    }
    assert REFITTED.weights == dict(zip(LOSSES, found.weights, strict=True))
    assert REFITTED.signature is not None
    assert set(REFITTED.signature.options) == {"language", "stemmer", "faithfulness_weights"}


def test_files_of_the_first_format_still_load(tmp_path: Path) -> None:
    older = {**FAITHFULNESS.to_dict(), "formatVersion": 1}
    del older["refit"]
    assert Calibration.load(written(tmp_path, older)) == FAITHFULNESS
    several = {"formatVersion": 1, "calibrations": {"faithfulness": older}}
    assert read_calibrations(written(tmp_path, several)) == {"faithfulness": FAITHFULNESS}


def test_a_failed_write_leaves_the_older_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"cannot write .*nowhere.*No such file"):
        FAITHFULNESS.save(tmp_path / "nowhere" / "c.json")
    path = written(tmp_path, "older")
    with pytest.raises(InputError, match="two different calibrations of faithfulness"):
        write_calibrations([FAITHFULNESS, LOGISTIC], path)
    assert path.read_text() == "older"


def test_applying_one_needs_no_scikit_learn(tmp_path: Path) -> None:
    LOGISTIC.save(tmp_path / "c.json")
    program = f"""
import sys
sys.modules["sklearn"] = None
from rag_eval.calibration.result import Calibration
found = Calibration.load({str(tmp_path / "c.json")!r})
print(found.probability(0.25), [name for name in sys.modules if name.startswith("scipy")])
"""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout == f"{LOGISTIC.probability(0.25)} []\n"


# ------------------------------------------------------------------------- several of them


def test_several_in_one_file(tmp_path: Path) -> None:
    path = tmp_path / "c.json"
    write_calibrations([FAITHFULNESS, RECALL], path)
    assert list(json.loads(path.read_text())["calibrations"]) == ["faithfulness", "contextRecall"]
    both = {"faithfulness": FAITHFULNESS, "context_recall": RECALL}
    assert read_calibrations(path) == both
    with pytest.raises(
        InputError,
        match="holds calibrations of faithfulness, context_recall; give a file with exactly one",
    ):
        Calibration.load(path)


def test_whatever_a_caller_has(tmp_path: Path) -> None:
    single, several = tmp_path / "single.json", tmp_path / "several.json"
    FAITHFULNESS.save(single)
    write_calibrations([FAITHFULNESS, RECALL], several)
    one = {"faithfulness": FAITHFULNESS}
    both = {"faithfulness": FAITHFULNESS, "context_recall": RECALL}
    for source, wanted in (
        (FAITHFULNESS, one),
        (single, one),
        (str(single), one),
        ([FAITHFULNESS], one),
        ((FAITHFULNESS, RECALL), both),
        ([str(single), RECALL], both),
        ([single, several], both),
        ([FAITHFULNESS, {"contextRecall": RECALL}], both),
        ({"faithfulness": FAITHFULNESS, "contextRecall": RECALL}, both),
        ({"faithfulness": FAITHFULNESS.to_dict()}, one),
        (FAITHFULNESS.to_dict(), one),
        (json.loads(several.read_text()), both),
        ([], {}),
        ({}, {}),
    ):
        assert read_calibrations(source) == wanted


@every_row(
    ("source", "message"),
    [
        (5, "must be a Calibration, the path of a file, a mapping, or a list of these; got int"),
        (None, "got NoneType"),
        ([FAITHFULNESS, LOGISTIC], "found two different calibrations of faithfulness"),
        ({"contextRecall": FAITHFULNESS}, "['contextRecall'] is the calibration of faithfulness"),
        ({"faith": FAITHFULNESS}, "calibration: unknown metric 'faith'"),
        ({5: FAITHFULNESS}, "calibration: unknown metric 5"),
        (
            {"faithfulness": 0.5},
            "calibration['faithfulness'] is not a calibration: Expected `object`",
        ),
        (
            {"contextRecall": RECALL, "context_recall": made("context_recall", seed=1)},
            "calibration has two different calibrations of context_recall",
        ),
        ("nowhere.json", "cannot read nowhere.json: No such file or directory"),
    ],
)
def test_what_no_calibration_is(source: object, message: str) -> None:
    with pytest.raises(InputError) as caught:
        read_calibrations(source)
    assert message in str(caught.value)


# ------------------------------------------------------------------------------- broken files


@every_row(
    ("text", "message"),
    [
        ("", "c.json is not a calibration file: it is not valid JSON"),
        ("{", "c.json is not a calibration file: it is not valid JSON"),
        ("[" * 100_000, "c.json is not a calibration file: it is not valid JSON"),
        (
            '{"formatVersion": NaN}',
            "c.json is not a calibration file: it is not valid JSON (NaN is not valid JSON",
        ),
        (
            '{"threshold": 1e999}',
            "c.json is not a calibration file: it is not valid JSON (1e999 is beyond the range",
        ),
        ("[1]", "c.json is not a calibration file: it holds no JSON object"),
        ("null", "c.json is not a calibration file: it holds no JSON object"),
        ("{}", "c.json is not a calibration: Object missing required field `formatVersion`"),
        ('{"results": []}', "c.json is not a calibration: Object "),
        ('{"calibrations": {}}', "c.json has format version None; this library reads 1"),
        ('{"formatVersion": 1, "calibrations": []}', "calibrations must be an object of metrics"),
        ('{"formatVersion": 1, "calibrations": {"x": {}}}', "c.json: unknown metric 'x'"),
        (
            '{"formatVersion": 1, "calibrations": {"faithfulness": null}}',
            "c.json['faithfulness'] is not a calibration: Expected `object`, got `null`",
        ),
    ],
)
def test_files_that_hold_none(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        Calibration.load(written(tmp_path, text))
    assert message in str(caught.value)


def test_a_file_that_is_not_gzip(tmp_path: Path) -> None:
    path = tmp_path / "c.json.gz"
    path.write_bytes(b"{}")
    with pytest.raises(InputError, match=r"c\.json\.gz is not valid gzip data: Not a gzipped file"):
        Calibration.load(path)


ISOTONIC = {"scores": [0.1, 0.2], "probabilities": [0.0, 1.0]}


@every_row(
    ("path", "value", "message"),
    [
        ("formatVersion", 3, "it has format version 3; this library reads 1 to 2: calibrate again"),
        ("formatVersion", True, "it has format version True"),
        ("formatVersion", "1", "it has format version '1'"),
        ("metricId", "faith", "unknown metric 'faith'"),
        ("metricId", 5, "Expected `str`, got `int` - at `$.metricId`"),
        ("signature", "x", "Expected `object | null`, got `str` - at `$.signature`"),
        ("signature", {}, "signature: Object missing required field `profile`"),
        ("signature.version", "1", "signature: Expected `int`, got `str` - at `$.version`"),
        ("signature.options", [], "signature: Expected `object`, got `array` - at `$.options`"),
        ("method", "spline", "Invalid enum value 'spline' - at `$.method`"),
        ("method", "logistic", "map: Object"),
        ("map", None, "Expected `object`, got `null` - at `$.map`"),
        ("map", {"scores": [], "probabilities": []}, "map: Expected `array` of length >= 1"),
        ("map.scores", "0.1", "map: Expected `array`, got `str` - at `$.scores`"),
        ("map", {**ISOTONIC, "scores": [0.1, "x"]}, "got `str` - at `$.scores[1]`"),
        ("map", {**ISOTONIC, "scores": [0.1]}, "map: 1 scores and 2 probabilities"),
        ("map", {**ISOTONIC, "scores": [0.1, 0.1]}, "map: scores must be in increasing order"),
        ("map", {**ISOTONIC, "scores": [0.2, 0.1]}, "map: scores must be in increasing order"),
        ("map", {**ISOTONIC, "probabilities": [0.5, 0.4]}, "map: probabilities must not decrease"),
        ("map", {**ISOTONIC, "probabilities": [0.5, 1.5]}, "map: Expected `float` <= 1.0"),
        ("map", {**ISOTONIC, "scores": [float("-inf"), 1]}, "map: Expected `float` >= -1.79"),
        ("map", {**ISOTONIC, "scores": [float("nan"), 1]}, "map: Expected `float`"),
        ("map.code", "import os", "map: Object contains unknown field `code`"),
        ("objective", "f1", "Invalid enum value 'f1'"),
        ("objective", "precision", "precision is required with the objective 'precision'"),
        (
            "precision",
            0.5,
            "precision is required with the objective 'precision', and not allowed otherwise",
        ),
        ("threshold", 0.5, "Expected `object`, got `float` - at `$.threshold`"),
        ("threshold.estimate", None, "Expected `float`, got `null` - at `$.threshold.estimate`"),
        ("threshold.estimate", float("nan"), "- at `$.threshold.estimate`"),
        ("threshold.estimate", True, "Expected `float`, got `bool` - at `$.threshold.estimate`"),
        ("threshold.estimate", 10**400, "Number out of range - at `$.threshold.estimate`"),
        ("threshold.low", None, "threshold: low and high must both be given, or both be null"),
        ("threshold.low", 9.0, "threshold: low 9.0 is above high"),
        ("threshold.level", 1, "Expected `float` < 1.0 - at `$.threshold.level`"),
        ("threshold.nResamples", -1, "Expected `int` >= 0 - at `$.threshold.nResamples`"),
        ("balancedAccuracy.nGroups", 0, "Expected `int` >= 1 - at `$.balancedAccuracy.nGroups`"),
        ("crossValidatedBalancedAccuracy", "x", "at `$.crossValidatedBalancedAccuracy`"),
        ("nLabels", 2.5, "Expected `int`, got `float` - at `$.nLabels`"),
        ("shareGood", 0, "Expected `float` > 0.0 - at `$.shareGood`"),
        ("extra", 1, "Object contains unknown field `extra`"),
    ],
)
def test_each_field_is_checked(path: str, value: object, message: str) -> None:
    broken = copy.deepcopy(FAITHFULNESS.to_dict())
    *parents, last = path.split(".")
    place = broken
    for name in parents:
        place = place[name]
    place[last] = value
    with pytest.raises(InputError) as caught:
        Calibration.from_dict(broken)
    assert str(caught.value).startswith("calibration is not a calibration: ")
    assert message in str(caught.value)


@every_row("name", list(FAITHFULNESS.to_dict()))
def test_each_field_must_be_there(tmp_path: Path, name: str) -> None:
    broken = FAITHFULNESS.to_dict()
    del broken[name]
    with pytest.raises(InputError, match=rf"c.json is not a calibration: .*`{name}`"):
        Calibration.load(written(tmp_path, broken))


def test_a_falling_logistic_map_is_refused() -> None:
    broken = LOGISTIC.to_dict()
    broken["map"]["coefficient"] = -1.0
    with pytest.raises(InputError, match=r"map: Expected `float` >= 0.0 - at `\$.coefficient`"):
        Calibration.from_dict(broken)


@every_row(
    ("path", "value", "message"),
    [
        ("refit", 5, "Expected `object | null`, got `int` - at `$.refit`"),
        ("refit", None, "refit: the weights differ from those in the signature"),
        ("refit.used", False, "refit: the weights differ from those in the signature"),
        ("refit.used", 1, "Expected `bool`, got `int` - at `$.refit.used`"),
        ("refit.weights.window", 2.0, "Expected `float` <= 1.0 - at `$.refit.weights.window`"),
        ("refit.weights.window", -0.1, "Expected `float` >= 0.0 - at `$.refit.weights.window`"),
        ("refit.weights.skip", 0.9, "the weights from window to near must add up to 1"),
        ("refit.weights.newName", 0.5, "refit: the weights differ from those in the signature"),
        ("refit.weights.contradiction", float("nan"), "at `$.refit.weights.contradiction`"),
        ("refit.weights.near", None, "Expected `float`, got `null` - at `$.refit.weights.near`"),
        ("refit.weights.extra", 0.1, "Object contains unknown field `extra`"),
        ("refit.slope", -1.0, "Expected `float` >= 0.0 - at `$.refit.slope`"),
        ("refit.gain.low", None, "refit.gain: low and high must both be given, or both be null"),
        ("refit.shippedAuroc", 1.5, "Expected `float` <= 1.0 - at `$.refit.shippedAuroc`"),
        ("signature", None, "refit: only faithfulness with a signature can have fitted weights"),
        (
            "metricId",
            "contextRecall",
            "refit: only faithfulness with a signature can have fitted weights",
        ),
        (
            "signature.options.faithfulness_weights",
            "0" * 12,
            "the weights differ from those in the signature",
        ),
        (
            "signature.options.faithfulness_weights",
            None,
            "the weights differ from those in the signature",
        ),
    ],
)
def test_each_field_of_weights_is_checked(path: str, value: object, message: str) -> None:
    broken = copy.deepcopy(REFITTED.to_dict())
    *parents, last = path.split(".")
    place = broken
    for name in parents:
        place = place[name]
    place[last] = value
    with pytest.raises(InputError) as caught:
        Calibration.from_dict(broken)
    assert message in str(caught.value)


def test_weights_of_no_calibration_are_refused() -> None:
    """A signature that names weights, and nothing that says which."""
    broken = FAITHFULNESS.to_dict()
    broken["signature"] = REFITTED.to_dict()["signature"]
    with pytest.raises(InputError, match="the weights differ from those in the signature"):
        Calibration.from_dict(broken)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=5,
)
PLACES = (
    [(name,) for name in FAITHFULNESS.to_dict()]
    + [
        (name, inner)
        for name in ("signature", "map", "threshold", "balancedAccuracy")
        for inner in FAITHFULNESS.to_dict()[name]
    ]
    + [("refit", inner) for inner in REFITTED.to_dict()["refit"]]
)


@given(st.sampled_from(PLACES), JSON, st.sampled_from([FAITHFULNESS, LOGISTIC, REFITTED]))
def test_no_value_does_worse_than_an_error(
    place: tuple[str, ...], value: object, calibration: Calibration
) -> None:
    broken: Any = copy.deepcopy(calibration.to_dict())
    parent = broken if len(place) == 1 else broken[place[0]]
    if not isinstance(parent, dict):
        return
    parent[place[-1]] = value
    try:
        found = Calibration.from_dict(broken)
    except InputError:
        return
    # What is accepted can be used.
    probabilities = found.probabilities(np.linspace(-2, 2, 9))
    assert ((probabilities >= 0) & (probabilities <= 1)).all()
    assert (np.diff(probabilities) >= -1e-15).all()
    found.check(found.metric, SIGNATURE if found.signature is None else found.signature)
    assert isinstance(repr(found), str)
