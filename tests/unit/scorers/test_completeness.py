"""Mastra's completeness: elements of texts, how they cover one another, its contract."""

from __future__ import annotations

import math
import random
import sys
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_eval.errors import InputError, MissingExtraError
from rag_eval.samples import NullReason
from rag_eval.scorers.mastra.completeness import METRICS, completeness, create_completeness_scorer
from rag_eval.scorers.mastra.elements import element_coverage, infinitive, text_elements
from rag_eval.scorers.mastra.runs import RunError
from tests.tables import every_row

LEMMAS = ["own", "lemminflect"]


# ------------------------------------------------------------------------------------ elements


@every_row("lemmas", LEMMAS)
@every_row(
    ("text", "elements"),
    [
        ("The harbour opens at dawn.", ["the", "harbour", "open", "at", "dawn"]),
        ("It was built and has been used", ["it", "build", "and", "use"]),
        ("Café ZOË", ["cafe", "zoe"]),
        ("1,200.50", ["1", "200", "50"]),
        ("They did not sign", ["they", "do", "not", "sign"]),
        ("They didn’t sign", ["they", "do", "not", "sign"]),
        ("It will not have been sold", ["it", "do", "not", "sell"]),
        ("The dog's tail", ["the", "dog", "s", "tail"]),
        ("it's ours", ["it", "be", "s", "ours"]),
        ("the meeting", ["the", "meeting"]),
        ("first boxes", ["first", "boxes"]),
        ("東京 🎉", []),
        ("go go Go", ["go"]),
        ("", []),
    ],
)
def test_words_become_elements(text: str, elements: list[str], lemmas: str) -> None:
    assert text_elements(text, lemmas) == elements  # type: ignore[arg-type]


@every_row(
    ("form", "verb"),
    [
        ("went", "go"),
        ("thought", "think"),
        ("running", "run"),
        ("stopped", "stop"),
        ("making", "make"),
        ("hoping", "hope"),
        ("creating", "create"),
        ("required", "require"),
        ("explaining", "explain"),
        ("passed", "pass"),
        ("called", "call"),
        ("agreed", "agree"),
        ("applied", "apply"),
        ("died", "die"),
        ("contains", "contain"),
        ("applies", "apply"),
        ("reaches", "reach"),
        ("houses", "houses"),
        ("string", "string"),
        ("morning", "morning"),
        ("hundred", "hundred"),
        ("tree", "tree"),
    ],
)
def test_forms_of_verbs_have_their_infinitive(form: str, verb: str) -> None:
    assert infinitive(form) == verb


def test_own_infinitives_are_mostly_those_of_the_dictionary() -> None:
    """The tables here were checked on the dictionary's verbs; this keeps them so."""
    from lemminflect import getAllInflections

    words = """accept add allow answer apply arrive ask begin believe build call carry cause change
    check close compare consider contain continue copy create decide define delete deliver describe
    develop discuss divide drop enable ensure enter examine expect explain explore find follow force
    give handle happen hope identify ignore imagine improve include increase inform invite join jump
    keep know learn leave like listen load look lose love make manage measure mention move need
    notice observe offer open operate order parse pass pay perform place plan play prefer prepare
    produce promise propose protect prove provide publish push raise reach read receive recognize
    record reduce refer refuse remain remember remove replace reply report request require resolve
    return save scan schedule search seem select send separate serve set share show solve sort speak
    split stand start state stay stop store study suggest supply support take talk teach tell test
    think throw train translate travel treat try turn understand update use validate visit wait walk
    want warn waste watch work worry write"""
    verbs = words.split()
    forms = [
        (form, verb)
        for verb in verbs
        for tag in ("VBD", "VBG", "VBN")
        for form in getAllInflections(verb).get(tag, ())
        if form != verb
    ]
    assert len(forms) > 300
    wrong = [(form, infinitive(form)) for form, verb in forms if infinitive(form) != verb]
    assert len(wrong) <= len(forms) * 0.02, wrong


@given(st.text())
def test_elements_are_plain_words_each_once(text: str) -> None:
    found = text_elements(text)
    assert len(set(found)) == len(found)
    assert all(element.isascii() and element.isalnum() and element for element in found)
    assert all(element == element.lower() for element in found)


# ------------------------------------------------------------------------------------ coverage


def plain_coverage(wanted: Sequence[str], given: Sequence[str]) -> float:
    """What coverage means: every pair is looked at."""
    if not wanted:
        return float(not given)

    def covers(element: str, other: str) -> bool:
        if len(element) <= 3:
            return element == other
        short, long = sorted((element, other), key=len)
        return short in long and len(short) / len(long) > 0.6

    return sum(any(covers(element, other) for other in given) for element in wanted) / len(wanted)


WORDS = st.lists(st.text(alphabet="ab", min_size=1, max_size=12), max_size=12, unique=True)


@given(WORDS, WORDS)
def test_coverage_is_what_all_pairs_say(wanted: list[str], given_words: list[str]) -> None:
    assert element_coverage(wanted, given_words) == plain_coverage(wanted, given_words)


