"""Intervals of means in closed form: count, mean and spread of the rows in, bounds out."""

from __future__ import annotations

import math
from typing import Final, Literal, NamedTuple, TypeAlias

from rag_eval.errors import InputError
from rag_eval.stats.distributions import student_quantile
from rag_eval.stats.intervals import Interval, checked_level, normal_reach, score_bounds
from rag_eval.stats.skewness import johnson_shift

MeanMethod: TypeAlias = Literal["wilson", "bounded", "t", "percentile", "bca"]
MEAN_METHODS: Final = ("wilson", "bounded", "t", "percentile", "bca")
Bounds: TypeAlias = tuple[float, float]

FEWEST_OTHERS: Final = 3
"""With fewer rows off the most frequent score, an interval is only indicative."""

# Scores that are 0 or 1 have the variance mean * (1 - mean), but for rounding.
_ROUNDING: Final = 1e-9
# Scores of 1e-300 are at the bound: their squares are 0 or have lost most digits.
_NO_VARIANCE: Final = 1e-250


def interval_of_moments(
    n: int,
    mean: float,
    std_dev: float,
    *,
    n_modal: int | None = None,
    third: float = math.nan,
    bounds: Bounds | None = (0.0, 1.0),
    level: float = 0.95,
    method: MeanMethod | None = None,
) -> Interval:
    """The interval of :func:`mean_interval` from the moments of independent rows.

    Parameters
    ----------
    n : int
        Rows with a score.
    mean, std_dev : float
        Mean and standard deviation of these rows; ``std_dev`` is divided by n.
    n_modal : int, optional
        Number of rows at the lowest or at the highest score, whichever are more. Without it the
        interval cannot detect that too few rows differ.
    third : float
        Third central moment; without it the interval is not corrected for skewness.
    bounds, level, method
        As for :func:`mean_interval`; bootstraps need the rows.
    """
    level = checked_level(level)
    if n < 1 or math.isnan(mean):
        return unbounded(math.nan, level, 0)
    row = Spread.of(n, mean, std_dev, n if n_modal is None else n - n_modal, bounds, third)
    chosen = chosen_method(method, bounds, row)
    if chosen == "wilson":
        ends = few_events_bounds(row.mean, n, level)
        return interval_at(mean, ends, bounds, level, n, chosen, False)
    # Of a constant column t would be certain.
    if n < 2 or (chosen == "t" and (std_dev == 0 or not row.n_others)):
        return unbounded(mean, level, n, chosen)
    few = row.n_others < FEWEST_OTHERS or row.is_of_few_rows
    reach = student_quantile((1 + level) / 2, n - 1)
    if chosen == "bounded":
        ends = row.with_skewness(score_bounds(row.mean, row.most / row.mixed, reach), reach)
        return interval_at(mean, ends, bounds, level, n, chosen, few)
    half = reach * std_dev / math.sqrt(n - 1)
    return interval_at(mean, (mean - half, mean + half), None, level, n, chosen, few)


class Unseen(NamedTuple):
    """How much the rows that no sample holds count in a variance.

    Attributes
    ----------
    weight : float
        In rows.
    spreads : float
        They are at most so many standard deviations from the mean.
    fewest : float
        Where fewer rows tell of the spread, the unseen ones make up for those that are missing.
    """

    weight: float
    spreads: float
    fewest: float


# Without them a column in which few rows differ looks far too certain: with 20 rows, 4 of them
# above 0, intervals of 95 % held the mean 90 times of 100, with them 97 times. At 50 rows inside of
# the range they cost 6 % of width. If they were all at the bounds, intervals of scores that are
# close to each other would be half as wide again as Student's. Agresti and Coull (1998) add four
# rows to any share; where the spread comes from four rows or more, that is more than is needed.
UNSEEN_ROWS: Final = Unseen(weight=0.75, spreads=4.0, fewest=4.0)
# Means of clusters are less extreme than rows. Without these, ten clusters with a long tail held
# the mean 92 times of 100, with them 96 times, for 14 % of width.
UNSEEN_CLUSTERS: Final = Unseen(weight=0.25, spreads=3.0, fewest=0.0)


