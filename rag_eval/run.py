"""A run: sample file -> scores, gates, verdict, and a result file when asked for.

Texts are dropped after each block; what stays is the score matrix and the N worst rows.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any, Final, TypedDict, Unpack, get_type_hints

import numpy as np
import numpy.typing as npt

from rag_eval import json_text
from rag_eval.batch_results import BatchEvalResult, assemble, stacked
from rag_eval.engine import ScoredBlock, score_blocks, thread_count
from rag_eval.errors import InputError
from rag_eval.explaining import explain_row
from rag_eval.gates import GateOutcome, Gates, check_gates
from rag_eval.interrupts import deferred_interrupts
from rag_eval.options import (
    EVALUATE_KEYS,
    REGRESSION_THRESHOLD,
    Plan,
    ProgressFn,
    make_plan,
    normalized,
    number,
)
from rag_eval.progress import Progress
from rag_eval.regressions import Baseline, check_signatures, compare_means
from rag_eval.repeated_ids import RepeatedIds
from rag_eval.result_files import atomic_file, row_json
from rag_eval.result_summaries import read_summary
from rag_eval.sample_files import STANDARD_INPUT, RowFault, file_blocks, source_name
from rag_eval.scoring import _milliseconds_since, _now
from rag_eval.signature import Signature
from rag_eval.sources import FieldNeeds
from rag_eval.validation import add_ids, origin_of, pack_file_block
from rag_eval.verdicts import judge_rows
from rag_eval.worst_rows import WorstRow, WorstRows

_KEPT_FAULTS: Final = 10


class RunOptions(TypedDict, total=False):
    """Options of :func:`run_file`; None and missing mean the default.

    Attributes
    ----------
    thresholds, composite_threshold, composite_weights, heuristic
        As for :func:`rag_eval.evaluate`.
    min_pass_rate : float
        Gate: least share of the scored samples that pass.
    min_mean : mapping of float
        Gate: least mean per metric.
    baseline : str or Path
        Gate: an earlier result file; no mean may drop by more than ``regression_threshold`` (0.05).
    allow_signature_mismatch : bool
        Compare with a baseline of other settings all the same.
    output : str or Path
        Result file to write: ``.json`` or ``.jsonl``, either also ``.gz``.
    worst : int
        How many of the rows that score lowest to keep, explained.
    threads : int
        Default: the cores this process may use. Scores do not depend on it.
    skip_invalid : bool
        Leave bad rows out and count them, where the first would end the run.
    on_progress : callable
        Called with (completed rows, None) at most every 50 ms and at the end.
    on_row : callable
        Gets the result of each row as one line of JSON.
    """

    thresholds: Mapping[str, float] | None
    composite_threshold: float | None
    composite_weights: Mapping[str, float | None] | None
    heuristic: Mapping[str, Any] | None
    min_pass_rate: float | None
    min_mean: Mapping[str, float] | None
    baseline: str | Path | None
    regression_threshold: float | None
    allow_signature_mismatch: bool | None
    output: str | Path | None
    worst: int | None
    threads: int | None
    skip_invalid: bool | None
    on_progress: ProgressFn | None
    on_row: Callable[[bytes], object] | None


RUN_KEYS: Final = frozenset(get_type_hints(RunOptions))


@dataclass(frozen=True, slots=True, kw_only=True)
class RunReport:
    """What a run found.

    Attributes
    ----------
    source : str
        The file, as messages call it.
    result : BatchEvalResult
        Its rows cannot be opened; ``result.notes`` is what a reader of the verdict should know.
    gates : list of GateOutcome
    n_skipped : int
        Rows left out as invalid; no denominator counts them.
    faults : list of RowFault
        The first ten of them.
    worst : list of WorstRow
        The worst first.
    interrupted : bool
        Ctrl-C came: only the first ``len(result)`` rows were scored.
    written : Path or None
        The result file.
    """

    source: str
    result: BatchEvalResult
    gates: list[GateOutcome]
    n_skipped: int
    faults: list[RowFault]
    worst: list[WorstRow]
    interrupted: bool
    written: Path | None = None

    @property
    def passed(self) -> bool:
        """Every gate held, and the run came to its end."""
        return not self.interrupted and all(gate.held for gate in self.gates)

    def file_summary(self) -> dict[str, Any]:
        """What a result file holds beside its rows."""
        summary = self.result.summary_dict()
        if self.n_skipped:
            summary["nSkipped"] = self.n_skipped
        if self.interrupted:
            summary["interrupted"] = True
        return summary

    def to_dict(self) -> dict[str, Any]:
        """All but the rows, as JSON values; it can serve as a baseline."""
        return {
            "source": self.source,
            "verdict": "pass" if self.passed else "fail",
            "gates": [gate.to_dict() for gate in self.gates],
            "nRows": len(self.result),
            "nSkipped": self.n_skipped,
            **self.file_summary(),
            "worst": [row.to_dict() for row in self.worst],
        }


def run_file(
    data: str | Path, metrics: Iterable[str] | None = None, **options: Unpack[RunOptions]
) -> RunReport:
    """Score a sample file of any size and hold the result against gates.

    Parameters
    ----------
    data : str or Path
        ``.jsonl`` or a ``.json`` array, either also ``.gz``, or ``-``: JSON lines on standard input.
    metrics : iterable of str, optional
        Metric ids; all seven by default.
    **options : RunOptions
        See there. With no gate among them the gate is that every sample passes.

    Returns
    -------
    RunReport
        After Ctrl-C one of the rows scored so far, written as ``NAME.partial.SUFFIX``.

    Raises
    ------
    InputError
        For bad input, naming file, row, field, what was found and what was wanted; nothing is
        written then, and an older result stays as it is.
    KeyboardInterrupt
        When Ctrl-C came before the first row was scored or after the last.
    """
    unknown = sorted(set(options) - RUN_KEYS)
    if unknown:
        raise TypeError(f"run_file has no option {unknown[0]!r}")
    run = _Run(data, metrics, options)
    with _row_file(run) as write_rows:
        run.score(write_rows)
        return run.report()


class _Run:
    """The state of one run."""

    def __init__(
        self, data: str | Path, metrics: Iterable[str] | None, options: Mapping[str, Any]
    ) -> None:
        self.data = data
        self.began = time.perf_counter()
        self.evaluated_at = _now()
        self.options = options
        evaluation = {name: value for name, value in options.items() if name in EVALUATE_KEYS}
        self.plan: Plan = make_plan(metrics, normalized(evaluation, "run", EVALUATE_KEYS))
        if not self.plan.metrics:
            raise InputError("metrics must name at least one metric")
        self.needs = FieldNeeds.of(self.plan.columns)
        self.gates = Gates.of(
            options.get("min_pass_rate"), options.get("min_mean"), self.plan.columns
        )
        self.threads = thread_count(options.get("threads"))
        self.output = _checked_output(options.get("output"), data)
        self.regression_threshold = _regression_threshold(options)
        self.baseline, self.notes = _baseline(self.plan, options)
        self.worst = WorstRows(_row_count(options.get("worst"), "worst"))
        self.ids = RepeatedIds()
        self.n_rows = self.n_skipped = 0
        self.faults: list[RowFault] = []
        self.scores: list[npt.NDArray[np.float64]] = []
        self.null_reasons: list[npt.NDArray[np.uint8]] = []
        self.interrupted = False

    @property
    def written(self) -> Path | None:
        """Where the result file goes; never over an older one when the run was interrupted."""
        if self.output is None or not self.interrupted:
            return self.output
        suffixes = "".join(self.output.suffixes[-2:]) if self.output.suffix == ".gz" else None
        suffix = suffixes or self.output.suffix
        return self.output.with_name(self.output.name.removesuffix(suffix) + f".partial{suffix}")

    def score(self, write_rows: Callable[[list[bytes]], object] | None) -> None:
        """Score the file to its end, or until Ctrl-C."""
        skip = bool(self.options.get("skip_invalid"))
        scored_blocks = score_blocks(
            file_blocks(self.data),
            self.plan,
            self.needs,
            self.threads,
            lambda block: pack_file_block(block, self.needs, skip_invalid=skip),
        )
        try:
            with (
                closing(scored_blocks),  # type: ignore[type-var]  # a generator
                Progress(self.options.get("on_progress"), None) as progress,
            ):
                for scored in scored_blocks:
                    # A row is in the file and in the statistics, or in neither.
                    with deferred_interrupts():
                        self._add(scored, write_rows)
                    progress.advance(len(scored.scores))
        except KeyboardInterrupt:
            if not self.n_rows:
                raise
            self.interrupted = True
        if not self.n_rows:
            raise InputError(
                f"{source_name(self.data)} holds no samples"
                if not self.n_skipped
                else f"{source_name(self.data)} holds no valid samples: "
                f"all {self.n_skipped} are invalid, the first is {self.faults[0]}"
            )

    def _add(
        self, scored: ScoredBlock, write_rows: Callable[[list[bytes]], object] | None
    ) -> None:
        faults = origin_of(scored.rows).faults
        self.n_skipped += len(faults)
        self.faults += faults[: _KEPT_FAULTS - len(self.faults)]
        add_ids(self.ids, scored.rows)
        self.worst.add(scored, judge_rows(scored.scores, self.plan).composite, self.n_rows)
        if write_rows is not None:
            write_rows([self._row(scored, index) for index in range(len(scored.scores))])
        self.scores.append(scored.scores)
        self.null_reasons.append(scored.null_reasons)
        self.n_rows += len(scored.scores)

    def _row(self, scored: ScoredBlock, index: int) -> bytes:
        row = self.n_rows + index
        result = explain_row(
            scored.rows.rows[index],
            scored.batch,
            index,
            self.plan,
            self.evaluated_at,
            scored=(row, scored.scores[index]),
        )
        return row_json(result, row)

    def report(self) -> RunReport:
        """Statistics, regressions and gates of what was scored."""
        result = assemble(
            self.plan,
            stacked(self.scores, len(self.plan.columns), np.float64),
            stacked(self.null_reasons, len(self.plan.columns), np.uint8),
            None,
            evaluated_at=self.evaluated_at,
            duration_ms=_milliseconds_since(self.began),
        )
        notes = [*self.notes, *filter(None, [self.ids.warning()])]
        regressions = None
        if self.baseline is not None:
            regressions = compare_means(
                result.aggregates, self.baseline, self.plan.columns, self.regression_threshold
            )
        result = replace(result, notes=notes, regressions=regressions)
        return RunReport(
            source=source_name(self.data),
            result=result,
            gates=check_gates(result, self.gates, self.regression_threshold),
            n_skipped=self.n_skipped,
            faults=self.faults,
            worst=self.worst.opened(self.plan, self.needs, self.evaluated_at),
            interrupted=self.interrupted,
            written=self.written,
        )


@contextmanager
def _row_file(run: _Run) -> Iterator[Any]:
    raise NotImplementedError
