"""Judges, their replies, and the tokens these took."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final, Protocol, Self, TypeAlias, runtime_checkable

from rag_eval.errors import InputError

CALL_TIMEOUT_S: Final = 60.0
MAX_REPLY_BYTES: Final = 4_000_000
"""Longer replies are not read; verdicts take a few thousand."""

FEWEST_CACHED: Final = 1024
"""Tokens that a prompt has to begin with before vendors keep them in a cache."""

UNNAMED = "unnamed"
# Approximate UTF-8 bytes per token in English prose and JSON.
_BYTES_PER_TOKEN: Final = 4
# Words in alphabets of two bytes a letter have as many letters per token as words in ASCII, nearly.
_LESS_PER_PAIR: Final = 0.2
_FIRST_OF_TWO: Final = bytes(range(0xC2, 0xE0))


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of a call.

    Attributes
    ----------
    input_tokens, output_tokens : int
    estimated : bool
        Whether they were estimated from text lengths, because the judge did not report them.
    cached_tokens, written_tokens : int
        Those of the input tokens that the server took from its cache, or wrote to it.
    """

    input_tokens: int
    output_tokens: int
    estimated: bool = False
    cached_tokens: int = 0
    written_tokens: int = 0


@dataclass(frozen=True, slots=True)
class JudgeReply:
    """A judge's reply, with metadata from its server.

    Attributes
    ----------
    text : str
    finish_reason : str or None
        Why it ended, such as ``stop``, ``length`` or ``refusal``, as given by the server.
    usage : Usage or None
        None for an estimate from text lengths.
    model : str or None
        The model that answered, as named by the server.
    n_requests : int
        Requests that it took: more than one if the server refused parameters at first.
    has_thoughts : bool
        Whether the model thought before its reply, which takes tokens, too.
    tokens : tuple of (str, mapping)
        The tokens of the text, each with the log-probabilities of the likeliest tokens at its
        place; empty if the server does not give them.
    """

    text: str
    finish_reason: str | None = None
    usage: Usage | None = None
    model: str | None = None
    n_requests: int = 1
    has_thoughts: bool = False
    tokens: tuple[tuple[str, Mapping[str, float]], ...] = ()


@dataclass(slots=True)
class Tally:
    """Calls and tokens of judgements; each metric of a row has one.

    Attributes
    ----------
    llm_calls : int
        Calls made, including retries.
    cached_calls : int
        Replies that came from the cache.
    input_tokens, output_tokens : int
    cached_tokens : int
        Those of the input tokens that servers took from their caches.
    estimated : bool
        Whether some token counts were estimated from text lengths.
    parse_failures : int
        Replies that could not be read.
    verified_claims : int
        Claims that a verifier was asked about.
    cached_claims : int
        Those that came from the cache.
    """

    llm_calls: int = 0
    cached_calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    estimated: bool = False
    parse_failures: int = 0
    verified_claims: int = 0
    cached_claims: int = 0

    def add(self, other: Tally) -> None:
        """Add the counts of another tally."""
        self.llm_calls += other.llm_calls
        self.cached_calls += other.cached_calls
        self.input_tokens += other.input_tokens
        self.output_tokens += other.output_tokens
        self.cached_tokens += other.cached_tokens
        self.estimated |= other.estimated
        self.parse_failures += other.parse_failures
        self.verified_claims += other.verified_claims
        self.cached_claims += other.cached_claims


class JudgePrompt(str):
    """A prompt as text, and its parts for servers that take them apart.

    Attributes
    ----------
    system : str
        How to read the rest; the same in all prompts.
    shared : str
        Texts that other prompts of the row begin with as well; may be empty.
    task : str
        The other texts, what is asked about them, and the form of the reply.
    mark : str
        What the reply has to have under ``mark``.
    lengths : mapping of (int, int)
        By the name of a list in the reply, how many items it has at least and at most.
    """

    system: str
    shared: str
    task: str
    mark: str
    lengths: Mapping[str, tuple[int, int]]

    @classmethod
    def of(
        cls,
        system: str,
        shared: str,
        task: str,
        *,
        mark: str = "",
        lengths: Mapping[str, tuple[int, int]] = MappingProxyType({}),
    ) -> Self:
        """The prompt of these parts: a system message, and a message of the other two."""
        prompt = cls(f"{system}\n\n{shared}{task}")
        prompt.system, prompt.shared, prompt.task = system, shared, task
        prompt.mark, prompt.lengths = mark, lengths
        return prompt


def is_worth_keeping(prompt: JudgePrompt) -> bool:
    """Whether servers keep the beginning that other prompts of the row share with this one."""
    return bool(prompt.shared) and estimated_tokens(prompt.system + prompt.shared) >= FEWEST_CACHED


JudgeFn: TypeAlias = Callable[[str], str | JudgeReply | Awaitable[str | JudgeReply]]
"""Takes a prompt and returns the judge's reply."""


