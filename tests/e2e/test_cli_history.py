"""``run --store``, ``history`` and ``baseline``: runs that are kept, listed and held on to."""

from __future__ import annotations

import csv
import io
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from click.testing import CliRunner, Result
from pyarrow import parquet

import rag_eval
from rag_eval.cli.program import program
from rag_eval.jobs.file_run import run_file
from rag_eval.runs.dataset_hash import dataset_hash
from rag_eval.runs.git_state import BRANCH_VARIABLES, COMMIT_VARIABLES
from rag_eval.runs.run_files import read_run, run_of_result
from rag_eval.runs.store import RunStore
from tests.hostile_repositories import TRAPS
from tests.stored_runs import a_run, assert_same

BRANCH = {"RAG_EVAL_BRANCH": "feat/x"}
ROWS: list[dict[str, Any]] = [
    {
        "id": f"q{n}",
        "question": "red fox",
        "answer": "red fox." if n % 3 else "blue whale sings.",
        "contexts": ["red fox."],
        "ground_truth": "red fox",
        "metadata": {"topic": "ab"[n % 2], "level": n},
    }
    for n in range(6)
]


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in (*BRANCH_VARIABLES, *COMMIT_VARIABLES):
        monkeypatch.delenv(name, raising=False)


def invoke(*arguments: object, **environment: str) -> Result:
    return CliRunner().invoke(program, [*map(str, arguments)], env=environment)


def samples(name: str = "d.jsonl", rows: list[dict[str, Any]] | None = None) -> Path:
    path = Path(name)
    path.write_text("".join(json.dumps(row) + "\n" for row in (ROWS if rows is None else rows)))
    return path


def run(*flags: object, data: Path | None = None) -> Result:
    file = samples() if data is None else data
    return invoke("run", file, "--metrics", "faithfulness,context_recall", *flags, **BRANCH)


def run_ids(path: str = ".rag_eval/runs.db") -> list[str]:
    return [record.run_id for record in RunStore(path, create=False).runs()]


def test_a_run_is_kept_when_it_is_asked_for() -> None:
    assert run("--quiet").exit_code == 0
    assert not Path(".rag_eval").exists()
    done = run("--min-mean", "faithfulness=0.5", "--store", "--store-columns", "topic,level")
    assert done.exit_code == 0
    (record,) = RunStore(create=False).runs()
    assert f"saved in the store as {record.run_id}\n" in done.stderr
    assert (record.status, record.branch, record.n_rows) == ("guards held", "feat/x", 6)
    assert record.dataset_hash == dataset_hash(ROWS)
    assert record.config == {
        "metrics": ["faithfulness", "context_recall"],
        "min_mean": {"faithfulness": 0.5},
        "store_columns": ["topic", "level"],
    }
    found = RunStore(create=False).load(record.run_id)
    assert found.ids == [f"q{n}" for n in range(6)]
    assert found.column("faithfulness").tolist() == [0, 1, 1, 0, 1, 1]
    assert found.metric_passed[:, 0].tolist() == [0, 1, 1, 0, 1, 1]
    assert found.passed.tolist() == [0, 1, 1, 0, 1, 1]
    assert found.columns["topic"] == ["a", "b"] * 3
    assert found.columns["level"] == [str(n) for n in range(6)]
    assert found.signature is not None


def test_the_status_is_the_verdict_that_was_printed() -> None:
    assert run("--store", "--output", "first.json").exit_code == 0
    assert run("--store", "--min-pass-rate", "1").exit_code == 1
    assert run("--store", "--min-pass-rate", "0.5").exit_code == 0
    for policy in ("node", "no-regression"):
        assert run("--store", "--baseline", "first.json", "--policy", policy).exit_code == 0
    states = [record.state for record in RunStore(create=False).runs()]
    assert states == ["passed", "passed", "guards held", "failed", "ungated"]


