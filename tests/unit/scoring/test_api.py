"""The Python API from outside: what it refuses and how it says so, and how results behave."""

from __future__ import annotations

import contextlib
import copy
import math
import pickle
import re
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest

import rag_eval
from rag_eval.errors import (
    InputError,
    NotComputedError,
    RagEvalError,
    SignatureMismatchError,
    TextsNotKeptError,
    UnsupportedModeError,
)
from rag_eval.inputs import row_blocks as sources
from rag_eval.inputs.schemas.contexts import UNREADABLE
from rag_eval.metrics.ids import METRIC_IDS
from rag_eval.plumbing.spelling import camel_case
from rag_eval.samples import EvalSample, NullReason
from rag_eval.scoring import progress as progress_module
from tests.tables import every_row

Sample = dict[str, Any]

GOOD: Sample = {
    "question": "What is the capital of France?",
    "answer": "The capital of France is Paris. It lies on the Seine.",
    "contexts": ["Paris is the capital of France.", "The Seine flows through Paris."],
    "groundTruth": "The capital of France is Paris.",
}
OTHER: Sample = {
    "question": "Who wrote it?",
    "answer": "Nobody knows.",
    "contexts": ["It was written long ago."],
    "groundTruth": "Nobody.",
}
NO_TRUTH: Sample = {name: value for name, value in GOOD.items() if name != "groundTruth"}
ALL_METRICS = ", ".join(METRIC_IDS)


def without(sample: Sample, *names: str) -> Sample:
    return {name: value for name, value in sample.items() if name not in names}


def exactly(message: str) -> str:
    return f"^{re.escape(message)}$"


# ----------------------------------------------------------------------------- a bad sample

BAD_SAMPLES: list[tuple[Any, str]] = [
    (without(GOOD, "question"), "question is missing; it must be a string"),
    (without(GOOD, "answer"), "answer is missing; it must be a string"),
    ({**GOOD, "answer": None}, "answer is missing; it must be a string"),
    (without(GOOD, "contexts"), "contexts is missing; it must be a list of strings"),
    ({**GOOD, "contexts": None}, "contexts is missing; it must be a list of strings"),
    (
        {**without(GOOD, "question"), "qestion": "What?"},
        "question is missing. Did you mean the field 'qestion'? Rename it to 'question', or map it "
        "in all rows: --map question=qestion (in Python: mapping={'question': 'qestion'})",
    ),
    (
        {**without(GOOD, "contexts"), "contxts": ["x"]},
        "contexts is missing. Did you mean the field 'contxts'? Rename it to 'contexts', or map it "
        "in all rows: --map contexts=contxts (in Python: mapping={'contexts': 'contxts'})",
    ),
    ({**GOOD, "question": 5}, "question must be a string, got int"),
    ({**GOOD, "question": 0}, "question must be a string, got int"),
    ({**GOOD, "question": b"bytes"}, "question must be a string, got bytes"),
    ({**GOOD, "answer": ["A b."]}, "answer must be a string, got list"),
    ({**GOOD, "answer": 1.5}, "answer must be a string, got float"),
    ({**GOOD, "contexts": "[Paris, is]"}, UNREADABLE),
    ({**GOOD, "contexts": {"a": "b"}}, "contexts must be a list of strings, got dict"),
    ({**GOOD, "contexts": {"a"}}, "contexts must be a list of strings, got set"),
    ({**GOOD, "contexts": 3}, "contexts must be a list of strings, got int"),
    ({**GOOD, "contexts": ["a", None]}, "contexts[1] must be a string, got NoneType"),
    ({**GOOD, "contexts": ["a", "b", 3]}, "contexts[2] must be a string, got int"),
    (
        {**GOOD, "contexts": ({"a": "text"},)},
        "contexts[0] must be a string, got dict with 'a'; to name the key that holds the text: "
        "--map 'contexts=contexts[].KEY'",
    ),
    ({**GOOD, "groundTruth": 5}, "ground_truth must be a string, got int"),
    (
        {**GOOD, "groundTruth": ["a", "b"]},
        "ground_truth is a list of 2 texts, but the overlap profile takes a single text; "
        "--profile grounded uses the best match",
    ),
    (
        {**GOOD, "ground_truth": "Lyon."},
        "ground_truth and groundTruth are both given, with different values",
    ),
]


@every_row(("sample", "message"), BAD_SAMPLES)
def test_a_bad_sample_is_named_with_its_field(sample: Sample, message: str) -> None:
    # One sample has no option that maps fields.
    alone = message.partition(", or map it")[0]
    with pytest.raises(InputError, match=exactly(f"sample: {alone}")):
        rag_eval.evaluate(sample)
    rows = [GOOD, NO_TRUTH, {**sample, "id": "q-0042"}, GOOD]
    for threads in (1, 2):
        for given in (rows, iter(rows)):
            with pytest.raises(InputError, match=exactly(f'sample 2 ("q-0042"): {message}')):
                rag_eval.evaluate_batch(given, threads=threads)


@every_row(
    "sample",
    [
        {"user_input": "q?", "response": "A fox.", "retrieved_contexts": ["A red fox."]},
        {"input": "q?", "actual_output": "A fox.", "retrieval_context": ["A red fox."]},
        {"question": "q?", "answer": "A fox.", "contexts": ["A red fox."], "reference": "Red."},
        {"question": "q?", "answer": "A fox.", "docs": [{"text": "A red fox."}], "x": 1},
    ],
)
@every_row("profile", ["overlap", "grounded"])
def test_one_sample_has_the_names_of_other_tools_as_a_batch_has(
    sample: Sample, profile: Any
) -> None:
    """Regression: its scores were null, or an error named a field of a recognised tool."""
    alone = rag_eval.evaluate(sample, profile=profile)
    batch = rag_eval.evaluate_batch([sample], profile=profile).results[0]
    assert alone.metrics["faithfulness"].score is not None
    assert [one.score for one in alone.metrics.values()] == [
        one.score for one in batch.metrics.values()
    ]
    assert alone.composite_score == batch.composite_score
    assert alone.sample == batch.sample


def test_names_of_several_tools_at_once_leave_our_own() -> None:
    sample = {**without(GOOD, "groundTruth"), "user_input": "x", "input": "y", "prompt": "z"}
    expected = rag_eval.evaluate(NO_TRUTH, profile="grounded")
    assert rag_eval.evaluate(sample, profile="grounded").composite_score == expected.composite_score


def test_a_bad_sample_far_on_is_numbered_from_the_beginning() -> None:
    """Regression: rows are read in blocks, and the number within a block means nothing."""
    rows = [GOOD] * 3000 + [{**GOOD, "answer": 7}]
    with pytest.raises(InputError, match=r"^sample 3000: answer must be a string, got int$"):
        rag_eval.evaluate_batch(rows, threads=2)


