"""Checks for judge bias: paired differences between rows that are judged twice.

Each check judges the same rows once as usual and once with one change: the wording of the prompt or
the order of the contexts. The caller provides an async function that judges.
"""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, NamedTuple, TypeAlias, TypeVar

import numpy as np

from rag_eval.errors import InputError
from rag_eval.judge.repeats import interval_text, is_flaky, mean_of, measured, shown
from rag_eval.plumbing.checked_values import whole_from_one
from rag_eval.plumbing.spelling import camel_fields
from rag_eval.stats.arrays import Floats
from rag_eval.stats.bootstrap import group_intervals
from rag_eval.stats.correlations import Weights
from rag_eval.stats.index_sources import USUAL, Resampling
from rag_eval.stats.intervals import Interval

Row = TypeVar("Row")

Scores: TypeAlias = Sequence[float | None]
Order: TypeAlias = tuple[int, ...]
"""The order of the chunks."""

JudgeWording: TypeAlias = Callable[[Sequence[Row], bool], Awaitable[Scores]]
"""Judges rows with or without the paragraph on length; one score each, None if it failed."""

JudgeOrders: TypeAlias = Callable[[Sequence[Row], Sequence[Order]], Awaitable[Scores]]
"""Judges rows with their chunks in these orders; one score each, None if it failed."""

Sensitivity: TypeAlias = Literal["none", "weak", "medium", "strong"]

# Shares of a scale: half a point and a fifth of a point from 1 to 5.
_STRONG: Final = 0.125
_MEDIUM: Final = 0.05
# Rounding error of differences that cancel, as a share of the scale, is below this.
_ROUNDING: Final = 1e-9

_LISTED: Final = 5
# With fewer pairs an interval is only indicative.
_FEW_PAIRS: Final = 20


class ScorePair(NamedTuple):
    """One row judged as usual, and with something changed."""

    row: str
    usual: float
    changed: float


@dataclass(frozen=True, slots=True)
class PairedScores:
    """Rows that were scored both ways.

    Attributes
    ----------
    pairs : tuple of ScorePair
    failed : tuple of str
        Rows without one of the scores.
    difference : Interval or None
        Mean of changed minus usual, with bounds by resampling pairs (None for one pair). None
        without pairs.
    """

    pairs: tuple[ScorePair, ...]
    failed: tuple[str, ...]
    difference: Interval | None

    @property
    def mean_usual(self) -> float | None:
        """Mean score as usual; None without pairs."""
        return mean_of(pair.usual for pair in self.pairs)

    @property
    def mean_changed(self) -> float | None:
        """Mean score with the change; None without pairs."""
        return mean_of(pair.changed for pair in self.pairs)

    def to_dict(self, usual: str, changed: str) -> dict[str, Any]:
        """As JSON values, with these names for the two ways."""
        return {
            "pairs": [
                {"row": pair.row, usual: pair.usual, changed: pair.changed} for pair in self.pairs
            ],
            "means": {usual: self.mean_usual, changed: self.mean_changed},
            **camel_fields(self, ("difference", "failed")),
        }

    def text(self, usual: str, changed: str) -> str:
        """The means and their difference, on one line."""
        if self.difference is None:
            return f"no row was scored both {usual} and {changed}"
        few = "; few rows, so only indicative" if len(self.pairs) < _FEW_PAIRS else ""
        return (
            f"{len(self.pairs):,} rows scored both ways: {shown(self.mean_usual)} {usual}, "
            f"{shown(self.mean_changed)} {changed}, difference {self.difference.estimate:+.3f} "
            f"({interval_text(self.difference, 3)}){few}"
        )


def paired_scores(
    names: Sequence[str],
    usual: Sequence[float | None],
    changed: Sequence[float | None],
    *,
    resampling: Resampling = USUAL,
) -> PairedScores:
    """Pair two scores of each row.

    Parameters
    ----------
    names : sequence of str
    usual, changed : sequence of float or None
        In the order of the names; None or NaN if a row was not scored.
    resampling : Resampling
        Resampling of the pairs.
    """
    pairs, failed = [], []
    both = zip(map(measured, usual), map(measured, changed), strict=True)
    for name, (before, after) in zip(names, both, strict=True):
        if before is None or after is None:
            failed.append(name)
        else:
            pairs.append(ScorePair(name, before, after))
    if not pairs:
        return PairedScores((), tuple(failed), None)
    differences = np.array([pair.changed - pair.usual for pair in pairs])

    def means(weights: Weights) -> Floats:
        return np.asarray((weights @ differences / len(differences))[:, np.newaxis], np.float64)

    (difference,) = group_intervals(means, np.arange(len(pairs)), resampling)
    return PairedScores(tuple(pairs), tuple(failed), difference)