def test_a_store_by_name_and_the_run_in_json() -> None:
    done = run("--store", "my.db", "--format", "json", "--output", "out.json")
    value = json.loads(done.stdout)
    assert run_ids("my.db") == [value["runId"]]
    assert value["datasetHash"] == dataset_hash(ROWS)
    assert json.loads(Path("out.json").read_text())["datasetHash"] == dataset_hash(ROWS)
    assert not Path(".rag_eval").exists()


def test_a_table_is_the_same_dataset_with_the_same_columns() -> None:
    flat = [{**row, "topic": row["metadata"]["topic"], "metadata": None} for row in ROWS]
    for row in flat:
        del row["metadata"]
    parquet.write_table(pa.Table.from_pylist(flat), "d.parquet")
    run("--store", "--store-columns", "topic")
    run("--store", "--store-columns", "topic", data=Path("d.parquet"))
    store = RunStore(create=False)
    second, first = (store.load(run_id) for run_id in run_ids())
    assert first.dataset_hash == second.dataset_hash
    assert (first.ids, first.columns) == (second.ids, second.columns)
    assert first.scores.tobytes() == second.scores.tobytes()


def test_rows_without_ids_are_found_again_by_what_they_ask() -> None:
    rows = [
        {key: value for key, value in {**row, "question": f"fox {n}"}.items() if key != "id"}
        for n, row in enumerate(ROWS)
    ]
    done = run("--store", data=samples("a.jsonl", rows))
    assert "6 rows have no id; the store names them by a digest of question" in done.stderr
    run("--store", data=samples("b.jsonl", rows[::-1]))
    store = RunStore(create=False)
    second, first = (store.load(run_id) for run_id in run_ids())
    assert first.ids == second.ids[::-1]
    assert len(set(first.ids)) == 6
    assert first.dataset_hash == second.dataset_hash


def test_faults_of_the_store_end_the_run_before_any_work() -> None:
    Path("notes.txt").write_text("not a database, but long enough to look at " * 20)
    done = run("--store", "notes.txt", "--output", "out.json")
    assert done.exit_code == 2
    assert "error: cannot use the run store notes.txt (it is unchanged)" in done.stderr
    assert not Path("out.json").exists()
    assert "store_columns needs a store" in run("--store-columns", "topic").stderr
    nested = run("--store", "--store-columns", "contexts")
    assert nested.exit_code == 2
    assert 'line 1 ("q0"): contexts must be a string, a number or a boolean' in nested.stderr
    assert run_ids() == []


def test_what_is_kept_of_a_file_is_what_a_result_in_memory_says() -> None:
    rows = [{**row, "ground_truth": "red fox" if n % 2 else None} for n, row in enumerate(ROWS)]
    metrics = ["faithfulness", "context_recall", "context_utilization", "regtrace.length_ratio"]
    result = rag_eval.evaluate_batch(rows, metrics, profile="grounded")
    run_file(
        samples(rows=rows),
        metrics,
        profile="grounded",
        store="runs.db",
        store_columns=["topic"],
    )
    found = RunStore("runs.db").load("latest")
    wanted = run_of_result(result, name="d.jsonl", columns=["topic"])
    assert_same(found, replace(wanted, dataset_hash=dataset_hash(rows)))
    assert {-1, 0, 1} <= set(found.metric_passed.ravel().tolist())


def test_a_column_that_no_row_has_is_noted() -> None:
    done = run("--store", "--store-columns", "tpoic")
    assert "note: column 'tpoic' is null in every row" in done.stderr


def test_a_run_that_was_interrupted_is_not_kept() -> None:
    def stop(completed: int, total: int | None) -> None:
        if completed:
            raise KeyboardInterrupt

    report = run_file(samples(), ["faithfulness"], store="runs.db", on_progress=stop)
    assert report.interrupted
    assert report.run_id is None
    assert "the run was interrupted, so it was not saved in the store" in report.result.notes
    assert run_ids("runs.db") == []


# -------------------------------------------------------------------------------------- history


