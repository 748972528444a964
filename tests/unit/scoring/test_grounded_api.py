"""The grounded profile in the Python API: what it takes, what it gives, what it refuses."""

from __future__ import annotations

import copy
import json
import math
import pickle
import re
import sys
import unicodedata
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rag_eval
from rag_eval.calibration.fitting import calibrate
from rag_eval.calibration.result import Calibration
from rag_eval.errors import (
    InputError,
    MissingExtraError,
    NotComputedError,
    SignatureMismatchError,
)
from rag_eval.gating.limits import Gates, check_gates
from rag_eval.kernels import snowball
from rag_eval.metrics.ids import ALL_METRIC_IDS, DIAGNOSTIC_IDS, METRIC_IDS
from rag_eval.results.batch import BatchEvalResult
from rag_eval.results.row import EvalSignal, MetricResult, Refusal
from rag_eval.results.summaries import compare_files
from rag_eval.samples import EvalSample, MetricId, NullReason
from tests.tables import every_row

Sample = dict[str, Any]

FULL: Sample = {
    "question": "Who led the trial at Norwick Hospital?",
    "answer": "Dr. Ellen Marsh led the trial. It enrolled 1,300 patients in Paris.",
    "contexts": [
        "Dr. Ellen Marsh, who led the trial at Norwick Hospital, enrolled 1,204 patients.",
        "Bus 92 is slower.",
    ],
    "ground_truth": "Dr. Ellen Marsh",
}
SOUND: Sample = {**FULL, "answer": "Dr. Ellen Marsh led the trial."}
INVENTED: Sample = {**FULL, "answer": "In 2020 Tom Reed sold 17 boats in Lagos."}

THRESHOLDS = {
    "faithfulness": 0.60,
    "hallucination_rate": 0.50,
    "context_recall": 0.60,
    "context_relevance": None,
    "context_precision": None,
    "answer_relevance": None,
    "answer_correctness": 0.40,
}
LOWER_IS_BETTER = (
    "noise_sensitivity",
    "self_knowledge",
    "unsupported_numbers",
    "unsupported_names",
)


def without(sample: Sample, *names: str) -> Sample:
    return {name: value for name, value in sample.items() if name not in names}


def evaluate(
    sample: Any, metrics: Iterable[str] | None = ALL_METRIC_IDS, **options: Any
) -> rag_eval.EvalResult:
    return rag_eval.evaluate(sample, metrics, profile="grounded", **options)


def batch(
    samples: Any, metrics: Iterable[str] | None = ALL_METRIC_IDS, **options: Any
) -> BatchEvalResult:
    return rag_eval.evaluate_batch(samples, metrics, profile="grounded", **options)


def only(sample: Any, metric: str, **options: Any) -> MetricResult:
    return evaluate(sample, [metric], **options).metrics[metric]


def scores(result: rag_eval.EvalResult) -> dict[MetricId, float | None]:
    return {metric: found.score for metric, found in result.metrics.items()}


def refusal(call: Any, error: type[Exception] = InputError) -> str:
    with pytest.raises(error) as caught:
        call()
    return str(caught.value)


# ----------------------------------------------------------------------- thresholds, verdicts


def test_the_seven_metrics_and_their_thresholds() -> None:
    result = rag_eval.evaluate(FULL, profile="grounded")
    assert tuple(result.metrics) == METRIC_IDS
    assert {name: found.threshold for name, found in result.metrics.items()} == THRESHOLDS
    measured = [score for score in scores(result).values() if score is not None]
    assert result.composite_score == pytest.approx(math.fsum(measured) / 7)
    passed = {name: found.passed for name, found in result.metrics.items()}
    assert [name for name, held in passed.items() if held is False] == ["faithfulness"]
    assert {name for name, held in passed.items() if held is None} == {
        name for name, threshold in THRESHOLDS.items() if threshold is None
    }
    assert not result.passed
    assert rag_eval.evaluate(SOUND, profile="grounded").passed


def test_the_composite_decides_only_where_it_is_given_a_threshold() -> None:
    composite = rag_eval.evaluate(FULL, profile="grounded").composite_score
    assert composite is not None
    low = dict.fromkeys(METRIC_IDS, 0.0)
    assert evaluate(FULL, None, thresholds=low).passed
    for bar, passed in ((composite, True), (math.nextafter(composite, 1), False), (None, True)):
        assert evaluate(FULL, None, thresholds=low, composite_threshold=bar).passed is passed
    # It is 0.5, of which the other profile's 0.6 would be too much.
    half: Any = {"metrics": ["hallucination_rate"], "thresholds": {"hallucination_rate": 0.5}}
    assert evaluate(FULL, **half).passed
    assert not evaluate(FULL, **half, composite_threshold=0.6).passed


def test_thresholds_given_win() -> None:
    result = evaluate(FULL, thresholds={"faithfulness": 0.4, "noiseSensitivity": 0.1})
    assert (result.metrics.faithfulness.threshold, result.metrics.faithfulness.passed) == (
        0.4,
        True,
    )
    assert result.metrics.noise_sensitivity.threshold == 0.1
    assert result.metrics.noise_sensitivity.passed
    assert result.metrics.context_recall.threshold == 0.6


def test_diagnostics_have_no_threshold_and_no_part_in_the_composite() -> None:
    result = evaluate(INVENTED)
    assert result.composite_score == evaluate(INVENTED, None).composite_score
    for metric in DIAGNOSTIC_IDS:
        found = result.metrics[metric]
        assert (found.threshold, found.passed, found.signals) == (None, None, ())
        if found.score is not None:
            direction = "lower" if metric in LOWER_IS_BETTER else "higher"
            assert found.explanation.endswith(f"({direction} is better).")


def test_a_run_of_diagnostics_alone_passes() -> None:
    """Regression: its summary said that none of its passing samples passed."""
    for sample in (SOUND, INVENTED, {}):
        result = evaluate(sample, DIAGNOSTIC_IDS)
        assert (result.composite_score, result.passed) == (None, True)
    result = batch([SOUND, INVENTED], DIAGNOSTIC_IDS)
    assert result.passed
    assert np.isnan(result.composite_scores).all()
    assert (result.composite_aggregate.n, result.composite_aggregate.pass_rate) == (0, 1.0)
    assert not batch([], DIAGNOSTIC_IDS).passed


@every_row("metric", LOWER_IS_BETTER)
def test_lower_is_better_passes_up_to_the_threshold(metric: str) -> None:
    score = only(INVENTED, metric).score
    assert score is not None
    for bar, passed in ((score, True), (math.nextafter(score, -1), False), (1.0, True)):
        options: dict[str, Any] = {"thresholds": {metric: bar}}
        result = evaluate(INVENTED, [metric], **options)
        assert (result.metrics[metric].passed, result.passed) == (passed, passed)
        found = batch([INVENTED], [metric], **options)
        assert (found.passed, found.aggregates[metric].pass_rate) == (passed, float(passed))
        assert found.results[0].metrics[metric].passed is passed


def test_higher_is_better_passes_from_the_threshold_on() -> None:
    assert only(SOUND, "claim_recall").score == 1
    assert evaluate(SOUND, ["claim_recall"], thresholds={"claim_recall": 1}).passed
    assert not evaluate(INVENTED, ["claim_recall"], thresholds={"claim_recall": 0.1}).passed


def test_a_diagnostic_with_a_threshold_can_fail_a_sample() -> None:
    options: dict[str, Any] = {"thresholds": {"unsupported_names": 0.2}}
    metrics = ["context_recall", "unsupported_names"]
    assert evaluate(INVENTED, metrics).passed
    result = evaluate(INVENTED, metrics, **options)
    assert (result.composite_score, result.passed) == (1.0, False)
    found = batch([SOUND, INVENTED, without(SOUND, "answer")], metrics, **options)
    assert found.sample_passed.tolist() == [True, False, True]
    aggregate = found.aggregates.unsupported_names
    assert (aggregate.n, aggregate.n_rows) == (2, 3)
    assert (aggregate.pass_rate, aggregate.null_rate) == (1 / 3, 1 / 3)
    assert aggregate.mean == 0.5


