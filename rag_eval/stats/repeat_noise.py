"""Why a mean over repeated rows is uncertain: scores of each repeat in, parts of its noise out."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rag_eval.errors import InputError
from rag_eval.plumbing.json_records import JsonRecord


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

    def gain(self, *, rows: float = 1.0, repeats: float = 1.0) -> float:
        """By what share the error, and with it the interval of the mean, would become smaller."""
        return 1 - self.error_with(rows=rows, repeats=repeats) / self.error if self.error else 0.0

    def __str__(self) -> str:
        return (
            f"{self.share_of_repeats:.0%} of the noise of the mean comes from repeats and "
            f"{1 - self.share_of_repeats:.0%} from rows: twice the rows would narrow its interval "
            f"by {1 - math.sqrt(0.5):.0%}, twice the repeats by {self.gain(repeats=2):.0%}"
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
    rows: dict[str, list[float]] = {}
    for name, score in zip(ids, column.tolist(), strict=True):
        if not math.isnan(score):
            rows.setdefault(name, []).append(score)
    moments = RepeatMoments()
    for found in rows.values():
        moments.add(found)
    if (noise := moments.noise) is None:
        raise InputError("repeat_noise needs two rows with scores, and one of them twice")
    return noise


@dataclass(slots=True)
class RepeatMoments:
    """Sums over rows that come one at a time, by which their :class:`RepeatNoise` is found.

    Attributes
    ----------
    n_rows, n_scores : int
    inverse_counts : float
        Of 1 / (number of scores of a row).
    within : float
        Squares of the scores less the mean of their row.
    mean, squares : float
        Mean of the means of rows, and the sum of their squares less it.
    """

    n_rows: int = 0
    n_scores: int = 0
    inverse_counts: float = 0.0
    within: float = 0.0
    mean: float = 0.0
    squares: float = 0.0

    def add(self, scores: Sequence[float]) -> None:
        """Add the scores of a row, one at least."""
        count = len(scores)
        mean = math.fsum(scores) / count
        self.n_rows += 1
        self.n_scores += count
        self.inverse_counts += 1 / count
        self.within += math.fsum((score - mean) ** 2 for score in scores)
        # Welford's update: a difference of large sums would lose digits.
        step = mean - self.mean
        self.mean += step / self.n_rows
        self.squares += step * (mean - self.mean)

    @property
    def of_repeats(self) -> float | None:
        """The variance that the mean of a row's repeats has; None where no row was repeated."""
        if self.n_scores == self.n_rows:
            return None
        return self.within / (self.n_scores - self.n_rows) * self.inverse_counts / self.n_rows

    @property
    def noise(self) -> RepeatNoise | None:
        """None for fewer than two rows, or where none was repeated."""
        n_rows, of_repeats = self.n_rows, self.of_repeats
        if n_rows < 2 or of_repeats is None:
            return None
        total = self.squares / (n_rows - 1)
        return RepeatNoise(
            n_rows=n_rows,
            n_repeats=n_rows / self.inverse_counts,
            error=math.sqrt(total / n_rows),
            share_of_repeats=min(1.0, of_repeats / total) if total else 0.0,
        )


def add_row(into: dict[str, RepeatMoments], scores: Iterable[tuple[str, Sequence[float]]]) -> None:
    """Add the scores of a row to those of each metric that it has any of."""
    for name, found in scores:
        if found:
            into.setdefault(name, RepeatMoments()).add(found)


def noise_of_rows(
    ids: Sequence[str], scores: npt.ArrayLike, judged: RepeatMoments | None
) -> RepeatNoise | None:
    """The noise of rows with one id, or where all ids differ, that of a judge's repeats.

    None where no row has two scores.
    """
    if len(set(ids)) == len(ids):
        return None if judged is None else judged.noise
    with contextlib.suppress(InputError):  # too few scores to tell
        return repeat_noise(ids, scores)
    return None


def noise_line(found: Mapping[str, RepeatNoise]) -> str:
    """One sentence on the noise of the means of some metrics."""
    if len(found) == 1:
        (only,) = found.items()
        return f"{only[0]}: {only[1]}"
    noises = [noise for noise in found.values() if noise.error] or list(found.values())
    shares = sorted(noise.share_of_repeats for noise in noises)
    gains = [noise.gain(repeats=2) for noise in noises]
    most = max(found, key=lambda name: found[name].share_of_repeats)
    return (
        f"{shares[0]:.0%} to {shares[-1]:.0%} of the noise of the means comes from repeats (most: "
        f"{most}), the rest from rows: twice the rows would narrow their intervals by "
        f"{1 - math.sqrt(0.5):.0%}, twice the repeats by {min(gains):.0%} to {max(gains):.0%}"
    )
