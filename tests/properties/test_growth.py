"""Rows that are made to be costly cost in proportion to their size.

Eight times as much takes eight times as long, and sixty-four times where it is a product: the limit
lies between the two, far from either. Times are of the processor.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

import pytest

from rag_eval import evaluate_batch, text
from rag_eval.metrics.ids import ALL_METRIC_IDS, METRIC_IDS

Sample = dict[str, Any]

FACTOR, LIMIT = 8, 24
_ROUNDS = 5


def numbered(letter: str, n: int) -> list[str]:
    return [f"{letter}{i}" for i in range(n)]


def truths_that_share_nothing(n: int) -> Sample:
    """The answer was read once for each."""
    return {
        "question": "q",
        "answer": " ".join(numbered("a", n)),
        "contexts": ["c"],
        "ground_truth": numbered("t", n),
    }


def truths_that_the_answer_has(n: int) -> Sample:
    sample = truths_that_share_nothing(n)
    return {**sample, "ground_truth": numbered("a", n)}


def truths_in_another_script(n: int) -> Sample:
    sample = truths_that_share_nothing(n)
    return {**sample, "ground_truth": numbered("é", n)}


def a_long_question(n: int) -> Sample:
    """It was read once with each ground truth, and kept as often."""
    return {**truths_that_share_nothing(n), "question": " ".join(numbered("q", n)), "answer": "a b"}


def chunks_and_truths(n: int) -> Sample:
    """Each chunk was scored for each ground truth."""
    return {**truths_that_share_nothing(n), "answer": "a b", "contexts": numbered("c", n)}


def chunks_and_claims(n: int) -> Sample:
    """Each sentence was held against each chunk, and looked for the chunk of each."""
    return {
        "question": "q",
        "answer": " ".join(f"A{i}!" for i in range(n)),
        "contexts": [f"a{i}" for i in range(n)],
        "ground_truth": " ".join(f"A{i}!" for i in range(n)),
    }


def overlap_sentences(n: int) -> Sample:
    return {
        "question": "q",
        "answer": " ".join(f"A{i}." for i in range(n)),
        "contexts": numbered("c", n),
        "ground_truth": " ".join(f"A{i}." for i in range(n)),
    }


def overlap_question(n: int) -> Sample:
    """It was read once for each context."""
    return {"question": " ".join(numbered("q", n)), "answer": "a", "contexts": numbered("c", n)}


GROUNDED = [
    truths_that_share_nothing,
    truths_that_the_answer_has,
    truths_in_another_script,
    a_long_question,
    chunks_and_truths,
    chunks_and_claims,
]


def seconds(call: Callable[[], object]) -> float:
    began = time.process_time()
    call()
    return time.process_time() - began


def grows_in_proportion(small: Callable[[], object], large: Callable[[], object]) -> bool:
    shortest = longest = math.inf
    for _ in range(_ROUNDS):
        # Whatever else the machine does makes times longer: the best of more rounds is truer.
        shortest = min(shortest, *(seconds(small) for _ in range(3)))
        longest = min(longest, seconds(large))
        if longest <= LIMIT * shortest:
            return True
    return False


def scored(sample: Sample, metrics: Any, profile: Any) -> Callable[[], object]:
    return lambda: (
        evaluate_batch([sample], metrics, profile=profile, threads=1, keep_texts=False).scores
    )


@pytest.mark.parametrize("make", GROUNDED)
@pytest.mark.parametrize("metrics", [METRIC_IDS, ALL_METRIC_IDS], ids=["seven", "all"])
def test_grounded_rows(make: Callable[[int], Sample], metrics: Any) -> None:
    small, large = make(1500), make(1500 * FACTOR)
    assert grows_in_proportion(
        scored(small, metrics, "grounded"), scored(large, metrics, "grounded")
    )


@pytest.mark.parametrize("make", [overlap_sentences, overlap_question])
def test_overlap_rows(make: Callable[[int], Sample]) -> None:
    small, large = make(2000), make(2000 * FACTOR)
    assert grows_in_proportion(
        scored(small, METRIC_IDS, "overlap"), scored(large, METRIC_IDS, "overlap")
    )


def wide_texts(n: int) -> tuple[str, str]:
    return (
        " ".join(f"w{i % 1000}" for i in range(n)),
        " ".join(f"w{i % 999}" for i in range(n)),
    )


def test_wide_ngrams() -> None:
    """The texts were passed over once for each token of a window."""
    small, large = wide_texts(4000), wide_texts(4000 * FACTOR)
    assert grows_in_proportion(
        lambda: text.ngram_overlap(*small, 2000), lambda: text.ngram_overlap(*large, 2000 * FACTOR)
    )
    assert text.ngram_overlap(small[0], small[0], 4000) == 1
    assert text.ngram_overlap(*large, 10**6) == 1


def test_wide_ngrams_of_a_profile() -> None:
    def weighted(n: int) -> Callable[[], object]:
        answer, context = wide_texts(n)
        sample = {"question": "q", "answer": answer, "contexts": [context]}
        return lambda: (
            evaluate_batch(
                [sample], threads=1, heuristic={"ngram_sizes": [1, n // 2], "ngram_weights": [1, 1]}
            ).scores
        )

    assert grows_in_proportion(weighted(4000), weighted(4000 * FACTOR))
