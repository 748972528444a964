"""YAML of unknown origin: values as the core schema has them, and everything else refused."""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_eval.errors import InputError, MissingExtraError
from rag_eval.inputs.yaml_files import YamlDate, load_yaml
from tests.tables import every_row


@every_row(
    "text, value",
    [
        ("", None),
        ("~", None),
        ("Null", None),
        ("true", True),
        ("FALSE", False),
        ("no", "no"),
        ("on", "on"),
        ("2026-01-01", "2026-01-01"),
        ("12:30", "12:30"),
        ("1_000", "1_000"),
        ("012", 12),
        ("-7", -7),
        ("0x1F", 31),
        ("0o17", 15),
        ("1e3", 1000.0),
        (".5", 0.5),
        ("-1.", -1.0),
        ("'1'", "1"),
        ('"true"', "true"),
        ("!!str 5", "5"),
        ("! 5", "5"),
        ("!!int '5'", 5),
        ("!!float 2.5", 2.5),
        ("|\n one\n two\n", "one\ntwo\n"),
        (">\n one\n two\n", "one two\n"),
        ("[1, [a, {b: c}]]", [1, ["a", {"b": "c"}]]),
        ("{1: a, null: b, yes: c}", {"1": "a", "null": "b", "yes": "c"}),
        ("!!map {a: !!seq [1]}", {"a": [1]}),
        ("a: &x [1]\nb: *x", {"a": [1], "b": [1]}),
        ("&k a: 1\nb: *k", {"a": 1, "b": "a"}),
        ("b: &b {x: 1, y: 2}\nc: {<<: *b, y: 3}", {"b": {"x": 1, "y": 2}, "c": {"x": 1, "y": 3}}),
        ("c: {<<: [{x: 1}, {x: 2, z: 5}]}", {"c": {"x": 1, "z": 5}}),
        ("---\na: 1\n...\n", {"a": 1}),
        ("# only a comment", None),
    ],
)
def test_values_are_those_of_the_core_schema(text: str, value: object) -> None:
    found = load_yaml(text)
    assert found == value
    assert type(found) is type(value)
    assert load_yaml(text.encode()) == value


@every_row(
    ("text", "is_date"),
    [
        ("2026-01-01", True),
        ("2026-13-45", True),
        ("2026-1-1 9:05:00", True),
        ("2026-01-01T09:05:00.25Z", True),
        ("2026-01-01 09:05:00 +1:30", True),
        ("2026-1-1", False),
        ("2026-01-01 09:05", False),
        ("2026-01-01 or so", False),
        ("'2026-01-01'", False),
        ("!!str 2026-01-01", False),
    ],
)
def test_dates_are_told_from_texts_where_it_matters(text: str, is_date: bool) -> None:
    found = load_yaml(text, dates=True)
    assert isinstance(found, YamlDate if is_date else str)
    assert load_yaml(text) == (found.text if isinstance(found, YamlDate) else found)


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**20), 10**20) | st.text("abc :#-'\"\n é"),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text("abc<", max_size=3).filter(lambda key: key != "<<"), inner)
    ),
    max_leaves=20,
)


@given(JSON_VALUES)
def test_json_is_yaml(value: Any) -> None:
    assert load_yaml(json.dumps(value)) == value