@every_row("size", [40, 250, 257, 300, 900])
def test_coverage_of_long_elements_is_what_all_pairs_say(size: int) -> None:
    draw = random.Random(size)

    def words() -> list[str]:
        lengths = [draw.randint(size * 6 // 10, size) for _ in range(40)]
        places = [draw.randint(0, length - 1) for length in lengths]
        pairs = zip(lengths, places, strict=True)
        strangers = {"".join(draw.choices("xyz", k=size)) for _ in range(5)}
        return sorted(
            strangers | {"a" * place + "b" + "a" * (length - place - 1) for length, place in pairs}
        )

    wanted, others = words(), words()
    score = element_coverage(wanted, others)
    assert score == plain_coverage(wanted, others)
    assert 0 < score < 1


@every_row(
    ("wanted", "given_words", "score"),
    [
        (["walk"], ["walker"], 1.0),  # 4 of 6 letters
        (["walk"], ["walking"], 0.0),  # 4 of 7
        (["abcdef"], ["abcdefghij"], 0.0),  # 0.6 is not above 0.6
        (["abcdefg"], ["abcdefghij"], 1.0),
        (["cat"], ["cats"], 0.0),  # three letters must be equal
        (["cats"], ["cat"], 1.0),
        ([], [], 1.0),
        ([], ["a"], 0.0),
        (["a"], [], 0.0),
    ],
)
def test_longer_and_shorter_elements_cover(
    wanted: list[str], given_words: list[str], score: float
) -> None:
    assert element_coverage(wanted, given_words) == score


@pytest.mark.timeout(120)
def test_fifty_thousand_elements_a_side_end() -> None:
    draw = random.Random(1)

    def words() -> list[str]:
        return ["".join(draw.choices("abcdef", k=draw.randint(4, 14))) for _ in range(50_000)]

    wanted, others = words(), words()
    score = element_coverage(wanted, others)
    few = wanted[:20]
    assert element_coverage(few, others) == plain_coverage(few, others)
    assert 0 < score < 1


@pytest.mark.timeout(120)
@every_row(
    "text",
    [
        "a" * 400_000,
        "be " * 130_000 + "not",
        "a'" * 200_000,
        "e" + "\u0301\u0323\u05b0" * 130_000,
    ],
    ids=["one word", "auxiliaries", "apostrophes", "marks"],
)
def test_long_texts_end(text: str) -> None:
    assert completeness(text, text).score == 1.0


@given(st.text(max_size=60), st.text(max_size=60))
def test_a_text_is_complete_in_itself_and_whatever_follows_it(text: str, more: str) -> None:
    assert completeness(text, text).score == 1.0
    assert 0.0 <= completeness(text, more).score <= 1.0
    # A full stop ends what an auxiliary could be one of.
    if text_elements(text):
        assert completeness(text, f"{text} . the {text}").score == 1.0


# ------------------------------------------------------------------------------------- scorers


def test_missing_elements_are_those_without_an_equal_one() -> None:
    found = completeness("walk the dog", "the walker")
    assert found.score == pytest.approx(2 / 3)
    assert found.missing_elements == ("walk", "dog")
    assert found.to_dict()["elementCounts"] == {"input": 3, "output": 2}


def test_all_messages_of_a_side_are_read() -> None:
    run = {
        "input": [{"role": "user", "text": "alpha"}, {"role": "user", "text": "beta"}],
        "output": [{"role": "tool", "text": "alpha"}, {"role": "assistant", "text": "gamma"}],
    }
    found = create_completeness_scorer().run(run)
    assert found.score == 0.5
    assert found.preprocess_result["inputElements"] == ["alpha", "beta"]


def test_a_run_without_an_output_is_refused() -> None:
    with pytest.raises(RunError, match="needs an output"):
        create_completeness_scorer().run({"input": "a"})


def test_the_default_does_not_depend_on_what_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "It was googled and unfriended, mis-sold and outdone"
    before = completeness(text, text)
    monkeypatch.setitem(sys.modules, "lemminflect", None)
    assert completeness(text, text) == before
    assert completeness(text, text, lemmas="auto") == before


def test_without_lemminflect_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "lemminflect", None)
    with pytest.raises(MissingExtraError, match=r"rag-eval-native\[lemmas\]"):
        create_completeness_scorer(lemmas="lemminflect").settings.chosen  # noqa: B018


def test_lemminflect_knows_more_verbs() -> None:
    assert completeness("foreswore", "foreswear").score == 0.0
    assert completeness("foreswore", "foreswear", lemmas="lemminflect").score == 1.0


def test_other_lemmas_are_refused() -> None:
    with pytest.raises(InputError, match="lemmas must be 'own'"):
        completeness("a", "b", lemmas="spacy")


def test_a_sample_is_scored_and_a_column_agrees() -> None:
    (spec,) = METRICS
    scorer = spec.create(**spec.options)
    rows = [
        {"question": "alpha beta", "answer": "alpha"},
        {"question": "alpha"},
        {"answer": "alpha"},
        {"messages": [{"role": "user", "text": "x"}, {"role": "assistant", "text": "x y"}]},
        {},
        {"question": "", "answer": ""},
    ]
    found = [scorer.score(row) for row in rows]
    assert [each.score for each in found] == [0.5, None, None, 1.0, None, 1.0]
    assert {each.null_reason for each in found if each.score is None} == {NullReason.MISSING_FIELD}
    assert found[0].details[0]["missing"] == ["beta"]
    assert scorer.column is not None
    scores, reasons = scorer.column(rows)
    assert [None if math.isnan(score) else score for score in scores] == [
        each.score for each in found
    ]
    assert reasons.tolist() == [int(each.null_reason) for each in found]
