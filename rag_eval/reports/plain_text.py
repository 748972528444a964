"""Text of samples in; the same, safe to print on a terminal or in a log of a build, out.

It also stands for what such logs take as orders: a line of a GitHub build that begins with ``::``
is a command, and ``##[``, ``##vso[`` and ``##teamcity[`` are anywhere in a line. Both are broken
here and not where lines are printed, because tables wrap, and a printer cannot tell words of ours
from those of data.
"""

from __future__ import annotations

import re
from typing import Final

# Joiners shape the letters around them.
_JOINERS: Final = "\u200c\u200d"
# Letters and a symbol to Unicode, and blank in every font.
_BLANKS: Final = "\u115f\u1160\u2800\u3164\uffa0"
_SPACES: Final = re.compile(r"[ \t\n\r\v\f]+")
# Spaces in front change nothing: builds trim lines before they look.
# Tables break long words: what GitHub knows by name would be a command wherever it stands.
_GITHUB: Final = (
    "(?i:set-env|set-output|save-state|add-path|add-mask|add-matcher|remove-matcher|debug|notice|"
    "warning|error|group|endgroup|echo|stop-commands)(?= |::)"
)
_COMMAND: Final = re.compile(rf"(?<!\S):(?=:)|:(?=:{_GITHUB})|(?<=#)#(?=[A-Za-z]*\[)")


def plain_text(text: str, limit: int | None = None) -> str:
    """``text`` on one line, with what could move a cursor or hide words shown as escapes.

    White space becomes one space. Controls (escape sequences among them), directional marks, other
    characters without a shape, separators of lines and lone surrogates are shown as in a literal of
    Python: ``\\x1b``, ``\\u202e``, ``\\U000e0041``. So is the first sign of what a build would take
    for a command. What is over ``limit`` characters is cut off with an ellipsis.
    """
    if limit is not None and len(text) > 4 * limit:
        text = text[: 4 * limit] + "…"  # the rest will not show whatever becomes of this part
    shown = "".join(map(_shown, text)) if _has_hidden(text) else text
    shown = without_commands(_SPACES.sub(" ", shown).strip(" "))
    if limit is not None and len(shown) > limit:
        return shown[: limit - 1] + "…"
    return shown


def without_commands(text: str) -> str:
    """``text`` with what a build would take for a command broken, and all else as it is."""
    return _COMMAND.sub(lambda found: escaped(found[0]), text)


def plain_lines(text: str) -> str:
    """The same of each line of a text that has lines for a reason, such as a traceback."""
    # Only these end lines here: the others would be shown as escapes.
    lines = text.rstrip("\n").split("\n")
    return "\n".join(line[: len(line) - len(line.lstrip(" "))] + plain_text(line) for line in lines)


def _has_hidden(text: str) -> bool:
    return not text.isprintable() or (
        not text.isascii() and any(blank in text for blank in _BLANKS)
    )


def _shown(character: str) -> str:
    if character in _BLANKS:
        return escaped(character)
    if character.isprintable() or character in "\t\n\r\v\f" or character in _JOINERS:
        return character
    # Of all spaces Python takes only the usual one for printable.
    is_separator = character in "\u2028\u2029\x85" or character < " "
    return escaped(character) if is_separator or not character.isspace() else " "


def escaped(character: str) -> str:
    """A character as a literal of Python has it: ``\\x1b``, ``\\u202e``."""
    code = ord(character)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
