"""The run store: what comes back, who may read it, and what kills, crowds and old files do."""

from __future__ import annotations

import functools
import json
import math
import shutil
import signal
import sqlite3
import stat
import subprocess
import sys
import threading
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from rag_eval.errors import InputError
from rag_eval.options.signature import Signature
from rag_eval.options.verdict_settings import VerdictSettings
from rag_eval.runs import store_schema
from rag_eval.runs.git_state import GitState
from rag_eval.runs.run_parts import parts_of, run_of_parts
from rag_eval.runs.store import RunStore
from rag_eval.stats.repeat_noise import RepeatMoments
from tests.counted_work import operations
from tests.stored_runs import SIGNATURE, a_run, assert_same
from tests.tables import every_row

ROOT = Path(__file__).parents[3]
START = datetime(2026, 11, 22, 14, 30, 1, 250_000, tzinfo=UTC)


class HandClock:
    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> datetime:
        self.now += timedelta(seconds=1)
        return self.now


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "deep" / "er" / "runs.db"


@pytest.fixture
def store(path: Path) -> RunStore:
    return RunStore(path, now=HandClock())


# ---------------------------------------------------------------------------------- what it keeps


def test_a_run_comes_back_as_it_was(store: RunStore) -> None:
    run = a_run()
    run_id = store.add(run)
    assert run_id[:20] == "run-20261122-143002-"
    found = store.load(run_id)
    assert_same(found, run)
    found.scores[0, 0] = 9  # an array of one's own
    assert_same(store.load(run_id), run)


HOSTILE = st.text(st.characters(exclude_categories=()), max_size=6)  # lone surrogates, NUL
BITS = hnp.arrays(np.uint64, (4, 2), elements=st.integers(0, 2**64 - 1))


@given(
    ids=st.lists(HOSTILE, min_size=4, max_size=4),
    topics=st.lists(st.none() | HOSTILE, min_size=4, max_size=4),
    bits=BITS,
    name=HOSTILE,
)
def test_any_run_comes_back_bit_for_bit(
    ids: list[str], topics: list[str | None], bits: Any, name: str
) -> None:
    # All doubles: NaN with any payload, both zeros, the infinities.
    scores = bits.view(np.float64)
    run = a_run(
        4,
        ids=ids,
        name=name,
        scores=scores,
        digests=np.arange(12, dtype=np.uint32).reshape(4, 3) * np.uint32(2**28),
        composite=scores[:, 0].copy(),
        columns={"topic": topics, name: ids},
    )
    others = {
        field: getattr(run, field) for field in ("signature", "dataset_hash", "lower_is_better")
    }
    counts = {"n_judgements": 7, "n_failed_judgements": 2}
    found = run_of_parts(parts_of(run), metrics=run.metrics, n_rows=4, **others, **counts)
    assert_same(found, run)


@pytest.mark.parametrize(("n_rows", "n_metrics"), [(0, 2), (2, 0), (0, 0)])
def test_a_run_without_rows_or_metrics(store: RunStore, n_rows: int, n_metrics: int) -> None:
    shape = (n_rows, n_metrics)
    run = a_run(
        n_rows,
        metrics=("faithfulness", "context_recall")[:n_metrics],
        scores=np.empty(shape),
        null_reasons=np.zeros(shape, np.uint8),
        metric_passed=np.zeros(shape, np.int8),
        composite=np.zeros(n_rows),
    )
    assert_same(store.load(store.add(run)), run)


def test_repeats_of_a_judge_are_kept(store: RunStore) -> None:
    """A gate from a store could not say what part of the noise comes from repeats."""
    moments = RepeatMoments()
    for scores in ([0.1, 0.4, 0.4], [0.9], [0.3, 0.7]):
        moments.add(scores)
    run = a_run(repeats={"faithfulness": moments})
    kept = store.load(store.add(run))
    assert_same(kept, run)
    assert kept.repeat_noise("faithfulness") == moments.noise
    assert kept.repeat_noise("context_recall") is None


@every_row("value", [-1.0, 0.0, math.nan])
def test_damaged_repeats_are_refused(value: float) -> None:
    moments = RepeatMoments()
    moments.add([0.1, 0.4])
    run = a_run(repeats={"faithfulness": moments})
    others: dict[str, Any] = {"metrics": run.metrics, "n_rows": len(run)}
    assert run_of_parts(parts_of(run), **others).repeats == run.repeats
    moments.inverse_counts = value
    with pytest.raises(InputError, match="the repeats hold a number that no run can have"):
        run_of_parts(parts_of(run), **others)


