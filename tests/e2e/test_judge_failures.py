"""What users read about judgements that failed: the words of the server, in every report."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from rag_eval.judge.failures import JudgeCallError
from tests.e2e.test_judge_adapters import asked, judge_at
from tests.e2e.test_judge_cli import FAITH, IN_ORDER, NO_RETRIES, invoke, samples
from tests.fluent_judge import FluentJudge
from tests.judge_servers import Act, Fails, JudgeServer, Refuses
from tests.tables import every_row

BOTH = ("openai", "anthropic")
UNTRUSTED = Path(__file__).parents[1] / "fixtures" / "tls" / "untrusted.pem"

KEY = "a-key-that-nobody-may-see"
OVERFLOW = "request (1054 tokens) exceeds the available context size (512 tokens)"
HOSTILE = f"{OVERFLOW} \x1b[31m<script>alert(1)</script> Bearer {KEY} {KEY} ::error::" + "x" * 9000


def test_every_report_has_the_words_of_the_server(tmp_path: Path) -> None:
    fluent = FluentJudge()

    def script(prompt: str) -> Act:
        if "Thing 3 is red" in prompt or "Thing 4 is red" in prompt:
            return Fails(400, HOSTILE)
        return "No." if "Thing 5 is red" in prompt else fluent(prompt)

    data, rows, page = samples(tmp_path, 8), tmp_path / "r.jsonl", tmp_path / "r.html"
    with JudgeServer(script) as server:
        judge = ("--mode", "llm", "--judge", f"{server.openai_url}#m", "--config", NO_RETRIES)
        flags = (*judge, *FAITH, *IN_ORDER)
        written = ("--output", rows, "--html", page, "--markdown", tmp_path / "r.md")
        run = invoke("run", data, *flags, *written, RAG_EVAL_JUDGE_API_KEY=KEY)
        score = invoke("score", data, tmp_path / "s.csv", *flags, RAG_EVAL_JUDGE_API_KEY=KEY)
        value = invoke("run", data, *flags, "--format", "json", RAG_EVAL_JUDGE_API_KEY=KEY)
        show = invoke("show", rows)
        assert invoke("report", rows, "--html", tmp_path / "again.html").exit_code == 0
        seen = server.seen()
    assert KEY.encode() in seen
    first = (
        "2 judgements failed with judge_failed, for example {place}, faithfulness: "
        f"the judge's server answered 400: {OVERFLOW}"
    )
    second = (
        "1 judgement failed with judge_unparsed, for example {place}, faithfulness: the reply "
        "holds no"
    )
    by_line = f'{data}, line {{n}} ("q-{{id}}")'
    for told in (run.stderr, score.stderr):
        assert first.format(place=by_line.format(n=4, id=3)) in told
        assert second.format(place=by_line.format(n=6, id=5)) in told
    # What a result file tells is the same, found in its rows.
    assert first.format(place='row 4 ("q-3")') in show.stdout
    assert second.format(place='row 6 ("q-5")') in show.stdout
    [failed, unparsed] = json.loads(value.stdout)["judging"]["failed"]
    assert (failed["reason"], failed["n"], unparsed["n"]) == ("judge_failed", 2, 1)
    for name in ("r.html", "again.html", "r.md"):
        assert "exceeds the available context size" in (tmp_path / name).read_text(), name
    for path in tmp_path.iterdir():
        assert KEY.encode() not in path.read_bytes(), path
    for done in (run, score, value, show):
        told = done.stdout + done.stderr
        assert done.exit_code == 0
        assert KEY not in told
        assert "\x1b" not in told
        assert "x" * 400 not in told
    for name in ("r.html", "again.html"):
        assert "<script>alert" not in (tmp_path / name).read_text()
    assert " ::error::" not in run.stderr + score.stderr + show.stdout


@every_row("tls", [UNTRUSTED, None], ids=("an untrusted certificate", "plain http"))
def test_a_lasting_fault_of_tls_ends_the_run_at_once(tmp_path: Path, tls: Path | None) -> None:
    data = samples(tmp_path, 2)
    with JudgeServer("never said", tls=tls) as server:
        judge = f"https://127.0.0.1:{server.port}/v1#m"
        flags = ("--mode", "llm", "--judge", judge, *FAITH, *IN_ORDER)
        done = invoke("run", data, *flags, RAG_EVAL_JUDGE_API_KEY=KEY)
        assert server.n_requests == 0
    assert done.exit_code == 3, done.output
    named = "CERTIFICATE_VERIFY_FAILED" if tls else "WRONG_VERSION_NUMBER"
    cannot = f"openai:m cannot be used: the connection to the judge's server {judge[:-5]} failed"
    assert cannot in done.stderr
    assert named in done.stderr


@every_row("provider", BOTH)
@every_row(
    "act",
    [
        Fails(400, OVERFLOW, code="exceed_context_size_error"),
        Fails(500, "the request exceeds the available context size. try increasing it"),
        Fails(500, "Context size has been exceeded."),
        Fails(503, "n_prompt_tokens is 1407", code="exceed_context_size_error"),
        Fails(400, "This model's maximum context length is 4096 tokens. However, you requested 9"),
    ],
    ids=lambda act: act.message,
)
def test_a_prompt_that_does_not_fit_is_sent_once(provider: str, act: Fails) -> None:
    with JudgeServer(act) as server:
        with pytest.raises(JudgeCallError) as raised:
            asyncio.run(asked(judge_at(server, provider)))
        assert server.n_requests == 1
    assert (raised.value.retryable, raised.value.fatal) == (False, False)
    assert act.message in str(raised.value)


def test_requests_that_find_out_what_a_server_takes_are_calls(tmp_path: Path) -> None:
    fluent, data = FluentJudge(), samples(tmp_path, 3)
    refused = ("response_format", "temperature")
    with JudgeServer(lambda prompt: Refuses(refused, fluent(prompt))) as server:
        judge = ("--mode", "llm", "--judge", f"{server.openai_url}#m", "--config", NO_RETRIES)
        flags = (*judge, *FAITH, *IN_ORDER)
        whole = json.loads(invoke("run", data, *flags, "--format", "json").stdout)
        n_probes = server.n_requests - 2 * 3
        assert whole["totalCost"]["llmCalls"] == server.n_requests
        assert n_probes >= len(refused)
        # The first call takes all of them, and one more that goes through.
        cut = invoke("run", data, *flags, "--max-calls", n_probes + 1, "--format", "json")
        n_calls = json.loads(cut.stdout)["totalCost"]["llmCalls"]
        assert (cut.exit_code, n_calls) == (3, n_probes + 1)
        assert server.n_requests == 2 * 3 + 2 * n_probes + 1
    with JudgeServer(Refuses(refused, Fails(418, "no"))) as server:
        judge = ("--mode", "llm", "--judge", f"{server.openai_url}#m", "--config", NO_RETRIES)
        failed = invoke("run", data, *judge, *FAITH, *IN_ORDER, "--format", "json")
        n_calls = json.loads(failed.stdout)["totalCost"]["llmCalls"]
        assert n_calls == server.n_requests == 3 + n_probes