class Spread(NamedTuple):
    """Scores of rows, brought to 0 to 1, and how many differ from the most frequent one.

    ``skewness`` is NaN where it is not known. Clusters are rows of their own: their number, and how
    far the parts that they have in the mean are apart.
    """

    n: int
    mean: float
    std_dev: float
    n_others: int
    skewness: float = math.nan
    unseen: Unseen = UNSEEN_ROWS

    @classmethod
    def of(
        cls,
        n: int,
        mean: float,
        std_dev: float,
        n_others: int,
        bounds: Bounds | None,
        third: float = math.nan,
    ) -> Spread:
        """Of scores between ``bounds``; as they are without any."""
        known = std_dev > 0 and math.isfinite(third)
        # Divided one by one: the cube may be too small for a double.
        skewness = third / std_dev / std_dev / std_dev if known else math.nan
        if bounds is None:
            return cls(n, mean, std_dev, n_others, skewness)
        low, high = bounds
        # Rounding may have put a mean beyond its bound.
        share = min(1.0, max(0.0, (mean - low) / (high - low)))
        return cls(n, share, std_dev / (high - low), n_others, skewness)

    @property
    def most(self) -> float:
        """The greatest variance that rows with this mean can have."""
        return self.mean * (1 - self.mean)

    @property
    def is_binary(self) -> bool:
        """All rows are at the bounds: only then the variance is the greatest."""
        return self.most - self.std_dev**2 <= max(_ROUNDING * self.most, _NO_VARIANCE)

    @property
    def is_of_few_rows(self) -> bool:
        """Fewer rows than it takes are most of the spread: as skewed as verdicts with so few."""
        # At equality, as for one verdict of four, rounding must not decide.
        return self.n * (1 + _ROUNDING) < FEWEST_OTHERS * self.skewness * self.skewness

    @property
    def _n_telling(self) -> float:
        """As many verdicts of one kind would have this skewness (Cochran's n over its square)."""
        square = self.skewness * self.skewness
        return min(self.n_others, self.n / square) if square > 0 else self.n_others

    @property
    def _weight(self) -> float:
        return max(self.unseen.weight, self.unseen.fewest - self._n_telling)

    @property
    def _variance_of_unseen(self) -> float:
        """The greatest one, but no further from the mean than rows that were seen make likely."""
        if self.n_others < FEWEST_OTHERS:
            return self.most
        return min(self.most, (self.unseen.spreads * self.std_dev) ** 2)

    @property
    def mixed(self) -> float:
        """Variance of the mean, with some weight on that of unseen rows."""
        found = self.n_others * self.std_dev**2 + self._weight * self._variance_of_unseen
        least = min(_NO_VARIANCE, self.most / self.n)
        return max(found / (self.n_others + self._weight) / self.n, least)

    def with_skewness(self, ends: tuple[float, float], reach: float) -> tuple[float, float]:
        """The ends, or those of a t interval corrected for skewness where they are further apart.

        The skewness is mixed with that of unseen rows, as the variance is.
        """
        weight, error = self._weight, math.sqrt(self.mixed)
        if math.isnan(self.skewness) or self.n_others < FEWEST_OTHERS or not error:
            return ends
        spread = error * math.sqrt(self.n)
        # Cubes of the spread may be too small for a double; its ratios are not.
        unseen = (math.sqrt(self._variance_of_unseen) / spread) ** 3
        unseen *= (1 - 2 * self.mean) / math.sqrt(self.most)
        mixed = self.n_others * self.skewness * (self.std_dev / spread) ** 3 + weight * unseen
        shift = johnson_shift(mixed / (self.n_others + weight), reach, self.n)
        low = min(ends[0], self.mean + (shift - reach) * error)
        high = max(ends[1], self.mean + (shift + reach) * error)
        return max(0.0, low), min(1.0, high)


def few_events_bounds(share: float, n: int, level: float) -> tuple[float, float]:
    """Wilson's bounds, lower for a few rows of one kind: theirs are too far from 0 there.

    References
    ----------
    Brown, Cai and DasGupta, Interval estimation for a binomial proportion (2001), section 4.1.1:
    Poisson bounds for up to 2 events (3 of more than 50 rows).
    """
    low, high = score_bounds(share, n, normal_reach(level))
    few = 2 if n <= 50 else 3
    events = round(share * n)
    if 0 < events <= few and 2 * events < n:
        low = min(low, _fewest_events(events, level) / n)
    if 0 < n - events <= few and 2 * events > n:
        high = max(high, 1 - _fewest_events(n - events, level) / n)
    return low, high


def _fewest_events(found: int, level: float) -> float:
    """The lower Poisson bound."""
    # Columns without any event are more frequent, and do without the time that importing it takes.
    from scipy.special import gammaincinv

    return float(gammaincinv(found, 1 - level))


def chosen_method(method: MeanMethod | None, bounds: Bounds | None, row: Spread) -> str:
    """The method by name, or the one that fits; bootstraps are none of these."""
    if bounds is None:
        if method not in (None, "t"):
            raise InputError(f"method {method!r} needs the bounds of the scores, or all rows")
        return "t"
    if method in ("percentile", "bca"):
        raise InputError(f"method {method!r} needs all rows")
    if method == "wilson" and not row.is_binary:
        raise InputError("method 'wilson' needs scores of 0 and 1, such as verdicts")
    # Even a single score between 0 and 1 shows that these are not verdicts.
    return method or ("wilson" if row.is_binary else "bounded")


def interval_at(
    mean: float,
    ends: tuple[float, float],
    bounds: Bounds | None,
    level: float,
    n_groups: int,
    method: str,
    too_few: bool,
) -> Interval:
    """An interval whose ``ends`` are shares of the way between the bounds, if there are any."""
    low, high = bounds or (0.0, 1.0)
    least, greatest = (low + end * (high - low) for end in ends)
    return Interval(
        estimate=mean,
        # Scaled back, a bound may miss the mean by a rounding.
        low=min(least, mean),
        high=max(greatest, mean),
        level=level,
        n_groups=n_groups,
        method=method,
        too_few=too_few,
    )


def unbounded(mean: float, level: float, n_groups: int, method: str | None = None) -> Interval:
    """A mean without bounds, because too little is known for an interval."""
    return Interval(
        estimate=mean,
        level=level,
        n_groups=n_groups,
        method=method,
        too_few=True,
    )
