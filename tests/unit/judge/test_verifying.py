"""Verifiers that are functions: batches, faults, limits, the cache, and the end of a run."""

from __future__ import annotations

import _thread
import asyncio
import math
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

import rag_eval
from rag_eval.errors import InputError, Interrupted
from rag_eval.judge import JudgeCache, Verifier
from rag_eval.judge.accounts import JudgeProgress
from rag_eval.judge.failures import JudgeUnavailableError
from rag_eval.samples import NullReason
from tests.tables import every_row

Pairs = Sequence[tuple[Sequence[str], str]]
FAITH = ["faithfulness"]


def row(n: int, *more: str) -> dict[str, Any]:
    """A row of one claim that its contexts support, and others that they do not."""
    claims = (f"Thing {n} is red.", *more)
    return {"id": f"q{n}", "answer": " ".join(claims), "contexts": ["No.", f"Thing {n} is red."]}


def support(premises: Sequence[str], claim: str) -> float:
    return 0.9 if claim in premises else 0.1


class Batches:
    """A function that takes batches; it keeps their claims, and how many calls overlapped."""

    def __init__(self, score: Callable[[Sequence[str], str], Any] = support) -> None:
        self.claims: list[list[str]] = []
        self.n_at_once = self.most_at_once = 0
        self._score = score
        self._lock = threading.Lock()

    def __call__(self, pairs: Pairs) -> list[Any]:
        with self._lock:
            self.claims.append([claim for _, claim in pairs])
            self.n_at_once += 1
            self.most_at_once = max(self.most_at_once, self.n_at_once)
        try:
            return [self._score(*pair) for pair in pairs]
        finally:
            with self._lock:
                self.n_at_once -= 1

    @property
    def asked(self) -> list[str]:
        return [claim for batch in self.claims for claim in batch]

    def verifier(self, batch_size: int = 8, **more: Any) -> Verifier:
        return Verifier(self, name="words", batch_size=batch_size, **more)


def verified(rows: Sequence[dict[str, Any]], verifier: Verifier, **options: Any) -> Any:
    return rag_eval.evaluate_batch(rows, FAITH, mode="llm", judge=verifier, **options)


def scores(batch: Any) -> list[float | None]:
    return [one.metrics.faithfulness.score for one in batch.results]


def reasons(batch: Any) -> list[NullReason]:
    return [one.metrics.faithfulness.null_reason for one in batch.results]


# ------------------------------------------------------------------------------------- batches


def test_the_claims_of_many_rows_share_batches_and_every_row_gets_its_own() -> None:
    batches = Batches()
    rows = [row(n, "It is blue.") if n % 3 == 0 else row(n) for n in range(60)]
    batch = verified(rows, batches.verifier())
    assert scores(batch) == [0.5 if n % 3 == 0 else 1.0 for n in range(60)]
    assert len(batches.asked) == 80
    sizes = [len(claims) for claims in batches.claims]
    # A full batch is waited for while claims are being prepared, so few are left unfilled.
    assert max(sizes) == 8
    assert len(sizes) <= 20
    assert batches.most_at_once == 1


def test_functions_of_one_claim_and_coroutines_give_the_same_scores() -> None:
    n_at_once = most_at_once = 0
    three_are_there = asyncio.Event()

    async def asynchronous(premises: Sequence[str], claim: str) -> float:
        nonlocal n_at_once, most_at_once
        n_at_once += 1
        most_at_once = max(most_at_once, n_at_once)
        if n_at_once == 3:
            three_are_there.set()
        await three_are_there.wait()
        n_at_once -= 1
        return support(premises, claim)

    rows = [row(n, "It is blue.") for n in range(20)]
    found = [
        scores(verified(rows, Verifier(function, name="one"), concurrency=3))
        for function in (support, asynchronous)
    ]
    assert found == [[0.5] * 20] * 2
    assert most_at_once == 3


def test_in_the_callers_loop_the_scores_are_the_same() -> None:
    rows = [row(n, "It is blue.") for n in range(20)]

    async def main() -> Any:
        verifier = Batches().verifier()
        return await rag_eval.aevaluate_batch(rows, FAITH, mode="llm", judge=verifier)

    assert scores(asyncio.run(main())) == [0.5] * 20


# -------------------------------------------------------------------------------------- faults


