"""An answer's statements to its relevance to the question."""

from __future__ import annotations

from collections import Counter
from typing import Final

import msgspec

from rag_eval.judge.asking import Tally
from rag_eval.judge.metrics.imagining import REASON, sentences, text_of
from rag_eval.judge.metrics.judgements import Judgement, Verdict, measured
from rag_eval.judge.metrics.replies import ANSWERING, AnsweringLabel, label
from rag_eval.judge.metrics.row_steps import RowSteps
from rag_eval.judge.steps import Fields, Step


class Statement(msgspec.Struct, kw_only=True):
    """One statement of the answer and whether it answers the question."""

    statement: str
    reason: str = ""
    verdict: AnsweringLabel

    def __post_init__(self) -> None:
        self.verdict = label(self.verdict, ANSWERING)


class StatementsReply(msgspec.Struct):
    """The answer as a whole and by statement."""

    refusal: bool
    statements: list[Statement]


def _imagined(fields: Fields) -> StatementsReply:
    found = sentences(text_of(fields, "answer"))
    return StatementsReply(
        refusal=False,
        statements=[Statement(statement=text, reason=REASON, verdict="yes") for text in found],
    )


ANSWER_STATEMENTS: Final = Step("answer_statements", StatementsReply, _imagined)


async def answer_relevance(steps: RowSteps, tally: Tally) -> Judgement:
    """Mean over the answer's statements: yes 1, partly 0.5, no 0; a refusal has 0."""
    fields: Fields = {"question": steps.row.question or "", "answer": steps.row.answer or ""}
    reply = await steps.ask(ANSWER_STATEMENTS, fields, tally, _no_statement)
    verdicts = [
        Verdict("statement", one.statement, one.verdict, one.reason) for one in reply.statements
    ]
    if reply.refusal:
        return measured(0.0, "The answer declines to answer.", verdicts)
    counts = Counter(verdict.verdict for verdict in verdicts)
    score = (2 * counts["yes"] + counts["partly"]) / (2 * len(verdicts))
    said = ", ".join(f"{counts[name]} {name}" for name in ANSWERING if counts[name])
    explanation = f"{len(verdicts)} statement(s) of the answer, to the question: {said}."
    return measured(score, explanation, verdicts)


def _no_statement(reply: StatementsReply) -> str | None:
    if reply.statements or reply.refusal:
        return None
    return "it must list at least one statement of the answer"
