"""Explanations, signals and details of the overlap profile against the oracle."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal
from typing import Any

import numpy as np
from hypothesis import given

import rag_eval
from rag_eval.inputs.row_texts import read_rows
from rag_eval.inputs.samples import FieldNeeds
from rag_eval.kernels import scoring as kernels
from rag_eval.kernels.settings import OverlapSettings
from rag_eval.metrics.ids import METRIC_IDS
from tests.differential.test_overlap_block import OPTIONS, ROWS, Sample, joined, joined_sample
from tests.oracle import overlap
from tests.oracle.ngrams import ngram_overlap
from tests.oracle.sentences import split_sentences
from tests.oracle.tfidf import tfidf_similarity
from tests.oracle.token_f1 import token_f1
from tests.strategies import samples


def decimals(value: float) -> str:
    """Three decimals, ties away from zero."""
    return str(Decimal(value).quantize(Decimal("0.001"), ROUND_HALF_UP))


def expected_words(row: Sample) -> dict[str, tuple[str, list[tuple[str, ...]]]]:
    """Explanation and signals (id, severity, message, evidence) per metric, default options."""
    question, answer, contexts = row["question"], row["answer"], row["contexts"]
    truth = row.get("groundTruth")
    parts = overlap.details(row)
    scores = {metric: overlap.score(metric, row) for metric in METRIC_IDS}
    claims = split_sentences(answer)
    words: dict[str, tuple[str, list[tuple[str, ...]]]] = {}

    def low(metric: str, signal: str, what: str) -> list[tuple[str, ...]]:
        score = scores[metric]
        assert score is not None
        return [(signal, "warning", f"{what} (score={decimals(score)}).")] if score < 0.5 else []

    def shown(metric: str) -> str:
        return decimals(scores[metric] or 0.0)

    words["faithfulness"] = ("No answer sentences or context chunks to evaluate.", [])
    words["hallucination_rate"] = ("No context chunks provided to evaluate against.", [])
    words["context_precision"] = words["context_relevance"] = ("No context chunks provided.", [])
    if contexts:
        words["hallucination_rate"] = ("Answer produced no sentences to evaluate.", [])
        low_chunks = [str(i) for i, x in enumerate(parts.context_similarity) if x < 0.3]
        message = f"Context chunk(s) with low relevance (< 0.3): indices [{', '.join(low_chunks)}]."
        words["context_precision"] = (
            f"Average TF-IDF relevance of {len(contexts)} context chunk(s) to the question: "
            f"{shown('context_precision')}.",
            [("context-precision-low-relevance-chunks", "info", message)] if low_chunks else [],
        )
        n_relevant = sum(value >= 0.2 for value in parts.context_overlap)
        words["context_relevance"] = (
            f"{n_relevant}/{len(contexts)} context chunk(s) meet relevance threshold (>= 0.2): "
            f"score={shown('context_relevance')}.",
            [],
        )
    if contexts and claims:
        words["faithfulness"] = (
            f"Average max-context overlap across {len(claims)} answer sentence(s): "
            f"{shown('faithfulness')}.",
            [
                (
                    f"faithfulness-low-support-{i}",
                    "warning",
                    f"Answer sentence has low context support (overlap={decimals(support)}).",
                    claims[i],
                )
                for i, support in enumerate(parts.answer_support)
                if support < 0.3
            ],
        )
        unsupported = [
            (
                f"hallucination-unsupported-{i}",
                "critical",
                "Answer sentence appears unsupported by any context "
                f"(max overlap={decimals(best)}).",
                claims[i],
            )
            for i, best in enumerate(parts.answer_overlap)
            if best < 0.15
        ]
        words["hallucination_rate"] = (
            f"{len(unsupported)}/{len(claims)} answer sentence(s) appear unsupported "
            f"(hallucination rate={decimals(len(unsupported) / len(claims))}, "
            f"score={shown('hallucination_rate')}).",
            unsupported,
        )
    words["answer_relevance"] = (
        f"TF-IDF similarity: {decimals(tfidf_similarity(question, answer))}, unigram overlap: "
        f"{decimals(ngram_overlap(question, answer))}, average: {shown('answer_relevance')}.",
        low(
            "answer_relevance", "answer-relevance-low", "Answer may not be relevant to the question"
        ),
    )
    for metric, name in [
        ("context_recall", "contextRecall"),
        ("answer_correctness", "answerCorrectness"),
    ]:
        words[metric] = (f"groundTruth is required for {name} but was not provided.", [])
    if truth:
        words["context_recall"] = ("No ground truth sentences or context chunks to evaluate.", [])
        if contexts and parts.truth_overlap:
            n_covered = sum(value >= 0.3 for value in parts.truth_overlap)
            words["context_recall"] = (
                f"{n_covered}/{len(parts.truth_overlap)} ground truth sentence(s) covered by "
                f"contexts (overlap >= 0.3): score={shown('context_recall')}.",
                [],
            )
        words["answer_correctness"] = (
            f"Token F1: {decimals(token_f1(truth, answer))}, unigram overlap: "
            f"{decimals(ngram_overlap(truth, answer))}, blended score (70%F1 + 30%ngram): "
            f"{shown('answer_correctness')}.",
            low("answer_correctness", "answer-correctness-low", "Answer correctness is low"),
        )
    return words


def assert_words(result: rag_eval.EvalResult, row: Sample) -> None:
    wanted = expected_words(joined_sample(row))
    for metric in METRIC_IDS:
        found = result.metrics[metric]
        signals = [
            (signal.id, signal.severity, signal.message)
            + (() if signal.evidence is None else (signal.evidence,))
            for signal in found.signals
        ]
        assert (found.explanation, signals) == wanted[metric]
        assert all(signal.metric_id == metric for signal in found.signals)
        assert all(signal.context_chunk_index is None for signal in found.signals)


@given(samples())
def test_opened_rows_say_what_the_oracle_counts(row: Sample) -> None:
    opened = rag_eval.evaluate_batch(iter([row]), threads=1).results[0]
    assert_words(opened, row)
    assert [opened.metrics[metric].score for metric in METRIC_IDS] == [
        overlap.score(metric, joined_sample(row)) for metric in METRIC_IDS
    ]


def test_opened_rows_of_a_batch_say_what_the_oracle_counts() -> None:
    for rows in (ROWS, iter(ROWS)):
        results = rag_eval.evaluate_batch(rows, threads=2).results
        for result, row in zip(results, ROWS, strict=True):
            assert_words(result, row)


@given(samples(), OPTIONS)
def test_details_equal_the_oracle_under_any_options(row: Sample, options: dict[str, Any]) -> None:
    needs = FieldNeeds.of(METRIC_IDS)
    found = kernels.overlap_details(
        read_rows([row], 0, needs).pack(),
        0,
        OverlapSettings.from_options(options),
        np.arange(7),
    )
    wanted = overlap.details(joined_sample(row), **options)
    if not row["contexts"]:
        # Nothing is held against nothing: the kernel lists no sentence then.
        wanted = overlap.Details([], [], [], [], [], [], [])
    assert found.support == wanted.answer_support
    assert found.overlap == wanted.answer_overlap
    assert found.coverage == wanted.truth_overlap
    assert found.chunk_tfidf == wanted.context_similarity
    assert found.chunk_overlap == wanted.context_overlap
    assert found.support_chunks == wanted.answer_contexts
    assert found.coverage_chunks == wanted.truth_contexts
    for text, spans in (
        (row["answer"], found.answer_spans),
        (row.get("groundTruth") or "", found.truth_spans),
    ):
        data = joined(text).encode("utf-8", "surrogatepass")
        assert [
            data[begin:end].decode("utf-8", "surrogatepass") for begin, end in spans
        ] == split_sentences(joined(text))


def test_of_equally_good_contexts_the_first_is_kept() -> None:
    """A pair that shares nothing may be as good as one that does, where both texts are short."""
    short: Sample = {
        "question": "",
        "answer": "Fox. A red fox. Owl. Sea.",
        "contexts": ["bear", "a red fox", "an owl", "a red fox", "fox", "fox", "", ""],
        "groundTruth": "A fox. Owl. Sea.",
    }
    wordless = {**short, "answer": "!", "groundTruth": "?"}
    for row, sizes, support, coverage in (
        (short, (1, 2), [4, 1, 2, 0], [1, 2, None]),
        (short, (1,), [4, 1, 2, None], [1, 2, None]),
        (short, (3,), [0, 1, 0, 0], [1, 2, None]),
        (wordless, (1, 2), [6], [6]),
    ):
        wanted = overlap.details(row, ngram_sizes=sizes)
        assert (wanted.answer_contexts, wanted.truth_contexts) == (support, coverage)
        settings = OverlapSettings.from_options({"ngram_sizes": sizes})
        batch = read_rows([row], 0, FieldNeeds.of(METRIC_IDS)).pack()
        found = kernels.overlap_details(batch, 0, settings, np.arange(7))
        assert (found.support_chunks, found.coverage_chunks) == (support, coverage)