@every_row(
    ("given", "said"),
    [
        (math.nan, "nan; expected a probability from 0 to 1"),
        (1.5, "1.5; expected"),
        (-0.1, "-0.1; expected"),
        (True, "True; expected"),
        ("0.9", "'0.9'; expected"),
        (None, "None; expected"),
    ],
)
def test_what_is_no_probability_is_a_null_that_says_so(given: Any, said: str) -> None:
    batch = verified([row(0)], Verifier(lambda premises, claim: given, name="odd"))
    (found,) = batch.results
    assert found.metrics.faithfulness.null_reason == NullReason.JUDGE_FAILED
    assert f"verifier:odd returned {said}" in found.metrics.faithfulness.explanation


@every_row(
    ("given", "said"),
    [([0.5, 0.5, 0.5], "3 probabilities for 1 claims"), (0.5, "0.5; expected a list")],
)
def test_a_batch_of_another_form_is_a_null(given: Any, said: str) -> None:
    batch = verified([row(0)], Verifier(lambda pairs: given, name="odd", batch_size=2))
    assert said in batch.results[0].metrics.faithfulness.explanation


def test_a_fault_in_one_claim_is_none_of_the_others_in_its_batch() -> None:
    def score(premises: Sequence[str], claim: str) -> float:
        if "Thing 5 " in claim:
            raise ValueError("five is odd")
        return support(premises, claim)

    batch = verified([row(n) for n in range(10)], Batches(score).verifier())
    assert scores(batch) == [None if n == 5 else 1.0 for n in range(10)]
    assert "five is odd" in batch.results[5].metrics.faithfulness.explanation
    assert batch.judging.n_failed == 1


def test_a_verifier_that_never_answers_ends_the_run() -> None:
    def broken(premises: Sequence[str], claim: str) -> float:
        raise RuntimeError("no weights")

    with pytest.raises(JudgeUnavailableError, match=r"no probability for 20 claims.*no weights"):
        verified([row(n) for n in range(50)], Verifier(broken, name="broken"))


def test_a_call_has_a_time_limit() -> None:
    async def endless(premises: Sequence[str], claim: str) -> float:
        await asyncio.Event().wait()
        return 1.0

    batch = verified([row(0)], Verifier(endless, name="slow"), call_timeout_s=0.01)
    assert reasons(batch) == [NullReason.JUDGE_TIMED_OUT]
    assert "the verifier did not reply within 0.01 s" in batch.judging.failed[0].message


# -------------------------------------------------------------------------- cost and the cache


def test_declared_costs_are_counted_and_end_at_the_budget() -> None:
    batches = Batches()
    verifier = batches.verifier(batch_size=1, cost_per_claim=0.25)
    batch = verified([row(n) for n in range(8)], verifier, budget_usd=1.0)
    assert reasons(batch) == [NullReason.MEASURED] * 4 + [NullReason.JUDGE_BUDGET] * 4
    assert len(batches.asked) == 4
    assert batch.judging.cost_usd == 1.0
    assert batch.judging.budget_reached
    assert "budget_usd=1 was reached" in batch.judging.failed[0].message


def test_progress_names_claims_where_a_verifier_was_asked() -> None:
    assert str(JudgeProgress(2, 1, 30, None, 1)) == "1 claim verified, 2 calls, 1 failed, 30 tokens"
    assert str(JudgeProgress(2, 1, 30, None)) == "2 calls, 1 failed, 30 tokens"


def test_a_second_run_asks_nothing_and_another_version_everything(tmp_path: Path) -> None:
    rows = [row(n, "It is blue.") for n in range(5)]
    n_asked, found = [], []
    for version in ("1", "1", "2"):
        batches = Batches()
        batch = verified(
            rows, batches.verifier(version=version), judge_cache=tmp_path / "cache.sqlite"
        )
        n_asked.append(len(batches.asked))
        found.append([one.metrics.faithfulness.judged.details for one in batch.results])
        totals = batch.judging.metrics["faithfulness"].tally
        assert totals.verified_claims + totals.cached_claims == 10
    assert n_asked == [10, 0, 10]
    assert found[0] == found[1] == found[2]


@every_row(
    "entry",
    [
        {"probability": 2.0},
        {"probability": "0.9"},
        {"probability": 0.9, "chunk": -1},
        {"probability": 0.9, "chunk": 0, "span": [1]},
        {"probability": 0.9, "chunk": 0, "span": "ab"},
        {},
    ],
)
def test_an_entry_of_a_cache_that_is_not_ours_is_not_believed(
    entry: dict[str, Any], tmp_path: Path
) -> None:
    class Odd(JudgeCache):
        def get(self, key: bytes) -> Any:
            found = super().get(key)
            return None if found is None else type(found)(entry, found.usage)

    n_asked = []
    for _ in range(2):
        batches = Batches()
        with Odd(tmp_path / "cache.sqlite") as cache:
            assert scores(verified([row(0)], batches.verifier(), judge_cache=cache)) == [1.0]
        n_asked.append(len(batches.asked))
    assert n_asked == [1, 1]