# --------------------------------------------------------------------------------------- nulls

NO_QUESTION = "The sample has no question."
NO_ANSWER = "The sample has no answer."
NO_CONTEXTS = "The sample has no contexts."
NO_CONTEXT = "The contexts contain no words, so nothing can support the text."
NO_TRUTH = "The sample has no ground truth."
EMPTY = "The answer contains no words."
ANSWERED = ("faithfulness", "hallucination_rate")

NULLS: list[tuple[Sample, dict[str, str]]] = [
    (
        {"question": None},
        dict.fromkeys(
            [
                *("answer_relevance", "context_precision", "context_relevance"),
                *("context_utilization", "noise_sensitivity"),
            ],
            NO_QUESTION,
        ),
    ),
    (
        {"answer": None},
        dict.fromkeys(
            [*ANSWERED, "answer_relevance", "answer_correctness", *DIAGNOSTIC_IDS], NO_ANSWER
        ),
    ),
    (
        {"contexts": None},
        dict.fromkeys(
            [
                *(*ANSWERED, "context_precision", "context_recall", "context_relevance"),
                *(set(DIAGNOSTIC_IDS) - {"claim_recall"}),
            ],
            NO_CONTEXTS,
        ),
    ),
    (
        {"ground_truth": None},
        dict.fromkeys(
            [
                *("context_recall", "answer_correctness"),
                *("noise_sensitivity", "claim_recall", "self_knowledge"),
            ],
            NO_TRUTH,
        ),
    ),
]


@every_row(("change", "nulls"), NULLS)
def test_a_missing_field_is_null_and_no_error(change: Sample, nulls: dict[str, str]) -> None:
    (name,) = change
    camel = {**without(FULL, name), **({"groundTruth": None} if name == "ground_truth" else change)}
    for sample in (
        without(FULL, name),
        {**FULL, **change},
        camel,
        EvalSample(**{**FULL, **change}),
    ):
        result = evaluate(sample)
        assert {metric for metric, score in scores(result).items() if score is None} == set(nulls)
        for metric, words in nulls.items():
            found = result.metrics[metric]
            assert (found.explanation, found.passed, found.signals) == (words, None, ())
            assert found.null_reason is NullReason.MISSING_FIELD
            assert found.to_dict()["nullReason"] == "missing_field"
            assert (found.evidence, found.chunk_scores) == (None, None)
    result = batch([FULL, {**FULL, **change}])
    columns = [result.metrics.index(metric) for metric in ALL_METRIC_IDS if metric in nulls]
    assert np.flatnonzero(result.null_reasons[1]).tolist() == columns
    assert np.isnan(result.scores[1, columns]).all()
    assert not result.null_reasons[0].any()


@every_row(("change", "nulls"), NULLS)
def test_a_field_without_a_word_has_nothing_to_measure(
    change: Sample, nulls: dict[str, str]
) -> None:
    (name,) = change
    if name == "contexts":
        return
    result = evaluate({**FULL, name: " ?! "})
    for metric, words in nulls.items():
        found = result.metrics[metric]
        if name == "answer" and metric in ("answer_relevance", "answer_correctness"):
            fails = None if THRESHOLDS[metric] is None else False
            assert (found.score, found.explanation, found.passed) == (0.0, EMPTY, fails)
            continue
        empty = f"The {words.removeprefix('The sample has no ')[:-1]} contains no words."
        assert (found.score, found.explanation, found.passed) == (None, empty, None)
        assert found.null_reason is NullReason.NOTHING_TO_MEASURE


def test_an_empty_sample_is_null_throughout() -> None:
    for sample in ({}, EvalSample()):
        result = evaluate(sample)
        assert set(scores(result).values()) == {None}
        assert (result.composite_score, result.passed) == (None, False)
    assert batch([{}, {}], allow_missing=True).aggregates.faithfulness.null_rate == 1


def test_no_contexts_are_not_the_same_as_none_retrieved() -> None:
    metrics = (*ANSWERED, "context_precision", "context_recall", "context_relevance")
    for contexts in ([], (), [None], ["", " \n"]):
        result = evaluate({**FULL, "contexts": contexts})
        for metric in metrics:
            found = result.metrics[metric]
            fails = None if THRESHOLDS[metric] is None else False
            assert (found.score, found.passed, found.explanation) == (0.0, fails, NO_CONTEXT)
            (signal,) = found.signals
            assert signal.id == f"{metric.replace('_', '-')}-no-context"
            assert (signal.severity, signal.message) == ("warning", NO_CONTEXT)
        assert result.metrics.context_relevance.chunk_scores == (0.0,) * len(contexts)
        utilization = result.metrics.context_utilization
        assert utilization.explanation == "No context is relevant to the question."
        assert utilization.null_reason is NullReason.NOTHING_TO_MEASURE


def test_a_null_among_the_contexts_is_an_empty_chunk() -> None:
    chunk = FULL["contexts"][0]
    with_null, with_empty = (evaluate({**FULL, "contexts": [one, chunk]}) for one in (None, ""))
    assert with_null.metrics == with_empty.metrics
    found = with_null.metrics.context_relevance
    assert found.chunk_scores is not None
    assert found.chunk_scores[0] == 0
    assert found.signals[0].message.endswith(": context 0.")
    evidence = with_null.metrics.faithfulness.evidence
    assert evidence is not None
    assert evidence[0].chunk == 1


def test_an_answer_that_has_nothing_to_count() -> None:
    result = evaluate({**FULL, "answer": "Nobody knows that."})
    for metric, words in {
        "unsupported_numbers": "The answer contains no numbers.",
        "unsupported_names": "The answer contains no names.",
    }.items():
        assert result.metrics[metric].explanation == words
        assert result.metrics[metric].null_reason is NullReason.NOTHING_TO_MEASURE


def test_a_refusal_is_irrelevant() -> None:
    found = only({**FULL, "answer": "I don't know."}, "answer_relevance")
    assert (found.score, found.passed) == (0.0, None)
    assert found.explanation == (
        "The answer declines to answer. Refused although relevant contexts were retrieved."
    )
    assert [signal.id for signal in found.signals] == ["answer-relevance-refusal"]


def test_an_answer_that_only_refuses_is_null_and_no_failure() -> None:
    """Nothing to measure, and that is no fault: the row passes where nothing else fails it."""
    refused = {**FULL, "answer": "I don't know.", "contexts": ["Bus 92 is slower."]}
    result = evaluate(without(refused, "ground_truth"), None)
    assert result.refusal == Refusal(only=True, answerable=False)
    for metric in ("faithfulness", "hallucination_rate"):
        found = result.metrics[metric]
        assert (found.score, found.passed) == (None, None)
        assert found.null_reason is NullReason.REFUSAL
        assert found.explanation == "The answer declines to answer."
        assert [one.span for one in found.evidence or ()] == [(0, 13)]
    assert result.metrics.faithfulness.losses is None
    assert result.passed
    assert evaluate(refused, None).passed is False  # it does not agree with the ground truth
    assert batch([without(refused, "ground_truth")], None).n_passed == 1
    # A row of which nothing was measured for another reason does not pass.
    assert not evaluate(without(refused, "ground_truth", "contexts"), None).passed
    there = evaluate({**FULL, "answer": "I don't know. Marsh."})
    assert there.refusal == Refusal(only=False, answerable=True)
    assert evaluate(FULL).refusal is None


