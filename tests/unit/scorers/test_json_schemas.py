"""Values against JSON schemas, and schemas derived from values."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_eval.errors import InputError
from rag_eval.scorers.json_schemas import SchemaError, derived_schema, json_path, validator
from rag_eval.scorers.schema_work import SchemaWork, node_count_and_depth
from tests.tables import every_row

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.floats(-1, 1) | st.text("ab", max_size=2),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text("abc", max_size=2), inner, max_size=4)
    ),
    max_leaves=12,
)
TREE = {"type": "object", "required": ["n"], "properties": {"child": {"$ref": "#"}}}


def doubling(n_levels: int) -> dict[str, Any]:
    """A schema of n lines whose alternatives are two to the power of n."""
    rules: dict[str, Any] = {"r0": {"type": "integer"}}
    for level in range(1, n_levels + 1):
        below = {"$ref": f"#/$defs/r{level - 1}"}
        rules[f"r{level}"] = {"anyOf": [below, below]}
    return {"$defs": rules, "$ref": f"#/$defs/r{n_levels}"}


def test_errors_have_paths_and_messages() -> None:
    check = validator(TREE)
    assert check({"n": 1, "child": {"n": 2}}) == []
    assert check({"n": 1, "child": {"child": 3}}) == [
        SchemaError("$.child", '"n" is a required property'),
        SchemaError("$.child.child", 'value is not of type "object"'),
    ]


def test_ten_errors_are_told_and_none_is_long() -> None:
    found = validator({"items": {"type": "string"}})([0] * 50)
    assert [error.path for error in found] == [f"$[{n}]" for n in range(10)]
    names = validator({"propertyNames": {"maxLength": 3}})({"long" * 500: 1})
    assert max(len(error.path + error.message) for error in names) <= 160


def test_of_a_large_value_one_error_is_told() -> None:
    values: list[object] = ["a"] * 50_000
    values[40_000:] = [0] * 10_000
    assert validator({"items": {"type": "string"}})(values) == [
        SchemaError("$[40000]", 'value is not of type "string"')
    ]
    either = {"items": {"anyOf": [{"type": "string"}, {"type": "null"}]}}
    assert validator(either)(values) == [SchemaError("$", "does not fit the schema")]


@every_row(
    "reference",
    [
        "http://example.com/schema.json",
        "https://json-schema.org/draft/2020-12/schema",
        "file:///etc/passwd",
        "other.json",
        "//example.com/x",
        "",
    ],
)
def test_a_reference_out_of_the_schema_is_refused(reference: str) -> None:
    with pytest.raises(InputError, match="inside itself"):
        validator({"properties": {"a": {"items": {"$ref": reference}}}})


@every_row("reference", ["#/$defs/none", "#none", "#/$defs/a/b", "#/allOf/1"])
def test_a_reference_to_nothing_is_refused(reference: str) -> None:
    with pytest.raises(InputError, match="which it does not have"):
        validator({"$ref": reference, "$defs": {"a": True}, "allOf": [True]})


@every_row(
    "schema",
    [
        {"$ref": "#"},
        {"allOf": [{"not": {"$ref": "#"}}]},
        {"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}, "$ref": "#/$defs/a"},
    ],
)
def test_a_reference_to_itself_in_place_is_refused(schema: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="without descending into the value"):
        validator(schema)


def test_another_id_inside_is_refused_and_names_are_not() -> None:
    with pytest.raises(InputError, match="at the root"):
        validator({"properties": {"a": {"$id": "http://example.com/a", "type": "string"}}})
    named = {"properties": {"a": {"$ref": "#name"}}, "$defs": {"x": {"$anchor": "name"}}}
    assert validator(named | {"$id": "http://example.com/root"})({"a": 1}) == []
    # A property may well be called so.
    assert validator({"properties": {"$id": {"type": "string"}}})({"$id": "x"}) == []


def test_escapes_in_references_are_read() -> None:
    schema = {"$ref": "#/$defs/a~1b~0%20c", "$defs": {"a/b~ c": {"type": "string"}}}
    assert validator(schema)("x") == []
    assert validator(schema)(1)


@every_row(
    ("schema", "place"),
    [
        ({"properties": {"a": {"type": "text"}}}, r"at \$\.properties\.a\.type"),
        ({"minimum": "1"}, r"at \$\.minimum"),
        ({"properties": {"a": {"pattern": "("}}}, r"at \$\.properties\.a\.pattern"),
        ({"pattern": "(?=a)"}, r"at \$\.pattern"),
        ({"pattern": r"(a)\1"}, r"at \$\.pattern"),
        ({"pattern": "((a{500}){500}){500}"}, r"at \$\.pattern"),
        ({"$schema": "http://example.com/meta"}, "meta-schema"),
        ({1: True}, "Dict key"),
        (5, "object or a boolean"),
        ('{"type": "object"}', "object or a boolean"),
    ],
)
def test_an_invalid_schema_is_refused_and_the_place_named(schema: Any, place: str) -> None:
    with pytest.raises(InputError, match=place):
        validator(schema)


def test_a_schema_may_be_a_boolean() -> None:
    assert validator(True)(1) == []
    assert validator(False)(1)


def test_a_schema_that_is_too_large_is_refused() -> None:
    with pytest.raises(InputError, match="100,000 values"):
        validator({"enum": list(range(200_000))})
    with pytest.raises(InputError, match="patterns"):
        validator({"patternProperties": {f"a{n}": True for n in range(501)}})
    deep: dict[str, Any] = {}
    for _ in range(300):
        deep = {"not": deep}
    with pytest.raises(InputError, match="200 deep"):
        validator(deep)


def test_alternatives_of_alternatives_are_not_tried_one_by_one() -> None:
    assert validator(doubling(5))(1) == []
    assert "not valid" in validator(doubling(5))("x")[0].message
    assert validator(doubling(18))("x") == [SchemaError("$", "does not fit the schema")]
    assert validator(doubling(60))(1) == [
        SchemaError("$", "too large to be checked against this schema")
    ]


def test_a_schema_that_names_itself_twice_is_bounded_by_the_depth_of_the_value() -> None:
    schema = {"minItems": 2, "items": {"allOf": [{"$ref": "#"}, {"$ref": "#"}]}}
    deep: list[Any] = []
    for n_levels in range(40):
        if n_levels == 3:
            assert validator(schema)(deep)[0].message == "value has less than 2 items"
        deep = [deep]
    assert validator(schema)(deep)[0].message == "too large to be checked against this schema"


def test_a_tree_is_no_work_of_exponential_size() -> None:
    binary = {"type": "object", "properties": {"l": {"$ref": "#"}, "r": {"$ref": "#"}}}
    value: dict[str, Any] = {}
    for _ in range(400):
        value = {"l": value}
    assert validator(binary)(value) == []


def test_each_keyword_adds_to_the_work() -> None:
    one = SchemaWork({"type": "string"}).per_node(0)
    for schema in (
        {"allOf": [True]},
        {"if": True},
        {"not": True},
        {"dependentSchemas": {"a": True}},
        {"enum": [1]},
        {"$ref": "#/$defs/a", "$defs": {"a": True}},
    ):
        assert SchemaWork(schema).per_node(0) >= one
        assert SchemaWork(schema).per_node(0) > SchemaWork({}).per_node(0)
    for schema in (
        {"properties": {"a": True}},
        {"patternProperties": {"a": True}},
        {"additionalProperties": True},
        {"unevaluatedProperties": True},
        {"propertyNames": True},
        {"items": True},
        {"items": [True]},
        {"prefixItems": [True]},
        {"contains": True},
        {"unevaluatedItems": True},
    ):
        assert SchemaWork(schema).per_node(0) == 1
        assert SchemaWork(schema).per_node(1) == 2


def test_values_are_counted_and_long_strings_more() -> None:
    assert node_count_and_depth({"a": [1, 2, {"b": None}]}) == (6, 3)
    assert node_count_and_depth("x" * 5000) == (6, 0)
    assert node_count_and_depth([]) == (1, 0)


def test_what_is_no_json_value_is_told() -> None:
    assert "cannot be checked" in validator({"type": "object"})({1: 2})[0].message
    assert validator({"maxLength": 0})("\ud800") == [
        SchemaError("$", "a string holds a lone surrogate")
    ]


def test_a_derived_schema_wants_types_and_keys_and_like_items() -> None:
    schema = derived_schema({"a": 1, "b": [{"c": 1, "d": None}, {"c": 2.5}, "x"], "e": []})
    item = {
        "type": "object",
        "properties": {"c": {"type": "number"}, "d": {"type": "null"}},
        "required": ["c"],
    }
    assert schema == {
        "type": "object",
        "properties": {
            "a": {"type": "number"},
            "b": {"type": "array", "items": {"anyOf": [item, {"type": "string"}]}},
            "e": {"type": "array"},
        },
        "required": ["a", "b", "e"],
    }
    check = validator(schema)
    assert check({"a": 0.5, "b": [], "e": [1], "more": True}) == []
    assert [error.path for error in check({"a": True, "b": [{}], "e": []})] == ["$.a", "$.b[0]"]


@given(VALUES)
def test_a_value_fits_the_schema_that_was_derived_from_it(value: object) -> None:
    assert validator(derived_schema(value))(value) == []


@given(VALUES, VALUES)
def test_each_item_fits_the_schema_of_its_list(one: object, other: object) -> None:
    check = validator(derived_schema([one, other]))
    assert check([one]) == check([other]) == check([]) == []


def test_a_schema_of_something_else_than_json_is_refused() -> None:
    with pytest.raises(InputError, match="got set"):
        derived_schema({"a": {1}})
    deep: list[Any] = []
    for _ in range(200):
        deep = [deep]
    with pytest.raises(InputError, match="100 deep"):
        derived_schema(deep)


def test_paths_are_written_in_steps() -> None:
    assert json_path(["a", 0, "b c"]) == "$.a[0].b c"
