"""Answers and the texts to check them against -> their claims, each supported, contradicted or
neither.

A claim is a sentence of the answer as the grounded profile cuts it. It is supported if
profile's finding, too; whether it is contradicted is decided here, by numbers, names and denials.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeAlias

from rag_eval.errors import InputError
from rag_eval.judge.metrics.judgements import has_word
from rag_eval.scorers.regtrace.clauses import (
    Clause,
    ClausedText,
    n_words,
    numbers_of,
    overlap,
    word_counts,
)
from rag_eval.scorers.texts import cut

if TYPE_CHECKING:
    from rag_eval.kernels.scoring import Evidence

Verdict: TypeAlias = Literal["supported", "contradicted", "unverifiable"]

VERDICTS: Final[tuple[Verdict, ...]] = ("supported", "contradicted", "unverifiable")

SUPPORT_CUT: Final = 0.60
"""Support from which a claim counts as supported: that of the grounded profile."""

MOST_SENTENCES: Final = 20_000
"""Claims of one answer that are looked at, about ten seconds' worth."""

MOST_CHARACTERS: Final = 2_000_000
"""Characters of an answer, a question, or all texts that an answer is checked against."""

MOST_PAIRS: Final = 100_000_000
"""Pairs of a claim and a place in the references that has one of its words, as many seconds' worth.

A claim is compared with every such place.
"""

_SENTENCE_ENDS: Final = re.compile(r"[.!?…。！？।؟\n]+")
_COVERED_CUT: Final = 0.70
# Enough of the words to say that both speak of the same thing.
_SAME_SUBJECT: Final = 0.50
_SAME_CLAUSE: Final = 0.60
_SHORT_WORDS: Final = 3
_DENIED: Final = "one denies what the other says"
_BLOCK_ROWS: Final = 256
# A claim of more clauses is no sentence, and comparing them all would take its square.
_MOST_CLAIM_CLAUSES: Final = 40
_MOST_NEAR_CLAUSES: Final = 80


@dataclass(frozen=True, slots=True)
class ClaimRow:
    """An answer and the texts it is checked against.

    Attributes
    ----------
    references : sequence of str
        The expected output, or the contexts.
    is_expected : bool
        ``references`` is the expected output, and short answers are compared as values.
    language : str or None
        Tag of the language; detected where None.
    """

    answer: str
    references: Sequence[str]
    is_expected: bool = True
    question: str | None = None
    language: str | None = None


class Claim(NamedTuple):
    """A claim of an answer.

    Attributes
    ----------
    text : str
    span : (int, int)
        ``answer[begin:end]``.
    verdict : {"supported", "contradicted", "unverifiable"}
    reason : str
        In a few words.
    evidence : str
        What of the references comes nearest; empty if nothing does.
    """

    text: str
    span: tuple[int, int]
    verdict: Verdict
    reason: str
    evidence: str


def claims_of(rows: Sequence[ClaimRow]) -> Iterator[list[Claim] | None]:
    """The claims of each answer with their verdicts, row by row.

    Yields
    ------
    list of Claim or None
        No claims for an answer without a word; None if the references have no word.

    Raises
    ------
    InputError
        For an unknown language tag, and where texts have more than ``MOST_CHARACTERS``, or
        claims are more than ``MOST_SENTENCES`` or would be compared with more than ``MOST_PAIRS``
        places.
    """
    from rag_eval.inputs.row_texts import read_rows
    from rag_eval.inputs.samples import FieldNeeds
    from rag_eval.kernels import scoring as kernels
    from rag_eval.kernels.languages import LISTED
    from rag_eval.kernels.scoring import Evidence, metric_numbers
    from rag_eval.kernels.settings import GroundedSettings

    needs = FieldNeeds.of(("faithfulness",), "grounded")
    metrics = metric_numbers(("faithfulness",))
    settings = GroundedSettings()
    for first in range(0, len(rows), _BLOCK_ROWS):
        block = rows[first : first + _BLOCK_ROWS]
        for row in block:
            _check_size(row)
        batch = read_rows([_sample(row) for row in block], first, needs).pack()
        for place, row in enumerate(block):
            if not any(map(has_word, row.references)):
                yield None
                continue
            details = kernels.grounded_details(batch, place, settings, metrics)
            claims = [*map(Evidence._make, details.answer or ())]
            if len(claims) > MOST_SENTENCES:
                raise InputError(
                    f"answer must have at most {MOST_SENTENCES:,} claims, but it has more"
                )
            reader = _Reader(row, LISTED[details.language])
            yield [reader.claim(found) for found in claims]