def test_the_verdict_on_a_refusal_is_kept_by_files(tmp_path: Path) -> None:
    refused = {**without(FULL, "ground_truth"), "answer": "I don't know."}
    for details in (False, True):
        batch([refused], None).to_json(tmp_path / "r.json", details=details)
        again = BatchEvalResult.from_json(tmp_path / "r.json")
        assert again.n_passed == 1
        assert again.results[0].metrics.faithfulness.null_reason is NullReason.REFUSAL
    assert again.results[0].refusal == Refusal(only=True, answerable=True)
    assert again.results[0].to_dict(details=True)["refusal"] == {"only": True, "answerable": True}


# -------------------------------------------------------------------------------- ground truths


@every_row(
    "truth",
    [
        "Dr. Ellen Marsh",
        ["Dr. Ellen Marsh"],
        ("Dr. Ellen Marsh",),
        ["Dr. Ellen Marsh", None],
        [None, "Dr. Ellen Marsh"],
        ["", "?", "Dr. Ellen Marsh", "Nobody at all"],
    ],
)
def test_one_acceptable_answer_in_any_form(truth: Any) -> None:
    expected = scores(evaluate(FULL))
    for sample in (
        {**FULL, "ground_truth": truth},
        {**without(FULL, "ground_truth"), "groundTruth": truth},
        {**FULL, "ground_truth": truth, "groundTruth": copy.deepcopy(truth)},
        {**FULL, "ground_truth": None, "groundTruth": truth},
        EvalSample(**{**FULL, "ground_truth": truth}),
    ):
        found = scores(evaluate(sample))
        assert found == expected
        assert scores(batch([FULL, sample]).results[1]) == scores(evaluate(sample))


def test_the_best_of_several_answers_counts() -> None:
    golds = ["Nobody", "Dr. Ellen Marsh", "a nurse"]
    one = [evaluate({**FULL, "ground_truth": gold}) for gold in golds]
    several = evaluate({**FULL, "ground_truth": golds})
    for metric in ("context_recall", "answer_correctness", "context_precision", "claim_recall"):
        best = max(result.metrics[metric].score or 0.0 for result in one)
        assert several.metrics[metric].score == best
    assert several.metrics.answer_correctness.explanation.endswith("(best of 3): 0.800.")
    recall = several.metrics.context_recall
    assert "(ground truth 1 of 3, counted from 0)" in recall.explanation
    assert recall.evidence == one[1].metrics.context_recall.evidence


def test_ground_truths_are_counted_as_they_were_given() -> None:
    """Regression: a null before it moved the number of the ground truth that counted."""
    sample = {**FULL, "ground_truth": [None, "", "Tom Reed sold it. Ellen Marsh led the trial."]}
    recall = only(sample, "context_recall")
    assert "(ground truth 2 of 3, counted from 0)" in recall.explanation
    (signal,) = recall.signals
    assert signal.evidence == "Tom Reed sold it."


@every_row("truth", ["", [], (), "[]", [None], [""], ["", None], (None, None)])
def test_an_empty_ground_truth_is_none(truth: Any) -> None:
    found = only({**FULL, "ground_truth": truth}, "context_recall")
    assert found.explanation == NO_TRUTH
    assert found.null_reason is NullReason.MISSING_FIELD


# ------------------------------------------------------------------------------- a bad sample

BAD_SAMPLES: list[tuple[Sample, str]] = [
    ({"question": 5}, "question must be a string, got int"),
    ({"question": 0}, "question must be a string, got int"),
    ({"answer": ["A b."]}, "answer must be a string, got list"),
    ({"answer": b"bytes"}, "answer must be a string, got bytes"),
    ({"contexts": "[Paris, is]"}, "contexts must be a list of strings, got a text in brackets"),
    ({"contexts": {"a": "b"}}, "contexts must be a list of strings, got dict"),
    ({"contexts": 0}, "contexts must be a list of strings, got int"),
    ({"contexts": ["a", 3]}, "contexts[1] must be a string, got int"),
    ({"contexts": [None, {"a": 1}]}, "contexts[1] must be a string, got dict"),
    ({"ground_truth": [3]}, "ground_truth must be a string, got int"),
    ({"ground_truth": [0]}, "ground_truth must be a string, got int"),
    ({"ground_truth": ["a", None, {}]}, "ground_truth must be a string, got dict"),
    ({"ground_truth": 0}, "ground_truth must be a string, got int"),
    ({"ground_truth": {"a": 1}}, "ground_truth must be a string, got dict"),
    ({"ground_truth": np.array(["a", "b"])}, "ground_truth must be a string, got ndarray"),
    (
        {"groundTruth": "Lyon."},
        "ground_truth and groundTruth are both given, with different values",
    ),
    ({"groundTruth": ["Dr. Ellen Marsh"]}, "ground_truth and groundTruth are both given"),
    ({"language": 5}, "language must be a language tag, got int"),
    ({"language": ["en"]}, "language must be a language tag, got list"),
    ({"language": "gremanic"}, "unknown language 'gremanic'"),
    ({"language": "englsh"}, "unknown language 'englsh'; did you mean 'en'?"),
]


@every_row(("change", "message"), BAD_SAMPLES)
def test_a_wrong_type_is_named_with_sample_and_field(change: Sample, message: str) -> None:
    sample = {**FULL, **change}
    assert refusal(lambda: evaluate(sample)).startswith(f"sample: {message}")
    rows = [FULL, SOUND, {**sample, "id": "q-0042"}, FULL, {**FULL, "answer": 7}]
    for threads in (1, 2):
        for given in (rows, iter(rows)):
            found = refusal(lambda: batch(given, threads=threads))  # noqa: B023
            assert found.startswith(f'sample 2 ("q-0042"): {message}')


# The contexts decide on the language of the answer, or on what is a mark in it.
GERMAN_CHUNK = "Der Hund und die Katze sind nicht in dem Haus, das ist ein Problem für die Leute."
ABOUT_DOGS = {"question": "Running dogs?", "ground_truth": "dog runs"}
COMPANY: list[Sample] = [
    FULL,
    {**ABOUT_DOGS, "answer": "dogs running", "contexts": [GERMAN_CHUNK]},
    {**ABOUT_DOGS, "answer": "dogs running [1]", "contexts": ["[1] The dog.", "[2] and a bus"]},
]


@every_row("sample", COMPANY)
def test_a_score_does_not_depend_on_what_else_is_asked_for(sample: Sample) -> None:
    """Regression: texts that no metric asked for reads were left out when the row was read."""
    every = evaluate(sample)
    for metric in ALL_METRIC_IDS:
        alone = evaluate(sample, [metric])
        assert (alone.language, alone.metrics[metric].score) == (
            every.language,
            every.metrics[metric].score,
        )
        (column,) = batch([sample, {}], [metric]).scores[0]
        assert (None if math.isnan(column) else column) == every.metrics[metric].score


def test_every_field_is_looked_at_whatever_the_metric() -> None:
    for change, message in BAD_SAMPLES:
        for metric in ("answer_relevance", "faithfulness"):
            found = refusal(lambda: evaluate({**FULL, **change}, [metric]))  # noqa: B023
            assert found.startswith(f"sample: {message}")
    assert evaluate({**FULL, "contexts": 5}, []).passed is False


@every_row("sample", ["text", 5, None, [FULL]])
def test_what_is_no_sample(sample: Any) -> None:
    fault = f"must be a dict or an EvalSample, got {type(sample).__name__}"
    wanted = "; expected {'question': ..., 'answer': ..., 'contexts': [...]}"
    many = ". To score a list of samples: evaluate_batch(samples)"
    is_list = isinstance(sample, list)
    assert refusal(lambda: evaluate(sample)) == f"sample {fault}{many if is_list else wanted}"
    assert refusal(lambda: batch([FULL, sample])) == f"sample 1 {fault}{wanted}"


# ------------------------------------------------------------------------------------ languages

