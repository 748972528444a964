"""Files in the making: whatever becomes of their parts, the rows are right or there are none."""

from __future__ import annotations

import errno
import fcntl
import gzip
import json
import os
import re
import shutil
import signal
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from rag_eval.errors import InputError
from rag_eval.inputs import json_files
from rag_eval.jobs import file_scoring as score_files
from rag_eval.jobs.file_reports import ScoreFileReport
from rag_eval.jobs.file_scoring import score_file
from rag_eval.outputs.journal import Journal
from rag_eval.outputs.parts import OutputError, PartedFile
from rag_eval.plumbing.own_folder import OwnFile, OwnFolder
from tests.tables import every_row

N_ROWS = 7
METRICS = ["faithfulness", "answer_relevance"]


class PowerCutError(Exception):
    """Ends a run without giving it time for anything."""


def sample(n: int) -> dict[str, Any]:
    return {
        "id": f"q-{n}",
        "question": f"what of fox {n}?",
        "answer": f"Fox {n} is red. It sleeps.",
        "contexts": [f"fox {n} is red", "it"],
        "n": n,
    }


@pytest.fixture(autouse=True)
def tiny_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two rows a block, and nothing waits for the disk: no power is cut here."""
    monkeypatch.setattr(json_files, "_MAX_ROWS", 2)
    monkeypatch.setattr(os, "fsync", lambda handle: None)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "data.jsonl"
    path.write_text("".join(json.dumps(sample(n)) + "\n" for n in range(N_ROWS)))
    return path


@pytest.fixture
def target(tmp_path: Path) -> Path:
    (tmp_path / "out").mkdir()
    return tmp_path / "out" / "scores.jsonl"


def folder_of(target: Path) -> Path:
    return target.with_name(f"{target.name}.parts")


def score(data: Path, target: Path, **options: Any) -> ScoreFileReport:
    given = {"columns": ["n"], "checkpoint_rows": 1, "threads": 1, **options}
    return score_file(data, target, given.pop("metrics", METRICS), **given)


def cut_short(data: Path, target: Path, **options: Any) -> Path:
    """All parts of a run that did not come to put them together."""

    def complete(self: PartedFile) -> None:
        raise PowerCutError

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(PartedFile, "complete", complete)
        with pytest.raises(PowerCutError):
            score(data, target, **options)
    assert not target.exists()
    return folder_of(target)


@pytest.fixture
def whole(data: Path, tmp_path: Path) -> bytes:
    score(data, tmp_path / "whole.jsonl")
    assert not folder_of(tmp_path / "whole.jsonl").exists()
    return (tmp_path / "whole.jsonl").read_bytes()


@pytest.fixture
def kept(data: Path, target: Path) -> Path:
    return cut_short(data, target)


def names_synced(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Files and folders that are brought to disk from now on."""
    synced: list[str] = []

    def note(handle: int) -> None:
        synced.append(Path(f"/proc/self/fd/{handle}").readlink().name)

    monkeypatch.setattr(os, "fsync", note)
    return synced


