"""Fences.  In: texts from data.  Out: the same texts between marks that they cannot know.

A server may read some letters of a text as the end of a turn, and some characters do not show what
a judge reads.  Those, and no others, are changed:

=============================================  ==================================================
a control token of a chat template, such as    a space after its first bracket: ``< |im_end|>``
``<|im_end|>``, ``[/INST]``, ``</s>``
a line that looks like a fence                 the same: ``[ [end kqzvmwa]]``
``Human:``, ``Assistant:`` after an empty      a space before it
line, the turns of completion servers
NUL and other control characters that are      the picture of it: U+2400 on
no white space
a lone surrogate, an override of direction,    U+FFFD
a tag character outside of a flag
=============================================  ==================================================

Zero-width characters stay: a fence is known by its mark, and scripts need them.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterable
from string import ascii_lowercase
from typing import Final

# 33 bits in about four tokens, half of what hexadecimal digits take. A text cannot hold the mark of
# its prompt, however long either is; the length only makes a second draw rare.
_MARK_LETTERS: Final = 7
_REPLACEMENT: Final = "\ufffd"

_CONTROLS: Final = bytes([*range(0x00, 0x09), *range(0x0E, 0x20), 0x7F])
_OVERRIDES: Final = ("\u202d", "\u202e")
# How tag characters begin in UTF-8, and little else that texts hold.
_TAG_BYTE: Final = b"\xf3"
# The flags of England, Scotland and Wales are what tag characters are there for.
_UNSAFE: Final = re.compile(
    "\U0001f3f4\U000e0067\U000e0062"
    "(?:\U000e0065\U000e006e\U000e0067|\U000e0073\U000e0063\U000e0074|\U000e0077\U000e006c\U000e0073)"
    "\U000e007f"
    "|[\x00-\x08\x0e-\x1f\x7f\u202d\u202e\ud800-\udfff\U000e0000-\U000e007f]"
)

_ZERO_WIDTH: Final = "[\u00ad\u200b-\u200d\u2060\ufeff]*"
_ANGLE_NAMES: Final = (
    "s|bos|eos|pad|unk|sep|cls|mask|sop|eop|think|image|tool_call|tool_response|"
    "(?:start|end)_of_(?:turn|image|audio)|image_soft_token|(?:BOS|EOS|PAD|UNK)_TOKEN|"
    "fim_(?:prefix|middle|suffix)|(?:unused|extra_id_)[0-9]{1,4}"
)
_SQUARE_NAMES: Final = (
    "INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS|TOOL_CONTENT|ARGS|CALL_ID|THINK|"
    "IMG|IMG_BREAK|IMG_END|AUDIO|BEGIN_AUDIO|PREFIX|MIDDLE|SUFFIX|[gs]?MASK|BOS|EOS|PAD|UNK|CLS|SEP"
)
# Bounded and possessive, so that no text makes the search slow. The bar of some is U+FF5C.
_NAME: Final = r"[^\s|｜<>]{1,64}+"
_BAR_TOKEN: Final = re.compile(rf"<(?={_ZERO_WIDTH}(?:[|｜]{_NAME}[|｜]?>|{_NAME}[|｜]>))")
_ANGLE_TOKEN: Final = re.compile(rf"<(?={_ZERO_WIDTH}(?:/?(?:{_ANGLE_NAMES})>|</?SYS>>))")
_SQUARE_TOKEN: Final = re.compile(
    rf"\[(?={_ZERO_WIDTH}(?:/?(?:{_SQUARE_NAMES})\]|\[{_ZERO_WIDTH}(?:begin|end|no)\s))"
)
# At the start of a text, the line before is that of the fence.
_TURN: Final = re.compile(r"((?:\A|\n)\r?\n)(?=(?:Human|Assistant):)")


def fresh_mark(texts: Iterable[str]) -> str:
    """A random mark that none of the texts holds."""
    known = list(texts)
    while True:
        mark = "".join(secrets.choice(ascii_lowercase) for _ in range(_MARK_LETTERS))
        if is_free(mark, known):
            return mark


def is_free(mark: str, texts: Iterable[str]) -> bool:
    """Whether none of the texts holds the mark, in small or capital letters."""
    return not any(mark in text or mark in text.lower() for text in texts)


def fence(labelled: Iterable[tuple[str, str]], mark: str) -> str:
    """Neutral texts, each below a line with its label, and a line that ends the last of them."""
    opened = [f"[[begin {label} {mark}]]\n{text}\n" for label, text in labelled]
    return f"{''.join(opened)}[[end {mark}]]"


def neutral(text: str) -> str:
    """A text that a server can only read as text; doing it twice changes nothing more."""
    if _is_unsafe(text):
        text = _UNSAFE.sub(_shown, text)
    # Most texts hold neither bracket, and a search for one letter costs next to nothing.
    if "<" in text:
        text = _ANGLE_TOKEN.sub("< ", text)
        if "|" in text or "｜" in text:
            text = _BAR_TOKEN.sub("< ", text)
    if "[" in text:
        text = _SQUARE_TOKEN.sub("[ ", text)
    if "Human:" in text or "Assistant:" in text:
        text = _TURN.sub(r"\1 ", text)
    return text


def one_line(text: str, most_characters: int) -> str:
    """A text as one neutral, printable line, cut where it is longer."""
    words = neutral(text[: most_characters + 1]).split()
    line = "".join(char if char.isprintable() else _REPLACEMENT for char in " ".join(words))
    return line if len(line) <= most_characters else line[: most_characters - 1] + "…"


def _is_unsafe(text: str) -> bool:
    # Searches for bytes: a pattern of character ranges takes ten times as long.
    try:
        encoded = text.encode("utf-8")
    except UnicodeEncodeError:
        return True
    if len(encoded.translate(None, _CONTROLS)) != len(encoded):
        return True
    if len(encoded) == len(text):
        return False
    return _TAG_BYTE in encoded or any(char in text for char in _OVERRIDES)


def _shown(match: re.Match[str]) -> str:
    found = match[0]
    if len(found) > 1:
        return found
    code = ord(found)
    if code == 0x7F:
        return "\u2421"
    return chr(0x2400 + code) if code < 0x20 else _REPLACEMENT
