"""Scored blocks, a summary and a baseline in; the verdict by a policy out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from rag_eval.comparing.run_comparison import RunComparison
from rag_eval.comparing.two_runs import check_compared, compare
from rag_eval.errors import InputError
from rag_eval.gating.against import GateOptions, NamedBaseline, gate
from rag_eval.gating.verdicts import GateReport
from rag_eval.metrics.registry import metric_or_column
from rag_eval.options.declared import declared
from rag_eval.options.file_types import RunOptions
from rag_eval.options.gate_types import PolicyOptions
from rag_eval.options.plan import Plan
from rag_eval.plumbing.descriptors import is_standard_input
from rag_eval.plumbing.unreadable import unreadable
from rag_eval.results.batch import BatchEvalResult, BatchSummary
from rag_eval.results.reading import ResultFile, SamplesNotScoresError
from rag_eval.results.summaries import checked_baseline
from rag_eval.results.summary import compared
from rag_eval.runs.kept_rows import KeptRows
from rag_eval.runs.run_files import read_run
from rag_eval.runs.scored_run import ScoredRun
from rag_eval.scoring.engine import ScoredBlock

NODE: Final = "node"
_OPTIONS: Final = declared(RunOptions)
_POLICY: Final = tuple(declared(PolicyOptions))
# Checked with the rows, or by their kind alone.
_CHECKED_LATER: Final = ("gating", "adjust", "edited")
# What the rule of rag-eval-node-ts, which compares means, has no use for.
_OF_ROWS: Final = ("slices", "adjust", "edited", "n_resamples", "seed")


class BaselineGate:
    """Compares a run with its baseline, by the policies of ``rag-eval gate``.

    Policy ``node`` only needs means. For others the scores of all rows are kept while scoring,
    about 10 bytes per score.

    Attributes
    ----------
    source : ResultFile, BatchEvalResult or mapping
        The baseline as given.

    Raises
    ------
    InputError
        Before any work, for a baseline that cannot be read or compared, or options that do not
        fit the policy.
    """

    def __init__(self, plan: Plan, options: Mapping[str, Any]) -> None:
        self._plan = plan
        self._force = bool(options.get("allow_signature_mismatch"))
        self._threshold = _OPTIONS["regression_threshold"].of(options)
        found = {name: _OPTIONS[name].of(options) for name in _POLICY}
        self._test = {name: value for name, value in found.items() if value is not None}
        policy = found["policy"]
        _check_options(policy, options)
        GateOptions.of(**{n: v for n, v in self._test.items() if n not in _CHECKED_LATER})
        given = options["baseline"]
        if isinstance(given, (str, Path)):
            _check_exists(given)
            given = ResultFile(given)  # which is read twice, standard input too
        self.source = given
        try:
            self._means, self.notes = checked_baseline(plan, given, allow_mismatch=self._force)
        except SamplesNotScoresError as error:
            raise InputError(
                str(error).replace(f"instead of {error.source}", "as the baseline")
            ) from None
        assert self._means is not None
        if not any(metric in self._means.means for metric in plan.columns):
            name = given.source if isinstance(given, ResultFile) else "the baseline"
            raise InputError(
                f"{name} has none of the metrics of this run; it has "
                + (", ".join(self._means.means) or "none at all")
            )
        gating = self._test.get("gating")
        for metric in map(metric_or_column, gating or ()):
            # One that only the baseline has is MISSING SCORES.
            check_compared(metric, [*plan.columns, *self._means.means], "gating")
        self._gating = plan.columns if gating is None else [*map(metric_or_column, gating)]
        self._cluster_by = options.get("cluster_by")
        columns = [*self._test.get("slices", ()), *filter(None, [self._cluster_by])]
        self._baseline = None if policy == NODE else _with_rows(given, policy, columns)
        self._keeps_rows = policy != NODE or bool(options.get("view"))
        self._comparison: RunComparison | None = None
        self._rows = KeptRows(plan, list(dict.fromkeys(columns)))

    def add(self, scored: ScoredBlock, first_row: int) -> None:
        """Keep the scores of a block, if rows are compared."""
        if self._keeps_rows:
            self._rows.add(scored)

    def compared(self, result: BatchSummary, name: str) -> tuple[BatchSummary, GateReport | None]:
        """The summary, with regressions for policy ``node``; for others a report beside it.

        Raises
        ------
        InputError
            When run and baseline have no row in common.
        """
        if self._baseline is None:
            return compared(result, self._means, self._gating, self._threshold), None
        run = self._rows.run(name, signature=result.signature)
        against = NamedBaseline("file", self._baseline)
        report = gate(run, [against], **self._test, cluster_by=self._cluster_by, force=self._force)
        (self._comparison,) = report.comparisons
        return result, report

    def shown(self, result: BatchSummary, name: str) -> tuple[RunComparison | None, list[str]]:
        """The comparison for a report, and notes: that of the verdict.

        Policy ``node`` needs none, so a baseline without rows or ids is compared by it alone.
        """
        if self._comparison is not None:
            return self._comparison, []
        run = self._rows.run(name, signature=result.signature)
        try:
            return compare(self.source, run, force=self._force), []
        except InputError as error:
            return None, [f"rows are not compared with the baseline: {error}"]


def _check_options(policy: str, options: Mapping[str, Any]) -> None:
    if policy != NODE and options.get("regression_threshold") is not None:
        raise InputError(
            f"regression_threshold needs policy node; policy {policy} takes a margin instead "
            "(--margin)"
        )
    if policy == NODE and options.get("margin"):
        raise InputError(
            "policy node takes no margin; use regression_threshold (--regression-threshold)"
        )
    for name in _OF_ROWS if policy == NODE else ():
        if options.get(name) is not None:
            raise InputError(
                f"policy node compares means and has no use for {name} "
                f"({_OPTIONS[name].flag_name}); use no-regression"
            )


def _check_exists(name: str | Path) -> None:
    """Raise an error for a file that is missing, which says how to make one."""
    if is_standard_input(name) or Path(name).exists():
        return
    missing = str(unreadable(name, FileNotFoundError("No such file or directory")))
    stop = "" if missing.endswith("?") else "."
    raise InputError(f"{missing}{stop} To make a baseline: rag-eval run DATA --output {name}")


def _with_rows(given: Any, policy: str, columns: Sequence[str]) -> ScoredRun:
    """The baseline with its rows."""
    try:
        if not isinstance(given, (ResultFile, BatchEvalResult)):
            raise InputError("a mapping as baseline has a summary but no rows")
        return read_run(given, optional_columns=columns)
    except InputError as error:
        raise InputError(
            f"{error}. Policy {policy} compares row by row; --policy node compares only means"
        ) from None
