"""``rag-eval labels`` and ``run --gold-dir``, as people call them."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from rag_eval.cli.program import program


def call(*arguments: object) -> Result:
    return CliRunner().invoke(program, list(map(str, arguments)))


@pytest.fixture
def room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Labels by two people in a table and by one in a folder; scores of most samples."""
    chance = random.Random(3)
    labels, scores, samples, gold = ["id,label,annotator"], [], [], []
    for row in range(50):
        label = chance.randint(1, 5)
        other = min(5, max(1, label + chance.choice([-1, 0, 0, 0, 1])))
        labels += [f"q{row},{label},anna", f"q{row},{other},ben"]
        gold.append(f"  - {{sample_id: q{row}, score: {label}}}")
        if row % 10:
            score = None if row == 7 else min(1, max(0, (label - 1) / 4 + chance.gauss(0, 0.15)))
            scores.append(json.dumps({"id": f"q{row}", "faithfulness": score}))
        words = ["the", "tower", "is", "in", "paris"][:label] + ["rocks"] * (5 - label)
        sample = {
            "id": f"q{row}",
            "question": "where is the tower",
            "answer": " ".join(words),
            "contexts": ["the tower is in paris"],
        }
        samples += [json.dumps(sample)] * (2 if row % 2 else 1)
    # Nobody has labelled the first sample of the run.
    samples.insert(0, json.dumps({**sample, "id": "else", "answer": "blue whales"}))
    (tmp_path / "labels.csv").write_text("\n".join(labels) + "\n", "utf-8")
    (tmp_path / "scores.jsonl").write_text("\n".join(scores) + "\n", "utf-8")
    (tmp_path / "samples.jsonl").write_text("\n".join(samples) + "\n", "utf-8")
    folder = tmp_path / "gold"
    folder.mkdir()
    (folder / "m.yaml").write_text(
        'metadata:\n  annotator: anna\n  annotatedAt: "2026-01-31"\n  version: "1"\n'
        "  scale: {min: 1, max: 5}\nannotations:\n" + "\n".join(gold) + "\n",
        "utf-8",
    )
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_folder_is_begun_checked_and_never_overwritten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    begun = call("labels", "init", "gold")
    assert (begun.exit_code, begun.stdout) == (0, "")
    assert "wrote gold/metadata.yaml" in begun.stderr
    again = call("labels", "init", "gold")
    assert again.exit_code == 2
    assert "labels are never overwritten" in again.stderr
    checked = call("labels", "validate", "gold")
    assert checked.exit_code == 2
    assert "FAIL gold, metadata.yaml: metadata.annotator is empty; fill it in" in checked.stdout


def test_sound_labels_pass(room: Path) -> None:
    found = call("labels", "validate", "gold")
    assert (found.exit_code, found.stderr) == (0, "")
    assert found.stdout == "PASS gold: 50 labels of 50 samples by 1 person, 0 issues\n"
    table = call("labels", "validate", "labels.csv", "--format", "json")
    value = json.loads(table.stdout)
    assert (value["ok"], value["nLabels"], value["annotators"]) == (True, 100, ["anna", "ben"])


def test_unsound_tables_are_told_once(room: Path) -> None:
    (room / "none.csv").write_text("id,label\nq1,\n")
    found = call("labels", "validate", "none.csv")
    assert found.exit_code == 2
    assert found.stdout.splitlines() == [
        "FAIL none.csv: the column 'label' is empty; fill it with labels",
        "FAIL none.csv: 0 labels of 0 samples by 0 people, 1 issue",
    ]
    gone = call("labels", "validate", "gone")
    assert (gone.exit_code, gone.stdout) == (2, "")
    assert gone.stderr == "error: cannot read gone: no such file or folder\n"


