"""``assert_rag`` in plain Python: what holds, what fails, and what a failure says."""

from __future__ import annotations

import subprocess
import sys
import traceback
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from rag_eval import EvalResult, EvalSample
from rag_eval.errors import InputError
from rag_eval.samples import NullReason
from rag_eval.testing import assert_rag, listening
from tests.tables import every_row

SAMPLE: dict[str, Any] = {
    "id": "q1",
    "question": "How many people live in Paris?",
    "answer": "Paris has two million people. The moon is made of 42 green cheeses.",
    "contexts": ["The old town. Paris has two million people. It is big.", "Rome is old."],
}


class _Kept:
    def __init__(self, **options: Any) -> None:
        self.options = options
        self.added: list[tuple[list[str], bool]] = []
        self.last: EvalResult | None = None

    def add(self, result: EvalResult, passed: bool) -> None:
        self.added.append((list(result.metrics), passed))
        self.last = result


@pytest.fixture(autouse=True)
def nobody_else_listens() -> Iterator[None]:
    """What is scored here is no part of the session's scores."""
    with listening(_Kept()):
        yield


def text_of_failure(sample: Any, *bars: Mapping[str, float], **options: Any) -> str:
    with pytest.raises(AssertionError) as found:
        assert_rag(sample, *bars, **options)
    return str(found.value)


def test_scores_on_the_right_side_of_their_bars_give_the_result() -> None:
    result = assert_rag(SAMPLE, faithfulness=0.1, hallucinationRate=0.5)
    assert isinstance(result, EvalResult)
    assert list(result.metrics) == ["faithfulness", "hallucination_rate"]
    assert result.passed, "by the bars, not by the thresholds of the profile"
    assert result.metrics.hallucination_rate.score == 0.5, "a score at its bar holds"


def test_all_that_is_missed_is_shown_with_the_sentence_behind_it() -> None:
    bars = {"faithfulness": 0.7, "context_recall": 0.5, "hallucination_rate": 0.4}
    lines = text_of_failure(SAMPLE, bars, profile="grounded").splitlines()
    assert lines[0] == 'sample "q1": 2 of 3 thresholds not met (profile grounded)'
    assert lines[1].split() == ["faithfulness", "0.52", "threshold", "0.70"]
    assert lines[3].split() == ["context_recall", "null", "threshold", "0.50"]
    assert lines[4].startswith("    missing_field: ")
    assert lines[5].endswith("threshold 0.40, passed")
    assert "  answer: 1 of 2 sentences not fully supported by the contexts" in lines
    assert "    0.12 unsupported: “The moon is made of 42 green cheeses.”" in lines
    assert "      numbers in no context: 42" in lines
    assert any(line.startswith("    warning faithfulness: ") for line in lines)


def test_the_least_carried_sentences_come_first() -> None:
    sample = {**SAMPLE, "answer": "Paris has blue cheese. Purple elephants sing loudly."}
    text = text_of_failure(sample, faithfulness=0.9, profile="grounded")
    assert text.index(": “Purple elephants sing") < text.index(": “Paris has blue cheese")


def test_an_answer_that_only_declines_passes_where_others_would_fail() -> None:
    sample = {**SAMPLE, "answer": "The passages do not say how many."}
    found = assert_rag(sample, profile="grounded", faithfulness=0.9)
    assert found.metrics.faithfulness.null_reason == NullReason.REFUSAL
    lines = text_of_failure(sample, {"faithfulness": 0.9, "composite": 1}, profile="grounded")
    assert "1 of 2 thresholds not met" in lines


def test_the_best_passage_of_the_context_stands_beside_its_sentence() -> None:
    sample = {**SAMPLE, "answer": "Paris has two million green cheeses and 42 moons."}
    text = text_of_failure(sample, faithfulness=0.9, profile="grounded")
    assert "      best match in contexts[0]: “…Paris has two million…”" in text
    assert "      numbers in no context: 42" in text


def test_sentences_of_the_ground_truth_are_shown_where_they_are_not_covered() -> None:
    sample = {
        **SAMPLE,
        "ground_truth": "Paris has two million people. Berlin hosts seventeen zoos.",
    }
    text = text_of_failure(sample, context_recall=0.9)
    assert "  ground truth: 1 of 2 sentences not fully supported by the contexts" in text
    assert "Berlin hosts seventeen zoos." in text
    one = {**SAMPLE, "answer": "The moon is made of 42 green cheeses."}
    assert "  answer: 1 of 1 sentence not fully" in text_of_failure(one, faithfulness=0.9)
    assert "  answer: " not in text


def test_where_lower_is_better_the_bar_is_the_largest_score() -> None:
    sample = {**SAMPLE, "ground_truth": "Paris has two million people."}
    numbers = assert_rag(sample, {"unsupported_numbers": 0.5}, profile="grounded")
    assert numbers.metrics.unsupported_numbers.score == 0.5
    text = text_of_failure(sample, {"unsupportedNumbers": 0.2}, profile="grounded")
    assert "  unsupported_numbers  0.50  threshold 0.20 (maximum)" in text


def test_metrics_with_dots_go_into_the_mapping() -> None:
    sample = {**SAMPLE, "output": SAMPLE["answer"], "expected": "cheese"}
    options = {"omk.contains": {"value": "nowhere"}}
    text = text_of_failure(sample, {"omk.contains": 1}, scorer_options=options)
    assert "  omk.contains  0.00  threshold 1.00" in text


