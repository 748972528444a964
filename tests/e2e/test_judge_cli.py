"""``rag-eval run`` and ``score`` with a judge behind a server on this machine."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import pty
import re
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from click.testing import CliRunner, Result
from pyarrow import parquet

from rag_eval.adapters.openai import create_openai_judge
from rag_eval.cli.program import program
from rag_eval.errors import InputError
from rag_eval.metrics.ids import METRIC_IDS
from rag_eval.options.config_file import read_config
from tests.fluent_judge import FluentJudge
from tests.judge_servers import Act, Fails, Holds, JudgeServer, Sends
from tests.warm_processes import WarmProcess

FAITH = ("--metrics", "faithfulness")
IN_ORDER = ("--concurrency", "1")
# Rows are judged in pieces of so many; the third is begun when the first was written.
PIECE = 64
N_LONG = 160
NO_RETRIES = Path(__file__).parents[1] / "fixtures" / "no_retries.toml"
IN_THE_THIRD_PIECE = 140
IN_FLIGHT = 4
OTHER_PAIRS = (("grounded", "jsonl"), ("overlap", "csv"), ("grounded", "parquet"))


def invoke(*arguments: object, **environment: str | None) -> Result:
    environment = {"RAG_EVAL_JUDGE": None, **environment}
    return CliRunner().invoke(program, [str(part) for part in arguments], env=environment)


def process(*arguments: object, **options: Any) -> WarmProcess:
    return WarmProcess(*arguments, imported=("openai", "tests.one_trust_store"), **options)


def refused(*arguments: object, **environment: str | None) -> str:
    done = invoke(*arguments, **environment)
    assert (done.exit_code, done.stdout) == (2, ""), done.output
    [line] = done.stderr.splitlines()
    return line.removeprefix("error: ")


def samples(folder: Path, n_rows: int) -> Path:
    """Rows of one claim on either side: as many as a dry run imagines."""
    path = folder / f"samples{n_rows}.jsonl"
    rows = [
        {
            "id": f"q-{n}",
            "question": f"What is thing {n}?",
            "answer": f"Thing {n} is red.",
            "contexts": [f"Thing {n} is as red as wine.", f"Number {n} comes after another."],
            "ground_truth": f"The thing of number {n} is of red colour.",
        }
        for n in range(n_rows)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def written(path: Path, rows: list[dict[str, Any]]) -> Path:
    """The rows in a file of the kind that its name says."""
    if path.suffix == ".parquet":
        parquet.write_table(pa.Table.from_pylist(rows), path)
    elif path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    else:
        with path.open("w", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]))
            writer.writeheader()
            for row in rows:
                writer.writerow(
                    {**row, "contexts": row["contexts"] and json.dumps(row["contexts"])}
                )
    return path


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return samples(tmp_path, 12)


@pytest.fixture
def server() -> Iterator[JudgeServer]:
    with JudgeServer(FluentJudge()) as server:
        yield server


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The scores of the long file, by a run that nothing ended."""
    folder = tmp_path_factory.mktemp("whole")
    with JudgeServer(FluentJudge()) as server:
        data = samples(folder, N_LONG)
        assert invoke("score", data, folder / "s.jsonl", *llm(server), *FAITH).exit_code == 0
    return (folder / "s.jsonl").read_bytes()


def llm(server: JudgeServer) -> tuple[object, ...]:
    return ("--mode", "llm", "--judge", f"{server.openai_url}#m", "--config", NO_RETRIES)


def result_of(path: Path) -> dict[str, Any]:
    value = json.loads(path.read_bytes())
    assert isinstance(value, dict)
    return value


def row_of(prompt: str) -> int:
    """The number of the sample that a prompt is about."""
    found = re.search(r"[Tt]hing (?:of number )?(\d+)", prompt)
    assert found is not None
    return int(found[1])


# -------------------------------------------------------------------------------------------- run


@pytest.mark.parametrize(
    "act",
    [
        Sends(gzip.compress(bytes(40_000_000)), 200, {"Content-Encoding": "gzip"}),
        Fails(500, "x" * 5_000_000),
    ],
)
def test_an_answer_that_is_too_long_is_null_with_its_reason_and_not_asked_for_again(
    tmp_path: Path, act: Act
) -> None:
    data, result = samples(tmp_path, 1), tmp_path / "r.json"
    with JudgeServer(act) as server:
        flags = ("--metrics", "faithfulness", "--mode", "llm", "--judge", f"{server.openai_url}#m")
        limit = ("--max-judge-failures", "0", "--output", result)
        assert invoke("run", data, *flags, *limit).exit_code == 1
        assert server.n_requests == 1
    found = result_of(result)["results"][0]["metrics"]["faithfulness"]
    assert (found["score"], found["nullReason"]) == (None, "judge_failed")
    assert "the judge's server sent a reply of more than 4 MB" in found["explanation"]


