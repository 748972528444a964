"""``rag-eval calibrate``: files in, threshold and probabilities out."""

from __future__ import annotations

import csv
import gzip
import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

import rag_eval
from rag_eval.calibration.fitting import calibrate
from rag_eval.calibration.result import Calibration
from rag_eval.cli.program import program
from rag_eval.kernels.settings import LOSSES
from tests import labelled_museums as museums

# Every third answer is bad, and labelled so but for one of each kind.
N_ROWS = 60
SAMPLES: list[dict[str, Any]] = [
    {
        "id": f"q{row}",
        "question": "red fox",
        "answer": "blue whale sings." if row % 3 == 0 else "red fox." if row % 2 else "a red fox.",
        "contexts": ["red fox."],
    }
    for row in range(N_ROWS)
]
LABELS = [
    {"id": f"q{row}", "label": int(row % 3 > 0 or row == 9), "topic": f"t{row // 2}"}
    for row in range(N_ROWS)
]


def invoke(*arguments: object) -> Result:
    return CliRunner().invoke(program, ["calibrate", *map(str, arguments)])


def run(scores: Path, labels: Path, *arguments: object) -> Result:
    return invoke(scores, labels, "--metric", "faithfulness", *arguments)


def json_lines(path: Path, rows: Iterable[object]) -> Path:
    data = "".join(json.dumps(row) + "\n" for row in rows).encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


def table(path: Path, rows: list[dict[str, Any]]) -> Path:
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "wt", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    return path


def batch() -> rag_eval.BatchEvalResult:
    return rag_eval.evaluate_batch(SAMPLES, ["faithfulness", "context_recall"], allow_missing=True)


@pytest.fixture
def scores(tmp_path: Path) -> Path:
    batch().to_json(tmp_path / "run.json")
    return tmp_path / "run.json"


@pytest.fixture
def labels(tmp_path: Path) -> Path:
    return json_lines(tmp_path / "labels.jsonl", LABELS)


def wanted(**options: Any) -> Calibration:
    """The same from Python."""
    return calibrate(batch(), [row["label"] for row in LABELS], metric="faithfulness", **options)


# ------------------------------------------------------------------------------------- output


def test_table(scores: Path, labels: Path) -> None:
    done = run(scores, labels, "--group-field", "topic")
    assert (done.exit_code, done.stderr) == (0, "")
    lines = [line.split() for line in done.stdout.splitlines()]
    assert done.stdout.startswith(
        "faithfulness (overlap), isotonic: 60 labels in 30 groups, 68 % good\n"
    )
    assert ["value", "95", "%", "interval"] in lines
    found = wanted(groups=[row["topic"] for row in LABELS])
    assert ["threshold", f"{found.threshold:.4f}"] in [line[:2] for line in lines]
    assert ["balanced", "accuracy", f"{found.balanced_accuracy:.2f}"] in [
        line[:3] for line in lines
    ]
    held_out = f"{found.cross_validated_balanced_accuracy:.2f}"
    assert ["on", "held-out", "rows", held_out, "–"] in lines
    assert ["score", "0.00", "0.25", "0.50", "0.75", "1.00"] in lines
    probabilities = [f"{found.probability(score):.2f}" for score in (0, 0.25, 0.5, 0.75, 1)]
    assert ["probability", "of", "good", *probabilities] in lines


def test_json_and_the_file_hold_what_python_gives(
    tmp_path: Path, scores: Path, labels: Path
) -> None:
    output = tmp_path / "c.json"
    done = run(
        *(scores, labels, "--method", "logistic", "--precision", "0.9", "--group-field", "topic"),
        *("--format", "json", "--output", output),
    )
    assert (done.exit_code, done.stderr) == (0, "")
    found = wanted(method="logistic", precision=0.9, groups=[row["topic"] for row in LABELS])
    assert Calibration.load(output) == found
    assert Calibration.from_dict(json.loads(done.stdout)) == found
    assert found.signature == batch().signature


# ------------------------------------------------------------------------------------- weights


@pytest.fixture
def museum_run(tmp_path: Path) -> Path:
    path = tmp_path / "museums.json"
    rag_eval.evaluate_batch(museums.SAMPLES, ["faithfulness"], profile="grounded").to_json(path)
    return path


@pytest.fixture
def museum_labels(tmp_path: Path) -> Path:
    rows = zip(museums.SAMPLES, museums.LABELS, strict=True)
    labels = [{"id": sample["id"], "label": label} for sample, label in rows]
    return json_lines(tmp_path / "museum-labels.jsonl", labels)


