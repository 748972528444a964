"""``rag-eval run`` from the outside: output, exit codes, files, interruptions."""

from __future__ import annotations

import gzip
import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from io import StringIO
from pathlib import Path
from subprocess import PIPE
from typing import Any

import pytest
from click import Context
from click.testing import Result

import rag_eval
from rag_eval.cli.program import COMMANDS, program
from rag_eval.jobs.file_run import run_file
from rag_eval.metrics.ids import METRIC_IDS
from rag_eval.reports.console import console_for, print_run
from rag_eval.results.batch import BatchEvalResult
from rag_eval.results.row import ByMetric
from tests.commands import LEAVE_OUT, WANTED_SAMPLES, invoke
from tests.warm_processes import COMMAND, WarmProcess, limited, run_warm

ROOT = Path(__file__).parents[2]
HANDBOOK = str(ROOT / "examples" / "handbook.jsonl")
GOOD = {"question": "red fox", "answer": "red fox.", "contexts": ["red fox."]}
BAD = {"question": "red fox", "answer": "blue whale sings.", "contexts": ["red fox."]}


def run(*arguments: object, **options: Any) -> Result:
    return invoke("run", *arguments, **options)


def samples(path: Path, *rows: object) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.fixture
def good(tmp_path: Path) -> Path:
    return samples(tmp_path / "good.jsonl", {"id": "a", **GOOD}, {"id": "b", **GOOD})


@pytest.fixture
def mixed(tmp_path: Path) -> Path:
    return samples(tmp_path / "mixed.jsonl", {"id": "a", **GOOD}, {"id": "b", **BAD})


def handbook_rows() -> list[Any]:
    return [json.loads(line) for line in Path(HANDBOOK).read_text("utf-8").splitlines()]


INTERVAL = ("[0.05,", "0.20]")
RECALL = ("context_recall", "0.10", "(61/66)")
FIELDS = "fields: question=question, answer=answer, contexts=contexts\n"
NOT_MEASURED = "not measured: context_recall, answer_correctness (no ground truth)\n"
FAITH = ("--metrics", "faithfulness")


# -------------------------------------------------------------------------- stdout and verdict


def test_table() -> None:
    done = run(HANDBOOK)
    assert done.exit_code == 0
    fields, *notes = done.stderr.splitlines(keepends=True)
    assert fields == (
        "fields: question=question, answer=answer, contexts=contexts, ground truth=groundTruth\n"
    )
    assert notes[0].startswith("note: these are the scores of rag-eval-node-ts (--profile overlap)")
    assert run(HANDBOOK, "--profile", "overlap").stderr == fields
    lines = done.stdout.splitlines()
    names = "metric mean [95%] median min max std threshold pass nulls null"
    assert [word for word in lines[0].split() if word != "rate"] == names.split()
    recall = next(line for line in lines if line.startswith("context_recall")).split()
    assert recall == [
        "context_recall",
        "0.10",
        *INTERVAL,
        "(61/66)",
        "0.00",
        "0.00",
        "1.00",
        "0.30",
        "0.7",
        "0.09",
        "5",
        "0.08",
    ]
    # Two rows of 66 have another score than 0.
    relevance = next(line for line in lines if line.startswith("context_relevance"))
    assert "0.01 [too few] (66/66)" in relevance
    assert next(line for line in lines if line.startswith("composite")).split()[4] == "(66/66)"
    assert "66 samples scored" in lines
    assert lines[-1] == "no gate set; add --min-mean faithfulness=0.7 or rag-eval gate"


def test_every_sample_has_to_pass_where_that_is_asked_for() -> None:
    done = run(HANDBOOK, "--min-pass-rate", 1)
    assert done.exit_code == 1
    assert done.stdout.splitlines()[-1] == "FAIL  pass rate 0.00 (0/66) is below 1.00"
    assert done.stdout.splitlines()[0].split()[-1] == "verdict"


def test_the_table_shows_the_numbers_of_the_library() -> None:
    result = rag_eval.evaluate_batch(handbook_rows())
    summary = json.loads(run(HANDBOOK, "--format", "json").stdout)
    expected = result.summary_dict()
    for name in ("aggregates", "compositeAggregate", "passed", "signature"):
        assert summary[name] == expected[name]
    assert (summary["nRows"], summary["nSkipped"], summary["verdict"]) == (66, 0, None)
    assert summary["gates"] == []


def test_passing(good: Path) -> None:
    done = run(good, *FAITH, "--min-mean", "faithfulness=1")
    assert done.exit_code == 0
    assert done.stdout.splitlines()[-1] == "PASS  faithfulness mean 1.00 (2/2) is at least 1.00"
    assert "pass" in next(line for line in done.stdout.splitlines() if line.startswith("faith"))


def test_gates(mixed: Path) -> None:
    held = run(mixed, *FAITH, "--min-pass-rate", 0.5, "--min-mean", "faithfulness=0.5")
    assert held.exit_code == 0
    failed = run(mixed, *FAITH, "--min-pass-rate", 0.5, "--min-mean", "faithfulness=0.9")
    assert failed.exit_code == 1
    assert failed.stdout.splitlines()[-2:] == [
        "FAIL  faithfulness mean 0.50 (2/2) is below 0.90",
        "PASS  pass rate 0.50 (1/2) is at least 0.50",
    ]


