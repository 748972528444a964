"""The block kernel against the oracle, bit for bit, however the rows come in and are cut."""

from __future__ import annotations

import functools
import itertools
import math
import random
from collections.abc import Callable, Iterable
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rag_eval
from rag_eval._native import overlap_block
from rag_eval.inputs import row_blocks as sources
from rag_eval.inputs.row_texts import read_rows
from rag_eval.inputs.samples import FieldNeeds
from rag_eval.kernels.settings import OverlapSettings, overlap_arguments
from rag_eval.metrics.ids import METRIC_IDS
from rag_eval.samples import EvalSample, NullReason
from tests.oracle import overlap
from tests.strategies import WORDS, heuristic_options, samples
from tests.tables import deep

Sample = dict[str, Any]
Matrix = npt.NDArray[np.float64]

# Weights that cancel but for a trace are an input error: scores would pass the largest double.
OPTIONS = heuristic_options().filter(
    lambda given: (
        not {1e-300, -0.5} <= set(given.get("ngram_weights") or ())
        and not {1e-300, -1} <= set(given.get("ngram_weights") or ())
    )
)


def joined(value: Any) -> Any:
    """Surrogate pairs as one code point, as JSON, JavaScript and the library read them."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
    if isinstance(value, list):
        return [joined(item) for item in value]
    return value


def joined_sample(sample: Sample) -> Sample:
    return {name: joined(value) for name, value in sample.items()}


def oracle_scores(
    rows: Iterable[Sample], metrics: Iterable[str] = METRIC_IDS, **options: Any
) -> Matrix:
    """What the scores have to be, NaN standing for null."""
    columns = tuple(metrics)
    scores = [
        [overlap.score(metric, joined_sample(row), **options) for metric in columns] for row in rows
    ]
    return np.array(
        [[math.nan if score is None else score for score in row] for row in scores], np.float64
    ).reshape(len(scores), len(columns))


def assert_same_bits(found: Matrix, wanted: Matrix) -> None:
    assert found.dtype == wanted.dtype
    assert found.shape == wanted.shape
    # NaN has many bit patterns and only one is in use, so bytes compare as values do, and closer.
    assert found.tobytes() == wanted.tobytes(), f"\nfound\n{found}\nwanted\n{wanted}"


def test_the_comparison_sees_a_last_bit_and_a_null() -> None:
    scores = np.array([[0.1, math.nan]])
    for wrong in ([[math.nextafter(0.1, 1), math.nan]], [[0.1, 0.0]], [[-0.1, math.nan]]):
        with pytest.raises(AssertionError):
            assert_same_bits(scores, np.array(wrong))
    assert_same_bits(scores, scores.copy())


# --------------------------------------------------------------------------------- the oracle


@given(st.lists(samples(), min_size=1, max_size=4), OPTIONS)
def test_all_metrics_equal_the_oracle(rows: list[Sample], options: dict[str, Any]) -> None:
    result = rag_eval.evaluate_batch(rows, heuristic=options, threads=1)
    assert_same_bits(result.scores, oracle_scores(rows, **options))
    assert result.null_reasons.dtype == np.uint8
    assert np.array_equal(
        result.null_reasons,
        np.where(np.isnan(result.scores), NullReason.MISSING_FIELD, NullReason.MEASURED),
    )


def test_ends_of_sentences() -> None:
    after = [*"ABCDEFGHIJKLMNOPQRSTUVWXYZ", *"@[`az{1", "É", "Ａ", "A\u0301"]
    spaces = [" ", "\n\t", "\u3000", "\ufeff", "", "\x85"]
    rows = []
    for mark, space, begin in itertools.product([*".!?", ",", "…", "。"], spaces, after):
        text = f"The cat sat{mark}{space}{begin}n old fox ran far{mark}{space}"
        contexts = ["The cat sat", f"{begin}n old fox ran far", "ran far away"]
        rows.append({"question": "cat", "answer": text, "contexts": contexts, "groundTruth": text})
    found, wanted = rag_eval.evaluate_batch(rows, threads=1).scores, oracle_scores(rows)
    wrong = [
        row["answer"]
        for row, ours, theirs in zip(rows, found, wanted, strict=True)
        if ours.tobytes() != theirs.tobytes()
    ]
    assert not wrong


def test_sentences_of_more_words_than_a_lane_counts_and_more_sentences_than_lanes() -> None:
    words = [f"w{number:03}" for number in range(600)]
    rows = []
    for n_words, n_sentences in itertools.product([255, 256, 511], [1, 7, 8]):
        sentence = " ".join(words[:n_words])
        answer = ". ".join([f"The {sentence}"] * n_sentences)
        contexts = [sentence, f"{sentence} {sentence}", " ".join(words[::-1]), " ".join(words)]
        rows.append({"question": "w001 w002 w003", "answer": answer, "contexts": contexts})
    assert_same_bits(rag_eval.evaluate_batch(rows, threads=1).scores, oracle_scores(rows))


@pytest.mark.parametrize(
    "text",
    [
        # A space that a final sigma looks past: cut apart, the sentences have other tokens.
        "ΑΣ.\ufeffAB ΑΣ",
        "ΑΣ!\ufeffΒ. ΑΣ.\ufeffA",
        "A.\ufeffΣ",
        "Α.\ufeff\ufeffA Σ.\ufeffB",
        "\ufeffΑΣ.\ufeff",
        "ΑΣ. A",
        "ΑΣ.\u200bA",
    ],
)
def test_a_final_sigma_at_the_end_of_a_sentence(text: str) -> None:
    row = {
        "question": "ας ασ ab",
        "answer": text,
        "contexts": ["ας", "ασ", text],
        "groundTruth": f"{text} ας",
    }
    assert_same_bits(rag_eval.evaluate_batch([row], threads=1).scores, oracle_scores([row]))


ODD_SIZES = st.lists(st.sampled_from([0, 0.5, 1, 1.5, 2, 2.5, 3, 40, 2**31, 1e50]), max_size=4)


@given(samples(), ODD_SIZES, st.lists(st.sampled_from([0.7, 1, 0, -0.5, None]), max_size=4))
def test_sizes_of_no_token_fractional_and_never_reached(
    row: Sample, sizes: list[float], weights: list[float | None]
) -> None:
    options = {"ngram_sizes": sizes, "ngram_weights": weights}
    result = rag_eval.evaluate_batch([row], heuristic=options, threads=1)
    # The oracle slices a list; a window wider than any text is the same at any width.
    sliced = [min(size, 10**6) for size in sizes]
    wanted = oracle_scores([row], ngram_sizes=sliced, ngram_weights=weights)
    assert_same_bits(result.scores, wanted)


def corpus(n_rows: int, seed: int) -> list[Sample]:
    """Rows of all sizes whose fields share sentences; some fields empty, some truths missing."""
    choose = random.Random(seed)
    words = [*WORDS, *(f"w{i}" for i in range(60))]

    def sentence(longest: int) -> str:
        chosen = choose.choices(words, k=choose.randint(0, longest))
        return (
            choose.choice(["The ", "A ", ""]) + " ".join(chosen) + choose.choice(["", *"....!?,"])
        )

    rows = []
    for _ in range(n_rows):
        shared = [sentence(choose.choice([3, 10, 30])) for _ in range(4)]

        def text(most: int, shared: list[str] = shared) -> str:
            return " ".join(choose.choices(shared, k=choose.randint(0, most)))

        contexts = [text(3) for _ in range(choose.randint(0, 5))]
        row: Sample = {"question": text(1), "answer": text(4), "contexts": contexts}
        truth = choose.choice(["missing", None, "", text(4), text(4), text(4)])
        if truth != "missing":
            row["groundTruth"] = truth
        rows.append(row)
    return rows


ROWS = corpus(150, seed=7)


@functools.cache
def corpus_scores() -> Matrix:
    """What those of ``ROWS`` have to be."""
    return oracle_scores(ROWS)


def test_the_corpus_has_scores_of_all_kinds() -> None:
    wanted = corpus_scores()
    assert np.isnan(wanted).any(axis=0).sum() == 2
    for column in wanted.T:
        assert len(np.unique(column[~np.isnan(column)])) >= 4


def test_the_corpus_equals_the_oracle() -> None:
    assert_same_bits(rag_eval.evaluate_batch(ROWS, threads=1).scores, corpus_scores())


# ---------------------------------------------------------------- threads, blocks, input kinds


def snake(row: Sample) -> Sample:
    return {"ground_truth" if name == "groundTruth" else name: row[name] for name in row}


def as_eval_sample(row: Sample) -> EvalSample:
    return EvalSample(**snake(row))


def mixed(rows: list[Sample]) -> list[Any]:
    kinds: list[Callable[[Sample], Any]] = [dict, snake, as_eval_sample, MappingProxyType]
    return [kinds[i % 4](row) for i, row in enumerate(rows)]


INPUT_KINDS: dict[str, Callable[[list[Sample]], Any]] = {
    "list": list,
    "tuple": tuple,
    "generator": lambda rows: (row for row in rows),
    "snake_case": lambda rows: [snake(row) for row in rows],
    "EvalSample": lambda rows: tuple(map(as_eval_sample, rows)),
    "contexts in tuples": lambda rows: [
        {**row, "contexts": tuple(row["contexts"])} for row in rows
    ],
    "mixed": mixed,
    "mixed generator": lambda rows: iter(mixed(rows)),
}


@pytest.mark.parametrize("threads", [1, 3, *deep(2)])
@pytest.mark.parametrize(
    ("block_bytes", "first_rows", "most_rows"),
    [(1, 1, 1), (1, 5, 3), (2000, 3, 7), (1 << 14, 1, 1024), (1 << 18, 16, 1024)],
)
def test_same_bits_for_any_threads_blocks_and_inputs(
    threads: int, block_bytes: int, first_rows: int, most_rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sources, "BLOCK_BYTES", block_bytes)
    monkeypatch.setattr(sources, "_FIRST_BLOCK_ROWS", first_rows)
    monkeypatch.setattr(sources, "_MAX_BLOCK_ROWS", most_rows)
    for name, kind in INPUT_KINDS.items():
        scores = rag_eval.evaluate_batch(kind(ROWS), threads=threads).scores
        assert scores.tobytes() == corpus_scores().tobytes(), name


def test_the_blocks_of_the_test_above_differ(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise it would vary nothing: a renamed constant must not go unnoticed."""
    needs = FieldNeeds.of(METRIC_IDS)
    default = len(list(sources.sample_blocks(ROWS, needs)))
    monkeypatch.setattr(sources, "BLOCK_BYTES", 1)
    monkeypatch.setattr(sources, "_FIRST_BLOCK_ROWS", 1)
    assert len(list(sources.sample_blocks(ROWS, needs))) == len(ROWS) > 2 * default


