"""Files that someone made to harm who opens them: refused in words, within bounds, nothing lost."""

from __future__ import annotations

import gzip
import json
import sqlite3
import struct
import subprocess
import sys
import zlib
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest

from rag_eval.calibration.files import read_calibrations
from rag_eval.errors import InputError, suggestion
from rag_eval.inputs import byte_files
from rag_eval.inputs.yaml_files import load_yaml
from rag_eval.jobs.file_scoring import score_file
from rag_eval.judge.cache import CachedReply, JudgeCache, JudgeCacheWarning
from rag_eval.judge.cache_file import existing_cache, info_of
from rag_eval.judge.replies import Usage
from rag_eval.options.config_file import read_config
from rag_eval.options.signature import Signature
from rag_eval.results.batch_reading import read_batch
from rag_eval.results.summaries import read_summary
from rag_eval.runs import run_parts
from rag_eval.runs.run_files import read_run
from rag_eval.runs.store import RunStore
from tests.stored_runs import a_run

# Generous, so that only what grows faster than its input is caught.
pytestmark = pytest.mark.timeout(60)

MOST_MESSAGE = 600
FIXTURES = Path(__file__).parents[2] / "fixtures"


def refusal(act: Callable[[], object]) -> str:
    with pytest.raises(InputError) as caught:
        act()
    message = str(caught.value)
    assert len(message) < MOST_MESSAGE
    return message


# ------------------------------------------------------------------------------------- databases


def a_store(path: Path) -> None:
    RunStore(path).add(a_run())


def a_cache(path: Path) -> None:
    with JudgeCache(path) as cache:
        cache.put(b"k", CachedReply({"score": 1}, Usage(1, 2), "m"))


def use_store(path: Path) -> None:
    RunStore(path, create=False).runs()


def use_cache(path: Path) -> None:
    with existing_cache(path) as connection:
        assert connection is not None
        info_of(connection, path)


DATABASES = {"store": (a_store, use_store, "runs"), "cache": (a_cache, use_cache, "replies")}


def execute(path: Path, *statements: str, values: tuple[Any, ...] = ()) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = DELETE")
        for statement in statements:
            connection.execute(statement, values)


def journal_that_names(victim: Path, database: Path) -> bytes:
    """What makes SQLite delete a file: the journal of a change in several databases."""
    n_pages = database.stat().st_size // 4096
    magic = bytes.fromhex("d9d505f920a163d7")
    head = (magic + struct.pack(">5I", 0, 1, n_pages, 512, 4096)).ljust(512, b"\0")
    name = str(victim).encode()
    return (
        head
        + struct.pack(">I", (1 << 30) // 4096 + 1)
        + name
        + struct.pack(">2I", len(name), sum(name))
        + magic
    )


@pytest.mark.parametrize("kind", DATABASES)
def test_a_journal_beside_a_database_deletes_no_other_file(kind: str, tmp_path: Path) -> None:
    make, use, table = DATABASES[kind]
    # Older SQLite deletes any file; 3.53 one that has such a name and names the journal back.
    path, victim = tmp_path / "a.db", tmp_path / "a.db-mjABCDEF9AB"
    journal = Path(f"{path}-journal")
    make(path)
    execute(path)
    victim.write_text(f"{journal}\0")
    (tmp_path / "link.db").symlink_to(path)
    journal.write_bytes(journal_that_names(victim, path))
    for name in (path, tmp_path / "link.db"):
        assert "names another file" in refusal(lambda name=name: use(name))
    assert victim.read_text() == f"{journal}\0"
    # Such a journal is what it is taken for.
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"SELECT count(*) FROM {table}").fetchone()
    assert not victim.exists()
    use(path)


ENDLESS = "WITH RECURSIVE r (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM r) SELECT x FROM r"
OTHER_TABLES: dict[str, tuple[str, ...]] = {
    "a view in the place of a table": (
        "ALTER TABLE {} RENAME TO other",
        f"CREATE VIEW {{}} AS SELECT other.* FROM other, ({ENDLESS})",
    ),
    "a trigger": (
        "CREATE TRIGGER t AFTER INSERT ON {} "
        f"BEGIN DELETE FROM {{}} WHERE rowid IN ({ENDLESS}); END",
    ),
    "an index of an expression": ("CREATE INDEX i ON {} (length(hex(zeroblob(9))))",),
    "one more table": ("CREATE TABLE more (x)",),
    "one more column": ("ALTER TABLE {} ADD COLUMN more",),
}