def test_ctrl_c_keeps_the_rows_before_it_and_their_claims(tmp_path: Path) -> None:
    """What was verified and lies after the first unfinished row is in the cache."""
    rows = [row(n) for n in range(40)]
    is_over = threading.Event()

    def score(premises: Sequence[str], claim: str) -> float:
        if claim == "Thing 20 is red." and not is_over.is_set():
            _thread.interrupt_main()
            is_over.wait()
        return support(premises, claim)

    first, second = Batches(score), Batches(score)
    cache = tmp_path / "cache.sqlite"
    with pytest.raises(Interrupted) as stopped:
        verified(rows, first.verifier(batch_size=1), judge_cache=cache, concurrency=1)
    is_over.set()
    kept: Any = stopped.value.partial
    assert scores(kept) == [1.0] * 20
    assert scores(verified(rows, second.verifier(batch_size=1), judge_cache=cache)) == [1.0] * 40
    # No claim is asked about twice, but for the one in flight.
    assert set(first.asked) & set(second.asked) == {"Thing 20 is red."}


def test_calls_of_compiled_code_are_back_when_a_run_ends() -> None:
    events: list[str] = []
    cancelled = threading.Event()

    def endless(premises: Sequence[str], claim: str) -> float:
        _thread.interrupt_main()
        cancelled.wait()
        events.append("back")
        return 1.0

    class Native(Verifier):
        is_native = True

        def cancel(self, thread: int) -> None:
            assert thread in {one.ident for one in threading.enumerate()} - {threading.get_ident()}
            cancelled.set()

    with pytest.raises(Interrupted):
        verified([row(n) for n in range(3)], Native(endless, name="native"))
    events.append("over")
    assert events == ["back", "over"]


# ------------------------------------------------------------------------------- what is refused


@every_row(
    ("options", "said"),
    [
        ({"judge_repeat": 3}, "judge_repeat is for LLM judges"),
        ({"judge_style": "rating"}, "judge_style is for LLM judges"),
        ({"max_calls": 5}, "max_calls is for LLM judges .* budget_usd limits its cost"),
        ({"prompt_overrides": {"faithfulness": "x"}}, "prompt_overrides is for LLM judges"),
        ({"verifier_band": (0.4, 0.6)}, "verifier_band .* needs a verifier, a judge"),
        ({"verifier": Verifier(support, name="b")}, "both verifiers"),
        ({"judge": None, "judges": [Verifier(support, name="b")]}, "cannot have a verifier"),
        ({"judge": None, "verifier": 5}, "must be a rag_eval.judge.Verifier or the path .* got 5"),
        ({"mode": None, "judge": None, "verifier": Verifier(support, name="b")}, "'heuristic'"),
        (
            {"judge": str, "verifier": Verifier(support, name="b")},
            "only mode 'cascade' asks a verifier and a judge",
        ),
    ],
)
def test_options_without_an_effect_on_a_verifier_are_errors(
    options: dict[str, Any], said: str
) -> None:
    given = {"mode": "llm", "judge": Verifier(support, name="a"), **options}
    with pytest.raises(InputError, match=said):
        rag_eval.evaluate_batch([row(0)], FAITH, **given)


def test_a_metric_that_asks_something_else_is_an_error_except_in_a_hybrid() -> None:
    rows = [{**row(0), "question": "What is red?"}]
    metrics = ["faithfulness", "answer_relevance"]
    verifier = Verifier(support, name="a")
    with pytest.raises(InputError, match="a verifier cannot score answer_relevance, only faith"):
        rag_eval.evaluate_batch(rows, metrics, mode="llm", judge=verifier)
    batch = rag_eval.evaluate_batch(rows, metrics, mode="hybrid", judge=verifier)
    modes = {one.metric_id: one.mode for one in batch.results[0].metrics.values()}
    assert modes == {"faithfulness": "verifier", "answer_relevance": "heuristic"}


@every_row(
    ("options", "said"),
    [
        ({"name": ""}, "needs a name"),
        ({"name": 5}, "name must be a string"),
        ({"name": "a", "threshold": 1.5}, "threshold"),
        ({"name": "a", "cost_per_claim": -1}, "cost_per_claim"),
        ({"name": "a", "batch_size": 0}, "batch_size"),
        ({"name": "a", "function": "f"}, "must be callable"),
    ],
)
def test_a_verifier_is_checked_when_it_is_made(options: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        Verifier(**{"function": support, **options})
