"""The oracle against the golden vectors of rag-eval-node-ts 0.3.2; FORMAT.md is beside them."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Callable, Iterator
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path
from typing import Any

import pytest

from tests.oracle import ngrams, overlap, sentences, tfidf, token_f1, tokens
from tests.tables import every_row

Case = dict[str, Any]

VECTORS = Path(__file__).parents[2] / "conformance" / "rag_eval_node"

EMPTY_ANSWER = "an empty answer with contexts scores 1, as the README documents; the code gives 0"
COVERAGE = "sentenceCoverageThreshold is an option here, as the README documents; the code uses 0.3"
SNAKE_CASE = "a snake_case metric id is valid here; the code does not know it and gives undefined"
# Every score that differs from the code's: (ours, why), by case and metric.
DEPARTURES = {
    ("hm/scoreHallucinationRate/ans-empty", "hallucination_rate"): (1.0, EMPTY_ANSWER),
    ("hm/scoreHallucinationRate/ans-ws", "hallucination_rate"): (1.0, EMPTY_ANSWER),
    ("hm/scoreHallucinationRate/all-empty", "hallucination_rate"): (1.0, EMPTY_ANSWER),
    ("hm/computeMetric/hallucinationRate-ans-empty", "hallucination_rate"): (1.0, EMPTY_ANSWER),
    ("hm/evaluate/all-empty", "hallucination_rate"): (1.0, EMPTY_ANSWER),
    ("rnd/scoreContextRecall/15", "context_recall"): (0.0, COVERAGE),
    ("rnd/evaluate/14", "context_recall"): (0.0, COVERAGE),
    ("rnd/evaluate/74", "context_recall"): (0.0, COVERAGE),
    ("hm/computeMetric/unknown-answer_relevance", "answer_relevance"): (
        0.4959281476692965,
        SNAKE_CASE,
    ),
}
# An unknown metric id is an error here; the code resolves to undefined.
UNKNOWN_METRICS = {"hm/computeMetric/unknown-empty", "hm/computeMetric/unknown-toString"}


def read(name: str) -> Iterator[Case]:
    path = VECTORS / name
    with gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb") as lines:
        for line in lines:
            yield json.loads(line)


FUNCTIONS = list(read("functions.jsonl.gz"))
SAMPLES = list(read("samples.jsonl.gz"))
SCORERS = {
    "scoreFaithfulness": "faithfulness",
    "scoreAnswerRelevance": "answer_relevance",
    "scoreContextPrecision": "context_precision",
    "scoreContextRecall": "context_recall",
    "scoreContextRelevance": "context_relevance",
    "scoreAnswerCorrectness": "answer_correctness",
    "scoreHallucinationRate": "hallucination_rate",
}


def of(*functions: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """One test over the cases of these functions."""
    # The reference throws on wrong types there; how ours words its errors is no oracle's matter.
    cases = [
        case
        for case in FUNCTIONS
        if case["fn"] in functions
        and not (isinstance(case["expected"], dict) and "$error" in case["expected"])
    ]
    return every_row("case", cases, ids=[case["id"] for case in cases])


def snake(name: str) -> str:
    return re.sub("[A-Z]", lambda capital: "_" + capital[0].lower(), name)


def options_of(camel: dict[str, Any] | None) -> dict[str, Any]:
    """camelCase options as keyword arguments; unknown names are no part of the contract."""
    named = {snake(name): value for name, value in (camel or {}).items()}
    return {name: named[name] for name in overlap.Options.__slots__ if name in named}


def test_unicode_version_sensitive_tokens() -> None:
    cases = list(read("unicode_version_sensitive.jsonl"))
    assert len(cases) == 25
    for case in cases:
        assert tokens.tokenize(*case["args"]) == case["expected"], case["id"]


@of("tokenize")
def test_tokenize(case: Case) -> None:
    assert tokens.tokenize(*case["args"]) == case["expected"]


@of("getNgrams")
def test_get_ngrams(case: Case) -> None:
    assert tokens.get_ngrams(*case["args"]) == case["expected"]


@of("splitSentences")
def test_split_sentences(case: Case) -> None:
    assert sentences.split_sentences(*case["args"]) == case["expected"]


@of("filterFactualSentences")
def test_filter_factual_sentences(case: Case) -> None:
    assert sentences.filter_factual_sentences(*case["args"]) == case["expected"]


@of("ngramOverlap")
def test_ngram_overlap(case: Case) -> None:
    assert ngrams.ngram_overlap(*case["args"]) == case["expected"]


@of("weightedNgramOverlap")
def test_weighted_ngram_overlap(case: Case) -> None:
    assert ngrams.weighted_ngram_overlap(*case["args"]) == case["expected"]


@of("tfidfSimilarity")
def test_tfidf_similarity(case: Case) -> None:
    assert tfidf.tfidf_similarity(*case["args"]) == case["expected"]


@of("tokenF1")
def test_token_f1(case: Case) -> None:
    assert token_f1.token_f1(*case["args"]) == case["expected"]


@of("cosineSimilarity")
def test_cosine_similarity(case: Case) -> None:
    left, right = (
        {term: float(weight) for term, weight in pairs}  # JSON writes 1e200 as an integer too
        for pairs in case["args"]
    )
    assert tfidf.cosine_similarity(left, right) == case["expected"]


def same_vector(vector: dict[str, float], expected: list[tuple[str, float]]) -> bool:
    """Same terms, weights within 1e-12: logarithms of V8 and libm differ in the last place."""
    return sorted(vector) == [term for term, _ in expected] and all(
        vector[term] == pytest.approx(weight, rel=1e-12, abs=0) for term, weight in expected
    )


@pytest.mark.parametrize(
    "wrong", [{}, {"a": 0.5}, {"a": 0.5, "c": 0.25}, {"a": 0.5, "b": 0.25 * (1 + 1e-11)}]
)
def test_same_vector_sees_what_is_wrong(wrong: dict[str, float]) -> None:
    expected = [("a", 0.5), ("b", 0.25)]
    assert same_vector({"b": 0.25, "a": 0.5}, expected)
    assert not same_vector(wrong, expected)


@of("buildTfIdfVectors")
def test_build_tfidf_vectors(case: Case) -> None:
    query, documents = tfidf.build_tfidf_vectors(*case["args"])
    assert same_vector(query, case["expected"]["queryVec"])
    assert len(documents) == len(case["expected"]["docVecs"])
    for vector, expected in zip(documents, case["expected"]["docVecs"], strict=True):
        assert same_vector(vector, expected)


def test_vectors_keep_the_order_of_first_occurrence() -> None:
    query, (document,) = tfidf.build_tfidf_vectors("c a b a c", ["b z a"])
    assert list(query) == ["c", "a", "b"]
    assert list(document) == ["b", "z", "a"]


def assert_score(
    case: Case, metric_id: str, sample: dict[str, Any], camel: Any, expected: float | None
) -> None:
    ours = overlap.score(snake(metric_id), sample, **options_of(camel))
    departure = DEPARTURES.get((case["id"], snake(metric_id)))
    if departure is None:
        assert ours == expected
    else:
        # A departure that no longer departs is a name to delete.
        assert ours == departure[0] != expected, departure[1]


@of(*SCORERS)
def test_scorer(case: Case) -> None:
    sample, options = [*case["args"], None][:2]
    assert_score(case, SCORERS[case["fn"]], sample, options, case["expected"]["score"])


@of("computeMetric")
def test_compute_metric(case: Case) -> None:
    metric_id, sample, options = [*case["args"], None][:3]
    if case["id"] in UNKNOWN_METRICS:
        with pytest.raises(KeyError):
            overlap.score(metric_id, sample)
    else:
        assert_score(case, metric_id, sample, options, case["expected"].get("score"))


@of("evaluate")
def test_scores_of_evaluate(case: Case) -> None:
    sample, _, options = [*case["args"], None, None][:3]
    heuristic = (options or {}).get("heuristic")
    for metric_id, result in case["expected"]["metrics"].items():
        assert_score(case, metric_id, sample, heuristic, result["score"])


def test_every_departing_id_is_a_case() -> None:
    assert {case_id for case_id, _ in DEPARTURES} | UNKNOWN_METRICS <= {c["id"] for c in FUNCTIONS}


@every_row("case", SAMPLES, ids=[case["id"] for case in SAMPLES])
def test_whole_sample(case: Case) -> None:
    assert len(case["expected"]["metrics"]) == len(overlap.METRICS)
    for metric_id, result in case["expected"]["metrics"].items():
        assert_score(case, metric_id, case["sample"], None, result["score"])


def shown(value: float) -> str:
    """Three decimals of the exact binary value, ties upward, as JavaScript's toFixed."""
    return str(Decimal(value).quantize(Decimal("0.001"), ROUND_HALF_UP))


