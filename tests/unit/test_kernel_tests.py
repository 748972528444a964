"""`make kernel-test K=overlap` runs the tests of what K is part of, and says when there is none."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs_pages import tool

NATIVE = Path(__file__).parents[2] / "_native"


def files_of(name: str) -> set[str]:
    kernel_tests = tool("kernel_tests")
    found = kernel_tests.tests_of(kernel_tests.kernels_with(kernel_tests.named(name)))
    return {path.name for path in found}


def test_every_source_has_tests() -> None:
    kernel_tests = tool("kernel_tests")
    sources = [path for path in NATIVE.iterdir() if path.suffix in {".pyx", ".pxd", ".h"}]
    assert len(sources) > 40
    assert [path.name for path in sources if not kernel_tests.kernels_with({path})] == []
    kernels = [path.stem for path in sources if path.suffix == ".pyx"]
    assert [name for name in kernels if not kernel_tests.tests_of({name})] == []


def test_a_leaf_has_the_tests_of_the_kernels_that_include_it() -> None:
    assert files_of("overlap") >= {"test_overlap_block.py", "test_hash_tables.py"}
    assert "test_byte_blocks.py" in files_of("byte_blocks"), "it imports from a test of the kernel"
    assert "test_grounded_block.py" not in files_of("overlap")
    of_all = files_of("portable.h")
    assert of_all >= files_of("overlap") | files_of("claims") | files_of("json_strings")
    assert "test_json_blocks.py" in files_of("json_strings")
    assert "test_aggregates.py" in files_of("score_columns"), "no test imports it: its callers"


def test_a_name_of_no_source_ends_with_those_there_are() -> None:
    with pytest.raises(SystemExit, match=r"called 'overlapp'; there are .*overlap_row"):
        tool("kernel_tests").named("overlapp")