def time_limits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The limits per call of all judges that are made from now on."""
    limits: list[float] = []

    def recorded(*words: Any, **options: Any) -> Any:
        limits.append(options["timeout_s"])
        return create_openai_judge(*words, **options)

    monkeypatch.setattr("rag_eval.adapters.openai.create_openai_judge", recorded)
    return limits


def test_a_call_may_take_longer_than_a_minute_where_that_is_asked_for(
    data: Path, server: JudgeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A judge given as an address kept to 60 s, whatever --call-timeout said."""
    limits = time_limits(monkeypatch)
    for flags in ((), ("--call-timeout", "900")):
        invoke("run", data, "--metrics", "faithfulness", *llm(server), *flags)
    assert limits == [60.0, 900.0]


def test_run_prints_scores_on_stdout_and_what_judging_took_on_stderr(data: Path) -> None:
    with JudgeServer(FluentJudge(lambda text: 1.0)) as server:
        done = invoke("run", data, *llm(server))
    assert done.exit_code == 0, done.output
    assert [line.split()[0] for line in done.stdout.splitlines() if " 12/12 " in line] == [
        *METRIC_IDS,
        "composite",
    ]
    assert "judged" not in done.stdout.split("composite")[0]
    assert "judged by openai:m, mode llm, style claims" in done.stderr
    lines = {line.split()[0]: line.split()[1:] for line in done.stderr.splitlines() if line.strip()}
    assert lines["metric"][:4] == ["judged", "failed", "calls", "tokens"]  # nothing was cached
    assert lines["faithfulness"][:3] == ["12/12", "0", "24"]
    assert lines["hallucination_rate"][:4] == ["12/12", "0", "0", "0"]
    assert server.n_requests == 8 * 12


def test_run_as_json_is_one_document_with_what_judging_took(
    data: Path, server: JudgeServer
) -> None:
    done = invoke("run", data, *llm(server), "--format", "json", "--min-pass-rate", 0)
    assert done.exit_code == 0, done.output
    value = json.loads(done.stdout)
    assert value["judging"]["judges"] == ["openai:m"]
    calls = sum(found["llmCalls"] for found in value["judging"]["metrics"].values())
    assert calls == value["totalCost"]["llmCalls"] == server.n_requests == 96
    assert value["gates"][-1]["gate"] == "maxJudgeFailures"


def test_run_as_rows_has_who_judged_and_why_in_each(data: Path, server: JudgeServer) -> None:
    done = invoke("run", data, *llm(server), *FAITH, "--format", "jsonl", "--details")
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(rows) == 12
    for row in rows:
        [metric] = row["metrics"].values()
        assert (metric["mode"], metric["llmCalls"]) == ("llm", 2)
        assert metric["judge"]["score"] == metric["score"]
        assert len(metric["judge"]["verdicts"]) == 1


def test_failed_judgements_fail_the_gate_unless_so_many_may(data: Path, tmp_path: Path) -> None:
    fluent = FluentJudge(lambda text: 1.0)

    def script(prompt: str) -> Act:
        return "I would rather not." if "Thing 3 is red" in prompt else fluent(prompt)

    with JudgeServer(script) as server:
        strict = invoke("run", data, *llm(server), *FAITH, "--min-mean", "faithfulness=0.5")
        lenient = invoke(
            *("run", data, *llm(server), *FAITH, "--min-mean", "faithfulness=0.5"),
            *("--max-judge-failures", 0.1, "--output", tmp_path / "o.json"),
        )
        without = invoke("run", data, *llm(server), *FAITH, "--markdown", tmp_path / "o.md")
        gated = invoke("run", data, *llm(server), *FAITH, "--max-judge-failures", 0)
    assert (strict.exit_code, lenient.exit_code) == (1, 0), strict.output + lenient.output
    assert "1 judgement failed with judge_unparsed, for example " in strict.stderr
    assert "share of failed judgements 0.08 (1/12) is above 0.00" in strict.stdout
    assert (without.exit_code, gated.exit_code) == (0, 1)
    assert "1 judgement failed with " in without.stderr
    said = (
        "1 failed judgement does not affect the exit code: to fail such a run, add --max-judge-fa"
    )
    assert said in without.stdout
    assert said in (tmp_path / "o.md").read_text()
    row = result_of(tmp_path / "o.json")["results"][3]
    assert row["metrics"]["faithfulness"]["nullReason"] == "judge_unparsed"


def test_a_native_score_stands_in_where_that_is_asked_for(data: Path) -> None:
    with JudgeServer("I would rather not.") as server:
        done = invoke(
            *("run", data, *llm(server), *FAITH, "--on-judge-failure", "heuristic"),
            *("--format", "jsonl"),
        )
    rows = [json.loads(line)["metrics"]["faithfulness"] for line in done.stdout.splitlines()]
    assert {(row["mode"], row["judge"]["fallback"]) for row in rows} == {("heuristic", True)}
    assert all(row["score"] == row["judge"]["nativeScore"] for row in rows)


