"""The measured calibration: what is labelled is not measured on, and the page holds the figures.

All rows here are made up.
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pytest

from benchmarks import refits
from benchmarks.refit_runs import SIZES, Draw, LabelledSet
from benchmarks.refits import SizeOutcome, page
from benchmarks.validity.sets import Row, trials_of
from tests.labelled_museums import museum


def rows(n_rows: int) -> list[Row]:
    made = [museum(number) for number in range(n_rows)]
    return [
        Row(sample["question"], sample["answer"], sample["contexts"], [], good, f"g{number // 2}")
        for number, (sample, good) in enumerate(made)
    ]


@pytest.fixture(scope="module")
def museums() -> LabelledSet:
    trial, _ = trials_of("museums", "faithfulness", rows(300))
    return LabelledSet.of(trial)


def test_labels_of_a_group_are_never_on_both_sides(museums: LabelledSet) -> None:
    drawn = set()
    for seed in range(5):
        labelled, left = museums.parted(31, np.random.default_rng(seed))
        assert len(labelled) == len(set(labelled.tolist())) == 31
        assert not set(museums.groups[labelled]) & set(museums.groups[left])
        # One group is cut in two, and its other row is on neither side.
        assert len(labelled) + len(left) == 299
        drawn.add(tuple(labelled.tolist()))
    assert len(drawn) == 5


def test_labels_gain_what_shuffled_ones_do_not(museums: LabelledSet) -> None:
    """Bad museums have a wrong year, which the shipped weights take for little."""
    known = SizeOutcome({"museums": museums.draws(100, n_draws=5)})
    coins = SizeOutcome({"museums": museums.draws(100, shuffled=True, n_draws=5)})
    assert known.mean(lambda draw: draw.shipped) < 0.5
    assert known.mean(lambda draw: draw.refitted) > 0.9
    assert known.share_used == "100 %"
    assert known.mean(lambda draw: draw.refitted_cut) > 0.9
    assert known.mean(lambda draw: draw.own_cut) < 0.6
    assert coins.mean(lambda draw: draw.shipped) == known.mean(lambda draw: draw.shipped)
    assert coins.mean(lambda draw: draw.refitted) < 0.7
    assert museums.draws(100, n_draws=5) == museums.draws(100, n_draws=5)


def test_draws_that_a_refit_does_not_take_are_left_out(museums: LabelledSet) -> None:
    assert museums.draws(29, n_draws=3) == []
    assert museums.draws(250, n_draws=3) == []  # fewer than a hundred rows are left
    rare = LabelledSet("rare", museums.losses, np.arange(300) < 10, museums.groups)
    assert rare.draws(30, n_draws=3) == []


DRAW = Draw(True, 0.5, 0.7, 0.6, 0.55, 0.57, 0.6)


def test_means_are_over_sets() -> None:
    other = DRAW._replace(used=False, refitted=0.5)
    found = SizeOutcome({"a": [DRAW], "b": [other] * 3, "none": []})
    assert found.mean(lambda draw: draw.refitted) == pytest.approx(0.55)
    assert found.median(lambda draw: draw.refitted) == pytest.approx(0.55)
    assert found.share_used == "50 %"
    assert found.told(lambda draw: draw.refitted) == "0.550 (0.500 to 0.570)"
    text = page({30: found}, {30: found}, 0.123)
    assert "took 0.12 s of one core" in text
    assert "| 30 | 2 | 0.500 (0.500 to 0.500) | 0.550 (0.500 to 0.570) | +0.0500 " in text
    assert "| a | 1 | 100 % | 0.500 | +0.1000 (+0.1000 to +0.1000) | 0.550 |" in text
    assert "none" not in text.split("## Set by set")[1]


def test_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "labelled"
    monkeypatch.setenv("RAG_EVAL_DATA", str(tmp_path))
    with pytest.raises(SystemExit, match="2"):
        refits.main([])
    folder.mkdir()
    with gzip.open(folder / "museums.jsonl.gz", "wt") as file:
        for row in rows(200):
            fields = {"task": "faithfulness", "label_bin": int(row.good), "group": row.group}
            texts = {"question": row.question, "answer": row.answer, "contexts": row.contexts}
            file.write(json.dumps({**fields, **texts}) + "\n")
    monkeypatch.setattr(refits, "RESULTS", tmp_path / "REFIT.md")
    assert refits.main(["--draws", "2", "--write"]) == 0
    assert capsys.readouterr().out == (tmp_path / "REFIT.md").read_text("utf-8") + "\n"
    assert f"With {SIZES[1]} labels:" in (tmp_path / "REFIT.md").read_text("utf-8")
    with pytest.raises(SystemExit):
        refits.main(["--sets", "mine"])