def test_history_says_what_each_run_serves_as() -> None:
    run("--store", "--min-pass-rate", "0.5")
    assert invoke("gate", "--store", "--run", "latest").exit_code == 0
    run("--store", "--min-pass-rate", "1")
    second, first = run_ids()
    assert invoke("baseline", "pin", "latest").stdout == f"pinned {second} under the name default\n"
    done = invoke("history", **BRANCH)
    assert (done.exit_code, done.stderr) == (0, "")
    digits = dataset_hash(ROWS)[:12]
    signature = RunStore(create=False).record(first).signature
    assert signature is not None
    assert re.fullmatch("overlap:1 [0-9a-f]{6}", signature.short)
    both = ["feat/x", "6", "rows", "dataset", digits, "settings", *signature.short.split()]
    shown = " ".join(done.stdout.split("\n\ntrends over 2 runs")[0].split())
    newer, older = shown[: shown.index(first)].split(), shown[shown.index(first) :].split()
    means = ["faithfulness", "0.667,", "context_recall", "1.000"]
    assert newer[:1] + newer[3:] == [second, "failed", *both, "pinned", "(default)", *means]
    assert older[:1] + older[3:] == [first, "passed", *both, "last", "passing", *means]


def test_a_store_named_as_a_command_is_told_where_it_goes() -> None:
    run("--store", "mine.sqlite")
    done = invoke("history", "mine.sqlite")
    assert done.exit_code == 2
    assert "to name a store: rag-eval history --store mine.sqlite" in done.stderr
    assert invoke("history", "--store", "mine.sqlite").exit_code == 0


def test_history_as_json_and_by_its_filters() -> None:
    run("--store")
    invoke("gate", "--store", "--run", "latest")
    run("--store", data=samples("other.jsonl", ROWS[:3]))
    value = json.loads(invoke("history", "--format", "json").stdout)
    assert value["store"] == ".rag_eval/runs.db"
    assert [one["runId"] for one in value["runs"]] == run_ids()
    assert [one["lastPassing"] for one in value["runs"]] == [False, True]
    assert [one["status"] for one in value["runs"]] == ["ungated", "passed"]
    assert value["runs"][0]["means"] == {"faithfulness": 2 / 3, "context_recall": 1.0}

    def listed(*flags: object) -> list[str]:
        found = json.loads(invoke("history", "--format", "json", *flags).stdout)
        return [one["runId"] for one in found["runs"]]

    second, first = run_ids()
    assert listed("--dataset", dataset_hash(ROWS)[:10]) == [first]
    assert listed("--limit", 1) == [second]
    assert listed("--branch", "feat/x") == [second, first]
    nothing = invoke("history", "--branch", "none")
    assert (nothing.exit_code, nothing.stdout, nothing.stderr) == (0, "", "no matching runs\n")


