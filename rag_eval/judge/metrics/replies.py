"""Checks of replies: labels of a known set, and one verdict for each numbered item."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from operator import attrgetter
from typing import Annotated, Any, Final, TypeAlias, TypeVar

from msgspec import Meta

from rag_eval.judge.metrics.imagining import texts_of
from rag_eval.judge.metrics.judgements import RowSteps, together
from rag_eval.judge.replies import Tally
from rag_eval.judge.steps import Fields, Step

Item = TypeVar("Item")

SUPPORT: Final = ("supported", "partial", "unsupported", "contradicted")
MATCH: Final = ("yes", "no", "contradicted")
ANSWERING: Final = ("yes", "partly", "no")
YES_NO: Final = ("yes", "no")

# Texts to the decoder, so that "Yes" can be taken for "yes"; an enum to servers with schemas.
SupportLabel: TypeAlias = Annotated[str, Meta(extra_json_schema={"enum": list(SUPPORT)})]
MatchLabel: TypeAlias = Annotated[str, Meta(extra_json_schema={"enum": list(MATCH)})]
AnsweringLabel: TypeAlias = Annotated[str, Meta(extra_json_schema={"enum": list(ANSWERING)})]
YesNoLabel: TypeAlias = Annotated[str, Meta(extra_json_schema={"enum": list(YES_NO)})]

# A judge loses count in longer lists, and servers cut longer replies.
VERDICTS_PER_CALL: Final = 25
_MOST_NUMBERS: Final = 10


def in_slices(items: Sequence[Item]) -> list[Sequence[Item]]:
    """Items in runs that one call can be asked about; the last one may be shorter."""
    begins = range(0, len(items), VERDICTS_PER_CALL)
    return [items[begin : begin + VERDICTS_PER_CALL] for begin in begins]


async def verdicts_on(
    steps: RowSteps, step: Step[Any], fields: Fields, what: str, items: Sequence[Item], tally: Tally
) -> list[tuple[Item, Any]]:
    """Each item with its verdict, in order; the judge is asked about a slice at a time.

    Parameters
    ----------
    what : str
        The field that the items are, and that says in a verdict which of them it is on.
    """
    number = attrgetter(what)

    async def asked(part: Sequence[Item]) -> list[tuple[Item, Any]]:
        def check(reply: Any) -> str | None:
            count_from_zero(reply.verdicts, what, len(part))
            return numbering_complaint(map(number, reply.verdicts), len(part), what)

        texts: Any = {**fields, what: part}
        reply = await steps.ask(step, texts, tally, check)
        return list(zip(part, sorted(reply.verdicts, key=number), strict=True))

    return list(chain.from_iterable(await together([asked(part) for part in in_slices(items)])))


def label(text: str, labels: Sequence[str]) -> str:
    """The label that a reply means; case and white space around it do not count.

    Raises
    ------
    ValueError
        For any other label, which makes the reply invalid.
    """
    found = text.strip().lower()
    if found not in labels:
        raise ValueError(f"a verdict must be one of {', '.join(labels)}")
    return found


def one_each(**lists: str) -> Callable[[Fields], dict[str, tuple[int, int]]]:
    """The lengths of lists of verdicts in a reply: as many as a field has texts."""

    def lengths(fields: Fields) -> dict[str, tuple[int, int]]:
        counts = {name: len(texts_of(fields, subject)) for name, subject in lists.items()}
        return {name: (count, count) for name, count in counts.items()}

    return lengths


def count_from_zero(verdicts: Sequence[Any], what: str, n_wanted: int) -> None:
    """Renumber verdicts that a judge numbered from 1, and the chunks that they name with them."""
    if sorted(getattr(one, what) for one in verdicts) != list(range(1, n_wanted + 1)):
        return
    for one in verdicts:
        for name in {what, "chunk"}:
            number = getattr(one, name, None)
            if number is not None:
                setattr(one, name, number - 1)


def numbering_complaint(numbers: Iterable[int], n_wanted: int, what: str) -> str | None:
    """What is wrong with verdicts that were to be given once for each of ``n_wanted`` things.

    Returns
    -------
    str or None
        In words for the judge; None if each number of at least 0 is there exactly once.
    """
    counts = Counter(numbers)
    wanted = range(n_wanted)
    faults = [
        ("missing", [number for number in wanted if not counts[number]]),
        ("given more than once", [number for number in wanted if counts[number] > 1]),
    ]
    said = [f"{fault}: {_listed(found)}" for fault, found in faults if found]
    if any(number not in wanted for number in counts):
        said.append(f"some numbers belong to no {what}")
    if not said:
        return None
    return f"it must have one verdict for each {what}, 0 to {n_wanted - 1}; {'; '.join(said)}"


def _listed(numbers: Sequence[int]) -> str:
    shown = ", ".join(map(str, numbers[:_MOST_NUMBERS]))
    return shown + (" and more" if len(numbers) > _MOST_NUMBERS else "")
