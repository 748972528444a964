"""A run as a person looks at it: verdict, statistics, distributions, rows, slices, comparison."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from rag_eval.comparing.run_comparison import RunComparison
from rag_eval.gating.limits import GateOutcome, no_gate_text
from rag_eval.inputs.blocks import RowFault
from rag_eval.results.batch import BatchSummary
from rag_eval.results.row import EvalResult
from rag_eval.samples import MetricId
from rag_eval.stats.intervals import Interval


@dataclass(frozen=True, slots=True)
class Histogram:
    """The distribution of scores.

    Attributes
    ----------
    low, high : float
        Ends of the first and the last bin; bins are equally wide, each holds its lower end, the
        last one both.
    counts : tuple of int
        Scores in each bin.
    """

    low: float
    high: float
    counts: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewedRow:
    """One row with its explanation.

    Attributes
    ----------
    number : int
        Among all rows of the run, from 0.
    name : str
        Its place and id, ``line 2 ("q2")``.
    id : str or None
    result : EvalResult
        Explained: signals, evidence of sentences, what a judge said.
    path : str or None
        The file it was read from.
    line : int or None
        Its line there, from 1, in files of lines.
    old_answer : str or None
        The answer of the baseline, if it is known and differs.
    """

    number: int
    name: str
    id: str | None
    result: EvalResult
    path: str | None = None
    line: int | None = None
    old_answer: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SliceView:
    """The rows with one value of a field.

    Attributes
    ----------
    field, value : str
        ``topic`` and ``history``; value is None for rows that have none.
    n_rows, n_passed : int
    means : mapping of Interval
        Per metric, ``composite`` last; the estimate is NaN where no row has a score.
    n_scored : mapping of int
        How many rows each mean is over.
    """

    field: str
    value: str | None
    n_rows: int
    n_passed: int
    means: Mapping[str, Interval]
    n_scored: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunView:
    """Everything that reports show.

    Attributes
    ----------
    source : str
        The file of samples, as messages call it; empty for samples in memory.
    summary : BatchSummary
        Aggregates with intervals and denominators, composite, notes, signature, judging.
    thresholds : mapping of float or None
        Per metric; None for diagnostics.
    gates : tuple of GateOutcome
        Empty if none was set.
    passed : bool or None
        Every gate held, and the run came to its end; None if no gate was set.
    interrupted : bool
    n_skipped : int
        Rows left out as invalid.
    faults : tuple of RowFault
        The first of these.
    histograms : mapping of Histogram
        Per metric that has scores, and ``composite``.
    rows : tuple of ViewedRow
        In the order of the run: all, or of a long run the worst and some drawn at random.
    slices : tuple of SliceView
    comparison : RunComparison or None
        With the baseline, row by row where both have ids.
    command : str
        What makes the same run again; empty if that is not known.
    notes : tuple of str
        What a reader should know beside the notes of the summary.
    """

    source: str
    summary: BatchSummary
    thresholds: Mapping[MetricId, float | None]
    gates: tuple[GateOutcome, ...]
    passed: bool | None
    interrupted: bool = False
    n_skipped: int = 0
    faults: tuple[RowFault, ...] = ()
    histograms: Mapping[str, Histogram] = field(default_factory=dict)
    rows: tuple[ViewedRow, ...] = ()
    slices: tuple[SliceView, ...] = ()
    comparison: RunComparison | None = None
    command: str = ""
    notes: tuple[str, ...] = ()

    @property
    def is_whole(self) -> bool:
        """Every row of the run is among ``rows``."""
        return len(self.rows) == self.summary.n_rows

    @property
    def reason(self) -> str:
        """Why the run passed or not, in one sentence: the first gate that failed, or the first."""
        if self.interrupted:
            return "the run was interrupted: only part of the samples was scored"
        if not self.gates:
            judging = self.summary.judging
            n_failed = judging.n_failed if judging is not None else 0
            metrics = list(self.summary.shown_aggregates)
            return no_gate_text(metrics, n_failed, signature=self.summary.signature)
        ordered = sorted(self.gates, key=lambda gate: gate.held)
        return ordered[0].message
