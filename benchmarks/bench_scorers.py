"""Checks without a judge: right first, then how fast; and what a row costs besides its scorer.

``python -m benchmarks.bench_scorers`` prints a table; under pytest the bars are asserted, and what
was measured is in ``extra_info``.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, Final, NamedTuple, TypeAlias

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from benchmarks import corpora
from benchmarks.bench_overlap import note, race
from benchmarks.timing import Call, Spread, in_turns, ratios
from rag_eval import evaluate_batch
from rag_eval.metrics.contract import Scorer
from rag_eval.metrics.registry import metric_of

Row: TypeAlias = dict[str, Any]

N_ROWS: Final = 10_000
N_WORDS: Final = 80
ROUNDS: Final = 7
# Rows a second, one thread.
RATE_BAR: Final = 200_000
# Microseconds that the whole of evaluate_batch takes for each row and field that a scorer reads,
# besides the scorer's own column.
FIELD_BAR_US: Final = 2.0
# Answers as they come, seven in ten with a character that is not ASCII, where str.lower alone takes
# 4 microseconds; and none with any, where it takes half of one, and the bars are.
SETS: Final = ("mixed", "ascii")
# A pattern goes through the other engine, whatever the text.
UNBARRED: Final = frozenset({"mastra.check_matches", "omk.regex"})


class Check(NamedTuple):
    """A check with its options, and what it means in Python."""

    options: Mapping[str, Any]
    holds: Callable[[Row], bool]


CHECKS: Final[dict[str, Check]] = {
    "mastra.check_includes": Check(
        {"text": "Refund"}, lambda row: "refund" in row["answer"].lower()
    ),
    "mastra.check_excludes": Check(
        {"text": "Refund"}, lambda row: "refund" not in row["answer"].lower()
    ),
    "mastra.check_equals": Check(
        {}, lambda row: row["answer"].lower() == row["groundTruth"].lower()
    ),
    "mastra.check_matches": Check(
        {"pattern": "refund", "flags": "i"}, lambda row: "refund" in row["answer"].lower()
    ),
    "mastra.check_called_tool": Check({"name": "search"}, lambda row: "search" in row["toolCalls"]),
    "mastra.check_max_tool_calls": Check({"most": 2}, lambda row: len(row["toolCalls"]) <= 2),
    "mastra.check_used_no_tools": Check({}, lambda row: not row["toolCalls"]),
    "omk.contains": Check({"value": "Refund"}, lambda row: "refund" in row["answer"].lower()),
    "omk.contains_all": Check(
        {"values": ["refund", "the"]},
        lambda row: all(word in row["answer"].lower() for word in ("refund", "the")),
    ),
    "omk.equals": Check({"value": "refund"}, lambda row: row["answer"].strip() == "refund"),
    "omk.regex": Check(
        {"pattern": "refund", "flags": "i"}, lambda row: "refund" in row["answer"].lower()
    ),
    "omk.starts_with": Check(
        {"value": "the"}, lambda row: row["answer"].strip().lower().startswith("the")
    ),
    "omk.min_length": Check({"value": 450}, lambda row: len(row["answer"]) >= 450),
    "omk.max_length": Check({"value": 450}, lambda row: len(row["answer"]) <= 450),
    "omk.word_count_min": Check({"value": 80}, lambda row: len(row["answer"].split()) >= 80),
}
# One scorer for each number of fields that it reads.
PIPELINES: Final = ("omk.min_length", "mastra.check_includes", "mastra.check_equals")


@cache
def rows(kind: str) -> list[Row]:
    """Answers of 80 words, *Refund* in half of them, and what a run leaves beside."""
    draw = random.Random(20_260_102)
    texts = corpora.generate("typical", 200)
    words = [word for row in texts for text in row["contexts"] for word in text.split()]
    if kind == "ascii":
        words = [word for word in words if word.isascii()]
    made = []
    for index in range(N_ROWS):
        answer = draw.choices(words, k=N_WORDS)
        if draw.random() < 0.5:
            answer[draw.randrange(N_WORDS)] = "Refund"
        truth = [draw.choice(words) if draw.random() < 0.25 else word for word in answer]
        made.append(
            {
                "id": f"q-{index}",
                "answer": " ".join(answer),
                "groundTruth": " ".join(answer if draw.random() < 0.1 else truth),
                "toolCalls": draw.choices(["search", "answer", "lookup"], k=draw.randint(0, 4)),
            }
        )
    return made


def scorer_of(name: str) -> tuple[Scorer, tuple[str, ...]]:
    """A check with its options, and the fields that it reads."""
    spec = metric_of(name)
    assert spec is not None
    options = CHECKS[name].options if name in CHECKS else {}
    return spec.create(**{**spec.options, **options}), (*spec.fields, *spec.optional)


def fields_read(names: Sequence[str], kind: str) -> list[Row]:
    """Those fields of the rows, as the column form takes them."""
    own = {"ground_truth": "groundTruth", "tool_calls": "toolCalls"}
    spelt = {name: own.get(name, name) for name in names}
    return [
        {name: row[spelling] for name, spelling in spelt.items() if spelling in row}
        for row in rows(kind)
    ]


def whole(name: str, kind: str) -> Call:
    """All of ``evaluate_batch`` on dicts, with one scorer."""
    options = {name: CHECKS[name].options} if name in CHECKS else {}
    samples = rows(kind)
    return lambda: evaluate_batch(samples, metrics=[name], scorer_options=options, threads=1).scores


def column_of(name: str, kind: str) -> Call:
    """The scorer's column alone, its fields read before."""
    scorer, names = scorer_of(name)
    read, column = fields_read(names, kind), scorer.column
    assert column is not None
    return lambda: column(read)


