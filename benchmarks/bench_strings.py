"""Strings: right first, then how fast, beside rapidfuzz in turns.

``python -m benchmarks.bench_strings`` prints a table; under pytest the bars are asserted, and what
was measured is in ``extra_info``.
"""

from __future__ import annotations

import random
import time
from array import array
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, Final, NamedTuple, TypeAlias

import pytest
from pytest_benchmark.fixture import BenchmarkFixture
from rapidfuzz import process
from rapidfuzz.distance import LCSseq, Levenshtein

from benchmarks import corpora
from benchmarks.bench_overlap import note, race
from benchmarks.timing import Call, Spread, in_turns, ratios
from rag_eval.kernels.similarity import dice_similarities, lcs_ratios, levenshteins
from tests.oracle import string_similarity as oracle

Columns: TypeAlias = tuple[list[str], list[str]]

N_PAIRS: Final = 4_000
N_WORDS: Final = 80
ROUNDS: Final = 7
# Pairs of 80 words a second, one thread.
BARS: Final = {"dice": 50_000, "lcs": 40_000}
SCRIPTS: Final = {
    "english": ("typical", "Answers of 80 words, and the same with a quarter replaced."),
    "nonlatin": ("nonlatin", "The same in other scripts."),
}


class Measure(NamedTuple):
    """A measure of strings, and what rapidfuzz has for it: on units, and on code points."""

    batch: Callable[[Sequence[str], Sequence[str]], Any]
    one: Callable[[str, str], float]
    others: Callable[[Columns], dict[str, Call]]


@cache
def columns(script: str) -> Columns:
    """Pairs of texts that share three quarters of their words."""
    draw = random.Random(script)
    rows = corpora.generate(SCRIPTS[script][0], 200)
    words = [word for row in rows for text in row["contexts"] for word in text.split()]
    left, right = [], []
    for _ in range(N_PAIRS):
        text = draw.choices(words, k=N_WORDS)
        other = [draw.choice(words) if draw.random() < 0.25 else word for word in text]
        left.append(" ".join(text))
        right.append(" ".join(other))
    return left, right


def as_units(text: str) -> array[int]:
    """What rapidfuzz has to be given to count as JavaScript does."""
    return array("H", text.encode("utf-16-le", "surrogatepass"))


def _beside(scorer: Any) -> Callable[[Columns], dict[str, Call]]:
    def calls(pairs: Columns) -> dict[str, Call]:
        left, right = pairs
        return {
            "rapidfuzz, units": lambda: [
                scorer(as_units(a), as_units(b)) for a, b in zip(left, right, strict=True)
            ],
            # Another number where a text has characters beyond the basic plane.
            "rapidfuzz, code points": lambda: process.cpdist(left, right, scorer=scorer),
        }

    return calls


MEASURES: Final[dict[str, Measure]] = {
    "dice": Measure(
        dice_similarities,
        oracle.dice_similarity,
        lambda pairs: {
            "plain Python": lambda: [
                oracle.dice_similarity(a, b) for a, b in zip(*pairs, strict=True)
            ]
        },
    ),
    "lcs": Measure(lcs_ratios, oracle.lcs_ratio, _beside(LCSseq.similarity)),
    "levenshtein": Measure(levenshteins, oracle.levenshtein, _beside(Levenshtein.distance)),
}


def check(name: str, pairs: Columns) -> None:
    """The numbers are those of the definition, for some rows, and of rapidfuzz for all."""
    left, right = pairs
    found = MEASURES[name].batch(left, right).tolist()
    some = range(5)
    assert [found[i] for i in some] == [MEASURES[name].one(left[i], right[i]) for i in some]
    units = [(as_units(a), as_units(b)) for a, b in zip(left, right, strict=True)]
    if name == "lcs":
        assert found == [2 * LCSseq.similarity(a, b) / (len(a) + len(b)) for a, b in units]
    if name == "levenshtein":
        assert found == [Levenshtein.distance(a, b) for a, b in units]


@pytest.mark.parametrize("script", SCRIPTS)
@pytest.mark.parametrize("name", MEASURES)
def test_pairs_a_second(benchmark: BenchmarkFixture, name: str, script: str) -> None:
    pairs = columns(script)
    check(name, pairs)
    measure = MEASURES[name]
    library: Call = lambda: measure.batch(*pairs)  # noqa: E731
    seconds = race(benchmark, library, measure.others(pairs), ROUNDS, time.process_time)
    rates = Spread.of([N_PAIRS / taken for taken in seconds["library"]])
    note(
        benchmark,
        "strings",
        measure=name,
        set=script,
        source=SCRIPTS[script][1],
        pairs_a_second=rates,
        times={
            other: ratios(taken, seconds["library"]).as_list()
            for other, taken in seconds.items()
            if other != "library"
        },
        bar=BARS.get(name),
    )
    if script == "english":
        assert rates.median >= BARS.get(name, 0)


def rates(name: str, pairs: Columns) -> dict[str, float]:
    """Pairs a second of processor time, the median of the rounds."""
    check(name, pairs)
    measure = MEASURES[name]
    calls: dict[str, Call] = {"rag_eval": lambda: measure.batch(*pairs), **measure.others(pairs)}
    seconds = in_turns(calls, ROUNDS, time.process_time)
    return {other: N_PAIRS / Spread.of(taken).median for other, taken in seconds.items()}


def main() -> None:
    """Print what :func:`rates` gives."""
    for script in SCRIPTS:
        pairs = columns(script)
        size = sum(map(len, pairs[0])) / N_PAIRS
        print(f"{script}: {N_PAIRS:,} pairs of {N_WORDS} words, {size:.0f} characters")
        for name in MEASURES:
            for other, rate in rates(name, pairs).items():
                print(f"  {name:<12} {other:<24} {rate:>10,.0f}")


if __name__ == "__main__":
    main()
