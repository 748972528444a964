"""The page of a leaderboard: means of all metrics, then differences metric by metric."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rag_eval._version import __version__
from rag_eval.comparing.leaderboard import Board, Leaderboard
from rag_eval.plumbing.durable_files import atomic_file
from rag_eval.plumbing.spelling import counted
from rag_eval.reports.leaderboard import (
    board_cells,
    board_title,
    difference_text,
    letters_line,
    mean_cell,
    mean_text,
    rows_line,
    sentences,
    sorting_board,
    wins_text,
)
from rag_eval.reports.page.page import style_and_script
from rag_eval.reports.page.templating import rendered


def write_leaderboard_page(
    leaderboard: Leaderboard, path: Path, *, sort: str | None = None, command: str = ""
) -> None:
    """Write the page; runs are listed by the metric ``sort``, or by the first gating one."""
    chosen = sorting_board(leaderboard, sort)
    boards = [board for board in leaderboard.boards if board.slice is None]
    page = rendered(
        "leaderboard.html.j2",
        title=f"Leaderboard of {counted(len(leaderboard.runs), 'run')}",
        verdict="",
        heading=rows_line(leaderboard),
        skip="means",
        links=[("Means", "means"), ("Differences", "differences")],
        **style_and_script(),
        data="",
        letters=letters_line(leaderboard),
        names=[board.name for board in boards],
        means=[
            (leaderboard.runs[place.run], [mean_cell(board, place.run) for board in boards])
            for place in chosen.places
        ],
        level=f"{leaderboard.options.level * 100:g}\N{NO-BREAK SPACE}%",
        boards=[
            _board(leaderboard, board, is_open=board is chosen) for board in leaderboard.boards
        ],
        differences=leaderboard.differences,
        notes=leaderboard.notes,
        command=command,
        version=__version__,
    )
    with atomic_file(path) as file:
        file.write(page.encode())


def _board(leaderboard: Leaderboard, board: Board, *, is_open: bool) -> dict[str, Any]:
    order = [place.run for place in board.places]
    return {
        "title": board_title(board),
        "is_open": is_open,
        "sentences": list(sentences(leaderboard, board)),
        "rows": [
            (leaderboard.runs[place.run], [mean_text(place), *board_cells(board, place)[1:]])
            for place in board.places
        ],
        "heads": [leaderboard.runs[run] for run in order],
        "pairs": [
            (
                leaderboard.runs[run],
                [
                    None
                    if run == other
                    else (
                        difference_text(board, run, other),
                        wins_text(board, run, other),
                        bool(board.pairs.apart[run, other]),
                    )
                    for other in order
                ],
            )
            for run in order
        ],
    }
