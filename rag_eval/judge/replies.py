"""What a judge is and what it gives back."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Final, Protocol, TypeAlias, runtime_checkable

MAX_REPLY_BYTES: Final = 4_000_000
"""A reply that is longer is not read; verdicts take some thousands."""

# Bytes of UTF-8 in a token, about, over English prose and JSON.
_BYTES_PER_TOKEN: Final = 4


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens that a call took.

    Attributes
    ----------
    input_tokens, output_tokens : int
    estimated : bool
        Counted from the length of the texts, because the judge did not say.
    """

    input_tokens: int
    output_tokens: int
    estimated: bool = False


@dataclass(frozen=True, slots=True)
class JudgeReply:
    """A judge's reply, and what its server said about it.

    Attributes
    ----------
    text : str
    finish_reason : str or None
        Why it ended: ``stop``, ``length``, ``refusal`` and such, in the server's words.
    usage : Usage or None
        None makes an estimate from the texts.
    model : str or None
        The model that answered, as the server names it.
    """

    text: str
    finish_reason: str | None = None
    usage: Usage | None = None
    model: str | None = None


JudgeFn: TypeAlias = Callable[[str], str | JudgeReply | Awaitable[str | JudgeReply]]
"""Takes a prompt, gives the judge's reply."""


@dataclass(frozen=True, slots=True)
class JudgeIdentity:
    """Which judge gave a verdict: all of it that can change the verdict.

    Attributes
    ----------
    provider : str
        ``openai``, ``anthropic``, or ``callable``.
    model : str
        The model asked for; of a callable, its given name.
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


@runtime_checkable
class SchemaJudge(Protocol):
    """A judge that can be held to a JSON schema; the adapters make such."""

    @property
    def identity(self) -> JudgeIdentity: ...

    def __call__(self, prompt: str) -> Awaitable[JudgeReply]: ...

    async def ask(self, prompt: str, schema: dict[str, Any]) -> JudgeReply:
        """As calling it, with the JSON schema that the reply is to follow."""
        ...


def n_bytes(text: str) -> int:
    """The length of a text in UTF-8."""
    return len(text.encode("utf-8", "surrogatepass"))


def estimated_tokens(text: str) -> int:
    """Tokens of a text, about: its bytes in UTF-8 by four, rounded up."""
    return -(-n_bytes(text) // _BYTES_PER_TOKEN)


def estimated_usage(prompt: str, reply: str) -> Usage:
    """What a call took, when the judge does not say."""
    return Usage(estimated_tokens(prompt), estimated_tokens(reply), estimated=True)
