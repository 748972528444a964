"""Batches of questions: what judges with a batch API do, and what has become of a question."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Container, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol, TypeAlias, runtime_checkable

from rag_eval.judge.failures import JudgeCallError
from rag_eval.judge.replies import JudgeReply

MOST_REQUESTS: Final = 10_000
MOST_BYTES: Final = 16_000_000
"""Of one batch. Vendors take more (OpenAI 50,000 and 200 MB, Anthropic 100,000 and 256 MB), but a
batch is in memory when it is sent, and vendors limit the tokens that wait in their queues."""

Outcome: TypeAlias = JudgeReply | JudgeCallError
"""What a server replied to one request of a batch."""


@dataclass(frozen=True, slots=True)
class Collected:
    """The outcome of a question.

    Attributes
    ----------
    mark : str
        Of the prompt that it was asked with.
    is_batched : bool
        It was part of a batch, and costs as such.
    is_first : bool
        It has not been given to anybody yet; its tokens are counted once.
    """

    mark: str
    outcome: Outcome
    is_batched: bool
    is_first: bool


@dataclass(frozen=True, slots=True)
class BatchState:
    """What a server says of a batch.

    Attributes
    ----------
    id : str
    status : str
        In the vendor's words, such as ``in_progress``.
    is_ended : bool
        Its replies can be collected.
    n_requests, n_done : int
        Requests, and those of them that were answered or failed.
    refusal : str
        Why the batch was rejected as a whole; empty if it was not.
    is_queue_full : bool
        It was rejected because too many tokens wait in the vendor's queue.
    files : tuple of str
        Where its replies are.
    """

    id: str
    status: str
    is_ended: bool
    n_requests: int
    n_done: int
    refusal: str = ""
    is_queue_full: bool = False
    files: tuple[str, ...] = ()


class BatchServer(Protocol):
    """The batch API of a judge's server. Methods raise JudgeCallError, never with a key in it."""

    async def check(self) -> None:
        """Raise an InputError if the server has no batch API."""
        ...

    async def submit(self, name: str, requests: Sequence[tuple[str, bytes]]) -> str:
        """Send a batch and return its id.

        Parameters
        ----------
        name : str
            By which :meth:`lookup` finds it again.
        requests : sequence of (str, bytes)
            The id of each request, which begins with the name, and its body.

        Raises
        ------
        UnsureSubmission
            If the server may have taken it.
        """
        ...

    async def lookup(
        self, name: str, n_requests: int, since: float, known: Container[str]
    ) -> str | None:
        """The id of the batch that was sent under a name; None if there is none.

        Raises
        ------
        UnsureSubmission
            If that cannot be said yet.
        """
        ...

    async def state(self, batch_id: str) -> BatchState:
        """What has become of a batch."""
        ...

    def outcomes(self, batch: BatchState) -> AsyncGenerator[tuple[str, Outcome], None]:
        """The ids of the requests of an ended batch, each with its outcome; any order."""
        ...


@runtime_checkable
class BatchJudge(Protocol):
    """A judge whose server may have a batch API, as those of the adapters.

    Attributes
    ----------
    refused : frozenset of str
        Parameters that the server is known not to take.
    """

    refused: frozenset[str]

    def request(
        self, prompt: str, schema: dict[str, Any], *, longer: bool = False
    ) -> dict[str, Any]:
        """The body of a call, as it is sent when the judge is asked at once."""
        ...

    def batches(self) -> BatchServer:
        """The batch API of its server."""
        ...


class UnsureSubmission(JudgeCallError):  # it is about what is not known
    """A batch may have been submitted; it must be looked for before it is sent again."""
