"""What a terminal shows of a run: how much is done, how fast, and how long the rest takes."""

from __future__ import annotations

import io
import sys

import pytest

from rag_eval.reports.progress_bar import rest_text, shown_progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("completed", "total", "rate", "text"),
    [
        (620, 1000, 1.9, "62%, 0:03:20 to go"),
        (0, 1000, 0.5, "0%, 0:33:20 to go"),
        (1, 1000, 1000.0, "0%, 0:00:01 to go"),
        (999, 1000, 1000.0, "100%, 0:00:00 to go"),
        (1000, 1000, 10.0, "100%, 0:00:00 to go"),
        (1, 200_001, 1.0, "0%, 2 days, 7:33:20 to go"),
    ],
)
def test_the_share_that_is_done_and_the_time_for_the_rest(
    completed: int, total: int, rate: float, text: str
) -> None:
    assert rest_text(completed, total, rate) == text


def test_an_estimate_that_was_too_low_does_not_go_below_nothing() -> None:
    assert rest_text(20, 10, 1.0) == "200%, 0:00:00 to go"


@pytest.mark.parametrize(("total", "rate"), [(None, 5.0), (0, 5.0), (1000, 0.0)])
def test_nothing_is_said_of_an_end_that_is_not_known(total: int | None, rate: float) -> None:
    assert rest_text(10, total, rate) == ""


def test_a_terminal_is_shown_how_far_a_run_is(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")
    with shown_progress(quiet=False) as show:
        assert show is not None
        show(1_500, 2_000)
    assert "1,500 samples" in terminal.getvalue()
    assert "75%, " in terminal.getvalue()
    assert " to go" in terminal.getvalue()


def test_nobody_is_shown_anything_where_nobody_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    with shown_progress(quiet=False) as show:  # a test has no terminal
        assert show is None
    monkeypatch.setattr(sys, "stderr", Terminal())
    with shown_progress(quiet=True) as show:
        assert show is None
    assert sys.stderr.getvalue() == ""  # type: ignore[attr-defined]
