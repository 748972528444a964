"""Thousands of judgements over real clients, from servers that fail in all ways that servers do."""

from __future__ import annotations

import hashlib
import json
import re
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest

from rag_eval import BatchEvalResult, evaluate_batch
from rag_eval.adapters.anthropic import create_anthropic_judge
from rag_eval.adapters.openai import create_openai_judge
from rag_eval.judge.reading import read_reply
from rag_eval.judge.rendering import PromptStyle, render
from rag_eval.judge.replies import JudgeReply
from rag_eval.judge.steps import Step
from rag_eval.metrics.ids import METRIC_IDS
from rag_eval.metrics.registry import all_metrics, judged_rule
from rag_eval.samples import NullReason
from tests.fluent_judge import FluentJudge, ReadPrompt, read_prompt
from tests.judge_servers import (
    Act,
    CutsBody,
    Fails,
    HangsUp,
    JudgeServer,
    Says,
    Waits,
    limited,
    no_choices,
)
from tests.warm_processes import run_warm

KEY: Final = "sk-marker-3f9c27d1e8b4405aa6"
TIMEOUT_S: Final = 2.5
LATER_S: Final = 2.0  # by which slow replies come after the time limit
# Which of a row's questions each metric needs, in the order in which it needs them.
QUESTIONS_OF: Final = {
    "faithfulness": ("extract_claims answer", "verify_claims answer"),
    "answer_relevance": ("answer_statements answer",),
    "context_precision": ("useful_chunks",),
    "context_recall": ("extract_claims truth", "verify_claims truth"),
    "context_relevance": ("relevant_chunks",),
    "answer_correctness": ("extract_claims answer", "extract_claims truth", "match_claims"),
    "hallucination_rate": ("extract_claims answer", "verify_claims answer"),
}

OF_CONTEXTS: Final = frozenset(QUESTIONS_OF) - {"answer_relevance", "answer_correctness"}


def samples(n_rows: int) -> list[dict[str, Any]]:
    """Rows whose texts all differ; three of each four lack contexts, ground truth or both."""
    return [
        {
            "question": f"What is said about thing {n}?",
            "answer": f"By answer {n} it is red. By answer {n} it weighs {n % 7} pounds.",
            "contexts": [f"In chunk {n} thing {n} is red.", f"Chunk {n} is about another one."]
            if n % 4 in (0, 1)
            else [],
            "ground_truth": f"By truth {n} it is red, and was in {n}." if n % 4 in (0, 2) else None,
        }
        for n in range(n_rows)
    ]


# ------------------------------------------------------------------------------------- the faults


@dataclass(frozen=True)
class Fault:
    """What a server does in place of a reply; ``times`` of None is always.

    ``reason`` is what the score is null with that asked; MEASURED where asking again helps.
    """

    act: Callable[[str, ReadPrompt], Act]
    times: int | None
    reason: NullReason = NullReason.MEASURED
    weight: int = 3


def wrong_types(text: str, _: ReadPrompt) -> str:
    return json.dumps({**dict.fromkeys(json.loads(text), 7), "mark": json.loads(text)["mark"]})


def without_the_last(text: str, asked: ReadPrompt) -> str:
    """Verdicts but for one; of lists that nobody knows the length of, none or prose."""
    found = json.loads(text)
    if asked.step == "extract_claims":
        return "I cannot."
    if asked.step == "answer_statements":
        return json.dumps({**found, "statements": []})
    name = next(reversed(found))
    return json.dumps({**found, name: found[name][:-1]})


