"""The result of comparing two runs: each metric, each slice, and the rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from rag_eval.comparing.null_changes import worst_case_difference
from rag_eval.comparing.pairing import Edited, RowTable
from rag_eval.comparing.row_changes import MovedRow, RowChange, moved_rows, row_changes
from rag_eval.comparing.statuses import Status
from rag_eval.comparing.tested_changes import FAMILY_RULES, FamilyRule, MetricChange, Slice
from rag_eval.errors import InputError
from rag_eval.metrics.registry import bounds_of
from rag_eval.plumbing.checked_values import number, one_of, seed_number, whole_from_one
from rag_eval.plumbing.json_records import JsonRecord
from rag_eval.plumbing.spelling import counted
from rag_eval.results.faces import face
from rag_eval.samples import MetricId
from rag_eval.stats.arrays import Flags, Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_ROWS_TOLD: Final = 5


@dataclass(frozen=True, slots=True)
class ComparisonOptions(JsonRecord):
    """The rules by which two runs were compared; see :func:`rag_eval.comparing.compare`."""

    level: float = 0.95
    alpha: float = 0.05
    n_resamples: int = 9999
    seed: int = 0
    epsilon: float = 1e-9
    cluster_by: str | None = None
    slices: tuple[str, ...] = ()
    edited: Edited = "drop"
    adjust: FamilyRule = "max-t"

    def __post_init__(self) -> None:
        for value, name in ((self.level, "level"), (self.alpha, "alpha")):
            if not 0 < number(value, name) < 1:
                raise InputError(f"{name} must be between 0 and 1, got {value}")
        whole_from_one(self.n_resamples, "n_resamples")
        seed_number(self.seed)
        one_of(self.adjust, "adjust", FAMILY_RULES)
        one_of(self.edited, "edited", ("drop", "keep"))


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerChanges(JsonRecord):
    """The answers of two runs.

    Attributes
    ----------
    n_rows : int
        Rows whose answer is known in both runs.
    n_changed : int
        Rows with another answer.
    n_moved_alone : int
        Rows with the same answer and other scores: the contexts, or the judge, changed.
    """

    n_rows: int
    n_changed: int
    n_moved_alone: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RunComparison:
    """Two runs side by side.

    Attributes
    ----------
    old, new : str
        Their names.
    options : ComparisonOptions
    changes : tuple of MetricChange
        Metrics in their usual order, ``composite`` and ``passed`` last; then slice by slice.
    differences : tuple of str
        Settings that differ; only when the comparison was forced.
    notes : tuple of str
        Remarks for a reader of the numbers.
    table : RowTable or None
        The rows; None if they could not be paired and only means were compared.
    lost_metrics : tuple of MetricId
        Compared metrics that the new run does not have at all.
    """

    old: str
    new: str
    options: ComparisonOptions
    changes: tuple[MetricChange, ...]
    differences: tuple[str, ...]
    notes: tuple[str, ...]
    table: RowTable | None = field(repr=False)
    lost_metrics: tuple[MetricId, ...] = ()

    @property
    def paired(self) -> bool:
        """Whether rows were matched by id; without that there is no test."""
        return self.table is not None

    @property
    def regressions(self) -> tuple[MetricChange, ...]:
        """Gating metrics that a test shows to be worse by more than margin and tolerance."""
        return tuple(c for c in self.changes if c.gating and c.verdict is Status.REGRESSED)

    @property
    def n_tests(self) -> int:
        """Number of tests of scores in the gating family."""
        return sum(change.gating and change.test is not None for change in self.changes)

    @property
    def n_pairs(self) -> int:
        """Number of rows in both runs."""
        return 0 if self.table is None else int(self.table.in_both.sum())

    @property
    def missing_rows(self) -> tuple[int, int]:
        """Number of rows of the old run that the new run lacks, and of all its rows."""
        if self.table is None:
            return 0, 0
        in_old = self.table.in_old
        return int((in_old & ~self.table.in_new).sum()), int(in_old.sum())

    @property
    def missing_rows_text(self) -> str:
        """``20 of 400 rows of main.json are missing in this run``; empty if none is."""
        n, n_rows = self.missing_rows
        verb = "is" if n == 1 else "are"
        text = f"{n:,} of {counted(n_rows, 'row')} of {self.old} {verb} missing in this run"
        return text if n else ""

    @property
    def null_lines(self) -> tuple[str, ...]:
        """The metrics that lost scores over all rows, in words."""
        return tuple(
            f"{change.name}: {change.nulls}"
            + (f": {change.verdict}" if change.verdict is Status.MISSING_SCORES else "")
            for change in self.changes
            if change.slice is None and change.nulls is not None and change.nulls.n_lost
        )

    @property
    def edited(self) -> tuple[str, ...]:
        """Ids of the rows in both runs whose question, ground truth or relevant ids differ."""
        return () if self.table is None else self.table.edited

    @property
    def answers(self) -> AnswerChanges | None:
        """How many answers differ; None if the runs do not know their answers."""
        table = self.table
        if table is None or not (table.answers >= 0).any():
            return None
        with np.errstate(invalid="ignore"):
            moved = ~(np.abs(table.new - table.old) <= self.options.epsilon)
        moved &= ~(np.isnan(table.old) & np.isnan(table.new))
        # A metric that only one run has says nothing about contexts or judges.
        moved[:, np.isnan(table.old).all(axis=0) | np.isnan(table.new).all(axis=0)] = False
        return AnswerChanges(
            n_rows=int((table.answers >= 0).sum()),
            n_changed=int((table.answers == 1).sum()),
            n_moved_alone=int((moved.any(axis=1) & (table.answers == 0)).sum()),
        )

    def change(self, metric: MetricId, within: Slice | None = None) -> MetricChange:
        """The change of one metric.

        Raises
        ------
        InputError
            When the metric was not compared.
        """
        for change in self.changes:
            if change.name == metric and change.slice == within:
                return change
        names = ", ".join(dict.fromkeys(change.name for change in self.changes))
        where = "" if within is None else f" in the slice {within}"
        raise InputError(f"{metric} was not compared{where} (compared: {names})")

    def shown_by_test(self, change: MetricChange) -> Status | None:
        """REGRESSED or IMPROVED if the test shows it, whatever is tolerated or missing."""
        test, alpha = change.test, self.options.alpha
        if test is None:
            return None
        if test.adjusted_p_worse <= alpha:
            return Status.REGRESSED
        return Status.IMPROVED if test.adjusted_p_better <= alpha else None

    def rows_in(self, within: Slice | None = None) -> Flags:
        """Which rows of the table are in a slice, shape (U,); all for None."""
        table = self._table()
        if within is None:
            return np.ones(len(table.ids), np.bool_)
        return table.rows_with(within.field, within.value)

    def improvements(self, metric: MetricId, within: Slice | None = None) -> Floats:
        """How much better each row of the slice got, shape (U,); NaN without both scores.

        Differences of at most ``epsilon`` are 0.
        """
        old, new = self._table().column(metric)
        rises = self.change(metric, within).higher_is_better
        return settled((new - old if rises else old - new)[self.rows_in(within)], self.options)

    def clusters(self, within: Slice | None = None) -> list[str | None] | None:
        """The cluster of each row of the slice; None if rows are independent."""
        if self.options.cluster_by is None:
            return None
        values = self._table().columns[self.options.cluster_by]
        rows = self.rows_in(within).tolist()
        return [value for value, taken in zip(values, rows, strict=True) if taken]

    def row_changes(self, metric: MetricId) -> Iterator[RowChange]:
        """How each row changed, in the order of ids."""
        rises = self.change(metric).higher_is_better
        return row_changes(self._table(), metric, rises, self.options.epsilon)

    def moved_rows(
        self, metric: MetricId, most: int = MOST_ROWS_TOLD, within: Slice | None = None
    ) -> tuple[MovedRow, ...]:
        """The rows that moved the mean most."""
        self.change(metric, within)
        rows = None if within is None else self.rows_in(within)
        return moved_rows(self._table(), metric, most, self.options.epsilon, rows)

    def worst_case(
        self, metric: MetricId, bounds: tuple[float, float] = (0.0, 1.0)
    ) -> tuple[float, float]:
        """Range of the mean difference for any scores that the missing ones may have had."""
        self.change(metric)
        return worst_case_difference(self._table(), metric, *bounds)

    def worst_case_of(self, change: MetricChange) -> tuple[float, float] | None:
        """The same for the metric's own range; None without nulls or without a finite range."""
        nulls = change.nulls
        if nulls is None or not (nulls.n_old or nulls.n_new):
            return None
        bounds = bounds_of(change.name)
        return None if bounds is None else self.worst_case(change.name, bounds)

    def descriptive(self, metric: MetricId, within: Slice | None = None) -> dict[str, Any]:
        """Numbers that describe the pairs and do not affect the verdict, as JSON values.

        Wilcoxon's signed-rank test with its rank-biserial correlation, and Cohen's d and Hedges' g
        of paired differences; above 0 is better.
        """
        from rag_eval.stats.effect_sizes import cohens_d_z, hedges_g_z
        from rag_eval.stats.rank_tests import signed_ranks

        better = self.improvements(metric, within)
        return {
            "wilcoxon": signed_ranks(better).to_dict(),
            "cohensDz": cohens_d_z(better),
            "hedgesGz": hedges_g_z(better),
        }

    def _table(self) -> RowTable:
        if self.table is None:
            raise InputError(f"rows of {self.old} and {self.new} were not paired: ids are missing")
        return self.table

    def to_dict(
        self, *, top: int = MOST_ROWS_TOLD, descriptive: bool = False, worst_case: bool = False
    ) -> dict[str, Any]:
        """As JSON values.

        Parameters
        ----------
        top : int
            How many of the rows that moved a mean most to list.
        descriptive : bool
            Add :meth:`descriptive` to each metric.
        worst_case : bool
            Add :meth:`worst_case_of` to each metric: null, or smallest and largest difference.
        """
        changes = []
        for change in self.changes:
            value = change.to_dict()
            if worst_case:
                value["worstCase"] = self.worst_case_of(change)
            if self.table is not None:
                moved = self.moved_rows(change.name, top, change.slice)
                value["moved"] = [row.to_dict() for row in moved]
                if descriptive:
                    value["descriptive"] = self.descriptive(change.name, change.slice)
            changes.append(value)
        table = self.table
        return {
            "old": self.old,
            "new": self.new,
            "paired": self.paired,
            "nPairs": self.n_pairs,
            "nRemoved": 0 if table is None else int((~table.in_new).sum()),
            "nNew": 0 if table is None else int((~table.in_old).sum()),
            "edited": list(self.edited),
            "answers": None if self.answers is None else self.answers.to_dict(),
            "nRepeatsOld": 1 if table is None else table.n_repeats_old,
            "nRepeatsNew": 1 if table is None else table.n_repeats_new,
            "nTests": self.n_tests,
            "options": self.options.to_dict(),
            "changes": changes,
            "signatureDifferences": list(self.differences),
            "notes": list(self.notes),
        }

    def plot(self, *, ax: Axes | None = None) -> Figure:
        """Plot the differences with their intervals, one line per metric.

        Needs matplotlib (``pip install 'rag-eval-native[plot]'``).

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; default: a new figure.
        """
        figure: Figure = face("comparison.plot")(self, ax=ax)
        return figure

    def _repr_html_(self) -> str:
        return str(face("comparison.notebook")(self))


def settled(differences: Floats, options: ComparisonOptions) -> Floats:
    """Differences, with those of at most epsilon as 0."""
    with np.errstate(invalid="ignore"):
        return np.where(np.abs(differences) <= options.epsilon, 0.0, differences)
