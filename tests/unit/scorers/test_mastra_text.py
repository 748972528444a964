"""Mastra's scorers of texts without a judge: options, samples, columns, hostile texts."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_eval.errors import InputError
from rag_eval.metrics.contract import Metric, Scored
from rag_eval.samples import NullReason
from rag_eval.scorers.mastra import keyword_coverage as keyword_coverages
from rag_eval.scorers.mastra import similarity
from rag_eval.scorers.mastra import tone_consistency as tones
from rag_eval.scorers.mastra.keyword_coverage import (
    _without_tags,
    create_keyword_coverage_scorer,
    keyword_coverage,
    keywords,
)
from rag_eval.scorers.mastra.run_texts import input_text, output_text
from rag_eval.scorers.mastra.runs import run_of
from rag_eval.scorers.mastra.similarity import (
    content_similarity,
    create_content_similarity_scorer,
    create_textual_difference_scorer,
    textual_difference,
)
from rag_eval.scorers.mastra.tone_consistency import (
    create_tone_consistency_scorer,
    tone_consistency,
)
from tests import strategies
from tests.tables import every_row

METRICS = (*similarity.METRICS, *keyword_coverages.METRICS, *tones.METRICS)
BY_ID = {spec.id: spec for spec in METRICS}
PAIRED = [spec for spec in METRICS if spec.id != "mastra.tone_consistency"]
ROW = {"question": "When does the ferry leave?", "answer": "The ferry leaves at seven."}
WORDS = {"good": 3.0, "bad": -3.0, "great": 3.0}


def found(name: str, fields: dict[str, Any], **options: Any) -> Scored:
    return BY_ID[f"mastra.{name}"].create(**options).score(fields)


# ------------------------------------------------------------------------------------ content


def test_one_option_alone_leaves_the_other_at_its_default() -> None:
    run = {"input": "Hello   World", "output": "hello world"}
    result = create_content_similarity_scorer({"ignoreWhitespace": False}).run(run)
    assert result.score == 1
    assert result.preprocess_result == {
        "processedInput": "hello   world",
        "processedOutput": "hello world",
    }
    assert create_content_similarity_scorer(ignore_case=False).run(run).score == 2 * 6 / 18


def test_white_space_never_counts_whatever_the_option_says() -> None:
    assert content_similarity("a b c", "abc", ignore_whitespace=False).similarity == 1


def test_a_missing_output_is_refused_and_a_missing_input_is_empty() -> None:
    scorer = create_content_similarity_scorer()
    with pytest.raises(InputError, match="needs an output"):
        scorer.run({"input": "text"})
    assert scorer.run({"output": "text"}).score == 0


def test_an_option_must_be_true_or_false() -> None:
    for create in (create_content_similarity_scorer, BY_ID["mastra.content_similarity"].create):
        with pytest.raises(InputError, match="ignore_case must be true or false, got 'no'"):
            create(ignore_case="no")


def test_an_unknown_option_is_named_with_the_nearest() -> None:
    with pytest.raises(TypeError, match="did you mean 'ignore_case'"):
        create_content_similarity_scorer(ignorecase=True)
    with pytest.raises(TypeError, match="no option 'scale'"):
        create_textual_difference_scorer(scale=2)


# --------------------------------------------------------------------------------- difference


@every_row(
    ("left", "right", "changes"),
    [
        ("a b c", "a b c", 0),
        ("a b c", " a\tb  c", 1),
        ("a b c", "c b a", 0),
        ("a b c", "a x c d", 2),
        ("", "a b", 2),
        ("a b", "", 2),
        ("a a b", "a b b", 1),
        ("a\x85b", "a b", 2),
    ],
)
def test_changes_are_words_and_not_their_order(left: str, right: str, changes: int) -> None:
    assert textual_difference(left, right).changes == changes


def test_confidence_does_not_enter_the_score() -> None:
    result = create_textual_difference_scorer().run({"input": "ab", "output": "abcdefgh"})
    assert result.score == 2 * 2 / 10
    assert result.analyze_result == {
        "ratio": 0.4,
        "confidence": 0.25,
        "changes": 1,
        "lengthDiff": 0.75,
    }


# ----------------------------------------------------------------------------------- keywords


@every_row(
    ("text", "expected"),
    [
        ("The ferry, the Ferry and a FERRY!", ["ferry"]),
        ("'quoted' it's don’t \"'tis\"", ["quoted", "dont", "'tis"]),
        ("'", []),
        ("1,200 18c ٣ 3.5", ["18c", "٣"]),
        ("_ @ & # - __ $", ["-", "__", "$"]),
        ("see HTTPS://A.b https://A.b (http://x)", ["https//ab", "https://A.b", "(http://x)"]),
        ("<a href='x'>ferry</a> <> tide <", ["ferry", "<>", "tide", "<"]),
        ("state-of-the-art and/or Node.js", ["state-of-the-art", "and/or", "nodejs"]),
        ("cold\x85water\ufeffpipe", ["cold\x85water", "pipe"]),
    ],
)
def test_keywords_are_words_that_say_something(text: str, expected: list[str]) -> None:
    assert keywords(text) == expected


@given(st.text("<>ab \n", max_size=20))
def test_tags_are_left_out_as_by_the_pattern(text: str) -> None:
    assert _without_tags(text) == re.sub("<[^>]+>", "", text)


def test_coverage_is_of_the_keywords_that_came_in() -> None:
    coverage = keyword_coverage("ferry and tide tables", "tide tables, tide charts")
    assert coverage.coverage == 2 / 3
    assert coverage.matched_keywords == ["tide", "tables"]
    result = create_keyword_coverage_scorer().run({"input": "the of", "output": "ferry"})
    assert result.score == 1
    assert result.analyze_result == {"totalKeywordsLength": 0, "matchedKeywordsLength": 0}


# --------------------------------------------------------------------------------------- tone


def test_a_steady_tone_is_1_whatever_it_is() -> None:
    assert tone_consistency("good. good. good.", lexicon=WORDS).score == 1
    assert tone_consistency("good. bad.", lexicon=WORDS).score == 0


def test_text_after_the_last_mark_does_not_count() -> None:
    assert tone_consistency("good. good. bad", lexicon=WORDS).score == 1
    assert tone_consistency("good bad", lexicon=WORDS).to_dict()["avgSentiment"] == 0


def test_marks_before_the_first_sentence_are_none() -> None:
    found = tone_consistency("...good. good.", lexicon=WORDS).to_dict()
    assert found == {"score": 1, "avgSentiment": 3, "sentimentVariance": 0}


def test_variance_is_that_of_all_sentences() -> None:
    found = tone_consistency("a good one. one.", lexicon=WORDS).to_dict()
    assert found == {"score": 0.75, "avgSentiment": 0.5, "sentimentVariance": 0.25}


def test_an_empty_reference_is_none() -> None:
    assert tone_consistency("good.", "", lexicon=WORDS).score == 1
    assert tone_consistency("good.", "bad", lexicon=WORDS).score == 0
    assert tone_consistency("good.", "great", lexicon=WORDS).score == 1


def test_the_lexicon_is_read_once_and_kept_out_of_sight() -> None:
    scorer = create_tone_consistency_scorer({"referenceTone": "bad", "lexicon": WORDS})
    assert scorer.settings.words == WORDS
    assert "good" not in repr(scorer)
    with pytest.raises(InputError, match="reference_tone must be a text, got int"):
        create_tone_consistency_scorer(reference_tone=3)
    with pytest.raises(InputError, match="lexicon"):
        BY_ID["mastra.tone_consistency"].create(lexicon=3)


# --------------------------------------------------------------------------- runs and samples


def test_all_messages_count_and_empty_ones_leave_their_place() -> None:
    run = run_of(
        {
            "input": [
                {"role": "system", "text": "rules"},
                {"role": "user", "text": "One"},
                {"role": "user", "text": ""},
                {"role": "assistant", "text": "Three"},
            ],
            "output": [{"role": "tool", "text": "18C"}, {"role": "assistant", "text": "cloudy"}],
        }
    )
    assert (input_text(run), output_text(run)) == ("One, , Three", "18C, cloudy")


@every_row("spec", METRICS, ids=lambda spec: spec.id)
def test_messages_score_as_their_texts_do(spec: Metric) -> None:
    messages = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": ROW["question"]},
        {"role": "assistant", "content": ROW["answer"]},
    ]
    scorer = spec.create()
    assert scorer.score({"messages": messages}) == scorer.score(ROW)
    assert scorer.score(ROW).score is not None
    assert scorer.score(ROW).explanation.endswith(".")


@every_row("spec", METRICS, ids=lambda spec: spec.id)
@every_row(
    ("fields", "lacking"),
    [
        ({"question": "When?"}, "No answer given."),
        ({"messages": [{"role": "user", "text": "When?"}]}, "No message of the agent given."),
    ],
)
def test_what_lacks_an_answer_has_no_score(
    spec: Metric, fields: dict[str, Any], lacking: str
) -> None:
    assert spec.create().score(fields) == Scored(None, NullReason.MISSING_FIELD, lacking)


@every_row("spec", PAIRED, ids=lambda spec: spec.id)
@every_row(
    ("fields", "lacking"),
    [
        ({"answer": "At seven."}, "No question given."),
        ({"messages": [{"role": "assistant", "text": "Seven"}]}, "No message of the user given."),
    ],
)
def test_what_lacks_a_question_has_no_score_where_it_is_compared(
    spec: Metric, fields: dict[str, Any], lacking: str
) -> None:
    assert spec.create().score(fields) == Scored(None, NullReason.MISSING_FIELD, lacking)


def test_the_tone_needs_no_question() -> None:
    assert found("tone_consistency", {"answer": "good. good."}).score == 1


def test_messages_that_are_none_are_refused() -> None:
    for spec in METRICS:
        with pytest.raises(InputError, match="messages"):
            spec.create().score({"messages": ["text"]})


@pytest.mark.parametrize("spec", PAIRED, ids=lambda spec: spec.id)
@given(rows=st.lists(st.tuples(strategies.texts(max_parts=2), strategies.texts(max_parts=2))))
def test_a_column_is_its_rows(spec: Metric, rows: list[tuple[str, str]]) -> None:
    fields: list[dict[str, Any]] = [{"question": q, "answer": a} for q, a in rows]
    fields += [{"question": "no answer"}, {"messages": [{"role": "user", "content": "a"}]}]
    scorer = spec.create()
    assert scorer.column is not None
    scores, reasons = scorer.column(fields)
    assert scores.dtype == np.float64
    assert reasons.dtype == np.uint8
    one_by_one = [scorer.score(row) for row in fields]
    wanted = [np.nan if one.score is None else one.score for one in one_by_one]
    assert np.array_equal(scores, wanted, equal_nan=True)
    assert reasons.tolist() == [int(one.null_reason) for one in one_by_one]


def test_options_reach_the_column() -> None:
    rows = [{"question": "ABC", "answer": "abc"}]
    for ignore_case, expected in ((True, 1.0), (False, 0.0)):
        scorer = BY_ID["mastra.content_similarity"].create(ignore_case=ignore_case)
        assert scorer.column is not None
        assert scorer.column(rows)[0].tolist() == [expected]


@given(strategies.texts(), strategies.texts())
def test_scores_are_from_0_to_1_and_equal_texts_score_1(left: str, right: str) -> None:
    for spec in METRICS:
        score = spec.create().score
        one, same = score({"question": left, "answer": right}).score, 1.0
        assert one is not None
        assert 0 <= one <= 1
        if spec in PAIRED:
            same = score({"question": left, "answer": left}).score or 0.0
        assert same == 1


# ------------------------------------------------------------------------------ hostile texts


@pytest.mark.timeout(200)
@every_row(
    "text",
    [
        "<" * 400_000,
        "a" * 400_000,
        "." * 400_000,
        "a." * 100_000,
        "good not " * 2**15,
        "\ud800" * 400_000,
        "\U0001f600 " * 2**16,
        "\t " * 200_000,
        "'" * 400_000,
        "",
    ],
    ids=lambda text: f"{len(text)} of {text[:2]!a}",
)
def test_long_texts_end(text: str) -> None:
    """A search that starts anew at each letter takes minutes."""
    for spec in METRICS:
        fields = {"question": text, "answer": text + "x"}
        assert spec.create().score(fields).score is not None


def test_texts_too_long_to_align_are_refused() -> None:
    fields = {"question": "a" * 2_000_000, "answer": "b" * 2_000_000}
    with pytest.raises(InputError, match="2,000,000 and 2,000,000 UTF-16 units are too long"):
        found("textual_difference", fields)
    assert found("content_similarity", fields).score == 0


def test_contracts_name_their_options_and_fields() -> None:
    assert list(BY_ID) == [
        "mastra.content_similarity",
        "mastra.textual_difference",
        "mastra.keyword_coverage",
        "mastra.tone_consistency",
    ]
    for spec in METRICS:
        create: Callable[..., Any] = spec.create
        assert create(**spec.options).score(ROW) == create().score(ROW)
        assert spec.fields == ()
