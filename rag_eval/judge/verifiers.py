"""Verifiers: functions from texts and a claim to the probability that the texts support it."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from rag_eval.errors import InputError, glance
from rag_eval.judge.failures import JudgeFailure
from rag_eval.judge.replies import JudgeIdentity
from rag_eval.plumbing.checked_values import from_zero, share, whole_from_one

VERIFIED_METRICS: Final = ("faithfulness", "hallucination_rate", "context_recall")
"""The metrics that ask whether texts support claims, which is all that a verifier can say."""


@dataclass(frozen=True, slots=True)
class Window:
    """A claim and what it is checked against at once.

    Attributes
    ----------
    premises : tuple of str
        All contexts, for a function; for a model, which reads a part of one, empty.
    claim : str
    chunk : int or None
        The context that the part is of.
    span : (int, int) or None
        The part, in code points of the context; None for a whole context.
    tokens : object
        What a model reads.
    """

    premises: tuple[str, ...]
    claim: str
    chunk: int | None = None
    span: tuple[int, int] | None = None
    tokens: Any = None


@dataclass(frozen=True, slots=True)
class Support:
    """What a verifier says of a claim.

    Attributes
    ----------
    probability : float
        That the contexts support the claim.
    chunk : int or None
        The context that decided; None if the verifier does not say.
    span : (int, int) or None
        The part of it that decided; None for all of it.
    """

    probability: float
    chunk: int | None = None
    span: tuple[int, int] | None = None


class Verifier:
    """A function that says how probable it is that texts support a claim.

    Parameters
    ----------
    function : callable
        ``function(premises, claim)`` returns a probability from 0 to 1; ``premises`` is the tuple
        of a row's contexts. With ``batch_size``, ``function(pairs)`` gets a list of such pairs and
        returns a list of as many probabilities. It may be ``async``; one that is not is called by
        one thread at a time.
    name : str
        In signatures, and part of the key of cached probabilities.
    version : str, optional
        The same; change it when the function changes.
    threshold : float, default 0.5
        The probability from which a claim counts as supported.
    cost_per_claim : float, default 0
        In USD; counted in costs and in ``budget_usd``.
    batch_size : int, optional
        How many pairs a call gets at most.

    Raises
    ------
    InputError
        For a value that cannot be.
    """

    is_native = False
    """Whether its calls are of compiled code, which must not run when the process ends."""

    def __init__(
        self,
        function: Callable[..., Any],
        *,
        name: str,
        version: str = "",
        threshold: float = 0.5,
        cost_per_claim: float = 0.0,
        batch_size: int | None = None,
    ) -> None:
        if not callable(function):
            raise InputError(f"a verifier's function must be callable, got {glance(function)}")
        for value, what in ((name, "name"), (version, "version")):
            if not isinstance(value, str):
                raise InputError(f"a verifier's {what} must be a string, got {glance(value)}")
        if not name:
            raise InputError("a verifier needs a name, which signatures and caches record")
        self.function = function
        self.identity = JudgeIdentity(
            "verifier", name, None, (("version", version),) if version else ()
        )
        self.threshold = share(threshold, "threshold")
        self.cost_per_claim = from_zero(cost_per_claim, "cost_per_claim")
        self.takes_batches = batch_size is not None
        self.batch_size = 1 if batch_size is None else whole_from_one(batch_size, "batch_size")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.identity})"

    def windows(self, premises: Sequence[str], claim: str) -> list[Window]:
        """What the claim is checked against, one by one; the highest probability counts.

        Raises
        ------
        JudgeFailure
            If the claim is too long.
        """
        return [Window(tuple(premises), claim)]

    def ask(self, windows: Sequence[Window]) -> Any:
        """What the function returns for some windows, or an awaitable of it."""
        pairs = [(window.premises, window.claim) for window in windows]
        return self.function(pairs) if self.takes_batches else self.function(*pairs[0])

    def cancel(self, thread: int) -> None:
        """End the call that a thread is in, if it can be ended."""

    def read(self, found: Any, n_windows: int) -> list[float]:
        """The probabilities in what the function returned, checked.

        Raises
        ------
        JudgeFailure
        """
        if self.takes_batches and not isinstance(found, Iterable):
            raise JudgeFailure(
                "failed", f"{self.identity} returned {glance(found)}; expected a list"
            )
        values = list(found) if self.takes_batches else [found]
        if len(values) != n_windows:
            raise JudgeFailure(
                "failed",
                f"{self.identity} returned {len(values)} probabilities for {n_windows} claims",
            )
        return [self._probability(value) for value in values]

    def _probability(self, value: Any) -> float:
        is_number = isinstance(value, numbers.Real) and not isinstance(value, bool)
        if not is_number or math.isnan(value) or not 0 <= value <= 1:
            raise JudgeFailure(
                "failed",
                f"{self.identity} returned {glance(value)}; expected a probability from 0 to 1",
            )
        return float(value)
