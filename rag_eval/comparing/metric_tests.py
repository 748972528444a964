"""Columns of paired differences in; one test for each, all on one draw, out."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rag_eval.comparing.run_comparison import ComparisonOptions
from rag_eval.comparing.tested_changes import PairedTest
from rag_eval.stats.arrays import Flags, Floats
from rag_eval.stats.paired import mcnemar_test, sign_flip_tests


def paired_tests(
    better: Floats,
    verdicts: Flags,
    margins: Sequence[float],
    clusters: Sequence[str | None] | None,
    options: ComparisonOptions,
) -> list[PairedTest | None]:
    """Test each column.

    Parameters
    ----------
    better : float64, shape (R, M)
        Differences, above 0 where a row got better; NaN where it lacks a score.
    verdicts : bool, shape (M,)
        Columns whose scores are 0 and 1 alone.
    margins : sequence of float, length M
    clusters : sequence of str, optional
        The cluster of each row.

    Returns
    -------
    list of PairedTest or None
        McNemar's exact test for verdicts of independent rows without a margin, else a sign-flip
        test of the mean, neither of them adjusted; None for a column without pairs.
    """
    tests: list[PairedTest | None] = [None] * better.shape[1]
    has_pairs = (~np.isnan(better)).any(axis=0)
    flipped = []
    for column in np.flatnonzero(has_pairs).tolist():
        if verdicts[column] and clusters is None and not margins[column]:
            tests[column] = _mcnemar(better[:, column])
        else:
            flipped.append(column)
    if flipped:
        found = _sign_flips(better[:, flipped], [margins[c] for c in flipped], clusters, options)
        for column, test in zip(flipped, found, strict=True):
            tests[column] = test
    return tests


def _mcnemar(better: Floats) -> PairedTest:
    with np.errstate(invalid="ignore"):
        found = mcnemar_test(int((better < 0).sum()), int((better > 0).sum()))
    return PairedTest(
        name="mcnemar",
        p_worse=found.p_worse,
        p_better=found.p_better,
        p_two_sided=found.p_two_sided,
        n_informative=found.n_worse + found.n_better,
        n_clusters=None,
        smallest_p=found.smallest_p,
        exact=True,
        n_resamples=0,
    )


def _sign_flips(
    better: Floats,
    margins: Sequence[float],
    clusters: Sequence[str | None] | None,
    options: ComparisonOptions,
) -> list[PairedTest]:
    # That a loss is within the margin is no gain: those columns are tested against 0 as well.
    lenient = [column for column, margin in enumerate(margins) if margin]
    found = sign_flip_tests(
        np.concatenate([better, better[:, lenient]], axis=1),
        clusters=clusters,
        margins=[*margins, *[0.0] * len(lenient)],
        n_resamples=options.n_resamples,
        seed=options.seed,
        skew_guard=True,
    )
    p_better = [test.p_better for test in found[: len(margins)]]
    for column, strict in zip(lenient, found[len(margins) :], strict=True):
        p_better[column] = strict.p_better
    return [
        PairedTest(
            name="sign-flip",
            p_worse=test.p_worse,
            p_better=p_better[column],
            p_two_sided=test.p_two_sided,
            n_informative=test.n_informative,
            n_clusters=test.n_clusters,
            smallest_p=test.smallest_p,
            exact=test.exact,
            n_resamples=test.n_resamples,
        )
        for column, test in enumerate(found[: len(margins)])
    ]
