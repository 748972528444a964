"""How a single judgement, or the judge as a whole, can fail."""

from __future__ import annotations

import re
from typing import Final, Literal, TypeAlias, get_args

from rag_eval.errors import RagEvalError
from rag_eval.samples import NullReason

FailureKind: TypeAlias = Literal[
    "unparsed",
    "incomplete",
    "refused",
    "truncated",
    "prompt_cut",
    "timed_out",
    "unreachable",
    "failed",
    "budget",
    "interrupted",
]

_NULL_REASONS: Final = {kind: NullReason[f"JUDGE_{kind.upper()}"] for kind in get_args(FailureKind)}

JUDGE_FAILURES: Final = frozenset(_NULL_REASONS.values())
"""Null reasons of failed judgements."""

_MOST_LETTERS: Final = 300
_KEY_SHAPE: Final = re.compile(r"\b(?:sk|rk|pk)-[A-Za-z0-9_*.…-]{3,}|(?<=Bearer )[^\s\"',]+")


class JudgeFailure(RagEvalError):
    """A failed judgement: its score is null, and ``kind`` is the reason.

    Attributes
    ----------
    kind : FailureKind
        ``unparsed``: no JSON of the expected form, or without the mark; ``incomplete``: verdicts
        are missing; ``refused``; ``truncated``: cut by a token limit;
        ``prompt_cut``: the server cut the prompt; ``timed_out``; ``unreachable``: the server
        failed or limited the rate on every try; ``failed``: the callable raised; ``budget``: not
        asked because a budget was reached; ``interrupted``: not asked because the run was stopped.
    """

    def __init__(self, kind: FailureKind, message: str) -> None:
        super().__init__(message)
        self.kind: FailureKind = kind

    @property
    def null_reason(self) -> NullReason:
        """The null reason of the score."""
        return _NULL_REASONS[self.kind]


class JudgeCallError(RagEvalError):
    """Raised by adapters when a call fails; the message contains no API key.

    Attributes
    ----------
    retryable : bool
        Whether a retry may help: a rate limit, a server error, a lost connection.
    fatal : bool
        Whether no later call can succeed: a wrong key, an unknown model.
    retry_after_s : float or None
        The wait that the server asked for.
    timed_out : bool
    rate_limited : bool
        Whether the server limits the rate, so that all calls slow down.
    unconnected : bool
        Whether no connection was made: no server runs there, or its address is wrong.
    n_requests : int
        Requests that were made: more than one if the server refused parameters at first.
    """

    def __init__(
        self,
        message: str,
        *,
        retryable: bool = False,
        fatal: bool = False,
        retry_after_s: float | None = None,
        timed_out: bool = False,
        rate_limited: bool = False,
        unconnected: bool = False,
    ) -> None:
        super().__init__(message)
        self.retryable = retryable
        self.fatal = fatal
        self.retry_after_s = retry_after_s
        self.timed_out = timed_out
        self.rate_limited = rate_limited
        self.unconnected = unconnected
        self.n_requests = 1


def redacted(text: str, *secrets: str) -> str:
    """A text on one line of readable length, without secrets and what looks like a key."""
    for secret in secrets:
        text = text.replace(secret, "[key]")
    text = " ".join(_KEY_SHAPE.sub("[key]", text).split())
    return text if len(text) <= _MOST_LETTERS else f"{text[:_MOST_LETTERS]}…"


def late_reply(limit_s: float, who: str = "the judge") -> JudgeCallError:
    """The error of a call that exceeded its time limit."""
    return JudgeCallError(
        f"{who} did not reply within {limit_s:g} s", retryable=True, timed_out=True
    )


class JudgeUnavailableError(RagEvalError):
    """The judge cannot be used: a wrong key, an unknown model, or an unreachable server.

    ``partial`` holds the judgements made before, if any.
    """

    partial: object = None


class JudgePendingError(RagEvalError):
    """The judge is asked in batches, and not all replies are there: call again later.

    Attributes
    ----------
    path : str
        The file of the run's batches.
    """

    def __init__(self, message: str, path: str) -> None:
        super().__init__(message)
        self.path = path
