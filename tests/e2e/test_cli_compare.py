"""``rag-eval compare``: two runs row by row, or the means of two result files side by side."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

import rag_eval
from rag_eval.cli.program import program
from tests.warm_processes import run_warm

NODE = Path(__file__).parents[1] / "conformance" / "rag_eval_node" / "samples_batch.json"
GOOD = {"question": "red fox", "answer": "red fox.", "contexts": ["red fox."]}
BAD = {"question": "red fox", "answer": "blue whale sings.", "contexts": ["red fox."]}


def compare(*arguments: object) -> Result:
    return CliRunner().invoke(program, ["compare", *map(str, arguments)])


def result_file(path: Path, *rows: dict[str, Any], metrics: str, **options: Any) -> Path:
    rag_eval.evaluate_batch(rows, metrics.split(","), allow_missing=True, **options).to_json(path)
    return path


@pytest.fixture
def old(tmp_path: Path) -> Path:
    return result_file(tmp_path / "old.json", GOOD, GOOD, metrics="faithfulness,context_recall")


@pytest.fixture
def new(tmp_path: Path) -> Path:
    return result_file(tmp_path / "new.json.gz", GOOD, BAD, metrics="faithfulness,context_recall")


def rows_of(text: str) -> list[list[str]]:
    return [line.split() for line in text.splitlines() if line[:1].isalpha()]


def test_table(old: Path, new: Path) -> None:
    done = compare(old, new)
    assert done.exit_code == 0
    assert done.stderr.startswith("note: only means are compared, without a test")
    assert rows_of(done.stdout) == [
        ["metric", "old", "mean", "new", "mean", "difference"],
        ["faithfulness", "1.00", "(2/2)", "0.50", "(2/2)", "-0.5000"],
        ["context_recall", "–", "(0/2)", "–", "(0/2)", "–"],
        ["composite", "1.00", "0.50", "-0.5000"],
    ]


def test_json(old: Path, new: Path) -> None:
    done = compare(old, new, "--format", "json")
    value = json.loads(done.stdout)
    assert value["old"] == str(old)
    shown = ["metricId", "oldMean", "newMean", "delta", "verdict"]
    assert [[change[name] for name in shown] for change in value["changes"][:2]] == [
        ["faithfulness", 1.0, 0.5, -0.5, "NOT COMPARABLE"],
        ["contextRecall", None, None, None, "NOT COMPARABLE"],
    ]
    assert value["paired"] is False
    assert value["signatureDifferences"] == []


def test_other_settings_are_refused_unless_forced(tmp_path: Path, old: Path) -> None:
    options = {"heuristic": {"ngram_sizes": [1]}}
    new = result_file(tmp_path / "n.json", GOOD, metrics="faithfulness", **options)
    done = compare(old, new)
    assert (done.exit_code, done.stdout) == (2, "")
    assert "was scored with other settings than" in done.stderr
    assert "ngram_sizes" in done.stderr
    forced = compare(old, new, "--force")
    assert forced.exit_code == 0
    assert "note: settings differ: ngram_sizes" in forced.stdout
    assert "different metrics" in forced.stderr


def test_files_of_the_node_library(tmp_path: Path, old: Path) -> None:
    node = tmp_path / "node.json"
    node.write_text(json.dumps(json.loads(NODE.read_text())["default"]["expected"]))
    done = compare(node, old)
    assert done.exit_code == 0
    faithfulness = rows_of(done.stdout)[1]
    assert faithfulness == ["faithfulness", "0.20", "1.00", "(2/2)", "+0.8034"]
    assert f"{node} has no signature" in " ".join(done.stderr.split())


def test_rows_are_counted_and_not_read(tmp_path: Path, old: Path) -> None:
    """Rows need not even be sound: only the summary is looked at."""
    value = json.loads(old.read_text())
    value["results"] = [{"sample": {"answer": "\ud800"}}] * 2
    new = tmp_path / "new.json"
    new.write_text(json.dumps(value))
    assert compare(old, new).exit_code == 0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is not valid JSON"),
        ("[]", "has no rows"),
        ("{}", "is not a result file: it has neither results nor aggregates"),
        ('{"aggregates": {"faithfulness": {}}}', "is not a result file"),
        ('{"aggregates": {"faithfulness": {"mean": "x"}}}', "is not a result file"),
        ('{"aggregates": {"faithfulness": 3}}', "is not a result file"),
        ('{"aggregates": {}}', "have no metric in common"),
    ],
)
def test_files_that_are_no_result(tmp_path: Path, old: Path, text: str, message: str) -> None:
    other = tmp_path / "other.json"
    other.write_text(text)
    done = compare(old, other)
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.startswith("error: ")
    assert message in done.stderr


# ---------------------------------------------------------------------------------- row by row

HOSTILE = "\x1b[2J\u202eq|`x`\n_0"


@pytest.fixture
def runs(tmp_path: Path) -> list[Path]:
    """Score files of twelve rows, of which nine fall; ids, topics and documents in all of them."""
    files = []
    for name, n_good in (("before", 12), ("after", 3)):
        rows = [
            {
                **(GOOD if number < n_good else BAD),
                "id": HOSTILE if number == 11 else f"q{number:02}",
                "topic": "ab"[number % 2],
                "doc": number // 2,
            }
            for number in range(12)
        ]
        source = tmp_path / f"{name}-rows.jsonl"
        source.write_text("".join(json.dumps(row) + "\n" for row in rows))
        files.append(tmp_path / f"{name}.jsonl")
        rag_eval.score_file(
            source,
            files[-1],
            ["faithfulness", "context_recall"],
            columns=["topic", "doc"],
            allow_missing=True,
        )
    return files


def test_a_regression_in_words(runs: list[Path]) -> None:
    done = compare(*runs)
    assert done.exit_code == 0
    assert "12 rows in both" in done.stdout
    (sentence,) = [line for line in done.stdout.splitlines() if ": REGRESSED" in line]
    assert sentence.startswith("faithfulness changed by -0.750 [-1.000, -0.")
    assert sentence.endswith("], p 0.002 (max-T): REGRESSED")
    assert "9 regressed, 3 unchanged" in done.stdout
    assert "with 80 % power" in done.stdout
    assert rows_of(done.stdout)[3][:3] == ["faithfulness", "1.000", "0.250"]
    assert done.stderr == (
        "note: the runs do not record their settings, so the settings are not compared\n"
        "note: the runs do not record questions and answers, so edited rows are not noticed; "
        "result files and rag-eval score --digests record them\n"
    )


@pytest.mark.parametrize("form", ["table", "markdown"])
def test_ids_of_data_do_no_harm(runs: list[Path], form: str) -> None:
    done = compare(*runs, "--format", form, "--top", "12")
    for harm in ("\x1b", "\u202e"):
        assert harm not in done.stdout
    shown = r"\x1b[2J\u202eq|`x` _0" if form == "table" else r"\\x1b\[2J\\u202eq\|\`x\` \_0"
    assert shown in done.stdout


def test_all_forms_say_the_same(runs: list[Path]) -> None:
    value = json.loads(compare(*runs, "--format", "json").stdout)
    change = value["changes"][0]
    assert (change["metricId"], change["verdict"], change["test"]["name"]) == (
        "faithfulness",
        "REGRESSED",
        "mcnemar",
    )
    assert change["test"]["pWorse"] == 2**-9
    assert change["moved"][0]["id"] == HOSTILE
    assert change["descriptive"]["wilcoxon"]["rankBiserial"] == -1.0
    lines = compare(*runs, "--format", "markdown").stdout.splitlines()
    (row,) = [line for line in lines if line.startswith("| faithfulness")]
    assert [cell.strip() for cell in row.split("|")][-3:] == ["0.002", "REGRESSED", ""]


def test_slices_clusters_and_margins(runs: list[Path]) -> None:
    done = compare(*runs, "--slice", "topic", "--cluster-by", "doc", "--metric", "faithfulness")
    assert done.exit_code == 0
    assert "topic = a" in done.stdout
    value = json.loads(
        compare(
            *runs, "--slice", "topic", "--margin", "0.5", "--margin", "faithfulness=0.25",
            "--seed", "7", "--resamples", "99", "--format", "json",
        ).stdout
    )  # fmt: skip
    assert value["options"] == {
        "level": 0.95,
        "alpha": 0.05,
        "nResamples": 99,
        "seed": 7,
        "epsilon": 1e-09,
        "clusterBy": None,
        "slices": ["topic"],
        "edited": "drop",
        "adjust": "max-t",
    }
    margins = {(c["metricId"], c["margin"]) for c in value["changes"] if c["gating"]}
    assert margins == {("faithfulness", 0.25)}
    # Context recall has no score anywhere: it is in no family.
    assert value["nTests"] == 3


def test_patterns_are_repeats(runs: list[Path]) -> None:
    for number in (1, 2):
        runs[0].with_name(f"again-{number}.jsonl").write_bytes(runs[0].read_bytes())
    pattern = str(runs[0].with_name("again-*.jsonl"))
    once, often = (compare(first, runs[1], "--format", "json") for first in (runs[0], pattern))
    assert json.loads(once.stdout)["changes"] == json.loads(often.stdout)["changes"]
    assert "up to 2 repeats" in often.stderr


def test_it_fits_in_eighty_columns(runs: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    table = compare(*runs, "--slice", "topic").stdout.split("\n\n")[1]
    assert "REGRESSED" in table
    assert max(map(len, table.splitlines())) <= 80


def test_nothing_found_is_no_proof(runs: list[Path]) -> None:
    lines = runs[0].read_text().splitlines()
    value = json.loads(lines[0])
    scores = [0.2, 0.9, 0.4, 0.5, 0.8, 0.3, 0.6, 0.7, 0.1, 0.5, 0.4, 0.6]
    for file, turn in zip(runs, (0, 5), strict=True):
        rows = [
            {**value, "id": number, "faithfulness": score}
            for number, score in enumerate(scores[turn:] + scores[:turn])
        ]
        file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    done = compare(*runs, "--metric", "faithfulness")
    assert "no change detected in 1 test at alpha 0.05; this does not prove" in done.stdout
    same = compare(runs[0], runs[0], "--metric", "faithfulness")
    assert "all scores of all gating metrics are identical in both runs" in same.stdout


def test_lost_scores_are_told(runs: list[Path]) -> None:
    rows = [json.loads(line) for line in runs[1].read_text().splitlines()]
    for row in rows[:6]:
        row["faithfulness"] = None
    runs[1].write_text("".join(json.dumps(row) + "\n" for row in rows))
    done = compare(*runs)
    assert (
        "faithfulness: 6 of 12 rows lost their score (missing field: 6); null rate 0.000 → 0.500, "
        "adjusted p 0.031"
    ) in done.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--margin", "x"], "expected a number or METRIC=number, got 'x'"),
        (["--margin", "1", "--margin", "2"], "'2': a second value for all metrics"),
        (["--margin", "mime=1"], "margin names 'mime', which is not compared"),
        (["--slice", "topik"], "has a field 'topik'. Give a field of the samples"),
        (["--metric", "answer_relevance"], "no column 'answer_relevance'"),
        (["--id-field", "key"], "key is missing"),
        (["--level", "2"], "expected a share from 0 to 1, such as 0.9 or 90%, got '2'"),
        (["--top", "-1"], "--top"),
    ],
)
def test_options_that_do_not_fit(runs: list[Path], arguments: list[str], message: str) -> None:
    done = compare(*runs, *arguments)
    assert (done.exit_code, done.stdout) == (2, "")
    assert message in done.stderr


def test_help_teaches() -> None:
    shown = compare("--help").stdout
    for part in ("Exit codes", "--cluster-by", "'old-*.jsonl'", "rag-eval gate", "max-T"):
        assert part in shown


def test_what_takes_long_to_import_is_not(runs: list[Path]) -> None:
    """scipy.stats alone would take a second."""
    code = (
        "import sys\n"
        "from rag_eval.cli.program import program\n"
        "try:\n"
        "    program(['compare', *sys.argv[1:]])\n"
        "finally:\n"
        "    print([n for n in ('scipy.stats', 'pandas', 'sklearn') if n in sys.modules])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *map(str, runs), "--slice", "topic", "--format", "json"],
        capture_output=True,
        text=True,
        check=True,
    )
    value, modules = done.stdout.splitlines()
    assert json.loads(value)["paired"]
    assert modules == "[]"


def test_missing_file(old: Path) -> None:
    assert "cannot read none.json: No such file" in compare("none.json", old).stderr


def test_a_reader_that_has_seen_enough_is_no_failed_gate(old: Path, new: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    done = run_warm("compare", old, new, stdout=writing)
    os.close(writing)
    assert done.returncode == 141
    assert b"Broken" not in done.stderr


def test_scores_of_another_scale_are_noted(runs: list[Path]) -> None:
    rows = [json.loads(line) for line in runs[1].read_text().splitlines()]
    text = "".join(json.dumps({**row, "faithfulness": 70.0}) + "\n" for row in rows)
    runs[1].write_text(text)
    done = compare(*runs, "--metric", "faithfulness", "--format", "json")
    note = "faithfulness has scores outside 0 to 1, such as 70 in row "
    assert any(line.startswith(f"note: {note}") for line in done.stderr.splitlines())
    assert any(line.startswith(note) for line in json.loads(done.stdout)["notes"])


@pytest.mark.parametrize("form", ["table", "markdown"])
def test_a_long_value_of_a_slice_is_cut(runs: list[Path], form: str) -> None:
    for file in runs:
        rows = [json.loads(line) for line in file.read_text().splitlines()]
        text = "".join(json.dumps({**row, "topic": "x" * 100_000}) + "\n" for row in rows)
        file.write_text(text)
    done = compare(*runs, "--slice", "topic", "--format", form)
    assert done.exit_code == 0
    assert "topic =" in done.stdout
    assert 0 < done.stdout.count("x" * 40) < 10
    assert len(done.stdout) < 10_000


def test_one_row_is_one_row(runs: list[Path]) -> None:
    runs[0].write_text(runs[0].read_text().splitlines()[0])
    done = compare(*runs)
    assert "1 row in both; 0 removed, 11 new" in done.stdout


@pytest.fixture
def systems() -> list[Path]:
    folder = Path(__file__).parents[2] / "examples" / "decisions"
    return [folder / f"{name}.csv" for name in ("candidate", "main", "fixed-1")]


def test_three_runs_are_ranked_in_every_form(systems: list[Path], tmp_path: Path) -> None:
    flags = ("--sort", "hallucination_rate", "--ranks", "--slice", "topic")
    shown = compare(*systems, *flags)
    assert shown.exit_code == 0
    assert "3 runs, compared on the 198 rows that all of them scored" in shown.stdout
    assert "hallucination_rate (1 = none) where topic is fares: 4" in shown.stdout
    assert "Friedman's test of ranks: chi-square" in shown.stdout
    assert "note: main.csv has 2 rows that other runs lack" in shown.stderr
    value = json.loads(compare(*systems, *flags, "--format", "json").stdout)
    boards = {board["metricId"]: board for board in value["boards"] if board["slice"] is None}
    assert [run["name"] for run in value["runs"]] == [path.name for path in systems]
    best = boards["hallucinationRate"]["places"][0]["run"]
    for form, start in (("markdown", f"| {best} | "), ("latex", f"{best} & ")):
        text = compare(*systems, *flags, "--format", form).stdout
        lines = [line for line in text.splitlines() if line.startswith(tuple("cmf|"))]
        assert next(line for line in lines if ".csv" in line).startswith(start)
    page = tmp_path / "board.html"
    assert compare(*systems, "--html", page).stderr.startswith(f"wrote {page}")
    assert page.read_text().count("<details") == len(value["boards"]) - 4 * len(boards)


@pytest.mark.parametrize(
    ("flags", "n_runs", "message"),
    [
        ((), 1, "a comparison needs two or more runs: rag-eval compare OLD NEW"),
        (("--sort", "faithfulness"), 2, "--sort needs three or more runs"),
        (("--format", "latex"), 2, "--format latex needs three or more runs"),
        (("--independent",), 3, "--independent works only with two runs"),
        (("--margin", "0.1"), 3, "--margin works only with two runs"),
        (("--sort", "faith"), 3, "faith was not compared (compared: "),
    ],
)
def test_flags_fit_the_number_of_runs(
    systems: list[Path], flags: tuple[str, ...], n_runs: int, message: str
) -> None:
    done = compare(*systems[:n_runs], *flags)
    assert (done.exit_code, done.stdout) == (2, "")
    assert message in " ".join(done.stderr.replace("│", " ").split())


def test_what_only_one_run_measures_is_said_once(tmp_path: Path) -> None:
    """A weight of 0 for each metric that was not asked for filled a paragraph."""
    old = result_file(
        tmp_path / "all.json", {"id": "a", **GOOD}, metrics="faithfulness,context_precision"
    )
    new = result_file(tmp_path / "one.json", {"id": "a", **GOOD}, metrics="faithfulness")
    done = compare(old, new)
    assert done.exit_code == 0
    assert "only one run has" in done.stderr
    assert "thresholds or weights differ" not in done.stderr
    assert "scores differ in" not in done.stderr
