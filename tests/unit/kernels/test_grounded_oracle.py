"""The oracle of the `grounded` profile against its golden vectors, and rule by rule by hand."""

from __future__ import annotations

import gzip
import json
import math
from pathlib import Path
from typing import Any

import pytest

from tests.oracle import grounded_relevance
from tests.oracle.grounded import METRICS, GroundedRow, evaluate
from tests.oracle.grounded_answers import (
    correctness,
    letter_trigrams,
    polarity,
    stated_numbers,
)
from tests.oracle.grounded_characters import fold
from tests.oracle.grounded_claims import WEIGHTS, Evidence, Losses, Window, best_window
from tests.oracle.grounded_numbers import Numbers
from tests.oracle.grounded_refusals import declines, only_refuses
from tests.oracle.grounded_relevance import Query, asked_kind, average_precision, type_match
from tests.oracle.grounded_text import capitals, clean, read, runs, sentences, tokens
from tests.oracle.grounded_words import Reading, detect_language, stem
from tests.tables import every_row

Sample = dict[str, Any]

VECTORS = Path(__file__).parents[2] / "conformance" / "grounded" / "vectors.jsonl.gz"


def load() -> list[dict[str, Any]]:
    with gzip.open(VECTORS, "rt", encoding="utf-8", newline="\n") as lines:
        return [json.loads(line) for line in lines]


CASES = load()
# Sums and quotients of whole numbers only; the others take roots and logarithms.
EXACT = {"faithfulness", "hallucination_rate", "context_recall", "answer_correctness"}

# ---------------------------------------------------------------------------------- golden vectors


@every_row("case", CASES, ids=[case["id"] for case in CASES])
def test_vector(case: dict[str, Any]) -> None:
    row, expected = evaluate(case["sample"]), case["expected"]
    assert tuple(row.scores) == METRICS
    assert row.language == expected["language"]
    assert row.reasons == expected["reasons"]
    for metric, score in row.scores.items():
        assert same_score(metric, score, expected[metric]), metric
    assert row.chunk_scores == (
        None if expected["chunk_scores"] is None else close(expected["chunk_scores"])
    )
    found = row.answer_sentences
    assert (None if found is None else list(map(plain, found))) == expected["sentences"]
    assert (None if found is None else [s.score for s in found]) == expected["sentence_scores"]
    assert (None if row.losses is None else row.losses._asdict()) == expected["losses"]
    assert (None if row.refusal is None else row.refusal._asdict()) == expected["refusal"]


def same_score(metric: str, found: float | None, wanted: float | None) -> bool:
    if metric in EXACT or found is None or wanted is None:
        return found == wanted
    return found == close(wanted)


def close(value: Any) -> Any:
    return pytest.approx(value, rel=0, abs=1e-9)


def plain(evidence: Evidence) -> dict[str, Any]:
    """As JSON has it, where a span is a list."""
    return json.loads(json.dumps(evidence._asdict() | {"losses": evidence.losses._asdict()}))


def test_there_are_all_vectors() -> None:
    assert len({case["id"] for case in CASES}) == len(CASES) == 558


ANSWERS = [case["sample"]["answer"] for case in CASES if case["expected"]["sentences"]]


@every_row("text", ANSWERS)
def test_a_text_carries_itself(text: str) -> None:
    row = evaluate({"answer": text, "contexts": [text], "ground_truth": text})
    assert {sentence.score for sentence in row.answer_sentences or []} == {1.0}
    for metric in EXACT:
        refuses = row.reasons.get(metric) == "refusal"
        assert row.scores[metric] == (None if refuses else 1.0), metric


# ------------------------------------------------------------------------------ folding and markup


@every_row(
    "token, norm",
    [
        ("ÉCOLE", "ecole"),
        ("Ёлка", "елка"),
        ("Ήταν", "ηταν"),
        ("\u00d8", "ø"),  # a letter, not an O with an accent
        ("İIı", "iii"),
        ("ΣΊΣΥΦΟΣ", "σισυφοσ"),
        ("σίσυφος", "σισυφοσ"),
        ("ẞß", "ßß"),
        ("ﬁnﬆ", "finst"),
        ("ＡｂＺ", "abz"),
        ("５६٣", "563"),
        ("H₂O", "h2o"),
        ("1,234", "1234"),
        ("1 , 234", "1234"),
        ("co\u00adop\u200d", "coop"),
        ("x\u200d\u0301", "x"),  # the accent is x's, whatever stands between
        ("नहीं", "नहीं"),
        ("שָׁלוֹם", "שָׁלוֹם"),
        ("日\u0301", "日\u0301"),
        ("كـتاب", "كتاب"),
        ("각", "각"),
        ("\u1c89", "\u1c8a"),  # since Unicode 16
    ],
)
def test_fold(token: str, norm: str) -> None:
    assert fold(token) == norm


