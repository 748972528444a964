"""What a contributor is told to run exists."""

from __future__ import annotations

import re
import subprocess

from tests.docs_pages import ROOT


def test_make_help_lists_every_target_that_a_person_calls() -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    phony = re.search(r"^\.PHONY: (.*)$", makefile, re.MULTILINE)
    assert phony is not None
    command = ["make", "--silent", "help"]
    shown = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    listed = {line.split()[0] for line in shown.splitlines() if line.split()[1:]}
    assert listed == set(phony[1].split()) - {"sanitized"}  # a step of two others


def test_targets_that_the_page_names_exist() -> None:
    page = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    targets = re.findall(r"^([a-z-]+):(?!=)", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
    named = re.findall(r"\bmake ([a-z-]+)", page)
    assert named
    assert set(named) <= set(targets)
