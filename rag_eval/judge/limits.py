"""Limits of a run's judge calls: how many at once and in all, how long, for how much."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Final, Self

from rag_eval.plumbing.checked_values import from_zero, positive, whole_from_one, whole_from_zero

CALL_TIMEOUT_S: Final = 60.0


@dataclass(frozen=True, slots=True)
class JudgeLimits:
    """What the calls of a run may take; None is no limit.

    Attributes
    ----------
    concurrency : int, default 4
        Calls in flight, all judges together.
    call_timeout_s : float, default 60
        One call ends there; it is tried once more.
    run_timeout_s : float, optional
        From the first question on; what is not judged by then is not judged.
    retries : int, default 5
        Tries after the first of a call that failed in a way that may pass.
    requests_per_minute, tokens_per_minute : float, optional
        Spread evenly: a second's worth may come at once.
    max_calls : int, optional
        Calls of the run, tries among them; replies from a cache are free.
    budget_usd : float, optional
        No call begins once this is spent; calls in flight then may go beyond it.
    max_parse_failures : int, optional
        With one more reply that cannot be read, the judge counts as unavailable.
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

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> Self:
        """The limits among some options; None and missing mean the default.

        Raises
        ------
        InputError
            Naming the option whose value cannot be.
        """
        given: dict[str, Any] = {
            limit.name: _CHECKS[limit.name](options[limit.name], limit.name)
            for limit in fields(cls)
            if options.get(limit.name) is not None
        }
        return cls(**given)


_CHECKS = {
    "concurrency": whole_from_one,
    "call_timeout_s": positive,
    "run_timeout_s": positive,
    "retries": whole_from_zero,
    "requests_per_minute": positive,
    "tokens_per_minute": positive,
    "max_calls": whole_from_zero,
    "budget_usd": from_zero,
    "max_parse_failures": whole_from_zero,
}