@dataclass
class Fielded(Mapping[str, Any]):
    """A mapping that is a dataclass, too."""

    fields: dict[str, Any]

    def __getitem__(self, name: str) -> Any:
        return self.fields[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.fields)

    def __len__(self) -> int:
        return len(self.fields)


def test_a_mapping_is_a_sample_whatever_else_it_is() -> None:
    expected = rag_eval.evaluate(GOOD).composite_score
    assert rag_eval.evaluate(Fielded(GOOD)).composite_score == expected
    assert rag_eval.evaluate_batch([Fielded(GOOD)]).composite_scores.tolist() == [expected]


@every_row("sample", ["text", 5, None, [GOOD], object()])
def test_what_is_no_sample(sample: Any) -> None:
    kind = type(sample).__name__
    with pytest.raises(InputError, match=f"sample must be a dict or an EvalSample, got {kind}"):
        rag_eval.evaluate(sample)
    with pytest.raises(InputError, match=f"sample 1 must be a dict or an EvalSample, got {kind}"):
        rag_eval.evaluate_batch([GOOD, sample])


COLUMNS = (
    "dict of columns. To score its rows, pass pandas.DataFrame(samples), pyarrow.table(samples) or "
    "a list of dicts: [{'question': ..., 'answer': ...}, ...]"
)


@every_row(
    ("samples", "got"),
    [
        ("d.jsonl", "str. To score a file: run_file('d.jsonl')"),
        (Path("d.csv"), f"{type(Path()).__name__}. To score a file: run_file('d.csv')"),
        (GOOD, "dict. To score one sample: evaluate(sample), or a list of one, [sample]"),
        (EvalSample(question="q"), "EvalSample. To score one sample: evaluate(sample)"),
        ({"question": ["q", "r"], "answer": ["a", "b"], "note": "x"}, COLUMNS),
        ({"query": ["q"], "response": ["a"]}, COLUMNS),
        ({}, "dict. To score one sample: evaluate(sample), or a list of one, [sample]"),
        (b"x", "bytes"),
        (None, "NoneType"),
        (5, "int"),
    ],
)
def test_what_is_no_list_of_samples(samples: Any, got: str) -> None:
    with pytest.raises(InputError, match=exactly(f"samples must be a list of samples, got {got}")):
        rag_eval.evaluate_batch(samples)


def test_errors_are_value_errors_of_this_package() -> None:
    assert issubclass(InputError, ValueError)
    assert issubclass(NotComputedError, KeyError)
    for error in (InputError, NotComputedError, TextsNotKeptError, SignatureMismatchError):
        assert issubclass(error, RagEvalError)


def test_an_error_of_the_input_itself_comes_through() -> None:
    def rows() -> Iterator[Sample]:
        yield GOOD
        raise OSError("disk")

    for threads in (1, 3):
        with pytest.raises(OSError, match="disk"):
            rag_eval.evaluate_batch(rows(), threads=threads)


@every_row("truth", [{}, {"groundTruth": None}, {"groundTruth": ""}])
def test_no_ground_truth_is_null_with_its_reason(truth: Sample) -> None:
    result = rag_eval.evaluate({**NO_TRUTH, **truth})
    for metric in ("context_recall", "answer_correctness"):
        found = result.metrics[metric]
        assert (found.score, found.passed) == (None, None)
        assert found.null_reason is NullReason.MISSING_FIELD
        assert found.to_dict()["nullReason"] == "missing_field"
    assert "nullReason" not in result.metrics.faithfulness.to_dict()


def test_two_equal_ground_truths_are_one() -> None:
    both = {**GOOD, "ground_truth": GOOD["groundTruth"]}
    assert rag_eval.evaluate(both).composite_score == rag_eval.evaluate(GOOD).composite_score
    for spelling in ("groundTruth", "ground_truth"):
        none = {**NO_TRUTH, "ground_truth": None, "groundTruth": None, spelling: "Paris."}
        assert rag_eval.score_answer_correctness(none).score is not None


def test_only_fields_that_are_read_have_to_be_there() -> None:
    assert rag_eval.score_answer_relevance({"question": "a b", "answer": "a"}).score
    assert rag_eval.score_context_precision({"question": "a", "contexts": ["a"]}).score == 1
    assert rag_eval.score_faithfulness({"answer": "A b.", "contexts": []}).score == 0
    # Without contexts nothing reads the question for them, and without a truth nothing the rest.
    assert rag_eval.score_context_relevance({"contexts": []}).score == 0
    assert rag_eval.score_answer_correctness({}).score is None
    assert rag_eval.score_context_recall({"contexts": 5}).score is None


# -------------------------------------------------------------------------------- bad options


@every_row(
    ("options", "message"),
    [
        ({"treshold": 1}, "evaluate_batch has no option 'treshold'"),
        ({"thresold": {}}, "evaluate_batch has no option 'thresold'; did you mean 'thresholds'?"),
        ({"thread": 1}, "evaluate_batch has no option 'thread'; did you mean 'threads'?"),
        ({"onProgres": len}, "has no option 'onProgres'; did you mean 'on_progress'?"),
        (
            {"heuristic": {"ngramSize": [1]}},
            "heuristic has no option 'ngramSize'; did you mean 'ngram_sizes'?",
        ),
        ({"metrics_": []}, "evaluate_batch has no option 'metrics_'"),
    ],
)
def test_an_unknown_option_is_a_type_error(options: dict[str, Any], message: str) -> None:
    with pytest.raises(TypeError, match=re.escape(message)):
        rag_eval.evaluate_batch([GOOD], **options)


def test_each_function_knows_its_own_options() -> None:
    with pytest.raises(TypeError, match="evaluate has no option 'threads'"):
        rag_eval.evaluate(GOOD, threads=1)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="create_evaluator has no option 'metric'; did you mean"):
        rag_eval.create_evaluator(metric=["faithfulness"])  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="compute_metric has no option 'thresholds'"):
        rag_eval.compute_metric("faithfulness", GOOD, thresholds={})  # type: ignore[call-arg]
    with pytest.raises(
        TypeError, match="score_faithfulness has no option 'ngram_weigth'; did you mean"
    ):
        rag_eval.score_faithfulness(GOOD, ngram_weigth=1)


@every_row(
    ("name", "hint"),
    [
        ("faithfullness", "; did you mean 'faithfulness'?"),
        ("answerRelevancy", ""),
        ("ANSWER_RELEVANCE", ""),
        ("", ""),
        (None, ""),
        (3, ""),
    ],
)
def test_an_unknown_metric(name: Any, hint: str) -> None:
    message = f"unknown metric {name!r}{hint}"
    for call in (
        lambda: rag_eval.evaluate(GOOD, [name]),
        lambda: rag_eval.evaluate_batch([GOOD], ["faithfulness", name]),
        lambda: rag_eval.compute_metric(name, GOOD),
        lambda: rag_eval.evaluate(GOOD, thresholds={name: 0.5}),
        lambda: rag_eval.evaluate(GOOD, composite_weights={name: 0.5}),
        lambda: rag_eval.create_evaluator(metrics=[name]),
    ):
        with pytest.raises(InputError) as caught:
            call()
        assert str(caught.value).startswith(message)
        assert str(caught.value).endswith(f"the usual ones: {ALL_METRICS})")


