"""Regtrace's judge.  In: a judge's reply.  Out: score, confidence, explanation, and what it cost.

The contract is that of Regtrace 0.10: a reply that is not JSON is searched for a score, and has the
score 0.5 where none is found. The judged metrics of this library would have no score there.
"""

from __future__ import annotations

import math
import re
from typing import Any, Final, NamedTuple

from rag_eval.judge.failures import JudgeFailure
from rag_eval.judge.replies import Usage
from rag_eval.plumbing.javascript_numbers import round_half_up
from rag_eval.scorers.javascript import SPACE, number_of, parsed, trimmed, utf16_start
from rag_eval.scorers.regtrace.json_structure import printed

_FENCE_BEFORE: Final = re.compile(r"\A```[a-zA-Z]*\n?")
_FENCE_AFTER: Final = "```"
# One after the other, with the space behind them: what is left may be a marker itself.
_FENCE_MARKERS: Final = tuple(re.compile(f"{mark}[{SPACE}]*") for mark in ("```json", "```"))
# JavaScript's \d is ASCII, and so are the letters that it folds into those of a plain name.
_SALVAGED: Final = tuple(
    re.compile(rf"{key}[\"']?[{SPACE}]*:[{SPACE}]*([01]\.?[0-9]*)", re.IGNORECASE | re.ASCII)
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
    not JSON is searched for "score:" and "overall:", with or without quotes, before a number that
    starts with 0 or 1.

    Raises
    ------
    JudgeFailure
        ``unparsed``: score or confidence is present but not a number. The mirrored tool uses NaN in
        this case.
    """
    cleaned = content
    for marker in _FENCE_MARKERS:
        cleaned = marker.sub("", cleaned)
    try:
        found = parsed(trimmed(cleaned))
    except ValueError:
        found = None
    if found is None:
        explanation = utf16_start(content, _MOST_EXPLANATION)
        return RegtraceJudgement(_salvaged(content), _UNKNOWN, explanation)
    reply = found if isinstance(found, dict) else {}
    reason = _first(reply, "explanation")
    return RegtraceJudgement(
        _share(_first(reply, "score", "overall"), 0.0),
        _share(_first(reply, "confidence"), _UNKNOWN),
        "" if reason is None else printed(reason),
    )


def judge_cost_cents(usage: Usage, input_price: float, output_price: float) -> float:
    """Cost of a call in cents with two decimals, by prices in dollars per million tokens.

    Parameters
    ----------
    usage : Usage
        Tokens of the call.
    input_price, output_price : float
    """
    cents = (usage.input_tokens * input_price + usage.output_tokens * output_price) / 10_000
    return round_half_up(cents, 2)


def _first(reply: dict[str, Any], *keys: str) -> object:
    return next((reply[key] for key in keys if reply.get(key) is not None), None)


def _share(value: object, missing: float) -> float:
    if value is None:
        return missing
    number = number_of(value)
    if math.isnan(number):
        raise JudgeFailure("unparsed", "score or confidence of the reply is not a number")
    return min(1.0, max(0.0, number))


def _salvaged(content: str) -> float:
    for pattern in _SALVAGED:
        found = pattern.search(content)
        if found:
            return min(1.0, float(found[1]))
    return _UNKNOWN