def test_the_record_of_a_run(store: RunStore) -> None:
    git = GitState("8f3a2c1", "feat/x", dirty=True)
    run_id = store.add(a_run(), status="passed", git=git, config={"profile": "overlap"})
    (record,) = store.runs()
    value = record.to_dict()
    assert value.pop("aggregates")["faithfulness"]["mean"] == pytest.approx(0.4)
    assert value == {
        "runId": run_id,
        "createdAt": "2026-11-22T14:30:02.250Z",
        "status": "passed",
        "datasetHash": "ab" * 32,
        "gitCommit": "8f3a2c1",
        "branch": "feat/x",
        "dirty": True,
        "libraryVersion": record.library_version,
        "nRows": 3,
        "metrics": ["faithfulness", "context_recall"],
        "lowerIsBetter": ["context_recall"],
        "means": {"faithfulness": pytest.approx(0.4), "context_recall": pytest.approx(0.6)},
        "config": {"profile": "overlap"},
        "signature": SIGNATURE.to_dict(),
        "settings": None,
        "nJudgements": 7,
        "nFailedJudgements": 2,
        "gateNumber": None,
        "pins": [],
    }
    assert store.record(run_id) == store.record("latest") == record


def test_thresholds_and_weights_come_back(store: RunStore) -> None:
    settings = VerdictSettings({"faithfulness": None, "context_recall": 0.5}, {"x": 2.0}, 0.25)
    run = a_run(settings=settings)
    assert_same(store.load(store.add(run)), run)
    assert store.record("latest").settings == settings


def test_a_metric_without_a_score_has_no_mean(store: RunStore) -> None:
    scores = np.full((3, 2), np.nan)
    scores[:, 1] = 0
    store.add(a_run(scores=scores))
    assert store.record("latest").means == {"faithfulness": None, "context_recall": 0.0}


def test_the_time_is_kept_in_utc(path: Path) -> None:
    east = datetime.fromisoformat("2026-11-23T01:30:00+05:00")
    store = RunStore(path, now=lambda: east)
    assert store.add(a_run()).startswith("run-20261122-203000-")
    assert store.record("latest").created_at == "2026-11-22T20:30:00.000Z"


def test_runs_of_one_second_have_ids_of_their_own(path: Path) -> None:
    store = RunStore(path, now=lambda: START)
    assert len({store.add(a_run()) for _ in range(20)}) == 20


def test_no_secret_is_kept(store: RunStore, path: Path) -> None:
    config = {
        "api_key": "hunter2",
        "judge": {"model": "m", "Authorization": "hunter2", "headers": {"x": "hunter2"}},
        "url": "https://u:hunter2@example.org/v1?key=hunter2",
        "list": [{"judge_token": "hunter2"}],
        "tokens_per_minute": 5,
    }
    store.add(a_run(), config=config)
    assert store.record("latest").config == {
        "judge": {"model": "m"},
        "url": "https://example.org/v1",
        "list": [{}],
        "tokens_per_minute": 5,
    }
    files = list(path.parent.iterdir())
    assert not any(b"hunter2" in file.read_bytes() for file in files)


@every_row(
    ("changes", "options", "message"),
    [
        ({"scores": np.zeros((3, 1))}, {}, r"scores must have the shape \(3, 2\)"),
        ({"digests": np.zeros((3, 2))}, {}, r"digests must have the shape \(3, 3\)"),
        ({"composite": np.zeros(4)}, {}, r"composite must have the shape \(3,\)"),
        ({"ids": ["a", "b", None]}, {}, "every row needs an id"),
        ({"ids": ["a", "b", 3]}, {}, "ids must be strings"),
        ({"columns": {"topic": ["a"]}}, {}, "column 'topic' has 1 values for 3 rows"),
        ({}, {"status": "errored"}, "status must be 'guards held', 'passed', 'failed' or None"),
        ({}, {"config": {"judge": print}}, r"config\['judge'\] cannot be saved as JSON"),
        ({}, {"config": {"x": [math.nan]}}, r"config\['x'\]\[0\] must be a finite number"),
    ],
)
def test_what_cannot_be_kept_is_refused(
    tmp_path: Path, changes: dict[str, Any], options: dict[str, Any], message: str
) -> None:
    store = RunStore(tmp_path / "runs.db")
    with pytest.raises(InputError, match=message):
        store.add(a_run(**changes), **options)
    assert store.runs() == []