def test_a_part_and_its_name_are_on_disk_before_the_journal_tells_of_it(
    data: Path, target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else a power cut left a journal that tells of a part that is not there."""
    synced = names_synced(monkeypatch)
    score(data, target)
    ends = [place for place, name in enumerate(synced) if name.endswith(".scores.tmp")]
    assert len(ends) > 1
    for end in ends:
        rows, _, *rest = synced[end - 1 : end + 3]
        assert rows.endswith(".rows.tmp")
        assert rest == [folder_of(target).name, "journal"]


def test_of_a_single_part_only_the_file_itself_is_brought_to_disk(
    data: Path, target: Path, whole: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each of the other waits would take as long as a small file does to score."""
    synced = names_synced(monkeypatch)
    score(data, target, checkpoint_rows=None)
    assert synced == ["assembled", target.parent.name, "journal"]
    assert target.read_bytes() == whole


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError(errno.ENOSPC, "No space left")])
def test_what_is_said_to_be_kept_is_on_disk(
    data: Path, target: Path, whole: bytes, error: BaseException, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the file could not be made from the last part, which is not on disk till then."""
    synced = names_synced(monkeypatch)
    with monkeypatch.context() as patch:
        patch.setattr("rag_eval.outputs.parts.atomic_file", Mock(side_effect=error))
        with suppress(OutputError):
            assert score(data, target, checkpoint_rows=None).kept == folder_of(target)
    assert synced == ["000000.rows", "000000.scores", folder_of(target).name, "journal"]
    assert score(data, target, resume=True).n_resumed == N_ROWS
    assert target.read_bytes() == whole


@pytest.mark.parametrize("name", ["000000.rows", "000000.scores", "journal"])
def test_a_part_that_never_came_to_disk_is_made_again(
    data: Path, target: Path, whole: bytes, name: str
) -> None:
    """A power cut leaves a file of its length without its content, or a shorter one."""
    for left in (lambda content: bytes(len(content)), lambda content: content[:-9]):
        kept = cut_short(data, target, checkpoint_rows=None)
        (kept / name).write_bytes(left((kept / name).read_bytes()))
        assert score(data, target, resume=True).n_resumed == 0
        assert target.read_bytes() == whole
        target.unlink()


Resume = Callable[[Callable[[Path], object]], ScoreFileReport]


@pytest.fixture
def resume_after(data: Path, target: Path, kept: Path, whole: bytes) -> Iterator[Resume]:
    """Go on with a copy of the parts that something was done to; the bytes are the same."""
    shutil.copytree(kept, target.parent / "kept")

    def resume(damage: Callable[[Path], object]) -> ScoreFileReport:
        shutil.rmtree(kept, ignore_errors=True)
        shutil.copytree(target.parent / "kept", kept)
        target.unlink(missing_ok=True)
        damage(kept)
        report = score(data, target, resume=True)
        assert target.read_bytes() == whole
        assert not kept.exists()
        assert report.result.n_rows == N_ROWS
        return report

    return resume


# ---------------------------------------------------------------------------- what is kept


def test_parts_and_journal(kept: Path) -> None:
    names = [f"{number:06}.{kind}" for number in range(4) for kind in ("rows", "scores")]
    assert sorted(path.name for path in kept.iterdir()) == [*names, "journal"]
    records = [line.split(b" ", 1)[1] for line in (kept / "journal").read_bytes().splitlines()]
    assert len(records) == 5
    assert [json.loads(record)["rows"] for record in records[1:]] == [2, 2, 2, 1]


def test_nothing_is_left_but_the_target(data: Path, target: Path, whole: bytes) -> None:
    report = score(data, target)
    assert list(target.parent.iterdir()) == [target]
    assert target.read_bytes() == whole
    assert (report.n_resumed, report.interrupted, report.kept) == (0, False, None)


def test_going_on_scores_only_what_is_not_there(
    data: Path, target: Path, resume_after: Resume, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert resume_after(lambda kept: None).n_resumed == N_ROWS
    report = resume_after(lambda kept: (kept / "000002.rows").unlink())
    assert report.n_resumed == 4
    assert report.result.notes == [
        "4 rows scored in an earlier run; ids of later rows were not checked against them"
    ]


def test_statistics_are_those_of_all_rows(data: Path, resume_after: Resume, tmp_path: Path) -> None:
    uninterrupted = score(data, tmp_path / "other.jsonl").result.summary_dict()
    resumed = resume_after(lambda kept: (kept / "000001.rows").unlink()).result.summary_dict()
    for name in ("aggregates", "compositeAggregate", "passed", "signature"):
        assert resumed[name] == uninterrupted[name]


# ------------------------------------------------------------------------------- power cuts


every_byte = pytest.param(1, marks=pytest.mark.deep)


@pytest.mark.parametrize("step", [41, every_byte])
def test_the_journal_cut_at_any_byte(kept: Path, resume_after: Resume, step: int) -> None:
    data = (kept / "journal").read_bytes()
    ends = [place for place, byte in enumerate(data) if byte == 10]
    near_ends = {end + off for end in ends for off in range(-2, 3) if end + off <= len(data)}
    for length in sorted(near_ends.union(range(0, len(data), step))):
        n_whole = max(0, data.count(b"\n", 0, length) - 1)

        def cut(kept: Path, length: int = length) -> None:
            (kept / "journal").write_bytes(data[:length])

        assert resume_after(cut).n_resumed == min(N_ROWS, 2 * n_whole)


@pytest.mark.parametrize("step", [31, every_byte])
def test_the_journal_damaged_at_any_byte(kept: Path, resume_after: Resume, step: int) -> None:
    data = (kept / "journal").read_bytes()
    for place in range(0, len(data), step):

        def damage(kept: Path, place: int = place) -> None:
            damaged = bytearray(data)
            damaged[place] ^= 0x15
            (kept / "journal").write_bytes(damaged)

        n_whole = max(0, data.count(b"\n", 0, place) - 1)
        assert resume_after(damage).n_resumed == min(N_ROWS, 2 * n_whole)


@every_row("rest", [b"\0" * 100, b"\xff\xfe garbage\n", b"0123456789abcdef {}\n", b"\r\r\n\n"])
def test_garbage_after_the_journal(resume_after: Resume, rest: bytes) -> None:
    def add(kept: Path) -> None:
        with (kept / "journal").open("ab") as file:
            file.write(rest)

    assert resume_after(add).n_resumed == N_ROWS


def truncated(path: Path) -> None:
    os.truncate(path, path.stat().st_size - 1)


def emptied(path: Path) -> None:
    os.truncate(path, 0)


def zeroed(path: Path) -> None:
    path.write_bytes(bytes(path.stat().st_size))


def flipped(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def longer(path: Path) -> None:
    path.write_bytes(path.read_bytes() * 2)


@every_row("damage", [truncated, emptied, zeroed, flipped, longer, Path.unlink])
@every_row("kind", ["rows", "scores"])
@every_row("number", [0, 1, 3])
def test_a_damaged_part_and_all_after_it_are_made_again(
    resume_after: Resume, number: int, kind: str, damage: Callable[[Path], None]
) -> None:
    report = resume_after(lambda kept: damage(kept / f"{number:06}.{kind}"))
    assert report.n_resumed == 2 * number


def test_what_the_journal_does_not_speak_of_is_made_again(resume_after: Resume) -> None:
    def litter(kept: Path) -> None:
        for name in ("000004.rows", "000004.scores", "000009.rows", "000004.rows.tmp", "assembled"):
            (kept / name).write_bytes(b"what a crash has left")

    assert resume_after(litter).n_resumed == N_ROWS


def test_the_records_before_a_damaged_part_are_never_given_up(
    data: Path, target: Path, kept: Path, whole: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They were written anew one by one, and a second power cut lost them."""
    (kept / "000002.rows").unlink()
    records = (kept / "journal").read_bytes().splitlines(keepends=True)

    def no_more(self: Journal, record: object, *, is_durable: bool = True) -> None:
        raise PowerCutError

    with monkeypatch.context() as patch:
        patch.setattr(Journal, "append", no_more)
        with pytest.raises(PowerCutError):
            score(data, target, resume=True)
    assert not (kept / "000002.rows.tmp").exists()
    assert (kept / "journal").read_bytes() == b"".join(records[:3])
    assert score(data, target, resume=True).n_resumed == 4
    assert target.read_bytes() == whole


@pytest.mark.parametrize("n_parts", range(5))
def test_cut_after_any_part(data: Path, target: Path, whole: bytes, n_parts: int) -> None:
    append = Journal.append
    n_records = 0

    def counted(self: Journal, record: Any, *, is_durable: bool = True) -> None:
        nonlocal n_records
        if n_records > n_parts:
            raise PowerCutError
        append(self, record, is_durable=is_durable)
        n_records += 1

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Journal, "append", counted)
        if n_parts < 4:
            with pytest.raises(PowerCutError):
                score(data, target)
        else:
            score(data, target)
    report = score(data, target, resume=True)
    assert report.n_resumed == (2 * n_parts if n_parts < 4 else 0)
    assert target.read_bytes() == whole


