"""The kernels, their flags and compiler directives; all other settings are in pyproject.toml."""

import os
from pathlib import Path

from setuptools import Extension, setup

# A checked build (bounds checks on, what _native/portable.h has in place of GNU C and AVX2) and a
# sanitized one are for tests, never for release. A strict one fails where the compiler warns.
CHECKED = os.environ.get("RAG_EVAL_CHECKED_BUILD") == "1"
SANITIZED = os.environ.get("RAG_EVAL_SANITIZED_BUILD") == "1"
STRICT = os.environ.get("RAG_EVAL_STRICT_BUILD") == "1"
SANITIZER_FLAGS = ["-fsanitize=address,undefined", "-fno-omit-frame-pointer", "-g1"]

COMPILE_FLAGS = [
    "-O3",
    # Packing neighbouring stores of a struct into one costs more moves than it saves: 8 % of all
    # instructions of the block pass.
    "-fno-tree-slp-vectorize",
    "-ffp-contract=off",  # a fused multiply-add would change the last bit of a score
    *(SANITIZER_FLAGS if SANITIZED else ["-g0"]),
    *(["-DRAG_EVAL_PLAIN_C"] if CHECKED else []),
    *(["-Wall", "-Wextra", "-Werror"] if STRICT else []),
]
DIRECTIVES = {
    "language_level": 3,
    "binding": True,
    "autotestdict": False,
    "freethreading_compatible": True,
    "cdivision": True,
    "wraparound": False,
    "boundscheck": CHECKED,
    "initializedcheck": CHECKED,
}


def extension(source: Path) -> Extension:
    """What tools/build_kernels.py translates and compiles."""
    made = Extension(
        f"rag_eval._native.{source.stem}",
        [source.as_posix()],
        include_dirs=["_native"],
        extra_compile_args=COMPILE_FLAGS,
        extra_link_args=SANITIZER_FLAGS if SANITIZED else [],
    )
    made.cython_directives = DIRECTIVES
    return made


# Processes that translate import this file again where they are not forked.
if __name__ == "__main__":
    # Each kernel has a copy of Cython's code for memoryviews. One for all would compile in half the
    # time, but an array whose address leaves the module is read anew after every store: 9 % of the
    # instructions of grounded scoring.
    sources = sorted(Path("_native").glob("*.pyx"))
    setup(ext_modules=[extension(source) for source in sources])