@every_row("metrics", ["faithfulness", b"x", 5])
def test_metrics_are_a_list(metrics: Any) -> None:
    with pytest.raises(InputError, match="metrics must be a list of metric ids, got "):
        rag_eval.evaluate(GOOD, metrics)


def test_camel_case_is_accepted_wherever_a_name_comes_in() -> None:
    snake = rag_eval.evaluate_batch(
        [GOOD, OTHER],
        ["answer_relevance", "context_recall"],
        thresholds={"answer_relevance": 0.1},
        composite_threshold=0.2,
        composite_weights={"context_recall": 3},
        heuristic={"tfidf_weight": 2, "sentence_coverage_threshold": 0.9},
        keep_texts=True,
    )
    options: dict[str, Any] = {
        "thresholds": {"answerRelevance": 0.1},
        "compositeThreshold": 0.2,
        "compositeWeights": {"contextRecall": 3},
        "heuristic": {"tfidfWeight": 2, "sentenceCoverageThreshold": 0.9},
        "keepTexts": True,
    }
    camel = rag_eval.evaluate_batch([GOOD, OTHER], ["answerRelevance", "contextRecall"], **options)
    assert camel.metrics == snake.metrics == ("answer_relevance", "context_recall")
    assert camel.scores.tobytes() == snake.scores.tobytes()
    assert camel.composite_scores.tobytes() == snake.composite_scores.tobytes()
    assert camel.sample_passed.tolist() == snake.sample_passed.tolist()
    assert camel.aggregates["answerRelevance"] == snake.aggregates.answer_relevance
    assert camel.aggregates.answerRelevance == snake.aggregates["answer_relevance"]
    assert rag_eval.compute_metric("answerRelevance", GOOD).metric_id == "answer_relevance"


def test_one_option_in_two_spellings() -> None:
    both: dict[str, Any] = {"compositeThreshold": 0.3, "composite_threshold": 0.3}
    assert rag_eval.evaluate(GOOD, **both)
    with pytest.raises(InputError, match="'composite_threshold' is given twice"):
        rag_eval.evaluate(GOOD, **{**both, "compositeThreshold": 0.4})
    twice: dict[str, Any] = {"contextRecall": 0.1, "context_recall": 0.2}
    with pytest.raises(InputError, match="thresholds 'context_recall' is given twice"):
        rag_eval.evaluate(GOOD, thresholds=twice)


@every_row(
    ("value", "found"),
    [
        (None, "must be a number, got NoneType"),
        ("0.5", "must be a number, got str"),
        (True, "must be a number, got bool"),
        ([0.5], "must be a number, got list"),
        (math.nan, "must be finite, got nan"),
        (math.inf, "must be finite, got inf"),
        pytest.param(10**400, "must be finite, got ", id="10**400"),
    ],
)
def test_a_threshold_is_a_finite_number(value: Any, found: str) -> None:
    with pytest.raises(InputError) as caught:
        rag_eval.evaluate(GOOD, thresholds={"faithfulness": value})
    assert str(caught.value).startswith(f"thresholds['faithfulness'] {found}")
    for name, options in {
        "composite_threshold": {"composite_threshold": value},
        "composite_weights['faithfulness']": {"composite_weights": {"faithfulness": value}},
        "regression_threshold": {"regression_threshold": value, "baseline_result": BASELINE},
    }.items():
        if value is None:
            # None is the default there.
            rag_eval.evaluate_batch([GOOD], **options)
        else:
            with pytest.raises(InputError, match=re.escape(f"{name} {found}")):
                rag_eval.evaluate_batch([GOOD], **options)


BASELINE: dict[str, Any] = {"aggregates": {"faithfulness": {"mean": 0.5, "nullRate": 0}}}


def test_a_threshold_of_a_metric_that_is_not_asked_for_is_checked_too() -> None:
    with pytest.raises(InputError, match=r"thresholds\['context_recall'\] must be finite"):
        rag_eval.evaluate(GOOD, ["faithfulness"], thresholds={"context_recall": math.nan})


@every_row("name", ["thresholds", "composite_weights", "metric_modes", "heuristic"])
@every_row("value", [5, "x", [1]])
def test_options_by_name_are_mappings(name: str, value: Any) -> None:
    options: dict[str, Any] = {name: value}
    with pytest.raises(InputError, match=f"{name} must be a mapping.*, got {type(value).__name__}"):
        rag_eval.evaluate(GOOD, **options)


@every_row("name", ["threads", "concurrency"])
@every_row("value", [0, -1, 1.5, True, "2", math.nan, [1]])
def test_threads_and_concurrency_are_whole_numbers_from_one_on(name: str, value: Any) -> None:
    options: dict[str, Any] = {name: value}
    for samples in ([GOOD], []):
        with pytest.raises(InputError) as caught:
            rag_eval.evaluate_batch(samples, **options)
        assert str(caught.value) == f"{name} must be a whole number of at least 1, got {value!r}"


@every_row("mode", ["llm", "hybrid"])
def test_a_mode_that_needs_a_judge(mode: Any) -> None:
    with pytest.raises(UnsupportedModeError, match=f"mode '{mode}' needs a judge. Add --judge"):
        rag_eval.evaluate(GOOD, mode=mode)
    with pytest.raises(UnsupportedModeError, match="or leave out "):
        rag_eval.evaluate_batch([], mode=mode)
    assert rag_eval.evaluate_batch([], mode=mode, judge=lambda prompt: prompt).n_rows == 0
    with pytest.raises(UnsupportedModeError):
        rag_eval.create_evaluator(mode=mode)


def test_a_metric_mode_that_needs_a_judge() -> None:
    """Regression: it was accepted and did nothing, and the score looked judged."""
    modes: Any = {"faithfulness": "llm"}
    with pytest.raises(
        UnsupportedModeError, match="mode 'llm' of the metric 'faithfulness' needs a"
    ):
        rag_eval.evaluate(GOOD, metric_modes=modes)
    with pytest.raises(InputError, match=r"metric_modes\['faithfulness'\] must be"):
        rag_eval.evaluate(GOOD, metric_modes={"faithfulness": "other"})  # type: ignore[dict-item]
    native = rag_eval.evaluate(GOOD, metric_modes={"faithfulness": "heuristic"})
    assert native.metrics.faithfulness.mode == "heuristic"


def test_an_unknown_mode() -> None:
    with pytest.raises(InputError, match="mode must be 'heuristic', 'llm', 'hybrid' or 'cascade'"):
        rag_eval.evaluate(GOOD, mode="fast")  # type: ignore[arg-type]
    assert rag_eval.evaluate(GOOD, mode="heuristic").metrics.faithfulness.mode == "heuristic"