@every_row("case", SAMPLES, ids=[case["id"] for case in SAMPLES])
def test_details_give_the_signals(case: Case) -> None:
    """The signals name every low sentence and chunk with its number, so they show the details."""
    sample = case["sample"]
    parts = overlap.details(sample)
    answer = sentences.split_sentences(sample["answer"])
    low_support = [
        (f"faithfulness-low-support-{i}", shown(support), answer[i])
        for i, support in enumerate(parts.answer_support)
        if support < 0.3 and sample["contexts"]
    ]
    unsupported = [
        (f"hallucination-unsupported-{i}", shown(best), answer[i])
        for i, best in enumerate(parts.answer_overlap)
        if best < 0.15 and sample["contexts"]
    ]
    low_chunks = [i for i, similarity in enumerate(parts.context_similarity) if similarity < 0.3]

    results = case["expected"]["metrics"]
    assert signals(results["faithfulness"]) == low_support
    assert signals(results["hallucinationRate"]) == unsupported
    messages = [signal["message"] for signal in results["contextPrecision"]["signals"]]
    assert messages == (
        [f"Context chunk(s) with low relevance (< 0.3): indices {low_chunks}."]
        if low_chunks
        else []
    )


def signals(result: dict[str, Any]) -> list[tuple[str, str, str]]:
    return [
        (signal["id"], signal["message"].split("overlap=")[1].rstrip(")."), signal["evidence"])
        for signal in result["signals"]
    ]


