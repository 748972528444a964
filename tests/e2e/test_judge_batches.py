"""Judges that are asked in batches, against a server with the batch APIs of both vendors."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import signal
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import rag_eval
from rag_eval.adapters.anthropic import create_anthropic_judge
from rag_eval.adapters.openai import create_openai_judge
from rag_eval.cli import batches as batch_commands
from rag_eval.errors import InputError
from rag_eval.jobs import judge_batches
from rag_eval.judge import JudgeCache, JudgePendingError, batch_ledger
from rag_eval.judge.batch_ledger import BatchLedger
from rag_eval.judge.failures import JudgeUnavailableError
from tests.batch_servers import CANCELS, EXPIRES, BatchServer, Loses
from tests.docs_pages import tool
from tests.e2e.test_judge_cli import FAITH, invoke, process, row_of, samples
from tests.e2e.test_judge_setups import PAGE, vendors_at
from tests.e2e.test_judge_setups import VENDORS as VENDORS_KEY
from tests.fluent_judge import FluentJudge
from tests.judge_servers import Act, CutsBody, Fails, HangsUp, JudgeServer, Says
from tests.tables import every_row

VENDORS = ("openai", "anthropic")
KEY = "sk-a-key-that-nobody-may-see"
PRICES = {"m": {"input": 1000.0, "output": 5000.0}}
# The most rounds of these metrics: claims, verdicts, and a second ask for each.
MOST_ROUNDS = 8
THREE = ("faithfulness", "context_recall", "answer_correctness")


def judge_at(server: BatchServer, vendor: str, **options: Any) -> Any:
    if vendor == "openai":
        return create_openai_judge("m", base_url=server.openai_url, api_key=KEY, **options)
    return create_anthropic_judge("m", base_url=server.anthropic_url, api_key=KEY, **options)


def step(data: Path, judge: Any, file: Path, **options: Any) -> Any:
    """One look at the batches, or the report of the run."""
    options = {"metrics": ("faithfulness",), "mode": "llm", "retries": 0, **options}
    return rag_eval.run_file(data, judge=judge, judge_batch=file, **options)


def batch_flags(server: JudgeServer, file: Path, model: str = "m") -> tuple[object, ...]:
    judge = f"{server.openai_url}#{model}"
    return ("--mode", "llm", *FAITH, "--judge", judge, "--judge-batch", file)


def judged(server: BatchServer, data: Path, judge: Any, file: Path, **options: Any) -> Any:
    """The report of a run whose batches end between two looks at them."""
    for _ in range(MOST_ROUNDS):
        try:
            return step(data, judge, file, **options)
        except JudgePendingError:
            server.end()
    raise AssertionError("it does not come to an end")


def rows_of(path: Path) -> list[dict[str, Any]]:
    """The rows of a result file, without what differs from one run to the next."""
    rows = json.loads(path.read_bytes())["results"]
    return [
        {name: row[name] for name in row if name not in ("evaluatedAt", "durationMs")}
        for row in rows
    ]


def normal(body: dict[str, Any]) -> str:
    """A request without its mark, which is random."""
    text = json.dumps(body, sort_keys=True)
    marks = re.findall(r'\\"mark\\" with the value \\"(\w+)\\"', text)
    return text.replace(marks[-1], "MARK")


# ------------------------------------------------------------------------------- a run, complete


@every_row("vendor", VENDORS)
def test_a_run_in_batches_is_the_run_that_asks_at_once(tmp_path: Path, vendor: str) -> None:
    data, file = samples(tmp_path, 6), tmp_path / "b.sqlite"
    options: dict[str, Any] = {"metrics": THREE, "judge_repeat": 2}
    with BatchServer(FluentJudge()) as server:
        judge = judge_at(server, vendor, max_output_tokens=77)
        report = judged(server, data, judge, file, **options, output=tmp_path / "batched.json")
        bodies = [body for batch in server.batches for body in batch.requests.values()]
        trials = [
            one for one in server.requests if "batch" not in one.path and "fil" not in one.path
        ]
        n_before = server.n_requests
        plain = rag_eval.run_file(
            data, mode="llm", judge=judge, **options, output=tmp_path / "plain.json"
        )
        calls = server.requests[n_before:]
    assert rows_of(tmp_path / "batched.json") == rows_of(tmp_path / "plain.json")
    assert report.result.signature == plain.result.signature
    # The first question shows that all is right; the others are what would be asked at once.
    assert len(trials) == server.n_calls - len(calls) == 1
    sent = sorted(map(normal, [*bodies, *(one.json for one in trials)]))
    assert sent == sorted(normal(one.json) for one in calls)
    assert {77} == {body.get("max_tokens") for body in bodies}
    # Claims are asked about first, then verdicts: each as early as it can be.
    assert len(server.batches) == 2
    assert report.result.judging.metrics.keys() == plain.result.judging.metrics.keys()
    tallies = [
        {name: found.tally for name, found in one.result.judging.metrics.items()}
        for one in (report, plain)
    ]
    assert tallies[0] == tallies[1]


def test_the_command_line_submits_leaves_and_collects(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    samples(tmp_path, 3).rename(tmp_path / "data.jsonl")
    monkeypatch.chdir(tmp_path)
    with BatchServer(FluentJudge()) as server:
        judge = f"{server.openai_url}#m"
        begun = invoke(
            *("run", "data.jsonl", "--mode", "llm", *FAITH, "--judge-batch", "b.sqlite"),
            *("--output", "r.json", "--cache-file", "cache.sqlite", "--min-pass-rate", "0"),
            RAG_EVAL_JUDGE=judge,
            RAG_EVAL_JUDGE_API_KEY=KEY,
        )
        # In another folder and shell, where the variable is not set.
        monkeypatch.chdir("/")
        file = tmp_path / "b.sqlite"
        early = invoke("judge", "collect", file, RAG_EVAL_JUDGE_API_KEY=KEY)
        n_looked = server.n_requests
        server.end()
        middle = invoke("judge", "collect", file, RAG_EVAL_JUDGE_API_KEY=KEY)
        server.end()
        last = invoke("judge", "collect", file, RAG_EVAL_JUDGE_API_KEY=KEY)
        again = invoke("judge", "collect", file, RAG_EVAL_JUDGE_API_KEY=KEY)
        n_sent = server.n_batched + server.n_calls
        cached = invoke(
            *("run", tmp_path / "data.jsonl", "--mode", "llm", *FAITH, "--judge", judge),
            *("--cache-file", tmp_path / "cache.sqlite", "--output", tmp_path / "c.json"),
            RAG_EVAL_JUDGE_API_KEY=KEY,
        )
        assert server.n_batched + server.n_calls == n_sent == 6
    codes = [done.exit_code for done in (begun, early, middle, last, again, cached)]
    assert codes == [4, 4, 4, 0, 0, 0], begun.output + last.output
    assert "waiting for the judge: 3 requests in 1 batch; openai:m: batch-0 sent" in begun.stderr
    assert f"collect them with: rag-eval judge collect {file}" in begun.stderr
    assert "batch-0 in_progress, 0 of 3 done" in early.stderr
    assert begun.stdout == early.stdout == middle.stdout == ""
    assert n_looked == 5  # the trial, a look at the API, file and batch, and their state
    assert "faithfulness" in last.stdout
    assert (tmp_path / "r.json").exists()
    scores = [
        [row["metrics"]["faithfulness"]["score"] for row in rows_of(tmp_path / name)]
        for name in ("r.json", "c.json")
    ]
    assert scores[0] == scores[1]
    # Replies are in the cache since the round that brought them, and count all the same.
    calls = [row["metrics"]["faithfulness"]["llmCalls"] for row in rows_of(tmp_path / "r.json")]
    assert calls == [2, 2, 2]
    kept = file.read_bytes()
    assert KEY.encode() not in kept + (tmp_path / "r.json").read_bytes()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert KEY not in begun.output + last.output


def test_waiting_looks_again_with_longer_pauses_until_there_is_news(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data, file = samples(tmp_path, 3), tmp_path / "b.sqlite"
    pauses: list[float] = []
    with BatchServer(FluentJudge()) as server:

        def pause(seconds: float) -> None:
            pauses.append(seconds)
            if len(pauses) in (3, 5):
                server.end()
            if len(pauses) == 4:
                raise KeyboardInterrupt

        monkeypatch.setattr(batch_commands, "_sleep", pause)
        flags = ("--mode", "llm", *FAITH, "--judge", f"{server.openai_url}#m")
        target = tmp_path / "s.jsonl"
        begun = invoke("score", data, target, *flags, "--judge-batch", file)
        ended = invoke("judge", "collect", file, "--wait")
        last = invoke("judge", "collect", file, "--wait")
    assert [done.exit_code for done in (begun, ended, last)] == [4, 130, 0], last.output
    assert pauses == [5.0, 7.5, 11.25, 5.0, 5.0]
    assert "the batches go on without this command; collect them with: rag-eval" in ended.stderr
    assert ended.stderr.count("batch-0 in_progress") == 1
    assert len(target.read_text().splitlines()) == 3
    assert list(tmp_path.glob("s.jsonl.parts")) == []


def test_the_commands_of_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the vendors' own addresses; both have a certificate for the server of this test."""
    blocks = tool("docs_blocks").page_blocks(PAGE.read_text("utf-8"))
    [text] = [one.text for one in blocks if "--judge-batch" in one.text and one.language == "sh"]
    texts = {
        "openai": text,
        "anthropic": text.replace("OPENAI", "ANTHROPIC").replace("openai:gpt", "anthropic:claude"),
    }
    monkeypatch.setattr(batch_commands, "_sleep", lambda seconds: None)
    for vendor, text in texts.items():
        folder = tmp_path / vendor
        folder.mkdir()
        samples(folder, 3).rename(folder / "samples.jsonl")
        monkeypatch.chdir(folder)
        export, *commands = text.splitlines()
        name, _, key = export.removeprefix("export ").partition("=")
        codes = []
        with (
            BatchServer(FluentJudge(), is_quick=True, proxied=VENDORS_KEY) as server,
            vendors_at(server, monkeypatch),
        ):
            for command in commands:
                done = invoke(*shlex.split(command)[1:], **{name: key})
                codes.append(done.exit_code)
            given = {one.headers.get("authorization") for one in server.requests}
        assert codes == [4, 4, 0], done.output
        assert given == {f"Bearer {key}"}
        assert len(rows_of(folder / "judged.json")) == 3


