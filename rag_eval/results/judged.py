"""What a judge said about one metric of one row, as one score."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from rag_eval.judge.replies import Tally
from rag_eval.samples import MetricId, NullReason, ScoredBy


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedScore:
    """One metric of one row, as a judge was asked for it.

    Attributes
    ----------
    score : float or None
        On the scale of the column: the judge's own score; in a cascade its verdict, 1 or 0.
    null_reason : NullReason
        Why it is null. Of several judgements that gave no score, one that found nothing to score
        counts before those that failed, and of these the first.
    mode : {"llm", "verifier", "heuristic"}
        ``heuristic`` where the judge failed and the native score stands in, or is left as it was
        because the row was only audited.
    failure : NullReason
        How the judge failed; MEASURED where it did not. Judgements that a stop cut short fail as a
        whole: a mean of those that were made would be another score than that of a whole run.
    message : str
        What went wrong with the first judgement without a score; empty if all have one.
    explanation : str
    judge_score : float or None
        Mean over judges of their means over repeats.
    by_judge : tuple of tuple of float or None
        Per judge the score of each repeat; None if it failed.
    native_score : float or None
        What the kernels say; None if they do not score the metric.
    verifier_score : float or None
        What a verifier says; None if it was not asked, or failed.
    verifier_message : str
        Why it failed where a judge was asked in its place.
    spread : float or None
        Sample standard deviation over all repeats of all judges; None for fewer than two scores.
    flaky : bool
        Repeats by one of the judges pass and others by the same judge fail.
    is_audit : bool
        Judged although it lies outside the uncertain band of a cascade.
    share : float
        Probability that the row was judged: 1, and the audit share for an audited row.
    tally : Tally
        Calls and tokens.
    details : tuple of dict
        Verdicts and their reasons, of the first judgement that succeeded, as JSON values.
    """

    score: float | None
    null_reason: NullReason
    mode: ScoredBy
    failure: NullReason = NullReason.MEASURED
    message: str = ""
    explanation: str = ""
    judge_score: float | None = None
    by_judge: tuple[tuple[float | None, ...], ...] = ()
    native_score: float | None = None
    verifier_score: float | None = None
    verifier_message: str = ""
    spread: float | None = None
    flaky: bool = False
    is_audit: bool = False
    share: float = 1.0
    tally: Tally = field(default_factory=Tally)
    details: tuple[Mapping[str, Any], ...] = ()

    @property
    def failed(self) -> bool:
        """Whether no judgement succeeded."""
        return self.failure != NullReason.MEASURED

    @property
    def trust(self) -> float | None:
        """Share of the judge's quotes that are in the contexts; None without quotes or details."""
        found = [one["quoteFound"] for one in self.details if "quoteFound" in one]
        return sum(map(bool, found)) / len(found) if found else None

    @property
    def repeats(self) -> list[float]:
        """The scores that the row's is the mean of, if a single judge gave them.

        Several judges differ for other reasons than repeats do, and in a cascade the row has the
        judge's verdict or the native score. A verifier is not repeated.
        """
        if self.mode == "verifier" or len(self.by_judge) != 1 or self.score != self.judge_score:
            return []
        scores = self.by_judge[0]
        return [score for score in scores if score is not None and not math.isnan(score)]

    @property
    def is_partial(self) -> bool:
        """Whether some judgements gave a score and others did not."""
        return self.judge_score is not None and any(None in repeats for repeats in self.by_judge)

    @property
    def is_fallback(self) -> bool:
        """Whether the native score replaces a failed judgement."""
        return self.mode == "heuristic" and not self.is_audit

    def to_dict(self, *, details: bool) -> dict[str, Any]:
        """As JSON values; with ``details`` every verdict."""
        value: dict[str, Any] = {"score": self.judge_score, "nativeScore": self.native_score}
        if self.verifier_score is not None:
            value["verifierScore"] = self.verifier_score
        if self.verifier_message:
            value["verifierMessage"] = self.verifier_message
        if any(len(repeats) > 1 for repeats in self.by_judge) or len(self.by_judge) > 1:
            value["byJudge"] = [list(repeats) for repeats in self.by_judge]
            value["spread"] = self.spread
            value["flaky"] = self.flaky
        if self.is_audit:
            value["auditShare"] = self.share
        if self.is_fallback:
            value["fallback"] = True
        if self.message:
            value["message"] = self.message
        if details and self.details:
            value["verdicts"] = [dict(found) for found in self.details]
        return value


JudgedRowScores = Mapping[MetricId, JudgedScore]
"""The judged metrics of a row; a metric that the judge was not asked about is not there."""
