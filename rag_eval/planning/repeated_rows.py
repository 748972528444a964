"""How much rows vary over repeats: scores of each repeat in, flaky rows out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rag_eval.errors import InputError
from rag_eval.metrics.registry import higher_is_better
from rag_eval.plumbing.checked_values import number, whole_from_one
from rag_eval.plumbing.json_records import JsonRecord
from rag_eval.runs.scored_run import ScoredRun
from rag_eval.samples import MetricId


@dataclass(frozen=True, slots=True, kw_only=True)
class RowFlakiness(JsonRecord):
    """One row over its repeats.

    Attributes
    ----------
    id : str
    n_repeats : int
        Number of repeats with a score.
    n_passed : int
    mean, low, high : float
        Of the scores.
    std_dev : float or None
        Standard deviation between repeats (divided by n - 1); None for a single repeat.
    """

    id: str
    n_repeats: int
    n_passed: int
    mean: float
    low: float
    high: float
    std_dev: float | None

    @property
    def straddles(self) -> bool:
        """Whether it passed in some repeats and failed in others."""
        return 0 < self.n_passed < self.n_repeats

    @property
    def n_failed(self) -> int:
        """Number of repeats in which it failed."""
        return self.n_repeats - self.n_passed


@dataclass(frozen=True, slots=True, kw_only=True)
class Flakiness(JsonRecord):
    """How rows vary over repeats of the same run.

    This assumes that only chance differs between repeats: the same system, data and settings, and
    no cached answers. A row that passed in all of r repeats may still fail at times: the 95 % upper
    bound for its failure rate is about 3 / r.

    Attributes
    ----------
    threshold : float
        Lowest score that passes, or the highest if lower is better.
    fail_in : int
        Repeats in which a row must fail to count in ``failing``.
    rows : tuple of RowFlakiness
        In the order of their first repeats; rows without any score are left out.
    failing : tuple of str
        Ids of rows that fail in ``fail_in`` repeats or more.
    straddling : tuple of str
        Ids of rows that pass in some repeats and fail in others.
    between_repeats : float or None
        Standard deviation of a row between repeats: the root of the mean variance. None if no row
        has two repeats.
    n_null : int
        Number of missing scores.
    """

    threshold: float
    fail_in: int
    rows: tuple[RowFlakiness, ...]
    failing: tuple[str, ...]
    straddling: tuple[str, ...]
    between_repeats: float | None
    n_null: int


def flakiness(
    ids: Sequence[str],
    scores: npt.ArrayLike,
    threshold: float,
    *,
    higher_is_better: bool = True,
    fail_in: int = 1,
) -> Flakiness:
    """How much the scores of rows vary over repeats.

    Parameters
    ----------
    ids : sequence of str, length R
        One id per score; repeats of a row have the same id.
    scores : array of float, shape (R,)
        NaN stands for null.
    threshold : float
        A score passes from there on, or up to there where lower is better.
    fail_in : int
        Number of repeats in which a row must fail to count as failing.

    Raises
    ------
    InputError
        If the numbers of ids and scores differ, or a number is out of range.
    """
    column = np.asarray(scores, np.float64)
    if column.shape != (len(ids),):
        raise InputError(
            f"scores must have one value for each of {len(ids)} ids, got shape {column.shape}"
        )
    number(threshold, "threshold")
    whole_from_one(fail_in, "fail_in")
    found: dict[str, list[float]] = {}
    for name, score in zip(ids, column.tolist(), strict=True):
        if score == score:
            found.setdefault(name, []).append(score)
    rows = tuple(
        _row(name, repeats, threshold, higher_is_better) for name, repeats in found.items()
    )
    variances = [row.std_dev**2 for row in rows if row.std_dev is not None]
    return Flakiness(
        threshold=threshold,
        fail_in=fail_in,
        rows=rows,
        failing=tuple(row.id for row in rows if row.n_failed >= fail_in),
        straddling=tuple(row.id for row in rows if row.straddles),
        between_repeats=float(np.sqrt(np.mean(variances))) if variances else None,
        n_null=int(np.isnan(column).sum()),
    )


def flakiness_of_run(
    run: ScoredRun, metric: MetricId, threshold: float, *, fail_in: int = 1
) -> Flakiness:
    """How much one metric varies over the repeats of a run; see :func:`flakiness`.

    Raises
    ------
    InputError
        When no row of the run was repeated.
    """
    if len(set(run.ids)) == len(run.ids):
        raise InputError(
            f"{run.name} has no repeats: no two of its {len(run.ids)} rows share an id"
        )
    return flakiness(
        run.ids,
        run.column(metric),
        threshold,
        higher_is_better=higher_is_better(metric),
        fail_in=fail_in,
    )


def _row(name: str, repeats: list[float], threshold: float, rising: bool) -> RowFlakiness:
    scores = np.array(repeats)
    passed = scores >= threshold if rising else scores <= threshold
    return RowFlakiness(
        id=name,
        n_repeats=len(scores),
        n_passed=int(passed.sum()),
        mean=float(scores.mean()),
        low=float(scores.min()),
        high=float(scores.max()),
        std_dev=float(scores.std(ddof=1)) if len(scores) > 1 else None,
    )
