"""``rag-eval labels sample`` and ``rag-eval estimate``: files in, files and estimates out."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

import rag_eval
from tests.commands import invoke

# Seven of ten answers are carried by their context.
SAMPLES: list[dict[str, Any]] = [
    {
        "id": f"q{row}",
        "question": "red fox",
        "answer": "red fox runs far." if row % 10 < 7 else "blue whale sings loud.",
        "contexts": ["a red fox runs." if row % 3 else "a red fox runs far away."],
        "metadata": {"document": f"d{row % 40}"},
    }
    for row in range(200)
]


@pytest.fixture(scope="module")
def scores(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("run") / "run.jsonl"
    rag_eval.evaluate_batch(SAMPLES, ["faithfulness"]).to_jsonl(path)
    return path


def filled(draw: Path, target: Path, change: dict[str, str] | None = None) -> Path:
    """Labelled in a spreadsheet: sorted, and every eleventh label is not what the score says."""
    with draw.open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        number = int(row["id"][1:])
        row["label"] = str(int((number % 10 < 7) != (number % 11 == 0)))
        row |= change or {}
    with target.open("w", encoding="utf-8-sig", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(sorted(rows, key=lambda row: row["id"]))
    return target


@pytest.fixture
def labels(scores: Path, tmp_path: Path) -> Path:
    draw = tmp_path / "draw.csv"
    assert invoke("labels", "sample", 80, scores, "-o", draw).exit_code == 0
    return filled(draw, tmp_path / "labels.csv")


def test_sample_says_what_was_drawn(scores: Path, tmp_path: Path) -> None:
    target = tmp_path / "draw.csv"
    done = invoke("labels", "sample", 50, scores, "--output", target, "--seed", 3)
    assert done.exit_code == 0
    assert done.stdout == f"{target}: 50 of 200 rows, uniform draw, seed 3\n"
    assert f"rag-eval estimate {scores} {target} --metric METRIC" in done.stderr
    assert len(target.read_text("utf-8").splitlines()) == 51


def test_sample_writes_fields_to_read(scores: Path, tmp_path: Path) -> None:
    target = tmp_path / "draw.jsonl"
    done = invoke(
        *("labels", "sample", 30, scores, "-o", target, "--by", "faithfulness", "--format", "json"),
        *("--design", "strata", "--strata", 2, "--with", "document", "--with", "answer"),
    )
    assert done.exit_code == 0, done.stderr
    said = json.loads(done.stdout)
    assert (said["design"], said["nRows"], said["nDrawn"]) == ("strata", 200, 30)
    rows = [json.loads(line) for line in target.read_text("utf-8").splitlines()]
    for row in rows:
        sample = SAMPLES[int(row["id"][1:])]
        assert (row["document"], row["answer"]) == (
            sample["metadata"]["document"],
            sample["answer"],
        )
    assert "hide the score column from the annotators" in done.stderr


def test_estimate_prints_both_intervals_and_what_the_scores_bought(
    scores: Path, labels: Path
) -> None:
    done = invoke("estimate", scores, labels, "--metric", "faithfulness")
    assert (done.exit_code, done.stderr) == (0, "")
    found = json.loads(
        invoke("estimate", scores, labels, "--metric", "faithfulness", "--format", "json").stdout
    )
    interval, alone = found["interval"], found["labelsAlone"]
    assert done.stdout.startswith(
        f"mean human verdict of {scores}: {found['estimate']:.3f} "
        f"[{interval['low']:.3f}, {interval['high']:.3f}]; 80 labels, uniform draw\n"
        "target: mean over these 200 rows\n"
    )
    lines = [line.split() for line in done.stdout.splitlines()]
    width = interval["high"] - interval["low"]
    assert [
        *("labels", "and", "scores", f"{found['estimate']:.3f}"),
        *(f"{interval['low']:.3f}", "to", f"{interval['high']:.3f}", f"{width:.3f}"),
    ] in lines
    assert ["labels", "alone"] in [line[:2] for line in lines]
    assert width < alone["high"] - alone["low"]
    assert f"as precise as {found['equivalentLabels']:,.0f} labels alone" in done.stdout
    assert "assumption: people labelled without seeing the scores" in done.stdout


def test_the_table_fits_eighty_columns(
    scores: Path, labels: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    done = invoke("estimate", scores, labels, "--metric", "faithfulness")
    table = [line for line in done.stdout.splitlines() if line.startswith(("from", "labels "))]
    assert len(table) == 3
    assert all(len(line) <= 80 for line in table)


def test_estimate_of_the_population_by_a_judge(scores: Path, labels: Path) -> None:
    done = invoke(
        *("estimate", scores, labels, "--metric", "faithfulness", "--label-source", "judge"),
        *("--target", "population", "--cluster-by", "document", "--level", "0.9"),
    )
    assert (done.exit_code, done.stderr) == (0, "")
    assert done.stdout.startswith("mean judge verdict of ")
    assert "target: mean over the population from which these 200 rows were drawn" in done.stdout
    assert "90\N{NO-BREAK SPACE}% interval" in done.stdout
    assert "how far people agree with it needs human labels" in done.stdout


def test_estimate_of_a_difference(scores: Path, labels: Path, tmp_path: Path) -> None:
    theirs = filled(labels, tmp_path / "theirs.csv", {"label": "0"})
    done = invoke(
        *("estimate", scores, labels, "--metric", "faithfulness"),
        *("--against", scores, "--against-labels", theirs),
    )
    assert done.exit_code == 0
    assert done.stdout.startswith("difference in mean human verdict, ")
    assert f"{scores} minus {scores}" in done.stdout
    # Scores that do not differ tell nothing of labels that do.
    assert "did not help" in done.stdout


def test_labels_of_another_run_are_told(scores: Path, labels: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.jsonl"
    other.write_bytes(scores.read_bytes())
    told = "their labels hold for {} only if its answers are the same"
    for run, is_told in ((other, True), (scores, False)):
        done = invoke("estimate", run, labels, "--metric", "faithfulness")
        assert (told.format(run) in " ".join(done.stderr.split())) == is_told


def test_few_labels_are_warned_of(scores: Path, tmp_path: Path) -> None:
    draw = tmp_path / "draw.csv"
    invoke("labels", "sample", 20, scores, "-o", draw)
    done = invoke("estimate", scores, filled(draw, tmp_path / "l.csv"), "--metric", "faithfulness")
    assert done.exit_code == 0
    assert "warning: only 20 labels: the interval is only indicative" in done.stderr


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"label": ""}, "the column 'label' is empty; fill it with labels"),
        ({"design": "worst-first"}, "chosen by 'worst-first', not at random"),
        (
            {"inclusion_probability": ""},
            "inclusion_probability is missing. An estimate needs labels",
        ),
        ({"ids_digest": "ids-0"}, "the labelled rows were drawn from other rows"),
        ({"design": "\x1b[31mred"}, "chosen by"),
    ],
)
def test_labels_that_say_nothing_about_other_rows_exit_with_2(
    scores: Path, labels: Path, tmp_path: Path, change: dict[str, str], message: str
) -> None:
    wrong = filled(labels, tmp_path / "wrong.csv", change)
    done = invoke("estimate", scores, wrong, "--metric", "faithfulness")
    assert (done.exit_code, done.stdout) == (2, "")
    assert message in done.stderr
    assert "\x1b" not in done.stderr


def test_missing_labels_need_a_word(scores: Path, labels: Path, tmp_path: Path) -> None:
    fewer = tmp_path / "fewer.csv"
    fewer.write_text("".join(labels.read_text("utf-8").splitlines(keepends=True)[:-5]), "utf-8")
    refused = invoke("estimate", scores, fewer, "--metric", "faithfulness")
    assert refused.exit_code == 2
    assert "drawn rows without a label: 5 of 80" in refused.stderr
    done = invoke(
        *("estimate", scores, fewer, "--metric", "faithfulness", "--allow-missing-labels")
    )
    assert done.exit_code == 0
    assert (
        "assumption: drawn rows without a label: 5 of 80; they are assumed to be missing at random"
        in done.stdout
    )


def test_a_table_is_not_drawn_over(scores: Path, labels: Path) -> None:
    before = labels.read_bytes()
    done = invoke("labels", "sample", 10, scores, "-o", labels)
    assert done.exit_code == 2
    assert "already exists, and labels in it would be lost" in done.stderr
    assert labels.read_bytes() == before


@pytest.mark.parametrize("command", [["labels", "sample"], ["estimate"]])
def test_help_teaches(command: list[str]) -> None:
    done = invoke(*command, "--help")
    assert done.exit_code == 0
    assert "Examples:" in done.stdout
    assert "Exit codes:" in done.stdout