@pytest.mark.parametrize("name", ["unlink", "rmdir", "replace"])
def test_cut_while_the_file_takes_its_place(
    data: Path, target: Path, kept: Path, whole: bytes, name: str
) -> None:
    """Each step of the end, cut before it: the file is there or can be had, and then it is all."""
    step = getattr(os, name)
    n_calls = 0
    for last in range(12):
        n_calls = 0

        def some(*arguments: Any, last: int = last, **options: Any) -> Any:
            nonlocal n_calls
            n_calls += 1
            if n_calls > last:
                raise PowerCutError
            return step(*arguments, **options)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(os, name, some)
            try:
                score(data, target, resume=True)
            except PowerCutError:
                assert not target.exists() or target.read_bytes() == whole
                continue
            break
    score(data, target, resume=True)
    assert target.read_bytes() == whole
    assert list(target.parent.iterdir()) == [target]


def test_rows_without_an_answer_are_counted_over_all_parts(data: Path, target: Path) -> None:
    rows = [{**sample(n), "answer": None} if n % 3 == 1 else sample(n) for n in range(N_ROWS)]
    data.write_text("".join(json.dumps(row) + "\n" for row in rows))
    # Of this metric alone, a null does not tell whether the answer or the contexts are missing.
    options: dict[str, Any] = {"metrics": ["faithfulness"], "profile": "grounded"}
    cut_short(data, target, **options)
    report = score(data, target, resume=True, **options)
    assert report.n_resumed == N_ROWS
    assert any(note.startswith("2 of 7 samples have no answer, so") for note in report.result.notes)