GERMAN: Sample = {
    "question": "Wo stehen die Häuser?",
    "answer": "Die Häuser stehen am Hafen.",
    "contexts": ["Das Haus steht am Hafen."],
    "ground_truth": "Am Hafen.",
}


def test_the_language_is_detected_or_that_of_the_sample() -> None:
    assert evaluate(FULL).language == "en"
    assert evaluate(GERMAN).language == "de"
    for tag, code in {
        "de": "de",
        "de-AT": "de",
        "DEU": "de",
        "nb": "no",
        "": "en",
        None: "en",
    }.items():
        for sample in ({**FULL, "language": tag}, EvalSample(**FULL, language=tag)):
            assert evaluate(sample).language == code
    for found in (evaluate(GERMAN, language=""), evaluate({**GERMAN, "language": ""})):
        assert (found.language, found.signature) == ("de", evaluate(GERMAN).signature)
    assert rag_eval.evaluate(without(FULL, "language")).language is None
    assert evaluate({**FULL, "language": "de"}).metrics != evaluate(FULL).metrics


def test_the_option_overrides_the_sample() -> None:
    german = {**FULL, "language": "de"}
    assert evaluate(german, language="en-GB").language == "en"
    assert scores(evaluate(german, language="en")) == scores(evaluate(FULL))
    rows = [german, FULL, EvalSample(**FULL, language="fr")]
    result = batch(rows, language="eng")
    assert (result.scores == result.scores[0]).all()
    assert [row.language for row in result.results] == ["en"] * 3
    assert [row.language for row in batch(rows).results] == ["de", "en", "fr"]
    # An unknown tag stays a fault of the sample, whatever is asked for.
    assert "unknown language 'xq'" in refusal(
        lambda: evaluate({**FULL, "language": "xq"}, language="en")
    )


def test_a_language_without_a_list_of_words_is_scored() -> None:
    result = evaluate({**FULL, "language": "sr"})
    assert result.language == "und"
    assert result.metrics.faithfulness.score is not None
    assert str(evaluate(FULL, language="sr").signature).endswith("language:sr|stemmer:light")


# --------------------------------------------------------------------------------- bad options


@every_row(
    ("options", "message"),
    [
        (
            {"profile": "grundet"},
            "profile must be 'overlap' or 'grounded', got 'grundet'; did you mean 'grounded'?",
        ),
        ({"profile": ""}, "profile must be 'overlap' or 'grounded', got ''"),
        ({"profile": 5}, "profile must be 'overlap' or 'grounded', got 5"),
        ({"language": "xx"}, "unknown language 'xx'"),
        ({"language": "germn"}, "unknown language 'germn'; did you mean 'de'?"),
        ({"language": 5}, "language must be a language tag, got 5"),
        ({"stemmer": "snowbal"}, "stemmer must be 'light' or 'snowball', got 'snowbal'; did you"),
        ({"stemmer": True}, "stemmer must be 'light' or 'snowball', got True"),
        (
            {"heuristic": {"ngram_sizes": [1]}},
            "heuristic option ngram_sizes belongs to profile='overlap': the formulas of the "
            "grounded profile have fixed weights and cuts",
        ),
        (
            {"heuristic": {"claimSupportThreshold": 0.2}},
            "option claim_support_threshold belongs to",
        ),
        (
            {"composite_weights": {"noise_sensitivity": 1}},
            "composite_weights['noise_sensitivity']: a diagnostic cannot be part of the composite",
        ),
        (
            {"thresholds": {"noise_sensitivity": "x"}},
            "thresholds['noise_sensitivity'] must be a num",
        ),
    ],
)
def test_options_that_are_refused(options: dict[str, Any], message: str) -> None:
    given: dict[str, Any] = {"profile": "grounded", **options}
    for call in (
        lambda: rag_eval.evaluate(FULL, ALL_METRIC_IDS, **given),
        lambda: rag_eval.evaluate_batch([], ALL_METRIC_IDS, **given),
        lambda: rag_eval.create_evaluator(metrics=ALL_METRIC_IDS, **given),
        lambda: rag_eval.create_evaluator(metrics=ALL_METRIC_IDS, profile="grounded").evaluate(
            FULL, **given
        ),
    ):
        assert message in refusal(call)


@every_row("profile", [{}, {"profile": None}, {"profile": "overlap"}])
def test_options_that_only_the_grounded_profile_has(profile: Any) -> None:
    for options, message in (
        (
            {"language": "de"},
            "the option language works only with --profile grounded (in Python: "
            "profile='grounded'): the overlap profile treats all languages alike",
        ),
        (
            {"stemmer": "light"},
            "the option stemmer works only with --profile grounded (in Python: "
            "profile='grounded'): the overlap profile does not stem",
        ),
    ):
        assert refusal(lambda: rag_eval.evaluate(FULL, **profile, **options)) == message  # noqa: B023
    for metric in DIAGNOSTIC_IDS:
        found = refusal(lambda: rag_eval.evaluate(FULL, [metric], **profile))  # noqa: B023
        assert (
            found
            == f"the metric {metric!r} needs --profile grounded (in Python: profile='grounded')"
        )


def test_options_of_none_are_the_defaults() -> None:
    given: Any = {"language": None, "stemmer": None, "calibration": None}
    given["heuristic"] = {"ngram_sizes": None}
    assert evaluate(FULL, **given).signature == evaluate(FULL).signature


def test_single_metrics_are_those_of_the_overlap_profile() -> None:
    sample = {**FULL, "ground_truth": "Dr. Ellen Marsh"}
    found = rag_eval.compute_metric("faithfulness", sample)
    assert found.score == rag_eval.evaluate(sample).metrics.faithfulness.score
    assert found.score == rag_eval.score_faithfulness(sample).score
    assert (found.threshold, found.evidence, found.probability) == (0.7, None, None)
    assert "needs --profile grounded" in refusal(
        lambda: rag_eval.compute_metric("noise_sensitivity", sample)
    )
    assert "no option 'profile'" in refusal(
        lambda: rag_eval.compute_metric("faithfulness", sample, profile="grounded"),  # type: ignore[call-arg]
        TypeError,
    )


# ----------------------------------------------------------------------------------- evaluators


def test_an_evaluator_of_the_profile() -> None:
    evaluator = rag_eval.create_evaluator(
        profile="grounded",
        language="en",
        metrics=["faithfulness", "unsupported_names"],
        thresholds={"unsupported_names": 0.5},
    )
    metrics = ["faithfulness", "unsupported_names"]
    options: dict[str, Any] = {"language": "en", "thresholds": {"unsupported_names": 0.5}}
    expected = evaluate(FULL, metrics, **options)
    for each in (evaluator, pickle.loads(pickle.dumps(evaluator)), copy.deepcopy(evaluator)):
        assert each.config["profile"] == "grounded"
        assert each.evaluate(FULL).metrics == expected.metrics
        assert each.evaluate_batch([FULL]).results[0].metrics == expected.metrics
        assert each.evaluate(FULL).signature == expected.signature
    # A call's own options win, None with the library's default.
    assert evaluator.evaluate(FULL, language=None).signature == evaluate(FULL, metrics).signature
    assert evaluator.evaluate(FULL, language="de").language == "de"
    overlap = evaluator.evaluate(FULL, ["faithfulness"], profile="overlap", language=None)
    assert overlap.signature == rag_eval.evaluate(FULL, ["faithfulness"]).signature


# ------------------------------------------------------------------------------------ signature


def test_the_signature_names_profile_language_and_stemmer() -> None:
    signature = evaluate(FULL).signature
    assert signature is not None
    assert (signature.profile, signature.version) == ("grounded", 3)
    assert signature.options == {"language": "detected", "stemmer": "light"}
    assert str(signature) == "grounded:3|unicode:17.0.0|language:detected|stemmer:light"
    assert signature == batch([FULL], threads=2).signature
    snowball_ = evaluate(FULL, language="de-AT", stemmer="snowball").signature
    assert snowball_ is not None
    version = pytest.importorskip("Stemmer").version()
    assert snowball_.options == {"language": "de", "stemmer": f"snowball {version}"}


