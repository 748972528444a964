"""The cost of judging a run, what was saved, and how far native scores and judges agree."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from rag_eval.judge.repeats import mean_of, passes
from rag_eval.judge.replies import Tally
from rag_eval.metrics.registry import higher_is_better, needs_judge
from rag_eval.metrics.seven import PROFILE_METRICS
from rag_eval.options.cascade import judge_threshold, unjudged_passes, verifier_threshold
from rag_eval.options.plan import Plan
from rag_eval.plumbing.spelling import camel_case
from rag_eval.results.judge_failures import FailedJudgements, FailureCounts
from rag_eval.results.judged import JudgedRowScores, JudgedScore
from rag_eval.results.row import CostTracker, cost_of
from rag_eval.samples import MetricId
from rag_eval.stats.intervals import Interval, wilson_interval
from rag_eval.stats.repeat_noise import RepeatMoments

if TYPE_CHECKING:
    from rag_eval.judge.agreement import AgreementReport


@dataclass(slots=True, kw_only=True)
class MetricJudging:
    """The results of judging one metric, counted row by row.

    Attributes
    ----------
    n_rows, n_judged : int
        Rows of the run, and those the judge was asked about.
    n_verified : int
        Rows whose score is that of a verifier; they are among ``n_judged``.
    n_unverified : int
        Rows that went to the judge because the verifier failed.
    unverified : str
        Why, for the first of them.
    n_null : int
        Cascade: rows that were not judged because there is nothing to measure.
    failures : dict of int
        Judgements that failed, by null reason.
    n_partial : int
        Rows that have a score although some of their judgements gave none.
    n_fallback : int
        Rows whose native score stands in for a failed judgement.
    tally : Tally
        Calls and tokens.
    n_both, n_agree : int
        Rows with a native and a judged score, and those of them with the same verdict; a native
        verdict is the one that the row would have without a judge.
    n_flaky : int
        Rows whose repeats pass and fail.
    n_spreads, spread_sum : int, float
        Rows with several scores of one metric, and the sum of their standard deviations.
    repeats : RepeatMoments
        Of rows that a single judge scored.
    n_audited, n_audit_scored, n_audit_wrong : int
        Cascade: rows outside the band that were judged as an audit; those of them with both scores,
        and of these the ones with different verdicts.
    """

    n_rows: int = 0
    n_judged: int = 0
    n_verified: int = 0
    n_unverified: int = 0
    unverified: str = ""
    n_null: int = 0
    failures: dict[str, int] = field(default_factory=dict)
    n_partial: int = 0
    n_fallback: int = 0
    tally: Tally = field(default_factory=Tally)
    n_both: int = 0
    n_agree: int = 0
    n_flaky: int = 0
    n_spreads: int = 0
    spread_sum: float = 0.0
    repeats: RepeatMoments = field(default_factory=RepeatMoments)
    n_audited: int = 0
    n_audit_scored: int = 0
    n_audit_wrong: int = 0

    def add(self, found: JudgedScore, is_same: bool | None) -> None:
        """Count a judged row; whether both verdicts are the same, None if one is missing."""
        self.n_judged += 1
        if found.verifier_message:
            self.n_unverified += 1
            self.unverified = self.unverified or found.verifier_message
        self.n_verified += found.mode == "verifier" and not found.failed
        self.tally.add(found.tally)
        self.n_partial += found.is_partial
        self.n_fallback += found.is_fallback
        self.n_flaky += found.flaky
        self.n_audited += found.is_audit
        if found.spread is not None:
            self.n_spreads += 1
            self.spread_sum += found.spread
        if scores := found.repeats:
            self.repeats.add(scores)
        if found.failed:
            reason = found.failure.name.lower()
            self.failures[reason] = self.failures.get(reason, 0) + 1
        if is_same is None:
            return
        self.n_both += 1
        self.n_agree += is_same
        if found.is_audit:
            self.n_audit_scored += 1
            self.n_audit_wrong += not is_same

    @property
    def mean_spread(self) -> float | None:
        """Mean standard deviation of repeats and judges within a row."""
        return self.spread_sum / self.n_spreads if self.n_spreads else None

    @property
    def error_rate(self) -> Interval | None:
        """Cascade: share of audited rows on which native verdict and judge disagree.

        It estimates that of all rows that were not judged.
        """
        scored = self.n_audit_scored
        return wilson_interval(self.n_audit_wrong, scored) if scored else None

    @property
    def calls_saved(self) -> int:
        """Estimated calls for the rows that were not judged, at the mean of the others."""
        return self._saved(self.tally.llm_calls + self.tally.cached_calls)

    @property
    def tokens_saved(self) -> int:
        """Their tokens, in and out."""
        return self._saved(self.tally.input_tokens + self.tally.output_tokens)

    def _saved(self, taken: int) -> int:
        n_asked = self.n_judged - self.n_verified
        n_spared = self.n_rows - n_asked - self.n_null
        return round(taken * n_spared / n_asked) if n_asked else 0

    @property
    def n_failed(self) -> int:
        """Rows without any judgement that succeeded."""
        return sum(self.failures.values())

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        return {
            "nRows": self.n_rows,
            "nJudged": self.n_judged,
            "nVerified": self.n_verified,
            "nUnverified": self.n_unverified,
            "nNull": self.n_null,
            "nFailed": self.n_failed,
            "failures": dict(self.failures),
            "nPartial": self.n_partial,
            "nFallback": self.n_fallback,
            "llmCalls": self.tally.llm_calls,
            "cachedCalls": self.tally.cached_calls,
            "verifiedClaims": self.tally.verified_claims,
            "cachedClaims": self.tally.cached_claims,
            "inputTokens": self.tally.input_tokens,
            "outputTokens": self.tally.output_tokens,
            "tokensEstimated": self.tally.estimated,
            "callsSaved": self.calls_saved,
            "tokensSaved": self.tokens_saved,
            "nBoth": self.n_both,
            "nAgree": self.n_agree,
            "nFlaky": self.n_flaky,
            "meanSpread": self.mean_spread,
            "repeatNoise": None if self.repeats.noise is None else self.repeats.noise.to_dict(),
            "nAudited": self.n_audited,
            "errorRate": None if self.error_rate is None else self.error_rate.to_dict(),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeReport:
    """The results of judging a run.

    Attributes
    ----------
    mode, style : str
    judges : tuple of str
    verifier : str
        The verifier that was asked before them, or instead; empty without one.
    metrics : mapping of MetricJudging
        Per judged metric.
    cost_usd : float or None
        By the price table; None without one.
    agreement : mapping of AgreementReport
        Per judged metric, between the judges of an ensemble.
    stopped : str
        Why the judge was not asked to the end; empty if it was.
    failed : tuple of FailedJudgements
        Failed judgements of all metrics by reason, each with an example.
    notes : list of str
        What a reader should know, such as judges of one vendor.
    """

    mode: str
    style: str
    judges: tuple[str, ...]
    metrics: Mapping[MetricId, MetricJudging]
    verifier: str = ""
    cost_usd: float | None = None
    late_replies: int = 0
    agreement: Mapping[MetricId, AgreementReport] = field(default_factory=dict)
    stopped: str = ""
    failed: tuple[FailedJudgements, ...] = ()
    notes: Sequence[str] = ()

    @property
    def cost(self) -> CostTracker:
        """The four counters of result files."""
        tally = Tally()
        for found in self.metrics.values():
            tally.add(found.tally)
        return cost_of(tally)

    @property
    def n_failed(self) -> int:
        """Judgements that failed, of all metrics."""
        return sum(found.n_failed for found in self.metrics.values())

    @property
    def n_wanted(self) -> int:
        """Judgements that were to be made, of all metrics."""
        return sum(found.n_judged for found in self.metrics.values())

    @property
    def repeats(self) -> dict[MetricId, RepeatMoments]:
        """Of each metric that a single judge scored, how far its repeats of a row differ."""
        return {name: one.repeats for name, one in self.metrics.items() if one.repeats.n_rows}

    @property
    def budget_reached(self) -> bool:
        """Rows were left without a judgement because a budget was reached."""
        return any("judge_budget" in found.failures for found in self.metrics.values())

    @property
    def nobody_answered(self) -> bool:
        """Whether judgements were needed and no call was answered."""
        reasons = {name for found in self.metrics.values() for name in found.failures}
        silent = reasons <= {"judge_unreachable", "judge_timed_out"}
        return 0 < self.n_wanted == self.n_failed and silent

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        value: dict[str, Any] = {
            "mode": self.mode,
            "style": self.style,
            "judges": list(self.judges),
            **({"verifier": self.verifier} if self.verifier else {}),
            "metrics": {camel_case(name): found.to_dict() for name, found in self.metrics.items()},
            "costUsd": self.cost_usd,
            "lateReplies": self.late_replies,
        }
        if self.agreement:
            value["agreement"] = {
                camel_case(name): found.to_dict() for name, found in self.agreement.items()
            }
        if self.failed:
            value["failed"] = [found.to_dict() for found in self.failed]
        if self.stopped:
            value["stopped"] = self.stopped
        if self.notes:
            value["notes"] = list(self.notes)
        return value


class JudgeTotals:
    """Counts what was judged, row by row."""

    def __init__(self, plan: Plan) -> None:
        assert plan.judging is not None
        self._plan = plan
        self._judging = plan.judging
        judged = plan.judging.judged
        self._metrics = {metric: MetricJudging() for metric in judged}
        self._native_passes = {metric: _native_verdict(plan, metric) for metric in judged}
        self._thresholds = {metric: judge_threshold(plan, metric) for metric in judged}
        self._by_judge: dict[MetricId, list[tuple[float | None, ...]]] = {}
        self._failed = FailureCounts()

    def add(
        self,
        rows: Sequence[JudgedRowScores],
        null_reasons: npt.NDArray[np.uint8],
        name: Callable[[int], str],
    ) -> None:
        """Count some rows; the reasons are those of all columns of the plan.

        ``name`` is how messages call a row, by its place among these.
        """
        for metric, totals in self._metrics.items():
            totals.n_rows += len(rows)
            nulls = np.flatnonzero(null_reasons[:, self._plan.columns.index(metric)]).tolist()
            totals.n_null += sum(metric not in rows[index] for index in nulls)
        for place, row in enumerate(rows):
            for metric, found in row.items():
                if found.failed:
                    self._failed.add(metric, found, partial(name, place))
                self._metrics[metric].add(found, self._is_same(metric, found))
                if len(self._judging.judges) > 1 and found.mode != "verifier":
                    means = tuple(mean_of(repeats) for repeats in found.by_judge)
                    self._by_judge.setdefault(metric, []).append(means)

    def _is_same(self, metric: MetricId, found: JudgedScore) -> bool | None:
        native_passes, threshold = self._native_passes[metric], self._thresholds[metric]
        if found.mode == "verifier":
            threshold = verifier_threshold(self._plan, metric)
        if found.judge_score is None or found.native_score is None:
            return None
        if native_passes is None or threshold is None:
            return None
        return native_passes(found.native_score) == (found.judge_score >= threshold)

    def report(
        self, *, cost_usd: float | None = None, late_replies: int = 0, stopped: str = ""
    ) -> JudgeReport:
        """The report."""
        from rag_eval.judge.server_urls import independence_warnings, unencrypted_notes

        judging = self._judging
        identities = judging.identities
        return JudgeReport(
            mode=judging.mode,
            style=judging.style,
            judges=tuple(map(str, judging.identities)),
            verifier="" if judging.verifier is None else str(judging.verifier.identity),
            metrics=dict(self._metrics),
            cost_usd=cost_usd,
            late_replies=late_replies,
            agreement=self._agreement(),
            stopped=stopped,
            failed=self._failed.found(),
            notes=[*independence_warnings(identities), *unencrypted_notes(identities)],
        )

    def _agreement(self) -> dict[MetricId, AgreementReport]:
        if not self._by_judge:
            return {}
        from rag_eval.judge.agreement import agreement_of

        return {
            metric: agreement_of(
                list(zip(*self._by_judge[metric], strict=True)),
                judges=[str(identity) for identity in self._judging.identities],
                threshold=self._thresholds[metric],
                higher_is_better=higher_is_better(metric),
            )
            for metric in self._metrics
            if metric in self._by_judge
        }


def _native_verdict(plan: Plan, metric: MetricId) -> Callable[[float], bool] | None:
    """Whether a native score passes without a judge.

    None where kernels do not score it, or it is not judged by a threshold.
    """
    assert plan.judging is not None
    if needs_judge(metric):
        return None
    if plan.judging.is_cascade:
        return lambda score: unjudged_passes(plan, metric, score)
    threshold = _native_threshold(plan, metric)
    return None if threshold is None else lambda score: passes(score, threshold)


def _native_threshold(plan: Plan, metric: MetricId) -> float | None:
    """The caller's threshold, which applies to all scores, or else that of the profile."""
    assert plan.judging is not None
    given = plan.thresholds[metric]
    if given is not None and given != plan.specs[metric].threshold:
        return given
    if metric in plan.scorers:
        return plan.scorers[metric].spec.threshold
    return PROFILE_METRICS[plan.settings.profile][metric].threshold
