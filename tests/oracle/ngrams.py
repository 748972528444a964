"""What n-gram overlap means."""

from __future__ import annotations

from collections.abc import Sequence

from tests.oracle.tokens import get_ngrams, tokenize

SIZES = (1, 2)
WEIGHTS = (0.7, 0.3)


def ngram_overlap(left: str, right: str, n: float = 1) -> float:
    """Jaccard over the sets of n-grams: 1 when both are empty, 0 when one is."""
    a = set(get_ngrams(tokenize(left), n))
    b = set(get_ngrams(tokenize(right), n))
    if not a and not b:
        return 1.0
    if not a or not b:
        return 0.0
    shared = len(a & b)
    return shared / (len(a) + len(b) - shared)


def weighted_ngram_overlap(
    left: str,
    right: str,
    sizes: Sequence[float] | None = None,
    weights: Sequence[float | None] | None = None,
) -> float:
    """Mean overlap over the sizes in their order; a missing weight is 1, a weight sum of 0 gives 0.

    Sizes and weights have defaults of their own, so sizes alone meet the default weights.
    """
    sizes = SIZES if sizes is None else sizes
    weights = WEIGHTS if weights is None else weights
    total = 0.0
    weight_sum = 0.0
    for i, n in enumerate(sizes):
        weight = weights[i] if i < len(weights) else None
        weight = 1.0 if weight is None else weight
        total += ngram_overlap(left, right, n) * weight
        weight_sum += weight
    return total / weight_sum if weight_sum != 0 else 0.0