# --------------------------------------------------------------------- lists, baselines and pins


def test_runs_are_listed_newest_first_and_by_dataset_and_branch(store: RunStore) -> None:
    main, other = GitState(branch="main"), GitState(branch="x")
    first = store.add(a_run(), git=main)
    second = store.add(a_run(dataset_hash="cd" * 32), git=main)
    third = store.add(a_run(), git=other)
    assert [run.run_id for run in store.runs()] == [third, second, first]
    assert [run.run_id for run in store.runs(limit=2)] == [third, second]
    assert [run.run_id for run in store.runs(dataset_hash="abab")] == [third, first]
    assert [run.run_id for run in store.runs(branch="main")] == [second, first]
    assert store.runs(dataset_hash="%") == store.runs(branch="main' OR 1=1 --") == []


def test_the_last_passing_run_is_of_the_same_dataset(store: RunStore) -> None:
    own = store.add(a_run(), status="passed")
    store.add(a_run(dataset_hash="cd" * 32), status="passed")
    nameless = store.add(a_run(dataset_hash=None), status="passed")
    store.add(a_run(), status="failed")
    store.add(a_run())
    found = store.last_passing("ab" * 32)
    assert found is not None
    assert found.run_id == own
    assert store.last_passing("ab") is None
    unknown = store.last_passing(None)
    assert unknown is not None
    assert unknown.run_id == nameless
    named = store.add(a_run(dataset_hash=None), status="passed", dataset_hash="ef" * 32)
    assert store.load(named).dataset_hash == "ef" * 32
    assert store.last_passing(None) == unknown


def test_the_last_passing_run_is_of_the_branch_or_else_of_main(store: RunStore) -> None:
    ids = {
        branch: store.add(a_run(), status="passed", git=GitState(branch=branch))
        for branch in ("x", "main", "y")
    }

    def found(*branches: str) -> str | None:
        record = store.last_passing("ab" * 32, *branches)
        return None if record is None else record.run_id

    assert found("x") == ids["x"]
    assert found("z") == ids["main"]
    assert found("z", "x") == ids["x"]
    assert found("z", "z") == found() == ids["y"]


def test_a_run_is_not_its_own_baseline(store: RunStore) -> None:
    first = store.add(a_run(), status="passed")
    second = store.add(a_run(), status="passed")
    third = store.add(a_run(), status="passed")
    before = store.last_passing("ab" * 32, before=second)
    assert before is not None
    assert before.run_id == first
    assert store.last_passing("ab" * 32, before=first) is None
    latest = store.last_passing("ab" * 32, before=third)
    assert latest is not None
    assert latest.run_id == second


def test_guards_that_held_make_no_baseline(store: RunStore) -> None:
    run_id = store.add(a_run(), status="guards held")
    assert store.record(run_id).status == "guards held"
    assert store.last_passing("ab" * 32) is None
    store.set_status(run_id, "passed")
    assert store.record(run_id).status == "passed"
    assert [run.run_id for run in store.passing()] == [run_id]
    store.set_status(run_id, "guards held")
    assert store.passing() == []


def other(signature: Signature = SIGNATURE, **changes: Any) -> Any:
    """A run scored with other settings."""
    return a_run(signature=replace(signature, **changes))


def test_the_last_passing_run_has_the_same_settings(store: RunStore) -> None:
    mine = store.add(a_run(), status="passed")
    later = store.add(other(version=2), status="passed")
    newest = store.add(other(profile="grounded", version=3), status="passed")
    found = store.last_passing("ab" * 32, like=a_run())
    assert found is not None
    assert found.run_id == mine
    found = store.last_passing("ab" * 32, like=other(version=2))
    assert found is not None
    assert found.run_id == later
    found = store.last_passing("ab" * 32)
    assert found is not None
    assert found.run_id == newest
    # Settings that no shared metric reads, and runs without a signature, are no obstacle.
    for like in (other(options={**SIGNATURE.options, "more": 1}), a_run(signature=None)):
        assert store.last_passing("ab" * 32, like=like) is not None
    stranger = a_run(metrics=("answer_relevance", "context_precision"))
    assert store.last_passing("ab" * 32, like=stranger) is None


