"""The page on security names tests that are there."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "security.md").read_text("utf-8")
SOURCES = "\n".join(path.read_text("utf-8") for path in (ROOT / "tests").rglob("test_*.py"))


def test_every_test_that_the_page_names_is_there() -> None:
    names = re.findall(r"`(test_\w+)`", PAGE)
    assert len(names) >= 12
    assert [name for name in names if f"def {name}(" not in SOURCES] == []


def test_every_file_that_the_page_names_is_there() -> None:
    paths = re.findall(r"`(tests/[\w/.]+)`", PAGE)
    assert len(paths) >= 10
    assert [path for path in paths if not (ROOT / path).exists()] == []


def test_limits_are_those_of_the_code() -> None:
    from rag_eval.inputs.byte_files import MAX_ROW_BYTES
    from rag_eval.judge.replies import MAX_REPLY_BYTES

    assert f"{MAX_ROW_BYTES >> 20} MiB" in PAGE
    assert f"{MAX_REPLY_BYTES // 1_000_000} MB" in PAGE
