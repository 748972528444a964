"""The result of a gate: findings by metric, a verdict for each baseline, one report."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from rag_eval.comparing.null_changes import NullChange
from rag_eval.comparing.run_comparison import RunComparison
from rag_eval.comparing.tested_changes import FamilyRule
from rag_eval.gating.limits import GateOutcome
from rag_eval.metrics.ids import COMPOSITE
from rag_eval.metrics.registry import higher_is_better
from rag_eval.plumbing.json_records import JsonRecord, record_json
from rag_eval.plumbing.spelling import camel_case
from rag_eval.results.faces import face
from rag_eval.samples import Policy

NO_BASELINE: Final = "no baseline to compare with"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """The finding about one metric, over all rows or over a slice.

    Attributes
    ----------
    metric : MetricId or "composite"
    slice : str or None
        ``topic=history``; None for all rows.
    status : str
        A :class:`~rag_eval.comparing.Status`, or the word of the tool that a policy mirrors.
    held : bool
        False if it fails the gate.
    message : str
        A sentence with the numbers.
    n_pairs : int
        Rows with a score in both runs.
    change : float
        New minus old mean of these rows; NaN without rows. Whether a rise is better depends on
        the metric.
    low, high : float or None
        Confidence interval of the change at the level of the comparison, if there is one.
    p_value : float or None
        One-sided p value of "not worse by more than the margin", adjusted for all findings of
        the baseline; None if the policy makes no test.
    margin, tolerance : float
    nulls : NullChange or None
        The rows without a score in either run; None if the policy does not look at them.
    detectable : float or None
        Smallest drop that is detected with a power of 80 %; None if unknown.
    """

    metric: str
    slice: str | None = None
    status: str
    held: bool
    message: str
    n_pairs: int = 0
    change: float = math.nan
    low: float | None = None
    high: float | None = None
    p_value: float | None = None
    margin: float = 0.0
    tolerance: float = 0.0
    nulls: NullChange | None = None
    detectable: float | None = None

    @property
    def name(self) -> str:
        """The metric, with its slice if it has one."""
        return self.metric if self.slice is None else f"{self.metric} [{self.slice}]"

    def to_dict(self) -> dict[str, Any]:
        """As JSON values; a number that does not exist is null."""
        return {"metricId": camel_case(self.metric), **record_json(self, without=("metric",))}


@dataclass(frozen=True, slots=True, kw_only=True)
class BaselineVerdict(JsonRecord):
    """The verdict against one baseline.

    Attributes
    ----------
    name : str
        A file, or the id of a stored run.
    kind : str
        ``file``, ``run``, ``last_passing``, ``pinned``, or ``last_passing and pinned``.
    status : str
        The policy's status for all findings together.
    passed : bool
    reason : str
        One sentence: the first finding that fails, or a summary.
    findings : tuple of Finding
    notices : tuple of str
        Remarks that do not affect the verdict.
    """

    name: str
    kind: str
    status: str
    passed: bool
    reason: str
    findings: tuple[Finding, ...] = ()
    notices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class FalseAlarmRate(JsonRecord):
    """How often a policy fails a build when nothing changed, by simulation.

    Attributes
    ----------
    rate : float
        Share of failed builds.
    n_rows : int
        Rows of the simulated runs, the nearest size available.
    tied : float
        Share of their rows with the same scores in both runs, the nearest available.
    n_replicates : int
    """

    rate: float
    n_rows: int
    tied: float
    n_replicates: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Spending(JsonRecord):
    """The part of alpha that one gate of a release line spends.

    Attributes
    ----------
    alpha : float
        Chance of any false alarm over the whole line, however long it becomes.
    gate_number : int
        Which gate of the line this is, from 1.
    line_start : str or None
        The run after which the line begins: the pinned one, or the first that passed. None if there
        is none, so that all runs of the dataset count.
    n_baselines : int
    level : float
        Level of this gate against each baseline.
    """

    alpha: float
    gate_number: int
    line_start: str | None
    n_baselines: int
    level: float


@dataclass(frozen=True, slots=True, kw_only=True)
class GateReport:
    """Whether a run passes, and why.

    Attributes
    ----------
    name : str
        Name of the run.
    policy : str
    status : str
        The policy's status against the deciding baseline; NEW, ``new`` or SOLO without one; GUARD
        if only a guard fails.
    passed : bool
        Whether every guard and every baseline passes.
    reason : str
        One sentence: the first failure, or a summary.
    baselines : tuple of BaselineVerdict
    guards : tuple of GateOutcome
        The outcome of every guard that was set.
    notices : tuple of str
    false_alarms : FalseAlarmRate or None
        For policies without a stated error rate.
    alpha : float
        Significance level against each baseline.
    spending : Spending or None
        How this level was shared among the gates of a release line, if it was.
    max_null_rise, max_missing_rows : float or None
        What may be missing; None for the policies of other tools, which do not look at it.
    adjust : {"max-t", "holm"}
        How p values were adjusted for the number of tests.
    n_resamples, seed : int
        Least number of sign patterns and random seed of the tests.
    comparisons : tuple of RunComparison
        With each baseline; not part of the JSON.
    """

    name: str
    policy: Policy
    status: str
    passed: bool
    reason: str
    baselines: tuple[BaselineVerdict, ...] = ()
    guards: tuple[GateOutcome, ...] = ()
    notices: tuple[str, ...] = ()
    false_alarms: FalseAlarmRate | None = None
    alpha: float = 0.05
    spending: Spending | None = None
    max_null_rise: float | None = None
    max_missing_rows: float | None = None
    adjust: FamilyRule = "max-t"
    n_resamples: int = 9999
    seed: int = 0
    comparisons: tuple[RunComparison, ...] = field(default=(), repr=False, compare=False)

    @property
    def exit_code(self) -> int:
        """0 for a pass, 1 for a failure."""
        return 0 if self.passed else 1

    @property
    def baseline_gates(self) -> list[GateOutcome]:
        """The findings against the baselines, as gates of the run.

        A verdict that fails without a failed finding is added as a gate of its own.
        """
        outcomes = []
        for verdict in self.baselines:
            found = [_finding_outcome(finding) for finding in verdict.findings]
            if not verdict.passed and all(outcome.held for outcome in found):
                text = f"{verdict.status}: {verdict.reason}"
                found.append(
                    GateOutcome(gate="regression", held=False, found=None, wanted=0.0, message=text)
                )
            outcomes += found
        return outcomes

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        return {"run": self.name, **record_json(self, without=("name", "comparisons"))}

    def _repr_html_(self) -> str:
        return str(face("gate.notebook")(self))


def _finding_outcome(finding: Finding) -> GateOutcome:
    rises = finding.metric == COMPOSITE or higher_is_better(finding.metric)
    return GateOutcome(
        gate="regression",
        metric_id=finding.metric,
        held=finding.held,
        found=None if math.isnan(finding.change) else finding.change,
        wanted=(-finding.margin if rises else finding.margin) or 0.0,  # and not -0.0
        message=f"{finding.status}: {finding.message}",
    )


def first_failure(outcomes: Sequence[GateOutcome]) -> str | None:
    """The message of the first guard that failed."""
    return next((outcome.message for outcome in outcomes if not outcome.held), None)