def test_the_server_of_these_tests_speaks_as_the_sdks_know_the_vendors(tmp_path: Path) -> None:
    from anthropic.types.messages import MessageBatch, MessageBatchIndividualResponse
    from openai.types import Batch

    data = samples(tmp_path, 2)
    for vendor, shape in zip(VENDORS, (Batch, MessageBatch), strict=True):
        with BatchServer(in_turn(EXPIRES, Fails(400))(1)) as server:
            judge = judge_at(server, vendor)
            judged(server, data, judge, tmp_path / vendor, judge_style="rating", retries=1)
            for batch in server.batches:
                shape.model_validate(server._shown(batch))
                lines = server._results(batch.id) if vendor == "anthropic" else None
                for line in [] if lines is None else lines.body.splitlines():
                    MessageBatchIndividualResponse.model_validate_json(line)
            assert [len(batch.requests) for batch in server.batches] == [1, 1]


# ----------------------------------------------------------------------------- single requests


def about_one(act: Act | str) -> Callable[[int], Callable[[str], Any]]:
    """A judge that does so about one row, every time."""
    return in_turn(*[act] * MOST_ROUNDS)


def in_turn(*acts: Act | str | None) -> Callable[[int], Callable[[str], Any]]:
    """A judge that does so about one row, one after the other; None for a good reply."""

    def of_row(number: int) -> Callable[[str], Any]:
        fluent, left = FluentJudge(), list(acts)

        def reply(prompt: str) -> Any:
            act = left.pop(0) if left and row_of(prompt) == number else None
            return fluent(prompt) if act is None else act

        return reply

    return of_row


