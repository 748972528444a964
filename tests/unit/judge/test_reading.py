"""Replies -> values: the object under the mark is found in any prose, and nothing else is."""

from __future__ import annotations

import json
import math
from typing import Annotated, Any, Literal

import msgspec
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from rag_eval.judge.failures import FailureKind, JudgeFailure
from rag_eval.judge.reading import marked_object, read_reply, value_of
from rag_eval.judge.replies import JudgeReply
from tests.counted_work import operations
from tests.tables import every_row

MARK = "0f1e2d3c4b5a6978"
OTHER = "ffffffffffffffff"


class Verdict(msgspec.Struct):
    score: float
    reason: str = ""
    sure: bool = False
    label: Literal["yes", "no"] = "yes"
    rating: Annotated[int, msgspec.Meta(ge=1, le=5)] = 1
    parts: list[Verdict] = []


def read(text: str, finish_reason: str | None = None) -> Verdict:
    return read_reply(JudgeReply(text, finish_reason), MARK, Verdict)


def kind(text: str, finish_reason: str | None = None) -> FailureKind:
    return failure(text, finish_reason).kind


def failure(text: str, finish_reason: str | None = None) -> JudgeFailure:
    with pytest.raises(JudgeFailure) as caught:
        read(text, finish_reason)
    return caught.value


def verdict(mark: str | None = MARK, **keys: Any) -> str:
    return json.dumps({"mark": mark, "score": 0.5, **keys})


numbers = st.integers(-(10**15), 10**15) | st.floats(allow_nan=False, allow_infinity=False)
values = st.recursive(
    st.none() | st.booleans() | numbers | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=8,
)
objects = st.dictionaries(st.text(max_size=8).filter(lambda key: key != "mark"), values, max_size=4)
unmarked = st.builds(
    lambda found, mark: json.dumps({**found, **mark}),
    objects,
    st.sampled_from([{}, {"mark": OTHER}, {"mark": None}, {"mark": [MARK]}, {"mark": MARK + "0"}]),
)
odds = st.sampled_from(
    [
        *(
            "{",
            "}",
            '{"',
            '"',
            "}}",
            "{{x}}",
            "\\frac{a}{b}",
            "```json\n",
            "```",
            "[",
            "]",
            "\ufeff",
        ),
        *('{"a": ', '"mark": ', f"the mark is {MARK}. ", f'"mark": "{OTHER}"', "“{”", "\x00", "'"),
    ]
)
prose = st.lists(st.text(max_size=12) | odds | unmarked, max_size=6).map("\n".join)


@given(prose, objects, prose)
def test_an_object_that_begins_with_the_mark_is_found_in_any_prose(
    before: str, found: dict[str, Any], after: str
) -> None:
    whole = json.dumps({"mark": MARK, **found})
    read_back = marked_object(f"{before}\n{whole}\n{after}", MARK)
    assert read_back is not None
    assert json.dumps(read_back) == json.dumps(json.loads(json.dumps(found)))


@given(st.text(max_size=30), objects, st.text(max_size=30), st.randoms(use_true_random=False))
def test_the_mark_may_stand_further_inside(
    before: str, found: dict[str, Any], after: str, random: Any
) -> None:
    items = [*found.items(), ("mark", MARK)]
    random.shuffle(items)
    assume("{" not in before)
    text = f"{before}\n```json\n{json.dumps(dict(items), indent=1)}\n```\n{after}"
    assert marked_object(text, MARK) == found


@given(prose)
def test_an_object_with_another_mark_or_none_never_is(text: str) -> None:
    assert marked_object(text, MARK) is None
    assert kind(text) in ("unparsed", "truncated")


@given(objects)
def test_a_verdict_quoted_in_the_judges_own_object_is_not_taken(found: dict[str, Any]) -> None:
    quoted = json.dumps({"mark": MARK, **found, "score": 1})
    text = verdict(score=0.25, quoted=f"It says {quoted}.", parts=[{"score": 0, "said": quoted}])
    assert read(text).score == 0.25
    assert read(f"The text has {{x}} and:\n{text}").score == 0.25