# ------------------------------------------------------------------------------------------ score


@pytest.mark.parametrize("suffix", ["jsonl", "csv", "parquet"])
def test_score_says_per_metric_who_scored_the_row(
    data: Path, tmp_path: Path, server: JudgeServer, suffix: str
) -> None:
    target = tmp_path / f"scores.{suffix}"
    done = invoke("score", data, target, *llm(server)[2:], "--mode", "hybrid")
    assert done.exit_code == 0, done.output
    assert done.stdout == ""
    assert "judged by openai:m, mode hybrid" in done.stderr
    if suffix == "parquet":
        rows = parquet.read_table(target).to_pylist()
    elif suffix == "csv":
        rows = list(csv.DictReader(io.StringIO(target.read_text())))
    else:
        rows = [json.loads(line) for line in target.read_text().splitlines()]
    assert len(rows) == 12
    modes = [name for name in rows[0] if name.endswith("_mode")]
    assert modes == ["faithfulness_mode", "answer_relevance_mode", "hallucination_rate_mode"]
    assert {row[name] for row in rows for name in modes} == {"llm"}


def test_score_to_standard_output_and_its_summary(
    data: Path, tmp_path: Path, server: JudgeServer
) -> None:
    summary = tmp_path / "summary.json"
    done = invoke("score", data, "-", *llm(server), *FAITH, "--summary", summary)
    assert done.exit_code == 0, done.output
    assert len(done.stdout.splitlines()) == 12
    assert result_of(summary)["judging"]["metrics"]["faithfulness"]["llmCalls"] == 24


@pytest.mark.parametrize(
    ("profile", "suffix"),
    [
        ("overlap", "jsonl"),
        ("grounded", "csv"),
        ("overlap", "parquet"),
        *(pytest.param(*one, marks=pytest.mark.deep) for one in OTHER_PAIRS),
    ],
)
def test_rows_are_the_same_in_whatever_pieces_they_are_judged(
    tmp_path: Path, server: JudgeServer, suffix: str, profile: str
) -> None:
    data = samples(tmp_path, PIECE + 8)
    rows = [json.loads(line) for line in data.read_text().splitlines()]
    data = written(tmp_path / f"data.{suffix}", rows)
    flags = (*llm(server), "--metric-modes", "answer_relevance=llm", "--profile", profile)
    shown = [
        invoke("run", data, *flags[2:], "--details", "--format", "jsonl", "--concurrency", width)
        for width in (1, 100)  # two pieces, and one of all
    ]
    assert shown[0].exit_code in (0, 1), shown[0].output
    one, other = ([timeless(line) for line in done.stdout.splitlines()] for done in shown)
    assert len(one) == PIECE + 8
    assert one == other


def timeless(line: str) -> Any:
    row = json.loads(line)
    return {name: value for name, value in row.items() if name not in ("evaluatedAt", "durationMs")}


# ---------------------------------------------------------------------------------------- dry run


@pytest.mark.parametrize("style", ["claims", "rating"])
def test_a_dry_run_asks_nobody_and_counts_the_calls_of_the_real_one(
    data: Path, server: JudgeServer, style: str
) -> None:
    # Equal, because every text of these rows has the one claim that a dry run takes a sentence for.
    # Where a judge finds more than 25 claims in a text, a real run asks about them in more calls;
    # where it finds none, in none.
    flags = (*llm(server), "--judge-style", style, "--format", "json", "--min-pass-rate", "0")
    dry = invoke("run", data, *flags, "--dry-run")
    assert dry.exit_code == 0, dry.output
    assert server.n_requests == 0
    real = invoke("run", data, *flags)
    assert real.exit_code == 0, real.output
    imagined, found = (json.loads(done.stdout) for done in (dry, real))
    for metric, counted in found["judging"]["metrics"].items():
        assert imagined["metrics"][metric]["llmCalls"] == counted["llmCalls"]
        assert imagined["metrics"][metric]["tokensEstimated"] in (True, counted["llmCalls"] > 0)
    assert server.n_requests == (96 if style == "claims" else 84)


def test_a_dry_run_of_score_writes_nothing_and_names_the_price(
    data: Path, tmp_path: Path, server: JudgeServer
) -> None:
    prices = tmp_path / "prices.toml"
    prices.write_text("[m]\ninput = 1000\noutput = 1000\n")
    before = set(tmp_path.iterdir())
    writing = ("--columns", "question", "--prefix", "p_", "--checkpoint-rows", "5")
    done = invoke(
        *("score", data, tmp_path / "s.csv", *writing),
        *(*llm(server), "--dry-run", "--prices", prices),
    )
    assert done.exit_code == 0, done.output
    assert "96 calls, " in done.stdout
    assert " USD; no calls were made" in done.stdout
    assert server.n_requests == 0
    assert set(tmp_path.iterdir()) == before


