"""HazelJS's judge.  In: texts, and a judge's reply.  Out: a prompt to send, and score and reason.

The contract is that of ``@hazeljs/eval``: the caller sends the prompt and hands over the reply,
which bears no mark. The texts are still fenced. Where the mark should be required, ask one of the
judged metrics instead.
"""

from __future__ import annotations

import re
from typing import Any, Final, NamedTuple

from rag_eval.judge.failures import JudgeFailure
from rag_eval.judge.rendering import fenced_prompt
from rag_eval.judge.steps import load_template
from rag_eval.scorers.javascript import parsed, trimmed

# Both have to be the very ends of the reply.
_FENCE_BEFORE: Final = re.compile(r"\A```(?:json)?", re.IGNORECASE)
_FENCE_AFTER: Final = "```"


class HazelJudgement(NamedTuple):
    """The content of a reply.

    Attributes
    ----------
    score : float
        From 0 to 1.
    reasoning : object
        As in the reply, usually a text; None if there is none.
    """

    score: float
    reasoning: Any


def build_relevance_judge_prompt(question: str, answer: str) -> str:
    """The prompt that asks how relevant an answer is to a question."""
    template = load_template("hazel/relevance")
    return fenced_prompt(template, {"question": question, "answer": answer})


def build_faithfulness_judge_prompt(context: str, answer: str) -> str:
    """The prompt that asks how much of an answer a context supports."""
    template = load_template("hazel/faithfulness")
    return fenced_prompt(template, {"context": context, "answer": answer})


def parse_judge_score(raw: str) -> HazelJudgement:
    """Score and reasoning of a reply that is one JSON value, with or without a code fence.

    A score that is not a JSON number counts as 0, as in the mirrored tool; a score outside 0 to 1
    is clipped.

    Raises
    ------
    JudgeFailure
        ``unparsed``: the reply is not JSON, or ``null``.
    """
    cleaned = trimmed(_FENCE_BEFORE.sub("", raw).removesuffix(_FENCE_AFTER))
    try:
        found = parsed(cleaned)
    except ValueError:
        raise JudgeFailure("unparsed", "the reply is not JSON") from None
    if found is None:
        raise JudgeFailure("unparsed", "the reply is null")
    reply = found if isinstance(found, dict) else {}
    score = reply.get("score")
    if isinstance(score, bool) or not isinstance(score, (int, float)):
        score = 0.0
    return HazelJudgement(min(1.0, max(0.0, float(score))), reply.get("reasoning"))