@dataclass(frozen=True, slots=True)
class JudgeIdentity:
    """The identity of a judge: everything that can change its verdicts.

    Attributes
    ----------
    provider : str
        ``openai``, ``anthropic``, or ``callable``.
    model : str
        The requested model, or the given name of a callable.
    base_url : str or None
        The server; None for the vendor's own.
    parameters : dict
        Temperature and the like.
    """

    provider: str
    model: str
    base_url: str | None = None
    parameters: tuple[tuple[str, Any], ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        found: dict[str, Any] = {"provider": self.provider, "model": self.model}
        if self.base_url is not None:
            found["baseUrl"] = self.base_url
        if self.parameters:
            found["parameters"] = dict(self.parameters)
        return found

    def __str__(self) -> str:
        return f"{self.provider}:{self.model}"


class AnyVerifier(Protocol):
    """A :class:`rag_eval.judge.Verifier`, for the types of options, which do without its module."""

    identity: JudgeIdentity
    threshold: float
    cost_per_claim: float


@runtime_checkable
class SchemaJudge(Protocol):
    """A judge that supports JSON schemas, as those of the adapters do."""

    @property
    def identity(self) -> JudgeIdentity:
        """The model and its parameters, as signatures and caches record them."""
        ...

    def __call__(self, prompt: str) -> Awaitable[JudgeReply]: ...

    async def ask(self, prompt: str, schema: dict[str, Any]) -> JudgeReply:
        """Call the judge with a JSON schema for the reply."""
        ...


@runtime_checkable
class LongerJudge(Protocol):
    """A judge that can be asked for a longer reply than usual, as those of the adapters can."""

    async def ask_longer(self, prompt: str, schema: dict[str, Any]) -> JudgeReply:
        """As :meth:`SchemaJudge.ask`, with twice the limit on the reply's tokens."""
        ...


def n_bytes(text: str) -> int:
    """The length of a text in UTF-8."""
    return len(text.encode("utf-8", "surrogatepass"))


def estimated_tokens(text: str) -> int:
    """Estimated tokens of a text: a quarter of its UTF-8 bytes, less for letters of two bytes.

    That is 4 ASCII characters, 3.3 letters of Cyrillic or Arabic, and 1.3 of Chinese per token;
    ``tests/fixtures/token_counts.json`` has counts of two tokenisers.
    """
    encoded = text.encode("utf-8", "surrogatepass")
    tokens = len(encoded) / _BYTES_PER_TOKEN
    if len(encoded) != len(text):
        tokens -= _LESS_PER_PAIR * (len(encoded) - len(encoded.translate(None, _FIRST_OF_TWO)))
    return math.ceil(tokens)


def estimated_usage(prompt: str, reply: str) -> Usage:
    """The estimated tokens of a call, if the judge does not report them."""
    return Usage(estimated_tokens(prompt), estimated_tokens(reply), estimated=True)


def identity_of(
    judge: JudgeFn | SchemaJudge, place: int = 0, name: str | None = None
) -> JudgeIdentity:
    """The identity of a judge.

    A judge from an adapter has its own. A function is identified by ``name`` or its attribute
    ``judge_name``. Without a name its replies are not cached, and several such judges are told
    apart by ``place``.

    Raises
    ------
    InputError
        If it is not callable.
    """
    if not callable(judge):
        raise InputError(f"a judge must be callable, got {type(judge).__name__}")
    if isinstance(judge, SchemaJudge):
        return judge.identity
    if name is None:
        name = getattr(judge, "judge_name", None)
    if isinstance(name, str) and name:
        return JudgeIdentity("callable", name)
    return JudgeIdentity("callable", UNNAMED if place == 0 else f"{UNNAMED}-{place + 1}")


def is_named(identity: JudgeIdentity) -> bool:
    """Whether the judge has a name, so that its replies can be cached."""
    return identity.provider != "callable" or not identity.model.startswith(UNNAMED)


@dataclass(frozen=True, slots=True)
class JudgeLimits:
    """Limits on the calls of a run; None means no limit.

    Attributes
    ----------
    concurrency : int, default 4
        Calls in flight, over all judges.
    call_timeout_s : float, default 60
        Time limit of one call, which is then retried once.
    run_timeout_s : float, optional
        Time limit from the first question on; later judgements are not made.
    retries : int, default 5
        Retries of a call after a temporary failure.
    requests_per_minute, tokens_per_minute : float, optional
        Rates, spread evenly; one second's worth may come at once.
    max_calls : int, optional
        Maximum calls of the run, including retries; cached replies do not count.
    budget_usd : float, optional
        No call starts after this is spent; calls in flight may exceed it.
    max_parse_failures : int, optional
        With more unreadable replies than this, the judge counts as unavailable.
    """

    concurrency: int = 4
    call_timeout_s: float = CALL_TIMEOUT_S
    run_timeout_s: float | None = None
    retries: int = 5
    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None
    max_calls: int | None = None
    budget_usd: float | None = None
    max_parse_failures: int | None = None
