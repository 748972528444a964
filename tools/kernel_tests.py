"""Names the tests of a kernel source.

    python tools/kernel_tests.py overlap

A name is that of a file in ``_native/``, without its ending or not, or what comes before an
underscore in some. A source is part of each kernel that includes it, directly or not. The
tests of a kernel are the files in ``tests/`` that import it and no other kernel, and those that
import from these and no kernel; where there are none, those that import a module of ``rag_eval``
that calls it.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NATIVE = ROOT / "_native"
INCLUDES = re.compile(r'^\s*from (\w+) cimport|(?:from|#include) "(\w+\.h)"', re.M)

IMPORTS = re.compile(r"^(?:from ([\w.]+) import (\([^)]*\)|.*)|import ([\w.]+))", re.M)


def named(name: str) -> set[Path]:
    """The sources that a name stands for; the program ends where there is none."""
    sources = sorted(path for path in NATIVE.iterdir() if path.suffix in {".pyx", ".pxd", ".h"})
    rules: list[Callable[[Path], bool]] = [
        lambda path: name in {path.name, path.stem},
        lambda path: path.name.startswith(f"{name}_"),
    ]
    for rule in rules:
        if found := {path for path in sources if rule(path)}:
            return found
    known = ", ".join(dict.fromkeys(path.stem for path in sources))
    sys.exit(f"no file of _native/ is called {name!r}; there are {known}")


@cache
def included(source: Path) -> set[Path]:
    """The sources that one includes itself."""
    found = INCLUDES.findall(source.read_text(encoding="utf-8"))
    paths = {NATIVE / (header or f"{module}.pxd") for module, header in found}
    return {path for path in paths if path.exists()}


def kernels_with(sources: set[Path]) -> set[str]:
    """The kernels that one of the sources is part of."""
    found = set()
    for kernel in NATIVE.glob("*.pyx"):
        parts, left = {kernel}, [kernel]
        while left:
            new = included(left.pop()) - parts
            parts |= new
            left += new
        if parts & sources:
            found.add(kernel.stem)
    return found


@cache
def imports(path: Path) -> set[str]:
    """The full names that a file of Python imports."""
    names = set()
    for package, listed, module in IMPORTS.findall(path.read_text(encoding="utf-8")):
        names |= {package or module, *(f"{package}.{name}" for name in re.findall(r"\w+", listed))}
    return names


def tests_of(kernels: set[str]) -> list[Path]:
    """The test files of some kernels."""
    own = {f"rag_eval._native.{path.stem}" for path in NATIVE.glob("*.pyx")}
    tests = {path: imports(path) for path in (ROOT / "tests").rglob("test_*.py")}
    modules = {
        ".".join(path.relative_to(ROOT).with_suffix("").parts): imports(path)
        for path in (ROOT / "rag_eval").rglob("*.py")
    }
    found: set[Path] = set()
    for kernel in kernels:
        wanted = {f"rag_eval._native.{kernel}"}
        of_it = {path for path, names in tests.items() if names & own == wanted}
        beside = {".".join(path.relative_to(ROOT).with_suffix("").parts) for path in of_it}
        of_it |= {path for path, names in tests.items() if names & beside and not names & own}
        callers = {module for module, names in modules.items() if names & wanted}
        found |= of_it or {path for path, names in tests.items() if names & callers}
    return sorted(found)


def main() -> None:
    """Print the test files of the kernel sources that a name stands for."""
    if len(sys.argv) != 2:
        sys.exit("usage: python tools/kernel_tests.py NAME, of a file in _native/")
    for path in tests_of(kernels_with(named(sys.argv[1]))):
        print(path.relative_to(ROOT))


if __name__ == "__main__":
    main()