# ---------------------------------------------------------------------------------- refusals


def test_unfinished_parts_ask_for_a_decision(data: Path, target: Path, kept: Path) -> None:
    before = {path.name: path.read_bytes() for path in kept.iterdir()}
    with pytest.raises(InputError, match=r"unfinished run \(7 rows\).*--resume.*--restart"):
        score(data, target)
    assert {path.name: path.read_bytes() for path in kept.iterdir()} == before


def test_restart_leaves_them_behind(data: Path, target: Path, kept: Path, whole: bytes) -> None:
    assert score(data, target, restart=True).n_resumed == 0
    assert target.read_bytes() == whole
    assert list(target.parent.iterdir()) == [target]


def test_resume_and_restart_without_anything_there(data: Path, target: Path, whole: bytes) -> None:
    for option in ("resume", "restart"):
        assert score(data, target, **{option: True}).n_resumed == 0
        assert target.read_bytes() == whole


def touched(data: Path) -> None:
    found = data.stat()
    os.utime(data, ns=(found.st_atime_ns, found.st_mtime_ns + 1))


def one_letter(data: Path) -> None:
    found = data.stat()
    data.write_bytes(data.read_bytes().replace(b"red", b"RED", 1))
    os.utime(data, ns=(found.st_atime_ns, found.st_mtime_ns))


def one_more(data: Path) -> None:
    with data.open("a") as file:
        file.write(json.dumps(sample(7)) + "\n")


@pytest.mark.parametrize("change", [touched, one_letter, one_more])
def test_other_data_is_refused(
    data: Path, target: Path, kept: Path, change: Callable[[Path], None]
) -> None:
    change(data)
    before = (kept / "journal").read_bytes()
    with pytest.raises(InputError, match=rf": {re.escape(str(data))} was changed\.") as caught:
        score(data, target, resume=True)
    assert "--restart" in str(caught.value)
    assert (kept / "journal").read_bytes() == before
    assert not target.exists()


@every_row(
    ("options", "named"),
    [
        ({"metrics": ["faithfulness"]}, f"metrics was '{','.join(METRICS)}' and is 'faithfulness'"),
        ({"metrics": METRICS[::-1]}, "metrics was"),
        ({"profile": "grounded"}, "profile was 'overlap' and is 'grounded'"),
        ({"thresholds": {"faithfulness": 0.25}}, "threshold of faithfulness was 0.7 and is 0.25"),
        ({"composite_weights": {"faithfulness": 3}}, "weight of faithfulness was 1.0 and is 3.0"),
        ({"composite_threshold": 0.25}, "composite_threshold was 0.6 and is 0.25"),
        (
            {"heuristic": {"claim_support_threshold": 0.4}},
            "option claim_support_threshold was 0.15 and is 0.4",
        ),
        ({"columns": ["question"]}, "columns was 'n' and is 'question'"),
        ({"columns": None}, "columns was 'n' and is ''"),
        ({"prefix": "x_"}, "prefix was '' and is 'x_'"),
        ({"mapping": {"question": "answer"}}, "column of question was not set and is 'answer'"),
        ({"schema": "native"}, "schema was not set and is 'native'"),
        ({"gold_separator": "|"}, "gold_separator was not set and is '|'"),
        ({"context_separator": "|"}, "context_separator was not set and is '|'"),
    ],
)
def test_other_options_are_refused(
    data: Path, tmp_path: Path, options: dict[str, Any], named: str
) -> None:
    target = tmp_path / "scores.jsonl"
    metrics = [*METRICS, "hallucination_rate"] if "heuristic" in options else METRICS
    options = {"metrics": metrics, **options}
    cut_short(data, target, metrics=metrics)
    # Nothing else, such as the thresholds of metrics that are no longer asked for.
    with pytest.raises(InputError, match=f"settings: {re.escape(named)}[^;]*\\. To continue"):
        score(data, target, resume=True, **options)
    assert not target.exists()


@pytest.mark.parametrize("options", [{"language": "de"}, {"stemmer": "snowball"}])
def test_other_settings_of_the_grounded_profile_are_refused(
    data: Path, target: Path, options: dict[str, Any]
) -> None:
    cut_short(data, target, profile="grounded")
    with pytest.raises(InputError, match=f"option {next(iter(options))} was"):
        score(data, target, resume=True, profile="grounded", **options)