CUT = Says('{"mark": "', "length", usage=(900, 100))
ENDINGS = (
    # What is said about the row, requests about it, null reason, and what is said of that; those
    # that the vendors word differently come first.
    (about_one(Fails(400, "the server's own words")), 1, "JUDGE_FAILED", "the server's own words"),
    (about_one(CANCELS), 1, "JUDGE_FAILED", "cancelled"),
    (in_turn(EXPIRES), 2, "MEASURED", ""),
    (in_turn(Fails(429, "too many")), 2, "MEASURED", ""),
    (in_turn(Fails(500, "broken")), 2, "MEASURED", ""),
    (about_one("x" * 4_100_000), 1, "JUDGE_FAILED", "longer than 4 MB and was not read"),
    (about_one(EXPIRES), 3, "JUDGE_UNREACHABLE", "expired before this request was answered"),
    (about_one(Says(None, refusal="I will not.")), 1, "JUDGE_REFUSED", "refused"),
    (about_one("no JSON"), 2, "JUDGE_UNPARSED", "the reply holds no JSON object"),
    (in_turn("no JSON"), 2, "MEASURED", ""),
)


@every_row(
    ("vendor", "acts", "n_asked", "reason", "said"),
    [
        pytest.param(vendor, *row, id=f"{vendor} {number}")
        for vendor, rows in zip(VENDORS, (ENDINGS, ENDINGS[:6]), strict=True)
        for number, row in enumerate(rows)
    ],
)
def test_what_becomes_of_a_request_is_what_becomes_of_a_call(
    tmp_path: Path,
    vendor: str,
    acts: Callable[[int], Callable[[str], Any]],
    n_asked: int,
    reason: str,
    said: str,
) -> None:
    data, file = samples(tmp_path, 2), tmp_path / "b.sqlite"
    with BatchServer(acts(1)) as server:
        report = judged(
            *(server, data, judge_at(server, vendor), file),
            **{"judge_style": "rating", "retries": 2, "output": tmp_path / "r.json"},
        )
        asked = [
            body
            for batch in server.batches
            for body in batch.requests.values()
            if "Thing 1 is red" in json.dumps(body)
        ]
    rows = [row["metrics"]["faithfulness"] for row in rows_of(tmp_path / "r.json")]
    assert [row["score"] is None for row in rows] == [False, reason != "MEASURED"]
    assert len(asked) == n_asked
    if reason != "MEASURED":
        assert rows[1]["nullReason"] == reason.lower()
        assert said in rows[1]["explanation"]
        assert report.result.judging.n_failed == 1


