"""What a terminal shows of a run: how much is done, how fast, and how long the rest takes."""

from __future__ import annotations

import io
import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from rag_eval.jobs.file_run import run_file
from rag_eval.reports.progress import RecentRate, rest_text, shown_progress
from rag_eval.scoring import engine, progress
from rag_eval.scoring.progress import Progress
from tests.fluent_judge import FluentJudge
from tests.tables import every_row


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@every_row(
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


@every_row(("total", "rate"), [(None, 5.0), (0, 5.0), (1000, 0.0)])
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
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with shown_progress(quiet=True) as show:
        assert show is None
    assert terminal.getvalue() == ""


def test_rows_of_an_earlier_run_do_not_count_into_the_rate_for_long() -> None:
    rate = RecentRate(0.0)
    rate.add(0.1, 1_000_000)  # taken up at once
    rates = [rate.add(float(second), 1_000_000 + 50 * second) for second in range(1, 60)]
    assert rates[-1] == pytest.approx(50)


def test_the_rate_is_that_of_the_last_seconds() -> None:
    rate = RecentRate(0.0)
    for second in range(1, 31):
        rate.add(float(second), 1000 * second)
    slow = [rate.add(float(second), 30_000 + 10 * (second - 30)) for second in range(31, 61)]
    assert slow[-1] == pytest.approx(10)
    # Ten seconds later five of the fast ones are among the last fifteen.
    assert slow[9] == pytest.approx((5 * 1000 + 10 * 10) / 15)


def test_replies_that_come_seldom_have_a_rate_too() -> None:
    rate = RecentRate(0.0)
    assert rate.add(0.0, 0) == 0
    for minute in range(1, 9):
        assert rate.add(60.0 * minute, minute) == pytest.approx(1 / 60)


def test_of_replies_that_come_seldom_the_last_five_count() -> None:
    rate = RecentRate(0.0)
    found = [rate.add(now, n) for n, now in enumerate((30.0, 90.0, 100.0, 200.0, 300.0), 1)]
    assert found[3] == pytest.approx(4 / 200)
    assert found[4] == pytest.approx(4 / 270)


def test_a_run_that_fails_is_not_shown_as_done() -> None:
    seen: list[tuple[int, int | None]] = []

    def run(error: Exception | None) -> None:
        with Progress(lambda done, total: seen.append((done, total)), 10) as progress:
            progress.advance(3)
            progress.advance(2)
            if error is not None:
                raise error

    with pytest.raises(ValueError, match="broken"):
        run(ValueError("broken"))
    assert seen[0] == (3, 10)
    assert (5, 5) not in seen
    run(None)
    assert seen[-1] == (5, 5)


def test_a_terminal_is_shown_what_judging_takes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "160")
    path = tmp_path / "d.jsonl"
    row = {"question": "q?", "answer": "A b c.", "contexts": ["A b c."]}
    path.write_text("".join(json.dumps(row) + "\n" for _ in range(3)))
    fluent = FluentJudge()

    def judge(prompt: str) -> str:
        return "I would rather not." if fluent.n_calls == 2 else fluent(prompt)

    judge.judge_name = "m"  # type: ignore[attr-defined]
    with shown_progress(quiet=False) as show:
        run_file(
            path,
            ["answer_relevance"],
            mode="llm",
            judge=judge,
            concurrency=1,
            prices={"m": {"input": 1000, "output": 0}},
            on_progress=show,
        )
    shown = re.findall(
        r"(\d+) calls, (\d) failed, ([\d,]+) tokens, (\d\.\d\d) USD", terminal.getvalue()
    )
    n_calls, n_failed, n_tokens, cost = shown[-1]
    assert (n_calls, n_failed) == ("4", "1")
    assert int(n_tokens.replace(",", "")) > 1000
    assert float(cost) > 1


_ADD = engine._Pending.add


def add_at_once(pending: Any, block: Any) -> None:
    """Threads that have done everything before anybody else goes on."""
    _ADD(pending, block)
    while pending._n_unfinished():
        pending._wait(1)


@every_row("is_at_once", [False, True])
@every_row(
    ("n_rows", "n_repeats", "judged"), [(120, 10_000, False), (120, 10_000, True), (9000, 1, False)]
)
def test_the_end_is_known_though_files_are_read_ahead(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    n_rows: int,
    n_repeats: int,
    judged: bool,
    is_at_once: bool,
) -> None:
    """A file that was read to its end before its first block was judged looked done by then.

    One whose last block was scored before that end was seen had no total at all.
    """
    monkeypatch.setattr(progress, "_INTERVAL_S", 0.0)
    if is_at_once:
        monkeypatch.setattr(engine._Pending, "add", add_at_once)
    row = {"question": "q?", "answer": "A b c.", "contexts": ["A b c. " * n_repeats]}
    path = tmp_path / "d.jsonl"
    path.write_text("".join(json.dumps({"id": f"{n:04}", **row}) + "\n" for n in range(n_rows)))
    seen: list[tuple[int, int | None]] = []
    options: dict[str, Any] = {"mode": "llm", "judge": FluentJudge()} if judged else {}
    run_file(
        path,
        ["answer_relevance"],
        **options,
        on_progress=lambda done, total: seen.append((done, total)),
    )
    assert seen[-1] == (n_rows, n_rows)
    assert any(done < n_rows for done, total in seen if total is not None) or not judged
    for done, total in seen:
        assert total is None or 0.8 * n_rows <= total <= 1.2 * n_rows, (done, total)