def test_a_dry_run_counts_what_several_judges_and_repeats_would_be_asked(
    data: Path, server: JudgeServer
) -> None:
    judges = f"{server.openai_url}#a,{server.openai_url}#b"
    flags = ("--mode", "llm", "--judge-models", judges, "--judge-repeat", 3, "--format", "json")
    dry = invoke("run", data, *flags, *FAITH, "--dry-run")
    real = invoke("run", data, *flags, *FAITH, "--min-pass-rate", 0)
    assert (dry.exit_code, real.exit_code) == (0, 0), dry.output + real.output
    assert json.loads(dry.stdout)["metrics"]["faithfulness"]["llmCalls"] == 144
    assert server.n_requests == 144


# -------------------------------------------------------------------------------------- the cache


def test_a_second_run_with_the_same_cache_asks_nothing(
    data: Path, tmp_path: Path, server: JudgeServer
) -> None:
    cache = tmp_path / "judge.sqlite"
    flags = (*llm(server), "--cache-file", cache, "--format", "json", "--min-pass-rate", "0")
    first, second = (json.loads(invoke("run", data, *flags).stdout) for _ in range(2))
    assert server.n_requests == 96
    assert second["aggregates"] == first["aggregates"]
    assert second["totalCost"]["llmCalls"] == 0
    assert sum(m["cachedCalls"] for m in second["judging"]["metrics"].values()) == 96
    # Another judge, another style: other replies.
    other = (*flags, "--judge", f"{server.openai_url}#another", *FAITH)
    assert invoke("run", data, *other).exit_code == 0
    assert server.n_requests == 96 + 24


def test_the_usual_cache_is_shown_and_cleared(
    data: Path, tmp_path: Path, server: JudgeServer
) -> None:
    place = str(tmp_path / "kept" / "replies.sqlite")
    done = invoke("run", data, *llm(server), *FAITH, "--cache", RAG_EVAL_CACHE=place)
    assert done.exit_code in (0, 1), done.output
    info = invoke("cache", "info", "--format", "json", RAG_EVAL_CACHE=place)
    assert (json.loads(info.stdout)["entries"], json.loads(info.stdout)["path"]) == (24, place)
    assert "deleted 24 replies" in invoke("cache", "clear", RAG_EVAL_CACHE=place).stdout
    invoke("run", data, *llm(server), *FAITH, "--cache", RAG_EVAL_CACHE=place)
    assert server.n_requests == 48


# ------------------------------------------------------------------------------ ends that are early


@pytest.mark.parametrize("command", ["run", "score"])
def test_a_server_that_is_not_there_is_exit_code_3_and_nothing_written(
    data: Path, tmp_path: Path, command: str
) -> None:
    with JudgeServer("") as gone:
        url = gone.openai_url
    target = tmp_path / "out.jsonl"
    rest = ("--output", target) if command == "run" else (target,)
    judge = ("--mode", "llm", "--judge", f"{url}#m", "--config", NO_RETRIES)
    done = invoke(command, data, *rest, *judge)
    assert (done.exit_code, done.stdout) == (3, ""), done.output
    fields, line = done.stderr.splitlines()
    assert fields.startswith("fields: question=question, ")
    server = url.removesuffix("/v1")
    assert line.startswith(
        f"error: openai:m cannot be used: the connection to the judge's server {server} failed: "
    )
    assert line.endswith(". Check that the server runs and its address is right")
    assert not target.exists()


@pytest.mark.parametrize("status", [401, 403, 404])
def test_a_key_that_is_refused_ends_the_run_at_once(data: Path, status: int) -> None:
    with JudgeServer(Fails(status, "no such thing")) as server:
        done = invoke("run", data, *llm(server))
    assert (done.exit_code, done.stdout) == (3, ""), done.output
    fields, line = done.stderr.splitlines()
    assert fields.startswith("fields: question=question, ")
    assert line.startswith("error: openai:m cannot be used: ")
    assert f"{status}: no such thing" in line
    assert server.n_requests <= 4


def dying(first_row: int) -> Callable[[str], Act]:
    """A server whose key runs out when it is asked about this row."""
    fluent = FluentJudge()

    def script(prompt: str) -> Act:
        return fluent(prompt) if row_of(prompt) < first_row else Fails(401, "the key has run out")

    return script


