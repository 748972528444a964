"""Text of samples, made safe to print on a terminal or in a build log.

Build logs treat some text as commands: a line that begins with ``::`` on GitHub, and ``##[``,
``##vso[`` and ``##teamcity[`` anywhere in a line. They are escaped here and not where lines are
printed, because tables wrap, and a printer cannot tell our words from data.
"""

from __future__ import annotations

import re
from typing import Final

# Joiners shape the letters around them.
_JOINERS: Final = "\u200c\u200d"
# Letters and a symbol in Unicode, but blank in every font.
_BLANKS: Final = "\u115f\u1160\u2800\u3164\uffa0"
_IN_PYTHON: Final = re.compile(r" \(in Python: (?:[^()]|\([^()]*\))*\)")
_SPACES: Final = re.compile(r"[ \t\n\r\v\f]+")
# Leading spaces make no difference: builds trim lines before they look for commands.
# Tables wrap long words, so the names of GitHub commands are escaped anywhere in a line.
_GITHUB: Final = (
    "(?i:set-env|set-output|save-state|add-path|add-mask|add-matcher|remove-matcher|debug|notice|"
    "warning|error|group|endgroup|echo|stop-commands)(?= |::)"
)
_COMMAND: Final = re.compile(rf"(?<!\S):(?=:)|:(?=:{_GITHUB})|(?<=#)#(?=[A-Za-z]*\[)")


def plain_text(text: str, limit: int | None = None) -> str:
    """``text`` on one line, with escapes for anything that could move a cursor or hide words.

    Runs of white space become one space. Controls (including escape sequences), directional marks,
    other invisible characters, line separators and lone surrogates are shown as in a Python
    literal: ``\\x1b``, ``\\u202e``, ``\\U000e0041``. So is the first character of anything that a
    build would treat as a command. Text over ``limit`` characters is cut with an ellipsis.
    """
    if limit is not None and len(text) > 4 * limit:
        text = text[: 4 * limit] + "…"  # the rest would be cut anyway
    shown = "".join(map(_shown, text)) if _has_hidden(text) else text
    shown = without_commands(_SPACES.sub(" ", shown).strip(" "))
    if limit is not None and len(shown) > limit:
        return shown[: limit - 1] + "…"
    return shown


def without_python(text: str) -> str:
    """A message without its hint for users of the Python interface, for the command line."""
    return _IN_PYTHON.sub("", text)


def without_commands(text: str) -> str:
    """``text`` with build commands escaped and everything else unchanged."""
    return _COMMAND.sub(lambda found: escaped(found[0]), text)


def plain_lines(text: str) -> str:
    """The same for each line of a multi-line text, such as a traceback."""
    # Only line feeds end lines here: other separators are shown as escapes.
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
    # Python considers only the ordinary space printable.
    is_separator = character in "\u2028\u2029\x85" or character < " "
    return escaped(character) if is_separator or not character.isspace() else " "


def escaped(character: str) -> str:
    """A character as in a Python literal: ``\\x1b``, ``\\u202e``."""
    code = ord(character)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