def test_thresholds_and_weights(mixed: Path) -> None:
    low = ("--thresholds", "faithfulness=0,answerRelevance=0", "--min-pass-rate", 1)
    low = (*low, "--composite-threshold", 0)
    two = ("--metrics", "faithfulness,answerRelevance")
    assert run(mixed, *two, *low).exit_code == 0
    assert run(mixed, *two, *low, "--composite-threshold", 0.1).exit_code == 1
    weights = ("--weights", "faithfulness=0", "--format", "json")
    relevance = json.loads(run(mixed, *two, *weights).stdout)
    assert (
        relevance["compositeAggregate"]["mean"]
        == relevance["aggregates"]["answerRelevance"]["mean"]
    )


def test_json_summary_is_one_object(mixed: Path) -> None:
    done = run(mixed, *FAITH, "--format", "json", "--worst", 1, "--min-pass-rate", 1)
    summary = json.loads(done.stdout)
    assert done.stdout.count("\n") == 1
    assert (summary["verdict"], summary["gates"][0]["held"]) == ("fail", False)
    assert [row["row"] for row in summary["worst"]] == ['line 2 ("b")']
    assert summary["worst"][0]["metrics"]["faithfulness"]["signals"]
    assert "results" not in summary
    assert done.stderr == f"{FIELDS}FAIL  pass rate 0.50 (1/2) is below 1.00\n"
    told = run(mixed, *FAITH, "--format", "json").stderr
    assert told == f"{FIELDS}no gate set; add --min-mean faithfulness=0.7 or rag-eval gate\n"
    assert run(mixed, *FAITH, "--format", "json", "--quiet").stderr == ""


def test_json_lines_are_the_rows(mixed: Path) -> None:
    done = run(mixed, *FAITH, "--format", "jsonl")
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    expected = [rag_eval.evaluate(row["sample"], ["faithfulness"]).to_dict() for row in rows]
    for row in rows + expected:
        del row["evaluatedAt"], row["durationMs"]
    assert rows == expected
    assert [row["sample"]["id"] for row in rows] == ["a", "b"]


def test_worst_rows(tmp_path: Path) -> None:
    rows = [{"id": f"r{i}", **(BAD if i in (3, 7) else GOOD)} for i in range(3000)]
    done = run(samples(tmp_path / "d.jsonl", *rows), *FAITH, "--worst", 2)
    lines = done.stdout.splitlines()
    assert 'line 4 ("r3")  composite 0.00' in lines
    assert 'line 8 ("r7")  composite 0.00' in lines
    assert any("low context support (overlap=0.000). “blue whale sings.”" in x for x in lines)
    assert "r1" not in done.stdout


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_threads_change_nothing(threads: int) -> None:
    one = json.loads(run(HANDBOOK, "--format", "json", "--worst", 3).stdout)
    many = json.loads(run(HANDBOOK, "--format", "json", "--worst", 3, "--threads", threads).stdout)
    for summary in (one, many):
        del summary["evaluatedAt"], summary["totalDurationMs"]
        for row in summary["worst"]:
            del row["evaluatedAt"]
    assert one == many


def test_text_of_samples_cannot_speak_to_the_terminal(tmp_path: Path) -> None:
    """Rich markup, escape sequences, bidi overrides and surrogates come out as harmless text."""
    text = "[bold red]x[/] :smile: \x1b[31m \u202eevil\u202c \ud800 line\nbreak\r\x07 fox"
    data = samples(tmp_path / "d.jsonl", {**BAD, "id": text, "question": text, "answer": text})
    done = run(data, "--worst", 1)
    assert done.exit_code == 0
    for part in ("\x1b", "\x07", "\u202e", "\r"):
        assert part not in done.stdout
    shown = r"[bold red]x[/] :smile: \x1b[31m \u202eevil\u202c \ud800 line break \x07 fox"
    assert f"question: {shown}" in done.stdout
    missing = run(samples(tmp_path / "e.jsonl", {"id": text}))
    assert "\x1b" not in missing.stderr
    assert missing.stderr.count("\n") == 1


def test_no_colour_in_a_pipe_and_the_width_of_columns() -> None:
    assert "\x1b" not in run(HANDBOOK).stdout
    wide = run(HANDBOOK, env={"COLUMNS": "200"}).stdout
    assert "context_recall" in wide
    for width in ("72", "80", "100"):
        gate = ("--min-mean", "context_recall=0.5")
        narrow = run(HANDBOOK, *gate, env={"COLUMNS": width}).stdout.splitlines()
        assert max(map(len, narrow[:20])) <= int(width)
        place = next(n for n, line in enumerate(narrow) if line.startswith("context_recall"))
        numbers = ["0.00", "0.00", "1.00", "0.30", "0.09", "0.08", "FAIL"]
        assert narrow[place].split() == [*RECALL, *numbers]
        assert narrow[place + 1].split() == list(INTERVAL)


