"""The grounded kernels against the oracle, bit for bit, with the evidence of every sentence.

But for relevance: the C library's logarithm and the kernels' own differ in the last bit at times.
"""

from __future__ import annotations

import functools
import math
import random
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rag_eval
from rag_eval._native import grounded_block
from rag_eval.inputs.row_texts import read_rows
from rag_eval.inputs.samples import FieldNeeds
from rag_eval.kernels import scoring as kernels
from rag_eval.kernels.columns import SampleBatch
from rag_eval.kernels.languages import LISTED, language_code
from rag_eval.kernels.scoring import metric_numbers
from rag_eval.kernels.settings import GroundedSettings
from rag_eval.metrics.ids import ALL_METRIC_IDS, METRIC_IDS
from rag_eval.samples import NullReason
from tests.differential.test_overlap_block import assert_same_bits, joined_sample
from tests.grounded_samples import (
    NAMES,
    NUMBERS,
    Choices,
    grounded_samples,
    grounded_texts,
    plain_corpus,
    read_corpus,
    read_sample,
)
from tests.oracle import grounded, grounded_words
from tests.oracle.grounded_lists import STOP_WORDS
from tests.oracle.grounded_words import Reading
from tests.tables import deep, every_row

Sample = dict[str, Any]
Matrix = npt.NDArray[np.float64]

RELEVANCE = METRIC_IDS.index("answer_relevance")
TOLERANCE = 1e-12
# Which field it is that a reason says is missing.
FIELD_OF_REASON = {
    grounded.NO_ANSWER: "answer",
    grounded.NO_QUESTION: "question",
    grounded.NO_TRUTH: "ground_truth",
    grounded.NO_CONTEXTS: "contexts",
}


# ------------------------------------------------------------------------------------ both sides


def oracle_row(row: Sample, language: str | None = None) -> grounded.GroundedRow:
    """What the oracle makes of a sample, whose tag it is given as a code."""
    return grounded.evaluate(joined_sample(row), language or code_of(row))


def code_of(row: Sample) -> str | None:
    tag = row.get("language")
    return language_code(tag) if tag else None


def oracle_scores(rows: Iterable[Sample], language: str | None = None) -> Matrix:
    """What the seven scores have to be, NaN standing for null."""
    return as_matrix([by_metric(oracle_row(row, language)) for row in rows])


def by_metric(found: grounded.GroundedRow) -> list[float | None]:
    """In the order of the kernels."""
    return [found.scores[metric] for metric in METRIC_IDS]


def as_matrix(scores: list[list[float | None]]) -> Matrix:
    numbers = [[math.nan if score is None else score for score in row] for row in scores]
    return np.array(numbers, np.float64).reshape(len(scores), -1)


def assert_same_scores(found: Matrix, wanted: Matrix) -> None:
    """All of them to the bit but answer_relevance, which is no share of anything."""
    near = np.isclose(found, wanted, rtol=0, atol=TOLERANCE, equal_nan=True)[:, RELEVANCE]
    assert near.all(), f"\nfound\n{found}\nwanted\n{wanted}"
    exact = np.arange(len(METRIC_IDS)) != RELEVANCE
    assert_same_bits(*(np.ascontiguousarray(scores[:, exact]) for scores in (found, wanted)))


def null_reason(row: Sample, missing: str | None) -> NullReason:
    """Of a score that is null because of a field: not there, or there without a word."""
    if missing is None:
        return NullReason.NOTHING_TO_MEASURE
    value = row.get(missing)
    if missing == "ground_truth":
        there = any(value) if isinstance(value, list) else bool(value)
    else:
        there = value is not None
    return NullReason.NOTHING_TO_MEASURE if there else NullReason.MISSING_FIELD


def oracle_nulls(row: Sample, found: grounded.GroundedRow) -> list[NullReason]:
    return [
        NullReason.MEASURED
        if found.scores[metric] is not None
        else NullReason.REFUSAL
        if found.reasons[metric] == grounded.REFUSAL
        else null_reason(row, FIELD_OF_REASON[found.reasons[metric]])
        for metric in METRIC_IDS
    ]


def scored(rows: Sequence[Sample], **options: Any) -> rag_eval.BatchEvalResult:
    return rag_eval.evaluate_batch(
        rows, profile="grounded", threads=1, **options, allow_missing=True
    )


def packed(rows: list[Sample], metrics: Sequence[str] = METRIC_IDS) -> SampleBatch:
    needs = FieldNeeds.of(tuple(metrics), "grounded")
    return read_rows(list(rows), 0, needs).pack()


