"""What a scorer is given to ask a judge with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

import msgspec

from rag_eval.judge.rendering import PromptStyle, render
from rag_eval.judge.replies import Tally, estimated_tokens
from rag_eval.judge.steps import Fields, Step

Reply = TypeVar("Reply", bound=msgspec.Struct)


@dataclass(frozen=True, slots=True)
class Asked(Generic[Reply]):
    """The value of a reply.

    Attributes
    ----------
    prompt : str or None
        As it was sent; None where the reply was cached.
    """

    value: Reply
    prompt: str | None = None


class Asker(Protocol):
    """Asks one judge about one row, in one of its repeats."""

    async def ask(
        self,
        step: Step[Reply],
        fields: Fields,
        tally: Tally,
        check: Callable[[Reply], str | None] | None = None,
    ) -> Asked[Reply]:
        """The judge's reply to a step, read; asked once more when it cannot be read.

        Parameters
        ----------
        fields : mapping
            Per variable of the template its text, list of texts, or number.
        tally : Tally
            Counts what it took.
        check : callable, optional
            Says, in words for the judge, what is missing from a reply of the right shape.

        Raises
        ------
        JudgeFailure
            When there is no reply to be had; its score is null.
        """
        ...


class DryAsker:
    """Asks nobody: replies are imagined, calls and tokens counted."""

    def __init__(self, style: PromptStyle) -> None:
        self._style = style

    async def ask(
        self,
        step: Step[Reply],
        fields: Fields,
        tally: Tally,
        check: Callable[[Reply], str | None] | None = None,
    ) -> Asked[Reply]:
        """The reply that the step imagines."""
        prompt = render(step, fields, self._style)
        value = step.imagine(fields)
        tally.llm_calls += 1
        tally.input_tokens += estimated_tokens(prompt.text)
        tally.output_tokens += estimated_tokens(msgspec.json.encode(value).decode())
        tally.estimated = True
        return Asked(value, prompt.text)
