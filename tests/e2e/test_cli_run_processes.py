"""``rag-eval run`` as a process: pipes, streams that are closed or full, and signals."""

from __future__ import annotations

import gzip
import json
import os
import signal
from pathlib import Path
from subprocess import PIPE
from typing import Any

import pytest

from tests.run_command import FAITH, FIELDS, GOOD, samples
from tests.warm_processes import COMMAND, WarmProcess, run_warm

NOT_MEASURED = "not measured: context_recall, answer_correctness (no ground truth)\n"


def test_standard_input(good: Path) -> None:
    running = WarmProcess("run", "-", *FAITH, stdin=PIPE)
    out, err = running.communicate(b"\xef\xbb\xbf" + good.read_bytes() + b"\r\n")
    assert (running.returncode, err) == (0, FIELDS.encode())
    assert b"2 samples scored" in out
    running = WarmProcess("run", "-", *FAITH, stdin=PIPE)
    _, err = running.communicate(b"{}")
    assert running.returncode == 2
    told = (
        "standard input has no fields 'answer' and 'contexts', and no unused column that could be"
    )
    next_step = "Add them to the rows, or request other metrics"
    assert err.decode() == f"error: {told} them. {next_step}\n"


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
    assert f"wrote the partial result {partial}" in err.decode()
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


# Ctrl-C while the page is made.
PAGE = """
from rag_eval.cli import main
from rag_eval.reports.page import page

def write_page(view, path):
    raise KeyboardInterrupt

page.write_page = write_page
main()
"""


def test_ctrl_c_while_reports_are_made_tells_what_is_there(good: Path) -> None:
    result, page = good.with_name("o.json"), good.with_name("o.html")
    done = run_warm("run", good, "--quiet", "--output", result, "--html", page, code=PAGE)
    text = f"interrupted; wrote {result}; not all reports were written"
    assert (done.returncode, done.stderr.decode().strip()) == (130, text)
    assert json.loads(result.read_bytes())["results"]
    done = run_warm("run", good, "--quiet", "--html", page, code=PAGE)
    assert (done.returncode, done.stderr.strip()) == (130, b"interrupted; nothing was written")


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
