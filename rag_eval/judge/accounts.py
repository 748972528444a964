"""What the calls of a run took: replies and their usage in, totals and whether to go on out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from rag_eval.errors import InputError
from rag_eval.judge.asking import Tally
from rag_eval.judge.failures import FailureKind
from rag_eval.judge.identities import is_named
from rag_eval.judge.limits import JudgeLimits
from rag_eval.judge.prices import Price, PriceTable, cost_at
from rag_eval.judge.replies import JudgeIdentity, JudgeReply, Usage


@dataclass(frozen=True, slots=True)
class SessionTotals:
    """What a run's judges took so far.

    Attributes
    ----------
    tally : Tally
        Calls, tokens and unreadable replies of all judges.
    by_judge : tuple of Tally
        The same for each.
    failures : dict
        Failed judgements by kind.
    retries : int
        Tries after the first, among the calls of the tally.
    late_replies : int
        Replies that came after their call had ended.
    cost_usd : float or None
        None where a call was made to a model without a price.
    """

    tally: Tally
    by_judge: tuple[Tally, ...]
    failures: dict[FailureKind, int]
    retries: int
    late_replies: int
    cost_usd: float | None


@dataclass(slots=True)
class _Account:
    """One judge's."""

    tally: Tally = field(default_factory=Tally)
    price: Price | None = None
    cost_usd: float = 0.0
    n_unpriced: int = 0


class Accounts:
    """Counts for the rows' tallies and for the run at once.

    Raises
    ------
    InputError
        When there is a budget and a judge's model has no price.
    """

    def __init__(
        self,
        identities: Sequence[JudgeIdentity],
        limits: JudgeLimits,
        prices: PriceTable | None,
    ) -> None:
        self.failures: dict[FailureKind, int] = {}
        self.retries = 0
        self._limits = limits
        self._prices = prices
        self._judges = [_Account(price=_price(one, prices)) for one in identities]
        self._n_begun = 0
        self._spent_usd = 0.0
        if limits.budget_usd is not None:
            _check_prices(identities, self._judges)

    def call_begins(self, judge: int, tally: Tally) -> None:
        """A call is about to be made."""
        self._n_begun += 1
        tally.llm_calls += 1
        self._judges[judge].tally.llm_calls += 1

    def reply_came(self, judge: int, tally: Tally, reply: JudgeReply) -> None:
        """A call gave a reply."""
        if reply.usage is not None:
            self.call_took(judge, tally, reply.usage, reply.model)

    def call_took(self, judge: int, tally: Tally, usage: Usage, model: str | None = None) -> None:
        """A call took tokens."""
        account = self._judges[judge]
        for one in (tally, account.tally):
            one.input_tokens += usage.input_tokens
            one.output_tokens += usage.output_tokens
            one.estimated |= usage.estimated
        price = account.price
        if price is None and self._prices is not None:
            price = self._prices.price_of(model)
        if price is None:
            account.n_unpriced += 1
        else:
            account.cost_usd += cost_at(price, usage)
            self._spent_usd += cost_at(price, usage)

    def reply_was_cached(self, judge: int, tally: Tally) -> None:
        """A reply of an earlier run was used."""
        tally.cached_calls += 1
        self._judges[judge].tally.cached_calls += 1

    def reply_was_unreadable(self, judge: int, tally: Tally) -> None:
        """A reply could not be read."""
        tally.parse_failures += 1
        self._judges[judge].tally.parse_failures += 1

    def judgement_failed(self, kind: FailureKind) -> None:
        """A score will be null."""
        self.failures[kind] = self.failures.get(kind, 0) + 1

    def reached(self) -> str | None:
        """The budget after which no call may begin, in words; None before."""
        most, budget = self._limits.max_calls, self._limits.budget_usd
        if most is not None and self._n_begun >= most:
            return f"max_calls={most} was reached"
        if budget is not None and self._spent_usd >= budget:
            return f"budget_usd={budget:g} was reached"
        return None

    def too_many_unreadable(self) -> str | None:
        """That more replies were unreadable than the run may have, in words; else None."""
        most = self._limits.max_parse_failures
        found = sum(account.tally.parse_failures for account in self._judges)
        if most is None or found <= most:
            return None
        return f"{found} replies could not be read (max_parse_failures={most})"

    def totals(self, late_replies: int) -> SessionTotals:
        """All of it so far."""
        tally = Tally()
        for account in self._judges:
            tally.add(account.tally)
        priced = self._prices is not None and not any(
            account.n_unpriced for account in self._judges
        )
        return SessionTotals(
            tally=tally,
            by_judge=tuple(_copy(account.tally) for account in self._judges),
            failures=dict(self.failures),
            retries=self.retries,
            late_replies=late_replies,
            cost_usd=sum(account.cost_usd for account in self._judges) if priced else None,
        )


def _price(identity: JudgeIdentity, prices: PriceTable | None) -> Price | None:
    if prices is None or not is_named(identity):
        return None
    return prices.price_of(identity.model)


def _check_prices(identities: Sequence[JudgeIdentity], judges: Sequence[_Account]) -> None:
    for identity, account in zip(identities, judges, strict=True):
        if account.price is not None:
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


def _copy(tally: Tally) -> Tally:
    copied = Tally()
    copied.add(tally)
    return copied