OTHERS: list[tuple[dict[str, Any], dict[str, Any], str]] = [
    ({"profile": "grounded"}, {}, "(profile: overlap, not grounded)"),
    ({}, {"profile": "grounded"}, "(profile: grounded, not overlap)"),
    (
        {"profile": "grounded"},
        {"profile": "grounded", "language": "de"},
        "(language: de, not detected)",
    ),
    (
        {"profile": "grounded", "stemmer": "snowball"},
        {"profile": "grounded"},
        "(stemmer: light, not snowball ",
    ),
]


@every_row(("before", "now", "difference"), OTHERS)
def test_runs_of_other_settings_are_not_compared(
    tmp_path: Path, before: dict[str, Any], now: dict[str, Any], difference: str
) -> None:
    """Regression: for another profile every option that only one of the two has was listed."""
    old, new = (rag_eval.evaluate_batch([SOUND], **options) for options in (before, now))
    for baseline in (old, old.summary_dict()):
        given: dict[str, Any] = {**now, "baseline_result": baseline}
        found = refusal(lambda: rag_eval.evaluate_batch([SOUND], **given), SignatureMismatchError)  # noqa: B023
        assert difference[1:] in found
        forced = rag_eval.evaluate_batch([SOUND], **given, allow_signature_mismatch=True)
        assert forced.notes == ["the settings of the baseline were not checked"]
        assert forced.regressions is not None
    files = tmp_path / "old.json", tmp_path / "new.json"
    for result, file in zip((old, new), files, strict=True):
        result.to_json(file)
    assert difference in refusal(lambda: compare_files(*files), SignatureMismatchError)
    assert difference[1:-1] in compare_files(*files, force=True).differences[0]


def test_a_baseline_without_a_signature_is_of_the_overlap_profile(tmp_path: Path) -> None:
    unsigned = without(batch([SOUND]).summary_dict(), "signature")
    assert "it counts as profile overlap; this run uses grounded" in refusal(
        lambda: batch([SOUND], baseline_result=unsigned), SignatureMismatchError
    )
    assert batch([SOUND], baseline_result=unsigned, allow_signature_mismatch=True).regressions
    old, new = tmp_path / "old.json", tmp_path / "new.json"
    old.write_text(json.dumps(unsigned))
    batch([SOUND]).to_json(new)
    assert "profile: grounded, not overlap (no signature)" in refusal(
        lambda: compare_files(old, new), SignatureMismatchError
    )
    assert compare_files(old, new, force=True).changes


def test_runs_of_the_same_settings_are_compared(tmp_path: Path) -> None:
    old = batch([SOUND], language="en")
    result = batch([INVENTED], None, language="en-US", baseline_result=old)
    assert result.notes == []
    assert [row.metric_id for row in result.regressions or ()] == list(METRIC_IDS)
    old.to_json(tmp_path / "old.json")
    result.to_json(tmp_path / "new.json")
    found = compare_files(tmp_path / "old.json", tmp_path / "new.json")
    # Diagnostics have no part in the composite: nothing to say about it.
    assert (found.differences, found.notes) == ([], [])


# -------------------------------------------------------------------------------------- signals


def signal_of(metric: str, sample: Sample = FULL) -> EvalSignal:
    (found,) = only(sample, metric).signals
    return found


def test_signals_of_sentences_that_are_not_carried() -> None:
    for metric, name, severity in (
        ("faithfulness", "faithfulness-low-support-1", "warning"),
        ("hallucination_rate", "hallucination-unsupported-1", "critical"),
    ):
        signal = signal_of(metric)
        assert (signal.id, signal.metric_id, signal.severity) == (name, metric, severity)
        assert signal.message == (
            "Low support (0.080): best match in context 0, characters 56 to 79, with 50 % of the "
            "sentence's content words; the sentence says 1300, the context 1204; "
            "names in no context: paris."
        )
        assert FULL["contexts"][0][56:79] == "enrolled 1,204 patients"
        assert signal.evidence == "It enrolled 1,300 patients in Paris."
        assert signal.context_chunk_index == 0
    assert only(SOUND, "faithfulness").signals == ()


def test_a_sentence_of_which_no_chunk_has_a_word() -> None:
    sample = {**FULL, "ground_truth": "Dr. Ellen Marsh led it. Tom Reed sold 17 boats."}
    signal = signal_of("context_recall", sample)
    assert (signal.id, signal.severity) == ("context-recall-missing-1", "warning")
    assert "no context shares its content words; numbers in no context: 17; names" in signal.message
    assert signal.evidence == "Tom Reed sold 17 boats."
    assert signal.context_chunk_index is None
    assert "contextChunkIndex" not in signal.to_dict()


def test_signals_of_chunks_and_low_scores() -> None:
    signal = signal_of("context_relevance")
    assert (signal.id, signal.severity) == ("context-relevance-irrelevant-chunks", "info")
    assert signal.message == "Relevance below 0.30: context 1."
    late = {**FULL, "contexts": ["Bus 92 is slower.", "It rains.", FULL["contexts"][0]]}
    assert only(late, "context_precision").signals == ()  # it has no threshold
    correctness = signal_of("answer_correctness", INVENTED)
    assert (correctness.id, correctness.severity) == ("answer-correctness-low", "warning")
    # Thresholds move verdicts, not signals.
    assert only(SOUND, "answer_relevance", thresholds={"answer_relevance": 1}).signals == ()


def test_chunk_and_sentence_scores() -> None:
    result = evaluate(FULL)
    relevance, precision = result.metrics.context_relevance, result.metrics.context_precision
    assert relevance.chunk_scores is not None
    assert precision.chunk_scores is not None
    # With a ground truth the order of the chunks is judged by both.
    assert len(precision.chunk_scores) == 2
    blind = evaluate(without(FULL, "ground_truth")).metrics
    assert blind.context_precision.chunk_scores == relevance.chunk_scores
    first, second = relevance.chunk_scores
    assert first >= 0.3 > second
    for metric in ("faithfulness", "hallucination_rate", "context_recall"):
        found = result.metrics[metric]
        assert found.evidence is not None
        assert found.sentence_scores == tuple(one.support for one in found.evidence)
    faithfulness = result.metrics.faithfulness
    assert faithfulness.sentence_scores is not None
    assert faithfulness.sentence_scores == pytest.approx((0.96, 0.08))
    assert faithfulness.losses is not None
    assert (faithfulness.losses.number, faithfulness.losses.contradiction) == (1, 1)
    assert faithfulness.evidence == result.metrics.hallucination_rate.evidence
    assert result.metrics.answer_correctness.evidence is None
    assert result.metrics.answer_correctness.sentence_scores is None


NFD = {form: unicodedata.normalize("NFD", form) for form in ("Orléans", "théâtre", "à", "musée")}

