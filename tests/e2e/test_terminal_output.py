"""What a person sees in a terminal of 80 and of 120 columns, as files to read in a review.

``RAG_EVAL_UPDATE_DOCS=1 pytest tests/e2e/test_terminal_output.py`` writes them anew.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
from contextlib import nullcontext
from pathlib import Path

import pytest
from click.testing import Result, _NamedTextIOWrapper

from rag_eval.reports import progress
from rag_eval.runs.git_state import BRANCH_VARIABLES, COMMIT_VARIABLES
from tests.commands import invoke
from tests.docs_pages import ROOT

SHOWN = Path(__file__).parent / "terminal"
COMMANDS = {
    "run": "run examples/handbook.jsonl --profile grounded --worst 1 --min-mean faithfulness=0.9 "
    "--min-pass-rate 50%",
    "show": "show today.json",
    "show-row": "show today.json hb-020",
    "compare": "compare examples/decisions/main.csv examples/decisions/candidate.csv --slice topic",
    "compare-three": "compare examples/decisions/main.csv examples/decisions/candidate.csv "
    "examples/decisions/fixed-1.csv --ranks",
    "gate": "gate examples/decisions/candidate.csv --baseline examples/decisions/main.csv "
    "--min-mean faithfulness=0.9",
    "history": "history",
    "estimate": "estimate examples/decisions/main.csv examples/decisions/labels.csv "
    "--metric faithfulness",
}
STYLE = re.compile(r"\x1b\[[\d;]*m")
# What differs from run to run, as long as it was.
CHANGING = (
    (re.compile(r"run-\d{8}-\d{6}-\w{6}"), "run-20260102-030405-6789ab"),
    (re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d"), "2026-01-02 03:04"),
)


@pytest.fixture(scope="module")
def room(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Examples, a result file, and a store with a run of each state."""
    folder = tmp_path_factory.mktemp("terminal")
    shutil.copytree(ROOT / "examples", folder / "examples")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for name in (*BRANCH_VARIABLES, *COMMIT_VARIABLES):
            patch.delenv(name, raising=False)
        patch.setenv("RAG_EVAL_BRANCH", "feat/shorter-answers")
        scored = ("run", "examples/handbook.jsonl", "--profile", "grounded", "--quiet")
        assert invoke(*scored, "--output", "today.json").exit_code == 0
        assert invoke(*scored, "--store").exit_code == 0
        assert invoke("gate", "--store", "--run", "latest").exit_code == 0
        for flags, code in (
            (["--min-pass-rate", "1"], 1),
            (["--min-pass-rate", "0.5"], 0),
            ([], 0),
        ):
            assert invoke(*scored, "--store", *flags).exit_code == code
        assert invoke("baseline", "pin", "latest").exit_code == 0
    return folder


def lines(done: Result) -> list[str]:
    """Standard output, then standard error, without styles."""
    text = STYLE.sub("", done.stdout + done.stderr)
    for changing, settled in CHANGING:
        text = changing.sub(settled, text)
    return [line.rstrip() for line in text.splitlines()]


def words(found: list[str]) -> list[str]:
    return [word for word in " ".join(found).split() if word.strip("─")]


@pytest.mark.parametrize("width", [80, 120])
@pytest.mark.parametrize("name", COMMANDS)
def test_what_a_terminal_shows(
    room: Path, name: str, width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(room)
    monkeypatch.setenv("RAG_EVAL_BRANCH", "feat/shorter-answers")
    call = shlex.split(COMMANDS[name])
    wide = words(lines(invoke(*call, env={"COLUMNS": "1000"})))
    piped = lines(invoke(*call, env={"COLUMNS": str(width)}))
    if width == 120:
        assert lines(invoke(*call)) == piped
    monkeypatch.setattr(_NamedTextIOWrapper, "isatty", lambda stream: True)
    monkeypatch.setattr(progress, "shown_progress", lambda quiet: nullcontext())
    found = lines(invoke(*call, env={"COLUMNS": str(width), "TERM": "xterm", "NO_COLOR": "1"}))
    assert [line for line in found if len(line) > width] == []
    # In a pipe lines stay whole, so that they can be searched; the words are the same.
    assert words(found) == words(piped)
    assert set(words(found)) <= set(wide), "a word or a number is broken"
    path = SHOWN / f"{name}-{width}.txt"
    if os.environ.get("RAG_EVAL_UPDATE_DOCS"):
        path.parent.mkdir(exist_ok=True)
        path.write_text("\n".join([f"$ rag-eval {COMMANDS[name]}", *found, ""]), "utf-8")
    assert path.read_text("utf-8").splitlines()[1:] == found, (
        "run this test with RAG_EVAL_UPDATE_DOCS=1, and look at what it changed"
    )


def test_no_file_is_left_of_a_command_that_went() -> None:
    names = {f"{name}-{width}.txt" for name in COMMANDS for width in (80, 120)}
    assert {path.name for path in SHOWN.iterdir()} == names
