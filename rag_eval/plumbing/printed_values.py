"""Values as Python prints them -> the values: lists, dicts, texts, and objects with their members.

Frames of pandas, and so the CSV of most evaluation tools, hold such texts. Nothing is evaluated,
and the time is linear in the length of the text.
"""

from __future__ import annotations

import re
from typing import Any, Final

_MAX_DEPTH: Final = 16

_SPACE: Final = re.compile(r"\s*")
_QUOTE: Final = re.compile(r"[urbURB]?(['\"])")
_ESCAPE: Final = re.compile(r"\\(?:x([0-9a-f]{2})|u([0-9a-f]{4})|U([0-9a-f]{8})|(.))", re.DOTALL)
_NAMED: Final = {"n": "\n", "r": "\r", "t": "\t"}
_WORD: Final = re.compile(r"[A-Za-z_][A-Za-z_0-9.]*")
_NUMBER: Final = re.compile(r"[-+]?[0-9][0-9_]{0,40}(?:\.[0-9]{0,40})?(?:[eE][-+]?[0-9]{1,4})?")
_WORDS: Final = {"None": None, "True": True, "False": False, "nan": None, "inf": None}
_MESSAGE: Final = "Message"
_CLOSING: Final = {"[": "]", "(": ")", "{": "}"}


def printed_value(text: str) -> Any:
    """The value that a text is the ``repr`` of, or the ``str`` of an array of texts.

    A call such as ``Document(page_content='a', metadata={})`` gives a dict of its named arguments,
    or its first argument where it has no named ones; ``array(['a'], dtype=object)`` gives the list.
    ``HumanMessage(content='a')``, as LangChain prints turns, has its ``type`` besides: ``human``.

    Raises
    ------
    ValueError
        For any other text.
    """
    reader = _Reader(text)
    value = reader.value(0)
    if reader.at < len(text):
        raise ValueError("more text follows the value")
    return value


class _Reader:
    """A text, and how far it has been read."""

    __slots__ = ("_text", "at")

    def __init__(self, text: str) -> None:
        self._text = text
        self.at = 0
        self._skip_space()

    def _skip_space(self) -> None:
        found = _SPACE.match(self._text, self.at)
        assert found is not None
        self.at = found.end()

    def _take(self, mark: str) -> bool:
        """Go past a mark and the space that follows, where it is next."""
        if not self._text.startswith(mark, self.at):
            return False
        self.at += len(mark)
        self._skip_space()
        return True

    def value(self, depth: int) -> Any:
        """The value that begins here."""
        if depth > _MAX_DEPTH:
            raise ValueError("the value is nested too deeply")
        quote = _QUOTE.match(self._text, self.at)
        if quote is not None:
            return self._quoted(quote)
        opening = self._text[self.at : self.at + 1]
        if opening in ("[", "("):
            self._take(opening)
            return self._items(_CLOSING[opening], depth)
        if opening == "{":
            self._take(opening)
            return self._members(depth)
        number = _NUMBER.match(self._text, self.at)
        if number is not None:
            self._go_past(number)
            return float(number[0])
        word = _WORD.match(self._text, self.at)
        if word is None:
            raise ValueError("no value begins here")
        self._go_past(word)
        if self._take("("):
            return self._call(word[0], depth)
        if word[0] not in _WORDS:
            raise ValueError("a bare word is not a value")
        return _WORDS[word[0]]

    def _go_past(self, found: re.Match[str]) -> None:
        self.at = found.end()
        self._skip_space()

    def _quoted(self, quote: re.Match[str]) -> str:
        end = _closing_quote(self._text, quote.end(), quote[1])
        if end < 0:
            raise ValueError("a quote is not closed")
        found = self._text[quote.end() : end]
        self.at = end + 1
        self._skip_space()
        return _ESCAPE.sub(_unescaped, found) if "\\" in found else found

    def _items(self, closing: str, depth: int) -> list[Any]:
        """The items up to the closing mark; arrays are printed without commas."""
        items: list[Any] = []
        while not self._take(closing):
            before = self._text[self.at - 1]
            if items and not self._take(",") and not before.isspace():
                raise ValueError("a comma is missing")
            if items and self._take(closing):
                break
            items.append(self.value(depth + 1))
        return items

    def _members(self, depth: int) -> Any:
        members: dict[Any, Any] = {}
        while not self._take("}"):
            if members and not self._take(","):
                raise ValueError("a comma is missing")
            key = self.value(depth + 1)
            if not self._take(":") or isinstance(key, (list, dict)):
                raise ValueError("a key must be a text followed by a colon")
            members[key] = self.value(depth + 1)
        return members

    def _call(self, name: str, depth: int) -> Any:
        named: dict[str, Any] = {}
        first: list[Any] = []
        n_arguments = 0
        while not self._take(")"):
            if n_arguments and not self._take(","):
                raise ValueError("a comma is missing")
            n_arguments += 1
            word = _WORD.match(self._text, self.at)
            if word is not None and self._text.startswith("=", word.end()):
                self.at = word.end()
                self._take("=")
                if name == "array" or word[0] == "dtype":
                    self._argument_word(depth)
                else:
                    named[word[0]] = self.value(depth + 1)
            else:
                first.append(self.value(depth + 1))
        if named and name.endswith(_MESSAGE):
            named.setdefault("type", name.removesuffix(_MESSAGE).lower())
        return named if named or not first else first[0]

    def _argument_word(self, depth: int) -> None:
        """``object`` and ``'<U5'``: the type of an array, which says nothing about its texts."""
        word = _WORD.match(self._text, self.at)
        if word is not None:
            self._go_past(word)
        else:
            self.value(depth + 1)


def _closing_quote(text: str, begin: int, quote: str) -> int:
    """Where the text that begins there ends; -1 if it does not.

    By search: a pattern for this remembers every character, at a hundred bytes each.
    """
    end = text.find(quote, begin)
    while end >= 0:
        before = end
        while before > begin and text[before - 1] == "\\":
            before -= 1
        if (end - before) % 2 == 0:
            return end
        end = text.find(quote, end + 1)
    return -1


def _unescaped(found: re.Match[str]) -> str:
    code = found[1] or found[2] or found[3]
    if code:
        number = int(code, 16)
        return chr(number) if number < 0x110000 else found[0]
    return _NAMED.get(found[4], found[4])
