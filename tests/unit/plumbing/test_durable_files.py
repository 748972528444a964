"""Files that are written as a whole: their modes, owners and links, and what is left over."""

from __future__ import annotations

import errno
import fcntl
import gzip
import os
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from threading import Thread
from unittest.mock import Mock

import pytest

from rag_eval.errors import InputError
from rag_eval.plumbing import durable_files, temporary_files
from rag_eval.plumbing.durable_files import atomic_file
from rag_eval.plumbing.own_folder import OwnFile, OwnFolder

ROOT = Path(__file__).parents[3]
_NOBODY = 65534
_LEFTOVER = ".out.json.0123456789abcdef.rag-eval"


def write(path: Path, data: bytes = b"new", **options: OwnFile) -> None:
    with atomic_file(path, **options) as file:  # type: ignore[arg-type]
        file.write(data)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def attributes_of(path: Path) -> dict[str, bytes]:
    try:
        return {name: os.getxattr(path, name) for name in os.listxattr(path)}
    except OSError:
        return {}  # a file system without any


def hidden(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir() if path.name.startswith(".")]


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that an ordinary user reaches, too."""
    path = Path(tempfile.mkdtemp(dir="/tmp"))
    path.chmod(0o777)
    yield path
    path.chmod(0o777)
    shutil.rmtree(path)


def as_ordinary_user(action: Callable[[], None]) -> None:
    """Run it in a process to which modes of files apply, also where the tests run as root."""
    child = os.fork()
    if child == 0:
        code = 1
        with suppress(BaseException):
            try:
                if os.geteuid() == 0:
                    os.setgroups([])
                    os.setresgid(_NOBODY, _NOBODY, _NOBODY)
                    os.setresuid(_NOBODY, _NOBODY, _NOBODY)
                action()
                code = 0
            except BaseException:
                traceback.print_exc()
        os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


# ------------------------------------------------------------------------------- to the disk


def advice_of(monkeypatch: pytest.MonkeyPatch, error: OSError | None = None) -> list[range]:
    """Where the system is told from now on that bytes of a file are needed no more."""
    told: list[range] = []

    def posix_fadvise(file: int, begin: int, n_bytes: int, advice: int) -> None:
        assert (stat.S_ISREG(os.fstat(file).st_mode), advice) == (True, os.POSIX_FADV_DONTNEED)
        told.append(range(begin, begin + n_bytes))
        if error is not None:
            raise error

    monkeypatch.setattr(os, "posix_fadvise", posix_fadvise)
    return told


def test_large_files_are_on_their_way_to_the_disk_while_they_are_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = OwnFolder(tmp_path / "own")
    pieces = [b"begin", *(bytes([number]) * 700_000 for number in range(20)), b"end"]
    for temporary in (None, folder.file("temporary")):
        told = advice_of(monkeypatch)
        with atomic_file(tmp_path / "out.json", temporary=temporary) as file:
            for piece in pieces:
                file.write(piece)
            n_written = file.tell()
            file.seek(0)
            for piece in pieces[:8]:  # once more, of which nothing is to be told
                file.write(piece)
        assert (tmp_path / "out.json").read_bytes() == b"".join(pieces)
        assert [one.start for one in told] == [0, *(one.stop for one in told[:-1])]
        assert n_written - 5_000_000 < told[-1].stop <= n_written
        assert max(map(len, told)) < 5_000_000
    folder.close()


def test_a_handler_that_raises_has_nothing_written_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As one of SIGALRM may, at any place in Python's code."""
    pieces = [bytes([number]) * 3_000_000 for number in range(5)]
    monkeypatch.setattr(os, "posix_fadvise", Mock(side_effect=TimeoutError))
    with atomic_file(tmp_path / "out.json") as file:
        for piece in pieces:
            with suppress(TimeoutError):
                file.write(piece)
    assert (tmp_path / "out.json").read_bytes() == b"".join(pieces)


def test_file_systems_that_take_no_advice_are_written_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = bytes(9_000_000)
    told = advice_of(monkeypatch, OSError(errno.EINVAL, "Invalid argument"))
    write(tmp_path / "out.json", content)
    assert told
    monkeypatch.delattr(os, "posix_fadvise")
    write(tmp_path / "other.json", content)
    for name in ("out.json", "other.json"):
        assert (tmp_path / name).read_bytes() == content