@every_row("shown", [MARK, MARK.upper(), f"[[end {MARK}]]", f'{{"mark": "{MARK}", "score": 1}}'])
def test_a_mark_in_a_text_that_is_kept_is_refused(shown: str) -> None:
    """The text may become material of the row's next prompt, which has the same mark."""
    for keys in ({"reason": f"It says {shown}."}, {"parts": [{"score": 0, "reason": shown}]}):
        assert "repeats the mark inside" in str(failure(verdict(**keys)))


def test_an_example_that_comes_back_is_no_reply() -> None:
    examples = frozenset(["The jug is green and old."])
    reply = JudgeReply(verdict(reason="The jug is green and old."))
    assert read_reply(reply, MARK, Verdict).score == 0.5
    with pytest.raises(JudgeFailure, match="repeats an example"):
        read_reply(reply, MARK, Verdict, examples=examples)
    assert read_reply(JudgeReply(verdict(reason="It is.")), MARK, Verdict, None, examples)


def test_an_object_inside_of_the_judges_own_is_part_of_it() -> None:
    inner = {"mark": MARK, "score": 1}
    assert read(verdict(score=0.25, parts=[inner], quoted=inner)).score == 0.25
    last = {"score": 0.25, "quoted": {"score": 1, "mark": MARK}, "mark": MARK}
    assert read(json.dumps(last)).score == 0.25
    assert kind(json.dumps({"quoted": inner, "mark": MARK, "score": 0})) == "unparsed"


def test_an_object_in_a_wrapper_is_found() -> None:
    assert read(f'{{"reply": [{verdict(score=0.75)}]}}').score == 0.75
    assert read(f"[{verdict(score=0.75)}]").score == 0.75


PARTS = verdict(reason='a {b} [c] " d', parts=[{"score": 1}])
TEXT = f"Well, {{so}} I say: {PARTS} That is it."


@every_row("headed", [True, False])
def test_a_reply_cut_anywhere_is_no_value(headed: bool) -> None:
    text = (
        TEXT
        if headed
        else TEXT.replace(f'{{"mark": "{MARK}", ', "{").replace(
            "]} That", f'], "mark": "{MARK}"}} That'
        )
    )
    start, end = text.index('{"'), text.rindex("}") + 1
    for place in range(len(text) + 1):
        cut = text[:place]
        if place >= end:
            assert read(cut).score == 0.5
        else:
            inside = place > start or cut.endswith("{")
            assert kind(cut) == ("truncated" if inside else "unparsed"), cut
        if place < end:
            assert kind(cut, "length") == "truncated"


@every_row("reason", ["length", "max_tokens", "model_context_window_exceeded"])
def test_a_whole_object_is_whole_wherever_the_reply_ended(reason: str) -> None:
    assert read(verdict() + " And furth", reason).score == 0.5


@every_row("reason", ["refusal", "content_filter", "safety"])
def test_a_refusal_is_no_value_even_with_an_object(reason: str) -> None:
    assert kind(verdict(), reason) == "refused"


@every_row(
    ("text", "said"),
    [
        ("", "no JSON object"),
        ("I think it is supported.", "no JSON object"),
        ("“{”mark“: …", "no JSON object"),
        (f"{{mark: '{MARK}', score: 1}}", "no JSON object"),
        ('{"score": 1}', "does not repeat the mark"),
        (verdict(mark=OTHER), "does not repeat the mark"),
        (verdict(mark=None), "does not repeat the mark"),
        (verdict(mark=MARK.upper()), "does not repeat the mark"),
        (verdict(mark=MARK[:-1]), "does not repeat the mark"),
        (f'{{"mark": "{MARK}", "score": 1,}}', "is not valid"),
        (f'{{"mark": "{MARK}", "score": 1}}'.replace("}", " // a note\n}"), "is not valid"),
        (f'{{"mark": "{MARK}", "score": 1, "score": 0}}', "has a key twice"),
        (f'{{"mark": "{OTHER}", "score": 1, "mark": "{MARK}"}}', "no JSON object"),
        (f'{{"mark": "{MARK}", "score": 1, "mark": "{MARK}"}}', "has a key twice"),
        (f'{{"mark": "{MARK}", "parts": [{{"a": 1, "a": 1}}]}}', "has a key twice"),
        (f'{{"mark": "{MARK}", "score": NaN}}', "NaN, which is not a number"),
        (f'{{"mark": "{MARK}", "score": -Infinity}}', "-Infinity, which is not a number"),
        (f'{{"mark": "{MARK}", "score": 1e999}}', "too large"),
        (f'{{"mark": "{MARK}", "score": {"9" * 400}}}', "too large"),
        (f'{{"mark": "{MARK}", "score": {"9" * 9999}}}', "too large"),
        (f'{{"mark": "{MARK}", "a": {"[" * 80}{"]" * 80}}}', "nested too deeply"),
        (verdict(score=0) + verdict(score=1), "several JSON objects that differ"),
        (verdict(sure=True) + verdict(sure=1), "several JSON objects that differ"),
        (f'{verdict()}{{"score": 1, "mark": "{MARK}"}}', "several JSON objects that differ"),
        (verdict() * 9, "too many JSON objects"),
    ],
)
def test_what_is_no_verdict_is_not_guessed_at(text: str, said: str) -> None:
    found = failure(text)
    assert (found.kind, said in str(found)) == ("unparsed", True), str(found)


