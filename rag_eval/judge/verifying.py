"""Claims in, their support by texts out: a verifier's cache, batches, limits and faults."""

from __future__ import annotations

import asyncio
import inspect
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, Final, NoReturn, Protocol

from rag_eval.errors import RagEvalError
from rag_eval.judge.accounts import Accounts
from rag_eval.judge.calls import in_time
from rag_eval.judge.ending import Ending
from rag_eval.judge.failures import JudgeCallError, JudgeFailure, JudgeUnavailableError
from rag_eval.judge.foreign_calls import LoopCalls, ThreadCalls, is_coroutine_function
from rag_eval.judge.replies import JudgeLimits, Tally, Usage
from rag_eval.judge.retrying import fault_of, given_up
from rag_eval.judge.verifiers import Support, Verifier, Window

# What is kept under a key; another one where the meaning of an entry changes.
_ENTRY: Final = "verifier.1"
# Claims whose windows are held in memory, in batches: while one is asked, the next is prepared.
_BATCHES_AHEAD: Final = 2
# After this many failures without a single probability, the verifier is unavailable.
_DEAD_AFTER: Final = 20

# A model is asked to end between two of its operators; a tokenizer is not asked.
_GRACE_S: Final = 10.0
_LOOK_EVERY_S: Final = 0.05

_Asked = tuple[Window, "asyncio.Future[float]"]


class SupportAsker(Protocol):
    """Says how probable it is that texts support a claim."""

    async def support(self, premises: Sequence[str], claim: str, tally: Tally) -> Support:
        """The support of a claim; a failure is a JudgeFailure."""
        ...


class DryVerifying:
    """Asks nothing: claims are counted, and all of them stay undecided."""

    def __init__(self, undecided: float) -> None:
        self._undecided = undecided

    async def support(self, premises: Sequence[str], claim: str, tally: Tally) -> Support:
        """The same for every claim."""
        tally.verified_claims += 1
        return Support(self._undecided)


