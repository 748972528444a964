"""Leaderboards of many runs: on a terminal, as Markdown and as LaTeX."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from rich.console import Console
from rich.table import Table
from rich.text import Text

from rag_eval.comparing.leaderboard import Board, Leaderboard, Place
from rag_eval.plumbing.spelling import counted, decimal_text
from rag_eval.reports.console import number_table, print_line
from rag_eval.reports.figures import NONE, bounds_text, number_text, p_value_text, shown_name
from rag_eval.reports.markdown_text import markdown_table, markdown_text
from rag_eval.reports.plain_text import plain_text

_NAME_LIMIT: Final = 40
# All pairs of more runs fill a screen.
_MOST_IN_PAIRS: Final = 5
_FALLING: Final = r"~$\downarrow$"
_LATEX: Final = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        **{mark: f"\\{mark}" for mark in "&%$#_{}"},
    }
)


def sorting_board(leaderboard: Leaderboard, sort: str | None = None) -> Board:
    """The board by which runs are listed: that of ``sort``, or of the first gating metric."""
    if sort is not None:
        return leaderboard.board(sort)
    gating = (board for board in leaderboard.boards if board.gating)
    return next(gating, leaderboard.boards[0])


def print_leaderboard(
    leaderboard: Leaderboard, console: Console, *, sort: str | None = None
) -> None:
    """Print means of all metrics, then differences of one metric, with slices and pairs."""
    chosen = sorting_board(leaderboard, sort)
    print_line(console, rows_line(leaderboard))
    console.print()
    _print_means(leaderboard, chosen, console)
    console.print()
    print_line(console, letters_line(leaderboard))
    for board in boards_of(leaderboard, chosen.name):
        console.print()
        print_line(console, Text(board_title(board), "bold"))
        console.print(_board_table(leaderboard, board, console))
        for line in sentences(leaderboard, board):
            print_line(console, line)
    if len(leaderboard.runs) <= _MOST_IN_PAIRS:
        console.print()
        print_line(console, Text(f"{chosen.name}: pairs of runs", "bold"))
        console.print(_pairs_table(leaderboard, chosen, console))


def rows_line(leaderboard: Leaderboard) -> str:
    """``4 runs, compared on the 400 rows that all of them scored``."""
    runs, rows = counted(len(leaderboard.runs), "run"), counted(leaderboard.n_shared, "row")
    return f"{runs}, compared on the {rows} that all of them scored"


def letters_line(leaderboard: Leaderboard) -> str:
    """What the letters mean, and for how many differences at once."""
    n_pairs = len(leaderboard.runs) * (len(leaderboard.runs) - 1) // 2
    n_gating = sum(board.gating for board in leaderboard.boards)
    level = f"{leaderboard.options.level * 100:g} %"
    return (
        "runs that share a letter cannot be told apart in that metric "
        f"(simultaneous {level} intervals of {counted(n_gating * n_pairs, 'difference')} of gating "
        "metrics)"
    )


def boards_of(leaderboard: Leaderboard, metric: str) -> list[Board]:
    """A metric over all rows, then slice by slice."""
    return [board for board in leaderboard.boards if board.name == metric]


def board_title(board: Board) -> str:
    """``faithfulness``, or ``faithfulness where topic is law``, and which direction is better."""
    where = "" if board.slice is None else f" where {board.slice.field} is {board.slice.value}"
    lower = "" if board.higher_is_better else " (lower is better)"
    return plain_text(f"{shown_name(board.name)}{where}{lower}: {counted(board.n, 'row')}", 120)


def sentences(leaderboard: Leaderboard, board: Board) -> Iterator[str]:
    """Who leads, and with whom; Friedman's test if it was asked for."""
    best = leaderboard.runs[board.best.run]
    told_apart = board.pairs.apart[board.best.run]
    others = [place.run for place in board.places[1:] if not told_apart[place.run]]
    if not board.n:
        yield "no row has a score in all runs"
        return
    if len(others) == len(board.places) - 1:
        yield "no run is shown to be worse than the best one"
    elif others:
        worse = ", ".join(leaderboard.runs[run] for run in others)
        yield plain_text(f"not told apart from {best}, the best run: {worse}")
    else:
        yield plain_text(f"{best} is better than every other run")
    few = int(board.pairs.too_few.sum()) // 2
    if few:
        yield f"{counted(few, 'pair')} of runs differ in too few rows for an interval"
    ranks = board.ranks
    if ranks is not None and ranks.p_value is not None:
        yield (
            f"Friedman's test of ranks: chi-square {ranks.statistic:.2f}, "
            f"p {p_value_text(ranks.p_value)}; mean ranks that differ by more than "
            f"{ranks.critical_difference:.2f} are told apart (Nemenyi)"
        )


