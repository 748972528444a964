"""``rag-eval judge check``: judges that can be used, and broken ones, each named."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from rag_eval.errors import InputError
from rag_eval.jobs.judge_trial import try_judge
from rag_eval.jobs.watched_judge import repeats_form
from rag_eval.judge.replies import JudgeReply, Usage
from rag_eval.judge.steps import load_template
from rag_eval.judge.trial_rows import TRIAL_ROWS
from tests.e2e.test_judge_cli import NO_RETRIES, invoke, refused
from tests.fluent_judge import FluentJudge, read_prompt
from tests.judge_servers import Act, Fails, JudgeServer, Says, Script
from tests.tables import every_row

RIGHT = " ".join(f"{row.answer} {row.long_answer}" for row in TRIAL_ROWS if row.is_supported)
RATING = ("--judge-style", "rating")
FORM = '{"a": 1 | 2, "b": "long enough"}'


def knows(text: str) -> float:
    return float(text in RIGHT)


def contrary(text: str) -> float:
    return 1.0 - knows(text)


def copies(prompt: str) -> str:
    asked = read_prompt(prompt)
    return f'{{"mark": "{asked.mark}", {load_template(asked.step).reply_form[1:]}'


def half_unread(fluent: FluentJudge) -> Callable[[str], Act]:
    return lambda prompt: "No." if fluent.n_calls % 2 else fluent(prompt)


def counting(most: int) -> Callable[[str], Act]:
    """A server that cuts prompts at so many tokens."""
    fluent = FluentJudge(knows)

    def script(prompt: str) -> Act:
        text = '{"read": true}' if prompt.startswith("Text ") else fluent(prompt)
        return Says(text, usage=(min(most, 10 + 4 * len(prompt.split()) // 3), 20))

    return script


def full(prompt: str) -> Act:
    if len(prompt.split()) > 2500:
        return Fails(400, "request (4500 tokens) exceeds the available context size (4096 tokens)")
    return counting(10**9)(prompt)


def checked(script: Script, *flags: object) -> tuple[int, str, dict[str, Any], int]:
    """The exit code, what is printed, the same as JSON, and the requests of one command."""
    with JudgeServer(script) as server:
        command = ("judge", "check", f"{server.openai_url}#m", "--config", NO_RETRIES, *flags)
        done = invoke(*command)
        n_requests = server.n_requests
        value = invoke(*command, "--format", "json").stdout
    return done.exit_code, done.output, json.loads(value) if value else {}, n_requests


def test_a_judge_that_can_be_used() -> None:
    code, text, value, n_requests = checked(counting(10**9), "--judge-option", "seed=3")
    assert (code, n_requests) == (0, 2 * 36 + 3), text
    assert "openai:m: faithfulness, style claims" in text
    assert "replies read: 72 of 72" in text
    assert "right verdicts: 12 of 12 rows (95 % confidence interval 76 % to 100 %)" in text
    assert "12 rows scored both ways: 0.50 as given, 0.50 reversed, difference +0.000" in text
    assert "0.50 short, 0.50 long" in text
    assert "long prompts: about 4," in text
    assert text.rstrip().endswith("USABLE")
    assert (value["usable"], value["faults"]) == (True, [])
    assert (value["nCalls"], value["nRead"], value["accuracy"]["estimate"]) == (75, 72, 1.0)
    assert value["inputTokens"] > 20_000


@every_row(
    ("script", "flags", "said"),
    [
        (FluentJudge(lambda text: 1.0), RATING, "it gives the same score, 1.00, to all rows"),
        (FluentJudge(contrary), RATING, "its verdicts are not shown to be better than guessing"),
        (copies, RATING, "72 of 72 replies repeat the form of the prompt instead of filling it in"),
        (copies, (), "replies repeat the form of the prompt instead of filling it in"),
        (counting(4000), RATING, "its server cuts long prompts without saying so"),
        (counting(4000), RATING, "tokens only 4,000 arrived"),
        (half_unread(FluentJudge(knows)), RATING, "replies could not be read"),
        (Says(None, refusal="no"), RATING, "36 of 36 judgements failed"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_a_broken_judge_is_named(script: Script, flags: tuple[str, ...], said: str) -> None:
    with JudgeServer(script) as server:
        judge = f"{server.openai_url}#m"
        done = invoke("judge", "check", judge, "--config", NO_RETRIES, *flags)
    assert done.exit_code == 1, done.output
    assert said in done.stdout
    assert "NOT USABLE: " in done.stdout


def test_a_context_that_is_full_is_told_and_no_fault() -> None:
    code, text, _, n_requests = checked(full, *RATING)
    assert (code, n_requests) == (0, 36 + 3), text
    assert (
        "long prompts: a prompt of about 4,500 tokens failed: the judge's server answered" in text
    )


@every_row(
    ("script", "flags", "said"),
    [
        (Fails(401, "a wrong key"), (), "openai:m cannot be used: the judge's server answered 401"),
        (Fails(503, "busy"), (), "openai:m did not answer in 20 judgements"),
        (Fails(400, "it is broken"), (), "the judge's server answered 400: it is broken"),
        (
            FluentJudge(knows),
            ("--max-calls", 5),
            "31 judgements failed with judge_budget, for example ",
        ),
    ],
)
def test_a_judge_that_does_not_answer(script: Script, flags: tuple[object, ...], said: str) -> None:
    with JudgeServer(script) as server:
        judge = f"{server.openai_url}#m"
        done = invoke("judge", "check", judge, "--config", NO_RETRIES, *RATING, *flags)
    assert (done.exit_code, done.stdout) == (3, "")
    assert said in done.stderr


def test_no_probe_where_none_is_wanted_or_has_room() -> None:
    for flags in (("--probe-tokens", 0), ("--max-calls", 38)):
        code, text, _, n_requests = checked(counting(10**9), *RATING, *flags)
        assert (code, n_requests) == (0, 36)
        assert "long prompts" not in text


def test_usage() -> None:
    assert "no judge is named: give ADDRESS" in refused("judge", "check")
    with pytest.raises(InputError, match="try_judge does not use mode"):
        try_judge(FluentJudge(knows), mode="llm")


def test_functions_are_judges_too_and_cost_what_they_report() -> None:
    fluent = FluentJudge(knows)

    async def judge(prompt: str) -> JudgeReply:
        return JudgeReply(fluent(prompt), usage=Usage(1000, 10))

    judge.judge_name = "mine"  # type: ignore[attr-defined]
    found = try_judge(judge, judge_style="rating", prices={"mine": {"input": 1.0, "output": 100.0}})
    assert (found.usable, found.judge, found.n_calls) == (True, "callable:mine", 36)
    assert found.cost_usd == pytest.approx(36 * (1000 * 1 + 10 * 100) / 1e6)
    assert not found.prompt
    plain = try_judge(fluent, judge_style="rating")
    assert (plain.usable, plain.estimated, plain.n_read) == (True, True, 36)


@every_row(
    ("prompt", "reply", "is_copy"),
    [
        (f"form: {FORM}", FORM.replace("{", '{"mark": "x", '), True),
        (f"form: {FORM}", FORM.replace(" | 2", ""), False),
        ('form: {"claims": []}', '{"claims": []}', False),
        ("", '{"claims": [], "reason": "..."}', True),
        ("", "no object", False),
        ("", "} {", False),
    ],
)
def test_what_repeats_the_form(prompt: str, reply: str, is_copy: bool) -> None:
    assert repeats_form(prompt, reply) is is_copy


def test_half_of_the_rows_are_right() -> None:
    assert sum(row.is_supported for row in TRIAL_ROWS) == 6 == len(TRIAL_ROWS) / 2
    for row in TRIAL_ROWS:
        assert len(row.long_answer) > 2 * len(row.answer)
        assert row.name == row.sample()["id"]