def counted(claims: Sequence[Claim]) -> str:
    """``"2 supported, 1 contradicted"``."""
    counts = Counter(claim.verdict for claim in claims)
    return ", ".join(f"{counts[name]} {name}" for name in VERDICTS if counts[name])


def _check_size(row: ClaimRow) -> None:
    """An InputError where words are repeated so often that it would take minutes."""
    n_there = sum(map(len, row.references))
    for name, size in (
        ("answer", len(row.answer)),
        ("question", len(row.question or "")),
        ("ground_truth" if row.is_expected else "contexts", n_there),
    ):
        if size > MOST_CHARACTERS:
            raise InputError(
                f"{name} must have at most {MOST_CHARACTERS:,} characters, has {size:,}"
            )
    if len(row.answer) * n_there <= MOST_PAIRS:
        return
    # A word counts once in a sentence, however often it is there.
    said = Counter(
        word for sentence in _SENTENCE_ENDS.split(row.answer) for word in word_counts(sentence)
    )
    there = sum((word_counts(text) for text in row.references), Counter())
    pairs = sum(count * there[word] for word, count in said.items())
    if pairs > MOST_PAIRS:
        raise InputError(
            f"answer must have at most {MOST_PAIRS:,} pairs of a claim and a place with one of its "
            f"words in the texts it is checked against, has {pairs:,}"
        )


def _sample(row: ClaimRow) -> dict[str, object]:
    return {
        "question": row.question,
        "answer": row.answer,
        "contexts": list(row.references),
        "language": row.language,
    }