@every_row("vendor", VENDORS)
def test_a_reply_that_was_cut_is_asked_for_with_twice_the_limit(
    tmp_path: Path, vendor: str
) -> None:
    data = samples(tmp_path, 2)
    cut = CUT if vendor == "openai" else Says('{"mark": "', "max_tokens", usage=(900, 100))
    with BatchServer(in_turn(cut)(1)) as server:
        judge = judge_at(server, vendor, max_output_tokens=100)
        report = judged(server, data, judge, tmp_path / "b", judge_style="rating")
    limits = [body["max_tokens"] for batch in server.batches for body in batch.requests.values()]
    assert limits == [100, 200]
    assert report.result.judging.n_failed == 0


def test_what_the_server_does_not_take_is_found_out_before_a_batch_is_sent(tmp_path: Path) -> None:
    fluent = FluentJudge()

    def script(prompt: str) -> Act:
        body = server.requests[-1].json if server.n_requests == n_trials + 1 else {}
        if "temperature" in body:
            return Fails(
                400, "'temperature' is not supported", param="temperature", code="unsupported"
            )
        return fluent(prompt)

    n_trials = 1  # after the look at the API
    data = samples(tmp_path, 3)
    with BatchServer(script) as server:
        for _ in range(3):  # each in a process of its own, as far as the judge can tell
            with pytest.raises(JudgePendingError):
                step(data, judge_at(server, "openai"), tmp_path / "b")
            server.end()
            if len(server.batches) == 2:
                break
        assert step(data, judge_at(server, "openai"), tmp_path / "b").result.n_rows == 3
    for batch in server.batches:
        assert all("temperature" not in body for body in batch.requests.values())
        assert all("response_format" in body for body in batch.requests.values())


