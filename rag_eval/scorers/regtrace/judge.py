"""Regtrace's judge.  In: a judge's reply.  Out: score, confidence, explanation, and what it cost.

The contract is that of Regtrace 0.10: a reply that is no JSON is searched for a score, and has the
score 0.5 where none is found. The judged metrics of this library would have no score there.
"""

from __future__ import annotations

import math
import re
from typing import Any, Final, NamedTuple

from rag_eval.judge.failures import JudgeFailure
from rag_eval.judge.replies import Usage
from rag_eval.number_text import round_half_up
from rag_eval.scorers.javascript_json import parsed
from rag_eval.scorers.javascript_strings import SPACE, trimmed

_FENCE_BEFORE: Final = re.compile(r"\A```[a-zA-Z]*\n?")
_FENCE_AFTER: Final = "```"
_FENCE_MARKERS: Final = re.compile(r"```(?:json)?")
# JavaScript's \d is ASCII.
_SALVAGED: Final = tuple(
    re.compile(rf'{key}"?[{SPACE}]*:[{SPACE}]*"?([01](?:\.[0-9]+)?)', re.IGNORECASE)
    for key in ("score", "overall")
)
_UNKNOWN: Final = 0.5
_MOST_EXPLANATION: Final = 200


class RegtraceJudgement(NamedTuple):
    """What a reply says; score and confidence are from 0 to 1."""

    score: float
    confidence: float
    explanation: str


def strip_code_fences(text: str) -> str:
    """A text without a code fence at its very start and at its very end, and without space there.

    A fence with space before it, or with a line break after it, stays.
    """
    return trimmed(_FENCE_BEFORE.sub("", text).removesuffix(_FENCE_AFTER))


def parse_regtrace_judgement(content: str) -> RegtraceJudgement:
    """Score, confidence and explanation of a reply.

    ``score``, or else ``overall``, or else 0; numbers in strings count as numbers. A reply that is
    no JSON is searched for "score:" and "overall:".

    Raises
    ------
    JudgeFailure
        ``unparsed``: score or confidence is there and is no number. The tool that this mirrors
        takes NaN for it.
    """
    try:
        found = parsed(trimmed(_FENCE_MARKERS.sub("", content)))
    except ValueError:
        found = None
    if found is None:
        return RegtraceJudgement(_salvaged(content), _UNKNOWN, content[:_MOST_EXPLANATION])
    reply = found if isinstance(found, dict) else {}
    explanation = _first(reply, "explanation")
    return RegtraceJudgement(
        _share(_first(reply, "score", "overall"), 0.0),
        _share(_first(reply, "confidence"), _UNKNOWN),
        "" if explanation is None else str(explanation),
    )


def judge_cost_cents(usage: Usage, input_price: float, output_price: float) -> float:
    """Cents that a call took, to two decimals, by prices in dollars per million tokens."""
    cents = (usage.input_tokens * input_price + usage.output_tokens * output_price) / 10_000
    return round_half_up(cents, 2)


def _first(reply: dict[str, Any], *keys: str) -> object:
    return next((reply[key] for key in keys if reply.get(key) is not None), None)


def _share(value: object, missing: float) -> float:
    if value is None:
        return missing
    try:
        number = float(value) if isinstance(value, (str, int, float)) else math.nan
    except ValueError:
        number = math.nan
    if math.isnan(number):
        raise JudgeFailure("unparsed", "score or confidence of the reply is no number")
    return min(1.0, max(0.0, number))


def _salvaged(content: str) -> float:
    for pattern in _SALVAGED:
        found = pattern.search(content)
        if found:
            return min(1.0, float(found[1]))
    return _UNKNOWN
