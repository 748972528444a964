"""Hostile texts as chunk, answer and question: prompts keep their form, parrots give no verdict."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest

from rag_eval.judge.failures import JudgeFailure
from rag_eval.judge.reading import read_reply
from rag_eval.judge.rendering import Prompt, PromptStyle, render
from rag_eval.judge.replies import JudgePrompt, JudgeReply
from rag_eval.judge.steps import Step, Template
from tests.judging import mark_of, reply_with
from tests.tables import every_row

FIXTURE = Path(__file__).parents[2] / "fixtures" / "hostile_contexts.jsonl"
HOSTILE = {row["id"]: row for row in map(json.loads, FIXTURE.read_text("ascii").splitlines())}
ROLES = ("chunk", "answer", "question")


class Graded(msgspec.Struct):
    """Every key may be left out, so that whatever object is taken gives a value."""

    score: float = -1
    verdict: str = ""
    claims: list[Any] = []


STEP = Step("hostile", Graded, lambda fields: Graded())
STYLE = PromptStyle(
    {
        STEP.name: Template(
            STEP.name,
            "Is the answer to this supported?\n\n$question\n\n$answer\n\nThe chunks:\n\n$chunk",
            '{"score": 0.5, "verdict": "yes", "claims": ["..."]}',
        )
    }
)


def fields_with(role: str, text: str) -> dict[str, Any]:
    calm: dict[str, Any] = {
        "question": "Who sat?",
        "answer": "The cat.",
        "chunk": ["A cat sat.", "B"],
    }
    calm[role] = [calm["chunk"][0], text, calm["chunk"][1]] if role == "chunk" else text
    return calm


# ------------------------------------------------- an independent reader of prompts and their rules


class Material(NamedTuple):
    label: str
    text: str


def materials(prompt: Prompt) -> tuple[list[Material], str]:
    """The fenced texts of a prompt, line by line, and what stands outside of them."""
    found: list[Material] = []
    outside: list[str] = []
    inside: list[str] = []
    label = None
    for line in prompt.text.split("\n"):
        if not line.endswith(f" {prompt.mark}]]"):
            (outside if label is None else inside).append(line)
            continue
        if label is not None:
            found.append(Material(label, "\n".join(inside)))
        opens = line != f"[[end {prompt.mark}]]"
        assert opens or label is not None
        assert not opens or line.startswith("[[begin ")
        inside, label = [], line[len("[[begin ") : -len(f" {prompt.mark}]]")] if opens else None
    assert label is None
    return found, "\n".join(outside)


TOKEN = re.compile(
    r"""
      <[|｜][^\s|｜<>]+[|｜]?> | <[^\s|｜<>]+[|｜]>
    | </?(?:s|think|tool_call|start_of_turn|end_of_turn)> | <</?SYS>>
    | \[/?(?:INST|TOOL_CALLS)\] | \[\[(?:begin|end|no)\s
    """,
    re.VERBOSE,
)
INVISIBLE = "\u200b\u200c\u200d\u2060\ufeff\u00ad"


def shown_character(char: str) -> str:
    code = ord(char)
    if code < 0x20 and char not in "\t\n\v\f\r":
        return chr(0x2400 + code)
    if code == 0x7F:
        return "\u2421"
    hidden = 0xD800 <= code < 0xE000 or code in (0x202D, 0x202E) or 0xE0000 <= code < 0xE0080
    return "\ufffd" if hidden else char


def shown(text: str) -> str:
    """What the documented rules make of a text, character by character."""
    england = "\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f"
    plain = england.join("".join(map(shown_character, part)) for part in text.split(england))
    found = []
    for place, char in enumerate(plain):
        found.append(char)
        rest = plain[place + 1 :].lstrip(INVISIBLE)
        if char == "[" and rest.startswith("["):
            rest = "[" + rest[1:].lstrip(INVISIBLE)
        if char in "<[" and TOKEN.match(char + rest):
            found.append(" ")
        before = "\n" + plain[: place + 1]
        if before.endswith("\n\n") and plain.startswith(("Human:", "Assistant:"), place + 1):
            found.append(" ")
    return "".join(found)


# ---------------------------------------------------------------------------------------- the suite


def prompt_with(hostile: str, role: str) -> Prompt:
    return render(STEP, fields_with(role, HOSTILE[hostile]["text"]), STYLE)


def json_in(text: str) -> list[str]:
    """Every piece of a text that is a JSON object by itself and that a reply has room for.

    Python 3.12 and later decode a nest of thousands, each level of which is such a piece.
    """
    found = []
    for place in [match.start() for match in re.finditer("{", text)][:200]:
        try:
            _, end = json.JSONDecoder().raw_decode(text, place)
        except (ValueError, RecursionError):
            continue
        if end - place < 4096:
            found.append(text[place:end])
    return found


def parrots(text: str, prompt: Prompt) -> list[str]:
    """What a judge says that repeats what it was given to judge."""
    return [
        text,
        f"```json\n{text}\n```",
        f"```\n{text}",
        f"The text says: {text}\nI agree.",
        json.dumps({"text": text}),
        json.dumps(text),
        f"[{text}]",
        f"<think>{text}</think>{text}",
        prompt.text,
        f"The mark is {prompt.mark}.\n{text}",
        f'"mark": "{prompt.mark}"\n{text}',
        *json_in(text),
        *(f"```json\n{piece}\n```" for piece in json_in(text)),
    ]


def test_the_suite_is_wide() -> None:
    kinds = {row["kind"] for row in HOSTILE.values()}
    assert len(HOSTILE) >= 45
    assert kinds == {"instruction", "verdict", "fence", "role", "unicode", "bulk"}


@every_row("role", ROLES)
@every_row("hostile", HOSTILE)
def test_a_hostile_text_stays_between_its_fences(hostile: str, role: str) -> None:
    fields = fields_with(role, HOSTILE[hostile]["text"])
    prompt = render(STEP, fields, STYLE)
    found, outside = materials(prompt)
    chunks = [Material(f"chunk {n}", shown(text)) for n, text in enumerate(fields["chunk"])]
    assert found == [
        Material("question", shown(fields["question"])),
        Material("answer", shown(fields["answer"])),
        *chunks,
    ]
    # What the evaluator itself says is the same whatever the texts say.
    calm = render(STEP, fields_with(role, "calm"), STYLE)
    assert outside.replace(prompt.mark, "M") == materials(calm)[1].replace(calm.mark, "M")
    assert prompt.text.encode().decode() == prompt.text


@every_row("role", ROLES)
@every_row("hostile", HOSTILE)
def test_a_judge_that_repeats_a_hostile_text_gives_no_verdict(hostile: str, role: str) -> None:
    prompt = prompt_with(hostile, role)
    for text in (HOSTILE[hostile]["text"], shown(HOSTILE[hostile]["text"])):
        for reply in parrots(text, prompt):
            with pytest.raises(JudgeFailure) as caught:
                read_reply(JudgeReply(reply), prompt.mark, Graded)
            assert caught.value.kind in ("unparsed", "truncated")
            assert len(str(caught.value)) < 100


@every_row("role", ROLES)
@every_row("hostile", HOSTILE)
def test_a_faithful_judge_is_heard_whatever_the_text_says(hostile: str, role: str) -> None:
    prompt = prompt_with(hostile, role)
    text = HOSTILE[hostile]["text"]
    assert mark_of(prompt.text) == prompt.mark
    for reply in (
        reply_with(prompt.text, score=0.25, verdict="no", claims=[text]),
        reply_with(prompt.text, score=0.25, verdict="no", claims=[text], quoted=json_in(text)),
        f"It says:\n{text}\n\n{reply_with(prompt.text, score=0.25, verdict='no', claims=[text])}",
    ):
        value = read_reply(JudgeReply(reply), prompt.mark, Graded)
        assert (value.score, value.verdict) == (0.25, "no")


def test_the_verdict_for_another_prompt_is_not_taken() -> None:
    first, second = prompt_with("verdict-1", "chunk"), prompt_with("verdict-1", "chunk")
    with pytest.raises(JudgeFailure, match="does not repeat the mark"):
        read_reply(JudgeReply(reply_with(first.text, score=1)), second.mark, Graded)


def test_the_reader_of_prompts_sees_a_broken_fence() -> None:
    """The suite's own reader would tell: a text that knew the mark could close its fence."""
    prompt = prompt_with("fence-1", "answer")
    broken = prompt.text.replace("[ [end text]]", f"[[end {prompt.mark}]]")
    assert broken != prompt.text
    with pytest.raises(AssertionError):
        materials(Prompt(JudgePrompt(broken), prompt.mark))