def test_weights_are_shown_with_what_they_gain(museum_run: Path, museum_labels: Path) -> None:
    done = run(museum_run, museum_labels)
    assert (done.exit_code, done.stderr) == (0, "")
    found = Calibration.from_dict(
        json.loads(run(museum_run, museum_labels, "--format", "json").stdout)
    )
    refit = found.refit
    assert refit is not None
    assert refit.used
    lines = [line.split() for line in done.stdout.splitlines()]
    assert done.stdout.startswith("faithfulness (grounded), logistic: 80 labels, 66 % good\n")
    assert ["AUROC", "on", "held-out", "rows", f"{refit.shipped_auroc:.3f}", "–"] in lines
    gain = ["gain", "of", "fitted", "weights", f"{refit.gain.estimate:+.3f}"]
    assert [*gain, f"{refit.gain.low:.3f}", "to", f"{refit.gain.high:.3f}"] in lines
    shown = {" ".join(line[:-2]): line[-1] for line in lines if len(line) > 2}
    for name, weight in zip(LOSSES, refit.weights, strict=True):
        assert shown[name.replace("_", " ")] == f"{weight:.2f}"


def test_weights_left_as_they_are(tmp_path: Path, museum_run: Path, museum_labels: Path) -> None:
    left = run(museum_run, museum_labels, "--no-refit")
    assert "weight" not in left.stdout
    coins = [
        {"id": sample["id"], "label": int(number % 7 < 3)}
        for number, sample in enumerate(museums.SAMPLES)
    ]
    done = run(museum_run, json_lines(tmp_path / "coins.jsonl", coins))
    assert done.exit_code == 0
    told = "the shipped weights are kept: fitted weights do not rank held-out rows better\n"
    assert done.stdout.endswith(told)
    few = run(museum_run, json_lines(tmp_path / "few.jsonl", coins[:29]))
    why = "the weights of faithfulness were not refitted: a refit takes 30 labelled rows, 8 of each"
    assert f"note: {why} class\n" in few.stderr


