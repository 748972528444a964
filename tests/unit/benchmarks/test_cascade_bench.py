"""The measured cascade: its judge is as right as it says, its bands and its page are right.

All rows here are made up.
"""

from __future__ import annotations

import gzip
import itertools
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks import cascade, cascade_runs
from benchmarks.cascade_page import page
from benchmarks.cascade_runs import Ladder, distinct, halves
from benchmarks.scripted_judge import ScriptedJudge
from benchmarks.validity.sets import Row, Trial, trials_of
from rag_eval import evaluate_batch

COLOURS = ("red", "green", "blue", "yellow", "black", "white", "brown", "grey")
PLACES = ("harbour", "market", "station", "garden", "library", "museum", "tower", "bridge")


def made_up(n_rows: int, seed: int = 3) -> list[Row]:
    """Rows whose answers keep more of the chunk where they are good, and some that mislead."""
    rng = np.random.default_rng(seed)
    rows = []
    for number in range(n_rows):
        words = [*rng.permutation(COLOURS)[:4], *rng.permutation(PLACES)[:4]]
        good = bool(rng.random() < 0.5)
        n_kept = int(rng.integers(3, 9) if good else rng.integers(0, 6))
        said = [*words[:n_kept], *(f"other{number}x{i}" for i in range(8 - n_kept))]
        chunk = f"Number {number} has {' '.join(words)}."
        rows.append(Row("", f"It has {' '.join(said)}.", [chunk], [], good, f"g{number // 2}"))
    return rows


def trial_of(rows: Sequence[Row]) -> Trial:
    trial, _ = trials_of("mine", "faithfulness", rows)
    return trial


TRIAL = trial_of(made_up(160))


def judged(judge: Any, samples: Any, metric: str = "faithfulness") -> Any:
    options: Any = {"mode": "llm", "judge": judge, "judge_style": "rating"}
    return evaluate_batch(samples, [metric], **options).scores[:, 0]


def test_a_judge_that_is_always_right_gives_the_labels() -> None:
    judge = ScriptedJudge(TRIAL.samples, TRIAL.good, 1.0, seed=1)
    assert judged(judge, TRIAL.samples).tolist() == [float(good) for good in TRIAL.good]
    assert judge.asked == set(range(len(TRIAL.samples)))


def test_a_judge_is_right_about_as_often_as_it_is_told() -> None:
    samples = [{"answer": f"answer {number}"} for number in range(4000)]
    labels = [number % 3 == 0 for number in range(4000)]
    for right in (0.7, 0.85):
        verdicts = ScriptedJudge(samples, labels, right, seed=1).verdicts
        # Four standard deviations.
        assert np.mean(verdicts == labels) == pytest.approx(right, abs=0.03)


def test_a_better_judge_is_right_wherever_a_worse_one_is() -> None:
    labels = np.array(TRIAL.good)
    worse, better = (
        ScriptedJudge(TRIAL.samples, TRIAL.good, right, seed=1).verdicts == labels
        for right in (0.6, 0.8)
    )
    assert (better | ~worse).all()
    assert better.sum() > worse.sum()


def test_a_judge_knows_answers_by_their_ground_truths_too() -> None:
    samples = [
        {"question": "Who?", "answer": "Ada <|im_end|>", "ground_truth": ["Ada", "Lovelace"]},
        {"question": "Who?", "answer": "Ada <|im_end|>", "ground_truth": ["Grace", "–"]},
    ]
    judge = ScriptedJudge(samples, [True, False], 1.0, seed=1)
    profile: Any = {"profile": "grounded", "mode": "llm", "judge": judge, "judge_style": "rating"}
    scores = evaluate_batch(samples, ["answer_correctness"], **profile).scores[:, 0]
    assert scores.tolist() == [1.0, 0.0]


def test_a_judge_refuses_samples_that_it_could_not_tell_apart() -> None:
    samples = [{"answer": "same"}, {"answer": "same"}]
    with pytest.raises(ValueError, match="same texts"):
        ScriptedJudge(samples, [True, False], 1.0, seed=1)


def test_copies_of_a_row_count_once() -> None:
    rows = made_up(6)
    found = distinct(trial_of([*rows, rows[2]._replace(good=not rows[2].good), rows[4]]))
    assert found.samples == trial_of(rows).samples
    assert found.good == [row.good for row in rows]


def test_a_group_is_in_one_half_alone() -> None:
    known, new = halves(TRIAL)
    assert not set(known.groups) & set(new.groups)
    assert len(set(known.groups)) == len(set(new.groups)) == 40
    assert len(known.good) + len(new.good) == len(TRIAL.good)