def test_the_composite_score_is_that_of_all_seven_unless_metrics_are_given() -> None:
    assert len(assert_rag(SAMPLE, composite=0.1).metrics) == 7
    result = assert_rag(SAMPLE, composite=0.2, metrics=["faithfulness"])
    assert list(result.metrics) == ["faithfulness"]
    text = text_of_failure(SAMPLE, composite=0.99)
    assert "  composite  " in text
    assert "sentences not fully supported" in text, "it says why although no metric has a bar"


def test_a_composite_score_that_is_null_misses_its_bar() -> None:
    sample = {"question": "q?", "answer": "A b c.", "contexts": ["A b c."]}
    with pytest.raises(AssertionError, match=r"composite +null +threshold 0\.00"):
        assert_rag(sample, metrics=["context_recall"], composite=0)


def test_numbers_that_round_alike_are_told_apart() -> None:
    score = assert_rag(SAMPLE, faithfulness=0.1).metrics.faithfulness.score
    assert score is not None
    text = text_of_failure(SAMPLE, faithfulness=score + 1e-4)
    found, wanted = text.splitlines()[1].split()[1::2]
    assert found != wanted


def test_texts_of_samples_cannot_reach_the_terminal() -> None:
    hostile = "\x1b[31mcheese\u202e \x9b2J \ud800 \x07green moon"
    sample = EvalSample(
        id="q\x1b]0;title\x07\n\r::error::",
        question=hostile,
        answer=f"Zebras fly, {hostile}. Nobody \x1b[2J {'w' * 1_000_000}.",
        contexts=[f"Paris \x1b[1m is {'v' * 1_000_000} nobody.", "cheese\u202e"],
        ground_truth=f"Berlin {hostile}. Zoos there are.",
    )
    text = text_of_failure(sample, composite=1.0, context_recall=1.0, faithfulness=1.0)
    assert all(line.isprintable() for line in text.split("\n"))
    assert len(text) < 10_000
    assert r"weak: “Nobody \x1b[2J www" in text
    assert r"best match in contexts[0]: “Paris \x1b[1m is vvv" in text
    assert text.startswith(r'sample "q\x1b]0;title\x07 \x3a:error::"')
    with pytest.raises(InputError) as found:
        assert_rag({"id": "q\x1b[31m", "answer": 1, "contexts": []}, faithfulness=0.5)
    assert str(found.value) == r'sample ("q\x1b[31m"): answer must be a string, got int'


@every_row(
    ("bars", "options", "kind", "message"),
    [
        ((), {}, InputError, "needs at least one threshold"),
        ((0.7,), {}, InputError, "thresholds must be a mapping such as"),
        (({"faithfulness": 0.1},), {"faithfulness": 0.2}, InputError, "given twice"),
        ((), {"faithfulness": 70}, InputError, "the threshold of faithfulness .*got 70"),
        ((), {"faithfulness": None}, InputError, "the threshold of faithfulness"),
        ((), {"faithfulnes": 0.7}, TypeError, "did you mean 'faithfulness'"),
        ((), {"thresholds": {}}, TypeError, "give a threshold per metric"),
        (({"omk.nothing": 1},), {}, InputError, "unknown metric 'omk.nothing'"),
    ],
)
def test_bars_that_do_not_fit_are_named(
    bars: tuple[Any, ...], options: dict[str, Any], kind: type[Exception], message: str
) -> None:
    with pytest.raises(kind, match=message) as refused:
        assert_rag(SAMPLE, *bars, **options)
    assert are_hidden(refused.value)


def are_hidden(error: BaseException) -> bool:
    """Whether pytest shows the line of the test alone, and no source of the library."""
    frames = list(traceback.walk_tb(error.__traceback__))[1:]
    return bool(frames) and all(frame.f_locals.get("__tracebackhide__") for frame, _ in frames)


def test_frames_of_the_library_hide_from_pytest() -> None:
    with pytest.raises(AssertionError) as found:
        assert_rag(SAMPLE, faithfulness=1.0)
    with pytest.raises(InputError) as refused:
        assert_rag({**SAMPLE, "contexts": 7}, faithfulness=1.0)
    assert are_hidden(found.value)
    assert are_hidden(refused.value)


def test_who_listens_gives_options_and_is_told() -> None:
    outer, inner = _Kept(), _Kept(profile="grounded")
    with listening(outer):
        with listening(inner):
            result = assert_rag(SAMPLE, faithfulness=0.4)
            assert_rag(SAMPLE, faithfulness=0.4, record=False)
            text_of_failure(SAMPLE, hallucination_rate=0.9)
        assert_rag(SAMPLE, faithfulness=0.1, metrics=["answer_relevance"])
    assert_rag(SAMPLE, faithfulness=0.1)
    assert result.signature is not None
    assert result.signature.profile == "grounded"
    with listening(_Kept(profile="grounded")):
        own = assert_rag(SAMPLE, faithfulness=0.1, profile="overlap").signature
    assert own is not None
    assert own.profile == "overlap", "what a call says counts"
    assert inner.added == [(["faithfulness"], True), (["hallucination_rate"], False)]
    assert outer.added == [(["answer_relevance", "faithfulness"], True)]


def test_a_result_has_the_verdict_of_its_bars() -> None:
    with listening(kept := _Kept()):
        text_of_failure(SAMPLE, faithfulness=0.1, metrics=["faithfulness"], composite=0.99)
    assert kept.last is not None
    assert kept.last.metrics.faithfulness.passed
    assert not kept.last.passed, "the composite score has a bar, too"


def test_it_needs_no_pytest_and_its_import_no_numpy() -> None:
    code = (
        "import sys; from rag_eval.testing import assert_rag; assert 'numpy' not in sys.modules;"
        "assert_rag({'answer': 'Rome is old.', 'contexts': ['Rome is old.']}, faithfulness=0.5);"
        "assert not {'pytest', '_pytest', 'rich', 'click'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
