"""The question that the benchmarks of judging ask: about 1 KB of text, one verdict in the reply."""

from __future__ import annotations

from typing import Final

import msgspec

from rag_eval.judge.rendering import PromptStyle
from rag_eval.judge.steps import Fields, Step, Template

_MARK: Final = '"mark" with the value "'
_BODY: Final = "Question: $question\n\nPassages:\n$contexts\n\nIs the answer in them?\n$answer"


class Verdict(msgspec.Struct):
    """The reply."""

    verdict: int


STEP: Final = Step("probe", Verdict, lambda fields: Verdict(1))
STYLE: Final = PromptStyle({"probe": Template("probe", _BODY, '{"verdict": 0 or 1}')})
FIELDS: Final[Fields] = {
    "question": "Which river runs through the city, and since when?",
    "contexts": ["The river runs through the city since it was founded. " * 8] * 2,
    "answer": "The river that the passages name.",
}


def mark_in(prompt: str) -> str:
    """The mark that the reply to a prompt has to repeat."""
    begin = prompt.rindex(_MARK) + len(_MARK)
    return prompt[begin : prompt.index('"', begin)]


def reply_text(mark: str) -> str:
    """The reply that says yes."""
    return f'{{"mark": "{mark}", "verdict": 1}}'