def check(name: str, kind: str) -> None:
    """Column, one by one, the whole and, where there is one, the definition: all the same."""
    scorer, names = scorer_of(name)
    scores, reasons = column_of(name, kind)()
    one_by_one = [scorer.score(fields).score for fields in fields_read(names, kind)[:500]]
    assert not reasons.any()
    assert scores[:500].tolist() == one_by_one
    assert whole(name, kind)()[:, 0].tolist() == scores.tolist()
    if name in CHECKS:
        assert scores.tolist() == [float(CHECKS[name].holds(row)) for row in rows(kind)]


def plain(name: str, kind: str) -> Call:
    """The definition, row by row."""
    return lambda: [CHECKS[name].holds(row) for row in rows(kind)]


@pytest.mark.parametrize("kind", SETS)
@pytest.mark.parametrize("name", CHECKS)
def test_checks_a_second(benchmark: BenchmarkFixture, name: str, kind: str) -> None:
    check(name, kind)
    calls = {"plain Python": plain(name, kind)}
    seconds = race(benchmark, column_of(name, kind), calls, ROUNDS, time.process_time)
    rates = Spread.of([N_ROWS / taken for taken in seconds["library"]])
    bar = None if name in UNBARRED or kind == "mixed" else RATE_BAR
    note(
        benchmark,
        "checks",
        scorer=name,
        set=kind,
        rows=N_ROWS,
        rows_a_second=rates,
        times=ratios(seconds["plain Python"], seconds["library"]),
        bar=bar,
    )
    assert rates.median >= (bar or 0)


@pytest.mark.parametrize("name", PIPELINES)
def test_what_a_row_costs_besides_its_scorer(benchmark: BenchmarkFixture, name: str) -> None:
    check(name, "ascii")
    others = {"column": column_of(name, "ascii")}
    seconds = race(benchmark, whole(name, "ascii"), others, ROUNDS, time.process_time)
    beside = overhead_us(seconds["library"], seconds["column"])
    n_fields = len(scorer_of(name)[1])
    note(
        benchmark,
        "scorer_pipeline",
        scorer=name,
        rows=N_ROWS,
        fields=n_fields,
        whole_us=Spread.of(seconds["library"]).times(1e6 / N_ROWS),
        column_us=Spread.of(seconds["column"]).times(1e6 / N_ROWS),
        overhead_us=beside,
        bar=FIELD_BAR_US,
    )
    assert beside.median <= FIELD_BAR_US * n_fields


def overhead_us(whole_seconds: list[float], column_seconds: list[float]) -> Spread:
    """Microseconds a row besides the column, round by round."""
    pairs = zip(whole_seconds, column_seconds, strict=True)
    return Spread.of([1e6 * (a - b) / N_ROWS for a, b in pairs])


def main() -> None:
    """Print rows a second of processor time, and what a row costs besides."""
    for kind in SETS:
        print(f"{N_ROWS:,} rows of {N_WORDS} words, {kind}; rows a second: column, plain Python")
        for name in CHECKS:
            check(name, kind)
            calls = {"column": column_of(name, kind), "plain Python": plain(name, kind)}
            seconds = in_turns(calls, ROUNDS, time.process_time)
            rates = [f"{N_ROWS / Spread.of(taken).median:>12,.0f}" for taken in seconds.values()]
            print(f"  {name:<28}", *rates)
    print("microseconds a row: evaluate_batch, the column alone, the difference, fields read")
    for name in PIPELINES:
        check(name, "ascii")
        calls = {"whole": whole(name, "ascii"), "column": column_of(name, "ascii")}
        seconds = in_turns(calls, ROUNDS, time.process_time)
        micros = [1e6 * Spread.of(taken).median / N_ROWS for taken in seconds.values()]
        beside = overhead_us(seconds["whole"], seconds["column"]).median
        figures = [f"{one:>8.2f}" for one in (*micros, beside)]
        print(f"  {name:<28}", *figures, len(scorer_of(name)[1]))


if __name__ == "__main__":
    main()