def test_another_version_is_refused(
    data: Path, target: Path, kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(score_files, "__version__", "99.0")
    with pytest.raises(InputError, match=r"version of rag_eval was '[\d.]+' and is '99\.0'"):
        score(data, target, resume=True)


@pytest.mark.parametrize(
    "options",
    [
        {"threads": 3},
        {"checkpoint_rows": 1000},
        {"checkpoint_rows": None},
        {"quantiles": "sketch"},
        {"skip_invalid": True},
    ],
)
def test_what_no_byte_depends_on_may_change(
    data: Path, target: Path, kept: Path, whole: bytes, options: dict[str, Any]
) -> None:
    (kept / "000001.scores").unlink()
    assert score(data, target, resume=True, **options).n_resumed == 2
    assert target.read_bytes() == whole


def test_two_runs_at_once(data: Path, target: Path, kept: Path, whole: bytes) -> None:
    """Without an option the second was told to go on with the unfinished run, or to drop it."""
    journal = Journal(kept / "journal")
    for options in ({}, {"resume": True}, {"restart": True}):
        with pytest.raises(InputError) as caught:
            score(data, target, **options)
        assert str(caught.value) == (
            f"{kept} is in use by another process, which is writing scores.jsonl: wait until it "
            "has ended, or choose another DST"
        )
    journal.close()
    assert score(data, target, resume=True).n_resumed == N_ROWS
    assert target.read_bytes() == whole


@pytest.mark.parametrize("left", ["folder", "nothing"])
def test_the_other_run_ends_while_this_one_opens_the_folder(
    data: Path, target: Path, kept: Path, whole: bytes, left: str
) -> None:
    """The journal that was opened has no name any more: parts recorded in it were lost."""
    lock = fcntl.flock
    n_locks = 0

    def end_first(file: Any, how: int) -> None:
        nonlocal n_locks
        n_locks += 1
        if n_locks == 1:
            shutil.rmtree(kept)
            if left == "folder":
                kept.mkdir()
        lock(file, how)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fcntl, "flock", end_first)
        assert score(data, target).n_resumed == 0
    assert n_locks == 2
    assert target.read_bytes() == whole
    assert list(target.parent.iterdir()) == [target]


def test_another_run_begins_in_the_folder_before_it_is_removed(
    data: Path, target: Path, whole: bytes
) -> None:
    remove = OwnFolder.remove

    def begin_first(self: OwnFolder) -> None:
        self.file("journal").open("ab").close()
        remove(self)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(OwnFolder, "remove", begin_first)
        score(data, target)
    assert target.read_bytes() == whole
    assert [path.name for path in folder_of(target).iterdir()] == ["journal"]


# -------------------------------------------------------------------- what others have prepared

NOBODY = 65534


def link_to_a_folder(folder: Path, elsewhere: Path) -> None:
    folder.symlink_to(elsewhere.parent)


def link_to_nothing(folder: Path, elsewhere: Path) -> None:
    folder.symlink_to("nothing")


def a_file(folder: Path, elsewhere: Path) -> None:
    folder.touch()


def folder_of_another(folder: Path, elsewhere: Path) -> None:
    folder.mkdir()
    os.chown(folder, NOBODY, NOBODY)


def linked_journal(folder: Path, elsewhere: Path) -> None:
    folder.mkdir()
    (folder / "journal").symlink_to(elsewhere)


def hard_linked_journal(folder: Path, elsewhere: Path) -> None:
    folder.mkdir()
    (folder / "journal").hardlink_to(elsewhere)


def linked_part(folder: Path, elsewhere: Path) -> None:
    folder.mkdir()
    (folder / "000000.rows.tmp").symlink_to(elsewhere)


def linked_result(folder: Path, elsewhere: Path) -> None:
    folder.mkdir()
    (folder / "assembled").symlink_to(elsewhere)


def journal_without_end(folder: Path, elsewhere: Path) -> None:
    folder.mkdir()
    os.mkfifo(folder / "journal")


def folder_for_a_part(folder: Path, elsewhere: Path) -> None:
    (folder / "000000.scores").mkdir(parents=True)


def journal_of_another(folder: Path, elsewhere: Path) -> None:
    folder.mkdir()
    (folder / "journal").touch()
    os.chown(folder / "journal", NOBODY, NOBODY)


