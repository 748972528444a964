"""The bar of a run: what it says, how often, and that it is nowhere where nobody looks."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from rag_eval import evaluate_batch, score_file
from rag_eval.judge.accounts import JudgeProgress
from rag_eval.reports import progress as shown_progress
from rag_eval.reports.progress import ProgressBar, live_progress
from rag_eval.scoring.progress import Progress
from tests.tables import every_row

ROWS = [{"question": "q", "answer": "a", "contexts": ["a"]}] * 3


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Shown:
    """The front end of a notebook: outputs by their number, and how often each was written."""

    def __init__(self) -> None:
        self.outputs: list[list[ProgressBar]] = []

    def display(self, bar: ProgressBar, *, display_id: bool) -> SimpleNamespace:
        assert display_id
        output = [bar]
        self.outputs.append(output)
        return SimpleNamespace(update=output.append)


@pytest.fixture
def notebook(monkeypatch: pytest.MonkeyPatch) -> Shown:
    """What a kernel has imported, with a front end that keeps what it is shown."""
    shown = Shown()
    package: Any = SimpleNamespace(
        display=shown, get_ipython=lambda: SimpleNamespace(kernel=object())
    )
    monkeypatch.setitem(sys.modules, "IPython", package)
    return shown


@every_row(
    ("bar", "text"),
    [
        (ProgressBar(250, 1000, 5.0, "running"), "250 of 1,000 samples, 50/s, 25%, 0:00:15 to go"),
        (ProgressBar(250, None, 5.0, "running"), "250 samples, 50/s"),
        (ProgressBar(1000, 1000, 3.7, "done"), "1,000 samples, 270/s, done after 0:00:04"),
        (ProgressBar(990, 1000, 2.0, "done"), "990 samples, 495/s, done after 0:00:02"),
        (ProgressBar(4, 10, 0.0, "stopped"), "4 of 10 samples, 0/s, stopped after 0:00:00"),
        (
            ProgressBar(4, 10, 0.0, "stopped", JudgeProgress(1, 0, 2345, None)),
            "4 of 10 samples, 0/s, stopped after 0:00:00, 1 call, 0 failed, 2,345 tokens",
        ),
    ],
)
def test_a_bar_says_how_far_how_fast_and_how_long(bar: ProgressBar, text: str) -> None:
    assert str(bar) == text
    html = bar._repr_html_()
    assert text in html
    assert html.startswith("<div><progress ")


def test_a_bar_is_as_long_as_is_known() -> None:
    assert 'value="250" max="1000"' in ProgressBar(250, 1000, 5.0, "running")._repr_html_()
    assert "value=" not in ProgressBar(250, None, 5.0, "running")._repr_html_()
    assert 'value="1" max="1"' in ProgressBar(250, None, 5.0, "done")._repr_html_()
    assert 'value="4" max="10"' in ProgressBar(4, 10, 5.0, "stopped")._repr_html_()


def test_a_notebook_has_one_output_that_ends_in_what_became_of_the_run(notebook: Shown) -> None:
    assert evaluate_batch(ROWS, on_progress=True).n_rows == 3
    (output,) = notebook.outputs
    assert [bar.state for bar in output] == ["running", "done"]
    assert (output[-1].completed, output[-1].total) == (3, 3)


def test_a_run_that_fails_ends_as_stopped_with_what_was_done(notebook: Shown) -> None:
    def rows() -> Any:
        yield from ROWS * 20_000
        raise OSError("the disk is gone")

    with pytest.raises(OSError, match="the disk is gone"):
        evaluate_batch(rows(), on_progress=True)
    (output,) = notebook.outputs
    assert output[-1].state == "stopped"
    assert 0 < output[-1].completed <= 60_000


def test_a_run_that_fails_at_once_and_one_without_rows_show_nothing(notebook: Shown) -> None:
    with pytest.raises(ValueError, match="answer"):
        evaluate_batch([{"question": "q", "answer": 3, "contexts": []}], on_progress=True)
    evaluate_batch([], on_progress=True)
    assert notebook.outputs == []


def test_updates_come_no_faster_than_a_person_can_see(
    notebook: Shown, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [100.0]
    monkeypatch.setattr(shown_progress, "time", SimpleNamespace(monotonic=lambda: now[0]))
    with live_progress() as show:
        assert show is not None
        for done in range(1, 101):
            now[0] += 0.0625
            show(done, 100)
    (output,) = notebook.outputs
    # Each fourth, the first at once, and the end.
    assert [bar.completed for bar in output] == [*range(1, 101, 4), 100]
    assert output[-1].elapsed_s == 6.25


def test_a_terminal_has_its_own_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    evaluate_batch(ROWS, on_progress=True)
    assert "3 samples" in terminal.getvalue()


@pytest.mark.parametrize("given", [True, False, None])
def test_nothing_is_shown_where_nobody_looks(
    given: bool | None, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    evaluate_batch(ROWS, on_progress=given)
    path = tmp_path / "rows.jsonl"
    path.write_text('{"question": "q", "answer": "a", "contexts": ["a"]}\n' * 3, encoding="utf-8")
    score_file(path, tmp_path / "scores.jsonl", on_progress=given)
    assert capfd.readouterr() == ("", "")


def test_files_are_shown_too(notebook: Shown, tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text('{"question": "q", "answer": "a", "contexts": ["a"]}\n' * 3, encoding="utf-8")
    score_file(path, tmp_path / "scores.jsonl", on_progress=True)
    (output,) = notebook.outputs
    assert (output[-1].completed, output[-1].state) == (3, "done")


def test_a_callback_is_called_as_ever() -> None:
    found: list[tuple[int, int | None]] = []
    with Progress(lambda done, total: found.append((done, total)), 5) as progress:
        progress.advance(2)
        progress.advance(3)
    assert found == [(2, 5), (5, 5)]
