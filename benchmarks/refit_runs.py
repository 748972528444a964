"""A labelled set -> what a threshold and weights gain that some of its labels were fitted to.

Some whole groups are drawn and their labels known; all is measured on the rows of other groups.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

from benchmarks.validity.measures import auroc, balanced_accuracy
from benchmarks.validity.sets import Trial
from rag_eval.calibration.losses import scores_and_losses
from rag_eval.calibration.refitting import WeighableRows, fitted_line, is_enough, weighted_scores
from rag_eval.calibration.thresholds import LabelledScores
from rag_eval.kernels.settings import SHIPPED_WEIGHTS, GroundedSettings
from rag_eval.metrics.seven import GROUNDED_METRICS
from rag_eval.stats.arrays import Flags, Floats, Whole
from rag_eval.stats.groups import group_numbers
from rag_eval.stats.index_sources import Resampling

SEED: Final = 5
N_DRAWS: Final = 100
SIZES: Final = (30, 100, 300)
METRIC: Final = "faithfulness"
# Of so many rows at least, with both classes, figures are worth having.
FEWEST_LEFT: Final = 100


class Draw(NamedTuple):
    """What was measured on the rows left, by labels of the rows drawn.

    Attributes
    ----------
    used : bool
        Whether rows held out among those drawn were for the fitted weights.
    shipped, always, refitted : float
        AUROC under the shipped weights, the fitted ones, and those that a calibration would use.
    default_cut, own_cut, refitted_cut : float
        Balanced accuracy of the default threshold, of one chosen by the labels, and of one chosen
        under the weights that a calibration would use.
    """

    used: bool
    shipped: float
    always: float
    refitted: float
    default_cut: float
    own_cut: float
    refitted_cut: float


@dataclass(frozen=True, slots=True)
class LabelledSet:
    """Losses and labels of a set; rows without losses, whose score no weights change, left out."""

    name: str
    losses: Floats
    good: Flags
    groups: Whole

    @classmethod
    def of(cls, trial: Trial) -> LabelledSet:
        """The set of a trial."""
        _, losses = scores_and_losses(trial.samples, GroundedSettings())
        known = ~np.isnan(losses[:, 0])
        groups = group_numbers(np.array(trial.groups)[known].tolist())
        return cls(trial.set_name, losses[known], np.array(trial.good)[known], groups)

    def draws(self, size: int, *, shuffled: bool = False, n_draws: int = N_DRAWS) -> list[Draw]:
        """What ``size`` labels gave, as often as they were drawn; labels may be shuffled first.

        Draws with fewer than 8 rows of a class are left out.
        """
        found = []
        for number in range(n_draws):
            random = np.random.default_rng([SEED, size, number])
            labelled, left = self.parted(size, random)
            good = self.good[labelled]
            if shuffled:
                good = random.permutation(good)
            rest = self.good[left]
            if is_enough(good) and len(rest) >= FEWEST_LEFT and 0 < rest.sum() < len(rest):
                found.append(self._draw(labelled, good, left))
        return found

    def parted(self, size: int, random: np.random.Generator) -> tuple[Whole, Whole]:
        """Rows of groups in random order, the first ``size`` of them; and rows of other groups."""
        order = random.permutation(self.groups.max() + 1)
        by_group = np.argsort(np.argsort(order)[self.groups], kind="stable")
        labelled = by_group[:size]
        return labelled, np.flatnonzero(~np.isin(self.groups, self.groups[labelled]))

    def _draw(self, labelled: Whole, good: Flags, left: Whole) -> Draw:
        losses, rest = self.losses[labelled], self.good[left]
        shipped = weighted_scores(losses, SHIPPED_WEIGHTS)
        rows = WeighableRows(shipped, good, losses)
        # The interval of the gain is not looked at.
        refit = rows.refit(self.groups[labelled], Resampling(n_resamples=1))
        line = fitted_line(losses, good)
        always = SHIPPED_WEIGHTS if line is None else line.weights
        by_shipped, by_fitted, by_refit = (
            weighted_scores(self.losses[left], weights)
            for weights in (SHIPPED_WEIGHTS, always, refit.weights)
        )
        default = GROUNDED_METRICS[METRIC].threshold
        assert default is not None
        return Draw(
            refit.used,
            auroc(rest, by_shipped),
            auroc(rest, by_fitted),
            auroc(rest, by_refit),
            balanced_accuracy(rest, by_shipped, default),
            balanced_accuracy(rest, by_shipped, _own_cut(shipped, good)),
            balanced_accuracy(rest, by_refit, _own_cut(rows.scores(refit.weights), good)),
        )


def _own_cut(scores: Floats, good: Flags) -> float:
    labelled = LabelledScores(scores, good)
    return float(labelled.thresholds(labelled.one_each(), None)[0])