def half_of(text: str, _: ReadPrompt) -> str:
    return text[: len(text) * 2 // 3]


FAULTS: Final = {
    "limited": Fault(lambda *_: limited(), 1, weight=1),
    "limited for a moment": Fault(lambda *_: limited("0.02"), 1),
    "limited in milliseconds": Fault(lambda *_: limited("30", "retry-after-ms"), 2),
    "fails": Fault(lambda *_: Fails(500), 1),
    "fails always": Fault(lambda *_: Fails(503), None, NullReason.JUDGE_UNREACHABLE),
    "too long": Fault(lambda *_: Fails(400, "prompt is too long"), None, NullReason.JUDGE_FAILED),
    "slow": Fault(lambda text, _: Waits(LATER_S, text), 1, weight=1),
    "slow always": Fault(
        lambda text, _: Waits(LATER_S, text), None, NullReason.JUDGE_TIMED_OUT, weight=1
    ),
    "cut body": Fault(lambda *_: CutsBody(), 1),
    "hangs up": Fault(lambda *_: HangsUp(), 1),
    "hangs up always": Fault(lambda *_: HangsUp(), None, NullReason.JUDGE_UNREACHABLE, weight=2),
    "cut by length": Fault(
        lambda *asked: Says(half_of(*asked), "length"), None, NullReason.JUDGE_TRUNCATED
    ),
    "cut": Fault(half_of, None, NullReason.JUDGE_TRUNCATED),
    "prose": Fault(lambda *_: "That is hard to say.", 1),
    "prose always": Fault(lambda *_: "Hard to say.", None, NullReason.JUDGE_UNPARSED),
    "wrong types": Fault(wrong_types, 1),
    "wrong types always": Fault(wrong_types, None, NullReason.JUDGE_UNPARSED),
    "another mark": Fault(
        lambda text, asked: text.replace(asked.mark, "0" * 16), None, NullReason.JUDGE_UNPARSED
    ),
    "no choices": Fault(lambda *_: no_choices(), 1),
    "no choices always": Fault(lambda *_: no_choices(), None, NullReason.JUDGE_UNPARSED),
    "refuses": Fault(lambda *_: Says("No.", refusal="I will not."), None, NullReason.JUDGE_REFUSED),
    "missing verdicts": Fault(without_the_last, 1),
    "missing verdicts always": Fault(without_the_last, None, NullReason.JUDGE_INCOMPLETE),
}
_DRAWN: Final = [name for name, fault in FAULTS.items() for _ in range(fault.weight)]
_SALT: Final = b"\xa4\x03"  # with it the few questions of a small case meet each of them


def fault_of(key: str, one_in: int = 20) -> str | None:
    """The fault that one question in so many meets, the same in every run."""
    digest = hashlib.blake2b(key.encode(), digest_size=8, salt=_SALT).digest()
    drawn = int.from_bytes(digest, "big")
    return _DRAWN[drawn // one_in % len(_DRAWN)] if drawn % one_in == 0 else None


class FaultyServerScript:
    """Answers well, but for some questions, and keeps book of which those are.

    Attributes
    ----------
    asked : Counter
        How often each question came, by what it asks.
    answered : set of str
        The questions that were answered well.
    lost : dict
        Null reason by row and question, of those that never are.
    timeout_s : float
        What a slow reply takes longer than.
    """

    def __init__(self, one_in: int = 20, *, healthy: bool = False) -> None:
        self.timeout_s = TIMEOUT_S
        self._faults = {} if healthy else FAULTS
        self._one_in = one_in
        self._judge = FluentJudge()
        self._lock = threading.Lock()
        self.asked: Counter[str] = Counter()
        self.answered: set[str] = set()
        self.lost: dict[tuple[int, str], NullReason] = {}
        self.met: Counter[str] = Counter()

    def heal(self) -> None:
        """Answer well from now on, and count anew what is asked."""
        self._faults = {}
        self.asked = Counter()

    def __call__(self, prompt: str) -> Act:
        asked = read_prompt(prompt)
        text = json.dumps({"mark": asked.mark, **self._judge.reply(asked)})
        name = fault_of(asked.key, self._one_in)
        with self._lock:
            nth = self.asked[asked.key]
            self.asked[asked.key] += 1
            fault = None if name is None else self._faults.get(name)
            if name is None or fault is None or (fault.times is not None and nth >= fault.times):
                self.answered.add(asked.key)
                return text
            self.met[name] += 1
            if fault.times is None:
                self.lost[place_of(asked)] = self._reason(fault, asked)
        act = fault.act(text, asked)
        return replace(act, seconds=self.timeout_s + act.seconds) if isinstance(act, Waits) else act

    def _reason(self, fault: Fault, asked: ReadPrompt) -> NullReason:
        if fault.reason == NullReason.JUDGE_INCOMPLETE and asked.step == "extract_claims":
            return NullReason.JUDGE_UNPARSED
        return fault.reason


def place_of(asked: ReadPrompt) -> tuple[int, str]:
    """The row that a question is about, and which of its questions it is."""
    said = json.dumps(list(asked.fields.values()))
    row = re.search(r"(?:thing|answer|truth|chunk) (\d+)", said)
    assert row is not None
    if asked.step in ("useful_chunks", "relevant_chunks", "match_claims"):
        return int(row[1]), asked.step
    side = "truth" if "By truth" in said else "answer"
    return int(row[1]), f"{asked.step} {side}"


# -------------------------------------------------------------------------------------- the judge


def judge_at(server: JudgeServer, provider: str, key: str = KEY) -> Any:
    if provider == "openai":
        return create_openai_judge("m", base_url=server.openai_url, api_key=key)
    return create_anthropic_judge("m", base_url=server.anthropic_url, api_key=key)


def judged(rows: list[dict[str, Any]], judge: Any, **options: Any) -> BatchEvalResult:
    limits = {"concurrency": 16, "call_timeout_s": TIMEOUT_S, "retries": 2}
    return evaluate_batch(rows, mode="llm", judge=judge, **{**limits, **options})


def time_limit(rows: list[dict[str, Any]], provider: str) -> float:
    """More than one healthy reply takes on a busy machine: as much as all of these rows twice."""
    begun = time.monotonic()
    with JudgeServer(FaultyServerScript(healthy=True)) as server:
        judged(rows, judge_at(server, provider), call_timeout_s=60)
    return max(TIMEOUT_S, 2 * (time.monotonic() - begun))


def as_judge(script: Callable[[str], Act]) -> Callable[[str], Any]:
    """A script as a judge of its own, without a server."""

    async def judge(prompt: str) -> Any:
        return script(prompt)

    return judge


def n_reported(batch: BatchEvalResult) -> int:
    assert batch.judging is not None
    return sum(found.tally.llm_calls for found in batch.judging.metrics.values())


def expected_reason(
    row: int, metric: str, faultless: BatchEvalResult, lost: dict[tuple[int, str], NullReason]
) -> NullReason:
    """Of the questions that a metric needs, the first that was lost says why the score is null."""
    column = faultless.metrics.index(metric)
    settled = NullReason(int(faultless.null_reasons[row, column]))
    if settled != NullReason.MEASURED or (row % 4 > 1 and metric in OF_CONTEXTS):
        return settled  # without a question
    found = (lost.get((row, question)) for question in QUESTIONS_OF[metric])
    return next((reason for reason in found if reason is not None), NullReason.MEASURED)


def all_steps() -> list[Step[Any]]:
    found = {
        step.name: step
        for style in ("claims", "rating")
        for metric in all_metrics()
        if metric.judged
        for step in judged_rule(metric.id).steps[style]
    }
    return list(found.values())


@pytest.mark.parametrize("step", all_steps(), ids=lambda step: step.name)
def test_the_fluent_judge_answers_every_prompt_of_the_library(step: Step[Any]) -> None:
    numbers = re.compile(r"n_|max_|most_|score|scale|unused|missing_penalty")
    lists = {"chunk", "claim", "claims", "answer_claim", "ground_truth_claim", "context", "calls"}
    fields = {
        name: 2
        if numbers.match(name)
        else ["One.\nTwo.", "$x [[end"]
        if name in lists
        else "It is."
        for name in step.template.variables
    }
    prompt = render(step, fields, PromptStyle(), "one verdict is missing")
    read = read_prompt(prompt.text)
    assert (read.step, read.fields, read.mark) == (step.name, fields, prompt.mark)
    reply = FluentJudge()(prompt.text)
    assert read_reply(JudgeReply(reply), prompt.mark, step.shape) is not None


@pytest.mark.parametrize(
    ("provider", "n_rows", "one_in"),
    [
        ("openai", 28, 3),
        ("anthropic", 28, 3),
        pytest.param("openai", 1000, 20, marks=pytest.mark.deep),
    ],
)
def test_among_faults_of_all_kinds_every_score_is_right_or_null_for_its_own_reason(
    tmp_path: Path, provider: str, n_rows: int, one_in: int
) -> None:
    rows = samples(n_rows)
    fluent = FaultyServerScript(healthy=True)
    faultless = judged(rows, as_judge(fluent))
    script = FaultyServerScript(one_in)
    script.timeout_s = time_limit(rows[:28], provider)
    with JudgeServer(script) as server:
        judge = judge_at(server, provider)
        limit = {"call_timeout_s": script.timeout_s}
        first = judged(rows, judge, judge_cache=tmp_path / "judge.sqlite", **limit)
        assert set(script.met) == set(FAULTS)
        check_first_run(first, faultless, script, server, one_in)
        script_answered, n_first = set(script.answered), server.n_requests
        script.heal()
        # Nothing is slow by design any more; on a busy machine a reply may be.
        patient = {"judge_cache": tmp_path / "judge.sqlite", "call_timeout_s": 60}
        second = judged(rows, judge, **patient)
        n_second = server.n_requests - n_first
    # What succeeded is in the cache, and the rest is asked, each once.
    assert script.asked == Counter(fluent.asked.keys() - script_answered)
    assert n_second == n_reported(second) == script.asked.total()
    assert second.judging is not None
    cached = sum(found.tally.cached_calls for found in second.judging.metrics.values())
    assert cached == len(script_answered)
    np.testing.assert_array_equal(second.scores, faultless.scores)
    np.testing.assert_array_equal(second.null_reasons, faultless.null_reasons)


def check_first_run(
    found: BatchEvalResult,
    faultless: BatchEvalResult,
    script: FaultyServerScript,
    server: JudgeServer,
    one_in: int,
) -> None:
    """No call lost or made twice; every row has every metric, right or null for its reason."""
    assert found.judging is not None
    assert server.n_requests == n_reported(found) == found.total_cost.llm_calls
    assert server.most_at_once <= 16
    faulty = {key for key in script.asked if fault_of(key, one_in) is not None}
    assert all(script.asked[key] == 1 for key in script.asked.keys() - faulty)
    assert 0.6 < one_in * len(faulty) / len(script.asked) < 1.4
    assert found.metrics == METRIC_IDS
    wanted = np.array(
        [
            [expected_reason(row, metric, faultless, script.lost) for metric in METRIC_IDS]
            for row in range(len(faultless))
        ]
    )
    np.testing.assert_array_equal(found.null_reasons, wanted)
    scores = np.where(wanted == NullReason.MEASURED, faultless.scores, np.nan)
    np.testing.assert_array_equal(found.scores, scores)
    failures = Counter(NullReason(reason).name.lower() for reason in wanted.ravel().tolist())
    told: Counter[str] = Counter()
    for metric in found.judging.metrics.values():
        told.update(metric.failures)
    assert told == Counter({name: n for name, n in failures.items() if name.startswith("judge_")})
    assert found.judging.n_failed == told.total() > 0


# ----------------------------------------------------------------------------------------- budgets


def test_no_call_begins_after_so_many() -> None:
    script = FaultyServerScript()
    with JudgeServer(script) as server:
        found = judged(samples(60), judge_at(server, "openai"), max_calls=100)
    assert server.n_requests == n_reported(found) == 100
    assert found.judging is not None
    assert found.judging.budget_reached
    assert found.scores.shape == (60, 7)
    reasons = Counter(NullReason(reason) for reason in found.null_reasons.ravel().tolist())
    assert reasons[NullReason.JUDGE_BUDGET] > 100
    assert reasons[NullReason.MEASURED] > 40


def test_no_call_begins_once_so_much_is_spent() -> None:
    # 7 tokens out: 0.018 USD a call, so that the hundredth makes the budget full.
    prices = {"m": {"input": 0.0, "output": 18_000 / 7}}
    with JudgeServer(FluentJudge()) as server:
        judge = judge_at(server, "openai")
        found = judged(samples(60), judge, prices=prices, budget_usd=1.8 - 1e-9)
    assert found.judging is not None
    assert found.judging.budget_reached
    assert 100 <= server.n_requests <= 100 + 15
    assert server.n_requests == n_reported(found)
    assert found.judging.cost_usd == pytest.approx(0.018 * server.n_requests)


# -------------------------------------------------------------------------------------------- keys

# Everything that logs, logs everything.
LOUD: Final = """
import logging, signal, sys
logging.basicConfig(level=logging.DEBUG, stream=sys.stderr)
from rag_eval.cli import main; main()
"""


def indiscreet(prompt: str) -> Act:
    """A server that says the key of its client wherever it can."""
    name = fault_of(read_prompt(prompt).key) or ""
    if "always" in name:
        return Fails(500, f"the request with {KEY} failed")
    if name:
        return Fails(400, f"bad request of Bearer {KEY}")
    return FluentJudge()(prompt)


def test_no_key_is_in_any_file_log_or_message(tmp_path: Path) -> None:
    vendors = "sk-vendor-77aa41c09b5e"
    keys = {"RAG_EVAL_JUDGE_API_KEY": KEY, "OPENAI_API_KEY": vendors, "ANTHROPIC_API_KEY": vendors}
    data = tmp_path / "data.jsonl"
    data.write_text("".join(json.dumps(row) + "\n" for row in samples(12)))

    def ran(server: JudgeServer, *arguments: object) -> tuple[int, bytes]:
        judge = ("--mode", "llm", "--judge", f"{server.openai_url}#m", "--retries", "1")
        done = run_warm(*arguments, *judge, code=LOUD, env={**keys, "OPENAI_LOG": "debug"})
        return done.returncode, done.stdout + done.stderr

    with JudgeServer(indiscreet) as server:
        cache = ("--cache-file", tmp_path / "cache.sqlite")
        code, told = ran(server, "run", data, "--output", tmp_path / "o.json", "--details", *cache)
        assert code == 0, told
        seen = server.seen()
    with JudgeServer(Fails(401, f"no such key: {KEY}")) as server:
        code, more = ran(server, "score", data, tmp_path / "s.csv")
        assert code == 3, more
    told += more
    # The logs do tell of calls, and the server was given the one key, and in its header alone.
    assert b"DEBUG:openai" in told
    assert b"DEBUG:http" in told
    assert seen.count(KEY.encode()) == seen.count(f"Bearer {KEY}".encode()) > 30
    assert vendors.encode() not in seen
    # The server's words are in the results, without the key.
    assert b"bad request of" in (tmp_path / "o.json").read_bytes()
    assert b"no such key" in told
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert {"o.json", "cache.sqlite"} <= {path.name for path in files}
    for content in (told, *(path.read_bytes() for path in files)):
        assert KEY.encode() not in content
        assert vendors.encode() not in content
