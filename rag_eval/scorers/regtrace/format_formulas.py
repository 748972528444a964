"""Regtrace's formulas of format.  In: an answer and an expected output.  Out: shares from 0 to 1.

These are the tool's own sums, under names that say what they measure, how alike two JSON texts are
among them; what its documents promise is in `rag_eval.scorers.regtrace.format`.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from rag_eval.errors import InputError
from rag_eval.plumbing.javascript_numbers import plain_sum
from rag_eval.plumbing.strict_json import MOST_DEPTH, json_depth
from rag_eval.scorers.javascript import SPACE, parsed, utf16_length
from rag_eval.scorers.regtrace.details import AssertionDetail, detail
from rag_eval.scorers.regtrace.json_structure import keyed
from rag_eval.scorers.regtrace.judge import strip_code_fences
from rag_eval.scorers.safe_patterns import UnsupportedPatternError, compiled

SUB_CHECKS: Final = (
    "length",
    "json_validity",
    "json_schema",
    "markdown_structure",
    "required_fields",
    "forbidden_content",
    "regex_match",
)

PHRASES: Final = (
    "I'm sorry",
    "I cannot",
    "I don't have",
    "As an AI",
    "I am an AI",
    "It seems",
    "I think",
    "I believe",
    "I'm not sure",
    "I don't know",
)
"""What `phrase_penalty` looks for."""

_PER_PHRASE: Final = 0.2
_LONGEST_PATTERN: Final = 500
_MOST_COMPARISONS: Final = 2_000_000_000
_LINE_ENDS: Final = re.compile("[\r\u2028\u2029]")
_DROPPED: Final = re.compile(f"[^a-z0-9{SPACE}]+")
_LONG_WORD: Final = re.compile("[a-z0-9]{4,}")
_HEADING: Final = re.compile(f"^#{{1,6}}[{SPACE}]", re.MULTILINE)
# Space within a line: with line ends in it, many empty lines would take quadratic time.
_INDENT: Final = SPACE.replace("\n", "")
_ITEM: Final = re.compile(f"^(?:[{_INDENT}]*[-*+]|[0-9]+\\.)[{SPACE}]", re.MULTILINE)
_DELIMITERS: Final = re.compile(f"[{SPACE}]*+\\|([-:| ]*+)")
# Repeats without an end after a group, a class or a set; and, by accident, any after a bracket.
_REFUSED: Final = re.compile(r"(?:\([^()]*\)|\[.*|\\[wdsWDS])\{[0-9]+,\}")


class FormatMean(NamedTuple):
    """The mean of the sub-scores, with one detail per sub-check."""

    score: float
    details: tuple[AssertionDetail, ...]


def format_mean(
    actual: str,
    expected: str,
    *,
    sub_checks: Mapping[str, bool] | None = None,
    length_tolerance: float = 0.2,
    threshold: float = 0.7,
    phrases: Sequence[str] = PHRASES,
) -> FormatMean:
    """Mean of the fractional scores of sub-checks; 1 if none is enabled.

    Parameters
    ----------
    sub_checks : mapping of str to bool, optional
        The enabled sub-checks; None for all seven.
    threshold : float, default 0.7
        Score from which a fractional sub-check passes in the details; it does not change the score.

    Notes
    -----
    Regtrace 0.10, which documents passed by total sub-checks instead: see `format_score`.
    """
    found: list[AssertionDetail] = []
    scores: list[float] = []
    for name, score in _sub_scores(length_tolerance, phrases):
        if sub_checks is None or sub_checks.get(name, False):
            scores.append(score(actual, expected))
            least = threshold if name in _FRACTIONAL else 1.0
            found.append(detail(f"format.{name}", scores[-1] >= least))
    return FormatMean(plain_sum(scores) / len(scores) if scores else 1.0, tuple(found))


_FRACTIONAL: Final = frozenset({"length", "json_schema", "markdown_structure", "required_fields"})


def _sub_scores(
    tolerance: float, phrases: Sequence[str]
) -> Iterator[tuple[str, Callable[[str, str], float]]]:
    yield "length", lambda actual, expected: length_ratio(actual, expected, tolerance)
    yield "json_validity", lambda actual, _: json_validity(actual)
    yield "json_schema", value_similarity
    yield "markdown_structure", lambda actual, _: markdown_features(actual)
    yield "required_fields", term_coverage
    yield "forbidden_content", lambda actual, _: phrase_penalty(actual, phrases)
    yield "regex_match", regex_match


def length_ratio(actual: str, expected: str, tolerance: float = 0.2) -> float:
    """1 if the lengths differ by at most a tolerance, and proportionally less beyond.

    Lengths are in UTF-16 units; code fences at the ends of the actual text do not count. 0 at twice
    the upper bound and above. If the expected text is empty, 1 for an empty text, else 0.

    Parameters
    ----------
    actual, expected : str
    tolerance : float, default 0.2
        Accepted deviation, as a share of the expected length.
    """
    n_actual = utf16_length(strip_code_fences(actual))
    n_expected = utf16_length(expected)
    if not n_expected:
        return float(not n_actual)
    ratio = n_actual / n_expected
    low, high = 1 - tolerance, 1 + tolerance
    if ratio < low:
        return ratio / low
    if ratio > high:
        return max(0.0, (2 * high - ratio) / high)
    return 1.0


def markdown_features(actual: str) -> float:
    """Share of five features of Markdown that a text has.

    A heading, a list item, a closed span of three backticks, a table, a blank line. As in the tool,
    a table counts only if the text begins with a row of dashes, colons, spaces and bars.
    """
    lines = actual if actual.isascii() and "\r" not in actual else _LINE_ENDS.sub("\n", actual)
    fence = actual.find("```")
    features = (
        "#" in lines and _HEADING.search(lines) is not None,
        _ITEM.search(lines) is not None,
        fence >= 0 and actual.find("```", fence + 3) >= 0,
        _begins_with_delimiter_row(actual),
        "\n\n" in actual,
    )
    return sum(features) / len(features)


def term_coverage(actual: str, expected: str) -> float:
    """Share of the words of more than three letters that occur anywhere in the actual text.

    Words consist of a to z and 0 to 9, and other characters in them are dropped; 1 if there are
    none.

    Raises
    ------
    InputError
        If both texts are so long that this would take minutes.
    """
    words = set(_LONG_WORD.findall(_DROPPED.sub("", expected.lower())))
    if not words:
        return 1.0
    text = strip_code_fences(actual).lower()
    left = words - set(_LONG_WORD.findall(text)) if len(words) > 1000 else words
    if len(left) * len(text) > _MOST_COMPARISONS:
        raise InputError(f"{len(left)} words are too many for a text of {len(text)} characters")
    return (len(words) - sum(word not in text for word in left)) / len(words)


def phrase_penalty(actual: str, phrases: Sequence[str] = PHRASES) -> float:
    """1 minus 0.2 for each phrase in the text, as whole words in any case; at least 0."""
    lowered = actual.lower()
    hits = sum(
        pattern.search(actual) is not None
        for phrase, pattern in _phrases(tuple(phrases))
        if phrase in lowered
    )
    return max(0.0, 1 - _PER_PHRASE * hits)


def regex_match(actual: str, expected: str) -> float:
    """1 if the actual text matches the expected output as a pattern, else 0.

    Also 0 for a pattern of more than 500 UTF-16 units, an invalid one, or one with an open-ended
    repeat (``{2,}``) after a group, a class or ``\\d`` and the like.

    Raises
    ------
    UnsupportedPatternError
        The pattern has look-around or back-references, which take more than linear time.
    MissingExtraError
        google-re2 is not installed.
    """
    if utf16_length(expected) > _LONGEST_PATTERN or _REFUSED.search(expected):
        return 0.0
    try:
        pattern = compiled(expected, "m")
    except UnsupportedPatternError:
        raise
    except InputError:
        return 0.0
    return float(pattern.search(actual))


def _begins_with_delimiter_row(text: str) -> bool:
    found = _DELIMITERS.match(text)
    # Between its first bar and its last there is something.
    return found is not None and found[1].rfind("|") > 0


@functools.lru_cache(maxsize=64)
def _phrases(phrases: tuple[str, ...]) -> list[tuple[str, re.Pattern[str]]]:
    """What no text is without that has the phrase, as it is looked up faster; and the pattern."""
    return [
        (
            phrase.lower() if phrase.isascii() else "",
            re.compile(rf"\b{re.escape(phrase)}\b", re.IGNORECASE | re.ASCII),
        )
        for phrase in dict.fromkeys(phrases)
    ]


# --------------------------------------------------------------------------------------------- JSON


_NO_JSON: Final = object()


def json_validity(actual: str) -> float:
    """1 if the text without code fences at its ends is JSON, else 0; see `is_json`."""
    return float(is_json(strip_code_fences(actual)))


def is_json(text: str) -> bool:
    """Whether a text is JSON as it stands; one nested more than 500 deep is none here."""
    return _value(text) is not _NO_JSON


def value_similarity(actual: str, expected: str) -> float:
    """Share of the expected JSON value that the actual one has; 0 if either is not JSON.

    Scalars must be exactly equal. Objects score the mean over the expected keys, and extra keys are
    ignored; arrays are compared place by place and divided by the longer length. This compares
    values and does not check a schema, although the tool calls it that.

    Notes
    -----
    Regtrace 0.10, its sub-check json_schema. An array and an object are compared by index as key.
    """
    found = _value(strip_code_fences(actual))
    wanted = _value(expected)
    if found is _NO_JSON or wanted is _NO_JSON:
        return 0.0
    return _alike(found, wanted)


def _alike(found: Any, wanted: Any) -> float:
    if isinstance(found, list) and isinstance(wanted, list):
        return _lists_alike(found, wanted)
    if isinstance(found, (dict, list)) and isinstance(wanted, (dict, list)):
        return _objects_alike(keyed(found), keyed(wanted))
    if isinstance(found, bool) or isinstance(wanted, bool):
        return float(found is wanted)
    return float(found == wanted)


def _objects_alike(found: dict[str, Any], wanted: dict[str, Any]) -> float:
    if not wanted:
        return 1.0
    total = 0.0
    for key, value in wanted.items():
        if key in found:
            total += _alike(found[key], value)
    return total / len(wanted)


def _lists_alike(found: list[Any], wanted: list[Any]) -> float:
    longer = max(len(found), len(wanted))
    if not longer:
        return 1.0
    total = 0.0
    for one, other in zip(found, wanted, strict=False):
        total += _alike(one, other)
    return total / longer


def _value(text: str) -> Any:
    if json_depth(text) > MOST_DEPTH:
        return _NO_JSON
    try:
        return parsed(text)
    except ValueError:
        return _NO_JSON