# -------------------------------------------------------------------------------- limits, prices


def test_the_budget_is_checked_before_a_batch_is_sent(tmp_path: Path) -> None:
    data, file = samples(tmp_path, 4), tmp_path / "b"
    with BatchServer(FluentJudge()) as server:
        judge = judge_at(server, "openai")
        calls = (
            "the next batches have 4 requests after 1 call, and max_calls is 3: nothing was sent"
        )
        with pytest.raises(JudgeUnavailableError, match=calls):
            step(data, judge, file, max_calls=3)
        with pytest.raises(
            JudgeUnavailableError, match=r"about \d\.\d{4} USD after .* is 0\.6: no"
        ):
            step(data, judge, file, prices=PRICES, budget_usd=0.6)
        with pytest.raises(JudgeUnavailableError, match="nothing was asked: max_calls or budget"):
            step(data, judge, file, max_calls=0)
        assert server.batches == []
        report = judged(server, data, judge, file, prices=PRICES, budget_usd=1000)
        assert (server.n_calls, server.n_batched) == (1, 7)
        usage = [json.loads(answer.body)["usage"] for answer in answers_of(server)]
    prices = PRICES["m"]
    whole, *halves = (
        one["prompt_tokens"] * prices["input"] + one["completion_tokens"] * prices["output"]
        for one in [usage[0], *usage]
    )
    # The trial was like the first request of the batch: rows of one digit have equal lengths.
    assert report.result.judging.cost_usd == pytest.approx((whole + sum(halves) / 2) / 1e6)


def answers_of(server: BatchServer) -> list[Any]:
    return [answer for batch in server.batches for answer in batch.answers.values()]


def test_a_dry_run_counts_half_the_price(tmp_path: Path) -> None:
    data, prices = samples(tmp_path, 2), tmp_path / "prices.toml"
    totals = []
    for own in ("", "batch = 0.25\n"):
        prices.write_text(f"[m]\ninput = 1000\noutput = 1000\n{own}")
        flags = ("--mode", "llm", "--judge", "http://127.0.0.1:9/v1#m", "--prices", prices)
        for batch in ((), ("--judge-batch", tmp_path / "b")):
            done = invoke("run", data, *flags, *batch, "--dry-run", "--format", "json")
            totals.append(json.loads(done.stdout)["costUsd"])
    assert totals[1:] == pytest.approx([totals[0] / 2, totals[0], totals[0] / 4])
    assert not (tmp_path / "b").exists()


def test_many_requests_are_several_batches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data, file = samples(tmp_path, 6), tmp_path / "b"
    monkeypatch.setattr(batch_ledger, "MOST_REQUESTS", 2)
    with BatchServer(FluentJudge()) as server:
        judge = judge_at(server, "anthropic")
        with pytest.raises(JudgePendingError, match="6 requests in 3 batches"):
            step(data, judge, file)
        assert [len(batch.requests) for batch in server.batches] == [2, 2, 2]
        server.batches[1].status = "ended"
        server.batches[1].answers = {
            name: server._answer(body) for name, body in server.batches[1].requests.items()
        }
        # What follows from the replies that are there is asked at once.
        with pytest.raises(JudgePendingError):
            step(data, judge, file)
        assert len(server.batches) == 4
        monkeypatch.setattr(batch_ledger, "MOST_REQUESTS", 100)
        monkeypatch.setattr(batch_ledger, "MOST_BYTES", 1)
        assert judged(server, data, judge, file).result.n_rows == 6
        assert {len(batch.requests) for batch in server.batches[4:]} == {1}
        assert server.n_batched + 1 == 12


# ------------------------------------------------------------------------- crashes and faults


# What the server is asked in a run of two rounds: the process is killed when that is asked for
# the first time, before or after the server does it.
KILLS = (
    ("POST /v1/batches", "after"),
    ("GET /v1/files/*/content", "before"),
    *(
        pytest.param(*one, marks=pytest.mark.deep)
        for one in (
            ("GET /v1/batches", "before"),
            ("POST /v1/files", "before"),
            ("POST /v1/files", "after"),
            ("POST /v1/batches", "before"),
            ("GET /v1/batches/*", "before"),
            ("GET /v1/files/*/content", "after"),
        )
    ),
)


