"""Voices of texts, how alike they are, and the settings that decide what counts."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_eval.errors import InputError
from rag_eval.metrics.contract import Scored
from rag_eval.samples import NullReason
from rag_eval.scorers.javascript import utf16_length
from rag_eval.scorers.regtrace.formulas import (
    DIMENSIONS,
    length_score,
    tone_heuristic,
    verbosity,
)
from rag_eval.scorers.regtrace.specs import MEANING_METRICS as METRICS
from rag_eval.scorers.regtrace.tone import ToneScorer, ToneSettings, languages_of, weighed
from rag_eval.scorers.regtrace.tone_voice import (
    LISTS,
    PhraseList,
    VoiceReader,
    checked_lexicon,
    heuristic_words,
    words_of,
)
from tests.tables import every_row

FORMAL = (
    "Pursuant to the agreement, the goods are hereby accepted. Therefore no action is required."
)
CASUAL = "Hey guys, that's kinda awesome, lol! We're gonna get tons of stuff, ok?"
PLAIN = "The library opens at nine and closes at five on weekdays."


def scored(
    answer: str, truth: Any = None, *, language: str | None = None, **options: Any
) -> Scored:
    fields = {"answer": answer, "ground_truth": truth, "language": language}
    given_fields = {name: value for name, value in fields.items() if value is not None}
    return ToneScorer(ToneSettings(**options)).score(given_fields)


def only(dimension: str, answer: str, truth: str, **options: Any) -> float:
    found = scored(answer, truth, sub_dimensions=[dimension], **options).score
    assert found is not None
    return found


# -------------------------------------------------------------------------------------- dimensions


def test_the_same_text_has_the_same_tone() -> None:
    for text in (FORMAL, CASUAL, PLAIN):
        found = scored(text, text)
        assert found.score == 1.0
        assert [one["check"] for one in found.details] == [f"tone.{name}" for name in DIMENSIONS]
        assert all(one["passed"] for one in found.details)


def test_a_casual_answer_is_not_formal() -> None:
    assert only("formality", CASUAL, FORMAL) < 0.4
    assert only("formality", PLAIN, FORMAL) > only("formality", CASUAL, FORMAL)


def test_neutral_words_are_no_fault_where_neutral_words_are_expected() -> None:
    assert only("formality", "Water boils at 100 degrees.", PLAIN) == 1.0
    assert only("assertiveness", "Water boils at 100 degrees.", PLAIN) == 1.0


def test_contractions_and_emoji_are_casual() -> None:
    assert only("formality", "It's here, and we're glad.", "It is here, and we are glad.") < 1
    assert only("formality", "It is here 😀", "It is here") < 1
    # A possessive is none.
    assert only("formality", "The warehouse's door", "The warehouse door") == 1.0


def test_sentiment_is_held_against_what_is_expected() -> None:
    praise, blame = "What a wonderful, great result.", "What a terrible, awful result."
    assert only("sentiment", praise, "A good and happy outcome.") > 0.9
    assert only("sentiment", blame, praise) < 0.3
    neutral = only("sentiment", PLAIN, praise)
    assert only("sentiment", blame, praise) < neutral < 0.8
    detail = scored(blame, praise, sub_dimensions=["sentiment"]).details[0]
    assert detail["expected"].startswith("positive")
    assert detail["actual"].startswith("negative")
    assert not detail["passed"]


def test_doubt_is_not_certainty() -> None:
    sure, unsure = "It will certainly open.", "Perhaps it might open, I'm not sure."
    assert only("assertiveness", unsure, sure) < 0.4
    assert only("assertiveness", "It will definitely open.", sure) == 1.0


def test_the_persons_that_speak_are_compared() -> None:
    ours = "We sent our offer, and we hope for your answer."
    assert only("persona_consistency", "We sent our goods, and we wait for your order.", ours) == 1
    assert only("persona_consistency", "I sent my offer.", ours) < 0.4
    # What is spoken of says nothing about who speaks.
    assert only("persona_consistency", "They sent it to her.", "The goods were sent.") == 1.0


@every_row(
    ("answer", "truth", "score"),
    [
        ("one two three four", "one two three four", 1.0),
        ("one two", "one two three four", 1.0),
        ("one", "one two three four", 0.5),
        ("one two three. four five six.", "one two three.", 1.0),
        ("一二三四", "一二三四五六七八", 1.0),
    ],
)
def test_length_counts_words_and_sentences(answer: str, truth: str, score: float) -> None:
    assert only("verbosity", answer, truth) == pytest.approx(score)


def test_a_much_longer_answer_is_too_long_in_its_words_alone() -> None:
    # Eight sentences of the same length: 0 for the words, 1 for the sentences.
    assert only("verbosity", "One two three. " * 8, "One two three.") == 0.5


@every_row(("ratio", "score"), [(0, 0), (0.25, 0.5), (0.5, 1), (2, 1), (3, 0.5), (4, 0), (9, 0)])
def test_lengths_from_half_to_double_are_fine(ratio: float, score: float) -> None:
    assert length_score(ratio) == score


def test_the_tool_counts_letters_beyond_16_bits_twice() -> None:
    assert utf16_length("a😀\ud800") == 4
    assert verbosity("😀", "a" * 5) == pytest.approx(0.8)


# ----------------------------------------------------------------------------------------- weights


def test_weights_weigh() -> None:
    options: dict[str, Any] = {"sub_dimensions": ["formality", "verbosity"]}
    formality, verbosity = (only(name, CASUAL, FORMAL) for name in options["sub_dimensions"])
    assert scored(CASUAL, FORMAL, **options).score == pytest.approx((formality + verbosity) / 2)
    weights = {"formality": 3}
    found = scored(CASUAL, FORMAL, sub_dimension_weights=weights, **options)
    assert found.score == pytest.approx((3 * formality + verbosity) / 4)
    without = scored(CASUAL, FORMAL, sub_dimension_weights={"verbosity": 0}, **options)
    assert without.score == pytest.approx(formality)


def test_a_mapping_of_dimensions_says_which_do_not_count() -> None:
    off: dict[str, Any] = {"sub_dimensions": {"formality": False, "verbosity": True}}
    checks = [one["check"] for one in scored(CASUAL, FORMAL, **off).details]
    assert checks == [f"tone.{name}" for name in DIMENSIONS if name != "formality"]


def test_what_is_not_measured_does_not_count() -> None:
    found = weighed({"verbosity": 0.5}, {"verbosity": 1.0, "formality": 9.0}, [])
    assert found.score == 0.5
    assert "Not measured: formality" in found.explanation
    assert weighed({"verbosity": 0.5}, {"verbosity": 0.0, "formality": 1.0}, []).score is None


@every_row(
    ("options", "said"),
    [
        ({"sub_dimensions": ["formalty"]}, "did you mean 'formality'"),
        ({"sub_dimensions": {"formality": 1}}, "must be true or false"),
        ({"sub_dimensions": []}, "must leave at least one dimension"),
        ({"sub_dimensions": dict.fromkeys(DIMENSIONS, False)}, "must leave at least one dimension"),
        ({"sub_dimensions": "formality"}, "must be a list of names, got str"),
        ({"sub_dimension_weights": {"tempo": 1}}, "is not a dimension"),
        ({"sub_dimension_weights": {"verbosity": -1}}, "from 0 to"),
        ({"sub_dimension_weights": {"verbosity": math.nan}}, "from 0 to"),
        ({"sub_dimension_weights": {"verbosity": True}}, "from 0 to"),
        (
            {"sub_dimension_weights": dict.fromkeys(DIMENSIONS, 0)},
            "must leave at least one dimension",
        ),
        ({"sub_dimension_weights": [1]}, "must be a mapping, got list"),
        ({"tone_profile": " "}, "tone_profile must be a non-blank text"),
        ({"tone_profile": 5}, "tone_profile must be a non-blank text"),
        ({"lexicon": ["a"]}, "lexicon must be a mapping"),
        ({"lexicon": {"formall": ["a"]}}, "did you mean 'formal'"),
        ({"lexicon": {"formal": "a"}}, "must be a list of words, got str"),
        ({"lexicon": {"formal": ["!!"]}}, "must hold words"),
        ({"lexicon": {"formal": [5]}}, "must hold words"),
        ({"lexicon": {"positive": ["very good"]}}, "must hold single words"),
        ({"lexicon": {"formal": ["a"] * 20_001}}, "at most 20000"),
    ],
)
def test_a_setting_that_cannot_be_is_named(options: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        ToneSettings(**options)


# -------------------------------------------------------------------- references and languages


def test_a_tone_profile_is_the_model_of_the_voice() -> None:
    found = scored(FORMAL, CASUAL, tone_profile=FORMAL, sub_dimensions=["formality"])
    assert found.score == 1.0


def test_without_an_expected_output_the_length_is_not_measured() -> None:
    found = scored(FORMAL, tone_profile=FORMAL)
    assert found.score == 1.0
    assert "Not measured: verbosity" in found.explanation


def test_the_nearest_of_several_expected_outputs_counts() -> None:
    assert scored(FORMAL, [CASUAL, FORMAL, PLAIN]).score == 1.0


@every_row(("answer", "truth"), [(PLAIN, None), (PLAIN, " "), ("!!!", PLAIN)])
def test_there_can_be_nothing_to_measure(answer: str, truth: Any) -> None:
    found = scored(answer, truth)
    assert (found.score, found.null_reason) == (None, NullReason.NOTHING_TO_MEASURE)
    assert found.explanation


def test_english_lists_do_not_judge_other_languages() -> None:
    german = "Das ist ein Test, und er ist ganz und gar nicht schlecht."
    found = scored(german, german)
    assert found.score is None
    assert "(de)" in found.explanation
    assert scored("这是一个测试。", "那是另一个。").score is None
    assert scored(PLAIN, PLAIN, language="de").score is None
    assert scored(german, german, language="en").score == 1.0
    # Just the length was asked for.
    assert scored(german, german, sub_dimensions=["verbosity"]).score == 1.0


def test_lists_of_the_caller_stand_for_any_language() -> None:
    lists = {"formal": ["sehr geehrte"], "informal": ["hallo", "na ja"]}
    answer, truth = "Hallo, na ja, das ist gut.", "Sehr geehrte Damen, das ist gut."
    found = scored(answer, truth, lexicon=lists, sub_dimensions=["formality"], language="de")
    assert found.score is not None
    assert found.score < 0.5


def test_lists_of_the_caller_replace_ours() -> None:
    assert only("formality", "hey", "hello there", lexicon={"informal": ["hello"]}) < 1
    assert only("formality", "hey", "hi", lexicon={"formal": ["x"], "informal": ["x"]}) == 1
    sour = {"positive": ["sour"]}
    assert only("sentiment", "So sour.", "So sweet.", lexicon=sour) < 0.9
    assert only("sentiment", "A terrible day.", "A day.", lexicon=sour) < 0.9
    bitter = {"positive": ["sour"], "negative": ["bitter"]}
    assert only("sentiment", "A terrible day.", "A day.", lexicon=bitter) == 1.0


def test_detected_languages_are_those_of_the_texts_alone() -> None:
    texts = [
        "Guten Tag, das ist ein Test.",
        "Hello, this is a test.",
        "Привет мир, это тест.",
    ] * 300
    assert languages_of(texts, [None] * len(texts)) == ["de", "en", "ru"] * 300
    assert languages_of(["x", "y"], ["pt-BR", ""]) == ["pt", "en"]
    with pytest.raises(InputError, match="unknown language"):
        languages_of(["x"], ["klingon"])


# ------------------------------------------------------------------------------------------- words


def test_phrases_are_counted_at_their_longest() -> None:
    phrases = PhraseList(["sort of", "sort", "of course", "it's"])
    assert phrases.count(words_of("Sort of course, it’s a SORT.")) == 3
    assert phrases.count([]) == 0
    assert PhraseList([]).count(["a"]) == 0


def test_our_lists_are_lists_of_words() -> None:
    assert checked_lexicon(LISTS) == LISTS
    assert not LISTS["formal"] & LISTS["informal"]
    assert not LISTS["hedge"] & LISTS["assertive"]
    assert all(words_of(phrase) for listed in LISTS.values() for phrase in listed)
    assert set(heuristic_words({})) == {*LISTS, "positive", "negative"}
    assert "good" in heuristic_words({})["positive"]
    assert heuristic_words({"positive": frozenset(["x"])})["positive"] == {"x"}


TEXTS = st.lists(
    st.sampled_from(
        [*"ab", "we", "I", "not", "good", "bad", "hey", "thus", "maybe", "surely", "."]
    ),
    max_size=12,
).map(" ".join)


@given(TEXTS, TEXTS)
def test_tone_is_alike_both_ways_but_for_the_length(left: str, right: str) -> None:
    options: dict[str, Any] = {"sub_dimensions": {"verbosity": False}}
    there, back = (
        scored(one, other, language="en", **options).score
        for one, other in ((left, right), (right, left))
    )
    if there is None or back is None:
        assert not words_of(left) or not words_of(right)
    else:
        assert there == pytest.approx(back)
        assert 0 <= there <= 1


@given(st.lists(st.text(max_size=20), min_size=1, max_size=8))
def test_a_column_has_the_scores_of_its_rows(answers: list[str]) -> None:
    scorer = ToneScorer(ToneSettings())
    rows: list[dict[str, Any]] = [{"answer": text, "ground_truth": PLAIN} for text in answers]
    rows += [{"answer": CASUAL}, {"answer": CASUAL, "ground_truth": FORMAL}]
    scores, reasons = scorer.column(rows)
    alone = [scorer.score(row) for row in rows]
    assert [None if math.isnan(one) else one for one in scores.tolist()] == [
        one.score for one in alone
    ]
    assert reasons.tolist() == [0 if one.score is not None else one.null_reason for one in alone]


@given(st.text(), st.text())
def test_the_heuristic_is_from_0_to_1(answer: str, expected: str) -> None:
    assert 0 <= tone_heuristic(answer, expected, LISTS).score <= 1


@pytest.mark.timeout(200)
@every_row(
    "text",
    [
        "." * 100_000 + "x",
        "sort of " * 5_000,
        "x" * 100_000,
        "\ud800a. " * 10_000,
        "n't" * 25_000,
    ],
)
def test_long_texts_take_bounded_time(text: str) -> None:
    score = scored(text, text, language="en").score
    assert score is not None
    assert score == pytest.approx(1)
    heuristic = next(spec for spec in METRICS if spec.id == "regtrace.tone_heuristic").create()
    assert heuristic.score({"answer": text, "ground_truth": text}).score is not None


def test_a_voice_is_made_of_what_was_counted() -> None:
    voice = VoiceReader({}).voice("We will surely come. Therefore, I may wait.")
    assert voice.register == 0.75  # one formal word: 0.5 + 0.5 * 1 / (1 + 1)
    assert voice.assertiveness == pytest.approx(0.5 + 0.5 * (2 - 1) / (2 + 1 + 1))
    assert voice.persons == pytest.approx((1 / 3, 1 / 3, 0, 1 / 3))
    assert (voice.n_words, voice.n_sentences, voice.sentence_words) == (8, 2, 4)