@pytest.mark.parametrize("kind", DATABASES)
def test_a_database_with_other_tables_is_refused(kind: str, tmp_path: Path) -> None:
    make, use, table = DATABASES[kind]
    for number, statements in enumerate(OTHER_TABLES.values()):
        path = tmp_path / f"{number}.db"
        make(path)
        execute(path, *(statement.format(table, table) for statement in statements))
        before = path.read_bytes()
        assert "this library does not create its" in refusal(lambda path=path: use(path))
        assert path.read_bytes() == before
    path = tmp_path / "negative.db"
    make(path)
    execute(path, "PRAGMA user_version = -1")
    refusal(lambda: use(path))


RECORDS: dict[str, Any] = {
    "branch": b"\xff",
    "created_at": "\x1b[2J",
    "n_rows": "many",
    "n_judgements": -1,
    "metrics": "{}",
    "lower_is_better": "[[]]",
    "aggregates": '{"faithfulness": 5}',
    "config": "[]",
    "signature": json.dumps(
        {
            "profile": "overlap",
            "version": 1,
            "unicode": "1",
            "options": json.loads("[" * 900 + "]" * 900),
        }
    ),
    "library_version": b"1",
}


def test_values_that_no_run_has_are_damage(tmp_path: Path) -> None:
    for column, value in RECORDS.items():
        path = tmp_path / f"{column}.db"
        a_store(path)
        execute(path, f"UPDATE runs SET {column} = ?", values=(value,))
        assert "is damaged" in refusal(lambda path=path: use_store(path)), column
    path = tmp_path / "mean.db"
    a_store(path)
    execute(path, """UPDATE runs SET aggregates = '{"faithfulness": {"mean": "x"}}'""")
    assert "aggregates.faithfulness.mean" in refusal(lambda: use_store(path))


def test_rows_that_no_run_has_are_damage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_parts, "_MOST_TEXT_BYTES", 1 << 16)
    zeros = zlib.compress(bytes(20_000_000))
    parts: dict[str, tuple[str, Any]] = {
        "texts that unpack without end": ("ids", zeros),
        "numbers that unpack without end": ("scores", zeros),
        "no bytes": ("scores", "text"),
        "the end is missing": ("scores", zlib.compress(bytes(48))[:-5]),
        "a reason that there is not": ("null_reasons", zlib.compress(b"\xff" * 6)),
        "a verdict that there is not": ("metric_passed", zlib.compress(b"\x07" * 6)),
        "lengths below none": ("ids", zlib.compress(struct.pack("<2q", 2**62, -9))),
    }
    for number, (part, data) in enumerate(parts.values()):
        store = RunStore(tmp_path / f"{number}.db")
        run_id = store.add(a_run())
        execute(store.path, f"UPDATE run_parts SET data = ? WHERE part = '{part}'", values=(data,))
        assert "the stored rows are damaged: " in refusal(
            lambda store=store, run_id=run_id: store.load(run_id)
        ), part


def test_values_that_no_cache_has_are_not_used(tmp_path: Path) -> None:
    columns = {"reply": 5, "input_tokens": "x", "created": "never", "used": b"", "model": b"\xff"}
    for column, value in {**columns, "estimated": "x"}.items():
        path = tmp_path / f"{column}.db"
        a_cache(path)
        execute(path, f"UPDATE replies SET {column} = ?", values=(value,))
        cache = JudgeCache(path)
        with pytest.warns(JudgeCacheWarning):
            assert cache.get(b"k") is None
        cache.close()
    deep = tmp_path / "deep.db"
    a_cache(deep)
    execute(deep, "UPDATE replies SET reply = ?", values=("[" * 100_000,))
    with pytest.warns(JudgeCacheWarning), JudgeCache(deep) as cache:
        assert cache.get(b"k") is None
    for moment in ("soon", 1e308, -1e300):
        execute(deep, "UPDATE replies SET created = ?", values=(moment,))
        assert "time of a reply" in refusal(lambda: use_cache(deep))


# ------------------------------------------------------------------------------ files of columns


