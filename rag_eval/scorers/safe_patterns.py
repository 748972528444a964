"""Patterns of users.  In: a regular expression of JavaScript.  Out: whether a text holds it.

Searching takes time in proportion to the text, whatever the pattern: RE2 does it, which knows
neither look-around nor back-references.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from typing import Any, Final

from rag_eval.errors import InputError, glance
from rag_eval.plumbing.extras import package
from rag_eval.scorers.javascript import utf16_length, well_formed
from rag_eval.scorers.javascript_classes import LINE_MARKS, MARKED_CHARACTER
from rag_eval.scorers.javascript_patterns import UnsupportedPatternError, re2_source

__all__ = ["Pattern", "UnsupportedPatternError", "compiled"]

_FLAGS: Final = "dgimsuy"
# RE2 takes a second or two for the longest; the time grows with the square.
_LONGEST: Final = 10_000
_MEMORY: Final = 4 << 20
_KEPT: Final = 64
# Steps of the slowest of RE2's ways, about 20 seconds of them: one for each byte and instruction.
_MOST_WORK: Final = 2_000_000_000
# Line ends of JavaScript that RE2 takes for none, and patterns to which they make a difference.
_OTHER_LINE_ENDS: Final = re.compile("[\r\u2028\u2029]")
_LINE_ANCHOR: Final = re.compile(r"[\^$]")
# A group may have the flag m for itself: "(?m:^a)".
_LINES_GROUP: Final = re.compile(r"\(\?[is]*m")


@dataclass(frozen=True, slots=True)
class Pattern:
    """A pattern that is ready to be searched for.

    Attributes
    ----------
    source, flags : str
        As they were given.
    """

    source: str
    flags: str
    _program: Any
    _has_line_anchors: bool

    def search(self, text: str) -> bool:
        """Whether the text holds the pattern.

        Half a character, which JavaScript's texts may hold, counts as the replacement character.

        Raises
        ------
        UnsupportedPatternError
            The pattern is too complex for a text of this length.
        """
        program = self._program
        if self._has_line_anchors and _OTHER_LINE_ENDS.search(text):
            program = _program(self.source, self.flags, by_lines=True)
            text = text.translate(LINE_MARKS)
        try:
            data = text.encode()
        except UnicodeEncodeError:
            data = well_formed(text).encode()
        size = program.programsize
        if size * len(data) > _MOST_WORK:
            raise UnsupportedPatternError(
                f"pattern {glance(self.source)} is too complex for a text of {len(data)} bytes: "
                f"its {size} steps times the bytes exceed {_MOST_WORK}"
            )
        return program.search(data) is not None


def compiled(pattern: str, flags: str = "", *, longest: int | None = None) -> Pattern:
    """A regular expression of JavaScript, ready to be searched for in linear time.

    Parameters
    ----------
    pattern : str
        In JavaScript's syntax: ``\\d``, ``\\w`` and ``\\b`` are ASCII, ``$`` without the flag m is
        the very end of the text, ``\\s`` and ``.`` follow JavaScript's spaces and line ends.
    flags : str, default ""
        i, m, s, u as in JavaScript; y finds at the start alone; g and d change nothing here, where
        no search depends on an earlier one.
    longest : int, optional
        A longer pattern, in UTF-16 units, is refused; one of more than 10,000 always is.

    Raises
    ------
    UnsupportedPatternError
        JavaScript has it, linear time has not: look-around, back-references, the flag v, more
        than 1000 repeats, more memory than 4 MB.
    InputError
        It is no pattern, or too long.
    MissingExtraError
        google-re2 is not installed.

    Notes
    -----
    Departs from JavaScript: characters are code points also without the flag u; case is folded as
    Unicode's simple folding does it.
    """
    for name, value in (("pattern", pattern), ("flags", flags)):
        if not isinstance(value, str):
            raise InputError(f"{name} must be a text, got {type(value).__name__}")
    most = _LONGEST if longest is None else min(longest, _LONGEST)
    length = utf16_length(pattern)
    if length > most:
        raise InputError(f"pattern has {length} characters; at most {most} are allowed")
    return _compiled(pattern, flags)


@functools.lru_cache(maxsize=_KEPT)
def _compiled(pattern: str, flags: str) -> Pattern:
    if "v" in flags:
        raise UnsupportedPatternError("the flag v of patterns is not supported")
    unknown = set(flags) - set(_FLAGS)
    if unknown or len(set(flags)) < len(flags):
        raise InputError(
            f"flags of a pattern must be letters of {_FLAGS}, each at most once, "
            f"got {glance(flags, 40)}"
        )
    by_lines = "m" in flags or _LINES_GROUP.search(pattern) is not None
    has_line_anchors = by_lines and _LINE_ANCHOR.search(pattern) is not None
    return Pattern(pattern, flags, _program(pattern, flags), has_line_anchors)


@functools.lru_cache(maxsize=_KEPT)
def _program(pattern: str, flags: str, *, by_lines: bool = False) -> Any:
    """What RE2 runs, on texts that are translated by `LINE_MARKS` or on texts as they are."""
    source = re2_source(
        well_formed(pattern), unicode="u" in flags, dot_all="s" in flags, by_lines=by_lines
    )
    inner = "".join(flag for flag in "im" if flag in flags)
    source = f"(?{inner}:{source})"
    if "y" in flags:
        source = rf"\A{source}"
    elif by_lines:
        # From the beginning on, lest the search begin within a mark.
        source = rf"\A{MARKED_CHARACTER}*?{source}"
    re2 = package("re2", "a pattern", "safe-regex", "google-re2")
    options = re2.Options()
    options.max_mem = _MEMORY
    options.never_capture = True
    # Errors are raised; RE2 would print them as well.
    options.log_errors = False
    try:
        return re2.compile(source.encode(), options)
    except re2.error as fault:
        reason = fault.args[0] if fault.args else ""
        reason = reason.decode(errors="replace") if isinstance(reason, bytes) else str(reason)
        raise UnsupportedPatternError(f"pattern {glance(pattern)}: {reason:.120}") from None