class KillingServer(BatchServer):
    """Kills the process that asks for something, before or after that is done."""

    pid = 0

    def __init__(self, at: str, moment: str) -> None:
        super().__init__(FluentJudge(), is_quick=True)
        self._at, self._moment = at, moment

    def other(self, method: str, request: Any) -> Any:
        path = re.sub(r"(batch|file)-\d+", "*", request.path.partition("?")[0])
        is_it = self.pid and f"{method} {path}" == self._at
        found = None if is_it and self._moment == "before" else super().other(method, request)
        if is_it:
            import os

            os.kill(self.pid, signal.SIGKILL)
            self.pid = 0
            return HangsUp()
        return found


@pytest.mark.parametrize(("at", "moment"), KILLS)
def test_a_killed_run_is_taken_up_and_nothing_is_sent_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at: str, moment: str
) -> None:
    data, file = samples(tmp_path, 4), tmp_path / "b"
    with KillingServer(at, moment) as server:
        flags = ("--mode", "llm", "--judge", f"{server.openai_url}#m", *FAITH)
        command = ("run", data, *flags, "--judge-batch", file, "--output", tmp_path / "r.json")
        n_killed = 0
        for _ in range(3):
            with process(*command) as running:
                server.pid = running.pid
                _, err = running.communicate()
            server.pid = 0
            if running.returncode == -signal.SIGKILL:
                n_killed += 1
                break
            assert running.returncode == 4, err
        assert n_killed == 1
        # A batch that the vendor does not list is sent again after a while only.
        now = judge_batches._now()
        codes = [invoke("judge", "collect", file).exit_code]
        monkeypatch.setattr(judge_batches, "_now", lambda: now + 1000)
        while codes[-1] == 4 and len(codes) < MOST_ROUNDS:
            codes.append(invoke("judge", "collect", file).exit_code)
        assert codes[-1] == 0
        assert (server.n_calls, server.n_batched) == (1, 7)
    assert len(rows_of(tmp_path / "r.json")) == 4


@every_row("vendor", VENDORS)
def test_a_batch_whose_answer_was_lost_is_found_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, vendor: str
) -> None:
    data, file = samples(tmp_path, 3), tmp_path / "b"
    place = "POST /v1/batches" if vendor == "openai" else "POST /v1/messages/batches"
    with BatchServer(FluentJudge()) as server:
        judge = judge_at(server, vendor)
        server.faults[place] = [Loses(CutsBody() if vendor == "openai" else HangsUp())]
        with pytest.raises(JudgePendingError, match="a batch may have been sent or not"):
            step(data, judge, file)
        # Somebody else's, of as many requests, and more than a page of them.
        ours = server.batches[0]
        for number in range(1, 120):
            names = [f"{number}-{place}" for place in range(len(ours.requests))]
            bodies = list(ours.requests.values())
            server.batches.append(
                type(ours)(f"batch-{number}", {}, dict(zip(names, bodies, strict=True)))
            )
        monkeypatch.setattr(judge_batches, "_now", lambda: 4e9)
        pattern = "batch-0 in_progress" if vendor == "openai" else "119|120 unfinished batches"
        with pytest.raises(JudgePendingError, match=pattern):
            step(data, judge, file)
        server.end()
        others, server.batches[1:] = server.batches[1:], []
        server.batches += others[:2]
        report = judged(server, data, judge, file)
        assert report.result.judging.n_failed == 0
        assert sum(len(batch.requests) for batch in server.batches) - 2 * 3 + 1 == 6


def test_a_batch_that_never_came_is_sent_again_after_a_while_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data, file = samples(tmp_path, 3), tmp_path / "b"
    now = [1000.0]
    monkeypatch.setattr(judge_batches, "_now", lambda: now[0])
    with BatchServer(FluentJudge()) as server:
        judge = judge_at(server, "anthropic")
        server.faults["POST /v1/messages/batches"] = [HangsUp()]
        with pytest.raises(JudgePendingError, match="a batch may have been sent or not"):
            step(data, judge, file)
        now[0] += 100
        with pytest.raises(
            JudgePendingError, match=r"does not list it\. If it is not there in 200 s"
        ):
            step(data, judge, file)
        assert server.batches == []
        now[0] += 201
        with pytest.raises(JudgePendingError, match="batch-0 sent"):
            step(data, judge, file)
        assert judged(server, data, judge, file).result.judging.n_failed == 0
        assert server.n_batched == 5