def stored(n_runs: int) -> list[str]:
    """Runs whose faithfulness falls by 0.2 in the second half."""
    store = RunStore()
    for number in range(n_runs):
        scores = a_run().scores - 0.2 * (number >= n_runs // 2)
        store.add(a_run(scores=scores), status="passed" if number % 2 else "failed")
    return [record.run_id for record in reversed(store.runs())]


def test_trends_have_sparklines_verdicts_and_changes_in_every_form() -> None:
    ids = stored(10)
    shown = invoke("history").stdout.split("trends over 10 runs, oldest first\n")[1]
    lines = {line.split()[0]: line.split() for line in shown.splitlines()}
    assert lines["gate"][1:] == ["✗✓" * 5, "(✓", "passed,", "✗", "failed,", "·", "no", "gate)"]
    assert lines["faithfulness"][1] == "█" * 5 + "▁" * 5
    assert f"changed at {ids[5]}: 0.400 → 0.200, p 0.0" in shown
    table = list(csv.DictReader(io.StringIO(invoke("history", "--format", "csv").stdout)))
    assert len(table) == 20
    changed = [row for row in table if row["change_p"]]
    assert {(row["run_id"], row["metric"]) for row in changed} == {
        (ids[5], "faithfulness"),
        (ids[5], "context_recall"),
    }
    assert {row["state"] for row in table} == {"passed", "failed"}
    trend = json.loads(invoke("history", "--format", "json").stdout)["trends"][0]
    assert [point["runId"] for point in trend["changePoints"]] == [ids[5]]
    assert invoke("history", "--html", "h.html").exit_code == 0
    page = Path("h.html").read_text()
    assert page.count('class="changed"') == 2
    assert "changed at" in page


def test_old_runs_are_pruned() -> None:
    ids = stored(6)
    invoke("baseline", "pin", ids[0])
    told = invoke("history", "prune", "--keep", 2, "--dry-run")
    assert told.stdout.split() == ids[1:4]
    assert told.stderr == "would delete 3 runs; 3 runs left\n"
    done = invoke("history", "prune", "--keep", 2, "--older-than", "0d")
    assert (done.stdout.split(), done.stderr) == (ids[1:4], "deleted 3 runs; 3 runs left\n")
    assert invoke("history", "prune", "--older-than", "90d").stderr == (
        "deleted 0 runs; 3 runs left\n"
    )
    for flags, message in (
        ([], "name the runs to delete"),
        (["--older-than", "2y"], "must be a number of days or weeks"),
        (["--keep", "1", "--store", "no.db"], "there is no run store no.db"),
    ):
        bad = invoke("history", "prune", *flags)
        assert bad.exit_code == 2
        assert message in " ".join(bad.stderr.replace("│", " ").split())


def test_a_store_that_is_not_there_is_told_and_not_made() -> None:
    for words in (["history"], ["baseline", "show"], ["baseline", "pin", "latest"]):
        done = invoke(*words, "--store", "no/runs.db")
        assert done.exit_code == 2
        assert done.stderr.startswith(
            "error: there is no run store no/runs.db; create one with: "
            "rag-eval run DATA --store no/runs.db"
        )
    assert not Path("no").exists()


def test_hostile_names_do_not_reach_the_terminal_as_they_are() -> None:
    hostile = "\x1b[31m" + "main\n::error::x\u202e"
    done = invoke("run", samples(), "--store", RAG_EVAL_BRANCH=hostile)
    assert done.exit_code == 0
    for words in (["history"], ["baseline", "show", "--branch", hostile]):
        shown = invoke(*words).stdout
        assert "\x1b" not in shown
        assert "\u202e" not in shown
        assert "\n::error" not in shown
    bad = invoke("baseline", "pin", hostile)
    assert bad.exit_code == 2
    assert "\x1b" not in bad.stderr


# ------------------------------------------------------------------------------------- baselines


def test_pins_by_name() -> None:
    run("--store")
    (only,) = run_ids()
    assert invoke("baseline", "pin", only[:12], "--name", "release").exit_code == 0
    value = json.loads(invoke("baseline", "show", "--format", "json").stdout)
    assert value["pinned"]["release"]["runId"] == only
    assert value["lastPassing"] is None
    assert value["datasetHash"] == dataset_hash(ROWS)
    assert invoke("baseline", "unpin", "--name", "release").stdout == "unpinned release\n"
    again = invoke("baseline", "unpin", "--name", "release")
    assert (again.exit_code, again.stdout) == (0, "no run was pinned under the name release\n")
    assert invoke("baseline", "pin", "run-9").exit_code == 2
    assert invoke("baseline", "pin", only, "--name", "a b").exit_code == 2


def test_show_says_where_the_last_passing_run_was_looked_for() -> None:
    run("--store")
    invoke("gate", "--store", "--run", "latest")
    (only,) = run_ids()
    done = invoke("baseline", "show", "--branch", "main")
    digits = dataset_hash(ROWS)[:12]
    assert done.stdout.splitlines()[:2] == [
        "no run is pinned",
        f"last passing run of dataset {digits}, preferring branch main:",
    ]
    assert only in done.stdout
    assert invoke("baseline", "show", "--dataset", "zz").exit_code == 2


def test_a_run_of_the_store_as_a_file() -> None:
    run("--store", "--store-columns", "topic")
    (only,) = run_ids()
    invoke("gate", "--store", "--run", only)
    invoke("baseline", "pin", only)
    files = {}
    for name in (only, "latest", "pinned", "pinned:default", "last-passing"):
        done = invoke("baseline", "export", "b.json", "--run", name)
        assert (done.exit_code, done.stdout) == (0, "wrote b.json: 6 rows, 2 metrics\n")
        files[name] = Path("b.json").read_bytes()
    assert len(set(files.values())) == 1
    assert invoke("baseline", "export", "b.json").exit_code == 0
    found = read_run("b.json")
    stored = RunStore(create=False).load(only)
    assert found.ids == stored.ids
    assert found.scores.tobytes() == stored.scores.tobytes()
    assert found.columns == stored.columns
    assert found.dataset_hash == stored.dataset_hash


def test_what_cannot_be_exported_is_told() -> None:
    store = RunStore(".rag_eval/runs.db")
    messages = {
        ("--run", "pinned:x"): "nothing is pinned as 'x'",
        ("--run", "latest"): "has no runs",
        (
            "--run",
            "last-passing",
        ): "no run with the dataset and settings of the newest run has passed a gate",
        ("--run", "latest", "--from", "d.json"): "--run and --from exclude each other",
        ("--columns", "topic"): "--columns needs --from",
    }
    for flags, message in messages.items():
        done = invoke("baseline", "export", "b.json", *flags)
        assert (done.exit_code, done.stdout) == (2, "")
        assert message in done.stderr
    store.add(a_run())
    assert (
        "the name of a baseline file must end in .json"
        in invoke("baseline", "export", "b.csv", "--run", "latest").stderr
    )
    assert not Path("b.json").exists()


def test_a_result_file_as_a_baseline_without_a_store() -> None:
    run("--store", "other.db", "--output", "result.json", "--store-columns", "topic")
    done = invoke("baseline", "export", "b.json", "--from", "result.json", "--columns", "topic")
    assert (done.exit_code, done.stdout) == (0, "wrote b.json: 6 rows, 2 metrics\n")
    found = read_run("b.json")
    stored = RunStore("other.db").load("latest")
    assert found.scores.tobytes() == stored.scores.tobytes()
    assert found.metric_passed.tolist() == stored.metric_passed.tolist()
    assert found.columns == stored.columns
    assert not Path(".rag_eval").exists()


def test_an_old_baseline_is_noted() -> None:
    from datetime import UTC, datetime, timedelta

    then = datetime.now(UTC) - timedelta(days=9, hours=1)
    store = RunStore(now=lambda: then)
    store.pin(store.add(a_run(), status="passed"))
    done = invoke("baseline", "show")
    assert done.exit_code == 0
    assert done.stderr == f"note: the baseline {run_ids()[0]} is 9 days old\n"
    assert_same(store.load("latest"), a_run())


@pytest.mark.parametrize("name", TRAPS)
def test_no_command_starts_a_program_that_a_repository_names(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trap = TRAPS[name](tmp_path)
    trap.spring()
    monkeypatch.chdir(trap.folder)
    flags = ("--metrics", "faithfulness", "--min-mean", "faithfulness=0", "--quiet")
    assert invoke("run", samples(), *flags, "--store").exit_code == 0
    assert invoke("gate", "--store", "--run", "latest").exit_code == 0
    for words in (("history",), ("baseline", "show"), ("baseline", "pin", "latest")):
        assert invoke(*words).exit_code == 0
    assert invoke("baseline", "export", "b.json", "--run", "last-passing").exit_code == 0
    assert not trap.has_sprung
    (record,) = RunStore(create=False).runs()
    assert record.branch == ("main" if trap.is_read else None)
    assert record.dirty is (False if trap.can_be_compared else None)