PREPARED: list[tuple[Callable[[Path, Path], None], str]] = [
    (link_to_a_folder, " is a symbolic link and not a folder"),
    (link_to_nothing, " is a symbolic link and not a folder"),
    (a_file, " is a file and not a folder"),
    (linked_journal, "/journal is a symbolic link and not a file"),
    (hard_linked_journal, "/journal is a hard link to a file with another name"),
    (linked_part, "/000000.rows.tmp is a symbolic link and not a file"),
    (linked_result, "/assembled is a symbolic link and not a file"),
    (journal_without_end, "/journal is a named pipe and not a file"),
    (folder_for_a_part, "/000000.scores is a folder and not a file"),
]
if os.geteuid() == 0:
    # Only root can give a file away.
    PREPARED += [
        (folder_of_another, f" belongs to another user (uid {NOBODY})"),
        (journal_of_another, f"/journal belongs to another user (uid {NOBODY})"),
    ]


@pytest.mark.parametrize(("prepare", "what"), PREPARED)
def test_what_others_have_prepared_is_refused_and_nothing_is_written_through_it(
    data: Path, target: Path, tmp_path: Path, prepare: Callable[[Path, Path], None], what: str
) -> None:
    """A journal that was a link overwrote what it led to; the rest was said to need room."""
    elsewhere = tmp_path / "elsewhere" / "000000.rows"
    elsewhere.parent.mkdir()
    elsewhere.write_bytes(b"three years of work")
    prepare(folder_of(target), elsewhere)
    for options in ({}, {"resume": True}, {"restart": True}):
        with pytest.raises(InputError) as caught:
            score(data, target, **options)
        assert str(caught.value) == (
            f"{folder_of(target)}{what}; rows are kept only in files that you own: remove it, or "
            "choose another DST"
        )
    assert list(elsewhere.parent.iterdir()) == [elsewhere]
    assert elsewhere.read_bytes() == b"three years of work"
    assert list(target.parent.iterdir()) == [folder_of(target)]


def test_the_folder_is_for_its_owner_alone(data: Path, target: Path) -> None:
    before = os.umask(0)
    try:
        kept = cut_short(data, target)
        assert (kept.stat().st_mode & 0o777, (kept / "journal").stat().st_mode & 0o777) == (
            0o700,
            0o600,
        )
        kept.chmod(0o777)
        cut_short(data, target, restart=True)
        assert kept.stat().st_mode & 0o777 == 0o700
    finally:
        os.umask(before)


def test_files_are_reached_whatever_becomes_of_the_folders_name(
    data: Path, target: Path, tmp_path: Path, whole: bytes
) -> None:
    """Another user of the folder around it may put a link in its place while rows are scored."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    kept = target.parent / "moved"
    add = PartedFile.add

    def moved_away(self: PartedFile, *arguments: Any) -> None:
        if not kept.exists():
            folder_of(target).rename(kept)
            folder_of(target).symlink_to(elsewhere)
        add(self, *arguments)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(PartedFile, "add", moved_away)
        score(data, target)
    assert target.read_bytes() == whole
    assert list(elsewhere.iterdir()) == []
    assert list(kept.iterdir()) == []


def test_a_file_system_that_gives_all_files_to_one_user(
    data: Path, target: Path, whole: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a network's that knows no root: what is made there belongs to somebody else."""
    uid = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: uid + 1)
    cut_short(data, target)
    assert score(data, target, resume=True).n_resumed == N_ROWS
    assert target.read_bytes() == whole


def test_a_folder_of_that_name_that_is_somebody_elses(data: Path, target: Path) -> None:
    """Its files were removed as leftovers."""
    folder_of(target).mkdir(mode=0o755)
    (folder_of(target) / "thesis.txt").write_text("three years of work")
    for options in ({}, {"resume": True}, {"restart": True}):
        with pytest.raises(InputError, match=r"thesis\.txt"):
            score(data, target, **options)
    assert [path.name for path in folder_of(target).iterdir()] == ["thesis.txt"]
    assert folder_of(target).stat().st_mode & 0o777 == 0o755


def test_standard_input_cannot_be_gone_on_with(target: Path) -> None:
    with pytest.raises(InputError, match="cannot be read again"):
        score_file("-", target, resume=True)
    assert list(target.parent.iterdir()) == []


# ----------------------------------------------------------------------------------- bad rows


def test_bad_input_leaves_no_folder_behind(data: Path, target: Path) -> None:
    data.write_text("no JSON\n")
    with pytest.raises(InputError, match="line 1"):
        score(data, target)
    data.write_text("\n")
    with pytest.raises(InputError, match="no samples"):
        score(data, target)
    data.unlink()
    with pytest.raises(InputError, match="cannot read"):
        score(data, target)
    assert list(target.parent.iterdir()) == []