@every_row(
    "string, text",
    [
        # Line markers.
        ("> ## - 1. Boil.", "Boil."),
        ("  * Boil.", "  Boil."),
        ("1) Boil.\n(1) Boil.\n0. Boil.\na) Boil.", "Boil.\nBoil.\nBoil.\nBoil."),
        ("7. Boil.", "7. Boil."),
        ("7. Boil.\n8. Cool.", "Boil.\nCool."),
        ("7. Boil.\n9. Cool.", "7. Boil.\n9. Cool."),
        ("- 7. Boil.", "7. Boil."),
        ("- 7. ", "7. "),
        ("- 1. ", "- 1. "),
        ("7. \n8. Cool.", "7. \n8. Cool."),  # a number without a text counts for nobody
        ("- ", "- "),
        ("-Boil", "-Boil"),
        ("123. Boil\n124. Cool", "123. Boil\n124. Cool"),
        ("####### Boil", "####### Boil"),
        (">" * 9 + " Boil", "> Boil"),
        ("So\n• boil", "So\nboil"),
        ("So\v- boil", "So\v- boil"),  # a space, not a line end
        # Citations.
        ("Boil it [3].", "Boil it."),
        ("Boil it  [1, 2–4;5 , 6][^2].", "Boil it."),
        ("Boil it   [1].", "Boil it ."),
        ("Boil it 【1†source】【12】【3:0†a b】.", "Boil it."),
        ("Boil [0] [1234] [1 ] [a] 【1234】.", "Boil [0] [1234] [1 ] [a] 【1234】."),
        ("Boil[1]it", "Boil it"),
        ("Boil[1][2]it", "Boil it"),
        ("Boil it (2).", "Boil it."),
        ("Boil it (1, 3) \nNow", "Boil it \nNow"),
        ("Boil it (2) now.", "Boil it (2) now."),
        ("Boil it(2). Or; (2).", "Boil it(2). Or; (2)."),
        ("Boil three (3).", "Boil three (3)."),
        ("Boil 200 (3).", "Boil 200 (3)."),
        ("In 1998 (3).", "In 1998."),
        ("Boil it (100).", "Boil it (100)."),
        ("It.¹² So?³ 5 m².", "It. So? 5 m²."),
        # Emphasis.
        ("**Boil** _it_ `now`", "Boil it now"),
        ("~~Boil~~ ~it~", "Boil ~it~"),
        ("snake_case 2*3 2 * 3 x**y", "snake_case 2*3 2 * 3 x**y"),
        ("***", "***"),
        ("> *Boil*", "Boil"),
    ],
)
def test_clean(string: str, text: str) -> None:
    assert clean(string).text == text


def test_square_brackets_are_kept_on_request() -> None:
    assert clean("Boil it [3]. Or (2).", keep_square=True).text == "Boil it [3]. Or."


def test_cleaned_text_knows_where_it_comes_from() -> None:
    cleaned = clean("cafe\u0301 [1]x")
    assert cleaned.text == "café x"
    assert cleaned.begin == [0, 1, 2, 3, 5, 9]  # the blank stands where the citation begins
    assert cleaned.end == [1, 2, 3, 5, 6, 10]


def test_a_piece_that_only_changes_its_order_keeps_its_places() -> None:
    cleaned = clean("q\u0307\u0323")
    assert cleaned.text == "q\u0323\u0307"
    assert cleaned.begin == [0, 1, 2]


def test_hangul_is_composed_as_one_piece() -> None:
    assert clean("\u1112\u1161\u11ab.") == ("한.", [0, 3], [3, 4])


# -------------------------------------------------------------------------------- tokens, sentences


def norms(string: str) -> list[str]:
    return [norm for norm, _, _ in tokens(string)]


@every_row(
    "string, wanted",
    [
        ("", ""),
        (" .,! \u0301\u200d", ""),  # marks and the invisible begin no token
        ("Don’t can't won'T shanʼt", "do not can not will not shall not"),
        ("isn't ISN'T n't", "is not is not not"),
        ("James's dogs' it’s 's", "james dogs it"),
        ("d's 's' 'sa x's2", "d sa x s2"),
        ("don't½", "don ½"),  # ½ ends a word but hides the n't; the t is still n't's
        ("don't.5", "do not t.5"),
        ("ñ't", "not t"),
        ("I'm 't", "i m t"),
        ("1,234 1 , 234 1,2345 1,234,567", "1234 1234 1 2345 1234567"),
        ("1,234a 1,234日 1,234½ 1 ,234", "1 234a 1 234 日 1234 ½ 1 234"),
        ("1\u00a0,\u00a0234", "1 234"),
        ("3.14 v2.0.1 v2.0b 1.5,000 a.5 .5 5.", "3.14 v2.0.1 v2.0 b 1.5000 a.5 5 5"),
        ("x² H₂O Ⅳ①½", "x ² h2o Ⅳ①½"),
        ("日本語 日 本", "日本 本語 日 本"),
        ("X日本9", "x 日本 9"),
        ("กำ ที่นี่", "กำ ที่นี่"),  # a letter takes its marks along
        ("snake_case a-b co\u00adop", "snake case a b coop"),
    ],
)
def test_tokens(string: str, wanted: str) -> None:
    assert norms(string) == wanted.split()


def test_tokens_have_places_in_the_string_as_given() -> None:
    assert tokens("A cafe\u0301's [1] menu") == [("a", 0, 1), ("cafe", 2, 7), ("menu", 14, 18)]
    assert tokens("can't") == [("can", 0, 2), ("not", 2, 5)]
    assert tokens("日本語") == [("日本", 0, 2), ("本語", 1, 3)]


def test_runs_leave_glued_letters_together() -> None:
    assert runs("A 日本語's don't") == ["a", "日本語", "do", "not"]


