"""Laws that hold whatever the texts are, by the overlap profile's own rules."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import rag_eval
from rag_eval.kernels.exact_moments import ExactMoments
from rag_eval.metrics.ids import METRIC_IDS
from rag_eval.metrics.seven import OVERLAP_METRICS
from tests.differential.test_overlap_block import OPTIONS
from tests.oracle.sentences import split_sentences
from tests.oracle.tokens import tokenize
from tests.strategies import prose, samples, texts

Sample = dict[str, Any]

FIELDS = {"ground_truth": "groundTruth"}
# Maxima over contexts, and shares of them: no sum depends on the order of contexts.
BEST_CONTEXT = ("faithfulness", "context_recall", "hallucination_rate")
# A cosine is not clamped: identical texts give 1 up to rounding of a few terms.
COSINE_TOLERANCE = 1e-12


def scores_of(sample: Sample, **options: Any) -> dict[str, float | None]:
    """Scores by metric, from one evaluation."""
    result = rag_eval.evaluate(sample, **options)
    return {metric: result.metrics[metric].score for metric in METRIC_IDS}


def matrix(rows: list[Sample], **options: Any) -> bytes:
    return rag_eval.evaluate_batch(rows, threads=1, **options, allow_missing=True).scores.tobytes()


# -------------------------------------------------------------------------- a text and itself


@given(texts(lone_surrogates=False) | prose())
def test_one_sentence_against_itself_is_perfect(text: str) -> None:
    sentences = split_sentences(text)
    assume(sentences)
    sentence = sentences[0]
    found = scores_of(
        {"question": sentence, "answer": sentence, "contexts": [sentence], "groundTruth": sentence}
    )
    for metric in (*BEST_CONTEXT, "context_relevance"):
        assert found[metric] == 1.0
    if tokenize(sentence):
        assert found["answer_correctness"] == 1.0
        assert found["answer_relevance"] == pytest.approx(1, abs=COSINE_TOLERANCE)
        assert found["context_precision"] == pytest.approx(1, abs=COSINE_TOLERANCE)
    else:
        # Without tokens both sets are empty, which is full overlap, and there is nothing to weigh.
        assert found["answer_correctness"] == 0.3
        assert found["answer_relevance"] == 0.5
        assert found["context_precision"] == 0.0


@given(texts(lone_surrogates=False) | prose(), prose())
def test_a_text_held_against_its_own_sentences_is_supported(text: str, question: str) -> None:
    sentences = split_sentences(text)
    assume(sentences)
    found = scores_of(
        {"question": question, "answer": text, "contexts": sentences, "groundTruth": text}
    )
    for metric in BEST_CONTEXT:
        assert found[metric] == 1.0


@given(samples())
def test_an_answer_without_sentences(sample: Sample) -> None:
    """Departure 1: nothing was claimed, so nothing is unsupported, if there are contexts."""
    found = scores_of({**sample, "answer": " \n"})
    assert found["faithfulness"] == 0.0
    assert found["hallucination_rate"] == (1.0 if sample["contexts"] else 0.0)


# -------------------------------------------------------------------------------------- range


@given(samples())
def test_scores_lie_between_0_and_1(sample: Sample) -> None:
    found = scores_of(sample)
    for metric, score in found.items():
        if score is None:
            assert "ground_truth" in OVERLAP_METRICS[metric].fields
            assert not sample.get("groundTruth")
        else:
            assert 0 <= score <= 1 + COSINE_TOLERANCE
    for metric in (*BEST_CONTEXT, "context_relevance", "answer_correctness"):
        assert (found[metric] or 0) <= 1
    composite = rag_eval.evaluate(sample).composite_score
    assert composite is not None
    assert 0 <= composite <= 1 + COSINE_TOLERANCE


# ----------------------------------------------------------------------------------- symmetry


@given(samples())
def test_the_parts_of_answer_relevance_are_symmetric(sample: Sample) -> None:
    swapped = {"question": sample["answer"], "answer": sample["question"]}
    overlap, cosine = {"tfidf_weight": 0}, {"ngram_weight": 0}

    def part(row: Sample, options: dict[str, Any]) -> float | None:
        return rag_eval.compute_metric("answer_relevance", row, **options).score

    assert part(sample, overlap) == part(swapped, overlap)
    # The dot product is summed in the order of the first text.
    assert part(sample, cosine) == pytest.approx(part(swapped, cosine), abs=COSINE_TOLERANCE)


@given(samples())
def test_answer_correctness_is_symmetric(sample: Sample) -> None:
    answer, truth = sample["answer"] or "a", sample.get("groundTruth") or sample["question"] or "b"
    # A ground truth that is the print of a list is that list.
    assume(not answer.startswith("[") and not truth.startswith("["))
    one = rag_eval.score_answer_correctness({"answer": answer, "groundTruth": truth}).score
    other = rag_eval.score_answer_correctness({"answer": truth, "groundTruth": answer}).score
    # Precision and recall change places, and with them the order of one sum and one product.
    assert one == pytest.approx(other, abs=1e-15)


# ------------------------------------------------------------------------------ rows of a batch


@given(st.lists(samples(), min_size=1, max_size=6), st.randoms(use_true_random=False))
def test_the_order_of_samples_orders_the_rows(rows: list[Sample], choose: random.Random) -> None:
    order = choose.sample(range(len(rows)), len(rows))
    straight = rag_eval.evaluate_batch(rows, threads=1)
    permuted = rag_eval.evaluate_batch([rows[i] for i in order], threads=1)
    assert permuted.scores.tobytes() == straight.scores[order].tobytes()
    assert permuted.null_reasons.tobytes() == straight.null_reasons[order].tobytes()
    assert permuted.composite_scores.tobytes() == straight.composite_scores[order].tobytes()
    assert repr(permuted.aggregates) == repr(straight.aggregates)
    assert repr(permuted.composite_aggregate) == repr(straight.composite_aggregate)
    assert permuted.passed == straight.passed


def undated(result: rag_eval.EvalResult) -> dict[str, Any]:
    """The result without what differs from run to run."""
    written = result.to_dict()
    del written["durationMs"], written["evaluatedAt"]
    return written


@given(
    st.lists(samples(), min_size=1, max_size=4),
    OPTIONS,
    st.booleans(),
)
def test_a_batch_is_its_samples_one_by_one(
    rows: list[Sample], options: dict[str, Any], generated: bool
) -> None:
    common: Any = {
        "heuristic": options,
        "thresholds": {"faithfulness": 0.25, "answerRelevance": 0.5},
        "composite_weights": {"context_recall": 2, "answer_relevance": 0},
    }
    batch = rag_eval.evaluate_batch(iter(rows) if generated else rows, threads=2, **common)
    for row, opened, passed, composite in zip(
        rows, batch.results, batch.sample_passed, batch.composite_scores, strict=True
    ):
        alone = rag_eval.evaluate(row, **common)
        written = undated(alone)
        if generated:
            # Rebuilt from columns: pairs of surrogates come back as one code point, and a null
            # ground truth as none.
            assert {**undated(opened), "sample": None} == {**written, "sample": None}
        else:
            assert undated(opened) == written
            assert opened.sample is row
        assert alone.passed == passed
        assert np.array_equal(
            np.array([alone.composite_score], np.float64), [composite], equal_nan=True
        )
    assert batch.passed == all(batch.sample_passed)


@given(st.lists(samples(), min_size=2, max_size=6), st.data())
def test_split_and_concatenated(rows: list[Sample], data: st.DataObject) -> None:
    cut = data.draw(st.integers(0, len(rows)))
    whole = rag_eval.evaluate_batch(rows, threads=1)
    parts = [rag_eval.evaluate_batch(part, threads=1) for part in (rows[:cut], rows[cut:])]
    assert np.concatenate([part.scores for part in parts]).tobytes() == whole.scores.tobytes()
    for column, metric in enumerate(METRIC_IDS):
        merged = ExactMoments()
        for part in parts:
            moments = ExactMoments()
            moments.add(part.scores[:, column])
            merged.merge(moments)
        aggregate = whole.aggregates[metric]
        assert merged.count == aggregate.n
        if merged.count:
            assert (merged.mean, merged.standard_deviation) == (aggregate.mean, aggregate.std_dev)


# ------------------------------------------------------------------------------------ contexts


@given(samples(), OPTIONS, st.randoms(use_true_random=False))
def test_the_order_of_contexts(
    sample: Sample, options: dict[str, Any], choose: random.Random
) -> None:
    contexts = choose.sample(sample["contexts"], len(sample["contexts"]))
    straight = scores_of(sample, heuristic=options)
    permuted = scores_of({**sample, "contexts": contexts}, heuristic=options)
    for metric in METRIC_IDS:
        if metric == "context_precision":
            # A mean: summed in the order of the contexts.
            assert permuted[metric] == pytest.approx(straight[metric], abs=COSINE_TOLERANCE)
        else:
            assert permuted[metric] == straight[metric]


@given(samples(), OPTIONS, st.integers(1, 3))
def test_repeated_contexts_add_nothing(sample: Sample, options: dict[str, Any], times: int) -> None:
    once = scores_of(sample, heuristic=options)
    again = scores_of({**sample, "contexts": sample["contexts"] * times}, heuristic=options)
    for metric in BEST_CONTEXT:
        assert again[metric] == once[metric]


@given(samples(), st.lists(prose(), min_size=1, max_size=2))
def test_one_more_context_never_takes_support_away(sample: Sample, more: list[str]) -> None:
    assume(sample["contexts"])
    fewer = scores_of(sample)
    found = scores_of({**sample, "contexts": [*sample["contexts"], *more]})
    for metric in BEST_CONTEXT:
        assert (found[metric] or 0) >= (fewer[metric] or 0)


# ------------------------------------------------------------------------------- unread fields


@given(samples(), st.sampled_from([None, 5, b"x", ["y"], {"z": 1}]))
def test_fields_that_a_metric_does_not_read_do_not_matter(sample: Sample, other: object) -> None:
    for metric, spec in OVERLAP_METRICS.items():
        read = {FIELDS.get(name, name) for name in spec.fields}
        alone = {name: value for name, value in sample.items() if name in read}
        changed = {name: alone.get(name, other) for name in [*sample, "groundTruth", "extra"]}
        if "ground_truth" in spec.fields and "groundTruth" not in alone:
            changed.pop("groundTruth", None)
        wanted = matrix([sample], metrics=[metric])
        assert matrix([alone], metrics=[metric]) == wanted
        assert matrix([changed], metrics=[metric]) == wanted


@given(samples(), st.text(max_size=5), st.text(max_size=5))
def test_unknown_fields_do_not_matter(sample: Sample, name: str, value: str) -> None:
    assume(name not in {*sample, "groundTruth", "ground_truth"})
    extended = {**sample, name: value, "id": "q-1", "metadata": {"question": "other"}}
    assert matrix([extended]) == matrix([sample])


# ---------------------------------------------------------------------------------- thresholds


@given(samples(), st.floats(0, 1), st.floats(0, 1))
def test_stricter_limits_never_raise_a_share(sample: Sample, left: float, right: float) -> None:
    low, high = sorted((left, right))
    for metric, option in [
        ("hallucination_rate", "claim_support_threshold"),
        ("context_recall", "sentence_coverage_threshold"),
        ("context_relevance", "chunk_relevance_threshold"),
    ]:
        lax = rag_eval.compute_metric(metric, sample, **{option: low}).score
        strict = rag_eval.compute_metric(metric, sample, **{option: high}).score
        assert (strict is None) == (lax is None)
        assert (strict or 0) <= (lax or 0)
