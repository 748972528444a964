"""The six diagnostics of the grounded profile: against the oracle, and worked out by hand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given

from rag_eval.kernels.scoring import metric_numbers
from rag_eval.metrics.ids import ALL_METRIC_IDS, METRIC_IDS
from rag_eval.results.words_grounded import Cause
from rag_eval.samples import NullReason
from tests.differential.test_grounded_block import (
    FIELD_OF_REASON,
    ROWS,
    as_matrix,
    assert_same_scores,
    code_of,
    corpus_scores,
    details_of,
    null_reason,
    scored,
)
from tests.differential.test_overlap_block import assert_same_bits, joined_sample
from tests.grounded_samples import grounded_samples, plain_corpus
from tests.oracle.grounded_diagnostics import (
    DIAGNOSTICS,
    NO_NAMES,
    NO_NUMBERS,
    NO_RELEVANT_CHUNK,
    Diagnosis,
    diagnose,
)

Sample = dict[str, Any]

CAUSES = {
    "no answer": Cause.NO_ANSWER,
    "no question": Cause.NO_QUESTION,
    "no ground truth": Cause.NO_TRUTH,
    "no contexts given": Cause.NO_CONTEXTS,
    NO_RELEVANT_CHUNK: Cause.NO_RELEVANT_CHUNK,
    NO_NUMBERS: Cause.NO_NUMBERS,
    NO_NAMES: Cause.NO_NAMES,
}


def diagnosis(row: Sample) -> Diagnosis:
    return diagnose(joined_sample(row), code_of(row))


def assert_diagnosed(
    rows: Sequence[Sample], wanted: Sequence[Diagnosis], metrics: Sequence[str] = DIAGNOSTICS
) -> None:
    found = scored(rows, metrics=metrics)
    scores = [[one.scores[metric] for metric in metrics] for one in wanted]
    assert_same_bits(found.scores, as_matrix(scores))
    assert found.null_reasons.tolist() == [
        [
            null_reason(row, FIELD_OF_REASON.get(one.reasons[metric]))
            if metric in one.reasons
            else NullReason.MEASURED
            for metric in metrics
        ]
        for row, one in zip(rows, wanted, strict=True)
    ]


# ------------------------------------------------------------------------------------ the oracle


@given(grounded_samples())
def test_diagnostics_equal_the_oracle(row: Sample) -> None:
    assert_diagnosed([row], [diagnosis(row)])


def test_the_corpora_equal_the_oracle() -> None:
    """All at once, each alone (without what the others have set out), and beside the seven."""
    rows = [*ROWS, *plain_corpus(30, 0)]
    wanted = [diagnosis(row) for row in rows]
    for metrics in (DIAGNOSTICS, *([metric] for metric in DIAGNOSTICS)):
        assert_diagnosed(rows, wanted, metrics)
    scores = as_matrix([[one.scores[metric] for metric in ALL_METRIC_IDS[7:]] for one in wanted])
    found = scored(rows, metrics=ALL_METRIC_IDS).scores
    assert_same_scores(np.ascontiguousarray(found[: len(ROWS), :7]), corpus_scores())
    assert_same_bits(np.ascontiguousarray(found[:, 7:]), scores)
    # And they have values of all kinds.
    for metric in DIAGNOSTICS:
        values = [one.scores[metric] for one in wanted]
        assert {None, 0.0, 1.0} <= set(values)
        assert any(value not in {None, 0.0, 1.0} for value in values), metric


@given(grounded_samples())
def test_the_seven_are_the_same_beside_diagnostics(row: Sample) -> None:
    """They are counted first, and the evidence is found anew."""
    alone, beside = details_of(row), details_of(row, ALL_METRIC_IDS)
    assert beside.scores[: len(METRIC_IDS)] == alone.scores[: len(METRIC_IDS)]
    assert beside.causes[: len(METRIC_IDS)] == alone.causes[: len(METRIC_IDS)]
    assert (beside.language, beside.truth, beside.best_truth) == (
        alone.language,
        alone.truth,
        alone.best_truth,
    )
    # Without contexts there is no evidence; a diagnostic looks for figures all the same.
    if alone.answer is not None:
        assert beside.answer == alone.answer
    if alone.chunk_scores is not None:
        assert beside.chunk_scores == alone.chunk_scores
    assert beside.precision_scores == alone.precision_scores


@given(grounded_samples())
def test_causes_of_nulls_equal_the_oracle(row: Sample) -> None:
    found, wanted = details_of(row, DIAGNOSTICS), diagnosis(row)
    causes = {
        metric: Cause(found.causes[number])
        for metric, number in zip(DIAGNOSTICS, metric_numbers(DIAGNOSTICS), strict=True)
    }
    assert {metric: cause for metric, cause in causes.items() if cause} == {
        metric: CAUSES[reason] for metric, reason in wanted.reasons.items()
    }


# --------------------------------------------------------------------------------------- by hand

# The question has "hen" and "barn" for content: relevant is who has one of them in a few words.
BARN = "The barn of the hens burned down."
FOX = "A grey fox slept under stones."
ASKED = "Did the hens have a barn?"


@pytest.mark.parametrize(
    ("answer", "contexts", "value"),
    [
        (BARN, [BARN, FOX], 1.0),
        (BARN, [BARN, "Hens like every barn.", FOX], 1 / 2),
        (FOX, [BARN, FOX], 0.0),  # the fox is carried, by a chunk that is not relevant
        (BARN + " " + FOX, [BARN, FOX, BARN], 1.0),
        (BARN, [FOX], None),
        (BARN, [], None),
        (BARN, ["?", ""], None),
        # Two chunks that have half of the words each: together they carry it, neither does alone.
        ("Hens built red barn walls slowly.", ["Hens built red", "barn walls slowly"], 0.0),
    ],
)
def test_context_utilization(answer: str, contexts: list[str], value: float | None) -> None:
    assert_is("context_utilization", value, question=ASKED, answer=answer, contexts=contexts)


@pytest.mark.parametrize(
    ("answer", "contexts", "truth", "value"),
    [
        (FOX, [BARN, FOX], BARN, 1.0),
        (FOX, [BARN, FOX], FOX, 0.0),  # the truth says so too
        (FOX, [BARN, FOX], ["No.", FOX], 0.0),
        (FOX, [BARN + " " + FOX, FOX], BARN, 0.0),  # a relevant chunk says so too
        (BARN + " " + FOX, [BARN, FOX], BARN, 1 / 2),
        (BARN + " " + FOX + " It rained in June.", [BARN, FOX], BARN, 1 / 3),
        (FOX, [BARN], BARN, 0.0),
        (FOX, [], BARN, 0.0),
    ],
)
def test_noise_sensitivity(
    answer: str, contexts: list[str], truth: str | list[str], value: float
) -> None:
    sample = {"question": ASKED, "answer": answer, "contexts": contexts, "ground_truth": truth}
    assert_is("noise_sensitivity", value, **sample)


@pytest.mark.parametrize(
    ("answer", "truth", "value"),
    [
        (BARN, BARN, 1.0),
        (BARN, BARN + " " + FOX, 1 / 2),
        (BARN, [FOX, BARN + " " + FOX, FOX], 1 / 2),  # the best of three
        (BARN, [FOX, BARN], 1.0),
        (FOX, BARN, 0.0),
        (BARN + " " + FOX, "\n".join([FOX, BARN, "It rained in June."]), 2 / 3),
    ],
)
def test_claim_recall(answer: str, truth: str | list[str], value: float) -> None:
    assert_is("claim_recall", value, answer=answer, ground_truth=truth)


@pytest.mark.parametrize(
    ("answer", "contexts", "truth", "value"),
    [
        (FOX, [BARN], FOX, 1.0),
        (FOX, [BARN, FOX], FOX, 0.0),
        (BARN + " " + FOX, [BARN], [BARN, FOX], 1 / 2),
        (FOX, [], FOX, 1.0),
        (FOX, [], BARN, 0.0),
    ],
)
def test_self_knowledge(
    answer: str, contexts: list[str], truth: str | list[str], value: float
) -> None:
    assert_is("self_knowledge", value, answer=answer, contexts=contexts, ground_truth=truth)


@pytest.mark.parametrize(
    ("answer", "contexts", "question", "value"),
    [
        ("It has 12 hens.", ["It has 13 hens."], None, 1.0),
        ("It has 12 hens.", ["It has twelve hens."], None, 0.0),
        ("It has 2.3 million hens.", ["2,300,000"], None, 0.0),
        ("It has 12 or 13 of 12 hens.", ["It has 13 hens."], None, 2 / 3),  # each time
        ("It has 12. Yes, 12. Or 13.", ["It has 13 hens."], None, 2 / 3),
        ("It has 12 hens.", ["It has hens."], "Why 12?", 0.0),
        ("It has 1,200 hens and ½.", ["1200"], None, 1 / 2),
        ("It has 12 hens.", [], None, 1.0),
        ("It has 12 hens.", [], "Why 12?", 0.0),
        ("It has hens.", ["12"], None, None),
        ("1. It has hens [2].", ["?"], None, None),  # a marker and a citation are no numbers
    ],
)
def test_unsupported_numbers(
    answer: str, contexts: list[str], question: str | None, value: float | None
) -> None:
    sample = {"answer": answer, "contexts": contexts, "question": question, "language": "en"}
    assert_is("unsupported_numbers", value, **sample)


@pytest.mark.parametrize(
    ("answer", "contexts", "question", "value"),
    [
        ("So Ana left.", ["So Bob left."], None, 1.0),
        ("So Ana left.", ["ana left."], None, 0.0),
        ("So Ana and Bob and Ana left.", ["Bob left."], None, 2 / 3),  # each time it is there
        ("Ana left. Bob left.", ["No."], None, None),  # any word is capitalised there
        ("NASA left.", ["No."], None, 1.0),  # but not like this
        ("So Ana left.", ["No."], "Who is ANA?", 0.0),
        ("So The X left.", ["No."], None, None),  # a stop word and a single letter
        ("So Ana left.", [], None, 1.0),
    ],
)
def test_unsupported_names(
    answer: str, contexts: list[str], question: str | None, value: float | None
) -> None:
    sample = {"answer": answer, "contexts": contexts, "question": question, "language": "en"}
    assert_is("unsupported_names", value, **sample)


FULL: Sample = {"question": ASKED, "answer": BARN, "contexts": [BARN], "ground_truth": BARN}
NO_ANSWER_TO = DIAGNOSTICS
NO_QUESTION_TO = ("context_utilization", "noise_sensitivity")
NO_CONTEXTS_TO = tuple(name for name in DIAGNOSTICS if name != "claim_recall")
NO_TRUTH_TO = ("noise_sensitivity", "claim_recall", "self_knowledge")


@pytest.mark.parametrize(
    ("change", "null", "metrics"),
    [
        ({"answer": None}, NullReason.MISSING_FIELD, NO_ANSWER_TO),
        ({"answer": "?"}, NullReason.NOTHING_TO_MEASURE, NO_ANSWER_TO),
        ({"question": None}, NullReason.MISSING_FIELD, NO_QUESTION_TO),
        ({"question": ""}, NullReason.NOTHING_TO_MEASURE, NO_QUESTION_TO),
        ({"contexts": None}, NullReason.MISSING_FIELD, NO_CONTEXTS_TO),
        ({"ground_truth": None}, NullReason.MISSING_FIELD, NO_TRUTH_TO),
        ({"ground_truth": ["?", ""]}, NullReason.NOTHING_TO_MEASURE, NO_TRUTH_TO),
    ],
)
def test_nulls(change: Sample, null: NullReason, metrics: tuple[str, ...]) -> None:
    """A figure is there in each, so that nothing else makes a score null."""
    full = FULL | {"answer": "So the 12 Hens of Ana had a barn."}
    assert not scored([full], metrics=DIAGNOSTICS).null_reasons.any()
    found = scored([full | change], metrics=DIAGNOSTICS)
    reasons = dict(zip(found.metrics, found.null_reasons[0], strict=True))
    assert {metric for metric, reason in reasons.items() if reason == null} == set(metrics)
    assert {metric for metric, reason in reasons.items() if reason} == set(metrics)


def assert_is(metric: str, value: float | None, **sample: Any) -> None:
    """By the kernels and by the oracle, each of which may be wrong."""
    assert diagnosis(sample).scores[metric] == value
    found = scored([sample], metrics=[metric])
    assert np.array_equal(found.scores, as_matrix([[value]]), equal_nan=True)
