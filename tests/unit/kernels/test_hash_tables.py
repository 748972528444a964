"""Hash tables of the kernel: any seed gives the same scores, and no text makes them slow."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from benchmarks.growth import COLLIDER, LETTERS, flood, tokens_row
from rag_eval._native import overlap_block
from rag_eval.inputs.row_texts import read_rows
from rag_eval.inputs.samples import FieldNeeds
from rag_eval.kernels.settings import OverlapSettings, overlap_arguments
from rag_eval.metrics.ids import METRIC_IDS
from tests.differential.test_overlap_block import ROWS, corpus_scores, giant
from tests.oracle import overlap
from tests.oracle.tokens import tokenize

ROOT = Path(__file__).parents[3]

Scores = npt.NDArray[np.float64]

SEEDS = [0, 1, COLLIDER, 2**63, 2**64 - 1, 0x9E3779B97F4A7C15]


def score(rows: list[dict[str, Any]], seed: int, settings: OverlapSettings | None = None) -> Scores:
    """Scores of all metrics by the kernel itself, a null left 0."""
    needs = FieldNeeds.of(METRIC_IDS)
    batch = read_rows(rows, 0, needs).pack()
    scores = np.full((len(rows), 7), -7.0)
    overlap_block.score_block(
        *(
            getattr(getattr(batch, name), part)
            for name in ("question", "answer", "ground_truth", "contexts")
            for part in ("data", "offsets")
        ),
        batch.row_contexts,
        np.arange(7),
        *overlap_arguments(settings or OverlapSettings()),
        seed,
        0,
        len(rows),
        scores,
        np.empty(scores.shape, np.uint8),
    )
    return scores


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("sizes", [(1, 2), (3, 1, 4), (2, 2)])
def test_scores_do_not_depend_on_the_seed(seed: int, sizes: tuple[int, ...]) -> None:
    settings = OverlapSettings(ngram_sizes=sizes, ngram_weights=(0.7, 0.3, 0.5)[: len(sizes)])
    rows = [*ROWS[:50], giant(random.Random(1)), *ROWS[50:]]
    assert score(rows, seed, settings).tobytes() == score(rows, 12345, settings).tobytes()
    if sizes == (1, 2):
        found = np.delete(score(rows, seed), 50, axis=0)
        assert found.tobytes() == corpus_scores().tobytes()


def word(number: int) -> str:
    """A different token of three letters for each number below 32768."""
    return "".join(LETTERS[number >> shift & 31] for shift in (10, 5, 0))


def test_tables_outgrown_by_many_short_tokens() -> None:
    """More distinct tokens and n-grams than the bytes let expect: tables are laid out anew."""
    choose = random.Random(2)
    words = [word(i) for i in range(32768)]
    choose.shuffle(words)
    # Each word twice: the second time in another order, so that bigrams of known tokens are new.
    again = choose.sample(words, len(words))
    row = {
        "question": " ".join(words[:40]),
        "answer": "The " + " ".join(words[100:700]) + ". And " + " ".join(again[5:300]) + ".",
        "contexts": [" ".join(words), " ".join(again + words), " ".join(words[50:400] * 2)],
        "groundTruth": "The " + " ".join(words[90:400]) + ". Or " + " ".join(words[9000:9009]),
    }
    assert len(set(tokenize(row["contexts"][0]))) == 32768
    # Twice in one call: the second row meets the tables the first one left behind.
    wanted = [overlap.score(metric, row) for metric in METRIC_IDS]
    for seed in (12345, COLLIDER):
        assert score([row, ROWS[0], row], seed)[[0, 2]].tolist() == [wanted, wanted]


@pytest.mark.deep
@pytest.mark.timeout(300)
def test_a_million_colliding_tokens_end() -> None:
    """Without a new seed after a long probe this takes hours: each token walks past all others.

    `make gate` counts the instructions of fewer.
    """
    hostile, _ = flood(10**6)
    assert len({score([hostile], seed).tobytes() for seed in (COLLIDER, 12345)}) == 1


def test_colliding_tokens_score_as_the_oracle_says() -> None:
    hostile, friendly = flood(3000)
    for row in (hostile, friendly):
        wanted = [overlap.score(metric, row) for metric in METRIC_IDS]
        for seed in SEEDS:
            assert score([row, row], seed).tolist() == [wanted, wanted]


def test_long_tokens_that_differ_in_one_byte() -> None:
    """Past sixteen bytes a token is known by a digest: a hit still compares all bytes."""
    base = "x" * 60
    tokens = [base[:i] + "y" + base[i + 1 :] for i in range(60)] + [base[:n] for n in range(1, 60)]
    row = tokens_row(tokens)
    wanted = [overlap.score(metric, row) for metric in METRIC_IDS]
    for seed in SEEDS:
        assert score([row], seed).tolist() == [wanted]


def test_tokens_that_differ_in_length_alone() -> None:
    """Same first and last eight bytes: under many a seed two of them share a slot."""
    tokens = ["x" * n for n in range(8, 17)] + ["y" + "\0" * n for n in range(6)]
    row = {
        "question": " ".join(tokens[::2]),
        "answer": " ".join(tokens[::3]),
        "contexts": [" ".join(tokens), " ".join(tokens[1::2])],
        "groundTruth": " ".join(tokens[2:9]),
    }
    wanted = [overlap.score(metric, row) for metric in METRIC_IDS]
    for seed in range(300):
        assert score([row], seed).tolist() == [wanted]


def folded_product(left: int, right: int) -> int:
    product = left * right
    return (product & (2**64 - 1)) ^ (product >> 64)


def next_seed(seed: int) -> int:
    """One step of splitmix64."""
    mixed = (seed + 0x9E3779B97F4A7C15) % 2**64
    mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
    mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EB % 2**64
    return mixed ^ (mixed >> 31)


def home_slot(token: str, n_slots: int) -> int:
    """Where a token of at most sixteen letters goes under COLLIDER, as vocabulary.pxd has it."""
    key = token.encode().ljust(16, b"\xff")
    head, tail = (int.from_bytes(half, "little") for half in (key[:8], key[8:]))
    return folded_product(head ^ COLLIDER, tail ^ next_seed(COLLIDER)) % n_slots


def check_half_full(n_before: int) -> None:
    """Score a row whose token number ``n_before`` is the first to be met far from home."""
    n_slots = 65536  # of the largest table to begin with
    words = [word(number) for number in range(32768)]
    colliding = [f"collider{a}{b}" for a in LETTERS for b in LETTERS][:130]
    assert {home_slot(token, n_slots) for token in colliding} == {0}
    # Far from the run that begins in slot 0, whose last token is 128 places from home.
    others = [word for word in words if 180 <= home_slot(word, n_slots) < n_slots - 256]
    tokens = [*colliding[:129], *others[: n_before - 129], colliding[129], *others[:5]]
    row = {"question": tokens[0], "answer": "", "contexts": [" ".join(tokens)]}
    assert len(row["contexts"][0]) > n_slots
    assert score([row, row], COLLIDER).tobytes() == score([row, row], 12345).tobytes()


def test_a_probe_runs_too_long_in_a_table_half_full() -> None:
    """Regression: such a table got a new seed instead of more room, and the next token was written
    past its keys. In a process of its own: that ended in a segmentation fault.
    """
    program = (
        "from tests.unit.kernels.test_hash_tables import *\n"
        "for n_before in (32500, 32767, 32768, 32769): check_half_full(n_before)"
    )
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]


def folded_products(lefts: npt.NDArray[np.uint64], right: int) -> npt.NDArray[np.uint64]:
    """As ``folded_product``, of many at once."""
    low, half = np.uint64(2**32 - 1), np.uint64(32)
    (a, b), (c, d) = (lefts >> half, lefts & low), map(np.uint64, divmod(right, 2**32))
    middle = a * d + (b * d >> half)
    upper = a * c + (middle >> half) + (b * c + (middle & low) >> half)
    return lefts * np.uint64(right) ^ upper


def test_colliding_bigrams_are_counted_under_another_seed() -> None:
    """Half of the bigrams of a context have one home: the last of them is met far from it."""
    seed, n_words, n_slots = 12345, 1024, 4096
    ids = np.arange(n_words, dtype=np.uint64)
    pairs = (ids[:, None] << np.uint64(32) | ids) ^ np.uint64(seed)
    products = folded_products(pairs, 0xA0761D6478BD642F)
    assert int(products[5, 7]) == folded_product(int(pairs[5, 7]), 0xA0761D6478BD642F)
    homes = products % np.uint64(n_slots)
    fullest = np.bincount(homes.ravel().astype(np.int64)).argmax()
    colliding = np.argwhere(homes == fullest)[:200].tolist()
    assert len(colliding) == 200
    words = [word(number) for number in range(n_words)]
    # Twice, so that each token repeats: these are the bigrams that have to be told apart.
    places = [place for pair in [*colliding, *colliding[::-1]] for place in pair]
    assert n_slots // 2 < 4 * (len(places) - 1) <= n_slots
    row = {
        "question": " ".join(words),
        "answer": f"{words[places[0]]} {words[places[1]]}.",
        "contexts": [" ".join(words[place] for place in places)],
        "groundTruth": words[places[5]],
    }
    wanted = [overlap.score(metric, row) for metric in METRIC_IDS]
    for found in (score([row, row], seed), score([row, row], seed + 1)):
        assert found.tolist() == [wanted, wanted]
