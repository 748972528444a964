"""What is done with runs of the grounded profile: calibration, comparisons and baselines."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from rag_eval.calibration.result import Calibration
from tests.commands import invoke
from tests.grounded_rows import GROUNDED, INVENTED, SAMPLES, SOUND, samples

FIELDS = "fields: question=question, answer=answer, contexts=contexts, ground truth=ground_truth\n"
SHARED = (
    "note: 60 of 60 rows share contexts with other rows, so the confidence intervals are too "
    "narrow; add --cluster-by document to correct them\n"
)


def run(*arguments: object, **options: Any) -> Result:
    return invoke("run", *arguments, **options)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return samples(tmp_path / "data.jsonl", *SAMPLES)


# ---------------------------------------------------------------------------------- calibration


@pytest.fixture
def many(tmp_path: Path) -> Path:
    rows = [{"id": f"q{row}", **(SOUND if row % 2 else INVENTED)} for row in range(60)]
    return samples(tmp_path / "many.jsonl", *rows)


@pytest.fixture
def calibration(tmp_path: Path, many: Path) -> Path:
    """A calibration as the command line makes it: run, label, calibrate."""
    scores, file = tmp_path / "run.json", tmp_path / "cal.json"
    labels = samples(
        tmp_path / "labels.jsonl", *({"id": f"q{row}", "label": row % 2} for row in range(60))
    )
    assert run(many, *GROUNDED, "--output", scores, "--quiet").exit_code == 0
    done = invoke("calibrate", scores, labels, "--metric", "faithfulness", "--output", file)
    assert (done.exit_code, done.stderr) == (0, "")
    assert done.stdout.startswith("faithfulness (grounded), logistic: 60 labels, 50 % good\n")
    return file


@pytest.mark.parametrize("by", ["flag", "config"])
def test_calibrated_thresholds_and_probabilities(
    tmp_path: Path, many: Path, calibration: Path, by: str
) -> None:
    found = Calibration.load(calibration)
    assert found.threshold > 0.6
    flags: tuple[Any, ...] = (*GROUNDED, "--calibration", calibration)
    if by == "config":
        # Its name is taken from the folder of the file.
        (tmp_path / "rag-eval.toml").write_text('profile="grounded"\ncalibration="cal.json"\n')
        flags = ("--config", tmp_path / "rag-eval.toml")
    done = run(many, *flags, "--format", "jsonl", "--min-pass-rate", 0.5)
    verdict = "PASS  pass rate 0.50 (30/60) is at least 0.50\n"
    assert (done.exit_code, done.stderr) == (0, FIELDS + SHARED + verdict)
    rows = [json.loads(line)["metrics"] for line in done.stdout.splitlines()]
    assert {row["faithfulness"]["threshold"] for row in rows} == {found.threshold}
    low, high = found.probability(0.0), found.probability(0.96)
    assert low is not None
    assert high is not None
    assert low < 0.05 < 0.95 < high
    assert [row["faithfulness"]["probability"] for row in rows] == [low, high] * 30
    assert not any("probability" in row["contextRecall"] for row in rows)
    done = run(many, *flags, "--thresholds", "faithfulness=0.1", "--format", "jsonl")
    row = json.loads(done.stdout.splitlines()[1])["metrics"]["faithfulness"]
    assert (row["threshold"], row["probability"]) == (0.1, high)


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ((), "(profile: overlap, not grounded)"),
        ((*GROUNDED, "--language", "de"), "(language: de, not detected)"),
        ((*GROUNDED, "--stemmer", "snowball"), "(stemmer: snowball "),
        ((*GROUNDED, "--metrics", "context_recall"), "this call has context_recall"),
    ],
)
def test_a_calibration_of_other_scores(
    many: Path, calibration: Path, flags: tuple[str, ...], message: str
) -> None:
    done = run(many, *flags, "--calibration", calibration)
    assert (done.exit_code, done.stdout) == (2, "")
    assert message in done.stderr


def test_a_calibration_without_a_signature_gives_a_note(many: Path, calibration: Path) -> None:
    value = json.loads(calibration.read_text())
    calibration.write_text(json.dumps({**value, "signature": None, "refit": None}))
    done = run(many, *GROUNDED, "--calibration", calibration)
    assert done.exit_code == 0
    note = (
        "note: the calibration of faithfulness has no signature: its settings are assumed "
        "to match, but were not checked\n"
    )
    assert done.stderr == FIELDS + note + SHARED
    assert run(many, *GROUNDED, "--calibration", calibration, "--quiet").stderr == ""


def test_what_should_be_low_is_not_calibrated(tmp_path: Path, many: Path) -> None:
    scores = tmp_path / "s.json"
    run(many, *GROUNDED, "--metrics", "unsupported_names", "--output", scores)
    labels = samples(tmp_path / "l.jsonl", *({"id": f"q{n}", "label": n % 2} for n in range(60)))
    done = invoke("calibrate", scores, labels, "--metric", "unsupported_names")
    assert (done.exit_code, done.stdout) == (2, "")
    assert "unsupported_names cannot be calibrated: lower is better for this metric" in done.stderr


# ------------------------------------------------------------------- comparisons and baselines


@pytest.fixture
def runs(tmp_path: Path, data: Path) -> tuple[Path, Path]:
    """Results of both profiles."""
    overlap, grounded = tmp_path / "overlap.json", tmp_path / "grounded.json"
    sound = samples(tmp_path / "sound.jsonl", {**SOUND, "ground_truth": "Dr. Ellen Marsh"})
    for output, flags in ((overlap, ()), (grounded, GROUNDED)):
        run(sound, *flags, "--output", output, "--quiet")
    return overlap, grounded


def test_runs_of_two_profiles_are_not_compared(runs: tuple[Path, Path]) -> None:
    overlap, grounded = runs
    done = invoke("compare", overlap, grounded)
    assert (done.exit_code, done.stdout) == (2, "")
    assert (
        "(profile: grounded, not overlap). Use the same settings for both, or add --force"
        in done.stderr
    )
    done = invoke("compare", overlap, grounded, "--force")
    assert done.exit_code == 0
    assert "note: settings differ: profile: grounded, not overlap" in done.stdout


def test_runs_of_two_versions_are_not_compared(tmp_path: Path, runs: tuple[Path, Path]) -> None:
    """And it is said which one to score again."""
    _, new = runs
    old = tmp_path / "before.json"
    value = json.loads(new.read_text())
    for one in (value, *value["results"]):
        one["signature"]["version"] = 1
    old.write_text(json.dumps(value))
    done = invoke("compare", old, new)
    assert (done.exit_code, done.stdout) == (2, "")
    assert "error: NOT COMPARABLE: " in done.stderr
    assert f"(version: 3, not 1). {old} was scored by an earlier version. " in done.stderr
    # Without --profile the samples would be scored by the other profile.
    assert (
        "Score its samples again with the same options (such as --profile): "
        f"rag-eval run SAMPLES --output {old}" in done.stderr
    )
    assert f"(version: 1, not 3). {old} was scored by" in invoke("compare", new, old).stderr


def test_runs_of_one_profile_are_compared(tmp_path: Path, data: Path) -> None:
    old, new = tmp_path / "old.json", tmp_path / "new.json"
    names = ("--metrics", "faithfulness,unsupported_names,noise_sensitivity")
    run(data, *GROUNDED, *names, "--output", old)
    run(data, *GROUNDED, "--metrics", "faithfulness,unsupported_names", "--output", new)
    done = invoke("compare", old, new)
    assert done.exit_code == 0
    # Without a diagnostic the composite score is the same.
    assert "only one run has noise_sensitivity: row verdicts are not compared" in done.stderr
    means = {line.split()[0]: line.split()[1:4] for line in done.stdout.splitlines() if line}
    for name, mean in (("faithfulness", "0.480"), ("unsupported_names", "0.500")):
        assert means[name] == [mean, mean, "0.000"]
    assert means["composite"][2] == "0.000"
    assert not means.keys() & {"passed", "noise_sensitivity"}


@pytest.mark.parametrize("turn", [1, -1])
def test_a_baseline_of_another_profile_is_refused(
    tmp_path: Path, runs: tuple[Path, Path], turn: int
) -> None:
    overlap, grounded = runs[::turn]
    flags = GROUNDED if turn == 1 else ()
    baseline = ("--baseline", overlap)
    done = run(tmp_path / "sound.jsonl", *flags, *baseline)
    assert (done.exit_code, done.stdout) == (2, "")
    assert "this run was scored with other settings than the baseline (profile: " in done.stderr
    node = ("--policy", "node")
    forced = run(tmp_path / "sound.jsonl", *flags, *baseline, *node, "--allow-signature-mismatch")
    assert forced.exit_code in (0, 1)
    assert "the settings of the baseline were not checked" in forced.stderr
    assert run(tmp_path / "sound.jsonl", *flags, *node, "--baseline", grounded).exit_code == 0


def test_a_rise_of_what_should_be_low_fails_the_baseline(tmp_path: Path) -> None:
    names = (*GROUNDED, "--metrics", "unsupported_names")
    sound = samples(tmp_path / "sound.jsonl", SOUND, SOUND)
    worse = samples(tmp_path / "worse.jsonl", SOUND, INVENTED)
    node = ("--policy", "node")
    low, high = tmp_path / "low.json", tmp_path / "high.json"
    assert run(sound, *names, "--output", low).exit_code == 0
    assert run(worse, *names, "--output", high).exit_code == 0
    done = run(worse, *names, *node, "--baseline", low)
    assert done.exit_code == 1
    assert done.stdout.splitlines()[-1] == (
        "FAIL  unsupported_names mean 0.50 is 0.50 above the baseline's 0.00 (threshold 0.05)"
    )
    summary = json.loads(run(worse, *names, *node, "--baseline", low, "--format", "json").stdout)
    assert summary["gates"][0]["wanted"] == 0.05
    done = run(sound, *names, *node, "--baseline", high)
    assert done.exit_code == 0
    assert done.stdout.splitlines()[-1] == (
        "PASS  unsupported_names mean 0.00 is 0.50 below the baseline's 0.50"
    )
