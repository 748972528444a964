"""omk 0.54: how its judge's replies are read, what its RAG assertions show and when they hold."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from rag_eval.errors import InputError
from rag_eval.judge.metrics.catalogue import judge_row, steps_of
from rag_eval.judge.metrics.judgements import JudgedRow, Judgement
from rag_eval.judge.metrics.ratings import score_of
from rag_eval.judge.rendering import PromptStyle, render
from rag_eval.judge.steps import load_template
from rag_eval.scorers.omk.ratings import (
    DEFAULT_THRESHOLD,
    OmkReply,
    omk_passes,
    parse_omk_assertion_reply,
    parse_omk_reply,
)
from tests.conformance.other_tools import cases
from tests.step_judge import StepJudge
from tests.tables import every_row

OWNED = ("omk.judge.parse", "omk.rag.judge", "omk.judge.prompt_contract")
CASES = {case["id"]: case for function in OWNED for case in cases(function)}

# ------------------------------------------------------------------- the closed list of departures

OUT_OF_RANGE = (
    "omk has no upper bound, and a run with such a score cannot be saved: it is a failure"
)
WORDING = "the hash is that of omk's wording, and ours is our own"
DEPARTURES = {
    "omk.judge.parse.0009": OUT_OF_RANGE,
    "omk.rag.judge.0077": OUT_OF_RANGE,
    "omk.judge.prompt_contract.0001": WORDING,
    "omk.judge.prompt_contract.0002": WORDING,
    "omk.judge.prompt_contract.0004": WORDING,
}


def names(function: str) -> list[str]:
    """The vectors of a function that are to agree."""
    return [
        name for name, case in CASES.items() if case["fn"] == function and name not in DEPARTURES
    ]


# ----------------------------------------------------------------------------------------- replies


def as_vector(reply: OmkReply) -> dict[str, Any]:
    """In the form of the vectors, where 0 stands for a failure."""
    if reply.score is None:
        return {"score": 0, "failed": True}
    if reply.salvaged:
        return {"score": reply.score, "failed": False, "salvaged": True}
    words = {"reason": reply.reason, "reasoning": reply.reasoning}
    return {"score": reply.score, "failed": False, **words}


@every_row("name", names("judge.parse"))
def test_reply(name: str) -> None:
    case = CASES[name]
    assert as_vector(parse_omk_reply(case["args"]["raw"])) == case["expected"]


@every_row(
    ("raw", "score"),
    [
        ('{"score": 5.01}', None),
        ('{"score": 0.5}', 0.5),
        ('{"score": -4}', None),
        # Values are numbers as Number() reads them.
        ('{"score": true}', 1.0),
        ('{"score": [4]}', 4.0),
        ('{"score": ["4"]}', 4.0),
        ('{"score": [4, 4]}', None),
        ('{"score": {"a": 4}}', None),
        ('{"score": []}', None),
        ('{"score": "0x4"}', 4.0),
        ('{"score": "4\ufeff"}', 4.0),
        ('{"score": "\uff14"}', None),
        ('{"score": "0_4"}', None),
        ('{"score": NaN}', None),
        ('{"score": 1e999}', None),
        ('{"score": " 4 "}', 4.0),
        ('{"score": 4, x}', 4.0),
        ('{"Score": 4, x}', 4.0),
        ('{"\u017fcore": 4, x}', None),
        ("{score = 4}", 4.0),
        ("{\u00e9score: 4}", 4.0),
        ('{"score": "4", x}', None),
        ('{"score": 0.5, x}', 0.5),
        ('{"score": 5.5, x} score: 3', None),
        # The whole reply is searched, for a key in quotes first.
        ("score: 3 {x}", 3.0),
        ("{x} score: 3", 3.0),
        ('{score: 2} "score": 3', 3.0),
        # A backslash hides the next character, in a string or not.
        ('{\\"score": 4}', None),
        ("{score" * 30_000 + " " * 30_000 + "}" * 30_000, None),
        ("{score: 1." + "1" * 100_000 + ".}", None),
        ('{"score": 0, x}', None),
        ('{"score": 45, x}', None),
        ('{"subscore": 4, x}', None),
        ('{"reason": "a \\" } {", "score": 2}', 2.0),
        ('{"a": {"score": 2}, "score": 3} {"score": 1}', 3.0),
        ("{" * 100_000, None),
        ('{"a":' * 50_000 + "1" + "}" * 50_000, None),
    ],
)
def test_what_no_vector_holds(raw: str, score: float | None) -> None:
    assert parse_omk_reply(raw).score == score


@every_row(
    ("value", "words"),
    [
        ("true", "true"),
        ('["a", ["b", null], 1.0]', "a,b,,1"),
        ('{"a": 1}', "[object Object]"),
        ("0", None),
        ("false", None),
        ("[]", None),
        ("1.0", "1"),
        ("1e21", "1e+21"),
    ],
)
def test_reasons_are_texts_as_javascript_writes_them(value: str, words: str | None) -> None:
    raw = f'{{"score": 4, "reason": {value}, "reasoning": {value}}}'
    for found in (parse_omk_reply(raw), parse_omk_assertion_reply(raw)):
        assert (found.score, found.reason, found.reasoning) == (4.0, words, words)


@every_row("raw", [None, "", "no", "}{", '{"score": 4', '{"score": 4,}', "[4]"])
def test_nothing_of_an_assertions_reply_is_salvaged(raw: str | None) -> None:
    assert parse_omk_assertion_reply(raw).failed


# ----------------------------------------------------------------------------------- RAG assertions

METRICS = {
    "faithfulness": "omk.faithfulness",
    "answer_relevancy": "omk.answer_relevancy",
    "context_recall": "omk.context_recall",
}


def row_of(args: dict[str, Any]) -> JudgedRow:
    """The row of an assertion, with texts that can be found in a prompt."""
    return JudgedRow(
        question="QUESTION-TEXT",
        answer="OUTPUT-TEXT",
        contexts=None if args.get("context") is None else [args["context"]],
        ground_truths=[args["reference"]] if args.get("reference") else [],
    )


def judged(args: dict[str, Any], replies: dict[str, Any]) -> tuple[Judgement, list[str]]:
    """What the metric of an assertion gives, and the prompts that the judge was sent."""
    metric, asker = METRICS[args["type"]], StepJudge(replies)
    found = asyncio.run(judge_row(asker, row_of(args), [metric], "rating", {}))
    return found[metric], [prompt for sent in asker.prompts.values() for prompt in sent]


def threshold_of(args: dict[str, Any]) -> float:
    threshold = args.get("threshold")
    return DEFAULT_THRESHOLD if threshold is None else float(threshold)


@every_row("name", names("rag.judge"))
def test_assertion(name: str) -> None:
    args, wanted = CASES[name]["args"], CASES[name]["expected"]
    reply = parse_omk_assertion_reply(args["raw"])
    if wanted.get("error"):
        with pytest.raises(InputError, match="threshold must be a number from 1 to 5"):
            omk_passes(reply, threshold_of(args))
        return
    _, prompts = judged(args, {})
    assert bool(prompts) == wanted["judge_called"]
    # Without a reference nobody is asked, and whatever would have been said does not count.
    assert (bool(prompts) and omk_passes(reply, threshold_of(args))) == wanted["passed"]
    if prompts:
        (prompt,) = prompts
        seen = {
            "sees_context": "CTX-TEXT" in prompt,
            "sees_reference": "REF-TEXT" in prompt,
            "sees_question": "QUESTION-TEXT" in prompt,
            "sees_output": "OUTPUT-TEXT" in prompt,
        }
        assert seen == {key: wanted[key] for key in seen}


def is_rating(name: str) -> bool:
    """Whether a metric, which is asked for a whole number, can be given the reply's score."""
    score = parse_omk_assertion_reply(CASES[name]["args"]["raw"]).score
    return score is None or score.is_integer()