@dataclass(frozen=True, slots=True, kw_only=True)
class DebiasReport:
    """The effect of the paragraph on length on a judge; made by :func:`debias_check`.

    Attributes
    ----------
    scores : PairedScores
        With the paragraph (usual) and without it (changed); failed are rows not judged this time.
    level : {"none", "weak", "medium", "strong"} or None
        The level from :func:`sensitivity` for the interval of the difference, if there is one.
    missing, unscored : tuple of str
        Excluded rows: without texts, without a stored score.
    """

    scores: PairedScores
    level: Sensitivity | None
    missing: tuple[str, ...]
    unscored: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        found = self.scores.to_dict("withParagraph", "without")
        return found | camel_fields(self, ("level", "missing", "unscored"))

    def text(self) -> str:
        """In a few lines."""
        found = self.scores.text("with the paragraph", "without the paragraph")
        lines = [
            f"paragraph on length: {found}",
            f"sensitivity to the wording: {self.level or 'unknown'}",
            "this measures the effect of the wording, not whether the judge favours long answers: "
            "a judge that ignores the paragraph shows no difference either",
            *_left_out(self.missing, "without texts"),
            *_left_out(self.unscored, "without a stored score"),
            *_left_out(self.scores.failed, "could not be judged"),
        ]
        return "\n".join(lines)


@dataclass(frozen=True, slots=True, kw_only=True)
class PositionReport:
    """The effect of the order of contexts on a judge; made by :func:`position_check`.

    Attributes
    ----------
    scores : PairedScores
        With the chunks as they come (usual) and shuffled (changed, the mean of the shuffles).
    mean_abs_change : float or None
        Mean absolute change of a score by a shuffle; None without pairs.
    flipped : tuple of str or None
        Rows whose verdict changed with the order; None without a threshold.
    too_few_chunks : tuple of str
        Excluded rows, which have fewer than two chunks.
    """

    scores: PairedScores
    mean_abs_change: float | None
    flipped: tuple[str, ...] | None
    too_few_chunks: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        found = self.scores.to_dict("asTheyCome", "shuffled")
        return found | camel_fields(self, ("mean_abs_change", "flipped", "too_few_chunks"))

    def text(self) -> str:
        """In a few lines."""
        lines = ["order of contexts: " + self.scores.text("as given", "shuffled")]
        if self.scores.pairs:
            flips = ""
            if self.flipped is not None:
                flips = f"; {len(self.flipped):,} of {len(self.scores.pairs):,} verdicts flip"
            lines += [
                f"a shuffle changes a score by {shown(self.mean_abs_change)} on average{flips}",
                "this includes the judge's own variation: compare it with the spread of repeats",
            ]
        lines += _left_out(self.too_few_chunks, "with fewer than two contexts")
        return "\n".join(lines + _left_out(self.scores.failed, "could not be judged"))


def sensitivity(low: float, high: float, scale: tuple[float, float] = (0, 1)) -> Sensitivity:
    """How much a change matters, from the interval of a mean difference.

    ``none`` if the interval contains 0. Otherwise by the bound nearer to 0, as a share of the
    scale: ``strong`` from an eighth (half a point from 1 to 5), ``medium`` from a twentieth,
    ``weak`` below.
    """
    width = scale[1] - scale[0]
    nearest = min(abs(low), abs(high)) / width
    if low <= 0 <= high or nearest < _ROUNDING:
        return "none"
    # A bound within rounding error of a mark counts as on it.
    nearest += _ROUNDING
    return "strong" if nearest >= _STRONG else "medium" if nearest >= _MEDIUM else "weak"