@every_row(
    "string, wanted",
    [
        ("", []),
        ("... ! -", []),
        ("One. Two! Three", ["One.", "Two!", "Three"]),
        ("One.Two 2.0\nThree\r\n\nFour", ["One.Two 2.0", "Three", "Four"]),
        ("He said “Go.” Then (so.) Left.", ["He said “Go.”", "Then (so.)", "Left."]),
        ("東京。大阪！」京都", ["東京。", "大阪！」", "京都"]),
        ("Dr. Marsh agreed. She left.", ["Dr. Marsh agreed.", "She left."]),
        ("By J. P. Velling, i.e. Mr. V. Yes.", ["By J. P. Velling, i.e. Mr. V. Yes."]),
        ("It is No. 5. Say no. No. Really.", ["It is No. 5.", "Say no.", "No.", "Really."]),
        ("Yahoo! is big.", ["Yahoo! is big."]),
        ("Yahoo is big! it grew.", ["Yahoo is big!", "it grew."]),
        ("Wait ! is it.", ["Wait !", "is it."]),
        ("See x_mr. Smith a’mr. Smith", ["See x_mr.", "Smith a’mr.", "Smith"]),
        ("See approx. 5 octobers. 5", ["See approx. 5 octobers.", "5"]),
        ("He (Prof.) Smith", ["He (Prof.)", "Smith"]),
        ("He (Prof.) smiths", ["He (Prof.) smiths"]),
        ("Hi. ... Bye.", ["Hi.", "Bye."]),
    ],
)
def test_sentences(string: str, wanted: list[str]) -> None:
    assert [string[begin:end] for begin, end, _, _ in sentences(string)] == wanted


def test_sentences_know_their_tokens() -> None:
    assert sentences("- We don't. [1] They do.") == [(2, 11, 0, 3), (16, 24, 3, 5)]


def test_capitals() -> None:
    """UN-Habitat is one word; NASA opens a sentence, and is written so wherever it stands."""
    text = "Marsh met Ana’s UN-Habitat. NASA said x-Ray. A Dog.\n5 Dogs. 日Tokyo. i Pad"
    found = dict(zip(norms(text), capitals(text), strict=True))
    assert found == {
        **{"marsh": 1, "met": 0, "ana": 2, "un": 2, "habitat": 2},
        **{"nasa": 2, "said": 0, "x": 0, "ray": 0, "a": 1, "dog": 2},
        **{"5": 0, "dogs": 2, "日": 0, "tokyo": 1, "i": 0, "pad": 2},
    }


@every_row(
    "text, wanted",
    [
        ("so: Ana", [0, 1]),
        ("so; “Ana NASA", [0, 1, 2]),
        ("so — (NASA", [0, 2]),
        ("so, Ana", [0, 2]),
        ("so:\nAna", [0, 1]),
        ("x Less Flexible Hours: Ana Bob", [0, 1, 1, 1, 1, 2]),  # seven letters and no capital
        ("Less Flexible Hours:", [1, 1, 1]),
        ("Less flexible Hours: Ana Bob", [1, 0, 2, 1, 2]),
        ("Less of Hours: Ana", [1, 0, 1, 1]),
        ("Ana of the old: Bob", [1, 0, 0, 0, 1]),
        ("Hours:Ana: Bob", [1, 1, 1]),
        ("A B C D E F G H: I", [1] * 8 + [1]),
        ("A B C D E F G H Ike: I", [1, *[2] * 8, 1]),
    ],
)
def test_capitals_where_any_word_has_one(text: str, wanted: list[int]) -> None:
    assert capitals(text) == wanted


# ---------------------------------------------------------------------------------------- languages


@every_row(
    "strings, language",
    [
        ([], "en"),
        (["42"], "en"),
        (["Dogs bark."], "en"),
        (["Der Hund ist nicht da."], "de"),
        (["Der Hund", "ist nicht da."], "de"),
        (["der Hund"], "en"),  # one word proves nothing
        (["of und das ist"], "de"),  # 3 against 1
        (["the of und das ist"], "en"),  # 3 against 2
        (["Łódź żółć"], "und"),  # 6 of 7 letters have accents
        (["Łódź drogi ab"], "und"),  # 3 of 11: more than a quarter
        (["Łódź drogi abc"], "en"),  # 3 of 12
        (["Собака и кошка"], "ru"),  # и is Bulgarian too; Russian stands first
        (["東京"], "und"),
        (["東京 ab"], "en"),  # as many Latin letters as others
        (["東京都 ab"], "und"),
        (["Łódź dr **x** [1]"], "und"),
    ],
)
def test_detect_language(strings: list[str], language: str) -> None:
    assert detect_language(strings) == language


@every_row(
    "word, wanted",
    [
        ("ties", "tie"),
        ("skies", "sky"),
        ("studies", "study"),
        ("classes", "class"),
        ("class", "class"),
        ("virus", "virus"),
        ("taxis", "taxis"),
        ("taxi", "taxy"),
        ("buses", "buse"),
        ("houses", "hous"),
        ("bus", "bus"),
        ("string", "str"),
        ("sing", "sing"),
        ("running", "runn"),
        ("stopped", "stop"),
        ("falling", "fall"),
        ("buzzing", "buzz"),
        ("seed", "seed"),
        ("needed", "need"),
        ("happily", "happy"),
        ("early", "early"),
        ("nearly", "near"),
        ("cafés", "cafés"),
        ("v2s", "v2s"),
        ("mp3s", "mp3"),
        ("abc1", "abc1"),
    ],
)
def test_stem(word: str, wanted: str) -> None:
    assert stem(word) == wanted


def reading(string: str, language: str = "en") -> Reading:
    return Reading(read(string), language)


