"""The interface through which scorers ask a judge."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

import msgspec

from rag_eval.judge.rendering import PromptStyle, RowMark, render
from rag_eval.judge.replies import Tally, estimated_tokens, is_worth_keeping
from rag_eval.judge.steps import Fields, Step

Reply = TypeVar("Reply", bound=msgspec.Struct)


@dataclass(frozen=True, slots=True)
class Asked(Generic[Reply]):
    """The value of a reply.

    Attributes
    ----------
    prompt : str or None
        The prompt that was sent; None if the reply was cached.
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
        """The judge's parsed reply to a step; it is asked once more if the reply cannot be read.

        Parameters
        ----------
        fields : mapping
            The text, list of texts or number for each variable of the template.
        tally : Tally
            Counts calls and tokens.
        check : callable, optional
            Says, for the judge, what is missing from a reply of the right shape.

        Raises
        ------
        JudgeFailure
            If no usable reply was received; the score is null.
        """
        ...


class DryAsker:
    """Makes no calls: replies are simulated, calls and tokens are counted."""

    def __init__(self, style: PromptStyle) -> None:
        self._style = style
        self._mark = RowMark()
        self._kept: set[str] = set()

    async def ask(
        self,
        step: Step[Reply],
        fields: Fields,
        tally: Tally,
        check: Callable[[Reply], str | None] | None = None,
    ) -> Asked[Reply]:
        """The simulated reply of the step."""
        prompt = render(step, fields, self._style, row_mark=self._mark)
        value = step.imagine(fields)
        tally.llm_calls += 1
        tally.input_tokens += estimated_tokens(prompt.text)
        if is_worth_keeping(prompt.text):
            if prompt.text.shared in self._kept:
                tally.cached_tokens += estimated_tokens(prompt.text.system + prompt.text.shared)
            self._kept.add(prompt.text.shared)
        tally.output_tokens += estimated_tokens(msgspec.json.encode(value).decode())
        tally.estimated = True
        return Asked(value, prompt.text)
