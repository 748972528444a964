"""Laws of what is shown of sentences, whatever the texts are, in both profiles."""

from __future__ import annotations

import functools
import json
import re
import string
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any, Literal

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from rag_eval import BatchEvalResult, EvalResult, evaluate, evaluate_batch
from rag_eval.samples import NullReason
from rag_eval.views.making import view_of_batch, view_of_file
from rag_eval.views.sentences import (
    SentenceView,
    answer_sentences,
    shown_truth,
    truth_sentences,
)
from tests.grounded_samples import grounded_samples
from tests.strategies import samples as overlap_samples
from tests.strategies import texts

Sample = dict[str, Any]
PROFILES: tuple[Literal["overlap", "grounded"], ...] = ("overlap", "grounded")
# Letters of both directions, marks that combine, overrides, halves of pairs, ends of sentences.
SCRIPTS = (
    "aB. ! ?\n3أب. جד. ה؟ \u0301\u0308\u202e\u2066\u2069\ufeff\ud800\udc00😀한글。คำไทย"
    "\x00\x1b\x85\u2028"
)

READINGS = st.fixed_dictionaries(
    {
        "language": st.sampled_from([None, None, "und", "de", "is"]),
        "stemmer": st.sampled_from(["light", "snowball"]),
    }
)


@st.composite
def mixed_scripts(draw: st.DrawFn) -> Sample:
    """Answers made of pieces of their contexts."""
    pieces = draw(st.lists(st.text(SCRIPTS, min_size=1, max_size=30), min_size=1, max_size=5))
    text = st.lists(st.sampled_from(pieces), max_size=5).map(" ".join)
    contexts = draw(st.lists(text, max_size=3))
    truth = draw(st.one_of(text, st.lists(text, min_size=1, max_size=3)))
    return {
        "question": draw(text),
        "answer": draw(text),
        "contexts": contexts,
        "groundTruth": truth,
    }


# Two halves of a character, one after the other: kernels read them as the character, as JSON does.
_HALVES = re.compile(r"\\ud[89ab][0-9a-f]{2}\\ud[c-f][0-9a-f]{2}")


@functools.cache
def any_samples(profile: str) -> st.SearchStrategy[Sample]:
    odd = st.builds(
        lambda answer, context: {"question": "?", "answer": answer, "contexts": [context]},
        texts(),
        texts(),
    )
    found = st.one_of(overlap_samples(), grounded_samples(), mixed_scripts(), odd)
    return found.map(plain) if profile == "overlap" else found


def plain(sample: Sample) -> Sample:
    """What the overlap profile takes of it: texts, and one ground truth."""
    truth = sample.get("groundTruth", sample.get("ground_truth"))
    return {
        "question": sample.get("question") or "",
        "answer": sample.get("answer") or "",
        "contexts": [text for text in sample.get("contexts") or [] if text is not None],
        "groundTruth": truth[0] if isinstance(truth, list) else truth,
    }


def check(
    shown: Sequence[SentenceView],
    text: str,
    contexts: Sequence[str],
    no_claims: Collection[tuple[int, int]] = (),
) -> None:
    last = 0
    for sentence in shown:
        begin, end = sentence.span
        assert last <= begin < end <= len(text)
        last = end
        assert sentence.text == text[begin:end]
        assert sentence.text.strip(string.whitespace)
        assert 0 <= sentence.support <= 1
        if sentence.chunk is None:
            assert sentence.window is None
            assert sentence.level != "supported" or sentence.span in no_claims
            continue
        assert 0 <= sentence.chunk < len(contexts)
        if sentence.window is not None:
            low, high = sentence.window
            assert 0 <= low < high <= len(contexts[sentence.chunk])


def truths(sample: Any) -> list[str]:
    value = sample.get("groundTruth", sample.get("ground_truth"))
    return [value] if isinstance(value, str) else list(value or [])


@pytest.mark.parametrize("profile", PROFILES)
@given(data=st.data())
def test_sentences_lie_in_order_in_their_text_and_add_up_to_the_scores(
    profile: Any, data: st.DataObject
) -> None:
    sample = data.draw(any_samples(profile))
    assume(not _HALVES.search(repr(sample)))
    contexts = [text or "" for text in sample.get("contexts") or []]
    result = evaluate(sample, profile=profile)
    shown = answer_sentences(result)
    check(shown, sample.get("answer") or "", contexts, no_claims(result, "faithfulness"))
    truth = shown_truth(result)
    assert truth in truths(sample) or truth == ""
    check(truth_sentences(result), truth, contexts, no_claims(result, "context_recall"))
    # Whatever else is measured.
    fewer = evaluate(sample, ["answer_relevance", "hallucination_rate"], profile=profile)
    assert answer_sentences(fewer) == shown
    if shown:
        check_scores(shown, result, profile)