def arrow_file(path: Path, changes: dict[bytes, bytes], place: int = 1) -> Path:
    """A file with scores and samples, some bytes of which are others."""
    pa = pytest.importorskip("pyarrow")
    places = pa.array([0, place], pa.int32())
    table = pa.table(
        {
            "id": ["abc", "def"],
            "question": pa.array(["why", "how"]).dictionary_encode(),
            "answer": ["aaaa", "bbbb"],
            "contexts": [["ccccc"], ["ddddd"]],
            "ground_truth": ["eeeeee", "ffffff"],
            "faithfulness": [0.5, 1.0],
            "kind": pa.DictionaryArray.from_arrays(places, ["long", "name"], safe=False),
        }
    )
    with pa.ipc.new_file(str(path), table.schema) as writer:
        writer.write_table(table)
    data = path.read_bytes()
    for old, new in changes.items():
        assert old in data
        data = data.replace(old, new)
    path.write_bytes(data)
    return path


def ints(*values: int) -> bytes:
    return struct.pack(f"<{len(values)}i", *values)


def test_arrow_files_with_wrong_places_are_refused(tmp_path: Path) -> None:
    """Pyarrow went to them: a crash, the texts of others, or gigabytes of memory."""
    wrong = {
        "offset of an id": {ints(0, 3, 6): ints(0, 1 << 30, 6)},
        "offset that falls": {ints(0, 6, 12): ints(0, -6, 12)},
        "place in a dictionary": {},
        "text that is none": {b"abcdef": b"ab\xff\xff\xff\xff"},
    }
    for number, changes in enumerate(wrong.values()):
        place = 1 << 30 if number == 2 else 1
        path = arrow_file(tmp_path / f"{number}.arrow", changes, place)
        calls: list[Callable[[], object]] = [
            lambda path=path: read_run(path, columns=["kind"]),
            lambda path=path: score_file(path, tmp_path / "out.parquet", gold_separator=";"),
        ]
        said = [refusal_or_none(call) for call in calls]
        assert any("is not valid Arrow" in text for text in said), number
    sound = arrow_file(tmp_path / "sound.arrow", {})
    assert read_run(sound).ids == ["abc", "def"]


def refusal_or_none(act: Callable[[], object]) -> str:
    try:
        act()
    except InputError as error:
        return str(error)
    return ""


def test_a_damaged_arrow_file_is_not_read_as_a_stream(tmp_path: Path) -> None:
    """Its first letters were a length, for which 1.3 GB were asked for."""
    path = arrow_file(tmp_path / "a.arrow", {})
    path.write_bytes(path.read_bytes()[:-20])
    message = refusal(lambda: read_run(path))
    assert "is not valid Arrow" in message
    assert "1330795073" not in message