@every_row(
    ("place", "act", "said", "is_pending"),
    [
        ("POST /v1/files", Fails(413, "too large"), "could not be sent: .* 413: too large", False),
        ("POST /v1/files", HangsUp(), "a batch could not be sent: the connection", True),
        ("POST /v1/batches", Fails(429, "slow down"), "could not be sent: .* slow down", True),
        ("POST /v1/batches", Fails(400, "no such model"), "could not be sent: .* no such", False),
        (
            "GET /v1/batches/*",
            Fails(503, "busy"),
            "not all batches could be looked at.* busy",
            True,
        ),
        ("GET /v1/batches/*", Fails(401, "no"), "answered 401: no", False),
        ("GET /v1/files/*/content", CutsBody(), "the connection to the judge's server was", True),
    ],
)
def test_a_fault_of_the_server_is_told_and_taken_up_after(
    tmp_path: Path, place: str, act: Act, said: str, is_pending: bool
) -> None:
    data, file = samples(tmp_path, 3), tmp_path / "b"
    with BatchServer(FluentJudge(), is_quick=True) as server:
        judge = judge_at(server, "openai")
        server.faults[place] = [act]
        error = JudgePendingError if is_pending else JudgeUnavailableError
        if "POST" not in place:
            with pytest.raises(JudgePendingError):
                step(data, judge, file)
        with pytest.raises(error, match=said) as raised:
            step(data, judge, file)
        assert KEY not in str(raised.value)
        assert judged(server, data, judge, file).result.judging.n_failed == 0
        assert (server.n_calls, server.n_batched) == (1, 5)


def test_a_batch_that_is_rejected_is_told_or_sent_again(tmp_path: Path) -> None:
    data, file = samples(tmp_path, 3), tmp_path / "b"
    with BatchServer(FluentJudge()) as server:
        judge = judge_at(server, "openai")
        with pytest.raises(JudgePendingError):
            step(data, judge, file)
        server.end("failed", ("token_limit_exceeded", "Enqueued token limit reached"))
        with pytest.raises(JudgePendingError, match="Enqueued token limit reached; its questions"):
            step(data, judge, file)
        assert len(server.batches) == 1
        with pytest.raises(JudgePendingError, match="batch-1 sent"):
            step(data, judge, file)
        server.end("failed", ("model_not_found", f"no model m, {KEY}"))
        with pytest.raises(JudgeUnavailableError, match=r"rejected a batch: no model m, \[key\]"):
            step(data, judge, file)
        assert judged(server, data, judge, file).result.judging.n_failed == 0


def test_results_that_end_early_are_read_again(tmp_path: Path) -> None:
    data, file = samples(tmp_path, 4), tmp_path / "b"
    with BatchServer(FluentJudge(), is_quick=True) as server:
        judge = judge_at(server, "anthropic")
        with pytest.raises(JudgePendingError):
            step(data, judge, file)
        lines: list[bytes] = []

        def only_the_first(line: bytes) -> bytes:
            lines.append(line)
            return line if len(lines) == 1 else b""

        server.change_line = only_the_first
        with pytest.raises(JudgePendingError, match="have 1 of 4 lines"):
            step(data, judge, file)
        # Lines of nobody, and a name that is none of ours.
        server.change_line = lambda line: b'{"custom_id": "else-0"}\n\xff\n[]\n' + line
        assert judged(server, data, judge, file).result.judging.n_failed == 0


# ------------------------------------------------------------------------------ what cannot be


def test_a_judge_without_batches_is_told_plainly(tmp_path: Path) -> None:
    data, file = samples(tmp_path, 2), tmp_path / "b"
    with JudgeServer(FluentJudge()) as server:
        flags = batch_flags(server, file)
        done = invoke("run", data, *flags)
    assert (done.exit_code, done.stdout) == (2, "")
    assert "the server of openai:m has no batch API (it answered 404). Leave out" in done.stderr
    assert [request.path for request in server.requests] == ["/v1/batches?limit=1"]


