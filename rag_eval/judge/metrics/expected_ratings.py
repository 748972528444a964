"""A rating weighted by the log-probabilities of its token.

Liu et al., "G-Eval: NLG Evaluation using GPT-4 with Better Human Alignment", EMNLP 2023, section 3:
the sum over all ratings of a rating times its probability. Servers give the likeliest tokens only,
so the probabilities of the ratings among them are divided by their sum.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Final

from rag_eval.plumbing.javascript_numbers import plain_sum

_RATING: Final = re.compile(r'"rating"\s*:\s*"?([1-5])(?![0-9.])')


def expected_rating(tokens: Sequence[tuple[str, Mapping[str, float]]]) -> float | None:
    """The mean of the ratings that a model might have given at the token of its rating.

    Parameters
    ----------
    tokens : sequence of (str, mapping)
        The tokens of a reply, each with the log-probabilities of the likeliest at its place.

    Returns
    -------
    float or None
        None if the reply has not exactly one rating, or its token holds more than the digit.
    """
    text = "".join(token for token, _ in tokens)
    found = list(_RATING.finditer(text))
    if len(found) != 1:
        return None
    place = found[0].start(1)
    begin = 0
    for token, likeliest in tokens:
        if begin <= place < begin + len(token):
            return _mean(likeliest) if token.strip() == found[0][1] else None
        begin += len(token)
    return None


def _mean(likeliest: Mapping[str, float]) -> float | None:
    weights = [0.0] * 6
    for token, logprob in likeliest.items():
        if token.strip() in ("1", "2", "3", "4", "5") and logprob <= 0:
            weights[int(token)] += math.exp(logprob)
    total = plain_sum(weights)
    if not total:
        return None
    mean = plain_sum(rating * weight for rating, weight in enumerate(weights)) / total
    # Rounded, it can be beyond the ratings that it is the mean of.
    rated = [float(rating) for rating, weight in enumerate(weights) if weight]
    return min(max(mean, rated[0]), rated[-1])