# --------------------------------------------------------------------------- modes and owners


def test_a_new_file_has_the_mode_of_any_new_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for mask in (0o022, 0o027, 0o077):
        before = os.umask(mask)
        try:
            with monkeypatch.context() as patch:
                # Other threads would make files with the mask of the whole process.
                patch.delattr(os, "umask")
                write(tmp_path / f"{mask}.json")
        finally:
            os.umask(before)
        assert mode(tmp_path / f"{mask}.json") == 0o666 & ~mask


def test_an_existing_file_keeps_its_mode_and_nobody_else_reads_the_new_one_before(
    tmp_path: Path,
) -> None:
    for index, kept in enumerate((0o600, 0o640, 0o664, 0o755, 0o606)):
        path = tmp_path / f"{index}.json"
        path.write_bytes(b"old")
        path.chmod(kept)
        with atomic_file(path) as file:
            file.write(b"new")
            assert [mode(tmp_path / name) for name in hidden(tmp_path)] == [0o600]
        assert (path.read_bytes(), mode(path)) == (b"new", kept)


def test_an_existing_file_keeps_its_owner_and_its_attributes(tmp_path: Path) -> None:
    path = tmp_path / "out.json"
    path.write_bytes(b"old")
    if os.geteuid() == 0:
        os.chown(path, 12345, 12346)
    path.chmod(0o640)
    with suppress(OSError):  # not every file system has them
        os.setxattr(path, "user.origin", b"test")
    before, attributes = path.stat(), attributes_of(path)
    write(path)
    after = path.stat()
    assert path.read_bytes() == b"new"
    assert (after.st_uid, after.st_gid, after.st_mode) == (
        before.st_uid,
        before.st_gid,
        before.st_mode,
    )
    assert attributes_of(path) == attributes


def test_a_file_whose_owner_cannot_be_kept_is_written_into(folder: Path) -> None:
    path = folder / "out.json"
    path.write_bytes(b"old and longer")
    path.chmod(0o666)
    before = path.stat()

    def check() -> None:
        def denied(*_: object) -> None:
            raise PermissionError(errno.EPERM, "Operation not permitted")

        os.fchown = denied  # type: ignore[assignment]  # in a process of its own
        write(path)
        with pytest.raises(ZeroDivisionError), atomic_file(path):
            _ = 1 / 0

    if os.geteuid() != 0:
        pytest.MonkeyPatch().setattr(durable_files, "_takes_after", lambda *_: False)
    as_ordinary_user(check)
    after = path.stat()
    assert path.read_bytes() == b"new"
    assert (after.st_ino, after.st_uid, after.st_mode) == (
        before.st_ino,
        before.st_uid,
        before.st_mode,
    )
    assert hidden(folder) == []


def test_a_file_in_a_folder_that_takes_no_other_is_written_into(folder: Path) -> None:
    path = folder / "out.json"
    path.write_bytes(b"old and longer")
    path.chmod(0o666)
    folder.chmod(0o555)

    def check() -> None:
        with suppress(ZeroDivisionError), atomic_file(path) as file:
            file.write(b"torn")
            _ = 1 / 0
        assert path.read_bytes() == b"old and longer"
        write(path)
        assert path.read_bytes() == b"new"
        with pytest.raises(InputError, match=r"cannot write .*/more.json: Permission denied"):
            write(folder / "more.json")

    as_ordinary_user(check)
    assert mode(path) == 0o666


def test_a_file_that_cannot_be_written_is_not_replaced(folder: Path) -> None:
    path = folder / "out.json"
    path.write_bytes(b"old")
    path.chmod(0o444)

    def check() -> None:
        with pytest.raises(InputError, match=r"cannot write .*/out.json: Permission denied"):
            write(path)

    as_ordinary_user(check)
    assert (path.read_bytes(), mode(path), hidden(folder)) == (b"old", 0o444, [])


