"""How often a policy is red when nothing changed: policy and size in, share out.

Written by ``python -m benchmarks.statistics --sections policies``; not to be edited by hand.
"""

from __future__ import annotations

from typing import Final

POLICIES: Final = ("no-regression", "omk", "regtrace", "node")
N_REPLICATES: Final = 4_000
SEED: Final = 20261122

TIES: Final = (0.0, 0.5, 0.9)
"""Shares of rows with the same scores in both runs, one for each column of the rates."""

RATES: Final[dict[str, dict[int, tuple[float, float, float]]]] = {
    "no-regression": {
        20: (0.0380, 0.0455, 0.0018),
        50: (0.0447, 0.0437, 0.0192),
        200: (0.0400, 0.0462, 0.0465),
        1000: (0.0460, 0.0440, 0.0460),
    },
    "omk": {
        20: (0.9667, 0.9575, 0.9920),
        50: (0.9700, 0.9680, 0.9702),
        200: (0.9750, 0.9705, 0.9985),
        1000: (0.9805, 0.9985, 1.0000),
    },
    "regtrace": {
        20: (0.3695, 0.3075, 0.1242),
        50: (0.2785, 0.2042, 0.0377),
        200: (0.1215, 0.0558, 0.0003),
        1000: (0.0045, 0.0000, 0.0000),
    },
    "node": {
        20: (0.7752, 0.6950, 0.3162),
        50: (0.6643, 0.5340, 0.0877),
        200: (0.3420, 0.1320, 0.0000),
        1000: (0.0077, 0.0000, 0.0000),
    },
}
