"""Why a mean over repeated rows is uncertain: scores of each repeat in, parts of its noise out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rag_eval.errors import InputError
from rag_eval.plumbing.json_records import JsonRecord
from rag_eval.runs.scored_run import ScoredRun
from rag_eval.samples import MetricId


@dataclass(frozen=True, slots=True, kw_only=True)
class RepeatNoise(JsonRecord):
    """The standard error of a mean over rows that were scored several times, and its two parts.

    Attributes
    ----------
    n_rows : int
        Rows with a score.
    n_repeats : float
        Repeats of a row: the harmonic mean.
    error : float
        Standard error of the mean of all rows.
    share_of_repeats : float
        Share of its square, from 0 to 1, that comes from the variation between repeats; the rest
        comes from the choice of rows.
    """

    n_rows: int
    n_repeats: float
    error: float
    share_of_repeats: float

    def error_with(self, *, rows: float = 1.0, repeats: float = 1.0) -> float:
        """The error with the number of rows and of repeats multiplied by these factors."""
        of_repeats = self.share_of_repeats / repeats
        return self.error * math.sqrt((1 - self.share_of_repeats + of_repeats) / rows)

    def __str__(self) -> str:
        return (
            f"{self.share_of_repeats:.0%} of the noise of the mean comes from repeats and "
            f"{1 - self.share_of_repeats:.0%} from rows: twice the rows would narrow its interval "
            f"by {1 - math.sqrt(0.5):.0%}, twice the repeats by "
            f"{1 - self.error_with(repeats=2) / self.error:.0%}"
            if self.error
            else "every row has the same mean: rows and repeats add no noise"
        )


def repeat_noise(ids: Sequence[str], scores: npt.ArrayLike) -> RepeatNoise:
    """How much of the noise of a mean is from repeats, and how much from rows.

    Parameters
    ----------
    ids : sequence of str, length R
        One id per score; repeats of a row have the same id.
    scores : array of float, shape (R,)
        NaN stands for null.

    Raises
    ------
    InputError
        For another number of ids than of scores, fewer than two rows, or no row with two scores.

    Notes
    -----
    The variance of the means of rows is that between rows plus that of repeats, divided by how many
    there are of a row (one-way analysis of variance; Searle, Casella and McCulloch, Variance
    Components, 1992, chapter 3). A mean of as many judgements is never less certain with more rows
    and fewer repeats; repeats pay where no more rows are available.
    """
    column = np.asarray(scores, np.float64)
    if column.shape != (len(ids),):
        raise InputError(
            f"scores must have one value for each of {len(ids)} ids, got shape {column.shape}"
        )
    known = ~np.isnan(column)
    names = np.array(ids, object)[known]
    values = column[known]
    _, rows, counts = np.unique(names.astype(str), return_inverse=True, return_counts=True)
    if len(counts) < 2 or counts.max() < 2:
        raise InputError("repeat_noise needs two rows with scores, and one of them twice")
    means = np.bincount(rows, values) / counts
    within = float(np.square(values - means[rows]).sum()) / (len(values) - len(counts))
    total = float(means.var(ddof=1))
    of_repeats = within * float((1 / counts).mean())
    return RepeatNoise(
        n_rows=len(counts),
        n_repeats=1 / float((1 / counts).mean()),
        error=math.sqrt(total / len(counts)),
        share_of_repeats=min(1.0, of_repeats / total) if total else 0.0,
    )


def repeat_noise_of_run(run: ScoredRun, metric: MetricId) -> RepeatNoise:
    """Like :func:`repeat_noise`, for one metric of a run with repeats."""
    return repeat_noise(run.ids, run.column(metric))
