"""The judges of a run: asks questions and parses replies within the limits of the run.

The stages of a question: cache, slot, prompt, call, retries, parsing, one repeat with a complaint.
With a ledger of batches, questions are asked in batches instead, and replies come from the ledger.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Generic, NoReturn, Self, TypeVar

import msgspec

from rag_eval.errors import InputError
from rag_eval.judge.accounts import Accounts
from rag_eval.judge.asking import Asked
from rag_eval.judge.calls import Caller, checked_reply
from rag_eval.judge.ending import Ending
from rag_eval.judge.failures import JudgeCallError, JudgeFailure, JudgeUnavailableError
from rag_eval.judge.first_asks import FirstAsks
from rag_eval.judge.foreign_calls import LoopCalls, ThreadCalls
from rag_eval.judge.limiter import Clock, Limiter, Slots
from rag_eval.judge.prices import price_table
from rag_eval.judge.prompt_cuts import cut_message
from rag_eval.judge.reading import read_reply, value_of
from rag_eval.judge.rendering import SHARED_FIELD, Prompt, PromptStyle, RowMark, render
from rag_eval.judge.replies import (
    FEWEST_CACHED,
    JudgeFn,
    JudgeLimits,
    JudgeReply,
    Tally,
    Usage,
    estimated_tokens,
    identity_of,
    is_named,
)
from rag_eval.judge.retrying import given_up, stamina_package, tries
from rag_eval.judge.second_asks import Asking, cut_twice, second_ask
from rag_eval.judge.steps import Fields, Step
from rag_eval.judge.verifiers import Verifier
from rag_eval.judge.verifying import Verifying

if TYPE_CHECKING:
    from rag_eval.judge.batch_ledger import BatchLedger
    from rag_eval.judge.batched_questions import BatchedQuestions

Reply = TypeVar("Reply", bound=msgspec.Struct)

_NO_ANSWER: Final = frozenset({"unreachable", "failed", "timed_out"})
# After this many failed judgements without a single reply, the judge is unavailable.
_DEAD_AFTER: Final = 20


@dataclass(frozen=True, slots=True)
class _Question(Generic[Reply]):
    """One question on its way through the session."""

    judge: int
    repeat: int
    mark: RowMark
    step: Step[Reply]
    fields: Fields
    tally: Tally
    check: Callable[[Reply], str | None] | None


class SessionAsker:
    """Asks one judge of a session about one row, for one of its repeats."""

    def __init__(self, session: JudgeSession, judge: int, repeat: int) -> None:
        self._session = session
        self._judge = judge
        self._repeat = repeat
        self._mark = RowMark()
        self._first_asks = FirstAsks()

    async def ask(
        self,
        step: Step[Reply],
        fields: Fields,
        tally: Tally,
        check: Callable[[Reply], str | None] | None = None,
    ) -> Asked[Reply]:
        """See :meth:`rag_eval.judge.asking.Asker.ask`."""
        question = _Question(self._judge, self._repeat, self._mark, step, fields, tally, check)
        beginning = self._session._kept_beginning(question)
        if not beginning:
            return await self._session._answered(question)
        async with self._first_asks.turn(beginning):
            return await self._session._answered(question)


class JudgeSession:
    """The calls of one run in one event loop; a context manager that releases its threads.

    Parameters
    ----------
    judges : sequence of JudgeFn
    limits : JudgeLimits
    style : PromptStyle
    cache : JudgeCache, optional
        Cache of replies. Callables are cached only if they have a name: the attribute
        ``judge_name`` or the one in ``names``.
    prices : PriceTable, mapping or path, optional
    names : sequence of str or None, optional
        Names of callables, in the order of the judges.
    verifier : Verifier, optional
        Asked within the same limits; with one, there may be no judge.
    batches : BatchLedger, optional
        Ask nothing, but the first question of a run: take replies from here, and note here what
        is to be asked.
    clock : callable
        Clock in seconds, for the rate limits.

    Attributes
    ----------
    identities : tuple of JudgeIdentity
    tally : Tally
        Calls and tokens so far.
    verifying : Verifying or None
        Asks the verifier.

    Raises
    ------
    InputError
        If a judge is not callable, or there is a budget and a model has no price.
    MissingExtraError
        If a package that calls need is missing.
    """

    def __init__(
        self,
        judges: Sequence[JudgeFn],
        limits: JudgeLimits,
        *,
        style: PromptStyle,
        cache: Any = None,
        prices: Any = None,
        names: Sequence[str | None] | None = None,
        verifier: Verifier | None = None,
        batches: BatchLedger | None = None,
        clock: Clock = time.monotonic,
    ) -> None:
        if not judges and verifier is None:
            raise InputError("a session needs at least one judge")
        named = zip(judges, names or [None] * len(judges), strict=True)
        self.identities = tuple(
            identity_of(judge, place, name) for place, (judge, name) in enumerate(named)
        )
        self._stamina = stamina_package() if judges else None
        self._limits = limits
        self._style = style
        self._cache = cache
        self._accounts = Accounts(self.identities, limits, price_table(prices))
        self.tally = self._accounts.tally
        self._limiter = Limiter(len(judges), limits, clock)
        self._slots = Slots(self._limiter)
        # Batches have the time that their servers take.
        self._ending = Ending(limits.run_timeout_s if batches is None else None)
        self._threads = ThreadCalls()
        self._coroutines = LoopCalls()
        self._callers = [
            Caller(judge, self._threads, self._coroutines, limits.call_timeout_s)
            for judge in judges
        ]
        self.verifying = None if verifier is None else self._verifying(verifier)
        self._has_answered = [False] * len(judges)
        self._n_failed = [0] * len(judges)
        self._batches: BatchedQuestions | None = None
        if batches is not None:
            from rag_eval.judge.batched_questions import BatchedQuestions

            self._batches = BatchedQuestions(batches, judges, self.identities, limits.retries)

    def asker(self, judge: int = 0, repeat: int = 0) -> SessionAsker:
        """An asker for one judge and row; repeats of a question are cached separately."""
        return SessionAsker(self, judge, repeat)

    def _verifying(self, verifier: Verifier) -> Verifying:
        return Verifying(
            verifier,
            self._limits,
            cache=self._cache,
            accounts=self._accounts,
            ending=self._ending,
            check_budget=self._check_budget,
            threads=self._threads,
            coroutines=self._coroutines,
        )

    @property
    def late_replies(self) -> int:
        """Replies that arrived after their call had ended."""
        return self._threads.late_replies + self._coroutines.late_replies

    @property
    def cost_usd(self) -> float | None:
        """The cost of the calls so far; None if one went to a model without a price."""
        return self._accounts.cost_usd

    def stop(self) -> None:
        """End all questions and calls in flight as ``interrupted``; callable from any thread."""
        self._ending.stop()

    def close(self) -> None:
        """Release the threads that called judges; no question may follow."""
        if self.verifying is not None:
            self.verifying.close()
        self._threads.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    # ------------------------------------------------------------------- the way of a question

    def _kept_beginning(self, question: _Question[Any]) -> tuple[str, ...]:
        """The chunks that the judge's server keeps for other prompts of the row; or empty."""
        style, caller = self._style, self._callers[question.judge]
        if not (style.shares_chunks and caller.keeps_beginnings) or self._batches is not None:
            return ()
        chunks = question.fields.get(SHARED_FIELD)
        if style.is_overridden(question.step) or not isinstance(chunks, (list, tuple)):
            return ()
        tokens = sum(map(estimated_tokens, chunks))
        return tuple(chunks) if tokens >= FEWEST_CACHED else ()

    async def _answered(self, question: _Question[Reply]) -> Asked[Reply]:
        if self._ending.is_final:
            self._ending.check()
        key = self._key(question)
        cached = None if key is None else self._cached(question, key)
        if cached is not None:
            return Asked(cached)
        async with self._ending.heard() as cut:
            return await self._judged(question, key, cut)

    async def _judged(
        self, question: _Question[Reply], key: bytes | None, cut: asyncio.Timeout
    ) -> Asked[Reply]:
        prompt, reply = await self._replied(question, key, Asking(), cut)
        try:
            value = self._read(question, prompt, reply)
        except JudgeFailure as failure:
            can_reply_longer = self._callers[question.judge].can_reply_longer
            again = second_ask(failure, reply, can_reply_longer=can_reply_longer)
            if again is None:
                raise
            prompt, reply = await self._replied(question, key, again, cut)
            value = self._read_at_last(question, prompt, reply, again)
        if self._cache is not None and key is not None:
            self._keep(key, value, reply)
        return Asked(value, prompt.text)

    async def _replied(
        self, question: _Question[Any], key: bytes | None, form: Asking, cut: asyncio.Timeout
    ) -> tuple[Prompt, JudgeReply]:
        """A reply: of a call, or of a batch."""
        if self._batches is None:
            return await self._called_with_retries(question, form, cut)
        assert key is not None, "judges that are asked in batches have a name"
        judge, name = question.judge, self._batches.name(key, form.name)
        async with self._batches.trial(judge):
            if self._batches.needs_trial(judge):
                prompt, reply = await self._called_with_retries(question, form, cut)
                self._batches.keep_trial(judge, name, prompt.mark, reply)
                return prompt, reply
        return await self._collected(question, name, form)

    async def _collected(
        self, question: _Question[Any], name: bytes, form: Asking
    ) -> tuple[Prompt, JudgeReply]:
        """The reply of a batch; a failure for a question that is not in one, or not yet."""
        assert self._batches is not None
        judge, step = question.judge, question.step

        def rendered(mark: RowMark) -> Prompt:
            return render(step, question.fields, self._style, form.complaint, mark)

        found = self._batches.found(name)
        if found is None:
            prompt = rendered(question.mark)
            self._batches.want(judge, name, prompt, step, question.fields, longer=form.longer)
        if found is None or found == "sent":
            # The other questions of the row are noted as well.
            raise JudgeFailure("interrupted", "not judged yet: its question is not answered yet")
        # With the mark that it was asked with, the prompt is what it was.
        prompt = rendered(RowMark(found.mark))
        # What several rows ask is asked once, and is like a cached reply for the others.
        is_first = found.is_first
        self._accounts.add(
            question.tally, Tally(llm_calls=int(is_first), cached_calls=int(not is_first))
        )
        if not isinstance(found.outcome, JudgeReply):
            self._give_up(judge, given_up(found.outcome))
        try:
            reply = checked_reply(found.outcome, prompt.text)
            if is_first:
                self._took(question, reply, is_batched=found.is_batched)
            self._has_answered[judge] = True
            self._check_cut(prompt, reply)
        except JudgeFailure as failure:
            self._give_up(judge, failure)
        return prompt, reply

    async def _called_with_retries(
        self, question: _Question[Any], form: Asking, cut: asyncio.Timeout
    ) -> tuple[Prompt, JudgeReply]:
        """The reply of a call, with as many retries as the limits allow."""
        judge = question.judge
        try:
            try:
                return await self._called(question, form, cut)
            except JudgeCallError as error:
                first = error
            # Retries are set up only after a failure, because that takes a quarter of a fast call.
            async for attempt in tries(
                self._stamina,
                self._limits.retries,
                self._ending,
                lambda: self._has_answered[judge],
            ):
                with attempt:
                    if attempt.num == 1:
                        raise first
                    return await self._called(question, form, cut)
        except JudgeCallError as error:
            self._give_up(judge, given_up(error, has_answered=self._has_answered[judge]))
        except (JudgeFailure, JudgeUnavailableError) as error:
            self._give_up(judge, error)
        raise AssertionError("a retry neither returned nor raised")

    async def _called(
        self, question: _Question[Any], form: Asking, cut: asyncio.Timeout
    ) -> tuple[Prompt, JudgeReply]:
        """One call in a slot; the prompt is made once a slot is free."""
        judge = question.judge
        self._check_budget()
        epoch = await self._slots.enter(judge)
        try:
            self._check_budget()
            step, fields = question.step, question.fields
            prompt = render(step, fields, self._style, form.complaint, question.mark)
            self._accounts.add(question.tally, Tally(llm_calls=1))
            with self._ending.calling(cut):
                self._note_budget()
                return prompt, await self._reply(question, prompt, epoch, form.longer)
        finally:
            self._slots.leave(judge)

    async def _reply(
        self, question: _Question[Any], prompt: Prompt, epoch: int, longer: bool
    ) -> JudgeReply:
        """A call, and its effect on pace and accounts."""
        judge, tally = question.judge, question.tally
        pace = self._limiter.paces[judge]
        expected = estimated_tokens(prompt.text)
        self._limiter.take_tokens(expected)
        try:
            reply = await self._callers[judge].call(prompt.text, question.step, longer=longer)
        except JudgeCallError as error:
            self._count_probes(tally, error.n_requests)
            if error.timed_out:
                # The server probably worked on it and charges for it.
                self._accounts.call_took(judge, tally, Usage(expected, 0, estimated=True))
                self._note_budget()
            if error.rate_limited:
                pace.limited(epoch, error.retry_after_s)
            elif error.retry_after_s is not None:
                pace.pause(error.retry_after_s)
            raise
        self._count_probes(tally, reply.n_requests)
        pace.succeeded(epoch)
        self._has_answered[judge] = True
        usage = self._took(question, reply)
        self._limiter.take_tokens(usage.input_tokens + usage.output_tokens - expected)
        self._note_budget()
        self._check_cut(prompt, reply)
        return reply

    def _took(
        self, question: _Question[Any], reply: JudgeReply, *, is_batched: bool = False
    ) -> Usage:
        """Count the tokens of a reply."""
        usage = reply.usage
        assert usage is not None, "callers estimate missing usage"
        self._accounts.call_took(question.judge, question.tally, usage, reply.model, is_batched)
        return usage

    def _check_cut(self, prompt: Prompt, reply: JudgeReply) -> None:
        assert reply.usage is not None
        cut = cut_message(prompt.text, reply.usage)
        if cut is not None:
            raise JudgeFailure("prompt_cut", cut)

    def _read_at_last(
        self, question: _Question[Reply], prompt: Prompt, reply: JudgeReply, form: Asking
    ) -> Reply:
        try:
            return self._read(question, prompt, reply)
        except JudgeFailure as failure:
            if failure.kind == "truncated" and form.longer:
                raise JudgeFailure("truncated", cut_twice(reply)) from None
            raise

    def _count_probes(self, tally: Tally, n_requests: int) -> None:
        """Count the requests that found out what the server takes: each is a call."""
        if n_requests > 1:
            self._accounts.add(tally, Tally(llm_calls=n_requests - 1))
            self._note_budget()

    def _read(self, question: _Question[Reply], prompt: Prompt, reply: JudgeReply) -> Reply:
        try:
            template = self._style.template(question.step)
            step = question.step
            value = read_reply(
                reply, prompt.mark, step.shape, question.check, template.example_texts
            )
            return value if step.weighed is None else step.weighed(value, reply)
        except JudgeFailure as failure:
            if failure.kind != "refused":
                self._accounts.add(question.tally, Tally(parse_failures=1))
                message = self._accounts.too_many_unreadable()
                if message is not None:
                    self._end_run(f"{message}; the last one: {failure}")
            raise

    # -------------------------------------------------------------------------------- the cache

    def _key(self, question: _Question[Any]) -> bytes | None:
        identity = self.identities[question.judge]
        if (self._cache is None and self._batches is None) or not is_named(identity):
            return None
        from rag_eval.judge.cache import cache_key

        digest = self._style.digest(question.step)
        return cache_key(digest, question.fields, identity, question.repeat)

    def _cached(self, question: _Question[Reply], key: bytes) -> Reply | None:
        # What this run has paid for is counted in each pass over its data.
        if self._cache is None or (self._batches is not None and self._batches.knows(key)):
            return None
        found = self._cache.get(key)
        if found is None:
            return None
        try:
            value = value_of(found.reply, question.step.shape, question.check)
        except JudgeFailure:
            return None
        self._accounts.add(question.tally, Tally(cached_calls=1))
        return value

    def _keep(self, key: bytes, value: msgspec.Struct, reply: JudgeReply) -> None:
        from rag_eval.judge.cache import CachedReply

        assert reply.usage is not None
        self._cache.put(key, CachedReply(msgspec.to_builtins(value), reply.usage, reply.model))

    # ---------------------------------------------------------------------- the end of the run

    def _check_budget(self) -> None:
        self._note_budget()
        self._ending.check()

    def _note_budget(self) -> None:
        # Of batches the budget is checked before they are sent, and then all is paid for.
        message = None if self._batches is not None else self._accounts.reached()
        if message is not None:
            self._ending.come(lambda: JudgeFailure("budget", message))

    def _give_up(self, judge: int, error: JudgeFailure | JudgeUnavailableError) -> NoReturn:
        """Raise the error of a call; end the run if the judge is unavailable."""
        if self._ending.is_final:
            self._ending.check()
        name = self.identities[judge]
        if isinstance(error, JudgeUnavailableError):
            self._end_run(f"{name} cannot be used: {error}")
        # Retries that a budget or a time limit prevented are not failures of the judge.
        self._ending.check()
        if error.kind in _NO_ANSWER:
            self._n_failed[judge] += 1
            if not self._has_answered[judge] and self._n_failed[judge] >= _DEAD_AFTER:
                self._end_run(
                    f"{name} did not answer in {_DEAD_AFTER} judgements; the last error: {error}"
                )
        raise error

    def _end_run(self, message: str) -> NoReturn:
        self._ending.come(lambda: JudgeUnavailableError(message), final=True)
        raise JudgeUnavailableError(message)