def test_a_calibration_with_weights_in_a_run(
    tmp_path: Path, museum_run: Path, museum_labels: Path
) -> None:
    output = tmp_path / "c.json"
    assert run(museum_run, museum_labels, "--output", output).exit_code == 0
    found = Calibration.load(output)
    data = json_lines(tmp_path / "samples.jsonl", museums.SAMPLES)
    options = ["--metrics", "faithfulness", "--profile", "grounded", "--calibration", str(output)]
    for arguments in (
        ["score", str(data), str(tmp_path / "scores.csv")],
        ["run", str(data), "--output", str(tmp_path / "again.json"), "--min-pass-rate", "0.5"],
    ):
        done = CliRunner().invoke(program, [*arguments, *options])
        assert done.exit_code == 0, done.output
    with (tmp_path / "scores.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    passed = [row["passed"] == "true" for row in rows]
    assert passed == [float(row["faithfulness"]) >= found.threshold for row in rows]
    assert sum(map(bool.__eq__, passed, museums.GOOD)) > 0.9 * len(rows)
    again = rag_eval.BatchEvalResult.from_json(tmp_path / "again.json")
    assert again.signature == found.signature
    compared = CliRunner().invoke(
        program, ["compare", str(museum_run), str(tmp_path / "again.json")]
    )
    assert compared.exit_code == 2
    assert "faithfulness_weights" in compared.output


def test_few_labels_come_with_a_warning(tmp_path: Path, scores: Path) -> None:
    labels = json_lines(tmp_path / "few.jsonl", [*LABELS[:20], {"id": "other", "label": 1}])
    done = run(scores, labels)
    assert done.exit_code == 0
    assert done.stderr.splitlines() == [
        f"note: 40 of 60 rows in {scores} have no label",
        f"note: 1 of 21 labels in {labels} have no matching row",
        "warning: only 20 labels: threshold and probabilities are rough; use 100 to 300",
    ]


def test_null_scores_are_counted(tmp_path: Path, labels: Path) -> None:
    rows = [{"id": f"q{row}", "score": None if row < 20 else row / 60} for row in range(N_ROWS)]
    done = run(json_lines(tmp_path / "s.jsonl", rows), labels)
    assert done.exit_code == 0
    assert "40 labels, 68 % good; 20 without a score excluded" in done.stdout


# ------------------------------------------------------------------------------ kinds of files


@pytest.mark.parametrize("name", ["s.json", "s.json.gz", "s.jsonl", "s.jsonl.gz"])
def test_result_files(tmp_path: Path, labels: Path, name: str) -> None:
    path = tmp_path / name
    write = batch().to_jsonl if ".jsonl" in name else batch().to_json
    write(path)
    done = run(path, labels, "--format", "json")
    assert done.stderr == ""
    assert Calibration.from_dict(json.loads(done.stdout)) == wanted()


def test_what_run_writes(tmp_path: Path, labels: Path) -> None:
    data, output = json_lines(tmp_path / "d.jsonl", SAMPLES), tmp_path / "o.jsonl.gz"
    CliRunner().invoke(program, ["run", str(data), "--output", str(output)])
    done = run(output, labels, "--format", "json")
    assert done.stderr == ""
    assert json.loads(done.stdout)["threshold"] == wanted().threshold_interval.to_dict()


def test_a_result_file_with_lone_surrogates(tmp_path: Path, labels: Path) -> None:
    samples = [{**sample, "question": "\ud800"} for sample in SAMPLES]
    rag_eval.evaluate_batch(samples, ["faithfulness"]).to_json(tmp_path / "s.json")
    assert run(tmp_path / "s.json", labels).exit_code == 0


@pytest.mark.parametrize("field", ["faithfulness", "score"])
@pytest.mark.parametrize("name", ["s.jsonl", "s.csv", "s.csv.gz"])
@pytest.mark.parametrize("label_name", ["l.csv", "l.csv.gz", "l.jsonl.gz", "l.json"])
def test_tables(tmp_path: Path, field: str, name: str, label_name: str) -> None:
    column = batch().scores[:, 0].tolist()
    rows: list[dict[str, Any]] = [
        {"id": row["id"], field: score} for row, score in zip(LABELS, column, strict=True)
    ]
    scores = (table if ".csv" in name else json_lines)(tmp_path / name, rows)
    labels = tmp_path / label_name
    if label_name == "l.json":
        labels.write_text(json.dumps(LABELS))
    else:
        (table if ".csv" in label_name else json_lines)(labels, LABELS)
    done = run(scores, labels, "--format", "json", "--group-field", "topic")
    assert done.stderr == (
        f"note: {scores} has no signature, so it is unknown for which settings the calibration "
        "holds\n"
    )
    found = Calibration.from_dict(json.loads(done.stdout))
    assert found.threshold_interval == (
        wanted(groups=[row["topic"] for row in LABELS]).threshold_interval
    )
    assert found.signature is None


def test_a_frame_of_scores_and_a_null(tmp_path: Path, labels: Path) -> None:
    """to_pandas has a column per metric; CSV of it an empty cell where a score is null."""
    frame = batch().to_pandas().assign(id=[row["id"] for row in LABELS])
    frame.loc[3, "faithfulness"] = None
    frame.to_csv(tmp_path / "s.csv", index=False)
    done = run(tmp_path / "s.csv", labels)
    assert done.exit_code == 0
    assert "1 without a score excluded" in done.stdout


def test_fields_of_other_names(tmp_path: Path) -> None:
    samples = [{**sample, "name": sample["id"], "id": "x"} for sample in SAMPLES]
    rag_eval.evaluate_batch(samples, ["faithfulness"]).to_json(tmp_path / "s.json")
    rows = [{"name": row["id"], "good": row["label"]} for row in LABELS]
    labels = json_lines(tmp_path / "l.jsonl", rows)
    fields = ("--id-field", "name", "--label-field", "good")
    assert run(tmp_path / "s.json", labels, *fields).exit_code == 0
    done = run(tmp_path / "s.json", labels)
    assert done.exit_code == 2
    assert (
        "s.json: id 'x' is in results[0] and in results[1]; it must occur only once" in done.stderr
    )


def test_numbers_are_ids_too(tmp_path: Path) -> None:
    """A CSV file cannot say whether 1 is a number."""
    scores = json_lines(
        tmp_path / "s.jsonl", [{"id": row, "score": row / 60} for row in range(N_ROWS)]
    )
    labels = table(
        tmp_path / "l.csv",
        [{"id": row, "label": "TRUE" if row > 30 else "0.0"} for row in range(N_ROWS)],
    )
    done = run(scores, labels, "--format", "json")
    assert json.loads(done.stdout)["threshold"]["estimate"] == 31 / 60


def test_an_output_is_not_written_when_something_is_wrong(tmp_path: Path, scores: Path) -> None:
    labels = json_lines(tmp_path / "l.jsonl", [{"id": "q1", "label": 1}])
    done = run(scores, labels, "--output", tmp_path / "c.json")
    assert done.exit_code == 2
    assert not (tmp_path / "c.json").exists()


# ------------------------------------------------------------------------------------ mistakes


def fails(done: Result, message: str) -> None:
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.startswith("error: ")
    assert done.stderr.count("\n") == 1
    assert message in done.stderr


def test_labels_of_other_rows(tmp_path: Path, scores: Path) -> None:
    labels = json_lines(tmp_path / "l.jsonl", [{"id": f"x{n}", "label": 1} for n in range(4)])
    fails(
        run(scores, labels),
        f"no id is in both files: {scores} has 'q0', 'q1', 'q2', …, "
        f"{labels} has 'x0', 'x1', 'x2', …",
    )
    fails(run(scores, json_lines(labels, [])), f"{labels} has no rows")


@pytest.mark.parametrize(
    ("rows", "arguments", "message"),
    [
        ([{"id": "q1", "good": 1}], [], "line 1 (\"q1\"): no field 'label' (fields: id, good)"),
        ([{"id": "q1", "lable": 1}], [], "no field 'label'; did you mean 'lable'? (fields: id, l"),
        ([{"key": "q1", "label": 1}], [], "line 1: no field 'id' (fields: key, label)"),
        ([{}], [], "line 1: no field 'id' (fields: none)"),
        ([*LABELS[:3], LABELS[1]], [], 'id \'q1\' is in line 2 ("q1") and in line 4 ("q1")'),
        ([{"id": None, "label": 1}], [], "line 1: id is missing"),
        ([{"id": 1.5, "label": 1}], [], "line 1: id must be a string or a whole number, got float"),
        ([{"id": "q1", "label": None}], [], 'line 1 ("q1"): label is missing; it must be 0 or 1'),
        ([{"id": "q1", "label": ""}], [], "label is missing; it must be 0 or 1"),
        ([{"id": "q1", "label": 0.5}], [], "label must be 1 for good or 0 for bad, got 0.5"),
        ([{"id": "q1", "label": "good"}], [], "label must be 1 for good or 0 for bad, got 'good'"),
        ([{"id": "q1", "label": [1]}], [], "label must be 1 for good or 0 for bad, got [1]"),
        ([5], [], "line 1: must be a JSON object, got a number"),
        (LABELS[1:3], [], "the labels of all 2 rows with a score are 1; both 0 and 1 are needed"),
        (LABELS, ["--group-field", "tropic"], "no field 'tropic'; did you mean 'topic'? (fields:"),
        (
            [{"id": "q1", "label": 1, "topic": None}],
            ["--group-field", "topic"],
            "topic is missing",
        ),
        (LABELS, ["--precision", "0"], "precision must be above 0 and at most 1, got 0"),
        (LABELS, ["--precision", "x"], "expected a share from 0 to 1, such as 0.9 or 90%, got 'x'"),
        (LABELS, ["--method", "spline"], "'spline' is not one of"),
        (LABELS, ["--metric", "context_recall"], "no row of 60 has a score of context_recall"),
        (LABELS, ["--metric", "faith"], "unknown metric 'faith'"),
        (LABELS, ["--metric", "answer_relevance"], "results[0]: no scores of answer_relevance (m"),
        (LABELS, ["--output", "/nowhere/c.json"], "cannot write /nowhere/c.json: No such file"),
    ],
)
def test_mistakes(
    tmp_path: Path, scores: Path, rows: list[Any], arguments: list[str], message: str
) -> None:
    fails(run(scores, json_lines(tmp_path / "l.jsonl", rows), *arguments), message)


def test_a_precision_out_of_reach(tmp_path: Path, labels: Path) -> None:
    rows = [{"id": row["id"], "score": 0.5} for row in LABELS]
    scores = json_lines(tmp_path / "s.jsonl", rows)
    message = "no threshold reaches precision 0.9: the highest is 0.683, at threshold 0.5"
    fails(run(scores, labels, "--precision", "0.9"), message)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("s.json", "", "s.json is not valid JSON"),
        ("s.json", "{", "s.json is not valid JSON"),
        ("s.json", '{"results":' * 100_000, "s.json is no"),
        ("s.json", '{"x":' * 100_000, "s.json is not valid JSON"),
        ("s.json", "[]", "s.json has no rows"),
        ("s.json", "{}", "s.json is not a result file: it has neither results nor aggregates"),
        ("s.json", '{"results": [{}]}', "s.json, results[0]: must have a sample and its metrics"),
        (
            "s.json",
            '{"results": [{"sample": {"id": 1}, "metrics": {}}]}',
            "results[0]: no scores of faithfulness (metrics: none)",
        ),
        (
            "s.json",
            '{"results": [{"sample": {}, "metrics": {"faithfulness": {"score": 1}}}]}',
            "s.json, results[0]: id is missing",
        ),
        (
            "s.json",
            '{"results": [{"sample": {"id": 1}, "metrics": {"faithfulness": {"score": "x"}}}]}',
            "s.json, results[0]: faithfulness must be a number, got 'x'",
        ),
        ("s.json", '{"results": [], "signature": {"x": 1}}', "s.json has no rows"),
        ("s.jsonl", '{"id": "a", "value": 1}', "no column 'faithfulness' (columns: id, value)"),
        ("s.jsonl", '{"id": "a", "score": "x"}', "score must be a number, got 'x'"),
        ("s.jsonl", '{"id": "a", "score": true}', "score must be a number, got True"),
        ("s.jsonl", '{"id": "a", "score": [1]}', "score must be a number, got [1]"),
        ("s.jsonl", '{"id": "a", "score": "inf"}', "score must be finite, got 'inf'"),
        ("s.jsonl", '{"id": "a", "score": 1e999}', "score is Infinity; it must be a finite number"),
        ("s.jsonl", '{"id": "a", "score": "1e999"}', "score must be finite, got '1e999'"),
        ("s.jsonl", "{", "s.jsonl, line 1: not valid JSON"),
        ("s.jsonl", '{"sample": {}, "metrics": {}}', "s.jsonl, line 1: id is missing"),
        (
            "s.jsonl",
            '{"sample": {"id": 1}, "metrics": {"faithfulness": 5}}',
            "s.jsonl, line 1: faithfulness must be an object, got 5",
        ),
        (
            "s.jsonl",
            '{"sample": {"id": 1}, "metrics": {"faithfulness": {"score": 1}}, "signature": 5}',
            "not a signature: 5",
        ),
        ("s.csv", "", "s.csv: line 1 must name the columns"),
        ("s.csv", "id,score,id\n", "s.csv: line 1 names the column 'id' twice"),
        (
            "s.csv",
            "id,score\na,1,2\n",
            's.csv, line 2 ("a"): 3 cells, but the header names 2 columns',
        ),
        (
            "s.csv",
            'id,score\na,"1\n',
            "s.csv, line 2: is not CSV: a quote in this row is not closed",
        ),
        ("s.csv", "id,score\n\nq1,x\n", "s.csv, line 3 (\"q1\"): score must be a number, got 'x'"),
        ("s.parquet", "", "s.parquet is not valid Parquet"),
        ("s.txt", "", "unknown file format. The name must end in"),
    ],
)
def test_files_without_scores(
    tmp_path: Path, labels: Path, name: str, content: str, message: str
) -> None:
    path = tmp_path / name
    path.write_text(content)
    fails(run(path, labels), message)


