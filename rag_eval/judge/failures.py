"""How a judgement can fail, one by one and as a whole."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias, get_args

from rag_eval.errors import RagEvalError
from rag_eval.samples import NullReason

FailureKind: TypeAlias = Literal[
    "unparsed",
    "incomplete",
    "refused",
    "truncated",
    "timed_out",
    "unreachable",
    "failed",
    "budget",
    "interrupted",
]

_NULL_REASONS: Final = {kind: NullReason[f"JUDGE_{kind.upper()}"] for kind in get_args(FailureKind)}

JUDGE_FAILURES: Final = frozenset(_NULL_REASONS.values())
"""Null reasons that say that a judge was to score and did not."""


class JudgeFailure(RagEvalError):
    """One judgement failed: its score is null and ``kind`` is the reason.

    Attributes
    ----------
    kind : FailureKind
        ``unparsed``: no JSON of the wanted form, or without the mark; ``incomplete``: verdicts are
        missing; ``refused``; ``truncated``: cut by a token limit; ``timed_out``; ``unreachable``:
        the server failed or limited the rate to the last try; ``failed``: the callable raised;
        ``budget``: not asked, a budget was reached; ``interrupted``: not asked any more.
    """

    def __init__(self, kind: FailureKind, message: str) -> None:
        super().__init__(message)
        self.kind: FailureKind = kind

    @property
    def null_reason(self) -> NullReason:
        """The reason that goes beside the null score."""
        return _NULL_REASONS[self.kind]


class JudgeCallError(RagEvalError):
    """What an adapter raises when a call fails; the message holds no key.

    Attributes
    ----------
    retryable : bool
        Trying again may help: a limit, a server's fault, a cut connection.
    fatal : bool
        No later call can succeed either: a wrong key, an unknown model.
    retry_after_s : float or None
        How long the server asked to wait.
    timed_out : bool
    rate_limited : bool
        The server takes fewer calls than it gets: all calls slow down.
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
    ) -> None:
        super().__init__(message)
        self.retryable = retryable
        self.fatal = fatal
        self.retry_after_s = retry_after_s
        self.timed_out = timed_out
        self.rate_limited = rate_limited


def late_reply(limit_s: float) -> JudgeCallError:
    """The error of a call that took longer than the limit in force."""
    return JudgeCallError(
        f"the judge gave no reply within {limit_s:g} s", retryable=True, timed_out=True
    )


class JudgeUnavailableError(RagEvalError):
    """The judge cannot be used at all: a wrong key, an unknown model, a server that is not there.

    ``partial`` holds what was judged before, when there is something.
    """

    partial: object = None