@pytest.fixture(scope="module")
def ladder() -> Ladder:
    return Ladder(TRIAL)


@pytest.fixture(scope="module")
def outcome(ladder: Ladder) -> cascade_runs.SetOutcome:
    return ladder.outcome()


def test_bands_grow_with_their_share(ladder: Ladder) -> None:
    bands = [ladder.band(share) for share in (0.1, 0.3, 0.5)]
    assert ladder.band(1.0) == (0.0, 1.0)
    for inner, outer in itertools.pairwise(bands):
        assert outer[0] <= inner[0] <= inner[1] <= outer[1]
    assert bands[0] != bands[2]


def test_a_run_is_what_the_rule_of_the_cascade_says(
    ladder: Ladder, outcome: cascade_runs.SetOutcome
) -> None:
    _, new = halves(distinct(TRIAL))
    native = evaluate_batch(new.samples, ["faithfulness"], profile="grounded").scores[:, 0]
    low, high = ladder.band(0.3)
    inside = (native >= low) & (native <= high)
    judge = ScriptedJudge(new.samples, new.good, 0.85, cascade_runs.SEED)
    scores = np.where(inside, judge.verdicts, ladder.calibration.probabilities(native))
    point = outcome.by_share[0.3, 0.85]
    assert 0 < inside.mean() < 1
    assert point.judged == pytest.approx(inside.mean())
    assert point.saved == pytest.approx(1 - inside.mean())
    assert point.accuracy == pytest.approx(np.mean((scores >= 0.5) == new.good))
    assert point.mean == pytest.approx(scores.mean())


def test_with_all_rows_judged_the_accuracy_is_the_judges(outcome: cascade_runs.SetOutcome) -> None:
    _, new = halves(distinct(TRIAL))
    for right in cascade_runs.RIGHT:
        verdicts = ScriptedJudge(new.samples, new.good, right, cascade_runs.SEED).verdicts
        point = outcome.by_share[1.0, right]
        assert point.judged == 1
        assert point.saved == 0
        assert point.accuracy == pytest.approx(np.mean(verdicts == new.good))
    assert outcome.by_share[1.0, 1.0].balanced == 1
    assert outcome.native.accuracy < 1


def test_of_a_judge_that_is_always_right_people_and_judge_say_the_same(
    outcome: cascade_runs.SetOutcome,
) -> None:
    right = outcome.audits[1.0]
    assert right.disagreement == right.errors
    assert 0 < right.n_rows < outcome.n_measured / 4
    wrong = outcome.audits[0.7]
    assert wrong.errors == right.errors
    assert wrong.disagreement > right.disagreement


def test_the_page_holds_every_run_and_no_row(outcome: cascade_runs.SetOutcome) -> None:
    text = page([outcome])
    ladder_rows = ("none", "5 %", "10 %", "20 %", "30 %", "50 %", "all", "default")
    for name in ladder_rows:
        assert text.count(f"\n| {name} |") == 2
    assert "1.000" in text
    assert not any(word in text for word in (*PLACES, "It has", "Number 1"))


def write_set(folder: Path, name: str, rows: Sequence[Row]) -> None:
    (folder / "labelled").mkdir(exist_ok=True)
    with gzip.open(folder / "labelled" / f"{name}.jsonl.gz", "wt", encoding="utf-8") as file:
        for row in rows:
            fields = {"task": "faithfulness", "label_bin": int(row.good), **row._asdict()}
            file.write(json.dumps(fields) + "\n")


def test_the_command_says_when_there_is_no_data(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("RAG_EVAL_DATA", str(tmp_path))
    with pytest.raises(SystemExit, match="2"):
        cascade.main([])
    assert "no labelled set" in capsys.readouterr().err
    write_set(tmp_path, "small", made_up(20))
    assert cascade.main([]) == 2
    assert "500 rows" in capsys.readouterr().err


def test_the_command_writes_the_page_that_it_prints(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("RAG_EVAL_DATA", str(tmp_path))
    monkeypatch.setattr(cascade, "FEWEST_ROWS", 100)
    monkeypatch.setattr(cascade, "RESULTS", tmp_path / "CASCADE.md")
    write_set(tmp_path, "mine", made_up(120))
    write_set(tmp_path, "small", made_up(20))
    assert cascade.main(["--write"]) == 0
    out = capsys.readouterr().out
    assert (tmp_path / "CASCADE.md").read_text("utf-8").strip() == out.strip()
    assert "\n## mine\n" in out
    assert "\n## small\n" not in out
