"""Documents, schemas and patterns that want to hang or break what reads them: bounded and clear."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

import pytest

from rag_eval.errors import InputError
from rag_eval.metrics.contract import Metric, Scored
from rag_eval.plumbing.strict_json import JsonFault, json_depth, parse_json
from rag_eval.scorers.json_schemas import SchemaError, validator
from rag_eval.scorers.omk.assertions import check_assertion
from rag_eval.scorers.regtrace import specs
from rag_eval.scorers.regtrace.format import format_score
from rag_eval.scorers.regtrace.format_checks import (
    MOST_CHARACTERS,
    MOST_LINES,
    markdown_structure,
)
from rag_eval.scorers.regtrace.format_formulas import (
    markdown_features,
    phrase_penalty,
    regex_match,
    term_coverage,
    value_similarity,
)
from tests.tables import deep, every_row

# Generous, so that only what grows faster than its input is caught.
pytestmark = pytest.mark.timeout(400)

MEGABYTE = 1_000_000
DEEP = "[" * 10_000 + "]" * 10_000
DEEP_OBJECTS = '{"a":' * 10_000 + "1" + "}" * 10_000

JSON_TEXTS: dict[str, str] = {
    "numbers": "[" + "1," * (MEGABYTE // 2) + "1]",
    "one string": json.dumps("ab\\\"'" * (MEGABYTE // 10)),
    "objects": "[" + '{"a":1},' * (MEGABYTE // 10) + "1]",
    "one key again and again": "{" + '"a":1,' * (MEGABYTE // 6) + '"a":2}',
}
FAULTS: dict[str, str] = {
    "deep arrays": DEEP,
    "deep objects": DEEP_OBJECTS,
    "only brackets": "[" * MEGABYTE,
    "a string without end": '"' + '\\"' * (MEGABYTE // 2),
    "quotes": "[" * 501 + '"\\' * (MEGABYTE // 2),
    "digits": "1" * MEGABYTE,
    "a large exponent": "1e400",
    "not a number": '{"a": NaN}',
    "half a character": '{"a": \ud800}',
    "nulls": "\x00" * MEGABYTE,
}


@every_row("name", JSON_TEXTS)
def test_a_megabyte_of_json_is_read(name: str) -> None:
    value = parse_json(JSON_TEXTS[name])
    assert isinstance(value, (list, str, dict))


@every_row("name", FAULTS)
def test_hostile_json_is_a_fault(name: str) -> None:
    with pytest.raises(JsonFault) as caught:
        parse_json(FAULTS[name])
    assert 0 < len(caught.value.reason) < 200


def test_the_depth_of_hostile_text_is_never_too_small() -> None:
    assert json_depth(DEEP) == 10_000
    assert json_depth("[" * 600 + '"' + "]" * 600) == 600


# Markdown.

MARKDOWN: dict[str, Callable[[int, int], str]] = {
    "brackets": lambda size, lines: "[" * size,
    "quotes": lambda size, lines: "> " * (size // 2),
    "quotes in lines": lambda size, lines: ("> " * 100 + "a\n") * (size // 210),
    "rules": lambda size, lines: "* " * (size // 2),
    "emphasis": lambda size, lines: "*a **b " * (size // 7),
    "backticks": lambda size, lines: "".join("`" * n + " " for n in range(1, 900)),
    "links": lambda size, lines: "[a](" * (size // 4),
    "images": lambda size, lines: "![](<" * (size // 5),
    "references": lambda size, lines: "\n".join(f"[a{n}]: x" for n in range(lines)),
    "tags": lambda size, lines: "<a " * (size // 3),
    "comments": lambda size, lines: "<!--" * (size // 4),
    "entities": lambda size, lines: "&" * size,
    "a wide table": lambda size, lines: "|" * (size // 2) + "\n" + "|-" * (size // 4 - 1),
    "a long table": lambda size, lines: "|a|b|\n|-|-|\n" + "|a|b|\n" * (lines - 2),
    "delimiters": lambda size, lines: "|-" * (size // 2),
    "dashes": lambda size, lines: "-" * size,
    "items": lambda size, lines: "- a\n" * lines,
    "items within items": lambda size, lines: "\n".join("  " * n + "- x" for n in range(700)),
    "quoted items": lambda size, lines: ("> - " * 20 + "\n") * (size // 82),
    "numbers": lambda size, lines: "1. " * (size // 3),
    "headings": lambda size, lines: "# a\n" * lines,
    "a setext heading": lambda size, lines: "a\n" * (lines - 1) + "===",
    "fences": lambda size, lines: "```\na\n" * (lines // 2),
    "tabs": lambda size, lines: "\t" * size,
    "blanks": lambda size, lines: " \n" * (lines - 1) + "#",
    "half a character": lambda size, lines: "\ud800" * (size // 2) + "\n# a",
}


@pytest.mark.parametrize("share", [5, *deep(1)])
@every_row("text_of", MARKDOWN.values(), ids=list(MARKDOWN))
def test_hostile_markdown_is_read(share: int, text_of: Callable[[int, int], str]) -> None:
    """A fifth of the most that is read shows what grows with the square, or nests too deep."""
    text = text_of(MOST_CHARACTERS // share, MOST_LINES // share)
    assert len(markdown_structure(text).problems) <= 10
    assert 0 <= markdown_features(text) <= 1


@every_row("text", ["[" * 1_000_000, "> > > >" * 200_000, "- a\n" * 100_000])
def test_markdown_that_is_too_large_fails_and_says_so(text: str) -> None:
    found = format_score(text, sub_checks=["markdown_structure"])
    assert found.score == 0
    assert "not read: more than 500,000 characters" in str(found.details[0].message)


# Schemas.


@every_row("address", ["http://127.0.0.1:9/x", "file:///etc/passwd", "x.json", "../x"])
@every_row("keyword", ["$ref", "$dynamicRef", "$recursiveRef"])
def test_nothing_is_fetched_for_a_schema(address: str, keyword: str) -> None:
    for schema in ({keyword: address}, {"anyOf": [{"items": {keyword: address}}]}):
        with pytest.raises(InputError):
            format_score("{}", schema=schema)
        found = check_assertion({"type": "json_schema", "schema": schema}, "{}")
        assert not found.passed
        assert "inside itself" in str(found.message)


def test_a_recursive_schema_is_checked_down_to_the_depth_of_the_value() -> None:
    tree = validator({"type": "object", "properties": {"a": {"$ref": "#"}}})
    assert tree(parse_json('{"a":' * 400 + "{}" + "}" * 400)) == []
    [error] = tree(parse_json('{"a":' * 400 + "1" + "}" * 400))
    assert error.message == 'value is not of type "object"'
    deep: Any = 1
    for _ in range(10_000):
        deep = {"a": deep}
    assert tree(deep) == [SchemaError("$", "nested more than 500 deep")]


@every_row("pattern", ["^(a+)+$", "^(a|a)*$", "(.*)*x", "a{0,500}b"])
def test_patterns_of_schemas_take_linear_time(pattern: str) -> None:
    text = "a" * 1_000_000 + "!"
    assert len(validator({"pattern": pattern})(text)) == 1
    assert len(validator({"patternProperties": {pattern: False}, "pattern": pattern})(text)) == 1


def test_long_lists_of_alternatives_and_values_are_bounded() -> None:
    enum = {"items": {"enum": [{"a": n} for n in range(10_000)]}}
    assert "too large" in validator(enum)([{"a": 9_999}] * 10_000)[0].message
    chain = {f"r{n}": {"$ref": f"#/$defs/r{n + 1}"} for n in range(5_000)}
    linked = {"$defs": {**chain, "r5000": {"type": "null"}}, "$ref": "#/$defs/r0"}
    assert validator(linked)(None) == []


def test_a_megabyte_is_checked_against_a_schema() -> None:
    value = parse_json(JSON_TEXTS["numbers"])
    assert validator({"items": {"type": "number"}})(value) == []
    assert len(validator({"items": {"type": "string"}})(value)) == 1


@every_row("keyword", ["allOf", "anyOf", "oneOf"])
@every_row("rest", ["unevaluatedProperties", "unevaluatedItems"])
def test_what_is_left_over_by_references_is_bounded(keyword: str, rest: str) -> None:
    """The validator ended the process when its memory was at an end."""
    chain: dict[str, Any] = {
        f"r{n}": {keyword: [{"$ref": f"#/$defs/r{n + 1}"}] * 2, rest: False} for n in range(40)
    }
    with pytest.raises(InputError, match="at most 2,000 subschemas of one value"):
        validator({"$defs": {**chain, "r40": {}}, "$ref": "#/$defs/r0"})
    short = {f"r{n}": {keyword: [{"$ref": f"#/$defs/r{n + 1}"}] * 2} for n in range(5)}
    assert (
        validator({"$defs": {**short, "r5": {}}, "$ref": "#/$defs/r0", rest: True})(None)
        is not None
    )


def test_as_many_subschemas_as_are_allowed_are_no_fault() -> None:
    wide: dict[str, Any] = {"allOf": [{}] * 1_999, "unevaluatedProperties": True}
    assert validator(wide)({}) == []
    wide["allOf"].append({})
    with pytest.raises(InputError, match="at most 2,000 subschemas of one value"):
        validator(wide)


# Patterns.


@every_row("pattern", ["(a+)+$", "(a|aa)+$", "(.*a){20}b", "(?:a?){50}a{50}b"])
def test_patterns_of_users_take_linear_time(pattern: str) -> None:
    text = "a" * 200_000 + "!"
    assert format_score(text, pattern=pattern, sub_checks=["regex_match"]).score == 0
    assert regex_match(text, pattern) == 0
    assert not check_assertion({"type": "regex", "pattern": pattern}, text).passed


def test_large_repeats_of_repeats_are_refused() -> None:
    with pytest.raises(InputError):
        format_score("a", pattern="((a{1,100}){1,100}){1,100}")


# Scorers, with hostile answers and expected outputs.

DOCUMENTS: dict[str, str] = {
    "numbers": "[" + "1," * 12_000 + "1]",
    "deep arrays": DEEP,
    "deep objects": DEEP_OBJECTS,
    "repeated keys": "{" + '"a":1,' * 6_000 + '"a":1e400}',
    "one long word": "a" * 100_000,
    "many words": " ".join(f"word{n}" for n in range(5_000)),
    "brackets": "[" * 100_000,
    "line ends": "\n" * 100_000,
    "spaces": " " * 100_000,
    "half characters": "\ud800\udc00\ud800 " * 10_000,
    "nothing": "",
    "delimiters": "|" + "-|" * 50_000,
    "combining": "e" + "\u0301" * 25_000,
}


def scored(spec: Metric, fields: dict[str, Any]) -> Scored | None:
    """What the scorer finds; None where it says that it cannot."""
    known = {name: fields[name] for name in (*spec.fields, *spec.optional) if name in fields}
    try:
        return spec.create(**spec.options).score(known)
    except InputError:
        return None


@every_row("name", DOCUMENTS)
@every_row("spec", specs.METRICS, ids=lambda spec: str(spec.id))
def test_every_scorer_comes_to_an_end(spec: Metric, name: str) -> None:
    hostile = DOCUMENTS[name]
    for answer, truth in ((hostile, "A plain text."), ("A plain text.", hostile)):
        found = scored(spec, {"answer": answer, "ground_truth": truth, "contexts": [truth]})
        if found is None or found.score is None:
            continue
        low, high = spec.range
        assert low <= found.score <= high
        assert math.isfinite(found.score)
        for one in found.details:
            for part in ("expected", "actual"):
                assert len(str(one.get(part, ""))) <= 80


def test_words_that_would_take_minutes_are_refused() -> None:
    words = " ".join(f"{n:08}" for n in range(200_000))
    other = "".join(f"{n:08x}" for n in range(200_000, 400_000))
    with pytest.raises(InputError, match="too many for a text of"):
        term_coverage(other, words)


@every_row(
    "call",
    [
        lambda: value_similarity(DEEP, DEEP),
        lambda: value_similarity(DEEP_OBJECTS, "{}"),
        lambda: value_similarity("NaN", "NaN"),
    ],
)
def test_what_cannot_be_read_is_not_alike(call: Callable[[], float]) -> None:
    assert call() == 0


def test_phrases_of_signs_are_no_patterns() -> None:
    assert phrase_penalty("aaaa!" * 100_000, ["(a+)+$", ".*", "["]) == 1