def with_bad_rows(data: Path) -> None:
    lines = data.read_text().splitlines()
    lines[0] = lines[4] = lines[5] = "no JSON"
    data.write_text("\n".join(lines) + "\n")


def test_skipped_rows_are_counted_over_runs(data: Path, target: Path, tmp_path: Path) -> None:
    with_bad_rows(data)
    report = score(data, tmp_path / "whole.jsonl", skip_invalid=True)
    assert (report.result.n_rows, report.n_skipped) == (4, 3)
    kept = cut_short(data, target, skip_invalid=True)
    (kept / "000001.rows").unlink()
    resumed = score(data, target, skip_invalid=True, resume=True)
    assert (resumed.result.n_rows, resumed.n_skipped) == (4, 3)
    assert resumed.faults == report.faults
    assert target.read_bytes() == (tmp_path / "whole.jsonl").read_bytes()


def test_going_on_after_skipped_rows_takes_the_same_flag(data: Path, target: Path) -> None:
    with_bad_rows(data)
    cut_short(data, target, skip_invalid=True)
    with pytest.raises(InputError, match="3 invalid rows skipped so far"):
        score(data, target, resume=True)
    assert score(data, target, resume=True, skip_invalid=True).n_skipped == 3


BAD_LINES = [
    ("no JSON", "not valid JSON"),
    (
        '{"id": "x", "question": "q", "answer": 5}',
        "contexts is missing; it must be a list of strings",
    ),
]


@pytest.mark.parametrize(("line", "fault"), BAD_LINES)
def test_what_came_before_a_bad_row_is_kept(
    data: Path, target: Path, line: str, fault: str
) -> None:
    lines = data.read_text().splitlines()
    lines[5] = line
    data.write_text("\n".join(lines) + "\n")
    for options in ({}, {"resume": True}):
        with pytest.raises(InputError) as caught:
            score(data, target, **options)
        said, advice = str(caught.value).split("; the first ")
        assert said.startswith(f"{data}, line 6")
        assert fault in said
        assert advice == (
            f"4 rows are kept in {folder_of(target)}: continue with --resume --skip-invalid, "
            "or start over with --restart"
        )
    assert sorted(path.suffix for path in folder_of(target).iterdir()) == [
        "", *[".rows"] * 2, *[".scores"] * 2
    ]  # fmt: skip
    assert score(data, target, resume=True, skip_invalid=True).n_resumed == 4


def test_a_bad_row_before_anything_is_kept_is_all_that_is_told(data: Path, target: Path) -> None:
    with_bad_rows(data)
    with pytest.raises(InputError) as caught:
        score(data, target)
    assert str(caught.value).startswith(f"{data}, line 1: ")
    assert "kept" not in str(caught.value)
    assert list(target.parent.iterdir()) == []


def test_a_file_that_is_cut_off_is_not_passed_over_with_its_bad_rows(
    data: Path, target: Path
) -> None:
    """The advice was --skip-invalid, which leaves out rows and not the end of a file."""
    packed = data.with_name("data.jsonl.gz")
    rows = "".join(
        json.dumps({**sample(n), "x": os.urandom(40_000).hex()}) + "\n" for n in range(60)
    )
    packed.write_bytes(gzip.compress(rows.encode())[:-100])
    with pytest.raises(InputError) as caught:
        score(packed, target, skip_invalid=True)
    found = re.fullmatch(
        rf"{packed}: the gzip data ends too early. The file seems to be cut off; write or copy it "
        rf"again; the first (\d+) rows "
        rf"are kept in {folder_of(target)}: continue with --resume, or start over with --restart",
        str(caught.value),
    )
    assert found is not None
    n_rows = sum(path.read_text().count("\n") for path in folder_of(target).glob("*.rows"))
    assert int(found[1]) == n_rows > 0


# ------------------------------------------------------------------------------- interruptions


def interrupting(name: str, owner: type = PartedFile, *, before: bool = False) -> Any:
    """A method in which Ctrl-C comes."""
    method = getattr(owner, name)

    def interrupted(self: Any, *arguments: Any, **options: Any) -> Any:
        if before:
            signal.raise_signal(signal.SIGINT)
        result = method(self, *arguments, **options)
        signal.raise_signal(signal.SIGINT)
        return result

    return interrupted


