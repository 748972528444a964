"""Agreement between judges on the same rows: differences and reliability."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Final

from rag_eval.errors import InputError
from rag_eval.judge.repeats import interval_text, mean_of, measured, passes, shown
from rag_eval.plumbing.spelling import camel_fields
from rag_eval.stats.agreement import pearson
from rag_eval.stats.index_sources import USUAL, Resampling
from rag_eval.stats.intervals import Interval
from rag_eval.stats.krippendorff import Ratings, alpha_with_interval, krippendorff_alpha

# Krippendorff's own bounds for alpha come first (Content Analysis, 2004, section 11.4.2).
_BANDS: Final = (
    (0.8, "reliable"),
    (0.667, "enough for tentative conclusions"),
    (0.4, "poor"),
    (0.0, "barely better than chance"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PairAgreement:
    """Two judges on the rows that both scored.

    Attributes
    ----------
    left, right : str
        The judges.
    n_rows : int
    mean_abs_diff : float or None
        None if there is no such row.
    pearson : float or None
        None if undefined: fewer than two rows, or a judge whose scores are all equal.
    """

    left: str
    right: str
    n_rows: int
    mean_abs_diff: float | None
    pearson: float | None

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        return camel_fields(self, self.__slots__)


@dataclass(frozen=True, slots=True, kw_only=True)
class AgreementReport:
    """Several judges on the same rows; made by :func:`agreement_of`.

    Attributes
    ----------
    judges : tuple of str
    means : tuple of float or None
        The mean score of each judge, which shows leniency; None for no scores.
    n_rows, n_complete : int
        All rows, and those that every judge scored.
    mean_abs_diff, pearson : float or None
        Means over the pairs of judges for which they are defined.
    alpha : Interval or None
        Krippendorff's alpha of the scores as intervals, over rows with two or more scores; None
        if all scores are equal.
    alpha_ordinal : float or None
        The same for their order.
    alpha_verdicts : float or None
        The same for passing or not (nominal); None without a threshold, or if all verdicts are
        equal.
    pairs : tuple of PairAgreement
        In the order of the judges.
    """

    judges: tuple[str, ...]
    means: tuple[float | None, ...]
    n_rows: int
    n_complete: int
    mean_abs_diff: float | None
    pearson: float | None
    alpha: Interval | None
    alpha_ordinal: float | None
    alpha_verdicts: float | None
    pairs: tuple[PairAgreement, ...]

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        return camel_fields(self, self.__slots__)

    def text(self) -> str:
        """The agreement in a few lines."""
        named = zip(self.judges, self.means, strict=True)
        means = ", ".join(f"{judge} {shown(mean)}" for judge, mean in named)
        return "\n".join(
            [
                f"{len(self.judges)} judges on {self.n_rows:,} rows, "
                f"{self.n_complete:,} scored by all: mean {means}",
                f"mean difference between two judges {shown(self.mean_abs_diff)}, "
                f"Pearson {shown(self.pearson)}",
                f"Krippendorff's alpha {_alpha_text(self.alpha)}; "
                f"ordinal {shown(self.alpha_ordinal)}, "
                f"verdicts {shown(self.alpha_verdicts)}",
            ]
        )


def agreement_of(
    scores: Ratings,
    *,
    judges: Sequence[str] | None = None,
    threshold: float | None = None,
    higher_is_better: bool = True,
    resampling: Resampling = USUAL,
) -> AgreementReport:
    """Agreement between judges on some rows.

    Parameters
    ----------
    scores : sequence of sequences, or float64 of shape (judges, rows)
        For each judge its score of each row, with repeats averaged; None or NaN if it failed.
    judges : sequence of str, optional
        Their names; by default numbers from 1.
    threshold : float, optional
        The threshold for verdicts.
    resampling : Resampling
        Resampling of the rows, for the interval of alpha.

    Raises
    ------
    InputError
        For fewer than two judges, or for different numbers of rows or names.
    """
    columns = [[measured(score) for score in column] for column in scores]
    if len(columns) < 2:
        raise InputError(f"agreement needs at least two judges, got {len(columns)}")
    if len(set(map(len, columns))) > 1:
        raise InputError("every judge must have a score or None for every row")
    names = [f"judge {n + 1}" for n in range(len(columns))] if judges is None else judges
    if len(names) != len(columns):
        raise InputError(f"{len(columns)} judges have {len(names)} names")
    pairs = tuple(
        _pair_agreement(left, right)
        for left, right in combinations(zip(names, columns, strict=True), 2)
    )
    return AgreementReport(
        judges=tuple(names),
        means=tuple(map(mean_of, columns)),
        n_rows=len(columns[0]),
        n_complete=sum(None not in row for row in zip(*columns, strict=True)),
        mean_abs_diff=mean_of(pair.mean_abs_diff for pair in pairs),
        pearson=mean_of(pair.pearson for pair in pairs),
        alpha=alpha_with_interval(columns, resampling=resampling),
        alpha_ordinal=krippendorff_alpha(columns, measurement="ordinal"),
        alpha_verdicts=None
        if threshold is None
        else _alpha_verdicts(columns, threshold, higher_is_better),
        pairs=pairs,
    )


def reliability(alpha: float) -> str:
    """The common interpretation of an alpha."""
    return next((words for bound, words in _BANDS if alpha >= bound), "worse than chance")


def _alpha_text(alpha: Interval | None) -> str:
    if alpha is None:
        return "– (all scores are equal)"
    found = f"{alpha.estimate:.2f} ({interval_text(alpha)})"
    # With few rows the estimate can look good by chance; the bound shows that.
    return found if alpha.low is None else f"{found}, lower bound: {reliability(alpha.low)}"


def _pair_agreement(
    left: tuple[str, Sequence[float | None]], right: tuple[str, Sequence[float | None]]
) -> PairAgreement:
    """The agreement of two judges on the rows that both scored."""
    both = [
        (a, b) for a, b in zip(left[1], right[1], strict=True) if a is not None and b is not None
    ]
    return PairAgreement(
        left=left[0],
        right=right[0],
        n_rows=len(both),
        mean_abs_diff=mean_of(abs(a - b) for a, b in both),
        pearson=pearson([a for a, _ in both], [b for _, b in both]),
    )


def _alpha_verdicts(
    columns: Sequence[Sequence[float | None]], threshold: float, higher_is_better: bool
) -> float | None:
    verdicts = [
        [
            None if score is None else passes(score, threshold, higher_is_better=higher_is_better)
            for score in column
        ]
        for column in columns
    ]
    return krippendorff_alpha(verdicts, measurement="nominal")
