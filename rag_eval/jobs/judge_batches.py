"""Runs whose judge is asked in batches: collect what is there, pass over the data, send the rest.

A judgement takes several questions, and later ones depend on earlier replies. So a run is a few
rounds: in each pass over the data all questions whose replies are not there yet are noted, and
then sent. When nothing is left to ask, the run is made as any other, with the collected replies.
"""

from __future__ import annotations

import math
import secrets
import sqlite3
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import aclosing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from rag_eval.errors import InputError
from rag_eval.inputs.named_files import DataSource
from rag_eval.jobs.stream import RowStream
from rag_eval.judge import loop_thread
from rag_eval.judge.batch_ledger import Batch, BatchLedger, Waiting
from rag_eval.judge.batched_questions import batch_judges
from rag_eval.judge.batches import BatchServer, BatchState, Outcome, UnsureSubmission
from rag_eval.judge.failures import JudgeCallError, JudgePendingError, JudgeUnavailableError
from rag_eval.options.declared import declared
from rag_eval.options.judge_types import JudgeBatchOptions
from rag_eval.plumbing.spelling import counted

if TYPE_CHECKING:
    from rag_eval.options.judging import Judging

# A request that a killed process has sent is in the vendor's list by then.
_UNSURE_S: Final = 300.0
_AT_ONCE: Final = 256
_MOST_SHOWN: Final = 5
_NAME: Final = next(iter(declared(JudgeBatchOptions)))


@contextmanager
def collected(
    data: DataSource,
    metrics: Iterable[str] | None,
    options: Mapping[str, Any],
) -> Iterator[Mapping[str, Any]]:
    """The options of a run, with an open ledger that holds the reply to each question.

    Raises
    ------
    JudgePendingError
        If replies are missing. What could be collected was, and what could be asked was sent.
    JudgeUnavailableError
        If a server rejects a batch, or the next one would exceed a limit of the run.
    """
    with opened_ledger(options[_NAME]) as ledger:
        known = {**options, _NAME: ledger}
        _Round(data, metrics, known, ledger).advance()
        yield known


@contextmanager
def opened_ledger(path: str | Path) -> Iterator[BatchLedger]:
    """The ledger in a file; what goes wrong with the file is an InputError."""
    try:
        with BatchLedger(path) as ledger:
            yield ledger
    except sqlite3.Error as error:
        raise InputError(f"the batch file {path} cannot be used: {error}") from None