def test_run_writes_what_was_judged_when_the_judge_is_lost(tmp_path: Path) -> None:
    data, output = samples(tmp_path, 100), tmp_path / "out.json"
    with JudgeServer(dying(75)) as server:
        done = invoke("run", data, *llm(server), *FAITH, *IN_ORDER, "--output", output)
    assert done.exit_code == 3, done.output
    assert not output.exists()
    partial = result_of(tmp_path / "out.partial.json")
    assert partial["interrupted"] is True
    assert "the key has run out" in partial["judging"]["stopped"]
    rows = [row["metrics"]["faithfulness"] for row in partial["results"]]
    assert len(rows) == 75
    assert all(row["score"] is not None for row in rows)
    said = " ".join(done.stderr.split())
    assert "ended after 75 samples; wrote the partial result" in said


@pytest.mark.parametrize("more", [(), IN_ORDER], ids=["some at once", "one at a time"])
def test_score_goes_on_after_the_judge_was_lost(
    tmp_path: Path, whole: bytes, more: tuple[str, ...]
) -> None:
    data, target = samples(tmp_path, N_LONG), tmp_path / "s.jsonl"
    with JudgeServer(dying(IN_THE_THIRD_PIECE)) as server:
        flags = (*llm(server), *FAITH, *more)
        lost = invoke("score", data, target, *flags)
        assert lost.exit_code == 3, lost.output
        (n_kept,) = map(int, re.findall(r"faithfulness +(\d+)/\1 ", lost.stderr))
        assert PIECE <= n_kept <= IN_THE_THIRD_PIECE
        assert n_kept == IN_THE_THIRD_PIECE or not more
        assert not target.exists()
        n_before = server.n_requests
        server._script = FluentJudge()
        resumed = invoke("score", data, target, *flags, "--resume")
        assert resumed.exit_code == 0, resumed.output
        assert server.n_requests - n_before == 2 * (N_LONG - n_kept)
    assert target.read_bytes() == whole


def test_a_budget_that_is_reached_is_exit_code_3_with_every_row_written(
    data: Path, tmp_path: Path, server: JudgeServer
) -> None:
    output = tmp_path / "out.json"
    done = invoke("run", data, *llm(server), *FAITH, "--max-calls", 10, "--output", output)
    assert done.exit_code == 3, done.output
    assert server.n_requests == 10
    assert "judge_budget" in done.stderr
    rows = [row["metrics"]["faithfulness"] for row in result_of(output)["results"]]
    assert len(rows) == 12
    measured = [row for row in rows if row["score"] is not None]
    assert 3 <= len(measured) <= 5
    reasons = {row.get("nullReason") for row in rows if row["score"] is None}
    assert reasons == {"judge_budget"}


def test_a_budget_in_dollars_needs_prices_and_holds(
    data: Path, tmp_path: Path, server: JudgeServer
) -> None:
    assert "needs a price for 'm'" in refused("run", data, *llm(server), "--budget-usd", "1")
    prices = tmp_path / "prices.toml"
    prices.write_text("[m]\ninput = 0\noutput = 2572\n")  # 7 tokens: 0.018 USD a call
    flags = ("--prices", prices, "--budget-usd", "0.2", "--concurrency", 4)
    done = invoke("run", data, *llm(server), *flags)
    assert done.exit_code == 3, done.output
    assert 12 <= server.n_requests <= 12 + 3
    assert "cost 0.2" in done.stderr


# -------------------------------------------------------------------- Ctrl-C, SIGTERM and SIGKILL

INTERRUPTS = [(signal.SIGINT, 130), (signal.SIGTERM, 143)]


def holding(gate: threading.Event, first_row: int = 0) -> Callable[[str], Act]:
    """A server that holds what it is asked about this row and later ones."""
    fluent = FluentJudge()

    def script(prompt: str) -> Act:
        return fluent(prompt) if row_of(prompt) < first_row else Holds(gate, fluent(prompt))

    return script


@pytest.mark.parametrize(("number", "code"), INTERRUPTS)
def test_an_interrupt_writes_the_rows_that_were_finished(
    tmp_path: Path, number: signal.Signals, code: int
) -> None:
    data, output = samples(tmp_path, 300), tmp_path / "out.json"
    with JudgeServer(holding(threading.Event(), 100)) as server:
        running = process("run", data, *llm(server), *FAITH, "--output", output)
        server.wait_for_held(IN_FLIGHT)
        running.send_signal(number)
        out, err = running.communicate()
    assert running.returncode == code, err.decode()
    assert "Traceback" not in err.decode()
    assert not output.exists()
    partial = result_of(tmp_path / "out.partial.json")
    rows = partial["results"]
    assert [row["sample"]["id"] for row in rows] == [f"q-{n}" for n in range(100)]
    assert all(row["metrics"]["faithfulness"]["score"] is not None for row in rows)
    assert partial["judging"]["metrics"]["faithfulness"]["nJudged"] == 100
    # Not one more was asked about than those in flight, which are not waited for.
    assert server.n_requests == 2 * 100 + IN_FLIGHT
    assert "interrupted: ended after 100 samples" in err.decode()
    assert "100" in out.decode()


