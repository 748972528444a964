"""Factuality and tone by a judge behind a server, through ``rag-eval run`` and ``score``."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from pyarrow import parquet

import rag_eval
from rag_eval.cli.program import program
from tests.fluent_judge import FluentJudge
from tests.judge_servers import Fails, JudgeServer

BOTH = ("regtrace.factuality", "regtrace.tone")
METRICS = ("--metrics", ",".join(BOTH))
N_ROWS = 5
# Two calls for factuality, one for tone.
N_CALLS = 3 * N_ROWS


def invoke(*arguments: object) -> Result:
    environment = {"RAG_EVAL_JUDGE": None}
    return CliRunner().invoke(program, [str(part) for part in arguments], env=environment)


@pytest.fixture
def server() -> Iterator[JudgeServer]:
    with JudgeServer(FluentJudge(lambda text: 1.0 if "red" in text else 0.79)) as server:
        yield server


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "samples.jsonl"
    rows = [
        {
            "id": f"q-{n}",
            "question": f"What is thing {n}?",
            "answer": f"Thing {n} is {'red' if n % 2 else 'blue'}.",
            "contexts": [f"Thing {n} is as red as wine."],
            "ground_truth": f"The thing of number {n} is of red colour.",
        }
        for n in range(N_ROWS)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def llm(server: JudgeServer) -> tuple[str, ...]:
    return ("--mode", "llm", "--judge", f"{server.openai_url}#m", "--retries", "0")


def rows_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_run_judges_and_writes_verdicts(data: Path, server: JudgeServer, tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    done = invoke("run", data, *METRICS, *llm(server), "--output", out)
    assert server.n_requests == N_CALLS
    assert "judged by openai:m, mode llm" in done.stderr
    lines = {line.split()[0]: line.split()[1:] for line in done.stderr.splitlines() if line.strip()}
    assert lines["regtrace.factuality"][:3] == ["5/5", "0", "10"]
    assert lines["regtrace.tone"][:3] == ["5/5", "0", "5"]
    read = rag_eval.BatchEvalResult.from_json(out)
    assert read.metrics == BOTH
    assert read.scores.tolist() == [[1.0, 1.0] if n % 2 else [1.0, 0.75] for n in range(N_ROWS)]
    first = json.loads(out.read_text())["results"][0]["metrics"]["regtrace.factuality"]
    assert first["mode"] == "llm"
    assert first["llmCalls"] == 2
    assert first["judge"]["score"] == 1.0
    assert [found.get("actual") for found in first["details"]] == ["Thing 0 is blue.", None]
    assert first["details"][-1] == {"evaluationType": "llm_judged", "confidence": 0.75}


@pytest.mark.parametrize("suffix", ["jsonl", "parquet"])
def test_score_writes_judged_columns(
    data: Path, server: JudgeServer, tmp_path: Path, suffix: str
) -> None:
    out = tmp_path / f"scores.{suffix}"
    done = invoke("score", data, out, *METRICS, *llm(server))
    assert done.exit_code == 0, done.output
    rows = rows_of(out) if suffix == "jsonl" else parquet.read_table(out).to_pylist()
    assert [row["regtrace.tone"] for row in rows] == [0.75, 1.0, 0.75, 1.0, 0.75]
    assert {row["regtrace.factuality_null_reason"] for row in rows} == {None}


def test_a_server_that_is_down_leaves_the_scores_without_a_judge(
    data: Path, tmp_path: Path
) -> None:
    plain, out = tmp_path / "plain.json", tmp_path / "out.json"
    invoke("run", data, *METRICS, "--output", plain)
    with JudgeServer(Fails(500)) as down:
        done = invoke("run", data, *METRICS, *llm(down), "--output", out)
    assert done.exit_code != 0
    native, found = (rag_eval.BatchEvalResult.from_json(path) for path in (plain, out))
    assert found.scores.tolist() == native.scores.tolist()
    [metric, *_] = (row.metrics["regtrace.tone"] for row in found.results)
    assert metric.mode == "heuristic"
    assert metric.details is not None
    assert metric.details[-1] == {"evaluationType": "deterministic", "confidence": 0.7}
    assert metric.signals[-1].id.startswith("regtrace.tone-judge-")


def test_a_dry_run_asks_nobody_and_knows_the_calls(data: Path, server: JudgeServer) -> None:
    done = invoke("run", data, *METRICS, *llm(server), "--dry-run", "--format", "json")
    assert done.exit_code == 0, done.output
    assert server.n_requests == 0
    estimate = json.loads(done.stdout)["metrics"]
    assert [estimate[metric]["llmCalls"] for metric in BOTH] == [2 * N_ROWS, N_ROWS]


def test_one_metric_can_be_judged_beside_one_that_is_not(
    data: Path, server: JudgeServer, tmp_path: Path
) -> None:
    out = tmp_path / "out.json"
    judge = llm(server)[2:]
    modes = ("--metric-modes", "regtrace.tone=llm")
    invoke("run", data, *METRICS, *judge, *modes, "--output", out)
    assert server.n_requests == N_ROWS
    modes_of = json.loads(out.read_text())["results"][0]["metrics"]
    assert [modes_of[metric]["mode"] for metric in BOTH] == ["heuristic", "llm"]


def test_judged_scores_are_not_compared_with_others(
    data: Path, server: JudgeServer, tmp_path: Path
) -> None:
    plain, judged = tmp_path / "plain.json", tmp_path / "judged.json"
    invoke("run", data, *METRICS, "--output", plain)
    invoke("run", data, *METRICS, *llm(server), "--output", judged)
    done = invoke("compare", plain, judged)
    assert done.exit_code == 2
    assert "regtrace.factuality" in done.stderr


def test_a_prompt_file_and_options_reach_the_judge(
    data: Path, server: JudgeServer, tmp_path: Path
) -> None:
    body = tmp_path / "tone.txt"
    body.write_text("Hear $model_text then $answer: $dimension")
    wrong = tmp_path / "wrong.txt"
    wrong.write_text("Hear $modeltext")
    found = invoke("run", data, *METRICS, *llm(server), "--prompt", f"regtrace.tone={wrong}")
    assert found.exit_code == 2
    assert "has no variable $modeltext" in found.stderr
    estimate = ("--dry-run", "--format", "json")
    flags = ("--prompt", f"regtrace.tone={body}")
    shorter, usual = (
        json.loads(invoke("run", data, *METRICS, *llm(server), *estimate, *more).stdout)["metrics"]
        for more in (flags, ())
    )
    assert shorter["regtrace.tone"]["inputTokens"] < usual["regtrace.tone"]["inputTokens"]
    assert shorter["regtrace.factuality"] == usual["regtrace.factuality"]


def test_options_of_the_scorer_reach_the_prompts(data: Path, server: JudgeServer) -> None:
    options = ("--scorer-options", 'regtrace.factuality={"rag_faithfulness_only": true}')
    for more, sees_truth in (((), True), (options, False)):
        server.requests.clear()
        done = invoke("run", data, "--metrics", BOTH[0], *llm(server), *more)
        assert done.exit_code == 0, done.output
        prompts = [found.prompt for found in server.requests]
        verdicts = [prompt for prompt in prompts if "Decide for every claim" in prompt]
        assert len(verdicts) == N_ROWS
        assert all(("of red colour" in prompt) is sees_truth for prompt in verdicts)
