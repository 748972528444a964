"""Processes of the command, forked from one that has imported it already.

Each has streams, signals, an environment and a folder of its own, and ends as Python ends. Tests
of imports, of limits from outside or of how Python starts use ``subprocess``.
"""

from __future__ import annotations

import atexit
import json
import os
import select
import signal
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from subprocess import DEVNULL, PIPE
from typing import IO, Any, Self

ROOT = Path(__file__).parents[1]
COMMAND = "import runpy; runpy.run_module('rag_eval', run_name='__main__', alter_sys=True)"
# A process in between waits for each child: its parent may be told of no other process's end.
_SERVER = """
import gc, importlib, json, os, runpy, signal, socket, sys

for name in sys.argv[2:]:
    importlib.import_module(name)
server = socket.socket(fileno=int(sys.argv[1]))
gc.freeze()  # a child's collections copy no page of what was imported
between = set()
while True:
    request, streams, _, _ = socket.recv_fds(server, 1 << 20, 4)
    between -= {each for each in between if os.waitpid(each, os.WNOHANG)[0]}
    if not request:
        os._exit(0)
    forked = os.fork()
    if not forked:
        break
    between.add(forked)
    for stream in streams:
        os.close(stream)
server.close()
child = os.fork()
if child:
    for stream in streams[:3]:
        os.close(stream)
    for stream in range(3):
        os.close(stream)
    os.write(streams[3], b"%d\\n" % child)
    os.write(streams[3], b"%d\\n" % os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    os._exit(0)
os.close(streams[3])
for place, stream in enumerate(streams[:3]):
    os.dup2(stream, place)
    os.close(stream)
asked = json.loads(request)
os.environ.clear()
os.environ.update(asked["environment"])
os.chdir(asked["folder"])
sys.path[:0] = ["", *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
sys.argv = ["-c", *asked["arguments"]]
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.stdin, sys.stdout = open(0), open(1, "w")
sys.stderr = open(2, "w", buffering=1, errors="backslashreplace")
for name in ("stdin", "stdout", "stderr"):
    setattr(sys, f"__{name}__", getattr(sys, name))
exec(compile(asked["code"], "<string>", "exec"), {"__name__": "__main__"})
"""
_IMPORTED = (
    "rag_eval.cli.run",
    "rag_eval.cli.score",
    "rag_eval.jobs.file_run",
    "rag_eval.jobs.file_scoring",
    "rag_eval.reports.run",
)


@cache
def _server(imported: tuple[str, ...], measured: str | None) -> socket.socket:
    """A connection to the process that forks; it ends with this one.

    Of what is measured and what is not, each has one of its own.
    """
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        forking = subprocess.Popen(
            [sys.executable, "-c", _SERVER, str(theirs.fileno()), *imported],
            cwd=ROOT,
            # Threads would be missing in a fork.
            env={**os.environ, "PYTHONPATH": str(ROOT), "OPENBLAS_NUM_THREADS": "1"},
            pass_fds=[theirs.fileno()],
        )

    def end() -> None:
        ours.close()
        forking.wait()

    atexit.register(end)
    return ours


class WarmProcess:
    """As ``subprocess.Popen``, of the command or of ``code`` that reads ``sys.argv``."""

    def __init__(
        self,
        *arguments: object,
        code: str = COMMAND,
        cwd: Path = ROOT,
        env: dict[str, str] | None = None,
        stdin: Any = DEVNULL,
        stdout: Any = PIPE,
        stderr: Any = PIPE,
        text: bool = False,
        imported: tuple[str, ...] = (),
    ) -> None:
        asked = {
            "arguments": [str(one) for one in arguments],
            "code": code,
            "environment": {**os.environ, "PYTHONPATH": str(ROOT), **(env or {})},
            "folder": str(cwd),
        }
        self.returncode: int | None = None
        self._text = text
        self._theirs: list[int] = []
        self.stdin = self._stream(stdin, "w")
        self.stdout = self._stream(stdout, "r")
        self.stderr = self._stream(stderr, "r")
        self._status: IO[bytes] = self._pipe("rb")
        server = _server((*_IMPORTED, *imported), os.environ.get("COVERAGE_PROCESS_START"))
        socket.send_fds(server, [json.dumps(asked).encode()], self._theirs)
        for stream in self._theirs:
            os.close(stream)
        self.pid = int(self._status.readline())

    def _pipe(self, mode: str) -> IO[Any]:
        reading, writing = os.pipe()
        ours, theirs = (reading, writing) if "r" in mode else (writing, reading)
        self._theirs.append(theirs)
        return os.fdopen(ours, mode, buffering=-1 if "r" in mode else 0 if "b" in mode else 1)

    def _stream(self, given: Any, mode: str) -> IO[Any] | None:
        if given == PIPE:
            return self._pipe(mode if self._text else f"{mode}b")
        if given == DEVNULL:
            self._theirs.append(os.open(os.devnull, os.O_RDWR))
        else:
            self._theirs.append(os.dup(given if isinstance(given, int) else given.fileno()))
        return None

    def poll(self) -> int | None:
        if self.returncode is None and select.select([self._status], [], [], 0)[0]:
            self.wait()
        return self.returncode

    def wait(self) -> int:
        if self.returncode is None:
            self.returncode = int(self._status.readline())
            self._status.close()
        return self.returncode

    def communicate(self, given: Any = None, *, timeout: float | None = None) -> tuple[Any, Any]:
        with ThreadPoolExecutor(2) as pool:
            reading = [
                pool.submit(each.read) if each else None for each in (self.stdout, self.stderr)
            ]
            if self.stdin:
                self.stdin.write(given or ("" if self._text else b""))
                self.stdin.close()
            try:
                out, err = (each and each.result(timeout) for each in reading)
            except TimeoutError:
                self.kill()
                raise
        self.__exit__()
        return out, err

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for stream in (self.stdin, self.stdout, self.stderr):
            if stream:
                stream.close()
        self.wait()


def limited(n_bytes: int) -> str:
    """The command, where no file may become longer: what a full disk looks like from inside.

    It writes no bytecode: some versions of Python cut it off there, and cannot read it ever after.
    """
    limits = f"resource.RLIMIT_FSIZE, ({n_bytes}, {n_bytes})"
    return (
        "import resource, sys; sys.dont_write_bytecode = True; "
        f"resource.setrlimit({limits}); {COMMAND}"
    )


def run_warm(*arguments: object, **options: Any) -> subprocess.CompletedProcess[Any]:
    """As ``subprocess.run``."""
    with WarmProcess(*arguments, **options) as running:
        out, err = running.communicate()
    assert running.returncode is not None
    return subprocess.CompletedProcess([*map(str, arguments)], running.returncode, out, err)
