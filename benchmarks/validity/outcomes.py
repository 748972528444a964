"""Trials -> outcomes: every scorer measured on the same cases under the same resamples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from benchmarks.validity import peers, scorers
from benchmarks.validity.certainty import Certainty, certainty
from benchmarks.validity.defaults import Passed, passed_shares
from benchmarks.validity.measures import (
    Agreement,
    Indices,
    agreement,
    precision_within,
    resamples,
)
from benchmarks.validity.scorers import (
    DEFINITION_AUROC,
    DEFINITION_TOLERANCE,
    EARLIER_AUROC,
    Scores,
)
from benchmarks.validity.sets import KNOWN, Trial


@dataclass(frozen=True, slots=True)
class Outcome:
    """What was measured in one trial, without its rows.

    Attributes
    ----------
    n_cases, n_groups : int
    share_good : float
        Average precision by chance.
    by_scorer : dict
        The profiles first, then the peers.
    passed : dict
        Of answers labelled for faithfulness: what passes under the defaults and other gates.
    certainty : Certainty or None
        Of the same: what low and high scores of the grounded profile say.
    """

    set_name: str
    metric: str
    n_cases: int
    n_groups: int
    share_good: float
    by_scorer: dict[str, Agreement]
    passed: dict[str, Passed]
    certainty: Certainty | None


def measure_trial(trial: Trial, n_draws: int, missing: Sequence[str]) -> Outcome:
    """Score the cases by both profiles and by the peers that can run, and compare with people."""
    draws = resamples(trial.good, trial.groups, n_draws)
    by_profile = {profile: scorers.profile_scores(trial, profile) for profile in scorers.PROFILES}
    by_scorer = {}
    for profile, scores in by_profile.items():
        by_scorer[profile] = _figures(trial, scores, draws, scorers.threshold(trial, profile))
    for peer in peers.peers_of(trial.metric, missing):
        by_scorer[peer.name] = _figures(trial, peer.make()(trial), draws, None)
    is_answer = trial.metric == "faithfulness"
    return Outcome(
        trial.set_name,
        trial.metric,
        len(trial.good),
        len(set(trial.groups)),
        sum(trial.good) / len(trial.good),
        by_scorer,
        passed_shares(trial) if is_answer else {},
        certainty(trial.good, by_profile["grounded"]) if is_answer else None,
    )


def _figures(
    trial: Trial, scores: Sequence[float] | Scores, draws: Sequence[Indices], cut: float | None
) -> Agreement:
    figures = agreement(trial.good, scores, draws, cut)
    if not trial.by_chunk:
        return figures
    return replace(figures, within=precision_within(trial.good, scores, trial.groups, draws))


@dataclass(frozen=True, slots=True)
class Check:
    """The grounded profile of this build beside its definition, on one set."""

    set_name: str
    metric: str
    earlier: float
    defined: float
    measured: float

    @property
    def holds(self) -> bool:
        """They are the same within the tolerance."""
        return abs(self.measured - self.defined) <= DEFINITION_TOLERANCE


def definition_checks(outcomes: Sequence[Outcome]) -> list[Check]:
    """A check for each set whose definition's AUROC is known, on the metric labelled there."""
    return [
        Check(
            outcome.set_name,
            outcome.metric,
            EARLIER_AUROC[outcome.set_name],
            DEFINITION_AUROC[outcome.set_name],
            outcome.by_scorer["grounded"].auroc.value,
        )
        for outcome in outcomes
        if outcome.set_name in DEFINITION_AUROC and outcome.metric == KNOWN[outcome.set_name].metric
    ]
