"""The seven sub-checks of format.  In: an answer and what is wanted.  Out: one detail each.

The structure of Markdown is what kinds of blocks a text has, and which of them are broken.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from rag_eval.errors import InputError, MissingExtraError
from rag_eval.plumbing.strict_json import JsonFault, read_json
from rag_eval.scorers.json_schemas import SchemaCheck
from rag_eval.scorers.regtrace.details import AssertionDetail, detail
from rag_eval.scorers.safe_patterns import Pattern
from rag_eval.scorers.texts import cut

_PHRASES: Final = (
    "as an ai, as a language model, as a large language model, i am an ai, i'm an ai, i'm just an "
    "ai, i am a language model, i apologize, i apologise, i'm sorry, i am sorry, i cannot help, i "
    "can't help, i cannot assist, i can't assist, i'm not able to, i am not able to, i'm unable "
    "to, i am unable to, i don't know, i do not know, i'm not sure, i am not sure, i don't have "
    "access, i do not have access, my training data, my knowledge cutoff"
)
FORBIDDEN: Final = tuple(_PHRASES.split(", "))
"""Phrases that refuse, hedge, or speak of the speaker instead of the matter; English."""

_FENCE: Final = "```"
_QUOTES: Final = "\u2018\u2019\u02bc"
_WORD: Final = re.compile(r"[^\W_]+(?:['.\-_][^\W_]+)*")
_SHORTEST_WORD: Final = 4
_FLOAT_NOISE: Final = 1e-9
# Thai to Khmer, and kana to Hangul and all ideographs: words stand there without space between.
_UNSPACED: Final = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
    "\uf900-\ufaff\U00020000-\U0003ffff]"
)


def unfenced(text: str) -> str:
    """A text without space around it and without a code fence that holds all of it."""
    text = text.strip()
    if not (text.startswith(_FENCE) and text.endswith(_FENCE)):
        return text
    first, _, rest = text.partition("\n")
    inner = rest[: -len(_FENCE)]
    # A second fence is another block, and the ends are of two.
    if not rest or _FENCE in first[len(_FENCE) :] or _FENCE in inner:
        return text
    return inner.strip()


def folded(text: str) -> str:
    """A text in one case, with single spaces and straight apostrophes."""
    if text.isascii():
        return " ".join(text.lower().split())
    text = text.casefold()
    for quote in _QUOTES:  # a tenth of the time of str.translate
        text = text.replace(quote, "'")
    return " ".join(text.split())


def length_check(answer: str, expected: str, tolerance: float) -> AssertionDetail:
    """The length in characters is that of the expected output, give or take a share of it."""
    n_answer, n_expected = len(unfenced(answer)), len(unfenced(expected))
    # The product may miss a whole number by a little: 0.1 of 30.
    passed = abs(n_answer - n_expected) <= tolerance * n_expected + _FLOAT_NOISE
    wanted = f"{n_expected} ± {tolerance:.0%} characters"
    message = None if passed else f"{n_answer} characters, expected {wanted}"
    return detail(
        "format.length", passed, expected=wanted, actual=f"{n_answer} characters", message=message
    )


def json_validity_check(answer: str) -> AssertionDetail:
    """The answer is strict JSON, in a code fence or not."""
    try:
        found = read_json(unfenced(answer))
    except JsonFault as fault:
        return _failed("json_validity", fault.reason, expected="JSON", actual=answer)
    message = None
    if found.repeated_keys:
        keys = ", ".join(map(repr, found.repeated_keys))
        message = cut(f"repeated keys (only the last one counts): {keys}")
    return detail("format.json_validity", True, expected="JSON", message=message)


def json_schema_check(answer: str, schema: SchemaCheck) -> list[AssertionDetail]:
    """The answer is JSON that fits a schema; more details, one for each place, where it does not.

    The first detail is of the check, those of the places follow.
    """
    try:
        errors = schema(read_json(unfenced(answer)).value)
    except JsonFault as fault:
        return [_failed("json_schema", fault.reason, expected="JSON", actual=answer)]
    if not errors:
        return [detail("format.json_schema", True)]
    first = f"{errors[0].path}: {errors[0].message}"
    more = f" and {len(errors) - 1} more" if len(errors) > 1 else ""
    found = [_failed("json_schema", first + more)]
    if len(errors) > 1:
        found += [_failed(f"json_schema.{error.path}", error.message) for error in errors]
    return found


def markdown_check(answer: str, expected: str | None) -> AssertionDetail:
    """No block is broken, and the kinds of blocks of the expected output are there."""
    try:
        found = markdown_structure(answer)
    except ValueError as fault:
        return _failed("markdown_structure", f"not read: {fault}")
    wanted = _wanted_structure(expected)
    missing = [kind for kind in wanted.kinds if kind not in found.kinds]
    messages = [*found.problems]
    if missing:
        messages.append(f"missing, but in the expected output: {', '.join(missing)}")
    return detail(
        "format.markdown_structure",
        not messages,
        expected=", ".join(wanted.kinds) or None,
        actual=", ".join(found.kinds) or None,
        message="; ".join(messages) or None,
    )


def required_check(answer: str, terms: Sequence[str], least: float = 1.0) -> AssertionDetail:
    """At least a share of the folded terms occur in the folded answer, within words too."""
    missing = [term for term in terms if term not in answer]
    passed = len(terms) - len(missing) >= least * len(terms) - _FLOAT_NOISE
    n_found = len(terms) - len(missing)
    return detail(
        "format.required_fields",
        passed,
        expected=", ".join(terms),
        actual=f"{n_found} of {len(terms)} found",
        message=None if passed else cut("missing: " + ", ".join(missing)),
    )


def forbidden_check(answer: str, terms: Sequence[str]) -> AssertionDetail:
    """None of the folded terms occur in the folded answer as whole words."""
    found = [term for term in terms if term in answer and has_words(answer, term)]
    return detail(
        "format.forbidden_content",
        not found,
        actual=", ".join(found) or None,
        message=cut("found: " + ", ".join(found)) if found else None,
    )


def regex_check(answer: str, pattern: Pattern) -> AssertionDetail:
    """The answer, as it is, holds the pattern somewhere."""
    passed = pattern.search(answer)
    message = None if passed else "the pattern is not found"
    return detail(
        "format.regex_match", passed, expected=pattern.source, actual=answer, message=message
    )


def words_of(text: str) -> list[str]:
    """The words of a folded text that have four letters or more, each once; ideographs apart."""
    words = dict.fromkeys(_WORD.findall(text))
    return [word for word in words if len(word) >= _SHORTEST_WORD or _UNSPACED.search(word)]


def has_words(text: str, term: str) -> bool:
    """Whether a term occurs in a text so that no letter or digit touches its ends."""
    at = text.find(term)
    while at >= 0:
        end = at + len(term)
        if _is_edge(text[at - 1 : at], term[0]) and _is_edge(text[end : end + 1], term[-1]):
            return True
        at = text.find(term, at + 1)
    return False


def _is_edge(outside: str, inside: str) -> bool:
    if not outside.isalnum() or not inside.isalnum():
        return True
    return _UNSPACED.match(inside) is not None


def _wanted_structure(expected: str | None) -> MarkdownStructure:
    if expected is None:
        return MarkdownStructure((), ())
    try:
        return markdown_structure(expected)
    except ValueError as fault:
        raise InputError(f"ground_truth is too long for its Markdown to be read: {fault}") from None


def _failed(
    name: str, message: str, *, expected: str | None = None, actual: str | None = None
) -> AssertionDetail:
    return detail(f"format.{name}", False, expected=expected, actual=actual, message=message)


# ----------------------------------------------------------------------------------------- Markdown


MOST_CHARACTERS: Final = 500_000
MOST_LINES: Final = 20_000
KINDS: Final = ("headings", "lists", "tables", "fences")

_MOST_PROBLEMS: Final = 10
_KIND_OF_TOKEN: Final = {
    "heading_open": "headings",
    "bullet_list_open": "lists",
    "ordered_list_open": "lists",
    "table_open": "tables",
    "fence": "fences",
}
_MARKS: Final = ("#", "|", "```", "~~~")
_MARKED_LINE: Final = re.compile(r"[\n\r][ \t>]*+(?:[-+*=]|[0-9]{1,9}[.)])")
_DELIMITER_ROW: Final = re.compile(r" {0,3}\|?(?:[ \t]*:?-+:?[ \t]*\|)+[ \t]*(?::?-+:?)?[ \t]*")
_HEADING_WITHOUT_SPACE: Final = re.compile(r"#{2,6}[^\s#]")
# A minus before a number is no bullet, and a pair of asterisks is emphasis.
_ITEM_WITHOUT_SPACE: Final = re.compile(r"(?:[-+][^\W\d_]|\*[^\s*][^*]*\Z|[0-9]{1,9}[.)][^\W\d_])")
_FEWEST_ITEMS: Final = 2


class MarkdownStructure(NamedTuple):
    """What blocks a text is made of.

    Attributes
    ----------
    kinds : tuple of str
        Those of headings, lists, tables and fences that are there.
    problems : tuple of str
        What is broken, the first ten: a heading more than one level below the one before it, a code
        fence that is not closed, the rows of a table that is none, and headings and items of a list
        without a space after their mark.
    """

    kinds: tuple[str, ...]
    problems: tuple[str, ...]


def markdown_structure(text: str) -> MarkdownStructure:
    """The structure of a Markdown text, by CommonMark and the tables of GitHub.

    Only blocks are read, in time linear in the text; twenty levels of quotes and lists at most.

    Raises
    ------
    ValueError
        The text has more than 500,000 characters or 20,000 lines, which would take long.
    MissingExtraError
        markdown-it-py is not installed, and the text is not plain.
    """
    if len(text) > MOST_CHARACTERS or text.count("\n") + text.count("\r") > MOST_LINES:
        raise ValueError(f"more than {MOST_CHARACTERS:,} characters or {MOST_LINES:,} lines")
    if not _may_be_structured(text):
        return MarkdownStructure((), ())
    return _structure(_parser().parse(text))


def _may_be_structured(text: str) -> bool:
    """False for no text that has a block of the four kinds, broken or not."""
    if any(mark in text for mark in _MARKS):
        return True
    return _MARKED_LINE.search(f"\n{text}") is not None


def _structure(tokens: list[Any]) -> MarkdownStructure:
    kinds: set[str] = set()
    problems: list[str] = []
    level = 0
    for token in tokens:
        kinds.add(_KIND_OF_TOKEN.get(token.type, ""))
        if token.type == "heading_open":
            found = int(token.tag[1:])
            if level and found > level + 1:
                problems.append(f"line {_line(token)}: a heading of level {found} after {level}")
            level = found
        elif token.type == "fence":
            if not _is_closed(token):
                problems.append(f"line {_line(token)}: a code fence that is not closed")
        elif token.type == "inline":
            problems += _broken_lines(token)
    return MarkdownStructure(
        tuple(kind for kind in KINDS if kind in kinds), tuple(problems[:_MOST_PROBLEMS])
    )


def _broken_lines(token: Any) -> list[str]:
    """What lines of a paragraph were probably meant to be."""
    first = _line(token)
    found: list[str] = []
    items: list[int] = []
    for number, line in enumerate(token.content.split("\n"), first):
        if _DELIMITER_ROW.fullmatch(line):
            found.append(f"line {number}: a table row outside a table")
        elif _HEADING_WITHOUT_SPACE.match(line):
            found.append(f"line {number}: a heading without a space after its marker")
        elif _ITEM_WITHOUT_SPACE.match(line):
            items.append(number)
    if len(items) >= _FEWEST_ITEMS:
        found.append(f"line {items[0]}: list items without a space after their markers")
    return found


def _is_closed(fence: Any) -> bool:
    """Whether a fence has as many lines as its content, an opening and a closing one."""
    content = fence.content
    n_lines = content.count("\n") + bool(content and not content.endswith("\n"))
    begin, end = fence.map
    return bool(end - begin == n_lines + 2)


def _line(token: Any) -> int:
    return int(token.map[0]) + 1 if token.map else 0


@functools.cache
def _parser() -> Any:
    try:
        from markdown_it import MarkdownIt
    except ImportError:
        raise MissingExtraError(
            "the structure of Markdown needs markdown-it-py: "
            "pip install 'rag-eval-native[markdown]'"
        ) from None
    parser = MarkdownIt("commonmark").enable("table")
    # Emphasis and links, which take most of the time, are not looked at.
    parser.core.ruler.enableOnly(["normalize", "block"])
    return parser
