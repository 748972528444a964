"""Two scored runs in; one table of their rows, matched by id, with a column per score, out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from rag_eval.errors import InputError, glance
from rag_eval.metrics.ids import COMPOSITE
from rag_eval.results.summaries import NOT_COMPARABLE
from rag_eval.results.verdicts import NO_VERDICT
from rag_eval.runs.dataset_hash import N_INPUTS, UNKNOWN
from rag_eval.runs.scored_run import ScoredRun
from rag_eval.samples import MetricId
from rag_eval.stats.arrays import Flags, Floats, Whole

Signs: TypeAlias = npt.NDArray[np.int8]
Digests: TypeAlias = npt.NDArray[np.uint32]

PASSED: Final = "passed"
"""The verdict on a whole row (1 or 0), compared like a metric."""

Edited: TypeAlias = Literal["drop", "keep"]
"""What happens to rows whose inputs differ between the runs."""

# Sums of shares may end slightly outside 0 to 1.
_ROUNDING: Final = 1e-9


@dataclass(frozen=True, slots=True)
class RowTable:
    """All rows of two runs, sorted by id, so that random draws do not depend on row order.

    Attributes
    ----------
    ids : list of str
        Ids of the U rows that are in either run, each once.
    names : tuple of str
        K columns: metrics, the composite score, the verdict on the row.
    old, new : float64, shape (U, K)
        Means over the repeats of a row; NaN where it has no score or is not in the run.
    nulls_old, nulls_new : float64, shape (U, K), or None
        Share of the repeats of a row that have no score; None if no row is repeated.
    in_old, in_new : bool, shape (U,)
    reasons : uint8, shape (U, K)
        Why a score of the new run is null, a :class:`~rag_eval.samples.NullReason`; 0 if it is
        not, and for the composite score and verdicts. Of several repeats the largest number.
    columns : dict of list of str or None
        Metadata of each row.
    n_repeats_old, n_repeats_new : int
        Largest number of repeats of a row.
    edited : tuple of str
        Ids of the rows in both runs whose question, ground truth or relevant ids differ. If they
        are dropped, the other fields do not have them.
    answers : int8, shape (U,)
        1 if the answers differ, 0 if they are the same, -1 if one is unknown.
    """

    ids: list[str]
    names: tuple[str, ...]
    old: Floats = field(repr=False)
    new: Floats = field(repr=False)
    in_old: Flags = field(repr=False)
    in_new: Flags = field(repr=False)
    reasons: npt.NDArray[np.uint8] = field(repr=False)
    columns: dict[str, list[str | None]] = field(repr=False)
    n_repeats_old: int
    n_repeats_new: int
    nulls_old: Floats | None = field(default=None, repr=False)
    nulls_new: Floats | None = field(default=None, repr=False)
    edited: tuple[str, ...] = ()
    answers: Signs = field(default_factory=lambda: np.empty(0, np.int8), repr=False)

    @property
    def in_both(self) -> Flags:
        """Which rows can be paired, shape (U,)."""
        return self.in_old & self.in_new

    def rows_with(self, column: str, value: str) -> Flags:
        """Which rows have this value of a column, shape (U,)."""
        return np.array([each == value for each in self.columns[column]], np.bool_)

    def column(self, name: str) -> tuple[Floats, Floats]:
        """The old and the new scores of one metric."""
        place = self.names.index(name)
        return self.old[:, place], self.new[:, place]

    def nulls(self, name: str) -> tuple[Floats, Floats]:
        """The old and the new share of repeats without a score, from 0 to 1."""
        place = self.names.index(name)
        old, new = (
            np.isnan(means[:, place]).astype(np.float64) if shares is None else shares[:, place]
            for means, shares in ((self.old, self.nulls_old), (self.new, self.nulls_new))
        )
        return old, new

    def holds_shares(self, name: str) -> bool:
        """Whether all scores of one metric are from 0 to 1, apart from rounding."""
        least, most = -_ROUNDING, 1 + _ROUNDING
        with np.errstate(invalid="ignore"):
            return not any(((side < least) | (side > most)).any() for side in self.column(name))


def row_table(
    old: ScoredRun,
    new: ScoredRun,
    names: Sequence[str],
    columns: Sequence[str],
    edited: Edited = "drop",
) -> RowTable:
    """Match rows by their ids.

    Parameters
    ----------
    old, new : ScoredRun
    names : sequence of str
        Metrics of both, :data:`COMPOSITE` and :data:`PASSED`.
    columns : sequence of str
        Metadata of either run; where both have a value, the values must agree.
    edited : {"drop", "keep"}
        Whether rows whose inputs differ are left out. Runs that do not know their inputs, such as
        tables of scores, have no edited rows.

    Raises
    ------
    InputError
        When the runs share no id, every shared row was edited and is to be left out, neither has a
        column, or a row has different values of it.
    """
    ids = sorted({*old.ids, *new.ids})
    place_of = {name: place for place, name in enumerate(ids)}
    old_places = np.fromiter((place_of[name] for name in old.ids), np.int64, len(old.ids))
    new_places = np.fromiter((place_of[name] for name in new.ids), np.int64, len(new.ids))
    n_old, n_new = (np.bincount(places, minlength=len(ids)) for places in (old_places, new_places))
    if not (n_old.astype(bool) & n_new.astype(bool)).any():
        raise InputError(
            f"no id is in both runs: {old.name} has {_some(old.ids)}, {new.name} has "
            f"{_some(new.ids)}; runs are compared row by row, so both must score the same samples"
        )
    old_means, nulls_old = row_means(column_scores(old, names), old_places, n_old)
    new_means, nulls_new = row_means(column_scores(new, names), new_places, n_new)
    differ = _differing(_bounds(old, old_places, len(ids)), _bounds(new, new_places, len(ids)))
    is_edited = (differ[:, :N_INPUTS] == 1).any(axis=1)
    table = RowTable(
        ids=ids,
        names=tuple(names),
        old=old_means,
        new=new_means,
        in_old=n_old > 0,
        in_new=n_new > 0,
        reasons=_reasons(new, names, new_places, len(ids)),
        columns={
            name: row_values(name, ids, (old, old_places), (new, new_places)) for name in columns
        },
        n_repeats_old=int(n_old.max()),
        n_repeats_new=int(n_new.max()),
        nulls_old=nulls_old,
        nulls_new=nulls_new,
        edited=tuple(ids[row] for row in np.flatnonzero(is_edited)),
        answers=differ[:, -1],
    )
    return table if edited == "keep" or not table.edited else _without(table, is_edited, old, new)


def _without(table: RowTable, rows: Flags, old: ScoredRun, new: ScoredRun) -> RowTable:
    """The table without some of its rows."""
    left = ~rows
    if not (table.in_both & left).any():
        raise InputError(
            f"{NOT_COMPARABLE}no unedited row is in both {old.name} and {new.name}: question, "
            f"ground truth or relevant ids differ in {_some(table.edited)}. To compare them "
            "anyway: --edited keep"
        )
    places = np.flatnonzero(left).tolist()
    return replace(
        table,
        ids=[table.ids[place] for place in places],
        old=table.old[left],
        new=table.new[left],
        in_old=table.in_old[left],
        in_new=table.in_new[left],
        reasons=table.reasons[left],
        columns={
            name: [values[place] for place in places] for name, values in table.columns.items()
        },
        nulls_old=None if table.nulls_old is None else table.nulls_old[left],
        nulls_new=None if table.nulls_new is None else table.nulls_new[left],
        answers=table.answers[left],
    )


def edited_rows(runs: Iterable[tuple[ScoredRun, Whole]], n_rows: int) -> Flags:
    """Rows whose inputs differ between any of some runs, or between repeats, shape (U,)."""
    low, high = zip(*(_bounds(run, places, n_rows) for run, places in runs), strict=True)
    least, most = np.minimum.reduce(low), np.maximum.reduce(high)
    differ: Flags = ((most > 0) & (least != most))[:, :N_INPUTS].any(axis=1)
    return differ


def _bounds(run: ScoredRun, places: Whole, n_rows: int) -> tuple[Digests, Digests]:
    """The smallest and the largest known digests over the repeats of a row, shape (U, 3)."""
    shape = n_rows, len(UNKNOWN)
    low, high = np.full(shape, np.iinfo(np.uint32).max, np.uint32), np.zeros(shape, np.uint32)
    if run.digests is not None:
        for kind in range(len(UNKNOWN)):
            digests = run.digests[:, kind]
            known = digests > 0
            np.minimum.at(low[:, kind], places[known], digests[known])
            np.maximum.at(high[:, kind], places[known], digests[known])
    return low, high


def _differing(old: tuple[Digests, Digests], new: tuple[Digests, Digests]) -> Signs:
    """1 where digests differ, 0 if they are the same, -1 if one is unknown; shape (U, 3)."""
    known = (old[1] > 0) & (new[1] > 0)
    differ = (old[0] != new[0]) | (old[1] != new[1])
    return np.where(known, differ, -1).astype(np.int8)


def _some(ids: Sequence[str]) -> str:
    shown = ", ".join(glance(name) for name in ids[:3])
    return shown + (", …" if len(ids) > 3 else "") if shown else "no rows"


def column_scores(run: ScoredRun, names: Sequence[str]) -> list[Floats]:
    """The columns of a run, each float64; NaN where there is no score."""
    return [_column(run, name) for name in names]


def _column(run: ScoredRun, name: MetricId) -> Floats:
    if name == PASSED:
        return np.where(run.passed == NO_VERDICT, np.nan, run.passed.astype(np.float64))
    if name == COMPOSITE:
        return run.composite
    # The run may lack a name that the other one has.
    return run.column(name) if name in run.metrics else np.full(len(run), np.nan)


def _reasons(
    run: ScoredRun, names: Sequence[str], places: Whole, n_rows: int
) -> npt.NDArray[np.uint8]:
    found = np.zeros((n_rows, len(names)), np.uint8)
    for number, name in enumerate(names):
        if name in run.metrics:
            of_rows = run.null_reasons[:, run.metrics.index(name)]
            np.maximum.at(found[:, number], places, of_rows)
    return found


def row_means(
    columns: Sequence[Floats], places: Whole, counts: Whole
) -> tuple[Floats, Floats | None]:
    """Means over the repeats that have a score, shape (U, K), and the share without one."""
    n_rows = len(counts)
    found = np.full((n_rows, len(columns)), np.nan)
    if counts.max(initial=0) <= 1:
        for number, scores in enumerate(columns):
            found[places, number] = scores
        return found, None
    nulls = np.ones(found.shape)
    for number, scores in enumerate(columns):
        measured = ~np.isnan(scores)
        at, values = places[measured], scores[measured]
        # Sums must not depend on the order of the repeats.
        order = np.lexsort((values, at))
        at, values = at[order], values[order]
        n = np.bincount(at, minlength=n_rows)
        # Summed above the row's lowest score, so that equal repeats give exactly that score.
        least = np.full(n_rows, np.inf)
        np.minimum.at(least, at, values)
        with np.errstate(invalid="ignore", divide="ignore"):
            beyond = np.bincount(at, values - least[at], n_rows) / n
            found[:, number] = np.where(n > 0, least + beyond, np.nan)
        nulls[:, number] -= n / np.maximum(counts, 1)
    return found, nulls


def row_values(name: str, ids: Sequence[str], *runs: tuple[ScoredRun, Whole]) -> list[str | None]:
    """The value of a field in each row, from runs with the places of their rows."""
    found: list[str | None] = [None] * len(ids)
    for run, places in runs:
        for place, value in zip(places.tolist(), run.columns.get(name, ()), strict=False):
            before = found[place]
            if before is not None and value is not None and value != before:
                raise InputError(
                    f"row {glance(ids[place])} has two values of {name}, {before!r:.80} and "
                    f"{value!r:.80}; it needs the same value in all runs and repeats"
                )
            found[place] = before if value is None else value
    if all(value is None for value in found):
        names = " or ".join(run.name for run, _ in runs)
        raise InputError(
            f"no row of {names} has a field {name!r}. Give a field of the samples or of "
            "their metadata, or a column of a score file"
        )
    return found