class _Round:
    """One look at the batches of a run, and what follows from it."""

    def __init__(
        self,
        data: DataSource,
        metrics: Iterable[str] | None,
        options: Mapping[str, Any],
        ledger: BatchLedger,
    ) -> None:
        # The run itself tells of progress, and of what it finds in the data.
        self._stream = RowStream(data, metrics, {**options, "on_progress": None, "on_found": None})
        judging = self._stream.plan.judging
        if judging is None or not judging.judges:
            raise InputError("judge_batch has no effect: no LLM judge is asked")
        if not self._stream.source.can_be_read_again:
            raise InputError(
                f"judge_batch reads the data several times, and {self._stream.source.name} cannot "
                "be read again: it needs files"
            )
        self._judging: Judging = judging
        self._ledger = ledger
        self._servers: list[BatchServer] = [
            judge.batches() for judge in batch_judges(judging.judges)
        ]
        ledger.check_judges(judging.identities)
        self._states: dict[str, BatchState] = {}
        self._notes: list[str] = []
        self._may_send = True

    def advance(self) -> None:
        """Return if all replies are there."""
        has_news = loop_thread.run(self._collect())
        if has_news or not self._ledger.open_batches():
            self._note_questions()
        if self._ledger.open_batches() or self._notes:
            raise JudgePendingError(self._text(), str(self._ledger.path))

    def _note_questions(self) -> None:
        """Pass over the data, and send the questions whose replies are not there."""
        limits = self._judging.limits
        if limits.max_calls == 0 or limits.budget_usd == 0:
            # The first question is asked at once.
            raise JudgeUnavailableError("nothing was asked: max_calls or budget_usd is 0")
        stream = self._stream
        stream.score()
        if stream.stopped is not None:
            raise stream.stopped
        stream.check_begun()
        waiting = self._ledger.waiting()
        if waiting and self._may_send:
            self._check_limits(waiting)
            loop_thread.run(self._send(waiting))

    # ------------------------------------------------------------------------------ collecting

    async def _collect(self) -> bool:
        """Take the replies of ended batches; whether a pass over the data would find news."""
        has_news = False
        batches = self._ledger.open_batches()
        if not batches and not self._ledger.batch_ids():
            await self._check_servers()
        try:
            for batch in batches:
                has_news |= await self._looked_at(batch)
        except JudgeCallError as error:
            if not error.retryable:
                raise JudgeUnavailableError(str(error)) from None
            self._notes.append(f"not all batches could be looked at: {error}")
        return has_news

    async def _check_servers(self) -> None:
        """End a run that has sent nothing yet, unless each server answers and has batches.

        Its questions would each try to reach the server, one after the other.
        """
        try:
            for server in self._servers:
                await server.check()
        except JudgeCallError as error:
            raise JudgeUnavailableError(str(error)) from None

    async def _looked_at(self, batch: Batch) -> bool:
        """Whether a batch has ended."""
        server, ledger = self._servers[batch.judge], self._ledger
        batch_id = batch.id or await self._found_again(server, batch)
        if batch_id is None:
            return not self._is_open(batch)
        state = await server.state(batch_id)
        if state.refusal:
            ledger.not_sent(batch.name)
            text = f"{self._judging.identities[batch.judge]} rejected a batch: {state.refusal}"
            if not state.is_queue_full:
                raise JudgeUnavailableError(text)
            self._may_send = False
            self._notes.append(f"{text}; its questions are sent again next time")
            return True
        if not state.is_ended:
            self._states[batch.name] = state
            return False
        await self._take(server, batch, state)
        return True

    async def _found_again(self, server: BatchServer, batch: Batch) -> str | None:
        """The id of a batch that may have been sent before the process was ended."""
        ledger = self._ledger
        try:
            found = await server.lookup(
                batch.name, batch.n_requests, batch.begun, ledger.batch_ids()
            )
        except UnsureSubmission as error:
            self._notes.append(f"sending a batch was interrupted: {error}")
            return None
        if found is not None:
            ledger.sent(batch.name, found)
            return found
        left = batch.begun + _UNSURE_S - _now()
        if left > 0:
            self._notes.append(
                "sending a batch was interrupted, and the vendor does not list it. If it is not "
                f"there in {left:.0f} s, it will be sent again"
            )
        else:
            ledger.not_sent(batch.name)
        return None

    def _is_open(self, batch: Batch) -> bool:
        return any(one.name == batch.name for one in self._ledger.open_batches())

    async def _take(self, server: BatchServer, batch: Batch, state: BatchState) -> None:
        """Keep the replies of a batch."""
        found: list[tuple[str, Outcome]] = []
        async with aclosing(server.outcomes(state)) as outcomes:
            async for outcome in outcomes:
                found.append(outcome)
                if len(found) >= _AT_ONCE:
                    self._ledger.keep_outcomes(batch.name, found)
                    found = []
        self._ledger.keep_outcomes(batch.name, found)
        without = JudgeCallError(
            f"the batch of this request ended ({state.status}) without a reply to it",
            retryable=state.status == "expired",
        )
        self._ledger.end_batch(batch.name, without)

    # --------------------------------------------------------------------------------- sending

    def _check_limits(self, waiting: Sequence[Waiting]) -> None:
        """Raise an error if the next batches could exceed a limit; nothing of them is sent."""
        limits, report = self._judging.limits, self._stream.judge_report()
        assert report is not None
        n_next = sum(one.n_requests for one in waiting)
        n_made = sum(found.tally.llm_calls for found in report.metrics.values())
        advice = "nothing was sent; raise it and run the command again"
        if limits.max_calls is not None and n_made + n_next > limits.max_calls:
            raise JudgeUnavailableError(
                f"the next batches have {counted(n_next, 'request')} after "
                f"{counted(n_made, 'call')}, and max_calls is {limits.max_calls:,}: {advice}"
            )
        expected = self._expected_usd(waiting)
        if limits.budget_usd is None or expected is None:
            return
        spent = report.cost_usd or 0.0
        if spent + expected > limits.budget_usd:
            raise JudgeUnavailableError(
                f"the next batches would take about {expected:.4f} USD after {spent:.4f} USD, and "
                f"budget_usd is {limits.budget_usd:g}: {advice}"
            )

    def _expected_usd(self, waiting: Sequence[Waiting]) -> float | None:
        prices, identities = self._judging.prices, self._judging.identities
        if prices is None:
            return None
        costs = [
            prices.cost_usd(one.usage, identities[one.judge].model, is_batched=True)
            for one in waiting
        ]
        return None if None in costs else math.fsum(costs)

    async def _send(self, waiting: Sequence[Waiting]) -> None:
        for one in waiting:
            n_left = one.n_requests
            while n_left > 0:
                n_sent = await self._sent_batch(one.judge)
                if n_sent is None:
                    return
                n_left -= n_sent

    async def _sent_batch(self, judge: int) -> int | None:
        """The number of requests in the next batch; None if sending has to wait."""
        name = secrets.token_hex(8)
        # Noted before it is sent: a batch that is not noted could be paid for twice.
        requests = self._ledger.begin_batch(judge, name, _now())
        try:
            batch_id = await self._servers[judge].submit(name, requests)
        except UnsureSubmission as error:
            self._notes.append(f"a batch may have been sent or not: {error}")
            return None
        except JudgeCallError as error:
            self._ledger.not_sent(name)
            if not error.retryable:
                raise JudgeUnavailableError(f"a batch could not be sent: {error}") from None
            self._notes.append(f"a batch could not be sent: {error}")
            return None
        self._ledger.sent(name, batch_id)
        self._states[name] = BatchState(batch_id, "sent", False, len(requests), 0)
        return len(requests)

    def _text(self) -> str:
        batches = self._ledger.open_batches()
        shown = [self._shown(batch) for batch in batches[:_MOST_SHOWN]]
        if len(batches) > _MOST_SHOWN:
            shown.append(f"and {len(batches) - _MOST_SHOWN:,} more")
        n_requests = sum(batch.n_requests for batch in batches)
        what = f"{counted(n_requests, 'request')} in {counted(len(batches), 'batch', 'batches')}"
        said = [f"waiting for the judge: {what}" if batches else "waiting for the judge"]
        return "; ".join([*said, *shown, *self._notes])

    def _shown(self, batch: Batch) -> str:
        state = self._states.get(batch.name)
        where = self._judging.identities[batch.judge]
        if state is None:
            return f"{where}: {batch.id or 'not known to be sent'}"
        return f"{where}: {state.id} {state.status}, {state.n_done:,} of {batch.n_requests:,} done"


def _now() -> float:
    return time.time()