def details_of(
    row: Sample,
    metrics: Sequence[str] = METRIC_IDS,
    language: str | None = None,
    stemmer: Any = "light",
) -> kernels.GroundedDetails:
    """What the kernels make of a sample."""
    chosen, batch = GroundedSettings(language, stemmer), packed([row], metrics)
    numbers = metric_numbers(tuple(metrics))
    return kernels.grounded_details(batch, 0, chosen, numbers)


def listed(code: str) -> str:
    """How the kernels call a language: those without a list of words are one."""
    return code if code in LISTED else "und"


def assert_equal_to_oracle(
    row: Sample, found: kernels.GroundedDetails, wanted: grounded.GroundedRow
) -> None:
    """Scores, nulls, language, chunk scores and the evidence of all sentences."""
    numbers = metric_numbers(METRIC_IDS)
    nulls = [NullReason(found.reasons[number]) for number in numbers]
    assert nulls == oracle_nulls(row, wanted)
    scores = [
        None if null else found.scores[number] for number, null in zip(numbers, nulls, strict=True)
    ]
    assert_same_scores(as_matrix([scores]), as_matrix([by_metric(wanted)]))
    assert LISTED[found.language] == listed(wanted.language)
    assert found.answer == evidence_of(wanted.answer_sentences)
    assert found.truth == evidence_of(wanted.truth_sentences)
    assert found.best_truth == wanted.best_truth
    assert found.losses == wanted.losses
    assert found.refusal == wanted.refusal
    assert_same_relevances(found.chunk_scores, wanted.chunk_scores)
    assert_same_relevances(found.precision_scores, wanted.precision_scores)


def assert_same_relevances(found: list[float] | None, wanted: list[float] | None) -> None:
    """Where no chunk holds a word they are zeros, which the kernels do not list."""
    if found is not None or any(wanted or []):
        assert found == pytest.approx(wanted, rel=0, abs=TOLERANCE)


def evidence_of(sentences: Sequence[tuple[Any, ...]] | None) -> list[kernels.Evidence] | None:
    if sentences is None:
        return None
    return [
        kernels.Evidence(*(tuple(part) if isinstance(part, list) else part for part in sentence))
        for sentence in sentences
    ]


def assert_rows_equal_the_oracle(rows: Iterable[Sample], language: str | None = None) -> None:
    for row in rows:
        found = details_of(row, language=language)
        assert_equal_to_oracle(row, found, oracle_row(row, language))


def test_the_comparison_sees_a_wrong_span_and_a_wrong_bit() -> None:
    row = {"answer": "Ana saw 12 hens. So did Bob.", "contexts": ["Ana saw hens"], "question": "x"}
    found, wanted = details_of(row), oracle_row(row)
    assert_equal_to_oracle(row, found, wanted)
    assert found.answer is not None
    first = kernels.Evidence._make(found.answer[0])
    for wrong in (
        first._replace(span=(0, 15)),
        first._replace(window=(0, 11)),
        first._replace(support=math.nextafter(first.support, 1)),
        first._replace(missing_numbers=()),
    ):
        with pytest.raises(AssertionError):
            assert_equal_to_oracle(row, found._replace(answer=[wrong, *found.answer[1:]]), wanted)
    with pytest.raises(AssertionError):
        assert_equal_to_oracle(row, found._replace(language=0), wanted)


# ------------------------------------------------------------------------------------ the oracle


@given(st.lists(grounded_samples(), min_size=1, max_size=3))
def test_all_metrics_equal_the_oracle(rows: list[Sample]) -> None:
    result = scored(rows)
    wanted = [oracle_row(row) for row in rows]
    assert_same_scores(result.scores, oracle_scores(rows))
    assert result.null_reasons.dtype == np.uint8
    nulls = [oracle_nulls(row, found) for row, found in zip(rows, wanted, strict=True)]
    assert result.null_reasons.tolist() == nulls


@given(grounded_samples())
def test_evidence_equals_the_oracle(row: Sample) -> None:
    assert_rows_equal_the_oracle([row])


@given(grounded_texts(), grounded_texts())
def test_any_two_texts_held_against_each_other(left: str, right: str) -> None:
    both = {"question": right, "answer": left, "contexts": [right, left], "ground_truth": right}
    assert_rows_equal_the_oracle([both, {"answer": right, "contexts": [left], "language": "en"}])


ROWS = read_corpus(150, seed=7)


@functools.cache
def oracle_rows() -> list[grounded.GroundedRow]:
    return [oracle_row(row) for row in ROWS]