# ---------------------------------------------------------------------------------------- terminal


def _print_means(leaderboard: Leaderboard, chosen: Board, console: Console) -> None:
    """A line per run with the mean of each metric; in several tables where one is too wide."""
    boards = [board for board in leaderboard.boards if board.slice is None]
    width = min(_NAME_LIMIT, max(len(plain_text(name, _NAME_LIMIT)) for name in leaderboard.runs))
    room, part = console.width - width, list[Board]()
    for board in boards:
        needed = max(len(shown_name(board.name)), 9) + 3
        if part and room < needed:
            console.print(_means_table(leaderboard, chosen, part, console))
            console.print()
            room, part = console.width - width, []
        room -= needed
        part.append(board)
    console.print(_means_table(leaderboard, chosen, part, console))


def _means_table(
    leaderboard: Leaderboard, chosen: Board, boards: Sequence[Board], console: Console
) -> Table:
    table = number_table(console, *(shown_name(board.name) for board in boards), first="run")
    for place in chosen.places:
        cells = [Text(mean_cell(board, place.run)) for board in boards]
        table.add_row(_name(leaderboard, place.run), *cells)
    return table


def mean_cell(board: Board, run: int) -> str:
    """``0.812 ab``."""
    place = place_of(board, run)
    mean = number_text(place.mean.estimate, 3)
    return mean if mean == NONE else f"{mean} {place.groups}"


def place_of(board: Board, run: int) -> Place:
    """The place of a run."""
    return next(place for place in board.places if place.run == run)


def _board_table(leaderboard: Leaderboard, board: Board, console: Console) -> Table:
    table = number_table(console, *_heads(leaderboard), first="run")
    for place in board.places:
        table.add_row(_name(leaderboard, place.run), *board_cells(board, place))
    return table


def _heads(leaderboard: Leaderboard) -> list[str]:
    behind = f"behind the best {_level(leaderboard)}"
    return ["mean", behind, "ranks", "letters", "wins / ties / losses"]


def _level(leaderboard: Leaderboard) -> str:
    return f"[{leaderboard.options.level * 100:g}\N{NO-BREAK SPACE}%]"


def board_cells(board: Board, place: Place) -> list[str]:
    """The cells of a run: mean, difference to the best, possible ranks, letters, wins."""
    mean = number_text(place.mean.estimate, 3)
    first, last = place.best_rank, place.worst_rank
    ranks = f"{first}" if first == last else f"{first} to {last}"
    if place is board.best:
        return [mean, NONE, ranks, place.groups, NONE]
    pair = place.run, board.best.run
    return [mean, difference_text(board, *pair), ranks, place.groups, wins_text(board, *pair)]


def mean_text(place: Place) -> str:
    """``0.812 [0.790, 0.833]``."""
    bounds = bounds_text(place.mean, 3) if not place.mean.too_few else ""
    return f"{number_text(place.mean.estimate, 3)} [{bounds or 'too few'}]"


def difference_text(board: Board, run: int, other: int) -> str:
    """``-0.021 [-0.034, -0.008]``."""
    difference, low, high = board.difference(run, other)
    text = number_text(difference, 3, "+")
    if text == NONE:
        return text
    if low is None or high is None:
        return f"{text} [too few]"
    return f"{text} [{decimal_text(low, 3)}, {decimal_text(high, 3)}]"


