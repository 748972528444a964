"""Replies to omk's judge prompts -> scores: raw text in, rating or a failure out."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Final

from rag_eval.errors import InputError, glance
from rag_eval.scorers.javascript import SPACE, number_of, parsed, string_of

LOWEST: Final = 1.0
HIGHEST: Final = 5.0
DEFAULT_THRESHOLD: Final = 3.0

# A number that is not the head of a longer one: not the 5 of 55.
_SALVAGED: Final = rf"[{SPACE}]*([0-5](?:\.\d+)?)(?![\d.])"
# A key in quotes comes first, wherever it stands. Letters and digits are those of ASCII, as there.
_KEYS: Final = tuple(
    re.compile(key + _SALVAGED, re.ASCII | re.IGNORECASE)
    for key in (rf'"score"[{SPACE}]*:', rf"\bscore\b[{SPACE}]*[:=]")
)


@dataclass(frozen=True, slots=True)
class OmkReply:
    """The content of a reply.

    Attributes
    ----------
    score : float or None
        Above 0 and up to 5; None if the judgement failed, which counts as missing, not as a low
        score. Judges are asked for 1 to 5, and omk takes what is below 1, too.
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

    If an object with balanced braces is malformed JSON, the reply is searched for a score; if the
    object is unfinished, it is not. Scores are numbers as JavaScript reads them: "0x4", true and
    [4] are some. A score that is missing, not a number, 0 or less, or above 5 is a failure.

    Parameters
    ----------
    raw : str or None
        None if the judge gave no reply.
    """
    found = None if raw is None else _first_object(raw)
    if found is None:
        return OmkReply(None)
    try:
        return _reply_of(found)
    except (ValueError, RecursionError):
        matches = (key.search(raw or "") for key in _KEYS)
        match = next(filter(None, matches), None)
        score = None if match is None else _in_range(float(match.group(1)))
        return OmkReply(score, salvaged=score is not None)


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
        return _reply_of(found)
    except (ValueError, RecursionError):
        return OmkReply(None)


def _reply_of(found: str) -> OmkReply:
    value: dict[str, Any] = parsed(found)
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
    """From the first brace to the one that closes it; braces in strings do not count.

    As in omk, a backslash hides the next character outside of strings, too.
    """
    begin = text.find("{")
    if begin < 0:
        return None
    depth, quoted, escaped = 0, False, False
    for place in range(begin, len(text)):
        letter = text[place]
        if escaped:
            escaped = False
        elif letter == "\\":
            escaped = True
        elif letter == '"':
            quoted = not quoted
        elif quoted:
            continue
        elif letter == "{":
            depth += 1
        elif letter == "}":
            depth -= 1
            if depth == 0:
                return text[begin : place + 1]
    return None


def _number(value: object) -> float:
    """``Number(value)``; that of a list is the number in its text."""
    return number_of(string_of(value) if isinstance(value, list) else value)


def _in_range(score: float) -> float | None:
    return score if 0 < score <= HIGHEST else None


def _words(value: object) -> str | None:
    """``String(value || "")``, or None if that is empty. Empty lists and objects are not false."""
    return string_of(value) or None if value or isinstance(value, (list, dict)) else None