def test_a_mount_point_is_written_into(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "out.json"
    path.write_bytes(b"old and longer")

    def busy(old: Path, new: Path) -> None:
        raise OSError(errno.EBUSY, "Device or resource busy")

    monkeypatch.setattr(durable_files, "rename_durably", busy)
    write(path)
    assert path.read_bytes() == b"new"
    assert hidden(tmp_path) == []


# ------------------------------------------------------------------------------------- links


def test_links_are_followed_and_stay(tmp_path: Path) -> None:
    (tmp_path / "far" / "deep").mkdir(parents=True)
    real = tmp_path / "far" / "deep" / "real.json"
    real.write_bytes(b"old")
    real.chmod(0o600)
    (tmp_path / "far" / "middle.json").symlink_to("deep/real.json")
    (tmp_path / "link.json.gz").symlink_to("far/middle.json")
    write(tmp_path / "link.json.gz")
    assert gzip.decompress(real.read_bytes()) == b"new"
    assert mode(real) == 0o600
    assert (tmp_path / "link.json.gz").readlink() == Path("far/middle.json")
    assert (tmp_path / "far" / "middle.json").readlink() == Path("deep/real.json")
    # A name that was given for the time of writing may lie on another file system.
    assembled = OwnFolder(tmp_path / "parts").file("assembled")
    write(tmp_path / "link.json.gz", b"newer", temporary=assembled)
    assert gzip.decompress(real.read_bytes()) == b"newer"
    assert [list((tmp_path / "parts").iterdir()), hidden(real.parent)] == [[], []]


def test_a_link_to_nothing_makes_the_file_that_it_names(tmp_path: Path) -> None:
    (tmp_path / "link.json").symlink_to("new.json")
    write(tmp_path / "link.json")
    assert (tmp_path / "new.json").read_bytes() == b"new"
    assert (tmp_path / "link.json").is_symlink()
    (tmp_path / "lost.json").symlink_to("none/new.json")
    with pytest.raises(InputError, match=r"cannot write .*/lost.json: No such file or directory"):
        write(tmp_path / "lost.json")


def test_what_cannot_be_written_is_refused_before_the_block(tmp_path: Path) -> None:
    (tmp_path / "loop.json").symlink_to("loop.json")
    (tmp_path / "folder.json").mkdir()
    os.mknod(tmp_path / "socket.json", stat.S_IFSOCK | 0o600)
    for name, reason in {
        "loop.json": "Too many levels of symbolic links",
        "folder.json": "it is a folder",
        "socket.json": "it is neither a file nor a pipe",
        "none/out.json": "No such file or directory",
    }.items():
        with pytest.raises(InputError, match=f"cannot write .*/{name}: {reason}"):
            write(tmp_path / name)
    with pytest.raises(InputError, match="cannot write /dev/fd/987: "):
        write(Path("/dev/fd/987"))


# ------------------------------------------------------------------------- pipes and devices


def test_pipes_are_written_to(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.json"
    os.mkfifo(pipe)
    read: list[bytes] = []
    reader = Thread(target=lambda: read.append(pipe.read_bytes()), daemon=True)
    reader.start()
    write(pipe, temporary=OwnFolder(tmp_path / "parts").file("assembled"))
    reader.join(60)
    assert read == [b"new"]
    assert pipe.is_fifo()
    assert list((tmp_path / "parts").iterdir()) == []


def test_devices_and_open_files_are_written_to(folder: Path) -> None:
    """As an ordinary user: root could replace the devices of the machine."""
    (folder / "null.json").symlink_to("/dev/null")
    (folder / "link.txt").symlink_to("/dev/stdout")
    names = ("/dev/stdout", "/dev/fd/1", "/proc/self/fd/1", str(folder / "link.txt"))

    def check() -> None:
        write(folder / "null.json")
        for name in names:
            with (folder / "printed.txt").open("wb") as file:
                os.dup2(file.fileno(), 1)
            with open(1, "w", closefd=False) as sys.stdout:
                print("before")
                write(Path(name), b"new\n")
                print("after")
            assert (folder / "printed.txt").read_text() == "before\nnew\nafter\n", name

    as_ordinary_user(check)
    assert Path("/dev/null").is_char_device()
    assert sorted(path.name for path in folder.iterdir()) == [
        "link.txt",
        "null.json",
        "printed.txt",
    ]


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT)}


# --------------------------------------------------------------------------- what is left over