def test_reading_in_english_and_in_no_language() -> None:
    english, unknown = reading("The Two dogs of Ana"), reading("The Two dogs of Ana", "und")
    assert english.words == ["the", "2", "dogs", "of", "ana"]
    assert english.stems == ["the", "2", "dog", "of", "ana"]
    assert english.is_content == [False, True, True, False, True]
    assert english.named == [False, False, False, False, True]  # "2" is too short for a name
    assert unknown.stems == unknown.words == ["the", "two", "dogs", "of", "ana"]
    assert unknown.named == [True, True, False, False, True]


def test_content_stems_of_stop_words_are_all_stems() -> None:
    assert reading("So it was").content_stems() == ["so", "it", "was"]
    assert reading("So dogs was").content_stems() == ["dog"]


# -------------------------------------------------------------------------------- claims and chunks


@pytest.mark.parametrize(
    ("tokens_", "width", "window"),
    [
        ("x y", 5, (0, 0, -1)),
        ("x a b a", 5, (2, 1, 2)),  # the first to reach two
        ("a a x b", 5, (2, 1, 3)),  # and of that the shortest
        ("a x b x c", 4, (2, 0, 2)),
        ("a x b x c", 5, (3, 0, 4)),
        ("a b x x x c b", 4, (2, 0, 1)),
    ],
)
def test_best_window(tokens_: str, width: int, window: tuple[int, int, int]) -> None:
    assert best_window(frozenset("abc"), tokens_.split(), width) == Window(*window)


COMET: Sample = {
    "answer": "Ana Ortiz found 12 comets in 1987.",
    "contexts": ["The comet was found by Ana.", "In 1987 Ortiz left."],
}


def score_of(*losses: float) -> Any:
    """Of the eight losses, the last ones left out where they are 0."""
    return close(1 - sum(weight * loss for weight, loss in zip(WEIGHTS, losses, strict=False)))


def test_support_of_a_sentence() -> None:
    """Content: ana, ortiz, found, 12, comet, 1987; three of them in the first chunk.

    Of its six pairs the chunks have (in, 1987), of its five content pairs none. 12 is missing; Ana
    opens, so Ortiz is the only name.
    """
    row = evaluate(COMET)
    (found,) = row.answer_sentences or []
    assert found == Evidence(
        span=(0, 34),
        score=score_of(3 / 6, 5 / 6, 1, 1 / 2),
        chunk=0,
        window=(4, 26),
        covered=0.5,
        missing_numbers=["12"],
        contradiction=None,
        missing_names=[],
        far_names=[],
        no_claim=False,
        losses=Losses(0.5, 1 - 1 / 6, 1.0, 0.5, 0.0, 0.0, 0, 0),
    )
    assert row.losses == found.losses
    assert row.scores["faithfulness"] == found.score
    assert row.scores["hallucination_rate"] == 0.0


def figures(sample: Sample) -> list[tuple[list[str], list[str], int]]:
    """Per sentence: missing numbers, missing names, and whether that costs a deduction."""
    sentences = evaluate(sample).answer_sentences or []
    return [(s.missing_numbers, s.missing_names, s.losses.new_name) for s in sentences]


def test_the_question_vouches_for_numbers_and_names() -> None:
    unknown = {**COMET, "contexts": ["Comets."]}
    assert figures(unknown) == [(["12", "1987"], ["ortiz"], 1)]
    assert evaluate(unknown).scores["faithfulness"] == score_of(5 / 6, 1, 1, 1, 1, 0, 0, 1)
    known = {**unknown, "question": "Did Ortiz see twelve in 1987?"}
    assert figures(known) == [([], [], 0)]
    assert evaluate(known).scores["faithfulness"] == score_of(5 / 6, 1, 1)


def test_sentences_weigh_by_their_content() -> None:
    """Two and two: "It did" has no content word, so both its words count."""
    row = evaluate({"answer": "Comets burn. It did.", "contexts": ["Comets burn!"]})
    first, second = row.answer_sentences or []
    assert (first.score, first.chunk, first.window) == (1.0, 0, (0, 11))
    assert (second.score, second.chunk, second.window) == (score_of(1, 1, 1), None, None)
    assert row.scores["faithfulness"] == score_of(1 / 2, 1 / 2, 1 / 2)
    assert row.scores["hallucination_rate"] == 0.5


def test_numbers_and_names_are_pooled_and_each_time_counts() -> None:
    """1 of 3 numbers and 2 of 4 names are missing.

    In no language all words are content, so the sentences weigh 9 and 4.
    """
    answer = "So Ann, Ann and Bob saw 7 of 7. So Bob saw 8."
    row = evaluate({"answer": answer, "contexts": ["Bob, 7, so."], "language": "und"})
    first, second = row.answer_sentences or []
    assert (first.missing_numbers, first.missing_names) == ([], ["ann"])
    assert first.score == score_of(4 / 7, 1, 1, 0, 2 / 3, 0, 0, 1)
    assert (second.missing_numbers, second.missing_names) == (["8"], [])
    assert second.score == score_of(2 / 4, 1, 1, 1)
    window = (9 * 4 / 7 + 4 * 2 / 4) / 13
    assert row.scores["faithfulness"] == score_of(window, 1, 1, 1 / 3, 1 / 2, 0, 0, 1)


