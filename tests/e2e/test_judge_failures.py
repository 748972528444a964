"""What users read about judgements that failed: the words of the server, in every report."""

from __future__ import annotations

import json
from pathlib import Path

from tests.e2e.test_judge_cli import FAITH, IN_ORDER, NO_RETRIES, invoke, samples
from tests.fluent_judge import FluentJudge
from tests.judge_servers import Act, Fails, JudgeServer

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
        "judge_failed in 2 judgements, for example {place}, faithfulness: "
        f"the judge's server answered 400: {OVERFLOW}"
    )
    second = "judge_unparsed in 1 judgement, for example {place}, faithfulness: the reply holds no"
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