def test_a_verdict_that_is_repeated_is_one() -> None:
    same = f'{{"score": 0.5, "mark": "{MARK}"}}'
    assert read(f"{verdict()} I repeat: ```json\n{verdict()}\n``` or {same}").score == 0.5


def test_an_object_that_cannot_be_read_is_not_passed_over_for_another() -> None:
    broken = f'{{"mark": "{MARK}", "score": 0, "reason": "he said "no""}}'
    assert kind(f"{broken} {verdict(score=1)}") == "unparsed"
    assert kind(f"{verdict(score=1)} {broken[:30]}") == "truncated"


@every_row(
    "text",
    [
        f"\ufeff{verdict()}",
        f"```json\n{verdict()}\n```",
        f"Here you are — “as asked”:\n\n{verdict()}\n\nI hope that helps {{:-)}}",
        f"{{}} {{ }} {{'a': 1}} $\\frac{{1}}{{2}}$ {verdict()}",
        json.dumps({"mark": MARK, "score": "0.5"}, indent=4),
        f'{{"mark":"{MARK}","score":5e-1,"reason":"a\nline\tbreak"}}',
        f"<think>A draft: {verdict(score=0)}, but no.</think>\n{verdict()}",
        f"{'{x} ' * 5000}{verdict()}",
        f"{chr(123) + chr(34)} {verdict()}",
        f"{verdict(mark=OTHER, score=1)} {verdict()} {verdict(mark=None, score=0)}",
    ],
)
def test_prose_fences_and_thoughts_are_read_over(text: str) -> None:
    assert read(text).score == 0.5


def test_a_brace_in_prose_that_is_never_closed_is_no_cut() -> None:
    assert kind('He wrote {"a" for {"x": 1,}') == "unparsed"
    assert kind('He wrote {"a" for {"x": 1,') == "truncated"


def test_a_thought_without_an_end_was_cut() -> None:
    assert kind(f"<think>First, {verdict()} but") == "truncated"


@every_row(
    ("keys", "wanted"),
    [
        ({"score": "0.25"}, Verdict(0.25)),
        ({"score": 1, "rating": "3"}, Verdict(1.0, rating=3)),
        ({"score": 1, "rating": 3.0}, Verdict(1.0, rating=3)),
        ({"score": 1, "sure": "true"}, Verdict(1.0, sure=True)),
        ({"score": 1, "sure": "False"}, Verdict(1.0, sure=False)),
        ({"score": 1, "another": {"key": [1]}}, Verdict(1.0)),
        ({"score": 1, "reason": "\ud800 \U0001f600"}, Verdict(1.0, "\ufffd \U0001f600")),
    ],
)
def test_a_value_whose_meaning_is_plain_is_taken(keys: dict[str, Any], wanted: Verdict) -> None:
    assert read(verdict(**keys)) == wanted


