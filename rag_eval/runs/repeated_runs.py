"""Repeats of one run in; one run in which each id occurs once per repeat out."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from rag_eval.errors import InputError, SignatureMismatchError
from rag_eval.runs.dataset_hash import UNKNOWN, known_digests
from rag_eval.runs.scored_run import ScoredRun


def joined(runs: Sequence[ScoredRun]) -> ScoredRun:
    """Join repeats of one run; each row occurs once per repeat.

    Raises
    ------
    InputError
        When the runs have different metrics.
    SignatureMismatchError
        When they were scored under different settings.
    """
    first, *others = runs
    for other in others:
        if set(other.metrics) != set(first.metrics):
            lacking = sorted(set(other.metrics) ^ set(first.metrics))
            raise InputError(
                f"{first.name} and {other.name} are not repeats of one run: only one of them has "
                f"{', '.join(lacking)}"
            )
        if first.signature is None or other.signature is None:
            continue
        if differences := other.signature.differences(first.signature, first.metrics):
            raise SignatureMismatchError(
                f"{other.name} and {first.name} are not repeats of one run: their settings differ "
                f"({'; '.join(differences)})"
            )
    # In the order of the first run; the columns of others may be in another order.
    places = [[run.metrics.index(metric) for metric in first.metrics] for run in runs]
    names = list(dict.fromkeys(name for run in runs for name in run.columns))
    hashes = {run.dataset_hash for run in runs}
    settings = [run.settings for run in runs]
    return ScoredRun(
        name=first.name + (f" and {len(others):,} more" if others else ""),
        ids=[name for run in runs for name in run.ids],
        metrics=first.metrics,
        scores=np.concatenate([r.scores[:, p] for r, p in zip(runs, places, strict=True)]),
        null_reasons=np.concatenate(
            [r.null_reasons[:, p] for r, p in zip(runs, places, strict=True)]
        ),
        metric_passed=np.concatenate(
            [r.metric_passed[:, p] for r, p in zip(runs, places, strict=True)]
        ),
        composite=np.concatenate([run.composite for run in runs]),
        passed=np.concatenate([run.passed for run in runs]),
        columns={
            name: [v for run in runs for v in run.columns.get(name, [None] * len(run))]
            for name in names
        },
        signature=next((run.signature for run in runs if run.signature is not None), None),
        settings=first.settings if settings.count(first.settings) == len(runs) else None,
        dataset_hash=hashes.pop() if len(hashes) == 1 else None,
        digests=known_digests(np.concatenate([_digests(run) for run in runs])),
        lower_is_better=frozenset().union(*(run.lower_is_better for run in runs)),
        n_judgements=sum(run.n_judgements for run in runs),
        n_failed_judgements=sum(run.n_failed_judgements for run in runs),
    )


def _digests(run: ScoredRun) -> npt.NDArray[np.uint32]:
    unknown = np.zeros((len(run), len(UNKNOWN)), np.uint32)
    return unknown if run.digests is None else run.digests