def test_every_subset_of_metrics_gives_the_same_columns() -> None:
    rows, wanted = ROWS[:40], corpus_scores()[:40]
    for chosen in range(1, 128):
        columns = [number for number in range(7) if chosen >> number & 1]
        found = rag_eval.evaluate_batch(
            rows, [METRIC_IDS[i] for i in columns], threads=1, allow_missing=True
        )
        assert_same_bits(found.scores, np.ascontiguousarray(wanted[:, columns]))


@pytest.mark.parametrize("seed", range(6))
def test_metrics_in_any_order_and_twice(seed: int) -> None:
    choose = random.Random(seed)
    columns = choose.sample(range(7), choose.randint(1, 7))
    metrics = [METRIC_IDS[i] for i in columns]
    found = rag_eval.evaluate_batch(
        ROWS, [*metrics, *choose.sample(metrics, 1)], threads=2, allow_missing=True
    )
    assert found.metrics == tuple(metrics)
    assert_same_bits(found.scores, np.ascontiguousarray(corpus_scores()[:, columns]))


@given(samples(), OPTIONS, st.permutations(METRIC_IDS), st.integers(1, 7))
def test_a_subset_under_any_options_equals_the_oracle(
    row: Sample, options: dict[str, Any], metrics: list[str], n_metrics: int
) -> None:
    asked = metrics[:n_metrics]
    found = rag_eval.evaluate_batch([row], asked, heuristic=options, threads=1, allow_missing=True)
    assert_same_bits(found.scores, oracle_scores([row], asked, **options))


