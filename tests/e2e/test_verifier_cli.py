"""``--verifier FOLDER``: a model of one's own before a judge behind a server, or instead of it."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

import rag_eval
from rag_eval.adapters import create_onnx_verifier
from rag_eval.cli.program import program
from rag_eval.errors import InputError
from rag_eval.judge import Verifier
from tests.batch_servers import BatchServer
from tests.e2e.test_judge_batches import judge_at, judged
from tests.fluent_judge import FluentJudge
from tests.judge_servers import JudgeServer
from tests.onnx_models import write_verifier

FAITH = ("--metrics", "faithfulness")
CASCADE = ("--profile", "grounded", "--mode", "cascade", "--cascade-band", "0:1")
WORDS = "alice bob won lost the race early late . yesterday"


def invoke(*arguments: object, **environment: str | None) -> Result:
    environment = {"RAG_EVAL_JUDGE": None, **environment}
    return CliRunner().invoke(program, [str(part) for part in arguments], env=environment)


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return write_verifier(tmp_path / "words", WORDS, supported=1, threads=1)


@pytest.fixture
def samples(tmp_path: Path) -> Path:
    """The first answer is in its context, the second is not, the third lacks one word of it."""
    answers = ("Alice won the race.", "Bob lost early yesterday.", "Alice won the race late.")
    shared = {"question": "Who won?", "contexts": ["Alice won the race ."]}
    rows = [{"id": f"q{n}", "answer": answer, **shared} for n, answer in enumerate(answers)]
    path = tmp_path / "samples.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def rows_of(path: Path) -> list[dict[str, Any]]:
    return [row["metrics"]["faithfulness"] for row in json.loads(path.read_text())["results"]]


def test_a_model_scores_without_a_judge_and_show_names_its_evidence(
    samples: Path, model: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out.json"
    # A judge of the environment is not asked unless a cascade wants both.
    done = invoke(
        *("run", samples, *FAITH, "--mode", "llm", "--verifier", model, "--output", out),
        *("--details", "--cache-file", tmp_path / "cache.sqlite"),
        RAG_EVAL_JUDGE="openai:gpt-5-mini",
    )
    assert done.exit_code == 0, done.output
    assert "judged by onnx:words, mode llm\n" in done.output
    assert "USD" not in done.output
    assert "faithfulness: 3 claims verified, 0 from the cache" in done.output
    assert [row["score"] for row in rows_of(out)] == [1.0, 0.0, 0.0]
    assert [row["mode"] for row in rows_of(out)] == ["verifier"] * 3
    again = invoke(
        *("run", samples, *FAITH, "--mode", "llm", "--verifier", model),
        *("--cache-file", tmp_path / "cache.sqlite"),
    )
    assert "faithfulness: 0 claims verified, 3 from the cache" in again.output
    shown = invoke("show", out, "q1")
    assert "verifier 0.000, native" in shown.output
    assert "unsupported “Bob lost early yesterday.” [0]: probability of support 0.0" in (
        " ".join(shown.output.split())
    )


def test_a_cascade_of_three_calls_the_judge_for_what_the_model_leaves(
    samples: Path, model: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out.json"
    with JudgeServer(FluentJudge(lambda text: 1.0)) as server:
        done = invoke(
            *("run", samples, *FAITH, *CASCADE, "--verifier", model, "--output", out),
            *("--verifier-band", "0.01:0.9", "--judge", f"{server.openai_url}#m"),
        )
        n_calls = server.n_requests
    assert done.exit_code == 0, done.output
    assert [row["mode"] for row in rows_of(out)] == ["verifier", "verifier", "llm"]
    assert n_calls == 2
    assert "judged by onnx:words, then openai:m, mode cascade, style claims" in done.output


def test_a_dry_run_counts_claims_and_calls_nobody(samples: Path, model: Path) -> None:
    done = invoke(
        *("run", samples, *FAITH, *CASCADE, "--verifier", model, "--dry-run"),
        *("--judge", "http://127.0.0.1:9/v1#m"),
    )
    assert done.exit_code == 0, done.output
    assert "estimate: 6 calls," in done.output
    assert "3 claims to verify; no calls were made" in " ".join(done.output.split())
    assert "only for rows that the verifier leaves uncertain" in done.output
    alone = invoke("run", samples, *FAITH, "--mode", "llm", "--verifier", model, "--dry-run")
    assert "estimate: 0 calls" in alone.output


def test_flags_that_do_not_fit_are_errors(
    samples: Path, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for arguments, said in (
        (("--verifier", model), "--verifier has no effect without --mode llm, hybrid or cascade"),
        (("--mode", "llm", "--verifier", samples.parent), "has no model.onnx"),
        ((*CASCADE, "--verifier", model, "--verifier-band", "0.1"), "expected LOW:HIGH"),
        (
            (*CASCADE, "--verifier", model, "--verifier-band", "faithfulness=0.1:0.9"),
            "without a metric",
        ),
    ):
        done = invoke("run", samples, *FAITH, *arguments)
        assert (done.exit_code, said in done.stderr) == (2, True), done.output
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    done = invoke("run", samples, *FAITH, "--mode", "llm", "--verifier", model)
    assert (done.exit_code, done.stdout) == (2, "")
    assert "needs onnxruntime: pip install 'rag-eval-native[verifier]'" in done.stderr


def test_a_judge_that_is_asked_in_batches_comes_after_a_verifier_that_is_free(
    samples: Path, model: Path, tmp_path: Path
) -> None:
    options: Any = {
        "mode": "cascade",
        "profile": "grounded",
        "cascade_band": (0.0, 1.0),
        "verifier_band": (0.01, 0.9),
        "verifier": create_onnx_verifier(model),
    }
    found = []
    with BatchServer(FluentJudge(lambda text: 1.0)) as server:
        judge = judge_at(server, "openai")
        for run in (judged, lambda *_, **given: rag_eval.run_file(samples, judge=judge, **given)):
            out = tmp_path / f"{len(found)}.json"
            given = {"metrics": ["faithfulness"], **options, "output": out}
            run(server, samples, judge, tmp_path / "b.sqlite", **given)
            found.append([(row["mode"], row["score"]) for row in rows_of(out)])
        paid = {**options, "verifier": Verifier(lambda two, one: 0.5, name="p", cost_per_claim=1)}
        with pytest.raises(InputError, match="verifier:p would be paid each time"):
            judged(server, samples, judge, tmp_path / "c.sqlite", **paid)
    assert found[0] == found[1] == [("verifier", 1.0), ("verifier", 0.0), ("llm", 1.0)]