@functools.cache
def corpus_scores() -> Matrix:
    """What those of ``ROWS`` have to be."""
    return as_matrix([by_metric(row) for row in oracle_rows()])


def test_the_corpus_has_scores_of_all_kinds() -> None:
    wanted = corpus_scores()
    assert np.isnan(wanted).any(axis=0).all()
    for column in wanted.T:
        measured = column[~np.isnan(column)]
        assert measured.min() == 0
        assert measured.max() > 0.75
        assert len(np.unique(measured)) >= 6
    languages = {row.language for row in oracle_rows()}
    assert len(languages) >= 8


def test_the_corpus_equals_the_oracle() -> None:
    assert_same_scores(scored(ROWS).scores, corpus_scores())


@pytest.mark.parametrize("seed", [0, *deep(*range(1, 8))])
def test_plain_samples_equal_the_oracle(seed: int) -> None:
    rows = plain_corpus(30, seed)
    assert_same_scores(scored(rows).scores, oracle_scores(rows))
    assert_rows_equal_the_oracle(rows)


@given(st.lists(grounded_samples(), min_size=1, max_size=3))
def test_words_equal_the_oracle(rows: list[Sample]) -> None:
    """What a stemmer is asked for: every distinct word of a language, numbers for what they are."""
    wanted: dict[int, set[bytes]] = {}
    for row in rows:
        read = grounded.read_sample(joined_sample(row), code_of(row))
        texts = [read.question, read.answer, *read.truths, *(read.chunks or [])]
        words = {word for text in texts if text is not None for word in text.words}
        number = LISTED.index(listed(read.language))
        wanted.setdefault(number, set()).update(
            word.encode("utf-8", "surrogatepass") for word in words
        )
    assert kernels.grounded_words(packed(rows), GroundedSettings()) == wanted


# --------------------------------------------------------------------------------- the languages


@every_row("code", [*LISTED, "is", "am", "ja"])
def test_a_language_that_is_given(code: str) -> None:
    """For all rows it goes before what samples say and what would be detected."""
    rows = [*ROWS[:4], with_stop_words(code, random.Random(code)), *plain_corpus(2, seed=1)]
    assert_same_scores(scored(rows, language=code).scores, oracle_scores(rows, code))
    assert_rows_equal_the_oracle(rows, code)


def with_stop_words(code: str, choose: random.Random, share: float = 0.5) -> Sample:
    """Texts half of a language's stop words, half of words that are in no list."""
    own = sorted(STOP_WORDS.get(code, STOP_WORDS["en"]))
    other = [*NAMES[:8], *NUMBERS[:8], "zzq", "trial", "mühle", "река"]

    def text(n: int) -> str:
        return " ".join(choose.choice(own if choose.random() < share else other) for _ in range(n))

    return {
        "question": text(6),
        "answer": text(9) + ". " + text(7) + ".",
        "contexts": [text(20), text(20)],
        "ground_truth": [text(8), text(4)],
    }


@every_row("code", STOP_WORDS)
def test_a_language_that_is_detected(code: str) -> None:
    choose = random.Random(code)
    codes = sorted(STOP_WORDS)
    rows = []
    for share in (0.1, 0.3, 0.6):
        row = with_stop_words(code, choose, share)
        mixed = with_stop_words(choose.choice(codes), choose, share)
        rows += [row, {**row, "contexts": mixed["contexts"]}, {**row, "answer": mixed["answer"]}]
    rows.append({"question": " ".join(sorted(STOP_WORDS[code])[:3])})
    assert_rows_equal_the_oracle(rows)


def test_a_tag_of_a_sample_goes_before_detection() -> None:
    row = {"answer": "Der Hund ist nicht da.", "contexts": ["Der Hund ist da."]}
    for tag, code in [("de-AT", "de"), ("nb", "no"), ("is", "und"), ("en_GB.UTF-8", "en")]:
        found = details_of({**row, "language": tag})
        assert LISTED[found.language] == code
        assert_rows_equal_the_oracle([{**row, "language": tag}])
    assert LISTED[details_of(row).language] == LISTED[details_of({**row, "language": ""}).language]


class SnowballReading(Reading):
    """As the profile reads a text when Snowball's stems are asked for."""

    def __init__(self, text: Any, language: str) -> None:
        super().__init__(text, language)
        algorithm = {"en": "english", "de": "german", "ru": "russian", "el": "greek"}.get(language)
        if algorithm is None:
            self.stems = self.words
            return
        package = pytest.importorskip("Stemmer")
        stemmer = package.Stemmer(algorithm)
        self.stems = [stemmer.stemWord(word) or word for word in self.words]


