"""The input and output of judging: a row's texts, its asker, verdicts on parts, a score."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, TypeVar

from rag_eval.errors import InputError
from rag_eval.inputs.samples import SampleLike, field_of, ground_truth_of
from rag_eval.judge.asking import Asker, Reply
from rag_eval.judge.failures import JudgeFailure
from rag_eval.judge.replies import Tally
from rag_eval.judge.steps import Fields, Step
from rag_eval.samples import NullReason

Subject: TypeAlias = Literal["answer claim", "ground truth claim", "statement", "chunk", "row"]


def has_word(text: str) -> bool:
    """Whether a text holds a letter or a digit of any script."""
    return any(map(str.isalnum, text))


@dataclass(frozen=True, slots=True)
class JudgedRow:
    """The texts of a sample; what is None was not given.

    Attributes
    ----------
    question, answer : str or None
    contexts : sequence of str or None
        Chunks in rank order. An empty list is not the same as none given.
    ground_truths : sequence of str
        The acceptable answers; empty if none is known.
    """

    question: str | None = None
    answer: str | None = None
    contexts: Sequence[str] | None = None
    ground_truths: Sequence[str] = ()

    @property
    def truths(self) -> list[str]:
        """The ground truths that hold a word, in order."""
        return [truth for truth in self.ground_truths if has_word(truth)]

    @property
    def chunks(self) -> list[str]:
        """The chunks, in order; none where none were given."""
        return list(self.contexts or ())

    @property
    def asked(self) -> str | list[str]:
        """The question as a field of a prompt that can do without: an empty list for none."""
        return [] if self.question is None else self.question


def judged_row(sample: SampleLike) -> JudgedRow:
    """The texts of a sample that judges read.

    Raises
    ------
    InputError
        For a field of a wrong type.
    """
    truth = ground_truth_of(sample)
    truths = [truth] if isinstance(truth, str) else list(truth or ())
    contexts = field_of(sample, "contexts")
    return JudgedRow(
        question=_text(field_of(sample, "question"), "question"),
        answer=_text(field_of(sample, "answer"), "answer"),
        contexts=None if contexts is None else _texts(contexts, "contexts"),
        ground_truths=[text for text in _texts(truths, "ground_truth") if text],
    )


def _text(value: object, name: str) -> str | None:
    if value is not None and not isinstance(value, str):
        raise InputError(f"{name} must be a string, got {type(value).__name__}")
    return value


def _texts(values: object, name: str) -> list[str]:
    if not isinstance(values, (list, tuple)) or not all(isinstance(text, str) for text in values):
        raise InputError(f"{name} must be a list of strings")
    return list(values)


@dataclass(frozen=True, slots=True)
class Verdict:
    """The judge's verdict on one part of a row.

    Attributes
    ----------
    subject : str
        What the part is: ``answer claim``, ``ground truth claim``, ``statement``, ``chunk``, or
        ``row`` for a rating, which is about the whole.
    text : str
        The part as the judge saw it or cut it out; empty for chunks and whole rows.
    verdict : str
        ``supported``, ``yes`` and such; a rating's digit.
    reason : str
        In the judge's words; may be empty.
    chunk : int or None
        The chunk that is judged, or that decided.
    quote : str
        The words that decided, as the judge copied them; may be empty.
    quote_found : bool or None
        Whether a chunk has the quote; None without one.
    probability : float or None
        Of a verifier: that the chunks support the part.
    window : (int, int) or None
        The code points of the chunk that decided; None for all of it, or without a verifier.
    """

    subject: Subject
    text: str
    verdict: str
    reason: str
    chunk: int | None = None
    quote: str = ""
    quote_found: bool | None = None
    probability: float | None = None
    window: tuple[int, int] | None = None

    def to_dict(self) -> dict[str, Any]:
        """As JSON values; without the text and the chunk where there is none."""
        found: dict[str, Any] = {"subject": self.subject, "verdict": self.verdict}
        if self.text:
            found["text"] = self.text
        if self.chunk is not None:
            found["chunk"] = self.chunk
        if self.quote:
            found["quote"] = self.quote
            found["quoteFound"] = self.quote_found
        if self.probability is not None:
            found["probability"] = self.probability
        if self.window is not None:
            found["window"] = list(self.window)
        return {**found, "reason": self.reason}


@dataclass(frozen=True, slots=True)
class Judgement:
    """One metric of one row.

    Attributes
    ----------
    score : float or None
        From 0 to 1, higher is better.
    null_reason : NullReason
        ``MEASURED`` exactly where there is a score.
    message : str
        Why the score is null, or is what it is without a look at the texts; empty otherwise.
    verdicts : tuple of Verdict
        What the score was counted from.
    explanation : str
        How the score came about, in a sentence.
    """

    score: float | None
    null_reason: NullReason
    message: str
    verdicts: tuple[Verdict, ...]
    explanation: str


def measured(score: float, explanation: str, verdicts: Sequence[Verdict]) -> Judgement:
    """A score and what it was counted from."""
    return Judgement(score, NullReason.MEASURED, "", tuple(verdicts), explanation)


def unasked_zero(message: str) -> Judgement:
    """A score of 0 that needs no judge."""
    return Judgement(0.0, NullReason.MEASURED, message, (), message)


def null(reason: NullReason, message: str, verdicts: Sequence[Verdict] = ()) -> Judgement:
    """A null score with its reason."""
    return Judgement(None, reason, message, tuple(verdicts), message)


Value = TypeVar("Value")


class RowSteps:
    """Asks the judge about one row.

    What is shared is started by the first metric that wants it, which it counts for, and is
    awaited by all of them: its failure is a failure of each. What was started is answered even if
    the metrics that wanted it have failed meanwhile, so that its reply, which is paid for, is kept
    for the next run.
    """

    def __init__(self, asker: Asker, row: JudgedRow) -> None:
        self.row = row
        self._asker = asker
        self._shared: dict[Hashable, asyncio.Task[Any]] = {}

    async def ask(
        self,
        step: Step[Reply],
        fields: Fields,
        tally: Tally,
        check: Callable[[Reply], str | None] | None = None,
    ) -> Reply:
        """The value of the judge's reply."""
        return (await self._asker.ask(step, fields, tally, check)).value

    def once(
        self, key: Hashable, start: Callable[[], Coroutine[Any, Any, Value]]
    ) -> asyncio.Task[Value]:
        """The task of that key, started if this is the first to want it."""
        if key not in self._shared:
            self._shared[key] = asyncio.create_task(start())
        return self._shared[key]

    async def finish(self) -> None:
        """Wait for what was started and is wanted no more."""
        await asyncio.gather(*map(_outcome, self._shared.values()))

    async def close(self) -> None:
        """End what was started."""
        await _end_all(list(self._shared.values()))


async def together(coroutines: Sequence[Coroutine[Any, Any, Value]]) -> list[Value]:
    """What all of them give, in order.

    A failed judgement is raised when the others have ended too, so that none of their replies is
    lost. Any other exception ends the others.
    """
    tasks = [asyncio.create_task(coroutine) for coroutine in coroutines]
    try:
        outcomes = await asyncio.gather(*map(_outcome, tasks))
    finally:
        await _end_all(tasks)
    values = [found for found in outcomes if not isinstance(found, JudgeFailure)]
    if len(values) < len(outcomes):
        raise next(found for found in outcomes if isinstance(found, JudgeFailure))
    return values


async def _outcome(wanted: Awaitable[Value]) -> Value | JudgeFailure:
    try:
        return await wanted
    except JudgeFailure as failure:
        return failure


async def _end_all(tasks: Sequence[asyncio.Task[Any]]) -> None:
    """Cancel what still runs and wait for all; what they raise was, or need not be, heard."""
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