@every_row(
    ("keys", "said"),
    [
        ({"score": "high"}, "Expected `float`, got `str` - at `$.score`"),
        ({"score": "nan"}, "nan or infinity"),
        ({"score": 1, "parts": [{"score": "-inf"}]}, "nan or infinity"),
        ({"score": None}, "Expected `float`, got `null` - at `$.score`"),
        ({"score": True}, "Expected `float`, got `bool` - at `$.score`"),
        ({"score": 1, "rating": 6}, "Expected `int` <= 5 - at `$.rating`"),
        ({"score": 1, "rating": 3.5}, "Expected `int`, got `float` - at `$.rating`"),
        ({"score": 1, "sure": "yes"}, "Expected `bool`, got `str` - at `$.sure`"),
        ({"score": 1, "label": "Yes"}, "not one of the allowed values - at `$.label`"),
        ({"score": 1, "parts": [{}]}, "missing required field `score` - at `$.parts[0]`"),
    ],
)
def test_a_value_that_would_have_to_be_guessed_is_not_taken(
    keys: dict[str, Any], said: str
) -> None:
    found = failure(verdict(**keys))
    assert (found.kind, said in str(found)) == ("unparsed", True), str(found)


@given(st.text(min_size=8) | st.just("no\n\nHuman: <|im_end|> - at `$.x`\x1b" * 99))
def test_a_failure_repeats_nothing_of_the_reply(text: str) -> None:
    assume(text.strip() and text not in "the value is not one of the allowed values - at `$.label`")
    found = failure(verdict(label=text, reason=text))
    assert text not in str(found)
    assert str(found).isprintable()
    assert len(str(found)) < 350


def test_a_check_says_what_is_missing_in_one_short_line() -> None:
    with pytest.raises(JudgeFailure) as caught:
        value_of(
            {"score": 1}, Verdict, lambda value: f"no verdict\nfor <|x|>{value.score}" + "y" * 999
        )
    assert caught.value.kind == "incomplete"
    assert str(caught.value).startswith("no verdict for < |x|>1.0yyy")
    assert len(str(caught.value)) <= 300
    assert value_of({"score": 1}, Verdict, lambda value: None) == Verdict(1.0)
    assert value_of({"score": 1}, Verdict, lambda value: "") == Verdict(1.0)


def counted_tries(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Where decoding will have been tried."""
    found: list[int] = []
    decode = json.JSONDecoder.raw_decode

    def counted(self: json.JSONDecoder, text: str, start: int = 0) -> tuple[Any, int]:
        found.append(start)
        return decode(self, text, start)

    monkeypatch.setattr(json.JSONDecoder, "raw_decode", counted)
    return found


MEGABYTE = 1 << 20
HOSTILE = [
    "{",
    '{"',
    '{"a":',
    '{"a":[],"b":{',
    "[",
    '{"mark":',
    f'{{"mark":"{MARK}","a":',
    f'{{"mark":"{MARK}"}}',
    f'{{"mark":"{OTHER}"}}',
    f'{{"a":1}} {MARK} ',
    '"',
    "\\",
    '{"\\',
    "{ ",
    f'{{"a":{{"mark":"{MARK}"',
]


@every_row("part", HOSTILE)
def test_hostile_replies_are_given_up_after_a_bounded_number_of_tries(
    part: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each try reads the reply once at the most, so that the work is linear in its length."""
    tries = counted_tries(monkeypatch)
    assert kind(part * (MEGABYTE // len(part))) in ("unparsed", "truncated")
    # Marked ones, those around them, and what is tried to name the failure.
    assert len(tries) <= 8 + 3 * 64


@every_row("part", HOSTILE)
def test_the_end_of_a_hostile_reply_is_looked_for_once(part: str) -> None:
    text = part * (10_000 // len(part))
    assert operations(lambda: kind(text)) < 20 * len(text)


def test_a_reply_of_the_usual_form_is_decoded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    tries = counted_tries(monkeypatch)
    text = f"{'{x} ' * 100}{verdict(parts=[{'score': n} for n in range(500)])}"
    assert len(read(text).parts) == 500
    assert len(tries) == 1


def test_a_reply_past_a_million_characters_is_not_read() -> None:
    assert "longer than" in str(failure(verdict() + " " * MEGABYTE))
    assert read(verdict() + " " * (MEGABYTE - 200)).score == 0.5


def test_numbers_stay_what_they_were() -> None:
    text = verdict(score=0.1 + 0.2, a=10**15, b=-0.0, c=123456789012345678, d=5e-324)
    found = marked_object(text, MARK)
    assert found == {
        "score": 0.1 + 0.2,
        "a": 10**15,
        "b": -0.0,
        "c": 123456789012345678,
        "d": 5e-324,
    }
    assert math.copysign(1, found["b"]) == -1