@pytest.mark.parametrize("code", ["en", "de", "ru", "el", "und", "sk"])
def test_snowball_stems_equal_the_oracle(code: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("Stemmer")
    monkeypatch.setattr(grounded, "Reading", SnowballReading)
    rows = [joined_sample(row) for row in ROWS[:8]]
    rows += [*plain_corpus(4, seed=2), with_stop_words(code, random.Random(1), 0.3)]
    found = scored(rows, language=code, stemmer="snowball")
    assert_same_scores(found.scores, oracle_scores(rows, code))
    for row in rows:
        wanted = oracle_row(row, code)
        assert_equal_to_oracle(row, details_of(row, language=code, stemmer="snowball"), wanted)


# -------------------------------------------------------------------------- rows after other rows


def of_many_texts(seed: int) -> Sample:
    """Many ground truths and chunks, some long and some that share nothing with any other."""
    choose = random.Random(seed)

    def words(n: int) -> str:
        kind = choose.choice(["w", "w", "x", "é"])
        return " ".join(f"{kind}{choose.randrange(150)}" for _ in range(n))

    return {
        "question": words(choose.choice([1, 4, 90])),
        "answer": ". W".join(words(choose.choice([1, 6, 40])) for _ in range(5)),
        "contexts": [words(choose.choice([0, 1, 3, 40])) for _ in range(60)],
        "ground_truth": [words(choose.choice([1, 5, 200])) for _ in range(12)],
    }


@pytest.mark.parametrize("seed", [0, 1, *deep(*range(2, 6))])
def test_many_texts_equal_the_oracle(seed: int) -> None:
    """What shares nothing is passed over; a chunk of few words meets a query of many."""
    assert_rows_equal_the_oracle([of_many_texts(seed)])


def giant() -> Sample:
    """A row whose tables outgrow those of the others ten thousand times."""
    choose = random.Random(3)
    words = [f"W{i}" for i in range(30_000)]
    choose.shuffle(words)
    return {
        "question": "Who saw W1, w2 or w3?",
        "answer": "W1 w2 w3. Something else. " + " ".join(words[:3000]),
        "contexts": [" ".join(words), "", " ".join(reversed(words[:5000]))],
        "ground_truth": ["W5 w6. W7 the cat.", " ".join(words[:900])],
    }


def test_a_row_scores_the_same_alone_and_after_a_giant_one() -> None:
    """Tables have the size of their row: what an older row left in them counts nothing."""
    small = ROWS[:60]
    rows = [*small[:5], giant(), *small, giant(), *small]
    together = scored(rows, metrics=ALL_METRIC_IDS).scores
    alone = np.concatenate([scored([row], metrics=ALL_METRIC_IDS).scores for row in rows])
    assert_same_bits(together, alone)
    assert_same_scores(np.ascontiguousarray(together[6:66, :7]), corpus_scores()[:60])


@pytest.mark.deep
def test_a_giant_row_equals_the_oracle() -> None:
    assert_rows_equal_the_oracle([giant()])


@pytest.mark.parametrize(("begin", "end"), [(0, 0), (0, 1), (3, 9), (11, 12), (0, 12)])
def test_only_the_rows_asked_for_are_written(begin: int, end: int) -> None:
    batch = packed(ROWS[:12])
    scores = np.full((12, 7), -7.0)
    reasons = np.full((12, 7), 77, np.uint8)
    losses = np.full((12, 8), -7.0)
    chosen = GroundedSettings()
    grounded_block.score_block(
        *kernels._grounded_arguments(batch, chosen),
        *kernels._stem_arguments(batch, chosen),
        np.array(chosen.weights),
        np.arange(7),
        12345,
        begin,
        end,
        scores,
        reasons,
        losses,
    )
    outside = np.ones(12, bool)
    outside[begin:end] = False
    assert (scores[outside] == -7).all()
    assert (reasons[outside] == 77).all()
    assert (losses[outside] == -7).all()
    assert_same_scores(scores[begin:end], corpus_scores()[begin:end])
    assert np.array_equal(reasons[begin:end] != 0, np.isnan(corpus_scores()[begin:end]))


def test_a_sample_without_choices_is_the_smallest() -> None:
    """What hypothesis shrinks to."""
    row = read_sample(Choices(b""))
    assert_rows_equal_the_oracle([row])
    assert len(str(row)) < 200


def test_the_oracle_is_asked_with_the_words_of_english() -> None:
    """`SnowballReading` would go unused if the oracle read its samples another way."""
    assert grounded.Reading is grounded_words.Reading