def giant(choose: random.Random) -> Sample:
    """A row whose tables outgrow those of the others ten thousand times."""
    words = [f"w{i}" for i in range(40_000)]
    choose.shuffle(words)
    return {
        "question": "w1 w2 w3",
        "answer": "W1 w2 w3. Something else. " + " ".join(words[:3000]),
        "contexts": [" ".join(words), " ".join(reversed(words[:5000])), ""],
        "groundTruth": "W5 w6. W7 the cat.",
    }


@pytest.mark.parametrize("generated", [False, True])
def test_a_row_scores_the_same_alone_and_after_a_giant_one(generated: bool) -> None:
    """Tables have the size of their row: slots, cells and n-grams of an older row count nothing."""
    choose = random.Random(3)
    small = ROWS[:60]
    rows = [*small[:5], giant(choose), *small, giant(choose), *small]
    together = rag_eval.evaluate_batch(iter(rows) if generated else rows, threads=1).scores
    alone = np.concatenate([rag_eval.evaluate_batch([row], threads=1).scores for row in rows])
    assert_same_bits(together, alone)
    assert_same_bits(together[6 : 6 + len(small)], corpus_scores()[:60])


@pytest.mark.parametrize(("begin", "end"), [(0, 0), (0, 1), (3, 9), (11, 12), (0, 12)])
def test_only_the_rows_asked_for_are_written(begin: int, end: int) -> None:
    rows, needs = ROWS[:12], FieldNeeds.of(METRIC_IDS)
    batch = read_rows(rows, 0, needs).pack()
    scores = np.full((12, 7), -7.0)
    reasons = np.full((12, 7), 77, np.uint8)
    arguments = [
        getattr(getattr(batch, name), part)
        for name in ("question", "answer", "ground_truth", "contexts")
        for part in ("data", "offsets")
    ]
    overlap_block.score_block(
        *arguments,
        batch.row_contexts,
        np.arange(7),
        *overlap_arguments(OverlapSettings()),
        12345,
        begin,
        end,
        scores,
        reasons,
    )
    outside = np.ones(12, bool)
    outside[begin:end] = False
    assert (scores[outside] == -7).all()
    assert (reasons[outside] == 77).all()
    assert scores[begin:end].tobytes() == corpus_scores()[begin:end].tobytes()
    assert np.array_equal(reasons[begin:end] != 0, np.isnan(corpus_scores()[begin:end]))