class Verifying:
    """A verifier at work in one run: the claims of many rows in common batches.

    Parameters
    ----------
    verifier : Verifier
    limits : JudgeLimits
        Time per call, and how many calls of an ``async`` function are made at a time.
    cache : JudgeCache or None
    accounts : Accounts
    ending : Ending
    check_budget : callable
        Raises what ended the run.
    threads, coroutines
        What calls the code of others.
    """

    def __init__(
        self,
        verifier: Verifier,
        limits: JudgeLimits,
        *,
        cache: Any,
        accounts: Accounts,
        ending: Ending,
        check_budget: Callable[[], None],
        threads: ThreadCalls,
        coroutines: LoopCalls,
    ) -> None:
        self._verifier = verifier
        self._timeout_s = limits.call_timeout_s
        self._cache = cache
        self._accounts = accounts
        self._ending = ending
        self._check_budget = check_budget
        self._threads = threads
        self._coroutines = coroutines
        self._is_async = is_coroutine_function(verifier.function)
        # Models use all their threads for one call, and other functions need not expect another.
        self._width = limits.concurrency if self._is_async else 1
        n_claims = _BATCHES_AHEAD * verifier.batch_size * self._width
        self._open = asyncio.Semaphore(n_claims)
        self._preparing = asyncio.Lock()
        self._waiting: deque[_Asked] = deque()
        self._workers: set[asyncio.Task[None]] = set()
        self._news = asyncio.Event()
        self._n_preparing = 0
        self._n_asking = 0
        self._n_failed = 0
        self._has_answered = False
        self._back = threading.Condition()
        self._calling: set[int] = set()
        self._is_closed = False

    async def support(self, premises: Sequence[str], claim: str, tally: Tally) -> Support:
        """How probable it is that the texts support the claim, and which part of them decided.

        Raises
        ------
        JudgeFailure
            If the verifier failed, or may not be asked any more.
        JudgeUnavailableError
            If it cannot be used.
        """
        if self._ending.is_final:
            self._ending.check()
        key = self._key(premises, claim)
        cached = None if key is None else self._cached(key)
        if cached is not None:
            self._accounts.add(tally, Tally(cached_claims=1))
            return cached
        async with self._ending.heard() as cut, self._open:
            self._check_budget()
            self._accounts.verifies(tally, self._verifier.cost_per_claim)
            with self._ending.calling(cut):
                found = await self._best(premises, claim)
        self._has_answered = True
        if key is not None:
            self._keep(key, found)
        return found

    async def _best(self, premises: Sequence[str], claim: str) -> Support:
        """The support by the window that supports the claim most; the first of equals."""
        self._n_preparing += 1
        try:
            async with self._preparing:
                windows = await self._threads.call(self._prepared, (premises, claim))
        except Exception as error:
            raise fault_of(error, "the verifier") from error
        finally:
            self._n_preparing -= 1
            self._news.set()
        try:
            probabilities = await self._asked(windows)
        except JudgeUnavailableError as error:
            self._end_run(f"{self._verifier.identity} cannot be used: {error}")
        except JudgeFailure as failure:
            self._n_failed += 1
            if not self._has_answered and self._n_failed >= _DEAD_AFTER:
                self._end_run(
                    f"{self._verifier.identity} gave no probability for {_DEAD_AFTER} claims; the "
                    f"last error: {failure}"
                )
            raise
        place = max(range(len(windows)), key=probabilities.__getitem__)
        return Support(probabilities[place], windows[place].chunk, windows[place].span)

    async def _asked(self, windows: Sequence[Window]) -> list[float]:
        loop = asyncio.get_running_loop()
        found: list[asyncio.Future[float]] = [loop.create_future() for _ in windows]
        self._waiting.extend(zip(windows, found, strict=True))
        self._n_asking += 1
        try:
            # One that has ended may still be among them.
            self._workers = {worker for worker in self._workers if not worker.done()}
            while len(self._workers) < self._width:
                worker = loop.create_task(self._work())
                self._workers.add(worker)
            return list(await asyncio.gather(*found))
        finally:
            for one in found:
                one.cancel()
            self._n_asking -= 1
            if not self._n_asking:
                # A call that nobody waits for must not outlive the loop.
                idle, self._workers = self._workers, set()
                for worker in idle:
                    worker.cancel()

    async def _work(self) -> None:
        """Ask about what waits, as much at a time as the verifier takes."""
        most = self._verifier.batch_size
        while self._waiting:
            while len(self._waiting) < most and self._n_preparing:
                self._news.clear()
                await self._news.wait()
            batch: list[_Asked] = []
            while self._waiting and len(batch) < most:
                window, found = self._waiting.popleft()
                if not found.done():
                    batch.append((window, found))
            if batch:
                await self._decide(batch)

    async def _decide(self, batch: Sequence[_Asked]) -> None:
        """Set the probabilities of a batch; a fault of one claim is not one of the others."""
        try:
            answer = self._answer([window for window, _ in batch])
            probabilities = await in_time(answer, self._timeout_s, "the verifier")
        except JudgeFailure as failure:
            if len(batch) == 1:
                _fail(batch, failure)
            for one in batch if len(batch) > 1 else ():
                if not one[1].done():
                    await self._decide([one])
        except JudgeCallError as error:
            _fail(batch, given_up(error))
        except RagEvalError as error:
            _fail(batch, error)
        else:
            for (_, found), probability in zip(batch, probabilities, strict=True):
                if not found.done():
                    found.set_result(probability)

    async def _answer(self, windows: Sequence[Window]) -> list[float]:
        if self._is_async:
            found = await self._coroutines.call(self._verifier.ask(windows))
        else:
            found = await self._threads.call(self._in_thread, (self._verifier.ask, windows))
            if inspect.isawaitable(found):
                found = await self._coroutines.call(found)
        return self._verifier.read(found, len(windows))

    def _prepared(self, texts: tuple[Sequence[str], str]) -> list[Window]:
        found: list[Window] = self._in_thread((lambda two: self._verifier.windows(*two), texts))
        return found

    def _in_thread(self, call: tuple[Callable[[Any], Any], Any]) -> Any:
        """A call on its thread, which is known until it is back."""
        function, argument = call
        thread = threading.get_ident()
        with self._back:
            if self._is_closed:
                raise JudgeFailure("interrupted", "the run was stopped")
            self._calling.add(thread)
        try:
            return function(argument)
        finally:
            with self._back:
                self._calling.discard(thread)
                self._back.notify_all()

    def close(self) -> None:
        """End the calls of a model that nobody waits for, and wait for a while until they are back.

        A process that ends while one of them runs would be aborted by it.
        """
        with self._back:
            self._is_closed = True
            end = time.monotonic() + _GRACE_S
            while self._verifier.is_native and self._calling and time.monotonic() < end:
                # Again and again: a call may be about to begin.
                for thread in self._calling:
                    self._verifier.cancel(thread)
                self._back.wait(_LOOK_EVERY_S)

    def _end_run(self, message: str) -> NoReturn:
        self._ending.come(lambda: JudgeUnavailableError(message), final=True)
        raise JudgeUnavailableError(message)

    # -------------------------------------------------------------------------------- the cache

    def _key(self, premises: Sequence[str], claim: str) -> bytes | None:
        if self._cache is None:
            return None
        from rag_eval.judge.cache import cache_key

        texts = {"premises": list(premises), "claim": claim}
        return cache_key(_ENTRY, texts, self._verifier.identity, 0)

    def _cached(self, key: bytes) -> Support | None:
        found = self._cache.get(key)
        return None if found is None else _support_in(found.reply)

    def _keep(self, key: bytes, found: Support) -> None:
        from rag_eval.judge.cache import CachedReply

        kept = {"probability": found.probability, "chunk": found.chunk, "span": found.span}
        self._cache.put(key, CachedReply(kept, Usage(0, 0)))


def _fail(batch: Sequence[_Asked], failure: Exception) -> None:
    for _, found in batch:
        if not found.done():
            found.set_exception(failure)


def _support_in(kept: dict[str, Any]) -> Support | None:
    """The support in an entry of a cache; None if it is not one of ours."""
    probability, chunk, span = (kept.get(name) for name in ("probability", "chunk", "span"))
    if not isinstance(probability, float) or not 0 <= probability <= 1:
        return None
    if chunk is not None and (type(chunk) is not int or chunk < 0):
        return None
    if span is None:
        return Support(probability, chunk)
    if not isinstance(span, list) or len(span) != 2 or any(type(end) is not int for end in span):
        return None
    return Support(probability, chunk, (span[0], span[1]))