async def debias_check(
    rows: Mapping[str, Row | None],
    judge_rows: JudgeWording[Row],
    *,
    stored: Mapping[str, float | None] | None = None,
    stored_with_paragraph: bool = True,
    scale: tuple[float, float] = (0, 1),
    seed: int = 0,
    n_resamples: int = 1000,
    level: float = 0.95,
) -> DebiasReport:
    """Compare a judge's scores with and without the paragraph on length.

    Parameters
    ----------
    rows : mapping of str to row or None
        By their names; None for a row whose texts are no longer available.
    judge_rows : callable
        Takes rows and whether to include the paragraph in their prompts.
    stored : mapping of str to float or None, optional
        Earlier scores, which are reused; None, NaN or no entry for a row without one.
    stored_with_paragraph : bool, default True
        Whether the paragraph was in the prompts of the stored scores.
    scale : tuple of float
        The lowest and the highest score.
    seed, n_resamples, level
        Of the interval of the mean difference, by resampling pairs.
    """
    resampling = Resampling(seed=seed, n_resamples=n_resamples, level=level)
    if not scale[0] < scale[1]:
        raise InputError(f"scale must be (lowest, highest), got {scale}")
    known = {name: row for name, row in rows.items() if row is not None}
    judged = known
    if stored is not None:
        judged = {
            name: row for name, row in known.items() if measured(stored.get(name)) is not None
        }
    names = list(judged)

    async def scores(with_paragraph: bool) -> Scores:
        if stored is not None and with_paragraph is stored_with_paragraph:
            return [stored[name] for name in names]
        return _checked(await judge_rows(list(judged.values()), with_paragraph), names)

    paired = paired_scores(
        names,
        await scores(True),
        await scores(False),
        resampling=resampling,
    )
    found = paired.difference
    return DebiasReport(
        scores=paired,
        level=None
        if found is None or found.low is None or found.high is None
        else sensitivity(found.low, found.high, scale),
        missing=tuple(name for name in rows if name not in known),
        unscored=tuple(name for name in known if name not in judged),
    )


async def position_check(
    rows: Mapping[str, Row],
    judge_rows: JudgeOrders[Row],
    *,
    n_chunks: Callable[[Row], int],
    n_shuffles: int = 1,
    threshold: float | None = None,
    higher_is_better: bool = True,
    seed: int = 0,
    n_resamples: int = 1000,
    level: float = 0.95,
) -> PositionReport:
    """Compare a judge's scores with chunks in their own order and shuffled.

    This is not for metrics of the order, such as context_precision.

    Parameters
    ----------
    rows : mapping of str to row
        By their names. A row's shuffles depend on its name and the seed, and on no other row.
    judge_rows : callable
        Takes rows and the order of chunks for each.
    n_chunks : callable
        Returns the number of chunks of a row.
    n_shuffles : int, default 1
        The number of shuffles, each different from the original order.
    threshold : float, optional
        The threshold for verdicts; without it, verdicts are not compared.
    seed, n_resamples, level
        Of the shuffles, and of the interval of the mean difference, by resampling pairs.
    """
    whole_from_one(n_shuffles, "n_shuffles")
    resampling = Resampling(seed=seed, n_resamples=n_resamples, level=level)
    sizes = {name: n_chunks(row) for name, row in rows.items()}
    names = [name for name, size in sizes.items() if size > 1]
    texts = [rows[name] for name in names]
    as_they_come = [tuple(range(sizes[name])) for name in names]
    usual = _checked(await judge_rows(texts, as_they_come), names)
    shuffled = []
    for number in range(n_shuffles):
        orders = [_shuffled(sizes[name], f"{seed}/{number}/{name}") for name in names]
        shuffled.append(_checked(await judge_rows(texts, orders), names))
    # By row, then by shuffle.
    changed = [[measured(score) for score in scores] for scores in zip(*shuffled, strict=True)]
    means = [mean_of(scores) for scores in changed]
    paired = paired_scores(names, usual, means, resampling=resampling)
    after = dict(zip(names, changed, strict=True))
    flipped = tuple(
        pair.row
        for pair in paired.pairs
        if is_flaky((pair.usual, *after[pair.row]), threshold, higher_is_better=higher_is_better)
    )
    return PositionReport(
        scores=paired,
        mean_abs_change=mean_of(
            mean_of(abs(score - pair.usual) for score in after[pair.row] if score is not None)
            for pair in paired.pairs
        ),
        flipped=None if threshold is None else flipped,
        too_few_chunks=tuple(name for name, size in sizes.items() if size < 2),
    )


def _shuffled(n_chunks: int, seed: str) -> Order:
    """A random order other than the original one; all are equally likely."""
    generator = random.Random(seed)
    order = as_they_come = list(range(n_chunks))
    while order == as_they_come:
        order = generator.sample(as_they_come, n_chunks)
    return tuple(order)


def _checked(scores: Scores, names: Sequence[str]) -> Scores:
    if len(scores) != len(names):
        raise InputError(f"judge_rows returned {len(scores)} scores for {len(names)} rows")
    return scores


def _left_out(names: Sequence[str], why: str) -> list[str]:
    if not names:
        return []
    listed = ", ".join(map(repr, names[:_LISTED]))
    more = f" and {len(names) - _LISTED:,} more" if len(names) > _LISTED else ""
    return [f"{len(names):,} rows {why}: {listed}{more}"]
