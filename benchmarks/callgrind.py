"""Runs of Python under callgrind.  In: a program.  Out: the instructions that were counted."""

from __future__ import annotations

import importlib
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Final

ROOT: Final = Path(__file__).resolve().parent.parent

# Valgrind shows every processor with AVX2 as one and the same, so the kernel's choice of code and
# glibc's are the same on all of them. It counts each step of a `rep stos` or `rep movs` as one
# instruction, though, and glibc's limits for using those follow the caches of the real processor:
# they are set out of reach. Dynamic linking happens before the count begins.
_TUNABLES: Final = ":".join(
    f"glibc.cpu.x86_{name}_threshold={1 << 40}"
    for name in ("rep_stosb", "rep_movsb", "non_temporal")
)
_ENVIRONMENT: Final = {
    "PYTHONHASHSEED": "0",
    "GLIBC_TUNABLES": _TUNABLES,
    "LD_BIND_NOW": "1",
    "LC_ALL": "C.UTF-8",
}


class CountError(Exception):
    """Something could not be measured."""


def run_callgrind(
    flags: Sequence[str], out_file: Path, program: Sequence[str], stdin: IO[bytes] | None = None
) -> str:
    """Run Python and write its counts; its output. The environment is always the same."""
    valgrind = ["valgrind", "--tool=callgrind", *flags, f"--callgrind-out-file={out_file}"]
    command = [*valgrind, sys.executable, *program]
    done = subprocess.run(
        command,
        cwd=ROOT,
        env={"PATH": os.environ.get("PATH", ""), **_ENVIRONMENT},
        stdin=stdin,
        capture_output=True,
        text=True,
    )
    if done.returncode != 0:
        raise CountError(f"valgrind ended with {done.returncode}:\n{done.stderr[-2000:]}")
    return done.stdout


def read_total(out_file: Path) -> int:
    """Instructions collected, from callgrind's output file; 0 when there is no total."""
    if not out_file.exists():
        raise CountError(f"callgrind did not write {out_file.name}")
    found = re.search(r"^(?:summary|totals): (\d+)", out_file.read_text(), re.MULTILINE)
    return int(found[1]) if found else 0


def count_children(
    wrappers: Sequence[str], module: str, stdin: IO[bytes] | None = None
) -> list[int]:
    """Instructions inside of wrappers for each call of a module that makes them in children."""
    flags = ["--collect-atstart=no", *(f"--toggle-collect={wrapper}" for wrapper in wrappers)]
    with tempfile.TemporaryDirectory() as folder:
        out_files = Path(folder) / "calls.%p"
        children = run_callgrind(flags, out_files, ["-m", module], stdin).split()
        inherited, *totals = (read_total(out_files.with_suffix(f".{child}")) for child in children)
    counts = [total - inherited for total in totals]
    if min(counts) <= 0:
        raise CountError(
            f"{module}: callgrind collected no instruction inside a kernel; the function was not "
            "found, or its symbols were stripped"
        )
    return counts


def wrapper_of(kernel: str, function: str) -> str:
    """The full name of a ``def`` wrapper: callgrind finds one pattern, but not one of several."""
    module = importlib.import_module(f"rag_eval._native.{kernel}")
    content = Path(str(module.__file__)).read_bytes()
    found = re.search(rf"\0(__pyx_pw_\w+_\d+{function})\0".encode(), content)
    if found is None:
        raise CountError(f"{kernel} has no symbol of {function}; it was stripped")
    return found[1].decode()