@every_row(
    ("options", "message"),
    [
        ({"ngram_sizes": "12"}, "ngram_sizes must be a list of numbers, got '12'"),
        ({"ngram_sizes": 2}, "ngram_sizes must be a list of numbers, got 2"),
        ({"ngram_sizes": [1, "2"]}, "ngram_sizes must be a number, got str"),
        ({"ngram_sizes": [1, -1]}, "ngram_sizes must hold sizes from 0 on, got -1"),
        ({"ngram_weights": ["a"]}, "ngram_weights must be a number, got str"),
        ({"ngram_weights": [math.nan]}, "ngram_weights must be finite, got nan"),
        ({"claim_support_threshold": True}, "claim_support_threshold must be a number, got bool"),
        ({"claim_support_threshold": math.inf}, "must be finite, got inf"),
        ({"claim_support_threshold": 1e101}, "must be at most 1e+100, got 1e+101"),
        ({"ngram_weight": 1, "tfidf_weight": -1}, "must not add up to 0"),
        ({"ngram_weight": 0, "tfidf_weight": 0}, "must not add up to 0"),
    ],
)
def test_heuristic_options_are_checked(options: Any, message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        rag_eval.evaluate(GOOD, heuristic=options)


def test_a_size_of_any_height_is_wider_than_every_text() -> None:
    for size in (1000, 2**40, 1e99):
        found = rag_eval.evaluate(GOOD, heuristic={"ngram_sizes": [size]})
        assert found.metrics.faithfulness.score == 1.0


@every_row(
    "options",
    [
        # The weights cancel but for a trace, and shares of it are past the largest double.
        {"heuristic": {"ngram_sizes": [1, 2, 3], "ngram_weights": [1e100, -1e100, 1e-300]}},
        {"heuristic": {"ngram_sizes": [1, 2, 3], "ngram_weights": [1, -1, 1e-300]}},
        {"composite_weights": {"faithfulness": 1.7e308, "answer_relevance": 1.7e308}},
    ],
)
def test_weights_that_overflow_are_refused_or_scored(options: Any) -> None:
    """Regression: infinite scores, OverflowError from a deviation, AssertionError on opening."""
    try:
        result = rag_eval.evaluate_batch([GOOD, OTHER], **options)
    except InputError:
        return
    assert np.isfinite(result.scores).all()
    assert np.isfinite(result.composite_scores).all()
    assert [row.composite_score for row in result.results] == result.composite_scores.tolist()


# ---------------------------------------------------------------------------------- progress


class Clock:
    """Time that moves on by a step at each look."""

    def __init__(self, step: float) -> None:
        self.now, self.step = 100.0, step

    def monotonic(self) -> float:
        self.now += self.step
        return self.now


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "BLOCK_BYTES", 1)
    monkeypatch.setattr(sources, "_FIRST_BLOCK_ROWS", 1)