_WRITER = """
import sys
from rag_eval.plumbing.durable_files import atomic_file
with atomic_file(sys.argv[1]) as file:
    file.write(b"of the other")
    print("open", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def writer(tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Another process, which is writing ``out.json``."""
    with subprocess.Popen(
        [sys.executable, "-c", _WRITER, tmp_path / "out.json"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environment(),
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"open\n"
        yield process
        process.kill()


def test_what_a_killed_process_has_left_is_removed_by_the_next(
    tmp_path: Path, writer: subprocess.Popen[bytes]
) -> None:
    writer.send_signal(signal.SIGKILL)
    writer.wait()
    assert len(hidden(tmp_path)) == 1
    write(tmp_path / "another.json")
    assert len(hidden(tmp_path)) == 1
    write(tmp_path / "out.json")
    assert [path.name for path in sorted(tmp_path.iterdir())] == ["another.json", "out.json"]


def test_of_two_writers_the_last_that_ends_wins(
    tmp_path: Path, writer: subprocess.Popen[bytes]
) -> None:
    write(tmp_path / "out.json")
    assert (tmp_path / "out.json").read_bytes() == b"new"
    assert len(hidden(tmp_path)) == 1
    writer.communicate(timeout=60)
    assert writer.returncode == 0
    assert (tmp_path / "out.json").read_bytes() == b"of the other"
    assert hidden(tmp_path) == []


def test_only_files_that_this_user_left_are_removed(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_bytes(b"kept")
    others = [
        ".out.json",
        ".out.json.0123456789abcdef",
        ".out.json.0123456789abcde.rag-eval",
        ".out.json.0123456789abcdefg.rag-eval",
        ".out_json.0123456789abcdef.rag-eval",
        "out.json.0123456789abcdef.rag-eval",
    ]
    for name in others:
        (tmp_path / name).write_bytes(b"")
    link = tmp_path / ".out.json.00000000000000aa.rag-eval"
    link.symlink_to(victim)
    pipe = tmp_path / ".out.json.00000000000000bb.rag-eval"
    os.mkfifo(pipe)
    (tmp_path / ".out.json.00000000000000cc.rag-eval").mkdir()
    locked = tmp_path / ".out.json.00000000000000dd.rag-eval"
    others += [link.name, pipe.name, ".out.json.00000000000000cc.rag-eval", locked.name]
    if os.geteuid() == 0:
        strange = tmp_path / ".out.json.00000000000000ee.rag-eval"
        strange.touch()
        os.chown(strange, 12345, 12345)
        others.append(strange.name)
    (tmp_path / _LEFTOVER).touch()
    with locked.open("wb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        write(tmp_path / "out.json")
    assert {path.name for path in tmp_path.iterdir()} == {*others, "victim", "out.json"}
    assert victim.read_bytes() == b"kept"


def test_a_file_that_is_taken_for_left_over_before_it_is_locked_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken: list[str] = []

    def first_another(file: object, how: int) -> None:
        if not taken:
            taken.extend(hidden(tmp_path))
            (tmp_path / taken[0]).unlink()

    monkeypatch.setattr(temporary_files.fcntl, "flock", first_another)
    write(tmp_path / "out.json")
    assert len(taken) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["out.json"]
    assert (tmp_path / "out.json").read_bytes() == b"new"


def test_a_file_system_without_locks_takes_files_and_keeps_what_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_locks(file: object, how: int) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    (tmp_path / _LEFTOVER).touch()
    monkeypatch.setattr(temporary_files.fcntl, "flock", no_locks)
    write(tmp_path / "out.json")
    assert {path.name for path in tmp_path.iterdir()} == {_LEFTOVER, "out.json"}


def test_a_name_for_the_time_of_writing_is_never_a_link(tmp_path: Path) -> None:
    victim, parts = tmp_path / "victim", OwnFolder(tmp_path / "parts")
    victim.write_bytes(b"kept")
    (tmp_path / "parts" / "assembled").symlink_to(victim)
    write(tmp_path / "out.json", temporary=parts.file("assembled"))
    assert victim.read_bytes() == b"kept"
    assert (tmp_path / "out.json").read_bytes() == b"new"
    assert not (tmp_path / "out.json").is_symlink()
    (tmp_path / "usual").touch()
    assert mode(tmp_path / "out.json") == mode(tmp_path / "usual")
