"""Questions of a session that are asked in batches: taken from a ledger, or noted there."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, Literal

import msgspec

from rag_eval.errors import InputError
from rag_eval.judge.batch_ledger import BatchLedger
from rag_eval.judge.batches import BatchJudge, Collected
from rag_eval.judge.rendering import Prompt
from rag_eval.judge.replies import JudgeFn, JudgeIdentity, JudgeReply, estimated_usage
from rag_eval.judge.retrying import fault_of
from rag_eval.judge.steps import Fields, Step


def batch_judges(judges: Sequence[object]) -> list[BatchJudge]:
    """The judges, which can all be asked in batches.

    Raises
    ------
    InputError
        If one of them is a function, which can only be called.
    """
    found: list[BatchJudge] = [judge for judge in judges if isinstance(judge, BatchJudge)]
    if len(found) < len(judges):
        raise InputError(
            "judge_batch needs a judge given by an address, such as openai:MODEL or "
            "anthropic:MODEL: a function of your own has no batch API"
        )
    return found


class BatchedQuestions:
    """What a session asks of the ledger of a run.

    Raises
    ------
    InputError
        If a judge has no batch API, or the run was begun with other judges.
    """

    def __init__(
        self,
        ledger: BatchLedger,
        judges: Sequence[JudgeFn],
        identities: Sequence[JudgeIdentity],
        retries: int,
    ) -> None:
        self._ledger = ledger
        self._judges = batch_judges(judges)
        self._retries = retries
        self._locks: dict[int, asyncio.Lock] = defaultdict(asyncio.Lock)
        ledger.check_judges(identities)
        ledger.begin_pass()
        self._tried: set[int] = set()
        for place, judge in enumerate(self._judges):
            refused = ledger.refused(place)
            if refused is not None:
                self._tried.add(place)
                judge.refused |= refused

    def name(self, key: bytes, form: str) -> bytes:
        """The name of a question in one form."""
        return self._ledger.name(key, form)

    def knows(self, key: bytes) -> bool:
        """Whether this run has asked the question."""
        return self._ledger.knows(self._ledger.name(key, ""))

    def trial(self, judge: int) -> AbstractAsyncContextManager[Any]:
        """Held while the first question to a judge is asked; all others wait."""
        return self._locks[judge]

    def needs_trial(self, judge: int) -> bool:
        """Whether a question is to be asked at once.

        The first one is: before a wait of hours it shows that key and model are right, and which
        parameters the server does not take.
        """
        return judge not in self._tried

    def keep_trial(self, judge: int, name: bytes, mark: str, reply: JudgeReply) -> None:
        """Keep the reply to the first question."""
        self._ledger.keep_trial(name, judge, mark, reply, self._judges[judge].refused)
        self._tried.add(judge)

    def found(self, name: bytes) -> Collected | Literal["sent"] | None:
        """What has come of a question; None if it is to be asked."""
        return self._ledger.found(name, self._retries)

    def want(
        self,
        judge: int,
        name: bytes,
        prompt: Prompt,
        step: Step[Any],
        fields: Fields,
        *,
        longer: bool,
    ) -> None:
        """Ask a question with the next batch; its cost is estimated as in a dry run."""
        try:
            request = self._judges[judge].request(prompt.text, step.schema, longer=longer)
            body = msgspec.json.encode(request)
        except Exception as error:
            raise fault_of(error) from error
        imagined = msgspec.json.encode(step.imagine(fields)).decode()
        expected = estimated_usage(prompt.text, imagined)
        self._ledger.want(name, judge, prompt.mark, body, expected)
