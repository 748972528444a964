"""The README shows what the library prints."""

from __future__ import annotations

import doctest
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
README = ROOT / "README.md"


def test_python_examples_run() -> None:
    failures, tried = doctest.testfile(str(README), module_relative=False)
    assert tried >= 8
    assert failures == 0


def test_outputs_and_tables_are_up_to_date() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "tools" / "update_readme.py", "--check"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"run tools/update_readme.py\n{done.stderr}"


def test_commands_of_the_readme_exist() -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    for target in ("demo", "test"):
        assert f"make {target}" in README.read_text("utf-8")
        assert f"\n{target}:" in makefile
