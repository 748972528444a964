"""Long texts cost the grounded profile time in proportion to their length, however odd they are.

No bar is absolute: an odd text is held against prose of its size, a long one against its quarter.
"""

from __future__ import annotations

import math
import os
import random
import time
from collections.abc import Callable
from typing import Any

import pytest

import rag_eval
from rag_eval.metrics.ids import ALL_METRIC_IDS, METRIC_IDS

Sample = dict[str, Any]

# Instrumented builds are slower by far and show the same.
SCALE = 1 if "RAG_EVAL_TESTED_BUILD" not in os.environ else 10
_ROUNDS = 5
N_BYTES = 80_000 // SCALE
# Repeated to that length. A rule that looked at all that follows, or back, would show.
# Left out is what has many sentences of words that the chunk is full of, such as a line of "2. x":
# sentences are held against it one by one, and all places of their words are looked at.
REPEATED = [
    *(" .", " . .", ". ", "...", "? ! ", ".)))))", ".)", '."', "! a ", "A. ", "e.g. ", "No. 5 "),
    *("(1) ", " (1)", "(1)", " (1,2)", "[1]", "[1", "[1,", " [1-2]", "[^", "【1†", "【1†x】", "】"),
    *("*", "*_", "*_ ", "**a", "_a", "a_", "`", "~", "~~ ", "> ", ">", "# ", "#", "- ", "\n- "),
    *("\n", "\r\n", "\n1. x", "\n2.", "\n7) ", "\n(1) ", "\na) ", "\n> ", "\n\n", "\u2028"),
    *("1,", "1,234", ",234", "1 , ", "1.", "1.2", "v2.0.", "'", "'s", "n't", "n'", "a'", "don't "),
    *("A", "Ab ", "Ab-", "A.B.", "a-", "x", "é", "xé", "ﬁ", "Σ", "İ", "½", "½ ", "①²", "²", ".²"),
    *("漢", "漢字 ", "漢。", "。", "ก", "\u0e01\u0e31", "가", "\u1100\u1161", "\u1161", "\u11a8"),
    *("\u0301", "\u0301\u0323", "a\u0301", "\u00ad", "\u200d", "\ufe0f", "\u0344", "\u05b0\u05bc"),
    *(" ", "\t", "\u3000", "\ufeff", "\x00", "x ", "the ", "the of ", "der die ", "한국어 "),
]
TIMES_PROSE = 30


def seconds(sample: Sample, metrics: Any = ALL_METRIC_IDS) -> float:
    """Of processor time."""
    began = time.thread_time()
    rag_eval.evaluate_batch([sample], metrics, profile="grounded", threads=1, keep_texts=False)
    return time.thread_time() - began


def best_of(n: int, sample: Sample, metrics: Any = ALL_METRIC_IDS) -> float:
    """Nothing but noise makes it longer."""
    return min(seconds(sample, metrics) for _ in range(n))


def everywhere(text: str) -> Sample:
    return {"question": text, "answer": text, "contexts": [text], "ground_truth": text}


def prose(n_bytes: int) -> str:
    choose = random.Random(1)
    words = [f"w{choose.getrandbits(14)}" for _ in range(n_bytes // 5)]
    words[::12] = [word.capitalize() + "." for word in words[::12]]
    return " ".join(words)[:n_bytes]


@pytest.fixture(scope="module")
def prose_seconds() -> float:
    """What prose costs that is all question, all answer, the only chunk and the ground truth.

    Its answer is one sentence, as those of most odd texts are.
    """
    return best_of(5, everywhere(prose(N_BYTES).replace(".", "")))


@pytest.mark.parametrize("piece", REPEATED, ids=ascii)
def test_odd_texts_cost_what_prose_does(piece: str, prose_seconds: float) -> None:
    text, limit = piece * (N_BYTES // len(piece.encode())), TIMES_PROSE * prose_seconds
    for sample in (everywhere(text), everywhere("x" + text + "x y.")):
        assert seconds(sample) <= limit or best_of(3, sample) <= limit


def one_letter_sentences(n: int) -> Sample:
    """Each is held against a chunk that has it, and one that has not."""
    answer = " ".join("ABCDEFGHIJ"[i % 10] + "!" for i in range(n))
    return {"question": "A?", "answer": answer, "contexts": [prose(2000), "a b c d"]}


def one_long_chunk(n: int) -> Sample:
    """``n`` bytes for an answer whose words are all over it."""
    return {
        "question": "Who saw w1 or w2?",
        "answer": "Ana saw w1, w2 and w3. Then w4 met W5.",
        "contexts": [prose(n)],
        "ground_truth": "w9 w8",
    }


def combining_marks(n: int) -> Sample:
    return everywhere("a" + "\u0301\u0323" * (n // 2) + " b")


def many_chunks(n: int) -> Sample:
    return {
        "question": "Who saw w1?",
        "answer": "Ana saw w1. Bob saw w2.",
        "contexts": [f"Ana {i} saw w{i % 9}." for i in range(n)],
        "ground_truth": "w1",
    }


def one_long_word(n: int) -> Sample:
    return everywhere("xé" * (n // 2) + " end")


@pytest.mark.parametrize(
    ("make", "n"),
    [
        (one_letter_sentences, 100_000),
        (one_long_chunk, 10_000_000),
        (combining_marks, 1_000_000),
        (many_chunks, 40_000),
        (one_long_word, 1_000_000),
    ],
)
def test_four_times_as_much_takes_four_times_as_long(make: Callable[[int], Sample], n: int) -> None:
    """Sixteen times as long where something is quadratic.

    Memory that is farther away takes its own, a half of it or so: the limit is as far, in
    proportion, from the one as from the other. The diagnostics hold sentences against chunks one
    by one, so that they are left out here.
    """
    quarter, full = make(n // SCALE // 4), make(n // SCALE)
    shortest = longest = math.inf
    for _ in range(_ROUNDS):
        # Whatever else the machine does makes times longer: the best of more rounds is truer.
        shortest = min(shortest, best_of(3, quarter, METRIC_IDS))
        longest = min(longest, best_of(3, full, METRIC_IDS))
        if longest <= 8 * shortest:
            return
    assert longest <= 8 * shortest