def test_files_that_cannot_be_read(tmp_path: Path, scores: Path, labels: Path) -> None:
    for name in ("none.json", "none.jsonl", "none.csv"):
        fails(run(tmp_path / name, labels), f"cannot read {tmp_path / name}: No such file")
    fails(run(scores, tmp_path / "none.csv"), "none.csv: No such file or directory")
    broken = tmp_path / "s.csv.gz"
    broken.write_bytes(gzip.compress(b"id,score\n")[:-9])
    fails(
        run(broken, labels), "s.csv.gz: the gzip data ends too early. The file seems to be cut off"
    )
    latin = tmp_path / "l.csv"
    latin.write_bytes("id,label\né,1\n".encode("latin-1"))
    fails(run(scores, latin), "l.csv, line 2 is not valid UTF-8 (byte 0xe9)")


def test_rows_of_different_settings(tmp_path: Path, labels: Path) -> None:
    path = tmp_path / "s.jsonl"
    other = rag_eval.evaluate_batch(
        SAMPLES[30:], ["faithfulness"], heuristic={"ngram_sizes": [1]}
    ).to_jsonl()
    same = rag_eval.evaluate_batch(SAMPLES[:30], ["faithfulness"]).to_jsonl()
    path.write_text(f"{same}{other}")
    fails(run(path, labels), "line 31 was scored under different settings than line 1 (ngram_sizes")


def test_usage() -> None:
    fails(invoke("a.json", "b.jsonl"), "Missing option '--metric'")
    fails(invoke("a.json", "--metric", "faithfulness"), "Missing argument 'LABELS'")


def test_without_scikit_learn(scores: Path, labels: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.split(".")[0] == "sklearn"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "sklearn", None)
    fails(run(scores, labels), "needs scikit-learn: pip install 'rag-eval-native[calibrate]'")