# Texts in pieces: sentences as they stand in the original.
QUOTED: list[tuple[str, list[str], list[str]]] = [
    (
        "markup",
        [
            "# Trial",
            "\n\n* **Ellen Marsh** led the `trial` at [Norwick](https://norwick.example).",
            "\n* It enrolled <b>1,204</b> patients &amp; ended early [1].",
        ],
        [
            "## Notes\n\n> *Ellen Marsh* led the **trial** at Norwick.\n\n"
            "| enrolled | 1,204 patients |"
        ],
    ),
    (
        "accents of their own",
        [f"Le {NFD['musée']} est {NFD['à']} {NFD['Orléans']}.", f" Le {NFD['théâtre']} est loin."],
        ["Rien.", f"🎨 Le musée d'{NFD['Orléans']} est en face du {NFD['théâtre']}, loin du pont."],
    ),
    (
        "emoji beyond 16 bits",
        ["🎉🎉 The ferry leaves at 7:40.", " 👩‍👩‍👧 It takes 35 minutes 🚢."],
        ["🚢🚢🚢 Ferry: leaves at 7:40 🕖, takes 35 minutes."],
    ),
    (
        "soft hyphens",
        ["The hos\u00adpital opened in 1998.", " It has twelve war\u00adds."],
        ["\u00adThe hospi\u00adtal opened in 1998 with twelve wards."],
    ),
    (
        "scripts of several widths",
        ["Ōsaka 大阪城 was built in 1583.", " Αθήνα and Москва are older."],
        ["大阪城: built in 1583 in Ōsaka.", "Москва, Αθήνα."],
    ),
]


@every_row(("sentences", "contexts"), [pytest.param(*row[1:], id=row[0]) for row in QUOTED])
def test_spans_are_of_the_original_texts(sentences: list[str], contexts: list[str]) -> None:
    text = "".join(sentences)
    sample = {"answer": text, "contexts": contexts, "ground_truth": ["?", text]}
    result = evaluate(sample)
    for metric in ("faithfulness", "hallucination_rate", "context_recall"):
        found = result.metrics[metric]
        assert found.evidence is not None
        end = 0
        for sentence, evidence in zip(sentences, found.evidence, strict=True):
            begin, end = evidence.span
            # All its words; marks at the edges, such as of a list, may stay outside.
            whole = slice(text.index(sentence), text.index(sentence) + len(sentence))
            assert whole.start <= begin < end <= whole.stop
            assert text[begin:end] in sentence
            assert not re.search(r"\w", text[whole.start : begin])
            assert evidence.chunk is not None
            assert evidence.window is not None
            first, last = evidence.window
            window = contexts[evidence.chunk][first:last]
            assert window == window.strip()
            assert first == 0 or not contexts[evidence.chunk][first - 1].isalnum()
            assert last == len(contexts[evidence.chunk]) or not (
                contexts[evidence.chunk][last].isalnum()
            )
        for signal in found.signals:
            index = int(signal.id.rpartition("-")[2])
            assert signal.evidence == text[slice(*found.evidence[index].span)]
            assert signal.context_chunk_index == found.evidence[index].chunk


def test_a_window_is_where_the_words_are() -> None:
    context = "🎨 " * 40 + NFD["théâtre"] + " et " + NFD["musée"] + " d'" + NFD["Orléans"] + " ici."
    sample = {"answer": "Le musée et le théâtre d'Orléans.", "contexts": ["x", None, context]}
    (evidence,) = only(sample, "faithfulness", language="fr").evidence or ()
    assert evidence.chunk == 2
    assert evidence.window is not None
    window = context[slice(*evidence.window)]
    assert window == f"{NFD['théâtre']} et {NFD['musée']} d'{NFD['Orléans']}"
    assert evidence.covered == 1


# ------------------------------------------------------------------------- kinds of input, files

ROWS: list[Any] = [
    FULL,
    {**FULL, "id": "several", "ground_truth": ["Nobody", None, "Dr. Ellen Marsh"]},
    {**FULL, "ground_truth": ["Dr. Ellen Marsh"], "metadata": {"a": [1]}},
    {**without(FULL, "ground_truth"), "groundTruth": ["", "Ellen", "Marsh"], "language": "de"},
    {"question": None, "answer": "Dr. Ellen Marsh.", "contexts": [None, "Ellen Marsh", ""]},
    {**FULL, "contexts": [], "answer": "", "ground_truth": ""},
    {**FULL, "contexts": None, "ground_truth": None, "groundTruth": "Ellen"},
    {**FULL, "ground_truth": [None]},
    EvalSample(**{**FULL, "ground_truth": ("Nobody", "Ellen Marsh")}, id="e", language="en"),
    EvalSample(answer="Ellen Marsh.", contexts=("Ellen Marsh led.",)),
    {},
]


def as_given(sample: Any) -> Any:
    """A sample in the schema of result files; tuples are lists there."""
    return json.loads(json.dumps(evaluate(sample, []).to_dict()["sample"]))


@every_row("metrics", [ALL_METRIC_IDS, ("answer_correctness",), ("faithfulness",)])
def test_a_generator_gives_the_same_and_its_samples_back(metrics: tuple[str, ...]) -> None:
    """Regression: nulls among texts, and lists of one ground truth, came back as other values."""
    listed, generated = batch(ROWS, metrics), batch(iter(ROWS), metrics)
    assert generated.scores.tobytes() == listed.scores.tobytes()
    assert generated.null_reasons.tobytes() == listed.null_reasons.tobytes()
    for sample, left, right in zip(ROWS, listed.results, generated.results, strict=True):
        assert left.sample is sample
        assert left.metrics == right.metrics
        assert left.language == right.language
        assert right.to_dict()["sample"] == as_given(sample)


def test_threads_and_blocks_change_nothing() -> None:
    rows = [*ROWS, GERMAN, INVENTED] * 60
    one = batch(rows, threads=1)
    for threads in (2, 3):
        many = batch(iter(rows), threads=threads)
        assert many.scores.tobytes() == one.scores.tobytes()
        assert many.composite_scores.tobytes() == one.composite_scores.tobytes()
    singles = [evaluate(row) for row in rows[: len(ROWS) + 2]]
    for single, opened in zip(singles, one.results, strict=False):
        assert (single.metrics, single.passed) == (opened.metrics, opened.passed)


def test_a_sample_changed_after_scoring_is_noticed() -> None:
    rows = [copy.deepcopy(FULL)]
    result = batch(rows)
    rows[0]["ground_truth"] = ["Tom Reed"]
    assert "its sample was changed" in refusal(lambda: result.results[0])


@every_row("details", [True, False])
def test_result_files_and_back(tmp_path: Path, details: bool) -> None:
    result = batch(ROWS)
    for name in ("r.json", "r.json.gz"):
        result.to_json(tmp_path / name, details=details)
        again = BatchEvalResult.from_json(tmp_path / name)
        assert again.scores.tobytes() == result.scores.tobytes()
        assert again.null_reasons.tobytes() == result.null_reasons.tobytes()
        assert again.signature == result.signature
        assert again.aggregates == result.aggregates
        for found, row in zip(again.results, result.results, strict=True):
            assert found.to_dict(details) == json.loads(json.dumps(row.to_dict(details)))
            for metric, one in row.metrics.items():
                plain = {"evidence": None, "chunk_scores": None, "losses": None}
                kept = one if details else replace(one, **plain)
                assert found.metrics[metric] == kept
    lines = (result.to_jsonl(details=details) or "").splitlines()
    assert [json.loads(line) for line in lines] == json.loads(
        result.to_json(details=details) or ""
    )["results"]


def test_details_in_the_schema() -> None:
    plain = evaluate(FULL).to_dict()
    full = evaluate(FULL).to_dict(details=True)
    keys = {"sentenceScores", "evidence", "chunkScores", "losses"}
    assert not any(keys & set(metric) for metric in plain["metrics"].values())
    faithfulness = full["metrics"]["faithfulness"]
    assert faithfulness["sentenceScores"] == [one["support"] for one in faithfulness["evidence"]]
    lost = {"window": 0.5, "bigram": 1, "skip": 1, "number": 1, "name": 1, "near": 0}
    assert faithfulness["evidence"][1] == {
        "span": [31, 67],
        "support": pytest.approx(0.08),
        "chunk": 0,
        "window": [56, 79],
        "covered": 0.5,
        "missingNumbers": ["1300"],
        "missingNames": ["paris"],
        "contradiction": ["1300", "1204"],
        "farNames": [],
        "noClaim": False,
        "losses": {**lost, "contradiction": 1, "newName": 1},
    }
    assert set(faithfulness["losses"]) == set(faithfulness["evidence"][1]["losses"])
    assert len(full["metrics"]["contextPrecision"]["chunkScores"]) == 2
    assert not keys & set(full["metrics"]["answerCorrectness"])
    assert full["language"] == "en"


