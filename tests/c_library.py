"""Wrappers of a kernel header in C -> the library that they compile to."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

NATIVE = Path(__file__).parents[1] / "_native"
STRICT = ("-O1", "-Wall", "-Wextra", "-Werror", "-std=c99")


def compiled(wrappers: str, folder: Path, *flags: str) -> Path:
    """The library, made in the folder; the test is skipped where there is no compiler."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("no C compiler")
    source, library = folder / "wrappers.c", folder / "wrappers.so"
    source.write_text(wrappers, encoding="ascii")
    command = [compiler, *flags, "-shared", "-fPIC", f"-I{NATIVE}", source, "-o", library]
    subprocess.run(command, check=True)
    return library
