"""The kernels and the compiler directives; all other settings are in pyproject.toml."""

import os
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup

# A checked build (bounds checks on) and a sanitized one are for tests, never for release.
CHECKED = os.environ.get("RAG_EVAL_CHECKED_BUILD") == "1"
SANITIZED = os.environ.get("RAG_EVAL_SANITIZED_BUILD") == "1"
SANITIZER_FLAGS = ["-fsanitize=address,undefined", "-fno-omit-frame-pointer", "-g1"]

COMPILE_FLAGS = [
    "-O3",
    # Packing neighbouring stores of a struct into one costs more moves than it saves: 8 % of all
    # instructions of the block pass.
    "-fno-tree-slp-vectorize",
    "-ffp-contract=off",  # a fused multiply-add would change the last bit of a score
    *(SANITIZER_FLAGS if SANITIZED else ["-g0"]),
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

setup(
    ext_modules=cythonize(
        [
            Extension(
                f"rag_eval._native.{source.stem}",
                [source.as_posix()],
                include_dirs=["_native"],
                extra_compile_args=COMPILE_FLAGS,
                extra_link_args=SANITIZER_FLAGS if SANITIZED else [],
            )
            for source in sorted(Path("_native").glob("*.pyx"))
        ],
        include_path=["_native"],
        # One folder per set of directives: generated C is not made anew for a change of those.
        build_dir="build/cython-checked" if CHECKED else "build/cython",
        compiler_directives=DIRECTIVES,
    )
)