def test_counts_of_millions_fit_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Regression: numbers were broken in two on a terminal of 80 columns."""
    report = run_file(HANDBOOK, min_mean=dict.fromkeys(METRIC_IDS, 1.0))
    scores = report.result.aggregates
    many = {
        name: replace(scores[name], n=1_000_000, n_rows=1_000_000, null_rate=0.0) for name in scores
    }
    result = replace(report.result, aggregates=ByMetric(many))
    monkeypatch.setenv("COLUMNS", "80")
    text = StringIO()
    print_run(replace(report, result=result), console_for(text))
    lines = text.getvalue().splitlines()
    assert max(map(len, lines[:20])) <= 80
    assert "(1000000/1000000)" in text.getvalue()
    assert sum(line.split()[-1:] == ["FAIL"] for line in lines) == 8


# --------------------------------------------------------------------------------- result files


@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_result_files(tmp_path: Path, suffix: str) -> None:
    result = rag_eval.evaluate_batch(handbook_rows())
    whole, lines = tmp_path / f"out.json{suffix}", tmp_path / f"out.jsonl{suffix}"
    assert run(HANDBOOK, "--output", whole).exit_code == 0
    assert run(HANDBOOK, "--output", lines).exit_code == 0
    unpack = gzip.decompress if suffix else bytes
    value = json.loads(unpack(whole.read_bytes()))
    rows = [json.loads(line) for line in unpack(lines.read_bytes()).splitlines()]
    expected = json.loads(result.to_json() or "")
    for row in [*value["results"], *rows, *expected["results"], value, expected]:
        for name in ("evaluatedAt", "totalDurationMs"):
            row.pop(name, None)
    assert value == expected
    assert rows == expected["results"]
    again = BatchEvalResult.from_json(whole)
    assert again.aggregates == result.aggregates
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_lone_surrogates_survive(tmp_path: Path) -> None:
    line = '{"id": "s", "question": "q", "answer": "a \\ud800 b", "contexts": ["a"]}\n'
    data = tmp_path / "d.jsonl"
    data.write_text(line)
    run(data, "--output", tmp_path / "o.json")
    text = (tmp_path / "o.json").read_text("utf-8")
    assert "\\ud800" in text
    assert json.loads(text)["results"][0]["sample"]["answer"] == "a \ud800 b"
    assert "\\ud800" in run(data, "--worst", 1).stdout
    assert "\\ud800" in run(data, "--format", "jsonl").stdout


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("none/out.json", "the folder "),
        ("folder.json", "it is a folder"),
        ("file.txt/out.json", "the folder "),
        ("out.txt", "the name must end in .json or .jsonl"),
    ],
)
def test_output_that_cannot_be_written(good: Path, name: str, message: str) -> None:
    (good.parent / "folder.json").mkdir()
    (good.parent / "file.txt").touch()
    done = run(good, "--output", good.parent / name)
    assert done.exit_code == 2
    assert done.stdout == ""
    assert done.stderr.startswith("error: ")
    assert message in done.stderr


def test_the_sample_file_is_never_overwritten(good: Path) -> None:
    renamed = good.rename(good.with_suffix(".json"))
    before = renamed.read_bytes()
    done = run(renamed, "--output", renamed.parent / "." / renamed.name)
    assert "is the sample file itself" in done.stderr
    assert renamed.read_bytes() == before


@pytest.mark.parametrize("name", ["out.json", "out.jsonl", "out.json.gz"])
def test_an_old_result_is_kept_when_the_run_fails(tmp_path: Path, name: str) -> None:
    rows = [GOOD] * 2500 + [{"id": "late", **GOOD, "contexts": 3}]
    data = samples(tmp_path / "d.jsonl", *rows)
    output = tmp_path / name
    output.write_bytes(b"old")
    done = run(data, "--output", output, "--threads", 1)
    assert done.exit_code == 2
    fault = "contexts must be a list of strings, got int"
    assert done.stderr.splitlines() == [
        "fields: question=question, answer=answer, contexts=contexts",
        f'error: {data}, line 2501 ("late"): {fault}{LEAVE_OUT}',
    ]
    assert output.read_bytes() == b"old"
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(["d.jsonl", name])


@pytest.mark.usefixtures("unmeasured")
def test_an_old_result_is_kept_when_the_disk_is_full(tmp_path: Path) -> None:
    """A limit on file sizes stands in for a full disk."""
    output = tmp_path / "out.json"
    output.write_bytes(b"old")
    done = run_warm("run", HANDBOOK, "--output", output, code=limited(20_000))
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.endswith(b"error: File too large\n")
    assert output.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [output]


# ----------------------------------------------------------------------------- what goes wrong

BAD_ROWS = [
    ({"id": "q", "question": "q", "contexts": []}, 'line 2 ("q"): answer is missing; wanted a str'),
    ({**GOOD, "answer": 3}, "line 2: answer must be a str, got int"),
    ({**GOOD, "contexts": 3}, "line 2: contexts must be a list of strings, got int"),
    ({**GOOD, "contexts": ["x", None]}, "line 2: contexts[1] must be a str, got NoneType"),
    ({**GOOD, "groundTruth": 3}, "line 2: ground_truth must be a str, got int"),
    ({**GOOD, "groundTruth": "a", "ground_truth": "b"}, "line 2: ground_truth and groundTruth"),
    ({**GOOD, "answer": float("inf")}, "line 2: answer is Infinity; wanted a finite"),
    ([GOOD], "line 2: must be a JSON object, got an array"),
]


@pytest.mark.parametrize(("row", "message"), BAD_ROWS)
@pytest.mark.parametrize("threads", [1, 2])
def test_the_first_bad_row_ends_the_run(
    tmp_path: Path, row: object, message: str, threads: int
) -> None:
    data = samples(tmp_path / "d.jsonl", GOOD, row, GOOD, [])
    done = run(data, "--threads", threads)
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.startswith(f"error: {data}, {message}")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("threads", [1, 3])
def test_the_first_of_many_bad_rows_is_named(tmp_path: Path, threads: int) -> None:
    """Not the first by field, by kind of fault, or by whichever thread comes first."""
    rows: list[Any] = [GOOD] * 2000
    rows[700] = {**GOOD, "answer": 1}
    rows[703] = {**GOOD, "contexts": None}
    rows[705] = {**GOOD, "question": None}
    rows[1200] = "no object"
    data = samples(tmp_path / "d.jsonl", *rows)
    with data.open("ab") as file:
        file.write(b"{broken\n")
    done = run(data, "--threads", threads)
    assert done.stderr == f"error: {data}, line 701: answer must be a str, got int{LEAVE_OUT}\n"


def test_skipping_invalid_rows(tmp_path: Path) -> None:
    rows = [{"id": "a", **GOOD}, *(row for row, _ in BAD_ROWS), *[{"answer": 1}] * 5]
    data = samples(tmp_path / "d.jsonl", *rows, {"id": "z", **BAD})
    output = tmp_path / "o.json"
    gate = ("--min-pass-rate", 1)
    done = run(data, *FAITH, *gate, "--skip-invalid", "--output", output, "--worst", 1)
    assert done.exit_code == 1
    # faithfulness reads no ground truth: those rows are sound for it.
    assert "4 samples scored, 11 of 15 skipped as invalid" in done.stdout
    assert done.stdout.splitlines()[-1] == "FAIL  pass rate 0.75 (3/4) is below 1.00"
    assert 'line 15 ("z")  composite' in done.stdout
    fields, *skipped = done.stderr.splitlines()
    assert fields.startswith("fields: question=question, ")
    assert skipped[0] == 'skipped line 2 ("q"): answer is missing; wanted a str'
    assert (len(skipped), skipped[-1]) == (11, "skipped 1 more")
    value = json.loads(output.read_text())
    assert (value["nSkipped"], len(value["results"])) == (11, 4)
    summary = json.loads(run(data, *FAITH, "--skip-invalid", "--format", "json").stdout)
    assert (summary["nSkipped"], summary["nRows"]) == (11, 4)


def test_nothing_valid(tmp_path: Path) -> None:
    data = samples(tmp_path / "d.jsonl", [], {**GOOD, "answer": 1})
    done = run(data, "--skip-invalid")
    assert done.exit_code == 2
    assert "holds no valid samples: 2 invalid, first line 1: must be a JSON object" in done.stderr


@pytest.mark.parametrize("name", ["d.jsonl", "d.json"])
def test_empty_file(tmp_path: Path, name: str) -> None:
    (tmp_path / name).touch()
    done = run(tmp_path / name)
    message = f"error: {tmp_path / name} holds no samples{WANTED_SAMPLES}\n"
    assert (done.exit_code, done.stderr) == (2, message)


def test_truncated_gzip(tmp_path: Path) -> None:
    data = tmp_path / "d.jsonl.gz"
    packed = gzip.compress(Path(HANDBOOK).read_bytes())
    data.write_bytes(packed[:-20])
    done = run(data, "--output", tmp_path / "o.json")
    assert done.exit_code == 2
    assert "the gzip data ends too early" in done.stderr
    assert not (tmp_path / "o.json").exists()


def test_duplicate_ids_are_a_warning(tmp_path: Path) -> None:
    data = samples(tmp_path / "d.jsonl", *[{"id": "a", **GOOD}] * 6, {**GOOD, "id": 3}, GOOD)
    done = run(data, *FAITH)
    assert done.exit_code == 0
    names = ", ".join(f'line {line} ("a")' for line in (2, 3, 4))
    assert done.stderr == f"{FIELDS}note: 5 rows have the id of an earlier one: {names}, …\n"
    assert run(data, *FAITH, "--quiet").stderr == ""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--metrics", "faithfullness"), "--metrics: unknown metric 'faithfullness'; did you mean"),
        (("--metrics", ""), "--metrics: unknown metric ''"),
        (
            ("--thresholds", "faithfulness"),
            "wanted METRIC=NUMBER, such as faithfulness=0.7, got 'faithfulness'",
        ),
        (
            ("--thresholds", "faithfulness=x"),
            "faithfulness must be a number such as 0.7 or 70%, got 'x'",
        ),
        (("--thresholds", "faithfulness=nan"), "must be finite"),
        (("--thresholds", "faithfulness=1,faithfulness=0"), "is given twice, as 1.0 and 0.0"),
        ((*FAITH, "--thresholds", "context_recall=1"), "not among the metrics to compute"),
        ((*FAITH, "--weights", "context_recall=1"), "not among the metrics to compute"),
        ((*FAITH, "--min-mean", "context_recall=1"), "context_recall, which is not computed"),
        (("--min-pass-rate", 90), "wanted a share from 0 to 1, such as 0.9 or 90%, got '90'"),
        (("--regression-threshold", 0.1), "--regression-threshold needs --baseline"),
        (("--allow-signature-mismatch",), "--allow-signature-mismatch needs --baseline"),
        (("--policy", "node"), "--policy needs --baseline"),
        (("--margin", 0.1), "--margin needs --baseline"),
        (("--worst", -1), "worst must be a whole number of at least 0"),
        (("--threads", 0), "threads must be a whole number of at least 1"),
        (("--threads", "x"), "'x' is not a valid integer"),
        (("--format", "xml"), "'xml' is not one of"),
        (("--colour",), "No such option"),
        (("--config", "none.toml"), "cannot read none.toml"),
        (("--baseline", "none.json"), "cannot read none.json"),
        (("--baseline", HANDBOOK), "handbook.jsonl holds samples, not scores"),
    ],
)
def test_usage_errors(arguments: tuple[object, ...], message: str) -> None:
    done = run(HANDBOOK, *arguments)
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.startswith("error: ")
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_data_is_needed() -> None:
    done = run()
    assert done.exit_code == 2
    assert done.stderr == "error: Missing argument 'DATA'; see rag-eval run --help\n" or (
        "Missing argument 'DATA'" in done.stderr
    )


# ------------------------------------------------------------------- baseline and configuration


@pytest.fixture
def twenty(tmp_path: Path) -> tuple[Path, Path]:
    """The result of 20 good answers, and the samples of which 10 got worse."""
    rows = [{**GOOD, "id": str(n), "question": f"red fox {n}"} for n in range(20)]
    before = tmp_path / "before.json"
    run(samples(tmp_path / "old.jsonl", *rows), *FAITH, "--output", before)
    changed = [{**row, "answer": BAD["answer"]} for row in rows[:10]]
    return before, samples(tmp_path / "new.jsonl", *changed, *rows[10:])


def test_a_baseline_is_compared_row_by_row(twenty: tuple[Path, Path], tmp_path: Path) -> None:
    before, data = twenty
    result = tmp_path / "after.json"
    done = run(data, *FAITH, "--baseline", before, "--format", "json", "--output", result)
    assert done.exit_code == 1
    summary = json.loads(done.stdout)
    (found,) = summary["gates"]
    assert (summary["verdict"], found["gate"], found["metricId"]) == (
        *("fail", "regression", "faithfulness"),
    )
    assert (found["found"], str(found["wanted"]), found["held"]) == (-0.5, "0.0", False)
    assert "over 20 pairs, p 0.00" in found["message"]
    assert "regressions" not in summary
    # It is the verdict of gate on the result file.
    gated = invoke("gate", result, "--baseline", before, "--format", "json")
    assert gated.exit_code == 1
    report = json.loads(gated.stdout)
    for name in ("status", "passed", "policy", "alpha", "reason"):
        assert summary["against"][name] == report[name]
    assert summary["against"]["baselines"][0]["findings"] == report["baselines"][0]["findings"]
    shown = run(data, *FAITH, "--baseline", before).stdout
    assert f"FAIL  {found['message']}\n" in shown
    assert shown.splitlines()[-1].startswith("no-regression: if nothing changed, ")
    same = run(tmp_path / "old.jsonl", *FAITH, "--baseline", before)
    assert same.exit_code == 0, same.output


@pytest.mark.parametrize(
    ("flags", "code"),
    [
        (("--margin", 0.9), 0),
        (("--margin", "faithfulness=0.9"), 0),
        (("--alpha", 0.0001), 0),
        (("--policy", "non-inferior", "--margin", 0.05), 1),
        (("--policy", "non-inferior", "--margin", 0.95), 0),
        (("--policy", "regtrace"), 1),
        (("--policy", "omk"), 1),
        (("--policy", "node"), 1),
        (("--policy", "node", "--regression-threshold", 0.5), 0),
    ],
)
def test_flags_of_the_policy(twenty: tuple[Path, Path], flags: tuple[Any, ...], code: int) -> None:
    before, data = twenty
    done = run(data, *FAITH, "--baseline", before, *flags)
    assert done.exit_code == code, done.output


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (("--regression-threshold", 0.1), "regression_threshold needs policy node"),
        (
            ("--policy", "node", "--margin", 0.1),
            "policy node takes no margin; use regression_threshold",
        ),
        (("--policy", "non-inferior"), "policy non-inferior needs a margin above 0"),
        (("--policy", "omk", "--margin", 0.1), "policy omk takes no margin"),
        (("--alpha", 0.7), "alpha must be above 0 and below 0.5, got 0.7"),
        (("--care", 0), "care must be above 0, got 0"),
        (("--policy", "nodes"), "'nodes' is not one of"),
    ],
)
def test_flags_that_do_not_fit_the_policy_are_refused_before_any_work(
    twenty: tuple[Path, Path], tmp_path: Path, flags: tuple[Any, ...], message: str
) -> None:
    before, data = twenty
    output = tmp_path / "o.json"
    done = run(data, *FAITH, "--baseline", before, *flags, "--output", output)
    assert (done.exit_code, done.stdout) == (2, "")
    assert message in done.stderr
    assert not output.exists()


def test_results_are_kept_where_no_row_is_one_of_the_baseline(
    twenty: tuple[Path, Path], tmp_path: Path
) -> None:
    """That is known at the end alone, when a judge has been paid."""
    before, _ = twenty
    other = samples(tmp_path / "other.jsonl", {**GOOD, "id": "other"})
    output = tmp_path / "o.json"
    done = run(other, *FAITH, "--baseline", before, "--output", output)
    assert (done.exit_code, done.stdout) == (2, "")
    assert "\nerror: no id is in both runs" in done.stderr
    written = json.loads(output.read_bytes())
    assert len(written["results"]) == 1
    assert any("not compared with the baseline" in note for note in written["notes"])


def test_baseline_by_the_rule_of_the_node_library(tmp_path: Path, good: Path, mixed: Path) -> None:
    before = tmp_path / "before.json"
    run(good, *FAITH, "--output", before)
    node = ("--baseline", before, "--policy", "node")
    done = run(mixed, *FAITH, *node)
    assert done.exit_code == 1
    expected = "FAIL  faithfulness mean 0.50 is 0.50 below the baseline's 1.00 (threshold 0.05)"
    assert done.stdout.splitlines()[-1] == expected
    assert run(mixed, *FAITH, *node, "--regression-threshold", 0.5).exit_code == 0
    assert run(good, *FAITH, *node).exit_code == 0


def test_a_summary_on_stdout_can_be_a_baseline_of_policy_node(
    tmp_path: Path, good: Path, mixed: Path
) -> None:
    before = tmp_path / "before.json"
    before.write_text(run(good, *FAITH, "--format", "json").stdout)
    assert run(mixed, *FAITH, "--baseline", before, "--policy", "node").exit_code == 1
    done = run(mixed, *FAITH, "--baseline", before)
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.endswith(
        "Policy no-regression compares row by row; --policy node compares only means\n"
    )


def test_a_baseline_without_ids_names_the_policy_that_needs_none(
    tmp_path: Path, good: Path
) -> None:
    before = tmp_path / "before.json"
    run(samples(tmp_path / "nameless.jsonl", GOOD), *FAITH, "--output", before)
    done = run(good, *FAITH, "--baseline", before)
    assert (done.exit_code, done.stdout) == (2, "")
    assert "id is missing" in done.stderr
    assert "--policy node compares only means" in done.stderr
    assert run(good, *FAITH, "--baseline", before, "--policy", "node").exit_code == 0


def test_baseline_of_the_node_library(tmp_path: Path) -> None:
    vectors = ROOT / "tests" / "conformance" / "rag_eval_node" / "samples_batch.json"
    node = tmp_path / "node.json"
    node.write_text(json.dumps(json.loads(vectors.read_text())["default"]["expected"]))
    done = run(HANDBOOK, "--baseline", node, "--policy", "node", "--format", "json")
    summary = json.loads(done.stdout)
    assert done.exit_code == 1
    assert [row["metricId"] for row in summary["regressions"]] == list(summary["aggregates"])
    assert "the baseline has no signature" in done.stderr
    assert len(summary["gates"]) == 7


def test_baseline_of_other_settings(tmp_path: Path, good: Path) -> None:
    before = tmp_path / "before.json"
    run(good, "--metrics", "hallucination_rate", "--output", before)
    config = tmp_path / "c.toml"
    config.write_text("[heuristic]\nclaim_support_threshold = 0.9")
    arguments = (good, "--metrics", "hallucination_rate", "--config", config, "--baseline", before)
    done = run(*arguments)
    assert done.exit_code == 2
    assert "claim_support_threshold: 0.9, not 0.15" in done.stderr
    forced = run(*arguments, "--allow-signature-mismatch")
    assert forced.exit_code == 0
    assert "note: the settings of the baseline were not checked" in forced.stderr
    other = run(good, *FAITH, "--baseline", before)
    assert "has none of the metrics of this run; it has hallucination_rate" in other.stderr


def test_flags_win_over_the_configuration_and_that_over_defaults(
    tmp_path: Path, mixed: Path
) -> None:
    config = tmp_path / "rag-eval.toml"
    config.write_text(
        'metrics = ["faithfulness", "answer_relevance"]\nmin_pass_rate = 0.5\n'
        "[thresholds]\nfaithfulness = 0\nanswer_relevance = 0\n"
    )
    flags = ("--composite-threshold", 0)
    assert run(mixed, "--config", config, *flags).exit_code == 0
    stricter = ("--thresholds", "faithfulness=0.9", "--format", "json")
    done = run(mixed, "--config", config, *flags, *stricter)
    aggregates = json.loads(done.stdout)["aggregates"]
    assert aggregates["faithfulness"]["passRate"] == 0.5
    assert aggregates["answerRelevance"]["passRate"] == 1
    assert run(mixed, "--config", config, *flags, *FAITH, "--min-pass-rate", 1).exit_code == 0
    config.write_text("min_pass_rat = 0.5")
    done = run(mixed, "--config", config)
    assert done.exit_code == 2
    assert done.stderr == (
        f"error: {config}: unknown key 'min_pass_rat'; did you mean 'min_pass_rate'?\n"
    )


# ---------------------------------------------------------------------- processes and pipes


def test_standard_input(good: Path) -> None:
    running = WarmProcess("run", "-", *FAITH, stdin=PIPE)
    out, err = running.communicate(b"\xef\xbb\xbf" + good.read_bytes() + b"\r\n")
    assert (running.returncode, err) == (0, FIELDS.encode())
    assert b"2 samples scored" in out
    running = WarmProcess("run", "-", *FAITH, stdin=PIPE)
    _, err = running.communicate(b"{}")
    assert running.returncode == 2
    assert err == b"error: standard input: answer, contexts: no such fields; no unused column\n"


def test_a_closed_pipe_is_no_error(tmp_path: Path) -> None:
    data = samples(tmp_path / "d.jsonl", *[GOOD] * 20_000)
    running = WarmProcess("run", data, *FAITH, "--format", "jsonl")
    assert running.stdout is not None
    assert running.stderr is not None
    assert json.loads(running.stdout.readline())["passed"] is True
    running.stdout.close()
    assert running.wait() == 141
    assert running.stderr.read() == FIELDS.encode()
    running.stderr.close()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_stdout_that_takes_nothing(good: Path) -> None:
    with Path("/dev/full").open("wb") as full:
        done = run_warm("run", good, stdout=full)
    assert (done.returncode, done.stderr) == (
        2,
        f"{NOT_MEASURED}{FIELDS}error: No space left on device\n".encode(),
    )


def test_stdout_that_is_closed(good: Path) -> None:
    """It was a defect, with a traceback."""
    done = run_warm("run", good, code=f"import sys; sys.stdout = None; {COMMAND}")
    assert (done.returncode, done.stderr) == (0, f"{NOT_MEASURED}{FIELDS}".encode())


@pytest.fixture
def endless(tmp_path: Path) -> Any:
    """A named pipe that keeps a run waiting for more rows."""
    path = tmp_path / "pipe.jsonl"
    os.mkfifo(path)
    return path


# The child says how many bytes it has cut into rows, whenever it is about to read more.
READING = """
import sys
from rag_eval.cli import main
from rag_eval.inputs.byte_files import ByteFile