@every_row(
    "text, message",
    [
        ("!!python/object/apply:os.system ['true']", "python/object/apply:os.system' is not all"),
        ("a: !!python/name:os.system", "line 1: the tag"),
        ("a: !mine x", "'!mine' is not allowed"),
        ("!!binary aGk=", "binary' is not allowed"),
        ("!!set {a}", "set' is not allowed"),
        ("!!int five", "'five' is not a valid int"),
        ("a: 1\nb: 2\na: 3", "line 3: the key 'a' is repeated"),
        ("a: {<<: {x: 1}, <<: {y: 2}}", "the key '<<' is repeated"),
        ("a: {<<: 5}", "<< must be followed by a mapping"),
        ("? [a]\n: b", "a key must be a string"),
        ("a: &x [1]\n*x : 2", "a key must be a string, got an alias"),
        ("a: &a [*a]", r"the alias \*a contains itself"),
        ("a: *b", r"the alias \*b is not defined"),
        ("a: 1\n---\nb: 2", "line 2: a second document begins"),
        ("a: .inf", "beyond the range of a double"),
        ("a: .NaN", "beyond the range of a double"),
        ("a: -1e400", "beyond the range of a double"),
        ("a: " + "9" * 310, "beyond the range of a double"),
        ("a: 'open", "not YAML"),
        ("a:\n\t- b", "line 2: not YAML"),
        ("a: \x00", "not YAML: .*control characters"),
        ("a: \ud800", "not YAML"),
        ('a: "\\ud800"', "not YAML"),
    ],
)
def test_all_else_is_refused_with_its_line(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        load_yaml(text, "set.yaml")


def test_a_long_run_of_digits_takes_linear_time() -> None:
    """``int`` would take quadratic time for it: half an hour for this one."""
    with pytest.raises(InputError, match="beyond the range of a double"):
        load_yaml("9" * 10_000_000)


def test_aliases_count_as_what_they_stand_for() -> None:
    lines = ["a: &a [x, x, x, x, x, x, x, x, x]"]
    for before, after in zip("abcdefgh", "bcdefghi", strict=True):
        lines.append(f"{after}: &{after} [{', '.join([f'*{before}'] * 9)}]")
    with pytest.raises(InputError, match="line 6: more than 500,000 values"):
        load_yaml("\n".join(lines))
    # ... and as no more, however much comes before.
    before = ", ".join(["1"] * 600)
    text = f"a: [{before}]\nb: &b [1, 2]\nc: [{', '.join(['*b'] * 50)}]"
    assert load_yaml(text, most_nodes=1000)["c"] == [[1, 2]] * 50


def test_merged_keys_count_wherever_they_go() -> None:
    wide = ", ".join(f"k{n}: 1" for n in range(50))
    text = f"a: &a {{{wide}}}\n" + "".join(f"b{n}: {{<<: *a}}\n" for n in range(20))
    assert len(load_yaml(text)) == 21
    with pytest.raises(InputError, match="more than 1,000 values"):
        load_yaml(text, most_nodes=1000)


@pytest.mark.parametrize(
    "text",
    ["[" * 10_000, "- " * 10_000, "{a: " * 10_000, "\n".join(" " * n + "a:" for n in range(500))],
)
def test_deep_nesting_is_refused_without_recursion(text: str) -> None:
    with pytest.raises(InputError, match="nested more than 100 deep"):
        load_yaml(text)


def test_the_limits_are_inclusive() -> None:
    assert load_yaml("[" * 5 + "]" * 5, most_depth=5) == [[[[[]]]]]
    assert load_yaml("[1, 2]", most_nodes=3) == [1, 2]
    assert load_yaml("é", most_bytes=2) == "é"
    with pytest.raises(InputError, match="nested more than 4 deep"):
        load_yaml("[" * 5 + "]" * 5, most_depth=4)
    with pytest.raises(InputError, match="more than 2 values"):
        load_yaml("[1, 2]", most_nodes=2)
    with pytest.raises(InputError, match="2 bytes, which is more than 1"):
        load_yaml("é", most_bytes=1)


def test_the_slow_parser_gives_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    import yaml

    text = "a: &x [1, no, 'q', {b: *y}]\n".replace("*y", "[2.5]") + "c: *x\nd: |\n  é\n"
    fast = load_yaml(text)
    monkeypatch.delattr(yaml, "CSafeLoader", raising=False)
    assert load_yaml(text) == fast
    with pytest.raises(InputError, match="line 1: the key 'a' is repeated"):
        load_yaml("{a: 1, a: 2}")


def test_without_pyyaml_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "yaml", None)
    with pytest.raises(MissingExtraError, match=r"rag-eval-native\[yaml\]"):
        load_yaml("a: 1")