def test_skip_pairs_have_one_content_word_between_them_at_most() -> None:
    """Stop words count for none, and no pair goes over the end of a chunk."""
    answer = {"answer": "red fox ran", "language": "en"}
    for chunk, lost in [
        ("red fox ran", 0),
        ("red old fox of the ran", 0),
        ("red old big fox ran", 1 / 2),
        ("fox red ran", 1 / 2),
        ("ran fox red", 1),
        ("red. fox ran", 0),
    ]:
        found = evaluate({**answer, "contexts": [chunk]}).losses
        assert found is not None
        assert found.skip == lost, chunk
    parted = evaluate({**answer, "contexts": ["red", "fox", "ran"]}).losses
    assert parted is not None
    assert parted.skip == 1


@every_row(
    "chunk, lost",
    [
        ("Ana met Bob.", 0),
        ("Ana " + "x " * 19 + "Bob", 0),  # within 20 tokens
        ("Bob " + "x " * 20 + "Ana", 1),
        ("Ana Ana" + " x" * 30 + " Bob", 1),
        ("Ana " * 61 + "x " * 30 + "Bob " * 60, 1),
        ("Ana " * 61 + "x " * 30 + "Bob " * 61, 0),  # too often to look
    ],
)
def test_names_are_near_each_other(chunk: str, lost: float) -> None:
    row = evaluate({"answer": "So Ana met Bob.", "contexts": [chunk], "language": "en"})
    (found,) = row.answer_sentences or []
    assert found.losses.near == lost
    assert found.far_names == ([("ana", "bob")] if lost else [])


def test_names_in_two_chunks_are_far_and_unknown_ones_make_no_pair() -> None:
    row = evaluate({"answer": "So Ana met Eve and Bob.", "contexts": ["Ana", "Bob"]})
    (found,) = row.answer_sentences or []
    assert (found.far_names, found.missing_names) == ([("ana", "bob")], ["eve"])
    assert found.losses.near == 1


def values(text: str, english: bool = True) -> dict[int, tuple[float, ...]]:
    return Numbers(text.split(), english).values


@every_row(
    "text, english, wanted",
    [
        ("7 07 2.50", True, {0: (7,), 1: (7,), 2: (2.5,)}),
        ("2.3 million", True, {0: (2300000,)}),
        ("2.3 million", False, {0: (2.3,)}),
        ("5k 5 k", True, {0: (5000, 5), 1: (5000, 5)}),
        ("5k 5bn 5km", False, {0: (5,), 1: (5,), 2: (5,)}),
        ("5th 5pm 5x", True, {0: (5,), 1: (5,)}),
        ("third", True, {0: (3,)}),
        ("third", False, {}),
        ("1.234 1.234.567", False, {0: (1234, 1.234), 1: (1234567,)}),
        ("1.234 1.234.567", True, {0: (1.234,)}),
        ("123456789012345 1234567890123456", True, {0: (123456789012345,)}),
        ("999999999999999 trillion", True, {0: (999999999999999e12,)}),
    ],
)
def test_values(text: str, english: bool, wanted: dict[int, tuple[float, ...]]) -> None:
    assert values(text, english) == wanted


def test_ordinals() -> None:
    assert Numbers(["1st", "third", "5", "5th", "5s"], True).ordinals == {0, 1, 3}


@every_row(
    "text, wanted",
    [
        ("235 000", [(0, 1, 235000)]),
        ("1 234 567", [(0, 1, 1234), (0, 2, 1234567), (1, 2, 234567)]),
        ("98 7", [(0, 1, 98.7)]),
        ("98 7 million", [(0, 1, 98.7), (0, 1, 98700000)]),
        ("1234 000", []),
        ("98 x7", []),
        ("12345678901234 12", []),
    ],
)
def test_second_readings(text: str, wanted: list[tuple[int, int, float]]) -> None:
    assert Numbers(text.split(), True).readings == wanted


@every_row(
    "answer, chunk, missing, opposed",
    [
        ("So 50 beds.", "It has 40 beds.", ["50"], ("50", "40")),
        ("So 50 new beds.", "It has 40 old big beds.", ["50"], ("50", "40")),
        ("So 50 very new beds.", "It has 40 beds.", ["50"], None),
        ("So 50 beds.", "It has 40 x x x beds.", ["50"], None),
        ("So 50 beds.", "In 1999 it had 40 beds.", ["50"], ("50", "40")),
        ("So 50 beds, not 40.", "It has 40 beds.", ["50"], None),
        ("So 50th bed.", "It has 40 beds.", ["50th"], None),
        ("So the sixth bed.", "The fifth bed.", ["sixth"], ("sixth", "fifth")),
        ("So 50 million beds.", "It has 40 million beds.", ["50"], ("50", "40")),
        ("So 2.3 million beds.", "2,300,000 beds", [], None),
        ("So 98. 7 beds.", "98.7 beds", [], None),
        ("So 50 beds.", "x " * 40 + "40 beds", ["50"], ("50", "40")),
        ("So 50 beds in Rome. So 7.", "beds Rome" + " x" * 60 + " 40 beds", ["50"], None),
    ],
)
def test_numbers_of_the_chunks(
    answer: str, chunk: str, missing: list[str], opposed: tuple[str, str] | None
) -> None:
    found = (evaluate({"answer": answer, "contexts": [chunk]}).answer_sentences or [])[0]
    assert found.missing_numbers == missing
    assert found.contradiction == opposed
    assert found.losses.contradiction == (opposed is not None)


def test_lead_ins_and_labels_claim_nothing() -> None:
    """They score as ever; but labels are no sentence that could be a hallucination."""
    answer = "These are my hens:\nDogs bark. [2]"
    row = evaluate({"answer": answer, "contexts": ["[2] Dogs bark."], "language": "en"})
    assert [s.no_claim for s in row.answer_sentences or []] == [True, False, True]
    assert row.scores["hallucination_rate"] == 0.5
    only = evaluate({"answer": "[2]", "contexts": ["[2] x"], "language": "en"})
    assert only.scores["hallucination_rate"] == 1.0