n_bytes = 0

def told(read):
    def call(*arguments):
        global n_bytes
        print(n_bytes, file=sys.stderr, flush=True)
        found = read(*arguments)
        n_bytes += found if isinstance(found, int) else 0
        return found
    return call

ByteFile.head = told(ByteFile.head)
ByteFile.fill = told(ByteFile.fill)
main()
"""


def wait_until_asleep(running: WarmProcess) -> None:
    """A signal that comes just before a call that blocks is seen by Python when that returns."""
    stat = Path(f"/proc/{running.pid}/stat")  # the state stands behind the name in parentheses
    while stat.exists() and ") R " in stat.read_text():
        pass


def interrupted(path: Path, n_rows: int, *arguments: object) -> tuple[int, bytes, bytes]:
    """Ctrl-C while the run waits for the rest of its input."""
    running = WarmProcess("run", path, *FAITH, *arguments, code=READING)
    assert running.stderr is not None
    content = (json.dumps({**GOOD, "metadata": {"pad": "x" * 1000}}) + "\n").encode() * n_rows
    with path.open("wb") as pipe:
        pipe.write(content)
        pipe.flush()
        while running.stderr.readline() != b"%d\n" % len(content):
            assert running.poll() is None
        wait_until_asleep(running)
        running.send_signal(signal.SIGINT)
        out, err = running.communicate()
    return running.wait(), out, err


@pytest.mark.parametrize("name", ["o.json", "o.jsonl", "o.json.gz"])
def test_ctrl_c_writes_what_there_is_beside_the_old_result(endless: Path, name: str) -> None:
    output = endless.parent / name
    output.write_bytes(b"old")
    code, out, err = interrupted(endless, 1000, "--output", output, "--threads", 1)
    assert code == 130
    assert output.read_bytes() == b"old"
    partial = endless.parent / name.replace("o.", "o.partial.")
    assert f"partial result written to {partial}" in err.decode()
    data = partial.read_bytes()
    text = gzip.decompress(data) if name.endswith(".gz") else data
    if name == "o.jsonl":
        n_rows = len([json.loads(line) for line in text.splitlines()])
    else:
        value = json.loads(text)
        n_rows = len(value["results"])
        assert value["interrupted"] is True
    assert 200 < n_rows < 1000
    assert f"{n_rows:,} samples scored, then interrupted" in out.decode()
    assert sorted(path.name for path in endless.parent.iterdir()) == sorted(
        [endless.name, name, partial.name]
    )


def test_ctrl_c_before_the_first_row(endless: Path) -> None:
    code, out, err = interrupted(endless, 0, "--output", endless.parent / "o.json")
    assert (code, out) == (130, b"")
    assert b"nothing was written" in err
    assert list(endless.parent.iterdir()) == [endless]


@pytest.mark.parametrize("command", ["run", "score", "calibrate", "compare"])
def test_sigterm_ends_every_command_as_ctrl_c_does(endless: Path, command: str) -> None:
    """The process ended at once, and what was scored was lost."""
    other = endless.parent / "o.jsonl"
    other.write_text(json.dumps({"id": "a", "faithfulness": 1, "label": 1}))
    arguments = {
        "run": [endless, "--output", endless.parent / "new.jsonl"],
        "score": [endless, endless.parent / "new.jsonl"],
        "calibrate": [endless, other, "--metric", "faithfulness"],
        "compare": [endless, other],
    }
    running = WarmProcess(command, *arguments[command])
    with endless.open("wb"):  # when the process reads it
        wait_until_asleep(running)
        running.terminate()
        out, err = running.communicate()
    assert (running.returncode, out) == (143, b""), err.decode()
    assert err.decode().strip() == "interrupted; nothing was written"
    assert sorted(endless.parent.iterdir()) == [other, endless]


# ------------------------------------------------------------------------------- large samples


@pytest.mark.deep
def test_one_text_of_100_mb(tmp_path: Path) -> None:
    data = tmp_path / "d.jsonl"
    with data.open("w") as file:
        text = "the quick brown fox jumps over the lazy dog. " * 2_300_000
        file.write(json.dumps({**GOOD, "answer": text}) + "\n" + json.dumps(GOOD) + "\n")
    assert data.stat().st_size > 100e6
    done = run(data, "--metrics", "answer_relevance", "--format", "json")
    assert json.loads(done.stdout)["nRows"] == 2


def test_100_000_contexts(tmp_path: Path) -> None:
    many = {**GOOD, "contexts": [f"red fox {number}" for number in range(100_000)]}
    done = run(samples(tmp_path / "d.jsonl", many), *FAITH, "--format", "json", "--worst", 1)
    assert json.loads(done.stdout)["aggregates"]["faithfulness"]["mean"] > 0.6


def test_1000_sentences_and_1000_contexts(tmp_path: Path) -> None:
    answer = " ".join(f"The red fox number {number} sleeps here." for number in range(1000))
    contexts = [f"The red fox number {number} sleeps there." for number in range(1000)]
    data = samples(tmp_path / "d.jsonl", {**GOOD, "answer": answer, "contexts": contexts})
    done = run(data, "--format", "json", "--output", tmp_path / "o.json")
    assert json.loads(done.stdout)["aggregates"]["hallucinationRate"]["mean"] == 1


# ------------------------------------------------------------------------------------- help


def test_version() -> None:
    assert invoke("--version").stdout == f"rag-eval {rag_eval.__version__}\n"


def test_every_command_has_help() -> None:
    plain = {"run", "score", "validate", "compare", "calibrate", "metrics", "history"}
    plain |= {"gate", "estimate", "report", "show"}
    golden = {"run", "validate", "diff", "split", "dedupe"}
    groups = {"judge": {"debias-check"}, "cache": {"info", "clear"}, "golden": golden}
    groups["baseline"] = {"pin", "unpin", "show", "export"}
    groups["labels"] = {"init", "validate", "compare", "sample"}
    groups["init"] = {"github", "gitlab"}
    context = Context(program)
    listed = {name: program.get_command(context, name) for name in program.list_commands(context)}
    assert set(listed) == plain | groups.keys()
    for name, command in listed.items():
        # What the list of commands says of it, without importing it.
        assert command.get_short_help_str(1000) == COMMANDS[name]
    commands = {name: listed[name] for name in plain}
    for group, names in groups.items():
        inner = listed[group].commands
        assert set(inner) == names
        commands |= {f"{group} {name}": inner[name] for name in names}
    for name, command in commands.items():
        done = invoke(*name.split(), "--help")
        assert done.exit_code == 0, f"{name}: {done.output} {done.exception!r}"
        assert "Exit codes:" in done.stdout
        assert done.stdout.count(f"rag-eval {name}") >= 3
        for parameter in command.params:
            if parameter.param_type_name == "option":
                assert parameter.help, f"{name} {parameter.name}"
    assert "143 terminated" in invoke("--help").stdout
    assert "Examples:" in invoke("-h").stdout


def test_the_modules_of_a_command_come_only_with_it() -> None:
    code = "import sys, rag_eval.cli; print({'click', 'rich', 'numpy'} & sys.modules.keys())"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout == "set()\n"
    # Help is quick: no command brings arrays before it runs.
    code = (
        "import sys, rag_eval.cli.program; print({'numpy', 'scipy', 'jinja2'} & sys.modules.keys())"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout == "set()\n"


def test_unknown_commands_are_usage_errors() -> None:
    done = invoke("runn", HANDBOOK)
    assert done.exit_code == 2
    assert done.stderr.startswith("error: No such command 'runn'")


def test_a_field_to_slice_by_that_no_row_has_is_told(good: Path) -> None:
    page = good.parent / "page.html"
    done = run(good, "--html", page, "--slice-by", "topik", "--profile", "overlap")
    assert "note: no row has the field 'topik' that --slice-by names\n" in done.stderr
    assert "field 'id'" not in run(good, "--html", page, "--slice-by", "id").stderr