def test_ctrl_c_before_the_first_row_writes_nothing(tmp_path: Path) -> None:
    data, output = samples(tmp_path, 20), tmp_path / "out.json"
    with JudgeServer(holding(threading.Event())) as server:
        running = process("run", data, *llm(server), "--output", output)
        server.wait_for_held(IN_FLIGHT)
        running.send_signal(signal.SIGINT)
        out, err = running.communicate()
    assert (running.returncode, out) == (130, b""), err.decode()
    assert "nothing was written" in err.decode()
    assert list(tmp_path.iterdir()) == [data]


@pytest.mark.parametrize(("number", "code"), [*INTERRUPTS, (signal.SIGKILL, -signal.SIGKILL)])
def test_score_goes_on_where_it_was_ended(
    tmp_path: Path, whole: bytes, number: signal.Signals, code: int
) -> None:
    data, target = samples(tmp_path, N_LONG), tmp_path / "s.jsonl"
    with JudgeServer(holding(threading.Event(), IN_THE_THIRD_PIECE)) as server:
        flags = (*llm(server), *FAITH, "--checkpoint-rows", 1)
        running = process("score", data, target, *flags)
        server.wait_for_held(IN_FLIGHT)
        running.send_signal(number)
        _, err = running.communicate()
        assert running.returncode == code, err.decode()
        assert not target.exists()
        n_before = server.n_requests
        server._script = FluentJudge()
        resumed = invoke("score", data, target, *flags, "--resume")
        assert resumed.exit_code == 0, resumed.output
        # Not one of the rows that are kept is asked about again.
        n_asked = server.n_requests - n_before
        if number == signal.SIGKILL:
            assert n_asked <= 2 * (N_LONG - PIECE)
        else:
            assert n_asked == 2 * (N_LONG - IN_THE_THIRD_PIECE)
    assert target.read_bytes() == whole


@pytest.mark.parametrize("suffix", ["jsonl", "csv", "parquet"])
def test_rows_that_were_skipped_stay_skipped_when_a_run_goes_on(
    tmp_path: Path, suffix: str
) -> None:
    target, whole = tmp_path / "s.jsonl", tmp_path / "whole.jsonl"
    good = [json.loads(line) for line in samples(tmp_path, 80).read_text().splitlines()]
    bad = {**good[0], "id": "bad", "contexts": [1] if suffix == "csv" else None}
    rows = [one for n, row in enumerate(good) for one in ([bad, row, bad] if n % 5 == 0 else [row])]
    data = written(tmp_path / f"data.{suffix}", rows)
    flags = ("--skip-invalid", *FAITH)
    with JudgeServer(dying(PIECE + 8)) as server:
        assert invoke("score", data, target, *llm(server), *IN_ORDER, *flags).exit_code == 3
        server._script = FluentJudge()
        resumed = invoke("score", data, target, *llm(server), *flags, "--resume")
        assert resumed.exit_code == 0, resumed.output
        assert invoke("score", data, whole, *llm(server), *flags).exit_code == 0
    assert "32 of 112 skipped as invalid" in resumed.stderr
    ids = [json.loads(line)["id"] for line in target.read_text().splitlines()]
    assert ids == [f"q-{n}" for n in range(80)]
    assert target.read_bytes() == whole.read_bytes()


def test_another_judge_does_not_go_on_with_a_run(tmp_path: Path) -> None:
    data, target = samples(tmp_path, 80), tmp_path / "s.jsonl"
    with JudgeServer(dying(PIECE + 8)) as server:
        lost = invoke("score", data, target, *llm(server), *FAITH, *IN_ORDER)
        assert lost.exit_code == 3
        n_requests = server.n_requests
        for change in (("--judge", f"{server.openai_url}#another"), ("--judge-repeat", "2")):
            said = refused("score", data, target, *llm(server), *FAITH, *change, "--resume")
            assert "--restart" in said
    assert server.n_requests == n_requests


# ------------------------------------------------------------------------- where a judge comes from


def test_the_judge_may_come_from_the_environment(data: Path, server: JudgeServer) -> None:
    address = f"{server.openai_url}#m"
    done = invoke("run", data, "--mode", "llm", *FAITH, RAG_EVAL_JUDGE=address)
    assert "judged by openai:m" in done.stderr, done.output
    assert server.n_requests == 24
    # Where none is to be asked, it asks none.
    native = invoke("run", data, *FAITH, RAG_EVAL_JUDGE=address)
    assert "judged" not in native.output
    assert server.n_requests == 24
    # A flag wins over it.
    done = invoke("run", data, *llm(server), *FAITH, RAG_EVAL_JUDGE="openai:not-this-one")
    assert "judged by openai:m," in done.stderr