def test_to_pandas() -> None:
    frame = batch(ROWS, ["faithfulness", "unsupported_names"]).to_pandas()
    assert list(frame.columns) == [
        "id",
        "faithfulness",
        "unsupported_names",
        "composite_score",
        "passed",
    ]
    assert len(frame) == len(ROWS)
    assert frame["unsupported_names"].isna().tolist()[-1]


def test_results_can_be_pickled_and_copied() -> None:
    result = evaluate(FULL)
    for again in (pickle.loads(pickle.dumps(result)), copy.deepcopy(result)):
        assert again.metrics == result.metrics
        assert again.metrics.faithfulness.evidence == result.metrics.faithfulness.evidence
        assert again.signature == result.signature
    with pytest.raises(NotComputedError):
        _ = rag_eval.evaluate(FULL, profile="grounded").metrics.noise_sensitivity


# --------------------------------------------------------------------------- regressions, gates


def test_regressions_go_in_the_direction_that_is_worse() -> None:
    good, bad = batch([SOUND] * 2), batch([SOUND, INVENTED])
    worse = batch([SOUND, INVENTED], baseline_result=good)
    better = batch([SOUND] * 2, baseline_result=bad)
    deltas = {row.metric_id: row for row in worse.regressions or ()}
    for metric, sign in {"faithfulness": -1, "unsupported_names": 1, "claim_recall": -1}.items():
        row = deltas[metric]  # type: ignore[index]
        assert row.delta * sign > 0.05
        assert row.regressed
    assert not any(row.regressed for row in better.regressions or ())
    gates = {gate.metric_id: gate for gate in check_gates(worse, Gates.of(None, None, ()), 0.05)}
    names = gates["unsupported_names"]
    assert (names.held, names.wanted) == (False, 0.05)
    assert names.found == deltas["unsupported_names"].delta
    assert names.message == (
        "unsupported_names mean 0.50 is 0.50 above the baseline's 0.00 (threshold 0.05)"
    )
    assert gates["faithfulness"].wanted == -0.05
    held = {gate.metric_id: gate for gate in check_gates(better, Gates.of(None, None, ()), 0.05)}
    assert held["unsupported_names"].held
    assert held["unsupported_names"].message == (
        "unsupported_names mean 0.00 is 0.50 below the baseline's 0.50"
    )


def test_a_rise_of_exactly_the_threshold_is_no_regression() -> None:
    good = batch([SOUND] * 2, ["unsupported_names"])
    for bar, regressed in ((0.5, False), (0.49, True)):
        options: dict[str, Any] = {"baseline_result": good, "regression_threshold": bar}
        found = batch([SOUND, INVENTED], ["unsupported_names"], **options)
        (row,) = found.regressions or ()
        assert (row.delta, row.regressed) == (0.5, regressed)
        (gate,) = check_gates(found, Gates.of(None, None, ()), bar)
        assert gate.message.endswith(f"(threshold {bar:.2f})")
        assert gate.held is not regressed


@every_row("metric", LOWER_IS_BETTER)
def test_a_least_mean_of_what_should_be_low_is_refused(metric: str) -> None:
    found = refusal(lambda: Gates.of(None, {metric: 0.5}, ALL_METRIC_IDS))
    assert found == (
        f"min_mean does not apply to {metric}, where lower is better: use max_mean (--max-mean)"
    )


def test_comparing_files_of_diagnostics(tmp_path: Path) -> None:
    """Regression: a composite mean of 0 was shown where there is none."""
    old, new = tmp_path / "old.json", tmp_path / "new.json"
    batch([INVENTED], DIAGNOSTIC_IDS).to_json(old)
    batch([SOUND], DIAGNOSTIC_IDS).to_json(new)
    changes = {change.name: change for change in compare_files(old, new).changes}
    assert math.isnan(changes["composite"].new.mean)
    assert changes["unsupported_names"].delta < 0
    assert changes["unsupported_names"].improved
    assert changes["claim_recall"].delta > 0
    assert changes["claim_recall"].improved
    back = {change.name: change for change in compare_files(new, old).changes}
    assert not back["unsupported_names"].improved


# ---------------------------------------------------------------------------------- calibration


@pytest.fixture(scope="module")
def labelled() -> BatchEvalResult:
    return batch([SOUND, INVENTED] * 20, ["faithfulness", "context_recall", "answer_correctness"])


@pytest.fixture(scope="module")
def calibration(labelled: BatchEvalResult) -> Calibration:
    return calibrate(labelled, [1, 0] * 20, metric="faithfulness", refit=False)


@pytest.fixture
def of_another_metric(labelled: BatchEvalResult) -> Calibration:
    return calibrate(labelled, [1, 0] * 20, metric="answer_correctness")


def test_a_calibration_in_any_form(
    tmp_path: Path, calibration: Calibration, of_another_metric: Calibration
) -> None:
    file = tmp_path / "c.json"
    calibration.save(file)
    expected = evaluate(FULL, calibration=calibration).metrics
    assert expected.faithfulness.threshold == calibration.threshold != 0.6
    assert expected.faithfulness.probability == calibration.probability(expected.faithfulness.score)
    assert expected.context_recall.probability is None
    assert "probability" not in expected.context_recall.to_dict()
    for given in (
        file,
        str(file),
        calibration.to_dict(),
        {"faithfulness": calibration},
        {"faithfulness": calibration.to_dict()},
        [calibration],
        (file, calibration.to_dict()),
        json.loads(file.read_text()),
    ):
        assert evaluate(FULL, calibration=given).metrics == expected
        assert batch([FULL], calibration=given).results[0].metrics == expected
    both = evaluate(FULL, calibration=[calibration, of_another_metric]).metrics
    assert both.faithfulness == expected.faithfulness
    assert both.answer_correctness.threshold == of_another_metric.threshold
    assert both.answer_correctness.probability is not None


def test_a_calibrated_threshold_decides(calibration: Calibration) -> None:
    sure = batch([SOUND, INVENTED, {}], ["faithfulness"], calibration=calibration)
    assert sure.sample_passed.tolist() == [True, False, False]
    assert [row.metrics.faithfulness.probability for row in sure.results] == [1.0, 0.0, None]
    assert sure.notes == [
        "1 of 3 samples has no answer or contexts, so this metric is null for it: faithfulness"
    ]
    for bar in (0.99, 0.01):
        options: dict[str, Any] = {"thresholds": {"faithfulness": bar}, "calibration": calibration}
        found = evaluate(SOUND, ["faithfulness"], **options).metrics.faithfulness
        assert (found.threshold, found.probability) == (bar, 1.0)
    # A threshold of another metric leaves the calibrated one.
    options = {"thresholds": {"context_recall": 0.1}, "calibration": calibration}
    assert evaluate(SOUND, **options).metrics.faithfulness.threshold == calibration.threshold


def test_probabilities_in_files(calibration: Calibration) -> None:
    result = batch([SOUND, INVENTED], ["faithfulness"], calibration=calibration)
    text = result.to_json() or ""
    rows = json.loads(text)["results"]
    assert [row["metrics"]["faithfulness"]["probability"] for row in rows] == [1.0, 0.0]
    again = BatchEvalResult.from_json(text)
    assert [row.metrics.faithfulness.probability for row in again.results] == [1.0, 0.0]