def test_a_gate_marks_a_run(store: RunStore) -> None:
    run_id = store.add(a_run())
    store.set_status(run_id, "passed")
    assert store.record(run_id).status == "passed"
    store.set_status(run_id, None)
    assert store.record(run_id).status is None
    with pytest.raises(InputError, match="status must be"):
        store.set_status(run_id, "green")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="has no run 'run-0'"):
        store.set_status("run-0", "passed")


def test_a_pin_moves_and_goes(store: RunStore) -> None:
    first, second = store.add(a_run(), status="failed"), store.add(a_run())
    store.pin(first)
    store.pin(first, "release")
    assert store.record(first).pins == ("default", "release")
    store.pin(second)
    pinned = store.pinned()
    assert pinned is not None
    assert pinned.run_id == second
    assert store.record(first).pins == ("release",)
    assert store.unpin()
    assert not store.unpin()
    assert store.pinned() is None
    for name in ("", "../x", "a b", "x" * 65, "\x1b[31m"):
        with pytest.raises(InputError, match="the name of a pin"):
            store.pin(first, name)


def test_a_pinned_run_is_not_deleted(store: RunStore, path: Path) -> None:
    run_id = store.add(a_run())
    store.pin(run_id)
    with pytest.raises(InputError, match="is pinned as default; unpin it first"):
        store.delete(run_id)
    store.unpin()
    store.delete(run_id)
    assert store.runs() == []
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT count(*) FROM run_parts").fetchone() == (0,)


def test_old_runs_are_pruned_but_not_those_that_a_gate_compares_with(path: Path) -> None:
    days = iter(range(100))
    store = RunStore(path, now=lambda: START + timedelta(days=next(days)))
    statuses: list[Any] = ["passed", None, "passed", "failed", None, None, None]
    ids = [store.add(a_run(300), status=status) for status in statuses]
    store.pin(ids[1], "first")
    # Ten days after the first; the last passing run stays, and so does the pinned one.
    days = iter([10] * 10)
    assert store.prune(older_than=timedelta(days=5), dry_run=True) == [ids[0], ids[3], ids[4]]
    assert store.prune(keep=3, older_than=timedelta(days=5)) == [ids[0], ids[3]]
    before = path.stat().st_size
    assert store.prune(keep=1) == [ids[4], ids[5]]
    assert path.stat().st_size < before
    assert [record.run_id for record in store.runs()] == [ids[6], ids[2], ids[1]]
    assert store.count() == 3
    assert store.load(ids[2]).scores.tobytes() == a_run(300).scores.tobytes()
    assert store.prune(keep=0) == [ids[6]]
    with pytest.raises(InputError, match="prune needs keep, older_than, or both"):
        store.prune()


def test_a_run_is_found_by_the_beginning_of_its_id(store: RunStore) -> None:
    run_id = store.add(a_run())
    store.add(a_run())
    assert store.record(run_id[:19]).run_id == run_id
    with pytest.raises(InputError, match="has 2 runs whose id begins with 'run-2026'"):
        store.record("run-2026")
    for hostile in ("", "%", "run-%", "'; DROP TABLE runs; --", "x\x00", "\udcff"):
        with pytest.raises(InputError, match="has no run"):
            store.record(hostile)
    assert len(store.runs()) == 2


# --------------------------------------------------------------------------------- files and disks


def test_the_file_is_for_its_owner_alone(store: RunStore, path: Path) -> None:
    store.add(a_run())
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    with closing(sqlite3.connect(path)) as reader:
        reader.execute("SELECT * FROM runs").fetchall()
        store.add(a_run())
        beside = [file for file in path.parent.iterdir() if file != path]
        assert beside
        assert all(stat.S_IMODE(file.stat().st_mode) == 0o600 for file in beside)


def test_a_store_that_is_read_has_to_be_there(path: Path) -> None:
    with pytest.raises(
        InputError, match=rf"there is no run store {path}; .*: rag-eval run DATA --store {path}$"
    ):
        RunStore(path, create=False)
    assert not path.parent.exists()


