"""YAML, read safely.  In: a text of unknown origin.  Out: JSON values, or an error with its place.

Values are made from the parser's events, without recursion: tags make no objects, aliases are
counted as what they stand for, and plain scalars are read by the core schema of YAML 1.2, where
``no`` and ``2026-01-01`` are texts. Keys are texts, as in JSON. A reader that takes dates for
something else, as YAML 1.1 does, can ask for them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, NoReturn

from rag_eval.errors import InputError, glance
from rag_eval.plumbing.extras import package

MOST_BYTES: Final = 16 * 2**20
MOST_NODES: Final = 500_000
MOST_DEPTH: Final = 100
_LIBYAML_DEPTH: Final = 1_000

_MOST_DECLARED_TAGS: Final = 100
# After any of YAML's line ends: \n, \r, U+0085, U+2028 and U+2029.
_DECLARED_TAG: Final = re.compile(rb"(?:\A|[\n\r\x85\xa8\xa9]|\xef\xbb\xbf)%TAG")
_TAG: Final = "tag:yaml.org,2002:"
_NULLS: Final = frozenset({"", "~", "null", "Null", "NULL"})
_TRUE: Final = frozenset({"true", "True", "TRUE"})
_FALSE: Final = frozenset({"false", "False", "FALSE"})
# A number has no more digits than this: int() is quadratic in them.
_WHOLE: Final = re.compile(r"[-+]?[0-9]{1,310}|0o[0-7]{1,310}|0x[0-9a-fA-F]{1,310}")
_FLOAT: Final = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_NOT_FINITE: Final = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")
# The timestamps of YAML 1.1: a day, or a day with a time. Whether there is such a day is not asked.
_DATE: Final = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
    r"|[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:[Tt]|[ \t]+)[0-9]{1,2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]*)?"
    r"(?:[ \t]*(?:Z|[-+][0-9]{1,2}(?::[0-9]{2})?))?"
)
_MERGE: Final = "<<"


@dataclass(frozen=True, slots=True)
class YamlDate:
    """A date or time that was not written in quotes."""

    text: str


def load_yaml(
    text: str | bytes,
    source: str = "the text",
    *,
    most_bytes: int = MOST_BYTES,
    most_nodes: int = MOST_NODES,
    most_depth: int = MOST_DEPTH,
    finite: bool = True,
    dates: bool = False,
) -> Any:
    """The value of a YAML text with one document; needs the extra ``yaml``.

    Parameters
    ----------
    text : str or bytes
    source : str
        Name of the text in error messages.
    most_bytes, most_nodes, most_depth : int
        Limits; an alias counts as all the values that it stands for.
    finite : bool
        Whether a number beyond the range of a double is an error. If not, the caller checks each
        number.
    dates : bool
        Whether a date that is not in quotes is a :class:`YamlDate` instead of a text.

    Returns
    -------
    None, bool, int, float, str, list or dict
        And dates, if they are asked for. Aliased values are the same object in every place.

    Raises
    ------
    InputError
        For a text that is not YAML, or that has a repeated key, a tag that is not a JSON type, an
        alias that contains itself, more than one document, a number beyond the range of a double,
        or more than a limit allows. The message has the line.
    MissingExtraError
        When PyYAML is not installed.
    """
    yaml = _yaml()
    data = text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass")
    if len(data) > most_bytes:
        raise InputError(f"{source}: {len(data):,} bytes, which is more than {most_bytes:,}")
    # The parser compares each tag that is declared with all before it.
    if len(_DECLARED_TAG.findall(data)) > _MOST_DECLARED_TAGS:
        raise InputError(f"{source}: more than {_MOST_DECLARED_TAGS} lines begin with %TAG")
    builder = _Builder(source, most_nodes, most_depth, finite, dates)
    try:
        for event in _events(yaml, text):
            builder.take(event)
    except yaml.YAMLError as error:
        problem = _problem(error)
        # libyaml 0.2.6 and later look so far ahead that this comes before any event too deep.
        if problem == "exceeded maximum nesting depth":
            too_deep = f"nested more than {min(most_depth, _LIBYAML_DEPTH):,} deep"
            raise InputError(f"{source}{_line(error)}: {too_deep}") from None
        raise InputError(f"{source}{_line(error)}: not YAML: {problem}") from None
    except UnicodeError as error:
        raise InputError(f"{source}: not YAML: {error}") from None
    return builder.value()


def _yaml() -> Any:
    return package("yaml", "a YAML file", "yaml", "PyYAML")


def _events(yaml: Any, text: str | bytes) -> Iterator[Any]:
    # libyaml's parser where there is one: the same events, ten times as fast.
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    events: Iterator[Any] = yaml.parse(text, Loader=loader)
    return events


def _line(error: Any) -> str:
    mark = getattr(error, "problem_mark", None)
    return "" if mark is None else f", line {mark.line + 1}"


def _problem(error: Any) -> str:
    return str(getattr(error, "problem", None) or getattr(error, "reason", None) or error)


class _Node(NamedTuple):
    value: Any
    n_nodes: int


@dataclass(slots=True)
class _Open:
    """A list or mapping whose end has not come."""

    value: Any
    anchor: str | None
    n_before: int
    line: int
    key: str | None = None
    merges: list[dict[str, Any]] = field(default_factory=list)


class _Builder:
    """Events in, one value out."""

    def __init__(
        self, source: str, most_nodes: int, most_depth: int, finite: bool, dates: bool
    ) -> None:
        self._source = source
        self._most_nodes = most_nodes
        self._most_depth = most_depth
        self._finite = finite
        self._dates = dates
        self._open: list[_Open] = []
        self._anchors: dict[str, _Node | None] = {}
        self._n_nodes = 0
        self._n_documents = 0
        self._root: Any = None

    def value(self) -> Any:
        return self._root

    def take(self, event: Any) -> None:
        kind = type(event).__name__
        line = event.start_mark.line + 1
        if kind == "ScalarEvent":
            self._scalar(event, line)
        elif kind in ("MappingStartEvent", "SequenceStartEvent"):
            self._begin({} if kind[0] == "M" else [], event, line)
        elif kind in ("MappingEndEvent", "SequenceEndEvent"):
            self._end()
        elif kind == "AliasEvent":
            self._alias(event.anchor, line)
        elif kind == "DocumentStartEvent":
            self._n_documents += 1
            if self._n_documents > 1:
                self._fail(line, "a second document begins; only one is allowed")

    def _fail(self, line: int, message: str) -> NoReturn:
        raise InputError(f"{self._source}, line {line}: {message}")

    def _count(self, n_nodes: int, line: int) -> None:
        self._n_nodes += n_nodes
        if self._n_nodes > self._most_nodes:
            most = f"{self._most_nodes:,}"
            self._fail(line, f"more than {most} values; an alias counts as what it stands for")

    def _begin(self, value: Any, event: Any, line: int) -> None:
        kind = "map" if isinstance(value, dict) else "seq"
        if event.tag not in (None, "!", _TAG + kind):
            self._fail(line, f"the tag {glance(event.tag, 100)} is not allowed")
        if self._is_key():
            self._fail(line, "a key must be a string, got a list or a mapping")
        if len(self._open) >= self._most_depth:
            self._fail(line, f"nested more than {self._most_depth} deep")
        if event.anchor is not None:
            self._anchors[event.anchor] = None
        self._open.append(_Open(value, event.anchor, self._n_nodes, line))
        self._count(1, line)

    def _end(self) -> None:
        done = self._open.pop()
        for merged in done.merges:
            for key, value in merged.items():
                done.value.setdefault(key, value)
        if done.anchor is not None:
            self._anchors[done.anchor] = _Node(done.value, self._n_nodes - done.n_before)
        self._put(done.value, done.line)

    def _alias(self, anchor: str, line: int) -> None:
        if anchor not in self._anchors:
            self._fail(line, f"the alias *{anchor[:40]} is not defined")
        node = self._anchors[anchor]
        if node is None:
            self._fail(line, f"the alias *{anchor[:40]} contains itself")
        self._count(node.n_nodes, line)
        if self._is_key():
            if not isinstance(node.value, str):
                self._fail(line, "a key must be a string, got an alias of something else")
            self._key(node.value, line)
        else:
            self._put(node.value, line)

    def _scalar(self, event: Any, line: int) -> None:
        if self._is_key():
            if event.anchor is not None:
                self._anchors[event.anchor] = _Node(event.value, 1)
            self._key(event.value, line)
            return
        value = self._resolved(event, line)
        self._count(1, line)
        if event.anchor is not None:
            self._anchors[event.anchor] = _Node(value, 1)
        self._put(value, line)

    def _is_key(self) -> bool:
        return (
            bool(self._open)
            and isinstance(self._open[-1].value, dict)
            and (self._open[-1].key is None)
        )

    def _key(self, key: str, line: int) -> None:
        top = self._open[-1]
        if key in top.value or (key == _MERGE and top.merges):
            self._fail(line, f"the key {key[:100]!r} is repeated")
        top.key = key

    def _put(self, value: Any, line: int) -> None:
        if not self._open:
            self._root = value
            return
        top = self._open[-1]
        if isinstance(top.value, list):
            top.value.append(value)
            return
        assert top.key is not None
        if top.key == _MERGE:
            self._merge(top, value, line)
        else:
            top.value[top.key] = value
        top.key = None

    def _merge(self, top: _Open, value: Any, line: int) -> None:
        parts = value if isinstance(value, list) else [value]
        if not parts or not all(isinstance(part, dict) for part in parts):
            self._fail(line, "<< must be followed by a mapping or a list of mappings")
        top.merges += parts

    def _resolved(self, event: Any, line: int) -> Any:
        text = event.value
        if event.tag in ("!", _TAG + "str") or (event.tag is None and not event.implicit[0]):
            return text
        if event.tag is None:
            return self._plain(text, line)
        if event.tag not in (_TAG + "null", _TAG + "bool", _TAG + "int", _TAG + "float"):
            self._fail(line, f"the tag {glance(event.tag, 100)} is not allowed")
        value = self._plain(text, line)
        if _kind(value) != event.tag[len(_TAG) :]:
            self._fail(line, f"{text[:40]!r} is not a valid {event.tag[len(_TAG) :]}")
        return value

    def _plain(self, text: str, line: int) -> Any:
        """A plain scalar by the core schema."""
        if text in _NULLS:
            return None
        if text in _TRUE or text in _FALSE:
            return text in _TRUE
        if text[0] not in "-+.0123456789":
            return text
        if _WHOLE.fullmatch(text):
            number: float = int(text, 0 if text[:2] in ("0o", "0x") else 10)
        elif _FLOAT.fullmatch(text):
            number = float(text)
        elif _NOT_FINITE.fullmatch(text):
            number = float(text.replace(".", "", 1))
        else:
            return YamlDate(text) if self._dates and _DATE.fullmatch(text) else text
        if self._finite and not _is_finite(number):
            self._fail(
                line, f"{text[:40]!r} is beyond the range of a double; quote it if it is a text"
            )
        return number


def _is_finite(number: float) -> bool:
    try:
        return math.isfinite(number)
    except OverflowError:
        return False


def _kind(value: object) -> str:
    if value is None:
        return "null"
    names = {bool: "bool", int: "int", float: "float"}
    return names.get(type(value), "str")