def test_statistics_of_a_damaged_parquet_file_do_not_end_the_process() -> None:
    """Asked for the sizes of a column's values, pyarrow aborted: hence a process of its own."""
    pytest.importorskip("pyarrow")
    path = FIXTURES / "damaged" / "level_histogram.parquet"
    code = (
        "import sys\n"
        "from rag_eval import run_file\n"
        "from rag_eval.errors import InputError\n"
        "try:\n"
        "    run_file(sys.argv[1])\n"
        "except InputError as error:\n"
        "    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code, path], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"cannot read {path}: ")


def test_what_a_table_is_signed_with_may_be_anything(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    for number, signature in enumerate((b"{", b"\xff", b"[" * 100_000, b"5", b'{"profile": 5}')):
        table = pa.table({"id": ["a"], "faithfulness": [1.0]})
        path = tmp_path / f"{number}.parquet"
        pytest.importorskip("pyarrow.parquet").write_table(
            table.replace_schema_metadata({b"rag_eval.signature": signature}), path
        )
        assert "the signature: not" in refusal(lambda path=path: read_run(path))


# ------------------------------------------------------------------------------- packed and large


def test_files_that_unpack_without_end_are_refused_where_they_are_held(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(byte_files, "_MOST_UNPACKED_BYTES", 1 << 16)
    path = tmp_path / "bomb.json.gz"
    readers: dict[str, Callable[[], object]] = {
        "run": lambda: read_run(path),
        "batch": lambda: read_batch(path),
        "summary": lambda: read_summary(path),
        "calibrations": lambda: read_calibrations(path),
        "samples": lambda: score_file(path, tmp_path / "out.jsonl"),
    }
    for begin in (b'{"results":[', b'{"baseline":', b"["):
        path.write_bytes(gzip.compress(begin + b" " * 20_000_000))
        for name, read in readers.items():
            assert "more than 100 times its size" in refusal(read), name
    # Small files may, and so may those that repeat themselves as much as texts do.
    path.write_bytes(gzip.compress(b" " * (1 << 16)))
    assert len(byte_files.file_bytes(path)) == 1 << 16


def test_a_name_is_looked_for_among_the_first_of_a_million() -> None:
    asked = 0

    def names() -> Any:
        nonlocal asked
        for number in range(1_000_000):
            asked += 1
            yield f"k{number}"

    assert suggestion("k1x", names())
    assert asked < 100_000


def test_counts_of_judgements_may_be_anything(tmp_path: Path) -> None:
    row = {"sample": {"id": "a"}, "metrics": {"faithfulness": {"score": 1}}, "passed": True}
    path = tmp_path / "r.json"
    for count in ("x", [1], {}, -1, True):
        judging = {"metrics": {"faithfulness": {"nJudged": count, "nFailed": count}}}
        path.write_text(json.dumps({"results": [row], "aggregates": {}, "judging": judging}))
        assert "nJudged must be a count" in refusal(lambda: read_run(path))


def test_a_summary_may_say_anything(tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    sound: dict[str, Any] = {"faithfulness": {"mean": 0.5, "nullRate": 0.5}}
    for junk in ("x", [1], {"a": 1}, -1, 1.5, True):
        for said in (
            {"aggregates": sound, "nRows": junk},
            {"aggregates": {"faithfulness": {"mean": 0.5, "nullRate": junk}}, "nRows": 2},
            {"aggregates": {"faithfulness": {"mean": junk}}},
            {"aggregates": sound, "compositeAggregate": junk},
            {"aggregates": sound, "signature": junk},
            {"aggregates": junk},
        ):
            path.write_text(json.dumps(said))
            with suppress(InputError):  # some are sound, and none is a traceback
                read_summary(path)


def test_keys_may_have_half_a_character(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text('{"a\\ud800": 1}')
    assert "is not a calibration" in refusal(lambda: read_calibrations(path))
    row = '{"sample":{"id":"a"},"metrics":{"faithfulness":{"score":1}},"passed":true}'
    path.write_text('{"results":[\n' + row + '\n],"a\\ud800":1}\n')
    assert read_run(path).ids == ["a"]


def test_a_signature_is_no_deeper_than_functions_can_go() -> None:
    value = {"profile": "overlap", "version": 1, "unicode": "17.0.0"}
    deep = json.loads("[" * 900 + "]" * 900)
    assert "100 deep" in refusal(lambda: Signature.from_dict({**value, "options": {"a": deep}}))
    assert Signature.from_dict({**value, "options": {"a": [[1]]}}).options == {"a": [[1]]}


# ------------------------------------------------------------------------------- configurations

CONFIGS: dict[str, str] = {
    "arrays in arrays": "metrics = " + "[" * 50_000 + "]" * 50_000,
    "tables in tables": "scorer_options = " + "{a=" * 5000 + "1" + "}" * 5000,
    "a key of many parts": "a" + ".a" * 60_000 + " = 1",
    "a key of many quoted parts": "'a b'" + ".'a b'" * 60_000 + " = 1",
    "a table of many parts": "[" + "a . " * 60_000 + "a]",
    "a number without end": "threads = " + "9" * 5000,
    "metrics in a list": 'metrics = [[["faithfulness"]]]',
    "a long key": "a" * 100_000 + " = 1",
    "a long value": 'threads = "' + "a" * 100_000 + '"',
    "a long metric": 'metrics = ["' + "a" * 100_000 + '"]',
    "a device": 'baseline = "/dev/zero"',
    "a folder": 'prices = "/"',
    "no name of a file": 'calibration = "a\\u0000b"',
    "a large file": "#" * 4_000_000,
}


def test_hostile_configurations_are_refused_in_a_line(tmp_path: Path) -> None:
    path = tmp_path / "rag-eval.toml"
    for name, text in CONFIGS.items():
        path.write_text(text)

        def read() -> None:
            options = read_config(path)
            if "metrics" in options:
                score_file([{}], tmp_path / "x.jsonl", metrics=options["metrics"])  # type: ignore[arg-type]

        assert str(path) in refusal(read) or name == "a long metric", name


@pytest.mark.parametrize("line_end", ["\n", "\r", "\x85", "\u2028"])
def test_tags_of_yaml_that_are_declared_again_and_again_are_refused(line_end: str) -> None:
    """Its parser compares each with all before it."""
    text = "".join(f"%TAG !a{n}! x{line_end}" for n in range(60_000)) + "---\na"
    assert "begin with %TAG" in refusal(lambda: load_yaml(text))
    assert "begin with %TAG" in refusal(lambda: load_yaml(text.encode()))
    assert load_yaml("- '%TAG'\n" * 200) == ["%TAG"] * 200
