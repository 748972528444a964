"""The cache of judges' replies: keys, what is found again, and disks that fail."""

from __future__ import annotations

import json
import multiprocessing
import os
import sqlite3
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_eval.errors import InputError
from rag_eval.judge import cache as cache_module
from rag_eval.judge.cache import CachedReply, JudgeCache, JudgeCacheWarning, cache_key
from rag_eval.judge.cache_file import default_cache_path
from rag_eval.judge.replies import JudgeIdentity, Usage
from tests.tables import every_row

ROOT = Path(__file__).parents[3]
JUDGE = JudgeIdentity("openai", "m", None, (("temperature", 0.0),))
REPLY = CachedReply({"verdict": "yes", "n": [1, 2.5, None]}, Usage(10, 3), "m-2026")


class HandClock:
    def __init__(self) -> None:
        self.now = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "judge.sqlite"


def rows_of(path: Path) -> int:
    connection = sqlite3.connect(path)
    try:
        return int(connection.execute("SELECT count(*) FROM replies").fetchone()[0])
    finally:
        connection.close()


# Keys.

FIELDS = st.dictionaries(
    st.sampled_from(["a", "b", "ab"]),
    st.one_of(
        st.text("ab1:s\ud800", max_size=4),
        st.lists(st.text("ab1:s", max_size=3), max_size=3),
        st.integers(-3, 12),
        st.floats(allow_nan=False),
        st.booleans(),
    ),
    max_size=3,
)


def kind_and_value(value: object) -> tuple[str, str]:
    """Values that are equal in Python but not the same, as 1 and True, kept apart."""
    return type(value).__name__, repr(value)


@given(FIELDS, FIELDS)
def test_keys_are_equal_for_equal_fields_alone(left: Any, right: Any) -> None:
    same = {name: kind_and_value(value) for name, value in left.items()} == {
        name: kind_and_value(value) for name, value in right.items()
    }
    assert (cache_key("t", left, JUDGE, 0) == cache_key("t", right, JUDGE, 0)) == same


def test_each_part_of_a_key_counts() -> None:
    fields = {"q": "a", "contexts": ["b", "c"]}
    judges = [
        JUDGE,
        JudgeIdentity("anthropic", "m", None, JUDGE.parameters),
        JudgeIdentity("openai", "m2", None, JUDGE.parameters),
        JudgeIdentity("openai", "m", "http://localhost/v1", JUDGE.parameters),
        JudgeIdentity("openai", "m", None, (("temperature", 1.0),)),
        JudgeIdentity("openai", "m", None, (("temperature", None),)),
        JudgeIdentity("openai", "m", None, ()),
        JudgeIdentity("openai", "m", None, (("temperature", 0.0), ("reasoning", {"n": [1]}))),
    ]
    keys = {cache_key("t", fields, judge, 0) for judge in judges}
    keys |= {cache_key("t2", fields, JUDGE, 0), cache_key("t", fields, JUDGE, 1)}
    others = [{"q": "a", "contexts": ["bc"]}, {"q": "a", "contexts": "bc"}, {"q": "a"}, {}]
    keys |= {cache_key("t", other, JUDGE, 0) for other in others}
    assert len(keys) == len(judges) + 2 + len(others)
    assert {len(key) for key in keys} == {32}


def test_order_of_names_and_kind_of_sequence_do_not_count() -> None:
    assert cache_key("t", {"a": "1", "b": ["x"]}, JUDGE, 0) == cache_key(
        "t", {"b": ("x",), "a": "1"}, JUDGE, 0
    )
    pairs = (("a", 1), ("b", 2))
    assert cache_key("t", {}, JudgeIdentity("p", "m", None, pairs), 0) == cache_key(
        "t", {}, JudgeIdentity("p", "m", None, pairs[::-1]), 0
    )


