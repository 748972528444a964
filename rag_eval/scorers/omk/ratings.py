"""Replies to omk's judge prompts -> scores: raw text in, rating or a failure out."""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from typing import Any, Final

from rag_eval.errors import InputError, glance

LOWEST: Final = 1.0
HIGHEST: Final = 5.0
DEFAULT_THRESHOLD: Final = 3.0

# A key "score" with a number that is not the head of a longer one: not the 5 of 55.
_SALVAGED: Final = re.compile(r'"?\bscore\b"?\s*:\s*"?([0-5](?:\.\d+)?)(?![\d.])')


@dataclass(frozen=True, slots=True)
class OmkReply:
    """The content of a reply.

    Attributes
    ----------
    score : float or None
        From 1 to 5; None if the judgement failed, which counts as missing, not as a low score.
    reason, reasoning : str or None
        The reason for the verdict, and the reasoning before it.
    salvaged : bool
        Whether the JSON was malformed and the score was extracted from it.
    """

    score: float | None
    reason: str | None = None
    reasoning: str | None = None
    salvaged: bool = False

    @property
    def failed(self) -> bool:
        """Whether there is no score."""
        return self.score is None


def parse_omk_reply(raw: str | None) -> OmkReply:
    """The score in the first JSON object of a reply.

    An object with balanced braces but malformed JSON is searched for a score; an unfinished object
    is not. A missing score, one that is not a number, or one outside 1 to 5 is a failure.

    Parameters
    ----------
    raw : str or None
        None if the judge gave no reply.
    """
    found = None if raw is None else _first_object(raw)
    if found is None:
        return OmkReply(None)
    try:
        value = json.loads(found, parse_constant=_refuse)
    except (ValueError, RecursionError):
        match = _SALVAGED.search(found)
        score = None if match is None else _in_range(float(match.group(1)))
        return OmkReply(score, salvaged=score is not None)
    return _reply_of(value)


def parse_omk_assertion_reply(raw: str | None) -> OmkReply:
    """The score in the reply to an assertion; malformed JSON is not searched for a score.

    The text from the first brace to the last must be one JSON object, otherwise the judgement
    failed.

    Parameters
    ----------
    raw : str or None
        None if the judge gave no reply.
    """
    text = raw or ""
    found = text[text.find("{") : text.rfind("}") + 1] if "{" in text else ""
    try:
        return _reply_of(json.loads(found, parse_constant=_refuse))
    except (ValueError, RecursionError):
        return OmkReply(None)


def _reply_of(value: dict[str, Any]) -> OmkReply:
    return OmkReply(
        _in_range(_number(value.get("score"))),
        _words(value.get("reason")),
        _words(value.get("reasoning")),
    )


def omk_passes(reply: OmkReply, threshold: float = DEFAULT_THRESHOLD) -> bool:
    """Whether an assertion with this reply holds; a failed judgement does not.

    Raises
    ------
    InputError
        For a threshold outside 1 to 5.
    """
    is_number = isinstance(threshold, (int, float)) and not isinstance(threshold, bool)
    if not is_number or not LOWEST <= threshold <= HIGHEST:
        raise InputError(f"an omk threshold must be a number from 1 to 5, got {glance(threshold)}")
    return reply.score is not None and reply.score >= threshold


def _first_object(text: str) -> str | None:
    """From the first brace to the one that closes it; braces in strings do not count."""
    begin = text.find("{")
    if begin < 0:
        return None
    depth, quoted, escaped = 0, False, False
    for place in range(begin, len(text)):
        letter = text[place]
        if quoted:
            quoted = escaped or letter != '"'
            escaped = letter == "\\" and not escaped
        elif letter == '"':
            quoted = True
        elif letter == "{":
            depth += 1
        elif letter == "}":
            depth -= 1
            if depth == 0:
                return text[begin : place + 1]
    return None


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is not JSON")


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    if isinstance(value, str) and "_" in value:  # Python alone reads "0_4" as a number
        return None
    try:
        found = float(value)
    except (ValueError, OverflowError):
        return None
    return found if math.isfinite(found) else None


def _in_range(score: float | None) -> float | None:
    return score if score is not None and LOWEST <= score <= HIGHEST else None


def _words(value: object) -> str | None:
    return str(value) if value not in (None, "") else None