def test_a_sentence_of_one_word() -> None:
    row = evaluate({"answer": "Comets", "contexts": ["A comet."]})
    assert row.scores["faithfulness"] == 1.0


@pytest.mark.parametrize(
    ("answer", "gap", "covered"),
    [
        ("red fox", 28, 1.0),  # in the window of 30
        ("red fox", 29, 1 / 2),
        ("red fox" + " y" * 9, 31, 2 / 3),  # 11 tokens, a window of 33
        ("red fox" + " y" * 9, 32, 1 / 3),
    ],
)
def test_windows_are_three_times_as_long_as_the_sentence(
    answer: str, gap: int, covered: float
) -> None:
    chunk = "red" + " x" * gap + " fox"
    row = evaluate({"answer": answer, "contexts": [chunk], "language": "und"})
    assert [sentence.covered for sentence in row.answer_sentences or []] == [covered]


def test_the_first_of_equal_chunks_is_named() -> None:
    row = evaluate({"answer": "red fox", "contexts": ["hen", "a fox", "red fox", "red fox"]})
    assert [sentence.chunk for sentence in row.answer_sentences or []] == [2]


def test_chunks_with_labels_make_citations_words() -> None:
    cited = {"answer": "Dogs bark [2].", "contexts": ["Cats purr.", " [^2] Dogs bark."]}
    assert evaluate(cited).scores["faithfulness"] == score_of(0, 1 / 2, 1 / 2)
    unlabelled = {**cited, "contexts": ["Cats purr.", "Dogs [2] bark."]}
    assert evaluate(unlabelled).scores["faithfulness"] == 1.0


# ---------------------------------------------------------------------------------------- relevance


@every_row(
    "question, kind",
    [
        ("How many are there", "number"),
        ("In what year", "number"),
        ("Which year", "date"),
        ("When was he born", "date"),
        ("What month", "date"),
        ("What city", "name"),
        ("Whose is it", "name"),
        ("Who knows how far", "number"),  # rules go before places
        ("Who knows when", "date"),
        ("What about the year", None),
        ("Which city", None),
        ("Tell me how", None),
        ("", None),
    ],
)
def test_asked_kind(question: str, kind: str | None) -> None:
    assert asked_kind(norms(question)) == kind


@every_row(
    "question, chunk, match",
    [
        ("red", "12", 0.5),
        ("How many", "three", 1),
        ("How many", "H₂O", 1),
        ("How many", "½ zero", 0),
        ("When", "in May", 1),
        ("When", "in 12", 1),
        ("When", "5th", 1),
        ("When", "5 8b th x5th 6TH5 7ths", 0),
        ("Who", "Marsh did", 1),  # capitalised, even where it opens
        ("Who", "marsh did", 0),
        ("Who saw Marsh", "Marsh did", 0),
        ("Who", "The X", 0),
    ],
)
def test_type_match(question: str, chunk: str, match: float) -> None:
    assert type_match(Query(reading(question)), reading(chunk)) == match


def test_only_english_questions_ask_for_a_type() -> None:
    assert type_match(Query(reading("Who", "de")), reading("nobody", "de")) == 0.5


def chunk_scores(question: str, *chunks: str) -> list[float]:
    found = [reading(chunk, "und") for chunk in chunks]
    return grounded_relevance.relevance(Query(reading(question, "und")), found)


def test_relevance_is_window_cosine_and_type() -> None:
    assert chunk_scores("red fox", "red fox") == [close(0.4 + 0.45 + 0.15 / 2)]
    assert chunk_scores("red fox", "hen") == [0.075]


def test_rare_terms_weigh_more() -> None:
    """Of three texts, of which one is empty: red is in two, fox and hen in one each."""
    red, rare = math.log(4 / 3) + 1, math.log(4 / 2) + 1
    cosine = red**2 / (red**2 + rare**2)
    assert chunk_scores("red fox", "red hen", "?") == [
        close(0.4 / 2 + 0.45 * math.sqrt(cosine) + 0.075),
        0.0,
    ]


def test_windows_of_a_question_are_twenty_tokens() -> None:
    near, far = "red" + " x" * 18 + " fox", "red" + " x" * 19 + " fox"
    difference = chunk_scores("red fox", near)[0] - chunk_scores("red fox", far)[0]
    assert difference > 0.4 / 2


def test_average_precision() -> None:
    assert average_precision([0.3, 0.29, 0.9]) == (1 + 2 / 3) / 2
    assert average_precision([0.1]) == 0.0


def test_the_ground_truth_belongs_to_the_question_in_precision_alone() -> None:
    sample = {"question": "red fox", "contexts": ["blue hen", "red fox"], "language": "und"}
    row = evaluate(sample)
    assert (row.scores["context_relevance"], row.scores["context_precision"]) == (0.5, 0.5)
    row = evaluate({**sample, "ground_truth": ["", "blue hen", "none"]})
    assert (row.scores["context_relevance"], row.scores["context_precision"]) == (0.5, 1.0)


# ------------------------------------------------------------------------------------------ answers


