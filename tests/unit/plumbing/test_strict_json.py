"""JSON texts of unknown origin, read with bounds."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_eval.plumbing.strict_json import JsonFault, json_depth, parse_json, read_json
from rag_eval.scorers.schema_work import node_count_and_depth
from tests.tables import every_row

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner) | st.dictionaries(st.text('[]{}"\\a'), inner),
)


@given(VALUES)
def test_what_was_written_is_read(value: object) -> None:
    assert parse_json(json.dumps(value)) == value


@given(st.text('[]{}"\\,:1aeE.- \n'))
def test_it_is_json_where_the_standard_library_says_so(text: str) -> None:
    try:
        value = json.loads(text)
    except ValueError:
        with pytest.raises(JsonFault):
            parse_json(text)
    else:
        assert parse_json(text) == value


@every_row(
    "text, reason",
    [
        ("", "Expecting value at character 0"),
        ("{} x", "Extra data at character 3"),
        ("[1,]", "at character"),
        ('"a', "Unterminated string starting at character 0"),
        ("[NaN]", "NaN is not a JSON value"),
        ("-Infinity", "-Infinity is not a JSON value"),
        ("[1e400]", "beyond the range of a double"),
        ("-1E999", "beyond the range of a double"),
        ("9" * 400, "beyond the range of a double"),
        ("9" * 310, "beyond the range of a double"),
        ("[" + "9" * 400 + "]", "beyond the range of a double"),
        ("\ufeff{}", "BOM"),
        ("[" * 501 + "]" * 501, "nested more than 500 deep"),
    ],
)
def test_what_is_no_json_says_why(text: str, reason: str) -> None:
    with pytest.raises(JsonFault, match=reason) as caught:
        parse_json(text)
    assert len(caught.value.reason) < 100


def test_whole_numbers_are_exact() -> None:
    assert parse_json("[12345678901234567890, -0]") == [12345678901234567890, 0]
    assert parse_json("1" * 300) == int("1" * 300)


def test_of_a_key_given_twice_the_last_counts_and_the_key_is_named() -> None:
    found = read_json('{"a": 1, "b": {"c": 1, "c": 2, "c": 3}, "a": 4}')
    assert found.value == {"a": 4, "b": {"c": 3}}
    assert found.repeated_keys == ("c", "a")
    assert read_json('[{"a": 1}, {"a": 1}]').repeated_keys == ()


def test_ten_repeated_keys_are_named() -> None:
    text = "{" + ",".join(f'"{n % 20}": 1' for n in range(40)) + "}"
    assert len(read_json(text).repeated_keys) == 10


def test_half_a_character_is_kept() -> None:
    assert parse_json('"\\ud800"') == "\ud800"
    assert parse_json('"\ud800"') == "\ud800"


@pytest.mark.parametrize("opening", ["[", '{"a":'])
def test_five_hundred_levels_are_read(opening: str) -> None:
    closing = "]" if opening == "[" else "}"
    value = parse_json(opening * 499 + opening[:1] + closing * 500)
    assert node_count_and_depth(value) == (500, 499)


def test_brackets_in_strings_are_no_levels() -> None:
    text = json.dumps(['"[{' * 2000, "\\", "["])
    assert json_depth(text) == 1
    assert parse_json(text) == ['"[{' * 2000, "\\", "["]


def test_many_brackets_side_by_side_are_not_deep() -> None:
    assert json_depth("[" + "[],{}," * 1000 + "[]]") == 2