def wins_text(board: Board, run: int, other: int) -> str:
    """``41 / 318 / 41``: rows in which the run is better, equal and worse than the other one."""
    wins, losses = int(board.wins[run, other]), int(board.wins[other, run])
    return f"{wins:,} / {board.n - wins - losses:,} / {losses:,}"


def _pairs_table(leaderboard: Leaderboard, board: Board, console: Console) -> Table:
    heads = f"difference {_level(leaderboard)}", "wins / ties / losses"
    table = number_table(console, *heads, first="run minus other run")
    for pair in pairs_of(board):
        names = " − ".join(_name(leaderboard, run).plain for run in pair)
        table.add_row(Text(names), difference_text(board, *pair), wins_text(board, *pair))
    return table


def pairs_of(board: Board) -> Iterator[tuple[int, int]]:
    """All pairs, those of the best run first."""
    for number, place in enumerate(board.places):
        for other in board.places[number + 1 :]:
            yield place.run, other.run


def _name(leaderboard: Leaderboard, run: int) -> Text:
    return Text(plain_text(leaderboard.runs[run], _NAME_LIMIT))


# -------------------------------------------------------------------------------- Markdown, LaTeX


def leaderboard_markdown(leaderboard: Leaderboard, *, sort: str | None = None) -> str:
    """The same for a pull request."""
    chosen = sorting_board(leaderboard, sort)
    boards = [board for board in leaderboard.boards if board.slice is None]
    names = [markdown_text(name, limit=_NAME_LIMIT) for name in leaderboard.runs]
    lines = [f"{rows_line(leaderboard)}.", ""]
    means = [
        [names[place.run], *(mean_cell(board, place.run) for board in boards)]
        for place in chosen.places
    ]
    lines += markdown_table(["run", *(shown_name(board.name) for board in boards)], means)
    lines += ["", f"{letters_line(leaderboard).capitalize()}.", ""]
    for board in boards_of(leaderboard, chosen.name):
        lines += [f"**{markdown_text(board_title(board))}**", ""]
        rows = [[names[place.run], *board_cells(board, place)] for place in board.places]
        lines += [*markdown_table(["run", *_heads(leaderboard)], rows), ""]
        lines += [f"- {markdown_text(text)}" for text in sentences(leaderboard, board)] + [""]
    lines += [f"- settings differ: {markdown_text(text)}" for text in leaderboard.differences]
    lines += [f"- note: {markdown_text(text)}" for text in leaderboard.notes]
    return "\n".join(lines).rstrip() + "\n"


def leaderboard_latex(leaderboard: Leaderboard, *, sort: str | None = None) -> str:
    """A table for a paper: means with letters, the best of each metric in bold (booktabs)."""
    chosen = sorting_board(leaderboard, sort)
    boards = [board for board in leaderboard.boards if board.slice is None]
    names = [_latex(board.name) + ("" if board.higher_is_better else _FALLING) for board in boards]
    lines = [
        f"% {rows_line(leaderboard)}; {letters_line(leaderboard)}",
        rf"\begin{{tabular}}{{l{'r' * len(boards)}}}",
        r"\toprule",
        _latex_row(["run", *names]),
        r"\midrule",
    ]
    for place in chosen.places:
        cells = [_latex_cell(board, place.run) for board in boards]
        lines.append(_latex_row([_latex(leaderboard.runs[place.run]), *cells]))
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}"]) + "\n"


def _latex_row(cells: Sequence[str]) -> str:
    return " & ".join(cells) + r" \\"


def _latex_cell(board: Board, run: int) -> str:
    place = place_of(board, run)
    mean = number_text(place.mean.estimate, 3)
    if mean == NONE:
        return "--"
    best = mean == number_text(board.best.mean.estimate, 3)
    shown = rf"\textbf{{{mean}}}" if best else mean
    return rf"{shown}\textsuperscript{{{place.groups}}}"


def _latex(text: str) -> str:
    return plain_text(text, _NAME_LIMIT).translate(_LATEX)