@every_row(
    "answer, only, refused",
    [
        ("The passages do not say.", True, True),
        ("The text does not contain this information.", True, True),
        ("The treaty does not contain a clause on fishing.", False, False),
        ("The text does not contain it.", False, False),
        ("The provided text does not contain it.", True, True),
        ("There is no information about it.", True, True),
        ("No information is given.", True, True),
        ("No personal information is stored.", False, False),
        ("The passages contain no mention of it.", True, True),
        ("There s no mention of it.", True, True),
        ("It is not stated in the text.", True, True),
        ("Well, I do not know.", True, True),
        ("I cannot swim.", False, False),
        ("I can't find it.", True, True),
        ("I don't have enough context.", True, True),
        ("I don't know, but it opened in 1990.", False, False),
        ("Sorry, but I don't know.", True, True),
        ("I am so sorry.", False, False),  # says nothing, but not that it says nothing
        ("I don't know. Ana did.", False, True),
        ("Ana did. I don't know.", False, False),
        ("While the text does not say, Ana did.", False, False),
        ("I don't know. [2]", True, True),
        ("One two three four five six seven eight nine ten one two I do not know.", False, False),
        ("", False, False),
    ],
)
def test_refusals(answer: str, only: bool, refused: bool) -> None:
    kept = Reading(read(answer, keep_square=True), "en")
    assert (only_refuses(kept), declines(kept)) == (only, refused)
    assert not declines(reading(answer, "de"))


@every_row(
    "text, wanted",
    [
        ("Yes, it did.", 1),
        ("True", 1),
        ("No, it did not.", -1),
        ("no", -1),
        ("Incorrect.", -1),
        ("No one did.", 0),
        ("No 5", 0),
        ("No five", -1),  # as it is written, it is no number
        ("It did. Yes.", 0),
        ("", 0),
    ],
)
def test_polarity(text: str, wanted: int) -> None:
    assert polarity(reading(text)) == wanted
    assert polarity(reading(text, "de")) == 0


def test_stated_numbers() -> None:
    assert stated_numbers(reading("3 or ½, third")) == {3.0, "½"}
    assert stated_numbers(reading("third")) == set()
    assert stated_numbers(reading("98. 7")) == {98.0, 7.0, 98.7}


@every_row(
    "answer, truth, score",
    [
        ("Yes red", "Yes red", 1),
        ("Yes red", "yep red", (1 / 2, lambda c: c + 0.4 * (1 - c))),
        ("Yes red", "No red", (2 / 3, lambda c: c * 0.5)),
        ("red 12", "red 13", (1 / 2, lambda c: c * 0.7)),
        ("red 12", "red twelve 13", (4 / 5, lambda c: c)),
        ("red ½", "red ¼", (1 / 2, lambda c: c * 0.7)),
        ("I do not know", "There is no information.", 1),
    ],
)
def test_yes_no_numbers_and_refusals_in_correctness(answer: str, truth: str, score: Any) -> None:
    """What the definition does to the score of words and letters."""
    given, wanted = reading(answer), reading(truth)
    if not isinstance(score, tuple):
        assert correctness(given, wanted, None) == score
        return
    f1, moved = score
    trigrams = letter_trigrams(wanted)
    share = len(trigrams & letter_trigrams(given)) / len(trigrams)
    assert correctness(given, wanted, None) == close(moved(f1 + (share - f1) / 2))


def test_letters_count_less_in_a_long_truth() -> None:
    """Twenty tokens: a quarter of the score. Recall is 1/20, precision 1."""
    truth = " ".join(f"t{i + 10}" for i in range(20))
    found = correctness(reading("t10", "und"), reading(truth, "und"), None)
    f1 = 2 * (1 / 20) / (1 + 1 / 20)
    trigrams = letter_trigrams(reading(truth, "und"))
    share = len({" t1", "t10", "10 "} & trigrams) / len(trigrams)
    assert found == close(f1 + (share - f1) / 4)


# ------------------------------------------------------------------------------------------ samples

NOTHING = {"question": "Who?", "answer": "Ana.", "contexts": ["Ana."], "ground_truth": "Ana."}
SUPPORT = ("faithfulness", "hallucination_rate")
CHUNKS = ("context_relevance", "context_precision")


@every_row(
    "change, score, reason, metrics",
    [
        ({"answer": None}, None, "no answer", (*SUPPORT, "answer_relevance", "answer_correctness")),
        ({"answer": "?"}, None, "no answer", SUPPORT),
        ({"answer": ""}, 0.0, "empty answer", ("answer_relevance", "answer_correctness")),
        ({"answer": "I don't know. Ana."}, 0.0, "refusal", ("answer_relevance",)),
        ({"ground_truth": "I don't know."}, None, "refusal", ("context_recall",)),
        ({"contexts": None}, None, "no contexts given", (*SUPPORT, *CHUNKS, "context_recall")),
        ({"contexts": []}, 0.0, "no context", (*SUPPORT, *CHUNKS, "context_recall")),
        ({"contexts": ["?", None]}, 0.0, "no context", (*SUPPORT, *CHUNKS, "context_recall")),
        ({"question": None}, None, "no question", (*CHUNKS, "answer_relevance")),
        ({"question": "?"}, None, "no question", (*CHUNKS, "answer_relevance")),
        ({"ground_truth": None}, None, "no ground truth", ("context_recall", "answer_correctness")),
        ({"ground_truth": []}, None, "no ground truth", ("context_recall", "answer_correctness")),
        (
            {"ground_truth": ["", None]},
            None,
            "no ground truth",
            ("context_recall", "answer_correctness"),
        ),
    ],
)
def test_nulls_and_zeros(
    change: Sample, score: float | None, reason: str, metrics: tuple[str, ...]
) -> None:
    row = evaluate(NOTHING | change)
    given = {metric for metric, why in row.reasons.items() if why == reason}
    assert given == set(metrics)
    assert [row.scores[metric] for metric in metrics] == [score] * len(metrics)
    assert all(row.scores[name] is not None for name in METRICS if name not in row.reasons)