def test_a_key_is_the_same_in_every_process() -> None:
    """Or nothing would be found again. A change of this value is a change of the cache's form."""
    key = cache_key("t", {"q": "a", "n": 1, "contexts": ["b"]}, JUDGE, 2)
    expected = "66c4fdbb15a5d32011164dcd31822609b81e16e65cc69ddb22d808580ead5bff"
    assert key.hex() == expected


def test_what_no_field_holds_is_refused() -> None:
    with pytest.raises(TypeError, match="bytes"):
        cache_key("t", {"q": b"a"}, JUDGE, 0)  # type: ignore[dict-item]


# What is found again.


def test_a_reply_is_found_before_and_after_it_was_written(path: Path) -> None:
    with JudgeCache(path) as cache:
        assert cache.get(b"k") is None
        cache.put(b"k", REPLY)
        assert cache.get(b"k") == REPLY
        cache.flush()
        assert cache.get(b"k") == REPLY
        assert cache.get(b"other") is None
    with JudgeCache(path) as cache:
        assert cache.get(b"k") == REPLY


def test_estimated_usage_and_an_unnamed_model_stay_so(path: Path) -> None:
    reply = CachedReply({}, Usage(1, 2, estimated=True), None)
    with JudgeCache(path) as cache:
        cache.put(b"k", reply)
        cache.flush()
        assert cache.get(b"k") == reply


def test_the_last_of_two_puts_counts(path: Path) -> None:
    other = CachedReply({"verdict": "no"}, Usage(1, 1), None)
    with JudgeCache(path) as cache:
        cache.put(b"k", REPLY)
        cache.flush()
        cache.put(b"k", other)
        assert cache.get(b"k") == other
        cache.flush()
        assert cache.get(b"k") == other
        info = cache.info()
    assert info is not None
    assert info.entries == 1


def test_a_reply_that_no_text_can_hold_is_passed_over(path: Path) -> None:
    with JudgeCache(path) as cache:
        cache.put(b"k", CachedReply({"half": "\ud800"}, Usage(1, 1)))
        cache.put(b"l", REPLY)
        assert cache.get(b"k") is None
        assert cache.get(b"l") == REPLY