@pytest.mark.parametrize(
    ("text", "spans"),
    [
        ("", []),
        (" \ufeff\n", []),
        ("One. Two! Three", [(0, 4), (5, 9), (10, 15)]),
        ("  😀 a. \u2028B.\ufeff", [(2, 6), (8, 10)]),  # code points, not UTF-16 units
        ("a.\x85B. é. É", [(0, 10)]),  # U+0085 is no space, É no ASCII capital
        (". A", [(0, 1), (2, 3)]),
    ],
)
def test_sentence_spans(text: str, spans: list[tuple[int, int]]) -> None:
    assert sentences.sentence_spans(text) == spans


SHORT: dict[str, Any] = {
    "question": "red fox",
    "answer": "red fox. Blue sky.",
    "contexts": ["red hen"],
}


def test_answer_relevance_weights() -> None:
    """Departure: unread in the code. The overlap is 2/4: red and fox of red, fox, blue, sky."""
    question, answer = SHORT["question"], SHORT["answer"]
    similarity = tfidf.tfidf_similarity(question, answer)
    only_overlap = overlap.score("answer_relevance", SHORT, tfidf_weight=0)
    assert only_overlap == ngrams.ngram_overlap(question, answer) == 0.5
    assert overlap.score("answer_relevance", SHORT, ngram_weight=0) == similarity
    assert overlap.score("answer_relevance", SHORT, tfidf_weight=2) == (2 * similarity + 0.5) / 3
    with pytest.raises(ValueError, match="is 0"):
        overlap.score("answer_relevance", SHORT, tfidf_weight=1, ngram_weight=-1)


def test_maximum_over_contexts_starts_at_0() -> None:
    """No vector has it: unigrams 0, bigrams 1 (both sets empty), so (0·1 − 1·0.5) / 0.5 = −1."""
    sample = {"answer": "yes", "contexts": ["no"]}
    assert ngrams.weighted_ngram_overlap("yes", "no", [1, 2], [1, -0.5]) == -1
    assert overlap.score("faithfulness", sample, ngram_weights=[1, -0.5]) == 0


@pytest.mark.parametrize("truth_name", ["ground_truth", "groundTruth"])
def test_sentence_coverage_threshold(truth_name: str) -> None:
    """Departure: 0.3 in the code. Overlaps here: 1/3 (red of red, fox, hen) and 0."""
    sample = SHORT | {truth_name: "Red fox. Blue sky."}
    assert overlap.details(sample).truth_overlap == [1 / 3, 0.0]
    assert overlap.score("context_recall", sample) == 0.5
    assert overlap.score("context_recall", sample, sentence_coverage_threshold=1 / 3) == 0.5
    assert overlap.score("context_recall", sample, sentence_coverage_threshold=0.34) == 0.0
    assert overlap.score("context_recall", sample, sentence_coverage_threshold=0) == 1.0
    assert overlap.score("context_recall", sample, sentence_coverage_threshold=None) == 0.5


def test_details_without_contexts_or_ground_truth() -> None:
    parts = overlap.details(SHORT | {"contexts": []})
    assert parts == ([0.0, 0.0], [0.0, 0.0], [], [], [], [None, None], [])
