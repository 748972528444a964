"""What a gate says: findings metric by metric, a verdict for each baseline, one report."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from rag_eval.gating.limits import GateOutcome
from rag_eval.plumbing.json_text import number_or_null
from rag_eval.plumbing.spelling import camel_case
from rag_eval.results.faces import face

Policy: TypeAlias = Literal["no-regression", "non-inferior", "omk", "regtrace", "node"]
POLICIES: tuple[Policy, ...] = ("no-regression", "non-inferior", "omk", "regtrace", "node")


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What was found about one metric, in all rows or in a slice of them.

    Attributes
    ----------
    metric : MetricId or "composite"
    slice : str or None
        ``topic=history``; None for all rows.
    status : str
        One of the policy's.
    held : bool
        Whether it fails the gate.
    message : str
        A sentence with the numbers.
    n_pairs : int
        Rows with a score in both runs.
    change : float
        New minus old mean of these rows; NaN where there are none. Whether a rise is better
        depends on the metric.
    low, high : float or None
        Interval of the change at the level of the comparison, where one was made.
    p_value : float or None
        One-sided, that the metric is no worse than the margin allows, adjusted for all findings
        of the baseline; None where the policy makes no test.
    margin : float
    detectable : float or None
        A drop of this size would be found 8 times in 10; None where that is not known.
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
    detectable: float | None = None

    @property
    def name(self) -> str:
        """The metric, and the slice where it is of one."""
        return self.metric if self.slice is None else f"{self.metric} [{self.slice}]"

    def to_dict(self) -> dict[str, Any]:
        """As JSON values; a number that does not exist is null."""
        return {
            "metricId": camel_case(self.metric),
            "slice": self.slice,
            "status": self.status,
            "held": self.held,
            "message": self.message,
            "nPairs": self.n_pairs,
            "change": number_or_null(self.change),
            "low": number_or_null(self.low),
            "high": number_or_null(self.high),
            "pValue": number_or_null(self.p_value),
            "margin": self.margin,
            "detectable": number_or_null(self.detectable),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class BaselineVerdict:
    """A run against one baseline.

    Attributes
    ----------
    name : str
        A file, or the id of a stored run.
    kind : str
        ``file``, ``run``, ``last_passing``, ``pinned``, or ``last_passing and pinned``.
    status : str
        The policy's word for all findings together.
    passed : bool
    reason : str
        A sentence: the first finding that fails, or what was found.
    findings : tuple of Finding
    notices : tuple of str
        What a reader should know and what decides nothing.
    """

    name: str
    kind: str
    status: str
    passed: bool
    reason: str
    findings: tuple[Finding, ...] = ()
    notices: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        return {
            "name": self.name,
            "kind": self.kind,
            "status": self.status,
            "passed": self.passed,
            "reason": self.reason,
            "findings": [finding.to_dict() for finding in self.findings],
            "notices": list(self.notices),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class FalseAlarmRate:
    """How often a policy is red when nothing changed, by simulation.

    Attributes
    ----------
    rate : float
        Share of red builds.
    n_rows : int
        Size of the simulated runs, the nearest there is.
    tied : float
        Share of their rows with the same scores in both runs, the nearest there is.
    n_replicates : int
    """

    rate: float
    n_rows: int
    tied: float
    n_replicates: int

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        return {
            "rate": self.rate,
            "nRows": self.n_rows,
            "tied": self.tied,
            "nReplicates": self.n_replicates,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class GateReport:
    """Whether a run may pass, and why.

    Attributes
    ----------
    name : str
        Of the run.
    policy : str
    status : str
        The policy's word, of the baseline that decides; NEW, ``new`` or SOLO without one; GUARD
        where a guard alone fails.
    passed : bool
        Every guard holds and every baseline's verdict passes.
    reason : str
        One sentence, the first failure that decides or what was found.
    baselines : tuple of BaselineVerdict
    guards : tuple of GateOutcome
        Every guard that was set, held or not.
    notices : tuple of str
    false_alarms : FalseAlarmRate or None
        For policies without a stated error rate.
    alpha : float
    n_resamples, seed : int
        Of the tests.
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
    n_resamples: int = 9999
    seed: int = 0

    @property
    def exit_code(self) -> int:
        """0 for a pass, 1 for a failure."""
        return 0 if self.passed else 1

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        return {
            "run": self.name,
            "policy": self.policy,
            "status": self.status,
            "passed": self.passed,
            "reason": self.reason,
            "baselines": [verdict.to_dict() for verdict in self.baselines],
            "guards": [outcome.to_dict() for outcome in self.guards],
            "notices": list(self.notices),
            "falseAlarms": None if self.false_alarms is None else self.false_alarms.to_dict(),
            "alpha": self.alpha,
            "nResamples": self.n_resamples,
            "seed": self.seed,
        }

    def _repr_html_(self) -> str:
        return str(face("gate.notebook")(self))


def first_failure(outcomes: Sequence[GateOutcome]) -> str | None:
    """What the first guard that failed says."""
    return next((outcome.message for outcome in outcomes if not outcome.held), None)


def pairs_text(count: int) -> str:
    """``1 pair``, ``1,200 pairs``."""
    return f"{count:,} pair{'' if count == 1 else 's'}"