def test_a_judge_that_would_not_be_asked_is_refused(data: Path) -> None:
    address = "http://127.0.0.1:9/v1#m"
    assert "--judge has no effect without --mode" in refused("run", data, "--judge", address)
    assert "--dry-run has no effect without --mode" in refused("run", data, "--dry-run")
    assert "needs a judge. Add --judge openai:MODEL" in refused("run", data, "--mode", "llm")


@pytest.mark.parametrize(
    "line",
    [
        'judge = "http://127.0.0.1:9/v1#m"',
        'judges = ["openai:a"]',
        'judge_url = "http://evil.example/v1"',
        'base_url = "http://evil.example/v1"',
        'judgeBaseUrl = "http://evil.example/v1"',
        'judge_models = "openai:a,openai:b"',
        'api_key = "sk-marker"',
        '[judge]\nurl = "http://evil.example"\nkey = "sk-marker"',
        '[run]\njudge = "openai:m"',
    ],
)
def test_a_configuration_file_cannot_say_who_judges(tmp_path: Path, data: Path, line: str) -> None:
    config = tmp_path / "rag-eval.toml"
    config.write_text(line)
    message = refused("run", data, "--mode", "llm", "--config", config)
    assert "the judge is set by --judge, an argument or RAG_EVAL_JUDGE, never by" in message
    assert "sk-marker" not in message


@pytest.mark.parametrize("key", ["judge_cache", "cache_file", "prompt_overrides"])
def test_a_configuration_file_cannot_name_files_of_replies_or_prompts(
    tmp_path: Path, key: str
) -> None:
    config = tmp_path / "rag-eval.toml"
    config.write_text(f'{key} = "x"')
    with pytest.raises(
        InputError, match=f"{key} is not allowed in a configuration file: .* from --"
    ):
        read_config(config)


CONFIG = """
mode = "hybrid"
metrics = ["faithfulness", "answerRelevance"]
judge_style = "rating"
judge_repeat = 2
length_debias = false
on_judge_failure = "heuristic"
max_judge_failures = 0.5
judge_seed = 3
concurrency = 2
call_timeout_s = 9.5
run_timeout_s = 100
retries = 1
max_calls = 1000
budget_usd = 5
prices = "prices.toml"
min_pass_rate = 0
[metric_modes]
answerRelevance = "llm"
"""


def test_a_configuration_file_may_say_how_it_is_judged(
    tmp_path: Path, data: Path, server: JudgeServer
) -> None:
    folder = tmp_path / "inner"
    folder.mkdir()
    (folder / "prices.toml").write_text("[m]\ninput = 1\noutput = 1\n")
    config = folder / "rag-eval.toml"
    config.write_text(CONFIG)
    judge = ("--config", config, "--judge", f"{server.openai_url}#m")
    done = invoke("run", data, *judge, "--format", "json")
    assert done.exit_code == 0, done.output
    judging = json.loads(done.stdout)["judging"]
    assert (judging["mode"], judging["style"]) == ("hybrid", "rating")
    assert list(judging["metrics"]) == ["answerRelevance"]
    assert server.n_requests == 24
    assert server.most_at_once <= 2
    assert b"Length is no merit" not in server.seen()
    # Flags win over it, metric by metric.
    more = ("--metric-modes", "faithfulness=llm", "--judge-repeat", 1, "--format", "json")
    value = json.loads(invoke("run", data, *judge, *more).stdout)
    assert list(value["judging"]["metrics"]) == ["faithfulness", "answerRelevance"]
    assert server.n_requests == 48
    # The gates in it are for run, and do not keep score from working.
    assert invoke("score", data, tmp_path / "s.csv", *judge).exit_code == 0


