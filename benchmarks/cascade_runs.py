"""A labelled set -> how the cascade does on it, as the share of rows that a judge sees grows.

Every figure but those of the native scores is taken from ``evaluate_batch(mode="cascade")``, whose
judge is a script that knows the labels and is wrong in a given share of the rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from benchmarks.scripted_judge import ScriptedJudge, texts_of
from benchmarks.validity.measures import balanced_accuracy
from benchmarks.validity.sets import Trial
from rag_eval import calibrate, evaluate_batch
from rag_eval.calibration.result import Calibration
from rag_eval.results.batch import BatchEvalResult
from rag_eval.results.judge_report import MetricJudging

Floats = npt.NDArray[np.float64]
Labels = npt.NDArray[np.bool_]
Band = tuple[float, float]

SEED: Final = 11
RIGHT: Final = (1.0, 0.85, 0.7)
SHARES: Final = (0.05, 0.1, 0.2, 0.3, 0.5, 1.0)
AUDIT_BAND: Final = 0.2
AUDIT_SHARE: Final = 0.1
N_AUDITS: Final = 5
# Those of which a row as a whole was called good or bad.
METRICS: Final = ("faithfulness", "answer_correctness")
# From here on a row is more probably good than not.
EVEN: Final = 0.5
# Below so many rows in a set a percent is a handful of rows.
FEWEST_ROWS: Final = 500


class Point(NamedTuple):
    """The verdicts and scores of one run.

    Attributes
    ----------
    judged : float
        Share of the rows that the judge was asked about.
    saved : float
        Share of the calls that were not made.
    """

    judged: float
    saved: float
    accuracy: float
    balanced: float
    mean: float


class Audits(NamedTuple):
    """What audits of several seeds say about rows outside the band, and what holds.

    Attributes
    ----------
    estimate : float
        Mean over seeds.
    disagreement : float
        Share of all those rows that pass or fail otherwise than the judge says.
    errors : float
        Share of them that pass or fail otherwise than people say.
    n_rows : float
        Rows audited, mean over seeds.
    n_holding : int
        Seeds whose 95 % interval holds the disagreement.
    """

    estimate: float
    disagreement: float
    errors: float
    n_rows: float
    n_holding: int


@dataclass(frozen=True, slots=True)
class SetOutcome:
    """What was measured on one set, without its rows.

    Attributes
    ----------
    native : Point
        No row judged.
    by_share : dict of Point
        By the share of rows asked for and how often the judge is right.
    by_default : dict of Point
        By how often it is right: the band and the audit that nobody chose.
    audits : dict of Audits
    """

    name: str
    metric: str
    n_calibrated: int
    n_measured: int
    share_good: float
    native: Point
    by_share: dict[tuple[float, float], Point]
    by_default: dict[float, Point]
    audits: dict[float, Audits]


# --------------------------------------------------------------------------------------- the rows


def distinct(trial: Trial) -> Trial:
    """The first case of each wording: a judge that is asked twice says the same twice."""
    seen: dict[object, int] = {}
    for number, sample in enumerate(trial.samples):
        seen.setdefault(texts_of(sample), number)
    return chosen(trial, list(seen.values()))


def chosen(trial: Trial, numbers: Sequence[int]) -> Trial:
    """Some cases of a trial."""
    return replace(
        trial,
        samples=[trial.samples[i] for i in numbers],
        pairs=[trial.pairs[i] for i in numbers],
        good=[trial.good[i] for i in numbers],
        groups=[trial.groups[i] for i in numbers],
    )


def halves(trial: Trial, seed: int = SEED) -> tuple[Trial, Trial]:
    """Half of the groups to calibrate with, and the other half to measure."""
    groups = list(dict.fromkeys(trial.groups))
    order = np.random.default_rng(seed).permutation(len(groups))
    first = {groups[i] for i in order[: len(groups) // 2]}
    inside = [number for number, group in enumerate(trial.groups) if group in first]
    outside = [number for number, group in enumerate(trial.groups) if group not in first]
    return chosen(trial, inside), chosen(trial, outside)


# ------------------------------------------------------------------------------------- the ladder


class Ladder:
    """One set, calibrated, on which cascades are run."""

    def __init__(self, trial: Trial) -> None:
        self._known, self._new = halves(distinct(trial))
        native = self._native(self._known)
        self._scores: Floats = native.scores[:, 0]
        # Bands of native scores are chosen by share: those of the shipped weights.
        self.calibration: Calibration = calibrate(
            native, self._known.good, groups=self._known.groups, refit=False, n_resamples=200
        )
        self._good: Labels = np.asarray(self._new.good, bool)
        self._probabilities = self.calibration.probabilities(self._native(self._new).scores[:, 0])

    def _native(self, trial: Trial) -> BatchEvalResult:
        return evaluate_batch(trial.samples, [trial.metric], profile="grounded")

    def outcome(self) -> SetOutcome:
        """Every run on the set."""
        trial = self._new
        by_share = {
            (share, right): self._point(*self._run(right, band=self.band(share), audit_share=0.0))
            for share in SHARES
            for right in RIGHT
        }
        return SetOutcome(
            trial.set_name,
            trial.metric,
            len(self._known.good),
            len(trial.good),
            float(self._good.mean()),
            self._measured(self._probabilities, 0.0, 1.0),
            by_share,
            {right: self._point(*self._run(right)) for right in RIGHT},
            {right: self._audits(right) for right in RIGHT},
        )

    def band(self, share: float) -> Band:
        """Native scores between which that share of the calibration rows lies.

        They are the rows whose probability is nearest to even; rows of the same probability come
        by their distance from the score at which it gets even.
        """
        if share == 1:
            return 0.0, 1.0
        probabilities = self.calibration.probabilities(self._scores)
        likely = self._scores[probabilities >= EVEN]
        turn = likely.min() if len(likely) else self._scores.max()
        order = np.lexsort((np.abs(self._scores - turn), np.abs(probabilities - EVEN)))
        inside = self._scores[order[: max(1, round(share * len(order)))]]
        return float(inside.min()), float(inside.max())

    def _run(
        self, right: float, band: Band | None = None, **options: Any
    ) -> tuple[BatchEvalResult, ScriptedJudge]:
        judge = ScriptedJudge(self._new.samples, self._new.good, right, SEED)
        found = evaluate_batch(
            self._new.samples,
            [self._new.metric],
            profile="grounded",
            mode="cascade",
            judge=judge,
            judge_style="rating",
            calibration=self.calibration,
            cascade_band=band,
            **options,
        )
        return found, judge

    def _point(self, found: BatchEvalResult, judge: ScriptedJudge) -> Point:
        report = self._report(found)
        if report.n_judged != len(judge.asked) or report.n_failed:
            raise ValueError(f"{report.n_judged} rows judged, the judge saw {len(judge.asked)}")
        calls = report.tally.llm_calls
        saved = report.calls_saved / (calls + report.calls_saved) if calls else 1.0
        return self._measured(found.scores[:, 0], report.n_judged / report.n_rows, saved)

    def _report(self, found: BatchEvalResult) -> MetricJudging:
        assert found.judging is not None
        return found.judging.metrics[self._new.metric]

    def _measured(self, scores: Floats, judged: float, saved: float) -> Point:
        passes = scores >= EVEN
        return Point(
            judged,
            saved,
            float((passes == self._good).mean()),
            balanced_accuracy(self._good, scores, EVEN),
            float(np.nanmean(scores)),
        )

    def _audits(self, right: float) -> Audits:
        band = self.band(AUDIT_BAND)
        _, judge = self._run(right, band, audit_share=0.0)
        outside = np.ones(len(self._good), bool)
        outside[list(judge.asked)] = False
        native = (self._probabilities >= EVEN)[outside]
        disagreement = float((native != judge.verdicts[outside]).mean())
        reports = [
            self._report(self._run(right, band, audit_share=AUDIT_SHARE, judge_seed=seed)[0])
            for seed in range(N_AUDITS)
        ]
        rates = [report.error_rate for report in reports if report.error_rate is not None]
        return Audits(
            float(np.mean([rate.estimate for rate in rates])),
            disagreement,
            float((native != self._good[outside]).mean()),
            float(np.mean([report.n_audited for report in reports])),
            sum((rate.low or 0.0) <= disagreement <= (rate.high or 0.0) for rate in rates),
        )
