"""What token F1 means."""

from __future__ import annotations

from tests.oracle.tokens import tokenize


def token_f1(reference: str, hypothesis: str) -> float:
    """Harmonic mean of precision and recall over token multisets; 0 when nothing is shared."""
    reference_tokens = tokenize(reference)
    hypothesis_tokens = tokenize(hypothesis)
    left = list(reference_tokens)
    common = 0
    for token in hypothesis_tokens:
        if token in left:
            left.remove(token)
            common += 1
    if common == 0:
        return 0.0
    precision = common / len(hypothesis_tokens)
    recall = common / len(reference_tokens)
    return (2 * precision * recall) / (precision + recall)