def test_every_command_that_judges_reads_the_table_of_judging(
    tmp_path: Path, data: Path, server: JudgeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits = time_limits(monkeypatch)
    config = tmp_path / "rag-eval.toml"
    config.write_text("[judge]\nmode = 'llm'\ncall_timeout = 900\nmax_calls = 3\n")
    judge = (*FAITH, "--judge", f"{server.openai_url}#m", "--config", config, *IN_ORDER)
    for n_calls, *command in (
        (3, "run", data),
        (3, "score", data, tmp_path / "s.jsonl"),
        (6, "judge", "debias-check", data),  # with the words on length and without
    ):
        before = server.n_requests
        done = invoke(*command, *judge)
        assert limits.pop() == 900.0, done.output
        assert server.n_requests - before == n_calls, done.output
        config.write_text("[judge]\nretries = 'many'\n")
        said = f"{config}: retries in [judge] must be a whole number of at least 0, got 'many'"
        assert refused(*command, *judge) == said
        config.write_text("[judge]\nmode = 'llm'\ncall_timeout = 900\nmax_calls = 3\n")


@pytest.mark.parametrize(
    ("flag", "value"),
    [
        ("--retries", 0),
        ("--call-timeout", 90.5),
        ("--run-timeout", 3600),
        ("--requests-per-minute", 50000),
        ("--tokens-per-minute", 90000000),
        ("--max-parse-failures", 2),
    ],
)
def test_flags_that_went_work_and_name_what_came_in_their_place(
    tmp_path: Path, data: Path, server: JudgeServer, flag: str, value: float
) -> None:
    judge = ("--mode", "llm", "--judge", f"{server.openai_url}#m", *FAITH)
    plain, given = (invoke("run", data, *judge, *more) for more in ((), (flag, value)))
    assert given.exit_code == 0
    assert given.stdout == plain.stdout
    [note] = [line for line in given.stderr.splitlines() if line.startswith(f"note: {flag} ")]
    found = re.search(r"rag-eval.toml instead: (\w+ = \S+) below (\[\w+\])", note)
    assert found, note
    (tmp_path / "rag-eval.toml").write_text(f"{found[2]}\n{found[1]}\n")
    assert list(read_config(tmp_path / "rag-eval.toml").values()) == [value]
    assert "note: --" not in plain.stderr
    assert invoke("run", data, *judge, flag, value, "--quiet").stderr == ""
    assert flag not in invoke("run", "--help").stdout


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('concurrency = "4"', "concurrency must be a whole number from 1 to 10,000, got '4'"),
        ("concurrency = true", "concurrency must be a whole number from 1 to 10,000, got True"),
        ("budget_usd = [1]", "budget_usd must be a number"),
        ("prices = {}", "prices must be a file name"),
        ("mode = 1", "mode must be a string"),
        ("metric_modes = 'llm'", "metric_modes must be a table of metrics"),
        ("length_debias = 1", "length_debias must be true or false"),
        ("cascade_band = 0.5", "cascade_band must be two numbers, or a table"),
        ("judge_stile = 'rating'", "unknown key 'judge_stile'; did you mean 'judge_style'?"),
    ],
)
def test_a_wrong_value_in_a_configuration_file_is_named(
    tmp_path: Path, line: str, said: str
) -> None:
    config = tmp_path / "rag-eval.toml"
    config.write_text(line)
    with pytest.raises(InputError) as caught:
        read_config(config)
    assert said in str(caught.value)


def test_bands_of_a_cascade_from_a_configuration_file(
    tmp_path: Path, data: Path, server: JudgeServer
) -> None:
    config = tmp_path / "rag-eval.toml"
    config.write_text(
        'mode = "cascade"\nprofile = "grounded"\nmetrics = ["faithfulness"]\naudit_share = 0.0\n'
        "[cascade_band]\nfaithfulness = [0.0, 1.0]\n"
    )
    flags = ("--config", config, "--judge", f"{server.openai_url}#m", "--format", "json")
    value = json.loads(invoke("run", data, *flags).stdout)
    assert value["judging"]["metrics"]["faithfulness"]["nJudged"] == 12
    none = json.loads(invoke("run", data, *flags, "--cascade-band", "0:0").stdout)
    assert none["judging"]["metrics"]["faithfulness"]["nJudged"] == 0


# --------------------------------------------------------------------------------------- progress


def on_a_terminal(*arguments: object, seen: Callable[[bytes], None]) -> None:
    """Run a command whose stderr is a terminal; ``seen`` gets all of it whenever more is shown."""
    controller, terminal = pty.openpty()
    with os.fdopen(controller, "rb", buffering=0) as screen:
        running = process(*arguments, stderr=terminal)
        os.close(terminal)
        shown = b""
        with suppress(OSError):  # the other end is closed
            while part := screen.read(65536):
                shown += part
                seen(shown)
        out, _ = running.communicate()
    assert running.returncode in (0, 1), shown + out


def test_progress_is_shown_on_a_terminal_and_nowhere_else(tmp_path: Path) -> None:
    data = samples(tmp_path, 60)
    fluent, gates = FluentJudge(), {n: threading.Event() for n in (16, 32, 48)}

    def script(prompt: str) -> Act:
        """Rows wait until those before them were seen to be counted."""
        begun = row_of(prompt) // 16 * 16
        return Holds(gates[begun], fluent(prompt)) if begun else fluent(prompt)

    def seen(shown: bytes) -> None:
        for count in re.findall(rb"(\d+) samples", shown):
            if int(count) in gates:
                gates[int(count)].set()

    with JudgeServer(script) as server:
        on_a_terminal("run", data, *llm(server), *FAITH, seen=seen)
        assert all(gate.is_set() for gate in gates.values())
        done = invoke("run", data, *llm(server), *FAITH)
    assert "samples" not in done.stderr.split("judged by")[0]
    assert "\x1b" not in done.stderr