@every_row(
    ("change", "said"),
    [
        ({"judge": lambda prompt: "x"}, "a function of your own has no batch API"),
        ({"mode": None, "judge": None}, "judge_batch has no effect: no LLM judge is asked"),
        ({"output": "r.txt"}, "the name must end in .json or .jsonl"),
        ({"judge_batch": "data.jsonl"}, "the batch file .* cannot be used: file is not a database"),
        ({"data": "-"}, "cannot be read again: it needs files"),
    ],
)
def test_what_cannot_be_done_in_batches_is_told_before_anything_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: dict[str, Any], said: str
) -> None:
    samples(tmp_path, 2).rename(tmp_path / "data.jsonl")
    monkeypatch.chdir(tmp_path)
    with BatchServer(FluentJudge()) as server:
        options = {"judge": judge_at(server, "openai"), "judge_batch": "b", "mode": "llm", **change}
        data = options.pop("data", "data.jsonl")
        with pytest.raises(InputError, match=said):
            rag_eval.run_file(data, ["faithfulness"], **options)
        assert server.n_requests == 0


def test_a_run_whose_server_does_not_answer_ends_at_once_and_its_file_is_free(
    tmp_path: Path,
) -> None:
    data, file = samples(tmp_path, 30), tmp_path / "b"
    with BatchServer(FluentJudge()) as server:
        server.faults["GET /v1/batches"] = [Fails(503, "the server sleeps")]
        done = invoke("run", data, *batch_flags(server, file, "typo"))
        assert (done.exit_code, server.n_requests) == (3, 1)
        assert "the server sleeps" in done.stderr
        assert invoke("run", data, *batch_flags(server, file)).exit_code == 4
        assert "#typo" not in invoke("judge", "collect", file).stderr


def test_a_batch_file_is_of_one_run_one_judge_and_one_process(tmp_path: Path) -> None:
    data, file = samples(tmp_path, 2), tmp_path / "b"
    with BatchServer(FluentJudge()) as server:
        flags = batch_flags(server, file)
        headers = ("--judge-option", f"extra_headers.x-key={KEY}")
        refused = invoke("run", data, *flags, *headers)
        assert refused.exit_code == 2
        assert "extra_headers can hold keys, which are never written" in refused.stderr
        assert not file.exists()
        assert invoke("run", data, *flags).exit_code == 4
        with BatchLedger(file):
            busy = invoke("judge", "collect", file)
        assert busy.exit_code == 2
        assert "another process has it open; wait until that has ended" in busy.stderr
        other = invoke("run", data, *flags, "--judge-option", "seed=1")
        assert other.exit_code == 2
        assert "has the batches of another judge, or of other judge options" in other.stderr
        # What was refused is not what is collected.
        collected = invoke("judge", "collect", file)
        assert (collected.exit_code, "seed=1" in collected.stderr) == (4, False)
        # Who can send a file must not choose what is run.
        shutil.copy(file, tmp_path / "copy")
        copied = invoke("judge", "collect", tmp_path / "copy")
        assert copied.exit_code == 2
        assert "was copied from another place, so its command is not trusted" in copied.stderr
        missing = invoke("judge", "collect", tmp_path / "none")
        assert (missing.exit_code, (tmp_path / "none").exists()) == (2, False)
        assert "give the FILE of --judge-batch FILE" in missing.stderr
        JudgeCache(tmp_path / "cache").close()
        mistaken = invoke("judge", "collect", tmp_path / "cache")
        assert mistaken.exit_code == 2
        assert "is a database, but not a batch file" in mistaken.stderr
        # A run from Python has no command.
        with pytest.raises(JudgePendingError):
            step(data, judge_at(server, "openai"), tmp_path / "python")
        assert "call the function again" in invoke("judge", "collect", tmp_path / "python").stderr
    unused = invoke("run", data, "--judge-batch", file)
    assert "--judge-batch has no effect without --mode llm" in unused.stderr
