"""The result of comparing many runs: per metric, who leads, and who cannot be told apart."""

from __future__ import annotations

import string
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from rag_eval.comparing.pairing import Edited
from rag_eval.comparing.tested_changes import Slice
from rag_eval.errors import InputError
from rag_eval.plumbing.checked_values import one_of, seed_number, whole_from_one
from rag_eval.plumbing.extras import package
from rag_eval.plumbing.json_records import JsonRecord
from rag_eval.plumbing.json_text import number_or_null
from rag_eval.plumbing.spelling import camel_case
from rag_eval.samples import MetricId
from rag_eval.stats.all_pairs import PairIntervals
from rag_eval.stats.arrays import Flags, Floats, Whole
from rag_eval.stats.intervals import Interval, checked_level
from rag_eval.stats.rank_tests import FriedmanTest

if TYPE_CHECKING:
    from pandas import DataFrame

_LETTERS: Final = string.ascii_letters


@dataclass(frozen=True, slots=True)
class LeaderboardOptions(JsonRecord):
    """The rules by which runs were compared; see :func:`rag_eval.comparing.compare_runs`."""

    level: float = 0.95
    n_resamples: int = 9999
    seed: int = 0
    epsilon: float = 1e-9
    cluster_by: str | None = None
    slices: tuple[str, ...] = ()
    edited: Edited = "drop"

    def __post_init__(self) -> None:
        checked_level(self.level)
        whole_from_one(self.n_resamples, "n_resamples")
        seed_number(self.seed)
        one_of(self.edited, "edited", ("drop", "keep"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """One run on the board of one metric.

    Attributes
    ----------
    run : int
        Index of the run.
    mean : Interval
        Over the rows for which all runs have a score, with an interval of its own.
    rank : int
        By the mean, from 1.
    best_rank, worst_rank : int
        Ranks that the differences leave open: one more than the runs shown to be better, and the
        number of runs less those shown to be worse.
    groups : str
        Letters; runs that share a letter cannot be told apart.
    """

    run: int
    mean: Interval
    rank: int
    best_rank: int
    worst_rank: int
    groups: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Board:
    """One metric, over all rows or those of a slice.

    Attributes
    ----------
    name : str
        A metric, ``composite`` or ``passed``.
    slice : Slice or None
    gating : bool
        Whether its intervals hold together with those of the other gating metrics.
    higher_is_better : bool
    n : int
        Rows for which all runs have a score.
    n_incomplete : int
        Rows of all runs that lack a score in at least one; they are left out.
    places : tuple of Place
        The best run first.
    pairs : PairIntervals
        Differences of all pairs, with simultaneous intervals; by index of the run.
    wins : int64, shape (k, k)
        Rows in which the run of the row is better than the run of the column.
    ranks : FriedmanTest or None
        None unless asked for.
    """

    name: str
    slice: Slice | None
    gating: bool
    higher_is_better: bool
    n: int
    n_incomplete: int
    places: tuple[Place, ...]
    pairs: PairIntervals = field(repr=False)
    wins: Whole = field(repr=False)
    ranks: FriedmanTest | None = None

    @property
    def best(self) -> Place:
        """The run with the best mean."""
        return self.places[0]

    def difference(self, run: int, other: int) -> tuple[float, float | None, float | None]:
        """Mean of one run less that of another, and its simultaneous interval."""
        found = self.pairs
        low, high = (number_or_null(float(each[run, other])) for each in (found.low, found.high))
        return float(found.differences[run, other]), low, high

    def to_dict(self, runs: Sequence[str]) -> dict[str, Any]:
        """As JSON values."""
        return {
            "metricId": camel_case(self.name),
            "slice": None if self.slice is None else self.slice.to_dict(),
            "gating": self.gating,
            "higherIsBetter": self.higher_is_better,
            "n": self.n,
            "nIncomplete": self.n_incomplete,
            "places": [
                {
                    "run": runs[place.run],
                    "mean": place.mean.to_dict(),
                    "rank": place.rank,
                    "bestRank": place.best_rank,
                    "worstRank": place.worst_rank,
                    "groups": list(place.groups),
                }
                for place in self.places
            ],
            "pairs": [self._pair(a, b, runs) for a in range(len(runs)) for b in range(a)],
            "ranks": None if self.ranks is None else self.ranks.to_dict(),
        }

    def _pair(self, run: int, other: int, runs: Sequence[str]) -> dict[str, Any]:
        difference, low, high = self.difference(run, other)
        wins, losses = int(self.wins[run, other]), int(self.wins[other, run])
        return {
            "run": runs[run],
            "other": runs[other],
            "difference": number_or_null(difference),
            "low": low,
            "high": high,
            "toldApart": bool(self.pairs.apart[run, other]),
            "tooFew": bool(self.pairs.too_few[run, other]),
            "wins": wins,
            "ties": self.n - wins - losses,
            "losses": losses,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaderboard:
    """Runs on the same rows, ranked by every metric.

    Attributes
    ----------
    runs : tuple of str
        Their names, as they were given.
    n_rows : tuple of int
        Number of rows of each run; repeats of a row count once.
    n_shared : int
        Number of rows that all runs have.
    options : LeaderboardOptions
    boards : tuple of Board
        Metrics in their usual order, then slice by slice.
    differences : tuple of str
        Settings that differ; only when the comparison was forced.
    notes : tuple of str
    """

    runs: tuple[str, ...]
    n_rows: tuple[int, ...]
    n_shared: int
    options: LeaderboardOptions
    boards: tuple[Board, ...]
    differences: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def board(self, metric: MetricId, within: Slice | None = None) -> Board:
        """The leaderboard of one metric.

        Raises
        ------
        InputError
            When the metric was not compared.
        """
        for board in self.boards:
            if board.name == metric and board.slice == within:
                return board
        names = ", ".join(dict.fromkeys(board.name for board in self.boards))
        raise InputError(f"{metric} was not compared (compared: {names})")

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        return {
            "runs": [
                {"name": name, "nRows": n} for name, n in zip(self.runs, self.n_rows, strict=True)
            ],
            "nShared": self.n_shared,
            "options": self.options.to_dict(),
            "boards": [board.to_dict(self.runs) for board in self.boards],
            "signatureDifferences": list(self.differences),
            "notes": list(self.notes),
        }

    def to_pandas(self) -> DataFrame:
        """A data frame with one row per run, metric and slice.

        Needs pandas (``pip install 'rag-eval-native[pandas]'``).
        """
        rows = []
        for board in self.boards:
            for place in board.places:
                difference, low, high = board.difference(place.run, board.best.run)
                rows.append(
                    {
                        "metric": board.name,
                        "slice": None if board.slice is None else str(board.slice),
                        "run": self.runs[place.run],
                        "mean": place.mean.estimate,
                        "low": place.mean.low,
                        "high": place.mean.high,
                        "n": board.n,
                        "rank": place.rank,
                        "best_rank": place.best_rank,
                        "worst_rank": place.worst_rank,
                        "groups": place.groups,
                        "behind_best": difference,
                        "behind_low": low,
                        "behind_high": high,
                    }
                )
        frame: DataFrame = package("pandas", "to_pandas", "pandas").DataFrame(rows)
        return frame


def _letter(number: int) -> str:
    """``a`` to ``z``, then ``A`` to ``Z``, then a plus sign for any further one."""
    return _LETTERS[number] if number < len(_LETTERS) else "+"


def wins_of(better: Floats, epsilon: float) -> Whole:
    """In how many rows each system beats each other one by more than epsilon, shape (k, k)."""
    wins = np.zeros((better.shape[1],) * 2, np.int64)
    for number, column in enumerate(better.T):
        wins[number] = (column[:, np.newaxis] - better > epsilon).sum(axis=0)
    return wins


def group_letters(order: Sequence[int], apart: Flags) -> dict[int, str]:
    """Letters for each system: two share one if, and only if, they are not told apart.

    References
    ----------
    Piepho, An algorithm for a letter-based representation of all-pairwise comparisons (2004).
    """
    groups = [frozenset(order)]
    for place, run in enumerate(order):
        for other in order[place + 1 :]:
            if apart[run, other]:
                split = [
                    part
                    for group in groups
                    for part in (
                        (group - {run}, group - {other}) if {run, other} <= group else (group,)
                    )
                ]
                groups = [
                    group
                    for number, group in enumerate(split)
                    if not any(group < each for each in split) and group not in split[:number]
                ]
    rank = {run: place for place, run in enumerate(order)}
    groups.sort(key=lambda group: sorted(rank[run] for run in group))
    return {
        run: "".join(_letter(number) for number, group in enumerate(groups) if run in group)
        for run in order
    }
