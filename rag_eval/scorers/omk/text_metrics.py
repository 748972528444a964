"""ROUGE-N, BLEU and edit distance as omk has them: two texts in, a number out."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, Final

from rag_eval.errors import InputError, glance
from rag_eval.metrics.contract import Column, Fields, Metric, Scored, Scorer, truths_of
from rag_eval.plumbing.checked_values import whole_from_one
from rag_eval.samples import NullReason

_LONGEST_GRAM: Final = 4
# A word of ASCII, or one character of the script that writes without spaces: those of Unicode 1.1,
# without what was added to the block later, as in omk.
_TOKEN: Final = re.compile("[a-z0-9]+|[\u4e00-\u9fa5]")


def tokens_of(text: str) -> list[str]:
    """Runs of ASCII letters and digits, in lower case, and Chinese characters one by one."""
    return _TOKEN.findall(text.lower())


def rouge_n(candidate: str, reference: str, n: int = 1) -> float:
    """Share of the reference's n-grams that the candidate has, counted with repeats.

    Takes linear time for any ``n``.

    Parameters
    ----------
    candidate, reference : str
    n : int, default 1
        Tokens in an n-gram.

    Returns
    -------
    float
        From 0 to 1; 0 if the reference has no n-gram or ``n`` is below 1.

    Notes
    -----
    The recall of Lin (2004), "ROUGE: A Package for Automatic Evaluation of Summaries", section 2,
    with one reference.
    """
    if isinstance(n, bool) or not isinstance(n, int):
        raise InputError(f"n must be a whole number, got {glance(n)}")
    if n < 1:
        return 0.0
    found, wanted = _grams(_numbered(candidate, reference), n)
    return _shared(found, wanted) / len(wanted) if wanted else 0.0


def bleu(candidate: str, reference: str) -> float:
    """Geometric mean of n-gram precisions for n of 1 to 4, times the brevity penalty.

    Takes time linear in the texts.

    Returns
    -------
    float
        From 0 to 1. Without smoothing: 0 if no n-gram of one of the lengths is shared, as in any
        text of fewer than four tokens.

    Notes
    -----
    Papineni et al. (2002), "BLEU: a Method for Automatic Evaluation of Machine Translation",
    section 2.3, for one sentence and one reference.
    """
    candidate_ids, reference_ids = _numbered(candidate, reference)
    if min(len(candidate_ids), len(reference_ids)) < _LONGEST_GRAM:
        return 0.0
    logs = 0.0
    for n in range(1, _LONGEST_GRAM + 1):
        found, wanted = _grams((candidate_ids, reference_ids), n)
        shared = _shared(found, wanted)
        if not shared:
            return 0.0
        logs += math.log(shared / len(found))
    shortness = min(0.0, 1 - len(reference_ids) / len(candidate_ids))
    return math.exp(shortness + logs / _LONGEST_GRAM)


def _numbered(*texts: str) -> tuple[list[int], ...]:
    numbers: dict[str, int] = {}
    return tuple([numbers.setdefault(t, len(numbers)) for t in tokens_of(text)] for text in texts)


def _grams(rows: Sequence[list[int]], n: int) -> Sequence[list[int]]:
    """The n-grams of each row, as numbers that are equal where the n-grams are.

    Two grams of one width that overlap make one that is up to twice as wide, so few rounds do.
    """
    width = 1
    while width < n:
        step = min(width, n - width)
        numbers: dict[tuple[int, int], int] = {}
        rows = [
            [numbers.setdefault(pair, len(numbers)) for pair in zip(row, row[step:], strict=False)]
            for row in rows
        ]
        width += step
    return rows


def _shared(found: list[int], wanted: list[int]) -> int:
    """How many of the wanted are found; each counts as often as both have it."""
    have = Counter(found)
    return sum(min(count, have[gram]) for gram, count in Counter(wanted).items() if gram in have)


# --------------------------------------------------------------------------------------- contracts


def _create_rouge_n(n: int = 1) -> Scorer:
    whole_from_one(n, "n")
    lacking = f"the ground truth has fewer than {n} tokens"
    return _best(lambda text, truth: rouge_n(text, truth, n), n, f"ROUGE-{n} recall", lacking)


def _create_bleu() -> Scorer:
    return _best(bleu, 1, "BLEU", "the ground truth has no tokens")


def _best(measure: Callable[[str, str], float], n_tokens: int, called: str, lacking: str) -> Scorer:
    """The best over the ground truths with at least this many tokens."""

    def score(fields: Fields) -> Scored:
        truths = [truth for truth in truths_of(fields) if len(tokens_of(truth)) >= n_tokens]
        if not truths:
            return Scored.nothing(lacking)
        best = max(measure(fields["answer"], truth) for truth in truths)
        return Scored(best, explanation=f"{called} {best:.3f}")

    return Scorer(score)


def _create_levenshtein() -> Scorer:
    def score(fields: Fields) -> Scored:
        from rag_eval.kernels.similarity import levenshtein

        best = min(levenshtein(fields["answer"], truth) for truth in truths_of(fields))
        return Scored(float(best), explanation=f"{best} edits from the ground truth")

    return Scorer(score, _distances)


def _distances(rows: Sequence[Fields]) -> Column:
    """All pairs through the kernel at once, and the least of each row."""
    import numpy as np

    from rag_eval.kernels.similarity import levenshteins

    truths = [truths_of(row) for row in rows]
    answers = [row["answer"] for row, own in zip(rows, truths, strict=True) for _ in own]
    distances = levenshteins(answers, [truth for own in truths for truth in own])
    scores = np.full(len(rows), np.nan)
    owners = np.repeat(np.arange(len(rows)), [len(own) for own in truths])
    np.fmin.at(scores, owners, distances.astype(np.float64))
    return scores, np.full(len(rows), NullReason.MEASURED, dtype=np.uint8)


_COMPARED: Final[dict[str, Any]] = {"fields": ("answer", "ground_truth"), "source": "omk 0.54"}

TEXT_METRICS: Final = (
    Metric(
        id="omk.rouge_n",
        summary="Share of the ground truth's n-grams that are in the answer",
        create=_create_rouge_n,
        options={"n": 1},
        threshold=0.5,
        cost="python",
        null_when="the ground truth has fewer than n tokens",
        version=2,
        **_COMPARED,
    ),
    Metric(
        id="omk.bleu",
        summary="BLEU: precision of the answer's n-grams for n from 1 to 4, reduced for short "
        "answers",
        create=_create_bleu,
        threshold=0.5,
        cost="python",
        null_when="the ground truth has no tokens",
        version=2,
        **_COMPARED,
    ),
    Metric(
        id="omk.levenshtein",
        summary="Edit distance: number of characters to insert, delete or replace to turn the "
        "answer into the ground truth",
        create=_create_levenshtein,
        higher_is_better=False,
        range=(0.0, float("inf")),
        **_COMPARED,
    ),
)
"""The answer against the ground truth, of several the best."""