def test_an_evaluator_with_a_calibration(tmp_path: Path, calibration: Calibration) -> None:
    """Regression: with a mapping it could not be pickled, and a file was read at every call."""
    file = tmp_path / "c.json"
    calibration.save(file)
    evaluators = [
        rag_eval.create_evaluator(profile="grounded", calibration=given)
        for given in (file, calibration, calibration.to_dict(), [{"faithfulness": calibration}])
    ]
    file.unlink()
    for evaluator in evaluators:
        for each in (evaluator, pickle.loads(pickle.dumps(evaluator))):
            found = each.evaluate(SOUND).metrics.faithfulness
            assert (found.threshold, found.probability) == (calibration.threshold, 1.0)
            assert each.evaluate(SOUND, calibration=None).metrics.faithfulness.threshold == 0.6
            assert each.evaluate_batch([SOUND]).results[0].metrics.faithfulness == found


def test_calibrations_that_do_not_fit(tmp_path: Path, calibration: Calibration) -> None:
    other_metric = {"metrics": ["context_recall"], "calibration": calibration}
    assert refusal(lambda: evaluate(SOUND, **other_metric)) == (  # type: ignore[arg-type]
        "the calibration is for faithfulness; this call has context_recall"
    )
    assert refusal(lambda: evaluate(SOUND, calibration=[])).startswith(
        "the calibration is for no metric; this call has faithfulness,"
    )
    for options, difference in (
        ({}, "(profile: overlap, not grounded)"),
        ({"profile": "grounded", "language": "de"}, "(language: de, not detected)"),
        ({"profile": "grounded", "stemmer": "snowball"}, "(stemmer: snowball "),
    ):
        for call in (
            lambda: rag_eval.evaluate(SOUND, calibration=calibration, **options),  # noqa: B023
            lambda: rag_eval.evaluate_batch([], calibration=calibration, **options),  # noqa: B023
            lambda: rag_eval.create_evaluator(calibration=calibration, **options),  # noqa: B023
        ):
            found = refusal(call, SignatureMismatchError)
            assert "the calibration of faithfulness was made for scores of other" in found
            assert difference in found
    broken = tmp_path / "c.json"
    for text, message in (
        ("{", f"{broken} is not a calibration file: it is not valid JSON"),
        ("[]", f"{broken} is not a calibration file: it holds no JSON object"),
        ("{}", f"{broken} is not a calibration: Object missing required field"),
        (json.dumps({**calibration.to_dict(), "formatVersion": 99}), "has format version 99"),
    ):
        broken.write_text(text)
        assert message in refusal(lambda: evaluate(SOUND, calibration=broken))
    assert "cannot read" in refusal(lambda: evaluate(SOUND, calibration=tmp_path / "none.json"))
    assert "calibration must be a Calibration, the path of a file, a mapping" in refusal(
        lambda: evaluate(SOUND, calibration=5)
    )


def test_an_unsigned_calibration_gives_a_note(labelled: BatchEvalResult) -> None:
    column = labelled.scores[:, 0].tolist()
    unsigned = calibrate(column, [1, 0] * 20, metric="faithfulness")
    result = batch([SOUND], calibration=unsigned)
    note = (
        "the calibration of faithfulness has no signature: its settings are assumed to "
        "match, but were not checked"
    )
    assert result.notes == [note]
    assert result.summary_dict()["notes"] == [note]
    assert batch([SOUND], calibration=unsigned, baseline_result=batch([SOUND])).notes == [note]


@every_row("metric", LOWER_IS_BETTER)
def test_what_should_be_low_is_not_calibrated(metric: str, calibration: Calibration) -> None:
    """Regression: a threshold that good rows reach from below was taken as one to stay under."""
    message = f"{metric} cannot be calibrated: lower is better for this metric"
    rows = batch([SOUND, INVENTED] * 20, [metric])
    assert refusal(lambda: calibrate(rows, [1, 0] * 20)) == message
    assert refusal(lambda: calibrate([0.1] * 40, [1, 0] * 20, metric=metric)) == message
    given = {**calibration.to_dict(), "metricId": metric}
    assert message in refusal(lambda: evaluate(SOUND, calibration=given))


def test_a_diagnostic_that_should_be_high_can_be_calibrated() -> None:
    rows = batch([SOUND, INVENTED] * 20, ["claim_recall"])
    found = only(SOUND, "claim_recall", calibration=calibrate(rows, [1, 0] * 20))
    assert (found.threshold, found.passed, found.probability) == (1.0, True, 1.0)


# ------------------------------------------------------------------------------------- snowball


class Counted:
    """The stemmer package, and how often it was asked for each word."""

    def __init__(self, package: Any) -> None:
        self.package = package
        self.words: dict[tuple[str, bytes], int] = {}

    def algorithms(self) -> list[str]:
        return list(self.package.algorithms())

    def version(self) -> str:
        return str(self.package.version())

    def Stemmer(self, algorithm: str) -> Any:
        stemmer, words = self.package.Stemmer(algorithm), self.words

        class Counting:
            def stemWords(self, listed: list[bytes]) -> list[bytes]:
                for word in listed:
                    words[algorithm, word] = words.get((algorithm, word), 0) + 1
                return list(stemmer.stemWords(listed))

        return Counting()


def test_snowball_stems_each_distinct_word_of_a_block_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    counted = Counted(pytest.importorskip("Stemmer"))
    monkeypatch.setattr(snowball, "stemmer_package", lambda: counted)
    rows = [GERMAN, {**FULL, "language": "en"}] * 8
    result = batch(rows, stemmer="snowball", threads=1)
    assert set(counted.words.values()) == {1}
    assert {algorithm for algorithm, _ in counted.words} == {"german", "english"}
    assert ("german", b"hauser") in counted.words
    assert ("english", b"patients") in counted.words
    expected = [evaluate(row, stemmer="snowball") for row in rows[:2]]
    assert [row.metrics for row in result.results[:2]] == [row.metrics for row in expected]


def test_snowball_changes_scores_through_stems_alone() -> None:
    plural = {"answer": "Die Häuser stehen.", "contexts": ["Das Haus steht."]}
    light, stemmed = (
        only(plural, "faithfulness", language="de", stemmer=stemmer)
        for stemmer in ("light", "snowball")
    )
    assert light.score is not None
    assert stemmed.score is not None
    assert stemmed.score > light.score
    # Words that are their own stems, and a language that Snowball does not know.
    same = {"answer": "Das Haus steht.", "contexts": ["Das Haus steht."]}
    for sample, language in ((same, "de"), (plural, "pl"), (FULL, "und")):
        found = [
            scores(evaluate(sample, language=language, stemmer=stemmer))
            for stemmer in ("light", "snowball")
        ]
        assert found[0] == found[1]


def test_snowball_in_batches_of_any_kind() -> None:
    rows = [GERMAN, FULL, {**GERMAN, "language": "de"}, {}, SOUND] * 30
    one = batch(rows, stemmer="snowball", threads=1)
    for given, threads in ((rows, 2), (iter(rows), 1), (iter(rows), 3)):
        many = batch(given, stemmer="snowball", threads=threads)
        assert many.scores.tobytes() == one.scores.tobytes()
        assert many.results[0].metrics == one.results[0].metrics
    assert one.results[0].metrics == evaluate(GERMAN, stemmer="snowball").metrics


def test_snowball_without_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    evaluator = rag_eval.create_evaluator(profile="grounded", stemmer="snowball")
    monkeypatch.setitem(sys.modules, "Stemmer", None)
    for call in (
        lambda: evaluate(FULL, stemmer="snowball"),
        lambda: batch([], stemmer="snowball"),
        lambda: rag_eval.create_evaluator(profile="grounded", stemmer="snowball"),
        lambda: evaluator.evaluate(FULL),
    ):
        found = refusal(call, MissingExtraError)
        assert found == "stemmer='snowball' needs PyStemmer: pip install 'rag-eval-native[lang]'"
    assert evaluate(FULL, stemmer="light").signature == evaluate(FULL).signature