def test_puts_reach_the_file_by_themselves_within_moments(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A crash loses what the last second brought, and no more, however slow the judge is."""
    written, evict = threading.Semaphore(0), cache_module.evict

    def told(*arguments: Any) -> None:
        evict(*arguments)
        written.release()

    monkeypatch.setattr(cache_module, "evict", told)
    with JudgeCache(path) as cache:
        for n in range(3):
            cache.put(b"%d" % n, REPLY)
        while rows_of(path) < 3:
            assert written.acquire(timeout=30)


def test_a_killed_process_leaves_what_it_had_written(path: Path) -> None:
    program = f"""
import sys, threading
sys.path.insert(0, {str(ROOT)!r})
from rag_eval.judge import cache
from rag_eval.judge.cache import CachedReply, JudgeCache
from rag_eval.judge.replies import Usage
evict = cache.evict
def told(*arguments):
    evict(*arguments)
    print("written", flush=True)
cache.evict = told
cache = JudgeCache({str(path)!r})
for n in range(500):
    cache.put(b"%d" % n, CachedReply({{"n": n}}, Usage(1, 1)))
threading.Event().wait()
"""
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE)
    assert process.stdout is not None
    while process.stdout.readline() == b"written\n" and rows_of(path) < 500:
        pass
    process.kill()
    process.communicate()
    with JudgeCache(path) as cache:
        found = [cache.get(b"%d" % n) for n in range(500)]
    assert [reply and reply.reply["n"] for reply in found] == list(range(500))


def test_nothing_is_found_or_kept_after_it_was_closed(path: Path) -> None:
    cache = JudgeCache(path)
    cache.put(b"k", REPLY)
    cache.close()
    cache.put(b"l", REPLY)
    assert cache.get(b"k") is None
    assert cache.info() is None
    cache.close()
    assert rows_of(path) == 1


def test_clearing(path: Path) -> None:
    with JudgeCache(path) as cache:
        for n in range(2000):
            cache.put(b"%d" % n, REPLY)
        cache.flush()
        full = cache.info()
        assert cache.clear() == 2000
        assert cache.get(b"1") is None
        empty = cache.info()
        cache.put(b"1", REPLY)
        assert cache.get(b"1") == REPLY
    assert full is not None
    assert empty is not None
    assert (full.entries, empty.entries, empty.oldest) == (2000, 0, None)
    assert empty.size_bytes < full.size_bytes / 4


# Caps.


def test_old_replies_are_not_found(path: Path) -> None:
    clock = HandClock()
    with JudgeCache(path, max_age_days=2, clock=clock) as cache:
        cache.put(b"k", REPLY)
        cache.flush()
        clock.now += 2 * 86400 - 1
        assert cache.get(b"k") == REPLY
        clock.now += 2
        assert cache.get(b"k") is None
        cache.put(b"k", REPLY)
        assert cache.get(b"k") == REPLY
    with JudgeCache(path, clock=clock) as cache:
        clock.now += 1e9
        assert cache.get(b"k") == REPLY


def test_past_its_size_it_drops_what_was_not_used_for_longest(path: Path) -> None:
    clock = HandClock()
    big = CachedReply({"text": "x" * 2000}, Usage(1, 1))
    cap = 400_000
    with JudgeCache(path, max_bytes=cap, clock=clock) as cache:
        for n in range(100):
            cache.put(b"%d" % n, big)
        cache.flush()
        clock.now += 100
        assert cache.get(b"0") == big  # the oldest is in use
        cache.flush()
        for n in range(100, 250):
            clock.now += 1
            cache.put(b"%d" % n, big)
            cache.flush()
        kept = [n for n in range(250) if cache.get(b"%d" % n)]
        assert path.stat().st_size <= cap
    assert kept[0] == 0
    assert kept[1:] == list(range(kept[1], 250))
    assert 100 < len(kept) < 200


def test_a_smaller_cap_shrinks_the_file(path: Path) -> None:
    with JudgeCache(path) as cache:
        for n in range(1000):
            cache.put(b"%d" % n, CachedReply({"text": "x" * 1000}, Usage(1, 1)))
    before = path.stat().st_size
    with JudgeCache(path, max_bytes=before // 4) as cache:
        cache.put(b"new", REPLY)
        cache.flush()
        assert cache.get(b"new") == REPLY
    assert path.stat().st_size <= before // 4


def test_a_cap_below_an_empty_file_keeps_nothing(path: Path) -> None:
    with JudgeCache(path, max_bytes=1) as cache:
        cache.put(b"k", REPLY)
        cache.flush()
        assert cache.get(b"k") is None


@every_row(
    "options", [{"max_bytes": 0}, {"max_bytes": 1.5}, {"max_age_days": 0}, {"max_age_days": -1}]
)
def test_caps_that_cannot_be(tmp_path: Path, options: dict[str, Any]) -> None:
    path = tmp_path / "cache.db"
    with pytest.raises(InputError, match=next(iter(options))):
        JudgeCache(path, **options)
    assert not path.exists()


# Threads and processes.


def test_threads_share_it(path: Path) -> None:
    wrong: list[object] = []
    with JudgeCache(path) as cache:

        def work(worker: int) -> None:
            for n in range(300):
                key = b"%d" % (n % 50)
                cache.put(key, CachedReply({"n": n % 50}, Usage(worker, 1)))
                found = cache.get(key)
                if found is None or found.reply != {"n": n % 50}:
                    wrong.append(found)

        threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert wrong == []
    assert rows_of(path) == 50


def fill(path: Path, worker: int, begin: Any) -> None:
    begin.wait()
    with JudgeCache(path) as cache:
        for n in range(200):
            cache.put(b"%d-%d" % (worker, n), CachedReply({"n": n}, Usage(1, 1)))
            cache.put(b"shared-%d" % n, CachedReply({"n": n}, Usage(1, 1)))


def test_processes_share_it_from_its_first_moment(path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    begin = context.Barrier(4)
    workers = [context.Process(target=fill, args=(path, n, begin)) for n in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert [worker.exitcode for worker in workers] == [0] * 4
    assert rows_of(path) == 5 * 200


def test_a_child_that_was_forked_has_its_own_connection(path: Path) -> None:
    with JudgeCache(path) as cache:
        cache.put(b"before", REPLY)
        cache.flush()
        child = os.fork()
        if child == 0:
            status = 1
            try:
                found = cache.get(b"before") == REPLY
                cache.put(b"child", REPLY)
                cache.close()
                status = 0 if found else 2
            finally:
                os._exit(status)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert cache.get(b"child") == REPLY
        cache.put(b"after", REPLY)
    assert rows_of(path) == 3


# Files.


def test_file_and_new_folders_are_their_owners_alone(tmp_path: Path) -> None:
    path = tmp_path / "new" / "newer" / "judge.sqlite"
    before = os.umask(0)
    try:
        with JudgeCache(path) as cache:
            cache.put(b"k", REPLY)
            cache.flush()
            modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in path.parent.iterdir()}
    finally:
        os.umask(before)
    assert modes == {
        "judge.sqlite": 0o600,
        "judge.sqlite-wal": 0o600,
        "judge.sqlite-shm": 0o600,
    }
    for folder in (path.parent, path.parent.parent):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_no_text_of_a_prompt_is_in_it(path: Path) -> None:
    key = cache_key("t", {"answer": "the quick brown fox"}, JUDGE, 0)
    with JudgeCache(path) as cache:
        cache.put(key, REPLY)
    content = path.read_bytes()
    assert b"verdict" in content
    assert b"quick" not in content
    assert b"pickle" not in content


@every_row(
    ("environment", "path"),
    [
        ({"RAG_EVAL_CACHE": "/a/b.sqlite", "XDG_CACHE_HOME": "/x"}, "/a/b.sqlite"),
        ({"RAG_EVAL_CACHE": "", "XDG_CACHE_HOME": "/x"}, "/x/rag_eval/judge.sqlite"),
        ({"XDG_CACHE_HOME": "relative"}, "~/.cache/rag_eval/judge.sqlite"),
        ({}, "~/.cache/rag_eval/judge.sqlite"),
        ({"RAG_EVAL_CACHE": "~/j.sqlite"}, "~/j.sqlite"),
    ],
)
def test_where_the_command_line_keeps_it(environment: dict[str, str], path: str) -> None:
    assert default_cache_path(environment) == Path(path).expanduser()


# Faults: one warning, and on without.


@contextmanager
def one_warning(match: str) -> Iterator[None]:
    with pytest.warns(JudgeCacheWarning, match=match) as caught:
        yield
    assert len(caught) == 1


def assert_off(cache: JudgeCache) -> None:
    """Nothing is found and kept, and nothing more is said of it: warnings are errors here."""
    cache.put(b"k", REPLY)
    assert cache.get(b"k") is None
    cache.flush()
    assert cache.info() is None
    assert cache.clear() == 0
    cache.close()


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with one_warning("the judge cache .*judge.sqlite is not used: .*Not a directory"):
        cache = JudgeCache(tmp_path / "file" / "judge.sqlite")
    assert_off(cache)


def test_a_folder_in_its_place(tmp_path: Path) -> None:
    with one_warning("is a folder and not a file"):
        cache = JudgeCache(tmp_path)
    assert_off(cache)


def test_a_file_of_something_else_stays_as_it_is(path: Path) -> None:
    path.write_bytes(b"a letter to nobody\n" * 400)
    before = path.read_bytes()
    with one_warning("not a database"):
        cache = JudgeCache(path)
    assert_off(cache)
    assert path.read_bytes() == before


def test_a_database_of_something_else_stays_as_it_is(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE mine (x)")
    connection.close()
    before = path.read_bytes()
    with one_warning("is a database, but not a judge cache"):
        cache = JudgeCache(path)
    assert_off(cache)
    assert path.read_bytes() == before


def test_a_later_version_is_left_alone(path: Path) -> None:
    JudgeCache(path).close()
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version = 2")
    connection.close()
    with one_warning("is a judge cache of version 2, made by a later release"):
        cache = JudgeCache(path)
    assert_off(cache)


def test_a_file_damaged_inside(path: Path) -> None:
    with JudgeCache(path) as cache:
        for n in range(2000):
            cache.put(b"%d" % n, REPLY)
    content = bytearray(path.read_bytes())
    content[4096:] = b"\xa5" * (len(content) - 4096)
    path.write_bytes(content)
    with one_warning("malformed"):
        cache = JudgeCache(path)
        for n in range(2000):
            cache.get(b"%d" % n)
    assert_off(cache)


@every_row("text", ["{half", "[1]", "3"])
def test_a_row_that_holds_no_reply(tmp_path: Path, text: str) -> None:
    path = tmp_path / "cache.db"
    with JudgeCache(path) as cache:
        cache.put(b"k", REPLY)
    connection = sqlite3.connect(path)
    connection.execute("UPDATE replies SET reply = ?", (text,))
    connection.commit()
    connection.close()
    cache = JudgeCache(path)
    with one_warning("is not used"):
        assert cache.get(b"k") is None
    assert_off(cache)


FULL_DISK = """
import json, resource, sys, warnings
sys.path.insert(0, {root!r})
from rag_eval.judge.cache import CachedReply, JudgeCache
from rag_eval.judge.replies import Usage
warnings.simplefilter("always")
reply = CachedReply({{"text": "x" * 1000}}, Usage(1, 1))
with warnings.catch_warnings(record=True) as caught:
    cache = JudgeCache({path!r})
    cache.put(b"first", reply)
    cache.flush()
    resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
    for n in range(2000):
        cache.put(b"%d" % n, reply)
        cache.get(b"%d" % n)
    cache.close()
print(json.dumps([[w.category.__name__, str(w.message)] for w in caught]))
"""


@pytest.mark.usefixtures("unmeasured")
def test_a_full_disk(path: Path) -> None:
    program = FULL_DISK.format(root=str(ROOT), path=str(path))
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stderr == ""
    ((category, message),) = json.loads(done.stdout)
    assert category == "JudgeCacheWarning"
    assert "disk" in message
    with JudgeCache(path) as cache:  # what was there before is sound
        assert cache.get(b"first") is not None


def test_a_file_that_cannot_be_written(path: Path) -> None:
    """As on a disk that is mounted for reading: permissions do not bind every user, this does."""
    with JudgeCache(path) as cache:
        cache.put(b"k", REPLY)
    cache = JudgeCache(path)
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute(
        "CREATE TRIGGER no_more BEFORE INSERT ON replies "
        "BEGIN SELECT RAISE(ABORT, 'read only'); END"
    )
    holder.close()
    cache.put(b"l", REPLY)
    with one_warning("read only"):
        cache.flush()
    assert_off(cache)
    assert rows_of(path) == 1


def test_the_warning_of_a_failed_write_comes_on_the_thread_of_a_caller(path: Path) -> None:
    """One from the writer's thread would be lost, or end it."""
    before = set(threading.enumerate())
    cache = JudgeCache(path)
    cache.put(b"k", REPLY)
    cache.flush()
    connection = sqlite3.connect(path)
    connection.execute("DROP TABLE replies")
    connection.close()
    cache.put(b"l", REPLY)
    (writer,) = set(threading.enumerate()) - before
    writer.join(30)
    with one_warning("no such table"):
        cache.put(b"m", REPLY)
    assert_off(cache)