def check_scores(shown: Sequence[SentenceView], result: EvalResult, profile: str) -> None:
    if profile == "overlap":
        mean = sum(one.support for one in shown) / len(shown)
        assert result.metrics.faithfulness.score == pytest.approx(mean)
        held = sum(one.level != "unsupported" for one in shown)
    else:
        found = result.metrics.hallucination_rate
        if found.null_reason == NullReason.REFUSAL or no_claims(result, "faithfulness"):
            return  # labels alone are not counted: the golden vectors have such answers
        held = sum(one.level == "supported" for one in shown)
    assert result.metrics.hallucination_rate.score == pytest.approx(held / len(shown))


def no_claims(result: EvalResult, metric: str) -> set[tuple[int, int]]:
    """Where sentences stand that claim nothing: lead-ins, and labels of citations."""
    evidence = result.metrics[metric].evidence or ()
    return {tuple(one.span) for one in evidence if one.no_claim}


def check_file(samples: list[Sample], **options: Any) -> None:
    batch = evaluate_batch(samples, **options, allow_missing=True)
    for details in (False, True):
        written = batch.to_json(details=details)
        assert written is not None
        read = BatchEvalResult.from_json(written)
        for kept, found in zip(batch.results, read.results, strict=True):
            assert answer_sentences(found) == answer_sentences(kept)
            assert truth_sentences(found) == truth_sentences(kept)


@pytest.mark.parametrize("profile", PROFILES)
@given(data=st.data())
def test_a_result_read_from_its_file_shows_the_same(profile: Any, data: st.DataObject) -> None:
    samples = data.draw(st.lists(any_samples(profile), min_size=1, max_size=3))
    assume(not _HALVES.search(repr(samples)))
    options = data.draw(READINGS) if profile == "grounded" else {}
    check_file(samples, profile=profile, **options)


def test_a_file_without_details_is_read_in_the_language_that_was_asked_for() -> None:
    sample = {
        "question": "What?",
        "answer": "The dogs were running to the river, and to a house of theirs.",
        "contexts": ["A dog runs to rivers.", "the, and to a of were theirs"],
    }
    usual = answer_sentences(evaluate(sample, ["faithfulness"], profile="grounded"))
    check_file([{**sample, "language": ""}], profile="grounded")
    for given_by in ({"language": "und"}, {"language": "is"}):
        asked = evaluate({**sample, **given_by}, ["faithfulness"], profile="grounded")
        assert answer_sentences(asked) != usual
        check_file([{**sample, **given_by}], profile="grounded")
        check_file([sample], profile="grounded", **given_by)


def test_a_file_without_details_is_read_in_the_language_of_all_its_texts() -> None:
    english = "dogs running houses"
    german = "Der Hund und die Katze waren nicht in dem Haus, aber sie sind auf der Straße."
    sample = {"question": "Hunde?", "answer": english, "contexts": ["dog runs house"]}
    both, alone = ({**sample, "groundTruth": one} for one in ([german, english], english))
    found = [evaluate(one, profile="grounded") for one in (both, alone)]
    assert [result.language for result in found] == ["de", "en"]
    assert [*map(shown_truth, found)] == [english, english]
    for sentences_of in (answer_sentences, truth_sentences):
        assert sentences_of(found[0]) != sentences_of(found[1])
    check_file([both, alone], profile="grounded")


def shown(result: EvalResult) -> tuple[Any, ...]:
    return (
        answer_sentences(result),
        truth_sentences(result),
        result.passed,
        result.composite_score,
        [(metric.score, metric.passed, metric.threshold) for metric in result.metrics.values()],
    )


@pytest.mark.parametrize("profile", PROFILES)
def test_a_file_has_the_view_of_the_batch_it_was_written_from(profile: Any, tmp_path: Path) -> None:
    found: list[Sample] = []

    @given(sample=any_samples(profile))
    @settings(database=None, derandomize=True)
    def collect(sample: Sample) -> None:
        # Two halves of a pair side by side are one character to who reads JSON.
        sample = json.loads(json.dumps(sample))
        found.append({**sample, "id": f"q{len(found)}", "metadata": {"part": len(found) % 3}})

    collect()
    batch = evaluate_batch(found, profile=profile, allow_missing=True)
    batch.to_json(tmp_path / "result.json")
    kept = view_of_batch(batch, slice_by=["part"])
    read = view_of_file(tmp_path / "result.json", slice_by=["part"])
    assert [row.name for row in read.rows] == [row.name for row in kept.rows]
    assert [shown(row.result) for row in read.rows] == [shown(row.result) for row in kept.rows]
    assert read.histograms == kept.histograms
    assert repr(read.slices) == repr(kept.slices)  # a mean of nothing is NaN
    assert (read.thresholds, read.passed, read.reason) == (
        kept.thresholds,
        kept.passed,
        kept.reason,
    )