def test_ctrl_c_gives_what_was_scored(data: Path, target: Path, whole: bytes) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(PartedFile, "add", interrupting("add"))
        report = score(data, target, checkpoint_rows=None)
    assert (report.interrupted, report.result.n_rows) == (True, 2)
    assert report.kept == folder_of(target)
    assert report.to_dict()["interrupted"] is True
    assert not target.exists()
    assert score(data, target, resume=True).n_resumed == 2
    assert target.read_bytes() == whole


@pytest.mark.parametrize("name", ["begin", "score_blocks", "complete", "close_part", "clean_up"])
def test_ctrl_c_again_and_again(data: Path, target: Path, whole: bytes, name: str) -> None:
    """Whatever it comes in, and also while the first is dealt with."""
    for before in (False, True):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(PartedFile, name, interrupting(name, before=before))
            patch.setattr(PartedFile, "add", interrupting("add"))
            said = f"kept in {folder_of(target)}"
            try:
                score(data, target, resume=True)
            except KeyboardInterrupt as error:
                said = str(error)
            if folder_of(target).exists():
                assert f"kept in {folder_of(target)}" in said
    report = score(data, target, resume=True)
    assert not report.interrupted
    assert target.read_bytes() == whole
    assert list(target.parent.iterdir()) == [target]


@pytest.mark.parametrize("name", ["complete", "clean_up"])
def test_ctrl_c_after_the_file_is_there(data: Path, target: Path, whole: bytes, name: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(PartedFile, name, interrupting(name))
        report = score(data, target)
    assert not report.interrupted
    assert target.read_bytes() == whole
    assert list(target.parent.iterdir()) == [target]


def test_an_error_of_the_caller_keeps_what_was_scored(
    data: Path, target: Path, whole: bytes
) -> None:
    def on_progress(completed: int, total: int | None) -> None:
        if completed >= 4:
            raise PowerCutError

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("rag_eval.scoring.progress._INTERVAL_S", 0.0)
        with pytest.raises(PowerCutError):
            score(data, target, on_progress=on_progress)
    assert not any(path.suffix == ".tmp" for path in folder_of(target).iterdir())
    assert score(data, target, resume=True).n_resumed == 4
    assert target.read_bytes() == whole


# ----------------------------------------------------------------------------------- the disk


class FullDisk:
    """Takes so many writes to new files, and no more."""

    def __init__(self, room_for: int) -> None:
        self._room_left = room_for
        disk, opened = self, OwnFile.open

        def open_(place: OwnFile, mode: Any, *permissions: int) -> Any:
            file = opened(place, mode, *permissions)
            return Written(file, disk) if mode == "wb" else file

        self.open = open_

    def take(self) -> None:
        self._room_left -= 1
        if self._room_left < 0:
            raise OSError(28, "No space left on device")


class Written:
    def __init__(self, file: Any, disk: FullDisk) -> None:
        self._file, self._disk = file, disk

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)

    def write(self, data: bytes) -> int:
        self._disk.take()
        return int(self._file.write(data))


def test_a_disk_that_is_full(
    data: Path, target: Path, whole: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(OwnFile, "open", FullDisk(room_for=5).open)
        with pytest.raises(OutputError) as caught:
            score(data, target)
    assert str(caught.value) == (
        f"cannot write {folder_of(target)}: No space left on device; the first 4 rows are kept in "
        f"{folder_of(target)}: free some space and continue with --resume"
    )
    # The part that could not be written takes no room.
    assert not any(path.suffix == ".tmp" for path in folder_of(target).iterdir())
    assert score(data, target, resume=True).n_resumed == 4
    assert target.read_bytes() == whole


def test_what_is_no_matter_of_room_is_not_called_one(
    data: Path, target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(self: Any, *_: object) -> None:
        raise OSError(5, "Input/output error", str(folder_of(target)))

    cut_short(data, target)
    monkeypatch.setattr(OwnFile, "open", broken)
    with pytest.raises(OutputError, match=r"parts: Input/output error$"):
        score(data, target, resume=True)
    monkeypatch.undo()
    monkeypatch.setattr(PartedFile, "clean_up", broken)
    with pytest.raises(OutputError, match=r"error; the first 7 rows are kept in .*: continue with"):
        score(data, target, resume=True)


def test_a_disk_that_is_full_from_the_beginning(
    data: Path, target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(OwnFile, "open", FullDisk(room_for=0).open)
    with pytest.raises(OutputError, match=r"No space left on device$"):
        score(data, target)
    assert list(target.parent.iterdir()) == []


def test_a_folder_that_is_not_there(data: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="does not exist; create it first"):
        score(data, tmp_path / "nowhere" / "scores.jsonl")