def test_people_are_compared_first_and_then_the_scores(room: Path) -> None:
    command = ["labels", "compare", "labels.csv", "scores.jsonl", "--metric", "faithfulness"]
    found = call(*command, "--scale", "1:5", "--threshold", "0.5")
    assert (found.exit_code, found.stderr) == (0, "")
    lines = found.stdout.splitlines()
    assert lines[0] == (
        "faithfulness: 44 of 50 labelled samples have a score; 5 not in the score file "
        "(q0, q10, q20, …); 1 without a score (q7)"
    )
    assert lines[1].startswith("2 annotators, 50 samples labelled by two or more: alpha 0.")
    for text in ("alpha, interval", "kappa, quadratic", "Kendall tau-b", "anna ", "specificity"):
        assert text in found.stdout
    value = json.loads(call(*command, "--format", "json").stdout)
    assert value["nPairs"] == 44
    assert value["alpha"] is None
    assert value["spearman"]["low"] > 0.5
    unlike = call(*command)
    assert "note: labels from 1 to 5 cannot be compared with scores from 0 to 1" in unlike.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["labels.csv", "scores.jsonl"],
            "give the metric that the labels are about, for example --metric faithfulness",
        ),
        (["labels.csv", "scores.jsonl", "--metric", "faithfulnes"], "faithfulness"),
        (["scores.jsonl", "labels.csv", "--metric", "faithfulness"], "no field 'label'"),
        (
            ["labels.csv", "scores.jsonl", "--metric", "faithfulness", "--scale", "5"],
            "must be MIN:MAX, such as 1:5",
        ),
        (
            ["labels.csv", "scores.jsonl", "--metric", "faithfulness", "--scale", "1:4"],
            "labels.csv: the label 5 is outside the scale of 1 to 4",
        ),
        (["gone", "scores.jsonl", "--metric", "faithfulness"], "cannot read gone: no such file or"),
        (["labels.csv"], "Missing argument"),
    ],
)
def test_what_cannot_be_compared_ends_with_2(
    room: Path, arguments: list[str], message: str
) -> None:
    found = call("labels", "compare", *arguments)
    assert (found.exit_code, found.stdout) == (2, "")
    assert message in found.stderr
    assert "Traceback" not in found.stderr


def test_names_in_labels_cannot_move_the_cursor(room: Path) -> None:
    rows = ["q1,1,\x1b[2Janna", "q2,0,\x1b[2Janna", "q1,1,ben", "q2,1,ben", "\x1b[31mx,1,ben"]
    (room / "labels.csv").write_text("\n".join(["id,label,annotator", *rows, ""]), "utf-8")
    found = call("labels", "compare", "labels.csv", "scores.jsonl", "--metric", "faithfulness")
    assert found.exit_code == 0
    assert "\x1b" not in found.stdout + found.stderr
    assert "[2Janna" in found.stdout


def test_a_run_shows_how_far_its_scores_agree_with_labels(room: Path) -> None:
    """Half of the samples come twice: omk says nothing at all of a run with repeats."""
    command = ["run", "samples.jsonl", "--metrics", "faithfulness", "--gold-dir", "gold"]
    found = call(*command, "--min-pass-rate", "0", "--output", "out.json")
    assert found.exit_code == 0, found.stderr
    assert "agreement with the labels in gold:" in found.stdout
    assert "faithfulness: 50 of 50 labels; alpha 0." in found.stdout
    (agreement,) = json.loads((room / "out.json").read_text("utf-8"))["humanAgreement"]
    assert (agreement["metric"], agreement["nPairs"]) == ("faithfulness", 50)
    assert agreement["spearman"]["low"] > 0.5
    # The same of the file that was written.
    command = ["labels", "compare", "gold", "out.json", "--metric", "faithfulness"]
    later = json.loads(call(*command, "--format", "json").stdout)
    assert later["alpha"] == agreement["alpha"]
    assert later["verdicts"]["table"] == agreement["verdicts"]["table"]


def test_labels_that_cannot_be_read_end_a_run_before_it_begins(room: Path) -> None:
    command = ["run", "samples.jsonl", "--gold-dir", "nowhere", "--output", "out.json"]
    found = call(*command)
    assert found.exit_code == 2
    assert "nowhere" in found.stderr
    assert not (room / "out.json").exists()
