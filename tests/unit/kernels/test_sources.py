"""Rules of the Cython sources that the compiler does not enforce."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.tables import every_row

ROOT = Path(__file__).parents[3]
NATIVE = ROOT / "_native"
SOURCES = sorted(path for path in NATIVE.iterdir() if path.suffix in {".pyx", ".pxd", ".h"})
CYTHON = [path for path in SOURCES if path.suffix != ".h"]

BANNED = {
    r"\bprange\b": "threads are Python's, over row ranges",
    r"\bopenmp\b": "threads are Python's, over row ranges",
    r"\bcimport\s+numpy\b|\bfrom numpy\b": "kernels see flat typed buffers",
    r"\bctypedef fused\b|\bcython\.floating\b": "one type per buffer",
    r"^\s*include\s": "no .pxi files",
    r"^\s*#\s*(cython|distutils)\s*:": "directives are in setup.py only",
    r"\bTODO\b|\bFIXME\b|\bXXX\b": "no promises",
    r"\bprint\s*\(": "kernels are silent",
}
# What only some compilers know.
UNPORTABLE = r"__builtin_|__attribute__|__GNUC__|__int128|__atomic|\bssize_t\b|\[[^]\n]+ \.\.\. "
# A signature may run over lines, and buffer types in it hold colons.
FUNCTION = re.compile(r"^\s*cp?def\s[^=:#(]*\((?:\[[^\]]*\]|[^:\[])*?\)[^:\n]*(?::|$)", re.M)


def code(path: Path) -> str:
    """The source without docstrings and C text in triple quotes."""
    return re.sub(r'""".*?"""', '""', path.read_text(encoding="utf-8"), flags=re.S)


def read_setup() -> dict[str, object]:
    """The compiler directives of a release, as setup.py has them."""
    for node in ast.parse((ROOT / "setup.py").read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "DIRECTIVES":
            return dict(eval(ast.unparse(node.value), {"CHECKED": False}))
    raise AssertionError("setup.py has no DIRECTIVES")


def test_release_directives() -> None:
    directives = read_setup()
    assert directives["boundscheck"] is False
    assert directives["freethreading_compatible"] is True


# `make lint` runs the two that compile: half a minute for what no change but one of sources breaks.
@pytest.fixture(scope="module")
def compiler_output(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What Cython says about the kernels under the release directives."""
    pytest.importorskip("Cython")
    program = f"""
from Cython.Build import cythonize
cythonize(
    {[str(path) for path in SOURCES if path.suffix == ".pyx"]},
    include_path=[{str(NATIVE)!r}],
    build_dir={str(tmp_path_factory.mktemp("cython"))!r},
    compiler_directives={read_setup()!r},
    force=True,
    nthreads={os.cpu_count()},
)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, cwd=ROOT
    )
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


@pytest.mark.deep
def test_no_performance_hint(compiler_output: str) -> None:
    """A hint means that the GIL is taken after a call, or an exception is checked for."""
    assert compiler_output.count("Cythonizing") == len(list(NATIVE.glob("*.pyx")))
    assert "performance hint" not in compiler_output.lower(), compiler_output


@pytest.mark.deep
def test_no_warning(compiler_output: str) -> None:
    assert "warning:" not in compiler_output.lower(), compiler_output


@every_row("path", SOURCES, ids=lambda path: path.name)
@every_row("pattern", BANNED)
def test_banned_words(path: Path, pattern: str) -> None:
    # C blocks are sources too, so docstrings are not left out.
    found = re.search(pattern, path.read_text(encoding="utf-8"), re.M | re.I)
    assert found is None, f"{found[0]!r}: {BANNED[pattern]}"


def test_what_compilers_differ_in_is_in_one_header() -> None:
    """There each has a fallback, which `make checked` runs."""
    with_it = {path.name for path in SOURCES if re.search(UNPORTABLE, path.read_text("utf-8"))}
    assert with_it == {"portable.h"}


def test_the_gil_is_taken_back_for_signals_alone() -> None:
    """A kernel that takes it stops the other threads; that one does in the main thread, rarely."""
    with_it = {path.name for path in SOURCES if re.search(r"\bwith gil\b", path.read_text("utf-8"))}
    assert with_it == {"stopping.pxd"}


@every_row("path", CYTHON, ids=lambda path: path.name)
def test_every_nogil_function_says_how_it_fails(path: Path) -> None:
    """A bare ``nogil`` makes Cython 3 take the GIL after every call, to look for an exception."""
    text = code(path)
    for signature in (found[0] for found in FUNCTION.finditer(text)):
        if re.search(r"\bnogil\b", signature):
            assert re.search(r"\bnoexcept nogil\b|\bexcept -1 nogil\b", signature), signature
    # And what is declared from C.
    for line in text.splitlines():
        if re.search(r"\)\s*nogil\b", line):
            raise AssertionError(f"{path.name}: {line.strip()}")


def test_the_signature_pattern_sees_functions() -> None:
    """Guards the test above against a pattern that finds nothing."""
    text = "".join(map(code, CYTHON))
    n_cdef = len(re.findall(r"^cdef (?:inline )?[\w* ]+?\*? ?\w+\(", text, re.M))
    n_found = sum(1 for found in FUNCTION.finditer(text) if not found[0].startswith(" "))
    assert n_found >= n_cdef > 60
    for wrong in ("cdef int f(int a) nogil:", "cdef void g(\n    const int[::1] a,\n) nogil:"):
        found = FUNCTION.search(wrong)
        assert found
        assert "noexcept" not in found[0]
        assert "nogil" in found[0]


@every_row("path", CYTHON, ids=lambda path: path.name)
def test_kernels_do_not_cimport_one_another(path: Path) -> None:
    """With sources in _native/ such a cimport builds, and then fails on import."""
    kernels = {source.stem for source in CYTHON if source.suffix == ".pyx"}
    for name in re.findall(r"^\s*from\s+([\w.]+)\s+cimport", code(path), re.M):
        assert name not in kernels
    if path.suffix == ".pxd":
        assert not path.with_suffix(".pyx").exists()


@every_row("path", CYTHON, ids=lambda path: path.name)
def test_everything_that_is_cimported_is_used(path: Path) -> None:
    """The linter looks at imports alone."""
    text = code(path)
    for found in re.finditer(r"^from ([\w.]+) cimport (\([^)]*\)|.*)", text, re.M):
        if (path.stem, found[1]) == ("primitives", "libc.stdint"):
            continue  # all others have these types from here
        rest = text[: found.start()] + text[found.end() :]
        for name in re.findall(r"\w+", found[2]):
            assert re.search(rf"\b{name}\b", rest), name


def test_every_kernel_has_a_docstring() -> None:
    for path in CYTHON:
        assert path.read_text(encoding="utf-8").startswith('"""'), path.name
