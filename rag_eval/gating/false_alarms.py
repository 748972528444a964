"""A policy and a comparison in; how often such a gate is red when nothing changed, out."""

from __future__ import annotations

import math

import numpy as np

from rag_eval.comparing.run_comparison import RunComparison
from rag_eval.gating.false_alarm_rates import N_REPLICATES, RATES, TIES
from rag_eval.gating.verdicts import FalseAlarmRate


def false_alarm_rate(policy: str, n_rows: int, tied: float) -> FalseAlarmRate | None:
    """The simulated rate for the nearest size and share of ties; None where there is none.

    Parameters
    ----------
    policy : str
    n_rows : int
        Pairs; sizes are as near as their ratio is near 1.
    tied : float
        Share of pairs with the same scores in both runs.
    """
    if policy not in RATES or n_rows < 1:
        return None
    size = min(RATES[policy], key=lambda known: abs(math.log(known / n_rows)))
    place = min(range(len(TIES)), key=lambda column: abs(TIES[column] - tied))
    return FalseAlarmRate(
        rate=RATES[policy][size][place],
        n_rows=size,
        tied=TIES[place],
        n_replicates=N_REPLICATES,
    )


def share_tied(comparison: RunComparison) -> float:
    """Share of the scores of metrics that gate, of pairs, that are the same in both runs."""
    table = comparison.table
    names = [each.name for each in comparison.changes if each.gating and each.slice is None]
    if table is None or not names:
        return 0.0
    old, new = (np.concatenate(side) for side in zip(*map(table.column, names), strict=True))
    paired = ~np.isnan(old) & ~np.isnan(new)
    return float((old == new)[paired].mean()) if paired.any() else 0.0