@every_row("content", [b'{"id": 1}\n', b"\x00" * 5000, b"SQLite format 3\x00" + b"\xff" * 8000])
def test_a_file_of_something_else_is_left_as_it_is(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "samples.jsonl"
    path.write_bytes(content)
    with pytest.raises(
        InputError, match=r"cannot use the run store .*samples.jsonl \(it is unchanged\)"
    ):
        RunStore(path)
    assert path.read_bytes() == content


def test_the_database_of_something_else_is_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    with closing(sqlite3.connect(path)) as other:
        other.execute("CREATE TABLE users (name TEXT)")
    before = path.read_bytes()
    with pytest.raises(InputError, match="is a database, but not a run store"):
        RunStore(path)
    assert path.read_bytes() == before


def test_a_damaged_page_is_told_and_not_written(store: RunStore, path: Path) -> None:
    for _ in range(20):
        store.add(a_run(200))
    content = bytearray(path.read_bytes())
    content[4096 : len(content)] = b"\xa5" * (len(content) - 4096)
    path.write_bytes(content)
    for use in (store.runs, lambda: store.load("latest"), lambda: store.add(a_run())):
        with pytest.raises(InputError, match=r"cannot use the run store .*: .*malformed"):
            use()
    assert path.read_bytes() == bytes(content)


@every_row(
    "statement",
    [
        "UPDATE run_parts SET data = x'00' WHERE part = 'scores'",
        "DELETE FROM run_parts WHERE part = 'ids'",
        "UPDATE run_parts SET data = (SELECT data FROM run_parts p WHERE p.part = 'passed') "
        "WHERE part = 'scores'",
        "UPDATE runs SET n_rows = 2",
        "UPDATE runs SET n_rows = 4000000000000",
        "UPDATE runs SET metrics = '[\"faithfulness\"]'",
        "UPDATE runs SET aggregates = '{'",
        "UPDATE runs SET signature = '[]'",
    ],
)
def test_a_damaged_run_is_told(tmp_path: Path, statement: str) -> None:
    path = tmp_path / "runs.db"
    store = RunStore(path)
    run_id = store.add(a_run())
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute(statement)
    with pytest.raises(InputError, match=r"(is|are) damaged: "):
        store.load(run_id)


def test_a_name_that_cannot_be_a_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is a folder and not a file: move it away"):
        RunStore(tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match=r"cannot create the run store .*runs.db: Not a directory"):
        RunStore(tmp_path / "file" / "sub" / "runs.db")


def test_a_disk_that_cannot_be_written_is_told(path: Path) -> None:
    # /proc takes no files, whoever asks.
    with pytest.raises(InputError, match=r"cannot create the run store /proc/x/runs.db"):
        RunStore("/proc/x/runs.db")


@pytest.mark.usefixtures("unmeasured")
def test_a_full_disk_loses_the_new_run_alone(store: RunStore, path: Path) -> None:
    kept = store.add(a_run())
    # A file that may not grow: the kernel says no to the log, as a full disk does.
    code = (
        "import resource, signal, sys; signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "from rag_eval.errors import InputError\n"
        "from rag_eval.runs.store import RunStore\n"
        "from tests.stored_runs import a_run\n"
        "store = RunStore(sys.argv[1])\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (40000, 40000))\n"
        "try:\n    store.add(a_run(50000))\nexcept InputError as error:\n    print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, path], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert "cannot use the run store" in done.stdout
    assert [run.run_id for run in store.runs()] == [kept]
    assert_same(store.load(kept), a_run())


# ------------------------------------------------------------------------------------- versions


def old_store(path: Path, n_steps: int) -> None:
    """An empty file as an earlier release left it."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for step in store_schema.STEPS[:n_steps]:
            for statement in step:
                connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {store_schema.APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {n_steps}")


OLD_RUNS = [
    "run-20261125-143001-2c7da6",
    "run-20261124-143001-5cb4fc",
    "run-20261123-143001-a3c89b",
]


@pytest.fixture
def older(tmp_path: Path) -> Path:
    """A store of version 2: an ungated run, one that passed, and one that failed and is pinned."""
    path = tmp_path / "older.db"
    shutil.copy(ROOT / "tests" / "fixtures" / "stores" / "version-2.db", path)
    return path


def test_an_older_version_is_brought_up_to_date_with_its_runs(older: Path) -> None:
    with closing(sqlite3.connect(older)) as connection, pytest.raises(sqlite3.Error):
        connection.execute("SELECT gated FROM runs")
    store = RunStore(older, create=False)
    records = store.runs()
    assert [record.run_id for record in records] == OLD_RUNS
    assert [record.state for record in records] == ["failed", "passed", "ungated"]
    assert records[0].pins == ("release",)
    last = store.last_passing(records[0].dataset_hash)
    assert last is not None
    assert last.run_id == OLD_RUNS[1]
    found = store.load(OLD_RUNS[2])
    assert found.ids == [f"q{n}" for n in range(12)]
    assert found.column("faithfulness").tolist() == [0, 1, 1] * 4
    assert found.columns == {"topic": ["a", "b"] * 6}
    assert store.record(store.add(a_run(), status="guards held")).state == "guards held"
    with closing(sqlite3.connect(older)) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (store_schema.VERSION,)


def test_a_file_of_the_first_version_gets_its_tables(tmp_path: Path) -> None:
    older = tmp_path / "older.db"
    old_store(older, 1)
    store = RunStore(older, create=False)
    run_id = store.add(a_run(), status="passed")
    store.pin(run_id)
    assert_same(store.load(run_id), a_run())
    assert store.runs()[0].pins == ("default",)


def test_an_empty_file_is_an_empty_store(path: Path) -> None:
    path.parent.mkdir(parents=True)
    path.touch()
    store = RunStore(path)
    assert_same(store.load(store.add(a_run())), a_run())


def test_a_step_that_fails_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "older.db"
    old_store(path, 1)
    steps = (*store_schema.STEPS, ("CREATE TABLE more (x)", "no such statement"))
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        with pytest.raises(sqlite3.OperationalError):
            store_schema.migrate(connection, path, steps)
        tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
        assert connection.execute("PRAGMA user_version").fetchone() == (1,)
    assert not tables & {"pins", "more"}
    assert RunStore(path).runs() == []


def test_a_later_version_is_refused(store: RunStore, path: Path) -> None:
    store.add(a_run())
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute(f"PRAGMA user_version = {store_schema.VERSION + 1}")
    before = path.read_bytes()
    for use in (lambda: RunStore(path), lambda: store.add(a_run())):
        with pytest.raises(InputError, match=r"made by a later release; .* update the package"):
            use()
    assert path.read_bytes() == before


# ------------------------------------------------------------------------------ crowds and kills

WRITER = """
import sys
from rag_eval.runs.store import RunStore
from tests.stored_runs import a_run
print("ready", flush=True)
sys.stdin.readline()
for number in range(10):
    store = RunStore(sys.argv[1])
    store.pin(store.add(a_run(40, name=sys.argv[2])), sys.argv[2])
"""


def started(code: str, *arguments: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", code, *map(str, arguments)],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_four_processes_write_at_once_from_the_first_on(path: Path) -> None:
    writers = [started(WRITER, path, f"w{number}") for number in range(4)]
    for writer in writers:
        assert writer.stdout is not None
        writer.stdout.readline()
    for writer in writers:
        assert writer.stdin is not None
        writer.stdin.write("go\n")
        writer.stdin.flush()
    ends = [writer.communicate(timeout=120) for writer in writers]
    assert [end[1] for end in ends] == [""] * 4
    store = RunStore(path, create=False)
    records = store.runs()
    assert len({record.run_id for record in records}) == 40
    assert sorted(pin for record in records for pin in record.pins) == ["w0", "w1", "w2", "w3"]
    names = [store.load(record.run_id).name for record in records]
    wanted = dict.fromkeys(["w0", "w1", "w2", "w3"], 10)
    assert {name: names.count(name) for name in names} == wanted


# Forks a writer for each step of the work of SQLite, which is killed there; says how many steps
# there are, and of each how the writer ended and how many runs it left.
KILLED = """
import json, os, signal, sqlite3, sys
from rag_eval.runs.store import RunStore
from tests.stored_runs import a_run, assert_same

class Connection(sqlite3.Connection):
    steps, deadly = 0, 0
    def step(self):
        Connection.steps += 1
        if Connection.steps == Connection.deadly:
            os.kill(os.getpid(), signal.SIGKILL)
    def execute(self, *arguments):
        self.step()
        return super().execute(*arguments)
    def executemany(self, statement, rows):
        def each():
            for row in rows:
                self.step()
                yield row
        return super().executemany(statement, each())

connect = sqlite3.connect
sqlite3.connect = lambda *a, **k: connect(*a, factory=Connection, **k)

def counted(path, deadly):
    Connection.steps, Connection.deadly = 0, deadly
    RunStore(path).add(a_run(5000, name="new"))
    return Connection.steps

def killed(path, deadly):
    child = os.fork()
    if not child:
        counted(path, deadly)
        os._exit(0)
    status = os.waitpid(child, 0)[1]
    return os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0

path, kept = sys.argv[1:]
RunStore(path)  # what is worked out once in a process
n_steps = counted(path, 0)
found = {}
for step in range(1, n_steps + 1):
    signalled = killed(path, step)
    store = RunStore(path, create=False)
    assert_same(store.load(kept), a_run())
    found[step] = signalled, len(store.runs())
fresh = {}
for step in range(1, 14, 2):
    signalled = killed(f"{path}.{step}", step)
    store = RunStore(f"{path}.{step}")
    assert_same(store.load(store.add(a_run())), a_run())
    fresh[step] = signalled, len(store.runs())
print(json.dumps([n_steps, found, fresh]))
"""


def test_a_killed_writer_leaves_a_whole_run_or_none(path: Path) -> None:
    kept = RunStore(path).add(a_run())
    out, errors = started(KILLED, path, kept).communicate(timeout=240)
    assert errors == ""
    n_steps, found, fresh = json.loads(out)
    assert n_steps > 20
    # The last step is the end of the transaction, before which nothing is there.
    assert list(found.values()) == [[signal.SIGKILL, 2]] * n_steps
    assert list(fresh.values()) == [[signal.SIGKILL, 1]] * len(fresh)


def test_readers_go_on_while_one_writes(store: RunStore, path: Path) -> None:
    kept = store.add(a_run())
    with closing(sqlite3.connect(path, isolation_level=None)) as writer:
        writer.execute("BEGIN IMMEDIATE")
        writer.execute("UPDATE runs SET status = 'failed'")
        assert store.record(kept).status is None
        assert_same(store.load(kept), a_run())
        writer.execute("ROLLBACK")


def test_a_writer_waits_for_another(
    store: RunStore, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")
    at_the_lock = threading.Event()

    class Telling(sqlite3.Connection):
        def execute(self, statement: str, *values: Any) -> sqlite3.Cursor:
            if statement == "BEGIN IMMEDIATE":
                at_the_lock.set()
            return super().execute(statement, *values)

    def let_go() -> None:
        at_the_lock.wait()
        other.execute("COMMIT")

    monkeypatch.setattr(sqlite3, "connect", functools.partial(sqlite3.connect, factory=Telling))
    thread = threading.Thread(target=let_go)
    thread.start()
    store.add(a_run())
    thread.join()
    other.close()
    assert len(store.runs()) == 1


def test_a_store_that_stays_locked_is_told(
    store: RunStore, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rag_eval.plumbing.sqlite_files.BUSY_S", 0.05)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(InputError, match=r"cannot use the run store.*locked"):
            store.add(a_run())
    assert store.runs() == []


def test_a_large_run_takes_work_in_proportion(
    store: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A list of runs does not read rows, and a load reads each once."""
    rng = np.random.default_rng(1)
    small, large = (a_run(n, scores=rng.random((n, 2))) for n in (1_000, 10_000))
    ids = [store.add(run) for run in (small, large)]
    assert_same(store.load(ids[1]), large)
    loads = [operations(functools.partial(store.load, run_id)) for run_id in ids]
    assert loads[1] < 12 * loads[0]

    statements: list[str] = []

    class Told(sqlite3.Connection):
        def __init__(self, *arguments: Any, **options: Any) -> None:
            super().__init__(*arguments, **options)
            self.set_trace_callback(statements.append)

    monkeypatch.setattr(sqlite3, "connect", functools.partial(sqlite3.connect, factory=Told))
    assert len(store.runs()) == 2
    assert statements
    assert not any("run_parts" in statement for statement in statements)


def test_the_file_holds_no_text_but_what_was_given(store: RunStore, path: Path) -> None:
    store.add(a_run(50))
    with closing(sqlite3.connect(path)) as connection:
        row = connection.execute("SELECT * FROM runs").fetchone()
        kinds = {kind for (kind,) in connection.execute("SELECT part FROM run_parts")}
    assert kinds == {
        *("name", "ids", "column_names", "column_values", "scores", "null_reasons"),
        *("metric_passed", "composite", "passed"),
    }
    json.dumps(row)  # numbers and texts alone
    assert path.stat().st_size < 60_000
