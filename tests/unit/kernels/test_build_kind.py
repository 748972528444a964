"""Which build the suite runs on: `make sanitize` and `make checked` must not test the release."""

from __future__ import annotations

import os
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

import numpy as np
import pytest

import rag_eval
from rag_eval._native import overlap_block, score_columns, text_columns

# Set by the Makefile: "sanitized" or "checked", and the folder of that build.
KIND, FOLDER = "RAG_EVAL_TESTED_BUILD", "RAG_EVAL_TESTED_FOLDER"

LOADED = [Path(kernel.__file__) for kernel in (score_columns, overlap_block, text_columns)]


def kernels() -> list[Path]:
    return sorted(LOADED[0].parent.glob(f"*{EXTENSION_SUFFIXES[0]}"))


def test_kernels_lie_in_the_package() -> None:
    package = Path(rag_eval.__file__).parent
    assert {path.parent for path in LOADED} == {package / "_native"}
    assert set(LOADED) <= set(kernels())


@pytest.mark.skipif(KIND not in os.environ, reason="only in make sanitize and make checked")
def test_the_kernels_are_those_built_for_this_run() -> None:
    assert Path(os.environ[FOLDER]).resolve() in LOADED[0].resolve().parents
    kind = os.environ[KIND]
    assert kind in {"sanitized", "checked"}
    for path in kernels():
        content = path.read_bytes()
        for mark in (b"__asan_init", b"__ubsan_handle"):
            assert (mark in content) == (kind == "sanitized"), path
        if kind == "checked":
            assert b"__cpu_model" not in content, "asks the processor what it has: not plain C"
    if kind == "checked":
        # Offsets need one more place than there are texts; a release would write past the end.
        with pytest.raises(IndexError, match="Out of bounds"):
            text_columns.pack(["a"], np.empty(1, np.int64))
