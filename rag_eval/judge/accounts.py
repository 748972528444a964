"""Counts calls, tokens and cost of a run, and says when a budget is reached."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from rag_eval.errors import InputError
from rag_eval.judge.prices import Price, PriceTable, cost_at
from rag_eval.judge.replies import JudgeIdentity, JudgeLimits, Tally, Usage, is_named
from rag_eval.plumbing.spelling import counted


class JudgeProgress(NamedTuple):
    """What judging has taken so far.

    Attributes
    ----------
    n_calls : int
    n_failed : int
        Judgements that failed.
    n_tokens : int
        In and out.
    cost_usd : float or None
        None without prices.
    n_claims : int
        Claims that a verifier was asked about.
    """

    n_calls: int
    n_failed: int
    n_tokens: int
    cost_usd: float | None
    n_claims: int = 0

    def __str__(self) -> str:
        text = (
            f"{counted(self.n_calls, 'call')}, {self.n_failed:,} failed, {self.n_tokens:,} tokens"
        )
        if self.n_claims:
            text = f"{counted(self.n_claims, 'claim')} verified, {text}"
        return text if self.cost_usd is None else f"{text}, {self.cost_usd:.2f} USD"


class Accounts:
    """Counts for the tallies of rows and for the run at the same time.

    Attributes
    ----------
    tally : Tally
        Calls, tokens and unreadable replies of all judges.

    Raises
    ------
    InputError
        If there is a budget and a judge's model has no price.
    """

    def __init__(
        self,
        identities: Sequence[JudgeIdentity],
        limits: JudgeLimits,
        prices: PriceTable | None,
    ) -> None:
        self.tally = Tally()
        self._limits = limits
        self._prices = prices
        self._price_of = [_price(one, prices) for one in identities]
        self._cost_usd = [0.0] * len(identities)
        self._verifier_usd = 0.0
        self._spent_usd = 0.0
        self._has_unpriced = prices is None and bool(identities)
        if limits.budget_usd is not None:
            _check_prices(identities, self._price_of)

    def add(self, tally: Tally, took: Tally) -> None:
        """Count an event in a row's tally and in the run's."""
        tally.add(took)
        self.tally.add(took)

    def call_took(
        self,
        judge: int,
        tally: Tally,
        usage: Usage,
        model: str | None = None,
        is_batched: bool = False,
    ) -> None:
        """Count the tokens of a call, or of a request in a batch."""
        took = Tally(
            input_tokens=usage.input_tokens,
            output_tokens=usage.output_tokens,
            cached_tokens=usage.cached_tokens,
            estimated=usage.estimated,
        )
        self.add(tally, took)
        price = self._price_of[judge]
        if price is None and self._prices is not None:
            price = self._prices.price_of(model)
        if price is None:
            self._has_unpriced = True
        else:
            cost = cost_at(price, usage, is_batched=is_batched)
            self._cost_usd[judge] += cost
            self._spent_usd += cost

    def verifies(self, tally: Tally, cost_usd: float) -> None:
        """Count a claim that a verifier is asked about, at its declared cost."""
        self.add(tally, Tally(verified_claims=1))
        self._verifier_usd += cost_usd
        self._spent_usd += cost_usd

    @property
    def cost_usd(self) -> float | None:
        """The cost of the calls so far; None if one went to a model without a price."""
        return None if self._has_unpriced else math.fsum((*self._cost_usd, self._verifier_usd))

    def reached(self) -> str | None:
        """The budget that was reached, in words; None if none was."""
        most, budget = self._limits.max_calls, self._limits.budget_usd
        if most is not None and self.tally.llm_calls >= most:
            return f"max_calls={most} was reached"
        if budget is not None and self._spent_usd >= budget:
            return f"budget_usd={budget:g} was reached"
        return None

    def too_many_unreadable(self) -> str | None:
        """A message if more replies were unreadable than allowed; otherwise None."""
        most, found = self._limits.max_parse_failures, self.tally.parse_failures
        if most is None or found <= most:
            return None
        return f"{found} replies could not be read (max_parse_failures={most})"


def _price(identity: JudgeIdentity, prices: PriceTable | None) -> Price | None:
    if prices is None or not is_named(identity):
        return None
    return prices.price_of(identity.model)


def _check_prices(identities: Sequence[JudgeIdentity], prices: Sequence[Price | None]) -> None:
    for identity, price in zip(identities, prices, strict=True):
        if price is not None:
            continue
        if not is_named(identity):
            raise InputError(
                "budget_usd needs the price of every judge, and one has no name: "
                "set its attribute judge_name"
            )
        raise InputError(
            f"budget_usd needs a price for {identity.model!r}: "
            'prices={"MODEL": {"input": USD per million tokens, "output": ...}}'
        )
