"""Any number of runs on the same rows in; a leaderboard of every metric out."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import numpy as np

from rag_eval.comparing.leaderboard import (
    Board,
    Leaderboard,
    LeaderboardOptions,
    Place,
    group_letters,
    wins_of,
)
from rag_eval.comparing.pairing import (
    Edited,
    column_scores,
    edited_rows,
    row_means,
    row_values,
)
from rag_eval.comparing.run_differences import OTHER_DATASETS, differences_of
from rag_eval.comparing.tested_changes import Slice
from rag_eval.comparing.two_runs import (
    falling_of,
    gating_of,
    names_of,
    read_scores,
    slices_of,
)
from rag_eval.errors import InputError, glance
from rag_eval.metrics.registry import metric_or_column
from rag_eval.plumbing.checked_values import from_zero
from rag_eval.plumbing.spelling import counted
from rag_eval.results.summaries import check_differences
from rag_eval.runs.run_files import RunSource, sources_of
from rag_eval.runs.scored_run import ScoredRun
from rag_eval.samples import MetricId
from rag_eval.stats.all_pairs import PairIntervals, all_pairs
from rag_eval.stats.arrays import Flags, Floats
from rag_eval.stats.groups import group_numbers
from rag_eval.stats.intervals import Interval
from rag_eval.stats.mean_intervals import mean_interval
from rag_eval.stats.rank_tests import friedman_test

# Shares may end outside 0 to 1 by a rounding error.
_ROUNDING: Final = 1e-9


def compare_runs(
    runs: Sequence[RunSource] | Mapping[str, RunSource],
    *,
    metrics: Iterable[str] | None = None,
    gating: Iterable[str] | None = None,
    lower_is_better: Iterable[str] = (),
    cluster_by: str | None = None,
    slices: Sequence[str] = (),
    level: float = 0.95,
    n_resamples: int = 9999,
    seed: int = 0,
    epsilon: float = 1e-9,
    ranks: bool = False,
    edited: Edited = "drop",
    id_field: str = "id",
    force: bool = False,
) -> Leaderboard:
    """Rank any number of runs on the same rows, and say which differences are more than chance.

    A metric is compared on the rows for which all runs have a score. The intervals of all
    differences of two runs, over all gating metrics and slices, hold simultaneously with the
    probability ``level``: if all runs are equally good, any of them are told apart with a
    probability of at most ``1 - level``. Each other metric has a family of its own.

    Parameters
    ----------
    runs : sequence of runs, or mapping of name to run
        Two or more; each as for :func:`rag_eval.comparing.compare`.
    metrics, gating, lower_is_better, cluster_by, slices, epsilon, edited, id_field, force
        As for :func:`rag_eval.comparing.compare`.
    level : float
    n_resamples, seed : int
        Number of sign patterns drawn, and the random seed.
    ranks : bool
        Add Friedman's test of the ranks of the runs within rows, and Nemenyi's critical
        difference of mean ranks.

    Returns
    -------
    Leaderboard

    Raises
    ------
    SignatureMismatchError
        When runs were scored under different settings, unless ``force`` is true.
    InputError
        For fewer than two runs, a file that cannot be read, runs that have no row or metric in
        common, or options that do not fit them.
    """
    if isinstance(slices, str):
        raise InputError(f"slices must be a list of fields, got {slices!r}")
    options = LeaderboardOptions(
        level=level,
        n_resamples=n_resamples,
        seed=seed,
        epsilon=from_zero(epsilon, "epsilon"),
        cluster_by=cluster_by,
        slices=tuple(dict.fromkeys(slices)),
        edited=edited,
    )
    wanted = None if metrics is None else [metric_or_column(metric) for metric in metrics]
    fields = list(dict.fromkeys([*([cluster_by] if cluster_by else []), *options.slices]))
    read = _named_runs(runs, fields, id_field, wanted)
    names = names_of(read, wanted)
    differences = _checked_settings(read, names, force=force)
    table = _table(read, names, fields, edited)
    falling = falling_of(read, names, lower_is_better)
    gates = gating_of(gating, names)
    parts: list[Slice | None] = [None, *slices_of(table.columns, options.slices)]
    keys = [(name, part) for part in parts for name in names]
    families = {key: table.scores_in(*key) for key in keys}
    clusters = None if cluster_by is None else group_numbers(table.columns[cluster_by])
    found: dict[tuple[str, Slice | None], PairIntervals] = {}
    together = [key for key in keys if key[0] in gates]
    alone = [[key for key in keys if key[0] == name] for name in names if name not in gates]
    for family in (together, *alone):
        pairs = all_pairs(
            [families[key] for key in family],
            clusters=clusters,
            level=level,
            n_resamples=n_resamples,
            seed=seed,
        )
        found |= dict(zip(family, pairs, strict=True))
    boards = [
        _board(
            key,
            families[key],
            found[key],
            table,
            options,
            gating=key[0] in gates,
            rises=key[0] not in falling,
            ranks=ranks,
        )
        for key in keys
    ]
    return Leaderboard(
        runs=tuple(run.name for run in read),
        n_rows=tuple(int(there.sum()) for there in table.there.T),
        n_shared=int(table.in_all.sum()),
        options=options,
        boards=tuple(boards),
        differences=tuple(differences),
        notes=tuple(_notes(read, table, boards, options)),
    )


# ----------------------------------------------------------------------------------------- reading


def _named_runs(
    runs: Sequence[RunSource] | Mapping[str, RunSource],
    fields: Sequence[str],
    id_field: str,
    wanted: Sequence[str] | None,
) -> list[ScoredRun]:
    if isinstance(runs, (str, Path)) or not isinstance(runs, (Sequence, Mapping)):
        raise InputError("runs must be a list of runs, or a mapping of names to runs")
    given = list(runs.items()) if isinstance(runs, Mapping) else [("", run) for run in runs]
    if len(given) < 2:
        raise InputError(f"a comparison needs two or more runs, got {len(given)}")
    read = [
        read_scores(sources_of(source, f"run {number}"), fields, id_field, wanted)
        for number, (_, source) in enumerate(given, 1)
    ]
    if isinstance(runs, Mapping):
        names = [str(name) for name, _ in given]
    else:
        names = _without_folder([run.name for run in read])
    for name in names:
        if names.count(name) > 1:
            raise InputError(
                f"{name} is given {names.count(name)} times; runs need different names: give a "
                "mapping of names to runs, or files of different names"
            )
    return [replace(run, name=name) for run, name in zip(read, names, strict=True)]


def _without_folder(names: list[str]) -> list[str]:
    """Paths from the folder that all of them are in."""
    folders = {str(Path(name).parent) for name in names}
    if len({Path(name).is_absolute() for name in names}) > 1:
        return names
    shared = os.path.commonpath(folders)
    return [os.path.relpath(name, shared) for name in names] if shared else names


def _checked_settings(runs: list[ScoredRun], names: Sequence[str], *, force: bool) -> list[str]:
    metrics = [name for name in names if any(name in run.metrics for run in runs)]
    first, found = runs[0], []
    for run in runs[1:]:
        differences = differences_of(first, run, metrics)
        check_differences(first.name, run.name, differences, force=force)
        found += [f"{first.name} and {run.name}: {text}" for text in differences]
    return found


@dataclass(frozen=True, slots=True)
class _Table:
    """U rows of k runs, sorted by id."""

    ids: list[str]
    names: Sequence[str]
    scores: Floats  # (k, U, K), NaN where a run has no score
    there: Flags  # (U, k)
    columns: dict[str, list[str | None]]
    edited: tuple[str, ...]

    def scores_in(self, name: str, part: Slice | None) -> Floats:
        """The scores of one metric, shape (U, k); NaN outside of the slice."""
        scores = self.scores[:, :, self.names.index(name)].T.copy()
        if part is not None:
            scores[~self.rows_in(part)] = np.nan
        return scores

    @property
    def in_all(self) -> Flags:
        """Which rows all runs have, shape (U,)."""
        found: Flags = self.there.sum(axis=1) == self.there.shape[1]
        return found

    def rows_in(self, part: Slice) -> Flags:
        """Which rows are in a slice, shape (U,)."""
        return np.array([each == part.value for each in self.columns[part.field]], np.bool_)


def _table(
    runs: list[ScoredRun], names: Sequence[str], fields: Sequence[str], edited: Edited
) -> _Table:
    ids = sorted({name for run in runs for name in run.ids})
    place_of = {name: place for place, name in enumerate(ids)}
    places = [np.fromiter((place_of[i] for i in run.ids), np.int64, len(run.ids)) for run in runs]
    counts = [np.bincount(each, minlength=len(ids)) for each in places]
    pairs = list(zip(runs, places, strict=True))
    is_edited = edited_rows(pairs, len(ids))
    scores = np.stack(
        [
            row_means(column_scores(run, names), at, count)[0]
            for (run, at), count in zip(pairs, counts, strict=True)
        ]
    )
    columns = {name: row_values(name, ids, *pairs) for name in fields}
    kept = ~is_edited if edited == "drop" else np.ones(len(ids), np.bool_)
    rows = np.flatnonzero(kept).tolist()
    table = _Table(
        ids=[ids[row] for row in rows],
        names=names,
        scores=scores[:, kept],
        there=np.stack([count > 0 for count in counts], axis=1)[kept],
        columns={name: [values[row] for row in rows] for name, values in columns.items()},
        edited=tuple(ids[row] for row in np.flatnonzero(is_edited)),
    )
    if not table.in_all.any():
        what = "unedited row" if table.edited and edited == "drop" else "id"
        raise InputError(
            f"no {what} is in all runs; runs are compared row by row, so all must score the same "
            "samples"
        )
    return table


# ---------------------------------------------------------------------------------------- boards


def _board(
    key: tuple[MetricId, Slice | None],
    scores: Floats,
    pairs: PairIntervals,
    table: _Table,
    options: LeaderboardOptions,
    *,
    gating: bool,
    rises: bool,
    ranks: bool,
) -> Board:
    name, part = key
    complete: Flags = np.isnan(scores).sum(axis=1) == 0
    shared = scores[complete]
    sign = 1.0 if rises else -1.0
    intervals = _mean_intervals(shared, complete, table, options)
    estimates = sign * np.array([each.estimate for each in intervals])
    # The best first; runs of equal means as they were given.
    order = [int(number) for number in np.argsort(-estimates, kind="stable")]
    ahead = pairs.apart & (sign * pairs.differences > 0)
    letters = group_letters(order, pairs.apart)
    places = [
        Place(
            run=number,
            mean=intervals[number],
            rank=rank,
            best_rank=1 + int(ahead[:, number].sum()),
            worst_rank=len(order) - int(ahead[number].sum()),
            groups=letters[number],
        )
        for rank, number in enumerate(order, 1)
    ]
    everywhere = table.in_all if part is None else table.in_all & table.rows_in(part)
    return Board(
        name=name,
        slice=part,
        gating=gating,
        higher_is_better=rises,
        n=pairs.n,
        n_incomplete=int(everywhere.sum()) - pairs.n,
        places=tuple(places),
        pairs=pairs,
        wins=wins_of(sign * shared, options.epsilon),
        ranks=friedman_test(sign * shared, level=options.level) if ranks else None,
    )


def _mean_intervals(
    shared: Floats, complete: Flags, table: _Table, options: LeaderboardOptions
) -> list[Interval]:
    groups = None
    if options.cluster_by is not None:
        values = table.columns[options.cluster_by]
        groups = [values[place] for place in np.flatnonzero(complete).tolist()]
    bounded = not ((shared < -_ROUNDING) | (shared > 1 + _ROUNDING)).any()
    known = np.clip(shared, 0.0, 1.0) if bounded else shared
    bounds = (0.0, 1.0) if bounded else None
    return [
        mean_interval(column, bounds=bounds, groups=groups, level=options.level)
        for column in known.T
    ]


def _notes(
    runs: list[ScoredRun], table: _Table, boards: list[Board], options: LeaderboardOptions
) -> list[str]:
    notes = [
        f"{run.name} has {counted(int(n_other), 'row')} that other runs lack"
        for run, n_other in zip(
            runs, (table.there & ~table.in_all[:, np.newaxis]).sum(axis=0), strict=True
        )
        if n_other
    ]
    notes += [
        f"{board.name}: {counted(board.n_incomplete, 'row')} left out, because a run has no score "
        "for them"
        for board in boards
        if board.slice is None and board.n_incomplete
    ]
    if table.edited:
        shown = ", ".join(glance(name) for name in table.edited[:3])
        more = ", …" if len(table.edited) > 3 else ""
        how = "left out" if options.edited == "drop" else "compared anyway"
        rows = counted(len(table.edited), "row")
        notes.append(
            f"question, ground truth or relevant ids differ in {rows} ({shown}{more}): {how}"
        )
    hashes = {run.dataset_hash for run in runs} - {None}
    if len(hashes) > 1:
        notes.append(OTHER_DATASETS)
    return notes