RATED = [
    name
    for name in names("rag.judge")
    if is_rating(name) and not CASES[name]["expected"].get("error")
]


@every_row("name", RATED)
def test_a_metric_passes_where_the_assertion_does(name: str) -> None:
    """The same rating under the mark, as a score against the same threshold."""
    args, wanted = CASES[name]["args"], CASES[name]["expected"]
    score = parse_omk_assertion_reply(args["raw"]).score
    reply = "no rating" if score is None else {"reason": "r", "rating": int(score)}
    found, _ = judged(args, {"omk/" + args["type"]: reply})
    threshold = score_of(threshold_of(args))
    assert (found.score is not None and found.score >= threshold) == wanted["passed"]


# ------------------------------------------------------------------------------------- departures


@every_row("name", [name for name in DEPARTURES if DEPARTURES[name] != WORDING])
def test_departure(name: str) -> None:
    case = CASES[name]
    reply = parse_omk_reply(case["args"]["raw"])
    assert reply.failed
    assert case["expected"].get("score", 9) > 5 or case["expected"]["passed"]


@every_row("name", [name for name in DEPARTURES if DEPARTURES[name] == WORDING])
def test_prompts_keep_the_contract_but_for_its_hash(name: str) -> None:
    """Texts in their order, the paragraph on length when it is asked for, a hash that knows it."""
    case = CASES[name]
    length_debias = case["args"]["length_debias"]
    style = PromptStyle(length_neutral=length_debias)
    asker = StepJudge()
    row = JudgedRow("QUESTION-TEXT", "OUTPUT-TEXT", ["CTX-TEXT"])
    asyncio.run(judge_row(asker, row, ["omk.faithfulness"], "rating", {}))
    (step,) = steps_of("omk.faithfulness", "rating")
    (fields,) = asker.fields[step.name]
    prompt = render(step, fields, style).text
    assert (
        prompt.index("Rate how faithful") < prompt.index("CTX-TEXT") < prompt.index("OUTPUT-TEXT")
    )
    paragraph = load_template("shared/length_neutrality").body
    assert (paragraph in prompt) == case["expected"]["length_section"] == length_debias
    assert style.digest(step) != PromptStyle(length_neutral=not length_debias).digest(step)
    assert case["expected"]["hash"] not in style.digest(step)


def test_the_list_of_departures_is_closed() -> None:
    counted = {fn: len(names(fn)) for fn in ("judge.parse", "rag.judge", "judge.prompt_contract")}
    assert counted == {"judge.parse": 20, "rag.judge": 50, "judge.prompt_contract": 0}
    assert (len(CASES), len(RATED)) == (75, 46)
    assert set(DEPARTURES) <= set(CASES)