@pytest.mark.parametrize(
    ("change", "reason", "metrics"),
    [
        ({"answer": "?", "contexts": []}, "no answer", SUPPORT),
        ({"ground_truth": "?", "contexts": []}, "no ground truth", ("context_recall",)),
        ({"question": "?", "contexts": []}, "no question", CHUNKS),
        ({"question": "?", "answer": "?"}, "no question", ("answer_relevance",)),
        ({"ground_truth": "?", "answer": "?"}, "no ground truth", ("answer_correctness",)),
    ],
)
def test_null_goes_before_zero(change: Sample, reason: str, metrics: tuple[str, ...]) -> None:
    row = evaluate(NOTHING | change)
    assert [row.scores[metric] for metric in metrics] == [None] * len(metrics)
    assert {row.reasons[metric] for metric in metrics} == {reason}


def test_an_answer_that_only_refuses_is_no_hallucination() -> None:
    """Null for want of a claim, even where there is no chunk; its sentences keep their evidence."""
    refused = NOTHING | {"answer": "I don't know."}
    row = evaluate(refused)
    assert {name: row.scores[name] for name in SUPPORT} == dict.fromkeys(SUPPORT)
    assert row.reasons == {**dict.fromkeys(SUPPORT, "refusal"), "answer_relevance": "refusal"}
    assert row.scores["answer_relevance"] == 0
    assert row.losses is None
    assert len(row.answer_sentences or []) == 1
    assert row.refusal == (True, False)
    assert evaluate(refused | {"contexts": []}).reasons["faithfulness"] == "refusal"
    assert evaluate(refused | {"contexts": []}).answer_sentences is None
    assert evaluate(refused | {"contexts": None}).reasons["faithfulness"] == "no contexts given"


@every_row(
    "truth, answerable",
    [("Ana saw it.", True), (None, True), (["Ana saw it.", "I don't know."], False)],
)
def test_a_refusal_is_answerable_where_a_relevant_chunk_was_there(
    truth: Any, answerable: bool
) -> None:
    sample = {"question": "Who saw Bob?", "contexts": ["Ana saw Bob."], "ground_truth": truth}
    row = evaluate({**sample, "answer": "I don't know. Ana."})
    assert row.refusal == (False, answerable)
    irrelevant = {**sample, "answer": "I don't know.", "contexts": ["Hens."]}
    assert evaluate(irrelevant).refusal == (True, False)


def test_ground_truths_that_refuse_have_nothing_to_retrieve() -> None:
    sample = {"question": "red fox", "contexts": ["blue hen", "red fox"], "answer": "x"}
    truths = ["There is no information about it.", "blue hen"]
    both, one = (evaluate({**sample, "ground_truth": t}) for t in (truths, truths[1:]))
    assert both.scores["context_recall"] == one.scores["context_recall"] == 1.0
    assert both.scores["context_precision"] == one.scores["context_precision"] == 1.0
    assert both.best_truth == 1
    none = evaluate({**sample, "ground_truth": truths[0]})
    assert none.reasons["context_recall"] == "refusal"
    assert none.scores["context_precision"] == 0.5


def test_missing_fields_are_null() -> None:
    assert evaluate({}) == GroundedRow(
        "en",
        dict.fromkeys(METRICS),
        {
            **dict.fromkeys(SUPPORT, "no answer"),
            **dict.fromkeys((*CHUNKS, "answer_relevance"), "no question"),
            **dict.fromkeys(("context_recall", "answer_correctness"), "no ground truth"),
        },
    )


def test_chunk_scores_without_tokens_are_zeros() -> None:
    assert evaluate({"question": "Who?", "contexts": ["?", ""]}).chunk_scores == [0.0, 0.0]
    assert evaluate({"question": "Who?", "contexts": []}).chunk_scores == []
    assert evaluate({"question": "?", "contexts": ["Ana"]}).chunk_scores is None


def test_the_best_ground_truth_counts() -> None:
    sample = {"answer": "Ana", "contexts": ["Ana saw Bob."]}
    row = evaluate({**sample, "ground_truth": ["?", "Eve.", "Saw Bob.", "Ana saw."]})
    assert row.scores["context_recall"] == 1.0
    assert [s.span for s in row.truth_sentences or []] == [(0, 8)]  # the first of the best
    assert (
        row.scores["answer_correctness"]
        == evaluate({**sample, "ground_truth": "Ana saw."}).scores["answer_correctness"]
    )


def test_the_language_is_given_or_detected_for_all_texts_together() -> None:
    sample = {"answer": "Der Hund", "contexts": ["ist nicht da"], "language": ""}
    assert evaluate(sample).language == "de"
    assert evaluate({**sample, "language": "und"}).language == "und"
    assert evaluate({**sample, "language": "und"}, language="fr").language == "fr"


def test_a_truth_without_a_token_tells_nothing_about_the_language() -> None:
    """Its letter would make Latin letters half of all."""
    sample = {"answer": "東", "ground_truth": ["'s"]}
    assert evaluate(sample).language == "und"
    assert evaluate({**sample, "question": "'s"}).language == "en"
