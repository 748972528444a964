"""Which build the suite runs on: `make sanitize` and `make checked` must not test the release."""

from __future__ import annotations

import os
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

import pytest

import rag_eval
from rag_eval._native import exact_sums, overlap_block, text_columns

# What a compiled kernel holds only when it was built so.
ADDRESS_SANITIZER = b"__asan_init"
UNDEFINED_SANITIZER = b"__ubsan_handle"
BOUNDS_CHECK = b"Out of bounds on buffer access"
# Set by the Makefile to the folder of the build and its kind.
KIND, FOLDER = "RAG_EVAL_TESTED_BUILD", "RAG_EVAL_TESTED_FOLDER"

LOADED = [Path(kernel.__file__) for kernel in (exact_sums, overlap_block, text_columns)]


def kernels() -> list[Path]:
    folder = LOADED[0].parent
    return [path for suffix in EXTENSION_SUFFIXES[:1] for path in folder.glob(f"*{suffix}")]


def test_kernels_lie_in_the_package() -> None:
    package = Path(rag_eval.__file__).parent
    assert {path.parent for path in LOADED} == {package / "_native"}
    assert set(LOADED) <= set(kernels())


@pytest.mark.skipif(KIND not in os.environ, reason="not run by make sanitize or make checked")
def test_the_kernels_are_those_built_for_this_run() -> None:
    assert kernels()
    wanted = {
        "sanitized": {ADDRESS_SANITIZER, UNDEFINED_SANITIZER},
        "checked": {BOUNDS_CHECK},
        "release": set(),
    }[os.environ[KIND]]
    assert Path(os.environ[FOLDER]).resolve() in LOADED[0].resolve().parents
    for path in kernels():
        content = path.read_bytes()
        marks = {ADDRESS_SANITIZER, UNDEFINED_SANITIZER, BOUNDS_CHECK}
        assert {mark for mark in marks if mark in content} == wanted, path