@pytest.mark.usefixtures("small_blocks")
@every_row("threads", [1, 3])
@every_row(("step", "n_calls"), [(1.0, 40), (0.0101, 9), (0.0, 2)])
def test_progress_comes_at_most_every_50_ms_and_at_the_end(
    threads: int, step: float, n_calls: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[tuple[int, int | None]] = []
    monkeypatch.setattr(progress_module, "time", Clock(step))
    rag_eval.evaluate_batch(
        [GOOD] * 40, threads=threads, on_progress=lambda done, total: calls.append((done, total))
    )
    assert len(calls) == n_calls
    done = [completed for completed, _ in calls]
    assert done == sorted(set(done))
    assert {total for _, total in calls} == {40}
    assert done[-1] == 40


@pytest.mark.usefixtures("small_blocks")
@every_row("threads", [1, 3])
def test_progress_of_rows_that_nobody_counted_is_told_on_the_callers_thread(
    threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress_module, "time", Clock(1.0))
    seen: list[tuple[int, int | None]] = []

    def report(completed: int, total: int | None) -> None:
        seen.append((completed, total))
        assert threading.current_thread() is threading.main_thread()

    rag_eval.evaluate_batch(iter([GOOD] * 30), threads=threads, on_progress=report)
    assert seen == [(n, None) for n in range(1, 31)]


def test_no_rows_no_progress() -> None:
    def never(completed: int, total: int | None) -> None:
        raise AssertionError

    rag_eval.evaluate_batch([], on_progress=never)
    rag_eval.evaluate_batch(iter([]), on_progress=never)


@every_row("threads", [1, 2])
@every_row("error", [ZeroDivisionError("mine"), KeyboardInterrupt(), InputError("x")])
def test_an_error_in_the_callback_ends_the_batch_as_itself(
    threads: int, error: BaseException
) -> None:
    calls = []

    def report(completed: int, total: int | None) -> None:
        calls.append(completed)
        raise error

    with pytest.raises(type(error)) as caught:
        rag_eval.evaluate_batch([GOOD] * 500, threads=threads, on_progress=report)
    assert caught.value is error
    assert len(calls) == 1
    assert threading.active_count() < 20


def test_progress_is_not_reported_after_an_error() -> None:
    calls: list[int] = []
    rows = [GOOD] * 20 + [{**GOOD, "answer": 5}]
    with pytest.raises(InputError):
        rag_eval.evaluate_batch(
            rows, threads=1, on_progress=lambda completed, total: calls.append(completed)
        )
    assert 21 not in calls


# -------------------------------------------------------------------------------- lazy results


def test_results_are_a_sequence() -> None:
    rows = [{**GOOD, "id": str(i)} for i in range(7)]
    results = rag_eval.evaluate_batch(rows).results
    assert len(results) == 7
    assert [row.sample["id"] for row in results] == list("0123456")
    assert [row.sample["id"] for row in reversed(results)] == list("6543210")
    assert results[-1].sample["id"] == "6"
    assert results[-7].sample["id"] == "0"
    assert [row.sample["id"] for row in results[1:6:2]] == ["1", "3", "5"]
    assert [row.sample["id"] for row in results[::-3]] == ["6", "3", "0"]
    assert results[5:2] == results[99:] == []
    assert isinstance(results[:2], list)
    for index in (7, -8, 10**9):
        with pytest.raises(IndexError):
            results[index]
    with pytest.raises(TypeError):
        results["0"]  # type: ignore[call-overload]
    assert results[np.int64(2)].sample["id"] == "2"


def test_rows_of_a_list_are_the_callers_objects() -> None:
    rows: list[Any] = [
        GOOD,
        EvalSample(**{**NO_TRUTH, "contexts": ("a",)}),
        MappingProxyType(OTHER),
    ]
    result = rag_eval.evaluate_batch(rows)
    assert all(opened.sample is row for opened, row in zip(result.results, rows, strict=True))
    assert len(result) == 3


def test_rows_of_a_generator_come_back_with_unknown_fields() -> None:
    rows = [
        {**GOOD, "id": "q-1", "metadata": {"a": [1]}, "extra": None},
        {**NO_TRUTH, "groundTruth": None},
        {**NO_TRUTH, "ground_truth": "Paris.", "model": "m"},
        {**NO_TRUTH, "groundTruth": "", "contexts": [], "answer": ""},
    ]
    results = rag_eval.evaluate_batch(row for row in rows).results
    assert results[0].sample == rows[0]
    assert results[1].sample == rows[1]
    assert results[2].sample == {**NO_TRUTH, "groundTruth": "Paris.", "model": "m"}
    assert results[3].sample == rows[3]
    listed = rag_eval.evaluate_batch(rows).results
    for generated, kept in zip(results, listed, strict=True):
        assert generated.metrics == kept.metrics
        assert generated.composite_score == kept.composite_score


def test_rows_of_a_generator_keep_fields_that_no_metric_reads() -> None:
    opened = rag_eval.evaluate_batch(iter([GOOD]), ["answer_relevance"]).results[0]
    assert opened.sample == GOOD
    sample = EvalSample(question="q", answer="a", id="7", metadata={"k": 1})
    opened = rag_eval.evaluate_batch(iter([sample]), ["answer_relevance"]).results[0]
    assert opened.sample == {"question": "q", "answer": "a", "id": "7", "metadata": {"k": 1}}


def test_texts_that_were_not_kept() -> None:
    for rows in ([GOOD, OTHER], iter([GOOD, OTHER])):
        result = rag_eval.evaluate_batch(rows, keep_texts=False)
        assert len(result.results) == 2
        assert result.aggregates.faithfulness.n == 2
        with pytest.raises(TextsNotKeptError, match=r"^row 1 cannot be opened: its texts were not"):
            result.results[-1]
        with pytest.raises(IndexError):
            result.results[2]
        with pytest.raises(LookupError):
            list(result.results)


def test_a_sample_changed_after_scoring_is_not_explained_wrongly() -> None:
    rows = [copy.deepcopy(GOOD), copy.deepcopy(OTHER)]
    result = rag_eval.evaluate_batch(rows)
    rows[1]["answer"] = "Something else entirely. Paris."
    assert result.results[0].composite_score == result.composite_scores[0]
    with pytest.raises(InputError, match="row 1 has other scores than before: its sample was"):
        result.results[1]
    rows[0]["contexts"] = None
    with pytest.raises(InputError, match="contexts is missing"):
        result.results[0]
    rows.clear()
    with pytest.raises((InputError, IndexError)):
        result.results[0]


def test_input_is_not_changed() -> None:
    row = copy.deepcopy(GOOD)
    options: dict[str, Any] = {
        "thresholds": {"contextRecall": 0.1},
        "heuristic": {"ngramSizes": [1, 2], "ngramWeights": [1]},
    }
    before = copy.deepcopy((row, options))
    rag_eval.evaluate(row, **options)
    _ = rag_eval.evaluate_batch([row], **options).results[0]
    assert (row, options) == before


def test_the_empty_batch() -> None:
    for rows in ([], (), iter([])):
        result = rag_eval.evaluate_batch(rows)
        assert len(result) == len(result.results) == 0
        assert list(result.results) == []
        assert result.scores.shape == result.null_reasons.shape == (0, 7)
        assert result.composite_scores.shape == result.sample_passed.shape == (0,)
        assert result.passed is False
        assert list(result.aggregates) == list(METRIC_IDS)
        for aggregate in (*result.aggregates.values(), result.composite_aggregate):
            assert (aggregate.n, aggregate.n_rows, aggregate.pass_rate) == (0, 0, 0.0)
            assert math.isnan(aggregate.mean)
        assert result.regressions is None
        with pytest.raises(IndexError):
            result.results[0]


def test_no_metrics() -> None:
    result = rag_eval.evaluate(GOOD, [])
    assert (dict(result.metrics), result.composite_score, result.passed) == ({}, None, False)
    batch = rag_eval.evaluate_batch([GOOD, OTHER], [])
    assert batch.scores.shape == (2, 0)
    assert np.isnan(batch.composite_scores).all()
    assert not batch.passed
    assert batch.results[1].sample is OTHER
    # No metric reads anything.
    assert rag_eval.evaluate_batch([{}], []).scores.shape == (1, 0)


# --------------------------------------------------------------------------- metrics by name


def test_a_metric_that_was_not_computed() -> None:
    result = rag_eval.evaluate(GOOD, ["faithfulness", "answer_relevance"])
    batch = rag_eval.evaluate_batch([GOOD], ["faithfulness", "answer_relevance"])
    for by_metric in (result.metrics, batch.aggregates):
        for name in ("context_recall", "contextRecall", "nonsense"):
            message = f"{name!r} was not computed; computed: faithfulness, answer_relevance"
            with pytest.raises(NotComputedError, match=exactly(message)):
                by_metric[name]  # type: ignore[index]
            with pytest.raises(NotComputedError, match=exactly(message)):
                getattr(by_metric, name)
            with pytest.raises(AttributeError):
                getattr(by_metric, name)
            assert name not in by_metric
            assert by_metric.get(name) is None  # type: ignore[call-overload]
            assert not hasattr(by_metric, name)
        assert list(by_metric) == ["faithfulness", "answer_relevance"]
        assert "answerRelevance" in by_metric
        assert 5 not in by_metric
        assert by_metric.answer_relevance is by_metric["answerRelevance"]
        assert {"faithfulness", "answer_relevance"} <= set(dir(by_metric))
        with pytest.raises(AttributeError, match="read-only"):
            by_metric.faithfulness = None  # type: ignore[misc]
        with pytest.raises(TypeError):
            by_metric["faithfulness"] = None  # type: ignore[index]
    with pytest.raises(NotComputedError, match="computed: none"):
        _ = rag_eval.evaluate(GOOD, []).metrics.faithfulness


def test_metrics_keep_the_order_asked_for() -> None:
    asked = ["hallucinationRate", "faithfulness", "context_recall"]
    wanted = ["hallucination_rate", "faithfulness", "context_recall"]
    assert list(rag_eval.evaluate(GOOD, asked).metrics) == wanted
    assert list(rag_eval.evaluate_batch([GOOD], iter(asked)).metrics) == wanted
    assert list(rag_eval.evaluate(GOOD).metrics) == list(METRIC_IDS)


# ---------------------------------------------------------------- verdicts, composites, results


def test_a_repeated_metric_counts_twice_in_the_composite() -> None:
    once = rag_eval.evaluate(GOOD, ["faithfulness", "context_recall"])
    twice = rag_eval.evaluate(GOOD, ["faithfulness", "context_recall", "context_recall"])
    faithfulness = once.metrics.faithfulness.score
    recall = once.metrics.context_recall.score
    assert faithfulness is not None
    assert recall is not None
    assert once.composite_score == (faithfulness + recall) / 2
    assert twice.composite_score == (faithfulness + recall + recall) / 3
    assert list(twice.metrics) == ["faithfulness", "context_recall"]


def test_verdicts() -> None:
    lax = dict.fromkeys(METRIC_IDS, 0.0)
    passed = rag_eval.evaluate(GOOD, thresholds=lax, composite_threshold=0)  # type: ignore[arg-type]
    assert passed.passed
    assert all(metric.threshold == 0 and metric.passed for metric in passed.metrics.values())
    # A weight of 0 does not take a metric's veto away.
    vetoed = rag_eval.evaluate(
        GOOD, thresholds={**lax, "context_recall": 1.5}, composite_weights={"context_recall": 0}
    )
    assert not vetoed.passed
    # A null metric has none.
    assert rag_eval.evaluate(NO_TRUTH, thresholds=lax, composite_threshold=0).passed  # type: ignore[arg-type]
    # No weight above 0: no composite, and that never passes.
    nothing: Any = dict.fromkeys(METRIC_IDS, 0)
    weightless = rag_eval.evaluate(
        GOOD,
        thresholds=lax,  # type: ignore[arg-type]
        composite_weights=nothing,
        composite_threshold=-5,
    )
    assert (weightless.composite_score, weightless.passed) == (None, False)
    exact = rag_eval.evaluate(GOOD).metrics.faithfulness.score
    assert exact is not None
    at = rag_eval.evaluate(GOOD, thresholds={"faithfulness": exact}).metrics.faithfulness
    above = math.nextafter(exact, 1)
    over = rag_eval.evaluate(GOOD, thresholds={"faithfulness": above}).metrics.faithfulness
    assert (at.passed, over.passed) == (True, False)


def full_batch() -> rag_eval.BatchEvalResult:
    return rag_eval.evaluate_batch([GOOD, OTHER, NO_TRUTH], baseline_result=BASELINE)


@every_row("duplicate", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_results_can_be_copied_and_pickled(duplicate: Any) -> None:
    one = rag_eval.evaluate(GOOD)
    again = duplicate(one)
    assert again == one
    assert again.to_dict() == one.to_dict()
    assert again.metrics.faithfulness == one.metrics.faithfulness
    for rows in ([GOOD, NO_TRUTH], iter([GOOD, NO_TRUTH])):
        batch = rag_eval.evaluate_batch(rows, baseline_result=BASELINE)
        copied = duplicate(batch)
        assert copied.scores.tobytes() == batch.scores.tobytes()
        assert copied.summary_dict() == batch.summary_dict()
        assert copied.to_dict() == batch.to_dict()
        assert copied.metrics == batch.metrics
    config = {"metrics": ["faithfulness"], "heuristic": {"ngram_sizes": [1]}}
    evaluator = rag_eval.create_evaluator(**config)  # type: ignore[arg-type]
    assert plain(duplicate(evaluator).config) == plain(evaluator.config) == config


def test_samples_can_be_copied_and_pickled() -> None:
    sample = EvalSample(question="q", contexts=["a"], metadata={"a": 1})
    assert pickle.loads(pickle.dumps(sample)) == copy.deepcopy(sample) == sample
    error = pickle.loads(pickle.dumps(NotComputedError("'x' was not computed")))
    assert str(error) == "'x' was not computed"


def test_reprs_are_short() -> None:
    long_row = {**GOOD, "answer": GOOD["answer"] * 500, "contexts": ["word " * 1000] * 50}
    one, batch = rag_eval.evaluate(long_row), rag_eval.evaluate_batch([long_row] * 20)
    for value in (
        one,
        batch,
        batch.results,
        one.metrics.faithfulness,
        one.metrics.faithfulness.to_dict()["score"],
        batch.aggregates.faithfulness,
        batch.composite_aggregate,
        one.cost,
        rag_eval.create_evaluator(metrics=["faithfulness"]),
    ):
        assert len(repr(value)) < 300, repr(value)
    assert "composite_score=" in repr(one)
    assert repr(batch.results) == "<20 results>"


def test_results_are_read_only() -> None:
    one, batch = rag_eval.evaluate(GOOD), full_batch()
    for value, name in [
        (one, "passed"),
        (batch, "passed"),
        (one.metrics.faithfulness, "score"),
        (one.cost, "llm_calls"),
        (batch.aggregates.faithfulness, "mean"),
        (batch.signature, "version"),
    ]:
        with pytest.raises(AttributeError):
            setattr(value, name, 1)


@every_row(
    ("sample", "name"),
    [
        ({"answer": "a"}, "sample 1"),
        ({"answer": "a", "id": "q-2"}, 'sample 1 ("q-2")'),
        (EvalSample(question="q", answer="a", contexts=[], id="q-2"), 'sample 1 ("q-2")'),
    ],
)
def test_a_sample_that_json_has_no_form_for_is_named(sample: Any, name: str) -> None:
    fields = {"question": "q", "contexts": [], "metadata": {"seen": {1}}}
    bad = replace(sample, **fields) if isinstance(sample, EvalSample) else {**fields, **sample}
    batch = rag_eval.evaluate_batch([{**fields, "answer": "a", "metadata": {}}, bad])
    with pytest.raises(InputError) as caught:
        batch.to_json()
    assert str(caught.value) == (
        f"{name} cannot be written as JSON: Object of type set is not JSON serializable"
    )


def test_the_schema_of_result_files() -> None:
    one = rag_eval.evaluate(GOOD).to_dict()
    assert list(one) == [
        "sample",
        "metrics",
        "compositeScore",
        "passed",
        "cost",
        "durationMs",
        "evaluatedAt",
        "signature",
    ]
    assert list(one["metrics"]) == [camel_case(metric) for metric in METRIC_IDS]
    assert list(one["metrics"]["faithfulness"]) == [
        "metricId",
        "score",
        "mode",
        "passed",
        "threshold",
        "explanation",
        "signals",
        "llmCalls",
        "durationMs",
    ]
    assert one["cost"] == {
        "llmCalls": 0,
        "estimatedInputTokens": 0,
        "estimatedOutputTokens": 0,
        "parseFailures": 0,
    }
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", one["evaluatedAt"])
    assert isinstance(one["durationMs"], int)
    batch = full_batch().to_dict()
    assert list(batch["aggregates"]) == [camel_case(metric) for metric in METRIC_IDS]
    assert len(batch["results"]) == 3
    assert "regressions" not in rag_eval.evaluate_batch([GOOD]).to_dict()
    snake = {**NO_TRUTH, "ground_truth": "x"}
    assert rag_eval.evaluate(snake).to_dict()["sample"] == {**NO_TRUTH, "groundTruth": "x"}


# --------------------------------------------------------------------------------- evaluators


def same(left: rag_eval.EvalResult, right: rag_eval.EvalResult) -> bool:
    return (left.metrics, left.composite_score, left.passed, left.signature) == (
        right.metrics,
        right.composite_score,
        right.passed,
        right.signature,
    )


CONFIG: dict[str, Any] = {
    "metrics": ["faithfulness", "context_relevance"],
    "thresholds": {"faithfulness": 0.1, "context_relevance": 0.9},
    "composite_weights": {"faithfulness": 3, "context_relevance": 1},
    "composite_threshold": 0.05,
    "heuristic": {
        "ngram_sizes": [1, 2, 3],
        "ngram_weights": [0.5, 0.25, 0.125],
        "chunk_relevance_threshold": 0.5,
    },
}
PLAIN = without(CONFIG, "metrics")


def plain(value: Any) -> Any:
    """Mappings as dicts, sequences as lists."""
    if isinstance(value, Mapping):
        return {name: plain(inner) for name, inner in value.items()}
    return [plain(inner) for inner in value] if isinstance(value, (list, tuple)) else value


@every_row(
    ("call", "merged"),
    [
        ({}, {}),
        # Merged key by key: the other thresholds, weights and heuristic options stay.
        (
            {"thresholds": {"contextRelevance": 0.2}},
            {"thresholds": {"faithfulness": 0.1, "context_relevance": 0.2}},
        ),
        (
            {"composite_weights": {"faithfulness": 1}},
            {"composite_weights": {"faithfulness": 1, "context_relevance": 1}},
        ),
        # Lists are replaced; sizes alone meet the configuration's weights.
        (
            {"heuristic": {"ngramSizes": [2, 4]}},
            {"heuristic": {**CONFIG["heuristic"], "ngram_sizes": [2, 4]}},
        ),
        # None: the configuration's mappings stay, a single value falls back to the library's.
        ({"thresholds": None, "composite_weights": None, "heuristic": None}, {}),
        ({"composite_threshold": None}, {"composite_threshold": 0.6}),
        ({"composite_threshold": 0.9}, {"composite_threshold": 0.9}),
        # Inside a mapping, None is the library's default.
        (
            {"heuristic": {"ngram_weights": None, "chunk_relevance_threshold": None}},
            {"heuristic": {"ngram_sizes": [1, 2, 3]}},
        ),
        (
            {"composite_weights": {"faithfulness": None}},
            {"composite_weights": {"context_relevance": 1}},
        ),
    ],
)
def test_an_evaluators_options_are_overlaid_by_the_calls(
    call: dict[str, Any], merged: dict[str, Any]
) -> None:
    evaluator = rag_eval.create_evaluator(**CONFIG)
    for row in (GOOD, OTHER):
        wanted = rag_eval.evaluate(row, CONFIG["metrics"], **{**PLAIN, **merged})
        assert same(evaluator.evaluate(row, **call), wanted)
        batch = evaluator.evaluate_batch([row], **call)
        assert same(batch.results[0], wanted)
        assert batch.composite_scores.tolist() == [wanted.composite_score]
    # Calls leave no trace.
    assert plain(evaluator.config) == plain(CONFIG)


def test_an_evaluators_metrics() -> None:
    evaluator = rag_eval.create_evaluator(**CONFIG)
    assert list(evaluator.evaluate(GOOD).metrics) == CONFIG["metrics"]
    assert list(evaluator.evaluate(GOOD, ["contextRecall"]).metrics) == ["context_recall"]
    assert list(evaluator.evaluate(GOOD, []).metrics) == []
    assert evaluator.evaluate_batch([GOOD], ["contextRecall"]).metrics == ("context_recall",)
    assert list(rag_eval.create_evaluator().evaluate(GOOD).metrics) == list(METRIC_IDS)


def test_batch_options_of_an_evaluator() -> None:
    calls: list[int] = []
    evaluator = rag_eval.create_evaluator(
        on_progress=lambda completed, total: calls.append(completed),
        baseline_result=BASELINE,
        regression_threshold=0.5,
        threads=1,
        concurrency=3,
        keep_texts=False,
    )
    result = evaluator.evaluate_batch([GOOD])
    assert calls == [1]
    assert result.regressions is not None
    assert not result.regressions[0].regressed
    with pytest.raises(TextsNotKeptError):
        result.results[0]
    assert evaluator.evaluate(GOOD).composite_score == result.composite_scores[0]
    assert evaluator.evaluate_batch([GOOD], keep_texts=None).results[0].sample is GOOD


def test_the_configuration_is_checked_at_once_and_read_only() -> None:
    with pytest.raises(InputError, match="must be a number"):
        rag_eval.create_evaluator(thresholds={"faithfulness": "high"})  # type: ignore[typeddict-item]
    options: dict[str, Any] = {"compositeThreshold": 0.5, "thresholds": {"contextRecall": 0.5}}
    evaluator = rag_eval.create_evaluator(**options)
    assert plain(evaluator.config) == {
        "composite_threshold": 0.5,
        "thresholds": {"context_recall": 0.5},
    }
    assert isinstance(evaluator.config, Mapping)
    with pytest.raises(TypeError):
        evaluator.config["metrics"] = []  # type: ignore[index]
    with pytest.raises(AttributeError):
        evaluator.config = {}  # type: ignore[misc]
    before = evaluator.evaluate(GOOD)
    options["thresholds"]["contextRecall"] = 2.0
    assert same(evaluator.evaluate(GOOD), before)


def test_what_was_configured_stays() -> None:
    """Regression: lists were the caller's own, and mappings in ``config`` could be changed."""
    sizes = [1, 2]
    evaluator = rag_eval.create_evaluator(
        heuristic={"ngram_sizes": sizes}, thresholds={"faithfulness": 0.5}
    )
    before = evaluator.evaluate(GOOD)
    sizes[0] = 3
    for name in ("heuristic", "thresholds"):
        with contextlib.suppress(TypeError):
            evaluator.config[name]["faithfulness"] = 2.0
    assert same(evaluator.evaluate(GOOD), before)


def test_metrics_given_as_an_iterator_are_not_used_up() -> None:
    evaluator = rag_eval.create_evaluator(metrics=iter(["faithfulness"]))  # type: ignore[arg-type]
    for _ in range(2):
        assert list(evaluator.evaluate(GOOD).metrics) == ["faithfulness"]


def test_an_answer_of_our_name_is_never_replaced_by_that_of_another_tool() -> None:
    sample = {"answer": GOOD["answer"], "contexts": GOOD["contexts"]}
    wanted = rag_eval.compute_metric("faithfulness", sample)
    for theirs in ("output", "result", "prediction"):
        beside = {**sample, theirs: "Something else altogether."}
        assert rag_eval.compute_metric("faithfulness", beside) == wanted
        found = rag_eval.evaluate(beside, metrics=["faithfulness"])
        assert found.metrics["faithfulness"].score == wanted.score


# -------------------------------------------------------------------------------- regressions


def regressions(rows: list[Sample], **options: Any) -> dict[str, rag_eval.MetricRegression]:
    found = rag_eval.evaluate_batch(rows, **options).regressions
    assert found is not None
    return {row.metric_id: row for row in found}


def test_regressions_against_a_run_of_this_library() -> None:
    before = rag_eval.evaluate_batch([GOOD, GOOD])
    found = regressions([GOOD, OTHER], baseline_result=before)
    assert list(found) == list(METRIC_IDS)
    row = found["faithfulness"]
    assert row.baseline_mean == before.aggregates.faithfulness.mean
    assert row.delta == row.current_mean - row.baseline_mean < -0.05
    assert row.regressed
    assert row.failed
    assert not row.not_comparable
    result = rag_eval.evaluate_batch([GOOD, OTHER], baseline_result=before)
    assert result.notes == []
    same_again = regressions([GOOD, GOOD], baseline_result=before.summary_dict())
    assert [row.delta for row in same_again.values()] == [0.0] * 7
    assert not any(row.failed for row in same_again.values())


def test_a_drop_of_exactly_the_threshold_is_no_regression() -> None:
    def verdict(**options: Any) -> bool:
        baseline = {"aggregates": {"contextRecall": {"mean": 1.5}}}
        found = regressions([GOOD], baseline_result=baseline, **options)
        assert list(found) == ["context_recall"]
        assert found["context_recall"].current_mean == 1
        return found["context_recall"].regressed

    assert not verdict(regression_threshold=0.5)
    assert verdict(regression_threshold=math.nextafter(0.5, 0))
    assert verdict()
    assert verdict(regression_threshold=None)
    assert verdict(regression_threshold=-3)


def test_a_metric_that_became_null_is_not_comparable() -> None:
    before = rag_eval.evaluate_batch([GOOD])
    for baseline in (before, before.summary_dict()):
        row = regressions([NO_TRUTH], baseline_result=baseline)["context_recall"]
        assert row.not_comparable
        assert row.failed
        assert not row.regressed
        assert math.isnan(row.current_mean)
        assert math.isnan(row.delta)
        assert row.to_dict() == {
            "metricId": "contextRecall",
            "baselineMean": 1.0,
            "currentMean": None,
            "delta": None,
            "regressed": False,
            "notComparable": True,
        }


def test_a_metric_that_was_null_in_the_baseline_too_fails_nothing() -> None:
    before = rag_eval.evaluate_batch([NO_TRUTH])
    for baseline in (before, before.summary_dict()):
        for rows in ([NO_TRUTH], [GOOD]):
            found = regressions(rows, baseline_result=baseline)
            assert not any(row.failed for row in found.values())
            assert found["context_recall"].unscored == (rows == [NO_TRUTH])
        row = regressions([NO_TRUTH], baseline_result=baseline)["context_recall"]
        assert row.to_dict() == {
            "metricId": "contextRecall",
            "baselineMean": 0.0,
            "currentMean": 0.0,
            "delta": 0.0,
            "regressed": False,
        }


def test_any_score_is_better_than_none_where_lower_scores_are_better() -> None:
    options: dict[str, Any] = {"metrics": ["omk.levenshtein"], "allow_missing": True}
    before = rag_eval.evaluate_batch([NO_TRUTH], **options)
    row = regressions([GOOD], baseline_result=before, **options)["omk.levenshtein"]
    assert row.current_mean > 0.1
    assert not row.failed


def test_a_baseline_of_other_settings_is_refused_unless_forced() -> None:
    before = rag_eval.evaluate_batch([GOOD], heuristic={"claim_support_threshold": 0.5})
    for baseline in (before, before.summary_dict()):
        worked: list[int] = []
        with pytest.raises(SignatureMismatchError) as caught:
            rag_eval.evaluate_batch(
                [OTHER],
                baseline_result=baseline,
                on_progress=lambda completed, total: worked.append(completed),  # noqa: B023
            )
        assert "claim_support_threshold: 0.15, not 0.5" in str(caught.value)
        assert worked == []
        forced = rag_eval.evaluate_batch(
            [OTHER], baseline_result=baseline, allow_signature_mismatch=True
        )
        assert forced.regressions
        assert forced.notes == ["the settings of the baseline were not checked"]
        # What no compared metric reads does not matter.
        assert rag_eval.evaluate_batch([OTHER], ["faithfulness"], baseline_result=baseline)


def test_a_baseline_of_another_version_or_profile_is_refused() -> None:
    before = rag_eval.evaluate_batch([GOOD]).summary_dict()
    for name, value in [("version", 0), ("profile", "grounded"), ("unicode", "14.0.0")]:
        other = {**before, "signature": {**before["signature"], name: value}}
        with pytest.raises(SignatureMismatchError, match=f"{name}: .*, not {value}"):
            rag_eval.evaluate_batch([GOOD], baseline_result=other)


def test_a_baseline_without_a_signature_gives_a_note() -> None:
    result = rag_eval.evaluate_batch([GOOD], baseline_result=BASELINE)
    assert [row.metric_id for row in result.regressions or []] == ["faithfulness"]
    (note,) = result.notes
    assert "no signature" in note
    assert "it is assumed to use profile overlap" in note
    assert result.summary_dict()["notes"] == [note]


@every_row(
    "baseline",
    [
        5,
        "baseline.json",
        {},
        {"aggregates": None},
        {"aggregates": {"faithfulness": {}}},
        {"aggregates": {"faithfulness": {"mean": None}}},
        {"aggregates": {"faithfulness": {"mean": "0.5"}}},
        {"aggregates": {"faithfulness": 0.5}},
        {"aggregates": {"faithfulness": {"mean": 0.5}}, "signature": {"profile": "overlap"}},
        {"aggregates": {"faithfulness": {"mean": math.nan, "nullRate": 0}}},
        {"aggregates": {"faithfulness": {"mean": 10**400}}},
    ],
)
def test_what_is_no_baseline(baseline: Any) -> None:
    with pytest.raises(InputError, match=r"baseline|signature"):
        rag_eval.evaluate_batch([GOOD], baseline_result=baseline)


def test_repeated_metrics_repeat_their_regression() -> None:
    metrics = ["faithfulness", "context_recall", "faithfulness"]
    found = rag_eval.evaluate_batch([GOOD], metrics, baseline_result=BASELINE).regressions
    assert [row.metric_id for row in found or []] == ["faithfulness", "faithfulness"]


def test_an_empty_batch_against_a_baseline() -> None:
    row = regressions([], baseline_result=BASELINE)["faithfulness"]
    assert row.not_comparable
    assert row.failed


@every_row("threads", [1, 2])
def test_the_first_bad_sample_is_named_whatever_its_field(threads: int) -> None:
    """Regression: within a block the fault named was the first by field, not by sample."""
    bad: list[Any] = [GOOD, {**GOOD, "contexts": [None]}, {**GOOD, "question": 5}]
    for rows in (bad, [*bad, {**GOOD, "contexts": "c"}], [*bad, 7]):
        with pytest.raises(InputError, match=r"^sample 1.*contexts\[0\] must be a string"):
            rag_eval.evaluate_batch(rows, threads=threads)