class _Reader:
    """Gives verdicts on the claims of one row."""

    def __init__(self, row: ClaimRow, language: str) -> None:
        self._row = row
        self._language = language
        self._references = [ClausedText(text, language) for text in row.references]
        self._asked = Clause(row.question or "", language)
        self._whole = row.answer.strip()

    def claim(self, found: Evidence) -> Claim:
        text = self._row.answer[slice(*found.span)]
        near = self._near(found)
        verdict, reason = self._verdict(text, found, near)
        return Claim(text, found.span, verdict, reason, self._window(found))

    def _window(self, found: Evidence) -> str:
        if found.chunk is None or found.window is None:
            return self._row.references[0] if len(self._row.references) == 1 else ""
        return self._row.references[found.chunk][slice(*found.window)]

    def _near(self, found: Evidence) -> list[Clause]:
        """The clauses about the window that supports a claim best."""
        if found.chunk is None or found.window is None:
            return []
        return self._references[found.chunk].touching(*found.window, _MOST_NEAR_CLAUSES)

    def _verdict(self, text: str, found: Evidence, near: list[Clause]) -> tuple[Verdict, str]:
        clauses = ClausedText(text, self._language)
        contradiction = self._contradiction(text, clauses, found, near)
        if contradiction and not self._says_so(clauses):
            return "contradicted", contradiction
        if self._is_number(text) and self._expects_number(text):
            return "supported", "the number is in the reference"
        numbers = self._missing_numbers(found)
        if numbers:
            return "unverifiable", f"the number {cut(numbers[0])} is not in the reference"
        if found.missing_names:
            return "unverifiable", f"the name {cut(found.missing_names[0])} is not in the reference"
        if found.support >= SUPPORT_CUT and found.covered >= _COVERED_CUT:
            return "supported", f"{round(100 * found.covered)} % of its words are in one passage"
        return "unverifiable", (
            f"no passage has more than {round(100 * found.covered)} % of its words"
        )

    def _contradiction(
        self, text: str, claim: ClausedText, found: Evidence, near: list[Clause]
    ) -> str:
        """Why the references say otherwise; empty if they do not."""
        if self._is_other_value(text, found):
            return "another value is expected"
        if found.covered < _SAME_SUBJECT:
            return ""
        clauses = claim.clauses(_MOST_CLAIM_CLAUSES)
        return (
            self._other_number(clauses, found, near)
            or self._other_name(clauses, found, near)
            or _denied(clauses, near)
            or self._swapped_number(clauses, near)
        )

    def _is_other_value(self, text: str, found: Evidence) -> bool:
        """Both texts are a value of a few words, and they have none in common."""
        row = self._row
        if not row.is_expected or found.covered > 0 or len(row.references) != 1:
            return False
        if self._is_number(text):
            return bool(self._references[0].numbers) and not self._expects_number(text)
        return self._are_short

    @cached_property
    def _are_short(self) -> bool:
        texts = (self._row.answer, self._row.references[0])
        return all(n_words(text) <= _SHORT_WORDS for text in texts)

    def _is_number(self, text: str) -> bool:
        """The whole answer is a number."""
        if not self._row.is_expected or text.strip() != self._whole:
            return False
        return bool(numbers_of(text)) and not Clause(text, self._language).words

    def _expects_number(self, text: str) -> bool:
        return any(numbers_of(text) <= reference.numbers for reference in self._references)

    def _missing_numbers(self, found: Evidence) -> list[str]:
        """Numbers of a claim that no reference has, however it writes them."""
        return [
            number
            for number in found.missing_numbers
            if not any(_has_number(reference, number) for reference in self._references)
        ]

    def _other_number(self, claim: list[Clause], found: Evidence, near: list[Clause]) -> str:
        missing = self._missing_numbers(found)
        if not missing:
            return ""
        said = frozenset[Decimal]().union(*(clause.numbers for clause in claim))
        there = frozenset[Decimal]().union(*(clause.numbers for clause in near))
        return f"the reference has another number than {cut(missing[0])}" if there - said else ""

    def _other_name(self, claim: list[Clause], found: Evidence, near: list[Clause]) -> str:
        if found.covered == 1 and not found.missing_names:
            return ""
        there = frozenset[str]().union(*(clause.names for clause in near))
        said = frozenset[str]().union(*(clause.tokens for clause in claim))
        others = there - said
        if found.missing_names:
            name = cut(found.missing_names[0])
            return f"the reference has another name than {name}" if others else ""
        return self._other_opening(claim, near) if others else ""

    def _other_opening(self, claim: list[Clause], near: list[Clause]) -> str:
        """A subject that opens the claim and stands nowhere, while the rest of it is there.

        "London is the capital of France." Capitals at the start of a sentence tell no names from
        other words, so two plurals ("Workers", "Employees") may mean the same.
        """
        if not claim or not claim[0].tokens:
            return ""
        opening = claim[0].tokens[0]
        words = claim[0].words
        own = Clause(opening, self._language).words
        if opening not in claim[0].names or not own or len(words) < 2:
            return ""
        everywhere = frozenset[str]().union(*(clause.words for clause in near))
        if own & (everywhere | self._asked.words) or not words - own <= everywhere:
            return ""
        for clause in near:
            if words - own <= clause.words and clause.tokens:
                other = clause.tokens[0]
                is_name = other in clause.names and other not in claim[0].tokens
                if is_name and not (opening.endswith("s") and other.endswith("s")):
                    return f"the reference has another name than {cut(opening)}"
        return ""

    def _swapped_number(self, claim: list[Clause], near: list[Clause]) -> str:
        """A number that is somewhere else, where the clause about the same has another."""
        for clause in claim:
            numbers = clause.numbers - self._asked.numbers
            if not numbers or len(clause.words) < 2:
                continue
            same = [other for other in near if clause.words <= other.words]
            if len(same) == 1 and same[0].numbers and not numbers & same[0].numbers:
                return "the reference has another number beside the same words"
        return ""

    def _says_so(self, claim: ClausedText) -> bool:
        """Whether the references have all clauses of a claim word by word."""
        return any(claim.keys <= reference.keys for reference in self._references)


def _denied(claim: list[Clause], near: list[Clause]) -> str:
    """Whether a clause denies what the nearest clause about the same says, or the other way."""
    for clause in claim:
        shares = [overlap(clause.words, other.words) for other in near]
        best = max(shares, default=0.0)
        if best < _SAME_CLAUSE:
            continue
        nearest = [other for other, share in zip(near, shares, strict=True) if share == best]
        if all(other.is_negated != clause.is_negated for other in nearest):
            return _DENIED
    return _denied_in_short(claim, near)


def _denied_in_short(claim: list[Clause], near: list[Clause]) -> str:
    """Whether a clause that leaves most to the one before it ("but not on Tuesday") denies one."""
    for other in near:
        if not other.words or not other.is_negated:
            continue
        said = [clause for clause in claim if other.words <= clause.words]
        stated = any(
            other.words <= clause.words and not clause.is_negated
            for clause in near
            if clause is not other
        )
        if said and not stated and not any(clause.is_negated for clause in said):
            return _DENIED
    return ""


def _has_number(reference: ClausedText, written: str) -> bool:
    numbers = numbers_of(written)
    return bool(numbers) and numbers <= reference.numbers
